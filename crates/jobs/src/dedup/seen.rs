//! What remembers the keys that came before.

use std::path::Path;

use tamis::blocked::{self, Blocked, LINE_BITS};
use tamis::memory::Words;
use tamis::params::{GroupParams, Name};
use tamis::scalable::{self, Scalable};
use tamis::sizing::{Kind, Shape};
use tamis::sketch::Sketch;
use tamis_read::error::{Error, Result};

use super::{Refusal, StateRefusal};
use tamis_make::files::Mapped;
use tamis_make::health;

/// Keys for which a growing filter begins.
const FIRST_KEYS: u64 = 1 << 20;

/// How much may be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// Whatever there is: the filter grows.
    Any,
    /// As much as fits into this many bytes.
    Bytes(u64),
}

/// The keys that came before.
#[derive(Debug)]
pub(super) enum Seen {
    Growing(Scalable<Words>),
    /// A filter that takes keys up to its rate and no more: those that come later are not remembered.
    Fixed {
        filter: Blocked<Words>,
        planned: GroupParams,
        /// Keys that are new to it by then: fewer than it would hold within its rate, since those that it
        /// mistakes for others count as well.
        most: u64,
        keys: u64,
    },
}

impl Seen {
    /// No keys yet. A first occurrence is mistaken for a repetition at most at this rate.
    pub(super) fn new(room: Room, fpr: f64) -> Result<Seen> {
        match room {
            Room::Any => Ok(Seen::Growing(Scalable::new(FIRST_KEYS, fpr)?)),
            Room::Bytes(bytes) => {
                let hashes = Kind::Blocked.shape_for_rate(FIRST_KEYS, fpr)?.hashes();
                let lines = bytes.saturating_mul(8) / LINE_BITS;
                let shape = Shape::Blocked { lines, hashes };
                let capacity = match lines {
                    0 => 0,
                    _ => shape.capacity(fpr).unwrap_or(0),
                };
                if capacity == 0 {
                    return Err(Refusal::NoRoom { bytes }.into());
                }
                let filter = Blocked::zeroed(lines, hashes)?;
                let planned = GroupParams::filter(Name::default(), capacity, fpr, shape);
                Ok(Seen::Fixed { filter, most: most_new(&planned), planned, keys: 0 })
            }
        }
    }

    /// Those that a file remembers; `keys` is how many, where its journal says so.
    pub(super) fn from_file(file: &Mapped, path: &Path, keys: Option<u64>) -> Result<Seen> {
        let group = &file.params().groups[0];
        match file.sketch(0)? {
            Sketch::Scalable(filter) => Ok(Seen::Growing(filter.to_owned()?)),
            Sketch::Blocked(filter) => {
                let kind = Kind::Blocked;
                let estimate =
                    || health::health(kind, group, &file.tallies()[0]).keys.min(u64::MAX as f64) as u64;
                let mut owned = Words::new(filter.words().len())?;
                owned.copy_from_slice(filter.words());
                Ok(Seen::Fixed {
                    filter: Blocked::from_words(owned, filter.hashes())?,
                    planned: group.clone(),
                    most: most_new(group),
                    keys: keys.unwrap_or_else(estimate),
                })
            }
            _ => Err(Error::input(path, StateRefusal::Kind { kind: file.params().common.kind })),
        }
    }

    /// Adds keys, one after the other, and tells which were not found before. Gives the number
    /// of those that are not remembered.
    pub(super) fn insert(&mut self, hashes: &[u64], fresh: &mut [bool]) -> Result<u64> {
        match self {
            Seen::Growing(filter) => {
                filter.insert_hashes(hashes, fresh)?;
                Ok(0)
            }
            Seen::Fixed { filter, most, keys, .. } => {
                let mut done = 0;
                while done < hashes.len() && *keys < *most {
                    let room = usize::try_from(*most - *keys).unwrap_or(usize::MAX);
                    let to = hashes.len().min(done.saturating_add(room));
                    fresh[done..to].fill(true);
                    *keys += filter.insert_fresh(&hashes[done..to], &mut fresh[done..to]);
                    done = to;
                }
                let (hashes, fresh) = (&hashes[done..], &mut fresh[done..]);
                filter.contains_hashes(hashes, fresh);
                fresh.iter_mut().for_each(|found| *found = !*found);
                Ok(fresh.iter().filter(|fresh| **fresh).count() as u64)
            }
        }
    }

    /// How probably a key that never came is found, with the keys that are in.
    pub(super) fn rate(&self) -> f64 {
        match self {
            Seen::Growing(filter) => filter.expected_rate(),
            Seen::Fixed { filter, keys, .. } => {
                let lines = filter.words().len() as u64 * 64 / LINE_BITS;
                let came = blocked::keys_that_came(*keys, lines, filter.hashes());
                filter.expected_rate(came as u64)
            }
        }
    }

    /// Keys that are remembered.
    pub(super) fn keys(&self) -> u64 {
        match self {
            Seen::Growing(filter) => filter.keys(),
            Seen::Fixed { keys, .. } => *keys,
        }
    }

    /// Its kind and parameters.
    pub(super) fn params(&self) -> Result<(Kind, GroupParams)> {
        match self {
            Seen::Growing(filter) => {
                let (keys, fpr) = (filter.first_keys(), filter.fpr());
                let shape = scalable::shape(keys, fpr, filter.layers().count() as u32)?;
                Ok((Kind::Scalable, GroupParams::filter(Name::default(), keys, fpr, shape)))
            }
            Seen::Fixed { planned, .. } => Ok((Kind::Blocked, planned.clone())),
        }
    }

    /// Its words, and what stands beside them in the directory.
    pub(super) fn words(&self) -> (&[u64], u64) {
        match self {
            Seen::Growing(filter) => (filter.words(), filter.newest()),
            Seen::Fixed { filter, .. } => (filter.words(), 0),
        }
    }
}

/// Keys that are new to a filter of this shape until its rate is reached.
fn most_new(group: &GroupParams) -> u64 {
    let capacity = group.shape.capacity(group.fpr()).unwrap_or(0);
    match group.shape {
        Shape::Blocked { lines, hashes } => {
            (blocked::new_keys_of(capacity, lines, hashes) as u64).max(capacity.min(1))
        }
        _ => capacity,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis::hash::xxh3;

    #[test]
    fn a_filter_of_fixed_size_that_is_full_remembers_no_more_and_loses_nothing() {
        let mut seen = Seen::new(Room::Bytes(64), 0.01).unwrap();
        let hashes: Vec<u64> = (0u64..1000).map(|i| xxh3(&i.to_le_bytes(), 0)).collect();
        let mut fresh = vec![false; 1000];
        let forgotten = seen.insert(&hashes, &mut fresh).unwrap();
        let firsts = fresh.iter().filter(|fresh| **fresh).count() as u64;
        assert!(seen.keys() > 10 && forgotten > 0);
        assert_eq!(firsts, seen.keys() + forgotten);
        assert!(firsts > 950, "first occurrences are not dropped because there is no room: {firsts}");
        let kept = seen.keys() as usize;
        seen.insert(&hashes, &mut fresh).unwrap();
        assert!(fresh[..kept].iter().all(|fresh| !fresh), "what was remembered still is");
    }

    /// Named after what was seen: at a rate of 0.5 a fixed size dropped 65 % of all keys, and half of
    /// them were expected.
    #[test]
    fn what_is_dropped_is_expected_and_stays_within_the_rate() {
        for (room, fpr) in [(Room::Bytes(30_000), 0.5), (Room::Bytes(30_000), 0.05), (Room::Any, 0.3)] {
            let mut seen = Seen::new(room, fpr).unwrap();
            let (mut expected, mut dropped, mut late) = (0.0, 0u64, 0u64);
            let (batches, each) = (if room == Room::Any { 40 } else { 100 }, 50_000u64);
            for batch in 0..batches {
                let hashes: Vec<u64> =
                    (0..each).map(|i| xxh3(&(batch * each + i).to_le_bytes(), 7)).collect();
                let mut fresh = vec![false; hashes.len()];
                let before = seen.rate();
                seen.insert(&hashes, &mut fresh).unwrap();
                let rate = 0.5 * (before + seen.rate());
                let passed = fresh.iter().filter(|fresh| **fresh).count() as u64;
                expected += passed as f64 * rate / (1.0 - rate);
                dropped += each - passed;
                late = each - passed;
            }
            let what = format!("{room:?} at {fpr}: {dropped} dropped, {expected} expected");
            assert!((expected / dropped as f64 - 1.0).abs() < 0.02, "{what}");
            let most = fpr * each as f64;
            assert!((late as f64) < most + 5.0 * most.sqrt(), "{what}, {late} of the last {each}");
        }
    }

    #[test]
    fn sizes_that_hold_nothing_are_refused() {
        assert!(Seen::new(Room::Bytes(0), 0.01).is_err());
        assert!(Seen::new(Room::Bytes(63), 0.01).is_err());
        assert!(Seen::new(Room::Any, 0.0).is_err());
    }
}
