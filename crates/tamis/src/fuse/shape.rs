//! How large a filter is: pure formulas over the number of keys and the width.

use crate::error::{Result, SizeFault};

/// The most keys that a filter is specified for.
pub const MAX_KEYS: u64 = 1 << 40;

/// The widest fingerprint, in bits.
pub const MAX_WIDTH: u32 = 32;

/// Segments have 2¹, 2², … slots: this many keys at most for each length, and 2¹⁶ for all sets
/// beyond. Found by experiment. With these a seed works about every second time or better below
/// 1400 keys, where a retry costs microseconds, three times in four or better up to 230
/// thousand, and nearly always beyond. Part of the format.
const MOST_KEYS: [u64; 15] = [
    6,
    16,
    36,
    100,
    240,
    580,
    1_380,
    3_000,
    6_500,
    17_000,
    45_000,
    230_000,
    1_500_000,
    20_000_000,
    400_000_000,
];

/// The layout of a filter, which follows from its number of keys alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Fingerprints in the table; 0 for no keys, else `starts` + 2 · `segment`.
    pub slots: u64,
    /// Slots of a segment: a power of two.
    pub segment: u32,
    /// The slots at which the first of a key's three may lie; a multiple of `segment`.
    pub starts: u64,
}

/// The shape of a filter of this many distinct keys.
///
/// With L slots in a segment, a key's first slot lies in one of ⌈1.11 · keys / L⌉ segments,
/// and its other two in the two segments that follow, so that the table has two more. The
/// factor 1.11 leaves a margin of 2 % over 1.0894, below which the construction fails for
/// every length of segment.
pub fn shape(keys: u64) -> Result<Shape> {
    if keys > MAX_KEYS {
        return Err(SizeFault::FuseKeys(keys).into());
    }
    let log = 1 + MOST_KEYS.iter().take_while(|&&most| most < keys).count();
    let segment = 1 << log;
    // No overflow: keys is at most 2^40.
    let starts = (111 * keys).div_ceil(100 * segment) * segment;
    let slots = if keys == 0 { 0 } else { starts + 2 * segment };
    Ok(Shape { slots, segment: segment as u32, starts })
}

/// The words of a filter: its fingerprints packed without gaps, and one word more, so that
/// eight bytes can be read wherever a fingerprint begins. None for no keys.
pub fn words_needed(keys: u64, width: u32) -> Result<usize> {
    check_width(width)?;
    let Shape { slots, .. } = shape(keys)?;
    if slots == 0 {
        return Ok(0);
    }
    // No overflow: there are fewer than 2^41 slots of at most 32 bits.
    let words = (slots * u64::from(width)).div_ceil(64) + 1;
    usize::try_from(words).map_err(|_| SizeFault::FuseWords(words).into())
}

pub(super) fn check_width(width: u32) -> Result<()> {
    if (1..=MAX_WIDTH).contains(&width) {
        return Ok(());
    }
    Err(SizeFault::FuseWidth(width).into())
}

/// The narrowest fingerprint whose rate is at most `fpr`: ⌈log2(1/fpr)⌉ bits. None where `fpr`
/// is no rate between 0 and 1 (both excluded), or asks for more than 32 bits.
///
/// ```
/// # use tamis::fuse::width_for;
/// assert_eq!(width_for(0.01), Some(7));
/// assert_eq!(width_for(1.0 / 256.0), Some(8));
/// assert_eq!(width_for(1e-12), None);
/// ```
pub fn width_for(fpr: f64) -> Option<u32> {
    if !(fpr > 0.0 && fpr < 1.0) {
        return None;
    }
    (1..=MAX_WIDTH).find(|&width| rate(width) <= fpr)
}

/// The false-positive rate of fingerprints of this many bits: 2^-width.
pub fn rate(width: u32) -> f64 {
    1.0 / (1u64 << width.min(63)) as f64
}
