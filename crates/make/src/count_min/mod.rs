//! Sketches that count: how they are built, asked, listed, multiplied and tested.
//!
//! Counters are added up, so threads and files are joined by sums, and the bytes do not depend on
//! how rows are split. The conservative update depends on the order of rows: there one thread
//! updates, in the order of the input, and the others make the keys.

mod build;
mod heavy;
mod inner;
pub mod rank;
mod refusal;
mod top;

use std::path::Path;

use tamis::countmin::{CountMin, Update, delta_of};
use tamis::params::{GroupParams, Params};
use tamis::sizing::Kind;
use tamis_read::error::{Error, Result};

pub(crate) use self::build::in_order;
pub use self::heavy::Wanted;
pub(crate) use self::heavy::{join_heavy, keep_heavy, merged_heavy, weighed};
pub use self::inner::{Product, inner_product};
pub use self::refusal::{OfCounts, OfSets, Refusal};
pub use self::top::{Hit, Listing, TopGroup, top_of_data, top_of_file, top_of_open};

/// What is promised of estimates: truth ≤ estimate ≤ truth + bound, the latter except with a probability
/// of δ. Of a key whose counters all ran full there is no estimate: that they hold their largest value
/// takes its place where the truth is at least, and the total where it is at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Promise {
    /// The sum of all weights: N, or 2⁶⁴ − 1 where it is more.
    pub total: u64,
    /// ε.
    pub epsilon: f64,
    /// δ.
    pub delta: f64,
}

impl Promise {
    /// That of a group whose weights sum up to this total.
    pub fn of(group: &GroupParams, total: u64) -> Promise {
        Promise { total, epsilon: group.epsilon(), delta: delta_of(group.shape.hashes()) }
    }

    /// Whether the total ran full: it is what it says or more, and the bound is not known.
    pub fn total_is_full(&self) -> bool {
        self.total == u64::MAX
    }

    /// εN, as an integer: errors are integers. Where the total ran full, it is more.
    pub fn bound(&self) -> u64 {
        (self.epsilon * self.total as f64) as u64
    }

    /// What the true weight is at least where the smallest counter holds this, full or not, except for
    /// a probability of δ.
    pub fn at_least(&self, estimate: u64) -> u64 {
        if self.total_is_full() { 0 } else { estimate.saturating_sub(self.bound()) }
    }

    /// What the true weight is at most: the estimate or, if there is none, the total. Nothing where
    /// that is not known either.
    pub fn at_most(&self, estimate: Option<u64>) -> Option<u64> {
        estimate.or((!self.total_is_full()).then_some(self.total))
    }

    /// Which share of the total this is, where that is known.
    pub fn share(&self, estimate: u64) -> Option<f64> {
        (!self.total_is_full()).then(|| estimate as f64 / (self.total as f64).max(1.0))
    }
}

/// What a kind adds weights by; that of kinds that count.
fn update_of(kind: Kind) -> Update {
    if kind == Kind::CountMinConservative { Update::Conservative } else { Update::Plain }
}

/// The sketches in an arena, with their totals.
fn sketches<'w>(params: &Params, arena: &'w [u64], totals: &[u64]) -> Result<Vec<CountMin<&'w [u64]>>> {
    let (starts, _) = params.layout();
    let update = update_of(params.common.kind);
    let groups = params.groups.iter().zip(starts).zip(totals);
    let sketch = |((group, start), total): ((&GroupParams, usize), &u64)| {
        let words = group.shape.words() as usize;
        let sketch = CountMin::from_words(&arena[start..start + words], group.shape, update, *total)?;
        Ok(sketch.placed_by(params.common.hash))
    };
    groups.map(sketch).collect()
}

/// Refuses sketches that count where sets are asked for.
pub fn refuse(path: &Path, params: &Params, asked: OfSets) -> Result<()> {
    match params.common.kind.counts() {
        true => Err(Error::input(path, Refusal::Counts { asked })),
        false => Ok(()),
    }
}

/// Refuses filters where counts are asked for.
fn refuse_filters(path: &Path, params: &Params, asked: OfCounts) -> Result<()> {
    match params.common.kind {
        kind if kind.counts() => Ok(()),
        kind => Err(Error::input(path, Refusal::Filters { kind, asked })),
    }
}
