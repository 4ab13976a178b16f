//! `query`, which answers like grep.

use crate::support::Folder;

/// One filter of the keys a, b and c in `keys.tamis`.
fn keys() -> Folder {
    let folder = Folder::new();
    folder.write("keys.txt", "a\nb\nc\n");
    folder.ok("build keys.txt --fpr 1e-6 -o keys.tamis");
    folder
}

/// A compound key of user and day in `visits.tamis`.
fn visits() -> Folder {
    let folder = Folder::new();
    folder.write("visits.csv", "user,day\nann,2026-11-15\nab,c\nBob , 2026-11-16\n");
    folder.ok("build visits.csv --key user:trim,lower --key day:trim --fpr 1e-6 -o visits.tamis");
    folder
}

#[test]
fn the_exit_code_is_that_of_grep() {
    let folder = keys();
    let done = folder.run("query keys.tamis x a y");
    assert_eq!((done.code, done.out.as_str()), (0, "x\t\na\tyes\ny\t\n"));
    let done = folder.run("query keys.tamis x y");
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (1, "x\t\ny\t\n", ""));
    folder.refused("query none.tamis a", 2, &["none.tamis", "no such file"]);
    folder.refused("query keys.txt a", 2, &["keys.txt", "not a tamis file"]);
    folder.refused("query", 2, &["required"]);
    folder.refused("query .", 2, &["not a regular file"]);
}

#[test]
fn no_keys_on_a_closed_standard_input_are_no_matches() {
    let folder = keys();
    for line in ["query keys.tamis", "query keys.tamis -"] {
        let done = folder.run(line);
        assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (1, "", ""), "{line}");
    }
    assert_eq!(folder.run("query keys.tamis --json").out, "[]\n");
    assert_eq!(folder.shell("$TAMIS query keys.tamis <&-").code, 1);
}

#[test]
fn keys_come_on_standard_input_with_any_line_ends() {
    let folder = keys();
    for stdin in ["a\nx\nc\n", "a\nx\nc", "a\r\nx\r\nc\r\n", "\na\n\nx\r\n\r\nc\r\n\n"] {
        let done = folder.run_with("query keys.tamis", stdin);
        assert_eq!((done.code, done.out.as_str()), (0, "a\tyes\nx\t\nc\tyes\n"), "{stdin:?}");
    }
}

#[test]
fn keys_that_are_no_text_are_found_too() {
    let folder = Folder::new();
    folder.write("keys.txt", b"\xfe\xfa\nplain\n");
    folder.ok("build keys.txt --fpr 1e-6 -o keys.tamis");
    assert_eq!(folder.run_with("query keys.tamis", b"\xfe\xfa\n").code, 0);
    assert_eq!(folder.shell("$TAMIS query keys.tamis \"$(printf '\\376\\372')\"").code, 0);
    assert_eq!(folder.run_with("query keys.tamis", b"\xff\xff\n").code, 1);
    let answer = folder.run_with("query keys.tamis --json", b"\xfe\xfa\n");
    let answer: serde_json::Value = answer.out.parse().unwrap();
    assert_eq!((&answer[0]["key"]["hex"], &answer[0]["found"]), (&"fefa".into(), &true.into()));
}

#[test]
fn the_parts_of_a_compound_key_are_separated_by_tabs() {
    let folder = visits();
    assert_eq!(folder.run_with("query visits.tamis", "ann\t2026-11-15\n").code, 0);
    assert_eq!(folder.run_with("query visits.tamis", "a\tbc\n").code, 1, "not the same as ab, c");
    assert_eq!(folder.run_with("query visits.tamis", "2026-11-15\tann\n").code, 1);
    assert_eq!(folder.run_words(&["query", "visits.tamis", "ann\t2026-11-15"], "").code, 0);
}

#[test]
fn the_steps_of_the_recipe_are_applied_to_what_is_asked() {
    let folder = visits();
    assert_eq!(folder.run_with("query visits.tamis", "bob\t2026-11-16\n").code, 0);
    assert_eq!(folder.run_with("query visits.tamis", " BOB\t2026-11-16 \n").code, 0);
}

/// It ended all of them.
#[test]
fn a_key_that_cannot_be_asked_is_named_and_the_others_are_answered() {
    let folder = visits();
    for stdin in ["ann\nann\t2026-11-15\nx\ty\n", "ann\tx\ty\nann\t2026-11-15\nx\ty\n"] {
        let done = folder.run_with("query visits.tamis", stdin);
        done.refused("query", 2, &["the key has 2 parts, separated by tabs", "ann"]);
        assert_eq!(done.out, "ann\\t2026-11-15\tyes\nx\\ty\t\n");
        assert_eq!(done.err.lines().count(), 1, "{}", done.err);
        let done = folder.run_with("query visits.tamis --json", stdin);
        assert_eq!(done.code, 2);
        let answers: serde_json::Value = done.out.parse().expect("whole JSON");
        assert_eq!(answers.as_array().unwrap().len(), 2);
    }
    folder.refused("query visits.tamis ann", 2, &["\"ann\""]);
}

/// A list of names could not be told from one name with a comma.
#[test]
fn commas_and_backslashes_in_names_are_escaped() {
    let folder = Folder::new();
    folder.write("t.csv", "k,g\nx,\"a,b\"\nx,a\nx,b\\\nx,\"\\,\"\n");
    folder.ok("build t.csv --key k --group g --fpr 1e-6 -o t.tamis");
    assert_eq!(folder.run("query t.tamis x").out, "x\t\\\\\\,,a,a\\,b,b\\\\\n");
    assert_eq!(folder.json("query t.tamis x")[0]["groups"], serde_json::json!(["\\,", "a", "a,b", "b\\"]));
}

/// Its groups were one without a name.
#[test]
fn a_file_without_groups_answers_programs_with_none() {
    let folder = keys();
    let answers = folder.json("query keys.tamis a x");
    assert_eq!(answers, serde_json::json!([{"key": "a", "found": true}, {"key": "x", "found": false}]));
}

#[test]
fn groups_are_named_in_the_order_of_their_numbers() {
    let folder = Folder::new();
    folder.write("t.csv", "k,g\nx,10\nx,9\nx,b\ny,9\n");
    folder.ok("build t.csv --key k --group g --fpr 1e-6 -o t.tamis");
    let done = folder.run("query t.tamis x y z");
    assert_eq!(done.out, "x\t9,10,b\ny\t9\nz\t\n");
    let answers = folder.json("query t.tamis x");
    assert_eq!(answers[0]["groups"], serde_json::json!(["9", "10", "b"]));
}

#[test]
fn every_kind_answers() {
    let folder = Folder::new();
    folder.write("keys.txt", (0..1000).map(|i| format!("key{i}\n")).collect::<String>());
    for kind in ["--kind blocked", "--kind bloom", "--kind fuse", "--hash murmur3"] {
        folder.ok(&format!("build keys.txt {kind} --fpr 1e-4 -o keys.tamis"));
        assert_eq!(folder.run("query keys.tamis key0").code, 0, "{kind}");
        assert_eq!(folder.run("query keys.tamis key999").code, 0, "{kind}");
        let strangers: String = (1000..1100).map(|i| format!("key{i}\n")).collect();
        let found = folder.run_with("query keys.tamis", strangers).out;
        let hits = found.lines().filter(|line| line.ends_with("yes")).count();
        assert!(hits <= 2, "{kind}: {hits}"); // 0.01 are expected
    }
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let folder = keys();
    for json in ["", "--json"] {
        let line = format!("yes a | head -100000 | $TAMIS query keys.tamis {json} | head -1");
        let done = folder.shell(&line);
        assert_eq!((done.code, done.err.as_str(), done.out.lines().count()), (0, "", 1), "{json}");
    }
}
