//! One key per line, with the number of keys given: beside its parts, the limit, a bare loop, and `wc -l`.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tamis_make::number;
use tamis_report::{Column, Table};

use super::bare;
use super::data::Data;
use super::limit::{Limit, filter_bytes};
use super::parts::{self, Parts};
use super::process::{Took, best, time};
use super::{build_lines, verdict};
use crate::rounds::median;

const ROUNDS: usize = 7;

/// Times the sum of its parts, at most, on one thread.
const TARGET: f64 = 1.15;

/// How much of the limit's own scaling to two threads is reached, at least.
const SCALING: f64 = 0.95;

pub fn run(tamis: &Path, keys: u64, data: &Data) -> Result<Value, String> {
    let input = data.lines(keys).map_err(|error| format!("the keys could not be written: {error}"))?;
    let output = data.path("lines.tamis");
    let mut limit = Limit::new(keys);
    let mut counting: Vec<Took> = Vec::new();
    let mut bare: Vec<f64> = Vec::new();
    let mut parts = Parts::NONE;
    // For one and for two threads: the build, the limit.
    let mut builds: [Vec<Took>; 2] = Default::default();
    let mut limits: [Vec<f64>; 2] = Default::default();
    for _ in 0..ROUNDS {
        for threads in [1, 2] {
            limits[threads - 1].push(limit.time(keys, threads));
            builds[threads - 1].push(time(&mut build_lines(tamis, &input, Some(keys), threads, &output))?);
        }
        bare.push(bare::lines(&input, keys).map_err(|error| format!("the bare loop failed: {error}"))?);
        let found = parts::time(&input, keys, &data.path("parts.bin"));
        parts = parts.least(found.map_err(|error| format!("the parts failed: {error}"))?);
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
    for (part, seconds) in parts.named() {
        rows.push(row(format!("part: {part}"), &[seconds], None, &limits[0]));
    }
    rows.push(row("sum of the parts".into(), &[parts.sum()], None, &limits[0]));
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
            "Parts are measured alone, on one thread; the sum has the faster way to set, and the last sync."
                .into(),
            "The bare loop reads, cuts, hashes and sets, and does nothing else.".into(),
        ],
    };
    println!("{}", table.text());
    judge(builds.each_ref().map(|build| wall(build)), &limits, &parts);
    println!();
    let figures = builds
        .iter()
        .zip(&limits)
        .enumerate()
        .map(|(i, (build, limit))| json!({ "threads": i + 1, "build": wall(build), "limit": limit }));
    let parts: serde_json::Map<String, Value> =
        parts.named().into_iter().map(|(part, seconds)| (part.into(), seconds.into())).collect();
    let runs: Vec<_> = figures.collect();
    Ok(json!({ "keys": keys, "runs": runs, "parts": parts, "bare": bare, "wc": wall(&counting) }))
}

/// Says whether the targets are met, by the seconds on one and on two threads.
fn judge(builds: [Vec<f64>; 2], limits: &[Vec<f64>; 2], parts: &Parts) {
    let least = |times: &[f64]| best(times.iter().copied());
    let [one, two] = builds.each_ref().map(|build| least(build));
    let ratio = one / parts.sum();
    println!(
        "build with --keys, 1 thread: {ratio:.2}x the sum of its parts (target: at most {TARGET}): {}",
        verdict(ratio <= TARGET)
    );
    let [of_build, of_limit] = [one / two, least(&limits[0]) / least(&limits[1])];
    println!(
        "build with --keys, 2 threads: {of_build:.2}x as fast as 1; the limit {of_limit:.2}x: {:.2} of it \
         (target: at least {SCALING}): {}",
        of_build / of_limit,
        verdict(of_build >= SCALING * of_limit)
    );
}
