//! `stream --window`: only what came lately is known, by event time and by arrival; the same bytes as
//! `build` of the rows of live panes; after any `kill -9`, too.
#![cfg(target_os = "linux")]

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::stream::keys;
use crate::stream_crash::{Kills, committed, kill_often, start, terminate};
use crate::support::{Dice, Folder, until};

/// Seconds since 1970 of some day in the past.
const DAY: i64 = 1_700_000_000;

/// A log of keys with times that creep on, with some that fall behind, and a gap now and then.
fn log(rows: u64, different: u64, seed: u64) -> Vec<(i64, String)> {
    let mut dice = Dice(seed);
    let mut now = DAY;
    let mut log = Vec::new();
    for key in keys(rows, different, seed) {
        now += dice.below(3) as i64;
        if dice.below(400) == 0 {
            now += dice.below(900) as i64;
        }
        let behind = if dice.below(10) == 0 { dice.below(900) as i64 } else { 0 };
        log.push((now - behind, key));
    }
    log
}

fn csv<'a>(rows: impl IntoIterator<Item = &'a (i64, String)>) -> String {
    rows.into_iter().fold("at,ip\n".to_owned(), |mut text, (time, key)| {
        writeln!(text, "{time},{key}").unwrap();
        text
    })
}

/// The rows in live panes at the end of a log of which late rows are taken, and those that were too
/// old when they came.
fn live(log: &[(i64, String)], window: i64, slide: i64) -> (Vec<(i64, String)>, u64) {
    let (mut newest, mut expired, mut taken) = (i64::MIN, 0, Vec::new());
    let is_live = |time: i64, newest: i64| newest / slide - time / slide <= window / slide;
    for row in log {
        newest = newest.max(row.0);
        if is_live(row.0, newest) { taken.push(row.clone()) } else { expired += 1 }
    }
    taken.retain(|row| is_live(row.0, newest));
    (taken, expired)
}

#[test]
fn the_state_is_what_build_makes_of_the_rows_of_live_panes() {
    let folder = Folder::new();
    let log = log(8_000, 3_000, 4);
    folder.write("log.csv", csv(&log));
    let (taken, expired) = live(&log, 600, 60);
    assert!(taken.len() > 200 && taken.len() < 4_000 && expired > 0, "{} {expired}", taken.len());
    folder.write("live.csv", csv(&taken));
    for (number, kind) in [
        "--keys 3000",
        "--keys 3000 --kind bloom --fpr 0.001",
        "--hash murmur3 --keys 3000",
        "--kind counting --keys 3000",
        "--group ip:prefix=5 --keys 300",
        "--kind count-min --epsilon 0.001",
        "--kind count-min --epsilon 0.01 --counter-bits 32 --group ip:prefix=4",
    ]
    .into_iter()
    .enumerate()
    {
        folder.ok(&format!("build live.csv --key ip {kind} -o built.tamis"));
        for (batch, threads) in [(1_000, 2), (77, 1), (100_000, 3)] {
            let state = format!("run-{number}-{batch}");
            let line = format!(
                "stream --train log.csv --key ip {kind} --window 10m --slide 1m --time at --batch {batch} --threads {threads} --state {state}"
            );
            let found = folder.json(&line);
            let name = if kind.contains("count-min") { "counts" } else { "filter" };
            let same = folder.read(&format!("{state}/{name}.tamis")) == folder.read("built.tamis");
            assert!(same, "{line}");
            let window = &found["window"];
            assert_eq!(window["expired"].as_u64(), Some(expired), "{window}");
            assert_eq!(found["rows"].as_u64(), Some(log.len() as u64 - expired));
            assert_eq!((window["most_panes"].as_u64(), window["ahead"].as_u64()), (Some(11), Some(0)));
            assert!(window["late"].as_u64().unwrap() > 0 && window["late_taken"] == true, "{window}");
            // Panes are files like any other, and are no more than the live ones.
            let files: Vec<_> = fs::read_dir(folder.path(&state)).unwrap().flatten().collect();
            let panes = files.iter().filter(|file| file.file_name().to_string_lossy().contains("-pane-"));
            let panes: Vec<_> = panes.map(|file| file.path().display().to_string()).collect();
            assert_eq!(window["panes"].as_u64(), Some(panes.len() as u64));
            assert!(panes.len() <= 11);
            folder.ok(&format!("merge {} -o merged.tamis", panes.join(" ")));
            assert!(folder.read("merged.tamis") == folder.read("built.tamis"), "{line}: panes");
        }
        folder.ok(&format!(
            "inspect run-{number}-77/{}.tamis",
            if kind.contains("count-min") { "counts" } else { "filter" }
        ));
    }
}

/// Answers are those of the window as of the batch of the query.
#[test]
fn answers_are_of_the_window_at_their_batch() {
    let folder = Folder::new();
    let log = log(3_000, 500, 9);
    let asked = keys(3_000, 500, 10);
    folder.write("log.csv", csv(&log));
    folder.write("ask.csv", asked.iter().fold("ip\n".to_owned(), |text, key| text + key + "\n"));
    let mut seen = String::new();
    let mut hits: HashMap<String, u64> = HashMap::new();
    for (batch, queries) in asked.chunks(100).enumerate() {
        let (taken, _) = live(&log[..(batch + 1) * 100], 300, 60);
        let known: HashSet<&String> = taken.iter().map(|(_, key)| key).collect();
        let mut once = HashSet::new();
        for key in queries.iter().filter(|key| once.insert(*key)) {
            if known.contains(key) {
                seen += &format!("{key}\n");
            }
            *hits.entry(format!("{batch} {key}")).or_default() +=
                taken.iter().filter(|(_, taken)| taken == key).count() as u64;
        }
    }
    folder.ok("stream --train log.csv --query ask.csv --key ip --keys 500 --fpr 1e-9 --window 5m --slide 1m --time at:s --batch 100 -o seen.txt --counts hits.txt --epsilon 0.0001 --delta 0.0001");
    assert!(folder.text("seen.txt") == seen);
    let mut lines = folder.text("hits.txt").lines().map(str::to_owned).collect::<Vec<_>>().into_iter();
    for (batch, queries) in asked.chunks(100).enumerate() {
        let mut once = HashSet::new();
        for key in queries.iter().filter(|key| once.insert(*key)) {
            let line = lines.next().unwrap();
            assert_eq!(line, format!("{key}\t{}", hits[&format!("{batch} {key}")]));
        }
    }
}

#[test]
fn late_expired_and_future_rows_are_counted_and_left_out_as_asked() {
    let folder = Folder::new();
    let future = "2999-01-01T00:00:00Z";
    let rows = [
        ("a", "2026-01-01T00:00:00Z"),
        ("b", "2026-01-01 00:10:00"),
        ("late", "2026-01-01T01:04:00+01:00"),
        ("in-time", "01/Jan/2026:00:08:00 +0000"),
        ("ahead", future),
        ("c", "1767226200"), // 00:10
        ("old", "2025-12-31T22:00:00Z"),
        ("d", "1767226260000"),
    ];
    let text = rows.iter().fold("key,at\n".to_owned(), |text, (key, at)| text + key + "," + at + "\n");
    folder.write("log.csv", text);
    let line = "stream --train log.csv --key key --keys 100 --fpr 1e-9 --window 1h --slide 5m --time at --lateness 5m";
    for (late, state, known) in [("take", "t", 6), ("drop", "d", 5)] {
        let done = folder.run(&format!("{line} --late {late} --state {state} --json"));
        assert_eq!(done.code, 0, "{}", done.err);
        let found: Value = done.out.parse().unwrap();
        let window = &found["window"];
        assert_eq!(found["rows"].as_u64(), Some(known), "{found}");
        assert_eq!(window["late"].as_u64(), Some(1));
        assert_eq!(window["expired"].as_u64(), Some(1));
        assert_eq!(window["ahead"].as_u64(), Some(1));
        assert_eq!(window["newest"], "2026-01-01T00:11:00Z");
        assert!(done.err.contains("2999-01-01T00:00:00Z") && done.err.contains("--ahead"), "{}", done.err);
        assert_eq!(done.err.contains("--late take"), late == "drop", "{}", done.err);
        let asked = folder
            .run_with(&format!("query {state}/filter.tamis"), "a\nb\nlate\nin-time\nahead\nold\nc\nd\n")
            .out;
        let yes: Vec<&str> = asked
            .lines()
            .filter(|line| line.ends_with("yes"))
            .map(|line| line.split('\t').next().unwrap())
            .collect();
        let expected = if late == "take" {
            vec!["a", "b", "late", "in-time", "c", "d"]
        } else {
            vec!["a", "b", "in-time", "c", "d"]
        };
        assert_eq!(yes, expected);
    }
    // Who allows it gets it: everything else expires.
    let found = folder.json(&format!("{line} --ahead 999999d"));
    assert_eq!((found["window"]["ahead"].as_u64(), found["window"]["expired"].as_u64()), (Some(0), Some(3)));
    assert_eq!(found["window"]["newest"], future);
    // As a table, too.
    let table = folder.ok(&format!("{line} --late drop"));
    for text in ["live panes with rows", "late, left out", "expired, left out", "2026-01-01T00:11:00Z"] {
        assert!(table.contains(text), "{table}");
    }
}

#[test]
fn a_time_that_cannot_be_read_is_a_bad_row() {
    let folder = Folder::new();
    folder.write("log.csv", "key,at\na,2026-01-01\nb,soon\nc,\nd,2026-01-02\n");
    let line = "stream --train log.csv --key key --keys 10 --window 7d --time at";
    folder.refused(line, 1, &["log.csv, line 3", "in the time", "soon", "--bad-rows skip"]);
    folder.write("empty.csv", "key,at\na,\n");
    folder.refused(
        "stream --train empty.csv --key key --keys 9 --window 7d --time at",
        1,
        &["line 2", "in the time: an empty cell"],
    );
    folder.refused(&format!("{line}:ms"), 1, &["line 2", "in the time"]);
    let found = folder.json(&format!("{line} --bad-rows skip"));
    assert_eq!((found["rows"].as_u64(), found["skipped"].as_u64()), (Some(2), Some(2)));
    folder.refused(
        "stream --train log.csv --key key --keys 10 --window 7d --time when",
        1,
        &["when", "key, at"],
    );
}

#[test]
fn a_state_with_other_windows_is_refused() {
    let folder = Folder::new();
    folder.write("log.csv", "key,at\na,2026-01-01\nb,2026-01-02\n");
    let line = "stream --train log.csv --key key --keys 10 --state state";
    folder.ok(&format!("{line} --window 4d --slide 1d --time at"));
    for (options, says) in [
        ("", "the window is \"4d\" there and nothing here"),
        ("--window 4d --slide 2d --time at", "the slide is \"24h\" there and \"2d\" here"),
        ("--window 8d --slide 1d --time at", "the window is \"4d\" there"),
        ("--window 4d --slide 1d --time at --late drop", "what happens to late rows is"),
        ("--window 4d --slide 1d --time at --lateness 1s", "the allowed lateness is"),
        ("--window 4d --slide 1d --time key", "the column of times is"),
    ] {
        folder.refused(&format!("{line} {options}"), 1, &["another job", says, "the same job"]);
    }
    let found = folder.json(&format!("{line} --window 4d --slide 1d --time at"));
    assert_eq!((found["resumed"].as_bool(), found["window"]["panes"].as_u64()), (Some(true), Some(2)));
    // And the other way round.
    folder.ok("stream --train log.csv --key key --keys 10 --state plain");
    folder.refused(
        "stream --train log.csv --key key --keys 10 --state plain --window 4d --time at",
        1,
        &["another job", "the window is nothing there and \"4d\" here"],
    );
    // A pane that is lost or damaged is no reason to forget it in silence.
    let pane = fs::read_dir(folder.path("state")).unwrap().flatten().map(|file| file.path());
    let pane = pane.into_iter().find(|path| path.display().to_string().contains("-pane-")).unwrap();
    let bytes = fs::read(&pane).unwrap();
    let line = format!("{line} --window 4d --slide 1d --time at");
    let mut broken = bytes.clone();
    let at = broken.len() - 20;
    broken[at] ^= 1;
    fs::write(&pane, broken).unwrap();
    folder.refused(&line, 1, &["-pane-"]);
    fs::remove_file(&pane).unwrap();
    folder.refused(&line, 1, &["-pane-"]);
    fs::write(&pane, bytes).unwrap();
    folder.ok(&line);
}

/// By arrival, in real time: what came is known, and forgotten when the window has passed, though
/// nothing comes any more.
#[test]
fn what_arrived_is_forgotten_after_the_window_even_if_nothing_comes() {
    let folder = Folder::new();
    folder.write("log.txt", "a\nb\nc\n");
    let line = "stream --train log.txt --follow --keys 100 --fpr 1e-9 --window 2s --slide 500ms --every 20ms --commit-every 0 --state state --log json -q";
    let since = Instant::now(); // no row can have come before
    let mut child = start(&folder, line);
    let knows = |key: &str| {
        folder.path("state/filter.tamis").exists()
            && folder.run(&format!("query state/filter.tamis {key}")).code == 0
    };
    until("a row", || knows("a").then_some(()));
    until("the end of the window", || (!knows("a")).then_some(()));
    // However slow the machine is: a row is known for the whole window.
    assert!(since.elapsed() >= Duration::from_secs(2), "not before the window has passed");
    let mut file = OpenOptions::new().append(true).open(folder.path("log.txt")).unwrap();
    file.write_all(b"d\n").unwrap();
    until("another row", || knows("d").then_some(()));
    terminate(&child);
    let (code, said) = child.said();
    assert_eq!(code, Some(0), "{said}");
    let batch: Value = said.lines().next().unwrap().parse().unwrap();
    assert_eq!(batch["window"]["most_panes"].as_u64(), Some(5), "{batch}");
    assert!(!knows("a"));
}

/// Killed at any moment, by event time: all files are those of a run that was never disturbed.
#[test]
fn killed_at_any_moment_a_window_is_what_it_would_have_been() {
    let mut dice = Dice(41);
    for kind in [
        "--keys 4000",
        "--kind count-min --epsilon 0.001",
        "--keys 400 --group ip:prefix=4 --late drop --lateness 1m",
        "--keys 4000 --counts hits.txt --epsilon 0.001",
    ] {
        let folder = Folder::new();
        folder.write("log.csv", csv(&log(12_000, 4_000, 5)));
        folder.write(
            "ask.csv",
            keys(10_000, 4_000, 6).iter().fold("ip\n".to_owned(), |text, key| text + key + "\n"),
        );
        let line = format!(
            "stream --train log.csv --query ask.csv --key ip --window 10m --slide 1m --time at --batch 400 --threads 2 {kind} -q"
        );
        kill_often(&folder, &line, 6, &mut dice);
    }
}

/// By arrival, the panes of rows are those that the killed run had logged: at the end, every row that
/// came is in exactly one pane, and none is there twice.
#[test]
fn killed_at_any_moment_rows_that_arrived_stay_in_the_pane_of_their_batch() {
    let folder = Folder::new();
    folder.write("log.txt", "");
    let line =
        "stream --train log.txt --follow --keys 9000 --window 15m --slide 100ms --every 5ms --state state -q";
    let mut dice = Dice(7);
    let mut seen = Kills::default();
    let mut file = OpenOptions::new().append(true).open(folder.path("log.txt")).unwrap();
    let moments = || -> HashMap<u64, i64> {
        let text = fs::read_to_string(folder.path("state/plan.log")).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.parse::<Value>().ok());
        lines
            .map(|line| (line["of"]["batch"].as_u64().unwrap(), line["of"]["moment"].as_i64().unwrap()))
            .collect()
    };
    let mut rows = 0;
    for round in 0..25u64 {
        let commits = if round.is_multiple_of(3) { "--commit-every 0" } else { "--commit-every 1h" };
        let (before, begun) = (committed(&folder, "state"), moments());
        let mut child = start(&folder, &format!("{line} {commits}"));
        for _ in 0..3 {
            let count = 1 + dice.below(60);
            (0..count).for_each(|row| writeln!(file, "{}", rows + row).unwrap());
            rows += count;
            std::thread::sleep(Duration::from_millis(5 + dice.below(20)));
        }
        let since = Instant::now();
        // A run that is killed before it does anything makes no pane: on a busy machine that may take a while.
        let moved = || {
            committed(&folder, "state") > before || moments().keys().any(|batch| !begun.contains_key(batch))
        };
        while !moved() && since.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let logged = moments();
        child.kill().unwrap();
        child.wait().unwrap();
        seen.see(&folder, "state");
        // A logged batch keeps its time when it is run again.
        let later = moments();
        assert!(logged.iter().all(|(batch, moment)| later.get(batch).is_none_or(|later| later == moment)));
    }
    let mut child = start(&folder, &format!("{line} --commit-every 0"));
    let tally = || -> u64 {
        let done = folder.run("inspect state/filter.tamis --json");
        let found: Value = done.out.parse().unwrap_or_default();
        found["rows"].as_u64().or_else(|| found["groups"][0]["rows"].as_u64()).unwrap_or(0)
    };
    until("all rows", || (tally() == rows).then_some(()));
    terminate(&child);
    assert_eq!(child.said().0, Some(0));
    assert_eq!(tally(), rows, "none is lost, none is there twice");
    let panes = fs::read_dir(folder.path("state")).unwrap().flatten();
    let panes: Vec<_> =
        panes.map(|file| file.path().display().to_string()).filter(|name| name.contains("-pane-")).collect();
    folder.ok(&format!("merge {} -o merged.tamis", panes.join(" ")));
    assert!(folder.read("merged.tamis") == folder.read("state/filter.tamis"));
    let text = (0..rows).fold(String::new(), |text, row| text + &format!("{row}\n"));
    folder.write("all.txt", text);
    folder.ok("build all.txt --keys 9000 -o built.tamis");
    assert!(folder.read("built.tamis") == folder.read("state/filter.tamis"));
    assert!(panes.len() > 5 && seen.kills >= 25 && seen.resumed >= 5 && seen.replayed >= 3, "{seen:?}");
}

#[test]
fn a_window_is_seen_from_outside() {
    let folder = Folder::new();
    folder.write("log.csv", csv(&log(500, 100, 3)));
    let done = folder.run("stream --train log.csv --key ip --window 10m --slide 1m --time at --state s");
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.err.contains("1,048,576 distinct keys"), "{}", done.err);
    let done = folder.run("stream --train log.csv --key ip --keys 1e7 --window 10d --slide 1h --time at");
    assert!(done.err.contains("of memory") && done.err.contains("a longer slide"), "{}", done.err);
}

#[test]
fn numbers_that_may_be_a_year_are_no_times_and_compact_dates_are() {
    let folder = Folder::new();
    let line = "stream --train log.csv --key key --keys 10 --window 7d --state";
    for at in ["2025", "202510", "2025274"] {
        folder.write("log.csv", format!("key,at\na,{at}\n"));
        folder.refused(&format!("{line} s{at} --time at"), 1, &["log.csv, line 2", "not a valid time"]);
    }
    // A second apart, in three forms: none is late.
    folder.write("log.csv", "key,at\na,202510011255\nb,20251001125501\nc,2025-10-01T12:55:02Z\n");
    let done = folder.json(&format!("{line} s --time at --lateness 3s"));
    assert_eq!(done["rows"], 3, "{done}");
}
