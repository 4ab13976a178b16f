//! The keys themselves, kept on disk beside the filters: `NAME.tamis.keys`.
//!
//! A filter errs now and then; what it lets pass can be checked a second time here. The file
//! holds every (key, group) pair once, sorted by the hash of the key and cut into blocks with an
//! index, so that a key is found by reading one block, and many keys, sorted, by reading each
//! block once: in little memory, whatever the number of keys. A digest ties it to the very file
//! of filters it was made for. `docs/format.md` draws every byte.
//!
//! It is made by sorting outside of memory: sorted runs are written to disk and merged.

mod join;
mod keep;
mod layout;
mod merge;
mod refusal;
mod runs;
mod store;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

pub use self::join::{ANY_GROUP, Answers, Questions};
pub use self::keep::{Found, Gathered, beside, check_place, each, found, gather, write};
pub use self::layout::fuzz;
pub use self::refusal::{Broken, Contradiction, Part, Refusal};
pub use self::runs::full_disk;
pub(crate) use self::runs::{read_exact_at, temporary};
pub use self::store::Store;

/// Where the keys of a file of filters are kept: beside the file itself, where the name is that of a link.
pub fn path_beside(filters: &Path) -> PathBuf {
    let led = if filters.is_symlink() { fs::canonicalize(filters).ok() } else { None };
    let mut name = OsString::from(led.as_deref().unwrap_or(filters).as_os_str());
    name.push(".keys");
    PathBuf::from(name)
}

/// Memory to use where the user did not say.
pub const MEMORY: u64 = 256_000_000;

/// The least that is of use.
pub const LEAST_MEMORY: u64 = 1_000_000;
