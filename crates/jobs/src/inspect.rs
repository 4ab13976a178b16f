//! What a file holds, as plain data: kind, recipe, and the state of every group.

use std::path::Path;

use serde_json::{Value, json};
use tamis::countmin::Census;
use tamis::format::Tally;
use tamis::params::{Common, GroupParams};
use tamis::sizing::{Kind, Shape};
use tamis::sketch::Sketch;
use tamis_read::error::Result;

use tamis_make::count_min::Promise;
use tamis_make::exact;
use tamis_make::files::Mapped;
use tamis_make::health::{Health, of_sketch};

/// What a file holds: what all of its groups share, and the state of each, which is worked out when it is
/// asked for: there may be millions.
#[derive(Debug)]
pub struct Summary<'a> {
    file: &'a Mapped,
    /// The groups, in the order in which people read them.
    order: Vec<usize>,
}

/// A group and its state.
#[derive(Debug)]
pub struct Group<'a> {
    /// Its parameters.
    pub params: &'a GroupParams,
    /// What its sketch says of itself.
    pub tally: &'a Tally,
    /// What follows from that.
    pub state: State,
}

/// The state of a sketch.
#[derive(Debug)]
pub enum State {
    /// Of a filter.
    Filter(Health),
    /// Of one that counts.
    Counts(Counts),
}

/// The state of a sketch that counts.
#[derive(Debug)]
pub struct Counts {
    /// What is promised of estimates.
    pub promise: Promise,
    /// What its counters hold.
    pub census: Census,
    /// How many heavy keys are kept beside it, where they are.
    pub heavy: Option<u64>,
}

impl<'a> Summary<'a> {
    /// Of a file: of all its groups, or of one alone.
    pub fn of(file: &'a Mapped, only: Option<usize>) -> Summary<'a> {
        Summary { file, order: only.map_or_else(|| file.params().natural_order(), |at| vec![at]) }
    }

    /// What the groups share.
    pub fn common(&self) -> &'a Common {
        &self.file.params().common
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.order.len()
    }

    /// The groups, in the order in which people read them.
    pub fn groups(&self) -> impl Iterator<Item = Result<Group<'a>>> {
        self.order.iter().map(|&at| Group::of(self.file, at))
    }

    /// One of them, by its place in that order.
    pub fn group(&self, place: usize) -> Result<Group<'a>> {
        Group::of(self.file, self.order[place])
    }

    /// The share from which keys are kept, where they are.
    pub fn heavy_share(&self) -> Option<f64> {
        self.file.heavy().map(|heavy| heavy.share)
    }

    /// The bytes of all sketches.
    pub fn bytes(&self) -> u64 {
        let groups = &self.file.params().groups;
        self.order.iter().map(|&at| bytes(self.common().kind, &groups[at].shape)).sum()
    }

    /// For programs, without the groups.
    pub fn fields(&self) -> Value {
        let common = self.common();
        let mut json = json!({
            "kind": common.kind, "hash": common.hash, "recipe": common.recipe, "bytes": self.bytes(),
        });
        if common.kind.counts() {
            json["heavy_share"] = json!(self.heavy_share());
        }
        json
    }
}

impl<'a> Group<'a> {
    fn of(file: &'a Mapped, at: usize) -> Result<Group<'a>> {
        let (params, tally) = (&file.params().groups[at], &file.tallies()[at]);
        let state = match &file.sketch(at)? {
            Sketch::CountMin(sketch) => State::Counts(Counts {
                promise: Promise::of(params, tally.total_weight()),
                census: sketch.census(),
                heavy: file.heavy().map(|heavy| heavy.groups[at].len() as u64),
            }),
            sketch => State::Filter(of_sketch(file.params().common.kind, params, tally, sketch)),
        };
        Ok(Group { params, tally, state })
    }

    /// How large it is beside others: by the keys that it is planned for, or by the weight that it counted.
    pub fn size(&self) -> u64 {
        match &self.state {
            State::Filter(_) => self.params.keys(),
            State::Counts(counts) => counts.promise.total,
        }
    }

    /// For programs.
    pub fn json(&self) -> Value {
        match &self.state {
            State::Filter(health) => filter(self.params, self.tally, health),
            State::Counts(counts) => self::counts(self.params, self.tally, counts),
        }
    }
}

/// All that `tamis inspect --json` tells of a file but its path.
pub fn file(file: &Mapped, path: Option<&Path>) -> Result<Value> {
    let summary = Summary::of(file, None);
    let mut json = summary.fields();
    json["groups"] = summary.groups().map(|group| Ok(group?.json())).collect::<Result<Vec<_>>>()?.into();
    extend(&mut json, about(file, path));
    Ok(json)
}

/// What is recorded about a file, as fields of an object; and whether the keys themselves lie beside one that has
/// a name.
pub fn about(file: &Mapped, path: Option<&Path>) -> Value {
    let mut json = json!({ "format_version": file.version() });
    if !file.about().is_empty() {
        json["about"] = serde_json::to_value(file.about()).unwrap_or_else(|_| {
            // What a later program recorded may be more than a value can hold: of that, nothing is told.
            let mut known = file.about().clone();
            (known.others, known.dialect.others) = Default::default();
            json!(known)
        });
    }
    if let Some(path) = path {
        json["exact_keys"] = exact::beside(path, file).is_ok_and(|keys| keys.is_some()).into();
    }
    json
}

/// The bytes of a sketch.
pub fn bytes(kind: Kind, shape: &Shape) -> u64 {
    match kind.counts() {
        true => shape.bits().div_ceil(64) * 8,
        false => shape.words() * 8,
    }
}

fn filter(group: &GroupParams, tally: &Tally, health: &Health) -> Value {
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

fn counts(group: &GroupParams, tally: &Tally, counts: &Counts) -> Value {
    let Counts { promise, census, heavy } = counts;
    let mut json = json!({
        "group": group.group, "rows": tally.rows,
        "counters_used": census.used, "largest": census.largest, "counters_full": census.saturated,
    });
    extend(&mut json, shape_json(&group.shape));
    extend(&mut json, promise_json(promise));
    if let Some(heavy) = heavy {
        json["heavy_keys"] = (*heavy).into();
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

/// What is known of the weight of a key.
pub fn estimate_json(promise: &Promise, counter: u64, full: bool) -> Value {
    let estimate = (!full).then_some(counter);
    json!({
        "estimate": estimate, "full": full, "at_least": promise.at_least(counter),
        "at_most": promise.at_most(estimate),
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

#[cfg(test)]
mod tests {
    use super::*;
    use tamis::format::{self, Extras};
    use tamis::{Container, Filter};
    use tamis_make::files;

    #[test]
    fn what_a_later_program_recorded_may_be_more_than_a_value_can_hold() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.tamis");
        let bytes = Filter::with_rate(10, 0.1).unwrap().to_bytes();
        let plain = Container::open(&bytes[..]).unwrap();
        let nested = format!("{{\"note\":\"n\",\"later\":{}1{}}}", "[".repeat(200), "]".repeat(200));
        for text in [r#"{"note":"n","later":1e999}"#, r#"{"note":"n","dialect":{"later":1e999}}"#, &nested] {
            let about = serde_json::from_str(text).unwrap();
            let extras = Extras { about: Some(&about), ..Extras::default() };
            files::write_whole(&path, |mut out| {
                format::write(&mut out, plain.params(), plain.tallies(), plain.section(0), extras)
            })
            .unwrap();
            let told = file(&files::open(&path).unwrap(), None).unwrap();
            assert_eq!(told["about"]["note"], "n", "{text}");
        }
    }
}
