use proptest::prelude::*;
use serde_json::Value as Json;

use super::*;

fn extract(line: &str, paths: &[&str]) -> Result<Vec<Option<Vec<u8>>>, String> {
    let columns: Vec<Column> = paths.iter().map(|path| Column::Name(path.to_string())).collect();
    Extractor::new(&columns)
        .extract(line.as_bytes(), |values| values.iter().map(|value| value.map(<[u8]>::to_vec)).collect())
        .map_err(|why| why.to_string())
}

/// The one value of a path, as text; `None` for a null.
fn one(line: &str, path: &str) -> Option<String> {
    let value = extract(line, &[path]).unwrap().remove(0);
    value.map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn the_text_of_a_value_is_what_it_says() {
    let line = r#"{"s":"x y","e":"","n":-12.50e+3,"z":-0,"t":true,"f":false,"u":null,"o":{"k":"v"}}"#;
    assert_eq!(one(line, "s").as_deref(), Some("x y"));
    assert_eq!(one(line, "e").as_deref(), Some(""));
    assert_eq!(one(line, "n").as_deref(), Some("-12.50e+3"));
    assert_eq!(one(line, "z").as_deref(), Some("-0"));
    assert_eq!(one(line, "t").as_deref(), Some("true"));
    assert_eq!(one(line, "f").as_deref(), Some("false"));
    assert_eq!(one(line, "u"), None);
    assert_eq!(one(line, "o.k").as_deref(), Some("v"));
    assert_eq!(one(line, "absent"), None);
    assert_eq!(one(line, "s.k"), None);
}

#[test]
fn a_number_and_a_string_of_the_same_text_are_the_same_key() {
    assert_eq!(one(r#"{"id":42}"#, "id"), one(r#"{"id":"42"}"#, "id"));
}

#[test]
fn escapes_become_the_characters_they_stand_for() {
    let line = r#"{"a":"q\"b\\s\/\b\f\n\r\tü\u00e9\ud83d\uDE00.","k\u0065y":"\u0000"}"#;
    assert_eq!(one(line, "a").as_deref(), Some("q\"b\\s/\u{8}\u{c}\n\r\tüé😀."));
    assert_eq!(one(line, "key").as_deref(), Some("\0"));
}

#[test]
fn half_a_surrogate_pair_is_an_error_wherever_it_stands() {
    for text in
        [r"\ud800", r"\udc00", r"\ud800x", r"\ud800\n", r"\ud800\ud800", r"\udc00\ud800", r"\ud800\u00e"]
    {
        for line in [format!(r#"{{"a":"{text}"}}"#), format!(r#"{{"a":1,"b":["{text}"]}}"#)] {
            let message = extract(&line, &["a"]).unwrap_err();
            assert!(message.contains("surrogate") && message.contains("column"), "{message}");
        }
    }
}

#[test]
fn bytes_that_are_not_utf_8_pass_through() {
    let mut extractor = Extractor::new(&[Column::Name("a".to_owned())]);
    let line = b"{\"a\":\"\xff\xfe\\n\x80\"}";
    let value = extractor.extract(line, |values| values[0].unwrap().to_vec()).unwrap();
    assert_eq!(value, b"\xff\xfe\n\x80");
}

#[test]
fn a_path_may_be_asked_for_twice() {
    let values = extract(r#"{"a":{"b":"x"}}"#, &["a.b", "c", "a.b"]).unwrap();
    assert_eq!(values, [Some(b"x".to_vec()), None, Some(b"x".to_vec())]);
}

#[test]
fn more_paths_than_the_stack_holds_are_handed_over_too() {
    let paths: Vec<String> = (0..40).map(|i| format!("k{i}")).collect();
    let line = (0..40).map(|i| format!(r#""k{i}":{i}"#)).collect::<Vec<_>>().join(",");
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let values = extract(&format!("{{{line}}}"), &paths).unwrap();
    assert!(values.iter().enumerate().all(|(i, v)| v.as_deref() == Some(i.to_string().as_bytes())));
}

#[test]
fn the_longest_key_that_is_part_of_a_path_is_tried_first() {
    assert_eq!(one(r#"{"a.b":1,"a":{"b":2}}"#, "a.b").as_deref(), Some("1"));
    assert_eq!(one(r#"{"a":{"b":2},"a.b":1}"#, "a.b").as_deref(), Some("1"));
    assert_eq!(one(r#"{"a":{"b.c":1,"b":{"c":2}},"a.b":{"c":3}}"#, "a.b.c").as_deref(), Some("3"));
    assert_eq!(one(r#"{"a":{"b":{"c":2},"b.c":1}}"#, "a.b.c").as_deref(), Some("1"));
    // The longer key leads nowhere.
    assert_eq!(one(r#"{"a.b":{"x":3},"a":{"b":{"c":2}}}"#, "a.b.c").as_deref(), Some("2"));
    // A null is a value.
    assert_eq!(one(r#"{"a.b":null,"a":{"b":2}}"#, "a.b"), None);
    assert_eq!(one(r#"{"":1,".":2,"a.":3}"#, "").as_deref(), Some("1"));
    assert_eq!(one(r#"{"":{"":2}}"#, ".").as_deref(), Some("2"));
}

#[test]
fn the_last_of_repeated_keys_counts() {
    assert_eq!(one(r#"{"a":1,"a":2}"#, "a").as_deref(), Some("2"));
    assert_eq!(one(r#"{"a":{},"a":2}"#, "a").as_deref(), Some("2"));
    assert_eq!(one(r#"{"a":{"b":1},"a":{"c":2}}"#, "a.b"), None);
    assert_eq!(one(r#"{"a":{"b":1},"a":7}"#, "a.b"), None);
    assert_eq!(one(r#"{"a.b":{"c":1},"a":{"b":{"c":2}},"a.b":5}"#, "a.b.c").as_deref(), Some("2"));
}

#[test]
fn a_list_is_its_json_where_one_is_asked_for() {
    let columns = [Column::List("t".into()), Column::List("u".into()), Column::Name("v.w".into())];
    let texts = |line: &str| {
        Extractor::new(&columns)
            .extract(line.as_bytes(), |values| {
                let text =
                    |value: &Option<&[u8]>| value.map(|text| String::from_utf8(text.to_vec()).unwrap());
                values.iter().map(text).collect::<Vec<_>>()
            })
            .map_err(|why| why.to_string())
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        texts(r#"{"t": ["a b", " c\u00e9" ] ,"u":"[1]","v":{"w":2}}"#).unwrap(),
        [text(r#"["a b", " c\u00e9" ]"#), text("[1]"), text("2")]
    );
    assert_eq!(texts(r#"{"t":[],"u":null}"#).unwrap(), [text("[]"), None, None]);
    assert!(texts(r#"{"t":{"a":[1]}}"#).unwrap_err().contains("\"t\" is an object"));
    // A column of another name is still one value.
    assert!(texts(r#"{"v":{"w":[1]}}"#).unwrap_err().contains("v.w:json makes keywords of a list"));
}

#[test]
fn an_object_or_an_array_is_no_key() {
    assert!(extract(r#"{"a":{"b":1}}"#, &["a"]).unwrap_err().contains("\"a\" is an object"));
    assert!(extract(r#"{"a":{"b":[1]}}"#, &["a.b"]).unwrap_err().contains("\"a.b\" is an array"));
    assert_eq!(one(r#"{"a":{"b":1},"c":[[],{}]}"#, "a.b").as_deref(), Some("1"));
}

#[test]
fn a_line_that_is_not_an_object_is_refused() {
    for line in ["", " ", "[]", "1", "\"a\"", "null", "a,b,c"] {
        assert!(extract(line, &["a"]).unwrap_err().contains("not a JSON object"), "{line}");
    }
}

#[test]
fn a_fault_is_named_with_its_byte_column() {
    assert_eq!(extract(r#"{"é" 1}"#, &["a"]).unwrap_err(), "not valid JSON: column 7: expected a colon");
    assert!(extract("{\"a\":\"x\ty\"}", &["a"]).unwrap_err().contains("column 8: a control character"));
    assert!(extract(r#"{"a":1} x"#, &["a"]).unwrap_err().contains("column 9"));
    assert!(extract(r#"{"a":"#, &["a"]).unwrap_err().contains("the line ends at column 6"));
}

#[test]
fn nesting_is_limited() {
    let nested = |depth: usize| format!(r#"{{"a":1,"b":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    assert_eq!(one(&nested(127), "a").as_deref(), Some("1"));
    assert!(extract(&nested(128), &["a"]).unwrap_err().contains("nested deeper than 128"));
    assert!(extract(&nested(1_000_000), &["a"]).is_err());
    let path = vec!["k"; 200].join(".");
    let objects = format!("{}1{}", r#"{"k":"#.repeat(200), "}".repeat(200));
    assert!(extract(&objects, &[&path]).unwrap_err().contains("nested"));
}

#[test]
fn names_are_the_paths_of_all_values_outside_arrays() {
    let line = br#"{"id":1,"user":{"n\u0061me":"x","tags":["y"],"a.b":null},"id":2,"e":{}}"#;
    assert_eq!(names(line), ["id", "user.name", "user.a.b"]);
    assert_eq!(names(br#"{"id":1,"x"#), ["id"]);
    assert!(names(b"[1]").is_empty());
    let many = (0..500).map(|i| format!(r#""k{i}":1"#)).collect::<Vec<_>>().join(",");
    assert_eq!(names(format!("{{{many}}}").as_bytes()).len(), 200);
}

/// JSON whose numbers are kept as they are written.
#[derive(Debug, Clone)]
enum Model {
    Scalar(String),
    Array(Vec<Model>),
    Object(Vec<(String, Model)>),
}

impl Model {
    fn write(&self, space: &str, out: &mut String) {
        match self {
            Model::Scalar(text) => out.push_str(text),
            Model::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    out.push_str(if i > 0 { "," } else { "" });
                    item.write(space, out);
                }
                out.push(']');
            }
            Model::Object(members) => {
                out.push('{');
                out.push_str(space);
                for (i, (key, value)) in members.iter().enumerate() {
                    out.push_str(if i > 0 { "," } else { "" });
                    out.push_str(&serde_json::to_string(key).unwrap());
                    out.push_str(space);
                    out.push(':');
                    out.push_str(space);
                    value.write(space, out);
                }
                out.push('}');
            }
        }
    }
}

fn scalars() -> impl Strategy<Value = Model> {
    prop_oneof![
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,2})?",
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
        "\"([a-z]|\\\\[\"\\\\/bfnrt]|\\\\u00[0-9a-fA-F]{2}|\\\\ud8[0-9a-f]{2}\\\\uDC[0-9A-F]{2}){0,12}\"",
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
    ]
    .prop_map(Model::Scalar)
}

/// Few different keys, so that paths meet them, meet dots in them, and meet them twice.
fn keys() -> impl Strategy<Value = String> {
    "[ab]?(\\.[ab]){0,2}|\"|\n|é"
}

fn objects() -> impl Strategy<Value = Model> {
    let values = scalars().prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Model::Array),
            prop::collection::vec((keys(), inner), 0..6).prop_map(Model::Object),
        ]
    });
    prop::collection::vec((keys(), values), 0..6).prop_map(Model::Object)
}

/// The value of a path by the rule, on a model in which the last of repeated keys counts.
fn look_up<'m>(members: &'m [(String, Model)], path: &str) -> Option<&'m Model> {
    let last = |key: &str| members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value);
    last(path).or_else(|| {
        path.rmatch_indices('.').find_map(|(dot, _)| match last(&path[..dot])? {
            Model::Object(inner) => look_up(inner, &path[dot + 1..]),
            _ => None,
        })
    })
}

/// Whether serde_json takes the line for an object, and gives the value of each top-level key.
fn valid(line: &str) -> Option<bool> {
    match serde_json::from_str::<Json>(line) {
        Ok(json) => Some(json.is_object()),
        // It cannot hold every number; we hold their text.
        Err(error) if error.to_string().starts_with("number out of range") => None,
        Err(_) => Some(false),
    }
}

proptest! {
    #[test]
    fn paths_lead_where_the_model_says(object in objects(), paths in prop::collection::vec(keys(), 1..5), space in "[ \t\r\n]{0,2}") {
        let mut line = String::new();
        object.write(&space, &mut line);
        let Model::Object(members) = &object else { unreachable!() };
        prop_assert_eq!(valid(&line), Some(true));

        let expected: Result<Vec<Option<String>>, ()> = paths
            .iter()
            .map(|path| match look_up(members, path) {
                None => Ok(None),
                Some(Model::Scalar(text)) => Ok(match serde_json::from_str(text).unwrap() {
                    Json::Null => None,
                    Json::String(text) => Some(text),
                    _ => Some(text.clone()),
                }),
                Some(_) => Err(()),
            })
            .collect();
        let got = extract(&line, &paths.iter().map(String::as_str).collect::<Vec<_>>());
        match (got, expected) {
            (Ok(got), Ok(expected)) => {
                let expected: Vec<_> = expected.into_iter().map(|text| text.map(String::into_bytes)).collect();
                prop_assert_eq!(got, expected);
            }
            (Err(message), Err(())) => prop_assert!(message.contains(" is an ")),
            (got, expected) => prop_assert!(false, "{:?} for {:?}", got, expected),
        }
    }

    #[test]
    fn a_changed_line_is_valid_where_serde_json_says_so(
        object in objects(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..3, prop::sample::select(
            "{}[]\":,\\u0dcDe.-+1tfn \t\n\u{1}é/".chars().collect::<Vec<_>>())), 0..4),
    ) {
        let mut line = String::new();
        object.write("", &mut line);
        let mut characters: Vec<char> = line.chars().collect();
        for (at, how, character) in changes {
            let at = at.index(characters.len() + 1);
            match how {
                0 => characters.insert(at, character),
                1 => characters.truncate(at),
                _ => characters.iter_mut().skip(at).take(1).for_each(|c| *c = character),
            }
        }
        let line: String = characters.into_iter().collect();
        fuzz_ndjson(line.as_bytes());
        if let Some(valid) = valid(&line) {
            let got = extract(&line, &["no such path"]);
            prop_assert_eq!(got.is_ok(), valid, "{:?}: {:?}", line, got);
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(line in prop::collection::vec(any::<u8>(), 0..60), head in "(\\{\"a)?") {
        fuzz_ndjson(&[head.as_bytes(), &line].concat());
    }
}
