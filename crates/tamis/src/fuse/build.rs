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
use super::place::{Placer, mask, peek, put, spread, unspread};
use super::shape::{Shape, check_width, shape, words_needed};
use crate::error::{Error, Result};

/// Seeds that are tried, from 0 up. More than half of them succeed for hashes that are spread
/// evenly, whatever their number; so a build that fails for all has other causes.
const SEEDS: u64 = 64;

impl Fuse<Vec<u64>> {
    /// Builds the filter of a set of hashes. Order and repetitions do not matter: the same set
    /// gives the same words and seed.
    ///
    /// The hashes are sorted in the filter's own order and left so, each once; `hashes.len()`
    /// is then the number of keys. Needs 17 bytes of memory for every slot, about 19 for every
    /// key, beside the hashes and the table.
    pub fn build(hashes: &mut Vec<u64>, width: u32) -> Result<Self> {
        check_width(width)?;
        for hash in hashes.iter_mut() {
            *hash = spread(*hash);
        }
        hashes.sort_unstable();
        hashes.dedup();
        let built = build_sorted(hashes, width);
        for key in hashes.iter_mut() {
            *key = unspread(*key);
        }
        built
    }
}

fn build_sorted(keys: &[u64], width: u32) -> Result<Fuse<Vec<u64>>> {
    let count = keys.len() as u64;
    let shape = shape(count)?;
    let len = words_needed(count, width)?;
    let mut peeling = Peeling::new(&shape);
    for seed in 0..SEEDS {
        let placer = Placer::new(&shape, width, seed);
        if peeling.peel(keys, &placer) {
            let words = peeling.fill(&placer, width, vec![0; len]);
            return Fuse::from_words(words, count, width, seed);
        }
    }
    Err(Error::Seeds { keys: count, seeds: SEEDS })
}

/// What is known of the slots while keys are set aside.
struct Peeling {
    /// How many of the keys that are left use a slot.
    uses: Vec<u8>,
    /// The exclusive or of these keys; where there is one, the key itself. A slot keeps the
    /// key that was peeled from it.
    keys: Vec<u64>,
    /// From the front: slots whose keys were peeled, in that order. From the back: the stack
    /// of slots that came to have one key. A slot enters the stack once and moves to the front
    /// at most once, so the two never meet.
    order: Vec<u64>,
    peeled: usize,
}

impl Peeling {
    fn new(shape: &Shape) -> Self {
        let slots = shape.slots as usize;
        Peeling { uses: vec![0; slots], keys: vec![0; slots], order: vec![0; slots], peeled: 0 }
    }

    /// Sets all keys aside, if that can be done with this placer.
    fn peel(&mut self, keys: &[u64], placer: &Placer) -> bool {
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
        let mut top = self.order.len();
        for (slot, &uses) in self.uses.iter().enumerate() {
            if uses == 1 {
                top -= 1;
                self.order[top] = slot as u64;
            }
        }
        while top < self.order.len() {
            let slot = self.order[top] as usize;
            top += 1;
            if self.uses[slot] == 0 {
                continue; // its key was peeled from another slot meanwhile
            }
            let key = self.keys[slot];
            self.uses[slot] = 0;
            self.order[self.peeled] = slot as u64;
            self.peeled += 1;
            for other in placer.place(key).0.map(|slot| slot as usize) {
                if other == slot {
                    continue;
                }
                self.keys[other] ^= key;
                self.uses[other] -= 1;
                if self.uses[other] == 1 {
                    top -= 1;
                    self.order[top] = other as u64;
                }
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
