//! The law of reading, as properties: the key of a row is a function of that row's bytes, of the header
//! line of its own file, and of what was declared. Rows are moved below the header, files are split and
//! joined at rows, and text comes byte by byte, plain or compressed: the keys stay the same, or all of it is
//! refused.

use std::fs;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use proptest::prelude::*;
use tamis::key::Column;

use crate::delimited;
use crate::dialect::Dialect;
use crate::pace::{Flow, Pace};
use crate::{BadRow, Control, Delimiter, Error, Format, Options, Quotes, Result, RowResult, Sink, Sources};

/// Takes the values of rows, and what is wrong with bad ones; goes on after them.
#[derive(Default)]
struct Taken(Vec<std::result::Result<Vec<Vec<u8>>, String>>);

impl Sink for Taken {
    fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        self.0.push(Ok(values.iter().map(|value| value.unwrap_or_default().to_vec()).collect()));
        Ok(())
    }

    fn bad_row(&mut self, _: Range<usize>, why: BadRow) -> RowResult {
        self.0.push(Err(why.to_string()));
        Ok(())
    }
}

/// All rows in sorted order: what is read, whatever the order.
type Rows = Vec<std::result::Result<Vec<Vec<u8>>, String>>;

/// The rows, or why the whole is refused: without the file and the line, which depend on the arrangement.
fn read(sources: Result<Sources>, chunk: usize) -> std::result::Result<Rows, String> {
    let why = |error: Error| match error {
        Error::Row { why, .. } | Error::Input { why, .. } => why.to_string(),
        other => other.to_string(),
    };
    let mut sources = sources.map_err(why)?;
    sources.sizes.chunk = chunk;
    let taken = sources.scan(vec![Taken::default(), Taken::default()], &Control::default()).map_err(why)?;
    let mut rows: Rows = taken.into_iter().flat_map(|sink| sink.0).collect();
    rows.sort();
    Ok(rows)
}

/// A pipe that gives one byte at a time, and now and then nothing for a while.
struct Drip(Vec<u8>, usize);

impl Read for Drip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.get(self.1) {
            Some(&byte) if !buffer.is_empty() => {
                buffer[0] = byte;
                self.1 += 1;
                Ok(1)
            }
            _ => Ok(0),
        }
    }
}

fn drip(text: &[u8], seed: u64) -> Flow {
    let state = AtomicU64::new(seed);
    let pace = Pace::told_by(move |patience| {
        let drawn = state.fetch_add(0x9e37_79b9_7f4a_7c15, Relaxed).wrapping_mul(0xd1b5_4a32_d192_ed03);
        patience > Duration::ZERO || drawn >> 63 == 0
    });
    Flow { bytes: Box::new(Drip(text.to_vec(), 0)), pace: Some(pace) }
}

/// What is declared of a text, and how it is asked.
#[derive(Debug, Clone)]
struct Declared {
    name: &'static str,
    options: Options,
    asked: Vec<Column>,
    /// The delimiter of the header line.
    between: &'static str,
}

fn declared() -> impl Strategy<Value = Declared> {
    let delimiter = prop::sample::select(vec![
        (Delimiter::Byte(b','), ","),
        (Delimiter::Byte(b'\t'), "\t"),
        (Delimiter::Byte(b';'), ";"),
        (Delimiter::Byte(b'|'), "|"),
        (Delimiter::Byte(b' '), " "),
        (Delimiter::Whitespace, " \t "),
    ]);
    let quotes = prop::sample::select(vec![None, Some(Quotes::None), Some(Quotes::Csv), Some(Quotes::Log)]);
    let asked = prop::sample::select(vec![
        vec![Column::Name("b".into())],
        vec![Column::Number(2)],
        vec![Column::Number(1)],
        vec![Column::Name("a".into()), Column::Number(2)],
    ]);
    // By flags; by the name of the file; by nothing.
    let how = prop::sample::select(vec!["flags", "x.csv", "x.tsv", "-", "x.log", "log", "x.ndjson"]);
    (delimiter, quotes, asked, how, any::<bool>(), any::<bool>()).prop_map(
        |((delimiter, between), quotes, asked, how, comment, no_header)| {
            if how == "log" {
                let comment = comment.then_some(b'#');
                let options = Options { format: Some(Format::Log), comment, ..Options::default() };
                let asked = vec![Column::Number(9), Column::Name("host".into())];
                return Declared { name: "x", options, asked, between: LOGGED };
            }
            if how == "x.ndjson" {
                let options = Options { comment: comment.then_some(b'#'), ..Options::default() };
                let asked = vec![Column::Name("a".into()), Column::Name("b.c".into())];
                return Declared { name: how, options, asked, between: OBJECT };
            }
            let options = Options {
                delimiter: (how == "flags").then_some(delimiter),
                format: (how == "flags").then_some(Format::Csv),
                quotes,
                comment: comment.then_some(b'#'),
                no_header,
                ..Options::default()
            };
            Declared { name: if how == "flags" { "x" } else { how }, options, asked, between }
        },
    )
}

/// What stands between the host and the agent of a line of a log, and so marks a log.
const LOGGED: &str = " - - [10/Oct/2025:13:55:36 -0700] \"GET / HTTP/1.1\" 200 1 \"-\" ";

/// What stands between the members of a JSON object, and so marks NDJSON.
const OBJECT: &str = ",\"b\":";

impl Declared {
    /// Whether rows stand below a line of names.
    fn has_header(&self) -> bool {
        !self.options.no_header && !matches!(self.between, LOGGED | OBJECT)
    }

    /// Whether the declaration and the header tell all that reading needs, so that no row tells more than
    /// its own values.
    fn is_whole(&self) -> bool {
        self.has_header() || matches!(self.between, LOGGED | OBJECT)
    }
}

/// A row of one line, of anything that might mean something.
fn row() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a", "b", "key", "\"", "\"\"", "\\\"", "\\", ",", "\t", ";", "|", " ", "  ", "#", "{", "é", "\r", "1",
    ]);
    prop::collection::vec(piece, 1..8).prop_map(|pieces| pieces.concat())
}

/// A row that most dialects can read.
fn tame_row(between: &'static str) -> impl Strategy<Value = String> {
    let sent = prop::sample::select(vec!["a", "\"", "\\\"", "\\x22", "\\\\", ",", "\t", "b c"]);
    let quoted = sent.prop_map(|agent| format!("\"{agent}\""));
    // Fields in quotes run over line ends, where CSV says so.
    let field = prop_oneof![8 => "[a-z]{1,4}", 1 => "\"[a-z,;]{1,3}\n[a-z\t ]{0,3}(\"\")?\""];
    (prop::collection::vec(field, 1..4), quoted).prop_map(move |(fields, agent)| match between {
        LOGGED => [fields[0].split('\n').next().unwrap_or("x"), LOGGED, &agent].concat(),
        OBJECT => {
            let name = fields[0].replace(['"', '\n', '\t'], "");
            ["{\"a\":\"", &name, "\"", OBJECT, "{\"c\":", &fields.len().to_string(), "}}"].concat()
        }
        _ => fields.join(between),
    })
}

fn rows(between: &'static str) -> impl Strategy<Value = Vec<String>> {
    prop_oneof![
        prop::collection::vec(prop_oneof![9 => tame_row(between), 1 => row()], 1..12),
        prop::collection::vec(row(), 1..8),
    ]
}

/// How a text is put before the reader.
#[derive(Debug)]
struct Arrangement {
    /// The new place of each row.
    order: Vec<usize>,
    /// After how many rows files end.
    splits: Vec<usize>,
    /// Whether files are compressed.
    packed: bool,
    chunk: usize,
    seed: u64,
}

fn case() -> impl Strategy<Value = (Declared, Vec<String>, Arrangement)> {
    declared().prop_flat_map(|declared| {
        let between = declared.between;
        (Just(declared), rows(between)).prop_flat_map(|(declared, rows)| {
            let order = Just((0..rows.len()).collect::<Vec<_>>()).prop_shuffle();
            let splits = prop::collection::vec(0..=rows.len(), 1..4);
            let arrangement = (order, splits, any::<bool>(), 1usize..60, any::<u64>()).prop_map(
                |(order, mut splits, packed, chunk, seed)| {
                    splits.sort_unstable();
                    Arrangement { order, splits, packed, chunk, seed }
                },
            );
            (Just(declared), Just(rows), arrangement)
        })
    })
}

fn file(declared: &Declared, rows: &[&String]) -> Vec<u8> {
    let mut text = String::new();
    if declared.options.comment.is_some() {
        text += "# \"made\",\"today; a|b\n";
    }
    if declared.has_header() {
        text += &format!("a{0}b{0}c\n", declared.between);
    }
    rows.iter().for_each(|row| text += &format!("{row}\n"));
    text.into_bytes()
}

/// What gzip makes of a text.
fn packed(text: &[u8]) -> Vec<u8> {
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    to.write_all(text).unwrap();
    to.finish().unwrap()
}

/// Reads texts as files of one job.
fn read_files(
    declared: &Declared,
    texts: &[Vec<u8>],
    pack: bool,
    chunk: usize,
) -> std::result::Result<Rows, String> {
    let folder = tempfile::tempdir().unwrap();
    let mut names = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        let path = folder.path().join(format!("{i}{}", declared.name.replace('-', "x")));
        fs::write(&path, if pack { packed(text) } else { text.clone() }).unwrap();
        names.push(path.display().to_string());
    }
    read(Sources::open(&names, &declared.options, &declared.asked), chunk)
}

/// Whether a row is not one by itself: a quote is left open in it, by any delimiter that may be meant, or
/// it has several lines that are rows.
fn spans(declared: &Declared, rows: &[String]) -> bool {
    if matches!(declared.between, LOGGED | OBJECT) {
        return false;
    }
    let whole = |row: &String, dialect: Dialect| {
        let text = format!("{row}\n");
        match dialect.quotes {
            Quotes::Csv => {
                let first = delimited::first_row(text.as_bytes(), dialect, false, &mut 0);
                delimited::cut(text.as_bytes(), dialect).open.is_none()
                    && (!row.contains('\n') || matches!(first, Ok(Some((_, end))) if end == text.len()))
            }
            _ => !row.contains('\n'),
        }
    };
    let delimiters = match declared.options.delimiter {
        Some(delimiter) => vec![delimiter],
        None => b",\t;| ".iter().map(|&byte| byte.into()).collect(),
    };
    let alone = |row: &String| delimiters.iter().all(|&one| whole(row, declared.options.dialect(one)));
    !rows.iter().all(alone)
}

/// Whether text was refused because most of its lines end at CR, which is told file by file.
fn returns(read: &std::result::Result<Rows, String>) -> bool {
    read.as_ref().is_err_and(|why| why.contains("CR alone"))
}

/// Whether two readings do not contradict each other: what one gives, the other gives or refuses.
fn agree(a: &std::result::Result<Rows, String>, b: &std::result::Result<Rows, String>) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => a == b,
        _ => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn text_is_read_the_same_however_a_pipe_is_filled((declared, rows, how) in case()) {
        let text = file(&declared, &rows.iter().collect::<Vec<_>>());
        let columns = &declared.asked;
        let whole = Sources::of_text(declared.name.as_ref(), text.clone(), &declared.options, columns);
        let whole = read(whole, 1 << 20);
        let sent = if how.packed { packed(&text) } else { text };
        let dripping = Sources::of(
            vec![(declared.name.into(), Some(drip(&sent, how.seed)))], &declared.options, columns,
        );
        prop_assert_eq!(read(dripping, how.chunk), whole);
    }

    #[test]
    fn rows_have_the_same_keys_in_any_order((declared, rows, how) in case()) {
        // A quote that is left open makes other rows of the lines below it, wherever it stands.
        prop_assume!(!spans(&declared, &rows));
        let moved: Vec<&String> = how.order.iter().map(|&at| &rows[at]).collect();
        let one = read_files(&declared, &[file(&declared, &rows.iter().collect::<Vec<_>>())], false, 1 << 20);
        let other = read_files(&declared, &[file(&declared, &moved)], how.packed, how.chunk);
        prop_assert!(agree(&one, &other), "{:?} {:?}", one, other);
        // With a header, or where none is needed, one is refused where the other is.
        if declared.is_whole() {
            prop_assert_eq!(one.is_ok(), other.is_ok(), "{:?} {:?}", one, other);
        }
    }

    #[test]
    fn rows_have_the_same_keys_in_one_file_or_in_several((declared, rows, how) in case()) {
        prop_assume!(!spans(&declared, &rows));
        let all: Vec<&String> = rows.iter().collect();
        let whole = read_files(&declared, &[file(&declared, &all)], how.packed, 1 << 20);
        let mut texts = Vec::new();
        for (from, to) in [0].iter().chain(&how.splits).zip(how.splits.iter().chain([&all.len()])) {
            texts.push(file(&declared, &all[*from..*to]));
        }
        let parts = read_files(&declared, &texts, false, how.chunk);
        prop_assert!(agree(&whole, &parts), "{:?} {:?}", whole, parts);
        if declared.is_whole() && !returns(&whole) && !returns(&parts) {
            prop_assert_eq!(whole.is_ok(), parts.is_ok(), "{:?} {:?}", whole, parts);
        }
    }
}
