//! What is to be tested, and with which keys.

use std::path::PathBuf;

use tamis::key::Recipe;

use tamis_make::build;
use tamis_make::foreign::Said;
use tamis_make::rows::BadRows;

/// Filters to be tested.
#[derive(Debug, Clone)]
pub struct Job {
    /// The file of filters.
    pub filters: PathBuf,
    /// What is said of it, if it is of another system.
    pub said: Said,
    /// Filters of keys that were removed since.
    pub removed: Option<PathBuf>,
    /// The data they were built from, without what was removed since.
    pub inputs: Vec<String>,
    /// How to read them.
    pub options: tamis_read::Options,
    /// The recipe, with the columns of these inputs.
    pub recipe: Recipe,
    /// Keys known to be outside.
    pub negatives: Vec<String>,
    /// This many random keys, also taken to be outside.
    pub random: u64,
    /// The seed of the random keys.
    pub seed: u64,
    /// This many keys that are made for the filters; none where no attack is tried.
    pub adversary: u64,
    /// Rows without a key.
    pub bad_rows: BadRows,
    /// Threads.
    pub threads: usize,
}

impl Job {
    /// The test of filters with just the rows that they were built from.
    pub fn of_built(filters: PathBuf, built: build::Job) -> Job {
        let build::Job { inputs, options, recipe, bad_rows, threads, .. } = built;
        let (removed, negatives) = (None, Vec::new());
        Job {
            filters,
            said: Said::default(),
            removed,
            inputs,
            options,
            recipe,
            negatives,
            random: 0,
            seed: 0,
            adversary: 0,
            bad_rows,
            threads,
        }
    }

    /// What the filters are tested with.
    pub(super) fn with(&self) -> With {
        With { members: !self.inputs.is_empty(), negatives: !self.negatives.is_empty() }
    }
}

/// What filters were tested with, besides random keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct With {
    /// The data that they were built from.
    pub members: bool,
    /// Keys known to be outside.
    pub negatives: bool,
}
