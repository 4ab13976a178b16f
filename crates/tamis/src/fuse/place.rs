//! Where a key lies: from its hash and the seed to three slots and a fingerprint; and how
//! fingerprints are packed. All of it is part of the format.

use super::shape::Shape;
use bytemuck::Pod;
use core::ops::BitXor;

/// 2⁶⁴ divided by the golden ratio; odd, so multiplying by it can be undone.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// The inverse of [`SPREAD`] modulo 2⁶⁴.
#[cfg(test)]
const UNSPREAD: u64 = 0xf1de_83e1_9937_733d;
/// What a seed is multiplied by, so that neighbouring seeds differ in many bits.
const SEED: u64 = 0xd1b5_4a32_d192_ed03;

/// What a seed changes in a hash.
pub(super) fn salt(seed: u64) -> u64 {
    seed.wrapping_mul(SEED)
}

/// The key of a hash: what the filter works with. The first slot grows with it, so that sorted
/// keys go through the table from one end to the other. Its high bits depend on all bits of the
/// hash, which makes up for hashes of which only some are filled, or that share their high bits
/// (a shard). They depend on the seed too: a set whose first slots heap up somewhere fails
/// whatever the other slots are. One to one, so distinct hashes have distinct keys.
#[inline]
pub(super) fn key(hash: u64, salt: u64) -> u64 {
    let x = hash ^ salt;
    (x ^ x >> 32).wrapping_mul(SPREAD)
}

/// The hash of a key.
#[cfg(test)]
pub(super) fn hash(key: u64, salt: u64) -> u64 {
    let x = key.wrapping_mul(UNSPREAD);
    x ^ x >> 32 ^ salt
}

/// Places keys in a table of one shape, with one seed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placer {
    starts: u64,
    segment: u64,
    log: u32,
    width: u32,
    salt: u64,
}

impl Placer {
    pub(super) fn new(shape: &Shape, width: u32, seed: u64) -> Self {
        Placer {
            starts: shape.starts,
            segment: u64::from(shape.segment),
            log: shape.segment.trailing_zeros(),
            width,
            salt: salt(seed),
        }
    }

    /// All but the first slot is drawn from this: offsets from the low 32 bits, the fingerprint
    /// from the high ones.
    #[inline]
    fn mix(key: u64) -> u64 {
        let mut z = key;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// The first slot of a key: ⌊key · starts / 2⁶⁴⌋.
    #[inline]
    fn start(&self, key: u64) -> u64 {
        ((u128::from(key) * u128::from(self.starts)) >> 64) as u64
    }

    /// The same, put together from products of 32 bits, as vectors have them: there are fewer than 2³² segments.
    #[inline(always)]
    fn start_by_halves(&self, key: u64) -> u64 {
        let segments = (self.starts >> self.log) & 0xffff_ffff;
        ((key >> 32) * segments + (((key & 0xffff_ffff) * segments) >> 32)) >> (32 - self.log)
    }

    /// The key of a hash.
    #[inline]
    pub(super) fn key(&self, hash: u64) -> u64 {
        key(hash, self.salt)
    }

    /// The slots and the fingerprint of a hash.
    #[inline]
    pub(super) fn place_hash(&self, hash: u64) -> ([u64; 3], u64) {
        self.place(self.key(hash))
    }

    /// The three slots of a key, in three segments that follow each other, and its fingerprint.
    ///
    /// All slots are below `starts + 2 · segment`: `start` is below `starts`, a multiple of the
    /// segment's length, and the offsets change a slot within its segment only.
    #[inline]
    pub(super) fn place(&self, key: u64) -> ([u64; 3], u64) {
        self.place_from(self.start(key), key)
    }

    /// The same of a hash, in a loop over many of them that becomes vectors.
    #[inline(always)]
    pub(super) fn place_many(&self, hash: u64) -> ([u64; 3], u64) {
        let key = self.key(hash);
        self.place_from(self.start_by_halves(key), key)
    }

    #[inline(always)]
    fn place_from(&self, start: u64, key: u64) -> ([u64; 3], u64) {
        let mixed = Self::mix(key);
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

/// A fingerprint in whole bytes.
pub(super) trait Fingerprint: Pod + Default + BitXor<Output = Self> + Into<u64> {
    /// The low bits of this number, as many as there is room for.
    fn of(number: u64) -> Self;
}

impl Fingerprint for u8 {
    #[inline(always)]
    fn of(number: u64) -> u8 {
        number as u8
    }
}

impl Fingerprint for u16 {
    #[inline(always)]
    fn of(number: u64) -> u16 {
        number as u16
    }
}

impl Fingerprint for u32 {
    #[inline(always)]
    fn of(number: u64) -> u32 {
        number as u32
    }
}

/// Packs fingerprints without gaps into words, lowest bits first.
pub(super) fn pack<T: Fingerprint>(fingerprints: &[T], width: u32, words: &mut [u64]) {
    let (mut word, mut filled, mut packed) = (0, 0, words.iter_mut());
    for &fingerprint in fingerprints {
        let fingerprint = fingerprint.into();
        word |= fingerprint << filled;
        filled += width;
        if filled >= 64 {
            *packed.next().expect("a word for every 64 bits") = word;
            filled -= 64;
            word = fingerprint >> (width - filled); // what the last word had no room for
        }
    }
    if let Some(last) = packed.next() {
        *last = word;
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
    fn a_key_gives_back_its_hash() {
        assert_eq!(SPREAD.wrapping_mul(UNSPREAD), 1);
        for salt in [0, 1, 77, u64::MAX].map(salt) {
            for text in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef, 1 << 63] {
                assert_eq!(hash(key(text, salt), salt), text);
            }
        }
    }
}
