//! Lines freed of repetitions: `dedup --strict` beside `dedup`, where no line comes twice, and beside DuckDB's
//! `SELECT DISTINCT`, where most lines have come before.

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

/// Times `dedup`, at most, where all keys fit into memory.
const TARGET: f64 = 2.6;

/// Memory in which they do.
const MEMORY: &str = "2GB";

/// The lines that DuckDB reads, too, and the keys among them.
const MANY: u64 = 66_000_000;
const KEYS: u64 = 2_300_000;

/// The different lines of a file, in any order, to another: types given, nothing looked for, no order kept.
const DUCKDB: &str = "
import sys
import duckdb
db = duckdb.connect(config={'threads': 2, 'preserve_insertion_order': False})
lines = \"read_csv(?, columns={'line': 'VARCHAR'}, header=false, auto_detect=false, delim=',', quote='', escape='')\"
db.execute(f'COPY (SELECT DISTINCT line FROM {lines}) TO ? (FORMAT csv, HEADER false)', sys.argv[1:3])
";

pub fn run(tamis: &Path, python: &Path, lines: u64, data: &Data) -> Result<Value, String> {
    let failed = |error| format!("the lines could not be written: {error}");
    let (out, theirs) = (data.path("first.txt"), data.path("theirs.txt"));
    let dedup = |input: &Path, strict: bool| {
        let mut command = Command::new(tamis);
        command.arg("dedup").arg(input).args(["--format", "lines", "--threads", "2", "--output"]).arg(&out);
        if strict {
            command.args(["--strict", "--memory", MEMORY]);
        }
        command
    };
    let distinct = data.lines(lines).map_err(failed)?;
    let (mut loose, mut strict): (Vec<Took>, Vec<Took>) = Default::default();
    for _ in 0..ROUNDS {
        loose.push(time(&mut dedup(&distinct, false))?);
        strict.push(time(&mut dedup(&distinct, true))?);
    }
    let _ = std::fs::remove_file(distinct); // room for the next

    // Drawn so that a key comes again anywhere later.
    let drawn = |line: u64| tamis::hash::xxh3(&line.to_le_bytes(), 0) % KEYS;
    let repeated = data.short_lines("repeated.txt", MANY, drawn).map_err(failed)?;
    let has_duckdb = time(Command::new(python).args(["-c", "import duckdb"])).is_ok();
    let (mut ours, mut duckdb): (Vec<Took>, Vec<Took>) = Default::default();
    for _ in 0..ROUNDS {
        ours.push(time(&mut dedup(&repeated, true))?);
        if has_duckdb {
            duckdb.push(time(Command::new(python).args(["-c", DUCKDB]).args([&repeated, &theirs]))?);
        }
    }
    if has_duckdb {
        let count = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
        assert_eq!(count(&out), count(&theirs), "both have the same lines");
    }

    let mut runs =
        vec![("dedup", lines, loose), ("dedup --strict", lines, strict), ("dedup --strict", MANY, ours)];
    let mut notes =
        vec![format!("2 threads, from file to file, with their start; --strict with --memory {MEMORY}.")];
    match has_duckdb {
        true => runs.push(("DuckDB, SELECT DISTINCT", MANY, duckdb)),
        false => notes.push(format!("DuckDB: left out, {} has no duckdb.", python.display())),
    }
    println!("{}", table(&runs, lines, notes).text());
    let least = |at: usize| runs.get(at).map_or(f64::NAN, |(_, _, runs)| best(wall(runs).into_iter()));
    let ratio = least(1) / least(0);
    println!("dedup --strict: {ratio:.2}x dedup (target: at most {TARGET}): {}", verdict(ratio <= TARGET));
    if has_duckdb {
        let ratio = least(3) / least(2);
        println!(
            "dedup --strict: {ratio:.2}x as fast as DuckDB's SELECT DISTINCT (target: more than 1): {}",
            verdict(ratio > 1.0)
        );
    }
    println!();
    let figures =
        runs.iter().map(|(name, lines, runs)| json!({ "command": name, "lines": lines, "wall": wall(runs) }));
    Ok(figures.collect())
}

fn wall(runs: &[Took]) -> Vec<f64> {
    runs.iter().map(|took| took.wall).collect()
}

fn table(runs: &[(&str, u64, Vec<Took>)], lines: u64, notes: Vec<String>) -> Table {
    let row = |(name, lines, took): &(&str, u64, Vec<Took>)| {
        let (wall, cpu) = (wall(took), best(took.iter().map(|took| took.cpu)));
        let least = best(wall.iter().copied());
        let seconds = |seconds: f64| format!("{seconds:.3}");
        vec![
            (*name).to_owned(),
            number::count(*lines),
            seconds(least),
            seconds(median(&wall)),
            seconds(cpu),
            format!("{:.1}", 1e9 * least / *lines as f64),
        ]
    };
    let columns = ["lines", "best", "median", "CPU, best", "ns/line"].map(Column::right);
    Table {
        caption: format!(
            "Lines freed of repetitions: {} distinct ones of 13 characters; {} of 9 characters with {} keys; {ROUNDS} \
             rounds, seconds",
            number::count(lines),
            number::count(MANY),
            number::count(KEYS)
        ),
        columns: [Column::left("command")].into_iter().chain(columns).collect(),
        rows: runs.iter().map(row).collect(),
        notes,
    }
}
