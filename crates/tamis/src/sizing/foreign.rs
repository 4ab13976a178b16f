//! Sizes by the formulas of other systems: for the same keys and rate, the bits and hashes that they would choose.

use super::{Shape, check_given};
use crate::bloom::{MOST_HASHES, bits_per_key, published};
use crate::error::Result;
use crate::hash::Foreign;
use crate::real::{ceil, floor, log};
use core::f64::consts::LN_2;

impl Foreign {
    /// The bits of its filters are a multiple of this.
    pub fn unit(self) -> u64 {
        match self {
            Foreign::HadoopMurmur | Foreign::HadoopJenkins | Foreign::Dcso => 1,
            Foreign::SparkV1
            | Foreign::SparkV2 { .. }
            | Foreign::Guava64
            | Foreign::Guava32
            | Foreign::DataSketches { .. }
            | Foreign::Redis
            | Foreign::RedisLinks { .. } => 64,
        }
    }

    /// The shape that the other system gives a filter for this many keys at this rate, with the number of hashes by
    /// hand where one is given. Hadoop leaves its users to size their filters: theirs are the textbook's.
    pub(crate) fn shape_for_rate(self, keys: u64, fpr: f64, hashes: Option<u32>) -> Result<Shape> {
        check_given(keys, fpr)?;
        let n = keys as f64;
        if let Some(hashes) = hashes {
            return Ok(self.whole(ceil(n * bits_per_key(fpr, hashes)), hashes));
        }
        let bits = match self {
            Foreign::Redis | Foreign::RedisLinks { .. } => n * redis_bits_per_key(fpr),
            _ => -n * log(fpr) / (LN_2 * LN_2),
        };
        let bits = match self {
            Foreign::HadoopMurmur | Foreign::HadoopJenkins => return published(keys, fpr, None),
            Foreign::DataSketches { .. } => ceil(bits),
            Foreign::SparkV1
            | Foreign::SparkV2 { .. }
            | Foreign::Guava64
            | Foreign::Guava32
            | Foreign::Dcso
            | Foreign::Redis
            | Foreign::RedisLinks { .. } => floor(bits),
        };
        let hashes = match self {
            Foreign::Guava64 | Foreign::Guava32 => floor(-log(fpr) / LN_2 + 0.5),
            Foreign::SparkV1 | Foreign::SparkV2 { .. } => floor(bits / n * LN_2 + 0.5),
            Foreign::Redis | Foreign::RedisLinks { .. } => ceil(REDIS_LN_2 * redis_bits_per_key(fpr)),
            _ => ceil(bits / n * LN_2),
        };
        Ok(self.whole(bits, hashes.clamp(1.0, f64::from(MOST_HASHES)) as u32))
    }

    fn whole(self, bits: f64, hashes: u32) -> Shape {
        Shape::Bloom { bits: (bits as u64).max(1).next_multiple_of(self.unit()), hashes }
    }
}

/// The logarithm of 2 with the digits that RedisBloom has, and its square. They matter: with all digits, a filter for a
/// rate of 1/4 would have 2 hashes, and RedisBloom gives it 3.
#[expect(clippy::approx_constant, reason = "its digits are the point")]
const REDIS_LN_2: f64 = 0.693147180559945;
/// The square.
pub const REDIS_LN_2_SQUARED: f64 = 0.480453013918201;

fn redis_bits_per_key(fpr: f64) -> f64 {
    -(log(fpr) / REDIS_LN_2_SQUARED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(foreign: Foreign, keys: u64, fpr: f64) -> (u64, u32) {
        let shape = foreign.shape_for_rate(keys, fpr, None).unwrap();
        (shape.slots(), shape.hashes())
    }

    /// Numbers that the other systems print, or that stand in their files.
    #[test]
    fn sizes_are_those_of_the_other_systems() {
        assert_eq!(shape(Foreign::Dcso, 100_000, 0.01), (958_505, 7));
        assert_eq!(shape(Foreign::SparkV2 { seed: 0 }, 10_000, 0.01), (95_872, 7));
        assert_eq!(shape(Foreign::Guava64, 1_000_000, 0.03), (7_298_496, 5));
        assert_eq!(shape(Foreign::Redis, 50, 0.25), (192, 3));
        assert_eq!(shape(Foreign::HadoopMurmur, 1385, 0.01), (13_275, 7));
    }

    #[test]
    fn a_filter_of_words_has_whole_words_whatever_is_chosen() {
        for foreign in [Foreign::SparkV1, Foreign::Guava32, Foreign::DataSketches { seed: 0 }, Foreign::Redis]
        {
            for (keys, hashes) in [(1, None), (1, Some(3)), (12_345, None), (12_345, Some(1))] {
                let shape = foreign.shape_for_rate(keys, 0.02, hashes).unwrap();
                assert!(shape.slots() > 0 && shape.slots() % 64 == 0, "{foreign:?} {keys} {hashes:?}");
            }
        }
    }
}
