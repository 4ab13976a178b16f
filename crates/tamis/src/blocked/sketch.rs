//! The filter itself, over words that it owns or borrows.

use super::params::{self, LINE_BITS};
use super::unit::{Ahead, Contains, CountMasks, Insert, PutAt, Unit, units_in, words_of};
use crate::answers::{Answers, Each, Hits, Noted};
use crate::arch::cpu::{Vectored, vectored};
use crate::chunks::{chunks, chunks_mut};
use crate::error::Result;
use crate::hash::fold;
use crate::memory::{Words, prefetch};
use crate::sizing::Kind;
use alloc::vec::Vec;

const C1: u64 = 0x9e37_79b9_7f4a_7c15;
const C2: u64 = 0xd1b5_4a32_d192_ed03;

/// The bits of a line.
pub type Mask = [u64; 8];

/// The line of a key among this many.
#[inline(always)]
pub fn line_of(hash: u64, lines: u64) -> usize {
    ((u128::from(hash) * u128::from(lines)) >> 64) as usize
}

/// The bits of a key in its line.
#[inline(always)]
pub(crate) fn mask<const K: usize>(hash: u64) -> Mask {
    let lane = 512 / K;
    let draw = lane.trailing_zeros() as usize;
    let mut mask = [0; 8];
    if K < 8 {
        let pattern = fold(hash, C1);
        for i in 0..K {
            let position = i * lane + (pattern >> (i * draw)) as usize % lane;
            mask[position / 64] |= 1 << (position % 64);
        }
    } else {
        // Each word holds K/8 lanes. A loop over words of equal steps: it becomes vectors.
        let per_word = K / 8;
        let halves = if K == 8 { [fold(hash, C1); 2] } else { [fold(hash, C1), fold(hash, C2)] };
        for (word, bits) in mask.iter_mut().enumerate() {
            let (half, word) = if K == 8 { (0, word) } else { (word / 4, word % 4) };
            for i in 0..per_word {
                let drawn = (halves[half] >> ((word * per_word + i) * draw)) & (lane as u64 - 1);
                *bits |= 1 << (drawn + (i * lane) as u64);
            }
        }
    }
    mask
}

/// Runs a piece of code with the number of hashes as a constant.
macro_rules! with_hashes {
    ($hashes:expr, $K:ident => $body:expr) => {
        match $hashes {
            1 => {
                const $K: usize = 1;
                $body
            }
            2 => {
                const $K: usize = 2;
                $body
            }
            4 => {
                const $K: usize = 4;
                $body
            }
            8 => {
                const $K: usize = 8;
                $body
            }
            16 => {
                const $K: usize = 16;
                $body
            }
            _ => {
                const $K: usize = 32;
                $body
            }
        }
    };
}
pub(crate) use with_hashes;

/// Sets the bits of keys in lines that were found for them already, asking for lines ahead of
/// their use. Each key is the number of its line and its hash; `first` is the number of the
/// first of these lines.
pub fn set_lines(words: &mut [u64], first: usize, keys: &[(usize, u64)], hashes: u32) {
    let units: &mut [Mask] = chunks_mut(words);
    with_hashes!(hashes, K => vectored(PutAt::<K, _> { units, first, keys }));
}

// Whatever holds the words, loops over slices of hashes are compiled once.

fn look_up(units: &[Mask], hash_count: u32, hashes: &[u64], found: &mut [bool]) {
    let (hashes, answers) = (hashes.iter().copied(), Noted(found.iter_mut()));
    with_hashes!(hash_count, K => vectored(Contains::<K, _, _, _> { units, hashes, answers }));
}

fn count_masks(units: &[Mask], hashes: &[u64], masks: &[Mask]) -> usize {
    vectored(CountMasks { units, hashes, masks })
}

fn insert(units: &mut [Mask], hash_count: u32, hashes: &[u64]) {
    let hashes = hashes.iter().copied();
    with_hashes!(hash_count, K => vectored(Insert::<K, _, _> { units, hashes }));
}

fn insert_fresh(lines: &mut [Mask], hash_count: u32, hashes: &[u64], fresh: &mut [bool]) -> u64 {
    with_hashes!(hash_count, K => vectored(InsertFresh::<K> { lines, hashes, fresh }))
}

#[inline(always)]
pub(crate) fn covers(line: &Mask, mask: &Mask) -> bool {
    let mut missing = 0;
    for (word, bits) in line.iter().zip(mask) {
        missing |= bits & !word;
    }
    missing == 0
}

/// A blocked Bloom filter; see the [module](super) for the idea.
#[derive(Debug, Clone)]
pub struct Blocked<W> {
    words: W,
    lines: u64,
    hashes: u32,
}

impl Blocked<Words> {
    /// An empty filter for this many keys at this rate.
    pub fn for_rate(keys: u64, fpr: f64) -> Result<Self> {
        let shape = Kind::Blocked.shape_for_rate(keys, fpr)?;
        Self::zeroed(shape.slots() / LINE_BITS, shape.hashes())
    }

    /// An empty filter of this many lines.
    pub fn zeroed(lines: u64, hashes: u32) -> Result<Self> {
        Blocked::from_words(Words::new(words_of::<Mask>(lines)?)?, hashes)
    }
}

impl<W: AsRef<[u64]>> Blocked<W> {
    /// A filter whose lines are these words.
    pub fn from_words(words: W, hashes: u32) -> Result<Self> {
        let lines = units_in::<Mask>(Kind::Blocked, words.as_ref().len(), hashes)?;
        Ok(Blocked { lines, words, hashes })
    }

    fn lines(&self) -> &[Mask] {
        chunks(self.words.as_ref()).0
    }

    /// The words of the lines.
    pub fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// The words themselves, given back.
    pub fn into_words(self) -> W {
        self.words
    }

    /// Bits set per key.
    pub fn hashes(&self) -> u32 {
        self.hashes
    }

    /// Whether the key with this hash may be in the set.
    #[inline]
    pub fn contains_hash(&self, hash: u64) -> bool {
        let line = &self.lines()[line_of(hash, self.lines)];
        with_hashes!(self.hashes, K => covers(line, &mask::<K>(hash)))
    }

    /// The same for many keys, in `found`, one for each hash: asks for lines ahead of their use.
    ///
    /// # Panics
    /// Where the two slices differ in length.
    pub fn contains_hashes(&self, hashes: &[u64], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len());
        look_up(self.lines(), self.hashes, hashes, found);
    }

    /// The same for hashes that are made on the way; the answers come in the same order. Making
    /// them then takes no time of its own where memory is waited for.
    #[inline]
    pub fn contains_all(&self, hashes: impl Iterator<Item = u64>, found: impl FnMut(bool)) {
        self.answer(hashes, Each(found));
    }

    /// How many of the keys with these hashes may be in the set.
    #[inline]
    pub fn count_all(&self, hashes: impl Iterator<Item = u64>) -> u64 {
        self.answer(hashes, Hits::default()).0
    }

    #[inline]
    fn answer<A: Answers>(&self, hashes: impl Iterator<Item = u64>, answers: A) -> A {
        let units = self.lines();
        with_hashes!(self.hashes, K => vectored(Contains::<K, _, _, _> { units, hashes, answers }))
    }

    /// How many of these keys may be in the set. `masks` come from [`masks`](Self::masks) and
    /// serve all filters with the same number of hashes.
    pub fn count_masks(&self, hashes: &[u64], masks: &[Mask]) -> usize {
        count_masks(self.lines(), hashes, masks)
    }

    /// The bits of each key in its line.
    pub fn masks(hash_count: u32, hashes: &[u64], masks: &mut Vec<Mask>) {
        masks.clear();
        with_hashes!(hash_count, K => masks.extend(hashes.iter().map(|&hash| mask::<K>(hash))));
    }

    /// The rate of false positives of just this filter, from the bits that are set.
    pub fn rate_now(&self) -> f64 {
        let lane = LINE_BITS as usize / self.hashes as usize;
        let mut sum = 0.0;
        for line in self.lines() {
            let mut hit = 1.0;
            for i in 0..self.hashes as usize {
                hit *= ones_in(line, i * lane, lane) as f64 / lane as f64;
            }
            sum += hit;
        }
        sum / self.lines as f64
    }

    /// The expected rate after this many keys.
    pub fn expected_rate(&self, keys: u64) -> f64 {
        params::expected_rate(keys, self.lines, self.hashes)
    }
}

/// The ones among `len` bits from `start`: a power of two from 16 to 512, at a multiple of it.
pub(crate) fn ones_in(line: &Mask, start: usize, len: usize) -> u32 {
    if len >= 64 {
        line[start / 64..(start + len) / 64].iter().map(|word| word.count_ones()).sum()
    } else {
        (line[start / 64] >> (start % 64) & ((1 << len) - 1)).count_ones()
    }
}

impl<W: AsRef<[u64]> + AsMut<[u64]>> Blocked<W> {
    /// The words themselves, to be changed: those of a filter of the same shape can be joined by OR.
    pub(crate) fn words_mut(&mut self) -> &mut W {
        &mut self.words
    }

    /// Adds the key with this hash.
    #[inline]
    pub fn insert_hash(&mut self, hash: u64) {
        let line = line_of(hash, self.lines);
        let line: &mut Mask = &mut chunks_mut(self.words.as_mut())[line];
        with_hashes!(self.hashes, K => line.put(&mask::<K>(hash)));
    }

    /// Adds many keys, asking for lines ahead of their use.
    pub fn insert_hashes(&mut self, hashes: &[u64]) {
        insert(chunks_mut(self.words.as_mut()), self.hashes, hashes);
    }

    /// Adds keys whose hashes are made on the way. Making them then takes no time of its own
    /// where memory is waited for.
    #[inline]
    pub fn insert_all(&mut self, hashes: impl Iterator<Item = u64>) {
        let units: &mut [Mask] = chunks_mut(self.words.as_mut());
        with_hashes!(self.hashes, K => vectored(Insert::<K, _, _> { units, hashes }));
    }
}

impl Unit for Mask {
    const WORDS: usize = 8;

    #[inline(always)]
    fn ask(all: &[Self], at: usize) {
        prefetch(all, at);
    }

    #[inline(always)]
    fn put(&mut self, mask: &Mask) {
        self.iter_mut().zip(mask).for_each(|(word, bits)| *word |= bits);
    }

    #[inline(always)]
    fn covers(&self, mask: &Mask) -> bool {
        covers(self, mask)
    }
}

impl<W: AsRef<[u64]> + AsMut<[u64]>> Blocked<W> {
    /// Of the keys that are marked `fresh`, adds those that are not found, one after the other,
    /// and takes the mark from the others. Gives the number of those added.
    ///
    /// # Panics
    /// Where the two slices differ in length.
    pub fn insert_fresh(&mut self, hashes: &[u64], fresh: &mut [bool]) -> u64 {
        assert_eq!(hashes.len(), fresh.len());
        insert_fresh(chunks_mut(self.words.as_mut()), self.hashes, hashes, fresh)
    }
}

struct InsertFresh<'a, const K: usize> {
    lines: &'a mut [Mask],
    hashes: &'a [u64],
    fresh: &'a mut [bool],
}

impl<const K: usize> Vectored for InsertFresh<'_, K> {
    type Output = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        let mut added = 0;
        let mut fresh = self.fresh.iter_mut();
        let mut ahead = Ahead::new(self.hashes.iter().copied(), self.lines);
        while let (Some((hash, line)), Some(fresh)) = (ahead.next(self.lines), fresh.next()) {
            let line = &mut self.lines[line];
            let mask = mask::<K>(hash);
            *fresh &= !covers(line, &mask);
            if *fresh {
                line.put(&mask);
                added += 1;
            }
        }
        added
    }
}
