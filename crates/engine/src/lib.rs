//! The jobs of tamis: a plain-data job in, a plain-data report out.
//!
//! `source → rows → recipe (key, group) → hash → partial sketch → merge → file → report`

pub mod control;
pub mod error;
pub mod report;
pub mod source;

pub use control::Control;
pub use error::{Error, Result};
