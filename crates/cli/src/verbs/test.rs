use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use tamis_jobs::check::{self, FilterResult, GroupResult, Report, With};
use tamis_jobs::request::{self, NoMore, TestJob};
use tamis_make::count_min::rank;
use tamis_make::files;
use tamis_make::names::Content;
use tamis_make::number;
use tamis_read::{Control, Explained, Format, Sources};
use tamis_report::{Csv, Page, Source};

use crate::arguments::{self, Columns, Reading};
use crate::asked::Asked;
use crate::foreign::{self, OfOthers};
use crate::notes;
use crate::show::{FEW, Output, Sheet, few, wrong};
use crate::spark::{self, Cluster, Where};
use crate::words::Flags;

/// Test filters (exact false positives and negatives) or counts (estimates against the truth)
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis test ratings.tamis ratings.tsv
  tamis test ratings.tamis ratings.tsv --report report.html
  tamis test ratings.tamis ratings.tsv --csv rates.csv
  tamis test users.tamis users.csv --negatives strangers.txt --random 1e6
  tamis test users.tamis left.csv --removed gone.tamis --random 1e6
  tamis test users.tamis users.csv --adversary                      keys made for the file
  tamis test hits.tamis access.log --report hits.html               counts (count-min)
  tamis test users.tamis 's3a://logs/*.parquet' --on spark://master:7077

Give the data from which the filters were built. The negatives of a group are the distinct keys \
that do not belong to it. Exit code 1 on any false negative, or if the number of false positives \
is improbable (less than one in a million) given how full the filters are. Records in layers (build \
--kind layered) are asked as a whole, as tamis query asks them without --partial.

With --removed FILE the pair is tested: give the remaining data, without the removed keys. Keys \
of it that the second file takes for removed are false negatives of the pair; they are counted, \
with the expected number beside them. Exit code 1 if there are more than the rate of the second \
file explains. (build --exact the removed keys; then filter --strict --invert gives the \
remaining data.)

With --adversary a million keys are made for the filters, equally many for each group, as somebody \
would who has the file and one of its keys (without DATA, one that passes is found by trying): all \
with the hash of that key, as published for XXH3 and MurmurHash3. The share that passes is shown \
beside the rate of honest keys; it does not change the exit code. The keys are arbitrary bytes: \
whether rows can have such keys depends on your data and on the recipe.

For counts, the estimate of every key is compared with its true weight. Exit code 1 if one is \
below it, or if more estimates exceed the bound than delta allows (by 6 standard deviations). \
Keys whose counters are all full have no estimate; they are counted separately. This takes 24 to \
48 bytes of memory for each distinct key.")]
pub struct Test {
    /// The file of filters
    pub(super) file: PathBuf,
    /// The data they were built from: files, globs, folders, or `-`
    pub(super) inputs: Vec<String>,
    /// Filters of keys that were removed since: a key passes if it is in the first file and not in this one
    #[arg(long, value_name = "FILE.tamis")]
    pub(super) removed: Option<PathBuf>,
    /// Keys known to be outside: a table with the same columns, or one key per line
    #[arg(long, value_name = "FILE")]
    pub(super) negatives: Vec<String>,
    /// Also test with N random keys
    #[arg(long, value_parser = arguments::count, value_name = "N")]
    random: Option<u64>,
    /// The seed of the random keys
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Also make a million keys by the published attack on the hash, and count those that pass
    #[arg(long)]
    adversary: bool,
    /// Write a page with charts
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Write the results of every group as CSV
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    columns: Columns,
    #[command(flatten)]
    others: OfOthers,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    on: Where,
}

impl Test {
    /// The files that it names.
    pub(super) fn named(&self) -> super::Named<'_> {
        let filters = [Some(&self.file), self.removed.as_ref()];
        super::Named::outputs(self.report.iter().chain(&self.csv))
            .and_inputs(filters.into_iter().flatten())
            .and_tables(&self.inputs)
            .and_aside(&self.reading)
    }

    /// Tests them.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let request = self.request();
        request.refuse_nothing().map_err(wrong)?;
        for (path, content) in self.outputs() {
            files::check(path)?;
            files::check_is_no_input(path, Sources::named(&self.negatives))?;
            content.check(path)?;
        }
        if self.on.is_given() {
            spark::refuse_stdin(&self.inputs)?;
            spark::refuse_stdin(&self.negatives)?;
        }
        let cluster = self.on.cluster(output);
        let filters = cluster.fetch(&self.file)?;
        let (file, origin) = self.others.open(output, &filters, &self.columns.key)?;
        if self.on.is_given() {
            foreign::refuse_elsewhere(&self.file, origin.as_ref())?;
        }
        let asked = Asked::of(output, &self.file, &file, request.reading.clone())?;
        let request = TestJob { reading: asked.reading.clone(), ..request };
        let common = file.params().common.clone();
        drop(file);
        if self.on.is_given() {
            request.refuse_spread(&common).map_err(wrong)?;
            let request = TestJob { filters: std::path::absolute(&filters)?, ..request };
            return self.on_spark(request, &asked, &cluster, output);
        }
        match request.resolve(&common).map_err(wrong)? {
            request::Test::Counts(mut job) => {
                job.said = self.others.said_at(&self.columns.key);
                asked.watch(&mut job.options);
                self.of_counts(&job, &asked, output)
            }
            request::Test::Filters(mut job) => {
                job.said = self.others.said_at(&self.columns.key);
                asked.watch(&mut job.options);
                let test = |control: &Control| check::check(&job, control);
                let report = asked.run(output, "testing", test, |report| &report.inputs)?;
                self.finish(output, &report)
            }
        }
    }

    /// What is asked for.
    fn request(&self) -> TestJob {
        TestJob {
            filters: self.file.clone(),
            removed: self.removed.clone(),
            inputs: self.inputs.clone(),
            reading: self.reading.request(),
            columns: self.columns.request(),
            negatives: self.negatives.clone(),
            random: self.random,
            seed: self.seed,
            adversary: self.adversary,
            no_more: NoMore,
        }
    }

    /// Tests them elsewhere, and concludes from the numbers here.
    fn on_spark(
        self,
        request: TestJob,
        asked: &Asked,
        cluster: &Cluster<'_>,
        output: &Output,
    ) -> Result<ExitCode> {
        let file = files::open(&request.filters)?;
        let job = json!({ "job": "test", "request": request });
        let told = asked.told(output, cluster.run("testing", job)?)?;
        let findings = serde_json::from_value(told["findings"].clone())?;
        let with = With { members: !self.inputs.is_empty(), negatives: !self.negatives.is_empty() };
        let report = check::conclude(&file, findings, with, self.reading.threads())?;
        for classes in told["classes"].as_array().into_iter().flatten() {
            spark::say_classes(output, &self.file, &file, classes);
        }
        let report = Report { phases: spark::timed(&told), ..report };
        self.finish(output, &report)
    }

    /// The files that are written, and what is in them.
    fn outputs(&self) -> impl Iterator<Item = (&Path, Content)> {
        let page = self.report.as_deref().map(|path| (path, Content::Page));
        let csv = self.csv.as_deref().map(|path| (path, Content::Plain(Format::Csv)));
        page.into_iter().chain(csv)
    }

    /// Writes the page and the CSV where they are asked for: both, or none.
    fn write(
        &self,
        output: &Output,
        inputs: &[Explained],
        page: impl FnOnce(&str, &[Source]) -> Page,
        csv: Csv<'_>,
    ) -> Result<()> {
        let page = || page(&self.subtitle(), &self.sources(inputs));
        let page = self.report.as_deref().map(|path| notes::draft_page(path, page())).transpose()?;
        let csv = self.csv.as_deref().map(|path| files::draft(path, |out| csv.write(out))).transpose()?;
        files::finish_all(page.into_iter().chain(csv))?;
        for (path, content) in self.outputs() {
            let what = if content == Content::Page { "the report" } else { "the results of every group" };
            output.note(format!("{}: {what}", path.display()));
        }
        Ok(())
    }

    /// What was tested, in a line. All files are named below it.
    fn subtitle(&self) -> String {
        let more = match self.inputs.len().saturating_sub(3) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let with: Vec<&str> = self.inputs.iter().take(3).map(String::as_str).collect();
        match with.is_empty() {
            true => format!("{}", self.file.display()),
            false => format!("{} tested with {}{more}", self.file.display(), with.join(", ")),
        }
    }

    /// The files that were read. Of what lies on a cluster, and of pipes, no size is known here.
    fn sources(&self, inputs: &[Explained]) -> Vec<Source> {
        let format =
            |path: &Path| inputs.iter().find(|input| input.path == path).map(|input| input.format.name());
        let size = |path: &Path| fs::metadata(path).ok().filter(|file| file.is_file()).map(|file| file.len());
        let source = |role: &'static str, path: &Path, bytes: Option<u64>| Source {
            role,
            name: path.display().to_string(),
            format: format(path),
            bytes,
        };
        let mut sources = vec![source("filters", &self.file, size(&self.file))];
        sources.extend(self.removed.iter().map(|path| source("removed keys", path, size(path))));
        for (role, names) in [("data", &self.inputs), ("negatives", &self.negatives)] {
            if self.on.is_given() {
                sources.extend(names.iter().map(|name| source(role, Path::new(name), None)));
            } else {
                sources.extend(Sources::named(names).iter().map(|path| source(role, path, size(path))));
            }
        }
        sources
    }

    /// Writes what is asked for, and shows the report.
    fn finish(&self, output: &Output, report: &Report) -> Result<ExitCode> {
        let title = "How well the filters work";
        let page = |subtitle: &str, sources: &[Source]| {
            tamis_report::check::page(report, title, subtitle, sources, &[], &Flags)
        };
        self.write(output, &report.inputs, page, tamis_report::check::csv(report))?;
        report.doubts.iter().for_each(|doubt| notes::other_class(output, &self.file, doubt));
        show(output, report)
    }

    /// Tests sketches that count.
    fn of_counts(self, job: &rank::Job, asked: &Asked, output: &Output) -> Result<ExitCode> {
        let test = |control: &Control| rank::check(job, control);
        let report = asked.run(output, "testing", test, |report| &report.inputs)?;
        notes::skipped(output, report.skipped);
        let mut groups: Vec<&rank::GroupResult> = report.groups.iter().collect();
        let page = |subtitle: &str, sources: &[Source]| {
            tamis_report::rank::page(&report, "How well the counts work", subtitle, sources)
        };
        self.write(output, &report.inputs, page, tamis_report::rank::csv(&report))?;
        let mut lines = tamis_report::rank::verdict(&report);
        if let Some(all) = few(&mut groups, |group| Reverse((!group.passed(), group.over))) {
            lines.push(format!(
                "These are the {FEW} of {} groups with the most keys over the bound; --json has all.",
                number::count(all)
            ));
        }
        output.result(
            Sheet { table: tamis_report::rank::table_of(&groups), lines },
            tamis_report::rank::json(&report),
        )?;
        Ok(if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Shows what a test found; exit code 1 where a check did not hold.
pub fn show(output: &Output, report: &Report) -> Result<ExitCode> {
    let mut lines = tamis_report::check::verdict(report, &Flags);
    let mut groups: Vec<&GroupResult> = report.groups.iter().collect();
    // Of very many groups those that do worst are looked for.
    let badness = |group: &&GroupResult| {
        let rate = group.filter.as_ref().map_or(0.0, FilterResult::rate);
        Reverse((group.false_negatives, (rate * 1e15) as u64))
    };
    if let Some(all) = few(&mut groups, badness) {
        lines.push(format!(
            "These are the {FEW} of {} groups with the most false negatives or the highest rates; --json has all.",
            number::count(all)
        ));
    }
    output.result(
        Sheet { table: tamis_report::check::table_of(groups), lines },
        tamis_report::check::json(report),
    )?;
    tamis_report::check::overfull(report).take(20).for_each(|warning| output.warn(warning));
    Ok(if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
