//! Sorted sources brought together into one sequence.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;
use std::sync::Arc;

use tamis_read::Control;
use tamis_read::error::Result;

use super::runs::{HeldRecords, Record, Run, RunReader, RunWriter, full_disk, temporary};
use super::store::StoreRecords;

/// A sorted sequence of records.
pub(super) enum Source<'s> {
    Run(RunReader),
    Held(HeldRecords<'s>, Option<Record<'s>>),
    Store(StoreRecords<'s>),
}

impl<'s> Source<'s> {
    pub(super) fn held(records: HeldRecords<'s>) -> Self {
        Source::Held(records, None)
    }

    fn advance(&mut self, folder: &Path) -> Result<bool> {
        match self {
            Source::Run(reader) => reader.advance().map_err(full_disk(folder)),
            Source::Held(records, current) => {
                *current = records.next();
                Ok(current.is_some())
            }
            Source::Store(records) => records.advance(),
        }
    }

    fn record(&self) -> Record<'_> {
        match self {
            Source::Run(reader) => reader.record(),
            Source::Held(_, current) => current.expect("it has one: it was advanced"),
            Source::Store(records) => records.record(),
        }
    }
}

/// The least that is read of a run at a time.
const LEAST_BUFFER: u64 = 64 << 10;
const MOST_BUFFER: u64 = 1 << 20;

/// Readers of these runs, so few and with such buffers that they fit in this much memory: where
/// they are too many, some are merged on disk first.
pub(super) fn readers<'s>(
    mut runs: Vec<Run>,
    memory: u64,
    distinct: bool,
    folder: &Path,
    control: &Control,
) -> Result<Vec<Source<'s>>> {
    let most = (memory / LEAST_BUFFER).max(2) as usize;
    while runs.len() > most {
        let some: Vec<Run> = runs.drain(..most).collect();
        let file = Arc::new(temporary(folder)?);
        let mut out = RunWriter::new(&file).map_err(full_disk(folder))?;
        let sources =
            some.into_iter().map(|run| Source::Run(RunReader::new(run, LEAST_BUFFER as usize))).collect();
        merge(sources, distinct, folder, control, |record| out.push(record).map_err(full_disk(folder)))?;
        runs.push(out.finish().map_err(full_disk(folder))?);
    }
    let buffer = (memory / runs.len().max(1) as u64).clamp(LEAST_BUFFER.min(memory), MOST_BUFFER);
    Ok(runs.into_iter().map(|run| Source::Run(RunReader::new(run, buffer as usize))).collect())
}

/// Records of one hash, which have come from several sources and are yet to be sorted.
#[derive(Default)]
struct Alike {
    records: Vec<(usize, usize, u32)>,
    keys: Vec<u8>,
}

impl Alike {
    fn push(&mut self, record: Record<'_>) {
        // A key that comes again and again, with other groups, is kept once.
        let range = match self.records.last() {
            Some(&(start, end, ..)) if self.keys[start..end] == *record.key => (start, end),
            _ => {
                let start = self.keys.len();
                self.keys.extend_from_slice(record.key);
                (start, self.keys.len())
            }
        };
        self.records.push((range.0, range.1, record.group));
    }

    fn take(&mut self, hash: u64, take: &mut impl FnMut(Record<'_>) -> Result<()>) -> Result<()> {
        let record = |&(start, end, group): &(usize, usize, u32)| Record {
            hash,
            group,
            number: 0,
            key: &self.keys[start..end],
        };
        self.records.sort_unstable_by(|a, b| record(a).order(&record(b)));
        self.records.dedup_by(|a, b| record(a).is_same_pair(&record(b)));
        self.records.iter().try_for_each(|found| take(record(found)))?;
        self.records.clear();
        self.keys.clear();
        Ok(())
    }
}

/// Gives the records of all sources in the order of their hashes; where each pair is wanted once,
/// also in that of keys and groups.
pub(super) fn merge(
    mut sources: Vec<Source<'_>>,
    distinct: bool,
    folder: &Path,
    control: &Control,
    mut take: impl FnMut(Record<'_>) -> Result<()>,
) -> Result<()> {
    let mut heap = BinaryHeap::with_capacity(sources.len());
    for (i, source) in sources.iter_mut().enumerate() {
        if source.advance(folder)? {
            heap.push(Reverse((source.record().hash, i)));
        }
    }
    let mut alike = Alike::default();
    let mut steps = 0u32;
    while let Some(Reverse((hash, i))) = heap.pop() {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(1 << 16) {
            control.check()?;
        }
        let next_hash = heap.peek().map(|Reverse((hash, _))| *hash);
        let source = &mut sources[i];
        if !distinct || next_hash != Some(hash) && alike.records.is_empty() {
            // The rule: no other source has this hash, or it does not matter. Within one, records
            // are in order.
            let mut goes_on = true;
            while goes_on && source.record().hash == hash {
                take(source.record())?;
                goes_on = source.advance(folder)?;
            }
            if goes_on {
                heap.push(Reverse((source.record().hash, i)));
            }
            continue;
        }
        alike.push(source.record());
        if source.advance(folder)? {
            heap.push(Reverse((source.record().hash, i)));
        }
        if heap.peek().is_none_or(|Reverse((next, _))| *next != hash) {
            alike.take(hash, &mut take)?;
        }
    }
    Ok(())
}
