use proptest::prelude::*;

use super::*;

fn recipe(key: &[&str], null: Option<&str>) -> Recipe {
    Recipe {
        key: key.iter().map(|field| field.parse().unwrap()).collect(),
        group: None,
        weight: None,
        null: null.map(str::to_owned),
    }
}

fn key(recipe: &Recipe, parts: &[Option<&[u8]>]) -> Result<Vec<u8>, BadValue> {
    Maker::new(recipe).key(parts).map(<[u8]>::to_vec)
}

#[test]
fn steps_do_what_they_say_in_the_order_given() {
    for (steps, value, expected) in [
        ("trim", &b" \t a b\x0c\r\n"[..], &b"a b"[..]),
        ("trim", b"\x0ba\x0b", b"\x0ba\x0b"),
        ("lower", "ÀΣΑΣ".as_bytes(), "àσας".as_bytes()),
        ("lower", b"A\xffB", b"a\xffb"),
        ("upper", "straße".as_bytes(), b"STRASSE"),
        ("prefix=3", "añb\u{1f600}".as_bytes(), "añb".as_bytes()),
        ("prefix=2", b"a\xff\xfeb", b"a\xff"),
        ("suffix=2", b"a\xff\xfeb", b"\xfeb"),
        ("suffix=9", b"abc", b"abc"),
        ("before=@", b"ann@home@x", b"ann"),
        ("after=@", b"ann@home@x", b"x"),
        ("after=@", b"ann", b"ann"),
        ("trim,lower,before=@", b" Ann@Home ", b"ann"),
        ("round,prefix=1", b"12.5", b"1"),
    ] {
        let recipe = recipe(&[&format!("c:{steps}")], None);
        assert_eq!(key(&recipe, &[Some(value)]).as_deref(), Ok(expected), "{steps}");
    }
}

#[test]
fn what_is_missing_is_no_key_or_the_text_that_stands_for_it() {
    let missing: [Option<&[u8]>; 3] = [None, Some(b""), Some(b"\\N")];
    for value in missing {
        assert_eq!(key(&recipe(&["c:lower"], None), &[value]), Err(BadValue::Missing));
        // The text stands as it is: steps are for values, and `round` could not read it.
        for steps in ["", "lower", "round", "prefix=1"] {
            let recipe = recipe(&[&format!("c:{steps}")], Some("None"));
            assert_eq!(key(&recipe, &[value]).as_deref(), Ok(&b"None"[..]), "{steps}");
        }
    }
    // A value of which nothing is left is missing, too.
    assert_eq!(key(&recipe(&["c:trim"], None), &[Some(b"  ")]), Err(BadValue::Missing));
    assert_eq!(key(&recipe(&["c:trim,upper"], Some("none")), &[Some(b"  ")]).as_deref(), Ok(&b"none"[..]));
}

proptest! {
    #[test]
    fn compound_keys_are_equal_only_where_all_parts_are(a in "[ab]{1,3}", b in "[ab]{1,3}", c in "[ab]{1,3}", d in "[ab]{1,3}") {
        let recipe = recipe(&["x", "y"], None);
        let one = key(&recipe, &[Some(a.as_bytes()), Some(b.as_bytes())]).unwrap();
        let other = key(&recipe, &[Some(c.as_bytes()), Some(d.as_bytes())]).unwrap();
        prop_assert_eq!(one == other, (a, b) == (c, d));
    }
}

#[test]
fn the_parts_of_a_compound_key_have_their_length_before_them() {
    let recipe = recipe(&["x", "y"], None);
    assert_eq!(key(&recipe, &[Some(b"ab"), Some(b"c")]).as_deref(), Ok(&b"\x02\0\0\0ab\x01\0\0\0c"[..]));
    assert_eq!(key(&recipe, &[Some(b"ab")]), Err(BadValue::Parts { expected: 2, got: 1 }));
}

#[test]
fn a_recipe_that_no_command_line_could_give_is_refused() {
    for json in [
        r#"{"key":[]}"#,
        r#"{"key":[{"column":{"number":0}}]}"#,
        r#"{"key":[{"column":"line","steps":[{"before":""}]}]}"#,
        r#"{"key":[{"column":"line","steps":[{"after":""}]}]}"#,
        r#"{"key":[{"column":"line","steps":[{"prefix":0}]}]}"#,
        r#"{"key":[{"column":"line"}],"group":{"column":"line","steps":[{"suffix":0}]}}"#,
    ] {
        let recipe: Recipe = serde_json::from_str(json).unwrap();
        assert!(recipe.check().is_err(), "{json}");
    }
    assert!(Recipe::lines().check().is_ok());
}

/// A step or a setting that a later version might add would make other keys.
#[test]
fn what_is_not_known_in_a_recipe_is_refused() {
    for json in [
        r#"{"key":[{"column":"line"}],"normal":"nfc"}"#,
        r#"{"key":[{"column":"line","collation":"de"}]}"#,
        r#"{"key":[{"column":"line","steps":["reverse"]}]}"#,
        r#"{"key":[{"column":"row"}]}"#,
    ] {
        assert!(serde_json::from_str::<Recipe>(json).is_err(), "{json}");
    }
}

#[test]
fn a_field_that_is_shown_reads_back_as_itself() {
    for (text, shown) in [
        ("email:trim,lower", "email:trim,lower"),
        ("3:prefix=2", "3:prefix=2"),
        ("+3", "+3"), // a name, like 007
        ("007", "007"),
        ("", "(line)"),
        (":", "(line)"),
        (":before=@", "(line):before=@"),
        ("(line)", "(line)"),
        ("xml:lang:", "xml:lang:"),
        ("\"2024\"", "\"2024\""),
        ("\"7\":lower", "\"7\":lower"),
        ("\"x\"", "\"x\""),
        ("xml:lang:upper", "xml:lang:upper"),
        ("::", "::"),
    ] {
        let field: Field = text.parse().unwrap();
        assert_eq!(field.to_string(), shown, "{text}");
        assert_eq!(shown.parse::<Field>().unwrap(), field, "{text}");
    }
}

#[test]
fn a_step_with_an_empty_text_leaves_the_value_as_it_is() {
    for step in [Step::Before(String::new()), Step::After(String::new())] {
        let field = Field { column: Column::Line, steps: vec![step] };
        let recipe = Recipe { key: vec![field], group: None, weight: None, null: None };
        assert_eq!(Maker::new(&recipe).key(&[Some(b"abc")]).unwrap(), b"abc");
    }
}

/// The keywords of a record, as the recipe of these fields makes them.
fn record(fields: &[&str], null: Option<&str>, parts: &[Option<&str>]) -> Result<Vec<String>, BadValue> {
    let fields: Vec<Field> =
        fields.iter().map(|field| field.parse::<Field>().unwrap().of_keywords()).collect();
    let recipe = Recipe { key: fields, group: None, weight: None, null: null.map(str::to_owned) };
    recipe.check().unwrap();
    let parts: Vec<Option<&[u8]>> = parts.iter().map(|part| part.map(str::as_bytes)).collect();
    let bytes = key(&recipe, &parts)?;
    Ok(keywords_of(&bytes).map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}

#[test]
fn keywords_come_from_a_delimiter_words_a_list_or_several_columns() {
    for (field, cell, expected) in [
        ("c:split=,", "space, alien ,survival", &["space", "alien", "survival"][..]),
        ("c:split=,,upper", "a,,b, ,a", &["A", "B"]),
        ("c:split=, ", "a, b,c", &["a", "b,c"]),
        ("c:split=||,prefix=1", "xa||yb||xc", &["x", "y"]),
        ("c:split=:", "a:b", &["a", "b"]),
        ("c:lower,split=x", "aXb", &["a", "b"]),
        ("c:split=tab", "a b\tc", &["a b", "c"]),
        ("c:split=space", "a b", &["a", "b"]),
        ("c:split=;", "no delimiter, here", &["no delimiter, here"]),
        ("c:split=,,sort", "b,a,c,a", &["a", "b", "c"]),
        (
            "c:words",
            "Don't panic\u{2014}it\u{2019}s a caf\u{e9}!",
            &["Don", "t", "panic", "it", "s", "a", "caf\u{e9}"],
        ),
        ("c:words,lower,sort", "The the END", &["end", "the"]),
        (
            "c:json=name",
            r#"[{"id": 1, "name": "x"}, {"name": "y"}, {"name": null}, {"name": 7}]"#,
            &["x", "y", "7"],
        ),
        ("c:json", r#"["a", -3, "\u00e9", ""]"#, &["a", "-3", "\u{e9}"]),
        ("c", "just, this", &["just, this"]),
        ("c:trim,upper", " x ", &["X"]),
    ] {
        let expected: Vec<String> = expected.iter().map(|&word| word.to_owned()).collect();
        assert_eq!(record(&[field], None, &[Some(cell)]), Ok(expected), "{field}");
    }
    let several = record(&["a", "b:split=,", "c"], None, &[Some("x"), Some("y,x,z"), None]);
    assert_eq!(several, Ok(["x", "y", "z"].map(str::to_owned).to_vec()));
}

#[test]
fn a_record_without_keywords_is_none_unless_a_text_stands_for_it() {
    for cell in [None, Some(""), Some("\\N"), Some(" , ,")] {
        assert_eq!(record(&["c:split=,"], None, &[cell]), Err(BadValue::NoKeywords), "{cell:?}");
    }
    assert_eq!(record(&["c:json=name"], None, &[Some("[]")]), Err(BadValue::NoKeywords));
    assert_eq!(record(&["c:split=,"], Some("none"), &[None]), Ok(vec!["none".to_owned()]));
}

#[test]
fn a_cell_that_holds_no_list_is_named_with_its_column() {
    for (cell, why) in [
        ("[{\"name\": \"x\"}", "not a JSON list"),
        ("{\"name\": \"x\"}", "not a JSON list"),
        ("x", "not a JSON list"),
        ("[{'name': 'x'}]", "not a JSON list"),
        ("[{\"name\": \"x\"}, {\"id\": 1}]", "element 2 has no member \"name\""),
        ("[\"x\"]", "element 1 has no member \"name\""),
        ("[{\"name\": [1]}]", "element 1 is neither a string nor an integer"),
        ("[{\"name\": 1.5}]", "element 1 is neither"),
    ] {
        let error = record(&["tags:json=name"], None, &[Some(cell)]).unwrap_err().to_string();
        assert!(error.starts_with("column tags: ") && error.contains(why), "{cell}: {error}");
    }
}

#[test]
fn ten_thousand_keywords_make_one_record_and_repetitions_go() {
    let words: Vec<String> = (0..10_000).map(|i| format!("w{}", i % 7000)).collect();
    let made = record(&["c:split=,"], None, &[Some(&words.join(","))]).unwrap();
    assert_eq!(made, words[..7000]);
}

#[test]
fn fields_of_keywords_read_back_as_they_are_shown() {
    for text in [
        "c:split=,",
        "c:split=,,trim,lower,sort",
        "c:split=:",
        "c:lower,split=;,upper",
        "c:split=tab",
        "c:json=name,lower",
        "c:json",
        "c:words,sort",
        "xml:lang:split=,",
        "(line):split= | ",
        "c:whole,trim",
    ] {
        let field: Field = text.parse().unwrap();
        assert_eq!(field.to_string(), text);
        assert!(field.splitting().is_some());
    }
    for (text, why) in [
        ("c:split=", "split takes a text"),
        ("c:split=,,words", "leave out the others"),
        ("c:sort", "put split, words or json before it"),
        ("c:split=,,sort,lower", "last"),
        ("c:split=,,", "unknown step"),
    ] {
        let error = text.parse::<Field>().unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn a_recipe_of_keywords_that_no_command_line_could_give_is_refused() {
    for json in [
        r#"{"key":[{"column":"line","steps":[{"split":""}]}]}"#,
        r#"{"key":[{"column":"line","steps":["words","whole"]}]}"#,
        r#"{"key":[{"column":"line","steps":["sort"]}]}"#,
        r#"{"key":[{"column":"line","steps":["words","sort","lower"]}]}"#,
        r#"{"key":[{"column":{"name":"a"},"steps":["words"]},{"column":{"name":"b"}}]}"#,
        r#"{"key":[{"column":"line"}],"group":{"column":"line","steps":["words"]}}"#,
    ] {
        let recipe: Recipe = serde_json::from_str(json).unwrap();
        assert!(recipe.check().is_err(), "{json}");
    }
}

proptest! {
    #[test]
    fn any_bytes_give_some_list_of_keywords(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        prop_assert!(keywords_of(&bytes).map(|word| word.len() + 4).sum::<usize>() <= bytes.len());
    }

    #[test]
    fn sorted_records_do_not_depend_on_the_order(mut words in prop::collection::vec("[a-c]{1,2}", 1..40)) {
        let made = |words: &[String]| record(&["c:split=,,sort"], None, &[Some(&words.join(","))]);
        let before = made(&words);
        words.reverse();
        prop_assert_eq!(made(&words), before);
    }
}

#[test]
fn a_weight_is_a_whole_number_however_floats_are_written() {
    let recipe = Recipe { weight: Some("bytes".parse().unwrap()), ..Recipe::lines() };
    let mut maker = Maker::new(&recipe);
    let mut weight = |text: &str| maker.weight(Some(text.as_bytes())).ok();
    assert_eq!((weight("19244975.0"), weight("7.000"), weight("0.0")), (Some(19_244_975), Some(7), Some(0)));
    for text in ["1.5", "1.", ".0", "1.0.0", "-1.0", "1e3", "1.00x"] {
        assert_eq!(weight(text), None, "{text}");
    }
}
