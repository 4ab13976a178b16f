//! What a file holds: the state of its groups as a table, and what is said of it.

use std::path::Path;

use serde_json::{Value, json};
use tamis::format::Tally;
use tamis::key::{Recipe, Step, keywords_of};
use tamis::layered::typical_keywords;
use tamis::params::{Common, GroupParams, Name};
use tamis::sizing::{Kind, Shape};
use tamis_jobs::inspect::{Counts, Group, State, Summary};
use tamis_make::count_min::Promise;
use tamis_make::health::Health;
use tamis_make::number;
use tamis_make::text::{group_name, printable};

use crate::health::{keys_text, overfull_text};
use crate::{Column, Table};

/// What a file holds, in a line.
pub fn headline(path: &Path, summary: &Summary<'_>) -> String {
    let common = summary.common();
    format!(
        "{}: {}, hash {}, {}; {} in {}",
        path.display(),
        common.kind,
        common.hash,
        common.recipe,
        number::bytes(summary.bytes()),
        number::counted(summary.count() as u64, "group")
    )
}

/// A table of these groups.
pub fn table(common: &Common, groups: &[Group<'_>]) -> Table {
    // Where each keyword is a key of its own, these are what is counted, and not the rows that they stand in.
    let rows = if common.recipe.has_key_each() { "keywords" } else { "rows" };
    let columns = vec![Column::left("group"), Column::right(rows)];
    match common.kind {
        Kind::CountMin => counts_table(columns, groups),
        Kind::Layered => layers_table(columns, groups),
        kind => filters_table(kind, columns, groups),
    }
}

/// A warning about a filter that holds more than it was planned for.
pub fn overfull(group: &Group<'_>) -> Option<String> {
    let State::Filter(health) = &group.state else { return None };
    let params = group.params;
    health.overfull.then(|| overfull_text(health, &params.group, params.fpr(), health.rate))
}

/// The filters among the groups.
fn filters<'a>(groups: &'a [Group<'_>]) -> impl Iterator<Item = (&'a GroupParams, &'a Tally, &'a Health)> {
    groups.iter().filter_map(|group| match &group.state {
        State::Filter(health) => Some((group.params, group.tally, health)),
        State::Counts(_) => None,
    })
}

/// A key for people: the keywords of a record, or the parts of a compound key, separated by bars; one whose bytes are
/// those of another system, as it was written.
pub fn key_text(recipe: &Recipe, key: &[u8]) -> String {
    if !recipe.keys_have_parts() {
        return printable(written(recipe, key).as_deref().unwrap_or(key));
    }
    keywords_of(key).map(printable).collect::<Vec<_>>().join(" | ")
}

/// A key for programs: its text, as it was written, or the list of its parts.
pub fn key_json(recipe: &Recipe, key: &[u8]) -> Value {
    if recipe.keys_have_parts() {
        return keywords_of(key).map(|part| json!(Name(part.to_vec()))).collect();
    }
    json!(Name(written(recipe, key).unwrap_or_else(|| key.to_vec())))
}

/// The text of which the recipe makes these bytes, where it makes those of a type of another system.
fn written(recipe: &Recipe, key: &[u8]) -> Option<Vec<u8>> {
    let text = match recipe.key.last()?.steps.last()? {
        Step::Int => i32::from_le_bytes(key.try_into().ok()?).to_string(),
        // Of what is hashed, the hash is all that is left: a long of Spark's.
        Step::Long | Step::Xxhash64 => i64::from_le_bytes(key.try_into().ok()?).to_string(),
        Step::Utf16 => {
            let (units, []) = key.as_chunks::<2>() else { return None };
            String::from_utf16(&units.iter().map(|unit| u16::from_le_bytes(*unit)).collect::<Vec<_>>())
                .ok()?
        }
        _ => return None,
    };
    Some(text.into_bytes())
}

/// In place of an estimate if there is none, because all counters of the key are full.
pub const FULL: &str = "full";

/// A total for people: one that ran full may be more.
pub fn total(total: u64) -> String {
    if total == u64::MAX { format!("at least {}", number::count(total)) } else { number::count(total) }
}

/// The bound for people: not known where the total is not.
pub fn bound(promise: &Promise) -> String {
    if promise.total_is_full() { "unknown".into() } else { number::count(promise.bound()) }
}

fn counters(shape: &Shape) -> String {
    format!("{} × {}", shape.hashes(), number::count(shape.row()))
}

fn filters_table(kind: Kind, mut columns: Vec<Column>, groups: &[Group<'_>]) -> Table {
    let size = match kind {
        Kind::Fuse | Kind::Ribbon => "width",
        Kind::Scalable => "layers",
        _ => "k",
    };
    let names = ["planned keys", "estimated keys", "bits", size, "fill", "rate now", "target", "room for"];
    columns.extend(names.map(Column::right));
    if kind == Kind::Counting {
        columns.insert(2, Column::right("removed"));
        columns.push(Column::right("full counters"));
    }
    let row = |(group, tally, health): (&GroupParams, &Tally, &Health)| {
        let mut row = vec![
            group_name(&group.group),
            number::count(tally.rows),
            number::count(group.keys()),
            keys_text(health),
            number::count(group.shape.bits()),
            if kind.is_static() { group.shape.width() } else { group.shape.hashes() }.to_string(),
            number::percent(health.fill),
            number::rate(health.rate),
            number::rate(group.fpr()),
            match health.capacity {
                Some(capacity) => number::count((capacity as f64 - health.keys).max(0.0) as u64),
                None if kind == Kind::Scalable => "any".into(),
                None => "static".into(),
            },
        ];
        if kind == Kind::Counting {
            row.insert(2, number::count(tally.removed()));
            row.push(health.full.map_or("-".into(), number::count));
        }
        row
    };
    Table { columns, rows: filters(groups).map(row).collect(), ..Table::default() }
}

fn layers_table(mut columns: Vec<Column>, groups: &[Group<'_>]) -> Table {
    let names = [
        "estimated records",
        "planned per layer",
        "layers",
        "bits of a layer",
        "k",
        "fullest layer",
        "its rate now",
        "target",
        "whole, random records",
        "of keywords",
    ];
    columns.extend(names.map(Column::right));
    let row = |(group, tally, health): (&GroupParams, &Tally, &Health)| {
        vec![
            group_name(&group.group),
            number::count(tally.rows),
            keys_text(health),
            number::count(group.keys()),
            format!("{} + XOR", group.shape.layers()),
            number::count(group.shape.slots()),
            group.shape.hashes().to_string(),
            number::percent(health.fill),
            number::rate(health.rate),
            number::rate(group.fpr()),
            number::rate(health.whole.unwrap_or(1.0)),
            typical_keywords(group.shape.layers()).to_string(),
        ]
    };
    Table { columns, rows: filters(groups).map(row).collect(), ..Table::default() }
}

fn counts_table(mut columns: Vec<Column>, groups: &[Group<'_>]) -> Table {
    let counts = || {
        groups.iter().filter_map(|group| match &group.state {
            State::Counts(counts) => Some((group.params, group.tally, counts)),
            State::Filter(_) => None,
        })
    };
    let names = ["total weight", "counters", "bits", "used", "largest", "full", "epsilon", "delta", "bound"];
    columns.extend(names.map(Column::right));
    if counts().any(|(.., counts)| counts.heavy.is_some()) {
        columns.push(Column::right("heavy keys"));
    }
    let row = |(group, tally, counts): (&GroupParams, &Tally, &Counts)| {
        let Counts { promise, census, heavy } = counts;
        let (width, slots) = (group.shape.width(), group.shape.slots());
        let mut row = vec![
            group_name(&group.group),
            number::count(tally.rows),
            total(promise.total),
            counters(&group.shape),
            width.to_string(),
            number::percent(census.used as f64 / slots as f64),
            number::count(census.largest),
            number::count(census.saturated),
            number::rate(promise.epsilon),
            number::rate(promise.delta),
            bound(promise),
        ];
        row.extend(heavy.map(number::count));
        row
    };
    let mut notes = vec![
        "An estimate is never below the truth; it exceeds the truth by more than the bound with a probability of at most delta.".into(),
    ];
    if counts().any(|(.., counts)| counts.census.saturated > 0) {
        notes.push("If all counters of a key are full, it has no estimate.".into());
    }
    if counts().any(|(.., counts)| counts.promise.total_is_full()) {
        notes.push("A total that ran full may be more, and so may the bound that follows from it.".into());
    }
    Table { columns, rows: counts().map(row).collect(), notes, ..Table::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_a_type_of_another_system_are_shown_as_they_were_written() {
        for (field, text, shown) in [
            ("id:long", "-42", "-42"),
            ("id:int", "7", "7"),
            ("id:int", "+007.0", "7"),
            ("id:utf16", "a€𝄞", "a€𝄞"),
            ("id:upper,utf16", "é", "É"),
            ("id", "42", "42"),
            ("id:long,xxhash64", "1", "-7001672635703045582"),
        ] {
            let recipe = Recipe { key: vec![field.parse().unwrap()], ..Recipe::lines() };
            let key = recipe.key_of_cells(text.as_bytes()).unwrap();
            assert_eq!(key_text(&recipe, &key), shown, "{field} of {text}");
            assert_eq!(key_json(&recipe, &key), json!(shown), "{field} of {text}");
        }
    }
}
