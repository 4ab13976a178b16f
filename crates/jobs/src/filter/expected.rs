//! How many records pass that should not: what the bits of the filters tell, and how many were rejected.
//!
//! Of N records whose key is not in the set, N·r pass and N·(1 − r) do not; so for every record that did
//! not, r / (1 − r) records are expected to have passed wrongly.

use std::path::Path;

use tamis::sizing::estimated_keys;
use tamis::sketch::Sketch;
use tamis_make::batch::{Keeps, KeyBatch, Needs};
use tamis_make::exact;
use tamis_make::files::Mapped;
use tamis_make::parallel;
use tamis_read::error::Result;

use super::{Exact, KnownBy};
use crate::ask::{Answers, Filters};

/// The rate of some filters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// The share of keys outside the set that pass.
    pub value: f64,
    /// Whether it may be less, since groups may share keys and it is too low to be measured.
    pub at_most: bool,
}

/// The rates of the filters of these groups, each from the bits that are set; and those of the filters of
/// what was removed from them.
pub(super) fn rates(filters: &Filters<'_>, groups: &[usize], threads: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let rates = parallel::each(threads, groups.len(), |i| Ok(filters.rates_now(groups[i])))?;
    Ok(rates.into_iter().unzip())
}

/// The rate of filters of which any may let a record pass.
///
/// If no two groups share a key, the filters err independently. Filters of the same keys err together, and
/// all of them let pass little more than one. What their bits do not tell, random keys do: they are asked
/// for, until it is clear which of the two it is, or how much there is between them.
pub(super) fn of_any(filters: &Filters<'_>, groups: &[usize], rates: &[f64]) -> Rate {
    let apart = 1.0 - rates.iter().map(|rate| 1.0 - rate).product::<f64>();
    let least = rates.iter().copied().fold(0.0, f64::max);
    if apart <= 1.02 * least || apart.is_nan() {
        return Rate { value: apart, at_most: false };
    }
    let mut probes = Probes::new(filters.needs());
    let most = (LOOKUPS / groups.len() as u64).max(ROUND);
    while probes.asked < most && probes.hits < ENOUGH {
        probes.ask(filters, groups);
        // Independent after all, as far as one can see: then the bits tell more exactly.
        let expected = apart * probes.asked as f64;
        if expected >= 100.0
            && (probes.hits as f64 - expected).abs() < 3.0 * (expected * (1.0 - apart)).sqrt()
        {
            return Rate { value: apart, at_most: false };
        }
    }
    match probes.hits {
        0..100 => Rate { value: apart, at_most: true },
        hits => Rate { value: (hits as f64 / probes.asked as f64).clamp(least, apart), at_most: false },
    }
}

/// The size of the set of several groups, at least and at most. Where all filters have one shape, their
/// bits together are those of one filter of all keys, which tells how many there are.
pub(super) fn shared(filters: &Filters<'_>, groups: &[usize], keys: (f64, f64)) -> (f64, f64) {
    let of = |&group: &usize| match filters.sketch(group) {
        Sketch::Blocked(filter) => Some((filter.words(), filter.words().len() as u64 * 64, filter.hashes())),
        Sketch::Bloom(filter) => Some((filter.words(), filter.bits(), filter.hashes())),
        _ => None,
    };
    let Some(all) = groups.iter().map(of).collect::<Option<Vec<_>>>() else { return keys };
    let Some(&(first, bits, hashes)) = all.first() else { return keys };
    if !all.iter().all(|(_, its_bits, its_hashes)| (*its_bits, *its_hashes) == (bits, hashes)) {
        return keys;
    }
    let mut together = [0u64; 512];
    let mut ones = 0;
    for from in (0..first.len()).step_by(together.len()) {
        let part = from..first.len().min(from + together.len());
        let together = &mut together[..part.len()];
        together.fill(0);
        for (words, ..) in &all {
            together.iter_mut().zip(&words[part.clone()]).for_each(|(all, word)| *all |= word);
        }
        ones += together.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
    }
    let found = estimated_keys(ones, bits, hashes);
    if found.is_nan() { keys } else { (found.clamp(keys.0, keys.1), found.clamp(keys.0, keys.1)) }
}

/// The size of the set of one filter, where it is known exactly. That of several is not: they may share keys.
pub(super) fn exact(path: &Path, file: &Mapped, groups: &[usize]) -> Option<Exact> {
    let params = file.params();
    let &[group] = groups else { return None };
    let planned = params.groups[group].keys();
    if params.common.kind.is_static() {
        return Some(Exact { keys: planned, by: KnownBy::Static });
    }
    // Keys of another file, or damaged ones, tell nothing; whoever needs them is told.
    if params.groups.len() == 1
        && let Ok(Some(store)) = exact::beside(path, file)
    {
        return Some(Exact { keys: store.pairs(), by: KnownBy::Keys });
    }
    file.keys_are_counted().then_some(Exact { keys: planned, by: KnownBy::Count })
}

/// The records to expect that passed wrongly, where this many did not pass.
pub(super) fn passed(rejected: u64, rate: f64) -> f64 {
    if rejected > 0 { rejected as f64 * rate / (1.0 - rate) } else { 0.0 }
}

/// Keys that are asked about at a time.
const ROUND: u64 = 1 << 13;

/// Lookups that are worth knowing the rate: some ten milliseconds.
const LOOKUPS: u64 = 1 << 21;

/// With this many hits the rate is known to a hundredth.
const ENOUGH: u64 = 10_000;

/// Keys that are in no set.
struct Probes {
    keys: KeyBatch,
    answers: Answers,
    found: Vec<bool>,
    needs: Needs,
    state: u64,
    asked: u64,
    hits: u64,
}

impl Probes {
    fn new(needs: Needs) -> Probes {
        let keys = KeyBatch::new(Keeps { needs, ..Keeps::default() });
        Probes { keys, answers: Answers::default(), found: Vec::new(), needs, state: 0, asked: 0, hits: 0 }
    }

    /// The same numbers each time, as good as random.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn ask(&mut self, filters: &Filters<'_>, groups: &[usize]) {
        self.keys.clear();
        let count = if let Needs::Lanes(count) = self.needs { count } else { 0 };
        let (wide_count, range) = match self.needs {
            Needs::Wide(foreign, count) => (count, foreign.range().unwrap_or(u64::MAX)),
            _ => (0, u64::MAX),
        };
        let (mut lanes, mut wide) = (Vec::new(), Vec::new());
        for _ in 0..ROUND {
            lanes.clear();
            lanes.extend((0..count).map(|_| (self.next() >> 32) as u32));
            wide.clear();
            wide.extend((0..wide_count).map(|_| self.next() % range));
            let hash = self.next();
            self.keys.push_made(hash, 0, &lanes, hash.to_le_bytes(), wide.iter().copied());
        }
        self.answers.any(filters, &self.keys, groups.iter().copied(), &mut self.found);
        self.asked += ROUND;
        self.hits += self.found.iter().filter(|hit| **hit).count() as u64;
    }
}
