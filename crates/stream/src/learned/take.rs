//! Records that are learned, and keys that are taken out again.

use tamis::counting::Counting;
use tamis::countmin::{CountMin, Update};
use tamis::params::Name;
use tamis::sizing::Kind;
use tamis::sketch::Beside;
use tamis_make::arena::{Placing, Private};
use tamis_make::batch::KeyBatch;
use tamis_make::rows::{Key, Take};
use tamis_read::error::Result;

use super::{Kept, Learned, NOWHERE, sections};
use crate::source::Records;

impl Learned {
    /// Adds records, whose groups it has [met](Self::meet).
    pub(crate) fn train(&mut self, records: &Records) -> Result<()> {
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
                    let (shape, total) = (params.groups[at].shape, self.beside[at].total_weight());
                    let update = match params.common.kind {
                        Kind::CountMinConservative => Update::Conservative,
                        _ => Update::Plain,
                    };
                    let mut sketch = CountMin::from_words(&mut words[section], shape, update, total)?;
                    let (hashes, weights) = match &parts {
                        Some(parts) => (&parts[at].0[..], &parts[at].1[..]),
                        None => (keys.hashes(), keys.weights()),
                    };
                    match weights.is_empty() {
                        true => sketch.add_hashes(hashes),
                        false => sketch.add_weighted(hashes, weights),
                    }
                    self.beside[at] = Beside::TotalWeight(sketch.total());
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

    /// Removes records from filters that count, in their order; how many were there. Those of groups that
    /// never came were not.
    pub(crate) fn remove(&mut self, records: &Records, found: &[Name]) -> Result<u64> {
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
            let mut filter = Counting::from_words(&mut words[section], params.groups[at].shape.hashes())?;
            let gone = filter.remove_hashes(hashes);
            // Full counters let more be removed than was added; what is noted is never more than that.
            let before = self.beside[at].removed();
            self.beside[at] = Beside::RemovedRows(before.saturating_add(gone).min(self.rows[at]));
            removed += gone;
        }
        Ok(removed)
    }
}

/// The hashes and weights of each of this many groups, in the order of the records; nothing where there
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
