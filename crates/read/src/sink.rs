//! What takes rows, and what makes batches of them in the order of the input.

use std::ops::Range;

use crate::aside::BadRecord;
use crate::bad_row::BadRow;
use crate::error::Error;
use crate::lines::{Fault, Lines};
use crate::parquet::Chunk;
use crate::refusal::Refusal;

/// What comes of giving a row to a sink: it is taken, or something is wrong with it.
///
/// An error is two words long, so that rows which are taken pay nothing for it.
pub type RowResult = Result<(), Box<dyn Refusal>>;

/// What takes rows. Each thread has one of its own.
pub trait Sink: Send {
    /// Takes the values of the asked columns, in the asked order; `None` is a null. The place is that
    /// of the row in the text, with its line end; `0..0` where rows have no text.
    ///
    /// An error says what is wrong with the row; the scan adds file and line, and stops.
    fn row(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> RowResult;

    /// Takes lines, each of which is a row of one value.
    fn lines(&mut self, mut lines: Lines<'_, '_>) -> Result<(), Fault> {
        lines.try_for_each(|(line, place)| {
            let at = place.start;
            self.row(place, &[Some(line)]).map_err(|why| Fault { at, why })
        })
    }

    /// Hears of a row that has no values to take (too few fields, no JSON object): its place in the
    /// text, with its line end, and why. The place is empty where records are made of values.
    ///
    /// An error stops the scan, as that of [`row`](Self::row) does; without one it goes on with
    /// the next row.
    fn bad_row(&mut self, place: Range<usize>, why: BadRow) -> RowResult {
        let _ = place;
        Err(why.into())
    }

    /// Whether it may know, before rows are read, that it wants none of a row group: then it is
    /// [asked](Self::skip) about each.
    fn skips(&self) -> bool {
        false
    }

    /// Whether it wants no row of the row group in which this column stands, the first that it asked for; it counts
    /// them itself.
    fn skip(&mut self, column: &Chunk<'_>) -> Result<bool, Error> {
        let _ = column;
        Ok(false)
    }

    /// Whether rows that it refuses are [set aside](Self::set_aside), and the scan goes on: those that could
    /// be left out.
    fn sets_aside(&self) -> bool {
        false
    }

    /// Takes the record of a row that it has just refused.
    fn set_aside(&mut self, record: BadRecord<'_>) {
        let _ = record;
    }
}

impl Sink for &mut dyn Sink {
    fn row(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        (**self).row(place, values)
    }

    fn lines(&mut self, lines: Lines<'_, '_>) -> Result<(), Fault> {
        (**self).lines(lines)
    }

    fn bad_row(&mut self, place: Range<usize>, why: BadRow) -> RowResult {
        (**self).bad_row(place, why)
    }

    fn sets_aside(&self) -> bool {
        (**self).sets_aside()
    }

    fn set_aside(&mut self, record: BadRecord<'_>) {
        (**self).set_aside(record);
    }
}

/// A sink that makes batches of the rows it takes, to be handed over in the order of the input.
pub trait Sift: Sink {
    /// What it makes of some rows; used again and again, to spare memory.
    type Batch: Default + Send;

    /// Makes a batch of the rows since the last one, whose places are in this data.
    fn batch(&mut self, data: &[u8], batch: &mut Self::Batch);
}

/// What comes next, in the order of the input.
#[derive(Debug)]
pub enum Next<'b, B> {
    /// A batch, and where its rows end.
    Batch(&'b mut B, Position),
    /// Nothing, for a while: the input is a stream that makes a pause.
    Pause,
}

/// A place between two rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    /// The number of the input.
    pub input: usize,
    /// Bytes of its text (decompressed) before this place; 0 in Parquet.
    pub offset: u64,
}
