//! The filter itself, over words that it owns or borrows.

use alloc::vec::Vec;
use core::ops::Range;

use super::params::{Layer, Sizes, layer};
use crate::blocked::Blocked;
use crate::bloom::Bloom;
use crate::error::{Error, Result, ShapeFault};
use crate::hash::ByBytes;
use crate::memory::Words;
use crate::sizing::Shape;

/// Keys that are looked up in one layer after the other before any is added.
const BATCH: usize = 1024;

/// A filter that grows; see the [module](super) for the idea.
#[derive(Debug, Clone)]
pub struct Scalable<W> {
    /// All layers, one after the other.
    words: W,
    keys: u64,
    fpr: f64,
    layers: Vec<Place>,
    /// Keys in the newest layer.
    newest: u64,
}

/// A layer and where it stands.
#[derive(Debug, Clone)]
struct Place {
    layer: Layer,
    words: Range<usize>,
}

impl Place {
    fn after(words: usize, layer: Layer) -> Result<Place> {
        let bits = layer.shape.slots();
        let len = usize::try_from(bits / 64).map_err(|_| Error::TooLarge { bits })?;
        let end = words.checked_add(len).ok_or(Error::TooLarge { bits })?;
        Ok(Place { layer, words: words..end })
    }
}

impl Scalable<Words> {
    /// An empty filter, whose first layer is for this many keys, and which keeps this rate however
    /// many there will be.
    pub fn new(keys: u64, fpr: f64) -> Result<Self> {
        let mut filter = Scalable { words: Words::new(0)?, keys, fpr, layers: Vec::new(), newest: 0 };
        filter.grow()?;
        Ok(filter)
    }

    /// Begins the next layer.
    fn grow(&mut self) -> Result<()> {
        let next = layer(self.keys, self.fpr, self.layers.len() as u32)?;
        let place = Place::after(self.words.len(), next)?;
        let mut words = Words::new(place.words.end)?;
        words[..self.words.len()].copy_from_slice(&self.words);
        self.words = words;
        self.layers.push(place);
        self.newest = 0;
        Ok(())
    }

    /// Adds the key with this hash; true where it was not found before.
    pub fn insert_hash(&mut self, hash: u64) -> Result<bool> {
        let mut fresh = [false];
        self.insert_hashes(&[hash], &mut fresh)?;
        Ok(fresh[0])
    }

    /// Adds many keys, one after the other, and tells for each whether it was not found before.
    ///
    /// # Panics
    /// Where the two slices differ in length.
    pub fn insert_hashes(&mut self, hashes: &[u64], fresh: &mut [bool]) -> Result<()> {
        assert_eq!(hashes.len(), fresh.len());
        let mut done = 0;
        while done < hashes.len() {
            if self.newest == self.last().layer.keys {
                self.grow()?;
            }
            // No more than fit into the newest layer, even if all are new.
            let fit = usize::try_from(self.last().layer.keys - self.newest).unwrap_or(usize::MAX);
            let to = hashes.len().min(done + BATCH.min(fit));
            self.newest += self.insert_few(&hashes[done..to], &mut fresh[done..to]);
            done = to;
        }
        Ok(())
    }

    fn insert_few(&mut self, hashes: &[u64], fresh: &mut [bool]) -> u64 {
        let (last, older) = self.layers.split_last().expect("there is always a layer");
        let (before, newest) = self.words.split_at_mut(last.words.start);
        fresh.fill(true);
        let mut found = [false; BATCH];
        let found = &mut found[..hashes.len()];
        for place in older {
            blocked(place, before).contains_hashes(hashes, found);
            fresh.iter_mut().zip(&*found).for_each(|(fresh, found)| *fresh &= !found);
        }
        let mut filter =
            Blocked::from_words(newest, last.layer.shape.hashes()).expect("the shape of a layer");
        filter.insert_fresh(hashes, fresh)
    }

    fn last(&self) -> &Place {
        self.layers.last().expect("there is always a layer")
    }
}

/// A layer as a filter.
fn blocked<'w>(place: &Place, words: &'w [u64]) -> Blocked<&'w [u64]> {
    Blocked::from_words(&words[place.words.clone()], place.layer.shape.hashes())
        .expect("the shape of a layer")
}

/// A layer as a filter, where it is a link of another system.
fn classic<'w>(place: &Place, words: &'w [u64]) -> Option<Bloom<&'w [u64]>> {
    match place.layer.shape {
        Shape::Bloom { bits, hashes } => Bloom::from_words(&words[place.words.clone()], bits, hashes).ok(),
        _ => None,
    }
}

impl<W: AsRef<[u64]>> Scalable<W> {
    /// A filter in these words, of this many layers, with this many keys in the newest.
    pub fn from_words(words: W, keys: u64, fpr: f64, layers: u32, newest: u64) -> Result<Self> {
        Scalable::of_sizes(Sizes::Ours, words, (keys, fpr), layers, newest)
    }

    /// The same, with layers of these sizes. Those of another system can be asked, by the bytes of keys, and not added
    /// to.
    pub(crate) fn of_sizes(
        sizes: Sizes,
        words: W,
        (keys, fpr): (u64, f64),
        layers: u32,
        newest: u64,
    ) -> Result<Self> {
        let mut places: Vec<Place> = Vec::new();
        for number in 0..layers {
            places.push(Place::after(
                places.last().map_or(0, |last| last.words.end),
                sizes.layer(keys, fpr, number)?,
            )?);
        }
        match places.last() {
            Some(last) if last.words.end == words.as_ref().len() && newest <= last.layer.keys => {
                Ok(Scalable { words, keys, fpr, layers: places, newest })
            }
            _ => {
                let words = words.as_ref().len();
                Err(ShapeFault::Scalable { words, layers, newest }.into())
            }
        }
    }

    /// The words of all layers.
    pub fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// The keys for which the first layer was planned.
    pub fn first_keys(&self) -> u64 {
        self.keys
    }

    /// The rate that it keeps.
    pub fn fpr(&self) -> f64 {
        self.fpr
    }

    /// The layers.
    pub fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter().map(|place| &place.layer)
    }

    /// Keys in the newest layer.
    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// Keys that were added: all that were not found before.
    pub fn keys(&self) -> u64 {
        let full: u64 = self.layers().map(|layer| layer.keys).sum();
        full - self.layers.last().map_or(0, |last| last.layer.keys) + self.newest
    }

    /// Whether the key with this hash may be in the set.
    pub fn contains_hash(&self, hash: u64) -> bool {
        // Most keys are in the newest layers.
        self.layers.iter().rev().any(|place| blocked(place, self.words()).contains_hash(hash))
    }

    /// The same for many keys, in `found`, one for each hash.
    ///
    /// # Panics
    /// Where the two slices differ in length.
    pub fn contains_hashes(&self, hashes: &[u64], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len());
        found.fill(false);
        let mut hits = [false; BATCH];
        for (hashes, found) in hashes.chunks(BATCH).zip(found.chunks_mut(BATCH)) {
            let hits = &mut hits[..hashes.len()];
            for place in &self.layers {
                blocked(place, self.words.as_ref()).contains_hashes(hashes, hits);
                found.iter_mut().zip(&*hits).for_each(|(found, hit)| *found |= hit);
            }
        }
    }

    /// Whether the key of these bytes may be in the set, where layers are the links of another system.
    pub fn contains_bytes(&self, hash: ByBytes, key: &[u8]) -> bool {
        self.classic().rev().any(|filter| filter.contains_bytes(hash, key))
    }

    /// The same of many keys: those with these lanes, of each answer.
    ///
    /// # Panics
    /// Where a key has fewer lanes than a link has hashes.
    pub fn contains_all_wide<'l>(&self, lanes: impl Fn(usize) -> &'l [u64], found: &mut [bool]) {
        found.fill(false);
        let mut hits = [false; BATCH];
        for (number, found) in found.chunks_mut(BATCH).enumerate() {
            let hits = &mut hits[..found.len()];
            for filter in self.classic() {
                filter.contains_all_wide(|key| lanes(number * BATCH + key), hits);
                found.iter_mut().zip(&*hits).for_each(|(found, hit)| *found |= hit);
            }
        }
    }

    /// The layers that are classic filters.
    fn classic(&self) -> impl DoubleEndedIterator<Item = Bloom<&[u64]>> {
        self.layers.iter().filter_map(|place| classic(place, self.words()))
    }

    /// The rate of false positives of just this filter, from the bits that are set.
    pub fn rate_now(&self) -> f64 {
        let rate = |place: &Place| match classic(place, self.words()) {
            Some(filter) => filter.rate_now(),
            None => blocked(place, self.words()).rate_now(),
        };
        let out = |place: &Place| 1.0 - rate(place);
        1.0 - self.layers.iter().map(out).product::<f64>()
    }

    /// The rate to expect from the keys that it holds: the sum over its layers.
    pub fn expected_rate(&self) -> f64 {
        let (last, older) = self.layers.split_last().expect("there is always a layer");
        let full: f64 = older.iter().map(|place| place.layer.expected_rate(place.layer.keys)).sum();
        full + last.layer.expected_rate(self.newest)
    }
}

impl<W: AsRef<[u64]>> Scalable<W> {
    /// The same with words of its own, to which keys can be added.
    pub fn to_owned(&self) -> Result<Scalable<Words>> {
        let mut words = Words::new(self.words().len())?;
        words.copy_from_slice(self.words());
        let Scalable { keys, fpr, newest, .. } = *self;
        Ok(Scalable { words, keys, fpr, layers: self.layers.clone(), newest })
    }
}
