//! The Count-Min sketch: how the error, its probability, rows and counters hang together.

use serde_json::{Value, json};
use tamis::countmin::{delta_of, epsilon_of, shape};
use tamis::sizing::{Kind, Shape};
use tamis_jobs::inspect::{extend, shape_json};
use tamis_make::number;

use super::words::{one_in, plain};
use crate::{Axis, Chart, Column, Figure, Format, Gravity, Mark, Page, Section, Step, Table};

/// Everything that the lesson says in numbers.
#[derive(Debug, Clone)]
pub struct Numbers {
    here: Point,
    counter_bits: u32,
    /// N.
    total: u64,
    /// The error and its probability that were asked for.
    wished: Option<(f64, f64)>,
    /// The same counters, in rows of other lengths.
    by_depth: Vec<Point>,
    /// What other promises cost.
    others: Vec<(&'static str, Point)>,
}

/// Rows and counters, and what they promise.
#[derive(Debug, Clone, Copy)]
struct Point {
    /// w.
    row: u64,
    /// d.
    depth: u32,
    /// e/w and e^(−d).
    epsilon: f64,
    delta: f64,
}

impl Point {
    fn of(row: u64, depth: u32) -> Point {
        Point { row, depth, epsilon: epsilon_of(row), delta: delta_of(depth) }
    }

    fn counters(&self) -> u64 {
        self.row.saturating_mul(u64::from(self.depth))
    }

    /// εN, rounded down: errors are integers.
    fn bound(&self, total: u64) -> u64 {
        (self.epsilon * total as f64) as u64
    }
}

impl Numbers {
    pub fn of(row: u64, depth: u32, counter_bits: u32, total: u64, wished: Option<(f64, f64)>) -> Numbers {
        let here = Point::of(row, depth);
        let most = (depth + 4).clamp(10, tamis::countmin::MOST_DEPTH);
        let split =
            |depth: u32| Some(Point::of(here.counters() / u64::from(depth), depth)).filter(|p| p.row > 0);
        let (epsilon, delta) = wished.unwrap_or((here.epsilon, here.delta));
        let other = |epsilon: f64, delta: f64| match shape(epsilon, delta, counter_bits) {
            Ok(Shape::CountMin { row, depth, .. }) => Some(Point::of(row, depth)),
            _ => None,
        };
        let others = [
            ("your sketch", Some(here)),
            ("half the error", other(epsilon / 2.0, delta)),
            ("a tenth of the error", other(epsilon / 10.0, delta)),
            ("exceeded a tenth as often", other(epsilon, delta / 10.0)),
            ("exceeded one time in a million", other(epsilon, 1e-6)),
        ];
        Numbers {
            here,
            counter_bits,
            total,
            wished,
            by_depth: (1..=most).filter_map(split).collect(),
            others: others.into_iter().filter_map(|(name, point)| Some((name, point?))).collect(),
        }
    }

    fn bytes(&self, point: &Point) -> u64 {
        point.counters().saturating_mul(u64::from(self.counter_bits)).div_ceil(64).saturating_mul(8)
    }

    fn point_json(&self, point: &Point) -> Value {
        let shape = Shape::CountMin { row: point.row, depth: point.depth, counter_bits: self.counter_bits };
        let mut json = json!({
            "epsilon": point.epsilon, "delta": point.delta, "bound": point.bound(self.total),
            "bytes": self.bytes(point),
        });
        extend(&mut json, shape_json(&shape));
        json
    }

    pub fn json(&self) -> Value {
        let mut json = self.point_json(&self.here);
        json["kind"] = json!(Kind::CountMin);
        json["total"] = self.total.into();
        json["mean_excess_in_a_row"] = (self.total as f64 / self.here.row as f64).into();
        if let Some((epsilon, delta)) = self.wished {
            json["asked"] = json!({ "epsilon": epsilon, "delta": delta });
        }
        json["by_depth"] = self.by_depth.iter().map(|point| self.point_json(point)).collect();
        let other = |(name, point): &(&str, Point)| {
            let mut json = self.point_json(point);
            json["what"] = (*name).into();
            json
        };
        json["others"] = self.others.iter().map(other).collect();
        json
    }

    pub fn page(&self) -> Page {
        let mut sections = vec![Section::Figures(self.figures())];
        sections.extend(self.in_short());
        sections.extend(self.one_row());
        sections.extend(self.all_rows());
        sections.extend(self.trade());
        sections.push(Section::Text(
            "Cormode and Muthukrishnan, An improved data stream summary: the count-min sketch and its applications \
             (2005). The conservative update: Estan and Varghese, New directions in traffic measurement and accounting \
             (2002)."
                .into(),
        ));
        Page {
            title: "The Count-Min sketch, with your numbers".into(),
            subtitle: format!(
                "{} of {}, for a total weight of {}",
                number::counted(u64::from(self.here.depth), "row"),
                number::counted(self.here.row, "counter"),
                number::count(self.total)
            ),
            sections,
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let here = &self.here;
        vec![
            Figure::new("counters in a row, w", number::count(here.row)),
            Figure::new("rows, d", here.depth.to_string()).note(format!(
                "counters of {} bits: {}",
                self.counter_bits,
                number::bytes(self.bytes(here))
            )),
            Figure::new("error bound, εN", number::count(here.bound(self.total)))
                .note(format!("{} of the total", number::percent(here.epsilon))),
            Figure::new("exceeded with, δ", number::rate(here.delta)).note(one_in(here.delta)),
        ]
    }

    fn in_short(&self) -> [Section; 2] {
        let here = &self.here;
        [
            Section::Heading("In short".into()),
            Section::Steps(vec![
                Step::new(
                    "It answers",
                    "How often did this key come, or what do its weights sum up to? With a number.",
                ),
                Step::new(
                    "It errs",
                    format!(
                        "on one side only: the number is never too low. It is too high by more than {} (for a total of \
                         {}) with a probability of at most {}, for each key that is asked for.",
                        number::count(here.bound(self.total)),
                        number::count(self.total),
                        number::rate(here.delta)
                    ),
                ),
                Step::new(
                    "It costs",
                    format!(
                        "w·d = {} counters, {}, however many keys there are; and {} in memory for each key that is \
                         counted or asked for.",
                        number::count(here.counters()),
                        number::bytes(self.bytes(here)),
                        number::counted(u64::from(here.depth), "place")
                    ),
                ),
                Step::new(
                    "Do not use it",
                    format!(
                        "where the question is only whether a key came (a filter takes a few bits per key); where rare \
                         keys matter: a count well below {} drowns in the error; where weights may be negative. It \
                         cannot list its keys, except for the most frequent ones, which are kept beside it.",
                        number::count(here.bound(self.total).max(1))
                    ),
                ),
            ]),
        ]
    }

    fn one_row(&self) -> Vec<Section> {
        let here = &self.here;
        let mean = self.total as f64 / here.row as f64;
        vec![
            Section::Heading("One row: a counter in place of a bit".into()),
            Section::Text(
                "A row has w counters, all 0 at first. The hash function of the row gives each key one of them, and the \
                 weights of the key are added there. Other keys share the counter: what they add is the error. It is \
                 never negative, so the counter is never below the truth."
                    .into(),
            ),
            Section::Steps(vec![
                Step::new("another key shares the counter with", format!("1/w = 1/{}", number::count(here.row))),
                Step::new(
                    "so the others add, on average, at most",
                    format!("N/w = {}/{} = {}", number::count(self.total), number::count(here.row), plain(mean)),
                ),
                Step::new(
                    "Markov: what is never negative is more than e times its mean with",
                    "a probability below 1/e = 0.3679".to_owned(),
                ),
                Step::new(
                    "so one row is off by more than εN, with ε = e/w,",
                    format!(
                        "with a probability below 1/e; εN = 2.718 · {} = {}",
                        plain(mean),
                        number::rate(here.epsilon * self.total as f64)
                    ),
                ),
            ]),
        ]
    }

    fn all_rows(&self) -> Vec<Section> {
        let here = &self.here;
        let mut steps = vec![
            Step::new(
                "all d rows are off by more than εN",
                format!("(1/e)ᵈ = e^(−{}) = {} = δ", here.depth, number::rate(here.delta)),
            ),
            Step::new(
                "the estimate",
                "the smallest of the d counters: the one that others disturb least, and never below the truth",
            ),
        ];
        if let Some((epsilon, delta)) = self.wished {
            steps.extend([
                Step::new(
                    "from ε to the width",
                    format!("w = ⌈e/ε⌉ = ⌈2.71828/{}⌉ = {}", plain(epsilon), number::count(here.row)),
                ),
                Step::new(
                    "from δ to the depth",
                    format!("d = ⌈ln(1/δ)⌉ = ⌈{}⌉ = {}", plain(-delta.ln()), here.depth),
                ),
            ]);
        }
        vec![
            Section::Heading("d rows: ask all, take the smallest".into()),
            Section::Text(
                "Each row has a hash function of its own. That two keys meet in one row makes it no likelier that they \
                 meet in another."
                    .into(),
            ),
            Section::Steps(steps),
            Section::Note(
                Gravity::Info,
                "This is a promise for the worst case. It holds for each key that is asked for, whatever the stream; on \
                 streams in which few keys have most of the weight, estimates are much closer. The conservative update \
                 (raise a counter only as far as the estimate asks for) errs less and keeps the promise, but depends \
                 on the order of rows, and such sketches cannot be merged."
                    .into(),
            ),
        ]
    }

    fn trade(&self) -> Vec<Section> {
        let line = |name: &str, value: fn(&Point) -> f64| {
            Mark::line(name, self.by_depth.iter().map(|point| (f64::from(point.depth), value(point))))
        };
        let chart = Chart {
            title: format!(
                "The same {} counters, in more rows or fewer",
                number::count(self.here.counters())
            ),
            x: Axis::linear("rows, d", Format::Count),
            y: Axis::log("ε and δ", Format::Plain),
            marks: vec![
                line("ε: the error, as a share of the total", |point| point.epsilon),
                line("δ: the probability that it is exceeded", |point| point.delta),
                Mark::VerticalRule { name: "yours".into(), x: f64::from(self.here.depth) },
            ],
        };
        let names = ["d", "w", "ε = e/w", "error bound, εN", "δ = e^(−d)"];
        let mut columns: Vec<Column> = names.map(Column::right).to_vec();
        columns.push(Column::left(""));
        let row = |point: &Point| {
            let mark = if point.depth == self.here.depth { "yours" } else { "" };
            let mut row = self.cells(point);
            row.push(mark.into());
            row
        };
        let mut columns_of_others = vec![Column::left("what if")];
        columns_of_others.extend(names.map(Column::right));
        columns_of_others.push(Column::right("memory"));
        let other = |(name, point): &(&'static str, Point)| {
            let mut row = vec![(*name).to_owned()];
            row.extend(self.cells(point));
            row.push(number::bytes(self.bytes(point)));
            row
        };
        vec![
            Section::Heading("Wide or deep".into()),
            Section::Text(
                "With the same memory, more rows are shorter rows: surer, and less exact. Half the error costs twice \
                 the counters; a tenth of the probability costs ln 10 = 2.3 more rows. Depth is cheap, so choose the \
                 depth for the probability first, and spend the rest of the memory on width."
                    .into(),
            ),
            Section::Charts(vec![chart]),
            Section::Table(Table { columns, rows: self.by_depth.iter().map(row).collect(), ..Table::default() }),
            Section::Heading("What a counter buys".into()),
            Section::Table(Table {
                columns: columns_of_others,
                rows: self.others.iter().map(other).collect(),
                ..Table::default()
            }),
        ]
    }

    fn cells(&self, point: &Point) -> Vec<String> {
        vec![
            point.depth.to_string(),
            number::count(point.row),
            number::rate(point.epsilon),
            number::count(point.bound(self.total)),
            number::rate(point.delta),
        ]
    }
}
