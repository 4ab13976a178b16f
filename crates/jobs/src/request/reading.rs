//! How inputs are read.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tamis_read::{Format, Options};

use super::Refusal;
use super::json::word;
use tamis_make::parallel;
use tamis_make::rows::BadRows;

/// The most threads that a job may have.
pub const MOST_THREADS: usize = 1024;

/// How inputs are read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// The format, if it is not recognised correctly.
    #[serde(with = "format")]
    pub format: Option<Format>,
    /// The delimiter of delimited text: its byte.
    pub delimiter: Option<u8>,
    /// Delimited text has no header line.
    pub no_header: bool,
    /// Quotes are ordinary characters.
    pub no_quotes: bool,
    /// Rows without a key.
    #[serde(serialize_with = "named", deserialize_with = "bad_rows")]
    pub bad_rows: BadRows,
    /// Threads; all cores where nothing is said.
    pub threads: Option<usize>,
}

impl Reading {
    /// What reading itself needs.
    pub fn options(&self) -> Options {
        Options {
            format: self.format,
            delimiter: self.delimiter,
            no_header: self.no_header,
            no_quotes: self.no_quotes,
        }
    }

    /// Refuses a number of threads, where another engine has its own.
    pub(super) fn refuse_threads(&self) -> Result<(), Refusal> {
        if self.threads.is_some() { Err(Refusal::ThreadsOfSpark) } else { Ok(()) }
    }

    /// Threads to use.
    pub fn threads(&self) -> Result<usize, Refusal> {
        threads(self.threads)
    }
}

/// Threads to use: this many, or all cores.
pub fn threads(given: Option<usize>) -> Result<usize, Refusal> {
    match given {
        None => Ok(parallel::default_threads()),
        Some(threads @ 1..=MOST_THREADS) => Ok(threads),
        Some(threads) => Err(Refusal::Threads(threads)),
    }
}

fn named<S: Serializer>(bad_rows: &BadRows, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(bad_rows.name())
}

fn bad_rows<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BadRows, D::Error> {
    let words = [BadRows::Fail, BadRows::Skip].map(|one| (one.name(), one));
    word(&String::deserialize(deserializer)?, &words)
}

pub(super) mod format {
    use super::*;

    pub fn serialize<S: Serializer>(format: &Option<Format>, serializer: S) -> Result<S::Ok, S::Error> {
        format.map(Format::name).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Format>, D::Error> {
        let words = Format::ALL.map(|format| (format.name(), format));
        Option::<String>::deserialize(deserializer)?.map(|given| word(&given, &words)).transpose()
    }
}
