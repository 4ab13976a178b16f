//! The inner product of two streams, told by their sketches.

use std::path::Path;

use tamis::params::Name;
use tamis::sizing::Kind;
use tamis::sketch::Sketch;
use tamis_read::error::{Error, Result};

use super::{OfCounts, Promise, Refusal, refuse_filters};
use crate::files::Mapped;
use crate::merge::{mergeable, names_of_both};
use crate::{files, parallel, place};

/// The inner product of one group's streams: the sum over all keys of the product of their weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Product {
    /// The group.
    pub group: Name,
    /// The estimate: never below the truth, unless counters ran full.
    pub estimate: u128,
    /// How far it is above the truth at most, except with a probability of δ: ε times both totals. None
    /// where one of these ran full.
    pub bound: Option<f64>,
    /// The total weights.
    pub totals: (u64, u64),
    /// ε and δ.
    pub epsilon: f64,
    /// How probably the bound does not hold.
    pub delta: f64,
    /// Counters that ran full in either sketch: if there are any, the truth may be above the estimate.
    pub full: u64,
}

/// Multiplies the sketches of two files, group by group; a group that only one has is multiplied with
/// none. The same file twice: the size of the self-join.
pub fn inner_product(a_path: &Path, b_path: &Path, threads: usize) -> Result<Vec<Product>> {
    let (a, b) = (files::open_as_is(a_path)?, files::open_as_is(b_path)?);
    for (file, path) in [(&a, a_path), (&b, b_path)] {
        refuse_filters(path, file.params(), OfCounts::InnerProduct)?;
        if file.params().common.kind == Kind::CountMinConservative {
            return Err(Error::input(path, Refusal::Conservative));
        }
    }
    let itself = place::is_one_file(a_path, b_path); // whose counters are not counted twice
    mergeable(&a, a_path, &b, b_path)?;
    let names = names_of_both(&a, &b);
    parallel::each(threads, names.len(), |i| {
        let (in_a, in_b) = (a.params().find(&names[i].0), b.params().find(&names[i].0));
        let group = in_a.map(|at| &a.params().groups[at]).or(in_b.map(|at| &b.params().groups[at]));
        let total = |file: &Mapped, at: Option<usize>| at.map_or(0, |at| file.tallies()[at].total_weight());
        let totals = (total(&a, in_a), total(&b, in_b));
        let Promise { epsilon, delta, .. } =
            Promise::of(group.expect("a name comes from one of the two"), totals.0);
        let (mut estimate, mut full) = (0, 0);
        if let (Some(x), Some(y)) = (in_a, in_b) {
            a.verify(x).map_err(Error::file(a_path))?;
            b.verify(y).map_err(Error::file(b_path))?;
            if let (Sketch::CountMin(one), Sketch::CountMin(two)) = (a.sketch(x)?, b.sketch(y)?) {
                estimate = one.inner_product(&two)?;
                full = one.census().saturated;
                if !itself {
                    full += two.census().saturated;
                }
            }
        }
        Ok(Product {
            group: names[i].clone(),
            estimate,
            bound: ([totals.0, totals.1].iter().all(|total| *total < u64::MAX))
                .then_some(epsilon * totals.0 as f64 * totals.1 as f64),
            totals,
            epsilon,
            delta,
            full,
        })
    })
}
