//! Learn a set once, in little memory; then sieve tables and streams of any size through it.
//!
//! The library holds the sketches, the file format and the recipe by which keys are made.
//! It starts no threads and opens no sockets.

pub mod arch;
pub mod blocked;
pub mod bloom;
pub mod counting;
pub mod countmin;
pub mod error;
pub mod format;
pub mod fuse;
pub mod hash;
pub mod key;
pub mod layered;
pub mod params;
pub mod real;
pub mod scalable;
pub mod sizing;
pub mod sketch;

#[cfg(test)]
mod testing;

pub use error::{Error, Result};
pub use format::Container;
pub use params::Params;

#[cfg(target_endian = "big")]
compile_error!("tamis maps little-endian files straight into memory");
