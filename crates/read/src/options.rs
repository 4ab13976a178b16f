//! What the user says about the inputs.

use crate::delimited::{self, Dialect};
use crate::format::Format;

/// What the user said about the input; everything else is recognised.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The format, if it is not recognised correctly.
    pub format: Option<Format>,
    /// The delimiter of delimited text.
    pub delimiter: Option<u8>,
    /// Delimited text has no header line.
    pub no_header: bool,
    /// Quotes are ordinary characters.
    pub no_quotes: bool,
}

impl Options {
    /// Whether a value is quoted in this line and does not end in it, where the format is given.
    pub fn leaves_open(&self, line: &[u8]) -> bool {
        let usual = match self.format {
            Some(Format::Csv) => b',',
            Some(Format::Tsv) => b'\t',
            _ => return false,
        };
        let dialect = Dialect { delimiter: self.delimiter.unwrap_or(usual), quotes: !self.no_quotes };
        delimited::cut(line, dialect).open.is_some()
    }
}
