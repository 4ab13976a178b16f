use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::blocked::Blocked;
use crate::hash::xxh3;
use crate::memory::Words;
use crate::testing::{assert_rate, hashes};

/// A counter as docs/format.md has it: bit j of counter i is bit i of line j of its block.
fn counter(filter: &Counting<Words>, i: u64) -> u32 {
    let (block, within) = ((i / 512) as usize, (i % 512) as usize);
    let bit = |plane: usize| {
        let word = filter.words()[block * BLOCK_WORDS + plane * 8 + within / 64];
        (word >> (within % 64) & 1) as u32
    };
    (0..4).map(|plane| bit(plane) << plane).sum()
}

/// Counters as numbers, raised and lowered one by one; places from a `blocked` of one key.
struct Model {
    blocks: u64,
    hashes: u32,
    counters: HashMap<u64, u32>,
}

impl Model {
    fn places(&self, hash: u64) -> Vec<u64> {
        let mut one = Blocked::zeroed(self.blocks, self.hashes).unwrap();
        one.insert_hash(hash);
        (0..self.blocks * 512).filter(|i| one.words()[(i / 64) as usize] >> (i % 64) & 1 == 1).collect()
    }

    fn at(&self, place: u64) -> u32 {
        self.counters.get(&place).copied().unwrap_or(0)
    }

    fn contains(&self, hash: u64) -> bool {
        self.places(hash).iter().all(|&place| self.at(place) > 0)
    }

    fn add(&mut self, hash: u64) {
        for place in self.places(hash) {
            self.counters.insert(place, (self.at(place) + 1).min(MOST));
        }
    }

    fn remove(&mut self, hash: u64) -> bool {
        let there = self.contains(hash);
        for place in self.places(hash).into_iter().filter(|_| there) {
            let full = self.at(place) == MOST;
            self.counters.insert(place, self.at(place) - u32::from(!full));
        }
        there
    }
}

/// Few keys, so that they meet; some come often enough to fill their counters.
fn key() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..40, 1 => 0u64..2].prop_map(|n| xxh3(&n.to_le_bytes(), 7))
}

fn steps() -> impl Strategy<Value = Vec<(bool, u64)>> {
    prop::collection::vec((prop::bool::weighted(0.6), key()), 0..250)
}

fn keys(most: usize) -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(key(), 0..most)
}

fn filled(blocks: u64, hashes: u32, keys: &[u64]) -> Counting<Words> {
    let mut filter = Counting::zeroed(blocks, hashes).unwrap();
    filter.insert_hashes(keys);
    filter
}

proptest! {
    #[test]
    fn counters_are_what_the_definition_says(steps in steps(), blocks in 1u64..4, log in 0u32..6) {
        let mut filter = Counting::zeroed(blocks, 1 << log).unwrap();
        let mut model = Model { blocks, hashes: 1 << log, counters: HashMap::new() };
        for (add, hash) in steps {
            match add {
                true => {
                    filter.insert_hash(hash);
                    model.add(hash);
                }
                false => prop_assert_eq!(filter.remove_hash(hash), model.remove(hash)),
            }
            prop_assert_eq!(filter.contains_hash(hash), model.contains(hash));
        }
        for i in 0..blocks * 512 {
            prop_assert_eq!(counter(&filter, i), model.at(i));
        }
        let values = || model.counters.values();
        let census = Census {
            used: values().filter(|value| **value > 0).count() as u64,
            full: values().filter(|value| **value == MOST).count() as u64,
        };
        prop_assert_eq!(filter.census(), census);
        prop_assert_eq!(counters_used(filter.words()), census.used);
    }

    /// The promise to a user who removes only what is there.
    #[test]
    fn no_key_of_the_multiset_is_ever_missed(steps in steps(), blocks in 1u64..4, log in 0u32..6) {
        let mut filter = Counting::zeroed(blocks, 1 << log).unwrap();
        let mut held: HashMap<u64, u32> = HashMap::new();
        for (add, hash) in steps {
            let times = held.entry(hash).or_default();
            if add {
                filter.insert_hash(hash);
                *times += 1;
            } else if *times > 0 {
                prop_assert!(filter.remove_hash(hash), "what is there can be removed");
                *times -= 1;
            }
            for (hash, _) in held.iter().filter(|(_, times)| **times > 0) {
                prop_assert!(filter.contains_hash(*hash));
            }
        }
    }

    #[test]
    fn with_counters_above_zero_as_ones_it_is_the_blocked_filter(keys in keys(300), gone in keys(60), blocks in 1u64..6, log in 0u32..6) {
        let mut filter = filled(blocks, 1 << log, &keys);
        let mut blocked = Blocked::zeroed(blocks, 1 << log).unwrap();
        blocked.insert_hashes(&keys);
        let bits = filter.to_blocked().unwrap();
        prop_assert_eq!(bits.words(), blocked.words());
        prop_assert_eq!(filter.rate_now(), blocked.rate_now());
        let mut found = [vec![false; gone.len()], vec![false; gone.len()]];
        filter.contains_hashes(&gone, &mut found[0]);
        blocked.contains_hashes(&gone, &mut found[1]);
        prop_assert_eq!(&found[0], &found[1]);
        let mut masks = Vec::new();
        Blocked::<Words>::masks(1 << log, &gone, &mut masks);
        prop_assert_eq!(filter.count_masks(&gone, &masks), blocked.count_masks(&gone, &masks));
        // What is added last and taken away again leaves no trace where nothing is full.
        if filled(blocks, 1 << log, &[keys.clone(), gone.clone()].concat()).census().full == 0 {
            let before = filter.words().to_vec();
            filter.insert_hashes(&gone);
            prop_assert_eq!(filter.remove_hashes(&gone), gone.len() as u64);
            prop_assert_eq!(filter.words(), &before[..]);
        }
    }

    #[test]
    fn all_doors_agree(adds in keys(300), gone in keys(150), blocks in 1u64..6, log in 0u32..6) {
        let mut many = filled(blocks, 1 << log, &adds);
        let mut single = Counting::zeroed(blocks, 1 << log).unwrap();
        adds.iter().for_each(|&hash| single.insert_hash(hash));
        prop_assert_eq!(many.words(), single.words());
        let mut placed = Words::new(blocks as usize * BLOCK_WORDS).unwrap();
        let touches: Vec<(usize, u64)> =
            adds.iter().map(|&hash| (5 + crate::blocked::line_of(hash, blocks), hash)).collect();
        add_to_blocks(&mut placed, 5, &touches, 1 << log);
        prop_assert_eq!(many.words(), &placed[..]);
        let removed = gone.iter().filter(|&&hash| single.remove_hash(hash)).count() as u64;
        prop_assert_eq!(many.remove_hashes(&gone), removed);
        prop_assert_eq!(many.words(), single.words());
    }

    #[test]
    fn however_keys_are_split_the_merged_counters_are_the_same(keys in keys(400), cut in any::<prop::sample::Index>(), blocks in 1u64..4, log in 0u32..6) {
        let whole = filled(blocks, 1 << log, &keys);
        let (one, two) = keys.split_at(cut.index(keys.len() + 1));
        let mut merged = filled(blocks, 1 << log, two);
        merged.merge(&filled(blocks, 1 << log, one)).unwrap();
        prop_assert_eq!(merged.words(), whole.words());
    }
}

#[test]
fn a_full_counter_stays_whatever_is_removed() {
    let key = hashes(0, 1)[0];
    let mut filter = Counting::zeroed(1, 8).unwrap();
    filter.insert_hashes(&[key; 14]);
    assert_eq!(filter.census(), Census { used: 8, full: 0 });
    filter.insert_hashes(&[key; 3]);
    assert_eq!(filter.census(), Census { used: 8, full: 8 });
    assert_eq!(filter.remove_hashes(&[key; 40]), 40);
    assert!(filter.contains_hash(key));
    assert_eq!(filter.census().full, 8);
}

#[test]
fn filters_of_other_shapes_are_not_merged() {
    let mut filter = Counting::zeroed(2, 8).unwrap();
    assert!(filter.merge(&Counting::zeroed(3, 8).unwrap()).is_err());
    assert!(filter.merge(&Counting::zeroed(2, 4).unwrap()).is_err());
}

/// Seeded; after half of the keys has gone, the rate is that of the rest.
#[test]
fn the_rate_after_removals_is_that_of_what_is_left() {
    for fpr in [0.1, 0.01, 1e-3] {
        let all = hashes(0, 50_000);
        let mut filter = Counting::for_rate(50_000, fpr).unwrap();
        filter.insert_hashes(&all);
        assert_eq!(filter.remove_hashes(&all[..25_000]), 25_000);
        let probes = hashes(1 << 40, 1_000_000);
        let mut found = vec![false; probes.len()];
        filter.contains_hashes(&probes, &mut found);
        let hits = found.iter().filter(|&&hit| hit).count();
        assert_rate(hits, probes.len(), filter.rate_now(), 0.0, &format!("at {fpr}"));
        assert_rate(hits, probes.len(), filter.expected_rate(25_000), 0.05, &format!("at {fpr}"));
        let twin = filled((filter.words().len() / BLOCK_WORDS) as u64, filter.hashes(), &all[25_000..]);
        assert_eq!(filter.words(), twin.words(), "removal undoes adding");
    }
}

#[test]
fn words_that_make_no_filter_are_refused() {
    for (len, hashes) in [(0, 8), (8, 8), (31, 8), (33, 8), (32, 0), (32, 3), (32, 64)] {
        assert!(Counting::from_words(vec![0; len], hashes).is_err(), "{len} words, {hashes} hashes");
    }
}
