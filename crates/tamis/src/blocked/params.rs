//! Sizing: exact, and the same on every machine.

use crate::real::{exp, floor, log1p, power};

/// Bits in a line.
pub const LINE_BITS: u64 = 512;

/// The numbers of hashes that there are: lanes of 512, 256, 128, 64, 32 and 16 bits.
const HASHES: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// The expected rate of false positives of a filter of this many lines that holds this many keys.
pub fn expected_rate(keys: u64, lines: u64, hashes: u32) -> f64 {
    if keys == 0 {
        return 0.0;
    }
    let n = keys as f64;
    let lane = f64::from(hashes) / LINE_BITS as f64;
    // The share of a lane that j keys leave empty, and the probability that another key hits.
    let empty = |j: f64| exp(j * log1p(-lane));
    let hit = |empty: f64| power(1.0 - empty, hashes);
    if lines == 1 {
        return hit(empty(n));
    }
    // Walk from the mode outwards with weights relative to it, and divide by their sum: no
    // factorials, no underflow.
    let q = 1.0 / lines as f64;
    let odds = q / (1.0 - q);
    let mode = floor((n + 1.0) * q).min(n);
    let (mut sum, mut weights) = (0.0, 0.0);
    let (mut j, mut weight, mut left) = (mode, 1.0, empty(mode));
    while weight > 1e-18 {
        sum += weight * hit(left);
        weights += weight;
        if j >= n {
            break;
        }
        weight *= (n - j) / (j + 1.0) * odds;
        left *= 1.0 - lane;
        j += 1.0;
    }
    let (mut j, mut weight, mut left) = (mode, 1.0, empty(mode));
    while j > 0.0 {
        weight *= j / ((n - j + 1.0) * odds);
        left /= 1.0 - lane;
        j -= 1.0;
        if weight <= 1e-18 {
            break;
        }
        // Close to no keys the quotient may overshoot by a rounding error.
        sum += weight * hit(left.min(1.0));
        weights += weight;
    }
    sum / weights
}

/// The rate of a very large filter with this many keys in a line on average.
fn rate_at_load(load: f64, hashes: u32) -> f64 {
    const LINES: u64 = 1 << 40;
    expected_rate((load * LINES as f64) as u64, LINES, hashes)
}

/// The most keys per line at which a large filter still has this rate.
fn load_for_rate(fpr: f64, hashes: u32) -> f64 {
    let (mut low, mut high) = (0.0, 512.0 * 8.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if rate_at_load(middle, hashes) <= fpr { low = middle } else { high = middle }
    }
    low
}

/// The number of hashes that needs the fewest bits for this rate, and the lines that a key takes
/// in a large filter. It depends on the rate alone, so that all groups of a file share it and a
/// key's mask is made once for all.
pub fn best_for_rate(fpr: f64) -> (u32, f64) {
    let mut best = (HASHES[0], 0.0);
    for hashes in HASHES {
        let load = load_for_rate(fpr, hashes);
        if load > best.1 {
            best = (hashes, load);
        }
    }
    (best.0, 1.0 / best.1.max(1e-3))
}

/// The number of hashes with the lowest rate for these bits per key.
pub fn hashes_for_bits_per_key(bits_per_key: f64) -> u32 {
    let load = LINE_BITS as f64 / bits_per_key;
    let rate = |hashes: &u32| rate_at_load(load, *hashes);
    HASHES.into_iter().min_by(|a, b| rate(a).total_cmp(&rate(b))).unwrap_or(8)
}
