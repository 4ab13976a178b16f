//! All different records: in memory, or on disk.

use std::path::PathBuf;

use tamis_read::Control;
use tamis_read::error::Result;

use super::Work;
use super::block::Parts;
use super::ranges::Ranges;
use super::record::Record;
use super::runs::{Run, RunWriter};

/// Records in memory, or on disk.
#[derive(Debug)]
pub(super) struct Kept<R: Record> {
    /// Empty where there are runs.
    pub parts: Parts<R>,
    pub runs: Vec<Run>,
    pub folder: PathBuf,
}

impl<R: Record> Kept<R> {
    /// Gives all records, on this many threads.
    pub(super) fn each(&self, threads: usize, control: &Control, work: &Work<'_, R>) -> Result<()> {
        match &self.runs[..] {
            [] => self.parts.each(threads, control, work),
            runs => Ranges { runs, folder: &self.folder }.each(threads, control, work),
        }
    }

    /// Gives all records in order.
    pub(super) fn in_order(&self, control: &Control, work: &mut dyn FnMut(&[R]) -> Result<()>) -> Result<()> {
        match &self.runs[..] {
            [] => self.parts.in_order(control, work),
            runs => Ranges { runs, folder: &self.folder }.in_order(control, work),
        }
    }

    /// Puts what is in memory on disk, too.
    pub(super) fn write_parts(&mut self, control: &Control) -> Result<()> {
        if self.parts.records() > 0 {
            let mut writer = RunWriter::new(&self.folder)?;
            self.parts.in_order(control, &mut |records| writer.push(records))?;
            self.runs.push(writer.finish()?);
            self.parts.take();
        }
        Ok(())
    }

    /// Lets go of the memory. Runs become one, since each costs a little with every range that is read.
    pub(super) fn spill(&mut self, control: &Control) -> Result<()> {
        self.write_parts(control)?;
        if self.runs.len() > 1 {
            let mut writer = RunWriter::new(&self.folder)?;
            self.in_order(control, &mut |records| writer.push(records))?;
            self.runs = vec![writer.finish()?];
        }
        Ok(())
    }
}
