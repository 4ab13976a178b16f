//! All records of some runs in the order of their hashes, each once, range by range: however often it came.

use std::path::Path;

use tamis_read::Control;
use tamis_read::error::Result;

use super::Work;
use super::record::Record;
use super::runs::Run;
use crate::exact::full_disk;
use crate::parallel;

/// Records that are put in order at a time: about 2 MB, where each has a group.
const AT_ONCE: u64 = 1 << 17;

/// Runs, each of which has its records in order, and each of them once.
pub(super) struct Ranges<'a> {
    pub runs: &'a [Run],
    pub folder: &'a Path,
}

impl Ranges<'_> {
    /// Ranges of hashes of about equal size: their number is two to the power of this.
    fn bits(&self) -> u32 {
        let records: u64 = self.runs.iter().map(|run| run.records).sum();
        (records / (AT_ONCE / 2) + 1).next_power_of_two().ilog2().min(24)
    }

    /// Gives the records of each range to `work`, on this many threads.
    pub(super) fn each<R: Record>(
        &self,
        threads: usize,
        control: &Control,
        work: &Work<'_, R>,
    ) -> Result<()> {
        let bits = self.bits();
        parallel::each(threads, 1 << bits, |range| {
            control.check()?;
            self.visit(range as u64, bits, &mut |records| work(records))
        })?;
        Ok(())
    }

    /// The same on this thread, in order.
    pub(super) fn in_order<R: Record>(
        &self,
        control: &Control,
        work: &mut dyn FnMut(&[R]) -> Result<()>,
    ) -> Result<()> {
        let bits = self.bits();
        for range in 0..1 << bits {
            control.check()?;
            self.visit(range, bits, work)?;
        }
        Ok(())
    }

    /// Gives the records whose hashes begin with these bits; in parts, where they are too many at once.
    fn visit<R: Record>(
        &self,
        first: u64,
        bits: u32,
        work: &mut dyn FnMut(&[R]) -> Result<()>,
    ) -> Result<()> {
        let low = if bits == 0 { 0 } else { first << (64 - bits) };
        let high = low | u64::MAX.checked_shr(bits).unwrap_or(0);
        let records: u64 = self.runs.iter().map(|run| run.span(low, high)).map(|(from, to)| to - from).sum();
        if records > 2 * AT_ONCE && bits <= 56 {
            return (0..16).try_for_each(|next| self.visit(first << 4 | next, bits + 4, work));
        }
        let mut list: Vec<R> = Vec::with_capacity(records as usize);
        for run in self.runs {
            run.read((low, high), &mut list).map_err(full_disk(self.folder))?;
        }
        if self.runs.len() > 1 {
            list.sort(); // what lies in order is merged
            list.dedup();
        }
        if list.is_empty() { Ok(()) } else { work(&list) }
    }
}
