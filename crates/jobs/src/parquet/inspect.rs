//! What a Parquet file has to answer "is this value here?" with, per row group and column.

use std::path::{Path, PathBuf};

use tamis_make::parallel;
use tamis_read::error::Result;
use tamis_read::parquet::{Anatomy, Value};
use tamis_read::{Control, Sources};

use super::filter_of;

/// A file, and what is in it.
#[derive(Debug, Clone)]
pub struct Report {
    /// The file.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: u64,
    /// Its row groups.
    pub row_groups: usize,
    /// Its columns, row group by row group.
    pub chunks: Vec<Inspected>,
}

/// A column of a row group.
#[derive(Debug, Clone)]
pub struct Inspected {
    /// The row group, from 0.
    pub group: usize,
    /// The path of the column.
    pub column: String,
    /// How values are stored, as the format calls it.
    pub type_name: &'static str,
    /// Rows of the row group.
    pub rows: u64,
    /// Rows without a value, where that is known.
    pub nulls: Option<u64>,
    /// Compressed bytes.
    pub bytes: u64,
    /// Its filter.
    pub filter: Option<Found>,
    /// Distinct values.
    pub distinct: Option<Distinct>,
    /// Whether a filter is worth its bytes.
    pub worth: Worth,
}

/// A filter that is there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// Its bytes, without the header.
    pub bytes: u64,
    /// The share of bits that are set.
    pub fill: f64,
    /// The rate of false positives now.
    pub rate: f64,
    /// Its values, estimated; none where it is full.
    pub values: Option<f64>,
}

/// How many distinct values there are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distinct {
    /// The dictionary has this many, and all pages refer to it.
    Dictionary(u64),
    /// The file says so.
    Said(u64),
    /// Estimated from the bits of the filter.
    Estimated(f64),
}

/// Whether a filter is worth its bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Worth {
    /// There are no values.
    Empty,
    /// Truth values have no filters.
    Boolean,
    /// The filter lets too many absent values pass.
    TooFull,
    /// All pages refer to a dictionary, which answers exactly.
    Dictionary,
    /// The least value is the greatest.
    OneValue,
    /// Rows are sorted by it, or no two row groups have ranges that overlap: statistics answer.
    Ranges,
    /// The filter is there and does its work.
    Yes,
    /// There is none, and nothing else answers.
    Missing,
}

/// A filter that lets more than this share of absent values pass is too full.
const TOO_FULL: f64 = 0.1;

/// Looks at files; of all columns, or of these.
pub fn inspect(
    inputs: &[String],
    columns: &[String],
    threads: usize,
    control: &Control,
) -> Result<Vec<Report>> {
    let paths = Sources::find(inputs)?;
    parallel::each(threads, paths.len(), |at| of_file(&paths[at], columns, control))
}

fn of_file(path: &Path, columns: &[String], control: &Control) -> Result<Report> {
    let file = Anatomy::open(path)?;
    let columns: Vec<usize> = match columns {
        [] => (0..file.columns().len()).collect(),
        some => some.iter().map(|column| file.find(column)).collect::<Result<_>>()?,
    };
    let apart: Vec<bool> = columns.iter().map(|&column| are_apart(&file, column)).collect();
    let mut chunks = Vec::new();
    for group in 0..file.row_groups() {
        for (&column, &apart) in columns.iter().zip(&apart) {
            control.check()?;
            chunks.push(of_chunk(&file, group, column, apart)?);
        }
    }
    Ok(Report { path: path.to_owned(), bytes: file.size(), row_groups: file.row_groups(), chunks })
}

/// Whether the ranges of a column in several row groups do not overlap.
fn are_apart(file: &Anatomy, column: usize) -> bool {
    let bounds = (0..file.row_groups()).map(|group| file.chunk(group, column).bounds());
    let Some(mut bounds) = bounds.collect::<Option<Vec<(Value, Value)>>>() else { return false };
    bounds.sort();
    bounds.len() > 1 && bounds.windows(2).all(|pair| pair[0].1 < pair[1].0)
}

fn of_chunk(file: &Anatomy, group: usize, column: usize, apart: bool) -> Result<Inspected> {
    let chunk = file.chunk(group, column);
    let filter = filter_of(&chunk)?.map(|filter| Found {
        bytes: filter.len() as u64,
        fill: filter.fill(),
        rate: filter.rate(),
        values: filter.estimated_values().map(|(values, _)| values),
    });
    let dictionary = chunk.dictionary_len()?.map(Distinct::Dictionary);
    let said = chunk.distinct().map(Distinct::Said);
    let estimated = filter.and_then(|filter| filter.values).map(Distinct::Estimated);
    let bounds = chunk.bounds();
    let worth = if chunk.is_boolean() {
        Worth::Boolean
    } else if chunk.rows() == 0 || chunk.nulls() == Some(chunk.rows()) {
        Worth::Empty
    } else if filter.is_some_and(|filter| filter.rate > TOO_FULL) {
        Worth::TooFull
    } else if bounds.is_some_and(|(least, most)| least == most) {
        Worth::OneValue
    } else if apart || file.sorted_by(group) == Some(column) {
        Worth::Ranges
    } else if dictionary.is_some() {
        Worth::Dictionary
    } else if filter.is_some() {
        Worth::Yes
    } else {
        Worth::Missing
    };
    Ok(Inspected {
        group,
        column: chunk.name(),
        type_name: chunk.type_name(),
        rows: chunk.rows(),
        nulls: chunk.nulls(),
        bytes: chunk.size(),
        filter,
        distinct: dictionary.or(said).or(estimated),
        worth,
    })
}
