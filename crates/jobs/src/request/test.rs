//! What is asked of a test.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tamis::params::Common;

use super::sizes::chosen;
use super::{Columns, NoMore, Reading, Refusal};
use crate::check::Job;
use tamis_make::count_min::rank;
use tamis_make::foreign::Said;
use tamis_make::{opt, spread};

/// Keys that are made for the filters, where that is asked for.
const FORGED: u64 = 1_000_000;

/// What is asked of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TestJob {
    /// The file of filters or counts.
    pub filters: PathBuf,
    /// Filters of keys that were removed since.
    pub removed: Option<PathBuf>,
    /// The data they were built from.
    pub inputs: Vec<String>,
    /// How it is read.
    #[serde(flatten)]
    pub reading: Reading,
    /// Other columns than those of the file.
    #[serde(flatten)]
    pub columns: Columns,
    /// Keys known to be outside.
    pub negatives: Vec<String>,
    /// Random keys, also taken to be outside.
    pub random: Option<u64>,
    /// Their seed.
    pub seed: u64,
    /// Whether keys are made for the filters, to see how many pass.
    pub adversary: bool,
    /// What no field took.
    #[serde(flatten)]
    pub no_more: NoMore,
}

impl Default for TestJob {
    fn default() -> Self {
        TestJob {
            filters: PathBuf::new(),
            removed: None,
            inputs: Vec::new(),
            reading: Reading::default(),
            columns: Columns::default(),
            negatives: Vec::new(),
            random: None,
            seed: 1,
            adversary: false,
            no_more: NoMore,
        }
    }
}

/// A test that was asked for, and can be made.
#[derive(Debug, Clone)]
pub enum Test {
    /// Of filters.
    Filters(Job),
    /// Of counts.
    Counts(rank::Job),
}

impl TestJob {
    /// Refuses a test without anything to test with.
    pub fn refuse_nothing(&self) -> Result<(), Refusal> {
        let keys = !self.inputs.is_empty() || !self.negatives.is_empty() || self.random.is_some();
        if keys || self.adversary { Ok(()) } else { Err(Refusal::NothingToTest) }
    }

    /// The test that follows from it, of a file with this kind and recipe.
    pub fn resolve(&self, stored: &Common) -> Result<Test, Refusal> {
        self.refuse_nothing()?;
        let recipe = self.columns.applied(&stored.recipe)?;
        let (inputs, options) = (self.inputs.clone(), self.reading.options());
        let (bad_rows, threads) = (self.reading.bad_rows()?, self.reading.threads()?);
        if !stored.kind.counts() {
            let (filters, removed) = (self.filters.clone(), self.removed.clone());
            let (negatives, random, seed) = (self.negatives.clone(), self.random.unwrap_or(0), self.seed);
            let adversary = if self.adversary { FORGED } else { 0 };
            return Ok(Test::Filters(Job {
                filters,
                said: Said::default(),
                removed,
                inputs,
                options,
                recipe,
                negatives,
                random,
                seed,
                adversary,
                bad_rows,
                threads,
            }));
        }
        let of_filters = chosen(&[
            (!self.negatives.is_empty(), opt::NEGATIVES),
            (self.random.is_some(), opt::RANDOM),
            (self.adversary, opt::ADVERSARY),
            (self.removed.is_some(), opt::REMOVED),
        ]);
        if !of_filters.is_empty() {
            return Err(Refusal::TestOfCounts(of_filters));
        }
        let sketches = self.filters.clone();
        Ok(Test::Counts(rank::Job {
            sketches,
            said: Said::default(),
            inputs,
            options,
            recipe,
            bad_rows,
            threads,
        }))
    }

    /// Refuses what works on one machine only.
    pub fn refuse_spread(&self, stored: &Common) -> Result<(), Refusal> {
        if stored.kind.counts() {
            return Err(Refusal::CountsOnOneMachine);
        }
        let here = chosen(&[(self.removed.is_some(), opt::REMOVED), (self.adversary, opt::ADVERSARY)]);
        if !here.is_empty() {
            return Err(spread::Refusal::OneMachine(here).into());
        }
        self.reading.refuse_spread()
    }
}
