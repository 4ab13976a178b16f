//! Streams from files: training beside `build`, queries beside `filter`, on the same addresses.
//! `tamis reproduce streams --on` measures them beside Spark.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tamis_lab::generate;
use tamis_make::number;
use tamis_report::{Column, Table};

use super::data::Data;
use super::process::{best, time};
use super::verdict;
use crate::rounds::median;

const ROUNDS: usize = 5;

/// Times the verb that is not a stream, at most.
const TARGET: f64 = 2.0;

/// What is run, in a shell; each stream after the verb that it is compared with.
const COMMANDS: [(&str, &str); 6] = [
    ("build", "\"$1\" build train.txt --format lines --keys $2 --threads $3 -o built.tamis"),
    ("stream --train", "\"$1\" stream --train train.txt --format lines --keys $2 --threads $3 --state run"),
    ("filter", "\"$1\" filter built.tamis ask.txt --format lines --threads $3 -o passed.txt"),
    (
        "stream --query",
        "\"$1\" stream --from built.tamis --query ask.txt --format lines --threads $3 --state run -o seen.txt",
    ),
    (
        "build, count-min",
        "\"$1\" build train.txt --format lines --kind count-min --epsilon 1e-5 --threads $3 -o counts.tamis",
    ),
    (
        "stream --train, count-min",
        "\"$1\" stream --train train.txt --format lines --kind count-min --epsilon 1e-5 --threads $3 --state run",
    ),
];

pub fn run(tamis: &Path, rows: u64, data: &Data) -> Result<Value, String> {
    for (name, seed) in [("train.txt", 1), ("ask.txt", 2)] {
        let write = || -> io::Result<()> {
            let mut out = BufWriter::with_capacity(1 << 20, File::create(data.path(name))?);
            generate::ips(&mut out, rows, generate::ADDRESSES, 0.0, seed)?;
            out.flush()
        };
        write().map_err(|error| format!("the addresses could not be written: {error}"))?;
    }
    let tamis = fs::canonicalize(tamis).map_err(|error| error.to_string())?;
    let mut columns = vec![Column::left("command")];
    columns.extend(["threads", "best", "median", "rows/s", "÷ verb"].map(Column::right));
    let (mut table, mut verdicts, mut results) = (Vec::new(), Vec::new(), Vec::new());
    for threads in [1, 2] {
        let mut times: [Vec<f64>; COMMANDS.len()] = Default::default();
        for _ in 0..ROUNDS {
            for ((_, line), times) in COMMANDS.iter().zip(&mut times) {
                // Each stream from its beginning.
                let _ = fs::remove_dir_all(data.path("run"));
                let _ = fs::remove_file(data.path("seen.txt"));
                let mut command = Command::new("sh");
                command.args(["-c", line, "sh"]).arg(&tamis).args([rows.to_string(), threads.to_string()]);
                times.push(time(command.current_dir(data.path("")))?.wall);
            }
        }
        for (i, ((name, _), times_of)) in COMMANDS.iter().zip(&times).enumerate() {
            let least = best(times_of.iter().copied());
            let mut beside = String::new();
            if i % 2 == 1 {
                let ratio = least / best(times[i - 1].iter().copied());
                beside = format!("{ratio:.2}");
                verdicts.push(format!(
                    "{name}, {threads} threads: {ratio:.2}x {} (target: at most {TARGET}): {}",
                    COMMANDS[i - 1].0,
                    verdict(ratio <= TARGET)
                ));
            }
            table.push(vec![
                (*name).to_owned(),
                threads.to_string(),
                format!("{least:.3}"),
                format!("{:.3}", median(times_of)),
                number::short(rows as f64 / least),
                beside,
            ]);
            results.push(json!({ "command": name, "threads": threads, "seconds": times_of }));
        }
    }
    let table = Table {
        caption: format!("Streams of {} addresses from files, {ROUNDS} rounds, seconds", number::count(rows)),
        columns,
        rows: table,
        notes: vec![
            "Batches of 100,000, with a state; all with their start, commits and the last sync.".into(),
        ],
    };
    println!("{}", table.text());
    verdicts.iter().for_each(|verdict| println!("{verdict}"));
    println!();
    Ok(json!({ "rows": rows, "runs": results }))
}
