use std::collections::{BTreeSet, HashSet};
use std::time::Instant;

use proptest::collection::vec;
use proptest::prelude::*;

use super::params::Layout;
use super::place::{last_salt, mix, salt, unmix};
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

fn built(hashes: &[u64], widths: Widths) -> Ribbon<Vec<u64>> {
    Ribbon::build(&mut hashes.to_vec(), widths).unwrap()
}

fn bits(bits: u32) -> Widths {
    Widths { bits, shorter: 0 }
}

fn some_widths() -> impl Strategy<Value = Widths> {
    (1u32..=32, prop_oneof![Just(0), Just(SHARES - 1), 0..SHARES])
        .prop_map(|(bits, shorter)| Widths { bits, shorter })
}

/// A reader written from the format's text alone, bit by bit.
fn reads_by_the_book(words: &[u64], keys: u64, widths: Widths, seed: u64, hash: u64) -> bool {
    let mix = |z: u64| {
        let z = (z ^ z >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d049bb133111eb);
        z ^ z >> 31
    };
    let bit = |at: u64| words[(at / 64) as usize] >> (at % 64) & 1;
    let (w, shorter) = (u64::from(widths.bits), u64::from(widths.shorter));
    let (mut n, mut layer, mut word) = (keys, 0u64, 0u64);
    loop {
        let last = n <= 4096;
        let m = if last { (n + n / 8 + 16).div_ceil(64) * 64 } else { (n - n / 16) / 128 * 128 };
        let u = if last { 0 } else { (m / 128).div_ceil(32) };
        let short = (m - 63) * shorter / (1 << 22);
        let number = if last { seed.wrapping_mul(16).wrapping_add(15) } else { seed / 256 * 16 + layer };
        let g = mix(hash ^ number.wrapping_mul(0xd1b54a32d192ed03));
        let z = mix(g);
        let a = (u128::from(g) * u128::from(m - 63) / (1 << 64)) as u64;
        let f = z.wrapping_mul(0x9e3779b97f4a7c15) / (1 << 32);
        let level =
            if last { 0 } else { bit(64 * word + a / 128 * 2) + 2 * bit(64 * word + a / 128 * 2 + 1) };
        if a % 128 >= [0, 16, 40, 128][level as usize] {
            let of_key = if a / 64 < short { w - 1 } else { w };
            return (0..of_key).all(|column| {
                let sum = (0..64).filter(|i| (z | 1) >> i & 1 == 1).fold(0, |sum, i| {
                    let block = (a + i) / 64;
                    let at = word + u + block * w - block.min(short) + column;
                    sum ^ bit(64 * at + (a + i) % 64)
                });
                sum == f >> column & 1
            });
        }
        word += u + m / 64 * w - short;
        n = n - m + m / 2048 + m.isqrt() / 8 + 16;
        layer += 1;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_key_of_the_set_is_found(
        (keys, more) in (vec(any::<u64>(), 0..3000), 0usize..12_000), widths in some_widths(),
    ) {
        let keys = [keys, hashes(20, more)].concat();
        let set: HashSet<u64> = keys.iter().copied().collect();
        let filter = built(&keys, widths);
        prop_assert_eq!(filter.keys(), set.len() as u64);
        prop_assert_eq!(filter.words().len(), words_needed(filter.keys(), widths).unwrap());
        for &hash in &set {
            prop_assert!(filter.contains_hash(hash));
        }
    }

    #[test]
    fn a_batch_answers_as_one_by_one_and_as_the_book(
        count in prop_oneof![1usize..300, 4000usize..9000], probes in vec(any::<u64>(), 0..200), widths in some_widths(),
    ) {
        let keys = hashes(21, count);
        let filter = built(&keys, widths);
        let probes: Vec<u64> = probes.into_iter().chain(keys.into_iter().step_by(7)).collect();
        let mut found = vec![false; probes.len()];
        filter.contains_hashes(&probes, &mut found);
        for (&hash, found) in probes.iter().zip(found) {
            prop_assert_eq!(filter.contains_hash(hash), found);
            let by_the_book = reads_by_the_book(filter.words(), filter.keys(), widths, filter.seed(), hash);
            prop_assert_eq!(by_the_book, found);
        }
    }

    #[test]
    fn order_and_repetition_change_nothing(
        (keys, shuffled) in (0usize..6000).prop_flat_map(|count| {
            let keys = hashes(22, count);
            let twice = [&keys[..], &keys[..keys.len() / 2]].concat();
            (Just(keys), Just(twice).prop_shuffle())
        }),
        widths in some_widths(),
    ) {
        let (one, other) = (built(&keys, widths), built(&shuffled, widths));
        prop_assert_eq!(one.seed(), other.seed());
        prop_assert_eq!(one.keys(), other.keys());
        prop_assert_eq!(one.words(), other.words());
    }

    #[test]
    fn hostile_words_and_seeds_give_answers_and_no_panic(
        keys in 0u64..30_000, widths in some_widths(), seed: u64, some in vec(any::<u64>(), 1..9), probes in vec(any::<u64>(), 1..100),
    ) {
        let words: Vec<u64> = some.into_iter().cycle().take(words_needed(keys, widths).unwrap()).collect();
        let filter = Ribbon::from_words(&words[..], keys, widths, seed).unwrap();
        let probes = [&probes[..], &[0, 1, u64::MAX, 1 << 63]].concat();
        let mut found = vec![true; probes.len()];
        filter.contains_hashes(&probes, &mut found);
        for (&hash, found) in probes.iter().zip(found) {
            prop_assert_eq!(filter.contains_hash(hash), found);
        }
    }

    #[test]
    fn any_layout_holds_all_that_can_be_drawn(keys in 1..=MAX_KEYS, few in 1u64..100_000, widths in some_widths()) {
        for keys in [keys, few] {
            let layout = Layout::new(keys, widths).unwrap();
            let mut end = 0;
            for layer in layout.all() {
                prop_assert_eq!(layer.buckets, end);
                prop_assert!(layer.slots % 64 == 0 && layer.slots >= 64);
                let (at, width) = layer.block(layer.slots / 64 - 1);
                prop_assert_eq!(at + width as usize, layer.end);
                prop_assert_eq!(width, widths.bits);
                prop_assert!(u128::from(64 * layer.short) << 16 <= u128::from(layer.starts()) * u128::from(widths.shorter));
                end = layer.end;
            }
            prop_assert!(end > 0);
            prop_assert!(rate(keys, widths) <= widths.most_rate() * (1.0 + 1e-12));
        }
    }

    #[test]
    fn a_hostile_shape_is_an_error_or_has_the_exact_length(
        keys: u64, few_keys in 0u64..100, bits in 0u32..40, shorter: u32, len in 0usize..200,
    ) {
        let widths = Widths { bits, shorter };
        prop_assert!(keys < 100_000 || Ribbon::from_words(vec![0; len], keys, widths, 0).is_err());
        let fits = words_needed(few_keys, widths).is_ok_and(|needed| needed == len);
        prop_assert_eq!(Ribbon::from_words(vec![0; len], few_keys, widths, 0).is_ok(), fits);
    }

    #[test]
    fn widths_for_words_are_the_widest_that_fit(keys in 1u64..2_000_000, words in 0u64..4_000_000) {
        match widths_for_words(keys, words).unwrap() {
            None => {
                let narrowest = Widths { bits: 1, shorter: SHARES - 1 };
                prop_assert!(words_needed(keys, narrowest).unwrap() as u64 > words);
            }
            Some(widths) => {
                prop_assert!(words_needed(keys, widths).unwrap() as u64 <= words);
                let wider = match widths {
                    Widths { bits: MAX_WIDTH, shorter: 0 } => return Ok(()),
                    Widths { bits, shorter: 0 } => Widths { bits: bits + 1, shorter: SHARES - 1 },
                    Widths { bits, shorter } => Widths { bits, shorter: shorter - 1 },
                };
                prop_assert!(words_needed(keys, wider).unwrap() as u64 > words);
            }
        }
    }

    #[test]
    fn widths_for_a_rate_keep_it_and_one_step_more_does_not(log in -9.6..0f64) {
        let fpr = 10f64.powf(log);
        if let Some(widths) = Widths::for_rate(fpr) {
            prop_assert!(widths.most_rate() <= fpr);
            let one_more = Widths { shorter: widths.shorter + 1, ..widths };
            prop_assert!(one_more.most_rate() > fpr * (1.0 - 1e-12));
        }
    }

    #[test]
    fn mixing_can_be_undone(hash: u64) {
        prop_assert_eq!(unmix(mix(hash)), hash);
    }
}

#[test]
fn the_smallest_sets_work_at_every_width() {
    for count in [0, 1, 2, 3, 10, 40, 42, 43, 44, 100, 500, 4096, 4097, 4200] {
        let keys = hashes(1, count);
        for width in [1, 2, 7, 31, 32] {
            for shorter in [0, SHARES / 2, SHARES - 1] {
                let filter = built(&keys, Widths { bits: width, shorter });
                assert!(keys.iter().all(|&hash| filter.contains_hash(hash)), "{count} keys, {width} bits");
            }
        }
    }
}

#[test]
fn the_empty_set_has_no_words_and_no_keys() {
    let filter = built(&[], bits(8));
    assert_eq!((filter.words().len(), filter.keys(), filter.seed()), (0, 0, 0));
    let probes = hashes(2, 1000);
    let mut found = vec![true; probes.len()];
    filter.contains_hashes(&probes, &mut found);
    assert!(!found.contains(&true) && !filter.contains_hash(0));
}

#[test]
fn building_leaves_the_distinct_hashes() {
    let mut keys = [7, 5, 7, 1, u64::MAX, 5].to_vec();
    Ribbon::build(&mut keys, bits(8)).unwrap();
    keys.sort_unstable();
    assert_eq!(keys, [1, 5, 7, u64::MAX]);
    let many = hashes(3, 9000);
    let mut left = many.clone();
    Ribbon::build(&mut left, bits(3)).unwrap();
    assert_eq!(BTreeSet::from_iter(left), BTreeSet::from_iter(many));
}

#[test]
fn hashes_with_little_in_them_still_build() {
    let counting: Vec<u64> = (0..20_000).collect();
    let high_bits_only: Vec<u64> = (0..20_000).map(|i| i << 40).collect();
    let one_shard: Vec<u64> = hashes(4, 20_000).iter().map(|hash| 0xabc << 52 | hash >> 12).collect();
    let half: Vec<u64> = hashes(5, 20_000).iter().map(|hash| hash & 0xffff_ffff).collect();
    for keys in [counting, high_bits_only, one_shard, half] {
        let filter = built(&keys, bits(12));
        assert!(filter.seed() < 1024);
        assert!(keys.iter().all(|&hash| filter.contains_hash(hash)));
    }
}

/// Keys that all begin with the first slot, where a seed of 0 places them.
fn heap(count: u64, salt: u64) -> Vec<u64> {
    (0..count).map(|key| unmix(key) ^ salt).collect()
}

#[test]
fn a_set_that_fails_for_all_seeds_is_an_error_and_keeps_its_hashes() {
    let keys = heap(200, last_salt(0));
    assert_eq!(built(&keys, bits(8)).seed(), 1);
    let mut tried = keys.clone();
    let error = build::build_within(1, &mut tried, bits(8)).unwrap_err();
    assert!(matches!(error, crate::Error::Seeds { seeds: 1, .. }), "{error}");
    assert_eq!(BTreeSet::from_iter(tried), BTreeSet::from_iter(keys));
}

#[test]
fn keys_that_heap_up_in_the_first_layer_take_another_seed() {
    let keys = heap(20_000, salt(0, 0));
    let filter = built(&keys, bits(5));
    assert_eq!(filter.seed(), 1 << 8);
    assert!(keys.iter().all(|&hash| filter.contains_hash(hash)));
}

/// Seeds must fail independently of each other: if a set were bad for all of them, retrying
/// would not help.
#[test]
fn no_set_needs_many_seeds() {
    let counts = (0..1000).chain((1000..12_000).step_by(97)).chain([70_000, 71_000, 100_000, 300_000]);
    for count in counts {
        let seed = built(&hashes(count as u64 % 7, count), bits(1)).seed();
        assert!(seed < 24, "{count} keys: seed {seed}");
    }
}

/// Seeded; within 4 standard deviations.
#[test]
fn the_measured_rate_is_that_of_the_formula() {
    let keys = hashes(6, 100_000);
    let probes = hashes(7, 1_000_000);
    let mut found = vec![false; probes.len()];
    for fpr in [0.75, 0.5, 0.1, 0.0625, 0.02, 0.01, 1.0 / 256.0, 0.001, 1e-4] {
        let widths = Widths::for_rate(fpr).unwrap();
        let filter = built(&keys, widths);
        filter.contains_hashes(&probes, &mut found);
        let hits = found.iter().filter(|&&found| found).count() as f64;
        let rate = filter.rate();
        assert!(rate <= fpr && rate > fpr * 0.98, "{fpr}: {rate}");
        let expected = probes.len() as f64 * rate;
        // Which keys are bumped to layers of other shares moves the rate by less than 0.2 %.
        let tolerance = 4.0 * (expected * (1.0 - rate)).sqrt() + 0.002 * expected;
        assert!((hits - expected).abs() <= tolerance, "{fpr}: {hits} hits, {expected} expected");
    }
}

/// The least size is log2(1/p) bits per key.
#[test]
fn from_a_million_keys_a_filter_is_within_two_percent_of_the_least_size() {
    for step in 0..2000 {
        let fpr = 0.5 * 0.99f64.powi(step);
        let Some(widths) = Widths::for_rate(fpr) else { break };
        for keys in [1_000_000, 1_000_001, 3_000_000, 17_000_000, 400_000_000, 10_000_000_000, MAX_KEYS] {
            let all = words_needed(keys, widths).unwrap() as f64 * 64.0;
            let of_least = all / keys as f64 / -fpr.log2();
            let most = if fpr <= 0.02 {
                1.02
            } else if fpr <= 0.16 {
                1.04
            } else {
                1.08
            };
            assert!(of_least <= most, "{keys} keys at {fpr}: {of_least}");
        }
    }
    for keys in (1_000_000..20_000_000).step_by(99_991) {
        let all = words_needed(keys, Widths::for_rate(0.02).unwrap()).unwrap() as f64 * 64.0;
        assert!(all / keys as f64 / 50f64.log2() <= 1.02, "{keys}");
    }
}

#[test]
fn a_million_keys_build_with_the_first_seeds() {
    let keys = hashes(8, 1_000_000);
    let filter = built(&keys, Widths { bits: 3, shorter: 20_000 });
    assert!(filter.seed() < 4, "{}", filter.seed());
    let mut found = vec![false; keys.len()];
    filter.contains_hashes(&keys, &mut found);
    assert!(!found.contains(&false));
}

#[test]
fn wrong_lengths_widths_and_counts_are_errors() {
    let filter = built(&hashes(9, 100), bits(7));
    let words = filter.words();
    assert!(Ribbon::from_words(words, 100, bits(7), filter.seed()).is_ok());
    assert!(Ribbon::from_words(&words[1..], 100, bits(7), 0).is_err());
    assert!(Ribbon::from_words([words, &[0]].concat(), 100, bits(7), 0).is_err());
    for widths in [bits(0), bits(33), bits(u32::MAX), Widths { bits: 7, shorter: SHARES }] {
        assert!(Ribbon::from_words(words, 100, widths, 0).is_err());
        assert!(Ribbon::build(&mut vec![1, 2, 3], widths).is_err());
        assert!(words_needed(100, widths).is_err());
    }
    for keys in [MAX_KEYS + 1, u64::MAX / 111, u64::MAX] {
        assert!(slots(keys).is_err());
        assert!(Ribbon::from_words(words, keys, bits(7), 0).is_err());
    }
    assert!(Ribbon::from_words(words, MAX_KEYS, bits(7), 0).is_err());
}

/// The bytes are a promise: what is built today must be built tomorrow. The words and digests were made by
/// a program in Python that follows the specification and shares no code with this one.
#[test]
fn known_sets_give_the_known_words() {
    let filter = built(&hashes(11, 10), bits(12));
    assert_eq!(filter.seed(), 0);
    let words = [0x1a, 0x20ed, 0x18c, 0x20d0, 0x6a, 0xe4, 0x20bc, 0x2c, 0x2017, 0x21, 0x2109, 0x2124];
    assert_eq!(filter.words(), words);
    for (count, bits, shorter, len, digest) in [
        (1, 8, 0, 8, 0xfe3f_fa6f_6e8c_dd7d),
        (10, 3, 30_000, 3, 0x1e04_2af2_a0d0_7829),
        (500, 5, 1, 50, 0x86dd_3567_b123_b29a),
        (5000, 3, 30_000, 207, 0xf5f0_5c17_e507_1fba),
        (9000, 8, 0, 1147, 0x7b7c_8de1_d79a_b23e),
    ] {
        let filter = built(&hashes(11, count), Widths { bits, shorter });
        assert_eq!((filter.seed(), filter.words().len()), (0, len), "{count} keys");
        assert_eq!(filter.words().iter().fold(0, |sum, word| mix(sum ^ word)), digest, "{count} keys");
    }
}

/// Of more slots than a run has, by the same program in Python.
#[test]
fn a_known_set_of_two_runs_gives_the_known_words() {
    let filter = built(&hashes(11, 1_200_000), Widths { bits: 2, shorter: 30_000 });
    assert_eq!((filter.seed(), filter.words().len()), (0, 29_237));
    assert_eq!(filter.words().iter().fold(0, |sum, word| mix(sum ^ word)), 0x1bb6_e697_abf4_483d);
}

/// Reads and works in portions of its own.
struct Portions<'a> {
    hashes: &'a [u64],
    portion: usize,
    reads: usize,
}

impl Supply for Portions<'_> {
    type Error = crate::Error;

    fn read(&mut self, take: &mut (dyn FnMut(&[u64]) + Send)) -> crate::Result<()> {
        self.reads += 1;
        self.hashes.chunks(self.portion).rev().for_each(take);
        Ok(())
    }

    fn work(&mut self, runs: Vec<Run>, work: &(dyn Fn(Run) -> Solved + Sync)) -> crate::Result<Vec<Solved>> {
        let solved =
            runs.into_iter().rev().map(|run| std::thread::scope(|s| s.spawn(|| work(run)).join().unwrap()));
        Ok(solved.collect())
    }
}

#[test]
fn the_memory_the_order_and_the_threads_of_a_build_change_nothing() {
    let keys = hashes(12, 3_000_000);
    let widths = Widths { bits: 4, shorter: 9000 };
    let whole = built(&keys, widths);
    assert_eq!(whole.seed(), 0);
    let mut found = vec![false; keys.len()];
    whole.contains_hashes(&keys, &mut found);
    assert!(!found.contains(&false));
    // All at a time; a run at a time, and what it bumps; and not even that: levels tell what was bumped.
    for (held, reads) in [(u64::MAX, 1), (1_000_000, 3), (0, 6)] {
        let mut supply = Portions { hashes: &keys, portion: 70_001, reads: 0 };
        let mut words = vec![7; whole.words().len()];
        let seed = build_from(&mut supply, 3_000_000, widths, &mut words, held).unwrap();
        assert_eq!((seed, supply.reads), (0, reads), "{held}");
        assert!(words == whole.words(), "{held}");
    }
}

#[test]
fn a_supply_that_repeats_hashes_is_refused() {
    for count in [10, 5000, 1_200_000] {
        let keys = hashes(13, count);
        let twice = [&keys[..], &keys[count / 2..=count / 2]].concat();
        let mut supply = Portions { hashes: &twice, portion: 1000, reads: 0 };
        let mut words = vec![0; words_needed(count as u64 + 1, bits(2)).unwrap()];
        let error = build_from(&mut supply, count as u64 + 1, bits(2), &mut words, 1 << 20).unwrap_err();
        assert!(matches!(error, crate::Error::Repeats), "{error}");
        assert_eq!(built(&twice, bits(2)).words(), built(&keys, bits(2)).words());
    }
}

/// Prints what a filter of a million keys costs; it asserts nothing of time.
#[test]
#[ignore = "prints measurements"]
fn measurements() {
    let count = std::env::var("KEYS").map_or(1_000_000, |keys| keys.parse().unwrap());
    let keys = hashes(6, count);
    let probes = hashes(7, 1_000_000);
    let mut found = vec![false; probes.len()];
    for fpr in [0.5, 0.1, 0.02, 0.01, 0.001, 1.0 / 256.0, 1.0 / 65536.0] {
        let widths = Widths::for_rate(fpr).unwrap();
        let mut set = keys.clone();
        let begun = Instant::now();
        let filter = Ribbon::build(&mut set, widths).unwrap();
        let build = begun.elapsed().as_nanos() as f64 / count as f64;
        let begun = Instant::now();
        filter.contains_hashes(&probes, &mut found);
        let other = begun.elapsed().as_nanos() as f64 / probes.len() as f64;
        let rate = found.iter().filter(|&&found| found).count() as f64 / probes.len() as f64;
        let members = &keys[..count.min(probes.len())];
        let begun = Instant::now();
        filter.contains_hashes(members, &mut found[..members.len()]);
        let member = begun.elapsed().as_nanos() as f64 / members.len() as f64;
        let bits = filter.words().len() as f64 * 64.0 / count as f64;
        println!(
            "{fpr:.6}: {bits:.4} bits per key, {:.4} of the least; rate {rate:.6}; seed {}; build {build:.0} ns, lookup {other:.1} ns, of members {member:.1} ns",
            bits / -fpr.log2(),
            filter.seed(),
        );
    }
}
