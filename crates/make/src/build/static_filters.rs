//! Static filters: of all hashes of a group at once.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tamis::fuse::Fuse;
use tamis::params::{GroupParams, Name, Params};
use tamis::ribbon::{self, Ribbon, Run, Solved, Supply, Widths};
use tamis::sizing::{Kind, Shape};
use tamis::sketch::Beside;
use tamis_read::Control;
use tamis_read::error::{Error, Result};

use super::from_counted::of_counted;
use super::{Built, Job, Refusal};
use crate::arena::{self, Placing};
use crate::count::Counted;
use crate::pairs::{Batch, Pairs};
use crate::parallel;

/// Static filters, from the sets of all groups: as many at a time as the memory allows.
pub(crate) fn static_filters(job: &Job, mut counted: Counted, control: &Control) -> Result<Built> {
    let params = of_counted(job, &mut counted)?;
    let Counted { rows, pairs, skipped, .. } = counted;
    let mut pairs = pairs.ok_or(Refusal::Estimated)?;
    let needs = params.groups.iter().map(Needs::of);
    let Needs { bytes: most, keys } = needs.max_by_key(|needs| needs.bytes).unwrap_or_default();
    if most > job.memory {
        return Err(Refusal::StaticMemory { kind: params.common.kind, keys, least: most }.into());
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
        if let Some(widths) = in_runs(&params.groups[first]) {
            let supply = Counts { pairs: &pairs, group: first as u32, threads: job.threads, control };
            let seed = by_runs(supply, &params, widths, room, &mut unlocked(&sections[first]))?;
            beside.push(Beside::Seed(seed));
            continue;
        }
        let mut taken = 0u64;
        let some = params.groups[first..].iter().take_while(|group| {
            taken = taken.saturating_add(Needs::of(group).bytes);
            taken <= room && in_runs(group).is_none()
        });
        let some = some.count().max(1);
        let sets = sets(&pairs, &params.groups[first..first + some], first, control)?;
        beside.extend(parallel::each(job.threads, some, |group| {
            control.check()?;
            let mut hashes = std::mem::take(&mut *unlocked(&sets[group]));
            let group = first + group;
            let mut section = unlocked(&sections[group]);
            let GroupParams { group: name, shape, .. } = &params.groups[group];
            let seed = match *shape {
                Shape::Ribbon { widths, .. } => Ribbon::build(&mut hashes, widths).map(|built| {
                    section.copy_from_slice(built.words());
                    built.seed()
                }),
                _ => Fuse::build(&mut hashes, shape.width()).map(|built| {
                    section.copy_from_slice(built.words());
                    built.seed()
                }),
            };
            Ok(Beside::Seed(seed.map_err(|error| refused(error, params.common.kind, name))?))
        })?);
    }
    drop(sections);
    Ok(Built { skipped, ..Built::new(params, rows, beside, arena) })
}

fn unlocked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why there is no filter of a group.
fn refused(error: tamis::Error, kind: Kind, group: &Name) -> Error {
    match error {
        tamis::Error::Seeds { keys, seeds } => {
            Refusal::ChosenKeys { kind, group: group.clone(), keys, seeds }.into()
        }
        error => error.into(),
    }
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

/// The memory that it takes to build a static filter, beside the filter; and for how many keys.
#[derive(Default)]
struct Needs {
    bytes: u64,
    keys: u64,
}

impl Needs {
    fn of(group: &GroupParams) -> Needs {
        let (keys, again) = (group.keys(), 8 * group.shape.words());
        match group.shape {
            // Its hashes, 18 bytes for each slot, and the filter once more.
            Shape::Fuse { slots, .. } => Needs { bytes: 8 * keys + 18 * slots + again, keys },
            Shape::Ribbon { widths, .. } => {
                let (of_run, bytes) = ribbon::run_needs(keys, widths);
                match ribbon::is_one_run(keys) {
                    true => Needs { bytes: bytes + 8 * keys + again, keys },
                    false => Needs { bytes: 2 * bytes, keys: of_run },
                }
            }
            _ => Needs::default(),
        }
    }
}

/// The widths of a filter that is built run by run: it has more than one.
fn in_runs(group: &GroupParams) -> Option<Widths> {
    match group.shape {
        Shape::Ribbon { widths, .. } if !ribbon::is_one_run(group.keys()) => Some(widths),
        _ => None,
    }
}

/// Builds the filter of one group run by run, in this much memory, and returns its seed.
fn by_runs(
    mut supply: Counts<'_>,
    params: &Params,
    widths: Widths,
    room: u64,
    section: &mut [u64],
) -> Result<u64> {
    let group = &params.groups[supply.group as usize];
    let keys = group.keys();
    let (_, run) = ribbon::run_needs(keys, widths);
    // A thread solves one run; half of the room, or more, is for the keys of those that wait.
    supply.threads = supply.threads.min((room / 2 / run).max(1) as usize);
    let held = room.saturating_sub(run * supply.threads as u64) / 8;
    ribbon::build_from(&mut supply, keys, widths, section, held).map_err(|failed| match failed {
        Failed::Reading(error) => error,
        Failed::Building(error) => refused(error, params.common.kind, &group.group),
    })
}

/// Why a filter could not be built run by run.
enum Failed {
    Reading(Error),
    Building(tamis::Error),
}

impl From<tamis::Error> for Failed {
    fn from(error: tamis::Error) -> Failed {
        Failed::Building(error)
    }
}

/// The keys of a group as they were counted.
struct Counts<'a> {
    pairs: &'a Pairs,
    group: u32,
    threads: usize,
    control: &'a Control,
}

impl Supply for Counts<'_> {
    type Error = Failed;

    fn read(&mut self, take: &mut (dyn FnMut(&[u64]) + Send)) -> Result<(), Failed> {
        let (mine, take) = (self.group, Mutex::new(take));
        let read = self.pairs.each(self.threads, self.control, &|batch| {
            match batch {
                Batch::Hashes(group, hashes) if group == mine => unlocked(&take)(hashes),
                batch => {
                    let mut some = Vec::new();
                    batch.each(|group, hash| {
                        if group == mine {
                            some.push(hash);
                        }
                    });
                    unlocked(&take)(&some);
                }
            }
            Ok(())
        });
        read.map_err(Failed::Reading)
    }

    fn work(&mut self, runs: Vec<Run>, work: &(dyn Fn(Run) -> Solved + Sync)) -> Result<Vec<Solved>, Failed> {
        let runs: Vec<_> = runs.into_iter().map(|run| Mutex::new(Some(run))).collect();
        let solved = parallel::each(self.threads, runs.len(), |at| {
            self.control.check()?;
            Ok(work(unlocked(&runs[at]).take().expect("a run is solved once")))
        });
        solved.map_err(Failed::Reading)
    }
}
