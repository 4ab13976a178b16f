//! Text whose quotes end in their line: logs, and columns apart by runs of blanks.
//!
//! A field that begins with a quote runs to the next one in its line that has no backslash before it;
//! `\"` in it is a quote and `\\` a backslash, and any other backslash stays. A quote that does not
//! close in its line, and text after one that does, make a bad row: never more than that line.

use std::ops::Range;

use memchr::{memchr, memchr2};

use super::Sink;
use super::delimited::{Row, emptied};
use super::dialect::{Dialect, Picks};
use super::lines::{self, Fault};
use super::options::{Delimiter, Quotes};
use crate::BadRow;

/// Where the text of a field stands in its line.
#[derive(Debug, Clone, Copy)]
struct Span {
    from: usize,
    to: usize,
    /// Whether backslashes in it mean the next character.
    escaped: bool,
}

/// Gives the asked fields of every line.
pub(super) fn rows<S: Sink>(
    data: &[u8],
    dialect: Dialect,
    picks: &Picks,
    sink: &mut S,
    comments: &mut u64,
) -> Result<(), Fault> {
    let (mut spans, mut built) = (Vec::new(), Vec::new());
    let mut texts: Vec<Range<usize>> = Vec::new();
    let mut spare: Vec<Option<&[u8]>> = Vec::new();
    let mut rows = |line: &[u8], place: Range<usize>| -> Result<(), Fault> {
        let at = place.start;
        if dialect.is_comment(line.first()) {
            *comments += 1;
            return Ok(());
        }
        if let Err(why) = split(line, dialect, &mut spans) {
            return sink.bad_row(place, why).map_err(|why| Fault { at, why });
        }
        let Some(last) = spans.last() else { return Ok(()) };
        let last_is_empty = last.from == last.to;
        if picks.is_wrong(spans.len()) && !picks.wrong(sink, place.clone(), spans.len(), last_is_empty)? {
            return Ok(());
        }
        built.clear();
        texts.clear();
        for &field in &picks.fields {
            let from = built.len();
            if spans[field].escaped {
                unescape(&line[spans[field].from..spans[field].to], &mut built);
            }
            texts.push(from..built.len());
        }
        let mut values = emptied(std::mem::take(&mut spare));
        for (&field, text) in picks.fields.iter().zip(&texts) {
            let span = spans[field];
            values.push(Some(if span.escaped { &built[text.clone()] } else { &line[span.from..span.to] }));
        }
        let taken = sink.row(place, &values).map_err(|why| Fault { at, why });
        spare = emptied(values);
        taken
    };
    lines::windows(data, |mut lines| lines.try_for_each(|(line, place)| rows(line, place)))
}

/// The fields of the line that begins here; `None` where it does not end in `data`, which is not all
/// there is (`whole`).
pub(super) fn first_row(
    data: &[u8],
    mut start: usize,
    dialect: Dialect,
    whole: bool,
) -> Result<Option<Row>, Fault> {
    let mut spans = Vec::new();
    while start < data.len() {
        let (line, next) = match memchr(b'\n', &data[start..]) {
            Some(end) => (lines::without_return(&data[start..start + end]), start + end + 1),
            None if whole => (&data[start..], data.len()),
            None => return Ok(None),
        };
        if dialect.is_comment(line.first()) {
            start = next;
            continue;
        }
        split(line, dialect, &mut spans).map_err(|why| Fault { at: start, why: why.into() })?;
        if !spans.is_empty() {
            let text = |span: &Span| {
                let mut text = Vec::new();
                match span.escaped {
                    true => unescape(&line[span.from..span.to], &mut text),
                    false => text.extend_from_slice(&line[span.from..span.to]),
                }
                text
            };
            return Ok(Some((spans.iter().map(text).collect(), next)));
        }
        start = next;
    }
    Ok(whole.then(|| (Vec::new(), data.len())))
}

/// Where the fields of a line stand. A line of nothing but blanks that separate has none.
fn split(line: &[u8], dialect: Dialect, spans: &mut Vec<Span>) -> Result<(), BadRow> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let end_of = |from: usize| match dialect.delimiter {
        Delimiter::Byte(byte) => memchr(byte, &line[from..]),
        Delimiter::Whitespace => memchr2(b' ', b'\t', &line[from..]),
    };
    // Where the next field begins after one that ended here.
    let after = |end: usize| match dialect.delimiter {
        Delimiter::Byte(_) => (end < line.len()).then_some(end + 1),
        Delimiter::Whitespace => {
            let from = end + line[end..].iter().take_while(|byte| is_blank(byte)).count();
            (from < line.len()).then_some(from)
        }
    };
    spans.clear();
    let mut next = match dialect.delimiter {
        Delimiter::Byte(_) => Some(0),
        Delimiter::Whitespace => after(0),
    };
    while let Some(from) = next {
        let (span, end) = if dialect.quotes == Quotes::Log && line.get(from) == Some(&b'"') {
            let (close, escaped) = closing(line, from + 1).ok_or(BadRow::OpenInLine)?;
            let end = end_of(close + 1).map_or(line.len(), |at| close + 1 + at);
            if end > close + 1 {
                return Err(BadRow::AfterQuote);
            }
            (Span { from: from + 1, to: close, escaped }, end)
        } else {
            let end = end_of(from).map_or(line.len(), |at| from + at);
            (Span { from, to: end, escaped: false }, end)
        };
        spans.push(span);
        next = after(end);
    }
    Ok(())
}

/// The next quote without a backslash before it, and whether any backslash means something.
fn closing(line: &[u8], mut from: usize) -> Option<(usize, bool)> {
    let mut escaped = false;
    loop {
        let at = from + memchr2(b'"', b'\\', line.get(from..)?)?;
        if line[at] == b'"' {
            return Some((at, escaped));
        }
        escaped = true;
        from = at + 2;
    }
}

/// Appends the text without the backslashes before quotes and backslashes.
fn unescape(text: &[u8], to: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr(b'\\', rest) {
        to.extend_from_slice(&rest[..at]);
        match rest[at + 1..] {
            [byte @ (b'"' | b'\\'), ..] => {
                to.push(byte);
                rest = &rest[at + 2..];
            }
            _ => {
                to.push(b'\\');
                rest = &rest[at + 1..];
            }
        }
    }
    to.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str, delimiter: Delimiter, quotes: Quotes) -> Result<Vec<String>, BadRow> {
        let mut spans = Vec::new();
        split(line.as_bytes(), Dialect { delimiter, quotes, comment: None }, &mut spans)?;
        let text = |span: &Span| {
            let mut text = Vec::new();
            let raw = &line.as_bytes()[span.from..span.to];
            if span.escaped {
                unescape(raw, &mut text)
            } else {
                text.extend_from_slice(raw)
            }
            String::from_utf8(text).unwrap()
        };
        Ok(spans.iter().map(text).collect())
    }

    #[test]
    fn quotes_end_in_their_line_and_backslashes_keep_them_open() {
        let log = |line| read(line, Delimiter::Byte(b' '), Quotes::Log);
        assert_eq!(
            log(r#"a "GET / x" 200 "say \"hi\" \\ \x22""#).unwrap(),
            ["a", "GET / x", "200", r#"say "hi" \ \x22"#]
        );
        assert_eq!(log(r#"a"b c"d "" e"#).unwrap(), [r#"a"b"#, r#"c"d"#, "", "e"]);
        assert_eq!(log("a  b ").unwrap(), ["a", "", "b", ""]);
        for open in [r#"a "b"#, r#"a "b \" c"#, r#"""#, r#"a "\"#, r#"a "\\\" c"#] {
            assert_eq!(log(open), Err(BadRow::OpenInLine), "{open}");
        }
        for after in [r#"a "b"c"#, r#""b"" d"#] {
            assert_eq!(log(after), Err(BadRow::AfterQuote), "{after}");
        }
        assert_eq!(read(r#"a "b c"#, Delimiter::Byte(b' '), Quotes::None).unwrap(), ["a", "\"b", "c"]);
    }

    #[test]
    fn runs_of_blanks_and_tabs_separate_and_those_at_the_ends_do_not() {
        let white = |line| read(line, Delimiter::Whitespace, Quotes::Log).unwrap();
        assert_eq!(white(" \t a \t\tb  \"c  d\"\t"), ["a", "b", "c  d"]);
        assert_eq!(white("a,b"), ["a,b"]);
        assert!(white(" \t ").is_empty() && white("").is_empty());
    }
}
