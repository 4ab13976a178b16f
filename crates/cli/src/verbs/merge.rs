use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tamis_make::{merge, parallel, pipe};

use super::inspect;
use crate::arguments::Piped;
use crate::show::Output;
use crate::{notes, progress};

/// Merge files with the same parameters, group by group
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis merge monday.tamis tuesday.tamis -o week.tamis
  cat part-*.tamis | tamis merge - -o week.tamis                       files in a row, in a pipe
  ssh host cat part.tamis | tamis merge here.tamis - -o - | tamis inspect -

Files merge if they were built with the same parameters (tamis plan … -o params.json, then tamis build \
--params params.json). Groups that only one file has are kept. The bits of filters are ORed, the counters of \
count-min are added. On standard input, files follow each other with nothing between them, or as one line of \
base64 each (build -o - --base64), after a key and a tab if there is one. They are merged as they come, in the \
memory of the result and of one of them.")]
pub struct Merge {
    /// The files; `-` for any number of them on standard input
    #[arg(required = true)]
    pub(super) inputs: Vec<PathBuf>,
    /// The file to write, or `-` for standard output; it may be one of the inputs
    #[arg(long, short)]
    output: PathBuf,
    #[command(flatten)]
    piped: Piped,
}

impl Merge {
    /// The files that it names.
    pub(super) fn named(&self) -> super::Named<'_> {
        super::Named::outputs([&self.output])
    }

    /// Merges them.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let to = self.piped.target(&self.output, output)?;
        let merged = progress::run(output, "merging", |control| {
            merge::merge(&self.inputs, to, parallel::default_threads(), control)
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
                pipe::said(&self.output),
                merged.dropped.join(", ")
            ));
        }
        notes::heavy(output, merged.heavy, None);
        if to.file().is_none() {
            notes::sent(output, &merged.params);
            if merged.left_keys {
                output.note(
                    "the exact keys beside the files were not merged: standard output has no second file",
                );
            }
            return Ok(ExitCode::SUCCESS);
        }
        notes::exact(output, &self.output, merged.exact);
        inspect::written(output, &self.output)
    }
}
