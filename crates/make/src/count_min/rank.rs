//! Estimates against exact counts: never below them, and above the bound not more often than
//! promised; and the error against the rank of a key.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tamis::countmin::CountMin;
use tamis::key::Recipe;
use tamis::params::{Common, Name};
use tamis_read::error::{Error, Result};
use tamis_read::{Control, Explained, Sources, Table};

use super::{OfCounts, Promise, refuse_filters, sketches};
use crate::aside::{self, Aside};
use crate::files::Mapped;
use crate::foreign::{self, Said};
use crate::parallel;
use crate::rows::{BadRows, Groups, Key, KeyRows, Names, Take};

/// Sketches to be tested.
#[derive(Debug, Clone)]
pub struct Job {
    /// The file of sketches.
    pub sketches: PathBuf,
    /// What is said of it, if it is of another system.
    pub said: Said,
    /// The data they were built from: files, globs, folders, `-`.
    pub inputs: Vec<String>,
    /// How to read them.
    pub options: tamis_read::Options,
    /// The recipe, with the columns of these inputs.
    pub recipe: Recipe,
    /// Rows without a key or a weight.
    pub bad_rows: BadRows,
    /// Threads.
    pub threads: usize,
}

/// What was found of one group.
#[derive(Debug, Clone)]
pub struct GroupResult {
    /// The group.
    pub group: Name,
    /// What is promised of its estimates.
    pub promise: Promise,
    /// The weight of its rows in the data.
    pub weight: u64,
    /// Its distinct keys.
    pub keys: u64,
    /// Of them, keys that have no estimate, since all their counters ran full.
    pub full: u64,
    /// Keys whose estimate is below the truth: none, if the data is that of the sketch.
    pub below: u64,
    /// Keys whose estimate is more than the bound above the truth; also those whose full counters
    /// are, whatever they should hold. None where the bound is not known.
    pub over: u64,
    /// The mean error of the estimates, if there are any.
    pub mean_error: Option<f64>,
    /// The largest.
    pub largest_error: Option<u64>,
}

impl GroupResult {
    /// Whether nothing is against the promise. Keys over the bound may be as many as is 6 standard
    /// deviations above what δ lets expect.
    pub fn passed(&self) -> bool {
        let expected = self.keys as f64 * self.promise.delta;
        self.below == 0 && self.over as f64 <= expected + 6.0 * expected.sqrt() + 3.0
    }
}

/// Keys whose ranks lie together, the heaviest key having the rank 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rank {
    /// The first and the last rank.
    pub ranks: (u64, u64),
    /// The mean of the true weights.
    pub truth: f64,
    /// The mean error; none where all of these keys have full counters.
    pub error: Option<f64>,
    /// The largest error.
    pub largest: u64,
}

/// What was found.
#[derive(Debug)]
pub struct Report {
    /// Kind, hash and recipe.
    pub common: Common,
    /// The groups, in the order for people.
    pub groups: Vec<GroupResult>,
    /// The error by rank, over the keys of all groups.
    pub ranks: Vec<Rank>,
    /// Rows left out.
    pub skipped: u64,
    /// How the inputs were understood.
    pub inputs: Vec<Explained>,
}

/// Exact counts: by hash, which is what a key is to a sketch.
#[derive(Debug, Default)]
struct Exact {
    /// Group, hash and weight.
    log: Vec<(u32, u64, u64)>,
    /// How many there may be before equal keys are brought together.
    full: usize,
}

impl Exact {
    fn compact(&mut self) {
        self.log.sort_unstable();
        self.log.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 = kept.2.saturating_add(next.2);
            }
            same
        });
    }
}

impl Take for Exact {
    #[inline]
    fn take(&mut self, key: Key<'_>) {
        if self.log.len() >= self.full {
            self.compact();
            self.full = (2 * self.log.len()).max(1 << 16);
        }
        self.log.push((key.group, key.hash, key.weight));
    }
}

/// Tests sketches with the data that they were built from. Takes 24 bytes of memory for each distinct
/// key, and up to twice that.
pub fn check(job: &Job, control: &Control) -> Result<Report> {
    let (file, _) = foreign::open_to_ask(&job.sketches, &job.said)?;
    let sources = Sources::open(&job.inputs, &job.options, &job.recipe.columns())?;
    check_rows(job, &file, &sources, control)
}

/// The same of sketches that are open, with a table in memory: what the job names is not looked at.
pub fn check_table(job: &Job, file: &Mapped, table: Arc<dyn Table>, control: &Control) -> Result<Report> {
    check_rows(job, file, &Sources::of_table(table, &job.recipe.columns())?, control)
}

fn check_rows(job: &Job, file: &Mapped, sources: &Sources, control: &Control) -> Result<Report> {
    refuse_filters(&job.sketches, file.params(), OfCounts::Test)?;
    parallel::each(job.threads, file.params().groups.len(), |group| {
        file.verify(group).map_err(Error::file(&job.sketches))
    })?;
    let params = file.params();
    let totals: Vec<u64> = file.tallies().iter().map(|tally| tally.total_weight()).collect();
    let sketches = sketches(params, file.data(), &totals)?;
    let inputs = sources.explain();
    let read = inputs.iter().map(|input| &input.path).chain([&job.sketches]);
    let aside = Aside::open(&job.bad_rows, [], read)?;
    let (first, others) = (params.groups.len() as u32, Mutex::new(Names::default()));
    let sink = |_| {
        let groups = Groups::KnownFirst { params, first, others: &others };
        let on_bad = (&job.bad_rows).into();
        KeyRows::new(&job.recipe, params.common.hash, on_bad, groups, Exact::default())
            .with_aside(aside.as_ref())
    };
    let mut exact = Exact::default();
    let mut skipped = 0;
    for sink in sources.scan_dyn((0..job.threads).map(sink).collect(), control)? {
        skipped += sink.skipped;
        exact.log.extend(sink.take.log);
    }
    exact.compact();
    aside::finish(aside)?;

    let others = others.into_inner().expect("no holder panics").list;
    let names = params.groups.iter().map(|group| &group.group).chain(&others);
    let mut groups = Vec::new();
    let mut pairs = Vec::with_capacity(exact.log.len());
    for (number, name) in names.enumerate() {
        let start = exact.log.partition_point(|entry| (entry.0 as usize) < number);
        let end = exact.log.partition_point(|entry| entry.0 as usize <= number);
        let truth = &exact.log[start..end];
        let from = pairs.len();
        match sketches.get(number) {
            Some(sketch) => compare(sketch, truth, &mut pairs),
            // A group that the sketches do not have: they know nothing of its keys.
            None => pairs.extend(truth.iter().map(|entry| (entry.2, 0))),
        }
        let promise = match params.groups.get(number) {
            Some(group) => Promise::of(group, totals[number]),
            None => Promise { total: 0, epsilon: 1.0, delta: 0.0 },
        };
        let most = sketches.get(number).map_or(FULL, CountMin::most);
        groups.push(judged(name.clone(), promise, most, &pairs[from..]));
    }
    groups.sort_by(|a, b| a.group.compare_naturally(&b.group));
    let ranks = by_rank(&mut pairs);
    Ok(Report { common: params.common.clone(), groups, ranks, skipped, inputs })
}

/// In place of an estimate, if there is none. Estimates are less.
const FULL: u64 = u64::MAX;

/// The error, where there is an estimate.
fn error(&(truth, estimate): &(u64, u64)) -> Option<u64> {
    (estimate != FULL).then(|| estimate.saturating_sub(truth))
}

/// The mean, if there is any.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u64), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// The true weight of each key, with its estimate.
fn compare(sketch: &CountMin<&[u64]>, truth: &[(u32, u64, u64)], pairs: &mut Vec<(u64, u64)>) {
    let mut estimates = [0; 1024];
    for some in truth.chunks(estimates.len()) {
        let hashes: Vec<u64> = some.iter().map(|entry| entry.1).collect();
        sketch.estimates(&hashes, &mut estimates[..some.len()]);
        let known = |estimate| if sketch.is_full(estimate) { FULL } else { estimate };
        pairs.extend(some.iter().zip(estimates).map(|(entry, estimate)| (entry.2, known(estimate))));
    }
}

fn judged(group: Name, promise: Promise, most: u64, pairs: &[(u64, u64)]) -> GroupResult {
    let errors = || pairs.iter().filter_map(error);
    let is_over =
        |&(truth, estimate): &(u64, u64)| estimate.min(most).saturating_sub(truth) > promise.bound();
    GroupResult {
        group,
        promise,
        weight: pairs.iter().fold(0, |sum: u64, pair| sum.saturating_add(pair.0)),
        keys: pairs.len() as u64,
        full: pairs.iter().filter(|pair| pair.1 == FULL).count() as u64,
        below: pairs.iter().filter(|(truth, estimate)| estimate < truth).count() as u64,
        over: if promise.total_is_full() {
            0
        } else {
            pairs.iter().filter(|pair| is_over(pair)).count() as u64
        },
        mean_error: mean(errors().map(|error| error as f64)),
        largest_error: errors().max(),
    }
}

/// The error by rank: of the true weights of keys and their estimates, in bands of ranks that grow
/// with them, five to a factor of ten. 2⁶⁴ − 1 stands for no estimate. The pairs are sorted, the heaviest first.
pub fn by_rank(pairs: &mut [(u64, u64)]) -> Vec<Rank> {
    pairs.sort_by_key(|pair| Reverse(pair.0)); // of equal weights in any order, not by their errors
    let mut ranks = Vec::new();
    let mut start = 0;
    for band in 0.. {
        let end = (10f64.powf(f64::from(band) / 5.0).round() as usize).min(pairs.len());
        if end > start {
            let some = &pairs[start..end];
            ranks.push(Rank {
                ranks: (start as u64 + 1, end as u64),
                truth: mean(some.iter().map(|pair| pair.0 as f64)).unwrap_or(0.0),
                error: mean(some.iter().filter_map(error).map(|error| error as f64)),
                largest: some.iter().filter_map(error).max().unwrap_or(0),
            });
            start = end;
        }
        if start == pairs.len() {
            break;
        }
    }
    ranks
}

impl Report {
    /// Whether nothing is against the promises.
    pub fn passed(&self) -> bool {
        self.groups.iter().all(GroupResult::passed)
    }
}
