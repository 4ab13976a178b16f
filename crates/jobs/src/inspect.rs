//! What a file holds, as plain data: kind, recipe, and the state of every group.

use serde_json::{Value, json};
use tamis::countmin::Census;
use tamis::format::Tally;
use tamis::params::GroupParams;
use tamis::sizing::{Kind, Shape};
use tamis::sketch::Sketch;
use tamis_read::error::Result;

use tamis_make::count_min::Promise;
use tamis_make::files::Mapped;
use tamis_make::health::{Health, of_sketch};

/// All that `tamis inspect --json` tells of a file but its path.
pub fn file(file: &Mapped) -> Result<Value> {
    let common = &file.params().common;
    let (order, params) = (file.params().natural_order(), &file.params().groups);
    let mut groups = Vec::with_capacity(order.len());
    for at in order {
        let (group, tally, sketch) = (&params[at], &file.tallies()[at], file.sketch(at)?);
        groups.push(match &sketch {
            Sketch::CountMin(sketch) => {
                let heavy = file.heavy().map(|heavy| heavy.groups[at].len() as u64);
                counts(group, tally, &sketch.census(), heavy)
            }
            _ => filter(group, tally, &of_sketch(common.kind, group, tally, &sketch)),
        });
    }
    let bytes: u64 = params.iter().map(|group| bytes(common.kind, group)).sum();
    let mut json = json!({
        "kind": common.kind, "hash": common.hash, "recipe": common.recipe, "bytes": bytes, "groups": groups,
    });
    json["format_version"] = file.version().into();
    if !file.about().is_empty() {
        json["about"] = json!(file.about());
    }
    if common.kind.counts() {
        json["heavy_share"] = json!(file.heavy().map(|heavy| heavy.share));
    }
    Ok(json)
}

/// The bytes of a group's sketch.
pub fn bytes(kind: Kind, group: &GroupParams) -> u64 {
    match kind.counts() {
        true => group.shape.bits().div_ceil(64) * 8,
        false => group.shape.words() * 8,
    }
}

/// The state of a filter.
pub fn filter(group: &GroupParams, tally: &Tally, health: &Health) -> Value {
    let mut json = json!({
        "group": group.group, "rows": tally.rows, "planned_keys": group.keys(),
        "estimated_keys": health.keys.is_finite().then_some(health.keys),
        "bits": group.shape.bits(), "hashes": group.shape.hashes(), "width": group.shape.width(),
        "ones": tally.ones, "fill": health.fill, "fpr_now": health.rate, "fpr_target": group.fpr(),
        "capacity": health.capacity, "overfull": health.overfull,
    });
    if let Some(whole) = health.whole {
        json["layers"] = group.shape.layers().into();
        json["layer_bits"] = group.shape.slots().into();
        json["fpr_random_records"] = whole.into();
    }
    if let Some(full) = health.full {
        json["rows_removed"] = tally.removed().into();
        json["counters_full"] = full.into();
    }
    json
}

/// The state of a sketch that counts, and how many heavy keys are kept beside it.
pub fn counts(group: &GroupParams, tally: &Tally, census: &Census, heavy: Option<u64>) -> Value {
    let mut json = json!({
        "group": group.group, "rows": tally.rows,
        "counters_used": census.used, "largest": census.largest, "counters_full": census.saturated,
    });
    extend(&mut json, shape_json(&group.shape));
    extend(&mut json, promise_json(&Promise::of(group, tally.total_weight())));
    if let Some(heavy) = heavy {
        json["heavy_keys"] = heavy.into();
    }
    json
}

/// What is promised of estimates.
pub fn promise_json(promise: &Promise) -> Value {
    json!({
        "total": promise.total, "total_full": promise.total_is_full(), "epsilon": promise.epsilon,
        "delta": promise.delta, "bound": (!promise.total_is_full()).then(|| promise.bound()),
    })
}

/// The shape of a sketch that counts.
pub fn shape_json(shape: &Shape) -> Value {
    json!({ "counters_per_row": shape.row(), "depth": shape.hashes(), "counter_bits": shape.width() })
}

/// Puts the fields of one object into another.
pub fn extend(json: &mut Value, more: Value) {
    if let (Some(json), Value::Object(more)) = (json.as_object_mut(), more) {
        json.extend(more);
    }
}
