//! Why parts of a job are not put together.

use tamis::error::Difference;
use tamis::sizing::Kind;
use tamis_read::refusal::{self, Help, Opt};

use crate::opt;

/// What is wrong with parts of a job, or with how it is cut into them.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Options that work on one machine.
    #[error("this is not available on a cluster")]
    OneMachine(Vec<Opt>),
    /// Counts that depend on the order of rows.
    #[error("conservative counts depend on the order of rows, which a cluster does not keep")]
    Ordered,
    /// A kind that is not built of parts.
    #[error("a {kind} filter is built from all keys at once and cannot be put together from parts")]
    Kind {
        /// The kind.
        kind: Kind,
    },
    /// Ranges that are too small or too large.
    #[error("a range has 64 bytes to 1 GiB, not {bytes} bytes")]
    RangeBytes {
        /// The size that was given.
        bytes: usize,
    },
    /// Ranges that no number counts.
    #[error("ranges of {bytes} bytes are too many")]
    TooManyRanges {
        /// The size that was given.
        bytes: usize,
    },
    /// Parts without parameters.
    #[error("parts are built with given parameters, and there are none")]
    NoParams,
    /// A file to which parts cannot be added.
    #[error("a file to begin with has other parameters: {difference}")]
    Different {
        /// How they differ, as the library says it.
        difference: Difference,
    },
    /// A part that cannot be read.
    #[error("a part of the job is damaged, or comes from another version of tamis")]
    Damaged,
    /// A part of another job.
    #[error("a part of the job has other parameters than the rest: parts of two jobs were mixed")]
    Mixed,
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        match self {
            Refusal::OneMachine(given) => vec![Help::LeaveOut(given.clone()), Help::leave_out(opt::ON)],
            Refusal::Ordered => vec![Help::leave_out(opt::CONSERVATIVE)],
            Refusal::Kind { .. } => vec![Help::give(opt::KIND.with("blocked"))],
            Refusal::TooManyRanges { .. } => vec![Help::Do("make them larger")],
            Refusal::NoParams => vec![Help::PlanFirst],
            Refusal::Damaged => vec![Help::Do("let the driver and all executors have the same version")],
            Refusal::RangeBytes { .. } | Refusal::Different { .. } | Refusal::Mixed => Vec::new(),
        }
    }
}
