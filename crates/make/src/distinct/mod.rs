//! How many different keys there are: exactly while they are few, estimated when they are many.
//!
//! The state depends on the set of hashes alone, never on their order, on repetition, or on how
//! they were spread over threads: a filter sized by it has the same bytes on every machine.

mod hll;
mod log;
mod wire;

pub use hll::Hll;
pub(crate) use hll::{LAST, REGISTERS, rank, register};
pub use log::HashLog;

pub use crate::pairs::once;
pub(crate) use wire::{Piece, pieces};

/// In one job, up to this many distinct keys are counted exactly.
pub const EXACT: usize = 1 << 24;

/// Once a job estimates, a group is still counted exactly up to this: a log of this size is as
/// large as an estimator.
pub(crate) const SMALL: usize = 2048;

/// This many hashes wait in the logs of a thread at most, all groups together.
const MOST_FRESH: usize = 1 << 24;

/// The distinct keys of one group.
#[derive(Debug, Clone)]
pub enum Distinct {
    /// The hashes themselves.
    Exact(HashLog),
    /// An estimator.
    Estimated(Box<Hll>),
}

impl Default for Distinct {
    fn default() -> Self {
        Distinct::Exact(HashLog::default())
    }
}

impl Distinct {
    /// Gives up a log that is larger than an estimator.
    fn estimate(&mut self) {
        if let Distinct::Exact(log) = self {
            log.settle();
            if log.settled() > SMALL {
                let mut hll = Box::new(Hll::default());
                log.hashes().iter().for_each(|&hash| hll.insert(hash));
                *self = Distinct::Estimated(hll);
            }
        }
    }

    fn merge(&mut self, other: Distinct) {
        match (&mut *self, other) {
            (Distinct::Exact(log), Distinct::Exact(other)) => log.merge(other),
            (Distinct::Estimated(hll), Distinct::Exact(mut log)) => {
                log.settle();
                log.hashes().iter().for_each(|&hash| hll.insert(hash));
            }
            (Distinct::Estimated(hll), Distinct::Estimated(other)) => hll.merge(&other),
            (Distinct::Exact(_), estimated) => {
                let exact = std::mem::replace(self, estimated);
                self.merge(exact);
            }
        }
    }

    /// Whether no key was seen.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Distinct::Exact(log) if log.settled() == 0 && log.fresh() == 0)
    }

    /// Distinct hashes held one by one, as far as they are settled.
    fn settled(&self) -> usize {
        if let Distinct::Exact(log) = self { log.settled() } else { 0 }
    }

    /// The keys to plan for: the exact number, or the estimate and three standard errors.
    pub fn planned(&self) -> u64 {
        match self {
            Distinct::Exact(log) => log.settled() as u64,
            Distinct::Estimated(hll) => Hll::planned(&hll.ranks()),
        }
    }
}

/// The distinct keys of all groups, as one thread or the whole job has seen them.
#[derive(Debug)]
pub struct Counts {
    groups: Vec<Distinct>,
    /// Hashes in all logs that are not settled.
    fresh: usize,
    limit: usize,
    estimating: bool,
}

impl Counts {
    /// Counts exactly up to this many keys in all.
    pub fn new(limit: usize) -> Self {
        Counts { groups: Vec::new(), fresh: 0, limit, estimating: false }
    }

    /// Sees a key of a group.
    #[inline]
    pub fn see(&mut self, group: u32, hash: u64) {
        let group = group as usize;
        if group >= self.groups.len() {
            self.groups.resize_with(group + 1, Distinct::default);
        }
        match &mut self.groups[group] {
            Distinct::Exact(log) => {
                self.fresh += 1;
                if log.push(hash) || (self.estimating && log.fresh() > SMALL) {
                    self.settle(group);
                } else if self.fresh > MOST_FRESH {
                    self.settle_all();
                }
            }
            Distinct::Estimated(hll) => hll.insert(hash),
        }
    }

    #[cold]
    fn settle(&mut self, group: usize) {
        if let Distinct::Exact(log) = &mut self.groups[group] {
            self.fresh -= log.fresh();
            log.settle();
        }
        if self.estimating {
            self.groups[group].estimate();
        } else {
            self.check();
        }
    }

    #[cold]
    fn settle_all(&mut self) {
        for distinct in &mut self.groups {
            if let Distinct::Exact(log) = distinct {
                log.settle();
            }
        }
        self.fresh = 0;
        self.check();
    }

    /// Begins to estimate when there are surely more keys than are counted exactly.
    fn check(&mut self) {
        if self.groups.iter().map(Distinct::settled).sum::<usize>() > self.limit {
            self.estimating = true;
            self.groups.iter_mut().for_each(Distinct::estimate);
            self.fresh = 0;
        }
    }

    /// Brings together what threads saw, each with its own numbers for the groups: `places`
    /// has, for each thread, the common number of each of its groups that has keys.
    pub fn join(
        threads: usize,
        parts: Vec<(Counts, Vec<usize>)>,
        groups: usize,
    ) -> tamis_read::Result<Counts> {
        let limit = parts.first().map_or(EXACT, |(counts, _)| counts.limit);
        let mut estimating = parts.iter().any(|(counts, _)| counts.estimating);
        let mut by_group: Vec<Vec<Distinct>> = Vec::new();
        by_group.resize_with(groups, Vec::new);
        for (counts, places) in parts {
            for (distinct, place) in counts.groups.into_iter().zip(places) {
                if !distinct.is_empty() {
                    by_group[place].push(distinct);
                }
            }
        }
        let by_group: Vec<_> = by_group.into_iter().map(std::sync::Mutex::new).collect();
        let mut groups = crate::parallel::each(threads, by_group.len(), |group| {
            let mut all = Distinct::default();
            for part in std::mem::take(&mut *by_group[group].lock().expect("no holder panics")) {
                all.merge(part);
            }
            Ok(all)
        })?;
        estimating |= groups.iter().map(Distinct::settled).sum::<usize>() > limit;
        if estimating {
            groups.iter_mut().for_each(Distinct::estimate);
        }
        Ok(Counts { groups, fresh: 0, limit, estimating })
    }

    /// The groups.
    pub fn groups(&self) -> &[Distinct] {
        &self.groups
    }

    /// The groups, given away.
    pub(crate) fn into_groups(self) -> Vec<Distinct> {
        self.groups
    }

    /// Whether some counts may be estimates.
    pub fn estimating(&self) -> bool {
        self.estimating
    }
}

#[cfg(test)]
mod tests;
