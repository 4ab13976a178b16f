//! The blocked Bloom filter: all bits of a key in one cache line.
//!
//! **Answers** "may this key be in the set?". **Errs** on one side only: a key that was added
//! is always found; one that was not is found with a probability that sizing keeps below the
//! target. **Costs** one cache line per operation, however large the filter: an ordinary Bloom
//! filter touches one line per hash function. It pays with bits, because some lines get more
//! keys than others: about 5 % more than [`bloom`](crate::bloom) at a rate of 1 %, 15 % at
//! 0.1 %, 60 % at one in a million. **Do not use it** where memory counts more than time.
//!
//! # Layout
//! A line has 512 bits, cut into k lanes of 512/k bits; k is a power of two up to 32. A key
//! chooses one line and sets one bit in each lane of it. With the key's hash h and B lines:
//!
//! - line = ⌊h · B / 2⁶⁴⌋,
//! - each lane draws the place of its bit: log2(512/k) bits of fold(h · C₁), the lowest for lane
//!   0, the next for lane 1, and so on. For k ≥ 16 the second half of the lanes draws from
//!   fold(h · C₂) instead, again from its lowest bits up. fold is the exclusive or of the two
//!   halves of the 128-bit product.
//!
//! # Rate
//! The number of keys in a line is binomial; given j keys, each lane has a given bit set with
//! probability 1 − (1 − k/512)ʲ, independently of the other lanes. So the rate is exactly
//! Σⱼ Binomial(j; n, 1/B) · (1 − (1 − k/512)ʲ)ᵏ.
//!
//! After Putze, Sanders and Singler, *Cache-, hash- and space-efficient Bloom filters* (2007).
//!
//! ```
//! use tamis::blocked::Blocked;
//! use tamis::hash::xxh3;
//!
//! let mut filter = Blocked::for_rate(1000, 0.01)?;
//! filter.insert_hash(xxh3(b"tt0111161", 0));
//! assert!(filter.contains_hash(xxh3(b"tt0111161", 0)));
//! assert!(!filter.contains_hash(xxh3(b"tt0000001", 0)));
//! # Ok::<(), tamis::Error>(())
//! ```

mod params;
mod sketch;
pub(crate) mod unit;

pub use params::{
    HASHES, LINE_BITS, Load, best_for_rate, expected_rate, hashes_for_bits_per_key, keys_that_came, loads,
    new_keys_of,
};
pub use sketch::{Blocked, Mask, line_of, set_lines};
pub(crate) use sketch::{covers, mask, ones_in, with_hashes};

#[cfg(test)]
mod tests;
