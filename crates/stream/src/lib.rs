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
pub mod apart;
mod bookmark;
mod chain;
mod folder;
mod follow;
mod identity;
mod job;
mod judge;
pub mod kafka;
mod learned;
mod live;
pub mod metrics;
mod net;
mod open;
pub mod opt;
mod panes;
mod peer;
mod queue;
mod rebuild;
mod refusal;
pub mod request;
mod role;
mod rotation;
mod run;
mod sift;
mod sink;
mod socket;
mod source;
mod spool;
mod state;
#[cfg(test)]
mod tests;
mod text;
mod watch;
mod window;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tamis_make::rows::Names;
use tamis_read::error::Result;
use tamis_read::{Control, Explained, NoThread};

pub use self::job::{Counts, Input, Job, Lost};
pub use self::learned::{Fill, Sizing};
pub use self::net::{Address, Idle};
pub use self::refusal::{BadTimeColumn, BadWindow, CannotResume, Failed, Impossible, Loss, News};
pub use self::role::{ByRole, Role};
pub use self::sink::{AnswerSink, Target};
pub use self::source::{Cut, Place, Reached, Records, Source};
pub use self::text::Named;
pub use self::watch::{Batch, Lag, Status, Watch, Windowed};
pub use self::window::{By, Event, Judged, Late, TimeColumn, Window};

use self::open::Resumed;
use self::run::{Due, Room, Run};
use self::state::State;
use self::window::Times;

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

/// What a thread has that panicked is used as it is: the run ends with an error of its own.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Learns and answers until all streams have ended, or until it is asked to end.
pub fn stream(job: &Job, control: &Control, watch: &Watch) -> Result<Report> {
    let start = Instant::now();
    job.check()?;
    let mut resumed = Resumed::open(job)?;
    // Until the threads that read have ended, too.
    let _lock = resumed.state.as_ref().map(State::lock);
    let mut learned = resumed.learned(job)?;
    let (none, names) = (open::no_groups(job), Mutex::new(Names::default()));
    let setups = open::setups(job, &none, &names, watch);
    watch.update(|status| status.batch = resumed.begin.batch);
    let mut opened = ByRole::try_of(|role| {
        let begin = resumed.begin.streams[role].as_ref();
        setups[role].map(|setup| open::open_stream(job, setup, begin)).transpose()
    })?;
    open::check_places(job, &opened)?;
    let inputs = opened.values().flatten().flat_map(|stream| stream.source.explained()).collect();
    if let Some(train) = &opened[Role::Train] {
        learned.iter_mut().for_each(|learned| learned.see(train.source.classes()));
    }
    open::say_classes(&learned, &opened, &job.common.recipe.key, watch);
    let moved = resumed.leave_out_lost(&mut opened)?;
    resumed.check_outputs(job, watch)?;
    let learners = resumed.learners(job, learned, control)?;
    let aside = resumed.aside(job, control)?;
    if let Some(window) = &job.window {
        open::say_memory(window, &learners, watch)?;
    }
    let uncommitted = job.state.is_some() && (moved || resumed.is_fresh(job));
    let Resumed { state, begin, planned, begun, goes_on, .. } = resumed;
    let newest = begin.window.as_ref().and_then(|panes| panes.newest);
    let (streams, readers) = open::apart(opened);
    let run = Run {
        job,
        control,
        watch,
        state,
        learners,
        streams,
        known: match &job.sizing {
            Sizing::Params(params) => Some(params.groups.iter().map(|group| group.group.clone()).collect()),
            _ => None,
        },
        names: &names,
        times: job.window.as_ref().map(|window| Times::new(window, newest)),
        rebuild: open::rebuild(job, setups[Role::Train]),
        batch: if moved { begun } else { begin.batch },
        planned,
        uncommitted,
        due: Due::every(job.commit_every),
        room: Room::default(),
        aside,
        set_aside: begin.bad_rows,
    };
    thread::scope(|scope| {
        let mut ends = Vec::new();
        for (reader, stop) in readers {
            ends.push(stop);
            thread::Builder::new().spawn_scoped(scope, reader).map_err(NoThread)?;
        }
        let report = run.run()?;
        Ok(Report { time: start.elapsed(), resumed: goes_on, inputs, ..report })
    })
}
