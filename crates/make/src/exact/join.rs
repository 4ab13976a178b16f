//! Questions whether keys are in the store: collected, sorted, and answered together.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use tamis_read::Control;
use tamis_read::error::Result;

use super::layout::Block;
use super::merge::{Source, merge, readers};
use super::runs::{Record, Sorter};
use super::store::Store;

/// In the place of a group: any will do.
pub const ANY_GROUP: u32 = u32::MAX;

/// Questions that wait for their answers.
#[derive(Debug)]
pub struct Questions {
    sorter: Sorter,
    memory: u64,
    folder: std::path::PathBuf,
    count: u32,
    most: u32,
}

/// The answers, by the number of the question.
#[derive(Debug, Default)]
pub struct Answers(Vec<u64>);

impl Answers {
    /// Whether the answer is yes.
    #[inline]
    pub fn get(&self, number: u32) -> bool {
        self.0[number as usize / 64] >> (number % 64) & 1 == 1
    }
}

impl Questions {
    /// In this much memory, of which a half is for the questions; beyond, they wait on disk.
    pub fn new(memory: u64, folder: &Path) -> Self {
        let most = (memory / 8).saturating_mul(8).clamp(64, 1 << 31) as u32; // an eighth, in bits
        let sorter = Sorter::new(memory / 2, false, folder);
        Questions { sorter, memory, folder: folder.to_owned(), count: 0, most }
    }

    /// Asks whether this key is in this group, or in any; questions are numbered from 0.
    pub fn ask(&mut self, hash: u64, key: &[u8], group: u32) -> Result<()> {
        self.sorter.push(Record { hash, group, number: self.count, key })?;
        self.count += 1;
        Ok(())
    }

    /// How many were asked.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether they should be answered before more are asked.
    pub fn is_full(&self, more: usize) -> bool {
        self.count as usize + more > self.most as usize
    }

    /// Answers all of them, and forgets them.
    pub fn answer(&mut self, store: &Store, control: &Control) -> Result<Answers> {
        let mut answers = Answers(vec![0; (self.count as usize).div_ceil(64)]);
        let (runs, held) = self.sorter.sources();
        let mut sources = readers(runs, self.memory / 8, false, &self.folder, control)?;
        sources.push(Source::held(held));
        let mut lookup = Lookup::new(store);
        merge(sources, false, &self.folder, control, |question| {
            if lookup.has(question.hash, question.key, question.group)? {
                answers.0[question.number as usize / 64] |= 1 << (question.number % 64);
            }
            Ok(())
        })?;
        self.sorter.clear()?;
        self.count = 0;
        Ok(answers)
    }
}

/// Finds keys in the order of their hashes.
struct Lookup<'s> {
    store: &'s Store,
    block: Block,
    loaded: Option<usize>,
    /// The first pair that may still be asked for.
    at: usize,
    /// The hash of many pairs that was asked for last, and where the pairs of each of its keys are. Strangers can
    /// make keys of one hash: going through all of them with each question would take for ever.
    alike: Option<(u64, PairsOfKeys)>,
}

type PairsOfKeys = HashMap<Box<[u8]>, Range<usize>>;

/// More pairs of one hash than this are looked up.
const FEW: usize = 8;

impl<'s> Lookup<'s> {
    fn new(store: &'s Store) -> Self {
        Lookup { store, block: Block::default(), loaded: None, at: 0, alike: None }
    }

    fn has(&mut self, hash: u64, key: &[u8], group: u32) -> Result<bool> {
        let Some(block) = self.store.block_of(hash, self.loaded.unwrap_or(0)) else { return Ok(false) };
        if self.loaded != Some(block) {
            self.store.read(block, &mut self.block)?;
            self.loaded = Some(block);
            self.at = 0;
            self.alike = None;
        }
        self.at = self.block.find(self.at, hash);
        let is_of_hash = |pair: usize| pair < self.block.len() && self.block.hash(pair) == hash;
        if !is_of_hash(self.at + FEW) {
            let end = (self.at..).find(|&pair| !is_of_hash(pair)).unwrap_or(self.at);
            let found = self.keys(self.at..end).find(|(own, _)| *own == key);
            return Ok(found.is_some_and(|(_, pairs)| self.is_in(pairs, group)));
        }
        if self.alike.as_ref().is_none_or(|(of, _)| *of != hash) {
            let end = (self.at..).find(|&pair| !is_of_hash(pair)).unwrap_or(self.at);
            let keys = self.keys(self.at..end).map(|(own, pairs)| (own.into(), pairs)).collect();
            self.alike = Some((hash, keys));
        }
        let found = self.alike.as_ref().and_then(|(_, keys)| keys.get(key));
        Ok(found.is_some_and(|pairs| self.is_in(pairs.clone(), group)))
    }

    /// The keys of these pairs, which are of one hash, with the pairs of each.
    fn keys(&self, pairs: Range<usize>) -> impl Iterator<Item = (&[u8], Range<usize>)> {
        let mut next = pairs.start;
        std::iter::from_fn(move || {
            let start = next;
            (start < pairs.end).then(|| {
                // A pair without a key of its own has that of the one before.
                let is_other = |pair: &usize| !self.block.own_key(*pair).is_empty();
                next = (start + 1..pairs.end).find(is_other).unwrap_or(pairs.end);
                (self.block.own_key(start), start..next)
            })
        })
    }

    /// Whether one of these pairs, which are those of a key in the order of groups, has this group.
    fn is_in(&self, pairs: Range<usize>, group: u32) -> bool {
        let (mut low, mut high) = (pairs.start, pairs.end);
        while low < high {
            let middle = low.midpoint(high);
            match self.block.group(middle) < group {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        group == ANY_GROUP || low < pairs.end && self.block.group(low) == group
    }
}
