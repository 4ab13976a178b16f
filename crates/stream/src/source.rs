//! What the run asks of a source of records: the next ones up to a cut, and how far that is.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tamis_read::Explained;
use tamis_read::error::Result;

/// A place between two records of a source. What its numbers mean is the source's own affair
/// (files: which one, and how far; a broker's would be the offset of each partition); places of one
/// source are compared by it alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Place(pub Vec<u64>);

/// Where a batch ends.
#[derive(Debug, Clone, Copy)]
pub enum Cut<'a> {
    /// After so many records in all.
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

    /// What a later run must know, beside the place, to begin there.
    fn bookmark(&mut self) -> Result<Value>;

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

    /// Whether it begins elsewhere than where the state has it, because records are gone.
    fn has_moved(&self) -> bool {
        false
    }

    /// Records that were gone before they were read.
    fn lost(&self) -> u64 {
        0
    }

    /// Bytes that wait to be taken, where that is known.
    fn lag(&self) -> Option<u64>;

    /// Records left out so far, because no key can be made of them.
    fn skipped(&self) -> u64;
}

/// Records as a batch has them: hashes, and what else is wanted of their keys, one after the other.
#[derive(Debug, Default)]
pub struct Records {
    /// Their hashes.
    pub hashes: Vec<u64>,
    /// The numbers of their groups, where there are groups.
    pub groups: Vec<u32>,
    /// What they count for, where that is not 1.
    pub weights: Vec<u64>,
    /// Their keys, and where each ends; where they are wanted.
    pub keys: Vec<u8>,
    /// Where each key ends.
    pub ends: Vec<usize>,
    /// Their times in milliseconds since 1970, where rows tell them.
    pub times: Vec<i64>,
}

impl Records {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Forgets them, but not their room.
    pub fn clear(&mut self) {
        self.hashes.clear();
        self.groups.clear();
        self.weights.clear();
        self.keys.clear();
        self.ends.clear();
        self.times.clear();
    }

    /// The key of a record; empty where keys are not wanted.
    pub fn key(&self, record: usize) -> &[u8] {
        let start = if record == 0 { 0 } else { self.ends.get(record - 1).copied().unwrap_or(0) };
        self.ends.get(record).map_or(&[], |&end| &self.keys[start..end])
    }

    /// The number of a record's group.
    pub fn group(&self, record: usize) -> u32 {
        self.groups.get(record).copied().unwrap_or(0)
    }

    /// Appends some of the others.
    pub fn extend(&mut self, others: &Records, range: Range<usize>) {
        self.hashes.extend_from_slice(&others.hashes[range.clone()]);
        if !others.groups.is_empty() {
            self.groups.extend_from_slice(&others.groups[range.clone()]);
        }
        if !others.weights.is_empty() {
            self.weights.extend_from_slice(&others.weights[range.clone()]);
        }
        if !others.times.is_empty() {
            self.times.extend_from_slice(&others.times[range.clone()]);
        }
        if !others.ends.is_empty() && !range.is_empty() {
            let from = if range.start == 0 { 0 } else { others.ends[range.start - 1] };
            let shift = self.keys.len();
            self.keys.extend_from_slice(&others.keys[from..others.ends[range.end - 1]]);
            self.ends.extend(others.ends[range].iter().map(|end| end - from + shift));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_records_are_appended_with_their_keys() {
        let all = Records {
            hashes: vec![1, 2, 3],
            groups: vec![7, 8, 9],
            weights: vec![],
            keys: b"abbccc".to_vec(),
            ends: vec![1, 3, 6],
            times: vec![-1, 0, 1],
        };
        let mut some = Records::default();
        some.extend(&all, 1..3);
        some.extend(&all, 0..0);
        some.extend(&all, 0..2);
        assert_eq!(some.hashes, [2, 3, 1, 2]);
        assert_eq!(some.times, [0, 1, -1, 0]);
        let keys: Vec<&[u8]> = (0..4).map(|record| some.key(record)).collect();
        assert_eq!(keys, [&b"bb"[..], b"ccc", b"a", b"bb"]);
        assert_eq!(some.group(2), 7);
    }
}
