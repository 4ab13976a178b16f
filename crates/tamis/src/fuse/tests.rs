use std::collections::{BTreeSet, HashSet};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// A stream of hashes that never repeat: the outputs of a one-to-one mixer of 1, 2, 3, ….
fn hashes(stream: u64, count: usize) -> Vec<u64> {
    (1..=count as u64)
        .map(|i| {
            let z = (stream << 48 | i).wrapping_mul(0x9fb2_1c65_1e98_df25);
            let z = (z ^ z >> 35).wrapping_mul(0x9fb2_1c65_1e98_df25);
            z ^ z >> 28
        })
        .collect()
}

fn built(hashes: &[u64], width: u32) -> Fuse<Vec<u64>> {
    Fuse::build(&mut hashes.to_vec(), width).unwrap()
}

/// A reader written from the format's text alone, bit by bit.
fn reads_by_the_book(words: &[u64], keys: u64, width: u32, seed: u64, hash: u64) -> bool {
    let most = [
        6,
        16,
        36,
        100,
        240,
        580,
        1380,
        3000,
        6500,
        17_000,
        45_000,
        230_000,
        1_500_000,
        20_000_000,
        400_000_000u64,
    ];
    let e = most.iter().position(|&most| keys <= most).unwrap_or(15) as u32 + 1;
    let segment = 1u64 << e;
    let starts = (111 * keys).div_ceil(100 * segment) * segment;
    let x = hash ^ seed.wrapping_mul(0xd1b54a32d192ed03);
    let g = (x ^ x >> 32).wrapping_mul(0x9e3779b97f4a7c15);
    let z = (g ^ g >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d049bb133111eb);
    let m = z ^ z >> 31;
    let a = (u128::from(g) * u128::from(starts) / (1 << 64)) as u64;
    let slots = [a, (a + segment) ^ (m % segment), (a + 2 * segment) ^ (m / segment % segment)];
    (0..u64::from(width)).all(|bit| {
        let stored = slots.iter().fold(0, |sum, slot| {
            let at = slot * u64::from(width) + bit;
            sum ^ (words[(at / 64) as usize] >> (at % 64) & 1)
        });
        stored == m >> (64 - u64::from(width) + bit) & 1
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_key_of_the_set_is_found(keys in vec(any::<u64>(), 0..5000), width in 1u32..=32) {
        let set: HashSet<u64> = keys.iter().copied().collect();
        let filter = built(&keys, width);
        prop_assert_eq!(filter.keys(), set.len() as u64);
        prop_assert_eq!(filter.words().len(), words_needed(filter.keys(), width).unwrap());
        for &hash in &set {
            prop_assert!(filter.contains_hash(hash));
        }
    }

    #[test]
    fn a_batch_answers_as_one_by_one_and_as_the_book(
        keys in vec(any::<u64>(), 1..300), probes in vec(any::<u64>(), 0..200), width in 1u32..=32,
    ) {
        let filter = built(&keys, width);
        let probes: Vec<u64> = probes.into_iter().chain(keys).collect();
        let mut found = vec![false; probes.len()];
        filter.contains_hashes(&probes, &mut found);
        for (&hash, found) in probes.iter().zip(found) {
            prop_assert_eq!(filter.contains_hash(hash), found);
            let by_the_book = reads_by_the_book(filter.words(), filter.keys(), width, filter.seed(), hash);
            prop_assert_eq!(by_the_book, found);
        }
    }

    #[test]
    fn order_and_repetition_change_nothing(
        (keys, shuffled) in vec(any::<u64>(), 0..2000).prop_flat_map(|keys| {
            let twice = [&keys[..], &keys[..keys.len() / 2]].concat();
            (Just(keys), Just(twice).prop_shuffle())
        }),
        width in 1u32..=32,
    ) {
        let (one, other) = (built(&keys, width), built(&shuffled, width));
        prop_assert_eq!(one.seed(), other.seed());
        prop_assert_eq!(one.keys(), other.keys());
        prop_assert_eq!(one.words(), other.words());
    }

    #[test]
    fn hostile_words_and_seeds_give_answers_and_no_panic(
        keys in 0u64..3000, width in 1u32..=32, seed: u64, word: u64, probes in vec(any::<u64>(), 1..100),
    ) {
        let words = vec![word; words_needed(keys, width).unwrap()];
        let filter = Fuse::from_words(&words[..], keys, width, seed).unwrap();
        let probes = [&probes[..], &[0, 1, u64::MAX, 1 << 63]].concat();
        let mut found = vec![true; probes.len()];
        filter.contains_hashes(&probes, &mut found);
        for (&hash, found) in probes.iter().zip(found) {
            prop_assert_eq!(filter.contains_hash(hash), found);
        }
    }

    #[test]
    fn any_shape_holds_all_slots_that_can_be_drawn(keys in 1..=MAX_KEYS, seed: u64, hash: u64) {
        let shape = shape(keys).unwrap();
        prop_assert!(shape.segment.is_power_of_two() && shape.segment <= 1 << 16);
        prop_assert_eq!(shape.starts % u64::from(shape.segment), 0);
        let placer = Placer::new(&shape, 32, seed);
        for key in [hash, 0, u64::MAX] {
            for slot in placer.place(key).0 {
                prop_assert!(slot < shape.slots);
            }
            prop_assert_eq!(placer.place_many(key), placer.place_hash(key));
        }
    }

    #[test]
    fn a_hostile_shape_is_an_error_or_has_the_exact_length(
        keys: u64, width: u32, few_keys in 0u64..100, few_bits in 0u32..40, len in 0usize..200,
    ) {
        prop_assert!(keys < 1000 || Fuse::from_words(vec![0; len], keys, width, 0).is_err());
        let fits = words_needed(few_keys, few_bits).is_ok_and(|needed| needed == len);
        prop_assert_eq!(Fuse::from_words(vec![0; len], few_keys, few_bits, 0).is_ok(), fits);
    }
}

#[test]
fn the_smallest_sets_work_at_every_width() {
    for count in [0, 1, 2, 3, 4, 5, 6, 7, 10, 16, 17, 40, 41] {
        let keys = hashes(1, count);
        for width in 1..=32 {
            let filter = built(&keys, width);
            assert!(keys.iter().all(|&hash| filter.contains_hash(hash)), "{count} keys, {width} bits");
        }
    }
}

#[test]
fn the_empty_set_has_no_words_and_no_keys() {
    let filter = built(&[], 8);
    assert_eq!((filter.words().len(), filter.slots(), filter.keys(), filter.seed()), (0, 0, 0, 0));
    let probes = hashes(2, 1000);
    let mut found = vec![true; probes.len()];
    filter.contains_hashes(&probes, &mut found);
    assert!(!found.contains(&true) && !filter.contains_hash(0));
}

#[test]
fn building_leaves_the_distinct_hashes() {
    let mut keys = [7, 5, 7, 1, u64::MAX, 5].to_vec();
    Fuse::build(&mut keys, 8).unwrap();
    keys.sort_unstable();
    assert_eq!(keys, [1, 5, 7, u64::MAX]);
}

/// Few repetitions are not noticed before the table is filled, many are.
#[test]
fn large_sets_with_few_or_many_repetitions_give_the_filter_of_the_set() {
    let keys = hashes(11, 60_000);
    let filter = built(&keys, 11);
    for repeated in [1, 100, 60_000] {
        let mut twice = [&keys[..repeated], &keys[..]].concat();
        let other = Fuse::build(&mut twice, 11).unwrap();
        assert_eq!(twice.len(), keys.len());
        assert_eq!((other.seed(), other.words()), (filter.seed(), filter.words()));
    }
}

/// A table that is larger than the cache is read by another loop.
#[test]
fn a_batch_in_a_large_table_answers_as_one_by_one() {
    let keys = hashes(12, 2_000_000);
    let probes: Vec<u64> = keys.iter().copied().step_by(7).chain(hashes(13, 10_000)).collect();
    for width in [8, 16, 27] {
        let filter = built(&keys, width);
        for len in [0, 1, 31, 32, 33, probes.len()] {
            let mut found = vec![false; len];
            filter.contains_hashes(&probes[..len], &mut found);
            let hits = found.iter().filter(|&&found| found).count() as u64;
            assert_eq!(filter.count_all(probes[..len].iter().copied()), hits);
            assert!(probes.iter().zip(found).all(|(&hash, found)| filter.contains_hash(hash) == found));
        }
    }
}

#[test]
fn sets_at_the_border_of_two_segment_lengths_build() {
    for most in [6, 16, 36, 100, 240, 580, 1380, 3000, 6500, 17_000, 45_000, 230_000] {
        for count in [most, most + 1] {
            let keys = hashes(3, count);
            let filter = built(&keys, 9);
            assert!(keys.iter().all(|&hash| filter.contains_hash(hash)), "{count} keys");
        }
    }
}

#[test]
fn hashes_with_little_in_them_still_build() {
    let counting: Vec<u64> = (0..20_000).collect();
    let high_bits_only: Vec<u64> = (0..20_000).map(|i| i << 40).collect();
    let one_shard: Vec<u64> = hashes(4, 20_000).iter().map(|hash| 0xabc << 52 | hash >> 12).collect();
    let half: Vec<u64> = hashes(5, 20_000).iter().map(|hash| hash & 0xffff_ffff).collect();
    for keys in [counting, high_bits_only, one_shard, half] {
        let filter = built(&keys, 12);
        assert!(keys.iter().all(|&hash| filter.contains_hash(hash)));
    }
}

/// The bytes are a promise: what is built today must be built tomorrow.
#[test]
fn a_known_set_gives_the_known_words() {
    let keys: Vec<u64> = (11..=20).map(|i| crate::hash::xxh3(&[i], 0)).collect();
    let filter = built(&keys, 12);
    assert_eq!((filter.keys(), filter.slots(), filter.seed()), (10, 20, 2));
    let words =
        [0xdeef_0000_0000_0000, 0x3300_03be_cc30_0055, 0x3c99_f3a6_c000_710b, 0x0000_0000_00f2_a000, 0];
    assert_eq!(filter.words(), words);
}

#[test]
fn keys_that_heap_up_fail_and_do_no_harm() {
    let shape = shape(20_000).unwrap();
    // As keys of the filter they are 0, 1, 2, …: all first slots are 0.
    let hashes: Vec<u64> = (0..20_000).map(|key| place::hash(key, place::salt(0))).collect();
    assert!(!build::Peeling::new(&shape, 20_000).unwrap().peel(&hashes, &Placer::new(&shape, 8, 0)));
}

#[test]
fn a_set_that_fails_for_all_seeds_is_an_error_and_keeps_its_hashes() {
    // The first set whose seed is not 0: one seed is not enough for it.
    let keys = (1..).map(|count| hashes(10, count)).find(|keys| built(keys, 8).seed() > 0).unwrap();
    let mut tried = keys.clone();
    let error = build::build_within(1, &mut tried, 8).unwrap_err();
    assert!(matches!(error, crate::Error::Seeds { seeds: 1, .. }), "{error}");
    tried.sort_unstable();
    assert_eq!(tried, BTreeSet::from_iter(keys).into_iter().collect::<Vec<_>>());
}

/// Seeds must fail independently of each other: if a set were bad for all of them, retrying
/// would not help.
#[test]
fn no_set_needs_many_seeds() {
    for count in (0..1000).chain((1000..12_000).step_by(97)) {
        let seed = built(&hashes(count as u64 % 7, count), 1).seed();
        assert!(seed < 24, "{count} keys: seed {seed}");
    }
}

/// Seeded; within 4 standard deviations of 2^-width.
#[test]
fn the_measured_rate_is_two_to_the_minus_width() {
    let keys = hashes(6, 100_000);
    let probes = hashes(7, 1_000_000);
    let mut found = vec![false; probes.len()];
    for width in [1, 4, 7, 8, 10, 13, 16] {
        built(&keys, width).contains_hashes(&probes, &mut found);
        let hits = found.iter().filter(|&&found| found).count() as f64;
        let expected = probes.len() as f64 * rate(width);
        let tolerance = 4.0 * (expected * (1.0 - rate(width))).sqrt();
        assert!((hits - expected).abs() <= tolerance, "{width} bits: {hits} hits, {expected} expected");
    }
}

#[test]
fn from_a_million_keys_a_key_costs_at_most_1_15_bits_per_bit() {
    for width in 1..=32 {
        let mut keys = 1_000_000;
        while keys <= MAX_KEYS {
            for keys in [keys, keys + 1] {
                let bits = words_needed(keys, width).unwrap() as f64 * 64.0;
                let most = 1.15 * f64::from(width) * keys as f64;
                assert!(bits <= most, "{keys} keys, {width} bits: {}", bits / most);
            }
            keys += keys / 100;
        }
        for keys in [1_500_000, 1_500_001, 20_000_000, 20_000_001, 400_000_001] {
            let bits = words_needed(keys, width).unwrap() as f64 * 64.0;
            assert!(bits <= 1.15 * f64::from(width) * keys as f64, "{keys} keys, {width} bits");
        }
    }
}

#[test]
fn a_million_keys_build_with_the_first_seeds() {
    let keys = hashes(8, 1_000_000);
    let filter = built(&keys, 5);
    assert!(filter.seed() < 4);
    let mut found = vec![false; keys.len()];
    filter.contains_hashes(&keys, &mut found);
    assert!(!found.contains(&false));
}

#[test]
fn wrong_lengths_widths_and_counts_are_errors() {
    let filter = built(&hashes(9, 100), 7);
    let words = filter.words();
    assert!(Fuse::from_words(words, 100, 7, filter.seed()).is_ok());
    assert!(Fuse::from_words(&words[1..], 100, 7, 0).is_err());
    assert!(Fuse::from_words([words, &[0]].concat(), 100, 7, 0).is_err());
    for width in [0, 33, u32::MAX] {
        assert!(Fuse::from_words(words, 100, width, 0).is_err());
        assert!(Fuse::build(&mut vec![1, 2, 3], width).is_err());
        assert!(words_needed(100, width).is_err());
    }
    for keys in [MAX_KEYS + 1, u64::MAX / 111, u64::MAX] {
        assert!(shape(keys).is_err());
        assert!(Fuse::from_words(words, keys, 7, 0).is_err());
    }
    assert!(Fuse::from_words(words, MAX_KEYS, 7, 0).is_err());
}

#[test]
fn a_width_is_the_least_whose_rate_suffices() {
    assert_eq!(width_for(0.5), Some(1));
    assert_eq!(width_for(0.99), Some(1));
    assert_eq!(width_for(0.25), Some(2));
    assert_eq!(width_for(0.249), Some(3));
    assert_eq!(width_for(0.001), Some(10));
    assert_eq!(width_for(rate(32)), Some(32));
    for fpr in [0.0, -0.1, 1.0, 2.0, f64::NAN, f64::INFINITY, 1e-10] {
        assert_eq!(width_for(fpr), None, "{fpr}");
    }
    assert_eq!(rate(10), 1.0 / 1024.0);
}
