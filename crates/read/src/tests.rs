//! Laws of the whole input layer: the same rows whatever the chunks, the threads and the wrapping.

use std::fmt;
use std::fs;
use std::io::{Cursor, Write};
use std::ops::Range;
use std::path::PathBuf;

use proptest::prelude::*;
use tamis::key::Column;

use super::*;
use crate::chunks::Sizes;
use crate::refusal::Refusal;

type Row = Vec<Option<Vec<u8>>>;

/// What a sink of a test has against a row.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refused(pub(crate) String);

impl Refusal for Refused {}

/// Takes all rows; refuses those with a value that begins with `!`.
#[derive(Debug, Default)]
struct Collect(Vec<Row>);

impl Sink for Collect {
    fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        if values.iter().flatten().any(|value| value.starts_with(b"!")) {
            return Err(Refused(format!("refused {}", String::from_utf8_lossy(values[0].unwrap()))).into());
        }
        self.0.push(values.iter().map(|value| value.map(<[u8]>::to_vec)).collect());
        Ok(())
    }
}

fn name(name: &str) -> Column {
    Column::Name(name.into())
}

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, data) in files {
        fs::write(folder.path().join(name), data).unwrap();
    }
    folder
}

fn open(
    folder: &tempfile::TempDir,
    inputs: &[&str],
    options: &Options,
    columns: &[Column],
) -> Result<Sources> {
    let inputs: Vec<String> =
        inputs.iter().map(|input| folder.path().join(input).display().to_string()).collect();
    Sources::open(&inputs, options, columns)
}

fn open_stdin(data: &[u8], options: &Options, columns: &[Column]) -> Result<Sources> {
    Sources::open_with(&["-".into()], options, columns, || {
        let bytes: reader::Bytes = Box::new(Cursor::new(data.to_vec()));
        bytes.into()
    })
}

/// The rows of one file of this name and content.
fn rows_of(name: &str, data: &[u8], options: &Options, columns: &[Column]) -> Result<Vec<Row>> {
    let folder = folder(&[(name, data)]);
    scan(&open(&folder, &[name], options, columns)?, 1)
}

/// All rows, sorted where several threads make the order random.
fn scan(sources: &Sources, threads: usize) -> Result<Vec<Row>> {
    let sinks = (0..threads).map(|_| Collect::default()).collect();
    let control = Control::default();
    let mut rows: Vec<Row> = sources.scan(sinks, &control)?.into_iter().flat_map(|sink| sink.0).collect();
    let (done, total) = control.progress();
    assert!(total == 0 || done == total, "read {done} of {total} bytes");
    if threads > 1 {
        rows.sort();
    }
    Ok(rows)
}

fn texts(rows: &[Row]) -> Vec<String> {
    rows.iter()
        .map(|row| {
            let values = row.iter().map(|value| String::from_utf8_lossy(value.as_deref().unwrap()));
            values.collect::<Vec<_>>().join("|")
        })
        .collect()
}

fn message<T: fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

/// Rows, each with the line where it starts (or, where that is wrong, nothing); else the line where a
/// field opens that never closes, or closes in another line with text behind it.
type Model = Result<Vec<(u64, Option<Vec<Vec<u8>>>)>, u64>;

/// RFC 4180 byte by byte, as the module `delimited` says it.
fn model(data: &[u8], delimiter: u8, quotes: bool) -> Model {
    let mut rows = Vec::new();
    let (mut row, mut field) = (Vec::new(), Vec::new());
    let (mut line, mut row_line, mut open_line) = (1, 1, 0);
    let (mut quoted, mut fresh, mut bare, mut closed) = (false, true, true, false);
    let mut torn = None;
    let mut at = 0;
    while at < data.len() {
        let byte = data[at];
        at += 1;
        let ends = byte == delimiter || byte == b'\n' || data[at - 1..].starts_with(b"\r\n");
        if closed && !quoted && !ends {
            torn = torn.or(Some(open_line));
        }
        if quoted {
            if byte == b'"' && data.get(at) == Some(&b'"') {
                field.push(b'"');
                at += 1;
            } else if byte == b'"' {
                (quoted, closed) = (false, true);
            } else {
                field.push(byte);
                line += u64::from(byte == b'\n');
            }
        } else if byte == b'"' && fresh && quotes {
            (quoted, fresh, bare, open_line) = (true, false, false, line);
        } else if byte == delimiter {
            row.push(std::mem::take(&mut field));
            (fresh, bare, closed) = (true, false, false);
        } else if byte == b'\n' {
            // A CR that was quoted is not part of the line end.
            if data[..at - 1].ends_with(b"\r") && field.ends_with(b"\r") {
                field.pop();
            }
            let blank = bare && row.is_empty() && field.is_empty();
            row.push(std::mem::take(&mut field));
            let row = std::mem::take(&mut row);
            match torn.take() {
                Some(open) if line > row_line => return Err(open),
                Some(_) => rows.push((row_line, None)),
                None if blank => {}
                None => rows.push((row_line, Some(row))),
            }
            line += 1;
            (row_line, fresh, bare, closed) = (line, true, true, false);
        } else {
            field.push(byte);
            fresh = false;
        }
    }
    if quoted {
        return Err(open_line);
    }
    if !data.is_empty() && (!row.is_empty() || !field.is_empty() || !bare) {
        row.push(field);
        match torn {
            Some(open) if line > row_line => return Err(open),
            Some(_) => rows.push((row_line, None)),
            None => rows.push((row_line, Some(row))),
        }
    }
    Ok(rows)
}

/// Text that is likely to be delimited, quoted and broken in every way.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => Just(&b","[..]),
        4 => Just(&b"\n"[..]),
        2 => Just(&b"\r\n"[..]),
        3 => Just(&b"\""[..]),
        1 => Just(&b"\"\""[..]),
        1 => Just(&b"\"x,\n\"\"y\""[..]),
        1 => Just(&b"\r"[..]),
        4 => Just(&b"abc"[..]),
        1 => Just(&b"\xff\x01"[..]),
        1 => Just(&b"0123456789012345678901234567890123456789012345678901234567890123456789"[..]),
    ];
    prop::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn delimited_text_is_read_as_the_model_reads_it(
        text in text(),
        quotes: bool,
        chunk in prop_oneof![1usize..200, Just(1 << 20)],
        threads in 1usize..4,
        columns in prop::collection::vec(1usize..4, 1..4),
    ) {
        let options = Options {
            format: Some(Format::Csv),
            no_header: true,
            quotes: Some(if quotes { Quotes::Csv } else { Quotes::None }),
            ..Options::default()
        };
        // Whose lines end at CR alone is refused as a whole.
        prop_assume!(binary::is_text(&text, if quotes { Quotes::Csv } else { Quotes::None }));
        let asked: Vec<Column> = columns.iter().map(|&number| Column::Number(number)).collect();
        let folder = folder(&[("x", &text)]);
        let model = model(&text, b',', quotes);
        let width = *columns.iter().max().unwrap();
        let mut expected = Vec::new();
        let mut failing = None;
        match &model {
            // The first row that is too short comes before a quote that never closes.
            Err(line) => failing = Some(*line),
            Ok(rows) => for (line, row) in rows {
                let Some(row) = row.as_ref().filter(|row| row.len() >= width) else {
                    failing = Some(*line);
                    break;
                };
                expected.push(columns.iter().map(|&number| Some(row[number - 1].clone())).collect::<Row>());
            },
        }
        let stdin = open_stdin(&text, &options, &asked);
        let file = open(&folder, &["x"], &options, &asked);
        let mut lines = Vec::new();
        for opened in [stdin, file] {
            let result = opened.and_then(|mut sources| {
                sources.sizes.chunk = chunk;
                scan(&sources, threads)
            });
            match (result, failing) {
                (Ok(rows), None) => {
                    if threads > 1 {
                        expected.sort();
                    }
                    prop_assert_eq!(&rows, &expected);
                }
                // The first row tells how many columns there are.
                (Err(Error::Input { .. }), Some(_)) => lines.push(0),
                (Err(Error::Row { line, .. }), Some(first)) => {
                    if model.is_ok() {
                        prop_assert_eq!(line, first);
                    }
                    lines.push(line);
                }
                (result, failing) => prop_assert!(false, "{:?} but line {:?} fails", result, failing),
            }
        }
        // Counted as it streams and counted afterwards, the line is the same.
        prop_assert_eq!(lines.first(), lines.last());
    }

    #[test]
    fn lines_are_the_same_in_chunks_of_any_size_on_any_number_of_threads(
        lines in prop::collection::vec("[a-z]{0,90}", 0..60), chunk in 1usize..300, threads in 1usize..4,
    ) {
        let text = lines.join("\n");
        let folder = folder(&[("x", text.as_bytes())]);
        let mut sources = open(&folder, &["x"], &Options::default(), &[Column::Line]).unwrap();
        sources.sizes.chunk = chunk;
        let mut expected: Vec<String> = lines.into_iter().filter(|line| !line.is_empty()).collect();
        if threads > 1 {
            expected.sort();
        }
        prop_assert_eq!(texts(&scan(&sources, threads).unwrap()), expected);
    }

    #[test]
    fn the_first_error_wins_whatever_the_threads(
        files in prop::collection::vec(prop::collection::vec(prop::bool::weighted(0.03), 0..60), 1..5),
        chunk in 1usize..40,
        threads in 1usize..5,
    ) {
        let contents: Vec<String> = files
            .iter()
            .map(|rows| rows.iter().map(|&bad| if bad { "!bad\n" } else { "good\n" }).collect())
            .collect();
        let names: Vec<String> = (0..files.len()).map(|i| format!("{i}")).collect();
        let named: Vec<(&str, &[u8])> =
            names.iter().zip(&contents).map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
        let folder = folder(&named);
        let mut sources = open(&folder, &["."], &Options::default(), &[Column::Line]).unwrap();
        sources.sizes.chunk = chunk;
        let first = files
            .iter()
            .zip(&names)
            .find_map(|(rows, name)| Some((name, rows.iter().position(|&bad| bad)? as u64 + 1)));
        match (scan(&sources, threads), first) {
            (Ok(rows), None) => prop_assert_eq!(rows.len(), files.concat().len()),
            (Err(Error::Row { path, line, .. }), Some((name, expected))) => {
                prop_assert_eq!(line, expected);
                prop_assert_eq!(path.file_name().unwrap().to_str(), Some(name.as_str()));
            }
            (result, first) => prop_assert!(false, "{:?}, expected {:?}", result, first),
        }
    }

    #[test]
    fn the_fuzz_doors_stand(bytes in text(), shape: u8, size: u8) {
        fuzz::delimited(&[&[shape, size], &bytes[..]].concat());
        fuzz::detect(&[&[shape], &bytes[..]].concat());
    }
}

fn compress(name: &str, data: &[u8]) -> Vec<u8> {
    match name {
        "gz" => {
            let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            to.write_all(data).unwrap();
            to.finish().unwrap()
        }
        "zst" => zstd::encode_all(data, 1).unwrap(),
        "bz2" => {
            let mut to = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            to.write_all(data).unwrap();
            to.finish().unwrap()
        }
        "xz" => {
            let mut to = liblzma::write::XzEncoder::new(Vec::new(), 1);
            to.write_all(data).unwrap();
            to.finish().unwrap()
        }
        _ => data.to_vec(),
    }
}

#[test]
fn compressed_files_give_the_same_rows_whatever_their_names() {
    let text: String = (0..30_000).map(|i| format!("key{i},{}\n", i % 7)).collect();
    let text = format!("\u{feff}id,\"gro\nup\"\r\n{text}");
    let asked = [name("gro\nup"), name("id")];
    let plain = rows_of("x.csv", text.as_bytes(), &Options::default(), &asked).unwrap();
    assert_eq!(plain.len(), 30_000);
    assert_eq!(texts(&plain[..1]), ["0|key0"]);
    for compression in ["gz", "zst", "bz2", "xz"] {
        let (first, second) = text.as_bytes().split_at(10_001);
        let mut bytes = compress(compression, first);
        bytes.extend(compress(compression, second));
        for file in [format!("x.csv.{compression}"), "x.csv".into(), "x".into()] {
            let folder = folder(&[(&file, &bytes)]);
            let sources = open(&folder, &[&file], &Options::default(), &asked).unwrap();
            assert_eq!(scan(&sources, 1).unwrap(), plain, "{file}");
            assert_eq!(scan(&sources, 2).unwrap().len(), 30_000);
            let explained = &sources.explain()[0];
            assert_eq!(explained.compression, Some(compression));
            assert_eq!(explained.columns, ["id", "gro\nup"]);
            assert_eq!((explained.delimiter, explained.header), (Some(b','.into()), true));
        }
        let mut sources = open_stdin(&bytes, &Options::default(), &asked).unwrap();
        sources.keep();
        assert_eq!(scan(&sources, 1).unwrap(), plain);
        assert_eq!(scan(&sources, 1).unwrap(), plain);
        let bad = compress(compression, format!("{text}!,1\n").as_bytes());
        let error = rows_of("x.csv", &bad, &Options::default(), &[name("id")]);
        assert!(message(error).ends_with("x.csv, line 30003: refused !"));
        let cut_off = rows_of("x.csv", &bytes[..bytes.len() - 5], &Options::default(), &asked);
        assert!(message(cut_off).contains("damaged or cut off"), "{compression}");
    }
}

#[test]
fn standard_input_is_read_once_unless_it_is_kept() {
    let mut sources = open_stdin(b"a\nb\n", &Options::default(), &[Column::Line]).unwrap();
    assert_eq!(texts(&scan(&sources, 1).unwrap()), ["a", "b"]);
    assert!(message(scan(&sources, 1)).contains("cannot be read again"));
    sources = open_stdin(b"id\na\nb\n", &Options::default(), &[name("id")]).unwrap();
    sources.keep();
    for threads in [1, 2, 1] {
        assert_eq!(texts(&scan(&sources, threads).unwrap()), ["a", "b"]);
    }
}

#[test]
fn each_of_several_files_has_its_own_header() {
    let folder = folder(&[("1.csv", b"a,b\n1,2\n"), ("2.tsv", b"b\tc\ta\n4\tx\t3"), ("3.csv", b"b,a\n")]);
    let sources = open(&folder, &["*.?sv"], &Options::default(), &[name("a"), name("b")]).unwrap();
    assert_eq!(texts(&scan(&sources, 1).unwrap()), ["1|2", "3|4"]);
    let explained = sources.explain();
    assert_eq!(explained[1].format, Format::Tsv);
    assert_eq!(explained[1].columns, ["b", "c", "a"]);
    assert_eq!(explained[2].path.file_name().unwrap(), "3.csv");
}

#[test]
fn the_header_is_there_where_the_format_or_a_name_says_so() {
    let number = [Column::Number(1)];
    let plain = Options::default();
    let get = |file: &str, options: &Options, columns: &[Column]| {
        texts(&rows_of(file, b"a,b\nc,d\n", options, columns).unwrap())
    };
    assert_eq!(get("x.csv", &plain, &number), ["c"]);
    assert_eq!(get("x", &plain, &[name("a")]), ["c"]);
    let comma = Options { delimiter: Some(b','.into()), ..plain.clone() };
    assert_eq!(get("x", &comma, &number), ["a", "c"]);
    assert_eq!(get("x.txt", &comma, &number), ["a", "c"]);
    assert_eq!(get("x.txt", &plain, &[Column::Line]), ["a,b", "c,d"]);
    assert_eq!(get("x", &Options { format: Some(Format::Csv), ..plain.clone() }, &number), ["c"]);
    let no_header = Options { no_header: true, ..plain.clone() };
    assert_eq!(get("x.csv", &no_header, &number), ["a", "c"]);
    let error = message(rows_of("x.csv", b"a,b\n", &no_header, &[name("a")]));
    assert!(error.contains("by number, 1 to 2"), "{error}");
    let lines = Options { format: Some(Format::Lines), ..plain.clone() };
    assert_eq!(get("x.csv", &lines, &[Column::Number(1)]), ["a,b", "c,d"]);
    assert!(message(rows_of("x.csv", b"", &lines, &[name("a")])).contains("no column a"));
}

#[test]
fn columns_that_are_not_there_are_answered_with_those_that_are() {
    let plain = Options::default();
    let error = |columns: &[Column]| message(rows_of("x.csv", b"id,title\n1,x\n", &plain, columns));
    assert!(error(&[name("titel")]).contains("did you mean \"title\"?"));
    assert!(error(&[Column::Number(3)]).contains("its 2 columns are id, title"));
    let line = error(&[Column::Line]);
    assert!(line.contains("give key=COLUMN") && line.contains("id, title"), "{line}");
    let space = Options { delimiter: Some(b' '.into()), ..plain.clone() };
    let error = message(rows_of("x", b"1 x\n", &space, &[Column::Number(3)]));
    assert!(error.contains("no column 3; its 2 columns are 1, 2"), "{error}");
    let ndjson = |column| message(rows_of("x.ndjson", b"{\"a\":1}\n", &plain, &[column]));
    assert!(ndjson(Column::Line).contains("give key=COLUMN"));
    assert!(ndjson(Column::Number(1)).contains("by its name"));
}

#[test]
fn empty_files_have_no_rows_but_an_empty_table_lacks_its_header() {
    let plain = Options::default();
    for data in [&b""[..], b"\n\n", b"\xef\xbb\xbf"] {
        assert!(rows_of("x.txt", data, &plain, &[Column::Line]).unwrap().is_empty());
        assert!(rows_of("x", data, &plain, &[Column::Number(2)]).unwrap().is_empty());
        for columns in [[name("a")], [Column::Number(1)]] {
            let error = message(rows_of("x.csv", data, &plain, &columns));
            assert!(error.contains("is empty: no header line"), "{error}");
        }
    }
    assert!(rows_of("x.csv", b"a,b", &plain, &[name("b")]).unwrap().is_empty());
}

#[test]
fn a_line_is_left_open_where_the_reader_would_go_on_in_the_next() {
    let csv = Some(Quotes::Csv);
    for (format, delimiter, quotes) in [
        (Format::Csv, None, None),
        (Format::Csv, Some(b';'), None),
        (Format::Csv, Some(b' '), csv),
        (Format::Tsv, None, csv),
    ] {
        let options = Options {
            format: Some(format),
            delimiter: delimiter.map(Delimiter::Byte),
            quotes,
            ..Options::default()
        };
        let between = delimiter.unwrap_or(if format == Format::Csv { b',' } else { b'\t' }) as char;
        for line in ["", "a", "\"a\"", "x\"a", "\"", "\"a", "\"a\"\"", "\"a\"\"\""] {
            let line = format!("1{between}{line}");
            let rows = rows_of("x", format!("a{between}b\n{line}\n").as_bytes(), &options, &[name("b")]);
            assert_eq!(options.leaves_open(line.as_bytes()), rows.is_err(), "{line}");
            for quotes in [Quotes::None, Quotes::Log] {
                let other = Options { quotes: Some(quotes), ..options.clone() };
                assert!(!other.leaves_open(line.as_bytes()));
            }
        }
    }
    for format in [Format::Lines, Format::Tsv] {
        assert!(!Options { format: Some(format), ..Options::default() }.leaves_open(b"\"a"));
    }
}

#[test]
fn errors_of_rows_name_the_line_where_the_row_starts() {
    let plain = Options::default();
    let text = b"a,b\n1,\"x\ny\"\n\n2,\"z\n\"\n3\n";
    let error = message(rows_of("x.csv", text, &plain, &[name("b")]));
    assert!(
        error.contains("x.csv, line 7: this row has 1 field, too few for column 2: give bad_rows=skip"),
        "{error}"
    );
    let error = message(rows_of("x.csv", b"a,b\n1,\"x\ny\"\n2,\"z\n", &plain, &[name("a")]));
    assert!(error.contains("line 4: a quoted field opens here and never closes"), "{error}");
    assert!(error.contains("give quotes=none"));
    let quoteless = Options { quotes: Some(Quotes::None), ..plain.clone() };
    let rows = rows_of("x.csv", b"a,b\n1,\"x\n2,y\"\n", &quoteless, &[name("b")]).unwrap();
    assert_eq!(texts(&rows), ["\"x", "y\""]);
    let header = message(rows_of("x.csv", b"\n\"a,b\n1", &plain, &[name("a")]));
    assert!(header.contains("line 2: a quoted field opens here"), "{header}");
}

#[test]
fn rows_longer_than_the_limit_are_refused_and_shorter_ones_are_not() {
    let text = format!("a\nshort\n{}\nend\n", "x".repeat(3 << 20));
    let folder = folder(&[("x.csv", text.as_bytes()), ("y.csv", text.replacen("x", "\"", 1).as_bytes())]);
    let mut sources = open(&folder, &["x.csv"], &Options::default(), &[name("a")]).unwrap();
    sources.sizes = Sizes { chunk: 1000, row: 4 << 20 };
    assert_eq!(scan(&sources, 2).unwrap().len(), 3);
    sources.sizes.row = 1 << 20;
    assert!(message(scan(&sources, 2)).contains("x.csv, line 3: this row is longer than 1 MiB"));
    let mut sources = open(&folder, &["y.csv"], &Options::default(), &[name("a")]).unwrap();
    sources.sizes = Sizes { chunk: 1000, row: 1 << 20 };
    let error = message(scan(&sources, 2));
    assert!(error.contains("line 3: a quoted field opens here and does not close within 1 MiB"), "{error}");
}

#[test]
fn a_scan_that_is_asked_to_stop_stops() {
    let folder = folder(&[("x", b"a\nb\n")]);
    let sources = open(&folder, &["x"], &Options::default(), &[Column::Line]).unwrap();
    let control = Control::default();
    control.stop();
    for threads in [1, 3] {
        let sinks = (0..threads).map(|_| Collect::default()).collect();
        assert!(matches!(sources.scan(sinks, &control), Err(Error::Interrupted)));
    }
    assert!(matches!(sources.scan(Vec::<Collect>::new(), &control), Err(Error::Refused(_))));
}

#[test]
fn a_parquet_file_is_known_by_its_first_bytes() {
    let folder = folder(&[("x.csv", b"PAR1 and so on")]);
    let csv = Options { format: Some(Format::Csv), ..Options::default() };
    let error = message(open(&folder, &["x.csv"], &csv, &[name("a")]));
    assert!(error.contains("is a Parquet file, not CSV"), "{error}");
    assert!(message(open_stdin(b"PAR1", &Options::default(), &[name("a")])).contains("plain files only"));
}

#[test]
fn many_small_files_are_read_with_few_open() {
    let folder = tempfile::tempdir().unwrap();
    for i in 0..3000 {
        fs::write(folder.path().join(format!("{i:04}")), format!("{i:04}\n")).unwrap();
    }
    let sources =
        Sources::open(&[folder.path().display().to_string()], &Options::default(), &[Column::Line]).unwrap();
    let rows = texts(&scan(&sources, 3).unwrap());
    assert_eq!(rows.len(), 3000);
    assert_eq!(rows[2999], "2999");
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_read_like_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    if !std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
        return;
    }
    let writer = std::thread::spawn({
        let pipe: PathBuf = pipe.clone();
        move || fs::write(pipe, "a,b\n1,2\n3,4\n").unwrap()
    });
    let mut sources =
        Sources::open(&[pipe.display().to_string()], &Options::default(), &[name("b")]).unwrap();
    writer.join().unwrap();
    sources.keep();
    assert_eq!(texts(&scan(&sources, 1).unwrap()), ["2", "4"]);
    assert_eq!(texts(&scan(&sources, 2).unwrap()), ["2", "4"]);
}

/// Takes rows, and leaves out bad ones.
#[derive(Debug, Default)]
struct Skip(Vec<Vec<u8>>, u64);

impl Sink for Skip {
    fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        self.0.push(values[0].unwrap_or_default().to_vec());
        Ok(())
    }

    fn bad_row(&mut self, _: Range<usize>, _: BadRow) -> RowResult {
        self.1 += 1;
        Ok(())
    }
}

proptest! {
    /// A row is too long by its own bytes: not by what stands before it, or how much of it came at once.
    #[test]
    fn rows_that_are_too_long_are_bad_rows_whatever_the_chunks(
        rows in proptest::collection::vec("[a-c]{0,12}|\"[a-c\n]{0,4}\",[a-c\n]{0,1}", 0..20),
        chunk in 1usize..8, // always shorter than a row may be
        longest in 8usize..12,
        ended in any::<bool>(),
    ) {
        let rows: Vec<String> = rows.into_iter().map(|row| row.replace(",\n", ",")).collect();
        let mut text = format!("a\n{}", rows.iter().map(|row| format!("{row}\n")).collect::<String>());
        if !ended {
            text.pop();
        }
        let options = Options { format: Some(Format::Csv), ..Options::default() };
        for piped in [false, true] {
            let folder = folder(&[("x.csv", text.as_bytes())]);
            let columns = [Column::Number(1)];
            let mut sources = match piped {
                true => open_stdin(text.as_bytes(), &options, &columns).unwrap(),
                false => open(&folder, &["x.csv"], &options, &columns).unwrap(),
            };
            sources.in_chunks_of(chunk);
            sources.in_rows_of(longest);
            let found = sources.scan(vec![Skip::default()], &Control::default()).unwrap().remove(0);
            // Rows with two fields are too many for the header, unless the second is empty.
            let good = rows.iter().filter(|row| row.len() <= longest && !row.is_empty());
            let (good, torn): (Vec<&String>, Vec<&String>) =
                good.partition(|row| !row.contains(',') || row.ends_with(','));
            let good: Vec<Vec<u8>> = good
                .into_iter()
                .map(|row| row.trim_end_matches(',').trim_matches('"').as_bytes().to_vec())
                .collect();
            let long = rows.iter().filter(|row| row.len() > longest).count();
            prop_assert_eq!(&found.0, &good);
            prop_assert_eq!(found.1, (long + torn.len()) as u64);
        }
    }
}
