//! Estimators of groups that have many keys, where not all keys of a job are counted.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use crate::distinct::{Hll, LAST, REGISTERS, rank, register};

/// An estimator that threads share: a register seldom changes.
#[derive(Debug)]
pub(super) struct Shared {
    registers: Vec<AtomicU8>,
}

impl Shared {
    fn new() -> Shared {
        Shared { registers: (0..REGISTERS).map(|_| AtomicU8::new(0)).collect() }
    }

    /// Sees a hash.
    #[inline]
    pub(super) fn insert(&self, hash: u64) {
        let (register, rank) = (&self.registers[register(hash)], rank(hash));
        if register.load(Relaxed) < rank {
            register.fetch_max(rank, Relaxed);
        }
    }

    /// The keys to plan for.
    pub(super) fn planned(&self) -> u64 {
        let mut ranks = [0; LAST + 1];
        self.registers.iter().for_each(|rank| ranks[usize::from(rank.load(Relaxed))] += 1);
        Hll::planned(&ranks)
    }
}

/// The estimators of all groups that have one.
#[derive(Debug)]
pub(super) struct Estimators {
    most: usize,
    by_group: Mutex<HashMap<u32, Arc<Shared>>>,
}

impl Estimators {
    /// As many as fit in this much memory, and one at least.
    pub(super) fn new(memory: u64) -> Estimators {
        let most = usize::try_from(memory / REGISTERS as u64).unwrap_or(usize::MAX).max(1);
        Estimators { most, by_group: Mutex::default() }
    }

    /// That of a group, which gets one while there is room.
    pub(super) fn of(&self, group: u32) -> Option<Arc<Shared>> {
        let mut by_group = self.by_group.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = by_group.get(&group) {
            return Some(Arc::clone(shared));
        }
        if by_group.len() >= self.most {
            return None;
        }
        Some(Arc::clone(by_group.entry(group).or_insert_with(|| Arc::new(Shared::new()))))
    }

    /// All there are.
    pub(super) fn known(&self) -> Known {
        let mut known = Known::default();
        for (group, shared) in self.by_group.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            known.add(*group, Arc::clone(shared));
        }
        known
    }
}

/// The estimators that a thread knows.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// By group: the place in the list, plus one.
    places: Vec<u32>,
    list: Vec<Arc<Shared>>,
}

impl Known {
    pub(super) fn add(&mut self, group: u32, shared: Arc<Shared>) {
        let group = group as usize;
        if self.places.len() <= group {
            self.places.resize(group + 1, 0);
        }
        if self.places[group] == 0 {
            self.list.push(shared);
            self.places[group] = self.list.len() as u32;
        }
    }

    #[inline]
    pub(super) fn of(&self, group: u32) -> Option<&Shared> {
        match self.places.get(group as usize) {
            None | Some(0) => None,
            Some(place) => self.list.get(*place as usize - 1).map(|shared| &**shared),
        }
    }
}

/// An estimator that sees hashes in their order, and so needs one register at a time.
#[derive(Debug, Clone)]
pub(super) struct Rolling {
    /// How many registers that are done have each rank.
    ranks: [u16; LAST + 1],
    register: u16,
    rank: u8,
}

impl Default for Rolling {
    fn default() -> Self {
        Rolling { ranks: [0; LAST + 1], register: 0, rank: 0 }
    }
}

impl Rolling {
    pub(super) fn insert(&mut self, hash: u64) {
        let register = register(hash) as u16;
        if register != self.register {
            self.end_register();
            self.register = register;
        }
        self.rank = self.rank.max(rank(hash));
    }

    fn end_register(&mut self) {
        if self.rank > 0 {
            self.ranks[usize::from(self.rank)] += 1;
            self.rank = 0;
        }
    }

    /// The keys to plan for.
    pub(super) fn planned(mut self) -> u64 {
        self.end_register();
        let mut ranks = self.ranks.map(u32::from);
        ranks[0] = REGISTERS as u32 - ranks.iter().sum::<u32>();
        Hll::planned(&ranks)
    }
}
