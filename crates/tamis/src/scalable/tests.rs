use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::testing::{assert_rate, hashes};

proptest! {
    #[test]
    fn no_key_is_lost_and_keys_that_are_new_are_told(
        keys in prop::collection::vec(0u64..400, 1..600),
        first in 1u64..50,
        cut in 0usize..600,
    ) {
        // With a rate so low that no key is taken for another, the filter is a set.
        let hash = |key: &u64| crate::hash::xxh3(&key.to_le_bytes(), 0);
        let all: Vec<u64> = keys.iter().map(hash).collect();
        let mut filter = Scalable::new(first, 1e-12).unwrap();
        let mut fresh = vec![false; all.len()];
        let cut = cut.min(all.len());
        filter.insert_hashes(&all[..cut], &mut fresh[..cut]).unwrap();
        filter.insert_hashes(&all[cut..], &mut fresh[cut..]).unwrap();
        let mut model = HashSet::new();
        let first_times: Vec<bool> = all.iter().map(|&hash| model.insert(hash)).collect();
        prop_assert_eq!(fresh, first_times);
        prop_assert_eq!(filter.keys(), model.len() as u64);
        let mut found = vec![false; all.len()];
        filter.contains_hashes(&all, &mut found);
        prop_assert!(found.iter().all(|&found| found) && all.iter().all(|&hash| filter.contains_hash(hash)));
        prop_assert!(!filter.contains_hash(hash(&1000)));
    }

    #[test]
    fn one_by_one_in_batches_or_begun_again_from_its_words_it_is_the_same(
        keys in prop::collection::vec(any::<u64>(), 1..3000),
        first in 1u64..200,
        size in 1usize..1500,
    ) {
        let mut one_by_one = Scalable::new(first, 0.1).unwrap();
        let told: Vec<bool> = keys.iter().map(|&hash| one_by_one.insert_hash(hash).unwrap()).collect();
        let mut again = Scalable::new(first, 0.1).unwrap();
        let mut fresh = Vec::new();
        for keys in keys.chunks(size) {
            let mut some = vec![false; keys.len()];
            again.insert_hashes(keys, &mut some).unwrap();
            fresh.extend(some);
            let layers = again.layers().count() as u32;
            again = Scalable::from_words(again.words(), first, 0.1, layers, again.newest()).unwrap().to_owned().unwrap();
        }
        prop_assert_eq!(&told, &fresh);
        prop_assert_eq!(one_by_one.words(), again.words());
        prop_assert_eq!(one_by_one.newest(), again.newest());
        let shape = shape(first, 0.1, again.layers().count() as u32).unwrap();
        prop_assert_eq!(again.words().len() as u64 * 64, shape.slots());
        prop_assert!(shape_has_layers(&shape, Sizes::Ours, first, 0.1) && !shape_has_layers(&shape, Sizes::Ours, first + 1000, 0.1));
    }
}

#[test]
fn the_rate_stays_below_the_target_however_much_it_grows() {
    for fpr in [0.1, 0.01, 0.001] {
        let mut filter = Scalable::new(500, fpr).unwrap();
        for round in 0..9u64 {
            let keys = hashes(round << 32, 500 << round);
            filter.insert_hashes(&keys, &mut vec![false; keys.len()]).unwrap();
            assert!(filter.expected_rate() < fpr);
            let probes = hashes(1 << 50, 200_000);
            let mut found = vec![false; probes.len()];
            filter.contains_hashes(&probes, &mut found);
            let hits = found.iter().filter(|&&hit| hit).count();
            assert_rate(hits, probes.len(), filter.rate_now(), 0.0, "rate now");
            // What is not added because it seems to be there makes the layers a little emptier.
            assert!(filter.rate_now() < fpr * 1.02, "{} at {fpr}", filter.rate_now());
        }
        assert!(filter.layers().count() >= 8);
    }
}

#[test]
fn impossible_parts_are_refused() {
    let filter = Scalable::new(100, 0.01).unwrap();
    let words = filter.words();
    assert!(Scalable::from_words(words, 100, 0.01, 1, 100).is_ok());
    assert!(Scalable::from_words(words, 100, 0.01, 1, 101).is_err());
    assert!(Scalable::from_words(words, 100, 0.01, 2, 0).is_err());
    assert!(Scalable::from_words(words, 100, 0.01, 0, 0).is_err());
    assert!(Scalable::from_words(words, 100, 0.01, u32::MAX, 0).is_err());
    assert!(Scalable::from_words(&words[1..], 100, 0.01, 1, 0).is_err());
    assert!(
        Scalable::new(0, 0.01).is_err() && Scalable::new(1, 0.0).is_err() && Scalable::new(1, 1.0).is_err()
    );
    assert!(Scalable::new(u64::MAX, 0.01).is_err());
}
