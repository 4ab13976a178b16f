//! From rows to files of sketches: keys are made of rows, counted, planned for, put into sketches and
//! written whole; files are added to, merged, compared and rebuilt.
//!
//! `rows → recipe (key, group) → hash → partial sketch → merge → file`
//!
//! Plain data in, plain data out. What asks the files is in `tamis-jobs`.

pub mod alone;
pub mod arena;
pub mod aside;
pub mod batch;
pub mod build;
pub mod changing;
pub mod compare;
pub mod count;
pub mod count_min;
pub mod design;
pub mod destination;
pub mod distinct;
pub mod exact;
#[doc(hidden)]
pub mod failpoint;
pub mod files;
pub mod foreign;
pub mod groups;
pub mod hashes;
pub mod health;
pub mod leftovers;
pub mod live;
pub mod memory;
pub mod merge;
pub mod names;
pub mod number;
pub mod numbering;
pub mod opt;
pub mod order;
mod pairs;
pub mod parallel;
pub mod pipe;
pub mod place;
pub mod plan;
pub mod rebuild;
pub mod remove;
pub mod resume;
pub mod rows;
pub mod seed;
pub mod spread;
pub mod text;
pub mod written;

pub use tamis_read::{Control, Error, Result};
