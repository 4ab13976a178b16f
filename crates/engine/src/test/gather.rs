//! Keys on their way to the test: cut by hash into parts, in memory while they are few, on disk
//! beyond.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use tamis::hash::murmur3;

use crate::rows::{Key, Take};

/// Keys are cut into so many parts by the highest bits of their hash.
pub(super) const PARTS: usize = 256;

/// A key with one of its groups. `slot` is the place of its murmur3 hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Record {
    pub hash: u64,
    pub group: u32,
    pub slot: u32,
}

/// The records of one part.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub records: Vec<Record>,
    /// So many murmur3 hashes for each record as the file's filters need: none, mostly.
    pub lanes: Vec<u32>,
    spilled: Option<File>,
}

/// Gathers the keys of one thread.
#[derive(Debug)]
pub(super) struct Gather {
    parts: Vec<Part>,
    lanes: u32,
    held: usize,
    most: usize,
    /// The first failure to write to disk: it cannot be returned from inside a row.
    failed: Option<io::Error>,
}

impl Gather {
    /// With so many murmur3 hashes per key; holds at most so many keys in memory.
    pub fn new(lanes: u32, most: usize) -> Self {
        let mut parts = Vec::new();
        parts.resize_with(PARTS, Part::default);
        Gather { parts, lanes, held: 0, most, failed: None }
    }

    fn spill(&mut self) {
        for part in &mut self.parts {
            if self.failed.is_none() {
                self.failed = part.spill(self.lanes).err();
            }
            // After a failure, too: what cannot be written must not fill the memory.
            part.records.clear();
            part.lanes.clear();
        }
        self.held = 0;
    }

    /// The parts.
    pub fn finish(self) -> io::Result<Vec<Part>> {
        self.failed.map_or(Ok(self.parts), Err)
    }
}

impl Take for Gather {
    #[inline]
    fn take(&mut self, key: Key<'_>) {
        let part = &mut self.parts[(key.hash >> 56) as usize];
        part.records.push(Record { hash: key.hash, group: key.group, slot: part.records.len() as u32 });
        if self.lanes > 0 {
            part.lanes.extend((0..self.lanes).map(|seed| murmur3(key.bytes, seed)));
        }
        self.held += 1;
        if self.held >= self.most {
            self.spill();
        }
    }
}

impl Part {
    fn spill(&mut self, lanes: u32) -> io::Result<()> {
        let file = match &mut self.spilled {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let mut out = BufWriter::with_capacity(1 << 16, file);
        for record in &self.records {
            let first = record.slot as usize * lanes as usize;
            out.write_all(&record.hash.to_le_bytes())?;
            out.write_all(&record.group.to_le_bytes())?;
            for lane in &self.lanes[first..first + lanes as usize] {
                out.write_all(&lane.to_le_bytes())?;
            }
        }
        out.flush()
    }

    /// Brings all of another thread's part, from memory and from disk, into this one.
    pub fn absorb(&mut self, mut other: Part, lanes: u32) -> io::Result<()> {
        if let Some(mut file) = other.spilled.take() {
            let len = file.stream_position()?;
            file.rewind()?;
            let mut input = BufReader::with_capacity(1 << 16, file);
            let mut bytes = vec![0; 12 + 4 * lanes as usize];
            for _ in 0..len / bytes.len() as u64 {
                input.read_exact(&mut bytes)?;
                let (hash, rest) = bytes.split_at(8);
                let (group, rest) = rest.split_at(4);
                let hash = u64::from_le_bytes(hash.try_into().expect("eight bytes"));
                let group = u32::from_le_bytes(group.try_into().expect("four bytes"));
                self.records.push(Record { hash, group, slot: self.records.len() as u32 });
                self.lanes.extend(rest.as_chunks().0.iter().map(|lane| u32::from_le_bytes(*lane)));
            }
        }
        if self.records.is_empty() {
            (self.records, self.lanes) = (other.records, other.lanes);
            return Ok(());
        }
        let first = self.records.len() as u32;
        self.records
            .extend(other.records.iter().map(|record| Record { slot: first + record.slot, ..*record }));
        self.lanes.append(&mut other.lanes);
        Ok(())
    }
}
