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
//!     record: None,
//!     keywords: None,
//! };
//! let mut maker = Maker::new(&recipe);
//! assert_eq!(maker.key(&[Some(b" Ann@Example.org ")])?, b"ann@example.org");
//! assert_eq!(maker.group(Some(b"6.5"))?, b"6"); // half to even
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ImpossibleRecipe, ParserMessage};

pub use self::address::Network;
pub use self::domain::SuffixList;
use self::keywords::Most;
pub use self::keywords::{Asked, keywords_of};
pub use self::normal::Unicode;
pub(crate) use self::pattern::MOST_PATTERNS;
pub use self::pattern::Pattern;
pub use self::stem::Stemming;
pub(crate) use self::step::STEP_NAMES;
pub use self::step::Step;
use self::step::{apply, check_steps};
pub use self::stop::StopList;

mod address;
mod decimal;
mod domain;
mod keywords;
mod normal;
mod notation;
mod pattern;
mod single;
mod stem;
mod step;
mod stop;
#[cfg(test)]
mod tests;
mod typed;

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
    /// The name of the input, as the user gave it: every row of a file has the same.
    File,
    /// The text of a whole file, taken out of it by this rule. No recipe has it: it is what the whole line
    /// is where [files are records](Recipe::record), so that nobody reads the lines of such a file.
    #[serde(skip)]
    Text(TextRule),
    /// A column by its name whose value may be a list, not only a text. No recipe has it: it is what a named
    /// column is where a step reads its value as JSON.
    #[serde(skip)]
    List(String),
}

impl Column {
    /// The name by which it is asked for.
    pub fn name(&self) -> Option<&str> {
        match self {
            Column::Name(name) | Column::List(name) => Some(name),
            _ => None,
        }
    }
}

/// How the text of a file is taken out of it, where a file is a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TextRule {
    /// As it stands.
    Text,
    /// What remains of HTML without markup.
    Html,
    /// What remains of Markdown without markup.
    Markdown,
    /// One of these, by the end of the name.
    ByName,
}

impl TextRule {
    /// All of them.
    pub const ALL: [TextRule; 4] = [TextRule::Text, TextRule::Html, TextRule::Markdown, TextRule::ByName];

    /// Its name in recipes.
    pub fn name(self) -> &'static str {
        match self {
            TextRule::Text => "text",
            TextRule::Html => "html",
            TextRule::Markdown => "markdown",
            TextRule::ByName => "by-name",
        }
    }
}

/// What a record is, where it is not a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Record {
    /// A whole file, whose text is taken out by this rule.
    File(TextRule),
}

/// What becomes of the keywords of a record, where they are not one key together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Keywords {
    /// Each is a key of its own.
    Each,
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Column::Line => f.write_str("(line)"),
            Column::Name(name) | Column::List(name) if is_number(name) => write!(f, "\"{name}\""),
            Column::Name(name) | Column::List(name) => f.write_str(name),
            Column::Number(number) => write!(f, "{number}"),
            Column::File => f.write_str("(file)"),
            Column::Text(_) => f.write_str("(line)"),
        }
    }
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

/// Whether a text would be read as the place of a column.
fn is_number(text: &str) -> bool {
    text.parse::<usize>().is_ok_and(|number| number.to_string() == text)
}

/// As [`from_str`](core::str::FromStr::from_str) reads it.
impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.column {
            // Otherwise it would be read as something else.
            Column::Name(name) if notation::needs_quotes(name) => {
                f.write_str(&notation::in_quotes(name))?;
            }
            Column::Name(name) if self.steps.is_empty() && name.contains(':') => write!(f, "{name}:")?,
            column => write!(f, "{column}")?,
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
    /// What a record is, where it is not a row: then the whole line is its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Record>,
    /// What becomes of the keywords of a record, where they are not one key together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keywords: Option<Keywords>,
}

impl Recipe {
    /// One key per line, no groups.
    pub fn lines() -> Self {
        let line = Field { column: Column::Line, steps: Vec::new() };
        Recipe { key: vec![line], group: None, weight: None, null: None, record: None, keywords: None }
    }

    /// Whether its keys are records of keywords.
    pub fn of_keywords(&self) -> bool {
        self.key.first().is_some_and(|field| field.splitting().is_some())
    }

    /// How many keywords of a record are kept, where a step keeps only those that occur most often.
    pub fn most_keywords(&self) -> Option<usize> {
        self.key.iter().flat_map(|field| &field.steps).find_map(Step::most)
    }

    /// The same, with all keywords of a record.
    pub fn with_all_keywords(&self) -> Recipe {
        let mut recipe = self.clone();
        recipe.key.iter_mut().for_each(|field| field.steps.retain(|step| step.most().is_none()));
        recipe
    }

    /// Whether each keyword of a record is a key of its own.
    pub fn has_key_each(&self) -> bool {
        self.keywords == Some(Keywords::Each)
    }

    /// Whether the bytes of a key are parts, each with its length before it: those of a compound key, or the
    /// keywords of a record. [`keywords_of`] takes both apart.
    pub fn keys_have_parts(&self) -> bool {
        !self.has_key_each() && (self.of_keywords() || self.key.len() > 1)
    }

    /// Whether a key is just the value of one column, where that [is present](is_present).
    pub fn is_plain(&self) -> bool {
        matches!(&self.key[..], [field] if field.steps.is_empty())
    }

    /// The columns that a row must give: those of the key, then that of the group, then that of
    /// the weight.
    pub fn columns(&self) -> Vec<Column> {
        self.fields().map(|field| self.column_of(field)).collect()
    }

    /// Those of the key, with which all begin.
    pub fn key_columns(&self) -> Vec<Column> {
        self.key.iter().map(|field| self.column_of(field)).collect()
    }

    /// The column of a field: that of the whole line is the text where a file is a record, and one that a step
    /// reads as JSON may hold a list.
    fn column_of(&self, field: &Field) -> Column {
        match (&field.column, self.record) {
            (Column::Line, Some(Record::File(rule))) => Column::Text(rule),
            (Column::Name(name), _) if field.steps.iter().any(|step| matches!(step, Step::Json(_))) => {
                Column::List(name.clone())
            }
            (column, _) => column.clone(),
        }
    }

    fn fields(&self) -> impl Iterator<Item = &Field> {
        self.key.iter().chain(&self.group).chain(&self.weight)
    }

    /// The first version of the format that has all that stands in it.
    pub(crate) fn version(&self) -> u32 {
        let of_field = |field: &Field| {
            let of_column = if field.column == Column::File { 2 } else { 1 };
            field.steps.iter().map(Step::version).fold(of_column, u32::max)
        };
        let of_all = if self.record.is_some() || self.keywords.is_some() { 2 } else { 1 };
        self.fields().map(of_field).fold(of_all, u32::max)
    }

    /// Where the weight stands among the [columns](Self::columns).
    pub fn weight_at(&self) -> Option<usize> {
        self.weight.as_ref().map(|_| self.key.len() + usize::from(self.group.is_some()))
    }

    /// That keys can be made by it: an error names a list that this program does not have. Files whose
    /// keys are not asked for need none.
    pub fn makes_keys(&self) -> Result<(), Error> {
        self.fields().flat_map(|field| &field.steps).try_for_each(Step::knows_its_list)
    }

    /// That it is one that could be parsed: a file may hold any.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let field_is_possible =
            |field: &Field| field.column != Column::Number(0) && check_steps(&field.steps).is_ok();
        let steps = || self.fields().flat_map(|field| &field.steps);
        if steps().filter(|step| step.is_pattern()).count() > MOST_PATTERNS {
            return Err(ImpossibleRecipe::Patterns.into());
        }
        steps().try_for_each(Step::check)?;
        let (keywords, all) = (self.of_keywords(), || Box::new(self.clone()));
        if self.key.iter().any(|field| field.splitting().is_some() != keywords) {
            return Err(ImpossibleRecipe::MixedKey(all()).into());
        }
        if self.group.as_ref().is_some_and(|group| group.splitting().is_some()) {
            return Err(ImpossibleRecipe::GroupOfKeywords(all()).into());
        }
        if self.weight.as_ref().is_some_and(|weight| weight.splitting().is_some()) {
            return Err(ImpossibleRecipe::WeightOfKeywords(all()).into());
        }
        if self.has_key_each() && !keywords {
            return Err(ImpossibleRecipe::EachOfNone(all()).into());
        }
        let is_of_file = |field: &&Field| matches!(field.column, Column::Line | Column::File);
        if let Some(field) = self.fields().find(|field| self.record.is_some() && !is_of_file(field)) {
            return Err(ImpossibleRecipe::ColumnOfDocument(field.column.clone()).into());
        }
        if self.key.is_empty() || !self.fields().all(field_is_possible) {
            return Err(ImpossibleRecipe::Fields(all()).into());
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
        if let Some(Record::File(rule)) = self.record {
            write!(f, ", each file a record ({})", rule.name())?;
        }
        if self.has_key_each() {
            f.write_str(", each keyword a key")?;
        }
        Ok(())
    }
}

/// A value of which no key can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadValue {
    /// An empty cell, `\N` or null (or a value of which the steps leave nothing).
    Missing,
    /// A value in which a step does not find what it takes out.
    NoMatch {
        /// The step.
        step: String,
        /// The value.
        value: String,
    },
    /// A long value in which a step finds too many matches to look for the last one.
    ManyMatches {
        /// The step.
        step: String,
        /// The length of the value in bytes.
        length: usize,
    },
    /// A value that is no internet address.
    NotAnAddress(String),
    /// An address of a version for which no network was named.
    NoNetwork(String),
    /// A character that the recorded version of Unicode does not have.
    Unassigned(char),
    /// A value without a normal form: it is not UTF-8.
    NotUtf8(String),
    /// A value that a numeric step cannot read.
    NotANumber(String),
    /// A value that is no weight.
    NotAWeight(String),
    /// A value that the type of another system does not have.
    NotOfType {
        /// The step that makes the type.
        step: Step,
        /// The value.
        value: String,
    },
    /// Key parts that do not match the recipe in number.
    Parts {
        /// As the recipe has it.
        expected: usize,
        /// As given.
        got: usize,
    },
    /// A record without keywords.
    NoKeywords,
    /// Several keywords, where each is a key of its own and one is asked for.
    SeveralKeywords(usize),
    /// A cell that holds no list of keywords.
    NotAList {
        /// Its column.
        column: String,
        /// What is wrong.
        why: ListFault,
    },
}

/// Why a cell holds no list of keywords.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListFault {
    /// It is not the JSON of a list: what the parser says.
    NotJson(ParserMessage),
    /// An element, counted from 1, is neither a string nor an integer.
    Element(usize),
    /// An element, counted from 1, lacks a member.
    NoMember(usize, String),
    /// It is text between commas, and the recipe keeps the blanks around keywords.
    Commas,
}

impl fmt::Display for ListFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListFault::NotJson(why) => write!(f, "not a JSON list ({why})"),
            ListFault::Element(number) => write!(f, "element {number} is neither a string nor an integer"),
            ListFault::NoMember(number, member) => write!(f, "element {number} has no member {member:?}"),
            ListFault::Commas => f.write_str(
                "its keywords may begin or end with blanks, which commas do not show; give a JSON list: \
                 [\"space\", \"alien\"]",
            ),
        }
    }
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadValue::Missing => f.write_str("an empty cell, \\N or null is not a key"),
            BadValue::NoMatch { step, value } if step.starts_with("domain") && value.contains("//") => {
                write!(
                    f,
                    "{step} finds nothing in {value:?}: it takes a host (after-first=//,before=/,domain takes it \
                 out of an address)"
                )
            }
            BadValue::NoMatch { step, value } => write!(f, "{step} finds nothing in {value:?}"),
            BadValue::ManyMatches { step, length } => {
                write!(f, "{step} finds too many matches in a value of {length} bytes to tell the last one")
            }
            BadValue::NotAnAddress(value) => write!(f, "{value:?} is not an internet address"),
            BadValue::NoNetwork(address) => write!(
                f,
                "{address} belongs to no network here: cidr=24/48 has the bits of both versions of addresses"
            ),
            BadValue::Unassigned(c) => write!(
                f,
                "the character U+{:04X} is not assigned in the version of Unicode that the file records",
                u32::from(*c)
            ),
            BadValue::NotUtf8(value) => write!(f, "{value:?} is not UTF-8, and so has no normal form"),
            BadValue::NotANumber(value) => write!(f, "{value:?} is not a decimal number"),
            BadValue::NotAWeight(value) => {
                let why = match value.strip_prefix('-') {
                    Some(_) => "is negative",
                    None if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                        "is above 2^64 - 1"
                    }
                    None if value.contains(['e', 'E']) && value.parse::<f64>().is_ok() => {
                        "has an exponent, and must be written out"
                    }
                    None => "is not an integer",
                };
                write!(f, "{value:?} {why}; a weight is a non-negative integer (COLUMN:round rounds)")
            }
            BadValue::NotOfType { step: Step::Utf16, value } => {
                write!(f, "{value:?} is not UTF-8, and so cannot be written in UTF-16")
            }
            BadValue::NotOfType { step, value } => {
                let bits = if *step == Step::Int { 32 } else { 64 };
                write!(f, "{value:?} is not a whole number of {bits} bits, as {step} takes it")
            }
            BadValue::Parts { expected, got } => {
                write!(f, "the key has {expected} parts, separated by tabs; this has {got}")
            }
            BadValue::NoKeywords => f.write_str("the record has no keywords"),
            BadValue::SeveralKeywords(count) => write!(
                f,
                "it has {count} keywords, and each is a key of its own: give one at a time, or search for all of them"
            ),
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

    /// The bytes of the key whose parts have these values. Where each keyword is a key of its own, there must
    /// be one.
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
        let (expected, got) = (self.recipe.key.len(), parts.len());
        if let Some(record) = self.record.as_mut().filter(|_| self.recipe.has_key_each() && expected == got) {
            // Of keywords that are asked for, none is left out because others occur more often.
            record.make(&self.recipe.key, parts, (null, Most::All), &mut self.key)?;
            return the_one_of(&self.key);
        }
        if self.record.is_some() {
            return self.record(parts);
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

    /// The bytes of the record whose parts have these values: all of its [keywords](keywords_of), also where
    /// each is a key of its own. Without a step that makes keywords, there are none.
    pub fn record<'a>(&'a mut self, parts: &[Option<&'a [u8]>]) -> Result<&'a [u8], BadValue> {
        let (expected, got) = (self.recipe.key.len(), parts.len());
        match &mut self.record {
            None => Err(BadValue::NoKeywords),
            Some(_) if expected != got => Err(BadValue::Parts { expected, got }),
            Some(record) => {
                let null = self.recipe.null.as_deref();
                record.make(&self.recipe.key, parts, (null, Most::AsStepsSay), &mut self.key)?;
                Ok(&self.key)
            }
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

/// The only keyword of a record.
fn the_one_of(record: &[u8]) -> Result<&[u8], BadValue> {
    let mut keywords = keywords_of(record);
    match (keywords.next(), keywords.count()) {
        (Some(one), 0) => Ok(one),
        (_, more) => Err(BadValue::SeveralKeywords(more + 1)),
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
    let made = match apply(steps, value) {
        Err(BadValue::NoMatch { .. }) if null.is_some() => return present(None, null),
        made => made?,
    };
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
