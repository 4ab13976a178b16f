//! Records pass the first time their key comes, and not again.
//!
//! Threads make the keys of many chunks side by side; whether a key came before is asked and noted
//! for one chunk after the other, in the order of the input. So the result is that of a sequential
//! pass, whatever the threads.

mod render;
mod seen;
mod state;
mod strict;

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tamis::hash::Scheme;
use tamis::key::Recipe;
use tamis::params::Common;
use tamis::sizing::Kind;

pub use self::seen::Room;

use self::seen::Seen;
use self::state::{Journal, Place, State, go_on};
use crate::error::{Error, Result};
use crate::failpoint::reach;
use crate::outlet::{Destination, Outlet};
use crate::output;
use crate::resume::{Appended, Lock};
use crate::rows::{BadRows, Groups, Key, KeyRows, Take};
use crate::source::{self, Compression, Explained, Format, Next, Position, Sift, Sink, Sources};
use crate::{Control, counts};

/// Records to be freed of repetitions.
#[derive(Debug, Clone)]
pub struct Job {
    /// Files, globs, folders, `-`.
    pub inputs: Vec<String>,
    /// How to read them.
    pub options: source::Options,
    /// How keys are made, with the columns of these inputs.
    pub recipe: Recipe,
    /// How keys are hashed, where there is no state yet.
    pub hash: Scheme,
    /// How probably a first occurrence may be dropped; that of the state where none is given, or
    /// else [`DEFAULT_RATE`].
    pub fpr: Option<f64>,
    /// How much may be remembered.
    pub room: Room,
    /// Whether each repetition is checked against the keys themselves.
    pub strict: bool,
    /// Bytes of keys that a strict job holds in memory.
    pub memory: u64,
    /// What is remembered between runs.
    pub state: Option<PathBuf>,
    /// How often the state is written during a run: not more often than this, and so that it takes
    /// no more than a tenth of the time.
    pub commit_every: Duration,
    /// Where first occurrences go.
    pub output: Destination,
    /// Where repetitions go.
    pub rejected: Option<PathBuf>,
    /// How records of Parquet are written.
    pub format: Option<Format>,
    /// Records without a key.
    pub bad_rows: BadRows,
    /// Threads.
    pub threads: usize,
}

/// One first occurrence in a million.
pub const DEFAULT_RATE: f64 = 1e-6;

/// What was done.
#[derive(Debug, Clone)]
pub struct Report {
    /// Records read, of those with a key.
    pub records: u64,
    /// First occurrences: records that passed.
    pub first: u64,
    /// Records without a key, which are left out.
    pub keyless: u64,
    /// First occurrences that may have been dropped, as is to be expected; none with `strict`.
    pub dropped: f64,
    /// The rate that is promised for it.
    pub fpr: f64,
    /// First occurrences that the filter had taken for repetitions, and that passed because they
    /// were checked.
    pub rescued: Option<u64>,
    /// Keys remembered.
    pub keys: u64,
    /// Bytes of what remembers them.
    pub bytes: u64,
    /// Records that passed though there was no room to remember them: they pass again.
    pub unremembered: u64,
    /// Whether this run went on where the one before had ended.
    pub resumed: bool,
    /// The reader of the output went away before the end.
    pub closed: bool,
    /// How the inputs were understood.
    pub inputs: Vec<Explained>,
    /// The time of each phase.
    pub phases: Vec<(&'static str, Duration)>,
}

impl Report {
    /// Records that were dropped as repetitions.
    pub fn repeated(&self) -> u64 {
        self.records - self.first
    }
}

/// The keys of a chunk, with its text.
#[derive(Debug, Default)]
struct Batch {
    data: Vec<u8>,
    places: Vec<Range<usize>>,
    hashes: Vec<u64>,
    /// The keys themselves, one after the other, and where each ends; where they are wanted.
    keys: Vec<u8>,
    ends: Vec<usize>,
}

/// Collects the keys of one thread.
#[derive(Debug, Default)]
struct Keys {
    hashes: Vec<u64>,
    keys: Vec<u8>,
    ends: Vec<usize>,
    wanted: bool,
}

impl Take for Keys {
    #[inline(always)]
    fn take(&mut self, key: Key<'_>) {
        self.hashes.push(key.hash);
        if self.wanted {
            self.keys.extend_from_slice(key.bytes);
            self.ends.push(self.keys.len());
        }
    }
}

/// What one thread does with records.
struct Sifter<'a> {
    rows: KeyRows<'a, Keys>,
    places: Vec<Range<usize>>,
}

impl<'a> Sifter<'a> {
    fn new(recipe: &'a Recipe, hash: Scheme, bad_rows: BadRows, wanted: bool) -> Self {
        let keys = Keys { wanted, ..Keys::default() };
        Sifter { rows: KeyRows::new(recipe, hash, bad_rows, Groups::One(0), keys), places: Vec::new() }
    }
}

impl Sift for Sifter<'_> {
    type Batch = Batch;

    fn record(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> Result<(), String> {
        let skipped = self.rows.skipped;
        self.rows.row(values)?;
        if self.rows.skipped == skipped {
            self.places.push(place);
        }
        Ok(())
    }

    fn bad_record(&mut self, place: Range<usize>, why: fmt::Arguments<'_>) -> Result<(), String> {
        self.rows.bad_row(place, why)
    }

    fn batch(&mut self, data: &[u8], batch: &mut Batch) {
        batch.data.clear();
        batch.data.extend_from_slice(data);
        let keys = &mut self.rows.take;
        batch.hashes.clear();
        std::mem::swap(&mut batch.hashes, &mut keys.hashes);
        batch.keys.clear();
        std::mem::swap(&mut batch.keys, &mut keys.keys);
        batch.ends.clear();
        std::mem::swap(&mut batch.ends, &mut keys.ends);
        batch.places.clear();
        std::mem::swap(&mut batch.places, &mut self.places);
    }
}

impl Batch {
    /// Copies the records for which `passing` is this.
    fn gather(&self, passing: &[bool], this: bool, text: &mut Vec<u8>) {
        text.clear();
        let mut run = 0..0;
        for place in
            self.places.iter().zip(passing).filter(|(_, passing)| **passing == this).map(|(place, _)| place)
        {
            if place.start != run.end {
                text.extend_from_slice(&self.data[run]);
                run = place.start..place.start;
            }
            run.end = place.end;
        }
        text.extend_from_slice(&self.data[run]);
    }

    /// Bytes of the last record, where its line may go on.
    fn unfinished(&self) -> usize {
        match self.places.last() {
            Some(place) if !self.data.ends_with(b"\n") => self.data.len() - place.start,
            _ => 0,
        }
    }
}

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

/// Frees records of repetitions.
pub fn dedup(job: &Job, control: &Control) -> Result<Report> {
    if job.strict {
        refuse_strict(job)?;
        return strict::dedup(job, control);
    }
    let start = Instant::now();
    let (mut seen, mut state, journal, hash) = remembered(job)?;
    let mut sources = Sources::open(&job.inputs, &job.options, &job.recipe.columns())?;
    let inputs = sources.explain();
    let mut places: Vec<Place> = inputs.iter().map(Place::of).collect();
    let form = sources.form(job.format, usual_format(job))?;
    check_outputs(job, inputs.iter().map(|input| &input.path))?;

    let file = job.state.as_ref().and(job.output.path()).filter(|path| is_regular(path));
    let resumed = journal.as_ref().and_then(|journal| go_on(journal, &mut places, file));
    let mut to = match (&state, file) {
        (Some(state), Some(path)) => {
            output::check(path)?;
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
    for (input, place) in places.iter().enumerate() {
        if place.is_done() {
            sources.leave_out(input);
        }
        sources.begin_at(Position { input, offset: place.offset });
    }
    let rejected = job.rejected.clone().map_or(Destination::Nowhere, Destination::File);
    let mut others = Outlet::open(&rejected)?;
    if to.appended().is_none_or(|file| file.length == 0) {
        to.write(&form.prelude)?;
    }
    others.write(&form.prelude)?;

    let mut phases = vec![("open", start.elapsed())];
    let sieving = Instant::now();
    let (mut records, mut first, mut dropped, mut unremembered) = (0u64, 0u64, 0.0, 0u64);
    let (mut fresh, mut text) = (Vec::new(), Vec::new());
    let can_commit = places.iter().all(|place| place.plain);
    let (mut committed, mut wait) = (Instant::now(), job.commit_every);
    let sifters = (0..job.threads).map(|_| Sifter::new(&job.recipe, hash, job.bad_rows, false)).collect();
    let sifters = sources.sift(
        sifters,
        |next| {
            let Next::Batch(batch, end) = next else { return Ok(ControlFlow::Continue(())) };
            fresh.clear();
            fresh.resize(batch.hashes.len(), false);
            unremembered += seen.insert(&batch.hashes, &mut fresh)?;
            let passed = fresh.iter().filter(|fresh| **fresh).count() as u64;
            let rate = seen.rate();
            // For each that passed, so many are to be expected that should have.
            dropped += passed as f64 * rate / (1.0 - rate);
            records += fresh.len() as u64;
            first += passed;
            batch.gather(&fresh, true, &mut text);
            to.write(&text)?;
            reach("dedup/written");
            if others.takes() {
                batch.gather(&fresh, false, &mut text);
                others.write(&text)?;
            }
            if places[end.input].plain {
                places[end.input].offset = end.offset - batch.unfinished() as u64;
            }
            if let Some(state) = &mut state {
                state.rows += fresh.len() as u64;
                if can_commit && committed.elapsed() > wait {
                    let begun = Instant::now();
                    to.appended().map_or(Ok(()), Appended::sync)?;
                    reach("dedup/synced");
                    state.commit(&seen, &places, to.appended())?;
                    wait = job.commit_every.max(10 * begun.elapsed());
                    committed = Instant::now();
                }
            }
            let done = to.is_closed() && !others.takes();
            Ok(if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        },
        control,
    )?;
    phases.push(("sieve", sieving.elapsed()));
    let writing = Instant::now();
    let closed = to.is_closed();
    places.iter_mut().for_each(Place::end);
    if let Some(file) = to.appended() {
        file.sync()?;
    }
    others.finish()?;
    // What only went to a reader that has gone is not done.
    if let Some(state) = state.as_ref().filter(|_| !closed) {
        state.commit(&seen, &places, to.appended())?;
    }
    if let To::Outlet(outlet) = to {
        outlet.finish()?;
    }
    phases.push(("write", writing.elapsed()));
    let (_, group) = seen.params()?;
    Ok(Report {
        records,
        first,
        keyless: sifters.iter().map(|sifter| sifter.rows.skipped).sum(),
        dropped,
        fpr: group.fpr,
        rescued: None,
        keys: seen.keys(),
        bytes: group.shape.bits() / 8,
        unremembered,
        resumed: resumed.is_some(),
        closed,
        inputs,
        phases,
    })
}

fn refuse_strict(job: &Job) -> Result<()> {
    let refused = |with: &str| {
        Err(Error::Refused(format!(
            "--strict keeps the keys themselves, of this run alone: leave out {with}"
        )))
    };
    match job {
        Job { state: Some(_), .. } => refused("--state"),
        Job { room: Room::Bytes(_), .. } => refused("--size (--memory bounds it)"),
        _ => Ok(()),
    }
}

/// What the state remembers, or nothing yet; with its journal, and how keys are hashed.
fn remembered(job: &Job) -> Result<(Seen, Option<State>, Option<Journal>, Scheme)> {
    let fpr = job.fpr.unwrap_or(DEFAULT_RATE);
    let common = |hash, recipe: &Recipe| Common { kind: Kind::Scalable, hash, recipe: recipe.clone() };
    let Some(path) = &job.state else {
        return Ok((Seen::new(job.room, fpr)?, None, None, job.hash));
    };
    output::check(path)?;
    let lock = Lock::at(&PathBuf::from(format!("{}.lock", path.display())), path)?;
    if !path.exists() {
        let state = State::new(path, common(job.hash, &job.recipe), 0, lock);
        return Ok((Seen::new(job.room, fpr)?, Some(state), None, job.hash));
    }
    let file = output::open(path)?;
    let params = file.params();
    let refused = |message: String| Error::Input { path: path.clone(), message };
    counts::refuse(path, params, "remember keys in them")?;
    if params.common.recipe.group.is_some() {
        return Err(refused("has groups; dedup remembers one set: name another state".into()));
    }
    if params.common.hash == Scheme::Murmur3 {
        return Err(refused(
            "was made with murmur3, whose positions need the keys; name another state".into(),
        ));
    }
    file.verify(0).map_err(Error::file(path))?;
    let journal = Journal::of(&file, path)?;
    let seen = Seen::from_file(&file, journal.as_ref().map(|journal| journal.keys))?;
    let stored = params.groups[0].fpr;
    if let Some(asked) = job.fpr.filter(|asked| *asked != stored) {
        return Err(refused(format!(
            "keeps a rate of {stored}, not of {asked}: leave out --fpr, or name another state"
        )));
    }
    if matches!((job.room, &seen), (Room::Bytes(bytes), seen) if seen.words().0.len() as u64 * 8 != bytes / 64 * 64)
    {
        return Err(refused("has another size: leave out --size, or name another state".into()));
    }
    // The stored recipe, whatever the columns of these inputs are called.
    let state =
        State::new(path, common(params.common.hash, &params.common.recipe), file.tallies()[0].rows, lock);
    Ok((seen, Some(state), journal, params.common.hash))
}

fn is_regular(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |there| there.is_file())
}

/// What records of Parquet become, by the name of the output.
fn usual_format(job: &Job) -> Format {
    Format::for_output(job.output.path().or(job.rejected.as_deref()))
}

/// Refuses to write over what is read, or a compressed file that would have to be continued.
fn check_outputs<'a>(job: &'a Job, inputs: impl Iterator<Item = &'a PathBuf> + Clone) -> Result<()> {
    output::check_outputs([job.output.path(), job.rejected.as_deref(), job.state.as_deref()], inputs)?;
    let packed = |path: &&Path| Compression::of_name(path).is_some();
    if let (Some(_), Some(path)) = (&job.state, job.output.path().filter(packed)) {
        let message = "with --state the output is continued where it ended, which compressed files cannot be; leave it plain".into();
        return Err(Error::Input { path: path.into(), message });
    }
    Ok(())
}
