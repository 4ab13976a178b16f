//! The classic filter: darts and targets, for one hash function, for two, for k.

mod numbers;

use tamis::bloom;
use tamis_make::number;

pub use self::numbers::Numbers;
use self::numbers::{Other, Point};

use super::slides;
use super::words::{apart, functions, one_in, plain, raised};
use crate::{Axis, Chart, Column, Figure, Format, Gravity, Mark, Page, Section, Step, Table};

impl Numbers {
    pub fn page(&self) -> Page {
        let mut sections = vec![Section::Figures(self.figures())];
        sections.extend(self.in_short());
        sections.extend(self.one_hash());
        sections.extend(self.two_hashes());
        sections.extend(self.any_hashes());
        sections.extend(self.exactly());
        sections.extend(self.what_a_bit_buys());
        sections.push(Section::Text(SOURCES.into()));
        Page {
            title: "The Bloom filter, with your numbers".into(),
            subtitle: format!(
                "{} in {}, {}",
                number::counted(self.keys, "key"),
                number::counted(self.bits, "bit"),
                functions(self.hashes)
            ),
            sections,
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let here = self.here();
        let memory = number::bytes(self.bits.div_ceil(64) * 8);
        vec![
            Figure::new("keys, n", number::count(self.keys)),
            Figure::new("bits, m", number::count(self.bits))
                .note(format!("{} per key, {memory}", plain(self.per_key()))),
            Figure::new("hash functions, k", self.hashes.to_string())
                .note(format!("the best is {}", self.best.1)),
            Figure::new("false-positive rate", number::rate(here.exact)).note(one_in(here.exact)),
        ]
    }

    fn in_short(&self) -> [Section; 2] {
        let here = self.here();
        [
            Section::Heading("In short".into()),
            Section::Steps(vec![
                Step::new("It answers", "Is this key in the set? With \"no\", or with \"maybe\"."),
                Step::new(
                    "It errs",
                    format!(
                        "on one side only. A key of the set is always found: its bits were set to 1, and no bit goes \
                         back to 0. A key that is not in the set passes as well if all of its bits happen to be 1. \
                         Here that happens with a probability of {1}: {0}.",
                        one_in(here.exact),
                        number::rate(here.exact)
                    ),
                ),
                Step::new(
                    "It costs",
                    format!(
                        "{} bits per key, however long the keys are, and up to {} in memory for each key that is \
                         added or looked up.",
                        plain(self.per_key()),
                        number::counted(u64::from(self.hashes), "place")
                    ),
                ),
                Step::new(
                    "Do not use it",
                    "where no false positive is allowed, unless what passes is compared with the keys themselves; \
                     where keys must be removed (counting); where the set is known and final (fuse is \
                     smaller); where the filter is larger than the cache and time counts (blocked); where counts \
                     are asked for (count-min). It cannot list its keys.",
                ),
            ]),
        ]
    }

    fn one_hash(&self) -> Vec<Section> {
        let one = Point::of(self.keys, self.bits, 1);
        let load = plain(self.keys as f64 / self.bits as f64);
        let (zeros, ones) = (plain(one.zeros), plain(one.textbook));
        vec![
            Section::Heading("One hash function: n darts at m targets".into()),
            Section::Text(
                "The m bits are targets, and all of them are 0 at first. Adding a key throws a dart: the hash \
                 function picks a bit, each as likely as any other, and this bit becomes 1. After n keys, how many \
                 targets were hit at least once?"
                    .into(),
            ),
            Section::Steps(vec![
                Step::new("a dart misses a given bit", format!("1 − 1/m = 1 − 1/{}", number::count(self.bits))),
                Step::new("all n darts miss it", "(1 − 1/m)ⁿ = ((1 − 1/m)ᵐ)^(n/m)"),
                Step::new(
                    "(1 − 1/m)ᵐ is close to 1/e for a large m",
                    "so the bit stays 0 with probability e^(−n/m)",
                ),
                Step::new("with your numbers", format!("e^(−n/m) = e^(−{load}) = {zeros}")),
                Step::new("the bit is 1", format!("1 − e^(−n/m) = 1 − {zeros} = {ones}")),
            ]),
            Section::Text(format!(
                "So about {} of the bits are ones. A key that is not in the set picks a bit, too, and passes if it is a \
                 one. With one hash function the false-positive rate is therefore the share of ones: {ones}.",
                number::percent(one.textbook)
            )),
        ]
    }

    fn two_hashes(&self) -> Vec<Section> {
        let (one, two) = (Point::of(self.keys, self.bits, 1), Point::of(self.keys, self.bits, 2));
        let load = plain(2.0 * self.keys as f64 / self.bits as f64);
        let (zeros, ones) = (plain(two.zeros), plain(1.0 - two.zeros));
        let moves = if two.textbook < one.textbook { "falls" } else { "rises" };
        let mut sections = vec![
            Section::Heading("Two hash functions: 2n darts".into()),
            Section::Text(
                "Each key throws two darts, so more bits are ones; but a key that is not in the set must now find \
                 ones in two places."
                    .into(),
            ),
            Section::Steps(vec![
                Step::new("a bit stays 0", format!("e^(−2n/m) = e^(−{load}) = {zeros}")),
                Step::new("it is 1", format!("1 − {zeros} = {ones}")),
                Step::new("both bits of another key are 1", format!("{ones}² = {}", plain(two.textbook))),
            ]),
            Section::Text(format!(
                "The rate {moves} from {} to {}.",
                plain(one.textbook),
                plain(two.textbook)
            )),
        ];
        if self.is_slides() {
            sections.push(Section::Note(
                Gravity::Info,
                format!(
                    "The slides of Castillo and Buda have this example, 8 bits per key, and print 0.0493 here; \
                     their formula gives {}.",
                    plain(two.textbook)
                ),
            ));
        }
        sections
    }

    fn any_hashes(&self) -> Vec<Section> {
        let here = self.here();
        let k = self.hashes;
        let load = plain(f64::from(k) * self.keys as f64 / self.bits as f64);
        let (zeros, ones) = (plain(here.zeros), plain(1.0 - here.zeros));
        let at = |hashes: u32| plain(bloom::textbook_rate(self.keys, self.bits, hashes));
        let (exact_best, best) = self.best;
        let neighbour = if f64::from(best) > exact_best { best.saturating_sub(1) } else { best + 1 };
        let beside = match neighbour {
            k if k == 0 || k > bloom::MOST_HASHES => String::new(),
            k => format!(" ({k} would give {})", at(k)),
        };
        let same = self.as_many_as_bits_per_key();
        vec![
            Section::Heading("k hash functions: kn darts".into()),
            Section::Steps(vec![
                Step::new("a bit stays 0", format!("e^(−kn/m) = e^(−{load}) = {zeros}")),
                Step::new("it is 1", format!("1 − {zeros} = {ones}")),
                Step::new(
                    "all k bits of another key are 1",
                    format!("(1 − e^(−kn/m))ᵏ = {ones}{} = {}", raised(k), plain(here.textbook)),
                ),
                Step::new(
                    "the best k",
                    format!(
                        "(m/n) ln 2 = {} · 0.6931 = {}, at which half of the bits are ones. Of whole numbers it is \
                         {best}: {}{beside}.",
                        plain(self.per_key()),
                        plain(exact_best),
                        at(best)
                    ),
                ),
            ]),
            Section::Text(
                "With too few hash functions a test asks too little. With too many the array gets crowded: most \
                 bits are ones, and finding ones says little."
                    .into(),
            ),
            Section::Charts(vec![self.chart()]),
            Section::Table(self.table_by_hashes()),
            Section::Note(
                Gravity::Info,
                format!(
                    "With k = m/n ({0}) there are as many darts as bits, and e^(−kn/m) is {1}, about 1/e = 0.3679. \
                     That is the probability that a bit stays 0. It is not the rate of false positives (nor a \
                     \"collision probability\", as it is sometimes called): that is (1 − {1}){2} = {3}.",
                    same.hashes,
                    plain(same.zeros),
                    raised(same.hashes),
                    plain(same.textbook)
                ),
            ),
        ]
    }

    fn chart(&self) -> Chart {
        let points = self.by_hashes.iter().map(|point| (f64::from(point.hashes), point.exact));
        let here = self.here();
        let mut marks = vec![Mark::line("exact", points)];
        if self.is_slides() {
            let printed = slides::PRINTED.map(|(hashes, rate)| (f64::from(hashes), rate));
            marks.push(Mark::Points { name: "the slides print".into(), points: printed.to_vec() });
        }
        marks.push(Mark::VerticalRule { name: "(m/n) ln 2".into(), x: self.best.0 });
        marks.push(Mark::Highlight {
            x: f64::from(self.hashes),
            y: here.exact,
            label: format!("k = {}: {}", self.hashes, number::rate(here.exact)),
        });
        Chart {
            title: format!(
                "False-positive rate by the number of hash functions, {} bits per key",
                plain(self.per_key())
            ),
            x: Axis::linear("hash functions, k", Format::Count),
            y: Axis::log("false-positive rate", Format::Plain),
            marks,
        }
    }

    fn table_by_hashes(&self) -> Table {
        let names = ["k", "zeros", "ones", "approximation", "exact", "apart"];
        let mut columns: Vec<Column> = names.map(Column::right).to_vec();
        columns.push(Column::left(""));
        let row = |point: &Point| {
            let mark = match (point.hashes == self.best.1, point.hashes == self.hashes) {
                (true, true) => "best, yours",
                (true, false) => "best",
                (false, true) => "yours",
                (false, false) => "",
            };
            vec![
                point.hashes.to_string(),
                number::percent(point.zeros),
                number::percent(1.0 - point.zeros),
                number::rate(point.textbook),
                number::rate(point.exact),
                apart(point.exact, point.textbook),
                mark.into(),
            ]
        };
        Table {
            caption: "The error by the number of hash functions".into(),
            columns,
            rows: self.by_hashes.iter().map(row).collect(),
            notes: Vec::new(),
        }
    }

    fn exactly(&self) -> Vec<Section> {
        let here = self.here();
        let k = raised(self.hashes);
        let columns = ["keys, n", "bits, m", "approximation", "exact", "apart"].map(Column::right).to_vec();
        let row = |point: &Point| {
            vec![
                number::count(point.keys) + if point.keys == self.keys { " (yours)" } else { "" },
                number::count(point.bits),
                number::rate(point.textbook),
                number::rate(point.exact),
                apart(point.exact, point.textbook),
            ]
        };
        vec![
            Section::Heading("The exact rate, and how far the approximation is from it".into()),
            Section::Text(
                "The formula above is an approximation, twice. It takes (1 − 1/m)ᵐ for 1/e. And it takes the share \
                 of ones for a fixed number, though it varies from one set of keys to the next: X of the m bits are \
                 ones, and the rate is (X/m)ᵏ. Where X is above its mean the rate gains more than it loses where X \
                 is below. The exact rate is the mean of (X/m)ᵏ over the distribution of X, and it is what tamis \
                 sizes filters by."
                    .into(),
            ),
            Section::Steps(vec![
                Step::new(
                    "the approximation",
                    format!("(1 − e^(−kn/m))ᵏ = {}{k} = {}", digits(1.0 - here.zeros), digits(here.textbook)),
                ),
                Step::new(
                    "with the exact share of ones",
                    format!(
                        "(1 − (1 − 1/m)^(kn))ᵏ = {}{k} = {}",
                        digits(here.ones),
                        digits(here.ones.powi(self.hashes as i32))
                    ),
                ),
                Step::new("the exact rate", format!("mean of (X/m)ᵏ = {}", digits(here.exact))),
                Step::new("they are apart by", apart(here.exact, here.textbook)),
            ]),
            Section::Charts(vec![self.chart_by_keys()]),
            Section::Table(Table {
                caption: format!(
                    "The same {} bits per key and k = {}, for few keys and for many",
                    plain(self.per_key()),
                    self.hashes
                ),
                columns,
                rows: self.by_keys.iter().map(row).collect(),
                notes: Vec::new(),
            }),
        ]
    }

    fn chart_by_keys(&self) -> Chart {
        let line = |name: &str, rate: fn(&Point) -> f64| {
            Mark::line(name, self.by_keys.iter().map(|point| (point.keys as f64, rate(point))))
        };
        Chart {
            title: format!("The rate by the number of keys, {} bits per key", plain(self.per_key())),
            x: Axis::log("keys, n", Format::Count),
            y: Axis::linear("false-positive rate", Format::Plain),
            marks: vec![
                line("exact", |point| point.exact),
                line("approximation", |point| point.textbook),
                Mark::VerticalRule { name: "yours".into(), x: self.keys as f64 },
            ],
        }
    }

    fn what_a_bit_buys(&self) -> Vec<Section> {
        let here = self.here();
        let least = -here.exact.log2();
        let mut columns = vec![Column::left("what if")];
        columns.extend(["keys", "bits", "bits/key", "k", "rate"].map(Column::right));
        let row = |Other { name, point }: &Other| {
            vec![
                (*name).into(),
                number::count(point.keys),
                number::count(point.bits),
                plain(point.bits as f64 / point.keys as f64),
                point.hashes.to_string(),
                number::rate(point.exact),
            ]
        };
        let mut sections = vec![
            Section::Heading("What a bit buys".into()),
            Section::Table(Table {
                columns,
                rows: self.others.iter().map(row).collect(),
                ..Table::default()
            }),
            Section::Text(
                "With the best k, the rate is about 0.6185 to the power of the bits per key (0.6185 = ½^(ln 2)). One \
                 more bit per key multiplies it by 0.6185; twice the bits square it; a tenth of it costs 4.79 more \
                 bits per key."
                    .into(),
            ),
        ];
        if here.exact < 0.9 {
            sections.push(Section::Text(format!(
                "No filter of any kind has this rate with fewer than log₂(1/{}) = {} bits per key. This one \
                 takes {}: {} \
                 times as many. At its best, a Bloom filter takes 1.44 times as many.",
                number::rate(here.exact),
                plain(least),
                plain(self.per_key()),
                number::significant(self.per_key() / least, 3)
            )));
        }
        sections
    }
}

/// A rate with enough digits to see approximations differ.
fn digits(value: f64) -> String {
    number::significant(value, 10)
}

/// Where this is from.
const SOURCES: &str = "Bloom, Space/time trade-offs in hash coding with allowable errors (1970). Darts and targets: \
Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, chapter 4, and the slides of Castillo and Buda, Data \
Streams: Bloom Filters. The exact rate: Bose et al., On the false-positive rate of Bloom filters (2008).";
