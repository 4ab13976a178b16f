//! One pass over the records: what is new passes, and the state is written now and then.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use tamis_read::error::Result;
use tamis_read::{Explained, Position, Sources};

use super::seen::Seen;
use super::state::{Journal, Place, State, go_on};
use super::{Batch, Job, Report};
use tamis_make::destination::{Destination, Outlet};
use tamis_make::failpoint::reach;
use tamis_make::files;
use tamis_make::resume::Appended;

/// Where the first occurrences go.
enum To {
    Outlet(Outlet),
    Appended(Appended),
}

impl To {
    fn write(&mut self, records: &[u8]) -> Result<()> {
        match self {
            To::Outlet(outlet) => outlet.write(records),
            To::Appended(file) => file.write(records),
        }
    }

    fn appended(&self) -> Option<&Appended> {
        match self {
            To::Appended(file) => Some(file),
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
    state: Option<State>,
    /// How far each input was read.
    places: Vec<Place>,
    to: To,
    others: Outlet,
    /// Whether this run went on where the one before had ended.
    resumed: bool,
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
    /// Opens the outputs, and goes on where the run of the journal ended, if this is the same job.
    pub(super) fn open(
        job: &'j Job,
        seen: Seen,
        state: Option<State>,
        journal: Option<&Journal>,
        inputs: &[Explained],
    ) -> Result<Run<'j>> {
        let mut places: Vec<Place> = inputs.iter().map(Place::of).collect();
        let file = job.kept().and(job.output.path()).filter(|path| is_regular(path));
        let resumed = journal.and_then(|journal| go_on(journal, &mut places, file));
        let to = match (&state, file) {
            (Some(state), Some(path)) => {
                files::check(path)?;
                if resumed.is_none() {
                    // From here on the output belongs to this run, whatever becomes of it.
                    let fresh = Appended::open(path, 0)?;
                    reach("dedup/emptied");
                    state.commit(&seen, &places, Some(&fresh))?;
                }
                To::Appended(Appended::open(path, resumed.unwrap_or(0))?)
            }
            _ => To::Outlet(Outlet::open(&job.output)?),
        };
        let others = Outlet::open(&job.rejected.clone().map_or(Destination::Nowhere, Destination::File))?;
        Ok(Run {
            job,
            seen,
            state,
            places,
            to,
            others,
            resumed: resumed.is_some(),
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
        for (input, place) in self.places.iter().enumerate() {
            if place.is_done() {
                sources.leave_out(input);
            }
            sources.begin_at(Position { input, offset: place.offset });
        }
        if self.to.appended().is_none_or(|file| file.length == 0) {
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
        if self.places[end.input].plain {
            self.places[end.input].offset = end.offset - batch.unfinished() as u64;
        }
        self.commit_if_due()?;
        let done = self.to.is_closed() && !self.others.takes();
        Ok(if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Writes the state, if it is time to and every input can be begun anywhere.
    fn commit_if_due(&mut self) -> Result<()> {
        let Some(state) = &mut self.state else { return Ok(()) };
        state.rows += self.fresh.len() as u64;
        if self.places.iter().all(|place| place.plain) && self.committed.elapsed() > self.wait {
            let begun = Instant::now();
            self.to.appended().map_or(Ok(()), Appended::sync)?;
            reach("dedup/synced");
            state.commit(&self.seen, &self.places, self.to.appended())?;
            self.wait = commit_every(self.job).max(10 * begun.elapsed());
            self.committed = Instant::now();
        }
        Ok(())
    }

    /// Completes outputs and state. Inputs, phases and records without a key are for callers that
    /// know them.
    pub(super) fn finish(mut self) -> Result<Report> {
        let closed = self.to.is_closed();
        self.places.iter_mut().for_each(Place::end);
        if let Some(file) = self.to.appended() {
            file.sync()?;
        }
        self.others.finish()?;
        // What only went to a reader that has gone is not done.
        if let Some(state) = self.state.as_ref().filter(|_| !closed) {
            state.commit(&self.seen, &self.places, self.to.appended())?;
        }
        if let To::Outlet(outlet) = self.to {
            outlet.finish()?;
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
            closed,
            inputs: Vec::new(),
            phases: Vec::new(),
        })
    }
}

/// How often the state is written, at most.
fn commit_every(job: &Job) -> Duration {
    job.kept().map_or(Duration::ZERO, |kept| kept.commit_every)
}

fn is_regular(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |there| there.is_file())
}
