//! Filters of the keys that were counted: no second pass over the input.

use std::sync::{Mutex, PoisonError};

use tamis::fuse;
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
    put_batches(&|work| pairs.each(threads, control, work), params, words, threads)
}

/// Gives batches to what it is handed, on some threads.
type Give<'a> = dyn Fn(&(dyn Fn(Batch<'_>) -> Result<()> + Sync)) -> Result<()> + 'a;

/// Puts batches that are given on this many threads into an arena, which may hold something already.
pub(super) fn put_batches(
    give: &Give<'_>,
    params: &Params,
    words: Option<Words>,
    threads: usize,
) -> Result<Words> {
    let placing = Placing::new(params);
    if arena::share(&placing, threads) {
        let mut words = words.map_or_else(|| placing.empty(), Ok)?;
        let ranges = Ranges::new(&placing, &mut words, threads);
        let sinks = put(give, &|| Ok(Shared::new(&placing, &ranges)))?;
        sinks.into_iter().for_each(Shared::finish);
        drop(ranges);
        return Ok(words);
    }
    let words = Mutex::new(words);
    let private = || match words.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(words) => Ok(Private::with(&placing, words)),
        None => Private::new(&placing),
    };
    let mut arenas = put(give, &private)?.into_iter().map(Private::finish);
    let mut all = match arenas.next() {
        Some(first) => first,
        None => private()?.finish(),
    };
    arenas.for_each(|words| placing.join(&mut all, &words));
    Ok(all)
}

/// Gives batches to as many sinks as threads are at work.
fn put<T: Take>(give: &Give<'_>, sink: &(dyn Fn() -> Result<T> + Sync)) -> Result<Vec<T>> {
    let idle: Mutex<Vec<T>> = Mutex::new(Vec::new());
    give(&|batch| {
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

/// Width and rate of static filters as given; the number of slots follows from the keys.
fn with_slots(given: &Params, counted: &mut Counted) -> Result<Params> {
    let counts = counted.planned();
    crate::plan::refuse_empty(&counts)?;
    let mut groups = Vec::new();
    for (name, keys) in counts {
        let found = given.find(&name.0).map(|at| &given.groups[at]);
        let planned = found.ok_or_else(|| Error::from(Refusal::UnknownGroup(name.clone())))?;
        let shape = match planned.shape {
            Shape::Ribbon { widths, .. } => Shape::Ribbon { keys, widths },
            shape => Shape::Fuse { slots: fuse::shape(keys)?.slots, fingerprint_bits: shape.width() },
        };
        groups.push(GroupParams::filter(name, keys, planned.fpr(), shape));
    }
    Ok(Params::new(given.common.clone(), groups)?)
}
