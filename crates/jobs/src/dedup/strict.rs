//! No first occurrence is dropped, in bounded memory.
//!
//! A first pass asks the filter as always, and notes its answers, a bit for each record. It also
//! writes all keys to disk, cut by hash into parts that fit into memory. In each part, a key that
//! comes for the first time though the filter had found it is one that the filter took for another:
//! its record is rescued. A second pass over the input writes what passes.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::iter::{Copied, Peekable};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::slice;
use std::time::Instant;

use tamis_read::error::{Error, Result};
use tamis_read::{Control, Next, Sources};

use super::seen::{Room, Seen};
use super::{Batch, DEFAULT_RATE, Job, Report, Sifter, check_outputs, usual_format};
use tamis_make::destination::{Destination, Outlet};
use tamis_make::leftovers::TemporaryFolder;

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
    let form = sources.form(job.format, usual_format(job))?;
    let fpr = job.fpr.unwrap_or(DEFAULT_RATE);
    let seen = Seen::new(Room::Any, fpr)?;
    let folder = TemporaryFolder::new().map_err(Error::io(std::env::temp_dir()))?;
    let mut outlets = Outlets::open(job)?;
    let mut phases = vec![("open", start.elapsed())];
    let mut since = Instant::now();
    let mut phase = |name| {
        phases.push((name, since.elapsed()));
        since = Instant::now();
    };
    let sifters =
        || (0..job.threads).map(|_| Sifter::new(&job.recipe, job.hash, job.bad_rows, true)).collect();

    let mut asked = Asked::new(seen, folder.path())?;
    let take = |next: Next<'_, Batch>| match next {
        Next::Batch(batch, _) => asked.take(batch).map(ControlFlow::Continue),
        Next::Pause => Ok(ControlFlow::Continue(())),
    };
    let sifted: Vec<Sifter<'_>> = sources.sift(sifters(), take, control)?;
    phase("read");
    let Asked { seen, answers, parts, records, .. } = asked;
    let rescued = parts.rescued(folder.path(), memory, control)?;
    phase("check");
    let mut passing = Passing::new(answers, &rescued, folder.path())?;
    outlets.begin(&form.prelude)?;
    let take = |next: Next<'_, Batch>| match next {
        Next::Batch(batch, _) => outlets.take(batch, passing.next(batch)?),
        Next::Pause => Ok(ControlFlow::Continue(())),
    };
    sources.sift(sifters(), take, control)?;
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
        notices: Vec::new(),
        closed,
        inputs,
        phases,
    })
}

/// That the disk failed on which things are put aside.
fn disk(folder: &Path) -> impl Fn(io::Error) -> Error {
    move |source| Error::Io { path: folder.into(), source }
}

/// The first pass: the filter, its answers, and all keys.
struct Asked<'f> {
    folder: &'f Path,
    seen: Seen,
    answers: Answers<BufWriter<File>>,
    parts: Parts,
    records: u64,
    fresh: Vec<bool>,
}

impl<'f> Asked<'f> {
    fn new(seen: Seen, folder: &'f Path) -> Result<Self> {
        let answers = Answers::new(tempfile::tempfile_in(folder).map_err(disk(folder))?);
        let parts = Parts::new(folder.join("keys"), 0).map_err(disk(folder))?;
        Ok(Asked { folder, seen, answers, parts, records: 0, fresh: Vec::new() })
    }

    /// Asks the filter for the keys of a chunk, and puts them aside.
    fn take(&mut self, batch: &Batch) -> Result<()> {
        self.fresh.clear();
        self.fresh.resize(batch.keys.len(), false);
        self.seen.insert(batch.keys.hashes(), &mut self.fresh)?;
        for (row, (&hash, &fresh)) in batch.keys.hashes().iter().zip(&self.fresh).enumerate() {
            let record = Record { index: self.records, hash, fresh };
            self.parts.push(record, batch.keys.key(row)).map_err(disk(self.folder))?;
            self.answers.push(fresh).map_err(disk(self.folder))?;
            self.records += 1;
        }
        Ok(())
    }
}

/// Which records pass, in their order.
struct Passing<'a> {
    folder: &'a Path,
    answers: Answers<BufReader<File>>,
    /// Records that pass whatever the filter said, in order.
    rescued: Peekable<Copied<slice::Iter<'a, u64>>>,
    at: u64,
    passing: Vec<bool>,
}

impl<'a> Passing<'a> {
    fn new(answers: Answers<BufWriter<File>>, rescued: &'a [u64], folder: &'a Path) -> Result<Self> {
        let answers = answers.read().map_err(disk(folder))?;
        Ok(Passing {
            folder,
            answers,
            rescued: rescued.iter().copied().peekable(),
            at: 0,
            passing: Vec::new(),
        })
    }

    /// Which of the records of the next chunk pass.
    fn next(&mut self, batch: &Batch) -> Result<&[bool]> {
        self.passing.clear();
        for _ in batch.keys.hashes() {
            let saved = self.rescued.next_if_eq(&self.at).is_some();
            self.passing.push(self.answers.next().map_err(disk(self.folder))? | saved);
            self.at += 1;
        }
        Ok(&self.passing)
    }
}

/// Where records go.
struct Outlets {
    to: Outlet,
    others: Outlet,
    /// Records that passed.
    first: u64,
    text: Vec<u8>,
}

impl Outlets {
    fn open(job: &Job) -> Result<Outlets> {
        let to = Outlet::open(&job.output)?;
        let others = Outlet::open(&job.rejected.clone().map_or(Destination::Nowhere, Destination::File))?;
        Ok(Outlets { to, others, first: 0, text: Vec::new() })
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
        self.to.finish()?;
        self.others.finish()?;
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
    hash: u64,
    fresh: bool,
}

impl Record {
    fn write(self, key: &[u8], out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.index.to_le_bytes())?;
        out.write_all(&self.hash.to_le_bytes())?;
        out.write_all(&[u8::from(self.fresh)])?;
        out.write_all(&(key.len() as u64).to_le_bytes())?;
        out.write_all(key)
    }

    /// The next one, with its key; `None` at the end.
    fn read(from: &mut impl Read, key: &mut Vec<u8>) -> io::Result<Option<Record>> {
        let mut head = [0; 25];
        match from.read_exact(&mut head) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let number = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
        key.clear();
        from.take(number(17)).read_to_end(key)?;
        Ok(Some(Record { index: number(0), hash: number(8), fresh: head[16] != 0 }))
    }
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
    name: PathBuf,
    /// The bits of the hash before those that tell the part.
    used: u32,
    files: Vec<BufWriter<File>>,
}

impl Parts {
    fn new(name: PathBuf, used: u32) -> io::Result<Parts> {
        let file = |part: usize| Ok(BufWriter::new(File::create(part_name(&name, part))?));
        let files = (0..1 << PART_BITS).map(file).collect::<io::Result<_>>()?;
        Ok(Parts { name, used, files })
    }

    fn push(&mut self, record: Record, key: &[u8]) -> io::Result<()> {
        let part = (record.hash << self.used) >> (64 - PART_BITS);
        record.write(key, &mut self.files[part as usize])
    }

    /// The records to be rescued, in order, found in this memory.
    fn rescued(self, folder: &Path, memory: u64, control: &Control) -> Result<Vec<u64>> {
        let mut rescued = Vec::new();
        let memory = usize::try_from(memory).unwrap_or(usize::MAX);
        self.rescue(memory, &mut rescued, control).map_err(|trouble| match trouble {
            Trouble::Disk(error) => disk(folder)(error),
            Trouble::Stopped(error) => error,
        })?;
        rescued.sort_unstable();
        Ok(rescued)
    }

    /// Finds the records to be rescued, part by part.
    fn rescue(self, memory: usize, rescued: &mut Vec<u64>, control: &Control) -> Result<(), Trouble> {
        let Parts { name, used, files } = self;
        for mut file in files {
            file.flush()?;
        }
        for part in 0..1 << PART_BITS {
            control.check().map_err(Trouble::Stopped)?;
            let path = part_name(&name, part);
            let deeper = used + PART_BITS;
            // Keys of one hash cannot be cut any further.
            let memory = if deeper + PART_BITS <= 64 { memory } else { usize::MAX };
            if !rescue_in_memory(&path, memory, rescued)? {
                let mut parts = Parts::new(path.with_extension(format!("{part}")), deeper)?;
                let (mut from, mut key) = (BufReader::new(File::open(&path)?), Vec::new());
                while let Some(record) = Record::read(&mut from, &mut key)? {
                    parts.push(record, &key)?;
                }
                parts.rescue(memory, rescued, control)?;
            }
            std::fs::remove_file(&path)?;
        }
        Ok(())
    }
}

fn part_name(name: &Path, part: usize) -> PathBuf {
    name.with_extension(format!("{}.{part}", name.extension().unwrap_or_default().to_string_lossy()))
}

/// Finds the records of a part that are to be rescued; false where its keys do not fit.
fn rescue_in_memory(path: &Path, memory: usize, rescued: &mut Vec<u64>) -> io::Result<bool> {
    let (mut from, mut key) = (BufReader::new(File::open(path)?), Vec::new());
    let mut seen: HashSet<Box<[u8]>> = HashSet::new();
    let (mut held, before) = (0usize, rescued.len());
    while let Some(record) = Record::read(&mut from, &mut key)? {
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
