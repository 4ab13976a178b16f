//! Building a filter: layer by layer, each solves as many equations as its slots allow and
//! bumps the other keys to the next.
//!
//! A key asks that the exclusive or of some of 64 neighbouring slots equal its fingerprint. Its
//! equation is put into the first of its slots that no equation holds yet, after those that are
//! met on the way have been subtracted from it. Where nothing is left of it, it cannot be put.
//!
//! Buckets are filled from left to right, and each from its end to its front, because its front
//! is what the bucket before runs over into. At the first equation that cannot be put, the keys
//! before the next threshold are bumped. What has been put of them is taken back: it was put
//! last, so nothing rests upon it.

use super::Ribbon;
use super::params::{BUCKET, Layer, Layout, THRESHOLDS, Widths};
use super::place::{last_salt, mix, place, salt, unmix};
use crate::error::{Error, Result};
use alloc::vec;
use alloc::vec::Vec;

/// Seeds that are tried for all layers, and for the last one with each of them. Nearly every
/// one works for hashes that are spread evenly; so a build that fails for all has other causes.
const SEEDS: u64 = 64;

impl Ribbon<Vec<u64>> {
    /// Builds the filter of a set of hashes. Order and repetitions do not matter: the same set
    /// gives the same words and seed.
    ///
    /// The hashes are left each once, in an order of the filter's own; `hashes.len()` is then
    /// the number of keys. Needs 12 bytes of memory for every key beside the hashes and the
    /// table.
    pub fn build(hashes: &mut Vec<u64>, widths: Widths) -> Result<Self> {
        build_within(SEEDS, hashes, widths)
    }
}

/// Builds with the first of this many seeds that works.
pub(super) fn build_within(seeds: u64, hashes: &mut Vec<u64>, widths: Widths) -> Result<Ribbon<Vec<u64>>> {
    widths.check()?;
    hashes.sort_unstable();
    hashes.dedup();
    let keys = hashes.len() as u64;
    let layout = Layout::new(keys, widths)?;
    let Some((bumping, last)) = layout.split() else {
        return Ribbon::from_words(Vec::new(), 0, widths, 0);
    };
    let mut words = vec![0; layout.words()];
    let mut band = Band::default();
    for seed in (0..seeds).map(|seed| seed << 8) {
        let mut left: Option<Vec<u64>> = None;
        for (number, layer) in bumping.iter().enumerate() {
            let salt = salt(seed, number);
            let bumped = match &mut left {
                // In place: the hashes are most of the memory of a large set.
                None => {
                    hashes.iter_mut().for_each(|hash| *hash = mix(*hash ^ salt));
                    hashes.sort_unstable();
                    let bumped = band.bump(hashes, layer, salt, &mut words);
                    hashes.iter_mut().for_each(|key| *key = unmix(*key) ^ salt);
                    bumped
                }
                Some(left) => {
                    left.iter_mut().for_each(|hash| *hash = mix(*hash ^ salt));
                    left.sort_unstable();
                    band.bump(left, layer, salt, &mut words)
                }
            };
            band.solve(layer, &mut words);
            left = Some(bumped);
        }
        let left = left.as_ref().unwrap_or(hashes);
        // More than there are slots can never be put.
        let tries = if left.len() as u64 > last.slots { 0 } else { seeds };
        for seed in seed..seed + tries {
            if band.put_all(left, last, last_salt(seed)) {
                band.solve(last, &mut words);
                return Ribbon::from_words(words, keys, widths, seed);
            }
        }
    }
    Err(Error::Seeds { keys, seeds })
}

/// The equations of one layer, one for a slot.
#[derive(Default)]
pub(super) struct Band {
    /// Coefficients from the slot on; 0 where there is no equation.
    rows: Vec<u64>,
    /// What the sum is.
    sums: Vec<u32>,
    /// Within a bucket: the offsets of keys and the slots of their equations.
    put: Vec<(u64, usize)>,
}

impl Band {
    fn clear(&mut self, layer: &Layer) {
        let slots = layer.slots as usize;
        self.rows.clear();
        self.rows.resize(slots, 0);
        self.sums.clear();
        self.sums.resize(slots, 0);
    }

    /// The slot into which the equation of a key was put, if it could be.
    #[inline]
    fn put(&mut self, key: u64, starts: u64) -> (u64, Option<usize>) {
        let place = place(key, starts);
        let (mut row, mut sum, mut at) = (place.coefficients, place.fingerprint, place.start as usize);
        loop {
            let held = self.rows[at];
            if held == 0 {
                self.rows[at] = row;
                self.sums[at] = sum;
                return (place.start, Some(at));
            }
            row ^= held;
            sum ^= self.sums[at];
            if row == 0 {
                return (place.start, None);
            }
            let skip = row.trailing_zeros();
            row >>= skip;
            at += skip as usize;
        }
    }

    /// Puts all keys that can be put, which are sorted; the hashes of the others are returned,
    /// and the buckets' bits are written.
    fn bump(&mut self, keys: &[u64], layer: &Layer, salt: u64, words: &mut [u64]) -> Vec<u64> {
        self.clear(layer);
        let starts = layer.starts();
        let buckets = &mut words[layer.buckets..layer.table];
        buckets.fill(0);
        let start = |key: u64| ((u128::from(key) * u128::from(starts)) >> 64) as u64;
        let mut bumped = Vec::with_capacity(keys.len() / 14);
        let mut from = 0;
        while from < keys.len() {
            let bucket = start(keys[from]) / BUCKET;
            let in_it = keys[from..].iter().take_while(|&&key| start(key) / BUCKET == bucket).count();
            let keys = &keys[from..from + in_it];
            from += in_it;
            self.put.clear();
            let mut level = 0;
            for &key in keys.iter().rev() {
                let (start, slot) = self.put(key, starts);
                let offset = start - bucket * BUCKET;
                match slot {
                    Some(slot) => self.put.push((offset, slot)),
                    None => {
                        level = THRESHOLDS.iter().take_while(|&&threshold| threshold <= offset).count();
                        break;
                    }
                }
            }
            while let Some(&(_, slot)) = self.put.last().filter(|(offset, _)| *offset < THRESHOLDS[level]) {
                self.rows[slot] = 0;
                self.sums[slot] = 0;
                self.put.pop();
            }
            bumped.extend(keys[..keys.len() - self.put.len()].iter().map(|&key| unmix(key) ^ salt));
            buckets[(bucket / 32) as usize] |= (level as u64) << (bucket % 32 * 2);
        }
        bumped
    }

    /// Puts all keys, if that can be done with this salt.
    pub(super) fn put_all(&mut self, hashes: &[u64], layer: &Layer, salt: u64) -> bool {
        self.clear(layer);
        hashes.iter().all(|&hash| self.put(mix(hash ^ salt), layer.starts()).1.is_some())
    }

    /// Gives every slot its value, from the last to the first. Slots without an equation are zero.
    fn solve(&self, layer: &Layer, words: &mut [u64]) {
        // Of each column, the values of the 64 slots from the one at hand.
        let mut columns = [0u64; 32];
        for block in (0..layer.slots / 64).rev() {
            let (at, width) = layer.block(block);
            let columns = &mut columns[..width as usize];
            let first = block as usize * 64;
            for slot in (first..first + 64).rev() {
                let (row, sum) = (self.rows[slot], self.sums[slot]);
                for (bit, column) in columns.iter_mut().enumerate() {
                    let above = *column << 1;
                    let value = parity(above & row) ^ (u64::from(sum >> bit) & u64::from(row != 0));
                    *column = above | (value & 1);
                }
            }
            words[at..at + width as usize].copy_from_slice(columns);
        }
    }
}

/// The exclusive or of all bits.
#[inline]
pub(super) fn parity(word: u64) -> u64 {
    let x = word ^ word >> 32;
    let x = x ^ x >> 16;
    let x = x ^ x >> 8;
    let x = x ^ x >> 4;
    0x6996 >> (x & 15) & 1
}
