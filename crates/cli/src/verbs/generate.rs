use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;
use tamis_engine::report::number;
use tamis_engine::{generate, output};

use crate::arguments;
use crate::show::{Output, unless_closed};

/// Make data to try things on: the same bytes for the same seed, everywhere
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis generate ratings -o ratings.tsv
  tamis generate ratings --rows 1e4 --seed 7 -o - | head")]
pub struct Generate {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Ratings(Ratings),
}

/// Film ratings like IMDb's title.ratings.tsv, with the counts per rating of document 000
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis generate ratings -o ratings.tsv                  1,260,817 rows
  tamis generate ratings --rows 1e4 --seed 7 -o small.tsv")]
struct Ratings {
    /// The rows; another number than the default has the same proportions
    #[arg(long, value_parser = arguments::count, default_value_t = generate::TITLES)]
    rows: u64,
    /// The seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The file to write, or `-` for standard output
    #[arg(long, short)]
    output: PathBuf,
}

impl Generate {
    /// Makes it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let What::Ratings(Ratings { rows, seed, output: path }) = self.what;
        if path == Path::new("-") {
            let mut out = std::io::BufWriter::new(std::io::stdout().lock());
            unless_closed(generate::ratings(&mut out, rows, seed).and_then(|()| out.flush()))?;
            return Ok(ExitCode::SUCCESS);
        }
        output::write_whole(&path, |out| generate::ratings(out, rows, seed))?;
        let counts = generate::rating_counts(rows);
        if output.json {
            output.result("", json!({ "path": path, "rows": rows, "seed": seed, "counts": counts }))?;
        } else {
            output.note(format!("{}: {}", path.display(), number::counted(rows, "row")));
        }
        Ok(ExitCode::SUCCESS)
    }
}
