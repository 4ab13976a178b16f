//! Lookups of many keys: the same slots and fingerprints as for one, read by the fastest means
//! for their width, and asked for ahead where the table is larger than the cache.

use super::place::{Placer, mask};
use crate::answers::Answers;
use crate::arch::cpu::{Vectored, prefetch};
use core::hint::black_box;

/// Keys that are placed together, in a table that is close.
const KEYS: usize = 32;

/// How many keys ahead the slots of a key are asked for, in one that is not.
const AHEAD: usize = 64;

/// Bytes of a table that lies in the caches, those that cores share included. A core's own look ahead is enough there, and
/// asking costs more than it gains.
const CLOSE: usize = 12 << 20;

/// Fingerprints as they are packed in bytes.
pub(super) trait Packed: Copy {
    /// Bytes that they take.
    fn size(self) -> usize;
    /// Asks for the fingerprint of a slot.
    fn ask(self, slot: u64);
    /// The fingerprint of a slot. Bits past its width may be anything.
    fn at(self, slot: u64) -> u64;
    /// The sums, by exclusive or, of the fingerprints of three slots each. Bits past their width may be anything.
    #[inline(always)]
    fn sums(self, slots: &[[u32; KEYS]; 3]) -> [u32; KEYS] {
        core::array::from_fn(|i| {
            let [first, second, third] = slots.each_ref().map(|slots| self.at(slots[i].into()) as u32);
            first ^ second ^ third
        })
    }
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

/// Fingerprints of any width that `N` bytes hold wherever they begin.
#[derive(Clone, Copy)]
pub(super) struct Bits<'a, const N: usize> {
    pub bytes: &'a [u8],
    pub width: u32,
}

impl<const N: usize> Bits<'_, N> {
    /// The bytes from this one on, as many as there is need for.
    #[inline(always)]
    fn read(self, at: usize) -> u64 {
        // The word of padding makes this safe at the end.
        let mut eight = [0; 8];
        eight[..N].copy_from_slice(&self.bytes[at..at + N]);
        u64::from_le_bytes(eight)
    }
}

impl<const N: usize> Packed for Bits<'_, N> {
    #[inline(always)]
    fn size(self) -> usize {
        self.bytes.len()
    }

    #[inline(always)]
    fn ask(self, slot: u64) {
        let at = (slot * u64::from(self.width) / 8) as usize;
        prefetch(self.bytes, at);
        // Where one of three slots lies in two lines, the key would wait for the memory.
        prefetch(self.bytes, at + N - 1);
    }

    #[inline(always)]
    fn at(self, slot: u64) -> u64 {
        let bit = slot * u64::from(self.width);
        self.read((bit / 8) as usize) >> (bit % 8)
    }

    /// Only the bytes are read one by one; all else are vectors. Bits of a table that is close have numbers of 32 bits.
    #[inline(always)]
    fn sums(self, slots: &[[u32; KEYS]; 3]) -> [u32; KEYS] {
        let mut sums = [0; KEYS];
        for slots in slots {
            let (mut places, mut read) = ([0; KEYS], [0; KEYS]);
            for (place, slot) in places.iter_mut().zip(slots) {
                *place = slot * self.width / 8;
            }
            black_box(&mut places);
            for (read, &place) in read.iter_mut().zip(&places) {
                *read = self.read(place as usize);
            }
            black_box(&mut read);
            for ((sum, read), slot) in sums.iter_mut().zip(&read).zip(slots) {
                *sum ^= (read >> (slot * self.width % 8)) as u32;
            }
        }
        sums
    }
}

/// Where some keys look, and their fingerprints. Others are placed in vain where there are fewer.
struct Places {
    /// The three slots of each: in a table that is close, 32 bits are enough.
    slots: [[u32; KEYS]; 3],
    fingerprints: [u32; KEYS],
    keys: usize,
}

impl Places {
    const NONE: Places = Places { slots: [[0; KEYS]; 3], fingerprints: [0; KEYS], keys: 0 };

    /// Places the next keys.
    #[inline(always)]
    fn fill(&mut self, placer: &Placer, hashes: &mut impl Iterator<Item = u64>) {
        let (mut some, mut keys) = ([0; KEYS], 0);
        for (to, hash) in some.iter_mut().zip(hashes) {
            *to = hash;
            keys += 1;
        }
        let [firsts, seconds, thirds] = &mut self.slots;
        for (i, &hash) in some.iter().enumerate() {
            let ([first, second, third], fingerprint) = placer.place_many(hash);
            (firsts[i], seconds[i], thirds[i]) = (first as u32, second as u32, third as u32);
            self.fingerprints[i] = fingerprint as u32;
        }
        self.keys = keys;
        // They are read from memory, one by one: to take vectors apart costs more.
        black_box(self);
    }

    /// What the fingerprints in the table differ by from those that the keys should have there.
    #[inline(always)]
    fn differences(&self, table: impl Packed) -> [u32; KEYS] {
        let mut differences = table.sums(&self.slots);
        differences.iter_mut().zip(&self.fingerprints).for_each(|(sum, fingerprint)| *sum ^= fingerprint);
        differences
    }
}

/// Tells of hashes whether their keys may be in the set.
pub(super) struct Contains<P, H, A> {
    pub table: P,
    pub placer: Placer,
    pub width: u32,
    pub hashes: H,
    pub answers: A,
}

impl<P: Packed, H: Iterator<Item = u64>, A: Answers> Vectored for Contains<P, H, A> {
    type Output = A;

    #[inline(always)]
    fn run(self) -> A {
        if self.table.size() <= CLOSE { self.run_close() } else { self.run_far() }
    }
}

impl<P: Packed, H: Iterator<Item = u64>, A: Answers> Contains<P, H, A> {
    /// While the slots of some keys are read, those of the next are found.
    #[inline(always)]
    fn run_close(self) -> A {
        let Contains { table, placer, width, hashes, mut answers } = self;
        let mut hashes = hashes.fuse(); // asked once more after the last
        let [mut now, mut next] = [Places::NONE; 2];
        let (mut now, mut next) = (&mut now, &mut next);
        loop {
            next.fill(&placer, &mut hashes);
            if now.keys > 0 {
                let (differences, bits) = (now.differences(table), mask(width) as u32);
                differences[..now.keys].iter().for_each(|difference| answers.take(difference & bits == 0));
            }
            if next.keys == 0 {
                return answers;
            }
            core::mem::swap(&mut now, &mut next);
        }
    }

    /// The slots of each key are asked for when it comes in, and read when some others have come in after it. One
    /// key at a time: to ask for those of many in a row takes longer.
    #[inline(always)]
    fn run_far(self) -> A {
        let Contains { table, placer, width, hashes, mut answers } = self;
        let mut hashes = hashes.fuse().map(|hash| {
            let place = placer.place_hash(hash);
            place.0.iter().for_each(|&slot| table.ask(slot));
            place
        });
        let mut ring = [([0; 3], 0); AHEAD];
        let mut waiting = 0;
        for (place, asked) in ring.iter_mut().zip(&mut hashes) {
            *place = asked;
            waiting += 1;
        }
        let mut oldest = 0;
        while waiting > 0 {
            let ([first, second, third], fingerprint) = ring[oldest];
            match hashes.next() {
                Some(asked) => ring[oldest] = asked,
                None => waiting -= 1,
            }
            oldest = (oldest + 1) % AHEAD;
            let sum = table.at(first) ^ table.at(second) ^ table.at(third);
            answers.take((sum ^ fingerprint) & mask(width) == 0);
        }
        answers
    }
}
