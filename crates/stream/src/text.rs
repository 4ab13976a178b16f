//! Records of text and tables, as a source: files and folders in order, files that grow, pipes,
//! standard input, sockets.
//!
//! A thread parses ahead into a [queue](super::queue). A place is the number of the input and the
//! offset in its text (decompressed; in Parquet, rows). Plain files begin anywhere; compressed ones
//! and Parquet are read from their beginning again, and what was done is passed over. What comes
//! once is [spooled](super::spool) where a state is kept.

use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tamis_make::resume::Mark;
use tamis_read::error::{Error, Result};
use tamis_read::{Control, Explained, Flow, Format, Next, Options, Position, Sources};

use super::bookmark::{Bookmark, Understood, check_marks, refuse_half_line, too_short};
use super::kafka;
use super::live::{Followed, LONGEST_LINE, Live, Pipe, Receive};
use super::net::{Address, Peers, Socket};
use super::queue::{Piece, Popped, Queue};
use super::refusal::{CannotResume, Failed, Impossible};
use super::role::Role;
use super::sift::{Making, Sifter};
use super::source::{Cut, Place, Reached, Records, Source};
use super::spool::Spool;

/// What the user named as one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// Files, globs, folders.
    Files(Vec<String>),
    /// Standard input.
    Stdin,
    /// A pipe by its name, or anything else that is read once.
    Pipe(PathBuf),
    /// A socket.
    Socket(Address),
    /// A topic of Kafka.
    Kafka(kafka::Address),
}

impl Named {
    /// What these words name.
    pub fn of(inputs: &[String]) -> Result<Named> {
        let special = |path: &Path| fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir());
        for input in inputs {
            let named = match (Address::of(input), kafka::Address::of(input)) {
                (Some(address), _) => Named::Socket(address?),
                (_, Some(topic)) => Named::Kafka(topic?),
                _ if input == "-" => Named::Stdin,
                _ if special(Path::new(input)) => Named::Pipe(input.into()),
                _ => continue,
            };
            return if inputs.len() == 1 { Ok(named) } else { Err(Impossible::Beside(input.clone()).into()) };
        }
        Ok(Named::Files(inputs.to_vec()))
    }

    /// Whether it comes once, and perhaps slowly.
    pub fn is_live(&self) -> bool {
        !matches!(self, Named::Files(_) | Named::Kafka(_))
    }
}

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
    pub(super) reconnect: Option<Duration>,
}

/// What the run and the thread that reads share.
#[derive(Debug, Default)]
struct Shared {
    queue: Queue,
    control: Arc<Control>,
    live: Mutex<Option<Understood>>,
}

/// An input file as the run sees it.
#[derive(Debug, Clone)]
struct InputFile {
    path: PathBuf,
    /// Whether its offsets are those of the file.
    plain: bool,
    length: u64,
}

/// The source, on the side of the run.
#[derive(Debug, Default)]
pub(super) struct Text {
    shared: Arc<Shared>,
    spool: Option<Arc<Mutex<Spool>>>,
    inputs: Vec<InputFile>,
    /// How files were understood.
    explained: Vec<Explained>,
    /// Marks of the inputs that are done.
    marks: Vec<Mark>,
    /// The input of this number grows; the file itself, whatever has its name by now.
    followed: Option<(usize, File)>,
    /// Whether a commit tells how live text is understood.
    settled: bool,
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

/// The source, on the side of the thread that reads.
pub(super) struct Reader<'a> {
    setup: Setup<'a>,
    shared: Arc<Shared>,
    begin: Position,
    /// The lines before that, of live text.
    lines: Option<u64>,
    prepared: Prepared,
}

enum Prepared {
    /// Files, from the one on with which it begins.
    Files(Sources),
    /// The same, the last of them live; or a live text alone.
    Live(Vec<PathBuf>, PathBuf, Live),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where an earlier run ended, and what it knew; nothing yet where there was none.
#[derive(Default)]
struct Earlier {
    at: Position,
    /// What a [place](Text::place) has beside that.
    beside: Option<u64>,
    bookmark: Bookmark,
}

impl Earlier {
    fn of(begin: Option<(&Place, &Value)>) -> Result<Earlier> {
        let Some((Place(place), bookmark)) = begin else { return Ok(Earlier::default()) };
        let damaged = || Error::from(CannotResume::Plan);
        let (at, beside) = position(place)?;
        let bookmark = serde_json::from_value(bookmark.clone()).map_err(|_| damaged())?;
        Ok(Earlier { at, beside, bookmark })
    }

    /// What comes of a live text is understood as its beginning was, which may not come again.
    fn known(&self, input: usize) -> Option<&Understood> {
        self.bookmark.live.as_ref().filter(|_| self.at.input == input)
    }

    /// The same where the beginning was read.
    fn late(&self, input: usize) -> Option<&Understood> {
        self.known(input).filter(|_| self.at.offset > 0)
    }

    /// That beginning, where it was read.
    fn prelude(&self, input: usize) -> Cursor<Vec<u8>> {
        Cursor::new(self.late(input).map(|live| live.prelude.0.clone()).unwrap_or_default())
    }
}

/// What the numbers of a place are. What is counted on from one must have room for that, whatever a file says.
fn position(place: &[u64]) -> Result<(Position, Option<u64>)> {
    match *place {
        [input, offset] => Ok((Position { input: input as usize, offset }, None)),
        [input, offset, beside] => {
            Ok((Position { input: input as usize, offset }, Some(beside.min(u64::MAX / 2))))
        }
        _ => Err(CannotResume::Plan.into()),
    }
}

/// Opens a stream, at the beginning or where the commit ended. What can be checked is checked now;
/// the reader must be given a thread.
pub(super) fn open<'a>(setup: Setup<'a>, begin: Option<(&Place, &Value)>) -> Result<(Text, Reader<'a>)> {
    let earlier = Earlier::of(begin)?;
    let mut text = Text { at: earlier.at, ..Text::default() };
    let prepared = match setup.named {
        Named::Files(inputs) => text.open_files(inputs, &setup, &earlier)?,
        _ => text.open_live(&setup, &earlier)?,
    };
    let live = match &prepared {
        Prepared::Files(_) => None,
        Prepared::Live(..) => Some(text.followed.as_ref().map_or(0, |(input, _)| *input)),
    };
    // Of a text of which nothing came yet, nothing is known.
    let nothing = text.spool.as_ref().is_some_and(|spool| lock(spool).end() == 0);
    let known = live.and_then(|input| earlier.known(input)).filter(|_| !nothing).cloned();
    text.settled = known.is_some();
    *lock(&text.shared.live) = known;
    match live {
        Some(_) => text.lines = begin.map_or(Some(0), |_| earlier.beside),
        None => (text.since, text.passed) = (earlier.beside.unwrap_or(0), earlier.beside.unwrap_or(0)),
    }
    let (shared, lines) = (Arc::clone(&text.shared), text.lines);
    Ok((text, Reader { setup, shared, begin: earlier.at, lines, prepared }))
}

impl Text {
    /// Files in order, the last of which may grow.
    fn open_files(&mut self, inputs: &[String], setup: &Setup<'_>, earlier: &Earlier) -> Result<Prepared> {
        let (begin, marks) = (earlier.at, &earlier.bookmark.files);
        let mut paths = Sources::find(inputs)?;
        check_marks(marks, &paths)?;
        self.marks = marks.iter().take(begin.input).cloned().collect();
        let all = paths.len();
        let last = setup.follow.then(|| paths.pop()).flatten();
        let left: Vec<PathBuf> = paths.iter().skip(begin.input).cloned().collect();
        let of = |path: &PathBuf| InputFile { path: path.clone(), plain: true, length: 0 };
        self.inputs = paths.iter().take(begin.input).map(of).collect();
        // Also to refuse what cannot be read before anything is written.
        let inputs = left.iter().map(|path| (path.clone(), None)).collect();
        let sources = Sources::of(inputs, setup.options, &setup.making.columns())?;
        self.explained = sources.explain();
        self.inputs.extend(self.explained.iter().map(InputFile::of));
        let prepared = match last {
            None => Prepared::Files(sources),
            Some(path) => {
                // What was read when it did not yet grow is passed over, and understood again.
                let at = earlier.late(all - 1).map_or(0, |_| begin.offset);
                let (from, file) = Followed::open(&path, at).map_err(Error::io(&path))?;
                self.followed = Some((all - 1, file));
                self.inputs.push(of(&path));
                let prelude = Box::new(earlier.prelude(all - 1));
                Prepared::Live(left, path, Live::new(Some(prelude), Box::new(from), None))
            }
        };
        if let Some(input) = self.inputs.get(begin.input).filter(|input| input.plain && begin.offset > 0) {
            refuse_half_line(&input.path, begin.offset)?;
        }
        Ok(prepared)
    }

    /// Text that comes once; spooled, where a state is kept.
    fn open_live(&mut self, setup: &Setup<'_>, earlier: &Earlier) -> Result<Prepared> {
        let (name, from) = receiver(setup)?;
        let (prelude, offset) = (earlier.prelude(0), earlier.at.offset);
        let mut before: Box<dyn Read + Send> = Box::new(prelude);
        if let Some(folder) = setup.folder {
            let spool = Spool::open(folder, setup.role.name(), offset)?;
            before = Box::new(before.chain(spool.read_from(offset)?));
            self.spool = Some(Arc::new(Mutex::new(spool)));
        }
        let live = Live::new(Some(before), from, self.spool.clone());
        Ok(Prepared::Live(Vec::new(), name.into(), live))
    }
}

/// Where live text comes from, and its name.
fn receiver(setup: &Setup<'_>) -> Result<(String, Box<dyn Receive>)> {
    Ok(match setup.named {
        Named::Socket(address) => {
            let peers = Peers::new(address, setup.reconnect)?;
            (address.to_string(), Box::new(Socket::new(peers)))
        }
        Named::Pipe(path) => {
            let file = File::open(path).map_err(Error::io(path))?;
            (path.display().to_string(), Box::new(Pipe::new(Flow::of(file))))
        }
        _ => {
            if setup.folder.is_some() && Flow::stdin_is_a_file() {
                return Err(Impossible::FileAsInput.into());
            }
            ("-".into(), Box::new(Pipe::new(Flow::stdin())))
        }
    })
}

impl InputFile {
    fn of(explained: &Explained) -> InputFile {
        let length = fs::metadata(&explained.path).map_or(0, |file| file.len());
        let plain = explained.compression.is_none() && explained.format != Format::Parquet;
        InputFile { path: explained.path.clone(), plain, length }
    }
}

impl Reader<'_> {
    /// Reads to the end, or until the run has ended.
    pub(super) fn run(self) {
        let shared = Arc::clone(&self.shared);
        let _ends = EndInPanic(&shared);
        let result = self.read();
        let stopped = shared.control.check().is_err();
        shared.queue.end(if stopped { Ok(()) } else { result });
    }

    fn read(self) -> Result<()> {
        let Reader { setup, shared, begin, lines, prepared } = self;
        let known = lock(&shared.live).clone();
        let late = known.is_some() && begin.offset > 0;
        // Inputs are numbered from the one on with which this begins.
        let (mut sources, live) = match prepared {
            Prepared::Files(sources) => (sources, None),
            Prepared::Live(before, path, text) => {
                let options = known.as_ref().map(|live| live.options(setup.options));
                let live = before.len();
                let mut inputs: Vec<_> = before.into_iter().map(|path| (path, None)).collect();
                inputs.push((path, Some(text.flow(Arc::clone(&shared.control)))));
                let options = options.as_ref().unwrap_or(setup.options);
                (Sources::of(inputs, options, &setup.making.columns())?, Some(live))
            }
        };
        let explained = sources.explain();
        // How far the offsets of a late text lie behind those of the input.
        let mut behind = 0;
        if let Some(input) = live {
            let prelude = sources.prelude(input);
            if late {
                behind = begin.offset as i64 - prelude.len() as i64;
            }
            if explained[input].compression.is_some() {
                return Err(Error::input(explained[input].path.clone(), Impossible::Compressed));
            }
            *lock(&shared.live) = Some(Understood::of(&explained[input], prelude));
            sources.in_rows_of(LONGEST_LINE);
            if let Some(lines) = lines.filter(|_| late) {
                sources.count_lines_after(input, lines);
            }
        }
        let by_rows = |input: usize| explained[input].format == Format::Parquet;
        if !late && !by_rows(0) {
            sources.begin_at(Position { input: 0, offset: begin.offset });
        }
        let counts = lines.is_some();
        let sifters = (0..setup.threads).map(|_| Sifter::new(setup.making).counting_lines(counts)).collect();
        let mut lines = live.map_or(0, |input| sources.lines_before(input));
        let take = |next: Next<'_, Piece>| {
            let Next::Batch(batch, end) = next else { return Ok(ControlFlow::Continue(())) };
            batch.lines = batch.lines.take().filter(|_| live == Some(end.input));
            if let Some(ends) = &mut batch.lines {
                (ends.before, lines) = (lines, lines + ends.all);
            }
            if batch.records.is_empty() && batch.skipped == 0 {
                return Ok(ControlFlow::Continue(()));
            }
            let mut piece = std::mem::replace(batch, shared.queue.spare());
            piece.input = begin.input + end.input;
            piece.by_rows = by_rows(end.input);
            let by = if live == Some(end.input) { behind } else { 0 };
            piece.base = end.offset.saturating_sub(piece.base).saturating_add_signed(by);
            let taken = shared.queue.push(piece);
            Ok(if taken { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        };
        sources.sift(sifters, take, &shared.control).map(drop)
    }
}

/// That nobody waits for a reader that panicked.
struct EndInPanic<'a>(&'a Shared);

impl Drop for EndInPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.queue.end(Err(Failed::Reader.into()));
        }
    }
}

impl Text {
    /// Ends the reading; the reading thread notices soon.
    pub(super) fn stop(&self) -> Stop {
        Stop(Arc::clone(&self.shared))
    }

    /// The piece with the next records, if there is one within this time.
    fn piece(&mut self, patience: Duration) -> Result<Option<Popped>> {
        if self.piece.is_none() {
            match self.shared.queue.pop(patience)? {
                Popped::Piece(mut piece) => {
                    self.skipped += piece.skipped;
                    if piece.input != self.at.input && !(piece.records.is_empty() && piece.bad.is_empty()) {
                        self.pass_on(piece.input)?;
                    }
                    (self.next, self.next_bad) = (0, 0);
                    if piece.by_rows {
                        // Rows are counted here; those that were done before are passed over.
                        piece.stops.iter_mut().zip(1..).for_each(|(stop, number)| *stop = number);
                        piece.base = self.rows;
                        self.rows += piece.stops.len() as u64;
                        self.next =
                            self.at.offset.saturating_sub(piece.base).min(piece.stops.len() as u64) as usize;
                        self.pass_over(&piece);
                    }
                    self.piece = Some(piece);
                }
                nothing => return Ok(Some(nothing)),
            }
        }
        Ok(None)
    }

    /// Passes over rows of Parquet that were left out in an earlier run.
    fn pass_over(&mut self, piece: &Piece) {
        for bad in &piece.bad {
            let before = piece.base + u64::from(bad.before);
            let here = before == self.at.offset && self.passed > 0;
            if before >= self.at.offset && !here {
                break;
            }
            self.passed -= u64::from(here);
            self.next_bad += 1;
        }
    }

    /// Takes what there is of a piece, up to the cut.
    fn take_of(
        &mut self,
        piece: &Piece,
        cut: Cut<'_>,
        target: Option<(Position, u64)>,
        records: &mut Records,
    ) {
        loop {
            // Rows that were left out go with the record that they stand before: where a batch ends must not
            // depend on how the text was cut into pieces.
            while let Some(bad) = piece.bad.get(self.next_bad).filter(|bad| bad.before as usize <= self.next)
            {
                let after = match piece.by_rows {
                    true => (self.at, self.since + 1),
                    false => (Position { input: piece.input, offset: piece.base + u64::from(bad.stop) }, 0),
                };
                if is_full(cut, records) || target.is_some_and(|target| after > target) {
                    return;
                }
                let from = self.next_bad.checked_sub(1).map_or(0, |last| piece.bad[last].aside);
                records.aside.extend_from_slice(&piece.aside[from as usize..bad.aside as usize]);
                (self.at, self.since) = after;
                self.count_lines(piece.lines.as_ref().and_then(|lines| lines.up_to_bad(self.next_bad)));
                self.next_bad += 1;
            }
            let end = piece.bad.get(self.next_bad).map_or(piece.records.len(), |bad| bad.before as usize);
            let left = end - self.next;
            let count = match (cut, target) {
                (Cut::Records(most), _) => left.min(most.saturating_sub(records.len())),
                (_, Some(target)) => {
                    (self.next..end).take_while(|&record| (piece.after(record), 0) <= target).count()
                }
                _ => 0,
            };
            if count == 0 {
                return;
            }
            records.extend(&piece.records, self.next..self.next + count);
            self.next += count;
            (self.at, self.since) = (piece.after(self.next - 1), 0);
            self.count_lines(piece.lines.as_ref().and_then(|lines| lines.up_to(self.next - 1)));
        }
    }

    /// Notes the lines before the place that was reached, where they are counted.
    fn count_lines(&mut self, now: Option<u64>) {
        self.lines = self.lines.and(now).or(self.lines);
    }

    /// Goes on to another input.
    fn pass_on(&mut self, input: usize) -> Result<()> {
        for done in self.marks.len()..input.min(self.inputs.len()) {
            let InputFile { path, .. } = &self.inputs[done];
            let length = fs::metadata(path).map_err(Error::io(path))?.len();
            // Of a plain file no more than was read, even if it has grown since.
            let offset =
                if done == self.at.input && self.inputs[done].plain { self.at.offset } else { length };
            self.marks.push(Mark::of(path, offset).map_err(Error::io(path))?);
        }
        self.at = Position { input, offset: 0 };
        (self.rows, self.since, self.passed) = (0, 0, 0);
        Ok(())
    }
}

/// Whether no more goes into a batch: rows that are set aside have a bound, too.
fn is_full(cut: Cut<'_>, records: &Records) -> bool {
    matches!(cut, Cut::Records(most) if records.len() >= most || records.aside.len() >= MOST_ASIDE)
}

/// Bytes that are set aside in one batch, but for the last row.
const MOST_ASIDE: usize = 4 << 20;

/// Ends the reading when it is dropped.
pub(super) struct Stop(Arc<Shared>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.control.stop();
        self.0.queue.close();
    }
}

impl Piece {
    /// The place after a record.
    fn after(&self, record: usize) -> Position {
        Position { input: self.input, offset: self.base + u64::from(self.stops[record]) }
    }
}

impl Source for Text {
    fn take(&mut self, cut: Cut<'_>, patience: Duration, records: &mut Records) -> Result<Reached> {
        let deadline = Instant::now() + patience;
        let target = match cut {
            // Lines tell nothing that the offset does not.
            Cut::At(Place(place)) => {
                let (target, beside) = position(place)?;
                Some((target, if self.lines.is_some() { 0 } else { beside.unwrap_or(0) }))
            }
            Cut::Records(_) => None,
        };
        loop {
            if is_full(cut, records) || target == Some((self.at, self.since)) {
                return Ok(Reached::Cut);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.piece(left)? {
                Some(Popped::End) if target.is_some() => {
                    return Err(CannotResume::Ends.into());
                }
                Some(Popped::End) => return Ok(Reached::End),
                Some(_) => return Ok(Reached::Pause),
                None => {}
            }
            let Some(piece) = self.piece.take() else { continue };
            self.take_of(&piece, cut, target, records);
            if self.next == piece.records.len() && self.next_bad == piece.bad.len() {
                self.shared.queue.give_back(piece);
                continue;
            }
            self.piece = Some(piece);
            if target.is_some_and(|target| target != (self.at, self.since)) {
                return Err(CannotResume::OtherRecords.into());
            }
        }
    }

    /// The number of the input and the offset; of live text the lines before that, and of Parquet the rows
    /// that were left out since the last record, if there are any.
    fn place(&self) -> Place {
        let beside = self.lines.or((self.since > 0).then_some(self.since));
        Place([self.at.input as u64, self.at.offset].into_iter().chain(beside).collect())
    }

    fn bookmark(&mut self) -> Result<Value> {
        let mut files = self.marks.clone();
        if let Some(input) = self.inputs.get(self.at.input).filter(|_| files.len() == self.at.input) {
            let mark = || match &self.followed {
                // Not by its name, which another file may have by now.
                Some((followed, file)) if *followed == self.at.input => {
                    Mark::through(file, &input.path, self.at.offset)
                }
                _ if input.plain => Mark::of(&input.path, self.at.offset),
                _ => Mark::of(&input.path, fs::metadata(&input.path)?.len()),
            };
            files.push(mark().map_err(Error::io(&input.path))?);
        }
        let bookmark = Bookmark { files, live: lock(&self.shared.live).clone() };
        self.settled = bookmark.live.is_some();
        serde_json::to_value(bookmark).map_err(|error| Failed::from(error).into())
    }

    fn has_news(&self) -> bool {
        !self.settled && lock(&self.shared.live).is_some()
    }

    fn sync(&mut self) -> Result<()> {
        self.spool.as_ref().map_or(Ok(()), |spool| lock(spool).sync())
    }

    fn forget(&mut self, place: &Place) -> Result<()> {
        match (&self.spool, &place.0[..]) {
            (Some(spool), [_, offset, ..]) => lock(spool).forget(*offset),
            _ => Ok(()),
        }
    }

    /// A file that is too short is refused.
    fn reaches(&mut self, place: &Place) -> Result<bool> {
        let [input, offset, ..] = place.0[..] else { return Ok(false) };
        if let Some(spool) = &self.spool {
            return Ok(lock(spool).end() >= offset);
        }
        let Some(input) = self.inputs.get(input as usize).filter(|input| input.plain) else {
            return Ok(true);
        };
        let length = fs::metadata(&input.path).map_err(Error::io(&input.path))?.len();
        if length < offset {
            return Err(too_short(&input.path, length, offset));
        }
        Ok(true)
    }

    fn paths(&self) -> Vec<PathBuf> {
        self.inputs.iter().map(|input| input.path.clone()).collect()
    }

    fn explained(&self) -> Vec<Explained> {
        self.explained.clone()
    }

    fn lag(&self) -> Option<u64> {
        let of = |(number, input): (usize, &InputFile)| {
            let length = match &self.followed {
                Some((followed, file)) if *followed == number => file.metadata().ok()?.len(),
                _ => input.length,
            };
            match number == self.at.input {
                true if !input.plain => None,
                true => Some(length.saturating_sub(self.at.offset)),
                false => Some(length),
            }
        };
        if self.inputs.is_empty() {
            return None;
        }
        self.inputs.iter().enumerate().skip(self.at.input).map(of).sum()
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }
}
