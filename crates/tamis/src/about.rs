//! What is recorded about a file that no lookup and no merge depends on: a note, where it comes from, what
//! was declared about the text that was read.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::error::{Damage, Error, Result};

/// Bytes that it may take in a file.
pub const MOST_BYTES: usize = 1 << 20;

/// What is recorded about a file. Two files of one set may differ in this and in nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct About {
    /// What somebody wrote about the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Where its rows came from, as somebody wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What was declared about the text that was read.
    #[serde(skip_serializing_if = "Declared::is_empty")]
    pub dialect: Declared,
    /// The classes of values that keys were made from; none where all were text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
    /// The other system's file that this one was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Kept>,
    /// The rows that the file held when its distinct keys were counted, exactly: as long as it holds as many,
    /// the `keys` of each group are a count, and not a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<u64>,
    /// What a later version records: kept, not understood.
    #[serde(flatten)]
    pub others: Kept,
}

/// How text is cut into rows and fields, as far as somebody declared it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Declared {
    /// One character, whose number is the byte; or `whitespace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<String>,
    /// `csv`, `log` or `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quotes: Option<String>,
    /// Whether there is a header line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<bool>,
    /// Lines that begin with it are no rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// What a later version records.
    #[serde(flatten)]
    pub others: Kept,
}

impl Declared {
    /// Whether nothing was declared.
    pub fn is_empty(&self) -> bool {
        *self == Declared::default()
    }
}

/// Members of a JSON object that are not understood, and kept as they were written: a number read and
/// written again could be another one, or longer.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(transparent)]
pub struct Kept(BTreeMap<String, Box<RawValue>>);

impl Kept {
    /// Takes out the member of this name, which is understood.
    fn take<T: DeserializeOwned + Default, E: serde::de::Error>(&mut self, name: &str) -> Result<T, E> {
        let Some(value) = self.0.remove(name) else { return Ok(T::default()) };
        serde_json::from_str(value.get()).map_err(|error| E::custom(format!("{name}: {error}")))
    }

    /// Reads an object. The members of these names stand in it once at most.
    fn read<'de, D: Deserializer<'de>>(from: D, once: &'static [&'static str]) -> Result<Kept, D::Error> {
        struct Members(&'static [&'static str]);

        impl<'de> Visitor<'de> for Members {
            type Value = Kept;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Kept, M::Error> {
                let mut kept = Kept::default();
                while let Some((name, value)) = map.next_entry::<String, _>()? {
                    if let Some(name) = self.0.iter().find(|once| **once == name)
                        && kept.0.contains_key(*name)
                    {
                        return Err(M::Error::duplicate_field(name));
                    }
                    kept.0.insert(name, value);
                }
                Ok(kept)
            }
        }
        from.deserialize_map(Members(once))
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.get())
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Kept) -> bool {
        self.0.len() == other.0.len() && self.0.keys().all(|name| self.get(name) == other.get(name))
    }
}

impl Eq for Kept {}

impl<'de> Deserialize<'de> for Kept {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Kept, D::Error> {
        Kept::read(from, &[])
    }
}

impl<'de> Deserialize<'de> for About {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<About, D::Error> {
        let mut members = Kept::read(from, &["note", "source", "dialect", "classes", "origin", "counted"])?;
        Ok(About {
            note: members.take("note")?,
            source: members.take("source")?,
            dialect: members.take("dialect")?,
            classes: members.take("classes")?,
            origin: members.take("origin")?,
            counted: members.take("counted")?,
            others: members,
        })
    }
}

impl<'de> Deserialize<'de> for Declared {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Declared, D::Error> {
        let mut members = Kept::read(from, &["delimiter", "quotes", "header", "comment"])?;
        Ok(Declared {
            delimiter: members.take("delimiter")?,
            quotes: members.take("quotes")?,
            header: members.take("header")?,
            comment: members.take("comment")?,
            others: members,
        })
    }
}

/// A class of values, in the order in which files list them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // each is its name
pub enum Class {
    Text,
    Integer,
    Decimal,
    Float,
    Single,
    Date,
    Time,
    Bytes,
    Boolean,
}

impl Class {
    /// All of them, in their order.
    pub const ALL: [Class; 9] = [
        Class::Text,
        Class::Integer,
        Class::Decimal,
        Class::Float,
        Class::Single,
        Class::Date,
        Class::Time,
        Class::Bytes,
        Class::Boolean,
    ];

    /// Its name, as files have it.
    pub fn name(self) -> &'static str {
        match self {
            Class::Text => "text",
            Class::Integer => "integer",
            Class::Decimal => "decimal",
            Class::Float => "float",
            Class::Single => "single",
            Class::Date => "date",
            Class::Time => "time",
            Class::Bytes => "bytes",
            Class::Boolean => "boolean",
        }
    }
}

/// A set of classes.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Classes(u16);

impl Classes {
    /// No class: nothing was seen.
    pub const NONE: Classes = Classes(0);
    /// Text alone.
    pub const TEXT: Classes = Classes::of(Class::Text);

    /// One class.
    pub const fn of(class: Class) -> Classes {
        Classes(1 << class as u8)
    }

    /// Whether it has none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it has this one.
    pub const fn has(self, class: Class) -> bool {
        self.0 & 1 << class as u8 != 0
    }

    /// All classes of both.
    pub const fn and(self, other: Classes) -> Classes {
        Classes(self.0 | other.0)
    }

    /// Those of this set that the other lacks.
    pub const fn without(self, other: Classes) -> Classes {
        Classes(self.0 & !other.0)
    }

    /// Its classes, in their order.
    pub fn iter(self) -> impl Iterator<Item = Class> {
        Class::ALL.into_iter().filter(move |class| self.has(*class))
    }
}

impl FromIterator<Class> for Classes {
    fn from_iter<I: IntoIterator<Item = Class>>(all: I) -> Classes {
        all.into_iter().fold(Classes::NONE, |classes, class| classes.and(Classes::of(class)))
    }
}

impl fmt::Debug for Classes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl About {
    /// Whether nothing is recorded.
    pub fn is_empty(&self) -> bool {
        *self == About::default()
    }

    /// The classes of values that keys were made from: text, where none is recorded.
    pub fn key_classes(&self) -> Classes {
        match self.classes.is_empty() {
            true => Classes::TEXT,
            false => self.classes.iter().copied().collect(),
        }
    }

    /// Records these classes, in place of those that are: none where all keys are text.
    pub fn record_classes(&mut self, classes: Classes) {
        self.classes = if classes == Classes::TEXT { Vec::new() } else { classes.iter().collect() };
    }

    /// Whether a file takes it.
    pub fn fits(&self) -> bool {
        self.encode().is_ok()
    }

    /// As files have it; no bytes where nothing is recorded. What was read from a file is not longer when
    /// it is written again.
    ///
    /// # Errors
    /// Where it is too long.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let bytes = serde_json::to_vec(self).expect("texts and JSON are plain data");
        if bytes.len() > MOST_BYTES {
            return Err(Error::LongAbout { bytes: bytes.len() });
        }
        Ok(bytes)
    }

    /// Reads the bytes of a file.
    pub(crate) fn decode(bytes: &[u8]) -> Result<About> {
        let read: Result<About, _> = serde_json::from_slice(bytes);
        let about = read.map_err(|error| Error::Corrupt(Damage::About(error.into())))?;
        match about.classes.is_sorted_by(|a, b| a < b) && !about.is_empty() {
            true => Ok(about),
            false => Err(Error::Corrupt(Damage::AboutForm)),
        }
    }

    /// What is recorded about a file that is merged of these: what all of them share, and the classes of
    /// all. The second are the names of what was dropped.
    pub fn merged<'a>(all: impl IntoIterator<Item = &'a About>) -> (About, Vec<String>) {
        let mut all = all.into_iter();
        let Some(mut merged) = all.next().cloned() else { return Default::default() };
        let mut union = merged.key_classes();
        let mut dropped: Vec<String> = Vec::new();
        for other in all {
            union = union.and(other.key_classes());
            keep_shared(&mut merged.note, &other.note, "note", &mut dropped);
            keep_shared(&mut merged.source, &other.source, "source", &mut dropped);
            keep_shared(&mut merged.origin, &other.origin, "origin", &mut dropped);
            merged.counted = None; // files may share keys
            let (ours, theirs) = (&mut merged.dialect, &other.dialect);
            keep_shared(&mut ours.delimiter, &theirs.delimiter, "delimiter", &mut dropped);
            keep_shared(&mut ours.quotes, &theirs.quotes, "quotes", &mut dropped);
            keep_shared(&mut ours.header, &theirs.header, "header", &mut dropped);
            keep_shared(&mut ours.comment, &theirs.comment, "comment", &mut dropped);
            keep_shared_members(&mut ours.others, &theirs.others, &mut dropped);
            keep_shared_members(&mut merged.others, &other.others, &mut dropped);
        }
        merged.record_classes(union);
        (merged, dropped)
    }
}

/// Drops a value that the other file does not have, too.
fn keep_shared<T: PartialEq>(
    ours: &mut Option<T>,
    theirs: &Option<T>,
    name: &str,
    dropped: &mut Vec<String>,
) {
    if ours != theirs {
        *ours = None;
        drop_name(name, dropped);
    }
}

fn keep_shared_members(ours: &mut Kept, theirs: &Kept, dropped: &mut Vec<String>) {
    let differ = |name: &&String| ours.get(name) != theirs.get(name);
    let names: Vec<String> = ours.0.keys().chain(theirs.0.keys()).filter(differ).cloned().collect();
    for name in names {
        ours.0.remove(&name);
        drop_name(&name, dropped);
    }
}

fn drop_name(name: &str, dropped: &mut Vec<String>) {
    if !dropped.iter().any(|other| other == name) {
        dropped.push(name.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_files_share_survives_a_merge() {
        let read = |json: &str| serde_json::from_str::<About>(json).unwrap();
        let one = read(r##"{"note":"a","source":"s","dialect":{"header":false,"comment":"#"},"new":1}"##);
        let two =
            read(r#"{"note":"b","source":"s","dialect":{"header":false},"classes":["integer"],"new":1}"#);
        let (merged, dropped) = About::merged([&one, &two]);
        let expected = r##"{"source":"s","dialect":{"header":false},"classes":["text","integer"],"new":1}"##;
        assert_eq!(serde_json::to_string(&merged).unwrap(), expected);
        assert_eq!(dropped, ["note", "comment"]);
        assert_eq!(About::merged([&one, &one]), (one.clone(), Vec::new()));
        assert_eq!(About::merged([]).0, About::default());
        // What the first file lacks and another has is dropped with a word, too.
        let (merged, dropped) = About::merged([&About::default(), &one, &one]);
        assert!(merged.is_empty());
        assert_eq!(dropped, ["note", "source", "header", "comment", "new"]);
    }

    /// Numbers once grew when they were written again: a file that could be opened could not be saved.
    #[test]
    fn what_is_not_understood_is_written_again_to_the_byte() {
        let numbers = "[1e15,18446744073709551617,0.10]";
        let text = format!(
            r#"{{"note":"a","dialect":{{"header":true,"later":{numbers}}},"origin":{{"b":1E3,"a":{numbers}}},"later":{numbers}}}"#
        );
        let about = About::decode(text.as_bytes()).unwrap();
        let again = String::from_utf8(about.encode().unwrap()).unwrap();
        assert_eq!(
            again,
            text.replace(
                r#"{"b":1E3,"a":[1e15,18446744073709551617,0.10]}"#,
                r#"{"a":[1e15,18446744073709551617,0.10],"b":1E3}"#
            )
        );
        assert_eq!(About::decode(again.as_bytes()).unwrap(), about);
        let full = format!(r#"{{"later":[{}1]}}"#, "1e15,".repeat(MOST_BYTES / 5 - 10));
        assert_eq!(About::decode(full.as_bytes()).unwrap().encode().unwrap(), full.as_bytes());
    }

    #[test]
    fn classes_stand_in_their_order_and_text_alone_is_not_recorded() {
        let mut about = About::default();
        assert_eq!(about.key_classes(), Classes::TEXT);
        about.record_classes(Class::ALL.into_iter().rev().collect());
        assert_eq!(about.classes, Class::ALL);
        for class in Class::ALL {
            assert_eq!(serde_json::to_value(class).unwrap(), class.name());
            assert!(about.key_classes().has(class));
        }
        about.record_classes(Classes::TEXT);
        assert!(about.is_empty());
        about.record_classes(Classes::NONE);
        assert!(about.is_empty());
        let both = Classes::TEXT.and(Classes::of(Class::Date));
        assert_eq!(both.without(Classes::TEXT), Classes::of(Class::Date));
    }

    #[test]
    fn members_that_are_understood_stand_once() {
        for text in [r#"{"note":"a","note":"b"}"#, r#"{"dialect":{"header":true,"header":true}}"#, "[]", "{}"]
        {
            assert!(About::decode(text.as_bytes()).is_err(), "{text}");
        }
    }
}
