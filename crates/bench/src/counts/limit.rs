//! The limit: what one random counter in each row costs, and as little else as can be.

use tamis::memory::{Words, prefetch};

use super::Counts;
use crate::contestants::key;

/// How many keys ahead counters are asked for.
const AHEAD: usize = 32;

/// Counters of 32 or 64 bits.
pub trait Counter: bytemuck::Pod + Ord + Into<u64> {
    fn plus_one(self) -> Self;
}

impl Counter for u64 {
    #[inline(always)]
    fn plus_one(self) -> u64 {
        self.wrapping_add(1)
    }
}

impl Counter for u32 {
    #[inline(always)]
    fn plus_one(self) -> u32 {
        self.wrapping_add(1)
    }
}

/// Rows of counters, all places of a key drawn from one product. It counts, but the rows depend on each other.
pub struct Limit<C> {
    name: &'static str,
    words: Words,
    row: usize,
    depth: u32,
    counter: std::marker::PhantomData<C>,
}

impl<C: Counter> Limit<C> {
    pub fn new(name: &'static str) -> Self {
        Limit { name, words: Words::default(), row: 0, depth: 0, counter: std::marker::PhantomData }
    }
}

/// Goes through the counters of keys, each asked for some keys before.
#[inline(always)]
fn visit<const D: usize, C, B: AsRef<[C]>>(
    counters: &mut B,
    row: usize,
    numbers: &[u64],
    mut visit: impl FnMut(&mut B, &[usize; D]),
) {
    let ask = |number: u64, counters: &B| -> [usize; D] {
        let product = u128::from(key(number)) * 0xd1b5_4a32_d192_ed03;
        let mixed = product as u64 ^ (product >> 64) as u64;
        let places = std::array::from_fn(|i| {
            let drawn = mixed.rotate_left(16 * i as u32);
            i * row + ((u128::from(drawn) * row as u128) >> 64) as usize
        });
        places.iter().for_each(|&place| prefetch(counters.as_ref(), place));
        places
    };
    let mut ring = [[0; D]; AHEAD];
    for (places, &number) in ring.iter_mut().zip(numbers) {
        *places = ask(number, counters);
    }
    for i in 0..numbers.len() {
        let places = ring[i % AHEAD];
        if let Some(&number) = numbers.get(i + AHEAD) {
            ring[i % AHEAD] = ask(number, counters);
        }
        visit(counters, &places);
    }
}

impl<C: Counter> Limit<C> {
    fn add_in<const D: usize>(&mut self, numbers: &[u64]) {
        let mut counters: &mut [C] = bytemuck::cast_slice_mut(&mut self.words);
        visit::<D, C, _>(&mut counters, self.row, numbers, |counters, places| {
            places.iter().for_each(|&place| counters[place] = counters[place].plus_one());
        });
    }

    fn estimates_in<const D: usize>(&self, numbers: &[u64], estimates: &mut Vec<u64>) {
        let mut counters: &[C] = bytemuck::cast_slice(&self.words);
        estimates.clear();
        visit::<D, C, _>(&mut counters, self.row, numbers, |counters, places| {
            let least = places.iter().map(|&place| counters[place]).min().expect("rows");
            estimates.push(least.into());
        });
    }
}

impl<C: Counter> Counts for Limit<C> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn bits(&self) -> u32 {
        8 * size_of::<C>() as u32
    }

    fn start(&mut self, width: u64, depth: u32) {
        (self.row, self.depth) = (width as usize, depth);
        let bytes = self.row * depth as usize * size_of::<C>();
        self.words = Words::zeroed(bytes.div_ceil(8)).expect("memory for the limit");
    }

    fn add(&mut self, numbers: &[u64]) {
        match self.depth {
            4 => self.add_in::<4>(numbers),
            5 => self.add_in::<5>(numbers),
            depth => panic!("the limit has 4 or 5 rows, not {depth}"),
        }
    }

    fn estimates(&mut self, numbers: &[u64], estimates: &mut Vec<u64>) {
        match self.depth {
            4 => self.estimates_in::<4>(numbers, estimates),
            _ => self.estimates_in::<5>(numbers, estimates),
        }
    }
}
