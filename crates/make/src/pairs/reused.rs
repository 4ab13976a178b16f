//! Memory of few hashes, which the next ones may have.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tamis::memory::Words;

/// Words that were in use, and will be again: who makes many small filters one after the other would have the system clear
/// as much memory for each, which takes as long as all else.
#[derive(Debug)]
pub(super) struct Reused(Words);

/// What nobody uses just now.
static SPARE: Mutex<Option<Words>> = Mutex::new(None);

/// More words than this are given back to the system: a mebibyte.
const SPARED: usize = 1 << 17;

fn spare() -> MutexGuard<'static, Option<Words>> {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reused {
    /// This many words, in which anything may stand.
    pub(super) fn new(len: usize) -> tamis::Result<Reused> {
        let used = spare().take().and_then(|words| words.reused(len));
        used.map_or_else(|| Words::new(len), Ok).map(Reused)
    }
}

impl Drop for Reused {
    fn drop(&mut self) {
        if (1..=SPARED).contains(&self.0.len()) {
            *spare() = Some(std::mem::take(&mut self.0));
        }
    }
}

impl Deref for Reused {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.0
    }
}

impl DerefMut for Reused {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }
}
