//! The counting filter: counters in place of the bits of a blocked filter, so that keys can be removed.

use serde_json::{Value, json};
use tamis::blocked::{HASHES, LINE_BITS};
use tamis::counting::{COUNTER_BITS, MOST};
use tamis::sizing::{Kind, Shape};
use tamis_make::number;

use super::others;
use super::words::{one_in, plain};
use crate::{Axis, Chart, Figure, Format, Mark, Page, Section, Step};

/// Everything that the lesson says in numbers.
#[derive(Debug, Clone)]
pub struct Numbers {
    keys: u64,
    lines: u64,
    hashes: u32,
    /// The rate, exactly expected.
    rate: f64,
    /// For each number of hashes that there is.
    by_hashes: Vec<(u32, f64)>,
}

impl Numbers {
    pub fn of(keys: u64, lines: u64, hashes: u32) -> Numbers {
        let rate = |hashes: u32| Shape::Counting { lines, hashes }.expected_rate(keys);
        Numbers { keys, lines, hashes, rate: rate(hashes), by_hashes: HASHES.map(|k| (k, rate(k))).to_vec() }
    }

    fn shape(&self) -> Shape {
        Shape::Counting { lines: self.lines, hashes: self.hashes }
    }

    fn per_key(&self) -> f64 {
        self.shape().bits() as f64 / self.keys as f64
    }

    pub fn json(&self) -> Value {
        let by_hashes = |(hashes, rate): &(u32, f64)| json!({ "hashes": hashes, "fpr": rate });
        json!({
            "kind": Kind::Counting, "keys": self.keys, "lines": self.lines, "hashes": self.hashes,
            "counters": self.shape().slots(), "counter_bits": COUNTER_BITS, "bits": self.shape().bits(),
            "bits_per_key": self.per_key(), "fpr": self.rate,
            "by_hashes": self.by_hashes.iter().map(by_hashes).collect::<Vec<_>>(),
            "kinds": others::json(self.keys, self.rate),
        })
    }

    pub fn page(&self) -> Page {
        let counters = number::counted(self.shape().slots(), "counter");
        let sections = vec![
            Section::Figures(vec![
                Figure::new("keys, n", number::count(self.keys)),
                Figure::new("counters", number::count(self.shape().slots())).note(format!(
                    "{} bits per key, {}",
                    plain(self.per_key()),
                    number::bytes(self.shape().words() * 8)
                )),
                Figure::new("counters of a key, k", self.hashes.to_string()),
                Figure::new("false-positive rate", number::rate(self.rate)).note(one_in(self.rate)),
            ]),
            Section::Heading("In short".into()),
            Section::Steps(self.in_short()),
            Section::Heading("Why a bit is not enough".into()),
            Section::Text(
                "In a Bloom filter several keys may share a bit. To remove a key, its bits would have to go back to 0, \
                 and another key that shares one of them would be lost. So each bit becomes a counter: how many keys \
                 have it. Adding a key raises its k counters, removing it lowers them, and the bit counts as 0 again \
                 when its counter does."
                    .into(),
            ),
            Section::Steps(self.steps()),
            Section::Charts(vec![self.chart()]),
            Section::Heading("What it costs beside other kinds".into()),
            Section::Table(others::table(self.keys, self.rate)),
            Section::Text(
                "After Fan, Cao, Almeida and Broder, Summary cache: a scalable wide-area web cache sharing protocol \
                 (2000). The lesson on blocked derives the rate."
                    .into(),
            ),
        ];
        Page {
            title: "The counting filter, with your numbers".into(),
            subtitle: format!("{} in {counters} of {COUNTER_BITS} bits", number::counted(self.keys, "key")),
            sections,
        }
    }

    fn in_short(&self) -> Vec<Step> {
        vec![
            Step::new(
                "It answers",
                "Is this key in the set? With \"no\", or with \"maybe\"; and keys can be removed again.",
            ),
            Step::new(
                "It errs",
                format!(
                    "on one side only, with probability {}: {}. A key that was added, and not removed as often, is always \
                     found, as long as no key is removed that was never added.",
                    number::rate(self.rate),
                    one_in(self.rate)
                ),
            ),
            Step::new(
                "It costs",
                format!(
                    "{} bits per key, {COUNTER_BITS} times those of a blocked filter; and {COUNTER_BITS} adjacent cache \
                     lines for each key that is added, removed or looked up.",
                    plain(self.per_key())
                ),
            ),
            Step::new(
                "Do not use it",
                "for a set that only grows (blocked), nor where the keys that are removed are not known to have been \
                 added.",
            ),
        ]
    }

    fn steps(&self) -> Vec<Step> {
        vec![
            Step::new(
                "the rate",
                format!(
                    "{}: that of a blocked filter of {} lines of {LINE_BITS} bits, because a counter above 0 is a 1",
                    number::rate(self.rate),
                    number::count(self.lines)
                ),
            ),
            Step::new(
                "a full counter",
                format!(
                    "a counter of {COUNTER_BITS} bits counts to {MOST} and then stays there, whatever is removed: on the \
                     side of false positives. Where keys are added once, fewer than one counter in 10¹³ gets there; a key \
                     that is added {MOST} times fills its own."
                ),
            ),
            Step::new(
                "removing what was never added",
                format!(
                    "is seen where one of its counters is 0, and changes nothing. With probability {} none is: counters of \
                     other keys are lowered, and these may be missed. That is the one way to a false negative.",
                    number::rate(self.rate)
                ),
            ),
        ]
    }

    fn chart(&self) -> Chart {
        let points = self.by_hashes.iter().map(|&(k, rate)| (f64::from(k), rate));
        Chart {
            title: "False-positive rate by k".into(),
            x: Axis::log("counters of a key, k", Format::Count),
            y: Axis::log("false-positive rate", Format::Plain),
            marks: vec![
                Mark::line("counting", points),
                Mark::Highlight {
                    x: f64::from(self.hashes),
                    y: self.rate,
                    label: format!("k = {}: {}", self.hashes, number::rate(self.rate)),
                },
            ],
        }
    }
}
