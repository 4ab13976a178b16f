//! One key per line, with the number of keys given: beside the limit, a bare loop, and `wc -l`.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tamis_make::number;
use tamis_report::{Column, Table};

use super::bare;
use super::data::Data;
use super::limit::{Limit, filter_bytes};
use super::process::{Took, best, time};
use super::{build_lines, verdict};
use crate::rounds::median;

const ROUNDS: usize = 7;

/// Times the limit.
const TARGET: f64 = 1.3;

pub fn run(tamis: &Path, keys: u64, data: &Data) -> Result<Value, String> {
    let input = data.lines(keys).map_err(|error| format!("the keys could not be written: {error}"))?;
    let output = data.path("lines.tamis");
    let mut limit = Limit::new(keys);
    let mut counting: Vec<Took> = Vec::new();
    let mut bare: Vec<f64> = Vec::new();
    // For one and for two threads: the build, the limit.
    let mut builds: [Vec<Took>; 2] = Default::default();
    let mut limits: [Vec<f64>; 2] = Default::default();
    for _ in 0..ROUNDS {
        for threads in [1, 2] {
            limits[threads - 1].push(limit.time(keys, threads));
            builds[threads - 1].push(time(&mut build_lines(tamis, &input, keys, threads, &output))?);
        }
        bare.push(bare::time(&input, keys).map_err(|error| format!("the bare loop failed: {error}"))?);
        counting.push(time(Command::new("wc").arg("-l").arg(&input))?);
    }

    let wall = |runs: &[Took]| runs.iter().map(|took| took.wall).collect::<Vec<_>>();
    let row = |name: String, times: &[f64], cpu: Option<f64>, beside: &[f64]| {
        let least = best(times.iter().copied());
        vec![
            name,
            format!("{least:.3}"),
            format!("{:.3}", median(times)),
            cpu.map_or(String::new(), |cpu| format!("{cpu:.3}")),
            format!("{:.1}", 1e9 * least / keys as f64),
            format!("{:.2}", least / best(beside.iter().copied())),
        ]
    };
    let cpu = |runs: &[Took]| Some(best(runs.iter().map(|took| took.cpu)));
    let mut rows = Vec::new();
    for (i, (build, limit)) in builds.iter().zip(&limits).enumerate() {
        rows.push(row(format!("limit, {} threads", i + 1), limit, None, limit));
        rows.push(row(format!("tamis build, {} threads", i + 1), &wall(build), cpu(build), limit));
    }
    rows.push(row("bare loop, 1 thread".into(), &bare, None, &limits[0]));
    rows.push(row("wc -l".into(), &wall(&counting), cpu(&counting), &limits[0]));
    let table = Table {
        caption: format!(
            "One key per line: {} keys, a filter of {}, {ROUNDS} rounds, seconds",
            number::count(keys),
            number::bytes(filter_bytes(keys))
        ),
        columns: vec![
            Column::left("command"),
            Column::right("best"),
            Column::right("median"),
            Column::right("CPU, best"),
            Column::right("ns/key"),
            Column::right("÷ limit"),
        ],
        rows,
        notes: vec![
            "The time of a build includes its start, reading, and writing the file.".into(),
            "The bare loop reads, cuts, hashes and sets, and does nothing else.".into(),
        ],
    };
    println!("{}", table.text());
    for (i, (build, limit)) in builds.iter().zip(&limits).enumerate() {
        let ratio = best(wall(build).into_iter()) / best(limit.iter().copied());
        println!(
            "build with --keys, {} threads: {ratio:.2}x the limit (target: at most {TARGET}): {}",
            i + 1,
            verdict(ratio <= TARGET)
        );
    }
    println!();
    let figures = builds
        .iter()
        .zip(&limits)
        .enumerate()
        .map(|(i, (build, limit))| json!({ "threads": i + 1, "build": wall(build), "limit": limit }));
    Ok(json!({ "keys": keys, "runs": figures.collect::<Vec<_>>(), "bare": bare, "wc": wall(&counting) }))
}
