//! The loops over many keys of which each has all its bits in one place: a line of a `blocked`, a block
//! of a `counting`. What is needed is asked for ahead of its use.

use super::sketch::{Mask, line_of, mask};
use crate::answers::Answers;
use crate::arch::cpu::Vectored;
use crate::error::{Error, Result, ShapeFault};
use crate::sizing::Kind;

/// Cache lines that are asked for and not yet used: the memory answers many requests at once.
const LINES: usize = 128;

/// Keys for which a ring is not worth it: a processor looks as far ahead by itself.
const FEW: usize = 8;

fn are_few(hashes: &impl Iterator<Item = u64>) -> bool {
    hashes.size_hint().1.is_some_and(|most| most <= FEW)
}

/// How many keys ahead the place of a key is asked for.
const fn ahead<U: Unit>() -> usize {
    const { assert!(U::WORDS >= 8, "a ring has room for as many keys as lines") };
    LINES * 8 / U::WORDS
}

/// What a key has all its bits in.
pub(crate) trait Unit: Sized {
    /// Words that it takes.
    const WORDS: usize;
    /// Asks for the one of this number.
    fn ask(all: &[Self], at: usize);
    /// Adds the key with these bits.
    fn put(&mut self, mask: &Mask);
    /// Whether it has all of these bits.
    fn covers(&self, mask: &Mask) -> bool;
}

/// The words of this many units.
pub(crate) fn words_of<U: Unit>(units: u64) -> Result<usize> {
    let words = usize::try_from(units).ok().and_then(|units| units.checked_mul(U::WORDS));
    words.ok_or(Error::TooLarge { bits: u64::MAX })
}

/// The units in this many words of a filter with this many hashes.
pub(crate) fn units_in<U: Unit>(kind: Kind, words: usize, hashes: u32) -> Result<u64> {
    if words == 0 || !words.is_multiple_of(U::WORDS) || !(hashes.is_power_of_two() && hashes <= 32) {
        return Err(ShapeFault::Lines { kind, words, hashes }.into());
    }
    Ok((words / U::WORDS) as u64)
}

/// Hashes on their way: the unit of each is asked for when it comes in, and it goes out, in
/// order, when this many others have come in after it.
pub(crate) struct Ahead<H> {
    hashes: H,
    ring: [u64; LINES],
    /// The units of these.
    units: [usize; LINES],
    /// The place of the oldest.
    oldest: usize,
    /// How many are on their way.
    waiting: usize,
}

impl<H: Iterator<Item = u64>> Ahead<H> {
    #[inline(always)]
    pub(crate) fn new<U: Unit>(mut hashes: H, units: &[U]) -> Self {
        let (mut ring, mut asked) = ([0; LINES], [0; LINES]);
        let mut waiting = 0;
        while waiting < ahead::<U>() {
            let Some(hash) = hashes.next() else { break };
            (ring[waiting], asked[waiting]) = (hash, ask(hash, units));
            waiting += 1;
        }
        Ahead { hashes, ring, units: asked, oldest: 0, waiting }
    }

    /// The oldest with the number of its unit, and another comes in.
    #[inline(always)]
    pub(crate) fn next<U: Unit>(&mut self, units: &[U]) -> Option<(u64, usize)> {
        let oldest = (self.ring[self.oldest], self.units[self.oldest]);
        match self.hashes.next() {
            Some(hash) => {
                (self.ring[self.oldest], self.units[self.oldest]) = (hash, ask(hash, units));
            }
            None if self.waiting == 0 => return None,
            None => self.waiting -= 1,
        }
        self.oldest = (self.oldest + 1) % ahead::<U>();
        Some(oldest)
    }
}

/// Asks for the unit of a hash.
#[inline(always)]
fn ask<U: Unit>(hash: u64, units: &[U]) -> usize {
    let unit = line_of(hash, units.len() as u64);
    U::ask(units, unit);
    unit
}

/// Adds keys to units that were found for them already. Each key is the number of its unit and its hash;
/// `first` is the number of the first of these units.
pub(crate) struct PutAt<'a, const K: usize, U> {
    pub units: &'a mut [U],
    pub first: usize,
    pub keys: &'a [(usize, u64)],
}

impl<const K: usize, U: Unit> Vectored for PutAt<'_, K, U> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for &(unit, _) in self.keys.iter().take(ahead::<U>()) {
            U::ask(self.units, unit - self.first);
        }
        for (i, &(unit, hash)) in self.keys.iter().enumerate() {
            let (ahead, _) = self.keys[(i + ahead::<U>()).min(self.keys.len() - 1)];
            U::ask(self.units, ahead - self.first);
            self.units[unit - self.first].put(&mask::<K>(hash));
        }
    }
}

/// Adds keys.
pub(crate) struct Insert<'a, const K: usize, U, H> {
    pub units: &'a mut [U],
    pub hashes: H,
}

impl<const K: usize, U: Unit, H: Iterator<Item = u64>> Vectored for Insert<'_, K, U, H> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        if are_few(&self.hashes) {
            let units = self.units.len() as u64;
            return self.hashes.for_each(|hash| self.units[line_of(hash, units)].put(&mask::<K>(hash)));
        }
        let mut ahead = Ahead::new(self.hashes, self.units);
        while let Some((hash, unit)) = ahead.next(self.units) {
            self.units[unit].put(&mask::<K>(hash));
        }
    }
}

/// Tells of keys, in their order, whether they may be there.
pub(crate) struct Contains<'a, const K: usize, U, H, A> {
    pub units: &'a [U],
    pub hashes: H,
    pub answers: A,
}

impl<const K: usize, U: Unit, H: Iterator<Item = u64>, A: Answers> Vectored for Contains<'_, K, U, H, A> {
    type Output = A;

    #[inline(always)]
    fn run(self) -> A {
        let Contains { units, hashes, mut answers } = self;
        if are_few(&hashes) {
            let found = |hash| units[line_of(hash, units.len() as u64)].covers(&mask::<K>(hash));
            hashes.for_each(|hash| answers.take(found(hash)));
            return answers;
        }
        let mut ahead = Ahead::new(hashes, units);
        while let Some((hash, unit)) = ahead.next(units) {
            answers.take(units[unit].covers(&mask::<K>(hash)));
        }
        answers
    }
}

/// Counts keys, whose bits are given, that may be there.
pub(crate) struct CountMasks<'a, U> {
    pub units: &'a [U],
    pub hashes: &'a [u64],
    pub masks: &'a [Mask],
}

impl<U: Unit> Vectored for CountMasks<'_, U> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let count = self.units.len() as u64;
        let hit = |(&hash, mask): (&u64, &Mask)| usize::from(self.units[line_of(hash, count)].covers(mask));
        self.hashes.iter().zip(self.masks).map(hit).sum()
    }
}
