//! Which groups may hold any of many keys, or all of them: an index over files says which of them to read.

use tamis::key::BadValue;
use tamis_read::Control;
use tamis_read::error::Result;

use crate::ask::{Answers, Filters, TILE};
use crate::query::Asker;
use tamis_make::batch::KeyBatch;
use tamis_make::files::Mapped;
use tamis_make::parallel;

/// Keys that are sought in all groups of a file.
#[derive(Debug)]
pub struct Sought<'f> {
    file: &'f Mapped,
    asker: Asker<'f>,
    batches: Vec<KeyBatch>,
    keys: u64,
}

/// Which groups are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Those that may hold any of the keys.
    Any,
    /// Those that may hold all of them.
    All,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Located {
    /// The groups that may hold any of the keys, or all, in the order for people.
    pub groups: Vec<usize>,
    /// How many groups are expected to be among them by chance, if none held a key.
    pub by_chance: f64,
}

impl<'f> Sought<'f> {
    /// None yet.
    pub fn new(file: &'f Mapped) -> Result<Self> {
        Ok(Sought { file, asker: Asker::new(file)?, batches: Vec::new(), keys: 0 })
    }

    /// One more, as text.
    pub fn push(&mut self, key: &[u8]) -> Result<(), BadValue> {
        let key = self.file.params().common.recipe.key_of_cells(key)?;
        self.push_key(&key);
        Ok(())
    }

    /// One more, by its bytes.
    pub fn push_key(&mut self, key: &[u8]) {
        match self.batches.last_mut().filter(|batch| batch.len() < TILE) {
            Some(batch) => self.asker.put(key, batch),
            None => {
                let mut batch = self.asker.batch();
                self.asker.put(key, &mut batch);
                self.batches.push(batch);
            }
        }
        self.keys += 1;
    }

    /// How many there are.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// The groups that may hold any of them, or all. A group is asked no more once that is known.
    pub fn locate(&self, wanted: Wanted, threads: usize, control: &Control) -> Result<Located> {
        let filters: &Filters<'f> = self.asker.filters();
        let found = parallel::each(threads, filters.len(), |group| {
            control.check()?;
            let (mut answers, mut found) = (Answers::default(), Vec::new());
            let mut holds = |batch: &KeyBatch, held: bool| {
                answers.one(filters, batch, group, &mut found);
                found.contains(&held)
            };
            Ok(match wanted {
                Wanted::Any => self.batches.iter().any(|batch| holds(batch, true)),
                Wanted::All => !self.batches.iter().any(|batch| holds(batch, false)),
            })
        })?;
        // A group of which a key is asked by chance n times is named with 1 - (1 - rate)^n; one of which all
        // n are wanted with rate^n.
        let by_chance = |group: usize| match (self.keys, wanted) {
            (0, _) => 0.0,
            (keys, Wanted::Any) => -(keys as f64 * (-filters.rates_now(group).0).ln_1p()).exp_m1(),
            (keys, Wanted::All) => filters.rates_now(group).0.powf(keys as f64),
        };
        let order = self.asker.order().iter().copied();
        Ok(Located {
            groups: order.filter(|&group| found[group]).collect(),
            by_chance: (0..self.file.params().groups.len()).map(by_chance).sum(),
        })
    }
}
