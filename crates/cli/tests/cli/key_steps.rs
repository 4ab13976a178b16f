//! The steps that make keys of values: a key is found however it is spelled, by all verbs.

use std::fs;

use crate::support::Folder;

/// A field, rows, other spellings of keys that are there, and what is not.
type Case = (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

const CASES: [Case; 12] = [
    ("v:ip", &["192.0.2.7", "2001:db8::1"], &["::ffff:192.0.2.7", "2001:0DB8:0::0:1"], &["192.0.2.8"]),
    ("v:cidr=24", &["192.0.2.7"], &["192.0.2.200", "192.0.2.0"], &["192.0.3.7"]),
    ("v:cidr=24/48", &["2001:db8:0:1::1", "192.0.2.7"], &["2001:db8::ffff", "192.0.2.1"], &["2001:db8:1::1"]),
    (
        "v:domain",
        &["a.b.Example.co.uk", "shop.example.org"],
        &["example.co.uk", "x.example.org."],
        &["co.example.uk"],
    ),
    ("v:nfc", &["caf\u{e9}"], &["cafe\u{301}"], &["cafe"]),
    ("v:extract=bot/([0-9]+)", &["x bot/7 bot/8"], &["bot/7"], &["bot/8"]),
    ("v:extract-last=bot/([0-9]+)", &["x bot/7 bot/8"], &["bot/8"], &["bot/7"]),
    ("v:extract=\"^([^,]+),\"", &["ann,1"], &["ann,2"], &["bob,1"]),
    ("v:before-last=.", &["a.b.gz"], &["a.b.zip"], &["a.c.gz", "a.b"]),
    ("v:after-first=//,before=/,lower", &["https://X.org/a//b"], &["http://x.ORG/c"], &["http://y.org/a"]),
    ("v:before=\":\",trim", &["ann : 1"], &["ann:2"], &["bob:1"]),
    ("v:before=\"a\"\"b\"", &["xa\"by"], &["xa\"bz"], &["ya\"b"]),
];

/// Rows as NDJSON, in which a value may have any character.
fn rows(values: &[&str]) -> String {
    values.iter().map(|value| serde_json::json!({ "v": value }).to_string() + "\n").collect()
}

#[test]
fn a_key_is_found_however_it_is_spelled() {
    for (field, values, others, not) in CASES {
        let folder = Folder::new();
        folder.write("in.ndjson", rows(values));
        folder
            .run_words(&["build", "in.ndjson", "--key", field, "--fpr", "1e-9", "-o", "f.tamis"], "")
            .succeeded(field);
        for value in values.iter().chain(others) {
            let done = folder.run_words(&["query", "f.tamis", "--", value], "");
            assert_eq!(done.code, 0, "{field} {value}: {}{}", done.out, done.err);
        }
        for value in not {
            let done = folder.run_words(&["query", "f.tamis", "--", value], "");
            assert_eq!(done.code, 1, "{field} {value}: {}{}", done.out, done.err);
        }
        // Rows are asked as keys are, and what the recipe shows can be given again.
        let asked: Vec<&str> = values.iter().chain(others).chain(not).copied().collect();
        folder.write("ask.ndjson", rows(&asked));
        let passed = folder.ok("filter f.tamis ask.ndjson");
        assert_eq!(passed, rows(&asked[..values.len() + others.len()]), "{field}");
        let json = folder.json("inspect f.tamis");
        assert_eq!(json["format_version"], if field.contains("before=\"") { 1 } else { 2 }, "{field}");
        folder.ok("build in.ndjson --like f.tamis -o again.tamis");
        assert!(folder.read("f.tamis") == folder.read("again.tamis"), "{field}");
    }
}

#[test]
fn a_value_of_which_a_step_makes_nothing_is_a_bad_row() {
    let folder = Folder::new();
    for (field, good, bad, why) in [
        ("1:ip", "192.0.2.7", "192.0.2.07", "is not an internet address"),
        ("1:cidr=24", "192.0.2.7", "2001:db8::1", "2001:db8::1 belongs to no network here"),
        ("1:domain", "x.org", "org", "domain finds nothing in \\\"org\\\""),
        ("1:domain", "x.org", "192.0.2.7", "domain finds nothing"),
        ("1:extract=[0-9]+", "a1", "abc", "extract=[0-9]+ finds nothing in"),
        ("1:nfc", "é", "\u{378}", "U+0378 is not assigned"),
    ] {
        folder.write("in.txt", format!("{good}\n{bad}\n"));
        let build = ["build", "in.txt", "--format", "lines", "--key", field, "-o", "f.tamis"];
        let why = why.replace("\\\"", "\"");
        folder.run_words(&build, "").refused(field, 1, &["in.txt", "line 2", &why, "--bad-rows skip"]);
        let mut skipping = build.to_vec();
        skipping.extend(["--bad-rows", "skip"]);
        let done = folder.run_words(&skipping, "");
        assert!(done.code == 0 && done.err.contains("left out 1 bad row"), "{field}: {}", done.err);
        assert_eq!(folder.run_words(&["query", "f.tamis", good], "").code, 0, "{field}");
        let asked = folder.run_words(&["query", "f.tamis", bad], "");
        assert!(asked.code == 2 && asked.err.contains(&why), "{field}: {}", asked.err);
    }
    // What stands for a missing value stands for what is not found, too.
    folder.write("in.txt", "a1\nabc\n");
    folder.ok("build in.txt --format lines --key 1:extract=[0-9]+ --null none -o f.tamis");
    assert_eq!(folder.run("query f.tamis xyz").code, 0);
}

#[test]
fn steps_that_cannot_be_are_refused_with_what_would_do() {
    let folder = Folder::new();
    folder.write("in.txt", "x\n");
    for (field, says) in [
        ("1:extract=a(b", &["\"a(b\" is not a regular expression", "unclosed group", "character 2"][..]),
        ("1:extract=[z-a]", &["invalid character class range", "character 2"]),
        ("1:extract=(a)(b)", &["2 groups", "(?:"]),
        ("1:extract=(a{999}){999}{99}", &["not a regular expression", "size limit"]),
        ("1:extract", &["takes a regular expression"]),
        ("1:cidr=33", &["cidr=24"]),
        ("1:cidr=24/129", &["cidr=24/48"]),
        ("1:cidr", &["cidr=24"]),
        ("1:ip=4", &["takes no argument"]),
        ("1:domain=org", &["digest of a suffix list"]),
        ("1:before=\"a", &["not closed", "stands for one quote"]),
        ("1:before=\"a\"b", &["follows a closing quote"]),
        ("1:nfd", &["unknown step \"nfd\"", "nfc", "extract=REGEX", "cidr=N"]),
    ] {
        let done = folder.run_words(&["build", "in.txt", "--key", field, "-o", "f.tamis"], "");
        assert_eq!(done.code, 2, "{field}: {}", done.err);
        says.iter().for_each(|text| assert!(done.err.contains(text), "{field}: {text:?} in {}", done.err));
    }
    folder.is_clean();
}

#[test]
fn another_suffix_list_is_recorded_and_asked_for() {
    let folder = Folder::new();
    folder.write("list.txt", "// ours\ntest\nlan.test\n");
    folder.write("hosts.txt", "a.b.lan.test\nc.test\n");
    folder.ok("build hosts.txt --format lines --key 1:domain --suffix-list list.txt -o f.tamis");
    let with = |line: &str| folder.run(&format!("{line} --suffix-list list.txt"));
    assert_eq!(with("query f.tamis x.y.b.lan.test").out, "x.y.b.lan.test\tyes\n");
    assert_eq!(with("query f.tamis lan.test").code, 2);
    assert_eq!(folder.run("--suffix-list=list.txt query f.tamis b.lan.test").code, 0);
    let shown = with("inspect f.tamis").succeeded("inspect");
    let digest =
        shown.split("domain=").nth(1).expect(&shown).split([',', ')', ';']).next().unwrap().trim().to_owned();
    assert_eq!(digest.len(), 16, "{shown}");
    // Without it, nothing is asked, added or shown: what the list was, and what to do.
    for line in ["query f.tamis b.lan.test", "filter f.tamis hosts.txt", "add f.tamis hosts.txt"] {
        let code = if line.starts_with("query") { 2 } else { 1 };
        folder.refused(line, code, &["f.tamis", &digest, "--suffix-list"]);
    }
    // What makes no keys needs no list.
    assert!(folder.ok("inspect f.tamis").contains(&digest));
    for line in ["verify f.tamis", "merge f.tamis f.tamis -o both.tamis", "compare f.tamis f.tamis"] {
        folder.ok(line);
    }
    // Another order and other comments make the same list; other rules do not.
    folder.write("list.txt", "lan.test\n\ntest // a comment\n// end\n");
    assert_eq!(with("query f.tamis b.lan.test").code, 0);
    folder.write("list.txt", "test\n");
    let done = with("query f.tamis b.lan.test");
    done.refused("another list", 2, &[&digest]);
    folder.refused("query f.tamis x --suffix-list none.txt", 2, &["none.txt"]);
    folder.write("binary.txt", [0xff, 0xfe]);
    folder.refused("query f.tamis x --suffix-list binary.txt", 2, &["binary.txt"]);
    // The list in the program needs no file, and is found beside another.
    folder.write("list.txt", "lan.test\ntest\n");
    folder.write("www.txt", "www.example.co.uk\n");
    folder.ok("build www.txt --format lines --key 1:domain -o w.tamis");
    assert_eq!(folder.run("query w.tamis a.example.co.uk").code, 0);
    assert_eq!(with("query w.tamis a.example.co.uk").code, 0);
}

#[test]
fn the_other_side_may_have_steps_of_its_own() {
    let folder = Folder::new();
    folder.write("block.txt", "example.org\nexample.co.uk\n");
    folder.ok("build block.txt --fpr 1e-9 -o b.tamis");
    folder.write(
        "visits.csv",
        "url\nhttps://www.example.org/x\nhttp://example.com/\nhttps://a.b.example.co.uk/?q\n",
    );
    let key = "url:after-first=//,before=/,domain";
    let done = folder.run_words(&["filter", "b.tamis", "visits.csv", "--key", key], "");
    assert_eq!(done.out, "url\nhttps://www.example.org/x\nhttps://a.b.example.co.uk/?q\n", "{}", done.err);
    assert!(done.err.contains("other steps than the file"), "{}", done.err);
    // What is put into a file has its own steps, always.
    folder.refused("add b.tamis visits.csv --key url:lower", 2, &["stored steps"]);
    folder.refused("test b.tamis visits.csv --key url:lower", 2, &["stored steps"]);
    folder.refused("filter b.tamis visits.csv --key url:words", 2, &["steps"]);
}

#[test]
fn a_long_value_is_no_trouble() {
    let folder = Folder::new();
    let long = "a".repeat(1 << 20);
    folder.write("long.txt", format!("{long}b\n{long}\n"));
    let build = |key: &str| {
        folder.run_words(
            &["build", "long.txt", "--format", "lines", "--key", key, "--bad-rows", "skip", "-o", "f.tamis"],
            "",
        )
    };
    for key in ["1:extract=(?:a+)+$", "1:extract=(?:a|aa)+b", "1:extract=^(?:(?:a*)*)*(b)"] {
        build(key).succeeded(key);
    }
    // A message does not repeat it.
    let done = folder
        .run_words(&["build", "long.txt", "--format", "lines", "--key", "1:extract=zz", "-o", "g.tamis"], "");
    done.refused("zz", 1, &["line 1", "finds nothing"]);
    assert!(done.err.len() < 2000, "{}", done.err.len());
    assert!(fs::metadata(folder.path("g.tamis")).is_err());
}

#[test]
fn a_suffix_list_that_nothing_asks_for_is_spoken_of() {
    let folder = Folder::new();
    folder.write("list.txt", "test\nlan.test\n");
    folder.write("hosts.txt", "www.example.co.uk\n");
    folder.ok("build hosts.txt --format lines --key 1:domain -o f.tamis");
    let unused = "--suffix-list list.txt was not used";
    let done = folder.run("query f.tamis a.example.co.uk --suffix-list list.txt");
    assert!(done.code == 0 && done.err.contains(unused), "{}", done.err);
    let done = folder.run("build hosts.txt --key 1:lower --suffix-list list.txt -o x.tamis");
    assert!(done.err.contains(unused), "{}", done.err);
    let done = folder.run("build hosts.txt --key 1:domain --suffix-list list.txt -o x.tamis");
    assert!(done.code == 0 && !done.err.contains(unused), "{}", done.err);
    let done = folder.run("query x.tamis x.co.uk --suffix-list list.txt");
    assert!(!done.err.contains(unused), "{}", done.err);
}

#[test]
fn a_comma_in_a_step_and_an_address_for_a_host_are_answered_with_what_would_do() {
    let folder = Folder::new();
    folder.write("in.txt", "http://www.example.org/a\n");
    for (field, code, says) in [
        (r"1:extract=\d{1,2}", 2, "double quotes"),
        ("1:after=,", 2, "after=\",\""),
        ("1:domain", 1, "after-first=//,before=/,domain"),
    ] {
        let line = ["build", "in.txt", "--format", "lines", "--key", field, "-o", "f.tamis"];
        folder.run_words(&line, "").refused(field, code, &[says]);
    }
    folder.write("bytes.txt", b"e\xcc\x81\xff\n");
    folder.refused("build bytes.txt --key 1:nfc -o f.tamis", 1, &["bytes.txt, line 1", "not UTF-8"]);
}
