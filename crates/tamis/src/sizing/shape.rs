//! The geometry of a sketch: what a file stores of it, and what follows from that.

#[cfg(feature = "serde")]
use super::Kind;
use super::{least_rate, smallest};
use crate::blocked::{self, LINE_BITS};
use crate::bloom;
use crate::counting::COUNTER_BITS;
use crate::fuse;
use crate::ribbon::{self, Widths};

/// The geometry of one group's sketch: what its kind has, by name.
///
/// Files and JSON have the same three numbers for all kinds: [`slots`](Self::slots),
/// [`width`](Self::width) and [`hashes`](Self::hashes). A `ribbon` has a fourth,
/// [`shorter`](Self::shorter).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Of a `blocked`.
    Blocked {
        /// Cache lines of [`LINE_BITS`] bits.
        lines: u64,
        /// Bits that a key sets in its line.
        hashes: u32,
    },
    /// Of a `bloom`.
    Bloom {
        /// Bits.
        bits: u64,
        /// Bits that a key sets.
        hashes: u32,
    },
    /// Of a `fuse`.
    Fuse {
        /// Fingerprints, of which a key has three.
        slots: u64,
        /// Bits in each.
        fingerprint_bits: u32,
    },
    /// Of a `ribbon`.
    Ribbon {
        /// The distinct keys that it is built of.
        keys: u64,
        /// The lengths of their fingerprints.
        widths: Widths,
    },
    /// Of a `counting`.
    Counting {
        /// Lines of as many counters as a line of a `blocked` has bits.
        lines: u64,
        /// Counters that a key has in its line.
        hashes: u32,
    },
    /// Of a `layered`.
    Layered {
        /// Bits in each layer, and in the XOR layer.
        bits: u64,
        /// Layers, without the XOR layer.
        layers: u32,
        /// Bits that a keyword sets in its layer.
        hashes: u32,
    },
    /// Of a `scalable`.
    Scalable {
        /// Bits of all layers.
        bits: u64,
        /// Layers so far.
        layers: u32,
    },
    /// Of a `count-min`.
    CountMin {
        /// Counters in a row.
        row: u64,
        /// Rows: a key has a counter in each.
        depth: u32,
        /// Bits of a counter: 32 or 64.
        counter_bits: u32,
    },
}

impl Shape {
    /// The shape that these numbers of a file mean for this kind. Numbers that are
    /// [another](Self::slots) shape's when they are asked for again belong to no sketch.
    #[cfg(feature = "serde")]
    pub(crate) fn from_numbers(kind: Kind, numbers: &crate::params::Numbers) -> Shape {
        let &crate::params::Numbers { keys, slots, width, hashes, shorter, .. } = numbers;
        match kind {
            Kind::Blocked => Shape::Blocked { lines: slots / LINE_BITS, hashes },
            Kind::Bloom => Shape::Bloom { bits: slots, hashes },
            Kind::Fuse => Shape::Fuse { slots, fingerprint_bits: width },
            Kind::Ribbon => Shape::Ribbon { keys, widths: Widths { bits: width, shorter } },
            Kind::Counting => Shape::Counting { lines: slots / LINE_BITS, hashes },
            Kind::Layered => Shape::Layered { bits: slots, layers: width.saturating_sub(1), hashes },
            Kind::Scalable => Shape::Scalable { bits: slots, layers: hashes },
            Kind::CountMin | Kind::CountMinConservative => {
                let row = slots / u64::from(hashes.max(1));
                Shape::CountMin { row, depth: hashes, counter_bits: width }
            }
        }
    }

    /// Slots, as a file counts them: bits of a filter, fingerprints of a `fuse` or a `ribbon`, counters of a
    /// `counting`, addresses in each layer of a `layered`, counters in all rows of a `count-min`.
    #[inline]
    pub fn slots(&self) -> u64 {
        match *self {
            Shape::Blocked { lines, .. } | Shape::Counting { lines, .. } => lines.saturating_mul(LINE_BITS),
            Shape::Bloom { bits, .. } | Shape::Layered { bits, .. } | Shape::Scalable { bits, .. } => bits,
            Shape::Fuse { slots, .. } => slots,
            Shape::Ribbon { keys, .. } => ribbon::slots(keys).unwrap_or(u64::MAX),
            Shape::CountMin { row, depth, .. } => row.saturating_mul(u64::from(depth)),
        }
    }

    /// Bits in a slot, as a file has them: in a `layered` one for each layer and one for the XOR layer.
    #[inline]
    pub fn width(&self) -> u32 {
        match *self {
            Shape::Blocked { .. } | Shape::Bloom { .. } | Shape::Scalable { .. } => 1,
            Shape::Fuse { fingerprint_bits, .. } => fingerprint_bits,
            Shape::Ribbon { widths, .. } => widths.bits,
            Shape::Counting { .. } => COUNTER_BITS,
            Shape::Layered { layers, .. } => layers.saturating_add(1),
            Shape::CountMin { counter_bits, .. } => counter_bits,
        }
    }

    /// Slots that a key has, as a file counts them: in a `count-min` one in each row; in a `ribbon` one
    /// place, where they are neighbours. A `scalable` has its number of layers in this place.
    #[inline]
    pub fn hashes(&self) -> u32 {
        match *self {
            Shape::Blocked { hashes, .. }
            | Shape::Bloom { hashes, .. }
            | Shape::Counting { hashes, .. }
            | Shape::Layered { hashes, .. } => hashes,
            Shape::Fuse { .. } => fuse::PROBES,
            Shape::Ribbon { .. } => ribbon::PLACES,
            Shape::Scalable { layers, .. } => layers,
            Shape::CountMin { depth, .. } => depth,
        }
    }

    /// How many of 65536 slots of a `ribbon` have one bit less than the [width](Self::width); 0 of others.
    pub fn shorter(&self) -> u32 {
        if let Shape::Ribbon { widths, .. } = *self { widths.shorter } else { 0 }
    }

    /// The places in memory, one after the other or at random, that a lookup goes to at most: cache lines of a
    /// `blocked`, stretches of some cache lines of a `ribbon`. (One key in sixteen of a `ribbon` has a second, in a
    /// layer of a sixteenth of the size.)
    pub fn reads(&self) -> u32 {
        match *self {
            Shape::Blocked { .. } | Shape::Counting { .. } => 1,
            Shape::Layered { hashes, layers, .. } => hashes.saturating_mul(layers.saturating_add(1)),
            shape => shape.hashes(),
        }
    }

    /// The bits in all slots; of a `ribbon`, with those that say which keys went to the next layer.
    pub fn bits(&self) -> u64 {
        match *self {
            Shape::Ribbon { keys, widths } => {
                ribbon::words_needed(keys, widths).map_or(u64::MAX, |words| 64 * words as u64)
            }
            _ => self.slots().saturating_mul(u64::from(self.width())),
        }
    }

    /// What a key may find set or not: the counters of a `counting`, the bits of other filters.
    pub fn cells(&self) -> u64 {
        if let Shape::Counting { .. } = self { self.slots() } else { self.bits() }
    }

    /// The layers of a `layered`, without the XOR layer, and of a `scalable`; 0 of others.
    pub fn layers(&self) -> u32 {
        match *self {
            Shape::Layered { layers, .. } | Shape::Scalable { layers, .. } => layers,
            _ => 0,
        }
    }

    /// The counters in a row of a `count-min`; 0 of others.
    pub fn row(&self) -> u64 {
        if let Shape::CountMin { row, .. } = *self { row } else { 0 }
    }

    /// The 64-bit words that hold them, as they stand in a file.
    pub fn words(&self) -> u64 {
        self.bits().div_ceil(64) + u64::from(matches!(self, Shape::Fuse { .. }))
    }

    /// The same, of a `layered`, with this many layers.
    pub fn with_layers(self, layers: u32) -> Shape {
        match self {
            Shape::Layered { bits, hashes, .. } => Shape::Layered { bits, layers, hashes },
            _ => self,
        }
    }

    /// The same with this number of hashes; static filters have one number only.
    pub(crate) fn with_hashes(self, hashes: u32) -> Shape {
        match self {
            Shape::Blocked { lines, .. } => Shape::Blocked { lines, hashes },
            Shape::Bloom { bits, .. } => Shape::Bloom { bits, hashes },
            Shape::Counting { lines, .. } => Shape::Counting { lines, hashes },
            Shape::Layered { bits, layers, .. } => Shape::Layered { bits, layers, hashes },
            Shape::Fuse { .. } | Shape::Ribbon { .. } | Shape::Scalable { .. } | Shape::CountMin { .. } => {
                self
            }
        }
    }

    /// The expected rate of a sketch of this shape that holds this many keys. Of a
    /// layered one it is that of a layer which holds this many. The shape of a scalable filter does
    /// not tell, and what counts has none: not a number.
    ///
    /// It is never below [`least_rate`]: so often another key has the hash of one of these.
    pub fn expected_rate(&self, keys: u64) -> f64 {
        match *self {
            Shape::Bloom { bits, hashes } | Shape::Layered { bits, hashes, .. } => {
                bloom::expected_rate(keys, bits, hashes)
            }
            _ => self.sizing_rate(keys),
        }
        .max(least_rate(keys))
    }

    /// The rate by which this shape is found for this many keys, or the keys for it: files store it, so
    /// it never changes, though for some shapes it is a little below the expected one.
    pub fn sizing_rate(&self, keys: u64) -> f64 {
        match *self {
            Shape::Blocked { lines, hashes } | Shape::Counting { lines, hashes } => {
                blocked::expected_rate(keys, lines, hashes)
            }
            Shape::Bloom { bits, hashes } | Shape::Layered { bits, hashes, .. } => {
                bloom::sizing_rate(keys, bits, hashes)
            }
            Shape::Fuse { fingerprint_bits, .. } => fuse::rate(fingerprint_bits),
            Shape::Ribbon { keys, widths } => ribbon::rate(keys, widths),
            Shape::Scalable { .. } | Shape::CountMin { .. } => f64::NAN,
        }
    }

    /// The most keys that a sketch of this shape (or a layer of it) holds within the rate. A static
    /// filter holds what it was built of, a `scalable` grows, and counters count on: none.
    pub fn capacity(&self, fpr: f64) -> Option<u64> {
        match self {
            Shape::Fuse { .. } | Shape::Ribbon { .. } | Shape::Scalable { .. } | Shape::CountMin { .. } => {
                return None;
            }
            _ => {}
        }
        if fpr >= 1.0 {
            return Some(u64::MAX); // no number of keys is above it: a search would not end
        }
        let over = |keys: u64| self.sizing_rate(keys) > fpr;
        Some(smallest((self.slots() / 10).max(1), over).saturating_sub(1))
    }
}
