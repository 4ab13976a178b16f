use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use tamis::hash::Scheme;
use tamis::key::{Field, Recipe};
use tamis_jobs::dedup::{self, Job, Room};
use tamis_jobs::number;
use tamis_jobs::outlet::Destination;
use tamis_jobs::output as files;

use super::filter::OutputFormat;
use crate::arguments::{self, Reading, destination, replace_columns};
use crate::show::{Output, Sheet, usage};
use crate::{notes, progress};

/// Let records pass the first time their key comes, and not again
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis dedup events.ndjson --key id -o unique.ndjson
  tail -f access.log | tamis dedup - --key 1 --delimiter ' '
  tamis dedup today.csv --key id --state seen.tamis -o today-unique.csv     tomorrow knows today's
  tamis dedup events.csv --key id --strict -o unique.csv                    none dropped wrongly
  tamis dedup huge.txt --size 1GB -o unique.txt                             in bounded memory

Keys are remembered in a filter that grows, so a first occurrence may be taken for a repetition:
one in a million at most, or --fpr. --strict checks them against the keys, on disk; the input is
read twice then. With --size the filter does not grow: when it is full, it remembers no more keys,
and what it does not know passes each time.

With --state FILE, a run that ended early is continued by the same command: the state tells how
far the input was read and how long the output was then. Another input or output begins anew,
with the keys that are remembered. `tamis inspect FILE` shows the state.")]
pub struct Dedup {
    /// Files, globs, folders, or `-` for standard input
    #[arg(required = true)]
    inputs: Vec<String>,
    /// Where first occurrences go [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the repetitions, too
    #[arg(long, value_name = "FILE")]
    rejected: Option<PathBuf>,
    /// Print how many there are, and write no records
    #[arg(long, conflicts_with = "output")]
    count: bool,
    /// The column of the key, with steps: `email:trim,lower`; several make a compound key
    #[arg(long, value_name = "COLUMN[:STEPS]", help_heading = "Keys")]
    key: Vec<Field>,
    /// What stands for an empty cell, \N or null
    #[arg(long, value_name = "VALUE", help_heading = "Keys")]
    null: Option<String>,
    /// How probably a first occurrence may be dropped [default: 0.000001]
    #[arg(long, value_parser = arguments::rate)]
    fpr: Option<f64>,
    /// Remember only what fits into so many bytes (64MB, 1GiB)
    #[arg(long, value_parser = arguments::bytes)]
    size: Option<u64>,
    /// Drop no first occurrence: check the keys themselves, on disk
    #[arg(long)]
    strict: bool,
    /// Bytes of keys that --strict holds in memory
    #[arg(long, value_parser = arguments::bytes, default_value = "256MB", requires = "strict")]
    memory: u64,
    /// Keep what is remembered in this file, between runs
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Write the state this often during a run, at most
    #[arg(long, value_name = "TIME", value_parser = arguments::duration, default_value = "10s", requires = "state")]
    commit_every: Duration,
    /// How records of Parquet are written [default: by the name of the output, or CSV]
    #[arg(long, value_enum, value_name = "FORMAT")]
    output_format: Option<OutputFormat>,
    #[command(flatten)]
    reading: Reading,
}

impl Dedup {
    /// Frees them of repetitions.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let recipe = self.recipe()?;
        let destination = destination(self.output, self.count, output)?;
        let to_stdout = destination == Destination::Stdout;
        let job = Job {
            recipe,
            inputs: self.inputs,
            options: self.reading.options(),
            hash: Scheme::DEFAULT,
            fpr: self.fpr,
            room: self.size.map_or(Room::Any, Room::Bytes),
            strict: self.strict,
            memory: self.memory,
            state: self.state,
            commit_every: self.commit_every,
            output: destination,
            rejected: self.rejected,
            format: self.output_format.map(OutputFormat::format),
            bad_rows: self.reading.bad_rows(),
            threads: self.reading.threads(),
        };
        let report = progress::run(output, "sieving", |control| dedup::dedup(&job, control))?;
        notes::inputs(output, &report.inputs);
        if report.resumed {
            output.note("went on where the last run had ended");
        }
        if report.unremembered > 0 {
            output.warn(format!(
                "the filter is full with {}: {} passed without being remembered, and would pass again; a larger --size remembers more",
                number::counted(report.keys, "key"),
                number::counted(report.unremembered, "record"),
            ));
        }
        if report.keyless > 0 {
            output.warn(format!("left out {} without a key", number::counted(report.keyless, "record")));
        }
        if to_stdout {
            output.note(format!(
                "{} of {} passed{}",
                number::count(report.first),
                number::counted(report.records, "record"),
                if report.rescued.is_some() {
                    String::new()
                } else {
                    format!(
                        "; {:.2} first occurrences may have been dropped, as is to be expected",
                        report.dropped
                    )
                }
            ));
        } else {
            output.result(
                Sheet { table: tamis_report::dedup::table(&report), lines: Vec::new() },
                tamis_report::dedup::json(&report),
            )?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The recipe of the state, with these columns, or one of these columns alone.
    fn recipe(&self) -> Result<Recipe> {
        let given = Recipe { null: self.null.clone(), ..arguments::key_recipe(&self.key) };
        let Some(state) = self.state.as_ref().filter(|state| state.exists()) else { return Ok(given) };
        let stored = &files::open(state)?.params().common.recipe.clone();
        if self.null.is_some() && given.null != stored.null {
            return usage("the state was made with another --null: leave it out");
        }
        replace_columns(stored, &self.key, None)
    }
}
