//! The counters of keys: where they stand, and the loops over many keys, one after the other.

use alloc::vec::Vec;
use core::ops::Range;

use bytemuck::Pod;

use super::rows::{Add, Estimate, FAR, NEAR};
use super::sketch::Update;
use crate::arch::cpu::{has_vectors, vectored};
use crate::bloom::position;
use crate::hash::{place_of_bytes, place_of_long};
use crate::memory::prefetch;

/// The fields of the shape of a sketch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rows {
    pub row: u64,
    pub depth: u32,
    pub counter_bits: u32,
}

impl Rows {
    #[inline(always)]
    pub(super) fn counters(&self) -> usize {
        (self.row * u64::from(self.depth)) as usize
    }
}

/// How the counters of a key follow from its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Placing {
    /// Drawn from it.
    Drawn,
    /// As Spark has it for text.
    SparkBytes,
    /// As Spark has it for numbers: with a factor for each row.
    SparkLongs(Vec<u64>),
}

impl Placing {
    /// Gives the counters of a key, row after row, as numbers among all counters.
    #[inline(always)]
    pub(super) fn each(&self, hash: u64, row: u64, places: &mut [u64]) {
        let numbered = (0..).zip(places).map(|(number, place)| (number, u64::from(number) * row, place));
        match self {
            Placing::Drawn => {
                numbered.for_each(|(number, start, place)| *place = start + position(hash, number, row));
            }
            Placing::SparkBytes => {
                numbered
                    .for_each(|(number, start, place)| *place = start + place_of_bytes(hash, number, row));
            }
            Placing::SparkLongs(factors) => numbered.zip(factors).for_each(|((_, start, place), &factor)| {
                *place = start + place_of_long(hash, factor, row);
            }),
        }
    }
}

/// A counter as it stands in the words.
pub(super) trait Counter: Pod + Ord {
    const MOST: Self;
    /// Adds, and stays at the most.
    fn plus(self, weight: u64) -> Self;
    /// The same where the sum is known to be below the most.
    fn plus_below(self, weight: u64) -> Self;
    fn value(self) -> u64;
}

impl Counter for u64 {
    const MOST: u64 = u64::MAX;

    #[inline(always)]
    fn plus(self, weight: u64) -> u64 {
        self.saturating_add(weight)
    }

    #[inline(always)]
    fn plus_below(self, weight: u64) -> u64 {
        self.wrapping_add(weight)
    }

    #[inline(always)]
    fn value(self) -> u64 {
        self
    }
}

impl Counter for u32 {
    const MOST: u32 = u32::MAX;

    #[inline(always)]
    fn plus(self, weight: u64) -> u32 {
        self.saturating_add(u32::try_from(weight).unwrap_or(u32::MAX))
    }

    #[inline(always)]
    fn plus_below(self, weight: u64) -> u32 {
        self.wrapping_add(weight as u32)
    }

    #[inline(always)]
    fn value(self) -> u64 {
        u64::from(self)
    }
}

/// The counters of the key with this hash in this many rows of this many counters: their numbers among
/// all counters.
#[inline(always)]
pub fn places(hash: u64, row: u64, depth: u32) -> impl Iterator<Item = u64> {
    (0..depth).map(move |number| u64::from(number) * row + position(hash, number, row))
}

/// Places that are asked for at a time: the counters of some keys.
const PLACES: usize = 64;

/// The places of many keys, batch by batch. While one batch is in use, the counters of the next
/// are on their way.
struct Batches<'h> {
    hashes: &'h [u64],
    placing: &'h Placing,
    row: u64,
    depth: usize,
    /// Keys in a batch.
    keys: usize,
    rings: [[u64; PLACES]; 2],
    /// The ring in use.
    used: usize,
    /// Keys whose places were asked for, and those of them that were given out.
    asked: usize,
    given: usize,
}

impl<'h> Batches<'h> {
    #[inline(always)]
    fn new(hashes: &'h [u64], rows: Rows, placing: &'h Placing, ask: impl Fn(usize)) -> Self {
        let depth = rows.depth as usize;
        let mut batches = Batches {
            hashes,
            placing,
            row: rows.row,
            depth,
            keys: (PLACES / depth).max(1),
            rings: [[0; PLACES]; 2],
            used: 0,
            asked: 0,
            given: 0,
        };
        batches.ask(ask);
        batches
    }

    /// Asks for the counters of the next keys, into the ring that is not in use.
    #[inline(always)]
    fn ask(&mut self, ask: impl Fn(usize)) {
        let to = self.hashes.len().min(self.asked + self.keys);
        let ring = &mut self.rings[1 - self.used];
        for (&hash, places) in self.hashes[self.asked..to].iter().zip(ring.chunks_exact_mut(self.depth)) {
            self.placing.each(hash, self.row, places);
            places.iter().for_each(|&place| ask(place as usize));
        }
        self.asked = to;
    }

    /// The next keys; their places are then [known](Self::places).
    #[inline(always)]
    fn next(&mut self, ask: impl Fn(usize)) -> Option<Range<usize>> {
        let keys = self.given..self.asked;
        if keys.is_empty() {
            return None;
        }
        self.used = 1 - self.used;
        self.given = self.asked;
        self.ask(ask);
        Some(keys)
    }

    /// The places of each key of the batch, all of one key together.
    #[inline(always)]
    fn places(&self) -> core::slice::ChunksExact<'_, u64> {
        self.rings[self.used].chunks_exact(self.depth)
    }
}

/// Bytes of counters that a processor core keeps close by itself: there, asking costs more than it
/// gains.
const CLOSE: usize = 512 << 10;

/// Keys for which a ring is not worth it: a processor looks as far ahead by itself.
const FEW: usize = 4;

/// How many keys ahead the counters of a key are asked for, where their number is known.
const AHEAD: usize = 64;

/// Visits the counters of keys, key by key in their order, in D rows: with the number of rows known to
/// the compiler, the places of a key stay in registers and none waits for another.
#[inline(always)]
fn visit<const D: usize, C, B: AsRef<[C]>>(
    counters: &mut B,
    row: u64,
    hashes: &[u64],
    mut visit: impl FnMut(&mut B, usize, &[u64; D]),
) {
    let draw = |hash| -> [u64; D] {
        core::array::from_fn(|number| number as u64 * row + position(hash, number as u32, row))
    };
    if size_of_val(counters.as_ref()) <= CLOSE || hashes.len() <= FEW {
        for (key, &hash) in hashes.iter().enumerate() {
            visit(counters, key, &draw(hash));
        }
        return;
    }
    let ask = |counters: &[C], hash| {
        let places = draw(hash);
        places.iter().for_each(|&place| prefetch(counters, place as usize));
        places
    };
    let mut ring = [[0; D]; AHEAD];
    for (places, &hash) in ring.iter_mut().zip(hashes) {
        *places = ask(counters.as_ref(), hash);
    }
    for key in 0..hashes.len() {
        let places = &mut ring[key % AHEAD];
        visit(counters, key, places);
        if let Some(&hash) = hashes.get(key + AHEAD) {
            *places = ask(counters.as_ref(), hash);
        }
    }
}

/// The length of a row, and whether all counters are close, where they are to be drawn for many keys together: with
/// vectors, and keys that fill them. Wide counters that are not close take longer to reach than to draw.
#[inline(always)]
fn by_rows<C>(rows: Rows, placing: &Placing, hashes: &[u64]) -> Option<(u32, bool)> {
    let close = rows.counters() * size_of::<C>() <= CLOSE;
    let pays = close || size_of::<C>() == 4;
    let can = hashes.len() >= if close { NEAR } else { FAR } && *placing == Placing::Drawn && has_vectors();
    u32::try_from(rows.row).ok().filter(|_| pays && can).map(|row| (row, close))
}

/// Adds weights, key by key in their order, with which the total becomes this.
#[inline(always)]
fn add_all<C: Counter>(
    mut counters: &mut [C],
    (rows, placing): (Rows, &Placing),
    (update, total): (Update, u64),
    hashes: &[u64],
    weight: impl Fn(usize) -> u64,
) {
    macro_rules! add {
        ($depth:literal) => {
            visit::<$depth, C, _>(&mut counters, rows.row, hashes, |counters, key, places| {
                add_one(counters, update, places, weight(key));
            })
        };
    }
    // Only plain updates give the same in any order. No counter exceeds the total.
    let can = update == Update::Plain && total < C::MOST.value();
    let by_rows = by_rows::<C>(rows, placing, hashes).filter(|_| can);
    if let Some((row, close)) = by_rows {
        let depth = rows.depth;
        return match close {
            true => vectored(Add::<NEAR, _, _> { counters, row, depth, hashes, weight }),
            false => vectored(Add::<FAR, _, _> { counters, row, depth, hashes, weight }),
        };
    }
    match (placing, rows.depth) {
        (Placing::Drawn, 3) => add!(3),
        (Placing::Drawn, 4) => add!(4),
        (Placing::Drawn, 5) => add!(5),
        (Placing::Drawn, 7) => add!(7),
        _ => add_any(counters, (rows, placing), update, hashes, weight),
    }
}

/// The same for any number of rows, and however keys are placed.
#[inline(always)]
fn add_any<C: Counter>(
    counters: &mut [C],
    (rows, placing): (Rows, &Placing),
    update: Update,
    hashes: &[u64],
    weight: impl Fn(usize) -> u64,
) {
    let mut batches = Batches::new(hashes, rows, placing, |place| prefetch(counters, place));
    while let Some(keys) = batches.next(|place| prefetch(counters, place)) {
        for (key, places) in keys.zip(batches.places()) {
            add_one(counters, update, places, weight(key));
        }
    }
}

/// Adds the weight of the key with these places.
#[inline(always)]
pub(super) fn add_one<C: Counter>(counters: &mut [C], update: Update, places: &[u64], weight: u64) {
    match update {
        Update::Plain => {
            for &place in places {
                let counter = &mut counters[place as usize];
                *counter = counter.plus(weight);
            }
        }
        Update::Conservative => raise(counters, places, weight),
    }
}

/// The conservative update of a key with these places.
#[inline(always)]
fn raise<C: Counter>(counters: &mut [C], places: &[u64], weight: u64) {
    let target = smallest(counters, places).plus(weight);
    for &place in places {
        let counter = &mut counters[place as usize];
        *counter = target.max(*counter);
    }
}

#[inline(always)]
fn smallest<C: Counter>(counters: &[C], places: &[u64]) -> C {
    places.iter().fold(C::MOST, |least, &place| least.min(counters[place as usize]))
}

#[inline(always)]
fn estimate_all<C: Counter>(
    mut counters: &[C],
    (rows, placing): (Rows, &Placing),
    hashes: &[u64],
    estimates: &mut [u64],
) {
    macro_rules! estimate {
        ($depth:literal) => {
            visit::<$depth, C, _>(&mut counters, rows.row, hashes, |counters, key, places| {
                estimates[key] = smallest(counters, places).value();
            })
        };
    }
    if let Some((row, close)) = by_rows::<C>(rows, placing, hashes) {
        let depth = rows.depth;
        return match close {
            true => vectored(Estimate::<NEAR, _> { counters, row, depth, hashes, estimates }),
            false => vectored(Estimate::<FAR, _> { counters, row, depth, hashes, estimates }),
        };
    }
    match (placing, rows.depth) {
        (Placing::Drawn, 3) => estimate!(3),
        (Placing::Drawn, 4) => estimate!(4),
        (Placing::Drawn, 5) => estimate!(5),
        (Placing::Drawn, 7) => estimate!(7),
        _ => estimate_any(counters, (rows, placing), hashes, estimates),
    }
}

#[inline(always)]
fn estimate_any<C: Counter>(
    counters: &[C],
    (rows, placing): (Rows, &Placing),
    hashes: &[u64],
    estimates: &mut [u64],
) {
    let ask = |place| prefetch(counters, place);
    let mut batches = Batches::new(hashes, rows, placing, ask);
    while let Some(keys) = batches.next(ask) {
        for (estimate, places) in estimates[keys].iter_mut().zip(batches.places()) {
            *estimate = smallest(counters, places).value();
        }
    }
}

/// The counters of 32 bits in these words.
#[inline(always)]
pub(super) fn narrow(words: &[u64], rows: Rows) -> &[u32] {
    &bytemuck::cast_slice(words)[..rows.counters()]
}

// Whatever holds the words, loops over slices of hashes are compiled once.

pub(super) fn estimate(
    words: &[u64],
    (rows, placing): (Rows, &Placing),
    hashes: &[u64],
    estimates: &mut [u64],
) {
    match rows.counter_bits {
        32 => estimate_all(narrow(words, rows), (rows, placing), hashes, estimates),
        _ => estimate_all(words, (rows, placing), hashes, estimates),
    }
}

pub(super) fn add_ones(words: &mut [u64], placed: (Rows, &Placing), how: (Update, u64), hashes: &[u64]) {
    add(words, placed, how, hashes, |_| 1);
}

pub(super) fn add_weights(
    words: &mut [u64],
    placed: (Rows, &Placing),
    how: (Update, u64),
    hashes: &[u64],
    weights: &[u64],
) {
    add(words, placed, how, hashes, |key| weights[key]);
}

#[inline(always)]
fn add(
    words: &mut [u64],
    (rows, placing): (Rows, &Placing),
    how: (Update, u64),
    hashes: &[u64],
    weight: impl Fn(usize) -> u64,
) {
    match rows.counter_bits {
        32 => {
            let counters: &mut [u32] = &mut bytemuck::cast_slice_mut(words)[..rows.counters()];
            add_all(counters, (rows, placing), how, hashes, weight);
        }
        _ => add_all(words, (rows, placing), how, hashes, weight),
    }
}
