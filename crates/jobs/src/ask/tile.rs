//! Keys against one sketch: the only place that knows what each kind of sketch is asked with.

use tamis::blocked::{Blocked, Mask};
use tamis::bloom::Positions;
use tamis::hash::ByBytes;
use tamis::layered::Answer;
use tamis::memory::Words;
use tamis::sketch::Sketch;

use super::extent::Extent;
use tamis_make::batch::{KeyBatch, Needs};

/// Keys that are counted together: what is made of this many stays in the nearest caches while one filter
/// after the other is asked.
pub const TILE: usize = 512;

/// What the sketch knows of one key. All but a layered filter say yes or no.
pub(super) fn answer(sketch: &Sketch<&[u64]>, keys: &KeyBatch, key: usize) -> Answer {
    let found = match (sketch, keys.by_bytes()) {
        (Sketch::Layered(filter), _) => return filter.ask(keys.keywords(key)),
        (Sketch::Bloom(filter), Some(by)) => filter.contains_bytes(by, keys.key(key)),
        (Sketch::Bloom(filter), _) if keys.has_lanes() => filter.contains_lanes(keys.lanes(key)),
        (Sketch::Bloom(filter), _) if keys.has_wide_lanes() => filter.contains_wide(keys.wide_lanes(key)),
        (Sketch::Scalable(filter), _) if keys.has_wide_lanes() => {
            let mut found = [false];
            filter.contains_all_wide(|_| keys.wide_lanes(key), &mut found);
            found[0]
        }
        (sketch, _) => sketch.contains_hash(keys.hashes()[key]),
    };
    if found { Answer::Whole } else { Answer::No }
}

/// Which keys may be in the set: of all, or of those whose rows are given. `hashes` is memory for those
/// of the latter.
pub(super) fn contains(
    sketch: &Sketch<&[u64]>,
    extent: Extent,
    keys: &KeyBatch,
    rows: Option<&[u32]>,
    hashes: &mut Vec<u64>,
    found: &mut Vec<bool>,
) {
    let count = rows.map_or(keys.len(), <[u32]>::len);
    found.resize(count, false);
    let row = |i: usize| rows.map_or(i, |rows| rows[i] as usize);
    if let (Sketch::Bloom(filter), Some(by)) = (sketch, keys.by_bytes()) {
        return found.iter_mut().enumerate().for_each(|(i, found)| {
            *found = filter.contains_bytes(by, keys.key(row(i)));
        });
    }
    match (sketch, rows) {
        (Sketch::Bloom(filter), _) if keys.has_lanes() => {
            found.iter_mut().enumerate().for_each(|(i, found)| {
                *found = filter.contains_lanes(keys.lanes(row(i)));
            });
        }
        (Sketch::Bloom(filter), _) if keys.has_wide_lanes() => {
            filter.contains_all_wide(|i| keys.wide_lanes(row(i)), found);
        }
        (Sketch::Scalable(filter), _) if keys.has_wide_lanes() => {
            filter.contains_all_wide(|i| keys.wide_lanes(row(i)), found);
        }
        (Sketch::Layered(filter), _) => {
            found.iter_mut().enumerate().for_each(|(i, found)| {
                *found = extent.finds(filter.ask(keys.keywords(row(i))));
            });
        }
        (sketch, None) => sketch.contains_hashes(keys.hashes(), found),
        (sketch, Some(rows)) => {
            hashes.clear();
            hashes.extend(rows.iter().map(|&row| keys.hashes()[row as usize]));
            sketch.contains_hashes(hashes, found);
        }
    }
}

/// The rate of just this filter, from what it holds, where keys are placed by what is needed of them.
pub(super) fn rate_now(sketch: &Sketch<&[u64]>, needs: Needs) -> f64 {
    match (sketch, needs) {
        (Sketch::Bloom(filter), Needs::Lanes(_)) => filter.rate_now_by(ByBytes::Murmur3),
        (Sketch::Bloom(filter), Needs::Wide(foreign, _)) => filter.rate_now_by(ByBytes::Foreign(foreign)),
        (sketch, _) => sketch.rate_now(),
    }
}

/// What sketches of equal size share of a tile.
pub(super) fn size(sketch: &Sketch<&[u64]>) -> (u64, u32) {
    match sketch {
        Sketch::Bloom(filter) => (filter.bits(), filter.hashes()),
        Sketch::Blocked(filter) => (0, filter.hashes()),
        Sketch::Counting(filter) => (0, filter.hashes()),
        Sketch::Fuse(_)
        | Sketch::Ribbon(_)
        | Sketch::Scalable(_)
        | Sketch::Layered(_)
        | Sketch::CountMin(_) => (0, 0),
    }
}

/// What is made of up to [`TILE`] keys once for all filters of a size.
#[derive(Debug, Default)]
pub(super) struct Tile {
    masks: Vec<Mask>,
    /// The number of hashes for which the masks are.
    masks_for: u32,
    positions: Positions,
    /// The bits and hashes for which the positions are.
    positions_for: (u64, u32),
    found: Vec<bool>,
}

impl Tile {
    /// Forgets what was made of other keys.
    pub(super) fn begin(&mut self) {
        self.masks_for = 0;
        self.positions_for = (0, 0);
    }

    /// How many of the keys may be in the set. All of the batch have a key.
    pub(super) fn count(&mut self, sketch: &Sketch<&[u64]>, extent: Extent, keys: &KeyBatch) -> u64 {
        let hits = match sketch {
            Sketch::Blocked(filter) => filter.count_masks(keys.hashes(), self.masks(filter.hashes(), keys)),
            Sketch::Counting(filter) => filter.count_masks(keys.hashes(), self.masks(filter.hashes(), keys)),
            Sketch::Bloom(filter) => filter.count_at(self.positions(filter.bits(), filter.hashes(), keys)),
            Sketch::Fuse(_)
            | Sketch::Ribbon(_)
            | Sketch::Scalable(_)
            | Sketch::CountMin(_)
            | Sketch::Layered(_) => {
                contains(sketch, extent, keys, None, &mut Vec::new(), &mut self.found);
                self.found.iter().filter(|found| **found).count()
            }
        };
        hits as u64
    }

    /// The masks of the keys with this number of hashes.
    fn masks(&mut self, hashes: u32, keys: &KeyBatch) -> &[Mask] {
        if self.masks_for != hashes {
            Blocked::<Words>::masks(hashes, keys.hashes(), &mut self.masks);
            self.masks_for = hashes;
        }
        &self.masks
    }

    /// The positions of the keys in classic filters of this size.
    fn positions(&mut self, bits: u64, hashes: u32, keys: &KeyBatch) -> &Positions {
        if self.positions_for != (bits, hashes) {
            if let Some(by) = keys.by_bytes() {
                let all: Vec<&[u8]> = (0..keys.len()).map(|key| keys.key(key)).collect();
                self.positions.of_bytes(by, &all, bits, hashes);
            } else if keys.has_lanes() {
                let lanes: Vec<&[u32]> = (0..keys.len()).map(|key| keys.lanes(key)).collect();
                self.positions.of_lanes(&lanes, bits, hashes);
            } else if keys.has_wide_lanes() {
                let lanes: Vec<&[u64]> = (0..keys.len()).map(|key| keys.wide_lanes(key)).collect();
                self.positions.of_wide(&lanes, bits, hashes);
            } else {
                self.positions.of_hashes(keys.hashes(), bits, hashes);
            }
            self.positions_for = (bits, hashes);
        }
        &self.positions
    }
}
