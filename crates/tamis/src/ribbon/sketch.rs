//! Lookups.

use super::build::parity;
use super::params::{BUCKET, Layer, Layout, THRESHOLDS, Widths, rate, words_needed};
use super::place::{Place, last_salt, mix, place, salt};
use crate::error::{Result, ShapeFault};

/// Keys of which places are computed before the first is compared: enough reads in flight to
/// keep memory busy.
const BATCH: usize = 32;

/// A bumped ribbon filter, its words owned (`Vec<u64>`) or borrowed (`&[u64]`).
#[derive(Debug, Clone)]
pub struct Ribbon<W> {
    words: W,
    layout: Layout,
    keys: u64,
    widths: Widths,
    seed: u64,
}

impl<W: AsRef<[u64]>> Ribbon<W> {
    /// The filter that was built as these words. Fails where their number is not that of a
    /// filter of this many keys and widths. Wrong words or a wrong seed give wrong answers, and
    /// nothing worse.
    pub fn from_words(words: W, keys: u64, widths: Widths, seed: u64) -> Result<Self> {
        let expected = words_needed(keys, widths)?;
        let got = words.as_ref().len();
        if got != expected {
            let Widths { bits, shorter } = widths;
            return Err(ShapeFault::Ribbon { keys, bits, shorter, expected, got }.into());
        }
        Ok(Ribbon { words, layout: Layout::new(keys, widths)?, keys, widths, seed })
    }

    /// Whether the set may have a key of this hash. Always false for the empty set.
    #[inline]
    pub fn contains_hash(&self, hash: u64) -> bool {
        self.contains_from(0, hash)
    }

    /// The same, where the layers before this one have bumped it.
    fn contains_from(&self, first: usize, hash: u64) -> bool {
        let words = self.words.as_ref();
        let Some((bumping, last)) = self.layout.split() else { return false };
        for (number, layer) in bumping.iter().enumerate().skip(first) {
            let place = place(mix(hash ^ salt(self.seed, number)), layer.starts());
            if !bumps(words, layer, place.start) {
                return matches(words, layer, place);
            }
        }
        matches(words, last, place(mix(hash ^ last_salt(self.seed)), last.starts()))
    }

    /// The same for many hashes: `found[i]` tells of `hashes[i]`. Faster than one by one, as
    /// reads from memory overlap.
    ///
    /// # Panics
    /// Where the two slices differ in length.
    pub fn contains_hashes(&self, hashes: &[u64], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len());
        let words = self.words.as_ref();
        let (salt, layer, after) = match self.layout.split() {
            None => return found.fill(false),
            Some(([], last)) => (last_salt(self.seed), last, 0),
            Some(([layer, ..], _)) => (salt(self.seed, 0), layer, 1),
        };
        let mut places = [(Place::default(), false, 0); BATCH];
        for (hashes, found) in hashes.chunks(BATCH).zip(found.chunks_mut(BATCH)) {
            for (at, &hash) in places.iter_mut().zip(hashes) {
                let place = place(mix(hash ^ salt), layer.starts());
                let bumped = after == 1 && bumps(words, layer, place.start);
                // Nothing waits for the word that is read here, so that reads of many keys are
                // under way at a time; what is compared later is then at hand.
                let first = words.get(layer.block(place.start / 64).0).copied().unwrap_or(0);
                *at = (place, bumped, first);
            }
            core::hint::black_box(&places);
            for ((found, &hash), &(place, bumped, _)) in found.iter_mut().zip(hashes).zip(&places) {
                *found = match bumped {
                    true => self.contains_from(after, hash),
                    false => matches(words, layer, place),
                };
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

/// Whether keys that begin here were bumped.
#[inline]
fn bumps(words: &[u64], layer: &Layer, start: u64) -> bool {
    let bucket = start / BUCKET;
    let level = words[layer.buckets + (bucket / 32) as usize] >> (bucket % 32 * 2) & 3;
    start % BUCKET < THRESHOLDS[level as usize]
}

/// Whether the slots of a key sum up to its fingerprint.
#[inline]
fn matches(words: &[u64], layer: &Layer, place: Place) -> bool {
    let (block, offset) = (place.start / 64, place.start % 64);
    let (at, width) = layer.block(block);
    // A key that begins with the last block ends with it: whatever is read after it is shifted out.
    let next = if (block + 1) * 64 < layer.slots { at + width as usize } else { at };
    let width = width as usize;
    let (low, high) = (&words[at..at + width], &words[next..next + width]);
    low.iter().zip(high).enumerate().all(|(bit, (low, high))| {
        let slots = low >> offset | high << 1 << (63 - offset);
        parity(slots & place.coefficients) == u64::from(place.fingerprint >> bit & 1)
    })
}
