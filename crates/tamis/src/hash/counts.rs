//! The hash of Spark's `CountMinSketch`: one number of 64 bits for a key, from which its counter in each row follows.
//!
//! Text and bytes have two hashes of 32 bits, h₁ and h₂: the counter in row i is that of |h₁ + i h₂| modulo the width,
//! with sums of 32 bits with a sign. Numbers have a factor for each row: a product of 64 bits, folded to 31. So the
//! type of keys is a matter of the scheme here.

use super::foreign::spark_murmur3;

/// How Spark's `CountMinSketch` hashes keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SparkCounts {
    /// Text and bytes.
    Bytes,
    /// Numbers.
    Longs {
        /// That of `java.util.Random`, which draws the factors of the rows; 48 bits.
        seed: u64,
    },
}

/// What `java.util.Random` multiplies with, and what a seed is mixed with.
const FACTOR: u64 = 0x5_deec_e66d;
const MASK: u64 = (1 << 48) - 1;
/// The numbers below this are drawn: the one above is drawn again.
const BELOW: u64 = (1 << 31) - 1;

impl SparkCounts {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            SparkCounts::Bytes => "spark-counts",
            SparkCounts::Longs { .. } => "spark-counts-long",
        }
    }

    /// The hash of a key. Of a number (its bytes, the lowest first; four or eight of them) it is a permutation, so that
    /// numbers that follow each other are as far apart as others.
    #[inline]
    pub fn hash(self, key: &[u8]) -> u64 {
        match self {
            SparkCounts::Bytes => {
                let first = spark_murmur3(key, 0);
                u64::from(first) << 32 | u64::from(spark_murmur3(key, first))
            }
            SparkCounts::Longs { .. } => mixed(number(key)),
        }
    }

    /// The factors of the first rows, as `java.util.Random` draws them from the seed.
    pub fn factors(seed: u64) -> impl Iterator<Item = u64> {
        after((seed ^ FACTOR) & MASK)
    }

    /// A seed that draws these factors; none where none does.
    ///
    /// A factor is all but the lowest 17 bits of the state that draws the next: these are tried.
    pub fn seed_of(factors: &[u64]) -> Option<u64> {
        let (&first, others) = factors.split_first()?;
        if first >= BELOW {
            return None;
        }
        let state = (0..1u64 << 17)
            .map(|low| first << 17 | low)
            .find(|&state| after(state).zip(others).all(|(drawn, factor)| drawn == *factor))?;
        // The state before, by the inverse of the factor modulo 2⁴⁸.
        let before = state.wrapping_sub(0xb).wrapping_mul(0xdfe0_5bcb_1365) & MASK;
        Some(before ^ FACTOR)
    }
}

/// What is drawn after this state.
fn after(mut state: u64) -> impl Iterator<Item = u64> {
    core::iter::repeat_with(move || {
        loop {
            state = state.wrapping_mul(FACTOR).wrapping_add(0xb) & MASK;
            if state >> 17 != BELOW {
                return state >> 17;
            }
        }
    })
}

/// A number of four or eight bytes.
#[inline]
fn number(key: &[u8]) -> u64 {
    if let Ok(four) = <[u8; 4]>::try_from(key) {
        return i64::from(i32::from_le_bytes(four)) as u64;
    }
    let mut eight = [0; 8];
    let length = key.len().min(8);
    eight[..length].copy_from_slice(&key[..length]);
    u64::from_le_bytes(eight)
}

/// The end of MurmurHash3, a permutation of 64 bits.
#[inline(always)]
fn mixed(mut number: u64) -> u64 {
    number = (number ^ number >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    number = (number ^ number >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    number ^ number >> 33
}

/// What was mixed. (A number and its upper half by exclusive or, done twice, is the number: 33 is more than half.)
#[inline(always)]
fn unmixed(mut hash: u64) -> u64 {
    hash = (hash ^ hash >> 33).wrapping_mul(0x9cb4_b2f8_1293_37db);
    hash = (hash ^ hash >> 33).wrapping_mul(0x4f74_430c_22a5_4005);
    hash ^ hash >> 33
}

/// Where the counter of text with this hash stands, in this row of this many counters.
#[inline(always)]
pub(crate) fn place_of_bytes(hash: u64, row: u32, width: u64) -> u64 {
    let sum = ((hash >> 32) as u32).wrapping_add((hash as u32).wrapping_mul(row));
    u64::from((sum as i32).unsigned_abs()) % width
}

/// The same of a number, in the row of this factor.
#[inline(always)]
pub(crate) fn place_of_long(hash: u64, factor: u64, width: u64) -> u64 {
    let product = unmixed(hash).wrapping_mul(factor) as i64;
    (product.wrapping_add(product >> 32) & 0x7fff_ffff) as u64 % width
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn mixing_is_undone() {
        for number in [0, 1, u64::MAX, 42, 1 << 63, 0x0123_4567_89ab_cdef] {
            assert_eq!(unmixed(mixed(number)), number);
        }
        assert_eq!(number(&(-5i32).to_le_bytes()), number(&(-5i64).to_le_bytes()));
    }

    /// What `new java.util.Random(42).nextInt(Integer.MAX_VALUE)` gives, again and again.
    #[test]
    fn factors_are_drawn_as_java_does_and_tell_their_seed() {
        for seed in [0, 1, 42, MASK, 0x1234_5678_9abc] {
            let factors: Vec<u64> = SparkCounts::factors(seed).take(5).collect();
            assert_eq!(SparkCounts::seed_of(&factors), Some(seed));
            assert_eq!(
                SparkCounts::factors(SparkCounts::seed_of(&factors[..1]).unwrap()).next(),
                Some(factors[0])
            );
        }
        assert_eq!(SparkCounts::seed_of(&[1, 2, 3]), None);
        assert_eq!(SparkCounts::seed_of(&[BELOW]), None);
        assert_eq!(SparkCounts::seed_of(&[]), None);
    }
}
