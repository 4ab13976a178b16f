//! Why the keys beside filters cannot be used, or kept.

use std::fmt;
use std::io;
use std::path::PathBuf;

use tamis_read::refusal::{self, Help};

use super::layout::VERSION;
use crate::opt;

/// Why there are no keys to ask, or none can be kept.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// There is no file of keys.
    #[error("there is no such file; it would hold the keys of the filters")]
    Absent,
    /// It belongs to other filters.
    #[error("holds the keys of another file of filters, not of {} as it is", filters.display())]
    OfOthers {
        /// The file of filters.
        filters: PathBuf,
    },
    /// Something else has the name that they would have.
    #[error("is no file of keys, and the exact keys of {} would replace it", filters.display())]
    Foreign {
        /// The file of filters.
        filters: PathBuf,
    },
    /// The disk does not take more.
    #[error("no temporary file can be written there ({error}); nothing was changed")]
    NoTemporary {
        /// What the operating system said.
        error: io::Error,
    },
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        match self {
            Refusal::Absent => vec![Help::DoWith("build the filters", vec![opt::EXACT.into()])],
            Refusal::OfOthers { .. } => {
                let again = Help::DoWith("build the filters again", vec![opt::EXACT.into()]);
                vec![again, Help::Do("remove the file of keys, to go on without them")]
            }
            Refusal::Foreign { .. } => {
                vec![Help::Do("move it away"), Help::Do("name another output")]
            }
            Refusal::NoTemporary { .. } => {
                vec![Help::Do("make room"), Help::Do("name another folder in the variable TMPDIR")]
            }
        }
    }
}

/// A part of a file of keys that has a checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The first bytes.
    Header,
    /// The list of blocks.
    Index,
    /// Some keys.
    Block,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Header => "the header",
            Part::Index => "the index",
            Part::Block => "a block of keys",
        })
    }
}

/// What is wrong with a file of keys whose checksums match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contradiction {
    /// Bytes that must be zero are not.
    Reserved,
    /// Its index is longer than the file.
    NoIndex,
    /// Blocks do not follow each other.
    Order,
    /// Blocks leave something over.
    Gap,
    /// A block is not as the index says.
    Block,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Contradiction::Reserved => "the reserved part of the header is not zero",
            Contradiction::NoIndex => "it has no room for its index",
            Contradiction::Order => "its blocks are not in order",
            Contradiction::Gap => "its blocks do not fill it",
            Contradiction::Block => "a block of keys contradicts itself",
        })
    }
}

/// What is wrong with a file of keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// It is something else.
    #[error("is not a file of keys (it does not begin with the magic bytes)")]
    Magic,
    /// It was written by a later program.
    #[error("is a file of keys of version {found}; this program reads version {VERSION}")]
    Version {
        /// Its version.
        found: u32,
    },
    /// It is not as long as it says.
    #[error(
        "is {} long and should have {}: truncated or damaged",
        crate::number::counted(*got, "byte"),
        crate::number::count(*expected)
    )]
    Length {
        /// The length that it should have.
        expected: u64,
        /// The length that it has.
        got: u64,
    },
    /// A checksum does not match.
    #[error("{0} is damaged (its checksum does not match)")]
    Damaged(Part),
    /// It is not what the program writes.
    #[error("{0}: the file was not written by tamis, or was changed since")]
    Corrupt(Contradiction),
    /// Keys that do not fit into a block.
    #[error("keys of more than 4 GiB with one hash cannot be kept")]
    TooLong,
}

impl refusal::Refusal for Broken {
    fn help(&self) -> Vec<Help> {
        match self {
            Broken::Version { .. } => vec![Help::Do("use a newer tamis")],
            Broken::Length { .. } | Broken::Damaged(_) => {
                vec![Help::Do("build it again"), Help::Do("copy it again")]
            }
            Broken::Magic => vec![Help::Do("move it away")],
            Broken::Corrupt(_) | Broken::TooLong => Vec::new(),
        }
    }
}
