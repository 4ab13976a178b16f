use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tamis_make::{merge, parallel};

use super::inspect;
use crate::show::Output;
use crate::{notes, progress};

/// Merge files with the same parameters, group by group
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis merge monday.tamis tuesday.tamis -o week.tamis

Files merge if they were built with the same parameters (tamis plan … -o params.json, then tamis build \
--params params.json). Groups that only one file has are kept. The bits of filters are ORed, the counters of \
count-min are added.")]
pub struct Merge {
    /// The files
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// The file to write; it may be one of the inputs
    #[arg(long, short)]
    output: PathBuf,
}

impl Merge {
    /// The files that it names.
    pub(super) fn named(&self) -> super::Named<'_> {
        super::Named::outputs([&self.output])
    }

    /// Merges them.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let merged = progress::run(output, "merging", |control| {
            merge::merge(&self.inputs, &self.output, parallel::default_threads(), control)
        })?;
        for (first, second) in &merged.twice {
            let (first, second) = (first.display(), second.display());
            output.warn(if first.to_string() == second.to_string() {
                format!("{first} was given twice: its rows are counted twice")
            } else {
                format!("{first} and {second} hold the same: the rows are counted twice")
            });
        }
        if !merged.dropped.is_empty() {
            output.note(format!(
                "not recorded about {}, since the files differ in it: {}",
                self.output.display(),
                merged.dropped.join(", ")
            ));
        }
        notes::exact(output, &self.output, merged.exact);
        notes::heavy(output, merged.heavy, None);
        inspect::written(output, &self.output)
    }
}
