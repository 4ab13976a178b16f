//! What a running job shares with its caller: its progress, and whether to stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::error::{Error, Result};

/// Shared between a job and its caller.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
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

    /// Steps done, and steps in all.
    pub fn progress(&self) -> (u64, u64) {
        (self.done.load(Relaxed), self.total.load(Relaxed))
    }
}
