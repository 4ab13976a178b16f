use proptest::prelude::*;

use super::*;

fn recipe(key: &[&str], null: Option<&str>) -> Recipe {
    Recipe {
        key: key.iter().map(|field| field.parse().unwrap()).collect(),
        group: None,
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
        let recipe = Recipe { key: vec![field], group: None, null: None };
        assert_eq!(Maker::new(&recipe).key(&[Some(b"abc")]).unwrap(), b"abc");
    }
}
