//! Keys in memory, byte for byte, until there is no room for more.
//!
//! The keys stand one after the other, each behind its length; a table of words tells where. A word has some bits of
//! the key's hash, too, so that hardly any other key is looked at. The words of a line of memory are looked at together,
//! without a choice between them that could only be guessed. Places of many keys are asked for before the first is
//! looked at: where memory is larger than the caches, most of the time would be spent on waiting for it.

use std::collections::HashSet;
use std::mem::replace;

use tamis::hash::Scheme;
use tamis::memory::{Vectored, Words, prefetch, vectored};

/// The bits of a word that say where a key stands, and above them those of its hash.
const PLACE: u32 = 40;

/// Slots of the smallest table, and the first bits of a hash that tell among them.
const LEAST: usize = 1 << LEAST_BITS;
const LEAST_BITS: u32 = 9;

/// Bits of a hash that a slot has: those after the first [`LEAST_BITS`]. In larger tables some of them, too, tell which
/// slot it is.
const MARK: u32 = 64 - PLACE;

/// From here on there are more slots than [`NEAR`] for each of the smallest table: a key stands among those of its first
/// bits, or of the next.
const WIDE: usize = LEAST * 2 * NEAR;

/// Slots of a line of memory, which comes as a whole: all of them are looked at before any of the next. They are taken
/// from the first one on.
const LINE: usize = 8;

/// Slots that are looked at for a key.
const NEAR: usize = 8 * LINE;

type Line = [u64; LINE];

/// Keys whose slots are asked for at a time.
pub(super) const AHEAD: usize = 64;

/// What a crowded key takes besides its bytes.
const PER_CROWDED: usize = 64;

/// Lengths from here on take eight more bytes.
const LONG: u8 = u8::MAX;

/// Keys in memory. When it is full it takes no more: what it has, it has from the beginning of the input.
#[derive(Debug)]
pub(super) struct Known {
    hash: Scheme,
    /// A power of two of them: 0, or one more than the place of a key, and bits of its hash.
    slots: Words,
    /// How many are taken.
    taken: usize,
    text: Vec<u8>,
    /// Keys that found all slots taken by others. Chance hardly makes any; strangers can, where they know the hash.
    /// Mostly the hash is one that they do not know.
    crowded: HashSet<Box<[u8]>>,
    crowded_bytes: usize,
    memory: usize,
    full: bool,
}

/// What became of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Added {
    /// It came before.
    Before,
    /// It is new.
    Now,
    /// It is new to this memory, which is full.
    NoRoom,
}

/// What is found where a key is looked for.
#[derive(PartialEq)]
enum Found {
    /// The key.
    Here,
    /// Not the key, but a slot for it.
    Free(usize),
    /// Neither.
    Crowded,
}

/// What a look at a line of slots shows.
struct Look {
    /// Those with a mark: a bit for each.
    alike: u64,
    /// How many are taken.
    taken: usize,
}

impl Look {
    #[inline(always)]
    fn at(line: &Line, mark: u64) -> Look {
        let (mut alike, mut taken) = (0, 0);
        for (slot, bit) in line.iter().zip([1, 2, 4, 8, 16, 32, 64, 128u64]) {
            alike |= if slot >> PLACE == mark { bit } else { 0 };
            taken |= if *slot == 0 { 0 } else { bit };
        }
        // A free slot looks like one with the mark 0.
        Look { alike: alike & taken, taken: taken.count_ones() as usize }
    }
}

impl Known {
    /// No keys yet, of this hash, and in this many bytes.
    pub(super) fn new(hash: Scheme, memory: usize) -> tamis::Result<Known> {
        Ok(Known {
            hash,
            slots: Words::new(LEAST)?,
            taken: 0,
            text: Vec::new(),
            crowded: HashSet::new(),
            crowded_bytes: 0,
            memory,
            full: false,
        })
    }

    /// Bytes that are taken.
    pub(super) fn bytes(&self) -> usize {
        self.slots.len() * size_of::<u64>() + self.text.len() + self.crowded_bytes
    }

    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.taken + self.crowded.len()
    }

    /// Adds keys, one after the other, and tells of each whether it is new, up to the first without room.
    pub(super) fn add_all<'k>(
        &mut self,
        hashes: &[u64],
        key: impl Fn(usize) -> &'k [u8],
        new: &mut Vec<bool>,
    ) -> tamis::Result<()> {
        vectored(AddAll { known: self, hashes, key, new })
    }

    /// Tells of each key, in their order, whether it is there.
    pub(super) fn have_all<'k>(
        &self,
        hashes: &[u64],
        key: impl Fn(usize) -> &'k [u8],
        found: impl FnMut(usize, bool),
    ) {
        vectored(HaveAll { known: self, hashes, key, found });
    }

    /// Asks for the slots in which these keys will be looked for.
    #[inline(always)]
    fn ask_for_slots(&self, hashes: &[u64]) {
        hashes.iter().for_each(|&hash| prefetch(&self.slots, self.first_slot(hash)));
    }

    /// Asks for what will be looked at then: the text to which these keys will be compared, or more slots.
    #[inline(always)]
    fn ask_for_more(&self, hashes: &[u64]) {
        for &hash in hashes {
            let first = self.first_slot(hash) / LINE;
            let line = &self.lines()[first];
            let Look { alike, taken } = Look::at(line, mark(hash));
            if alike != 0 {
                prefetch(&self.text, place(line[alike.trailing_zeros() as usize]));
            } else if taken == LINE {
                prefetch(self.lines(), first + 1);
            }
        }
    }

    /// Adds a key of this hash.
    #[inline(always)]
    fn add(&mut self, hash: u64, key: &[u8]) -> tamis::Result<Added> {
        let mut free = match self.find(hash, key) {
            Found::Here => return Ok(Added::Before),
            Found::Free(slot) => Some(slot),
            Found::Crowded => None,
        };
        // From the first key that has no room on, none is taken: a later one may have come before.
        let slots = self.slots.len();
        self.full = self.full || !self.make_room(key.len())?;
        if self.full {
            return Ok(Added::NoRoom);
        }
        if self.slots.len() != slots {
            free = self.free(hash);
        }
        let place = self.push(key);
        self.put(hash, place, free);
        Ok(Added::Now)
    }

    /// Whether the key of this hash is there.
    pub(super) fn has(&self, hash: u64, key: &[u8]) -> bool {
        self.find(hash, key) == Found::Here
    }

    /// Looks for the key of this hash.
    #[inline(always)]
    fn find(&self, hash: u64, key: &[u8]) -> Found {
        for at in self.lines_of(hash) {
            let line = &self.lines()[at];
            let Look { mut alike, taken } = Look::at(line, mark(hash));
            while alike != 0 {
                if self.key(place(line[alike.trailing_zeros() as usize])).0 == key {
                    return Found::Here;
                }
                alike &= alike - 1;
            }
            if taken < LINE {
                return Found::Free(at * LINE + taken);
            }
        }
        if self.crowded.contains(key) { Found::Here } else { Found::Crowded }
    }

    /// The first free slot for a key of this hash.
    #[inline(always)]
    fn free(&self, hash: u64) -> Option<usize> {
        self.lines_of(hash).find_map(|at| {
            let taken = self.lines()[at].iter().filter(|slot| **slot != 0).count();
            (taken < LINE).then_some(at * LINE + taken)
        })
    }

    fn lines(&self) -> &[Line] {
        self.slots.as_chunks().0
    }

    /// The slot of the first bits of this hash: a key of it is looked for in its line first.
    #[inline(always)]
    fn first_slot(&self, hash: u64) -> usize {
        (hash >> (64 - self.slots.len().trailing_zeros())) as usize
    }

    /// The lines where it can be.
    #[inline(always)]
    fn lines_of(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let (first, last) = (self.first_slot(hash) / LINE, self.slots.len() / LINE - 1);
        (0..NEAR / LINE).map(move |step| (first + step) & last)
    }

    /// The key at a place of the text, and the place behind it.
    fn key(&self, at: usize) -> (&[u8], usize) {
        let (start, length) = match self.text[at] {
            LONG => {
                let length = self.text[at + 1..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
                (at + 9, length as usize)
            }
            length => (at + 1, usize::from(length)),
        };
        (&self.text[start..start + length], start + length)
    }

    /// Makes room for a key of this length; false where there is none.
    #[inline(always)]
    fn make_room(&mut self, length: usize) -> tamis::Result<bool> {
        let more = 2 * length + PER_CROWDED; // if it is crowded
        if self.bytes() + more > self.memory || (self.text.len() + more) as u64 >= 1 << PLACE {
            return Ok(false);
        }
        if self.taken < self.slots.len() / 4 * 3 {
            return Ok(true);
        }
        self.grow(more)
    }

    /// Makes a larger table, and leaves this many bytes beside it; false where there is no room for both.
    #[cold]
    fn grow(&mut self, more: usize) -> tamis::Result<bool> {
        let (now, next) = (self.slots.len(), self.slots.len() * 2);
        let with_next = self.bytes() + next * size_of::<u64>() + more;
        let marks_tell = (WIDE..LEAST << MARK).contains(&now) && self.crowded.is_empty();
        if marks_tell
            && with_next <= self.memory
            && let Ok(table) = Words::new(next)
        {
            let last = replace(&mut self.slots, table);
            self.put_again(&last);
            return Ok(true);
        }
        if with_next - now * size_of::<u64>() > self.memory {
            return Ok(false);
        }
        // The text alone says what goes into the next table, so the last one can go before. Where there is no memory for
        // the next, other threads look for keys until they hear of it: in a table that has none.
        self.slots = Words::new(LEAST)?;
        self.slots = Words::new(next)?;
        self.put_all_again();
        Ok(true)
    }

    /// Puts the keys of the last table, half as large, into an empty one. Its slots come in the order of hashes: from one
    /// end of both tables to the other.
    fn put_again(&mut self, last: &[u64]) {
        self.taken = 0;
        let bits = last.len().trailing_zeros() - LEAST_BITS; // of a mark, that tell among the slots of the last table
        for (at, &slot) in last.iter().enumerate().filter(|(_, slot)| **slot != 0) {
            let mark = slot >> PLACE;
            let first_in = |high: usize| high << bits | (mark >> (MARK - bits)) as usize;
            let lines = |high| (at / LINE).wrapping_sub(first_in(high) / LINE) % (last.len() / LINE);
            // The first bits of the hash are those of the slot, or the ones before: a key may stand behind their slots.
            let high = at >> bits;
            let high = if lines(high) < NEAR / LINE { high } else { high.wrapping_sub(1) % LEAST };
            let hash = (high as u64) << (64 - LEAST_BITS) | mark << (64 - LEAST_BITS - MARK);
            self.put(hash, place(slot), self.free(hash));
        }
    }

    /// Puts all keys into an empty table.
    fn put_all_again(&mut self) {
        self.taken = 0;
        self.crowded.clear();
        self.crowded_bytes = 0;
        let mut batch = [(0, 0); AHEAD];
        let (mut at, end) = (0, self.text.len());
        while at < end {
            let mut count = 0;
            while count < AHEAD && at < end {
                let (key, next) = self.key(at);
                batch[count] = (self.hash.identity(key), at);
                prefetch(&self.slots, self.first_slot(batch[count].0));
                (at, count) = (next, count + 1);
            }
            for &(hash, place) in &batch[..count] {
                self.put(hash, place, self.free(hash));
            }
        }
    }

    /// Puts a key behind the others; where it stands.
    fn push(&mut self, key: &[u8]) -> usize {
        let place = self.text.len();
        match u8::try_from(key.len()) {
            Ok(length) if length != LONG => self.text.push(length),
            _ => {
                self.text.push(LONG);
                self.text.extend_from_slice(&(key.len() as u64).to_le_bytes());
            }
        }
        self.text.extend_from_slice(key);
        place
    }

    /// Puts a key of the text into a free slot, or among the crowded ones where there is none.
    fn put(&mut self, hash: u64, place: usize, free: Option<usize>) {
        match free {
            Some(slot) => {
                self.slots[slot] = mark(hash) << PLACE | (place as u64 + 1);
                self.taken += 1;
            }
            None => {
                let key: Box<[u8]> = self.key(place).0.into();
                self.crowded_bytes += key.len() + PER_CROWDED;
                self.crowded.insert(key);
            }
        }
    }
}

/// Adds keys, as [`Known::add_all`] does.
struct AddAll<'a, F> {
    known: &'a mut Known,
    hashes: &'a [u64],
    key: F,
    new: &'a mut Vec<bool>,
}

impl<'k, F: Fn(usize) -> &'k [u8]> Vectored for AddAll<'_, F> {
    type Output = tamis::Result<()>;

    #[inline(always)]
    fn run(self) -> tamis::Result<()> {
        let AddAll { known, hashes, key, new } = self;
        let mut row = 0;
        for hashes in ahead(hashes) {
            known.ask_for_slots(hashes.next);
            known.ask_for_more(hashes.now);
            for &hash in hashes.now {
                match known.add(hash, key(row))? {
                    Added::NoRoom => return Ok(()),
                    added => new.push(added == Added::Now),
                }
                row += 1;
            }
        }
        Ok(())
    }
}

/// Looks for keys, as [`Known::have_all`] does.
struct HaveAll<'a, F, G> {
    known: &'a Known,
    hashes: &'a [u64],
    key: F,
    found: G,
}

impl<'k, F: Fn(usize) -> &'k [u8], G: FnMut(usize, bool)> Vectored for HaveAll<'_, F, G> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let HaveAll { known, hashes, key, mut found } = self;
        let mut row = 0;
        for hashes in ahead(hashes) {
            known.ask_for_slots(hashes.next);
            known.ask_for_more(hashes.now);
            for &hash in hashes.now {
                found(row, known.find(hash, key(row)) == Found::Here);
                row += 1;
            }
        }
    }
}

/// Some of the keys, and those that follow them.
struct Keys<'h> {
    now: &'h [u64],
    next: &'h [u64],
}

/// Keys, some at a time, and before them nothing, so that the slots of the first can be asked for.
fn ahead(hashes: &[u64]) -> impl Iterator<Item = Keys<'_>> {
    let mut next = hashes.chunks(AHEAD);
    let mut now: &[u64] = &[];
    std::iter::from_fn(move || {
        let some = Keys { now, next: next.next().unwrap_or(&[]) };
        now = some.next;
        (!some.now.is_empty() || !some.next.is_empty()).then_some(some)
    })
}

/// The bits of a hash that a slot has.
fn mark(hash: u64) -> u64 {
    hash << LEAST_BITS >> PLACE
}

/// Where the key of a slot stands.
fn place(slot: u64) -> usize {
    ((slot & ((1 << PLACE) - 1)) as usize).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tamis::hash::Single;

    use super::*;

    /// Adds keys with hashes of which this many bits are used, and gives those that were new until there was no room.
    fn new_keys(keys: &[Vec<u8>], memory: usize, hash_bits: u32) -> (Known, Vec<bool>) {
        let scheme = Scheme::from(Single::Xxh3 { seed: 7 });
        let cut = |key: &Vec<u8>| scheme.identity(key) & u64::MAX.checked_shl(64 - hash_bits).unwrap_or(0);
        let hashes: Vec<u64> = keys.iter().map(cut).collect();
        let (mut known, mut new) = (Known::new(scheme, memory).unwrap(), Vec::new());
        known.add_all(&hashes, |row| &keys[row], &mut new).unwrap();
        for (row, key) in keys.iter().enumerate().take(new.len()) {
            assert!(known.has(hashes[row], key));
        }
        (known, new)
    }

    proptest! {
        #[test]
        fn keys_are_new_once_as_in_a_set(
            keys in prop::collection::vec(prop::collection::vec(0..4u8, 0..6), 0..3000),
            memory in prop::sample::select(&[0, 4_096, 6_000, 20_000, 1 << 30][..]),
        ) {
            let (known, new) = new_keys(&keys, memory, 64);
            let mut model = HashSet::new();
            let expected: Vec<bool> = keys[..new.len()].iter().map(|key| model.insert(key)).collect();
            prop_assert_eq!(&new, &expected);
            prop_assert!(known.bytes() <= memory.max(LEAST * size_of::<u64>()), "{} bytes", known.bytes());
            prop_assert_eq!(known.len(), model.len());
            if let Some(next) = keys.get(new.len()) {
                prop_assert!(memory < 1 << 30 && !model.contains(next), "only a new key finds no room");
            }
        }
    }

    #[test]
    fn keys_are_found_again_in_a_table_that_has_grown_and_lengths_are_kept() {
        let keys: Vec<Vec<u8>> =
            (0..50_000usize).map(|i| [&i.to_le_bytes()[..], &[0; 300][..i % 301]].concat()).collect();
        let (known, new) = new_keys(&[&keys[..], &keys[..]].concat(), usize::MAX, 64);
        assert!(new[..keys.len()].iter().all(|new| *new) && !new[keys.len()..].iter().any(|new| *new));
        assert!(known.slots.len() > LEAST && known.len() == keys.len());
    }

    /// Where there is memory for both tables, the next is made of the last; else of the text.
    #[test]
    fn the_next_table_has_the_keys_of_the_last_however_it_is_made() {
        let keys: Vec<Vec<u8>> = (0..400_000u32).map(|i| i.to_le_bytes().to_vec()).collect();
        let (of_slots, new) = new_keys(&keys, usize::MAX, 64);
        assert!(of_slots.slots.len() > WIDE && new.iter().all(|new| *new));
        let text = keys.len() * 5;
        let (of_text, new) = new_keys(&keys, text + of_slots.slots.len() * 8 + 1000, 64);
        assert!(new.len() == keys.len() && of_text.slots.len() == of_slots.slots.len());
        for known in [of_slots, of_text] {
            assert_eq!((known.len(), known.crowded.len()), (keys.len(), 0));
            assert!(keys.iter().all(|key| known.has(known.hash.identity(key), key)));
        }
    }

    /// Keys that stand behind the slots of their first bits, and beyond the end of the table.
    #[test]
    fn keys_far_from_their_first_slot_are_found_in_the_next_table() {
        let scheme = Scheme::from(Single::Xxh3 { seed: 7 });
        let (mut known, mut new) = (Known::new(scheme, usize::MAX).unwrap(), Vec::new());
        let mut keys: Vec<(u64, [u8; 8])> = Vec::new();
        // The table is wide, and then some of its places are crowded: at its end, and where first bits change.
        for number in 0..60_000u64 {
            keys.push((scheme.identity(&number.to_le_bytes()), number.to_le_bytes()));
        }
        for number in 60_000..60_020u64 {
            let last_slot = u64::MAX << (64 - LEAST_BITS - MARK);
            keys.push((if number % 2 == 0 { last_slot } else { last_slot >> 1 }, number.to_le_bytes()));
        }
        let hashes: Vec<u64> = keys.iter().map(|(hash, _)| *hash).collect();
        known.add_all(&hashes, |row| &keys[row].1, &mut new).unwrap();
        let (slots, taken) = (known.slots.len(), known.taken);
        assert_eq!((slots >= WIDE, known.crowded.len(), taken), (true, 0, keys.len()));
        let last = replace(&mut known.slots, Words::new(2 * slots).unwrap());
        known.put_again(&last);
        assert_eq!((known.taken, known.crowded.len()), (taken, 0));
        assert!(keys.iter().all(|(hash, key)| known.has(*hash, key)));
    }

    /// Chosen keys would make every search as long as there are keys.
    #[test]
    fn keys_of_one_hash_are_told_apart_without_searching_through_all() {
        let keys: Vec<Vec<u8>> = (0..20_000u32).map(|i| i.to_le_bytes().to_vec()).collect();
        let (known, new) = new_keys(&[&keys[..], &keys[..]].concat(), usize::MAX, 0);
        assert!(new[..keys.len()].iter().all(|new| *new) && !new[keys.len()..].iter().any(|new| *new));
        assert_eq!((known.taken, known.crowded.len()), (NEAR, keys.len() - NEAR));
        assert!(known.bytes() > 20_000 * PER_CROWDED);
    }

    #[test]
    fn crowded_keys_find_slots_when_the_table_has_grown() {
        let scheme = Scheme::from(Single::Xxh3 { seed: 7 });
        let keys = || (0u32..).map(u32::to_le_bytes);
        let near = keys().filter(|key| scheme.identity(key) >> 60 == 3).take(500);
        let keys: Vec<[u8; 4]> = near.chain(keys().skip(1 << 20).take(100_000)).collect();
        let hashes: Vec<u64> = keys.iter().map(|key| scheme.identity(key)).collect();
        let (mut known, mut new) = (Known::new(scheme, usize::MAX).unwrap(), Vec::new());
        known.add_all(&hashes[..500], |row| &keys[row], &mut new).unwrap();
        assert!(known.crowded.len() > 300 && known.slots.len() == LEAST);
        known.add_all(&hashes, |row| &keys[row], &mut new).unwrap();
        let (first, again) = (&new[..500], &new[500..1000]);
        assert!(first.iter().chain(&new[1000..]).all(|new| *new) && !again.iter().any(|new| *new));
        assert!(known.crowded.is_empty() && known.crowded_bytes == 0 && known.len() == keys.len());
        assert!(keys.iter().zip(&hashes).all(|(key, hash)| known.has(*hash, key)));
    }
}
