//! Who takes part, and what each must be able to do.

mod limit;
mod ours;
mod peers;

use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::FixedState;

pub use limit::{Limit, touch_lines};

/// The rate at which filters are compared.
pub const RATE: f64 = 0.01;

/// The key of a number: distinct numbers have distinct keys, with no order left in them.
#[inline(always)]
pub fn key(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The hash of the key of a number, for all that take hashes: foldhash, the fastest of the usual
/// ones. Those that hash by themselves are given the same hasher.
#[inline(always)]
pub fn hash(number: u64) -> u64 {
    FixedState::default().hash_one(key(number))
}

/// How a contestant takes its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Some at a time.
    Some,
    /// All at once, to build from.
    All,
}

/// A filter, or what is measured like one. Keys are the [`key`]s of ranges of numbers, and
/// hashing them is part of every operation.
pub trait Contestant {
    /// Its name in the table.
    fn name(&self) -> &'static str;
    /// How it takes its keys.
    fn takes(&self) -> Takes {
        Takes::Some
    }
    /// Makes an empty one, for this many keys at [`RATE`] or the next it can do. Where there is
    /// one already, it is of the same size, and its memory is used again: fresh memory costs
    /// time of its own, to all alike.
    fn start(&mut self, keys: u64);
    /// Adds keys.
    fn insert(&mut self, numbers: Range<u64>);
    /// Counts the keys that it finds.
    fn count(&mut self, numbers: Range<u64>) -> u64;
    /// The bits that it takes in memory.
    fn bits(&self) -> u64;
}

/// The limit first, then tamis, then its peers.
pub fn all() -> Vec<Box<dyn Contestant>> {
    let mut all: Vec<Box<dyn Contestant>> = vec![Box::new(Limit::default())];
    all.extend(ours::all());
    all.extend(peers::all());
    all
}
