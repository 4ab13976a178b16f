//! Bad rows that are set aside: each becomes a record that says where it stands, what is wrong with it and
//! what it is, and the reading goes on.
//!
//! A record is a line of JSON. A row of text has `input`, `line`, `reason` and `text`: its bytes without the
//! LF that ends it. Bytes that are not UTF-8 are in `hex` instead. Of a row that is longer than
//! [`LONGEST`] bytes the beginning is kept, and `length` says how long it is. A row without text (of
//! Parquet, of a table in memory) has `row` in place of `line` and `values` in place of `text`.

use std::ops::Range;
use std::path::Path;

use crate::bad_row::{BadRow, skip_bad_rows};
use crate::delimited::newlines;
use crate::refusal::Refusal;
use crate::render::json_string;
use crate::sink::{RowResult, Sink};

/// Bytes of a row that are kept.
pub const LONGEST: usize = 1 << 20;

/// A bad row that is set aside.
#[derive(Debug)]
pub struct BadRecord<'r> {
    /// The number of its input.
    pub input: usize,
    /// The piece of the input that it stands in; pieces are read side by side, the rows of one in order.
    pub piece: u64,
    /// Its place in the input: bytes of text, or rows, that stand before it.
    pub at: u64,
    /// Its place in the text of the piece, with its line end; `0..0` where rows have no text.
    pub place: Range<usize>,
    /// What is written of it: a line of JSON.
    pub text: &'r [u8],
}

/// What the rows of a piece are called.
pub(super) enum Names<'a> {
    /// By their lines: text, and the number of its first line.
    Lines(&'a [u8], u64),
    /// By their numbers, and their values by the names of columns; some of these stand twice.
    Rows(Vec<Option<&'a str>>),
}

/// Gives rows on to a sink; what it refuses is set aside, if it is a row that could be left out.
pub(super) struct Catcher<'a> {
    input: usize,
    path: Option<&'a Path>,
    piece: u64,
    names: Names<'a>,
    /// The number that the next row has, or that of the line at the place that was looked at last.
    next: u64,
    looked: usize,
    text: Vec<u8>,
    sink: &'a mut dyn Sink,
}

impl<'a> Catcher<'a> {
    /// For the rows of a piece, which begins there; rows are numbered from `first` on.
    pub(super) fn new(
        (input, path): (usize, Option<&'a Path>),
        piece: u64,
        (names, first): (Names<'a>, u64),
        sink: &'a mut dyn Sink,
    ) -> Catcher<'a> {
        let next = if let Names::Lines(_, line) = names { line } else { first };
        Catcher { input, path, piece, names, next, looked: 0, text: Vec::new(), sink }
    }

    #[cold]
    fn set_aside(&mut self, place: Range<usize>, values: &[Option<&[u8]>], why: &dyn Refusal) {
        self.text.clear();
        self.text.push(b'{');
        if let Some(path) = self.path {
            member("input", &mut self.text);
            bytes(path.as_os_str().as_encoded_bytes(), &mut self.text);
            self.text.push(b',');
        }
        let at = match &self.names {
            Names::Lines(data, _) => {
                // Rows come in their order: what stands before this one is looked through once.
                self.next += data.get(self.looked..place.start).map_or(0, newlines);
                self.looked = place.start;
                number("line", self.next, &mut self.text);
                self.piece + place.start as u64
            }
            Names::Rows(_) => {
                number("row", self.next, &mut self.text);
                self.next
            }
        };
        self.text.push(b',');
        member("reason", &mut self.text);
        json_string(why.to_string().as_bytes(), &mut self.text);
        self.text.push(b',');
        match &self.names {
            Names::Lines(data, _) => {
                let row = &data[place.clone()];
                kept(row.strip_suffix(b"\n").unwrap_or(row), &mut self.text);
            }
            Names::Rows(names) => {
                member("values", &mut self.text);
                object(names, values, &mut self.text);
            }
        }
        self.text.extend_from_slice(b"}\n");
        let (input, piece) = (self.input, self.piece);
        self.sink.set_aside(BadRecord { input, piece, at, place, text: &self.text });
    }
}

impl Sink for Catcher<'_> {
    fn row(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        let done = match self.sink.row(place.clone(), values) {
            Err(why) if can_be_left_out(&*why) => {
                self.set_aside(place, values, &*why);
                Ok(())
            }
            done => done,
        };
        self.next += u64::from(matches!(self.names, Names::Rows(_)));
        done
    }

    fn bad_row(&mut self, place: Range<usize>, why: BadRow) -> RowResult {
        match self.sink.bad_row(place.clone(), why) {
            Err(why) if can_be_left_out(&*why) => {
                self.set_aside(place, &[], &*why);
                Ok(())
            }
            done => done,
        }
    }
}

/// Whether a row can be left out: that is what its refusal offers then.
fn can_be_left_out(why: &dyn Refusal) -> bool {
    why.help().contains(&skip_bad_rows())
}

fn member(name: &str, out: &mut Vec<u8>) {
    json_string(name.as_bytes(), out);
    out.push(b':');
}

fn number(name: &str, value: u64, out: &mut Vec<u8>) {
    member(name, out);
    out.extend_from_slice(value.to_string().as_bytes());
}

/// A text, or its bytes, and its length where that is not all.
fn kept(all: &[u8], out: &mut Vec<u8>) {
    let mut kept = &all[..all.len().min(LONGEST)];
    // Where the cut goes through a character, this is not a reason to show bytes.
    if kept.len() < all.len()
        && let Err(error) = std::str::from_utf8(kept)
        && error.error_len().is_none()
    {
        kept = &kept[..error.valid_up_to()];
    }
    match std::str::from_utf8(kept) {
        Ok(_) => {
            member("text", out);
            json_string(kept, out);
        }
        Err(_) => hex(kept, out),
    }
    if kept.len() < all.len() {
        out.push(b',');
        number("length", all.len() as u64, out);
    }
}

/// The values of a row by the names of their columns, each once.
fn object(names: &[Option<&str>], values: &[Option<&[u8]>], out: &mut Vec<u8>) {
    let begin = out.len();
    for (name, value) in names.iter().zip(values) {
        let Some(name) = name else { continue };
        out.push(if out.len() == begin { b'{' } else { b',' });
        member(name, out);
        match value {
            None => out.extend_from_slice(b"null"),
            Some(value) => bytes(value, out),
        }
    }
    if out.len() == begin {
        out.push(b'{');
    }
    out.push(b'}');
}

/// A string; of bytes that are no text, or too many, an object.
fn bytes(value: &[u8], out: &mut Vec<u8>) {
    if value.len() <= LONGEST && std::str::from_utf8(value).is_ok() {
        return json_string(value, out);
    }
    out.push(b'{');
    kept(value, out);
    out.push(b'}');
}

/// Bytes by two hexadecimal digits each.
fn hex(value: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    member("hex", out);
    out.push(b'"');
    out.extend(value.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| DIGITS[usize::from(digit)]));
    out.push(b'"');
}

#[cfg(test)]
mod tests;
