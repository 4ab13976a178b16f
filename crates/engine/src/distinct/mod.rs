//! How many different keys there are: exactly while they are few, estimated when they are many.
//!
//! The state depends on the set of hashes alone, never on their order, on repetition, or on how
//! they were spread over threads: a filter sized by it has the same bytes on every machine.

mod hll;
mod set;

pub use hll::Hll;
pub use set::HashSet64;

/// In one job, up to so many distinct keys are counted exactly.
pub const EXACT: usize = 1 << 24;

/// Once a job estimates, a group is still counted exactly up to this: a set of this size is as
/// large as an estimator.
const SMALL: usize = 2048;

/// The distinct keys of one group.
#[derive(Debug, Clone)]
pub enum Distinct {
    /// The hashes themselves.
    Exact(HashSet64),
    /// An estimator.
    Estimated(Box<Hll>),
}

impl Default for Distinct {
    fn default() -> Self {
        Distinct::Exact(HashSet64::default())
    }
}

impl Distinct {
    fn insert(&mut self, hash: u64) -> bool {
        match self {
            Distinct::Exact(set) => set.insert(hash),
            Distinct::Estimated(hll) => {
                hll.insert(hash);
                false
            }
        }
    }

    /// Hashes held one by one.
    fn held(&self) -> usize {
        if let Distinct::Exact(set) = self { set.len() } else { 0 }
    }

    /// Gives up a set that is larger than an estimator.
    fn estimate(&mut self) {
        if let Distinct::Exact(set) = self
            && set.len() > SMALL
        {
            let mut hll = Box::new(Hll::default());
            set.iter().for_each(|hash| hll.insert(hash));
            *self = Distinct::Estimated(hll);
        }
    }

    fn merge(&mut self, other: Distinct) {
        match (&mut *self, other) {
            (Distinct::Exact(set), Distinct::Exact(other)) => {
                // The larger one stays, so that the smaller one is moved.
                let (mut large, small) = if set.len() >= other.len() {
                    (std::mem::take(set), other)
                } else {
                    (other, std::mem::take(set))
                };
                small.iter().for_each(|hash| {
                    large.insert(hash);
                });
                *self = Distinct::Exact(large);
            }
            (Distinct::Estimated(hll), Distinct::Exact(set)) => set.iter().for_each(|hash| hll.insert(hash)),
            (Distinct::Estimated(hll), Distinct::Estimated(other)) => hll.merge(&other),
            (Distinct::Exact(_), estimated) => {
                let exact = std::mem::replace(self, estimated);
                self.merge(exact);
            }
        }
    }

    /// The keys to plan for: the exact number, or the estimate and three standard errors.
    pub fn planned(&self) -> u64 {
        match self {
            Distinct::Exact(set) => set.len() as u64,
            Distinct::Estimated(hll) => (hll.estimate() * (1.0 + 3.0 * Hll::STANDARD_ERROR)).ceil() as u64,
        }
    }
}

/// The distinct keys of all groups, as one thread or the whole job has seen them.
#[derive(Debug)]
pub struct Counts {
    groups: Vec<Distinct>,
    /// Hashes in all exact sets.
    held: usize,
    limit: usize,
    estimating: bool,
}

impl Counts {
    /// Counts exactly up to so many keys in all.
    pub fn new(limit: usize) -> Self {
        Counts { groups: Vec::new(), held: 0, limit, estimating: false }
    }

    /// Sees a key of a group.
    #[inline]
    pub fn see(&mut self, group: u32, hash: u64) {
        let group = group as usize;
        if group >= self.groups.len() {
            self.groups.resize_with(group + 1, Distinct::default);
        }
        let distinct = &mut self.groups[group];
        if distinct.insert(hash) {
            self.held += 1;
            if self.held > self.limit {
                self.estimating = true;
            }
            if self.estimating {
                self.shrink(group);
            }
        }
    }

    #[cold]
    fn shrink(&mut self, group: usize) {
        if self.held <= self.limit {
            return self.groups[group].estimate();
        }
        self.groups.iter_mut().for_each(Distinct::estimate);
        // Small sets stay exact however many they are; the walk over all groups must not be
        // repeated for each further key.
        self.held = self.groups.iter().map(Distinct::held).sum::<usize>().min(self.limit / 2);
    }

    /// Brings together what threads saw, each with its own numbers for the groups: `places`
    /// has, for each thread, the common number of each of its groups.
    pub fn join(threads: usize, parts: Vec<(Counts, Vec<usize>)>, groups: usize) -> crate::Result<Counts> {
        let limit = parts.first().map_or(EXACT, |(counts, _)| counts.limit);
        let mut estimating = parts.iter().any(|(counts, _)| counts.estimating);
        let mut by_group: Vec<Vec<Distinct>> = Vec::new();
        by_group.resize_with(groups, Vec::new);
        for (counts, places) in parts {
            for (distinct, place) in counts.groups.into_iter().zip(places) {
                by_group[place].push(distinct);
            }
        }
        let by_group: Vec<_> = by_group.into_iter().map(std::sync::Mutex::new).collect();
        let mut groups = crate::parallel::each(threads, by_group.len(), |group| {
            let parts = std::mem::take(&mut *by_group[group].lock().expect("no holder panics"));
            Ok(parts
                .into_iter()
                .reduce(|mut all, part| {
                    all.merge(part);
                    all
                })
                .unwrap_or_default())
        })?;
        let held = groups.iter().map(Distinct::held).sum();
        estimating |= held > limit;
        if estimating {
            groups.iter_mut().for_each(Distinct::estimate);
        }
        Ok(Counts { groups, held, limit, estimating })
    }

    /// The groups.
    pub fn groups(&self) -> &[Distinct] {
        &self.groups
    }

    /// Whether some counts may be estimates.
    pub fn estimating(&self) -> bool {
        self.estimating
    }
}

#[cfg(test)]
mod tests;
