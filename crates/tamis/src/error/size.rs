//! What cannot be sized, and words that are not those of a sketch.

use crate::bloom::MOST_HASHES;
use crate::countmin::MOST_DEPTH;
use crate::fuse::{MAX_WIDTH, PROBES};
use crate::hash::Scheme;
use crate::layered::MOST_LAYERS;
use crate::real::exp;
use crate::ribbon::PLACES;
use crate::sizing::{Kind, Shape};
use alloc::format;
use alloc::string::String;

/// Why there is no sketch of the size that was asked for.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SizeFault {
    /// A rate of what counts.
    #[error("a {0} sketch counts and has no rate of false positives; it is sized by epsilon and delta")]
    NoRate(Kind),
    /// A size of what grows.
    #[error("a scalable filter grows with its keys and cannot be given a size; give it a rate")]
    Grows,
    /// A rate below the lowest of a `fuse`.
    #[error("the lowest rate of a fuse filter is 2^-32; {0} is below it")]
    FuseRate(f64),
    /// More keys than a `fuse` can have.
    #[error("{0} keys are more than a fuse filter can have (2^40): split the set into groups")]
    FuseKeys(u64),
    /// More words of a `fuse` than can be addressed here.
    #[error("{0} words of a fuse filter are more than this machine can address")]
    FuseWords(u64),
    /// Fingerprints of a `fuse` of another length than they can have.
    #[error("the fingerprints of a fuse filter have 1 to {MAX_WIDTH} bits, not {0}")]
    FuseWidth(u32),
    /// A rate below the lowest of a `ribbon`.
    #[error("the lowest rate of a ribbon filter is 2^-32; {0} is below it")]
    RibbonRate(f64),
    /// More keys than a `ribbon` can have.
    #[error("{0} keys are more than a ribbon filter can have (2^40): split the set into groups")]
    RibbonKeys(u64),
    /// More words of a `ribbon` than can be addressed here.
    #[error("{0} words of a ribbon filter are more than this machine can address")]
    RibbonWords(u64),
    /// Fingerprints of a `ribbon` of another length than they can have.
    #[error(
        "the fingerprints of a ribbon filter have 1 to {MAX_WIDTH} bits, and fewer than 65536 of 65536 have one less; not {bits} and {shorter}"
    )]
    RibbonWidths {
        /// The bits.
        bits: u32,
        /// How many of 65536 have one less.
        shorter: u32,
    },
    /// Fewer bits than a filter of these keys has.
    #[error("{bits} bits are too few for a {kind} filter of {keys} keys")]
    FewBits {
        /// The bits.
        bits: u64,
        /// The kind.
        kind: Kind,
        /// The keys.
        keys: u64,
    },
    /// Fewer bits than a filter of one key has at this rate.
    #[error("{bits} bits are too few for one key of a {kind} filter at {fpr}")]
    NotOneKey {
        /// The bits.
        bits: u64,
        /// The kind.
        kind: Kind,
        /// The rate.
        fpr: f64,
    },
    /// Fewer bits than the layers of a `layered` have.
    #[error("{bits} bits are too few for {layers} layers and the XOR layer: {least} are needed at least")]
    FewBitsForLayers {
        /// The bits.
        bits: u64,
        /// The layers, without the XOR layer.
        layers: u32,
        /// What they need.
        least: u64,
    },
    /// Layers that a `layered` cannot have.
    #[error("a layered filter has 1 to {MOST_LAYERS} layers, not {0}")]
    Layers(u32),
    /// More bits than the positions that a hash gives.
    #[error("{} has positions of 32 bits and cannot reach {bits} of them; the default hash, xxh3, can", hash.name())]
    Reach {
        /// The hash.
        hash: Scheme,
        /// The bits.
        bits: f64,
    },
    /// A number of hashes that the kind cannot have.
    #[error("a {kind} filter has {}, not {hashes}", hashes_of(*.kind))]
    Hashes {
        /// The kind.
        kind: Kind,
        /// The hashes.
        hashes: u32,
    },
    /// A number of bits that the kind cannot have.
    #[error("a {kind} filter cannot have exactly {bits} bits{}", next_below(*.below))]
    Exactly {
        /// The bits.
        bits: u64,
        /// The kind.
        kind: Kind,
        /// The next number of bits below that it can have; none where there is none.
        below: Option<u64>,
    },
    /// An ε that is no share.
    #[error("epsilon must be above 0 and below 1, not {0:?}")]
    Epsilon(f64),
    /// A δ that is no probability.
    #[error("delta must be above 0 and below 1, not {0:?}")]
    Delta(f64),
    /// A δ that takes more rows than a `count-min` has.
    #[error(
        "a delta of {delta:?} needs {depth} rows, more than the limit of {MOST_DEPTH}: give at least {:e}",
        exp(-f64::from(MOST_DEPTH))
    )]
    LowDelta {
        /// The probability.
        delta: f64,
        /// The rows.
        depth: f64,
    },
    /// Rows and counters that a `count-min` cannot have.
    #[error(
        "{depth} rows of {row} counters of {bits} bits are not a valid count-min sketch: it has 1 to {MOST_DEPTH} rows of at least 1 counter of 32 or 64 bits"
    )]
    Rows {
        /// The rows.
        depth: u32,
        /// The counters of each.
        row: u64,
        /// The bits of a counter.
        bits: u32,
    },
}

/// The numbers of hashes that a kind can have.
fn hashes_of(kind: Kind) -> String {
    match kind {
        Kind::Blocked | Kind::Counting => "1, 2, 4, 8, 16 or 32 hashes".into(),
        Kind::Bloom | Kind::Layered => format!("1 to {MOST_HASHES} hashes"),
        Kind::Fuse => format!("{PROBES} hashes"),
        Kind::Ribbon => format!("{PLACES} hash"),
        Kind::Scalable | Kind::CountMin | Kind::CountMinConservative => {
            "numbers of hashes that follow from its size".into()
        }
    }
}

fn next_below(below: Option<u64>) -> String {
    below.map_or_else(String::new, |below| format!("; the next number below is {below}"))
}

/// Words, and what was said of them, that do not belong together.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeFault {
    /// As a `blocked` or a `counting`.
    #[error("{words} words and {hashes} hashes are not a valid {kind} filter")]
    Lines {
        /// The kind.
        kind: Kind,
        /// The words.
        words: usize,
        /// The hashes.
        hashes: u32,
    },
    /// As a `bloom`.
    #[error("{words} words, {bits} bits and {hashes} hashes are not a valid Bloom filter")]
    Bloom {
        /// The words.
        words: usize,
        /// The bits.
        bits: u64,
        /// The hashes.
        hashes: u32,
    },
    /// As a `fuse`.
    #[error("a fuse filter of {keys} keys, {width} bits each, has {expected} words, not {got}")]
    Fuse {
        /// The keys.
        keys: u64,
        /// The bits of a fingerprint.
        width: u32,
        /// The words that it has.
        expected: usize,
        /// The words that were given.
        got: usize,
    },
    /// As a `ribbon`.
    #[error(
        "a ribbon filter of {keys} keys, {bits} bits each and one less for {shorter} of 65536, has {expected} words, not {got}"
    )]
    Ribbon {
        /// The keys.
        keys: u64,
        /// The bits of a fingerprint.
        bits: u32,
        /// How many of 65536 have one less.
        shorter: u32,
        /// The words that it has.
        expected: usize,
        /// The words that were given.
        got: usize,
    },
    /// As a `layered`.
    #[error("{words} words and {shape:?} are not a valid layered filter")]
    Layered {
        /// The words.
        words: usize,
        /// The shape.
        shape: Shape,
    },
    /// As a `scalable`.
    #[error(
        "{words} words and {layers} layers with {newest} keys in the newest are not a valid scalable filter"
    )]
    Scalable {
        /// The words.
        words: usize,
        /// The layers.
        layers: u32,
        /// The keys in the newest one.
        newest: u64,
    },
    /// As a `count-min`.
    #[error(
        "{words} words are not a valid count-min sketch of {} rows and {} counters of {} bits",
        shape.hashes(), shape.slots(), shape.width()
    )]
    CountMin {
        /// The words.
        words: usize,
        /// The shape.
        shape: Shape,
    },
    /// A shape, or a number beside the words, of another kind.
    #[cfg(feature = "serde")]
    #[error("{shape:?} with {beside:?} beside it is not a {kind} sketch")]
    Kind {
        /// The kind.
        kind: Kind,
        /// The shape.
        shape: Shape,
        /// The number beside the words.
        beside: crate::sketch::Beside,
    },
    /// A data area of another length than the parameters give it.
    #[error("{got} words are not the {expected} of the data area")]
    Data {
        /// The words that it has.
        expected: usize,
        /// The words that were given.
        got: usize,
    },
    /// Another number of tallies than of groups.
    #[error("{tallies} tallies are not those of {groups} groups")]
    Tallies {
        /// The tallies.
        tallies: usize,
        /// The groups.
        groups: usize,
    },
    /// Bytes that begin within a word.
    #[error("the bytes of a container must begin at a multiple of 8 in memory")]
    Unaligned,
}

/// What conservative counters cannot do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Conservative {
    /// Be merged.
    #[error(
        "conservative sketches depend on the order of their rows and cannot be merged; build one from all of the data, or plain ones"
    )]
    Merge,
    /// Give an inner product.
    #[error(
        "conservative counters hold less than the sum of their keys, so their products may be below the truth"
    )]
    InnerProduct,
}
