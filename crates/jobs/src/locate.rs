//! Which groups may hold any of many keys: an index over files says which of them to read.

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

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Located {
    /// The groups that may hold one of the keys, in the order for people.
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
        match self.batches.last_mut().filter(|batch| batch.len() < TILE) {
            Some(batch) => self.asker.put(key, batch)?,
            None => {
                let batch = self.asker.batch_of(key)?;
                self.batches.push(batch);
            }
        }
        self.keys += 1;
        Ok(())
    }

    /// How many there are.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// The groups that may hold any of them. A group is asked no more once it may hold one.
    pub fn locate(&self, threads: usize, control: &Control) -> Result<Located> {
        let filters: &Filters<'f> = self.asker.filters();
        let found = parallel::each(threads, filters.len(), |group| {
            control.check()?;
            let (mut answers, mut found) = (Answers::default(), Vec::new());
            Ok(self.batches.iter().any(|batch| {
                answers.one(filters, batch, group, &mut found);
                found.contains(&true)
            }))
        })?;
        // A group of which a key is asked by chance n times is named with 1 - (1 - rate)^n.
        let by_chance = |group: usize| match self.keys {
            0 => 0.0,
            keys => -(keys as f64 * (-filters.rates_now(group).0).ln_1p()).exp_m1(),
        };
        let order = self.asker.order().iter().copied();
        Ok(Located {
            groups: order.filter(|&group| found[group]).collect(),
            by_chance: (0..self.file.params().groups.len()).map(by_chance).sum(),
        })
    }
}
