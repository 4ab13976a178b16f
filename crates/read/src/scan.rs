//! All inputs, given out to threads chunk by chunk.
//!
//! A thread takes the next chunk of the first input that no other thread is reading from, so one
//! large input is shared by all threads and several compressed ones are decompressed side by side.
//! No more inputs are open at a time than there are threads.
//!
//! Chunks of an input are given out in order. So when a row is wrong, all that stands before it
//! has been given out or belongs to an earlier input; threads finish that and nothing else, and the
//! first error in the order of the input is the one reported, however many threads there are.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;

use super::chunks::{Buffer, Chunk, Feed, Sizes, Trouble, line_at};
use super::input::{Input, Rows};
use super::{Sink, delimited, lines, ndjson};
use crate::Control;
use crate::Error;
use crate::Result;

struct Scan<'a> {
    inputs: &'a [Input],
    sizes: Sizes,
    control: &'a Control,
    feeds: Vec<Mutex<Reading>>,
    /// All inputs before this one are done.
    first: AtomicUsize,
    /// From this input on, nothing is given out any more.
    limit: AtomicUsize,
    failure: Mutex<Option<Failure>>,
}

/// How far the reading of an input is.
enum Reading {
    NotBegun,
    Text(Feed),
    RowGroup(usize),
    Done,
}

/// What a thread does next.
enum Task {
    /// The rows in its buffer.
    Text(Chunk),
    /// A row group of a Parquet file.
    RowGroup(usize),
}

/// What went wrong: in which input, where, and how.
struct Failure {
    input: usize,
    at: u64,
    trouble: Trouble,
}

/// Gives every row of the inputs to one of the sinks, each of which has a thread.
pub(super) fn scan<S: Sink>(
    inputs: &[Input],
    sizes: Sizes,
    sinks: Vec<S>,
    control: &Control,
) -> Result<Vec<S>> {
    // Unknown as a whole where one length is unknown.
    let lengths: Option<Vec<u64>> = inputs.iter().map(Input::len).collect::<Result<_>>()?;
    control.begin(lengths.map_or(0, |lengths| lengths.iter().sum()));
    let scan = Scan {
        inputs,
        sizes,
        control,
        feeds: inputs.iter().map(|_| Mutex::new(Reading::NotBegun)).collect(),
        first: AtomicUsize::new(0),
        limit: AtomicUsize::new(inputs.len()),
        failure: Mutex::new(None),
    };
    let sinks = match sinks.len() {
        0 => return Err(Error::told("a scan needs at least one thread".into())),
        1 => sinks.into_iter().map(|sink| scan.work(sink)).collect(),
        // Each thread has its sink to itself: side by side, sinks would share cache lines.
        _ => thread::scope(|threads| {
            let begun: Vec<_> = sinks.into_iter().map(|sink| threads.spawn(|| scan.work(sink))).collect();
            let ended = begun.into_iter().map(|thread| thread.join());
            ended.map(|sink| sink.unwrap_or_else(|panic| resume_unwind(panic))).collect()
        }),
    };
    match scan.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        None => Ok(sinks),
        Some(failure) => Err(into_error(failure.trouble, &inputs[failure.input])),
    }
}

/// What a trouble in an input means for the user.
pub(super) fn into_error(trouble: Trouble, input: &Input) -> Error {
    match trouble {
        Trouble::Input(error) => error,
        Trouble::Row { at, line, message } => {
            let line = line.map_or_else(|| line_at(&input.path, &input.origin, at), Ok);
            line.map_or_else(
                |error| error,
                |line| Error::Row { path: input.path.clone(), line, why: message.into() },
            )
        }
    }
}

impl Scan<'_> {
    /// Gives rows to the sink until there are no more.
    fn work<S: Sink>(&self, mut sink: S) -> S {
        let mut buffer = Buffer::default();
        while let Some((index, task)) = self.take(&mut buffer) {
            let input = &self.inputs[index];
            match task {
                Task::Text(chunk) => {
                    match text(&input.rows, chunk, buffer.data(), &mut sink) {
                        Ok(()) => {}
                        Err(fault) => {
                            let at = chunk.start + fault.at as u64;
                            self.fail(Failure {
                                input: index,
                                at,
                                trouble: chunk.trouble(buffer.data(), fault),
                            });
                        }
                    }
                    self.control.advance(chunk.read);
                }
                Task::RowGroup(group) => {
                    let Rows::Parquet(file, columns) = &input.rows else { continue };
                    if let Err(error) = file.scan(group, columns, &mut sink, self.control) {
                        self.fail(Failure { input: index, at: group as u64, trouble: error.into() });
                    }
                }
            }
        }
        sink
    }

    /// The next chunk of any input that is free; waits for one where none is.
    fn take(&self, buffer: &mut Buffer) -> Option<(usize, Task)> {
        loop {
            if let Err(stopped) = self.control.check() {
                self.fail(Failure { input: 0, at: 0, trouble: stopped.into() });
            }
            let mut busy = None;
            for index in self.first.load(SeqCst)..self.limit.load(SeqCst) {
                match self.feeds[index].try_lock() {
                    Ok(reading) => {
                        if let Some(task) = self.take_from(index, reading, buffer) {
                            return Some((index, task));
                        }
                    }
                    Err(TryLockError::WouldBlock) => {
                        busy.get_or_insert(index);
                    }
                    // Another thread panicked, which its join will tell.
                    Err(TryLockError::Poisoned(_)) => return None,
                }
            }
            let index = busy?;
            let reading = self.feeds[index].lock().ok()?;
            if index < self.limit.load(SeqCst)
                && let Some(task) = self.take_from(index, reading, buffer)
            {
                return Some((index, task));
            }
        }
    }

    /// The next chunk of this input; `None` where it has no more.
    fn take_from(&self, index: usize, mut reading: MutexGuard<Reading>, buffer: &mut Buffer) -> Option<Task> {
        let input = &self.inputs[index];
        match self.next(input, &mut reading, buffer) {
            Ok(Some(task)) => Some(task),
            Ok(None) => {
                *reading = Reading::Done;
                // Inputs end out of order; those that come next may be done already.
                let _ = self.first.compare_exchange(index, index + 1, SeqCst, SeqCst);
                None
            }
            Err(trouble) => {
                let at = match (&trouble, &*reading) {
                    (Trouble::Row { at, .. }, _) => *at,
                    (_, Reading::Text(feed)) => feed.position(),
                    _ => 0,
                };
                *reading = Reading::Done;
                self.fail(Failure { input: index, at, trouble });
                None
            }
        }
    }

    fn next(
        &self,
        input: &Input,
        reading: &mut Reading,
        buffer: &mut Buffer,
    ) -> Result<Option<Task>, Trouble> {
        if let Reading::NotBegun = reading {
            *reading = match &input.rows {
                Rows::Parquet(..) => Reading::RowGroup(0),
                _ => Reading::Text(input.feed(self.sizes)?),
            };
        }
        match (reading, &input.rows) {
            (Reading::Text(feed), _) => Ok(feed.next(&input.path, buffer)?.map(Task::Text)),
            (Reading::RowGroup(next), Rows::Parquet(file, _)) if *next < file.row_groups() => {
                *next += 1;
                Ok(Some(Task::RowGroup(*next - 1)))
            }
            _ => Ok(None),
        }
    }

    fn fail(&self, failure: Failure) {
        self.limit.fetch_min(failure.input, SeqCst);
        let mut first = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        match &*first {
            Some(other) if (other.input, other.at) <= (failure.input, failure.at) => {}
            _ => *first = Some(failure),
        }
    }
}

/// Gives the rows of a chunk to the sink, each with its place in the data.
pub(super) fn text<S: Sink>(
    rows: &Rows,
    chunk: Chunk,
    data: &[u8],
    sink: &mut S,
) -> Result<(), lines::Fault> {
    match rows {
        Rows::Lines(1) => lines::windows(data, |lines| sink.lines(lines)),
        Rows::Lines(columns) => {
            let mut values = vec![None; *columns];
            lines::each(data, |line, place| {
                values.fill(Some(line));
                sink.record(place, &values)
            })
        }
        Rows::Delimited(dialect, picks) => delimited::rows(data, *dialect, chunk.quoted, picks, sink),
        Rows::Ndjson(paths) => {
            let mut extractor = ndjson::Extractor::new(paths);
            lines::each(data, |line, place| match line.trim_ascii() {
                [] => Ok(()),
                object => match extractor.extract(object, |values| sink.record(place.clone(), values)) {
                    Ok(taken) => taken,
                    Err(fault) => sink.bad_row(place, format_args!("{fault}")),
                },
            })
        }
        Rows::Parquet(..) => Ok(()),
    }
}
