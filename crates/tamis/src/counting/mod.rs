//! The counting Bloom filter: keys can be removed again.
//!
//! **Answers** "may this key be in the set?", as [`blocked`](crate::blocked) does: it has a small
//! counter where that one has a bit. **Errs** on the same side with the same probability: a key that
//! was added, and not removed as often, is always found. **Costs** four times the memory of a
//! `blocked`, and four adjacent cache lines per operation. **Do not use it** for a set that only
//! grows.
//!
//! # A multiset
//! Every adding raises the counters of a key by one and every removal lowers them: a key that was
//! added twice must be removed twice. What was never added must not be removed. Where one of its
//! counters is zero, that is seen, and nothing changes; otherwise (with the probability of a false
//! positive) the counters of others are lowered, and these may then be missed. That is the one way to
//! a false negative.
//!
//! # Full counters
//! A counter has four bits. At 15 it is full: it takes no more, and since nobody knows how many keys
//! it stands for, no removal lowers it. It stays for ever, on the side of false positives. With keys
//! that are added once, at the loads of any sensible rate, that is rarer than one counter in 10¹³; a
//! key that is added 15 times fills its own.
//!
//! # Layout
//! Counter i is raised and lowered for the keys that have bit i in a `blocked` of as many lines: with
//! counters above zero taken as ones, this is that filter, bit by bit. A block is what was a line: 512
//! counters, in four lines of memory, of which line j holds bit j of each counter (the lowest first).
//! So all counters of a key go up or down at once: its mask is the carry, or the borrow, of an
//! addition that ripples through four lines, in vectors; and where they stand needs no second formula.
//!
//! After Fan, Cao, Almeida and Broder, *Summary cache: a scalable wide-area web cache sharing
//! protocol* (2000), whose counters are those of a classic filter.
//!
//! ```
//! use tamis::counting::Counting;
//! use tamis::hash::xxh3;
//!
//! let mut filter = Counting::for_rate(1000, 0.01)?;
//! let (alice, bob) = (xxh3(b"alice", 0), xxh3(b"bob", 0));
//! filter.insert_hash(alice);
//! assert!(filter.remove_hash(alice));
//! assert!(!filter.contains_hash(alice));
//! assert!(!filter.remove_hash(bob)); // it was never there
//! # Ok::<(), tamis::Error>(())
//! ```

mod sketch;

pub(crate) use sketch::counters_used;
pub use sketch::{BLOCK_WORDS, COUNTER_BITS, Census, Counting, MOST, add_counters, add_to_blocks};

#[cfg(test)]
mod tests;
