//! The multi-layer Bloom filter: records of several keywords, one Bloom filter for each place of
//! a keyword, and one for the record as a whole.
//!
//! **Answers** "may this record, a list of keywords, be in the set?", and, with the layers alone,
//! "may each of these keywords stand at its place in some record?". **Errs** on one side only: a record that was
//! added is always found. **Costs** L + 1 Bloom filters of m bits, and up to k·(n + 1) cache lines
//! per record of n keywords. **Do not use it** where only whole records are looked up: a classic
//! filter ([`bloom`](crate::bloom), [`blocked`](crate::blocked)) of whole records with the same
//! memory errs no more on random records, and far less on records that share keywords with members
//! (see *Rate*). It is for those who also ask for the
//! beginning of a record, or for single keywords at their place.
//!
//! # Structure
//! There are L layers and the XOR layer, each of m bits, with k hash functions. m is a power of
//! two. The addresses a₁(w) … a_k(w) of a keyword w are the positions that a classic filter of m
//! bits gives it. A record (w₁ … w_n), n ≥ 1:
//!
//! * keyword i sets its k bits in layer ((i − 1) mod L) + 1: more keywords than layers go round;
//! * function j sets one bit in the XOR layer: at a_j(w₁) ⊕ … ⊕ a_j(w_n), which is below m because
//!   m is a power of two.
//!
//! A lookup asks for the same bits. A record of fewer keywords than layers reaches only the first
//! ones; its XOR is over what is there. A record without keywords is not a key: it is never added and
//! never found.
//!
//! # What it can tell apart, and what not
//! * **Equal keywords cancel** under XOR: (a, a, b) would look like (b) there. Recipes therefore
//!   make the keywords of a record distinct before they come here, the first of equal ones stays.
//!   *Different* keywords may still have an equal address for one of the functions (probability
//!   1/m for each pair) and cancel there. This loses nothing: the lookup cancels them as well.
//! * **Order within a layer is lost,** and the XOR is blind to order altogether. Two records of the
//!   same keywords whose places differ by multiples of L are one record to the filter; with L = 1
//!   all orders of the same keywords are.
//! * **A record of one keyword** has the same bits in the first layer and in the XOR layer. Where
//!   all records are such, the XOR layer adds nothing.
//! * **Records recombined from members' keywords,** each at a place where some member has it, pass
//!   all layers: the XOR layer alone decides.
//! * **The first keywords of a record** can be asked for in the layers that they reach
//!   ([`Answer::Part`]). The XOR layer knows whole records only, so such an answer says nothing of
//!   whether one record has all of them. With more places than layers, layer i holds the keywords of
//!   the places i, i + L, i + 2L …: a keyword is found in it whichever of these it stood at.
//!
//! # Rate
//! Let fᵢ be the share of bits that is set in layer i, and f the share in the XOR layer. A layer
//! that holds d different keywords has fᵢ ≈ 1 − e^(−kd/m); the XOR layer holds one item for each
//! different record. The probability that a record that was not added is found is, for
//!
//! | record | probability |
//! |---|---|
//! | random: n ≥ 2 keywords that no member has, cᵢ of them in layer i | f^k · Π fᵢ^(k·cᵢ) |
//! | recombined from members' keywords, each in its layer | f^k |
//! | recombined except for r keywords in layers i₁ … i_r that no member has there | f^k · Π f_(i_s)^k |
//! | the first n keywords only, random | Π fᵢ^(k·cᵢ) |
//! | the first n keywords only, recombined | 1 |
//!
//! With the rate p of a single layer, which sizing keeps below the target, and n = L these are at
//! most p^(L+1) for random records and p for recombined ones. A classic filter of whole records
//! with the same (L + 1)·m bits has the rate 2^(−(L+1)·m·ln 2/N) for N records: for random records
//! about the same, since its k grows with its bits; for recombined ones far below p.
//!
//! ```
//! use tamis::hash::xxh3;
//! use tamis::layered::{Answer, Layered};
//!
//! let record = |keywords: &[&str]| -> Vec<u64> { keywords.iter().map(|w| xxh3(w.as_bytes(), 0)).collect() };
//! let mut filter = Layered::for_rate(1000, 0.01, 3)?;
//! filter.insert_keywords(&record(&["space", "alien", "survival"]));
//! assert!(filter.contains_keywords(&record(&["space", "alien", "survival"])));
//! assert!(!filter.contains_keywords(&record(&["alien", "space", "survival"]))); // other layers
//! assert!(!filter.contains_keywords(&record(&["space", "alien"]))); // no record of just these
//! assert_eq!(filter.ask(&record(&["space", "alien"])), Answer::Part); // but both stand at these places
//! # Ok::<(), tamis::Error>(())
//! ```

mod params;
mod sketch;

pub use params::{
    LEAST_BITS, MOST_LAYERS, beginning_rate, layers_for, shape_for_bits, shape_for_rate, shape_of,
    typical_keywords, whole_rate,
};
pub(crate) use sketch::possible;
pub use sketch::{Answer, Layered, addresses};

#[cfg(test)]
mod tests;
