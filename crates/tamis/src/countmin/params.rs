//! Sizing: rows and their counters from the error and its probability, and back.

use core::f64::consts::E;

use crate::error::{Error, Result, SizeFault};
use crate::real::{ceil, exp, log};
use crate::sizing::{MOST_BITS, Shape};

/// The error where none is asked for: a ten-thousandth of the total weight.
pub const DEFAULT_EPSILON: f64 = 0.0001;

/// The probability that an estimate exceeds that error, where nothing is asked for.
pub const DEFAULT_DELTA: f64 = 0.01;

/// More rows than this never help: δ is then below one in 10²⁷.
pub const MOST_DEPTH: u32 = 64;

/// w = ⌈e/ε⌉ counters of this many bits (64 or 32) in each of d = ⌈ln(1/δ)⌉ rows.
pub fn shape(epsilon: f64, delta: f64, bits: u32) -> Result<Shape> {
    if !(epsilon > 0.0 && epsilon < 1.0) {
        return Err(SizeFault::Epsilon(epsilon).into());
    }
    if !(delta > 0.0 && delta < 1.0) {
        return Err(SizeFault::Delta(delta).into());
    }
    let row = ceil(E / epsilon);
    if row > MOST_BITS as f64 {
        return Err(Error::TooLarge { bits: (row * f64::from(bits)) as u64 });
    }
    let depth = ceil(-log(delta)).max(1.0);
    if depth > f64::from(MOST_DEPTH) {
        return Err(SizeFault::LowDelta { delta, depth }.into());
    }
    shape_by_hand(row as u64, depth as u32, bits)
}

/// This many counters of this many bits (64 or 32) in each of this many rows.
pub fn shape_by_hand(row: u64, depth: u32, bits: u32) -> Result<Shape> {
    if row == 0 || !(1..=MOST_DEPTH).contains(&depth) || !matches!(bits, 32 | 64) {
        return Err(SizeFault::Rows { depth, row, bits }.into());
    }
    let slots = row.checked_mul(u64::from(depth)).filter(|slots| *slots <= MOST_BITS / u64::from(bits));
    match slots {
        Some(_) => Ok(Shape::CountMin { row, depth, counter_bits: bits }),
        None => Err(Error::TooLarge { bits: row.saturating_mul(u64::from(depth) * u64::from(bits)) }),
    }
}

/// The ε that rows of this many counters keep: e/w, and no more than 1.
pub fn epsilon_of(row: u64) -> f64 {
    (E / row.max(1) as f64).min(1.0)
}

/// The δ that this many rows keep: e^(−d).
pub fn delta_of(depth: u32) -> f64 {
    exp(-f64::from(depth))
}

/// Whether there is such a sketch, and its rows keep this ε.
pub(crate) fn possible(shape: &Shape, epsilon: f64) -> bool {
    matches!(*shape, Shape::CountMin { row, depth, counter_bits: 32 | 64 } if row > 0
        && (1..=MOST_DEPTH).contains(&depth)
        && epsilon_of(row) <= epsilon * (1.0 + 1e-9))
}
