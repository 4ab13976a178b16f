//! How the bytes of a key are made from the values of a row.
//!
//! A [`Recipe`] names the columns and the steps that turn their text into a key and a group.
//! It is stored in every file, so that all who use the file make the same keys.
//!
//! ```
//! use tamis::key::{Field, Maker, Recipe};
//!
//! let recipe = Recipe {
//!     key: vec!["email:trim,lower".parse()?],
//!     group: Some("rating:round".parse()?),
//!     weight: None,
//!     null: None,
//! };
//! let mut maker = Maker::new(&recipe);
//! assert_eq!(maker.key(&[Some(b" Ann@Example.org ")])?, b"ann@example.org");
//! assert_eq!(maker.group(Some(b"6.5"))?, b"6"); // half to even
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::Error;

pub use self::keywords::keywords_of;

mod decimal;
mod keywords;
mod single;
#[cfg(test)]
mod tests;

/// Where a value stands in a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Column {
    /// The whole line: one key per line.
    Line,
    /// A column by its name (in NDJSON and Parquet a path such as `user.id`).
    Name(String),
    /// A column by its number, from 1; where a table has fewer columns, the one of that name.
    Number(usize),
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Column::Line => f.write_str("(line)"),
            Column::Name(name) if is_number(name) => write!(f, "\"{name}\""),
            Column::Name(name) => f.write_str(name),
            Column::Number(number) => write!(f, "{number}"),
        }
    }
}

/// One change made to the text of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// Drop white space (ASCII) at both ends.
    Trim,
    /// Lower case: Unicode where the value is UTF-8, else ASCII letters only.
    Lower,
    /// Upper case, in the same way.
    Upper,
    /// The nearest integer of a decimal number, half to even.
    Round,
    /// The largest integer that is not above.
    Floor,
    /// The smallest integer that is not below.
    Ceil,
    /// The first N characters (a byte that is not UTF-8 counts as one).
    Prefix(usize),
    /// The last N characters.
    Suffix(usize),
    /// What stands before the first occurrence of a text; all, where it does not occur.
    Before(String),
    /// What stands after the last occurrence of a text; all, where it does not occur.
    After(String),
    /// Keywords: the parts between the occurrences of a text, trimmed.
    Split(String),
    /// Keywords: the words of a text.
    Words,
    /// Keywords: this member of each element of a JSON list; of no name, the elements themselves.
    Json(String),
    /// One keyword: the value as it is.
    Whole,
    /// The keywords of this column in the order of their bytes; the last of the steps.
    Sort,
}

const STEP_NAMES: &str = "trim, lower, upper, round, floor, ceil, prefix=N, suffix=N, before=TEXT, after=TEXT, \
     and for keywords split=TEXT, words, json=MEMBER, whole, sort";

impl FromStr for Step {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (name, argument) = match text.split_once('=') {
            Some((name, argument)) => (name, Some(argument)),
            None => (text, None),
        };
        let count = || -> Result<usize, Error> {
            argument
                .and_then(|digits| digits.parse().ok())
                .filter(|&n| n > 0)
                .ok_or_else(|| Error::Recipe(format!("{name} takes a positive integer: {name}=3")))
        };
        let word = || -> Result<String, Error> {
            argument
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .ok_or_else(|| Error::Recipe(format!("{name} takes a text: {name}=@")))
        };
        let plain = |step: Step| match argument {
            None => Ok(step),
            Some(_) => Err(Error::Recipe(format!("{name} takes no argument"))),
        };
        match name {
            "trim" => plain(Step::Trim),
            "lower" => plain(Step::Lower),
            "upper" => plain(Step::Upper),
            "round" => plain(Step::Round),
            "floor" => plain(Step::Floor),
            "ceil" => plain(Step::Ceil),
            "prefix" => count().map(Step::Prefix),
            "suffix" => count().map(Step::Suffix),
            "before" => word().map(Step::Before),
            "after" => word().map(Step::After),
            "split" => word().map(|text| {
                Step::Split(match text.as_str() {
                    "tab" => "\t".into(),
                    "space" => " ".into(),
                    _ => text,
                })
            }),
            "words" => plain(Step::Words),
            "json" => Ok(Step::Json(argument.unwrap_or_default().to_owned())),
            "whole" => plain(Step::Whole),
            "sort" => plain(Step::Sort),
            _ => Err(Error::Recipe(format!(
                "unknown step {name:?}; the steps are {STEP_NAMES} (name a column that has a colon in its name by its number)"
            ))),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Trim => f.write_str("trim"),
            Step::Lower => f.write_str("lower"),
            Step::Upper => f.write_str("upper"),
            Step::Round => f.write_str("round"),
            Step::Floor => f.write_str("floor"),
            Step::Ceil => f.write_str("ceil"),
            Step::Prefix(n) => write!(f, "prefix={n}"),
            Step::Suffix(n) => write!(f, "suffix={n}"),
            Step::Before(text) => write!(f, "before={text}"),
            Step::After(text) => write!(f, "after={text}"),
            Step::Split(text) => match text.as_str() {
                "\t" => f.write_str("split=tab"),
                " " => f.write_str("split=space"),
                text => write!(f, "split={text}"),
            },
            Step::Words => f.write_str("words"),
            Step::Json(member) if member.is_empty() => f.write_str("json"),
            Step::Json(member) => write!(f, "json={member}"),
            Step::Whole => f.write_str("whole"),
            Step::Sort => f.write_str("sort"),
        }
    }
}

impl Step {
    /// Whether it makes keywords of a value.
    pub fn splits(&self) -> bool {
        matches!(self, Step::Split(_) | Step::Words | Step::Json(_) | Step::Whole)
    }

    fn apply<'a>(&self, value: &'a [u8]) -> Result<Cow<'a, [u8]>, BadValue> {
        Ok(match self {
            Step::Trim => Cow::Borrowed(value.trim_ascii()),
            Step::Lower => match core::str::from_utf8(value) {
                Ok(text) if !text.is_ascii() => Cow::Owned(text.to_lowercase().into_bytes()),
                _ => Cow::Owned(value.to_ascii_lowercase()),
            },
            Step::Upper => match core::str::from_utf8(value) {
                Ok(text) if !text.is_ascii() => Cow::Owned(text.to_uppercase().into_bytes()),
                _ => Cow::Owned(value.to_ascii_uppercase()),
            },
            Step::Round => Cow::Owned(decimal::to_integer(value, decimal::Mode::HalfEven)?),
            Step::Floor => Cow::Owned(decimal::to_integer(value, decimal::Mode::Floor)?),
            Step::Ceil => Cow::Owned(decimal::to_integer(value, decimal::Mode::Ceil)?),
            Step::Prefix(n) => {
                let end: usize = character_lengths(value).take(*n).sum();
                Cow::Borrowed(&value[..end])
            }
            Step::Suffix(n) => {
                let all = character_lengths(value).count();
                let start: usize = character_lengths(value).take(all.saturating_sub(*n)).sum();
                Cow::Borrowed(&value[start..])
            }
            Step::Before(text) => {
                let at = windows(value, text).position(|w| w == text.as_bytes());
                Cow::Borrowed(at.map_or(value, |at| &value[..at]))
            }
            Step::After(text) => {
                let at = windows(value, text).rposition(|w| w == text.as_bytes());
                Cow::Borrowed(at.map_or(value, |at| &value[at + text.len()..]))
            }
            // What concerns the list of keywords leaves each of them as it is.
            Step::Split(_) | Step::Words | Step::Json(_) | Step::Whole | Step::Sort => Cow::Borrowed(value),
        })
    }
}

/// The places where a text may stand in a value. An empty text stands nowhere.
fn windows<'a>(value: &'a [u8], text: &str) -> core::slice::Windows<'a, u8> {
    value.windows(text.len().max(1))
}

/// The length in bytes of each character; a byte that is not UTF-8 is a character of its own.
fn character_lengths(value: &[u8]) -> impl Iterator<Item = usize> {
    value.utf8_chunks().flat_map(|chunk| {
        chunk.valid().chars().map(char::len_utf8).chain(core::iter::repeat_n(1, chunk.invalid().len()))
    })
}

/// A column and the steps that its value goes through: `email:trim,lower`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)] // what is not known here could make other keys
pub struct Field {
    /// Where the value stands.
    pub column: Column,
    /// What is done to it, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

impl Field {
    /// The place of the step that makes keywords of the value.
    pub fn splitting(&self) -> Option<usize> {
        self.steps.iter().position(Step::splits)
    }

    /// The same as a source of keywords: the value is one, where no step makes more of it.
    pub fn of_keywords(mut self) -> Field {
        if self.splitting().is_none() {
            self.steps.insert(0, Step::Whole);
        }
        self
    }
}

/// Cuts a field's text at a step `split=`: what stands before it, its delimiter, and the steps
/// after it. The delimiter may be a comma or a colon, or begin with one: its first character
/// belongs to it whatever it is; from the second on it ends at a comma.
fn cut_at_split(text: &str) -> Option<(&str, &str, &str)> {
    let at = [":split=", ",split="].iter().filter_map(|step| text.find(step)).min()? + 1;
    let rest = &text[at + "split=".len()..];
    let first = rest.chars().next()?.len_utf8();
    let end = rest[first..].find(',').map_or(rest.len(), |comma| first + comma);
    Some((&text[..at], &rest[..end], &rest[end..]))
}

impl FromStr for Field {
    type Err = Error;

    /// Reads `column` or `column:step,step`; an empty column is the whole line (`:trim`), and so
    /// is `(line)`, as which it is shown.
    ///
    /// What follows the last colon is read as steps; a column whose name holds a colon is
    /// written with one more at its end (`xml:lang:`). A number is a place; in double quotes
    /// (`"2024"`) it is a name.
    fn from_str(text: &str) -> Result<Self, Error> {
        let steps_of = |steps: &str| steps.split(',').map(Step::from_str).collect::<Result<Vec<_>, _>>();
        let (head, split) = match cut_at_split(text) {
            Some((head, delimiter, after)) => (head, Some((delimiter, after))),
            None => (text, None),
        };
        let (column, mut steps) = match head.rsplit_once(':') {
            Some((column, "")) => (column, Vec::new()),
            Some((column, steps)) => {
                (column, steps_of(if split.is_some() { steps.trim_end_matches(',') } else { steps })?)
            }
            None => (head, Vec::new()),
        };
        if let Some((delimiter, after)) = split {
            steps.push(format!("split={delimiter}").parse()?);
            if let Some(after) = after.strip_prefix(',') {
                steps.extend(steps_of(after)?);
            }
        }
        check_steps(&steps).map_err(|why| Error::Recipe(why.into()))?;
        // `007` and `+7` are names: they would not be written so.
        let number = column.parse::<usize>().ok().filter(|number| number.to_string() == column);
        let column = match number {
            Some(0) => return Err(Error::Recipe("columns are numbered from 1".into())),
            Some(number) => Column::Number(number),
            None if matches!(column, "" | "(line)") => Column::Line,
            None => Column::Name(numeric_name(column).unwrap_or(column).to_owned()),
        };
        Ok(Field { column, steps })
    }
}

/// The number that stands in double quotes: it is a name then.
fn numeric_name(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    is_number(inner).then_some(inner)
}

/// Whether a text would be read as the place of a column.
fn is_number(text: &str) -> bool {
    text.parse::<usize>().is_ok_and(|number| number.to_string() == text)
}

/// That the steps for keywords stand where they mean something.
fn check_steps(steps: &[Step]) -> Result<(), &'static str> {
    match steps.iter().filter(|step| step.splits()).count() {
        2.. => return Err("one of split, words, json and whole makes the keywords: leave out the others"),
        0 if steps.contains(&Step::Sort) => {
            return Err("sort orders keywords: put split, words or json before it");
        }
        _ => {}
    }
    match steps.iter().position(|step| *step == Step::Sort) {
        Some(at) if at + 1 < steps.len() => Err("sort must be the last step"),
        _ => Ok(()),
    }
}

/// As [`from_str`](Field::from_str) reads it.
impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.column)?;
        if self.steps.is_empty() && matches!(&self.column, Column::Name(name) if name.contains(':')) {
            f.write_str(":")?;
        }
        for (i, step) in self.steps.iter().enumerate() {
            write!(f, "{}{step}", if i == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

/// How the key and the group of a row are made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The parts of the key. Several make a compound key, each with its length before it,
    /// so that ("ab", "c") and ("a", "bc") differ. Where all of them make keywords, the key is a
    /// record: the different keywords of all parts, in the same form.
    pub key: Vec<Field>,
    /// The group of the row, where there are groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Field>,
    /// What the row counts for, where keys are counted and rows do not count for 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Field>,
    /// What stands for an empty cell, `\N` or null; without it they are no keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub null: Option<String>,
}

impl Recipe {
    /// One key per line, no groups.
    pub fn lines() -> Self {
        let line = Field { column: Column::Line, steps: Vec::new() };
        Recipe { key: vec![line], group: None, weight: None, null: None }
    }

    /// Whether its keys are records of keywords.
    pub fn of_keywords(&self) -> bool {
        self.key.first().is_some_and(|field| field.splitting().is_some())
    }

    /// Whether a key is just the value of one column, where that [is present](is_present).
    pub fn is_plain(&self) -> bool {
        matches!(&self.key[..], [field] if field.steps.is_empty())
    }

    /// The columns that a row must give: those of the key, then that of the group, then that of
    /// the weight.
    pub fn columns(&self) -> Vec<Column> {
        self.fields().map(|field| field.column.clone()).collect()
    }

    fn fields(&self) -> impl Iterator<Item = &Field> {
        self.key.iter().chain(&self.group).chain(&self.weight)
    }

    /// Where the weight stands among the [columns](Self::columns).
    pub fn weight_at(&self) -> Option<usize> {
        self.weight.as_ref().map(|_| self.key.len() + usize::from(self.group.is_some()))
    }

    /// That it is one that could be parsed: a file may hold any.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let field_is_possible = |field: &Field| {
            field.column != Column::Number(0)
                && field.steps.iter().all(|step| match step {
                    Step::Prefix(n) | Step::Suffix(n) => *n > 0,
                    Step::Before(text) | Step::After(text) | Step::Split(text) => !text.is_empty(),
                    _ => true,
                })
                && check_steps(&field.steps).is_ok()
        };
        let keywords = self.of_keywords();
        if self.key.iter().any(|field| field.splitting().is_some() != keywords) {
            return Err(Error::Corrupt(format!(
                "some parts of the key make keywords and others do not ({self})"
            )));
        }
        if self.group.as_ref().is_some_and(|group| group.splitting().is_some()) {
            return Err(Error::Corrupt(format!("a group cannot be made of keywords ({self})")));
        }
        if self.weight.as_ref().is_some_and(|weight| weight.splitting().is_some()) {
            return Err(Error::Corrupt(format!("a weight cannot be made of keywords ({self})")));
        }
        if self.key.is_empty() || !self.fields().all(field_is_possible) {
            return Err(Error::Corrupt(format!("the recipe is impossible ({self})")));
        }
        Ok(())
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key: Vec<String> = self.key.iter().map(Field::to_string).collect();
        write!(f, "{} {}", if self.of_keywords() { "keywords" } else { "key" }, key.join(" + "))?;
        if let Some(group) = &self.group {
            write!(f, ", group {group}")?;
        }
        if let Some(weight) = &self.weight {
            write!(f, ", weight {weight}")?;
        }
        if let Some(null) = &self.null {
            write!(f, ", null {null:?}")?;
        }
        Ok(())
    }
}

/// A value of which no key can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadValue {
    /// An empty cell, `\N` or null (or a value of which the steps leave nothing).
    Missing,
    /// A value that a numeric step cannot read.
    NotANumber(String),
    /// A value that is no weight.
    NotAWeight(String),
    /// Key parts that do not match the recipe in number.
    Parts {
        /// As the recipe has it.
        expected: usize,
        /// As given.
        got: usize,
    },
    /// A record without keywords.
    NoKeywords,
    /// A cell that holds no list of keywords.
    NotAList {
        /// Its column.
        column: String,
        /// What is wrong.
        why: String,
    },
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadValue::Missing => f.write_str("an empty cell, \\N or null is not a key"),
            BadValue::NotANumber(value) => write!(f, "{value:?} is not a decimal number"),
            BadValue::NotAWeight(value) => {
                let why = match value.strip_prefix('-') {
                    Some(_) => "is negative",
                    None if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                        "is above 2^64 - 1"
                    }
                    None => "is not an integer",
                };
                write!(f, "{value:?} {why}; a weight is a non-negative integer (COLUMN:round rounds)")
            }
            BadValue::Parts { expected, got } => {
                write!(f, "the key has {expected} parts, separated by tabs; this has {got}")
            }
            BadValue::NoKeywords => f.write_str("the record has no keywords"),
            BadValue::NotAList { column, why } => write!(f, "column {column}: {why}"),
        }
    }
}

impl core::error::Error for BadValue {}

/// Makes keys and groups by a recipe, reusing its buffers.
#[derive(Debug)]
pub struct Maker<'r> {
    recipe: &'r Recipe,
    key: Vec<u8>,
    group: Vec<u8>,
    weight: Vec<u8>,
    record: Option<Box<keywords::Record>>,
    /// Whether a key is just a value, as most are: seen at a glance, key after key.
    verbatim: bool,
}

impl<'r> Maker<'r> {
    /// A maker for this recipe.
    pub fn new(recipe: &'r Recipe) -> Self {
        let record = recipe.of_keywords().then(Box::default);
        let verbatim = recipe.is_plain();
        let (key, group, weight) = Default::default();
        Maker { recipe, key, group, weight, record, verbatim }
    }

    /// The bytes of the key whose parts have these values.
    #[inline(always)]
    pub fn key<'a>(&'a mut self, parts: &[Option<&'a [u8]>]) -> Result<&'a [u8], BadValue> {
        match parts {
            [Some(part)] if self.verbatim && is_present(part) => Ok(part),
            _ => self.made_key(parts),
        }
    }

    /// The same where the key is not just the value.
    fn made_key<'a>(&'a mut self, parts: &[Option<&'a [u8]>]) -> Result<&'a [u8], BadValue> {
        let null = self.recipe.null.as_deref();
        if let Some(record) = &mut self.record {
            let (expected, got) = (self.recipe.key.len(), parts.len());
            if expected != got {
                return Err(BadValue::Parts { expected, got });
            }
            record.make(&self.recipe.key, parts, null, &mut self.key)?;
            return Ok(&self.key);
        }
        match (&self.recipe.key[..], parts) {
            ([field], [part]) => canonical(&field.steps, *part, null, &mut self.key),
            (fields, parts) if fields.len() == parts.len() => {
                self.key.clear();
                let mut buffer = Vec::new();
                for (field, part) in fields.iter().zip(parts) {
                    let bytes = canonical(&field.steps, *part, null, &mut buffer)?;
                    self.key.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
                    self.key.extend_from_slice(bytes);
                }
                Ok(&self.key)
            }
            (fields, parts) => Err(BadValue::Parts { expected: fields.len(), got: parts.len() }),
        }
    }

    /// The bytes of the group with this value. Without a group in the recipe: the empty name.
    pub fn group<'a>(&'a mut self, value: Option<&'a [u8]>) -> Result<&'a [u8], BadValue> {
        match &self.recipe.group {
            Some(field) => canonical(&field.steps, value, self.recipe.null.as_deref(), &mut self.group),
            None => Ok(b""),
        }
    }

    /// What a row counts for whose weight has this value. Without a weight in the recipe: 1.
    /// `null` does not stand for a missing weight.
    #[inline]
    pub fn weight(&mut self, value: Option<&[u8]>) -> Result<u64, BadValue> {
        let Some(field) = &self.recipe.weight else { return Ok(1) };
        let text = canonical(&field.steps, value, None, &mut self.weight)?;
        let number = |text: &[u8]| match whole(text) {
            [] => None,
            digits => digits.iter().try_fold(0u64, |number, digit| match digit {
                b'0'..=b'9' => number.checked_mul(10)?.checked_add(u64::from(digit - b'0')),
                _ => None,
            }),
        };
        number(text).ok_or_else(|| BadValue::NotAWeight(String::from_utf8_lossy(text).into_owned()))
    }
}

/// A number without the zeros after its point: `42.0` is the whole number 42, as columns of floats write it.
#[inline]
fn whole(number: &[u8]) -> &[u8] {
    match number.iter().position(|&byte| byte == b'.') {
        Some(at) if at + 1 < number.len() && number[at + 1..].iter().all(|&byte| byte == b'0') => {
            &number[..at]
        }
        _ => number,
    }
}

/// What the steps make of a value, one after the other.
fn apply<'a>(steps: &[Step], value: &'a [u8]) -> Result<Cow<'a, [u8]>, BadValue> {
    let mut current = Cow::Borrowed(value);
    for step in steps {
        let next = step.apply(&current)?.into_owned();
        current = Cow::Owned(next);
    }
    Ok(current)
}

fn canonical<'a>(
    steps: &[Step],
    value: Option<&'a [u8]>,
    null: Option<&'a str>,
    buffer: &'a mut Vec<u8>,
) -> Result<&'a [u8], BadValue> {
    // What stands for a missing value stands as it is: `round` could not read it.
    let value = match present(value, None) {
        Ok(value) if !steps.is_empty() => value,
        _ => return present(value, null),
    };
    let made = apply(steps, value)?;
    buffer.clear();
    buffer.extend_from_slice(&made);
    if buffer.is_empty() { present(None, null) } else { Ok(buffer) }
}

/// Whether a value is there: an empty one and `\\N` stand for none.
#[inline(always)]
pub fn is_present(value: &[u8]) -> bool {
    !value.is_empty() && value != b"\\N"
}

fn present<'a>(value: Option<&'a [u8]>, null: Option<&'a str>) -> Result<&'a [u8], BadValue> {
    match value {
        Some(value) if is_present(value) => Ok(value),
        _ => null.map(str::as_bytes).ok_or(BadValue::Missing),
    }
}
