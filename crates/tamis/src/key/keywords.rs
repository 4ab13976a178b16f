//! Records of several keywords: from cells to a list of distinct keywords, and to bytes.
//!
//! The bytes of a record are those of a compound key: each keyword with its length before it. So
//! records are counted, compared and looked for like any other key, and the keywords can be had
//! back from the bytes.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::ToString;
use alloc::vec::Vec;
use core::cmp::Reverse;

use serde_json::Value;

use super::{BadValue, Column, Field, ListFault, Recipe, Step, apply, present};
use crate::error::ParserMessage;

/// The keywords of a record in the making, one after the other.
#[derive(Debug, Default)]
pub(super) struct Record {
    text: Vec<u8>,
    /// The end of each keyword.
    ends: Vec<usize>,
}

/// How many keywords of a field are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Most {
    /// As many as its steps say.
    AsStepsSay,
    /// All of them.
    All,
}

impl Record {
    fn keyword(&self, number: usize) -> &[u8] {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.text[start..self.ends[number]]
    }

    /// Takes a keyword; an empty one is dropped.
    fn push(&mut self, keyword: &[u8]) {
        if !keyword.is_empty() {
            self.text.extend_from_slice(keyword);
            self.ends.push(self.text.len());
        }
    }

    /// Makes the bytes of the record whose fields have these values.
    pub(super) fn make(
        &mut self,
        fields: &[Field],
        parts: &[Option<&[u8]>],
        (null, most): (Option<&str>, Most),
        bytes: &mut Vec<u8>,
    ) -> Result<(), BadValue> {
        self.text.clear();
        self.ends.clear();
        bytes.clear();
        // The order in which the keywords stand in the record.
        let mut order: Vec<usize> = Vec::new();
        for (field, part) in fields.iter().zip(parts) {
            let (first, from) = (self.ends.len(), order.len());
            self.take(field, *part, null)?;
            match field.steps.iter().find_map(Step::most).filter(|_| most == Most::AsStepsSay) {
                Some(most) => self.most_frequent(first, most, &mut order),
                None => order.extend(first..self.ends.len()),
            }
            if field.steps.last() == Some(&Step::Sort) {
                order[from..].sort_by(|&a, &b| self.keyword(a).cmp(self.keyword(b)));
            }
        }
        if order.is_empty() {
            return Err(BadValue::NoKeywords);
        }
        let mut seen: BTreeSet<&[u8]> = BTreeSet::new();
        for (at, &number) in order.iter().enumerate() {
            let keyword = self.keyword(number);
            // Looking back is faster than a set for the few keywords that most records have.
            let known = match order.len() {
                ..=24 => order[..at].iter().any(|&other| self.keyword(other) == keyword),
                _ => !seen.insert(keyword),
            };
            if !known {
                bytes.extend_from_slice(&(keyword.len() as u32).to_le_bytes());
                bytes.extend_from_slice(keyword);
            }
        }
        Ok(())
    }

    /// Takes the keywords of one field.
    fn take(&mut self, field: &Field, part: Option<&[u8]>, null: Option<&str>) -> Result<(), BadValue> {
        let Ok(cell) = present(part, None) else {
            self.push(null.unwrap_or_default().as_bytes());
            return Ok(());
        };
        let at = field.splitting().unwrap_or(0);
        let (before, after) = (&field.steps[..at], &field.steps[at..]);
        let cell = match apply(before, cell) {
            Err(BadValue::NoMatch { .. }) => {
                self.push(null.unwrap_or_default().as_bytes());
                return Ok(());
            }
            cell => cell?,
        };
        let (Some(splitting), after) = (after.first(), after.get(1..).unwrap_or_default()) else {
            return Ok(());
        };
        each(splitting, &cell, &field.column, |keyword| {
            if let Some(made) = made(after, keyword)? {
                self.push(&made);
            }
            Ok(())
        })
    }

    /// Of the keywords from this one on, the numbers of those that occur most often, each where it first
    /// occurs; of equally frequent ones, those that occur first.
    fn most_frequent(&self, first: usize, most: usize, order: &mut Vec<usize>) {
        let mut counts: BTreeMap<&[u8], (usize, usize)> = BTreeMap::new();
        for number in first..self.ends.len() {
            counts.entry(self.keyword(number)).or_insert((0, number)).0 += 1;
        }
        let mut found: Vec<(usize, usize)> = counts.into_values().collect();
        found.sort_unstable_by_key(|&(count, number)| (Reverse(count), number));
        found.truncate(most);
        found.sort_unstable_by_key(|&(_, number)| number);
        order.extend(found.into_iter().map(|(_, number)| number));
    }
}

/// What steps make of a keyword; none where one of them drops it, or does not find what it takes out.
fn made<'k>(steps: &[Step], keyword: &'k [u8]) -> Result<Option<Cow<'k, [u8]>>, BadValue> {
    let mut made = Cow::Borrowed(keyword);
    for step in steps {
        if !step.keeps(&made) {
            return Ok(None);
        }
        let next = match made {
            Cow::Borrowed(value) => step.apply(value),
            Cow::Owned(value) => step.apply(&value).map(|next| Cow::Owned(next.into_owned())),
        };
        made = match next {
            Err(BadValue::NoMatch { .. }) => return Ok(None),
            next => next?,
        };
    }
    Ok(Some(made).filter(|made| !made.is_empty()))
}

/// Gives each keyword that a step makes of a cell.
fn each(
    splitting: &Step,
    cell: &[u8],
    column: &Column,
    mut take: impl FnMut(&[u8]) -> Result<(), BadValue>,
) -> Result<(), BadValue> {
    match splitting {
        Step::Split(delimiter) => split(cell, delimiter.as_bytes(), take),
        Step::Words => words(cell, take),
        Step::Json(member) => json(cell, member, column, take),
        _ => take(cell),
    }
}

/// A word of a question, and the keyword that the recipe makes of it; none where it is dropped.
pub type Asked = (Vec<u8>, Option<Vec<u8>>);

impl Recipe {
    /// The words of a question, as people write it, and the keywords that they are: those that a record is
    /// sought by. `top` drops none of them, nor does `sort` order them; empty ones are left out. Of several
    /// columns of keywords, the steps are those of the first.
    ///
    /// # Errors
    /// Where a step cannot use a word. Without keywords, there are none.
    pub fn asked_keywords(&self, question: &[u8]) -> Result<Vec<Asked>, BadValue> {
        let Some((field, at)) = self.key.first().and_then(|field| Some((field, field.splitting()?))) else {
            return Ok(Vec::new());
        };
        let cell = match apply(&field.steps[..at], question) {
            Err(BadValue::NoMatch { .. }) => return Ok(Vec::new()),
            cell => cell?,
        };
        // A list of JSON is nothing that people write.
        let commas = Step::Split(",".into());
        let splitting = match &field.steps[at] {
            Step::Json(_) if !question.trim_ascii_start().starts_with(b"[") => &commas,
            splitting => splitting,
        };
        let mut asked = Vec::new();
        each(splitting, &cell, &field.column, |word| {
            if !word.is_empty() {
                asked.push((word.to_vec(), made(&field.steps[at + 1..], word)?.map(Cow::into_owned)));
            }
            Ok(())
        })?;
        Ok(asked)
    }
}

/// The parts between delimiters, without the white space at their ends.
fn split(
    cell: &[u8],
    delimiter: &[u8],
    mut take: impl FnMut(&[u8]) -> Result<(), BadValue>,
) -> Result<(), BadValue> {
    let mut rest = cell;
    while let Some(at) = rest.windows(delimiter.len().max(1)).position(|window| window == delimiter) {
        take(rest[..at].trim_ascii())?;
        rest = &rest[at + delimiter.len()..];
    }
    take(rest.trim_ascii())
}

/// The longest runs of characters that are neither ASCII other than letters and digits, nor in one
/// of three blocks of punctuation. The list is short and fixed: files depend on it.
fn words(cell: &[u8], mut take: impl FnMut(&[u8]) -> Result<(), BadValue>) -> Result<(), BadValue> {
    let separates = |c: char| match c {
        '\0'..='\x7f' => !c.is_ascii_alphanumeric(),
        '\u{80}'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' => true,
        _ => false,
    };
    let (mut start, mut at) = (0, 0);
    for chunk in cell.utf8_chunks() {
        for (i, c) in chunk.valid().char_indices() {
            if separates(c) {
                take(&cell[start..at + i])?;
                start = at + i + c.len_utf8();
            }
        }
        at += chunk.valid().len() + chunk.invalid().len();
    }
    take(&cell[start..])
}

/// The elements of a JSON list, or a member of each: strings and integers; a null gives nothing.
fn json(
    cell: &[u8],
    member: &str,
    column: &Column,
    mut take: impl FnMut(&[u8]) -> Result<(), BadValue>,
) -> Result<(), BadValue> {
    let bad = |why: ListFault| BadValue::NotAList { column: column.to_string(), why };
    let list: Vec<Value> = serde_json::from_slice(cell).map_err(|error| {
        // Within the cell, which is line 1: only the place of the character says something.
        let what = error.to_string().replace("at line 1 column", "at character");
        bad(ListFault::NotJson(ParserMessage(what)))
    })?;
    for (number, element) in list.iter().enumerate() {
        let value = match (member, element) {
            ("", element) => Some(element),
            (_, Value::Object(object)) => object.get(member),
            _ => None,
        };
        match value {
            Some(Value::String(text)) => take(text.as_bytes())?,
            Some(Value::Number(whole)) if whole.is_u64() || whole.is_i64() => {
                take(whole.to_string().as_bytes())?;
            }
            Some(Value::Null) => {}
            Some(_) => {
                return Err(bad(ListFault::Element(number + 1)));
            }
            None => {
                return Err(bad(ListFault::NoMember(number + 1, member.into())));
            }
        }
    }
    Ok(())
}

/// The keywords of a record, from its bytes. Bytes that no recipe makes give what can be read.
pub fn keywords_of(record: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = record;
    core::iter::from_fn(move || {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let (keyword, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        rest = after;
        Some(keyword)
    })
}
