//! Keys of a large share.
//!
//! A sketch cannot list keys, so a second pass over the input does: each key whose estimate, with
//! all rows in, is at least the share of its group's total. Estimates are never below the truth, so
//! no key of that share is missing; and the list is a function of the parameters and the rows
//! alone, whatever the threads.
//!
//! Of parts that are brought together (`merge`, `add`), the lists are: a key that has the share of
//! the whole has it of one part at least, or its weights would not sum up to it. What of both lists
//! has the share by the estimates of the whole, stays.

use std::collections::HashSet;

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

/// Finds heavy keys, on one thread.
struct Finder<'a> {
    sketches: &'a [CountMin<&'a [u64]>],
    least: &'a [u64],
    groups: Vec<u32>,
    hashes: Vec<u64>,
    estimates: Vec<u64>,
    /// The keys, one after the other, and where each ends.
    keys: Vec<u8>,
    ends: Vec<usize>,
    found: Vec<HashSet<Box<[u8]>>>,
}

impl<'a> Finder<'a> {
    fn new(sketches: &'a [CountMin<&'a [u64]>], least: &'a [u64]) -> Self {
        Finder {
            sketches,
            least,
            groups: Vec::new(),
            hashes: Vec::new(),
            estimates: Vec::new(),
            keys: Vec::new(),
            ends: Vec::new(),
            found: vec![HashSet::new(); sketches.len()],
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
            let (group, key) = (group as usize, &self.keys[start..end]);
            if estimate >= self.least[group] && !self.found[group].contains(key) {
                self.found[group].insert(key.into());
            }
            start = end;
        }
        self.groups.clear();
        self.hashes.clear();
        self.keys.clear();
        self.ends.clear();
    }

    fn finish(mut self) -> Vec<HashSet<Box<[u8]>>> {
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

/// Reads the input once more, and lists the keys that have this share of all that was built,
/// together with what was there before.
pub(crate) fn keep_heavy(
    sources: &Sources,
    rules: KeyRules<'_>,
    built: &mut Built,
    before: &[Tally],
    share: f64,
    threads: usize,
    control: &Control,
) -> Result<()> {
    let totals = totals(built, before);
    let sketches = sketches(&built.params, &built.arena, &totals)?;
    let least: Vec<u64> = sketches.iter().map(|sketch| sketch.least(share)).collect();
    let sinks = (0..threads)
        .map(|_| rules.rows(Groups::Known(&built.params), Finder::new(&sketches, &least)))
        .collect();
    let mut found: Vec<HashSet<Box<[u8]>>> = vec![HashSet::new(); sketches.len()];
    let mut rows = 0;
    for sink in sources.scan_dyn(sinks, control)? {
        rows += sink.rows.iter().sum::<u64>();
        for (all, some) in found.iter_mut().zip(sink.take.finish()) {
            all.extend(some);
        }
    }
    if rows != built.rows.iter().sum::<u64>() {
        return Err(Refusal::InputChanged.into());
    }
    let sorted = |keys: HashSet<Box<[u8]>>| {
        let mut keys: Vec<Vec<u8>> = keys.into_iter().map(Vec::from).collect();
        keys.sort_unstable();
        keys
    };
    built.heavy = Some(Heavy { share, groups: found.into_iter().map(sorted).collect() });
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
