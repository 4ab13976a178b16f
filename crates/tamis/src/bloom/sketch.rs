//! The filter itself, over words that it owns or borrows.

use super::params::{self, MOST_HASHES};
use crate::arch::cpu::prefetch;
use crate::arch::map::Words;
use crate::error::{Error, Result};
use crate::hash::fold;
use crate::real::power;

const STEP: u64 = 0xa076_1d64_78bd_642f;
const TWIST: u64 = 0xe703_7ed1_a0b4_28db;

/// How many keys ahead the words of a key are asked for.
const AHEAD: usize = 8;

/// A draw of the generator, from its state.
#[inline(always)]
fn draw(state: u64) -> u64 {
    fold(state, state ^ TWIST)
}

/// The position that a draw gives among so many bits.
#[inline(always)]
fn place(draw: u64, bits: u64) -> u64 {
    ((u128::from(draw) * u128::from(bits)) >> 64) as u64
}

/// The positions of the key with this hash among so many bits.
#[inline(always)]
pub fn positions(hash: u64, bits: u64, hashes: u32) -> impl Iterator<Item = u64> {
    let mut state = hash;
    (0..hashes).map(move |_| {
        state = state.wrapping_add(STEP);
        place(draw(state), bits)
    })
}

/// The positions of a key whose murmur3 hashes are given, seed by seed.
#[inline(always)]
fn lane_positions(lanes: &[u32], bits: u64) -> impl Iterator<Item = u64> {
    // A 32-bit division is several times faster than a 64-bit one.
    lanes.iter().map(move |&lane| match u32::try_from(bits) {
        Ok(bits) => u64::from(lane % bits),
        Err(_) => u64::from(lane),
    })
}

/// A Bloom filter; see the [module](super) for the idea.
#[derive(Debug, Clone)]
pub struct Bloom<W> {
    words: W,
    bits: u64,
    hashes: u32,
}

impl Bloom<Words> {
    /// An empty filter for so many keys at this rate.
    pub fn for_rate(keys: u64, fpr: f64) -> Result<Self> {
        let shape = crate::sizing::Kind::Bloom.shape_for_rate(keys, fpr)?;
        Self::zeroed(shape.slots, shape.hashes)
    }

    /// An empty filter of so many bits.
    pub fn zeroed(bits: u64, hashes: u32) -> Result<Self> {
        let words = usize::try_from(bits.div_ceil(64)).map_err(|_| Error::TooLarge { bits })?;
        Bloom::from_words(Words::zeroed(words).map_err(Error::Memory)?, bits, hashes)
    }
}

impl<W: AsRef<[u64]>> Bloom<W> {
    /// A filter of so many bits, in these words.
    pub fn from_words(words: W, bits: u64, hashes: u32) -> Result<Self> {
        let len = words.as_ref().len();
        if bits == 0 || len as u64 != bits.div_ceil(64) || hashes == 0 || hashes > MOST_HASHES {
            return Err(Error::Shape(format!(
                "{len} words, {bits} bits and {hashes} hashes make no Bloom filter"
            )));
        }
        Ok(Bloom { words, bits, hashes })
    }

    /// The words of the bits, lowest first.
    pub fn words(&self) -> &[u64] {
        self.words.as_ref()
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
    #[inline]
    pub fn contains_lanes(&self, lanes: &[u32]) -> bool {
        lane_positions(&lanes[..self.hashes as usize], self.bits).all(|position| self.has(position))
    }

    /// The same as [`contains_hash`](Self::contains_hash) for many keys, one for each hash.
    ///
    /// Probe by probe, for those keys that are still in: so that every load is asked for ahead
    /// of its use, and none is made for a key that is already out.
    pub fn contains_hashes(&self, hashes: &[u64], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len());
        const BATCH: usize = 256;
        let words = self.words.as_ref();
        let mut alive = [0u16; BATCH];
        let mut at = [0u64; BATCH];
        for (hashes, found) in hashes.chunks(BATCH).zip(found.chunks_mut(BATCH)) {
            found.fill(true);
            let mut states = [0u64; BATCH];
            states[..hashes.len()].copy_from_slice(hashes);
            let mut count = hashes.len();
            for (i, slot) in alive[..count].iter_mut().enumerate() {
                *slot = i as u16;
            }
            for _ in 0..self.hashes {
                for i in 0..count {
                    let state = &mut states[usize::from(alive[i])];
                    *state = state.wrapping_add(STEP);
                    at[i] = place(draw(*state), self.bits);
                    prefetch(words, (at[i] / 64) as usize);
                }
                let mut kept = 0;
                for i in 0..count {
                    let hit = words[(at[i] / 64) as usize] >> (at[i] % 64) & 1 == 1;
                    found[usize::from(alive[i])] = hit;
                    alive[kept] = alive[i];
                    kept += usize::from(hit);
                }
                count = kept;
            }
        }
    }

    /// The rate of false positives of just this filter, from the bits that are set.
    pub fn rate_now(&self) -> f64 {
        let ones: u64 = self.words().iter().map(|word| u64::from(word.count_ones())).sum();
        power(ones as f64 / self.bits as f64, self.hashes)
    }

    /// The expected rate after so many keys.
    pub fn expected_rate(&self, keys: u64) -> f64 {
        params::expected_rate(keys, self.bits, self.hashes)
    }
}

/// The draws of keys, from which their positions in a filter of any size follow: made once for
/// many filters. Probe by probe, each for all keys.
#[derive(Debug, Clone, Default)]
pub struct Draws {
    draws: Vec<u64>,
    keys: usize,
}

impl Draws {
    /// Makes the draws of these keys for filters of up to so many hashes.
    pub fn make(&mut self, hashes: &[u64], hash_count: u32) {
        self.keys = hashes.len();
        self.draws.clear();
        for probe in 1..=u64::from(hash_count) {
            self.draws.extend(hashes.iter().map(|hash| draw(hash.wrapping_add(STEP.wrapping_mul(probe)))));
        }
    }

    #[inline(always)]
    fn probe(&self, probe: usize) -> &[u64] {
        &self.draws[probe * self.keys..(probe + 1) * self.keys]
    }
}

impl<W: AsRef<[u64]>> Bloom<W> {
    /// How many of these keys may be in the set.
    ///
    /// Three probes are made without asking in between whether the key is still in: a branch
    /// that goes either way half of the time costs more than they do.
    pub fn count_draws(&self, draws: &Draws) -> usize {
        let hit = |draw: u64| self.has(place(draw, self.bits));
        let rest =
            |key: usize, from: usize| (from..self.hashes as usize).all(|probe| hit(draws.probe(probe)[key]));
        if self.hashes < 3 {
            return (0..draws.keys).filter(|&key| rest(key, 0)).count();
        }
        let firsts = draws.probe(0).iter().zip(draws.probe(1)).zip(draws.probe(2));
        let passed = |(_, ((a, b), c)): &(usize, ((&u64, &u64), &u64))| hit(**a) & hit(**b) & hit(**c);
        firsts.enumerate().filter(passed).filter(|(key, _)| rest(*key, 3)).count()
    }
}

impl<W: AsRef<[u64]> + AsMut<[u64]>> Bloom<W> {
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
    #[inline]
    pub fn insert_lanes(&mut self, lanes: &[u32]) {
        for position in lane_positions(&lanes[..self.hashes as usize], self.bits) {
            self.set(position);
        }
    }

    /// Adds many keys, asking for words ahead of their use.
    pub fn insert_hashes(&mut self, hashes: &[u64]) {
        let (bits, count) = (self.bits, self.hashes);
        let words = self.words.as_mut();
        for (i, &hash) in hashes.iter().enumerate() {
            let ahead = hashes[(i + AHEAD).min(hashes.len() - 1)];
            for position in positions(ahead, bits, count) {
                prefetch(words, (position / 64) as usize);
            }
            for position in positions(hash, bits, count) {
                words[(position / 64) as usize] |= 1 << (position % 64);
            }
        }
    }
}
