//! The sketch in a filter: one of the kinds that take keys one by one.

use crate::blocked::Blocked;
use crate::bloom::Bloom;
use crate::counting::Counting;
use crate::error::{Action, Error, Result};
use crate::hash::{ByBytes, Scheme};
use crate::memory::Words;
use crate::params::GroupParams;
use crate::scalable::Scalable;
use crate::sizing::{Kind, estimated_keys};
use crate::sketch::{Beside, Sketch, or_words};

/// Keys that are added at a time.
const BATCH: usize = 1024;

#[derive(Debug, Clone)]
pub(super) enum Set {
    Blocked(Blocked<Words>),
    Bloom(Bloom<Words>),
    /// A `bloom` whose positions are hashes of the key itself.
    Placed(Bloom<Words>, ByBytes),
    Counting(Counting<Words>),
    Scalable(Scalable<Words>),
}

/// How a key is hashed for a set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hashed<'k> {
    pub hash: u64,
    pub key: &'k [u8],
}

impl Set {
    /// The sketch of these parameters in these words, with what a file keeps beside them.
    pub(super) fn new(
        kind: Kind,
        scheme: Scheme,
        group: &GroupParams,
        beside: Beside,
        words: Words,
    ) -> Result<Set> {
        match Sketch::from_words((kind, scheme), group, beside, words)? {
            Sketch::Blocked(filter) => Ok(Set::Blocked(filter)),
            Sketch::Bloom(filter) => Ok(match scheme.by_bytes() {
                Some(hash) => Set::Placed(filter, hash),
                None => Set::Bloom(filter),
            }),
            Sketch::Counting(filter) => Ok(Set::Counting(filter)),
            Sketch::Scalable(filter) if scheme.by_bytes().is_none() => Ok(Set::Scalable(filter)),
            Sketch::Scalable(_)
            | Sketch::Fuse(_)
            | Sketch::Ribbon(_)
            | Sketch::Layered(_)
            | Sketch::CountMin(_) => Err(Error::Cannot { kind, action: Action::Insert }),
        }
    }

    pub(super) fn words(&self) -> &[u64] {
        match self {
            Set::Blocked(filter) => filter.words(),
            Set::Bloom(filter) | Set::Placed(filter, _) => filter.words(),
            Set::Counting(filter) => filter.words(),
            Set::Scalable(filter) => filter.words(),
        }
    }

    /// What a file keeps beside the words.
    pub(super) fn beside(&self, removed: u64) -> Beside {
        match self {
            Set::Scalable(filter) => Beside::NewestKeys(filter.newest()),
            Set::Counting(_) => Beside::RemovedRows(removed),
            Set::Blocked(_) | Set::Bloom(_) | Set::Placed(..) => Beside::Nothing,
        }
    }

    #[inline]
    pub(super) fn contains(&self, Hashed { hash, key }: Hashed<'_>) -> bool {
        match self {
            Set::Blocked(filter) => filter.contains_hash(hash),
            Set::Bloom(filter) => filter.contains_hash(hash),
            Set::Placed(filter, by) => filter.contains_bytes(*by, key),
            Set::Counting(filter) => filter.contains_hash(hash),
            Set::Scalable(filter) => filter.contains_hash(hash),
        }
    }

    /// Adds a key; true where it was not found before.
    #[inline]
    pub(super) fn insert(&mut self, hashed: Hashed<'_>) -> Result<bool> {
        let hash = hashed.hash;
        if let Set::Scalable(filter) = self {
            return filter.insert_hash(hash);
        }
        let fresh = !self.contains(hashed);
        match self {
            Set::Counting(filter) => filter.insert_hash(hash), // a counter goes up each time
            _ if !fresh => {}
            Set::Blocked(filter) => filter.insert_hash(hash),
            Set::Bloom(filter) => filter.insert_hash(hash),
            Set::Placed(filter, by) => filter.insert_bytes(*by, hashed.key),
            Set::Scalable(_) => {}
        }
        Ok(fresh)
    }

    /// Adds many keys by their hashes, in their order.
    pub(super) fn insert_hashes(&mut self, hashes: &[u64]) -> Result<()> {
        match self {
            Set::Blocked(filter) => filter.insert_hashes(hashes),
            Set::Bloom(filter) => filter.insert_hashes(hashes),
            Set::Counting(filter) => filter.insert_hashes(hashes),
            Set::Scalable(filter) => {
                for hashes in hashes.chunks(BATCH) {
                    filter.insert_hashes(hashes, &mut [false; BATCH][..hashes.len()])?;
                }
            }
            // A hash does not have the positions: these come one by one, with their keys.
            Set::Placed(..) => {}
        }
        Ok(())
    }

    /// Whether keys can be added by their hashes alone.
    pub(super) fn takes_hashes(&self) -> bool {
        !matches!(self, Set::Placed(..))
    }

    /// Removes a key; false where it is surely not there. None where keys cannot be removed.
    pub(super) fn remove(&mut self, hash: u64) -> Option<bool> {
        match self {
            Set::Counting(filter) => Some(filter.remove_hash(hash)),
            _ => None,
        }
    }

    /// Takes in the words of another set of the same parameters. False where these cannot be joined.
    pub(super) fn merge(&mut self, others: &Set) -> bool {
        match (self, others) {
            (Set::Blocked(filter), Set::Blocked(other)) => or_words(filter.words_mut(), other.words()),
            (Set::Bloom(filter), Set::Bloom(other)) | (Set::Placed(filter, _), Set::Placed(other, _)) => {
                or_words(filter.words_mut(), other.words());
            }
            (Set::Counting(filter), Set::Counting(other)) => return filter.merge(other).is_ok(),
            _ => return false,
        }
        true
    }

    /// The distinct keys, estimated from what is set; infinite when full.
    pub(super) fn estimated_keys(&self) -> f64 {
        let ones = |words: &[u64]| words.iter().map(|word| u64::from(word.count_ones())).sum();
        match self {
            Set::Blocked(filter) => {
                estimated_keys(ones(filter.words()), 64 * filter.words().len() as u64, filter.hashes())
            }
            Set::Bloom(filter) | Set::Placed(filter, _) => {
                estimated_keys(ones(filter.words()), filter.bits(), filter.hashes())
            }
            Set::Counting(filter) => {
                let cells = 64 / u64::from(crate::counting::COUNTER_BITS) * filter.words().len() as u64;
                estimated_keys(filter.census().used, cells, filter.hashes())
            }
            Set::Scalable(filter) => filter.keys() as f64,
        }
    }

    /// The rate of false positives of just this filter.
    pub(super) fn rate_now(&self) -> f64 {
        match self {
            Set::Blocked(filter) => filter.rate_now(),
            Set::Bloom(filter) => filter.rate_now(),
            Set::Placed(filter, by) => filter.rate_now_by(*by),
            Set::Counting(filter) => filter.rate_now(),
            Set::Scalable(filter) => filter.rate_now(),
        }
    }

    /// The layers of one that grows.
    pub(super) fn layers(&self) -> Option<u32> {
        match self {
            Set::Scalable(filter) => Some(filter.layers().count() as u32),
            _ => None,
        }
    }
}
