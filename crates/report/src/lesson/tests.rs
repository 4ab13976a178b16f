//! The numbers of lessons, against models that know nothing of the library's formulas.

use super::*;
use tamis::sizing::Shape;

/// A small generator, so that every run throws the same darts.
struct Darts(u64);

impl Darts {
    /// A number below this one.
    fn throw(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)) * u128::from(below)) >> 64) as u64
    }
}

fn near(found: f64, expected: f64, tolerance: f64) -> bool {
    (found / expected - 1.0).abs() < tolerance
}

#[test]
fn darts_that_are_really_thrown_err_as_the_lesson_on_bloom_says() {
    for (keys, bits, hashes) in [(10u64, 80u64, 2u32), (10, 80, 6), (50, 200, 1), (200, 1600, 5)] {
        let json = Lesson::of_filter(Shape::Bloom { bits, hashes }, keys).unwrap().json();
        let mut darts = Darts(0x9e37_79b9_7f4a_7c15);
        let rounds = 40_000;
        let (mut rate, mut ones) = (0.0, 0.0);
        for _ in 0..rounds {
            let mut hit = vec![false; bits as usize];
            for _ in 0..keys * u64::from(hashes) {
                hit[darts.throw(bits) as usize] = true;
            }
            let share = hit.iter().filter(|hit| **hit).count() as f64 / bits as f64;
            ones += share / f64::from(rounds);
            rate += share.powi(hashes as i32) / f64::from(rounds);
        }
        // Of 40,000 rounds, the mean is off by less than half a per cent.
        let number = |name: &str| json[name].as_f64().unwrap();
        assert!(near(ones, number("ones_expected"), 0.005), "{keys} keys: {ones} ones, {json:#}");
        assert!(near(rate, number("fpr"), 0.01), "{keys} keys: {rate}, {json:#}");
        // And the approximation is seen to be too low where keys are few.
        assert!(number("fpr_approximation") < number("fpr"));
        if keys == 10 && hashes == 6 {
            assert!(!near(rate, number("fpr_approximation"), 0.05), "{rate}, {json:#}");
        }
    }
}

#[test]
fn keys_that_are_really_thrown_into_lines_err_as_the_lesson_on_blocked_says() {
    let (keys, lines, hashes) = (500u64, 10u64, 8u32);
    let lane = 512 / u64::from(hashes);
    let json = Lesson::of_filter(Shape::Blocked { lines, hashes }, keys).unwrap().json();
    let mut darts = Darts(1);
    let rounds = 3000;
    let (mut rate, mut with_fifty) = (0.0, 0.0);
    for _ in 0..rounds {
        let mut bits = vec![false; (lines * 512) as usize];
        let mut held = vec![0; lines as usize];
        for _ in 0..keys {
            let line = darts.throw(lines);
            held[line as usize] += 1;
            for i in 0..u64::from(hashes) {
                bits[(line * 512 + i * lane + darts.throw(lane)) as usize] = true;
            }
        }
        for line in bits.chunks(512) {
            let share = |lane: &[bool]| lane.iter().filter(|bit| **bit).count() as f64 / lane.len() as f64;
            rate += line.chunks(lane as usize).map(share).product::<f64>();
        }
        with_fifty += held.iter().filter(|held| **held == 50).count() as f64;
    }
    let places = f64::from(rounds) * lines as f64;
    assert!(near(rate / places, json["fpr"].as_f64().unwrap(), 0.02), "{}, {json:#}", rate / places);
    let of_fifty = json["lines_by_keys"].as_array().unwrap().iter().find(|load| load["keys"] == 50).unwrap();
    assert!(near(with_fifty / places, of_fifty["share"].as_f64().unwrap(), 0.1), "{of_fifty}");
}

#[test]
fn counters_follow_from_the_error_as_published() {
    let e = std::f64::consts::E;
    for (epsilon, delta, total) in [(0.001, 0.01, 1_000_000), (0.01, 0.5, 7), (0.0001, 1e-9, u64::MAX)] {
        let shape = tamis::countmin::shape(epsilon, delta, 64).unwrap();
        let json = Lesson::of_counts(shape, total, Some((epsilon, delta))).unwrap().json();
        let (w, d) = ((e / epsilon).ceil(), (1.0 / delta).ln().ceil());
        assert_eq!((json["counters_per_row"].as_f64(), json["depth"].as_f64()), (Some(w), Some(d)));
        assert!(near(json["epsilon"].as_f64().unwrap(), e / w, 1e-12));
        assert!(near(json["delta"].as_f64().unwrap(), (-d).exp(), 1e-12));
        assert!(near(json["bound"].as_f64().unwrap() + 1.0, e / w * total as f64 + 1.0, 0.2));
        // In rows of other lengths, there are no more counters.
        for point in json["by_depth"].as_array().unwrap() {
            let counters = point["counters_per_row"].as_u64().unwrap() * point["depth"].as_u64().unwrap();
            assert!(counters as f64 <= w * d, "{point}");
        }
    }
}

#[test]
fn the_xor_layer_makes_random_records_rarer_and_recombined_ones_possible_to_tell() {
    let shape = tamis::layered::shape_for_rate(10_000, 0.05, 3).unwrap();
    let json = Lesson::of_filter(shape, 10_000).unwrap().json();
    let number = |name: &str| json[name].as_f64().unwrap();
    let p = number("fpr_layer");
    let textbook = {
        let (m, k) = (shape.slots() as f64, f64::from(shape.hashes()));
        (1.0 - (-k * 10_000.0 / m).exp()).powf(k)
    };
    assert!(near(p, textbook, 0.01), "{p}, {textbook}");
    assert!(near(number("fpr_random_records"), p.powi(4), 1e-9));
    assert!(near(number("fpr_random_records_without_xor"), p.powi(3), 1e-9));
    assert_eq!(number("fpr_recombined_records"), p);
    assert_eq!(number("fpr_recombined_records_without_xor"), 1.0);
}

#[test]
fn the_rates_of_a_filter_that_grows_add_up_to_less_than_its_rate() {
    let json = Lesson::of_growing(100_000, 0.01, 2).unwrap().json();
    let (mut keys, mut sum) = (0, 0.0);
    for (i, layer) in json["by_layer"].as_array().unwrap().iter().enumerate() {
        keys += 100_000 << i;
        sum += 0.01 / ((i + 1) * (i + 2)) as f64;
        assert_eq!(layer["keys_so_far"], keys, "{layer}");
        // A layer is sized in whole lines, and takes for new what it does not mistake.
        assert!(near(layer["fpr_so_far"].as_f64().unwrap(), sum, 0.03), "{layer}, {sum}");
    }
}

#[test]
fn counters_err_as_the_bits_that_they_replace_and_fingerprints_by_their_width() {
    let counting = Lesson::of_filter(Shape::Counting { lines: 20, hashes: 8 }, 900).unwrap().json();
    let blocked = Lesson::of_filter(Shape::Blocked { lines: 20, hashes: 8 }, 900).unwrap().json();
    assert_eq!(counting["fpr"], blocked["fpr"]);
    assert_eq!(counting["bits"].as_u64().unwrap(), 4 * blocked["bits"].as_u64().unwrap());
    let fuse = Lesson::of_filter(Kind::Fuse.shape_for_rate(1000, 0.01).unwrap(), 1000).unwrap().json();
    assert_eq!((fuse["width"].as_u64(), fuse["fpr"].as_f64()), (Some(7), Some(1.0 / 128.0)));
    let ribbon =
        Lesson::of_filter(Kind::Ribbon.shape_for_rate(1_000_000, 0.01).unwrap(), 1_000_000).unwrap().json();
    assert_eq!(ribbon["width"].as_u64(), Some(7));
    assert!(near(ribbon["fpr"].as_f64().unwrap(), 0.01, 0.001), "{ribbon}");
    assert!(ribbon["of_least"].as_f64().unwrap() < 1.02, "{ribbon}");
}

/// Whatever the numbers are, there is a page without holes.
#[test]
fn every_lesson_reads_well_at_the_ends_of_its_numbers() {
    let mut lessons = Vec::new();
    for (keys, bits) in
        [(1, 1), (1, 64), (3, 1), (1_000, 1), (1, 10_000), (1 << 56, 1 << 56), (10_000, 1 << 40)]
    {
        for hashes in [1, 2, 64] {
            lessons.extend(Lesson::of_filter(Shape::Bloom { bits, hashes }, keys));
            lessons.extend(Lesson::of_filter(Shape::Layered { bits: 64, layers: 1, hashes }, keys));
        }
        lessons.extend(Lesson::of_filter(Shape::Blocked { lines: bits.div_ceil(512), hashes: 8 }, keys));
    }
    for (keys, fpr) in [(1, 0.5), (1_000, 0.01), (1 << 30, 1e-9)] {
        lessons.extend(Lesson::of_filter(Kind::Fuse.shape_for_rate(keys, fpr).unwrap(), keys));
        lessons.extend(Lesson::of_filter(Kind::Ribbon.shape_for_rate(keys, fpr).unwrap(), keys));
        lessons.extend(Lesson::of_filter(Kind::Counting.shape_for_rate(keys, fpr).unwrap(), keys));
        lessons.extend(Lesson::of_growing(keys, fpr, 3));
    }
    for (row, depth) in [(1, 1), (1, 64), (1 << 40, 64)] {
        for total in [0, 1, u64::MAX] {
            let shape = tamis::countmin::shape_by_hand(row, depth, 32).unwrap();
            lessons.extend(Lesson::of_counts(shape, total, None));
        }
    }
    for lesson in lessons {
        let page = lesson.page(None);
        let text = page.text(92);
        for hole in ["NaN", "inf", "{", "}", "–0"] {
            assert!(!text.contains(hole), "{hole}: {text}");
        }
        let wide = text.lines().find(|line| line.chars().count() > 110);
        assert_eq!(wide, None);
        assert!(page.html().contains("<svg"), "{text}");
        assert!(lesson.json()["kind"].is_string());
    }
}
