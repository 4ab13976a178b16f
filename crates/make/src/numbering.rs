//! The names of groups, numbered as all threads together meet them.
//!
//! There may be many millions: a name costs its bytes and about twenty more, however many threads there are.

use std::sync::{Mutex, PoisonError};

use tamis::hash::xxh3;
use tamis::params::Name;

use crate::seed;

/// Parts with a lock each, so that threads seldom wait for each other.
const PARTS: usize = 16;

/// Numbers for names, which threads share. Numbers are dense but for small gaps.
#[derive(Debug)]
pub struct Numbering {
    parts: Vec<Mutex<Part>>,
    seed: u64,
}

impl Default for Numbering {
    fn default() -> Self {
        // Names come from strangers: nobody knows which of them meet in one place. No result depends on it.
        let seed = seed::random();
        let part = || Mutex::new(Part { seed, ..Part::default() });
        Numbering { parts: (0..PARTS).map(|_| part()).collect(), seed }
    }
}

impl Numbering {
    /// The number of a name, which gets one if it is new.
    pub(crate) fn number(&self, name: &[u8]) -> u32 {
        let hash = xxh3(name, self.seed);
        let part = (hash >> 60) as usize;
        let within = self.parts[part].lock().unwrap_or_else(PoisonError::into_inner).number(hash, name);
        within * PARTS as u32 + part as u32
    }

    /// All names with their numbers, sorted by name; those of which `wanted` says no are left out.
    pub(crate) fn sorted(self, wanted: impl Fn(u32) -> bool) -> Vec<(Name, u32)> {
        let parts =
            self.parts.into_iter().map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner));
        let parts: Vec<Part> = parts.collect();
        let numbers = parts.iter().enumerate().flat_map(|(part, names)| {
            (0..names.ends.len()).map(move |within| (within * PARTS + part) as u32)
        });
        let name = |number: u32| parts[number as usize % PARTS].name(number as usize / PARTS);
        let mut order: Vec<u32> = numbers.filter(|&number| wanted(number)).collect();
        order.sort_unstable_by(|&a, &b| name(a).cmp(name(b)));
        order.into_iter().map(|number| (Name(name(number).to_vec()), number)).collect()
    }
}

/// Names one after the other, and a table of those that have a hash.
#[derive(Debug, Default)]
struct Part {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Open addressing: numbers plus one, a power of two of places, at most three quarters of them taken.
    table: Vec<u32>,
    seed: u64,
}

impl Part {
    fn name(&self, number: usize) -> &[u8] {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[start..self.ends[number]]
    }

    fn number(&mut self, hash: u64, name: &[u8]) -> u32 {
        if self.table.len() * 3 <= self.ends.len() * 4 {
            self.grow();
        }
        let place = self.place(hash, |number| self.name(number) == name);
        if self.table[place] != 0 {
            return self.table[place] - 1;
        }
        self.bytes.extend_from_slice(name);
        self.ends.push(self.bytes.len());
        self.table[place] = self.ends.len() as u32;
        self.table[place] - 1
    }

    /// Where a name stands, or where there is room for it.
    fn place(&self, hash: u64, is: impl Fn(usize) -> bool) -> usize {
        let mask = self.table.len() - 1;
        let mut place = hash as usize & mask;
        while self.table[place] != 0 && !is(self.table[place] as usize - 1) {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        self.table = vec![0; (self.table.len() * 2).max(16)];
        for number in 0..self.ends.len() {
            let place = self.place(xxh3(self.name(number), self.seed), |_| false);
            self.table[place] = number as u32 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn equal_names_have_one_number_and_others_have_others(names in prop::collection::vec("[a-c]{0,4}", 0..600)) {
            let numbering = Numbering::default();
            let mut model: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
            for name in &names {
                let number = numbering.number(name.as_bytes());
                let known = *model.entry(name.clone().into_bytes()).or_insert(number);
                prop_assert_eq!(known, number);
            }
            let expected: Vec<(Name, u32)> =
                model.into_iter().map(|(name, number)| (Name(name), number)).filter(|(_, n)| n % 3 != 0).collect();
            prop_assert_eq!(numbering.sorted(|number| number % 3 != 0), expected);
        }
    }
}
