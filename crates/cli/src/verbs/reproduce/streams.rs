use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use tamis_lab::{Findings, generate, streams};
use tamis_make::leftovers::TemporaryFolder;
use tamis_make::parallel;

use crate::show::{Output, usage};
use crate::spark::On;
use crate::{arguments, progress};

/// Fragkoulis: a filter and counts learn one stream of addresses and answer another
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis reproduce streams
  tamis reproduce streams --rows 20M --queries 20M --batch 1M --epsilon 1e-6
  tamis reproduce streams --on 'local[2]'              and his design on Spark Structured Streaming

With --on, the same addresses go through Fragkoulis's design on Spark in the same run: positions as keys, \
duplicates removed in each batch, the state kept by Spark, answers by a join; no code of tamis. The files are \
temporary ones of this machine, which all workers must see.

Exits with 1 if an answer is missing, or an estimate below the truth.")]
pub(super) struct Streams {
    /// Addresses that are learned
    #[arg(long, value_parser = arguments::count, default_value_t = 2_000_000)]
    rows: u64,
    /// Addresses that are asked for
    #[arg(long, value_parser = arguments::count, default_value_t = 2_000_000)]
    queries: u64,
    /// Records of each stream in a batch
    #[arg(long, value_parser = arguments::count, default_value_t = 100_000)]
    batch: u64,
    /// The rate of the filter
    #[arg(long, value_parser = arguments::rate, default_value_t = 0.01)]
    fpr: f64,
    /// The error of counts, as a share of the rows
    #[arg(long, value_parser = arguments::rate, default_value_t = 0.00001)]
    epsilon: f64,
    /// The probability that the error is larger
    #[arg(long, value_parser = arguments::rate, default_value_t = 0.01)]
    delta: f64,
    /// Different addresses of the skewed stream
    #[arg(long, value_parser = arguments::count, default_value_t = 1_000_000)]
    distinct: u64,
    /// The exponent of Zipf's law there
    #[arg(long, default_value_t = 1.0, value_parser = arguments::skew)]
    skew: f64,
    /// The seed of the addresses
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads [default: all]
    #[arg(long, value_parser = arguments::threads)]
    threads: Option<usize>,
    /// Write the results as CSV: a line for each run
    #[arg(long, value_name = "FILE.csv", default_value = "reproduce-streams.csv")]
    pub(super) csv: PathBuf,
    /// Write a page with charts
    #[arg(long, value_name = "FILE.html", default_value = "reproduce-streams.html")]
    pub(super) report: PathBuf,
    #[command(flatten)]
    on: On,
}

impl Streams {
    /// Measures it.
    pub(super) fn measure(self, output: &Output) -> Result<Findings> {
        if !(1..=generate::ADDRESSES).contains(&self.distinct) {
            return usage("--distinct lies between 1 and 2^32, the number of addresses");
        }
        let job = streams::Job {
            rows: self.rows,
            queries: self.queries,
            skewed: (self.distinct, self.skew),
            batch: usize::try_from(self.batch)?,
            fpr: self.fpr,
            epsilon: self.epsilon,
            delta: self.delta,
            seed: self.seed,
            threads: self.threads.unwrap_or_else(parallel::default_threads),
        };
        let scratch = TemporaryFolder::new()?;
        let mut found =
            progress::run(output, "streaming", |control| streams::streams(&job, scratch.path(), control))?;
        if let Some(on) = self.on.name() {
            let requests = streams::requests(&job, scratch.path(), found.data.len())?;
            let jobs: Vec<Value> =
                requests.into_iter().map(|request| json!({ "job": "streams", "request": request })).collect();
            let told =
                self.on.run(output, "streaming on Spark", json!({ "job": "several", "request": jobs }))?;
            found.beside(on, told["told"].as_array().map_or(&[], Vec::as_slice), scratch.path())?;
        }
        Ok(found.findings())
    }
}
