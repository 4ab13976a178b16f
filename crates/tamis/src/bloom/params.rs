//! Sizing: exact, and the same on every machine.

use crate::error::{Result, SizeFault};
use crate::hash::Scheme;
use crate::real::{exp, expm1, log, log1p, pow, power, round_ties_even, sqrt};
use crate::sizing::{Shape, check_given};
use alloc::vec;

/// More hashes than this never help: their rate is below one in 10¹⁹.
pub const MOST_HASHES: u32 = 64;

/// The most positions of keys whose hashes have 32 bits.
pub(crate) const MOST_REACHED: u64 = 1 << 32;

/// The expected rate of false positives of m bits that hold this many keys, as sizes are found by it:
/// files depend on it, and it never changes. With more than 40 hashes and few keys it is up to a tenth
/// too low; [`expected_rate`] is not.
pub(crate) fn sizing_rate(keys: u64, bits: u64, hashes: u32) -> f64 {
    if keys == 0 {
        return 0.0;
    }
    let throws = keys as f64 * f64::from(hashes);
    if throws <= 256.0 { small(throws as usize, bits, hashes) } else { large(throws, bits as f64, hashes) }
}

/// The expected rate of false positives of m bits that hold this many keys.
pub fn expected_rate(keys: u64, bits: u64, hashes: u32) -> f64 {
    let throws = keys as f64 * f64::from(hashes);
    // Where the number of set bits varies little, the series by which sizes are found is exact.
    if throws <= 256.0 || keys > 400 || hashes <= 16 {
        return sizing_rate(keys, bits, hashes);
    }
    nearly_normal(throws, bits as f64, hashes)
}

/// The expected share of ones among m bits: 1 − (1 − 1/m)^(kn), exactly.
pub fn share_of_ones(keys: u64, bits: u64, hashes: u32) -> f64 {
    -expm1(keys as f64 * f64::from(hashes) * log1p(-1.0 / bits as f64))
}

/// The share of zeros by the textbook: e^(−kn/m).
pub fn textbook_zeros(keys: u64, bits: u64, hashes: u32) -> f64 {
    exp(-(keys as f64 * f64::from(hashes)) / bits as f64)
}

/// The rate by the textbook: (1 − e^(−kn/m))^k. It is below [`expected_rate`], by little in a large filter,
/// and nothing is sized by it.
pub fn textbook_rate(keys: u64, bits: u64, hashes: u32) -> f64 {
    let ones = -expm1(-(keys as f64 * f64::from(hashes)) / bits as f64);
    power(ones, hashes)
}

/// The number of hashes, not rounded, at which the rate by the textbook is lowest: (m/n) ln 2. Half of the
/// bits are then ones.
pub fn best_hashes(keys: u64, bits: u64) -> f64 {
    bits as f64 / keys as f64 * core::f64::consts::LN_2
}

/// The whole distribution of the number of set bits, throw by throw.
fn small(throws: usize, bits: u64, hashes: u32) -> f64 {
    let m = bits as f64;
    let mut set = vec![0.0; throws + 2]; // set[x]: the probability that x bits are set
    set[0] = 1.0;
    for _ in 0..throws {
        for x in (1..set.len()).rev() {
            set[x] = set[x] * (x as f64 / m) + set[x - 1] * (1.0 - (x - 1) as f64 / m).max(0.0);
        }
        set[0] = 0.0;
    }
    set.iter().enumerate().map(|(x, p)| p * power(x as f64 / m, hashes)).sum()
}

/// The moments of the number of set bits, which is all but normal: the error of the series is
/// below one percent at 256 throws and falls with their square.
fn large(throws: f64, m: f64, hashes: u32) -> f64 {
    let k = f64::from(hashes);
    let zero = throws * log1p(-1.0 / m); // logarithm of the share of zeros
    let fill = -expm1(zero);
    let two_zeros = throws * log1p(-2.0 / m);
    // Var(X) / m², arranged so that nothing large cancels.
    let variance = (exp(zero) - exp(two_zeros)) / m + power(exp(zero), 2) * expm1(two_zeros - 2.0 * zero);
    let v = (variance / (fill * fill)).max(0.0);
    let pairs = k * (k - 1.0) / 2.0;
    let fours = k * (k - 1.0) * (k - 2.0) * (k - 3.0) / 24.0;
    (power(fill, hashes) * (1.0 + pairs * v + 3.0 * fours * v * v)).min(1.0)
}

/// The mean of (X/m)^k over the number X of set bits, whose distribution is normal but for a little skew:
/// an Edgeworth series, summed over a fine grid.
fn nearly_normal(throws: f64, m: f64, hashes: u32) -> f64 {
    // Of the zeros: moments about the mean, from the factorial ones.
    let zeros = |j: f64| exp(throws * log1p(-j / m)); // the probability that j given bits are zero
    let mean = m * zeros(1.0);
    let pairs = m * (m - 1.0) * zeros(2.0);
    let triples = m * (m - 1.0) * (m - 2.0) * zeros(3.0);
    let variance = pairs + mean - mean * mean;
    if m < 4.0 || variance <= 0.0 {
        return large(throws, m, hashes); // all bits are set, or as good as
    }
    let third = triples + 3.0 * pairs + mean - 3.0 * mean * (pairs + mean) + 2.0 * mean * mean * mean;
    let deviation = sqrt(variance);
    let skew = -third / (variance * deviation); // of the ones
    let (mut sum, mut weights) = (0.0, 0.0);
    for step in -160..=160 {
        let z = f64::from(step) / 20.0;
        let weight = exp(-z * z / 2.0) * (1.0 + skew / 6.0 * (z * z * z - 3.0 * z)).max(0.0);
        let fill = ((m - mean + z * deviation) / m).clamp(0.0, 1.0);
        sum += weight * power(fill, hashes);
        weights += weight;
    }
    sum / weights
}

/// Bits per key of a large filter with this rate.
pub(crate) fn bits_per_key(fpr: f64, hashes: u32) -> f64 {
    let k = f64::from(hashes);
    -k / log1p(-pow(fpr, 1.0 / k))
}

/// The number of hashes that needs the fewest bits for this rate, and those bits per key in a
/// large filter. It depends on the rate alone, so that all groups of a file share it.
pub fn best_for_rate(fpr: f64) -> (u32, f64) {
    let cost = |hashes: u32| (hashes, bits_per_key(fpr, hashes));
    (1..=MOST_HASHES).map(cost).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((1, 1.0))
}

/// The number of hashes with the lowest rate for these bits per key.
pub fn hashes_for_bits_per_key(bits_per_key: f64) -> u32 {
    let rate = |hashes: &u32| {
        let k = f64::from(*hashes);
        k * log1p(-exp(-k / bits_per_key))
    };
    (1..=MOST_HASHES).min_by(|a, b| rate(a).total_cmp(&rate(b))).unwrap_or(1)
}

/// m = round(−n ln p / (ln 2)²), k = round((m/n) ln 2), as the first phase of the MapReduce
/// program computes them (rounding as Python does, half to even).
pub fn published_shape(keys: u64, fpr: f64) -> Result<Shape> {
    published(keys, fpr, None)
}

/// The same; with k by hand, m = round(−k n / ln(1 − p^(1/k))), from which the usual formulas follow for
/// the best k.
pub(crate) fn published(keys: u64, fpr: f64, hashes: Option<u32>) -> Result<Shape> {
    check_given(keys, fpr)?;
    let ln2 = core::f64::consts::LN_2;
    let bits = match hashes {
        None => -((keys as f64 * log(fpr)) / (ln2 * ln2)),
        Some(hashes) => keys as f64 * bits_per_key(fpr, hashes),
    };
    let bits = round_ties_even(bits).max(1.0);
    if bits > MOST_REACHED as f64 {
        return Err(SizeFault::Reach { hash: Scheme::Murmur3, bits }.into());
    }
    let hashes = hashes.unwrap_or_else(|| published_hashes(keys, bits as u64));
    Ok(Shape::Bloom { bits: bits as u64, hashes })
}

/// k = round((m/n) ln 2), halves to even.
pub(crate) fn published_hashes(keys: u64, bits: u64) -> u32 {
    let best = round_ties_even((bits as f64 / keys as f64) * core::f64::consts::LN_2);
    best.clamp(1.0, f64::from(MOST_HASHES)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_formulas_of_the_rate_meet_where_one_takes_over() {
        for k in [1, 2, 4, 8, 16, 32] {
            for bits in [300, 380, 600] {
                let (exact, series) = (small(256, bits, k), large(256.0, bits as f64, k));
                assert!(
                    (series / exact - 1.0).abs() < 0.02,
                    "k = {k}, {bits} bits: {series} against {exact}"
                );
            }
        }
    }

    #[test]
    fn the_textbook_has_the_known_numbers_and_is_a_little_too_low() {
        let (n, m) = (1_000_000_000, 8_000_000_000);
        for (k, rate) in [(1, 0.117_503_1), (2, 0.048_929_1), (6, 0.021_577_1), (8, 0.025_491_7)] {
            assert!((textbook_rate(n, m, k) - rate).abs() < 5e-8, "{k}: {}", textbook_rate(n, m, k));
        }
        assert!((textbook_zeros(n, m, 8) * core::f64::consts::E - 1.0).abs() < 1e-12, "1/e stay zero");
        assert!((best_hashes(n, m) - 5.545_177).abs() < 1e-6);
        for (keys, bits, k) in [(10, 80, 6), (100, 800, 6), (1000, 8000, 3), (n, m, 6)] {
            let (textbook, fill) = (textbook_rate(keys, bits, k), share_of_ones(keys, bits, k));
            let exact = expected_rate(keys, bits, k);
            assert!(textbook < power(fill, k) && power(fill, k) < exact, "{keys} keys");
        }
    }

    /// Named after what was seen: with 64 hashes and five keys, the rate that was said was 8 % too low.
    #[test]
    fn the_rate_of_many_hashes_and_few_keys_is_that_of_the_whole_distribution() {
        for k in [17, 24, 40, 52, 64] {
            for keys in [5, 8, 16, 40] {
                for bits_per_key in [f64::from(k), 1.44 * f64::from(k), 2.5 * f64::from(k)] {
                    let bits = (keys as f64 * bits_per_key) as u64;
                    let exact = small(keys as usize * k as usize, bits, k);
                    let said = expected_rate(keys, bits, k);
                    let what = format!("{keys} keys, k = {k}, {bits} bits: {said} against {exact}");
                    assert!((said / exact - 1.0).abs() < 0.01, "{what}");
                }
            }
        }
    }
}
