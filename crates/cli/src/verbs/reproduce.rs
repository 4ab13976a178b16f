use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;
use tamis_engine::leftovers::TemporaryFolder;
use tamis_engine::reproduce::{self, Run};
use tamis_engine::{generate, output as files};

use crate::notes;
use crate::progress;
use crate::show::Output;

/// Measure the documents' experiments again, their figures beside ours
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis reproduce ratings
  tamis reproduce ratings title.ratings.tsv.gz --report ratings.html")]
pub struct Reproduce {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Ratings(Ratings),
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

impl Reproduce {
    /// Measures it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let What::Ratings(Ratings { table, report, repeats }) = self.what;
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
        let mut page = found.page();
        page.sections.push(notes::made());
        files::write_whole(&report, |out| out.write_all(page.html().as_bytes()))?;
        output.note(format!("{}: the same as a page, with charts", report.display()));
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
