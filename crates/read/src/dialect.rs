//! How delimited text is written, and which of its fields are asked.

use std::ops::Range;

use crate::options::{Delimiter, Quotes};
use crate::sink::Sink;
use crate::{BadRow, Fault};

/// How delimited text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) delimiter: Delimiter,
    pub(super) quotes: Quotes,
    /// Lines that begin with this byte are no rows.
    pub(super) comment: Option<u8>,
}

impl Dialect {
    /// Text of which every line is a row.
    pub(super) fn of_lines(comment: Option<u8>) -> Dialect {
        Dialect { delimiter: Delimiter::Byte(b'\n'), quotes: Quotes::None, comment }
    }

    /// Whether a row that begins like this is a comment.
    #[inline(always)]
    pub(super) fn is_comment(self, first: Option<&u8>) -> bool {
        self.comment.is_some() && self.comment.as_ref() == first
    }
}

/// The asked fields of a row, from 0, in the asked order.
#[derive(Debug, Clone)]
pub(super) struct Picks {
    pub(super) fields: Vec<usize>,
    /// Fields that a row must have.
    pub(super) width: usize,
    /// Fields that a row may have beyond those: the header has no more.
    pub(super) spare: usize,
    /// Whether quotes quote: where they do not, they may be why there are more.
    quotes: bool,
}

impl Picks {
    /// Of rows that may have any number of fields.
    pub(super) fn new(fields: Vec<usize>) -> Self {
        let width = fields.iter().max().map_or(1, |last| last + 1);
        Picks { fields, width, spare: usize::MAX - width, quotes: true }
    }

    /// Adds all fields of rows that have this many, and no other number.
    pub(super) fn add_all(&mut self, count: usize, quotes: Quotes) {
        self.fields.extend(0..count);
        *self = Picks::new(std::mem::take(&mut self.fields)).below_header(count, quotes);
    }

    /// Of rows below a header with this many fields, among which all the asked ones are.
    pub(super) fn below_header(self, header: usize, quotes: Quotes) -> Self {
        let spare = header.max(self.width) - self.width;
        Picks { spare, quotes: quotes != Quotes::None, ..self }
    }

    /// Whether this is not the number of fields that a row has. One comparison tells too few from
    /// enough and enough from too many.
    #[inline(always)]
    pub(super) fn is_wrong(&self, got: usize) -> bool {
        got.wrapping_sub(self.width) > self.spare
    }

    /// Tells the sink of a row with a [wrong](Self::is_wrong) number of fields; true where it is to
    /// be used all the same: one empty field at its end is how some programs end each row.
    #[cold]
    pub(super) fn wrong<S: Sink>(
        &self,
        sink: &mut S,
        place: Range<usize>,
        got: usize,
        last_is_empty: bool,
    ) -> Result<bool, Fault> {
        let at = place.start;
        let header = self.width.saturating_add(self.spare);
        let why = match got < self.width {
            true => BadRow::TooFewFields { got, column: self.width },
            false if got == header + 1 && last_is_empty => return Ok(true),
            false => BadRow::TooManyFields { got, header, quotes: self.quotes },
        };
        sink.bad_row(place, why).map_err(|why| Fault { at, why })?;
        Ok(false)
    }
}
