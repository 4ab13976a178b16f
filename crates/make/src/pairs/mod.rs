//! The different keys of all groups, counted and kept in bounded memory.
//!
//! Each thread writes the keys of its rows into a [`Log`]: hashes, with the number of their group where there
//! are groups. A log that is full is put in order, and what has come before is dropped; if that does not help,
//! it goes to disk as a sorted run. In the end all logs and runs are gone through in the order of hashes, which
//! tells how many keys each group has, and leads through a filter from one end to the other.
//!
//! Beyond a limit keys are estimated, and need not be kept: but whether that is so depends on the set of all
//! keys alone, never on the memory, on the threads or on the order of rows. A filter that is sized by it has the
//! same bytes on every machine.
//!
//! `record` is what is kept of a key, `order` sorts, `runs` are on disk, `ranges` goes through all of it,
//! `estimate` has the estimators.

mod estimate;
mod order;
mod ranges;
mod record;
mod runs;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use tamis::key::Recipe;
use tamis_read::Control;
use tamis_read::error::{Error, Result};

use self::estimate::{Estimators, Known, Rolling};
use self::order::{in_parts, put_in_order};
use self::ranges::Places;
use self::record::{Pair, Record};
use self::runs::{Run, RunWriter};
use crate::distinct::{Counts, Distinct, SMALL};
use crate::parallel;

/// A log is first put in order when it has this many records: until then, most need not be.
const FRESH: usize = 1 << 22;

/// A log has room for this many records, however little memory there is.
const LEAST: usize = 1 << 14;

/// A log takes this much address space at once: what is not written to takes no memory.
const AT_ONCE: usize = 64 << 20;

/// Runs that are kept apart: each is an open file.
const MOST_RUNS: usize = 32;

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

/// What threads share while they see keys.
#[derive(Debug)]
pub(crate) struct Book<'c> {
    grouped: Grouped,
    /// Up to this many keys are counted exactly.
    limit: usize,
    /// Bytes for the log of each thread.
    each: usize,
    folder: PathBuf,
    shelf: Mutex<Shelf>,
    /// Whether there are surely more keys than are counted exactly.
    estimating: AtomicBool,
    estimators: Estimators,
    control: &'c Control,
}

/// The runs on disk.
#[derive(Debug)]
struct Shelf {
    runs: Vec<Run>,
    /// With more records than this they are merged.
    merge_above: u64,
}

/// The records of one thread.
#[derive(Debug)]
enum Held {
    Hashes(Vec<u64>),
    Pairs(Vec<Pair>),
}

impl<'c> Book<'c> {
    /// Counts exactly up to `limit` keys in all, in this much memory; what does not fit waits in the folder for
    /// temporary files.
    pub(crate) fn new(
        grouped: Grouped,
        limit: usize,
        memory: u64,
        threads: usize,
        control: &'c Control,
    ) -> Self {
        // An eighth for estimators, an eighth for what is read of the runs and written to them.
        let each = usize::try_from(memory / 4 * 3).unwrap_or(usize::MAX) / threads.max(1);
        let merge_above = (limit as u64).saturating_add(limit as u64 / 4);
        Book {
            grouped,
            limit,
            each,
            folder: std::env::temp_dir(),
            shelf: Mutex::new(Shelf { runs: Vec::new(), merge_above }),
            estimating: AtomicBool::new(false),
            estimators: Estimators::new(memory / 8),
            control,
        }
    }

    /// A log for one thread.
    pub(crate) fn log(&self) -> Log<'_> {
        let (held, full) = match self.grouped {
            Grouped::No => (Held::Hashes(self.room()), self.first::<u64>()),
            Grouped::Yes => (Held::Pairs(self.room()), self.first::<Pair>()),
        };
        let turn = Turn { sorted: 0, full, estimating: false, known: Known::default() };
        Log { book: self, held, turn, failed: None }
    }

    /// Records that a log holds at most.
    fn most<R>(&self) -> usize {
        // What is fresh, at most half, is held twice while it is put in order.
        (self.each / 3 * 2 / size_of::<R>()).max(LEAST)
    }

    /// Records with which a log is first put in order: all of them are held twice then.
    fn first<R>(&self) -> usize {
        FRESH.min(self.most::<R>() / 4 * 3)
    }

    fn room<R>(&self) -> Vec<R> {
        let mut list = Vec::new();
        // Grown in one place, a log is never held twice. Without that, it grows as it can.
        let _ = list.try_reserve_exact(self.most::<R>().min(AT_ONCE / size_of::<R>()));
        list
    }

    /// Puts a log in order; gives up groups that are estimated, and what does not fit.
    fn settle<R: Record>(&self, list: &mut Vec<R>, turn: &mut Turn) -> Result<()> {
        put_in_order(list, turn.sorted);
        if list.len() > self.limit {
            self.estimating.store(true, Relaxed);
        }
        if self.estimating.load(Relaxed) {
            turn.estimating = true;
            turn.known = self.estimators.known();
            self.estimate(list, &mut turn.known);
        }
        let most = self.most::<R>();
        if list.len() > most / 4 * 3 {
            self.shelve::<R>(Run::of(list, &self.folder)?)?;
            list.clear();
        }
        turn.sorted = list.len();
        turn.full = (list.len() * 2).clamp(self.first::<R>(), most);
        Ok(())
    }

    /// Gives groups with many keys to estimators, and their keys up.
    fn estimate<R: Record>(&self, list: &mut Vec<R>, known: &mut Known) {
        let mut sizes = Sizes::default();
        list.iter().for_each(|record| sizes.add(record.group()));
        self.make_estimators(&sizes, known);
        list.retain(|record| match known.of(record.group()) {
            Some(estimator) => {
                estimator.insert(record.hash());
                false
            }
            None => true,
        });
    }

    fn make_estimators(&self, sizes: &Sizes, known: &mut Known) {
        for group in sizes.large() {
            if known.of(group).is_none()
                && let Some(shared) = self.estimators.of(group)
            {
                known.add(group, shared);
            }
        }
    }

    /// Keeps a run, and merges runs where they are many.
    fn shelve<R: Record>(&self, run: Run) -> Result<()> {
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.runs.push(run);
        if shelf.runs.iter().map(|run| run.records).sum::<u64>() > shelf.merge_above {
            let mut run = self.merge::<R>(&std::mem::take(&mut shelf.runs))?;
            if run.records > self.limit as u64 {
                self.estimating.store(true, Relaxed);
            }
            if self.estimating.load(Relaxed) {
                run = self.estimate_run::<R>(run)?;
            }
            // Small groups may stay many: the next merge comes when it is worth it.
            shelf.merge_above = shelf.merge_above.max(2 * run.records);
            shelf.runs.push(run);
        } else if shelf.runs.len() > MOST_RUNS {
            shelf.runs.sort_unstable_by_key(|run| std::cmp::Reverse(run.records));
            let small = shelf.runs.split_off(MOST_RUNS / 2);
            let run = self.merge::<R>(&small)?;
            shelf.runs.push(run);
        }
        Ok(())
    }

    /// One run of several.
    fn merge<R: Record>(&self, runs: &[Run]) -> Result<Run> {
        let mut writer = RunWriter::new(&self.folder)?;
        self.places::<R>(runs).in_order(self.control, &mut |records| writer.push(records))?;
        writer.finish()
    }

    /// The same as [`estimate`](Self::estimate) for what lies on disk.
    fn estimate_run<R: Record>(&self, run: Run) -> Result<Run> {
        let (mut sizes, mut known) = (Sizes::default(), self.estimators.known());
        let runs = [run];
        let places = self.places::<R>(&runs);
        places.in_order(self.control, &mut |records| {
            records.iter().for_each(|record| sizes.add(record.group()));
            Ok(())
        })?;
        self.make_estimators(&sizes, &mut known);
        let mut writer = RunWriter::new(&self.folder)?;
        let mut left: Vec<R> = Vec::new();
        places.in_order(self.control, &mut |records| {
            left.clear();
            for record in records {
                match known.of(record.group()) {
                    Some(estimator) => estimator.insert(record.hash()),
                    None => left.push(*record),
                }
            }
            writer.push(&left)
        })?;
        writer.finish()
    }

    fn places<'a, R>(&'a self, runs: &'a [Run]) -> Places<'a, R> {
        Places { held: Vec::new(), side_by_side: true, runs, folder: &self.folder }
    }

    /// What all threads saw of groups with numbers below `groups`.
    pub(crate) fn close(&self, logs: Vec<Log<'_>>, groups: usize, threads: usize) -> Result<Seen> {
        let (mut hashes, mut pairs) = (Vec::new(), Vec::new());
        for log in logs {
            let Log { held, turn: Turn { sorted, .. }, failed, .. } = log;
            match (failed, held) {
                (Some(error), _) => return Err(error),
                (None, Held::Hashes(list)) => hashes.push((list, sorted)),
                (None, Held::Pairs(list)) => pairs.push((list, sorted)),
            }
        }
        match self.grouped {
            Grouped::No => self.seen(hashes, groups, threads, Lists::Hashes),
            Grouped::Yes => self.seen(pairs, groups, threads, Lists::Pairs),
        }
    }

    /// The same, of lists that are in order up to some place.
    fn seen<R: Record>(
        &self,
        lists: Vec<(Vec<R>, usize)>,
        groups: usize,
        threads: usize,
        whole: fn(Kept<R>) -> Lists,
    ) -> Result<Seen> {
        let runs = std::mem::take(&mut self.shelf.lock().unwrap_or_else(PoisonError::into_inner).runs);
        let side_by_side = !(runs.is_empty() && lists.iter().all(|(_, sorted)| *sorted == 0));
        let lists: Vec<_> = lists.into_iter().map(Mutex::new).collect();
        let take =
            |list: usize| std::mem::take(&mut *lists[list].lock().unwrap_or_else(PoisonError::into_inner));
        let held = if side_by_side {
            parallel::each(threads, lists.len(), |list| {
                let (mut list, sorted) = take(list);
                put_in_order(&mut list, sorted);
                Ok(list)
            })?
        } else {
            in_parts((0..lists.len()).map(|list| take(list).0).collect(), threads, self.control)?
        };
        let kept = Kept { held, side_by_side, runs, folder: self.folder.clone() };
        let (keys, estimated) = self.sizes(&kept, groups, threads)?;
        Ok(Seen { keys, estimated, pairs: (!estimated).then(|| Pairs::new(whole(kept))) })
    }

    /// The keys to plan for, by group, and whether they are estimated.
    fn sizes<R: Record>(&self, kept: &Kept<R>, groups: usize, threads: usize) -> Result<(Vec<u64>, bool)> {
        let sizes: Vec<AtomicU64> = (0..groups).map(|_| AtomicU64::new(0)).collect();
        let places = kept.places();
        places.each(threads, self.control, &|records| {
            let add = |group: usize, keys: u64| sizes[group].fetch_add(keys, Relaxed);
            match self.grouped {
                Grouped::No if !sizes.is_empty() => _ = add(0, records.len() as u64),
                // Threads would wait for each other at the numbers of a few large groups.
                _ if groups <= records.len() => {
                    let mut here = vec![0; groups];
                    records.iter().for_each(|record| here[record.group() as usize] += 1);
                    here.iter().enumerate().for_each(|(group, keys)| _ = add(group, *keys));
                }
                _ => records.iter().for_each(|record| _ = add(record.group() as usize, 1)),
            }
            Ok(())
        })?;
        let mut sizes: Vec<u64> = sizes.into_iter().map(AtomicU64::into_inner).collect();
        if !self.estimating.load(Relaxed) && sizes.iter().sum::<u64>() <= self.limit as u64 {
            return Ok((sizes, false));
        }
        // The estimators of large groups that have none see the hashes in their order.
        let known = self.estimators.known();
        let mut rolling: Vec<Rolling> = Vec::new();
        let mut rolling_at: Vec<u32> = vec![0; groups];
        for (group, at) in rolling_at.iter_mut().enumerate() {
            if sizes[group] > SMALL as u64 && known.of(group as u32).is_none() {
                rolling.push(Rolling::default());
                *at = rolling.len() as u32;
            }
        }
        places.in_order(self.control, &mut |records| {
            for record in records {
                let group = record.group();
                match (known.of(group), rolling_at[group as usize]) {
                    (Some(estimator), _) => estimator.insert(record.hash()),
                    (None, 0) => {}
                    (None, at) => rolling[at as usize - 1].insert(record.hash()),
                }
            }
            Ok(())
        })?;
        for (group, size) in sizes.iter_mut().enumerate() {
            match (known.of(group as u32), rolling_at[group]) {
                (Some(estimator), _) => *size = estimator.planned(),
                (None, 0) => {}
                (None, at) => *size = std::mem::take(&mut rolling[at as usize - 1]).planned(),
            }
        }
        Ok((sizes, true))
    }
}

/// How many records of a list each group has.
#[derive(Debug, Default)]
struct Sizes(Vec<u32>);

impl Sizes {
    fn add(&mut self, group: u32) {
        let group = group as usize;
        if self.0.len() <= group {
            self.0.resize(group + 1, 0);
        }
        self.0[group] = self.0[group].saturating_add(1);
    }

    /// Groups that are estimated, where groups are.
    fn large(&self) -> impl Iterator<Item = u32> {
        self.0.iter().enumerate().filter(|(_, size)| **size as usize > SMALL).map(|(group, _)| group as u32)
    }
}

/// One thread's way into a [`Book`].
#[derive(Debug)]
pub(crate) struct Log<'b> {
    book: &'b Book<'b>,
    held: Held,
    turn: Turn,
    /// The first failure: it cannot be returned from inside a row.
    failed: Option<Error>,
}

/// How a log goes on.
#[derive(Debug)]
struct Turn {
    /// Up to here, records are in order, each once.
    sorted: usize,
    /// The log is put in order when it has this many records.
    full: usize,
    estimating: bool,
    known: Known,
}

impl Log<'_> {
    /// Sees a key of a group.
    #[inline]
    pub(crate) fn see(&mut self, group: u32, hash: u64) {
        if self.turn.estimating
            && let Some(estimator) = self.turn.known.of(group)
        {
            return estimator.insert(hash);
        }
        let held = match &mut self.held {
            Held::Hashes(list) => {
                list.push(hash);
                list.len()
            }
            Held::Pairs(list) => {
                list.push(Pair::new(group, hash));
                list.len()
            }
        };
        if held >= self.turn.full {
            self.settle();
        }
    }

    #[cold]
    fn settle(&mut self) {
        let settled = match &mut self.held {
            Held::Hashes(list) => self.book.settle(list, &mut self.turn),
            Held::Pairs(list) => self.book.settle(list, &mut self.turn),
        };
        if let Err(error) = settled {
            // What came is not complete any more, and what comes is not kept.
            self.turn.sorted = 0;
            match &mut self.held {
                Held::Hashes(list) => list.clear(),
                Held::Pairs(list) => list.clear(),
            }
            self.failed.get_or_insert(error);
        }
    }
}

/// What was seen.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The keys to plan for, by group.
    pub keys: Vec<u64>,
    /// Whether they are estimated.
    pub estimated: bool,
    /// All of them, where they are not.
    pub pairs: Option<Pairs>,
}

/// Records in memory and on disk.
#[derive(Debug)]
struct Kept<R> {
    /// Each in order.
    held: Vec<Vec<R>>,
    /// Whether any of these may have hashes of any range; or else, they follow each other, and there are no runs.
    side_by_side: bool,
    runs: Vec<Run>,
    folder: PathBuf,
}

impl<R: Record> Kept<R> {
    fn places(&self) -> Places<'_, R> {
        let held = self.held.iter().filter(|held| !held.is_empty()).map(Vec::as_slice).collect();
        Places { held, side_by_side: self.side_by_side, runs: &self.runs, folder: &self.folder }
    }

    /// Lets go of the memory. Threads may be many, and each run costs a little with every range that is read.
    fn spill(&mut self, control: &Control) -> Result<()> {
        let mut writer = RunWriter::new(&self.folder)?;
        self.places().in_order(control, &mut |records| writer.push(records))?;
        let runs = vec![writer.finish()?];
        (self.held, self.runs, self.side_by_side) = (Vec::new(), runs, true);
        Ok(())
    }
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
    /// The groups by their numbers, where they are others.
    groups: Option<Vec<u32>>,
}

/// Some keys, in the order of their hashes.
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
        Pairs { lists, groups: None }
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
        let (runs, folder) = (Vec::new(), std::env::temp_dir());
        if groups.len() == 1 {
            return Some(Pairs::new(Lists::Hashes(Kept { held: groups, side_by_side: true, runs, folder })));
        }
        let mut pairs = Vec::with_capacity(groups.iter().map(Vec::len).sum());
        for (group, hashes) in groups.into_iter().enumerate() {
            pairs.extend(hashes.into_iter().map(|hash| Pair::new(group as u32, hash)));
        }
        pairs.sort_unstable();
        Some(Pairs::new(Lists::Pairs(Kept { held: vec![pairs], side_by_side: true, runs, folder })))
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
            Lists::Hashes(kept) => kept.places().each(threads, control, &|hashes| work(self.batch(hashes))),
            Lists::Pairs(kept) => kept
                .places()
                .each(threads, control, &|pairs| work(Batch::Pairs(pairs, self.groups.as_deref()))),
        }
    }

    /// Gives all keys in the order of their hashes.
    pub(crate) fn in_order(&self, control: &Control, work: &mut dyn FnMut(Batch<'_>)) -> Result<()> {
        match &self.lists {
            Lists::Hashes(kept) => kept.places().in_order(control, &mut |hashes| {
                work(self.batch(hashes));
                Ok(())
            }),
            Lists::Pairs(kept) => kept.places().in_order(control, &mut |pairs| {
                work(Batch::Pairs(pairs, self.groups.as_deref()));
                Ok(())
            }),
        }
    }

    /// The bytes that it takes in memory.
    pub(crate) fn held(&self) -> u64 {
        let of = |lists: usize, bytes| lists as u64 * bytes as u64;
        match &self.lists {
            Lists::Hashes(kept) => of(kept.held.iter().map(Vec::len).sum(), size_of::<u64>()),
            Lists::Pairs(kept) => of(kept.held.iter().map(Vec::len).sum(), size_of::<Pair>()),
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
