//! A job that is spread over machines: what each of them does with its rows, what goes from one to
//! another, and how a file comes of it. An engine that has the machines, such as Spark, moves the
//! bytes, and calls this module to process them.
//!
//! - **Counting.** A [`Counter`] counts the rows of one machine. What it saw is cut by hash into parts;
//!   counters elsewhere bring each part together, and the last one plans, or builds at once.
//! - **Building.** With parameters, a [`Partial`] holds what the rows of one machine change in the data
//!   area, cut into ranges of this many bytes: as a list of touches while they are few, then as words. A
//!   [`Merger`] brings ranges together, and an [`Assembly`] writes them to the file one by one. No
//!   machine holds more than it must, however large the filter.
//! - **Testing.** `tamis_jobs::check::apart` does the same for a test.
//!
//! Parts are numbered bytes, each with the version of this encoding, a digest of what the job is
//! about, and a checksum ([`wire`]). The bytes of the result are those of one machine: all of it rests
//! on partition invariance.

mod assembly;
mod counter;
mod partial;
mod refusal;
mod rows;
pub mod wire;

pub use assembly::Assembly;
pub use counter::{Counter, NotCut, Outcome, planned_without_rows, refuse};
pub use partial::{Merger, Partial};
pub use refusal::Refusal;
pub use rows::Rows;

/// Bytes of a range, where nothing else is asked for.
pub const RANGE_BYTES: usize = 16 << 20;

/// Parts that keys are cut into by their hash, where nothing else is asked for.
pub const MOST_PARTS: usize = 256;
