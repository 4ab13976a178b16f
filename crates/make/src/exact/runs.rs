//! Sorting outside of memory: what does not fit is written to disk in sorted runs.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tamis_read::error::{Error, Result};

use super::Refusal;

/// What is sorted: a key with its hash and group, and the number of the question it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub(crate) hash: u64,
    pub(crate) group: u32,
    pub(crate) number: u32,
    pub(crate) key: &'a [u8],
}

impl Record<'_> {
    /// By hash, key and group.
    pub(super) fn order(&self, other: &Record<'_>) -> Ordering {
        self.hash
            .cmp(&other.hash)
            .then_with(|| self.key.cmp(other.key))
            .then_with(|| self.group.cmp(&other.group))
    }

    /// Whether both are the same key in the same group.
    pub(super) fn is_same_pair(&self, other: &Record<'_>) -> bool {
        self.hash == other.hash && self.group == other.group && self.key == other.key
    }
}

/// A record in memory.
#[derive(Debug, Clone, Copy)]
struct Held {
    hash: u64,
    at: u32,
    len: u32,
    group: u32,
    number: u32,
}

/// Bytes of a record on disk, without its key.
const FIXED: usize = 20;

/// Collects records and gives them back sorted, in bounded memory: by hash; where each pair is
/// kept once, also by key and group.
#[derive(Debug)]
pub(crate) struct Sorter {
    held: Vec<Held>,
    keys: Vec<u8>,
    most_held: usize,
    most_keys: usize,
    /// Whether a pair that comes again is dropped.
    distinct: bool,
    folder: PathBuf,
    disk: Option<Arc<File>>,
    runs: Vec<Run>,
}

/// A sorted run on disk.
#[derive(Debug, Clone)]
pub(super) struct Run {
    file: Arc<File>,
    start: u64,
    end: u64,
}

impl Sorter {
    /// In this much memory; the rest waits in a file in this folder, which has no name and so
    /// cannot be left behind.
    pub(super) fn new(memory: u64, distinct: bool, folder: &Path) -> Self {
        // Where keys have 12 bytes, both parts fill up at the same time.
        let most_held = (memory as usize * 2 / 3 / size_of::<Held>()).max(16);
        let most_keys = (memory as usize / 3).clamp(64, u32::MAX as usize / 2);
        Sorter {
            held: Vec::with_capacity(most_held.min(1 << 12)),
            keys: Vec::new(),
            most_held,
            most_keys,
            distinct,
            folder: folder.to_owned(),
            disk: None,
            runs: Vec::new(),
        }
    }

    /// Takes a record.
    #[inline]
    pub(super) fn push(&mut self, record: Record<'_>) -> Result<()> {
        if self.held.len() >= self.most_held || self.keys.len() + record.key.len() > self.most_keys {
            self.spill()?;
        }
        let (at, len) = (self.keys.len() as u32, record.key.len() as u32);
        self.keys.extend_from_slice(record.key);
        self.held.push(Held { hash: record.hash, at, len, group: record.group, number: record.number });
        Ok(())
    }

    fn record<'k>(keys: &'k [u8], held: &Held) -> Record<'k> {
        let key = &keys[held.at as usize..held.at as usize + held.len as usize];
        Record { hash: held.hash, group: held.group, number: held.number, key }
    }

    /// Sorts what is in memory.
    fn sort(&mut self) {
        let keys = &self.keys;
        if !self.distinct {
            // Nothing asks for an order among records of one hash, and to look at keys is slow.
            return self.held.sort_unstable_by_key(|held| held.hash);
        }
        self.held.sort_unstable_by(|a, b| match a.hash.cmp(&b.hash) {
            Ordering::Equal => Self::record(keys, a).order(&Self::record(keys, b)),
            unequal => unequal,
        });
        self.held.dedup_by(|a, b| Self::record(keys, a).is_same_pair(&Self::record(keys, b)));
    }

    /// Writes what is in memory to disk, sorted.
    #[cold]
    fn spill(&mut self) -> Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        self.sort();
        let disk = match &self.disk {
            Some(disk) => Arc::clone(disk),
            None => Arc::clone(self.disk.insert(Arc::new(temporary(&self.folder)?))),
        };
        let mut writer = RunWriter::new(&disk).map_err(full_disk(&self.folder))?;
        for held in &self.held {
            writer.push(Self::record(&self.keys, held)).map_err(full_disk(&self.folder))?;
        }
        self.runs.push(writer.finish().map_err(full_disk(&self.folder))?);
        self.held.clear();
        self.keys.clear();
        Ok(())
    }

    /// All records, as sorted sources to be merged; what is in memory stays there.
    pub(super) fn sources(&mut self) -> (Vec<Run>, HeldRecords<'_>) {
        self.sort();
        (self.runs.clone(), HeldRecords { held: self.held.iter(), keys: &self.keys })
    }

    /// Forgets all records, and keeps the memory and the file.
    pub(super) fn clear(&mut self) -> Result<()> {
        self.held.clear();
        self.keys.clear();
        if !self.runs.is_empty() {
            self.runs.clear();
            if let Some(disk) = &self.disk {
                disk.set_len(0).map_err(full_disk(&self.folder))?;
            }
        }
        Ok(())
    }

    /// All records as runs on disk: what a merge of many sorters takes.
    pub(super) fn into_runs(mut self) -> Result<Vec<Run>> {
        self.spill()?;
        Ok(self.runs)
    }
}

/// A file without a name in this folder.
pub(crate) fn temporary(folder: &Path) -> Result<File> {
    tempfile::tempfile_in(folder).map_err(full_disk(folder))
}

/// What a failure to keep something in a temporary file means.
pub fn full_disk(folder: &Path) -> impl Fn(io::Error) -> Error + use<> {
    let folder = folder.to_owned();
    move |error| Error::input(&*folder, Refusal::NoTemporary { error })
}

/// Writes a run at the end of a file.
pub(super) struct RunWriter<'f> {
    file: &'f Arc<File>,
    out: BufWriter<&'f File>,
    start: u64,
    end: u64,
}

impl<'f> RunWriter<'f> {
    pub(super) fn new(file: &'f Arc<File>) -> io::Result<Self> {
        let start = (&**file).seek(SeekFrom::End(0))?;
        Ok(RunWriter { file, out: BufWriter::with_capacity(1 << 18, &**file), start, end: start })
    }

    pub(super) fn push(&mut self, record: Record<'_>) -> io::Result<()> {
        let mut fixed = [0; FIXED];
        fixed[..8].copy_from_slice(&record.hash.to_le_bytes());
        fixed[8..12].copy_from_slice(&record.group.to_le_bytes());
        fixed[12..16].copy_from_slice(&record.number.to_le_bytes());
        fixed[16..].copy_from_slice(&(record.key.len() as u32).to_le_bytes());
        self.out.write_all(&fixed)?;
        self.out.write_all(record.key)?;
        self.end += (FIXED + record.key.len()) as u64;
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<Run> {
        self.out.flush()?;
        Ok(Run { file: Arc::clone(self.file), start: self.start, end: self.end })
    }
}

/// Sorted records in memory.
pub(super) struct HeldRecords<'s> {
    held: std::slice::Iter<'s, Held>,
    keys: &'s [u8],
}

impl<'s> Iterator for HeldRecords<'s> {
    type Item = Record<'s>;

    fn next(&mut self) -> Option<Record<'s>> {
        self.held.next().map(|held| Sorter::record(self.keys, held))
    }
}

/// Reads a run.
#[derive(Debug)]
pub(super) struct RunReader {
    run: Run,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    key: usize,
}

impl RunReader {
    /// With a buffer of this size.
    pub(super) fn new(run: Run, buffer: usize) -> Self {
        RunReader { run, buffer: vec![0; buffer.max(FIXED)], at: 0, filled: 0, key: 0 }
    }

    /// Goes to the next record; false if there is none.
    pub(super) fn advance(&mut self) -> io::Result<bool> {
        self.at += if self.filled > 0 && self.at < self.filled { FIXED + self.key } else { 0 };
        if !self.need(FIXED)? {
            return Ok(false);
        }
        let len = self.u32_at(16) as usize;
        if !self.need(FIXED + len)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.key = len;
        Ok(true)
    }

    /// Makes sure that this many bytes from the current place on are in the buffer.
    fn need(&mut self, len: usize) -> io::Result<bool> {
        if self.filled - self.at >= len {
            return Ok(true);
        }
        self.buffer.copy_within(self.at..self.filled, 0);
        self.filled -= self.at;
        self.at = 0;
        if self.buffer.len() < len {
            self.buffer.resize(len, 0);
        }
        let left = (self.run.end - self.run.start).min((self.buffer.len() - self.filled) as u64) as usize;
        let more = &mut self.buffer[self.filled..self.filled + left];
        read_exact_at(&self.run.file, more, self.run.start)?;
        self.run.start += left as u64;
        self.filled += left;
        Ok(self.filled >= len)
    }

    fn u32_at(&self, at: usize) -> u32 {
        self.buffer[self.at + at..self.at + at + 4].try_into().map_or(0, u32::from_le_bytes)
    }

    /// The current record.
    pub(super) fn record(&self) -> Record<'_> {
        Record {
            hash: self.buffer[self.at..self.at + 8].try_into().map_or(0, u64::from_le_bytes),
            group: self.u32_at(8),
            number: self.u32_at(12),
            key: &self.buffer[self.at + FIXED..self.at + FIXED + self.key],
        }
    }
}

/// Reads a file by position, so that several can do so at once.
pub(crate) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset);
    #[cfg(windows)]
    {
        let mut done = 0;
        while done < buffer.len() {
            match std::os::windows::fs::FileExt::seek_read(file, &mut buffer[done..], offset + done as u64)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                len => done += len,
            }
        }
        Ok(())
    }
}
