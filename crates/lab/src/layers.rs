//! Lalit Sharma's detection of false positives, measured again: classic filters against the
//! multi-layer filter, with Sharma's memory and with equal memory.
//!
//! The unique records are cut at random into the halves B and C, each with a filter of its own.
//! A record is in one half only; if the filters of both have it, one of them errs. Other probes
//! are asked of B's filter: random records, members in another order, and records recombined from
//! members' keywords, each at a place where a member has it.

use std::collections::{HashMap, HashSet};

use tamis::bloom::{self, Bloom};
use tamis::hash::{Scheme, xxh3};
use tamis::key::{Column, Field, Recipe, keywords_of};
use tamis::layered::{self, Layered};
use tamis::memory::Words;
use tamis::sizing::Shape;
use tamis_jobs::statistics::wilson;
use tamis_make::opt;
use tamis_read::error::{Error, Result};
use tamis_read::refusal::{self, Help};
use tamis_read::{Control, Options, Sources};

use crate::distinct::Distinct;
use crate::generate::Random;

/// The rate that Sharma takes for his filters.
pub const FPR: f64 = 0.05;

/// Random splits into halves; what is counted in each is added up.
const SPLITS: u64 = 10;

/// Probes of each sort beside the records themselves, all splits together.
const PROBES: u64 = 200_000;

/// Records as lists of hashed keywords, unique.
#[derive(Debug, Clone)]
pub struct DataSet {
    /// Where they come from.
    pub name: String,
    /// The keywords of each.
    pub records: Vec<Vec<u64>>,
    /// Rows without keywords.
    pub skipped: u64,
}

impl DataSet {
    /// The mean number of keywords.
    pub fn mean(&self) -> f64 {
        let all: usize = self.records.iter().map(Vec::len).sum();
        all as f64 / self.records.len().max(1) as f64
    }

    /// The number of different keywords.
    pub fn vocabulary(&self) -> usize {
        self.records.iter().flatten().collect::<HashSet<_>>().len()
    }
}

/// What stands for a record where it is one key.
fn identity(record: &[u64]) -> u64 {
    record.iter().fold(0, |seed, word| xxh3(&word.to_le_bytes(), seed))
}

/// Why a table is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Too few records to remove some and ask for others.
    #[error("{name}: at least four unique records are needed")]
    TooFew {
        /// The table and its columns.
        name: String,
    },
    /// None of the columns of the published tables.
    #[error("none of the columns of Sharma's tables is there (it has {})", columns.join(", "))]
    NoKnownColumns {
        /// The columns that are there.
        columns: Vec<String>,
    },
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        match self {
            Refusal::TooFew { .. } => Vec::new(),
            Refusal::NoKnownColumns { .. } => vec![Help::give(opt::KEYWORDS.with("COLUMN:split=','"))],
        }
    }
}

/// The unique records of a table.
pub fn read(path: &str, fields: Vec<Field>, control: &Control) -> Result<DataSet> {
    let fields: Vec<Field> = fields.into_iter().map(Field::of_keywords).collect();
    let recipe = Recipe { key: fields, ..Recipe::lines() };
    let Distinct { keys, skipped } = Distinct::of_table(path, &recipe, control)?;
    let hashed = |record: &[u8]| keywords_of(record).map(|word| Scheme::DEFAULT.identity(word)).collect();
    let records: Vec<Vec<u64>> = keys.iter().map(hashed).collect();
    let file = std::path::Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
    let shown: Vec<String> = recipe.key.iter().map(Field::to_string).collect();
    let name = format!("{file} {}", shown.join(" + "));
    if records.len() < 4 {
        return Err(Refusal::TooFew { name }.into());
    }
    Ok(DataSet { name, records, skipped })
}

/// The columns of keywords that are tried in a table: those of the two that Sharma names.
pub fn known_columns(path: &str) -> Result<Vec<&'static str>> {
    let sources = Sources::open(&[path.into()], &Options::default(), &[Column::Number(1)])?;
    let columns: Vec<String> = sources.explain().into_iter().flat_map(|input| input.columns).collect();
    let has = |name: &str| columns.iter().any(|column| column == name);
    let known = [
        "keywords:json=name",
        "overview:words,lower",
        "cast:split=,",
        "listed_in:split=,",
        "description:words,lower",
    ];
    let found: Vec<&str> =
        known.into_iter().filter(|field| has(field.split(':').next().unwrap_or_default())).collect();
    if found.is_empty() {
        return Err(Error::input(path, Refusal::NoKnownColumns { columns }));
    }
    Ok(found)
}

/// Data of the shape of the two tables' columns, where they are not at hand: the numbers of
/// records and of keywords, and how often keywords repeat.
pub fn generated() -> Vec<DataSet> {
    let make = |name: &str, records: u64, mean: u64, vocabulary: u64, seed: u64| {
        let mut random = Random::new(seed);
        let mut seen = HashSet::new();
        let mut made = Vec::new();
        while (made.len() as u64) < records {
            let length = 1 + random.below(2 * mean - 1);
            let mut record: Vec<u64> = Vec::new();
            for _ in 0..length {
                // The product of two draws: few keywords are frequent, most are rare.
                let word = random.below(vocabulary) * random.below(vocabulary) / vocabulary;
                let hash = xxh3(&word.to_le_bytes(), seed);
                if !record.contains(&hash) {
                    record.push(hash);
                }
            }
            if seen.insert(identity(&record)) {
                made.push(record);
            }
        }
        DataSet { name: format!("generated, like {name}"), records: made, skipped: 0 }
    };
    vec![
        make("tmdb_5000_movies.csv keywords", 4200, 9, 14_000, 1),
        make("netflix_titles.csv cast", 7700, 8, 60_000, 2),
        make("netflix_titles.csv listed_in", 500, 3, 60, 3),
    ]
}

/// A filter that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// A classic filter of whole records.
    Whole,
    /// A classic filter of single keywords: a record is in if all of its keywords are.
    Keywords,
    /// The multi-layer filter.
    Layered,
}

/// How much memory it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Memory {
    /// The bits of one layer, as Sharma has them.
    Layer,
    /// All bits of the multi-layer filter.
    Total,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Probe {
    /// The records themselves, shuffled (T): in both halves.
    Rows,
    /// Records of random keywords.
    Random,
    /// Records recombined from members' keywords.
    Recombined,
    /// Members' keywords in another order.
    Reordered,
}

impl Subject {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Whole => "classic, whole records",
            Subject::Keywords => "classic, single keywords",
            Subject::Layered => "multi-layer",
        }
    }
}

impl Memory {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Memory::Layer => "bits of a layer",
            Memory::Total => "bits of all layers",
        }
    }
}

impl Probe {
    /// All of them.
    pub const ALL: [Probe; 4] = [Probe::Rows, Probe::Random, Probe::Recombined, Probe::Reordered];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Probe::Rows => "rows (T)",
            Probe::Random => "random",
            Probe::Recombined => "recombined",
            Probe::Reordered => "reordered",
        }
    }
}

/// The five filters that are measured on a data set. The multi-layer filter has all of its bits
/// either way.
pub const SUBJECTS: [(Subject, Memory); 5] = [
    (Subject::Whole, Memory::Layer),
    (Subject::Keywords, Memory::Layer),
    (Subject::Layered, Memory::Total),
    (Subject::Whole, Memory::Total),
    (Subject::Keywords, Memory::Total),
];

enum Filter {
    Whole(Bloom<Words>),
    Keywords(Bloom<Words>),
    Layered(Layered<Words>),
}

impl Filter {
    fn new(subject: Subject, memory: Memory, layers: Shape, items: usize, records: usize) -> Result<Filter> {
        let (bits, hashes) = match (subject, memory) {
            (Subject::Layered, _) => return Ok(Filter::Layered(Layered::zeroed(layers)?)),
            (_, Memory::Layer) => (layers.slots(), layers.hashes()),
            (subject, Memory::Total) => {
                let keys = if subject == Subject::Whole { records } else { items };
                let best = bloom::hashes_for_bits_per_key(layers.bits() as f64 / keys.max(1) as f64);
                (layers.bits(), best)
            }
        };
        let filter = Bloom::zeroed(bits, hashes)?;
        Ok(if subject == Subject::Whole { Filter::Whole(filter) } else { Filter::Keywords(filter) })
    }

    fn insert(&mut self, record: &[u64]) {
        match self {
            Filter::Whole(filter) => filter.insert_hash(identity(record)),
            Filter::Keywords(filter) => record.iter().for_each(|&word| filter.insert_hash(word)),
            Filter::Layered(filter) => filter.insert_keywords(record),
        }
    }

    fn has(&self, record: &[u64]) -> bool {
        match self {
            Filter::Whole(filter) => filter.contains_hash(identity(record)),
            Filter::Keywords(filter) => record.iter().all(|&word| filter.contains_hash(word)),
            Filter::Layered(filter) => filter.contains_keywords(record),
        }
    }

    fn bits_and_hashes(&self) -> (u64, u32) {
        match self {
            Filter::Whole(filter) | Filter::Keywords(filter) => (filter.bits(), filter.hashes()),
            Filter::Layered(filter) => (filter.shape().bits(), filter.shape().hashes()),
        }
    }

    /// The probability, by the formulas, that a probe passes; none where it depends on how the
    /// data is made.
    fn expected(&self, probe: Probe, record: &[u64], rates: &[f64]) -> Option<f64> {
        let rate = |layer: usize| rates[layer];
        match (self, probe) {
            (Filter::Whole(_), _) => Some(rate(0)),
            (Filter::Keywords(_), Probe::Random) => Some(record.iter().map(|_| rate(0)).product()),
            (Filter::Keywords(_), Probe::Recombined | Probe::Reordered) => Some(1.0),
            (Filter::Layered(_), Probe::Random) => {
                let layers = rates.len() - 1;
                Some((0..record.len()).map(|i| rate(i % layers)).product::<f64>() * rate(layers))
            }
            (Filter::Layered(_), Probe::Recombined) => Some(rate(rates.len() - 1)),
            _ => None,
        }
    }

    fn rates(&self) -> Vec<f64> {
        match self {
            Filter::Whole(filter) | Filter::Keywords(filter) => vec![filter.rate_now()],
            Filter::Layered(filter) => filter.layer_rates(),
        }
    }
}

/// What was counted of one filter with one sort of probes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Count {
    /// Records asked for that are not in.
    pub probes: u64,
    /// And were found.
    pub hits: u64,
    /// How many the formulas expect; none where it depends on how the data is made.
    pub expected: Option<f64>,
    /// The bits of the filter.
    pub bits: u64,
    /// Its hash functions.
    pub hashes: u32,
}

impl Count {
    /// Hits / probes.
    pub fn rate(&self) -> f64 {
        if self.probes == 0 { 0.0 } else { self.hits as f64 / self.probes as f64 }
    }

    /// The 95 % interval of the rate.
    pub fn interval(&self) -> (f64, f64) {
        wilson(self.hits, self.probes)
    }

    /// Of the answers that a record is in a half, the share that is right, where each is asked of
    /// both halves: every record is rightly found once.
    pub fn precision(&self) -> f64 {
        1.0 / (1.0 + self.rate())
    }

    fn add(&mut self, hit: bool, expected: Option<f64>) {
        self.expected = match self.probes {
            0 => expected,
            _ => self.expected.zip(expected).map(|(sum, one)| sum + one),
        };
        self.probes += 1;
        self.hits += u64::from(hit);
    }
}

/// What was measured on a data set.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// Unique records.
    pub records: usize,
    /// Rows without keywords.
    pub skipped: u64,
    /// The mean number of keywords.
    pub mean: f64,
    /// Different keywords.
    pub vocabulary: usize,
    /// The shape of the multi-layer filter of a half.
    pub shape: Shape,
    /// By filter and probe.
    pub counts: HashMap<(Subject, Memory, Probe), Count>,
    /// For 1 to 8 layers: the rate of the multi-layer filter for the rows, and for recombined
    /// records.
    pub by_layers: Vec<(u32, Count, Count)>,
}

/// How the multi-layer filter is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// The rate of a layer.
    pub fpr: f64,
    /// Its layers; where they were not chosen, as many as the keywords ask for.
    pub layers: Option<u32>,
}

impl Default for Choice {
    fn default() -> Self {
        Choice { fpr: FPR, layers: None }
    }
}

/// Measures a data set.
pub fn measure(set: &DataSet, choice: Choice, control: &Control) -> Result<Measured> {
    let half = set.records.len() / 2;
    let words: HashSet<u64> = set.records[..half].iter().flatten().copied().collect();
    let items = half.max(words.len()).max(1);
    let all: usize = set.records.iter().map(Vec::len).sum();
    let hashes = bloom::best_for_rate(choice.fpr).0;
    let usual = layered::layers_for(all as u64, set.records.len() as u64, hashes);
    let shape = layered::shape_for_rate(items as u64, choice.fpr, choice.layers.unwrap_or(usual))?;
    let members: HashSet<u64> = set.records.iter().map(|record| identity(record)).collect();
    let mut counts: HashMap<(Subject, Memory, Probe), Count> = HashMap::new();
    let mut by_layers: Vec<(u32, Count, Count)> =
        (1..=8).map(|layers| (layers, Count::default(), Count::default())).collect();
    control.begin(SPLITS);
    for split in 0..SPLITS {
        control.check()?;
        let mut random = Random::new(split + 1);
        let mut records: Vec<&Vec<u64>> = set.records.iter().collect();
        shuffle(&mut records, &mut random);
        let (b, c) = records.split_at(half);
        let probes = Probes::make(b, &members, &mut random);
        for (subject, memory) in SUBJECTS {
            let mut filters = [
                Filter::new(subject, memory, shape, items, half)?,
                Filter::new(subject, memory, shape, items, half)?,
            ];
            b.iter().for_each(|record| filters[0].insert(record));
            c.iter().for_each(|record| filters[1].insert(record));
            let (bits, hashes) = filters[0].bits_and_hashes();
            let rates = filters.each_ref().map(Filter::rates);
            for probe in Probe::ALL {
                let count = counts.entry((subject, memory, probe)).or_default();
                (count.bits, count.hashes) = (bits, hashes);
                if probe == Probe::Rows {
                    // Each record is in one half: the other one must not have it.
                    for (own, record) in b.iter().map(|r| (0, r)).chain(c.iter().map(|r| (1, r))) {
                        assert!(filters[own].has(record), "no false negatives");
                        let expected = filters[1 - own].expected(probe, record, &rates[1 - own]);
                        count.add(filters[1 - own].has(record), expected);
                    }
                    continue;
                }
                for record in probes.of(probe) {
                    count.add(filters[0].has(record), filters[0].expected(probe, record, &rates[0]));
                }
            }
        }
        for (layers, rows, recombined) in &mut by_layers {
            let mut filter = Layered::zeroed(shape.with_layers(*layers))?;
            b.iter().for_each(|record| filter.insert_keywords(record));
            c.iter().for_each(|record| rows.add(filter.contains_keywords(record), None));
            for record in &probes.recombined {
                recombined.add(filter.contains_keywords(record), None);
            }
        }
        control.advance(1);
    }
    let (mean, vocabulary) = (set.mean(), set.vocabulary());
    let (name, records, skipped) = (set.name.clone(), set.records.len(), set.skipped);
    Ok(Measured { name, records, skipped, mean, vocabulary, shape, counts, by_layers })
}

fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for i in (1..items.len()).rev() {
        items.swap(i, random.below(i as u64 + 1) as usize);
    }
}

/// Records that are in neither half.
struct Probes {
    random: Vec<Vec<u64>>,
    recombined: Vec<Vec<u64>>,
    reordered: Vec<Vec<u64>>,
}

impl Probes {
    /// Made of the records of a half; `members` are those of both.
    fn make(half: &[&Vec<u64>], members: &HashSet<u64>, random: &mut Random) -> Probes {
        let wanted = PROBES / SPLITS;
        let (mut fresh, mut recombined, mut reordered) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..wanted {
            let length = half[random.below(half.len() as u64) as usize].len();
            // Hashed once more: generated keywords are hashes of small numbers, as the stream is.
            fresh.push((0..length).map(|_| xxh3(&random.next().to_le_bytes(), 77)).collect());
            // Keyword i from any member that has this many; given up where members are too few.
            let mut record: Vec<u64> = Vec::new();
            for place in 0..length {
                for _ in 0..100 {
                    let word = half[random.below(half.len() as u64) as usize].get(place).copied();
                    if let Some(word) = word.filter(|word| !record.contains(word)) {
                        record.push(word);
                        break;
                    }
                }
            }
            if record.len() == length && !members.contains(&identity(&record)) {
                recombined.push(record);
            }
            let mut other = half[random.below(half.len() as u64) as usize].clone();
            shuffle(&mut other, random);
            if !members.contains(&identity(&other)) {
                reordered.push(other);
            }
        }
        Probes { random: fresh, recombined, reordered }
    }

    fn of(&self, probe: Probe) -> &[Vec<u64>] {
        match probe {
            Probe::Rows => &[],
            Probe::Random => &self.random,
            Probe::Recombined => &self.recombined,
            Probe::Reordered => &self.reordered,
        }
    }
}
