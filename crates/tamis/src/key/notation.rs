//! How people write fields and steps: `email:trim,lower`, `agent:extract="bot/([0-9.]+)"`.
//!
//! A column, and the argument of a step, may stand in double quotes. Any character stands for itself
//! there, and a doubled quote for one. Without quotes a column ends at the first colon that the name of a
//! step follows, and an argument at the next comma.

use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::str::FromStr;

use super::step::check_steps;
use super::{Column, Field, Step, is_number};
use crate::error::{Error, RecipeFault};

impl FromStr for Field {
    type Err = Error;

    /// Reads `column` or `column:step,step`; an empty column is the whole line (`:trim`), and so
    /// is `(line)`, as which it is shown; `(file)` is the name of the input.
    ///
    /// What follows the first colon before the name of a step is read as steps; a column whose name holds a colon stands in double
    /// quotes (`"xml:lang":lower`), or has one more colon at its end (`xml:lang:`).
    fn from_str(text: &str) -> Result<Self, Error> {
        let (column, steps) = match text.starts_with('"') {
            true => {
                let (name, rest) = quoted(text)?;
                let steps = match rest {
                    "" => "",
                    _ => rest.strip_prefix(':').ok_or_else(|| after_quote(rest))?,
                };
                (Column::Name(name), steps)
            }
            false => {
                let (column, steps) = cut(text);
                (column_of(column)?, steps)
            }
        };
        let steps = if steps.is_empty() { Vec::new() } else { self::steps(steps)? };
        check_steps(&steps).map_err(RecipeFault::Order)?;
        Ok(Field { column, steps })
    }
}

/// Where the steps of a field begin: after the first colon that the name of a step follows; else, so that
/// what is wrong can be said, after the last one.
fn cut(text: &str) -> (&str, &str) {
    let begins_a_step = |&at: &usize| {
        let rest = &text[at + 1..];
        Step::is_name(&rest[..rest.find([',', '=']).unwrap_or(rest.len())])
    };
    let first = text.match_indices(':').map(|(at, _)| at).find(begins_a_step);
    match first.or_else(|| text.rfind(':')) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, ""),
    }
}

fn column_of(text: &str) -> Result<Column, Error> {
    // `007` and `+7` are names: they would not be written so.
    Ok(match text.parse::<usize>().ok().filter(|_| is_number(text)) {
        Some(0) => return Err(RecipeFault::ColumnZero.into()),
        Some(number) => Column::Number(number),
        None if matches!(text, "" | "(line)") => Column::Line,
        None if text == "(file)" => Column::File,
        None => Column::Name(text.to_owned()),
    })
}

/// Reads steps, separated by commas.
pub(super) fn steps(text: &str) -> Result<Vec<Step>, Error> {
    let (mut steps, mut rest) = (Vec::new(), text);
    loop {
        let end = rest.find([',', '=']).unwrap_or(rest.len());
        let name = &rest[..end];
        let (argument, after) = match rest[end..].strip_prefix('=') {
            None => (None, &rest[end..]),
            Some(argument) if argument.starts_with('"') => {
                let (argument, after) = quoted(argument)?;
                (Some(argument), after)
            }
            Some(argument) => {
                // The first character of a delimiter belongs to it, whatever it is.
                let first = argument.chars().next().filter(|_| name == "split").map_or(0, char::len_utf8);
                let end = argument[first..].find(',').map_or(argument.len(), |comma| first + comma);
                (Some(argument[..end].to_owned()), &argument[end..])
            }
        };
        steps.push(Step::new(name, argument.as_deref())?);
        rest = match after.strip_prefix(',') {
            Some(rest) => rest,
            None if after.is_empty() => return Ok(steps),
            None => return Err(after_quote(after)),
        };
    }
}

/// What stands in the double quotes with which a text begins, and what follows them.
fn quoted(text: &str) -> Result<(String, &str), Error> {
    let (mut inside, mut rest) = (String::new(), &text[1..]);
    while let Some((part, after)) = rest.split_once('"') {
        inside.push_str(part);
        match after.strip_prefix('"') {
            Some(after) => {
                inside.push('"');
                rest = after;
            }
            None => return Ok((inside, after)),
        }
    }
    Err(RecipeFault::OpenQuote(text.to_owned()).into())
}

fn after_quote(rest: &str) -> Error {
    RecipeFault::AfterQuote(rest.to_owned()).into()
}

/// The argument of a step as it is read: in quotes, where it would end early without them.
pub(super) fn argument<'a>(step: &str, argument: &'a str) -> Cow<'a, str> {
    let first = argument.chars().next().map_or(0, char::len_utf8);
    let free = if step == "split" { &argument[first..] } else { argument };
    let ends_early = free.contains(',') || (step != "split" && free.contains(':'));
    if argument.starts_with('"') || ends_early { in_quotes(argument) } else { Cow::Borrowed(argument) }
}

/// Whether the name of a column would be read as something else without quotes. (One with a colon is read
/// with a colon after it, too.)
pub(super) fn needs_quotes(name: &str) -> bool {
    name.starts_with('"')
        || (name.contains(':') && cut(&format!("{name}:")) != (name, ""))
        || !matches!(column_of(name), Ok(Column::Name(_)))
}

/// A text in double quotes.
pub(super) fn in_quotes(text: &str) -> Cow<'_, str> {
    Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
}
