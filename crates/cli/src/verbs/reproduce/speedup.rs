//! The experiment of Collodi and Ghera with threads.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use tamis_lab::speedup::{self, Phases};
use tamis_make::files;
use tamis_make::names::Content;

use super::write_page;
use crate::show::Output;
use crate::{arguments, progress};

/// Collodi and Ghera: words filtered by one thread and by several, by size and by threads
#[derive(Debug, Args)]
#[command(after_help = "\
The words are kept in memory: 100 million take 3 GB.

Examples:
  tamis reproduce speedup
  tamis reproduce speedup --records 0                         without the 100 million
  tamis reproduce speedup --sizes 1M --threads 1,2,4,8 --repeats 20")]
pub(super) struct Speedup {
    /// Words of each data set
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = arguments::count)]
    #[arg(default_values_t = speedup::PRINTED.map(|printed| printed.records))]
    sizes: Vec<u64>,
    /// Numbers of threads to try on the largest data set
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = arguments::threads)]
    #[arg(default_values_t = speedup::PRINTED_BY_THREADS.map(|(threads, _)| threads))]
    threads: Vec<usize>,
    /// The number of measurements of each time
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
    /// The files that it names.
    pub(super) fn named(&self) -> crate::verbs::Named<'_> {
        crate::verbs::Named::outputs([&self.report])
    }

    pub(super) fn run(self, output: &Output) -> Result<ExitCode> {
        files::check(&self.report)?;
        Content::Page.check(&self.report)?;
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
    let gain = |set: &speedup::Set, run: &speedup::Run, phases| {
        let gain = set.speedup(run, phases);
        json!({ "value": gain.value, "error_95": gain.error, "clear": gain.is_clear() })
    };
    let set = |set: &speedup::Set| {
        let run = |run: &speedup::Run| {
            json!({
                "scheme": format!("{:?}", run.scheme).to_lowercase(), "threads": run.threads,
                "hashes": run.hashes, "bits": run.bits, "analysed": run.analysed, "admitted": run.admitted,
                "expected_admitted": run.expected, "rejected": run.rejected(), "false_negatives": run.lost,
                "same_answers": run.same, "initialise_seconds": seconds(&run.initialise),
                "analyse_seconds": seconds(&run.analyse), "speedup": gain(set, run, Phases::Analysis),
                "speedup_of_both_phases": gain(set, run, Phases::Both),
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
