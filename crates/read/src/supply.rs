//! Pieces of files and streams: chunks of text, and row groups of Parquet.

use std::ops::Range;
use std::time::Duration;

use super::aside::{BadRecord, Catcher, Names};
use super::chunks::{Buffer, Chunk, Feed, LineNumbers, Sizes, Trouble, line_at, whole};
use super::dialect::Dialect;
use super::feeder::{Idle, Supply};
use super::input::{Input, Rows};
use super::lines::Fault;
use super::named::Named;
use super::render::Style;
use super::sink::{Position, RowResult, Sink};
use super::{binary, delimited, document, header, lines, log, ndjson};
use crate::{BadRow, Control, Error, Result};

/// Inputs that were opened, to be read in chunks of these sizes.
pub(super) struct Inputs<'a> {
    pub(super) inputs: &'a [Input],
    pub(super) sizes: Sizes,
    pub(super) lines: LineNumbers,
}

/// How far the reading of an input is.
#[derive(Default)]
pub(super) enum Reading {
    #[default]
    NotBegun,
    Text(Feed),
    RowGroup(usize),
    /// A document, which is one piece.
    Document,
    Done,
}

/// What a thread does next.
pub(super) enum Piece {
    /// The rows in its buffer.
    Text(Chunk),
    /// A row group of a Parquet file.
    RowGroup(usize),
}

/// How long a stream may be silent before that is a pause.
const PAUSE: Duration = Duration::from_millis(20);

/// While a stream is silent, this often is looked whether the job shall end.
const LONG_PAUSE: Duration = Duration::from_millis(100);

impl Supply for Inputs<'_> {
    type Reading = Reading;
    type Piece = Piece;

    fn inputs(&self) -> usize {
        self.inputs.len()
    }

    fn begin(&self, control: &Control) {
        for input in self.inputs.iter().filter(|input| input.comment.is_some()) {
            control.begin_comments(&input.path, input.explained.comments);
        }
    }

    /// Unknown as a whole where one length is unknown.
    fn total(&self) -> Result<u64> {
        let lengths: Option<Vec<u64>> = self.inputs.iter().map(Input::len).collect::<Result<_>>()?;
        Ok(lengths.map_or(0, |lengths| lengths.iter().sum()))
    }

    fn next(
        &self,
        input: usize,
        reading: &mut Reading,
        buffer: &mut Buffer,
        idle: Option<&Idle<'_>>,
    ) -> Result<Option<Piece>, Trouble> {
        let input = &self.inputs[input];
        if input.left_out {
            return Ok(None);
        }
        if let Reading::NotBegun = reading {
            *reading = match &input.rows {
                Rows::Parquet(..) => Reading::RowGroup(0),
                Rows::Document(..) => Reading::Document,
                _ => {
                    let pace = input.origin.pace().filter(|_| idle.is_some());
                    Reading::Text(input.feed(self.sizes, self.lines)?.paced(pace))
                }
            };
        }
        match (&mut *reading, &input.rows) {
            (Reading::Document, _) => {
                *reading = Reading::Done;
                let from = (&input.origin, input.compression);
                let chunk = whole(&input.path, from, input.beginning, self.sizes, buffer)?;
                Ok(Some(Piece::Text(chunk)))
            }
            (Reading::Text(feed), _) => {
                if let Some(idle) = idle
                    && !wait(feed, idle)?
                {
                    return Ok(None);
                }
                Ok(feed.next(&input.path, buffer)?.map(Piece::Text))
            }
            (Reading::RowGroup(next), Rows::Parquet(file, _)) if *next < file.row_groups() => {
                *next += 1;
                Ok(Some(Piece::RowGroup(*next - 1)))
            }
            _ => Ok(None),
        }
    }

    fn work<S: Sink>(
        &self,
        input: usize,
        piece: &Piece,
        buffer: &Buffer,
        sink: &mut S,
        control: &Control,
    ) -> Result<(), Trouble> {
        let number = input;
        let input = &self.inputs[input];
        match (&input.named, sink.sets_aside()) {
            (Some(named), false) => give_with_name((named, input), piece, buffer, sink, control),
            (Some(named), true) => {
                give_or_set_aside((number, input), piece, buffer, &mut named.before(sink), control)
            }
            (None, false) => give(input, piece, buffer, sink, control),
            (None, true) => give_or_set_aside((number, input), piece, buffer, sink, control),
        }
    }

    /// A row group may be large: its progress is told batch by batch.
    fn steps(&self, piece: &Piece) -> u64 {
        match piece {
            Piece::Text(chunk) => chunk.read,
            Piece::RowGroup(_) => 0,
        }
    }

    fn error(&self, input: usize, trouble: Trouble) -> Error {
        let input = &self.inputs[input];
        match trouble {
            Trouble::Input(error) => error,
            Trouble::Row { at, line, why } => {
                match line.map_or_else(|| line_at(&input.path, &input.origin, at), Ok) {
                    Ok(line) => Error::Row { path: input.path.clone(), line, why },
                    Err(error) => error,
                }
            }
        }
    }

    fn text<'b>(&self, input: usize, piece: &Piece, buffer: &'b Buffer) -> (&'b [u8], Position) {
        match piece {
            Piece::Text(chunk) => {
                let data = buffer.data();
                (data, Position { input, offset: chunk.start + data.len() as u64 })
            }
            Piece::RowGroup(_) => (&[], Position { input, offset: 0 }),
        }
    }

    fn rendering(&self, input: usize) -> Option<(&Style, usize)> {
        Some((self.inputs[input].style.as_ref()?, self.sizes.chunk))
    }
}

/// Gives the rows of a piece to a sink.
fn give<S: Sink>(
    input: &Input,
    piece: &Piece,
    buffer: &Buffer,
    sink: &mut S,
    control: &Control,
) -> Result<(), Trouble> {
    match (piece, &input.rows) {
        (Piece::Text(chunk), rows) => {
            let data = buffer.data();
            if let Some(mib) = chunk.too_long {
                let told = sink.bad_row(0..data.len(), BadRow::TooLong { mib });
                return told.map_err(|why| chunk.trouble(data, Fault { at: 0, why }));
            }
            let (dialect, mut comments) = (input.dialect(), 0);
            if let (Some(watch), Rows::Delimited(..)) = (&input.watch, rows) {
                watch.look(data, dialect);
            }
            let done = match binary::nul(data, Some(dialect.delimiter)) {
                None => text(rows, dialect, *chunk, data, sink, &mut comments),
                Some(_) => text_with_nul(rows, dialect, *chunk, data, sink, &mut comments),
            };
            control.add_comments(&input.path, comments);
            done.map_err(|fault| chunk.trouble(data, fault))
        }
        (Piece::RowGroup(group), Rows::Parquet(file, picked)) => {
            Ok(file.scan(*group, picked, sink, control)?)
        }
        (Piece::RowGroup(_), _) => Ok(()),
    }
}

/// Gives the rows of a piece to a sink, each with the name of the input. Not generic: the readers are compiled
/// for such rows once, not in each crate for each of its sinks.
fn give_with_name(
    (named, input): (&Named, &Input),
    piece: &Piece,
    buffer: &Buffer,
    sink: &mut dyn Sink,
    control: &Control,
) -> Result<(), Trouble> {
    give(input, piece, buffer, &mut named.before(sink), control)
}

/// Gives the rows of a piece to a sink, and sets those aside that it refuses.
fn give_or_set_aside(
    (number, input): (usize, &Input),
    piece: &Piece,
    buffer: &Buffer,
    sink: &mut dyn Sink,
    control: &Control,
) -> Result<(), Trouble> {
    let of = (number, Some(&*input.path));
    let (piece_at, names) = match (piece, &input.rows) {
        (Piece::RowGroup(group), Rows::Parquet(file, columns)) => {
            let first = file.first_row(*group);
            (first, (Names::Rows(input.shown(columns)), first + 1))
        }
        (Piece::Text(chunk), _) => {
            // Lines are counted from the beginning where rows are set aside.
            (chunk.start, (Names::Lines(buffer.data(), chunk.line.unwrap_or(1)), 0))
        }
        (Piece::RowGroup(_), _) => return Ok(()),
    };
    give(input, piece, buffer, &mut Catcher::new(of, piece_at, names, sink), control)
}

/// Gives rows on, but those in which a NUL stands as bad ones: no text has it, and what was cut off or
/// written over has. Only rows of a chunk with a NUL come this way.
struct WithoutNul<'a> {
    data: &'a [u8],
    sink: &'a mut dyn Sink,
}

impl Sink for WithoutNul<'_> {
    fn row(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        match self.data[place.clone()].contains(&0) {
            true => self.sink.bad_row(place, BadRow::Nul),
            false => self.sink.row(place, values),
        }
    }

    fn bad_row(&mut self, place: Range<usize>, why: BadRow) -> RowResult {
        self.sink.bad_row(place, why)
    }

    fn sets_aside(&self) -> bool {
        self.sink.sets_aside()
    }

    fn set_aside(&mut self, record: BadRecord<'_>) {
        self.sink.set_aside(record);
    }
}

/// Gives the rows of a chunk in which a NUL stands. Not generic, as above.
fn text_with_nul(
    rows: &Rows,
    dialect: Dialect,
    chunk: Chunk,
    data: &[u8],
    sink: &mut dyn Sink,
    comments: &mut u64,
) -> Result<(), Fault> {
    text(rows, dialect, chunk, data, &mut WithoutNul { data, sink }, comments)
}

/// Waits until a stream has something to read; false where it is not to be read on.
fn wait(feed: &Feed, idle: &Idle<'_>) -> Result<bool> {
    let mut patience = PAUSE;
    while !feed.ready(patience) {
        if !idle()? {
            return Ok(false);
        }
        patience = LONG_PAUSE;
    }
    Ok(true)
}

/// Gives the rows of a chunk to the sink, each with its place in the data, and counts comments.
fn text<S: Sink>(
    rows: &Rows,
    dialect: Dialect,
    chunk: Chunk,
    data: &[u8],
    sink: &mut S,
    comments: &mut u64,
) -> Result<(), Fault> {
    let mut is_comment = |line: &[u8]| {
        let comment = dialect.is_comment(line.first());
        *comments += u64::from(comment);
        comment
    };
    match rows {
        Rows::Lines(1) if dialect.comment.is_none() => lines::windows(data, |lines| sink.lines(lines)),
        Rows::Lines(columns) | Rows::Undoubted(columns) => {
            let doubtful = matches!(rows, Rows::Undoubted(_));
            let mut values = vec![None; *columns];
            lines::each(data, |line, place| {
                if is_comment(line) {
                    return Ok(());
                }
                if doubtful && let Some(why) = header::doubt_in_line(line) {
                    return Err(BadRow::Doubt(why).into());
                }
                values.fill(Some(line));
                sink.row(place, &values)
            })
        }
        Rows::Delimited(dialect, picks) => {
            delimited::rows(data, *dialect, chunk.quoted, picks, sink, comments)
        }
        Rows::Ndjson(paths) => {
            let mut extractor = ndjson::Extractor::new(paths);
            lines::each(data, |line, place| match line.trim_ascii() {
                [] => Ok(()),
                _ if is_comment(line) => Ok(()),
                object => match extractor.extract(object, |values| sink.row(place.clone(), values)) {
                    Ok(taken) => taken,
                    Err(why) => sink.bad_row(place, *why),
                },
            })
        }
        Rows::Document(rule, columns) => {
            let taken = match str::from_utf8(data) {
                Ok(_) => {
                    let text = document::text(*rule, data);
                    sink.row(0..data.len(), &vec![Some(&*text); *columns])
                }
                Err(fault) => sink.bad_row(0..data.len(), BadRow::DocumentNotUtf8(fault.valid_up_to() + 1)),
            };
            taken.map_err(|why| Fault { at: 0, why })
        }
        Rows::Log(fields) => log::rows(data, dialect, fields, sink, comments),
        Rows::Parquet(..) => Ok(()),
    }
}
