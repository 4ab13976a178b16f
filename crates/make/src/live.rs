//! A filter that lives: one set in memory, to which keys are added, and from which they are removed, while it is asked.
//!
//! Files are made of all their rows at once. A program that learns while it runs has one of these instead: it takes
//! the hashes of keys, tells which of them are new, and can be made a container at any time, with the bytes of a build
//! of the same keys and parameters (of a `scalable`, in the same order). **Not for** kinds that need all keys at once
//! or the bytes of keys, and not for several groups.

use tamis::about::{About, Classes};
use tamis::format::{self, Beside, Extras, Tally};
use tamis::memory::Words;
use tamis::params::Params;
use tamis::sizing::{Kind, Shape};
use tamis::sketch::{Sketch, or_words};
use tamis_read::error::Result;
use tamis_read::refusal::{self, Help};

use crate::arena::Placing;
use crate::files::{self, Mapped};
use crate::health::{self, Health};
use crate::opt;

/// Why there is no living filter, or why it does not do that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A kind that takes no keys one by one.
    #[error("a {kind} {} takes no keys one by one", if kind.counts() { "sketch" } else { "filter" })]
    Kind {
        /// The kind.
        kind: Kind,
    },
    /// A hash that makes positions of the bytes of keys.
    #[error("with the hash {hash}, a filter that grows in place cannot be made")]
    Hash {
        /// The hash.
        hash: String,
    },
    /// Several groups.
    #[error("it has groups, and a filter that grows in place is one set")]
    Groups,
    /// A kind that cannot forget.
    #[error("nothing can be removed from a {kind} filter: a bit does not tell how many keys need it")]
    Remove {
        /// The kind.
        kind: Kind,
    },
    /// Layers depend on the order of keys.
    #[error("two scalable filters cannot be joined: which layer a key is in depends on what came before it")]
    Join,
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        match self {
            Refusal::Kind { .. } => vec![Help::give(opt::KIND.with("blocked"))],
            Refusal::Hash { .. } => vec![Help::give(opt::HASH.with("xxh3"))],
            Refusal::Groups => vec![Help::Do("add to the sketch, which gives another")],
            Refusal::Remove { .. } => vec![Help::build_with(opt::KIND.with("counting"))],
            Refusal::Join => {
                vec![Help::Do("add the keys themselves"), Help::build_with(opt::KIND.with("blocked"))]
            }
        }
    }
}

/// A set in memory that changes.
#[derive(Debug, Clone)]
pub struct Live {
    params: Params,
    sketch: Sketch<Words>,
    /// Keys added, repetitions included, and those removed.
    rows: u64,
    removed: u64,
    about: About,
    /// The classes of keys so far; none before the first.
    classes: Classes,
}

impl Live {
    /// An empty set of these parameters.
    pub fn new(params: Params, about: About) -> Result<Live> {
        refuse(&params)?;
        let bits = params.groups[0].shape.bits();
        let words =
            usize::try_from(params.groups[0].shape.words()).map_err(|_| tamis::Error::TooLarge { bits })?;
        let sketch = of_words(&params, Beside::empty(params.common.kind), Words::new(words)?)?;
        Ok(Live { params, sketch, rows: 0, removed: 0, about, classes: Classes::NONE })
    }

    /// The set of a file, copied; its bytes are verified.
    pub fn of(file: &Mapped) -> Result<Live> {
        let params = file.params().clone();
        refuse(&params)?;
        file.verify(0)?;
        let words = Words::copy_of(file.section(0))?;
        let tally = file.tallies()[0];
        let sketch = of_words(&params, tally.beside, words)?;
        let classes = if tally.rows == 0 { Classes::NONE } else { file.about().key_classes() };
        let about = About { counted: None, ..file.about().clone() };
        Ok(Live { params, sketch, rows: tally.rows, removed: tally.removed(), about, classes })
    }

    /// Its parameters. Those of a `scalable` change as it grows.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The sketch itself.
    pub fn sketch(&self) -> &Sketch<Words> {
        &self.sketch
    }

    /// The sketch as those of files are asked.
    pub fn view(&self) -> Result<Sketch<&[u64]>> {
        let common = &self.params.common;
        let kind = (common.kind, common.hash);
        Ok(Sketch::from_words(kind, &self.params.groups[0], self.beside(), self.words())?)
    }

    /// The classes of its keys.
    pub fn classes(&self) -> Classes {
        if self.classes == Classes::NONE { Classes::TEXT } else { self.classes }
    }

    /// Notes that keys of these classes come.
    pub fn see(&mut self, classes: Classes) {
        self.classes = self.classes.and(classes);
    }

    /// Keys added, repetitions included, less those that were removed.
    pub fn held(&self) -> u64 {
        self.rows - self.removed
    }

    /// Adds a key by its hash; true where it was not found before.
    pub fn insert(&mut self, hash: u64) -> Result<bool> {
        let fresh = match &mut self.sketch {
            Sketch::Scalable(filter) => filter.insert_hash(hash)?,
            sketch => {
                let fresh = !sketch.contains_hash(hash);
                match sketch {
                    Sketch::Counting(filter) => filter.insert_hash(hash), // a counter goes up each time
                    Sketch::Blocked(filter) if fresh => filter.insert_hash(hash),
                    Sketch::Bloom(filter) if fresh => filter.insert_hash(hash),
                    _ => {}
                }
                fresh
            }
        };
        self.rows = self.rows.saturating_add(1);
        self.note_growth();
        Ok(fresh)
    }

    /// Adds many keys, in their order.
    pub fn insert_all(&mut self, hashes: &[u64]) -> Result<()> {
        match &mut self.sketch {
            Sketch::Blocked(filter) => filter.insert_hashes(hashes),
            Sketch::Bloom(filter) => filter.insert_hashes(hashes),
            Sketch::Counting(filter) => filter.insert_hashes(hashes),
            Sketch::Scalable(filter) => filter.insert_hashes(hashes, &mut vec![false; hashes.len()])?,
            _ => {}
        }
        self.rows = self.rows.saturating_add(hashes.len() as u64);
        self.note_growth();
        Ok(())
    }

    /// The same, and tells of each whether it was not found before: neither in the set, nor among these.
    ///
    /// # Panics
    /// Where the two slices differ in length.
    pub fn insert_fresh(&mut self, hashes: &[u64], fresh: &mut [bool]) -> Result<()> {
        assert_eq!(hashes.len(), fresh.len());
        match &mut self.sketch {
            Sketch::Blocked(filter) => {
                fresh.fill(true);
                filter.insert_fresh(hashes, fresh);
            }
            Sketch::Scalable(filter) => filter.insert_hashes(hashes, fresh)?,
            _ => {
                for (hash, fresh) in hashes.iter().zip(fresh) {
                    *fresh = self.insert(*hash)?;
                }
                return Ok(());
            }
        }
        self.rows = self.rows.saturating_add(hashes.len() as u64);
        self.note_growth();
        Ok(())
    }

    /// A filter that has grown has another shape.
    fn note_growth(&mut self) {
        if let Sketch::Scalable(filter) = &self.sketch {
            let (layers, bits) = (filter.layers().count() as u32, 64 * filter.words().len() as u64);
            self.params.groups[0].shape = Shape::Scalable { bits, layers };
        }
    }

    /// Removes keys, in their order; gives how many were surely not there. Of a key that was never added, others may
    /// be removed.
    pub fn remove(&mut self, hashes: &[u64]) -> Result<u64> {
        let kind = self.params.common.kind;
        let Sketch::Counting(filter) = &mut self.sketch else { return Err(Refusal::Remove { kind }.into()) };
        let removed = filter.remove_hashes(hashes);
        // Full counters let more be removed than was added; what is noted is never more than that.
        self.removed = self.removed.saturating_add(removed).min(self.rows);
        Ok(hashes.len() as u64 - removed)
    }

    /// Takes in the keys of another set of the same parameters. Nothing changes where they cannot be joined.
    pub fn join(&mut self, other: &Live) -> Result<()> {
        let kind = self.params.common.kind;
        if kind == Kind::Scalable && other.params.common.kind == kind {
            return Err(Refusal::Join.into());
        }
        if let Some(difference) = self.params.difference(&other.params) {
            return Err(tamis::Error::Different(difference).into());
        }
        if let (Sketch::Counting(filter), Sketch::Counting(other)) = (&mut self.sketch, &other.sketch) {
            filter.merge(other)?;
        } else {
            let mut words = Words::copy_of(self.words())?;
            or_words(&mut words, other.words());
            self.sketch = of_words(&self.params, Beside::empty(kind), words)?;
        }
        self.rows = self.rows.saturating_add(other.rows);
        self.removed = self.removed.saturating_add(other.removed);
        self.classes = self.classes.and(other.classes);
        Ok(())
    }

    fn words(&self) -> &[u64] {
        match &self.sketch {
            Sketch::Blocked(filter) => filter.words(),
            Sketch::Bloom(filter) => filter.words(),
            Sketch::Counting(filter) => filter.words(),
            Sketch::Scalable(filter) => filter.words(),
            Sketch::Fuse(_) | Sketch::Ribbon(_) | Sketch::Layered(_) | Sketch::CountMin(_) => &[],
        }
    }

    fn beside(&self) -> Beside {
        match &self.sketch {
            Sketch::Scalable(filter) => Beside::NewestKeys(filter.newest()),
            Sketch::Counting(_) => Beside::RemovedRows(self.removed),
            _ => Beside::Nothing,
        }
    }

    /// Its state, by what it holds: all of it is read.
    pub fn health(&self) -> Result<Health> {
        let group = &self.params.groups[0];
        let tally: Tally = format::seal(&group.shape, self.words(), self.rows, self.beside());
        Ok(health::of_sketch(self.params.common.kind, group, &tally, &self.view()?))
    }

    /// The same set as a file has it, in memory.
    pub fn to_file(&self, threads: usize) -> Result<Mapped> {
        let mut about = self.about.clone();
        about.record_classes(self.classes);
        let extras = Extras { about: Some(&about), ..Extras::default() };
        // A section may end before the data area does.
        let mut arena = Placing::new(&self.params).empty()?;
        arena[..self.words().len()].copy_from_slice(self.words());
        files::in_memory(&self.params, (&[self.rows], &[self.beside()]), &arena, extras, threads)
    }
}

/// Refuses parameters of which no set takes hashes one by one.
fn refuse(params: &Params) -> Result<()> {
    let (kind, hash) = (params.common.kind, params.common.hash);
    if !matches!(kind, Kind::Blocked | Kind::Bloom | Kind::Counting | Kind::Scalable) {
        return Err(Refusal::Kind { kind }.into());
    }
    if hash.single().is_none() {
        return Err(Refusal::Hash { hash: hash.to_string() }.into());
    }
    match params.common.recipe.group.is_some() || params.groups.len() != 1 {
        true => Err(Refusal::Groups.into()),
        false => Ok(()),
    }
}

fn of_words(params: &Params, beside: Beside, words: Words) -> Result<Sketch<Words>> {
    let common = &params.common;
    Ok(Sketch::from_words((common.kind, common.hash), &params.groups[0], beside, words)?)
}
