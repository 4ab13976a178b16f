use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::bloom::position;
use crate::hash::xxh3;
use crate::sizing::Shape;
use crate::testing::hashes;

/// The definition, written down once more, with counters that never saturate.
struct Model {
    shape: Shape,
    update: Update,
    rows: Vec<HashMap<u64, u128>>,
}

impl Model {
    fn new(shape: Shape, update: Update) -> Self {
        Model { shape, update, rows: vec![HashMap::new(); shape.hashes() as usize] }
    }

    fn places(&self, hash: u64) -> Vec<(usize, u64)> {
        (0..self.shape.hashes()).map(|r| (r as usize, position(hash, r, self.shape.row()))).collect()
    }

    fn at(&self, (row, place): (usize, u64)) -> u128 {
        self.rows[row].get(&place).copied().unwrap_or(0)
    }

    fn estimate(&self, hash: u64) -> u128 {
        self.places(hash).into_iter().map(|place| self.at(place)).min().unwrap()
    }

    fn add(&mut self, hash: u64, weight: u64) {
        let target = self.estimate(hash) + u128::from(weight);
        for place in self.places(hash) {
            let value = match self.update {
                Update::Plain => self.at(place) + u128::from(weight),
                Update::Conservative => self.at(place).max(target),
            };
            self.rows[place.0].insert(place.1, value);
        }
    }
}

type Rows = Vec<(u64, u64)>;

fn weighted() -> impl Strategy<Value = Rows> {
    let weight = prop_oneof![4 => 0u64..50, 1 => 0u64..1 << 33, 1 => Just(u64::MAX)];
    prop::collection::vec(((0u64..60).prop_map(|n| xxh3(&n.to_le_bytes(), 1)), weight), 0..150)
}

fn shapes() -> impl Strategy<Value = Shape> {
    (1u64..80, 1u32..9, prop::bool::ANY)
        .prop_map(|(row, depth, wide)| shape_by_hand(row, depth, if wide { 64 } else { 32 }).unwrap())
}

fn filled(shape: Shape, update: Update, rows: &[(u64, u64)]) -> CountMin<crate::memory::Words> {
    let mut sketch = CountMin::zeroed(shape, update).unwrap();
    let (hashes, weights): (Vec<u64>, Vec<u64>) = rows.iter().copied().unzip();
    sketch.add_weighted(&hashes, &weights);
    sketch
}

proptest! {
    #[test]
    fn the_sketch_is_what_the_definition_says(rows in weighted(), shape in shapes(), plain: bool) {
        let update = if plain { Update::Plain } else { Update::Conservative };
        let (mut sketch, mut model) = (CountMin::zeroed(shape, update).unwrap(), Model::new(shape, update));
        for &(hash, weight) in &rows {
            sketch.add_hash(hash, weight);
            model.add(hash, weight);
        }
        let batched = filled(shape, update, &rows);
        prop_assert_eq!(sketch.words(), batched.words());
        prop_assert_eq!(sketch.total(), batched.total());
        let asked: Vec<u64> = rows.iter().map(|row| row.0).chain([3, u64::MAX]).collect();
        let mut estimates = vec![0; asked.len()];
        sketch.estimates(&asked, &mut estimates);
        for (&hash, &estimate) in asked.iter().zip(&estimates) {
            prop_assert_eq!(estimate, sketch.estimate_hash(hash));
            prop_assert_eq!(u128::from(estimate), model.estimate(hash).min(u128::from(sketch.most())));
        }
        prop_assert!(sketch.is_consistent());
    }

    #[test]
    fn an_estimate_is_never_below_the_truth_and_a_conservative_one_never_above_the_plain(
        rows in weighted(), shape in shapes(),
    ) {
        let mut truth: HashMap<u64, u128> = HashMap::new();
        rows.iter().for_each(|&(hash, weight)| *truth.entry(hash).or_default() += u128::from(weight));
        let plain = filled(shape, Update::Plain, &rows);
        let conservative = filled(shape, Update::Conservative, &rows);
        for (hash, truth) in truth {
            let (high, low) = (plain.estimate_hash(hash), conservative.estimate_hash(hash));
            prop_assert!(low <= high);
            prop_assert!(u128::from(low) >= truth || conservative.is_full(low));
        }
    }

    /// A full counter hides what it should hold and nothing else: an estimate that is not full is
    /// that of counters without a limit, so its error is theirs; one that is full is less than theirs.
    #[test]
    fn an_estimate_that_is_not_full_is_that_of_counters_without_a_limit(
        rows in weighted(), shape in shapes(), plain: bool,
    ) {
        let update = if plain { Update::Plain } else { Update::Conservative };
        let (sketch, mut model) = (filled(shape, update, &rows), Model::new(shape, update));
        rows.iter().for_each(|&(hash, weight)| model.add(hash, weight));
        for hash in rows.iter().map(|row| row.0).chain(hashes(5 << 40, 20)) {
            let (estimate, unlimited) = (sketch.estimate_hash(hash), model.estimate(hash));
            match sketch.is_full(estimate) {
                false => prop_assert_eq!(u128::from(estimate), unlimited),
                true => prop_assert!(unlimited >= u128::from(sketch.most())),
            }
        }
    }

    #[test]
    fn the_sum_of_two_sketches_is_the_sketch_of_both_in_any_order(
        left in weighted(), right in weighted(), shape in shapes(),
    ) {
        let mut merged = filled(shape, Update::Plain, &left);
        merged.merge(&filled(shape, Update::Plain, &right)).unwrap();
        let both: Rows = right.iter().chain(&left).rev().copied().collect();
        let whole = filled(shape, Update::Plain, &both);
        prop_assert_eq!(merged.words(), whole.words());
        prop_assert_eq!(merged.total(), whole.total());
    }

    #[test]
    fn an_inner_product_is_never_below_the_truth(
        left in prop::collection::vec((0u64..40, 0u64..1000), 0..60),
        right in prop::collection::vec((0u64..40, 0u64..1000), 0..60),
        shape in shapes(),
    ) {
        let hashed = |rows: &[(u64, u64)]| -> Rows {
            rows.iter().map(|&(key, weight)| (xxh3(&key.to_le_bytes(), 1), weight)).collect()
        };
        let sum = |rows: &[(u64, u64)], key: u64| -> u128 {
            rows.iter().filter(|row| row.0 == key).map(|row| u128::from(row.1)).sum()
        };
        let truth: u128 = (0..40).map(|key| sum(&left, key) * sum(&right, key)).sum();
        let (a, b) = (filled(shape, Update::Plain, &hashed(&left)), filled(shape, Update::Plain, &hashed(&right)));
        let product = a.inner_product(&b).unwrap();
        prop_assert_eq!(product, b.inner_product(&a).unwrap());
        prop_assert!(product >= truth && product <= u128::from(a.total()) * u128::from(b.total()));
    }

    #[test]
    fn a_shape_keeps_what_was_asked_for(epsilon in 1e-7..0.999f64, delta in 1e-20..0.999f64) {
        let shape = shape(epsilon, delta, 64).unwrap();
        prop_assert!(epsilon_of(shape.row()) <= epsilon && delta_of(shape.hashes()) <= delta);
        prop_assert!(shape.row() == 3 || std::f64::consts::E / (shape.row() - 1) as f64 > epsilon);
        prop_assert!(shape.hashes() == 1 || delta_of(shape.hashes() - 1) > delta);
        prop_assert!(possible(&shape, epsilon));
    }
}

/// Counts as a power law has them: the key of rank k comes about top/k times.
fn skewed(keys: usize, top: u64) -> Rows {
    hashes(7 << 40, keys).into_iter().enumerate().map(|(k, hash)| (hash, top / (k as u64 + 1) + 1)).collect()
}

/// Seeded. 100,000 keys of a power law in a sketch of ε = 0.001 and δ = e^(−d). That an estimate is
/// more than εN above the truth has at most the probability δ for each key; the keys that are, are at
/// most as many as 5 standard deviations above a binomial count of that probability. Uniform weights,
/// where the error is nearly the same for all keys, are the harder case and are tried as well.
#[test]
fn estimates_are_over_the_bound_not_more_often_than_delta() {
    for depth in 1..=4 {
        for rows in
            [skewed(100_000, 50_000), hashes(9 << 40, 100_000).into_iter().map(|hash| (hash, 3)).collect()]
        {
            let shape = shape_by_hand(2719, depth, 64).unwrap();
            let sketch = filled(shape, Update::Plain, &rows);
            let bound = sketch.bound();
            assert!((bound / sketch.total() as f64 - 0.001).abs() < 1e-6);
            let over = |&&(hash, truth): &&(u64, u64)| (sketch.estimate_hash(hash) - truth) as f64 > bound;
            let over = rows.iter().filter(over).count() as f64;
            let (n, delta) = (rows.len() as f64, delta_of(depth));
            let most = n * delta + 5.0 * (n * delta * (1.0 - delta)).sqrt();
            assert!(over <= most, "depth {depth}: {over} of {n} keys are over the bound, {most} may be");
        }
    }
}

/// Seeded. The other keys add N/w on average to a counter, and a shallow sketch has no less error
/// than that: a sketch that counted nothing, or hashed badly, would not.
#[test]
fn the_mean_error_of_one_row_is_the_total_divided_by_its_counters() {
    let rows = skewed(50_000, 20_000);
    let sketch = filled(shape_by_hand(1000, 1, 64).unwrap(), Update::Plain, &rows);
    let error: u64 = rows.iter().map(|&(hash, truth)| sketch.estimate_hash(hash) - truth).sum();
    let (mean, expected) = (error as f64 / rows.len() as f64, sketch.total() as f64 / 1000.0);
    assert!((mean / expected - 1.0).abs() < 0.05, "{mean} and {expected}");
}

#[test]
fn many_keys_at_once_are_where_one_by_one_puts_them() {
    let keys = hashes(7, 3000);
    // Rows whose length is a power of two and not, in the cache and beyond.
    for (row, bits) in
        [(1, 64), (2, 32), (1 << 11, 32), (2053, 64), (1 << 16, 64), (70_001, 32), (1 << 18, 32)]
    {
        for depth in [3, 4, 5, 6, 7] {
            let shape = shape_by_hand(row, depth, bits).unwrap();
            let mut together = CountMin::zeroed(shape, Update::Plain).unwrap();
            together.add_hashes(&keys);
            let mut single = CountMin::zeroed(shape, Update::Plain).unwrap();
            keys.iter().for_each(|&hash| single.add_hash(hash, 1));
            assert!(together.words() == single.words(), "{depth} rows of {row}");
            let mut estimates = vec![0; keys.len()];
            single.estimates(&keys, &mut estimates);
            assert!(
                keys.iter().zip(estimates).all(|(&hash, estimate)| single.estimate_hash(hash) == estimate)
            );
        }
    }
}

/// Seeded. Of 4,000 keys, 8 million pairs; rows of 1,000 counters. In each row a thousandth of the
/// pairs meet, and of two rows a millionth in both: those of independent rows. Tolerance: 5 standard
/// deviations of a Poisson count. Keys that are alike, as numbers and addresses are, are as good as any.
#[test]
fn that_two_keys_meet_in_one_row_makes_it_no_likelier_in_another() {
    const KEYS: usize = 4000;
    const ROW: u64 = 1000;
    let hashed =
        |text: fn(usize) -> String| (0..KEYS).map(|n| xxh3(text(n).as_bytes(), 0)).collect::<Vec<u64>>();
    let numbers = hashed(|n| n.to_string());
    let addresses = hashed(|n| format!("10.0.{}.{}", n / 250, n % 250));
    for keys in [hashes(0, KEYS), numbers, addresses] {
        let places: Vec<[u64; 3]> =
            keys.iter().map(|&hash| [0, 1, 2].map(|r| position(hash, r, ROW))).collect();
        let (mut one, mut two) = ([0u64; 3], [0u64; 3]);
        for (i, a) in places.iter().enumerate() {
            for b in &places[..i] {
                let [x, y, z] = [0, 1, 2].map(|r| a[r] == b[r]);
                for (count, met) in one.iter_mut().zip([x, y, z]) {
                    *count += u64::from(met);
                }
                for (count, met) in two.iter_mut().zip([x & y, y & z, x & z]) {
                    *count += u64::from(met);
                }
            }
        }
        let pairs = (KEYS * (KEYS - 1) / 2) as f64;
        for (counts, expected) in [(one, pairs / ROW as f64), (two, pairs / (ROW * ROW) as f64)] {
            for count in counts {
                let off = (count as f64 - expected).abs();
                assert!(off <= 5.0 * expected.sqrt(), "{count} pairs meet, {expected} are to be expected");
            }
        }
    }
}

/// That the counters of a key are full says nothing of the key: here its true weight is zero.
#[test]
fn a_key_that_never_came_may_find_its_counters_full() {
    let mut sketch = CountMin::zeroed(shape_by_hand(1, 2, 32).unwrap(), Update::Plain).unwrap();
    let [came, never] = hashes(0, 2)[..] else { unreachable!() };
    sketch.add_hash(came, 1 << 32);
    let estimate = sketch.estimate_hash(never);
    assert!(sketch.is_full(estimate));
    assert!(estimate as f64 - sketch.bound() <= 0.0, "it is not said to be above zero");
}

#[test]
fn counters_stay_at_their_largest_value() {
    for (bits, most) in [(32, u64::from(u32::MAX)), (64, u64::MAX)] {
        for update in [Update::Plain, Update::Conservative] {
            let mut sketch = CountMin::zeroed(shape_by_hand(100, 3, bits).unwrap(), update).unwrap();
            let [a, b] = hashes(0, 2)[..] else { unreachable!() };
            sketch.add_hash(a, most - 1);
            assert_eq!((sketch.estimate_hash(a), sketch.census().saturated), (most - 1, 0));
            sketch.add_hash(a, 7);
            sketch.add_hash(b, u64::MAX);
            for hash in [a, b] {
                assert_eq!(sketch.estimate_hash(hash), most);
            }
            assert_eq!(sketch.total(), u64::MAX);
            let census = sketch.census();
            assert_eq!((census.largest, census.saturated, census.used), (most, 6, 6));
            if update == Update::Plain {
                let twin = sketch.clone_words();
                sketch.merge(&twin).unwrap();
                assert_eq!(sketch.estimate_hash(a), most);
            }
        }
    }
}

/// What is added by rows relies on it: no counter exceeds the total.
#[test]
fn a_full_counter_belongs_to_no_smaller_total() {
    let shape = shape_by_hand(8, 2, 32).unwrap();
    let mut sketch = CountMin::zeroed(shape, Update::Plain).unwrap();
    sketch.add_hash(1, 3 << 32);
    assert!(sketch.is_consistent() && sketch.census().saturated > 0);
    let forged = |total| CountMin::from_words(sketch.words().to_vec(), shape, Update::Plain, total).unwrap();
    assert!(forged(u64::MAX).is_consistent() && forged(u64::from(u32::MAX)).is_consistent());
    assert!(!forged(5).is_consistent() && !forged(u64::from(u32::MAX) - 1).is_consistent());
}

#[test]
fn counters_stay_at_their_largest_value_where_many_keys_are_added() {
    let keys = hashes(0, 64);
    for (bits, most) in [(32, u64::from(u32::MAX)), (64, u64::MAX)] {
        let mut sketch = CountMin::zeroed(shape_by_hand(1, 3, bits).unwrap(), Update::Plain).unwrap();
        sketch.add_hash(7, most - 65);
        for value in [most - 1, most, most] {
            sketch.add_hashes(&keys);
            assert_eq!(sketch.estimate_hash(7), value);
        }
    }
}

impl<W: AsRef<[u64]>> CountMin<W> {
    fn clone_words(&self) -> CountMin<Vec<u64>> {
        CountMin::from_words(self.words().to_vec(), self.shape(), self.update(), self.total()).unwrap()
    }
}

#[test]
fn an_odd_number_of_narrow_counters_leaves_half_a_word_alone() {
    let mut sketch = CountMin::zeroed(shape_by_hand(5, 3, 32).unwrap(), Update::Plain).unwrap();
    assert_eq!(sketch.words().len(), 8);
    sketch.add_hashes(&hashes(0, 1000));
    assert_eq!(sketch.words()[7] >> 32, 0);
    assert_eq!(sketch.census().used, 15);
    assert_eq!(counters_used(sketch.words(), 32), 15);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let shape = shape_by_hand(10, 2, 64).unwrap();
    let sketch = |shape, update| CountMin::zeroed(shape, update).unwrap();
    let mut one = sketch(shape, Update::Plain);
    for other in [
        sketch(shape_by_hand(11, 2, 64).unwrap(), Update::Plain),
        sketch(shape_by_hand(10, 3, 64).unwrap(), Update::Plain),
        sketch(shape_by_hand(10, 2, 32).unwrap(), Update::Plain),
        sketch(shape, Update::Conservative),
    ] {
        assert!(one.merge(&other).is_err() && one.inner_product(&other).is_err());
    }
    let mut conservative = sketch(shape, Update::Conservative);
    let twin = sketch(shape, Update::Conservative);
    assert!(conservative.merge(&twin).is_err() && conservative.inner_product(&twin).is_err());
    assert!(CountMin::from_words(vec![0; 19], shape, Update::Plain, 0).is_err());
    let deeper = shape_by_hand(shape.row(), 3, 64).unwrap();
    assert!(CountMin::from_words(vec![0; 20], deeper, Update::Plain, 0).is_err());
}

#[test]
fn sizes_that_make_no_sense_are_refused() {
    for bad in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::INFINITY] {
        assert!(shape(bad, 0.01, 64).is_err() && shape(0.01, bad, 64).is_err(), "{bad}");
    }
    assert!(shape(1e-300, 0.01, 64).is_err() && shape(1e-16, 0.01, 64).is_err());
    assert!(shape(0.01, 1e-100, 64).is_err());
    for (row, depth, bits) in
        [(0, 4, 64), (10, 0, 64), (10, 65, 64), (10, 4, 16), (u64::MAX, 4, 64), (1 << 52, 4, 64)]
    {
        assert!(shape_by_hand(row, depth, bits).is_err(), "{row} {depth} {bits}");
    }
    assert_eq!(shape(0.0001, 0.01, 64).unwrap(), Shape::CountMin { row: 27183, depth: 5, counter_bits: 64 });
}

#[test]
fn the_least_weight_of_a_share_is_met_by_what_has_it_exactly() {
    for total in (0..2000).chain([1 << 53, (1 << 60) + 1, u64::MAX]) {
        for hundredths in 1..=100u64 {
            let share = hundredths as f64 / 100.0;
            let exact = (u128::from(total) * u128::from(hundredths)).div_ceil(100);
            let least = u128::from(least(share, total));
            assert!(least <= exact.max(1), "{share} of {total}: {least} is above {exact}");
            assert!(least as f64 >= exact as f64 * (1.0 - 1e-11) - 1e-9, "{share} of {total}: {least}");
        }
    }
}
