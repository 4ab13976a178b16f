//! What can be wrong with a row.

use crate::opt;
use crate::refusal::{Help, Refusal};

/// Why a row has no values to take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadRow {
    /// It has fewer fields than the number of an asked column.
    #[error("this row has {got} {}, too few for column {column}", if *got == 1 { "field" } else { "fields" })]
    TooFewFields {
        /// The fields it has.
        got: usize,
        /// The last column that is asked for, from 1.
        column: usize,
    },
    /// It has more fields than the header names.
    #[error("this row has {got} fields, and the header {header}")]
    TooManyFields {
        /// The fields it has.
        got: usize,
        /// The fields of the header.
        header: usize,
        /// Whether quotes quote in this text.
        quotes: bool,
    },
    /// Something stands between the closing quote of a field and the end of the field.
    #[error("text follows the closing quote of a field")]
    AfterQuote,
    /// The same in the line that names the columns.
    #[error("text follows the closing quote of a column's name")]
    AfterQuoteInHeader,
    /// The same, in a field of several lines: most likely a quote that never closes.
    #[error(
        "a quoted field opens here, and text follows the quote that closes it, {lines} {} below",
        if *lines == 1 { "line" } else { "lines" }
    )]
    TornQuote {
        /// The line ends in its row.
        lines: u64,
    },
    /// A quote does not close in its line, where it must.
    #[error("a quoted field opens in this line and does not close in it")]
    OpenInLine,
    /// A line of an undeclared text that could be cut into columns.
    #[error("it cannot be told whether this line is one value: {0}")]
    Doubt(&'static str),
    /// A quoted field runs to the end of the text.
    #[error("a quoted field opens here and never closes")]
    OpenQuote,
    /// A quoted field is longer than a row may be.
    #[error("a quoted field opens here and does not close within {mib} MiB")]
    LongQuote {
        /// How long a row may be.
        mib: usize,
    },
    /// It is longer than a row may be.
    #[error("this row is longer than {mib} MiB")]
    TooLong {
        /// How long a row may be.
        mib: usize,
    },
    /// A byte that no text has stands in it.
    #[error("a NUL byte stands in this row, and no text has it")]
    Nul,
    /// It cannot be written as TSV, which has no quotes.
    #[error("a value with a tab or a line end cannot be written as TSV")]
    NotTsv,
    /// It cannot be written as columns of text in Parquet.
    #[error("a value that is not UTF-8 cannot be text in Parquet")]
    NotUtf8,
    /// A line of NDJSON is something else than an object.
    #[error("not a JSON object; each line must be one, such as {{\"id\": 1}}")]
    NotAnObject,
    /// A line breaks the grammar of JSON.
    #[error("not valid JSON: {}column {column}: {fault}", if *ended { "the line ends at " } else { "" })]
    NotJson {
        /// Where, from 1.
        column: usize,
        /// Whether the line ends there.
        ended: bool,
        /// What is wrong there.
        fault: &'static str,
    },
    /// A line is not one of an access log.
    #[error(
        "not a line of an access log: field {field}{} {fault}; such a line is host ident user [time] \
         \"request\" status bytes, and mostly \"referer\" \"agent\"",
        name.map_or(String::new(), |name| format!(" ({name})"))
    )]
    NotALog {
        /// The field that is wrong, from 1.
        field: usize,
        /// Its name, if it has one.
        name: Option<&'static str>,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// A path leads to an object or an array.
    #[error(
        "{path:?} is {what}; a key needs a string, a number, true or false{}",
        if *what == "an array" { format!(" ({path}:json makes keywords of a list)") } else { String::new() }
    )]
    NotOneValue {
        /// The path.
        path: String,
        /// What it leads to.
        what: &'static str,
    },
    /// A document whose bytes are no UTF-8.
    #[error("byte {0} is not UTF-8, so that its words cannot be told; it may be in Latin-1 or the like")]
    DocumentNotUtf8(usize),
    /// A message of a broker holds more than one row.
    #[error("a message is one row, and this has more")]
    SecondRow,
    /// The keys of messages are asked for, and this one has none.
    #[error("this message has no key")]
    NoMessageKey,
    /// A decimal is stored in more bytes than are read.
    #[error("a decimal of {bytes} bytes is too long (at most {most})")]
    LongDecimal {
        /// Its length.
        bytes: usize,
        /// The longest that is read.
        most: usize,
    },
}

impl Refusal for BadRow {
    fn help(&self) -> Vec<Help> {
        match self {
            BadRow::OpenQuote | BadRow::LongQuote { .. } | BadRow::TornQuote { .. } => vec![plain_quotes()],
            BadRow::AfterQuoteInHeader => vec![
                Help::GiveIf(
                    "if something else separates its columns",
                    vec![opt::DELIMITER.with("space"), opt::DELIMITER.with("DELIMITER")],
                ),
                plain_quotes(),
            ],
            BadRow::AfterQuote | BadRow::OpenInLine => vec![plain_quotes(), skip_bad_rows()],
            BadRow::TooManyFields { quotes: false, .. } => {
                let quotes = vec![opt::QUOTES.with("csv")];
                vec![Help::GiveIf("if quoted fields may hold the delimiter", quotes), skip_bad_rows()]
            }
            BadRow::Doubt(_) => vec![
                Help::GiveTo(opt::FORMAT.with("lines"), "take whole lines"),
                Help::GiveTo(opt::DELIMITER.with("DELIMITER"), "take their first field"),
            ],
            BadRow::NotALog { .. } => vec![
                skip_bad_rows(),
                Help::GiveIf("if all its lines have another form", vec![opt::DELIMITER.with("space")]),
            ],
            BadRow::Nul => vec![skip_bad_rows(), Help::Do("take such bytes out first (tr -d '\\0')")],
            BadRow::NotTsv => {
                let others = ["csv", "ndjson"].map(|format| opt::OUTPUT_FORMAT.with(format));
                vec![Help::GiveOne(others.to_vec())]
            }
            BadRow::NotUtf8 => vec![
                Help::Do("convert it to UTF-8 first (iconv -t UTF-8)"),
                Help::Do("name an output that is text"),
            ],
            BadRow::DocumentNotUtf8(_) => vec![
                Help::Do("convert it to UTF-8 first (iconv -f LATIN1 -t UTF-8)"),
                Help::GiveTo(opt::BAD_ROWS.with("skip"), "leave such documents out"),
            ],
            BadRow::LongDecimal { .. } => vec![Help::Do("choose another column")],
            _ => vec![skip_bad_rows()],
        }
    }
}

/// That quotes may mean nothing.
fn plain_quotes() -> Help {
    Help::GiveIf("if quotes are ordinary characters in this file", vec![opt::QUOTES.with("none")])
}

/// That rows which cannot be used can be left out.
pub fn skip_bad_rows() -> Help {
    Help::GiveTo(opt::BAD_ROWS.with("skip"), "leave such rows out")
}
