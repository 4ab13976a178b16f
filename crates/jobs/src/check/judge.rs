//! The keys of one part against all filters.

use serde::{Deserialize, Serialize};
use tamis::arch::map::Words;
use tamis::blocked::{Blocked, Mask};
use tamis::bloom::Positions;
use tamis::sketch::Sketch;

use super::gather::{Beside, Part, Record};

/// Keys are tested in tiles of this many, whose masks stay in the nearest caches while one
/// filter after the other is asked.
const TILE: usize = 512;

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

impl Found {
    pub fn add(&mut self, other: &Found) {
        self.keys += other.keys;
        self.removed += other.removed;
        self.shared += other.shared;
        self.filters.resize(self.filters.len().max(other.filters.len()), Hits::default());
        for (mine, theirs) in self.filters.iter_mut().zip(&other.filters) {
            mine.all += theirs.all;
            mine.members += theirs.members;
            mine.found += theirs.found;
            mine.lost += theirs.lost;
        }
        self.strangers.resize(self.strangers.len().max(other.strangers.len()), 0);
        for (mine, theirs) in self.strangers.iter_mut().zip(&other.strangers) {
            *mine += theirs;
        }
    }
}

/// Tests the keys of a part. Numbers of groups: those of the filters first, then `outside`, the
/// number of the filters, for keys of none; then groups without a filter. `order` is that of
/// [`by_size`]. Where there are filters of what was `removed`, what is in one of them does not pass.
pub(super) fn judge(
    mut part: Part,
    beside: Beside,
    sketches: &[Sketch<&[u64]>],
    removed: &[Option<Sketch<&[u64]>>],
    order: &[usize],
) -> Found {
    let removed_from = |group: usize| removed.get(group).and_then(Option::as_ref);
    let outside = sketches.len() as u32;
    let mut found = Found { filters: vec![Hits::default(); sketches.len()], ..Found::default() };
    part.records.sort_unstable();
    // The same key may come again in the same group, with another slot.
    part.records.dedup_by_key(|record| (record.hash, record.group));

    let mut keys: Vec<Record> = Vec::with_capacity(part.records.len());
    for same in part.records.chunk_by(|a, b| a.hash == b.hash) {
        keys.push(same[0]);
        found.removed += u64::from(same.len() > 1 && same.iter().any(|record| record.group == outside));
        found.shared += u64::from(same.iter().filter(|record| record.group < outside).count() > 1);
        for record in same {
            if record.group < outside {
                let group = record.group as usize;
                let in_it = |sketch| has(sketch, record, &part.lanes, beside);
                let hits = &mut found.filters[group];
                hits.members += 1;
                if in_it(&sketches[group]) {
                    hits.found += 1;
                    hits.lost += u64::from(removed_from(group).is_some_and(in_it));
                }
            } else if record.group > outside {
                let stranger = (record.group - outside - 1) as usize;
                found.strangers.resize(found.strangers.len().max(stranger + 1), 0);
                found.strangers[stranger] += 1;
            }
        }
    }
    found.keys = keys.len() as u64;

    let mut tile = Tile::default();
    for records in keys.chunks(TILE) {
        tile.load(records, &part.lanes, beside);
        for &filter in order {
            found.filters[filter].all += match removed_from(filter) {
                None => tile.count(&sketches[filter]),
                Some(gone) => {
                    let passes = |record: &&Record| {
                        has(&sketches[filter], record, &part.lanes, beside)
                            && !has(gone, record, &part.lanes, beside)
                    };
                    records.iter().filter(passes).count() as u64
                }
            };
        }
    }
    found
}

/// The numbers of the filters, those of equal size one after the other: they share what is made
/// of a tile for that size. A million keys make filters of some thousand different sizes at most.
pub(super) fn by_size(sketches: &[Sketch<&[u64]>]) -> Vec<usize> {
    let size = |&filter: &usize| match &sketches[filter] {
        Sketch::Bloom(filter) => (filter.bits(), filter.hashes()),
        Sketch::Blocked(filter) => (0, filter.hashes()),
        Sketch::Counting(filter) => (0, filter.hashes()),
        Sketch::Fuse(_) | Sketch::Scalable(_) | Sketch::Layered(_) | Sketch::CountMin(_) => (0, 0),
    };
    let mut order: Vec<usize> = (0..sketches.len()).collect();
    order.sort_by_key(size);
    order
}

fn has(sketch: &Sketch<&[u64]>, record: &Record, all_lanes: &[u32], beside: Beside) -> bool {
    match (sketch, beside) {
        (_, Beside::Nothing) => sketch.contains_hash(record.hash),
        (Sketch::Bloom(filter), _) => filter.contains_lanes(beside.of(all_lanes, record.slot)),
        (Sketch::Layered(filter), _) => {
            let mut keywords = Vec::new();
            push_keywords(beside.of(all_lanes, record.slot), &mut keywords);
            filter.contains_keywords(&keywords)
        }
        _ => sketch.contains_hash(record.hash),
    }
}

/// Adds the hashes of a record's keywords, as they are kept beside it.
fn push_keywords(beside: &[u32], to: &mut Vec<u64>) {
    let halves = beside.get(1..).unwrap_or_default().as_chunks::<2>().0;
    to.extend(halves.iter().map(|[low, high]| u64::from(*low) | u64::from(*high) << 32));
}

/// Up to [`TILE`] keys, and what is made once for all filters of a size.
#[derive(Default)]
struct Tile<'a> {
    hashes: Vec<u64>,
    /// Those of each key, where the filters are placed by murmur3.
    lanes: Vec<&'a [u32]>,
    /// The keywords of all records, and where those of each end.
    keywords: Vec<u64>,
    ends: Vec<usize>,
    masks: Vec<Mask>,
    /// The number of hashes for which the masks are.
    masks_for: u32,
    positions: Positions,
    /// The bits and hashes for which the positions are.
    positions_for: (u64, u32),
    found: Vec<bool>,
}

impl<'a> Tile<'a> {
    fn load(&mut self, records: &[Record], all_lanes: &'a [u32], beside: Beside) {
        self.hashes.clear();
        self.hashes.extend(records.iter().map(|record| record.hash));
        self.lanes.clear();
        self.keywords.clear();
        self.ends.clear();
        if beside != Beside::Nothing {
            self.lanes.extend(records.iter().map(|record| beside.of(all_lanes, record.slot)));
        }
        if let Beside::Keywords(_) = beside {
            for lanes in &self.lanes {
                push_keywords(lanes, &mut self.keywords);
                self.ends.push(self.keywords.len());
            }
        }
        self.masks_for = 0;
        self.positions_for = (0, 0);
    }

    /// Makes the masks for so many hashes, unless they are there.
    fn make_masks(&mut self, hashes: u32) {
        if self.masks_for != hashes {
            Blocked::<Words>::masks(hashes, &self.hashes, &mut self.masks);
            self.masks_for = hashes;
        }
    }

    fn count(&mut self, sketch: &Sketch<&[u64]>) -> u64 {
        let hits = match sketch {
            Sketch::Blocked(filter) => {
                self.make_masks(filter.hashes());
                filter.count_masks(&self.hashes, &self.masks)
            }
            Sketch::Counting(filter) => {
                self.make_masks(filter.hashes());
                filter.count_masks(&self.hashes, &self.masks)
            }
            Sketch::Bloom(filter) => {
                let size @ (bits, hashes) = (filter.bits(), filter.hashes());
                if self.positions_for != size {
                    match &self.lanes[..] {
                        [] => self.positions.of_hashes(&self.hashes, bits, hashes),
                        lanes => self.positions.of_lanes(lanes, bits, hashes),
                    }
                    self.positions_for = size;
                }
                filter.count_at(&self.positions)
            }
            Sketch::Fuse(_) | Sketch::Scalable(_) | Sketch::CountMin(_) => {
                self.found.resize(self.hashes.len(), false);
                sketch.contains_hashes(&self.hashes, &mut self.found);
                self.found.iter().filter(|&&hit| hit).count()
            }
            Sketch::Layered(filter) => {
                let mut from = 0;
                let hit = |&&end: &&usize| {
                    filter.contains_keywords(&self.keywords[std::mem::replace(&mut from, end)..end])
                };
                self.ends.iter().filter(hit).count()
            }
        };
        hits as u64
    }
}
