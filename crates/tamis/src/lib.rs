//! Learn a set once, in little memory; then sieve tables and streams of any size through it.
//!
//! The library holds the sketches, the file format and the recipe by which keys are made.
//! It starts no threads and opens no sockets.

pub mod arch;
pub mod error;
pub mod hash;
pub mod key;

pub use error::{Error, Result};
