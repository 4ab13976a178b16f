//! Records of text and tables, as a source: files and folders in order, files that grow, pipes,
//! standard input, sockets.
//!
//! A thread parses ahead into a [queue](super::queue). A place is the number of the input and the
//! offset in its text (decompressed; in Parquet, rows). Plain files begin anywhere; compressed ones
//! and Parquet are read from their beginning again, and what was done is passed over. What comes
//! once is [spooled](super::spool) where a state is kept.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tamis::key::Column;
use tamis_make::resume::{Mark, named};
use tamis_read::error::{Error, Result};
use tamis_read::{Control, Explained, Flow, Format, Next, Options, Position, Sources};

use super::bookmark::{
    Bookmark, Cut as CutFile, Numbers, Understood, check_marks, refuse_half_line, too_short,
};
use super::chain::Naming;
use super::follow::{Before, Begin, Followed, Generation, Opened, Told, Turn};
use super::job::Lost;
use super::kafka;
use super::live::{LONGEST_LINE, Live, Pipe, Receive};
use super::net::{Address, Idle, Peers};
use super::peer::Manner;
use super::queue::{Piece, Popped, Queue};
use super::refusal::{CannotResume, Failed, Impossible};
use super::role::Role;
use super::sift::{Making, Sifter};
use super::socket::{Known, Socket, Treatment};
use super::source::{Cut, Place, Reached, Records, Source};
use super::spool::Spool;
use super::watch::Watch;

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
    /// A live text.
    Live(PathBuf, Live),
    /// Files, and then those that have, or had, a name that is followed.
    Followed(Vec<PathBuf>, PathBuf, VecDeque<Waiting>),
}

/// A generation that is to be read.
struct Waiting {
    input: usize,
    from: u64,
    followed: Followed,
    told: Arc<Mutex<Told>>,
}

/// Inputs that are read together.
struct Pass {
    inputs: Vec<(PathBuf, Option<Flow>)>,
    /// The number of the first of them, and where it begins.
    begin: Position,
    /// Which of them is live.
    live: usize,
    /// How that is understood, where this is known; and whether it begins with what was kept of its beginning.
    known: Option<Understood>,
    late: bool,
    /// The lines before the place where that begins; none where they were not counted.
    lines: Option<u64>,
}

/// The live one of some inputs.
#[derive(Clone, Copy)]
struct LiveInput {
    number: usize,
    /// How far its offsets lie behind, where it begins with what was kept of its beginning.
    behind: Option<i64>,
    counts_lines: bool,
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
        let bookmark: Bookmark = serde_json::from_value(bookmark.clone()).map_err(|_| damaged())?;
        if bookmark.live.as_ref().is_some_and(|live| !live.is_known()) || at.offset > i64::MAX as u64 {
            return Err(damaged());
        }
        Ok(Earlier { at, beside, bookmark })
    }

    /// The beginning of a text that may not come again, where it was read.
    fn prelude(&self) -> Cursor<Vec<u8>> {
        let live = self.bookmark.live.as_ref().filter(|_| self.at.offset > 0);
        Cursor::new(live.map(|live| live.prelude.0.clone()).unwrap_or_default())
    }

    /// The files that are meant; one that was followed may have its name again only later.
    fn find(&self, inputs: &[String], follow: bool) -> Result<Vec<PathBuf>> {
        if let Some((last, before)) = inputs.split_last().filter(|_| follow)
            && let Err(error) = fs::metadata(last)
            && error.kind() == io::ErrorKind::NotFound
            && self.bookmark.files.iter().any(|mark| mark.path == named(Path::new(last)))
        {
            let mut paths = if before.is_empty() { Vec::new() } else { Sources::find(before)? };
            paths.push(last.into());
            return Ok(paths);
        }
        Sources::find(inputs)
    }

    /// Refuses files that are no longer what they were, where none is followed.
    fn check_unfollowed(&self, paths: &[PathBuf]) -> Result<()> {
        let Bookmark { files, followed, cut, .. } = &self.bookmark;
        if let Some(Numbers { name, first }) = followed
            && (first > name || files.len() as u64 > name + 1 || cut.is_some())
        {
            let path = files.last().map(|mark| mark.path.clone());
            let path = path.unwrap_or_else(|| paths.last().map(|path| named(path)).unwrap_or_default());
            return Err(Error::input(path, CannotResume::Rotated));
        }
        check_marks(files, paths)?;
        match files.get(self.at.input) {
            None if self.at != Position::default() && self.at.input >= paths.len() => {
                Err(CannotResume::OutOfRange("place".into()).into())
            }
            _ => Ok(()),
        }
    }
}

/// What the numbers of a place are. What is counted on from one must have room for that, whatever a file says.
fn position(place: &[u64]) -> Result<(Position, Option<u64>)> {
    let (input, offset, beside) = match *place {
        [input, offset] => (input, offset, None),
        [input, offset, beside] => (input, offset, Some(beside.min(u64::MAX / 2))),
        _ => return Err(CannotResume::Plan.into()),
    };
    let input = usize::try_from(input).map_err(|_| CannotResume::Plan)?;
    Ok((Position { input, offset }, beside))
}

fn naming<'a>(name: &'a Path, number: usize, setup: &Setup<'a>) -> Naming<'a> {
    Naming { name, number, lost: setup.lost, watch: setup.watch }
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
    // Of a text of which nothing came yet, nothing is known.
    let nothing = text.spool.as_ref().is_some_and(|spool| lock(spool).end() == 0);
    let is_live =
        !matches!(prepared, Prepared::Files(_)) && text.followed.is_none_or(|name| earlier.at.input >= name);
    if let Some(known) = earlier.bookmark.live.filter(|_| is_live && !nothing) {
        text.settled = Some(earlier.at.input);
        lock(&text.shared.live).insert(earlier.at.input, known);
    }
    match prepared {
        Prepared::Files(_) => {
            (text.since, text.passed) = (earlier.beside.unwrap_or(0), earlier.beside.unwrap_or(0));
        }
        // A file that begins here is counted from its beginning.
        _ if begin.is_none() || text.at != earlier.at => text.lines = Some(0),
        _ => text.lines = earlier.beside,
    }
    let (shared, lines) = (Arc::clone(&text.shared), text.lines);
    Ok((text, Reader { setup, shared, begin: earlier.at, lines, prepared }))
}

impl Text {
    /// Files in order, the last of which may grow.
    fn open_files(&mut self, inputs: &[String], setup: &Setup<'_>, earlier: &Earlier) -> Result<Prepared> {
        let (begin, marks) = (earlier.at, &earlier.bookmark.files);
        let mut paths = earlier.find(inputs, setup.follow)?;
        let last = setup.follow.then(|| paths.pop()).flatten();
        let before = paths.len();
        match &last {
            Some(_) => check_marks(marks.get(..before).unwrap_or(marks), &paths)?,
            None => earlier.check_unfollowed(&paths)?,
        }
        self.marks = marks.iter().take(begin.input.min(before)).cloned().collect();
        let left: Vec<PathBuf> = paths.iter().skip(begin.input).cloned().collect();
        let of = |path: &PathBuf| InputFile { path: path.clone(), plain: true, length: 0 };
        self.inputs = paths.iter().take(begin.input).map(of).collect();
        // Also to refuse what cannot be read before anything is written.
        let inputs = left.iter().map(|path| (path.clone(), None)).collect();
        let sources = Sources::of(inputs, setup.options, &setup.making.columns())?;
        self.explained = sources.explain();
        self.inputs.extend(self.explained.iter().map(InputFile::of));
        if let Some(input) = self.inputs.get(begin.input).filter(|input| input.plain && begin.offset > 0) {
            refuse_half_line(&input.path, begin.offset)?;
        }
        match last {
            None => Ok(Prepared::Files(sources)),
            Some(name) => {
                let waiting = self.open_followed(&name, before, setup, earlier)?;
                Ok(Prepared::Followed(left, name, waiting))
            }
        }
    }

    /// The files that have, or had, the name that is followed.
    fn open_followed(
        &mut self,
        name: &Path,
        number: usize,
        setup: &Setup<'_>,
        earlier: &Earlier,
    ) -> Result<VecDeque<Waiting>> {
        let Earlier { at, bookmark, .. } = earlier;
        // What was read when it did not yet grow is passed over, and understood again.
        let late = at.offset > 0 && bookmark.live.is_some();
        let chain = naming(name, number, setup).chain(*at, bookmark, late)?;
        if let Some(first) = chain.files.first().filter(|first| first.input == at.input && at.offset > 0) {
            refuse_half_line(&first.opened.path, at.offset)?;
        }
        (self.followed, self.at, self.moved) = (Some(number), chain.at, chain.moved);
        let mut generations = lock(&self.shared.generations);
        let begin = |begin: Begin| {
            let (input, from) = (begin.input, begin.from);
            let (followed, generation, told) = Followed::begin(name, begin, None).map_err(Error::io(name))?;
            generations.push(generation);
            Ok(Waiting { input, from, followed, told })
        };
        chain.files.into_iter().map(begin).collect()
    }

    /// Text that comes once; spooled, where a state is kept.
    fn open_live(&mut self, setup: &Setup<'_>, earlier: &Earlier) -> Result<Prepared> {
        let (name, from) = receiver(setup, &self.shared.known)?;
        let (prelude, offset) = (earlier.prelude(), earlier.at.offset);
        let mut before: Box<dyn Read + Send> = Box::new(prelude);
        if let Some(folder) = setup.folder {
            let spool = Spool::open(folder, setup.role.name(), offset)?;
            before = Box::new(before.chain(spool.read_from(offset)?));
            self.spool = Some(Arc::new(Mutex::new(spool)));
        }
        let live = Live::new(Some(before), from, self.spool.clone());
        Ok(Prepared::Live(name.into(), live))
    }
}

/// Where live text comes from, and its name.
fn receiver(setup: &Setup<'_>, known: &Known) -> Result<(String, Box<dyn Receive>)> {
    Ok(match setup.named {
        Named::Socket(address) => {
            let peers = Peers::new(address, setup.reconnect)?;
            let treatment = Treatment {
                known: Arc::clone(known),
                idle: setup.idle,
                on_bad: setup.making.on_bad,
                herald: setup.watch.herald(),
            };
            (address.to_string(), Box::new(Socket::new(peers, treatment)))
        }
        Named::Pipe(path) => {
            let flow = Flow::open(path).map_err(Error::io(path))?;
            (path.display().to_string(), Box::new(Pipe::new(flow)))
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
        let reading = Reading { setup, shared: &shared };
        match prepared {
            Prepared::Files(sources) => {
                let forms = sources.explain();
                reading.sift(sources, &forms, begin, None, None)
            }
            Prepared::Live(path, text) => {
                let known = lock(&shared.live).get(&0).cloned();
                let late = known.is_some() && begin.offset > 0;
                let inputs = vec![(path, Some(text.flow(Arc::clone(&shared.control))))];
                reading.pass(Pass { inputs, begin, live: 0, known, late, lines }, None).map(drop)
            }
            Prepared::Followed(before, name, waiting) => reading.follow(before, &name, waiting, begin, lines),
        }
    }
}

/// What a reading thread has at hand.
#[derive(Clone, Copy)]
struct Reading<'a> {
    setup: Setup<'a>,
    shared: &'a Shared,
}

impl Reading<'_> {
    /// Reads files, and then one generation after the other.
    fn follow(
        self,
        before: Vec<PathBuf>,
        name: &Path,
        mut waiting: VecDeque<Waiting>,
        at: Position,
        mut lines: Option<u64>,
    ) -> Result<()> {
        let shared = self.shared;
        let mut inputs: Vec<(PathBuf, Option<Flow>)> = before.into_iter().map(|path| (path, None)).collect();
        let mut known = lock(&shared.live).get(&at.input).cloned();
        while let Some(Waiting { input, from, followed, told }) = waiting.pop_front() {
            let live = inputs.len();
            let late = from > 0 && known.is_some();
            let prelude = known.as_ref().filter(|_| late).map(|known| known.prelude.0.clone());
            let text =
                Live::new(Some(Box::new(Cursor::new(prelude.unwrap_or_default()))), Box::new(followed), None);
            inputs.push((name.into(), Some(text.flow(Arc::clone(&shared.control)))));
            let begin = match input - live {
                first if first == at.input => at,
                first => Position { input: first, offset: 0 },
            };
            let inputs = std::mem::take(&mut inputs);
            let pass = Pass { inputs, begin, live, known: known.take(), late, lines };
            lines = Some(0);
            known = self.pass(pass, Some(&told))?;
            let turn = lock(&told).turn.take();
            let Some(turn) = turn else { return Ok(()) }; // nobody takes any more
            waiting.extend(self.turn(name, input, turn, waiting.is_empty())?);
        }
        Ok(())
    }

    /// What is to be read after a generation that ended like this, unless more of them wait.
    fn turn(self, name: &Path, input: usize, turn: Turn, alone: bool) -> Result<Option<Waiting>> {
        let naming = naming(name, 0, &self.setup);
        let (before, again) = self.leave(input, matches!(turn, Turn::Cut(..))).map_err(Error::io(name))?;
        let (opened, loss, before) = match turn {
            Turn::Left if !alone => return Ok(None),
            Turn::Left => (Opened::open(name).map_err(Error::io(name))?, None, before),
            Turn::Next(opened) => (opened, None, before),
            Turn::Gap(loss, opened) => (opened, Some(loss), before),
            Turn::Cut(loss, file) => match again {
                Some(look) => (Opened { path: name.into(), file, look }, Some(loss), None),
                None => return Ok(None),
            },
        };
        if let Some(loss) = loss.as_ref().filter(|_| naming.lost == Lost::Stop) {
            self.edge(input);
            return naming.lose(loss.clone()).map(|()| None);
        }
        let begin = Begin { input: input + 1, opened, from: 0, end: None };
        let (followed, next, told) = Followed::begin(name, begin, before).map_err(Error::io(name))?;
        lock(&self.shared.generations).push(next);
        if let Some(loss) = loss {
            self.edge(input + 1);
            naming.lose(loss)?;
        }
        Ok(Some(Waiting { input: input + 1, from: 0, followed, told }))
    }

    /// Leaves a generation: what is to be known of it afterwards, and another handle of its file where it is cut.
    fn leave(self, input: usize, cut: bool) -> io::Result<(Option<Before>, Option<File>)> {
        let mut generations = lock(&self.shared.generations);
        match generations.iter_mut().find(|generation| generation.input == input) {
            Some(generation) if cut => Ok((None, Some(generation.look.try_clone()?))),
            Some(generation) => Ok((Some(generation.left()?), None)),
            None => Ok((None, None)),
        }
    }

    /// Has all that was read so far committed; what comes next begins in this input.
    fn edge(self, input: usize) {
        self.shared.queue.push(Piece { input, edge: true, ..self.shared.queue.spare() });
    }

    /// Understands inputs, and reads them to their end; how the live one was understood.
    fn pass(self, pass: Pass, told: Option<&Mutex<Told>>) -> Result<Option<Understood>> {
        let Reading { setup, shared } = self;
        let Pass { inputs, begin, live, known, late, lines } = pass;
        let options = known.as_ref().map(|live| live.options(setup.options));
        let options = options.as_ref().unwrap_or(setup.options);
        let mut sources = Sources::of(inputs, options, &setup.making.columns())?;
        let forms = sources.explain();
        let (form, prelude) = (&forms[live], sources.prelude(live));
        if form.compression.is_some() {
            return Err(Error::input(form.path.clone(), Impossible::Compressed));
        }
        let understood = Understood::of(form, prelude);
        let _ = shared.known.set(Manner::new(form, prelude, sources.row_ends(live)));
        let by_number = |column: &Column| matches!(column, Column::Number(_));
        if let Some(known) = known.filter(|_| !late && begin.offset == 0)
            && form.header
            && !understood.begins_like(&known)
            && setup.making.columns().iter().any(by_number)
        {
            return Err(Error::input(form.path.clone(), CannotResume::OtherHeader));
        }
        // How far the offsets of a late text lie behind those of the input.
        let behind = if late { begin.offset as i64 - prelude.len() as i64 } else { 0 };
        lock(&shared.live).insert(begin.input + live, understood.clone());
        sources.in_rows_of(LONGEST_LINE);
        if let Some(lines) = lines.filter(|_| late) {
            sources.count_lines_after(live, lines);
        }
        let live = LiveInput { number: live, behind: late.then_some(behind), counts_lines: lines.is_some() };
        self.sift(sources, &forms, begin, Some(live), told)?;
        Ok(Some(understood))
    }

    /// Reads inputs to their end; one of them may be live, and its offsets lie behind.
    fn sift(
        self,
        mut sources: Sources,
        forms: &[Explained],
        begin: Position,
        live: Option<LiveInput>,
        told: Option<&Mutex<Told>>,
    ) -> Result<()> {
        let Reading { setup, shared } = self;
        let by_rows = |input: usize| forms.get(input).is_some_and(|form| form.format == Format::Parquet);
        let late = live.and_then(|live| live.behind);
        if late.is_none() && !forms.is_empty() && !by_rows(0) {
            sources.begin_at(Position { input: 0, offset: begin.offset });
        }
        let counts = live.is_some_and(|live| live.counts_lines);
        let sifters = (0..setup.threads).map(|_| Sifter::new(setup.making).counting_lines(counts)).collect();
        let is_live = |input: usize| live.is_some_and(|live| live.number == input);
        let mut lines = live.map_or(0, |live| sources.lines_before(live.number));
        let take = |next: Next<'_, Piece>| {
            if let Some(loss) = told.and_then(|told| lock(told).late.take()) {
                naming(&forms[forms.len() - 1].path, 0, &setup).lose(loss)?;
            }
            let Next::Batch(batch, end) = next else { return Ok(ControlFlow::Continue(())) };
            batch.lines = batch.lines.take().filter(|_| is_live(end.input));
            if let Some(ends) = &mut batch.lines {
                (ends.before, lines) = (lines, lines + ends.all);
            }
            if batch.records.is_empty() && batch.skipped == 0 {
                return Ok(ControlFlow::Continue(()));
            }
            let mut piece = std::mem::replace(batch, shared.queue.spare());
            piece.input = begin.input + end.input;
            piece.by_rows = by_rows(end.input);
            let by = late.filter(|_| is_live(end.input)).unwrap_or(0);
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
    /// Whether it has this place in what it reads from its beginning.
    pub(super) fn covers(&self, place: &Place) -> bool {
        let last = self.followed.unwrap_or(self.inputs.len());
        place.0.first().is_some_and(|input| *input <= last as u64)
    }

    /// Ends the reading; the reading thread notices soon.
    pub(super) fn stop(&self) -> Stop {
        Stop(Arc::clone(&self.shared))
    }

    /// The piece with the next records, if there is one within this time.
    fn piece(&mut self, patience: Duration) -> Result<Option<Popped>> {
        if self.piece.is_none() {
            match self.shared.queue.pop(patience)? {
                Popped::Piece(piece) if piece.edge => {
                    if piece.input != self.at.input {
                        self.begin_input(piece.input);
                    }
                    return Ok(Some(Popped::Piece(piece)));
                }
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
        self.begin_input(input);
        Ok(())
    }

    fn begin_input(&mut self, input: usize) {
        self.at = Position { input, offset: 0 };
        (self.rows, self.since, self.passed) = (0, 0, 0);
        if self.followed.is_some_and(|name| input >= name) {
            self.lines = Some(0);
        }
    }
}

/// Whether no more goes into a batch: rows that are set aside have a bound, too.
fn is_full(cut: Cut<'_>, records: &Records) -> bool {
    matches!(cut, Cut::Records(most) if records.len() >= most || records.aside.len() >= MOST_ASIDE)
}

/// Bytes that are set aside in one batch, but for the last row.
const MOST_ASIDE: usize = 4 << 20;

impl Text {
    /// Adds what is known of files that have, or had, the name that is followed: from this place on, as far as
    /// they were read.
    fn mark_generations(&self, from: Position, bookmark: &mut Bookmark) -> Result<()> {
        let Some(name) = self.followed.filter(|name| self.at.input >= *name) else { return Ok(()) };
        let generations = lock(&self.shared.generations);
        let read =
            generations.iter().filter(|generation| (from.input..=self.at.input).contains(&generation.input));
        for generation in read {
            let first = bookmark.followed.map_or(generation.input as u64, |numbers| numbers.first);
            bookmark.followed = Some(Numbers { name: name as u64, first });
            let offset = match generation.end {
                Some(end) if generation.input < self.at.input => end,
                _ if generation.input == from.input => from.offset,
                _ => self.at.offset,
            };
            let looks = || {
                let length = generation.look.metadata()?.len();
                // A last line without an end got one.
                let mark = Mark::through(&generation.look, &generation.name, offset.min(length));
                // What was read of it is looked for last: or it may have been cut meanwhile.
                Ok(if generation.is_cut()? {
                    Err(CutFile { read: generation.read(), length })
                } else {
                    Ok(mark?)
                })
            };
            match looks().map_err(Error::io(&generation.path))? {
                Ok(mark) => bookmark.files.push(mark),
                Err(cut) => {
                    bookmark.cut = Some(cut);
                    break;
                }
            }
        }
        Ok(())
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
                Some(Popped::Piece(_)) if target.is_some() => return Err(CannotResume::Ends.into()),
                Some(Popped::Piece(_)) => return Ok(Reached::Edge),
                Some(Popped::Nothing) => return Ok(Reached::Pause),
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

    fn lag(&self) -> Option<u64> {
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
        files.skip(self.at.input).chain(followed).sum()
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }
}
