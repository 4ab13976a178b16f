//! The filter itself, over words that it owns or borrows.

use super::params::{self, LEAST_BITS, MOST_LAYERS};
use crate::bloom::{MOST_HASHES, positions};
use crate::error::{Error, Result, ShapeFault};
use crate::memory::Words;
use crate::real::power;
use crate::sizing::{Shape, estimated_keys};
use alloc::vec::Vec;

/// What a filter knows of a list of keywords.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// No record has these keywords at these places.
    No,
    /// Each keyword may stand at its place in some record, but the XOR layer has no record of just
    /// these. They may be the first keywords of a longer record, or come from different records.
    Part,
    /// A record of just these keywords may be in the set.
    Whole,
}

/// Calls `touch` with the layer (from 0; `layers` is the XOR layer) and the address of every bit
/// of the record whose keywords have these hashes, in a filter of these bits in each layer, layers and
/// hashes.
#[inline(always)]
pub fn addresses(
    keywords: impl IntoIterator<Item = u64>,
    (bits, layers, hashes): (u64, u32, u32),
    mut touch: impl FnMut(u32, u64),
) {
    let (mut layer, mut any) = (0, false);
    let mut folded = [0u64; MOST_HASHES as usize];
    for hash in keywords {
        for (address, folded) in positions(hash, bits, hashes).zip(&mut folded) {
            *folded ^= address;
            touch(layer, address);
        }
        layer = if layer + 1 == layers { 0 } else { layer + 1 };
        any = true;
    }
    if any {
        folded.iter().take(hashes as usize).for_each(|&address| touch(layers, address));
    }
}

/// A multi-layer Bloom filter; see the [module](super) for the idea.
#[derive(Debug, Clone)]
pub struct Layered<W> {
    words: W,
    /// Bits in each layer.
    bits: u64,
    layers: u32,
    hashes: u32,
}

impl Layered<Words> {
    /// An empty filter for this many items in a layer at this rate of a single layer.
    pub fn for_rate(items: u64, fpr: f64, layers: u32) -> Result<Self> {
        Self::zeroed(params::shape_for_rate(items, fpr, layers)?)
    }

    /// An empty filter of this shape.
    pub fn zeroed(shape: Shape) -> Result<Self> {
        let too_large = |_| Error::TooLarge { bits: shape.bits() };
        let words = usize::try_from(shape.bits() / 64).map_err(too_large)?;
        Layered::from_words(Words::new(words)?, shape)
    }
}

/// Whether there can be a layered filter of this shape.
pub(crate) fn possible(shape: &Shape) -> bool {
    matches!(*shape, Shape::Layered { bits, layers, hashes } if bits.is_power_of_two()
        && bits >= LEAST_BITS
        && (1..=MOST_LAYERS).contains(&layers)
        && (1..=MOST_HASHES).contains(&hashes))
}

impl<W: AsRef<[u64]>> Layered<W> {
    /// A filter of this shape, in these words.
    pub fn from_words(words: W, shape: Shape) -> Result<Self> {
        let len = words.as_ref().len();
        match shape {
            Shape::Layered { bits, layers, hashes }
                if possible(&shape) && len as u64 == shape.bits() / 64 =>
            {
                Ok(Layered { words, bits, layers, hashes })
            }
            _ => Err(ShapeFault::Layered { words: len, shape }.into()),
        }
    }

    /// The words of all layers, one after the other, the XOR layer last.
    pub fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// The words themselves, given back.
    pub fn into_words(self) -> W {
        self.words
    }

    /// Its shape.
    pub fn shape(&self) -> Shape {
        let Layered { bits, layers, hashes, .. } = *self;
        Shape::Layered { bits, layers, hashes }
    }

    #[inline(always)]
    fn has(&self, layer: u32, address: u64) -> bool {
        let at = u64::from(layer) * self.bits + address;
        self.words.as_ref()[(at / 64) as usize] >> (at % 64) & 1 == 1
    }

    /// What the filter knows of the keywords with these hashes, in their order. No keywords are
    /// in no record.
    pub fn ask(&self, keywords: &[u64]) -> Answer {
        let Layered { bits, layers, hashes, .. } = *self;
        let mut folded = [0u64; MOST_HASHES as usize];
        let mut layer = 0;
        for &hash in keywords {
            for (address, folded) in positions(hash, bits, hashes).zip(&mut folded) {
                if !self.has(layer, address) {
                    return Answer::No;
                }
                *folded ^= address;
            }
            layer = if layer + 1 == layers { 0 } else { layer + 1 };
        }
        match &folded[..hashes as usize] {
            _ if keywords.is_empty() => Answer::No,
            folded if folded.iter().all(|&address| self.has(layers, address)) => Answer::Whole,
            _ => Answer::Part,
        }
    }

    /// Whether the record whose keywords have these hashes, in their order, may be in the set.
    #[inline]
    pub fn contains_keywords(&self, keywords: &[u64]) -> bool {
        self.ask(keywords) == Answer::Whole
    }

    /// The bits set in each layer, the XOR layer last.
    pub fn ones(&self) -> Vec<u64> {
        let layers = self.words().chunks((self.bits / 64) as usize);
        layers.map(|words| words.iter().map(|word| u64::from(word.count_ones())).sum()).collect()
    }

    /// The rate of each layer for keywords that are in no record, the XOR layer last.
    pub fn layer_rates(&self) -> Vec<f64> {
        let rate = |ones: u64| power(ones as f64 / self.bits as f64, self.hashes);
        self.ones().into_iter().map(rate).collect()
    }

    /// The rate of just this filter for random records of
    /// [typical](params::typical_keywords) length.
    pub fn rate_now(&self) -> f64 {
        let rates = self.layer_rates();
        let layers = rates.len() - 1;
        let keywords = (0..params::typical_keywords(layers as u32) as usize).map(|i| rates[i % layers]);
        keywords.product::<f64>() * rates[layers]
    }

    /// The number of different records, estimated from the XOR layer, which has one item of each.
    pub fn estimated_records(&self) -> f64 {
        let ones = *self.ones().last().expect("there is an XOR layer");
        estimated_keys(ones, self.bits, self.hashes)
    }
}

impl<W: AsRef<[u64]> + AsMut<[u64]>> Layered<W> {
    /// Adds the record whose keywords have these hashes, in their order. They should differ (see
    /// the [module](super)); no keywords are no record.
    pub fn insert_keywords(&mut self, keywords: &[u64]) {
        let Layered { ref mut words, bits, layers, hashes } = *self;
        let words = words.as_mut();
        addresses(keywords.iter().copied(), (bits, layers, hashes), |layer, address| {
            let at = u64::from(layer) * bits + address;
            words[(at / 64) as usize] |= 1 << (at % 64);
        });
    }
}
