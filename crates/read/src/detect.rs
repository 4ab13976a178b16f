//! What an input is, by its first bytes, its name, and what is asked of it.

use std::path::Path;

use tamis::key::Column;

use super::cursor::{Quotes as Marks, closing_quote};
use super::delimited;
use super::doubt::Doubt;
use super::options::{Delimiter, Quotes};
use super::reader::Compression;
use super::{Format, Options};
use super::{lines, log};
use crate::columns;
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
    if let Some((what, advice)) = foreign(head) {
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

/// Bytes that tell whether an input is text at all.
pub(super) const LOOKED_THROUGH: usize = 64 << 10;

/// Refuses what is not text, by the first bytes of it; `whole` says that there are no more.
pub(super) fn refuse_binary(text: &[u8], whole: bool, delimiter: Option<Delimiter>) -> Result<(), BadFormat> {
    let looked = &text[..text.len().min(LOOKED_THROUGH)];
    if let Some(at) = nul(looked, delimiter) {
        return Err(wide(looked).map_or(BadFormat::Binary { at: at as u64 + 1 }, BadFormat::Wide));
    }
    let whole = whole || text.len() >= LOOKED_THROUGH;
    let inner = looked.strip_suffix(b"\r").unwrap_or(looked);
    if whole && memchr::memchr(b'\n', looked).is_none() && memchr::memchr(b'\r', inner).is_some() {
        return Err(BadFormat::OnlyReturns);
    }
    Ok(())
}

/// Whether a text is read, as far as its bytes tell.
#[cfg(test)]
pub(super) fn is_text(text: &[u8], quotes: Quotes) -> bool {
    let mut ends = super::chunks::LineEnds::default();
    ends.count(text, quotes);
    refuse_binary(text, true, None).is_ok() && !ends.are_mostly_returns()
}

/// The encoding of text whose first characters, which are ASCII in most, have more bytes than one.
fn wide(text: &[u8]) -> Option<&'static str> {
    let is = |pattern: [bool; 4]| {
        let (first, _) = text[..text.len().min(64)].as_chunks::<4>();
        !first.is_empty()
            && first.iter().all(|four| [0, 1, 2, 3].iter().all(|&i| (four[i] == 0) == pattern[i]))
    };
    // Where the NULs of each four bytes stand.
    [
        ("UTF-16LE", [false, true, false, true]),
        ("UTF-16BE", [true, false, true, false]),
        ("UTF-32LE", [false, true, true, true]),
        ("UTF-32BE", [true, true, true, false]),
    ]
    .into_iter()
    .find_map(|(name, pattern)| is(pattern).then_some(name))
}

/// Where the first NUL is, unless that is the delimiter.
pub(super) fn nul(text: &[u8], delimiter: Option<Delimiter>) -> Option<usize> {
    if delimiter == Some(Delimiter::Byte(0)) { None } else { memchr::memchr(0, text) }
}

/// Delimiters that text may have of which nothing is said.
const CANDIDATES: [u8; 5] = *b"\t,;| ";

/// The delimiter of a text, by its header alone: all that is asked is there. Where several serve, that is
/// a doubt. What is called CSV (`declared`) has commas, unless its header has none, or another cuts it into
/// as many columns or more.
pub(super) fn by_header(
    text: &[u8],
    options: &Options,
    declared: bool,
    asked: &[Column],
) -> Result<Delimiter, BadFormat> {
    let names = |byte: u8| -> Vec<String> {
        let names = cut(text, options, byte);
        names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    };
    let comma = names(b',');
    let rivals = if declared { rivals(text, options) } else { Vec::new() };
    if declared && comma.len() > 1 && rivals.is_empty() {
        return Ok(b','.into());
    }
    let splits = |byte: &u8| names(*byte).len() > 1;
    let serves = |byte: &u8| splits(byte) && columns::find(asked, &names(*byte)).is_ok();
    let candidates = &CANDIDATES[..4];
    let possible = |byte: &&u8| comma.len() <= 1 || !declared || **byte == b',' || rivals.contains(byte);
    let serving: Vec<u8> = candidates.iter().filter(possible).copied().filter(serves).collect();
    match serving[..] {
        // Where commas cut it as well, another is not taken unsaid.
        [only] if only == b',' || !declared || comma.len() <= 1 => Ok(only.into()),
        // Nothing serves: for the message, and for a table of one column.
        [] => {
            let first = lines::first_but(text, options.comment);
            if !declared && columns::find(asked, &comma).is_err() && log::first_value(first, asked).is_some()
            {
                return Err(BadFormat::Doubt(Doubt::of_line(first, options, asked, &[], false)));
            }
            let seen = candidates.iter().copied().find(|byte| !declared && splits(byte));
            Ok(seen.filter(|_| columns::find(asked, &comma).is_err()).unwrap_or(b',').into())
        }
        _ => Err(BadFormat::Doubt(Doubt::of_line(
            lines::first_but(text, options.comment),
            options,
            asked,
            &serving,
            false,
        ))),
    }
}

/// Whether a quote is left open in the first line, cut by another delimiter than the comma: the row may go
/// on below it. Where it does so by commas, no other is looked for below its end.
pub(super) fn goes_on(text: &[u8], options: &Options) -> bool {
    let open = |byte: u8| is_open(text, options, byte);
    by_commas(text, options).is_none() && CANDIDATES[..4].iter().any(|&byte| open(byte))
}

/// Whether a quote is left open in the first line, cut by this delimiter.
fn is_open(text: &[u8], options: &Options, delimiter: u8) -> bool {
    let line = lines::first_but(text, options.comment);
    delimited::cut(line, options.dialect(delimiter.into())).open.is_some()
}

/// Where a first row of several lines ends, if it is one by commas.
fn by_commas(text: &[u8], options: &Options) -> Option<usize> {
    let row = || delimited::first_row(text, options.dialect(b','.into()), true, &mut 0);
    is_open(text, options, b',').then(row)?.ok()?.map(|(_, end)| end)
}

/// The fields of the first row, cut by this delimiter; none where it cannot be. However much of a text is
/// there, the same of it is looked at: by commas its first row, by another no more than tells what it is.
fn cut(text: &[u8], options: &Options, delimiter: u8) -> Vec<Vec<u8>> {
    let text = match delimiter {
        b',' => text,
        _ => &text[..by_commas(text, options).unwrap_or(text.len().min(LOOKED_THROUGH))],
    };
    match delimited::first_row(text, options.dialect(delimiter.into()), true, &mut 0) {
        Ok(Some((fields, _))) => fields,
        _ => Vec::new(),
    }
}

/// The delimiters that cut the first row of text which is called CSV into as many fields as commas do, or
/// more: one comma in a name (`id;price (EUR,net)`) does not make a table of it.
fn rivals(text: &[u8], options: &Options) -> Vec<u8> {
    others(text, options, cut(text, options, b',').len().max(2))
}

/// Whether another delimiter cuts it at all: it is said then that commas were taken.
pub(super) fn cuts_otherwise(text: &[u8], options: &Options) -> bool {
    !others(text, options, 2).is_empty()
}

/// The delimiters but the comma that cut the first row into this many fields or more. What commas leave
/// within quotes cuts nothing.
fn others(text: &[u8], options: &Options, least: usize) -> Vec<u8> {
    let quoted = options.quotes.unwrap_or(Quotes::Csv) == Quotes::Csv;
    let line = lines::first_but(text, options.comment);
    let rules_out = |byte: u8| quoted && quotes_are_whole(line, b',') && !quotes_are_whole(line, byte);
    let others = CANDIDATES[..4].iter().copied().filter(|byte| *byte != b',');
    others.filter(|&byte| cut(text, options, byte).len() >= least && !rules_out(byte)).collect()
}

/// Whether a line, cut by this delimiter, has quotes only around whole fields.
fn quotes_are_whole(line: &[u8], delimiter: u8) -> bool {
    let (mut at, mut fresh) = (0, true);
    while let Some(&byte) = line.get(at) {
        match byte {
            b'"' if fresh => {
                match closing_quote(line, &mut Marks::new(line, at + 1)) {
                    Some((close, _)) if line.get(close + 1).is_none_or(|&next| next == delimiter) => {
                        at = close
                    }
                    _ => return false,
                }
                fresh = false;
            }
            b'"' => return false,
            byte => fresh = byte == delimiter,
        }
        at += 1;
    }
    true
}

/// Refuses text of which the recorded delimiter does not make what is asked, and another does.
pub(super) fn refuse_contradicted(
    text: &[u8],
    options: &Options,
    recorded: Delimiter,
    asked: &[Column],
) -> Result<(), BadFormat> {
    let serves = |delimiter: Delimiter| {
        let line = lines::first_but(text, options.comment);
        let fields = match delimited::first_row(line, options.dialect(delimiter), true, &mut 0) {
            Ok(Some((fields, _))) => fields,
            _ => return false,
        };
        let names = fields.iter().enumerate().map(|(i, field)| match options.no_header {
            true => (i + 1).to_string(),
            false => String::from_utf8_lossy(field).into_owned(),
        });
        fields.len() > 1 && columns::find(asked, &names.collect::<Vec<_>>()).is_ok()
    };
    if serves(recorded) {
        return Ok(());
    }
    let others = CANDIDATES[..4].iter().map(|byte| Delimiter::Byte(*byte));
    let others: Vec<Delimiter> = others.filter(|other| *other != recorded && serves(*other)).collect();
    if others.is_empty() { Ok(()) } else { Err(BadFormat::Contradicted { recorded, others }) }
}

/// Refuses rows without a header, which are called CSV, that may have another delimiter.
pub(super) fn refuse_other_than_comma(
    text: &[u8],
    options: &Options,
    asked: &[Column],
) -> Result<(), BadFormat> {
    let first = lines::first_but(text, options.comment);
    let rivals = rivals(text, options);
    if rivals.is_empty() || cut(text, options, b',').is_empty() {
        return Ok(());
    }
    let choices: Vec<u8> = rivals.into_iter().chain([b',']).collect();
    Err(BadFormat::Doubt(Doubt::of_line(first, options, asked, &choices, false)))
}

/// Refuses a first line that tells spreadsheets the delimiter: it would be taken for the header.
pub(super) fn refuse_told(text: &[u8], options: &Options) -> Result<(), BadFormat> {
    let line = lines::first_but(text, options.comment);
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    match line.split_at_checked(4) {
        Some((sign, [delimiter])) if sign.eq_ignore_ascii_case(b"sep=") => {
            Err(BadFormat::Told(Delimiter::Byte(*delimiter)))
        }
        _ => Ok(()),
    }
}

/// Why a line could be cut in more than one way; none where it is one value however it is cut.
pub(super) fn doubt_in_line(line: &[u8]) -> Option<&'static str> {
    match line.iter().find(|byte| CANDIDATES.contains(byte)) {
        _ if line.first() == Some(&b'"') => Some("it begins with a quote"),
        Some(b'\t') => Some("it has a tab"),
        Some(b',') => Some("it has a comma"),
        Some(b';') => Some("it has a semicolon"),
        Some(b'|') => Some("it has a bar"),
        Some(_) => Some("it has a space"),
        None => None,
    }
}

/// Refuses text of which nothing is said, unless each line is one value however it is cut: the first
/// line here, the others as they come.
pub(super) fn refuse_undeclared(text: &[u8], options: &Options, asked: &[Column]) -> Result<(), BadFormat> {
    let first = lines::first_but(text, options.comment);
    let only_first = asked.iter().all(|column| matches!(column, Column::Line | Column::Number(1)));
    if first.is_empty() || (only_first && doubt_in_line(first).is_none()) {
        return Ok(());
    }
    // Most lists begin with a line about them.
    let below = match options.comment {
        None if first.starts_with(b"#") => lines::first_but(text, Some(b'#')),
        _ => b"",
    };
    let line = if below.is_empty() { first } else { below };
    let occurring: Vec<u8> = CANDIDATES.into_iter().filter(|byte| line.contains(byte)).collect();
    let doubt = Doubt::of_line(line, options, asked, &occurring, only_first);
    Err(BadFormat::Doubt(if below.is_empty() { doubt } else { doubt.below_a_comment() }))
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
    if columns.iter().any(|c| matches!(c, Column::Name(_))) {
        RowFormat::ByHeader { declared: false }
    } else if columns.iter().any(|c| matches!(c, Column::Number(_))) {
        RowFormat::Undeclared
    } else {
        RowFormat::Lines
    }
}

/// What begins like this cannot be read; what it is, and what to do.
fn foreign(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let unpack = "unpack it first";
    let convert = "convert it to Parquet or CSV first";
    match head {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            Some(("UTF-32 text", "convert it to UTF-8 first: iconv -f UTF-32 -t UTF-8"))
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            Some(("UTF-16 text", "convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8"))
        }
        [0x7f, b'E', b'L', b'F', ..] => Some(("a program", "give a file of text")),
        [0x89, b'P', b'N', b'G', ..] | [0xff, 0xd8, 0xff, ..] => Some(("a picture", "give a file of text")),
        [b'%', b'P', b'D', b'F', b'-', ..] => Some(("a PDF file", "take its text out first")),
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
    fn the_header_tells_the_delimiter_by_the_columns_that_are_asked() {
        let told = |text: &str, declared: bool, asked: &[&str]| {
            let asked: Vec<Column> =
                asked.iter().map(|name| name.parse::<tamis::key::Field>().unwrap().column).collect();
            super::by_header(text.as_bytes(), &Options::default(), declared, &asked)
        };
        let is = |byte: u8| Ok(Delimiter::Byte(byte));
        assert_eq!(told("id;price\n1;2,5\n", false, &["price"]), is(b';'));
        assert_eq!(told("a,b;id\nx", false, &["id"]), is(b';'));
        assert_eq!(told("a,b;id\nx", false, &["a"]), is(b','));
        assert_eq!(told("\"a;b\",c\nx", false, &["c"]), is(b','));
        assert_eq!(told("id\n1;2\n", false, &["id"]), is(b','), "a table of one column");
        assert_eq!(told("id\tx\n", false, &["y"]), is(b'\t'), "for the message");
        // What is called CSV has commas, unless its header has none.
        assert_eq!(told("a,b;c,d\n", true, &["c"]), is(b','));
        assert_eq!(told("id,n;m\n", true, &["id"]), is(b','), "no other has the column");
        for text in ["id,\"a;b\"\n", "id,name;alias,x\n", "\"x;y\",\"a;b\",c\n", "\"a \"\";\"\"\",b\n"] {
            assert_eq!(told(text, true, &["1"]), is(b','), "{text}");
        }
        assert_eq!(told("id;price\n1;2,5\n", true, &["1"]), is(b';'));
        assert_eq!(told("id|price\n", true, &["price"]), is(b'|'));
        assert_eq!(told("id\n1;2\n", true, &["1"]), is(b','));
        for (text, declared, asked, ways) in [
            ("id,a;id\n", false, "id", 2),
            ("a;b|c\n", true, "1", 2),
            ("id;price (EUR,net)\n1;2,5\n", true, "1", 2),
            ("id;price (EUR,net)\n1;2,5\n", true, "id", 1),
            ("id;\"EUR, net\"\n1;2,5\n", true, "id", 1),
            ("a,b;c\n", true, "c", 1),
            ("id\tn\ta, b\n", true, "2", 2),
        ] {
            let Err(BadFormat::Doubt(doubt)) = told(text, declared, &[asked]) else { panic!("{text}") };
            assert_eq!(doubt.choices.len(), ways, "{text}");
        }
    }

    #[test]
    fn text_of_which_nothing_is_said_is_refused_with_what_would_tell() {
        let doubt = |line: &str, asked: &[Column]| match refuse_undeclared(
            line.as_bytes(),
            &Options::default(),
            asked,
        )
        .unwrap_err()
        {
            BadFormat::Doubt(doubt) => doubt.choices,
            other => panic!("{other}"),
        };
        let choice = |option: Opt, word: &str, value: &str| (option.with(word), value.to_owned());
        let (first, second) = ([Column::Number(1)], [Column::Number(2)]);
        assert_eq!(
            doubt("1.2.3.4 - - \"GET, POST\"\n", &first),
            [
                choice(opt::DELIMITER, "space", "1.2.3.4"),
                choice(opt::DELIMITER, "comma", "1.2.3.4 - - \"GET"),
                choice(opt::FORMAT, "lines", "1.2.3.4 - - \"GET, POST\""),
            ]
        );
        assert_eq!(doubt("a,b\n", &second), [choice(opt::DELIMITER, "comma", "b")]);
        assert_eq!(
            doubt("# blocklist\n1.2.3.4,a b\n", &first),
            [
                choice(opt::DELIMITER, "comma", "1.2.3.4"),
                choice(opt::DELIMITER, "space", "1.2.3.4,a"),
                choice(opt::FORMAT, "lines", "1.2.3.4,a b")
            ]
        );
        assert_eq!(doubt(" a  b\n", &second), [choice(opt::DELIMITER, "whitespace", "b")]);
        assert_eq!(doubt("ab\n", &second), []);
        assert!(refuse_undeclared(b"ab\n", &Options::default(), &first).is_ok());
        assert!(refuse_undeclared(b"\n", &Options::default(), &second).is_ok());
        let long = "x".repeat(100) + ",y";
        assert!(doubt(&long, &first)[0].1.chars().count() == 41);
    }

    #[test]
    fn a_line_of_a_log_is_offered_to_be_read_as_one() {
        let line = "h - - [10/Oct/2025:13:55:36 -0700] \"GET /a,b HTTP/1.1\" 200 1\n";
        let offered = |asked: Column| {
            let asked = [asked];
            let refused = match asked[0] {
                Column::Name(_) => {
                    super::by_header(line.as_bytes(), &Options::default(), false, &asked).err()
                }
                _ => refuse_undeclared(line.as_bytes(), &Options::default(), &asked).err(),
            };
            match refused {
                Some(BadFormat::Doubt(doubt)) => Some(doubt.choices[0].clone()),
                _ => None,
            }
        };
        let log = |value: &str| Some((opt::FORMAT.with("log"), value.to_owned()));
        assert_eq!(offered(Column::Name("host".into())), log("h"));
        assert_eq!(offered(Column::Name("path".into())), log("/a,b"));
        assert_eq!(offered(Column::Name("agent".into())), log("-"));
        assert_eq!(offered(Column::Number(5)), log("GET /a,b HTTP/1.1"));
        assert_eq!(offered(Column::Name("city".into())), None);
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
    fn what_is_not_text_is_refused() {
        let refused = |text: &[u8], whole| refuse_binary(text, whole, None).err();
        assert_eq!(refused(b"ab\0", false), Some(BadFormat::Binary { at: 3 }));
        for (text, encoding) in [
            (&b"a\0b\0\n\0"[..], "UTF-16LE"),
            (b"\0a\0b\0\n", "UTF-16BE"),
            (b"a\0\0\0\n\0\0\0", "UTF-32LE"),
            (b"\0\0\0a\0\0\0\n", "UTF-32BE"),
        ] {
            let why = refused(text, true).unwrap();
            assert_eq!(why, BadFormat::Wide(encoding));
            assert!(
                matches!(why.help()[..], [Help::Do(advice)] if advice.contains(&format!("-f {encoding} ")))
            );
        }
        for text in ["a\rb\r", "a\rb", "a\r\rb"] {
            assert_eq!(refused(text.as_bytes(), true), Some(BadFormat::OnlyReturns), "{text:?}");
        }
        for text in ["a\r", "a\r\n", "a\rb\nc", "a\rb\n", "", "\r"] {
            assert_eq!(refused(text.as_bytes(), true), None, "{text:?}");
        }
        assert_eq!(refused(b"a\rb", false), None, "its end has not come");
        assert_eq!(refuse_binary(b"a\0b", true, Some(Delimiter::Byte(0))), Ok(()));
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
    fn a_csv_without_header_and_commas_is_a_doubt() {
        let refused =
            |text: &str| refuse_other_than_comma(text.as_bytes(), &Options::default(), &[Column::Number(1)]);
        for text in ["1;2\n3;4,5\n", "a;\"b\"", "1\t2\n", "a|b;c\n", "1;2,5\n", "1,2;3\n"] {
            assert!(refused(text).is_err(), "{text:?}");
        }
        for text in ["1,2;3,4\n", "a\nb;c\n", "\"a;b\"\nx;y\n", "1,\"2;3\"\n", "", "\n"] {
            assert!(refused(text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn a_line_for_spreadsheets_is_no_header() {
        let told = |text: &str| refuse_told(text.as_bytes(), &Options::default());
        for text in ["sep=;\nid;n\n", "SEP=;\r\n", "\"sep=;\"\n"] {
            assert_eq!(told(text), Err(BadFormat::Told(Delimiter::Byte(b';'))), "{text:?}");
        }
        assert!(told("sep=,\n").is_err() && told("sep=\t\n").is_err());
        assert!(told("sep\n").is_ok() && told("sep=\n").is_ok() && told("sep=ab\n").is_ok());
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
