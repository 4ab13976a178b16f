//! The steps that turn the text of a value into what its key is made of.

use alloc::borrow::{Cow, ToOwned};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use super::address::{self, Network};
use super::domain::SuffixList;
use super::normal::Unicode;
use super::pattern::Pattern;
use super::stem::Stemming;
use super::stop::StopList;
use super::{BadValue, decimal, typed};
use crate::error::{Error, ImpossibleRecipe, RecipeFault, StepOrder, Takes};

/// One change made to the text of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// What stands before the last occurrence of a text; all, where it does not occur.
    BeforeLast(String),
    /// What stands after the last occurrence of a text; all, where it does not occur.
    After(String),
    /// What stands after the first occurrence of a text; all, where it does not occur.
    AfterFirst(String),
    /// What the first match of a regular expression captures.
    Extract(Pattern),
    /// What the last match of a regular expression captures.
    ExtractLast(Pattern),
    /// The one text of an internet address.
    Ip,
    /// The network of an internet address.
    Cidr(Network),
    /// The registrable domain of a host, by a list of public suffixes.
    Domain(SuffixList),
    /// Unicode's normal form C.
    Nfc(Unicode),
    /// Keywords: the parts between the occurrences of a text, trimmed.
    Split(String),
    /// Keywords: the words of a text.
    Words,
    /// Keywords: this member of each element of a JSON list; of no name, the elements themselves.
    Json(String),
    /// One keyword: the value as it is.
    Whole,
    /// Drop keywords of a list of stop words.
    Stop(StopList),
    /// Drop keywords with fewer characters than this.
    Min(usize),
    /// The stem of a keyword, in lower case.
    Stem(Stemming),
    /// Only the N keywords of this column that occur most often; no step but `sort` follows.
    Top(usize),
    /// The keywords of this column in the order of their bytes; the last of the steps.
    Sort,
    /// A whole number as the four bytes that other systems hash; no step but `xxhash64` follows.
    Int,
    /// A whole number as eight bytes; no step but `xxhash64` follows.
    Long,
    /// Text in UTF-16; no step but `xxhash64` follows.
    Utf16,
    /// The eight bytes of Spark's `xxhash64` of the value; the last of the steps.
    Xxhash64,
}

pub(crate) const STEP_NAMES: &str = "trim, lower, upper, nfc, round, floor, ceil, prefix=N, suffix=N, before=TEXT, \
     before-last=TEXT, after=TEXT, after-first=TEXT, extract=REGEX, extract-last=REGEX, ip, cidr=N, domain, \
     and for keywords split=TEXT, words, json=MEMBER, whole, stop=en, min=N, stem=en, top=N, sort, \
     and for other systems int, long, utf16, xxhash64";

/// Whether a bracket is left open in a pattern.
fn is_cut(pattern: &str) -> bool {
    let count = |bracket: char| pattern.matches(bracket).count();
    [('{', '}'), ('[', ']'), ('(', ')')].into_iter().any(|(open, close)| count(open) > count(close))
}

impl Step {
    /// The step of this name, with its argument, if it has one.
    pub(super) fn new(name: &str, argument: Option<&str>) -> Result<Self, Error> {
        let wrong = |takes: Takes| Error::from(RecipeFault::Argument { step: name.to_owned(), takes });
        let count = || -> Result<usize, Error> {
            let count = argument.and_then(|digits| digits.parse().ok()).filter(|&n| n > 0);
            count.ok_or_else(|| wrong(Takes::PositiveInteger))
        };
        let given = |takes| argument.filter(|text| !text.is_empty()).ok_or_else(|| wrong(takes));
        let word = || given(Takes::Text).map(str::to_owned);
        let pattern = || {
            let argument = given(Takes::Pattern)?;
            Pattern::new(argument).map_err(|error| match error {
                Error::Recipe(RecipeFault::Pattern { pattern, why }) if is_cut(argument) => {
                    RecipeFault::CutPattern { pattern, why, step: name.to_owned() }.into()
                }
                other => other,
            })
        };
        let plain = |step: Step| match argument {
            None => Ok(step),
            Some(_) => Err(wrong(Takes::Nothing)),
        };
        match name {
            "trim" => plain(Step::Trim),
            "lower" => plain(Step::Lower),
            "upper" => plain(Step::Upper),
            "nfc" => plain(Step::Nfc(Unicode)),
            "round" => plain(Step::Round),
            "floor" => plain(Step::Floor),
            "ceil" => plain(Step::Ceil),
            "prefix" => count().map(Step::Prefix),
            "suffix" => count().map(Step::Suffix),
            "before" => word().map(Step::Before),
            "before-last" => word().map(Step::BeforeLast),
            "after" => word().map(Step::After),
            "after-first" => word().map(Step::AfterFirst),
            "extract" => pattern().map(Step::Extract),
            "extract-last" => pattern().map(Step::ExtractLast),
            "ip" => plain(Step::Ip),
            "cidr" => Network::parse(argument).map(Step::Cidr).ok_or_else(|| wrong(Takes::Network)),
            "domain" => match argument {
                None => Ok(Step::Domain(SuffixList::usual())),
                Some(digest) => {
                    let list = SuffixList::of_digest(digest).ok_or_else(|| wrong(Takes::SuffixList))?;
                    list.check()?;
                    Ok(Step::Domain(list))
                }
            },
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
            "stop" => {
                let list = argument.and_then(StopList::parse).ok_or_else(|| wrong(Takes::Language))?;
                list.check()?;
                Ok(Step::Stop(list))
            }
            "min" => count().map(Step::Min),
            "stem" => {
                let stemming = argument.and_then(Stemming::parse).ok_or_else(|| wrong(Takes::Language))?;
                stemming.check()?;
                Ok(Step::Stem(stemming))
            }
            "top" => count().map(Step::Top),
            "sort" => plain(Step::Sort),
            "int" => plain(Step::Int),
            "long" => plain(Step::Long),
            "utf16" => plain(Step::Utf16),
            "xxhash64" => plain(Step::Xxhash64),
            _ => Err(RecipeFault::UnknownStep(name.to_owned()).into()),
        }
    }

    /// Whether this is the name of a step.
    pub(super) fn is_name(name: &str) -> bool {
        let plain = |name: &'static str| name.rsplit(' ').next().unwrap_or(name);
        let names = STEP_NAMES.split(", ").map(plain);
        names.map(|name| name.split('=').next().unwrap_or(name)).any(|other| other == name)
    }

    /// Its name, as in a recipe, and its argument.
    fn parts(&self) -> (&'static str, Option<Cow<'_, str>>) {
        fn text(text: &str) -> Option<Cow<'_, str>> {
            Some(Cow::Borrowed(text))
        }
        match self {
            Step::Trim => ("trim", None),
            Step::Lower => ("lower", None),
            Step::Upper => ("upper", None),
            Step::Nfc(_) => ("nfc", None),
            Step::Round => ("round", None),
            Step::Floor => ("floor", None),
            Step::Ceil => ("ceil", None),
            Step::Prefix(n) => ("prefix", Some(n.to_string().into())),
            Step::Suffix(n) => ("suffix", Some(n.to_string().into())),
            Step::Before(t) => ("before", text(t)),
            Step::BeforeLast(t) => ("before-last", text(t)),
            Step::After(t) => ("after", text(t)),
            Step::AfterFirst(t) => ("after-first", text(t)),
            Step::Extract(pattern) => ("extract", text(pattern.as_str())),
            Step::ExtractLast(pattern) => ("extract-last", text(pattern.as_str())),
            Step::Ip => ("ip", None),
            Step::Cidr(network) => ("cidr", Some(network.to_string().into())),
            Step::Domain(list) if *list == SuffixList::newest() && *list == SuffixList::usual() => {
                ("domain", None)
            }
            Step::Domain(list) => ("domain", Some(list.to_string().into())),
            Step::Split(t) => (
                "split",
                text(match t.as_str() {
                    "\t" => "tab",
                    " " => "space",
                    t => t,
                }),
            ),
            Step::Words => ("words", None),
            Step::Json(member) => {
                ("json", Some(member.as_str()).filter(|member| !member.is_empty()).map(Cow::Borrowed))
            }
            Step::Whole => ("whole", None),
            Step::Stop(list) => ("stop", Some(list.to_string().into())),
            Step::Min(n) => ("min", Some(n.to_string().into())),
            Step::Stem(stemming) => ("stem", Some(stemming.to_string().into())),
            Step::Top(n) => ("top", Some(n.to_string().into())),
            Step::Sort => ("sort", None),
            Step::Int => ("int", None),
            Step::Long => ("long", None),
            Step::Utf16 => ("utf16", None),
            Step::Xxhash64 => ("xxhash64", None),
        }
    }

    /// Whether it makes keywords of a value.
    pub fn splits(&self) -> bool {
        matches!(self, Step::Split(_) | Step::Words | Step::Json(_) | Step::Whole)
    }

    /// Whether it makes bytes of a value that are no longer its text.
    fn makes_bytes(&self) -> bool {
        matches!(self, Step::Int | Step::Long | Step::Utf16 | Step::Xxhash64)
    }

    /// Whether it concerns keywords, and so stands after the step that makes them.
    fn needs_keywords(&self) -> bool {
        matches!(self, Step::Stop(_) | Step::Min(_) | Step::Stem(_) | Step::Top(_) | Step::Sort)
    }

    /// How many keywords of a field it keeps, where it keeps those that occur most often.
    pub(super) fn most(&self) -> Option<usize> {
        match self {
            Step::Top(most) => Some(*most),
            _ => None,
        }
    }

    /// Whether it leaves this keyword in the record.
    pub(super) fn keeps(&self, keyword: &[u8]) -> bool {
        match self {
            Step::Stop(list) => !list.has(keyword),
            Step::Min(n) => character_lengths(keyword).take(*n).count() == *n,
            _ => true,
        }
    }

    /// Whether it has a regular expression.
    pub(super) fn is_pattern(&self) -> bool {
        matches!(self, Step::Extract(_) | Step::ExtractLast(_))
    }

    /// Whether there are values of which it makes nothing.
    pub(super) fn may_fail(&self) -> bool {
        match self {
            Step::Round | Step::Floor | Step::Ceil | Step::Sort => true,
            Step::Extract(_) | Step::ExtractLast(_) => true,
            Step::Ip | Step::Cidr(_) | Step::Domain(_) | Step::Nfc(_) => true,
            Step::Trim | Step::Lower | Step::Upper | Step::Prefix(_) | Step::Suffix(_) => false,
            Step::Before(_) | Step::BeforeLast(_) | Step::After(_) | Step::AfterFirst(_) => false,
            Step::Split(_) | Step::Words | Step::Json(_) | Step::Whole => true,
            Step::Stop(_) | Step::Min(_) | Step::Stem(_) | Step::Top(_) => true,
            Step::Int | Step::Long | Step::Utf16 => true,
            Step::Xxhash64 => false,
        }
    }

    /// The first version of the format that has it.
    pub(super) fn version(&self) -> u32 {
        match self {
            Step::BeforeLast(_) | Step::AfterFirst(_) | Step::Extract(_) | Step::ExtractLast(_) => 2,
            Step::Ip | Step::Cidr(_) | Step::Domain(_) | Step::Nfc(_) => 2,
            Step::Stop(_) | Step::Min(_) | Step::Stem(_) | Step::Top(_) => 2,
            Step::Int | Step::Long | Step::Utf16 | Step::Xxhash64 => 2,
            _ => 1,
        }
    }

    /// That it is one that could be parsed: a file may hold any.
    pub(super) fn check(&self) -> Result<(), Error> {
        let possible = match self {
            Step::Prefix(n) | Step::Suffix(n) | Step::Min(n) | Step::Top(n) => *n > 0,
            Step::Before(text) | Step::BeforeLast(text) | Step::Split(text) => !text.is_empty(),
            Step::After(text) | Step::AfterFirst(text) => !text.is_empty(),
            Step::Extract(pattern) | Step::ExtractLast(pattern) if !pattern.as_str().is_empty() => {
                return pattern.check();
            }
            Step::Extract(_) | Step::ExtractLast(_) => false,
            Step::Cidr(network) => network.is_possible(),
            _ => true,
        };
        if possible { Ok(()) } else { Err(ImpossibleRecipe::Step(self.clone()).into()) }
    }

    /// That its list is known, where it has one.
    pub(super) fn knows_its_list(&self) -> Result<(), Error> {
        match self {
            Step::Domain(list) => list.check(),
            Step::Stop(list) => list.check(),
            Step::Stem(stemming) => stemming.check(),
            _ => Ok(()),
        }
    }

    /// What it makes of a value.
    pub(super) fn apply<'a>(&self, value: &'a [u8]) -> Result<Cow<'a, [u8]>, BadValue> {
        let found = |found: Option<&'a [u8]>| {
            let nothing = || BadValue::NoMatch { step: self.to_string(), value: lossy(value) };
            found.map(Cow::Borrowed).ok_or_else(nothing)
        };
        let typed = |made: Option<Vec<u8>>| {
            made.map(Cow::Owned)
                .ok_or_else(|| BadValue::NotOfType { step: self.clone(), value: lossy(value) })
        };
        Ok(match self {
            Step::Trim => Cow::Borrowed(value.trim_ascii()),
            Step::Lower => Cow::Owned(lower(value)),
            Step::Upper => match core::str::from_utf8(value) {
                Ok(text) if !text.is_ascii() => Cow::Owned(text.to_uppercase().into_bytes()),
                _ => Cow::Owned(value.to_ascii_uppercase()),
            },
            Step::Nfc(unicode) => unicode.normal(value)?,
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
            Step::Before(text) => Cow::Borrowed(first(value, text).map_or(value, |at| &value[..at])),
            Step::BeforeLast(text) => Cow::Borrowed(last(value, text).map_or(value, |at| &value[..at])),
            Step::After(text) => {
                Cow::Borrowed(last(value, text).map_or(value, |at| &value[at + text.len()..]))
            }
            Step::AfterFirst(text) => {
                Cow::Borrowed(first(value, text).map_or(value, |at| &value[at + text.len()..]))
            }
            Step::Extract(pattern) => found(pattern.first(value))?,
            Step::ExtractLast(pattern) => {
                let too_many = |_| BadValue::ManyMatches { step: self.to_string(), length: value.len() };
                found(pattern.last(value).map_err(too_many)?)?
            }
            Step::Ip => Cow::Owned(address::canonical(value)?),
            Step::Cidr(network) => Cow::Owned(network.of(value)?),
            Step::Domain(list) => match list.registrable(value) {
                Some(Cow::Borrowed(domain)) => Cow::Borrowed(domain.as_bytes()),
                Some(Cow::Owned(domain)) => Cow::Owned(domain.into_bytes()),
                None => found(None)?,
            },
            Step::Stem(stemming) => Cow::Owned(stemming.stem(value)),
            Step::Int => typed(typed::int(value))?,
            Step::Long => typed(typed::long(value))?,
            Step::Utf16 => typed(typed::utf16(value))?,
            Step::Xxhash64 => Cow::Owned(typed::xxhash64(value)),
            // What concerns the list of keywords leaves each of them as it is.
            Step::Split(_) | Step::Words | Step::Json(_) | Step::Whole => Cow::Borrowed(value),
            Step::Stop(_) | Step::Min(_) | Step::Top(_) | Step::Sort => Cow::Borrowed(value),
        })
    }
}

impl FromStr for Step {
    type Err = Error;

    /// Reads `name` or `name=argument`; an argument in double quotes may contain any character.
    fn from_str(text: &str) -> Result<Self, Error> {
        match &super::notation::steps(text)?[..] {
            [step] => Ok(step.clone()),
            _ => Err(RecipeFault::NotOneStep(text.to_owned()).into()),
        }
    }
}

/// As it is read.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            (name, None) => f.write_str(name),
            (name, Some(argument)) => write!(f, "{name}={}", super::notation::argument(name, &argument)),
        }
    }
}

/// A value in lower case: all letters of Unicode where it is UTF-8, else those of ASCII.
pub(super) fn lower(value: &[u8]) -> Vec<u8> {
    match core::str::from_utf8(value) {
        Ok(text) if !text.is_ascii() => text.to_lowercase().into_bytes(),
        _ => value.to_ascii_lowercase(),
    }
}

/// A value in a message: its beginning, where it is long.
fn lossy(value: &[u8]) -> String {
    const SHOWN: usize = 200;
    match value.get(..SHOWN) {
        Some(beginning) if value.len() > SHOWN => String::from_utf8_lossy(beginning).into_owned() + "…",
        _ => String::from_utf8_lossy(value).into_owned(),
    }
}

/// Where a text first stands in a value. An empty text stands nowhere.
fn first(value: &[u8], text: &str) -> Option<usize> {
    value.windows(text.len().max(1)).position(|window| window == text.as_bytes())
}

/// Where it last stands.
fn last(value: &[u8], text: &str) -> Option<usize> {
    value.windows(text.len().max(1)).rposition(|window| window == text.as_bytes())
}

/// The length in bytes of each character; a byte that is not UTF-8 is a character of its own.
fn character_lengths(value: &[u8]) -> impl Iterator<Item = usize> {
    value.utf8_chunks().flat_map(|chunk| {
        chunk.valid().chars().map(char::len_utf8).chain(core::iter::repeat_n(1, chunk.invalid().len()))
    })
}

/// What steps make of a value, one after the other.
pub(super) fn apply<'a>(steps: &[Step], value: &'a [u8]) -> Result<Cow<'a, [u8]>, BadValue> {
    steps.iter().try_fold(Cow::Borrowed(value), |current, step| match current {
        Cow::Borrowed(value) => step.apply(value),
        Cow::Owned(value) => step.apply(&value).map(|made| Cow::Owned(made.into_owned())),
    })
}

/// That the steps for keywords stand where they mean something.
pub(super) fn check_steps(steps: &[Step]) -> Result<(), StepOrder> {
    if let Some(at) = steps.iter().position(Step::makes_bytes) {
        let ends = matches!(&steps[at..], [_] | [Step::Int | Step::Long | Step::Utf16, Step::Xxhash64]);
        if !ends || steps.iter().any(Step::splits) {
            return Err(StepOrder::AfterBytes);
        }
    }
    let makes = steps.iter().position(Step::splits);
    if steps.iter().filter(|step| step.splits()).count() > 1 {
        return Err(StepOrder::SplitTwice);
    }
    let is_early = |&(at, step): &(usize, &Step)| step.needs_keywords() && makes.is_none_or(|made| at < made);
    match steps.iter().enumerate().find(is_early) {
        Some((_, Step::Sort)) => return Err(StepOrder::NothingToSort),
        Some(_) => return Err(StepOrder::NoKeywords),
        None => {}
    }
    let (sort, top) = (|step: &Step| *step == Step::Sort, |step: &Step| matches!(step, Step::Top(_)));
    if steps.iter().position(sort).is_some_and(|at| at + 1 < steps.len()) {
        return Err(StepOrder::AfterSort);
    }
    match steps.iter().position(top) {
        Some(at) if steps[at + 1..].iter().any(|step| *step != Step::Sort) => Err(StepOrder::AfterTop),
        _ => Ok(()),
    }
}
