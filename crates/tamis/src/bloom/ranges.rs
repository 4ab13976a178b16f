//! Many keys at once, for a filter that is larger than the cache: positions are sorted by
//! range of the filter first, and then the filter is gone through once, range by range.
//!
//! One key after the other, each of its k positions costs a cache line from memory. Here memory
//! is read from one end to the other, which is several times faster, and positions are looked
//! at while their range is in the cache. The price is a scratch array of four bytes per
//! position; it takes at most half as much memory as the filter.
//!
//! A range has 2ˢ bits, and keys come in blocks of 2³²⁻ˢ, so that a [touch](Touches) in four bytes
//! tells both its bit of the range and its key of the block.

use alloc::vec::Vec;
use core::hint::black_box;

use super::sketch::position;
use crate::memory::Words;

/// In filters smaller than this, in words, most positions are in the cache anyway.
pub(super) const CACHED: usize = (32 << 20) / 8;

/// Ranges have at least 2²¹ bits, 256 KiB, and stay in the second cache while they are used.
const SHORTEST: u32 = 21;

/// At most; blocks of keys would be too short beyond.
const LONGEST: u32 = 23;

/// There are no more ranges than this: each has a line in the cache while touches are sorted.
const MOST_RANGES: u64 = 1024;

/// Touches per cache line of the filter: with fewer, going through all of it does not pay; with
/// more, the scratch array would be too large.
const TOUCHES_PER_LINE: core::ops::RangeInclusive<usize> = 2..=8;

/// Memory that [`Bloom`](super::Bloom) needs for many keys at once. Kept from call to call, it spares the
/// system from giving it again, which costs about as much as a tenth of the work, and several times
/// that on virtual machines that lend free memory to others.
#[derive(Debug, Default)]
pub struct Scratch(Words);

/// The positions of some keys, sorted by range.
pub(super) struct Touches<'s> {
    bits: u64,
    hashes: u32,
    /// Keys that are sorted together, at most.
    batch: usize,
    /// log2 of the bits in a range.
    shift: u32,
    /// Room for this many touches of each range.
    room: usize,
    /// The touches of range r begin at r · room.
    touches: &'s mut [u32],
    /// Where each range's touches end, after each block.
    ends: Vec<u32>,
}

impl<'s> Touches<'s> {
    /// For this many keys; none where it would not pay, or memory cannot be had.
    pub(super) fn new(scratch: &'s mut Scratch, keys: usize, bits: u64, hashes: u32) -> Option<Self> {
        let lines = usize::try_from(bits / 512).ok()?;
        let all = keys.checked_mul(hashes as usize)?;
        if lines * 8 < CACHED || all < lines * TOUCHES_PER_LINE.start() {
            return None;
        }
        let shift = (SHORTEST..=LONGEST).find(|&shift| bits >> shift < MOST_RANGES)?;
        let ranges = (bits >> shift) as usize + 1;
        // Batches of equal size.
        let batch = keys.div_ceil(all.div_ceil(lines * TOUCHES_PER_LINE.end()));
        // Keys that differ fill ranges evenly; where that is not so, there is another way.
        let expected = batch * hashes as usize / ranges;
        let room = expected + expected / 8 + 64;
        u32::try_from(ranges * room).ok()?;
        let words = (ranges * room).div_ceil(2);
        if scratch.0.len() < words {
            scratch.0 = Words::default(); // never both at once
            scratch.0 = Words::new(words).ok()?;
        }
        let touches = bytemuck::cast_slice_mut(&mut scratch.0);
        Some(Touches { bits, hashes, batch, shift, room, touches, ends: Vec::new() })
    }

    /// Keys to be given at a time.
    pub(super) fn batch(&self) -> usize {
        self.batch
    }

    fn ranges(&self) -> usize {
        (self.bits >> self.shift) as usize + 1
    }

    /// Keys in a block.
    fn block(&self) -> usize {
        1 << (32 - self.shift)
    }

    /// Sorts the positions of a batch. False where some range has more than there is room for:
    /// a few keys repeat again and again.
    fn sort(&mut self, hashes: &[u64]) -> bool {
        let (ranges, block) = (self.ranges(), self.block());
        let (bits, shift) = (self.bits, self.shift);
        let room = self.room;
        let mut ends: Vec<u32> = (0..ranges).map(|range| (range * room) as u32).collect();
        self.ends.clear();
        for block in hashes.chunks(block) {
            sort_block(block, bits, self.hashes, shift, self.touches, &mut ends);
            if ends.iter().enumerate().any(|(range, &end)| end as usize >= (range + 1) * room) {
                return false;
            }
            self.ends.extend_from_slice(&ends);
        }
        true
    }

    /// The words of a range, brought into the cache.
    fn fetch<'w>(&self, range: usize, words: &'w [u64]) -> &'w [u64] {
        let len = 1usize << (self.shift - 6);
        let words = &words[range * len..words.len().min((range + 1) * len)];
        // Read in order, so that the processor runs ahead.
        black_box(words.iter().step_by(8).fold(0, |sum, word| sum | word));
        words
    }

    /// Sets the bits of a batch. False, with nothing harmed, where it cannot be sorted.
    pub(super) fn set(&mut self, words: &mut [u64], hashes: &[u64]) -> bool {
        if !self.sort(hashes) {
            return false;
        }
        let ends = &self.ends[self.ends.len() - self.ranges()..];
        for (range, &end) in ends.iter().enumerate() {
            self.fetch(range, words);
            let first = range << (self.shift - 6);
            set_bits(&mut words[first..], &self.touches[range * self.room..end as usize], 32 - self.shift);
        }
        true
    }

    /// Tests the bits of a batch. False, with nothing told, where it cannot be sorted.
    pub(super) fn test(&mut self, words: &[u64], hashes: &[u64], found: &mut [bool]) -> bool {
        if !self.sort(hashes) {
            return false;
        }
        found.fill(true);
        let ranges = self.ranges();
        for range in 0..ranges {
            let words = self.fetch(range, words);
            let mut start = range * self.room;
            for (found, ends) in found.chunks_mut(self.block()).zip(self.ends.chunks(ranges)) {
                let end = ends[range] as usize;
                test_bits(words, &self.touches[start..end], 32 - self.shift, found);
                start = end;
            }
        }
        true
    }
}

/// Appends the touches of a block of keys to those of their ranges. Where a range overflows, it
/// spoils the next one's; the caller looks at the ends.
///
/// Never inlined: as long as the slices are arguments of a function, the compiler knows that
/// they do not overlap, and the loop is a third faster.
#[inline(never)]
fn sort_block(hashes: &[u64], bits: u64, count: u32, shift: u32, touches: &mut [u32], ends: &mut [u32]) {
    let low = (1u64 << shift) - 1;
    for number in 0..count {
        for (key, &hash) in hashes.iter().enumerate() {
            let position = position(hash, number, bits);
            let end = &mut ends[(position >> shift) as usize];
            if let Some(touch) = touches.get_mut(*end as usize) {
                *touch = ((position & low) << (32 - shift)) as u32 | key as u32;
                *end += 1;
            }
        }
    }
}

fn set_bits(words: &mut [u64], touches: &[u32], key_bits: u32) {
    for touch in touches {
        let bit = touch >> key_bits;
        words[(bit / 64) as usize] |= 1 << (bit % 64);
    }
}

fn test_bits(words: &[u64], touches: &[u32], key_bits: u32, found: &mut [bool]) {
    for touch in touches {
        let bit = touch >> key_bits;
        // Most keys are in, or another way would have been taken: a branch that is nearly
        // always guessed right costs less than to note every answer.
        if words[(bit / 64) as usize] >> (bit % 64) & 1 == 0 {
            found[(touch & ((1 << key_bits) - 1)) as usize] = false;
        }
    }
}
