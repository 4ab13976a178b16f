//! tamis beside its peers, measured in one run. Reports ratios; asserts no times.

mod arch;
mod contestants;
mod counts;
mod filters;
mod jobs;
mod rounds;
mod statics;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(about = "tamis beside its peers, measured in one run")]
struct Arguments {
    #[command(subcommand)]
    what: What,
    /// Write the figures, too
    #[arg(long, global = true, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// ns per key of filters, beside the limit and beside each other
    Filters {
        /// The sizes of the sets
        #[arg(long, value_delimiter = ',', value_parser = count, default_value = "1M,10M,100M")]
        keys: Vec<u64>,
        /// Only contestants whose name holds one of these
        #[arg(long, value_delimiter = ',')]
        only: Vec<String>,
    },
    /// Bits per key of static sets
    Static {
        /// The sizes of the sets
        #[arg(long, value_delimiter = ',', value_parser = count, default_value = "1M,10M")]
        keys: Vec<u64>,
    },
    /// ns per key and error of sketches that count, beside each other
    Counts {
        /// Counters in a row, and rows (4 or 5: the limit is known for these)
        #[arg(long, value_delimiter = ',', value_parser = shape, default_value = "1048576x4,2048x5")]
        shapes: Vec<(u64, u32)>,
        /// Keys that are added and asked for
        #[arg(long, value_parser = count, default_value = "1M")]
        keys: u64,
    },
    /// Whole commands, with their start
    Jobs(jobs::Jobs),
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(Arguments { what, json }: Arguments) -> Result<(), String> {
    let machine = rounds::machine();
    println!("{machine}\n");
    let mut figures = match what {
        What::Filters { keys, only } => filters::run(&keys, &only),
        What::Static { keys } => statics::run(&keys),
        What::Counts { shapes, keys } => counts::run(&shapes, keys),
        What::Jobs(jobs) => jobs::run(&jobs)?,
    };
    if let Some(path) = json {
        figures["machine"] = machine.into();
        std::fs::write(&path, format!("{figures:#}\n"))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// A number of keys: `1000000`, `1e6`, `1M`.
fn count(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.strip_suffix(['M', 'm']) {
        Some(digits) => (digits, 1e6),
        None => (text, 1.0),
    };
    match digits.parse::<f64>() {
        Ok(number) if (1.0..1e12).contains(&(number * factor)) => Ok((number * factor) as u64),
        _ => Err("a number of keys, such as 1000000, 1e6 or 1M".into()),
    }
}

/// Counters in a row, and rows: `2048x5`.
fn shape(text: &str) -> Result<(u64, u32), String> {
    let parts = text.split_once('x').map(|(width, depth)| (count(width), depth.parse()));
    match parts {
        Some((Ok(width), Ok(depth @ 4..=5))) => Ok((width, depth)),
        _ => Err("counters in a row, and 4 or 5 rows, such as 2048x5".into()),
    }
}
