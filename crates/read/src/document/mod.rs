//! Whole files as records: the text of a document, taken out of it by a rule that files record.
//!
//! A rule never changes under its name: `docs/format.md` specifies each.

use std::borrow::Cow;
use std::path::Path;

use tamis::key::{Column, TextRule};

use crate::extension::extension;

mod entities;
pub(crate) mod html;
pub(crate) mod markdown;
mod places;

/// The rule by which a column is the text of a whole file.
pub(crate) fn asked(column: &Column) -> Option<TextRule> {
    match column {
        Column::Text(rule) => Some(*rule),
        _ => None,
    }
}

/// The rule for a file of this name.
pub(crate) fn rule_of(rule: TextRule, path: &Path) -> TextRule {
    match (rule, extension(path).as_str()) {
        (TextRule::ByName, "html" | "htm") => TextRule::Html,
        (TextRule::ByName, "md" | "markdown") => TextRule::Markdown,
        (TextRule::ByName, _) => TextRule::Text,
        (rule, _) => rule,
    }
}

/// The text of a document; by name is none of the rules here.
pub(crate) fn text(rule: TextRule, document: &[u8]) -> Cow<'_, [u8]> {
    match rule {
        TextRule::Html => Cow::Owned(html::text(document)),
        TextRule::Markdown => Cow::Owned(markdown::text(document)),
        TextRule::Text | TextRule::ByName => Cow::Borrowed(document),
    }
}
