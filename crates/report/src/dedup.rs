//! What was done, as a table and as JSON.

use serde_json::{Value, json};
use tamis_jobs::dedup::Report;
use tamis_make::number;

use crate::check::phases_json;
use crate::{Column, Table};

/// For people.
pub fn table(report: &Report) -> Table {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    row("records", number::count(report.records));
    row("first occurrences", number::count(report.first));
    row("repetitions", number::count(report.repeated()));
    if report.keyless > 0 {
        row("skipped: without a key", number::count(report.keyless));
    }
    match report.rescued {
        Some(rescued) => row("rescued by the check", number::count(rescued)),
        None => row("expected wrongly dropped", format!("{:.2}", report.dropped)),
    }
    row("keys remembered", number::count(report.keys));
    row("in", number::bytes(report.bytes));
    for (name, time) in &report.phases {
        row(&format!("time to {name}"), number::duration(*time));
    }
    let notes = match report.rescued {
        Some(_) => "rescued: first occurrences that the filter took for repetitions; none was dropped".into(),
        None => format!(
            "expected wrongly dropped: first occurrences mistaken for repetitions; their rate stays below {}",
            number::rate(report.fpr)
        ),
    };
    let columns = vec![Column::left("what"), Column::right("how much")];
    Table { columns, rows, notes: vec![notes], ..Table::default() }
}

/// For programs.
pub fn json(report: &Report) -> Value {
    json!({
        "records": report.records, "first": report.first, "repeated": report.repeated(), "keyless": report.keyless,
        "dropped_expected": report.dropped, "fpr": report.fpr, "rescued": report.rescued, "keys": report.keys,
        "bytes": report.bytes, "unremembered": report.unremembered, "resumed": report.resumed,
        "phases": phases_json(&report.phases),
    })
}
