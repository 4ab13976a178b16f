//! Filters of the keys that were counted: no second pass over the input.

use std::sync::{Mutex, PoisonError};

use tamis::fuse::{self, Fuse};
use tamis::memory::Words;
use tamis::params::{GroupParams, Params};
use tamis::sizing::Shape;
use tamis::sketch::Beside;
use tamis_read::Control;
use tamis_read::error::{Error, Result};

use super::sketches::{Need, OfHashes};
use super::{Built, Job, Refusal};
use crate::arena::{self, Placing, Private, Ranges, Shared};
use crate::count::Counted;
use crate::pairs::{Batch, Pairs};
use crate::parallel;
use crate::rows::{Key, Take};

/// Puts the keys that were counted into an arena, each once.
pub(crate) fn from_pairs(
    params: Params,
    kind: OfHashes,
    counted: Counted,
    threads: usize,
    control: &Control,
) -> Result<Built> {
    let Counted { rows, pairs, skipped, .. } = counted;
    let pairs = pairs.ok_or(Refusal::Estimated)?;
    let rows = match kind {
        OfHashes::Counting => params.groups.iter().map(GroupParams::keys).collect(),
        OfHashes::Bits(_) => rows,
    };
    let arena = put_pairs(&pairs, &params, None, threads, control)?;
    drop(pairs);
    let beside = vec![Beside::empty(params.common.kind); params.groups.len()];
    Ok(Built { skipped, ..Built::new(params, rows, beside, arena) })
}

/// Puts pairs into an arena, which may hold something already.
pub(super) fn put_pairs(
    pairs: &Pairs,
    params: &Params,
    words: Option<Words>,
    threads: usize,
    control: &Control,
) -> Result<Words> {
    let placing = Placing::new(params);
    if arena::share(&placing, threads) {
        let mut words = words.map_or_else(|| placing.empty(), Ok)?;
        let ranges = Ranges::new(&placing, &mut words, threads);
        let sinks = put(pairs, &|| Ok(Shared::new(&placing, &ranges)), threads, control)?;
        sinks.into_iter().for_each(Shared::finish);
        drop(ranges);
        return Ok(words);
    }
    let words = Mutex::new(words);
    let private = || match words.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(words) => Ok(Private::with(&placing, words)),
        None => Private::new(&placing),
    };
    let mut arenas = put(pairs, &private, threads, control)?.into_iter().map(Private::finish);
    let mut all = match arenas.next() {
        Some(first) => first,
        None => private()?.finish(),
    };
    arenas.for_each(|words| placing.join(&mut all, &words));
    Ok(all)
}

/// Gives pairs to as many sinks as threads are at work.
fn put<T: Take>(
    pairs: &Pairs,
    sink: &(dyn Fn() -> Result<T> + Sync),
    threads: usize,
    control: &Control,
) -> Result<Vec<T>> {
    let idle: Mutex<Vec<T>> = Mutex::new(Vec::new());
    pairs.each(threads, control, &|batch| {
        let waiting = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut sink = waiting.map_or_else(sink, Ok)?;
        match batch {
            Batch::Hashes(group, hashes) => sink.take_hashes(group, hashes),
            batch => batch.each(|group, hash| sink.take(Key { group, hash, bytes: &[], weight: 1 })),
        }
        idle.lock().unwrap_or_else(PoisonError::into_inner).push(sink);
        Ok(())
    })?;
    Ok(idle.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Static filters, from the sets of all groups: as many at a time as the memory allows.
pub(crate) fn static_filters(job: &Job, mut counted: Counted, control: &Control) -> Result<Built> {
    let params = of_counted(job, &mut counted)?;
    let Counted { rows, pairs, skipped, .. } = counted;
    let mut pairs = pairs.ok_or(Refusal::Estimated)?;
    let largest = params.groups.iter().map(GroupParams::keys).max().unwrap_or(0);
    let most = params.groups.iter().map(building).max().unwrap_or(0);
    if most > job.memory {
        return Err(Refusal::StaticMemory { keys: largest, least: most }.into());
    }
    if most.saturating_add(pairs.held()) > job.memory {
        pairs.spill(control)?;
    }
    let room = job.memory - pairs.held();
    let mut arena = Placing::new(&params).empty()?;
    let sections = arena::sections(&params, &mut arena);
    let mut beside = Vec::with_capacity(sections.len());
    while beside.len() < sections.len() {
        let first = beside.len();
        let mut taken = 0u64;
        let some = params.groups[first..].iter().take_while(|group| {
            taken = taken.saturating_add(building(group));
            taken <= room
        });
        let some = some.count().max(1);
        let sets = sets(&pairs, &params.groups[first..first + some], first, control)?;
        beside.extend(parallel::each(job.threads, some, |group| {
            control.check()?;
            let mut hashes = std::mem::take(&mut *sets[group].lock().unwrap_or_else(PoisonError::into_inner));
            let group = first + group;
            let GroupParams { group: name, shape, .. } = &params.groups[group];
            let built = Fuse::build(&mut hashes, shape.width()).map_err(|error| match error {
                tamis::Error::Seeds { keys, seeds } => {
                    Refusal::ChosenKeys { group: name.clone(), keys, seeds }.into()
                }
                error => Error::from(error),
            })?;
            let mut section = sections[group].lock().unwrap_or_else(PoisonError::into_inner);
            section.copy_from_slice(built.words());
            Ok(Beside::Seed(built.seed()))
        })?);
    }
    drop(sections);
    Ok(Built { skipped, ..Built::new(params, rows, beside, arena) })
}

/// The hashes of some groups, from this one on.
fn sets(
    pairs: &Pairs,
    groups: &[GroupParams],
    first: usize,
    control: &Control,
) -> Result<Vec<Mutex<Vec<u64>>>> {
    let mut sets: Vec<Vec<u64>> =
        groups.iter().map(|group| Vec::with_capacity(group.keys() as usize)).collect();
    pairs.in_order(control, &mut |batch| {
        batch.each(|group, hash| {
            if let Some(set) = (group as usize).checked_sub(first).and_then(|at| sets.get_mut(at)) {
                set.push(hash);
            }
        });
    })?;
    Ok(sets.into_iter().map(Mutex::new).collect())
}

/// The memory that it takes to build a static filter, beside the filter: its hashes, 17 bytes for each slot,
/// and the filter once more.
fn building(group: &GroupParams) -> u64 {
    let Shape::Fuse { slots, .. } = group.shape else { return 0 };
    8 * group.keys() + 17 * slots + 8 * group.shape.words()
}

/// The parameters that follow from what was counted. The names of its groups go into them.
pub(crate) fn of_counted(job: &Job, counted: &mut Counted) -> Result<Params> {
    match job.sketches.need() {
        Need::Keys(measure) => Ok(measure.parameters(job.common(), counted)?),
        Need::Slots(given) => with_slots(given, counted),
        Need::Names(each) => {
            let names = counted.planned().into_iter().map(|(name, _)| name).collect();
            Ok(each.parameters(job.common(), names)?)
        }
        Need::Nothing(params) => Ok(params.clone()),
    }
}

/// Width and rate as given; the number of slots follows from the keys.
fn with_slots(given: &Params, counted: &mut Counted) -> Result<Params> {
    let counts = counted.planned();
    crate::plan::refuse_empty(&counts)?;
    let mut groups = Vec::new();
    for (name, keys) in counts {
        let found = given.find(&name.0).map(|at| &given.groups[at]);
        let planned = found.ok_or_else(|| Error::from(Refusal::UnknownGroup(name.clone())))?;
        let slots = fuse::shape(keys)?.slots;
        let shape = Shape::Fuse { slots, fingerprint_bits: planned.shape.width() };
        groups.push(GroupParams::filter(name, keys, planned.fpr(), shape));
    }
    Ok(Params::new(given.common.clone(), groups)?)
}
