//! How a filter is laid out: layers, blocks and the lengths of fingerprints. All of it follows
//! from the number of keys and the widths, by integers alone, and is part of the format.

use crate::error::{Result, SizeFault};
use crate::fuse;

/// The most keys of a filter: 2⁴⁰.
pub const MAX_KEYS: u64 = 1 << 40;
/// The longest fingerprint, in bits.
pub const MAX_WIDTH: u32 = 32;
/// Slots of a bucket. The keys that begin in one are bumped together, from its front.
pub(super) const BUCKET: u64 = 128;
/// Slots of a run: what is solved alone. The last bucket of a run that another follows takes no keys,
/// which costs one slot in ten thousand.
pub(super) const RUN: u64 = 1 << 20;
/// Places that a lookup reads: slots that are neighbours.
pub const PLACES: u32 = 1;
/// Keys of a bucket that begin before this slot of it are bumped: by the two bits that a bucket
/// keeps. Found by experiment: with one key in sixteen too many, 0.02 % of the slots stay empty.
pub(super) const THRESHOLDS: [u64; 4] = [0, 16, 40, BUCKET];
/// The most keys that the last layer is planned for.
const LAST: u64 = 4096;
/// Layers that 2⁴⁰ keys have at most.
pub(super) const MOST_LAYERS: usize = 12;
/// What the share of shorter fingerprints is counted in: 2⁻¹⁶.
pub const SHARES: u32 = 1 << 16;

/// The lengths of fingerprints: most have `bits`, a share has one bit less, so that any rate
/// is met and not only the powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Widths {
    /// Bits of the longer fingerprints: 1 to 32.
    pub bits: u32,
    /// How many of 65536 keys have one bit less; below 65536.
    pub shorter: u32,
}

impl Widths {
    /// The widths with the highest rate that is at most `fpr`. None where `fpr` is no rate
    /// between 0 and 1 (both excluded), or is below 2⁻³².
    ///
    /// ```
    /// # use tamis::ribbon::Widths;
    /// assert_eq!(Widths::for_rate(1.0 / 256.0), Some(Widths { bits: 8, shorter: 0 }));
    /// assert_eq!(Widths::for_rate(0.75), Some(Widths { bits: 1, shorter: 32768 }));
    /// assert_eq!(Widths::for_rate(1e-12), None);
    /// ```
    pub fn for_rate(fpr: f64) -> Option<Widths> {
        let bits = fuse::width_for(fpr)?;
        // Exact but for the last place: a product with a power of two, less one.
        let above = (fpr * (1u64 << bits) as f64 - 1.0) * f64::from(SHARES);
        Some(Widths { bits, shorter: (above as u32).min(SHARES - 1) })
    }

    /// The most that a rate with these widths can be expected to be: 2^-bits · (1 + shorter / 65536).
    pub fn most_rate(self) -> f64 {
        fuse::rate(self.bits) * (1.0 + f64::from(self.shorter) / f64::from(SHARES))
    }

    pub(super) fn check(self) -> Result<()> {
        if (1..=MAX_WIDTH).contains(&self.bits) && self.shorter < SHARES {
            return Ok(());
        }
        Err(SizeFault::RibbonWidths { bits: self.bits, shorter: self.shorter }.into())
    }
}

/// Where a layer lies in the words, and how wide its blocks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Layer {
    /// Slots: a multiple of 128 where keys are bumped, of 64 in the last.
    pub slots: u64,
    /// The first word of the buckets' bits.
    pub buckets: usize,
    /// The first word of the table.
    pub table: usize,
    /// The first word after it.
    pub end: usize,
    /// Blocks at the front whose fingerprints have one bit less.
    pub short: u64,
    /// Bits of the longer fingerprints.
    pub bits: u32,
}

impl Layer {
    /// The slots at which a key may begin.
    #[inline]
    pub fn starts(&self) -> u64 {
        self.slots - 63
    }

    /// The first word of a block, and how many it has.
    #[inline]
    pub fn block(&self, block: u64) -> (usize, u32) {
        let at = self.table as u64 + block * u64::from(self.bits) - block.min(self.short);
        (at as usize, self.bits - u32::from(block < self.short))
    }
}

/// All layers of a filter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    layers: [Layer; MOST_LAYERS],
    count: usize,
}

impl Layout {
    /// The layout of a filter of this many keys.
    pub fn new(keys: u64, widths: Widths) -> Result<Layout> {
        widths.check()?;
        if keys > MAX_KEYS {
            return Err(SizeFault::RibbonKeys(keys).into());
        }
        let mut layout = Layout { layers: [Layer::default(); MOST_LAYERS], count: 0 };
        let (mut left, mut end) = (keys, 0u64);
        while left > 0 {
            let last = left <= LAST;
            let slots = if last {
                (left + left / 8 + 16).next_multiple_of(64)
            } else {
                (left - left / 16) / BUCKET * BUCKET
            };
            let buckets = if last { 0 } else { (slots / BUCKET).div_ceil(32) };
            // No overflow: slots are below 2^41, a share is below 2^16.
            let short = ((slots - 63) * u64::from(widths.shorter)) >> 22;
            let words = slots / 64 * u64::from(widths.bits) - short;
            let at = |word: u64| -> Result<usize> {
                usize::try_from(word).map_err(|_| SizeFault::RibbonWords(word).into())
            };
            layout.layers[layout.count] = Layer {
                slots,
                buckets: at(end)?,
                table: at(end + buckets)?,
                end: at(end + buckets + words)?,
                short,
                bits: widths.bits,
            };
            layout.count += 1;
            end += buckets + words;
            // Slots that stay empty leave as many more keys.
            left = if last { 0 } else { left - slots + slots / 2048 + slots.isqrt() / 8 + 16 };
        }
        Ok(layout)
    }

    /// The layers that bump keys, and the last; none for no keys.
    pub fn split(&self) -> Option<(&[Layer], &Layer)> {
        let (last, bumping) = self.layers[..self.count].split_last()?;
        Some((bumping, last))
    }

    /// The layers in their order.
    pub fn all(&self) -> &[Layer] {
        &self.layers[..self.count]
    }

    /// The words of all layers.
    pub fn words(&self) -> usize {
        self.all().last().map_or(0, |layer| layer.end)
    }
}

/// The words of a filter of this many distinct keys. None for no keys.
pub fn words_needed(keys: u64, widths: Widths) -> Result<usize> {
    Ok(Layout::new(keys, widths)?.words())
}

/// Slots of all layers of a filter of this many distinct keys.
pub fn slots(keys: u64) -> Result<u64> {
    Ok(Layout::new(keys, Widths { bits: 1, shorter: 0 })?.all().iter().map(|layer| layer.slots).sum())
}

/// The widths with the lowest rate among those whose filter has at most this many words. None
/// where there are none.
pub fn widths_for_words(keys: u64, words: u64) -> Result<Option<Widths>> {
    // From the longest fingerprints down: in the order of rates, which is that of lengths.
    let at = |step: u32| Widths { bits: MAX_WIDTH - step / SHARES, shorter: step % SHARES };
    let fits = |step: u32| -> Result<bool> { Ok(words_needed(keys, at(step))? as u64 <= words) };
    let (mut low, mut high) = (0, MAX_WIDTH * SHARES - 1);
    if !fits(high)? {
        return Ok(None);
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if fits(middle)? { high = middle } else { low = middle + 1 }
    }
    Ok(Some(at(high)))
}

/// The expected rate of a filter of this many keys: 2^-bits, and as much again for each key of
/// a shorter fingerprint. Blocks are short as a whole, so small sets have fewer of them.
pub fn rate(keys: u64, widths: Widths) -> f64 {
    let Ok(layout) = Layout::new(keys, widths) else { return f64::NAN };
    if layout.all().is_empty() {
        return 0.0;
    }
    let (mut slots, mut sum) = (0.0, 0.0);
    for layer in layout.all() {
        let short = (64 * layer.short) as f64 / layer.starts() as f64;
        slots += layer.slots as f64;
        sum += layer.slots as f64 * (1.0 + short);
    }
    fuse::rate(widths.bits) * (sum / slots)
}
