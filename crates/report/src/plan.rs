//! What a plan comes to: sizes and rates as tables and as JSON.

use serde_json::{Value, json};
use tamis::countmin::{delta_of, shape_by_hand};
use tamis::params::{GroupParams, Name, Params};
use tamis::sizing::{Kind, Shape};
use tamis_jobs::inspect::{bytes, extend, shape_json};
use tamis_make::design::{Design, Offer};
use tamis_make::number;
use tamis_make::text::group_name;

use crate::{Column, Csv, Table, cells};

/// A design, for programs.
pub fn design_json(design: &Design) -> Value {
    let kind = |offer: &Offer| {
        json!({
            "kind": offer.kind, "keys": offer.keys, "bits": offer.shape.bits(), "hashes": offer.shape.hashes(),
            "width": offer.shape.width(), "bytes": offer.shape.words() * 8,
            "bits_per_key": offer.shape.bits() as f64 / offer.keys as f64, "reads": offer.shape.reads(),
            "fpr": offer.rate,
        })
    };
    let by_hashes = |(hashes, rate): &(u32, f64)| json!({ "hashes": hashes, "fpr": rate });
    json!({
        "kinds": design.options.iter().map(kind).collect::<Vec<_>>(),
        "by_hashes": design.by_hashes.iter().map(by_hashes).collect::<Vec<_>>(),
    })
}

/// What each kind needs, a line each.
pub fn design_csv(design: &Design) -> Csv<'_> {
    let columns = ["kind", "keys", "bits", "hashes", "width", "bytes", "bits_per_key", "reads", "fpr"];
    let row = |offer: &Offer| {
        let bits = offer.shape.bits();
        cells![
            offer.kind.to_string(),
            offer.keys,
            bits,
            offer.shape.hashes(),
            offer.shape.width(),
            offer.shape.words() * 8,
            bits as f64 / offer.keys as f64,
            offer.shape.reads(),
            offer.rate,
        ]
    };
    Csv::new(columns, design.options.iter().map(row))
}

/// The parameters of each group, in the order in which people read them.
pub fn params_csv(params: &Params) -> Csv<'_> {
    let groups = params.natural_order().into_iter().map(|at| &params.groups[at]);
    if params.common.kind.counts() {
        let columns = ["group", "counters_per_row", "depth", "counter_bits", "bytes", "epsilon", "delta"];
        let row = |group: &GroupParams| {
            let shape = &group.shape;
            let bytes = bytes(Kind::CountMin, shape);
            let (depth, delta) = (shape.hashes(), delta_of(shape.hashes()));
            cells![&group.group, shape.row(), depth, shape.width(), bytes, group.epsilon(), delta]
        };
        return Csv::new(columns, groups.map(row));
    }
    let columns = ["group", "keys", "bits", "hashes", "width", "layers", "bytes", "fpr", "expected_fpr"];
    let row = |group: &GroupParams| {
        let shape = &group.shape;
        let layers = matches!(shape, Shape::Layered { .. }).then(|| shape.layers());
        let expected = shape.expected_rate(group.keys());
        cells![
            &group.group,
            group.keys(),
            shape.bits(),
            shape.hashes(),
            shape.width(),
            layers,
            shape.words() * 8,
            group.fpr(),
            expected,
        ]
    };
    Csv::new(columns, groups.map(row))
}

/// The parameters of filters, for programs.
pub fn params_fields(params: &Params) -> Value {
    json!(params.common)
}

/// A group of them, for programs.
pub fn group_json(group: &GroupParams) -> Value {
    let mut json = json!(group);
    if matches!(group.shape, Shape::Layered { .. }) {
        let (layer, whole) = layered_rates(group);
        json["layers"] = group.shape.layers().into();
        json["fpr_layer"] = layer.into();
        json["fpr_random_records"] = whole.into();
    }
    json
}

/// The expected rate of a layer, which is that for recombined records too, and that of the whole
/// for random ones.
fn layered_rates(group: &GroupParams) -> (f64, f64) {
    let layer = group.shape.expected_rate(group.keys());
    (layer, tamis::layered::whole_rate(layer, group.shape.layers()))
}

/// What each kind needs, or comes to.
pub fn kinds_table(design: &Design) -> Table {
    let mut columns = vec![Column::left("kind")];
    columns.extend(
        ["keys", "bits", "bits/key", "hashes", "width", "memory", "reads", "expected rate"]
            .map(Column::right),
    );
    let row = |offer: &Offer| {
        vec![
            offer.kind.to_string(),
            number::count(offer.keys),
            number::count(offer.shape.bits()),
            format!("{:.3}", offer.shape.bits() as f64 / offer.keys as f64),
            offer.shape.hashes().to_string(),
            offer.shape.width().to_string(),
            number::bytes(offer.shape.words() * 8),
            offer.shape.reads().to_string(),
            number::rate(offer.rate),
        ]
    };
    let notes = vec!["reads: the places in memory that a lookup goes to, at most".into()];
    Table { columns, rows: design.options.iter().map(row).collect(), notes, ..Table::default() }
}

/// The rate for every number of hashes.
pub fn hashes_table(design: &Design) -> Table {
    let best = design.by_hashes.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map(|(hashes, _)| *hashes);
    let columns = vec![Column::right("hashes"), Column::right("rate (bloom)"), Column::left("")];
    let row = |(hashes, rate): &(u32, f64)| {
        let mark = if Some(*hashes) == best { "best" } else { "" };
        vec![hashes.to_string(), number::rate(*rate), mark.into()]
    };
    Table { columns, rows: design.by_hashes.iter().map(row).collect(), ..Table::default() }
}

/// The parameters of these groups.
pub fn groups_table(kind: Kind, groups: &[&GroupParams]) -> Table {
    let mut columns = vec![Column::left("group")];
    if kind == Kind::Layered {
        return layers_table(groups, columns);
    }
    columns.extend(["keys", "bits", "bits/key", "hashes", "memory", "expected rate"].map(Column::right));
    let row = |group: &&GroupParams| {
        vec![
            group_name(&group.group),
            number::count(group.keys()),
            number::count(group.shape.bits()),
            format!("{:.3}", group.shape.bits() as f64 / group.keys() as f64),
            group.shape.hashes().to_string(),
            number::bytes(group.shape.words() * 8),
            number::rate(group.shape.expected_rate(group.keys())),
        ]
    };
    Table { columns, rows: groups.iter().map(row).collect(), ..Table::default() }
}

fn layers_table(groups: &[&GroupParams], mut columns: Vec<Column>) -> Table {
    let names = [
        "most in a layer",
        "layers",
        "bits of a layer",
        "hashes",
        "memory",
        "rate of a layer",
        "random records",
        "recombined",
    ];
    columns.extend(names.map(Column::right));
    let row = |group: &&GroupParams| {
        let (layer, whole) = layered_rates(group);
        vec![
            group_name(&group.group),
            number::count(group.keys()),
            format!("{} + XOR", group.shape.layers()),
            number::count(group.shape.slots()),
            group.shape.hashes().to_string(),
            number::bytes(group.shape.words() * 8),
            number::rate(layer),
            number::rate(whole),
            number::rate(layer),
        ]
    };
    let notes = vec![
        "Rates at most, for records of one keyword in each layer, and of two at least: random ones must pass all layers, those recombined \
         from members' keywords the XOR layer alone."
            .into(),
    ];
    Table { columns, rows: groups.iter().map(row).collect(), notes, ..Table::default() }
}

/// The counters of a plan, by the rule that they follow from the error, beside the other usual one.
pub struct Counters<'a> {
    params: &'a Params,
    epsilon: f64,
    delta: f64,
    rules: Vec<Rule>,
}

/// By which w and d follow from the error, and what comes of it.
struct Rule {
    name: &'static str,
    width: &'static str,
    depth: &'static str,
    shape: Shape,
}

impl<'a> Counters<'a> {
    /// Of these parameters, which follow from an error and its probability or were given; none where there
    /// are no groups.
    pub fn of(params: &'a Params, by_error: Option<(f64, f64)>) -> Option<Counters<'a>> {
        let first = params.groups.first()?;
        let shape = first.shape;
        let rules = match by_error {
            None => vec![Rule { name: "by hand", width: "given", depth: "given", shape }],
            Some((epsilon, delta)) => {
                let (row, depth) = ((2.0 / epsilon).ceil(), (1.0 / delta).log2().ceil().clamp(1.0, 64.0));
                let usual = shape_by_hand(row as u64, depth as u32, shape.width()).ok();
                let ours = Rule { name: "tamis", width: "⌈e/ε⌉", depth: "⌈ln(1/δ)⌉", shape };
                let other =
                    |shape| Rule {
                        name: "Spark, Redis", width: "⌈2/ε⌉", depth: "⌈log2(1/δ)⌉", shape
                    };
                [ours].into_iter().chain(usual.map(other)).collect()
            }
        };
        Some(Counters { params, epsilon: first.epsilon(), delta: delta_of(shape.hashes()), rules })
    }

    /// The memory of all groups with counters of this shape.
    fn bytes(&self, shape: &Shape) -> u64 {
        bytes(self.params.common.kind, shape) * self.params.groups.len() as u64
    }

    /// For people.
    pub fn table(&self) -> Table {
        let mut columns = vec![Column::left("rule")];
        columns.extend(["width w", "", "depth d", "", "bits", "memory"].map(Column::right));
        let row = |Rule { name, width, depth, shape }: &Rule| {
            vec![
                (*name).into(),
                (*width).into(),
                number::count(shape.row()),
                (*depth).into(),
                shape.hashes().to_string(),
                shape.width().to_string(),
                number::bytes(self.bytes(shape)),
            ]
        };
        Table { columns, rows: self.rules.iter().map(row).collect(), ..Table::default() }
    }

    /// What stands below the table.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "An estimate is never below the truth; it exceeds the truth by more than {} of the total weight with a probability of at most {}.",
            number::rate(self.epsilon),
            number::rate(self.delta)
        )];
        let groups = self.params.groups.len() as u64;
        if groups > 1 {
            lines.push(format!("Memory of {}.", number::counted(groups, "group")));
        }
        lines
    }

    /// For programs. These are not the fields of saved parameters: those have the names that they have for
    /// filters.
    pub fn json(&self) -> Value {
        let rule = |Rule { name, width, depth, shape }: &Rule| {
            let mut json = json!({
                "rule": name, "counters_per_row_rule": width, "depth_rule": depth, "bytes": self.bytes(shape),
            });
            extend(&mut json, shape_json(shape));
            json
        };
        let shape = &self.rules[0].shape;
        let (common, groups) = (&self.params.common, &self.params.groups);
        let names: Vec<&Name> = groups.iter().map(|group| &group.group).collect();
        let mut json = json!({
            "kind": common.kind, "hash": common.hash, "recipe": common.recipe,
            "epsilon": self.epsilon, "delta": self.delta, "bytes": self.bytes(shape), "groups": names,
            "rules": self.rules.iter().map(rule).collect::<Vec<_>>(),
        });
        extend(&mut json, shape_json(shape));
        json
    }
}
