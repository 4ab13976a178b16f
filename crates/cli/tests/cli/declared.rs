//! What is declared about text is recorded in the file, and holds where that file is asked.

use serde_json::{Value, json};

use crate::support::{Done, Folder};

const PEOPLE: &str = "name;mail\nAnn;ann@x.org\nBob;bob@x.org\n";

/// A folder with `people.tamis`, made of text with semicolons that was declared.
fn declared() -> Folder {
    let folder = Folder::new();
    folder.write("people.txt", PEOPLE);
    folder.ok("build people.txt --key mail --delimiter semicolon --fpr 1e-6 -o people.tamis");
    folder
}

fn about(folder: &Folder, file: &str) -> Value {
    folder.json(&format!("inspect {file}"))["about"].clone()
}

/// How often something is said.
fn times(done: &Done, what: &str) -> usize {
    done.err.matches(what).count()
}

#[test]
fn what_is_declared_is_recorded_and_what_is_recognised_is_not() {
    let folder = declared();
    assert_eq!(about(&folder, "people.tamis"), json!({ "dialect": { "delimiter": ";" } }));
    assert_eq!(folder.json("inspect people.tamis")["format_version"], 2);
    assert!(folder.ok("inspect people.tamis").contains("declared dialect: delimiter \";\""));
    folder.write("odd.txt", "# x\na;b\n");
    folder.ok("build odd.txt --key 1 --delimiter ; --no-header --quotes none --comment # -o odd.tamis");
    let all = json!({ "delimiter": ";", "quotes": "none", "header": false, "comment": "#" });
    assert_eq!(about(&folder, "odd.tamis")["dialect"], all);
    folder.ok("build odd.txt --key 1 --delimiter whitespace --with-header -o odd.tamis");
    assert_eq!(about(&folder, "odd.tamis")["dialect"], json!({ "delimiter": "whitespace", "header": true }));

    // The same delimiter, told by the header or by the name: version 1, and all else is the same.
    folder.write("people.csv", PEOPLE);
    folder.write("people.tsv", PEOPLE.replace(';', "\t"));
    for input in ["people.csv", "people.tsv"] {
        folder.ok(&format!("build {input} --key mail --fpr 1e-6 -o plain.tamis"));
        let plain = folder.json("inspect plain.tamis");
        assert_eq!((&plain["format_version"], &plain["about"]), (&json!(1), &Value::Null), "{input}");
    }
    let params = |file: &str| folder.json(&format!("inspect {file}"))["recipe"].clone();
    assert_eq!(params("plain.tamis"), params("people.tamis"));
    folder.ok("merge plain.tamis people.tamis -o both.tamis");
    folder.ok("plan people.txt --key mail --delimiter semicolon -o params.json");
    assert!(!folder.text("params.json").contains("delimiter"));
    folder.ok("build people.txt --delimiter semicolon --params params.json -o params.tamis");
    assert_eq!(about(&folder, "params.tamis"), json!({ "dialect": { "delimiter": ";" } }));
}

#[test]
fn what_is_recorded_is_the_default_where_the_file_is_asked() {
    let folder = declared();
    // Nothing else says what separates the columns of this: `name,x` would be read by its header.
    folder.write("asked.txt", "mail;name,x\nann@x.org;1\neve@x.org;2\n");
    assert_eq!(folder.ok("filter people.tamis asked.txt"), "mail;name,x\nann@x.org;1\n");
    assert_eq!(folder.json("test people.tamis people.txt")["false_negatives"], 0);
    // A numbered column, of which nothing else would tell anything.
    assert_eq!(folder.run_with("filter people.tamis - --key 1", "bob@x.org;3\n").out, "bob@x.org;3\n");
    folder.ok("add people.tamis asked.txt");
    assert_eq!(about(&folder, "people.tamis"), json!({ "dialect": { "delimiter": ";" } }));
    assert_eq!(folder.run("query people.tamis eve@x.org").code, 0);

    folder.ok("build people.txt --key mail --delimiter semicolon --kind counting -o counting.tamis");
    folder.ok("remove counting.tamis people.txt");
    assert_eq!(folder.run("query counting.tamis ann@x.org").code, 1);
    assert_eq!(about(&folder, "counting.tamis")["dialect"]["delimiter"], ";");

    let answers = folder.ok("stream --from people.tamis --query asked.txt --query-key mail -o answers.tsv");
    assert!(!answers.is_empty());
    assert!(folder.text("answers.tsv").contains("ann@x.org"), "{}", folder.text("answers.tsv"));
}

#[test]
fn what_was_declared_of_a_state_holds_for_its_next_run() {
    let folder = Folder::new();
    folder.write("one.txt", "1;a\n2;b\n1;c\n");
    folder.ok("dedup one.txt --key 1 --delimiter ; --state seen.tamis -o one.out");
    assert_eq!(about(&folder, "seen.tamis"), json!({ "dialect": { "delimiter": ";" } }));
    folder.write("two.txt", "2;d\n3;e\n");
    folder.ok("dedup two.txt --key 1 --state seen.tamis -o two.out");
    assert_eq!(folder.text("two.out"), "3;e\n");
    assert_eq!(about(&folder, "seen.tamis"), json!({ "dialect": { "delimiter": ";" } }));
    // A note of the file that was begun with stays, too.
    folder.ok("build one.txt --key 1 --delimiter ; --note begun -o begun.tamis");
    folder.ok("dedup two.txt --state begun.tamis -o three.out");
    assert_eq!(folder.text("three.out"), "3;e\n");
    assert_eq!(about(&folder, "begun.tamis"), json!({ "note": "begun", "dialect": { "delimiter": ";" } }));
}

#[test]
fn a_flag_counts_more_than_what_is_recorded_and_a_contradiction_is_said_once() {
    let folder = declared();
    folder.write("asked.txt", "name,mail\nAnn,ann@x.org\nEve,eve@x.org\n");
    folder.write("asked2.txt", "name,mail\nBob,bob@x.org\n");
    for verb in ["filter", "test", "add"] {
        let done = folder.run(&format!("{verb} people.tamis asked.txt asked2.txt --delimiter comma"));
        assert_eq!(
            times(&done, "warning: people.tamis was made with --delimiter semicolon"),
            1,
            "{}",
            done.err
        );
        assert!(done.err.contains("this is read with --delimiter comma"), "{}", done.err);
    }
    assert_eq!(about(&folder, "people.tamis"), json!({ "dialect": { "delimiter": ";" } }));
    let same = folder.run("filter people.tamis people.txt --delimiter ;");
    assert_eq!((same.out.as_str(), times(&same, "was made with")), (PEOPLE, 0), "{}", same.err);
    folder.write("asked.tsv", "mail\tname\nann@x.org\tAnn\n");
    let tsv = folder.run("filter people.tamis asked.tsv --format tsv --count");
    assert_eq!((tsv.code, times(&tsv, "this is read with --format tsv")), (0, 1), "{}", tsv.err);

    folder.write("bare.txt", "ann;1\n");
    folder.ok("build bare.txt --key 1 --delimiter ; --no-header --fpr 1e-6 -o bare.tamis");
    folder.write("head.csv", "key;n\nann;1\n");
    let done = folder.run("filter bare.tamis head.csv --with-header");
    assert_eq!(done.out, "key;n\nann;1\n");
    assert_eq!(
        times(&done, "was made with --no-header, and this is read with --with-header"),
        1,
        "{}",
        done.err
    );
    assert_eq!(folder.run("filter bare.tamis head.csv").out, "ann;1\n");
}

#[test]
fn text_that_contradicts_what_is_recorded_is_refused() {
    let folder = declared();
    let files = [("a.txt", "name,mail\nAnn,ann@x.org\n"), ("a.tsv", "name\tmail\nAnn\tann@x.org\n")];
    for (name, text) in files {
        folder.write(name, text);
        for key in ["mail", "2", "1"] {
            folder.refused(
                &format!("filter people.tamis {name} --key {key}"),
                1,
                &[name, "recorded in the file that is asked, ';'", "--delimiter semicolon"],
            );
        }
    }
    let add = folder.run("add people.tamis a.txt");
    add.refused("add", 1, &["a.txt", "--delimiter comma"]);
    assert_eq!(times(&add, "text was read as people.tamis records, with --delimiter semicolon"), 1);
    // A table of one column contradicts nothing.
    folder.write("one.csv", "mail\nann@x.org\n");
    assert_eq!(folder.ok("filter people.tamis one.csv"), "mail\nann@x.org\n");
}

#[test]
fn formats_that_tell_their_values_apart_ignore_what_is_recorded() {
    let folder = declared();
    let object = "{\"mail\":\"ann@x.org\",\"n\":\"a;b\"}\n";
    folder.write("a.ndjson", object);
    assert_eq!(folder.ok("filter people.tamis a.ndjson"), object);
    assert_eq!(folder.run_with("filter people.tamis -", object).out, object);
    folder.write("keys.txt", "ann@x.org\nx;y\n");
    let test = folder.json("test people.tamis people.txt --negatives keys.txt");
    assert_eq!(test["false_negatives"], 0);
}

#[test]
fn what_files_share_survives_a_merge_and_the_rest_is_dropped_with_a_word() {
    let folder = Folder::new();
    folder.write("a.txt", "1;a\n");
    folder.write("b.txt", "2;b\n");
    let how = "--key 1 --delimiter ; --keys 10 --source crawl";
    folder.ok(&format!("build a.txt {how} --note monday --quotes none -o a.tamis"));
    folder.ok(&format!("build b.txt {how} --note tuesday -o b.tamis"));
    let merged = folder.run("merge a.tamis b.tamis -o ab.tamis");
    assert_eq!(
        times(&merged, "not recorded about ab.tamis, since the files differ in it: note, quotes"),
        1,
        "{}",
        merged.err
    );
    assert_eq!(about(&folder, "ab.tamis"), json!({ "source": "crawl", "dialect": { "delimiter": ";" } }));
    let shown = folder.ok("inspect a.tamis");
    for line in ["note: monday", "source: crawl", "declared dialect: delimiter \";\", quotes \"none\""] {
        assert!(shown.contains(line), "{shown}");
    }
    // Nothing is left to record: version 1 again, byte for byte.
    folder.write("c.csv", "k\n1\n");
    folder.write("d.csv", "k\n2\n");
    folder.write("cd.csv", "k\n1\n2\n");
    folder.ok("build c.csv --key k --keys 10 --note c -o c.tamis");
    folder.ok("build d.csv --key k --keys 10 -o d.tamis");
    folder.ok("build cd.csv --key k --keys 10 -o cd.tamis");
    let merged = folder.run("merge c.tamis d.tamis -o merged.tamis");
    assert_eq!(times(&merged, "since the files differ in it: note"), 1, "{}", merged.err);
    assert!(folder.read("merged.tamis") == folder.read("cd.tamis"));
    let same = folder.run("merge c.tamis c.tamis -o same.tamis");
    assert_eq!((times(&same, "not recorded"), &about(&folder, "same.tamis")), (0, &json!({ "note": "c" })));
}

#[test]
fn keys_beside_a_file_stay_its_own_whatever_is_recorded_about_it() {
    let folder = Folder::new();
    folder.write("k.csv", "k\n1\n2\n");
    folder.ok("build k.csv --key k --exact -o plain.tamis");
    folder.ok("build k.csv --key k --exact --note x --source y --delimiter , -o noted.tamis");
    assert!(folder.read("plain.tamis") != folder.read("noted.tamis"));
    assert!(folder.read("plain.tamis.keys") == folder.read("noted.tamis.keys"), "one digest for both");
    folder.write("noted.tamis.keys", folder.read("plain.tamis.keys"));
    assert_eq!(folder.ok("filter noted.tamis k.csv --strict"), "k\n1\n2\n");
    folder.ok("verify noted.tamis");
}

/// A version 1 file cannot say which program made it.
#[test]
fn a_file_of_version_1_says_once_that_quotes_are_read_otherwise_now() {
    let folder = Folder::new();
    let text = "id\tname\n1\t\"Ann\"\n2\t\"Bob\n";
    folder.write("a.tsv", text);
    folder.write("b.tsv", text);
    folder.write("plain.tsv", "id\tname\n1\tAnn\n2\tthe \"Bob\"\n");
    folder.ok("build plain.tsv --key id --kind counting -o old.tamis");
    for verb in ["filter", "test", "add", "remove"] {
        let done = folder.run(&format!("{verb} old.tamis a.tsv b.tsv"));
        assert_eq!(times(&done, "old.tamis (version 1) does not say"), 1, "{verb}: {}", done.err);
        assert!(done.err.contains("--quotes csv reads as before"), "{}", done.err);
        for silent in ["plain.tsv", "plain.tsv --quotes none", "a.tsv --quotes none"] {
            let done = folder.run(&format!("{verb} old.tamis {silent}"));
            assert_eq!(times(&done, "version 1"), 0, "{verb} {silent}: {}", done.err);
        }
    }
    // A file that says how its own text was read.
    folder.ok("build plain.tsv --key id --quotes none -o new.tamis");
    assert_eq!(times(&folder.run("filter new.tamis a.tsv"), "version 1"), 0);
    // In CSV what has changed is a bad row.
    folder.write("c.csv", "id,name\n1,\"Ann\"\n2,\"Bob\" x\n");
    let done = folder.run("filter old.tamis c.csv");
    assert_eq!((done.code, times(&done, "text after a closing quote")), (1, 1), "{}", done.err);
    assert!(done.err.contains("c.csv, line 3"), "{}", done.err);
}

#[test]
fn recorded_quotes_header_and_lines_are_spoken_of_where_text_looks_otherwise() {
    let folder = Folder::new();
    folder.write("bare.txt", "1,a\n2,b\n");
    folder.ok("build bare.txt --key 1 --delimiter comma --no-header --quotes none --fpr 1e-6 -o f.tamis");
    // Quotes mean nothing, as is recorded: nothing passes, and that is said.
    folder.write("quoted.txt", "\"1\",\"a\"\n\"2\",\"b\"\n");
    let done = folder.run("filter f.tamis quoted.txt");
    assert_eq!(
        (done.code, done.out.as_str(), times(&done, "as f.tamis records")),
        (0, "", 1),
        "{}",
        done.err
    );
    assert!(done.err.contains("--quotes csv"), "{}", done.err);
    let done = folder.run("filter f.tamis quoted.txt --quotes none");
    assert_eq!(times(&done, "begins with a quote"), 0, "{}", done.err);
    assert_eq!(times(&folder.run("filter f.tamis bare.txt"), "note"), 0);
    // So is that a table is read without a header.
    folder.write("head.csv", "id,n\n3,c\n");
    folder.write("head2.csv", "id,n\n4,d\n");
    for line in ["filter f.tamis head.csv head2.csv --count", "test f.tamis head.csv", "add f.tamis head.csv"]
    {
        let done = folder.run(line);
        assert_eq!(times(&done, "read without a header, as f.tamis records"), 1, "{line}: {}", done.err);
    }
    assert_eq!(times(&folder.run("filter f.tamis bare.txt"), "without a header"), 0);
    // And that lines are not cut.
    let done = folder.run("filter f.tamis bare.txt --format lines");
    let said = "f.tamis was made with --delimiter comma, and this is read with --format lines";
    assert_eq!((done.code, done.out.as_str(), times(&done, said)), (0, "", 1), "{}", done.err);
}
