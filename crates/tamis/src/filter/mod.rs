//! A set of keys in little memory, which can be saved and asked by other programs.
//!
//! A [`Filter`] is the front of the filters in this library: one type without parameters, for keys of
//! any bytes. It is sized for a number of keys and a rate of false positives, or by the keys that it
//! [collects](Filter#impl-FromIterator<K>-for-Filter); a [`Builder`] sets everything else. What it
//! [saves](Filter::save) is a `.tamis` file like any other: `tamis inspect`, `query` and `merge` read
//! it, and it has the bytes of `tamis build` with the same keys and parameters.
//!
//! One step further in are the doors for hashes and for many keys at a time: [`Filter::words`] are
//! those of [`blocked`](crate::blocked), [`bloom`](crate::bloom), [`counting`](crate::counting) or
//! [`scalable`](crate::scalable).

use std::fmt;

use crate::about::About;
use crate::error::{Action, Error, Result};
use crate::format::Container;
use crate::hash::Scheme;
use crate::memory::Words;
use crate::params::Params;
use crate::sizing::{Kind, Shape};
use crate::sketch::Beside;
use crate::stored::{self, Stored, Taken};

pub use builder::{Builder, DEFAULT_RATE};
use set::{Hashed, Set};

mod builder;
mod set;
#[cfg(test)]
mod tests;

/// A set of keys: a key that was added is always found, another one is found with a small probability.
///
/// ```
/// let mut seen = tamis::Filter::with_rate(1000, 0.01)?;
/// assert!(seen.insert("ann@example.org")); // not found before
/// assert!(!seen.insert("ann@example.org"));
/// assert!(seen.contains(b"ann@example.org"));
/// assert!(!seen.contains("bob@example.org"));
/// assert_eq!(seen.estimated_len(), 1);
/// # Ok::<(), tamis::Error>(())
/// ```
///
/// Two filters are equal where they have the same parameters and the same bits: they answer and merge
/// alike. How often keys were added does not matter.
#[derive(Clone)]
pub struct Filter {
    params: Params,
    set: Set,
    /// Keys added, repetitions included, and those removed.
    rows: u64,
    removed: u64,
    /// What is recorded about the file it comes from.
    about: About,
}

// Filters are shared between threads.
const _: () = {
    const fn shared<T: Send + Sync + Clone + PartialEq>() {}
    shared::<Filter>();
};

impl Filter {
    /// An empty filter of the default kind, [`blocked`](crate::blocked), which keeps this rate of
    /// false positives with this many keys. The rate is at most this on average over all sets of so
    /// many keys; [`rate`](Self::rate) is that of just this one.
    ///
    /// # Errors
    /// Where there are no keys, the rate is not a probability between 0 and 1, or there is not enough
    /// memory.
    pub fn with_rate(keys: u64, rate: f64) -> Result<Filter> {
        Filter::builder().rate(rate).for_keys(keys)
    }

    /// Sets the kind, the hash, the size or the steps by which keys are made.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// An empty filter of these parameters, or one that has these words and this beside them.
    fn of(params: Params, held: Option<(Beside, Words)>) -> Result<Filter> {
        let (kind, scheme, group) = (params.common.kind, params.common.hash, &params.groups[0]);
        let (beside, words) = match held {
            Some(held) => held,
            None => {
                let too_large = |_| Error::TooLarge { bits: group.shape.bits() };
                let words = Words::new(usize::try_from(group.shape.words()).map_err(too_large)?)?;
                (Beside::from_number(kind, 0), words)
            }
        };
        let set = Set::new(kind, scheme, group, beside, words)?;
        Ok(Filter { params, set, rows: 0, removed: 0, about: About::default() })
    }

    /// Adds a key; true where it was not found before, and so is surely new.
    ///
    /// # Panics
    /// Where a filter of the kind `scalable` must grow and there is not enough memory, as with any
    /// collection. Filters of other kinds never grow.
    pub fn insert(&mut self, key: impl AsRef<[u8]>) -> bool {
        let key = stored::key(&self.params.common.recipe, key.as_ref());
        let hash = self.params.common.hash.identity(&key);
        let fresh = self.set.insert(Hashed { hash, key: &key });
        drop(key);
        self.rows = self.rows.saturating_add(1);
        self.after_growth(fresh)
    }

    /// The same by the hash of the key, which the [scheme](Self::hash) of this filter gave.
    fn insert_hashes(&mut self, hashes: &[u64]) {
        let inserted = self.set.insert_hashes(hashes);
        self.rows = self.rows.saturating_add(hashes.len() as u64);
        self.after_growth(inserted);
    }

    /// A filter that has grown has another shape.
    #[inline]
    fn after_growth<T>(&mut self, inserted: Result<T>) -> T {
        let group = &mut self.params.groups[0];
        if let Some(layers) = self.set.layers().filter(|&layers| layers != group.shape.layers()) {
            group.shape = Shape::Scalable { bits: 64 * self.set.words().len() as u64, layers };
        }
        inserted.unwrap_or_else(|error| panic!("the filter cannot grow: {error}"))
    }

    /// Whether the key may be in the set. A key that was added is always found.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        let key = stored::key(&self.params.common.recipe, key.as_ref());
        self.set.contains(Hashed { hash: self.params.common.hash.identity(&key), key: &key })
    }

    /// Removes a key that was added; false where it is surely not there, and then nothing changes.
    /// Removing a key that was never added may remove others.
    ///
    /// # Errors
    /// Where the kind is not [`counting`](crate::counting).
    pub fn remove(&mut self, key: impl AsRef<[u8]>) -> Result<bool> {
        let key = stored::key(&self.params.common.recipe, key.as_ref());
        let removed = self.set.remove(self.params.common.hash.identity(&key));
        let removed = removed.ok_or(Error::Cannot { kind: self.kind(), action: Action::Remove })?;
        self.removed += u64::from(removed && self.removed < self.rows);
        Ok(removed)
    }

    /// Takes in all keys of another filter: the result is the filter of both sets.
    ///
    /// # Errors
    /// Where the parameters differ ([`Error::Different`] names the difference), or the kind is
    /// `scalable`, which cannot be merged, or a file does not take what is recorded about both. Nothing
    /// has changed then.
    pub fn merge(&mut self, other: &Filter) -> Result<()> {
        let kind = self.kind();
        if kind == Kind::Scalable && other.kind() == kind {
            return Err(Error::Cannot { kind, action: Action::Merge });
        }
        if let Some(difference) = self.params.difference(&other.params) {
            return Err(Error::Different(difference));
        }
        let about = stored::merged_about(&self.about, &other.about)?;
        if !self.set.merge(&other.set) {
            return Err(Error::Cannot { kind, action: Action::Merge });
        }
        self.rows = self.rows.saturating_add(other.rows);
        self.removed = self.removed.saturating_add(other.removed);
        self.about = about;
        Ok(())
    }

    /// The number of different keys, estimated from the bits that are set, and never more than were
    /// added. Of a `scalable`, those that were new when they came. Reads the whole filter.
    pub fn estimated_len(&self) -> u64 {
        let held = self.rows.saturating_sub(self.removed);
        (self.set.estimated_keys().round() as u64).min(held) // what is infinite has the largest number
    }

    /// Whether no key was added, or all were removed.
    pub fn is_empty(&self) -> bool {
        self.rows == self.removed
    }

    /// How many times a key was added, repetitions included.
    pub fn inserted(&self) -> u64 {
        self.rows
    }

    /// The rate of false positives now: how probably this filter finds a key that was never added.
    /// Reads the whole filter.
    pub fn rate(&self) -> f64 {
        self.set.rate_now()
    }

    /// The rate that it should not exceed with the keys that it is planned for.
    pub fn target_rate(&self) -> f64 {
        self.params.groups[0].fpr()
    }

    /// The keys that it is planned for; of a `scalable`, those of its first layer.
    pub fn planned_len(&self) -> u64 {
        self.params.groups[0].keys()
    }

    /// The kind of the sketch.
    pub fn kind(&self) -> Kind {
        self.params.common.kind
    }

    /// How keys are hashed.
    pub fn hash(&self) -> Scheme {
        self.params.common.hash
    }

    /// The parameters, which two filters must share to be merged.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The words of the sketch, as they stand in a file.
    pub fn words(&self) -> &[u64] {
        self.set.words()
    }

    fn stored(&self) -> Stored<'_> {
        let (words, beside) = (self.set.words(), self.set.beside(self.removed));
        Stored { params: &self.params, words, rows: self.rows, beside, about: &self.about }
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

    /// The filter of a file, in memory: keys can be added to it. [`File`](crate::File) asks a file as it
    /// lies on the disk.
    ///
    /// # Errors
    /// Where the file cannot be read, is damaged, or is not one set of plain keys.
    #[cfg(feature = "file")]
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Filter> {
        crate::file::opened(path.as_ref(), |map| Filter::taken(&Container::open(map)?))
    }

    /// The filter of a file whose bytes these are.
    ///
    /// # Errors
    /// Where the bytes are damaged, or are not one set of plain keys.
    pub fn from_bytes(bytes: &[u8]) -> Result<Filter> {
        Filter::taken(&stored::container(bytes)?)
    }

    fn taken<B: std::ops::Deref<Target = [u8]>>(file: &Container<B>) -> Result<Filter> {
        let kind = file.params().common.kind;
        if !matches!(kind, Kind::Blocked | Kind::Bloom | Kind::Counting | Kind::Scalable) {
            return Err(Error::Cannot { kind, action: Action::Insert });
        }
        let Taken { params, tally, words, about } = stored::taken(file)?;
        let filter = Filter::of(params, Some((tally.beside, words)))?;
        Ok(Filter { rows: tally.rows, removed: tally.removed(), about, ..filter })
    }
}

impl PartialEq for Filter {
    fn eq(&self, other: &Filter) -> bool {
        self.params == other.params
            && self.set.beside(0) == other.set.beside(0)
            && self.words() == other.words()
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter")
            .field("kind", &format_args!("{}", self.kind()))
            .field("hash", &format_args!("{}", self.hash()))
            .field("recipe", &format_args!("{}", self.params.common.recipe))
            .field("estimated_len", &self.estimated_len())
            .field("planned_len", &self.planned_len())
            .field("rate", &self.rate())
            .field("target_rate", &self.target_rate())
            .field("bytes", &(8 * self.words().len()))
            .finish()
    }
}

/// Keys that are hashed before they are added together.
const BATCH: usize = 1024;

/// Adds all keys. Faster than one by one, since reads from memory overlap.
impl<K: AsRef<[u8]>> Extend<K> for Filter {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        if !self.set.takes_hashes() {
            return keys.into_iter().for_each(|key| {
                self.insert(key);
            });
        }
        let mut hashes = Vec::with_capacity(BATCH);
        for key in keys {
            hashes.push(
                self.params.common.hash.identity(&stored::key(&self.params.common.recipe, key.as_ref())),
            );
            if hashes.len() == BATCH {
                self.insert_hashes(&hashes);
                hashes.clear();
            }
        }
        self.insert_hashes(&hashes);
    }
}

/// A filter of the default kind for just these keys, at a rate of [1 %](DEFAULT_RATE): it is sized by
/// the different keys that it sees, for which it keeps 8 bytes each while it collects.
///
/// ```
/// let some: tamis::Filter = ["ann", "bob", "ann"].iter().collect();
/// assert!(some.contains("bob"));
/// assert_eq!(some.planned_len(), 2);
/// ```
///
/// # Panics
/// Where there is not enough memory, as with any collection. [`Builder::from_keys`] gives an error.
impl<K: AsRef<[u8]>> FromIterator<K> for Filter {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Filter {
        Filter::builder()
            .from_keys(keys)
            .unwrap_or_else(|error| panic!("the keys cannot be collected: {error}"))
    }
}
