//! `tamis build` without the number of keys, beside the same with it: from a file, from Parquet, through a pipe, and
//! compressed.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tamis_make::number;
use tamis_report::{Column, Table};

use super::data::Data;
use super::limit::filter_bytes;
use super::process::{Took, best, peak_memory, time};
use super::verdict;

const ROUNDS: usize = 5;

/// What counting may have besides the filter.
const BUFFER: u64 = 256 << 20;

/// How lines come, what reads them ($1 the program, $2 the file, $3 the output, the rest arguments), and how many times as
/// long it may take without the number of keys.
const WAYS: [(&str, &str, f64); 4] = [
    ("parquet", r#"p=$1 i=$2 o=$3; shift 3; exec "$p" build "$i.parquet" --key line -o "$o" "$@""#, 1.5),
    ("file", r#"p=$1 i=$2 o=$3; shift 3; exec "$p" build "$i" --format lines -o "$o" "$@""#, 1.5),
    ("pipe", r#"p=$1 i=$2 o=$3; shift 3; cat "$i" | "$p" build - --format lines -o "$o" "$@""#, 2.0),
    ("gzip", r#"p=$1 i=$2 o=$3; shift 3; exec "$p" build "$i.gz" --format lines -o "$o" "$@""#, 2.0),
];

const THREADS: [usize; 2] = [1, 2];

/// From this many keys on they come from a file alone, on two threads, and are read once in each way: it takes minutes, and
/// other files of them would take as long to make.
const LARGE: u64 = 500_000_000;

pub fn run(tamis: &Path, rows: &[u64], data: &Data) -> Result<Value, String> {
    let (mut table_rows, mut figures, mut verdicts) = (Vec::new(), Vec::new(), Vec::new());
    for &keys in rows {
        let input = data.lines(keys).map_err(|error| format!("the keys could not be written: {error}"))?;
        let table = input.with_added_extension("parquet");
        if keys < LARGE {
            write_others(tamis, &input, &table)?;
        }
        let rounds = if keys < LARGE { ROUNDS } else { 1 };
        for (way, script, target) in WAYS.into_iter().filter(|(way, ..)| keys < LARGE || *way == "file") {
            for threads in THREADS.into_iter().filter(|threads| keys < LARGE || *threads == 2) {
                let output = data.path("counted.tamis");
                let command = |planned: bool| {
                    let mut command = Command::new("sh");
                    command.args(["-c", script, "sh"]).arg(tamis).arg(&input).arg(&output);
                    command.args(["--threads", &threads.to_string()]);
                    if planned {
                        command.args(["--keys", &keys.to_string()]);
                    }
                    command
                };
                let (mut planned, mut counted): (Vec<Took>, Vec<Took>) = Default::default();
                for _ in 0..rounds {
                    planned.push(time(&mut command(true))?);
                    counted.push(time(&mut command(false))?);
                }
                // Of a pipe, this is the shell that waits: nothing is told of the program.
                let memory = match way {
                    "pipe" => None,
                    _ => Some(peak_memory(&mut command(false))?.saturating_sub(filter_bytes(keys))),
                };
                let wall = |runs: &[Took]| best(runs.iter().map(|took| took.wall));
                let cpu = |runs: &[Took]| best(runs.iter().map(|took| took.cpu));
                let ratio = wall(&counted) / wall(&planned);
                let small = memory.is_none_or(|memory| memory <= BUFFER);
                verdicts.push(format!(
                    "{way}, {} keys, {threads} threads: {ratio:.2}x the same with --keys (target: at most {target}): {}",
                    number::short(keys as f64),
                    verdict(ratio <= target && small)
                ));
                table_rows.push(vec![
                    way.into(),
                    number::count(keys),
                    threads.to_string(),
                    format!("{:.3}", wall(&planned)),
                    format!("{:.3}", wall(&counted)),
                    format!("{ratio:.2}"),
                    format!("{:.2}", cpu(&counted) / cpu(&planned)),
                    memory.map_or(String::new(), number::bytes),
                ]);
                figures.push(json!({
                    "way": way, "keys": keys, "threads": threads, "memory_besides_filter": memory,
                    "with_keys": wall(&planned), "without": wall(&counted),
                    "cpu_with_keys": cpu(&planned), "cpu_without": cpu(&counted),
                }));
            }
        }
        let _ = std::fs::remove_file(input.with_added_extension("gz"));
        let _ = std::fs::remove_file(table);
        let _ = std::fs::remove_file(input); // room for the next
    }
    let table = Table {
        caption: format!("tamis build with and without --keys, one key per line, best of {ROUNDS}, seconds"),
        columns: [Column::left("from")]
            .into_iter()
            .chain(
                ["keys", "threads", "--keys", "without", "ratio", "CPU ratio", "memory besides"]
                    .map(Column::right),
            )
            .collect(),
        rows: table_rows,
        notes: vec![format!(
            "Memory of the program's own besides the filter, without --keys (target: at most {}).",
            number::bytes(BUFFER)
        )],
    };
    println!("{}", table.text());
    verdicts.iter().for_each(|line| println!("{line}"));
    println!();
    Ok(figures.into())
}

/// Writes the same keys compressed, and as Parquet.
fn write_others(tamis: &Path, input: &Path, table: &Path) -> Result<(), String> {
    time(Command::new("gzip").args(["-1", "--keep", "--force"]).arg(input))?;
    let mut rows = Command::new(tamis);
    rows.arg("dedup").arg(input).args(["--format", "lines", "--strict", "--memory", "8GB"]);
    time(rows.arg("--output").arg(table))?;
    Ok(())
}
