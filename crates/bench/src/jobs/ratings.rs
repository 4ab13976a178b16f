//! Film ratings: filters of ten groups, built from 1.26 million rows and tested with them.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tamis_lab::generate::TITLES;
use tamis_report::{Column, Table};

use super::bare;
use super::data::Data;
use super::process::{Took, best, time};
use super::verdict;
use crate::rounds::median;

const ROUNDS: usize = 10;

/// Times the bare loop, which only builds, for `build` and `test` together, at most.
const TARGET: f64 = 3.2;

const BARE: &str = "bare loop, build, 1 thread";

/// Builds ten filters as a Python program would.
const PYTHON: &str = "
import sys
from rbloom import Bloom
groups = {}
with open(sys.argv[1]) as rows:
    next(rows)
    for row in rows:
        title, rating, _ = row.split('\\t')
        groups.setdefault(round(float(rating)), []).append(title)
filters = {}
for group, titles in groups.items():
    filters[group] = Bloom(len(titles), 0.01)
    filters[group].update(titles)
";

pub fn run(tamis: &Path, python: &Path, data: &Data) -> Result<Value, String> {
    let table = data.ratings().map_err(|error| format!("the table could not be written: {error}"))?;
    let filters = data.path("ratings.tamis");
    let build = |threads: usize| {
        let mut command = Command::new(tamis);
        command.arg("build").arg(&table).args(["--key", "tconst", "--group", "averageRating:round"]);
        command.args(["--threads", &threads.to_string(), "--output"]).arg(&filters);
        command
    };
    let test = |threads: usize| {
        let mut command = Command::new(tamis);
        command.arg("test").arg(&filters).arg(&table).args(["--threads", &threads.to_string()]);
        command
    };
    let has_rbloom = time(Command::new(python).args(["-c", "import rbloom"])).is_ok();

    let mut runs: Vec<(String, Vec<Took>)> = Vec::new();
    for _ in 0..ROUNDS {
        let mut note = |name: String, took: Took| match runs.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => all.push(took),
            None => runs.push((name, vec![took])),
        };
        for threads in [1, 2] {
            let (built, tested) = (time(&mut build(threads))?, time(&mut test(threads))?);
            note(format!("tamis build, {threads} threads"), built);
            note(format!("tamis test, {threads} threads"), tested);
            note(format!("both, {threads} threads"), built + tested);
        }
        let bare = bare::ratings(&table, TITLES).map_err(|error| format!("the bare loop failed: {error}"))?;
        note(BARE.into(), Took { wall: bare, cpu: bare });
        note("wc -l".into(), time(Command::new("wc").arg("-l").arg(&table))?);
        if has_rbloom {
            note(
                "Python and rbloom, build".into(),
                time(Command::new(python).args(["-c", PYTHON]).arg(&table))?,
            );
        }
    }

    let milliseconds = |seconds: f64| format!("{:.1}", 1e3 * seconds);
    let wall = |runs: &[Took]| runs.iter().map(|took| took.wall).collect::<Vec<_>>();
    let row = |(name, runs): &(String, Vec<Took>)| {
        let (wall, cpu) = (wall(runs), best(runs.iter().map(|took| took.cpu)));
        let times = [best(wall.iter().copied()), median(&wall), cpu];
        [name.clone()].into_iter().chain(times.map(milliseconds)).collect::<Vec<_>>()
    };
    let mut notes = vec![
        "The bare loop reads, cuts, hashes and sets, and has no start, no checks and no file.".to_owned(),
    ];
    if !has_rbloom {
        notes.push(format!("Python and rbloom: left out, {} has no rbloom.", python.display()));
    }
    let shown = Table {
        caption: format!("Film ratings: 1,260,817 rows, warm page cache, {ROUNDS} rounds, ms"),
        columns: vec![
            Column::left("command"),
            Column::right("best"),
            Column::right("median"),
            Column::right("CPU, best"),
        ],
        rows: runs.iter().map(row).collect(),
        notes,
    };
    println!("{}", shown.text());
    let least = |runs: &[Took]| best(wall(runs).into_iter());
    let bare = runs.iter().find(|(name, _)| name == BARE).map_or(f64::NAN, |(_, runs)| least(runs));
    for (name, runs) in runs.iter().filter(|(name, _)| name.starts_with("both")) {
        let ratio = least(runs) / bare;
        println!(
            "film ratings, {name}: {ratio:.2}x a bare loop that builds (target: at most {TARGET}): {}",
            verdict(ratio <= TARGET)
        );
    }
    println!();
    let all = runs.iter().map(|(name, runs)| {
        let cpu: Vec<f64> = runs.iter().map(|took| took.cpu).collect();
        json!({ "command": name, "wall": wall(runs), "cpu": cpu })
    });
    Ok(all.collect())
}
