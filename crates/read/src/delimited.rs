//! Delimited text: which bytes of a row are the asked fields.
//!
//! The rules are those of RFC 4180, made total: a field that begins with a quote runs to the next
//! quote that is not doubled, whatever stands between; what follows that quote up to the delimiter
//! is literal, and so is a quote anywhere else. Rows end at LF or CRLF; empty lines are no rows.

use std::ops::Range;

use crate::arch::text::Ends;
use memchr::{memchr, memchr_iter, memrchr};

use super::Sink;
use super::cursor::{Cursor, Quotes, closing_quote};
use super::lines::Fault;
use crate::BadRow;

/// How delimited text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) delimiter: u8,
    /// Whether quotes quote.
    pub(super) quotes: bool,
}

/// The asked fields of a row, from 0, in the asked order.
#[derive(Debug, Clone)]
pub(super) struct Picks {
    fields: Vec<usize>,
    /// Fields that a row must have.
    width: usize,
}

impl Picks {
    pub(super) fn new(fields: Vec<usize>) -> Self {
        let width = fields.iter().max().map_or(1, |last| last + 1);
        Picks { fields, width }
    }
}

/// Gives the asked fields of every row of `data`, which begins and ends with whole rows.
///
/// `quoted` says whether any quote is in there.
pub(super) fn rows<S: Sink>(
    data: &[u8],
    dialect: Dialect,
    quoted: bool,
    picks: &Picks,
    sink: &mut S,
) -> Result<(), Fault> {
    if dialect.quotes && quoted {
        any_rows(data, 0, dialect, picks, sink)
    } else {
        plain_rows(data, dialect.delimiter, picks, sink)
    }
}

/// Tells the sink of a row at this place that has fewer fields than are asked for.
#[cold]
fn too_few<S: Sink>(sink: &mut S, place: Range<usize>, got: usize, width: usize) -> Result<(), Fault> {
    let at = place.start;
    let why = BadRow::TooFewFields { got, column: width };
    sink.bad_row(place, why).map_err(|why| Fault { at, why })
}

/// How much is looked through at a time: a list of its delimiters fits in the nearest cache.
const WINDOW: usize = 16 << 10;

/// Rows longer than this are not worth a list, which takes eight times their memory.
const LONGEST_LISTED: usize = 1 << 20;

/// Rows in which every delimiter and every newline is one.
///
/// The ends of fields and rows are listed first, a window at a time, then walked through: so
/// neither loop has a branch that goes another way for each row.
fn plain_rows<S: Sink>(data: &[u8], delimiter: u8, picks: &Picks, sink: &mut S) -> Result<(), Fault> {
    let mut ends = Ends::default();
    let mut start = 0;
    let mut size = WINDOW;
    while start < data.len() {
        let window = &data[start..data.len().min(start + size)];
        ends.find(window, delimiter);
        if start + window.len() == data.len() && !window.ends_with(b"\n") {
            ends.push_last(window);
        }
        // What begins after the last row is for the next window.
        let Some(last) = ends.last() else {
            size *= 2;
            if size <= LONGEST_LISTED {
                continue;
            }
            return any_rows(data, start, Dialect { delimiter, quotes: false }, picks, sink);
        };
        // Few columns are the rule; with their number known, the loop over them is unrolled.
        let walked = match picks.fields[..] {
            [a] => walk(window, start, &ends, picks.width, &[a], &mut [None; 1], sink),
            [a, b] => walk(window, start, &ends, picks.width, &[a, b], &mut [None; 2], sink),
            _ => {
                let mut values = vec![None; picks.fields.len()];
                walk(window, start, &ends, picks.width, &picks.fields, &mut values, sink)
            }
        };
        walked?;
        start += last + 1;
        size = WINDOW;
    }
    Ok(())
}

/// Gives the rows of a window, which begins at `base` of the text.
#[inline(always)]
fn walk<'a, S: Sink>(
    data: &'a [u8],
    base: usize,
    ends: &Ends,
    width: usize,
    fields: &[usize],
    values: &mut [Option<&'a [u8]>],
    sink: &mut S,
) -> Result<(), Fault> {
    for row in ends.rows() {
        // Field `i` stands between `row[i]` and `row[i + 1]`.
        let got = row.len() - 1;
        let start = row[0].wrapping_add(1) as usize;
        if got == 1 && without_return(data, start, row[1] as usize) == start {
            // An empty line.
            continue;
        }
        // After the newline; a last row may lack it.
        let end = data.len().min(row[got] as usize + 1);
        let place = base + start..base + end;
        if got < width {
            too_few(sink, place, got, width)?;
            continue;
        }
        for (value, &field) in values.iter_mut().zip(fields) {
            let from = row[field].wrapping_add(1) as usize;
            let mut to = row[field + 1] as usize;
            if field + 1 == got {
                to = without_return(data, from, to);
            }
            *value = Some(&data[from..to]);
        }
        sink.row(place, values).map_err(|why| Fault { at: base + start, why })?;
    }
    Ok(())
}

/// The end of a field that ends its row, without the CR before the LF.
#[inline(always)]
fn without_return(data: &[u8], begin: usize, end: usize) -> usize {
    if end > begin && end < data.len() && data[end - 1] == b'\r' { end - 1 } else { end }
}

/// Where the text of a field stands.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    from: usize,
    to: usize,
    /// The closing quote, where the text must be put together: it runs on from there to `to`,
    /// or has doubled quotes before it. Never 0 then, as an opening one stands before it.
    close: usize,
}

/// The span of the field that begins here, its end, and whether that ends the row.
#[inline(always)]
fn field(ends: &mut Cursor, from: usize, quotes: bool) -> Result<(Span, usize, bool), Fault> {
    let data = ends.data;
    if !quotes || data.get(from) != Some(&b'"') {
        let (end, last) = ends.of_field();
        let to = if last { without_return(data, from, end) } else { end };
        return Ok((Span { from, to, close: 0 }, end, last));
    }
    let Some((close, doubled)) = closing_quote(data, &mut Quotes::new(data, from + 1)) else {
        return Err(Fault { at: from, why: BadRow::OpenQuote.into() });
    };
    ends.go_to(close + 1);
    let (end, last) = ends.of_field();
    let to = if last { without_return(data, close + 1, end) } else { end };
    let from = from + 1;
    if doubled || to > close + 1 {
        Ok((Span { from, to, close }, end, last))
    } else {
        Ok((Span { from, to: close, close: 0 }, end, last))
    }
}

/// Appends the text of a field that must be put together.
fn put_together(data: &[u8], span: Span, text: &mut Vec<u8>) {
    let mut from = span.from;
    let quoted = &data[..span.close];
    let mut quotes = Quotes::new(quoted, from);
    while let (Some(_), Some(second)) = (quotes.next(), quotes.next()) {
        text.extend_from_slice(&quoted[from..second]);
        from = second + 1;
    }
    text.extend_from_slice(&quoted[from..]);
    text.extend_from_slice(&data[span.close + 1..span.to]);
}

/// Rows of any length from here on, in which delimiters and newlines may be quoted.
fn any_rows<S: Sink>(
    data: &[u8],
    mut start: usize,
    dialect: Dialect,
    picks: &Picks,
    sink: &mut S,
) -> Result<(), Fault> {
    let mut spans = vec![Span::default(); picks.width];
    let mut built = Vec::new();
    let mut texts: Vec<Range<usize>> = Vec::with_capacity(picks.fields.len());
    let mut spare: Vec<Option<&[u8]>> = Vec::with_capacity(picks.fields.len());
    let mut ends = Cursor::new(data, dialect.delimiter);
    ends.go_to(start);
    while start < data.len() {
        let mut got = 0;
        let mut from = start;
        let next = loop {
            let (span, end, last) = field(&mut ends, from, dialect.quotes)?;
            if let Some(place) = spans.get_mut(got) {
                *place = span;
            }
            got += 1;
            from = end + 1;
            if last {
                break from;
            }
        };
        if got == 1 && spans[0].from == start && spans[0].to == start {
            start = next;
            continue;
        }
        let place = start..next.min(data.len());
        if got < picks.width {
            too_few(sink, place, got, picks.width)?;
            start = next;
            continue;
        }
        built.clear();
        texts.clear();
        for &field in &picks.fields {
            let from = built.len();
            if spans[field].close != 0 {
                put_together(data, spans[field], &mut built);
            }
            texts.push(from..built.len());
        }
        let mut values = emptied(spare);
        for (&field, text) in picks.fields.iter().zip(&texts) {
            let span = spans[field];
            let text = if span.close == 0 { &data[span.from..span.to] } else { &built[text.clone()] };
            values.push(Some(text));
        }
        sink.row(place, &values).map_err(|why| Fault { at: start, why })?;
        spare = emptied(values);
        start = next;
    }
    Ok(())
}

/// The same vector, emptied, for values that live elsewhere: collecting in place keeps its memory.
#[inline(always)]
fn emptied<'b>(mut values: Vec<Option<&[u8]>>) -> Vec<Option<&'b [u8]>> {
    values.clear();
    values.into_iter().map(|_| None).collect()
}

/// The fields of a row, and where the next begins.
pub(super) type Row = (Vec<Vec<u8>>, usize);

/// The first row; `None` where it does not end in `data`, which is not all there is (`whole`).
pub(super) fn first_row(data: &[u8], dialect: Dialect, whole: bool) -> Result<Option<Row>, Fault> {
    let mut ends = Cursor::new(data, dialect.delimiter);
    let mut fields = Vec::new();
    let mut from = 0;
    while from < data.len() {
        let (span, end, last) = match field(&mut ends, from, dialect.quotes) {
            Err(_) if !whole => return Ok(None),
            found => found?,
        };
        if end == data.len() && !whole {
            return Ok(None);
        }
        let blank = last && fields.is_empty() && span.to == from;
        if !blank {
            let mut text = Vec::new();
            match span.close {
                0 => text.extend_from_slice(&data[span.from..span.to]),
                _ => put_together(data, span, &mut text),
            }
            fields.push(text);
        }
        from = end + 1;
        // A delimiter as the very last byte is followed by one more field, which is empty.
        if !last && from == data.len() {
            fields.push(Vec::new());
            return if whole { Ok(Some((fields, from))) } else { Ok(None) };
        }
        if last && !blank {
            return Ok(Some((fields, from.min(data.len()))));
        }
    }
    Ok(if whole { Some((fields, data.len())) } else { None })
}

/// Where the rows that are whole end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Cut {
    /// Just after the last newline that ends a row.
    pub(super) end: Option<usize>,
    /// Whether there is a quote anywhere.
    pub(super) quoted: bool,
    /// The quote of a field that is still open at the end.
    pub(super) open: Option<usize>,
}

/// Finds where the last whole row ends in data that begins with a row.
pub(super) fn cut(data: &[u8], dialect: Dialect) -> Cut {
    let last_newline =
        |range: Range<usize>| memrchr(b'\n', &data[range.clone()]).map(|at| range.start + at + 1);
    let Some(first) = memchr(b'"', data).filter(|_| dialect.quotes) else {
        return Cut { end: last_newline(0..data.len()), ..Cut::default() };
    };
    let mut end = None;
    let mut outside = 0;
    let mut quotes = Quotes::new(data, first);
    while let Some(quote) = quotes.next() {
        // Any other is an ordinary character.
        if quote == 0 || data[quote - 1] == dialect.delimiter || data[quote - 1] == b'\n' {
            end = last_newline(outside..quote).or(end);
            match closing_quote(data, &mut quotes) {
                None => return Cut { end, quoted: true, open: Some(quote) },
                Some((close, _)) => outside = close + 1,
            }
        }
    }
    Cut { end: last_newline(outside..data.len()).or(end), quoted: true, open: None }
}

/// The number of newlines.
pub(super) fn newlines(data: &[u8]) -> u64 {
    memchr_iter(b'\n', data).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::RowResult;

    const CSV: Dialect = Dialect { delimiter: b',', quotes: true };
    const NO_QUOTES: Dialect = Dialect { delimiter: b',', quotes: false };

    #[derive(Default)]
    struct Rows(Vec<Vec<String>>);

    impl Sink for Rows {
        fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
            let text = |value: &Option<&[u8]>| String::from_utf8_lossy(value.unwrap()).into_owned();
            self.0.push(values.iter().map(text).collect());
            Ok(())
        }
    }

    fn read(data: &str, dialect: Dialect, fields: &[usize]) -> Result<Vec<Vec<String>>, Fault> {
        let mut sink = Rows::default();
        let picks = Picks::new(fields.to_vec());
        rows(data.as_bytes(), dialect, data.contains('"'), &picks, &mut sink)?;
        Ok(sink.0)
    }

    #[test]
    fn fields_come_in_the_asked_order_and_as_often_as_asked() {
        assert_eq!(read("a,b,c\nd,e,f,g\r\n", CSV, &[2, 0, 2]).unwrap(), [["c", "a", "c"], ["f", "d", "f"]]);
        assert_eq!(
            read("a,\"b\",c\nd,e,f,g\r\n", CSV, &[2, 1, 2]).unwrap(),
            [["c", "b", "c"], ["f", "e", "f"]]
        );
    }

    #[test]
    fn quotes_quote_delimiters_newlines_and_themselves() {
        let text = "\"a,\"\"b\"\"\r\nc\",1\n\"\",2\nx\"y\"z,3\n\"p\"q\"r\"\r\n\"last";
        let fault = read(text, CSV, &[0]).unwrap_err();
        assert_eq!(&text[fault.at..], "\"last");
        assert_eq!(fault.why.as_a(), Some(&BadRow::OpenQuote));
        let rows = read(text.strip_suffix("\"last").unwrap(), CSV, &[0]).unwrap();
        assert_eq!(rows, [["a,\"b\"\r\nc"], [""], ["x\"y\"z"], ["pq\"r\""]]);
    }

    #[test]
    fn without_quotes_every_newline_ends_a_row() {
        assert_eq!(read("\"a,b\n\"c,d\"\n", NO_QUOTES, &[0]).unwrap(), [["\"a"], ["\"c"]]);
    }

    #[test]
    fn blank_lines_are_no_rows_but_empty_fields_are() {
        for quote in ["", "\""] {
            let text = format!("\n\r\n,\n{quote}x{quote},y\n\n,z");
            assert_eq!(read(&text, CSV, &[0]).unwrap(), [[""], ["x"], [""]]);
            assert_eq!(read(&text, CSV, &[1]).unwrap(), [[""], ["y"], ["z"]]);
        }
    }

    #[test]
    fn a_row_with_too_few_fields_says_how_many_it_has() {
        for text in ["a,b\n\nc\n", "a,\"b\"\n\nc\n"] {
            let fault = read(text, CSV, &[1]).unwrap_err();
            assert_eq!(fault.at, text.len() - 2);
            assert_eq!(fault.why.to_string(), "this row has 1 field, too few for column 2");
        }
    }

    #[test]
    fn rows_longer_than_a_window_are_read() {
        for len in [WINDOW - 3, 3 * WINDOW + 5, LONGEST_LISTED + 7] {
            let long = "x".repeat(len);
            let text = format!("a,b\n{long},{long}\nc,{long}\nd\n");
            let fault = read(&text, CSV, &[1]).unwrap_err();
            assert_eq!(fault.at, text.len() - 2);
            assert_eq!(fault.why.as_a(), Some(&BadRow::TooFewFields { got: 1, column: 2 }));
            assert_eq!(read(&text[..text.len() - 2], CSV, &[1]).unwrap(), [["b"], [&long], [&long]]);
        }
    }

    #[test]
    fn the_first_row_is_found_once_all_of_it_is_there() {
        let text = b"\n\"a\nb\",\"c\"\"\"\r\nd";
        for len in 0..text.len() - 2 {
            assert_eq!(first_row(&text[..len], CSV, false).unwrap(), None, "{len}");
        }
        let fields = vec![b"a\nb".to_vec(), b"c\"".to_vec()];
        assert_eq!(first_row(text, CSV, false).unwrap(), Some((fields, text.len() - 1)));
        assert_eq!(first_row(b"a,", CSV, true).unwrap(), Some((vec![b"a".to_vec(), vec![]], 2)));
        assert_eq!(first_row(b"a,", CSV, false).unwrap(), None);
        assert_eq!(first_row(b"\n\r\n", CSV, true).unwrap(), Some((vec![], 3)));
        assert!(first_row(b"a,\"", CSV, true).is_err());
    }

    #[test]
    fn text_is_cut_after_the_last_whole_row() {
        let cut = |text: &str| cut(text.as_bytes(), CSV);
        assert_eq!(cut("a\nb\nc"), Cut { end: Some(4), quoted: false, open: None });
        assert_eq!(cut("a"), Cut::default());
        assert_eq!(cut("a,\"\n\"\nb"), Cut { end: Some(6), quoted: true, open: None });
        assert_eq!(cut("a\n\"\n\"\"\n"), Cut { end: Some(2), quoted: true, open: Some(2) });
        assert_eq!(cut("a\"\nb\"\n"), Cut { end: Some(6), quoted: true, open: None });
        assert_eq!(cut("\"a\"\"\n\""), Cut { end: None, quoted: true, open: None });
    }
}
