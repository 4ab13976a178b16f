//! More and more rows: time must grow in proportion, and memory must be the filter and a fixed
//! buffer, whatever the number of threads.

use std::path::Path;

use serde_json::{Value, json};
use tamis_make::number;
use tamis_report::{Column, Table};

use super::data::Data;
use super::limit::{Limit, filter_bytes};
use super::process::{best, peak_memory, time};
use super::{build_lines, verdict};

const THREADS: [usize; 3] = [1, 2, 8];
const ROUNDS: usize = 3;

/// From this many keys on there is one round, on two threads: it takes minutes.
const LARGE: u64 = 500_000_000;

/// How often builds of this many keys are measured, and on how many threads.
fn measured(keys: u64) -> (usize, &'static [usize]) {
    if keys >= LARGE { (1, &THREADS[1..2]) } else { (ROUNDS, &THREADS) }
}

/// Whether the number of keys is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Given,
    Counted,
}

impl Way {
    const ALL: [Way; 2] = [Way::Given, Way::Counted];

    fn name(self) -> &'static str {
        match self {
            Way::Given => "--keys",
            Way::Counted => "counted",
        }
    }

    fn keys(self, keys: u64) -> Option<u64> {
        (self == Way::Given).then_some(keys)
    }

    /// What a build may have besides the filter: as much for a hundred million keys as for one.
    fn buffer(self) -> u64 {
        match self {
            Way::Given => 64 << 20,
            Way::Counted => 256 << 20,
        }
    }
}

struct Point {
    way: Way,
    keys: u64,
    threads: usize,
    ns: f64,
    /// Divided by the limit on one thread.
    beside: f64,
    /// Memory besides the filter.
    rest: u64,
}

pub fn run(tamis: &Path, rows: &[u64], data: &Data) -> Result<Value, String> {
    let mut points = Vec::new();
    for &keys in rows {
        let input = data.lines(keys).map_err(|error| format!("the keys could not be written: {error}"))?;
        let output = data.path("growth.tamis");
        let mut limits = Vec::new();
        let (rounds, threads) = measured(keys);
        let mut times = [[f64::INFINITY; THREADS.len()]; 2];
        let mut limit = Limit::new(keys);
        for _ in 0..rounds {
            limits.push(limit.time(keys, 1));
            for (way, times) in Way::ALL.into_iter().zip(&mut times) {
                for (&threads, least) in threads.iter().zip(times) {
                    // The processors' time: with more threads than there are, the clock tells little.
                    let took = time(&mut build_lines(tamis, &input, way.keys(keys), threads, &output))?;
                    *least = least.min(took.cpu);
                }
            }
        }
        drop(limit);
        for (way, times) in Way::ALL.into_iter().zip(times) {
            for (&threads, seconds) in threads.iter().zip(times) {
                let peak = peak_memory(&mut build_lines(tamis, &input, way.keys(keys), threads, &output))?;
                points.push(Point {
                    way,
                    keys,
                    threads,
                    ns: 1e9 * seconds / keys as f64,
                    beside: seconds / best(limits.iter().copied()),
                    rest: peak.saturating_sub(filter_bytes(keys)),
                });
            }
        }
        let _ = std::fs::remove_file(input); // room for the next
    }

    let row = |point: &Point| {
        vec![
            point.way.name().to_owned(),
            number::count(point.keys),
            point.threads.to_string(),
            format!("{:.1}", point.ns),
            format!("{:.2}", point.beside),
            number::bytes(filter_bytes(point.keys)),
            number::bytes(point.rest),
        ]
    };
    let table = Table {
        caption: format!(
            "tamis build, one key per line: CPU time, best of {ROUNDS}; one round from {} keys on",
            number::count(LARGE)
        ),
        columns: [Column::left("number")]
            .into_iter()
            .chain(["keys", "threads", "ns/key", "÷ limit", "filter", "memory besides"].map(Column::right))
            .collect(),
        rows: points.iter().map(row).collect(),
        notes: vec!["Memory of the program's own; pages of the mapped input are not counted.".into()],
    };
    println!("{}", table.text());
    Way::ALL.into_iter().for_each(|way| judge(way, &points));
    println!();
    let figures = points.iter().map(|point| {
        json!({
            "number": point.way.name(),
            "keys": point.keys,
            "threads": point.threads,
            "cpu_ns_per_key": point.ns,
            "beside_limit": point.beside,
            "memory_besides_filter": point.rest,
        })
    });
    Ok(figures.collect())
}

/// Says whether the targets are met.
fn judge(way: Way, points: &[Point]) {
    for threads in THREADS {
        let these = points.iter().filter(|point| point.way == way && point.threads == threads);
        let most = these.clone().map(|point| point.rest).max().unwrap_or(0);
        let mut these = these;
        if let (Some(first), Some(last)) = (these.next(), these.next_back()) {
            // A larger filter lies farther from the processor: that much, the limit grows too.
            let growth = last.beside / first.beside;
            println!(
                "{}, {threads} threads: from {} to {} keys, time per key beside the limit grows {growth:.2}x (target: at most 1.2): {}",
                way.name(),
                number::short(first.keys as f64),
                number::short(last.keys as f64),
                verdict(growth <= 1.2)
            );
        }
        println!(
            "{}, {threads} threads: at most {} besides the filter (target: {}): {}",
            way.name(),
            number::bytes(most),
            number::bytes(way.buffer()),
            verdict(most <= way.buffer())
        );
    }
}
