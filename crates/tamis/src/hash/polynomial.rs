//! Collodi and Ghera's family of hash functions: a polynomial in a factor of its own for each position,
//! modulo the number of bits.
//!
//! A position is h after h = (R · h + c) mod m over the bytes c of a key, from h = 0. R is the factor of the
//! position: 1 + ⌊x (m − 1) / 2⁶⁴⌋, where x is XXH3 of the position's number (from 0, eight bytes, the lowest
//! first) with the seed. So R is never 0, for which only the last byte would count.
//!
//! It is a simple family, not a good one. Zero bytes in front of a key do not change its positions. Where R
//! and m share a factor, or two functions have factors alike, more keys pass than the formula for positions
//! drawn at random says. Take it to make filters as Collodi and Ghera do (*Implementation of Bloom Filter using Java and
//! Java Hadoop*), and the default hash for anything else.

use super::xxh3;

/// The factor R of the position of this number among this many bits, which are at least 1.
#[inline]
pub fn polynomial_factor(seed: u64, number: u32, bits: u64) -> u64 {
    let draw = xxh3(&u64::from(number).to_le_bytes(), seed);
    1 + ((u128::from(draw) * u128::from(bits - 1)) >> 64) as u64
}

/// Where the function with this factor puts a key among 1 to 2³² bits. The factor is at most the number of
/// bits: then no product exceeds 64 bits.
///
/// ```
/// assert_eq!(tamis::hash::polynomial(&[3, 1, 4, 1], 10, 10_007), 3141);
/// assert_eq!(tamis::hash::polynomial(&[3, 1, 4, 1], 10, 1000), 141);
/// ```
#[inline]
pub fn polynomial(key: &[u8], factor: u64, bits: u64) -> u64 {
    debug_assert!(bits <= 1 << 32 && factor <= bits);
    // Multiplying by an inverse is several times faster than dividing. The quotient is at most one too small.
    let inverse = u64::MAX / bits;
    key.iter().fold(0, |h, &byte| {
        let sum = factor * h + u64::from(byte);
        let quotient = ((u128::from(sum) * u128::from(inverse)) >> 64) as u64;
        let rest = sum - quotient * bits;
        if rest >= bits { rest - bits } else { rest }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, in numbers that cannot overflow.
    fn naive(key: &[u8], factor: u64, bits: u64) -> u64 {
        let mut h: u128 = 0;
        for &byte in key {
            h = (u128::from(factor) * h + u128::from(byte)) % u128::from(bits);
        }
        h as u64
    }

    proptest! {
        #[test]
        fn a_position_is_that_of_the_definition(key: Vec<u8>, seed: u64, number in 0u32..64, log in 0u32..=32, part: u64) {
            let bits = (1 + part % (1 << log)).min(1 << 32);
            let factor = polynomial_factor(seed, number, bits);
            prop_assert!(factor >= 1 && (factor < bits || bits == 1));
            prop_assert_eq!(polynomial(&key, factor, bits), naive(&key, factor, bits));
            prop_assert_eq!(polynomial(&key, bits, bits), naive(&key, bits, bits));
        }
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        for bits in [1u64 << 32, (1 << 32) - 1, (1 << 32) - 5] {
            for factor in [bits - 1, bits - 2] {
                let key = [255; 40];
                assert_eq!(polynomial(&key, factor, bits), naive(&key, factor, bits));
            }
        }
        assert_eq!(polynomial(b"anything", 1, 1), 0);
    }

    #[test]
    fn zero_bytes_in_front_change_nothing() {
        assert_eq!(polynomial(b"\0\0word", 31, 10_200), polynomial(b"word", 31, 10_200));
    }
}
