//! A set of these keys at this rate, in each kind that is planned for its keys: what a kind costs beside others.

use serde_json::{Value, json};
use tamis::sizing::{Kind, Shape};
use tamis_make::number;

use super::words::plain;
use crate::{Column, Table};

/// What each kind takes; those that cannot serve are left out.
pub fn shapes(keys: u64, fpr: f64) -> Vec<(Kind, Shape)> {
    let kinds = Kind::PLANNED.into_iter().chain([Kind::Counting]);
    kinds.filter_map(|kind| Some((kind, kind.shape_for_rate(keys, fpr).ok()?))).collect()
}

/// For people.
pub fn table(keys: u64, fpr: f64) -> Table {
    let mut columns = vec![Column::left("kind")];
    columns.extend(["bits/key", "memory", "expected rate"].map(Column::right));
    let row = |(kind, shape): (Kind, Shape)| {
        vec![
            kind.to_string(),
            plain(shape.bits() as f64 / keys as f64),
            number::bytes(shape.words() * 8),
            number::rate(shape.expected_rate(keys)),
        ]
    };
    Table {
        caption: format!(
            "{} at a rate of {} or less, by kind",
            number::counted(keys, "key"),
            number::rate(fpr)
        ),
        columns,
        rows: shapes(keys, fpr).into_iter().map(row).collect(),
        notes: Vec::new(),
    }
}

/// For programs.
pub fn json(keys: u64, fpr: f64) -> Value {
    let one = |(kind, shape): (Kind, Shape)| {
        json!({
            "kind": kind, "bits_per_key": shape.bits() as f64 / keys as f64, "bytes": shape.words() * 8,
            "fpr": shape.expected_rate(keys),
        })
    };
    shapes(keys, fpr).into_iter().map(one).collect()
}
