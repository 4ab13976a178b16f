//! Text that could be cut in more than one way: what would tell, and the value that each way would give.

use std::cmp::Reverse;
use std::fmt;

use tamis::key::Column;

use super::dialect::Dialect;
use super::options::{Delimiter, Quotes};
use super::{Options, delimited, log};
use crate::opt;
use crate::refusal::{Given, Help};

/// What a line would be in the ways in which it can be cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// What would tell, and the first value that is asked for then.
    pub choices: Vec<(Given, String)>,
    /// The column that is asked for.
    column: String,
    /// Whether the first line seems to be a comment, and the next one is meant.
    commented: bool,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.choices.len() {
            _ if self.commented => "; its first line seems to be a comment",
            0 => "; its first line has too few of the usual delimiters",
            1 => "",
            _ => "; its first line can be cut in more than one way",
        };
        write!(f, "nothing says what separates its columns, and column {} is asked for{why}", self.column)
    }
}

impl Doubt {
    /// By these delimiters, and as a whole.
    pub(super) fn of_line(
        line: &[u8],
        options: &Options,
        asked: &[Column],
        delimiters: &[u8],
        lines: bool,
    ) -> Doubt {
        let number = asked.iter().find_map(|column| match column {
            Column::Number(number) => number.checked_sub(1),
            _ => None,
        });
        let fields = |delimiter: Delimiter| -> Option<Vec<Vec<u8>>> {
            let dialect = options.dialect(delimiter);
            // A quote that is left open is for later.
            let plain = Dialect { quotes: Quotes::None, ..dialect };
            let row = delimited::first_row(line, dialect, true, &mut 0);
            Some(row.or_else(|_| delimited::first_row(line, plain, true, &mut 0)).ok()??.0)
        };
        let runs = line.starts_with(b" ") || line.windows(2).any(|two| two == b"  ");
        let delimiter = |byte: &u8| match byte {
            b' ' if runs => Delimiter::Whitespace,
            byte => Delimiter::Byte(*byte),
        };
        let choice = |delimiter: Delimiter| {
            let fields = fields(delimiter)?;
            let value = shortened(fields.get(number.unwrap_or(0))?);
            let first = fields.first().map_or(0, Vec::len);
            Some(((Reverse(fields.len()), first), opt::DELIMITER.with(delimiter.name()?), value))
        };
        let mut cuts: Vec<_> = delimiters.iter().map(delimiter).filter_map(choice).collect();
        // What cuts a line into most fields is most likely meant; of equals, what cuts it first.
        cuts.sort_by_key(|(rank, ..)| *rank);
        cuts.truncate(if lines { 2 } else { 3 });
        let mut choices: Vec<(Given, String)> = Vec::new();
        for (_, given, value) in cuts {
            // One of two that read the same is enough; a name is not what is read.
            if number.is_none() || choices.iter().all(|(_, other)| *other != value) {
                choices.push((given, value));
            }
        }
        if let Some(value) = log::first_value(line, asked) {
            // With blanks between them, its fields may be read as well; more would be too much.
            choices.truncate(1);
            choices.insert(0, (opt::FORMAT.with("log"), shortened(&value)));
        }
        if lines {
            choices.push((opt::FORMAT.with("lines"), shortened(line)));
        }
        let column = asked.iter().find(|column| **column != Column::Line).unwrap_or(&Column::Number(1));
        Doubt { choices, column: column.to_string(), commented: false }
    }

    /// The same of a text whose first line, which seems to be a comment, was passed over.
    pub(super) fn below_a_comment(self) -> Doubt {
        Doubt { commented: true, ..self }
    }

    pub(super) fn help(&self) -> Vec<Help> {
        let choice = |(given, value): &(Given, String)| match self.commented {
            false => Help::GiveFor(vec![given.clone()], format!("read {value:?} in the first line")),
            true => {
                let sign = opt::COMMENT.with("'#'");
                Help::GiveFor(vec![sign, given.clone()], format!("read {value:?} in the line below it"))
            }
        };
        let mut help: Vec<Help> = self.choices.iter().map(choice).collect();
        if help.is_empty() {
            help.push(Help::give(opt::DELIMITER.with("DELIMITER")));
        }
        help
    }
}

/// The beginning of a value, for people.
fn shortened(value: &[u8]) -> String {
    const MOST: usize = 40;
    let text = String::from_utf8_lossy(value);
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into_owned(),
    }
}
