//! Why a build or an addition is refused.

use tamis::params::Name;
use tamis::sizing::Kind;
use tamis_read::refusal::{self, Help};

use crate::{opt, plan};

/// Why a build or an addition is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// There are no rows, and so no groups.
    #[error("the input has no rows, and so no groups to build")]
    NoRows,
    /// A group of the rows is not in the parameters.
    #[error("group {0} is not in the parameters")]
    UnknownGroup(Name),
    /// A static filter is made of all keys, and there is only an estimate of them.
    #[error("a static filter needs the exact keys, and these were only estimated")]
    Estimated,
    /// A static filter takes more memory than there is.
    #[error(
        "a {kind} filter is built from {} of its group at once: {} take {} of memory",
        if *kind == Kind::Ribbon { "many keys" } else { "all keys" },
        crate::number::counted(*keys, "key"),
        crate::number::bytes(*least)
    )]
    StaticMemory {
        /// The kind.
        kind: Kind,
        /// The keys of the largest group; of a `ribbon`, those that are needed at the same time.
        keys: u64,
        /// The memory that they take, in bytes.
        least: u64,
    },
    /// A static filter that could not be built.
    #[error(
        "no {kind} filter of the {}{} was found with {seeds} seeds of its own, which does not happen by chance: some keys were chosen so that it fails{}",
        crate::number::counted(*keys, "key"),
        crate::text::of_group(group),
        if *kind == Kind::Fuse { " (two for each of these seeds suffice)" } else { "" }
    )]
    ChosenKeys {
        /// The kind.
        kind: Kind,
        /// The group; no name where there are no groups.
        group: Name,
        /// Its keys.
        keys: u64,
        /// The seeds that were tried.
        seeds: u64,
    },
    /// The second pass read other rows than the first.
    #[error("the input changed while it was read, and its keys are not those of the filters")]
    Changed,
    /// The filter grows in the order of its keys.
    #[error("a scalable filter depends on the order of its keys, which several threads do not keep")]
    AddToScalable,
    /// The filter is static.
    #[error("a {0} filter is static and takes no more keys")]
    AddToStatic(Kind),
    /// The filter grows, and a build knows its keys.
    #[error("a scalable filter is for keys whose number is unknown, and these can be counted")]
    Scalable,
    /// Keys of a share, where nothing is counted.
    #[error("a {0} filter has no counts, and so no shares")]
    Heavy(Kind),
    /// A share of which no keys can be kept.
    #[error("a share of {share:?} is within the error, which is up to {epsilon:?} of the total")]
    SmallShare {
        /// The share.
        share: f64,
        /// The error.
        epsilon: f64,
    },
    /// Each key once, where every occurrence matters.
    #[error("counts need every row, not each key once")]
    DistinctCounts,
    /// Each key once, where that changes nothing.
    #[error("a {0} filter holds each key once, however often it occurs")]
    DistinctFilter(Kind),
    /// Exact keys beside what counts.
    #[error("exact keys are for filters, and these sketches count")]
    ExactCounts,
    /// Exact keys beside filters of records.
    #[error("a layered filter is asked for some keywords of a record, and exact keys are whole ones")]
    ExactLayered,
    /// Exact keys beside filters that keys are removed from.
    #[error("exact keys are a set, and what is removed from a counting filter would stay among them")]
    ExactCounting,
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        match self {
            Refusal::NoRows => vec![],
            Refusal::UnknownGroup(_) => vec![Help::Do("plan over all of the data")],
            Refusal::Estimated => vec![Help::Do("let the same version count on all machines")],
            Refusal::StaticMemory { least, .. } => vec![
                Help::give(opt::MEMORY.with(crate::number::megabytes(*least))),
                Help::give(opt::KIND.with(Kind::Blocked.name())),
            ],
            Refusal::ChosenKeys { .. } => vec![
                plan::another_seed(),
                plan::secret_key(),
                Help::give(opt::KIND.with(Kind::Blocked.name())),
            ],
            Refusal::Changed => vec![Help::Do("build again")],
            Refusal::AddToScalable => {
                vec![Help::Do("add to it by removing duplicates with its state")]
            }
            Refusal::AddToStatic(_) => vec![
                Help::Do("build it again from all of the data"),
                Help::build_with(opt::KIND.with(Kind::Blocked.name())),
            ],
            Refusal::Scalable => vec![Help::give(opt::KIND.with(Kind::Blocked.name()))],
            Refusal::Heavy(_) => {
                vec![Help::leave_out(opt::HEAVY), Help::give(opt::KIND.with(Kind::CountMin.name()))]
            }
            Refusal::SmallShare { share, .. } => {
                vec![Help::Do("give a larger share"), Help::give(opt::EPSILON.with(tenth(*share)))]
            }
            Refusal::DistinctCounts => {
                vec![Help::leave_out(opt::DISTINCT), Help::give(opt::KIND.with(Kind::Counting.name()))]
            }
            Refusal::DistinctFilter(_) => vec![Help::leave_out(opt::DISTINCT)],
            Refusal::ExactCounts => {
                vec![Help::leave_out(opt::EXACT), Help::Give(vec![opt::HEAVY.with("SHARE")])]
            }
            Refusal::ExactLayered | Refusal::ExactCounting => {
                vec![Help::leave_out(opt::EXACT), Help::give(opt::KIND.with(Kind::Blocked.name()))]
            }
        }
    }
}

/// Refuses to look for equal keys where that would change nothing, or make counts wrong.
pub fn refuse_distinct(distinct: bool, kind: Kind) -> Result<(), Refusal> {
    match kind {
        Kind::Counting => Ok(()),
        _ if !distinct => Ok(()),
        kind if kind.counts() => Err(Refusal::DistinctCounts),
        kind => Err(Refusal::DistinctFilter(kind)),
    }
}

/// Refuses to keep exact keys beside sketches that do not hold whole keys.
pub fn refuse_exact(exact: bool, kind: Kind) -> Result<(), Refusal> {
    match kind {
        _ if !exact => Ok(()),
        Kind::Layered => Err(Refusal::ExactLayered),
        Kind::Counting => Err(Refusal::ExactCounting),
        kind if kind.counts() => Err(Refusal::ExactCounts),
        _ => Ok(()),
    }
}

/// Refuses to list keys of a share where nothing is counted.
pub fn refuse_heavy(heavy: Option<f64>, kind: Kind) -> Result<(), Refusal> {
    if heavy.is_some() && !kind.counts() { Err(Refusal::Heavy(kind)) } else { Ok(()) }
}

/// A tenth of a share, to two digits.
fn tenth(share: f64) -> String {
    let rounded = format!("{:.1e}", share / 10.0).parse::<f64>();
    format!("{:?}", rounded.unwrap_or(share))
}

/// Refuses a share of which no keys can be kept.
pub fn refuse_small_share(heavy: Option<f64>, epsilon: f64) -> Result<(), Refusal> {
    match heavy {
        Some(share) if share <= epsilon => Err(Refusal::SmallShare { share, epsilon }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use tamis_read::refusal::{Fields, say};

    use super::*;

    #[test]
    fn a_share_within_the_error_is_told_which_error_would_do() {
        let why = Refusal::SmallShare { share: 0.07, epsilon: 0.1 };
        let said = say(&why, &Fields);
        assert!(said.ends_with("or give epsilon=0.007"), "{said}");
    }
}
