//! How far two sets overlap, told by their filters.

use std::path::Path;

use tamis::blocked::Blocked;
use tamis::counting::Counting;
use tamis::memory::Words;
use tamis::params::Name;
use tamis::sizing::Kind;
use tamis::sketch::estimated_keys;
use tamis_read::error::{Error, Result};
use tamis_read::refusal::{self, Help};

use crate::files::Mapped;
use crate::merge::{mergeable, names_of_both};
use crate::{files, opt, parallel};

/// What two filters of one group tell about their sets. All numbers are estimates.
#[derive(Debug, Clone, PartialEq)]
pub struct Overlap {
    /// The group.
    pub group: Name,
    /// Keys in the first set.
    pub first: f64,
    /// Keys in the second set.
    pub second: f64,
    /// Keys in either.
    pub union: f64,
    /// Keys in both.
    pub both: f64,
}

impl Overlap {
    /// Keys in both / keys in either.
    pub fn jaccard(&self) -> f64 {
        if self.union > 0.0 { self.both / self.union } else { 0.0 }
    }
}

/// Why two files are not compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// They count.
    #[error("sketches that count tell nothing about the overlap of sets")]
    Counts,
    /// Their bits do not show which keys they share.
    #[error("the bits of {kind} filters tell nothing about overlap")]
    Bits {
        /// The kind.
        kind: Kind,
    },
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        let blocked = Help::DoWith("build both files", vec![opt::KIND.with("blocked")]);
        match self {
            Refusal::Counts => vec![Help::Do("multiply them with inner-product"), blocked],
            Refusal::Bits { .. } => vec![blocked],
        }
    }
}

/// Compares two files, group by group; a group that only one has is compared with none.
pub fn compare(a_path: &Path, b_path: &Path, threads: usize) -> Result<Vec<Overlap>> {
    let (a, b) = (files::open_any(a_path)?, files::open_any(b_path)?);
    for file in [&a, &b] {
        let kind = file.params().common.kind;
        if kind.counts() {
            return Err(Refusal::Counts.into());
        }
        if kind.is_static() || kind == Kind::Scalable {
            return Err(Refusal::Bits { kind }.into());
        }
    }
    mergeable(&a, a_path, &b, b_path)?;
    let names = names_of_both(&a, &b);
    parallel::each(threads, names.len(), |i| {
        let name = names[i];
        let (in_a, in_b) = (a.params().find(&name.0), b.params().find(&name.0));
        let shape = in_a.map(|at| a.params().groups[at].shape).or(in_b.map(|at| b.params().groups[at].shape));
        let shape = shape.expect("a name comes from one of the two");
        // Records are counted by the XOR layer, which is the last; its bits are read.
        let layered = a.params().common.kind == Kind::Layered;
        let kind = a.params().common.kind;
        let bits = if layered { shape.slots() } else { shape.cells() };
        let keys = |ones: u64| estimated_keys(ones, bits, shape.hashes());
        let counted = |file: &Mapped, at: usize| match layered {
            true => xor_layer(file, at, bits).iter().map(|word| u64::from(word.count_ones())).sum(),
            false => file.tallies()[at].ones,
        };
        let first = in_a.map_or(0.0, |at| keys(counted(&a, at)));
        let second = in_b.map_or(0.0, |at| keys(counted(&b, at)));
        let union = match (in_a, in_b) {
            (Some(x), Some(y)) => {
                a.verify(x).map_err(Error::file(a_path))?;
                b.verify(y).map_err(Error::file(b_path))?;
                if kind == Kind::Counting {
                    let either = |x: u64, y: u64| u64::from((x | y).count_ones());
                    let (one, two) = (without_counters(&a, x)?, without_counters(&b, y)?);
                    keys(one.words().iter().zip(two.words()).map(|(x, y)| either(*x, *y)).sum())
                } else {
                    let pairs = match layered {
                        true => xor_layer(&a, x, bits).iter().zip(xor_layer(&b, y, bits)),
                        false => a.section(x).iter().zip(b.section(y)),
                    };
                    keys(pairs.map(|(x, y)| u64::from((x | y).count_ones())).sum())
                }
            }
            _ => first + second,
        };
        // Noise may push the estimate of the overlap of strangers a little below zero.
        let both = (first + second - union).min(first.min(second)).max(0.0);
        Ok(Overlap { group: name.clone(), first, second, union, both })
    })
}

/// A `counting` as the `blocked` that it is, too.
fn without_counters(file: &Mapped, group: usize) -> Result<Blocked<Words>> {
    let hashes = file.params().groups[group].shape.hashes();
    Ok(Counting::from_words(file.section(group), hashes)?.to_blocked()?)
}

/// The last layer of a `layered`.
fn xor_layer(file: &Mapped, group: usize, bits: u64) -> &[u64] {
    let section = file.section(group);
    &section[section.len() - (bits / 64) as usize..]
}
