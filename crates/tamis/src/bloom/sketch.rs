//! The filter itself, over words that it owns or borrows.

use super::params::{self, MOST_HASHES};
use super::ranges::{CACHED, Scratch, Touches};
use crate::arch::cpu::{Vectored, vectored};
use crate::chunks::padded;
use crate::error::{Error, Result, ShapeFault};
use crate::hash::{ByBytes, fold, halves};
use crate::memory::{Words, prefetch};
use crate::real::power;
use alloc::vec::Vec;
use core::hint::black_box;

const STEP: u64 = 0xa076_1d64_78bd_642f;
const TWIST: u64 = 0xe703_7ed1_a0b4_28db;

/// How many words ahead of its use a word is asked for.
const AHEAD: usize = 128;

/// Keys whose answers are sought together, probe by probe; and those before them, which tell of the others.
const BATCH: usize = 1024;
const FEW: usize = 64;

/// Keys whose positions are drawn together: as many as the processor looks ahead, so that it sets those of one probe
/// while it draws those of the next.
const DRAWN: usize = 32;

/// One of the positions of the key with this hash among this many bits.
#[inline(always)]
pub(crate) fn position(hash: u64, number: u32, bits: u64) -> u64 {
    let state = hash.wrapping_add(STEP.wrapping_mul(u64::from(number) + 1));
    let draw = fold(state, state ^ TWIST);
    ((u128::from(draw) * u128::from(bits)) >> 64) as u64
}

/// One of the positions of each of these keys, put together from products of 32 bits: the loop becomes vectors with
/// them.
#[inline(always)]
pub(crate) fn draw<const N: usize>(hashes: &[u64; N], number: u32, bits: u32, drawn: &mut [u32; N]) {
    let step = STEP.wrapping_mul(u64::from(number) + 1);
    let draw = |hash: u64| {
        let state = hash.wrapping_add(step);
        halves::fold(state, state ^ TWIST)
    };
    let all = drawn.iter_mut().zip(hashes);
    if bits.is_power_of_two() && bits > 1 {
        // The product is a shift, and of the draw its upper half is enough.
        let shift = 32 - bits.trailing_zeros();
        all.for_each(|(position, &hash)| *position = (draw(hash) >> 32) as u32 >> shift);
    } else {
        all.for_each(|(position, &hash)| *position = halves::scale(draw(hash), bits));
    }
    // They are read from memory, one by one: to take vectors apart costs more.
    black_box(drawn);
}

/// The positions of the key with this hash among this many bits.
#[inline(always)]
pub fn positions(hash: u64, bits: u64, hashes: u32) -> impl Iterator<Item = u64> {
    (0..hashes).map(move |number| position(hash, number, bits))
}

/// The position that a murmur3 hash gives.
#[inline(always)]
fn lane_position(lane: u32, bits: u64) -> u64 {
    // A 32-bit division is several times faster than a 64-bit one.
    match u32::try_from(bits) {
        Ok(bits) => u64::from(lane % bits),
        Err(_) => u64::from(lane),
    }
}

/// The positions of a key whose murmur3 hashes are given, seed by seed.
#[inline(always)]
fn lane_positions(lanes: &[u32], bits: u64) -> impl Iterator<Item = u64> {
    lanes.iter().map(move |&lane| lane_position(lane, bits))
}

/// The position that a lane of another system gives.
#[inline(always)]
fn wide_position(lane: u64, bits: u64) -> u64 {
    // Most lanes of most systems fit in 32 bits, and so do the bits of most filters.
    if (lane | bits) >> 32 == 0 { u64::from(lane as u32 % bits as u32) } else { lane % bits }
}

/// A Bloom filter; see the [module](super) for the idea.
#[derive(Debug, Clone)]
pub struct Bloom<W> {
    words: W,
    bits: u64,
    hashes: u32,
}

impl Bloom<Words> {
    /// An empty filter for this many keys at this rate.
    pub fn for_rate(keys: u64, fpr: f64) -> Result<Self> {
        let shape = crate::sizing::Kind::Bloom.shape_for_rate(keys, fpr)?;
        Self::zeroed(shape.slots(), shape.hashes())
    }

    /// An empty filter of this many bits.
    pub fn zeroed(bits: u64, hashes: u32) -> Result<Self> {
        let words = usize::try_from(bits.div_ceil(64)).map_err(|_| Error::TooLarge { bits })?;
        Bloom::from_words(Words::new(words)?, bits, hashes)
    }
}

impl<W: AsRef<[u64]>> Bloom<W> {
    /// A filter of this many bits, in these words.
    pub fn from_words(words: W, bits: u64, hashes: u32) -> Result<Self> {
        let len = words.as_ref().len();
        if bits == 0 || len as u64 != bits.div_ceil(64) || hashes == 0 || hashes > MOST_HASHES {
            return Err(ShapeFault::Bloom { words: len, bits, hashes }.into());
        }
        Ok(Bloom { words, bits, hashes })
    }

    /// The words of the bits, lowest first.
    pub fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// The words themselves, given back.
    pub fn into_words(self) -> W {
        self.words
    }

    /// The number of bits.
    pub fn bits(&self) -> u64 {
        self.bits
    }

    /// Positions per key.
    pub fn hashes(&self) -> u32 {
        self.hashes
    }

    #[inline(always)]
    fn has(&self, position: u64) -> bool {
        self.words.as_ref()[(position / 64) as usize] >> (position % 64) & 1 == 1
    }

    /// Whether the key with this hash may be in the set.
    #[inline]
    pub fn contains_hash(&self, hash: u64) -> bool {
        positions(hash, self.bits, self.hashes).all(|position| self.has(position))
    }

    /// Whether the key with these murmur3 hashes (seeds 0, 1, …; at least k of them) may be in
    /// the set.
    ///
    /// # Panics
    /// Where there are fewer.
    #[inline]
    pub fn contains_lanes(&self, lanes: &[u32]) -> bool {
        lane_positions(&lanes[..self.hashes as usize], self.bits).all(|position| self.has(position))
    }

    /// Whether the key with these lanes, by the hash of another system, may be in the set.
    ///
    /// # Panics
    /// Where there are fewer than k.
    #[inline]
    pub fn contains_wide(&self, lanes: &[u64]) -> bool {
        lanes[..self.hashes as usize].iter().all(|&lane| self.has(wide_position(lane, self.bits)))
    }

    /// The same for many keys: those of each answer.
    ///
    /// # Panics
    /// Where a key has fewer lanes than k.
    pub fn contains_all_wide<'l>(&self, lanes: impl Fn(usize) -> &'l [u64], found: &mut [bool]) {
        let mut first = 0;
        for found in found.chunks_mut(BATCH) {
            self.probe_at(found, |key, number| wide_position(lanes(first + key)[number as usize], self.bits));
            first += found.len();
        }
    }

    /// Whether the key of these bytes may be in the set, where each position is a hash of them.
    #[inline]
    pub fn contains_bytes(&self, hash: ByBytes, key: &[u8]) -> bool {
        hash.positions(key, self.bits, self.hashes).all(|position| self.has(position))
    }

    /// The same as [`contains_hash`](Self::contains_hash) for many keys, one for each hash.
    ///
    /// The more keys at a time, the better: with millions of them, a filter beyond the cache is
    /// gone through in order, if most keys are in it. This takes memory for a while, at most
    /// half as much as the filter.
    ///
    /// # Panics
    /// Where the two slices differ in length.
    pub fn contains_hashes(&self, hashes: &[u64], found: &mut [bool]) {
        self.contains_hashes_with(&mut Scratch::default(), hashes, found);
    }

    /// The same, in memory that is used again and again.
    ///
    /// # Panics
    /// Where the two slices differ in length.
    pub fn contains_hashes_with(&self, scratch: &mut Scratch, hashes: &[u64], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len());
        look_up(&self.borrowed(), scratch, hashes, found);
    }

    fn borrowed(&self) -> Bloom<&[u64]> {
        Bloom { words: self.words.as_ref(), bits: self.bits, hashes: self.hashes }
    }

    /// Looks up keys batch by batch, and gives the number of those found.
    ///
    /// In the cache, a probe costs less than to find out whether it is needed, unless most keys
    /// are not in the filter; the batch before tells.
    fn look_up(&self, hashes: &[u64], found: &mut [bool]) -> usize {
        // That many bits fit in 32 bits.
        let cached = self.words.as_ref().len() < CACHED;
        let (mut all, mut most) = (0, false);
        let (some, others) = hashes.split_at(hashes.len().min(FEW));
        let (found_some, found_others) = found.split_at_mut(some.len());
        let first = [(some, found_some)].into_iter();
        for (hashes, found) in first.chain(others.chunks(BATCH).zip(found_others.chunks_mut(BATCH))) {
            if cached && most {
                let (words, bits, count) = (self.words.as_ref(), self.bits as u32, self.hashes);
                vectored(ProbeFully { words, bits, count, hashes, found });
            } else {
                self.probe(hashes, found);
            }
            let hits = found.iter().filter(|&&found| found).count();
            most = hits * 2 > hashes.len();
            all += hits;
        }
        all
    }

    /// Looks up a batch of keys.
    ///
    /// Probe by probe, for those keys that are still in: so that every load is asked for ahead
    /// of its use, and none is made for a key that is already out.
    fn probe(&self, hashes: &[u64], found: &mut [bool]) {
        self.probe_at(&mut found[..hashes.len()], |key, number| position(hashes[key], number, self.bits));
    }

    /// The same of up to [`BATCH`] keys, whose positions are given by their number and that of the probe.
    #[inline(always)]
    fn probe_at(&self, found: &mut [bool], position: impl Fn(usize, u32) -> u64) {
        let words = self.words.as_ref();
        let mut alive: [u16; BATCH] = core::array::from_fn(|i| i as u16);
        let mut ring = [0u64; AHEAD];
        let mut count = found.len();
        found.fill(true);
        for number in 0..self.hashes {
            let ask = |key: u16| {
                let at = position(usize::from(key), number);
                prefetch(words, (at / 64) as usize);
                at
            };
            for (slot, &key) in ring.iter_mut().zip(&alive[..count]) {
                *slot = ask(key);
            }
            let mut kept = 0;
            for i in 0..count {
                let at = ring[i % AHEAD];
                ring[i % AHEAD] = ask(alive[(i + AHEAD).min(count - 1)]);
                let hit = words[(at / 64) as usize] >> (at % 64) & 1 == 1;
                let key = alive[i];
                found[usize::from(key)] = hit;
                alive[kept] = key;
                kept += usize::from(hit);
            }
            count = kept;
        }
    }

    /// The rate of false positives of just this filter, from the bits that are set.
    pub fn rate_now(&self) -> f64 {
        let ones: u64 = self.words().iter().map(|word| u64::from(word.count_ones())).sum();
        power(ones as f64 / self.bits as f64, self.hashes)
    }

    /// The same where keys are placed by this hash.
    pub fn rate_now_by(&self, hash: ByBytes) -> f64 {
        match hash.range() {
            Some(range) => self.rate_now_of(range),
            None => self.rate_now(),
        }
    }

    /// The same where positions are this many different numbers, modulo the bits: those below their remainder come
    /// up once more often than the others, which shows in filters of hundreds of millions of bits.
    fn rate_now_of(&self, range: u64) -> f64 {
        let (times, rest) = (range / self.bits, range % self.bits);
        let ones = |words: &[u64]| words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        let (whole, part) = ((rest / 64) as usize, rest % 64);
        let last = if part == 0 { 0 } else { self.words()[whole] & ((1 << part) - 1) };
        let hits = times * ones(self.words()) + ones(&self.words()[..whole]) + u64::from(last.count_ones());
        power(hits as f64 / range as f64, self.hashes)
    }

    /// The expected rate after this many keys.
    pub fn expected_rate(&self, keys: u64) -> f64 {
        params::expected_rate(keys, self.bits, self.hashes)
    }
}

/// The positions of some keys among this many bits: made once for all filters of that size.
/// Probe by probe, each for all keys.
#[derive(Debug, Clone, Default)]
pub struct Positions {
    positions: Vec<u64>,
    keys: usize,
}

impl Positions {
    /// Those of the keys with these hashes.
    pub fn of_hashes(&mut self, hashes: &[u64], bits: u64, hash_count: u32) {
        self.begin(hashes.len());
        for number in 0..hash_count {
            self.positions.extend(hashes.iter().map(|&hash| position(hash, number, bits)));
        }
    }

    /// Those of the keys with these murmur3 hashes (seeds 0, 1, …; at least k of each key).
    ///
    /// # Panics
    /// Where there are fewer.
    pub fn of_lanes(&mut self, lanes: &[&[u32]], bits: u64, hash_count: u32) {
        self.begin(lanes.len());
        for number in 0..hash_count as usize {
            self.positions.extend(lanes.iter().map(|lanes| lane_position(lanes[number], bits)));
        }
    }

    /// Those of the keys with these lanes, by the hash of another system: at least k of each key.
    ///
    /// # Panics
    /// Where there are fewer.
    pub fn of_wide(&mut self, lanes: &[&[u64]], bits: u64, hash_count: u32) {
        self.begin(lanes.len());
        for number in 0..hash_count as usize {
            self.positions.extend(lanes.iter().map(|lanes| wide_position(lanes[number], bits)));
        }
    }

    /// Those of the keys of these bytes, where each position is a hash of them.
    pub fn of_bytes(&mut self, hash: ByBytes, keys: &[&[u8]], bits: u64, hash_count: u32) {
        self.begin(keys.len());
        self.positions.resize(keys.len() * hash_count as usize, 0);
        for (row, key) in keys.iter().enumerate() {
            let mut at = row;
            hash.each_position(key, bits, hash_count, |position| {
                self.positions[at] = position;
                at += keys.len();
            });
        }
    }

    fn begin(&mut self, keys: usize) {
        self.keys = keys;
        self.positions.clear();
    }

    #[inline(always)]
    fn probe(&self, probe: usize) -> &[u64] {
        &self.positions[probe * self.keys..(probe + 1) * self.keys]
    }
}

impl<W: AsRef<[u64]>> Bloom<W> {
    /// How many of these keys, with their positions for filters of this size, may be in the set.
    ///
    /// Three probes are made without asking in between whether the key is still in: a branch
    /// that goes either way half of the time costs more than they do.
    pub fn count_at(&self, positions: &Positions) -> usize {
        let hashes = self.hashes as usize;
        let rest =
            |key: usize, from: usize| (from..hashes).all(|probe| self.has(positions.probe(probe)[key]));
        if hashes < 3 {
            return (0..positions.keys).filter(|&key| rest(key, 0)).count();
        }
        let mut count = 0;
        let mut alive = [0u16; BATCH];
        for from in (0..positions.keys).step_by(BATCH) {
            let to = positions.keys.min(from + BATCH);
            let [a, b, c] = [0, 1, 2].map(|probe| &positions.probe(probe)[from..to]);
            let mut kept = 0;
            for (key, ((&a, &b), &c)) in a.iter().zip(b).zip(c).enumerate() {
                alive[kept] = key as u16;
                kept += usize::from(self.has(a) & self.has(b) & self.has(c));
            }
            count += alive[..kept].iter().filter(|&&key| rest(from + usize::from(key), 3)).count();
        }
        count
    }
}

impl<W: AsRef<[u64]> + AsMut<[u64]>> Bloom<W> {
    /// The words themselves, to be changed: those of a filter of the same shape can be joined by OR.
    pub(crate) fn words_mut(&mut self) -> &mut W {
        &mut self.words
    }

    #[inline(always)]
    fn set(&mut self, position: u64) {
        self.words.as_mut()[(position / 64) as usize] |= 1 << (position % 64);
    }

    /// Adds the key with this hash.
    #[inline]
    pub fn insert_hash(&mut self, hash: u64) {
        for position in positions(hash, self.bits, self.hashes) {
            self.set(position);
        }
    }

    /// Adds the key with these murmur3 hashes (seeds 0, 1, …; at least k of them).
    ///
    /// # Panics
    /// Where there are fewer.
    #[inline]
    pub fn insert_lanes(&mut self, lanes: &[u32]) {
        for position in lane_positions(&lanes[..self.hashes as usize], self.bits) {
            self.set(position);
        }
    }

    /// Adds the key of these bytes, where each position is a hash of them.
    #[inline]
    pub fn insert_bytes(&mut self, hash: ByBytes, key: &[u8]) {
        for position in hash.positions(key, self.bits, self.hashes) {
            self.set(position);
        }
    }

    /// The same; true where it was not found before.
    #[inline]
    pub fn insert_new_bytes(&mut self, hash: ByBytes, key: &[u8]) -> bool {
        let mut new = false;
        for position in hash.positions(key, self.bits, self.hashes) {
            new |= !self.has(position);
            self.set(position);
        }
        new
    }

    /// Adds many keys. The more at a time, the better: with millions of them, a filter beyond
    /// the cache is gone through in order. This takes memory for a while, at most half as much
    /// as the filter.
    pub fn insert_hashes(&mut self, hashes: &[u64]) {
        self.insert_hashes_with(&mut Scratch::default(), hashes);
    }

    /// The same, in memory that is used again and again.
    pub fn insert_hashes_with(&mut self, scratch: &mut Scratch, hashes: &[u64]) {
        insert(self.words.as_mut(), (self.bits, self.hashes), scratch, hashes);
    }
}

/// Looks up keys, many at once where that pays. Whatever holds the words, this and [`insert`] are compiled once.
fn look_up(filter: &Bloom<&[u64]>, scratch: &mut Scratch, hashes: &[u64], found: &mut [bool]) {
    let Some(mut touches) = Touches::new(scratch, hashes.len(), filter.bits, filter.hashes) else {
        filter.look_up(hashes, found);
        return;
    };
    for (hashes, found) in hashes.chunks(touches.batch()).zip(found.chunks_mut(touches.batch())) {
        // Keys that are not in the filter mostly fail at their first probes: it is left to
        // a few of the batch to tell which way is the shorter.
        let (some, others) = hashes.split_at(hashes.len().min(4 * BATCH));
        let (found_some, found_others) = found.split_at_mut(some.len());
        let most = filter.look_up(some, found_some) * 3 > some.len() * 2;
        if !(most && touches.test(filter.words, others, found_others)) {
            filter.look_up(others, found_others);
        }
    }
}

/// Adds keys to a filter of these words, many at once where that pays.
fn insert(words: &mut [u64], (bits, count): (u64, u32), scratch: &mut Scratch, hashes: &[u64]) {
    let Some(mut touches) = Touches::new(scratch, hashes.len(), bits, count) else {
        return set_all(words, hashes, bits, count);
    };
    for hashes in hashes.chunks(touches.batch()) {
        if !touches.set(words, hashes) {
            set_all(words, hashes, bits, count);
        }
    }
}

/// Goes through the positions of keys in a filter that is in the cache: those of some keys, probe by probe. While
/// those of one probe are in use, those of the next are drawn.
#[inline(always)]
fn visit(hashes: &[u64; DRAWN], bits: u32, count: u32, mut visit: impl FnMut(&[u32; DRAWN])) {
    let (mut now, mut next) = ([0; DRAWN], [0; DRAWN]);
    let (mut now, mut next) = (&mut now, &mut next);
    draw(hashes, 0, bits, now);
    for number in 1..=count {
        if number < count {
            draw(hashes, number, bits, next);
        }
        visit(now);
        core::mem::swap(&mut now, &mut next);
    }
}

/// Looks up keys with all of their probes, in a filter that is in the cache.
struct ProbeFully<'a> {
    words: &'a [u64],
    bits: u32,
    count: u32,
    hashes: &'a [u64],
    found: &'a mut [bool],
}

impl Vectored for ProbeFully<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (hashes, found) in self.hashes.chunks(DRAWN).zip(self.found.chunks_mut(DRAWN)) {
            let mut all = [1; DRAWN];
            visit(padded(hashes, &mut [0; DRAWN]), self.bits, self.count, |drawn| {
                for (all, at) in all.iter_mut().zip(drawn) {
                    *all &= self.words[(at / 64) as usize] >> (at % 64);
                }
            });
            found.iter_mut().zip(all).for_each(|(found, all)| *found = all & 1 == 1);
        }
    }
}

/// Sets the bits of keys, in a filter that is in the cache.
struct SetCached<'a> {
    words: &'a mut [u64],
    bits: u32,
    count: u32,
    hashes: &'a [u64],
}

impl Vectored for SetCached<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for hashes in self.hashes.chunks(DRAWN) {
            visit(padded(hashes, &mut [0; DRAWN]), self.bits, self.count, |drawn| {
                for at in &drawn[..hashes.len()] {
                    self.words[(at / 64) as usize] |= 1 << (at % 64);
                }
            });
        }
    }
}

/// Sets the bits of some keys.
fn set_all(words: &mut [u64], hashes: &[u64], bits: u64, count: u32) {
    if words.len() < CACHED {
        vectored(SetCached { words, bits: bits as u32, count, hashes });
    } else {
        set_ahead(words, hashes, bits, count);
    }
}

/// The same, asking for words ahead of their use.
fn set_ahead(words: &mut [u64], hashes: &[u64], bits: u64, count: u32) {
    let Some(&first) = hashes.first() else { return };
    // What was asked for and is not yet set. To begin with, any position of a key will do.
    let ring = &mut [position(first, 0, bits); AHEAD][..hashes.len().min(AHEAD)];
    for keys in hashes.chunks(AHEAD) {
        for number in 0..count {
            for (slot, &hash) in ring.iter_mut().zip(keys) {
                let at = core::mem::replace(slot, position(hash, number, bits));
                prefetch(words, (*slot / 64) as usize);
                words[(at / 64) as usize] |= 1 << (at % 64);
            }
        }
    }
    for at in &*ring {
        words[(at / 64) as usize] |= 1 << (at % 64);
    }
}
