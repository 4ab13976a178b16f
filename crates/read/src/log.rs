//! Access logs in the common and the combined form, as Apache and nginx write them:
//!
//! ```text
//! 203.0.113.7 - ann [10/Oct/2025:13:55:36 -0700] "GET /a?b=1 HTTP/1.1" 200 2326 "https://x.org/" "Mozilla/5.0"
//! ```
//!
//! What clients send stands in quotes, with the quotes in it escaped. A quote that is not closed in its line
//! is a bad row, so that no client can hide the lines of others.

use std::ops::Range;

use memchr::{memchr, memchr2, memmem, memrchr};
use tamis::key::Column;

use crate::arch::text::mask;
use crate::bad_row::BadRow;
use crate::columns::{self, NoColumn};
use crate::dialect::Dialect;
use crate::lines::{self, Fault};
use crate::listed::listed;
use crate::sink::{RowResult, Sink};

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
pub(super) struct Wrong {
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
            Column::Name(name) => {
                let field = NAMES.iter().position(|other| other == name).map(Pick::Field);
                let part = OF_REQUEST.iter().find(|(other, _)| other == name);
                let part = part.map(|(_, part)| Pick::Request(*part));
                field.or(part).ok_or_else(|| columns::missing(column, &names()))
            }
            Column::File => Err(NoColumn::NoFile),
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
        let mut found: [&[u8]; MOST] = [b""; MOST];
        let escaped = match self.usual(line, marks, &mut found) {
            Some(()) => Escaped(0),
            None => match self.find(line, &mut found) {
                Ok(escaped) => escaped,
                Err(wrong) => return sink.bad_row(place, wrong.into()),
            },
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
        found: &[&'l [u8]; MOST],
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

    /// Does what [`Fields::find`] does, of a line as servers nearly always write it: nothing is escaped, and all that is
    /// wanted has its usual place between the quotes. Of other lines, none.
    #[inline(always)]
    fn usual<'l>(&self, line: &'l [u8], marks: Marks, found: &mut [&'l [u8]; MOST]) -> Option<()> {
        let mark = |number: usize| Some((marks.places.get(number)? - marks.start) as usize);
        let mut blanks = mask(line.first_chunk()?, b' ');
        if self.wanted > AGENT + 1 || blanks.count_ones() < TIME as u32 {
            return None;
        }
        let mut start = 0;
        for field in &mut found[..TIME] {
            let end = blanks.trailing_zeros() as usize;
            *field = &line[start..end];
            start = end + 1;
            blanks &= blanks - 1;
        }
        let rest;
        (found[TIME], rest) = usually_timed(&line[start..])?;
        let (open, close) = (mark(0)?, mark(1)?);
        if open != line.len() - rest.len() || line[close] != b'"' {
            return None;
        }
        found[REQUEST] = &line[open + 1..close];
        let [b' ', status @ .., b' '] = line.get(close + 1..close + 6)? else { return None };
        found[STATUS] = status;
        let digits = &line[close + 6..];
        let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
        found[BYTES] = &digits[..end];
        if end == 0 || !status.iter().all(u8::is_ascii_digit) || !matches!(digits.get(end), None | Some(b' '))
        {
            return None;
        }
        if self.wanted <= REFERER {
            return Some(());
        }
        let places @ [open, close, second, last] = [mark(2)?, mark(3)?, mark(4)?, mark(5)?];
        let between =
            open == line.len() - digits.len() + end + 1 && second == close + 2 && line[close + 1] == b' ';
        if !between
            || places.iter().any(|&place| line[place] != b'"')
            || !matches!(line.get(last + 1), None | Some(b' '))
        {
            return None;
        }
        found[REFERER] = &line[open + 1..close];
        found[AGENT] = &line[second + 1..last];
        Some(())
    }

    /// Finds the fields of a line, as far as they are wanted. What is not there stays as it is.
    #[inline(always)]
    fn find<'l>(&self, line: &'l [u8], found: &mut [&'l [u8]; MOST]) -> Result<Escaped, Wrong> {
        let mut escaped = Escaped(0);
        let mut rest = line;
        for field in &mut found[..TIME] {
            (*field, rest) = word(rest);
        }
        (found[TIME], rest) = match usually_timed(rest).or_else(|| timed(rest)) {
            Some(time) => time,
            None => after_user(line, rest, found)?,
        };
        for (field, value) in found.iter_mut().enumerate().take(self.wanted).skip(REQUEST) {
            let wrong = |fault: &'static str| Wrong { field, fault };
            (*value, rest) = match rest {
                [b'"', text @ ..] => {
                    let Some((end, has_escapes)) = quoted(text) else {
                        return Err(wrong("opens a quote that does not close in this line"));
                    };
                    escaped.0 |= u32::from(has_escapes) << field;
                    match &text[end + 1..] {
                        [] => (&text[..end], &[][..]),
                        [b' ', after @ ..] => (&text[..end], after),
                        _ => return Err(wrong("goes on after its closing quote")),
                    }
                }
                [] if field >= FIELDS => break,
                [] => return Err(wrong("is missing")),
                _ if field == REQUEST => return Err(wrong("does not begin with a quote")),
                _ => {
                    let (value, after) = word(rest);
                    if field < REFERER && value != b"-" && !value.iter().all(u8::is_ascii_digit) {
                        return Err(wrong("is not a number"));
                    }
                    // Servers can be told to write any field without quotes.
                    escaped.0 |= u32::from(field >= REFERER && memchr(b'\\', value).is_some()) << field;
                    (value, after)
                }
            };
        }
        Ok(escaped)
    }
}

/// Which fields have a backslash in them, a bit each.
#[derive(Debug, Clone, Copy)]
struct Escaped(u32);

impl Escaped {
    /// Whether a value may have one. Fields that are never quoted are short, and looked through.
    #[inline(always)]
    fn may(self, pick: Pick, value: &[u8]) -> bool {
        let field = match pick {
            Pick::Field(field) => field,
            Pick::Request(_) => REQUEST,
        };
        match field {
            REQUEST | REFERER.. => self.0 >> field & 1 == 1,
            _ => memchr(b'\\', value).is_some(),
        }
    }
}

/// What stands before the next blank, and what stands after it.
#[inline(always)]
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    if let [b'-', b' ', rest @ ..] = text {
        return (&text[..1], rest);
    }
    match memchr(b' ', text) {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, &[]),
    }
}

/// The same as [`timed`], of a time as it is written unless somebody wants otherwise: it has one length.
#[inline(always)]
fn usually_timed(text: &[u8]) -> Option<(&[u8], &[u8])> {
    const LENGTH: usize = "10/Oct/2025:13:55:36 -0700".len();
    let (head, _) = text.split_at_checked(LENGTH + 4)?;
    let usual = head[0] == b'[' && head[3] == b'/' && head[7] == b'/' && head[LENGTH + 1..] == *b"] \"";
    // Without a branch for each byte.
    let brackets = head[1..=LENGTH].iter().fold(false, |any, byte| any | matches!(byte, b'[' | b']'));
    (usual && !brackets).then(|| (&text[1..=LENGTH], &text[LENGTH + 3..]))
}

/// A time in brackets, and the request that follows it: up to its quote, which no client can write into a
/// field before.
#[inline(always)]
fn timed(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = text.strip_prefix(b"[")?;
    let end = memchr(b']', rest)?;
    let after = rest[end + 1..].strip_prefix(b" ")?;
    let time = &rest[..end];
    (after.first() == Some(&b'"') && memchr(b'[', time).is_none()).then_some((time, after))
}

/// The same of a line with blanks in the name of its user, which a client can send; or what is wrong with it.
/// Only where `ident` is a dash, as it is everywhere today: otherwise a line with one more field at its
/// beginning would be read as something else.
#[cold]
fn after_user<'l>(
    line: &'l [u8],
    rest: &'l [u8],
    found: &mut [&'l [u8]; MOST],
) -> Result<(&'l [u8], &'l [u8]), Wrong> {
    if rest.is_empty() {
        let field = found[..TIME].iter().position(|field| field.is_empty()).unwrap_or(TIME);
        return Err(Wrong { field, fault: "is missing" });
    }
    let user = found[USER].as_ptr() as usize - line.as_ptr() as usize;
    let after = &line[user..];
    // The first quote of a line is that of the request.
    let time = memmem::find(after, b"] \"").and_then(|close| {
        let open = memmem::rfind(&after[..close], b" [")?;
        (found[IDENT] == b"-" && memrchr(b'"', &after[..close]).is_none())
            .then_some((&after[..open], &after[open + 1..]))
    });
    if let Some((name, time)) = time {
        found[USER] = name;
        if let Some(timed) = timed(time) {
            return Ok(timed);
        }
    }
    let wrong = |field, fault| Err(Wrong { field, fault });
    match rest.first() {
        Some(b'[') => match memchr(b']', rest).map(|end| &rest[end + 1..]) {
            None => wrong(TIME, "does not end with ]"),
            Some([] | [b' ']) => wrong(REQUEST, "is missing"),
            Some([b' ', ..]) => wrong(REQUEST, "does not begin with a quote"),
            Some(_) => wrong(TIME, "goes on after its closing ]"),
        },
        _ => wrong(TIME, "does not begin with ["),
    }
}

/// Where the next quote is that is not escaped, and whether there is a backslash before it.
#[inline(always)]
fn quoted(text: &[u8]) -> Option<(usize, bool)> {
    let (mut at, mut escaped) = (0, false);
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some((at, escaped));
        }
        escaped = true;
        at += 2; // what is escaped is no quote
    }
}

/// The value of a pick, as it stands there.
#[inline(always)]
fn raw<'l>(pick: Pick, found: &[&'l [u8]; MOST]) -> Option<&'l [u8]> {
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

/// Memory for the values of a row in which something is escaped.
#[derive(Debug, Default)]
pub(super) struct Made {
    text: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
}

impl Made {
    /// Takes the escapes from values.
    #[cold]
    fn unescaped<'l>(&'l mut self, values: &mut [Option<&'l [u8]>]) {
        // First all that is made, then what points to it: it may move as it grows.
        self.text.clear();
        self.ends.clear();
        for value in values.iter() {
            if let Some(value) = value {
                unescape(value, &mut self.text);
            }
            self.ends.push(self.text.len());
        }
        let mut start = 0;
        for (value, &end) in values.iter_mut().zip(&self.ends) {
            if value.is_some() {
                *value = Some(&self.text[start..end]);
            }
            start = end;
        }
    }
}

/// Appends a value without its escapes.
fn unescape(value: &[u8], to: &mut Vec<u8>) {
    let mut rest = value;
    while let Some(at) = memchr(b'\\', rest) {
        to.extend_from_slice(&rest[..at]);
        let (byte, len) = escaped(&rest[at..]);
        to.push(byte);
        rest = &rest[at + len..];
    }
    to.extend_from_slice(rest);
}

/// The byte that an escape stands for, and how long it is: `\"`, `\\`, `\n`, `\x1f`. Of another one, the
/// backslash stands for itself.
fn escaped(text: &[u8]) -> (u8, usize) {
    let hex = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    match text.get(1) {
        Some(b'"') => (b'"', 2),
        Some(b'\\') => (b'\\', 2),
        Some(b'n') => (b'\n', 2),
        Some(b'r') => (b'\r', 2),
        Some(b't') => (b'\t', 2),
        Some(b'b') => (8, 2),
        Some(b'v') => (11, 2),
        Some(b'f') => (12, 2),
        Some(b'x') => text
            .get(2..4)
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(hex)
            .map_or((b'\\', 1), |byte| (byte, 4)),
        _ => (b'\\', 1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LINE: &str = r#"203.0.113.7 - ann [10/Oct/2025:13:55:36 -0700] "GET /a?b=1 HTTP/1.1" 200 2326 "https://x.org/" "Mozilla/5.0 (a \"b\")""#;

    /// The values of a line, or what is wrong with it.
    type Values = Result<Vec<Option<Vec<u8>>>, BadRow>;

    /// Takes the values of one line, or what is wrong with it.
    #[derive(Default)]
    struct Taken(Option<Values>);

    impl Sink for Taken {
        fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
            self.0 = Some(Ok(values.iter().map(|value| value.map(<[u8]>::to_vec)).collect()));
            Ok(())
        }

        fn bad_row(&mut self, _: Range<usize>, why: BadRow) -> RowResult {
            self.0 = Some(Err(why));
            Ok(())
        }
    }

    /// Takes all lines: where each is, and its values or what is wrong with it.
    #[derive(Default)]
    struct All(Vec<(Range<usize>, Values)>);

    impl Sink for All {
        fn row(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
            let values = values.iter().map(|value| value.map(<[u8]>::to_vec)).collect();
            self.0.push((place, Ok(values)));
            Ok(())
        }

        fn bad_row(&mut self, place: Range<usize>, why: BadRow) -> RowResult {
            self.0.push((place, Err(why)));
            Ok(())
        }
    }

    fn bytes_of(line: &[u8], columns: &[&str]) -> Values {
        let asked: Vec<Column> =
            columns.iter().map(|name| name.parse::<tamis::key::Field>().unwrap().column).collect();
        let (mut made, mut taken) = (Made::default(), Taken::default());
        Fields::new(&asked)
            .unwrap()
            .row(line, Marks::default(), 0..line.len(), &mut made, &mut taken)
            .unwrap();
        taken.0.unwrap()
    }

    fn of(line: &str, columns: &[&str]) -> Result<Vec<Option<String>>, BadRow> {
        let text = |value: Vec<u8>| String::from_utf8(value).unwrap();
        Ok(bytes_of(line.as_bytes(), columns)?.into_iter().map(|value| value.map(text)).collect())
    }

    fn wrong(line: &str) -> (usize, &'static str) {
        match of(line, &["host", "agent"]) {
            Err(BadRow::NotALog { field, fault, .. }) => (field, fault),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn every_field_has_a_name_and_a_number() {
        for (column, value) in [
            ("host", "203.0.113.7"),
            ("1", "203.0.113.7"),
            ("user", "ann"),
            ("time", "10/Oct/2025:13:55:36 -0700"),
            ("request", "GET /a?b=1 HTTP/1.1"),
            ("method", "GET"),
            ("target", "/a?b=1"),
            ("path", "/a"),
            ("query", "b=1"),
            ("protocol", "HTTP/1.1"),
            ("status", "200"),
            ("bytes", "2326"),
            ("referer", "https://x.org/"),
            ("agent", "Mozilla/5.0 (a \"b\")"),
            ("9", "Mozilla/5.0 (a \"b\")"),
        ] {
            let got = of(LINE, &[column, "host"]).unwrap();
            assert_eq!(got, [Some(value.to_owned()), Some("203.0.113.7".into())], "{column}");
        }
        assert_eq!(of(LINE, &["ident"]).unwrap(), [None], "a dash is no value");
        let common = LINE.split(" \"https").next().unwrap();
        assert_eq!(of(common, &["status", "agent"]).unwrap(), [Some("200".into()), None]);
        let longer = format!("{LINE} 0.012 \"10.0.0.1\"");
        assert_eq!(of(&longer, &["10", "11"]).unwrap(), [Some("0.012".into()), Some("10.0.0.1".into())]);
        assert_eq!(of(&longer, &["12", "16"]).unwrap(), [None, None]);
    }

    #[test]
    fn more_values_than_lie_on_the_stack_are_given_too() {
        let columns =
            ["agent", "host", "referer", "9", "agent", "user", "status", "agent", "time", "request"];
        let got = of(LINE, &columns).unwrap();
        assert_eq!(got.len(), 10);
        for (column, value) in columns.iter().zip(got) {
            assert_eq!(of(LINE, &[column]).unwrap(), [value], "{column}");
        }
    }

    #[test]
    fn columns_that_no_log_has_are_refused() {
        let refused = |column: Column| Fields::new(&[column]).unwrap_err();
        for number in [0, 17, usize::MAX] {
            assert_eq!(refused(Column::Number(number)), NoColumn::NumberInLog { number, most: MOST });
        }
        let why = refused(Column::Name("Agent".into())).to_string();
        assert!(why.contains("did you mean \"agent\"?") && why.contains("14 columns"), "{why}");
    }

    #[test]
    fn escapes_of_both_servers_are_taken_back() {
        for (agent, value) in [
            (r#"a\"b"#, "a\"b"),
            (r"a\\", "a\\"),
            (r"\x22\x09x", "\"\tx"),
            (r"\t\n", "\t\n"),
            (r"\q\x2", r"\q\x2"),
            (r#"\""#, "\""),
            ("a,b\tc", "a,b\tc"),
        ] {
            let line = LINE.replace(r#"Mozilla/5.0 (a \"b\")"#, agent);
            assert_eq!(of(&line, &["agent"]).unwrap(), [Some(value.to_owned())], "{agent}");
        }
    }

    #[test]
    fn what_no_server_writes_is_a_bad_row_that_says_which_field_is_wrong() {
        let timed = "203.0.113.7 - - [10/Oct/2025:13:55:36 -0700]";
        for (line, field, fault) in [
            ("", 1, "is missing"),
            ("a,b,c", 2, "is missing"),
            ("203.0.113.7 - -", 4, "is missing"),
            ("203.0.113.7 - - nothing", 4, "does not begin with ["),
            ("203.0.113.7 - - [10/Oct/2025", 4, "does not end with ]"),
            ("203.0.113.7 - - [10/Oct/2025]x", 4, "goes on after its closing ]"),
            (timed, 5, "is missing"),
            (&format!("{timed} GET / 200 1"), 5, "does not begin with a quote"),
            (&format!("{timed} \"GET / 200 1"), 5, "opens a quote that does not close in this line"),
            (&format!("{timed} \"GET /\"x 200 1"), 5, "goes on after its closing quote"),
            (&format!("{timed} \"GET /\\"), 5, "opens a quote that does not close in this line"),
            ("1.1.1.1 - - [10/Oct/2025:13:55:3] -0700] \"GET /\" 200 1", 5, "does not begin with a quote"),
            (&format!("{timed} \"GET /\" 200"), 7, "is missing"),
            (&format!("{timed} \"GET /a\" b HTTP/1.1\" 200 1 \"-\" \"x\""), 6, "is not a number"),
            (&format!("{timed} \"GET /\" 200 1x \"-\" \"x\""), 7, "is not a number"),
            (&format!("{timed} \"GET /\" 200 1 \"-\" \"\"\""), 9, "goes on after its closing quote"),
            (
                &format!("{timed} \"GET /\" 200 1 \"-\" \""),
                9,
                "opens a quote that does not close in this line",
            ),
            // One more field at the beginning, as some servers write for several names.
            (&format!("x.org:80 {timed} \"GET /\" 200 1"), 4, "does not begin with ["),
        ] {
            assert_eq!(wrong(line), (field, fault), "{line}");
        }
        // What clients send as a request need not be one.
        let line = LINE.replace("GET /a?b=1 HTTP/1.1", r"\x16\x03\x01");
        assert_eq!(of(&line, &["method", "request"]).unwrap(), [None, Some("\u{16}\u{3}\u{1}".into())]);
        for nothing in ["-", ""] {
            let line = LINE.replace("GET /a?b=1 HTTP/1.1", nothing);
            assert_eq!(of(&line, &["path", "request", "status"]).unwrap(), [None, None, Some("200".into())]);
        }
    }

    #[test]
    fn the_name_of_a_user_may_have_blanks_and_brackets() {
        for user in ["ann lee", "a [b", "a [10/Oct/2024:00:00:00 +0000]", "a [b] c", "] [", " ", "a "] {
            let line = LINE.replace("ann", user);
            let got = of(&line, &["user", "time", "status"]).unwrap();
            let wanted = [user, "10/Oct/2025:13:55:36 -0700", "200"];
            assert_eq!(got, wanted.map(|text| Some(text.to_owned())), "{user:?}");
        }
    }

    #[test]
    fn the_time_of_a_line_is_the_moment_with_its_zone() {
        let time = bytes_of(LINE.as_bytes(), &["time"]).unwrap();
        let moment = crate::calendar::moment(time[0].as_ref().unwrap(), None);
        assert_eq!(moment, crate::calendar::moment(b"2025-10-10T20:55:36Z", None));
        assert!(moment.is_some());
    }

    /// As Apache writes what clients send.
    fn by_apache(text: &[u8]) -> Vec<u8> {
        let escape = |&byte: &u8| match byte {
            b'"' => b"\\\"".to_vec(),
            b'\\' => b"\\\\".to_vec(),
            b'\n' => b"\\n".to_vec(),
            b'\r' => b"\\r".to_vec(),
            b'\t' => b"\\t".to_vec(),
            8 => b"\\b".to_vec(),
            11 => b"\\v".to_vec(),
            32..127 => vec![byte],
            _ => format!("\\x{byte:02x}").into_bytes(),
        };
        text.iter().flat_map(escape).collect()
    }

    /// As nginx does.
    fn by_nginx(text: &[u8]) -> Vec<u8> {
        let escape = |&byte: &u8| match byte {
            b'"' | b'\\' | 0..32 | 127.. => format!("\\x{byte:02X}").into_bytes(),
            _ => vec![byte],
        };
        text.iter().flat_map(escape).collect()
    }

    fn agent() -> impl Strategy<Value = Vec<u8>> {
        let odd = prop::sample::select(&b"\"\\xn[] \t\n-,'2\xff"[..]);
        prop::collection::vec(prop_oneof![odd, any::<u8>()], 0..40)
    }

    proptest! {
        #[test]
        fn what_clients_send_comes_back(agent in agent(), referer in agent()) {
            for escape in [by_apache, by_nginx] {
                let mut line = LINE.split(" \"https").next().unwrap().as_bytes().to_vec();
                for sent in [&referer, &agent] {
                    line.extend_from_slice(b" \"");
                    line.extend(escape(sent));
                    line.push(b'"');
                }
                let value = |sent: &Vec<u8>| (!sent.is_empty() && sent != b"-").then(|| sent.clone());
                let got = bytes_of(&line, &["agent", "host", "referer"]).unwrap();
                prop_assert_eq!(got, vec![value(&agent), Some(b"203.0.113.7".to_vec()), value(&referer)]);
            }
        }

        #[test]
        fn lines_are_read_alike_with_and_without_a_list_of_their_quotes(
            lines in prop::collection::vec((agent(), agent(), 0..6usize, 0..200usize, any::<u8>()), 1..8),
            columns in prop::sample::subsequence(vec!["host", "user", "time", "path", "status", "bytes", "referer", "agent", "10"], 1..4),
            long in 0..3usize,
            end in prop::sample::select(&["", "\n", "\r\n"][..]),
        ) {
            let mut text = Vec::new();
            for (i, (referer, agent, change, at, byte)) in lines.iter().enumerate() {
                let mut line = LINE.split(" \"https").next().unwrap().as_bytes().to_vec();
                for sent in [referer, agent] {
                    // Most clients send nothing that is escaped.
                    let sent: Vec<u8> = if *change > 0 { sent.iter().map(|byte| b'a' + byte % 26).collect() } else { by_apache(sent) };
                    line.extend([&b" \""[..], &sent, b"\""].concat());
                }
                let at = at % line.len();
                match change {
                    1 => line[at] = *byte,
                    2 => line.truncate(at),
                    3 => line.insert(at, b"\" \\]"[usize::from(*byte) % 4]),
                    4 if i == 0 => line.extend(vec![b'x'; long * 700_000]),
                    _ => {}
                }
                text.extend(line);
                text.extend(if i + 1 < lines.len() { b"\n" } else { end.as_bytes() });
            }
            let asked: Vec<Column> =
                columns.iter().map(|name| name.parse::<tamis::key::Field>().unwrap().column).collect();
            let fields = Fields::new(&asked).unwrap();
            let dialect = Dialect { delimiter: b' '.into(), quotes: crate::Quotes::None, comment: Some(b'#') };
            let (mut with, mut without) = (All::default(), All::default());
            rows(&text, dialect, &fields, &mut with, &mut 0).unwrap();
            lines::each(&text, |line, place| {
                if line[0] == b'#' { return Ok(()) }
                fields.row(line, Marks::default(), place, &mut Made::default(), &mut without)
            }).unwrap();
            prop_assert_eq!(with.0, without.0);
        }

        #[test]
        fn any_line_is_read_or_refused(line in prop::collection::vec(any::<u8>(), 0..80), cut in 0..150usize) {
            let _ = bytes_of(&line, &["agent", "path", "16"]);
            let _ = bytes_of(&LINE.as_bytes()[..cut.min(LINE.len())], &["agent", "query", "16"]);
        }
    }
}
