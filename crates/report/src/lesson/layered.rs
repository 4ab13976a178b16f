//! The multi-layer filter: what each layer knows, and what the XOR layer adds.

use serde_json::{Value, json};
use tamis::layered::{beginning_rate, typical_keywords, whole_rate};
use tamis::sizing::{Kind, Shape};
use tamis_make::number;

use super::words::{functions, one_in, plain, raised};
use crate::{Axis, Chart, Column, Figure, Format, Gravity, Mark, Page, Section, Step, Table};

/// Everything that the lesson says in numbers.
#[derive(Debug, Clone)]
pub struct Numbers {
    /// Keywords or records in a layer.
    items: u64,
    shape: Shape,
    here: Rates,
    /// For each number of layers.
    by_layers: Vec<Rates>,
}

/// What passes through this many layers.
#[derive(Debug, Clone, Copy)]
struct Rates {
    layers: u32,
    /// Of one layer; with the XOR layer also that of recombined records.
    layer: f64,
    /// Of random records: with the XOR layer, and without it.
    random: (f64, f64),
    /// The bits of all layers, and the rate of a classic filter of whole records that has them.
    bits: u64,
    classic: f64,
}

impl Rates {
    fn of(items: u64, shape: Shape) -> Rates {
        let (layers, bits) = (shape.layers(), shape.bits());
        let layer = shape.expected_rate(items);
        let classic = Kind::Bloom.shape_for_bits(items, bits);
        Rates {
            layers,
            layer,
            random: (whole_rate(layer, layers), beginning_rate(layer, layers)),
            bits,
            classic: classic.map_or(f64::NAN, |shape| shape.expected_rate(items)),
        }
    }

    fn json(&self) -> Value {
        json!({
            "layers": self.layers, "bits": self.bits, "fpr_layer": self.layer,
            "fpr_random_records": self.random.0, "fpr_random_records_without_xor": self.random.1,
            "fpr_recombined_records": self.layer, "fpr_recombined_records_without_xor": 1.0,
            "fpr_bloom_of_these_bits": (!self.classic.is_nan()).then_some(self.classic),
        })
    }
}

impl Numbers {
    pub fn of(items: u64, shape: Shape) -> Numbers {
        let most = (shape.layers() + 2).clamp(8, tamis::layered::MOST_LAYERS);
        Numbers {
            items,
            shape,
            here: Rates::of(items, shape),
            by_layers: (1..=most).map(|layers| Rates::of(items, shape.with_layers(layers))).collect(),
        }
    }

    pub fn json(&self) -> Value {
        let mut json = self.here.json();
        json["kind"] = json!(Kind::Layered);
        json["keys"] = self.items.into();
        json["hashes"] = self.shape.hashes().into();
        json["layer_bits"] = self.shape.slots().into();
        json["by_layers"] = self.by_layers.iter().map(Rates::json).collect();
        json
    }

    pub fn page(&self) -> Page {
        let mut sections = vec![Section::Figures(self.figures())];
        sections.extend(self.in_short());
        sections.extend(self.one_layer());
        sections.extend(self.records());
        sections.extend(self.beside_bloom());
        sections.push(Section::Text(
            "After Sharma, Searching in large dataset using multi-layered Bloom filter. The lesson on bloom derives \
             the rate of a single layer."
                .into(),
        ));
        Page {
            title: "The multi-layer Bloom filter, with your numbers".into(),
            subtitle: format!(
                "{} and the XOR layer, {} in each, {}",
                number::counted(u64::from(self.here.layers), "layer"),
                number::counted(self.items, "item"),
                functions(self.shape.hashes())
            ),
            sections,
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let per_item = self.shape.slots() as f64 / self.items as f64;
        vec![
            Figure::new("layers, L", format!("{} + XOR", self.here.layers))
                .note(number::bytes(self.shape.words() * 8)),
            Figure::new("bits of a layer, m", number::count(self.shape.slots())).note(format!(
                "{} per item, {}",
                plain(per_item),
                functions(self.shape.hashes())
            )),
            Figure::new("random records", number::rate(self.here.random.0)).note(one_in(self.here.random.0)),
            Figure::new("recombined records", number::rate(self.here.layer)).note(one_in(self.here.layer)),
        ]
    }

    fn in_short(&self) -> [Section; 2] {
        let (layers, hashes) = (self.here.layers, self.shape.hashes());
        [
            Section::Heading("In short".into()),
            Section::Steps(vec![
                Step::new(
                    "It answers",
                    "Is this record, a list of keywords, in the set? And of its first keywords alone: does a record \
                     begin like this? With \"no\", or with \"maybe\".",
                ),
                Step::new(
                    "It errs",
                    format!(
                        "on one side only: a record that was added is always found. A random record passes with \
                         probability {}; a record that is recombined from keywords of members with {}.",
                        number::rate(self.here.random.0),
                        number::rate(self.here.layer)
                    ),
                ),
                Step::new(
                    "It costs",
                    format!(
                        "L + 1 = {} Bloom filters of m bits, {} in all; and {} places in memory for each keyword, and \
                         {hashes} more for the record.",
                        layers + 1,
                        number::bytes(self.shape.words() * 8),
                        hashes
                    ),
                ),
                Step::new(
                    "Do not use it",
                    format!(
                        "where only whole records are looked up: a classic filter of whole records with the same memory \
                         errs far less on recombined records{}. Nor for records of one keyword: there the XOR layer \
                         knows nothing new.",
                        match self.here.classic.is_nan() {
                            true => String::new(),
                            false => format!(
                                " ({} in place of {})",
                                number::rate(self.here.classic),
                                number::rate(self.here.layer)
                            ),
                        }
                    ),
                ),
            ]),
        ]
    }

    fn one_layer(&self) -> Vec<Section> {
        let layers = self.here.layers;
        vec![
            Section::Heading("A layer is a Bloom filter".into()),
            Section::Text(format!(
                "There {} and the XOR layer. Each is a Bloom filter of m bits, and m is a power of \
                 two. Keyword 1 of a record goes into layer 1, keyword 2 into layer 2, and so on; more keywords than \
                 layers go round. A layer has an item for each different keyword that comes to it.",
                if layers == 1 { "is one layer (L = 1)".into() } else { format!("are L = {layers} layers") }
            )),
            Section::Steps(vec![
                Step::new(
                    "a layer is planned for",
                    format!(
                        "{}: different keywords or records, whichever are more",
                        number::counted(self.items, "item")
                    ),
                ),
                Step::new(
                    "a keyword that no member has passes its layer with",
                    format!(
                        "p = {} (as a classic filter of {} bits)",
                        number::rate(self.here.layer),
                        number::count(self.shape.slots())
                    ),
                ),
            ]),
            Section::Heading("What the XOR layer adds".into()),
            Section::Text(
                "The layers know keywords, and not which of them belong together. So function j takes the addresses of \
                 all keywords of a record, combines them by exclusive or (which stays below m, a power of two), and \
                 sets that bit in the XOR layer. It has an item for each different record."
                    .into(),
            ),
        ]
    }

    fn records(&self) -> Vec<Section> {
        let Rates { layers, layer, random, .. } = self.here;
        let keywords = typical_keywords(layers);
        let p = plain(layer);
        vec![
            Section::Heading("How often another record passes".into()),
            Section::Steps(vec![
                Step::new(
                    format!("random: {keywords} keywords that no member has, without the XOR layer"),
                    format!("p{} = {p}{} = {}", raised(keywords), raised(keywords), number::rate(random.1)),
                ),
                Step::new(
                    "random, with the XOR layer",
                    format!("p{} = {p}{} = {}", raised(keywords + 1), raised(keywords + 1), number::rate(random.0)),
                ),
                Step::new(
                    "recombined from keywords of members, each at its place, without the XOR layer",
                    "1: each layer knows its keyword, so all of them pass",
                ),
                Step::new(
                    "recombined, with the XOR layer",
                    format!("p = {}: the XOR layer alone decides", number::rate(layer)),
                ),
            ]),
            Section::Note(
                Gravity::Info,
                "These are upper bounds: a layer that holds fewer items than planned errs less. When the first \
                 keywords of a record are asked for, the XOR layer cannot be asked, and the rates are those without it."
                    .into(),
            ),
            Section::Charts(vec![self.chart()]),
            Section::Table(self.table()),
        ]
    }

    fn chart(&self) -> Chart {
        let line = |name: &str, rate: fn(&Rates) -> f64| {
            Mark::line(name, self.by_layers.iter().map(|rates| (f64::from(rates.layers), rate(rates))))
        };
        Chart {
            title: "What passes, by the number of layers".into(),
            x: Axis::linear("layers, L", Format::Count),
            y: Axis::log("rate of records that pass", Format::Plain),
            marks: vec![
                line("random, with XOR", |rates| rates.random.0),
                line("random, without XOR", |rates| rates.random.1),
                line("recombined, with XOR", |rates| rates.layer),
                line("bloom of whole records, same bits", |rates| rates.classic),
                Mark::VerticalRule { name: "yours".into(), x: f64::from(self.here.layers) },
            ],
        }
    }

    fn table(&self) -> Table {
        let names = [
            "L",
            "memory",
            "keywords",
            "random, XOR",
            "random, no XOR",
            "recombined, XOR",
            "recombined, no XOR",
            "bloom, same bits",
        ];
        let mut columns: Vec<Column> = names.map(Column::right).to_vec();
        columns.push(Column::left(""));
        let row = |rates: &Rates| {
            vec![
                rates.layers.to_string(),
                number::bytes(rates.bits / 8),
                typical_keywords(rates.layers).to_string(),
                number::rate(rates.random.0),
                number::rate(rates.random.1),
                number::rate(rates.layer),
                "1".into(),
                number::rate(rates.classic),
                if rates.layers == self.here.layers { "yours" } else { "" }.into(),
            ]
        };
        Table {
            caption: "What passes, by the number of layers".into(),
            columns,
            rows: self.by_layers.iter().map(row).collect(),
            notes: vec!["Keywords: those of a random record, one in each layer, and two at least.".into()],
        }
    }

    fn beside_bloom(&self) -> Vec<Section> {
        let classic = match self.here.classic.is_nan() {
            true => String::new(),
            false => format!(
                " With {} records it errs with probability {} on every record that was not added, random or recombined.",
                number::count(self.items),
                number::rate(self.here.classic)
            ),
        };
        vec![
            Section::Heading("Beside a classic filter of whole records".into()),
            Section::Text(format!(
                "A classic filter can hold whole records as keys, in the same {}.{classic} It has no layers to ask: it \
                 cannot tell whether a record begins with some keywords, nor whether a keyword occurs at its place. \
                 That is what the layers are for.",
                number::counted(self.here.bits, "bit")
            )),
        ]
    }
}
