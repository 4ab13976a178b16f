//! One pass over the records: what is new passes, and the state is written now and then.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tamis_read::error::Result;
use tamis_read::{Explained, Form, Position, Sources};

use super::outputs::{self, Opened, To, is_regular};
use super::seen::Seen;
use super::state::{Journal, LastLine, Outputs, Reached, State};
use super::{Batch, Job, Notice, Report};
use tamis_make::destination::{self, Destination};
use tamis_make::failpoint::reach;

/// A run under way.
pub(super) struct Run<'j> {
    job: &'j Job,
    seen: Seen,
    to: To, // what no commit has is taken back while the state is still locked
    others: To,
    /// Where bad rows are set aside.
    aside: To,
    state: Option<State>,
    /// How far each input was read.
    reached: Vec<Reached>,
    /// Whether outputs appear at the end, in place of others: until then no state belongs to them.
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
    rate: Rate,
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
        form: &Form,
    ) -> Result<Run<'j>> {
        let mut reached = inputs.iter().map(Reached::of).collect::<Result<Vec<_>>>()?;
        let mut notices = Vec::new();
        let kept = job.kept().is_some();
        let rejected = Destination::of_file(job.rejected.as_deref());
        let file = job.output.path().filter(|path| kept && is_regular(path));
        let resumed = match journal {
            Some(journal) => journal.go_on(&mut reached, &mut notices)? & journal.wrote_to(file),
            None => false,
        };
        let aside = Destination::of_file(job.bad_rows.path());
        let to = [(&job.output, Some(form)), (&rejected, Some(form)), (&aside, None)];
        let opened = outputs::open(to, state.as_ref(), resumed, &mut notices)?;
        let Opened { to: [mut to, mut others, mut aside], replaces, begins } = opened;
        if let (Some(state), true) = (&mut state, begins) {
            reach("dedup/emptied");
            let outputs =
                Outputs { output: to.written()?, rejected: others.written()?, bad_rows: aside.written()? };
            state.announce(&seen, &reached, outputs)?;
        }
        Ok(Run {
            job,
            rate: Rate::of(&seen),
            seen,
            state,
            reached,
            to,
            others,
            aside,
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
        for to in [&mut self.to, &mut self.others] {
            if to.is_empty() {
                to.write(prelude)?;
            }
        }
        self.committed = Instant::now();
        Ok(())
    }

    /// Takes the records of the next chunk, which ends there.
    pub(super) fn take(&mut self, batch: &Batch, end: Position) -> Result<ControlFlow<()>> {
        self.fresh.clear();
        self.fresh.resize(batch.keys.len(), false);
        self.unremembered += self.seen.insert(batch.keys.hashes(), &mut self.fresh)?;
        let passed = self.fresh.iter().filter(|fresh| **fresh).count() as u64;
        let before = self.rate;
        self.rate.renew(&self.seen);
        let rate = 0.5 * (before.value + self.rate.value);
        // For each that passed, this many are to be expected that should have.
        self.dropped += passed as f64 * rate / (1.0 - rate).max(f64::EPSILON);
        self.records += self.fresh.len() as u64;
        self.first += passed;
        batch.gather(&self.fresh, true, &mut self.text);
        self.to.write(&self.text)?;
        reach("dedup/written");
        if self.others.takes() {
            batch.gather(&self.fresh, false, &mut self.text);
            self.others.write(&self.text)?;
        }
        self.aside.write(&batch.aside)?;
        reach("dedup/set-aside");
        if self.reached[end.input].plain {
            let line = batch.last_line();
            self.reached[end.input].offset = end.offset - line.len() as u64;
            self.reached[end.input].last_line = LastLine::of(line);
        }
        self.commit_if_due()?;
        let done = self.to.is_closed() && !self.others.takes() && self.job.bad_rows.path().is_none();
        Ok(if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Writes the state, if it is time to and every input can be begun anywhere.
    fn commit_if_due(&mut self) -> Result<()> {
        let Some(state) = &mut self.state else { return Ok(()) };
        state.rows = state.rows.saturating_add(self.fresh.len() as u64);
        // What only went to a reader that has gone is not done.
        if self.to.is_closed() {
            return Ok(());
        }
        let can_be_left = !self.replaces && self.reached.iter().all(|place| place.plain);
        if can_be_left && self.committed.elapsed() > self.wait {
            let begun = Instant::now();
            let to = [&mut self.to, &mut self.others, &mut self.aside];
            commit(state, &self.seen, &self.reached, to)?;
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
        // What only went to a reader that has gone is not done.
        let state = self.state.as_mut().filter(|_| !closed);
        let to = [self.to, self.others, self.aside];
        match state {
            // A run that ends between the renames replaces outputs once more, by the same.
            Some(state) if self.replaces => {
                let [to, others, aside] = to.map(To::replacing);
                let [(to, output), (others, rejected), (aside, bad_rows)] = [to?, others?, aside?];
                let outputs = Outputs { output, rejected, bad_rows };
                let commit = state.draft(&self.seen, &self.reached, outputs)?;
                state.finish(commit, [aside, others, to].into_iter().flatten().collect())?;
            }
            Some(state) => {
                let mut to = to;
                commit(state, &self.seen, &self.reached, to.each_mut())?;
                destination::finish_all(to.into_iter().filter_map(To::into_outlet))?;
            }
            None => destination::finish_all(to.into_iter().filter_map(To::into_outlet))?,
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
            doubts: Vec::new(),
            notices: self.notices,
            closed,
            inputs: Vec::new(),
            phases: Vec::new(),
        })
    }
}

/// The rate of what remembers keys. Working it out takes as long as some thousand rows: it is done again
/// when there are noticeably more keys.
#[derive(Debug, Clone, Copy)]
struct Rate {
    keys: u64,
    value: f64,
}

impl Rate {
    fn of(seen: &Seen) -> Rate {
        Rate { keys: seen.keys(), value: seen.rate() }
    }

    fn renew(&mut self, seen: &Seen) {
        if seen.keys() - self.keys > self.keys / 64 {
            *self = Rate::of(seen);
        }
    }
}

/// Writes the state, with outputs that are on disk.
fn commit(state: &mut State, seen: &Seen, reached: &[Reached], mut to: [&mut To; 3]) -> Result<()> {
    for file in to.iter_mut().filter_map(|to| to.continued()) {
        file.sync()?;
    }
    reach("dedup/synced");
    let [output, rejected, bad_rows] = to.each_mut().map(|to| to.written());
    let outputs = Outputs { output: output?, rejected: rejected?, bad_rows: bad_rows? };
    state.commit(seen, reached, outputs)?;
    to.into_iter().for_each(To::settle);
    Ok(())
}

/// How often the state is written, at most.
fn commit_every(job: &Job) -> Duration {
    job.kept().map_or(Duration::ZERO, |kept| kept.commit_every)
}
