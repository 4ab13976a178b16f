//! Lookups of many keys: the same slots and fingerprints as for one, read by the fastest means
//! for their width, and asked for ahead where the table is larger than the cache.

use super::place::{Placer, mask};
use crate::arch::cpu::{Vectored, prefetch};

/// How many keys ahead the slots of a key are asked for.
const AHEAD: usize = 16;

/// Bytes of a table that a processor core keeps close by itself. Its own look ahead is enough
/// there, and asking costs more than it gains.
const CLOSE: usize = 512 << 10;

/// Fingerprints as they are packed in bytes.
pub(super) trait Packed: Copy {
    /// Bytes that they take.
    fn size(self) -> usize;
    /// Asks for the fingerprint of a slot.
    fn ask(self, slot: u64);
    /// The fingerprint of a slot. Bits past its width may be anything.
    fn at(self, slot: u64) -> u64;
}

/// Fingerprints of 8 bits.
impl Packed for &[u8] {
    #[inline(always)]
    fn size(self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn ask(self, slot: u64) {
        prefetch(self, slot as usize);
    }

    #[inline(always)]
    fn at(self, slot: u64) -> u64 {
        self[slot as usize].into()
    }
}

/// Fingerprints of 16 bits.
impl Packed for &[[u8; 2]] {
    #[inline(always)]
    fn size(self) -> usize {
        2 * self.len()
    }

    #[inline(always)]
    fn ask(self, slot: u64) {
        prefetch(self, slot as usize);
    }

    #[inline(always)]
    fn at(self, slot: u64) -> u64 {
        u16::from_le_bytes(self[slot as usize]).into()
    }
}

/// Fingerprints of any width.
#[derive(Clone, Copy)]
pub(super) struct Bits<'a> {
    pub bytes: &'a [u8],
    pub width: u32,
}

impl Packed for Bits<'_> {
    #[inline(always)]
    fn size(self) -> usize {
        self.bytes.len()
    }

    #[inline(always)]
    fn ask(self, slot: u64) {
        prefetch(self.bytes, (slot * u64::from(self.width) / 8) as usize);
    }

    #[inline(always)]
    fn at(self, slot: u64) -> u64 {
        let bit = slot * u64::from(self.width);
        let at = (bit / 8) as usize;
        // The word of padding makes this safe at the end.
        let eight = self.bytes[at..at + 8].try_into().expect("eight bytes");
        u64::from_le_bytes(eight) >> (bit % 8)
    }
}

/// Tells of hashes whether their keys may be in the set.
pub(super) struct Contains<'a, P> {
    pub table: P,
    pub placer: Placer,
    pub width: u32,
    pub hashes: &'a [u64],
    pub found: &'a mut [bool],
}

impl<P: Packed> Vectored for Contains<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Contains { table, placer, width, hashes, found } = self;
        let matches = |([first, second, third], fingerprint): ([u64; 3], u64)| {
            let sum = table.at(first) ^ table.at(second) ^ table.at(third);
            (sum ^ fingerprint) & mask(width) == 0
        };
        if table.size() <= CLOSE {
            for (found, &hash) in found.iter_mut().zip(hashes) {
                *found = matches(placer.place_hash(hash));
            }
            return;
        }
        let ask = |hash| {
            let place = placer.place_hash(hash);
            place.0.iter().for_each(|&slot| table.ask(slot));
            place
        };
        let mut ring = [([0; 3], 0); AHEAD];
        for (place, &hash) in ring.iter_mut().zip(hashes) {
            *place = ask(hash);
        }
        for (i, found) in found.iter_mut().enumerate() {
            let place = &mut ring[i % AHEAD];
            *found = matches(*place);
            if let Some(&hash) = hashes.get(i + AHEAD) {
                *place = ask(hash);
            }
        }
    }
}
