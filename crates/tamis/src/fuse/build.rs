//! Building a filter: find an order in which every key has a slot to itself, then fill the
//! table in reverse.
//!
//! Each key asks that the exclusive or of its three slots equal its fingerprint. A slot that
//! only one key uses can settle that key whatever the other slots hold; so the key is set
//! aside ("peeled"), which may leave other slots with a single key. Where all keys can be
//! peeled, slots are given values in the reverse order: each key finds its own slot untouched
//! and sets it to what is missing. Where some cannot, the next seed is tried.
//!
//! Keys are visited in the order of their first slots, so the three segments at hand stay in
//! the processor's cache. Slots to look at next are kept on a stack for the same reason: what
//! was just touched comes next.

use super::Fuse;
use super::place::{Placer, hash, key, mask, peek, put, salt};
use super::shape::{Shape, check_width, shape, words_needed};
use crate::error::{Error, Result};
use alloc::vec;
use alloc::vec::Vec;

/// Seeds that are tried, from 0 up. About every second succeeds, or more, for hashes that are
/// spread evenly, whatever their number; so a build that fails for all has other causes.
const SEEDS: u64 = 64;

impl Fuse<Vec<u64>> {
    /// Builds the filter of a set of hashes. Order and repetitions do not matter: the same set
    /// gives the same words and seed.
    ///
    /// The hashes are left each once, in an order of the filter's own; `hashes.len()` is then
    /// the number of keys. Needs 17 bytes of memory for every slot, about 19 for every key,
    /// beside the hashes and the table.
    pub fn build(hashes: &mut Vec<u64>, width: u32) -> Result<Self> {
        build_within(SEEDS, hashes, width)
    }
}

/// Builds with the first of this many seeds that works.
pub(super) fn build_within(seeds: u64, hashes: &mut Vec<u64>, width: u32) -> Result<Fuse<Vec<u64>>> {
    check_width(width)?;
    let mut peeling = None;
    for seed in 0..seeds {
        // In place: the hashes are most of the memory of a large set.
        let salt = salt(seed);
        hashes.iter_mut().for_each(|hash| *hash = key(*hash, salt));
        hashes.sort_unstable();
        hashes.dedup();
        let built = build_with(seed, hashes, width, &mut peeling);
        hashes.iter_mut().for_each(|key| *key = hash(*key, salt));
        if let Some(filter) = built? {
            return Ok(filter);
        }
    }
    Err(Error::Seeds { keys: hashes.len() as u64, seeds })
}

/// Builds with this seed, if it works. The keys are those of the seed, sorted and distinct.
fn build_with(
    seed: u64,
    keys: &[u64],
    width: u32,
    peeling: &mut Option<Peeling>,
) -> Result<Option<Fuse<Vec<u64>>>> {
    let count = keys.len() as u64;
    let shape = shape(count)?;
    let len = words_needed(count, width)?;
    let placer = Placer::new(&shape, width, seed);
    let peeling = peeling.get_or_insert_with(|| Peeling::new(&shape));
    if !peeling.peel(keys, &placer) {
        return Ok(None);
    }
    let words = peeling.fill(&placer, width, vec![0; len]);
    Fuse::from_words(words, count, width, seed).map(Some)
}

/// What is known of the slots while keys are set aside.
pub(super) struct Peeling {
    /// How many of the keys that are left use a slot.
    uses: Vec<u8>,
    /// The exclusive or of these keys; where there is one, the key itself. A slot keeps the
    /// key that was peeled from it.
    keys: Vec<u64>,
    /// From the front: slots whose keys were peeled, in that order. From the back: the stack
    /// of slots that came to have one key. A slot enters the stack once, and leaves it for the
    /// front or for good, so the two never meet; one place is spare, for what is written to
    /// the stack and not kept.
    order: Vec<u64>,
    peeled: usize,
}

impl Peeling {
    pub(super) fn new(shape: &Shape) -> Self {
        let slots = shape.slots as usize;
        Peeling { uses: vec![0; slots], keys: vec![0; slots], order: vec![0; slots + 1], peeled: 0 }
    }

    /// Sets all keys aside, if that can be done with this placer.
    pub(super) fn peel(&mut self, keys: &[u64], placer: &Placer) -> bool {
        self.uses.fill(0);
        self.keys.fill(0);
        self.peeled = 0;
        for &key in keys {
            for slot in placer.place(key).0.map(|slot| slot as usize) {
                self.keys[slot] ^= key;
                // Three uses of a slot are usual; hashes that heap up like this are not even.
                let Some(more) = self.uses[slot].checked_add(1) else { return false };
                self.uses[slot] = more;
            }
        }
        // A slot is written to the stack before it is known whether it belongs there, and stays
        // only if it does: the processor would guess such a branch wrong too often.
        let end = self.order.len();
        let mut top = end;
        for (slot, &uses) in self.uses.iter().enumerate() {
            self.order[top - 1] = slot as u64;
            top -= usize::from(uses == 1);
        }
        while top < end {
            let slot = self.order[top];
            top += 1;
            if self.uses[slot as usize] == 0 {
                continue; // its key was peeled from another slot meanwhile
            }
            let key = self.keys[slot as usize];
            self.order[self.peeled] = slot;
            self.peeled += 1;
            self.uses[slot as usize] = 0;
            // The two slots of the three that are not this one.
            let [first, second, third] = placer.place(key).0;
            let others =
                [if slot == first { second } else { first }, if slot == third { second } else { third }];
            for other in others {
                let uses = &mut self.uses[other as usize];
                self.keys[other as usize] ^= key;
                *uses -= 1;
                self.order[top - 1] = other;
                top -= usize::from(*uses == 1);
            }
        }
        self.peeled == keys.len()
    }

    /// Gives every slot its fingerprint. Slots from which no key was peeled stay zero.
    fn fill(&self, placer: &Placer, width: u32, mut words: Vec<u64>) -> Vec<u64> {
        for &slot in self.order[..self.peeled].iter().rev() {
            let (slots, fingerprint) = placer.place(self.keys[slot as usize]);
            let missing = slots.iter().fold(fingerprint, |sum, &slot| sum ^ peek(&words, slot, width));
            put(&mut words, slot, width, missing & mask(width));
        }
        words
    }
}
