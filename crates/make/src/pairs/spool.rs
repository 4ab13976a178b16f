//! Records that are given up in memory, since their groups are estimated: on disk as they came, for those who would have
//! to make them of the rows once more, or cannot.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use tamis_read::Control;
use tamis_read::error::Result;

use super::Work;
use super::record::Record;
use crate::count::Afterwards;
use crate::exact::{full_disk, read_exact_at, temporary};
use crate::parallel;

/// Bytes that are kept at most: with more, rows are read once more.
const MOST: u64 = 8 << 30;

/// Records that are read together.
const PIECE: usize = 1 << 18;

/// Bytes that are written together.
const WRITTEN: usize = 1 << 18;

/// Bytes that a folder may be asked to hold: not much of what is free there, and none that are memory.
fn room(folder: &Path) -> u64 {
    #[cfg(target_os = "linux")]
    return match (rustix::fs::statfs(folder), rustix::fs::statvfs(folder)) {
        (Ok(kind), Ok(found)) if kind.f_type != TMPFS => {
            MOST.min(found.f_bavail.saturating_mul(found.f_frsize) / 2)
        }
        _ => 0,
    };
    #[cfg(not(target_os = "linux"))]
    {
        let _ = folder;
        MOST
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
    folder: PathBuf,
}

impl Spool {
    /// Gives all records, on this many threads, in any order; some may come more than once.
    pub(super) fn each<R: Record>(
        &self,
        threads: usize,
        control: &Control,
        work: &Work<'_, R>,
    ) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let piece = (PIECE * R::BYTES) as u64;
        parallel::each(threads, self.bytes.div_ceil(piece) as usize, |number| {
            control.check()?;
            let from = number as u64 * piece;
            let mut bytes = vec![0; (self.bytes - from).min(piece) as usize];
            read_exact_at(file, &mut bytes, from).map_err(full_disk(&self.folder))?;
            let records: Vec<R> = bytes.chunks_exact(R::BYTES).map(R::decode).collect();
            work(&records)
        })?;
        Ok(())
    }
}

/// A spool to which threads write.
#[derive(Debug)]
pub(super) struct Spooling {
    folder: PathBuf,
    /// Bytes that it may have.
    room: u64,
    /// What cannot be written is a failure of the whole.
    must_hold: bool,
    draft: Mutex<Draft>,
    /// Something was given up that is not there.
    lost: AtomicBool,
}

/// A spool in the making.
#[derive(Debug, Default)]
struct Draft {
    out: Option<BufWriter<File>>,
    bytes: u64,
}

impl Spooling {
    /// A file in this folder.
    pub(super) fn new(folder: &Path, afterwards: Afterwards) -> Spooling {
        match afterwards {
            Afterwards::No => Spooling::with_room(folder, 0),
            Afterwards::IfThereIsRoom => Spooling::with_room(folder, room(folder)),
            Afterwards::Yes => Spooling { must_hold: true, ..Spooling::with_room(folder, u64::MAX) },
        }
    }

    /// A file of this many bytes at most. Nothing is written where there is no room.
    pub(super) fn with_room(folder: &Path, room: u64) -> Spooling {
        Spooling {
            folder: folder.to_owned(),
            room,
            must_hold: false,
            draft: Mutex::default(),
            lost: AtomicBool::new(false),
        }
    }

    /// Whether records are written.
    pub(super) fn is_on(&self) -> bool {
        self.room > 0 && !self.lost.load(Relaxed)
    }

    /// Writes records, which are given up. Where that fails, or there is no room, they are lost, if they may be.
    pub(super) fn write<R: Record>(&self, records: impl Iterator<Item = R>) -> Result<()> {
        let mut records = records.peekable();
        let mut bytes = Vec::new();
        while records.peek().is_some() && self.is_on() {
            bytes.clear();
            records.by_ref().take(WRITTEN / R::BYTES).for_each(|record| record.encode(&mut bytes));
            let mut draft = self.draft.lock().unwrap_or_else(PoisonError::into_inner);
            let full = draft.bytes + bytes.len() as u64 > self.room;
            let written = if full { None } else { Some(draft.push(&bytes, &self.folder)) };
            if !matches!(written, Some(Ok(()))) {
                self.lost.store(true, Relaxed);
                *draft = Draft::default(); // gives the room on the disk back
                return written.filter(|_| self.must_hold).unwrap_or(Ok(()));
            }
        }
        if records.peek().is_some() {
            self.lost.store(true, Relaxed);
        }
        Ok(())
    }

    /// What was written, if that is all that was given up.
    pub(super) fn finish(&self) -> Result<Option<Spool>> {
        let draft = std::mem::take(&mut *self.draft.lock().unwrap_or_else(PoisonError::into_inner));
        if self.lost.load(Relaxed) {
            return Ok(None);
        }
        let written = draft.out.map(BufWriter::into_inner).transpose();
        match written.map_err(|error| full_disk(&self.folder)(error.into_error())) {
            Ok(file) => Ok(Some(Spool { file, bytes: draft.bytes, folder: self.folder.clone() })),
            Err(error) if self.must_hold => Err(error),
            Err(_) => Ok(None),
        }
    }
}

impl Draft {
    /// Writes some more.
    fn push(&mut self, bytes: &[u8], folder: &Path) -> Result<()> {
        let out = match &mut self.out {
            Some(out) => out,
            none => none.insert(BufWriter::with_capacity(WRITTEN, temporary(folder)?)),
        };
        out.write_all(bytes).map_err(full_disk(folder))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}
