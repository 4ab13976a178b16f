//! From rows to counters.

use std::ops::{ControlFlow, Range};
use std::time::Instant;

use tamis::arch::map::Words;
use tamis::countmin::{CountMin, Update};
use tamis::params::{Name, Params};
use tamis_read::error::Result;
use tamis_read::{BadRow, Control, Next, RowResult, Sift, Sink, Sources};

use super::Refusal;
use super::heavy::keep_heavy;
use crate::arena::{self, Placing};
use crate::build::{Built, Job, Sizing, Taken, insert, taken};
use crate::count::{self, Making};
use crate::plan::Counters;
use crate::rows::{Groups, Key, KeyRows, Take};

/// The parameters for a table: only the names of its groups are looked for, where it has any.
pub fn plan(job: &Job, counters: Counters, control: &Control) -> Result<Params> {
    let sources = Sources::open(&job.inputs, &job.options, &job.common.recipe.columns())?;
    plan_rows(job, &sources, counters, control)
}

/// The same for rows that are open.
pub(crate) fn plan_rows(
    job: &Job,
    sources: &Sources,
    counters: Counters,
    control: &Control,
) -> Result<Params> {
    let names = names(sources, making(job), job.threads, control)?;
    counters.parameters(job.common.clone(), names)
}

fn making(job: &Job) -> Making<'_> {
    Making {
        recipe: &job.common.recipe,
        hash: job.common.hash,
        bad_rows: job.bad_rows,
        count_keywords: false,
    }
}

/// The names of the groups: the empty one where the recipe has none.
pub fn names(sources: &Sources, making: Making<'_>, threads: usize, control: &Control) -> Result<Vec<Name>> {
    if making.recipe.group.is_none() {
        return Ok(vec![Name::default()]);
    }
    let names = count::group_names(sources, making, threads, control)?;
    if names.is_empty() {
        return Err(Refusal::NoRows.into());
    }
    Ok(names)
}

/// Refuses a share of which no keys can be kept.
pub(crate) fn check_share(job: &Job, share: f64) -> Result<()> {
    if !job.common.kind.counts() {
        return Err(Refusal::NoShares { kind: job.common.kind }.into());
    }
    let epsilon = match &job.sizing {
        Sizing::Counters(counters) => counters.epsilon,
        Sizing::Params(params) => params.groups.iter().map(|group| group.fpr).fold(0.0, f64::max),
        Sizing::Count(_) | Sizing::Keys(..) => return Ok(()), // refused for another reason
    };
    if share > epsilon { Ok(()) } else { Err(Refusal::WithinError { share, epsilon }.into()) }
}

/// Builds sketches that count, and lists the heavy keys where the job asks for them.
pub(crate) fn build(
    job: &Job,
    sources: &mut Sources,
    making: Making<'_>,
    phase: &mut dyn FnMut(&'static str, Instant),
    control: &Control,
) -> Result<Built> {
    let begun = Instant::now();
    if job.heavy.is_some() {
        sources.keep(); // a second pass lists the keys
    }
    let params = match &job.sizing {
        Sizing::Params(params) => params.clone(),
        Sizing::Counters(counters) => {
            if making.recipe.group.is_some() {
                sources.keep();
            }
            let names = names(sources, making, job.threads, control)?;
            if making.recipe.group.is_some() {
                phase("groups", begun);
            }
            counters.parameters(job.common.clone(), names)?
        }
        Sizing::Count(_) | Sizing::Keys(..) => unreachable!("refused before the input is read"),
    };
    let building = Instant::now();
    let mut built = insert(sources, making, params, None, job.threads, control)?;
    phase("build", building);
    if let Some(share) = job.heavy {
        let listing = Instant::now();
        keep_heavy(sources, making, &mut built, &[], share, job.threads, control)?;
        phase("heavy keys", listing);
    }
    Ok(built)
}

/// Keys in the order of the input, on their way into counters.
#[derive(Debug, Default)]
struct Batch {
    groups: Vec<u32>,
    hashes: Vec<u64>,
    weights: Vec<u64>,
}

impl Take for Batch {
    #[inline]
    fn take(&mut self, key: Key<'_>) {
        self.groups.push(key.group);
        self.hashes.push(key.hash);
        self.weights.push(key.weight);
    }
}

/// Makes the keys of a chunk, on one thread.
struct Sifter<'a>(KeyRows<'a, Batch>);

impl Sink for Sifter<'_> {
    fn row(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        self.0.row(place, values)
    }

    fn bad_row(&mut self, place: Range<usize>, why: BadRow) -> RowResult {
        self.0.bad_row(place, why)
    }
}

impl Sift for Sifter<'_> {
    type Batch = Batch;

    fn batch(&mut self, _: &[u8], batch: &mut Batch) {
        batch.groups.clear();
        batch.hashes.clear();
        batch.weights.clear();
        std::mem::swap(batch, &mut self.0.take);
    }
}

/// Adds all keys of the input to conservative sketches, in the order of the input: the bytes are
/// those of one thread, whatever their number.
pub(crate) fn in_order(
    sources: &Sources,
    making: Making<'_>,
    params: Params,
    words: Option<Words>,
    threads: usize,
    control: &Control,
) -> Result<Built> {
    let mut words = words.map_or_else(|| Placing::new(&params).empty(), Ok)?;
    let sections = arena::sections(&params, &mut words);
    let mut sketches = Vec::with_capacity(sections.len());
    for (section, group) in sections.into_iter().zip(&params.groups) {
        let section = section.into_inner().expect("no holder panics");
        sketches.push(CountMin::from_words(section, group.shape, Update::Conservative, 0)?);
    }
    // Groups do not touch each other's counters: within one, the order of the rows is kept.
    let mut by_group: Vec<(Vec<u64>, Vec<u64>)> = vec![Default::default(); sketches.len()];
    let sifters =
        (0..threads).map(|_| Sifter(making.rows(Groups::Known(&params), Batch::default()))).collect();
    let sifters = sources.sift(
        sifters,
        |next| {
            let Next::Batch(batch, _) = next else { return Ok(ControlFlow::Continue(())) };
            if let [only] = &mut sketches[..] {
                only.add_weighted(&batch.hashes, &batch.weights);
                return Ok(ControlFlow::Continue(()));
            }
            for ((&group, &hash), &weight) in batch.groups.iter().zip(&batch.hashes).zip(&batch.weights) {
                let (hashes, weights) = &mut by_group[group as usize];
                hashes.push(hash);
                weights.push(weight);
            }
            for (sketch, (hashes, weights)) in sketches.iter_mut().zip(&mut by_group) {
                if !hashes.is_empty() {
                    sketch.add_weighted(hashes, weights);
                    hashes.clear();
                    weights.clear();
                }
            }
            Ok(ControlFlow::Continue(()))
        },
        control,
    )?;
    drop(sketches);
    let sinks = sifters.into_iter().map(|sifter| sifter.0).collect();
    let (_, Taken { rows, totals, skipped }) = taken(sinks, params.groups.len());
    Ok(Built {
        params,
        rows,
        seeds: totals,
        arena: words,
        skipped,
        estimated: false,
        lone_keywords: false,
        heavy: None,
    })
}
