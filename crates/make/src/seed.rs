//! Seeds that nobody knows.

use std::hash::{BuildHasher, RandomState};

/// A number that nobody can foresee: keys come from strangers, who could choose them so that they meet in one place.
/// It is exact in every reader of JSON.
pub fn random() -> u64 {
    RandomState::new().hash_one(std::time::SystemTime::now()) >> 11
}
