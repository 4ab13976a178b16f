//! The two filters that are measured: Collodi and Ghera's and ours.

use tamis::blocked::{Blocked, LINE_BITS};
use tamis::hash::xxh3;
use tamis::memory::Words;
use tamis::sketch::or_words;
use tamis_read::error::Result;

use super::Word;
use crate::generate::Random;

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

/// Collodi and Ghera's: an array of booleans, and for each hash function h = (R·h + letter) mod n over
/// the letters of a word, with an R of its own.
pub(super) struct OfPrint {
    map: Vec<bool>,
    pub factors: Vec<u64>,
}

impl OfPrint {
    /// An empty filter of this length, with factors drawn from a seed.
    pub fn new(bits: usize, hashes: u32, seed: u64) -> OfPrint {
        let bits = bits.max(1);
        let mut random = Random::new(seed);
        // Only R mod n counts, and R ≤ n keeps the products within 64 bits.
        let factors = (0..hashes).map(|_| 1 + random.below(bits as u64)).collect();
        OfPrint { map: vec![false; bits], factors }
    }

    /// Where a function with this factor puts a word.
    #[inline]
    pub fn place(&self, factor: u64, word: &Word) -> usize {
        let n = self.map.len() as u64;
        word.iter().fold(0, |h, &letter| (factor * h + u64::from(letter)) % n) as usize
    }
}

impl Sieve for OfPrint {
    fn empty(&self) -> Result<Self> {
        Ok(OfPrint { map: vec![false; self.map.len()], factors: self.factors.clone() })
    }

    fn add(&mut self, words: &[Word]) {
        for word in words {
            for i in 0..self.factors.len() {
                let place = self.place(self.factors[i], word);
                self.map[place] = true;
            }
        }
    }

    fn join(mut self, other: &Self) -> Result<Self> {
        self.map.iter_mut().zip(&other.map).for_each(|(bit, other)| *bit |= other);
        Ok(self)
    }

    fn admitted(&self, words: &[Word]) -> u64 {
        // As with Collodi and Ghera, the first bit that is not set ends it.
        let passes = |word: &&Word| self.factors.iter().all(|&factor| self.map[self.place(factor, word)]);
        words.iter().filter(passes).count() as u64
    }

    fn same(&self, other: &Self) -> bool {
        self.map == other.map && self.factors == other.factors
    }

    fn hashes(&self) -> u32 {
        self.factors.len() as u32
    }

    fn bits(&self) -> u64 {
        self.map.len() as u64
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
