//! Records pass the first time their key comes, and not again.
//!
//! Threads make the keys of many chunks side by side; whether a key came before is asked and noted
//! for one chunk after the other, in the order of the input. So the result is that of a sequential
//! pass, whatever the threads.

mod outputs;
mod refusal;
mod run;
mod seen;
mod state;
mod strict;

use std::mem;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tamis::about::About;
use tamis::hash::{Scheme, Single};
use tamis::key::{Field, Recipe, is_present};
use tamis::params::Common;
use tamis::sizing::Kind;

pub use self::refusal::{OutputRefusal, Refusal, StateRefusal};
pub use self::seen::Room;

use self::run::Run;
use self::seen::Seen;
use self::state::{Journal, State};
use crate::classes::Doubt;
use tamis_make::batch::{Keeps, KeyBatch};
use tamis_make::count_min;
use tamis_make::destination::Destination;
use tamis_make::files;
use tamis_make::names::Content;
use tamis_make::place;
use tamis_make::resume::Lock;
use tamis_make::rows::{BadRows, Groups, Key, KeyRows, OnBad, Take, hash_line};
use tamis_make::seed;
use tamis_make::written::Written;
use tamis_read::Control;
use tamis_read::error::{Error, Result};
use tamis_read::parquet::Codec;
use tamis_read::{
    BadRecord, BadRow, Compression, Explained, Fault, Form, Format, Lines, Next, RowResult, Sift, Sink,
    Sources,
};

/// Records to be freed of repetitions.
#[derive(Debug, Clone)]
pub struct Job {
    /// Files, globs, folders, `-`.
    pub inputs: Vec<String>,
    /// How to read them.
    pub options: tamis_read::Options,
    /// How keys are made, with the columns of these inputs.
    pub recipe: Recipe,
    /// What is recorded about the state, where there is none yet.
    pub about: About,
    /// The hash; where there is none, that of the state, or one with a seed that nobody knows.
    pub hash: Option<Single>,
    /// The highest probability that a first occurrence is dropped; that of the state where none is
    /// given, or
    /// else [`DEFAULT_RATE`].
    pub fpr: Option<f64>,
    /// What remembers the keys.
    pub remember: Remember,
    /// The file for first occurrences.
    pub output: Destination,
    /// Where repetitions go.
    pub rejected: Option<PathBuf>,
    /// How records are written, where the name of the output does not say it.
    pub format: Option<Format>,
    /// How pages of Parquet are compressed.
    pub codec: Option<Codec>,
    /// Records without a key.
    pub bad_rows: BadRows,
    /// Threads.
    pub threads: usize,
}

/// What remembers keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remember {
    /// The keys themselves, for this run alone: each repetition is checked against them.
    Keys {
        /// Bytes of them that are held in memory.
        memory: u64,
    },
    /// A filter.
    Filter {
        /// How much it may remember.
        room: Room,
        /// Where it is kept between runs.
        state: Option<Kept>,
    },
}

/// A filter that is kept between runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its file.
    pub path: PathBuf,
    /// How often it is written during a run: not more often than this, and so that it takes no more
    /// than a tenth of the time.
    pub commit_every: Duration,
}

impl Job {
    /// How keys are hashed, where there is no state yet.
    fn hash(&self) -> Scheme {
        self.hash.unwrap_or_else(|| Single::Xxh3 { seed: seed::random() }).into()
    }

    /// What is kept between runs.
    fn kept(&self) -> Option<&Kept> {
        match &self.remember {
            Remember::Filter { state, .. } => state.as_ref(),
            Remember::Keys { .. } => None,
        }
    }
}

/// The least memory for keys that is of use.
pub const LEAST_MEMORY: u64 = 1_000;

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
    /// The expected number of first occurrences that were dropped wrongly; zero with `strict`.
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
    /// What was done otherwise than in the run before.
    pub notices: Vec<Notice>,
    /// Keys of other classes than those that the state remembers.
    pub doubts: Vec<Doubt>,
    /// The reader of the output went away before the end.
    pub closed: bool,
    /// How the inputs were understood.
    pub inputs: Vec<Explained>,
    /// The time of each phase.
    pub phases: Vec<(&'static str, Duration)>,
}

/// Something that a run with a state does otherwise than the one before, and that should be known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Other inputs than before: what is new of them follows what was written of those.
    Appended {
        /// The output.
        path: PathBuf,
    },
    /// Another output than before: it has what is new, and no more.
    NewOutput {
        /// The output.
        path: PathBuf,
    },
    /// The end of an output was cut off: no commit had it.
    Cut {
        /// The output.
        path: PathBuf,
        /// How much of it.
        bytes: u64,
    },
    /// An input is another file than before, and was read from its beginning.
    OtherInput {
        /// Its name.
        path: PathBuf,
        /// The name that the file of before has now, if it is known. It was not read on.
        now: Option<PathBuf>,
    },
}

impl Report {
    /// Records that were dropped as repetitions.
    pub fn repeated(&self) -> u64 {
        self.records - self.first
    }
}

/// The keys of a chunk, with its text. Every row has a key.
#[derive(Debug, Default)]
struct Batch {
    data: Vec<u8>,
    keys: KeyBatch,
    /// Records that were set aside.
    aside: Vec<u8>,
}

/// What one thread does with records.
struct Sifter<'a> {
    rows: KeyRows<'a, KeyBatch>,
    aside: Vec<u8>,
}

impl<'a> Sifter<'a> {
    fn new(recipe: &'a Recipe, hash: Scheme, on_bad: OnBad) -> Self {
        let keys = KeyBatch::new(Keeps::default());
        Sifter { rows: KeyRows::new(recipe, hash, on_bad, Groups::One(0), keys), aside: Vec::new() }
    }
}

impl Sink for Sifter<'_> {
    fn row(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        let skipped = self.rows.skipped;
        self.rows.row(place.clone(), values)?;
        if self.rows.skipped == skipped {
            self.rows.take.push_span(place);
        }
        Ok(())
    }

    fn lines(&mut self, mut lines: Lines<'_, '_>) -> Result<(), Fault> {
        let plain = self.rows.plain();
        lines.try_for_each(|(line, place)| match plain {
            Some(hash) if is_present(line) => {
                let keys = &mut self.rows.take;
                keys.take(Key { group: 0, hash: hash_line(hash, line), bytes: line, weight: 1 });
                keys.push_span(place);
                Ok(())
            }
            _ => {
                let at = place.start;
                self.row(place, &[Some(line)]).map_err(|why| Fault { at, why })
            }
        })
    }

    fn bad_row(&mut self, place: Range<usize>, why: BadRow) -> RowResult {
        self.rows.bad_row(place, why)
    }

    fn sets_aside(&self) -> bool {
        self.rows.sets_aside()
    }

    fn set_aside(&mut self, record: BadRecord<'_>) {
        self.aside.extend_from_slice(record.text);
    }
}

impl Sift for Sifter<'_> {
    type Batch = Batch;

    fn batch(&mut self, data: &[u8], batch: &mut Batch) {
        batch.data.clear();
        batch.data.extend_from_slice(data);
        self.rows.take.move_into(&mut batch.keys);
        batch.aside.clear();
        mem::swap(&mut batch.aside, &mut self.aside);
    }
}

impl Batch {
    /// Copies the records for which `passing` is this.
    fn gather(&self, passing: &[bool], this: bool, text: &mut Vec<u8>) {
        let spans = self.keys.spans().iter().zip(passing).filter(|(_, passing)| **passing == this);
        gather(&self.data, spans.map(|(span, _)| span.range()), text);
    }

    /// The last line, where it has no end.
    fn last_line(&self) -> &[u8] {
        if self.data.ends_with(b"\n") {
            return &[];
        }
        let last = self.keys.spans().last().map_or(0..0, |span| span.range());
        // A record may have several lines; one without a key has no place.
        let line = self.data.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let begin = if last.end == self.data.len() { last.start } else { line.max(last.end) };
        &self.data[begin..]
    }
}

/// Copies pieces of a text, which are in order: those that touch each other at once.
fn gather(data: &[u8], pieces: impl Iterator<Item = Range<usize>>, text: &mut Vec<u8>) {
    text.clear();
    let mut run = 0..0;
    for piece in pieces {
        if piece.start != run.end {
            text.extend_from_slice(&data[run]);
            run = piece.start..piece.start;
        }
        run.end = piece.end;
    }
    text.extend_from_slice(&data[run]);
}

/// Frees records of repetitions.
pub fn dedup(job: &Job, control: &Control) -> Result<Report> {
    let room = match job.remember {
        Remember::Keys { memory } => return strict::dedup(job, memory, control),
        Remember::Filter { room, .. } => room,
    };
    let start = Instant::now();
    let (seen, mut state, journal, hash) = remembered(job, room)?;
    let mut sources = Sources::open(&job.inputs, &job.options, &job.recipe.columns())?;
    let classes = sources.classes(&job.recipe.key_columns());
    let doubts = state.as_mut().map_or_else(Vec::new, |state| state.see(classes));
    let inputs = sources.explain();
    check_outputs(job, state.as_ref(), inputs.iter().map(|input| &input.path))?;
    let form = form(job, &mut sources)?;
    // What is only counted goes nowhere, and must come again.
    let (state, counted) = if job.output == Destination::Nowhere { (None, state) } else { (state, None) };
    if let Some(state) = counted {
        let outputs = job.rejected.as_deref().into_iter().chain(job.bad_rows.path());
        outputs
            .filter(|path| state.has_written(path))
            .try_for_each(|path| Err(Error::input(path, OutputRefusal::OnlyCounted)))?;
    }
    let mut run = Run::open(job, seen, state, journal.as_ref(), &inputs, &form)?;
    run.begin(&mut sources, &form.prelude)?;

    let mut phases = vec![("open", start.elapsed())];
    let sieving = Instant::now();
    let on_bad = OnBad::from(&job.bad_rows);
    let sifters = (0..job.threads).map(|_| Sifter::new(&job.recipe, hash, on_bad)).collect();
    let sifters = sources.sift(
        sifters,
        |next| match next {
            Next::Batch(batch, end) => run.take(batch, end),
            Next::Pause => Ok(ControlFlow::Continue(())),
        },
        control,
    )?;
    phases.push(("sieve", sieving.elapsed()));
    let writing = Instant::now();
    let report = run.finish()?;
    phases.push(("write", writing.elapsed()));
    let keyless = sifters.iter().map(|sifter| sifter.rows.skipped).sum();
    Ok(Report { keyless, doubts, inputs, phases, ..report })
}

/// What the state remembers, or nothing yet; with its journal, and how keys are hashed.
fn remembered(job: &Job, room: Room) -> Result<(Seen, Option<State>, Option<Journal>, Scheme)> {
    let fpr = job.fpr.unwrap_or(DEFAULT_RATE);
    let common = |hash, recipe: &Recipe| Common { kind: Kind::Scalable, hash, recipe: recipe.clone() };
    let Some(Kept { path, .. }) = job.kept() else {
        return Ok((Seen::new(room, fpr)?, None, None, job.hash()));
    };
    files::check_place(path)?;
    let lock = Lock::of_file(path)?;
    if place::look(path).map_err(Error::io(path))?.is_none() {
        Content::Sketches.check(path)?;
        let hash = job.hash();
        let state = State::new(path, common(hash, &job.recipe), job.about.clone(), 0, lock);
        return Ok((Seen::new(room, fpr)?, Some(state), None, hash));
    }
    let file = files::open(path)?;
    let params = file.params();
    let refused = |why: StateRefusal| Err(Error::input(path, why));
    count_min::refuse(path, params, count_min::OfSets::Remember)?;
    if params.common.recipe.group.is_some() {
        return refused(StateRefusal::Groups);
    }
    let stored = params.common.hash;
    if stored.by_bytes().is_some() {
        return refused(StateRefusal::ByBytes(stored));
    }
    if let Some(asked) = job.hash.map(Scheme::from).filter(|asked| *asked != stored) {
        return refused(StateRefusal::Hash { stored, asked });
    }
    file.verify(0).map_err(Error::file(path))?;
    let journal = Journal::of(&file, path)?;
    let seen = Seen::from_file(&file, path, journal.as_ref().map(|journal| journal.keys))?;
    let stored = params.groups[0].fpr();
    if let Some(asked) = job.fpr.filter(|asked| *asked != stored) {
        return refused(StateRefusal::Rate { stored, asked });
    }
    let stored = seen.words().0.len() as u64 * 8;
    if let Room::Bytes(asked) = room
        && stored != asked / 64 * 64
    {
        return refused(StateRefusal::Size { stored, asked });
    }
    // A filter that `build` made takes the columns of the first run as its own.
    if journal.is_some() && job.recipe.columns() != params.common.recipe.columns() {
        let key = |recipe: &Recipe| recipe.key.iter().map(Field::to_string).collect::<Vec<_>>();
        return refused(StateRefusal::Key { stored: key(&params.common.recipe), asked: key(&job.recipe) });
    }
    let common = common(params.common.hash, &job.recipe);
    let state = State::new(path, common, file.about().clone(), file.tallies()[0].rows, lock);
    let state = state.with(journal.as_ref());
    Ok((seen, Some(state), journal, params.common.hash))
}

/// How records are written; refuses Parquet that would have to be continued.
fn form(job: &Job, sources: &mut Sources) -> Result<Form> {
    let (rejected, format, codec) = (job.rejected.as_deref(), job.format, job.codec);
    let form = Written { output: &job.output, rejected, format, codec }.form(sources)?;
    if let (Some(_), Some(_), Some(path)) = (&form.schema, job.kept(), job.output.path()) {
        return Err(Error::input(path, Refusal::Table));
    }
    Ok(form)
}

/// Refuses to write over what is read, or a compressed file that would have to be continued.
fn check_outputs<'a>(
    job: &'a Job,
    state: Option<&State>,
    inputs: impl Iterator<Item = &'a PathBuf> + Clone,
) -> Result<()> {
    let lock = state.map(State::lock);
    let state = job.kept().map(|kept| &*kept.path);
    let aside = job.bad_rows.path();
    files::check_outputs([lock, state, job.output.named(), job.rejected.as_deref(), aside], inputs)?;
    aside.map_or(Ok(()), |path| Content::BAD_ROWS.check(path))?;
    let packed = |path: &&Path| Compression::of_name(path).is_some();
    let mut outputs = [job.output.path(), job.rejected.as_deref(), aside].into_iter().flatten();
    if let (Some(_), Some(path)) = (state, outputs.find(packed)) {
        return Err(Error::input(path, Refusal::Packed));
    }
    Ok(())
}
