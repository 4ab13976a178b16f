//! The most frequent keys, as a table and as JSON.

use serde_json::{Value, json};
use tamis_jobs::inspect::{estimate_json, extend, promise_json};
use tamis_make::count_min::{Hit, Listing, TopGroup, Wanted};
use tamis_make::number;
use tamis_make::text::group_name;

use crate::inspect::{FULL, key_json, key_text};
use crate::{Column, Table};

/// For people: of each group at most this many keys.
pub fn table(listing: &Listing, most: usize) -> Table {
    let grouped = listing.common.recipe.group.is_some();
    let mut columns = Vec::new();
    columns.extend(grouped.then(|| Column::left("group")));
    columns.push(Column::left("key"));
    columns.extend(["estimate", "at least", "share"].map(Column::right));
    let mut rows = Vec::new();
    for group in &listing.groups {
        for hit in group.keys.iter().take(most) {
            let mut row = Vec::new();
            row.extend(grouped.then(|| group_name(&group.group)));
            row.push(key_text(&listing.common.recipe, &hit.key));
            row.push(if hit.full { FULL.into() } else { number::count(hit.estimate) });
            row.push(number::count(group.promise.at_least(hit.estimate)));
            row.push(number::percent(share(group, hit).unwrap_or(f64::NAN)));
            rows.push(row);
        }
    }
    Table { columns, rows, ..Table::default() }
}

/// The estimated share of a key, where there is one.
fn share(group: &TopGroup, hit: &Hit) -> Option<f64> {
    if hit.full { None } else { group.promise.share(hit.estimate) }
}

/// For programs: of each group at most this many keys.
pub fn json(listing: &Listing, most: usize) -> Value {
    let group = |group: &TopGroup| {
        let hit = |hit: &Hit| {
            let mut json = json!({
                "key": key_json(&listing.common.recipe, &hit.key), "share": share(group, hit),
            });
            extend(&mut json, estimate_json(&group.promise, hit.estimate, hit.full));
            json
        };
        let mut json = json!({
            "group": group.group, "listed": group.keys.len(),
            "keys": group.keys.iter().take(most).map(hit).collect::<Vec<_>>(),
        });
        extend(&mut json, promise_json(&group.promise));
        json
    };
    let share = match listing.wanted {
        Wanted::Share(share) => Some(share),
        Wanted::Most(_) => None,
    };
    let groups: Vec<Value> = listing.groups.iter().map(group).collect();
    json!({ "share": share, "largest_share": listing.largest, "groups": groups })
}
