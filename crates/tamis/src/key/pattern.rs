//! A pattern that takes a part out of a value: a regular expression, compiled once.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use regex::bytes::{Regex, RegexBuilder};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, ParserMessage, RecipeFault};

/// Bytes that a compiled pattern may take: a file may hold any pattern.
const MOST_BYTES: usize = 1 << 20;

/// Patterns that a recipe may have: each is compiled when a file is opened.
pub(crate) const MOST_PATTERNS: usize = 16;

/// Bytes after each match, summed over all matches of a value, up to which the last one is looked for: no
/// value of up to 16 KiB has more.
const MOST_AFTER: usize = 1 << 28;

/// So few matches are no trouble, however long the value is.
const FEW_MATCHES: u32 = 16;

/// A regular expression in the syntax of the crate `regex`: it runs in linear time, whatever it is
/// asked to look at. One that comes from a file is compiled when its recipe is checked.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    compiled: Once,
}

#[cfg(feature = "std")]
type Once = std::sync::OnceLock<Option<Regex>>;
#[cfg(not(feature = "std"))]
type Once = core::cell::OnceCell<Option<Regex>>;

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// [`Error::Recipe`] where it is none, or too large.
    pub fn new(text: &str) -> Result<Pattern, Error> {
        let compiled = RegexBuilder::new(text).size_limit(MOST_BYTES).dfa_size_limit(MOST_BYTES).build();
        let pattern = compiled.map_err(|error| {
            let why = ParserMessage(reason(&error.to_string()));
            RecipeFault::Pattern { pattern: text.to_owned(), why }
        })?;
        match pattern.captures_len() {
            ..=2 => Ok(Pattern { text: text.to_owned(), compiled: Once::from(Some(pattern)) }),
            more => Err(RecipeFault::Captures { pattern: text.to_owned(), groups: more - 1 }.into()),
        }
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// That it can be compiled.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.regex() {
            Some(_) => Ok(()),
            None => Pattern::new(&self.text).map(|_| ()),
        }
    }

    /// None where it is no regular expression, which a recipe that was checked does not have.
    fn regex(&self) -> Option<&Regex> {
        let compile = || Pattern::new(&self.text).ok()?.compiled.into_inner()?;
        self.compiled.get_or_init(compile).as_ref()
    }

    /// What the first match captures: the group in parentheses, or the whole match where there is none.
    pub(super) fn first<'v>(&self, value: &'v [u8]) -> Option<&'v [u8]> {
        let regex = self.regex()?;
        if regex.captures_len() == 1 {
            return regex.find(value).map(|found| found.as_bytes());
        }
        captured(regex.captures(value))
    }

    /// What the last of all matches, found from the left, captures.
    ///
    /// One search takes linear time, but each may look at all the rest of a value before it settles for a
    /// short match (`a.*b|a`), and matches may be as many as bytes.
    ///
    /// # Errors
    /// Where all that stands after the matches, summed up, is too much to be looked at.
    pub(super) fn last<'v>(&self, value: &'v [u8]) -> Result<Option<&'v [u8]>, TooMany> {
        let Some(regex) = self.regex() else { return Ok(None) };
        let (mut matches, mut after) = (0u32, 0);
        let mut is_too_many = |end: usize| {
            (matches, after) = (matches.saturating_add(1), after + (value.len() - end));
            matches > FEW_MATCHES && after > MOST_AFTER
        };
        if regex.captures_len() == 1 {
            let mut last = None;
            for found in regex.find_iter(value) {
                if is_too_many(found.end()) {
                    return Err(TooMany);
                }
                last = Some(found.as_bytes());
            }
            return Ok(last);
        }
        let mut last = None;
        for captures in regex.captures_iter(value) {
            if captures.get(0).is_some_and(|all| is_too_many(all.end())) {
                return Err(TooMany);
            }
            last = Some(captures);
        }
        Ok(captured(last))
    }
}

/// There are too many matches in a long value.
pub(super) struct TooMany;

/// The reason, which stands in the last line, below the pattern and a mark at the place.
fn reason(error: &str) -> String {
    let lines: Vec<&str> = error.lines().collect();
    let why = lines.last().unwrap_or(&"").trim().trim_start_matches("error: ");
    // Both are indented alike. A pattern of several lines is drawn otherwise.
    let place = match lines[..] {
        [_, pattern, mark, _] => {
            let indent = pattern.len() - pattern.trim_start().len();
            mark.find('^').and_then(|at| at.checked_sub(indent.min(4)))
        }
        _ => None,
    };
    match place {
        Some(before) => alloc::format!("{why}, at character {}", before + 1),
        None => why.to_string(),
    }
}

fn captured<'v>(captures: Option<regex::bytes::Captures<'v>>) -> Option<&'v [u8]> {
    captures?.get(1).map(|found| found.as_bytes())
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Pattern {}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl<'d> Deserialize<'d> for Pattern {
    fn deserialize<D: Deserializer<'d>>(from: D) -> Result<Pattern, D::Error> {
        Ok(Pattern { text: String::deserialize(from)?, compiled: Once::new() })
    }
}
