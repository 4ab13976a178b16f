//! What is wrong with a recipe.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use super::ParserMessage;
use crate::key::{Column, MOST_PATTERNS, Recipe, STEP_NAMES, Step};

/// Why fields and steps, as people write them, cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeFault {
    /// A column of the number 0.
    #[error("columns are numbered from 1")]
    ColumnZero,
    /// A quote that is not closed: the text that it begins.
    #[error("the quote that begins {0:?} is not closed (in quotes, \"\" stands for one quote)")]
    OpenQuote(String),
    /// What stands after a closing quote, and should not.
    #[error("{0:?} follows a closing quote (in quotes, \"\" stands for one quote)")]
    AfterQuote(String),
    /// A step that there is not.
    #[error(
        "unknown step {0:?}; the steps are {STEP_NAMES} (a column that has a colon in its name stands in double quotes)"
    )]
    UnknownStep(String),
    /// A step whose argument is missing, or is none that it takes.
    #[error(fmt = argument)]
    Argument {
        /// The name of the step.
        step: String,
        /// What it takes.
        takes: Takes,
    },
    /// A pattern that is no regular expression, or too large a one.
    #[error("{pattern:?} is not a regular expression: {why}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What the library of regular expressions says.
        why: ParserMessage,
    },
    /// The same of a pattern that was cut at a comma, as it seems.
    #[error(
        "{pattern:?} is not a regular expression: {why} (a comma ends a step: a pattern with one stands in double \
         quotes, {step}=\"[0-9]{{1,2}}\")"
    )]
    CutPattern {
        /// What is left of the pattern.
        pattern: String,
        /// What the library of regular expressions says.
        why: ParserMessage,
        /// The name of the step.
        step: String,
    },
    /// A pattern that captures more than one part.
    #[error("{pattern:?} has {groups} groups in parentheses and may have one: write the others as (?:…)")]
    Captures {
        /// The pattern.
        pattern: String,
        /// Its groups.
        groups: usize,
    },
    /// Several steps, or none, where one is wanted.
    #[error("{0:?} is not one step")]
    NotOneStep(String),
    /// Steps for keywords that do not stand where they mean something.
    #[error(transparent)]
    Order(StepOrder),
}

/// What a step takes as its argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // each is its name
#[non_exhaustive]
pub enum Takes {
    Nothing,
    PositiveInteger,
    Text,
    Pattern,
    Network,
    SuffixList,
    Language,
}

fn argument(step: &str, takes: &Takes, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match takes {
        Takes::Nothing => write!(f, "{step} takes no argument"),
        Takes::PositiveInteger => write!(f, "{step} takes a positive integer: {step}=3"),
        Takes::Text => {
            write!(f, "{step} takes a text: {step}=@ or, with a comma in it, in double quotes, {step}=\",\"")
        }
        Takes::Pattern => write!(f, "{step} takes a regular expression: {step}=\"id=([0-9]+)\""),
        Takes::Network => write!(
            f,
            "{step} takes the bits of a network: {step}=24, with those of version 6 {step}=24/48, or {step}=/48"
        ),
        Takes::Language => {
            write!(f, "{step} takes a language, {step}=en (the only one so far), or the digest of its rules")
        }
        Takes::SuffixList => write!(f, "{step} takes no argument, or the digest of a suffix list"),
    }
}

/// Why the steps for keywords mean nothing in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StepOrder {
    /// Two steps make keywords.
    #[error("one of split, words, json and whole makes the keywords: leave out the others")]
    SplitTwice,
    /// There are no keywords to be sorted.
    #[error("sort orders keywords: put split, words or json before it")]
    NothingToSort,
    /// There are no keywords yet that a step could drop or change.
    #[error("stop, min, stem and top concern keywords: put split, words or json before them")]
    NoKeywords,
    /// A step other than `sort` stands after `top`.
    #[error("only sort may follow top")]
    AfterTop,
    /// A step that takes text, or keywords, stands with one that makes other bytes.
    #[error(
        "int, long, utf16 and xxhash64 make bytes of one value: only xxhash64 may follow, once, and no keywords can be made"
    )]
    AfterBytes,
    /// A step stands after `sort`.
    #[error("sort must be the last step")]
    AfterSort,
}

/// Why a recipe, read from a file or made by a program, is one that nobody could have written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImpossibleRecipe {
    /// More regular expressions than are compiled for a file.
    #[error("the recipe has more than {MOST_PATTERNS} regular expressions")]
    Patterns,
    /// A step with an argument that it cannot have.
    #[error("the step {0} is impossible")]
    Step(Step),
    /// Some parts of the key make keywords, and some do not.
    #[error("some parts of the key make keywords and others do not ({0})")]
    MixedKey(Box<Recipe>),
    /// A group of keywords.
    #[error("a group cannot be made of keywords ({0})")]
    GroupOfKeywords(Box<Recipe>),
    /// Each keyword is a key, and there are none.
    #[error("each keyword shall be a key, and no step makes keywords ({0})")]
    EachOfNone(Box<Recipe>),
    /// A whole file is a record, and a column of it is asked for.
    #[error("a whole file is one record, and has no column {0}")]
    ColumnOfDocument(Column),
    /// A weight of keywords.
    #[error("a weight cannot be made of keywords ({0})")]
    WeightOfKeywords(Box<Recipe>),
    /// No key, a column of the number 0, or steps in an order that means nothing.
    #[error("the recipe is impossible ({0})")]
    Fields(Box<Recipe>),
}
