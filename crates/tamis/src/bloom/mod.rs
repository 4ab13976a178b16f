//! The classic Bloom filter: k bits anywhere in m.
//!
//! **Answers** "may this key be in the set?". **Errs** on one side only: a key that was added
//! is always found; another is found with a probability that sizing keeps below the target.
//! **Costs** log2(1/p)/ln 2 bits per key (9.59 at 1 %), and up to k cache lines per operation.
//! **Do not use it** where speed counts and the filter is larger than the cache: see
//! [`blocked`](crate::blocked). Nor where the set is known and final: [`fuse`](crate::fuse)
//! is smaller.
//!
//! # Positions
//! With the default hash, a key's 64-bit hash h seeds a generator whose outputs rᵢ =
//! fold(sᵢ · (sᵢ ⊕ W)), sᵢ = h + (i+1)·G (mod 2⁶⁴), i = 0 … k−1, give the positions
//! ⌊rᵢ · m / 2⁶⁴⌋: independent of each other, and even for any m up to 2⁵⁶. With
//! [`Scheme::Murmur3`](crate::hash::Scheme::Murmur3), position i is murmur3(key, seed i) mod m; with
//! [`Scheme::Polynomial`](crate::hash::Scheme::Polynomial), a polynomial of the key's bytes mod m.
//!
//! # Rate
//! A filter in which X of m bits are set has the rate (X/m)ᵏ. Its expectation over the keys
//! is a little above the usual (1 − (1 − 1/m)ᵏⁿ)ᵏ, because a power is convex; sizing takes the
//! distribution of X into account.
//!
//! Bloom, *Space/time trade-offs in hash coding with allowable errors* (1970); Bose et al.,
//! *On the false-positive rate of Bloom filters* (2008).
//!
//! ```
//! use tamis::bloom::Bloom;
//! use tamis::hash::xxh3;
//!
//! let mut filter = Bloom::for_rate(1000, 0.01)?;
//! filter.insert_hash(xxh3(b"tt0111161", 0));
//! assert!(filter.contains_hash(xxh3(b"tt0111161", 0)));
//! assert!(!filter.contains_hash(xxh3(b"tt0000001", 0)));
//! # Ok::<(), tamis::Error>(())
//! ```

mod params;
mod ranges;
mod sketch;

pub use params::{
    MOST_HASHES, best_for_rate, best_hashes, expected_rate, hashes_for_bits_per_key, published_shape,
    share_of_ones, textbook_rate, textbook_zeros,
};
pub(crate) use params::{MOST_REACHED, bits_per_key, published, published_hashes, sizing_rate};
pub use ranges::Scratch;
pub use sketch::{Bloom, Positions, positions};
pub(crate) use sketch::{draw, position};

#[cfg(test)]
mod tests;
