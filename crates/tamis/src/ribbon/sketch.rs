//! Lookups.

use super::params::{BUCKET, Layer, Layout, THRESHOLDS, Widths, rate};
use super::place::{Place, last_salt, mix, place, salt, start};
use crate::arch::cpu::{Vectored, prefetch, vectored};
use crate::error::{Result, ShapeFault};
use alloc::boxed::Box;

/// How many keys ahead the words of a key are asked for.
const AHEAD: usize = 16;

/// Columns that are compared before it is looked whether some differ: a branch for each would be guessed
/// wrong too often.
const COLUMNS: usize = 8;

/// A bumped ribbon filter, its words owned (`Vec<u64>`) or borrowed (`&[u64]`).
#[derive(Debug, Clone)]
pub struct Ribbon<W> {
    words: W,
    /// On the heap: there are files with millions of filters, most of which have one.
    layers: Box<[Layer]>,
    keys: u64,
    widths: Widths,
    seed: u64,
}

impl<W: AsRef<[u64]>> Ribbon<W> {
    /// The filter that was built as these words. Fails where their number is not that of a
    /// filter of this many keys and widths. Wrong words or a wrong seed give wrong answers, and
    /// nothing worse.
    pub fn from_words(words: W, keys: u64, widths: Widths, seed: u64) -> Result<Self> {
        let layout = Layout::new(keys, widths)?;
        let expected = layout.words();
        let got = words.as_ref().len();
        if got != expected {
            let Widths { bits, shorter } = widths;
            return Err(ShapeFault::Ribbon { keys, bits, shorter, expected, got }.into());
        }
        Ok(Ribbon { words, layers: layout.all().into(), keys, widths, seed })
    }

    /// Whether the set may have a key of this hash. Always false for the empty set.
    #[inline]
    pub fn contains_hash(&self, hash: u64) -> bool {
        let words = self.words.as_ref();
        let Some((last, bumping)) = self.layers.split_last() else { return false };
        settle(words, bumping, last, self.seed, hash).matches(words)
    }

    /// The same for many hashes: `found[i]` tells of `hashes[i]`. Faster than one by one, as
    /// reads from memory overlap.
    ///
    /// # Panics
    /// Where the two slices differ in length.
    pub fn contains_hashes(&self, hashes: &[u64], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len());
        let words = self.words.as_ref();
        match self.layers.split_last() {
            None => found.fill(false),
            Some((last, bumping)) => {
                vectored(Contains { words, bumping, last, seed: self.seed, hashes, found });
            }
        }
    }

    /// The words, as they are stored.
    pub fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// The lengths of fingerprints.
    pub fn widths(&self) -> Widths {
        self.widths
    }

    /// The seed with which the filter could be built.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Distinct hashes in the set.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// The expected rate of false positives.
    pub fn rate(&self) -> f64 {
        rate(self.keys, self.widths)
    }

    /// The words themselves, given back.
    pub fn into_words(self) -> W {
        self.words
    }
}

/// Tells of hashes whether their keys may be in the set.
struct Contains<'a> {
    words: &'a [u64],
    bumping: &'a [Layer],
    last: &'a Layer,
    seed: u64,
    hashes: &'a [u64],
    found: &'a mut [bool],
}

impl Vectored for Contains<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Contains { words, bumping, last, seed, hashes, found } = self;
        let ask = |hash| {
            let spot = settle(words, bumping, last, seed, hash);
            spot.ask(words);
            spot
        };
        let mut ring = [Spot::default(); AHEAD];
        for (spot, &hash) in ring.iter_mut().zip(hashes) {
            *spot = ask(hash);
        }
        for (i, found) in found.iter_mut().enumerate() {
            let spot = &mut ring[i % AHEAD];
            *found = spot.matches(words);
            if let Some(&hash) = hashes.get(i + AHEAD) {
                *spot = ask(hash);
            }
        }
    }
}

/// Where a key is looked up: two blocks of one layer, and its coefficients in each.
#[derive(Clone, Copy, Default)]
struct Spot {
    /// The first word of its block, and of the next one.
    at: [usize; 2],
    coefficients: [u64; 2],
    fingerprint: u32,
    width: u32,
}

impl Spot {
    #[inline(always)]
    fn new(layer: &Layer, place: Place) -> Spot {
        let (block, offset) = (place.start / 64, place.start % 64);
        let (at, width) = layer.block(block);
        // A key that begins with the last block ends with it: nothing of the next is its own.
        let next = if (block + 1) * 64 < layer.slots { at + width as usize } else { at };
        let coefficients = [place.coefficients << offset, place.coefficients >> 1 >> (63 - offset)];
        Spot { at: [at, next], coefficients, fingerprint: place.fingerprint, width }
    }

    /// Asks for the words, which mostly follow each other.
    #[inline(always)]
    fn ask(&self, words: &[u64]) {
        let end = self.at[1] + self.width as usize;
        (self.at[0]..end).step_by(8).for_each(|at| prefetch(words, at));
        prefetch(words, end.saturating_sub(1)); // of width 0 there are no words
    }

    /// Whether the slots of the key sum up to its fingerprint.
    #[inline(always)]
    fn matches(&self, words: &[u64]) -> bool {
        let ([at, next], [low, high], width) = (self.at, self.coefficients, self.width as usize);
        let blocks = words[at..at + width].chunks(COLUMNS).zip(words[next..next + width].chunks(COLUMNS));
        let mut fingerprint = self.fingerprint;
        for (one, two) in blocks {
            let mut differ = 0;
            for (one, two) in one.iter().zip(two) {
                differ |= ((one & low) ^ (two & high)).count_ones() ^ fingerprint;
                fingerprint >>= 1;
            }
            if differ & 1 == 1 {
                return false;
            }
        }
        true
    }
}

/// Where a key is looked up: in the first layer that has not bumped it.
#[inline(always)]
fn settle(words: &[u64], bumping: &[Layer], last: &Layer, seed: u64, hash: u64) -> Spot {
    for (number, layer) in bumping.iter().enumerate() {
        let place = place(mix(hash ^ salt(seed, number)), layer.starts());
        if !bumps(words, layer, place.start) {
            return Spot::new(layer, place);
        }
    }
    Spot::new(last, place(mix(hash ^ last_salt(seed)), last.starts()))
}

/// Whether all of these layers, which are the first, have bumped a key.
#[inline]
pub(super) fn bumped_by_all(words: &[u64], layers: &[Layer], seed: u64, hash: u64) -> bool {
    layers
        .iter()
        .enumerate()
        .all(|(number, layer)| bumps(words, layer, start(mix(hash ^ salt(seed, number)), layer.starts())))
}

/// Whether keys that begin here were bumped.
#[inline]
fn bumps(words: &[u64], layer: &Layer, start: u64) -> bool {
    let bucket = start / BUCKET;
    let level = words[layer.buckets + (bucket / 32) as usize] >> (bucket % 32 * 2) & 3;
    start % BUCKET < THRESHOLDS[level as usize]
}
