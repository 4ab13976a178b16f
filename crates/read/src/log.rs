//! Access logs in the common and the combined form, as Apache and nginx write them:
//!
//! ```text
//! 203.0.113.7 - ann [10/Oct/2025:13:55:36 -0700] "GET /a?b=1 HTTP/1.1" 200 2326 "https://x.org/" "Mozilla/5.0"
//! ```
//!
//! What clients send stands in quotes, with the quotes in it escaped. A quote that is not closed in its line
//! is a bad row, so that no client can hide the lines of others.
//!
//! Here are the columns, and the values that are asked for; `line` finds the fields of a line, `escapes` takes
//! back what was escaped.

mod escapes;
mod line;
#[cfg(test)]
mod tests;

use std::ops::Range;

use memchr::{memchr, memrchr};
use tamis::key::Column;

use crate::bad_row::BadRow;
use crate::columns::{self, NoColumn};
use crate::dialect::Dialect;
use crate::lines::{self, Fault};
use crate::listed::listed;
use crate::sink::{RowResult, Sink};

pub(super) use self::escapes::Made;

use self::line::{Escaped, Found};

/// The columns of a log, in their order; the first nine have these numbers. Servers may be told to write
/// more at the end of a line: those are asked for by number.
const NAMES: [&str; 9] = ["host", "ident", "user", "time", "request", "status", "bytes", "referer", "agent"];

/// What stands within the request.
const OF_REQUEST: [(&str, Part); 5] = [
    ("method", Part::Method),
    ("target", Part::Target),
    ("path", Part::Path),
    ("query", Part::Query),
    ("protocol", Part::Protocol),
];

/// The fields that every line has: up to the number of bytes.
const FIELDS: usize = 7;
const IDENT: usize = 1;
const USER: usize = 2;
const TIME: usize = 3;
const REQUEST: usize = 4;
const STATUS: usize = 5;
const BYTES: usize = 6;
const REFERER: usize = 7;
const AGENT: usize = 8;

/// The fields of a line that can be asked for.
const MOST: usize = 16;

/// Up to this many values of a row lie on the stack.
const ON_STACK: usize = 8;

/// A part of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Method,
    Target,
    Path,
    Query,
    Protocol,
}

/// A value that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pick {
    /// The field of this number, from 0.
    Field(usize),
    Request(Part),
}

/// Takes the asked values from lines.
#[derive(Debug, Clone)]
pub(super) struct Fields {
    picks: Vec<Pick>,
    /// The fields that are looked for: those that every line has, and up to the last that is asked.
    wanted: usize,
    /// Whether a line may have more than is asked for.
    more: More,
}

/// What is done with fields beyond those that have names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum More {
    /// They are passed over.
    Passed,
    /// They are wrong: all of a line is asked for, and they have no names.
    Wrong,
}

/// The field of a line that is not as servers write it, and what is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wrong {
    field: usize,
    fault: &'static str,
}

impl From<Wrong> for BadRow {
    fn from(wrong: Wrong) -> BadRow {
        let name = NAMES.get(wrong.field).copied();
        BadRow::NotALog { field: wrong.field + 1, name, fault: wrong.fault }
    }
}

/// All columns that a log has names for.
pub(super) fn names() -> Vec<String> {
    let (before, after) = NAMES.split_at(REQUEST + 1);
    let parts = OF_REQUEST.iter().map(|(name, _)| name);
    before.iter().chain(parts).chain(after).map(|name| (*name).to_owned()).collect()
}

/// The first column that is asked for, if this is a line of a log that has them all.
pub(super) fn first_value(line: &[u8], asked: &[Column]) -> Option<Vec<u8>> {
    /// Takes one value.
    struct One(Option<Vec<u8>>);

    impl Sink for One {
        fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
            self.0 = Some(values.first().copied().flatten().unwrap_or(b"-").to_vec());
            Ok(())
        }
    }

    let mut one = One(None);
    Fields::new(asked).ok()?.row(line, Marks::default(), 0..0, &mut Made::default(), &mut one).ok()?;
    one.0
}

/// Gives the asked values of every line.
pub(super) fn rows<S: Sink>(
    data: &[u8],
    dialect: Dialect,
    fields: &Fields,
    sink: &mut S,
    comments: &mut u64,
) -> Result<(), Fault> {
    let mut made = Made::default();
    let mut row = |line: &[u8], marks: Marks, place: Range<usize>| {
        if dialect.is_comment(line.first()) {
            *comments += 1;
            return Ok(());
        }
        fields.row(line, marks, place, &mut made, sink)
    };
    let walked = listed(data, *b"\"\\", |window, base, ends| {
        for marks in ends.rows() {
            let [before, marks @ .., end] = marks else { continue };
            let (start, end) = (before.wrapping_add(1) as usize, *end as usize);
            let after = window.len().min(end + 1);
            let line = match window[start..end].strip_suffix(b"\r") {
                Some(line) if after > end => line,
                _ => &window[start..end],
            };
            if !line.is_empty() {
                let marks = Marks { places: marks, start: start as u32 };
                row(line, marks, base + start..base + after)
                    .map_err(|why| Fault { at: base + start, why })?;
            }
        }
        Ok(())
    })?;
    lines::each(&data[walked..], |line, place| {
        row(line, Marks::default(), walked + place.start..walked + place.end)
    })
    .map_err(|fault| Fault { at: walked + fault.at, ..fault })
}

/// Where quotes and backslashes stand in a line that begins at `start`; none where nobody looked.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Marks<'m> {
    places: &'m [u32],
    start: u32,
}

impl Fields {
    /// Those of these columns.
    pub(super) fn new(asked: &[Column]) -> Result<Fields, NoColumn> {
        let pick = |column: &Column| match column {
            Column::Line => Err(columns::not_chosen(&names())),
            Column::Number(number @ 1..=MOST) => Ok(Pick::Field(number - 1)),
            Column::Number(number) => Err(NoColumn::NumberInLog { number: *number, most: MOST }),
            Column::Name(name) | Column::List(name) => {
                let field = NAMES.iter().position(|other| other == name).map(Pick::Field);
                let part = OF_REQUEST.iter().find(|(other, _)| other == name);
                let part = part.map(|(_, part)| Pick::Request(*part));
                field.or(part).ok_or_else(|| columns::missing(column, &names()))
            }
            Column::File => Err(NoColumn::NoFile),
            Column::Text(_) => Err(NoColumn::NoDocument),
        };
        let picks: Vec<Pick> = asked.iter().map(pick).collect::<Result<_, _>>()?;
        let last = |pick: &Pick| match pick {
            Pick::Field(field) => field + 1,
            _ => 0,
        };
        let wanted = picks.iter().map(last).max().unwrap_or(0).max(FIELDS);
        Ok(Fields { picks, wanted, more: More::Passed })
    }

    /// Adds all that has a name, in its order. Lines that have more are wrong from here on.
    pub(super) fn add_all(&mut self) {
        let named: Vec<Column> = names().into_iter().map(Column::Name).collect();
        self.picks.extend(Fields::new(&named).map(|fields| fields.picks).unwrap_or_default());
        self.wanted = MOST;
        self.more = More::Wrong;
    }

    /// Gives the values of a line to the sink, or tells it what is wrong with the line.
    #[inline(always)]
    pub(super) fn row<S: Sink>(
        &self,
        line: &[u8],
        marks: Marks,
        place: Range<usize>,
        made: &mut Made,
        sink: &mut S,
    ) -> RowResult {
        let mut found: Found = [b""; MOST];
        let escaped = match line::cut(line, marks, self.wanted, &mut found) {
            Ok(escaped) => escaped,
            Err(wrong) => return sink.bad_row(place, wrong.into()),
        };
        if self.more == More::Wrong && found[AGENT + 1..].iter().any(|field| !field.is_empty()) {
            let wrong = Wrong { field: AGENT + 1, fault: "has no name, and so is no column of Parquet" };
            return sink.bad_row(place, wrong.into());
        }
        match self.picks.len() {
            0..=ON_STACK => {
                let values = &mut [None; ON_STACK][..self.picks.len()];
                self.fill(&found, escaped, made, values);
                sink.row(place, values)
            }
            many => {
                let mut values = vec![None; many];
                self.fill(&found, escaped, made, &mut values);
                sink.row(place, &values)
            }
        }
    }

    /// Puts the asked values here; a dash stands for one that is missing. Values in which something is
    /// escaped are made in `made`.
    #[inline(always)]
    fn fill<'l>(
        &self,
        found: &Found<'l>,
        escaped: Escaped,
        made: &'l mut Made,
        values: &mut [Option<&'l [u8]>],
    ) {
        let mut any = false;
        for (pick, value) in self.picks.iter().zip(values.iter_mut()) {
            *value = raw(*pick, found);
            any |= value.is_some_and(|value| escaped.may(*pick, value));
        }
        if any {
            made.unescaped(values);
        }
    }
}

/// The value of a pick, as it stands there.
#[inline(always)]
fn raw<'l>(pick: Pick, found: &Found<'l>) -> Option<&'l [u8]> {
    let value = match pick {
        Pick::Field(field) => found[field],
        Pick::Request(part) => request(part, found[REQUEST])?,
    };
    (value != b"-" && !value.is_empty()).then_some(value)
}

/// A part of a request such as `GET /a?b HTTP/1.1`; none of what is no request.
fn request(part: Part, request: &[u8]) -> Option<&[u8]> {
    let (method, rest) = request.split_at_checked(memchr(b' ', request)?)?;
    let rest = &rest[1..];
    let is_method = method.iter().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'-' | b'_'));
    if !is_method || method.is_empty() {
        return None;
    }
    let (target, protocol) = match memrchr(b' ', rest) {
        Some(at) if rest[at + 1..].starts_with(b"HTTP/") => (&rest[..at], Some(&rest[at + 1..])),
        _ => (rest, None), // HTTP 0.9 had none
    };
    let question = memchr(b'?', target);
    match part {
        Part::Method => Some(method),
        Part::Target => Some(target),
        Part::Path => Some(&target[..question.unwrap_or(target.len())]),
        Part::Query => question.map(|at| &target[at + 1..]),
        Part::Protocol => protocol,
    }
}
