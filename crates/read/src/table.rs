//! Rows that are already in memory, such as Arrow batches: a program that has them implements
//! [`Table`], and every job reads them as it reads a file.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use tamis::about::Classes;
use tamis::key::Column;

use super::aside::{Catcher, Names};
use super::chunks::{Buffer, Trouble};
use super::columns::{self, NoColumn};
use super::feeder::{Idle, Supply};
use super::lines::Fault;
use super::render::Style;
use super::sink::{Position, Sink};
use crate::refusal::{Help, Refusal};
use crate::{Control, Error, Result};

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

    /// The column of the names of the files that its rows come from, where they come from files.
    fn file(&self) -> Option<usize> {
        None
    }

    /// An error where the values of this column have no [text](super::canonical): why, and what to do.
    fn check(&self, column: usize) -> Result<(), Box<dyn Refusal>>;

    /// The classes of the values of this column.
    fn classes(&self, column: usize) -> Classes {
        let _ = column;
        Classes::TEXT
    }

    /// How many parts it has.
    fn parts(&self) -> usize;

    /// The rows of a part.
    fn rows(&self, part: usize) -> usize;

    /// Sets the cells of these rows of a part to the texts of this column; cells that are not set are
    /// nulls. Texts that do not stand in the table are written to `text`, which is empty. A value that has
    /// no text is told with its row, from 0 for the first of these rows.
    fn fill<'a>(
        &'a self,
        part: usize,
        column: usize,
        rows: Range<usize>,
        text: &'a mut Vec<u8>,
        cells: &mut Cells<'_, 'a>,
    ) -> Result<(), Fault>;
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
        let (names, file) = (table.columns(), table.file());
        let found = |column: &Column| match (column, file, &names) {
            (Column::File, Some(file), _) => Ok(file),
            (Column::File, None, _) => Err(NoColumn::NoFile),
            (_, _, Some(names)) => columns::find_one(column, names),
            (_, _, None) => lone(column),
        };
        let columns: Vec<usize> = asked.iter().map(found).collect::<Result<_, _>>().map_err(InTable::new)?;
        for &column in &columns {
            table.check(column).map_err(Error::Refused)?;
        }
        let mut rows = 0u64;
        let before = (0..table.parts()).map(|part| {
            let before = rows;
            rows += table.rows(part) as u64;
            before
        });
        Ok(Asked { before: before.collect(), table, columns })
    }

    /// The numbers of the columns that are asked.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The classes of the values of the first columns that are asked, this many.
    pub fn classes(&self, first: usize) -> Classes {
        let asked = self.columns.iter().take(first);
        asked.fold(Classes::NONE, |all, &column| match Some(column) == self.table.file() {
            true => all.and(Classes::TEXT),
            false => all.and(self.table.classes(column)),
        })
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

    /// Gives the rows of a piece to `take`: tiles of this many rows, and their values row by row.
    pub fn tiles(
        &self,
        (part, rows): &Piece,
        mut take: impl FnMut(usize, &[Option<&[u8]>]) -> Result<(), Fault>,
    ) -> Result<()> {
        let width = self.columns.len();
        let mut texts = vec![Vec::new(); width];
        for start in rows.clone().step_by(TILE) {
            let tile = start..(start + TILE).min(rows.end);
            let at_row = |fault: Fault| Error::TableRow {
                row: self.before[*part] + (start + fault.at) as u64,
                why: fault.why,
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
}

/// A table as pieces that threads take.
pub(super) struct Pieces<'a> {
    asked: &'a Asked,
    pieces: Vec<Piece>,
}

impl<'a> Pieces<'a> {
    pub(super) fn of(asked: &'a Asked) -> Pieces<'a> {
        Pieces { asked, pieces: asked.pieces() }
    }
}

impl Pieces<'_> {
    /// Gives the rows of a piece to a sink.
    fn give<S: Sink>(&self, piece: &Piece, sink: &mut S) -> Result<(), Trouble> {
        let width = self.asked.columns.len();
        self.asked.tiles(piece, |_, cells| {
            let mut rows = cells.chunks_exact(width).enumerate();
            rows.try_for_each(|(at, values)| sink.row(0..0, values).map_err(|why| Fault { at, why }))
        })?;
        Ok(())
    }
}

/// A table is one input.
impl Supply for Pieces<'_> {
    /// The number of the next piece.
    type Reading = usize;
    type Piece = Piece;

    fn inputs(&self) -> usize {
        1
    }

    fn total(&self) -> Result<u64> {
        Ok(self.asked.rows())
    }

    fn next(
        &self,
        _: usize,
        next: &mut usize,
        _: &mut Buffer,
        _: Option<&Idle<'_>>,
    ) -> Result<Option<Piece>, Trouble> {
        *next += 1;
        Ok(self.pieces.get(*next - 1).cloned())
    }

    fn work<S: Sink>(
        &self,
        _: usize,
        piece: &Piece,
        _: &Buffer,
        sink: &mut S,
        _: &Control,
    ) -> Result<(), Trouble> {
        if sink.sets_aside() {
            let first = self.asked.before[piece.0] + piece.1.start as u64;
            let names = self.asked.table.columns();
            let name = |&column: &usize| match &names {
                Some(names) => names.get(column).map(String::as_str),
                None => Some("key"),
            };
            let names = Names::Rows(self.asked.columns.iter().map(name).collect());
            return self.give(piece, &mut Catcher::new((0, None), first, (names, first), sink));
        }
        self.give(piece, sink)
    }

    fn steps(&self, piece: &Piece) -> u64 {
        piece.1.len() as u64
    }

    fn error(&self, _: usize, trouble: Trouble) -> Error {
        match trouble {
            Trouble::Input(error) => error,
            Trouble::Row { at, why, .. } => Error::TableRow { row: at, why },
        }
    }

    fn text<'b>(&self, _: usize, _: &Piece, _: &'b Buffer) -> (&'b [u8], Position) {
        (&[], Position::default())
    }

    fn rendering(&self, _: usize) -> Option<(&Style, usize)> {
        None
    }
}

/// That a table lacks a column.
#[derive(Debug, thiserror::Error)]
#[error("the table: {0}")]
pub(super) struct InTable(#[source] NoColumn);

impl InTable {
    pub(super) fn new(why: NoColumn) -> InTable {
        InTable(why.without_lines())
    }
}

impl Refusal for InTable {
    fn help(&self) -> Vec<Help> {
        self.0.help()
    }
}

/// Values without columns are asked as lines or as column 1.
fn lone(column: &Column) -> Result<usize, NoColumn> {
    match column {
        Column::Line | Column::Number(1) => Ok(0),
        Column::Text(_) => Err(NoColumn::NoDocument),
        Column::Name(_) | Column::List(_) | Column::Number(_) | Column::File => {
            Err(NoColumn::Keys(column.clone()))
        }
    }
}

#[cfg(test)]
mod tests;
