//! The loops over many keys where a processor has vectors: row by row, the counters of some keys in one row are drawn
//! together, and those of the next rows while they are in use.

use super::counters::Counter;
use crate::arch::cpu::{Vectored, prefetch};
use crate::bloom::draw;
use crate::chunks::padded;

/// Keys whose counters are drawn together, where all counters are close.
pub(super) const NEAR: usize = 32;

/// The same where they are not: the memory answers many requests at once.
pub(super) const FAR: usize = 128;

/// What is drawn next: the places of some keys in one row.
struct Drawing<'h, const N: usize> {
    /// The keys that follow.
    blocks: core::slice::Chunks<'h, u64>,
    hashes: [u64; N],
    row: u32,
    depth: u32,
    number: u32,
}

impl<'h, const N: usize> Drawing<'h, N> {
    #[inline(always)]
    fn new(hashes: &'h [u64], row: u32, depth: u32) -> Self {
        let mut drawing = Drawing { blocks: hashes.chunks(N), hashes: [0; N], row, depth, number: 0 };
        drawing.step();
        drawing
    }

    /// Goes on to the next keys; after the last ones, it stays there.
    #[inline(always)]
    fn step(&mut self) {
        if let Some(hashes) = self.blocks.next() {
            self.hashes = *padded(hashes, &mut [0; N]);
        }
    }

    /// Draws those of the next row, and gives the number of the first counter in it.
    #[inline(always)]
    fn next(&mut self, places: &mut [u32; N]) -> usize {
        let start = self.number as usize * self.row as usize;
        draw(&self.hashes, self.number, self.row, places);
        self.number += 1;
        if self.number == self.depth {
            self.number = 0;
            self.step();
        }
        start
    }
}

/// Counters that are asked for while others are in use, one at a time: to ask for many in a row takes longer.
struct Ask<'a, const N: usize> {
    places: &'a [u32; N],
    /// From the first counter of the row that is in use to that of the row of these.
    distance: usize,
}

impl<const N: usize> Ask<'_, N> {
    #[inline(always)]
    fn one<C>(&self, counters: &[C], key: usize) {
        if N == FAR {
            prefetch(counters, self.distance.wrapping_add(self.places[key] as usize));
        }
    }
}

/// Visits the counters of keys, some keys at a time and row by row: gives the counters of the row, the places of
/// the keys in it, and what is to be asked for meanwhile.
#[inline(always)]
fn visit<const N: usize, K>(
    depth: u32,
    row: u32,
    hashes: &[u64],
    keys: impl Iterator<Item = K>,
    mut visit: impl FnMut(usize, &mut K, &[u32; N], Ask<'_, N>),
) {
    let mut drawing = Drawing::new(hashes, row, depth);
    let [mut first, mut second, mut third] = [[0; N]; 3];
    let (mut now, mut next, mut last) = (&mut first, &mut second, &mut third);
    drawing.next(now);
    drawing.next(next);
    for mut keys in keys {
        for number in 0..depth {
            let start = number as usize * row as usize;
            let ahead = drawing.next(last);
            visit(start, &mut keys, now, Ask { places: last, distance: ahead.wrapping_sub(start) });
            (now, next, last) = (next, last, now);
        }
    }
}

/// Adds a weight to all counters of keys. No sum of weights reaches the largest value of a counter: to ask for that at
/// each of them would take longer than to add.
pub(super) struct Add<'a, const N: usize, C, W> {
    pub counters: &'a mut [C],
    pub row: u32,
    pub depth: u32,
    pub hashes: &'a [u64],
    /// That of each key.
    pub weight: W,
}

impl<const N: usize, C: Counter, W: Fn(usize) -> u64> Vectored for Add<'_, N, C, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Add { counters, row, depth, hashes, weight } = self;
        let firsts = (0..hashes.len()).step_by(N);
        visit::<N, _>(depth, row, hashes, firsts, |start, &mut first, places, ask| {
            let counters = &mut counters[start..][..row as usize];
            let mut add = |places: &[u32]| {
                for (key, &place) in places.iter().enumerate() {
                    ask.one(counters, key);
                    let counter = &mut counters[place as usize];
                    *counter = counter.plus_below(weight(first + key));
                }
            };
            // As many as the compiler knows of, but for the last keys.
            let left = hashes.len() - first;
            if left >= N { add(places) } else { add(&places[..left]) }
        });
    }
}

/// The smallest counter of each key.
pub(super) struct Estimate<'a, const N: usize, C> {
    pub counters: &'a [C],
    pub row: u32,
    pub depth: u32,
    pub hashes: &'a [u64],
    pub estimates: &'a mut [u64],
}

impl<const N: usize, C: Counter> Vectored for Estimate<'_, N, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Estimate { counters, row, depth, hashes, estimates } = self;
        let blocks = estimates.chunks_mut(N).map(|estimates| (estimates, [C::MOST; N]));
        visit::<N, _>(depth, row, hashes, blocks, |start, (estimates, least), places, ask| {
            let counters = &counters[start..][..row as usize];
            for (key, (least, &place)) in least.iter_mut().zip(places).enumerate() {
                ask.one(counters, key);
                *least = counters[place as usize].min(*least);
            }
            // They are told after the last row.
            if start == (depth as usize - 1) * row as usize {
                estimates.iter_mut().zip(least).for_each(|(estimate, least)| *estimate = least.value());
            }
        });
    }
}
