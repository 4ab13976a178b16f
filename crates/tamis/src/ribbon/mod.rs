//! The bumped ribbon filter: within 2 % of the least size that a filter can have, for a set
//! that is known and final.
//!
//! **Answers** "may this key be in the set?". **Errs** on one side only: a key of the set is
//! always found; any other is found with any probability p that was asked for. **Costs** at most
//! 1.02 · log₂(1/p) bits per key for p ≤ 0.02 from a million keys up, all counted (a `fuse`
//! 1.13 or more, a Bloom filter 1.44); 1.04 for p ≤ 0.16; up to 1.08 where p is above that, at most 0.5, and
//! no power of two. A lookup reads one place in memory, of about log₂(1/p) · 16 bytes, and computes
//! more than that of a [`fuse`](crate::fuse). Building takes about 9 bytes of memory per
//! key and some megabytes, or some megabytes alone ([`build_from`]).
//! **Do not use it** where keys come one by one: nothing can be added, removed or merged, and the
//! whole set must be at hand to build it; nor where lookups must be as fast as they can.
//!
//! # Idea
//! Every key has an equation: some of 64 neighbouring slots of a table, the first drawn at random,
//! and which of them too, sum up (exclusive or) to its fingerprint. The equations are solved by
//! elimination, which is fast because they form a narrow band. For any other key the sum has
//! nothing to do with its fingerprint, and the two agree by chance only: once in 2^w with w bits.
//!
//! A table that had room for all equations would need many slots more than keys. So it has fewer
//! instead, 15 for 16 keys, and nearly all are used. The slots form buckets of 128. In each, the
//! keys that begin in front of a threshold (0, 16, 40 or 128 slots: two bits for a bucket) are
//! bumped: they go to a second table, which bumps some to a third, and so on, until so few are
//! left that the room does not matter.
//!
//! The slots of a large table form runs of a million, each of which is solved alone: on any thread, and
//! when there is memory for its keys.
//!
//! A rate between two powers of two is met by blocks of slots that are one bit narrower at the
//! front of each table than after it. This costs up to 0.086 bits for a key: the only cost that
//! matters for high rates. No other choice of whole widths costs less, by key, layer or table: the rate is
//! a convex function of the bits, and a mixture lies on its chords.
//!
//! The same set gives the same words: hashes are sorted and made distinct first, and seeds are
//! tried from 0 up until one works. docs/format.md, section 13g, has every formula.
//!
//! After Dillinger, Hübschle-Schneider, Sanders and Walzer, *Fast Succinct Retrieval and
//! Approximate Membership using Ribbon* (2022).
//!
//! ```
//! use tamis::hash::xxh3;
//! use tamis::ribbon::{Ribbon, Widths};
//!
//! let mut hashes: Vec<u64> = ["ann", "bob", "cleo"].map(|name| xxh3(name.as_bytes(), 0)).to_vec();
//! let widths = Widths::for_rate(0.001).unwrap();
//! let filter = Ribbon::build(&mut hashes, widths)?;
//! assert!(filter.contains_hash(xxh3(b"bob", 0)));
//! assert!(!filter.contains_hash(xxh3(b"dan", 0)));
//!
//! // What a file must keep, and how a reader gets the filter back from it:
//! let (keys, seed) = (filter.keys(), filter.seed());
//! let again = Ribbon::from_words(filter.words(), keys, widths, seed)?;
//! assert!(again.contains_hash(xxh3(b"cleo", 0)));
//! # Ok::<(), tamis::Error>(())
//! ```

mod band;
mod build;
mod params;
mod place;
mod sketch;
#[cfg(test)]
mod tests;

pub use build::{Run, Solved, Supply, build_from, is_one_run, run_needs};
pub use params::{MAX_KEYS, MAX_WIDTH, PLACES, SHARES, Widths, rate, slots, widths_for_words, words_needed};
pub use sketch::Ribbon;
