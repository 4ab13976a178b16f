use proptest::prelude::*;

use super::*;
use crate::error::{RecipeFault, StepOrder};

fn recipe(key: &[&str], null: Option<&str>) -> Recipe {
    Recipe {
        key: key.iter().map(|field| field.parse().unwrap()).collect(),
        null: null.map(str::to_owned),
        ..Recipe::lines()
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
        ("\"x\"", "x"),
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
        let recipe = Recipe { key: vec![field], ..Recipe::lines() };
        assert_eq!(Maker::new(&recipe).key(&[Some(b"abc")]).unwrap(), b"abc");
    }
}

/// The keywords of a record, as the recipe of these fields makes them.
fn record(fields: &[&str], null: Option<&str>, parts: &[Option<&str>]) -> Result<Vec<String>, BadValue> {
    let fields: Vec<Field> =
        fields.iter().map(|field| field.parse::<Field>().unwrap().of_keywords()).collect();
    let recipe =
        Recipe { key: fields, group: None, weight: None, null: null.map(str::to_owned), ..Recipe::lines() };
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

/// What a column with these steps makes of a value.
fn made(field: &str, value: &str) -> Result<String, BadValue> {
    let recipe = recipe(&[field], None);
    key(&recipe, &[Some(value.as_bytes())]).map(|key| String::from_utf8(key).unwrap())
}

#[test]
fn the_first_and_the_last_match_can_be_chosen() {
    for (steps, expected) in [
        ("before=/", "a"),
        ("before-last=/", "a/b"),
        ("after=/", "c"),
        ("after-first=/", "b/c"),
        ("extract=[a-z]", "a"),
        ("extract-last=[a-z]", "c"),
        ("extract=(b)/c", "b"),
        ("extract-last=([a-z])/", "b"),
    ] {
        assert_eq!(made(&format!("x:{steps}"), "a/b/c").as_deref(), Ok(expected), "{steps}");
    }
    assert_eq!(made("x:before-last=@", "a").as_deref(), Ok("a"));
    assert_eq!(made("x:after-first=@", "a").as_deref(), Ok("a"));
}

#[test]
fn a_pattern_that_finds_nothing_leaves_no_value() {
    let nothing = made("agent:extract=\"bot/([0-9]+)\"", "Mozilla/5.0").unwrap_err();
    assert_eq!(nothing.to_string(), "extract=bot/([0-9]+) finds nothing in \"Mozilla/5.0\"");
    let with_null = recipe(&["agent:extract=bot"], Some("none"));
    assert_eq!(key(&with_null, &[Some(b"Mozilla")]).as_deref(), Ok(&b"none"[..]));
    assert_eq!(&*with_null.key_of_value(b"Mozilla").unwrap(), b"none");
    // A group that takes no part in the match captures nothing.
    assert!(made("x:extract=a|(b)", "a").is_err());
}

/// Patterns that other engines need exponential or quadratic time for.
const SLOW_ELSEWHERE: [&str; 7] =
    ["(?:a+)+$", "(?:a|aa)+b", "(?:a*)*b", "(?:.*)*x(?:.*)*y", "a.*b|a", "(a)(?:.*b)?", "(?:a?){30}a{30}"];

#[test]
fn no_pattern_is_slow_on_a_long_value() {
    let long = "a".repeat(1 << 20);
    for pattern in SLOW_ELSEWHERE {
        for step in ["extract", "extract-last"] {
            let made = made(&format!("x:{step}=\"{pattern}\""), &long);
            let refused = matches!(made, Err(BadValue::ManyMatches { length: 1_048_576, .. }));
            assert!(!refused || step == "extract-last", "{pattern}");
        }
    }
    assert!(made("x:extract-last=\"a.*b|a\"", &long).is_err());
    // Few matches may stand anywhere, and many in a value of a usual length.
    let ends = "a".to_owned() + &" ".repeat(1 << 20) + "b";
    assert_eq!(made("x:extract-last=[a-z]", &ends).as_deref(), Ok("b"));
    assert_eq!(made("x:extract-last=[a-z]", &"az".repeat(8 << 10)).as_deref(), Ok("z"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nested_repetitions_end_on_any_long_value(
        pattern in "(\\(\\?:[ab.][*+?]?[ab]?[*+]?\\)[*+]){1,4}[ab$]?",
        part in "[ab]{1,8}",
        end in "[abc]{0,3}",
    ) {
        let value = part.repeat((256 << 10) / part.len()) + &end;
        // One that took exponential time would not come back.
        let _ = made(&format!("x:extract=\"{pattern}\""), &value);
        let _ = made(&format!("x:extract-last=\"{pattern}\""), &value);
    }
}

#[test]
fn texts_in_quotes_hold_any_character() {
    for (field, column, steps) in [
        (r#"x:before=",",lower"#, "x", &[r#"before=",""#, "lower"][..]),
        (r#"x:after=":",trim"#, "x", &[r#"after=":""#, "trim"]),
        (r#"x:before="a""b""#, "x", &[r#"before=a"b"#]),
        (r#"x:extract="^id=(\d{1,3}):\s""#, "x", &[r#"extract="^id=(\d{1,3}):\s""#]),
        (r#"x:split=", ",lower"#, "x", &["split=, ", "lower"]),
        ("x:split=,", "x", &["split=,"]),
        ("x:lower,extract=(?:a:b)+", "x", &["lower", r#"extract="(?:a:b)+""#]),
        ("x:extract-last=a:b,upper", "x", &[r#"extract-last="a:b""#, "upper"]),
        (r#""x:split=y":lower"#, "x:split=y", &["lower"]),
        (r#""x:extract=y""#, "x:extract=y", &[]),
        ("x:re-extract=y:", "x:re-extract=y", &[]),
        ("x:split=::,lower", "x", &["split=::", "lower"]),
        (r#""xml:lang":lower"#, "xml:lang", &["lower"]),
        (r#""xml:lang""#, "xml:lang", &[]),
        ("xml:lang:", "xml:lang", &[]),
        (r#""7":trim"#, "7", &["trim"]),
        (r#""(file)""#, "(file)", &[]),
        (r#""a ""b""""#, r#"a "b""#, &[]),
    ] {
        let read: Field = field.parse().unwrap();
        assert_eq!(read.column, Column::Name(column.into()), "{field}");
        let shown: Vec<String> = read.steps.iter().map(Step::to_string).collect();
        assert_eq!(shown, steps, "{field}");
        assert_eq!(read.to_string().parse::<Field>().unwrap(), read, "{field} is shown as {read}");
    }
    for (field, why) in [
        (r#"x:before="a"#, "is not closed"),
        (r#"x:before="a"b"#, "follows a closing quote"),
        (r#""x"y"#, "follows a closing quote"),
        ("x:extract=(", "is not a regular expression: unclosed group, at character 1"),
        ("x:extract=  é[b", "is not a regular expression: unclosed character class, at character 4"),
        ("x:extract=a\n(", "is not a regular expression: unclosed group"),
        ("x:extract=", "takes a regular expression"),
        ("x:extract=(a)(b)", "has 2 groups"),
        ("x:cidr", "cidr=24"),
        ("x:cidr=33", "cidr=24"),
        ("x:cidr=24/129", "cidr=24"),
        ("x:ip=4", "takes no argument"),
        ("x:domain=de", "digest of a suffix list"),
    ] {
        let refused = field.parse::<Field>().unwrap_err().to_string();
        assert!(refused.contains(why), "{field}: {refused}");
    }
}

proptest! {
    #[test]
    fn every_field_is_read_as_it_is_shown(name in "[ab:,=\"().*7]{0,6}", text in "[ab:,=\"]{1,5}", steps in prop::collection::vec(0..6usize, 0..4)) {
        let step = |i: &usize| match i {
            0 => Step::Before(text.clone()),
            1 => Step::AfterFirst(text.clone()),
            2 => Step::Lower,
            3 => Step::Prefix(3),
            4 => Step::Cidr(Network { v4: None, v6: Some(48) }),
            _ => Step::Extract(Pattern::new(&text).unwrap()),
        };
        let mut steps: Vec<Step> = steps.iter().map(step).collect();
        if text.len() % 2 == 0 {
            steps.push(Step::Split(text.clone()));
        }
        let field = Field { column: Column::Name(name), steps };
        prop_assert_eq!(field.to_string().parse::<Field>().unwrap(), field);
    }
}

#[test]
fn addresses_have_one_text_and_networks() {
    for (steps, value, expected) in [
        ("ip", "192.0.2.7", "192.0.2.7"),
        ("ip", " 2001:DB8:0:0::1 ", "2001:db8::1"),
        ("ip", "::ffff:192.0.2.7", "192.0.2.7"),
        ("cidr=24", "192.0.2.7", "192.0.2.0/24"),
        ("cidr=0", "192.0.2.7", "0.0.0.0/0"),
        ("cidr=32", "192.0.2.7", "192.0.2.7/32"),
        ("cidr=24/48", "2001:db8:1:2::3", "2001:db8:1::/48"),
        ("cidr=/128", "::1", "::1/128"),
        ("cidr=/0", "::1", "::/0"),
    ] {
        assert_eq!(made(&format!("x:{steps}"), value).as_deref(), Ok(expected), "{steps} {value}");
    }
    for value in ["192.0.2", "192.0.2.07", "192.0.2.7:80", "example.org", "fe80::1%eth0", "\u{661}.1.1.1"] {
        assert_eq!(made("x:ip", value), Err(BadValue::NotAnAddress(value.into())));
    }
    assert_eq!(made("x:cidr=24", "::1"), Err(BadValue::NoNetwork("::1".into())));
    assert_eq!(made("x:cidr=/48", "192.0.2.7"), Err(BadValue::NoNetwork("192.0.2.7".into())));
}

#[test]
fn a_host_has_the_registrable_domain_of_the_list() {
    for (host, expected) in [
        ("www.example.com", "example.com"),
        ("WWW.Example.COM.", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("example.co.uk", "example.co.uk"),
        ("x.y.foo.ck", "y.foo.ck"),
        ("www.ck", "www.ck"),
        ("a.www.ck", "www.ck"),
        ("a.city.kobe.jp", "city.kobe.jp"),
        ("a.b.c.kobe.jp", "b.c.kobe.jp"),
        ("me.github.io", "me.github.io"),
        ("a.example.unheardof", "example.unheardof"),
        ("www.食狮.公司.cn", "食狮.公司.cn"),
        ("www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
    ] {
        assert_eq!(made("x:domain", host).as_deref(), Ok(expected), "{host}");
    }
    for host in ["com", "co.uk", "localhost", "192.0.2.7", "::1", "a..com", ".com", "foo.ck", "github.io"] {
        let nothing = made("x:domain", host).unwrap_err().to_string();
        assert_eq!(nothing, format!("domain finds nothing in {host:?}"));
    }
}

/// Files name lists by their digests: they are what they are for good.
#[test]
fn released_lists_stay_what_they_are() {
    assert_eq!(SuffixList::newest().to_string(), "0f4959b3101f54cf");
    let list = SuffixList::read("// a list of our own\ncom\n\nexample.com  and more\n");
    assert_eq!(list, SuffixList::read("example.com\ncom\nCOM"));
    let field = Field { column: Column::Line, steps: vec![Step::Domain(list)] };
    let recipe = Recipe { key: vec![field], ..Recipe::lines() };
    assert_eq!(key(&recipe, &[Some(b"a.b.example.com")]).as_deref(), Ok(&b"b.example.com"[..]));
    assert!(SuffixList::is_one("// a list\ncom\n*.ck\n!www.ck\n"));
    for other in ["", "// nothing\n", "<html>\n", "203.0.113.7 - - [10/Oct/2025]\n"] {
        assert!(!SuffixList::is_one(other), "{other}");
    }
    let unknown: Recipe =
        serde_json::from_str(r#"{"key":[{"column":"line","steps":[{"domain":"0123456789abcdef"}]}]}"#)
            .unwrap();
    assert!(unknown.check().is_ok(), "who makes no keys needs no list");
    let refused = unknown.makes_keys().unwrap_err().to_string();
    assert!(refused.contains("0123456789abcdef") && refused.contains("as a file"), "{refused}");
}

#[test]
fn letters_with_accents_have_one_normal_form() {
    assert_eq!(made("x:nfc", "e\u{301}").as_deref(), Ok("é"));
    assert_eq!(made("x:nfc", "é").as_deref(), Ok("é"));
    assert_eq!(made("x:nfc", "\u{1100}\u{1161}").as_deref(), Ok("가"));
    assert_eq!(made("x:nfc", "a\u{378}"), Err(BadValue::Unassigned('\u{378}')));
    let broken = key(&recipe(&["x:nfc"], None), &[Some(b"e\xcc\x81\xff")]);
    assert_eq!(
        broken,
        Err(BadValue::NotUtf8("e\u{301}\u{fffd}".into())),
        "not UTF-8: no form is the normal one"
    );
    let later = r#"{"column":"line","steps":[{"nfc":"99.0"}]}"#;
    assert!(serde_json::from_str::<Field>(later).unwrap_err().to_string().contains("99.0"));
}

/// The forms that files have, of version 2 and 1.
#[test]
fn a_recipe_says_which_version_of_the_format_it_needs() {
    for (field, json, version) in [
        ("x:trim", r#"{"column":{"name":"x"},"steps":["trim"]}"#, 1),
        ("(file)", r#"{"column":"file"}"#, 2),
        ("x:extract=a", r#"{"column":{"name":"x"},"steps":[{"extract":"a"}]}"#, 2),
        ("x:extract-last=a", r#"{"column":{"name":"x"},"steps":[{"extract-last":"a"}]}"#, 2),
        ("x:before-last=a", r#"{"column":{"name":"x"},"steps":[{"before-last":"a"}]}"#, 2),
        ("x:after-first=a", r#"{"column":{"name":"x"},"steps":[{"after-first":"a"}]}"#, 2),
        ("x:ip", r#"{"column":{"name":"x"},"steps":["ip"]}"#, 2),
        ("x:cidr=24", r#"{"column":{"name":"x"},"steps":[{"cidr":{"v4":24}}]}"#, 2),
        ("x:cidr=24/48", r#"{"column":{"name":"x"},"steps":[{"cidr":{"v4":24,"v6":48}}]}"#, 2),
        ("x:nfc", r#"{"column":{"name":"x"},"steps":[{"nfc":"18.0"}]}"#, 2),
    ] {
        let recipe = recipe(&[field], None);
        assert_eq!(serde_json::to_string(&recipe.key[0]).unwrap(), json);
        assert_eq!(serde_json::from_str::<Field>(json).unwrap(), recipe.key[0]);
        assert_eq!(recipe.version(), version, "{field}");
    }
    for json in [
        r#"{"key":[{"column":"line","steps":[{"cidr":{}}]}]}"#,
        r#"{"key":[{"column":"line","steps":[{"cidr":{"v4":33}}]}]}"#,
        r#"{"key":[{"column":"line","steps":[{"before-last":""}]}]}"#,
        r#"{"key":[{"column":"line","steps":[{"extract":""}]}]}"#,
    ] {
        assert!(serde_json::from_str::<Recipe>(json).unwrap().check().is_err(), "{json}");
    }
    for json in [
        r#"{"column":"line","steps":[{"extract":"("}]}"#,
        r#"{"column":"line","steps":[{"extract":"((a{999}){999})"}]}"#,
    ] {
        let key = vec![serde_json::from_str::<Field>(json).unwrap()];
        assert!(Recipe { key, ..Recipe::lines() }.check().is_err(), "{json}");
    }
    // A file does not make whoever opens it compile thousands of them.
    let many = vec![Step::Extract(Pattern::new("a").unwrap()); 17];
    let key = vec![Field { column: Column::Line, steps: many }];
    assert!(Recipe { key, ..Recipe::lines() }.check().is_err());
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

#[test]
fn words_are_dropped_stemmed_and_counted_in_the_order_of_the_steps() {
    let text = Some("The Aliens came; the alien's SHIP was shipped by aliens, on a ship of 3.");
    let words = |field: &str| record(&[field], None, &[text]).unwrap();
    assert_eq!(words(":words,stop=en,min=3,stem=en"), ["alien", "came", "ship"]);
    assert_eq!(words(":words,stop=en,min=3,stem=en,top=1"), ["alien"]);
    // Equally often: those that occur first, in the order in which they occur.
    assert_eq!(words(":words,stop=en,stem=en,top=2"), ["alien", "ship"]);
    assert_eq!(words(":words,stop=en,stem=en,top=3,sort"), ["alien", "came", "ship"]);
    assert_eq!(words(":words,stop=en,top=99")[..2], ["Aliens", "came"]);
    // A keyword that was dropped is not seen by later steps: `round` could not read it.
    assert_eq!(record(&[":words,min=2,round"], None, &[Some("a 12 b 7")]).unwrap(), ["12"]);
    assert_eq!(record(&[":words,min=2"], None, &[Some("é éé")]).unwrap(), ["éé"]);
    assert_eq!(record(&[":words,stop=en"], None, &[Some("The and of")]), Err(BadValue::NoKeywords));
}

#[test]
fn steps_of_keywords_stand_after_the_step_that_makes_them() {
    for (field, fault) in [
        ("a:stop=en,words", StepOrder::NoKeywords),
        ("a:min=3", StepOrder::NoKeywords),
        ("a:stem=en", StepOrder::NoKeywords),
        ("a:top=3", StepOrder::NoKeywords),
        ("a:words,top=3,lower", StepOrder::AfterTop),
        ("a:words,top=3,top=2", StepOrder::AfterTop),
        ("a:words,sort,top=3", StepOrder::AfterSort),
    ] {
        assert!(
            matches!(field.parse::<Field>(), Err(Error::Recipe(RecipeFault::Order(found))) if found == fault),
            "{field}"
        );
    }
    for field in ["a:words,stop=fr", "a:words,stop", "a:words,min=0", "a:words,top=x", "a:words,stem=de"] {
        assert!(field.parse::<Field>().is_err(), "{field}");
    }
    let field: Field = "a:words,stop=en,min=3,stem=en,top=9,sort".parse().unwrap();
    assert_eq!(field.to_string(), "a:words,stop=en,min=3,stem=en,top=9,sort");
    let json = serde_json::to_string(&field.steps).unwrap();
    let expected =
        r#"["words",{"stop":"0ba50e8f3d76eae9"},{"min":3},{"stem":"2f634cbe331d8dac"},{"top":9},"sort"]"#;
    assert_eq!(json, expected);
    assert_eq!(serde_json::from_str::<Vec<Step>>(&json).unwrap(), field.steps);
}

#[test]
fn a_list_or_a_stemmer_that_is_not_here_makes_no_keys() {
    for step in [r#"{"stop":"0000000000000001"}"#, r#"{"stem":"0000000000000001"}"#] {
        let json = format!(r#"{{"key":[{{"column":"line","steps":["words",{step}]}}]}}"#);
        let recipe: Recipe = serde_json::from_str(&json).unwrap();
        assert!(recipe.check().is_ok() && recipe.makes_keys().is_err(), "{step}");
        assert_eq!(serde_json::to_string(&recipe).unwrap(), json);
    }
}

#[test]
fn files_are_records_and_keywords_are_keys_where_the_recipe_says_so() {
    let json = r#"{"key":[{"column":"line","steps":["words"]}],"group":{"column":"file"},"record":{"file":"by-name"},"keywords":"each"}"#;
    let recipe: Recipe = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&recipe).unwrap(), json);
    assert!(recipe.check().is_ok());
    assert_eq!(recipe.version(), 2);
    assert_eq!(recipe.columns(), [Column::Text(TextRule::ByName), Column::File]);
    let mut maker = Maker::new(&recipe);
    assert_eq!(maker.key(&[Some(b"space")]), Ok(&b"space"[..]));
    assert_eq!(maker.key(&[Some(b"space alien")]), Err(BadValue::SeveralKeywords(2)));
    assert!(keywords_of(maker.record(&[Some(b"space alien")]).unwrap()).eq([&b"space"[..], b"alien"]));
    assert_eq!(*recipe.key_of_text(b"space").unwrap(), *b"space");
    for (impossible, why) in [
        (json.replace(r#","steps":["words"]"#, ""), "no step makes keywords"),
        (json.replace("\"line\"", r#"{"name":"a"}"#), "has no column a"),
    ] {
        let recipe: Recipe = serde_json::from_str(&impossible).unwrap();
        assert!(recipe.check().unwrap_err().to_string().contains(why), "{why}");
    }
    assert!(serde_json::from_str::<Recipe>(&json.replace("by-name", "by-look")).is_err());
    assert!(serde_json::from_str::<Column>(r#"{"text":"html"}"#).is_err(), "only a record has it");
}

#[test]
fn of_keywords_that_are_asked_for_none_is_left_out_because_others_occur_more_often() {
    let each = Recipe { keywords: Some(Keywords::Each), ..recipe(&[":words,top=1"], None) };
    assert_eq!(each.key_of_cells(b"rose"), Ok(b"rose".to_vec()));
    assert_eq!(each.key_of_cells(b"rose rose ship"), Err(BadValue::SeveralKeywords(2)));
    assert!(keywords_of(Maker::new(&each).record(&[Some(b"ship rose rose")]).unwrap()).eq([b"rose"]));
    assert_eq!(each.most_keywords(), Some(1));
    let all = each.with_all_keywords();
    assert_eq!(all.most_keywords(), None);
    assert!(keywords_of(Maker::new(&all).record(&[Some(b"ship rose rose")]).unwrap()).eq([b"ship", b"rose"]));
}

#[test]
fn a_column_that_is_read_as_json_may_hold_a_list() {
    let recipe = recipe(&["a:json", "b:trim,json=name", "c:whole", "2:json"], None);
    let columns = recipe.columns();
    assert_eq!(columns[..2], [Column::List("a".into()), Column::List("b".into())]);
    assert_eq!(columns[2..], [Column::Name("c".into()), Column::Number(2)]);
    assert_eq!(columns[0].to_string(), "a");
    assert!(serde_json::from_str::<Column>(r#"{"list":"a"}"#).is_err(), "only a reader has it");
}

#[test]
fn a_question_is_made_of_words_as_a_record_is_and_tells_what_was_dropped() {
    let recipe = recipe(&[":words,stop=en,min=3,stem=en,top=1"], None);
    let asked = recipe.asked_keywords(b"The Space, of aliens: 42").unwrap();
    let asked: Vec<(&str, Option<&str>)> = asked
        .iter()
        .map(|(word, key)| {
            (
                core::str::from_utf8(word).unwrap(),
                key.as_deref().map(|key| core::str::from_utf8(key).unwrap()),
            )
        })
        .collect();
    assert_eq!(
        asked,
        [("The", None), ("Space", Some("space")), ("of", None), ("aliens", Some("alien")), ("42", None)]
    );
}
