//! The formats of rows, and how records are written.

use std::path::Path;

use crate::options::Quotes;
use crate::reader::Compression;

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

    /// What records of Parquet become, by the name of the file they go to.
    pub fn for_output(path: Option<&Path>) -> Format {
        let plain = path.map(|path| match Compression::of_name(path) {
            Some(_) => path.with_extension(""),
            None => path.to_owned(),
        });
        let extension = plain.and_then(|path| Some(path.extension()?.to_string_lossy().to_lowercase()));
        match extension.as_deref() {
            Some("ndjson" | "jsonl" | "json") => Format::Ndjson,
            Some("tsv" | "tab") => Format::Tsv,
            _ => Format::Csv,
        }
    }
}

/// How the records of all inputs are written.
#[derive(Debug, Clone)]
pub struct Form {
    /// Their format: no longer Parquet.
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
}
