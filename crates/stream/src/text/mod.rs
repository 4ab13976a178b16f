//! Records of text and tables, as a source: files and folders in order, files that grow, pipes,
//! standard input, sockets.
//!
//! A thread parses ahead into a [queue](super::queue). A place is the number of the input and the
//! offset in its text (decompressed; in Parquet, rows). Plain files begin anywhere; compressed ones
//! and Parquet are read from their beginning again, and what was done is passed over. What comes
//! once is [spooled](super::spool) where a state is kept.
//!
//! The run has one side of it, [`Text`], and `take` makes its batches; a thread has the other, the `reader`.
//! `open` makes both of what was `named`, and of where an `earlier` run ended. `generations` has the files of
//! a name that is followed, on both sides.

mod earlier;
mod generations;
mod named;
mod open;
mod reader;
mod take;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tamis::about::Classes;
use tamis_make::resume::Mark;
use tamis_read::error::{Error, Result};
use tamis_read::{Control, Explained, Format, Options, Position};

use super::bookmark::{Bookmark, Understood, too_short};
use super::follow::Generation;
use super::job::Lost;
use super::lock;
use super::net::Idle;
use super::queue::{Piece, Queue};
use super::refusal::{CannotResume, Failed};
use super::role::Role;
use super::sift::Making;
use super::socket::Known;
use super::source::{Cut, Place, Reached, Records, Source};
use super::spool::Spool;
use super::watch::{Lag, Watch};

pub use self::named::Named;
pub(super) use self::open::open;

/// How a stream is to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setup<'a> {
    pub(super) role: Role,
    pub(super) named: &'a Named,
    pub(super) follow: bool,
    pub(super) options: &'a Options,
    pub(super) making: Making<'a>,
    pub(super) threads: usize,
    /// The state's folder, where there is one.
    pub(super) folder: Option<&'a Path>,
    /// What to do when something is gone that was not read yet.
    pub(super) lost: Lost,
    pub(super) watch: &'a Watch,
    pub(super) reconnect: Option<Duration>,
    pub(super) idle: Idle,
}

/// What the run and the thread that reads share.
#[derive(Debug, Default)]
struct Shared {
    queue: Queue,
    control: Arc<Control>,
    /// How live texts are understood, by the numbers of their inputs.
    live: Mutex<BTreeMap<usize, Understood>>,
    /// The files that have, or had, the name that is followed.
    generations: Mutex<Vec<Generation>>,
    /// How the rows of several peers are told apart.
    known: Known,
}

/// An input file as the run sees it.
#[derive(Debug, Clone)]
struct InputFile {
    path: PathBuf,
    /// Whether its offsets are those of the file.
    plain: bool,
    length: u64,
}

impl InputFile {
    fn of(explained: &Explained) -> InputFile {
        let length = fs::metadata(&explained.path).map_or(0, |file| file.len());
        let plain = explained.compression.is_none() && explained.format != Format::Parquet;
        InputFile { path: explained.path.clone(), plain, length }
    }
}

/// The source, on the side of the run.
#[derive(Debug, Default)]
pub(super) struct Text {
    shared: Arc<Shared>,
    spool: Option<Arc<Mutex<Spool>>>,
    inputs: Vec<InputFile>,
    /// How files were understood.
    explained: Vec<Explained>,
    /// The classes of the values of files that keys are made from, where files are read.
    classes: Option<Classes>,
    /// Marks of the inputs that are done.
    marks: Vec<Mark>,
    /// The number of the name that is followed, and that of the first file which had it.
    followed: Option<usize>,
    /// Whether it begins elsewhere than where the state has it.
    moved: bool,
    /// The last input of which a commit tells how it is understood, where it is live.
    settled: Option<usize>,
    piece: Option<Piece>,
    /// The next record of the piece, and the next of those that were left out.
    next: usize,
    next_bad: usize,
    at: Position,
    /// The lines before that place of a live text; none where they were not counted from its beginning.
    lines: Option<u64>,
    /// Rows of a Parquet file that were seen.
    rows: u64,
    /// Rows of it that were left out since the last record; and those of an earlier run that are passed over.
    since: u64,
    passed: u64,
    skipped: u64,
}

impl Text {
    /// Whether it has this place in what it reads from its beginning.
    pub(super) fn covers(&self, place: &Place) -> bool {
        let last = self.followed.unwrap_or(self.inputs.len());
        place.0.first().is_some_and(|input| *input <= last as u64)
    }

    /// Ends the reading; the reading thread notices soon.
    pub(super) fn stop(&self) -> Stop {
        Stop(Arc::clone(&self.shared))
    }
}

/// Ends the reading when it is dropped.
pub(super) struct Stop(Arc<Shared>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.control.stop();
        self.0.queue.close();
    }
}

impl Source for Text {
    fn take(&mut self, cut: Cut<'_>, patience: Duration, records: &mut Records) -> Result<Reached> {
        self.gather(cut, patience, records)
    }

    /// The number of the input and the offset; of live text the lines before that, and of Parquet the rows
    /// that were left out since the last record, if there are any.
    fn place(&self) -> Place {
        let beside = self.lines.or((self.since > 0).then_some(self.since));
        Place([self.at.input as u64, self.at.offset].into_iter().chain(beside).collect())
    }

    fn bookmark(&mut self, place: &Place) -> Result<Value> {
        let [from, offset, ..] = place.0[..] else { return Err(CannotResume::Plan.into()) };
        let mut bookmark = Bookmark { files: self.marks.clone(), ..Bookmark::default() };
        if let Some(input) = self.inputs.get(self.at.input).filter(|_| bookmark.files.len() == self.at.input)
        {
            let mark = || match input.plain {
                true => Mark::of(&input.path, self.at.offset),
                false => Mark::of(&input.path, fs::metadata(&input.path)?.len()),
            };
            bookmark.files.push(mark().map_err(Error::io(&input.path))?);
        }
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        self.mark_generations(Position { input: from, offset }, &mut bookmark)?;
        let live = lock(&self.shared.live);
        bookmark.live = live.get(&from).cloned();
        self.settled = live.contains_key(&self.at.input).then_some(self.at.input);
        drop(live);
        serde_json::to_value(bookmark).map_err(|error| Failed::from(error).into())
    }

    fn has_news(&self) -> bool {
        self.settled != Some(self.at.input) && lock(&self.shared.live).contains_key(&self.at.input)
    }

    fn sync(&mut self) -> Result<()> {
        self.spool.as_ref().map_or(Ok(()), |spool| lock(spool).sync())
    }

    fn forget(&mut self, place: &Place) -> Result<()> {
        let [input, offset, ..] = place.0[..] else { return Ok(()) };
        lock(&self.shared.live).retain(|number, _| *number as u64 >= input);
        lock(&self.shared.generations).retain(|generation| generation.input as u64 >= input);
        self.spool.as_ref().map_or(Ok(()), |spool| lock(spool).forget(offset))
    }

    /// A file that is too short is refused.
    fn reaches(&mut self, place: &Place) -> Result<bool> {
        let [input, offset, ..] = place.0[..] else { return Ok(false) };
        if let Some(spool) = &self.spool {
            return Ok(lock(spool).end() >= offset);
        }
        let input = usize::try_from(input).unwrap_or(usize::MAX);
        if self.followed.is_some_and(|name| input >= name) {
            let generations = lock(&self.shared.generations);
            let of_it = generations.iter().find(|generation| generation.input == input);
            // A last line without an end got one.
            let length = of_it.and_then(Generation::length).map(|length| length.saturating_add(1));
            return Ok(length >= Some(offset) && (length.is_some() || self.at == Position { input, offset }));
        }
        let Some(input) = self.inputs.get(input).filter(|input| input.plain) else {
            return Ok(true);
        };
        let length = fs::metadata(&input.path).map_err(Error::io(&input.path))?.len();
        if length < offset {
            return Err(too_short(&input.path, length, offset));
        }
        Ok(true)
    }

    fn paths(&self) -> Vec<PathBuf> {
        let generations = lock(&self.shared.generations);
        let followed = generations.iter().map(|generation| generation.path.clone());
        self.inputs.iter().map(|input| input.path.clone()).chain(followed).collect()
    }

    fn has_moved(&self) -> bool {
        self.moved
    }

    fn explained(&self) -> Vec<Explained> {
        self.explained.clone()
    }

    fn classes(&self) -> Classes {
        self.classes.unwrap_or(Classes::TEXT)
    }

    fn lag(&self) -> Option<Lag> {
        let left = |number: usize, plain: bool, length: u64| match number == self.at.input {
            true if !plain => None,
            true => Some(length.saturating_sub(self.at.offset)),
            false => Some(length),
        };
        let generations = lock(&self.shared.generations);
        if self.inputs.is_empty() && generations.is_empty() {
            return None;
        }
        let files =
            self.inputs.iter().enumerate().map(|(number, input)| left(number, input.plain, input.length));
        let followed = generations.iter().filter(|generation| generation.input >= self.at.input);
        let followed = followed.map(|generation| left(generation.input, true, generation.length()?));
        files.skip(self.at.input).chain(followed).sum::<Option<u64>>().map(Lag::Bytes)
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }
}
