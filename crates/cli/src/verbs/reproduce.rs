mod all;
mod design;
mod mapreduce;
mod ratings;
mod records;
mod speedup;
mod streams;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::Result;
use clap::{Args, Subcommand};
use tamis_lab::{Findings, documents, machine};
use tamis_make::files;
use tamis_make::names::Content;
use tamis_read::{Format, Sources, calendar};
use tamis_report::Section;

use crate::notes;
use crate::show::Output;

/// Run published experiments again, their figures beside ours
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis reproduce all --out results                   all of them, as pages and CSV, with an index
  tamis reproduce ratings
  tamis reproduce ratings title.ratings.tsv.gz --report ratings.html
  tamis reproduce streams
  tamis reproduce speedup
  tamis reproduce layers netflix_titles.csv tmdb_5000_movies.csv
  tamis reproduce search movies.csv --key title
  tamis reproduce design

Sources: Antonio Patimo, Bloom Filters in Spark; Logothetis N. Fragkoulis, Implementation of Bloom \
Filter and Count-Min Sketch in Apache Spark; Luisa Collodi and Matteo Ghera, Implementation of Bloom \
Filter using Java and Java Hadoop; Lalit Sharma, Searching in large dataset using multi-layered Bloom \
filter; Carlos Castillo and Teodora Sandra Buda, Data Streams: Bloom Filters.")]
pub struct Reproduce {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    All(all::All),
    #[command(flatten)]
    One(Experiment),
}

#[derive(Debug, Subcommand)]
enum Experiment {
    Ratings(ratings::Ratings),
    Streams(streams::Streams),
    Speedup(speedup::Speedup),
    Layers(records::Layers),
    Search(records::Search),
    Design(design::Design),
}

impl Reproduce {
    /// The files that it names.
    pub(super) fn named(&self) -> super::Named<'_> {
        match &self.what {
            What::All(_) => super::Named::default(), // names of its own, in a folder
            What::One(experiment) => {
                super::Named::outputs(experiment.files()).and_tables(experiment.tables())
            }
        }
    }

    /// Measures it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        match self.what {
            What::All(all) => all.run(output),
            What::One(experiment) => {
                let [csv, page] = experiment.files().map(PathBuf::clone);
                experiment.check()?;
                let findings = experiment.measure(output)?;
                let (text, holds, json) = (findings.text(), findings.holds, findings.json.clone());
                write(findings, &csv, &page, &Seen::now())?;
                output.note(format!(
                    "{}: the results; {}: a page with charts",
                    csv.display(),
                    page.display()
                ));
                output.result(text, json)?;
                Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
            }
        }
    }
}

impl Experiment {
    /// The CSV and the page that it writes.
    fn files(&self) -> [&PathBuf; 2] {
        match self {
            Experiment::Ratings(experiment) => [&experiment.csv, &experiment.report],
            Experiment::Streams(experiment) => [&experiment.csv, &experiment.report],
            Experiment::Speedup(experiment) => [&experiment.csv, &experiment.report],
            Experiment::Layers(experiment) => [&experiment.csv, &experiment.report],
            Experiment::Search(experiment) => [&experiment.csv, &experiment.report],
            Experiment::Design(experiment) => [&experiment.csv, &experiment.report],
        }
    }

    /// What the name of another CSV ends in, where there is one.
    fn more(&self) -> Option<&'static str> {
        matches!(self, Experiment::Search(_)).then_some(documents::NAME)
    }

    /// The tables that it reads.
    fn tables(&self) -> &[String] {
        match self {
            Experiment::Ratings(experiment) => experiment.table.as_slice(),
            Experiment::Layers(experiment) => &experiment.tables,
            Experiment::Search(experiment) => experiment.table.as_slice(),
            Experiment::Streams(_) | Experiment::Speedup(_) | Experiment::Design(_) => &[],
        }
    }

    /// Refuses outputs that cannot be, before anything is measured.
    fn check(&self) -> Result<()> {
        let [csv, page] = self.files();
        let more = self.more().map(|name| beside(csv, name));
        let tables = [csv].into_iter().chain(&more).map(|path| (path, Content::Plain(Format::Csv)));
        for (path, content) in tables.chain([(page, Content::Page)]) {
            files::check(path)?;
            files::check_is_no_input(path, Sources::named(self.tables()))?;
            content.check(path)?;
        }
        Ok(())
    }

    /// Measures it.
    fn measure(self, output: &Output) -> Result<Findings> {
        match self {
            Experiment::Ratings(experiment) => experiment.measure(output),
            Experiment::Streams(experiment) => experiment.measure(output),
            Experiment::Speedup(experiment) => experiment.measure(output),
            Experiment::Layers(experiment) => experiment.measure(output),
            Experiment::Search(experiment) => experiment.measure(output),
            Experiment::Design(experiment) => experiment.measure(output),
        }
    }
}

/// Where and when something was measured.
struct Seen {
    day: String,
    machine: String,
    /// How busy the machine was.
    load: Option<f64>,
}

impl Seen {
    fn now() -> Seen {
        let day = calendar::day(SystemTime::now());
        Seen { day, machine: machine::machine(), load: machine::load() }
    }

    /// In a few words.
    fn text(&self) -> String {
        let load = self.load.map_or(String::new(), |load| format!(", load {load:.1}"));
        format!("{}; {}{load}", self.day, self.machine)
    }
}

/// The name of another CSV beside this one.
fn beside(csv: &Path, name: &str) -> PathBuf {
    let stem = csv.file_stem().unwrap_or_default().to_string_lossy();
    csv.with_file_name(format!("{stem}-{name}.csv"))
}

/// Writes findings as CSV and as a page, all or none.
fn write(findings: Findings, csv: &Path, path: &Path, seen: &Seen) -> Result<()> {
    let mut page = findings.page;
    page.sections.push(Section::Text(format!("Measured on {}.", seen.text())));
    let mut drafts = vec![notes::draft_page(path, page)?];
    let more = findings.more.into_iter().map(|(name, lines)| (beside(csv, name), lines));
    for (path, lines) in [(csv.to_owned(), findings.csv)].into_iter().chain(more) {
        drafts.push(files::draft(&path, |out| lines.write(out))?);
    }
    files::finish_all(drafts)?;
    Ok(())
}
