//! A file of bad rows that are set aside, in the order of the inputs.
//!
//! Threads read pieces of the inputs in any order, so what they set aside waits in a file without a name,
//! with a list of where the rows of each piece lie in it: 32 bytes for a piece that has any. In the end the
//! list is sorted, and the records are copied. Thus the file is that of one thread, whatever their number.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tamis_read::BadRecord;
use tamis_read::error::{Error, Result};
use tempfile::SpooledTempFile;

use crate::destination::{Destination, Outlet};
use crate::files::{self, Draft};
use crate::names::Content;
use crate::place::working_folder;
use crate::rows::BadRows;

/// Bytes that are kept in memory before there is a file for them; and that a thread keeps to itself.
const IN_MEMORY: usize = 1 << 20;
const OF_THREAD: usize = 64 << 10;

/// Records of one piece, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    input: usize,
    /// Where the first of them stands in its input.
    at: u64,
    /// Where they lie, and their length.
    from: u64,
    length: u64,
}

/// What waits.
#[derive(Debug)]
struct Spill {
    records: SpooledTempFile,
    length: u64,
    runs: Vec<Run>,
    /// The first failure: it cannot be returned from inside a row.
    failed: Option<io::Error>,
}

/// A file of bad rows, in the making.
pub struct Aside {
    path: PathBuf,
    /// Only in the end, by one thread.
    outlet: Mutex<Outlet>,
    spill: Mutex<Spill>,
}

impl fmt::Debug for Aside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.fmt(f)
    }
}

impl Aside {
    /// Opens the file for the bad rows of a job, where there is one; refuses it where it is another output
    /// of the job, or an input.
    pub fn open<'p>(
        bad_rows: &'p BadRows,
        outputs: impl IntoIterator<Item = Option<&'p Path>>,
        inputs: impl IntoIterator<Item = impl AsRef<Path>> + Clone,
    ) -> Result<Option<Aside>> {
        let Some(path) = bad_rows.path() else { return Ok(None) };
        files::check_outputs(outputs.into_iter().chain([Some(path)]), inputs)?;
        Aside::begin(path).map(Some)
    }

    fn begin(path: &Path) -> Result<Aside> {
        Content::BAD_ROWS.check(path)?;
        let outlet = Outlet::open(&Destination::at(path))?;
        let spill = Spill {
            records: SpooledTempFile::new_in(IN_MEMORY, working_folder(path)),
            length: 0,
            runs: Vec::new(),
            failed: None,
        };
        Ok(Aside { path: path.into(), outlet: Mutex::new(outlet), spill: Mutex::new(spill) })
    }

    /// Writes what was set aside so far, in order: before other inputs, which are numbered from 0 again.
    pub fn settle(&mut self) -> Result<()> {
        let spill = self.spill.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = spill.failed.take() {
            return Err(Error::io(&self.path)(error));
        }
        let outlet = self.outlet.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut runs = mem::take(&mut spill.runs);
        runs.sort_unstable();
        let mut buffer = vec![0; OF_THREAD];
        for run in runs {
            spill.records.seek(SeekFrom::Start(run.from)).map_err(Error::io(&self.path))?;
            let mut left = run.length;
            while left > 0 {
                let some = left.min(OF_THREAD as u64) as usize;
                spill.records.read_exact(&mut buffer[..some]).map_err(Error::io(&self.path))?;
                outlet.write_part(&buffer[..some])?;
                left -= some as u64;
            }
        }
        spill.records.set_len(0).map_err(Error::io(&self.path))?;
        spill.records.rewind().map_err(Error::io(&self.path))?;
        spill.length = 0;
        Ok(())
    }

    /// The file of all that was set aside, not yet in its place; none where the name is that of a device.
    pub fn end(mut self) -> Result<Option<Draft>> {
        self.settle()?;
        self.outlet.into_inner().unwrap_or_else(PoisonError::into_inner).end()
    }
}

/// The file of what was set aside, where there is one: complete, and not yet in its place.
pub fn end(aside: Option<Aside>) -> Result<Option<Draft>> {
    aside.map_or(Ok(None), Aside::end)
}

/// Puts the file in its place, where there is one.
pub fn finish(aside: Option<Aside>) -> Result<()> {
    files::finish_all(end(aside)?)
}

/// What one thread sets aside.
pub(crate) struct Setting<'a> {
    aside: &'a Aside,
    records: Vec<u8>,
    /// Where they lie in these records.
    runs: Vec<Run>,
    piece: Option<(usize, u64)>,
}

impl<'a> Setting<'a> {
    pub(crate) fn new(aside: &'a Aside) -> Setting<'a> {
        Setting { aside, records: Vec::new(), runs: Vec::new(), piece: None }
    }

    pub(crate) fn take(&mut self, record: &BadRecord<'_>) {
        let piece = Some((record.input, record.piece));
        let length = record.text.len() as u64;
        match self.runs.last_mut().filter(|_| self.piece == piece) {
            Some(run) => run.length += length,
            None => {
                let (input, at, from) = (record.input, record.at, self.records.len() as u64);
                self.runs.push(Run { input, at, from, length });
            }
        }
        self.piece = piece;
        self.records.extend_from_slice(record.text);
        if self.records.len() >= OF_THREAD {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.runs.is_empty() {
            return;
        }
        let mut spill = self.aside.spill.lock().unwrap_or_else(PoisonError::into_inner);
        let from = spill.length;
        spill.runs.extend(self.runs.drain(..).map(|run| Run { from: from + run.from, ..run }));
        spill.length += self.records.len() as u64;
        if spill.failed.is_none()
            && let Err(error) = spill.records.write_all(&self.records)
        {
            spill.failed = Some(error);
        }
        self.records.clear();
    }
}

impl Drop for Setting<'_> {
    fn drop(&mut self) {
        self.flush();
    }
}
