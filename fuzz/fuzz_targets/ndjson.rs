//! A line of NDJSON, beside what serde_json makes of it.

#![no_main]

use std::fmt::Debug;

use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use tamis_read::{fuzz, fuzz_ndjson};

fuzz_target!(|line: &[u8]| {
    fuzz_ndjson(line);
    let Ok(text) = str::from_utf8(line) else { return };
    let object: Option<Map<String, Value>> = serde_json::from_str(text).ok();
    let known = object.iter().flat_map(Map::keys).take(4).map(String::as_str);
    for path in ["a", "a.b", "a.b.c"].into_iter().chain(known) {
        let got = fuzz::ndjson(line, path);
        match &object {
            Some(object) => compare(path, got, find(object, path)),
            // It reads no numbers, and so has no opinion on their size, nor on depth.
            None if got.is_ok() => assert!(serde_json::from_str::<IgnoredAny>(text).is_ok(), "{got:?}"),
            None => {}
        }
    }
});

/// The value at a path: at each object the longest key first.
fn find<'a>(object: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let dots = path.match_indices('.').map(|(at, _)| at);
    let ends: Vec<usize> = dots.chain([path.len()]).collect();
    ends.into_iter().rev().find_map(|end| match (object.get(&path[..end])?, path.get(end + 1..)) {
        (value, None) => Some(value),
        (Value::Object(inner), Some(rest)) => find(inner, rest),
        _ => None,
    })
}

fn compare<E: Debug>(path: &str, got: Result<Option<Vec<u8>>, E>, expected: Option<&Value>) {
    let same = match (&got, expected) {
        (Ok(None), None | Some(Value::Null)) => true,
        (Ok(Some(text)), Some(Value::String(value))) => text == value.as_bytes(),
        (Ok(Some(text)), Some(Value::Bool(value))) => text == value.to_string().as_bytes(),
        (Ok(Some(text)), Some(Value::Number(value))) => {
            serde_json::from_slice::<Value>(text).is_ok_and(|read| read == Value::Number(value.clone()))
        }
        (Err(_), Some(Value::Object(_) | Value::Array(_))) => true,
        _ => false,
    };
    assert!(same, "{path:?}: {got:?}, but {expected:?}");
}
