//! Runs that end at a certain step of a commit, each step in turn, and are continued: output and state
//! are those of a run that was never disturbed. Only programs with debug assertions have the steps.
#![cfg(all(debug_assertions, target_os = "linux"))]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use crate::stream::{keys, lines};
use crate::stream_crash::{begin_again, committed, is_calm, start, terminate};
use crate::stream_follow::long_ago;
use crate::support::{Folder, Guard, TAMIS, container, until};

/// Runs until this step, for the time of this number, and no further.
fn end_at(folder: &Folder, line: &str, step: &str, time: usize) {
    let mut child = Guard::start(
        Command::new(TAMIS)
            .args(line.split_whitespace())
            .env("TAMIS_TEST_END_AT", format!("{step}:{time}"))
            .current_dir(folder.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::piped()),
    );
    let status = child.end();
    assert!(status.signal().is_some(), "{line}: {step} was not reached {time} times: {status}");
}

/// In the order in which a batch and its commit reach them.
const STREAM: [&str; 11] = [
    "stream/planned",
    "stream/answered",
    "stream/commit",
    "stream/synced",
    "stream/learned",
    "stream/half-written",
    "stream/renamed",
    "stream/linked",
    "stream/lasting",
    "stream/log-cut",
    "stream/forgotten",
];

#[test]
fn a_stream_that_ends_at_any_step_of_a_commit_is_continued() {
    let folder = Folder::new();
    let table = |keys: &[String]| -> String {
        let rows = keys.iter().enumerate().map(|(i, key)| format!("{key},2020-01-{:02}\n", i / 4 + 1));
        "key,at\n".to_owned() + &rows.collect::<String>()
    };
    folder.write("train.csv", table(&keys(40, 30, 1)));
    folder.write("ask.txt", lines(&keys(40, 30, 2)));
    for options in ["--counts hits.txt --epsilon 0.1", "--window 3d --slide 1d --time at"] {
        let line = format!(
            "stream --train train.csv --key key --query ask.txt --query-key 1 --keys 30 --batch 10 --threads 1 -q {options}"
        );
        let calm = format!("{line} --commit-every 0 --state calm -o calm.txt");
        let _ = fs::remove_dir_all(folder.path("calm"));
        folder.ok(&calm.replace("hits.txt", "calm-hits.txt"));
        for (number, step) in STREAM.into_iter().enumerate() {
            for time in [1, 3] {
                begin_again(&folder);
                let line = format!("{line} --state state -o out.txt");
                // Several batches that were begun, and none of them committed.
                let seldom = time == 3 && ["stream/planned", "stream/answered"].contains(&step);
                let often = if seldom { "1h" } else { "0" };
                end_at(&folder, &format!("{line} --commit-every {often}"), step, time);
                // The run that continues it ends early, too: by turns at every step.
                let other = STREAM[(5 * number + time) % STREAM.len()];
                end_at(&folder, &format!("{line} --commit-every 0"), other, 1);
                folder.ok(&format!("{line} --commit-every 0"));
                is_calm(&folder, &line);
            }
        }
    }
}

/// The old file has more to be read, and the new one has its name: at each step, and at every step of the run that
/// continues it.
#[test]
fn a_rotation_at_any_step_of_a_commit_is_continued() {
    let folder = Folder::new();
    let (train, ask) = (keys(70, 50, 1), keys(70, 50, 2));
    folder.write("all.txt", lines(&train));
    folder.write("ask.txt", lines(&ask));
    let options = "--query ask.txt --keys 50 --batch 7 --commit-every 0 --threads 1 -q";
    folder.ok(&format!("stream --train all.txt {options} --state calm -o calm.txt"));
    let line = format!("stream --train x.log {options} --state state -o out.txt");
    let follow = format!("{line} --follow");
    for (number, step) in STREAM.into_iter().enumerate() {
        begin_again(&folder);
        folder.write("x.log", lines(&train[..14]));
        end_at(&folder, &follow, "stream/forgotten", 2);
        // Batches lie on both sides of it.
        folder.write("x.log", lines(&train[..38]));
        fs::rename(folder.path("x.log"), folder.path("x.log.1")).unwrap();
        folder.write("x.log", lines(&train[38..]));
        long_ago(&folder, &["x.log", "x.log.1"]);
        end_at(&folder, &follow, step, 3 + number % 3);
        end_at(&folder, &follow, STREAM[(5 * number + 1) % STREAM.len()], 1);
        let mut child = start(&folder, &follow);
        until("all batches", || (committed(&folder, "state") == 10).then_some(()));
        terminate(&child);
        assert_eq!(child.said().0, Some(0), "{step}");
        is_calm(&folder, &line);
    }
}

/// After a loss of power `filter.tamis` was once that of an earlier commit.
#[test]
fn the_newest_filters_have_their_name_before_their_commit_lasts() {
    let folder = Folder::new();
    folder.write("train.txt", lines(&keys(40, 30, 1)));
    let line = "stream --train train.txt --keys 30 --batch 10 --threads 1 --commit-every 0 --state state -q";
    end_at(&folder, line, "stream/lasting", 3);
    assert!(folder.read("state/filter.tamis") == folder.read("state/filter-3.tamis"));
}

/// Only commits synced them once. What is put in its place is on disk.
#[test]
fn answers_are_synced_at_the_end_also_where_no_state_is_kept() {
    let folder = Folder::new();
    folder.write("train.txt", lines(&keys(40, 30, 1)));
    end_at(&folder, "stream --train train.txt --query train.txt --keys 30 -o out.txt -q", "files/renamed", 1);
    assert!(!folder.read("out.txt").is_empty());
}

#[test]
fn a_dedup_that_ends_at_any_step_of_a_commit_is_continued() {
    let folder = Folder::new();
    for part in 0..4 {
        folder.write(&format!("{part}.txt"), lines(&keys(300, 700, part)));
    }
    let line = "dedup 0.txt 1.txt 2.txt 3.txt --seed 1 --size 4kB --commit-every 0ms --threads 1 -q";
    folder.ok(&format!("{line} --state calm.tamis -o calm.txt --rejected calm-again.txt"));
    let line = format!("{line} --state state.tamis -o out.txt --rejected again.txt");
    for (step, times) in [
        ("dedup/emptied", 1),
        ("dedup/written", 4),
        ("dedup/synced", 1),
        ("dedup/half-written", 3),
        ("files/renamed", 3),
        ("dedup/renamed", 3),
    ] {
        for time in 1..=times {
            for file in ["state.tamis", "out.txt", "again.txt"] {
                let _ = fs::remove_file(folder.path(file));
            }
            end_at(&folder, &line, step, time);
            end_at(&folder, &line, "dedup/half-written", 1);
            folder.ok(&line);
            assert!(folder.read("out.txt") == folder.read("calm.txt"), "{step}, {time}");
            assert!(folder.read("again.txt") == folder.read("calm-again.txt"), "{step}, {time}");
            let (calm, state) =
                (container(&folder.path("calm.tamis")), container(&folder.path("state.tamis")));
            assert!(calm.data() == state.data() && calm.tallies() == state.tallies(), "{step}, {time}");
        }
    }
}

/// What is set aside is written after the answers of a batch, and belongs to its commit.
#[test]
fn bad_rows_are_set_aside_once_wherever_a_stream_ends() {
    let folder = Folder::new();
    let table = |seed| {
        let row =
            |(i, key): (usize, String)| if i % 3 == 1 { ",bad\n".to_owned() } else { format!("{key},\n") };
        "key,note\n".to_owned() + &keys(40, 30, seed).into_iter().enumerate().map(row).collect::<String>()
    };
    folder.write("train.csv", table(1));
    folder.write("ask.csv", table(2));
    let line = "stream --train train.csv --query ask.csv --key key --keys 30 --batch 5 --threads 1 -q";
    folder.ok(&format!("{line} --commit-every 0 --state calm -o calm.txt --bad-rows-to calm.ndjson"));
    assert_eq!(folder.text("calm.ndjson").lines().count(), 26);
    let line = format!("{line} --state state -o out.txt --bad-rows-to bad.ndjson");
    for (number, step) in STREAM.into_iter().chain(["stream/set-aside"]).enumerate() {
        for (time, often) in [(1, "0"), (4, "0"), (4, "1h")] {
            if often == "1h" && !["stream/planned", "stream/set-aside"].contains(&step) {
                continue;
            }
            begin_again(&folder);
            let _ = fs::remove_file(folder.path("bad.ndjson"));
            end_at(&folder, &format!("{line} --commit-every {often}"), step, time);
            end_at(
                &folder,
                &format!("{line} --commit-every 0"),
                STREAM[(5 * number + time) % STREAM.len()],
                1,
            );
            folder.ok(&format!("{line} --commit-every 0"));
            is_calm(&folder, &line);
            assert!(folder.read("bad.ndjson") == folder.read("calm.ndjson"), "{step}, {time}, {often}");
        }
    }
}

#[test]
fn bad_rows_are_set_aside_once_wherever_a_dedup_ends() {
    let folder = Folder::new();
    for part in 0..4 {
        folder.write(&format!("{part}.csv"), "id\n".to_owned() + &lines(&keys(90, 70, part)) + "\"\"\n1,2\n");
    }
    let line = "dedup 0.csv 1.csv 2.csv 3.csv --key id --seed 1 --size 4kB --commit-every 0ms --threads 1 -q";
    folder.ok(&format!("{line} --state calm.tamis -o calm.txt --bad-rows-to calm.ndjson"));
    assert_eq!(folder.text("calm.ndjson").lines().count(), 8);
    let line = format!("{line} --state state.tamis -o out.txt --bad-rows-to bad.ndjson");
    for (step, times) in [
        ("dedup/emptied", 1),
        ("dedup/written", 3),
        ("dedup/set-aside", 3),
        ("dedup/synced", 2),
        ("dedup/half-written", 3),
        ("dedup/renamed", 3),
    ] {
        for time in 1..=times {
            for file in ["state.tamis", "out.txt", "bad.ndjson"] {
                let _ = fs::remove_file(folder.path(file));
            }
            end_at(&folder, &line, step, time);
            folder.ok(&line);
            assert!(folder.read("out.txt") == folder.read("calm.txt"), "{step}, {time}");
            assert!(folder.read("bad.ndjson") == folder.read("calm.ndjson"), "{step}, {time}");
        }
    }
}
