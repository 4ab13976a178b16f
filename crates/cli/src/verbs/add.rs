use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tamis::key::Field;
use tamis_jobs::request::{self, AddJob, NoMore};
use tamis_make::build;
use tamis_make::files;
use tamis_make::text::listed_names;
use tamis_make::{number, rebuild};
use tamis_read::Control;

use super::inspect;
use crate::arguments::{self, Columns, Reading};
use crate::asked::Asked;
use crate::show::{Output, wrong};
use crate::{notes, progress};

/// Add rows to existing filters
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis add week.tamis wednesday.tsv
  tamis add seen.tamis new-users.csv --key mail      another column, the stored steps
  tamis add seen.tamis more.csv --rebuild-above 0.02 larger filters when the rate is over 2 %

The file is replaced whole when all rows are added: a failure leaves it unchanged. A file of \
exact keys beside it (build --exact) gets the new keys, too.

With --rebuild-above, filters whose expected rate is then too high are rebuilt from the exact \
keys, with room for twice as many.")]
pub struct Add {
    /// The file of filters
    pub(super) file: PathBuf,
    /// Files, globs, folders, or `-` for standard input
    #[arg(required = true)]
    pub(super) inputs: Vec<String>,
    #[command(flatten)]
    columns: Columns,
    /// The column of the weight, if this input names it differently; the stored steps apply
    #[arg(long, value_name = "COLUMN", help_heading = "Keys")]
    weight: Option<Field>,
    /// If the expected rate of false positives exceeds this, rebuild the filters larger, from the
    /// keys kept beside them (build --exact)
    #[arg(long, value_parser = arguments::rate, value_name = "RATE")]
    rebuild_above: Option<f64>,
    /// Add each distinct key of these inputs once, however often it occurs. For counting filters;
    /// others hold each key once anyway
    #[arg(long, help_heading = "Keys")]
    distinct: bool,
    /// Make new groups for rows whose group is not in the file, planned for the keys of these inputs at
    /// the rate of the others; reads the input twice. Implied where the group is the file, `(file)`
    #[arg(long, help_heading = "Keys")]
    new_groups: bool,
    #[command(flatten)]
    reading: Reading,
}

impl Add {
    /// The files that it names.
    pub(super) fn named(&self) -> super::Named<'_> {
        super::Named::outputs([&self.file]).and_aside(&self.reading)
    }

    /// Adds them.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let file = files::open(&self.file)?;
        let asked = Asked::of(output, &self.file, &file, self.reading.request())?;
        let request = AddJob {
            inputs: self.inputs,
            reading: asked.reading.clone(),
            columns: self.columns.request(),
            weight: self.weight,
            distinct: self.distinct,
            new_groups: self.new_groups,
            rebuild_above: self.rebuild_above,
            no_more: NoMore,
        };
        let stored = file.params().common.recipe.clone();
        drop(file);
        let request::Add { mut addition, rebuild_above } = request.resolve(&stored).map_err(wrong)?;
        asked.watch(&mut addition.options);
        if let Some(above) = rebuild_above {
            rebuild::check(&self.file, above)?;
        }
        let add = |control: &Control| build::add(&self.file, &addition, control);
        let report = asked.run(output, "adding", add, |report| &report.inputs)?;
        if let Some(above) = rebuild_above {
            let threads = addition.threads;
            let rebuilt = progress::run(output, "rebuilding filters", |control| {
                rebuild::from_keys(&self.file, above, threads, control)
            })?;
            if let Some(rebuilt) = rebuilt {
                output.note(format!(
                    "the expected rate was {}, above {}: {} rebuilt larger from the keys beside the file; the rate is now {}",
                    number::rate(rebuilt.before),
                    number::rate(above),
                    number::counted(rebuilt.groups, "filter"),
                    number::rate(rebuilt.after)
                ));
            }
        }
        if !report.new_groups.is_empty() {
            let (shown, others) = report.new_groups.split_at(report.new_groups.len().min(5));
            let new = number::counted(report.new_groups.len() as u64, "new group");
            output.note(format!("{new}: {}", listed_names(shown, others.len())));
        }
        notes::skipped(output, report.skipped);
        notes::exact(output, &self.file, report.exact);
        notes::heavy(output, report.heavy, None);
        inspect::written(output, &self.file)
    }
}
