//! The jobs of tamis: a plain-data job in, a plain-data report out.
//!
//! `source → rows → recipe (key, group) → hash → partial sketch → merge → file → report`

pub mod arena;
pub mod build;
pub mod calendar;
pub mod choice;
pub mod compare;
pub mod control;
pub mod count;
pub mod counts;
pub mod dedup;
pub mod design;
pub mod distinct;
pub mod error;
pub mod exact;
pub mod explain;
mod failpoint;
pub mod filter;
pub mod generate;
mod hashes;
pub mod health;
pub mod inspect;
pub mod leftovers;
pub mod lookup;
pub mod memory;
pub mod merge;
pub mod outlet;
pub mod output;
pub mod parallel;
pub mod plan;
pub mod query;
pub mod rebuild;
pub mod remove;
pub mod removed;
pub mod report;
pub mod reproduce;
mod resume;
pub mod rows;
pub mod source;
pub mod spread;
pub mod statistics;
pub mod stream;
pub mod test;
pub mod verify;

pub use control::Control;
pub use error::{Error, Result};
