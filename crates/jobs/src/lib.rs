//! The jobs of tamis: a plain-data job in, a plain-data report out.
//!
//! `source → rows → recipe (key, group) → hash → partial sketch → merge → file → report`

pub mod arena;
pub mod ask;
pub mod batch;
pub mod build;
pub mod check;
pub mod compare;
pub mod count;
pub mod count_min;
pub mod dedup;
pub mod design;
pub mod distinct;
pub mod exact;
pub mod explain;
pub mod failpoint;
pub mod filter;
mod hashes;
pub mod health;
pub mod inspect;
pub mod leftovers;
pub mod lookup;
pub mod marked;
pub mod memory;
pub mod merge;
pub mod number;
pub mod opt;
pub mod outlet;
pub mod output;
pub mod parallel;
pub mod plan;
pub mod query;
pub mod rebuild;
pub mod remove;
pub mod removed_keys;
pub mod request;
pub mod resume;
pub mod rows;
pub mod spread;
pub mod statistics;
pub mod text;
pub mod verify;

pub use tamis_read::{Control, Error, Result};
