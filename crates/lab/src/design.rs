//! The design tables of Castillo and Buda (slides, Data Streams: Bloom Filters): the rate of a Bloom filter of 8 bits per key for every number of
//! hash functions, predicted and measured.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tamis::bloom::{self, Bloom};
use tamis::hash::xxh3;
use tamis::key::Recipe;
use tamis::memory::Words;
use tamis::params::{Common, GroupParams, Name, Params};
use tamis::sizing::Kind;
use tamis::sizing::Shape;
use tamis_jobs::statistics::wilson;
use tamis_make::arena::{Placing, Ranges, Shared};
use tamis_make::rows::{Key, Take};
use tamis_make::{number, parallel};
use tamis_read::Control;
use tamis_read::error::Result;
use tamis_report::lesson::slides::{BITS_PER_KEY, PRINTED, REMARKS};
use tamis_report::{Axis, Chart, Column, Csv, Figure, Format, Mark, Page, Section, Table, cells};

use crate::{Findings, generate};

/// What is measured.
#[derive(Debug, Clone)]
pub struct Job {
    /// Keys in the set.
    pub keys: u64,
    /// Keys outside of it that are looked up.
    pub probes: u64,
    /// Numbers of hash functions.
    pub hashes: Vec<u32>,
    /// The seed of the addresses.
    pub seed: u64,
    /// Threads.
    pub threads: usize,
}

/// What was measured for one number of hash functions.
#[derive(Debug, Clone)]
pub struct Point {
    /// The number.
    pub hashes: u32,
    /// Keys looked up, and those found.
    pub probes: u64,
    /// False positives among them.
    pub found: u64,
    /// Bits that are set.
    pub ones: u64,
    /// Making and adding all keys.
    pub build: Duration,
    /// Making and looking up those outside.
    pub probe: Duration,
}

/// Everything measured.
#[derive(Debug, Clone)]
pub struct Design {
    /// What was asked.
    pub job: Job,
    /// By number of hash functions.
    pub points: Vec<Point>,
}

/// Keys are made and hashed this many at a time.
const BATCH: u64 = 1 << 16;

/// Measures them all. E-mail addresses are made on the way, never stored.
pub fn design(job: &Job, control: &Control) -> Result<Design> {
    control.begin((job.keys + job.probes) * job.hashes.len() as u64);
    let points = job.hashes.iter().map(|&hashes| point(job, hashes, control)).collect::<Result<_>>()?;
    Ok(Design { job: job.clone(), points })
}

fn point(job: &Job, hashes: u32, control: &Control) -> Result<Point> {
    let bits = job.keys.saturating_mul(BITS_PER_KEY);
    let common = Common { kind: Kind::Bloom, hash: tamis::hash::Scheme::DEFAULT, recipe: Recipe::lines() };
    let shape = Shape::Bloom { bits, hashes };
    let fpr = bloom::textbook_rate(job.keys, bits, hashes);
    let group = GroupParams::filter(Name::default(), job.keys, fpr, shape);
    let placing = Placing::new(&Params::new(common, vec![group])?);
    let mut words = placing.empty()?;

    let start = Instant::now();
    let ranges = Ranges::new(&placing, &mut words, job.threads);
    in_batches(
        job,
        0..job.keys,
        control,
        || Shared::new(&placing, &ranges),
        Shared::finish,
        |shared, hashes| {
            hashes.iter().for_each(|&hash| shared.take(Key { group: 0, hash, bytes: &[], weight: 1 }));
        },
    )?;
    drop(ranges);
    let build = start.elapsed();

    let ones = ones(&words, job.threads)?;
    let filter = Bloom::from_words(&words[..bits.div_ceil(64) as usize], bits, hashes)?;
    let start = Instant::now();
    let outside = job.keys..job.keys.saturating_add(job.probes);
    let found = in_batches(
        job,
        outside,
        control,
        || (0u64, Vec::new()),
        |(count, _)| count,
        |(count, found), hashes| {
            found.resize(hashes.len(), false);
            filter.contains_hashes(hashes, found);
            *count += found.iter().filter(|&&hit| hit).count() as u64;
        },
    )?;
    let probe = start.elapsed();
    Ok(Point { hashes, probes: job.probes, found: found.into_iter().sum(), ones, build, probe })
}

/// Makes the addresses of these numbers on all threads, and gives their hashes, batch by batch,
/// to a state that each piece of work has for itself.
fn in_batches<S, R: Send>(
    job: &Job,
    numbers: std::ops::Range<u64>,
    control: &Control,
    begin: impl Fn() -> S + Sync,
    finish: impl Fn(S) -> R + Sync,
    give: impl Fn(&mut S, &[u64]) + Sync,
) -> Result<Vec<R>> {
    let count = numbers.end - numbers.start;
    // Many more pieces than threads, none of them small.
    let pieces = count.div_ceil(BATCH).min(64 * job.threads as u64);
    let piece =
        |i: u64| numbers.start + (u128::from(count) * u128::from(i) / u128::from(pieces.max(1))) as u64;
    parallel::each(job.threads, pieces as usize, |i| {
        let (mut at, end) = (piece(i as u64), piece(i as u64 + 1));
        let mut state = begin();
        let (mut address, mut hashes) = (Vec::new(), Vec::new());
        while at < end {
            control.check()?;
            let to = end.min(at + BATCH);
            hashes.clear();
            for number in at..to {
                address.clear();
                generate::email(number, job.seed, &mut address);
                hashes.push(xxh3(&address, 0));
            }
            give(&mut state, &hashes);
            control.advance(to - at);
            at = to;
        }
        Ok(finish(state))
    })
}

fn ones(words: &Words, threads: usize) -> Result<u64> {
    let pieces: Vec<&[u64]> = words.chunks(1 << 20).collect();
    let count = |i: usize| Ok(pieces[i].iter().map(|word| u64::from(word.count_ones())).sum::<u64>());
    Ok(parallel::each(threads, pieces.len(), count)?.into_iter().sum())
}

impl Point {
    /// False positives / probes.
    pub fn rate(&self) -> f64 {
        self.found as f64 / self.probes.max(1) as f64
    }
}

impl Design {
    /// The exact expectation.
    pub fn predicted(&self, point: &Point) -> f64 {
        bloom::expected_rate(self.job.keys, self.job.keys * BITS_PER_KEY, point.hashes)
    }

    /// What was found, in every form.
    pub fn findings(&self) -> Findings {
        Findings {
            name: "design",
            tables: vec![self.table()],
            remarks: vec![REMARKS.into()],
            page: self.page(),
            csv: self.csv(),
            more: Vec::new(),
            json: self.json(),
            holds: true,
        }
    }

    /// One line for each number of hash functions.
    fn csv(&self) -> Csv<'static> {
        let columns = [
            "keys",
            "bits",
            "hashes",
            "printed_rate",
            "predicted_rate",
            "rate",
            "rate_low",
            "rate_high",
            "false_positives",
            "probes",
            "ones",
            "build_seconds",
            "probe_seconds",
        ];
        let row = |point: &Point| {
            let (low, high) = wilson(point.found, point.probes);
            cells![
                self.job.keys,
                self.job.keys * BITS_PER_KEY,
                point.hashes,
                printed(point),
                self.predicted(point),
                point.rate(),
                low,
                high,
                point.found,
                point.probes,
                point.ones,
                point.build.as_secs_f64(),
                point.probe.as_secs_f64(),
            ]
        };
        Csv::new(columns, self.points.iter().map(row).collect::<Vec<_>>())
    }

    fn json(&self) -> Value {
        let point = |point: &Point| {
            json!({
                "hashes": point.hashes, "predicted": self.predicted(point), "measured": point.rate(),
                "false_positives": point.found, "probes": point.probes, "ones": point.ones,
                "build_seconds": point.build.as_secs_f64(), "probe_seconds": point.probe.as_secs_f64(),
            })
        };
        json!({ "keys": self.job.keys, "points": self.points.iter().map(point).collect::<Vec<_>>() })
    }

    /// The table.
    pub fn table(&self) -> Table {
        let names = [
            "k",
            "the slides print",
            "predicted",
            "measured",
            "95 % interval",
            "off by",
            "bits set",
            "keys/s, added",
            "keys/s, looked up",
        ];
        let best = self.points.iter().min_by(|a, b| self.predicted(a).total_cmp(&self.predicted(b)));
        let row = |point: &Point| {
            let predicted = self.predicted(point);
            let (low, high) = wilson(point.found, point.probes);
            let is_best = best.is_some_and(|best| best.hashes == point.hashes);
            vec![
                format!("{}{}", point.hashes, if is_best { " (best)" } else { "" }),
                printed(point).map_or(String::new(), |rate| format!("{rate:.4}")),
                number::rate(predicted),
                number::rate(point.rate()),
                format!("{}–{}", number::rate(low), number::rate(high)),
                format!("{:+.2} %", 100.0 * (point.rate() / predicted - 1.0)),
                number::percent(point.ones as f64 / (self.job.keys * BITS_PER_KEY) as f64),
                per_second(self.job.keys, point.build),
                per_second(point.probes, point.probe),
            ]
        };
        let bits = number::count(self.job.keys * BITS_PER_KEY);
        Table {
            caption: format!(
                "{} addresses in {bits} bits, {} others looked up",
                number::count(self.job.keys),
                number::count(self.job.probes)
            ),
            columns: names.map(Column::right).to_vec(),
            rows: self.points.iter().map(row).collect(),
            notes: vec!["Keys per second by all threads, with making and hashing the addresses.".into()],
        }
    }

    /// All of it as a page.
    pub fn page(&self) -> Page {
        let predicted = |point: &Point| (f64::from(point.hashes), self.predicted(point));
        let whisker = |point: &Point| {
            let (low, high) = wilson(point.found, point.probes);
            (f64::from(point.hashes), low, point.rate(), high)
        };
        let chart = Chart {
            title: "Rate by the number of hash functions, 8 bits per key".into(),
            x: Axis::linear("hash functions", Format::Count),
            y: Axis::linear("rate of false positives", Format::Plain),
            marks: vec![
                Mark::line("predicted", self.points.iter().map(predicted)),
                Mark::Whiskers { name: "measured".into(), points: self.points.iter().map(whisker).collect() },
                Mark::Points {
                    name: "the slides print".into(),
                    points: PRINTED.map(|(k, rate)| (f64::from(k), rate)).to_vec(),
                },
            ],
        };
        let worst = self
            .points
            .iter()
            .map(|point| (point.rate() / self.predicted(point) - 1.0).abs())
            .fold(0.0, f64::max);
        let figures = vec![
            Figure::new("keys", number::count(self.job.keys)),
            Figure::new("filter", number::bytes(self.job.keys * BITS_PER_KEY / 8)),
            Figure::new("largest difference", number::percent(worst)).note("measured against predicted"),
        ];
        Page {
            title: "How many hash functions?".into(),
            subtitle:
                "The design tables of Castillo and Buda (Data Streams: Bloom Filters), predicted and measured"
                    .into(),
            sections: vec![
                Section::Figures(figures),
                Section::Text(REMARKS.into()),
                Section::Charts(vec![chart]),
                Section::Table(self.table()),
            ],
        }
    }
}

/// What the slides print for this number of hash functions.
fn printed(point: &Point) -> Option<f64> {
    PRINTED.iter().find(|(hashes, _)| *hashes == point.hashes).map(|(_, rate)| *rate)
}

fn per_second(keys: u64, time: Duration) -> String {
    number::short(keys as f64 / time.as_secs_f64().max(1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_rates_agree_with_the_formula_whatever_the_threads() {
        let job = Job { keys: 50_000, probes: 200_000, hashes: vec![1, 2, 6, 12], seed: 1, threads: 1 };
        let one = design(&job, &Control::default()).unwrap();
        for point in &one.points {
            let (expected, probes) = (one.predicted(point), point.probes as f64);
            // Five standard deviations, and one percent for what varies from filter to filter.
            let tolerance = 5.0 * (expected / probes).sqrt() + 0.01 * expected;
            assert!((point.rate() - expected).abs() < tolerance, "{point:?}, {expected} expected");
        }
        let three = design(&Job { threads: 3, ..job }, &Control::default()).unwrap();
        let counts = |design: &Design| design.points.iter().map(|p| (p.found, p.ones)).collect::<Vec<_>>();
        assert_eq!(counts(&one), counts(&three));
    }
}
