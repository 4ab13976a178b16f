//! Access logs in the common and the combined form, as Apache and nginx write them:
//!
//! ```text
//! 203.0.113.7 - ann [10/Oct/2025:13:55:36 -0700] "GET /a?b=1 HTTP/1.1" 200 2326 "https://x.org/" "Mozilla/5.0"
//! ```
//!
//! What clients send stands in quotes, with the quotes in it escaped. A quote that is not closed in its line
//! is a bad row, so that no client can hide the lines of others.

use memchr::{memchr, memchr2};
use tamis::key::Column;

use crate::bad_row::BadRow;
use crate::columns::{ColumnNames, NoColumn};

/// The columns of a log, in their order; the first nine have these numbers. Servers may be told to write
/// more at the end of a line: those are asked for by number.
pub(super) const NAMES: [&str; 9] =
    ["host", "ident", "user", "time", "request", "status", "bytes", "referer", "agent"];

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
const TIME: usize = 3;
const REQUEST: usize = 4;

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
    /// The whole line.
    Line,
    /// The field of this number, from 0.
    Field(usize),
    Request(Part),
}

/// Takes the asked values from lines, reusing its memory.
#[derive(Debug, Clone)]
pub(super) struct Fields {
    picks: Vec<Pick>,
    /// The fields that must be found: those before are always, as the form of a line.
    last: usize,
}

/// All columns that a log has names for.
pub(super) fn names() -> Vec<String> {
    let parts = OF_REQUEST.iter().map(|(name, _)| *name);
    NAMES[..=REQUEST].iter().copied().chain(parts).chain(NAMES[REQUEST + 1..].iter().copied()).map(str::to_owned).collect()
}

impl Fields {
    /// Those of these columns.
    pub(super) fn new(asked: &[Column]) -> Result<Fields, NoColumn> {
        let pick = |column: &Column| match column {
            Column::Line => Ok(Pick::Line),
            Column::Number(number) if *number > 0 => Ok(Pick::Field(number - 1)),
            Column::Name(name) => {
                let field = NAMES.iter().position(|other| other == name).map(Pick::Field);
                let part = OF_REQUEST.iter().find(|(other, _)| other == name).map(|(_, part)| Pick::Request(*part));
                field.or(part).ok_or_else(|| missing(column))
            }
            column => Err(missing(column)),
        };
        let picks: Vec<Pick> = asked.iter().map(pick).collect::<Result<_, _>>()?;
        let last = |pick: &Pick| match pick {
            Pick::Field(field) => field + 1,
            _ => 0,
        };
        Ok(Fields { last: picks.iter().map(last).max().unwrap_or(0).max(FIELDS), picks })
    }

    /// Gives the values of a line; a dash stands for one that is missing. Values in which something is
    /// escaped are made in `made`.
    pub(super) fn of<'l>(&self, line: &'l [u8], made: &'l mut Made) -> Result<Vec<Option<&'l [u8]>>, BadRow> {
        let mut found: [&[u8]; 16] = [b"-"; 16];
        let count = self.find(line, &mut found)?;
        made.0.clear();
        let values = self.picks.iter().map(|pick| raw(*pick, line, &found[..count])).collect::<Vec<_>>();
        // First all that is made, then what points to it: it may move as it grows.
        let ranges: Vec<_> = values.iter().map(|value| value.and_then(|value| made.unescape(value))).collect();
        let made: &'l Made = made;
        let value = |(value, range): (&Option<&'l [u8]>, &Option<std::ops::Range<usize>>)| match range {
            Some(range) => Some(&made.0[range.clone()]),
            None => *value,
        };
        Ok(values.iter().zip(&ranges).map(value).collect())
    }

    /// Finds the fields of a line, as far as they are asked for; how many there are.
    fn find<'l>(&self, line: &'l [u8], found: &mut [&'l [u8]; 16]) -> Result<usize, BadRow> {
        let mut rest = line;
        let mut count = 0;
        while count < self.last.min(found.len()) {
            let (field, after) = match rest.first() {
                None if count >= FIELDS => break,
                None => return Err(BadRow::NotALog { fields: count }),
                Some(b'[') if count == TIME => closed(&rest[1..], b']').ok_or(BadRow::NotALog { fields: count })?,
                _ if count == TIME => return Err(BadRow::NotALog { fields: count }),
                Some(b'"') => quoted(&rest[1..]).ok_or(BadRow::OpenQuote)?,
                _ if count == REQUEST => return Err(BadRow::NotALog { fields: count }),
                Some(_) => {
                    let end = memchr(b' ', rest).unwrap_or(rest.len());
                    (&rest[..end], &rest[end..])
                }
            };
            found[count] = field;
            count += 1;
            rest = match after {
                [] => after,
                [b' ', after @ ..] => after,
                _ => return Err(BadRow::AfterQuote),
            };
        }
        Ok(count)
    }
}

fn missing(column: &Column) -> NoColumn {
    NoColumn::Missing { column: column.clone(), near: None, delimiter: None, there: ColumnNames(names()) }
}

/// What stands before this byte, and what stands after it.
fn closed(text: &[u8], end: u8) -> Option<(&[u8], &[u8])> {
    let at = memchr(end, text)?;
    Some((&text[..at], &text[at + 1..]))
}

/// What stands before the next quote that is not escaped, and what stands after it.
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut at = 0;
    loop {
        at += memchr2(b'"', b'\\', &text[at..])?;
        if text[at] == b'"' {
            return Some((&text[..at], &text[at + 1..]));
        }
        at += 2; // what is escaped is no quote
        if at > text.len() {
            return None;
        }
    }
}

/// The value of a pick, as it stands there.
fn raw<'l>(pick: Pick, line: &'l [u8], found: &[&'l [u8]]) -> Option<&'l [u8]> {
    let value = match pick {
        Pick::Line => line,
        Pick::Field(field) => found.get(field)?,
        Pick::Request(part) => request(part, found.get(REQUEST)?)?,
    };
    (value != b"-" && !value.is_empty()).then_some(value)
}

/// A part of a request such as `GET /a?b HTTP/1.1`; none of what is no request.
fn request(part: Part, request: &[u8]) -> Option<&[u8]> {
    let (method, rest) = request.split_at_checked(memchr(b' ', request)?)?;
    let rest = &rest[1..];
    let is_method = method.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'-');
    let (target, protocol) = match rest.iter().rposition(|&byte| byte == b' ') {
        Some(at) if rest[at + 1..].starts_with(b"HTTP/") => (&rest[..at], Some(&rest[at + 1..])),
        _ => (rest, None), // HTTP 0.9 had none
    };
    if !is_method || method.is_empty() {
        return None;
    }
    let question = memchr(b'?', target);
    match part {
        Part::Method => Some(method),
        Part::Target => Some(target),
        Part::Path => Some(&target[..question.unwrap_or(target.len())]),
        Part::Query => question.map(|at| &target[at + 1..]),
        Part::Protocol => protocol,
    }
}

/// Memory for values in which something is escaped.
#[derive(Debug, Default)]
pub(super) struct Made(Vec<u8>);

impl Made {
    /// Puts the value here without escapes; none where it has none.
    fn unescape(&mut self, value: &[u8]) -> Option<std::ops::Range<usize>> {
        memchr(b'\\', value)?;
        let start = self.0.len();
        let mut rest = value;
        while let Some(at) = memchr(b'\\', rest) {
            self.0.extend_from_slice(&rest[..at]);
            let (byte, len) = escaped(&rest[at..]);
            self.0.push(byte);
            rest = &rest[at + len..];
        }
        self.0.extend_from_slice(rest);
        Some(start..self.0.len())
    }
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
    use super::*;

    const LINE: &str = r#"203.0.113.7 - ann [10/Oct/2025:13:55:36 -0700] "GET /a?b=1 HTTP/1.1" 200 2326 "https://x.org/" "Mozilla/5.0 (a \"b\")""#;

    fn of(line: &str, columns: &[&str]) -> Result<Vec<Option<String>>, BadRow> {
        let asked: Vec<Column> =
            columns.iter().map(|name| name.parse::<tamis::key::Field>().unwrap().column).collect();
        let mut made = Made::default();
        let values = Fields::new(&asked).unwrap().of(line.as_bytes(), &mut made)?;
        Ok(values.iter().map(|value| value.map(|text| String::from_utf8_lossy(text).into_owned())).collect())
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
            (":trim", LINE.replace("\\\"b\\\"", "\"b\"").as_str()),
        ] {
            let got = of(LINE, &[column, "host"]).unwrap();
            assert_eq!(got, [Some(value.to_owned()), Some("203.0.113.7".into())], "{column}");
        }
        assert_eq!(of(LINE, &["ident"]).unwrap(), [None], "a dash is no value");
        let common = LINE.split(" \"https").next().unwrap();
        assert_eq!(of(common, &["status", "agent"]).unwrap(), [Some("200".into()), None]);
        let longer = format!("{LINE} 0.012 \"10.0.0.1\"");
        assert_eq!(of(&longer, &["10", "11"]).unwrap(), [Some("0.012".into()), Some("10.0.0.1".into())]);
        assert!(Fields::new(&[Column::Name("nothing".into())]).is_err());
    }

    #[test]
    fn escapes_of_both_servers_are_taken_back() {
        for (agent, value) in [
            (r#"a\"b"#, "a\"b"),
            (r"a\\", "a\\"),
            (r"\x22\x09x", "\"\tx"),
            (r"\t\n", "\t\n"),
            (r"\q\x2", r"\q\x2"),
        ] {
            let line = LINE.replace(r#"Mozilla/5.0 (a \"b\")"#, agent);
            assert_eq!(of(&line, &["agent"]).unwrap(), [Some(value.to_owned())], "{agent}");
        }
    }

    #[test]
    fn what_no_server_writes_is_a_bad_row() {
        for line in [
            "",
            "a,b,c",
            "203.0.113.7 - - nothing",
            "203.0.113.7 - - [10/Oct/2025",
            r#"203.0.113.7 - - [10/Oct/2025:13:55:36 -0700] GET / 200 1"#,
            r#"203.0.113.7 - - [10/Oct/2025:13:55:36 -0700] "GET / 200 1"#,
            r#"203.0.113.7 - - [10/Oct/2025:13:55:36 -0700] "GET /"x 200 1"#,
            r#"203.0.113.7 - - [10/Oct/2025:13:55:36 -0700] "GET /\"#,
            r#"203.0.113.7 - - [10/Oct/2025:13:55:36 -0700] "GET /" 200"#,
        ] {
            assert!(of(line, &["host"]).is_err(), "{line}");
        }
        // What clients send as a request need not be one.
        let line = LINE.replace("GET /a?b=1 HTTP/1.1", r"\x16\x03\x01");
        assert_eq!(of(&line, &["method", "request"]).unwrap(), [None, Some("\u{16}\u{3}\u{1}".into())]);
        let line = LINE.replace("GET /a?b=1 HTTP/1.1", "-");
        assert_eq!(of(&line, &["path", "request"]).unwrap(), [None, None]);
    }
}
