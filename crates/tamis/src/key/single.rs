//! Keys that are given one by one, as a value in a program or as a text, and not as cells of a row.

use alloc::borrow::Cow;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use serde_json::Value;

use super::{BadValue, Field, ListFault, Maker, Recipe, Step, apply, is_present};
use crate::error::{Error, NotOneSet};

impl Recipe {
    /// Whether every value has a key, made of that value alone: the key is a single column without
    /// keywords, and no step expects a number.
    ///
    /// # Errors
    /// [`Error::NotOneSet`] or [`Error::Step`] say what stands against it.
    pub fn takes_any_value(&self) -> Result<(), Error> {
        let [field] = &self.key[..] else { return Err(Error::NotOneSet(NotOneSet::Columns)) };
        match field.steps.iter().find(|step| step.may_fail()) {
            Some(step) => Err(Error::Step { step: step.to_string() }),
            None => Ok(()),
        }
    }

    /// The key of a single value that is there, whatever its bytes are: what the steps make of it.
    ///
    /// In a table, an empty cell and `\\N` stand for a value that is missing, and a row without a value
    /// has no key. Whoever hands over bytes has a value: any bytes are a key here, none at all
    /// included. Where the recipe says what stands for a missing value, that holds here, too.
    ///
    /// # Errors
    /// Where a step expects a number, or the key has [several parts](BadValue::Parts).
    pub fn key_of_value<'v>(&'v self, value: &'v [u8]) -> Result<Cow<'v, [u8]>, BadValue> {
        let [field] = &self.key[..] else {
            return Err(BadValue::Parts { expected: self.key.len(), got: 1 });
        };
        let null = self.null.as_ref().map(|null| null.as_bytes());
        let made = match null {
            Some(null) if !is_present(value) => return Ok(Cow::Borrowed(null)),
            Some(null) => match apply(&field.steps, value) {
                Err(BadValue::NoMatch { .. }) => return Ok(Cow::Borrowed(null)),
                made => made?,
            },
            None => apply(&field.steps, value)?,
        };
        Ok(match null {
            Some(null) if made.is_empty() => Cow::Borrowed(null),
            _ => made,
        })
    }

    /// The key of a text, as people write it: parts of a compound key, and columns of a record's
    /// keywords, are separated by tabs; the last columns of a record may be left out. Each is what
    /// stands in the cell of a row. In place of a list of JSON objects there may be the list of their
    /// keywords, a single keyword, or keywords separated by commas if the recipe trims them. Of a single
    /// value: [`key_of_value`](Self::key_of_value).
    ///
    /// # Errors
    /// Where the recipe makes no key of it.
    pub fn key_of_text<'v>(&'v self, text: &'v [u8]) -> Result<Cow<'v, [u8]>, BadValue> {
        match self.key.len() {
            1 if !self.of_keywords() => self.key_of_value(text),
            _ => self.key_of_cells(text).map(Cow::Owned),
        }
    }

    /// The same where a single value may be missing, as in a table: an empty text and `\N` have no key,
    /// unless the recipe says what stands for a missing value.
    ///
    /// # Errors
    /// Where the recipe makes no key of it, or several: of keywords that are keys of their own, one is given.
    pub fn key_of_cells(&self, text: &[u8]) -> Result<Vec<u8>, BadValue> {
        let mut parts: Vec<Option<&[u8]>> = match self.key.len() {
            1 => vec![Some(text)],
            _ => text.split(|&byte| byte == b'\t').map(Some).collect(),
        };
        if self.of_keywords() {
            parts.resize(parts.len().max(self.key.len()), None); // the last columns may be left out
        }
        let mut written = Cow::Borrowed(self);
        for (at, (field, part)) in self.key.iter().zip(&parts).enumerate() {
            let text = part.filter(|text| is_present(text));
            if let Some((step, as_written)) = text.map_or(Ok(None), |text| as_written(field, text))? {
                written.to_mut().key[at].steps[step] = as_written;
            }
        }
        Ok(Maker::new(&written).key(&parts)?.to_vec())
    }
}

impl Recipe {
    /// Another text that may be meant by this one, where no record is found by it: a JSON list where the recipe
    /// has none, or something that is no list where it has one. None where nothing else can be meant.
    pub fn other_reading(&self, text: &[u8]) -> Option<Vec<u8>> {
        if !self.of_keywords() {
            return None;
        }
        let parts: Vec<&[u8]> = match self.key.len() {
            1 => vec![text],
            _ => text.split(|&byte| byte == b'\t').collect(),
        };
        let others: Vec<Option<String>> =
            self.key.iter().zip(&parts).map(|(field, part)| other_reading(field, part)).collect();
        let known = |at: usize| others.get(at).and_then(Option::as_deref).map_or(parts[at], str::as_bytes);
        let other: Vec<&[u8]> = (0..parts.len()).map(known).collect();
        others.iter().any(Option::is_some).then(|| other.join(&b'\t'))
    }
}

fn other_reading(field: &Field, text: &[u8]) -> Option<String> {
    let text = core::str::from_utf8(text).ok()?.trim_ascii();
    let read: Option<Value> = serde_json::from_str(text).ok();
    let word = |value: &Value| match value {
        Value::String(word) => Some(word.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let is_quoted = text.starts_with('"');
    match (&field.steps[field.splitting()?], read) {
        (Step::Json(_), Some(Value::Array(_))) => None,
        (Step::Json(_), Some(Value::String(_))) => Some(["[", text, "]"].concat()),
        (Step::Json(_), _) => text.contains(',').then(|| Value::from(vec![text]).to_string()),
        (splitting, Some(Value::Array(list))) => {
            let words: Vec<String> = list.iter().map(word).collect::<Option<_>>()?;
            match splitting {
                Step::Split(delimiter) => Some(words.join(delimiter)),
                Step::Words => Some(words.join(" ")),
                _ => words.into_iter().next().filter(|_| list.len() == 1),
            }
        }
        (_, Some(Value::String(word))) if is_quoted => Some(word),
        _ => None,
    }
}

/// Where a field makes keywords of a JSON list and this text is something simpler: the place of the step
/// that does so, and the step that makes the same keywords of the text.
fn as_written(field: &Field, text: &[u8]) -> Result<Option<(usize, Step)>, BadValue> {
    let Some(at) = field.splitting() else { return Ok(None) };
    let Step::Json(member) = &field.steps[at] else { return Ok(None) };
    let Ok(text) = apply(&field.steps[..at], text) else { return Ok(None) }; // the maker says why
    if text.trim_ascii_start().starts_with(b"[") {
        // The keywords themselves, where a cell has objects around them.
        let list: Vec<Value> = serde_json::from_slice(&text).unwrap_or_default();
        let bare = !member.is_empty() && list.iter().any(|element| !element.is_object());
        return Ok(bare.then(|| (at, Step::Json("".into()))));
    }
    if !text.contains(&b',') {
        return Ok(Some((at, Step::Whole)));
    }
    // Between commas keywords lose the blanks at their ends: right only if they lose them in any case.
    let keeps_ends = |step: &&Step| matches!(step, Step::Lower | Step::Upper);
    match field.steps[at + 1..].iter().find(|step| !keeps_ends(step)) {
        Some(Step::Trim) => Ok(Some((at, Step::Split(",".into())))),
        _ => Err(BadValue::NotAList { column: field.column.to_string(), why: ListFault::Commas }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn recipe(fields: &[&str]) -> Recipe {
        Recipe { key: fields.iter().map(|field| field.parse().unwrap()).collect(), ..Recipe::lines() }
    }

    proptest! {
        /// So that a file made of values in a program answers for the rows of a table.
        #[test]
        fn a_value_has_the_key_of_the_cell_wherever_a_cell_has_one(value in prop::collection::vec(any::<u8>(), 0..12), null: bool) {
            for field in ["a", "a:trim,lower", "a:upper,prefix=3", "a:before=x,suffix=2", "a:round", ":trim"] {
                let recipe = Recipe { null: null.then(|| "none".into()), ..recipe(&[field]) };
                if let Ok(key) = Maker::new(&recipe).key(&[Some(&value)]) {
                    prop_assert_eq!(&*recipe.key_of_value(&value).unwrap(), key);
                    prop_assert_eq!(&*recipe.key_of_text(&value).unwrap(), key);
                }
                if recipe.takes_any_value().is_ok() {
                    prop_assert!(recipe.key_of_value(&value).is_ok());
                }
            }
        }
    }

    #[test]
    fn bytes_of_any_sort_are_a_value() {
        for value in [&b""[..], b"\\N", b"\xff", b"a\nb"] {
            assert_eq!(&*Recipe::lines().key_of_value(value).unwrap(), value);
        }
        assert_eq!(&*recipe(&[":trim"]).key_of_value(b"  ").unwrap(), b"");
        let with_null = Recipe { null: Some("none".into()), ..recipe(&[":trim"]) };
        for value in [&b""[..], b"\\N", b"  "] {
            assert_eq!(&*with_null.key_of_value(value).unwrap(), b"none");
        }
    }

    #[test]
    fn steps_that_ask_for_more_than_a_value_are_told_apart() {
        assert!(recipe(&["a:trim,lower,prefix=3,before=@"]).takes_any_value().is_ok());
        for step in ["round", "floor", "ceil", "words", "split=,"] {
            let refused = recipe(&[&format!("a:{step}")]).takes_any_value();
            assert!(matches!(refused, Err(Error::Step { step: got }) if got == step), "{step}");
        }
        assert!(matches!(recipe(&["a", "b"]).takes_any_value(), Err(Error::NotOneSet(_))));
        assert!(matches!(
            recipe(&["a", "b"]).key_of_value(b"a"),
            Err(BadValue::Parts { expected: 2, got: 1 })
        ));
        assert!(matches!(recipe(&["a:round"]).key_of_value(b"a"), Err(BadValue::NotANumber(_))));
    }

    #[test]
    fn a_text_has_its_parts_between_tabs_and_its_keywords_between_commas() {
        let compound = recipe(&["a:lower", "b"]);
        let cells = |parts: &[Option<&[u8]>]| Maker::new(&compound).key(parts).unwrap().to_vec();
        assert_eq!(*compound.key_of_text(b"A\tb").unwrap(), cells(&[Some(b"a"), Some(b"b")]));
        assert!(matches!(compound.key_of_text(b"a"), Err(BadValue::Parts { .. })));
        let records = recipe(&["a:json=name", "b:whole"]);
        let cell =
            Maker::new(&records).key(&[Some(br#"[{"name":"x"},{"name":"y"}]"#), None]).unwrap().to_vec();
        for text in [&br#"[{"name":"x"},{"name":"y"}]"#[..], br#" ["x", "y"]"#, b"[\"x\",null,\"y\"]\t"] {
            assert_eq!(*records.key_of_text(text).unwrap(), cell, "{text:?}");
        }
        assert!(matches!(records.key_of_text(b""), Err(BadValue::NoKeywords)));
        assert!(matches!(records.key_of_text(b"[1"), Err(BadValue::NotAList { .. })));
    }

    #[test]
    fn a_text_that_may_be_meant_otherwise_is_named() {
        for (fields, text, other) in [
            (&["a:json,trim"][..], "solo, one", Some(r#"["solo, one"]"#)),
            (&["a:json"], r#""a""#, Some(r#"["a"]"#)),
            (&["a:json=name"], r#""a, b""#, Some(r#"["a, b"]"#)),
            (&["a:json"], r#"["a"]"#, None),
            (&["a:json"], "a", None),
            (&["a:split=,"], r#"["space","alien"]"#, Some("space,alien")),
            (&["a:split=|"], r#" ["space", 7]"#, Some("space|7")),
            (&["a:split=,"], r#""space""#, Some("space")),
            (&["a:split=,"], r#"[{"a":1}]"#, None),
            (&["a:split=,"], "space, alien", None),
            (&["a:whole"], r#"["space"]"#, Some("space")),
            (&["a:whole"], r#"["space", "alien"]"#, None),
            (&["a:whole", "b:json"], "x\t\"y\"", Some("x\t[\"y\"]")),
            (&["a:trim"], r#"["space"]"#, None),
        ] {
            let found = recipe(fields).other_reading(text.as_bytes());
            assert_eq!(found.as_deref(), other.map(str::as_bytes), "{fields:?} {text}");
        }
    }

    #[test]
    fn commas_separate_keywords_of_lists_only_where_these_are_trimmed() {
        let keywords = |field: &str, text: &str| {
            let key = recipe(&[field]).key_of_text(text.as_bytes()).map(Cow::into_owned)?;
            let words = super::super::keywords_of(&key).map(|word| String::from_utf8(word.into()).unwrap());
            Ok(words.collect::<Vec<String>>())
        };
        let refused = |field: &str, text: &str| {
            matches!(keywords(field, text), Err(BadValue::NotAList { why: ListFault::Commas, .. }))
        };
        for field in ["a:json", "a:json=name", "a:json,lower", "a:json,prefix=3,trim", "a:trim,json=name"] {
            assert!(refused(field, "x, y") && refused(field, ","), "{field}");
            // One keyword is what it is, blanks and all; a list says where each begins and ends.
            let list = keywords(field, r#"[" x", "a,b ", 7]"#).unwrap();
            assert_eq!(list.len(), 3, "{field}");
            if !field.ends_with("trim") {
                assert_eq!(list, [" x", "a,b ", "7"], "{field}");
                assert_eq!(
                    keywords(field, "a ").unwrap(),
                    [if field.starts_with("a:trim") { "a" } else { "a " }]
                );
            }
        }
        for field in ["a:json,trim", "a:json=name,lower,trim", "a:json=name,trim,prefix=3"] {
            assert_eq!(keywords(field, "x , y,x,").unwrap(), ["x", "y"], "{field}");
        }
        // Cells are cut as they are in rows, whatever they begin with.
        assert_eq!(keywords("a:split=,", r#"["x", y]"#).unwrap(), [r#"["x""#, "y]"]);
        assert_eq!(keywords("a:after-first=|,json=name", r#"7|[{"name": "x"}]"#).unwrap(), ["x"]);
    }
}
