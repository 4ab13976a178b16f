//! How often keys came, in little memory, in a form that can be saved and asked by other programs.
//!
//! A [`Counter`] is the front of [`countmin`](crate::countmin): one type without parameters, for keys
//! of any bytes. Its estimates are never too low; they are too high by at most ε times the total, but
//! for a probability of δ. What it [saves](Counter::save) is a `.tamis` file like any other.

use std::fmt;

use crate::about::About;
use crate::countmin::{CountMin, Update, delta_of};
use crate::error::{Action, Error, Result};
use crate::format::Container;
use crate::hash::Scheme;
use crate::memory::Words;
use crate::params::Params;
use crate::sizing::Kind;
use crate::sketch::{Beside, Sketch};
use crate::stored::{self, Stored, Taken};

pub use builder::Builder;

mod builder;
#[cfg(test)]
mod tests;

/// Counts keys: an estimate is never below the truth.
///
/// ```
/// let mut hits = tamis::Counter::with_error(0.001, 0.01)?;
/// hits.insert("/index.html");
/// hits.add("/index.html", 2);
/// assert_eq!(hits.estimate("/index.html"), 3);
/// assert_eq!(hits.estimate("/about.html"), 0);
/// assert_eq!(hits.total(), 3);
/// # Ok::<(), tamis::Error>(())
/// ```
///
/// Two counters are equal where they have the same parameters, counters and total.
#[derive(Clone)]
pub struct Counter {
    params: Params,
    sketch: CountMin<Words>,
    /// How many times something was added.
    rows: u64,
    /// What is recorded about the file it comes from.
    about: About,
}

// Counters are shared between threads.
const _: () = {
    const fn shared<T: Send + Sync + Clone + PartialEq>() {}
    shared::<Counter>();
};

impl Counter {
    /// An empty counter whose estimates are too high by at most ε (`epsilon`) times the total, except for
    /// a probability of δ (`delta`).
    ///
    /// # Errors
    /// Where one of them does not lie between 0 and 1, or there is not enough memory.
    pub fn with_error(epsilon: f64, delta: f64) -> Result<Counter> {
        Counter::builder().epsilon(epsilon).delta(delta).build()
    }

    /// Sets the error, the hash, the width of counters or the steps by which keys are made.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A counter of these parameters, empty or in these words.
    fn of(params: Params, total: u64, words: Option<Words>) -> Result<Counter> {
        let (kind, group) = (params.common.kind, &params.groups[0]);
        let words = match words {
            Some(words) => words,
            None => {
                let too_large = |_| Error::TooLarge { bits: group.shape.bits() };
                Words::new(usize::try_from(group.shape.words()).map_err(too_large)?)?
            }
        };
        match Sketch::from_words((kind, params.common.hash), group, Beside::TotalWeight(total), words)? {
            Sketch::CountMin(sketch) => Ok(Counter { params, sketch, rows: 0, about: About::default() }),
            _ => Err(Error::Cannot { kind, action: Action::Count }),
        }
    }

    #[inline]
    fn hash_of(&self, key: &[u8]) -> u64 {
        self.params.common.hash.identity(&stored::key(&self.params.common.recipe, key))
    }

    /// Counts a key once.
    pub fn insert(&mut self, key: impl AsRef<[u8]>) {
        self.add(key, 1);
    }

    /// Counts a key this many times.
    pub fn add(&mut self, key: impl AsRef<[u8]>, weight: u64) {
        let hash = self.hash_of(key.as_ref());
        self.sketch.add_hash(hash, weight);
        self.rows = self.rows.saturating_add(1);
    }

    /// How often a key came: never below the truth, unless its counters [ran full](Self::most).
    pub fn estimate(&self, key: impl AsRef<[u8]>) -> u64 {
        self.sketch.estimate_hash(self.hash_of(key.as_ref()))
    }

    /// Takes in all that another counter counted: the result is the counter of both.
    ///
    /// # Errors
    /// Where the parameters differ ([`Error::Different`] names the difference), they are conservative,
    /// which cannot be merged, or a file does not take what is recorded about both. Nothing has changed
    /// then.
    pub fn merge(&mut self, other: &Counter) -> Result<()> {
        if let Some(difference) = self.params.difference(&other.params) {
            return Err(Error::Different(difference));
        }
        if self.sketch.update() == Update::Conservative {
            return Err(Error::Cannot { kind: self.kind(), action: Action::Merge });
        }
        let about = stored::merged_about(&self.about, &other.about)?;
        self.sketch.merge(&other.sketch)?;
        self.rows = self.rows.saturating_add(other.rows);
        self.about = about;
        Ok(())
    }

    /// The sum of all that was counted. It stays at 2⁶⁴ − 1, once it is there.
    pub fn total(&self) -> u64 {
        self.sketch.total()
    }

    /// How far an estimate is above the truth at most, except with a probability of [δ](Self::delta).
    pub fn bound(&self) -> f64 {
        self.sketch.bound()
    }

    /// The error ε that was asked for, as a share of the total.
    pub fn epsilon(&self) -> f64 {
        self.params.groups[0].epsilon()
    }

    /// The probability that an estimate exceeds that error than the [bound](Self::bound): e^(−d)
    /// for d rows.
    pub fn delta(&self) -> f64 {
        delta_of(self.sketch.shape().hashes())
    }

    /// The largest value of a counter, where it stays. An estimate of this means this much or more.
    pub fn most(&self) -> u64 {
        self.sketch.most()
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The kind of the sketch.
    pub fn kind(&self) -> Kind {
        self.params.common.kind
    }

    /// How keys are hashed.
    pub fn hash(&self) -> Scheme {
        self.params.common.hash
    }

    /// The parameters, which two counters must share to be merged.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The sketch itself, with doors for hashes and for many keys at a time.
    pub fn sketch(&self) -> &CountMin<Words> {
        &self.sketch
    }

    fn stored(&self) -> Stored<'_> {
        let beside = Beside::TotalWeight(self.sketch.total());
        Stored {
            params: &self.params,
            words: self.sketch.words(),
            rows: self.rows,
            beside,
            about: &self.about,
        }
    }

    /// The bytes of the file that [`save`](Self::save) writes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.stored().to_bytes()
    }

    /// Writes a `.tamis` file, whole or not at all: under a temporary name, synced, then renamed. A
    /// file that is replaced keeps its permissions.
    ///
    /// # Errors
    /// Where the file cannot be written; what was there before is untouched.
    #[cfg(feature = "file")]
    pub fn save(&self, path: impl AsRef<std::path::Path>) -> Result<()> {
        self.stored().save(path.as_ref())
    }

    /// The counter of a file, in memory: more can be counted. [`File`](crate::File) asks a file as it
    /// lies on the disk.
    ///
    /// # Errors
    /// Where the file cannot be read, is damaged, or is not one counter of plain keys.
    #[cfg(feature = "file")]
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Counter> {
        crate::file::opened(path.as_ref(), |map| Counter::taken(&Container::open(map)?))
    }

    /// The counter of a file whose bytes these are.
    ///
    /// # Errors
    /// Where the bytes are damaged, or are not one counter of plain keys.
    pub fn from_bytes(bytes: &[u8]) -> Result<Counter> {
        Counter::taken(&stored::container(bytes)?)
    }

    fn taken<B: std::ops::Deref<Target = [u8]>>(file: &Container<B>) -> Result<Counter> {
        let kind = file.params().common.kind;
        if !kind.counts() {
            return Err(Error::Cannot { kind, action: Action::Count });
        }
        let Taken { params, tally, words, about } = stored::taken(file)?;
        let counter = Counter::of(params, tally.total_weight(), Some(words))?;
        Ok(Counter { rows: tally.rows, about, ..counter })
    }
}

impl PartialEq for Counter {
    fn eq(&self, other: &Counter) -> bool {
        self.params == other.params
            && self.total() == other.total()
            && self.sketch.words() == other.sketch.words()
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counter")
            .field("kind", &format_args!("{}", self.kind()))
            .field("hash", &format_args!("{}", self.hash()))
            .field("recipe", &format_args!("{}", self.params.common.recipe))
            .field("total", &self.total())
            .field("bound", &self.bound())
            .field("epsilon", &self.epsilon())
            .field("delta", &self.delta())
            .field("bytes", &(8 * self.sketch.words().len()))
            .finish()
    }
}

/// Counts all keys, each once.
impl<K: AsRef<[u8]>> Extend<K> for Counter {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        keys.into_iter().for_each(|key| self.insert(key));
    }
}

/// A counter of these keys, with the default error: a ten-thousandth of the total, except for one estimate
/// in a hundred.
///
/// # Panics
/// Where there is not enough memory (about a megabyte), as with any collection.
impl<K: AsRef<[u8]>> FromIterator<K> for Counter {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Counter {
        let counter = Counter::builder().build();
        let mut counter = counter.unwrap_or_else(|error| panic!("the keys cannot be counted: {error}"));
        counter.extend(keys);
        counter
    }
}
