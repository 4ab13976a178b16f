//! Runs that end at a certain step of a commit, each step in turn, and are continued: output and state
//! are those of a run that was never disturbed. Only programs with debug assertions have the steps.
#![cfg(all(debug_assertions, unix))]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use crate::stream::{keys, lines};
use crate::stream_crash::{begin_again, is_calm};
use crate::support::{Folder, Guard, TAMIS, container};

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

/// After a loss of power `filter.tamis` was once that of an earlier commit.
#[test]
fn the_newest_filters_have_their_name_before_their_commit_lasts() {
    let folder = Folder::new();
    folder.write("train.txt", lines(&keys(40, 30, 1)));
    let line = "stream --train train.txt --keys 30 --batch 10 --threads 1 --commit-every 0 --state state -q";
    end_at(&folder, line, "stream/lasting", 3);
    assert!(folder.read("state/filter.tamis") == folder.read("state/filter-3.tamis"));
}

/// Only commits synced them once.
#[test]
fn answers_are_synced_at_the_end_also_where_no_state_is_kept() {
    let folder = Folder::new();
    folder.write("train.txt", lines(&keys(40, 30, 1)));
    end_at(&folder, "stream --train train.txt --query train.txt --keys 30 -o out.txt -q", "stream/synced", 1);
    assert!(!folder.read("out.txt").is_empty());
}

#[test]
fn a_dedup_that_ends_at_any_step_of_a_commit_is_continued() {
    let folder = Folder::new();
    for part in 0..4 {
        folder.write(&format!("{part}.txt"), lines(&keys(300, 700, part)));
    }
    let line = "dedup 0.txt 1.txt 2.txt 3.txt --size 4kB --commit-every 0ms --threads 1 -q";
    folder.ok(&format!("{line} --state calm.tamis -o calm.txt"));
    let line = format!("{line} --state state.tamis -o out.txt");
    for (step, times) in [
        ("dedup/emptied", 1),
        ("dedup/written", 4),
        ("dedup/synced", 1),
        ("dedup/half-written", 3),
        ("dedup/renamed", 3),
    ] {
        for time in 1..=times {
            for file in ["state.tamis", "out.txt"] {
                let _ = fs::remove_file(folder.path(file));
            }
            end_at(&folder, &line, step, time);
            end_at(&folder, &line, "dedup/half-written", 1);
            folder.ok(&line);
            assert!(folder.read("out.txt") == folder.read("calm.txt"), "{step}, {time}");
            let (calm, state) =
                (container(&folder.path("calm.tamis")), container(&folder.path("state.tamis")));
            assert!(calm.data() == state.data() && calm.tallies() == state.tallies(), "{step}, {time}");
        }
    }
}
