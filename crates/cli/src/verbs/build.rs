use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use tamis::hash::Foreign;
use tamis::params::Params;
use tamis_jobs::request::{self, BuildJob, HashName, NoMore, OtherColumns, opt, read_params};
use tamis_make::build::{self, Job, Sketches};
use tamis_make::files;
use tamis_make::foreign::{self, Target};
use tamis_make::number;
use tamis_make::pipe;
use tamis_make::spread;
use tamis_read::Error;

use super::{convert, inspect, understood};
use crate::arguments::{ByHand, Counting, Keys, Kinds, Piped, Reading, Records, Sizes, memory, share};
use crate::foreign::To;
use crate::show::{Output, usage, wrong};
use crate::spark::{self, Cluster, Where};
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
  tamis build s.txt --kind bloom --hashes 2 --bits 1050 -o s.tamis     k and m by hand
  tamis build docs/ --record file --key :words,stop=en,stem=en --group '(file)' -o index.tamis
  tamis build users.csv --key id:long --to spark -o users.bin          a filter that Spark reads
  tamis build monday.tsv --params params.json -o monday.tamis          to be merged later
  tamis build monday.tsv --like sunday.tamis -o monday.tamis
  tamis build - --params params.json -o - < part.txt | ssh host tamis merge - -o all.tamis
  tamis build allow.csv --key email:trim,lower --exact -o allow.tamis  keeps the keys, too
  tamis build users.csv --key email --kind counting -o users.tamis     keys can be removed
  tamis build access.log --format log --kind count-min --key host -o hits.tamis
  tamis build flows.csv --kind count-min --key src --weight bytes --heavy 0.001 -o bytes.tamis
  tamis build 's3a://logs/*.parquet' --key user --on spark://master:7077 -o users.tamis
  tamis build logs/2026 --key user --on yarn --executors 8 -o hdfs:///filters/users.tamis

Distinct keys are counted, so the number of keys need not be known: exactly up to 2^24, beyond \
that by an estimate with a margin (files of plain text are then read twice). Reads CSV, TSV, one key \
per line, NDJSON, access logs and Parquet, plain or as gz, zst, bz2 or xz.")]
pub struct Build {
    /// Files, globs, folders, or `-` for standard input
    #[arg(required = true)]
    pub(super) inputs: Vec<String>,
    /// The file to write, or `-` for standard output
    #[arg(long, short, required_unless_present = "explain")]
    output: Option<PathBuf>,
    #[command(flatten)]
    piped: Piped,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    records: Records,
    #[command(flatten)]
    kinds: Kinds,
    #[command(flatten)]
    sizes: Sizes,
    #[command(flatten)]
    by_hand: ByHand,
    #[command(flatten)]
    counting: Counting,
    /// Keep the most frequent keys, those with at least this share of the total weight, for `tamis
    /// top`; reads the input twice
    #[arg(long, value_parser = share, value_name = "SHARE", help_heading = "Counts (--kind count-min)")]
    heavy: Option<f64>,
    /// Add each distinct key once, however often it occurs, so that one removal removes it. For
    /// --kind counting; other filters hold each key once anyway
    #[arg(long, help_heading = "Filters")]
    distinct: bool,
    /// Parameters that `tamis plan … -o` saved
    #[arg(long, value_name = "FILE", conflicts_with = "like", help_heading = "Parameters")]
    params: Option<PathBuf>,
    /// The parameters of another file, and its --heavy
    #[arg(long, value_name = "FILE.tamis", help_heading = "Parameters")]
    pub(super) like: Option<PathBuf>,
    /// Write the filter for another system, which reads it as its own: spark (spark-v1), guava (guava-32), hadoop
    /// (hadoop-jenkins), dcso, datasketches, redis; sized by its formula. One filter, without groups
    #[arg(long, value_parser = To::parse, value_name = "FORMAT", conflicts_with_all = ["params", "like", "exact", "kind", "hash", "group", "base64", "explain"])]
    to: Option<To>,
    /// Also keep the keys themselves, in FILE.tamis.keys, for filter --strict
    #[arg(long, help_heading = "Exact keys")]
    exact: bool,
    /// Memory for counting the keys, and for collecting those of --exact; the rest goes to disk
    /// [default: 200MB]
    #[arg(long, value_parser = memory)]
    memory: Option<u64>,
    /// A note about the file, which `inspect` shows
    #[arg(long, value_name = "TEXT", help_heading = "About the file")]
    note: Option<String>,
    /// Where the rows come from, which `inspect` shows
    #[arg(long, value_name = "TEXT", help_heading = "About the file")]
    source: Option<String>,
    /// Show how the input is understood and the keys of its first rows, and build nothing
    #[arg(long, help_heading = "Reading")]
    explain: bool,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    on: Where,
}

impl Build {
    /// The files that it names.
    pub(super) fn named(&self) -> super::Named<'_> {
        super::Named::outputs(&self.output)
            .and_inputs(self.params.iter().chain(&self.like))
            .and_aside(&self.reading)
    }

    /// Builds them.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let cluster = self.on.cluster(output);
        let request = self.request(&cluster)?;
        if let Some(To::Other(target)) = self.to {
            return self.for_others(request, target, output);
        }
        if self.on.is_given() {
            return self.on_spark(request, &cluster, output);
        }
        let request::Build { job, exact } = request.resolve().map_err(wrong)?;
        warn_of_other_columns(output, &job);
        if self.explain {
            self.reading.refuse_aside()?;
            return understood::show(output, &self.reading.request(), &job);
        }
        let path = self.output.expect("clap asks for it");
        let to = self.piped.target(&path, output)?;
        let report = progress::run(output, "building", |control| match exact {
            true => build::build_exact(&job, to, control),
            false => build::build(&job, to, control),
        })?;
        notes::inputs(output, &self.reading.request(), &report.inputs);
        notes::estimated(output, report.estimated);
        notes::skipped(output, report.skipped);
        notes::lone_keywords(output, report.lone_keywords);
        notes::missed_rates(output, &report.params);
        let rates = report.params.groups.iter().map(|group| group.fpr());
        if let Some(rate) = rates.reduce(f64::max).filter(|_| job.sketches.share_a_size()) {
            output.note(format!(
                "within this size every group has an expected rate of at most {}",
                number::rate(rate)
            ));
        }
        let phases: Vec<String> =
            report.phases.iter().map(|(name, time)| format!("{name} {}", number::duration(*time))).collect();
        output.note(format!("{}: {}", pipe::said(&path), phases.join(", ")));
        notes::heavy(output, report.heavy, job.sketches.heavy());
        if to.file().is_none() {
            notes::sent(output, &report.params);
            return Ok(ExitCode::SUCCESS);
        }
        notes::exact(output, &path, report.exact);
        drop(report); // of millions of groups, once is enough
        inspect::written(output, &path)
    }

    /// Builds one in a file of ours that goes away, and writes it for another system.
    fn for_others(self, request: BuildJob, target: Target, output: &Output) -> Result<ExitCode> {
        if self.on.is_given() {
            return usage("--to writes on one machine: build with --on and --hash, then tamis convert --to");
        }
        let path = self.output.expect("clap asks for it");
        files::check(&path)?;
        if path.extension().is_some_and(|end| end == "tamis") {
            return usage(format!("{}: a file for another system must not end in .tamis", path.display()));
        }
        let folder = tempfile::tempdir()?;
        let own = folder.path().join("filter.tamis");
        let hash = Some(HashName::Foreign(target.scheme()));
        let kinds = request::Kinds { hash, ..request.kinds };
        let request = BuildJob { kinds, output: Some(own.clone()), ..request };
        let request::Build { job, .. } = request.resolve().map_err(wrong)?;
        let report = progress::run(output, "building", |control| {
            build::build(&job, pipe::Target::File(&own), control)
        })?;
        notes::inputs(output, &self.reading.request(), &report.inputs);
        notes::estimated(output, report.estimated);
        notes::skipped(output, report.skipped);
        let file = files::open(&own)?;
        let mut filter =
            foreign::filter_of(&file, None, target).map_err(|refusal| Error::input(&own, refusal))?;
        if matches!(filter.scheme, Foreign::Dcso | Foreign::Redis) {
            let counted =
                progress::run(output, "counting", |control| foreign::added_in_order(&job, &filter, control))?;
            match counted {
                Some(added) => filter.added = Some(added),
                None => output.note(format!(
                    "{} records {} keys added, each distinct one once: its own system leaves out those that it takes \
                     for others, which takes a second look at the input, and a stream has none",
                    path.display(),
                    number::count(filter.added.unwrap_or(0))
                )),
            }
        }
        convert::write(output, &file, &filter, &path)
    }

    /// What is asked for.
    fn request(&self, cluster: &Cluster<'_>) -> Result<BuildJob> {
        let (params, heavy) = match (&self.params, &self.like) {
            (Some(path), _) => (Some(read_params(&cluster.fetch(path)?)?), None),
            (_, Some(path)) => {
                let (params, heavy) = like(&cluster.fetch(path)?)?;
                (Some(params), heavy)
            }
            _ => (None, None),
        };
        Ok(BuildJob {
            inputs: self.inputs.clone(),
            reading: self.reading.request(),
            keys: self.records.with(&self.keys),
            kinds: self.kinds.request(),
            sizes: self.sizes.request(),
            by_hand: self.by_hand.request(),
            counting: self.counting.request(),
            heavy: self.heavy.or(heavy),
            distinct: self.distinct,
            exact: self.exact,
            memory: self.memory,
            note: self.note.clone(),
            source: self.source.clone(),
            params,
            output: self.output.clone(),
            no_more: NoMore,
        })
    }

    /// Builds them elsewhere. What is asked is checked here and there, by the same code.
    fn on_spark(self, request: BuildJob, cluster: &Cluster<'_>, output: &Output) -> Result<ExitCode> {
        request.refuse_spread(&[(self.explain, opt::EXPLAIN)]).map_err(wrong)?;
        let build = request.resolve().map_err(wrong)?;
        spread::refuse(&build.job).map_err(wrong)?;
        let path = self.output.expect("clap asks for it");
        if self.piped.target(&path, output)?.file().is_none() {
            return usage("a file of filters that Spark builds goes to a file: name one by -o");
        }
        spark::refuse_stdin(&request.inputs)?;
        let place = cluster.place(&path)?;
        let request = BuildJob { output: Some(place.at.clone()), ..request };
        let told = cluster.run("building", json!({ "job": "build", "request": request }))?;
        cluster.put(&place)?;
        notes::estimated(output, told["estimated"] == true);
        notes::skipped(output, told["skipped"].as_u64().unwrap_or(0));
        notes::lone_keywords(output, told["lone_keywords"] == true);
        output.note(format!("{}: {}", place.name().display(), spark::phases(&told)));
        inspect::written_elsewhere(output, &place.at, place.name())
    }
}

/// Tells that keys come from other columns than the file will name.
fn warn_of_other_columns(output: &Output, job: &Job) {
    if let Sketches::Given(given) = &job.sketches
        && let Some(other) = OtherColumns::of(&job.recipe, &given.params().common.recipe)
    {
        output.warn(other);
    }
}

/// The parameters of another file, and the share of its most frequent keys where it keeps those.
fn like(path: &Path) -> Result<(Params, Option<f64>)> {
    match files::open(path) {
        Ok(file) => Ok((file.params().clone(), file.heavy().map(|heavy| heavy.share))),
        Err(Error::File { source: tamis::Error::Magic, .. }) if read_params(path).is_ok() => {
            bail!("{}: these are saved parameters, not filters: --params takes them", path.display())
        }
        Err(error) => Err(error.into()),
    }
}
