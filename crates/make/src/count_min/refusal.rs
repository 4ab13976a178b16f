//! Why sketches that count are refused, or others where counts are asked for.

use std::fmt;

use tamis::sizing::Kind;
use tamis_read::refusal::{self, Help};

use crate::opt;

/// What only a set can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfSets {
    /// To let records pass.
    Filter,
    /// To remember keys.
    Remember,
    /// To be tested for false positives.
    Test,
}

impl fmt::Display for OfSets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OfSets::Filter => "records cannot be filtered by them",
            OfSets::Remember => "cannot remember a set of keys",
            OfSets::Test => "have no false positives to test for",
        })
    }
}

/// What only sketches that count can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfCounts {
    /// To be multiplied.
    InnerProduct,
    /// To have their estimates tested.
    Test,
    /// To list their most frequent keys.
    Top,
}

impl fmt::Display for OfCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OfCounts::InnerProduct => "inner-product",
            OfCounts::Test => "this test",
            OfCounts::Top => "top",
        })
    }
}

/// Why a job does nothing with counts.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// Sketches that count, where a set is needed.
    #[error("these sketches count how often keys occur, and {asked}")]
    Counts {
        /// What was asked.
        asked: OfSets,
    },
    /// Filters, where counts are needed.
    #[error("{kind} filters do not count, and {asked} needs sketches that do")]
    Filters {
        /// Their kind.
        kind: Kind,
        /// What was asked.
        asked: OfCounts,
    },
    /// Counters of a conservative update are multiplied.
    #[error(
        "it was built with the conservative update: its counters hold less than the sum of their keys, so a \
         product of them may be below the truth"
    )]
    Conservative,
    /// The second pass found other rows.
    #[error("the input changed while it was read: its keys are not those that were counted")]
    InputChanged,
    /// A file without heavy keys.
    #[error("keeps no keys, and counters alone cannot list any")]
    NoKeys,
    /// Keys of a smaller share than the one that is kept.
    #[error("keeps the keys with a share of at least {kept:?}, and may miss some with a share of {asked:?}")]
    SmallerShare {
        /// The share from which on keys are kept.
        kept: f64,
        /// The one that was asked for.
        asked: f64,
    },
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        let counting = || Help::build_with(opt::KIND.with("count-min"));
        match self {
            Refusal::Counts { .. } => {
                vec![
                    Help::Do("ask them with query or top"),
                    Help::DoWith("build filters", vec![opt::KIND.with("blocked")]),
                ]
            }
            Refusal::Filters { .. } => vec![counting()],
            Refusal::Conservative => vec![Help::BuildWithout(vec![opt::CONSERVATIVE])],
            Refusal::InputChanged => vec![Help::Do("build again")],
            Refusal::NoKeys => {
                vec![
                    Help::build_with(opt::HEAVY.with("SHARE")),
                    Help::Do("give the data in place of the file"),
                ]
            }
            Refusal::SmallerShare { asked, .. } => {
                let again = opt::HEAVY.with(format!("{asked:?}"));
                vec![Help::give_more(opt::SHARE), Help::build_with(again)]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tamis_read::refusal::{Fields, say};

    use super::*;

    #[test]
    fn a_share_that_is_not_kept_is_told_how_to_keep_it() {
        let why = Refusal::SmallerShare { kept: 0.01, asked: 0.005 };
        assert_eq!(
            say(&why, &Fields),
            "keeps the keys with a share of at least 0.01, and may miss some with a share of 0.005: give a larger \
             share, or build it with heavy=0.005"
        );
    }
}
