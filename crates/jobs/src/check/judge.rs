//! The keys of one part against all filters.

use serde::{Deserialize, Serialize};

use super::gather::{Beside, Part, Record};
use super::single::{ByGroup, each_is_alone};
use crate::ask::{Answers, Filters, TILE};
use tamis_make::batch::{Keeps, KeyBatch, Needs};

/// What the keys of a part showed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Distinct keys.
    pub keys: u64,
    /// Keys given as outside that are members of a group.
    pub removed: u64,
    /// Keys that belong to more than one filter.
    pub shared: u64,
    /// By filter.
    pub filters: Vec<Hits>,
    /// Members of each group that has no filter.
    pub strangers: Vec<u64>,
}

/// What one filter said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hits {
    /// Of all keys.
    pub all: u64,
    /// Keys that belong to it.
    pub members: u64,
    /// And were found.
    pub found: u64,
    /// And are taken for removed.
    pub lost: u64,
}

/// Adds the numbers of other keys, filter by filter.
pub(super) fn add_hits(mine: &mut Vec<Hits>, theirs: &[Hits]) {
    mine.resize(mine.len().max(theirs.len()), Hits::default());
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        mine.all += theirs.all;
        mine.members += theirs.members;
        mine.found += theirs.found;
        mine.lost += theirs.lost;
    }
}

impl Found {
    pub fn add(&mut self, other: &Found) {
        self.keys += other.keys;
        self.removed += other.removed;
        self.shared += other.shared;
        add_hits(&mut self.filters, &other.filters);
        self.strangers.resize(self.strangers.len().max(other.strangers.len()), 0);
        for (mine, theirs) in self.strangers.iter_mut().zip(&other.strangers) {
            *mine += theirs;
        }
    }

    /// Notes a key, of which these are the groups.
    fn see(&mut self, same: &[Record], outside: u32) {
        self.keys += 1;
        self.removed += u64::from(same.len() > 1 && same.iter().any(|record| record.group == outside));
        self.shared += u64::from(same.iter().filter(|record| record.group < outside).count() > 1);
        for record in same.iter().filter(|record| record.group > outside) {
            self.add_strangers((record.group - outside - 1) as usize, 1);
        }
    }

    /// Notes members of a group that has no filter.
    fn add_strangers(&mut self, group: usize, members: u64) {
        self.strangers.resize(self.strangers.len().max(group + 1), 0);
        self.strangers[group] += members;
    }
}

/// Tests the keys of a part, in memory of its own.
pub(super) struct PartJudge<'f> {
    /// The filters that were built.
    first: &'f Filters<'f>,
    /// The same, where what was removed since does not pass.
    pair: Option<&'f Filters<'f>>,
    beside: Beside,
    answers: Answers,
    keys: KeyBatch,
    found: Vec<bool>,
    passed: Vec<bool>,
    by_group: ByGroup,
    table: Vec<u32>,
}

impl<'f> PartJudge<'f> {
    pub fn new(first: &'f Filters<'f>, pair: Option<&'f Filters<'f>>) -> Self {
        let needs = pair.unwrap_or(first).needs();
        PartJudge {
            first,
            pair,
            beside: Beside(needs),
            answers: Answers::default(),
            keys: KeyBatch::new(Keeps { groups: true, needs, ..Keeps::default() }),
            found: Vec::new(),
            passed: Vec::new(),
            by_group: ByGroup::default(),
            table: Vec::new(),
        }
    }

    /// What the keys of a part show. Numbers of groups: those of the filters first, then `outside`, the
    /// number of the filters, for keys of none; then groups without a filter.
    pub fn judge(&mut self, part: &mut Part) -> Found {
        let outside = self.first.len() as u32;
        let mut found = Found { filters: vec![Hits::default(); self.first.len()], ..Found::default() };
        if self.pair.is_none() && self.beside.0 == Needs::Hash && self.judge_single(&part.records, &mut found)
        {
            return found;
        }
        // The same key may come again in the same group, with another slot.
        part.dedup();
        for same in part.records.chunk_by(|a, b| a.hash == b.hash) {
            found.see(same, outside);
        }
        let mut last = None;
        for records in part.records.chunks(TILE) {
            part.load(records, self.beside, &mut self.keys);
            self.ask_members(&mut found.filters);
            // A key of several groups is counted once: mostly, every record has a key of its own.
            let distinct = last != Some(records[0].hash) && records.is_sorted_by(|a, b| a.hash < b.hash);
            if !distinct {
                let mut firsts = records.to_vec();
                firsts.dedup_by_key(|record| record.hash);
                firsts.retain(|record| last != Some(record.hash));
                part.load(&firsts, self.beside, &mut self.keys);
            }
            last = records.last().map(|record| record.hash);
            let filters = self.pair.unwrap_or(self.first);
            self.answers.count(filters, &self.keys, |filter, hits| found.filters[filter].all += hits);
        }
        found
    }

    /// The same, where every record has a key of its own and groups have many of them: tiles are of one group each, so
    /// that what its filter finds in them are its members. False where that is not so.
    fn judge_single(&mut self, records: &[Record], found: &mut Found) -> bool {
        if !self.by_group.sort(records) || !each_is_alone(records, &mut self.table) {
            return false;
        }
        let outside = self.first.len();
        found.keys += records.len() as u64;
        for (group, hashes) in self.by_group.each() {
            for tile in hashes.chunks(TILE) {
                self.keys.clear();
                self.keys.push_hashes(tile.iter().copied());
                self.answers.count(self.first, &self.keys, |filter, hits| {
                    found.filters[filter].all += hits;
                    if filter == group {
                        found.filters[filter].members += tile.len() as u64;
                        found.filters[filter].found += hits;
                    }
                });
            }
            if group > outside {
                found.add_strangers(group - outside - 1, hashes.len() as u64);
            }
        }
        true
    }

    /// Asks the filters of groups about their members.
    fn ask_members(&mut self, hits: &mut [Hits]) {
        self.answers.own(self.first, &self.keys, &mut self.found);
        for (group, found) in self.keys.groups().iter().zip(&self.found) {
            if let Some(hits) = hits.get_mut(*group as usize) {
                hits.members += 1;
                hits.found += u64::from(*found);
            }
        }
        let Some(pair) = self.pair else { return };
        self.answers.own(pair, &self.keys, &mut self.passed);
        let answers = self.found.iter().zip(&self.passed);
        for (group, _) in self.keys.groups().iter().zip(answers).filter(|(_, (found, passed))| found > passed)
        {
            hits[*group as usize].lost += 1;
        }
    }
}
