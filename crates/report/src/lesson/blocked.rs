//! The blocked filter: all bits of a key in one line, and what crowded lines cost.

use serde_json::{Value, json};
use tamis::blocked::{self, HASHES, LINE_BITS, Load};
use tamis::sizing::{Kind, Shape};
use tamis_make::number;

use super::words::{one_in, plain, raised};
use crate::{Axis, Chart, Column, Figure, Format, Mark, Page, Section, Step, Table};

/// Everything that the lesson says in numbers.
#[derive(Debug, Clone)]
pub struct Numbers {
    /// n.
    keys: u64,
    /// B.
    lines: u64,
    /// k.
    hashes: u32,
    /// The rate, exactly expected.
    rate: f64,
    /// The lines by how many keys they hold.
    loads: Vec<Load>,
    /// For each number of hashes that there is: the rate, and that of a classic filter of these bits.
    by_hashes: Vec<(u32, f64, f64)>,
    /// The classic filter with as many bits and the best number of hashes, and its rate.
    classic: Option<(Shape, f64)>,
    /// The classic filter of the same rate.
    as_good: Option<Shape>,
}

impl Numbers {
    pub fn of(keys: u64, lines: u64, hashes: u32) -> Numbers {
        let rate = |hashes: u32| Shape::Blocked { lines, hashes }.expected_rate(keys);
        let bits = lines.saturating_mul(LINE_BITS);
        let classic = Kind::Bloom.shape_for_bits(keys, bits).ok();
        let of_classic = |hashes: u32| Shape::Bloom { bits, hashes }.expected_rate(keys);
        Numbers {
            keys,
            lines,
            hashes,
            rate: rate(hashes),
            loads: blocked::loads(keys, lines, hashes),
            by_hashes: HASHES.map(|k| (k, rate(k), of_classic(k))).to_vec(),
            classic: classic.map(|shape| (shape, shape.expected_rate(keys))),
            as_good: Kind::Bloom.shape_for_rate(keys, rate(hashes)).ok(),
        }
    }

    fn bits(&self) -> u64 {
        self.lines.saturating_mul(LINE_BITS)
    }

    fn per_key(&self) -> f64 {
        self.bits() as f64 / self.keys as f64
    }

    /// Keys in a line: the mean.
    fn mean(&self) -> f64 {
        self.keys as f64 / self.lines as f64
    }

    /// And the standard deviation, of a binomial distribution.
    fn deviation(&self) -> f64 {
        (self.mean() * (1.0 - 1.0 / self.lines as f64)).sqrt()
    }

    /// A line whose keys are nearest to the mean.
    fn average(&self) -> Load {
        let off = |load: &Load| (load.keys as f64 - self.mean()).abs();
        let nearest = self.loads.iter().copied().min_by(|a, b| off(a).total_cmp(&off(b)));
        nearest.unwrap_or(Load { keys: 0, share: 1.0, rate: 0.0 })
    }

    /// The share of bits by which this filter is larger than a classic one of the same rate.
    fn more_bits(&self) -> Option<f64> {
        self.as_good.map(|classic| self.bits() as f64 / classic.bits() as f64 - 1.0)
    }

    pub fn json(&self) -> Value {
        let load = |load: &Load| json!({ "keys": load.keys, "share": load.share, "fpr": load.rate });
        let by_hashes = |(hashes, rate, bloom): &(u32, f64, f64)| json!({ "hashes": hashes, "fpr": rate, "fpr_bloom": bloom });
        json!({
            "kind": Kind::Blocked, "keys": self.keys, "lines": self.lines, "bits": self.bits(),
            "hashes": self.hashes, "bits_per_key": self.per_key(), "fpr": self.rate,
            "keys_per_line": { "mean": self.mean(), "standard_deviation": self.deviation() },
            "fpr_of_an_average_line": self.average().rate,
            "lines_by_keys": self.loads.iter().filter(|load| load.share > 1e-9).map(load).collect::<Vec<_>>(),
            "by_hashes": self.by_hashes.iter().map(by_hashes).collect::<Vec<_>>(),
            "bloom_of_these_bits":
                self.classic.map(|(shape, rate)| json!({ "hashes": shape.hashes(), "fpr": rate })),
            "bloom_of_this_rate":
                self.as_good.map(|shape| json!({ "hashes": shape.hashes(), "bits": shape.bits() })),
        })
    }

    pub fn page(&self) -> Page {
        let mut sections = vec![Section::Figures(self.figures())];
        sections.extend(self.in_short());
        sections.extend(self.derivation());
        sections.extend(self.crowding());
        sections.extend(self.beside_bloom());
        sections.push(Section::Text(
            "After Putze, Sanders and Singler, Cache-, hash- and space-efficient Bloom filters (2007). The lesson on \
             bloom begins earlier: with darts, targets and one hash function."
                .into(),
        ));
        Page {
            title: "The blocked Bloom filter, with your numbers".into(),
            subtitle: format!(
                "{} in {} of {LINE_BITS} bits, {} bits of a line for each key",
                number::counted(self.keys, "key"),
                number::counted(self.lines, "line"),
                self.hashes
            ),
            sections,
        }
    }

    fn figures(&self) -> Vec<Figure> {
        vec![
            Figure::new("keys, n", number::count(self.keys)),
            Figure::new("lines, B", number::count(self.lines)).note(format!(
                "{} bits per key, {}",
                plain(self.per_key()),
                number::bytes(self.bits() / 8)
            )),
            Figure::new("bits of a key, k", self.hashes.to_string()).note("one in each lane of its line"),
            Figure::new("false-positive rate", number::rate(self.rate)).note(one_in(self.rate)),
        ]
    }

    fn in_short(&self) -> [Section; 2] {
        let more = self.more_bits().filter(|more| *more > 0.0);
        let price = more.map_or(String::new(), |more| {
            format!(
                " It pays with bits: {} more than a classic filter of the same rate.",
                number::percent(more)
            )
        });
        [
            Section::Heading("In short".into()),
            Section::Steps(vec![
                Step::new("It answers", "Is this key in the set? With \"no\", or with \"maybe\"."),
                Step::new(
                    "It errs",
                    format!(
                        "on one side only. A key of the set is always found; a key that is not in it is found with \
                         probability {}: {}.",
                        number::rate(self.rate),
                        one_in(self.rate)
                    ),
                ),
                Step::new(
                    "It costs",
                    format!(
                        "{} bits per key, and one cache line for each key that is added or looked up, where a classic \
                         filter reads up to one for each hash function.{price}",
                        plain(self.per_key())
                    ),
                ),
                Step::new(
                    "Do not use it",
                    "where memory counts more than time (bloom, or fuse for a set that is final); where keys must be \
                     removed (counting); for very low rates, where crowded lines cost many bits.",
                ),
            ]),
        ]
    }

    fn derivation(&self) -> Vec<Section> {
        let (k, lane) = (self.hashes, LINE_BITS / u64::from(self.hashes));
        let mean = self.mean();
        let average = self.average();
        let ones = average.rate.powf(1.0 / f64::from(k));
        vec![
            Section::Heading("Darts, thrown in two steps".into()),
            Section::Text(format!(
                "A key first picks one of the B lines. A line is {LINE_BITS} bits, what a processor fetches from \
                 memory at once. All bits of the key are in that line: it is cut into k = {k} lanes of {lane} bits, \
                 and the key sets one bit in each lane. So the darts of a key never hit the same bit, and the lanes \
                 are independent of each other."
            )),
            Section::Steps(vec![
                Step::new(
                    "keys in a line, on average",
                    format!(
                        "n/B = {}/{} = {}",
                        number::count(self.keys),
                        number::count(self.lines),
                        plain(mean)
                    ),
                ),
                Step::new(
                    "one key leaves a given bit of a lane 0",
                    format!("1 − k/{LINE_BITS} = 1 − 1/{lane}"),
                ),
                Step::new("j keys leave it 0", format!("(1 − 1/{lane})ʲ")),
                Step::new(
                    "a line with j keys errs with",
                    format!("rate(j) = (1 − (1 − 1/{lane})ʲ){}", raised(k)),
                ),
                Step::new(
                    format!("an average line, with {}", number::counted(average.keys, "key")),
                    format!(
                        "rate({}) = (1 − {}){} = {}",
                        number::count(average.keys),
                        plain(1.0 - ones),
                        raised(k),
                        number::rate(average.rate)
                    ),
                ),
            ]),
        ]
    }

    fn crowding(&self) -> Vec<Section> {
        let (mean, deviation) = (self.mean(), self.deviation());
        let average = self.average().rate;
        let ratio = match average > 0.0 {
            true => format!(", {} times that of an average line", plain(self.rate / average)),
            false => String::new(),
        };
        vec![
            Section::Heading("Some lines get more keys than others".into()),
            Section::Text(format!(
                "Lines are picked blindly, so the number of keys in a line varies: it is binomial, with mean {} and \
                 standard deviation {}. Crowded lines err much more, and sparse lines cannot make up for that. A key \
                 that is not in the set may come to any line, so the exact rate is the mean over all lines.",
                plain(mean),
                plain(deviation)
            )),
            Section::Steps(vec![Step::new(
                "the exact rate",
                format!("Σⱼ Binomial(j; n, 1/B) · rate(j) = {}{ratio}", number::rate(self.rate)),
            )]),
            Section::Table(self.table_of_loads()),
            Section::Charts(self.charts()),
        ]
    }

    fn table_of_loads(&self) -> Table {
        let columns =
            ["keys in a line, j", "such lines", "lines with j or more", "rate(j)", "share of all errors"];
        let mut rows = Vec::new();
        let mut last = None;
        for off in [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0] {
            let wanted = (self.mean() + off * self.deviation()).round().max(0.0) as u64;
            let Some(at) = self.loads.iter().position(|load| load.keys >= wanted) else { continue };
            if last == Some(at) {
                continue;
            }
            let from = last.map_or(0, |last: usize| last + 1);
            last = Some(at);
            let load = self.loads[at];
            let or_more: f64 = self.loads[at..].iter().map(|load| load.share).sum();
            // The errors of all lines since the row above.
            let errors: f64 = self.loads[from..=at].iter().map(|load| load.share * load.rate).sum();
            rows.push(vec![
                number::count(load.keys),
                number::percent(load.share),
                number::percent(or_more.min(1.0)),
                number::rate(load.rate),
                number::percent(errors / self.rate),
            ]);
        }
        Table {
            caption: "Lines by their keys, from three standard deviations below the mean to four above it"
                .into(),
            columns: columns.map(Column::right).to_vec(),
            rows,
            notes: vec![
                "Share of all errors: those of lines with j keys, and of lines between the row above and j."
                    .into(),
            ],
        }
    }

    fn charts(&self) -> Vec<Chart> {
        let bins = self.loads.iter().filter(|load| load.share > 1e-6);
        let bins = bins.map(|load| (load.keys as f64 - 0.5, load.keys as f64 + 0.5, load.share)).collect();
        let blocked = self.by_hashes.iter().map(|&(k, rate, _)| (f64::from(k), rate));
        let bloom = self.by_hashes.iter().map(|&(k, _, rate)| (f64::from(k), rate));
        vec![
            Chart {
                title: "Lines by the number of their keys".into(),
                x: Axis::linear("keys in a line", Format::Count),
                y: Axis::linear("share of lines", Format::Percent),
                marks: vec![
                    Mark::Histogram { name: String::new(), bins },
                    Mark::VerticalRule { name: "mean".into(), x: self.mean() },
                ],
            },
            Chart {
                title: format!("False-positive rate by k, {} bits per key", plain(self.per_key())),
                x: Axis::log("bits of a key, k", Format::Count),
                y: Axis::log("false-positive rate", Format::Plain),
                marks: vec![
                    Mark::line("blocked", blocked),
                    Mark::line("bloom", bloom),
                    Mark::Highlight {
                        x: f64::from(self.hashes),
                        y: self.rate,
                        label: format!("k = {}: {}", self.hashes, number::rate(self.rate)),
                    },
                ],
            },
        ]
    }

    fn beside_bloom(&self) -> Vec<Section> {
        let columns = vec![
            Column::right("k"),
            Column::right("blocked"),
            Column::right("bloom"),
            Column::right("times"),
            Column::left(""),
        ];
        let row = |(k, rate, bloom): &(u32, f64, f64)| {
            let mark = if *k == self.hashes { "yours" } else { "" };
            let cells = [k.to_string(), number::rate(*rate), number::rate(*bloom), plain(rate / bloom)];
            cells.into_iter().chain([mark.to_owned()]).collect()
        };
        let mut facts = Vec::new();
        if let Some((shape, rate)) = &self.classic {
            facts.push(Step::new(
                "the best bloom of these bits",
                format!("{} with {} hash functions", number::rate(*rate), shape.hashes()),
            ));
        }
        if let Some((shape, more)) = self.as_good.zip(self.more_bits()) {
            facts.push(Step::new(
                "a bloom of this rate",
                format!(
                    "{} bits, {} per key: this one has {} more",
                    number::count(shape.bits()),
                    plain(shape.bits() as f64 / self.keys as f64),
                    number::percent(more)
                ),
            ));
        }
        vec![
            Section::Heading("Beside the classic filter".into()),
            Section::Text(
                "k is a power of two here, so that lanes are alike. The rate of both kinds with the same bits, by k:"
                    .into(),
            ),
            Section::Table(Table { columns, rows: self.by_hashes.iter().map(row).collect(), ..Table::default() }),
            Section::Steps(facts),
        ]
    }
}
