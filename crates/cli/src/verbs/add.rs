use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tamis::key::{Column, Field};
use tamis_make::build::{self, Addition};
use tamis_make::files;
use tamis_make::text::group_name;
use tamis_make::{number, rebuild};

use super::inspect::{self, Listed};
use crate::arguments::{self, Columns, Reading, replace_weight};
use crate::asked::Asked;
use crate::show::Output;
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
    file: PathBuf,
    /// Files, globs, folders, or `-` for standard input
    #[arg(required = true)]
    inputs: Vec<String>,
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
    /// Adds them.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let file = files::open(&self.file)?;
        let mut recipe = self.columns.applied(&file.params().common.recipe)?;
        let asked = Asked::of(output, &self.file, &file, self.reading.request())?;
        drop(file);
        replace_weight(&mut recipe, self.weight.as_ref())?;
        let by_file = recipe.group.as_ref().is_some_and(|group| group.column == Column::File);
        let mut addition = Addition {
            inputs: self.inputs,
            options: asked.reading.options(),
            recipe,
            bad_rows: self.reading.bad_rows(),
            distinct: self.distinct,
            new_groups: self.new_groups || by_file,
            threads: self.reading.threads(),
        };
        asked.watch(&mut addition.options);
        if let Some(above) = self.rebuild_above {
            rebuild::check(&self.file, above)?;
        }
        let report = progress::run(output, "adding", |control| build::add(&self.file, &addition, control));
        let mut report = asked.done(output, report)?;
        if let Some(above) = self.rebuild_above {
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
                let file = files::open(&self.file)?;
                (report.params, report.tallies) = (file.params().clone(), file.tallies().to_vec());
            }
        }
        asked.inputs(output, &report.inputs);
        if !report.new_groups.is_empty() {
            let names: Vec<String> = report.new_groups.iter().take(5).map(group_name).collect();
            let more = report.new_groups.len().saturating_sub(names.len());
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            let new = number::counted(report.new_groups.len() as u64, "new group");
            output.note(format!("{new}: {}{more}", names.join(", ")));
        }
        notes::skipped(output, report.skipped);
        notes::exact(output, &self.file, report.exact);
        notes::heavy(output, report.heavy, None);
        inspect::summary(output, &self.file, &report.params, &report.tallies, Listed::Largest)
    }
}
