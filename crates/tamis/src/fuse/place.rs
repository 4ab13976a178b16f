//! Where a key lies: from its hash and the seed to three slots and a fingerprint; and how
//! fingerprints are packed. All of it is part of the format.

use super::shape::Shape;

/// 2⁶⁴ divided by the golden ratio; odd, so multiplying by it can be undone.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// The inverse of [`SPREAD`] modulo 2⁶⁴.
const UNSPREAD: u64 = 0xf1de_83e1_9937_733d;
/// What a seed is multiplied by: neighbouring seeds differ in all high bits.
const SEED: u64 = 0xd1b5_4a32_d192_ed03;

/// The key that the filter works with. It keeps the order of first slots ([`Placer::start`]),
/// whatever the seed: keys sorted by it go through the table from one end to the other. That
/// its high bits depend on all bits of the hash makes up for hashes of which only the low bits
/// are filled, or that share their high bits (a shard).
#[inline]
pub(super) fn spread(hash: u64) -> u64 {
    hash.wrapping_mul(SPREAD)
}

/// The hash of a key of the filter.
#[inline]
pub(super) fn unspread(key: u64) -> u64 {
    key.wrapping_mul(UNSPREAD)
}

/// Places keys in a table of one shape, with one seed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placer {
    starts: u64,
    segment: u64,
    log: u32,
    width: u32,
    seed: u64,
}

impl Placer {
    pub(super) fn new(shape: &Shape, width: u32, seed: u64) -> Self {
        Placer {
            starts: shape.starts,
            segment: u64::from(shape.segment),
            log: shape.segment.trailing_zeros(),
            width,
            seed: seed.wrapping_mul(SEED),
        }
    }

    /// Everything but the first slot is drawn from this: offsets from the low 32 bits, the
    /// fingerprint from the high ones. One to one for a given seed, so that distinct hashes
    /// never coincide in it.
    #[inline]
    fn mix(&self, key: u64) -> u64 {
        let mut z = key ^ self.seed;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// The first slot of a key: ⌊key · starts / 2⁶⁴⌋.
    #[inline]
    fn start(&self, key: u64) -> u64 {
        ((u128::from(key) * u128::from(self.starts)) >> 64) as u64
    }

    /// The three slots of a key, in three segments that follow each other, and its fingerprint.
    ///
    /// All slots are below `starts + 2 · segment`: `start` is below `starts`, a multiple of the
    /// segment's length, and the offsets change a slot within its segment only.
    #[inline]
    pub(super) fn place(&self, key: u64) -> ([u64; 3], u64) {
        let mixed = self.mix(key);
        let start = self.start(key);
        let mask = self.segment - 1;
        let second = (start + self.segment) ^ (mixed & mask);
        let third = (start + 2 * self.segment) ^ (mixed >> self.log & mask);
        ([start, second, third], mixed >> (64 - self.width))
    }
}

/// The 57 bits or more that begin with the fingerprint of a slot. The slot must be one of the
/// table's: the word of padding at the end makes the read safe there too.
#[inline]
pub(super) fn peek(words: &[u64], slot: u64, width: u32) -> u64 {
    let bit = slot * u64::from(width);
    // A single load at the byte where the fingerprint begins is a fifth faster than two words
    // put together.
    let bytes: &[u8] = bytemuck::cast_slice(words);
    let eight = bytes[(bit / 8) as usize..][..8].try_into().expect("eight bytes");
    u64::from_le_bytes(eight) >> (bit % 8)
}

/// Writes a fingerprint into a slot that is still zero.
#[inline]
pub(super) fn put(words: &mut [u64], slot: u64, width: u32, fingerprint: u64) {
    let bit = slot * u64::from(width);
    let (word, shift) = ((bit / 64) as usize, (bit % 64) as u32);
    words[word] |= fingerprint << shift;
    if shift + width > 64 {
        words[word + 1] |= fingerprint >> (64 - shift);
    }
}

/// As many ones as a fingerprint has bits.
#[inline]
pub(super) fn mask(width: u32) -> u64 {
    (1 << width) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreading_can_be_undone() {
        assert_eq!(SPREAD.wrapping_mul(UNSPREAD), 1);
        assert_eq!(unspread(spread(0x0123_4567_89ab_cdef)), 0x0123_4567_89ab_cdef);
    }
}
