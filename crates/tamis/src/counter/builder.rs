//! Everything that can be chosen of a counter, with defaults.

use super::Counter;
use crate::countmin::{self, DEFAULT_DELTA, DEFAULT_EPSILON, Update};
use crate::error::Result;
use crate::hash::{HashKey, Scheme};
use crate::key::{Column, Field, Step};
use crate::params::Goal;
use crate::sizing::Kind;
use crate::stored;

/// Everything that can be chosen of a [`Counter`].
///
/// ```
/// use tamis::{Counter, countmin::Update, key::Step};
///
/// let builder = Counter::builder().epsilon(0.001).delta(0.05).update(Update::Conservative);
/// let mut words = builder.steps([Step::Lower]).build()?;
/// words.extend(["Sieve", "sieve", "drum"]);
/// assert_eq!(words.estimate("SIEVE"), 2);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a builder makes no counter until `build`"]
pub struct Builder {
    hash: Scheme,
    key: Field,
    epsilon: f64,
    delta: f64,
    counter_bits: u32,
    update: Update,
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            hash: Scheme::DEFAULT,
            key: Field { column: Column::Line, steps: Vec::new() },
            epsilon: DEFAULT_EPSILON,
            delta: DEFAULT_DELTA,
            counter_bits: 64,
            update: Update::Plain,
        }
    }
}

impl Builder {
    /// The error, as a share of the total: 0.0001 by default.
    pub fn epsilon(self, epsilon: f64) -> Self {
        Builder { epsilon, ..self }
    }

    /// The probability that an estimate exceeds that error: 0.01 by default.
    pub fn delta(self, delta: f64) -> Self {
        Builder { delta, ..self }
    }

    /// The bits of a counter: 64 (the default) or 32, in half the memory.
    pub fn counter_bits(self, bits: u32) -> Self {
        Builder { counter_bits: bits, ..self }
    }

    /// How weights are added. Conservative counters have less error; they cannot be merged, and depend
    /// on the order of the keys.
    pub fn update(self, update: Update) -> Self {
        Builder { update, ..self }
    }

    /// The seed of the hash. Give one that nobody knows where strangers choose the keys; counters of
    /// different seeds cannot be merged.
    pub fn seed(self, seed: u64) -> Self {
        Builder { hash: Scheme::Xxh3 { seed }, ..self }
    }

    /// A secret key, under which keys are hashed with SipHash, as for
    /// [filters](crate::filter::Builder::hash_key).
    pub fn hash_key(self, key: HashKey) -> Self {
        Builder { hash: Scheme::SipHash { check: key }, ..self }
    }

    /// What is done to a value to make it a key, when it is counted and when it is asked for. The file
    /// records it. Steps that need a number or make keywords are refused: not every value has such a
    /// key.
    pub fn steps(self, steps: impl IntoIterator<Item = Step>) -> Self {
        let key = Field { steps: steps.into_iter().collect(), ..self.key };
        Builder { key, ..self }
    }

    /// The column of tables that holds these keys, with its steps: `"email:trim,lower".parse()?`. The
    /// file records it. By default keys are whole lines.
    pub fn key(self, key: Field) -> Self {
        Builder { key, ..self }
    }

    /// An empty counter.
    ///
    /// # Errors
    /// Where the error or its probability does not lie between 0 and 1, counters have neither 32 nor
    /// 64 bits, a step is not for every value, or there is not enough memory.
    pub fn build(&self) -> Result<Counter> {
        let Builder { hash, key, epsilon, delta, counter_bits, update } = self.clone();
        let kind = match update {
            Update::Plain => Kind::CountMin,
            Update::Conservative => Kind::CountMinConservative,
        };
        let shape = countmin::shape(epsilon, delta, counter_bits)?;
        Counter::of(stored::params(kind, hash, key, Goal::Error { epsilon }, shape)?, 0, None)
    }
}
