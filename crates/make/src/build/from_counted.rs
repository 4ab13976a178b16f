//! Filters of the hashes that were counted: no second pass over the input.

use tamis::blocked::Blocked;
use tamis::bloom::Bloom;
use tamis::counting::Counting;
use tamis::fuse::{self, Fuse};
use tamis::params::{GroupParams, Params};
use tamis::sizing::Shape;
use tamis::sketch::Beside;
use tamis_read::Control;
use tamis_read::error::{Error, Result};

use super::sketches::{Bits, Need, OfHashes};
use super::{Built, Job, Refusal};
use crate::arena::{self, Placing};
use crate::count::Counted;
use crate::distinct::{Distinct, HashLog};
use crate::parallel;

/// Puts the keys that were counted into an arena, each once.
pub(crate) fn from_logs(
    params: Params,
    kind: OfHashes,
    counted: &Counted,
    logs: &[&HashLog],
    threads: usize,
    control: &Control,
) -> Result<Built> {
    let mut arena = Placing::new(&params).empty()?;
    let sections = arena::sections(&params, &mut arena);
    parallel::each(threads, sections.len(), |group| {
        control.check()?;
        let mut section = sections[group].lock().expect("no holder panics");
        let (shape, hashes) = (params.groups[group].shape, logs[group].hashes());
        match kind {
            OfHashes::Bits(Bits::Blocked) => {
                Blocked::from_words(&mut **section, shape.hashes())?.insert_hashes(hashes);
            }
            OfHashes::Bits(Bits::Bloom) => {
                Bloom::from_words(&mut **section, shape.slots(), shape.hashes())?.insert_hashes(hashes);
            }
            OfHashes::Counting => {
                Counting::from_words(&mut **section, shape.hashes())?.insert_hashes(hashes);
            }
        }
        Ok(())
    })?;
    drop(sections);
    let rows = match kind {
        OfHashes::Counting => counted.counts.groups().iter().map(Distinct::planned).collect(),
        OfHashes::Bits(_) => counted.groups.iter().map(|(_, rows)| *rows).collect(),
    };
    let beside = vec![Beside::empty(params.common.kind); params.groups.len()];
    Ok(Built { skipped: counted.skipped, ..Built::new(params, rows, beside, arena) })
}

/// Static filters, from the sets of all groups.
pub(crate) fn static_filters(job: &Job, counted: &Counted, control: &Control) -> Result<Built> {
    let params = of_counted(job, counted)?;
    let logs = counted.counts.logs().ok_or(Refusal::Estimated)?;
    let mut arena = Placing::new(&params).empty()?;
    let sections = arena::sections(&params, &mut arena);
    let beside = parallel::each(job.threads, sections.len(), |group| {
        control.check()?;
        let mut hashes = logs[group].hashes().to_vec();
        let built = Fuse::build(&mut hashes, params.groups[group].shape.width())?;
        sections[group].lock().expect("no holder panics").copy_from_slice(built.words());
        Ok(Beside::Seed(built.seed()))
    })?;
    drop(sections);
    let rows = counted.groups.iter().map(|(_, rows)| *rows).collect();
    Ok(Built { skipped: counted.skipped, ..Built::new(params, rows, beside, arena) })
}

/// The parameters that follow from what was counted.
pub(crate) fn of_counted(job: &Job, counted: &Counted) -> Result<Params> {
    match job.sketches.need() {
        Need::Keys(measure) => Ok(measure.parameters(job.common(), counted)?),
        Need::Slots(given) => with_slots(given, counted),
        Need::Names(each) => {
            let names = counted.groups.iter().map(|(name, _)| name.clone()).collect();
            Ok(each.parameters(job.common(), names)?)
        }
        Need::Nothing(params) => Ok(params.clone()),
    }
}

/// Width and rate as given; the number of slots follows from the keys.
fn with_slots(given: &Params, counted: &Counted) -> Result<Params> {
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
