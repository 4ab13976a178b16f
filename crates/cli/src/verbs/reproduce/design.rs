//! The design tables of Castillo and Buda.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use tamis_lab::{Findings, design};
use tamis_make::parallel;

use crate::show::Output;
use crate::{arguments, progress};

/// Castillo and Buda: the rate of 8 bits per key for every number of hash functions
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis reproduce design
  tamis reproduce design --full          a billion addresses in one gigabyte, k = 1, 2 and 6")]
pub(super) struct Design {
    /// The addresses in the set
    #[arg(long, value_parser = arguments::count, default_value_t = 1_000_000)]
    keys: u64,
    /// The addresses outside that are looked up
    #[arg(long, value_parser = arguments::count, default_value_t = 10_000_000)]
    probes: u64,
    /// A billion addresses, k = 1, 2 and 6
    #[arg(long, conflicts_with = "keys")]
    full: bool,
    /// The seed of the addresses
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads [default: all]
    #[arg(long, value_parser = arguments::threads)]
    threads: Option<usize>,
    /// Write the results as CSV
    #[arg(long, value_name = "FILE.csv", default_value = "reproduce-design.csv")]
    pub(super) csv: PathBuf,
    /// Write a page with charts
    #[arg(long, value_name = "FILE.html", default_value = "reproduce-design.html")]
    pub(super) report: PathBuf,
}

impl Design {
    /// Measures it.
    pub(super) fn measure(self, output: &Output) -> Result<Findings> {
        let (keys, hashes) =
            if self.full { (1_000_000_000, vec![1, 2, 6]) } else { (self.keys, (1..=12).collect()) };
        let threads = self.threads.unwrap_or_else(parallel::default_threads);
        let job = design::Job { keys, probes: self.probes, hashes, seed: self.seed, threads };
        let found = progress::run(output, "measuring", |control| design::design(&job, control))?;
        Ok(found.findings())
    }
}
