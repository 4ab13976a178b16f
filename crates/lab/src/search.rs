//! "Is this record in the data set?", in the five ways of Lalit Sharma: linear search, binary search,
//! hash table, Bloom filter, multi-layer filter. Time, memory and errors, and how they grow.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tamis::bloom::Bloom;
use tamis::hash::xxh3;
use tamis::key::{Column, Field, Maker, Recipe, Step, keywords_of};
use tamis::layered::{self, Layered};
use tamis::memory::Words;
use tamis_make::number;
use tamis_read::Control;
use tamis_read::error::{Error, Result};
use tamis_read::refusal::Refusal;
use tamis_report::{
    Axis, Chart, Column as TableColumn, Csv, Figure, Format, Mark, Page, Section, Table, cells,
};

use crate::Findings;
use crate::distinct::Distinct;
pub use crate::distinct::Texts;
use crate::generate::Random;

/// Queries in a round: half of them for records that are in.
const QUERIES: usize = 1024;

/// Rounds, whose times show the spread.
const ROUNDS: usize = 15;

/// A way is not measured longer than this at one size, where it has made a few queries.
const ENOUGH: Duration = Duration::from_millis(1500);

/// The ways to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// All records, one after the other.
    Linear,
    /// Halving the sorted records.
    Binary,
    /// The standard library's hash table of the records.
    Table,
    /// A classic Bloom filter.
    Bloom,
    /// A multi-layer filter of the words of each record.
    Layered,
}

impl Way {
    /// All of them.
    pub const ALL: [Way; 5] = [Way::Linear, Way::Binary, Way::Table, Way::Bloom, Way::Layered];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Way::Linear => "linear search",
            Way::Binary => "binary search",
            Way::Table => "hash table",
            Way::Bloom => "Bloom filter",
            Way::Layered => "multi-layer filter",
        }
    }
}

/// A table without keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no keys in {key}")]
pub struct NoKeys {
    /// How keys would be made.
    key: String,
}

impl Refusal for NoKeys {}

/// The different keys of a table.
pub fn read(path: &str, key: &Field, control: &Control) -> Result<Texts> {
    let recipe = Recipe { key: vec![key.clone()], ..Recipe::lines() };
    let Distinct { keys: texts, .. } = Distinct::of_table(path, &recipe, control)?;
    if texts.is_empty() {
        return Err(Error::input(path, NoKeys { key: key.to_string() }));
    }
    Ok(texts)
}

/// Titles, where no table is at hand.
pub fn generated() -> Texts {
    const WORDS: [&str; 24] = [
        "the", "of", "night", "last", "house", "my", "river", "star", "a", "man", "love", "dark", "city",
        "return", "king", "summer", "little", "blue", "story", "war", "girl", "secret", "road", "home",
    ];
    let mut random = Random::new(3);
    let (mut texts, mut seen) = (Texts::default(), HashSet::new());
    while texts.len() < 8000 {
        let words = (0..2 + random.below(4)).map(|_| WORDS[random.below(WORDS.len() as u64) as usize]);
        let title = words.collect::<Vec<_>>().join(" ");
        if seen.insert(title.clone()) {
            texts.push(title.as_bytes());
        }
    }
    texts
}

/// One way at one size.
#[derive(Debug, Clone)]
pub struct Run {
    /// The way.
    pub way: Way,
    /// Records.
    pub records: u64,
    /// Time to build, from the records in memory.
    pub build: Duration,
    /// Seconds per query: the mean of each round.
    pub rounds: Vec<f64>,
    /// Bytes that a search needs.
    pub bytes: u64,
    /// Queries for records that are not in.
    pub outside: u64,
    /// Of which this many were found.
    pub false_positives: u64,
    /// Queries for records that are in and were not found.
    pub false_negatives: u64,
}

impl Run {
    /// Seconds per query.
    pub fn mean(&self) -> f64 {
        self.rounds.iter().sum::<f64>() / self.rounds.len().max(1) as f64
    }

    /// The fastest and the slowest round.
    pub fn spread(&self) -> (f64, f64) {
        let fold = |start, pick: fn(f64, f64) -> f64| self.rounds.iter().copied().fold(start, pick);
        (fold(f64::INFINITY, f64::min), fold(0.0, f64::max))
    }
}

/// Everything measured.
#[derive(Debug, Clone)]
pub struct Search {
    /// Where the records come from.
    pub name: String,
    /// Different records there.
    pub own: u64,
    /// The rate of the filters; for the multi-layer filter, of a layer.
    pub fpr: f64,
    /// All runs, by size.
    pub runs: Vec<Run>,
}

/// Measures all ways with the records as they are and from a thousand up to `most`. Where there are
/// not enough, they come again with a number behind them.
pub fn search(name: String, own: &Texts, most: u64, fpr: f64, control: &Control) -> Result<Search> {
    let mut sizes: Vec<u64> = (3..=7).map(|power| 10u64.pow(power)).filter(|&size| size <= most).collect();
    sizes.push(own.len() as u64);
    sizes.sort_unstable();
    sizes.dedup();
    let mut runs = Vec::new();
    control.begin((sizes.len() * Way::ALL.len()) as u64);
    for size in sizes {
        let texts = sized(own, size);
        let queries = Queries::new(own, &texts);
        for way in Way::ALL {
            control.check()?;
            runs.push(measure(way, &texts, &queries, fpr)?);
            control.advance(1);
        }
    }
    Ok(Search { name, own: own.len() as u64, fpr, runs })
}

/// Record i: one of the own ones, with a number behind it where it comes again.
fn text(own: &Texts, i: u64) -> Vec<u8> {
    let (round, at) = (i / own.len() as u64, i % own.len() as u64);
    let mut text = own.get(at as usize).to_vec();
    if round > 0 {
        text.extend_from_slice(format!(" {}", round + 1).as_bytes());
    }
    text
}

fn sized(own: &Texts, size: u64) -> Texts {
    let mut texts = Texts::default();
    (0..size).for_each(|i| texts.push(&text(own, i)));
    texts
}

/// What is asked: records that are in, and records of the same make that are not.
struct Queries {
    inside: Texts,
    outside: Texts,
}

impl Queries {
    fn new(own: &Texts, texts: &Texts) -> Queries {
        let mut random = Random::new(11);
        let (mut inside, mut outside) = (Texts::default(), Texts::default());
        let in_set: HashSet<u64> = texts.iter().map(|text| xxh3(text, 0)).collect();
        for _ in 0..QUERIES / 2 * ROUNDS {
            inside.push(texts.get(random.below(texts.len() as u64) as usize));
            // A number that no record has behind it, or two own records joined.
            let i = random.below(own.len() as u64) as usize;
            let mut text = own.get(i).to_vec();
            text.push(b' ');
            text.extend_from_slice(own.get(random.below(own.len() as u64) as usize));
            while in_set.contains(&xxh3(&text, 0)) {
                text.push(b'x');
            }
            outside.push(&text);
        }
        Queries { inside, outside }
    }
}

fn measure(way: Way, texts: &Texts, queries: &Queries, fpr: f64) -> Result<Run> {
    let start = Instant::now();
    match way {
        Way::Linear => {
            Ok(ask(way, texts, queries, start, texts.memory(), |key| texts.iter().any(|text| text == key)))
        }
        Way::Binary => {
            let mut order: Vec<u32> = (0..texts.len() as u32).collect();
            order.sort_unstable_by(|&a, &b| texts.get(a as usize).cmp(texts.get(b as usize)));
            let bytes = texts.memory() + 4 * order.len() as u64;
            Ok(ask(way, texts, queries, start, bytes, |key| {
                order.binary_search_by(|&at| texts.get(at as usize).cmp(key)).is_ok()
            }))
        }
        Way::Table => {
            let table: HashSet<&[u8]> = texts.iter().collect();
            // A slot is a reference and a byte of control; an eighth of the slots is never used.
            let slots = (table.capacity() as u64 * 8 / 7).next_power_of_two();
            let bytes = texts.memory() - 8 * texts.len() as u64 + 17 * slots;
            Ok(ask(way, texts, queries, start, bytes, |key| table.contains(key)))
        }
        Way::Bloom => {
            let mut filter = Bloom::for_rate(texts.len() as u64, fpr)?;
            texts.iter().for_each(|text| filter.insert_hash(xxh3(text, 0)));
            let bytes = 8 * filter.words().len() as u64;
            Ok(ask(way, texts, queries, start, bytes, |key| filter.contains_hash(xxh3(key, 0))))
        }
        Way::Layered => {
            let recipe = words_recipe();
            let filter = layered(texts, &recipe, fpr)?;
            let bytes = 8 * filter.words().len() as u64;
            let (mut maker, mut keywords) = (Maker::new(&recipe), Vec::new());
            Ok(ask(way, texts, queries, start, bytes, |key| {
                hashed(&mut maker, key, &mut keywords);
                filter.contains_keywords(&keywords)
            }))
        }
    }
}

fn words_recipe() -> Recipe {
    Recipe { key: vec![Field { column: Column::Line, steps: vec![Step::Words] }], ..Recipe::lines() }
}

/// The hashes of the words of a record; the record itself, where it has none.
fn hashed(maker: &mut Maker<'_>, text: &[u8], keywords: &mut Vec<u64>) {
    keywords.clear();
    match maker.key(&[Some(text)]) {
        Ok(record) => keywords.extend(keywords_of(record).map(|word| xxh3(word, 0))),
        Err(_) => keywords.push(xxh3(text, 0)),
    }
}

fn layered(texts: &Texts, recipe: &Recipe, fpr: f64) -> Result<Layered<Words>> {
    let (mut maker, mut keywords) = (Maker::new(recipe), Vec::new());
    let (mut all, mut different) = (0u64, HashSet::new());
    for text in texts.iter() {
        hashed(&mut maker, text, &mut keywords);
        all += keywords.len() as u64;
        different.extend(keywords.iter().copied());
    }
    let hashes = tamis::bloom::best_for_rate(fpr).0;
    let layers = layered::layers_for(all, texts.len() as u64, hashes);
    let mut filter = Layered::for_rate((different.len().max(texts.len())) as u64, fpr, layers)?;
    for text in texts.iter() {
        hashed(&mut maker, text, &mut keywords);
        filter.insert_keywords(&keywords);
    }
    Ok(filter)
}

/// Makes the queries of all rounds, or as many as there is time for: a dozen at least.
fn ask(
    way: Way,
    texts: &Texts,
    queries: &Queries,
    begun: Instant,
    bytes: u64,
    mut has: impl FnMut(&[u8]) -> bool,
) -> Run {
    let build = if way == Way::Linear { Duration::ZERO } else { begun.elapsed() };
    let mut run = Run {
        way,
        records: texts.len() as u64,
        build,
        rounds: Vec::new(),
        bytes,
        outside: 0,
        false_positives: 0,
        false_negatives: 0,
    };
    let started = Instant::now();
    let mut next = 0;
    while next < queries.inside.len() && (run.rounds.len() < 4 || started.elapsed() < ENOUGH) {
        // Slow ways have short rounds.
        let each = if way == Way::Linear && texts.len() > 100_000 { 2 } else { QUERIES / 2 };
        let end = (next + each).min(queries.inside.len());
        let round = Instant::now();
        for at in next..end {
            run.false_negatives += u64::from(!has(queries.inside.get(at)));
            run.false_positives += u64::from(has(queries.outside.get(at)));
        }
        run.rounds.push(round.elapsed().as_secs_f64() / (2 * (end - next)) as f64);
        run.outside += (end - next) as u64;
        next = end;
    }
    run
}

impl Search {
    /// The ways at one size.
    pub fn at(&self, records: u64) -> Table {
        let mut columns = vec![TableColumn::left("way")];
        let names = [
            "build",
            "per query",
            "fastest round",
            "slowest round",
            "memory",
            "per record",
            "false positives",
            "rate",
            "false negatives",
        ];
        columns.extend(names.map(TableColumn::right));
        let row = |run: &Run| {
            let (low, high) = run.spread();
            vec![
                run.way.name().into(),
                if run.way == Way::Linear { "-".into() } else { number::duration(run.build) },
                number::seconds(run.mean()),
                number::seconds(low),
                number::seconds(high),
                number::bytes(run.bytes),
                format!("{:.2} B", run.bytes as f64 / run.records as f64),
                format!("{} of {}", number::count(run.false_positives), number::count(run.outside)),
                number::rate(run.false_positives as f64 / run.outside.max(1) as f64),
                number::count(run.false_negatives),
            ]
        };
        let rows = self.runs.iter().filter(|run| run.records == records).map(row).collect();
        Table { caption: format!("{} records", number::count(records)), columns, rows, notes: Vec::new() }
    }

    /// The sizes measured.
    pub fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.runs.iter().map(|run| run.records).collect();
        sizes.dedup();
        sizes
    }

    /// What was found, in every form.
    pub fn findings(&self) -> Findings {
        Findings {
            name: "search",
            tables: self.sizes().into_iter().map(|size| self.at(size)).collect(),
            remarks: Vec::new(),
            page: self.page(),
            csv: self.csv(),
            more: Vec::new(),
            json: self.json(),
            holds: self.runs.iter().all(|run| run.false_negatives == 0),
        }
    }

    /// One line for each way and size.
    fn csv(&self) -> Csv<'static> {
        let columns = [
            "data_set",
            "way",
            "records",
            "build_seconds",
            "query_seconds",
            "query_seconds_fastest",
            "query_seconds_slowest",
            "bytes",
            "outside",
            "false_positives",
            "false_negatives",
        ];
        let row = |run: &Run| {
            let (low, high) = run.spread();
            cells![
                self.name.clone(),
                run.way.name(),
                run.records,
                run.build.as_secs_f64(),
                run.mean(),
                low,
                high,
                run.bytes,
                run.outside,
                run.false_positives,
                run.false_negatives,
            ]
        };
        Csv::new(columns, self.runs.iter().map(row).collect::<Vec<_>>())
    }

    /// The same as JSON.
    fn json(&self) -> Value {
        let run = |run: &Run| {
            let (low, high) = run.spread();
            json!({
                "way": run.way.name(), "records": run.records, "build_seconds": run.build.as_secs_f64(),
                "query_seconds": run.mean(), "query_seconds_fastest": low, "query_seconds_slowest": high,
                "bytes": run.bytes, "outside": run.outside, "false_positives": run.false_positives,
                "false_negatives": run.false_negatives,
            })
        };
        json!({ "data_set": self.name, "fpr": self.fpr, "runs": self.runs.iter().map(run).collect::<Vec<_>>() })
    }

    /// All of it as a page.
    pub fn page(&self) -> Page {
        let chart = |title: &str, y: Axis, value: fn(&Run) -> f64, ways: &[Way]| Chart {
            title: title.into(),
            x: Axis::log("records", Format::Count),
            y,
            marks: ways
                .iter()
                .map(|way| {
                    let runs = self.runs.iter().filter(|run| run.way == *way);
                    Mark::line(way.name(), runs.map(|run| (run.records as f64, value(run))))
                })
                .collect(),
        };
        let charts = vec![
            chart("Time per query", Axis::log("time", Format::Seconds), Run::mean, &Way::ALL),
            chart("Memory", Axis::log("bytes", Format::Plain), |run| run.bytes as f64, &Way::ALL),
            chart(
                "Time to build",
                Axis::log("time", Format::Seconds),
                |run| run.build.as_secs_f64(),
                &Way::ALL[1..],
            ),
        ];
        let mut sections = vec![
            Section::Figures(vec![
                Figure::new("records of its own", number::count(self.own)),
                Figure::new("rate of the filters", number::rate(self.fpr))
                    .note("of a layer, in the multi-layer filter"),
            ]),
            Section::Text(WHAT.into()),
            Section::Charts(charts),
        ];
        sections.extend(self.sizes().into_iter().map(|size| Section::Table(self.at(size))));
        Page {
            title: "Is this record in the data set?".into(),
            subtitle: format!("{}: five ways to search", self.name),
            sections,
        }
    }
}

/// How the numbers come about.
pub const WHAT: &str = "One thread, all records in memory, half of the queries for records that are in. Beyond the records \
of the data set, these come again with a number behind them. The records outside are two of its records joined, so that the \
multi-layer filter, which holds the words of a record, knows their words. Building starts from the records in memory; the \
spread is that of rounds of up to 1,024 queries. The memory of linear and binary search and of the hash table includes the \
records, which a search there needs; that of the filters does not. Linear search is stopped early where it is slow.";
