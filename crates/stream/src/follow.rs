//! A file that grows, and whose name goes to another file when it is rotated.
//!
//! Each file that had the name is a *generation*, an input with a number of its own. One is read to its end, and
//! left for the next when that has text and nothing more came to the old one for a while: whoever writes opens
//! the new file some time after the old one got another name. What cannot be read any more is said.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tamis_make::place::number;
use tamis_make::resume::is_same;

use super::live::{Receive, Received};
use super::lock;
use super::refusal::Loss;
use super::rotation::{self, Between};

/// How often is looked whether a file has grown.
const GROWTH: Duration = Duration::from_millis(10);

/// For how long nothing comes to a file before it is left for the one that has its name.
const QUIET: Duration = Duration::from_secs(1);

/// For how long is looked whether something comes to a file after all that was left.
const LATE: Duration = Duration::from_secs(60);

/// Bytes before the place that must still be there when more is read: a file that was cut, and has grown since,
/// has other ones.
const KNOWN: usize = 256;

/// A file that was opened twice: to be read, and to be looked at by itself.
pub(super) struct Opened {
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) look: File,
}

impl Opened {
    pub(super) fn open(path: &Path) -> io::Result<Opened> {
        loop {
            let (file, look) = (File::open(path)?, File::open(path)?);
            if is_same(&file, &look) {
                return Ok(Opened { path: path.into(), file, look });
            } // or it was replaced just now
        }
    }

    pub(super) fn length(&self) -> io::Result<u64> {
        Ok(self.look.metadata()?.len())
    }
}

/// How far a generation was read, and the bytes before that.
#[derive(Debug, Default)]
pub(super) struct Tail {
    at: u64,
    bytes: Vec<u8>,
    /// That the file was found cut.
    cut: bool,
}

impl Tail {
    /// That of a file of which this much was read.
    fn before(mut file: &File, at: u64) -> io::Result<Tail> {
        let mut bytes = vec![0; usize::try_from(at).map_or(KNOWN, |at| at.min(KNOWN))];
        file.seek(SeekFrom::Start(at - bytes.len() as u64))?;
        file.read_exact(&mut bytes)?;
        Ok(Tail { at, bytes, cut: false })
    }

    fn extend(&mut self, more: &[u8]) {
        self.at += more.len() as u64;
        self.bytes.extend_from_slice(&more[more.len().saturating_sub(KNOWN)..]);
        let surplus = self.bytes.len().saturating_sub(KNOWN);
        self.bytes.drain(..surplus);
    }

    /// Whether the file has these bytes no more, there or at all.
    fn is_gone_from(&self, mut file: &File) -> io::Result<bool> {
        let mut bytes = vec![0; self.bytes.len()];
        file.seek(SeekFrom::Start(self.at - bytes.len() as u64))?;
        match file.read_exact(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(true),
            read => read.map(|()| bytes != self.bytes),
        }
    }
}

/// A file that has, or had, the name that is followed, as the run sees it.
pub(super) struct Generation {
    /// Its number among the inputs.
    pub(super) input: usize,
    /// The name that is followed, and the one by which the file was opened.
    pub(super) name: PathBuf,
    pub(super) path: PathBuf,
    pub(super) look: File,
    tail: Arc<Mutex<Tail>>,
    /// Where it was left.
    pub(super) end: Option<u64>,
}

impl std::fmt::Debug for Generation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.input, self.path.display())
    }
}

/// Whether nothing came to a file for long, or it has been there for long.
fn was_quiet(file: &File) -> io::Result<bool> {
    let file = file.metadata()?;
    let times = [file.modified().ok(), file.created().ok()];
    Ok(times.into_iter().flatten().any(|time| time.elapsed().is_ok_and(|since| since >= QUIET)))
}

impl Generation {
    /// How long it is.
    pub(super) fn length(&self) -> Option<u64> {
        self.look.metadata().ok().map(|file| file.len())
    }

    /// Bytes that were read of it.
    pub(super) fn read(&self) -> u64 {
        lock(&self.tail).at
    }

    /// Whether what was read of it is no longer there.
    pub(super) fn is_cut(&self) -> io::Result<bool> {
        let tail = lock(&self.tail);
        Ok(tail.cut || tail.is_gone_from(&self.look)?)
    }
}

/// Why the reading of a generation ended.
pub(super) enum Turn {
    /// An earlier run had left it here.
    Left,
    /// The next one has text.
    Next(Opened),
    /// Files between this one and the next cannot be read.
    Gap(Loss, Opened),
    /// It was cut, and begins again.
    Cut(Loss, File),
}

/// What a generation that is read tells: why it ended, and what came to the one before it after that was left.
#[derive(Default)]
pub(super) struct Told {
    pub(super) turn: Option<Turn>,
    pub(super) late: Option<Loss>,
}

/// The file that was read before, and how far.
pub(super) struct Before {
    path: PathBuf,
    file: File,
    end: u64,
    since: Instant,
}

/// Who comes next, as far as it is known.
struct Next {
    opened: Opened,
    /// Whether it has the name that is followed.
    named: bool,
    /// Since when it has text.
    since: Option<Instant>,
}

/// A generation, as it is read.
pub(super) struct Followed {
    /// The name that is followed.
    name: PathBuf,
    file: File,
    tail: Arc<Mutex<Tail>>,
    /// Where an earlier run left it.
    end: Option<u64>,
    next: Option<Next>,
    before: Option<Before>,
    /// When bytes last came.
    moved: Instant,
    /// Since when files between this one and the next are missing: while they are renamed, some seem to be.
    gap: Option<Instant>,
    /// Whether the name was looked at before: what happened since then was seen.
    looked: bool,
    told: Arc<Mutex<Told>>,
    buffer: Vec<u8>,
}

/// What a generation is begun with.
pub(super) struct Begin {
    /// Its number among the inputs.
    pub(super) input: usize,
    pub(super) opened: Opened,
    pub(super) from: u64,
    /// Where an earlier run left it.
    pub(super) end: Option<u64>,
}

/// What is read of a generation, what the run looks at, and what is told of it.
pub(super) type Parts = (Followed, Generation, Arc<Mutex<Told>>);

impl Followed {
    /// Begins with a generation, after another one.
    pub(super) fn begin(name: &Path, begin: Begin, before: Option<Before>) -> io::Result<Parts> {
        let Begin { input, opened: Opened { path, file, look }, from, end } = begin;
        let tail = Arc::new(Mutex::new(Tail::before(&file, from)?));
        let told = Arc::default();
        let followed = Followed {
            name: name.into(),
            file,
            tail: Arc::clone(&tail),
            end,
            next: None,
            before,
            moved: Instant::now(),
            gap: None,
            looked: false,
            told: Arc::clone(&told),
            buffer: vec![0; 256 << 10],
        };
        Ok((followed, Generation { input, name: name.into(), path, look, tail, end }, told))
    }

    /// Reads on; how many bytes that are new, or none where the file was cut.
    fn read_on(&mut self, into: &mut Vec<u8>) -> io::Result<Option<usize>> {
        let mut tail = lock(&self.tail);
        let length = self.file.metadata()?.len();
        if length == tail.at {
            return Ok(Some(0));
        }
        if length < tail.at {
            tail.cut = true;
            return Ok(None);
        }
        // With what comes before, so that it belongs to what was read.
        let known = tail.bytes.len();
        self.file.seek(SeekFrom::Start(tail.at - known as u64))?;
        let left = self.end.map_or(u64::MAX, |end| end.saturating_sub(tail.at));
        let room = self.buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX).saturating_add(known));
        let mut len = 0;
        while len <= known && len < room {
            match self.file.read(&mut self.buffer[len..room])? {
                0 => break,
                read => len += read,
            }
        }
        if self.buffer.get(..known.min(len)) != Some(&tail.bytes[..]) {
            tail.cut = true;
            return Ok(None);
        }
        let more = &self.buffer[known..len];
        tail.extend(more);
        into.extend_from_slice(more);
        Ok(Some(more.len()))
    }

    /// Whether the name has gone to another file that may be read now.
    fn look_for_next(&mut self) -> io::Result<Option<Turn>> {
        let has_text = |next: &Next| next.opened.length().map(|length| length > 0);
        let there = match fs::metadata(&self.name) {
            Ok(there) => Some(there),
            Err(error) if error.kind() == ErrorKind::NotFound => None, // for a moment
            Err(error) => return Err(error),
        };
        let own = number(&self.file.metadata()?);
        let numbers = there.as_ref().and_then(number);
        let known = match &self.next {
            Some(next) => has_text(next)? || number(&next.opened.look.metadata()?) == numbers,
            None => false,
        };
        if !known {
            self.next = None;
            if numbers.is_none() || numbers == own {
                return Ok(None);
            }
            match self.successor()? {
                Some(Ok(next)) => (self.next, self.gap) = (Some(next), None),
                Some(Err(lost)) => {
                    let since = *self.gap.get_or_insert_with(Instant::now);
                    return Ok((since.elapsed() >= QUIET).then_some(lost));
                }
                None => {
                    self.gap = None;
                    return Ok(None);
                }
            }
        }
        let Some(next) = &mut self.next else { return Ok(None) };
        if !has_text(next)? {
            return Ok(None);
        }
        let since = *next.since.get_or_insert_with(Instant::now);
        let quiet = since.max(self.moved).elapsed() >= QUIET
            // One that lost the name again was not the only one to be written to for long.
            || !next.named
            // Or the clock tells: runs that are short would never come to it.
            || !self.looked && was_quiet(&self.file)? && was_quiet(&next.opened.look)?;
        Ok(if quiet { self.next.take().map(|next| Turn::Next(next.opened)) } else { None })
    }

    /// The file that comes after this one, which has lost its name; nothing where files are just renamed.
    fn successor(&self) -> io::Result<Option<Result<Next, Turn>>> {
        let open = |path: &Path| match Opened::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        };
        let Some(opened) = open(&self.name)? else { return Ok(None) };
        let old = rotation::name_of(&self.file.metadata()?, &self.name);
        let mut between = old.map_or(Between::Nothing, |old| rotation::after(&old, &self.name));
        // The names were those of one moment if the name leads to the same file as before.
        let still = open(&self.name)?.is_some_and(|again| is_same(&again.file, &opened.file));
        if !still || is_same(&opened.file, &self.file) {
            return Ok(None);
        }
        let mut gone = Vec::new();
        let next = loop {
            match between {
                Between::Nothing => break Next { opened, named: true, since: None },
                Between::File(path) => match open(&path)? {
                    Some(opened) => break Next { opened, named: false, since: None },
                    None => return Ok(None),
                },
                Between::Gone(file, packed) => {
                    between = rotation::after(&file, &self.name);
                    gone.push(packed.unwrap_or(file));
                }
            }
        };
        Ok(Some(match gone.is_empty() {
            true => Ok(next),
            false => Err(Turn::Gap(Loss::Between { files: gone }, next.opened)),
        }))
    }

    /// Whether something came to the file before that was left.
    fn late(&mut self) -> io::Result<Option<Loss>> {
        let Some(before) = &self.before else { return Ok(None) };
        let more = before.file.metadata()?.len().saturating_sub(before.end);
        if more == 0 && before.since.elapsed() < LATE {
            return Ok(None);
        }
        let file = before.path.clone();
        self.before = None; // said once
        Ok((more > 0).then_some(Loss::Late { file, bytes: more }))
    }

    fn end_with(&self, turn: Turn) -> Received {
        lock(&self.told).turn = Some(turn);
        Received::End
    }
}

impl Generation {
    /// What the next one has to know of this one, when it is left.
    pub(super) fn left(&mut self) -> io::Result<Before> {
        let end = lock(&self.tail).at;
        self.end = Some(end);
        let path = rotation::name_of(&self.look.metadata()?, &self.name).unwrap_or_else(|| self.path.clone());
        Ok(Before { path, file: self.look.try_clone()?, end, since: Instant::now() })
    }
}

impl Receive for Followed {
    fn receive(&mut self, patience: Duration, into: &mut Vec<u8>) -> io::Result<Received> {
        let deadline = Instant::now() + patience;
        if lock(&self.told).turn.is_some() {
            return Ok(Received::End);
        }
        loop {
            if self.end.is_some_and(|end| lock(&self.tail).at >= end) {
                return Ok(self.end_with(Turn::Left));
            }
            match self.read_on(into)? {
                None => {
                    let (read, length) = (lock(&self.tail).at, self.file.metadata()?.len());
                    let tail = lock(&self.tail);
                    let holds = |file: &File| tail.is_gone_from(file).is_ok_and(|gone| !gone);
                    let copy = rotation::copy_of(&self.name, read, holds);
                    let lost = Loss::Cut { read, length, copy };
                    self.end_with(Turn::Cut(lost, self.file.try_clone()?));
                    return Ok(Received::Lost); // a line whose end is gone is none
                }
                Some(0) => {}
                Some(_) => {
                    self.moved = Instant::now();
                    return Ok(Received::Bytes);
                }
            }
            let turn = self.look_for_next()?;
            self.looked = true;
            if let Some(turn) = turn {
                return Ok(self.end_with(turn));
            }
            if let Some(late) = self.late()? {
                lock(&self.told).late = Some(late);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Received::Nothing);
            }
            thread::sleep(left.min(GROWTH));
        }
    }
}
