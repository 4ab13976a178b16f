use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::bloom::positions;
use crate::sizing::Shape;
use crate::testing::{assert_rate, hashes};

/// The definition, written down once more: for each layer the set of its addresses.
struct Model {
    shape: Shape,
    layers: Vec<HashSet<u64>>,
}

impl Model {
    fn new(shape: Shape) -> Self {
        Model { shape, layers: vec![HashSet::new(); shape.width() as usize] }
    }

    /// The layer and address of every bit of a record.
    fn bits(&self, record: &[u64]) -> Vec<(usize, u64)> {
        let layers = self.layers.len() - 1;
        let (m, k) = (self.shape.slots(), self.shape.hashes());
        let address = |keyword: u64, j: u32| positions(keyword, m, k).nth(j as usize).unwrap();
        let mut bits = Vec::new();
        for (i, &keyword) in record.iter().enumerate() {
            bits.extend((0..k).map(|j| (i % layers, address(keyword, j))));
        }
        if !record.is_empty() {
            let xor = |j: u32| record.iter().fold(0, |folded, &keyword| folded ^ address(keyword, j));
            bits.extend((0..k).map(|j| (layers, xor(j))));
        }
        bits
    }

    fn insert(&mut self, record: &[u64]) {
        for (layer, address) in self.bits(record) {
            self.layers[layer].insert(address);
        }
    }

    fn ask(&self, record: &[u64]) -> Answer {
        let has = |&(layer, address): &(usize, u64)| self.layers[layer].contains(&address);
        let bits = self.bits(record);
        let (of_keywords, of_xor) = bits.split_at(record.len() * self.shape.hashes() as usize);
        match (of_keywords.iter().all(has), of_xor.iter().all(has)) {
            _ if record.is_empty() => Answer::No,
            (false, _) => Answer::No,
            (true, false) => Answer::Part,
            (true, true) => Answer::Whole,
        }
    }

    fn words(&self) -> Vec<u64> {
        let mut words = vec![0; (self.shape.bits() / 64) as usize];
        for (layer, addresses) in self.layers.iter().enumerate() {
            for address in addresses {
                let at = layer as u64 * self.shape.slots() + address;
                words[(at / 64) as usize] |= 1 << (at % 64);
            }
        }
        words
    }
}

fn records() -> impl Strategy<Value = Vec<Vec<u64>>> {
    prop::collection::vec(prop::collection::vec(0u64..60, 0..12), 0..40)
}

proptest! {
    #[test]
    fn the_filter_is_what_the_definition_says(members in records(), probes in records(), log in 6u32..12, layers in 1u32..9, k in 1u32..9) {
        let shape = Shape::Layered { bits: 1 << log, layers, hashes: k };
        let (mut filter, mut model) = (Layered::zeroed(shape).unwrap(), Model::new(shape));
        for record in &members {
            filter.insert_keywords(record);
            model.insert(record);
        }
        prop_assert_eq!(filter.words(), model.words());
        for record in members.iter().chain(&probes) {
            prop_assert_eq!(filter.ask(record), model.ask(record));
        }
        for record in members.iter().filter(|record| !record.is_empty()) {
            prop_assert!(filter.contains_keywords(record));
            // What a record begins with is found as a part, or by chance as a whole.
            for first in 1..record.len() {
                prop_assert!(filter.ask(&record[..first]) >= Answer::Part);
            }
        }
    }

    #[test]
    fn the_union_is_the_or_and_the_order_of_records_does_not_matter(left in records(), right in records(), layers in 1u32..5) {
        let shape = Shape::Layered { bits: 256, layers, hashes: 3 };
        let filled = |records: &mut dyn Iterator<Item = &Vec<u64>>| {
            let mut filter = Layered::zeroed(shape).unwrap();
            records.for_each(|record| filter.insert_keywords(record));
            filter.words().to_vec()
        };
        let (a, b) = (filled(&mut left.iter()), filled(&mut right.iter()));
        let union = filled(&mut right.iter().chain(&left).rev());
        prop_assert!(a.iter().zip(&b).map(|(a, b)| a | b).eq(union));
    }

    #[test]
    fn a_shape_meets_its_rate_and_half_of_its_bits_do_not(items in 1u64..10_000_000, log in -5.0..-0.31f64, layers in 1u32..9) {
        let fpr = 10f64.powf(log);
        let shape = shape_for_rate(items, fpr, layers).unwrap();
        prop_assert_eq!(shape.layers(), layers);
        prop_assert!(crate::bloom::expected_rate(items, shape.slots(), shape.hashes()) <= fpr);
        if shape.slots() > LEAST_BITS {
            prop_assert!(crate::bloom::expected_rate(items, shape.slots() / 2, shape.hashes()) > fpr);
        }
    }
}

/// Fresh keywords for every record: `count` records of `length` keywords, from a number on.
fn fresh(from: u64, count: usize, length: usize) -> Vec<Vec<u64>> {
    hashes(from, count * length).chunks(length).map(<[u64]>::to_vec).collect()
}

/// Seeded. 3,000 records, m = 2¹⁴ and k = 4; 200,000 probes of each sort. The tolerance is 5
/// standard deviations of the hits against the rate of just this filter, and for the planned
/// rate 6 % more for each layer asked, for how filters differ from each other.
#[test]
fn rates_agree_with_the_formulas_for_one_to_eight_layers() {
    const RECORDS: usize = 3000;
    const PROBES: usize = 200_000;
    for layers in 1..=8u32 {
        // Records of one keyword in each layer, and of some that go round.
        for length in [layers.max(2) as usize, layers as usize + 1] {
            let shape = Shape::Layered { bits: 1 << 14, layers, hashes: 4 };
            let members = fresh(u64::from(layers) << 40, RECORDS, length);
            let mut filter = Layered::zeroed(shape).unwrap();
            members.iter().for_each(|record| filter.insert_keywords(record));
            let rates = filter.layer_rates();
            let (xor, of_layers) = rates.split_last().unwrap();
            let count = |probes: &mut dyn Iterator<Item = Vec<u64>>, least: Answer| {
                probes.filter(|record| filter.ask(record) >= least).count()
            };
            let what = format!("{layers} layers, {length} keywords");

            let of_keywords: f64 = (0..length).map(|i| of_layers[i % layers as usize]).product();
            let random = || fresh(1 << 50, PROBES, length).into_iter();
            assert_rate(count(&mut random(), Answer::Whole), PROBES, of_keywords * xor, 0.0, &what);
            assert_rate(count(&mut random(), Answer::Part), PROBES, of_keywords, 0.0, &what);
            let planned = |i: usize| {
                let each = length / layers as usize + usize::from(i < length % layers as usize);
                crate::bloom::expected_rate((RECORDS * each) as u64, shape.slots(), shape.hashes())
            };
            let expected: f64 = (0..length).map(|i| planned(i % layers as usize)).product::<f64>()
                * crate::bloom::expected_rate(RECORDS as u64, shape.slots(), shape.hashes());
            let slack = 0.06 * (length + 1) as f64;
            assert_rate(count(&mut random(), Answer::Whole), PROBES, expected, slack, &what);
            if length == layers.max(2) as usize {
                assert!((filter.rate_now() / (of_keywords * xor) - 1.0).abs() < 1e-9);
            }

            // Keyword i of one member, the others of another: each stands where a member has it.
            let mixed = |p: usize| -> Vec<u64> {
                let pick = |i: usize| members[(p * 7919 + i * (p / RECORDS + 1)) % RECORDS][i];
                (0..length).map(pick).collect()
            };
            let mut recombined = (0..PROBES).map(mixed);
            assert_rate(count(&mut recombined, Answer::Whole), PROBES, *xor, 0.0, &what);
            assert_eq!(count(&mut (0..1000).map(mixed), Answer::Part), 1000, "all of them pass the layers");
            // The same except for the last keyword, which no member has.
            let mut but_one = (0..PROBES).map(|p| {
                let mut record = mixed(p);
                record[length - 1] = crate::hash::xxh3(&p.to_le_bytes(), 9);
                record
            });
            let last = of_layers[(length - 1) % layers as usize];
            assert_rate(count(&mut but_one, Answer::Whole), PROBES, last * xor, 0.0, &what);
        }
    }
}

#[test]
fn the_number_of_layers_is_the_published_one() {
    for (keywords, records, k, layers) in [
        (7_500, 1000, 4, 2),  // 1.875
        (1000, 1000, 4, 1),   // 0.25: at least one
        (10_000, 1000, 4, 2), // 2.5: half to even
        (14_000, 1000, 4, 4), // 3.5
        (0, 0, 4, 1),
        (u64::MAX, 1, 1, MOST_LAYERS),
    ] {
        assert_eq!(layers_for(keywords, records, k), layers, "{keywords} keywords of {records}");
    }
}

#[test]
fn what_cannot_be_told_apart_is_not() {
    let shape = shape_for_rate(1000, 1e-4, 2).unwrap();
    let mut filter = Layered::zeroed(shape).unwrap();
    let words = hashes(0, 5);
    filter.insert_keywords(&words[..4]);
    let [a, b, c, d, _] = words[..] else { unreachable!() };
    assert_eq!(filter.ask(&[c, d, a, b]), Answer::Whole, "places that differ by the layers");
    assert_eq!(filter.ask(&[b, a, c, d]), Answer::No, "another layer");
    assert_eq!(filter.ask(&[a, b]), Answer::Part);
    assert_eq!(filter.ask(&[]), Answer::No);
    filter.insert_keywords(&[]);
    assert_eq!(filter.ask(&[]), Answer::No, "no keywords are no record");
}

/// Where all records have one keyword, the XOR layer is the first layer again.
#[test]
fn records_of_one_keyword_gain_nothing_by_the_xor_layer() {
    let mut filter = Layered::for_rate(500, 0.05, 1).unwrap();
    hashes(0, 500).iter().for_each(|&hash| filter.insert_keywords(&[hash]));
    let words = filter.words();
    assert_eq!(words[..words.len() / 2], words[words.len() / 2..]);
}

#[test]
fn a_record_of_ten_thousand_keywords_goes_round() {
    let mut filter = Layered::for_rate(10_000, 0.01, 3).unwrap();
    let record = hashes(0, 10_000);
    filter.insert_keywords(&record);
    assert!(filter.contains_keywords(&record));
    assert_eq!(filter.ask(&record[..9_999]), Answer::Part);
}

#[test]
fn records_are_counted_by_the_xor_layer() {
    let mut filter = Layered::for_rate(2000, 0.05, 2).unwrap();
    // Ten different keywords only: 0 and 1 … 9 in two places, 90 records.
    let few = hashes(0, 10);
    for a in 0..10 {
        for b in (0..10).filter(|&b| b != a) {
            filter.insert_keywords(&[few[a], few[b], hashes(100 + (a * 10 + b) as u64, 1)[0]]);
        }
    }
    assert!((filter.estimated_records() - 90.0).abs() < 4.0, "{}", filter.estimated_records());
}

#[test]
fn shapes_that_make_no_sense_are_refused() {
    let good = Shape::Layered { bits: 64, layers: 1, hashes: 4 };
    assert!(Layered::from_words(vec![0; 2], good).is_ok());
    for shape in [
        Shape::Layered { bits: 96, layers: 1, hashes: 4 },
        Shape::Layered { bits: 32, layers: 1, hashes: 4 },
        Shape::Layered { bits: 0, layers: 1, hashes: 4 },
        Shape::Layered { bits: 64, layers: 0, hashes: 4 },
        Shape::Layered { bits: 64, layers: 1, hashes: 0 },
        Shape::Layered { bits: 64, layers: 1, hashes: 65 },
        Shape::Bloom { bits: 128, hashes: 4 },
    ] {
        assert!(Layered::from_words(vec![0; 2], shape).is_err(), "{shape:?}");
    }
    assert!(Layered::from_words(vec![0; 3], good).is_err());
    assert!(shape_for_rate(10, 0.05, 0).is_err() && shape_for_rate(10, 0.05, MOST_LAYERS + 1).is_err());
    assert!(shape_for_bits(10, 100, 2).is_err() && shape_for_bits(10, 1000, 0).is_err());
    assert_eq!(shape_for_bits(10, 1000, 2).unwrap().slots(), 256);
}
