//! What an input is, by its first bytes, its name, and what is asked of it.

use std::path::Path;

use tamis::key::Column;

use super::doubt::Doubt;
use super::options::{Delimiter, Quotes};
use super::{Format, Options, binary, extension, lines};
use crate::opt;
use crate::refusal::{Help, Opt, Refusal};

/// How the rows of an input are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowFormat {
    Lines,
    /// Delimited text. It is declared where the name or the user says so, not just its look.
    Delimited {
        delimiter: Delimiter,
        declared: bool,
    },
    /// Delimited text whose header tells the delimiter: CSV (`declared`) which should have commas and
    /// may have another, or text of which nothing is said and columns are asked for by name.
    ByHeader {
        declared: bool,
    },
    /// Text of which nothing is said, and columns are asked for by number.
    Undeclared,
    Ndjson,
    Log,
    Parquet,
}

impl RowFormat {
    pub(super) fn format(self) -> Format {
        match self {
            RowFormat::Lines | RowFormat::Undeclared => Format::Lines,
            RowFormat::Delimited { delimiter: Delimiter::Byte(b'\t'), .. } => Format::Tsv,
            RowFormat::Delimited { .. } | RowFormat::ByHeader { .. } => Format::Csv,
            RowFormat::Ndjson => Format::Ndjson,
            RowFormat::Log => Format::Log,
            RowFormat::Parquet => Format::Parquet,
        }
    }
}

/// Why an input cannot be read in the format that it has, or that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadFormat {
    /// A line end is asked for as the delimiter.
    #[error("{0} ends lines and cannot be the delimiter")]
    EndOfLine(&'static str),
    /// A quote is asked for as the delimiter, where quotes quote.
    #[error("a quote can be the delimiter only where quotes are ordinary characters")]
    Quote,
    /// Quotes that run over line ends are asked for, with a delimiter of which every line is cut by itself.
    #[error("where runs of blanks and tabs separate values, a quoted value ends in its line")]
    QuotesInLine,
    /// Something is declared of an access log that no access log has.
    #[error("an access log has {0}")]
    OfLog(&'static str, Opt),
    /// The sign of comments is the delimiter, a quote or a line end.
    #[error("{:?} cannot be the sign of comments: it means something else in this text", char::from(*.0))]
    Comment(u8),
    /// What was declared can be read in more than one way.
    #[error("{0}")]
    Doubt(Doubt),
    /// The first line tells spreadsheets the delimiter.
    #[error("its first line, sep={}, is for spreadsheets and no row", .0.written().escape_ascii())]
    Told(Delimiter),
    /// Text that is not written as the file that is asked records.
    #[error(
        "the delimiter recorded in the file that is asked, {recorded}, is not in its first line, and {} cuts \
         it into columns", .others.first().map_or(String::new(), Delimiter::to_string)
    )]
    Contradicted {
        /// What the file says.
        recorded: Delimiter,
        /// What serves here.
        others: Vec<Delimiter>,
    },
    /// A Parquet file, where another format is asked for.
    #[error("this is a Parquet file, not {}", name(*.0))]
    IsParquet(Format),
    /// Parquet is asked for, and this is something else.
    #[error("this is not a Parquet file: it does not begin with PAR1")]
    NotParquet,
    /// The same, where only the name says Parquet.
    #[error("its name says Parquet, but it does not begin with PAR1")]
    NotParquetAsNamed,
    /// Bytes that no text has.
    #[error("this is not text: byte {at} is NUL")]
    Binary {
        /// Where, from 1.
        at: u64,
    },
    /// Text in another encoding, by where its NULs stand.
    #[error("this seems to be {0} text")]
    Wide(&'static str),
    /// Lines that end at CR alone, all or most of them.
    #[error("its lines end at CR alone")]
    OnlyReturns,
    /// A kind of file that is not read.
    #[error("this is {what}")]
    Foreign {
        /// The kind.
        what: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// Something is declared of rows, where a whole file is one record.
    #[error("a whole file is one record, and has no rows of which this could be said")]
    OfDocument(Opt),
    /// A JSON array.
    #[error("this is a JSON array; only one object per line is read")]
    JsonArray,
}

impl Refusal for BadFormat {
    fn help(&self) -> Vec<Help> {
        match self {
            BadFormat::EndOfLine(_) | BadFormat::NotParquet => Vec::new(),
            BadFormat::Quote => vec![Help::give(opt::QUOTES.with("none"))],
            BadFormat::QuotesInLine => {
                vec![Help::GiveOne(vec![opt::QUOTES.with("log"), opt::QUOTES.with("none")])]
            }
            BadFormat::OfLog(_, option) => {
                vec![Help::leave_out(*option), Help::leave_out(opt::FORMAT)]
            }
            BadFormat::OfDocument(option) => vec![Help::leave_out(*option)],
            BadFormat::Comment(_) => vec![Help::leave_out(opt::COMMENT)],
            BadFormat::Doubt(doubt) => doubt.help(),
            BadFormat::Told(delimiter) => {
                let remove = "take it out first (tail -n +2)";
                match delimiter.name() {
                    Some(name) => vec![Help::Clause(vec![
                        remove.into(),
                        " and give ".into(),
                        opt::DELIMITER.with(name).into(),
                    ])],
                    None => vec![Help::Do(remove)],
                }
            }
            BadFormat::Contradicted { recorded, others } => {
                let all = others.iter().chain([recorded]).filter_map(|delimiter| delimiter.name());
                vec![Help::GiveOne(all.map(|name| opt::DELIMITER.with(name)).collect())]
            }
            BadFormat::Binary { .. } => {
                vec![Help::Do("if it is text with such bytes in it, take them out first (tr -d '\\0')")]
            }
            BadFormat::Wide(encoding) => vec![Help::Do(match *encoding {
                "UTF-16LE" => "convert it to UTF-8 first: iconv -f UTF-16LE -t UTF-8",
                "UTF-16BE" => "convert it to UTF-8 first: iconv -f UTF-16BE -t UTF-8",
                "UTF-32LE" => "convert it to UTF-8 first: iconv -f UTF-32LE -t UTF-8",
                _ => "convert it to UTF-8 first: iconv -f UTF-32BE -t UTF-8",
            })],
            BadFormat::OnlyReturns => vec![Help::Do("turn them into LF first: tr '\\r' '\\n'")],
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
    check(options)?;
    // What is recorded of tables does not hold for keys that are whole lines.
    let delimiter = options.delimiter.filter(|_| !(options.recorded && only_lines(columns)));
    if head.starts_with(b"PAR1") {
        return match options.format {
            None | Some(Format::Parquet) => Ok(RowFormat::Parquet),
            Some(format) => Err(BadFormat::IsParquet(format)),
        };
    }
    if let Some((what, advice)) = binary::foreign(head) {
        return Err(BadFormat::Foreign { what, advice });
    }
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let first = lines::first_but(text, options.comment);
    let tsv = RowFormat::Delimited { delimiter: delimiter.unwrap_or(b'\t'.into()), declared: true };
    let csv = match delimiter {
        Some(delimiter) => RowFormat::Delimited { delimiter, declared: true },
        None => RowFormat::ByHeader { declared: true },
    };
    match options.format {
        Some(Format::Lines) if options.undeclared => Ok(RowFormat::Undeclared),
        Some(Format::Lines) => Ok(RowFormat::Lines),
        Some(Format::Csv) => Ok(csv),
        Some(Format::Tsv) => Ok(tsv),
        Some(Format::Ndjson) => ndjson(first),
        Some(Format::Log) => Ok(RowFormat::Log),
        Some(Format::Parquet) => Err(BadFormat::NotParquet),
        None => match extension(path).as_str() {
            "csv" => Ok(csv),
            "tsv" | "tab" => Ok(tsv),
            "ndjson" | "jsonl" | "json" => ndjson(first),
            "parquet" => Err(BadFormat::NotParquetAsNamed),
            "txt" | "log" | "list" if only_lines(columns) && delimiter.is_none() => Ok(RowFormat::Lines),
            _ if options.recorded && is_object(first) => Ok(RowFormat::Ndjson),
            _ if delimiter.is_none() && is_array(first) && !only_lines(columns) => Err(BadFormat::JsonArray),
            _ => Ok(by_look(first, delimiter, columns)),
        },
    }
}

/// Refuses what is no document, by its beginning, and to be told how its rows are written: it has none.
pub(super) fn check_document(head: &[u8], options: &Options) -> Result<(), BadFormat> {
    let said = [
        (options.format.is_some(), opt::FORMAT),
        (options.delimiter.is_some(), opt::DELIMITER),
        (options.no_header, opt::NO_HEADER),
        (options.with_header, opt::WITH_HEADER),
        (options.quotes.is_some(), opt::QUOTES),
        (options.comment.is_some(), opt::COMMENT),
    ];
    if let Some((_, option)) = said.into_iter().find(|(said, _)| *said) {
        return Err(BadFormat::OfDocument(option));
    }
    if head.starts_with(b"PAR1") {
        return Err(BadFormat::Foreign {
            what: "a Parquet file, which has rows",
            advice: "give a file of text",
        });
    }
    match binary::foreign(head) {
        Some((what, advice)) => Err(BadFormat::Foreign { what, advice }),
        None => binary::refuse_nul(head),
    }
}

/// Refuses options that contradict each other.
fn check(options: &Options) -> Result<(), BadFormat> {
    if options.format == Some(Format::Log) {
        refuse_of_log(options)?;
    }
    let quotes = options.quotes.unwrap_or(Quotes::Csv);
    match options.delimiter {
        Some(Delimiter::Byte(b'\n')) => return Err(BadFormat::EndOfLine("LF")),
        Some(Delimiter::Byte(b'\r')) => return Err(BadFormat::EndOfLine("CR")),
        Some(Delimiter::Byte(b'"')) if quotes != Quotes::None => return Err(BadFormat::Quote),
        Some(Delimiter::Whitespace) if options.quotes == Some(Quotes::Csv) => {
            return Err(BadFormat::QuotesInLine);
        }
        _ => {}
    }
    let separates = |sign: u8| match options.delimiter {
        Some(Delimiter::Byte(byte)) => byte == sign,
        Some(Delimiter::Whitespace) => matches!(sign, b' ' | b'\t'),
        None => false,
    };
    match options.comment {
        Some(sign) if separates(sign) || matches!(sign, b'\n' | b'\r' | b'"') => {
            Err(BadFormat::Comment(sign))
        }
        _ => Ok(()),
    }
}

/// Refuses to be told how an access log is written: that is known.
pub(super) fn refuse_of_log(options: &Options) -> Result<(), BadFormat> {
    let (what, option) = if options.delimiter.is_some() {
        ("blanks as its only delimiter", opt::DELIMITER)
    } else if options.quotes.is_some() {
        ("its own quotes, and no others", opt::QUOTES)
    } else if options.no_header {
        ("no header: its columns have fixed names", opt::NO_HEADER)
    } else {
        return Ok(());
    };
    Err(BadFormat::OfLog(what, option))
}

fn name(format: Format) -> &'static str {
    match format {
        Format::Lines => "one key per line",
        Format::Csv => "CSV",
        Format::Tsv => "TSV",
        Format::Ndjson => "NDJSON",
        Format::Log => "an access log",
        Format::Parquet => "Parquet",
    }
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

/// Whether a line begins as a JSON object does.
fn is_object(first: &[u8]) -> bool {
    first.trim_ascii_start().starts_with(b"{")
}

/// Whether a line begins as a JSON array of objects does; the time of a log is in brackets, too.
fn is_array(first: &[u8]) -> bool {
    match first.trim_ascii().strip_prefix(b"[") {
        Some(rest) => rest.is_empty() || rest.trim_ascii_start().starts_with(b"{"),
        None => false,
    }
}

/// What a text is whose name says nothing, by its first line and the columns that are asked.
fn by_look(first: &[u8], delimiter: Option<Delimiter>, columns: &[Column]) -> RowFormat {
    if let Some(delimiter) = delimiter {
        return RowFormat::Delimited { delimiter, declared: false };
    }
    if is_object(first) {
        return RowFormat::Ndjson;
    }
    if columns.iter().any(|c| c.name().is_some()) {
        RowFormat::ByHeader { declared: false }
    } else if columns.iter().any(|c| matches!(c, Column::Number(_))) {
        RowFormat::Undeclared
    } else {
        RowFormat::Lines
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
        Ok(RowFormat::Delimited { delimiter: delimiter.into(), declared })
    }

    fn by_header(declared: bool) -> Result<RowFormat, BadFormat> {
        Ok(RowFormat::ByHeader { declared })
    }

    #[test]
    fn names_say_the_format_whatever_their_case_and_compression() {
        for (path, expected) in [
            ("a/b.csv", by_header(true)),
            ("b.CSV.gz", by_header(true)),
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
    fn texts_of_unknown_name_are_known_by_what_is_asked() {
        let number = [Column::Number(1)];
        for path in ["-", "x.dat", "x.txt", "x.log.gz"] {
            for head in [&b"a b|c;d,e\tf"[..], b"a", b"\n\na b"] {
                assert_eq!(look(path, head, &named()), by_header(false));
                assert_eq!(look(path, head, &number), Ok(RowFormat::Undeclared));
                assert_eq!(look(path, head, &LINE), Ok(RowFormat::Lines));
            }
            assert_eq!(look(path, b"{\"a\":1}", &named()), Ok(RowFormat::Ndjson));
        }
        assert_eq!(look("-", b"\xef\xbb\xbf{\"a\":1}", &LINE), Ok(RowFormat::Ndjson));
        assert_eq!(look("x.txt", b"{\"a\":1}", &LINE), Ok(RowFormat::Lines));
        let options = Options { delimiter: Some(b':'.into()), ..Options::default() };
        assert_eq!(kind(Path::new("passwd"), b"a:b", &options, &number), delimited(b':', false));
        assert_eq!(kind(Path::new("x"), b"{a:b", &options, &number), delimited(b':', false));
        assert_eq!(kind(Path::new("x.csv"), b"a:b", &options, &number), delimited(b':', true));
        let options = Options { comment: Some(b'#'), ..Options::default() };
        assert_eq!(kind(Path::new("x"), b"#a\n{\"a\":1}", &options, &named()), Ok(RowFormat::Ndjson));
    }

    #[test]
    fn what_a_log_cannot_have_is_refused() {
        let log = Options { format: Some(Format::Log), ..Options::default() };
        let read = |options: &Options| kind(Path::new("x.csv"), b"a", options, &LINE);
        assert_eq!(read(&log), Ok(RowFormat::Log));
        assert_eq!(read(&Options { comment: Some(b'#'), ..log.clone() }), Ok(RowFormat::Log));
        for (options, option) in [
            (Options { delimiter: Some(b' '.into()), ..log.clone() }, opt::DELIMITER),
            (Options { quotes: Some(Quotes::Log), ..log.clone() }, opt::QUOTES),
            (Options { no_header: true, ..log.clone() }, opt::NO_HEADER),
        ] {
            assert!(matches!(read(&options), Err(BadFormat::OfLog(_, given)) if given == option));
        }
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
            (b"\xff\xfe\0\0a\0\0\0", "UTF-32"),
            (b"\0\0\xfe\xff\0\0\0a", "UTF-32"),
            (b"PK\x03\x04", "zip"),
            (&tar, "tar"),
            (b"Obj\x01", "Avro"),
        ] {
            let refused = look("x.csv", head, &LINE).unwrap_err();
            assert!(refused.to_string().contains(what), "{refused}");
            assert!(matches!(refused.help()[..], [Help::Do(advice)] if advice.contains("first")));
        }
        assert!(look("x.json", b"[{\"a\":1}]", &LINE) == Err(BadFormat::JsonArray));
        for text in ["[{\"a\":1}]", "[\n {\"a\":1}\n]", "[ {"] {
            assert_eq!(look("-", text.as_bytes(), &named()), Err(BadFormat::JsonArray), "{text}");
        }
        assert_eq!(look("-", b"[x] a", &LINE), Ok(RowFormat::Lines));
    }

    #[test]
    fn delimiters_that_cannot_be_are_refused() {
        for byte in *b"\n\r\"" {
            let options = Options { delimiter: Some(byte.into()), ..Options::default() };
            assert!(kind(Path::new("x"), b"", &options, &LINE).is_err());
            let options = Options { comment: Some(byte), ..Options::default() };
            assert_eq!(kind(Path::new("x"), b"", &options, &LINE), Err(BadFormat::Comment(byte)));
        }
        for (delimiter, sign) in [(Delimiter::Byte(b';'), b';'), (Delimiter::Whitespace, b' ')] {
            let options = Options { delimiter: Some(delimiter), comment: Some(sign), ..Options::default() };
            assert_eq!(kind(Path::new("x"), b"", &options, &LINE), Err(BadFormat::Comment(sign)));
        }
        let options = Options {
            delimiter: Some(Delimiter::Whitespace),
            quotes: Some(Quotes::Csv),
            ..Options::default()
        };
        assert_eq!(kind(Path::new("x"), b"", &options, &LINE), Err(BadFormat::QuotesInLine));
    }
}
