//! What was sieved, as a table and as JSON.

use serde_json::{Value, json};

use super::Report;
use crate::report::{Column, Table, number};
use crate::test::phases_json;

impl Report {
    /// For people.
    pub fn table(&self) -> Table {
        let mut rows = Vec::new();
        let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
        let (fewest, most) = self.hashes;
        let hashes = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
        row("filters", format!("{} ({})", number::count(self.filters), self.kind));
        row("hash functions", hashes);
        row("bits", number::count(self.bits));
        let keys = self.keys.map_or("countless: a filter is full".into(), |keys| {
            format!(
                "about {} keys (planned for {})",
                number::count(keys.round() as u64),
                number::count(self.planned)
            )
        });
        row("size of the set", keys);
        row("records analysed", number::count(self.records));
        row("admitted", self.share(self.admitted));
        row("rejected", self.share(self.rejected()));
        if self.keyless > 0 {
            row("  without a key", self.share(self.keyless));
        }
        if let Some(refuted) = self.refuted {
            row("false positives removed", number::count(refuted));
        }
        if let (Some(rate), Some(expected)) = (self.rate, self.false_admissions) {
            row("rate of false positives", number::rate(rate));
            // Those that were removed are rejected, too, and should be.
            let most = if self.lost.is_some() { ", at most" } else { "" };
            row(&format!("false admissions to expect{most}"), number::count(expected.round() as u64));
        }
        if let Some((rate, expected)) = self.lost {
            row("rate of false negatives", number::rate(rate));
            row("false rejections to expect", number::count(expected.round() as u64));
        }
        for (name, time) in &self.phases {
            row(&format!("time to {name}"), number::duration(*time));
        }
        let mut notes = vec![
            "false admissions: of records not in the set a share r passes, the rate; for each rejected record with a key, r / (1 − r) are to be expected".to_owned(),
        ];
        if self.lost.is_some() {
            notes.push("false rejections: the filters of removed keys take others for removed, too; for each admitted record, g / (1 − g) are to be expected, with g their rate".into());
        }
        let notes = if self.rate.is_some() { notes } else { Vec::new() };
        Table {
            columns: vec![Column::left("what"), Column::right("how much")],
            rows,
            notes,
            ..Table::default()
        }
    }

    fn share(&self, part: u64) -> String {
        match self.records {
            0 => number::count(part),
            all => format!("{} ({})", number::count(part), number::percent(part as f64 / all as f64)),
        }
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let mut json = json!({
            "kind": self.kind, "filters": self.filters, "hashes": self.hashes.1, "bits": self.bits,
            "set": self.keys, "planned_keys": self.planned,
            "records": self.records, "admitted": self.admitted, "rejected": self.rejected(),
            "without_key": self.keyless, "false_positives_removed": self.refuted, "rate": self.rate,
            "expected_false_admissions": self.false_admissions, "closed": self.closed,
            "phases": phases_json(&self.phases),
        });
        if let Some((rate, expected)) = self.lost {
            json["rate_of_false_negatives"] = rate.into();
            json["expected_false_rejections"] = expected.into();
        }
        json
    }
}
