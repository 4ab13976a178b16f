//! The keys of one part against all filters.

use tamis::arch::map::Words;
use tamis::blocked::{Blocked, Mask};
use tamis::bloom::Draws;
use tamis::sketch::Sketch;

use super::gather::{Part, Record};

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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Hits {
    /// Of all keys.
    pub all: u64,
    /// Keys that belong to it.
    pub members: u64,
    /// And were found.
    pub found: u64,
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
        }
        self.strangers.resize(self.strangers.len().max(other.strangers.len()), 0);
        for (mine, theirs) in self.strangers.iter_mut().zip(&other.strangers) {
            *mine += theirs;
        }
    }
}

/// Tests the keys of a part. Numbers of groups: those of the filters first, then `outside`, the
/// number of the filters, for keys of none; then groups without a filter.
pub(super) fn judge(mut part: Part, lanes: u32, sketches: &[Sketch<&[u64]>]) -> Found {
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
                let hits = &mut found.filters[record.group as usize];
                hits.members += 1;
                hits.found += u64::from(has(&sketches[record.group as usize], record, &part.lanes, lanes));
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
        tile.load(records, sketches);
        for (sketch, hits) in sketches.iter().zip(&mut found.filters) {
            hits.all += tile.count(sketch, records, &part.lanes, lanes);
        }
    }
    found
}

fn has(sketch: &Sketch<&[u64]>, record: &Record, all_lanes: &[u32], lanes: u32) -> bool {
    match sketch {
        Sketch::Bloom(filter) if lanes > 0 => {
            filter.contains_lanes(&all_lanes[record.slot as usize * lanes as usize..])
        }
        sketch => sketch.contains_hash(record.hash),
    }
}

/// Up to [`TILE`] keys, and what is computed once for all filters.
#[derive(Default)]
struct Tile {
    hashes: Vec<u64>,
    masks: Vec<Mask>,
    /// The number of hashes for which the masks are.
    masks_for: u32,
    draws: Draws,
    found: Vec<bool>,
}

impl Tile {
    fn load(&mut self, records: &[Record], sketches: &[Sketch<&[u64]>]) {
        self.hashes.clear();
        self.hashes.extend(records.iter().map(|record| record.hash));
        self.found.resize(records.len(), false);
        self.masks_for = 0;
        let bloom_hashes =
            |sketch: &Sketch<&[u64]>| if let Sketch::Bloom(filter) = sketch { filter.hashes() } else { 0 };
        let most = sketches.iter().map(bloom_hashes).max().unwrap_or(0);
        self.draws.make(&self.hashes, most);
    }

    fn mask(&mut self, hashes: u32) {
        Blocked::<Words>::masks(hashes, &self.hashes, &mut self.masks);
        self.masks_for = hashes;
    }

    fn count(&mut self, sketch: &Sketch<&[u64]>, records: &[Record], all_lanes: &[u32], lanes: u32) -> u64 {
        let hits = match sketch {
            Sketch::Blocked(filter) => {
                if filter.hashes() != self.masks_for {
                    self.mask(filter.hashes());
                }
                filter.count_masks(&self.hashes, &self.masks)
            }
            Sketch::Bloom(filter) if lanes == 0 => filter.count_draws(&self.draws),
            Sketch::Fuse(filter) => {
                filter.contains_hashes(&self.hashes, &mut self.found);
                self.found.iter().filter(|&&hit| hit).count()
            }
            sketch => records.iter().filter(|record| has(sketch, record, all_lanes, lanes)).count(),
        };
        hits as u64
    }
}
