//! Functions of real numbers that give the same bits on every machine.
//!
//! Sizes follow from them, and so do the bytes of files; the functions of the standard library
//! go through the platform's own, which differ in the last place.

pub use libm::rint as round_ties_even;
pub use libm::{ceil, exp, expm1, floor, log, log1p, pow, sqrt};

/// x to the power of a small integer, by squaring.
pub fn power(x: f64, exponent: u32) -> f64 {
    let (mut result, mut square, mut left) = (1.0, x, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_products() {
        for x in [0.0, 0.3, 1.0, 1.7] {
            for exponent in 0..40 {
                let product: f64 = (0..exponent).map(|_| x).product();
                assert!((power(x, exponent) - product).abs() <= 1e-13 * product, "{x}^{exponent}");
            }
        }
    }

    /// If these change, so may the sizes of filters: see the policy of versions.
    #[test]
    fn the_bits_of_the_functions_are_fixed() {
        let bits = [log1p(-1e-9), expm1(-0.7), exp(-0.7), log(0.01), pow(0.01, 1.0 / 7.0)].map(f64::to_bits);
        let fixed = [
            0xbe11_2e0b_e84b_bb51,
            0xbfe0_1bf9_2311_555f,
            0x3fdf_c80d_b9dd_5542,
            0xc012_6bb1_bbb5_5516,
            0x3fe0_9306_9178_d379,
        ];
        assert_eq!(bits.map(|b| format!("{b:#x}")), fixed.map(|b: u64| format!("{b:#x}")));
    }
}
