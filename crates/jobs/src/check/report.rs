//! What a test found: of each filter, and of all together.

use std::time::Duration;

use tamis::params::{Common, Name};
use tamis_read::Explained;

use super::Attacked;
use crate::classes::Doubt;
use crate::statistics::wilson;
use tamis_make::health::Health;

/// What was found in one group.
#[derive(Debug, Clone)]
pub struct GroupResult {
    /// Its name.
    pub group: Name,
    /// Distinct keys that belong to it.
    pub keys: u64,
    /// False positives, negatives and everything else about its filter; none where the file has no
    /// filter for this group.
    pub filter: Option<FilterResult>,
    /// Distinct keys that belong to it and are not found, or are taken for removed.
    pub false_negatives: u64,
    /// Those that are taken for removed, where there are filters of removed keys.
    pub lost: Option<Lost>,
}

/// Members that a filter of removed keys takes for removed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lost {
    /// How many.
    pub keys: u64,
    /// Of this many that the first filter finds.
    pub of: u64,
    /// The rate to expect: that of the second filter, from what it holds.
    pub expected: f64,
}

impl Lost {
    /// Lost keys / members.
    pub fn rate(&self) -> f64 {
        if self.of == 0 { 0.0 } else { self.keys as f64 / self.of as f64 }
    }

    /// The 95 % interval of the rate.
    pub fn interval(&self) -> (f64, f64) {
        wilson(self.keys, self.of)
    }

    /// The expected number, and the variance.
    pub fn mean(&self) -> (f64, f64) {
        let mean = self.of as f64 * self.expected;
        (mean, mean * (1.0 - self.expected))
    }
}

/// What was found in one filter.
#[derive(Debug, Clone)]
pub struct FilterResult {
    /// Its bits.
    pub bits: u64,
    /// Hashes per key.
    pub hashes: u32,
    /// Bits that are set.
    pub ones: u64,
    /// The rate that it was planned for.
    pub target: f64,
    /// The rate to expect of just this filter, from the bits that are set.
    pub expected: f64,
    /// Distinct keys outside its group that it lets pass.
    pub false_positives: u64,
    /// Distinct keys outside its group.
    pub negatives: u64,
    /// What keys did that were made for this filter, where an attack was tried.
    pub attacked: Option<Attacked>,
    /// The rate to expect of honest keys, also where what was removed does not pass.
    pub honest: f64,
    /// Its state.
    pub health: Health,
}

impl FilterResult {
    /// False positives / negatives.
    pub fn rate(&self) -> f64 {
        if self.negatives == 0 { 0.0 } else { self.false_positives as f64 / self.negatives as f64 }
    }

    /// The 95 % interval of the rate.
    pub fn interval(&self) -> (f64, f64) {
        wilson(self.false_positives, self.negatives)
    }
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Report {
    /// Kind, hash and recipe of the filters.
    pub filters: Common,
    /// By group, in natural order.
    pub groups: Vec<GroupResult>,
    /// Distinct keys in all.
    pub keys: u64,
    /// Rows read.
    pub rows: u64,
    /// Rows left out.
    pub skipped: u64,
    /// How the inputs were understood.
    pub inputs: Vec<Explained>,
    /// Keys given as outside that are members after all.
    pub removed: u64,
    /// How probable false positives so far from their expectation are, all groups together.
    ///
    /// Where the data shows that no key belongs to two groups, the filters err independently, and
    /// this is the probability of the sum. Filters of groups that share keys err together; then it
    /// is that of the least probable group, times their number, which holds however they depend
    /// on each other.
    pub surprise: f64,
    /// Whether that cannot be told: what a layered filter lets pass depends on the keywords that
    /// records share, and only of random ones is it known; what a pair lets pass, on the keys that its
    /// filters share.
    pub unjudged: bool,
    /// False positives to expect, all groups together, from the bits that are set.
    pub expected_false_positives: f64,
    /// Where there are filters of removed keys: how probable this many lost members are, by their rates.
    pub lost_surprise: Option<f64>,
    /// What is to be said of keys that are of another class than those of the file.
    pub doubts: Vec<Doubt>,
    /// The time of each phase.
    pub phases: Vec<(&'static str, Duration)>,
}

/// Below this probability the false positives are taken for a fault.
pub const IMPROBABLE: f64 = 1e-6;

impl Report {
    /// False negatives of all groups.
    pub fn false_negatives(&self) -> u64 {
        self.groups.iter().map(|group| group.false_negatives).sum()
    }

    /// False positives and negatives of all groups.
    pub fn false_positives(&self) -> (u64, u64) {
        let filters = self.groups.iter().filter_map(|group| group.filter.as_ref());
        filters.fold((0, 0), |(hits, all), filter| (hits + filter.false_positives, all + filter.negatives))
    }

    /// What keys did that were made for the filters, all together; the rate to expect of honest keys; and the
    /// filters for which none could be made. None where no attack was tried.
    pub fn attacked(&self) -> Option<(Attacked, f64, usize)> {
        let filters = self.groups.iter().filter_map(|group| group.filter.as_ref());
        let attacks = filters.filter_map(|filter| Some((filter.attacked?, filter.honest)));
        attacks.fold(None, |sum, (attacked, rate)| {
            let (mut all, mut honest, mut unfound) = sum.unwrap_or((Attacked::default(), 0.0, 0));
            all.keys += attacked.keys;
            all.passed += attacked.passed;
            // The mean, weighted by the keys of each.
            honest += (rate - honest) * attacked.keys as f64 / all.keys.max(1) as f64;
            unfound += usize::from(attacked.keys == 0);
            Some((all, honest, unfound))
        })
    }

    /// Members of all groups that are mistaken for removed, out of how many, and the expected number.
    pub fn lost(&self) -> Option<(Lost, f64)> {
        let mut all = (Lost { keys: 0, of: 0, expected: 0.0 }, 0.0);
        for lost in self.groups.iter().filter_map(|group| group.lost) {
            all = (
                Lost { keys: all.0.keys + lost.keys, of: all.0.of + lost.of, ..all.0 },
                all.1 + lost.mean().0,
            );
        }
        all.0.expected = all.1 / (all.0.of as f64).max(1.0);
        self.lost_surprise.map(|_| all)
    }

    /// Whether the filters are what they should be. With filters of removed keys, members may be lost to
    /// these, but no more than their rate lets expect.
    pub fn passed(&self) -> bool {
        let lost = self.lost().map_or(0, |(lost, _)| lost.keys);
        self.false_negatives() == lost
            && self.surprise >= IMPROBABLE
            && self.lost_surprise.is_none_or(|surprise| surprise >= IMPROBABLE)
    }
}
