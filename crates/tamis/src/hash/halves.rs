//! Products of 64 bits, put together from products of 32: those are the ones that vectors have. A loop over many
//! hashes becomes vectors with these, and the processor has but one unit for whole products.

const LOW: u64 = 0xffff_ffff;

/// ⌊x · n / 2⁶⁴⌋.
#[inline(always)]
pub(crate) fn scale(x: u64, n: u32) -> u32 {
    let n = u64::from(n);
    (((x >> 32) * n + (((x & LOW) * n) >> 32)) >> 32) as u32
}

/// The same as [`fold`](super::fold).
#[inline(always)]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let (a_low, a_high, b_low, b_high) = (a & LOW, a >> 32, b & LOW, b >> 32);
    let lowest = a_low * b_low;
    let middle = a_low * b_high + (lowest >> 32);
    let other = a_high * b_low + (middle & LOW);
    let high = a_high * b_high + (middle >> 32) + (other >> 32);
    high ^ (other << 32 | lowest & LOW)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbers() -> impl Strategy<Value = u64> {
        prop_oneof![any::<u64>(), Just(0), Just(u64::MAX), Just(LOW), Just(LOW + 1), Just(1)]
    }

    proptest! {
        #[test]
        fn halves_give_what_whole_products_give(a in numbers(), b in numbers(), n: u32) {
            prop_assert_eq!(fold(a, b), crate::hash::fold(a, b));
            for n in [n, 0, 1, u32::MAX] {
                prop_assert_eq!(u128::from(scale(a, n)), (u128::from(a) * u128::from(n)) >> 64);
            }
        }
    }
}
