use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;
use tamis::params::Params;
use tamis_engine::build::{self, Job, Sizing};
use tamis_engine::output as files;
use tamis_engine::plan::Size;
use tamis_engine::report::{Column, Table, number, printable};
use tamis_engine::source::{Explained, Format};

use super::inspect::{self, key_text};
use crate::arguments::{Keys, Kinds, Reading, Sizes, replace_columns};
use crate::notes;
use crate::progress;
use crate::show::{Output, Sheet, usage};

/// Build filters from a table: one, or one per group
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis build keys.txt -o keys.tamis                                   one key per line
  tamis build users.csv --key email:trim,lower --fpr 0.001 -o users.tamis
  tamis build ratings.tsv --key tconst --group averageRating:round -o ratings.tamis
  tamis build 'logs/*.ndjson.gz' --key user.id --size 64MB -o users.tamis
  tamis build visits.parquet --key user --key day -o visits.tamis      a compound key
  tamis build movies.csv --kind layered --keywords keywords:split=',' --fpr 0.05 -o movies.tamis
  tamis build monday.tsv --params params.json -o monday.tamis          to be merged later
  tamis build monday.tsv --like sunday.tamis -o monday.tamis

Distinct keys are counted, so the number of keys need not be known: exactly up to 2^24, beyond
that by an estimate with a margin (the input is then read twice). Reads CSV, TSV, one key per
line, NDJSON and Parquet, plain or as gz, zst, bz2 or xz.")]
pub struct Build {
    /// Files, globs, folders, or `-` for standard input
    #[arg(required = true)]
    inputs: Vec<String>,
    /// The file to write
    #[arg(long, short, required_unless_present = "explain")]
    output: Option<PathBuf>,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    kinds: Kinds,
    #[command(flatten)]
    sizes: Sizes,
    /// Parameters that `tamis plan … -o` saved
    #[arg(long, value_name = "FILE", conflicts_with = "like")]
    params: Option<PathBuf>,
    /// The parameters of another file of filters
    #[arg(long, value_name = "FILE.tamis")]
    like: Option<PathBuf>,
    /// Show how the input is understood and the first keys, and build nothing
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    reading: Reading,
}

impl Build {
    /// Builds them.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let given = match (&self.params, &self.like) {
            (Some(path), _) => Some(read_params(path)?),
            (_, Some(path)) => Some(files::open(path)?.params().clone()),
            _ => None,
        };
        let (common, sizing) = match given {
            Some(params) => {
                if self.sizes.given() || self.kinds.given() || self.keys.null.is_some() {
                    return usage(
                        "the given parameters fix size, kind, hash and recipe: leave out --fpr, --bits-per-key, --size, --keys, --kind, --layers, --hash, --seed and --null",
                    );
                }
                let mut common = params.common.clone();
                common.recipe =
                    replace_columns(&common.recipe, self.keys.columns(), self.keys.group.as_ref())?;
                if common.recipe != params.common.recipe {
                    output.warn(format!(
                        "the keys come from other columns ({}) than the parameters name, and the file will name ({})",
                        common.recipe, params.common.recipe
                    ));
                }
                (common, Sizing::Params(params))
            }
            None => {
                let common = self.kinds.common(self.keys.recipe())?;
                let size = self.sizes.size();
                (common, self.sizes.keys.map_or(Sizing::Count(size), |keys| Sizing::Keys(keys, size)))
            }
        };
        let job = Job {
            inputs: self.inputs,
            options: self.reading.options(),
            common,
            sizing,
            layers: self.kinds.layers,
            bad_rows: self.reading.bad_rows(),
            threads: self.reading.threads(),
        };
        if self.explain {
            return explain(output, &job);
        }
        let path = self.output.expect("clap asks for it");
        let report = progress::run(output, "building", |control| build::build(&job, &path, control))?;
        notes::inputs(output, &report.inputs);
        notes::estimated(output, report.estimated);
        notes::skipped(output, report.skipped);
        notes::lone_keywords(output, report.lone_keywords);
        if let (Sizing::Count(Size::Total(_)), Some(rate)) =
            (&job.sizing, report.params.groups.iter().map(|group| group.fpr).reduce(f64::max))
        {
            output.note(format!(
                "within this size every group has an expected rate of at most {}",
                number::rate(rate)
            ));
        }
        let phases: Vec<String> =
            report.phases.iter().map(|(name, time)| format!("{name} {}", number::duration(*time))).collect();
        output.note(format!("{}: {}", path.display(), phases.join(", ")));
        inspect::summary(output, &path, &report.params, &report.tallies)
    }
}

/// Parameters from a file.
pub fn read_params(path: &PathBuf) -> Result<Params> {
    let text = std::fs::read_to_string(path).map_err(tamis_engine::Error::io(path))?;
    Params::from_json(&text).with_context(|| path.display().to_string())
}

fn explain(output: &Output, job: &Job) -> Result<ExitCode> {
    let (inputs, keys) = progress::run(output, "reading", |control| build::explain(job, 5, control))?;
    let format = |input: &Explained| match input.format {
        Format::Lines => "one key per line",
        Format::Csv => "csv",
        Format::Tsv => "tsv",
        Format::Ndjson => "ndjson",
        Format::Parquet => "parquet",
    };
    let columns =
        ["input", "format", "compression", "delimiter", "header", "columns"].map(Column::left).to_vec();
    let row = |input: &Explained| {
        vec![
            input.path.display().to_string(),
            format(input).into(),
            input.compression.unwrap_or("-").into(),
            input.delimiter.map_or("-".into(), |byte| format!("{:?}", char::from(byte))),
            if input.header { "yes" } else { "no" }.into(),
            input.columns.join(", "),
        ]
    };
    let table = Table { columns, rows: inputs.iter().map(row).collect(), ..Table::default() };
    let mut lines = vec![format!("{}", job.common.recipe), "first keys:".into()];
    for (group, key) in &keys {
        let group = if group.is_empty() { String::new() } else { format!("  in group {}", printable(group)) };
        lines.push(format!("  {}{group}", key_text(&job.common.recipe, key)));
    }
    let json = json!({
        "inputs": inputs.iter().map(|input| json!({
            "path": input.path, "format": format(input), "compression": input.compression,
            "delimiter": input.delimiter.map(|byte| char::from(byte).to_string()),
            "header": input.header, "columns": input.columns,
        })).collect::<Vec<_>>(),
        "recipe": job.common.recipe,
        "first_keys": keys.iter().map(|(group, key)| json!({ "group": printable(group), "key": key_text(&job.common.recipe, key) })).collect::<Vec<_>>(),
    });
    output.result(Sheet { table, lines }, json)?;
    Ok(ExitCode::SUCCESS)
}
