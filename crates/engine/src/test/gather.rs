//! Keys on their way to the test: cut by hash into parts, in memory while they are few, on disk
//! beyond.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex};

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
    /// What of it is on disk.
    runs: Vec<Run>,
}

/// Records on disk, one after the other. All runs of a thread share one file.
#[derive(Debug)]
struct Run {
    file: Arc<Mutex<File>>,
    offset: u64,
    records: u64,
}

/// Gathers the keys of one thread.
#[derive(Debug)]
pub(super) struct Gather {
    parts: Vec<Part>,
    lanes: u32,
    held: usize,
    most: usize,
    disk: Option<Arc<Mutex<File>>>,
    /// The first failure to write to disk: it cannot be returned from inside a row.
    failed: Option<io::Error>,
}

impl Gather {
    /// With so many murmur3 hashes per key; holds at most so many keys in memory (fewer, where
    /// hashes come with them).
    pub fn new(lanes: u32, most: usize) -> Self {
        let mut parts = Vec::new();
        parts.resize_with(PARTS, Part::default);
        let most = (most * 4 / (4 + lanes as usize)).max(1);
        Gather { parts, lanes, held: 0, most, disk: None, failed: None }
    }

    #[cold]
    fn spill(&mut self) {
        let spilled = self.try_spill();
        if let Err(error) = spilled {
            self.failed.get_or_insert(error);
            self.parts.iter_mut().for_each(Part::clear);
        }
        self.held = 0;
    }

    fn try_spill(&mut self) -> io::Result<()> {
        let disk = match &self.disk {
            Some(disk) => Arc::clone(disk),
            None => Arc::clone(self.disk.insert(Arc::new(Mutex::new(tempfile::tempfile()?)))),
        };
        let mut file = disk.lock().expect("no holder panics");
        let mut offset = file.seek(SeekFrom::End(0))?;
        let mut out = BufWriter::with_capacity(1 << 20, &mut *file);
        for part in &mut self.parts {
            // A key that comes again and again is kept once.
            part.records.sort_unstable();
            part.records.dedup_by_key(|record| (record.hash, record.group));
            let records = part.records.len() as u64;
            part.write(&mut out, self.lanes)?;
            part.clear();
            if records > 0 {
                part.runs.push(Run { file: Arc::clone(&disk), offset, records });
            }
            offset += records * record_bytes(self.lanes) as u64;
        }
        out.flush()
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

/// Bytes of a record on disk: hash, group, murmur3 hashes.
fn record_bytes(lanes: u32) -> usize {
    12 + 4 * lanes as usize
}

impl Part {
    fn clear(&mut self) {
        self.records.clear();
        self.lanes.clear();
    }

    fn write(&self, out: &mut impl Write, lanes: u32) -> io::Result<()> {
        for record in &self.records {
            let first = record.slot as usize * lanes as usize;
            out.write_all(&record.hash.to_le_bytes())?;
            out.write_all(&record.group.to_le_bytes())?;
            for lane in &self.lanes[first..first + lanes as usize] {
                out.write_all(&lane.to_le_bytes())?;
            }
        }
        Ok(())
    }

    /// Brings all of another thread's part, from memory and from disk, into this one.
    pub fn absorb(&mut self, mut other: Part, lanes: u32) -> io::Result<()> {
        for run in &other.runs {
            let mut bytes = vec![0; run.records as usize * record_bytes(lanes)];
            let mut file = run.file.lock().expect("no holder panics");
            file.seek(SeekFrom::Start(run.offset))?;
            file.read_exact(&mut bytes)?;
            drop(file);
            for record in bytes.chunks_exact(record_bytes(lanes)) {
                let (hash, rest) = record.split_at(8);
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
