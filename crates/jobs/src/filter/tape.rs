//! Records that wait for an answer, in order: in memory while they are few, on disk beyond.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::mem;
use std::path::PathBuf;

use tamis_read::error::Result;

use tamis_make::exact::full_disk;

/// Records of a chunk, each with the questions that decide on it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Suspects {
    /// The bytes of the records, as far as they may be written.
    pub(super) raw: Vec<u8>,
    pub(super) items: Vec<Item>,
    /// The groups that are asked for, question by question.
    pub(super) groups: Vec<u32>,
    /// For each record with questions, its key: hash, bytes, and where these end.
    pub(super) hashes: Vec<u64>,
    pub(super) keys: Vec<u8>,
    pub(super) ends: Vec<u32>,
}

/// A record: its length in the raw bytes; how many questions there are about it (without any, it
/// is not admitted); the group whose answer decides whether it is admitted, or any.
pub(super) type Item = [u32; 3];

impl Suspects {
    pub(super) fn clear(&mut self) {
        self.raw.clear();
        self.items.clear();
        self.groups.clear();
        self.hashes.clear();
        self.keys.clear();
        self.ends.clear();
    }

    /// The memory of what waits; keys go elsewhere.
    fn bytes(&self) -> u64 {
        (self.raw.len() + size_of::<Item>() * self.items.len() + 4 * self.groups.len()) as u64
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for len in [self.raw.len(), self.items.len(), self.groups.len()] {
            out.write_all(&(len as u64).to_le_bytes())?;
        }
        out.write_all(&self.raw)?;
        out.write_all(bytemuck::cast_slice(&self.items))?;
        out.write_all(bytemuck::cast_slice(&self.groups))
    }

    /// Reads what was written; false at the end.
    fn read(&mut self, from: &mut impl Read) -> io::Result<bool> {
        let mut lens = [0; 24];
        if let Err(error) = from.read_exact(&mut lens) {
            return if error.kind() == io::ErrorKind::UnexpectedEof { Ok(false) } else { Err(error) };
        }
        let len = |i: usize| lens[8 * i..8 * i + 8].try_into().map_or(0, u64::from_le_bytes) as usize;
        self.raw.resize(len(0), 0);
        from.read_exact(&mut self.raw)?;
        self.items.resize(len(1), [0; 3]);
        from.read_exact(bytemuck::cast_slice_mut(&mut self.items))?;
        self.groups.resize(len(2), 0);
        from.read_exact(bytemuck::cast_slice_mut(&mut self.groups))?;
        Ok(true)
    }
}

/// What waits.
#[derive(Debug)]
pub(super) struct Tape {
    held: VecDeque<Suspects>,
    bytes: u64,
    most: u64,
    folder: PathBuf,
    disk: Option<BufWriter<File>>,
    /// Whether anything is on disk: then all that comes later goes there, too.
    spilled: bool,
}

impl Tape {
    /// With this much memory; the rest waits in a file without a name in this folder.
    pub(super) fn new(most: u64, folder: PathBuf) -> Self {
        Tape { held: VecDeque::new(), bytes: 0, most, folder, disk: None, spilled: false }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty() && !self.spilled
    }

    /// Takes records.
    pub(super) fn push(&mut self, suspects: &mut Suspects) -> Result<()> {
        if !self.spilled && self.bytes + suspects.bytes() <= self.most {
            self.bytes += suspects.bytes();
            self.held.push_back(Suspects {
                raw: mem::take(&mut suspects.raw),
                items: mem::take(&mut suspects.items),
                groups: mem::take(&mut suspects.groups),
                ..Suspects::default()
            });
            return Ok(());
        }
        let disk = match &mut self.disk {
            Some(disk) => disk,
            None => {
                let file = tempfile::tempfile_in(&self.folder).map_err(full_disk(&self.folder))?;
                self.disk.insert(BufWriter::with_capacity(1 << 18, file))
            }
        };
        self.spilled = true;
        suspects.write(disk).map_err(full_disk(&self.folder))
    }

    /// Gives everything back in order, and forgets it.
    pub(super) fn replay(&mut self, mut take: impl FnMut(&Suspects) -> Result<()>) -> Result<()> {
        while let Some(suspects) = self.held.pop_front() {
            take(&suspects)?;
        }
        self.bytes = 0;
        if !mem::take(&mut self.spilled) {
            return Ok(());
        }
        let Some(disk) = &mut self.disk else { return Ok(()) };
        disk.flush().map_err(full_disk(&self.folder))?;
        let mut file = disk.get_ref();
        file.seek(SeekFrom::Start(0)).map_err(full_disk(&self.folder))?;
        let mut from = BufReader::with_capacity(1 << 18, file);
        let mut suspects = Suspects::default();
        while suspects.read(&mut from).map_err(full_disk(&self.folder))? {
            take(&suspects)?;
        }
        file.set_len(0).map_err(full_disk(&self.folder))?;
        file.seek(SeekFrom::Start(0)).map_err(full_disk(&self.folder))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspects(number: u32) -> Suspects {
        Suspects {
            raw: vec![number as u8; number as usize % 7],
            items: vec![[number, 1, number]; number as usize % 3],
            groups: (0..number % 5).collect(),
            ..Suspects::default()
        }
    }

    #[test]
    fn what_waits_comes_back_in_order_from_memory_and_from_disk() {
        for most in [0, 100, 1 << 20] {
            let mut tape = Tape::new(most, std::env::temp_dir());
            for round in 1..4 {
                assert!(tape.is_empty());
                (0..100 * round).for_each(|number| tape.push(&mut suspects(number)).unwrap());
                let mut found = Vec::new();
                tape.replay(|suspects| {
                    found.push(suspects.clone());
                    Ok(())
                })
                .unwrap();
                let found: Vec<_> =
                    found.iter().map(|s| (s.raw.clone(), s.items.clone(), s.groups.clone())).collect();
                let model: Vec<_> =
                    (0..100 * round).map(suspects).map(|s| (s.raw, s.items, s.groups)).collect();
                assert_eq!(found, model);
            }
        }
    }
}
