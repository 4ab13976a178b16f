use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::memory::Words;
use crate::testing::{assert_rate, hashes};

/// The definition, bit by bit, as docs/format.md has it.
fn naive_bits(hash: u64, lines: u64, k: u64) -> Vec<u64> {
    let fold = |x: u64, c: u64| {
        let product = u128::from(x) * u128::from(c);
        (product as u64) ^ (product >> 64) as u64
    };
    let (lo, hi) = (fold(hash, 0x9e37_79b9_7f4a_7c15), fold(hash, 0xd1b5_4a32_d192_ed03));
    let line = ((u128::from(hash) * u128::from(lines)) >> 64) as u64;
    let lane = 512 / k;
    let draw = lane.ilog2() as u64;
    (0..k)
        .map(|i| {
            let drawn = if k >= 16 && i >= k / 2 { hi >> ((i - k / 2) * draw) } else { lo >> (i * draw) };
            line * 512 + i * lane + drawn % lane
        })
        .collect()
}

proptest! {
    #[test]
    fn bits_stand_where_the_definition_puts_them(hashes in prop::collection::vec(any::<u64>(), 0..200), lines in 1u64..50, log in 0u32..6) {
        let k = 1 << log;
        let mut filter = Blocked::zeroed(lines, k).unwrap();
        filter.insert_hashes(&hashes);
        let expected: HashSet<u64> = hashes.iter().flat_map(|&h| naive_bits(h, lines, u64::from(k))).collect();
        for position in 0..lines * 512 {
            let set = filter.words()[(position / 64) as usize] >> (position % 64) & 1 == 1;
            prop_assert_eq!(set, expected.contains(&position));
        }
    }

    #[test]
    fn all_doors_agree_and_no_key_is_lost(members in prop::collection::vec(any::<u64>(), 1..300), others in prop::collection::vec(any::<u64>(), 64), log in 0u32..6, lines in 1u64..9) {
        let k = 1 << log;
        let mut filter = Blocked::zeroed(lines, k).unwrap();
        let mut one_by_one = Blocked::zeroed(lines, k).unwrap();
        filter.insert_hashes(&members);
        members.iter().for_each(|&hash| one_by_one.insert_hash(hash));
        prop_assert_eq!(filter.words(), one_by_one.words());

        let mut found = vec![false; members.len()];
        filter.contains_hashes(&members, &mut found);
        prop_assert!(found.iter().all(|&found| found));

        let mut found = vec![false; 64];
        filter.contains_hashes(&others, &mut found);
        let mut masks = Vec::new();
        Blocked::<Words>::masks(k, &others, &mut masks);
        let hits = found.iter().filter(|&&hit| hit).count();
        prop_assert_eq!(filter.count_masks(&others, &masks), hits);
        prop_assert_eq!(filter.count_all(others.iter().copied()), hits as u64);
        for (i, &hash) in others.iter().enumerate() {
            prop_assert_eq!(found[i], filter.contains_hash(hash));
        }
    }
}

/// Seeded; one million probes a cell. The slack covers how a filter's own fill differs from
/// the expected one when it holds few keys.
#[test]
fn measured_rates_agree_with_the_formula() {
    for keys in [10usize, 1000, 100_000] {
        for fpr in [0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-6] {
            let mut filter = Blocked::for_rate(keys as u64, fpr).unwrap();
            filter.insert_hashes(&hashes(0, keys));
            let probes = hashes(1 << 40, 1_000_000);
            let mut found = vec![false; probes.len()];
            filter.contains_hashes(&probes, &mut found);
            let hits = found.iter().filter(|&&hit| hit).count();
            let what = format!("{keys} keys at {fpr}");
            assert_rate(hits, probes.len(), filter.rate_now(), 0.0, &what);
            let expected = filter.expected_rate(keys as u64);
            let slack = f64::from(filter.hashes()) * 3.0 / (keys as f64).sqrt();
            assert_rate(hits, probes.len(), expected, slack, &what);
        }
    }
}

#[test]
fn words_that_make_no_filter_are_refused() {
    for (len, hashes) in [(0, 8), (7, 8), (9, 8), (8, 0), (8, 3), (8, 64)] {
        assert!(Blocked::from_words(vec![0; len], hashes).is_err(), "{len} words, {hashes} hashes");
    }
}
