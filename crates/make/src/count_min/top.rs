//! The most frequent keys.

use std::cmp::Reverse;
use std::path::Path;

use tamis::countmin::CountMin;
use tamis::params::{Common, Name, Params};
use tamis_read::error::{Error, Result};
use tamis_read::{Control, Explained, Sources};

use super::heavy::{Listed, Wanted, list};
use super::{OfCounts, Promise, Refusal, refuse_filters, sketches};
use crate::aside::{self, Aside};
use crate::build::{self, Job};
use crate::files;
use crate::files::Mapped;

/// A key of a large share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Its bytes.
    pub key: Vec<u8>,
    /// Its estimated weight.
    pub estimate: u64,
    /// Whether its counters ran full: there is no estimate then, and it is listed since it may have
    /// the share.
    pub full: bool,
}

/// The heavy keys of a group.
#[derive(Debug, Clone)]
pub struct TopGroup {
    /// The group.
    pub group: Name,
    /// What is promised of its estimates.
    pub promise: Promise,
    /// The keys, the heaviest first.
    pub keys: Vec<Hit>,
}

/// The heavy keys of all groups.
#[derive(Debug)]
pub struct Listing {
    /// Kind, hash and recipe.
    pub common: Common,
    /// Which keys are listed.
    pub wanted: Wanted,
    /// Where no key has the share: the largest that one has, if that is known.
    pub largest: Option<f64>,
    /// The groups, in the order for people.
    pub groups: Vec<TopGroup>,
    /// Rows left out.
    pub skipped: u64,
    /// How the inputs were understood.
    pub inputs: Vec<Explained>,
}

fn listing(
    params: &Params,
    sketches: &[CountMin<&[u64]>],
    kept: &[Vec<Vec<u8>>],
    below: &[u64],
    wanted: Wanted,
) -> Listing {
    let scheme = params.common.hash;
    let mut largest: Option<f64> = None;
    let mut groups = Vec::with_capacity(sketches.len());
    for (at, (group, sketch)) in params.groups.iter().zip(sketches).enumerate() {
        let promise = Promise::of(group, sketch.total());
        let least = match wanted {
            Wanted::Share(share) => sketch.least(share),
            Wanted::Most(_) => 0,
        };
        let mut below = below.get(at).copied().unwrap_or(0);
        let mut keys = Vec::new();
        for key in &kept[at] {
            let estimate = sketch.estimate_hash(scheme.identity(key));
            if estimate >= least {
                keys.push(Hit { key: key.clone(), estimate, full: sketch.is_full(estimate) });
            } else {
                below = below.max(estimate);
            }
        }
        keys.sort_by(|a, b| Reverse(a.estimate).cmp(&Reverse(b.estimate)).then_with(|| a.key.cmp(&b.key)));
        if below > 0 {
            largest = largest.into_iter().chain(promise.share(below)).reduce(f64::max);
        }
        groups.push(TopGroup { group: group.group.clone(), promise, keys });
    }
    groups.sort_by(|a, b| a.group.compare_naturally(&b.group));
    let none = groups.iter().all(|group| group.keys.is_empty());
    let largest = largest.filter(|_| none);
    Listing { common: params.common.clone(), wanted, largest, groups, skipped: 0, inputs: Vec::new() }
}

/// The heavy keys that are kept in a file: all of at least this share, or of the one that is kept.
pub fn top_of_file(path: &Path, share: Option<f64>) -> Result<Listing> {
    top_of_open(&files::open(path)?, path, share)
}

/// The same of a file that is open, of this name.
pub fn top_of_open(file: &Mapped, path: &Path, share: Option<f64>) -> Result<Listing> {
    refuse_filters(path, file.params(), OfCounts::Top)?;
    let heavy = file.heavy().ok_or_else(|| Error::input(path, Refusal::NoKeys))?;
    let share = share.unwrap_or(heavy.share);
    if share < heavy.share {
        return Err(Error::input(path, Refusal::SmallerShare { kept: heavy.share, asked: share }));
    }
    let totals: Vec<u64> = file.tallies().iter().map(|tally| tally.total_weight()).collect();
    let sketches = sketches(file.params(), file.data(), &totals)?;
    Ok(listing(file.params(), &sketches, &heavy.groups, &[], Wanted::Share(share)))
}

/// The heavy keys of a table: those of this share, or a number of them for each group.
pub fn top_of_data(job: &Job, wanted: Wanted, control: &Control) -> Result<Listing> {
    let job = &Job { sketches: job.sketches.without_heavy(), ..job.clone() };
    let mut sources = Sources::open(&job.inputs, &job.options, &job.recipe.columns())?;
    let inputs = sources.explain();
    let aside = Aside::open(&job.bad_rows, [], inputs.iter().map(|input| &input.path))?;
    sources.keep(); // a second pass lists the keys
    let built = build::make(job, &mut sources, aside.as_ref(), &mut |_, _| {}, control)?;
    aside::finish(aside)?;
    let rules = job.rules(None).again();
    let Listed { groups, below } = list(&sources, rules, &built, &[], wanted, job.threads, control)?;
    let totals: Vec<u64> = built.totals().collect();
    let sketches = sketches(&built.params, &built.arena, &totals)?;
    let listing = listing(&built.params, &sketches, &groups, &below, wanted);
    Ok(Listing { skipped: built.skipped, inputs, ..listing })
}
