//! `filters`: ns per key of every contestant, beside the limit and beside `tamis blocked`.

use std::ops::RangeInclusive;

use serde_json::{Value, json};
use tamis_make::number;
use tamis_report::{Column, Table};

use crate::contestants;
use crate::rounds::{self, AHEAD, Measured, median, verdict};

/// Measures sets of these sizes, those contestants whose name holds one of `only` (all, if
/// empty), and prints tables and verdicts.
pub fn run(sizes: &[u64], only: &[String]) -> Value {
    let mut results = Vec::new();
    let mut verdicts = Vec::new();
    for &keys in sizes {
        let mut contestants = contestants::all();
        contestants.retain(|c| only.is_empty() || only.iter().any(|part| c.name().contains(part.as_str())));
        let measured = rounds::measure(&mut contestants, keys);
        println!("{}", table(keys, &measured).text());
        verdicts.extend(judge(keys, &measured));
        results.push(json!({
            "keys": keys,
            "contestants": measured.iter().map(to_json).collect::<Vec<_>>(),
        }));
    }
    rounds::print_verdicts(&verdicts);
    json!({ "filters": results, "verdicts": verdicts })
}

fn find<'a>(measured: &'a [Measured], name: &str) -> Option<&'a Measured> {
    measured.iter().find(|one| one.name.starts_with(name))
}

fn table(keys: u64, measured: &[Measured]) -> Table {
    let mut columns = vec![Column::left("contestant")];
    for name in ["bits/key", "rate", "insert", "hit", "miss", "÷ limit", "", "", "÷ tamis blocked", "", ""]
    {
        columns.push(Column::right(name));
    }
    let beside = |one: &Measured, other: Option<&Measured>| {
        [0, 1, 2].map(|i| other.map_or(String::new(), |other| format!("{:.2}", ratio(one, other, i))))
    };
    let rows = measured.iter().map(|one| {
        let is_limit = one.name.starts_with("limit");
        let mut row = vec![one.name.to_owned(), format!("{:.2}", one.bits_per_key)];
        row.push(if is_limit { String::new() } else { format!("{:.3} %", 100.0 * one.rate) });
        row.extend([one.insert, one.hit, one.miss].map(|time| format!("{time:.1}")));
        row.extend(beside(one, find(measured, "limit")));
        row.extend(beside(one, find(measured, "tamis blocked")));
        row
    });
    Table {
        caption: format!("{} keys: ns per key, one thread (insert / hit / miss)", number::count(keys)),
        columns,
        rows: rows.collect(),
        notes: vec![],
    }
}

/// Insert (0), hit (1) or miss (2) of one divided by that of another: the median of what the
/// rounds say where both were measured in the same ones, else that of the medians.
fn ratio(one: &Measured, other: &Measured, operation: usize) -> f64 {
    let (times, others) = (&one.rounds[operation], &other.rounds[operation]);
    if times.len() == others.len() {
        median(&times.iter().zip(others).map(|(time, other)| time / other).collect::<Vec<_>>())
    } else {
        median(times) / median(others)
    }
}

const OPERATIONS: [&str; 3] = ["insert", "hit", "miss"];

/// The most time that one may take beside another: for insert (or build), hit and miss.
struct Target {
    one: &'static str,
    other: &'static str,
    /// For sets of these sizes.
    keys: RangeInclusive<u64>,
    most: [f64; 3],
}

const MILLION: u64 = 1_000_000;
const SMALL: RangeInclusive<u64> = 0..=MILLION;
const LARGE: RangeInclusive<u64> = 100 * MILLION..=u64::MAX;
const ANY: RangeInclusive<u64> = 0..=u64::MAX;

/// What is asked of each kind. `fuse` may take a tenth more to build: its order is fixed.
const TARGETS: [Target; 8] = [
    Target { one: "tamis blocked", other: "limit", keys: SMALL, most: [1.6; 3] },
    Target { one: "tamis blocked", other: "limit", keys: LARGE, most: [1.2; 3] },
    Target { one: "tamis bloom", other: "fastbloom", keys: 0..=100 * MILLION - 1, most: [AHEAD; 3] },
    Target { one: "tamis bloom", other: "fastbloom", keys: LARGE, most: [1.0 / 3.0; 3] },
    Target { one: "tamis fuse, 7", other: "xorf BinaryFuse8", keys: ANY, most: [1.1, 1.2, 1.2] },
    Target { one: "tamis fuse, 8", other: "xorf BinaryFuse8", keys: ANY, most: [1.1, AHEAD, AHEAD] },
    Target { one: "tamis fuse, 12", other: "xorf BinaryFuse16", keys: ANY, most: [1.1, 1.2, 1.2] },
    Target { one: "tamis fuse, 16", other: "xorf BinaryFuse16", keys: ANY, most: [1.1, AHEAD, AHEAD] },
];

/// What the bulk mode of Boost.Bloom takes beside the limit with a million keys. The crate does not have it, so that
/// this was measured elsewhere: with its C++ headers, on an Intel processor with AVX-512.
const BULK: [f64; 3] = [1.43, 1.46, 2.05];

/// How each target was met, with the ratios.
fn judge(keys: u64, measured: &[Measured]) -> Vec<String> {
    let ahead_of_all = measured
        .iter()
        .filter(|one| !one.name.starts_with("limit") && !one.name.starts_with("tamis"))
        .map(|peer| ("tamis blocked", peer.name, [AHEAD; 3]));
    let targets = TARGETS.iter().filter(|target| target.keys.contains(&keys));
    let all = targets.map(|target| (target.one, target.other, target.most)).chain(ahead_of_all);
    let at = number::short(keys as f64);
    let mut verdicts = Vec::new();
    for (one, other, most) in all {
        let (Some(one), Some(other)) = (find(measured, one), find(measured, other)) else { continue };
        for (i, operation) in OPERATIONS.iter().enumerate() {
            let what = format!("{} at {at}: {operation}", one.name);
            verdicts.push(verdict(&what, ratio(one, other, i), other.name, most[i]));
        }
    }
    if let (true, Some(one), Some(limit)) =
        (SMALL.contains(&keys), find(measured, "tamis blocked"), find(measured, "limit"))
    {
        for (i, operation) in OPERATIONS.iter().enumerate() {
            let what = format!("{} at {at}: {operation}", one.name);
            let of_bulk = ratio(one, limit, i) / BULK[i];
            verdicts.push(verdict(&what, of_bulk, "Boost.Bloom's bulk mode, by its recorded ratios", AHEAD));
        }
    }
    verdicts
}

fn to_json(one: &Measured) -> Value {
    json!({
        "name": one.name,
        "bits_per_key": one.bits_per_key,
        "rate": one.rate,
        "ns": { "insert": one.insert, "hit": one.hit, "miss": one.miss },
        "rounds": { "insert": one.rounds[0], "hit": one.rounds[1], "miss": one.rounds[2] },
    })
}
