//! The binary fuse filter: fingerprints in place of bits, for a set that is final.

use serde_json::{Value, json};
use tamis::fuse::{self, MAX_WIDTH};
use tamis::sizing::{Kind, Shape};
use tamis_make::number;

use super::others;
use super::words::{one_in, plain};
use crate::{Axis, Chart, Figure, Format, Mark, Page, Section, Step};

/// Everything that the lesson says in numbers.
#[derive(Debug, Clone)]
pub struct Numbers {
    keys: u64,
    slots: u64,
    /// w.
    width: u32,
    rate: f64,
    /// For each width: bits per key, the rate, and that of a classic filter of as many bits.
    by_width: Vec<(f64, f64, f64)>,
}

impl Numbers {
    pub fn of(keys: u64, slots: u64, width: u32) -> Numbers {
        let of_width = |width: u32| {
            let bits = Shape::Fuse { slots, fingerprint_bits: width }.bits();
            let classic = Kind::Bloom.shape_for_bits(keys, bits);
            let classic = classic.map_or(f64::NAN, |shape| shape.expected_rate(keys));
            (bits as f64 / keys as f64, fuse::rate(width), classic)
        };
        let widest = (width + 4).clamp(12, MAX_WIDTH);
        let rate = Shape::Fuse { slots, fingerprint_bits: width }.expected_rate(keys);
        Numbers { keys, slots, width, rate, by_width: (1..=widest).map(of_width).collect() }
    }

    fn shape(&self) -> Shape {
        Shape::Fuse { slots: self.slots, fingerprint_bits: self.width }
    }

    fn per_key(&self) -> f64 {
        self.shape().bits() as f64 / self.keys as f64
    }

    pub fn json(&self) -> Value {
        let by_width = |(i, &(each, rate, classic)): (usize, &(f64, f64, f64))| {
            json!({ "width": i + 1, "bits_per_key": each, "fpr": rate,
                    "fpr_bloom": (!classic.is_nan()).then_some(classic) })
        };
        json!({
            "kind": Kind::Fuse, "keys": self.keys, "slots": self.slots, "width": self.width,
            "bits": self.shape().bits(), "bits_per_key": self.per_key(), "fpr": self.rate,
            "by_width": self.by_width.iter().enumerate().map(by_width).collect::<Vec<_>>(),
            "kinds": others::json(self.keys, self.rate),
        })
    }

    pub fn page(&self) -> Page {
        let sections = vec![
            Section::Figures(vec![
                Figure::new("keys, n", number::count(self.keys)),
                Figure::new("slots", number::count(self.slots)).note(format!(
                    "{} bits per key, {}",
                    plain(self.per_key()),
                    number::bytes(self.shape().words() * 8)
                )),
                Figure::new("bits of a fingerprint, w", self.width.to_string()),
                Figure::new("false-positive rate", number::rate(self.rate)).note(one_in(self.rate)),
            ]),
            Section::Heading("In short".into()),
            Section::Steps(self.in_short()),
            Section::Heading("Fingerprints in place of bits".into()),
            Section::Text(
                "A key has a fingerprint of w bits and three slots of a table, all drawn from its hash. The table is \
                 filled such that, for each key of the set, the exclusive or of its three slots is its fingerprint. All \
                 keys must be known for that: each slot is shared, and is chosen so that all of its keys come out right."
                    .into(),
            ),
            Section::Steps(self.steps()),
            Section::Charts(vec![self.chart()]),
            Section::Heading("What it costs beside other kinds".into()),
            Section::Table(others::table(self.keys, self.rate)),
            Section::Text("After Graf and Lemire, Binary Fuse Filters: Fast and Smaller Than Xor Filters (2022).".into()),
        ];
        Page {
            title: "The binary fuse filter, with your numbers".into(),
            subtitle: format!(
                "{} in {} of {}",
                number::counted(self.keys, "key"),
                number::counted(self.slots, "slot"),
                number::counted(u64::from(self.width), "bit")
            ),
            sections,
        }
    }

    fn in_short(&self) -> Vec<Step> {
        vec![
            Step::new("It answers", "Is this key in the set? With \"no\", or with \"maybe\"."),
            Step::new(
                "It errs",
                format!(
                    "on one side only. A key of the set is always found; any other with probability {}: {}.",
                    number::rate(self.rate),
                    one_in(self.rate)
                ),
            ),
            Step::new(
                "It costs",
                format!(
                    "{} bits per key, and three places in memory for each lookup, whatever the rate.",
                    plain(self.per_key())
                ),
            ),
            Step::new(
                "Do not use it",
                "where keys come one by one: nothing can be added, removed or merged, and all keys must be at hand to \
                 build it. For small sets, other kinds take fewer bits.",
            ),
        ]
    }

    fn steps(&self) -> Vec<Step> {
        let per_key = self.slots as f64 / self.keys as f64;
        vec![
            Step::new(
                "a key that is not in the set",
                "its three slots have nothing to do with its fingerprint: their exclusive or is any of 2ʷ values",
            ),
            Step::new(
                "it passes with",
                format!(
                    "1/2ʷ = 1/{} = {}",
                    number::product(1u128 << self.width),
                    number::rate(fuse::rate(self.width))
                ),
            ),
            Step::new(
                "slots per key",
                format!(
                    "{}/{} = {} (1.11, and more in small sets; a table without spare slots cannot be filled)",
                    number::count(self.slots),
                    number::count(self.keys),
                    plain(per_key)
                ),
            ),
            Step::new(
                "bits per key",
                format!(
                    "{} · {} = {}, where no filter can take fewer than log₂(2ʷ) = {}",
                    plain(per_key),
                    self.width,
                    plain(self.per_key()),
                    self.width
                ),
            ),
        ]
    }

    fn chart(&self) -> Chart {
        let fuse = self.by_width.iter().map(|&(each, rate, _)| (each, rate));
        let bloom = self.by_width.iter().map(|&(each, _, rate)| (each, rate));
        Chart {
            title: "False-positive rate by bits per key".into(),
            x: Axis::linear("bits per key", Format::Plain),
            y: Axis::log("false-positive rate", Format::Plain),
            marks: vec![
                Mark::line("fuse", fuse),
                Mark::line("bloom", bloom),
                Mark::Highlight { x: self.per_key(), y: self.rate, label: format!("w = {}", self.width) },
            ],
        }
    }
}
