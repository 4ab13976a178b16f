//! Delimited text: which bytes of a row are the asked fields.
//!
//! The rules are those of RFC 4180: a field that begins with a quote runs to the next quote that is
//! not doubled, whatever stands between; a quote anywhere else is literal. Text between a closing
//! quote and the delimiter makes a bad row. Where such a row has several lines, a quote was most
//! likely left open, nobody can tell where rows begin, and nothing more is read. Rows end at LF or
//! CRLF; empty lines are no rows.
//!
//! Text whose quotes end in their line is cut by [`spaced`](super::spaced).

use std::ops::Range;

use crate::arch::text::Ends;
use memchr::{memchr, memchr_iter, memrchr};

use super::cursor::{Cursor, Quotes as Marks, closing_quote};
use super::dialect::{Dialect, Picks};
use super::lines::Fault;
use super::listed::listed;
use super::options::{Delimiter, Quotes};
use super::{Sink, spaced};
use crate::BadRow;

/// Gives the asked fields of every row of `data`, which begins and ends with whole rows, and counts
/// the comments among them.
///
/// `quoted` says whether any quote is in there.
pub(super) fn rows<S: Sink>(
    data: &[u8],
    dialect: Dialect,
    quoted: bool,
    picks: &Picks,
    sink: &mut S,
    comments: &mut u64,
) -> Result<(), Fault> {
    let Delimiter::Byte(delimiter) = dialect.delimiter else {
        return spaced::rows(data, dialect, picks, sink, comments);
    };
    match dialect.quotes {
        Quotes::Log if quoted => spaced::rows(data, dialect, picks, sink, comments),
        Quotes::Csv if quoted => any_rows(data, 0, delimiter, dialect, picks, sink, comments),
        _ if dialect.comment.is_some() => {
            let dialect = Dialect { quotes: Quotes::None, ..dialect };
            any_rows(data, 0, delimiter, dialect, picks, sink, comments)
        }
        _ => plain_rows(data, delimiter, picks, sink),
    }
}

/// Rows in which every delimiter and every newline is one.
fn plain_rows<S: Sink>(data: &[u8], delimiter: u8, picks: &Picks, sink: &mut S) -> Result<(), Fault> {
    let walked = listed(data, [delimiter], |window, start, ends| {
        // Few columns are the rule; with their number known, the loop over them is unrolled.
        match picks.fields[..] {
            [a] => walk(window, start, ends, picks, &[a], &mut [None; 1], sink),
            [a, b] => walk(window, start, ends, picks, &[a, b], &mut [None; 2], sink),
            _ => {
                let mut values = vec![None; picks.fields.len()];
                walk(window, start, ends, picks, &picks.fields, &mut values, sink)
            }
        }
    })?;
    let dialect = Dialect { delimiter: delimiter.into(), quotes: Quotes::None, comment: None };
    any_rows(data, walked, delimiter, dialect, picks, sink, &mut 0)
}

/// Gives the rows of a window, which begins at `base` of the text.
#[inline(always)]
fn walk<'a, S: Sink>(
    data: &'a [u8],
    base: usize,
    ends: &Ends,
    picks: &Picks,
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
        if picks.is_wrong(got) {
            let last = row[got - 1].wrapping_add(1) as usize;
            let empty = without_return(data, last, row[got] as usize) == last;
            if !picks.wrong(sink, place.clone(), got, empty)? {
                continue;
            }
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
    /// The closing quote, where the text has doubled quotes and must be put together. Never 0 then,
    /// as an opening one stands before it.
    close: usize,
}

/// A field, where it ends, and whether that ends the row.
struct Field {
    span: Span,
    end: usize,
    last: bool,
    /// Whether text follows its closing quote.
    torn: bool,
}

/// The field that begins here.
#[inline(always)]
fn field(ends: &mut Cursor, from: usize, quotes: bool) -> Result<Field, Fault> {
    let data = ends.data;
    if !quotes || data.get(from) != Some(&b'"') {
        let (end, last) = ends.of_field();
        let to = if last { without_return(data, from, end) } else { end };
        return Ok(Field { span: Span { from, to, close: 0 }, end, last, torn: false });
    }
    let Some((close, doubled)) = closing_quote(data, &mut Marks::new(data, from + 1)) else {
        return Err(Fault { at: from, why: BadRow::OpenQuote.into() });
    };
    ends.go_to(close + 1);
    let (end, last) = ends.of_field();
    let to = if last { without_return(data, close + 1, end) } else { end };
    let span = Span { from: from + 1, to: close, close: if doubled { close } else { 0 } };
    Ok(Field { span, end, last, torn: to > close + 1 })
}

/// Appends the text of a field that must be put together.
fn put_together(data: &[u8], span: Span, text: &mut Vec<u8>) {
    let mut from = span.from;
    let quoted = &data[..span.close];
    let mut quotes = Marks::new(quoted, from);
    while let (Some(_), Some(second)) = (quotes.next(), quotes.next()) {
        text.extend_from_slice(&quoted[from..second]);
        from = second + 1;
    }
    text.extend_from_slice(&quoted[from..]);
}

/// Rows of any length from here on, in which delimiters and newlines may be quoted.
fn any_rows<S: Sink>(
    data: &[u8],
    mut start: usize,
    delimiter: u8,
    dialect: Dialect,
    picks: &Picks,
    sink: &mut S,
    comments: &mut u64,
) -> Result<(), Fault> {
    let quotes = dialect.quotes == Quotes::Csv;
    let mut spans = vec![Span::default(); picks.width];
    let mut built = Vec::new();
    let mut texts: Vec<Range<usize>> = Vec::with_capacity(picks.fields.len());
    let mut spare: Vec<Option<&[u8]>> = Vec::with_capacity(picks.fields.len());
    let mut ends = Cursor::new(data, delimiter);
    ends.go_to(start);
    while start < data.len() {
        if dialect.is_comment(data.get(start)) {
            *comments += 1;
            start = after_line(data, start);
            ends.go_to(start);
            continue;
        }
        let mut got = 0;
        let mut from = start;
        let mut torn = None;
        let (next, last_is_empty) = loop {
            let found = field(&mut ends, from, quotes)?;
            if let Some(place) = spans.get_mut(got) {
                *place = found.span;
            }
            if found.torn {
                torn = torn.or(Some(from));
            }
            got += 1;
            from = found.end + 1;
            if found.last {
                break (from, found.span.from == found.span.to);
            }
        };
        if got == 1 && spans[0].from == start && spans[0].to == start {
            start = next;
            continue;
        }
        let place = start..next.min(data.len());
        if let Some(at) = torn {
            torn_row(data, place, at, sink)?;
            start = next;
            continue;
        }
        if picks.is_wrong(got) && !picks.wrong(sink, place.clone(), got, last_is_empty)? {
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

/// Tells the sink of a row in which text follows the closing quote of the field that begins here.
#[cold]
fn torn_row<S: Sink>(data: &[u8], place: Range<usize>, at: usize, sink: &mut S) -> Result<(), Fault> {
    let row = &data[place.clone()];
    match newlines(row.strip_suffix(b"\n").unwrap_or(row)) {
        0 => {
            let start = place.start;
            sink.bad_row(place, BadRow::AfterQuote).map_err(|why| Fault { at: start, why })
        }
        lines => Err(Fault { at, why: BadRow::TornQuote { lines }.into() }),
    }
}

/// Where the line after the one at this place begins.
fn after_line(data: &[u8], at: usize) -> usize {
    memchr(b'\n', &data[at..]).map_or(data.len(), |end| at + end + 1)
}

/// The same vector, emptied, for values that live elsewhere: collecting in place keeps its memory.
#[inline(always)]
pub(super) fn emptied<'b>(mut values: Vec<Option<&[u8]>>) -> Vec<Option<&'b [u8]>> {
    values.clear();
    values.into_iter().map(|_| None).collect()
}

/// The fields of a row, and where the next begins.
pub(super) type Row = (Vec<Vec<u8>>, usize);

/// Where the first row begins, and the comments before it.
pub(super) fn first_row_start(data: &[u8], dialect: Dialect) -> (usize, u64) {
    let (mut start, mut comments) = (0, 0);
    while dialect.is_comment(data.get(start)) || matches!(data[start..], [b'\n', ..] | [b'\r', b'\n', ..]) {
        comments += u64::from(dialect.is_comment(data.get(start)));
        start = after_line(data, start);
    }
    (start, comments)
}

/// The first row; `None` where it does not end in `data`, which is not all there is (`whole`). Comments
/// before it are counted.
pub(super) fn first_row(
    data: &[u8],
    dialect: Dialect,
    whole: bool,
    comments: &mut u64,
) -> Result<Option<Row>, Fault> {
    let (start, before) = first_row_start(data, dialect);
    *comments = before;
    let row = match dialect {
        Dialect { delimiter: Delimiter::Byte(byte), quotes: Quotes::None | Quotes::Csv, .. } => {
            first_any(data, start, byte, dialect.quotes == Quotes::Csv, whole)
        }
        _ => spaced::first_row(data, start, dialect, whole),
    };
    Ok(row?.filter(|(fields, _)| whole || !fields.is_empty()))
}

/// The first row from here on, which is no empty line.
fn first_any(
    data: &[u8],
    start: usize,
    delimiter: u8,
    quotes: bool,
    whole: bool,
) -> Result<Option<Row>, Fault> {
    let mut ends = Cursor::new(data, delimiter);
    ends.go_to(start);
    let mut fields = Vec::new();
    let (mut from, mut torn) = (start, None);
    while from < data.len() {
        let Field { span, end, last, torn: is_torn } = match field(&mut ends, from, quotes) {
            Err(_) if !whole => return Ok(None),
            found => found?,
        };
        if end == data.len() && !whole {
            return Ok(None);
        }
        if is_torn {
            torn = torn.or(Some(from));
        }
        let mut text = Vec::new();
        match span.close {
            0 => text.extend_from_slice(&data[span.from..span.to]),
            _ => put_together(data, span, &mut text),
        }
        fields.push(text);
        from = end + 1;
        // A delimiter as the very last byte is followed by one more field, which is empty.
        let ends_with_delimiter = !last && from == data.len();
        if ends_with_delimiter {
            fields.push(Vec::new());
        }
        if ends_with_delimiter && !whole {
            return Ok(None);
        }
        if last || ends_with_delimiter {
            let end = from.min(data.len());
            return match torn {
                Some(at) => Err(first_torn(data, start..end, at)),
                None => Ok(Some((fields, end))),
            };
        }
    }
    Ok(if whole { Some((fields, data.len())) } else { None })
}

/// What is wrong with a first row in which text follows a closing quote.
fn first_torn(data: &[u8], place: Range<usize>, at: usize) -> Fault {
    let row = &data[place.clone()];
    match newlines(row.strip_suffix(b"\n").unwrap_or(row)) {
        0 => Fault { at: place.start, why: BadRow::AfterQuote.into() },
        lines => Fault { at, why: BadRow::TornQuote { lines }.into() },
    }
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
    let first = if dialect.quotes == Quotes::None { None } else { memchr(b'"', data) };
    let (Some(first), Delimiter::Byte(delimiter), Quotes::Csv) = (first, dialect.delimiter, dialect.quotes)
    else {
        return Cut { end: last_newline(0..data.len()), quoted: first.is_some(), open: None };
    };
    let mut end = None;
    let mut outside = 0;
    let mut quotes = Marks::new(data, first);
    while let Some(quote) = quotes.next() {
        // Any other is an ordinary character.
        if quote == 0 || data[quote - 1] == delimiter || data[quote - 1] == b'\n' {
            end = last_newline(outside..quote).or(end);
            if dialect.is_comment(data.get(end.unwrap_or(0))) {
                // The line goes on to its end, whatever is in it.
                let Some(at) = memchr(b'\n', &data[quote..]) else {
                    return Cut { end, quoted: true, open: None };
                };
                outside = quote + at;
                quotes = Marks::new(data, outside);
                continue;
            }
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
    use crate::listed::{LONGEST, WINDOW};
    use crate::sink::RowResult;

    const CSV: Dialect = Dialect { delimiter: Delimiter::Byte(b','), quotes: Quotes::Csv, comment: None };
    const NO_QUOTES: Dialect = Dialect { quotes: Quotes::None, ..CSV };
    const COMMENTED: Dialect = Dialect { comment: Some(b'#'), ..CSV };

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
        read_picks(data, dialect, &Picks::new(fields.to_vec()))
    }

    fn read_picks(data: &str, dialect: Dialect, picks: &Picks) -> Result<Vec<Vec<String>>, Fault> {
        let mut sink = Rows::default();
        rows(data.as_bytes(), dialect, data.contains('"'), picks, &mut sink, &mut 0)?;
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
        let text = "\"a,\"\"b\"\"\r\nc\",1\n\"\",2\nx\"y\"z,3\n\"p\"\r\n\"last";
        let fault = read(text, CSV, &[0]).unwrap_err();
        assert_eq!(&text[fault.at..], "\"last");
        assert_eq!(fault.why.as_a(), Some(&BadRow::OpenQuote));
        let rows = read(text.strip_suffix("\"last").unwrap(), CSV, &[0]).unwrap();
        assert_eq!(rows, [["a,\"b\"\r\nc"], [""], ["x\"y\"z"], ["p"]]);
    }

    #[test]
    fn text_after_a_closing_quote_is_a_bad_row_and_over_several_lines_the_end() {
        for row in ["\"p\"q,1", "1,\"p\" ", "\"p\"\"\"q\",2", "\"p\" \"q\"\r"] {
            let text = format!("a,b\n{row}\nc,d\n");
            let fault = read(&text, CSV, &[0]).unwrap_err();
            assert_eq!((fault.at, fault.why.as_a()), (4, Some(&BadRow::AfterQuote)), "{row}");
        }
        // Five rows of a blocklist vanished in such a field.
        let text = "ip,as\n1,\"ISP - Broadcast\n2,x\n3,\"Y\" Inc\n";
        let fault = read(text, CSV, &[0]).unwrap_err();
        assert_eq!((fault.at, fault.why.as_a()), (8, Some(&BadRow::TornQuote { lines: 2 })));
        let fault = first_row(b"\"a\"b,c\n", CSV, true, &mut 0).unwrap_err();
        assert_eq!(fault.why.as_a(), Some(&BadRow::AfterQuote));
        let fault = first_row(b"x,\"a\nb\"c\n", CSV, true, &mut 0).unwrap_err();
        assert_eq!((fault.at, fault.why.as_a()), (2, Some(&BadRow::TornQuote { lines: 1 })));
    }

    #[test]
    fn a_row_with_more_fields_than_the_header_is_bad_but_for_an_empty_one_at_its_end() {
        let picks = Picks::new(vec![0]).below_header(2, Quotes::Csv);
        for quote in ["", "\""] {
            let read = |row: &str| read_picks(&format!("{quote}x{quote},y\n{row}\n"), CSV, &picks);
            for row in ["a,b", "a,b,", "a,b,\r", "a,b,\"\"", "a"] {
                let rows = read(row).unwrap();
                assert_eq!(rows, [["x"], ["a"]], "{row}");
            }
            for (row, got) in [("a,b,c", 3), ("a,b,,", 4), ("a,b, ", 3), (",,,", 4)] {
                let fault = read(row).unwrap_err();
                let why = BadRow::TooManyFields { got, header: 2, quotes: true };
                assert_eq!(fault.why.as_a(), Some(&why), "{row}");
            }
        }
    }

    #[test]
    fn lines_that_begin_with_the_sign_of_comments_are_counted_and_are_no_rows() {
        for (text, quoted) in [("#a,\"b\n1,2\n#\n#\"\n,#\n#,\"x", true), ("#a,b\n1,2\n##\n#\n,#\n#", false)] {
            let (mut sink, mut comments) = (Rows::default(), 0);
            let picks = Picks::new(vec![1]);
            rows(text.as_bytes(), COMMENTED, quoted, &picks, &mut sink, &mut comments).unwrap();
            assert_eq!((sink.0, comments), (vec![vec!["2".to_owned()], vec!["#".to_owned()]], 4), "{text}");
        }
        let mut comments = 0;
        let row = first_row(b"#,\"\n\n#\na,b\n", COMMENTED, true, &mut comments).unwrap();
        assert_eq!((row, comments), (Some((vec![b"a".to_vec(), b"b".to_vec()], 11)), 2));
        assert_eq!(first_row(b"#a\n#b", COMMENTED, false, &mut 0).unwrap(), None);
        let cut = |text: &str| cut(text.as_bytes(), COMMENTED);
        assert_eq!(cut("a\n#,\"\nb\n#,\"c"), Cut { end: Some(8), quoted: true, open: None });
        assert_eq!(cut("#,\"\nb,\"\n#\"\n"), Cut { end: Some(11), quoted: true, open: None });
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
        for len in [WINDOW - 3, 3 * WINDOW + 5, LONGEST + 7] {
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
            assert_eq!(first_row(&text[..len], CSV, false, &mut 0).unwrap(), None, "{len}");
        }
        let fields = vec![b"a\nb".to_vec(), b"c\"".to_vec()];
        assert_eq!(first_row(text, CSV, false, &mut 0).unwrap(), Some((fields, text.len() - 1)));
        assert_eq!(first_row(b"a,", CSV, true, &mut 0).unwrap(), Some((vec![b"a".to_vec(), vec![]], 2)));
        assert_eq!(first_row(b"a,", CSV, false, &mut 0).unwrap(), None);
        assert_eq!(first_row(b"\n\r\n", CSV, true, &mut 0).unwrap(), Some((vec![], 3)));
        assert!(first_row(b"a,\"", CSV, true, &mut 0).is_err());
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
