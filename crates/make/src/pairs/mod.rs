//! The different keys of all groups, counted and kept in bounded memory.
//!
//! Each thread writes the keys of its rows into a [`Log`]: hashes, with the number of their group where there
//! are groups. A log that is full becomes a block, in heaps by the first bits of hashes, which all threads share.
//! When these take much memory, what has come before is dropped; if that does not help, all goes to disk as a
//! sorted run. In the end, part by part, repetitions are dropped once more, which tells how many keys each group has,
//! and leads through a filter from one end to the other.
//!
//! Beyond a limit keys are estimated, and need not be kept: but whether that is so depends on the set of all
//! keys alone, never on the memory, on the threads or on the order of rows. A filter that is sized by it has the
//! same bytes on every machine.
//!
//! `book` has the logs and what becomes of them, `record` is what is kept of a key, `block` has records in heaps (in
//! memory that `reused` keeps where they are few),
//! `once` finds those that are equal; `runs` are on disk, `ranges` goes through them, `kept` through all;
//! `estimate` has the estimators.

mod block;
mod book;
mod estimate;
mod kept;
mod once;
mod ranges;
mod record;
mod reused;
mod runs;
mod spool;
#[cfg(test)]
mod tests;

use tamis::key::Recipe;
use tamis_read::Control;
use tamis_read::error::Result;

use self::block::{Block, Parts};
pub(crate) use self::book::{Book, Log};
use self::kept::Kept;
use self::record::{Pair, Record};
use self::spool::Spool;
use crate::distinct::{Counts, Distinct};
use crate::order::Hashed;

/// What is done with records, some at a time, on any thread.
type Work<'w, R> = dyn Fn(&[R]) -> Result<()> + Sync + 'w;

/// Records of a log: it fits in the cache that threads share, and its block is large enough for huge pages. With what comes
/// when it is nearly full, it is no more than some of these.
pub(crate) const LOG: usize = (1 << 19) - (1 << 13);

/// Records of a part, about, where all of the memory is used: they fit in a cache.
const PART: usize = 1 << 14;

/// Most parts: with more, a block has too few records of each.
const MOST_BITS: u32 = 12;

/// Records of a part, about, where all were there from the beginning: its table is small, too.
const SMALL_PART: usize = 1 << 12;

/// Into how many parts this number of records is cut, as bits.
fn bits_for(records: usize) -> u32 {
    bits_of_parts(records, PART)
}

/// The same for parts of about this many.
fn bits_of_parts(records: usize, part: usize) -> u32 {
    (records / part).max(1).ilog2().min(MOST_BITS)
}

/// Leaves each of some hashes once. Those that begin with the same bits come one after the other.
pub fn once(hashes: &mut Vec<u64>) {
    let block = Block::new(hashes, bits_for(hashes.len()));
    hashes.clear();
    block.once(|kept| hashes.extend_from_slice(kept));
}

/// Whether keys belong to groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grouped {
    Yes,
    No,
}

impl Grouped {
    /// Whether keys that are made in this way do.
    pub(crate) fn of(recipe: &Recipe) -> Grouped {
        if recipe.group.is_some() { Grouped::Yes } else { Grouped::No }
    }
}

/// What was seen.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The keys to plan for, by group.
    pub keys: Vec<u64>,
    /// Whether they are estimated.
    pub estimated: bool,
    /// All of them, where none was given up; if they are estimated, some may be there more than once.
    pub pairs: Option<Pairs>,
}

#[derive(Debug)]
enum Lists {
    Hashes(Kept<u64>),
    Pairs(Kept<Pair>),
}

/// All different keys of all groups.
#[derive(Debug)]
pub(crate) struct Pairs {
    lists: Lists,
    /// More of them, which may repeat each other.
    spool: Spool,
    /// The groups by their numbers, where they are others.
    groups: Option<Vec<u32>>,
}

/// Some keys whose hashes are of one range.
#[derive(Clone, Copy)]
pub(crate) enum Batch<'a> {
    /// Of one group.
    Hashes(u32, &'a [u64]),
    /// Of any.
    Pairs(&'a [Pair], Option<&'a [u32]>),
}

impl Batch<'_> {
    /// Gives the group and the hash of each.
    pub(crate) fn each(self, mut take: impl FnMut(u32, u64)) {
        match self {
            Batch::Hashes(group, hashes) => hashes.iter().for_each(|&hash| take(group, hash)),
            Batch::Pairs(pairs, None) => pairs.iter().for_each(|pair| take(pair.group(), pair.hash())),
            Batch::Pairs(pairs, Some(groups)) => {
                pairs.iter().for_each(|pair| take(groups[pair.group() as usize], pair.hash()));
            }
        }
    }
}

impl Pairs {
    fn new(lists: Lists) -> Pairs {
        Pairs { lists, spool: Spool::default(), groups: None }
    }

    fn with(self, spool: Spool) -> Pairs {
        Pairs { spool, ..self }
    }

    /// The different ones of some hashes, and how many they are. There is one thread, and they take no more than a
    /// [log](LOG) does: so none is made of them, which would be a copy.
    pub(crate) fn of_few(hashes: &[u64], control: &Control) -> Result<(Pairs, u64)> {
        let bits = bits_of_parts(hashes.len(), SMALL_PART);
        let mut parts = Parts::new(bits);
        parts.push(Block::new(hashes, bits));
        parts.settle(1, control, None)?;
        let keys = parts.records() as u64;
        let (runs, folder) = (Vec::new(), std::env::temp_dir());
        Ok((Pairs::new(Lists::Hashes(Kept { parts, runs, folder })), keys))
    }

    /// Those of counts that were brought together from elsewhere; none where they are estimates.
    pub(crate) fn of_counts(counts: Counts) -> Option<Pairs> {
        if counts.estimating() {
            return None;
        }
        let mut groups: Vec<Vec<u64>> = Vec::new();
        for group in counts.into_groups() {
            match group {
                Distinct::Exact(log) => groups.push(log.into_hashes()),
                Distinct::Estimated(_) => return None,
            }
        }
        let bits = bits_for(groups.iter().map(Vec::len).sum());
        let (runs, folder) = (Vec::new(), std::env::temp_dir());
        if let [hashes] = &groups[..] {
            let mut parts = Parts::new(bits);
            hashes.chunks(LOG).for_each(|some| parts.push(Block::new(some, bits)));
            return Some(Pairs::new(Lists::Hashes(Kept { parts, runs, folder })));
        }
        let mut parts = Parts::new(bits);
        let pairs = groups
            .into_iter()
            .enumerate()
            .flat_map(|(group, hashes)| hashes.into_iter().map(move |hash| Pair::new(group as u32, hash)));
        let mut log = Vec::with_capacity(LOG);
        for pair in pairs {
            log.push(pair);
            if log.len() == LOG {
                parts.push(Block::new(&log, bits));
                log.clear();
            }
        }
        parts.push(Block::new(&log, bits));
        Some(Pairs::new(Lists::Pairs(Kept { parts, runs, folder })))
    }

    /// The same keys, their groups numbered otherwise: by their numbers so far.
    pub(crate) fn renumbered(self, groups: Vec<u32>) -> Pairs {
        Pairs { groups: Some(groups), ..self }
    }

    fn batch<'a>(&'a self, hashes: &'a [u64]) -> Batch<'a> {
        let group = self.groups.as_ref().and_then(|groups| groups.first().copied());
        Batch::Hashes(group.unwrap_or(0), hashes)
    }

    /// Gives all keys, on this many threads.
    pub(crate) fn each(
        &self,
        threads: usize,
        control: &Control,
        work: &(dyn Fn(Batch<'_>) -> Result<()> + Sync),
    ) -> Result<()> {
        match &self.lists {
            Lists::Hashes(kept) => {
                let work = |hashes: &[u64]| work(self.batch(hashes));
                kept.each(threads, control, &work)?;
                self.spool.each(threads, control, &work)
            }
            Lists::Pairs(kept) => {
                let work = |pairs: &[Pair]| work(Batch::Pairs(pairs, self.groups.as_deref()));
                kept.each(threads, control, &work)?;
                self.spool.each(threads, control, &work)
            }
        }
    }

    /// Gives all keys in the order of their hashes; they are not estimated.
    pub(crate) fn in_order(&self, control: &Control, work: &mut dyn FnMut(Batch<'_>)) -> Result<()> {
        match &self.lists {
            Lists::Hashes(kept) => kept.in_order(control, &mut |hashes| {
                work(self.batch(hashes));
                Ok(())
            }),
            Lists::Pairs(kept) => kept.in_order(control, &mut |pairs| {
                work(Batch::Pairs(pairs, self.groups.as_deref()));
                Ok(())
            }),
        }
    }

    /// The bytes that it takes in memory.
    pub(crate) fn held(&self) -> u64 {
        match &self.lists {
            Lists::Hashes(kept) => (kept.parts.records() * size_of::<u64>()) as u64,
            Lists::Pairs(kept) => (kept.parts.records() * size_of::<Pair>()) as u64,
        }
    }

    /// Lets go of the memory: all goes to disk.
    pub(crate) fn spill(&mut self, control: &Control) -> Result<()> {
        match &mut self.lists {
            Lists::Hashes(kept) => kept.spill(control),
            Lists::Pairs(kept) => kept.spill(control),
        }
    }
}
