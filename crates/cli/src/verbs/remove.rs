use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tamis_jobs::request::{NoMore, RemoveJob};
use tamis_make::files;
use tamis_make::number;
use tamis_make::remove::{self, Missing};
use tamis_read::Control;

use super::inspect;
use crate::arguments::{Columns, Reading, one_of};
use crate::asked::Asked;
use crate::notes;
use crate::show::{Output, wrong};

/// Remove the keys of rows from counting filters
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis build users.csv --key email:trim,lower --kind counting -o users.tamis
  tamis remove users.tamis gone.csv
  tamis remove users.tamis gone.txt --key mail       another column, the stored steps
  tamis remove users.tamis gone.csv --missing skip   leave out missing keys

Only filters of --kind counting can remove. With any other kind, keep a second file of filters for the keys \
that were removed, and give it to query, filter and test as --removed FILE.

A counting filter holds a multiset: a key of two rows is in it twice, and must be removed twice \
(with --distinct, build, add and remove take each key once).

Remove only what was added. A key that is certainly not in the filter is noticed; by default nothing is \
changed then (exit code 1), and with --missing skip the key is left out and counted. But a key that was \
never added is mistaken for a member at the rate of false positives, and removing it may make other keys \
missing. A removal that is run twice by mistake is therefore refused as a whole.

The file is replaced whole at the end: a failure leaves it as it was. Keys are removed in the order of their \
hashes, so the result does not depend on how the rows are split; this takes 8 bytes of memory per row.")]
pub struct Remove {
    /// The file of filters
    pub(super) file: PathBuf,
    /// Files, globs, folders, or `-` for standard input
    #[arg(required = true)]
    pub(super) inputs: Vec<String>,
    /// What to do with keys that are certainly not in the filter: fail and change nothing, or skip them
    #[arg(long, value_parser = one_of(Missing::ALL, Missing::name), value_name = "WHAT", default_value = "fail")]
    missing: Missing,
    /// Remove each different key of these inputs once, however often it occurs
    #[arg(long)]
    distinct: bool,
    #[command(flatten)]
    columns: Columns,
    #[command(flatten)]
    reading: Reading,
}

impl Remove {
    /// The files that it names.
    pub(super) fn named(&self) -> super::Named<'_> {
        super::Named::outputs([&self.file]).and_aside(&self.reading)
    }

    /// Removes them.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let file = files::open(&self.file)?;
        // Before anything is said of columns that do not matter then.
        remove::refuse(&self.file, file.params().common.kind)?;
        let asked = Asked::of(output, &self.file, &file, self.reading.request())?;
        let request = RemoveJob {
            inputs: self.inputs,
            reading: asked.reading.clone(),
            columns: self.columns.request(),
            missing: self.missing,
            distinct: self.distinct,
            no_more: NoMore,
        };
        let mut removal = request.resolve(&file.params().common.recipe).map_err(wrong)?;
        drop(file);
        asked.watch(&mut removal.options);
        let remove = |control: &Control| remove::remove(&self.file, &removal, control);
        let report = asked.run(output, "removing", remove, |report| &report.inputs)?;
        notes::skipped(output, report.skipped);
        let (removed, missing) = (report.removed(), report.missing());
        output.note(format!(
            "{}: {} removed in {}",
            self.file.display(),
            number::counted(removed, "key"),
            number::duration(report.time)
        ));
        if missing > 0 {
            let were = if missing == 1 { "was" } else { "were" };
            let keys = number::counted(missing, "key");
            output.warn(format!("skipped {keys} that {were} not there"));
        }
        let more = serde_json::json!({
            "removed": removed, "missing": missing, "skipped_rows": report.skipped,
            "seconds": report.time.as_secs_f64(),
        });
        inspect::written_with(output, &self.file, more)
    }
}
