//! All records in the order of their hashes, each once, range by range: whatever lies in memory and on disk,
//! and however often it came.

use std::path::Path;

use tamis_read::Control;
use tamis_read::error::Result;

use super::record::Record;
use super::runs::Run;
use crate::exact::full_disk;
use crate::parallel;

/// Records that are put in order at a time: about 2 MB, where each has a group.
const AT_ONCE: u64 = 1 << 17;

/// Where records are: each place has them in order, and each of them once.
pub(super) struct Places<'a, R> {
    pub held: Vec<&'a [R]>,
    /// Whether any of those may have hashes of any range; or else, they follow each other, and there are no runs.
    pub side_by_side: bool,
    pub runs: &'a [Run],
    pub folder: &'a Path,
}

impl<R: Record> Places<'_, R> {
    /// All records of all places.
    fn records(&self) -> u64 {
        let held: usize = self.held.iter().map(|held| held.len()).sum();
        held as u64 + self.runs.iter().map(|run| run.records).sum::<u64>()
    }

    /// Ranges of hashes of about equal size: their number is two to the power of this.
    fn bits(&self) -> u32 {
        (self.records() / (AT_ONCE / 2) + 1).next_power_of_two().ilog2().min(24)
    }

    /// Gives the records of each range to `work`, on this many threads.
    pub(super) fn each(
        &self,
        threads: usize,
        control: &Control,
        work: &(dyn Fn(&[R]) -> Result<()> + Sync),
    ) -> Result<()> {
        if !self.side_by_side {
            parallel::each(threads, self.held.len(), |part| {
                control.check()?;
                work(self.held[part])
            })?;
            return Ok(());
        }
        let bits = self.bits();
        parallel::each(threads, 1 << bits, |range| {
            control.check()?;
            self.visit(range as u64, bits, &mut |records| work(records))
        })?;
        Ok(())
    }

    /// The same on this thread, in order.
    pub(super) fn in_order(&self, control: &Control, work: &mut dyn FnMut(&[R]) -> Result<()>) -> Result<()> {
        if !self.side_by_side {
            return self.held.iter().try_for_each(|part| {
                control.check()?;
                work(part)
            });
        }
        let bits = self.bits();
        for range in 0..1 << bits {
            control.check()?;
            self.visit(range, bits, work)?;
        }
        Ok(())
    }

    /// Gives the records whose hashes begin with these bits; in parts, where they are too many at once.
    fn visit(&self, first: u64, bits: u32, work: &mut dyn FnMut(&[R]) -> Result<()>) -> Result<()> {
        let low = if bits == 0 { 0 } else { first << (64 - bits) };
        let high = low | u64::MAX.checked_shr(bits).unwrap_or(0);
        let within = |held: &&[R]| {
            let from = held.partition_point(|record| record.hash() < low);
            let to = held.partition_point(|record| record.hash() <= high);
            (from, to)
        };
        if let ([held], []) = (&self.held[..], self.runs) {
            let (from, to) = within(held);
            return if from < to { work(&held[from..to]) } else { Ok(()) };
        }
        let spans: Vec<(usize, usize)> = self.held.iter().map(within).collect();
        let held: usize = spans.iter().map(|(from, to)| to - from).sum();
        let on_disk: u64 = self.runs.iter().map(|run| run.span(low, high)).map(|(from, to)| to - from).sum();
        if held as u64 + on_disk > 2 * AT_ONCE && bits <= 56 {
            return (0..16).try_for_each(|next| self.visit(first << 4 | next, bits + 4, work));
        }
        let mut records = Vec::with_capacity(held + on_disk as usize);
        let within = self.held.iter().zip(spans).map(|(held, (from, to))| &held[from..to]);
        match (&within.clone().collect::<Vec<_>>()[..], self.runs) {
            ([one, other], []) => union(one, other, &mut records),
            _ => {
                within.for_each(|held| records.extend_from_slice(held));
                for run in self.runs {
                    run.read((low, high), &mut records).map_err(full_disk(self.folder))?;
                }
                records.sort(); // what lies in order is merged
                records.dedup();
            }
        }
        if records.is_empty() { Ok(()) } else { work(&records) }
    }
}

/// What is in either of two lists that are in order, in order, each once.
fn union<R: Record>(a: &[R], b: &[R], all: &mut Vec<R>) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        let (later, earlier) = (y < x, x < y);
        all.push(if later { y } else { x });
        i += usize::from(!later);
        j += usize::from(!earlier);
    }
    all.extend_from_slice(&a[i..]);
    all.extend_from_slice(&b[j..]);
}
