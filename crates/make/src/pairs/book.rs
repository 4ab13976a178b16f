//! What threads see, and what becomes of it while there is more.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tamis::memory::roomy;
use tamis_read::Control;
use tamis_read::error::{Error, Result};

use super::block::{Block, Parts};
use super::estimate::{Estimators, Known, Rolling};
use super::kept::Kept;
use super::ranges::Ranges;
use super::record::{Pair, Record};
use super::runs::{Run, RunWriter};
use super::spool::Spooling;
use super::{Grouped, LOG, Lists, Pairs, Seen, bits_for};
use crate::count::Afterwards;
use crate::distinct::SMALL;
use crate::parallel;

/// There is room for this many logs' worth of records in all, however little memory there is.
const LEAST: usize = 4;

/// Blocks are first looked through for repetitions when they have this many records: until then, most are not worth it.
const FRESH: usize = 1 << 23;

/// Runs that are kept apart: each is an open file.
pub(super) const MOST_RUNS: usize = 32;

/// What threads share while they see keys.
#[derive(Debug)]
pub(crate) struct Book<'c> {
    grouped: Grouped,
    /// Up to this many keys are counted exactly.
    limit: usize,
    /// Bytes for blocks.
    memory: usize,
    threads: usize,
    folder: PathBuf,
    pub(super) shelves: Shelves,
    /// Whether there are surely more keys than are counted exactly.
    estimating: AtomicBool,
    estimators: Estimators,
    spooling: Spooling,
    /// The first failure: it cannot be returned from inside a row.
    failed: Mutex<Option<Error>>,
    control: &'c Control,
}

#[derive(Debug)]
pub(super) enum Shelves {
    Hashes(Mutex<Shelf<u64>>),
    Pairs(Mutex<Shelf<Pair>>),
}

/// What all threads have seen.
#[derive(Debug)]
pub(super) struct Shelf<R: Record> {
    pub parts: Parts<R>,
    /// With this many records, repetitions are looked for.
    full: usize,
    pub runs: Vec<Run>,
    /// With more records than this on disk, they are merged.
    merge_above: u64,
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
        // An eighth for estimators, and for what is read of the runs and written to them.
        let bytes = usize::try_from(memory / 8 * 7).unwrap_or(usize::MAX);
        let shelves = match grouped {
            Grouped::No => Shelves::Hashes(Mutex::new(Shelf::new(bytes, limit, threads))),
            Grouped::Yes => Shelves::Pairs(Mutex::new(Shelf::new(bytes, limit, threads))),
        };
        let folder = std::env::temp_dir();
        Book {
            grouped,
            limit,
            memory: bytes,
            threads,
            shelves,
            estimating: AtomicBool::new(false),
            estimators: Estimators::new(memory / 8),
            spooling: Spooling::new(&folder, Afterwards::No),
            folder,
            failed: Mutex::default(),
            control,
        }
    }

    /// Where keys are estimated, they may be wanted all the same.
    pub(crate) fn and_afterwards(self, afterwards: Afterwards) -> Self {
        Book { spooling: Spooling::new(&self.folder, afterwards), ..self }
    }

    /// A log for one thread.
    pub(crate) fn log(&self) -> Log<'_> {
        let held = match &self.shelves {
            Shelves::Hashes(shelf) => Held::Hashes(Vec::new(), shelf),
            Shelves::Pairs(shelf) => Held::Pairs(Vec::new(), shelf),
        };
        let full = log_of(self.memory, self.threads);
        Log { book: self, held, full, estimating: false, known: Known::default() }
    }

    /// Ends the job: what came is not complete any more.
    fn fail(&self, error: Error) {
        _ = lock(&self.failed).get_or_insert(error);
        self.control.stop();
    }

    /// What came of giving rows to the logs: first of all, what failed here. That something else ended the job is told only
    /// where nothing else is.
    pub(crate) fn given<T>(&self, rows: Result<T>) -> Result<T> {
        match (lock(&self.failed).take(), rows) {
            (Some(Error::Interrupted), Err(error)) | (Some(error), _) => Err(error),
            (None, rows) => rows,
        }
    }

    /// Takes a log that is full, and leaves it empty.
    fn take<R: Record>(&self, shelf: &Mutex<Shelf<R>>, list: &mut Vec<R>, known: &mut Known) -> Result<bool> {
        let mut estimating = self.estimating.load(Relaxed);
        if estimating {
            *known = self.estimators.known();
            self.spool(list, known)?;
            list.retain(|record| self.is_kept(*record, known));
        }
        let block = Block::new(list, bits_of::<R>(self.memory, self.threads));
        list.clear();
        let mut shelf = lock(shelf);
        shelf.parts.push(block);
        if shelf.parts.records() >= shelf.full {
            let most = most_of::<R>(self.memory, self.threads);
            if shelf.full < most && !shelf.parts.repeats() {
                shelf.full = most; // there is room, and little to drop
                return Ok(estimating && !self.spooling.is_on());
            }
            self.settle(&mut shelf)?;
            estimating = self.estimating.load(Relaxed);
            *known = self.estimators.known();
        }
        // What goes to estimators alone need not be logged.
        Ok(estimating && !self.spooling.is_on())
    }

    /// Puts those of some records aside that [go to estimators](Self::is_kept).
    fn spool<R: Record>(&self, records: &[R], known: &Known) -> Result<()> {
        let given_up = records.iter().copied().filter(|record| known.of(record.group()).is_some());
        self.spooling.write(given_up)
    }

    /// Whether a record stays: those of groups with an estimator go there.
    fn is_kept<R: Record>(&self, record: R, known: &Known) -> bool {
        match known.of(record.group()) {
            Some(estimator) => {
                estimator.insert(record.hash());
                false
            }
            None => true,
        }
    }

    /// Drops what has come before; gives up groups that are estimated, and what does not fit.
    fn settle<R: Record>(&self, shelf: &mut Shelf<R>) -> Result<()> {
        // The other threads wait for this one.
        shelf.parts.settle(self.threads, self.control, None)?;
        if shelf.parts.records() > self.limit {
            self.estimating.store(true, Relaxed);
        }
        if self.estimating.load(Relaxed) {
            self.estimate(shelf)?;
        }
        let most = most_of::<R>(self.memory, self.threads);
        // Where all keys that are counted exactly fit, what comes next tells whether there are more.
        let all_fit = self.limit < most / 8 * 7;
        if shelf.parts.records() > most / 4 * 3 && !all_fit {
            let mut writer = RunWriter::new(&self.folder)?;
            shelf.parts.in_order(self.control, &mut |records| writer.push(records))?;
            shelf.parts.take();
            self.shelve(shelf, writer.finish()?)?;
        }
        shelf.full = (shelf.parts.records() * 2).clamp(FRESH.min(most), most);
        Ok(())
    }

    /// Gives groups with many keys to estimators, and their keys up.
    fn estimate<R: Record>(&self, shelf: &mut Shelf<R>) -> Result<()> {
        let sizes = Mutex::new(Sizes::default());
        shelf.parts.each(1, self.control, &|records| {
            let mut sizes = lock(&sizes);
            records.iter().for_each(|record| sizes.add(record.group()));
            Ok(())
        })?;
        let mut known = self.estimators.known();
        self.make_estimators(&lock(&sizes), &mut known);
        shelf.parts.each(self.threads, self.control, &|records| self.spool(records, &known))?;
        shelf.parts.settle(self.threads, self.control, Some(&|record| self.is_kept(record, &known)))
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
    fn shelve<R: Record>(&self, shelf: &mut Shelf<R>, run: Run) -> Result<()> {
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
        let ranges = Ranges { runs, folder: &self.folder };
        ranges.in_order(self.control, &mut |records: &[R]| writer.push(records))?;
        writer.finish()
    }

    /// The same as [`estimate`](Self::estimate) for what lies on disk.
    fn estimate_run<R: Record>(&self, run: Run) -> Result<Run> {
        let (mut sizes, mut known) = (Sizes::default(), self.estimators.known());
        let runs = [run];
        let ranges = Ranges { runs: &runs, folder: &self.folder };
        ranges.in_order(self.control, &mut |records: &[R]| {
            records.iter().for_each(|record| sizes.add(record.group()));
            Ok(())
        })?;
        self.make_estimators(&sizes, &mut known);
        let mut writer = RunWriter::new(&self.folder)?;
        let mut left: Vec<R> = Vec::new();
        ranges.in_order(self.control, &mut |records: &[R]| {
            self.spool(records, &known)?;
            left.clear();
            left.extend(records.iter().filter(|record| self.is_kept(**record, &known)));
            writer.push(&left)
        })?;
        writer.finish()
    }

    /// What all threads saw of groups with numbers below `groups`; and how often they saw a key of each, where that was
    /// counted.
    pub(crate) fn close(&self, logs: Vec<Log<'_>>, groups: usize, times: Option<&[u64]>) -> Result<Seen> {
        self.given(Ok(()))?;
        let (mut hashes, mut pairs) = (Vec::new(), Vec::new());
        for log in logs {
            match log.held {
                Held::Hashes(list, _) => hashes.push(list),
                Held::Pairs(list, _) => pairs.push(list),
            }
        }
        match &self.shelves {
            Shelves::Hashes(shelf) => self.seen(&mut lock(shelf), hashes, (groups, times), Lists::Hashes),
            Shelves::Pairs(shelf) => self.seen(&mut lock(shelf), pairs, (groups, times), Lists::Pairs),
        }
    }

    /// The same, with the logs that were not full.
    fn seen<R: Record>(
        &self,
        shelf: &mut Shelf<R>,
        lists: Vec<Vec<R>>,
        (groups, times): (usize, Option<&[u64]>),
        whole: fn(Kept<R>) -> Lists,
    ) -> Result<Seen> {
        let mut parts = shelf.parts.take();
        if parts.records() == 0 && shelf.runs.is_empty() {
            parts = Parts::new(bits_for(lists.iter().map(Vec::len).sum()));
        }
        let bits = parts.bits();
        let blocks = parallel::each(self.threads, lists.len(), |list| Ok(Block::new(&lists[list], bits)))?;
        blocks.into_iter().for_each(|block| parts.push(block));
        drop(lists);
        parts.settle(self.threads, self.control, None)?;
        let mut kept = Kept { parts, runs: std::mem::take(&mut shelf.runs), folder: self.folder.clone() };
        if !kept.runs.is_empty() {
            kept.write_parts(self.control)?;
        }
        // Where none was dropped, each was seen once.
        let records = kept.parts.records() as u64;
        let (keys, estimated) = match times.filter(|times| times.iter().sum::<u64>() == records) {
            Some(times) if kept.runs.is_empty() && records <= self.limit as u64 => (times.to_vec(), false),
            _ => self.sizes(&kept, groups)?,
        };
        let pairs = self.spooling.finish()?.map(|spool| Pairs::new(whole(kept)).with(spool));
        Ok(Seen { keys, estimated, pairs })
    }

    /// The keys to plan for, by group, and whether they are estimated.
    fn sizes<R: Record>(&self, kept: &Kept<R>, groups: usize) -> Result<(Vec<u64>, bool)> {
        let sizes: Vec<AtomicU64> = (0..groups).map(|_| AtomicU64::new(0)).collect();
        kept.each(self.threads, self.control, &|records| {
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
        kept.in_order(self.control, &mut |records| {
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

pub(super) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<R: Record> Shelf<R> {
    fn new(memory: usize, limit: usize, threads: usize) -> Shelf<R> {
        let merge_above = (limit as u64).saturating_add(limit as u64 / 4);
        let most = most_of::<R>(memory, threads);
        Shelf {
            parts: Parts::new(bits_of::<R>(memory, threads)),
            full: FRESH.min(most),
            runs: Vec::new(),
            merge_above,
        }
    }
}

/// Records of a log, where threads share this much memory: small enough for all of them.
fn log_of(memory: usize, threads: usize) -> usize {
    (memory / threads.max(1) / 128).clamp(1 << 12, LOG)
}

/// Records that are held at most.
pub(super) fn most_of<R>(memory: usize, threads: usize) -> usize {
    (memory / size_of::<R>()).max(LEAST * threads.max(1) * log_of(memory, threads))
}

/// Into how many parts the records are cut that this much memory holds, as bits.
fn bits_of<R>(memory: usize, threads: usize) -> u32 {
    bits_for(most_of::<R>(memory, threads))
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
    held: Held<'b>,
    /// The book takes it when it has this many records.
    full: usize,
    pub(super) estimating: bool,
    known: Known,
}

/// The records of one thread, and where they go.
#[derive(Debug)]
enum Held<'b> {
    Hashes(Vec<u64>, &'b Mutex<Shelf<u64>>),
    Pairs(Vec<Pair>, &'b Mutex<Shelf<Pair>>),
}

impl Log<'_> {
    /// Sees a key of a group.
    #[inline]
    pub(crate) fn see(&mut self, group: u32, hash: u64) {
        self.see_all(group, &[hash]);
    }

    /// Sees some keys of a group.
    #[inline]
    pub(crate) fn see_all(&mut self, group: u32, hashes: &[u64]) {
        if self.estimating
            && let Some(estimator) = self.known.of(group)
        {
            return hashes.iter().for_each(|&hash| estimator.insert(hash));
        }
        let held = match &mut self.held {
            Held::Hashes(list, _) => {
                make_room(list, hashes.len(), self.full);
                list.extend_from_slice(hashes);
                list.len()
            }
            Held::Pairs(list, _) => {
                make_room(list, hashes.len(), self.full);
                list.extend(hashes.iter().map(|&hash| Pair::new(group, hash)));
                list.len()
            }
        };
        if held >= self.full {
            self.give();
        }
    }

    #[cold]
    fn give(&mut self) {
        let taken = match &mut self.held {
            Held::Hashes(list, shelf) => self.book.take(shelf, list, &mut self.known),
            Held::Pairs(list, shelf) => self.book.take(shelf, list, &mut self.known),
        };
        match taken {
            Ok(estimating) => self.estimating = estimating,
            Err(error) => self.book.fail(error),
        }
    }
}

/// Makes room for more records in a log, which becomes full in few steps.
#[inline]
fn make_room<R: Record>(list: &mut Vec<R>, more: usize, full: usize) {
    if list.capacity() - list.len() < more {
        // The last step is a long one: between it and the whole there would be small pages.
        let next = Some(4 * list.len()).filter(|next| *next < full / 4);
        let mut larger = roomy(next.unwrap_or(full) + more);
        larger.extend_from_slice(list);
        *list = larger;
    }
}
