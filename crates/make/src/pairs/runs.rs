//! Records that did not fit in memory: on disk in sorted runs, of which any range of hashes can be read.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use tamis_read::error::Result;

use super::record::Record;
use crate::exact::{full_disk, read_exact_at, temporary};

/// Records between two hashes of the index.
const BLOCK: u64 = 1024;

/// Records in order, each once, in a file without a name.
#[derive(Debug)]
pub(super) struct Run {
    file: File,
    pub(super) records: u64,
    /// The hash of the first record of each block.
    index: Vec<u64>,
}

impl Run {
    /// Records among which are all with a hash from `low` to `high`: the first, and the end.
    pub(super) fn span(&self, low: u64, high: u64) -> (u64, u64) {
        let first = self.index.partition_point(|&hash| hash < low).saturating_sub(1) as u64;
        let end = self.index.partition_point(|&hash| hash <= high) as u64;
        let end = (end * BLOCK).min(self.records);
        ((first * BLOCK).min(end), end)
    }

    /// Adds all with a hash from `low` to `high` to a list.
    pub(super) fn read<R: Record>(&self, (low, high): (u64, u64), to: &mut Vec<R>) -> io::Result<()> {
        let (first, end) = self.span(low, high);
        let mut bytes = vec![0; BLOCK as usize * R::BYTES];
        for from in (first..end).step_by(BLOCK as usize) {
            let bytes = &mut bytes[..(end - from).min(BLOCK) as usize * R::BYTES];
            read_exact_at(&self.file, bytes, from * R::BYTES as u64)?;
            let records = bytes.chunks_exact(R::BYTES).map(R::decode);
            to.extend(records.filter(|record| (low..=high).contains(&record.hash())));
        }
        Ok(())
    }
}

/// A run in the making.
pub(super) struct RunWriter<'f> {
    folder: &'f Path,
    out: BufWriter<File>,
    bytes: Vec<u8>,
    records: u64,
    index: Vec<u64>,
}

impl<'f> RunWriter<'f> {
    pub(super) fn new(folder: &'f Path) -> Result<RunWriter<'f>> {
        let out = BufWriter::with_capacity(1 << 17, temporary(folder)?);
        Ok(RunWriter { folder, out, bytes: Vec::new(), records: 0, index: Vec::new() })
    }

    /// Adds records that come after those before.
    pub(super) fn push<R: Record>(&mut self, records: &[R]) -> Result<()> {
        for some in records.chunks(BLOCK as usize) {
            self.bytes.clear();
            for &record in some {
                if self.records.is_multiple_of(BLOCK) {
                    self.index.push(record.hash());
                }
                self.records += 1;
                record.encode(&mut self.bytes);
            }
            self.out.write_all(&self.bytes).map_err(full_disk(self.folder))?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Run> {
        let file = self.out.into_inner().map_err(|error| full_disk(self.folder)(error.into_error()))?;
        Ok(Run { file, records: self.records, index: self.index })
    }
}
