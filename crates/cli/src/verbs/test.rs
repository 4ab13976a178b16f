use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tamis::key::Recipe;
use tamis_engine::counts::rank;
use tamis_engine::output as files;
use tamis_engine::report::{Page, Section, number};
use tamis_engine::test::{self, FilterResult, GroupResult, Job, Report};

use crate::arguments::{self, Columns, Reading};
use crate::notes;
use crate::progress;
use crate::show::{FEW, Output, Sheet, few, usage};

/// Test filters: exact false positives and false negatives; or counts: estimates against the truth
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis test ratings.tamis ratings.tsv
  tamis test ratings.tamis ratings.tsv --report report.html
  tamis test users.tamis users.csv --negatives strangers.txt --random 1e6
  tamis test users.tamis left.csv --removed gone.tamis --random 1e6
  tamis test hits.tamis access.log --report hits.html               counts (count-min)

The data is that from which the filters were built. The negatives of a group are the distinct
keys that do not belong to it. Exit code 1 on any false negative, or where the false positives
are improbable (less than one in a million) given how full the filters are.

With --removed FILE the pair is tested: the data is what is left (without the keys that were removed).
Keys of it that the second file takes for removed are false negatives of the pair; they are counted,
with the number to expect beside them, and exit code 1 stands for more than the rate of the second
explains. (build --exact the removed keys, and filter --strict --invert gives what is left.)

Of sketches that count, the estimate of every key is compared with its true weight. Exit code 1 if
one is below it, or if more than delta lets expect are above it by more than the bound (6 standard
deviations). Keys whose counters all ran full have no estimate; they are counted apart. This takes 24 to 48 bytes of memory for each distinct key.")]
pub struct Test {
    /// The file of filters
    file: PathBuf,
    /// The data they were built from: files, globs, folders, or `-`
    inputs: Vec<String>,
    /// Filters of keys that were removed since: a key passes if it is in the first file and not in this
    #[arg(long, value_name = "FILE.tamis")]
    removed: Option<PathBuf>,
    /// Keys known to be outside: a table with the same columns, or one key per line
    #[arg(long, value_name = "FILE")]
    negatives: Vec<String>,
    /// Test with so many random keys, too
    #[arg(long, value_parser = arguments::count, value_name = "N")]
    random: Option<u64>,
    /// The seed of the random keys
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write a page with charts
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    #[command(flatten)]
    columns: Columns,
    #[command(flatten)]
    reading: Reading,
}

impl Test {
    /// Tests them.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        if self.inputs.is_empty() && self.negatives.is_empty() && self.random.is_none() {
            return usage("nothing to test with: give the data, --negatives FILE or --random N");
        }
        if let Some(path) = &self.report {
            files::check(path)?;
            let read = self.inputs.iter().chain(&self.negatives).map(Path::new);
            let filters = [Some(&self.file), self.removed.as_ref()].into_iter().flatten();
            files::check_is_no_input(path, read.chain(filters.map(PathBuf::as_path)))?;
        }
        let common = files::open(&self.file)?.params().common.clone();
        if common.kind.counts() {
            return self.of_counts(&common.recipe, output);
        }
        let job = Job {
            recipe: self.columns.applied(&common.recipe)?,
            filters: self.file,
            removed: self.removed,
            inputs: self.inputs,
            options: self.reading.options(),
            negatives: self.negatives,
            random: self.random.unwrap_or(0),
            seed: self.seed,
            bad_rows: self.reading.bad_rows(),
            threads: self.reading.threads(),
        };
        let report = progress::run(output, "testing", |control| test::test(&job, control))?;
        notes::inputs(output, &report.inputs);
        if let Some(path) = &self.report {
            let subtitle = format!("{} tested with {}", job.filters.display(), job.inputs.join(", "));
            let mut page = report.page("How well the filters do", &subtitle, &[]);
            page.sections.push(notes::made());
            files::write_whole(path, |out| out.write_all(page.html().as_bytes()))?;
            output.note(format!("{}: the report", path.display()));
        }
        show(output, &report)
    }
}

impl Test {
    /// Tests sketches that count.
    fn of_counts(self, stored: &Recipe, output: &Output) -> Result<ExitCode> {
        if !self.negatives.is_empty() || self.random.is_some() || self.removed.is_some() {
            return usage(
                "counts are tested with the data they were built from: leave out --negatives, --random and --removed",
            );
        }
        let job = rank::Job {
            recipe: self.columns.applied(stored)?,
            sketches: self.file,
            inputs: self.inputs,
            options: self.reading.options(),
            bad_rows: self.reading.bad_rows(),
            threads: self.reading.threads(),
        };
        let report = progress::run(output, "testing", |control| rank::test(&job, control))?;
        notes::inputs(output, &report.inputs);
        notes::skipped(output, report.skipped);
        let mut groups: Vec<&rank::GroupResult> = report.groups.iter().collect();
        if let Some(path) = &self.report {
            let subtitle = format!("{} tested with {}", job.sketches.display(), job.inputs.join(", "));
            let mut page = Page { title: "How well the counts do".into(), subtitle, ..Page::default() };
            page.sections.extend(report.verdict().into_iter().map(Section::Text));
            page.sections.push(Section::Table(rank::Report::table_of(&groups)));
            page.sections.push(Section::Charts(vec![report.chart()]));
            page.sections.push(notes::made());
            files::write_whole(path, |out| out.write_all(page.html().as_bytes()))?;
            output.note(format!("{}: the report", path.display()));
        }
        let mut lines = report.verdict();
        if let Some(all) = few(&mut groups, |group| Reverse((!group.passed(), group.over))) {
            lines.push(format!(
                "These are the {FEW} of {} groups with the most keys over the bound; --json has all.",
                number::count(all)
            ));
        }
        output.result(Sheet { table: rank::Report::table_of(&groups), lines }, report.json())?;
        Ok(if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Shows what a test found; exit code 1 where a check did not hold.
pub fn show(output: &Output, report: &Report) -> Result<ExitCode> {
    let mut lines = report.verdict();
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
    output.result(Sheet { table: Report::table_of(groups), lines }, report.json())?;
    report.overfull().take(20).for_each(|warning| output.warn(warning));
    Ok(if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
