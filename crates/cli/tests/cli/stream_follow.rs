//! `stream --follow` over rotations: every row once, whatever is renamed, cut, compressed or killed; and what is
//! lost is said.
#![cfg(target_os = "linux")]

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::process::Command;
use std::thread;
use std::time::{Duration, SystemTime};

use crate::interrupt::listens;
use crate::stream::{keys, lines};
use crate::stream_crash::{committed, start, terminate};
use crate::support::{Dice, Folder, Guard, until};

fn append(folder: &Folder, name: &str, text: &str) {
    let mut file = OpenOptions::new().append(true).create(true).open(folder.path(name)).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn rename(folder: &Folder, from: &str, to: &str) {
    fs::rename(folder.path(from), folder.path(to)).unwrap();
}

/// As if nothing had come to these files for long: a run that finds them waits for no more.
pub fn long_ago(folder: &Folder, names: &[&str]) {
    for name in names {
        let file = File::options().append(true).open(folder.path(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(100)).unwrap();
    }
}

/// Whether the state knows all of these keys.
fn knows(folder: &Folder, keys: &[&str]) -> bool {
    let done = folder.run_with(
        "query state/filter.tamis",
        lines(&keys.iter().map(ToString::to_string).collect::<Vec<_>>()),
    );
    keys.iter().all(|key| done.out.lines().any(|line| line == format!("{key}\tyes")))
}

/// Runs until the state knows these keys, and ends the run; what it said.
fn run_until(folder: &Folder, line: &str, keys: &[&str]) -> String {
    let mut child = start(folder, line);
    until(&format!("{keys:?}"), || knows(folder, keys).then_some(()));
    terminate(&child);
    let (code, said) = child.said();
    assert_eq!(code, Some(0), "{said}");
    said
}

const LINE: &str = "stream --train x.log --follow --keys 1000 --every 5ms --commit-every 0 --state state";

/// Counts tell whether a row came twice.
#[test]
fn a_file_that_is_rotated_while_runs_are_killed_is_learned_once() {
    let folder = Folder::new();
    let parts: Vec<String> = (0..5).map(|seed| lines(&keys(1_500, 700, seed))).collect();
    folder.write("all.txt", parts.concat());
    let options = "--kind count-min --epsilon 0.001 --batch 100 --threads 1 -q";
    folder.ok(&format!("stream --train all.txt {options} --state calm"));
    let line = format!("stream --train x.log --follow {options} --state state");
    let mut dice = Dice(5);
    let (mut kills, mut running): (u32, Option<Guard>) = Default::default();
    folder.write("x.log", "");
    // From the first commit on, which comes before the first row, it is known which file is followed.
    drop(start(&folder, &line));
    let mut first = start(&folder, &line);
    until("a commit", || folder.path("state/commit.json").exists().then_some(()));
    first.kill().unwrap();
    first.wait().unwrap();
    for (number, part) in parts.iter().enumerate() {
        let mut rest = part.as_str();
        while !rest.is_empty() {
            let to = rest.len().min(2_000 + dice.below(3_000) as usize);
            // The last of it comes when the file has another name already.
            let renames = number < 4 && to == rest.len();
            let half = if renames { to / 2 } else { to };
            append(&folder, "x.log", &rest[..half]);
            if dice.below(2) == 0 {
                let often = ["0", "1h"][dice.below(2) as usize];
                running.get_or_insert_with(|| start(&folder, &format!("{line} --commit-every {often}")));
                thread::sleep(Duration::from_millis(dice.below(60)));
            }
            if renames {
                for older in (1..number + 1).rev() {
                    rename(&folder, &format!("x.log.{older}"), &format!("x.log.{}", older + 1));
                }
                rename(&folder, "x.log", "x.log.1");
                append(&folder, "x.log.1", &rest[half..to]);
            }
            rest = &rest[to..];
            if let Some(mut child) = running.take_if(|_| dice.below(2) == 0) {
                child.kill().unwrap();
                child.wait().unwrap();
                kills += 1;
            }
        }
    }
    drop(running);
    let mut child = start(&folder, &format!("{line} --commit-every 0"));
    let same = || fs::read(folder.path("state/counts.tamis")).ok() == Some(folder.read("calm/counts.tamis"));
    until("all rows, once", || {
        let ended = child.try_wait().unwrap().is_some();
        assert!(!ended, "{}", child.said().1);
        same().then_some(())
    });
    terminate(&child);
    assert_eq!(child.said().0, Some(0));
    assert!(same() && kills >= 2, "{kills}");
}

/// The old file is finished first, as long as its writer has not opened the new one.
#[test]
fn a_file_that_is_rotated_is_finished_before_its_successor() {
    let folder = Folder::new();
    folder.write("x.log", "a1\n");
    let mut child = start(&folder, LINE);
    until("a commit", || (committed(&folder, "state") > 0).then_some(()));
    rename(&folder, "x.log", "x.log.1");
    thread::sleep(Duration::from_millis(50)); // there is none of this name
    append(&folder, "x.log.1", "a2\n");
    folder.write("x.log", "");
    append(&folder, "x.log.1", "a3\nhalf");
    append(&folder, "x.log", "b1\n");
    append(&folder, "x.log.1", " a line\nno end");
    until("all keys", || knows(&folder, &["a1", "a2", "a3", "half a line", "no end", "b1"]).then_some(()));
    // What comes later to the old one is not read, and not passed over without a word.
    append(&folder, "x.log.1", "much later\n");
    let (code, said) = child.said();
    assert_eq!(code, Some(1), "{said}");
    for word in ["x.log.1", "11 bytes", "--lost go-on"] {
        assert!(said.contains(word), "{word}: {said}");
    }
}

#[test]
fn files_that_were_rotated_while_nobody_looked_are_finished_in_their_order() {
    let folder = Folder::new();
    for (names, at) in [
        (["x.log.3", "x.log.2", "x.log.1"], ""),
        (["x.log-20261114", "x.log-20261115", "x.log-20261116"], "new"),
    ] {
        let _ = fs::remove_dir_all(folder.path("state"));
        let key = |number: u32| format!("{at}{number}\n");
        folder.write("x.log", key(1));
        run_until(&folder, LINE, &[key(1).trim()]);
        append(&folder, "x.log", &key(2));
        rename(&folder, "x.log", names[0]);
        folder.write(names[1], key(3));
        folder.write(names[2], key(4));
        folder.write("x.log", key(5));
        let all: Vec<String> = (1..6).map(|number| key(number).trim().to_owned()).collect();
        long_ago(&folder, &[names[0], names[1], names[2], "x.log"]);
        run_until(&folder, LINE, &all.iter().map(String::as_str).collect::<Vec<_>>());
        // The state is that of the last one.
        append(&folder, "x.log", &key(6));
        run_until(&folder, LINE, &[key(6).trim()]);
    }
    // Without the option there is nothing to go on with.
    folder.refused(&LINE.replace(" --follow", ""), 1, &["x.log", "rotated", "--follow"]);
}

#[test]
fn what_is_lost_of_a_rotated_file_is_said_and_gone_without_on_demand() {
    let folder = Folder::new();
    let cases: [(&str, &[&str]); 5] = [
        ("mv x.log x.log.1; gzip x.log.1", &["up to byte 2", "compressed", "x.log.1.gz"]),
        ("rm x.log; touch other", &["up to byte 2", "no longer in the folder"]),
        ("mv x.log x.log.2; echo c > x.log.1; gzip x.log.1", &["more than once", "x.log.1.gz"]),
        ("mv x.log x.log-20261114; echo c > x.log-20261115; gzip x.log-20261115", &["x.log-20261115.gz"]),
        ("cp x.log x.log.1; : > x.log", &["was cut after 2 bytes", "it has 4 now"]),
    ];
    for (command, says) in cases {
        let _ = fs::remove_dir_all(folder.path("state"));
        folder.shell("rm -f x.log*").succeeded("rm");
        folder.write("x.log", "a\n");
        run_until(&folder, LINE, &["a"]);
        append(&folder, "x.log", "b\n");
        folder.shell(command).succeeded(command);
        let new = "new\n";
        append(&folder, "x.log", new);
        folder.refused(LINE, 1, &[says, &["x.log: ", "lost", "--lost go-on"]].concat());
        let said = run_until(&folder, &format!("{LINE} --lost go-on"), &["new"]);
        assert!(says.iter().all(|word| said.contains(word)), "{said}");
        // Once said, it is done with.
        append(&folder, "x.log", "newer\n");
        run_until(&folder, LINE, &["newer"]);
    }
}

/// What was compressed is found by its bytes when it is there again.
#[test]
fn a_file_that_was_compressed_and_is_no_longer_is_finished() {
    let folder = Folder::new();
    let text = lines(&keys(300, 300, 1));
    folder.write("x.log", &text);
    run_until(&folder, LINE, &[text.lines().last().unwrap()]);
    append(&folder, "x.log", "rest\n");
    folder.shell("mv x.log x.log.1; gzip x.log.1; echo new > x.log").succeeded("gzip");
    folder.refused(LINE, 1, &["x.log.1.gz", "uncompressed"]);
    folder.shell("gunzip x.log.1.gz").succeeded("gunzip");
    run_until(&folder, LINE, &["rest", "new"]);
}

/// What was read of it, and not yet a whole batch, is nowhere else: it is learned and committed first.
#[test]
fn a_file_that_is_cut_while_it_is_followed_loses_nothing_that_was_read() {
    let folder = Folder::new();
    let line =
        "stream --train x.log --follow --keys 1000 --batch 100 --commit-every 1h --log json --state state";
    for (regrown, go_on) in [(false, false), (true, true)] {
        let _ = fs::remove_dir_all(folder.path("state"));
        folder.write("x.log", "a\nb\nhalf");
        let mut child = start(&folder, &format!("{line}{}", if go_on { " --lost go-on" } else { "" }));
        until("a handler", || listens(&child).then_some(()));
        until("the lock of the state", || folder.path("state/lock").exists().then_some(()));
        thread::sleep(Duration::from_millis(300)); // it is read by then
        let new = if regrown { "cc\ndd\nee\nff\n" } else { "c\n" };
        folder.write("x.log", new);
        if go_on {
            until("a commit", || knows(&folder, &["a", "b"]).then_some(()));
            thread::sleep(Duration::from_millis(100));
            terminate(&child);
        }
        let (code, said) = child.said();
        assert_eq!(code, Some(if go_on { 0 } else { 1 }), "{said}");
        assert!(said.contains("was cut after 8 bytes") && said.contains("lost"), "{said}");
        assert!(knows(&folder, &["a", "b"]) && !knows(&folder, &["half"]), "{said}");
        let line =
            line.replace("--batch 100", "--batch 100 --commit-every 0").replace(" --commit-every 1h", "");
        if !go_on {
            folder.refused(&line, 1, &["x.log: was cut after 8 bytes", "--lost go-on"]);
        }
        let rest: String = (0..100).map(|number| format!("{number}\n")).collect();
        append(&folder, "x.log", &rest);
        run_until(&folder, &format!("{line} --lost go-on"), &[new.lines().next().unwrap()]);
    }
}

#[test]
fn the_header_of_a_successor_is_no_row() {
    let folder = Folder::new();
    let line = "stream --train x.csv --follow --keys 1000 --every 5ms --commit-every 0 --state state";
    let begin = |key: &str| {
        let _ = fs::remove_dir_all(folder.path("state"));
        folder.write("x.csv", "id,name\n1,ann\n");
        run_until(&folder, &format!("{line} {key}"), &["1"]);
        append(&folder, "x.csv", "2,bob\n");
        rename(&folder, "x.csv", "x.csv.1");
    };
    begin("--key id");
    folder.write("x.csv", "id,name\n3,cid\n");
    long_ago(&folder, &["x.csv", "x.csv.1"]);
    run_until(&folder, &format!("{line} --key id"), &["1", "2", "3"]);
    assert!(!knows(&folder, &["id"]));
    // By its name a column is found where it is.
    begin("--key id");
    folder.write("x.csv", "name,id\ncid,3\n");
    long_ago(&folder, &["x.csv", "x.csv.1"]);
    run_until(&folder, &format!("{line} --key id"), &["3"]);
    // By its number it would be another one, or a row would be taken for a header.
    begin("--key 1");
    folder.write("x.csv", "3,cid\n4,dan\n");
    long_ago(&folder, &["x.csv", "x.csv.1"]);
    folder.refused(&format!("{line} --key 1"), 1, &["x.csv", "another header"]);
}

/// `timeout` sends its signal twice, at once; and a signal may come before the stream runs, or when it is done.
#[test]
fn a_stream_that_is_asked_to_end_twice_at_once_ends_well() {
    let folder = Folder::new();
    folder.write("x.log", "1\n2\n3\n");
    let mut dice = Dice(9);
    for round in 0..12 {
        let mut child = start(&folder, LINE);
        until("a handler of signals", || listens(&child).then_some(()));
        thread::sleep(Duration::from_millis(dice.below(2) * dice.below(40)));
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id, &id]).status().unwrap().success());
        let (code, said) = child.said();
        assert_eq!(code, Some(0), "{round}: {said}");
    }
    let done = folder.shell(&format!("timeout --preserve-status 1 $TAMIS {LINE}"));
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(knows(&folder, &["1", "2", "3"]));
}

/// The system would wait for a writer, whatever signals came.
#[test]
fn a_stream_waits_for_the_writer_of_a_pipe_and_ends_when_it_is_asked_to() {
    let folder = Folder::new();
    folder.shell("mkfifo pipe");
    let line = "stream --train pipe --state state --keys 100";
    let mut child = start(&folder, line);
    terminate(&child);
    let (code, said) = child.said();
    assert_eq!(code, Some(0), "{said}");
    // One that comes later is waited for, also if it takes its time.
    let mut child = start(&folder, line);
    let wrote = folder.shell("sleep 0.2; (echo 1; sleep 0.3; echo 2) > pipe");
    assert_eq!(wrote.code, 0, "{}", wrote.err);
    let (code, said) = child.said();
    assert_eq!(code, Some(0), "{said}");
    assert!(knows(&folder, &["1", "2"]));
}
