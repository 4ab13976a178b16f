//! What the user says about the inputs.

use std::fmt;

use crate::delimited;
use crate::dialect::Dialect;
use crate::format::Format;
use crate::watch::Watch;

/// What the user said about the input; everything else is recognised.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The format, if it is not recognised correctly.
    pub format: Option<Format>,
    /// The delimiter of delimited text.
    pub delimiter: Option<Delimiter>,
    /// Delimited text has no header line.
    pub no_header: bool,
    /// Delimited text has a header line, even where its columns are asked by number and its name says
    /// nothing.
    pub with_header: bool,
    /// What quotes mean, if it is not what is usual with that delimiter.
    pub quotes: Option<Quotes>,
    /// Lines that begin with this byte are no rows.
    pub comment: Option<u8>,
    /// That text is one key per line was not said, but seen in its first line: a line that could also be
    /// cut into columns is refused.
    pub undeclared: bool,
    /// The delimiter is not said of this input, but recorded in the file that is asked: text that
    /// contradicts it is refused, and what is no delimited text has nothing to do with it.
    pub recorded: bool,
    /// Where it is told that a field began with a quote.
    pub watch: Option<Watch>,
    /// What the column `(file)` is, where the path does not tell: of text that was read elsewhere.
    pub file: Option<Vec<u8>>,
}

/// What separates the values of delimited text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delimiter {
    /// This byte, each time.
    Byte(u8),
    /// A run of blanks and tabs. Those at the ends of a line separate nothing.
    Whitespace,
}

impl Delimiter {
    /// The byte, where it is one.
    pub fn byte(self) -> Option<u8> {
        match self {
            Delimiter::Byte(byte) => Some(byte),
            Delimiter::Whitespace => None,
        }
    }

    /// What is written between two values.
    pub fn written(self) -> u8 {
        self.byte().unwrap_or(b' ')
    }

    /// Its name in requests and messages; none where a byte has no other name than itself.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Delimiter::Byte(b'\t') => Some("tab"),
            Delimiter::Byte(b',') => Some("comma"),
            Delimiter::Byte(b';') => Some("semicolon"),
            Delimiter::Byte(b'|') => Some("pipe"),
            Delimiter::Byte(b' ') => Some("space"),
            Delimiter::Byte(_) => None,
            Delimiter::Whitespace => Some("whitespace"),
        }
    }
}

impl From<u8> for Delimiter {
    fn from(byte: u8) -> Delimiter {
        Delimiter::Byte(byte)
    }
}

/// As people see it: `';'`, `'\t'`, `whitespace`.
impl fmt::Display for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delimiter::Byte(byte) => write!(f, "{:?}", char::from(*byte)),
            Delimiter::Whitespace => f.write_str("whitespace"),
        }
    }
}

/// What a quote at the beginning of a field means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quotes {
    /// Nothing: quotes are ordinary characters.
    None,
    /// The field runs to the next quote that is not doubled, over delimiters and line ends (RFC 4180).
    Csv,
    /// The field runs to the next quote in the same line that has no backslash before it.
    Log,
}

impl Quotes {
    /// All of them.
    pub const ALL: [Quotes; 3] = [Quotes::Csv, Quotes::Log, Quotes::None];

    /// Its name in requests.
    pub fn name(self) -> &'static str {
        match self {
            Quotes::None => "none",
            Quotes::Csv => "csv",
            Quotes::Log => "log",
        }
    }

    /// What quotes mean with this delimiter where nobody says otherwise. TSV has none, by its
    /// definition and in practice; text with blanks is a log; all else is CSV.
    pub fn usual(delimiter: Delimiter) -> Quotes {
        match delimiter {
            Delimiter::Byte(b'\t') => Quotes::None,
            Delimiter::Byte(b' ') | Delimiter::Whitespace => Quotes::Log,
            Delimiter::Byte(_) => Quotes::Csv,
        }
    }
}

impl Options {
    /// Whether delimited text has a header line; `usual` where nothing is said.
    pub(crate) fn header(&self, usual: bool) -> bool {
        self.with_header || (usual && !self.no_header)
    }

    /// How text with this delimiter is written.
    pub(crate) fn dialect(&self, delimiter: Delimiter) -> Dialect {
        let quotes = self.quotes.unwrap_or(Quotes::usual(delimiter));
        Dialect { delimiter, quotes, comment: self.comment }
    }

    /// Whether a value is quoted in this line and does not end in it, where the format is given.
    pub fn leaves_open(&self, line: &[u8]) -> bool {
        let usual = match self.format {
            Some(Format::Csv) => b',',
            Some(Format::Tsv) => b'\t',
            _ => return false,
        };
        let dialect = self.dialect(self.delimiter.unwrap_or(Delimiter::Byte(usual)));
        dialect.quotes == Quotes::Csv && delimited::cut(line, dialect).open.is_some()
    }
}
