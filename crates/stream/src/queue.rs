//! A queue between the thread that reads and the run, bounded in records and bytes: a slow run
//! stops the reading.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tamis_read::error::{Error, Result};

use super::lock;
use super::source::Records;

/// Bytes of keys and hashes that wait.
const MOST_BYTES: usize = 8 << 20;

/// What a piece takes beside that: it has several vectors, whose room may be small, but not zero.
const PIECE: usize = 512;

/// Pieces that are kept to be filled again.
const SPARE: usize = 32;

/// Records of one chunk, with their places.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) records: Records,
    /// The number of the input.
    pub(super) input: usize,
    /// The offset after each record: from the `base` on; in Parquet, rows are counted instead.
    pub(super) stops: Vec<u32>,
    pub(super) base: u64,
    pub(super) by_rows: bool,
    /// Nothing before it can be read again: it has no records, and stands between others.
    pub(super) edge: bool,
    /// Records left out, up to the end of this piece.
    pub(super) skipped: u64,
    /// Which they are, and what is set aside of them.
    pub(super) bad: Vec<Bad>,
    pub(super) aside: Vec<u8>,
    /// Where lines are counted.
    pub(super) lines: Option<LineEnds>,
}

/// A record that was left out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bad {
    /// How many records of the piece stand before it.
    pub(super) before: u32,
    /// The offset after it.
    pub(super) stop: u32,
    /// Where that ends which is set aside of it.
    pub(super) aside: u32,
}

/// How many lines end before a piece, in all of it, and in it up to the end of each record and of each that was
/// left out.
#[derive(Debug, Default)]
pub(super) struct LineEnds {
    pub(super) before: u64,
    pub(super) all: u64,
    pub(super) records: Vec<u32>,
    pub(super) bad: Vec<u32>,
}

impl LineEnds {
    /// Those of this text.
    pub(super) fn of(data: &[u8], stops: &[u32], bad: &[Bad]) -> LineEnds {
        let mut ends = LineEnds::default();
        let (mut at, mut lines) = (0, 0u32);
        let mut up_to = |stop: usize| {
            lines += memchr::memchr_iter(b'\n', data.get(at..stop).unwrap_or_default()).count() as u32;
            at = stop;
            lines
        };
        let mut left_out = bad.iter().peekable();
        for (number, &stop) in stops.iter().enumerate() {
            while let Some(bad) = left_out.next_if(|bad| bad.before as usize <= number) {
                ends.bad.push(up_to(bad.stop as usize));
            }
            ends.records.push(up_to(stop as usize));
        }
        ends.bad.extend(left_out.map(|bad| up_to(bad.stop as usize)));
        ends.all = up_to(data.len()).into();
        ends
    }

    /// The lines before the end of a record.
    pub(super) fn up_to(&self, record: usize) -> Option<u64> {
        self.records.get(record).map(|ends| self.before + u64::from(*ends))
    }

    /// The same of one that was left out.
    pub(super) fn up_to_bad(&self, bad: usize) -> Option<u64> {
        self.bad.get(bad).map(|ends| self.before + u64::from(*ends))
    }
}

impl Piece {
    fn bytes(&self) -> usize {
        PIECE
            + self.records.keys.all_bytes()
            + 32 * self.records.len()
            + 16 * self.bad.len()
            + self.aside.len()
    }
}

/// What the reader puts in and the run takes out.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<Contents>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Contents {
    pieces: VecDeque<Piece>,
    bytes: usize,
    spare: Vec<Piece>,
    /// How the reading ended.
    end: Option<Result<()>>,
    /// That nobody will take any more.
    closed: bool,
}

/// What there was to take.
#[derive(Debug)]
// One is made for each batch, and lives for a moment.
#[expect(clippy::large_enum_variant)]
pub(super) enum Popped {
    Piece(Piece),
    Nothing,
    End,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Contents> {
        lock(&self.state)
    }

    /// An empty piece.
    pub(super) fn spare(&self) -> Piece {
        self.lock().spare.pop().unwrap_or_default()
    }

    /// Puts a piece in when there is room; false where nobody takes it.
    pub(super) fn push(&self, piece: Piece) -> bool {
        let mut state = self.lock();
        while state.bytes > MOST_BYTES && !state.closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            return false;
        }
        state.bytes += piece.bytes();
        state.pieces.push_back(piece);
        self.changed.notify_all();
        true
    }

    /// Tells how the reading ended.
    pub(super) fn end(&self, result: Result<()>) {
        self.lock().end = Some(result);
        self.changed.notify_all();
    }

    /// The next piece, or what there is instead of one after this time.
    pub(super) fn pop(&self, patience: Duration) -> Result<Popped> {
        let deadline = Instant::now() + patience;
        let mut state = self.lock();
        loop {
            if let Some(piece) = state.pieces.pop_front() {
                state.bytes -= piece.bytes();
                self.changed.notify_all();
                return Ok(Popped::Piece(piece));
            }
            match state.end.take() {
                Some(Ok(())) => {
                    state.end = Some(Ok(()));
                    return Ok(Popped::End);
                }
                Some(Err(error)) => {
                    state.end = Some(Err(Error::Interrupted)); // said once
                    return Err(error);
                }
                None => {}
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Popped::Nothing);
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Gives a piece back, to be filled again.
    pub(super) fn give_back(&self, mut piece: Piece) {
        piece.records.clear();
        piece.stops.clear();
        piece.bad.clear();
        piece.aside.clear();
        piece.lines = None;
        piece.edge = false;
        let mut state = self.lock();
        if state.spare.len() < SPARE {
            state.spare.push(piece);
        }
    }

    /// Says that nobody will take any more.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::thread;

    use tamis_make::batch::{Keeps, KeyBatch};
    use tamis_make::rows::{Key, Take};

    fn piece(bytes: usize) -> Piece {
        let mut keys = KeyBatch::new(Keeps { bytes: true, ..Keeps::default() });
        keys.take(Key { group: 0, hash: 0, bytes: &vec![0; bytes], weight: 1 });
        Piece { records: Records { keys, ..Records::default() }, ..Piece::default() }
    }

    #[test]
    fn whoever_reads_waits_while_too_much_waits() {
        let queue = Queue::default();
        let pushed = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                while queue.push(piece((1 << 20) - PIECE - 32)) {
                    pushed.fetch_add(1, SeqCst);
                }
            });
            while pushed.load(SeqCst) < 9 {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(50));
            assert_eq!(pushed.load(SeqCst), 9, "no more than the bound and one");
            assert!(matches!(queue.pop(Duration::ZERO), Ok(Popped::Piece(_))));
            while pushed.load(SeqCst) < 10 {
                thread::yield_now();
            }
            queue.close();
        });
    }

    /// A piece of which all rows were left out has no records, but takes room.
    #[test]
    fn pieces_without_records_are_bounded_too() {
        let queue = Queue::default();
        let pushed = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                while queue.push(Piece { skipped: 1, ..Piece::default() }) {
                    assert!(pushed.fetch_add(1, SeqCst) < 1_000_000, "it is not bounded");
                }
            });
            while queue.lock().bytes <= MOST_BYTES {
                assert!(pushed.load(SeqCst) < 1_000_000, "it is not bounded");
                thread::yield_now();
            }
            queue.close();
        });
        assert_eq!(queue.lock().pieces.len(), MOST_BYTES / PIECE + 1);
    }

    #[test]
    fn an_error_comes_after_all_pieces_before_it() {
        let queue = Queue::default();
        assert!(matches!(queue.pop(Duration::ZERO), Ok(Popped::Nothing)));
        queue.push(piece(1));
        queue.end(Err(crate::refusal::Failed::Reader.into()));
        assert!(matches!(queue.pop(Duration::ZERO), Ok(Popped::Piece(_))));
        assert!(queue.pop(Duration::ZERO).is_err());
    }
}
