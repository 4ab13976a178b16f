//! What a user asked for, as plain values, and what follows from it.
//!
//! A request has the options of a job as its fields, as they were given: nothing is checked yet. Every
//! front end makes the same value, by hand or from JSON, and [resolves](BuildJob::resolve) it. What comes
//! of that is a job in which options that contradict each other cannot be written, or a [`Refusal`] that
//! says why there is none. A request that goes to another machine goes as its JSON.

mod add;
mod build;
mod declared;
mod dedup;
mod filter;
mod hashing;
pub mod json;
mod keys;
mod living;
mod params;
mod plan;
mod reading;
mod refusal;
mod sizes;
mod sketch;
mod test;
#[cfg(test)]
mod tests;
pub mod time;

use std::path::Path;

use tamis_make::destination::Destination;
use tamis_make::exact::LEAST_MEMORY;

pub use tamis_make::opt;

pub use self::add::{Add, AddJob, RemoveJob};
pub use self::build::{Build, BuildJob, refuse_fixed};
pub use self::declared::Beside;
pub use self::dedup::DedupJob;
pub use self::filter::FilterJob;
pub use self::hashing::{HashName, Hashing};
pub use self::json::{Malformed, NoMore, read};
pub(crate) use self::keys::with_steps;
pub use self::keys::{Columns, Keys, OtherColumns, replace_columns, replace_weight};
pub use self::params::read_params;
pub use self::plan::{Plan, PlanJob};
pub use self::reading::{MOST_THREADS, Reading, threads};
pub use self::refusal::Refusal;
pub use self::sizes::{ByHand, Counting, Sizes, bytes};
pub use self::sketch::{Kinds, at_rate, refuse_mixed, sketches};
pub use self::test::{Test, TestJob};

/// The memory that a job may take: what was asked for, where that is enough for anything, or what is usual.
fn memory(asked: Option<u64>, usual: u64) -> Result<u64, Refusal> {
    at_least(LEAST_MEMORY, asked, usual)
}

/// The memory that is asked for, which is not less than this, or the usual one.
fn at_least(least: u64, asked: Option<u64>, usual: u64) -> Result<u64, Refusal> {
    match asked {
        Some(bytes) if bytes < least => Err(Refusal::LittleMemory { bytes, least }),
        asked => Ok(asked.unwrap_or(usual)),
    }
}

/// Where records go: to this file (`-` is standard output), or to standard output where they are not only
/// counted.
fn destination(path: Option<&Path>, count: bool) -> Destination {
    match path {
        Some(path) if path == Path::new("-") => Destination::Stdout,
        Some(path) => Destination::at(path),
        None if count => Destination::Nowhere,
        None => Destination::Stdout,
    }
}
