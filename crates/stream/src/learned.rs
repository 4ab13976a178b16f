//! What the training stream has taught so far: filters or counters in memory, one sketch per group,
//! of a fixed size or growing.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use tamis::arch::map::Words;
use tamis::counting::Counting;
use tamis::countmin::{CountMin, Update};
use tamis::format::{self, Tally};
use tamis::params::{Common, GroupParams, Name, Params};
use tamis::scalable::{self, Scalable};
use tamis::sizing::Kind;
use tamis::sketch::Sketch;
use tamis_jobs::arena::{Placing, Private};
use tamis_jobs::ask::Filters;
use tamis_jobs::batch::{KeyBatch, Needs};
use tamis_jobs::health;
use tamis_jobs::output::{self, Mapped};
use tamis_jobs::plan::{self, Counters, Size};
use tamis_jobs::rows::{Key, Take};
use tamis_read::error::{Error, Result};

use super::source::Records;

/// How large filters are made.
#[derive(Debug, Clone, PartialEq)]
pub enum Sizing {
    /// As these parameters have it; groups that they lack are bad rows.
    Params(Params),
    /// For so many keys in each group; groups are found as they come.
    Keys(u64, Size),
    /// Sketches that count, with so many counters each; groups are found as they come.
    Counters(Counters),
    /// They grow, beginning with so many keys; groups are found as they come.
    Growing(u64, f64),
}

impl Sizing {
    /// The same for so many keys in each group, where it is for a number of keys.
    pub(super) fn for_keys(&self, keys: u64) -> Sizing {
        match self {
            Sizing::Keys(_, size) => Sizing::Keys(keys, *size),
            other => other.clone(),
        }
    }
}

/// A sketch with the name of its group.
type Named<'a> = (&'a Name, Sketch<&'a [u64]>);

/// In place of a group that has not come yet.
const NOWHERE: usize = usize::MAX;

/// Sketches that learn.
#[derive(Debug)]
pub(super) struct Learned {
    common: Common,
    sizing: Sizing,
    kept: Kept,
    /// Rows added to each group, in the order of what is kept.
    rows: Vec<u64>,
    /// Their weights, where sketches count; where keys can be removed, rows that were.
    totals: Vec<u64>,
    /// Where the groups are kept that the source has numbered.
    numbered: Vec<usize>,
    /// Where those are that grow.
    places: HashMap<Name, usize>,
    fresh: Vec<bool>,
}

#[derive(Debug)]
enum Kept {
    /// In one area, as in a file; sorted by name.
    Fixed { params: Params, words: Words },
    /// Each by itself, in the order in which they came.
    Growing(Vec<(Name, Scalable<Words>)>),
}

/// How full they are.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Fill {
    /// The share of bits that is set, or of counters that are not zero.
    pub fill: f64,
    /// The rate to expect now, of the group where it is highest; no number where sketches count.
    pub rate: f64,
    /// Distinct keys, estimated, over all groups; no number where sketches count.
    pub keys: f64,
    /// Bytes.
    pub bytes: u64,
    /// Those of the group that has most.
    pub most: f64,
    /// Groups.
    pub groups: u64,
    /// Those of them that surely hold more keys than they can at their rate.
    pub overfull: u64,
}

impl Learned {
    /// Nothing yet.
    pub(super) fn new(common: &Common, sizing: &Sizing) -> Result<Learned> {
        let grouped = common.recipe.group.is_some();
        let kept = match sizing {
            Sizing::Params(params) => Kept::fixed(params.clone())?,
            Sizing::Keys(keys, size) if !grouped => {
                let counts = vec![(Name::default(), *keys)];
                Kept::fixed(plan::parameters(common.clone(), counts, *size, 0)?)?
            }
            Sizing::Counters(counters) if !grouped => {
                Kept::fixed(counters.parameters(common.clone(), vec![Name::default()])?)?
            }
            Sizing::Keys(..) | Sizing::Counters(_) => Kept::fixed(Params::new(common.clone(), Vec::new())?)?,
            Sizing::Growing(keys, fpr) if !grouped => {
                Kept::Growing(vec![(Name::default(), Scalable::new(*keys, *fpr)?)])
            }
            Sizing::Growing(keys, fpr) => {
                Scalable::new(*keys, *fpr)?; // to refuse what is impossible before it is needed
                Kept::Growing(Vec::new())
            }
        };
        Ok(Learned::with(common, sizing, kept, Vec::new(), Vec::new()))
    }

    /// What a file holds.
    pub(super) fn load(common: &Common, sizing: &Sizing, file: &Mapped, path: &Path) -> Result<Learned> {
        let params = file.params();
        for group in 0..params.groups.len() {
            file.verify(group).map_err(Error::file(path))?;
        }
        let kept = if params.common.kind == Kind::Scalable {
            let mut filters = Vec::new();
            for (group, sketch) in params.groups.iter().zip(file.sketches()?) {
                if let Sketch::Scalable(filter) = sketch {
                    filters.push((group.group.clone(), filter.to_owned()?));
                }
            }
            Kept::Growing(filters)
        } else {
            let mut words = Placing::new(params).empty()?;
            words.copy_from_slice(file.data());
            Kept::Fixed { params: params.clone(), words }
        };
        let rows = file.tallies().iter().map(|tally| tally.rows).collect();
        let totals = file.tallies().iter().map(|tally| tally.seed).collect();
        Ok(Learned::with(common, sizing, kept, rows, totals))
    }

    fn with(
        common: &Common,
        sizing: &Sizing,
        kept: Kept,
        mut rows: Vec<u64>,
        mut totals: Vec<u64>,
    ) -> Learned {
        rows.resize(kept.names().count(), 0);
        totals.resize(rows.len(), 0);
        let known = knows_groups(common, sizing);
        let numbered = if known { (0..rows.len()).collect() } else { Vec::new() };
        let places = kept.names().cloned().zip(0..).collect();
        let (common, sizing) = (common.clone(), sizing.clone());
        Learned { common, sizing, kept, rows, totals, numbered, places, fresh: Vec::new() }
    }

    /// Makes room for the groups of these records, whose names the source has found: no others,
    /// since it reads ahead.
    pub(super) fn meet(&mut self, records: &Records, found: &[Name]) -> Result<()> {
        if records.keys.groups().is_empty() {
            return Ok(());
        }
        self.numbered.resize(self.numbered.len().max(found.len()), NOWHERE);
        let mut new = Vec::new();
        for &number in records.keys.groups() {
            let place = &mut self.numbered[number as usize];
            if *place == NOWHERE {
                *place = 0; // to be told below
                new.push(number as usize);
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        let names = new.iter().map(|&number| &found[number]).filter(|name| self.find(name).is_none());
        let names: Vec<Name> = names.cloned().collect();
        self.add_groups(names)?;
        // Where groups are kept may have changed for all.
        for (number, name) in found.iter().enumerate() {
            if self.numbered[number] != NOWHERE {
                self.numbered[number] = self.find(name).unwrap_or(NOWHERE);
            }
        }
        Ok(())
    }

    /// Makes room for groups that it has not.
    fn add_groups(&mut self, names: Vec<Name>) -> Result<()> {
        match (&mut self.kept, &self.sizing) {
            (Kept::Growing(filters), Sizing::Growing(keys, fpr)) => {
                for name in names {
                    self.places.insert(name.clone(), filters.len());
                    filters.push((name, Scalable::new(*keys, *fpr)?));
                    self.rows.push(0);
                    self.totals.push(0);
                }
            }
            (Kept::Fixed { params, .. }, sizing) if !names.is_empty() => {
                let all: Vec<Name> =
                    params.groups.iter().map(|group| group.group.clone()).chain(names).collect();
                let all = match sizing {
                    Sizing::Keys(keys, size) => {
                        let counts = all.into_iter().map(|name| (name, *keys)).collect();
                        plan::parameters(self.common.clone(), counts, *size, 0)?
                    }
                    Sizing::Counters(counters) => counters.parameters(self.common.clone(), all)?,
                    _ => return Ok(()),
                };
                self.lay_out(all)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The same with nothing in it.
    pub(super) fn empty(&self) -> Result<Learned> {
        Learned::new(&self.common, &self.sizing)
    }

    /// Adds what the other holds, which has the same parameters. Both have a fixed size: what grows
    /// cannot be united.
    pub(super) fn join(&mut self, other: &Learned) -> Result<()> {
        let Kept::Fixed { params: theirs, words: others } = &other.kept else { return Ok(()) };
        let names = other.kept.names().filter(|name| self.find(name).is_none());
        let names = names.cloned().collect();
        self.add_groups(names)?;
        self.forget_numbers();
        let Kept::Fixed { params, words } = &mut self.kept else { return Ok(()) };
        let (placing, places) = (Placing::new(params), sections(params));
        for (group, section) in sections(theirs).into_iter().enumerate() {
            let Some(at) = params.find(&theirs.groups[group].group.0) else { continue };
            placing.join(&mut words[places[at].clone()], &others[section]);
            self.rows[at] = self.rows[at].saturating_add(other.rows[group]);
            self.totals[at] = self.totals[at].saturating_add(other.totals[group]);
        }
        Ok(())
    }

    fn find(&self, name: &Name) -> Option<usize> {
        match &self.kept {
            Kept::Fixed { params, .. } => params.find(&name.0),
            Kept::Growing(_) => self.places.get(name).copied(),
        }
    }

    /// Puts what there is into an area with more groups.
    fn lay_out(&mut self, all: Params) -> Result<()> {
        let Kept::Fixed { params, words } = &self.kept else { return Ok(()) };
        let mut more = Placing::new(&all).empty()?;
        let (mut rows, mut totals) = (vec![0; all.groups.len()], vec![0; all.groups.len()]);
        let places = sections(&all);
        for (group, section) in sections(params).into_iter().enumerate() {
            let Some(at) = all.find(&params.groups[group].group.0) else { continue };
            more[places[at].clone()].copy_from_slice(&words[section]);
            (rows[at], totals[at]) = (self.rows[group], self.totals[group]);
        }
        self.kept = Kept::Fixed { params: all, words: more };
        (self.rows, self.totals) = (rows, totals);
        Ok(())
    }

    /// Adds records, whose groups it has [met](Self::meet).
    pub(super) fn train(&mut self, records: &Records) -> Result<()> {
        if records.is_empty() {
            return Ok(()); // there may be no group yet
        }
        let keys = &records.keys;
        let grouped = !keys.groups().is_empty();
        let group = |record: usize| if grouped { self.numbered[keys.groups()[record] as usize] } else { 0 };
        match &mut self.kept {
            Kept::Fixed { params, words } if params.common.kind.counts() => {
                // In their order: the conservative update depends on it.
                let parts = by_group(keys, params.groups.len(), group);
                for (at, section) in sections(params).into_iter().enumerate() {
                    let (shape, total) = (params.groups[at].shape, &mut self.totals[at]);
                    let update = match params.common.kind {
                        Kind::CountMinConservative => Update::Conservative,
                        _ => Update::Plain,
                    };
                    let mut sketch = CountMin::from_words(&mut words[section], shape, update, *total)?;
                    let (hashes, weights) = match &parts {
                        Some(parts) => (&parts[at].0[..], &parts[at].1[..]),
                        None => (keys.hashes(), keys.weights()),
                    };
                    match weights.is_empty() {
                        true => sketch.add_hashes(hashes),
                        false => sketch.add_weighted(hashes, weights),
                    }
                    *total = sketch.total();
                }
            }
            Kept::Fixed { params, words } => {
                let placing = Placing::new(params);
                let taken = std::mem::take(words);
                let mut into = Private::with(&placing, taken);
                for (record, &hash) in keys.hashes().iter().enumerate() {
                    let group = group(record) as u32;
                    into.take(Key { group, hash, bytes: keys.key(record), weight: 1 });
                }
                *words = into.finish();
            }
            Kept::Growing(filters) => {
                self.fresh.resize(records.len(), false);
                match by_group(keys, filters.len(), group) {
                    None => filters[0].1.insert_hashes(keys.hashes(), &mut self.fresh)?,
                    Some(parts) => {
                        for ((_, filter), (hashes, _)) in filters.iter_mut().zip(&parts) {
                            filter.insert_hashes(hashes, &mut self.fresh[..hashes.len()])?;
                        }
                    }
                }
            }
        }
        match grouped {
            false => self.rows[0] += records.len() as u64,
            true => (0..records.len()).for_each(|record| self.rows[group(record)] += 1),
        }
        Ok(())
    }

    /// Rows that were added, over all groups.
    pub(super) fn all_rows(&self) -> u64 {
        self.rows.iter().sum()
    }

    /// The keys for which each group is planned, where they are planned for all alike.
    pub(super) fn planned_keys(&self) -> Option<u64> {
        match self.sizing {
            Sizing::Keys(keys, _) => Some(keys),
            _ => None,
        }
    }

    /// Nothing yet, in filters for so many keys.
    pub(super) fn for_keys(&self, keys: u64) -> Result<Learned> {
        Learned::new(&self.common, &self.sizing.for_keys(keys))
    }

    /// Layers of filters that grow.
    pub(super) fn layers(&self) -> u64 {
        match &self.kept {
            Kept::Growing(filters) => filters.iter().map(|(_, filter)| filter.layers().count() as u64).sum(),
            Kept::Fixed { .. } => 0,
        }
    }

    /// Forgets how the source has numbered groups that it found: another one counts anew.
    pub(super) fn forget_numbers(&mut self) {
        if !knows_groups(&self.common, &self.sizing) {
            self.numbered.clear();
        }
    }

    /// How many bytes it takes; of groups that are found as they come, each one.
    pub(super) fn bytes(&self) -> Result<u64> {
        Ok(match (&self.kept, &self.sizing) {
            (Kept::Fixed { params, .. }, sizing) if params.groups.is_empty() => {
                let one = vec![Name::default()];
                let params = match sizing {
                    Sizing::Keys(keys, size) => {
                        plan::parameters(self.common.clone(), vec![(Name::default(), *keys)], *size, 0)?
                    }
                    Sizing::Counters(counters) => counters.parameters(self.common.clone(), one)?,
                    _ => return Ok(0),
                };
                params.layout().1 as u64 * 8
            }
            (Kept::Fixed { words, .. }, _) => words.len() as u64 * 8,
            (Kept::Growing(filters), _) => {
                filters.iter().map(|(_, filter)| filter.words().len() as u64 * 8).sum()
            }
        })
    }

    /// Removes records from filters that count, in their order; how many were there. Those of groups that
    /// never came were not.
    pub(super) fn remove(&mut self, records: &Records, found: &[Name]) -> Result<u64> {
        let mut places = vec![0];
        if !records.keys.groups().is_empty() {
            // A group may be there from before, though this run has not met it.
            let place = |(number, name): (usize, &Name)| match self.numbered.get(number) {
                Some(&place) if place != NOWHERE => place,
                _ => self.find(name).unwrap_or(NOWHERE),
            };
            places = found.iter().enumerate().map(place).collect();
        }
        let Kept::Fixed { params, words } = &mut self.kept else { return Ok(0) };
        let all = params.groups.len();
        // What is nowhere is set apart, and left there.
        let keys = &records.keys;
        let parts = by_group(keys, all + 1, |record| places[keys.groups()[record] as usize].min(all));
        let mut removed = 0;
        for (at, section) in sections(params).into_iter().enumerate() {
            let hashes = parts.as_ref().map_or(keys.hashes(), |parts| &parts[at].0);
            let mut filter = Counting::from_words(&mut words[section], params.groups[at].shape.hashes)?;
            let gone = filter.remove_hashes(hashes);
            // Full counters let more be removed than was added; what is noted is never more than that.
            self.totals[at] = self.totals[at].saturating_add(gone).min(self.rows[at]);
            removed += gone;
        }
        Ok(removed)
    }

    /// Whether these sketches count.
    pub(super) fn counts(&self) -> bool {
        self.common.kind.counts()
    }

    /// What its files are called.
    pub(super) fn name(&self) -> &'static str {
        if self.counts() { "counts" } else { "filter" }
    }

    /// The filters, with the names of their groups, in the order for people.
    fn sketches(&self) -> Result<Vec<Named<'_>>> {
        let mut sketches = Vec::new();
        match &self.kept {
            Kept::Fixed { params, words } => {
                for ((group, section), total) in params.groups.iter().zip(sections(params)).zip(&self.totals)
                {
                    let sketch = Sketch::from_words(params.common.kind, group, *total, &words[section])?;
                    sketches.push((&group.group, sketch));
                }
            }
            Kept::Growing(filters) => {
                for (name, filter) in filters {
                    let group = params_of(name, filter)?;
                    let sketch = Sketch::from_words(Kind::Scalable, &group, filter.newest(), filter.words())?;
                    sketches.push((name, sketch));
                }
            }
        }
        sketches.sort_by(|(a, _), (b, _)| a.compare_naturally(b));
        Ok(sketches)
    }

    /// The filters, to be asked, and the names of their groups, in the order for people.
    pub(super) fn filters(&self) -> Result<(Vec<&Name>, Filters<'_>)> {
        let (names, sketches): (Vec<&Name>, Vec<_>) = self.sketches()?.into_iter().unzip();
        let hashes = |sketch: &Sketch<&[u64]>| match sketch {
            Sketch::Bloom(filter) => filter.hashes(),
            _ => 0,
        };
        let most = sketches.iter().map(hashes).max().unwrap_or(0);
        let needs = Needs::new(self.common.kind, self.common.hash, most);
        Ok((names, Filters::of_sketches(needs, sketches)))
    }

    /// Writes all of it to a file like any other.
    pub(super) fn write(&self, path: &Path, threads: usize) -> Result<()> {
        match &self.kept {
            Kept::Fixed { params, words } => {
                // Zeros, where sketches do not count, and nothing was removed.
                output::write_container(path, params, &self.rows, &self.totals, words, threads)?;
            }
            Kept::Growing(filters) => {
                let groups = filters.iter().map(|(name, filter)| params_of(name, filter));
                let common = Common { kind: Kind::Scalable, ..self.common.clone() };
                let params = Params::new(common, groups.collect::<Result<_>>()?)?;
                let place = |(name, _): &(Name, _)| params.find(&name.0).unwrap_or(0);
                let (mut rows, mut seeds) = (vec![0; filters.len()], vec![0; filters.len()]);
                for (entry, count) in filters.iter().zip(&self.rows) {
                    (rows[place(entry)], seeds[place(entry)]) = (*count, entry.1.newest());
                }
                // Layers have whole lines: one filter lies in memory as it does in the file.
                if let [(_, filter)] = &filters[..] {
                    output::write_container(path, &params, &rows, &seeds, filter.words(), threads)?;
                    return Ok(());
                }
                let mut arena = Placing::new(&params).empty()?;
                let places = sections(&params);
                for entry in filters {
                    arena[places[place(entry)].clone()].copy_from_slice(entry.1.words());
                }
                output::write_container(path, &params, &rows, &seeds, &arena, threads)?;
            }
        }
        Ok(())
    }

    /// Counters that ran full; filters have none. Reads all of it.
    pub(super) fn counters_full(&self) -> Result<u64> {
        let full = |(_, sketch): &Named<'_>| match sketch {
            Sketch::CountMin(sketch) => sketch.census().saturated,
            _ => 0,
        };
        Ok(self.sketches()?.iter().map(full).sum())
    }

    /// How full it is. Reads all of it.
    pub(super) fn fill(&self) -> Result<Fill> {
        let (mut fill, mut ones, mut slots) = (Fill::default(), 0, 0);
        let mut see = |kind: Kind, group: &GroupParams, words: &[u64], rows: u64, seed: u64| {
            let tally = Tally { rows, seed, ones: format::used(kind, &group.shape, words), sum: 0 };
            let health = health::health(kind, group, &tally);
            fill.keys += health.keys;
            fill.most = fill.most.max(health.keys);
            fill.rate = fill.rate.max(health.rate);
            fill.groups += 1;
            fill.overfull += u64::from(health.overfull);
            fill.bytes += group.shape.bits() / 8;
            ones += tally.ones;
            slots += if kind.counts() { group.shape.slots } else { group.shape.cells(kind) };
        };
        match &self.kept {
            Kept::Fixed { params, words } => {
                for (number, (group, at)) in params.groups.iter().zip(sections(params)).enumerate() {
                    see(params.common.kind, group, &words[at], self.rows[number], self.totals[number]);
                }
            }
            Kept::Growing(filters) => {
                for ((name, filter), rows) in filters.iter().zip(&self.rows) {
                    see(Kind::Scalable, &params_of(name, filter)?, filter.words(), *rows, filter.newest());
                }
            }
        }
        fill.fill = ones as f64 / (slots as f64).max(1.0);
        if self.counts() {
            fill.rate = f64::NAN;
        }
        Ok(fill)
    }
}

#[cfg(test)]
impl Learned {
    /// All that makes up its file.
    pub(super) fn contents(&self) -> (Vec<Name>, Vec<u64>, Vec<u64>, Vec<u64>) {
        let Kept::Fixed { words, .. } = &self.kept else { panic!("it grows") };
        (self.kept.names().cloned().collect(), words.to_vec(), self.rows.clone(), self.totals.clone())
    }
}

impl Kept {
    fn fixed(params: Params) -> Result<Kept> {
        let words = Placing::new(&params).empty()?;
        Ok(Kept::Fixed { params, words })
    }

    fn names(&self) -> Box<dyn Iterator<Item = &Name> + '_> {
        match self {
            Kept::Fixed { params, .. } => Box::new(params.groups.iter().map(|group| &group.group)),
            Kept::Growing(filters) => Box::new(filters.iter().map(|(name, _)| name)),
        }
    }
}

/// The parameters of a filter as it has grown so far.
fn params_of(name: &Name, filter: &Scalable<Words>) -> Result<GroupParams> {
    let (keys, fpr) = (filter.first_keys(), filter.fpr());
    let shape = scalable::shape(keys, fpr, filter.layers().count() as u32)?;
    Ok(GroupParams { group: name.clone(), keys, fpr, shape })
}

/// The hashes and weights of each of so many groups, in the order of the records; nothing where there
/// is no need to set them apart.
fn by_group(
    keys: &KeyBatch,
    groups: usize,
    group: impl Fn(usize) -> usize,
) -> Option<Vec<(Vec<u64>, Vec<u64>)>> {
    if keys.groups().is_empty() {
        return None;
    }
    let mut parts = vec![<(Vec<u64>, Vec<u64>)>::default(); groups];
    for (record, &hash) in keys.hashes().iter().enumerate() {
        let (hashes, weights) = &mut parts[group(record)];
        hashes.push(hash);
        weights.extend(keys.weights().get(record));
    }
    Some(parts)
}

/// Whether groups are known beforehand and have the numbers of the parameters; others are found as
/// they come.
fn knows_groups(common: &Common, sizing: &Sizing) -> bool {
    matches!(sizing, Sizing::Params(_)) || common.recipe.group.is_none()
}

/// The words of each group.
fn sections(params: &Params) -> Vec<Range<usize>> {
    let (starts, _) = params.layout();
    let words = |group: &GroupParams| group.shape.words(params.common.kind) as usize;
    params.groups.iter().zip(starts).map(|(group, start)| start..start + words(group)).collect()
}
