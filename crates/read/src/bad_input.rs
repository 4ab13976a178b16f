//! Why an input cannot be used as asked.

use std::io;
use std::path::PathBuf;

use crate::opt;
use crate::reader::Compression;
use crate::refusal::{Help, Refusal};

/// Why an input cannot be used as asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadInput {
    /// A table without a line of names.
    #[error("it is empty: no header line")]
    NoHeader,
    /// A first row that does not end.
    #[error("its first row is longer than 1 GiB")]
    LongFirstRow,
    /// Parquet that is compressed, or comes through a pipe.
    #[error("Parquet is read from plain files only")]
    PackedParquet,
    /// A stream that is to be read twice.
    #[error("it was read already and cannot be read again")]
    Spent,
    /// Compressed data that does not decompress.
    #[error("its {} data is damaged or cut off ({source})", compression.name())]
    Damaged {
        /// How it is compressed.
        compression: Compression,
        /// What the decompressor says.
        source: io::Error,
    },
    /// Records of text are asked for in another format.
    #[error("its records are written unchanged")]
    KeepsFormat,
    /// Records of Parquet are asked for in a format that is not written.
    #[error("its records can be written as CSV, TSV, NDJSON or Parquet")]
    NoSuchOutput,
    /// Records of Parquet that have no text.
    #[error("its records cannot be written as text: {0}")]
    NotAsText(Box<dyn Refusal>),
    /// Records that cannot follow those of the first input in one file.
    #[error("its format, its columns or their types are not those of {}", .0.display())]
    OtherForm(PathBuf),
}

impl Refusal for BadInput {
    fn help(&self) -> Vec<Help> {
        match self {
            BadInput::NoHeader | BadInput::Damaged { .. } => Vec::new(),
            BadInput::LongFirstRow => {
                vec![Help::GiveIf("if it is in another format", vec![opt::FORMAT.with("FORMAT")])]
            }
            BadInput::PackedParquet => vec![Help::Do("unpack it to one first")],
            BadInput::Spent => vec![Help::Do("give a file instead")],
            BadInput::KeepsFormat => vec![Help::leave_out(opt::OUTPUT_FORMAT)],
            BadInput::NoSuchOutput => vec![Help::give(opt::OUTPUT_FORMAT.with("csv"))],
            BadInput::NotAsText(_) => vec![Help::Do("name an output that ends in .parquet")],
            BadInput::OtherForm(_) => vec![Help::Do("run the job on each of them by itself")],
        }
    }
}
