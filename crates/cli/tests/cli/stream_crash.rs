//! `stream` after `kill -9` at any moment: output and filters are those of a run that was never
//! disturbed (`steps.rs` tries each step of a commit). And states that it refuses.
#![cfg(target_os = "linux")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::interrupt::listens;
use crate::stream::{keys, lines};
use crate::support::{Dice, Folder, Guard, TAMIS, foreground, until};

pub fn start(folder: &Folder, line: &str) -> Guard {
    foreground(folder, line, Stdio::null(), Stdio::null())
}

/// The same with a pipe as its standard input.
fn start_fed(folder: &Folder, line: &str) -> Guard {
    Guard::start(
        Command::new(TAMIS)
            .args(line.split_whitespace())
            .current_dir(folder.path(""))
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .stdout(Stdio::null()),
    )
}

/// What was seen of runs that were killed.
#[derive(Debug, Default)]
pub struct Kills {
    pub kills: u32,
    /// Runs that found a commit.
    pub resumed: u32,
    /// Those that found a batch after it that had been begun.
    pub replayed: u32,
}

impl Kills {
    /// Looks at the state that a killed run left.
    pub fn see(&mut self, folder: &Folder, state: &str) {
        self.kills += 1;
        self.resumed += u32::from(folder.path(&format!("{state}/commit.json")).exists());
        let log = fs::metadata(folder.path(&format!("{state}/plan.log")));
        self.replayed += u32::from(log.is_ok_and(|log| log.len() > 0));
    }
}

/// Asks a run to end, as soon as it hears that; or kills it at once.
pub fn signal(child: &Child, signal: &str) {
    if signal != "-KILL" {
        until("a handler of signals", || listens(child).then_some(()));
    }
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

pub fn terminate(child: &Child) {
    signal(child, "-TERM");
}

/// The last batch that is committed.
pub fn committed(folder: &Folder, state: &str) -> u64 {
    let text = fs::read(folder.path(&format!("{state}/commit.json"))).unwrap_or_default();
    let commit: Value = serde_json::from_slice(&text).unwrap_or_default();
    commit["of"]["batch"].as_u64().unwrap_or(0)
}

/// How often states are written, by turns: after every batch, or never, so that the next run finds
/// a commit, or batches that were begun after it.
fn commits(round: u64) -> &'static str {
    if round.is_multiple_of(2) { "--commit-every 0" } else { "--commit-every 1h" }
}

/// Runs a stream in peace, then kills others like it until enough of them were: a number, some of which
/// found a commit, and some a batch that had been begun. Gives the report of the first.
pub fn kill_often(folder: &Folder, line: &str, kills: u32, dice: &mut Dice) -> Value {
    let begun = Instant::now();
    let calm = format!("{line} --commit-every 0 --state calm -o calm.txt");
    let report = folder.json(&calm.replace("hits.txt", "calm-hits.txt"));
    let time = begun.elapsed().min(Duration::from_secs(1));
    let mut seen = Kills::default();
    while seen.kills < kills || seen.resumed < kills / 3 || seen.replayed < kills.div_ceil(6) {
        kill_until_done(folder, line, time, dice, &mut seen);
        assert!(seen.kills < 20 * kills, "{line}: {seen:?}");
    }
    report
}

/// Kills a run again and again, at moments of a seed within the time that it takes, until it comes
/// to its end.
fn kill_until_done(folder: &Folder, line: &str, time: Duration, dice: &mut Dice, seen: &mut Kills) {
    begin_again(folder);
    let time = time.as_micros() as u64;
    for round in 0u64.. {
        let mut child = start(folder, &format!("{line} {} --state state -o out.txt", commits(round)));
        // Longer and longer, so that it comes to an end.
        thread::sleep(Duration::from_micros(2_000 + dice.below(time / 2) + round * time / 20));
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            break;
        }
        seen.see(folder, "state");
        assert!(round < 300, "it never comes to an end");
    }
    is_calm(folder, line);
}

/// Forgets the runs so far, except for the calm one.
pub fn begin_again(folder: &Folder) {
    for file in ["out.txt", "hits.txt"] {
        let _ = fs::remove_file(folder.path(file));
    }
    let _ = fs::remove_dir_all(folder.path("state"));
}

/// Asserts that output and state are those of the calm run.
pub fn is_calm(folder: &Folder, line: &str) {
    assert!(folder.read("out.txt") == folder.read("calm.txt"), "{line}: the output differs");
    let names = |state: &str| {
        let left = fs::read_dir(folder.path(state)).unwrap();
        let mut names: Vec<_> = left.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names("state"), names("calm"), "nothing is left of earlier runs");
    for name in names("calm").into_iter().filter(|name| name.ends_with(".tamis")) {
        let same = folder.read(&format!("state/{name}")) == folder.read(&format!("calm/{name}"));
        assert!(same, "{line}: {name} differs");
    }
    if line.contains("--counts") {
        assert!(folder.read("hits.txt") == folder.read("calm-hits.txt"), "{line}: the counts differ");
    }
}

#[test]
fn killed_at_any_moment_and_begun_again_nothing_is_lost_or_doubled() {
    let mut dice = Dice(11);
    for kind in [
        "--keys 30000",
        "--fpr 0.02",
        "--key 1 --group 2 --delimiter , --no-header --keys 5000",
        "--kind count-min --epsilon 0.001",
        "--keys 30000 --counts hits.txt --conservative --epsilon 0.001",
        "--kind counting --keys 30000 --remove gone.txt",
        "--kind counting --key 1 --group 2 --delimiter , --no-header --keys 5000 --remove gone.txt",
    ] {
        let folder = Folder::new();
        let grouped = |key: String| format!("{key},{}", key.len());
        let of = |keys: Vec<String>| match kind.contains("--group") {
            true => lines(&keys.into_iter().map(grouped).collect::<Vec<_>>()),
            false => lines(&keys),
        };
        folder.write("train.txt", of(keys(30_000, 20_000, 5)));
        folder.write("ask.txt", of(keys(25_000, 20_000, 6)));
        // Some were learned by then, and some were not.
        folder.write("gone.txt", of(keys(10_000, 20_000, 5).into_iter().rev().collect()));
        let line = format!("stream --train train.txt --query ask.txt --batch 500 --threads 2 {kind} -q");
        kill_often(&folder, &line, 5, &mut dice);
    }
}

/// Both files grow while runs follow them and are killed.
#[test]
fn a_file_that_is_followed_is_learned_once_whatever_is_killed() {
    let folder = Folder::new();
    let (train, ask) = (lines(&keys(30_000, 20_000, 7)), lines(&keys(30_000, 20_000, 8)));
    folder.write("all-train.txt", &train);
    folder.write("all-ask.txt", &ask);
    let options = "--batch 250 --keys 20000 --threads 1 -q";
    folder
        .ok(&format!("stream --train all-train.txt --query all-ask.txt {options} --state calm -o calm.txt"));
    folder.write("train.txt", "");
    folder.write("ask.txt", "");
    let line =
        format!("stream --train train.txt --query ask.txt --follow {options} --state state -o out.txt");
    let mut seen = Kills::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            // In pieces that end anywhere, within lines too.
            let mut dice = Dice(3);
            let texts = [("train.txt", train.as_bytes()), ("ask.txt", ask.as_bytes())];
            let files = texts
                .map(|(name, text)| (OpenOptions::new().append(true).open(folder.path(name)).unwrap(), text));
            let mut done = [0; 2];
            while done.iter().zip(&files).any(|(done, (_, text))| *done < text.len()) {
                for (done, (file, text)) in done.iter_mut().zip(&files) {
                    let to = text.len().min(*done + dice.below(6_000) as usize);
                    (&*file).write_all(&text[*done..to]).unwrap();
                    *done = to;
                }
                thread::sleep(Duration::from_millis(8));
            }
        });
        let mut dice = Dice(17);
        for round in 0..25 {
            let before = committed(&folder, "state");
            let mut child = start(&folder, &format!("{line} {}", commits(round)));
            let since = Instant::now();
            let moved = || committed(&folder, "state") > before;
            // There must be a commit, and batches after it, however slow the machine is.
            let patience = Duration::from_secs(if before == 0 { 30 } else { 1 });
            while round % 4 == 0 && !moved() && since.elapsed() < patience {
                thread::sleep(Duration::from_millis(1));
            }
            let begun = || fs::metadata(folder.path("state/plan.log")).is_ok_and(|log| log.len() > 0);
            while round % 4 == 1 && !begun() && since.elapsed() < Duration::from_secs(1) {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(Duration::from_millis(10 + dice.below(45)));
            child.kill().unwrap();
            child.wait().unwrap();
            seen.see(&folder, "state");
        }
    });
    let mut child = start(&folder, &format!("{line} --commit-every 20ms"));
    let since = Instant::now();
    while committed(&folder, "state") < 120 {
        assert!(since.elapsed() < Duration::from_secs(60), "{} of 120 batches", committed(&folder, "state"));
        thread::sleep(Duration::from_millis(5));
    }
    terminate(&child);
    let (code, said) = child.said();
    assert_eq!(code, Some(0), "{said}");
    assert!(folder.read("out.txt") == folder.read("calm.txt"));
    assert!(folder.read("state/filter.tamis") == folder.read("calm/filter.tamis"));
    assert!(seen.kills >= 25 && seen.resumed >= 5 && seen.replayed >= 3, "{seen:?}");
}

/// What was written down of a stream that comes once is not lost with the process.
#[test]
fn what_was_read_of_a_pipe_is_learned_once_whatever_is_killed() {
    let folder = Folder::new();
    let text = lines(&keys(40_000, 30_000, 12));
    folder.write("train.csv", format!("ip\n{text}"));
    // Batches by time differ from run to run, but what is learned does not.
    folder.ok("stream --train train.csv --key ip --keys 30000 --state calm");
    let line = "stream --train - --format csv --key ip --keys 30000 --every 5ms -q --state state";
    let mut seen = Kills::default();
    let mut dice = Dice(23);
    let mut rest = format!("ip\n{text}").into_bytes();
    for round in 0u64.. {
        let before = committed(&folder, "state");
        let mut child = start_fed(&folder, &format!("{line} {}", commits(round)));
        // Whole lines, and only when the last ones are written down: what a killed process has
        // read, and did not write down, is lost.
        let mut stdin = child.stdin.take().unwrap();
        let spooled = || -> u64 {
            let read = fs::read_dir(folder.path("state")).into_iter().flatten().flatten();
            let spools = read.filter(|file| file.file_name().to_string_lossy().starts_with("spool-"));
            let ends = spools.map(|file| {
                let name = file.file_name().into_string().unwrap();
                let start: u64 = name.rsplit('-').next().unwrap().parse().unwrap();
                start + file.metadata().map_or(0, |file| file.len())
            });
            ends.max().unwrap_or(0)
        };
        let total = (text.len() + 3) as u64;
        let written = total - rest.len() as u64;
        for _ in 0..1 + dice.below(2) {
            let most = rest.len().min(2_000 + dice.below(14_000) as usize);
            let end = rest[..most].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            stdin.write_all(&rest[..end]).unwrap();
            rest.drain(..end);
            let since = Instant::now();
            while spooled() < total - rest.len() as u64 {
                assert!(since.elapsed() < Duration::from_secs(30), "{} since {written}", spooled());
                thread::sleep(Duration::from_micros(300));
            }
        }
        if rest.is_empty() {
            drop(stdin);
            assert!(child.end().success());
            break;
        }
        let since = Instant::now();
        while round % 4 == 0 && committed(&folder, "state") == before {
            assert!(since.elapsed() < Duration::from_secs(30));
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_micros(dice.below(30_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        seen.see(&folder, "state");
        assert!(round < 200);
    }
    assert!(folder.read("state/filter.tamis") == folder.read("calm/filter.tamis"));
    assert!(seen.kills >= 15 && seen.resumed >= 3 && seen.replayed >= 1, "{seen:?}");
}

/// The machine itself failed: the plan was on disk, and some of what was written down was not.
#[test]
fn a_plan_whose_records_are_gone_is_left() {
    let folder = Folder::new();
    let parts = [lines(&keys(500, 900, 1)), lines(&keys(500, 900, 2))];
    folder.write("all.txt", parts.concat());
    folder.ok("stream --train all.txt --keys 900 --state calm");
    let line = "stream --train - --keys 900 --every 5ms --commit-every 1h --state state -q";
    let mut child = start_fed(&folder, line);
    let planned = || -> Vec<Value> {
        let text = fs::read_to_string(folder.path("state/plan.log")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    };
    let end = |batch: &Value| batch["of"]["train"][1][1].as_u64().unwrap();
    for to in [parts[0].len(), parts[0].len() + parts[1].len()] {
        let text = &parts.concat()[planned().last().map_or(0, end) as usize..to];
        child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
        let since = Instant::now();
        while planned().last().map_or(0, end) < to as u64 {
            assert!(since.elapsed() < Duration::from_secs(30));
            thread::sleep(Duration::from_millis(2));
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(committed(&folder, "state") == 0 && planned().len() > 1);
    let spool = OpenOptions::new().write(true).open(folder.path("state/spool-train-00000000000000000000"));
    spool.unwrap().set_len(parts[0].len() as u64 + 3).unwrap();
    assert_eq!(folder.run_with(line, parts[1].as_bytes()).code, 0);
    assert!(folder.read("state/filter.tamis") == folder.read("calm/filter.tamis"));
}

#[test]
fn a_run_that_is_asked_to_end_saves_its_state_and_is_gone_on_with() {
    let folder = Folder::new();
    folder.write("train.txt", lines(&keys(1_000, 1_000, 1)));
    let line = "stream --train train.txt --follow --batch 300 --state state --json";
    for name in ["-TERM", "-INT"] {
        let mut child = start(&folder, line);
        let since = Instant::now();
        while committed(&folder, "state") < 3 {
            assert!(since.elapsed() < Duration::from_secs(30));
            thread::sleep(Duration::from_millis(5));
        }
        // Before it works with the state, it is just ended.
        until("the lock of the state", || folder.path("state/lock").exists().then_some(()));
        signal(&child, name);
        let (code, said) = child.said();
        assert_eq!(code, Some(0), "{said}");
        // What a batch had not in full is left for later.
        assert_eq!(committed(&folder, "state"), 3);
    }
    let found = folder.json("stream --train train.txt --batch 300 --state state");
    assert_eq!((found["rows"].as_u64(), found["batch"].as_u64()), (Some(100), Some(4)));
}

#[test]
fn another_job_is_named_and_refused() {
    let folder = Folder::new();
    folder.write("a.txt", "1\n2\n3\n");
    folder.write("b.txt", "1\n2\n3\n");
    let line = "stream --train a.txt --query b.txt --batch 2 --keys 10 --state state";
    folder.ok(&format!("{line} -o out"));
    for (other, says) in [
        (
            "stream --train b.txt --query b.txt --batch 2 --keys 10 --state state -o out",
            "the training stream is",
        ),
        (
            "stream --train a.txt --query b.txt --batch 3 --keys 10 --state state -o out",
            "the size of a batch is 2 there and 3 here",
        ),
        (
            "stream --train a.txt --query b.txt --batch 2 --keys 11 --state state -o out",
            "the number of keys is 10 there and 11 here",
        ),
        (
            "stream --train a.txt --query b.txt --batch 2 --state state -o out",
            "kind is \"blocked\" there and \"scalable\" here",
        ),
        (
            "stream --train a.txt --query b.txt --batch 2 --keys 10 --seed 1 --state state -o out",
            "the seed is 0 there and 1 here",
        ),
        ("stream --train a.txt --query b.txt --batch 2 --keys 10 --state state -o other", "output is"),
        ("stream --train a.txt --batch 2 --keys 10 --state state", "output is"),
        (
            "stream --train a.txt --query b.txt --batch 2 --keys 10 --key 1:lower --state state -o out",
            "the recipe is \"key (line)\" there and \"key 1:lower\" here",
        ),
        (
            "stream --train a.txt --query b.txt --batch 3 --keys 11 --delimiter ; --state state -o out",
            "the number of keys is 10 there and 11 here, the size of a batch is 2 there and 3 here, the delimiter is nothing there and \";\" here:",
        ),
    ] {
        folder.refused(other, 1, &["another job", says]);
    }
    folder.ok(&format!("{line} -o out --threads 3 --commit-every 0 --bad-rows skip"));
}

#[test]
fn a_run_that_a_bad_row_ended_is_continued_without_the_row() {
    let folder = Folder::new();
    folder.write("a.csv", "id\n1\n2\n\\N\n4\n");
    let line = "stream --train a.csv --key id --keys 10 --batch 1 --commit-every 0 --state state";
    folder.refused(line, 1, &["a.csv, line 4", "--bad-rows skip"]);
    folder.ok(&format!("{line} --bad-rows skip"));
    folder.ok("stream --train a.csv --key id --keys 10 --bad-rows skip --state calm");
    assert!(folder.read("state/filter.tamis") == folder.read("calm/filter.tamis"));
}

#[test]
fn inputs_and_outputs_that_are_not_what_they_were_are_refused() {
    let folder = Folder::new();
    let line = "stream --train a.txt --query b.txt --keys 10 --state state -o out";
    let begin = || {
        let _ = fs::remove_dir_all(folder.path("state"));
        folder.write("a.txt", "1\n2\n3\n");
        folder.write("b.txt", "2\n5\n");
        folder.ok(line);
    };
    begin();
    folder.write("a.txt", "1\n2\n");
    folder.refused(line, 1, &["a.txt", "4 bytes, but 6 were read"]);
    begin();
    folder.write("a.txt", "1\n2\n4\n5\n");
    folder.refused(line, 1, &["a.txt", "not the file that was read"]);
    begin();
    folder.write("out", "");
    folder.refused(line, 1, &["out", "has 0 bytes, but 2 were written"]);
    begin();
    fs::remove_file(folder.path("a.txt")).unwrap();
    folder.refused(line, 1, &["a.txt"]);
    // A line that had no end, and now goes on.
    begin();
    let _ = fs::remove_dir_all(folder.path("state"));
    folder.write("a.txt", "1\n23");
    folder.ok(line);
    folder.write("a.txt", "1\n234\n");
    folder.refused(line, 1, &["a.txt", "--follow"]);
    // More of the same is gone on with.
    begin();
    folder.write("b.txt", "2\n5\n3\n");
    folder.ok(line);
    assert_eq!(folder.text("out"), "2\n3\n");
}

#[test]
fn a_damaged_state_is_refused_and_a_torn_plan_is_not() {
    let folder = Folder::new();
    folder.write("a.txt", "1\n2\n3\n");
    let line = "stream --train a.txt --keys 10 --state state";
    folder.ok(line);
    let kept = ["commit.json", "job.json", "filter-1.tamis"]
        .map(|name| (name, folder.read(&format!("state/{name}"))));
    for (name, bytes) in &kept {
        let mut broken = bytes.clone();
        let at = bytes.len() - 20;
        broken[at] ^= 1;
        folder.write(&format!("state/{name}"), &broken);
        folder.refused(line, 1, &["state"]);
        folder.write(&format!("state/{name}"), bytes);
    }
    folder.write("state/plan.log", "{\"sum\":\"00\",\"of\":{\"batch\":2,\"tra");
    folder.write("a.txt", "1\n2\n3\n4\n");
    assert_eq!(folder.json(line)["rows"].as_u64(), Some(1));
    fs::remove_file(folder.path("state/filter-2.tamis")).unwrap();
    folder.refused(line, 1, &["filter-2.tamis"]);
}

/// The paths to all values of a text of JSON that are no objects or lists.
fn leaves(at: &str, value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| leaves(&format!("{at}/{name}"), value, into));
        }
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(i, value)| leaves(&format!("{at}/{i}"), value, into));
        }
        _ => into.push(at.into()),
    }
}

/// A checksum says that a commit is whole, not that it makes sense: one with a place out of range was a panic.
/// Each value in turn is one that no run writes: the state is refused, or what is learned is right all the same.
#[test]
fn a_forged_commit_is_refused_or_does_no_harm() {
    let forged: [Value; 3] = [u64::MAX.into(), "../x".into(), Value::Null];
    let plain = "stream --train a.csv b.csv --key id --query q.txt --query-key 1 --batch 2 --commit-every 0 -o out.txt";
    let mut tried = 0;
    for options in ["--keys 4 --rebuild-above 0.02", "--window 3d --slide 1d --time at --keys 9"] {
        let folder = Folder::new();
        folder.write("a.csv", "id,at\n1,2026-11-15\n2,2026-11-16\n3,2026-11-17\n");
        folder.write("b.csv", "id,at\n4,2026-11-17\n5,2026-11-17\n");
        folder.write("q.txt", "2\n9\n");
        let line = format!("{plain} {options} --state state");
        folder.ok(&line);
        let text = folder.text("state/commit.json");
        let sealed: Value = text.parse().unwrap();
        let mut fields = Vec::new();
        leaves("", &sealed["of"], &mut fields);
        folder.ok(&line);
        folder.shell("cp -r state kept; cp out.txt kept.txt").succeeded("cp");
        let right = folder.read("state/filter.tamis");
        for field in &fields {
            for value in &forged {
                let mut of = sealed["of"].clone();
                let there = of.pointer_mut(field).unwrap();
                if std::mem::discriminant(there) != std::mem::discriminant(value) && !value.is_null() {
                    continue;
                }
                *there = value.clone();
                let of = of.to_string();
                let sum = tamis::hash::xxh3(of.as_bytes(), 0);
                folder.shell("rm -rf state; cp -r kept state; cp kept.txt out.txt").succeeded("cp");
                folder.write("state/commit.json", format!("{{\"sum\":\"{sum:016x}\",\"of\":{of}}}\n"));
                let done = folder.run(&line);
                let right = done.code == 0 && folder.read("state/filter.tamis") == right;
                assert!(done.code == 1 || right, "{field} {value}: {}", done.err);
                tried += 1;
            }
        }
    }
    assert!(tried > 50, "{tried}");
}

#[test]
fn a_forged_place_in_a_followed_file_is_refused() {
    let folder = Folder::new();
    folder.write("x.log", "1\n2\n");
    let line = "stream --train x.log --keys 10 --every 5ms --follow --state state";
    let mut child = start(&folder, line);
    until("a commit", || (committed(&folder, "state") > 0).then_some(()));
    terminate(&child);
    assert_eq!(child.said().0, Some(0));
    let sealed: Value = folder.text("state/commit.json").parse().unwrap();
    let place = "/train/place";
    for (field, value) in [
        (format!("{place}/0"), u64::MAX),
        (format!("{place}/0"), 1),
        (format!("{place}/1"), u64::MAX),
        (format!("{place}/1"), 6),
        ("/train/bookmark/files/0/offset".into(), u64::MAX),
        ("/train/bookmark/followed/first".into(), u64::MAX),
        ("/train/bookmark/followed/first".into(), 2),
        ("/train/bookmark/followed/name".into(), 7),
        ("/train/bookmark/followed/name".into(), u64::MAX),
        ("/batch".into(), u64::MAX),
    ] {
        let mut of = sealed["of"].clone();
        *of.pointer_mut(&field).unwrap_or_else(|| panic!("{field}: {sealed}")) = value.into();
        let of = of.to_string();
        let sum = tamis::hash::xxh3(of.as_bytes(), 0);
        folder.write("state/commit.json", format!("{{\"sum\":\"{sum:016x}\",\"of\":{of}}}\n"));
        folder.refused(line, 1, &[]);
    }
}

#[test]
fn a_state_in_use_is_refused_to_another() {
    let folder = Folder::new();
    folder.write("a.txt", "1\n2\n3\n");
    let line = "stream --train a.txt --follow --every 10ms --keys 10 --state state";
    let mut child = start(&folder, line);
    until("a commit", || (committed(&folder, "state") > 0).then_some(()));
    folder.refused(line, 1, &["another process"]);
    terminate(&child);
    assert_eq!(child.said().0, Some(0));
}

/// The first text was one line, of two fields; with the second, it looks like one of commas.
#[test]
fn live_text_is_understood_after_a_kill_as_it_was_before() {
    let folder = Folder::new();
    let line =
        "stream --train - --format csv --key 1 --keys 100 --every 5ms --commit-every 1h --state state -q";
    let mut child = start_fed(&folder, line);
    let planned = || fs::read_to_string(folder.path("state/plan.log")).unwrap_or_default().lines().count();
    for (number, text) in [(1, "id;n\nx;1\n"), (2, "y\n")] {
        child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
        until("a batch", || (planned() == number).then_some(()));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(folder.run_with(line, "z;3\n").code, 0);
    let found = folder.run_with("query state/filter.tamis", "x\ny\nz\nx;1\nz;3\n").out;
    assert_eq!(found, "x\tyes\ny\tyes\nz\tyes\nx;1\t\nz;3\t\n");
}

/// As logs are rotated: the file goes on for a while by another name, and a new one has its own.
#[test]
fn a_followed_file_that_is_renamed_is_not_taken_for_the_one_in_its_place() {
    let folder = Folder::new();
    folder.write("log.txt", "1\n2\n3\n");
    let line = "stream --train log.txt --keys 10 --every 5ms --commit-every 0 --state state";
    let mut child = start(&folder, &format!("{line} --follow"));
    until("a commit", || (committed(&folder, "state") > 0).then_some(()));
    fs::rename(folder.path("log.txt"), folder.path("log.1")).unwrap();
    folder.write("log.txt", "7\n8\n9\n10\n11\n");
    let before = committed(&folder, "state");
    OpenOptions::new().append(true).open(folder.path("log.1")).unwrap().write_all(b"4\n").unwrap();
    until("a later commit", || (committed(&folder, "state") > before).then_some(()));
    terminate(&child);
    assert_eq!(child.said().0, Some(0));
    folder.refused(line, 1, &["log.txt: is not the file that was read", "log.1", "--follow"]);
    fs::rename(folder.path("log.1"), folder.path("log.txt")).unwrap();
    folder.ok(line);
    let found = folder.run_with("query state/filter.tamis", "1\n4\n").out;
    assert_eq!(found, "1\tyes\n4\tyes\n");
}

/// Files may not grow beyond some blocks: as good as a full disk. The signal is ignored.
#[test]
fn on_a_full_disk_it_ends_and_goes_on_when_there_is_room() {
    let folder = Folder::new();
    folder.write("train.txt", lines(&keys(20_000, 5_000, 1)));
    folder.write("ask.txt", lines(&keys(20_000, 5_000, 2)));
    let line = "stream --train train.txt --query ask.txt --keys 5000 --batch 500 --commit-every 0";
    folder.ok(&format!("{line} --state calm -o calm.txt"));
    assert!(folder.read("calm.txt").len() > 100_000);
    let line = format!("{line} --state state -o out.txt");
    let done = folder.shell(&format!("trap '' XFSZ; ulimit -f 60; $TAMIS {line}"));
    done.refused(&line, 1, &["out.txt", "too large"]);
    assert!((1..40).contains(&committed(&folder, "state")), "{}", committed(&folder, "state"));
    folder.ok(&line);
    assert!(folder.read("out.txt") == folder.read("calm.txt"));
    assert!(folder.read("state/filter.tamis") == folder.read("calm/filter.tamis"));
}

#[test]
fn an_output_that_cannot_be_written_is_said() {
    let folder = Folder::new();
    folder.write("a.txt", "1\n2\n3\n");
    folder.refused("stream --train a.txt --query a.txt -o /dev/full", 1, &["/dev/full"]);
    fs::create_dir(folder.path("out")).unwrap();
    folder.refused("stream --train a.txt --query a.txt -o out --state state", 1, &["out", "folder"]);
    assert!(!folder.path("state").exists());
}
