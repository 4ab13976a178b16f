//! The numbers of the lesson, all from the sizing functions of the library.

use serde_json::{Value, json};
use tamis::bloom;
use tamis::sizing::{Kind, Shape};

use crate::lesson::slides;

/// Everything that the lesson says in numbers.
#[derive(Debug, Clone)]
pub struct Numbers {
    /// n.
    pub(super) keys: u64,
    /// m.
    pub(super) bits: u64,
    /// k.
    pub(super) hashes: u32,
    /// The best k, not rounded, and the best one that there is.
    pub(super) best: (f64, u32),
    /// For each number of hashes: from 1 to beyond the best and k.
    pub(super) by_hashes: Vec<Point>,
    /// The same bits per key and k, for few keys and many.
    pub(super) by_keys: Vec<Point>,
    /// What other sizes come to.
    pub(super) others: Vec<Other>,
}

/// The rate of some keys, by the textbook and exactly.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) keys: u64,
    pub(super) bits: u64,
    pub(super) hashes: u32,
    /// The share of zeros, e^(−kn/m).
    pub(super) zeros: f64,
    /// The rate by the textbook, (1 − e^(−kn/m))^k.
    pub(super) textbook: f64,
    /// The share of ones, exactly expected.
    pub(super) ones: f64,
    /// The rate, exactly expected.
    pub(super) exact: f64,
}

/// Another size, and what comes of it.
#[derive(Debug, Clone)]
pub(super) struct Other {
    pub(super) name: &'static str,
    pub(super) point: Point,
}

impl Point {
    pub(super) fn of(keys: u64, bits: u64, hashes: u32) -> Point {
        Point {
            keys,
            bits,
            hashes,
            zeros: bloom::textbook_zeros(keys, bits, hashes),
            textbook: bloom::textbook_rate(keys, bits, hashes),
            ones: bloom::share_of_ones(keys, bits, hashes),
            exact: Shape::Bloom { bits, hashes }.expected_rate(keys),
        }
    }

    pub(super) fn of_shape(keys: u64, shape: Shape) -> Point {
        Point::of(keys, shape.slots(), shape.hashes())
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "keys": self.keys, "bits": self.bits, "hashes": self.hashes, "zeros": self.zeros,
            "ones_expected": self.ones, "fpr_approximation": self.textbook, "fpr": self.exact,
            "relative_difference": self.exact / self.textbook - 1.0,
        })
    }
}

impl Numbers {
    pub fn of(keys: u64, bits: u64, hashes: u32) -> Numbers {
        let bits_per_key = bits as f64 / keys as f64;
        let best = bloom::hashes_for_bits_per_key(bits_per_key);
        let last = (best * 2).max(hashes + 2).clamp(10, bloom::MOST_HASHES);
        let mut sizes = vec![10, 100, 1_000, 10_000, 1_000_000, keys];
        sizes.sort_unstable();
        sizes.dedup();
        let scaled = |n: u64| Point::of(n, ((n as f64 * bits_per_key).round() as u64).max(1), hashes);
        Numbers {
            keys,
            bits,
            hashes,
            best: (bloom::best_hashes(keys, bits), best),
            by_hashes: (1..=last).map(|k| Point::of(keys, bits, k)).collect(),
            by_keys: sizes
                .into_iter()
                .map(|n| if n == keys { Point::of(n, bits, hashes) } else { scaled(n) })
                .collect(),
            others: others(keys, bits, hashes),
        }
    }

    pub(super) fn here(&self) -> Point {
        Point::of(self.keys, self.bits, self.hashes)
    }

    pub(super) fn per_key(&self) -> f64 {
        self.bits as f64 / self.keys as f64
    }

    pub(super) fn is_slides(&self) -> bool {
        self.keys.checked_mul(slides::BITS_PER_KEY) == Some(self.bits)
    }

    /// The number of hashes that m/n comes to, as the slides choose it.
    pub(super) fn as_many_as_bits_per_key(&self) -> Point {
        let hashes = self.per_key().round().clamp(1.0, f64::from(bloom::MOST_HASHES));
        Point::of(self.keys, self.bits, hashes as u32)
    }

    pub fn json(&self) -> Value {
        let mut json = self.here().json();
        json["kind"] = json!(Kind::Bloom);
        json["bits_per_key"] = self.per_key().into();
        json["best_hashes"] = json!({ "exactly": self.best.0, "rounded": self.best.1 });
        json["least_bits_per_key"] = (-self.here().exact.log2()).into();
        json["by_hashes"] = self.by_hashes.iter().map(Point::json).collect();
        json["by_keys"] = self.by_keys.iter().map(Point::json).collect();
        let other = |other: &Other| {
            let mut json = other.point.json();
            json["what"] = other.name.into();
            json
        };
        json["others"] = self.others.iter().map(other).collect();
        json
    }
}

/// What other sizes come to. Those that cannot be are left out.
fn others(keys: u64, bits: u64, hashes: u32) -> Vec<Other> {
    let rate = Shape::Bloom { bits, hashes }.expected_rate(keys);
    let of_bits = |keys: u64, bits: u64| {
        Kind::Bloom.shape_for_bits(keys, bits).ok().map(|shape| Point::of_shape(keys, shape))
    };
    let of_rate =
        |fpr: f64| Kind::Bloom.shape_for_rate(keys, fpr).ok().map(|shape| Point::of_shape(keys, shape));
    let twice = keys.saturating_mul(2);
    let all = [
        ("your filter", Some(Point::of(keys, bits, hashes))),
        ("one more bit per key, best k", of_bits(keys, bits.saturating_add(keys))),
        ("twice the bits, best k", of_bits(keys, bits.saturating_mul(2))),
        ("half the bits, best k", of_bits(keys, bits / 2)),
        ("a tenth of the error", of_rate(rate / 10.0)),
        ("twice the keys in the same filter", Some(Point::of(twice, bits, hashes))),
    ];
    all.into_iter().filter_map(|(name, point)| Some(Other { name, point: point? })).collect()
}
