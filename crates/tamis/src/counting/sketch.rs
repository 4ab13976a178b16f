//! The filter itself, over words that it owns or borrows.

use crate::answers::Noted;
use crate::arch::cpu::{Vectored, vectored};
use crate::blocked::unit::{Ahead, Contains, CountMasks, Insert, PutAt, Unit, units_in, words_of};
use crate::blocked::{Blocked, LINE_BITS, Mask, covers, expected_rate, line_of, mask, ones_in, with_hashes};
use crate::chunks::{chunks, chunks_mut};
use crate::error::{Difference, Error, Result};
use crate::memory::{Words, prefetch};
use crate::sizing::Kind;

/// Bits of a counter.
pub const COUNTER_BITS: u32 = 4;

/// The value of a full counter, which is for ever.
pub const MOST: u32 = (1 << COUNTER_BITS) - 1;

const PLANES: usize = COUNTER_BITS as usize;

/// Words of a block of 512 counters.
pub const BLOCK_WORDS: usize = 8 * PLANES;

/// 512 counters: bit j of each stands in plane j.
type Block = [Mask; PLANES];

impl Unit for Block {
    const WORDS: usize = BLOCK_WORDS;

    #[inline(always)]
    fn ask(all: &[Self], at: usize) {
        let lines = all.as_flattened();
        (0..PLANES).for_each(|plane| prefetch(lines, at * PLANES + plane));
    }

    #[inline(always)]
    fn put(&mut self, mask: &Mask) {
        raise(self, mask);
    }

    #[inline(always)]
    fn covers(&self, mask: &Mask) -> bool {
        covers(&used(self), mask)
    }
}

fn blocks(words: &[u64]) -> &[Block] {
    chunks(chunks::<_, 8>(words).0).0
}

fn blocks_mut(words: &mut [u64]) -> &mut [Block] {
    chunks_mut(chunks_mut::<_, 8>(words))
}

/// The counters that are not zero: the line of a `blocked`.
#[inline(always)]
fn used(block: &Block) -> Mask {
    core::array::from_fn(|word| block.iter().fold(0, |bits, plane| bits | plane[word]))
}

/// The counters that are full.
#[inline(always)]
fn full(block: &Block) -> Mask {
    core::array::from_fn(|word| block.iter().fold(u64::MAX, |bits, plane| bits & plane[word]))
}

/// Adds one to the counters of the mask that are not full.
#[inline(always)]
fn raise(block: &mut Block, mask: &Mask) {
    let full = full(block);
    for word in 0..8 {
        let mut carry = mask[word] & !full[word];
        for plane in block.iter_mut() {
            let held = plane[word];
            plane[word] = held ^ carry;
            carry &= held;
        }
    }
}

/// Takes one from the counters of the mask that are not full. None of them may be zero.
#[inline(always)]
fn lower(block: &mut Block, mask: &Mask) {
    let full = full(block);
    for word in 0..8 {
        let mut borrow = mask[word] & !full[word];
        for plane in block.iter_mut() {
            let held = plane[word];
            plane[word] = held ^ borrow;
            borrow &= !held;
        }
    }
}

/// Takes a key away, unless one of its counters is zero; whether it did.
#[inline(always)]
fn take<const K: usize>(block: &mut Block, hash: u64) -> bool {
    let mask = mask::<K>(hash);
    let there = covers(&used(block), &mask);
    if there {
        lower(block, &mask);
    }
    there
}

/// Adds the counters of other blocks; those that would hold more than they can are full.
pub fn add_counters(words: &mut [u64], others: &[u64]) {
    for (block, other) in blocks_mut(words).iter_mut().zip(blocks(others)) {
        for word in 0..8 {
            let mut carry = 0;
            for (plane, other) in block.iter_mut().zip(other) {
                let (a, b) = (plane[word], other[word]);
                plane[word] = a ^ b ^ carry;
                carry = a & b | carry & (a ^ b);
            }
            block.iter_mut().for_each(|plane| plane[word] |= carry);
        }
    }
}

/// The counters in these blocks that are not zero.
pub(crate) fn counters_used(words: &[u64]) -> u64 {
    blocks(words).iter().map(|block| ones(&used(block))).sum()
}

fn ones(mask: &Mask) -> u64 {
    mask.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// Adds keys to blocks that were found for them already, asking for blocks ahead of their use. Each
/// key is the number of its block and its hash; `first` is the number of the first of these blocks.
pub fn add_to_blocks(words: &mut [u64], first: usize, keys: &[(usize, u64)], hashes: u32) {
    let units = blocks_mut(words);
    with_hashes!(hashes, K => vectored(PutAt::<K, _> { units, first, keys }));
}

// Whatever holds the words, loops over slices of hashes are compiled once.

fn look_up(units: &[Block], hash_count: u32, hashes: &[u64], found: &mut [bool]) {
    let (hashes, answers) = (hashes.iter().copied(), Noted(found.iter_mut()));
    with_hashes!(hash_count, K => vectored(Contains::<K, _, _, _> { units, hashes, answers }));
}

fn count_masks(units: &[Block], hashes: &[u64], masks: &[Mask]) -> usize {
    vectored(CountMasks { units, hashes, masks })
}

fn insert(units: &mut [Block], hash_count: u32, hashes: &[u64]) {
    let hashes = hashes.iter().copied();
    with_hashes!(hash_count, K => vectored(Insert::<K, _, _> { units, hashes }));
}

fn remove(blocks: &mut [Block], hash_count: u32, hashes: &[u64]) -> u64 {
    with_hashes!(hash_count, K => vectored(Remove::<K> { blocks, hashes }))
}

/// What the counters hold, as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Census {
    /// Counters that are not zero.
    pub used: u64,
    /// Counters that are full: no removal lowers them.
    pub full: u64,
}

/// A counting Bloom filter; see the [module](super) for the idea.
#[derive(Debug, Clone)]
pub struct Counting<W> {
    words: W,
    blocks: u64,
    hashes: u32,
}

impl Counting<Words> {
    /// An empty filter for this many keys at this rate.
    pub fn for_rate(keys: u64, fpr: f64) -> Result<Self> {
        let shape = Kind::Counting.shape_for_rate(keys, fpr)?;
        Self::zeroed(shape.slots() / LINE_BITS, shape.hashes())
    }

    /// An empty filter of this many blocks.
    pub fn zeroed(blocks: u64, hashes: u32) -> Result<Self> {
        Counting::from_words(Words::new(words_of::<Block>(blocks)?)?, hashes)
    }
}

impl<W: AsRef<[u64]>> Counting<W> {
    /// A filter whose blocks are these words.
    pub fn from_words(words: W, hashes: u32) -> Result<Self> {
        let blocks = units_in::<Block>(Kind::Counting, words.as_ref().len(), hashes)?;
        Ok(Counting { blocks, words, hashes })
    }

    fn blocks(&self) -> &[Block] {
        blocks(self.words.as_ref())
    }

    /// The words of the blocks.
    pub fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// The words themselves, given back.
    pub fn into_words(self) -> W {
        self.words
    }

    /// Counters of a key.
    pub fn hashes(&self) -> u32 {
        self.hashes
    }

    /// Whether the key with this hash may be in the set.
    #[inline]
    pub fn contains_hash(&self, hash: u64) -> bool {
        let block = &self.blocks()[line_of(hash, self.blocks)];
        with_hashes!(self.hashes, K => Unit::covers(block, &mask::<K>(hash)))
    }

    /// The same for many keys, in `found`, one for each hash: asks for blocks ahead of their use.
    ///
    /// # Panics
    /// Where the two slices differ in length.
    pub fn contains_hashes(&self, hashes: &[u64], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len());
        look_up(self.blocks(), self.hashes, hashes, found);
    }

    /// How many of these keys may be in the set. `masks` come from [`Blocked::masks`] and serve all
    /// filters with the same number of hashes.
    pub fn count_masks(&self, hashes: &[u64], masks: &[Mask]) -> usize {
        count_masks(self.blocks(), hashes, masks)
    }

    /// The filter without its counters: what a `blocked` of as many lines would be that has the keys
    /// of this one (and, where counters are full, those that filled them).
    pub fn to_blocked(&self) -> Result<Blocked<Words>> {
        let mut words = Blocked::zeroed(self.blocks, self.hashes)?.into_words();
        let lines: &mut [Mask] = chunks_mut(&mut words);
        lines.iter_mut().zip(self.blocks()).for_each(|(line, block)| *line = used(block));
        Blocked::from_words(words, self.hashes)
    }

    /// What the counters hold, as a whole.
    pub fn census(&self) -> Census {
        let mut census = Census::default();
        for block in self.blocks() {
            census.used += ones(&used(block));
            census.full += ones(&full(block));
        }
        census
    }

    /// The rate of false positives of just this filter, from the counters that are not zero.
    pub fn rate_now(&self) -> f64 {
        let lane = LINE_BITS as usize / self.hashes as usize;
        let hit = |block: &Block| {
            let line = used(block);
            let share = |i: usize| f64::from(ones_in(&line, i * lane, lane)) / lane as f64;
            (0..self.hashes as usize).map(share).product::<f64>()
        };
        self.blocks().iter().map(hit).sum::<f64>() / self.blocks as f64
    }

    /// The expected rate with this many keys.
    pub fn expected_rate(&self, keys: u64) -> f64 {
        expected_rate(keys, self.blocks, self.hashes)
    }
}

impl<W: AsRef<[u64]> + AsMut<[u64]>> Counting<W> {
    /// Adds the key with this hash.
    #[inline]
    pub fn insert_hash(&mut self, hash: u64) {
        let block = &mut blocks_mut(self.words.as_mut())[line_of(hash, self.blocks)];
        with_hashes!(self.hashes, K => raise(block, &mask::<K>(hash)));
    }

    /// Adds many keys, asking for blocks ahead of their use.
    pub fn insert_hashes(&mut self, hashes: &[u64]) {
        insert(blocks_mut(self.words.as_mut()), self.hashes, hashes);
    }

    /// Removes the key with this hash. False where it is surely not there; then nothing changes.
    #[inline]
    pub fn remove_hash(&mut self, hash: u64) -> bool {
        let block = &mut blocks_mut(self.words.as_mut())[line_of(hash, self.blocks)];
        with_hashes!(self.hashes, K => take::<K>(block, hash))
    }

    /// Removes many keys, one after the other, asking for blocks ahead of their use; how many of them
    /// were there.
    pub fn remove_hashes(&mut self, hashes: &[u64]) -> u64 {
        remove(blocks_mut(self.words.as_mut()), self.hashes, hashes)
    }

    /// Adds what another filter of the same parameters holds: the result is the filter of both.
    pub fn merge<V: AsRef<[u64]>>(&mut self, other: &Counting<V>) -> Result<()> {
        if (self.blocks, self.hashes) != (other.blocks, other.hashes) {
            let both = [(self.blocks, self.hashes), (other.blocks, other.hashes)];
            return Err(Error::Different(Difference::Blocks(both)));
        }
        add_counters(self.words.as_mut(), other.words());
        Ok(())
    }
}

struct Remove<'a, const K: usize> {
    blocks: &'a mut [Block],
    hashes: &'a [u64],
}

impl<const K: usize> Vectored for Remove<'_, K> {
    type Output = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        let mut removed = 0;
        let mut ahead = Ahead::new(self.hashes.iter().copied(), self.blocks);
        while let Some((hash, block)) = ahead.next(self.blocks) {
            removed += u64::from(take::<K>(&mut self.blocks[block], hash));
        }
        removed
    }
}
