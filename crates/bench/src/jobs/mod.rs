//! `jobs`: whole commands, with their start, on data that is made for them and removed.

mod bare;
mod counted;
mod data;
mod growth;
mod limit;
mod lines;
mod parts;
mod process;
mod ratings;
mod repeats;
mod sieve;
mod streams;

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use data::Data;

/// Which commands, and on what.
#[derive(Debug, Args)]
pub struct Jobs {
    /// The program
    #[arg(long, default_value = "target/release/tamis")]
    tamis: PathBuf,
    /// Only some of them
    #[arg(
        long,
        value_delimiter = ',',
        value_enum,
        default_value = "ratings,lines,counted,growth,repeats,sieve,streams"
    )]
    only: Vec<Part>,
    /// Keys of the file with one key per line
    #[arg(long, value_parser = crate::count, default_value = "20M")]
    keys: u64,
    /// Rows of the tables whose cost must grow in proportion
    #[arg(long, value_delimiter = ',', value_parser = crate::count, default_value = "1e5,1M,10M,100M")]
    rows: Vec<u64>,
    /// Lines that are sieved, and addresses that are streamed
    #[arg(long, value_parser = crate::count, default_value = "10M")]
    lines: u64,
    /// Where the data goes [default: the folder for temporary files]
    #[arg(long)]
    folder: Option<PathBuf>,
    /// A Python with rbloom and DuckDB
    #[arg(long, default_value = "target/bench-python/bin/python")]
    python: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Film ratings: build and test filters of ten groups
    Ratings,
    /// One key per line
    Lines,
    /// The same without the number of keys
    Counted,
    /// The same for more and more rows
    Growth,
    /// Lines freed of repetitions
    Repeats,
    /// Lines through a filter
    Sieve,
    /// Training and queries as streams
    Streams,
}

/// Runs them.
pub fn run(jobs: &Jobs) -> Result<Value, String> {
    if !jobs.tamis.is_file() {
        return Err(format!(
            "there is no program {}; cargo build --release makes it, --tamis names another",
            jobs.tamis.display()
        ));
    }
    let data = Data::new(jobs.folder.as_deref()).map_err(|error| format!("no place for data: {error}"))?;
    let mut results = serde_json::Map::new();
    for part in &jobs.only {
        let (name, result) = match part {
            Part::Ratings => ("ratings", ratings::run(&jobs.tamis, &jobs.python, &data)?),
            Part::Lines => ("lines", lines::run(&jobs.tamis, jobs.keys, &data)?),
            Part::Repeats => ("repeats", repeats::run(&jobs.tamis, &jobs.python, jobs.lines, &data)?),
            Part::Sieve => ("sieve", sieve::run(&jobs.tamis, &jobs.python, jobs.lines, &data)?),
            Part::Streams => ("streams", streams::run(&jobs.tamis, jobs.lines, &data)?),
            Part::Counted => ("counted", counted::run(&jobs.tamis, &jobs.rows, &data)?),
            Part::Growth => ("growth", growth::run(&jobs.tamis, &jobs.rows, &data)?),
        };
        results.insert(name.into(), result);
    }
    Ok(json!({ "jobs": results }))
}

/// `tamis build` of a file with one key per line, planned for this many keys where they are given.
fn build_lines(tamis: &Path, input: &Path, keys: Option<u64>, threads: usize, output: &Path) -> Command {
    let mut command = Command::new(tamis);
    command.arg("build").arg(input).args(["--format", "lines"]);
    if let Some(keys) = keys {
        command.args(["--keys", &keys.to_string()]);
    }
    command.args(["--threads", &threads.to_string(), "--output"]).arg(output);
    command
}

fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "NOT met" }
}
