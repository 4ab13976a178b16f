//! Batches in the order of the input, made on many threads.
//!
//! Threads take numbered pieces from the [feeder](super::feeder), one after the other, and turn each
//! into batches; batches are handed over in the order of their numbers, whichever thread is done first.
//! What waits for its turn is bounded, so memory is. Thus the result is that of one thread, whatever
//! their number.
//!
//! A stream that comes slowly is not waited for: a chunk ends where nothing more can be read for
//! now, and its batch is handed over at once.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::mem;
use std::ops::{ControlFlow, Range};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::aside::BadRecord;
use super::chunks::{Buffer, Trouble};
use super::feeder::{Feeder, Order, Place, Supply};
use super::lines::{Fault, Lines};
use super::render::Style;
use super::sink::{Next, Position, RowResult, Sift, Sink};
use crate::parquet::Chunk;
use crate::{BadRow, Control, Error, Result};

/// Batches that wait for their turn, for each thread.
const WAITING: usize = 4;

/// Takes what comes next. It is called for batches, not for rows: there is one copy for all.
pub(super) type Taker<'t, B> = dyn FnMut(Next<'_, B>) -> Result<ControlFlow<()>> + Send + 't;

/// Gives every row to one of the sifters, each of which has a thread, and their batches to
/// `take`, in order. An error of a row comes after the batches of all rows before it.
pub(super) fn sift<'a, P: Supply, S: Sift>(
    supply: &'a P,
    sifters: Vec<S>,
    take: &'a mut Taker<'a, S::Batch>,
    control: &'a Control,
) -> Result<Vec<S>> {
    let outlet = Outlet::new(WAITING * sifters.len(), take);
    let sifting = |sifter| Sifting {
        sifter,
        outlet: &outlet,
        number: 0,
        position: Position::default(),
        rendering: None,
        rendered: Vec::new(),
        aside: 0,
    };
    let sifters = sifters.into_iter().map(sifting).collect();
    let pause = |number| outlet.pause(number);
    let feeder = Feeder::new(supply, Order::Input(&pause), control);
    let (sifters, failure) = feeder.run(sifters, |sifting, place, piece, buffer| {
        let _over = OverIfPanicking(&outlet);
        let done = piece.and_then(|piece| sifting.sift(supply, place, &piece, buffer, control));
        let flow = outlet.end(place.number, done.is_ok());
        done.map(|()| flow)
    })?;
    let sifters = sifters.into_iter().map(|sifting| sifting.sifter).collect();
    match (lock(&outlet.state).over.take(), failure) {
        // What is wrong with rows that nobody wanted does not count.
        (Some(Over::Enough), _) | (None | Some(Over::Failed), None) => Ok(sifters),
        (Some(Over::Refused(error)), _) | (_, Some(error)) => Err(error),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where batches are handed over in their order.
struct Outlet<'a, B> {
    state: Mutex<State<B>>,
    /// That batches were handed over.
    moved: Condvar,
    take: Mutex<&'a mut Taker<'a, B>>,
    most: usize,
}

/// How far the handing over is.
struct State<B> {
    /// The piece whose turn it is.
    turn: u64,
    /// What waits, by the number of its piece.
    waiting: BTreeMap<u64, Waiting<B>>,
    batches: usize,
    /// Whether a thread is handing over just now.
    busy: bool,
    /// Batches to be used again.
    spare: Vec<B>,
    /// What ended it all before the end.
    over: Option<Over>,
}

/// Why nothing more is handed over.
enum Over {
    /// Whoever takes batches wants no more.
    Enough,
    /// Whoever takes batches failed.
    Refused(Error),
    /// The piece whose turn it is failed; the feeder knows why.
    Failed,
}

struct Waiting<B> {
    batches: Vec<(B, Position)>,
    /// Whether all went well, once no more will come of this piece.
    end: Option<bool>,
}

impl<B> Default for Waiting<B> {
    fn default() -> Self {
        Waiting { batches: Vec::new(), end: None }
    }
}

/// Lets the others not wait for a thread that panicked.
struct OverIfPanicking<'o, 'a, B>(&'o Outlet<'a, B>);

impl<B> Drop for OverIfPanicking<'_, '_, B> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(&self.0.state).over.get_or_insert(Over::Failed);
            self.0.moved.notify_all();
        }
    }
}

impl<'a, B> Outlet<'a, B> {
    fn new(most: usize, take: &'a mut Taker<'a, B>) -> Self {
        let state = State {
            turn: 0,
            waiting: BTreeMap::new(),
            batches: 0,
            busy: false,
            spare: Vec::new(),
            over: None,
        };
        Outlet { state: Mutex::new(state), moved: Condvar::new(), take: Mutex::new(take), most }
    }

    /// Tells of a pause, if all pieces before this one are handed over; false where it is over.
    fn pause(&self, number: u64) -> bool {
        let mut state = lock(&self.state);
        if state.turn == number && !state.busy && state.over.is_none() {
            state = self.give(state, |take| take(Next::Pause));
        }
        state.over.is_none()
    }

    /// Calls whoever takes batches, while nobody else does; the state is free meanwhile.
    fn give<'o>(
        &'o self,
        mut state: MutexGuard<'o, State<B>>,
        call: impl FnOnce(&mut Taker<'_, B>) -> Result<ControlFlow<()>>,
    ) -> MutexGuard<'o, State<B>> {
        state.busy = true;
        drop(state);
        let result = call(&mut **lock(&self.take));
        let mut state = lock(&self.state);
        state.busy = false;
        match result {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => state.over = Some(Over::Enough),
            Err(error) => state.over = Some(Over::Refused(error)),
        }
        state
    }

    /// Notes the end of a piece, and whether all went well; says whether the others are to go on.
    fn end(&self, number: u64, well: bool) -> ControlFlow<()> {
        let mut state = lock(&self.state);
        state.waiting.entry(number).or_default().end = Some(well);
        let state = self.advance(state, number);
        if state.over.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Puts a batch in its place.
    fn put(&self, number: u64, batch: (B, Position)) {
        let mut state = lock(&self.state);
        state.waiting.entry(number).or_default().batches.push(batch);
        state.batches += 1;
        drop(self.advance(state, number));
    }

    /// Hands over all whose turn it is, unless another thread does; then waits while too much
    /// waits, unless it is this piece that the others wait for.
    fn advance<'o>(&'o self, mut state: MutexGuard<'o, State<B>>, number: u64) -> MutexGuard<'o, State<B>> {
        if !state.busy {
            state = self.hand_over(state);
        }
        while state.batches > self.most && state.turn != number && state.over.is_none() {
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
            // The thread that handed over may have gone on before this one's turn came.
            if state.turn == number && !state.busy {
                state = self.hand_over(state);
            }
        }
        state
    }

    fn hand_over<'o>(&'o self, mut state: MutexGuard<'o, State<B>>) -> MutexGuard<'o, State<B>> {
        while state.over.is_none() {
            let turn = state.turn;
            let Some(waiting) = state.waiting.get_mut(&turn) else { break };
            let mut batches = mem::take(&mut waiting.batches);
            if !batches.is_empty() {
                state.batches -= batches.len();
                state = self.give(state, |take| {
                    for (batch, end) in &mut batches {
                        if take(Next::Batch(batch, *end))?.is_break() {
                            return Ok(ControlFlow::Break(()));
                        }
                    }
                    Ok(ControlFlow::Continue(()))
                });
                state.spare.extend(batches.into_iter().map(|(batch, _)| batch));
            } else if let Some(well) = waiting.end {
                state.waiting.remove(&turn);
                state.turn += 1;
                if !well {
                    state.over = Some(Over::Failed);
                }
            } else {
                break;
            }
            self.moved.notify_all();
        }
        state
    }
}

/// A sifter at work on a piece.
struct Sifting<'o, 'a, S: Sift> {
    sifter: S,
    outlet: &'o Outlet<'a, S::Batch>,
    number: u64,
    /// Where the rows of the next batch end.
    position: Position,
    /// How rows become text that have none, how much of it makes a batch, and what there is of it.
    rendering: Option<(&'o Style, usize)>,
    rendered: Vec<u8>,
    /// Bytes that were set aside since the last batch.
    aside: usize,
}

impl<'o, S: Sift> Sifting<'o, '_, S> {
    fn sift<P: Supply>(
        &mut self,
        supply: &'o P,
        place: Place,
        piece: &P::Piece,
        buffer: &Buffer,
        control: &Control,
    ) -> Result<(), Trouble> {
        self.number = place.number;
        self.rendering = supply.rendering(place.input);
        let (text, end) = supply.text(place.input, piece, buffer);
        self.position = end;
        let done = supply.work(place.input, piece, buffer, self, control);
        match self.rendering {
            Some(_) => self.hand_over_rendered(),
            None => self.hand_over(text),
        }
        done
    }

    fn hand_over(&mut self, data: &[u8]) {
        let mut batch = lock(&self.outlet.state).spare.pop().unwrap_or_default();
        self.sifter.batch(data, &mut batch);
        self.aside = 0;
        self.outlet.put(self.number, (batch, self.position));
    }

    fn hand_over_rendered(&mut self) {
        let mut rendered = mem::take(&mut self.rendered);
        self.hand_over(&rendered);
        rendered.clear();
        self.rendered = rendered;
    }

    /// A row that has no text of its own: the asked values, then all others.
    fn render(&mut self, style: &Style, most: usize, values: &[Option<&[u8]>]) -> RowResult {
        let (asked, all) = values.split_at(values.len() - style.columns());
        let start = self.rendered.len();
        style.record(all, &mut self.rendered)?;
        let taken = self.sifter.row(start..self.rendered.len(), asked);
        if taken.is_err() {
            self.rendered.truncate(start);
        } else if self.rendered.len() >= most {
            self.hand_over_rendered();
        }
        taken
    }
}

impl<S: Sift> Sink for Sifting<'_, '_, S> {
    #[inline(always)]
    fn row(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        match self.rendering {
            None => self.sifter.row(place, values),
            Some((style, most)) => self.render(style, most, values),
        }
    }

    fn lines(&mut self, mut lines: Lines<'_, '_>) -> Result<(), Fault> {
        match self.rendering {
            None => self.sifter.lines(lines),
            Some(_) => lines.try_for_each(|(line, place)| {
                let at = place.start;
                self.row(place, &[Some(line)]).map_err(|why| Fault { at, why })
            }),
        }
    }

    fn bad_row(&mut self, place: Range<usize>, why: BadRow) -> RowResult {
        // One that cannot be cut into values has no record that is made of them.
        let here = self.rendered.len();
        self.sifter.bad_row(if self.rendering.is_some() { here..here } else { place }, why)
    }

    fn skips(&self) -> bool {
        self.sifter.skips()
    }

    fn skip(&mut self, column: &Chunk<'_>) -> Result<bool> {
        self.sifter.skip(column)
    }

    fn sets_aside(&self) -> bool {
        self.sifter.sets_aside()
    }

    fn set_aside(&mut self, record: BadRecord<'_>) {
        self.aside += record.text.len();
        self.sifter.set_aside(record);
        // A row group of Parquet has no bound, so what is set aside of it is handed over on the way.
        if let Some((_, most)) = self.rendering
            && self.aside >= most
        {
            self.hand_over_rendered();
        }
    }
}
