//! Values as the bytes that other systems hash: numbers and text in a type of theirs.
//!
//! A Bloom filter of Java knows no text "42": it was given the number, or characters of 16 bits. So the last step of
//! a key can be the type that it has there.

use alloc::vec::Vec;
use core::str::FromStr;

use super::whole;
use crate::hash::xxh64;

/// The seed of the function `xxhash64` in Spark.
const SPARK_SEED: u64 = 42;

/// A whole number in four bytes, the lowest first.
pub(super) fn int(value: &[u8]) -> Option<Vec<u8>> {
    number::<i32>(value).map(|number| number.to_le_bytes().to_vec())
}

/// A whole number in eight bytes, the lowest first.
pub(super) fn long(value: &[u8]) -> Option<Vec<u8>> {
    number::<i64>(value).map(|number| number.to_le_bytes().to_vec())
}

/// Text in UTF-16, the lower byte of each character first.
pub(super) fn utf16(value: &[u8]) -> Option<Vec<u8>> {
    let text = core::str::from_utf8(value).ok()?;
    Some(text.encode_utf16().flat_map(u16::to_le_bytes).collect())
}

/// What Spark's `xxhash64` makes of a value, as eight bytes: the key of the filters that Spark makes for joins, and of
/// those that `might_contain` asks.
pub(super) fn xxhash64(value: &[u8]) -> Vec<u8> {
    xxh64(value, SPARK_SEED).to_le_bytes().to_vec()
}

fn number<N: FromStr>(value: &[u8]) -> Option<N> {
    core::str::from_utf8(whole(value)).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_the_bytes_that_other_systems_hash() {
        assert_eq!(long(b"-2").unwrap(), [0xfe, 255, 255, 255, 255, 255, 255, 255]);
        assert_eq!(long(b"42"), long(b"+042.00"));
        assert_eq!(int(b"-2147483648").unwrap(), [0, 0, 0, 0x80]);
        assert_eq!(utf16("a€𝄞".as_bytes()).unwrap(), [b'a', 0, 0xac, 0x20, 0x34, 0xd8, 0x1e, 0xdd]);
        // SELECT xxhash64('Spark') in Spark 4.3, and of the long and the int 1.
        assert_eq!(xxhash64(b"Spark"), (-4_294_468_057_691_064_905_i64).to_le_bytes());
        assert_eq!(xxhash64(&long(b"1").unwrap()), (-7_001_672_635_703_045_582_i64).to_le_bytes());
        assert_eq!(xxhash64(&int(b"1").unwrap()), (-6_698_625_589_789_238_999_i64).to_le_bytes());
        for wrong in [&b"2147483648"[..], b"", b"1.5", b"1e3", b" 1", b"one"] {
            assert_eq!(int(wrong), None, "{wrong:?}");
        }
        assert_eq!(utf16(b"\xff"), None);
    }
}
