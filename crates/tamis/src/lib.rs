//! Learn a set once, in little memory; then ask it, save it, merge it, and hand it to other programs.
//!
//! A filter answers "was this key added?" with *surely not* or *probably*, in about ten bits for a key
//! of any length. A counter answers "how often did this key come?" and is never too low. What they
//! save is a `.tamis` file, which records how its keys were made: the `tamis` program, Python and
//! Spark read it, and write it byte for byte the same.
//!
//! ```standalone_crate
//! # let folder = tempfile::tempdir()?;
//! # std::env::set_current_dir(folder.path())?;
//! # let (emails, keys) = (["ann@example.org", "bob@example.org"], ["a", "b"]);
//! # let other = tamis::Filter::with_rate(1_000_000, 0.01)?;
//! let mut seen = tamis::Filter::with_rate(1_000_000, 0.01)?;      // the default kind; a builder for the rest
//! for e in &emails { seen.insert(e); }                            // impl AsRef<[u8]>: bytes, so that languages agree
//! assert!(seen.contains("ann@example.org"));
//! seen.merge(&other)?;                                             // an error that names the difference, never a panic
//! println!("{} keys, rate {}", seen.estimated_len(), seen.rate());
//! seen.save("emails.tamis")?;                                      // whole or not at all
//! let file = tamis::File::open("emails.tamis")?;                   // memory map; recipe applied
//! file.contains("ANN@example.org "); file.groups("ann@example.org");
//! let some: tamis::Filter = keys.iter().collect();
//! # assert!(file.contains("ann@example.org") && some.contains("a"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which type
//!
//! | you want to | use |
//! |---|---|
//! | keep a set in memory, add to it, save it | [`Filter`] |
//! | count keys in memory, save the counts | [`Counter`] |
//! | ask a file of any kind, also with groups or of several columns | [`File`] |
//! | hash yourself, ask many keys at a time, lay sketches out in your own memory | the modules [`blocked`], [`bloom`], [`fuse`], [`ribbon`], [`counting`], [`scalable`], [`layered`], [`countmin`], [`memory`] |
//! | write or read containers with groups | [`format`](mod@format), [`Container`], [`Params`] |
//!
//! # Which kind
//!
//! | kind | when | bits per key at 1 % | merge | add later | remove |
//! |---|---|---|---|---|---|
//! | [`blocked`] (default) | nearly always: one cache line for a key | 10.1 | yes | yes | no |
//! | [`bloom`] | memory counts more than time | 9.6 | yes | yes | no |
//! | [`fuse`] | the set is known and final | 7.9 | no | no | no |
//! | [`ribbon`] | the same, and memory counts more than time | 6.7 | no | no | no |
//! | [`counting`] | keys leave again | 40.4 | yes | yes | yes |
//! | [`scalable`] | nobody knows how many keys will come | about 20 | no | yes | no |
//! | [`layered`] | records of several keywords | | yes | yes | no |
//! | [`countmin`] | how often, not whether | | yes | yes | no |
//!
//! # Which error
//!
//! - **A filter finds a key that was never added** with a small probability, its *rate*. With the keys
//!   that it was sized for, the expected rate is at most the one asked for; with twice as many it is more
//!   than ten times as high at 1 %. [`Filter::rate`] is what it is now. A key that was added is always
//!   found. (In a `counting` filter, as long as nothing was removed that was never added.)
//! - **A counter gives too much**, never too little: at most ε times the total too much, except for a
//!   probability of δ.
//! - **Sizing, merging, reading and writing** return [`Error`], which says what to do. Nothing panics on
//!   keys, numbers, or what it reads. Panics are left for two cases, and each function says so: memory
//!   that runs out where no error can be returned, as in every collection; and, in the sketches' functions
//!   for many keys at a time, slices that do not have one item for each key.
//!
//! # Three examples
//!
//! Lines that were not seen before:
//!
//! ```
//! let mut seen = tamis::Filter::with_rate(1_000_000, 0.001)?;
//! let lines = ["GET /", "GET /a", "GET /"];
//! let first: Vec<_> = lines.iter().filter(|line| seen.insert(line)).collect();
//! assert_eq!(first, [&"GET /", &"GET /a"]);
//! # Ok::<(), tamis::Error>(())
//! ```
//!
//! Parts that are built apart, on threads or machines, and merged; equal parameters are all they need:
//!
//! ```
//! use tamis::Filter;
//!
//! let part = |keys: &[&str]| -> tamis::Result<Filter> {
//!     let mut filter = Filter::with_rate(1000, 0.01)?;
//!     filter.extend(keys);
//!     Ok(filter)
//! };
//! let mut whole = part(&["ann", "bob"])?;
//! whole.merge(&part(&["cleo"])?)?;
//! assert_eq!(whole, part(&["ann", "bob", "cleo"])?);
//!
//! let smaller = Filter::with_rate(10, 0.01)?;
//! assert_eq!(
//!     whole.merge(&smaller).unwrap_err().to_string(),
//!     "one has 10240 bits and 8 hashes for 1000 keys at 0.01, the other 512 bits and 8 hashes for 10 keys at 0.01",
//! );
//! # Ok::<(), tamis::Error>(())
//! ```
//!
//! How often words came, whatever their case, from a file:
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("words.tamis");
//! use tamis::{Counter, File, key::Step};
//!
//! let mut words = Counter::builder().epsilon(0.001).steps([Step::Lower]).build()?;
//! words.extend("To be or not to be".split(' '));
//! words.save(&path)?;
//! assert_eq!(File::open(&path)?.estimate("TO"), Some(2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where the limits are
//!
//! - A filter cannot list its keys, and a counter cannot either.
//! - Keys are bytes. `"7"` and `7u32.to_le_bytes()` are different keys; text is what other languages
//!   agree on. In tables, an empty cell and `\N` stand for a missing value: a program can add such a
//!   key and find it again, but the command line and Python refuse to ask for it.
//! - Whoever knows the seed can choose keys that collide. Give a [seed](filter::Builder::seed) that nobody
//!   knows where strangers choose the keys. XXH3 is not a cryptographic hash.
//! - Two different keys of the same 64-bit hash are one: with a billion keys that happens about once
//!   in forty sets, and it is far below any rate that a filter has.
//! - A sketch has at most 2⁵⁶ bits; a `fuse` or `ribbon` filter at most 2⁴⁰ keys; `murmur3` and `polynomial` reach 2³² bits.
//! - Files are little-endian and mapped as they are: the library does not build for big-endian machines.
//!
//! # Features
//!
//! All are on by default. Without any, the sketches, [`sizing`] and [`hash`] build with `alloc` alone, for
//! machines without an operating system.
//!
//! | feature | adds |
//! |---|---|
//! | `std` | vectors found at run time, large arrays on huge pages |
//! | `serde` | recipes and parameters ([`key`], [`params`], [`sketch`]), which are described in JSON; with `std` also [`Filter`], [`Counter`] and [`format`](mod@format) |
//! | `file` | [`File`], `save` and `open`, and the writer of whole files ([`whole`]); needs both others |
//!
//! The library compiles with Rust 1.89 and later.
#![cfg_attr(not(any(feature = "std", test)), no_std)]
// Files alone use some of what sketches offer to the rest of the crate.
#![cfg_attr(not(feature = "file"), allow(dead_code, unused_imports))]

extern crate alloc;

#[cfg(feature = "serde")]
pub mod about;
mod answers;
mod arch;
pub mod blocked;
pub mod bloom;
mod chunks;
#[cfg(all(feature = "std", feature = "serde"))]
pub mod counter;
pub mod counting;
pub mod countmin;
pub mod error;
#[cfg(feature = "file")]
pub mod file;
#[cfg(all(feature = "std", feature = "serde"))]
pub mod filter;
#[cfg(all(feature = "std", feature = "serde"))]
pub mod format;
pub mod fuse;
pub mod hash;
#[cfg(feature = "serde")]
pub mod key;
pub mod layered;
pub mod memory;
#[cfg(feature = "serde")]
pub mod params;
pub mod real;
pub mod ribbon;
pub mod scalable;
pub mod sizing;
#[cfg(feature = "serde")]
pub mod sketch;
#[cfg(all(feature = "std", feature = "serde"))]
mod stored;

#[cfg(feature = "file")]
pub mod whole;

#[cfg(test)]
mod testing;

#[cfg(all(feature = "std", feature = "serde"))]
pub use counter::Counter;
pub use error::{Error, Result};
#[cfg(feature = "file")]
pub use file::File;
#[cfg(all(feature = "std", feature = "serde"))]
pub use filter::Filter;
#[cfg(all(feature = "std", feature = "serde"))]
pub use format::Container;
#[cfg(feature = "serde")]
pub use params::Params;
pub use sizing::Kind;

#[cfg(target_endian = "big")]
compile_error!("tamis maps little-endian files straight into memory");

/// The program on the README compiles.
#[cfg(all(doctest, feature = "file"))]
#[doc = include_str!("../README.md")]
struct ReadMe;
