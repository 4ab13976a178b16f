//! Sizing: exact, and the same on every machine.

use alloc::vec::Vec;

use crate::real::{exp, floor, log1p, power};

/// Bits in a line.
pub const LINE_BITS: u64 = 512;

/// The numbers of hashes that there are: lanes of 512, 256, 128, 64, 32 and 16 bits.
pub const HASHES: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// The best number of them at usual rates.
const USUAL: u32 = 8;

/// The expected rate of false positives of a filter of this many lines that holds this many keys.
pub fn expected_rate(keys: u64, lines: u64, hashes: u32) -> f64 {
    if keys == 0 {
        return 0.0;
    }
    let (mut sum, mut weights) = (0.0, 0.0);
    over_lines(keys, lines, hashes, |_, weight, hit| {
        sum += weight * hit;
        weights += weight;
    });
    sum / weights
}

/// Lines that hold the same number of keys.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// The keys in such a line.
    pub keys: u64,
    /// The share of lines that are expected to be such.
    pub share: f64,
    /// The rate of false positives of keys that come to such a line.
    pub rate: f64,
}

/// The lines by how many keys they hold, fewest first: what [`expected_rate`] is the mean of. Loads rarer
/// than one in 10¹⁸ are left out. Where all lines are full to the last bit, one load stands for all.
pub fn loads(keys: u64, lines: u64, hashes: u32) -> Vec<Load> {
    let mut loads = Vec::new();
    let mut weights = 0.0;
    over_lines(keys, lines, hashes, |keys, weight, hit| {
        loads.push(Load { keys: keys as u64, share: weight, rate: hit });
        weights += weight;
    });
    loads.sort_by_key(|load| load.keys);
    loads.iter_mut().for_each(|load| load.share /= weights);
    loads
}

/// Gives, for each number of keys that a line may hold, how likely that is beside the likeliest number, and
/// the rate of false positives in such a line.
fn over_lines(keys: u64, lines: u64, hashes: u32, mut each: impl FnMut(f64, f64, f64)) {
    let n = keys as f64;
    let lane = f64::from(hashes) / LINE_BITS as f64;
    // The share of a lane that j keys leave empty, and the probability that another key hits.
    let empty = |j: f64| exp(j * log1p(-lane));
    let hit = |empty: f64| power(1.0 - empty, hashes);
    if lines == 1 {
        return each(n, 1.0, hit(empty(n)));
    }
    // Walk from the mode outwards with weights relative to it, to be divided by their sum: no
    // factorials, no underflow.
    let q = 1.0 / lines as f64;
    let odds = q / (1.0 - q);
    let mode = floor((n + 1.0) * q).min(n);
    if mode > 1e5 {
        return each(mode, 1.0, 1.0); // no line has a bit left, to the last digit: the walk would say so, later
    }
    let (mut j, mut weight, mut left) = (mode, 1.0, empty(mode));
    while weight > 1e-18 {
        each(j, weight, hit(left));
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
        each(j, weight, hit(left.min(1.0)));
    }
}

/// How many keys, no two the same, have come on average when this many of them were new to the filter
/// and the others were taken for some that it has. Those have set no bit: the filter is as full as one
/// that holds all of them.
pub fn keys_that_came(new: u64, lines: u64, hashes: u32) -> f64 {
    // Each that comes is new with the probability 1 − r, where r is the rate by then: the equation
    // dcame/dnew = 1/(1 − r(came)), in steps, with the slope in the middle of each.
    let slope = |came: f64| 1.0 / (1.0 - expected_rate(came as u64, lines, hashes)).max(1e-6);
    let steps = new.min(STEPS);
    let step = new as f64 / steps.max(1) as f64;
    let mut came = 0.0;
    for _ in 0..steps {
        came += step * slope(came + 0.5 * step * slope(came));
    }
    came
}

/// How many of this many keys, no two the same, are new to the filter on average when they come.
pub fn new_keys_of(came: u64, lines: u64, hashes: u32) -> f64 {
    let steps = came.min(STEPS);
    let step = came as f64 / steps.max(1) as f64;
    let middle = |i: u64| 1.0 - expected_rate(((i as f64 + 0.5) * step) as u64, lines, hashes);
    (0..steps).map(middle).sum::<f64>() * step
}

/// Steps of an integral over the keys that come.
const STEPS: u64 = 32;

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
    // A search takes long, and most numbers need none: they miss the rate at a load (with room for what is rounded)
    // at which another has it.
    let reached = load_for_rate(fpr, USUAL);
    let mut best = (HASHES[0], 0.0);
    for hashes in HASHES {
        if hashes != USUAL && rate_at_load(reached * (1.0 - 1e-9), hashes) > fpr {
            continue;
        }
        let load = if hashes == USUAL { reached } else { load_for_rate(fpr, hashes) };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocked::Blocked;
    use crate::hash::xxh3;
    use alloc::vec;

    #[test]
    fn no_number_of_hashes_that_is_left_out_is_the_best() {
        for exponent in 0..160 {
            let fpr = 0.9f64.powi(exponent) * 0.999;
            let mut best = (HASHES[0], 0.0);
            for hashes in HASHES {
                let load = load_for_rate(fpr, hashes);
                if load > best.1 {
                    best = (hashes, load);
                }
            }
            assert_eq!(best_for_rate(fpr), (best.0, 1.0 / best.1.max(1e-3)), "{fpr}");
        }
    }

    /// Named after what was seen: `plan --keys 7e16 --bits 2000 --kind blocked` did not end.
    #[test]
    fn the_rate_of_lines_that_are_full_is_found_at_once() {
        assert_eq!(expected_rate(70_000_000_000_000_000, 3, 8), 1.0);
        // Where it begins to be said at once, the walk agrees.
        assert_eq!(expected_rate(99_999 * 7, 7, 1), 1.0);
    }

    #[test]
    fn lines_by_their_keys_have_the_binomial_shares_and_the_rate_is_their_mean() {
        for (keys, lines, hashes) in [(1u64, 1u64, 8u32), (5, 3, 2), (40, 7, 4), (600, 11, 8), (900, 20, 32)]
        {
            let loads = loads(keys, lines, hashes);
            // A naive model: the shares key by key, each going to a given line or not.
            let mut shares = vec![0.0; keys as usize + 1];
            shares[0] = 1.0;
            let q = 1.0 / lines as f64;
            for _ in 0..keys {
                for j in (0..shares.len()).rev() {
                    shares[j] = shares[j] * (1.0 - q) + if j > 0 { shares[j - 1] * q } else { 0.0 };
                }
            }
            let mut mean = 0.0;
            for (j, share) in shares.iter().enumerate() {
                let set = 1.0 - (1.0 - f64::from(hashes) / 512.0).powi(j as i32);
                let rate = set.powi(hashes as i32);
                mean += share * rate;
                match loads.iter().find(|load| load.keys == j as u64) {
                    Some(load) => {
                        assert!((load.share - share).abs() < 1e-12 && (load.rate - rate).abs() < 1e-12);
                    }
                    None => assert!(*share < 1e-15, "{keys} keys, {lines} lines: {j} in one"),
                }
            }
            let said = expected_rate(keys, lines, hashes);
            assert!((said / mean - 1.0).abs() < 1e-9, "{said}, {mean}");
            assert!(loads.is_sorted_by_key(|load| load.keys));
        }
        assert_eq!(loads(70_000_000_000_000_000, 3, 8).len(), 1, "all are full");
    }

    #[test]
    fn keys_that_a_filter_mistakes_are_reckoned_among_those_that_came() {
        let (lines, hashes) = (400u64, 4);
        for came in [5_000u64, 20_000, 60_000] {
            let mut filter = Blocked::zeroed(lines, hashes).unwrap();
            let keys: Vec<u64> = (0..came).map(|i| xxh3(&i.to_le_bytes(), 1)).collect();
            let mut fresh = vec![true; keys.len()];
            let new = filter.insert_fresh(&keys, &mut fresh);
            let expected = new_keys_of(came, lines, hashes);
            assert!((new as f64 / expected - 1.0).abs() < 0.02, "{new} of {came}, {expected} expected");
            let back = keys_that_came(expected as u64, lines, hashes);
            assert!((back / came as f64 - 1.0).abs() < 0.02, "{back} of {came}");
            let (now, said) = (filter.rate_now(), expected_rate(came, lines, hashes));
            assert!((now / said - 1.0).abs() < 0.02, "{now}, {said} expected");
        }
    }
}
