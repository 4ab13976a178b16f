//! The Count-Min sketch: how often keys come, in a memory that does not grow with them.
//!
//! **Answers** "how often did this key come?", or what its weights sum up to; and how large the
//! inner product of two streams is. **Errs** on one side only: an estimate is never below the
//! truth (unless counters ran full, see below). With a total weight N it is at most εN above it,
//! except with a probability δ for each key
//! that is asked for. **Costs** w·d counters of 64 bits (or 32), and d cache lines per
//! operation. **Do not use it** where the question is only whether a key came
//! ([`blocked`](crate::blocked) takes a few bits per key for that), nor where many keys have counts
//! below εN: these drown in the error. It cannot list keys; see [`Heavy`] for those of a large
//! share.
//!
//! # Structure
//! d rows of w counters. A key has one counter in each row r: the one at
//! [`position`](crate::bloom)(h, r, w), as the classic filter of w bits gives it for its r-th hash.
//! Each row thus has a well-mixed value of its own: that two keys meet in one row makes it no
//! likelier that they meet in another.
//!
//! * **Plain update:** the weight is added to all d counters of the key. The result depends on the
//!   keys and their weights alone, not on their order; sketches of parts are added up.
//! * **Conservative update:** only as much is added as the smallest counter of the key asks for:
//!   each of the d counters becomes the larger of itself and (smallest + weight). The error is
//!   smaller, but the counters depend on the order of the rows; two such sketches have no sum that
//!   is the sketch of both, nor an inner product.
//!
//! The estimate is the smallest of the d counters. Counters saturate: at their largest value they
//! stay, and are called full. An estimate of this value ([`CountMin::is_full`]) is none: all counters
//! of the key are full, by its own weight or by that of others, and the truth may be anything up to N.
//! It is at least that value minus εN, except with probability δ; nothing more is known.
//! As long as one counter of a key is not full, its estimate is what it would be without a limit.
//!
//! # Bound
//! In one row, the other keys add N/w to the counter of a key on average. By Markov's inequality
//! it is more than e·N/w with a probability below 1/e; in all d rows, e^(−d). Hence
//! w = ⌈e/ε⌉ and d = ⌈ln(1/δ)⌉.
//!
//! Cormode & Muthukrishnan, *An improved data stream summary: the count-min sketch and its
//! applications* (2005); the conservative update: Estan & Varghese, *New directions in traffic
//! measurement and accounting* (2002).
//!
//! ```
//! use tamis::countmin::CountMin;
//! use tamis::hash::xxh3;
//!
//! let mut hits = CountMin::new(0.001, 0.01)?;
//! hits.add_hash(xxh3(b"203.0.113.7", 0), 1);
//! hits.add_hash(xxh3(b"203.0.113.7", 0), 41);
//! hits.add_hash(xxh3(b"198.51.100.1", 0), 1);
//! assert_eq!(hits.estimate_hash(xxh3(b"203.0.113.7", 0)), 42);
//! assert_eq!(hits.total(), 43);
//! # Ok::<(), tamis::Error>(())
//! ```

mod counters;
mod heavy;
mod params;
mod rows;
mod sketch;

pub use counters::places;
pub use heavy::{Heavy, HeavyFault, least};
pub(crate) use params::possible;
pub use params::{DEFAULT_DELTA, DEFAULT_EPSILON, MOST_DEPTH, delta_of, epsilon_of, shape, shape_by_hand};
pub(crate) use sketch::counters_used;
pub use sketch::{Census, CountMin, Update, add_counters};

#[cfg(test)]
mod tests;
