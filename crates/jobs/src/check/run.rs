//! The test itself: keys gathered on all threads, then judged part by part.

use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::time::Instant;

use tamis::about::Classes;
use tamis::hash::xxh3;
use tamis::key::{Column, Recipe};
use tamis::layered;
use tamis::params::Params;
use tamis::sizing::Kind;
use tamis_read::error::{Error, Result};
use tamis_read::{Control, Explained, Sources};

use super::adversary::{KnownKeys, attack};
use super::findings::conclude_pair;
use super::gather::{Beside, Gather, Heaps, PARTS, Part};
use super::judge::{Found, PartJudge};
use super::{Findings, Job, Report};
use crate::ask::Filters;
use crate::classes::{self, Doubt, Hits};
use crate::removed_keys::RemovedKeys;
use tamis_make::aside::{self, Aside};
use tamis_make::count_min;
use tamis_make::files::Mapped;
use tamis_make::foreign;
use tamis_make::parallel;
use tamis_make::rows::{Groups, Key, KeyRows, Names, OnBad, Take};

/// A thread holds this many keys in memory before they go to disk: 256 MB.
pub(super) const HELD: usize = 1 << 24;

/// Tests the filters.
pub fn check(job: &Job, control: &Control) -> Result<Report> {
    check_holding(job, HELD, control)
}

/// The same with another number of keys held in memory per thread.
pub(super) fn check_holding(job: &Job, held: usize, control: &Control) -> Result<Report> {
    let mut phases = Vec::new();
    let mut since = Instant::now();
    let mut phase = |name| {
        phases.push((name, since.elapsed()));
        since = Instant::now();
    };
    let (container, removed) = open(job)?;
    let filters = Filters::of_file(&container)?;
    let pair = match &removed {
        Some(removed) => Some(Filters::of_file(&container)?.without(removed)?),
        None => None,
    };
    phase("open");

    let beside = Beside(pair.as_ref().unwrap_or(&filters).needs());
    let mut gathering = Gathering::new(job, container.params(), beside, held, control);
    gathering.read()?;
    let Gathering { gathered, others, rows, skipped, inputs, asks, .. } = gathering;
    phase("read");

    let (total, known) = judge(job, &filters, pair.as_ref(), beside, gathered, control)?;
    phase("test");
    let mut attacked = Vec::new();
    if job.adversary > 0 {
        let asked = (container.params(), pair.as_ref().unwrap_or(&filters));
        attacked = attack(asked, &known, job.adversary, job.threads, control)?;
        phase("adversary");
    }

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
        attacked,
    };
    let report = conclude_pair(&container, removed.as_ref(), findings, job.with(), job.threads)?;
    phase("count");
    let doubts = doubts(&container, job, asks, &report);
    Ok(Report { inputs, doubts, phases, ..report })
}

/// What is to be said of the classes of the members, and of those of the keys that are outside.
fn doubts(container: &Mapped, job: &Job, [members, outside]: [Classes; 2], report: &Report) -> Vec<Doubt> {
    let (file, fields) = (container.about().key_classes(), &job.recipe.key);
    let mut hits = Hits::default();
    for group in &report.groups {
        hits.asked += group.keys;
        hits.found += group.keys.saturating_sub(group.false_negatives);
    }
    let mut doubts = classes::of_scan(file, fields, members, hits);
    for doubt in classes::of_question(file, fields, outside) {
        if !doubts.iter().any(|said| said.asks == doubt.asks) {
            doubts.push(doubt);
        }
    }
    doubts
}

/// Opens the filters, and those of what was removed since; reads all of both, since damage would be
/// blamed on the data.
fn open(job: &Job) -> Result<(Mapped, Option<RemovedKeys>)> {
    let (container, _) = foreign::open_to_ask(&job.filters, &job.said)?;
    count_min::refuse(&job.filters, container.params(), count_min::OfSets::Test)?;
    parallel::each(job.threads, container.params().groups.len(), |group| {
        container.verify(group).map_err(Error::file(&job.filters))
    })?;
    let removed = job.removed.as_ref().map(|path| RemovedKeys::open(path, container.params())).transpose()?;
    removed.as_ref().map_or(Ok(()), RemovedKeys::verify)?;
    Ok((container, removed))
}

/// The keys of all inputs on their way to the test.
struct Gathering<'a> {
    job: &'a Job,
    params: &'a Params,
    beside: Beside,
    held: usize,
    control: &'a Control,
    /// What each thread gathered.
    gathered: Vec<Gather>,
    /// Groups that have no filter.
    others: Mutex<Names>,
    rows: u64,
    skipped: u64,
    inputs: Vec<Explained>,
    /// The classes of the values that members and keys outside are made from.
    asks: [Classes; 2],
}

impl<'a> Gathering<'a> {
    fn new(job: &'a Job, params: &'a Params, beside: Beside, held: usize, control: &'a Control) -> Self {
        let (gathered, inputs) = (Vec::new(), Vec::new());
        let others = Mutex::default();
        let asks = [Classes::NONE; 2];
        Gathering { job, params, beside, held, control, gathered, others, rows: 0, skipped: 0, inputs, asks }
    }

    /// Gathers all keys that the job names.
    fn read(&mut self) -> Result<()> {
        let job = self.job;
        let mut tables = Vec::new();
        if !job.inputs.is_empty() {
            let sources = Sources::open(&job.inputs, &job.options, &job.recipe.columns())?;
            tables.push((sources, job.recipe.clone(), false));
        }
        if !job.negatives.is_empty() {
            let (sources, recipe) = open_negatives(job)?;
            tables.push((sources, recipe, true));
        }
        self.inputs.extend(tables.iter().flat_map(|(sources, ..)| sources.explain()));
        let read = self.inputs.iter().map(|input| &input.path).chain([&job.filters]).chain(&job.removed);
        let mut aside = Aside::open(&job.bad_rows, [], read)?;
        for (sources, recipe, negatives) in &tables {
            self.asks[usize::from(*negatives)] = sources.classes(&recipe.key_columns());
            self.scan(sources, recipe, *negatives, aside.as_ref())?;
            aside.as_mut().map_or(Ok(()), Aside::settle)?;
        }
        aside::finish(aside)?;
        let random = random_keys(job, self.params, self.beside, self.held, self.control)?;
        self.gathered.extend(random);
        Ok(())
    }

    /// Gathers the keys of a table with their groups; or as keys that are known to be outside.
    fn scan(
        &mut self,
        sources: &Sources,
        recipe: &Recipe,
        negatives: bool,
        aside: Option<&Aside>,
    ) -> Result<()> {
        let outside = self.params.groups.len() as u32;
        let sink = |_| {
            let gather = Gather::new(self.beside, self.held);
            key_rows(
                self.params,
                recipe,
                (&self.job.bad_rows).into(),
                negatives.then_some(outside),
                &self.others,
                gather,
            )
            .with_aside(aside)
        };
        for sink in sources.scan((0..self.job.threads).map(sink).collect(), self.control)? {
            self.rows += sink.rows.iter().sum::<u64>();
            self.skipped += sink.skipped;
            self.gathered.push(sink.take);
        }
        Ok(())
    }
}

/// What turns rows into keys for the test: with the number of their group, in which those without a filter
/// come after `outside`; or all of one number.
pub(super) fn key_rows<'a>(
    params: &'a Params,
    recipe: &'a Recipe,
    on_bad: OnBad,
    all: Option<u32>,
    others: &'a Mutex<Names>,
    gather: Gather,
) -> KeyRows<'a, Gather> {
    let first = params.groups.len() as u32 + 1;
    let groups = all.map_or(Groups::KnownFirst { params, first, others }, Groups::One);
    KeyRows::new(recipe, params.common.hash, on_bad, groups, gather)
}

/// Judges all keys, part by part. Where an attack follows, one key of each group is told, too.
fn judge(
    job: &Job,
    filters: &Filters<'_>,
    pair: Option<&Filters<'_>>,
    beside: Beside,
    gathered: Vec<Gather>,
    control: &Control,
) -> Result<(Found, KnownKeys)> {
    let disk = |source: io::Error| Error::Io { path: std::env::temp_dir(), source };
    let (mut parts, mut heaps): (Vec<Vec<Part>>, Vec<Heaps>) = Default::default();
    parts.resize_with(PARTS, Vec::new);
    for gather in gathered {
        let (of_thread, more) = gather.finish().map_err(disk)?;
        of_thread.into_iter().zip(&mut parts).for_each(|(part, parts)| parts.push(part));
        heaps.extend(more);
    }
    let parts: Vec<Mutex<Vec<Part>>> = parts.into_iter().map(Mutex::new).collect();
    control.begin(PARTS as u64);
    // The memory of threads serves part after part.
    let desks: Mutex<Vec<(PartJudge<'_>, Part)>> = Mutex::default();
    let found = parallel::each(job.threads, PARTS, |number| {
        control.check()?;
        let desk = desks.lock().expect("no holder panics").pop();
        let (mut judge, mut all) = desk.unwrap_or_else(|| (PartJudge::new(filters, pair), Part::default()));
        for part in std::mem::take(&mut *parts[number].lock().expect("no holder panics")) {
            all.absorb(part, beside).map_err(disk)?;
        }
        all.extend(number, &heaps);
        let known = match job.adversary {
            0 => KnownKeys::default(),
            _ => KnownKeys::of(&all, beside, filters.len()),
        };
        let found = judge.judge(&mut all);
        all.clear();
        desks.lock().expect("no holder panics").push((judge, all));
        control.advance(1);
        Ok((found, known))
    })?;
    let (mut total, mut all_known) = (Found::default(), KnownKeys::default());
    for (found, known) in found {
        total.add(&found);
        all_known.add(known);
    }
    Ok((total, all_known))
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
pub(super) fn gather_random(
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
