//! An attack on filters: a stranger who has the file makes keys for it, and they are counted that pass.
//!
//! The stranger knows the file, its seed included, and one key of each group where the test has data; without
//! data, a key that passes is found by trying. All other keys are [made](super::forged) with the hash of that
//! one. What passes is asked of the filters, not concluded: a hash that cannot be forged lets these keys pass
//! as seldom as any others.

use serde::{Deserialize, Serialize};
use tamis::hash::{Scheme, xxh3};
use tamis::layered;
use tamis::params::Params;
use tamis::sizing::Kind;
use tamis_read::Control;
use tamis_read::error::Result;

use super::forged::Forger;
use super::gather::{Beside, Part};
use crate::ask::{Answers, Filters, TILE};
use tamis_make::batch::{Keeps, KeyBatch, Needs};
use tamis_make::parallel;
use tamis_make::rows::{Key, Take};

/// Where no key of a group is known, this many are tried at most in all groups together: enough for rates down to
/// one in a million.
const TRIES: u64 = 1 << 22;

/// And this many in each group at least, however many there are.
const LEAST_TRIES: u64 = 1 << 12;

/// Of a filter that lets fewer than this share of a key pass in all tries, none is tried. There may be many such.
const HOPELESS: f64 = 0.01;

/// What the keys that were made for one filter did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attacked {
    /// The keys; none where no key that passes was found to make them from.
    pub keys: u64,
    /// Those that pass.
    pub passed: u64,
}

impl Attacked {
    /// The share that passes.
    pub fn rate(self) -> f64 {
        if self.keys == 0 { 0.0 } else { self.passed as f64 / self.keys as f64 }
    }
}

/// A key of a group: its hash, and what keys are made from; of a record, the hash of each keyword.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    hash: u64,
    bases: Vec<u64>,
}

/// One key of each group that has any.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownKeys(Vec<Option<Known>>);

impl KnownKeys {
    /// The first keys of a part, by their hashes, so that they do not depend on the order of rows.
    pub fn of(part: &Part, beside: Beside, groups: usize) -> KnownKeys {
        let mut known = KnownKeys(vec![None; groups]);
        // A member does not have the form of the keys that are made for hashes of bytes.
        if matches!(beside.0, Needs::Lanes(_) | Needs::Bytes(_) | Needs::Wide(..)) {
            return known;
        }
        for record in &part.records {
            let Some(known) = known.0.get_mut(record.group as usize) else { continue };
            if known.as_ref().is_none_or(|known| record.hash < known.hash) {
                let bases = match beside.0 {
                    Needs::Keywords(_) => part.wide(record, beside).collect(),
                    _ => vec![record.hash],
                };
                *known = Some(Known { hash: record.hash, bases });
            }
        }
        known
    }

    /// And those of a part with greater hashes, where none are known yet.
    pub fn add(&mut self, later: KnownKeys) {
        self.0.resize(self.0.len().max(later.0.len()), None);
        for (mine, theirs) in self.0.iter_mut().zip(later.0) {
            *mine = mine.take().or(theirs);
        }
    }
}

/// Makes this many keys in all, as many for each group and one at least, and counts those that pass.
pub(super) fn attack(
    (params, filters): (&Params, &Filters<'_>),
    known: &KnownKeys,
    keys: u64,
    threads: usize,
    control: &Control,
) -> Result<Vec<Attacked>> {
    let groups = filters.len();
    parallel::each(threads, groups, |group| {
        let mut attack = Attack::new(params, filters, group);
        let bases = match known.0.get(group) {
            // One that was removed passes no more, whatever has its hash.
            Some(Some(known)) if attack.is_of_use(&known.bases) => Some(known.bases.clone()),
            _ => attack.find_bases(control)?,
        };
        let Some(bases) = bases else { return Ok(Attacked::default()) };
        // The first groups take what is left over.
        let each = keys / groups as u64 + u64::from((group as u64) < keys % groups as u64);
        attack.count(&bases, each.clamp(1, attack.forger.most()), control)
    })
}

/// The attack on one filter.
struct Attack<'f> {
    filters: &'f Filters<'f>,
    group: usize,
    hash: Scheme,
    forger: Forger,
    /// The keywords of a record that is tried; none where keys are not records.
    keywords: Option<u32>,
    answers: Answers,
    batch: KeyBatch,
    found: Vec<bool>,
    key: Vec<u8>,
}

impl<'f> Attack<'f> {
    fn new(params: &Params, filters: &'f Filters<'f>, group: usize) -> Self {
        let hash = params.common.hash;
        let layers = params.groups[group].shape.layers();
        Attack {
            filters,
            group,
            hash,
            forger: Forger::of(hash),
            keywords: (params.common.kind == Kind::Layered).then(|| layered::typical_keywords(layers)),
            answers: Answers::default(),
            batch: KeyBatch::new(Keeps { needs: filters.needs(), ..Keeps::default() }),
            found: Vec::new(),
            key: Vec::new(),
        }
    }

    /// Adds a key to the batch: that of this number, made of these.
    fn push(&mut self, bases: &[u64], number: u64) {
        self.key.clear();
        for &base in bases {
            let at = self.key.len();
            if self.keywords.is_some() {
                self.key.extend([0; 4]);
            }
            self.forger.push(base, number, &mut self.key);
            if self.keywords.is_some() {
                let len = (self.key.len() - at - 4) as u32;
                self.key[at..at + 4].copy_from_slice(&len.to_le_bytes());
            }
        }
        let (hash, group) = (self.hash.identity(&self.key), self.group as u32);
        self.batch.take(Key { group, hash, bytes: &self.key, weight: 1 });
    }

    /// Asks the filter about the batch.
    fn ask(&mut self) {
        self.answers.one(self.filters, &self.batch, self.group, &mut self.found);
        self.batch.clear();
    }

    /// The bases of the try of this number.
    fn bases_of(&self, number: u64) -> Vec<u64> {
        let base = |place: u32| xxh3(&number.to_le_bytes(), u64::from(place));
        (0..self.keywords.unwrap_or(1)).map(base).collect()
    }

    /// Whether keys that are made of these may pass: under a hash that cannot be forged, as likely as all others.
    fn is_of_use(&mut self, bases: &[u64]) -> bool {
        if matches!(self.hash, Scheme::SipHash { .. }) {
            return true;
        }
        self.push(bases, 0);
        self.ask();
        self.found[0]
    }

    /// What passes, found by trying.
    fn find_bases(&mut self, control: &Control) -> Result<Option<Vec<u64>>> {
        let (rate, gone) = self.filters.rates_now(self.group);
        let most = (TRIES / self.filters.len() as u64).max(LEAST_TRIES);
        let in_all = rate * (1.0 - gone) * most as f64;
        let tries = if in_all < HOPELESS { 0 } else { most };
        for first in (0..tries).step_by(TILE) {
            control.check()?;
            for number in first..first + TILE as u64 {
                let bases = self.bases_of(number);
                self.push(&bases, 0);
            }
            self.ask();
            if let Some(at) = self.found.iter().position(|&found| found) {
                return Ok(Some(self.bases_of(first + at as u64)));
            }
        }
        Ok(None)
    }

    /// Makes keys of these bases and counts those that pass.
    fn count(&mut self, bases: &[u64], keys: u64, control: &Control) -> Result<Attacked> {
        let mut attacked = Attacked { keys, passed: 0 };
        for first in (0..keys).step_by(TILE) {
            control.check()?;
            for number in first..keys.min(first + TILE as u64) {
                self.push(bases, number);
            }
            self.ask();
            attacked.passed += self.found.iter().filter(|found| **found).count() as u64;
        }
        Ok(attacked)
    }
}

#[cfg(test)]
mod tests {
    use tamis::key::Recipe;
    use tamis::params::{Common, Name};
    use tamis::sketch::{Beside, Sketch};
    use tamis_make::plan::{Size, parameters};

    use super::*;

    fn params() -> Params {
        let hash = Scheme::Xxh3 { seed: 5 };
        let common = Common { kind: Kind::Bloom, hash, recipe: Recipe::lines() };
        parameters(common, vec![(Name::default(), 5000)], Size::Fpr(0.01), 0).unwrap()
    }

    fn sketch<W: AsRef<[u64]>>(params: &Params, words: W) -> Sketch<W> {
        Sketch::from_words(
            (Kind::Bloom, Scheme::DEFAULT),
            &params.groups[0],
            Beside::empty(Kind::Bloom),
            words,
        )
        .unwrap()
    }

    /// The words of a filter of this many keys.
    fn words(params: &Params, keys: u64) -> Vec<u64> {
        let mut words = vec![0; params.groups[0].shape.words() as usize];
        let Sketch::Bloom(mut filter) = sketch(params, &mut words[..]) else { panic!("not of its kind") };
        (0..keys).for_each(|i| filter.insert_hash(xxh3(&i.to_le_bytes(), 5)));
        words
    }

    /// With a hash whose key nobody knows, a stranger has these keys, too.
    #[test]
    fn keys_that_are_made_for_another_hash_pass_as_seldom_as_honest_ones() {
        let params = params();
        let words = words(&params, 5000);
        let filters = Filters::of_sketches(Needs::Hash, vec![sketch(&params, &words[..])]);
        let mut attack = Attack::new(&params, &filters, 0);
        let control = Control::default();
        let bases = attack.find_bases(&control).unwrap().unwrap();
        let all = attack.count(&bases, 100_000, &control).unwrap();
        assert_eq!(all.rate(), 1.0, "the seed is known");

        attack.forger = Forger::Xxh3 { seed: 0 };
        let bases = attack.find_bases(&control).unwrap().unwrap();
        let some = attack.count(&bases, 100_000, &control).unwrap();
        // 1,000 are expected; ten standard deviations are 316.
        assert!((684..1316).contains(&some.passed), "{some:?}");
    }

    #[test]
    fn nothing_is_tried_of_filters_that_let_nothing_pass() {
        let params = params();
        let words = words(&params, 0);
        let filters = Filters::of_sketches(Needs::Hash, vec![sketch(&params, &words[..])]);
        let found = attack((&params, &filters), &KnownKeys::default(), 1000, 1, &Control::default());
        assert_eq!(found.unwrap(), [Attacked::default()]);
    }
}
