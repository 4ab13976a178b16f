//! Filters that were opened to be asked.

use std::ops::Range;
use std::sync::OnceLock;

use tamis::countmin::CountMin;
use tamis::layered::Answer;
use tamis::sketch::Sketch;
use tamis_read::error::Result;

use super::extent::Extent;
use super::tile;
use crate::removed_keys::RemovedKeys;
use tamis_make::batch::{KeyBatch, Needs};
use tamis_make::files::Mapped;

/// The filters of all groups, or of some; all threads share them.
#[derive(Debug)]
pub struct Filters<'f> {
    needs: Needs,
    sketches: Vec<Sketch<&'f [u64]>>,
    /// The filter of what was removed from each group; empty where there is no such file.
    removed: Vec<Option<Sketch<&'f [u64]>>>,
    by_size: OnceLock<Vec<usize>>,
    extent: Extent,
}

impl<'f> Filters<'f> {
    /// Those of a file.
    pub fn of_file(file: &'f Mapped) -> Result<Self> {
        Ok(Filters::of_sketches(Needs::of(file.params()), file.sketches()?))
    }

    /// Those of some groups of a file, numbered from 0.
    pub fn of_groups(file: &'f Mapped, groups: Range<usize>) -> Result<Self> {
        let sketches = groups.map(|group| file.sketch(group)).collect::<tamis::Result<_>>()?;
        Ok(Filters::of_sketches(Needs::of(file.params()), sketches))
    }

    /// These, which need this of keys.
    pub fn of_sketches(needs: Needs, sketches: Vec<Sketch<&'f [u64]>>) -> Self {
        Filters { needs, sketches, removed: Vec::new(), by_size: OnceLock::new(), extent: Extent::Record }
    }

    /// The same, but keys that may have been removed do not pass.
    pub fn without(self, removed: &'f RemovedKeys) -> Result<Self> {
        let needs = self.needs.and(removed.needs());
        Ok(Filters { needs, removed: removed.sketches()?, ..self })
    }

    /// The same, and keys that may have been removed do not pass, where there is a file of them.
    pub fn without_some(self, removed: Option<&'f RemovedKeys>) -> Result<Self> {
        match removed {
            Some(removed) => self.without(removed),
            None => Ok(self),
        }
    }

    /// The same, asked for this much of records; [`Extent::check`] says whether they can be.
    pub fn asked_for(self, extent: Extent) -> Self {
        Filters { extent, ..self }
    }

    /// How much of records is asked.
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// What batches must keep of each key.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.sketches.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sketches.is_empty()
    }

    /// The filter of a group.
    pub fn sketch(&self, group: usize) -> &Sketch<&'f [u64]> {
        &self.sketches[group]
    }

    /// The filter of what was removed from a group.
    pub fn removed(&self, group: usize) -> Option<&Sketch<&'f [u64]>> {
        self.removed.get(group).and_then(Option::as_ref)
    }

    /// Whether there is a file of removed keys.
    pub fn are_pairs(&self) -> bool {
        !self.removed.is_empty()
    }

    /// The sketch of a group, if it counts.
    pub fn counter(&self, group: usize) -> Option<&CountMin<&'f [u64]>> {
        match &self.sketches[group] {
            Sketch::CountMin(sketch) => Some(sketch),
            _ => None,
        }
    }

    /// Whether one key may be in a group: for a key that is alone.
    pub fn has(&self, group: usize, keys: &KeyBatch, key: usize) -> bool {
        self.extent.finds(self.answer(group, keys, key))
    }

    /// What the filter of a group knows of one key, however much is asked: for those who tell why a record
    /// was not found.
    pub fn answer(&self, group: usize, keys: &KeyBatch, key: usize) -> Answer {
        match (tile::answer(&self.sketches[group], keys, key), self.removed(group)) {
            (Answer::Whole, Some(gone)) if tile::answer(gone, keys, key) == Answer::Whole => Answer::No,
            (answer, _) => answer,
        }
    }

    /// The rate of false positives of the filter of a group, from what it holds; and that of the filter of
    /// what was removed from it, 0 where there is none.
    pub fn rates_now(&self, group: usize) -> (f64, f64) {
        let rate = |sketch| tile::rate_now(sketch, self.needs);
        (rate(&self.sketches[group]), self.removed(group).map_or(0.0, rate))
    }

    /// The numbers of the groups, those of filters of one size one after the other: these share what is
    /// made of a tile. A million keys make filters of some thousand different sizes at most.
    pub(super) fn by_size(&self) -> &[usize] {
        self.by_size.get_or_init(|| {
            let mut order: Vec<usize> = (0..self.sketches.len()).collect();
            order.sort_by_key(|&group| tile::size(&self.sketches[group]));
            order
        })
    }
}
