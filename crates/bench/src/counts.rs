//! `counts`: ns per update and per estimate of sketches of the same shape, and their error with the
//! same memory.

use std::hash::BuildHasher;
use std::hint::black_box;

use foldhash::fast::FixedState;
use serde_json::{Value, json};
use tamis::countmin::{CountMin, Update, shape_by_hand};
use tamis::memory::Words;
use tamis_lab::generate::Zipf;
use tamis_make::number;
use tamis_report::{Column, Table};

use crate::contestants::{hash, key};
use crate::rounds::{AHEAD, median, ns_per_key, print_verdicts, verdict};
use limit::Limit;

mod limit;

/// Rounds, of which the median counts.
const ROUNDS: usize = 7;

/// Keys hashed before they are added or asked for together.
const BATCH: usize = 512;

/// The most time beside the limit, and the bytes of counters from which it is a target: beyond the cache of a core.
const MOST: f64 = 1.2;
const BEYOND: u64 = 4 << 20;

/// Keys of a power law whose error is measured, and rows of them.
const DISTINCT: u64 = 1_000_000;
const ROWS: u64 = 2_000_000;

/// A sketch of given shape. Keys are the [`key`]s of numbers, and hashing them is part of every
/// operation.
trait Counts {
    fn name(&self) -> &'static str;
    /// Bits of a counter.
    fn bits(&self) -> u32;
    fn start(&mut self, width: u64, depth: u32);
    fn add(&mut self, numbers: &[u64]);
    fn estimates(&mut self, numbers: &[u64], estimates: &mut Vec<u64>);
}

struct Ours {
    name: &'static str,
    bits: u32,
    update: Update,
    sketch: Option<CountMin<Words>>,
}

impl Counts for Ours {
    fn name(&self) -> &'static str {
        self.name
    }

    fn bits(&self) -> u32 {
        self.bits
    }

    fn start(&mut self, width: u64, depth: u32) {
        let shape = shape_by_hand(width, depth, self.bits).expect("a shape");
        self.sketch = Some(CountMin::zeroed(shape, self.update).expect("memory"));
    }

    fn add(&mut self, numbers: &[u64]) {
        let sketch = self.sketch.as_mut().expect("started");
        let mut hashes = [0; BATCH];
        for numbers in numbers.chunks(BATCH) {
            hashes.iter_mut().zip(numbers).for_each(|(to, &number)| *to = hash(number));
            sketch.add_hashes(&hashes[..numbers.len()]);
        }
    }

    fn estimates(&mut self, numbers: &[u64], estimates: &mut Vec<u64>) {
        let sketch = self.sketch.as_ref().expect("started");
        let mut hashes = [0; BATCH];
        estimates.resize(numbers.len(), 0);
        for (numbers, estimates) in numbers.chunks(BATCH).zip(estimates.chunks_mut(BATCH)) {
            hashes.iter_mut().zip(numbers).for_each(|(to, &number)| *to = hash(number));
            sketch.estimates(&hashes[..numbers.len()], estimates);
        }
    }
}

#[derive(Default)]
struct DataSketches(Option<datasketches::countmin::CountMinSketch>);

impl Counts for DataSketches {
    fn name(&self) -> &'static str {
        "datasketches"
    }

    fn bits(&self) -> u32 {
        64
    }

    fn start(&mut self, width: u64, depth: u32) {
        let sketch = datasketches::countmin::CountMinSketch::new(depth as u8, width as u32);
        self.0 = Some(sketch);
    }

    fn add(&mut self, numbers: &[u64]) {
        let sketch = self.0.as_mut().expect("started");
        numbers.iter().for_each(|&number| sketch.update(key(number)));
    }

    fn estimates(&mut self, numbers: &[u64], estimates: &mut Vec<u64>) {
        let sketch = self.0.as_ref().expect("started");
        estimates.clear();
        estimates.extend(numbers.iter().map(|&number| sketch.estimate(key(number)) as u64));
    }
}

/// foldhash, which all that hash by themselves get where they let one choose.
#[derive(Clone, Default)]
struct Folding(FixedState);

impl BuildHasher for Folding {
    type Hasher = <FixedState as BuildHasher>::Hasher;

    fn build_hasher(&self) -> Self::Hasher {
        self.0.build_hasher()
    }
}

impl PartialEq for Folding {
    fn eq(&self, _: &Self) -> bool {
        true // all have the same seed
    }
}

impl Eq for Folding {}

#[derive(Default)]
struct PDataStructs(Option<pdatastructs::countminsketch::CountMinSketch<u64, u64, Folding>>);

impl Counts for PDataStructs {
    fn name(&self) -> &'static str {
        "pdatastructs"
    }

    fn bits(&self) -> u32 {
        64
    }

    fn start(&mut self, width: u64, depth: u32) {
        let (width, depth) = (width as usize, depth as usize);
        let new = pdatastructs::countminsketch::CountMinSketch::with_params_and_hasher;
        self.0 = Some(new(width, depth, Folding::default()));
    }

    fn add(&mut self, numbers: &[u64]) {
        let sketch = self.0.as_mut().expect("started");
        for &number in numbers {
            sketch.add(&key(number));
        }
    }

    fn estimates(&mut self, numbers: &[u64], estimates: &mut Vec<u64>) {
        let sketch = self.0.as_ref().expect("started");
        estimates.clear();
        estimates.extend(numbers.iter().map(|&number| sketch.query_point(&key(number))));
    }
}

/// In its fastest form, whose shape is fixed when it is compiled.
#[derive(Default)]
struct AsapSketchlib(CountMin5x2048);

type CountMin5x2048 = asap_sketchlib::CountMin<asap_sketchlib::FixedMatrix, asap_sketchlib::FastPath>;

impl Counts for AsapSketchlib {
    fn name(&self) -> &'static str {
        "asap_sketchlib"
    }

    fn bits(&self) -> u32 {
        32
    }

    fn start(&mut self, _width: u64, _depth: u32) {
        self.0 = CountMin5x2048::default();
    }

    fn add(&mut self, numbers: &[u64]) {
        numbers.iter().for_each(|&number| self.0.insert(&asap_sketchlib::DataInput::U64(key(number))));
    }

    fn estimates(&mut self, numbers: &[u64], estimates: &mut Vec<u64>) {
        estimates.clear();
        let estimate = |&number: &u64| self.0.estimate(&asap_sketchlib::DataInput::U64(key(number))) as u64;
        estimates.extend(numbers.iter().map(estimate));
    }
}

fn contestants(width: u64, depth: u32) -> Vec<Box<dyn Counts>> {
    let ours = |name, bits, update| Box::new(Ours { name, bits, update, sketch: None });
    let mut all: Vec<Box<dyn Counts>> = vec![
        ours("tamis count-min", 64, Update::Plain),
        ours("tamis count-min, 32 bits", 32, Update::Plain),
        ours("tamis count-min, conservative", 64, Update::Conservative),
        Box::new(Limit::<u64>::new("limit")),
        Box::new(Limit::<u32>::new("limit, 32 bits")),
        Box::new(DataSketches::default()),
        Box::new(PDataStructs::default()),
    ];
    if (width, depth) == (2048, 5) {
        all.push(Box::new(AsapSketchlib::default()));
    }
    all
}

/// What was measured of a contestant.
struct Measured {
    name: &'static str,
    bits: u32,
    add: Vec<f64>,
    estimate: Vec<f64>,
    /// The mean error over the keys of a power law, in the memory that `tamis count-min` has.
    error: f64,
}

/// Measures sketches of these shapes (counters in a row, and rows) with this many keys, prints tables and verdicts.
pub fn run(shapes: &[(u64, u32)], keys: u64) -> Value {
    let mut verdicts = Vec::new();
    let measured = |&(width, depth): &(u64, u32)| one_shape(width, depth, keys, &mut verdicts);
    let figures: Vec<Value> = shapes.iter().map(measured).collect();
    print_verdicts(&verdicts);
    json!({ "counts": figures, "verdicts": verdicts })
}

fn one_shape(width: u64, depth: u32, keys: u64, said: &mut Vec<String>) -> Value {
    let mut contestants = contestants(width, depth);
    let mut measured: Vec<Measured> = contestants
        .iter()
        .map(|one| Measured {
            name: one.name(),
            bits: one.bits(),
            add: Vec::new(),
            estimate: Vec::new(),
            error: 0.0,
        })
        .collect();
    let numbers: Vec<u64> = (0..keys).collect();
    let mut estimates = Vec::new();
    contestants.iter_mut().for_each(|one| one.start(width, depth));
    for round in 1..=ROUNDS {
        eprintln!("{depth} x {width}: round {round} of {ROUNDS}");
        for (one, measured) in contestants.iter_mut().zip(&mut measured) {
            measured.add.push(ns_per_key(keys, || one.add(&numbers)));
            measured.estimate.push(ns_per_key(keys, || one.estimates(&numbers, &mut estimates)));
            assert!(estimates.iter().all(|&estimate| estimate > 0), "{} lost keys", one.name());
            black_box(&estimates);
        }
    }
    eprintln!("{depth} x {width}: errors");
    errors(&mut contestants, &mut measured, (width / 64).max(1), depth);
    let ours = &measured[0];
    let mut columns = vec![Column::left("contestant")];
    columns.extend(["bits", "update", "estimate", "÷ tamis", "", "mean error"].map(Column::right));
    let row = |one: &Measured| {
        vec![
            one.name.into(),
            one.bits.to_string(),
            format!("{:.1}", median(&one.add)),
            format!("{:.1}", median(&one.estimate)),
            format!("{:.2}", ratio(&one.add, &ours.add)),
            format!("{:.2}", ratio(&one.estimate, &ours.estimate)),
            format!("{:.1}", one.error),
        ]
    };
    let table = Table {
        caption: format!(
            "{depth} rows of {} counters, {} keys: ns per key, one thread (update / estimate)",
            number::count(width),
            number::count(keys)
        ),
        columns,
        rows: measured.iter().map(row).collect(),
        notes: vec![format!(
            "The error is the mean over {} keys, {} rows of a power law (exponent 1), in the memory of {depth} rows of \
             {} counters of 64 bits.",
            number::count(DISTINCT),
            number::count(ROWS),
            number::count((width / 64).max(1))
        )],
    };
    println!("{}", table.text());
    said.extend(verdicts(&measured, width, depth));
    let figures = measured.iter().map(|one| {
        json!({
            "name": one.name, "bits": one.bits, "mean_error": one.error,
            "ns": { "update": median(&one.add), "estimate": median(&one.estimate) },
            "rounds": { "update": one.add, "estimate": one.estimate },
        })
    });
    json!({
        "width": width, "depth": depth, "keys": keys, "contestants": figures.collect::<Vec<_>>(),
    })
}

/// The median, round by round, of one time over another.
fn ratio(times: &[f64], others: &[f64]) -> f64 {
    median(&times.iter().zip(others).map(|(time, other)| time / other).collect::<Vec<_>>())
}

/// Ours beside the limit and beside the peers, with sketches of this shape.
fn verdicts(measured: &[Measured], width: u64, depth: u32) -> Vec<String> {
    let mut verdicts = Vec::new();
    let named = |name: &str| measured.iter().find(|one| one.name == name).expect("a contestant");
    let mut judge = |ours: &Measured, other: &Measured, most: f64| {
        let times = [("update", &ours.add, &other.add), ("estimate", &ours.estimate, &other.estimate)];
        for (operation, ours_in, other_in) in times {
            let what = format!("{} of {depth} x {}: {operation}", ours.name, number::count(width));
            verdicts.push(verdict(&what, ratio(ours_in, other_in), other.name, most));
        }
    };
    for bits in ["", ", 32 bits"] {
        let (ours, limit) = (named(&format!("tamis count-min{bits}")), named(&format!("limit{bits}")));
        // In the cache, to draw the places takes longer than to reach the counters.
        if width * u64::from(depth) * u64::from(ours.bits) / 8 >= BEYOND {
            judge(ours, limit, MOST);
        }
    }
    for peer in measured.iter().filter(|one| !one.name.starts_with("tamis") && !one.name.starts_with("limit"))
    {
        let bits = if peer.bits == 32 { ", 32 bits" } else { "" };
        judge(named(&format!("tamis count-min{bits}")), peer, AHEAD);
    }
    verdicts
}

/// The mean error of each, in the memory that rows of this many 64-bit counters take.
fn errors(contestants: &mut [Box<dyn Counts>], measured: &mut [Measured], width: u64, depth: u32) {
    let zipf = Zipf::new(DISTINCT, 1.0);
    let mut drawn = 0;
    let mut random = || {
        drawn += 1;
        hash(drawn ^ 1 << 60)
    };
    let rows: Vec<u64> = (0..ROWS).map(|_| zipf.draw(&mut random)).collect();
    let mut truth = vec![0u64; DISTINCT as usize + 1];
    rows.iter().for_each(|&rank| truth[rank as usize] += 1);
    let asked: Vec<u64> = (1..=DISTINCT).filter(|&rank| truth[rank as usize] > 0).collect();
    let mut estimates = Vec::new();
    for (one, measured) in contestants.iter_mut().zip(measured) {
        one.start(width * 64 / u64::from(one.bits()), depth);
        one.add(&rows);
        one.estimates(&asked, &mut estimates);
        let error = asked.iter().zip(&estimates).map(|(&rank, &estimate)| {
            assert!(estimate >= truth[rank as usize], "{} is below the truth", one.name());
            (estimate - truth[rank as usize]) as f64
        });
        measured.error = error.sum::<f64>() / asked.len() as f64;
    }
}
