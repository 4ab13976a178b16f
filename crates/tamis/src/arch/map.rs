//! Memory straight from the operating system: mapped files, and large zeroed arrays on huge
//! pages.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};

use memmap2::{Mmap, MmapMut};

/// The bytes of a file, mapped for reading.
#[derive(Debug)]
pub struct Map(Mmap);

impl Map {
    /// Maps a file. This costs the same whatever its size.
    pub fn of(file: &File) -> io::Result<Map> {
        // SAFETY: the map is only ever read as plain bytes and words, of which every pattern is
        // valid, and readers check every number they find there. A file that another process
        // truncates while it is mapped raises SIGBUS, as in every program that maps files; ours
        // are replaced by rename, never changed in place.
        Ok(Map(unsafe { Mmap::map(file) }?))
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// A zeroed array of words. Large ones ask for huge pages: random access to ordinary pages
/// costs twice as much, in the walk of the page table.
#[derive(Debug)]
pub struct Words {
    memory: Memory,
    len: usize,
}

#[derive(Debug)]
enum Memory {
    Heap(Vec<u64>),
    Mapped(MmapMut),
}

/// From here on an array is a mapping of its own, and so begins at a cache line.
const MAPPED: usize = 64 << 10;

/// From here on it asks for huge pages: two of them.
const HUGE: usize = 4 << 20;

impl Words {
    /// So many words, all zero. Fails where the memory is not to be had.
    pub fn zeroed(len: usize) -> io::Result<Words> {
        let bytes = len.checked_mul(8).ok_or(io::ErrorKind::OutOfMemory)?;
        let memory = if bytes >= MAPPED {
            let map = MmapMut::map_anon(bytes)?;
            #[cfg(target_os = "linux")]
            if bytes >= HUGE {
                let _ = map.advise(memmap2::Advice::HugePage); // ordinary pages work too
            }
            Memory::Mapped(map)
        } else {
            Memory::Heap(vec![0; len])
        };
        Ok(Words { memory, len })
    }
}

impl Default for Words {
    fn default() -> Self {
        Words { memory: Memory::Heap(Vec::new()), len: 0 }
    }
}

impl Deref for Words {
    type Target = [u64];

    #[inline]
    fn deref(&self) -> &[u64] {
        match &self.memory {
            Memory::Heap(words) => words,
            Memory::Mapped(map) => &bytemuck::cast_slice(map)[..self.len],
        }
    }
}

impl DerefMut for Words {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u64] {
        match &mut self.memory {
            Memory::Heap(words) => words,
            Memory::Mapped(map) => &mut bytemuck::cast_slice_mut(map)[..self.len],
        }
    }
}

impl AsRef<[u64]> for Words {
    fn as_ref(&self) -> &[u64] {
        self
    }
}

impl AsMut<[u64]> for Words {
    fn as_mut(&mut self) -> &mut [u64] {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_arrays_start_zeroed_and_keep_what_is_written() {
        for len in [0, 1, 1000, MAPPED / 8 - 1, MAPPED / 8, HUGE / 8, HUGE / 8 + 3] {
            let mut words = Words::zeroed(len).unwrap();
            assert_eq!(words.len(), len);
            assert!(words.iter().all(|&word| word == 0));
            if let Some(last) = words.last_mut() {
                *last = 7;
                assert_eq!(words[len - 1], 7);
            }
        }
    }

    #[test]
    fn more_memory_than_there_can_be_is_an_error() {
        assert!(Words::zeroed(usize::MAX).is_err());
        assert!(Words::zeroed(1 << 58).is_err());
    }
}
