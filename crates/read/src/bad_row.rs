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
    /// A path leads to an object or an array.
    #[error("{path:?} is {what}; a key needs a string, a number, true or false")]
    NotOneValue {
        /// The path.
        path: String,
        /// What it leads to.
        what: &'static str,
    },
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
            BadRow::OpenQuote | BadRow::LongQuote { .. } => {
                vec![Help::GiveIf(
                    "if quotes are ordinary characters in this file",
                    vec![opt::NO_QUOTES.into()],
                )]
            }
            // A row whose end is not known cannot be left out.
            BadRow::TooLong { .. } => Vec::new(),
            BadRow::LongDecimal { .. } => vec![Help::Do("choose another column")],
            _ => vec![skip_bad_rows()],
        }
    }
}

/// That rows which cannot be used can be left out.
pub fn skip_bad_rows() -> Help {
    Help::GiveTo(opt::BAD_ROWS.with("skip"), "leave such rows out")
}
