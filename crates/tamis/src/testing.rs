//! What the tests of all kinds share: streams of hashes, and the tolerance of a measured rate.

use crate::hash::xxh3;

/// The hashes of the numbers from `start`: keys that never repeat.
pub(crate) fn hashes(start: u64, count: usize) -> Vec<u64> {
    (start..start + count as u64).map(|i| xxh3(&i.to_le_bytes(), 0)).collect()
}

/// Asserts that `hits` of `probes` agree with the rate: within 5 standard deviations, and
/// `slack` (relative) for what varies from filter to filter.
pub(crate) fn assert_rate(hits: usize, probes: usize, rate: f64, slack: f64, what: &str) {
    let expected = probes as f64 * rate;
    let tolerance = 5.0 * (expected * (1.0 - rate)).sqrt() + slack * expected + 3.0;
    let off = (hits as f64 - expected).abs();
    assert!(
        off <= tolerance,
        "{what}: {hits} hits of {probes}, {expected:.1} expected, tolerance {tolerance:.1}"
    );
}
