//! Records in the order of the input, made into something on many threads.
//!
//! Threads take numbered chunks, one after the other, and turn each into a batch; batches are
//! handed over in the order of their numbers, whichever thread is done first. What waits for its
//! turn is bounded, so memory is. Thus the result is that of one thread, whatever their number.
//!
//! A stream that comes slowly is not waited for: a chunk ends where nothing more can be read for
//! now, and its batch is handed over at once.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::mem;
use std::ops::{ControlFlow, Range};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::Sink;
use super::chunks::{Buffer, Chunk, Feed, Sizes, Trouble};
use super::input::{Input, Rows};
use super::render::Style;
use super::scan::{into_error, text};
use crate::Control;
use crate::Error;
use crate::Result;

/// What takes records and makes batches of them. Each thread has one of its own.
pub trait Sift: Send {
    /// What it makes of some records; used again and again, to spare memory.
    type Batch: Default + Send;

    /// Takes a record: its place in the data of the batch, with its line end if it has one, and
    /// the values of the asked columns.
    ///
    /// An error names what is wrong with the record; the scan adds file and line, and stops.
    fn record(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> Result<(), String>;

    /// Hears of a record that has no values, and why; an error stops the scan, too.
    fn bad_record(&mut self, place: Range<usize>, why: fmt::Arguments<'_>) -> Result<(), String> {
        let _ = place;
        Err(why.to_string())
    }

    /// Makes a batch of the records since the last one, whose places are in this data.
    fn batch(&mut self, data: &[u8], batch: &mut Self::Batch);
}

/// What comes next, in the order of the input.
#[derive(Debug)]
pub enum Next<'b, B> {
    /// A batch, and where its records end.
    Batch(&'b mut B, Position),
    /// Nothing, for a while: the input is a stream that makes a pause.
    Pause,
}

/// A place between two records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    /// The number of the input.
    pub input: usize,
    /// Bytes of its text (decompressed) before this place; 0 in Parquet.
    pub offset: u64,
}

/// How long a stream may be silent before that is a pause.
const PAUSE: Duration = Duration::from_millis(20);

/// While a stream is silent, so often is looked whether the job shall end.
const LONG_PAUSE: Duration = Duration::from_millis(100);

/// Batches that wait for their turn, for each thread.
const WAITING: usize = 4;

/// Takes what comes next. It is called for batches, not for records: there is one copy for all.
pub(super) type Taker<'t, B> = dyn FnMut(Next<'_, B>) -> Result<ControlFlow<()>> + Send + 't;

struct Line<'a, S: Sift> {
    inputs: &'a [Input],
    sizes: Sizes,
    control: &'a Control,
    intake: Mutex<Intake>,
    outlet: Mutex<Outlet<S::Batch>>,
    /// That batches were handed over.
    moved: Condvar,
    take: Mutex<&'a mut Taker<'a, S::Batch>>,
    /// That nothing more is to be read.
    stopped: AtomicBool,
    most: usize,
}

/// How far the reading is.
struct Intake {
    input: usize,
    reading: Reading,
    /// The number of the next chunk.
    number: u64,
}

enum Reading {
    NotBegun,
    Text(Feed),
    RowGroup(usize),
}

/// How far the handing over is.
struct Outlet<B> {
    /// The chunk whose turn it is.
    turn: u64,
    /// What waits, by the number of its chunk.
    waiting: BTreeMap<u64, Waiting<B>>,
    batches: usize,
    /// Whether a thread is handing over just now.
    busy: bool,
    /// Batches to be used again.
    spare: Vec<B>,
    /// What ended it all before the end.
    failure: Option<Error>,
    /// That whoever takes batches wants no more.
    enough: bool,
}

struct Waiting<B> {
    batches: Vec<(B, Position)>,
    /// Whether no more will come of this chunk: all is well, or something is wrong.
    end: Option<Result<()>>,
}

impl<B> Default for Waiting<B> {
    fn default() -> Self {
        Waiting { batches: Vec::new(), end: None }
    }
}

enum Task {
    Text(Chunk),
    RowGroup(usize),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives every record to one of the sifters, each of which has a thread, and their batches to
/// `take`, in order. An error of a record comes after the batches of all records before it.
pub(super) fn sift<'a, S: Sift>(
    inputs: &'a [Input],
    sizes: Sizes,
    sifters: Vec<S>,
    take: &'a mut Taker<'a, S::Batch>,
    control: &'a Control,
) -> Result<Vec<S>> {
    let lengths: Option<Vec<u64>> = inputs.iter().map(Input::len).collect::<Result<_>>()?;
    control.begin(lengths.map_or(0, |lengths| lengths.iter().sum()));
    let line: Line<'_, S> = Line {
        inputs,
        sizes,
        control,
        intake: Mutex::new(Intake { input: 0, reading: Reading::NotBegun, number: 0 }),
        outlet: Mutex::new(Outlet {
            turn: 0,
            waiting: BTreeMap::new(),
            batches: 0,
            busy: false,
            spare: Vec::new(),
            failure: None,
            enough: false,
        }),
        moved: Condvar::new(),
        take: Mutex::new(take),
        stopped: AtomicBool::new(false),
        most: WAITING * sifters.len(),
    };
    let sifters = match sifters.len() {
        0 => return Err(Error::told("a scan needs at least one thread".into())),
        1 => sifters.into_iter().map(|sifter| line.work(sifter)).collect(),
        _ => thread::scope(|threads| {
            let begun: Vec<_> =
                sifters.into_iter().map(|sifter| threads.spawn(|| line.work(sifter))).collect();
            let ended = begun.into_iter().map(|thread| thread.join());
            ended.map(|sifter| sifter.unwrap_or_else(|panic| resume_unwind(panic))).collect()
        }),
    };
    match line.outlet.into_inner().unwrap_or_else(PoisonError::into_inner).failure {
        None => Ok(sifters),
        Some(error) => Err(error),
    }
}

/// That the others need not wait for a thread that panicked.
struct Stop<'a>(&'a AtomicBool, &'a Condvar);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, SeqCst);
            self.1.notify_all();
        }
    }
}

impl<S: Sift> Line<'_, S> {
    fn work(&self, sifter: S) -> S {
        let _stop = Stop(&self.stopped, &self.moved);
        let mut buffer = Buffer::default();
        let mut sifter = Sifting {
            sifter,
            line: self,
            number: 0,
            position: Position::default(),
            style: None,
            rendered: Vec::new(),
        };
        while let Some((number, index, task)) = self.next(&mut buffer) {
            let input = &self.inputs[index];
            sifter.number = number;
            sifter.position = Position { input: index, offset: 0 };
            sifter.style = input.style.as_ref();
            let end = match task {
                Ok(Task::Text(chunk)) => {
                    let data = buffer.data();
                    let end = text(&input.rows, chunk, data, &mut sifter)
                        .map_err(|fault| into_error(chunk.trouble(data, fault), input));
                    sifter.position.offset = chunk.start + data.len() as u64;
                    sifter.hand_over(data);
                    self.control.advance(chunk.read);
                    end
                }
                Ok(Task::RowGroup(group)) => {
                    let Rows::Parquet(file, columns) = &input.rows else { continue };
                    let end = file.scan(group, columns, &mut sifter, self.control);
                    let rendered = mem::take(&mut sifter.rendered);
                    sifter.hand_over(&rendered);
                    sifter.rendered = rendered;
                    sifter.rendered.clear();
                    end
                }
                Err(trouble) => Err(into_error(trouble, input)),
            };
            self.end(number, end);
        }
        sifter.sifter
    }

    /// The next chunk in the order of the inputs, with its number and its input.
    fn next(&self, buffer: &mut Buffer) -> Option<(u64, usize, Result<Task, Trouble>)> {
        let mut intake = lock(&self.intake);
        loop {
            if self.stopped.load(SeqCst) || intake.input >= self.inputs.len() {
                return None;
            }
            let input = &self.inputs[intake.input];
            let task = match self.read(input, &mut intake, buffer) {
                Ok(Some(task)) => Ok(task),
                Ok(None) => {
                    intake.input += 1;
                    intake.reading = Reading::NotBegun;
                    continue;
                }
                Err(trouble) => Err(trouble),
            };
            let (number, index) = (intake.number, intake.input);
            intake.number += 1;
            if task.is_err() {
                intake.input = self.inputs.len();
            }
            return Some((number, index, task));
        }
    }

    fn read(&self, input: &Input, intake: &mut Intake, buffer: &mut Buffer) -> Result<Option<Task>, Trouble> {
        self.control.check()?;
        if input.left_out {
            return Ok(None);
        }
        if let Reading::NotBegun = intake.reading {
            intake.reading = match &input.rows {
                Rows::Parquet(..) => Reading::RowGroup(0),
                _ => Reading::Text(input.feed(self.sizes)?.paced(input.origin.pace())),
            };
        }
        match (&mut intake.reading, &input.rows) {
            (Reading::Text(feed), _) => {
                let mut patience = PAUSE;
                while !feed.ready(patience) {
                    self.control.check()?;
                    self.pause(intake.number);
                    if self.stopped.load(SeqCst) {
                        return Ok(None);
                    }
                    patience = LONG_PAUSE;
                }
                Ok(feed.next(&input.path, buffer)?.map(Task::Text))
            }
            (Reading::RowGroup(next), Rows::Parquet(file, _)) if *next < file.row_groups() => {
                *next += 1;
                Ok(Some(Task::RowGroup(*next - 1)))
            }
            _ => Ok(None),
        }
    }

    /// Tells of a pause, if all that was read so far is handed over.
    fn pause(&self, number: u64) {
        let outlet = lock(&self.outlet);
        if outlet.turn == number && !outlet.busy && outlet.failure.is_none() && !outlet.enough {
            let outlet = self.give(outlet, |take| take(Next::Pause));
            if outlet.failure.is_some() || outlet.enough {
                self.stopped.store(true, SeqCst);
            }
        }
    }

    /// Calls whoever takes batches, while nobody else does; the outlet is free meanwhile.
    fn give<'o>(
        &'o self,
        mut outlet: MutexGuard<'o, Outlet<S::Batch>>,
        call: impl FnOnce(&mut Taker<'_, S::Batch>) -> Result<ControlFlow<()>>,
    ) -> MutexGuard<'o, Outlet<S::Batch>> {
        outlet.busy = true;
        drop(outlet);
        let result = call(&mut **lock(&self.take));
        let mut outlet = lock(&self.outlet);
        outlet.busy = false;
        match result {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => outlet.enough = true,
            Err(error) => {
                outlet.failure.get_or_insert(error);
            }
        }
        outlet
    }

    /// Notes the end of a chunk.
    fn end(&self, number: u64, end: Result<()>) {
        let mut outlet = lock(&self.outlet);
        outlet.waiting.entry(number).or_default().end = Some(end);
        self.advance(outlet, number);
    }

    /// Puts a batch in its place.
    fn put(&self, number: u64, batch: (S::Batch, Position)) {
        let mut outlet = lock(&self.outlet);
        outlet.waiting.entry(number).or_default().batches.push(batch);
        outlet.batches += 1;
        self.advance(outlet, number);
    }

    /// Hands over all whose turn it is, unless another thread does; then waits while too much
    /// waits, unless it is this chunk that the others wait for.
    fn advance<'o>(&'o self, mut outlet: MutexGuard<'o, Outlet<S::Batch>>, number: u64) {
        if !outlet.busy {
            outlet = self.hand_over(outlet);
        }
        while outlet.batches > self.most && outlet.turn != number && !self.stopped.load(SeqCst) {
            outlet = self.moved.wait(outlet).unwrap_or_else(PoisonError::into_inner);
            // The thread that handed over may have gone on before this one's turn came.
            if outlet.turn == number && !outlet.busy {
                outlet = self.hand_over(outlet);
            }
        }
    }

    fn hand_over<'o>(
        &'o self,
        mut outlet: MutexGuard<'o, Outlet<S::Batch>>,
    ) -> MutexGuard<'o, Outlet<S::Batch>> {
        loop {
            let turn = outlet.turn;
            let Some(waiting) = outlet.waiting.get_mut(&turn) else { break };
            let mut batches = mem::take(&mut waiting.batches);
            if !batches.is_empty() {
                outlet.batches -= batches.len();
                let wanted = outlet.failure.is_none() && !outlet.enough;
                if wanted {
                    outlet = self.give(outlet, |take| {
                        for (batch, end) in &mut batches {
                            if take(Next::Batch(batch, *end))?.is_break() {
                                return Ok(ControlFlow::Break(()));
                            }
                        }
                        Ok(ControlFlow::Continue(()))
                    });
                }
                outlet.spare.extend(batches.into_iter().map(|(batch, _)| batch));
            } else if let Some(end) = waiting.end.take() {
                outlet.waiting.remove(&turn);
                outlet.turn += 1;
                if let Err(error) = end {
                    outlet.failure.get_or_insert(error);
                }
            } else {
                break;
            }
            if outlet.failure.is_some() || outlet.enough {
                self.stopped.store(true, SeqCst);
            }
            self.moved.notify_all();
        }
        outlet
    }
}

/// A sifter at work on a chunk.
struct Sifting<'l, 'a, S: Sift> {
    sifter: S,
    line: &'l Line<'a, S>,
    number: u64,
    /// Where the records of the next batch end.
    position: Position,
    /// How rows become text that have none, and those that did.
    style: Option<&'l Style>,
    rendered: Vec<u8>,
}

impl<S: Sift> Sifting<'_, '_, S> {
    fn hand_over(&mut self, data: &[u8]) {
        let mut batch = lock(&self.line.outlet).spare.pop().unwrap_or_default();
        self.sifter.batch(data, &mut batch);
        self.line.put(self.number, (batch, self.position));
    }
}

impl<S: Sift> Sink for Sifting<'_, '_, S> {
    #[inline(always)]
    fn record(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> Result<(), String> {
        self.sifter.record(place, values)
    }

    fn bad_row(&mut self, place: Range<usize>, why: fmt::Arguments<'_>) -> Result<(), String> {
        self.sifter.bad_record(place, why)
    }

    /// A row that has no text of its own: the asked values, then all others.
    fn row(&mut self, values: &[Option<&[u8]>]) -> Result<(), String> {
        let Some(style) = self.style else { return self.sifter.record(0..0, values) };
        let (asked, all) = values.split_at(values.len() - style.columns());
        let start = self.rendered.len();
        style.record(all, &mut self.rendered);
        self.sifter.record(start..self.rendered.len(), asked)?;
        if self.rendered.len() >= self.line.sizes.chunk {
            let rendered = mem::take(&mut self.rendered);
            self.hand_over(&rendered);
            self.rendered = rendered;
            self.rendered.clear();
        }
        Ok(())
    }
}
