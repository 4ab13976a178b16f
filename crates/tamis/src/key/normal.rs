//! Unicode's normal form C: one text for a letter with an accent, however it was typed.

use alloc::borrow::Cow;
use alloc::string::String;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use unicode_normalization::{UnicodeNormalization, is_nfc_quick};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::BadValue;

/// The version of Unicode that files record, and the only one that this program knows.
const VERSION: &str = "18.0";

/// The version of Unicode by which text is brought to its normal form. The form of a character that is
/// assigned never changes; one that is not assigned yet may get another, so that it makes no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unicode;

impl Unicode {
    /// A value in its normal form.
    pub(super) fn normal(self, value: &[u8]) -> Result<Cow<'_, [u8]>, BadValue> {
        let Ok(text) = core::str::from_utf8(value) else {
            return Err(BadValue::NotUtf8(String::from_utf8_lossy(value).into_owned()));
        };
        if text.is_ascii() {
            return Ok(Cow::Borrowed(value));
        }
        let unassigned = |c: &char| c.general_category() == GeneralCategory::Unassigned;
        if let Some(c) = text.chars().find(unassigned) {
            return Err(BadValue::Unassigned(c));
        }
        Ok(match is_nfc_quick(text.chars()) {
            unicode_normalization::IsNormalized::Yes => Cow::Borrowed(value),
            _ => Cow::Owned(text.nfc().collect::<String>().into_bytes()),
        })
    }
}

impl Serialize for Unicode {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(VERSION)
    }
}

impl<'d> Deserialize<'d> for Unicode {
    fn deserialize<D: Deserializer<'d>>(from: D) -> Result<Unicode, D::Error> {
        let version = String::deserialize(from)?;
        match version.as_str() {
            VERSION => Ok(Unicode),
            _ => Err(serde::de::Error::custom(alloc::format!(
                "this program knows Unicode {VERSION}, not {version}"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_tables_are_those_of_the_version_that_files_record() {
        let (major, minor, _) = unicode_normalization::UNICODE_VERSION;
        assert_eq!(alloc::format!("{major}.{minor}"), super::VERSION);
        let (major, minor, _) = unicode_properties::UNICODE_VERSION;
        assert_eq!(alloc::format!("{major}.{minor}"), super::VERSION);
    }
}
