//! What an input is, by its first bytes, its name, and what is asked of it.

use std::path::Path;

use tamis::key::Column;

use super::delimited::{self, Dialect};
use super::lines;
use super::reader::Compression;
use super::{Format, Options};
use crate::opt;
use crate::refusal::{Help, Refusal};

/// How the rows of an input are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowFormat {
    Lines,
    /// Delimited text. It is declared where the name or the user says so, not just its look.
    Delimited {
        delimiter: u8,
        declared: bool,
    },
    Ndjson,
    Parquet,
}

impl RowFormat {
    pub(super) fn format(self) -> Format {
        match self {
            RowFormat::Lines => Format::Lines,
            RowFormat::Delimited { delimiter: b'\t', .. } => Format::Tsv,
            RowFormat::Delimited { .. } => Format::Csv,
            RowFormat::Ndjson => Format::Ndjson,
            RowFormat::Parquet => Format::Parquet,
        }
    }
}

/// Why an input cannot be read in the format that it has, or that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadFormat {
    /// A line end is asked for as the delimiter.
    #[error("{0} ends lines and cannot be the delimiter")]
    EndOfLine(&'static str),
    /// A quote is asked for as the delimiter, where quotes quote.
    #[error("a quote can be the delimiter only where quotes are ordinary characters")]
    Quote,
    /// A Parquet file, where another format is asked for.
    #[error("this is a Parquet file, not {}", name(*.0))]
    IsParquet(Format),
    /// Parquet is asked for, and this is something else.
    #[error("this is not a Parquet file: it does not begin with PAR1")]
    NotParquet,
    /// The same, where only the name says Parquet.
    #[error("its name says Parquet, but it does not begin with PAR1")]
    NotParquetAsNamed,
    /// A kind of file that is not read.
    #[error("this is {what}")]
    Foreign {
        /// The kind.
        what: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// A JSON array.
    #[error("this is a JSON array; only one object per line is read")]
    JsonArray,
}

impl Refusal for BadFormat {
    fn help(&self) -> Vec<Help> {
        match self {
            BadFormat::EndOfLine(_) | BadFormat::NotParquet => Vec::new(),
            BadFormat::Quote => vec![Help::give(opt::NO_QUOTES)],
            BadFormat::IsParquet(_) => vec![Help::leave_out(opt::FORMAT)],
            BadFormat::NotParquetAsNamed => {
                vec![Help::GiveIf("if it is in another format", vec![opt::FORMAT.with("FORMAT")])]
            }
            BadFormat::Foreign { advice, .. } => vec![Help::Do(advice)],
            BadFormat::JsonArray => vec![Help::Do("turn it into lines with jq -c '.[]'")],
        }
    }
}

/// UTF-8 text may begin with this.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Recognises an input. `head` is its beginning, decompressed; an error says what to do.
pub(super) fn kind(
    path: &Path,
    head: &[u8],
    options: &Options,
    columns: &[Column],
) -> Result<RowFormat, BadFormat> {
    match options.delimiter {
        Some(b'\n') => return Err(BadFormat::EndOfLine("LF")),
        Some(b'\r') => return Err(BadFormat::EndOfLine("CR")),
        Some(b'"') if !options.no_quotes => return Err(BadFormat::Quote),
        _ => {}
    }
    if head.starts_with(b"PAR1") {
        return match options.format {
            None | Some(Format::Parquet) => Ok(RowFormat::Parquet),
            Some(format) => Err(BadFormat::IsParquet(format)),
        };
    }
    if let Some((what, advice)) = foreign(head) {
        return Err(BadFormat::Foreign { what, advice });
    }
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let first = lines::first(text);
    let comma = options.delimiter.unwrap_or(b','); // or what other_delimiter sees
    let tab = options.delimiter.unwrap_or(b'\t');
    match options.format {
        Some(Format::Lines) => Ok(RowFormat::Lines),
        Some(Format::Csv) => Ok(RowFormat::Delimited { delimiter: comma, declared: true }),
        Some(Format::Tsv) => Ok(RowFormat::Delimited { delimiter: tab, declared: true }),
        Some(Format::Ndjson) => ndjson(first),
        Some(Format::Parquet) => Err(BadFormat::NotParquet),
        None => match extension(path).as_str() {
            "csv" => Ok(RowFormat::Delimited { delimiter: comma, declared: true }),
            "tsv" | "tab" => Ok(RowFormat::Delimited { delimiter: tab, declared: true }),
            "ndjson" | "jsonl" | "json" => ndjson(first),
            "parquet" => Err(BadFormat::NotParquetAsNamed),
            "txt" | "log" | "list" if only_lines(columns) && options.delimiter.is_none() => {
                Ok(RowFormat::Lines)
            }
            _ => Ok(by_look(first, options.delimiter, columns)),
        },
    }
}

/// Whether a text is said to be CSV, and nobody said which delimiter it has: it may have another.
pub(super) fn says_comma(path: &Path, options: &Options) -> bool {
    let csv = match options.format {
        Some(format) => format == Format::Csv,
        None => extension(path) == "csv",
    };
    csv && options.delimiter.is_none()
}

/// Rows that are looked at for another delimiter than a comma.
const SAMPLE: usize = 20;

/// The delimiter of a text that should have commas and has none in its first row: the one that
/// cuts all of the first rows into equally many fields, two at least. Many people's CSV has
/// semicolons, since their decimals have commas.
pub(super) fn other_delimiter(text: &[u8], whole: bool, quotes: bool) -> Option<u8> {
    let fields = |delimiter: u8| fields_of_first_rows(text, whole, Dialect { delimiter, quotes });
    if fields(b',').first() != Some(&1) {
        return None;
    }
    let serves = |delimiter: &u8| {
        let fields = fields(*delimiter);
        let first = *fields.first()?;
        (first > 1 && fields.iter().all(|&other| other == first)).then_some((first, *delimiter))
    };
    // Of several the one that makes most fields; of equal ones the last.
    let best = b"|\t;".iter().filter_map(serves).max_by_key(|(fields, _)| *fields);
    best.map(|(_, delimiter)| delimiter)
}

fn fields_of_first_rows(text: &[u8], whole: bool, dialect: Dialect) -> Vec<usize> {
    let mut counts = Vec::new();
    let mut rest = text;
    while counts.len() < SAMPLE {
        match delimited::first_row(rest, dialect, whole) {
            Ok(Some((fields, end))) if !fields.is_empty() => {
                counts.push(fields.len());
                rest = &rest[end..];
            }
            _ => break,
        }
    }
    counts
}

fn name(format: Format) -> &'static str {
    match format {
        Format::Lines => "one key per line",
        Format::Csv => "CSV",
        Format::Tsv => "TSV",
        Format::Ndjson => "NDJSON",
        Format::Parquet => "Parquet",
    }
}

/// The last part of the name, in lower case, without that of a compression.
fn extension(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let plain = [".gz", ".zst", ".bz2", ".xz"]
        .iter()
        .find_map(|compression| name.strip_suffix(compression))
        .unwrap_or(&name);
    plain.rsplit_once('.').map_or(String::new(), |(_, extension)| extension.to_owned())
}

fn only_lines(columns: &[Column]) -> bool {
    columns.iter().all(|column| *column == Column::Line)
}

fn ndjson(first: &[u8]) -> Result<RowFormat, BadFormat> {
    if first.trim_ascii_start().starts_with(b"[") {
        return Err(BadFormat::JsonArray);
    }
    Ok(RowFormat::Ndjson)
}

/// What a text is whose name says nothing, by its first line and the columns that are asked.
fn by_look(first: &[u8], delimiter: Option<u8>, columns: &[Column]) -> RowFormat {
    if first.trim_ascii_start().starts_with(b"{") {
        return RowFormat::Ndjson;
    }
    let candidates: &[u8] = if delimiter.is_some() || columns.iter().any(|c| matches!(c, Column::Name(_))) {
        b"\t,;|"
    } else if columns.iter().any(|c| matches!(c, Column::Number(_))) {
        b"\t,;| "
    } else {
        return RowFormat::Lines;
    };
    let seen = || candidates.iter().copied().find(|candidate| first.contains(candidate));
    RowFormat::Delimited { delimiter: delimiter.or_else(seen).unwrap_or(b','), declared: false }
}

/// What begins like this cannot be read; what it is, and what to do.
fn foreign(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let unpack = "unpack it first";
    let convert = "convert it to Parquet or CSV first";
    match head {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            Some(("UTF-16 text", "convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8"))
        }
        [0x89, b'T', b'A', b'M', b'I', b'S', ..] => {
            Some(("a file of filters, not of rows", "merge filters to bring them together"))
        }
        [b'P', b'K', 3, 4, ..] => Some(("a zip archive", unpack)),
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => Some(("a 7z archive", unpack)),
        [4, 0x22, 0x4d, 0x18, ..] => Some(("LZ4 data", unpack)),
        [b'O', b'b', b'j', 1, ..] => Some(("an Avro file", convert)),
        [b'A', b'R', b'R', b'O', b'W', b'1', 0, ..] => Some(("an Arrow file", convert)),
        _ if head.get(257..262) == Some(b"ustar") => Some(("a tar archive", unpack)),
        // The head was decompressed already.
        _ if Compression::of(head).is_some() => Some(("compressed twice", unpack)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: [Column; 1] = [Column::Line];

    fn named() -> [Column; 1] {
        [Column::Name("a".into())]
    }

    fn look(path: &str, head: &[u8], columns: &[Column]) -> Result<RowFormat, BadFormat> {
        kind(Path::new(path), head, &Options::default(), columns)
    }

    fn delimited(delimiter: u8, declared: bool) -> Result<RowFormat, BadFormat> {
        Ok(RowFormat::Delimited { delimiter, declared })
    }

    #[test]
    fn names_say_the_format_whatever_their_case_and_compression() {
        for (path, expected) in [
            ("a/b.csv", delimited(b',', true)),
            ("b.CSV.gz", delimited(b',', true)),
            ("b.tsv.zst", delimited(b'\t', true)),
            ("b.tab", delimited(b'\t', true)),
            ("b.txt", Ok(RowFormat::Lines)),
            ("b.log.xz", Ok(RowFormat::Lines)),
            ("b.list", Ok(RowFormat::Lines)),
            ("b.ndjson", Ok(RowFormat::Ndjson)),
            ("b.jsonl.bz2", Ok(RowFormat::Ndjson)),
            ("b.json", Ok(RowFormat::Ndjson)),
            ("b", Ok(RowFormat::Lines)),
            ("csv", Ok(RowFormat::Lines)),
            ("-", Ok(RowFormat::Lines)),
        ] {
            assert_eq!(look(path, b"a,b\n", &LINE), expected, "{path}");
        }
    }

    #[test]
    fn texts_of_unknown_name_are_known_by_their_first_line_and_what_is_asked() {
        let number = [Column::Number(1)];
        for path in ["-", "x.dat", "x.txt", "x.log.gz"] {
            assert_eq!(look(path, b"a b|c;d,e\tf", &named()), delimited(b'\t', false));
            assert_eq!(look(path, b"\n\na b|c;d,e\nx\ty", &named()), delimited(b',', false));
            assert_eq!(look(path, b"a b|c;d", &named()), delimited(b';', false));
            assert_eq!(look(path, b"a b|c", &named()), delimited(b'|', false));
            assert_eq!(look(path, b"a b", &named()), delimited(b',', false));
            assert_eq!(look(path, b"a b", &number), delimited(b' ', false));
            assert_eq!(look(path, b"a", &number), delimited(b',', false));
            assert_eq!(look(path, b"a,b", &LINE), Ok(RowFormat::Lines));
            assert_eq!(look(path, b"{\"a\":1}", &named()), Ok(RowFormat::Ndjson));
        }
        assert_eq!(look("-", b"\xef\xbb\xbf{\"a\":1}", &LINE), Ok(RowFormat::Ndjson));
        assert_eq!(look("x.txt", b"{\"a\":1}", &LINE), Ok(RowFormat::Lines));
        let options = Options { delimiter: Some(b':'), ..Options::default() };
        assert_eq!(kind(Path::new("passwd"), b"a:b", &options, &number), delimited(b':', false));
        assert_eq!(kind(Path::new("x.csv"), b"a:b", &options, &number), delimited(b':', true));
    }

    #[test]
    fn what_the_user_says_beats_the_name_but_not_the_first_bytes() {
        let say = |format| Options { format: Some(format), ..Options::default() };
        let csv = Path::new("x.csv");
        assert_eq!(kind(csv, b"a", &say(Format::Lines), &LINE), Ok(RowFormat::Lines));
        assert_eq!(kind(csv, b"a", &say(Format::Tsv), &LINE), delimited(b'\t', true));
        assert_eq!(kind(csv, b"PAR1....", &Options::default(), &LINE), Ok(RowFormat::Parquet));
        assert_eq!(kind(csv, b"PAR1....", &say(Format::Parquet), &LINE), Ok(RowFormat::Parquet));
        let refused = kind(csv, b"PAR1....", &say(Format::Csv), &LINE).unwrap_err();
        assert_eq!(refused, BadFormat::IsParquet(Format::Csv));
        assert_eq!(refused.to_string(), "this is a Parquet file, not CSV");
        assert_eq!(kind(csv, b"a,b", &say(Format::Parquet), &LINE), Err(BadFormat::NotParquet));
        assert_eq!(look("x.parquet", b"a,b", &LINE), Err(BadFormat::NotParquetAsNamed));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let mut tar = vec![b'x'; 512];
        tar[257..262].copy_from_slice(b"ustar");
        for (head, what) in [
            (&b"\xff\xfea\0"[..], "UTF-16"),
            (b"\xfe\xff\0a", "UTF-16"),
            (b"PK\x03\x04", "zip"),
            (&tar, "tar"),
            (b"Obj\x01", "Avro"),
        ] {
            let refused = look("x.csv", head, &LINE).unwrap_err();
            assert!(refused.to_string().contains(what), "{refused}");
            assert!(matches!(refused.help()[..], [Help::Do(advice)] if advice.contains("first")));
        }
        assert!(look("x.json", b"[{\"a\":1}]", &LINE) == Err(BadFormat::JsonArray));
    }

    #[test]
    fn a_csv_without_commas_has_the_delimiter_that_cuts_its_first_rows_alike() {
        let seen = |text: &str| other_delimiter(text.as_bytes(), true, true);
        assert_eq!(seen("id;price\n1;2,5\n2;3,5\n"), Some(b';'));
        assert_eq!(seen("id\tname\n1\ta;b\n"), Some(b'\t'));
        assert_eq!(seen("id|a|b\n1|x;y|\"|\"\n"), Some(b'|'));
        assert_eq!(seen("\"a,b\";c\n1;2"), Some(b';'), "a comma in quotes is not a delimiter");
        assert_eq!(seen("a;b|c\n1;2|3\n"), Some(b';'), "of equal ones");
        assert_eq!(seen("a;b"), Some(b';'));
        for text in ["id,a;b\n1,2;3\n", "id\n1;2\n", "a;b\n1\n2;3\n", "\"a;b\"\nx;y\n", "id\n1\n", "", "\n"] {
            assert_eq!(seen(text), None, "{text:?}");
        }
        // A row that is not there as a whole tells nothing.
        assert_eq!(other_delimiter(b"a;b\n1;2\n3", false, true), Some(b';'));
        assert_eq!(other_delimiter(b"a;b", false, true), None);
    }

    #[test]
    fn delimiters_that_cannot_be_are_refused() {
        for byte in *b"\n\r\"" {
            let options = Options { delimiter: Some(byte), ..Options::default() };
            assert!(kind(Path::new("x"), b"", &options, &LINE).is_err());
        }
    }
}
