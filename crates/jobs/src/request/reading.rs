//! How inputs are read.

use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tamis_read::{Delimiter, Format, Options, Quotes};

use super::Refusal;
use super::json::word;
use tamis_make::rows::{BadRows, OnBad};
use tamis_make::{opt, parallel, spread};

/// The most threads that a job may have.
pub const MOST_THREADS: usize = 1024;

/// How inputs are read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// The format, if it is not recognised correctly.
    #[serde(with = "format")]
    pub format: Option<Format>,
    /// The delimiter of delimited text: its byte, or `whitespace`.
    #[serde(with = "delimiter")]
    pub delimiter: Option<Delimiter>,
    /// Delimited text has no header line.
    pub no_header: bool,
    /// Delimited text has a header line, whatever is recorded or usual.
    pub with_header: bool,
    /// What quotes mean, if it is not what is usual with that delimiter.
    #[serde(with = "quotes")]
    pub quotes: Option<Quotes>,
    /// Lines that begin with this byte are no rows.
    pub comment: Option<u8>,
    /// Whether the delimiter is not given, but recorded in the file that is asked.
    pub recorded: bool,
    /// Rows without a key; they end the job where nothing is said.
    #[serde(with = "bad_rows")]
    pub bad_rows: Option<OnBad>,
    /// The file that they are set aside to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bad_rows_to: Option<PathBuf>,
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
            with_header: self.with_header,
            quotes: self.quotes,
            comment: self.comment,
            undeclared: false,
            recorded: self.recorded,
            watch: None,
            file: None,
        }
    }

    /// Refuses a file for bad rows, which many machines would write to, and a number of threads, where
    /// another engine has its own.
    pub(super) fn refuse_spread(&self) -> Result<(), Refusal> {
        if self.bad_rows_to.is_some() {
            return Err(spread::Refusal::OneMachine(vec![opt::BAD_ROWS_TO]).into());
        }
        if self.threads.is_some() { Err(Refusal::ThreadsOfSpark) } else { Ok(()) }
    }

    /// What is done with bad rows.
    pub fn bad_rows(&self) -> Result<BadRows, Refusal> {
        match (self.bad_rows, &self.bad_rows_to) {
            (Some(OnBad::Fail), Some(_)) => Err(Refusal::FailAndSetAside),
            (_, Some(path)) => Ok(BadRows::SetAside(path.clone())),
            (Some(OnBad::Skip | OnBad::SetAside), None) => Ok(BadRows::Skip),
            (Some(OnBad::Fail) | None, None) => Ok(BadRows::Fail),
        }
    }

    /// The same, where nothing can be set aside.
    pub fn on_bad(&self) -> Result<OnBad, Refusal> {
        match self.bad_rows()? {
            BadRows::SetAside(_) => Err(Refusal::NothingSetAside),
            bad_rows => Ok((&bad_rows).into()),
        }
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

mod bad_rows {
    use super::*;

    pub fn serialize<S: Serializer>(bad_rows: &Option<OnBad>, serializer: S) -> Result<S::Ok, S::Error> {
        bad_rows.map(OnBad::name).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<OnBad>, D::Error> {
        let words = OnBad::NAMED.map(|one| (one.name(), one));
        Option::<String>::deserialize(deserializer)?.map(|given| word(&given, &words)).transpose()
    }
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

pub(super) mod codec {
    use super::*;
    use tamis_read::parquet::Codec;

    pub fn serialize<S: Serializer>(codec: &Option<Codec>, serializer: S) -> Result<S::Ok, S::Error> {
        codec.map(Codec::name).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Codec>, D::Error> {
        let words = Codec::ALL.map(|codec| (codec.name(), codec));
        Option::<String>::deserialize(deserializer)?.map(|given| word(&given, &words)).transpose()
    }
}

mod quotes {
    use super::*;

    pub fn serialize<S: Serializer>(quotes: &Option<Quotes>, serializer: S) -> Result<S::Ok, S::Error> {
        quotes.map(Quotes::name).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Quotes>, D::Error> {
        let words = Quotes::ALL.map(|quotes| (quotes.name(), quotes));
        Option::<String>::deserialize(deserializer)?.map(|given| word(&given, &words)).transpose()
    }
}

mod delimiter {
    use super::*;

    /// A byte is its number.
    #[derive(Serialize, Deserialize)]
    #[serde(untagged, expecting = "the number of a byte, or whitespace")]
    enum Written {
        Byte(u8),
        Name(String),
    }

    pub fn serialize<S: Serializer>(delimiter: &Option<Delimiter>, serializer: S) -> Result<S::Ok, S::Error> {
        let written = delimiter.map(|delimiter| match delimiter {
            Delimiter::Byte(byte) => Written::Byte(byte),
            Delimiter::Whitespace => Written::Name("whitespace".into()),
        });
        written.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Delimiter>, D::Error> {
        Ok(match Option::<Written>::deserialize(deserializer)? {
            None => None,
            Some(Written::Byte(byte)) => Some(Delimiter::Byte(byte)),
            Some(Written::Name(name)) => Some(word(&name, &[("whitespace", Delimiter::Whitespace)])?),
        })
    }
}
