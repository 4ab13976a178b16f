//! A filter that grows: for a set of which nobody knows how large it will be.
//!
//! **Answers** "may this key be in the set?", and while adding, "is this the first time?".
//! **Errs** on one side only, as [`blocked`](crate::blocked) does. **Costs** one cache line per
//! layer and key, and more bits than a filter that was planned for its keys: twice as many on
//! average, as the newest layer is half empty, and some for the rates, which tighten. **Do not
//! use it** where the keys can be counted first. It cannot be merged, and its bytes depend on the
//! order of the keys: which layer a key went to depends on what came before.
//!
//! # Layers
//! Layer i (from 0) is a blocked filter for n₀ · 2ⁱ keys at the rate p / ((i + 1)(i + 2)), with
//! the least lines that keep it. When the newest layer has taken that many keys, the next one is
//! begun. A key is in the set if any layer finds it, and is added to the newest if none does.
//!
//! # Rate
//! At most the sum of the layers' rates: p · Σ 1/((i + 1)(i + 2)) = p · (1 − 1/(L + 1)) for L layers,
//! below p however many there are.
//!
//! After Almeida, Baquero, Preguiça and Hutchison, *Scalable Bloom filters* (2007), whose rates
//! tighten by a constant factor; these, by the square, cost fewer bits in later layers.
//!
//! ```
//! use tamis::hash::xxh3;
//! use tamis::scalable::Scalable;
//!
//! let mut seen = Scalable::new(1000, 0.01)?;
//! assert!(seen.insert_hash(xxh3(b"alice", 0))?); // the first time
//! assert!(!seen.insert_hash(xxh3(b"alice", 0))?);
//! # Ok::<(), tamis::Error>(())
//! ```

mod params;
mod sketch;

pub use params::{Layer, MOST_LAYERS, Sizes, layer, shape, shape_has_layers};
pub use sketch::Scalable;

#[cfg(test)]
mod tests;
