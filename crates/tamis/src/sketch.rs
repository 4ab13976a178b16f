//! One group's sketch where its kind is known only at run time.

use crate::blocked::Blocked;
use crate::bloom::Bloom;
use crate::counting::Counting;
use crate::countmin::{CountMin, Update};
use crate::error::Result;
use crate::fuse::Fuse;
use crate::hash::{Scheme, murmur3};
use crate::key::keywords_of;
use crate::layered::Layered;
use crate::params::GroupParams;
use crate::scalable::Scalable;
use crate::sizing::Kind;
use alloc::vec::Vec;

pub use crate::sizing::estimated_keys;

/// A sketch of any kind, over words that it owns or borrows.
#[derive(Debug, Clone)]
pub enum Sketch<W> {
    /// See [`crate::blocked`].
    Blocked(Blocked<W>),
    /// See [`crate::bloom`].
    Bloom(Bloom<W>),
    /// See [`crate::fuse`].
    Fuse(Fuse<W>),
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
    /// The sketch of a group, in these words. The seed is that of a `fuse`, the keys in the
    /// newest layer of a `scalable`, the rows removed from a `counting`, or the total weight in a
    /// `count-min`.
    pub fn from_words(kind: Kind, group: &GroupParams, seed: u64, words: W) -> Result<Self> {
        Ok(match kind {
            Kind::Blocked => Sketch::Blocked(Blocked::from_words(words, group.shape.hashes)?),
            Kind::Bloom => Sketch::Bloom(Bloom::from_words(words, group.shape.slots, group.shape.hashes)?),
            Kind::Fuse => Sketch::Fuse(Fuse::from_words(words, group.keys, group.shape.width, seed)?),
            Kind::Counting => Sketch::Counting(Counting::from_words(words, group.shape.hashes)?),
            Kind::Layered => Sketch::Layered(Layered::from_words(words, group.shape)?),
            Kind::Scalable => {
                let layers = group.shape.hashes;
                Sketch::Scalable(Scalable::from_words(words, group.keys, group.fpr, layers, seed)?)
            }
            Kind::CountMin => {
                Sketch::CountMin(CountMin::from_words(words, group.shape, Update::Plain, seed)?)
            }
            Kind::CountMinConservative => {
                Sketch::CountMin(CountMin::from_words(words, group.shape, Update::Conservative, seed)?)
            }
        })
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
            Sketch::Layered(filter) => filter.contains_keywords(&[hash]),
            Sketch::Scalable(filter) => filter.contains_hash(hash),
            Sketch::CountMin(sketch) => sketch.estimate_hash(hash) > 0,
        }
    }

    /// Whether the key of these bytes, whose [identity](Scheme::identity) is given too, may be in
    /// the set: whatever the kind and the hash.
    pub fn contains_key(&self, scheme: Scheme, hash: u64, key: &[u8]) -> bool {
        match (self, scheme) {
            (Sketch::Layered(filter), _) => {
                let keywords: Vec<u64> = keywords_of(key).map(|word| scheme.identity(word)).collect();
                filter.contains_keywords(&keywords)
            }
            (Sketch::Bloom(filter), Scheme::Murmur3) => {
                let lanes: Vec<u32> = (0..filter.hashes()).map(|seed| murmur3(key, seed)).collect();
                filter.contains_lanes(&lanes)
            }
            _ => self.contains_hash(hash),
        }
    }

    /// The same for many keys, in `found`, one for each hash.
    pub fn contains_hashes(&self, hashes: &[u64], found: &mut [bool]) {
        match self {
            Sketch::Blocked(filter) => filter.contains_hashes(hashes, found),
            Sketch::Counting(filter) => filter.contains_hashes(hashes, found),
            Sketch::Bloom(filter) => filter.contains_hashes(hashes, found),
            Sketch::Fuse(filter) => filter.contains_hashes(hashes, found),
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
            Sketch::Layered(filter) => filter.rate_now(),
            Sketch::Scalable(filter) => filter.rate_now(),
            Sketch::CountMin(sketch) => sketch.rate_now(),
        }
    }
}
