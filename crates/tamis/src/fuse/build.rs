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
use super::place::{Fingerprint, Placer, key, pack, salt};
use super::shape::{Shape, check_width, shape, words_needed};
use crate::error::{Error, Result};
use crate::memory::Words;
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
    /// the number of keys. Needs 18 bytes of memory for every slot, about 20 for every key,
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
    let peeling = match peeling {
        Some(peeling) => peeling,
        None => peeling.insert(Peeling::new(&shape, count)?),
    };
    if !peeling.peel(hashes, &placer) {
        return Ok(None);
    }
    let mut words = zeros(len);
    match width {
        ..=8 => pack::<u8>(peeling.fill(&placer), width, &mut words),
        9..=16 => pack::<u16>(peeling.fill(&placer), width, &mut words),
        _ => pack::<u32>(peeling.fill(&placer), width, &mut words),
    }
    Fuse::from_words(words, count, width, seed).map(Some)
}

/// This many zeros, on huge pages where that is worth it: slots are visited in no order.
fn zeros(len: usize) -> Vec<u64> {
    #[cfg(feature = "file")]
    {
        let mut list = roomy(len);
        list.resize(len, 0);
        list
    }
    #[cfg(not(feature = "file"))]
    vec![0; len]
}

/// What is known of the slots while keys are set aside.
pub(super) struct Peeling {
    slots: usize,
    /// Bytes: how many of the keys that are left use a slot.
    uses: Words,
    /// The exclusive or of these keys; where there is one, the key itself. Once all keys are peeled, this
    /// has the fingerprints, in as few bytes as they need.
    keys: Words,
    /// From the front: keys that were peeled, in that order. From the back: the stack
    /// of slots that came to have one key. A slot enters the stack once, and leaves it for its key at the
    /// front or for good, so the two never meet; one place is spare, for what is written to
    /// the stack and not kept.
    ///
    /// Before, it holds all keys, in an order near that of their first slots.
    order: Words,
    /// Bytes: from which of its three slots a key was peeled, in the same order.
    which: Words,
    peeled: usize,
    /// Keys are put in order by this many of their highest bits.
    bits: u32,
    /// Whether all is zero still.
    fresh: bool,
}

impl Peeling {
    /// For this many keys.
    pub(super) fn new(shape: &Shape, keys: u64) -> Result<Self> {
        let slots = shape.slots as usize;
        // About one part for each segment; more parts are too many to write to at the same time.
        let bits = (shape.starts / u64::from(shape.segment)).max(2).ilog2().min(12);
        Ok(Peeling {
            slots,
            uses: Words::new(slots.div_ceil(8))?,
            keys: Words::new(slots)?,
            order: Words::new(slots + 1)?,
            which: Words::new((keys as usize).div_ceil(8))?,
            peeled: 0,
            bits,
            fresh: true,
        })
    }

    /// Puts the keys of these hashes in `order`, those of each part of the table together.
    fn part(&mut self, hashes: &[u64], placer: &Placer) {
        let shift = 64 - self.bits;
        let order = &mut self.order[..];
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
            order[*end] = key;
            *end += 1;
        }
    }

    /// Sets all keys aside, if that can be done with this placer.
    pub(super) fn peel(&mut self, hashes: &[u64], placer: &Placer) -> bool {
        if !self.fresh {
            self.uses.fill(0);
            self.keys.fill(0);
        }
        (self.fresh, self.peeled) = (false, 0);
        self.part(hashes, placer);
        let uses = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut self.uses)[..self.slots];
        let (keys, order) = (&mut self.keys[..], &mut self.order[..]);
        for &key in &order[..hashes.len()] {
            for slot in placer.place(key).0.map(|slot| slot as usize) {
                keys[slot] ^= key;
                // Three uses of a slot are usual; hashes that heap up like this are not even.
                let Some(more) = uses[slot].checked_add(1) else { return false };
                uses[slot] = more;
            }
        }
        // A slot is written to the stack before it is known whether it belongs there, and stays
        // only if it does: the processor would guess such a branch wrong too often.
        let end = order.len();
        let mut top = end;
        for (slot, &uses) in uses.iter().enumerate() {
            order[top - 1] = slot as u64;
            top -= usize::from(uses == 1);
        }
        let which: &mut [u8] = bytemuck::cast_slice_mut(&mut self.which);
        let mut peeled = 0;
        while top < end {
            let slot = order[top];
            top += 1;
            if uses[slot as usize] == 0 {
                continue; // its key was peeled from another slot meanwhile
            }
            let key = keys[slot as usize];
            let [first, second, third] = placer.place(key).0;
            order[peeled] = key;
            which[peeled] = u8::from(slot != first) + u8::from(slot == third);
            peeled += 1;
            uses[slot as usize] = 0;
            // The two slots of the three that are not this one.
            let others =
                [if slot == first { second } else { first }, if slot == third { second } else { third }];
            for other in others {
                let uses = &mut uses[other as usize];
                keys[other as usize] ^= key;
                *uses -= 1;
                order[top - 1] = other;
                top -= usize::from(*uses == 1);
            }
        }
        self.peeled = peeled;
        peeled == hashes.len()
    }

    /// The fingerprints of all slots, when all keys are peeled. Slots from which none was have zeros.
    fn fill<T: Fingerprint>(&mut self, placer: &Placer) -> &[T] {
        let table = &mut bytemuck::cast_slice_mut::<u64, T>(&mut self.keys)[..self.slots];
        table.fill(T::default());
        let which: &[u8] = bytemuck::cast_slice(&self.which);
        for (&key, &which) in self.order[..self.peeled].iter().zip(which).rev() {
            let (slots, fingerprint) = placer.place(key);
            let [first, second, third] = slots.map(|slot| table[slot as usize]);
            // The key's own slot is still zero, and so can be taken with the others.
            let missing = T::of(fingerprint) ^ first ^ second ^ third;
            table[slots[usize::from(which % 3)] as usize] = missing;
        }
        table
    }
}
