//! Split-block Bloom filters, as they stand inside Parquet files: one for a column of a row group.
//!
//! A filter is a header and its blocks. The header is a structure in the compact protocol of Thrift: the number of
//! bytes of all blocks, then three unions, each of which names the only choice that there is (the algorithm is "split
//! block", the hash XXH64 with seed 0, and nothing is compressed).
//!
//! ```text
//! 15 <number of bytes, zigzag, seven bits a byte>  1c 1c 00 00  1c 1c 00 00  1c 1c 00 00  00
//! ```
//!
//! A block has 256 bits: eight words of 32 bits, lowest byte first. The hash of a value decides on one block (by its
//! upper half, multiplied by the number of blocks) and on one bit in each word of it (the lower half times an odd
//! number per word; the upper five bits of the product). What is hashed is the value in the encoding PLAIN; of texts
//! and bytes, without their length.
//!
//! The specification allows any number of blocks. Arrow reads powers of two of up to 128 MiB only, and all writers
//! make those, so no others are made here; any are read.
//!
//! A filter records neither the rate nor the number of values that it was made for. Both can be estimated from its
//! bits.

use tamis::hash::xxh64;
use tamis::memory::{Vectored, vectored};

use crate::Fault;

/// Bytes of a block.
pub const BLOCK: usize = 32;

/// The most bytes of blocks that all readers take.
pub const MOST: usize = 128 << 20;

/// The longest header of a filter: a number of 32 bits takes five bytes at most.
pub const LONGEST_HEADER: usize = 6 + UNIONS.len();

/// What the header says after the number of bytes.
const UNIONS: [u8; 13] = [0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0];

/// One odd number per word of a block.
const SALT: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// The hash of a value, which is given in the encoding PLAIN; of texts and bytes, without their length.
#[inline]
pub fn hash(value: &[u8]) -> u64 {
    xxh64(value, 0)
}

/// A split-block filter in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitBlock {
    blocks: Vec<[u32; 8]>,
}

/// The header of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Its own bytes.
    pub len: usize,
    /// The bytes of the blocks, which follow it.
    pub blocks: usize,
}

impl Header {
    /// Reads the header with which these bytes begin.
    ///
    /// # Errors
    /// Where they begin otherwise, or claim blocks that no filter has.
    pub fn read(bytes: &[u8]) -> Result<Header, Fault> {
        let number = bytes.strip_prefix(&[0x15]).ok_or(Fault::Other)?;
        let len = 1 + number.iter().take(5).position(|byte| *byte < 0x80).ok_or(Fault::Other)?;
        let (number, rest) = number.split_at(len);
        if !rest.starts_with(&UNIONS) {
            return Err(Fault::Other);
        }
        let zigzag = number.iter().rev().fold(0u64, |all, byte| (all << 7) | u64::from(byte & 0x7f));
        let blocks = (zigzag >> 1) as usize;
        // An odd one is negative.
        if zigzag & 1 == 1 || blocks == 0 || !blocks.is_multiple_of(BLOCK) || blocks > i32::MAX as usize {
            return Err(Fault::Bits(8 * blocks as u64));
        }
        Ok(Header { len: 1 + len + UNIONS.len(), blocks })
    }
}

impl SplitBlock {
    /// An empty filter, of this many bytes of blocks, a multiple of [`BLOCK`].
    pub fn new(bytes: usize) -> SplitBlock {
        SplitBlock { blocks: vec![[0; 8]; (bytes / BLOCK).max(1)] }
    }

    /// How many bytes of blocks a filter of this many values has at this rate, by the formula that all writers share;
    /// rounded up to a power of two.
    ///
    /// The formula is that of a filter without blocks, which are not all equally full. Just below a power of two, the
    /// rate is therefore above the wanted one, by less than a half at 1 %: [`rate`](Self::rate) tells.
    pub fn bytes_for(values: u64, rate: f64) -> usize {
        let bits = -8.0 * values as f64 / (-rate.powf(1.0 / 8.0)).ln_1p();
        if bits.is_nan() || bits / 8.0 > MOST as f64 {
            return MOST;
        }
        (bits as usize).next_power_of_two().div_ceil(8).max(BLOCK)
    }

    /// Reads a filter, its header first.
    ///
    /// # Errors
    /// Where the bytes are no such filter, or end before it does. More of them may follow.
    pub fn read(bytes: &[u8]) -> Result<SplitBlock, Fault> {
        let header = Header::read(bytes)?;
        let expected = header.len + header.blocks;
        let blocks = bytes
            .get(header.len..expected)
            .ok_or(Fault::Length { expected: expected as u64, got: bytes.len() as u64 })?;
        let block = |bytes: &[u8; BLOCK]| {
            let mut words = [0; 8];
            let from = bytes.as_chunks().0;
            words.iter_mut().zip(from).for_each(|(word, bytes)| *word = u32::from_le_bytes(*bytes));
            words
        };
        Ok(SplitBlock { blocks: blocks.as_chunks().0.iter().map(block).collect() })
    }

    /// The filter as it stands in a file.
    pub fn bytes(&self) -> Vec<u8> {
        let len = self.blocks.len() * BLOCK;
        let mut bytes = Vec::with_capacity(LONGEST_HEADER + len);
        bytes.push(0x15);
        let mut zigzag = 2 * len as u64;
        while zigzag >= 0x80 {
            bytes.push(zigzag as u8 | 0x80);
            zigzag >>= 7;
        }
        bytes.push(zigzag as u8);
        bytes.extend_from_slice(&UNIONS);
        for block in &self.blocks {
            let mut words = [0; BLOCK];
            let to = words.as_chunks_mut().0;
            to.iter_mut().zip(block).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
            bytes.extend_from_slice(&words);
        }
        bytes
    }

    /// Bytes of its blocks.
    pub fn len(&self) -> usize {
        self.blocks.len() * BLOCK
    }

    /// Whether no bit is set.
    pub fn is_empty(&self) -> bool {
        self.blocks.iter().flatten().all(|word| *word == 0)
    }

    #[inline]
    fn block(&self, hash: u64) -> usize {
        block_of(hash, self.blocks.len())
    }

    #[inline(always)]
    fn mask(hash: u64) -> [u32; 8] {
        SALT.map(|salt| 1 << ((hash as u32).wrapping_mul(salt) >> 27))
    }

    /// Adds a value, by its [`hash`].
    #[inline]
    pub fn insert_hash(&mut self, hash: u64) {
        insert(&mut self.blocks, hash);
    }

    /// Adds values, by their hashes. It is fastest where hashes that begin with the same bits come one after the
    /// other: then these blocks are in a cache.
    pub fn insert_hashes(&mut self, hashes: &[u64]) {
        vectored(Insert { blocks: &mut self.blocks, hashes });
    }

    /// Whether a value may have been added, by its [`hash`].
    #[inline]
    pub fn contains_hash(&self, hash: u64) -> bool {
        let block = &self.blocks[self.block(hash)];
        block.iter().zip(Self::mask(hash)).fold(0, |missing, (word, bit)| missing | (bit & !word)) == 0
    }

    /// The share of bits that are set.
    pub fn fill(&self) -> f64 {
        let ones: u64 = self.blocks.iter().flatten().map(|word| u64::from(word.count_ones())).sum();
        ones as f64 / (256.0 * self.blocks.len() as f64)
    }

    /// How probably a value that was not added is found: the mean over all blocks, which are not equally full, of the
    /// share of bits set in each word, multiplied.
    pub fn rate(&self) -> f64 {
        // Of a block, eight shares of 32: 2⁴⁰ is certain.
        vectored(Rates(&self.blocks)) / (1u64 << 40) as f64 / self.blocks.len() as f64
    }

    /// How many distinct values were added, estimated from the fill, and the standard deviation of that estimate, or
    /// more; none where all bits are set.
    ///
    /// Values fall on blocks as chance has it. So of `n` values on `b` blocks, a bit is expected to stay clear with
    /// probability q = e^(−n / 32b), however unequally they fall. The number of clear bits has no more variance than if
    /// each were clear by chance of its own, 256b q (1 − q), since values are shared out; each value costs 8q of them.
    pub fn estimated_values(&self) -> Option<(f64, f64)> {
        let (clear, blocks) = (1.0 - self.fill(), self.blocks.len() as f64);
        (clear > 0.0).then(|| (-32.0 * blocks * clear.ln(), 2.0 * (blocks * (1.0 - clear) / clear).sqrt()))
    }

    /// Makes it smaller: the filter of this many bytes of blocks with the same values, bit for bit. Both sizes are
    /// powers of two, as those of [`bytes_for`](Self::bytes_for) are: then a block holds what fell on two of twice as
    /// many.
    ///
    /// # Panics
    /// Where the number of blocks is no multiple of the wanted one.
    pub fn fold(&mut self, bytes: usize) {
        let blocks = (bytes / BLOCK).max(1);
        assert!(self.blocks.len().is_multiple_of(blocks), "a filter is folded into equal parts");
        let parts = self.blocks.len() / blocks;
        if parts == 1 {
            return;
        }
        for to in 0..blocks {
            let mut all = [0; 8];
            for block in &self.blocks[to * parts..(to + 1) * parts] {
                all.iter_mut().zip(block).for_each(|(word, bits)| *word |= bits);
            }
            self.blocks[to] = all;
        }
        self.blocks.truncate(blocks);
        self.blocks.shrink_to_fit();
    }
}

/// The block of a hash, of this many.
#[inline(always)]
fn block_of(hash: u64, blocks: usize) -> usize {
    (((hash >> 32) * blocks as u64) >> 32) as usize
}

#[inline(always)]
fn insert(blocks: &mut [[u32; 8]], hash: u64) {
    let block = &mut blocks[block_of(hash, blocks.len())];
    block.iter_mut().zip(SplitBlock::mask(hash)).for_each(|(word, bit)| *word |= bit);
}

/// Adds hashes: a block is one vector.
struct Insert<'a> {
    blocks: &'a mut [[u32; 8]],
    hashes: &'a [u64],
}

impl Vectored for Insert<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for hash in self.hashes {
            insert(self.blocks, *hash);
        }
    }
}

/// The bits that are set in the words of each block, multiplied, and added up for all blocks.
struct Rates<'a>(&'a [[u32; 8]]);

impl Vectored for Rates<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        /// The bits of this many blocks, multiplied and added up, stay below 2⁶⁴.
        const EXACT: usize = 1 << 20;
        let of =
            |block: &[u32; 8]| -> u64 { block.iter().map(|word| u64::from(word.count_ones())).product() };
        self.0.chunks(EXACT).map(|some| some.iter().map(of).sum::<u64>() as f64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_header_is_what_other_writers_write() {
        let filter = SplitBlock::new(1024);
        let header = [0x15, 0x80, 0x10, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0];
        let bytes = filter.bytes();
        assert_eq!(bytes[..16], header);
        assert_eq!(bytes.len(), 16 + 1024);
        assert_eq!(Header::read(&bytes), Ok(Header { len: 16, blocks: 1024 }));
    }

    #[test]
    fn sizes_are_those_of_other_writers() {
        // Those of parquet's own documentation, in blocks of 32 bytes.
        for (values, rate, blocks) in [
            (10_000, 0.1, 256),
            (10_000, 0.01, 512),
            (10_000, 0.001, 1024),
            (100_000, 0.001, 8192),
            (1_000_000, 0.01, 65_536),
            (1_000_000, 1e-6, 262_144),
        ] {
            assert_eq!(SplitBlock::bytes_for(values, rate), 32 * blocks, "{values}, {rate}");
        }
        assert_eq!(SplitBlock::bytes_for(0, 0.01), 32);
        assert_eq!(SplitBlock::bytes_for(u64::MAX, 0.01), MOST);
        assert_eq!(SplitBlock::bytes_for(1, 1e-300), MOST);
    }

    #[test]
    fn a_header_that_claims_too_much_is_refused_before_anything_is_allocated() {
        let claim = |zigzag: &[u8]| [&[0x15], zigzag, &UNIONS].concat();
        assert_eq!(Header::read(&claim(&[0x00])), Err(Fault::Bits(0)));
        assert_eq!(Header::read(&claim(&[0x3f])), Err(Fault::Bits(248))); // negative
        assert_eq!(Header::read(&claim(&[0x42])), Err(Fault::Bits(264))); // 33 bytes
        assert_eq!(Header::read(&claim(&[0xff, 0xff, 0xff, 0xff, 0xff])), Err(Fault::Other));
        assert!(matches!(Header::read(&claim(&[0x80, 0x80, 0x80, 0x80, 0x10])), Err(Fault::Bits(_))));
        let short = claim(&[0x80, 0x80, 0x80, 0x80, 0x08]); // 1 GiB
        assert!(matches!(SplitBlock::read(&short), Err(Fault::Length { .. })));
        assert_eq!(Header::read(&[0x15, 0x80]), Err(Fault::Other));
        assert_eq!(Header::read(&[]), Err(Fault::Other));
    }

    #[test]
    fn rate_and_number_of_values_are_read_off_the_bits() {
        for (values, size) in [(1000u64, 2048), (100_000, 262_144), (100_000, 131_072), (500, 1 << 20)] {
            let mut filter = SplitBlock::new(size);
            (0..values).for_each(|value| filter.insert_hash(hash(&value.to_le_bytes())));
            let (estimate, deviation) = filter.estimated_values().unwrap();
            assert!((estimate / values as f64 - 1.0).abs() < 0.03, "{values} in {size}: {estimate}");
            assert!(
                (estimate - values as f64).abs() < 4.0 * deviation,
                "{values} in {size}: {estimate}, {deviation}"
            );
            let probes = 200_000u64;
            let absent = (0..probes).map(|value| hash(&(value | 1 << 40).to_le_bytes()));
            let seen = absent.filter(|hash| filter.contains_hash(*hash)).count() as f64 / probes as f64;
            let (rate, deviation) = (filter.rate(), (filter.rate() / probes as f64).sqrt());
            assert!((seen - rate).abs() <= 5.0 * deviation + 1e-9, "{values} in {size}: {seen} and {rate}");
        }
        let mut full = SplitBlock::new(32);
        (0..2000u64).for_each(|value| full.insert_hash(hash(&value.to_le_bytes())));
        assert_eq!((full.fill(), full.rate(), full.estimated_values()), (1.0, 1.0, None));
    }

    proptest! {
        #[test]
        fn what_was_added_is_found_and_the_bytes_are_read_again(
            values in prop::collection::vec(any::<u64>(), 0..200), blocks in 1usize..40
        ) {
            let mut filter = SplitBlock::new(32 * blocks);
            values.iter().for_each(|value| filter.insert_hash(*value));
            prop_assert!(values.iter().all(|value| filter.contains_hash(*value)));
            prop_assert_eq!(SplitBlock::read(&filter.bytes()), Ok(filter.clone()));
            let mut at_once = SplitBlock::new(32 * blocks);
            at_once.insert_hashes(&values);
            prop_assert_eq!(&at_once, &filter);
            let words: Vec<u8> = filter.blocks.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
            prop_assert!(filter.bytes().ends_with(&words));
            prop_assert_eq!(vectored(Rates(&filter.blocks)).to_bits(), Rates(&filter.blocks).run().to_bits());
            prop_assert_eq!(filter.is_empty(), values.is_empty());
        }

        #[test]
        fn a_filter_that_is_folded_is_the_smaller_filter(
            values in prop::collection::vec(any::<u64>(), 0..200), large in 0u32..8, folds in 0u32..8
        ) {
            let folds = folds.min(large);
            let (mut folded, mut small) = (SplitBlock::new(BLOCK << large), SplitBlock::new(BLOCK << (large - folds)));
            folded.insert_hashes(&values);
            small.insert_hashes(&values);
            folded.fold(BLOCK << (large - folds));
            prop_assert_eq!(folded, small);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(filter) = SplitBlock::read(&bytes) {
                prop_assert!(bytes.starts_with(&filter.bytes()));
            }
        }
    }
}
