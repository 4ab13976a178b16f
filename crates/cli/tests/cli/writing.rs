//! The law of writing: an output that exists is replaced whole or not at all or, where it is continued, only
//! extended; a job that cannot go on says so before it touches anything.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::{Done, Folder, Guard, TAMIS, until};

/// Tables, filters with their keys, parameters and a list of suffixes.
fn folder() -> Folder {
    let folder = Folder::new();
    let rows = |from: usize| (from..from + 50).map(|i| format!("{i},{}\n", i % 3)).collect::<String>();
    folder.write("t.csv", format!("k,g\n{}", rows(0)));
    folder.write("u.csv", format!("k,g\n{}", rows(30)));
    folder.write("tables/v.csv", format!("k,g\n{}", rows(40)));
    folder.write("list.dat", "// ===BEGIN ICANN DOMAINS===\ncom\n// ===END ICANN DOMAINS===\n");
    folder.ok("build t.csv --key k --keys 1000 --exact -o x.tamis");
    folder.ok("plan --keys 1000 --fpr 0.01 -o p.json");
    folder
}

/// All files, with what they hold; what only the system knows of links is left out.
fn all(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let files = folder.names().into_iter().filter(|name| folder.path(name).is_file());
    files.map(|name| (name.clone(), folder.read(&name))).collect()
}

fn mode(folder: &Folder, name: &str) -> u32 {
    fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o777
}

/// Starts a run that is held before it gives its files their names; `held` is there then.
fn held(folder: &Folder, line: &str) -> Guard {
    let child = Guard::start(
        Command::new(TAMIS)
            .args(line.split_whitespace())
            .env("TAMIS_TEST_HOLD_AT", "files/written:held")
            .current_dir(folder.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::piped()),
    );
    until("a run that is held", || folder.path("held").exists().then_some(()));
    child
}

fn go_on(folder: &Folder, mut child: Guard) -> (Option<i32>, String) {
    fs::remove_file(folder.path("held")).unwrap();
    child.said()
}

/// Keys were new beside old filters, and rejected records new beside old ones that passed.
#[test]
#[cfg(debug_assertions)]
fn an_error_between_two_outputs_leaves_the_old_pair() {
    for (line, first, second) in [
        ("build u.csv --key k --exact -o x.tamis", "x.tamis.keys", "x.tamis"),
        ("add x.tamis u.csv", "x.tamis.keys", "x.tamis"),
        ("merge x.tamis x.tamis -o y.tamis", "y.tamis.keys", "y.tamis"),
        ("filter x.tamis u.csv -o out --rejected not", "out", "not"),
        ("dedup u.csv --key g -o out --rejected not", "out", "not"),
        ("dedup u.csv --key g --strict -o out --rejected not", "out", "not"),
        ("plan --keys 1e3 --fpr 0.1 --chart c.svg -o q.json", "c.svg", "q.json"),
    ] {
        let folder = folder();
        for name in ["out", "not", "c.svg"] {
            folder.write(name, "old");
        }
        let before = all(&folder);
        let child = held(&folder, line);
        if folder.path(second).exists() {
            fs::rename(folder.path(second), folder.path("aside")).unwrap();
        }
        fs::create_dir(folder.path(second)).unwrap();
        let (code, said) = go_on(&folder, child);
        assert_eq!(code, Some(1), "{line}: {said}");
        assert!(said.contains(second), "{line}: {said}");
        fs::remove_dir(folder.path(second)).unwrap();
        if folder.path("aside").exists() {
            fs::rename(folder.path("aside"), folder.path(second)).unwrap();
        }
        assert!(all(&folder) == before, "{line}: {first} was not taken back");
        folder.ok(line);
    }
}

/// `verify` called a pair sound whose keys were those of another file, and other verbs went on without them.
#[test]
#[cfg(debug_assertions)]
fn a_kill_between_keys_and_filters_is_noticed_and_the_file_is_named() {
    let folder = folder();
    let sound = folder.ok("verify x.tamis");
    assert!(sound.contains("50 keys beside it"), "{sound}");
    let line = "TAMIS_TEST_END_AT=files/renamed:1 $TAMIS add x.tamis u.csv; test $? -gt 100";
    assert_eq!(folder.shell(line).code, 0);
    let says = ["x.tamis.keys", "another file of filters", "x.tamis as it is", "--exact"];
    folder.refused("verify x.tamis", 1, &says);
    folder.refused("filter x.tamis t.csv --strict", 1, &says);
    folder.refused("add x.tamis u.csv", 1, &says);
    folder.refused("merge x.tamis x.tamis -o y.tamis", 1, &says);
    for line in ["query x.tamis 7", "inspect x.tamis"] {
        let done = folder.run(line);
        assert_eq!(done.code, 0, "{line}: {}", done.err);
        assert!(done.err.contains("x.tamis.keys: holds the keys of another file"), "{line}: {}", done.err);
    }
    folder.ok("build t.csv u.csv --key k --keys 1000 --exact -o x.tamis");
    folder.ok("verify x.tamis");
    // Filters that are built without keys leave those of the old file behind, and that is said.
    let done = folder.run("build u.csv --key k -o x.tamis");
    assert!(
        done.code == 0 && done.err.contains("x.tamis.keys: holds the keys of the file that was replaced")
    );
}

#[test]
fn verify_names_the_file_that_is_damaged() {
    let folder = folder();
    for (damaged, other) in [("x.tamis", "x.tamis.keys"), ("x.tamis.keys", "x.tamis: ")] {
        let whole = folder.read(damaged);
        for at in [whole.len() - 5, 40, whole.len() / 2] {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            folder.write(damaged, bytes);
            let done = folder.run("verify x.tamis");
            done.refused("verify", 1, &[damaged]);
            assert!(!done.err.contains(other), "{damaged} at {at}: {}", done.err);
        }
        folder.write(damaged, whole);
        folder.ok("verify x.tamis");
    }
}

/// Keys were kept beside the link, and not beside the file that they belong to.
#[test]
fn keys_are_beside_the_file_that_a_link_leads_to() {
    let folder = folder();
    fs::create_dir(folder.path("links")).unwrap();
    symlink("../x.tamis", folder.path("links/x.tamis")).unwrap();
    folder.ok("add links/x.tamis u.csv");
    folder.ok("verify x.tamis");
    folder.ok("filter links/x.tamis u.csv --strict");
    assert_eq!(fs::read_dir(folder.path("links")).unwrap().count(), 1);
}

#[test]
fn a_file_that_only_its_owner_may_read_stays_so_and_so_do_its_keys() {
    let folder = folder();
    let set = |name: &str, mode| {
        fs::set_permissions(folder.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    set("x.tamis", 0o600);
    set("x.tamis.keys", 0o644);
    for line in ["add x.tamis u.csv", "build u.csv --key k --exact -o x.tamis"] {
        folder.ok(line);
        assert_eq!((mode(&folder, "x.tamis"), mode(&folder, "x.tamis.keys")), (0o600, 0o600), "{line}");
    }
    folder.write("s", "");
    fs::remove_file(folder.path("s")).unwrap();
    folder.ok("dedup t.csv --key k --state s -o out --rejected not");
    ["s", "out", "not"].into_iter().for_each(|name| set(name, 0o600));
    folder.ok("dedup u.csv --key k --state s -o out --rejected not");
    assert_eq!(["s", "out", "not"].map(|name| mode(&folder, name)), [0o600; 3]);
}

/// What is being written has no name: nobody can read it, and `kill -9` leaves nothing.
#[test]
#[cfg(all(debug_assertions, target_os = "linux"))]
fn a_job_that_is_killed_before_its_end_leaves_nothing() {
    let folder = folder();
    let before = all(&folder);
    for line in
        ["add x.tamis u.csv", "build t.csv --key k --exact -o new.tamis", "generate words --rows 9 -o w"]
    {
        let mut child = held(&folder, line);
        fs::remove_file(folder.path("held")).unwrap();
        let _ = child.kill();
        child.end();
        let _ = fs::remove_file(folder.path("held"));
        let after = all(&folder);
        // It may have come to its end between the two.
        assert!(after == before || !after.keys().any(|name| name.ends_with(".tmp")), "{line}");
        for name in ["new.tamis", "new.tamis.keys", "w"] {
            let _ = fs::remove_file(folder.path(name));
        }
        before.iter().for_each(|(name, bytes)| folder.write(name, bytes));
    }
}

/// The one that ended last won, and what the other had added was lost.
#[test]
#[cfg(debug_assertions)]
fn of_two_additions_at_once_the_second_is_refused() {
    let folder = folder();
    symlink("x.tamis", folder.path("link")).unwrap();
    fs::create_dir(folder.path("d")).unwrap();
    let child = held(&folder, "add x.tamis u.csv");
    for line in [
        "add x.tamis tables/v.csv",
        "add link tables/v.csv",
        "add d/../x.tamis tables/v.csv",
        "merge x.tamis x.tamis -o x.tamis",
        "build t.csv --key k -o x.tamis",
        "filter x.tamis t.csv -o link",
    ] {
        folder.refused(line, 1, &[]);
    }
    folder.refused("add x.tamis tables/v.csv", 1, &["x.tamis", "another process is writing it", "wait"]);
    assert_eq!(go_on(&folder, child).0, Some(0));
    folder.ok("add x.tamis tables/v.csv");
    folder.ok("query x.tamis 79 89");
    folder.ok("verify x.tamis");
}

#[test]
fn a_file_that_was_replaced_while_it_is_added_to_is_not_written_over() {
    let folder = folder();
    let mut child = Guard::start(
        Command::new(TAMIS)
            .args(["add", "x.tamis", "-"])
            .current_dir(folder.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped()),
    );
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"k,g\n").unwrap();
    let locked = || folder.run("add x.tamis u.csv").code == 1;
    until("the other to begin", || locked().then_some(()));
    folder.ok("build u.csv --key k --keys 1000 --exact -o other.tamis");
    for end in ["", ".keys"] {
        fs::rename(folder.path(&format!("other.tamis{end}")), folder.path(&format!("x.tamis{end}"))).unwrap();
    }
    let before = all(&folder);
    stdin.write_all(b"1,1\n").unwrap();
    drop(stdin);
    let (code, said) = child.said();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("was replaced by another process meanwhile"), "{said}");
    assert!(all(&folder) == before);
}

/// Every pair of files of one command that must not be one file: `THIS` is another name of the second.
const PAIRS: [(&str, &str); 26] = [
    ("build t.csv --key k -o THIS", "t.csv"),
    ("build t.csv --key k --params p.json -o THIS", "p.json"),
    ("build t.csv --key k --suffix-list list.dat -o THIS", "list.dat"),
    ("plan t.csv --key k -o THIS", "t.csv"),
    ("plan tables --key k -o THIS", "tables/v.csv"),
    ("plan t.csv --key k --suffix-list list.dat -o THIS", "list.dat"),
    ("plan --keys 1e3 --fpr 0.1 --chart c.svg -o THIS", "c.svg"),
    ("filter x.tamis t.csv -o THIS", "t.csv"),
    ("filter x.tamis t.csv -o THIS", "x.tamis"),
    ("filter x.tamis t.csv -o THIS", "x.tamis.keys"),
    ("filter x.tamis t.csv -o out --rejected THIS", "out"),
    ("filter x.tamis t.csv --suffix-list list.dat --rejected THIS", "list.dat"),
    ("dedup t.csv --key k -o THIS", "t.csv"),
    ("dedup t.csv --key k -o out --rejected THIS", "out"),
    ("dedup t.csv --key k --strict -o out --rejected THIS", "out"),
    ("dedup t.csv --key k --state THIS -o out", "t.csv"),
    ("dedup t.csv --key k --suffix-list list.dat -o THIS", "list.dat"),
    ("test x.tamis t.csv --report THIS", "t.csv"),
    ("test x.tamis t.csv --report THIS", "x.tamis"),
    ("test x.tamis tables --report THIS", "tables/v.csv"),
    ("inspect x.tamis --raw-bits THIS", "x.tamis"),
    ("stream --train t.csv --key k --query u.csv --query-key k --keys 99 -o THIS", "t.csv"),
    ("stream --train t.csv --key k --query u.csv --query-key k --params p.json -o THIS", "p.json"),
    ("stream --train t.csv --key k --query u.csv --query-key k --keys 99 -o out --counts THIS", "out"),
    ("reproduce layers t.csv --keywords g --csv l.csv --report THIS", "t.csv"),
    ("merge x.tamis x.tamis -o THIS", "x.tamis.keys"),
];

#[test]
fn no_name_leads_an_output_to_a_file_that_is_read_or_written_as_well() {
    let folder = folder();
    fs::create_dir(folder.path("d")).unwrap();
    folder.write("out", "k,g\nold,1\n");
    folder.write("c.svg", "old");
    for (line, file) in PAIRS {
        let (soft, hard) = (folder.path("soft"), folder.path("hard"));
        symlink(file, &soft).unwrap();
        fs::hard_link(folder.path(file), &hard).unwrap();
        let before = all(&folder);
        for name in [file, &format!("d/../{file}"), "soft", "hard", "d/../soft"] {
            let line = line.replace("THIS", name);
            let Done { code, err, .. } = folder.run(&line);
            assert!(
                code == 1 && (err.contains("is an input") || err.contains("two outputs")),
                "{line}: {err}"
            );
            assert!(all(&folder) == before, "{line}");
        }
        fs::remove_file(soft).unwrap();
        fs::remove_file(hard).unwrap();
    }
    let line = "stream --train t.csv --key k --query u.csv --query-key k --keys 99 --state S -o";
    folder.ok(&format!("{line} a"));
    folder.refused(&format!("{line} S/commit.json"), 1, &["state folder"]);
    folder.refused(&format!("{line} d/../S/new"), 1, &["state folder"]);
}

/// Commands that write, with `OUT` for a file that they replace. `BAD` is a table that has a bad row, or none.
const WRITERS: [(&str, &[&str]); 9] = [
    ("build BAD --key k -o OUT", &["OUT"]),
    ("build BAD --key k --exact -o OUT", &["OUT", "OUT.keys"]),
    ("add x.tamis BAD", &["x.tamis", "x.tamis.keys"]),
    ("plan BAD --key k -o OUT", &["OUT"]),
    ("filter x.tamis BAD -o OUT --rejected other", &["OUT", "other"]),
    ("dedup BAD --key g -o OUT --rejected other", &["OUT", "other"]),
    ("dedup BAD --key g --strict -o OUT --rejected other", &["OUT", "other"]),
    ("dedup BAD --key g --state s -o OUT --rejected other", &["OUT", "other", "s"]),
    ("test x.tamis BAD --report OUT", &["OUT"]),
];

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Nothing,
    /// A row without a key, at the end.
    Row,
    /// No file may be longer than this many blocks of 512 bytes: as good as a full disk.
    Disk(u8),
}

fn wrong() -> impl Strategy<Value = Wrong> {
    prop_oneof![Just(Wrong::Nothing), Just(Wrong::Row), (0u8..8).prop_map(Wrong::Disk)]
}

#[test]
fn what_is_there_is_replaced_whole_or_not_at_all() {
    let start = folder();
    start.write(
        "rows.csv",
        format!("k,g\n{}", (0..3000).map(|i| format!("{i},{}\n", i % 700)).collect::<String>()),
    );
    start.write("rows-bad.csv", format!("{},\n", start.text("rows.csv") + ",1"));
    let base = all(&start);
    let config = Config { cases: 40, failure_persistence: None, ..Config::default() };
    let cases = (0..WRITERS.len(), wrong(), 0..4usize, any::<bool>());
    TestRunner::new(config)
        .run(&cases, |(writer, wrong, alias, is_there)| {
            let folder = Folder::new();
            base.iter().for_each(|(name, bytes)| folder.write(name, bytes));
            fs::create_dir(folder.path("d")).unwrap();
            let (line, outputs) = WRITERS[writer];
            if is_there || alias > 1 {
                for name in outputs.iter().filter(|name| **name != "s" && !name.starts_with("x.")) {
                    folder.write(&name.replace("OUT", "out"), "what was there");
                }
            }
            match alias {
                2 => symlink("out", folder.path("name")).unwrap(),
                3 => fs::hard_link(folder.path("out"), folder.path("name")).or(Ok::<_, ()>(())).unwrap(),
                _ => {}
            }
            let out = ["out", "d/../out", "name", "out"][alias];
            let table = if wrong == Wrong::Row { "rows-bad.csv" } else { "rows.csv" };
            let line = line.replace("BAD", table).replace("OUT", out);
            let before = all(&folder);
            let limit =
                if let Wrong::Disk(blocks) = wrong { format!("ulimit -f {blocks};") } else { String::new() };
            let Done { code, err, .. } = folder.shell(&format!("trap '' XFSZ; {limit} $TAMIS {line}"));
            let after = all(&folder);
            let written: Vec<String> = outputs.iter().map(|name| name.replace("OUT", "out")).collect();
            if code != 0 && !line.starts_with("test") {
                prop_assert!(after == before, "{line}, {wrong:?}: {err}");
                return Ok(());
            }
            prop_assert!(wrong != Wrong::Row, "{line}: {err}");
            for (name, bytes) in &before {
                let same = after.get(name) == Some(bytes);
                prop_assert!(same || written.contains(name) || name == "name", "{line}: {name} was changed");
            }
            if alias == 3 && after.contains_key("name") {
                prop_assert_eq!(&after["name"], b"what was there");
            }
            // Whole: as they are where nothing was there before.
            let fresh = Folder::new();
            base.iter().for_each(|(name, bytes)| fresh.write(name, bytes));
            fresh.ok(&line.replace(out, "out"));
            for name in written.iter().filter(|name| *name != "s") {
                prop_assert!(after[name] == fresh.read(name), "{line}: {name}");
            }
            Ok(())
        })
        .unwrap();
}

/// The file of `--rejected` had the repetitions of the last run only, and of a run that was killed none.
#[test]
fn with_a_state_repetitions_follow_those_of_earlier_runs() {
    let folder = Folder::new();
    let line = "dedup in --state s -o out --rejected again";
    folder.write("in", "a\nb\na\n");
    folder.ok(line);
    folder.write("in", "a\nb\na\nc\nb\n");
    folder.ok(line);
    assert_eq!((folder.text("out").as_str(), folder.text("again").as_str()), ("a\nb\nc\n", "a\nb\n"));
    // What was written is not replaced by what is new, and what fails changes nothing.
    let before = all(&folder);
    folder.write("again", "a\n");
    folder.refused("dedup in --state s -o out --rejected again", 1, &["again"]);
    folder.write("again", "a\nb\n");
    folder.refused("dedup in --state s -o out --rejected again.gz", 1, &["again.gz", "compressed"]);
    assert!(all(&folder) == before);
    folder.ok("dedup in --state s -o out --rejected others");
    assert_eq!(folder.text("others"), "");
}
