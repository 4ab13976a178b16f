//! From keys, rates and memory to the shape of a sketch: pure formulas, the same everywhere.
//!
//! ```
//! use tamis::sizing::Kind;
//!
//! let shape = Kind::Bloom.shape_for_rate(1_000_000, 0.01)?;
//! assert_eq!(shape.hashes(), 7);
//! assert!(shape.expected_rate(1_000_000) <= 0.01);
//! # Ok::<(), tamis::Error>(())
//! ```

use crate::blocked::{self, LINE_BITS};
use crate::bloom;
use crate::counting::COUNTER_BITS;
use crate::error::{Error, Result, SizeFault};
use crate::fuse;
use crate::layered;
use crate::real;
use crate::ribbon::{self, Widths};
use crate::scalable;

mod choice;
mod foreign;
mod kind;
mod shape;

pub use choice::Choice;
pub use foreign::REDIS_LN_2_SQUARED;
pub use kind::Kind;
pub use shape::Shape;

/// The lowest rate of any filter that holds this many keys: all that it knows of a key are 64 bits, and
/// another has the same ones as one of them with this probability.
pub fn least_rate(keys: u64) -> f64 {
    keys as f64 / 18_446_744_073_709_551_616.0 // 2^64
}

/// No filter is planned with more bits for a key than this.
pub const MOST_BITS_PER_KEY: f64 = 10_000.0;

/// No sketch has more bits than this: 8 PiB.
pub const MOST_BITS: u64 = 1 << 56;

/// That there are keys, and a rate.
pub(crate) fn check_given(keys: u64, fpr: f64) -> Result<()> {
    if keys == 0 {
        return Err(Error::NoKeys);
    }
    if !(fpr > 0.0 && fpr < 1.0) {
        return Err(Error::Rate(fpr));
    }
    Ok(())
}

fn check(keys: u64, fpr: f64) -> Result<()> {
    check_given(keys, fpr)?;
    // No filter has fewer bits than this.
    let bits = keys as f64 * (-real::log(fpr) / core::f64::consts::LN_2).max(1.0);
    if bits > MOST_BITS as f64 {
        return Err(Error::TooLarge { bits: bits as u64 });
    }
    Ok(())
}

/// A kind and a rate: all that does not depend on the number of keys, worked out once for many
/// groups.
#[derive(Debug, Clone, Copy)]
pub struct AtRate {
    kind: Kind,
    fpr: f64,
    /// Hashes, or the width of a `fuse`.
    hashes: u32,
    /// Lines (`blocked`, `counting`) or bits (`bloom`) that a key takes in a large filter.
    per_key: f64,
}

impl AtRate {
    /// The same with this number of hashes, which the kind can have.
    fn with_hashes(self, hashes: u32) -> AtRate {
        match self.kind {
            // Where the search begins does not matter for what it finds.
            Kind::Blocked | Kind::Counting => {
                let per_key = bloom::bits_per_key(self.fpr, hashes) / LINE_BITS as f64;
                AtRate { hashes, per_key, ..self }
            }
            Kind::Bloom | Kind::Layered => {
                AtRate { hashes, per_key: bloom::bits_per_key(self.fpr, hashes), ..self }
            }
            Kind::Fuse | Kind::Ribbon | Kind::Scalable | Kind::CountMin | Kind::CountMinConservative => self,
        }
    }

    /// The smallest shape whose expected rate, with this many keys, is at most this rate. A
    /// `layered` comes with one layer and the XOR layer; its rate is that of each of them.
    pub fn shape(&self, keys: u64) -> Result<Shape> {
        let AtRate { kind, fpr, hashes, per_key } = *self;
        check(keys, fpr)?;
        let guess = (keys as f64 * per_key) as u64;
        let shape = match kind {
            Kind::Blocked | Kind::Counting => {
                let lines = smallest(guess, |lines| blocked::expected_rate(keys, lines, hashes) <= fpr);
                match kind {
                    Kind::Counting => Shape::Counting { lines, hashes },
                    _ => Shape::Blocked { lines, hashes },
                }
            }
            Kind::Bloom => {
                let bits = smallest(guess, |bits| bloom::sizing_rate(keys, bits, hashes) <= fpr);
                Shape::Bloom { bits, hashes }
            }
            Kind::Layered => {
                let bits = smallest(guess, |bits| bloom::sizing_rate(keys, bits, hashes) <= fpr);
                let bits = bits.checked_next_power_of_two().unwrap_or(u64::MAX / 2);
                Shape::Layered { bits: bits.max(layered::LEAST_BITS), layers: 1, hashes }
            }
            Kind::Fuse => fuse_shape(keys, hashes)?,
            Kind::Ribbon => {
                let widths = Widths::for_rate(fpr).ok_or(SizeFault::RibbonRate(fpr))?;
                ribbon::words_needed(keys, widths)?;
                Shape::Ribbon { keys, widths }
            }
            Kind::Scalable => scalable::shape(keys, fpr, 1)?,
            Kind::CountMin | Kind::CountMinConservative => return Err(kind.has_no_rate()),
        };
        if shape.bits() > MOST_BITS {
            return Err(Error::TooLarge { bits: shape.bits() });
        }
        Ok(shape)
    }
}

impl Kind {
    /// Sizes filters for this rate.
    pub fn at_rate(self, fpr: f64) -> Result<AtRate> {
        check(1, fpr)?;
        let (hashes, per_key) = match self {
            Kind::Blocked | Kind::Counting => blocked::best_for_rate(fpr),
            Kind::Bloom | Kind::Layered => bloom::best_for_rate(fpr),
            Kind::Fuse => (fuse::width_for(fpr).ok_or(SizeFault::FuseRate(fpr))?, 0.0),
            Kind::Ribbon => {
                Widths::for_rate(fpr).ok_or(SizeFault::RibbonRate(fpr))?;
                (ribbon::PLACES, 0.0)
            }
            Kind::Scalable => (1, 0.0),
            Kind::CountMin | Kind::CountMinConservative => return Err(self.has_no_rate()),
        };
        Ok(AtRate { kind: self, fpr, hashes, per_key })
    }

    /// Whether a sketch of this kind can have this number of hashes.
    pub(crate) fn can_have_hashes(self, hashes: u32) -> bool {
        match self {
            Kind::Blocked | Kind::Counting => hashes.is_power_of_two() && hashes <= 32,
            Kind::Bloom | Kind::Layered => (1..=bloom::MOST_HASHES).contains(&hashes),
            Kind::Fuse => hashes == fuse::PROBES,
            Kind::Ribbon => hashes == ribbon::PLACES,
            Kind::Scalable | Kind::CountMin | Kind::CountMinConservative => false,
        }
    }

    /// The smallest shape whose expected rate, with this many keys, is at most `fpr`.
    pub fn shape_for_rate(self, keys: u64, fpr: f64) -> Result<Shape> {
        self.at_rate(fpr)?.shape(keys)
    }

    /// The shape with the lowest expected rate among those of at most this many bits.
    pub fn shape_for_bits(self, keys: u64, bits: u64) -> Result<Shape> {
        check(keys, 0.5)?;
        if bits > MOST_BITS {
            return Err(Error::TooLarge { bits });
        }
        let too_few = || Error::from(SizeFault::FewBits { bits, kind: self, keys });
        let bits_per_key = bits as f64 / keys as f64;
        match self {
            Kind::Blocked if bits < LINE_BITS => Err(too_few()),
            Kind::Blocked => {
                let hashes = blocked::hashes_for_bits_per_key(bits_per_key);
                Ok(Shape::Blocked { lines: bits / LINE_BITS, hashes })
            }
            Kind::Counting => match Kind::Blocked.shape_for_bits(keys, bits / u64::from(COUNTER_BITS)) {
                Ok(Shape::Blocked { lines, hashes }) => Ok(Shape::Counting { lines, hashes }),
                _ => Err(too_few()),
            },
            Kind::Bloom if bits == 0 => Err(too_few()),
            Kind::Bloom => {
                let hashes = bloom::hashes_for_bits_per_key(bits_per_key);
                Ok(Shape::Bloom { bits, hashes })
            }
            Kind::Fuse => {
                let slots = fuse::shape(keys)?.slots;
                match bits / slots {
                    0 => Err(too_few()),
                    width => fuse_shape(keys, width.min(32) as u32),
                }
            }
            Kind::Ribbon => {
                let widths = ribbon::widths_for_words(keys, bits / 64)?.ok_or_else(too_few)?;
                Ok(Shape::Ribbon { keys, widths })
            }
            Kind::Layered => layered::shape_for_bits(keys, bits, 1),
            Kind::Scalable => Err(SizeFault::Grows.into()),
            Kind::CountMin | Kind::CountMinConservative => Err(self.has_no_rate()),
        }
    }

    /// The shape with at least this many bits for each key, in whole lines and blocks, so that no key
    /// gets fewer; and with the number of hashes that is best for these bits, not for what rounding to
    /// whole lines makes of them.
    pub fn shape_for_bits_per_key(self, keys: u64, bits_per_key: f64) -> Result<Shape> {
        if !(bits_per_key > 0.0 && bits_per_key <= MOST_BITS_PER_KEY) {
            return Err(Error::BitsPerKey(bits_per_key));
        }
        let unit = match self {
            Kind::Blocked => LINE_BITS,
            Kind::Counting => LINE_BITS * u64::from(COUNTER_BITS),
            _ => 1,
        };
        let bits = real::ceil(keys as f64 * bits_per_key) as u64;
        let bits = bits.checked_next_multiple_of(unit).ok_or(Error::TooLarge { bits })?;
        let shape = self.shape_for_bits(keys, bits)?;
        let hashes = self.shape_for_bits(1 << 30, ((1u64 << 30) as f64 * bits_per_key) as u64)?.hashes();
        Ok(shape.with_hashes(hashes))
    }
}

fn fuse_shape(keys: u64, fingerprint_bits: u32) -> Result<Shape> {
    Ok(Shape::Fuse { slots: fuse::shape(keys)?.slots, fingerprint_bits })
}

/// The smallest number, from 1, for which something that stays true once it is true holds;
/// `guess` only saves time.
pub(crate) fn smallest(guess: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let guess = guess.clamp(1, u64::MAX / 4);
    let (mut low, mut high); // holds(high), and not holds(low) or low is 0
    let mut step = guess / 64 + 1;
    if holds(guess) {
        high = guess;
        loop {
            low = high.saturating_sub(step);
            if low == 0 || !holds(low) {
                break;
            }
            high = low;
            step *= 2;
        }
    } else {
        low = guess;
        loop {
            high = low.saturating_add(step).min(u64::MAX / 2);
            if high == u64::MAX / 2 || holds(high) {
                break;
            }
            low = high;
            step = step.saturating_mul(2);
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

/// The number of distinct keys in a filter, estimated from the share of its bits that is set:
/// n = ln(1 − X/m) / ln(1 − k/m). The same for `blocked`, `counting` and `bloom`; infinite when
/// full.
pub fn estimated_keys(ones: u64, bits: u64, hashes: u32) -> f64 {
    let m = bits as f64;
    // m ≤ k only in absurdly small filters, where every estimate is a guess.
    let per_key = real::log1p(-f64::from(hashes) / m.max(f64::from(hashes) + 1.0));
    real::log1p(-(ones as f64) / m) / per_key
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn smallest_finds_the_border_whatever_the_guess(border in 1u64..1 << 50, guess in 0u64..u64::MAX) {
            prop_assert_eq!(smallest(guess, |x| x >= border), border);
        }

        #[test]
        fn a_shape_for_a_rate_meets_it_and_one_step_less_does_not(keys in 1u64..100_000_000, log in -6.0..-0.31f64) {
            let fpr = 10f64.powf(log);
            for kind in [Kind::Blocked, Kind::Counting, Kind::Bloom] {
                let shape = kind.shape_for_rate(keys, fpr).unwrap();
                prop_assert!(shape.expected_rate(keys) <= fpr);
                let less = match shape {
                    Shape::Blocked { lines, hashes } => Shape::Blocked { lines: lines - 1, hashes },
                    Shape::Counting { lines, hashes } => Shape::Counting { lines: lines - 1, hashes },
                    Shape::Bloom { bits, hashes } => Shape::Bloom { bits: bits - 1, hashes },
                    other => panic!("{other:?}"),
                };
                if less.slots() > 0 {
                    prop_assert!(less.expected_rate(keys) > fpr, "{kind} {shape:?}");
                }
                prop_assert!(shape.capacity(fpr).unwrap() >= keys);
            }
            for kind in [Kind::Fuse, Kind::Ribbon] {
                let shape = kind.shape_for_rate(keys, fpr).unwrap();
                prop_assert!(shape.expected_rate(keys) <= fpr);
            }
        }

        #[test]
        fn a_shape_for_bits_stays_within_them(keys in 1u64..1_000_000, bits_per_key in 2.0..60f64) {
            let bits = (keys as f64 * bits_per_key) as u64;
            for kind in Kind::ALL {
                if let Ok(shape) = kind.shape_for_bits(keys, bits) {
                    prop_assert!(shape.bits() <= bits);
                }
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for kind in [Kind::CountMin, Kind::CountMinConservative] {
            assert!(kind.shape_for_rate(10, 0.01).is_err() && kind.shape_for_bits(10, 1000).is_err());
        }
        for kind in Kind::FILTERS {
            for fpr in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::INFINITY] {
                assert!(matches!(kind.shape_for_rate(10, fpr), Err(Error::Rate(_))), "{fpr}");
            }
            assert!(matches!(kind.shape_for_rate(0, 0.01), Err(Error::NoKeys)));
            assert!(matches!(kind.shape_for_rate(u64::MAX, 0.01), Err(Error::TooLarge { .. })));
            assert!(kind.shape_for_bits(1000, u64::MAX).is_err());
            assert!(kind.shape_for_bits(1000, 0).is_err());
        }
    }

    #[test]
    fn a_rate_of_one_holds_any_number_of_keys() {
        for kind in [Kind::Blocked, Kind::Bloom] {
            let shape = kind.shape_for_rate(1000, 0.5).unwrap();
            assert_eq!(shape.capacity(1.0), Some(u64::MAX));
            assert!(shape.capacity(1.0f64.next_down()).unwrap() < 1_000_000_000);
        }
    }

    #[test]
    fn a_billion_keys_in_eight_billion_bits_have_the_known_rates() {
        for (hashes, rate) in [(1, 0.1175), (2, 0.0489), (6, 0.0216)] {
            let shape = Shape::Bloom { bits: 8_000_000_000, hashes };
            assert!((shape.expected_rate(1_000_000_000) - rate).abs() < 5e-5);
        }
        assert_eq!(Kind::Bloom.shape_for_bits(1_000_000_000, 8_000_000_000).unwrap().hashes(), 6);
    }

    #[test]
    fn the_blocked_filter_costs_five_percent_more_at_one_percent() {
        let n = 100_000_000;
        let bits = |kind: Kind, fpr| kind.shape_for_rate(n, fpr).unwrap().bits() as f64 / n as f64;
        assert!((bits(Kind::Blocked, 0.01) / bits(Kind::Bloom, 0.01) - 1.05).abs() < 0.01);
    }
}
