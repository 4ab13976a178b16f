//! Rows that are in memory already, such as batches of Arrow: whoever has them implements
//! [`Table`], and every job reads them as it reads a file.

use std::fmt;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tamis::key::Column;

use super::ordered::{Next, Position, Sift, Taker};
use super::{Sink, columns};
use crate::Control;
use crate::Error;
use crate::Result;
use crate::refusal::Said;

/// Rows that a thread takes together: enough to make taking them cheap, few enough for all threads to
/// have some.
const PIECE: usize = 1 << 16;

/// Rows whose values are looked up together: they stay in the cache until they are taken.
const TILE: usize = 1024;

/// A table in memory, in parts. Several threads read it at once.
pub trait Table: Send + Sync {
    /// The names of its columns; `None` where it is one column without a name, whose values are keys
    /// as lines are.
    fn columns(&self) -> Option<Vec<String>>;

    /// An error where the values of this column have no [text](super::canonical): why, and what to do.
    fn check(&self, column: usize) -> Result<(), String>;

    /// How many parts it has.
    fn parts(&self) -> usize;

    /// The rows of a part.
    fn rows(&self, part: usize) -> usize;

    /// Sets the cells of these rows of a part to the texts of this column; cells that are not set are
    /// nulls. Texts that do not stand in the table are written to `text`, which is empty. A text that
    /// cannot be is told with its row.
    fn fill<'a>(
        &'a self,
        part: usize,
        column: usize,
        rows: Range<usize>,
        text: &'a mut Vec<u8>,
        cells: &mut Cells<'_, 'a>,
    ) -> Result<(), (usize, String)>;
}

/// The cells of one column of some rows.
#[derive(Debug)]
pub struct Cells<'c, 'a> {
    cells: &'c mut [Option<&'a [u8]>],
    first: usize,
    width: usize,
}

impl<'c, 'a> Cells<'c, 'a> {
    /// Those of rows that have no other column.
    pub fn of_one_column(cells: &'c mut [Option<&'a [u8]>]) -> Cells<'c, 'a> {
        Cells { cells, first: 0, width: 1 }
    }

    /// Sets the cell of a row; the first has the number 0.
    #[inline(always)]
    pub fn set(&mut self, row: usize, text: &'a [u8]) {
        self.cells[self.first + row * self.width] = Some(text);
    }

    /// Sets all cells in order, as far as there are texts.
    #[inline(always)]
    pub fn set_all(&mut self, texts: impl Iterator<Item = Option<&'a [u8]>>) {
        if self.width == 1 {
            self.cells.iter_mut().zip(texts).for_each(|(cell, text)| *cell = text);
        } else {
            let cells = self.cells.iter_mut().skip(self.first).step_by(self.width);
            cells.zip(texts).for_each(|(cell, text)| *cell = text);
        }
    }
}

/// A table and the columns that are asked of it.
#[derive(Clone)]
pub struct Asked {
    table: Arc<dyn Table>,
    columns: Vec<usize>,
    /// The rows before each part.
    before: Vec<u64>,
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows in {} parts, columns {:?}", self.rows(), self.table.parts(), self.columns)
    }
}

/// Rows that one thread takes: their part, and their numbers there.
pub type Piece = (usize, Range<usize>);

impl Asked {
    /// Finds the columns.
    pub fn new(table: Arc<dyn Table>, asked: &[Column]) -> Result<Asked> {
        let found = match table.columns() {
            Some(names) => columns::find(asked, &names),
            None => asked.iter().map(lone).collect(),
        };
        let columns = found.map_err(|message| Error::told(format!("the table: {message}")))?;
        for &column in &columns {
            table.check(column).map_err(Error::told)?;
        }
        let mut rows = 0u64;
        let before = (0..table.parts()).map(|part| {
            let before = rows;
            rows += table.rows(part) as u64;
            before
        });
        Ok(Asked { before: before.collect(), table, columns })
    }

    /// All rows.
    pub fn rows(&self) -> u64 {
        (0..self.table.parts()).map(|part| self.table.rows(part) as u64).sum()
    }

    /// The rows of a part.
    pub fn rows_of(&self, part: usize) -> usize {
        self.table.rows(part)
    }

    /// The parts of the table.
    pub fn parts(&self) -> usize {
        self.table.parts()
    }

    /// All rows in pieces, in order.
    pub fn pieces(&self) -> Vec<Piece> {
        let cut = |part: usize| {
            let rows = self.table.rows(part);
            (0..rows).step_by(PIECE).map(move |start| (part, start..(start + PIECE).min(rows)))
        };
        (0..self.table.parts()).flat_map(cut).collect()
    }

    /// Gives the rows of a piece to `take`: tiles of so many rows, and their values row by row.
    pub fn tiles(
        &self,
        (part, rows): &Piece,
        mut take: impl FnMut(usize, &[Option<&[u8]>]) -> Result<(), (usize, String)>,
    ) -> Result<()> {
        let width = self.columns.len();
        let mut texts = vec![Vec::new(); width];
        for start in rows.clone().step_by(TILE) {
            let tile = start..(start + TILE).min(rows.end);
            let at_row = |(row, message): (usize, String)| Error::TableRow {
                row: self.before[*part] + (start + row) as u64,
                why: Box::new(Said(message)),
            };
            let mut cells = vec![None; tile.len() * width];
            for (first, (&column, text)) in self.columns.iter().zip(&mut texts).enumerate() {
                text.clear();
                let mut cells = Cells { cells: &mut cells, first, width };
                self.table.fill(*part, column, tile.clone(), text, &mut cells).map_err(at_row)?;
            }
            take(tile.len(), &cells).map_err(at_row)?;
        }
        Ok(())
    }

    fn scan_piece<S: Sink>(&self, piece: &Piece, sink: &mut S) -> Result<()> {
        let width = self.columns.len();
        self.tiles(piece, |_, cells| {
            let mut rows = cells.chunks_exact(width).enumerate();
            rows.try_for_each(|(row, values)| sink.row(values).map_err(|message| (row, message)))
        })
    }

    /// Gives every row to one of the sinks, each of which has a thread. The error of a row that cannot
    /// be used is that of the first such row.
    pub(super) fn scan<S: Sink>(&self, sinks: Vec<S>, control: &Control) -> Result<Vec<S>> {
        let pieces = self.pieces();
        control.begin(self.rows());
        let next = AtomicUsize::new(0);
        let failure: Mutex<Option<(usize, Error)>> = Mutex::new(None);
        let work = |mut sink: S| {
            loop {
                let number = next.fetch_add(1, Relaxed);
                let Some(piece) = pieces.get(number) else { return sink };
                let done = control.check().and_then(|()| self.scan_piece(piece, &mut sink));
                control.advance(piece.1.len() as u64);
                if let Err(error) = done {
                    next.store(pieces.len(), Relaxed);
                    let mut first = failure.lock().unwrap_or_else(PoisonError::into_inner);
                    // Pieces are given out in order: those before this one are all under way.
                    if first.as_ref().is_none_or(|(other, _)| number < *other) {
                        *first = Some((number, error));
                    }
                }
            }
        };
        let sinks = match sinks.len() {
            0 => return Err(Error::told("a scan needs at least one thread".into())),
            1 => sinks.into_iter().map(work).collect(),
            _ => thread::scope(|threads| {
                let work = &work;
                let begun: Vec<_> = sinks.into_iter().map(|sink| threads.spawn(move || work(sink))).collect();
                let ended = begun.into_iter().map(|thread| thread.join());
                ended.map(|sink| sink.unwrap_or_else(|panic| resume_unwind(panic))).collect()
            }),
        };
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(sinks),
            Some((_, error)) => Err(error),
        }
    }

    /// Gives every row to the first of the sifters, in order, and its batches to `take`. There is no
    /// text to be cut, so other threads would have little to do.
    pub(super) fn sift<S: Sift>(
        &self,
        mut sifters: Vec<S>,
        take: &mut Taker<'_, S::Batch>,
        control: &Control,
    ) -> Result<Vec<S>> {
        let Some(sifter) = sifters.first_mut() else {
            return Err(Error::told("a scan needs at least one thread".into()));
        };
        control.begin(self.rows());
        let width = self.columns.len();
        let mut batch = S::Batch::default();
        for piece in self.pieces() {
            control.check()?;
            self.tiles(&piece, |_, cells| {
                let mut rows = cells.chunks_exact(width).enumerate();
                rows.try_for_each(|(row, values)| sifter.record(0..0, values).map_err(|why| (row, why)))
            })?;
            sifter.batch(&[], &mut batch);
            control.advance(piece.1.len() as u64);
            if take(Next::Batch(&mut batch, Position::default()))?.is_break() {
                break;
            }
        }
        Ok(sifters)
    }
}

/// Values without columns are asked as lines or as column 1.
fn lone(column: &Column) -> Result<usize, String> {
    match column {
        Column::Line | Column::Number(1) => Ok(0),
        Column::Name(_) | Column::Number(_) => Err(format!(
            "these are keys without columns, and there is no column {column}: leave out --key, or give a table"
        )),
    }
}

#[cfg(test)]
mod tests;
