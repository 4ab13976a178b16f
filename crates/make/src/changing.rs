//! A file that is changed: it is read, and replaced by what it becomes. Two processes that did so at once would
//! lose what one of them added.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use tamis_read::error::{Error, Result};
use tamis_read::refusal::{Help, Refusal};
use tamis_read::remote;

use crate::pipe;
use crate::resume::{Lock, Writing, is_at};

/// A file was replaced while a job changed what it had been.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("was replaced by another process meanwhile; nothing was changed")]
pub struct Replaced;

impl Refusal for Replaced {
    fn help(&self) -> Vec<Help> {
        vec![Help::Do("run the command again")]
    }
}

/// A file that lies elsewhere was to be changed in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "lies elsewhere, where others could change it at the same time: only files of this machine are changed"
)]
pub struct Elsewhere;

impl Refusal for Elsewhere {
    fn help(&self) -> Vec<Help> {
        vec![Help::Do("change a copy, and put that in its place; or build again")]
    }
}

/// Keeps other processes from changing a file while this lives.
#[derive(Debug)]
pub struct Changing {
    path: PathBuf,
    file: File,
}

impl Changing {
    /// Begins to change this file; refuses one that another process changes, or has as a state.
    pub fn begin(path: &Path) -> Result<Changing> {
        if pipe::is_stdin(path) {
            return Err(Error::input(path, pipe::Refusal::Changed));
        }
        if remote::is_remote(path) {
            return Err(Error::input(path, Elsewhere));
        }
        if Lock::is_held(path) {
            return Err(Error::input(path, Writing));
        }
        loop {
            let file = File::open(path).map_err(Error::io(path))?;
            // Elsewhere a file that is locked cannot be read; and there are file systems without locks.
            if cfg!(unix)
                && let Err(TryLockError::WouldBlock) = file.try_lock()
            {
                return Err(Error::input(path, Writing));
            }
            // The process before may have put another in its place between the two.
            if is_at(&file, path) {
                return Ok(Changing { path: path.to_owned(), file });
            }
        }
    }

    /// Refuses to go on if the file is another by now, which what was read of it would replace.
    pub fn still(&self) -> Result<()> {
        if is_at(&self.file, &self.path) { Ok(()) } else { Err(Error::input(&self.path, Replaced)) }
    }
}

/// Refuses an output that another process writes or changes, or has as a state.
pub fn refuse_busy(path: &Path) -> Result<()> {
    if remote::is_remote(path) {
        return Ok(()); // whoever completes last
    }
    let busy = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    if Lock::is_held(path) || cfg!(unix) && path.is_file() && File::open(path).is_ok_and(busy) {
        return Err(Error::input(path, Writing));
    }
    Ok(())
}
