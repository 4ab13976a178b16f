//! The experiment of Patimo with film ratings.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use tamis::sizing::Kind;
use tamis_jobs::check::{self, With};
use tamis_jobs::request::{BuildJob, HashName, Keys, Kinds, Sizes, TestJob};
use tamis_lab::ratings::{self, Ours, Place, RATES, Reproduction, Run};
use tamis_lab::{Findings, generate};
use tamis_make::leftovers::TemporaryFolder;
use tamis_make::{files, parallel};

use crate::show::Output;
use crate::spark::{self, On};
use crate::{arguments, progress};

/// Patimo: ten filters of film ratings, by rate, scheme and threads
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis reproduce ratings
  tamis reproduce ratings title.ratings.tsv.gz --report ratings.html
  tamis reproduce ratings --save phases                             what each phase makes, as files
  tamis reproduce ratings --on 'local[4]'                           and on Spark, with 1 to 4 executors
  tamis reproduce ratings ratings.tsv --on spark://master:7077 --executors 1,2,4

With --on, his scheme runs on Spark as well: one application for each rate and number of executors, as he ran \
it, and the times of its phases are shown beside his. Of local[N] the cores are the executors; on a standalone \
cluster each has one core.")]
pub(super) struct Ratings {
    /// IMDb's title.ratings.tsv, plain or compressed; without it the data is generated
    pub(super) table: Option<String>,
    /// Titles that are generated
    #[arg(long, value_parser = arguments::count, default_value_t = generate::TITLES, conflicts_with = "table")]
    rows: u64,
    /// Write the results as CSV: a line for each run and rating
    #[arg(long, value_name = "FILE.csv", default_value = "reproduce-ratings.csv")]
    pub(super) csv: PathBuf,
    /// Write a page with charts
    #[arg(long, value_name = "FILE.html", default_value = "reproduce-ratings.html")]
    pub(super) report: PathBuf,
    /// Save what each phase of Patimo's program does, a folder for each rate: the parameters, the filters (also as
    /// text), and the rates
    #[arg(long, value_name = "FOLDER")]
    save: Option<PathBuf>,
    /// Runs per time; the best one counts
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// Numbers of executors on Spark
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = arguments::threads, requires = "on")]
    #[arg(default_values_t = ratings::THREADS, help_heading = "On a cluster")]
    executors: Vec<usize>,
    #[command(flatten)]
    on: On,
}

impl Ratings {
    /// Measures it.
    pub(super) fn measure(self, output: &Output) -> Result<Findings> {
        if self.on.is_given() {
            spark::refuse_stdin(self.table.as_slice())?;
        }
        let scratch = TemporaryFolder::new()?;
        let table = match &self.table {
            Some(table) => table.clone(),
            None => {
                let path = scratch.path().join("ratings.tsv");
                files::write_whole(&path, |out| generate::ratings(out, self.rows, 1))?;
                path.display().to_string()
            }
        };
        let found = progress::run(output, "measuring", |control| {
            ratings::ratings(&table, scratch.path(), self.repeats, control)
        })?;
        let Reproduction { mut runs, rows, .. } = found;
        if let Some(folder) = &self.save {
            progress::run(output, "saving", |control| ratings::save(&table, folder, control))?;
            output
                .note(format!("{}: parameters, filters and rates, a folder for each rate", folder.display()));
        }
        if self.on.is_given() {
            for fpr in RATES {
                for &executors in &self.executors {
                    runs.push(self.on_spark(fpr, executors, &table, scratch.path(), output)?);
                }
            }
        }
        Ok(Reproduction { runs, on: self.on.name(), rows }.findings())
    }

    /// Builds and tests in one application.
    fn on_spark(
        &self,
        fpr: f64,
        executors: usize,
        table: &str,
        scratch: &Path,
        output: &Output,
    ) -> Result<Run> {
        let filters = scratch.join("spark.tamis");
        let (recipe, kind) = (ratings::recipe(), Kind::Bloom);
        // It was read here already, so it is a file of this machine, whatever a path means to Spark.
        let inputs = match table.contains("://") {
            true => vec![table.to_owned()],
            false => vec![format!("file://{}", std::path::absolute(table)?.display())],
        };
        let build = BuildJob {
            inputs: inputs.clone(),
            keys: Keys { key: recipe.key, group: recipe.group, ..Keys::default() },
            kinds: Kinds { kind: Some(kind), hash: Some(HashName::Murmur3), ..Kinds::default() },
            sizes: Sizes { fpr: Some(fpr), ..Sizes::default() },
            output: Some(filters.clone()),
            ..BuildJob::default()
        };
        let test = TestJob { filters: filters.clone(), inputs, ..TestJob::default() };
        let jobs = json!([{ "job": "build", "request": build }, { "job": "test", "request": test }]);
        let on = self.on.with_executors(executors);
        let told = on.run(output, "measuring on Spark", json!({ "job": "several", "request": jobs }))?;
        let findings = serde_json::from_value(told["told"][1]["findings"].clone())?;
        let with = With { members: true, negatives: false };
        let report = check::conclude(&files::open(&filters)?, findings, with, parallel::default_threads())?;
        let timed = spark::timed(&told);
        let time = |name: &str| {
            timed.iter().find(|(phase, _)| *phase == name).map(|(_, time): &(_, Duration)| *time)
        };
        let phases = ["start", "count", "build", "test"].map(time);
        Ok(Run { fpr, scheme: Ours::Printed, place: Place::Executors(executors), phases, report })
    }
}
