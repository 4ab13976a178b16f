//! Words that stand in nearly every text and tell nothing about it.
//!
//! A recipe names its list by a digest, as it names a list of public suffixes. A list that was released once
//! stays in the program.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::step;
use crate::error::Error;
use crate::hash::{of_digits, xxh3};

/// The lists in the program, each with its language: of each language the newest first.
const RELEASED: [(&str, &str); 1] = [("en", include_str!("../../data/stop-en.txt"))];

/// A list of stop words, and the digest by which recipes name it.
#[derive(Clone)]
pub struct StopList {
    digest: u64,
    /// Sorted; none of a list that this program does not have.
    words: Option<Arc<Vec<&'static str>>>,
}

impl StopList {
    fn read(text: &'static str) -> StopList {
        StopList { digest: xxh3(text.as_bytes(), 0), words: Some(Arc::new(text.lines().collect())) }
    }

    /// The newest list of a language.
    pub fn of_language(language: &str) -> Option<StopList> {
        let released = RELEASED.iter().find(|(name, _)| *name == language);
        released.map(|(_, text)| StopList::read(text))
    }

    /// The list of a language, or of a digest, as people write it.
    pub(super) fn parse(text: &str) -> Option<StopList> {
        StopList::of_language(text).or_else(|| of_digits(text).map(StopList::named))
    }

    /// The list of this digest. Without its words, where the program does not have it.
    fn named(digest: u64) -> StopList {
        let mut released = RELEASED.iter().map(|(_, text)| StopList::read(text));
        released.find(|list| list.digest == digest).unwrap_or(StopList { digest, words: None })
    }

    /// That this program has its words.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.words {
            Some(_) => Ok(()),
            None => Err(Error::StopList { digest: self.digest }),
        }
    }

    /// Whether it has this word, in whatever case.
    pub(super) fn has(&self, word: &[u8]) -> bool {
        let Some(words) = &self.words else { return false };
        let lower = step::lower(word);
        words.binary_search_by(|stop| stop.as_bytes().cmp(&lower)).is_ok()
    }
}

impl PartialEq for StopList {
    fn eq(&self, other: &StopList) -> bool {
        self.digest == other.digest
    }
}

impl Eq for StopList {}

impl fmt::Debug for StopList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StopList({self})")
    }
}

/// Its language, where it is the newest of that; else its digest.
impl fmt::Display for StopList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_newest = |language: &&str| StopList::of_language(language).as_ref() == Some(self);
        match RELEASED.iter().map(|(language, _)| *language).find(is_newest) {
            Some(language) => f.write_str(language),
            None => write!(f, "{:016x}", self.digest),
        }
    }
}

impl Serialize for StopList {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{:016x}", self.digest))
    }
}

impl<'d> Deserialize<'d> for StopList {
    fn deserialize<D: Deserializer<'d>>(from: D) -> Result<StopList, D::Error> {
        let digest = String::deserialize(from)?;
        let list = of_digits(&digest).map(StopList::named);
        list.ok_or_else(|| serde::de::Error::custom("the digest of a list has 16 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_lists_are_those_that_files_name() {
        let english = StopList::of_language("en").unwrap();
        assert_eq!(serde_json::to_string(&english).unwrap(), "\"0ba50e8f3d76eae9\"");
        assert_eq!(english.to_string(), "en");
        for (language, text) in RELEASED {
            let words: Vec<&str> = text.lines().collect();
            assert!(words.is_sorted_by(|a, b| a < b), "{language}: sorted by bytes, each once");
            assert!(
                text.ends_with('\n')
                    && words.iter().all(|word| step::lower(word.as_bytes()) == word.as_bytes())
            );
        }
    }

    #[test]
    fn words_are_found_in_any_case_and_other_lists_are_named_by_their_digest() {
        let english = StopList::of_language("en").unwrap();
        assert!(["the", "The", "WITHOUT"].iter().all(|word| english.has(word.as_bytes())));
        assert!(!["alien", "thé", "", "\u{fffd}"].iter().any(|word| english.has(word.as_bytes())));
        let other = StopList::parse("0123456789abcdef").unwrap();
        assert_eq!(other.to_string(), "0123456789abcdef");
        assert!(other.check().is_err() && !other.has(b"the"));
        assert!(StopList::parse("fr").is_none());
    }
}
