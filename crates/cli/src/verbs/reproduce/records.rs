//! The experiments of Sharma with records.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tamis::key::{Column, Field};
use tamis::layered::MOST_LAYERS;
use tamis_lab::{documents, layers, search};
use tamis_make::files;
use tamis_make::leftovers::TemporaryFolder;
use tamis_make::names::Content;
use tamis_read::Format;
use tamis_report::Section;

use crate::show::Output;
use crate::{arguments, progress};

/// Sharma: classic and multi-layer filters of records, with several sorts of probes
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis reproduce layers
  tamis reproduce layers netflix_titles.csv tmdb_5000_movies.csv
  tamis reproduce layers --fpr 0.01 --layers 4
  tamis reproduce layers films.csv --keywords tags:split=';' --csv films-layers.csv")]
pub(super) struct Layers {
    /// netflix_titles.csv, tmdb_5000_movies.csv or others; without any the data is generated
    tables: Vec<String>,
    /// The columns of keywords, as `build` takes them [default: those known of the two tables]
    #[arg(long, value_name = "COLUMN[:STEPS]")]
    keywords: Vec<Field>,
    /// The rate of a single layer
    #[arg(long, value_parser = arguments::rate, default_value_t = layers::FPR)]
    fpr: f64,
    /// The layers of the multi-layer filter [default: the mean number of keywords / hashes, rounded]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_LAYERS)))]
    layers: Option<u32>,
    /// Write the results as CSV
    #[arg(long, value_name = "FILE.csv", default_value = "reproduce-layers.csv")]
    csv: PathBuf,
    /// Write a page with charts
    #[arg(long, value_name = "FILE.html", default_value = "reproduce-layers.html")]
    report: PathBuf,
}

/// Sharma: linear and binary search, hash table, Bloom and multi-layer filter
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis reproduce search movies.csv --key title
  tamis reproduce search --most 1e6")]
pub(super) struct Search {
    /// A table; without one the data is generated
    table: Option<String>,
    /// The column of the records, with steps
    #[arg(long, value_name = "COLUMN[:STEPS]", requires = "table")]
    key: Option<Field>,
    /// Largest number of records; the smallest is a thousand
    #[arg(long, value_parser = arguments::count, default_value = "10000000")]
    most: u64,
    /// The rate of the filters; for the multi-layer filter, of a layer
    #[arg(long, value_parser = arguments::rate, default_value_t = layers::FPR)]
    fpr: f64,
    /// Write the results as CSV
    #[arg(long, value_name = "FILE.csv", default_value = "reproduce-search.csv")]
    csv: PathBuf,
    /// Write the results of the search for documents as CSV
    #[arg(long, value_name = "FILE.csv", default_value = "reproduce-search-documents.csv")]
    documents_csv: PathBuf,
    /// Write a page with charts
    #[arg(long, value_name = "FILE.html", default_value = "reproduce-search.html")]
    report: PathBuf,
}

/// Writes the results as CSV and as a page.
fn write_both(output: &Output, csv: (&Path, String), page: (&Path, String)) -> Result<()> {
    let draft = |(path, text): (&Path, &str)| files::draft(path, |out| out.write_all(text.as_bytes()));
    files::finish_all([draft((csv.0, &csv.1))?, draft((page.0, &page.1))?])?;
    output.note(format!("{}: the results; {}: a page with charts", csv.0.display(), page.0.display()));
    Ok(())
}

impl Layers {
    /// The files that it names.
    pub(super) fn named(&self) -> crate::verbs::Named<'_> {
        crate::verbs::Named::outputs([&self.csv, &self.report]).and_tables(&self.tables)
    }

    /// Measures it.
    pub(super) fn run(self, output: &Output) -> Result<ExitCode> {
        for (path, content) in [(&self.csv, Content::Plain(Format::Csv)), (&self.report, Content::Page)] {
            files::check(path)?;
            content.check(path)?;
        }
        let choice = layers::Choice { fpr: self.fpr, layers: self.layers };
        let sets = progress::run(output, "measuring", |control| {
            let mut sets = if self.tables.is_empty() { layers::generated() } else { Vec::new() };
            for table in &self.tables {
                if self.keywords.is_empty() {
                    for field in layers::known_columns(table)? {
                        sets.push(layers::read(table, vec![field.parse()?], control)?);
                    }
                } else {
                    sets.push(layers::read(table, self.keywords.clone(), control)?);
                }
            }
            sets.iter().map(|set| layers::measure(set, choice, control)).collect()
        })?;
        let found = tamis_lab::Layers { sets, choice };
        write_both(output, (&self.csv, found.csv()), (&self.report, found.page().html()))?;
        let mut text = format!("{}\n{}\n", found.rates().text(), found.gains().text());
        text.extend(found.verdict().into_iter().map(|line| line + "\n"));
        output.result(text, found.json())?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Search {
    /// The files that it names.
    pub(super) fn named(&self) -> crate::verbs::Named<'_> {
        crate::verbs::Named::outputs([&self.csv, &self.documents_csv, &self.report])
            .and_tables(self.table.as_slice())
    }

    /// Measures it.
    pub(super) fn run(self, output: &Output) -> Result<ExitCode> {
        let csv = Content::Plain(Format::Csv);
        for (path, content) in [(&self.csv, csv), (&self.documents_csv, csv), (&self.report, Content::Page)] {
            files::check(path)?;
            content.check(path)?;
        }
        let key = self.key.unwrap_or(Field { column: Column::Line, steps: Vec::new() });
        let scratch = TemporaryFolder::new()?;
        let (found, documents) = progress::run(output, "measuring", |control| {
            let (name, records) = match &self.table {
                Some(table) => (format!("{table} {key}"), search::read(table, &key, control)?),
                None => ("generated titles".into(), search::generated()),
            };
            let documents = match &self.table {
                Some(_) => documents::measure(name.clone(), &records, self.fpr, scratch.path(), control)?,
                None => {
                    let (name, texts) = ("generated documents".into(), documents::generated());
                    documents::measure(name, &texts, self.fpr, scratch.path(), control)?
                }
            };
            Ok((search::search(name, &records, self.most, self.fpr, control)?, documents))
        })?;
        let draft = |path: &Path, text: String| files::draft(path, |out| out.write_all(text.as_bytes()));
        let mut page = found.page();
        page.sections.push(Section::Table(documents.table()));
        files::finish_all([
            draft(&self.csv, found.csv())?,
            draft(&self.documents_csv, documents.csv())?,
            draft(&self.report, page.html())?,
        ])?;
        let [csv, documents_csv, report] =
            [&self.csv, &self.documents_csv, &self.report].map(|path| path.display());
        output.note(format!("{csv} and {documents_csv}: the results; {report}: a page with charts"));
        let mut text: Vec<String> = found.sizes().into_iter().map(|size| found.at(size).text()).collect();
        text.push(documents.table().text());
        let mut json = found.json();
        json["documents"] = documents.json();
        output.result(text.join("\n"), json)?;
        let sound = found.runs.iter().all(|run| run.false_negatives == 0) && documents.is_sound();
        Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
