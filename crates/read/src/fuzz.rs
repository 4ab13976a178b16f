//! Doors for fuzzing: any bytes in, no panic, and laws that hold whatever the bytes.

use std::ops::Range;
use std::path::{Path, PathBuf};

use tamis::key::Column;

use super::chunks::Sizes;
use super::delimited;
use super::dialect::{Dialect, Picks};
use super::input::Input;
use super::lines::Fault;
use super::ndjson::Extractor;
use super::options::{Delimiter, Quotes};
use super::reader::Bytes;
use super::{BadRow, Options, RowResult, Sink, Sources, detect, document};
use crate::{Control, Error};

#[derive(Default)]
struct Collect(Vec<Vec<Vec<u8>>>);

impl Sink for Collect {
    fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        self.0.push(values.iter().map(|value| value.unwrap_or_default().to_vec()).collect());
        Ok(())
    }
}

/// Reads the rest of the bytes as delimited text, as its first bytes say.
///
/// Both ways to read text without quotes agree, and so do chunks of any size.
pub fn delimited(bytes: &[u8]) {
    let [shape, size, text @ ..] = bytes else { return };
    let dialect = Dialect {
        delimiter: match shape % 7 {
            6 => Delimiter::Whitespace,
            at => Delimiter::Byte(b",\t;| x"[usize::from(at)]),
        },
        quotes: match (shape % 7, shape & 64) {
            (6, 64) | (_, 0) => Quotes::None,
            (3 | 6, _) => Quotes::Log,
            _ => Quotes::Csv,
        },
        comment: (size % 5 == 0).then_some(b'#'),
    };
    let fields = vec![usize::from(shape / 8 % 4), 0];
    let read = |quoted: bool| -> Result<_, Fault> {
        let mut sink = Collect::default();
        delimited::rows(text, dialect, quoted, &Picks::new(fields.clone()), &mut sink, &mut 0)?;
        Ok(sink.0)
    };
    let whole = read(true);
    if !text.contains(&b'"') {
        let told = |fault: &Fault| (fault.at, fault.why.to_string());
        assert_eq!(whole.as_ref().map_err(told), read(false).as_ref().map_err(told));
    }
    let _ = delimited::first_row(text, dialect, shape & 128 == 0, &mut 0);

    let options = Options {
        delimiter: Some(dialect.delimiter),
        no_header: true,
        quotes: Some(dialect.quotes),
        comment: dialect.comment,
        ..Options::default()
    };
    let columns = fields.iter().map(|field| Column::Number(field + 1)).collect::<Vec<_>>();
    let stdin: Bytes = Box::new(std::io::Cursor::new(text.to_vec()));
    // What looks like something else is not read as delimited text.
    let Ok(input) = Input::open(PathBuf::from("-"), Some(stdin.into()), &options, &columns) else { return };
    if input.compression.is_some() || text.starts_with(detect::BYTE_ORDER_MARK) || input.dialect() != dialect
    {
        return;
    }
    let sizes = Sizes { chunk: 1 + usize::from(*size), ..Sizes::default() };
    let sources = Sources { inputs: vec![input], sizes, table: None };
    match (sources.scan(vec![Collect::default()], &Control::default()), whole) {
        (Ok(sinks), Ok(rows)) => assert_eq!(sinks[0].0, rows),
        (Err(Error::Row { line, why, .. }), Err(fault)) => {
            assert_eq!(
                (line, why.to_string()),
                (1 + delimited::newlines(&text[..fault.at]), fault.why.to_string())
            );
        }
        // How its lines end is told of the text as a whole.
        (Err(Error::Input { why, .. }), _) if why.as_a() == Some(&detect::BadFormat::OnlyReturns) => {}
        (chunks, whole) => panic!("in chunks: {:?}; whole: {whole:?}", chunks.map(|sinks| sinks.len())),
    }
}

/// The value at a path in one line of NDJSON.
pub fn ndjson(line: &[u8], path: &str) -> Result<Option<Vec<u8>>, Box<BadRow>> {
    Extractor::new(&[Column::Name(path.to_owned())]).extract(line, |values| values[0].map(<[u8]>::to_vec))
}

/// Takes the text out of any bytes, as HTML and as Markdown: it is never longer, but for one line end.
pub fn document(bytes: &[u8]) {
    assert!(document::html::text(bytes).len() <= bytes.len());
    assert!(document::markdown::text(bytes).len() <= bytes.len() + 1);
}

/// Recognises any bytes, under a name and with columns that the first byte picks.
pub fn detect(bytes: &[u8]) {
    let [shape, head @ ..] = bytes else { return };
    let name = ["-", "x.csv", "x.tsv.gz", "x.txt", "x.json", "x.parquet"][usize::from(shape % 6)];
    let columns = [Column::Line, Column::Name("a".into()), Column::Number(2)];
    let columns = &columns[usize::from(shape / 8 % 3)..][..1];
    let options = Options { quotes: (shape & 128 != 0).then_some(Quotes::None), ..Options::default() };
    let _ = detect::kind(Path::new(name), head, &options, columns);
    let stdin: Bytes = Box::new(std::io::Cursor::new(head.to_vec()));
    let _ = Input::open(PathBuf::from(name), Some(stdin.into()), &options, columns);
}
