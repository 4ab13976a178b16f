//! What the run asks of a source of records: the next ones up to a cut, and how far that is.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tamis::about::Classes;
use tamis_make::batch::KeyBatch;
use tamis_read::Explained;
use tamis_read::error::Result;

use crate::watch::Lag;

/// A place between two records of a source. What its numbers mean is the source's own affair
/// (files: which one, and how far; a broker's would be the offset of each partition); places of one
/// source are compared by it alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Place(pub Vec<u64>);

/// Where a batch ends.
#[derive(Debug, Clone, Copy)]
pub enum Cut<'a> {
    /// After this many records in all.
    Records(usize),
    /// At this place, where an earlier run ended it.
    At(&'a Place),
}

/// How far the taking of records came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// To the cut.
    Cut,
    /// To what there is for now.
    Pause,
    /// To a place beyond which it cannot be read again from before: what was taken is to be committed.
    Edge,
    /// To the end of the source.
    End,
}

/// Where records come from. A thread of its own may read ahead, within bounds.
pub trait Source {
    /// Appends the next records, up to the cut, waiting for them no longer than this.
    fn take(&mut self, cut: Cut<'_>, patience: Duration, records: &mut Records) -> Result<Reached>;

    /// Hears that the records taken so far are a batch, and puts them in the order in which it will
    /// have them each time it is run.
    fn settle(&mut self, records: &mut Records) {
        let _ = records;
    }

    /// The place after the records that were taken.
    fn place(&self) -> Place;

    /// What a later run must know, beside this place, to begin there: that after the records taken, or one
    /// before it.
    fn bookmark(&mut self, place: &Place) -> Result<Value>;

    /// Whether the bookmark tells what no commit does yet, and without which records might be
    /// understood otherwise: it is committed before a batch of them is logged.
    fn has_news(&self) -> bool {
        false
    }

    /// Makes sure that all up to this place can be read again after a failure of the machine.
    fn sync(&mut self) -> Result<()>;

    /// Hears that nothing before this place will be asked for again.
    fn forget(&mut self, place: &Place) -> Result<()>;

    /// Whether all up to this place, where an earlier run was, can be read now.
    fn reaches(&mut self, place: &Place) -> Result<bool> {
        let _ = place;
        Ok(true)
    }

    /// The files that are read.
    fn paths(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// How files were understood.
    fn explained(&self) -> Vec<Explained> {
        Vec::new()
    }

    /// The classes of values that keys are made from.
    fn classes(&self) -> Classes {
        Classes::TEXT
    }

    /// Whether it begins elsewhere than where the state has it, because records are gone.
    fn has_moved(&self) -> bool {
        false
    }

    /// Records that were gone before they were read.
    fn lost(&self) -> u64 {
        0
    }

    /// Whether what is between two places can become less, so that it must be counted.
    fn may_shrink(&self) -> bool {
        false
    }

    /// Hears that a batch that is run again has lost this many of its records; an error where that must not be.
    fn shrunk(&mut self, gone: u64) -> Result<()> {
        let _ = gone;
        Ok(())
    }

    /// What waits to be taken, where that is known.
    fn lag(&self) -> Option<Lag>;

    /// Records left out so far, because no key can be made of them.
    fn skipped(&self) -> u64;
}

/// Records as a batch has them: their keys, with what else is wanted of these, and their times.
#[derive(Debug, Default)]
pub struct Records {
    /// Their keys.
    pub keys: KeyBatch,
    /// Their times in milliseconds since 1970, where rows tell them.
    pub times: Vec<i64>,
    /// What is set aside of those that were left out between them.
    pub aside: Vec<u8>,
}

impl Records {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none, and nothing is set aside.
    pub fn is_nothing(&self) -> bool {
        self.is_empty() && self.aside.is_empty()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Drops them, and keeps the memory.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.times.clear();
        self.aside.clear();
    }

    /// Appends some of the others.
    pub fn extend(&mut self, others: &Records, range: Range<usize>) {
        if !others.times.is_empty() {
            self.times.extend_from_slice(&others.times[range.clone()]);
        }
        self.keys.extend(&others.keys, range);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use tamis_make::batch::Keeps;
    use tamis_make::rows::{Key, Take};

    #[test]
    fn parts_of_records_are_appended_with_their_keys_and_times() {
        let mut all = Records { times: vec![-1, 0, 1], ..Records::default() };
        all.keys = KeyBatch::new(Keeps { groups: true, bytes: true, ..Keeps::default() });
        for (i, bytes) in [&b"a"[..], b"bb", b"ccc"].into_iter().enumerate() {
            all.keys.take(Key { group: i as u32 + 7, hash: i as u64 + 1, bytes, weight: 1 });
        }
        let mut some = Records::default();
        some.extend(&all, 1..3);
        some.extend(&all, 0..0);
        some.extend(&all, 0..2);
        assert_eq!(some.keys.hashes(), [2, 3, 1, 2]);
        assert_eq!(some.times, [0, 1, -1, 0]);
        assert_eq!((some.keys.key(1), some.keys.groups()[2]), (&b"ccc"[..], 7));
    }
}
