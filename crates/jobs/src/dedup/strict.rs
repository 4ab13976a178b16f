//! No first occurrence is dropped, in bounded memory.
//!
//! A first pass asks the filter as always, and notes its answers, a bit for each record. A key that comes
//! for the first time though the filter had found it is one that the filter took for another: its record is
//! rescued. Keys are held in memory as long as they fit. Those that come later go to disk, cut by hash into
//! parts that fit, and are looked at when all are there. A second pass over the input writes what passes, and
//! fails if it is not the same input any more: the answers belong to what the first pass saw.
//!
//! What is on disk has no name there: nobody else can open it, and it goes away with the program.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::iter::{Copied, Peekable};
use std::ops::ControlFlow;
use std::slice;
use std::time::Instant;

use tamis::hash::xxh3;
use tamis_read::error::{Error, Result};
use tamis_read::{Control, Explained, Form, Next, Sources};

use super::seen::{Room, Seen};
use super::{Batch, DEFAULT_RATE, Job, Refusal, Report, Sifter, check_outputs, form};
use tamis_make::destination::{self, Destination, Outlet};
use tamis_make::exact::full_disk;
use tamis_make::failpoint::reach;
use tamis_make::rows::OnBad;
use tamis_make::seed;

/// Parts that keys are cut into at a time, by this many bits of their hash.
const PART_BITS: u32 = 6;

/// What a key takes in memory besides its bytes.
const PER_KEY: usize = 64;

pub(super) fn dedup(job: &Job, memory: u64, control: &Control) -> Result<Report> {
    let start = Instant::now();
    let mut sources = Sources::open(&job.inputs, &job.options, &job.recipe.columns())?;
    sources.keep();
    let inputs = sources.explain();
    check_outputs(job, None, inputs.iter().map(|input| &input.path))?;
    let form = form(job, &mut sources)?;
    let fpr = job.fpr.unwrap_or(DEFAULT_RATE);
    let seen = Seen::new(Room::Any, fpr)?;
    let mut outlets = Outlets::open(job, &form)?;
    let mut phases = vec![("open", start.elapsed())];
    let mut since = Instant::now();
    let mut phase = |name| {
        phases.push((name, since.elapsed()));
        since = Instant::now();
    };
    let on_bad = OnBad::from(&job.bad_rows);
    let hash = job.hash();
    let sifters =
        |on_bad| (0..job.threads).map(|_| Sifter::new(&job.recipe, hash, on_bad, true)).collect::<Vec<_>>();

    let mut asked = Asked::new(seen, memory)?;
    let mut trails = Trails::default();
    let take = |next: Next<'_, Batch>| match next {
        Next::Batch(batch, end) => {
            trails.of(end.input).follow(batch);
            outlets.aside.write(&batch.aside)?;
            asked.take(batch).map(ControlFlow::Continue)
        }
        Next::Pause => Ok(ControlFlow::Continue(())),
    };
    let sifted: Vec<Sifter<'_>> = sources.sift(sifters(on_bad), take, control)?;
    phase("read");
    reach("dedup/first-pass");
    let Asked { seen, answers, known, parts, records, mut rescued, .. } = asked;
    drop(known);
    if let Some(parts) = parts {
        parts.rescued(memory, &mut rescued, control)?;
    }
    phase("check");
    let mut passing = Passing::new(answers, &rescued)?;
    let mut again = Trails::default();
    outlets.begin(&form.prelude)?;
    let take = |next: Next<'_, Batch>| match next {
        Next::Batch(batch, end) => {
            again.of(end.input).follow(batch);
            if again.of(end.input).records > trails.of(end.input).records {
                return Err(changed(&inputs, end.input));
            }
            outlets.take(batch, passing.next(batch)?)
        }
        Next::Pause => Ok(ControlFlow::Continue(())),
    };
    sources.sift(sifters(on_bad.again()), take, control)?;
    if !outlets.to.is_closed()
        && let Some(input) = (0..inputs.len()).find(|input| again.of(*input) != trails.of(*input))
    {
        return Err(changed(&inputs, input));
    }
    let (first, closed) = outlets.finish()?;
    phase("write");
    let (_, group) = seen.params()?;
    Ok(Report {
        records,
        first,
        keyless: sifted.iter().map(|sifter| sifter.rows.skipped).sum(),
        dropped: 0.0,
        fpr,
        rescued: Some(rescued.len() as u64),
        keys: seen.keys() + rescued.len() as u64,
        bytes: group.shape.bits() / 8,
        unremembered: 0,
        resumed: false,
        doubts: Vec::new(),
        notices: Vec::new(),
        closed,
        inputs,
        phases,
    })
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
    fn follow(&mut self, batch: &Batch) {
        self.records += batch.keys.len() as u64;
        let records = batch.keys.spans().iter().map(|span| &batch.data[span.range()]);
        self.digest = records.fold(self.digest, |digest, record| xxh3(record, digest));
    }
}

/// The first pass: the filter, its answers, and all keys.
struct Asked {
    seen: Seen,
    answers: Answers<BufWriter<File>>,
    known: Known,
    /// Those that are not known, once no more can be.
    parts: Option<Parts>,
    records: u64,
    /// Records to be rescued.
    rescued: Vec<u64>,
    fresh: Vec<bool>,
}

impl Asked {
    fn new(seen: Seen, memory: u64) -> Result<Self> {
        Ok(Asked {
            seen,
            answers: Answers::new(temporary().map_err(disk)?),
            known: Known::new(memory),
            parts: None,
            records: 0,
            rescued: Vec::new(),
            fresh: Vec::new(),
        })
    }

    /// Asks the filter for the keys of a chunk, and puts aside what cannot be decided yet.
    fn take(&mut self, batch: &Batch) -> Result<()> {
        self.fresh.clear();
        self.fresh.resize(batch.keys.len(), false);
        self.seen.insert(batch.keys.hashes(), &mut self.fresh)?;
        for (row, &fresh) in self.fresh.iter().enumerate() {
            let (key, index) = (batch.keys.key(row), self.records);
            match self.known.add(key) {
                Added::Before => {}
                Added::Now if fresh => {}
                Added::Now => self.rescued.push(index),
                Added::NoRoom => {
                    let parts = match &mut self.parts {
                        Some(parts) => parts,
                        none => none.insert(Parts::new(0).map_err(disk)?),
                    };
                    parts.push(Record { index, fresh }, key).map_err(disk)?;
                }
            }
            self.answers.push(fresh).map_err(disk)?;
            self.records += 1;
        }
        Ok(())
    }
}

/// Keys in memory. When it is full it takes no more: what it has, it has from the beginning of the input.
struct Known {
    keys: HashSet<Box<[u8]>>,
    /// Memory that is left for more.
    left: usize,
    full: bool,
}

enum Added {
    Before,
    Now,
    NoRoom,
}

impl Known {
    fn new(memory: u64) -> Known {
        Known { keys: HashSet::new(), left: usize::try_from(memory).unwrap_or(usize::MAX), full: false }
    }

    fn add(&mut self, key: &[u8]) -> Added {
        if self.keys.contains(key) {
            return Added::Before;
        }
        // From the first key that has no room on, none is taken: a later one may have come before.
        self.full |= key.len() + PER_KEY > self.left;
        if self.full {
            return Added::NoRoom;
        }
        self.left -= key.len() + PER_KEY;
        self.keys.insert(key.into());
        Added::Now
    }
}

/// Which records pass, in their order.
struct Passing<'a> {
    answers: Answers<BufReader<File>>,
    /// Records that pass whatever the filter said, in order.
    rescued: Peekable<Copied<slice::Iter<'a, u64>>>,
    at: u64,
    passing: Vec<bool>,
}

impl<'a> Passing<'a> {
    fn new(answers: Answers<BufWriter<File>>, rescued: &'a [u64]) -> Result<Self> {
        let answers = answers.read().map_err(disk)?;
        Ok(Passing { answers, rescued: rescued.iter().copied().peekable(), at: 0, passing: Vec::new() })
    }

    /// Which of the records of the next chunk pass.
    fn next(&mut self, batch: &Batch) -> Result<&[bool]> {
        self.passing.clear();
        for _ in batch.keys.hashes() {
            let saved = self.rescued.next_if_eq(&self.at).is_some();
            self.passing.push(self.answers.next().map_err(disk)? | saved);
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

    /// Writes the records of a chunk; no more are wanted where nobody takes them.
    fn take(&mut self, batch: &Batch, passing: &[bool]) -> Result<ControlFlow<()>> {
        self.first += passing.iter().filter(|passing| **passing).count() as u64;
        batch.gather(passing, true, &mut self.text);
        self.to.write(&self.text)?;
        if self.others.takes() {
            batch.gather(passing, false, &mut self.text);
            self.others.write(&self.text)?;
        }
        let done = self.to.is_closed() && !self.others.takes();
        Ok(if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// How many records passed, and whether the reader of them went away.
    fn finish(self) -> Result<(u64, bool)> {
        let closed = self.to.is_closed();
        destination::finish_all([self.to, self.others, self.aside])?;
        Ok((self.first, closed))
    }
}

/// A bit for each record, on disk.
struct Answers<F> {
    file: F,
    byte: u8,
    bits: u32,
}

impl Answers<BufWriter<File>> {
    fn new(file: File) -> Self {
        Answers { file: BufWriter::new(file), byte: 0, bits: 0 }
    }

    fn push(&mut self, answer: bool) -> io::Result<()> {
        self.byte |= u8::from(answer) << self.bits;
        self.bits += 1;
        if self.bits == 8 {
            self.file.write_all(&[self.byte])?;
            (self.byte, self.bits) = (0, 0);
        }
        Ok(())
    }

    fn read(mut self) -> io::Result<Answers<BufReader<File>>> {
        self.file.write_all(&[self.byte])?;
        let mut file = self.file.into_inner()?;
        file.rewind()?;
        Ok(Answers { file: BufReader::new(file), byte: 0, bits: 0 })
    }
}

impl Answers<BufReader<File>> {
    fn next(&mut self) -> io::Result<bool> {
        if self.bits == 0 {
            let mut byte = [0];
            self.file.read_exact(&mut byte)?;
            (self.byte, self.bits) = (byte[0], 8);
        }
        let answer = self.byte & 1 == 1;
        self.byte >>= 1;
        self.bits -= 1;
        Ok(answer)
    }
}

/// What is known of a record besides its key.
#[derive(Debug, Clone, Copy)]
struct Record {
    index: u64,
    fresh: bool,
}

/// Writes a number in as few bytes as it needs, seven bits in each.
fn write_number(mut number: u64, out: &mut impl Write) -> io::Result<()> {
    while number >= 0x80 {
        out.write_all(&[number as u8 | 0x80])?;
        number >>= 7;
    }
    out.write_all(&[number as u8])
}

/// The next number; `None` at the end.
fn read_number(from: &mut impl Read) -> io::Result<Option<u64>> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let mut byte = [0];
        match from.read_exact(&mut byte) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof && shift == 0 => return Ok(None),
            read => read?,
        }
        number |= u64::from(byte[0] & 0x7f) << shift;
        if byte[0] < 0x80 {
            break;
        }
    }
    Ok(Some(number))
}

enum Trouble {
    Disk(io::Error),
    Stopped(Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Trouble::Disk(error)
    }
}

/// Keys on disk, cut by some bits of their hash, in the order in which they came.
struct Parts {
    /// The bits of the hash before those that tell the part.
    used: u32,
    /// Of the hash, which nobody knows: keys that meet in a part are parted by the next.
    seed: u64,
    parts: Vec<Part<BufWriter<File>>>,
}

/// One of them. A record takes little more than its key: the distance from the one before, with the answer of
/// the filter, and the length of the key.
struct Part<F> {
    file: F,
    last: u64,
}

impl Part<BufWriter<File>> {
    fn new() -> io::Result<Self> {
        Ok(Part { file: BufWriter::new(temporary()?), last: 0 })
    }

    fn push(&mut self, Record { index, fresh }: Record, key: &[u8]) -> io::Result<()> {
        write_number((index - self.last) << 1 | u64::from(fresh), &mut self.file)?;
        self.last = index;
        write_number(key.len() as u64, &mut self.file)?;
        self.file.write_all(key)
    }

    fn written(self) -> io::Result<Part<BufReader<File>>> {
        Ok(Part { file: BufReader::new(self.file.into_inner()?), last: 0 })
    }
}

impl Part<BufReader<File>> {
    /// Begins with the first record again.
    fn rewind(&mut self) -> io::Result<()> {
        self.last = 0;
        self.file.rewind()
    }

    /// The next record, with its key; `None` at the end.
    fn next(&mut self, key: &mut Vec<u8>) -> io::Result<Option<Record>> {
        let Some(number) = read_number(&mut self.file)? else { return Ok(None) };
        self.last += number >> 1;
        let length = read_number(&mut self.file)?.ok_or(ErrorKind::UnexpectedEof)?;
        key.clear();
        (&mut self.file).take(length).read_to_end(key)?;
        Ok(Some(Record { index: self.last, fresh: number & 1 == 1 }))
    }

    /// Finds the records that are to be rescued; false where the keys do not fit.
    fn rescue_in_memory(&mut self, memory: usize, rescued: &mut Vec<u64>) -> io::Result<bool> {
        self.rewind()?;
        let mut key = Vec::new();
        let mut seen: HashSet<Box<[u8]>> = HashSet::new();
        let (mut held, before) = (0usize, rescued.len());
        while let Some(record) = self.next(&mut key)? {
            if seen.contains(key.as_slice()) {
                continue;
            }
            held += key.len() + PER_KEY;
            if held > memory && seen.len() > 1 {
                rescued.truncate(before);
                return Ok(false);
            }
            seen.insert(key.as_slice().into());
            if !record.fresh {
                rescued.push(record.index);
            }
        }
        Ok(true)
    }
}

impl Parts {
    fn new(used: u32) -> io::Result<Parts> {
        let parts = (0..1 << PART_BITS).map(|_| Part::new()).collect::<io::Result<_>>()?;
        Ok(Parts { used, seed: seed::random(), parts })
    }

    fn push(&mut self, record: Record, key: &[u8]) -> io::Result<()> {
        let part = xxh3(key, self.seed) >> (64 - PART_BITS);
        self.parts[part as usize].push(record, key)
    }

    /// Adds the records to be rescued, found in this memory, and puts all in order.
    fn rescued(self, memory: u64, rescued: &mut Vec<u64>, control: &Control) -> Result<()> {
        let memory = usize::try_from(memory).unwrap_or(usize::MAX);
        self.rescue(memory, rescued, control).map_err(|trouble| match trouble {
            Trouble::Disk(error) => disk(error),
            Trouble::Stopped(error) => error,
        })?;
        rescued.sort_unstable();
        Ok(())
    }

    /// Finds the records to be rescued, part by part.
    fn rescue(self, memory: usize, rescued: &mut Vec<u64>, control: &Control) -> Result<(), Trouble> {
        let deeper = self.used + PART_BITS;
        // So often no keys meet: what is left is a key that is larger than the memory.
        let memory = if deeper + PART_BITS <= 64 { memory } else { usize::MAX };
        for part in self.parts {
            control.check().map_err(Trouble::Stopped)?;
            let mut part = part.written()?;
            if !part.rescue_in_memory(memory, rescued)? {
                let (mut parts, mut key) = (Parts::new(deeper)?, Vec::new());
                part.rewind()?;
                while let Some(record) = part.next(&mut key)? {
                    parts.push(record, &key)?;
                }
                drop(part);
                parts.rescue(memory, rescued, control)?;
            }
        }
        Ok(())
    }
}
