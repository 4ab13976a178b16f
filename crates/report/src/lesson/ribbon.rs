//! The bumped ribbon filter: near the least size that a filter can have, for a set that is final.

use serde_json::{Value, json};
use tamis::ribbon::{SHARES, Widths};
use tamis::sizing::{Kind, Shape};
use tamis_make::number;

use super::others;
use super::words::{one_in, plain};
use crate::{Axis, Chart, Figure, Format, Mark, Page, Section, Step};

/// Everything that the lesson says in numbers.
#[derive(Debug, Clone)]
pub struct Numbers {
    keys: u64,
    widths: Widths,
    rate: f64,
    /// For some rates: bits per key here, in a `fuse`, and the least that there can be.
    by_rate: Vec<(f64, [f64; 3])>,
}

impl Numbers {
    pub fn of(keys: u64, widths: Widths) -> Numbers {
        let each = |kind: Kind, rate| {
            let shape = kind.shape_for_rate(keys, rate);
            shape.map_or(f64::NAN, |shape| shape.bits() as f64 / keys as f64)
        };
        let rates = (1..=48).map(|quarter| 0.5f64.powf(f64::from(quarter) / 4.0));
        let by_rate =
            rates.map(|rate| (rate, [each(Kind::Ribbon, rate), each(Kind::Fuse, rate), -rate.log2()]));
        let rate = Shape::Ribbon { keys, widths }.expected_rate(keys);
        Numbers { keys, widths, rate, by_rate: by_rate.collect() }
    }

    fn shape(&self) -> Shape {
        Shape::Ribbon { keys: self.keys, widths: self.widths }
    }

    fn per_key(&self) -> f64 {
        self.shape().bits() as f64 / self.keys as f64
    }

    /// The fewest bits for a key of any filter with this rate.
    fn least(&self) -> f64 {
        -self.rate.log2()
    }

    fn shorter(&self) -> f64 {
        f64::from(self.widths.shorter) / f64::from(SHARES)
    }

    pub fn json(&self) -> Value {
        let by_rate = |&(rate, [ribbon, fuse, least]): &(f64, [f64; 3])| json!({ "fpr": rate, "bits_per_key": ribbon, "bits_per_key_fuse": fuse, "least_bits_per_key": least });
        json!({
            "kind": Kind::Ribbon, "keys": self.keys, "slots": self.shape().slots(), "width": self.widths.bits,
            "shorter": self.widths.shorter, "bits": self.shape().bits(), "bits_per_key": self.per_key(),
            "least_bits_per_key": self.least(), "of_least": self.per_key() / self.least(), "fpr": self.rate,
            "by_rate": self.by_rate.iter().map(by_rate).collect::<Vec<_>>(),
            "kinds": others::json(self.keys, self.rate),
        })
    }

    pub fn page(&self) -> Page {
        let sections = vec![
            Section::Figures(vec![
                Figure::new("keys, n", number::count(self.keys)),
                Figure::new("bits per key", plain(self.per_key()))
                    .note(number::bytes(self.shape().words() * 8)),
                Figure::new("of the least possible", plain(self.per_key() / self.least()))
                    .note(format!("log₂(1/p) = {}", plain(self.least()))),
                Figure::new("false-positive rate, p", number::rate(self.rate)).note(one_in(self.rate)),
            ]),
            Section::Heading("In short".into()),
            Section::Steps(self.in_short()),
            Section::Heading("An equation for each key".into()),
            Section::Text(
                "A key has a fingerprint and some of 64 neighbouring slots of a table, all drawn from its hash. The table \
                 is filled such that, for each key of the set, the exclusive or of its slots is its fingerprint. These \
                 equations are solved by elimination; it is fast, because each touches only slots near each other. \
                 There are fewer slots than keys, so that hardly a slot stays empty: about one key in sixteen finds no \
                 room and is passed on to a second, smaller table, and so on."
                    .into(),
            ),
            Section::Steps(self.steps()),
            Section::Charts(vec![self.chart()]),
            Section::Heading("What it costs beside other kinds".into()),
            Section::Table(others::table(self.keys, self.rate)),
            Section::Text(
                "After Dillinger, Hübschle-Schneider, Sanders and Walzer, Fast Succinct Retrieval and Approximate \
                 Membership using Ribbon (2022)."
                    .into(),
            ),
        ];
        Page {
            title: "The bumped ribbon filter, with your numbers".into(),
            subtitle: format!(
                "{} in {}",
                number::counted(self.keys, "key"),
                number::bytes(self.shape().words() * 8)
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
                    "{} bits per key, and one place in memory for most lookups: some cache lines that follow each \
                     other. It computes more for a key than other kinds do.",
                    plain(self.per_key())
                ),
            ),
            Step::new(
                "Do not use it",
                "where keys come one by one: nothing can be added, removed or merged, and all keys must be at hand to \
                 build it; nor where lookups must be as fast as they can (blocked, or fuse).",
            ),
        ]
    }

    fn steps(&self) -> Vec<Step> {
        let Widths { bits, .. } = self.widths;
        let slots = self.shape().slots() as f64 / self.keys as f64;
        vec![
            Step::new(
                "a key that is not in the set",
                "the sum of its slots has nothing to do with its fingerprint: each bit agrees by chance, once in two",
            ),
            Step::new(
                "fingerprints",
                match self.widths.shorter {
                    0 => format!("{} each", number::counted(u64::from(bits), "bit")),
                    _ => format!(
                        "{} each, and one bit less for {} of the keys, so that rates between powers of two are met",
                        number::counted(u64::from(bits), "bit"),
                        number::percent(self.shorter())
                    ),
                },
            ),
            Step::new(
                "it passes with",
                format!("about 1/2^{bits} · (1 + {}) = {}", plain(self.shorter()), number::rate(self.rate)),
            ),
            Step::new(
                "slots per key",
                format!("{} in all tables together (more in small sets)", plain(slots)),
            ),
            Step::new(
                "bits per key",
                format!(
                    "{}, with two bits for each 128 slots that say which keys were passed on; no filter can take fewer \
                     than log₂(1/p) = {}",
                    plain(self.per_key()),
                    plain(self.least())
                ),
            ),
        ]
    }

    fn chart(&self) -> Chart {
        let line = |at: usize| self.by_rate.iter().map(move |(rate, each)| (each[at], *rate));
        Chart {
            title: "False-positive rate by bits per key".into(),
            x: Axis::linear("bits per key", Format::Plain),
            y: Axis::log("false-positive rate", Format::Plain),
            marks: vec![
                Mark::line("ribbon", line(0)),
                Mark::line("fuse", line(1)),
                Mark::line("the least possible", line(2)),
                Mark::Highlight {
                    x: self.per_key(),
                    y: self.rate,
                    label: format!("w = {}", self.widths.bits),
                },
            ],
        }
    }
}
