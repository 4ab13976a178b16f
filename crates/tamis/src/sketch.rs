//! One group's sketch where its kind is known only at run time.

use crate::blocked::Blocked;
use crate::bloom::Bloom;
use crate::counting::Counting;
use crate::countmin::{CountMin, Update};
use crate::error::{Result, ShapeFault};
use crate::fuse::Fuse;
use crate::hash::Scheme;
use crate::key::keywords_of;
use crate::layered::Layered;
use crate::params::GroupParams;
use crate::ribbon::Ribbon;
use crate::scalable::{Scalable, Sizes};
use crate::sizing::{Kind, Shape};
use alloc::vec::Vec;

pub use crate::sizing::estimated_keys;

/// The one number that some kinds keep beside their words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Beside {
    /// Of a `blocked`, `bloom` and `layered`: none.
    #[default]
    Nothing,
    /// The seed with which a `fuse` or a `ribbon` could be built.
    Seed(u64),
    /// The keys in the newest layer of a `scalable`.
    NewestKeys(u64),
    /// The rows removed from a `counting`.
    RemovedRows(u64),
    /// The total weight in a `count-min`.
    TotalWeight(u64),
}

impl Beside {
    /// What this number in a file means for this kind.
    pub fn from_number(kind: Kind, number: u64) -> Beside {
        match kind {
            Kind::Blocked | Kind::Bloom | Kind::Layered => Beside::Nothing,
            Kind::Fuse | Kind::Ribbon => Beside::Seed(number),
            Kind::Scalable => Beside::NewestKeys(number),
            Kind::Counting => Beside::RemovedRows(number),
            Kind::CountMin | Kind::CountMinConservative => Beside::TotalWeight(number),
        }
    }

    /// That of an empty sketch of this kind.
    pub fn empty(kind: Kind) -> Beside {
        Beside::from_number(kind, 0)
    }

    /// That of a sketch of this kind that has just taken rows of this total weight. (Static filters and a
    /// `scalable` know their own.)
    pub fn of_weight(kind: Kind, total: u64) -> Beside {
        if kind.counts() { Beside::TotalWeight(total) } else { Beside::empty(kind) }
    }

    /// That of the sketch of both: what counts rows or weights sums up.
    pub fn plus(self, other: Beside) -> Beside {
        match (self, other) {
            (Beside::RemovedRows(a), Beside::RemovedRows(b)) => Beside::RemovedRows(a.saturating_add(b)),
            (Beside::TotalWeight(a), Beside::TotalWeight(b)) => Beside::TotalWeight(a.saturating_add(b)),
            _ => self,
        }
    }

    /// Rows removed from a `counting`; none of others.
    pub fn removed(self) -> u64 {
        if let Beside::RemovedRows(rows) = self { rows } else { 0 }
    }

    /// The total weight in a `count-min`; none in others.
    pub fn total_weight(self) -> u64 {
        if let Beside::TotalWeight(weight) = self { weight } else { 0 }
    }

    /// The number as it stands in a file: the `seed` of the directory.
    pub fn number(self) -> u64 {
        match self {
            Beside::Nothing => 0,
            Beside::Seed(number)
            | Beside::NewestKeys(number)
            | Beside::RemovedRows(number)
            | Beside::TotalWeight(number) => number,
        }
    }
}

/// Sets the bits that the other words have: how filters of the same parameters are joined, but for those
/// that count.
pub fn or_words(words: &mut [u64], others: &[u64]) {
    for (word, other) in words.iter_mut().zip(others) {
        *word |= other;
    }
}

/// A sketch of any kind, over words that it owns or borrows.
#[derive(Debug, Clone)]
pub enum Sketch<W> {
    /// See [`crate::blocked`].
    Blocked(Blocked<W>),
    /// See [`crate::bloom`].
    Bloom(Bloom<W>),
    /// See [`crate::fuse`].
    Fuse(Fuse<W>),
    /// See [`crate::ribbon`].
    Ribbon(Ribbon<W>),
    /// See [`crate::counting`].
    Counting(Counting<W>),
    /// See [`crate::layered`].
    Layered(Layered<W>),
    /// See [`crate::scalable`].
    Scalable(Scalable<W>),
    /// See [`crate::countmin`].
    CountMin(CountMin<W>),
}

impl<W: AsRef<[u64]>> Sketch<W> {
    /// The sketch of a group of this kind and hash, in these words, with what its kind keeps beside them.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) where these are not of one kind, or no such sketch.
    pub fn from_words(
        (kind, hash): (Kind, Scheme),
        group: &GroupParams,
        beside: Beside,
        words: W,
    ) -> Result<Self> {
        let count_min = |shape, update, total, words| {
            CountMin::from_words(words, shape, update, total)
                .map(|sketch| Sketch::CountMin(sketch.placed_by(hash)))
        };
        match (kind, group.shape, beside) {
            (Kind::Blocked, Shape::Blocked { hashes, .. }, Beside::Nothing) => {
                Blocked::from_words(words, hashes).map(Sketch::Blocked)
            }
            (Kind::Bloom, Shape::Bloom { bits, hashes }, Beside::Nothing) => {
                Bloom::from_words(words, bits, hashes).map(Sketch::Bloom)
            }
            (Kind::Fuse, Shape::Fuse { fingerprint_bits, .. }, Beside::Seed(seed)) => {
                Fuse::from_words(words, group.keys(), fingerprint_bits, seed).map(Sketch::Fuse)
            }
            (Kind::Ribbon, Shape::Ribbon { widths, .. }, Beside::Seed(seed)) => {
                Ribbon::from_words(words, group.keys(), widths, seed).map(Sketch::Ribbon)
            }
            (Kind::Counting, Shape::Counting { hashes, .. }, Beside::RemovedRows(_)) => {
                Counting::from_words(words, hashes).map(Sketch::Counting)
            }
            (Kind::Layered, shape @ Shape::Layered { .. }, Beside::Nothing) => {
                Layered::from_words(words, shape).map(Sketch::Layered)
            }
            (Kind::Scalable, Shape::Scalable { layers, .. }, Beside::NewestKeys(newest)) => {
                let (keys, fpr) = (group.keys(), group.fpr());
                Scalable::of_sizes(Sizes::of(hash), words, (keys, fpr), layers, newest).map(Sketch::Scalable)
            }
            (Kind::CountMin, shape, Beside::TotalWeight(total)) => {
                count_min(shape, Update::Plain, total, words)
            }
            (Kind::CountMinConservative, shape, Beside::TotalWeight(total)) => {
                count_min(shape, Update::Conservative, total, words)
            }
            (kind, shape, beside) => Err(ShapeFault::Kind { kind, shape, beside }.into()),
        }
    }

    /// Whether the key with this hash may be in the set; in a `layered`, the record of this one
    /// keyword. In a `count-min`: whether its estimate is above zero.
    #[inline]
    pub fn contains_hash(&self, hash: u64) -> bool {
        match self {
            Sketch::Blocked(filter) => filter.contains_hash(hash),
            Sketch::Counting(filter) => filter.contains_hash(hash),
            Sketch::Bloom(filter) => filter.contains_hash(hash),
            Sketch::Fuse(filter) => filter.contains_hash(hash),
            Sketch::Ribbon(filter) => filter.contains_hash(hash),
            Sketch::Layered(filter) => filter.contains_keywords(&[hash]),
            Sketch::Scalable(filter) => filter.contains_hash(hash),
            Sketch::CountMin(sketch) => sketch.estimate_hash(hash) > 0,
        }
    }

    /// Whether the key of these bytes, whose [identity](Scheme::identity) is given too, may be in
    /// the set: whatever the kind and the hash.
    pub fn contains_key(&self, scheme: Scheme, hash: u64, key: &[u8]) -> bool {
        match (self, scheme.by_bytes()) {
            (Sketch::Layered(filter), _) => {
                let keywords: Vec<u64> = keywords_of(key).map(|word| scheme.identity(word)).collect();
                filter.contains_keywords(&keywords)
            }
            (Sketch::Bloom(filter), Some(by)) => filter.contains_bytes(by, key),
            (Sketch::Scalable(filter), Some(by)) => filter.contains_bytes(by, key),
            _ => self.contains_hash(hash),
        }
    }

    /// The same for many keys, in `found`, one for each hash.
    ///
    /// # Panics
    /// Where the two slices differ in length.
    pub fn contains_hashes(&self, hashes: &[u64], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len());
        match self {
            Sketch::Blocked(filter) => filter.contains_hashes(hashes, found),
            Sketch::Counting(filter) => filter.contains_hashes(hashes, found),
            Sketch::Bloom(filter) => filter.contains_hashes(hashes, found),
            Sketch::Fuse(filter) => filter.contains_hashes(hashes, found),
            Sketch::Ribbon(filter) => filter.contains_hashes(hashes, found),
            Sketch::Scalable(filter) => filter.contains_hashes(hashes, found),
            Sketch::Layered(_) | Sketch::CountMin(_) => {
                found.iter_mut().zip(hashes).for_each(|(found, &hash)| *found = self.contains_hash(hash));
            }
        }
    }

    /// The rate of false positives of just this sketch, from what it holds.
    pub fn rate_now(&self) -> f64 {
        match self {
            Sketch::Blocked(filter) => filter.rate_now(),
            Sketch::Counting(filter) => filter.rate_now(),
            Sketch::Bloom(filter) => filter.rate_now(),
            Sketch::Fuse(filter) => crate::fuse::rate(filter.width()),
            Sketch::Ribbon(filter) => filter.rate(),
            Sketch::Layered(filter) => filter.rate_now(),
            Sketch::Scalable(filter) => filter.rate_now(),
            Sketch::CountMin(sketch) => sketch.rate_now(),
        }
    }
}
