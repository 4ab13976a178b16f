//! The filter that grows: layers of twice the keys and tighter rates.

use serde_json::{Value, json};
use tamis::scalable::{Layer, layer};
use tamis::sizing::Kind;
use tamis_make::number;

use super::others;
use super::words::{one_in, plain};
use crate::{Axis, Chart, Column, Figure, Format, Mark, Page, Section, Step, Table};

/// Layers that are shown, where there are no more.
const SHOWN: u32 = 8;

/// Everything that the lesson says in numbers.
#[derive(Debug, Clone)]
pub struct Numbers {
    /// The keys of the first layer.
    keys: u64,
    /// p.
    fpr: f64,
    /// The layers so far, and some that would follow.
    layers: u32,
    all: Vec<Grown>,
}

/// A layer, and all layers up to it.
#[derive(Debug, Clone, Copy)]
struct Grown {
    layer: Layer,
    /// Keys, bits and rate of all, when this one is full.
    keys: u64,
    bits: u64,
    rate: f64,
}

impl Numbers {
    /// None where there is no first layer for that number of keys at this rate.
    pub fn of(keys: u64, fpr: f64, layers: u32) -> Option<Numbers> {
        let mut all: Vec<Grown> = Vec::new();
        for number in 0..layers.max(SHOWN) {
            // Beyond what can be built, the table ends.
            let Ok(layer) = layer(keys, fpr, number) else { break };
            let (held, bits, rate) = all.last().map_or((0, 0, 0.0), |last| (last.keys, last.bits, last.rate));
            all.push(Grown {
                layer,
                keys: held.saturating_add(layer.keys),
                bits: bits.saturating_add(layer.shape.bits()),
                rate: rate + layer.full_rate,
            });
        }
        (!all.is_empty()).then_some(Numbers { keys, fpr, layers, all })
    }

    pub fn json(&self) -> Value {
        let layer = |grown: &Grown| {
            json!({
                "keys": grown.layer.keys, "fpr_target": grown.layer.fpr, "fpr": grown.layer.full_rate,
                "bits": grown.layer.shape.bits(), "keys_so_far": grown.keys, "bits_so_far": grown.bits,
                "fpr_so_far": grown.rate,
            })
        };
        json!({
            "kind": Kind::Scalable, "first_keys": self.keys, "fpr_target": self.fpr, "layers": self.layers,
            "by_layer": self.all.iter().map(layer).collect::<Vec<_>>(),
            "kinds": others::json(self.keys, self.fpr),
        })
    }

    pub fn page(&self) -> Page {
        let last = self.all[self.all.len() - 1];
        let sections = vec![
            Section::Figures(vec![
                Figure::new("keys of the first layer", number::count(self.keys)),
                Figure::new("rate, p", number::rate(self.fpr)).note("of all layers together"),
                Figure::new("layers so far", self.layers.to_string()),
            ]),
            Section::Heading("In short".into()),
            Section::Steps(vec![
                Step::new(
                    "It answers",
                    "Is this key in the set? With \"no\", or with \"maybe\"; and while adding: is it the first time?",
                ),
                Step::new(
                    "It errs",
                    format!(
                        "on one side only, with about {} at most ({}), however much it grows.",
                        number::rate(self.fpr),
                        one_in(self.fpr)
                    ),
                ),
                Step::new(
                    "It costs",
                    "one cache line for each layer and key, and more bits than a filter that was planned: twice as many \
                     on average, since the newest layer is half empty, and some for rates that tighten.",
                ),
                Step::new(
                    "Do not use it",
                    "where the keys can be counted first (blocked). It cannot be merged, and its bytes depend on the \
                     order of the keys.",
                ),
            ]),
            Section::Heading("Layers of twice the keys".into()),
            Section::Text(
                "A filter must know its keys to be sized. Where nobody does, it begins small. When a layer has taken the \
                 keys that it was planned for, a new one of twice as many keys is begun. A key is in the set if any layer \
                 finds it, so the rates of the layers add up: with equal rates the sum would grow without end."
                    .into(),
            ),
            Section::Steps(vec![
                Step::new("keys of layer i, from 0", format!("n₀ · 2ⁱ = {} · 2ⁱ", number::count(self.keys))),
                Step::new("its rate", "p / ((i + 1)(i + 2)): p/2, p/6, p/12, …"),
                Step::new(
                    "the sum over L layers",
                    format!("p · (1 − 1/(L + 1)), below p = {} for any L", number::rate(self.fpr)),
                ),
                Step::new(
                    format!("after {} layers", self.all.len()),
                    format!(
                        "{} keys in {} bits per key, at a rate of {}",
                        number::count(last.keys),
                        plain(last.bits as f64 / last.keys as f64),
                        number::rate(last.rate)
                    ),
                ),
            ]),
            Section::Charts(vec![self.chart()]),
            Section::Table(self.table()),
            Section::Heading("What it costs beside filters that were planned".into()),
            Section::Table(others::table(self.keys, self.fpr)),
            Section::Text(
                "After Almeida, Baquero, Preguiça and Hutchison, Scalable Bloom filters (2007), whose rates tighten by a \
                 constant factor."
                    .into(),
            ),
        ];
        Page {
            title: "The filter that grows, with your numbers".into(),
            subtitle: format!(
                "{} at first, at a rate of {}",
                number::counted(self.keys, "key"),
                number::rate(self.fpr)
            ),
            sections,
        }
    }

    fn chart(&self) -> Chart {
        let rates = self.all.iter().map(|grown| (grown.keys as f64, grown.rate));
        Chart {
            title: "The rate of all layers, when the newest is full".into(),
            x: Axis::log("keys", Format::Count),
            y: Axis::linear("false-positive rate", Format::Plain),
            marks: vec![Mark::line("scalable", rates), Mark::rule("p", self.fpr)],
        }
    }

    fn table(&self) -> Table {
        let columns =
            ["layer", "its keys", "its rate", "its memory", "keys so far", "bits/key so far", "rate so far"];
        let row = |(i, grown): (usize, &Grown)| {
            vec![
                i.to_string(),
                number::count(grown.layer.keys),
                number::rate(grown.layer.full_rate),
                number::bytes(grown.layer.shape.words() * 8),
                number::count(grown.keys),
                plain(grown.bits as f64 / grown.keys as f64),
                number::rate(grown.rate),
            ]
        };
        Table {
            caption: "Layer by layer, each full".into(),
            columns: columns.map(Column::right).to_vec(),
            rows: self.all.iter().enumerate().map(row).collect(),
            notes: Vec::new(),
        }
    }
}
