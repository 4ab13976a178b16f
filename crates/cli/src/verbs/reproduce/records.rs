//! The experiments of Sharma with records.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use tamis::key::{Column, Field};
use tamis::layered::MOST_LAYERS;
use tamis_lab::{Findings, documents, layers, search};
use tamis_make::leftovers::TemporaryFolder;

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
    pub(super) tables: Vec<String>,
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
    pub(super) csv: PathBuf,
    /// Write a page with charts
    #[arg(long, value_name = "FILE.html", default_value = "reproduce-layers.html")]
    pub(super) report: PathBuf,
}

/// Sharma: linear and binary search, hash table, Bloom and multi-layer filter
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis reproduce search movies.csv --key title
  tamis reproduce search --most 1e6")]
pub(super) struct Search {
    /// A table; without one the data is generated
    pub(super) table: Option<String>,
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
    pub(super) csv: PathBuf,
    /// Write a page with charts
    #[arg(long, value_name = "FILE.html", default_value = "reproduce-search.html")]
    pub(super) report: PathBuf,
}

impl Layers {
    /// Measures it.
    pub(super) fn measure(self, output: &Output) -> Result<Findings> {
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
        Ok(tamis_lab::Layers { sets, choice }.findings())
    }
}

impl Search {
    /// Measures it.
    pub(super) fn measure(self, output: &Output) -> Result<Findings> {
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
        let mut findings = found.findings();
        documents.join(&mut findings);
        Ok(findings)
    }
}
