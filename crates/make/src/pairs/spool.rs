//! Records that are given up in memory, since their groups are estimated: on disk as they came, for those who would have
//! to make them of the rows once more.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use tamis_read::Control;
use tamis_read::error::{Error, Result};

use super::record::Record;
use crate::exact::{read_exact_at, temporary};
use crate::parallel;

/// Bytes that are kept at most: with more, rows are read once more.
const MOST: u64 = 8 << 30;

/// Records that are read together.
const PIECE: usize = 1 << 18;

/// Whether what is put into this folder takes memory, and no disk.
pub(super) fn is_memory(folder: &Path) -> bool {
    #[cfg(target_os = "linux")]
    return rustix::fs::statfs(folder).is_ok_and(|found| found.f_type == TMPFS);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = folder;
        false
    }
}

/// What Linux calls a file system in memory.
#[cfg(target_os = "linux")]
const TMPFS: rustix::fs::FsWord = 0x0102_1994;

/// A file without a name, for as many records as were written to it.
#[derive(Debug, Default)]
pub(super) struct Spool {
    file: Option<File>,
    bytes: u64,
}

impl Spool {
    /// Gives all records, on this many threads, in any order; some may come more than once.
    pub(super) fn each<R: Record>(
        &self,
        threads: usize,
        control: &Control,
        work: &(dyn Fn(&[R]) -> Result<()> + Sync),
    ) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let piece = (PIECE * R::BYTES) as u64;
        parallel::each(threads, self.bytes.div_ceil(piece) as usize, |number| {
            control.check()?;
            let from = number as u64 * piece;
            let mut bytes = vec![0; (self.bytes - from).min(piece) as usize];
            let disk = |source| Error::Io { path: std::env::temp_dir(), source };
            read_exact_at(file, &mut bytes, from).map_err(disk)?;
            let records: Vec<R> = bytes.chunks_exact(R::BYTES).map(R::decode).collect();
            work(&records)
        })?;
        Ok(())
    }
}

/// A spool to which threads write.
#[derive(Debug)]
pub(super) struct Spooling {
    wanted: bool,
    spool: Mutex<Spool>,
    /// Something was given up that is not there.
    lost: AtomicBool,
}

impl Spooling {
    /// Nothing is written where it is not wanted.
    pub(super) fn new(wanted: bool) -> Spooling {
        Spooling { wanted, spool: Mutex::default(), lost: AtomicBool::new(false) }
    }

    /// Whether records are written.
    pub(super) fn is_on(&self) -> bool {
        self.wanted && !self.lost.load(Relaxed)
    }

    /// Writes records, which are given up. Where that fails, or is not wanted, they are lost.
    pub(super) fn write<R: Record>(&self, records: impl Iterator<Item = R>, folder: &Path) {
        let mut records = records.peekable();
        if records.peek().is_none() || self.lost.load(Relaxed) {
            return;
        }
        let mut bytes = Vec::new();
        if self.wanted {
            records.for_each(|record| record.encode(&mut bytes));
        }
        let mut spool = self.spool.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.wanted || spool.bytes + bytes.len() as u64 > MOST || spool.push(&bytes, folder).is_none() {
            self.lost.store(true, Relaxed);
            *spool = Spool::default(); // gives the room on the disk back
        }
    }

    /// What was written, if that is all that was given up.
    pub(super) fn finish(&self) -> Option<Spool> {
        let spool = std::mem::take(&mut *self.spool.lock().unwrap_or_else(PoisonError::into_inner));
        (!self.lost.load(Relaxed)).then_some(spool)
    }
}

impl Spool {
    /// Writes some more; none where the disk takes no more.
    fn push(&mut self, bytes: &[u8], folder: &Path) -> Option<()> {
        if self.file.is_none() {
            self.file = Some(temporary(folder).ok()?);
        }
        self.file.as_mut()?.write_all(bytes).ok()?;
        self.bytes += bytes.len() as u64;
        Some(())
    }
}
