//! What is asked of tamis, and the jobs that ask files: a request is checked once and becomes a job;
//! query, filter, test and dedup ask sketches; a job can be spread over machines.
//!
//! Plain data in, plain data out. What makes the files is in `tamis-make`.

pub mod ask;
pub mod check;
pub mod classes;
pub mod dedup;
pub mod explain;
pub mod filter;
#[doc(hidden)]
pub mod fuzz;
pub mod inspect;
pub mod locate;
pub mod lookup;
pub mod marked;
pub mod parquet;
pub mod query;
pub mod removed_keys;
pub mod request;
pub mod row_by_row;
pub mod search;
pub mod statistics;
mod variants;
pub mod verify;

pub use tamis_read::{Control, Error, Result};
