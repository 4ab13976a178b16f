//! The most frequent keys.

use std::cmp::Reverse;
use std::path::Path;

use tamis::countmin::{CountMin, Heavy};
use tamis::params::{Common, Name, Params};
use tamis_read::error::{Error, Result};
use tamis_read::{Control, Explained, Sources};

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
    /// The share: no key that has it is missing.
    pub share: f64,
    /// The groups, in the order for people.
    pub groups: Vec<TopGroup>,
    /// Rows left out.
    pub skipped: u64,
    /// How the inputs were understood.
    pub inputs: Vec<Explained>,
}

fn listing(params: &Params, sketches: &[CountMin<&[u64]>], heavy: &Heavy, share: f64) -> Listing {
    let scheme = params.common.hash;
    let groups = params.groups.iter().zip(sketches).zip(&heavy.groups);
    let mut groups: Vec<TopGroup> = groups
        .map(|((group, sketch), keys)| {
            let least = sketch.least(share);
            let hit = |key: &Vec<u8>| {
                let estimate = sketch.estimate_hash(scheme.identity(key));
                let full = sketch.is_full(estimate);
                (estimate >= least).then(|| Hit { key: key.clone(), estimate, full })
            };
            let mut keys: Vec<Hit> = keys.iter().filter_map(hit).collect();
            keys.sort_by(|a, b| {
                Reverse(a.estimate).cmp(&Reverse(b.estimate)).then_with(|| a.key.cmp(&b.key))
            });
            TopGroup { group: group.group.clone(), promise: Promise::of(group, sketch.total()), keys }
        })
        .collect();
    groups.sort_by(|a, b| a.group.compare_naturally(&b.group));
    Listing { common: params.common.clone(), share, groups, skipped: 0, inputs: Vec::new() }
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
    Ok(listing(file.params(), &sketches, heavy, share))
}

/// The heavy keys of a table: those of the share that the job asks for.
pub fn top_of_data(job: &Job, control: &Control) -> Result<Listing> {
    let mut sources = Sources::open(&job.inputs, &job.options, &job.recipe.columns())?;
    let inputs = sources.explain();
    let aside = Aside::open(&job.bad_rows, [], inputs.iter().map(|input| &input.path))?;
    let built = build::make(job, &mut sources, aside.as_ref(), &mut |_, _| {}, control)?;
    aside::finish(aside)?;
    let heavy = built.heavy.as_ref().ok_or(Refusal::ShareMissing)?;
    let share = heavy.share;
    let totals: Vec<u64> = built.totals().collect();
    let sketches = sketches(&built.params, &built.arena, &totals)?;
    let listing = listing(&built.params, &sketches, heavy, share);
    Ok(Listing { skipped: built.skipped, inputs, ..listing })
}
