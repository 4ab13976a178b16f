//! What was done, as a table and as JSON.

use serde_json::{Value, json};

use super::Report;
use crate::report::{Column, Table, number};
use crate::test::phases_json;

impl Report {
    /// For people.
    pub fn table(&self) -> Table {
        let mut rows = Vec::new();
        let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
        row("records", number::count(self.records));
        row("first occurrences", number::count(self.first));
        row("repetitions", number::count(self.repeated()));
        if self.keyless > 0 {
            row("without a key, left out", number::count(self.keyless));
        }
        match self.rescued {
            Some(rescued) => row("rescued by the check", number::count(rescued)),
            None => row("may be dropped wrongly", format!("{:.2}", self.dropped)),
        }
        row("keys remembered", number::count(self.keys));
        row("in", number::bytes(self.bytes));
        for (name, time) in &self.phases {
            row(&format!("time to {name}"), number::duration(*time));
        }
        let notes = match self.rescued {
            Some(_) => {
                "rescued: first occurrences that the filter took for repetitions; none was dropped".into()
            }
            None => format!(
                "may be dropped wrongly: first occurrences taken for repetitions, as is to be expected; the rate is kept below {}",
                number::rate(self.fpr)
            ),
        };
        let columns = vec![Column::left("what"), Column::right("how much")];
        Table { columns, rows, notes: vec![notes], ..Table::default() }
    }

    /// For programs.
    pub fn json(&self) -> Value {
        json!({
            "records": self.records, "first": self.first, "repeated": self.repeated(), "keyless": self.keyless,
            "dropped_expected": self.dropped, "fpr": self.fpr, "rescued": self.rescued, "keys": self.keys,
            "bytes": self.bytes, "unremembered": self.unremembered, "resumed": self.resumed,
            "phases": phases_json(&self.phases),
        })
    }
}
