//! Lines through a filter: 10 million of them, of which a tenth is among a million keys, from file
//! to file and through pipes, beside `grep -Fxf` and Python.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tamis_make::number;
use tamis_report::{Column, Table};

use super::data::Data;
use super::process::{Took, best, time};
use super::verdict;
use crate::rounds::median;

const ROUNDS: usize = 5;
const KEYS: u64 = 1_000_000;

/// How many times faster than grep: from file to file, and through pipes.
const TARGETS: [f64; 2] = [4.0, 3.0];

/// And than Python, which has the filter to build, too: that takes it a second.
const PYTHON_TARGET: f64 = 20.0;

/// Lets lines pass as a Python program would.
const PYTHON: &str = "
import sys
from rbloom import Bloom
with open(sys.argv[1], 'rb') as keys:
    members = [key.rstrip(b'\\n') for key in keys]
seen = Bloom(len(members), 0.01)
seen.update(members)
with open(sys.argv[2], 'rb') as lines, open(sys.argv[3], 'wb') as out:
    for line in lines:
        if line.rstrip(b'\\n') in seen:
            out.write(line)
";

pub fn run(tamis: &Path, python: &Path, lines: u64, data: &Data) -> Result<Value, String> {
    let failed = |error| format!("the lines could not be written: {error}");
    let keys = data.short_lines("members.txt", KEYS, |i| i).map_err(failed)?;
    let all = data
        .short_lines("lines.txt", lines, |i| if i % 10 == 0 { i / 10 % KEYS } else { KEYS + i })
        .map_err(failed)?;
    let (filter, out) = (data.path("members.tamis"), data.path("out.txt"));
    time(Command::new(tamis).arg("build").arg(&keys).arg("--output").arg(&filter))?;
    let has_rbloom = time(Command::new(python).args(["-c", "import rbloom"])).is_ok();

    // In a shell, which knows pipes; the paths come as arguments.
    let shell = |line: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", line, "sh"]).args([tamis, &filter, &keys, &all, &out]).env("LC_ALL", "C");
        command
    };
    let contestants = [
        ("grep -Fxf, files", "grep -Fxf \"$3\" \"$4\" > \"$5\""),
        ("grep -Fxf, pipes", "cat \"$4\" | grep -Fxf \"$3\" | cat > \"$5\""),
        ("tamis, files, 1 thread", "\"$1\" filter \"$2\" \"$4\" -o \"$5\" --threads 1"),
        ("tamis, files, 2 threads", "\"$1\" filter \"$2\" \"$4\" -o \"$5\" --threads 2"),
        ("tamis, pipes, 1 thread", "cat \"$4\" | \"$1\" filter \"$2\" - --threads 1 | cat > \"$5\""),
        ("tamis, pipes, 2 threads", "cat \"$4\" | \"$1\" filter \"$2\" - --threads 2 | cat > \"$5\""),
    ];
    let mut runs: Vec<(&'static str, Vec<Took>)> =
        contestants.iter().map(|(name, _)| (*name, Vec::new())).collect();
    let mut of_python = Vec::new();
    for _ in 0..ROUNDS {
        for ((_, line), (_, runs)) in contestants.iter().zip(&mut runs) {
            runs.push(time(&mut shell(line))?);
        }
        if has_rbloom {
            of_python.push(time(Command::new(python).args(["-c", PYTHON]).args([&keys, &all, &out]))?);
        }
    }
    if has_rbloom {
        runs.push(("Python and rbloom, files", of_python));
    }

    let mut notes =
        vec!["All with their start; grep reads its keys each time, and tamis a filter.".to_owned()];
    if !has_rbloom {
        notes.push(format!("Python and rbloom: left out, {} has no rbloom.", python.display()));
    }
    let runs = Runs(runs);
    println!("{}", table(&runs, lines, notes).text());
    judge(&runs, has_rbloom);
    println!();
    let figures = runs.0.iter().map(|(name, runs)| json!({ "command": name, "wall": wall(runs) }));
    Ok(json!({ "lines": lines, "keys": KEYS, "runs": figures.collect::<Vec<_>>() }))
}

/// What each command took, round by round.
struct Runs(Vec<(&'static str, Vec<Took>)>);

impl Runs {
    /// The least seconds that a command took.
    fn least(&self, name: &str) -> f64 {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map_or(f64::NAN, |(_, runs)| best(wall(runs).into_iter()))
    }
}

fn wall(runs: &[Took]) -> Vec<f64> {
    runs.iter().map(|took| took.wall).collect()
}

fn table(runs: &Runs, lines: u64, notes: Vec<String>) -> Table {
    let peer = |name: &str| if name.contains("pipes") { "grep -Fxf, pipes" } else { "grep -Fxf, files" };
    let row = |(name, took): &(&str, Vec<Took>)| {
        let least = runs.least(name);
        vec![
            (*name).to_owned(),
            format!("{least:.3}"),
            format!("{:.3}", median(&wall(took))),
            format!("{:.1}", 1e9 * least / lines as f64),
            format!("{:.1}", runs.least(peer(name)) / least),
        ]
    };
    Table {
        caption: format!(
            "{} lines of 9 characters, {} keys, {ROUNDS} rounds, seconds",
            number::count(lines),
            number::count(KEYS)
        ),
        columns: vec![
            Column::left("command"),
            Column::right("best"),
            Column::right("median"),
            Column::right("ns/line"),
            Column::right("× grep"),
        ],
        rows: runs.0.iter().map(row).collect(),
        notes,
    }
}

/// Says whether the targets are met.
fn judge(runs: &Runs, has_rbloom: bool) {
    let judge = |name: &str, other: &str, target: f64| {
        let ratio = runs.least(other) / runs.least(name);
        println!("{name}: {ratio:.1}x as fast as {other} (target: {target}): {}", verdict(ratio >= target));
    };
    for threads in ["1 thread", "2 threads"] {
        judge(&format!("tamis, files, {threads}"), "grep -Fxf, files", TARGETS[0]);
        judge(&format!("tamis, pipes, {threads}"), "grep -Fxf, pipes", TARGETS[1]);
    }
    if has_rbloom {
        judge("tamis, files, 2 threads", "Python and rbloom, files", PYTHON_TARGET);
    }
}
