mod records;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tamis_engine::leftovers::TemporaryFolder;
use tamis_engine::report::Page;
use tamis_engine::reproduce::speedup::{self, Phases};
use tamis_engine::reproduce::{self, Run, design};
use tamis_engine::{generate, output as files, parallel};

use crate::show::Output;
use crate::{arguments, notes, progress};

/// Measure the documents' experiments again, their figures beside ours
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis reproduce ratings
  tamis reproduce ratings title.ratings.tsv.gz --report ratings.html
  tamis reproduce layers netflix_titles.csv tmdb_5000_movies.csv
  tamis reproduce search movies.csv --key title
  tamis reproduce speedup
  tamis reproduce design")]
pub struct Reproduce {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Ratings(Ratings),
    Layers(records::Layers),
    Search(records::Search),
    Speedup(Speedup),
    Design(Design),
}

/// Document 000: ten filters of film ratings, by rate, scheme and threads
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
    /// Each time is the best of so many runs
    #[arg(long, default_value_t = 3)]
    repeats: usize,
}

/// Document 002: a data flow sieved sequentially and on threads, by size and by threads
#[derive(Debug, Args)]
#[command(after_help = "\
The words are kept in memory: 100 million take 3 GB.

Examples:
  tamis reproduce speedup
  tamis reproduce speedup --records 0                         without the 100 million
  tamis reproduce speedup --sizes 1M --threads 1,2,4,8 --repeats 20")]
struct Speedup {
    /// Words of each data set; the document's, if left out
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = arguments::count)]
    #[arg(default_values_t = speedup::PRINTED.map(|printed| printed.records))]
    sizes: Vec<u64>,
    /// Threads to try on the largest of them
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = arguments::threads)]
    #[arg(default_values_t = speedup::PRINTED_BY_THREADS.map(|(threads, _)| threads))]
    threads: Vec<usize>,
    /// Each time is measured so often
    #[arg(long, default_value_t = 10)]
    repeats: usize,
    /// A much larger data set, measured three times at most; 0 leaves it out
    #[arg(long, value_name = "N", value_parser = count_or_none, default_value = "100M")]
    records: u64,
    /// The seed of the words and of the samples
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write a page with charts
    #[arg(long, value_name = "FILE.html", default_value = "reproduce-speedup.html")]
    report: PathBuf,
}

fn count_or_none(text: &str) -> Result<u64, String> {
    if text == "0" { Ok(0) } else { arguments::count(text) }
}

impl Speedup {
    fn run(self, output: &Output) -> Result<ExitCode> {
        files::check(&self.report)?;
        let repeats = self.repeats.max(1);
        let job = speedup::Job {
            sizes: self.sizes,
            threads: self.threads,
            repeats,
            records: self.records,
            records_repeats: repeats.min(3),
            seed: self.seed,
        };
        let found = progress::run(output, "measuring", |control| speedup::speedup(&job, control))?;
        write_page(&self.report, found.page(), output)?;
        let mut tables = vec![found.by_size(), found.by_threads()];
        tables.extend(found.large());
        tables.push(found.reports());
        let text: String = tables.iter().map(|table| table.text() + "\n").collect();
        output.result(format!("{text}{}\n", speedup::REMARKS), speedup_json(&found))?;
        Ok(if found.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn speedup_json(found: &speedup::Speedup) -> Value {
    let seconds = |times: &[Duration]| times.iter().map(Duration::as_secs_f64).collect::<Vec<_>>();
    let set = |set: &speedup::Set| {
        let run = |run: &speedup::Run| {
            json!({
                "scheme": format!("{:?}", run.scheme).to_lowercase(), "threads": run.threads,
                "hashes": run.hashes, "bits": run.bits, "analysed": run.analysed, "admitted": run.admitted,
                "expected_admitted": run.expected, "rejected": run.rejected(), "false_negatives": run.lost,
                "same_answers": run.same, "initialise_seconds": seconds(&run.initialise),
                "analyse_seconds": seconds(&run.analyse), "speedup": set.speedup(run, Phases::Analysis),
                "speedup_of_both_phases": set.speedup(run, Phases::Both),
            })
        };
        let runs: Vec<_> = set.runs.iter().map(run).collect();
        json!({ "records": set.records, "limit": set.limit, "sample": set.sample, "large": set.large, "runs": runs })
    };
    let printed = speedup::PRINTED.map(|printed| {
        json!({
            "records": printed.records, "sample": printed.sample, "bits": printed.bits,
            "sequential_ms": printed.sequential, "two_threads_ms": printed.parallel, "speedup": printed.speedup(),
        })
    });
    let by_threads =
        speedup::PRINTED_BY_THREADS.map(|(threads, ms)| json!({ "threads": threads, "analyse_ms": ms }));
    json!({
        "cores": found.cores, "sets": found.sets.iter().map(set).collect::<Vec<_>>(),
        "document": { "by_size": printed, "by_threads": by_threads },
    })
}

/// Document 004: the rate of 8 bits per key for every number of hash functions
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
        let text = format!("{}\n{}", found.table().text(), design::REMARKS);
        let points: Vec<_> = found.points.iter().map(point).collect();
        output.result(text, json!({ "keys": keys, "points": points }))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes a page, and says so.
fn write_page(path: &Path, mut page: Page, output: &Output) -> Result<()> {
    page.sections.push(notes::made());
    let html = page.html();
    files::write_whole(path, |out| out.write_all(html.as_bytes()))?;
    output.note(format!("{}: the same as a page, with charts", path.display()));
    Ok(())
}

impl Reproduce {
    /// Measures it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        match self.what {
            What::Ratings(ratings) => ratings.run(output),
            What::Layers(layers) => layers.run(output),
            What::Search(search) => search.run(output),
            What::Speedup(speedup) => speedup.run(output),
            What::Design(design) => design.run(output),
        }
    }
}

impl Ratings {
    fn run(self, output: &Output) -> Result<ExitCode> {
        let Ratings { table, report, repeats } = self;
        files::check(&report)?;
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
            reproduce::ratings(&table, scratch.path(), repeats, control)
        })?;
        write_page(&report, found.page(), output)?;
        let run = |run: &Run| {
            json!({
                "fpr": run.fpr, "scheme": format!("{:?}", run.scheme).to_lowercase(), "threads": run.threads,
                "seconds": run.time.as_secs_f64(), "test": run.report.json(),
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
