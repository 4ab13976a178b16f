//! Files as memory.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

/// The bytes of a file, mapped for reading.
///
/// Whoever shortens the file while it is mapped makes the reader fail with a bus error: map only
/// files that are written once and then replaced by renaming.
#[derive(Debug)]
pub struct Map(Mmap);

impl Map {
    /// Maps a file. This costs the same whatever its size.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Map::of(&File::open(path)?)
    }

    /// Maps an open file.
    pub fn of(file: &File) -> io::Result<Self> {
        // SAFETY: the map is read-only, and its bytes are only handed out as a slice borrowed from
        // it. That no one writes to the file meanwhile cannot be enforced; readers of these bytes
        // check every number they find there, so a changed byte gives an error, not a bad access.
        Ok(Map(unsafe { Mmap::map(file)? }))
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_shows_the_bytes_of_the_file() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/arch/map.rs");
        assert_eq!(&Map::open(path).unwrap()[..], std::fs::read(path).unwrap());
    }

    #[test]
    fn a_missing_file_is_an_error() {
        assert_eq!(Map::open("src/no/such/file").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
