//! Everything that can be chosen of a filter, with defaults.

use super::Filter;
use crate::error::{Action, Error, Result};
use crate::hash::{HashKey, Scheme};
use crate::key::{Column, Field, Step};
use crate::params::{Goal, Params};
use crate::sizing::{Choice, Kind, Shape};
use crate::stored;

/// The rate of false positives where none is asked for.
pub const DEFAULT_RATE: f64 = 0.01;

/// Everything that can be chosen of a [`Filter`].
///
/// ```
/// use tamis::{Filter, Kind, key::Step};
///
/// let builder = Filter::builder().kind(Kind::Bloom).rate(0.001).steps([Step::Trim, Step::Lower]);
/// let mut emails = builder.for_keys(10_000)?;
/// emails.insert(" Ann@Example.org ");
/// assert!(emails.contains("ann@example.org"));
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a builder makes no filter until `for_keys` or `from_keys`"]
pub struct Builder {
    kind: Kind,
    hash: Scheme,
    key: Field,
    size: Size,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Size {
    Rate(f64),
    BitsPerKey(f64),
}

impl Default for Builder {
    fn default() -> Self {
        let key = Field { column: Column::Line, steps: Vec::new() };
        Builder { kind: Kind::Blocked, hash: Scheme::DEFAULT, key, size: Size::Rate(DEFAULT_RATE) }
    }
}

impl Builder {
    /// The kind: `blocked` (the default), `bloom`, `counting` to remove keys again, or `scalable` where
    /// nobody knows how many there will be. Other kinds cannot take keys one by one.
    pub fn kind(self, kind: Kind) -> Self {
        Builder { kind, ..self }
    }

    /// The seed of the hash. Give one that nobody knows where strangers choose the keys; filters of
    /// different seeds cannot be merged.
    pub fn seed(self, seed: u64) -> Self {
        self.hash(Scheme::Xxh3 { seed })
    }

    /// A secret key, under which keys are hashed with SipHash: nobody without it can make keys that
    /// collide, or find out which keys the filter holds. The file does not hold it; who
    /// [adds](HashKey::add) it can read the file.
    pub fn hash_key(self, key: HashKey) -> Self {
        self.hash(Scheme::SipHash { check: key })
    }

    /// The hash. The default is XXH3 with seed 0; murmur3 and polynomial go with `bloom` only.
    pub fn hash(self, hash: Scheme) -> Self {
        Builder { hash, ..self }
    }

    /// The rate of false positives that it should keep: 0.01 by default.
    pub fn rate(self, rate: f64) -> Self {
        Builder { size: Size::Rate(rate), ..self }
    }

    /// The bits for each key, in place of a rate; the rate follows.
    pub fn bits_per_key(self, bits: f64) -> Self {
        Builder { size: Size::BitsPerKey(bits), ..self }
    }

    /// What is done to a value to make it a key, when it is added and when it is asked for. The file
    /// records it. Steps that need a number or make keywords are refused: not every value has such a
    /// key.
    pub fn steps(self, steps: impl IntoIterator<Item = Step>) -> Self {
        let key = Field { steps: steps.into_iter().collect(), ..self.key };
        Builder { key, ..self }
    }

    /// The column of tables that holds these keys, with its steps: `"email:trim,lower".parse()?`. The
    /// file records it, so that the command line finds the column by itself. By default keys are whole
    /// lines.
    pub fn key(self, key: Field) -> Self {
        Builder { key, ..self }
    }

    /// An empty filter for this many keys.
    ///
    /// # Errors
    /// Where there are no keys, the rate or the bits make no filter, the kind cannot take keys one by
    /// one, a step is not for every value, or there is not enough memory.
    pub fn for_keys(&self, keys: u64) -> Result<Filter> {
        Filter::of(self.params(keys)?, None)
    }

    /// A filter of just these keys, sized by how many different ones there are (for one, where there
    /// are none). While it collects, it keeps 8 bytes for each different key; of `counting` and
    /// `scalable`, for each key that comes.
    ///
    /// # Errors
    /// As of [`for_keys`](Self::for_keys); and with murmur3 and polynomial, which need the keys again.
    pub fn from_keys<K: AsRef<[u8]>>(&self, keys: impl IntoIterator<Item = K>) -> Result<Filter> {
        let params = self.params(1)?; // what is wrong whatever the keys are
        if self.hash.by_bytes().is_some() {
            return Err(Error::Cannot { kind: self.kind, action: Action::Collect });
        }
        let recipe = params.common.recipe;
        let mut hashes = Hashes::new(matches!(self.kind, Kind::Blocked | Kind::Bloom));
        for key in keys {
            hashes.push(self.hash.identity(&stored::key(&recipe, key.as_ref())));
        }
        let mut filter = self.for_keys(hashes.distinct().max(1))?;
        filter.insert_hashes(&hashes.hashes);
        filter.rows = hashes.rows;
        Ok(filter)
    }

    fn params(&self, keys: u64) -> Result<Params> {
        let Builder { kind, hash, key, size } = self.clone();
        if !matches!(kind, Kind::Blocked | Kind::Bloom | Kind::Counting | Kind::Scalable) {
            return Err(Error::Cannot { kind, action: Action::Insert });
        }
        let choice = Choice::new(kind, hash);
        let (shape, fpr) = match size {
            Size::Rate(fpr) => (choice.shape_for_rate(keys, fpr)?, fpr),
            Size::BitsPerKey(bits) => {
                let shape: Shape = choice.shape_for_bits_per_key(keys, bits)?;
                (shape, shape.sizing_rate(keys).clamp(f64::MIN_POSITIVE, 1.0))
            }
        };
        stored::params(kind, hash, key, Goal::Rate { keys, fpr }, shape)
    }
}

/// The hashes of keys that are not yet counted.
struct Hashes {
    hashes: Vec<u64>,
    /// Whether only different ones are kept, in any order.
    apart: bool,
    /// Where repetitions are looked for next.
    full: usize,
    rows: u64,
}

impl Hashes {
    fn new(apart: bool) -> Self {
        Hashes { hashes: Vec::new(), apart, full: 1 << 16, rows: 0 }
    }

    fn push(&mut self, hash: u64) {
        if self.apart && self.hashes.len() == self.full {
            self.settle();
            // Twice what is left: so that looking costs a little for each key, and no more.
            self.full = (2 * self.hashes.len()).max(1 << 16);
        }
        self.hashes.push(hash);
        self.rows += 1;
    }

    fn settle(&mut self) {
        self.hashes.sort_unstable();
        self.hashes.dedup();
    }

    fn distinct(&mut self) -> u64 {
        if self.apart {
            self.settle();
            return self.hashes.len() as u64;
        }
        let mut sorted = self.hashes.clone();
        sorted.sort_unstable();
        sorted.dedup();
        sorted.len() as u64
    }
}
