//! What the training stream has taught so far: filters in memory, one per group, of a fixed size or
//! growing.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use tamis::arch::map::Words;
use tamis::format::Tally;
use tamis::params::{Common, GroupParams, Name, Params};
use tamis::scalable::{self, Scalable};
use tamis::sizing::Kind;
use tamis::sketch::Sketch;

use super::source::Records;
use crate::arena::{Placing, Private};
use crate::error::{Error, Result};
use crate::health;
use crate::output::{self, Mapped};
use crate::plan::{self, Size};
use crate::rows::{Key, Take};

/// How large filters are made.
#[derive(Debug, Clone, PartialEq)]
pub enum Sizing {
    /// As these parameters have it; groups that they lack are bad rows.
    Params(Params),
    /// For so many keys in each group; groups are found as they come.
    Keys(u64, Size),
    /// They grow, beginning with so many keys; groups are found as they come.
    Growing(u64, f64),
}

/// Filters that learn.
#[derive(Debug)]
pub(super) struct Learned {
    common: Common,
    sizing: Sizing,
    kept: Kept,
    /// Rows added to each group, in the order of what is kept.
    rows: Vec<u64>,
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
    /// The share of bits that is set.
    pub fill: f64,
    /// The rate to expect now, of the group where it is highest.
    pub rate: f64,
    /// Distinct keys, estimated, over all groups.
    pub keys: f64,
    /// Bytes.
    pub bytes: u64,
    /// Groups.
    pub groups: u64,
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
            Sizing::Keys(..) => Kept::fixed(Params::new(common.clone(), Vec::new())?)?,
            Sizing::Growing(keys, fpr) if !grouped => {
                Kept::Growing(vec![(Name::default(), Scalable::new(*keys, *fpr)?)])
            }
            Sizing::Growing(keys, fpr) => {
                Scalable::new(*keys, *fpr)?; // to refuse what is impossible before it is needed
                Kept::Growing(Vec::new())
            }
        };
        Ok(Learned::with(common, sizing, kept, Vec::new()))
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
        Ok(Learned::with(common, sizing, kept, rows))
    }

    fn with(common: &Common, sizing: &Sizing, kept: Kept, mut rows: Vec<u64>) -> Learned {
        rows.resize(kept.names().count(), 0);
        // Groups that are known beforehand have the numbers of the parameters; others as they come.
        let known = matches!(sizing, Sizing::Params(_)) || common.recipe.group.is_none();
        let numbered = if known { (0..rows.len()).collect() } else { Vec::new() };
        let places = kept.names().cloned().zip(0..).collect();
        let (common, sizing) = (common.clone(), sizing.clone());
        Learned { common, sizing, kept, rows, numbered, places, fresh: Vec::new() }
    }

    /// Makes room for the groups that the source has found, by its numbers.
    pub(super) fn meet(&mut self, found: &[Name]) -> Result<()> {
        let new: Vec<&Name> = found[self.numbered.len().min(found.len())..]
            .iter()
            .filter(|name| self.find(name).is_none())
            .collect();
        if !new.is_empty() {
            match (&mut self.kept, &self.sizing) {
                (Kept::Growing(filters), Sizing::Growing(keys, fpr)) => {
                    for name in new {
                        self.places.insert(name.clone(), filters.len());
                        filters.push((name.clone(), Scalable::new(*keys, *fpr)?));
                        self.rows.push(0);
                    }
                }
                (Kept::Fixed { params, .. }, Sizing::Keys(keys, size)) => {
                    let old = params.groups.iter().map(|group| &group.group);
                    let counts = old.chain(new).map(|name| (name.clone(), *keys)).collect();
                    let all = plan::parameters(self.common.clone(), counts, *size, 0)?;
                    self.lay_out(all)?;
                }
                _ => {}
            }
        }
        if self.numbered.len() < found.len() {
            self.numbered = found.iter().filter_map(|name| self.find(name)).collect();
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
        let mut rows = vec![0; all.groups.len()];
        let places = sections(&all);
        for (group, section) in sections(params).into_iter().enumerate() {
            let Some(at) = all.find(&params.groups[group].group.0) else { continue };
            more[places[at].clone()].copy_from_slice(&words[section]);
            rows[at] = self.rows[group];
        }
        self.kept = Kept::Fixed { params: all, words: more };
        self.rows = rows;
        Ok(())
    }

    /// Adds records.
    pub(super) fn train(&mut self, records: &Records) -> Result<()> {
        let grouped = !records.groups.is_empty();
        match &mut self.kept {
            Kept::Fixed { params, words } => {
                let placing = Placing::new(params);
                let taken = std::mem::replace(words, Words::zeroed(0).map_err(tamis::Error::Memory)?);
                let mut into = Private::with(&placing, taken);
                for (record, &hash) in records.hashes.iter().enumerate() {
                    let group = if grouped { self.numbered[records.groups[record] as usize] } else { 0 };
                    into.take(Key { group: group as u32, hash, bytes: records.key(record) });
                }
                *words = into.finish();
            }
            Kept::Growing(filters) => {
                self.fresh.resize(records.len(), false);
                if !grouped {
                    let (_, filter) = &mut filters[0];
                    filter.insert_hashes(&records.hashes, &mut self.fresh)?;
                } else {
                    let mut by_group = vec![Vec::new(); filters.len()];
                    for (&hash, &number) in records.hashes.iter().zip(&records.groups) {
                        by_group[self.numbered[number as usize]].push(hash);
                    }
                    for ((_, filter), hashes) in filters.iter_mut().zip(&by_group) {
                        filter.insert_hashes(hashes, &mut self.fresh[..hashes.len()])?;
                    }
                }
            }
        }
        match grouped {
            false => self.rows[0] += records.len() as u64,
            true => records.groups.iter().for_each(|&number| self.rows[self.numbered[number as usize]] += 1),
        }
        Ok(())
    }

    /// The filters, with the names of their groups, in the order for people.
    pub(super) fn sketches(&self) -> Result<Vec<(&Name, Sketch<&[u64]>)>> {
        let mut sketches = Vec::new();
        match &self.kept {
            Kept::Fixed { params, words } => {
                for (group, section) in params.groups.iter().zip(sections(params)) {
                    let sketch = Sketch::from_words(params.common.kind, group, 0, &words[section])?;
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

    /// Writes all of it to a file like any other.
    pub(super) fn write(&self, path: &Path, threads: usize) -> Result<()> {
        match &self.kept {
            Kept::Fixed { params, words } => {
                let seeds = vec![0; self.rows.len()];
                output::write_container(path, params, &self.rows, &seeds, words, threads)?;
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

    /// How full it is. Reads all of it.
    pub(super) fn fill(&self) -> Result<Fill> {
        let (mut fill, mut ones, mut bits) = (Fill::default(), 0, 0);
        let mut see = |kind: Kind, group: &GroupParams, words: &[u64], rows: u64, seed: u64| {
            let set = words.iter().map(|word| u64::from(word.count_ones())).sum();
            let health = health::health(kind, group, &Tally { rows, ones: set, seed, sum: 0 });
            fill.keys += health.keys;
            fill.rate = fill.rate.max(health.rate);
            fill.groups += 1;
            ones += set;
            bits += group.shape.bits();
        };
        match &self.kept {
            Kept::Fixed { params, words } => {
                let groups = params.groups.iter().zip(sections(params)).zip(&self.rows);
                groups.for_each(|((group, at), rows)| see(params.common.kind, group, &words[at], *rows, 0));
            }
            Kept::Growing(filters) => {
                for ((name, filter), rows) in filters.iter().zip(&self.rows) {
                    see(Kind::Scalable, &params_of(name, filter)?, filter.words(), *rows, filter.newest());
                }
            }
        }
        (fill.fill, fill.bytes) = (ones as f64 / (bits as f64).max(1.0), bits / 8);
        Ok(fill)
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

/// The words of each group.
fn sections(params: &Params) -> Vec<Range<usize>> {
    let (starts, _) = params.layout();
    let words = |group: &GroupParams| group.shape.words(params.common.kind) as usize;
    params.groups.iter().zip(starts).map(|(group, start)| start..start + words(group)).collect()
}
