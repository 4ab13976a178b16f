//! One pass over the records: what is new passes, and the state is written now and then.

use std::fs::{self, File};
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use tamis_read::error::{Error, Result};
use tamis_read::{Explained, Position, Sources};

use super::seen::Seen;
use super::state::{Begun, Journal, LastLine, Reached, State};
use super::{Batch, Job, Notice, OutputRefusal, Report};
use tamis_make::destination::{Destination, Outlet};
use tamis_make::failpoint::reach;
use tamis_make::files;
use tamis_make::place;
use tamis_make::resume::{Appended, keep_to_oneself};

/// Where the first occurrences go.
enum To {
    Outlet(Outlet),
    Continued(Continued),
}

/// An output that is continued. What no commit has is taken back when the run fails.
struct Continued {
    file: Appended,
    /// What the last commit has of it.
    committed: u64,
    /// Whether there is no more of it.
    settled: bool,
    /// Whether this run has made it, and no commit has anything of it.
    made: bool,
}

impl Continued {
    fn write(&mut self, records: &[u8]) -> Result<()> {
        self.settled &= records.is_empty();
        self.file.write(records)
    }

    /// Its name and length, as a commit has it.
    fn written(&self) -> (&Path, u64) {
        (&self.file.path, self.file.length)
    }

    /// Notes that a commit has all of it.
    fn settle(&mut self) {
        (self.committed, self.settled, self.made) = (self.file.length, true, false);
    }
}

impl Drop for Continued {
    fn drop(&mut self) {
        if !self.settled {
            let _ = self.file.cut(self.committed);
        }
        if self.made {
            let _ = fs::remove_file(&self.file.path);
        }
    }
}

impl To {
    fn write(&mut self, records: &[u8]) -> Result<()> {
        match self {
            To::Outlet(outlet) => outlet.write(records),
            To::Continued(file) => file.write(records),
        }
    }

    fn continued(&mut self) -> Option<&mut Continued> {
        match self {
            To::Continued(file) => Some(file),
            To::Outlet(_) => None,
        }
    }

    fn is_closed(&self) -> bool {
        matches!(self, To::Outlet(outlet) if outlet.is_closed())
    }
}

/// A run under way.
pub(super) struct Run<'j> {
    job: &'j Job,
    seen: Seen,
    to: To, // what no commit has is taken back while the state is still locked
    state: Option<State>,
    /// How far each input was read.
    reached: Vec<Reached>,
    others: Outlet,
    /// Whether the output appears at the end, in place of another: until then no state belongs to it.
    replaces: bool,
    /// Whether this run went on where the one before had ended.
    resumed: bool,
    notices: Vec<Notice>,
    /// When the state was written, and how long it waits until it is again.
    committed: Instant,
    wait: Duration,
    records: u64,
    first: u64,
    dropped: f64,
    unremembered: u64,
    fresh: Vec<bool>,
    text: Vec<u8>,
}

impl<'j> Run<'j> {
    /// Opens the outputs, and goes on where the run of the journal ended.
    pub(super) fn open(
        job: &'j Job,
        seen: Seen,
        mut state: Option<State>,
        journal: Option<&Journal>,
        inputs: &[Explained],
        prelude: &[u8],
    ) -> Result<Run<'j>> {
        let mut reached = inputs.iter().map(Reached::of).collect::<Result<Vec<_>>>()?;
        let mut notices = Vec::new();
        let file = job.kept().and(job.output.path()).filter(|path| is_regular(path));
        let resumed = match journal {
            Some(journal) => journal.go_on(&mut reached, &mut notices)? & journal.wrote_to(file),
            None => false,
        };
        let (mut to, mut replaces) = (None, false);
        if let (Some(state), Some(path)) = (&mut state, file) {
            files::check(path)?;
            match state.begin(path)? {
                Begun::New => {
                    let made = is_free(path)?;
                    let file = Appended::open(path, 0)?;
                    let file = Continued { file, committed: 0, settled: true, made };
                    reach("dedup/emptied");
                    state.announce(&seen, &reached, path)?;
                    if journal.is_some() {
                        notices.push(Notice::NewOutput { path: path.into() });
                    }
                    to = Some(To::Continued(file));
                }
                Begun::Continued(length) => {
                    if length > 0 {
                        has_prelude(path, prelude)?;
                    }
                    let there = place::look(path).map_err(Error::io(path))?;
                    let cut = there.map_or(0, |file| file.len()).saturating_sub(length);
                    // A run that came to its end leaves nothing that it did not commit.
                    if cut > 0 && !state.was_left() {
                        return Err(Error::input(path, OutputRefusal::Longer { bytes: cut }));
                    }
                    let made = is_free(path)?;
                    let file = Appended::open(path, length)?;
                    if cut > 0 {
                        notices.push(Notice::Cut { path: path.into(), bytes: cut });
                    }
                    if !resumed && length > 0 {
                        notices.push(Notice::Appended { path: path.into() });
                    }
                    to = Some(To::Continued(Continued { file, committed: length, settled: true, made }));
                }
                Begun::Replaced => {
                    keep_to_oneself(&File::open(path).map_err(Error::io(path))?, path)?;
                    replaces = true;
                }
            }
        }
        let to = match to {
            Some(to) => to,
            None => To::Outlet(Outlet::open(&job.output)?),
        };
        let others = Outlet::open(&job.rejected.clone().map_or(Destination::Nowhere, Destination::File))?;
        Ok(Run {
            job,
            seen,
            state,
            reached,
            to,
            others,
            replaces,
            resumed,
            notices,
            committed: Instant::now(),
            wait: commit_every(job),
            records: 0,
            first: 0,
            dropped: 0.0,
            unremembered: 0,
            fresh: Vec::new(),
            text: Vec::new(),
        })
    }

    /// Lets the inputs begin where they were left, and writes what stands before the first record.
    pub(super) fn begin(&mut self, sources: &mut Sources, prelude: &[u8]) -> Result<()> {
        for (input, place) in self.reached.iter().enumerate() {
            if place.is_done() {
                sources.leave_out(input);
            }
            sources.begin_at(Position { input, offset: place.offset });
        }
        if self.to.continued().is_none_or(|output| output.file.length == 0) {
            self.to.write(prelude)?;
        }
        self.others.write(prelude)?;
        self.committed = Instant::now();
        Ok(())
    }

    /// Takes the records of the next chunk, which ends there.
    pub(super) fn take(&mut self, batch: &Batch, end: Position) -> Result<ControlFlow<()>> {
        self.fresh.clear();
        self.fresh.resize(batch.keys.len(), false);
        self.unremembered += self.seen.insert(batch.keys.hashes(), &mut self.fresh)?;
        let passed = self.fresh.iter().filter(|fresh| **fresh).count() as u64;
        let rate = self.seen.rate();
        // For each that passed, this many are to be expected that should have.
        self.dropped += passed as f64 * rate / (1.0 - rate);
        self.records += self.fresh.len() as u64;
        self.first += passed;
        batch.gather(&self.fresh, true, &mut self.text);
        self.to.write(&self.text)?;
        reach("dedup/written");
        if self.others.takes() {
            batch.gather(&self.fresh, false, &mut self.text);
            self.others.write(&self.text)?;
        }
        if self.reached[end.input].plain {
            let line = batch.last_line();
            self.reached[end.input].offset = end.offset - line.len() as u64;
            self.reached[end.input].last_line = LastLine::of(line);
        }
        self.commit_if_due()?;
        let done = self.to.is_closed() && !self.others.takes();
        Ok(if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Writes the state, if it is time to and every input can be begun anywhere.
    fn commit_if_due(&mut self) -> Result<()> {
        let Some(state) = &mut self.state else { return Ok(()) };
        state.rows += self.fresh.len() as u64;
        let can_be_left = !self.replaces && self.reached.iter().all(|place| place.plain);
        if can_be_left && self.committed.elapsed() > self.wait {
            let begun = Instant::now();
            commit(state, &self.seen, &self.reached, &mut self.to)?;
            self.wait = commit_every(self.job).max(10 * begun.elapsed());
            self.committed = Instant::now();
        }
        Ok(())
    }

    /// Completes outputs and state. Inputs, phases and records without a key are for callers that
    /// know them.
    pub(super) fn finish(mut self) -> Result<Report> {
        let closed = self.to.is_closed();
        self.reached.iter_mut().for_each(Reached::end);
        self.others.finish()?;
        // What only went to a reader that has gone is not done.
        let state = self.state.as_mut().filter(|_| !closed);
        match (state, self.to) {
            (Some(state), To::Outlet(outlet)) if self.replaces => {
                // A run that ends between the two replaces the output once more, by the same.
                outlet.finish()?;
                reach("dedup/replaced");
                let path = self.job.output.path().expect("what is replaced has a name");
                let length = fs::metadata(path).map_err(Error::io(path))?.len();
                state.commit(&self.seen, &self.reached, Some((path, length)))?;
            }
            (state, mut to) => {
                if let Some(state) = state {
                    commit(state, &self.seen, &self.reached, &mut to)?;
                }
                if let To::Outlet(outlet) = to {
                    outlet.finish()?;
                }
            }
        }
        let (_, group) = self.seen.params()?;
        Ok(Report {
            records: self.records,
            first: self.first,
            keyless: 0,
            dropped: self.dropped,
            fpr: group.fpr(),
            rescued: None,
            keys: self.seen.keys(),
            bytes: group.shape.bits() / 8,
            unremembered: self.unremembered,
            resumed: self.resumed,
            notices: self.notices,
            closed,
            inputs: Vec::new(),
            phases: Vec::new(),
        })
    }
}

/// Writes the state, with an output that is on disk.
fn commit(state: &mut State, seen: &Seen, reached: &[Reached], to: &mut To) -> Result<()> {
    let Some(output) = to.continued() else { return state.commit(seen, reached, None) };
    output.file.sync()?;
    reach("dedup/synced");
    state.commit(seen, reached, Some(output.written()))?;
    output.settle();
    Ok(())
}

/// Refuses to continue an output that begins with other columns than these.
fn has_prelude(output: &Path, prelude: &[u8]) -> Result<()> {
    let header = prelude.trim_ascii_end();
    let mut found = Vec::new();
    let file = File::open(output).map_err(Error::io(output))?;
    // With what follows it: the first columns of another header are the same.
    file.take(header.len() as u64 + 1).read_to_end(&mut found).map_err(Error::io(output))?;
    if !header.is_empty() && found.trim_ascii_end() != header {
        return Err(Error::input(output, OutputRefusal::Columns));
    }
    Ok(())
}

/// How often the state is written, at most.
fn commit_every(job: &Job) -> Duration {
    job.kept().map_or(Duration::ZERO, |kept| kept.commit_every)
}

/// Whether nothing is there.
fn is_free(path: &Path) -> Result<bool> {
    Ok(place::look(path).map_err(Error::io(path))?.is_none())
}

fn is_regular(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |there| there.is_file())
}
