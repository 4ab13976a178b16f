//! The container: one file that holds the sketches of all groups, and all that is needed to
//! use them. `docs/format.md` draws every byte.
//!
//! Opening costs O(groups): the header, the description and the directory are checked, the
//! sections are only mapped. [`Container::verify`] reads them all.

mod header;
mod read;
mod write;

pub use crate::sketch::Beside;
pub use header::{ENTRY_BYTES, HEADER_BYTES, MAGIC, VERSION, declared_length};
pub use read::Container;
pub use write::{Extras, Tally, head, seal, tail, used, write};

/// Where the parts of a file begin and end. All but the header's place follow from lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extents {
    description: (u64, u64),
    directory: (u64, u64),
    names: (u64, u64),
    data: (u64, u64),
    heavy: (u64, u64),
    about: (u64, u64),
    journal: (u64, u64),
}

/// Every part begins at a cache line.
const ALIGN: u64 = 64;

impl Extents {
    /// From the lengths of description, names and data with the number of groups, and those of what stands
    /// after the data: heavy keys, about part and journal; `None` on overflow.
    fn of(
        [description, groups, names, data]: [u64; 4],
        [heavy, about, journal]: [u64; 3],
    ) -> Option<Extents> {
        let part = |after: u64, len: u64| -> Option<(u64, u64)> {
            let start = after.checked_next_multiple_of(ALIGN)?;
            Some((start, start.checked_add(len)?))
        };
        let description = part(HEADER_BYTES as u64, description)?;
        let directory = part(description.1, groups.checked_mul(ENTRY_BYTES as u64)?)?;
        let names = part(directory.1, names)?;
        let data = part(names.1, data)?;
        let heavy = part(data.1, heavy)?;
        // Nothing, where a part is not there: no padding either.
        let optional = |after: u64, len: u64| if len == 0 { Some((after, after)) } else { part(after, len) };
        let about = optional(heavy.1, about)?;
        let journal = optional(about.1, journal)?;
        Some(Extents { description, directory, names, data, heavy, about, journal })
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    crate::hash::xxh3(bytes, 0)
}

#[cfg(test)]
mod tests;
