//! What is wrong with the bytes of a file.

use core::fmt;

use super::{ImpossibleRecipe, ParserMessage};
use crate::countmin::HeavyFault;
use crate::hash::Scheme;
use crate::params::Name;
use crate::sizing::Kind;

/// A part of a file that has a checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // most are their names
#[non_exhaustive]
pub enum Part {
    Header,
    Description,
    Directory,
    Names,
    HeavyKeys,
    About,
    Journal,
    /// The sketch of a group.
    Sketch {
        kind: Kind,
        group: Name,
    },
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Header => "the header",
            Part::Description => "the description",
            Part::Directory => "the directory",
            Part::Names => "the list of group names",
            Part::HeavyKeys => "the list of heavy keys",
            Part::About => "what is recorded about it",
            Part::Journal => "the journal",
            Part::Sketch { kind, .. } if kind.counts() => "the sketch",
            Part::Sketch { .. } => "the filter",
        })?;
        match self {
            Part::Sketch { group, .. } if !group.0.is_empty() => write!(f, " of group {group}"),
            _ => Ok(()),
        }
    }
}

/// What contradicts itself in a file whose checksums match.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// Lengths of parts that are not that of the file.
    #[error("the lengths in the header do not add up")]
    Lengths,
    /// Bytes of the header that should be zero.
    #[error("the reserved part of the header is not zero")]
    Reserved,
    /// Bytes between the parts that should be zero.
    #[error("the padding between the parts is not zero")]
    Padding,
    /// A description that is not the JSON of one.
    #[error("the description cannot be read ({0})")]
    Description(ParserMessage),
    /// A recipe with what the version of the file does not have yet.
    #[error("its recipe is one of version {recipe}, and the file is of version {file}")]
    RecipeVersion {
        /// The first version that has the recipe.
        recipe: u32,
        /// The version of the file.
        file: u32,
    },
    /// Bytes of an entry of the directory that should be zero.
    #[error("entry {0} of the directory: the reserved part is not zero")]
    EntryReserved(usize),
    /// The name of an entry of the directory.
    #[error("entry {0} of the directory: its name is not where it should be in the list of names")]
    EntryName(usize),
    /// More names than the directory has.
    #[error("the list of names is longer than the names")]
    Names,
    /// A data area of another length than the parameters give it.
    #[error("the sections do not fill the data area")]
    Sections,
    /// A section in another place than the parameters give it.
    #[error("section {0} is not where its parameters put it")]
    Section(usize),
    /// More rows that left than came.
    #[error("more rows were removed than added")]
    Removed,
    /// Heavy keys beside a filter.
    #[error("only sketches that count have heavy keys, not filters")]
    HeavyFilter,
    /// The list of heavy keys.
    #[error("the list of heavy keys: {0}")]
    Heavy(HeavyFault),
    /// A heavy key that is not heavy by its sketch.
    #[error("a heavy key does not have the share that it is kept for")]
    HeavyShare,
    /// More recorded about the file than it may have.
    #[error("what is recorded about it is longer than a file may have")]
    AboutLength,
    /// What is recorded about the file is not the JSON of it.
    #[error("what is recorded about it cannot be read ({0})")]
    About(ParserMessage),
    /// What is recorded about the file is nothing, or not in its order.
    #[error("what is recorded about it is not in its form")]
    AboutForm,
    /// Bits after the last one of a filter.
    #[error("bits are set beyond the filter of group {0:?}")]
    BitsBeyond(Name),
    /// Counters that hold another weight than was added.
    #[error("the counters of group {0:?} do not sum up to its total weight")]
    Sums(Name),
    /// Words after a section that should be zero.
    #[error("the padding after group {0:?} is not zero")]
    GroupPadding(Name),
    /// A recipe that nobody could have written.
    #[error(transparent)]
    Recipe(#[from] ImpossibleRecipe),
    /// Parameters that do not go together.
    #[error(transparent)]
    Params(#[from] ParamsFault),
}

/// Why parameters do not go together.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsFault {
    /// A hash that goes with `bloom` alone, with another kind.
    #[error("{} goes with bloom, not with {kind}", hash.name())]
    HashOfBloom {
        /// The hash.
        hash: Scheme,
        /// The kind.
        kind: Kind,
    },
    /// A `layered` whose keys are no records.
    #[error("a layered filter goes with a recipe that makes keywords")]
    NoKeywords,
    /// A layered filter whose keywords are keys of their own.
    #[error("a layered filter holds records of keywords, and here each keyword is a key of its own")]
    LayeredEach,
    /// Weights of what does not count.
    #[error("weights go with count-min, not with {0}")]
    Weights(Kind),
    /// Counters of different lengths.
    #[error("the counters of all groups must have as many bits")]
    CounterBits,
    /// Groups that no recipe makes.
    #[error("a recipe without groups goes with one group without a name")]
    NoGroups,
    /// Groups that are not sorted.
    #[error("a group occurs twice, or out of order")]
    Order,
    /// Numbers of which there is no sketch.
    #[error(
        "group {group:?} has impossible parameters (Shape {{ slots: {slots}, width: {width}, hashes: {hashes} }}, rate {fpr})"
    )]
    Group {
        /// The group.
        group: Name,
        /// Its slots, as files count them.
        slots: u64,
        /// The bits of each.
        width: u32,
        /// The slots of a key.
        hashes: u32,
        /// The rate, or the error ε.
        fpr: f64,
    },
}
