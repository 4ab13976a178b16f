use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use tamis::key::Field;
use tamis_jobs::dedup::{self, LEAST_MEMORY, Notice};
use tamis_jobs::request::{DedupJob, HashName, NoMore};
use tamis_make::destination::Destination;
use tamis_make::number;
use tamis_read::parquet::Codec;
use tamis_read::{Control, Format};

use super::filter::WRITTEN;
use crate::arguments::{self, Hashing, Reading, refuse_json};
use crate::asked::Asked;
use crate::notes;
use crate::show::{Output, Sheet, refused};

/// Pass each record whose key occurs for the first time; drop repetitions
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis dedup events.ndjson --key id -o unique.ndjson
  tail -f access.log | tamis dedup - --format log --key host
  tamis dedup today.csv --key id --state seen.tamis -o today-unique.csv     remembers between runs
  tamis dedup events.csv --key id --strict -o unique.csv                    none dropped wrongly
  tamis dedup huge.txt --size 1GB -o unique.txt                             in bounded memory

Keys are remembered in a filter that grows, so a first occurrence may be mistaken for a \
repetition: at most one in a million, or --fpr. --strict compares the keys themselves: in one pass, \
or, where they do not fit into --memory, on disk and in two. With --size the filter does not grow: \
when it is full, it remembers no more keys, and records with unknown keys pass each time.

With --state FILE, the same command resumes a run that ended early: the state stores how far the \
input was read and how long the output was. What is new of another input is appended to the output; \
another output gets only what is new. `tamis inspect FILE` shows the state.")]
pub struct Dedup {
    /// Files, globs, folders, or `-` for standard input
    #[arg(required = true)]
    pub(super) inputs: Vec<String>,
    /// The file for first occurrences [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also write the repetitions
    #[arg(long, value_name = "FILE")]
    rejected: Option<PathBuf>,
    /// Print how many there are, and write neither records nor the state
    #[arg(long, conflicts_with = "output")]
    count: bool,
    /// The column of the key, with steps: `email:trim,lower`; several make a compound key
    #[arg(long, value_name = "COLUMN[:STEPS]", help_heading = "Keys")]
    key: Vec<Field>,
    /// The text that replaces an empty cell, \N or null
    #[arg(long, value_name = "VALUE", help_heading = "Keys")]
    null: Option<String>,
    /// The highest probability that a first occurrence is dropped [default: 0.000001]
    #[arg(long, value_parser = arguments::rate)]
    fpr: Option<f64>,
    /// The hash: xxh3 (default), or siphash with the secret key of --hash-key
    #[arg(long, value_parser = arguments::one_of([HashName::Xxh3, HashName::SipHash], HashName::name))]
    hash: Option<HashName>,
    /// The seed of xxh3: a number makes runs repeatable [default: that of the state, or random, to
    /// protect against chosen keys]
    #[arg(long, value_parser = arguments::seed)]
    seed: Option<u64>,
    /// Limit the filter to this size (64MB, 1GiB); when it is full, no more keys are remembered
    #[arg(long, value_parser = arguments::bytes)]
    size: Option<u64>,
    /// Drop no first occurrence: check against the keys themselves, on disk
    #[arg(long)]
    strict: bool,
    /// Bytes of keys that --strict holds in memory
    #[arg(long, value_parser = memory, default_value = "256MB", requires = "strict")]
    memory: u64,
    /// Keep the remembered keys in this file between runs
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Write the state at most this often during a run
    #[arg(long, value_name = "TIME", value_parser = arguments::duration, default_value = "10s", requires = "state")]
    commit_every: Duration,
    /// How records are written: text as parquet, those of Parquet also as csv, tsv or ndjson [default: by
    /// the name of the output, or unchanged; those of Parquet as CSV]
    #[arg(long, value_parser = arguments::one_of(WRITTEN, Format::name), value_name = "FORMAT")]
    output_format: Option<Format>,
    /// How a Parquet output is compressed [default: snappy]
    #[arg(long, value_parser = arguments::one_of(Codec::ALL, Codec::name), value_name = "CODEC")]
    compression: Option<Codec>,
    #[command(flatten)]
    reading: Reading,
}

/// Memory for keys, beyond which they go to disk.
fn memory(text: &str) -> Result<u64, String> {
    arguments::memory_from(LEAST_MEMORY, text)
}

impl Dedup {
    /// The files that it names.
    pub(super) fn named(&self) -> super::Named<'_> {
        super::Named::outputs(self.state.iter().chain(&self.output).chain(&self.rejected))
            .and_aside(&self.reading)
    }

    /// Frees them of repetitions.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let counts = self.count;
        let mut request = self.request();
        let to_stdout = request.destination() == Destination::Stdout;
        let stored = request.stored()?;
        refuse_json(to_stdout, output)?;
        let asked = match (&request.state, &stored) {
            (Some(path), Some(file)) => Asked::of(output, path, file, request.reading)?,
            _ => Asked::nothing(request.reading),
        };
        request.reading = asked.reading.clone();
        let recipe = stored.as_ref().map(|file| &file.params().common.recipe);
        let mut job = request.resolve(recipe).map_err(refused)?;
        drop(stored);
        asked.watch(&mut job.options);
        let sieve = |control: &Control| dedup::dedup(&job, control);
        let report = asked.run(output, "sieving", sieve, |report| &report.inputs)?;
        if report.resumed {
            output.note("resumed where the last run ended");
        }
        for notice in &report.notices {
            match notice {
                Notice::Cut { .. } => output.warn(said(notice)), // what somebody else may have written
                _ => output.note(said(notice)),
            }
        }
        if let Some(state) = &request.state {
            report.doubts.iter().for_each(|doubt| notes::other_class(output, state, doubt));
        }
        if report.unremembered > 0 {
            output.warn(format!(
                "the filter is full with {}: {} passed without being remembered and would pass again; give a larger --size",
                number::counted(report.keys, "key"),
                number::counted(report.unremembered, "record"),
            ));
        }
        if report.keyless > 0 {
            output.warn(format!("skipped {} without a key", number::counted(report.keyless, "record")));
        }
        if to_stdout {
            output.note(format!(
                "{} of {} passed{}",
                number::count(report.first),
                number::counted(report.records, "record"),
                if report.rescued.is_some() {
                    String::new()
                } else {
                    format!("; expected wrongly dropped: {:.2}", report.dropped)
                }
            ));
        } else {
            let sheet = Sheet { table: tamis_report::dedup::table(&report), lines: Vec::new() };
            let json = tamis_report::dedup::json(&report);
            if counts { output.result(sheet, json)? } else { output.summary(sheet, json)? }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// What is asked for.
    fn request(self) -> DedupJob {
        DedupJob {
            inputs: self.inputs,
            reading: self.reading.request(),
            key: self.key,
            null: self.null,
            fpr: self.fpr,
            hashing: Hashing { hash: self.hash, seed: self.seed }.request(),
            size: self.size,
            strict: self.strict,
            memory: self.strict.then_some(self.memory),
            commit_every: self.state.is_some().then_some(self.commit_every),
            state: self.state,
            count: self.count,
            output: self.output,
            rejected: self.rejected,
            output_format: self.output_format,
            compression: self.compression,
            no_more: NoMore,
        }
    }
}

/// What is to be known about a run with a state.
fn said(notice: &Notice) -> String {
    match notice {
        Notice::Appended { path } => {
            format!("{}: appended what is new, after what earlier runs wrote", path.display())
        }
        Notice::NewOutput { path } => {
            format!("{}: another output than before; it has only what is new", path.display())
        }
        Notice::Cut { path, bytes } => format!(
            "{}: cut off {} at its end, which no run had completed",
            path.display(),
            number::counted(*bytes, "byte")
        ),
        Notice::OtherInput { path, now: None } => {
            format!("{}: another file than before; read from its beginning", path.display())
        }
        Notice::OtherInput { path, now: Some(now) } => format!(
            "{}: another file than before; read from its beginning. That of before is {} now: what was added to it since was not read; name it, too",
            path.display(),
            now.display()
        ),
    }
}
