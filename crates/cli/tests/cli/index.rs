//! The name of the input as a column, and indexes made of it: `locate`, `add` of new files, `remove-group`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::formats::gz;
use crate::support::{Dice, Folder, container};

/// The lines of some files, by name.
type Files = BTreeMap<String, Vec<String>>;

/// A folder `logs` of text, some of it packed and in folders below; each key in a few of them.
fn logs(folder: &Folder, files: u64) -> Files {
    let (mut dice, mut all) = (Dice(7), Files::new());
    for i in 0..files {
        let lines: Vec<String> = (0..50 + dice.below(50)).map(|_| format!("k{}", dice.below(2000))).collect();
        let text = lines.join("\n") + "\n";
        let name = match i % 4 {
            0 => format!("logs/{i}.txt"),
            1 => format!("logs/day {i}.txt"),
            2 => format!("logs/below/ü{i}.txt"),
            _ => format!("logs/{i}.txt.gz"),
        };
        folder.write(&name, if i % 4 == 3 { gz(text.as_bytes()) } else { text.into_bytes() });
        all.insert(name, lines);
    }
    all
}

/// The files that hold a key, by reading them.
fn holders(files: &Files, key: &str) -> BTreeSet<String> {
    files
        .iter()
        .filter(|(_, lines)| lines.iter().any(|line| line == key))
        .map(|(name, _)| name.clone())
        .collect()
}

fn names(out: &str) -> BTreeSet<String> {
    out.lines().map(str::to_owned).collect()
}

/// The sections of two files, and what they say of themselves, are the same; notes may differ.
fn same(folder: &Folder, a: &str, b: &str) {
    let (one, two) = (container(&folder.path(a)), container(&folder.path(b)));
    assert_eq!(one.params(), two.params(), "{a} {b}");
    assert_eq!(one.tallies(), two.tallies(), "{a} {b}");
    assert!(folder.read(a) == folder.read(b), "{a} is not {b}");
}

#[test]
fn locate_names_every_file_that_holds_a_key_and_few_others() {
    let folder = Folder::new();
    let files = logs(&folder, 40);
    folder.ok("build logs --group (file) --fpr 0.01 -o i.tamis");
    let (mut asked, mut extra) = (0, 0);
    for key in (0..60).map(|i| format!("k{}", i * 31)) {
        let (done, wanted) = (folder.run(&format!("locate i.tamis {key} -q")), holders(&files, &key));
        let found = names(&done.out);
        assert!(found.is_superset(&wanted), "{key}: {found:?} {wanted:?}");
        assert_eq!(done.code, i32::from(found.is_empty()), "{key}");
        (asked, extra) = (asked + files.len(), extra + found.len() - wanted.len());
    }
    assert!(extra * 20 < asked, "{extra} of {asked}");

    // Several keys: the files that hold any of them, as arguments, from a file and from standard input.
    let any: BTreeSet<String> = ["k1", "k2", "k3"].iter().flat_map(|key| holders(&files, key)).collect();
    folder.write("keys.txt", "k1\r\nk2\n\nk3");
    let given = folder.ok("locate i.tamis k1 k2 k3 -q");
    assert!(names(&given).is_superset(&any));
    assert_eq!(folder.ok("locate i.tamis --keys keys.txt -q"), given);
    let piped = folder.run_with("locate i.tamis --keys - -q", "k1\nk2\nk3\n").succeeded("stdin");
    assert_eq!(piped, given);
    let by_key = folder.ok("locate i.tamis --keys keys.txt --by-key -q");
    let pairs: BTreeSet<(&str, &str)> = by_key.lines().map(|line| line.split_once('\t').unwrap()).collect();
    for key in ["k1", "k2", "k3"] {
        for file in holders(&files, key) {
            assert!(pairs.contains(&(key, file.as_str())), "{key} {file}");
        }
    }
    assert_eq!(pairs.iter().map(|(_, file)| (*file).to_owned()).collect::<BTreeSet<_>>(), names(&given));

    // For programs.
    let json = folder.json("locate i.tamis --keys keys.txt");
    let groups = json["groups"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned());
    assert_eq!(groups.collect::<BTreeSet<_>>(), names(&given));
    assert_eq!((&json["all_groups"], &json["keys"]), (&files.len().into(), &3.into()));
    assert!(json["expected_by_chance"].as_f64().unwrap() < 3.0);
    let json = folder.json("locate i.tamis --by-key k1");
    assert_eq!(json[0]["key"], "k1");
    assert!(json[0]["groups"].as_array().unwrap().len() >= holders(&files, "k1").len());
    let zeros = folder.ok("locate i.tamis --print0 k1 k2 k3 -q");
    assert_eq!(zeros.replace('\0', "\n"), given);

    // How many to expect is said, and nothing found is no error.
    let done = folder.run("locate i.tamis k1");
    assert!(
        done.err.contains("of 40 groups may hold the key; ") && done.err.contains("by chance"),
        "{}",
        done.err
    );
    let none = folder.run("locate i.tamis certainly-not-there -q");
    assert!(none.code == 1 && none.out.is_empty() || none.code == 0 && !none.out.is_empty());
}

#[test]
fn the_files_of_an_index_are_found_by_any_program() {
    let folder = Folder::new();
    for name in ["a b.txt", "line\nend.txt", "ü.txt", "-n.txt", "tab\t.txt"] {
        folder.write(&format!("in/{name}"), "x\ny\n");
    }
    folder.ok("build in --group (file) -o i.tamis");
    let shown = folder.ok("locate i.tamis x -q");
    assert_eq!(shown, "in/-n.txt\nin/a b.txt\nin/line\\nend.txt\nin/tab\\t.txt\nin/ü.txt\n");
    let counted = folder.shell("$TAMIS locate i.tamis x --print0 -q | xargs -0 grep -hc x");
    assert_eq!(counted.out, "1\n1\n1\n1\n1\n", "{}", counted.err);
    // From within the folder, no name is mistaken for an option.
    let counted = folder.shell(
        "cd in && $TAMIS build . --group '(file)' -o ../j.tamis -q > ../out.txt \
         && $TAMIS locate ../j.tamis x --print0 -q | xargs -0 grep -hc x",
    );
    assert_eq!(counted.out, "1\n1\n1\n1\n1\n", "{}", counted.err);
    let shown = folder.ok("locate j.tamis x -q");
    assert_eq!(shown, "./-n.txt\na b.txt\nline\\nend.txt\ntab\\t.txt\nü.txt\n");
}

#[test]
fn a_file_is_called_as_it_was_named() {
    let folder = Folder::new();
    for name in ["logs/a.txt", "logs/deep/b.txt"] {
        folder.write(name, "x\n");
    }
    let named = |inputs: &str| {
        folder.ok(&format!("build {inputs} --group (file) -o n.tamis"));
        folder.ok("locate n.tamis x -q").lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let both = ["logs/a.txt", "logs/deep/b.txt"];
    for folder in
        ["logs", "logs/", "./logs", "logs//", ".//logs/./", "./logs/a.txt logs//deep/b.txt", "logs/**/*.txt"]
    {
        assert_eq!(named(folder), both, "{folder}");
    }
    assert_eq!(named("logs/*.txt"), ["logs/a.txt"]);
    assert_eq!(named("./logs/*.txt"), ["logs/a.txt"]);
    assert_eq!(named("logs/deep/../a.txt"), ["logs/deep/../a.txt"]);
    let whole = folder.path("logs/a.txt").display().to_string();
    assert_eq!(named(&whole), [whole.as_str()]);
    // Twice is once: the rows of both go to one group.
    folder.ok("build logs/a.txt ./logs/a.txt --group (file) -o n.tamis");
    assert_eq!(folder.json("inspect n.tamis")["groups"][0]["rows"], 2);
}

#[test]
fn rows_without_a_file_are_refused_before_they_are_read() {
    let folder = Folder::new();
    folder.write("a.txt", "x\n");
    folder.ok("build a.txt --group (file) -o i.tamis");
    let before = folder.read("i.tamis");
    for line in [
        "build - --group (file) -o n.tamis",
        "build a.txt - --group (file) -o n.tamis",
        "build - --key (file) -o n.tamis",
        "plan - --group (file)",
        "add i.tamis -",
        "test i.tamis -",
        "filter i.tamis - --own-group",
        "dedup - --key (file) --key 1",
    ] {
        folder.refused(line, 1, &["-: ", "no file"]);
    }
    assert!(folder.read("i.tamis") == before);
    // The group is not asked of these rows.
    assert_eq!(folder.run_with("filter i.tamis -", "x\ny\n").succeeded("filter"), "x\n");
    folder.is_clean();
}

#[test]
fn parts_of_a_name_are_groups_and_keys() {
    let folder = Folder::new();
    folder.write("in/2025/ann.v1.txt", "x\ny\n");
    folder.write("in/2026/ann.v2.txt", "z\n");
    folder.write("in/2026/bob.txt", "x\n");
    folder.ok("build in --group (file):after=/,before=. -o who.tamis");
    let groups = |file: &str| {
        let shown = folder.json(&format!("inspect {file}"));
        let groups = shown["groups"].as_array().unwrap().clone();
        groups.iter().map(|group| group["group"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(groups("who.tamis"), ["ann", "bob"]);
    assert_eq!(folder.ok("locate who.tamis z -q"), "ann\n");
    folder.ok("build in --group (file):after-first=/,before=/ -o year.tamis");
    assert_eq!(groups("year.tamis"), ["2025", "2026"]);
    folder.ok("build in --key (file):after=/ --key 1 --format lines -o pairs.tamis");
    assert_eq!(folder.run_words(&["query", "pairs.tamis", "bob.txt\tx"], "").out, "bob.txt\\tx\tyes\n");
    assert_eq!(folder.run_words(&["query", "pairs.tamis", "bob.txt\tz"], "").code, 1);
    // The set of the names themselves.
    folder.ok("build in --key (file) -o files.tamis");
    assert_eq!(folder.json("inspect files.tamis")["groups"][0]["planned_keys"], 3);
    assert_eq!(folder.run("query files.tamis in/2026/bob.txt").code, 0);
}

#[test]
fn one_index_holds_files_of_all_formats() {
    let folder = Folder::new();
    folder.write("in/a.csv", "n,email\n1,ann@x.org\n2,cid@x.org\n");
    folder.write("in/b.csv.gz", gz(b"email;n\ndan@x.org;1\n"));
    folder.write("in/c.ndjson", "{\"email\":\"ann@x.org\"}\n{\"email\":\"fay@x.org\"}\n");
    folder.write("in/d.tsv", "email\tn\nfay@x.org\t1\n");
    crate::filter::write_parquet(&folder.path("in/e.parquet"));
    folder.ok("build in --key email --group (file) --fpr 1e-6 -o i.tamis");
    for (key, files) in [
        ("ann@x.org", "in/a.csv\nin/c.ndjson\nin/e.parquet\n"),
        ("dan@x.org", "in/b.csv.gz\n"),
        ("fay@x.org", "in/c.ndjson\nin/d.tsv\n"),
        ("eve", "in/e.parquet\n"),
    ] {
        assert_eq!(folder.ok(&format!("locate i.tamis {key} -q")), files);
    }
    // Every verb that reads gives a row the name of its own file.
    let test = folder.json("test i.tamis in");
    assert_eq!((&test["false_negatives"], &test["passed"]), (&0.into(), &true.into()));
    assert_eq!(folder.ok("filter i.tamis in/e.parquet --own-group").lines().count(), 4);
    fs::copy(folder.path("in/d.tsv"), folder.path("in/f.tsv")).unwrap();
    // A file that is not in the index has no group of its own.
    assert_eq!(folder.ok("filter i.tamis in/d.tsv in/f.tsv --own-group"), "email\tn\nfay@x.org\t1\n");
    assert_eq!(folder.ok("filter i.tamis in/f.tsv"), "email\tn\nfay@x.org\t1\n");
    assert_eq!(
        folder.ok("filter i.tamis in/f.tsv --tag"),
        "email\tn\ttamis_groups\nfay@x.org\t1\tin/c.ndjson,in/d.tsv\n"
    );
    let plan = folder.json("plan in/a.csv in/d.tsv --key email --group (file)");
    assert_eq!(plan["groups"].as_array().unwrap().len(), 2);
    let once = folder.ok("dedup in/d.tsv in/f.tsv --key email");
    assert_eq!(once.lines().count(), 2);
    let each = folder.ok("dedup in/d.tsv in/f.tsv --key email --key (file)");
    assert_eq!(each.lines().count(), 3);
    let stream = folder.ok("stream --train in/d.tsv --key (file) --query in/f.tsv --query-key (file) -q");
    assert!(!stream.contains("true"), "{stream}");
}

#[test]
fn new_files_make_the_index_that_a_build_of_all_makes() {
    let folder = Folder::new();
    let files = logs(&folder, 12);
    let all: Vec<&String> = files.keys().filter(|name| !name.contains(' ')).collect();
    let list = |names: &[&String]| names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" ");
    let (first, last) = all.split_at(4);
    for kind in [
        "blocked",
        "bloom",
        "counting",
        "blocked --exact",
        "count-min --epsilon 0.01",
        "count-min --epsilon 0.01 --heavy 0.05",
    ] {
        folder.ok(&format!("build {} --group (file) --kind {kind} -o all.tamis", list(&all)));
        folder.ok(&format!("build {} --group (file) --kind {kind} -o grown.tamis", list(first)));
        for part in last.chunks(2) {
            folder.ok(&format!("add grown.tamis {}", list(part)));
        }
        same(&folder, "grown.tamis", "all.tamis");
        // Without some of them, it is the build of the others.
        let gone = [all[0], all[5]];
        let rest: Vec<&String> = all.iter().copied().filter(|name| !gone.contains(name)).collect();
        folder.ok(&format!("build {} --group (file) --kind {kind} -o rest.tamis", list(&rest)));
        folder.ok(&format!("remove-group grown.tamis {}", list(&gone)));
        same(&folder, "grown.tamis", "rest.tamis");
        if kind.contains("exact") {
            assert!(folder.read("grown.tamis.keys") == folder.read("rest.tamis.keys"));
        }
        folder.ok("verify grown.tamis");
        // And back again.
        folder.ok(&format!("add grown.tamis {}", list(&gone)));
        same(&folder, "grown.tamis", "all.tamis");
        // The next filters have no keys, and are not added to beside those of others.
        let _ = fs::remove_file(folder.path("grown.tamis.keys"));
    }
    folder.is_clean();
}

#[test]
fn a_file_that_is_there_grows_in_its_own_group() {
    let folder = Folder::new();
    folder.write("a.txt", "x\ny\n");
    folder.write("b.txt", "z\n");
    folder.ok("build a.txt b.txt --group (file) --fpr 1e-6 -o i.tamis");
    folder.write("a.txt", "new\n");
    let done = folder.run("add i.tamis ./a.txt");
    assert!(!done.err.contains("new group"), "{}", done.err);
    assert_eq!(folder.ok("locate i.tamis new -q"), "a.txt\n");
    assert_eq!(folder.ok("locate i.tamis x -q"), "a.txt\n");
    let groups = folder.json("inspect i.tamis")["groups"].clone();
    assert_eq!((groups.as_array().unwrap().len(), &groups[0]["rows"]), (2, &3.into()));
    // Groups that are not files are new only where that is asked for.
    folder.write("t.csv", "k,g\n1,a\n");
    folder.write("u.csv", "k,g\n2,b\n");
    folder.ok("build t.csv --key k --group g -o t.tamis");
    folder.refused("add t.tamis u.csv", 1, &["u.csv", "group \"b\"", "--new-groups"]);
    let done = folder.run("add t.tamis u.csv --new-groups");
    assert!(done.code == 0 && done.err.contains("1 new group: b"), "{}", done.err);
    folder.ok("build t.csv u.csv --key k --group g -o both.tamis");
    same(&folder, "t.tamis", "both.tamis");
}

#[test]
fn exact_keys_and_heavy_keys_follow_their_groups() {
    let folder = Folder::new();
    for i in 0..3 {
        let text: String = (0..300).map(|key| format!("{}\n", key * 3 + i)).collect();
        folder.write(&format!("in/{i}.txt"), text);
    }
    let everything: String = (0..1000).map(|key| format!("{key}\n")).collect();
    folder.write("ask.txt", &everything);
    let expected = |keep: &[u64]| -> String {
        (0..900u64).filter(|key| keep.contains(&(key % 3))).map(|key| format!("{key}\n")).collect()
    };
    folder.ok("build in/0.txt in/1.txt --group (file) --fpr 0.3 --exact -o i.tamis");
    assert!(folder.ok("filter i.tamis ask.txt --strict") == expected(&[0, 1]));
    folder.ok("add i.tamis in/2.txt");
    assert!(folder.ok("filter i.tamis ask.txt --strict") == expected(&[0, 1, 2]));
    folder.ok("remove-group i.tamis in/1.txt");
    assert!(folder.ok("filter i.tamis ask.txt --strict") == expected(&[0, 2]));
    folder.ok("verify i.tamis");

    folder.write("c/1.txt", "a\na\na\nb\n");
    folder.write("c/2.txt", "c\nc\nd\n");
    folder.ok("build c/1.txt --kind count-min --epsilon 0.01 --heavy 0.5 --group (file) -o c.tamis");
    folder.ok("add c.tamis c/2.txt");
    let top = folder.ok("top c.tamis");
    assert!(top.contains("c/2.txt") && top.contains("c/1.txt"), "{top}");
    folder.ok("remove-group c.tamis c/1.txt");
    let top = folder.ok("top c.tamis");
    assert!(top.contains("c/2.txt") && !top.contains("c/1.txt"), "{top}");
    folder.refused("locate c.tamis a", 2, &["count"]);
}

#[test]
fn groups_that_cannot_be_dropped_are_said() {
    let folder = Folder::new();
    folder.write("in/a.txt", "x\n");
    folder.write("in/b.txt", "y\n");
    folder.ok("build in --group (file) --exact -o i.tamis");
    let before = (folder.read("i.tamis"), folder.read("i.tamis.keys"));
    folder.refused("remove-group i.tamis in/a.txt in/b.txt", 1, &["i.tamis", "all of its groups"]);
    folder.refused(
        "remove-group i.tamis in/a.txt in/c.txt",
        1,
        &["no group \"in/c.txt\"", "it has in/a.txt, in/b.txt"],
    );
    // Named otherwise: the one that was meant is shown.
    folder.refused("remove-group i.tamis b.txt", 1, &["no group \"b.txt\"; it has in/b.txt and 1 more"]);
    folder.refused("remove-group i.tamis", 2, &["required"]);
    folder.refused("remove-group none.tamis a", 1, &["none.tamis"]);
    assert!(before == (folder.read("i.tamis"), folder.read("i.tamis.keys")));
    folder.ok("build in -o plain.tamis");
    folder.refused("remove-group plain.tamis in/a.txt", 1, &["plain.tamis", "has no groups"]);
    folder.refused("locate plain.tamis x", 2, &["no groups", "tamis query"]);
    folder.refused("locate i.tamis", 2, &["no keys"]);
    folder.refused("locate none.tamis x", 2, &["none.tamis"]);
    folder.refused("locate i.tamis --keys none.txt", 2, &["none.txt"]);
    // A failure in the middle leaves all as it was.
    folder.write("in/c.txt", "z\n\nw\n");
    folder.write("bad.csv", "k\n\"open\n");
    let before = (folder.read("i.tamis"), folder.read("i.tamis.keys"));
    folder.refused("add i.tamis in/c.txt bad.csv", 1, &["bad.csv"]);
    assert!(before == (folder.read("i.tamis"), folder.read("i.tamis.keys")));
    folder.is_clean();
}

#[test]
fn damage_does_not_come_out_under_a_new_checksum() {
    let folder = Folder::new();
    for name in ["a", "b", "c"] {
        folder.write(&format!("in/{name}.txt"), format!("{name}\n"));
    }
    folder.ok("build in --group (file) -o i.tamis");
    let mut bytes = folder.read("i.tamis");
    let at = bytes.len() - 70;
    bytes[at] ^= 1;
    folder.write("i.tamis", &bytes);
    folder.refused("remove-group i.tamis in/a.txt", 1, &["i.tamis"]);
    assert!(folder.read("i.tamis") == bytes);
}

/// More files than may be open at a time, text and Parquet.
#[cfg(unix)]
#[test]
fn an_index_opens_few_files_at_a_time() {
    let folder = Folder::new();
    for i in 0..150 {
        folder.write(&format!("in/{i}.csv"), format!("email\nuser{i}@x.org\n"));
        crate::filter::write_parquet(&folder.path(&format!("in/{i}.parquet")));
    }
    let done =
        folder.shell("ulimit -n 60 && $TAMIS build in --key email --group '(file)' --fpr 1e-6 -o i.tamis");
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(folder.ok("locate i.tamis user77@x.org -q"), "in/77.csv\n");
    assert_eq!(folder.ok("locate i.tamis eve -q").lines().count(), 150);
}

#[test]
fn what_was_noted_of_a_file_stays() {
    let folder = Folder::new();
    folder.write("a.txt", "x\n");
    folder.write("b.txt", "y\n");
    let build = [
        "build",
        "a.txt",
        "--group",
        "(file)",
        "-o",
        "i.tamis",
        "--note",
        "days of May",
        "--source",
        "web 3",
    ];
    folder.run_words(&build, "").succeeded("build");
    folder.ok("add i.tamis b.txt");
    folder.ok("remove-group i.tamis a.txt");
    let shown = folder.ok("inspect i.tamis");
    assert!(shown.contains("note: days of May") && shown.contains("source: web 3"), "{shown}");
    let about = folder.json("inspect i.tamis")["about"].clone();
    assert_eq!((&about["note"], &about["source"]), (&"days of May".into(), &"web 3".into()));
}

#[test]
fn a_key_that_cannot_be_asked_does_not_hide_the_others() {
    let folder = Folder::new();
    folder.write("a.txt", "1\n2\n");
    folder.ok("build a.txt --key 1:round --group (file) -o ix.tamis");
    folder.write("keys.txt", "x\n2\n");
    for how in ["", " --by-key"] {
        let done = folder.run(&format!("locate ix.tamis --keys keys.txt{how}"));
        assert!(done.code == 2 && done.out.contains("a.txt"), "{} {}", done.out, done.err);
        assert!(done.err.contains("key \"x\": \"x\" is not a decimal number"), "{}", done.err);
    }
}

#[test]
fn a_file_is_dropped_and_asked_by_any_way_to_write_its_path() {
    let folder = Folder::new();
    folder.write("logs/1.txt", "a\n");
    folder.write("logs/2.txt", "b\n");
    folder.ok("build logs --group (file) -o ix.tamis");
    // An absolute path is another name: no group has it, and that is said.
    let absolute = folder.path("logs/2.txt").display().to_string();
    let done = folder.run_words(&["filter", "ix.tamis", &absolute, "--own-group"], "");
    assert!(
        done.code == 0 && done.err.contains("1 record of groups that are not in the file"),
        "{}",
        done.err
    );
    folder.ok("remove-group ix.tamis ./logs//2.txt");
    assert_eq!(folder.json("inspect ix.tamis")["groups"].as_array().unwrap().len(), 1);
}
