use std::collections::{BTreeSet, HashSet};

use proptest::prelude::*;
use tamis::hash::xxh3;

use super::*;

fn hashes(count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(|i| xxh3(&i.to_le_bytes(), 1))
}

proptest! {
    #[test]
    fn the_log_holds_what_a_set_holds(values in prop::collection::vec(prop_oneof![0u64..50, any::<u64>(), (0u64..50).prop_map(|i| !i)], 0..2000), every in 1usize..500) {
        let (mut log, mut other) = (HashLog::default(), HashLog::default());
        let mut model = BTreeSet::new();
        for (i, value) in values.into_iter().enumerate() {
            if i % 3 == 0 { other.push(value) } else { log.push(value) };
            model.insert(value);
            if i % every == 0 {
                log.settle();
            }
        }
        log.merge(other);
        prop_assert_eq!(log.hashes(), model.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn counts_do_not_depend_on_how_keys_are_spread(keys in prop::collection::vec((0u32..5, 0u64..6000), 0..12_000), cut in 0.0..1.0f64, limit in prop_oneof![Just(1usize << 24), Just(3000usize), Just(100)]) {
        let keys: Vec<(u32, u64)> = keys.into_iter().map(|(group, key)| (group % (key as u32 % 4 + 1), xxh3(&key.to_le_bytes(), 0))).collect();
        let see = |keys: &[(u32, u64)]| {
            let mut counts = Counts::new(limit);
            keys.iter().for_each(|&(group, hash)| counts.see(group, hash));
            counts
        };
        let (left, right) = keys.split_at((keys.len() as f64 * cut) as usize);
        let planned = |counts: &Counts| counts.groups().iter().map(Distinct::planned).collect::<Vec<_>>();
        let same: Vec<usize> = (0..5).collect();
        let whole = Counts::join(1, vec![(see(&keys), same.clone())], 5).unwrap();
        let joined = Counts::join(2, vec![(see(left), same.clone()), (see(right), same)], 5).unwrap();
        prop_assert_eq!(planned(&whole), planned(&joined));
        prop_assert_eq!(whole.estimating(), joined.estimating());
        let distinct = keys.iter().collect::<HashSet<_>>().len();
        prop_assert_eq!(whole.estimating(), distinct > limit);
    }
}

/// Seeded: from 1 to 3 million distinct hashes, within 4 standard errors.
#[test]
fn the_estimate_is_within_its_error() {
    let mut hll = Hll::default();
    let mut next = 1;
    for (i, hash) in hashes(3_000_000).enumerate() {
        hll.insert(hash);
        hll.insert(hash);
        if i + 1 == next {
            let error = hll.estimate() / next as f64 - 1.0;
            assert!(error.abs() < 4.0 * Hll::STANDARD_ERROR, "{next}: {error}");
            next = next * 3 / 2 + 1;
        }
    }
}

#[test]
fn an_estimate_leaves_room() {
    let mut counts = Counts::new(1000);
    hashes(100_000).for_each(|hash| counts.see(0, hash));
    let counts = Counts::join(1, vec![(counts, vec![0])], 1).unwrap();
    assert!(counts.estimating());
    assert!((100_000..108_000).contains(&counts.groups()[0].planned()));
}

#[test]
fn no_honest_estimate_is_taken_for_an_attack_and_chosen_hashes_are() {
    let mut hll = Hll::default();
    for (i, hash) in hashes(1_000_000).enumerate() {
        hll.insert(hash);
        if i % 50_000 == 49_999 {
            assert!(Hll::is_plausible(Hll::planned(&hll.ranks()), i as u64 + 1), "{i}");
        }
    }
    // A register in eight is enough; one hash more is not seen.
    (0..REGISTERS as u64 / 8).for_each(|register| hll.insert(register << 53));
    assert!(!Hll::is_plausible(Hll::planned(&hll.ranks()), 1_000_000 + REGISTERS as u64 / 8));
    assert!(Hll::is_plausible(u64::MAX, u64::MAX) && !Hll::is_plausible(u64::MAX, 1 << 40));
}
