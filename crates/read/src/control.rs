//! What a running job shares with its caller: its progress, and whether to stop.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

/// Shared between a job and its caller.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
    /// Comments in each input that was read, where they have a sign.
    comments: Mutex<BTreeMap<PathBuf, u64>>,
}

impl Control {
    /// Asks the job to stop soon, leaving nothing behind.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// An error if the job was asked to stop; jobs call it between chunks of work.
    pub fn check(&self) -> Result<()> {
        if self.stop.load(Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Begins a phase of this many steps (bytes of input, mostly); 0 where that is unknown.
    pub fn begin(&self, total: u64) {
        self.done.store(0, Relaxed);
        self.total.store(total, Relaxed);
    }

    /// Says that this many more steps are done.
    pub fn advance(&self, steps: u64) {
        self.done.fetch_add(steps, Relaxed);
    }

    /// Says that an input is read from its beginning, where this many comments stand before its rows.
    pub(crate) fn begin_comments(&self, path: &Path, before: u64) {
        let mut comments = self.comments.lock().unwrap_or_else(PoisonError::into_inner);
        comments.insert(path.to_owned(), before);
    }

    /// Says that this many more lines of an input were comments.
    pub(crate) fn add_comments(&self, path: &Path, more: u64) {
        if more > 0 {
            let mut comments = self.comments.lock().unwrap_or_else(PoisonError::into_inner);
            *comments.entry(path.to_owned()).or_default() += more;
        }
    }

    /// Lines of all inputs that were comments and thus no rows; each once, however often it was read.
    pub fn comments(&self) -> u64 {
        self.comments.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }

    /// Steps done, and steps in all.
    pub fn progress(&self) -> (u64, u64) {
        (self.done.load(Relaxed), self.total.load(Relaxed))
    }
}
