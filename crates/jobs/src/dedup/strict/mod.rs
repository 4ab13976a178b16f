//! No first occurrence is dropped, in bounded memory.
//!
//! As long as all keys fit into memory, they are compared themselves, and records are written as they come. Then the
//! rest of the input is looked at twice. Keys that are not known go to disk, cut by hash into parts that fit, and are
//! looked at when all are there; meanwhile a filter answers, a bit for each record. A key that comes for the first time
//! though the filter had found it is one that the filter took for another: its record is rescued. A second pass over
//! the input writes what passes, and fails if it is not the same input any more: the answers belong to what the first
//! pass saw.
//!
//! What is on disk has no name there: nobody else can open it, and it goes away with the program.

mod answers;
mod known;
mod parts;
mod sifter;

use std::fs::File;
use std::io::{self, BufReader, BufWriter};
use std::iter::{Copied, Peekable};
use std::ops::{ControlFlow, Range};
use std::slice;
use std::sync::{PoisonError, RwLock};
use std::time::Instant;

use tamis::hash::xxh3;
use tamis_read::error::{Error, Result};
use tamis_read::{Control, Explained, Form, Next, Sources};

use self::answers::Answers;
use self::known::Known;
use self::parts::{Parts, Record};
use self::sifter::{Batch, Sifter};
use super::seen::{Room, Seen};
use super::{DEFAULT_RATE, Job, Refusal, Report, check_outputs, form};
use tamis_make::destination::{self, Destination, Outlet};
use tamis_make::exact::full_disk;
use tamis_make::failpoint::reach;
use tamis_make::rows::OnBad;

pub(super) fn dedup(job: &Job, memory: u64, control: &Control) -> Result<Report> {
    let start = Instant::now();
    let mut sources = Sources::open(&job.inputs, &job.options, &job.recipe.columns())?;
    sources.keep();
    let inputs = sources.explain();
    check_outputs(job, None, inputs.iter().map(|input| &input.path))?;
    let form = form(job, &mut sources)?;
    let fpr = job.fpr.unwrap_or(DEFAULT_RATE);
    drop(Seen::new(Room::Any, fpr)?); // what is no rate is refused, whether or not a filter will be needed
    let hash = job.hash();
    let known = RwLock::new(Known::new(hash, usize::try_from(memory).unwrap_or(usize::MAX))?);
    let mut outlets = Outlets::open(job, &form)?;
    outlets.begin(&form.prelude)?;
    let mut phases = vec![("open", start.elapsed())];
    let mut since = Instant::now();
    let mut phase = |name| {
        phases.push((name, since.elapsed()));
        since = Instant::now();
    };
    let on_bad = OnBad::from(&job.bad_rows);
    let sifters = |on_bad| (0..job.threads).map(move |_| Sifter::new(&job.recipe, hash, on_bad));

    let mut pass = Pass::new(&known, fpr);
    let take = |next: Next<'_, Batch>| match next {
        Next::Batch(batch, end) => pass.take(batch, end.input, &mut outlets),
        Next::Pause => Ok(ControlFlow::Continue(())),
    };
    let sifted = sources.sift(sifters(on_bad).map(|sifter| sifter.among(&known)).collect(), take, control)?;
    phase("sieve");
    reach("dedup/first-pass");
    let Pass { later, mut trails, decided, .. } = pass;
    let skipped = sifted.into_iter().map(|sifter| sifter.skipped()).sum();
    let known = known.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut report = Report {
        records: decided,
        first: 0,
        keyless: skipped,
        dropped: 0.0,
        fpr,
        rescued: Some(0),
        keys: known.len() as u64,
        bytes: known.bytes() as u64,
        unremembered: 0,
        resumed: false,
        doubts: Vec::new(),
        notices: Vec::new(),
        closed: false,
        inputs,
        phases: Vec::new(),
    };
    drop(known);
    if let Some(Later { seen, answers, parts, records, .. }) = later {
        let rescued = parts.rescued(memory, control)?;
        phase("check");
        let again =
            Again { left: decided, passing: Passing::new(answers, &rescued)?, trails: Trails::default() };
        again.run(
            &sources,
            sifters(on_bad.again()).collect(),
            &mut trails,
            &mut outlets,
            &report.inputs,
            control,
        )?;
        let (_, group) = seen.params()?;
        report.records += records;
        report.rescued = Some(rescued.len() as u64);
        report.keys += seen.keys() + rescued.len() as u64;
        report.bytes += group.shape.bits() / 8;
    }
    (report.first, report.closed) = outlets.finish()?;
    phase("write");
    Ok(Report { phases, ..report })
}

/// That an input was another one when it was read again.
fn changed(inputs: &[Explained], input: usize) -> Error {
    Error::input(&*inputs[input].path, Refusal::Changed)
}

/// A file without a name for what does not fit into memory.
fn temporary() -> io::Result<File> {
    tempfile::tempfile_in(std::env::temp_dir())
}

/// That the disk failed on which things are put aside.
fn disk(error: io::Error) -> Error {
    full_disk(&std::env::temp_dir())(error)
}

/// What a pass saw of each input.
#[derive(Default)]
struct Trails(Vec<Trail>);

/// Records in their order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Trail {
    records: u64,
    digest: u64,
}

impl Trails {
    fn of(&mut self, input: usize) -> &mut Trail {
        let inputs = self.0.len().max(input + 1);
        self.0.resize(inputs, Trail::default());
        &mut self.0[input]
    }
}

impl Trail {
    /// Follows the records of a chunk. Those before `from` are written once and for all: they are only counted.
    fn follow(&mut self, batch: &Batch, from: usize) {
        self.records += batch.len() as u64;
        let records = batch.spans[from..].iter().map(|span| &batch.data[span.range()]);
        self.digest = records.fold(self.digest, |digest, record| xxh3(record, digest));
    }
}

/// The first pass.
struct Pass<'k> {
    known: &'k RwLock<Known>,
    /// Of the filter.
    fpr: f64,
    /// What is decided later, once keys do not fit any more.
    later: Option<Later>,
    trails: Trails,
    /// Records that are written.
    decided: u64,
    /// Which of the keys that were not found are new, and which records these are.
    new: Vec<bool>,
    first: Vec<u32>,
}

impl<'k> Pass<'k> {
    fn new(known: &'k RwLock<Known>, fpr: f64) -> Self {
        let (trails, new, first) = Default::default();
        Pass { known, fpr, later: None, trails, decided: 0, new, first }
    }

    /// Writes the records of a chunk, as far as it is known whether they are first ones.
    fn take(&mut self, batch: &Batch, input: usize, outlets: &mut Outlets) -> Result<ControlFlow<()>> {
        outlets.aside.write(&batch.aside)?;
        let decided = self.decide(batch)?;
        self.decided += decided as u64;
        self.trails.of(input).follow(batch, decided);
        let flow = outlets.take(batch, 0..decided, &self.first)?;
        if decided < batch.len() {
            let later = match &mut self.later {
                Some(later) => later,
                none => none.insert(Later::new(self.fpr)?),
            };
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            later.take(batch, decided, &known)?;
        }
        Ok(flow)
    }

    /// Finds the first records of a chunk; how far it came.
    fn decide(&mut self, batch: &Batch) -> Result<usize> {
        self.first.clear();
        if self.later.is_some() {
            return Ok(0);
        }
        if batch.unknown.is_empty() {
            return Ok(batch.len());
        }
        self.new.clear();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.add_all(batch.keys.hashes(), |key| batch.keys.key(key), &mut self.new)?;
        let new = batch.unknown.iter().zip(&self.new).filter(|(_, new)| **new);
        self.first.extend(new.map(|(record, _)| *record));
        // Those that were found came before, also after the first without room.
        Ok(batch.unknown.get(self.new.len()).map_or(batch.len(), |record| *record as usize))
    }
}

/// What is decided when all records were seen: those after the first key that did not fit into memory.
struct Later {
    /// The keys that are not known.
    seen: Seen,
    answers: Answers<BufWriter<File>>,
    parts: Parts,
    records: u64,
    /// The keys of a chunk that are not known, and their hashes.
    unknown: Vec<usize>,
    hashes: Vec<u64>,
    fresh: Vec<bool>,
}

impl Later {
    fn new(fpr: f64) -> Result<Later> {
        Ok(Later {
            seen: Seen::new(Room::Any, fpr)?,
            answers: Answers::new(temporary().map_err(disk)?),
            parts: Parts::new(0).map_err(disk)?,
            records: 0,
            unknown: Vec::new(),
            hashes: Vec::new(),
            fresh: Vec::new(),
        })
    }

    /// Asks the filter for the records of a chunk from this one on, and puts aside those whose keys are not known.
    fn take(&mut self, batch: &Batch, from: usize, known: &Known) -> Result<()> {
        let keys = &batch.keys;
        let first = batch.unknown.partition_point(|record| (*record as usize) < from);
        // It may have become known since it was looked for.
        let is_unknown = |key: &usize| !known.has(keys.hashes()[*key], keys.key(*key));
        self.unknown.clear();
        self.unknown.extend((first..batch.unknown.len()).filter(is_unknown));
        self.hashes.clear();
        self.hashes.extend(self.unknown.iter().map(|key| keys.hashes()[*key]));
        self.fresh.clear();
        self.fresh.resize(self.hashes.len(), false);
        self.seen.insert(&self.hashes, &mut self.fresh)?;
        let mut answered = self.unknown.iter().zip(&self.fresh).peekable();
        for record in from..batch.len() {
            let answer = answered.next_if(|(key, _)| batch.unknown[**key] as usize == record);
            if let Some((key, fresh)) = answer {
                self.parts
                    .push(Record { index: self.records, fresh: *fresh }, keys.key(*key))
                    .map_err(disk)?;
            }
            self.answers.push(answer.is_some_and(|(_, fresh)| *fresh)).map_err(disk)?;
            self.records += 1;
        }
        Ok(())
    }
}

/// The second pass.
struct Again<'a> {
    /// Records that the first one has written and that are still to come.
    left: u64,
    passing: Passing<'a>,
    trails: Trails,
}

impl Again<'_> {
    /// Writes what the first pass, which left these trails, has not.
    fn run(
        mut self,
        sources: &Sources,
        sifters: Vec<Sifter<'_>>,
        trails: &mut Trails,
        outlets: &mut Outlets,
        inputs: &[Explained],
        control: &Control,
    ) -> Result<()> {
        let take = |next: Next<'_, Batch>| match next {
            Next::Batch(batch, end) => {
                let written = batch.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
                self.left -= written as u64;
                self.trails.of(end.input).follow(batch, written);
                if self.trails.of(end.input).records > trails.of(end.input).records {
                    return Err(changed(inputs, end.input));
                }
                outlets.take(batch, written..batch.len(), self.passing.next(written..batch.len())?)
            }
            Next::Pause => Ok(ControlFlow::Continue(())),
        };
        sources.sift(sifters, take, control)?;
        let others = (0..inputs.len()).find(|input| self.trails.of(*input) != trails.of(*input));
        match others {
            Some(input) if !outlets.to.is_closed() => Err(changed(inputs, input)),
            _ => Ok(()),
        }
    }
}

/// Which records pass, in their order.
struct Passing<'a> {
    answers: Answers<BufReader<File>>,
    /// Records that pass whatever the filter said, in order.
    rescued: Peekable<Copied<slice::Iter<'a, u64>>>,
    at: u64,
    passing: Vec<u32>,
}

impl<'a> Passing<'a> {
    fn new(answers: Answers<BufWriter<File>>, rescued: &'a [u64]) -> Result<Self> {
        let answers = answers.read().map_err(disk)?;
        Ok(Passing { answers, rescued: rescued.iter().copied().peekable(), at: 0, passing: Vec::new() })
    }

    /// Which of the next records pass, that have these numbers in their chunk.
    fn next(&mut self, records: Range<usize>) -> Result<&[u32]> {
        self.passing.clear();
        for record in records {
            let saved = self.rescued.next_if_eq(&self.at).is_some();
            if self.answers.next().map_err(disk)? | saved {
                self.passing.push(record as u32);
            }
            self.at += 1;
        }
        Ok(&self.passing)
    }
}

/// Where records go.
struct Outlets {
    to: Outlet,
    others: Outlet,
    /// Where bad rows are set aside.
    aside: Outlet,
    /// Records that passed.
    first: u64,
    text: Vec<u8>,
}

impl Outlets {
    fn open(job: &Job, form: &Form) -> Result<Outlets> {
        let open = |to: &Destination| Outlet::open_for(to, form.schema.as_ref());
        let to = open(&job.output)?;
        let others = open(&Destination::of_file(job.rejected.as_deref()))?;
        let aside = Outlet::open(&Destination::of_file(job.bad_rows.path()))?;
        Ok(Outlets { to, others, aside, first: 0, text: Vec::new() })
    }

    fn begin(&mut self, prelude: &[u8]) -> Result<()> {
        self.to.write(prelude)?;
        self.others.write(prelude)
    }

    /// Writes these records of a chunk, of which some pass; no more are wanted where nobody takes them.
    fn take(&mut self, batch: &Batch, records: Range<usize>, passing: &[u32]) -> Result<ControlFlow<()>> {
        self.first += passing.len() as u64;
        batch.gather(passing.iter().map(|record| *record as usize), &mut self.text);
        self.to.write(&self.text)?;
        if self.others.takes() {
            let mut passing = passing.iter().peekable();
            let others =
                records.filter(|record| passing.next_if(|next| **next as usize == *record).is_none());
            batch.gather(others, &mut self.text);
            self.others.write(&self.text)?;
        }
        let done = self.to.is_closed() && !self.others.takes() && !self.aside.takes();
        Ok(if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// How many records passed, and whether the reader of them went away.
    fn finish(self) -> Result<(u64, bool)> {
        let closed = self.to.is_closed();
        destination::finish_all([self.to, self.others, self.aside])?;
        Ok((self.first, closed))
    }
}
