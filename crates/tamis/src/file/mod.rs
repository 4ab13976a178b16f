//! A `.tamis` file as it lies on the disk: mapped, and asked with the keys as they come.
//!
//! Opening costs the same whatever the size: only what stands before the sketches is read and checked.
//! [`File::verify`] reads it all. The recipe that the file records is applied to every key that is
//! asked for, so that it is trimmed, lower-cased or rounded as those in the file were.

use std::fmt;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::format::Container;
use crate::key::{BadValue, Recipe};
use crate::memory::Map;
use crate::params::{Name, Params};
use crate::sizing::Kind;
use crate::sketch::Sketch;

#[cfg(test)]
mod tests;

/// A file of sketches, mapped into memory.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("emails.tamis");
/// use tamis::{File, Filter, key::Step};
///
/// let mut emails = Filter::builder().steps([Step::Trim, Step::Lower]).for_keys(1000)?;
/// emails.insert("ann@example.org");
/// emails.save(&path)?;
///
/// let file = File::open(&path)?;
/// file.verify()?; // reads it all, once
/// assert!(file.contains("ANN@example.org "));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A file that is replaced (by [`Filter::save`](crate::Filter::save), say) stays as it was for those who have
/// it open.
pub struct File {
    path: PathBuf,
    container: Container<Shared>,
    /// In the order of the groups.
    sketches: Vec<Sketch<Section>>,
    /// The groups in the order for people.
    order: Vec<usize>,
}

// Files are shared between threads.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<File>();
};

impl File {
    /// Opens a file.
    ///
    /// # Errors
    /// Where it cannot be read, or is not a tamis file as this library knows them.
    pub fn open(path: impl AsRef<Path>) -> Result<File> {
        let path = path.as_ref();
        opened(path, |map| File::of(path, Shared(Arc::new(map))))
    }

    fn of(path: &Path, map: Shared) -> Result<File> {
        let container = Container::open(map.clone())?;
        let params = container.params();
        params.common.makes_keys()?;
        let bytes = map.as_ptr() as usize;
        let mut sketches = Vec::with_capacity(params.groups.len());
        for (number, (group, tally)) in params.groups.iter().zip(container.tallies()).enumerate() {
            let words = container.section(number);
            let start = words.as_ptr() as usize - bytes;
            let section = Section { map: map.clone(), start, len: 8 * words.len() };
            sketches.push(Sketch::from_words(
                (params.common.kind, params.common.hash),
                group,
                tally.beside,
                section,
            )?);
        }
        let order = params.natural_order();
        Ok(File { path: path.to_owned(), container, sketches, order })
    }

    /// Reads the whole file and checks it against its checksums.
    ///
    /// # Errors
    /// Where it is damaged: [`Error::File`] names the part.
    pub fn verify(&self) -> Result<()> {
        let verify = |group| self.container.verify(group).and_then(|()| self.container.verify_heavy(group));
        (0..self.sketches.len()).try_for_each(verify).map_err(wrong(&self.path))
    }

    /// The key of a value, by the recipe of this file. The parts of a compound key, and the columns of
    /// a record's keywords, are separated by tabs.
    ///
    /// # Errors
    /// Where the recipe makes no key of it: the reason. [`contains`](Self::contains) and its neighbours
    /// take it for a key that never came.
    pub fn key(&self, value: impl AsRef<[u8]>) -> Result<Vec<u8>, BadValue> {
        Ok(self.recipe().key_of_text(value.as_ref())?.into_owned())
    }

    /// Whether the key may be in any of the groups; in a file that counts, whether it may have come.
    pub fn contains(&self, value: impl AsRef<[u8]>) -> bool {
        self.with_key(value.as_ref(), |hash, key| (0..self.sketches.len()).any(|at| self.has(at, hash, key)))
            .unwrap_or(false)
    }

    /// The groups that the key may be in, numbers by their value and before other names. A file
    /// without groups has one, whose name is empty.
    pub fn groups(&self, value: impl AsRef<[u8]>) -> Vec<&Name> {
        let found = |hash, key: &[u8]| {
            self.order.iter().filter(|&&at| self.has(at, hash, key)).map(|&at| self.name(at)).collect()
        };
        self.with_key(value.as_ref(), found).unwrap_or_default()
    }

    /// How often the key came, in all groups together: never below the truth, unless counters ran
    /// full. None where the file holds filters, which do not count.
    pub fn estimate(&self, value: impl AsRef<[u8]>) -> Option<u64> {
        self.kind().counts().then(|| {
            let estimates = self.estimates(value);
            estimates.iter().fold(0u64, |sum, (_, estimate)| sum.saturating_add(*estimate))
        })
    }

    /// How often the key came in each group where it may have come, in the order of
    /// [`groups`](Self::groups). Empty where the file holds filters.
    pub fn estimates(&self, value: impl AsRef<[u8]>) -> Vec<(&Name, u64)> {
        let found = |hash, _: &[u8]| {
            let estimate = |&at: &usize| match &self.sketches[at] {
                Sketch::CountMin(sketch) => Some((self.name(at), sketch.estimate_hash(hash))),
                _ => None,
            };
            self.order.iter().filter_map(estimate).filter(|(_, estimate)| *estimate > 0).collect()
        };
        self.with_key(value.as_ref(), found).unwrap_or_default()
    }

    /// Does something with the key of a value and its hash; nothing, where it has no key.
    fn with_key<T>(&self, value: &[u8], found: impl FnOnce(u64, &[u8]) -> T) -> Option<T> {
        let key = self.recipe().key_of_text(value).ok()?;
        Some(found(self.params().common.hash.identity(&key), &key))
    }

    fn has(&self, group: usize, hash: u64, key: &[u8]) -> bool {
        self.sketches[group].contains_key(self.params().common.hash, hash, key)
    }

    fn name(&self, group: usize) -> &Name {
        &self.params().groups[group].group
    }

    /// The kind of the sketches.
    pub fn kind(&self) -> Kind {
        self.params().common.kind
    }

    /// How its keys are made.
    pub fn recipe(&self) -> &Recipe {
        &self.params().common.recipe
    }

    /// Its parameters.
    pub fn params(&self) -> &Params {
        self.container.params()
    }

    /// Where it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The container itself, with its sketches and doors for many keys at a time.
    pub fn container(&self) -> &Container<impl Deref<Target = [u8]> + use<>> {
        &self.container
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File")
            .field("path", &self.path)
            .field("kind", &format_args!("{}", self.kind()))
            .field("hash", &format_args!("{}", self.params().common.hash))
            .field("recipe", &format_args!("{}", self.recipe()))
            .field("groups", &self.sketches.len())
            .field("bytes", &self.container.bytes().len())
            .finish()
    }
}

/// A map that the sketches share with the container.
#[derive(Debug, Clone)]
struct Shared(Arc<Map>);

impl Deref for Shared {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// The words of one sketch: these bytes of the map, which begin at a word.
#[derive(Debug, Clone)]
struct Section {
    map: Shared,
    start: usize,
    len: usize,
}

impl AsRef<[u64]> for Section {
    #[inline]
    fn as_ref(&self) -> &[u64] {
        bytemuck::cast_slice(&self.map[self.start..self.start + self.len])
    }
}

/// Maps a file and takes what is in it; what is wrong is told with the name of the file.
pub(crate) fn opened<T>(path: &Path, take: impl FnOnce(Map) -> Result<T>) -> Result<T> {
    let unmapped = |why| match why {
        NoMap::Io(source) => Error::Read { path: path.to_owned(), source },
        NoMap::NotAFile | NoMap::Empty => Error::Magic,
    };
    map(path).map_err(unmapped).and_then(take).map_err(wrong(path))
}

/// Why a file cannot be mapped.
#[derive(Debug)]
pub enum NoMap {
    /// The system says so.
    Io(io::Error),
    /// It is a folder, a pipe or a device.
    NotAFile,
    /// It has no bytes.
    Empty,
}

/// Maps a file, whatever it holds.
///
/// # Errors
/// Where it cannot be read, or cannot be a tamis file.
pub fn map(path: &Path) -> Result<Map, NoMap> {
    map_opened(&std::fs::File::open(path).map_err(NoMap::Io)?)
}

/// Maps a file that is open.
///
/// # Errors
/// As [`map`].
pub fn map_opened(file: &std::fs::File) -> Result<Map, NoMap> {
    let metadata = file.metadata().map_err(NoMap::Io)?;
    if !metadata.is_file() {
        return Err(NoMap::NotAFile);
    }
    if metadata.len() == 0 {
        return Err(NoMap::Empty);
    }
    Map::of(file).map_err(NoMap::Io)
}

/// Says which file something is wrong with.
fn wrong(path: &Path) -> impl Fn(Error) -> Error + '_ {
    move |error| match error {
        named @ (Error::Read { .. } | Error::File { .. }) => named,
        source => Error::File { path: path.to_owned(), source: Box::new(source) },
    }
}
