//! Learn a set once, in little memory; then sieve tables and streams of any size through it.
#![cfg_attr(not(any(feature = "std", test)), no_std)]
// Files alone use some of what sketches offer to the rest of the crate.
#![cfg_attr(not(feature = "file"), allow(dead_code, unused_imports))]

extern crate alloc;

pub mod arch;
pub mod blocked;
pub mod bloom;
mod chunks;
pub mod counting;
pub mod countmin;
pub mod error;
#[cfg(all(feature = "std", feature = "serde"))]
pub mod format;
pub mod fuse;
pub mod hash;
#[cfg(feature = "serde")]
pub mod key;
pub mod layered;
#[cfg(feature = "serde")]
pub mod params;
pub mod real;
pub mod scalable;
pub mod sizing;
#[cfg(feature = "serde")]
pub mod sketch;

#[cfg(feature = "file")]
pub mod whole;

#[cfg(test)]
mod testing;

pub use error::{Error, Result};
#[cfg(all(feature = "std", feature = "serde"))]
pub use format::Container;
#[cfg(feature = "serde")]
pub use params::Params;
pub use sizing::Kind;

#[cfg(target_endian = "big")]
compile_error!("tamis maps little-endian files straight into memory");
