//! A training stream and a query stream, in micro-batches; and one of keys to be removed.
//!
//! Batch i learns the i-th batch of the training stream, removes that of the stream of removals, if
//! there is one, then answers the i-th batch of the query stream with what batches 1 to i made of it.
//! A batch ends after this many records of each stream, or after some time. All streams are parsed
//! ahead by threads of their own; the batches run one after the other, so that the result is that of
//! one thread.
//!
//! With a state folder the run survives its end at any moment: `state.rs` says how.

mod answers;
mod bookmark;
mod identity;
mod job;
pub mod kafka;
mod learned;
mod live;
pub mod metrics;
mod net;
mod panes;
mod queue;
mod rebuild;
mod refusal;
mod run;
mod sift;
mod sink;
mod source;
mod spool;
mod state;
#[cfg(test)]
mod tests;
mod text;
mod watch;
mod window;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use tamis::hash::Scheme;
use tamis::key::{Column, Recipe};
use tamis::params::{Common, Params};

pub use self::job::{Counts, Job, Removing};
pub use self::learned::{Fill, Sizing};
pub use self::net::Address;
pub use self::refusal::{BadWindow, CannotResume, Failed, Impossible, News, opt};
pub use self::sink::{Sink, Target};
pub use self::source::{Cut, Place, Reached, Records, Source};
pub use self::text::Named;
pub use self::watch::{Batch, Status, Watch, Windowed};
pub use self::window::{By, Event, Judged, Late, TimeColumn, Window};

use self::answers::Writing;
use self::identity::Identity;
use self::learned::Learned;
use self::panes::Panes;
use self::rebuild::Rebuild;
use self::run::{Due, Learner, Room, Run, Stream};
use self::sift::{Grouping, Making};
use self::sink::Continued;
use self::state::{Begin, Commit, Planned, State};
use self::text::Setup;
use self::window::Times;
use tamis_make::output;
use tamis_make::rows::Names;
use tamis_read::Control;
use tamis_read::error::{Error, Result};
use tamis_read::{Explained, Format, Options};

/// What was done in this run.
#[derive(Debug, Clone)]
pub struct Report {
    /// The numbers.
    pub status: Status,
    /// How long it took.
    pub time: Duration,
    /// Whether it went on where an earlier run had ended.
    pub resumed: bool,
    /// Whether it was asked to end.
    pub stopped: bool,
    /// Whether the reader of the answers went away.
    pub closed: bool,
    /// Counters that ran full: an estimate of the largest value is not valid.
    pub counters_full: u64,
    /// Messages that were gone before they were read.
    pub lost: u64,
    /// How the files were understood.
    pub inputs: Vec<Explained>,
}

/// What was learned when the commit was made, or before anything was.
fn learned(
    common: &Common,
    sizing: &Sizing,
    from: Option<&PathBuf>,
    state: Option<&State>,
    committed: Option<&String>,
) -> Result<Learned> {
    let committed = committed.zip(state).map(|(name, state)| state.path(name));
    match committed.as_ref().or(from) {
        Some(path) => Learned::load(common, sizing, &output::open(path)?, path),
        None => Learned::new(common, sizing),
    }
}

/// The panes of a commit; none without windows.
fn panes(common: &Common, sizing: &Sizing, state: Option<&State>, begin: &Commit) -> Result<Panes> {
    let (Some(state), Some(files)) = (state, &begin.window) else { return Ok(Panes::default()) };
    let files = if common.kind.counts() { &files.counts } else { &files.filter };
    let files = files.iter().map(|(number, name)| (*number, name));
    Panes::load(common, sizing, files, |name| state.path(name))
}

/// Says how much memory a window takes, where it is much.
fn say_memory(window: &Window, learners: &[Learner<'_>], watch: &Watch) -> Result<()> {
    const MUCH: u64 = 1 << 30;
    let mut bytes = 0u64;
    for learner in learners {
        bytes = bytes.saturating_add(learner.learned.bytes()?);
    }
    // That of the panes, and their union.
    let sketches = window.panes() + 1;
    let all = bytes.saturating_mul(sketches);
    if all > MUCH {
        watch.say(&News::Memory {
            window: window.to_string(),
            bytes: all,
            each: bytes,
            sketches,
            grouped: learners.iter().any(|learner| learner.writing.grouped()),
        });
    }
    Ok(())
}

/// Learns and answers until all streams have ended, or until it is asked to end.
pub fn stream(job: &Job, control: &Control, watch: &Watch) -> Result<Report> {
    let start = Instant::now();
    job.check()?;
    let (mut state, commit, planned) = match &job.state {
        Some(folder) => {
            let (state, commit, planned) = State::open(folder, &Identity::of(job)?)?;
            (Some(state), commit, planned)
        }
        None => (None, None, VecDeque::new()),
    };
    let resumed = commit.is_some() || !planned.is_empty();
    let begin = commit.unwrap_or_default();
    let committed = if job.common.kind.counts() { &begin.counts } else { &begin.filter };
    let fresh = committed.is_none();
    let (state_of, from) = (state.as_ref(), job.from.as_ref());
    let sizing = begin.keys.map_or_else(|| job.sizing.clone(), |keys| job.sizing.for_keys(keys));
    let learned_first = learned(&job.common, &sizing, from, state_of, committed.as_ref())?;
    let counts = match &job.counts {
        Some(Counts { common, sizing, .. }) => {
            Some(learned(common, sizing, None, state_of, begin.counts.as_ref())?)
        }
        None => None,
    };

    let known = Params { common: job.common.clone(), groups: Vec::new() };
    let names = Mutex::new(Names::default());
    let groups = match &job.sizing {
        _ if job.common.recipe.group.is_none() => Grouping::None,
        Sizing::Params(params) => Grouping::Known(params),
        _ => Grouping::Found(&known, &names),
    };
    let murmur = job.common.hash == Scheme::Murmur3;
    let time = job.window.as_ref().and_then(Window::time);
    let hash = job.common.hash;
    let bad_rows = job.bad_rows;
    let training = Making { recipe: &job.train_recipe, hash, bad_rows, groups, keys: murmur, time };
    let removing = job
        .remove
        .as_ref()
        .map(|remove| (&remove.named, Making { recipe: &remove.recipe, time: None, ..training }));
    let groups = Grouping::None;
    let asking = Making { recipe: &job.query_recipe, hash, bad_rows, groups, keys: true, time: None };
    let setup = |name, named, making, options| Setup {
        name,
        named,
        follow: job.follow,
        options,
        making,
        threads: job.threads,
        folder: job.state.as_deref(),
        reconnect: job.reconnect,
    };
    let of_lines = |recipe: &Recipe| recipe.key.iter().all(|field| field.column == Column::Line);
    let query_options = match of_lines(&job.query_recipe) && !of_lines(&job.train_recipe) {
        // What is said of a table does not hold for lines that ask about it.
        true => Options { format: Some(Format::Lines), ..Options::default() },
        false => job.options.clone(),
    };
    watch.update(|status| status.batch = begin.batch);
    let train = job.train.as_ref().map(|named| setup("train", named, training, &job.options));
    let query = job.query.as_ref().map(|named| setup("query", named, asking, &query_options));
    let remove = removing.map(|(named, making)| setup("remove", named, making, &job.options));
    let mut streams = [
        open_stream(job, train, &begin.train)?,
        open_stream(job, query, &begin.query)?,
        open_stream(job, remove, &begin.remove)?,
    ];
    let outputs = [Some(&job.output), job.counts.as_ref().map(|counts| &counts.output)];
    let outputs = outputs.into_iter().flatten().map(Target::regular);
    let paths: Vec<PathBuf> = streams.iter().flatten().flat_map(|stream| stream.source.paths()).collect();
    output::check_outputs(outputs, paths.iter().chain(&job.from).collect::<Vec<_>>())?;
    if let Some(folder) = job.state.as_ref().and_then(|folder| folder.canonicalize().ok()) {
        let below = |path: &&PathBuf| path.canonicalize().is_ok_and(|path| path.starts_with(&folder));
        if let Some(path) = paths.iter().find(below) {
            return Err(Error::input(path.clone(), CannotResume::InputInState));
        }
    }
    let inputs = streams.iter().flatten().flat_map(|stream| stream.source.explained()).collect();
    let begun = planned.back().map_or(begin.batch, |last| last.batch);
    let mut planned = reachable(planned, &mut streams)?;
    let moved = streams.iter().flatten().any(|stream| stream.source.has_moved());
    if moved {
        // Records are gone that batches had. These are left out; their numbers are not used again,
        // since a broker may have their answers.
        planned.clear();
    }
    if let Some(state) = &mut state {
        state.forget_after(planned.back().map_or(begin.batch, |last| last.batch))?;
    }
    let continued = |name, length| Continued { job, name, length, begun };
    let mut learners = vec![Learner {
        learned: learned_first,
        panes: panes(&job.common, &job.sizing, state.as_ref(), &begin)?,
        sink: job.output.open(continued("answers", begin.output), control)?,
        writing: Writing::new(&job.common.recipe, job.common.recipe.group.is_some()),
    }];
    if let (Some(learned), Some(Counts { common, sizing, output })) = (counts, &job.counts) {
        learners.push(Learner {
            learned,
            panes: panes(common, sizing, state.as_ref(), &begin)?,
            sink: output.open(continued("counts", begin.counts_output), control)?,
            writing: Writing::new(&common.recipe, common.recipe.group.is_some()),
        });
    }

    let rebuild = match (&job.rebuild_above, &job.sizing, &job.train) {
        (Some(above), Sizing::Keys(..), Some(named)) => {
            let setup = setup("train", named, training, &job.options);
            Some(Rebuild { above: *above, setup, batch: job.batch })
        }
        _ => None,
    };
    let newest = begin.window.as_ref().and_then(|panes| panes.newest);
    let times = job.window.as_ref().map(|window| Times::new(window, newest));
    if let Some(window) = &job.window {
        say_memory(window, &learners, watch)?;
    }

    thread::scope(|scope| {
        let mut ends = Vec::new();
        let [train, query, remove] = streams.map(|stream| {
            let Opened { source, reader } = stream?;
            if let Some((reader, stop)) = reader {
                ends.push(stop);
                scope.spawn(reader);
            }
            Some(source)
        });
        let run = Run {
            job,
            control,
            watch,
            state,
            learners,
            train: Stream::new(train),
            query: Stream::new(query),
            remove: Stream::new(remove),
            known: match &job.sizing {
                Sizing::Params(params) => {
                    Some(params.groups.iter().map(|group| group.group.clone()).collect())
                }
                _ => None,
            },
            names: &names,
            times,
            rebuild,
            batch: if moved { begun } else { begin.batch },
            planned,
            uncommitted: job.state.is_some() && (fresh || moved),
            due: Due::every(job.commit_every),
            room: Room::default(),
        };
        let mut report = run.run()?;
        report.time = start.elapsed();
        report.resumed = resumed;
        report.inputs = inputs;
        Ok(report)
    })
}

/// A stream that is open, and what must be run on a thread of its own and stopped at the end.
struct Opened<'a> {
    source: Box<dyn Source + 'a>,
    reader: Option<(Box<dyn FnOnce() + Send + 'a>, text::Stop)>,
}

/// Opens a stream, if there is one, where the commit has it.
fn open_stream<'a>(
    job: &'a Job,
    setup: Option<Setup<'a>>,
    begin: &Option<Begin>,
) -> Result<Option<Opened<'a>>> {
    let begin = begin.as_ref().map(|begin| (&begin.place, &begin.bookmark));
    let Some(setup) = setup else { return Ok(None) };
    if let Named::Kafka(address) = setup.named {
        kafka::check(&[address], &job.kafka)?;
        #[cfg(feature = "kafka")]
        {
            let Setup { follow, options, making, .. } = setup;
            let reading = kafka::source::Reading { address, settings: &job.kafka, follow, options, making };
            let source = Box::new(kafka::source::open(reading, begin)?);
            return Ok(Some(Opened { source, reader: None }));
        }
    }
    let (text, reader) = text::open(setup, begin)?;
    let stop = text.stop();
    Ok(Some(Opened { source: Box::new(text), reader: Some((Box::new(move || reader.run()), stop)) }))
}

/// The planned batches up to the first whose records are not all there: when the machine itself
/// failed, what was written down may be shorter than the plan.
fn reachable(planned: VecDeque<Planned>, streams: &mut [Option<Opened<'_>>; 3]) -> Result<VecDeque<Planned>> {
    let mut reachable = VecDeque::new();
    for batch in planned {
        for (stream, range) in streams.iter_mut().zip([&batch.train, &batch.query, &batch.remove]) {
            if let (Some(stream), Some((_, to))) = (stream, range)
                && !stream.source.reaches(to)?
            {
                return Ok(reachable);
            }
        }
        reachable.push_back(batch);
    }
    Ok(reachable)
}
