//! What was done, as a table and as JSON.

use serde_json::{Value, json};
use tamis_jobs::dedup::Report;
use tamis_make::number;

use crate::Table;
use crate::check::phases_json;
use crate::facts::Facts;

/// For people.
pub fn table(report: &Report) -> Table {
    let mut facts = Facts::default();
    facts.push("records", number::count(report.records));
    facts.push("first occurrences", number::count(report.first));
    facts.push("repetitions", number::count(report.repeated()));
    if report.keyless > 0 {
        facts.push("skipped: without a key", number::count(report.keyless));
    }
    match report.rescued {
        Some(rescued) => facts.push("rescued by the check", number::count(rescued)),
        None => facts.push("expected wrongly dropped", format!("{:.2}", report.dropped)),
    }
    facts.push("keys remembered", number::count(report.keys));
    facts.push("memory", number::bytes(report.bytes));
    facts.phases(&report.phases);
    let notes = match report.rescued {
        Some(_) => "rescued: first occurrences that the filter took for repetitions; none was dropped".into(),
        None => format!(
            "expected wrongly dropped: first occurrences mistaken for repetitions; their rate stays below {}",
            number::rate(report.fpr)
        ),
    };
    facts.table(vec![notes])
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
