//! The law of writing: an output that exists is replaced whole or not at all or, where it is continued, only
//! extended; a job that cannot go on says so before it touches anything.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

use crate::support::{Dice, Done, Folder, Guard, TAMIS, until};

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
        child.kill().unwrap();
        child.end();
        fs::remove_file(folder.path("held")).unwrap();
        assert!(all(&folder) == before, "{line}");
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
    ] {
        folder.refused(line, 1, &[]);
    }
    folder.refused("filter x.tamis t.csv -o link", 2, &["is an input"]);
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
    // More than a pipe holds: it has begun to read.
    stdin.write_all(("k,g\n".to_owned() + &"1,1\n".repeat(1 << 20)).as_bytes()).unwrap();
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
const PAIRS: [(&str, &str); 29] = [
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
    ("dedup t.csv --key k --suffix-list list.dat -o THIS", "list.dat"),
    ("test x.tamis t.csv --report THIS", "t.csv"),
    ("test x.tamis t.csv --report THIS", "x.tamis"),
    ("test x.tamis tables --report THIS", "tables/v.csv"),
    ("test x.tamis t.csv --csv THIS", "t.csv"),
    ("test x.tamis t.csv --csv THIS", "x.tamis"),
    ("plan t.csv --key k --csv THIS", "t.csv"),
    ("inspect x.tamis --raw-bits THIS", "x.tamis"),
    ("stream --train t.csv --key k --query u.csv --query-key k --keys 99 -o THIS", "t.csv"),
    ("stream --train t.csv --key k --query u.csv --query-key k --params p.json -o THIS", "p.json"),
    ("stream --train t.csv --key k --query u.csv --query-key k --keys 99 -o out --counts THIS", "out"),
    ("reproduce ratings t.csv --csv THIS", "t.csv"),
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
                code == 2 && (err.contains("is an input") || err.contains("two outputs")),
                "{line}: {err}"
            );
            assert!(all(&folder) == before, "{line}");
        }
        fs::remove_file(soft).unwrap();
        fs::remove_file(hard).unwrap();
    }
    fs::create_dir(folder.path("S")).unwrap();
    for name in ["S/commit.json", "d/../S/filter.tamis"] {
        let line = format!("stream --train t.csv --key k --query u.csv --keys 99 --state S -o {name}");
        folder.refused(&line, 1, &["is the name of a file of the state"]);
        assert!(!folder.path(name).exists());
    }
}

/// Commands that write, with `OUT` for a file that they replace. `BAD` is a table that has a bad row, or none.
const WRITERS: [(&str, &[&str]); 8] = [
    ("build BAD --key k -o OUT", &["OUT"]),
    ("build BAD --key k --exact -o OUT", &["OUT", "OUT.keys"]),
    ("add x.tamis BAD", &["x.tamis", "x.tamis.keys"]),
    ("plan BAD --key k -o OUT", &["OUT"]),
    ("filter x.tamis BAD -o OUT --rejected other", &["OUT", "other"]),
    ("dedup BAD --key g -o OUT --rejected other", &["OUT", "other"]),
    ("dedup BAD --key g --strict -o OUT --rejected other", &["OUT", "other"]),
    ("dedup BAD --key g --state s -o OUT --rejected other", &["OUT", "other", "s"]),
];

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Nothing,
    /// A row without a key, at the end.
    Row,
    /// No file may be longer than this many blocks of 512 bytes: as good as a full disk.
    Disk(u64),
}

impl Wrong {
    fn any(dice: &mut Dice) -> Wrong {
        match dice.below(3) {
            0 => Wrong::Nothing,
            1 => Wrong::Row,
            _ => Wrong::Disk(dice.below(8)),
        }
    }
}

/// The name by which an output is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alias {
    Own,
    Dots,
    Link,
    HardLink,
}

#[test]
fn what_is_there_is_replaced_whole_or_not_at_all() {
    let start = folder();
    let rows: String = (0..3000).map(|i| format!("{i},{}\n", i % 700)).collect();
    start.write("rows.csv", format!("k,g\n{rows}"));
    start.write("rows-bad.csv", format!("k,g\n{rows},\n"));
    let base = all(&start);
    let mut dice = Dice(7);
    for case in 0..48 {
        let writer = WRITERS[case % WRITERS.len()];
        let wrong = Wrong::any(&mut dice);
        let alias = [Alias::Own, Alias::Dots, Alias::Link, Alias::HardLink][dice.below(4) as usize];
        replaces_whole_or_not_at_all(&base, writer, wrong, alias, dice.below(2) == 0);
    }
}

fn replaces_whole_or_not_at_all(
    base: &BTreeMap<String, Vec<u8>>,
    (line, outputs): (&str, &[&str]),
    wrong: Wrong,
    alias: Alias,
    is_free: bool,
) {
    let folder = Folder::new();
    base.iter().for_each(|(name, bytes)| folder.write(name, bytes));
    fs::create_dir(folder.path("d")).unwrap();
    let linked = matches!(alias, Alias::Link | Alias::HardLink);
    if !is_free || linked {
        for name in outputs.iter().filter(|name| **name != "s" && !name.starts_with("x.")) {
            folder.write(&name.replace("OUT", "out"), "what was there");
        }
    }
    match alias {
        Alias::Link => symlink("out", folder.path("name")).unwrap(),
        Alias::HardLink if folder.path("out").exists() => {
            fs::hard_link(folder.path("out"), folder.path("name")).unwrap();
        }
        _ => {}
    }
    let out = match alias {
        Alias::Own | Alias::HardLink => "out",
        Alias::Dots => "d/../out",
        Alias::Link => "name",
    };
    let table = if wrong == Wrong::Row { "rows-bad.csv" } else { "rows.csv" };
    let line = line.replace("BAD", table).replace("OUT", out);
    let before = all(&folder);
    let limit = if let Wrong::Disk(blocks) = wrong { format!("ulimit -f {blocks};") } else { String::new() };
    let Done { code, err, .. } = folder.shell(&format!("trap '' XFSZ; {limit} $TAMIS {line}"));
    let after = all(&folder);
    if code != 0 {
        assert!(after == before, "{line}, {wrong:?}, {alias:?}: {err}");
        return;
    }
    assert!(wrong != Wrong::Row, "{line}: {err}");
    let written: Vec<String> = outputs.iter().map(|name| name.replace("OUT", "out")).collect();
    for (name, bytes) in &before {
        let may_change = written.contains(name) || (name == "name" && alias == Alias::Link);
        assert!(may_change || after.get(name) == Some(bytes), "{line}: {name} was changed");
    }
    // Whole: as they are where nothing was there before.
    let fresh = Folder::new();
    base.iter().for_each(|(name, bytes)| fresh.write(name, bytes));
    fresh.ok(&line.replace(out, "out"));
    for name in written.iter().filter(|name| *name != "s") {
        assert!(after[name] == fresh.read(name), "{line}: {name}");
    }
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
    folder.refused("dedup in --state s -o out --rejected again.gz", 2, &["again.gz", "compressed"]);
    assert!(all(&folder) == before);
    folder.ok("dedup in --state s -o out --rejected others");
    assert_eq!(folder.text("others"), "");
}

/// Where a shell lets the streams of the program lead is compared with files, too: what was admitted was
/// overwritten, an input was replaced, and a job read for ever what it wrote.
#[test]
fn redirected_streams_are_files_as_others_are() {
    let folder = Folder::new();
    folder.write("in.txt", "1\n2\n1\n");
    folder.write("one.txt", "1\n");
    folder.ok("build one.txt -o f.tamis -q");
    for line in [
        "$TAMIS filter f.tamis in.txt --rejected r > r",
        "$TAMIS filter f.tamis in.txt -o /dev/stdout --rejected r > r",
        "$TAMIS filter f.tamis in.txt --rejected /dev/stdout > r",
        "$TAMIS dedup in.txt --bad-rows-to r > r",
        "$TAMIS stream --train one.txt --query in.txt --keys 9 --bad-rows-to r > r",
        "$TAMIS stream --train one.txt --query in.txt --keys 9 >> in.txt",
        "$TAMIS filter f.tamis in.txt >> in.txt",
        "$TAMIS dedup in.txt --rejected r >> in.txt",
        "$TAMIS filter f.tamis - --format lines -o in.txt < in.txt",
        "$TAMIS dedup - --format lines -o in.txt < in.txt",
        "$TAMIS build - --format lines -o in.txt < in.txt",
    ] {
        let done = folder.shell(line);
        assert_ne!(done.code, 0, "{line}");
        let says = ["is used for two outputs", "would be overwritten", "names a text"];
        assert!(says.iter().any(|says| done.err.contains(says)), "{line}: {}", done.err);
        assert_eq!(folder.text("in.txt"), "1\n2\n1\n", "{line}");
    }
}

/// `/dev/stdout` on a file was replaced by a new one, and what stood there before and came after was gone.
#[test]
fn the_names_of_open_files_are_written_to_or_refused_and_never_replaced() {
    let folder = Folder::new();
    folder.write("in.txt", "1\n2\n1\n");
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        folder.shell(&format!("(echo before; $TAMIS dedup in.txt -o {name} -q; echo after) > log"));
        assert_eq!(folder.text("log"), "before\n1\n2\nafter\n", "{name}");
    }
    let done =
        folder.shell("(echo before >&2; $TAMIS dedup in.txt --rejected /dev/stderr -q >/dev/null) 2> log");
    assert_eq!((done.code, folder.text("log").as_str()), (0, "before\n1\n"));
    for line in
        ["build in.txt -o /dev/stdout", "generate words --rows 3 -o /dev/fd/1", "plan in.txt -o /dev/stdout"]
    {
        let done = folder.shell(&format!("$TAMIS {line} > log"));
        assert_ne!(done.code, 0, "{line}");
        assert!(done.err.contains("name the file itself"), "{line}: {}", done.err);
    }
}

/// What is lost when a file is cut while it is read was not noticed, and its last row was torn.
#[test]
fn an_input_that_is_cut_while_it_is_read_is_an_error() {
    let folder = Folder::new();
    folder.write("in.txt", (0..2_000_000).map(|i| format!("row number {i:09}\n")).collect::<String>());
    // Its reader waits, and so it reads no further.
    let mut child = Guard::start(
        Command::new(TAMIS)
            .args(["dedup", "in.txt", "--threads", "1"])
            .current_dir(folder.path(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()),
    );
    let mut out = child.stdout.take().unwrap();
    std::io::Read::read_exact(&mut out, &mut [0; 100]).unwrap();
    fs::OpenOptions::new().write(true).open(folder.path("in.txt")).unwrap().set_len(1000).unwrap();
    std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    let (code, said) = child.said();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("in.txt") && said.contains("cut while it was read"), "{said}");
}
