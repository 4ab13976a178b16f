//! The third phase: every key against every filter; exact false positives and negatives.
//!
//! Keys are brought together by hash, so that each distinct key is looked at once, with all the
//! groups it belongs to. A hit in a group is a false positive unless the key is a member; a miss
//! in a group of its own is a false negative. Memory is bounded: beyond a fixed number of rows,
//! keys wait on disk, cut by hash into parts that fit.

pub mod apart;
mod gather;
mod judge;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tamis::hash::xxh3;
use tamis::key::{Column, Recipe};
use tamis::layered;
use tamis::params::{Common, Name, Params};
use tamis::sizing::Kind;

use self::gather::{Beside, Gather, PARTS, Part};
pub use self::judge::Hits;
use self::judge::{Found, by_size, judge};
use crate::counts;
use crate::health::{self, Health};
use crate::output::{self, Mapped};
use crate::parallel;
use crate::removed::{self, Removed};
use crate::rows::{BadRows, Groups, Key, KeyRows, Names, Take};
use crate::statistics::{surprise, wilson};
use tamis_read::Control;
use tamis_read::error::{Error, Result};
use tamis_read::{Explained, Sources};

/// Filters to be tested.
#[derive(Debug, Clone)]
pub struct Job {
    /// The file of filters.
    pub filters: PathBuf,
    /// Filters of keys that were removed since.
    pub removed: Option<PathBuf>,
    /// The data they were built from, without what was removed since.
    pub inputs: Vec<String>,
    /// How to read them.
    pub options: tamis_read::Options,
    /// The recipe, with the columns of these inputs.
    pub recipe: Recipe,
    /// Keys known to be outside.
    pub negatives: Vec<String>,
    /// So many random keys, also taken to be outside.
    pub random: u64,
    /// The seed of the random keys.
    pub seed: u64,
    /// Rows without a key.
    pub bad_rows: BadRows,
    /// Threads.
    pub threads: usize,
}

/// What was found in one group.
#[derive(Debug, Clone)]
pub struct GroupResult {
    /// Its name.
    pub group: Name,
    /// Distinct keys that belong to it.
    pub keys: u64,
    /// False positives, negatives and all else about its filter; none where the file has no
    /// filter for this group.
    pub filter: Option<FilterResult>,
    /// Distinct keys that belong to it and are not found, or are taken for removed.
    pub false_negatives: u64,
    /// Those that are taken for removed, where there are filters of removed keys.
    pub lost: Option<Lost>,
}

/// Members that a filter of removed keys takes for removed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lost {
    /// How many.
    pub keys: u64,
    /// Of so many that the first filter finds.
    pub of: u64,
    /// The rate to expect: that of the second filter, from what it holds.
    pub expected: f64,
}

impl Lost {
    /// Lost keys / members.
    pub fn rate(&self) -> f64 {
        if self.of == 0 { 0.0 } else { self.keys as f64 / self.of as f64 }
    }

    /// The 95 % interval of the rate.
    pub fn interval(&self) -> (f64, f64) {
        wilson(self.keys, self.of)
    }

    /// How many are to be expected, and the variance.
    pub fn mean(&self) -> (f64, f64) {
        let mean = self.of as f64 * self.expected;
        (mean, mean * (1.0 - self.expected))
    }
}

/// What was found in one filter.
#[derive(Debug, Clone)]
pub struct FilterResult {
    /// Its bits.
    pub bits: u64,
    /// Hashes per key.
    pub hashes: u32,
    /// Bits that are set.
    pub ones: u64,
    /// The rate that it was planned for.
    pub target: f64,
    /// The rate to expect of just this filter, from the bits that are set.
    pub expected: f64,
    /// Distinct keys outside its group that it lets pass.
    pub false_positives: u64,
    /// Distinct keys outside its group.
    pub negatives: u64,
    /// Its state.
    pub health: Health,
}

impl FilterResult {
    /// False positives / negatives.
    pub fn rate(&self) -> f64 {
        if self.negatives == 0 { 0.0 } else { self.false_positives as f64 / self.negatives as f64 }
    }

    /// The 95 % interval of the rate.
    pub fn interval(&self) -> (f64, f64) {
        wilson(self.false_positives, self.negatives)
    }
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Report {
    /// Kind, hash and recipe of the filters.
    pub filters: Common,
    /// By group, in natural order.
    pub groups: Vec<GroupResult>,
    /// Distinct keys in all.
    pub keys: u64,
    /// Rows read.
    pub rows: u64,
    /// Rows left out.
    pub skipped: u64,
    /// How the inputs were understood.
    pub inputs: Vec<Explained>,
    /// Keys given as outside that are members after all.
    pub removed: u64,
    /// How probable false positives so far from their expectation are, all groups together.
    ///
    /// Where the data shows that no key belongs to two groups, the filters err independently, and
    /// this is the probability of the sum. Filters of groups that share keys err together; then it
    /// is that of the least probable group, times their number, which holds however they depend
    /// on each other.
    pub surprise: f64,
    /// Whether that cannot be told: what a layered filter lets pass depends on the keywords that
    /// records share, and only of random ones is it known; what a pair lets pass, on the keys that its
    /// filters share.
    pub unjudged: bool,
    /// False positives to expect, all groups together, from the bits that are set.
    pub expected_false_positives: f64,
    /// Where there are filters of removed keys: how probable so many lost members are, by their rates.
    pub lost_surprise: Option<f64>,
    /// The time of each phase.
    pub phases: Vec<(&'static str, Duration)>,
}

/// Below this probability the false positives are taken for a fault.
pub const IMPROBABLE: f64 = 1e-6;

impl Report {
    /// False negatives of all groups.
    pub fn false_negatives(&self) -> u64 {
        self.groups.iter().map(|group| group.false_negatives).sum()
    }

    /// False positives and negatives of all groups.
    pub fn false_positives(&self) -> (u64, u64) {
        let filters = self.groups.iter().filter_map(|group| group.filter.as_ref());
        filters.fold((0, 0), |(hits, all), filter| (hits + filter.false_positives, all + filter.negatives))
    }

    /// Members of all groups that are taken for removed, of how many, and how many are to be expected.
    pub fn lost(&self) -> Option<(Lost, f64)> {
        let mut all = (Lost { keys: 0, of: 0, expected: 0.0 }, 0.0);
        for lost in self.groups.iter().filter_map(|group| group.lost) {
            all = (
                Lost { keys: all.0.keys + lost.keys, of: all.0.of + lost.of, ..all.0 },
                all.1 + lost.mean().0,
            );
        }
        all.0.expected = all.1 / (all.0.of as f64).max(1.0);
        self.lost_surprise.map(|_| all)
    }

    /// Whether the filters are what they should be. With filters of removed keys, members may be lost to
    /// these, but no more than their rate lets expect.
    pub fn passed(&self) -> bool {
        let lost = self.lost().map_or(0, |(lost, _)| lost.keys);
        self.false_negatives() == lost
            && self.surprise >= IMPROBABLE
            && self.lost_surprise.is_none_or(|surprise| surprise >= IMPROBABLE)
    }
}

/// A thread holds so many keys in memory before they go to disk: 256 MB.
const HELD: usize = 1 << 24;

/// Tests the filters.
pub fn check(job: &Job, control: &Control) -> Result<Report> {
    test_holding(job, HELD, control)
}

/// The same with another number of keys held in memory per thread.
fn test_holding(job: &Job, held: usize, control: &Control) -> Result<Report> {
    let mut phases = Vec::new();
    let mut since = Instant::now();
    let mut phase = |name| {
        phases.push((name, since.elapsed()));
        since = Instant::now();
    };
    let container = output::open(&job.filters)?;
    counts::refuse(&job.filters, container.params(), "have false positives")?;
    let sketches = container.sketches()?;
    // Damage would be blamed on the data.
    parallel::each(job.threads, sketches.len(), |group| {
        container.verify(group).map_err(Error::file(&job.filters))
    })?;
    let params = container.params();
    let removed = job.removed.as_ref().map(|path| Removed::open(path, params)).transpose()?;
    removed.as_ref().map_or(Ok(()), Removed::verify)?;
    let gone = removed.as_ref().map_or(Ok(Vec::new()), Removed::sketches)?;
    let hash = params.common.hash;
    let beside = Beside::of_keys(params, removed.as_ref());
    phase("open");

    let outside = params.groups.len() as u32;
    let others = Mutex::new(Names::default());
    let mut gathered: Vec<Gather> = Vec::new();
    let (mut rows, mut skipped) = (0, 0);
    let mut inputs = Vec::new();
    let mut scan = |sources: &Sources, recipe: &Recipe, negatives: bool| -> Result<()> {
        inputs.extend(sources.explain());
        let sink = |_| {
            let known = Groups::KnownFirst { params, first: outside + 1, others: &others };
            let groups = if negatives { Groups::One(outside) } else { known };
            KeyRows::new(recipe, hash, job.bad_rows, groups, Gather::new(beside, held))
        };
        for sink in sources.scan((0..job.threads).map(sink).collect(), control)? {
            rows += sink.rows.iter().sum::<u64>();
            skipped += sink.skipped;
            gathered.push(sink.take);
        }
        Ok(())
    };
    if !job.inputs.is_empty() {
        scan(&Sources::open(&job.inputs, &job.options, &job.recipe.columns())?, &job.recipe, false)?;
    }
    if !job.negatives.is_empty() {
        let (sources, recipe) = open_negatives(job)?;
        scan(&sources, &recipe, true)?;
    }
    gathered.extend(random_keys(job, params, beside, held, control)?);
    phase("read");

    let disk = |source| Error::Io { path: std::env::temp_dir(), source };
    let mut parts: Vec<Vec<Part>> = Vec::new();
    parts.resize_with(PARTS, Vec::new);
    for gather in gathered {
        let of_thread = gather.finish().map_err(disk)?;
        of_thread.into_iter().zip(&mut parts).for_each(|(part, parts)| parts.push(part));
    }
    let parts: Vec<Mutex<Vec<Part>>> = parts.into_iter().map(Mutex::new).collect();
    let order = by_size(&sketches);
    control.begin(PARTS as u64);
    let found = parallel::each(job.threads, PARTS, |part| {
        control.check()?;
        let mut all = Part::default();
        for part in std::mem::take(&mut *parts[part].lock().expect("no holder panics")) {
            all.absorb(part, beside).map_err(disk)?;
        }
        let found = judge(all, beside, &sketches, &gone, &order);
        control.advance(1);
        Ok(found)
    })?;
    let mut total = Found::default();
    found.iter().for_each(|found| total.add(found));
    phase("test");

    let names = others.into_inner().expect("no holder panics").list;
    let strangers = names.into_iter().zip(total.strangers).filter(|(_, keys)| *keys > 0).collect();
    let findings = Findings {
        keys: total.keys,
        removed: total.removed,
        shared: total.shared,
        filters: total.filters,
        strangers,
        rows,
        skipped,
    };
    let with = With { members: !job.inputs.is_empty(), negatives: !job.negatives.is_empty() };
    let report = conclude_pair(&container, removed.as_ref(), findings, with, job.threads)?;
    phase("count");
    Ok(Report { inputs, phases, ..report })
}

/// What filters were tested with, besides random keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct With {
    /// The data that they were built from.
    pub members: bool,
    /// Keys known to be outside.
    pub negatives: bool,
}

/// The numbers that a test comes to: sums over keys that were looked at anywhere.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// Distinct keys.
    pub keys: u64,
    /// Keys given as outside that are members of a group.
    pub removed: u64,
    /// Keys that belong to more than one filter.
    pub shared: u64,
    /// By filter, in the order of the file.
    pub filters: Vec<Hits>,
    /// Members of each group that has no filter.
    pub strangers: Vec<(Name, u64)>,
    /// Rows read.
    pub rows: u64,
    /// Rows left out.
    pub skipped: u64,
}

/// What follows from the numbers for these filters. How inputs were understood and the times of phases
/// are for whoever knows them.
pub fn conclude(container: &Mapped, findings: Findings, with: With, threads: usize) -> Result<Report> {
    conclude_pair(container, None, findings, with, threads)
}

/// The same where what is in second filters does not pass.
fn conclude_pair(
    container: &Mapped,
    removed: Option<&Removed>,
    findings: Findings,
    with: With,
    threads: usize,
) -> Result<Report> {
    let (params, sketches) = (container.params(), container.sketches()?);
    let gone = removed.map_or(Ok(Vec::new()), Removed::sketches)?;
    let Findings { keys, removed: not_outside, shared, mut filters, strangers, rows, skipped } = findings;
    filters.resize(sketches.len(), Hits::default());
    let rates = parallel::each(threads, sketches.len(), |group| {
        let gone = gone.get(group).and_then(Option::as_ref);
        let rate = |sketch| removed::rate_now(sketch, params.common.hash);
        Ok((rate(&sketches[group]), gone.map_or(0.0, rate)))
    })?;
    let (rates, gone_rates): (Vec<f64>, Vec<f64>) = rates.into_iter().unzip();
    let (mut lost_mean, mut lost_variance, mut lost_keys, mut lost_least) = (0.0, 0.0, 0, 1.0f64);
    let (mut mean, mut variance, mut false_positives, mut least) = (0.0, 0.0, 0, 1.0f64);
    let mut groups = Vec::new();
    for (i, (params_of, hits)) in params.groups.iter().zip(&filters).enumerate() {
        let tally = &container.tallies()[i];
        let filter = FilterResult {
            bits: params_of.shape.bits(),
            hashes: params_of.shape.hashes,
            ones: tally.ones,
            target: params_of.fpr,
            expected: rates[i],
            // Never below zero, but for keys made to collide in XXH3 where murmur3 places them.
            false_positives: hits.all.saturating_sub(hits.found.saturating_sub(hits.lost)),
            negatives: keys.saturating_sub(hits.members),
            health: health::of_sketch(params.common.kind, params_of, tally, &sketches[i]),
        };
        let expected = filter.negatives as f64 * rates[i];
        let spread = expected * (1.0 - rates[i]);
        mean += expected;
        variance += spread;
        false_positives += filter.false_positives;
        least = least.min(surprise(filter.false_positives, expected, spread));
        let lost = removed.map(|_| Lost { keys: hits.lost, of: hits.found, expected: gone_rates[i] });
        if let Some(lost) = &lost {
            let (mean, variance) = lost.mean();
            (lost_mean, lost_variance) = (lost_mean + mean, lost_variance + variance);
            lost_keys += lost.keys;
            lost_least = lost_least.min(surprise(lost.keys, mean, variance));
        }
        groups.push(GroupResult {
            group: params_of.group.clone(),
            keys: hits.members,
            false_negatives: hits.members.saturating_sub(hits.found) + hits.lost,
            filter: Some(filter),
            lost,
        });
    }
    for (group, keys) in strangers {
        groups.push(GroupResult { group, keys, false_negatives: keys, filter: None, lost: None });
    }
    groups.sort_by(|a, b| a.group.compare_naturally(&b.group));
    // The second filter of a pair holds keys of the first, so that the two do not err independently.
    let unjudged =
        removed.is_some() || params.common.kind == Kind::Layered && (with.members || with.negatives);
    Ok(Report {
        filters: params.common.clone(),
        groups,
        keys,
        rows,
        skipped,
        inputs: Vec::new(),
        removed: not_outside,
        unjudged,
        surprise: if unjudged {
            1.0
        } else if shared == 0 && with.members {
            surprise(false_positives, mean, variance)
        } else {
            (least * sketches.len() as f64).min(1.0)
        },
        expected_false_positives: mean,
        lost_surprise: removed.map(|_| match shared {
            0 => surprise(lost_keys, lost_mean, lost_variance),
            _ => (lost_least * sketches.len() as f64).min(1.0),
        }),
        phases: Vec::new(),
    })
}

/// Opens the keys known to be outside: a table with the columns of the recipe or, for a key of
/// one part, one key per line.
fn open_negatives(job: &Job) -> Result<(Sources, Recipe)> {
    let recipe = Recipe { group: None, ..job.recipe.clone() };
    let error = match Sources::open(&job.negatives, &job.options, &recipe.columns()) {
        Ok(sources) => return Ok((sources, recipe)),
        Err(error) => error,
    };
    let mut lines = recipe;
    // Standard input cannot be begun again.
    if let [field] = &mut lines.key[..]
        && !job.negatives.iter().any(|input| input == "-")
    {
        field.column = Column::Line;
        if let Ok(sources) = Sources::open(&job.negatives, &job.options, &lines.columns()) {
            return Ok((sources, lines));
        }
    }
    Err(error)
}

/// Random keys of 16 bytes: 128 bits that no table holds by chance. For layered filters records
/// of such keywords, as many as the formulas take.
fn random_keys(
    job: &Job,
    params: &Params,
    beside: Beside,
    held: usize,
    control: &Control,
) -> Result<Vec<Gather>> {
    if job.random == 0 {
        return Ok(Vec::new());
    }
    // In 128 bits: a great number of keys times that of the threads is beyond 64.
    let first = |thread: usize| (u128::from(job.random) * thread as u128 / job.threads as u128) as u64;
    parallel::each(job.threads, job.threads, |thread| {
        let mut gather = Gather::new(beside, held);
        gather_random(params, first(thread)..first(thread + 1), job.seed, &mut gather, control)?;
        Ok(gather)
    })
}

/// Gathers the random keys of these numbers.
fn gather_random(
    params: &Params,
    numbers: Range<u64>,
    seed: u64,
    gather: &mut Gather,
    control: &Control,
) -> Result<()> {
    let (hash, outside) = (params.common.hash, params.groups.len() as u32);
    let keywords = match params.common.kind {
        Kind::Layered => {
            params.groups.first().map_or(0, |group| layered::typical_keywords(group.shape.layers()))
        }
        _ => 0,
    };
    for i in numbers {
        if i % (1 << 16) == 0 {
            control.check()?;
        }
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&xxh3(&i.to_le_bytes(), seed).to_le_bytes());
        bytes[8..].copy_from_slice(&xxh3(&i.to_le_bytes(), !seed).to_le_bytes());
        let mut record = Vec::new();
        for number in 0..keywords {
            record.extend_from_slice(&20u32.to_le_bytes());
            record.extend_from_slice(&bytes);
            record.extend_from_slice(&number.to_le_bytes());
        }
        let bytes = if keywords == 0 { &bytes } else { &record[..] };
        gather.take(Key { group: outside, hash: hash.identity(bytes), bytes, weight: 1 });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tamis::hash::Scheme;
    use tamis::sizing::Kind;

    use super::*;
    use crate::build;
    use crate::request::at_rate;

    /// 3,000 rows in 4 groups; every tenth key stands in two of them, and some rows repeat.
    fn table() -> String {
        let row = |i: u32| {
            let second =
                if i.is_multiple_of(10) { format!("k{i}\t{}\n", (i + 1) % 4) } else { String::new() };
            format!("k{i}\t{}\n{second}{second}", i % 4)
        };
        "key\tgroup\n".to_owned() + &(0..3000).map(row).collect::<String>()
    }

    #[test]
    fn what_waits_on_disk_is_counted_like_what_is_held_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("t.tsv");
        fs::write(&data, table()).unwrap();
        let recipe = Recipe {
            key: vec!["key".parse().unwrap()],
            group: Some("group".parse().unwrap()),
            weight: None,
            null: None,
        };
        let of_keywords = Recipe {
            key: ["key:whole", "key:whole,suffix=1", "key:whole,suffix=2"]
                .map(|field| field.parse().unwrap())
                .into(),
            ..recipe.clone()
        };
        for (kind, hash) in [
            (Kind::Blocked, Scheme::DEFAULT),
            (Kind::Bloom, Scheme::Murmur3),
            (Kind::Fuse, Scheme::DEFAULT),
            (Kind::Counting, Scheme::DEFAULT),
            (Kind::Layered, Scheme::DEFAULT),
        ] {
            let recipe = if kind == Kind::Layered { of_keywords.clone() } else { recipe.clone() };
            let filters = folder.path().join("t.tamis");
            let build = build::Job {
                inputs: vec![data.display().to_string()],
                options: tamis_read::Options::default(),
                sketches: at_rate(&Common { kind, hash, recipe: recipe.clone() }, 0.05).unwrap(),
                recipe: recipe.clone(),
                bad_rows: BadRows::Fail,
                threads: 2,
            };
            build::build(&build, &filters, &Control::default()).unwrap();
            let run = |held: usize, threads: usize| {
                let job = Job {
                    removed: None,
                    filters: filters.clone(),
                    inputs: build.inputs.clone(),
                    options: tamis_read::Options::default(),
                    recipe: recipe.clone(),
                    negatives: Vec::new(),
                    random: 5000,
                    seed: 3,
                    bad_rows: BadRows::Fail,
                    threads,
                };
                let report = test_holding(&job, held, &Control::default()).unwrap();
                assert_eq!(report.false_negatives(), 0);
                assert_eq!(report.keys, 3000 + 5000);
                assert_eq!(
                    report.groups.iter().map(|group| group.keys).sum::<u64>(),
                    3300,
                    "keys of two groups count in both"
                );
                let filter =
                    |group: &GroupResult| group.filter.as_ref().map(|f| (f.false_positives, f.negatives));
                report.groups.iter().map(filter).collect::<Vec<_>>()
            };
            let in_memory = run(HELD, 1);
            assert_eq!(run(HELD, 3), in_memory);
            assert_eq!(run(100, 1), in_memory);
            assert_eq!(run(7, 3), in_memory);
        }
    }

    /// Thirty filters of the same keys say the same: one draw, not thirty.
    #[test]
    fn sound_filters_of_groups_that_share_all_keys_pass() {
        let folder = tempfile::tempdir().unwrap();
        let (data, filters) = (folder.path().join("t.csv"), folder.path().join("t.tamis"));
        let rows = (0..30).flat_map(|group| (0..300).map(move |key| format!("{key},{group}\n")));
        fs::write(&data, "key,group\n".to_owned() + &rows.collect::<String>()).unwrap();
        let recipe = Recipe {
            key: vec!["key".parse().unwrap()],
            group: Some("group".parse().unwrap()),
            weight: None,
            null: None,
        };
        let build = build::Job {
            inputs: vec![data.display().to_string()],
            options: tamis_read::Options::default(),
            sketches: at_rate(
                &Common { kind: Kind::Blocked, hash: Scheme::DEFAULT, recipe: recipe.clone() },
                0.05,
            )
            .unwrap(),
            recipe: recipe.clone(),
            bad_rows: BadRows::Fail,
            threads: 1,
        };
        build::build(&build, &filters, &Control::default()).unwrap();
        for seed in 1..=20 {
            let job = Job {
                removed: None,
                filters: filters.clone(),
                inputs: Vec::new(),
                options: tamis_read::Options::default(),
                recipe: recipe.clone(),
                negatives: Vec::new(),
                random: 20_000,
                seed,
                bad_rows: BadRows::Fail,
                threads: 1,
            };
            assert!(check(&job, &Control::default()).unwrap().passed(), "seed {seed}");
        }
    }
}
