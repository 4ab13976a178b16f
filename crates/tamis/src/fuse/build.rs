//! Building a filter: find an order in which every key has a slot to itself, then fill the
//! table in reverse.
//!
//! Each key asks that the exclusive or of its three slots equal its fingerprint. A slot that
//! only one key uses can settle that key whatever the other slots hold; so the key is set
//! aside ("peeled"), which may leave other slots with a single key. Where all keys can be
//! peeled, slots are given values in the reverse order: each key finds its own slot untouched
//! and sets it to what is missing. Where some cannot, the next seed is tried.
//!
//! Keys are entered nearly in the order of their first slots, so the three segments at hand stay in
//! the processor's cache. A sort would do more than is needed: what the slots hold afterwards does not
//! depend on the order of the keys, and so neither does the filter. Slots to look at next are kept on a stack for the same reason: what
//! was just touched comes next.

use super::Fuse;
use super::place::{Placer, key, pack, salt};
use super::shape::{Shape, check_width, shape, words_needed};
use crate::error::{Error, Result};
#[cfg(feature = "file")]
use crate::memory::roomy;
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
    let mut distinct = repeats(hashes);
    if distinct {
        dedup(hashes);
    }
    let mut peeling = None;
    let mut seed = 0;
    while seed < seeds {
        if let Some(filter) = build_with(seed, hashes, width, &mut peeling)? {
            return Ok(filter);
        }
        // A key that is there twice has no slot to itself, ever: so hashes need to be made distinct
        // only where keys are left over. If they were not, this seed may yet work.
        let before = hashes.len();
        if !distinct {
            dedup(hashes);
            distinct = true;
        }
        if hashes.len() < before {
            peeling = None;
        } else {
            seed += 1;
        }
    }
    Err(Error::Seeds { keys: hashes.len() as u64, seeds })
}

fn dedup(hashes: &mut Vec<u64>) {
    hashes.sort_unstable();
    hashes.dedup();
}

/// Whether hashes come twice, as far as a small part of them tells: where many do, an attempt to build
/// from all would take far more memory than the set needs.
fn repeats(hashes: &[u64]) -> bool {
    const PART: usize = 4096;
    let most = u64::MAX / (hashes.len() / PART).max(1) as u64;
    let salt = salt(0);
    let mut part: Vec<u64> = hashes.iter().map(|&hash| key(hash, salt)).filter(|&key| key <= most).collect();
    part.sort_unstable();
    part.windows(2).any(|pair| pair[0] == pair[1])
}

/// Builds with this seed, if it works.
fn build_with(
    seed: u64,
    hashes: &[u64],
    width: u32,
    peeling: &mut Option<Peeling>,
) -> Result<Option<Fuse<Vec<u64>>>> {
    let count = hashes.len() as u64;
    let shape = shape(count)?;
    let len = words_needed(count, width)?;
    let placer = Placer::new(&shape, width, seed);
    let peeling = peeling.get_or_insert_with(|| Peeling::new(&shape));
    if !peeling.peel(hashes, &placer) {
        return Ok(None);
    }
    peeling.fill(&placer);
    let mut words = zeros(len);
    pack(&peeling.keys, width, &mut words);
    Fuse::from_words(words, count, width, seed).map(Some)
}

/// This many zeros, on huge pages where that is worth it: slots are visited in no order.
fn zeros<T: Clone + Default>(len: usize) -> Vec<T> {
    #[cfg(feature = "file")]
    {
        let mut list = roomy(len);
        list.resize(len, T::default());
        list
    }
    #[cfg(not(feature = "file"))]
    vec![T::default(); len]
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
    ///
    /// Before, it holds all keys, in an order near that of their first slots.
    order: Vec<u64>,
    peeled: usize,
    /// Keys are put in order by this many of their highest bits.
    bits: u32,
}

impl Peeling {
    pub(super) fn new(shape: &Shape) -> Self {
        let slots = shape.slots as usize;
        // About one part for each segment; more parts are too many to write to at the same time.
        let bits = (shape.starts / u64::from(shape.segment)).max(2).ilog2().min(12);
        Peeling { uses: zeros(slots), keys: zeros(slots), order: zeros(slots + 1), peeled: 0, bits }
    }

    /// Puts the keys of these hashes in `order`, those of each part of the table together.
    fn part(&mut self, hashes: &[u64], placer: &Placer) {
        let shift = 64 - self.bits;
        let mut ends = vec![0usize; 1 << self.bits];
        for &hash in hashes {
            ends[(placer.key(hash) >> shift) as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            (*end, sum) = (sum, sum + *end);
        }
        for &hash in hashes {
            let key = placer.key(hash);
            let end = &mut ends[(key >> shift) as usize];
            self.order[*end] = key;
            *end += 1;
        }
    }

    /// Sets all keys aside, if that can be done with this placer.
    pub(super) fn peel(&mut self, hashes: &[u64], placer: &Placer) -> bool {
        self.uses.fill(0);
        self.keys.fill(0);
        self.peeled = 0;
        self.part(hashes, placer);
        for &key in &self.order[..hashes.len()] {
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
        self.peeled == hashes.len()
    }

    /// Puts the fingerprint of every slot in place of its key. Slots from which no key was peeled are
    /// zero already: all keys that used them were taken out.
    fn fill(&mut self, placer: &Placer) {
        for &slot in self.order[..self.peeled].iter().rev() {
            let key = self.keys[slot as usize];
            let (slots, fingerprint) = placer.place(key);
            // The slot's own key is among the three, and goes.
            let missing = slots.iter().fold(fingerprint ^ key, |sum, &slot| sum ^ self.keys[slot as usize]);
            self.keys[slot as usize] = missing;
        }
    }
}
