//! What can go wrong in the library, each with what to do about it.

use alloc::string::String;
#[cfg(feature = "serde")]
use alloc::string::ToString;
use core::fmt;

use crate::hash::HashKey;
use crate::sizing::Kind;

#[cfg(feature = "serde")]
mod damage;
mod difference;
#[cfg(feature = "serde")]
mod recipe;
mod size;

#[cfg(feature = "serde")]
pub use damage::{Damage, ParamsFault, Part};
pub use difference::Difference;
#[cfg(feature = "serde")]
pub use recipe::{ImpossibleRecipe, RecipeFault, StepOrder, Takes};
pub use size::{Conservative, ShapeFault, SizeFault};

/// The library's result.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// A failure of the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A recipe that cannot be read.
    #[cfg(feature = "serde")]
    #[error(transparent)]
    Recipe(#[from] RecipeFault),
    /// A rate that is no probability between 0 and 1.
    #[error("the false-positive rate must be above 0 and below 1, not {0}")]
    Rate(f64),
    /// Bits per key that make no filter.
    #[error("the bits per key must be above 0 and at most 10,000: {0} are not")]
    BitsPerKey(f64),
    /// A filter for no keys.
    #[error("a filter needs at least one key to be sized for")]
    NoKeys,
    /// More bits than can be addressed.
    #[error("{bits} bits are more than a filter can have (2^56)")]
    TooLarge {
        /// The bits asked for.
        bits: u64,
    },
    /// A kind that there is not.
    #[error("unknown kind {0:?}; choose one of {names}", names = Kind::ALL.map(Kind::name).join(", "))]
    UnknownKind(String),
    /// A size that no sketch has.
    #[error(transparent)]
    Size(#[from] SizeFault),
    /// Words and parameters that do not belong together.
    #[error(transparent)]
    Shape(#[from] ShapeFault),
    /// Sketches whose parameters differ cannot be merged or compared.
    #[error("{0}")]
    Different(Difference),
    /// Something that conservative counters cannot do.
    #[error(transparent)]
    Conservative(#[from] Conservative),
    /// A file that is no tamis file.
    #[error("is not a tamis file (it does not begin with the magic bytes)")]
    Magic,
    /// A file of a version that this program does not know.
    #[error("is a tamis file of version {got}; this program reads versions 1 to {newest}: use a newer tamis")]
    Version {
        /// The newest version that is known here.
        newest: u32,
        /// The version of the file.
        got: u32,
    },
    /// A recipe whose list of public suffixes this program does not have.
    #[error(
        "makes keys by the list of public suffixes {digest:016x}, which this program does not have: give that list as a file, or use a newer tamis"
    )]
    SuffixList {
        /// The digest of the list.
        digest: u64,
    },
    /// Keys of which words are left out by a list that this program does not have.
    #[error(
        "makes keys by the list of stop words {digest:016x}, which this program does not have: use a newer tamis"
    )]
    StopList {
        /// The digest of the list.
        digest: u64,
    },
    /// Keys that are stems, by a stemmer that this program does not have.
    #[error("makes keys by the stemmer {digest:016x}, which this program does not have: use a newer tamis")]
    Stemmer {
        /// The digest of its table.
        digest: u64,
    },
    /// Sketches whose secret hash key this program was not given.
    #[error("hashes keys with a secret key ({check}), {}: give that key", if *.other { "and another one was given" } else { "which was not given" })]
    HashKey {
        /// The check value of the key.
        check: HashKey,
        /// Whether another one was given.
        other: bool,
    },
    /// A file that is too short or too long.
    #[error(
        "is {got} bytes long and should have {expected}: truncated or damaged; build it again or copy it again"
    )]
    Length {
        /// As the header has it.
        expected: u64,
        /// As it is.
        got: u64,
    },
    /// A part of a file whose checksum does not match.
    #[cfg(feature = "serde")]
    #[error("{part} is damaged (its checksum does not match): build the file again or copy it again")]
    Checksum {
        /// The part.
        part: Part,
    },
    /// A file whose parts contradict each other though their checksums match.
    #[cfg(feature = "serde")]
    #[error("{0}: the file was not written by tamis, or was changed since")]
    Corrupt(Damage),
    /// Parameters that cannot be read as JSON: why.
    #[error("invalid parameters ({0}): the file was not written by tamis, or was changed since")]
    Params(ParserMessage),
    /// More to record about a file than it takes.
    #[cfg(feature = "serde")]
    #[error(
        "what is recorded about the file takes {bytes} bytes and may take {}: shorten the note",
        crate::about::MOST_BYTES
    )]
    LongAbout {
        /// What it takes.
        bytes: usize,
    },
    /// Memory that the system does not give.
    #[error("not enough memory for {bytes} bytes")]
    Memory {
        /// The bytes asked for.
        bytes: u64,
    },
    /// Something that sketches of a kind cannot do.
    #[error("a {kind} sketch {action}")]
    Cannot {
        /// The kind.
        kind: Kind,
        /// What it cannot do.
        action: Action,
    },
    /// A step that does not make a key of every value, in a recipe for a [`Filter`](crate::Filter) or a
    /// [`Counter`](crate::Counter).
    #[error(
        "the step {step} does not make one key of every value; use trim, lower, upper, prefix, suffix, before, before-last, after or after-first"
    )]
    Step {
        /// The step, as a recipe spells it.
        step: String,
    },
    /// A file that is more than one set of plain keys.
    #[error("holds {0}; open it as a tamis::File")]
    NotOneSet(NotOneSet),
    /// A file that could not be read.
    #[cfg(feature = "file")]
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file that was read, and is not what it should be.
    #[cfg(feature = "file")]
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// What is wrong with it.
        source: Box<Error>,
    },
    /// A file that could not be written. What was there before is untouched.
    #[cfg(feature = "file")]
    #[error(transparent)]
    Write(#[from] crate::whole::Error),
    /// Hashes that a static filter is built from, each once, and of which some came twice.
    #[error("hashes of a static filter came twice: each must come once")]
    Repeats,
    /// A set of which no static filter could be built.
    #[error(
        "no static filter of these {keys} hashes was found with {seeds} seeds: they are not spread evenly, \
         or keys were chosen so that it fails; hash the keys with another seed or with a secret key, or \
         build a blocked filter"
    )]
    Seeds {
        /// The distinct hashes.
        keys: u64,
        /// The seeds that were tried.
        seeds: u64,
    },
}

/// What the parser of another library (of JSON, of regular expressions) says of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParserMessage(pub(crate) String);

impl fmt::Display for ParserMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(feature = "serde")]
impl From<serde_json::Error> for ParserMessage {
    fn from(error: serde_json::Error) -> Self {
        ParserMessage(error.to_string())
    }
}

#[cfg(feature = "serde")]
impl From<ParamsFault> for Error {
    fn from(fault: ParamsFault) -> Self {
        Error::Corrupt(fault.into())
    }
}

#[cfg(feature = "serde")]
impl From<ImpossibleRecipe> for Error {
    fn from(fault: ImpossibleRecipe) -> Self {
        Error::Corrupt(fault.into())
    }
}

/// What a sketch of some kind cannot do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Take keys one by one.
    Insert,
    /// Take in another sketch.
    Merge,
    /// Give up keys again.
    Remove,
    /// Count how often keys come.
    Count,
    /// Size itself by the keys that it is given, with this hash.
    Collect,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Action::Insert => {
                "cannot take plain keys one by one; use blocked, bloom, counting or scalable, or count-min to count"
            }
            Action::Merge => "depends on the order of its keys and cannot be merged; use a kind that can",
            Action::Count => "does not count; use count-min",
            Action::Remove => "cannot remove keys; use counting",
            Action::Collect => {
                "cannot size itself with a hash whose positions need the keys; count them and give their number"
            }
        })
    }
}

/// Why a file is not one set of plain keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotOneSet {
    /// It has several groups, or one with a name.
    Groups,
    /// Its keys are made of several columns, or are records of keywords.
    Columns,
    /// It lists heavy keys, or a journal, which would be lost.
    More,
}

impl fmt::Display for NotOneSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotOneSet::Groups => "groups, not one set",
            NotOneSet::Columns => "keys of several columns or keywords, not single values",
            NotOneSet::More => "more than one sketch (heavy keys or a journal)",
        })
    }
}
