//! The binary fuse filter: small and fast, for a set that is known and final.
//!
//! **Answers** "may this key be in the set?". **Errs** on one side only: a key of the set is
//! always found; any other is found with a probability of 2^-w, where w is the width of a
//! fingerprint in bits, 1 to 32. **Costs** at most 1.15 · w bits per key from a million keys up
//! (1.114 · w at ten million; a Bloom filter 1.44 · w), and three reads from memory per lookup,
//! whatever the width. Building takes about 100 ns and 20 bytes of memory per key. Small sets
//! pay more for their ends: 1.23 · w at 100 thousand keys, 1.4 · w at a thousand, 2 · w at ten.
//! **Do not use it** where keys come one by one: nothing
//! can be added, removed or merged, and the whole set must be at hand to build it.
//!
//! # Idea
//! Every key has three slots of a table and a fingerprint, all drawn from its hash. The table is
//! filled such that for each key of the set the exclusive or of its three slots is its
//! fingerprint. For any other key that exclusive or has nothing to do with its fingerprint, and
//! the two agree by chance only: once in 2^w.
//!
//! What makes the table small is where the three slots lie: one in each of three neighbouring
//! segments of the table, the first segment drawn at random. The segments at both ends are
//! used less than the others, so that keys can be settled from the ends inwards even where the
//! table is nearly full. Were the slots drawn from the whole table, 1.23 slots per key would be
//! needed; so it is 1.11, and two segments.
//!
//! The same set gives the same words: in what order keys are peeled depends on the slots they use,
//! not on the order in which they came; and seeds are tried from 0 up until one works.
//!
//! # Layout
//! With the key's hash h, the seed s, segments of L = 2^e slots and S first slots (see
//! [`shape()`]), modulo 2⁶⁴:
//!
//! - x = h ⊕ s · 0xd1b54a32d192ed03; g = (x ⊕ x≫32) · 0x9e3779b97f4a7c15;
//! - m = mix(g), where mix(z) is z ← (z ⊕ z≫30) · 0xbf58476d1ce4e5b9,
//!   z ← (z ⊕ z≫27) · 0x94d049bb133111eb, and then z ⊕ z≫31;
//! - slots a = ⌊g · S / 2⁶⁴⌋, (a + L) ⊕ (m mod L), (a + 2L) ⊕ (⌊m / L⌋ mod L);
//! - fingerprint ⌊m / 2^(64−w)⌋.
//!
//! Slot i is bits i·w to i·w + w − 1 of the words, lowest first. One word of padding follows.
//!
//! # Three slots, not four
//! Four slots per key need about 5 % fewer bits (1.06 · w at two million keys), but every lookup
//! reads a fourth place. Measured side by side, four were 20 % slower at one and ten million
//! keys, and 30 % at a hundred million. Three slots keep within 1.15 · w; so speed decides.
//!
//! After Graf and Lemire, *Binary Fuse Filters: Fast and Smaller Than Xor Filters* (2022).
//!
//! ```
//! use tamis::fuse::{Fuse, width_for};
//! use tamis::hash::xxh3;
//!
//! let mut hashes: Vec<u64> = ["ann", "bob", "cleo"].map(|name| xxh3(name.as_bytes(), 0)).to_vec();
//! let width = width_for(0.001).unwrap(); // 10 bits: one false positive in 1024
//! let filter = Fuse::build(&mut hashes, width)?;
//! assert!(filter.contains_hash(xxh3(b"bob", 0)));
//! assert!(!filter.contains_hash(xxh3(b"dan", 0)));
//!
//! // What a file must keep, and how a reader gets the filter back from it:
//! let (keys, seed) = (filter.keys(), filter.seed());
//! let again = Fuse::from_words(filter.words(), keys, width, seed)?;
//! assert!(again.contains_hash(xxh3(b"cleo", 0)));
//! # Ok::<(), tamis::Error>(())
//! ```

mod build;
mod lookup;
mod place;
mod shape;
#[cfg(test)]
mod tests;

use crate::answers::{Answers, Each, Hits, Noted};
use crate::arch::cpu::vectored;
use crate::error::{Result, ShapeFault};
use lookup::{Bits, Contains};
use place::{Placer, mask, peek};
pub use shape::{MAX_KEYS, MAX_WIDTH, Shape, rate, shape, width_for, words_needed};

/// Slots that a lookup reads.
pub const PROBES: u32 = 3;

/// A binary fuse filter, its words owned (`Vec<u64>`) or borrowed (`&[u64]`).
#[derive(Debug, Clone)]
pub struct Fuse<W> {
    words: W,
    shape: Shape,
    placer: Placer,
    keys: u64,
    width: u32,
    seed: u64,
}

impl<W: AsRef<[u64]>> Fuse<W> {
    /// The filter that was built as these words. Fails where their number is not that of a
    /// filter of this many keys and bits. Wrong words or a wrong seed give wrong answers, and
    /// nothing worse.
    pub fn from_words(words: W, keys: u64, width: u32, seed: u64) -> Result<Self> {
        let expected = words_needed(keys, width)?;
        let got = words.as_ref().len();
        if got != expected {
            return Err(ShapeFault::Fuse { keys, width, expected, got }.into());
        }
        let shape = shape(keys)?;
        let placer = Placer::new(&shape, width, seed);
        Ok(Fuse { words, shape, placer, keys, width, seed })
    }

    /// Whether the set may have a key of this hash. Always false for the empty set.
    #[inline]
    pub fn contains_hash(&self, hash: u64) -> bool {
        if self.keys == 0 {
            return false;
        }
        let (slots, fingerprint) = self.placer.place_hash(hash);
        let peeked = |sum, &slot: &u64| sum ^ peek(self.words.as_ref(), slot, self.width);
        slots.iter().fold(fingerprint, peeked) & mask(self.width) == 0
    }

    /// The same for many hashes: `found[i]` tells of `hashes[i]`. Faster than one by one, as
    /// reads from memory overlap.
    ///
    /// # Panics
    /// Where the two slices differ in length.
    pub fn contains_hashes(&self, hashes: &[u64], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len());
        look_up(&self.borrowed(), hashes, found);
    }

    /// The same for hashes that are made on the way; the answers come in the same order. Making
    /// them then takes no time of its own where memory is waited for.
    #[inline]
    pub fn contains_all(&self, hashes: impl Iterator<Item = u64>, found: impl FnMut(bool)) {
        self.answer(hashes, Each(found));
    }

    /// How many of the keys with these hashes may be in the set.
    #[inline]
    pub fn count_all(&self, hashes: impl Iterator<Item = u64>) -> u64 {
        self.answer(hashes, Hits::default()).0
    }

    fn borrowed(&self) -> Fuse<&[u64]> {
        let Fuse { shape, placer, keys, width, seed, .. } = *self;
        Fuse { words: self.words.as_ref(), shape, placer, keys, width, seed }
    }

    #[inline]
    fn answer<A: Answers>(&self, hashes: impl Iterator<Item = u64>, mut answers: A) -> A {
        if self.keys == 0 {
            hashes.for_each(|_| answers.take(false));
            return answers;
        }
        let (words, placer, width) = (self.words.as_ref(), self.placer, self.width);
        let bytes: &[u8] = bytemuck::cast_slice(words);
        match width {
            8 => vectored(Contains { table: bytes, placer, width, hashes, answers }),
            16 => {
                let table = bytemuck::cast_slice::<u64, [u8; 2]>(words);
                vectored(Contains { table, placer, width, hashes, answers })
            }
            ..=25 => {
                let table = Bits::<4> { bytes, width };
                vectored(Contains { table, placer, width, hashes, answers })
            }
            _ => {
                let table = Bits::<8> { bytes, width };
                vectored(Contains { table, placer, width, hashes, answers })
            }
        }
    }

    /// The table, as it is stored.
    pub fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// Bits of a fingerprint.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The seed with which the filter could be built.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Distinct hashes in the set.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Fingerprints in the table.
    pub fn slots(&self) -> u64 {
        self.shape.slots
    }

    /// The table itself, given back.
    pub fn into_words(self) -> W {
        self.words
    }
}

/// Looks up hashes: whatever holds the words, this loop is compiled once.
fn look_up(filter: &Fuse<&[u64]>, hashes: &[u64], found: &mut [bool]) {
    filter.answer(hashes.iter().copied(), Noted(found.iter_mut()));
}
