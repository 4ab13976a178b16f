use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;
use tamis::format::MAGIC;
use tamis::key::Field;
use tamis::params::Params;
use tamis::sizing::Kind;
use tamis_jobs::build::{self, Job, Sizing};
use tamis_jobs::output as files;
use tamis_jobs::plan::Size;
use tamis_jobs::{choice, number};
use tamis_read::Error;

use super::explain;
use super::inspect::{self, Listed};
use crate::arguments::{
    Counting, Keys, Kinds, Reading, Sizes, memory, replace_columns, replace_weight, share,
};
use crate::show::{Output, usage};
use crate::spark::{self, On};
use crate::{notes, progress};

/// Build filters or counts from a table: one, or one per group
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
  tamis build allow.csv --key email:trim,lower --exact -o allow.tamis  keeps the keys, too
  tamis build users.csv --key email --kind counting -o users.tamis     keys can be removed
  tamis build access.log --kind count-min --key 1 --delimiter ' ' -o hits.tamis
  tamis build flows.csv --kind count-min --key src --weight bytes --heavy 0.001 -o bytes.tamis
  tamis build 's3a://logs/*.parquet' --key user --on spark://master:7077 -o users.tamis

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
    #[command(flatten)]
    counting: Counting,
    /// Keep the keys whose share of the total weight is at least this, for `tamis top`; the input is
    /// read twice
    #[arg(long, value_parser = share, value_name = "SHARE", help_heading = "Counts (--kind count-min)")]
    heavy: Option<f64>,
    /// Add each different key once, however often it comes, so that it is removed at once. For --kind
    /// counting: other filters hold each key once anyway
    #[arg(long, help_heading = "Filters")]
    distinct: bool,
    /// Parameters that `tamis plan … -o` saved
    #[arg(long, value_name = "FILE", conflicts_with = "like")]
    params: Option<PathBuf>,
    /// The parameters of another file of filters
    #[arg(long, value_name = "FILE.tamis")]
    like: Option<PathBuf>,
    /// Keep the keys themselves, too, in a file beside it (FILE.tamis.keys): for filter --strict
    #[arg(long)]
    exact: bool,
    /// Memory for collecting the keys of --exact; the rest waits on disk
    #[arg(long, value_parser = memory, requires = "exact", default_value = "256MB", hide_default_value = true)]
    memory: u64,
    /// Show how the input is understood and the keys of its first rows, and build nothing
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    on: On,
}

impl Build {
    /// Builds them.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        if self.on.is_given() {
            return self.on_spark(output);
        }
        let given = match (&self.params, &self.like) {
            (Some(path), _) => Some(read_params(path)?),
            (_, Some(path)) => Some(like(path)?),
            _ => None,
        };
        let (common, sizing) = match given {
            Some(params) => {
                if self.counting.given() {
                    return usage(
                        "the given parameters fix the counters: leave out --epsilon, --delta, --width, --depth and --counter-bits",
                    );
                }
                if self.sizes.given() || self.kinds.given() || self.keys.null.is_some() {
                    return usage(
                        "the given parameters fix size, kind, hash and recipe: leave out --fpr, --bits-per-key, --size, --keys, --kind, --layers, --hash, --seed and --null",
                    );
                }
                let mut common = params.common.clone();
                common.recipe =
                    replace_columns(&common.recipe, self.keys.columns(), self.keys.group.as_ref())?;
                replace_weight(&mut common.recipe, self.keys.weight.as_ref())?;
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
                refuse_mixed(common.kind, self.sizes.given(), self.counting.given())?;
                let size = self.sizes.size();
                if common.kind.counts() {
                    (common, Sizing::Counters(self.counting.counters(self.heavy)?))
                } else {
                    (common, self.sizes.keys.map_or(Sizing::Count(size), |keys| Sizing::Keys(keys, size)))
                }
            }
        };
        if common.kind.counts() && self.exact {
            return usage(
                "these sketches count: leave out --exact (--heavy SHARE keeps the keys that come most)",
            );
        }
        if !common.kind.counts() && self.heavy.is_some() {
            return usage("filters do not count: leave out --heavy, or give --kind count-min");
        }
        let job = Job {
            inputs: self.inputs,
            options: self.reading.options(),
            common,
            sizing,
            layers: self.kinds.layers,
            heavy: self.heavy,
            distinct: self.distinct,
            bad_rows: self.reading.bad_rows(),
            threads: self.reading.threads(),
        };
        if self.explain {
            return explain::show(output, &job);
        }
        let path = self.output.expect("clap asks for it");
        let report = progress::run(output, "building", |control| match self.exact {
            true => build::build_exact(&job, self.memory, &path, control),
            false => build::build(&job, &path, control),
        })?;
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
        notes::exact(output, &path, report.exact);
        notes::heavy(output, report.heavy, self.heavy);
        inspect::summary(output, &path, &report.params, &report.tallies, Listed::Largest)
    }
}

impl Build {
    /// Builds them elsewhere. What is asked is checked there, by the same code.
    fn on_spark(self, output: &Output) -> Result<ExitCode> {
        if self.exact || self.heavy.is_some() || self.distinct || self.explain {
            return usage(
                "--exact, --heavy, --distinct and --explain are for builds on one machine: leave them out, or --on",
            );
        }
        let given = match (&self.params, &self.like) {
            (Some(path), _) => Some(read_params(path)?),
            (_, Some(path)) => Some(like(path)?),
            _ => None,
        };
        let path = self.output.expect("clap asks for it");
        files::check(&path)?;
        let texts = |fields: &[Field]| fields.iter().map(Field::to_string).collect::<Vec<_>>();
        let or_none = |texts: Vec<String>| if texts.is_empty() { None } else { Some(texts) };
        let hash = self.kinds.hash.map(|hash| format!("{hash:?}").to_lowercase());
        let options = json!({
            "key": or_none(texts(&self.keys.key)), "keywords": or_none(texts(&self.keys.keywords)),
            "group": self.keys.group.as_ref().map(Field::to_string),
            "weight": self.keys.weight.as_ref().map(Field::to_string), "null": self.keys.null,
            "kind": self.kinds.kind, "conservative": self.kinds.conservative, "layers": self.kinds.layers,
            "hash": hash, "seed": self.kinds.seed,
            "fpr": self.sizes.fpr, "bits_per_key": self.sizes.bits_per_key, "size": self.sizes.size,
            "keys": self.sizes.keys,
            "epsilon": self.counting.epsilon, "delta": self.counting.delta, "width": self.counting.width,
            "depth": self.counting.depth, "counter_bits": self.counting.counter_bits,
            "params": given.map(|params| params.to_json()),
        });
        let job = json!({
            "job": "build", "inputs": spark::inputs(&self.inputs)?, "options": options,
            "reading": spark::reading(&self.reading)?, "output": std::path::absolute(&path)?,
        });
        let told = self.on.run(output, "building", job)?;
        notes::estimated(output, told["estimated"] == true);
        notes::skipped(output, told["skipped"].as_u64().unwrap_or(0));
        notes::lone_keywords(output, told["lone_keywords"] == true);
        output.note(format!("{}: {}", path.display(), spark::phases(&told)));
        let file = files::open(&path)?;
        inspect::summary(output, &path, file.params(), file.tallies(), Listed::Largest)
    }
}

/// Refuses sizes of filters for what counts, and sizes of counters for filters.
pub fn refuse_mixed(kind: Kind, of_filters: bool, of_counters: bool) -> Result<()> {
    choice::refuse_mixed(kind, of_filters, of_counters).or_else(|error| usage(error.to_string()))
}

/// Parameters from a file.
pub(super) fn read_params(path: &Path) -> Result<Params> {
    let mut file = File::open(path).map_err(Error::io(path))?;
    let mut bytes = Vec::new();
    file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut bytes).map_err(Error::io(path))?;
    if bytes.starts_with(&MAGIC) {
        let message = "this is a file of filters; --like takes its parameters".into();
        return Err(Error::told_of(path, message).into());
    }
    file.read_to_end(&mut bytes).map_err(Error::io(path))?;
    Params::from_json(&String::from_utf8_lossy(&bytes)).with_context(|| path.display().to_string())
}

/// The parameters of a file of filters.
fn like(path: &Path) -> Result<Params> {
    match files::open(path) {
        Ok(file) => Ok(file.params().clone()),
        Err(Error::File { source: tamis::Error::Magic, .. }) if read_params(path).is_ok() => {
            let message = "these are saved parameters, not filters: --params takes them".into();
            Err(Error::told_of(path, message).into())
        }
        Err(error) => Err(error.into()),
    }
}
