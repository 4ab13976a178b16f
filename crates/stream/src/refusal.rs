//! What a stream refuses, and what it has to say while it runs, as values. The front end spells the
//! options.

use std::path::PathBuf;
use std::time::Duration;

use tamis::sizing::Kind;
use tamis_jobs::classes::Doubt;
use tamis_make::number;
use tamis_read::calendar;
use tamis_read::refusal::{Help, Opt, Refusal, Voice};
use thiserror::Error;

use super::identity::{Difference, VERSION};
use super::opt;
use super::role::Role;
use super::window::MOST_PANES;

const START_AGAIN: &str = "name an empty folder to start from the first record";
const GROWING: &str = "blocked, bloom or scalable";

/// A job that no input can make possible.
#[derive(Debug, Error, PartialEq)]
pub enum Impossible {
    /// A kind that is built from all keys at once.
    #[error("a {0} filter is built from all of its keys at once and takes no more")]
    Static(Kind),
    /// A kind for records that are complete.
    #[error("a layered filter holds records of keywords that are all known when it is built")]
    Layered,
    /// A kind that cannot remove.
    #[error("keys cannot be removed from a {0} filter")]
    Removal(Kind),
    /// A file for the bad rows of a topic.
    #[error("bad messages of a topic are not set aside")]
    SetAsideTopic,
    /// A batch of no records, or too many.
    #[error("a batch has between 1 and 1,073,741,824 records")]
    Batch,
    /// Counts beside counts.
    #[error("count-min counts already, and needs no counts beside it")]
    CountsTwice,
    /// Two outputs to one place.
    #[error("the answers and the counts both go to standard output")]
    OneOutput,
    /// Larger panes.
    #[error("the panes of a window have one size, and expire soon")]
    RebuiltWindow,
    /// Removed keys would be back.
    #[error("filters that are rebuilt from the source would contain again what was removed")]
    RebuiltRemoval,
    /// Counts have no rate.
    #[error("counts have no rate of false positives that could be too high")]
    RebuiltCounts,
    /// The size was fixed in bytes.
    #[error("the size is fixed, and a rebuilt filter would be larger")]
    RebuiltSize,
    /// The size was fixed by parameters.
    #[error("the given parameters fix the size, and a rebuilt filter would be larger")]
    RebuiltParams,
    /// A stream that comes once.
    #[error("filters are rebuilt from files, and this stream cannot be read again from its beginning")]
    RebuiltLive,
    /// A limit that is exceeded from the start.
    #[error("the target rate is {target}, above the limit of {above}: filters would be rebuilt forever")]
    RebuiltForever {
        /// The rate that is planned.
        target: f64,
        /// The limit.
        above: f64,
    },
    /// Growing filters have no union.
    #[error("a window is the union of its panes, and scalable filters have no union")]
    WindowOfGrowing,
    /// Conservative counts have no sum.
    #[error("a window is the sum of its panes, and conservative counts cannot be added")]
    WindowOfConservative,
    /// Keys without a time.
    #[error("the keys of a file have no time, and belong to no window")]
    WindowOfFile,
    /// Nothing is learned.
    #[error("a window needs a training stream")]
    WindowOfNothing,
    /// Removals without a pane.
    #[error("a key that is removed does not say which pane it was in; a window forgets by itself")]
    WindowRemoval,
    /// Batches that may take long.
    #[error("rows have the time of their batch, and a batch without a time limit may wait forever")]
    WindowWaits,
    /// A stream among other inputs.
    #[error("{0} is a stream of its own and cannot stand beside other inputs")]
    Beside(String),
    /// An output that is an input.
    #[error("the output would be read as an input")]
    TopicReadAgain,
    /// A place among the inputs.
    #[error("{0} would be read as an input")]
    ReadAgain(&'static str),
    /// A stream that comes compressed.
    #[error("a stream that comes once is read as plain text")]
    Compressed,
    /// A file behind standard input.
    #[error("standard input is a file, and a later run would read it again from its beginning")]
    FileAsInput,
    /// An input or output of another machine.
    #[error("a stream is read from, and written to, files of this machine, sockets and topics")]
    Elsewhere,
    /// An output that is appended to.
    #[error("what a stream writes is appended, which compressed files do not allow")]
    Appended,
}

impl Refusal for Impossible {
    fn help(&self) -> Vec<Help> {
        match self {
            Impossible::SetAsideTopic => {
                vec![Help::leave_out(opt::BAD_ROWS_TO), Help::give(opt::BAD_ROWS.with("skip"))]
            }
            Impossible::Static(_) => vec![Help::give(opt::KIND.with(GROWING))],
            Impossible::Layered => {
                vec![Help::Do("build it"), Help::give(opt::KIND.with(GROWING))]
            }
            Impossible::Removal(_) => {
                vec![Help::Give(vec![opt::KIND.with("counting"), opt::KEYS.with("N")])]
            }
            Impossible::CountsTwice => vec![Help::LeaveOutOne(vec![opt::COUNTS, opt::KIND])],
            Impossible::OneOutput => {
                vec![Help::GiveOne(vec![opt::OUTPUT.with("FILE"), opt::COUNTS.with("FILE")])]
            }
            Impossible::RebuiltWindow => {
                vec![Help::leave_out(opt::REBUILD_ABOVE), Help::Do("plan the window for more keys")]
            }
            Impossible::RebuiltRemoval | Impossible::RebuiltCounts => {
                vec![Help::leave_out(opt::REBUILD_ABOVE)]
            }
            Impossible::RebuiltSize => vec![Help::LeaveOutOne(vec![opt::SIZE, opt::REBUILD_ABOVE])],
            Impossible::RebuiltParams => vec![Help::LeaveOutOne(vec![opt::PARAMS, opt::REBUILD_ABOVE])],
            Impossible::RebuiltLive => vec![Help::give(opt::KIND.with("scalable"))],
            Impossible::RebuiltForever { .. } => vec![Help::Do("give a limit above the target rate")],
            Impossible::WindowOfGrowing => vec![Help::give(opt::KEYS.with("N"))],
            Impossible::WindowOfConservative => vec![Help::leave_out(opt::CONSERVATIVE)],
            Impossible::WindowOfFile => {
                vec![Help::leave_out(opt::FROM), Help::give(opt::PARAMS.with("FILE"))]
            }
            Impossible::WindowOfNothing => vec![Help::give(opt::TRAIN.with("INPUT"))],
            Impossible::WindowRemoval => vec![Help::leave_out(opt::REMOVE)],
            Impossible::WindowWaits => vec![Help::give(opt::EVERY.with("TIME"))],
            Impossible::TopicReadAgain => vec![Help::Do("name another topic")],
            Impossible::ReadAgain(_) => vec![Help::Do("name a place outside of the inputs")],
            Impossible::Compressed => vec![Help::Do("decompress it first (zcat FILE | tamis …)")],
            Impossible::FileAsInput => vec![Help::Do("name the file instead of -")],
            Impossible::Elsewhere => vec![Help::Do("bring it here first, or build from it")],
            Impossible::Appended => vec![Help::Do("name a file that is not compressed")],
            Impossible::Batch | Impossible::Beside(_) => Vec::new(),
        }
    }
}

/// A text that is no column of times.
#[derive(Debug, Error)]
pub enum BadTimeColumn {
    /// It is no column with steps.
    #[error(transparent)]
    Field(#[from] tamis::Error),
    /// Its steps make keywords.
    #[error("a time cannot be made of keywords")]
    Keywords,
}

/// A window that cannot be.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum BadWindow {
    /// A time of zero.
    #[error("the {} is at least a millisecond", .0.0)]
    Zero(Opt),
    /// Parts of a millisecond.
    #[error("the {} is a whole number of milliseconds", .0.0)]
    Fraction(Opt),
    /// A time that no sum can hold.
    #[error("the {} is too long", .0.0)]
    Endless(Opt),
    /// A slide that is longer.
    #[error("a window of {length} is shorter than its slide of {slide}, the step by which it moves")]
    Short {
        /// The window.
        length: String,
        /// Its slide.
        slide: String,
    },
    /// A rest.
    #[error("a window of {length} is not a whole number of slides of {slide}")]
    Uneven {
        /// The window.
        length: String,
        /// Its slide.
        slide: String,
    },
    /// Too many panes.
    #[error(
        "a window of {length} in slides of {slide} has {panes} panes, each a sketch of its own, and {MOST_PANES} are the most"
    )]
    Panes {
        /// The window.
        length: String,
        /// Its slide.
        slide: String,
        /// Its panes.
        panes: i64,
    },
}

impl Refusal for BadWindow {
    fn help(&self) -> Vec<Help> {
        match self {
            BadWindow::Short { .. } => vec![Help::Do("give a shorter slide")],
            BadWindow::Uneven { .. } => vec![Help::Do("give a slide that divides it")],
            BadWindow::Panes { .. } => vec![Help::Do("give a longer slide")],
            BadWindow::Zero(_) | BadWindow::Fraction(_) | BadWindow::Endless(_) => Vec::new(),
        }
    }
}

/// A run that an earlier one cannot be resumed by, or a state that cannot be used.
#[derive(Debug, Error)]
pub enum CannotResume {
    /// A file in place of the folder.
    #[error("is a file, and a state is a folder")]
    NoFolder,
    /// Something else is there.
    #[error("contains {0:?} and no state: name an empty folder, or a new one")]
    Occupied(String),
    /// A checksum that does not match.
    #[error("is damaged (its checksum does not match)")]
    Damaged,
    /// A value that no run writes.
    #[error("has a value of {0:?} that no run writes: it was damaged, or changed by hand")]
    OutOfRange(String),
    /// The first version, which nothing here continues.
    #[error("is a state of version 1, and this program resumes only version {VERSION}")]
    FirstVersion,
    /// A version that is not known here.
    #[error("is a state of version {0}, and this program resumes only version {VERSION}")]
    Version(String),
    /// Another job.
    #[error("is the state of another job: {}: name another folder, or give the same job", listed(.0))]
    OtherJob(Vec<Difference>),
    /// A file that had another place.
    #[error("was input {0} when the state was written, and is not now: new files must come after it")]
    Moved(usize),
    /// A file that has another name now.
    #[error("is not the file that was read, which is now called {}: the state cannot be resumed with it", .0.display())]
    Renamed(PathBuf),
    /// A file that was followed over rotations.
    #[error(
        "was followed, and rotated meanwhile: the state is resumed by following it, with the same inputs before it"
    )]
    Rotated,
    /// A header that is not that of the file before.
    #[error(
        "begins with another header than the file that had this name before, and its columns are known by their numbers alone"
    )]
    OtherHeader,
    /// Another file.
    #[error("is not the file that was read: the state cannot be resumed with it")]
    Replaced,
    /// Fewer bytes than were read.
    #[error(
        "has {}, but {} were read: it was cut or replaced, and the state cannot be resumed with it",
        number::counted(*length, "byte"),
        number::count(*read)
    )]
    Shortened {
        /// As it is.
        length: u64,
        /// As it was.
        read: u64,
    },
    /// A line that has grown.
    #[error("its last line had no end when it was read, and has grown since")]
    HalfLine,
    /// An output that is too short.
    #[error(
        "has {}, but {} were written: what is missing cannot be written again",
        number::counted(*length, "byte"),
        number::count(*written)
    )]
    OutputShortened {
        /// As it is.
        length: u64,
        /// As it was.
        written: u64,
    },
    /// An output that somebody else has written to.
    #[error("has {} more than the state has written to it", number::counted(*bytes, "byte"))]
    OutputLonger {
        /// How many more.
        bytes: u64,
    },
    /// What has the name of a file of the state, and is no file.
    #[error("has the name of a file of the state, and is {0}")]
    NotAFile(&'static str),
    /// A file with a second name.
    #[error(
        "has the name of a file of the state, and another name elsewhere (a hard link), which would be overwritten"
    )]
    Linked,
    /// A file for bad rows that has something in it.
    #[error("has rows that this state does not know, and would be overwritten")]
    AsideUnknown,
    /// Rows that are other ones.
    #[error(
        "filters had to be rebuilt, and the rows that were read have changed: an input was cut, replaced or rotated"
    )]
    RowsChanged,
    /// An input that ends too early.
    #[error(
        "an input ends before what was read of it: it was cut or replaced, and the state cannot be resumed with it"
    )]
    Ends,
    /// An input with other records.
    #[error("an input has other records than those that were read: the state cannot be resumed with it")]
    OtherRecords,
    /// A plan that does not fit.
    #[error("batch {0} of the plan does not begin where the one before it ends")]
    Gap(u64),
    /// A plan that makes no sense.
    #[error("the plan of the state cannot be read")]
    Plan,
    /// A part of the spool.
    #[error("should begin at {0}: a part is missing")]
    SpoolGap(u64),
    /// Bytes that are gone.
    #[error("what arrived from offset {0} on is gone")]
    SpoolGone(u64),
    /// An input in the state folder.
    #[error("is a file of the state folder")]
    InputInState,
    /// An output that has the name of a file of the state.
    #[error("is the name of a file of the state")]
    OutputInState,
}

/// What is said of a row that has not ended.
fn left_out(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        bytes => format!("; its unfinished row of {} is left out", number::counted(bytes, "byte")),
    }
}

fn listed(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl Refusal for CannotResume {
    fn help(&self) -> Vec<Help> {
        match self {
            CannotResume::AsideUnknown => vec![Help::Do("move it away, or name another file for bad rows")],
            CannotResume::HalfLine | CannotResume::Renamed(_) | CannotResume::Rotated => {
                vec![Help::give(opt::FOLLOW)]
            }
            CannotResume::OtherHeader => vec![Help::Do(START_AGAIN)],
            CannotResume::Damaged
            | CannotResume::OutOfRange(_)
            | CannotResume::OutputShortened { .. }
            | CannotResume::Gap(_)
            | CannotResume::Plan => vec![Help::Do("start with an empty state folder")],
            CannotResume::FirstVersion => vec![
                Help::Do("finish it with the program that made it (tamis 0.1.0) and the same command"),
                Help::Do(START_AGAIN),
            ],
            CannotResume::Version(_) => {
                vec![Help::Do("finish it with the program that made it"), Help::Do(START_AGAIN)]
            }
            CannotResume::OutputLonger { .. } => {
                vec![Help::Do("take them off again"), Help::Do("move it away and put back what was written")]
            }
            CannotResume::NotAFile(_) | CannotResume::Linked => {
                vec![Help::Do("put a copy of the file in its place"), Help::Do("name another state folder")]
            }
            CannotResume::InputInState => vec![Help::Do("name other inputs, or another state folder")],
            CannotResume::OutputInState => vec![Help::Do("name another output, or another state folder")],
            _ => Vec::new(),
        }
    }
}

/// What cannot be read any more of a file that is followed, and was not read before.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Loss {
    /// The file is not in its folder.
    #[error(
        "is not the file that was read up to byte {}, and that one is no longer in the folder: what was written to it after that is lost (how much is unknown)",
        number::count(*read)
    )]
    Gone {
        /// Bytes that were read of it.
        read: u64,
    },
    /// It seems to be compressed.
    #[error(
        "is not the file that was read up to byte {}, and that one seems to be compressed now ({}): what was written to it after that is lost (how much is unknown)",
        number::count(*read), now.display()
    )]
    Packed {
        /// Bytes that were read of it.
        read: u64,
        /// The compressed file.
        now: PathBuf,
    },
    /// It was cut, or written again.
    #[error(
        "was cut after {} were read of it (it has {} now): what was written to it after that and before the cut is lost ({})",
        number::counted(*read, "byte"), number::count(*length), copied(copy)
    )]
    Cut {
        /// Bytes that were read of it.
        read: u64,
        /// As long as it is.
        length: u64,
        /// A file that begins with the same bytes, and how many more it has.
        copy: Option<(PathBuf, u64)>,
    },
    /// Files that had the name between the one that was read and the one that has it now.
    #[error(
        "was rotated more than once since it was read, and {} cannot be read any more (gone or compressed): all of it is lost",
        files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
    )]
    Between {
        /// The files.
        files: Vec<PathBuf>,
    },
    /// What an earlier run had read, and no commit has.
    #[error(
        "is not the file that was read before it, and that one is no longer in the folder: {} of it are lost",
        number::counted(*bytes, "byte")
    )]
    Unread {
        /// Bytes of it.
        bytes: u64,
    },
    /// What was written to a file that had another name for long.
    #[error(
        "{} were written to {} when the new file had text already and nothing had come to the old one for a second: they are lost",
        number::counted(*bytes, "byte"), file.display()
    )]
    Late {
        /// The file.
        file: PathBuf,
        /// Bytes that came to it.
        bytes: u64,
    },
}

fn copied(copy: &Option<(PathBuf, u64)>) -> String {
    match copy {
        Some((path, more)) => format!(
            "{} has the same beginning and {} more; what came after it was copied is unknown",
            path.display(),
            number::counted(*more, "byte")
        ),
        None => "how much is unknown".into(),
    }
}

impl Refusal for Loss {
    fn help(&self) -> Vec<Help> {
        let go_on = Help::GiveTo(opt::LOST.with("go-on"), "go on without it");
        match self {
            Loss::Packed { .. } | Loss::Between { .. } => {
                vec![Help::Do("put it back uncompressed and run the same command again"), go_on]
            }
            _ => vec![go_on],
        }
    }
}

/// A stream that fails while it runs, by no fault of its records.
#[derive(Debug, Error)]
pub enum Failed {
    /// A thread that is gone.
    #[error("the thread that reads a stream crashed: this is a bug in tamis")]
    Reader,
    /// A value that has no JSON.
    #[error("a state cannot be written: {0}")]
    Unwritable(#[from] serde_json::Error),
    /// An address without a port.
    #[error(
        "{0}: a socket has a host and a port: tcp://127.0.0.1:7001 connects, tcp-listen://127.0.0.1:7001 waits for peers"
    )]
    Socket(String),
    /// Nobody came.
    #[error("no peer for {seconds} s ({why}): allow a longer time to reconnect")]
    Alone {
        /// How long.
        seconds: u64,
        /// What happened last.
        why: String,
    },
    /// A peer that went away, or sent too much, within quotes.
    #[error(
        "the peer {peer} opened a quoted field that does not close: leave bad rows out to go on without it, or say that quotes are ordinary characters"
    )]
    OpenQuote {
        /// Who.
        peer: String,
    },
}

impl Refusal for Failed {}

/// What a run has to say while it goes on.
#[derive(Debug, Error)]
pub enum News {
    /// A topic that was made wider.
    #[error("{topic} has {now} partitions now, and had {before}: the new ones are read from their beginning")]
    PartitionsAdded {
        /// The topic.
        topic: String,
        /// How many were read.
        before: usize,
        /// How many are.
        now: usize,
    },
    /// No place for more peers.
    #[error("{0} peers are connected, and no more are served at once: others wait until one has gone")]
    PeersFull(usize),
    /// A peer that said nothing.
    #[error(
        "the peer {peer} sent nothing for {} and was closed{}",
        number::duration(Duration::from_secs(*.seconds)), left_out(*.bytes)
    )]
    PeerSilent {
        /// Who.
        peer: String,
        /// For how long.
        seconds: u64,
        /// What it had sent of a row.
        bytes: u64,
    },
    /// A peer that broke off.
    #[error("the connection to the peer {peer} broke ({why}){}", left_out(*.bytes))]
    PeerBroke {
        /// Who.
        peer: String,
        /// What happened.
        why: String,
        /// What it had sent of a row.
        bytes: u64,
    },
    /// A peer with other columns.
    #[error(
        "the peer {peer} was closed, and nothing of it was used: its first line is {first:?}, and must be the header {header:?}"
    )]
    PeerHeader {
        /// Who.
        peer: String,
        /// What it sent.
        first: String,
        /// What it should have sent.
        header: String,
    },
    /// A peer of which it cannot be told how the rows are cut, while no other has told that.
    #[error("{}", refused_peer(.peer, &.why.to_string()))]
    PeerBeginning {
        /// Who.
        peer: String,
        /// What is wrong with the beginning of its text.
        why: Box<dyn Refusal>,
    },
    /// A peer within quotes.
    #[error("the peer {peer} opened a quoted field that does not close, and is left{}", left_out(*.bytes))]
    PeerQuote {
        /// Who.
        peer: String,
        /// What it had sent of a row.
        bytes: u64,
    },
    /// A peer that was within a row when the run ended.
    #[error("the run ended while the peer {peer} was connected{}", left_out(*.bytes))]
    PeerLeft {
        /// Who.
        peer: String,
        /// What it had sent of a row.
        bytes: u64,
    },
    /// A row that an earlier run could not read to its end, and nobody can.
    #[error(
        "{name}: what an earlier run read last is a row without an end, and what comes now does not follow it: its {} are left out",
        number::counted(*.bytes, "byte")
    )]
    UnfinishedRow {
        /// The stream.
        name: String,
        /// Of the row.
        bytes: u64,
    },
    /// What no commit has of an output.
    #[error("{}: cut off {} at its end, which no commit has", path.display(), number::counted(*.bytes, "byte"))]
    CutOff {
        /// The output.
        path: PathBuf,
        /// How much.
        bytes: u64,
    },
    /// A window that takes much memory.
    #[error(
        "a window of {window} takes up to {} of memory{}: {sketches} sketches of {}, because each pane has the size of the whole window",
        number::bytes(*.bytes), if *.grouped { " for each group" } else { "" }, number::bytes(*.each)
    )]
    Memory {
        /// The window.
        window: String,
        /// All of it.
        bytes: u64,
        /// One sketch.
        each: u64,
        /// The sketches.
        sketches: u64,
        /// Whether each group has as much.
        grouped: bool,
    },
    /// The first row that is dated too late.
    #[error(
        "a row is dated {}, and it is {} now: rows that far ahead are left out and counted (a time without a zone is read as UTC)",
        calendar::stamp(*.latest), calendar::stamp(*.now)
    )]
    Ahead {
        /// The time of the row, in milliseconds since 1970.
        latest: i64,
        /// The time of the batch.
        now: i64,
    },
    /// Filters that were rebuilt.
    #[error(
        "the expected rate was {}, above {}: the filters were rebuilt from the source for {} keys instead of {}; the rate is now {}",
        number::rate(*.was), number::rate(*.above), number::count(*.keys), number::count(*.before), number::rate(*.now)
    )]
    Rebuilt {
        /// The rate before.
        was: f64,
        /// The limit.
        above: f64,
        /// The rate after.
        now: f64,
        /// The keys that they were planned for.
        before: u64,
        /// The keys that they are planned for.
        keys: u64,
    },
    /// Something of a file that is followed was lost, and the run goes on.
    #[error("{}: {loss}", path.display())]
    Lost {
        /// The name that is followed.
        path: PathBuf,
        /// What is lost.
        loss: Loss,
    },
    /// Keys of another class than those that are learned.
    #[error("keys of the {} stream may be missed: {doubt}", role.name())]
    OtherClass {
        /// The stream that has them.
        role: Role,
        /// Which classes they are.
        doubt: Doubt,
    },
    /// Filters that have grown.
    #[error("the filters have grown: they have {} now", number::counted(*.0, "layer"))]
    Grown(u64),
}

fn refused_peer(peer: &str, why: &str) -> String {
    format!("the peer {peer} was closed, and nothing of it was used: {why}")
}

impl Refusal for News {
    fn reason(&self, voice: &dyn Voice) -> String {
        match self {
            News::PeerBeginning { peer, why } => refused_peer(peer, &why.reason(voice)),
            _ => self.to_string(),
        }
    }

    fn help(&self) -> Vec<Help> {
        match self {
            News::OtherClass { doubt, .. } => vec![Help::Do(doubt.advice())],
            News::Memory { .. } => vec![Help::Do("a longer slide takes less")],
            News::Ahead { .. } => vec![Help::give(opt::AHEAD.with("TIME"))],
            News::PeerSilent { .. } => {
                vec![Help::GiveIf("if peers may be silent for longer", vec![opt::IDLE.with("TIME")])]
            }
            News::PeerHeader { .. } => vec![
                Help::Do("let each peer send the header first"),
                Help::GiveIf("if none sends one", vec![opt::NO_HEADER.into()]),
            ],
            News::PeerBeginning { why, .. } => why.help(),
            News::PeerQuote { .. } => {
                vec![Help::GiveIf("if quotes are ordinary characters", vec![opt::QUOTES.with("none")])]
            }
            _ => Vec::new(),
        }
    }
}
