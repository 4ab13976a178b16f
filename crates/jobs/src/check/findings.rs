//! From the numbers of a test to what follows from them.

use serde::{Deserialize, Serialize};
use tamis::params::Name;
use tamis::sizing::Kind;
use tamis_read::error::Result;

use super::judge::Hits;
use super::report::{FilterResult, GroupResult, Lost, Report};
use super::{Attacked, With};
use crate::ask::Filters;
use crate::removed_keys::RemovedKeys;
use crate::statistics::surprise;
use tamis_make::files::Mapped;
use tamis_make::health;
use tamis_make::parallel;

/// The numbers that a test comes to: sums over keys that were looked at anywhere.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// Distinct keys.
    pub keys: u64,
    /// Keys given as outside that are members of a group.
    pub removed: u64,
    /// Keys that belong to more than one filter.
    pub shared: u64,
    /// By filter, in the order of the file.
    pub filters: Vec<Hits>,
    /// Members of each group that has no filter.
    pub strangers: Vec<(Name, u64)>,
    /// Rows read.
    pub rows: u64,
    /// Rows left out.
    pub skipped: u64,
    /// What an attack came to, by filter; empty where none was tried.
    #[serde(default)]
    pub attacked: Vec<Attacked>,
}

/// What follows from the numbers for these filters. How inputs were understood and the times of phases
/// are for callers that know them.
pub fn conclude(container: &Mapped, findings: Findings, with: With, threads: usize) -> Result<Report> {
    conclude_pair(container, None, findings, with, threads)
}

/// The same where what is in second filters does not pass.
pub(super) fn conclude_pair(
    container: &Mapped,
    removed: Option<&RemovedKeys>,
    findings: Findings,
    with: With,
    threads: usize,
) -> Result<Report> {
    let params = container.params();
    let filters = Filters::of_file(container)?.without_some(removed)?;
    let Findings {
        keys,
        removed: not_outside,
        shared,
        filters: mut hits,
        strangers,
        rows,
        skipped,
        attacked,
    } = findings;
    hits.resize(filters.len(), Hits::default());
    let rates = parallel::each(threads, filters.len(), |group| Ok(filters.rates_now(group)))?;
    let (mut errors, mut losses) = (Expected::default(), Expected::default());
    let mut groups = Vec::new();
    for (i, (group, hits)) in params.groups.iter().zip(&hits).enumerate() {
        let (rate, gone_rate) = rates[i];
        let tally = &container.tallies()[i];
        let filter = FilterResult {
            bits: group.shape.bits(),
            hashes: group.shape.hashes(),
            ones: tally.ones,
            target: group.fpr(),
            expected: rate,
            // Never below zero, except for keys made to collide in XXH3 where murmur3 places them.
            false_positives: hits.all.saturating_sub(hits.found.saturating_sub(hits.lost)),
            negatives: keys.saturating_sub(hits.members),
            attacked: attacked.get(i).copied(),
            honest: rate * (1.0 - gone_rate),
            health: health::of_sketch(params.common.kind, group, tally, filters.sketch(i)),
        };
        let mean = filter.negatives as f64 * rate;
        errors.add(filter.false_positives, mean, mean * (1.0 - rate));
        let lost = removed.map(|_| Lost { keys: hits.lost, of: hits.found, expected: gone_rate });
        if let Some(lost) = &lost {
            let (mean, variance) = lost.mean();
            losses.add(lost.keys, mean, variance);
        }
        groups.push(GroupResult {
            group: group.group.clone(),
            keys: hits.members,
            false_negatives: hits.members.saturating_sub(hits.found) + hits.lost,
            filter: Some(filter),
            lost,
        });
    }
    for (group, keys) in strangers {
        groups.push(GroupResult { group, keys, false_negatives: keys, filter: None, lost: None });
    }
    groups.sort_by(|a, b| a.group.compare_naturally(&b.group));
    // The second filter of a pair holds keys of the first, so that the two do not err independently.
    let unjudged =
        removed.is_some() || params.common.kind == Kind::Layered && (with.members || with.negatives);
    let apart = shared == 0;
    Ok(Report {
        filters: params.common.clone(),
        groups,
        keys,
        rows,
        skipped,
        inputs: Vec::new(),
        removed: not_outside,
        unjudged,
        surprise: if unjudged { 1.0 } else { errors.surprise(apart && with.members, filters.len()) },
        expected_false_positives: errors.mean,
        lost_surprise: removed.map(|_| losses.surprise(apart, filters.len())),
        doubts: Vec::new(),
        phases: Vec::new(),
    })
}

/// A number that was counted over all groups, beside what was to be expected of it.
struct Expected {
    counted: u64,
    mean: f64,
    variance: f64,
    /// The probability of the least probable group.
    least: f64,
}

impl Default for Expected {
    fn default() -> Self {
        Expected { counted: 0, mean: 0.0, variance: 0.0, least: 1.0 }
    }
}

impl Expected {
    /// Adds a group.
    fn add(&mut self, counted: u64, mean: f64, variance: f64) {
        self.counted += counted;
        self.mean += mean;
        self.variance += variance;
        self.least = self.least.min(surprise(counted, mean, variance));
    }

    /// How probable numbers so far from their expectation are: that of the sum, where groups are
    /// independent of each other; otherwise a bound that holds however they depend on each other.
    fn surprise(&self, independent: bool, groups: usize) -> f64 {
        match independent {
            true => surprise(self.counted, self.mean, self.variance),
            false => (self.least * groups as f64).min(1.0),
        }
    }
}
