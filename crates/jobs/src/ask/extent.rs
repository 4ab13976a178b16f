//! How much of a record is asked.

use tamis::layered::Answer;
use tamis::sizing::Kind;
use tamis_make::opt;
use tamis_read::refusal::{Help, Refusal};

/// How much of a record of keywords a layered filter is asked for. To other kinds a record is one key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Extent {
    /// All of it: each keyword in its layer, then the XOR layer, which knows whole records.
    #[default]
    Record,
    /// Its keywords alone, in the layers that they reach: whether each may stand at its place in some
    /// record. The XOR layer is not asked.
    Partial,
}

impl Extent {
    /// By the option for it.
    pub fn partial_if(partial: bool) -> Extent {
        if partial { Extent::Partial } else { Extent::Record }
    }

    /// Whether this answer is a yes.
    pub(super) fn finds(self, answer: Answer) -> bool {
        match self {
            Extent::Record => answer == Answer::Whole,
            Extent::Partial => answer >= Answer::Part,
        }
    }

    /// Refuses to ask sketches of this kind for less than their keys.
    pub fn check(self, kind: Kind) -> Result<(), NoLayers> {
        match self {
            Extent::Partial if kind != Kind::Layered => Err(NoLayers { kind }),
            _ => Ok(()),
        }
    }
}

/// A part of a record, asked of sketches without layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("partial records are asked of layers, and {kind} has none: it finds keys as a whole")]
pub struct NoLayers {
    /// The kind.
    pub kind: Kind,
}

impl Refusal for NoLayers {
    fn help(&self) -> Vec<Help> {
        vec![Help::leave_out(opt::PARTIAL), Help::build_with(opt::KIND.with("layered"))]
    }
}
