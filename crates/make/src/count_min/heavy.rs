//! Keys of a large share.
//!
//! A sketch cannot list keys, so a second pass over the input does: each key whose estimate, with
//! all rows in, is at least the share of its group's total. Estimates are never below the truth, so
//! no key of that share is missing; and the list is a function of the parameters and the rows
//! alone, whatever the threads. In place of a share, a number of keys may be asked for.
//!
//! Of parts that are brought together (`merge`, `add`), the lists are: a key that has the share of
//! the whole has it of one part at least, or its weights would not sum up to it. What of both lists
//! has the share by the estimates of the whole, stays.

use std::cmp::Reverse;
use std::collections::HashMap;

use tamis::countmin::{CountMin, Heavy};
use tamis::format::{Beside, Tally};
use tamis::params::Params;
use tamis_read::error::Result;
use tamis_read::{Control, Sources};

use super::{Refusal, sketches};
use crate::build::Built;
use crate::count::KeyRules;
use crate::files::Mapped;
use crate::rows::{Groups, Key, Take};

/// Keys that are looked at together.
const BATCH: usize = 1024;

/// Which keys are listed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wanted {
    /// Those with at least this share of the total of their group: none is missing.
    Share(f64),
    /// This many of each group, those with the largest estimates: none is missing that has more than the smallest
    /// of these.
    Most(usize),
}

/// What was found in one group.
#[derive(Debug, Clone, Default)]
struct Found {
    /// Keys and their estimates.
    keys: HashMap<Box<[u8]>, u64>,
    /// Estimates below this are not listed.
    least: u64,
    /// The largest of those.
    below: u64,
}

impl Found {
    #[inline]
    fn see(&mut self, key: &[u8], estimate: u64, wanted: Wanted) {
        if estimate < self.least {
            self.below = self.below.max(estimate);
        } else if !self.keys.contains_key(key) {
            self.keys.insert(key.into(), estimate);
            if let Wanted::Most(most) = wanted
                && self.keys.len() >= most.saturating_mul(2).max(BATCH)
            {
                self.leave(most);
            }
        }
    }

    /// Leaves this many keys, those with the largest estimates; of equal ones, the first in the order of bytes. What
    /// stays depends on the set of keys alone, not on the order in which they came.
    fn leave(&mut self, most: usize) {
        if self.keys.len() <= most {
            return;
        }
        let mut ranked: Vec<(Reverse<u64>, Box<[u8]>)> =
            self.keys.drain().map(|(key, estimate)| (Reverse(estimate), key)).collect();
        ranked.select_nth_unstable(most);
        ranked.truncate(most);
        self.least = ranked.iter().map(|(Reverse(estimate), _)| *estimate).min().unwrap_or(u64::MAX);
        self.keys = ranked.into_iter().map(|(Reverse(estimate), key)| (key, estimate)).collect();
    }

    fn join(&mut self, other: Found, wanted: Wanted) {
        self.keys.extend(other.keys);
        self.below = self.below.max(other.below);
        if let Wanted::Most(most) = wanted {
            self.leave(most);
        }
    }
}

/// Finds heavy keys, on one thread.
struct Finder<'a> {
    sketches: &'a [CountMin<&'a [u64]>],
    wanted: Wanted,
    groups: Vec<u32>,
    hashes: Vec<u64>,
    estimates: Vec<u64>,
    /// The keys, one after the other, and where each ends.
    keys: Vec<u8>,
    ends: Vec<usize>,
    found: Vec<Found>,
}

impl<'a> Finder<'a> {
    fn new(sketches: &'a [CountMin<&'a [u64]>], wanted: Wanted) -> Self {
        let least = |sketch: &CountMin<&[u64]>| match wanted {
            Wanted::Share(share) => sketch.least(share),
            Wanted::Most(_) => 0,
        };
        let found = |sketch| Found { least: least(sketch), ..Found::default() };
        Finder {
            sketches,
            wanted,
            groups: Vec::new(),
            hashes: Vec::new(),
            estimates: Vec::new(),
            keys: Vec::new(),
            ends: Vec::new(),
            found: sketches.iter().map(found).collect(),
        }
    }

    fn flush(&mut self) {
        self.estimates.resize(self.hashes.len(), 0);
        match self.sketches {
            [only] => only.estimates(&self.hashes, &mut self.estimates),
            all => {
                let keys = self.groups.iter().zip(&self.hashes).zip(&mut self.estimates);
                keys.for_each(|((&group, &hash), found)| *found = all[group as usize].estimate_hash(hash));
            }
        }
        let mut start = 0;
        for ((&group, &estimate), &end) in self.groups.iter().zip(&self.estimates).zip(&self.ends) {
            self.found[group as usize].see(&self.keys[start..end], estimate, self.wanted);
            start = end;
        }
        self.groups.clear();
        self.hashes.clear();
        self.keys.clear();
        self.ends.clear();
    }

    fn finish(mut self) -> Vec<Found> {
        self.flush();
        self.found
    }
}

impl Take for Finder<'_> {
    #[inline]
    fn take(&mut self, key: Key<'_>) {
        self.groups.push(key.group);
        self.hashes.push(key.hash);
        self.keys.extend_from_slice(key.bytes);
        self.ends.push(self.keys.len());
        if self.hashes.len() >= BATCH {
            self.flush();
        }
    }
}

/// The totals of what was built and of what was there before.
fn totals(built: &Built, before: &[Tally]) -> Vec<u64> {
    let before = before.iter().map(|tally| tally.total_weight()).chain(std::iter::repeat(0));
    built.totals().zip(before).map(|(total, before)| total.saturating_add(before)).collect()
}

/// Keys that were listed in a pass of their own.
#[derive(Debug)]
pub(crate) struct Listed {
    /// Those of each group, in the order of their bytes.
    pub(crate) groups: Vec<Vec<Vec<u8>>>,
    /// The largest estimate in each group of a key that is not listed.
    pub(crate) below: Vec<u64>,
}

/// Reads the input once more, and lists keys of what was built, together with what was there before.
pub(crate) fn list(
    sources: &Sources,
    rules: KeyRules<'_>,
    built: &Built,
    before: &[Tally],
    wanted: Wanted,
    threads: usize,
    control: &Control,
) -> Result<Listed> {
    let totals = totals(built, before);
    let sketches = sketches(&built.params, &built.arena, &totals)?;
    let finder = |_| rules.rows(Groups::Known(&built.params), Finder::new(&sketches, wanted));
    let mut found = vec![Found::default(); sketches.len()];
    let mut rows = 0;
    for sink in sources.scan_dyn((0..threads).map(finder).collect(), control)? {
        rows += sink.rows.iter().sum::<u64>();
        for (all, some) in found.iter_mut().zip(sink.take.finish()) {
            all.join(some, wanted);
        }
    }
    if rows != built.rows.iter().sum::<u64>() {
        return Err(Refusal::InputChanged.into());
    }
    let below = found.iter().map(|found| found.below).collect();
    let sorted = |found: Found| {
        let mut keys: Vec<Vec<u8>> = found.keys.into_keys().map(Vec::from).collect();
        keys.sort_unstable();
        keys
    };
    Ok(Listed { groups: found.into_iter().map(sorted).collect(), below })
}

/// Lists the keys that have this share, and keeps them beside what was built.
pub(crate) fn keep_heavy(
    sources: &Sources,
    rules: KeyRules<'_>,
    built: &mut Built,
    before: &[Tally],
    share: f64,
    threads: usize,
    control: &Control,
) -> Result<()> {
    let Listed { groups, .. } = list(sources, rules, built, before, Wanted::Share(share), threads, control)?;
    built.heavy = Some(Heavy { share, groups });
    Ok(())
}

/// Brings lists together, those of what was built and others of the same groups: what still has the
/// share stays.
pub(crate) fn join_heavy(
    built: &mut Built,
    before: &[Tally],
    others: impl IntoIterator<Item = Heavy>,
) -> Result<()> {
    let totals = totals(built, before);
    let lists: Vec<Heavy> = built.heavy.take().into_iter().chain(others).collect();
    built.heavy = Some(joined(&built.params, &built.arena, &totals, &lists)?);
    Ok(())
}

fn joined(params: &Params, arena: &[u64], totals: &[u64], lists: &[Heavy]) -> Result<Heavy> {
    let share = lists.iter().map(|heavy| heavy.share).fold(0.0, f64::max);
    let scheme = params.common.hash;
    let mut groups = Vec::with_capacity(totals.len());
    for (group, sketch) in sketches(params, arena, totals)?.iter().enumerate() {
        let least = sketch.least(share);
        let mut keys: Vec<Vec<u8>> =
            lists.iter().flat_map(|heavy| heavy.groups[group].iter().cloned()).collect();
        keys.retain(|key| sketch.estimate_hash(scheme.identity(key)) >= least);
        keys.sort_unstable();
        keys.dedup();
        groups.push(keys);
    }
    Ok(Heavy { share, groups })
}

/// Those of these keys that still have the share in sketches that were merged.
pub(crate) fn weighed(params: &Params, arena: &[u64], beside: &[Beside], heavy: Heavy) -> Result<Heavy> {
    let totals: Vec<u64> = beside.iter().map(|beside| beside.total_weight()).collect();
    joined(params, arena, &totals, &[heavy])
}

/// The heavy keys of files that were merged to this; none where one of them keeps none. The share is
/// the largest of theirs: of smaller ones a list may miss keys.
pub(crate) fn merged_heavy(
    files: &[&Mapped],
    params: &Params,
    arena: &[u64],
    beside: &[Beside],
) -> Result<Option<Heavy>> {
    let mut lists = Vec::new();
    for file in files {
        let Some(heavy) = file.heavy() else { return Ok(None) };
        // Its groups, in their places among all.
        let mut groups = vec![Vec::new(); params.groups.len()];
        for (group, keys) in file.params().groups.iter().zip(&heavy.groups) {
            let at = params.find(&group.group.0).expect("all groups of all files are there");
            groups[at].clone_from(keys);
        }
        lists.push(Heavy { share: heavy.share, groups });
    }
    let totals: Vec<u64> = beside.iter().map(|beside| beside.total_weight()).collect();
    Ok(Some(joined(params, arena, &totals, &lists)?))
}
