//! The run itself: batch after batch, each gathered, logged, learned and answered; and commits.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tamis::params::Name;
use tamis_make::failpoint::reach;
use tamis_make::files;
use tamis_make::rows::Names;
use tamis_read::Control;
use tamis_read::error::Result;

use super::Report;
use super::answers::{Asking, Distinct, Writing};
use super::job::Job;
use super::learned::Learned;
use super::lock;
use super::panes::Panes;
use super::rebuild::{self, Rebuild};
use super::refusal::{CannotResume, News};
use super::role::{ByRole, Role};
use super::sink::AnswerSink;
use super::source::{Cut, Place, Reached, Records, Source};
use super::state::{self, Begin, Commit, Planned, SetAside, State};
use super::watch::{Batch, Lag, Watch, Windowed};
use super::window::Times;

/// How long one stream is waited for while the other may have something.
const SLICE: Duration = Duration::from_millis(5);

/// How long to wait for the only stream before checking whether the run should end.
const LOOK: Duration = Duration::from_millis(50);

/// The fill of filters is looked at so often that it takes at most this part of the time.
const PART_FOR_FILL: u32 = 100;

/// One of the streams, with its records of the batch that is gathered.
pub(super) struct Stream<'a> {
    source: Option<Box<dyn Source + 'a>>,
    records: Records,
    begin: Place,
    ended: bool,
    /// Whether what was gathered cannot be read again.
    edge: bool,
}

impl<'a> Stream<'a> {
    pub(super) fn new(source: Option<Box<dyn Source + 'a>>) -> Stream<'a> {
        let begin = source.as_ref().map(|source| source.place()).unwrap_or_default();
        Stream { ended: source.is_none(), source, records: Records::default(), begin, edge: false }
    }

    /// Takes what there is up to the cut; whether no more is to be waited for.
    fn gather(&mut self, cut: Cut<'_>, patience: Duration) -> Result<bool> {
        let Some(source) = self.source.as_mut().filter(|_| !self.ended) else { return Ok(true) };
        match source.take(cut, patience, &mut self.records)? {
            Reached::Cut => Ok(true),
            Reached::Pause => Ok(false),
            Reached::Edge => {
                self.edge = true;
                Ok(true)
            }
            Reached::End => {
                self.ended = true;
                Ok(true)
            }
        }
    }

    /// Makes a batch of what was gathered.
    fn settle(&mut self) {
        if let Some(source) = &mut self.source {
            source.settle(&mut self.records);
        }
    }

    /// Begins the next batch.
    fn clear(&mut self) {
        self.records.clear();
        self.begin = self.place();
        self.edge = false;
    }

    fn place(&self) -> Place {
        self.source.as_ref().map(|source| source.place()).unwrap_or_default()
    }

    /// Where a later run goes on: not what was gathered for a batch that has not run.
    fn commit(&mut self) -> Result<Option<Begin>> {
        let Some(source) = &mut self.source else { return Ok(None) };
        Ok(Some(Begin { place: self.begin.clone(), bookmark: source.bookmark(&self.begin)? }))
    }

    /// How many records the batch has, where a later run may find fewer.
    fn counted(&self) -> Option<u64> {
        self.source.as_ref().filter(|source| source.may_shrink()).map(|_| self.records.len() as u64)
    }

    /// Compares a batch that is run again with what it had.
    fn compare(&mut self, had: Option<u64>) -> Result<()> {
        let gone = had.unwrap_or(0).saturating_sub(self.records.len() as u64);
        match &mut self.source {
            Some(source) if gone > 0 => source.shrunk(gone),
            _ => Ok(()),
        }
    }

    fn range(&self) -> Option<(Place, Place)> {
        self.source.as_ref().map(|source| (self.begin.clone(), source.place()))
    }
}

/// Sketches, and where their answers go.
pub(super) struct Learner<'a> {
    /// With windows, the union of the panes.
    pub(super) learned: Learned,
    pub(super) panes: Panes,
    pub(super) sink: Box<dyn AnswerSink + 'a>,
    pub(super) writing: Writing,
}

pub(super) struct Run<'a> {
    pub(super) job: &'a Job,
    pub(super) control: &'a Control,
    pub(super) watch: &'a Watch,
    pub(super) state: Option<State>,
    pub(super) learners: Vec<Learner<'a>>,
    pub(super) streams: ByRole<Stream<'a>>,
    /// The names of groups, where they are known in advance; or as they are found.
    pub(super) known: Option<Vec<Name>>,
    pub(super) names: &'a Mutex<Names>,
    /// How far time has come, with windows.
    pub(super) times: Option<Times>,
    /// How filters that turn out too small are rebuilt.
    pub(super) rebuild: Option<Rebuild<'a>>,
    /// Batches that are done.
    pub(super) batch: u64,
    /// Batches that an earlier run had begun, and that are run again.
    pub(super) planned: VecDeque<Planned>,
    /// Whether something was done that is in no commit.
    pub(super) uncommitted: bool,
    pub(super) due: Due,
    pub(super) room: Room,
    /// Where bad rows are set aside; and what the commit says of it.
    pub(super) aside: Option<Aside<'a>>,
    pub(super) set_aside: Option<SetAside>,
}

/// Where bad rows are set aside.
pub(super) struct Aside<'a> {
    pub(super) sink: Box<dyn AnswerSink + 'a>,
    /// Its name in commits.
    pub(super) path: String,
    /// Whether no commit knows of it yet: one must, before anything is written.
    pub(super) is_new: bool,
}

/// When things are due that are not done for every batch.
pub(super) struct Due {
    committed: Instant,
    /// For how long after that no commit is.
    wait: Duration,
    fill: Instant,
    /// Whether the fill has changed since it was looked at.
    learned: bool,
}

impl Due {
    /// Commits are due this often.
    pub(super) fn every(wait: Duration) -> Due {
        Due { committed: Instant::now(), wait, fill: Instant::now(), learned: true }
    }
}

/// Memory that is used for one batch after the other.
#[derive(Default)]
pub(super) struct Room {
    distinct: Distinct,
    asking: Asking,
    firsts: Vec<u32>,
    answers: Vec<u8>,
}

/// Answers are held back from their readers no longer than this, however rare commits are.
const HELD: Duration = Duration::from_secs(10);

/// What was answered in a batch.
struct Answered {
    queries: u64,
    /// Of them, distinct ones.
    distinct: u64,
    /// Lines.
    answers: u64,
    /// Whether somebody takes more.
    open: bool,
}

/// Why the gathering of a batch ended.
#[derive(PartialEq, Eq)]
enum Gathered {
    Whole,
    /// What was gathered cannot be read again: it is not waited for more, and it is committed at once.
    Edge,
    Stopped,
}

impl<'a> Run<'a> {
    /// The streams that there are.
    fn sources(&self) -> impl Iterator<Item = &(dyn Source + 'a)> {
        self.streams.values().filter_map(|stream| stream.source.as_deref())
    }

    /// Runs until all streams have ended, or until it is asked to end.
    pub(super) fn run(mut self) -> Result<Report> {
        let (mut closed, mut stopped) = (false, false);
        let window = self.windowed();
        self.watch.update(|status| status.window = window);
        // A later run knows the file of bad rows, and which file had the name that is followed, though none was
        // learned from.
        let aside_is_new = self.aside.as_ref().is_some_and(|aside| aside.is_new);
        if (self.state.is_some() && aside_is_new) || (self.uncommitted && self.job.follows_files()) {
            self.commit()?;
        }
        while !stopped && !closed {
            // Records that wait already are no reason not to hear.
            if self.control.check().is_err() {
                stopped = true;
                break;
            }
            let begun = Instant::now();
            let planned = self.planned.pop_front();
            let replayed = planned.is_some();
            let gathered = match &planned {
                Some(planned) => self.gather_again(planned)?,
                None => self.gather(begun)?,
            };
            stopped = gathered == Gathered::Stopped;
            // What is gathered by count is left for a later run, which gathers it whole.
            if stopped && (replayed || self.job.every.is_none()) {
                break;
            }
            // A batch that is run again has the moment that it had.
            let logged = planned.as_ref().and_then(|planned| planned.moment);
            let moment = self.times.as_mut().map(|times| {
                logged.unwrap_or_else(|| {
                    let now = times.window().now();
                    times.tick(now)
                })
            });
            if !replayed && self.streams.values().all(|stream| stream.records.is_nothing()) {
                if self.streams.values().all(|stream| stream.ended) {
                    break;
                }
                if gathered == Gathered::Edge {
                    self.streams.values_mut().for_each(Stream::clear);
                    self.commit()?;
                    continue;
                }
                if !self.expires(moment) {
                    self.commit_if_due()?;
                    continue;
                }
            }
            closed = !self.batch(replayed, moment)?;
            reach("stream/answered");
            match gathered {
                _ if closed => {}
                Gathered::Edge => self.commit()?,
                _ => self.commit_if_due()?,
            }
        }
        // What only went to a reader that has gone is not done.
        // Who hears that all went well finds it after a loss of power, too, where no state is kept.
        if !closed && (self.uncommitted || self.state.is_none()) {
            self.commit()?;
        }
        if !closed {
            let aside = self.aside.as_mut().map(|aside| &mut aside.sink);
            let sinks = self.learners.iter_mut().map(|learner| &mut learner.sink).chain(aside);
            files::finish_all(sinks.filter_map(|sink| sink.draft()))?;
        }
        let fill = self.learners[0].learned.fill()?;
        self.watch.update(|status| status.fill = Some(fill));
        let mut counters_full = 0;
        for learner in &self.learners {
            counters_full += learner.learned.counters_full()?;
        }
        let lost = self.sources().map(|source| source.lost()).sum();
        let (status, time, resumed) = (self.watch.status(), Duration::ZERO, false);
        Ok(Report { status, time, resumed, stopped, closed, counters_full, lost, inputs: Vec::new() })
    }

    /// What waits to be read, of each stream.
    fn lag(&self) -> ByRole<Option<Lag>> {
        ByRole::of(|role| self.streams[role].source.as_ref().and_then(|source| source.lag()))
    }

    /// Gathers the records of the next batch.
    fn gather(&mut self, begun: Instant) -> Result<Gathered> {
        let deadline = self.job.every.map(|every| begun + every);
        loop {
            let cut = Cut::Records(self.job.batch);
            let patience = self.patience(deadline);
            let mut whole = true;
            for (stream, patience) in self.streams.values_mut().zip(patience.values()) {
                whole &= stream.gather(cut, *patience)?;
            }
            if self.streams.values().any(|stream| stream.edge) {
                return Ok(Gathered::Edge);
            }
            if whole {
                return Ok(Gathered::Whole);
            }
            if self.control.check().is_err() {
                return Ok(Gathered::Stopped);
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(Gathered::Whole);
            }
            // The streams may pause for long.
            let lag = self.lag();
            self.watch.update(|status| status.lag = lag);
            self.commit_if_due()?;
            self.fill_if_due()?;
        }
    }

    /// How long each stream is waited for now: one that is alone in having too little for longer.
    fn patience(&self, deadline: Option<Instant>) -> ByRole<Duration> {
        let waits = |stream: &Stream<'_>| !stream.ended && stream.records.len() < self.job.batch;
        let waiting = self.streams.values().filter(|stream| waits(stream)).count();
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        ByRole::of(|role| {
            let others = waiting - usize::from(waits(&self.streams[role]));
            let patience = if others == 0 { LOOK } else { SLICE };
            left.map_or(patience, |left| patience.min(left))
        })
    }

    /// Gathers the records of a batch that was logged.
    fn gather_again(&mut self, planned: &Planned) -> Result<Gathered> {
        let logged = planned.streams.values().zip(planned.records.values());
        for (stream, (range, had)) in self.streams.values_mut().zip(logged) {
            let Some((from, to)) = range else { continue };
            if *from != stream.place() {
                return Err(CannotResume::Gap(planned.batch).into());
            }
            while !stream.gather(Cut::At(to), LOOK)? {
                if self.control.check().is_err() {
                    return Ok(Gathered::Stopped);
                }
            }
            stream.compare(*had)?;
        }
        Ok(Gathered::Whole)
    }

    /// Whether something expires now, even if no row comes.
    fn expires(&self, moment: Option<i64>) -> bool {
        let oldest = self.times.as_ref().zip(moment).and_then(|(times, now)| times.oldest_now(now));
        let first = self.learners.iter().filter_map(|learner| learner.panes.first()).min();
        first.zip(oldest).is_some_and(|(first, oldest)| first < oldest)
    }

    /// Learns the rows of the batch; how many of them are taken.
    fn learn(&mut self, moment: Option<i64>) -> Result<u64> {
        let found = lock(self.names);
        let found = self.known.as_ref().unwrap_or(&found.list);
        let records = &self.streams[Role::Train].records;
        let (Some(times), Some(moment)) = (&mut self.times, moment) else {
            for learner in &mut self.learners {
                learner.learned.meet(records, found)?;
                learner.learned.train(records)?;
            }
            return Ok(records.len() as u64);
        };
        let before = times.judged.ahead;
        let sorted = times.sort(records, moment);
        if before == 0 && times.judged.ahead > 0 {
            let latest = records.times.iter().max().copied().unwrap_or(0);
            self.watch.say(&News::Ahead { latest, now: moment });
        }
        let Some(sorted) = sorted else { return Ok(0) };
        let parts = sorted.parts(records);
        for Learner { learned, panes, .. } in &mut self.learners {
            panes.train(self.batch, learned, sorted.oldest, &parts, found)?;
        }
        Ok(sorted.taken)
    }

    /// Makes filters again, larger, that turn out too small for what they hold.
    fn enlarge_if_due(&mut self, rows: u64) -> Result<()> {
        let Some(rebuild) = &self.rebuild else { return Ok(()) };
        let Some(Learner { learned, .. }) = self.learners.first_mut() else { return Ok(()) };
        let (Some(keys), all) = (learned.planned_keys(), learned.all_rows()) else { return Ok(()) };
        if rows == 0 || !rebuild::is_due(rows, all, keys) {
            return Ok(());
        }
        let fill = learned.fill()?;
        if fill.rate <= rebuild.above {
            return Ok(());
        }
        let (mut more, mut now) = (keys, fill);
        // How many keys a full filter has cannot be told: once may not be enough.
        while now.rate > rebuild.above {
            more = rebuild::larger(more, &now);
            let mut larger = learned.for_keys(more)?;
            rebuild.read_again(&mut larger, all, &self.streams[Role::Train].place())?;
            *learned = larger;
            now = learned.fill()?;
        }
        self.watch.say(&News::Rebuilt {
            was: fill.rate,
            above: rebuild.above,
            now: now.rate,
            before: keys,
            keys: more,
        });
        self.watch.update(|status| status.enlarged += 1);
        Ok(())
    }

    /// Says that filters that grow have grown by this many layers.
    fn say_growth(&self, layers: u64) {
        let now = self.learners.first().map_or(0, |learner| learner.learned.layers());
        if self.job.rebuild_above.is_some() && now > layers && layers > 0 {
            self.watch.say(&News::Grown(now));
            self.watch.update(|status| status.enlarged += now - layers);
        }
    }

    /// How far the window has come.
    fn windowed(&self) -> Option<Windowed> {
        let times = self.times.as_ref()?;
        let window = times.window();
        Some(Windowed {
            length: window.length(),
            slide: window.slide(),
            most: window.panes(),
            panes: self.learners.first().map_or(0, |learner| learner.panes.len()),
            begin: times.newest.map(|newest| window.start(window.oldest(newest))),
            newest: times.newest,
            judged: window.time().map(|_| times.judged),
            takes_late: window.takes_late(),
        })
    }

    /// Runs a batch: what is learned, then what is removed, then what is asked. False where nobody
    /// takes its answers.
    fn batch(&mut self, replayed: bool, moment: Option<i64>) -> Result<bool> {
        let begun = Instant::now();
        if !replayed && self.state.is_some() && self.sources().any(|source| source.has_news()) {
            self.commit()?;
        }
        self.batch += 1;
        self.streams.values_mut().for_each(Stream::settle);
        if let (Some(state), false) = (&mut self.state, replayed) {
            let streams = ByRole::of(|role| self.streams[role].range());
            let records = ByRole::of(|role| self.streams[role].counted());
            let planned = Planned { batch: self.batch, streams, moment, records };
            state.log(&planned)?;
            reach("stream/planned");
        }
        self.uncommitted = self.state.is_some();
        let learns = !self.streams[Role::Train].records.is_empty() || self.times.is_some();
        let layers = self.learners.first().map_or(0, |learner| learner.learned.layers());
        let rows = if learns { self.learn(moment)? } else { 0 };
        self.enlarge_if_due(rows)?;
        self.say_growth(layers);
        let (removed, missing) = self.remove()?;
        let window = self.windowed();
        let Answered { queries, distinct, answers, mut open } = self.answer()?;
        open &= self.set_aside()?;
        self.streams.values_mut().for_each(Stream::clear);
        let skipped = self.sources().map(|source| source.skipped()).sum();
        let lag = self.lag();
        self.due.learned |= learns || removed > 0;
        self.fill_if_due()?;
        let current = !self.due.learned;
        let time = begun.elapsed();
        let batch =
            Batch { batch: self.batch, rows, queries, distinct, answers, removed, missing, time, replayed };
        self.watch.update(|status| {
            status.batch = batch.batch;
            status.batches += 1;
            status.replayed += u64::from(replayed);
            status.rows += rows;
            status.queries += queries;
            status.distinct += distinct;
            status.answers += answers;
            status.skipped = skipped;
            status.removed += removed;
            status.missing += missing;
            status.lag = lag;
            status.fill_is_current = current;
            status.window = window;
        });
        self.watch.tell(&batch);
        Ok(open)
    }

    /// Removes the keys of the batch; how many there were, and how many were not there.
    fn remove(&mut self) -> Result<(u64, u64)> {
        let records = &self.streams[Role::Remove].records;
        if records.is_empty() {
            return Ok((0, 0));
        }
        let found = lock(self.names);
        let found = self.known.as_ref().unwrap_or(&found.list);
        // Counts beside filters go on counting all that came.
        let removed = self.learners[0].learned.remove(records, found)?;
        Ok((removed, records.len() as u64 - removed))
    }

    /// Answers the queries of the batch.
    fn answer(&mut self) -> Result<Answered> {
        let records = &self.streams[Role::Query].records;
        let queries = records.len() as u64;
        let mut answered = Answered { queries, distinct: 0, answers: 0, open: true };
        if queries == 0 {
            return Ok(answered);
        }
        let Room { distinct, asking, firsts, answers } = &mut self.room;
        distinct.firsts(&records.keys, firsts);
        answered.distinct = firsts.len() as u64;
        for (number, Learner { learned, sink, writing, .. }) in self.learners.iter_mut().enumerate() {
            answers.clear();
            let filters = learned.filters()?;
            let lines = match learned.counts() {
                true => asking.count(&records.keys, firsts, &filters, *writing, answers),
                false => asking.ask(&records.keys, firsts, &filters, *writing, answers),
            };
            if number == 0 {
                answered.answers = lines; // counts beside filters answer all queries
            }
            answered.open &= sink.append(self.batch, answers)?;
        }
        Ok(answered)
    }

    /// Sets the bad rows of the batch aside; whether somebody takes more.
    fn set_aside(&mut self) -> Result<bool> {
        let Some(aside) = &mut self.aside else { return Ok(true) };
        let mut open = true;
        for stream in self.streams.values() {
            open &= aside.sink.append(self.batch, &stream.records.aside)?;
            reach("stream/set-aside");
        }
        Ok(open)
    }

    fn fill_if_due(&mut self) -> Result<()> {
        let begun = Instant::now();
        if !self.due.learned || begun < self.due.fill {
            return Ok(());
        }
        let fill = self.learners[0].learned.fill()?;
        self.watch.update(|status| status.fill = Some(fill));
        self.due.learned = false;
        self.due.fill = Instant::now() + PART_FOR_FILL * begun.elapsed();
        Ok(())
    }

    fn commit_if_due(&mut self) -> Result<()> {
        if !self.uncommitted {
            return Ok(());
        }
        if self.due.committed.elapsed() < self.due.wait {
            let held = self.learners.iter().any(|learner| learner.sink.held() > Some(HELD));
            return if held { self.sync() } else { Ok(()) };
        }
        let mut begun = Instant::now();
        // To wait for brokers costs nothing: it is no reason to commit less often.
        if self.learners.iter().any(|learner| learner.sink.held().is_some()) {
            self.sync()?;
            begun = Instant::now();
        }
        self.commit()?;
        if !self.job.commit_every.is_zero() {
            // No more than a tenth of the time.
            self.due.wait = self.job.commit_every.max(9 * begun.elapsed());
        }
        Ok(())
    }

    /// Makes the answers so far durable, after all that is needed to make the same again: they may be
    /// seen by others before there is a commit that has them.
    fn sync(&mut self) -> Result<()> {
        for stream in self.streams.values_mut() {
            if let Some(source) = &mut stream.source {
                source.sync()?;
            }
        }
        if let Some(state) = &self.state
            && self.learners.iter().any(|learner| learner.sink.held().is_some())
        {
            state.sync_log()?;
        }
        if let Some(aside) = &mut self.aside {
            aside.sink.sync(self.batch)?;
        }
        self.learners.iter_mut().try_for_each(|learner| learner.sink.sync(self.batch))
    }

    /// Makes all that was done so far durable, and a place to go back to.
    fn commit(&mut self) -> Result<()> {
        reach("stream/commit");
        self.sync()?;
        reach("stream/synced");
        let Some(state) = &mut self.state else { return Ok(()) };
        let streams = ByRole::try_of(|role| self.streams[role].commit())?;
        let mut commit = Commit { batch: self.batch, streams, ..Commit::default() };
        let mut files = state::PaneFiles::default();
        for (number, Learner { learned, panes, sink, .. }) in self.learners.iter_mut().enumerate() {
            let name = format!("{}-{}.tamis", learned.name(), self.batch);
            learned.write(&state.path(&name), self.job.threads)?;
            *if number == 0 { &mut commit.output } else { &mut commit.counts_output } = sink.length();
            *if learned.counts() { &mut commit.counts } else { &mut commit.filter } = Some(name);
            if let Some(times) = &self.times {
                let (kind, window) = (learned.name(), times.window());
                let name = |pane, batch| format!("{kind}-pane-{}-{batch}.tamis", window.start(pane));
                let written = panes.write(state.folder(), self.job.threads, name)?;
                *if learned.counts() { &mut files.counts } else { &mut files.filter } = written;
            }
            reach("stream/learned");
        }
        let planned = self.learners.first().and_then(|learner| learner.learned.planned_keys());
        commit.keys = planned.filter(|_| self.rebuild.is_some());
        if let Some(times) = &self.times {
            commit.window = Some(state::PaneFiles { newest: times.newest, ..files });
        }
        if let Some(Aside { sink, path, is_new }) = &mut self.aside {
            *is_new = false;
            self.set_aside = sink.length().map(|length| SetAside { path: path.clone(), length });
        }
        commit.bad_rows.clone_from(&self.set_aside);
        state.commit(commit)?;
        for stream in self.streams.values_mut() {
            if let Some(source) = &mut stream.source {
                source.forget(&stream.begin)?;
            }
        }
        reach("stream/forgotten");
        self.due.committed = Instant::now();
        self.uncommitted = false;
        self.watch.update(|status| {
            status.commits += 1;
            status.committed = Some(Instant::now());
        });
        Ok(())
    }
}
