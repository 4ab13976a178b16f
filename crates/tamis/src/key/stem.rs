//! Stems: one keyword for the forms of a word, so that a search for `aliens` finds `alien`.
//!
//! The rules of a stemmer are a program, and the digest by which a recipe names them is that of a table of
//! words with their stems (`data/stems-en.txt`). A stemmer that makes other stems of these has another digest,
//! and files that name this one are not asked with it.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::step;
use crate::error::Error;
use crate::hash::of_digits;

/// The English stemmer of Snowball (Porter's second), by its table.
const ENGLISH: u64 = 0x2f63_4cbe_331d_8dac;

/// A stemmer, by the digest of its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stemming {
    digest: u64,
}

impl Stemming {
    /// The stemmer of a language.
    pub fn of_language(language: &str) -> Option<Stemming> {
        (language == "en").then_some(Stemming { digest: ENGLISH })
    }

    /// The stemmer of a language, or of a digest, as people write it.
    pub(super) fn parse(text: &str) -> Option<Stemming> {
        Stemming::of_language(text).or_else(|| of_digits(text).map(|digest| Stemming { digest }))
    }

    /// That this program has it.
    pub(super) fn check(self) -> Result<(), Error> {
        match self.digest == ENGLISH && cfg!(feature = "stem") {
            true => Ok(()),
            false => Err(Error::Stemmer { digest: self.digest }),
        }
    }

    /// The stem of a word, in lower case. What is no UTF-8 has no stem but itself.
    pub(super) fn stem(self, word: &[u8]) -> Vec<u8> {
        let lower = step::lower(word);
        #[cfg(feature = "stem")]
        if let (ENGLISH, Ok(text)) = (self.digest, core::str::from_utf8(&lower)) {
            let stemmer = rust_stemmers::Stemmer::create(rust_stemmers::Algorithm::English);
            return stemmer.stem(text).into_owned().into_bytes();
        }
        lower
    }
}

/// Its language; else its digest.
impl fmt::Display for Stemming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.digest {
            ENGLISH => f.write_str("en"),
            digest => write!(f, "{digest:016x}"),
        }
    }
}

impl Serialize for Stemming {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{:016x}", self.digest))
    }
}

impl<'d> Deserialize<'d> for Stemming {
    fn deserialize<D: Deserializer<'d>>(from: D) -> Result<Stemming, D::Error> {
        let digest = String::deserialize(from)?;
        let digest = of_digits(&digest).map(|digest| Stemming { digest });
        digest.ok_or_else(|| serde::de::Error::custom("the digest of a stemmer has 16 hexadecimal digits"))
    }
}

#[cfg(all(test, feature = "stem"))]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    const TABLE: &str = include_str!("../../data/stems-en.txt");

    fn stem(word: &str) -> String {
        let english = Stemming::of_language("en").unwrap();
        String::from_utf8(english.stem(word.as_bytes())).unwrap()
    }

    #[test]
    fn the_stemmer_makes_the_stems_of_the_table_that_files_name() {
        assert_eq!(crate::hash::xxh3(TABLE.as_bytes(), 0), ENGLISH, "the table never changes");
        for line in TABLE.lines() {
            let (word, expected) = line.split_once('\t').unwrap();
            assert_eq!(stem(word), expected, "{word}");
        }
        assert!(TABLE.lines().count() > 1000);
    }

    #[test]
    fn forms_of_a_word_meet_and_other_stemmers_are_named_by_their_digest() {
        for (word, expected) in [("Aliens", "alien"), ("alien", "alien"), ("SPACES", "space"), ("été", "été")]
        {
            assert_eq!(stem(word), expected);
        }
        let other = Stemming::parse("0123456789abcdef").unwrap();
        assert_eq!(other.to_string(), "0123456789abcdef");
        assert!(other.check().is_err());
        assert!(Stemming::parse("fr").is_none());
    }

    proptest! {
        /// Whoever writes a document chooses its words.
        #[test]
        fn any_bytes_have_a_stem(word in prop::collection::vec(any::<u8>(), 0..40), text in "\\PC{0,20}", ascii in "[a-yY'ious]{0,30}") {
            let english = Stemming::of_language("en").unwrap();
            english.stem(&word);
            stem(&text);
            stem(&ascii);
        }
    }
}
