//! What jobs need that go on where an earlier run ended: marks of how far files were read, outputs
//! that are continued, and a lock against a second process.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf, absolute};

use serde::{Deserialize, Serialize};
use tamis::hash::xxh3;
use tamis_read::error::{Error, Result};
use tamis_read::refusal::{Help, Refusal};

/// How far an input was read, and what it looked like up to there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// The file, by its absolute name.
    pub path: String,
    /// So many of its bytes were read.
    pub offset: u64,
    /// Hashes of the first and the last bytes before the offset.
    head: u64,
    tail: u64,
}

/// So many bytes tell whether a file is still the same.
const LOOK: u64 = 64 << 10;

impl Mark {
    /// What a file looks like up to this place.
    pub fn of(path: &Path, offset: u64) -> io::Result<Mark> {
        match offset {
            0 => Ok(Mark { path: named(path), offset, head: 0, tail: 0 }),
            _ => Mark::through(&File::open(path)?, path, offset),
        }
    }

    /// The same of a file that is open; it is read at other places afterwards.
    pub fn through(mut file: &File, path: &Path, offset: u64) -> io::Result<Mark> {
        let (mut head, mut tail) = (0, 0);
        if offset > 0 {
            let mut look = |from: u64| -> io::Result<u64> {
                let mut bytes = vec![0; LOOK.min(offset) as usize];
                file.seek(SeekFrom::Start(from))?;
                file.read_exact(&mut bytes)?;
                Ok(xxh3(&bytes, offset))
            };
            head = look(0)?;
            tail = look(offset - LOOK.min(offset))?;
        }
        Ok(Mark { path: named(path), offset, head, tail })
    }

    /// Whether the file still begins with what was read of it. Its path is given, since the text of
    /// one need not lead back to the file.
    pub fn holds(&self, path: &Path) -> bool {
        Mark::of(path, self.offset).is_ok_and(|now| now == *self)
    }
}

/// A path as states remember it.
pub fn named(path: &Path) -> String {
    absolute(path).unwrap_or_else(|_| path.into()).to_string_lossy().into_owned()
}

/// Another process has a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("another process works with this state")]
pub struct Locked;

impl Refusal for Locked {
    fn help(&self) -> Vec<Help> {
        vec![Help::Do("wait for its end")]
    }
}

/// Keeps other processes from the same state.
pub struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Holds this lock, which is that of a state, while it lives.
    pub fn at(path: &Path, state: &Path) -> Result<Lock> {
        let path = path.to_owned();
        loop {
            let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
            let file = file.map_err(Error::io(&path))?;
            match file.try_lock() {
                Ok(()) if is_at(&file, &path) => return Ok(Lock { path, _file: file }),
                Ok(()) => {} // whoever held it has removed it just now
                Err(_) => return Err(Error::input(state, Locked)),
            }
        }
    }
}

/// Whether the file is still the one of this name.
fn is_at(file: &File, path: &Path) -> bool {
    are_same(file.metadata(), fs::metadata(path))
}

/// Whether two open files are one.
pub fn is_same(one: &File, other: &File) -> bool {
    are_same(one.metadata(), other.metadata())
}

fn are_same(one: io::Result<fs::Metadata>, other: io::Result<fs::Metadata>) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let number = |metadata: io::Result<fs::Metadata>| metadata.map(|file| (file.dev(), file.ino())).ok();
        number(one) == number(other)
    }
    #[cfg(not(unix))]
    {
        let _ = (one, other);
        true
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// An output that is continued where the state's run ended.
pub struct Appended {
    /// The file.
    pub path: PathBuf,
    file: File,
    /// What belongs to the records so far.
    pub length: u64,
    /// Whether it ends within a line.
    open: bool,
}

impl Appended {
    /// Opens it and cuts off what stands beyond this length.
    pub fn open(path: &Path, length: u64) -> Result<Appended> {
        let open = || -> io::Result<Appended> {
            let mut file =
                OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)?;
            file.set_len(length)?;
            let mut last = [b'\n'];
            if length > 0 {
                file.seek(SeekFrom::Start(length - 1))?;
                file.read_exact(&mut last)?;
            }
            Ok(Appended { path: path.into(), file, length, open: last != [b'\n'] })
        };
        open().map_err(Error::io(path))
    }

    /// Writes whole records.
    pub fn write(&mut self, records: &[u8]) -> Result<()> {
        let Some(last) = records.last() else { return Ok(()) };
        let newline: &[u8] = if self.open { b"\n" } else { b"" };
        for bytes in [newline, records] {
            self.file.write_all(bytes).map_err(Error::io(&self.path))?;
            self.length += bytes.len() as u64;
        }
        self.open = *last != b'\n';
        Ok(())
    }

    /// Makes sure that all of it is on disk.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(Error::io(&self.path))
    }
}
