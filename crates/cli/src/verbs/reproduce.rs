mod records;
mod speedup;
mod streams;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;
use tamis_lab::ratings::{self, Run};
use tamis_lab::{design, generate};
use tamis_make::files;
use tamis_make::leftovers::TemporaryFolder;
use tamis_make::names::Content;
use tamis_make::parallel;
use tamis_report::Page;
use tamis_report::lesson::slides;

use crate::show::Output;
use crate::{arguments, notes, progress};

/// Run published experiments again, their figures beside ours
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis reproduce ratings
  tamis reproduce ratings title.ratings.tsv.gz --report ratings.html
  tamis reproduce streams
  tamis reproduce speedup
  tamis reproduce layers netflix_titles.csv tmdb_5000_movies.csv
  tamis reproduce search movies.csv --key title
  tamis reproduce design

Sources: Antonio Patimo, Bloom Filters in Spark; Logothetis N. Fragkoulis, Implementation of Bloom \
Filter and Count-Min Sketch in Apache Spark; Luisa Collodi and Matteo Ghera, Implementation of Bloom \
Filter using Java and Java Hadoop; Lalit Sharma, Searching in large dataset using multi-layered Bloom \
filter; Carlos Castillo and Teodora Sandra Buda, Data Streams: Bloom Filters.")]
pub struct Reproduce {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Ratings(Ratings),
    Streams(streams::Streams),
    Speedup(speedup::Speedup),
    Layers(records::Layers),
    Search(records::Search),
    Design(Design),
}

/// Patimo: ten filters of film ratings, by rate, scheme and threads
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis reproduce ratings
  tamis reproduce ratings title.ratings.tsv.gz --report ratings.html")]
struct Ratings {
    /// IMDb's title.ratings.tsv, plain or compressed; without it the data is generated
    table: Option<String>,
    /// Write a page with charts
    #[arg(long, value_name = "FILE.html", default_value = "reproduce-ratings.html")]
    report: PathBuf,
    /// Runs per time; the best one counts
    #[arg(long, default_value_t = 3)]
    repeats: usize,
}

/// Castillo and Buda: the rate of 8 bits per key for every number of hash functions
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis reproduce design
  tamis reproduce design --full          a billion addresses in one gigabyte, k = 1, 2 and 6")]
struct Design {
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
    /// Write a page with charts
    #[arg(long, value_name = "FILE.html", default_value = "reproduce-design.html")]
    report: PathBuf,
}

impl Design {
    fn run(self, output: &Output) -> Result<ExitCode> {
        files::check(&self.report)?;
        Content::Page.check(&self.report)?;
        let (keys, hashes) =
            if self.full { (1_000_000_000, vec![1, 2, 6]) } else { (self.keys, (1..=12).collect()) };
        let threads = self.threads.unwrap_or_else(parallel::default_threads);
        let job = design::Job { keys, probes: self.probes, hashes, seed: self.seed, threads };
        let found = progress::run(output, "measuring", |control| design::design(&job, control))?;
        write_page(&self.report, found.page(), output)?;
        let point = |point: &design::Point| {
            json!({
                "hashes": point.hashes, "predicted": found.predicted(point), "measured": point.rate(),
                "false_positives": point.found, "probes": point.probes, "ones": point.ones,
                "build_seconds": point.build.as_secs_f64(), "probe_seconds": point.probe.as_secs_f64(),
            })
        };
        let text = format!("{}\n{}", found.table().text(), slides::REMARKS);
        let points: Vec<_> = found.points.iter().map(point).collect();
        output.result(text, json!({ "keys": keys, "points": points }))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes a page, and says so.
fn write_page(path: &Path, page: Page, output: &Output) -> Result<()> {
    notes::write_page(output, path, page, "the same as a page, with charts")
}

impl Reproduce {
    /// The files that it names.
    pub(super) fn named(&self) -> super::Named<'_> {
        match &self.what {
            What::Ratings(ratings) => {
                super::Named::outputs([&ratings.report]).and_tables(ratings.table.as_slice())
            }
            What::Streams(streams) => streams.named(),
            What::Speedup(speedup) => speedup.named(),
            What::Layers(layers) => layers.named(),
            What::Search(search) => search.named(),
            What::Design(design) => super::Named::outputs([&design.report]),
        }
    }

    /// Measures it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        match self.what {
            What::Ratings(ratings) => ratings.run(output),
            What::Streams(streams) => streams.run(output),
            What::Speedup(speedup) => speedup.run(output),
            What::Layers(layers) => layers.run(output),
            What::Search(search) => search.run(output),
            What::Design(design) => design.run(output),
        }
    }
}

impl Ratings {
    fn run(self, output: &Output) -> Result<ExitCode> {
        let Ratings { table, report, repeats } = self;
        files::check(&report)?;
        Content::Page.check(&report)?;
        let scratch = TemporaryFolder::new()?;
        let table = match table {
            Some(table) => table,
            None => {
                let path = scratch.path().join("ratings.tsv");
                files::write_whole(&path, |out| generate::ratings(out, generate::TITLES, 1))?;
                path.display().to_string()
            }
        };
        let found = progress::run(output, "measuring", |control| {
            ratings::ratings(&table, scratch.path(), repeats, control)
        })?;
        write_page(&report, found.page(), output)?;
        let run = |run: &Run| {
            json!({
                "fpr": run.fpr, "scheme": format!("{:?}", run.scheme).to_lowercase(), "threads": run.threads,
                "seconds": run.time.as_secs_f64(), "test": tamis_report::check::json(&run.report),
            })
        };
        let text =
            format!("{}\n{}\n{}", found.rates().text(), found.times().text(), found.by_group(0.1).text());
        output.result(
            text,
            json!({ "rows": found.rows, "runs": found.runs.iter().map(run).collect::<Vec<_>>() }),
        )?;
        let passed = found.runs.iter().all(|run| run.report.passed());
        Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
