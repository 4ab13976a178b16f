//! `filters`: ns per key of every contestant, beside the limit and beside `tamis blocked`.

use serde_json::{Value, json};
use tamis_make::number;
use tamis_report::{Column, Table};

use crate::contestants;
use crate::rounds::{self, Measured, median};

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
    println!("Targets:");
    for verdict in &verdicts {
        println!("  {verdict}");
    }
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

fn judge(keys: u64, measured: &[Measured]) -> Vec<String> {
    let at = number::short(keys as f64);
    let says = |met: bool| if met { "met" } else { "NOT met" };
    let mut verdicts = Vec::new();
    if let (Some(blocked), Some(limit)) = (find(measured, "tamis blocked"), find(measured, "limit"))
        && keys >= 100_000_000
    {
        for (i, operation) in OPERATIONS.iter().enumerate() {
            let ratio = ratio(blocked, limit, i);
            verdicts.push(format!(
                "blocked at {at}: {operation} {ratio:.2}x the limit (target: at most 1.2): {}",
                says(ratio <= 1.2)
            ));
        }
    }
    if let Some(blocked) = find(measured, "tamis blocked") {
        for peer in
            measured.iter().filter(|one| !one.name.starts_with("limit") && !one.name.starts_with("tamis"))
        {
            let ratios = [0, 1, 2].map(|i| ratio(peer, blocked, i));
            let [insert, hit, miss] = ratios.map(|ratio| format!("{ratio:.2}"));
            verdicts.push(format!(
                "blocked at {at}: {} takes {insert}x / {hit}x / {miss}x its time (target: ahead): {}",
                peer.name,
                says(ratios.iter().all(|&ratio| ratio > 1.0))
            ));
        }
    }
    if let (Some(bloom), Some(peer)) = (find(measured, "tamis bloom"), find(measured, "fastbloom"))
        && keys >= 100_000_000
    {
        for (i, operation) in OPERATIONS.iter().enumerate() {
            let ratio = ratio(peer, bloom, i);
            verdicts.push(format!(
                "bloom at {at}: {operation} {ratio:.2}x as fast as fastbloom (target: at least 3): {}",
                says(ratio >= 3.0)
            ));
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
