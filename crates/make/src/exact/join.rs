//! Questions whether keys are in the store: collected, sorted, and answered together.

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
        let mut lookup = Lookup { store, block: Block::default(), loaded: None, at: 0 };
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
}

impl Lookup<'_> {
    fn has(&mut self, hash: u64, key: &[u8], group: u32) -> Result<bool> {
        let Some(block) = self.store.block_of(hash, self.loaded.unwrap_or(0)) else { return Ok(false) };
        if self.loaded != Some(block) {
            self.store.read(block, &mut self.block)?;
            self.loaded = Some(block);
            self.at = 0;
        }
        self.at = self.block.find(self.at, hash);
        let mut current: &[u8] = &[];
        for pair in self.at..self.block.len() {
            if self.block.hash(pair) != hash {
                break;
            }
            let own = self.block.own_key(pair);
            if pair == self.at || !own.is_empty() {
                current = own;
            }
            if current == key && (group == ANY_GROUP || group == self.block.group(pair)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
