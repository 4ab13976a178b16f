//! Memory straight from the operating system: mapped files, and large zeroed arrays on huge
//! pages. Without the feature `std`, arrays are those of the allocator.
#![allow(unsafe_code)]

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};
#[cfg(feature = "std")]
use std::{fs::File, io};

#[cfg(feature = "std")]
use memmap2::{Mmap, MmapMut, MmapOptions};

use crate::error::{Error, Result};

/// The bytes of a file, mapped for reading.
#[cfg(feature = "std")]
#[derive(Debug)]
pub struct Map(Mmap);

#[cfg(feature = "std")]
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

#[cfg(feature = "std")]
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
    #[cfg(feature = "std")]
    Mapped(MmapMut),
}

/// From here on an array is a mapping of its own, and so begins at a cache line.
#[cfg(feature = "std")]
const MAPPED: usize = 64 << 10;

/// From here on it asks for huge pages of this size.
#[cfg(feature = "std")]
const HUGE: usize = 2 << 20;

impl Words {
    /// This many words, all zero, or [`Error::Memory`].
    pub fn new(len: usize) -> Result<Words> {
        let none = || Error::Memory { bytes: (len as u64).saturating_mul(8) };
        #[cfg(feature = "std")]
        if let Some(map) = mapped(len.checked_mul(8).ok_or_else(none)?) {
            return Ok(Words { memory: Memory::Mapped(map), len });
        }
        let mut words = Vec::new();
        words.try_reserve_exact(len).map_err(|_| none())?;
        words.resize(len, 0);
        Ok(Words { memory: Memory::Heap(words), len })
    }

    /// The same, with an error of the standard library.
    #[cfg(feature = "std")]
    pub fn zeroed(len: usize) -> io::Result<Words> {
        Words::new(len).map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, error))
    }

    /// The same memory for this many words, whatever stands in it; none where it has no room for them.
    pub fn reused(self, len: usize) -> Option<Words> {
        let room = match &self.memory {
            Memory::Heap(words) => words.len(),
            #[cfg(feature = "std")]
            Memory::Mapped(map) => map.len() / 8,
        };
        (len <= room).then_some(Words { len, ..self })
    }

    /// A copy of these words, or [`Error::Memory`].
    pub fn copy_of(words: &[u64]) -> Result<Words> {
        let mut copy = Words::new(words.len())?;
        copy.copy_from_slice(words);
        Ok(copy)
    }
}

/// A mapping for a large array. None for a small one, nor where nothing can be mapped (there are such
/// systems): the allocator may have the memory.
#[cfg(feature = "std")]
fn mapped(bytes: usize) -> Option<MmapMut> {
    if bytes < MAPPED {
        return None;
    }
    let mut options = MmapOptions::new();
    if bytes >= HUGE {
        // Linux lets mappings of whole huge pages begin at one.
        options.len(bytes.checked_next_multiple_of(HUGE)?);
    } else {
        // Small pages one by one, as they are written to, take three times as long.
        options.len(bytes).populate();
    }
    let map = options.map_anon().ok()?;
    #[cfg(target_os = "linux")]
    if bytes >= HUGE {
        use memmap2::Advice;
        // Of what is left over, less than half of one takes no more than it needs. Ordinary pages work too.
        let huge = (bytes + HUGE / 2) / HUGE * HUGE;
        let _ = map.advise_range(Advice::HugePage, 0, huge);
        if huge < bytes {
            let _ = map.advise_range(Advice::PopulateWrite, huge, bytes - huge);
        }
    }
    Some(map)
}

/// A list with room for this many values, all of which will be written: on huge pages where that is worth it, and
/// with its pages there. Each that comes as it is first written to costs as much as a hundred values.
#[cfg(feature = "file")]
pub fn roomy<T>(len: usize) -> Vec<T> {
    let bytes = len.saturating_mul(size_of::<T>());
    // With what an allocator notes before it, this is a mapping of whole huge pages, which Linux lets begin at one; where
    // less than half of the last would be used, small pages come after the others.
    let huge = match bytes {
        HUGE.. => bytes.saturating_add(NOTES + HUGE / 2) / HUGE * HUGE - NOTES,
        _ => 0,
    };
    let list: Vec<T> = Vec::with_capacity(len.max(huge / size_of::<T>().max(1)));
    #[cfg(target_os = "linux")]
    {
        use rustix::mm::Advice;
        if huge > 0 {
            advise(list.as_ptr().cast(), huge, Advice::LinuxHugepage);
        }
        if bytes >= MAPPED {
            advise(list.as_ptr().cast(), bytes, Advice::LinuxPopulateWrite);
        }
    }
    list
}

/// What an allocator may take of a mapping for its own notes: a list that is this much shorter than some huge pages takes
/// these alone.
#[cfg(feature = "file")]
const NOTES: usize = 4 << 10;

/// Says how some bytes will be used: all of the pages that they are on.
#[cfg(all(feature = "file", target_os = "linux"))]
fn advise(first: *const u8, bytes: usize, advice: rustix::mm::Advice) {
    let page = rustix::param::page_size();
    let before = first as usize % page;
    let start = first.wrapping_sub(before).cast_mut().cast();
    // SAFETY: this changes how memory is provided, and nothing that is in it: also where some of the first or of the last
    // page belongs to others. Memory is provided without it, too.
    let _ = unsafe { rustix::mm::madvise(start, (before + bytes).next_multiple_of(page), advice) };
}

impl Default for Words {
    fn default() -> Self {
        Words { memory: Memory::Heap(Vec::new()), len: 0 }
    }
}

/// # Panics
/// Where there is no memory for the copy, as with any collection. [`Words::copy_of`] gives an error.
impl Clone for Words {
    fn clone(&self) -> Self {
        Words::copy_of(self).unwrap_or_else(|error| panic!("{error}"))
    }
}

impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Deref for Words {
    type Target = [u64];

    #[inline]
    fn deref(&self) -> &[u64] {
        match &self.memory {
            Memory::Heap(words) => &words[..self.len],
            #[cfg(feature = "std")]
            Memory::Mapped(map) => &bytemuck::cast_slice(map)[..self.len],
        }
    }
}

impl DerefMut for Words {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u64] {
        match &mut self.memory {
            Memory::Heap(words) => &mut words[..self.len],
            #[cfg(feature = "std")]
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

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_arrays_start_zeroed_and_keep_what_is_written() {
        for len in [0, 1, 1000, MAPPED / 8 - 1, MAPPED / 8, HUGE / 8, HUGE / 8 + 3] {
            let mut words = Words::new(len).unwrap();
            assert_eq!(words.len(), len);
            assert!(words.iter().all(|&word| word == 0));
            if let Some(last) = words.last_mut() {
                *last = 7;
                assert_eq!(words[len - 1], 7);
            }
            assert_eq!(words.clone(), words);
        }
    }

    #[test]
    fn an_array_is_used_again_for_as_many_words_as_it_has_room_for() {
        for len in [1, 1000, MAPPED / 8, HUGE / 8] {
            let mut words = Words::new(len).unwrap();
            words.fill(7);
            let fewer = words.reused(len / 2).unwrap();
            assert!(fewer.len() == len / 2 && fewer.iter().all(|&word| word == 7));
            assert_eq!(Words::copy_of(&fewer).unwrap(), fewer);
            let all = fewer.reused(len).unwrap();
            assert!(all.len() == len && all.iter().all(|&word| word == 7));
            assert!(all.reused(len + HUGE).is_none());
        }
    }

    #[cfg(feature = "file")]
    #[test]
    fn lists_have_room_for_what_was_asked_and_not_for_much_more() {
        fn room<T>(len: usize) {
            let (asked, room) = (len * size_of::<T>(), roomy::<T>(len).capacity() * size_of::<T>());
            assert!(room >= asked && room <= asked + HUGE / 2, "{room} for {asked}");
            assert!(asked > HUGE - NOTES || room == asked);
        }
        for bytes in
            [0, 1, 4096, MAPPED - 1, MAPPED, HUGE - NOTES, HUGE - 1, HUGE, HUGE + 1, 3 * HUGE - NOTES]
        {
            room::<u8>(bytes);
            room::<u64>(bytes / 8);
            room::<[u32; 3]>(bytes / 12);
            room::<()>(bytes);
        }
        let mut list = roomy(HUGE);
        list.resize(HUGE, 7u8);
        assert!(list.iter().all(|&byte| byte == 7));
    }

    #[test]
    fn more_memory_than_there_can_be_is_an_error() {
        for len in [usize::MAX, 1 << 58] {
            assert!(matches!(Words::new(len), Err(Error::Memory { .. })));
            assert!(Words::zeroed(len).is_err());
        }
    }
}
