//! The different keys of a table, as they came.

use std::collections::HashSet;

use tamis::hash::Scheme;
use tamis::key::Recipe;
use tamis_make::rows::{Groups, Key, KeyRows, OnBad, Take};
use tamis_read::error::Result;
use tamis_read::{Control, Options, Sources};

/// Records of text, one after the other.
#[derive(Debug, Default, Clone)]
pub struct Texts {
    bytes: Vec<u8>,
    ends: Vec<u64>,
}

impl Texts {
    pub(crate) fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len() as u64);
    }

    pub(crate) fn get(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start as usize..self.ends[at] as usize]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// The bytes that they take.
    pub(crate) fn memory(&self) -> u64 {
        (self.bytes.len() + 8 * self.ends.len()) as u64
    }
}

/// The different keys of a table.
#[derive(Debug)]
pub(crate) struct Distinct {
    /// They, in the order in which they came.
    pub keys: Texts,
    /// Rows without one.
    pub skipped: u64,
}

impl Distinct {
    /// Of this table, whose keys are made so.
    pub fn of_table(path: &str, recipe: &Recipe, control: &Control) -> Result<Distinct> {
        let sources = Sources::open(&[path.into()], &Options::default(), &recipe.columns())?;
        let sink = KeyRows::new(recipe, Scheme::DEFAULT, OnBad::Skip, Groups::One(0), Collect::default());
        let sink = sources.scan_dyn(vec![sink], control)?.remove(0);
        Ok(Distinct { keys: sink.take.keys, skipped: sink.skipped })
    }
}

#[derive(Default)]
struct Collect {
    keys: Texts,
    seen: HashSet<u64>,
}

impl Take for Collect {
    fn take(&mut self, key: Key<'_>) {
        if self.seen.insert(key.hash) {
            self.keys.push(key.bytes);
        }
    }
}
