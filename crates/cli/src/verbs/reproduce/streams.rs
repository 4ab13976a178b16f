use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tamis_lab::{generate, streams};
use tamis_make::files;
use tamis_make::leftovers::TemporaryFolder;
use tamis_make::names::Content;
use tamis_make::parallel;

use super::write_page;
use crate::show::{Output, usage};
use crate::{arguments, progress};

/// Fragkoulis: a filter and counts learn one stream of addresses and answer another
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis reproduce streams
  tamis reproduce streams --rows 20M --queries 20M --batch 1M --epsilon 1e-6

Exits with 1 if an answer is missing, or an estimate below the truth.")]
pub struct Streams {
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
    /// Write a page with charts
    #[arg(long, value_name = "FILE.html", default_value = "reproduce-streams.html")]
    report: PathBuf,
}

impl Streams {
    /// The files that it names.
    pub(super) fn named(&self) -> crate::verbs::Named<'_> {
        crate::verbs::Named::outputs([&self.report])
    }

    pub(super) fn run(self, output: &Output) -> Result<ExitCode> {
        files::check(&self.report)?;
        Content::Page.check(&self.report)?;
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
        let found =
            progress::run(output, "streaming", |control| streams::streams(&job, scratch.path(), control))?;
        write_page(&self.report, found.page(), output)?;
        let tables = [found.speed(), found.filters(), found.counts()].map(|table| table.text());
        let text = format!("{}\n{}", tables.join("\n"), streams::REMARKS);
        output.result(text, found.json())?;
        Ok(if found.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
