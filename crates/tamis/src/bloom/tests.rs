use proptest::prelude::*;

use super::*;
use crate::hash::{ByBytes, Foreign, murmur3, polynomial_factor};
use crate::testing::{assert_rate, hashes};

proptest! {
    #[test]
    fn all_doors_agree_and_no_key_is_lost(members in prop::collection::vec(any::<u64>(), 1..300), others in prop::collection::vec(any::<u64>(), 300), bits in 1u64..5000, k in 1u32..20) {
        let mut filter = Bloom::zeroed(bits, k).unwrap();
        let mut one_by_one = Bloom::zeroed(bits, k).unwrap();
        filter.insert_hashes(&members);
        members.iter().for_each(|&hash| one_by_one.insert_hash(hash));
        prop_assert_eq!(filter.words(), one_by_one.words());
        for probes in [members, others] {
            let mut found = vec![false; probes.len()];
            filter.contains_hashes(&probes, &mut found);
            let mut at = Positions::default();
            at.of_hashes(&probes, bits, k);
            prop_assert_eq!(filter.count_at(&at), found.iter().filter(|&&hit| hit).count());
            for (&hash, found) in probes.iter().zip(found) {
                prop_assert_eq!(found, filter.contains_hash(hash));
                prop_assert_eq!(found, positions(hash, bits, k).all(|p| filter.words()[(p / 64) as usize] >> (p % 64) & 1 == 1));
            }
        }
        prop_assert!(one_by_one.words().last().unwrap().checked_shr((bits % 64) as u32).unwrap_or(0) == 0 || bits % 64 == 0);
    }

    #[test]
    fn murmur_positions_are_the_hash_modulo_the_bits(key in ".{0,20}", bits in 1u64..100_000, k in 1u32..10) {
        let lanes: Vec<u32> = (0..k).map(|seed| murmur3(key.as_bytes(), seed)).collect();
        let mut filter = Bloom::zeroed(bits, k).unwrap();
        filter.insert_lanes(&lanes);
        prop_assert!(filter.contains_lanes(&lanes));
        let other: Vec<u32> = lanes.iter().map(|lane| !lane).collect();
        let mut at = Positions::default();
        at.of_lanes(&[&lanes, &other, &lanes], bits, k);
        prop_assert_eq!(filter.count_at(&at), 2 + usize::from(filter.contains_lanes(&other)));
        for lane in lanes {
            let at = u64::from(lane) % bits;
            prop_assert!(filter.words()[(at / 64) as usize] >> (at % 64) & 1 == 1);
        }
    }
}

proptest! {
    #[test]
    fn keys_by_their_bytes_are_where_each_hash_puts_them(
        keys in prop::collection::vec(".{0,20}", 1..20), bits in 1u64..100_000, k in 1u32..10, seed: u64
    ) {
        for by in [ByBytes::Murmur3, ByBytes::Polynomial { seed }, ByBytes::Foreign(Foreign::HadoopJenkins)] {
            let mut filter = Bloom::zeroed(bits, k).unwrap();
            let mut expected = vec![false; bits as usize];
            for key in &keys {
                filter.insert_bytes(by, key.as_bytes());
                for number in 0..k {
                    let at = match by {
                        ByBytes::Murmur3 => u64::from(murmur3(key.as_bytes(), number)) % bits,
                        ByBytes::Polynomial { seed } => {
                            let factor = polynomial_factor(seed, number, bits);
                            key.bytes().fold(0, |h, byte| (factor * h + u64::from(byte)) % bits)
                        }
                        ByBytes::Foreign(foreign) => {
                            foreign.lanes(key.as_bytes()).nth(number as usize).unwrap() % bits
                        }
                    };
                    expected[at as usize] = true;
                }
            }
            let is_set = |at: usize| filter.words()[at / 64] >> (at % 64) & 1 == 1;
            prop_assert!(expected.iter().enumerate().all(|(at, set)| is_set(at) == *set));
            prop_assert!(keys.iter().all(|key| filter.contains_bytes(by, key.as_bytes())));
            let some: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).chain([&b"other"[..]]).collect();
            let mut at = Positions::default();
            at.of_bytes(by, &some, bits, k);
            let found = some.iter().filter(|key| filter.contains_bytes(by, key)).count();
            prop_assert_eq!(filter.count_at(&at), found);
        }
    }
}

/// Seeded; one million probes a cell.
#[test]
fn measured_rates_agree_with_the_formula() {
    for keys in [10usize, 1000, 100_000] {
        for fpr in [0.5, 0.1, 0.01, 1e-3, 1e-6] {
            let mut filter = Bloom::for_rate(keys as u64, fpr).unwrap();
            filter.insert_hashes(&hashes(0, keys));
            let probes = hashes(1 << 40, 1_000_000);
            let mut found = vec![false; probes.len()];
            filter.contains_hashes(&probes, &mut found);
            let hits = found.iter().filter(|&&hit| hit).count();
            let what = format!("{keys} keys at {fpr}");
            assert_rate(hits, probes.len(), filter.rate_now(), 0.0, &what);
            let slack = f64::from(filter.hashes()) * 2.0 / (keys as f64).sqrt();
            assert_rate(hits, probes.len(), filter.expected_rate(keys as u64), slack, &what);
        }
    }
}

/// The mean over many small filters: here the spread of the fill shows, and only a formula
/// that accounts for it holds. 20,000 filters of 5 and of 40 keys, 200 probes each.
#[test]
fn the_expected_rate_of_small_filters_is_their_mean() {
    for (keys, bits, k) in [(5usize, 40, 5), (40, 300, 8), (40, 500, 12)] {
        let mut sum = 0.0;
        let filters = 20_000;
        for i in 0..filters {
            let mut filter = Bloom::zeroed(bits, k).unwrap();
            filter.insert_hashes(&hashes(i * 1000, keys));
            sum += filter.rate_now();
        }
        let (mean, expected) = (sum / filters as f64, expected_rate(keys as u64, bits, k));
        assert!(
            (mean / expected - 1.0).abs() < 0.02,
            "{keys} keys in {bits} bits: {mean} against {expected}"
        );
    }
}

#[test]
fn the_published_parameters_are_reproduced() {
    let shape = published_shape(1385, 0.01).unwrap();
    assert_eq!((shape.slots(), shape.hashes()), (13275, 7));
    assert!(published_shape(1 << 40, 0.01).is_err());
    assert!(published_shape(0, 0.01).is_err());
}

#[test]
fn words_that_make_no_filter_are_refused() {
    for (len, bits, hashes) in [(0, 0, 1), (1, 65, 1), (2, 64, 1), (1, 64, 0), (1, 64, 65)] {
        assert!(
            Bloom::from_words(vec![0; len], bits, hashes).is_err(),
            "{len} words, {bits} bits, {hashes} hashes"
        );
    }
}

#[test]
fn the_rate_of_murmur_positions_weighs_those_that_come_up_more_often() {
    let bits = 3000;
    let mut words = vec![0u64; 47];
    words[..10].fill(u64::MAX);
    let filter = Bloom::from_words(words, bits, 1).unwrap();
    let hits = (0..1u64 << 32).step_by(997).filter(|hash| hash % bits < 640).count();
    let share = hits as f64 / (1u64 << 32).div_ceil(997) as f64;
    let rate = filter.rate_now_by(ByBytes::Murmur3);
    assert!((rate - share).abs() < 1e-5, "{rate} {share}");
    // 2^32 mod m is 2^24 here: the positions below it come up 86 times, the others 85.
    let bits = ((1u64 << 32) - (1 << 24)) / 85;
    let mut words = vec![0u64; bits.div_ceil(64) as usize];
    words[..1 << 18].fill(u64::MAX);
    let filter = Bloom::from_words(words, bits, 1).unwrap();
    let expected = 86.0 * (1u64 << 24) as f64 / (1u64 << 32) as f64;
    assert!((filter.rate_now_by(ByBytes::Murmur3) / expected - 1.0).abs() < 1e-6);
}

/// Filters of 40 MB, so that many keys take the way through ranges.
#[test]
fn many_keys_at_once_set_and_find_the_same_bits_as_one_by_one() {
    let bits = (40 << 23) + 12345;
    let members = hashes(0, 400_000);
    let mut filter = Bloom::zeroed(bits, 7).unwrap();
    let mut one_by_one = Bloom::zeroed(bits, 7).unwrap();
    filter.insert_hashes(&members);
    members.iter().for_each(|&hash| one_by_one.insert_hash(hash));
    assert!(filter.words() == one_by_one.words());
    let mostly_members: Vec<u64> = members.iter().copied().chain(hashes(1 << 40, 60_000)).collect();
    let mostly_others: Vec<u64> = hashes(1 << 41, 400_000).into_iter().chain(hashes(0, 1000)).collect();
    for probes in [mostly_members, mostly_others] {
        let mut found = vec![false; probes.len()];
        filter.contains_hashes(&probes, &mut found);
        assert!(probes.iter().zip(&found).all(|(&hash, &found)| found == filter.contains_hash(hash)));
    }
}

#[test]
fn keys_that_repeat_overflow_their_ranges_and_lose_nothing() {
    let bits = 40 << 23;
    let repeated = vec![hashes(7, 1)[0]; 400_000];
    let mut filter = Bloom::zeroed(bits, 7).unwrap();
    filter.insert_hashes(&repeated);
    let mut one_by_one = Bloom::zeroed(bits, 7).unwrap();
    one_by_one.insert_hash(repeated[0]);
    assert!(filter.words() == one_by_one.words());
    let mut found = vec![false; repeated.len()];
    filter.contains_hashes(&repeated, &mut found);
    assert!(found.iter().all(|&found| found));
}
