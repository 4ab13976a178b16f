use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use serde_json::json;
use tamis::key::{Field, Recipe};
use tamis::params::Name;
use tamis_jobs::ask::Extent;
use tamis_jobs::filter::{self, Report, Sieved};
use tamis_jobs::request::{FilterJob, NoMore};
use tamis_make::destination::Destination;
use tamis_make::files;
use tamis_make::names::Content;
use tamis_make::number;
use tamis_read::parquet::Codec;
use tamis_read::{Control, Format};

use crate::arguments::{Reading, memory, one_of, refuse_json};
use crate::asked::Asked;
use crate::foreign::{self, Also, OfOthers};
use crate::notes;
use crate::show::{Output, Sheet, wrong};
use crate::spark::{self, Cluster, Where};

/// Pass the records whose key may be in the set, unchanged and in order
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis filter allow.tamis mail.csv --key sender -o admitted.csv
  tamis filter seen.tamis new.txt --invert > unseen.txt
  tail -f access.log | tamis filter seen.tamis - --format log --key host
  tamis filter people.tamis people.txt --count              numbers only
  tamis filter ratings.tamis titles.tsv --key id --group 8  in one group
  tamis filter ratings.tamis titles.tsv --key id --tag      which groups, as one more column
  tamis filter allow.tamis mail.csv --strict -o exact.csv   no false positives left
  tamis filter users.tamis mail.csv --removed gone.tamis    in the first, and not in the second
  tamis filter movies.tamis begins.csv --partial            records that may begin like these
  tamis filter users.tamis visits.csv -o known.csv.gz --rejected unknown.csv.gz
  tamis filter users.tamis visits.parquet -o known.parquet  with the same columns and types
  tamis filter users.tamis 'lake/*.parquet' --key user_id -o part.parquet   row groups that cannot match are skipped
  tamis filter users.tamis 's3a://visits/*.parquet' --on yarn -o s3a://out/known
  tamis filter sparkfilter.bin events.csv --key user_id:long     a filter of another system, whose keys are numbers
  tamis filter bad.tamis files.csv --key sha1 --also known=hashlookup.bloom --tag=in -o hits.csv
                                                            several files at once; the column `in` says which

Records and headers are written unchanged, byte for byte. Where the output ends in .parquet, rows \
of Parquet keep their types, nested columns and nulls, and rows of CSV, TSV and logs become \
columns of text. Records of Parquet can also be written as CSV, TSV or NDJSON, by the name of the \
output or --output-format. A name that says something else than what would be written is refused. \
A file appears when everything is written, text compressed if its name ends in gz, zst, bz2 or \
xz. From a stream, each record is written immediately. With --removed FILE, records that should pass are missed at the \
rate of false positives of its filters; tamis test --removed measures it. With --on, Spark \
writes the records to a folder that must not exist.

Of Parquet, a row group is not read, and its records count as rejected, if no value in the dictionary of the key's \
column may be in the set (where all its pages refer to it); or, where exact keys lie beside the filters (build --exact) \
and values are keys as they stand, if none of these lies between the least and the greatest value of the column, or is \
in its Bloom filter (tamis parquet index adds one). How many were skipped is said. With --rejected or --invert, all \
are read.

With --also, each file makes the key of a record by its own steps and hash, so that filters of several systems, and \
ours, are asked in one pass. The report counts the records of each. --as and --funnel are said of all files of other \
systems; a type of keys, of those that leave it open.

A layered filter (build --kind layered) is asked for whole records of keywords: each keyword in its layer, then \
the XOR layer. With --partial, the XOR layer is not asked, and a record passes if each of its keywords may be at \
its place in some record of the set; tamis query --help says what that means.")]
pub struct Filter {
    /// The file of filters
    pub(super) file: PathBuf,
    /// Files, globs, folders, or `-` for standard input
    #[arg(required = true)]
    pub(super) inputs: Vec<String>,
    /// Ask these files, too: a record passes if any of them may have its key. --tag says which
    #[arg(long, value_name = "[NAME=]FILE", value_parser = OsStringValueParser::new().try_map(Also::parse),
          conflicts_with_all = ["strict", "removed", "partial", "group", "own_group", "bad_rows_to", "on"])]
    pub(super) also: Vec<Also>,
    /// The file for the records that pass [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also write the records that do not pass
    #[arg(long, value_name = "FILE")]
    rejected: Option<PathBuf>,
    /// Ask a layered filter for the first keywords of records: each in its layer, without the XOR layer
    #[arg(long, conflicts_with = "strict")]
    partial: bool,
    /// Pass the other records: those whose key is not in the set
    #[arg(long)]
    invert: bool,
    /// Print how many pass and how many do not, and write no records
    #[arg(long, conflicts_with = "output")]
    count: bool,
    /// Check what passes against the exact keys (build --exact): no false positives
    #[arg(long)]
    strict: bool,
    /// Filters of keys that were removed since: a record whose key is in both files does not pass
    #[arg(long, value_name = "FILE.tamis", conflicts_with = "strict")]
    pub(super) removed: Option<PathBuf>,
    /// Memory for --strict; the rest goes to disk [default: 256MB]
    #[arg(long, value_parser = memory, requires = "strict", default_value = "256MB", hide_default_value = true)]
    memory: u64,
    /// Ask this group only
    #[arg(long, value_name = "NAME", conflicts_with = "own_group")]
    group: Option<OsString>,
    /// Ask the record's own group, by the stored group column (or this one)
    #[arg(long, value_name = "COLUMN", num_args = 0..=1, require_equals = true)]
    own_group: Option<Option<Field>>,
    /// Add the groups that the key may be in, as a column of this name; with --also, the files
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true,
          default_missing_value = "tamis_groups")]
    tag: Option<String>,
    /// The column of the key, if this input names it differently. The stored steps apply, unless it has
    /// steps of its own: `url:after-first=//,before=/,domain`
    #[arg(long, value_name = "COLUMN[:STEPS]", help_heading = "Keys")]
    key: Vec<Field>,
    /// How records are written: text as parquet, those of Parquet also as csv, tsv or ndjson [default: by
    /// the name of the output, or unchanged; those of Parquet as CSV]
    #[arg(long, value_parser = one_of(WRITTEN, Format::name), value_name = "FORMAT")]
    output_format: Option<Format>,
    /// How a Parquet output is compressed [default: snappy]
    #[arg(long, value_parser = one_of(Codec::ALL, Codec::name), value_name = "CODEC")]
    compression: Option<Codec>,
    #[command(flatten)]
    others: OfOthers,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    on: Where,
}

/// The formats in which records are written.
pub const WRITTEN: [Format; 4] = [Format::Csv, Format::Tsv, Format::Ndjson, Format::Parquet];

impl Filter {
    /// The files that it names.
    pub(super) fn named(&self) -> super::Named<'_> {
        super::Named::outputs(self.output.iter().chain(&self.rejected))
            .and_inputs(
                self.removed.iter().chain([&self.file]).chain(self.also.iter().map(|also| &also.path)),
            )
            .and_aside(&self.reading)
    }

    /// Sieves them.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let request = self.request();
        let to_stdout = request.destination() == Destination::Stdout;
        if self.on.is_given() {
            request.refuse_spread().map_err(wrong)?;
            spark::refuse_stdin(&self.inputs)?;
        } else {
            refuse_json(to_stdout, output)?;
        }
        let cluster = self.on.cluster(output);
        let filters = cluster.fetch(&self.file)?;
        Also::check(&self.file, &self.also)?;
        let (file, origin) = match self.also.is_empty() {
            true => self.others.open(output, &filters, &self.key)?,
            false => self.others.open_one(output, &filters, &self.key)?,
        };
        if self.on.is_given() {
            foreign::refuse_elsewhere(&self.file, origin.as_ref())?;
        }
        let asked = Asked::of(output, &self.file, &file, request.reading.clone())?;
        let request = FilterJob { reading: asked.reading.clone(), ..request };
        if self.on.is_given() {
            let request = FilterJob { filters: std::path::absolute(&filters)?, ..request };
            return self.on_spark(request, &asked, &cluster, output);
        }
        let stored = file.params().common.recipe.clone();
        drop(file);
        let mut job = request.resolve(&stored).map_err(wrong)?;
        self.add_files(output, &request, &mut job)?;
        asked.watch(&mut job.options);
        let steps_of =
            |recipe: &Recipe| recipe.key.iter().map(|field| field.steps.clone()).collect::<Vec<_>>();
        if origin.is_none() && steps_of(&job.recipe) != steps_of(&stored) {
            let Recipe { key, .. } = &job.recipe;
            let (here, there) = (
                Recipe { key: key.clone(), ..Recipe::lines() },
                Recipe { key: stored.key, ..Recipe::lines() },
            );
            output.note(format!(
                "this run makes keys by other steps than the file ({here}); those of the file were made as {there}"
            ));
        }
        let sieve = |control: &Control| filter::filter(&job, control);
        let report = asked.run(output, "sieving", sieve, |report| &report.inputs)?;
        warn_of_unasked(output, &report, self.reading.bad_rows_to.as_deref());
        report.doubts.iter().for_each(|doubt| notes::other_class(output, &self.file, doubt));
        if to_stdout && report.skipped.skipped > 0 {
            output.note(format!(
                "note: {} of {} skipped: no record of them can pass",
                number::count(report.skipped.skipped),
                number::counted(report.skipped.row_groups, "row group"),
            ));
        }
        if !to_stdout {
            self.show(output, &report)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Adds to a job what is known of its files alone: what is said of the first, and the others.
    fn add_files(&self, output: &Output, request: &FilterJob, job: &mut filter::Job) -> Result<()> {
        if self.also.is_empty() {
            job.said = self.others.said_at(&self.key);
            return Ok(());
        }
        job.said = self.others.said_of_several(&self.key);
        job.name = foreign::name_of(&self.file);
        for Also { name, path } in &self.also {
            let (file, _) = self.others.open_one(output, path, &self.key)?;
            let stored = &file.params().common.recipe;
            let also = request.also(&job.recipe, name.clone(), path.clone(), job.said.clone(), stored);
            job.also.push(also.map_err(wrong)?);
        }
        Ok(())
    }

    /// What is asked for.
    fn request(&self) -> FilterJob {
        let column = |field: &Option<Field>| field.as_ref().map(Field::to_string).unwrap_or_default();
        FilterJob {
            filters: self.file.clone(),
            removed: self.removed.clone(),
            inputs: self.inputs.clone(),
            reading: self.reading.request(),
            key: self.key.clone(),
            group: self.group.clone().map(|name| Name(name.into_encoded_bytes())),
            own_group: self.own_group.as_ref().map(column),
            tag: self.tag.clone(),
            partial: self.partial,
            invert: self.invert,
            count: self.count,
            output: self.output.clone(),
            rejected: self.rejected.clone(),
            output_format: self.output_format,
            compression: self.compression,
            strict: self.strict,
            memory: self.strict.then_some(self.memory),
            no_more: NoMore,
        }
    }

    /// Sieves them elsewhere.
    fn on_spark(
        self,
        request: FilterJob,
        asked: &Asked,
        cluster: &Cluster<'_>,
        output: &Output,
    ) -> Result<ExitCode> {
        let to = self.output.as_deref().map(|path| cluster.place_folder(path)).transpose()?;
        // Spark writes any format, and compresses none: the name decides where nothing else does.
        let output_format = self.output_format.or_else(|| Format::of_name(self.output.as_deref()?));
        if let (Some(format), Some(path)) = (output_format, &self.output) {
            Content::Plain(format).check(path)?;
        }
        let request = FilterJob { output: to, output_format, ..request };
        let job = json!({ "job": "filter", "request": request });
        let told = asked.told(output, cluster.run("sieving", job)?)?;
        let number = |name: &str| told[name].as_u64().unwrap_or(0);
        let sieved =
            Sieved { records: number("records"), admitted: number("admitted"), keyless: number("keyless") };
        let asked_for = (request.group.as_ref(), Extent::partial_if(request.partial));
        let report = filter::conclude(&request.filters, asked_for, sieved, self.reading.threads())?;
        if report.admitted + report.keyless < report.records {
            spark::say_classes(output, &self.file, &files::open(&request.filters)?, &told["classes"]);
        }
        let report = Report { phases: spark::timed(&told), ..report };
        warn_of_unasked(output, &report, self.reading.bad_rows_to.as_deref());
        self.show(output, &report)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Shows what was found: that is the result where records are counted.
    fn show(&self, output: &Output, report: &Report) -> Result<()> {
        let sheet = Sheet { table: tamis_report::filter::table(report), lines: Vec::new() };
        let json = tamis_report::filter::json(report);
        if self.count { output.result(sheet, json) } else { output.summary(sheet, json) }
    }
}

fn warn_of_unasked(output: &Output, report: &Report, aside: Option<&Path>) {
    if report.keyless > 0 {
        let records = number::counted(report.keyless, "record");
        output.warn(match aside {
            Some(path) => format!("{records} without a key: set aside to {}", path.display()),
            None => format!("{records} without a key: treated as keys that are not in the set"),
        });
    }
    if report.groupless > 0 {
        let records = number::counted(report.groupless, "record");
        output.warn(format!(
            "{records} of groups that are not in the file: treated as keys that are not in the set"
        ));
    }
}
