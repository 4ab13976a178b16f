//! What was sieved, as a table and as JSON.

use serde_json::{Value, json};
use tamis::sizing::Kind;
use tamis_jobs::ask::Extent;
use tamis_jobs::filter::{Exact, KnownBy, OfFile, Report, Skipped};
use tamis_make::number;
use tamis_make::text::printable;

use crate::Table;
use crate::check::phases_json;
use crate::facts::Facts;

/// For people.
pub fn table(report: &Report) -> Table {
    let mut facts = Facts::default();
    if report.files.is_empty() {
        let (fewest, most) = report.hashes;
        let hashes = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
        facts.push("hash functions", hashes);
        facts.push("size of the set", size(report));
    }
    if report.extent == Extent::Partial {
        facts.push("layers asked", "those that the keywords reach, without the XOR layer");
    }
    facts.push("records analysed", number::count(report.records));
    facts.push("admitted", share(report, report.admitted));
    for file in &report.files {
        let name = printable(&file.name.0);
        let rate = file.rate.map(|rate| format!("; rate of false positives {}", number::rate(rate)));
        let what = format!("{}, {}{}", file.kind, file.hash, rate.unwrap_or_default());
        facts.push(format!("  by {name}"), format!("{}: {what}", share(report, file.admitted)));
    }
    facts.push("rejected", share(report, report.rejected()));
    if report.keyless > 0 {
        facts.push("  without a key", share(report, report.keyless));
    }
    if report.skipped.row_groups > 0 {
        let Skipped { row_groups, skipped, records } = report.skipped;
        facts.push(
            "row groups skipped",
            format!("{} of {}", number::count(skipped), number::count(row_groups)),
        );
        if skipped > 0 {
            facts.push("  their records, rejected unread", share(report, records));
        }
    }
    facts.phases(&report.phases);
    if report.files.is_empty() {
        facts.push("filters", format!("{} ({})", number::count(report.filters), report.kind));
        facts.push("bits", number::count(report.bits));
    }
    if let Some(refuted) = report.refuted {
        facts.push("false positives removed", number::count(refuted));
    }
    if let (Some(rate), Some(expected)) = (report.rate, report.false_admissions) {
        let most = if rate.at_most { ", at most" } else { "" };
        facts.push(format!("rate of false positives{most}"), number::rate(rate.value));
        // Those that were removed are rejected, too, and should be.
        let most = if report.lost.is_some() || rate.at_most { ", at most" } else { "" };
        facts.push(format!("expected false admissions{most}"), number::count(expected.round() as u64));
    }
    if let Some((rate, expected)) = report.lost {
        facts.push("rate of false negatives", number::rate(rate));
        facts.push("expected false rejections", number::count(expected.round() as u64));
    }
    let mut notes = vec![
        "false admissions: a share r (the rate) of the records not in the set passes; so r / (1 − r) are expected for each rejected record with a key".to_owned(),
    ];
    if report.lost.is_some() {
        notes.push("false rejections: the filters of removed keys also match other keys, at their rate g; so g / (1 − g) are expected for each admitted record".into());
    }
    let notes = if report.rate.is_some() { notes } else { Vec::new() };
    facts.table(notes)
}

/// The size of the set: exactly, or an estimate that is called one.
fn size(report: &Report) -> String {
    if let Some(Exact { keys, by }) = report.exact {
        let how = match by {
            KnownBy::Static => "exactly: a static filter",
            KnownBy::Keys => "exactly: the keys are kept",
            KnownBy::Count => "exactly: counted when it was built",
        };
        return format!("{} ({how})", number::counted(keys, "key"));
    }
    report.keys.map_or("unknown: a filter is full".into(), |(least, most)| {
        let (about, planned) = (number::count(most.round() as u64), number::count(report.planned));
        // Short enough for a cell of the table, which would cut the rest.
        match least < most {
            true => format!("about {about} keys, fewer if groups share some (planned: {planned})"),
            false => format!("about {about} keys (an estimate; planned for {planned})"),
        }
    })
}

fn share(report: &Report, part: u64) -> String {
    match report.records {
        0 => number::count(part),
        all => format!("{} ({})", number::count(part), number::percent(part as f64 / all as f64)),
    }
}

/// For programs.
pub fn json(report: &Report) -> Value {
    let exact = report.exact.map(|exact| exact.keys as f64);
    let mut json = json!({
        "kind": report.kind, "filters": report.filters, "hashes": report.hashes.1, "bits": report.bits,
        "set": exact.or(report.keys.map(|keys| keys.1)), "set_at_least": exact.or(report.keys.map(|keys| keys.0)),
        "set_exact": report.exact.is_some(), "planned_keys": report.planned,
        "records": report.records, "admitted": report.admitted, "rejected": report.rejected(),
        "without_key": report.keyless, "false_positives_removed": report.refuted, "rate": report.rate.map(|rate| rate.value), "rate_at_most": report.rate.map(|rate| rate.at_most),
        "expected_false_admissions": report.false_admissions, "closed": report.closed,
        "phases": phases_json(&report.phases),
    });
    if !report.files.is_empty() {
        for field in ["kind", "filters", "hashes", "bits", "set", "set_at_least", "set_exact", "planned_keys"]
        {
            json.as_object_mut().and_then(|object| object.remove(field)); // they are those of each
        }
        let of = |file: &OfFile| {
            json!({
                "name": file.name, "path": file.path, "kind": file.kind, "hash": file.hash,
                "admitted": file.admitted, "rate": file.rate,
            })
        };
        json["files"] = report.files.iter().map(of).collect();
    } else if report.kind == Kind::Layered {
        json["partial"] = (report.extent == Extent::Partial).into();
    }
    if report.skipped.row_groups > 0 {
        json["row_groups"] = report.skipped.row_groups.into();
        json["row_groups_skipped"] = report.skipped.skipped.into();
        json["records_skipped"] = report.skipped.records.into();
    }
    if let Some((rate, expected)) = report.lost {
        json["rate_of_false_negatives"] = rate.into();
        json["expected_false_rejections"] = expected.into();
    }
    json
}
