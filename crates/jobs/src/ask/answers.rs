//! The questions that a batch of keys can be asked, and memory for the answers.

use super::filters::Filters;
use super::tile::{self, Tile};
use tamis_make::batch::{KeyBatch, NO_GROUP};

/// Asks filters about batches of keys. Each thread has one, whose memory serves batch after batch.
///
/// Rows without a key are in no group. Answers are written to the vector that the caller hands in, one for
/// each row.
#[derive(Debug, Default)]
pub struct Answers {
    asking: Asking,
    /// Answers to some of the rows.
    some: Vec<bool>,
    /// The rows that are asked about.
    rows: Vec<u32>,
    /// Where the next row of each group goes.
    next: Vec<u32>,
    tile: Tile,
}

/// Memory for one question.
#[derive(Debug, Default)]
struct Asking {
    hashes: Vec<u64>,
    /// Which keys may have been removed.
    gone: Vec<bool>,
}

impl Asking {
    /// Which keys pass the filter of a group: of all rows, or of these.
    fn ask(
        &mut self,
        filters: &Filters<'_>,
        group: usize,
        keys: &KeyBatch,
        rows: Option<&[u32]>,
        found: &mut Vec<bool>,
    ) {
        let extent = filters.extent();
        tile::contains(filters.sketch(group), extent, keys, rows, &mut self.hashes, found);
        if let Some(removed) = filters.removed(group) {
            tile::contains(removed, extent, keys, rows, &mut self.hashes, &mut self.gone);
            found.iter_mut().zip(&self.gone).for_each(|(found, gone)| *found &= !gone);
        }
    }
}

/// Rows without a key are in no group.
fn drop_keyless(keys: &KeyBatch, found: &mut [bool]) {
    keys.keyless().iter().for_each(|&row| found[row as usize] = false);
}

impl Answers {
    /// Which keys may be in this group.
    pub fn one(&mut self, filters: &Filters<'_>, keys: &KeyBatch, group: usize, found: &mut Vec<bool>) {
        self.asking.ask(filters, group, keys, None, found);
        drop_keyless(keys, found);
    }

    /// Which keys may be in any of these groups.
    pub fn any(
        &mut self,
        filters: &Filters<'_>,
        keys: &KeyBatch,
        groups: impl IntoIterator<Item = usize>,
        found: &mut Vec<bool>,
    ) {
        let mut groups = groups.into_iter();
        let Some(first) = groups.next() else {
            found.clear();
            return found.resize(keys.len(), false);
        };
        self.one(filters, keys, first, found);
        // A key that was found need not be sought in other groups.
        let rows = &mut self.rows;
        rows.clear();
        for (i, group) in groups.enumerate() {
            if i == 0 {
                rows.extend((0..keys.len() as u32).filter(|&row| !found[row as usize]));
            }
            self.asking.ask(filters, group, keys, Some(rows), &mut self.some);
            let mut some = self.some.iter();
            rows.retain(|&row| {
                let hit = some.next().is_some_and(|hit| *hit);
                found[row as usize] = hit;
                !hit
            });
        }
        drop_keyless(keys, found);
    }

    /// Which keys may be in the group of their own row. A group that has no filter holds nothing.
    pub fn own(&mut self, filters: &Filters<'_>, keys: &KeyBatch, found: &mut Vec<bool>) {
        found.clear();
        found.resize(keys.len(), false);
        let groups = keys.groups();
        sort_by_group(groups, filters.len(), &mut self.next, &mut self.rows);
        for rows in self.rows.chunk_by(|&a, &b| groups[a as usize] == groups[b as usize]) {
            let group = groups[rows[0] as usize] as usize;
            self.asking.ask(filters, group, keys, Some(rows), &mut self.some);
            rows.iter().zip(&self.some).for_each(|(&row, &hit)| found[row as usize] = hit);
        }
        drop_keyless(keys, found);
    }

    /// Which keys may be in which of these groups: pairs of a row and a group, by row, and of each row in
    /// the order in which the groups are given. Pairs, not a bit for each group: groups may be many, and a
    /// key is in few.
    pub fn groups(
        &mut self,
        filters: &Filters<'_>,
        keys: &KeyBatch,
        groups: impl IntoIterator<Item = usize>,
        pairs: &mut Vec<(u32, u32)>,
    ) {
        pairs.clear();
        for group in groups {
            self.asking.ask(filters, group, keys, None, &mut self.some);
            drop_keyless(keys, &mut self.some);
            let hits = self.some.iter().enumerate().filter(|(_, hit)| **hit);
            pairs.extend(hits.map(|(row, _)| (row as u32, group as u32)));
        }
        pairs.sort_by_key(|(row, _)| *row); // stable: groups stay in their order
    }

    /// Adds to the number of each group how many of the keys pass its filter. Batches have up to
    /// [`TILE`](super::TILE) keys, and no rows without one.
    pub fn count(&mut self, filters: &Filters<'_>, keys: &KeyBatch, mut add: impl FnMut(usize, u64)) {
        self.tile.begin();
        for &group in filters.by_size() {
            let passed = match filters.removed(group) {
                None => self.tile.count(filters.sketch(group), filters.extent(), keys),
                Some(_) => {
                    self.asking.ask(filters, group, keys, None, &mut self.some);
                    self.some.iter().filter(|hit| **hit).count() as u64
                }
            };
            add(group, passed);
        }
    }

    /// What each key counts for at most in a group; 0 where there is no key, or the sketch does not count.
    pub fn estimates(&mut self, filters: &Filters<'_>, keys: &KeyBatch, group: usize, estimates: &mut [u64]) {
        match filters.counter(group) {
            Some(sketch) => sketch.estimates(keys.hashes(), estimates),
            None => estimates.fill(0),
        }
        keys.keyless().iter().for_each(|&row| estimates[row as usize] = 0);
    }
}

/// The rows whose group has a filter, group after group, each group's in their order. `next` is memory to
/// work in.
fn sort_by_group(groups: &[u32], filters: usize, next: &mut Vec<u32>, rows: &mut Vec<u32>) {
    rows.clear();
    if filters > 4 * groups.len() {
        let known = |&row: &u32| (groups[row as usize] as usize) < filters;
        rows.extend((0..groups.len() as u32).filter(known));
        rows.sort_by_key(|&row| groups[row as usize]);
        return;
    }
    // Few groups: where the rows of each begin is counted, and nothing is compared.
    next.clear();
    next.resize(filters + 1, 0);
    let place = |group: u32| (group as usize).min(filters);
    groups.iter().for_each(|&group| next[place(group)] += 1);
    let mut sum = 0;
    for count in &mut *next {
        sum += std::mem::replace(count, sum);
    }
    let known = next[filters] as usize;
    rows.resize(groups.len(), NO_GROUP);
    for (row, &group) in groups.iter().enumerate() {
        let at = &mut next[place(group)];
        rows[*at as usize] = row as u32;
        *at += 1;
    }
    rows.truncate(known);
}
