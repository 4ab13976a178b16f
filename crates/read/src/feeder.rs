//! Gives numbered pieces of the inputs to threads: the one place from which rows are given out.
//!
//! Pieces of an input are given out in order. In [any order](Order::Any), a thread takes the next piece
//! of the first input that no other thread is reading from, so one large input is shared by all threads
//! and several compressed ones are decompressed side by side. In the [order of the inputs](Order::Input)
//! no input is begun before all of the one before it was given out. No more inputs are open at a time
//! than there are threads.
//!
//! When a row is wrong, all that stands before it has been given out or belongs to an earlier input;
//! threads finish that and nothing else, and the first error in the order of the input is the one
//! reported, however many threads there are.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;

use crate::chunks::{Buffer, Trouble};
use crate::refusal::Refusal;
use crate::render::Style;
use crate::sink::{Position, Sink};
use crate::{Control, Error, Result};

/// Where pieces come from, and how the rows of one are given to a sink.
pub(super) trait Supply: Sync {
    /// How far the reading of an input is.
    type Reading: Default + Send;

    /// Some rows of an input, whose text is in a buffer if they have one.
    type Piece;

    /// How many inputs there are.
    fn inputs(&self) -> usize;

    /// Says that all of them are read from the beginning.
    fn begin(&self, control: &Control) {
        let _ = control;
    }

    /// The steps of all pieces; 0 where that is unknown.
    fn total(&self) -> Result<u64>;

    /// The next piece of an input; `None` at its end. While a stream is silent, `idle` is called again
    /// and again; without it, the thread waits until a whole piece has come.
    fn next(
        &self,
        input: usize,
        reading: &mut Self::Reading,
        buffer: &mut Buffer,
        idle: Option<&Idle<'_>>,
    ) -> Result<Option<Self::Piece>, Trouble>;

    /// Gives the rows of a piece to a sink.
    fn work<S: Sink>(
        &self,
        input: usize,
        piece: &Self::Piece,
        buffer: &Buffer,
        sink: &mut S,
        control: &Control,
    ) -> Result<(), Trouble>;

    /// The progress that a piece is, where [`work`](Self::work) does not tell of it.
    fn steps(&self, piece: &Self::Piece) -> u64;

    /// What a trouble in an input means for the user.
    fn error(&self, input: usize, trouble: Trouble) -> Error;

    /// The text in which the rows of a piece have their places, and where that ends.
    fn text<'b>(&self, input: usize, piece: &Self::Piece, buffer: &'b Buffer) -> (&'b [u8], Position);

    /// How the rows of an input become text, and how much of it makes a batch, where they have none.
    fn rendering(&self, input: usize) -> Option<(&Style, usize)>;
}

/// What is done while a stream is silent; false where nothing more is to be read.
pub(super) type Idle<'i> = dyn Fn() -> Result<bool> + 'i;

/// Which piece is given out next.
pub(super) enum Order<'a> {
    /// One of any input that no thread is reading from.
    Any,
    /// One after the other. While a stream is silent, this is called with the number of the next
    /// piece; false where nothing more is to be read.
    Input(&'a (dyn Fn(u64) -> bool + Sync)),
}

/// The place of a piece in the order of the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Place {
    pub(super) input: usize,
    /// How many pieces were given out before it; in the order of the inputs this alone is its place.
    pub(super) number: u64,
}

/// A piece that was given out, or why it cannot be read.
type Given<P> = (Place, Result<<P as Supply>::Piece, Trouble>);

/// That a scan was asked for without anybody to take rows.
#[derive(Debug, thiserror::Error)]
#[error("a scan needs at least one thread")]
struct NoWorker;

impl Refusal for NoWorker {}

/// Gives out pieces, and stops at the first error in the order of the inputs.
pub(super) struct Feeder<'a, P: Supply> {
    supply: &'a P,
    control: &'a Control,
    order: Order<'a>,
    /// How far the reading of each input is; none where it ended.
    readings: Vec<Mutex<Option<P::Reading>>>,
    given: AtomicU64,
    /// All inputs before this one ended.
    first: AtomicUsize,
    /// From this input on, nothing is given out any more.
    limit: AtomicUsize,
    failure: Mutex<Option<(Place, Trouble)>>,
}

impl<'a, P: Supply> Feeder<'a, P> {
    pub(super) fn new(supply: &'a P, order: Order<'a>, control: &'a Control) -> Self {
        let inputs = supply.inputs();
        Feeder {
            supply,
            control,
            order,
            readings: (0..inputs).map(|_| Mutex::new(Some(P::Reading::default()))).collect(),
            given: AtomicU64::new(0),
            first: AtomicUsize::new(0),
            limit: AtomicUsize::new(inputs),
            failure: Mutex::new(None),
        }
    }

    /// Gives every piece to one of the workers, each of which has a thread. Gives them back, with the
    /// first error if there was one; after a break, nothing more is given out.
    pub(super) fn run<W: Send>(
        self,
        workers: Vec<W>,
        work: impl Fn(&mut W, Place, Result<P::Piece, Trouble>, &Buffer) -> Result<ControlFlow<()>, Trouble>
        + Sync,
    ) -> Result<(Vec<W>, Option<Error>)> {
        self.control.begin(self.supply.total()?);
        self.supply.begin(self.control);
        let run = |mut worker: W| {
            let mut buffer = Buffer::default();
            while let Some((place, piece)) = self.take(&mut buffer) {
                let steps = piece.as_ref().map_or(0, |piece| self.supply.steps(piece));
                match work(&mut worker, place, piece, &buffer) {
                    Ok(ControlFlow::Continue(())) => {}
                    Ok(ControlFlow::Break(())) => self.stop(),
                    Err(trouble) => self.fail(place, trouble),
                }
                self.control.advance(steps);
            }
            worker
        };
        let workers = match workers.len() {
            0 => return Err(NoWorker.into()),
            1 => workers.into_iter().map(run).collect(),
            _ => on_threads(workers, &run),
        };
        let failure = self.failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok((workers, failure.map(|(place, trouble)| self.supply.error(place.input, trouble))))
    }

    /// The next piece of an input that is free and whose turn it may be; waits for one where none is.
    fn take(&self, buffer: &mut Buffer) -> Option<Given<P>> {
        loop {
            if let Err(stopped) = self.control.check() {
                self.fail(Place::default(), stopped.into());
            }
            let (first, limit) = (self.first.load(SeqCst), self.limit.load(SeqCst));
            if first >= limit {
                return None;
            }
            let free = match self.order {
                Order::Any => first..limit,
                Order::Input(_) => first..first + 1,
            };
            let mut busy = None;
            for input in free {
                match self.readings[input].try_lock() {
                    Ok(reading) => {
                        if let Some(given) = self.take_from(input, reading, buffer) {
                            return Some(given);
                        }
                    }
                    Err(TryLockError::WouldBlock) => {
                        busy.get_or_insert(input);
                    }
                    // Another thread panicked, which its join will tell.
                    Err(TryLockError::Poisoned(_)) => return None,
                }
            }
            // Where none is busy, all of these ended.
            let Some(input) = busy else { continue };
            let reading = self.readings[input].lock().ok()?;
            if input < self.limit.load(SeqCst)
                && let Some(given) = self.take_from(input, reading, buffer)
            {
                return Some(given);
            }
        }
    }

    /// The next piece of this input; `None` where it has no more.
    fn take_from(
        &self,
        input: usize,
        mut reading: MutexGuard<'_, Option<P::Reading>>,
        buffer: &mut Buffer,
    ) -> Option<Given<P>> {
        if let Some(state) = &mut *reading {
            let next = match self.order {
                Order::Any => self.supply.next(input, state, buffer, None),
                Order::Input(pause) => self.supply.next(input, state, buffer, Some(&|| self.idle(pause))),
            };
            if let Some(piece) = next.transpose() {
                if piece.is_err() {
                    *reading = None;
                }
                return Some((Place { input, number: self.given.fetch_add(1, SeqCst) }, piece));
            }
            *reading = None;
        }
        // Inputs end out of order; those that come next may have ended already.
        let _ = self.first.compare_exchange(input, input + 1, SeqCst, SeqCst);
        None
    }

    fn idle(&self, pause: &(dyn Fn(u64) -> bool + Sync)) -> Result<bool> {
        self.control.check()?;
        let goes_on = pause(self.given.load(SeqCst));
        if !goes_on {
            self.stop();
        }
        Ok(goes_on)
    }

    fn stop(&self) {
        self.limit.store(0, SeqCst);
    }

    fn fail(&self, place: Place, trouble: Trouble) {
        self.limit.fetch_min(place.input, SeqCst);
        let mut first = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        match &*first {
            Some((other, _)) if *other <= place => {}
            _ => *first = Some((place, trouble)),
        }
    }
}

/// Runs workers, all but the first on threads of their own, as many as can be had: where the system gives no
/// more, those that there are do all of the work, and the others come back as they were.
fn on_threads<W: Send>(workers: Vec<W>, run: &(impl Fn(W) -> W + Sync)) -> Vec<W> {
    // Each thread has its worker to itself: side by side, they would share cache lines.
    let places: Vec<_> = workers.into_iter().map(|worker| Mutex::new(Some(worker))).collect();
    for_each(places.len(), &|at| {
        let worker = lock(&places[at]).take();
        *lock(&places[at]) = worker.map(run);
    });
    places
        .into_iter()
        .filter_map(|place| place.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}

/// Does the work of numbers from 0 on below `count`, each on a thread of its own but for 0, up to the first for which
/// there is none. Not generic: threads are much to compile.
fn for_each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    thread::scope(|threads| {
        let begin = |at| thread::Builder::new().spawn_scoped(threads, move || work(at)).ok();
        let begun: Vec<_> = (1..count).map_while(begin).collect();
        work(0);
        for thread in begun {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    });
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives every row to one of the sinks, each of which has a thread, in any order.
pub(super) fn scan<P: Supply, S: Sink>(supply: &P, sinks: Vec<S>, control: &Control) -> Result<Vec<S>> {
    let work = |sink: &mut S, place: Place, piece: Result<P::Piece, Trouble>, buffer: &Buffer| {
        supply.work(place.input, &piece?, buffer, sink, control)?;
        Ok(ControlFlow::Continue(()))
    };
    match Feeder::new(supply, Order::Any, control).run(sinks, work)? {
        (sinks, None) => Ok(sinks),
        (_, Some(error)) => Err(error),
    }
}
