//! The formats of rows, and how records are written.

use std::path::Path;

use crate::extension::extension;
use crate::options::Quotes;
use crate::parquet::Schema;

/// How the bytes of a file are cut into rows and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One key per line.
    Lines,
    /// Values separated by commas (or another delimiter), with RFC 4180 quoting.
    Csv,
    /// Values separated by tabs.
    Tsv,
    /// One JSON object per line.
    Ndjson,
    /// Access logs of web servers, in the common or the combined form.
    Log,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 6] =
        [Format::Lines, Format::Csv, Format::Tsv, Format::Ndjson, Format::Log, Format::Parquet];

    /// Its name in requests, and on disk in the states of streams.
    pub fn name(self) -> &'static str {
        match self {
            Format::Lines => "lines",
            Format::Csv => "csv",
            Format::Tsv => "tsv",
            Format::Ndjson => "ndjson",
            Format::Log => "log",
            Format::Parquet => "parquet",
        }
    }

    /// What the name of a file says it is, if it says so: `x.csv`, `x.ndjson.gz`.
    pub fn of_name(path: &Path) -> Option<Format> {
        match extension(path).as_str() {
            "csv" => Some(Format::Csv),
            "tsv" | "tab" => Some(Format::Tsv),
            "ndjson" | "jsonl" | "json" => Some(Format::Ndjson),
            "parquet" | "parq" | "pq" => Some(Format::Parquet),
            _ => None,
        }
    }
}

/// How the records of all inputs are written.
#[derive(Debug, Clone)]
pub struct Form {
    /// Their format.
    pub format: Format,
    /// The delimiter of delimited text.
    pub delimiter: u8,
    /// What quotes mean.
    pub quotes: Quotes,
    /// Whether a header names the columns.
    pub header: bool,
    /// The columns, where they have names.
    pub columns: Vec<String>,
    /// What stands before the first record: a byte order mark, a header.
    pub prelude: Vec<u8>,
    /// The columns and their types, where records become rows of Parquet.
    pub schema: Option<Schema>,
}

impl Form {
    /// Of rows of Parquet.
    pub(crate) fn of_table(schema: Schema) -> Form {
        Form {
            format: Format::Parquet,
            delimiter: 0,
            quotes: Quotes::None,
            header: false,
            columns: Vec::new(),
            prelude: Vec::new(),
            schema: Some(schema),
        }
    }
}
