use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use tamis_jobs::parquet::check::File;
use tamis_jobs::parquet::index::Made;
use tamis_jobs::parquet::{check, index, inspect};
use tamis_make::{number, parallel};
use tamis_report::parquet as report;

use super::Named;
use crate::arguments::{count, rate, seed, threads};
use crate::progress;
use crate::show::{self, Output, Sheet};

/// Look at the Bloom filters inside Parquet files, add some, and check that they hold
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis parquet inspect visits.parquet                                  what is there, and is it worth it?
  tamis parquet index visits.parquet --column user_id --fpr 0.001 -o indexed.parquet
  tamis parquet check 'lake/*.parquet' --column user_id                 is every value found?

Parquet has a Bloom filter per row group and column, if its writer made one. Engines (Spark, DuckDB, Trino and others) \
skip row groups by it that cannot hold the value that is asked for.")]
pub struct Parquet {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Subcommand)]
enum Part {
    Inspect(Inspect),
    Index(Index),
    Check(Check),
}

/// Say per row group and column what there is to answer "is this value here?" with
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis parquet inspect visits.parquet
  tamis parquet inspect 'lake/*.parquet' --column user_id --json

Shown are, per row group and column: distinct values (of the dictionary, where all pages refer to it; as the statistics \
say; or with ≈ estimated from the filter), the bytes of the filter, the share of its bits that are set, the rate of \
false positives that these bits give, and whether a filter is worth its bytes: not where a dictionary or the \
statistics (least and greatest value) answer already, or where it is too full. Nothing but footers, filters and \
the headers of pages is read.")]
struct Inspect {
    /// Files, globs, folders
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// Only this column; may be given several times
    #[arg(long, value_name = "COLUMN")]
    column: Vec<String>,
}

/// Write the same file with Bloom filters for some columns
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis parquet index visits.parquet --column user_id --fpr 0.001 -o indexed.parquet
  tamis parquet index visits.parquet --column user_id --column url -o indexed.parquet

Every page is copied byte for byte. Page indexes, statistics, key-value metadata, sort order and filters of other columns \
stay what and where they are; the new filters stand behind them. A filter that a column has already is replaced, and \
said. The filter of a row group is sized for the distinct values in it, by the formula that all writers of Parquet \
share: a power of two. Encrypted files are refused.")]
struct Index {
    /// The file
    file: PathBuf,
    /// The column to make filters for; may be given several times
    #[arg(long, required = true, value_name = "COLUMN")]
    column: Vec<String>,
    /// The wanted rate of false positives
    #[arg(long, value_parser = rate, default_value = "0.01")]
    fpr: f64,
    /// The file to write
    #[arg(long, short)]
    output: PathBuf,
    /// Threads [default: as many as there are processors]
    #[arg(long, value_parser = threads)]
    threads: Option<usize>,
}

/// Check that every value of a column is found by its filters, and measure their rate
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis parquet check indexed.parquet --column user_id
  tamis parquet check 'lake/*.parquet' --column user_id --complete      every row group must have one
  tamis parquet check indexed.parquet --column user_id --json

All values are read and asked of the filter of their row group; then random values that are not there. Row groups \
without a filter are named.

Exit code 1 if a value is not found, if no row group has a filter, or with --complete, if one has none.")]
struct Check {
    /// Files, globs, folders
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// The column
    #[arg(long, value_name = "COLUMN")]
    column: String,
    /// Absent values that each filter is asked for
    #[arg(long, value_parser = count, default_value = "100000", value_name = "N")]
    probes: u64,
    /// Draw other absent values
    #[arg(long, value_parser = seed, default_value = "0", value_name = "N")]
    seed: u64,
    /// Fail where a row group has no filter
    #[arg(long)]
    complete: bool,
    /// Threads [default: as many as there are processors]
    #[arg(long, value_parser = threads)]
    threads: Option<usize>,
}

impl Parquet {
    /// The files that it names.
    pub(super) fn named(&self) -> Named<'_> {
        match &self.part {
            Part::Index(index) => Named::outputs([&index.output]).and_inputs([&index.file]),
            Part::Inspect(_) | Part::Check(_) => Named::default(),
        }
    }

    /// The tables that it reads.
    pub(super) fn tables(&self) -> &[String] {
        match &self.part {
            Part::Inspect(inspect) => &inspect.files,
            Part::Check(check) => &check.files,
            Part::Index(_) => &[],
        }
    }

    /// Does it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        match self.part {
            Part::Inspect(verb) => verb.run(output),
            Part::Index(verb) => verb.run(output),
            Part::Check(verb) => verb.run(output),
        }
    }
}

impl Inspect {
    fn run(self, output: &Output) -> Result<ExitCode> {
        let files = progress::run(output, "looking", |control| {
            inspect::inspect(&self.files, &self.column, parallel::default_threads(), control)
        })?;
        output.result(report::inspected(&files).text(), report::inspected_json(&files))?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Index {
    fn run(self, output: &Output) -> Result<ExitCode> {
        let job = index::Job {
            input: self.file,
            columns: self.column,
            rate: self.fpr,
            output: self.output,
            threads: self.threads.unwrap_or_else(parallel::default_threads),
        };
        let done = progress::run(output, "indexing", |control| index::index(&job, control))?;
        let replaced: Vec<&Made> = done.filters.iter().filter(|made| made.replaces).collect();
        if !replaced.is_empty() {
            output.note(format!(
                "note: {} replaced; {} of the old ones stay in the file, unused (writing it again with another program \
                 drops them)",
                number::counted(replaced.len() as u64, "filter"),
                number::bytes(done.unused),
            ));
        }
        let above = done.filters.iter().filter(|made| made.rate > job.rate).count();
        if above > 0 {
            output.note(format!(
                "note: the expected rate of {} of {} is above {}: sizes in Parquet are powers of two, by a formula that \
                 takes blocks as equally full; a smaller --fpr gives the next size",
                number::count(above as u64),
                number::counted(done.filters.len() as u64, "filter"),
                number::rate(job.rate),
            ));
        }
        let (before, now) = done.bytes;
        let lines = vec![format!(
            "{}: {}, {} more than {}",
            job.output.display(),
            number::bytes(now),
            number::bytes(now.saturating_sub(before)),
            job.input.display(),
        )];
        let sheet = Sheet { table: report::indexed(&done), lines };
        let mut json = report::indexed_json(&done);
        json["path"] = job.output.display().to_string().into();
        output.summary(sheet, json)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// This many row groups are named one by one.
const SHOWN: usize = 20;

impl Check {
    fn run(self, output: &Output) -> Result<ExitCode> {
        let job = check::Job {
            inputs: self.files,
            column: self.column,
            probes: self.probes,
            seed: self.seed,
            threads: self.threads.unwrap_or_else(parallel::default_threads),
        };
        let files = progress::run(output, "checking", |control| check::check(&job, control))?;
        output.result(report::checked(&files).text(), report::checked_json(&job.column, &files))?;
        let lost = say_missing(&files);
        let (without, groups) = say_without(output, &files, self.complete);
        if without == groups {
            show::error(format!(
                "no row group has a filter for column {:?}: there was nothing to check",
                job.column
            ));
        }
        let failed = lost || without == groups || (self.complete && without > 0);
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Names the row groups whose filters do not find all values; says whether there are any.
fn say_missing(files: &[File]) -> bool {
    let mut lost = Vec::new();
    for file in files {
        for group in &file.groups {
            let Some(asked) = group.filter.as_ref().filter(|asked| asked.missing > 0) else { continue };
            lost.push(format!(
                "{}, row group {}: {} of {} are not found by the filter, the first {:?}",
                file.path.display(),
                group.group,
                number::count(asked.missing),
                number::counted(asked.values, "value"),
                asked.first_missing.as_deref().unwrap_or_default(),
            ));
        }
    }
    lost.iter().take(SHOWN).for_each(show::error);
    if let Some(more @ 1..) = lost.len().checked_sub(SHOWN) {
        show::error(format!("and {} more row groups", number::count(more as u64)));
    }
    !lost.is_empty()
}

/// Names the row groups without a filter; says how many there are, and how many row groups.
fn say_without(output: &Output, files: &[File], complete: bool) -> (u64, u64) {
    let (mut without, mut groups, mut named) = (0, 0, 0);
    for file in files {
        let none: Vec<String> = file
            .groups
            .iter()
            .filter(|group| group.filter.is_none())
            .map(|group| group.group.to_string())
            .collect();
        groups += file.groups.len() as u64;
        without += none.len() as u64;
        if none.is_empty() {
            continue;
        }
        named += 1;
        let which = match none.len() == file.groups.len() {
            true => "no row group has a filter".to_owned(),
            false => format!("no filter in row group {}", none[..none.len().min(SHOWN)].join(", ")),
        };
        let more = if none.len() > SHOWN && none.len() < file.groups.len() { ", …" } else { "" };
        match (complete, named <= SHOWN) {
            (true, true) => show::error(format!("{}: {which}{more}", file.path.display())),
            (false, true) => output.note(format!("{}: {which}{more}", file.path.display())),
            _ => {}
        }
    }
    if named > SHOWN {
        output.note(format!("and {} more files", number::count((named - SHOWN) as u64)));
    }
    (without, groups)
}
