//! The two filters that are measured: Collodi and Ghera's and ours.

use tamis::blocked::{Blocked, LINE_BITS};
use tamis::bloom::Bloom;
use tamis::hash::{ByBytes, xxh3};
use tamis::memory::Words;
use tamis::sketch::or_words;
use tamis_read::error::Result;

use super::Word;

/// A filter that threads can fill in parts.
pub(super) trait Sieve: Sized + Send + Sync {
    /// An empty one of the same make.
    fn empty(&self) -> Result<Self>;

    /// Adds words.
    fn add(&mut self, words: &[Word]);

    /// The filter of both sets.
    fn join(self, other: &Self) -> Result<Self>;

    /// How many of these words may be in the set.
    fn admitted(&self, words: &[Word]) -> u64;

    /// Whether the two are the same, bit for bit.
    fn same(&self, other: &Self) -> bool;

    /// Hash functions.
    fn hashes(&self) -> u32;

    /// Its length.
    fn bits(&self) -> u64;

    /// The rate of false positives expected with this many keys.
    fn rate(&self, keys: u64) -> f64;
}

/// Collodi and Ghera's: the classic filter, with their hash family.
pub(super) struct OfPrint {
    filter: Bloom<Words>,
    hash: ByBytes,
}

impl OfPrint {
    /// An empty filter of this length, with factors drawn from a seed.
    pub fn new(bits: u64, hashes: u32, seed: u64) -> Result<OfPrint> {
        Ok(OfPrint { filter: Bloom::zeroed(bits.max(1), hashes)?, hash: ByBytes::Polynomial { seed } })
    }
}

impl Sieve for OfPrint {
    fn empty(&self) -> Result<Self> {
        Ok(OfPrint { filter: Bloom::zeroed(self.bits(), self.hashes())?, hash: self.hash })
    }

    fn add(&mut self, words: &[Word]) {
        words.iter().for_each(|word| self.filter.insert_bytes(self.hash, word));
    }

    fn join(self, other: &Self) -> Result<Self> {
        let (bits, hashes) = (self.bits(), self.hashes());
        let mut words = self.filter.into_words();
        or_words(&mut words, other.filter.words());
        Ok(OfPrint { filter: Bloom::from_words(words, bits, hashes)?, hash: self.hash })
    }

    fn admitted(&self, words: &[Word]) -> u64 {
        // As with Collodi and Ghera, the first bit that is not set ends it.
        words.iter().filter(|word| self.filter.contains_bytes(self.hash, &word[..])).count() as u64
    }

    fn same(&self, other: &Self) -> bool {
        self.filter.words() == other.filter.words() && self.hash == other.hash
    }

    fn hashes(&self) -> u32 {
        self.filter.hashes()
    }

    fn bits(&self) -> u64 {
        self.filter.bits()
    }

    /// Collodi and Ghera's formula.
    fn rate(&self, keys: u64) -> f64 {
        let r = f64::from(self.hashes());
        (1.0 - (-r * keys as f64 / self.bits() as f64).exp()).powf(r)
    }
}

/// Ours: the blocked filter, asked in batches.
pub(super) struct OfOurs(Blocked<Words>);

impl OfOurs {
    /// An empty filter for this many keys at this rate.
    pub fn new(keys: u64, fpr: f64) -> Result<OfOurs> {
        Ok(OfOurs(Blocked::for_rate(keys.max(1), fpr)?))
    }
}

fn hashes_of(words: &[Word]) -> impl Iterator<Item = u64> {
    words.iter().map(|word| xxh3(word, 0))
}

impl Sieve for OfOurs {
    fn empty(&self) -> Result<Self> {
        Ok(OfOurs(Blocked::zeroed(self.bits() / LINE_BITS, self.hashes())?))
    }

    fn add(&mut self, words: &[Word]) {
        self.0.insert_all(hashes_of(words));
    }

    fn join(self, other: &Self) -> Result<Self> {
        let hashes = self.hashes();
        let mut words = self.0.into_words();
        or_words(&mut words, other.0.words());
        Ok(OfOurs(Blocked::from_words(words, hashes)?))
    }

    fn admitted(&self, words: &[Word]) -> u64 {
        let mut admitted = 0;
        self.0.contains_all(hashes_of(words), |hit| admitted += u64::from(hit));
        admitted
    }

    fn same(&self, other: &Self) -> bool {
        self.0.words() == other.0.words() && self.hashes() == other.hashes()
    }

    fn hashes(&self) -> u32 {
        self.0.hashes()
    }

    fn bits(&self) -> u64 {
        64 * self.0.words().len() as u64
    }

    fn rate(&self, keys: u64) -> f64 {
        self.0.expected_rate(keys)
    }
}
