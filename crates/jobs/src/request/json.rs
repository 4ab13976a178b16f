//! Requests as JSON: values as people write them, and messages that name the option.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{DeserializeOwned, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

/// A request that is not one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The option, where one of them is to blame.
    pub option: Option<String>,
    /// What is wrong.
    pub why: String,
    /// Whether its value has the wrong type, such as a text in place of a number.
    pub wrong_type: bool,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.option {
            Some(option) if self.wrong_type => write!(f, "{option} is {}", self.why),
            Some(option) => write!(f, "{option}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl std::error::Error for Malformed {}

/// Reads a request. Options that are null count as not given.
pub fn read<T: DeserializeOwned>(mut options: Map<String, Value>) -> Result<T, Malformed> {
    options.retain(|_, value| !value.is_null());
    let whole = serde_json::from_value(Value::Object(options.clone()));
    whole.map_err(|error| {
        // A flattened field cannot say its name: the option that is wrong by itself is to blame.
        let alone = |(name, value): (&String, &Value)| {
            let one = Map::from_iter([(name.clone(), value.clone())]);
            let why = serde_json::from_value::<T>(Value::Object(one)).err()?;
            (why.to_string() == error.to_string()).then(|| name.clone())
        };
        malformed(options.iter().find_map(alone), &error.to_string())
    })
}

/// The reader's words for wrong types, put more plainly.
fn malformed(option: Option<String>, why: &str) -> Malformed {
    let wrong = why.strip_prefix("invalid type: ").or_else(|| why.strip_prefix("invalid value: "));
    let Some((found, expected)) = wrong.and_then(|wrong| wrong.split_once(", expected ")) else {
        return Malformed { option, why: why.to_owned(), wrong_type: false };
    };
    let expected = match expected {
        "f64" => "a number",
        "u8" | "u32" | "u64" | "usize" => "a non-negative integer",
        other => other,
    };
    let wrong_type = why.starts_with("invalid type");
    let why = match wrong_type {
        true => format!("{expected}, not {found}"),
        false => format!("{found} is not {expected}"),
    };
    Malformed { option, why, wrong_type }
}

/// The end of a request whose fields are flattened: what no field took is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NoMore;

impl<'de> Deserialize<'de> for NoMore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Rest;
        impl<'de> Visitor<'de> for Rest {
            type Value = NoMore;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("no more options")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NoMore, A::Error> {
                match map.next_entry::<String, IgnoredAny>()? {
                    Some((name, _)) => Err(A::Error::custom(format!("there is no option {name:?}"))),
                    None => Ok(NoMore),
                }
            }
        }
        deserializer.deserialize_map(Rest)
    }
}

impl Serialize for NoMore {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde::ser::SerializeMap::end(serializer.serialize_map(Some(0))?)
    }
}

fn parse<T: FromStr<Err: fmt::Display>, E: Error>(text: &str) -> Result<T, E> {
    text.parse().map_err(E::custom)
}

/// What may be missing, by its text, such as a column with its steps.
pub mod optional {
    use super::*;

    /// Writes the text.
    pub fn serialize<T: fmt::Display, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().map(ToString::to_string).serialize(serializer)
    }

    /// Reads the text.
    pub fn deserialize<'de, T: FromStr<Err: fmt::Display>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        Option::<String>::deserialize(deserializer)?.map(|text| parse(&text)).transpose()
    }
}

/// The same for one or several.
pub mod several {
    use super::*;

    /// Writes their texts.
    pub fn serialize<T: fmt::Display, S: Serializer>(values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(ToString::to_string))
    }

    /// Reads a text, or a list of texts.
    pub fn deserialize<'de, T: FromStr<Err: fmt::Display>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_any(Texts(PhantomData))
    }

    struct Texts<T>(PhantomData<T>);

    impl<'de, T: FromStr<Err: fmt::Display>> Visitor<'de> for Texts<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the name of a column, or a list of names")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Vec<T>, E> {
            Ok(vec![parse(text)?])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut texts: A) -> Result<Vec<T>, A::Error> {
            let mut found = Vec::new();
            while let Some(text) = texts.next_element::<String>()? {
                found.push(parse(&text)?);
            }
            Ok(found)
        }
    }
}

/// A number of bytes, or its text: `64MB`.
pub mod in_bytes {
    use super::*;

    /// Writes the number.
    pub fn serialize<S: Serializer>(bytes: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        bytes.serialize(serializer)
    }

    /// Reads the number, or its text.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        deserializer.deserialize_any(Bytes)
    }

    struct Bytes;

    impl Visitor<'_> for Bytes {
        type Value = Option<u64>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number of bytes, or its text (\"64MB\")")
        }

        fn visit_u64<E: Error>(self, bytes: u64) -> Result<Option<u64>, E> {
            Ok(Some(bytes))
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Option<u64>, E> {
            crate::request::bytes(text).map(Some).map_err(E::custom)
        }

        fn visit_unit<E: Error>(self) -> Result<Option<u64>, E> {
            Ok(None)
        }
    }
}

/// One of these words.
pub fn word<T: Copy, E: Error>(given: &str, words: &[(&str, T)]) -> Result<T, E> {
    let found = words.iter().find(|(word, _)| *word == given);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
        E::custom(format!("it is {}, not {given:?}", known.join(" or ")))
    })
}
