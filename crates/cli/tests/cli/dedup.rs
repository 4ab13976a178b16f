//! `dedup`: the first time only, whatever the threads; a state between runs that survives its end
//! at any moment.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::chosen_keys::of_one_hash;
use crate::support::{Folder, Guard, TAMIS, container, until};

/// Records with a key that repeats and something beside it.
fn events(count: u64, keys: u64) -> String {
    let mut state = 7u64;
    let mut text = String::new();
    for i in 0..count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        writeln!(text, "user{},{i},\"a \"\"b\"\"\nc\"", (state >> 33) % keys).unwrap();
    }
    text
}

/// What a sequential pass with a set lets through. Records have two lines each.
fn model(records: &str, seen: &mut HashSet<String>) -> String {
    let lines: Vec<&str> = records.split_inclusive('\n').collect();
    let is_first = |record: &&[&str]| seen.insert(record[0].split(',').next().unwrap().to_owned());
    lines.chunks(2).filter(is_first).map(<[&str]>::concat).collect()
}

#[test]
fn the_first_occurrences_pass_in_order_whatever_the_threads() {
    let folder = Folder::new();
    let records = events(30_000, 9_000);
    folder.write("in.csv", format!("id,n,text\n{records}"));
    let expected = format!("id,n,text\n{}", model(&records, &mut HashSet::new()));
    for threads in [1, 2, 5] {
        let found = folder.json(&format!(
            "dedup in.csv --key id --seed 1 -o out.csv --rejected rest.csv --threads {threads}"
        ));
        assert!(folder.text("out.csv") == expected, "{threads} threads");
        assert_eq!(found["records"], 30_000);
        assert_eq!(found["first"].as_u64().unwrap() + found["repeated"].as_u64().unwrap(), 30_000);
        assert!(found["dropped_expected"].as_f64().unwrap() < 0.1);
        let both = folder.text("out.csv").len() + folder.text("rest.csv").len();
        assert_eq!(both, records.len() + 2 * "id,n,text\n".len(), "every record is in one of the two");
    }
    let piped = folder.shell("cat in.csv | $TAMIS dedup - --format csv --key id --seed 1 -q");
    assert!(piped.code == 0 && piped.out == expected);
}

#[test]
fn a_loose_filter_drops_some_and_says_so_and_strict_drops_none_in_little_memory() {
    let folder = Folder::new();
    let records = events(30_000, 25_000);
    folder.write("in.csv", format!("id,n,text\n{records}"));
    let expected = format!("id,n,text\n{}", model(&records, &mut HashSet::new()));
    // A filter of a hundredth of the size it would need is full at once and errs on purpose.
    let loose = folder.json("dedup in.csv --key id --fpr 0.9 -o out.csv");
    assert!(loose["dropped_expected"].as_f64().unwrap() > 0.0);
    for memory in ["1kB", "100kB", "256MB"] {
        for threads in [1, 3] {
            let line = format!(
                "dedup in.csv --key id --strict --fpr 0.9 --memory {memory} --threads {threads} -o out.csv"
            );
            let strict = folder.json(&line);
            assert!(folder.text("out.csv") == expected, "{line}");
            assert_eq!(strict["dropped_expected"], 0.0);
        }
    }
    let piped = folder.shell("cat in.csv | $TAMIS dedup - --format csv --key id --strict -q");
    assert!(piped.code == 0 && piped.out == expected);
    folder.refused("dedup in.csv --key id --strict --state s -o out.csv", 2, &["--strict", "--state"]);
    folder.is_clean();
}

#[test]
fn tomorrow_is_freed_of_what_came_today() {
    let folder = Folder::new();
    let (today, tomorrow) = (events(5_000, 4_000), events(9_000, 6_000));
    folder.write("today.csv", format!("id,n,text\n{today}"));
    folder.write("tomorrow.csv", format!("id,n,text\n{tomorrow}"));
    let mut seen = HashSet::new();
    folder.ok("dedup today.csv --key id --seed 1 --state seen.tamis -o a.csv");
    assert_eq!(folder.text("a.csv"), format!("id,n,text\n{}", model(&today, &mut seen)));
    folder.ok("dedup tomorrow.csv --key id --state seen.tamis -o b.csv");
    assert_eq!(folder.text("b.csv"), format!("id,n,text\n{}", model(&tomorrow, &mut seen)));
    // The state is a file of filters like any other.
    let inspected = folder.json("inspect seen.tamis");
    assert_eq!(inspected["groups"][0]["estimated_keys"], seen.len() as f64);
    assert_eq!(inspected["groups"][0]["rows"], 14_000);
    folder.ok("query seen.tamis user1");
    folder.ok("verify seen.tamis");
    // What was done is not done again.
    let again = folder.json("dedup tomorrow.csv --key id --state seen.tamis -o b.csv");
    assert!(again["resumed"] == true && again["records"] == 0);
    assert_eq!(folder.names(), ["a.csv", "b.csv", "seen.tamis", "today.csv", "tomorrow.csv"]);
}

#[test]
fn a_file_that_grows_is_read_on_even_from_the_middle_of_a_line() {
    let folder = Folder::new();
    folder.write("log", "a\nb\na\nc");
    folder.ok("dedup log --state s -o out");
    assert_eq!(folder.text("out"), "a\nb\na\nc".replace("\na\n", "\n"));
    folder.write("log", "a\nb\na\nc\nb\nd\n");
    assert_eq!(folder.json("dedup log --state s -o out")["resumed"], true);
    assert_eq!(folder.text("out"), "a\nb\nc\nd\n");
    // The line that had no end yet goes on: it is another record.
    folder.write("log", "a\nb\na\nc\nb\nd\nxy");
    folder.ok("dedup log --state s -o out");
    folder.write("log", "a\nb\na\nc\nb\nd\nxyz\n");
    folder.ok("dedup log --state s -o out");
    assert_eq!(folder.text("out"), "a\nb\nc\nd\nxy\nxyz\n");
    // Another file of the same name is not read on; what was written stays.
    folder.write("log", "q\na\nb\na\nc\nb\nd\nxyz\nand more\n");
    assert_eq!(folder.json("dedup log --state s -o out")["resumed"], false);
    assert_eq!(folder.text("out"), "a\nb\nc\nd\nxy\nxyz\nq\nand more\n");
}

#[test]
fn a_filter_that_build_made_can_be_the_state() {
    let folder = Folder::new();
    folder.write("known.txt", "a\nb\n");
    folder.write("in.txt", "b\nc\nc\na\nd\n");
    folder.ok("build known.txt --keys 1000 --fpr 0.0001 -o known.tamis");
    folder.ok("dedup in.txt --state known.tamis -o out.txt");
    assert_eq!(folder.text("out.txt"), "c\nd\n");
    folder.refused("dedup in.txt --state known.tamis --fpr 0.5 -o out.txt", 1, &["0.0001", "0.5"]);
    folder.ok("build known.txt --kind fuse -o static.tamis");
    folder.refused("dedup in.txt --state static.tamis -o out.txt", 1, &["fuse", "blocked"]);
    folder.ok("build known.txt --hash murmur3 -o murmur.tamis");
    folder.refused("dedup in.txt --state murmur.tamis -o out.txt", 1, &["murmur3"]);
    folder.write("grouped.tsv", "k\tg\na\t1\n");
    folder.ok("build grouped.tsv --key k --group g -o grouped.tamis");
    folder.refused("dedup in.txt --state grouped.tamis -o out.txt", 1, &["groups"]);
}

#[test]
fn a_filter_of_fixed_size_says_that_it_is_full_and_drops_nothing_for_it() {
    let folder = Folder::new();
    let lines: String = (0..10_000).map(|i| format!("{i}\n")).collect();
    folder.write("in.txt", lines.repeat(2));
    let line = "dedup in.txt --size 4kB --seed 1 --state s -o out.txt";
    let done = folder.run(&format!("{line} --json"));
    assert!(done.err.contains("full") && done.err.contains("--size"), "{}", done.err);
    let found: serde_json::Value = done.out.parse().unwrap();
    let (keys, first) = (found["keys"].as_u64().unwrap(), found["first"].as_u64().unwrap());
    assert!(keys > 100 && first + keys >= 20_000 - 2, "{found}");
    assert_eq!(found["bytes"], 3968);
    folder.refused("dedup in.txt --size 8kB --state s -o out.txt", 1, &["--size"]);
    folder.refused("dedup in.txt --size 1 -o out.txt", 1, &["1 B cannot hold a key"]);
}

#[test]
fn bad_states_and_outputs_are_refused_and_left_alone() {
    let folder = Folder::new();
    folder.write("in.txt", "a\n");
    folder.write("junk", "no filters");
    folder.refused("dedup in.txt --state junk -o out.txt", 1, &["junk"]);
    folder.refused("dedup in.txt --state in.txt -o out.txt", 1, &["in.txt"]);
    folder.refused("dedup in.txt --state s -o out.gz", 2, &["compressed"]);
    folder.refused("dedup in.txt --state s -o in.txt", 2, &["is an input"]);
    folder.refused("dedup in.txt --state s -o s", 2, &["used for two outputs"]);
    folder.refused("dedup in.txt --key 2 -o out.txt", 1, &["2"]);
    folder.refused("dedup missing.txt -o out.txt", 1, &["missing.txt"]);
    let told = folder.ok("dedup in.txt --state s -o out.txt");
    assert!(told.lines().any(|line| line.starts_with("memory ")), "{told}");
    let mut bytes = folder.read("s");
    let at = bytes.len() - 3;
    bytes[at] ^= 1;
    folder.write("s", &bytes);
    folder.refused("dedup in.txt --state s -o out.txt", 1, &["journal"]);
    assert_eq!(folder.read("s"), bytes);
    folder.is_clean();
}

#[test]
fn a_state_in_use_is_refused_to_another() {
    let folder = Folder::new();
    folder.write("in.txt", "a\n");
    let mut first = Guard::start(
        Command::new(TAMIS)
            .args(["dedup", "-", "--format", "lines", "--state", "s", "-o", "out.txt"])
            .current_dir(folder.path(""))
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .stdout(Stdio::null()),
    );
    first.stdin.as_mut().unwrap().write_all(b"x\n").unwrap();
    until("a lock", || folder.path("s.lock").exists().then_some(()));
    // The lock exists a moment before it is held.
    let refused = (0..500).any(|_| {
        thread::sleep(Duration::from_millis(2));
        folder.run("dedup in.txt --state s -o other.txt").err.contains("another process")
    });
    assert!(refused);
    drop(first.stdin.take());
    assert!(first.end().success());
    folder.ok("dedup in.txt --state s -o other.txt");
    assert!(!folder.path("s.lock").exists());
}

/// Ended by SIGKILL at many moments and begun again, it leaves the same output and the same state
/// as a run that was never disturbed.
#[test]
#[cfg(unix)]
fn killed_at_any_moment_and_begun_again_nothing_is_lost_or_doubled() {
    let folder = Folder::new();
    let records = events(120_000, 70_000);
    folder.write("in.csv", format!("id,n,text\n{records}"));
    let line = "dedup in.csv --key id --seed 1 --threads 2 --commit-every 0ms -q";
    folder.ok(&format!("{line} --state calm.tamis -o calm.csv"));
    assert_eq!(folder.text("calm.csv"), format!("id,n,text\n{}", model(&records, &mut HashSet::new())));

    let (mut kills, mut progressed) = (0, HashSet::new());
    for round in 0u64.. {
        let mut child = Guard::start(
            Command::new(TAMIS)
                .args(line.split_whitespace())
                .args(["--state", "state.tamis", "-o", "out.csv"])
                .current_dir(folder.path(""))
                .stdout(Stdio::null()),
        );
        // Later and later, so that it comes to an end.
        thread::sleep(Duration::from_micros(500 + round * round * 37 % 9_000 + round * 250));
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            break;
        }
        kills += 1;
        if folder.path("state.tamis").exists() {
            progressed.insert(container(&folder.path("state.tamis")).tallies()[0].rows);
        }
        assert!(kills < 500);
    }
    assert!(kills >= 10 && !progressed.is_empty(), "{kills} kills, states after {progressed:?} rows");
    assert!(folder.read("out.csv") == folder.read("calm.csv"));
    let (calm, state) = (container(&folder.path("calm.tamis")), container(&folder.path("state.tamis")));
    assert!(calm.data() == state.data() && calm.tallies() == state.tallies());
}

/// All but one of them were dropped, and none was expected to be.
#[test]
fn keys_that_strangers_choose_are_not_dropped() {
    let folder = Folder::new();
    folder.write("in.txt", of_one_hash(0..2000));
    let passed =
        |line: &str| folder.json(&format!("dedup in.txt --format lines {line} --count"))["first"].clone();
    assert_eq!(passed("--seed 0"), 1, "the attack");
    assert_eq!(
        (passed(""), passed("--strict"), passed("--size 1MB")),
        (2000.into(), 2000.into(), 2000.into())
    );
    // The state keeps its seed; another one is refused.
    for out in ["2000", "0"] {
        let found = folder.json("dedup in.txt --format lines --state s --rejected r -o out");
        assert_eq!(found["first"].to_string(), out);
    }
    folder.refused(
        "dedup in.txt --format lines --state s -o out --seed 5",
        1,
        &["s: hashes keys with xxh3", "leave out --seed"],
    );
    // With one seed, runs are the same.
    for state in ["a", "b"] {
        folder.ok(&format!("dedup in.txt --format lines --seed 5 --state {state} -o {state}.txt -q"));
    }
    assert_eq!(folder.read("a").len(), folder.read("b").len());
    assert_eq!(folder.json("inspect a")["groups"], folder.json("inspect b")["groups"]);
}
