//! Bloom filters and sketches of other systems: what a file is, what is in it, and how it is written so that its own system reads
//! it.
//!
//! Each layout is one file here: it recognises its own, reads it, and writes it again. How keys are placed is no
//! matter of a layout: that is a [`Foreign`] scheme, a value beside our own, so that the same filter code asks all of
//! them.
//!
//! None of these files has a checksum, and few have a mark at their beginning. So a file is taken for one of a layout
//! only if all of it fits, its length included; and nothing is allocated for a number before the file is seen to have
//! that many bytes.
//!
//! | layout | what it does not say |
//! |---|---|
//! | [`spark`] | the number of keys, the rate, the type of keys |
//! | [`guava`] | the same |
//! | [`hadoop`] | the same |
//! | [`dcso`] | whether keys are in upper or lower case |
//! | [`datasketches`] | the number of keys, the rate, the type of keys |
//! | [`redis`] | the name of its key |
//! | [`spark_counts`] | the type of keys |
//!
//! [`parquet`] stands apart: its filters lie inside files of another kind, and place keys in blocks.

use std::borrow::Cow;
use std::io::{self, Write};

use tamis::hash::Foreign;

pub mod datasketches;
pub mod dcso;
mod fields;
pub mod guava;
pub mod hadoop;
pub mod parquet;
pub mod redis;
pub mod spark;
pub mod spark_counts;

/// A Bloom filter as it stands in a file of another system.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter<'w> {
    /// How keys are placed.
    pub scheme: Foreign,
    /// Its bits.
    pub bits: u64,
    /// Positions of a key.
    pub hashes: u32,
    /// The bits in words, the lowest first.
    pub words: Cow<'w, [u64]>,
    /// The keys and the rate that it was made for, where the layout has them.
    pub planned: Option<(u64, f64)>,
    /// The keys that were added, as its system counts them, where the layout has them.
    pub added: Option<u64>,
}

/// What was found in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Its layout.
    pub layout: Layout,
    /// What is in it.
    pub held: Held,
    /// Bytes after the filter that belong to its user, and that no other layout has.
    pub beyond: u64,
}

impl Found {
    /// The filter, where it is one that is written again as it was read.
    pub fn filter(&self) -> Option<&Filter<'static>> {
        match &self.held {
            Held::Filter(filter) => Some(filter),
            Held::Links(_) | Held::Counts(_) => None,
        }
    }
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Held {
    /// A Bloom filter.
    Filter(Filter<'static>),
    /// One that grew.
    Links(Links),
    /// A sketch that counts.
    Counts(Counts),
}

/// A Bloom filter that grew: several of them, each for more keys than the one before. A key is in it if one has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Links {
    /// How many times as many keys the next one is for.
    pub growth: u32,
    /// How many there are.
    pub count: u32,
    /// The keys and the rate that the first was made for.
    pub planned: (u64, f64),
    /// The keys that were added, and those of them that are in the last.
    pub added: (u64, u64),
    /// The bits of all of them in words, the lowest first.
    pub words: Vec<u64>,
}

/// A Count-Min sketch as Spark has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    /// All that was counted.
    pub total: u64,
    /// The rows.
    pub depth: u32,
    /// The counters of a row.
    pub width: u64,
    /// A seed that draws the factors of its rows.
    pub seed: u64,
    /// The counters, row by row.
    pub counters: Vec<u64>,
}

/// The layout of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// See [`spark`].
    Spark,
    /// See [`guava`].
    Guava,
    /// See [`hadoop`].
    Hadoop,
    /// The counting filter of Hadoop; see [`hadoop`].
    HadoopCounting,
    /// See [`dcso`].
    Dcso,
    /// See [`datasketches`].
    DataSketches,
    /// See [`redis`].
    Redis,
    /// See [`spark_counts`].
    SparkCounts,
}

impl Layout {
    /// All of them.
    pub const ALL: [Layout; 8] = [
        Layout::Spark,
        Layout::Guava,
        Layout::Hadoop,
        Layout::HadoopCounting,
        Layout::Dcso,
        Layout::DataSketches,
        Layout::Redis,
        Layout::SparkCounts,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Spark => "spark",
            Layout::Guava => "guava",
            Layout::Hadoop => "hadoop",
            Layout::HadoopCounting => "hadoop-counting",
            Layout::Dcso => "dcso",
            Layout::DataSketches => "datasketches",
            Layout::Redis => "redis",
            Layout::SparkCounts => "spark-counts",
        }
    }

    /// What it is, in words.
    pub fn title(self) -> &'static str {
        match self {
            Layout::Spark => "a Bloom filter of Spark",
            Layout::Guava => "a Bloom filter of Guava",
            Layout::Hadoop => "a Bloom filter of Hadoop",
            Layout::HadoopCounting => "a counting Bloom filter of Hadoop",
            Layout::Dcso => "a Bloom filter of DCSO (hashlookup)",
            Layout::DataSketches => "a Bloom filter of DataSketches",
            Layout::Redis => "a Bloom filter of Redis (SCANDUMP)",
            Layout::SparkCounts => "a Count-Min sketch of Spark",
        }
    }

    /// The layout in which filters of this scheme are written.
    pub fn of(scheme: Foreign) -> Layout {
        match scheme {
            Foreign::SparkV1 | Foreign::SparkV2 { .. } => Layout::Spark,
            Foreign::Guava64 | Foreign::Guava32 => Layout::Guava,
            Foreign::HadoopMurmur | Foreign::HadoopJenkins => Layout::Hadoop,
            Foreign::Dcso => Layout::Dcso,
            Foreign::DataSketches { .. } => Layout::DataSketches,
            Foreign::Redis | Foreign::RedisLinks { .. } => Layout::Redis,
        }
    }

    /// Whether its files leave open of what type keys are: the same file serves numbers and text.
    pub fn leaves_type_open(self) -> bool {
        match self {
            Layout::Spark | Layout::Guava | Layout::DataSketches | Layout::SparkCounts => true,
            // Theirs are bytes.
            Layout::Hadoop | Layout::HadoopCounting | Layout::Dcso | Layout::Redis => false,
        }
    }

    /// Whether a file begins with what all newer files of the layout begin with.
    fn has_mark(self, file: &[u8]) -> bool {
        !matches!(self, Layout::Hadoop | Layout::HadoopCounting) || file.starts_with(&hadoop::MARK)
    }

    /// Whether a file with this fault may be one of the layout all the same. Guava's begin with a few small numbers,
    /// as files of anything may: one is taken for it only where much of what it claims is there.
    fn may_be(self, fault: Fault) -> bool {
        const SHARE: u64 = 16;
        match (self, fault) {
            (_, Fault::Other) => false,
            (Layout::Guava, Fault::Length { expected, got }) => got < expected && expected / SHARE <= got,
            _ => true,
        }
    }

    /// Reads a file of this layout.
    ///
    /// # Errors
    /// Where it is none.
    pub fn read(self, file: &[u8]) -> Result<Found, Fault> {
        let mut beyond = 0;
        let held = match self {
            Layout::Spark => Held::Filter(spark::read(file)?),
            Layout::Guava => Held::Filter(guava::read(file)?),
            Layout::Hadoop => Held::Filter(hadoop::read(file)?),
            Layout::HadoopCounting => Held::Filter(hadoop::read_counting(file)?),
            Layout::Dcso => {
                let filter;
                (filter, beyond) = dcso::read(file)?;
                Held::Filter(filter)
            }
            Layout::DataSketches => Held::Filter(datasketches::read(file)?),
            Layout::Redis => redis::read(file)?,
            Layout::SparkCounts => Held::Counts(spark_counts::read(file)?),
        };
        Ok(Found { layout: self, held, beyond })
    }
}

/// What the whole file is; none where it is of no layout that is known, or of more than one.
///
/// # Errors
/// Where it has the beginning of a layout and the rest does not fit: the layout, and why.
pub fn recognise(file: &[u8]) -> Result<Option<Found>, (Layout, Fault)> {
    let (mut found, mut close) = (Vec::new(), Vec::new());
    for layout in Layout::ALL.into_iter().filter(|layout| layout.has_mark(file)) {
        match layout.read(file) {
            Ok(one) => found.push(one),
            Err(fault) if layout.may_be(fault) => close.push((layout, fault)),
            Err(_) => {}
        }
    }
    // Of several that it begins like, it is rather the one whose length is right, or of which it is a part.
    let likely = |(_, fault): &(Layout, Fault)| match *fault {
        Fault::Length { expected, got } if got < expected => (1, expected),
        Fault::Length { expected, .. } => (2, expected),
        _ => (0, 0),
    };
    match (found.len(), close.into_iter().min_by_key(likely)) {
        (1, _) => Ok(found.pop()),
        (0, Some(close)) => Err(close),
        _ => Ok(None),
    }
}

/// Writes a filter in the layout of its scheme.
///
/// # Errors
/// [`Unwritable`] where the layout cannot have it; and those of the output.
pub fn write(filter: &Filter<'_>, out: &mut dyn Write) -> io::Result<()> {
    let written = match Layout::of(filter.scheme) {
        Layout::Spark | Layout::SparkCounts => spark::write(filter, out),
        Layout::Guava => guava::write(filter, out),
        Layout::Hadoop | Layout::HadoopCounting => hadoop::write(filter, out),
        Layout::Dcso => dcso::write(filter, out),
        Layout::DataSketches => datasketches::write(filter, out),
        Layout::Redis => redis::write(filter, out),
    };
    written.map_err(|error| match error {
        Failure::Io(error) => error,
        Failure::Unwritable(why) => io::Error::new(io::ErrorKind::InvalidInput, why),
    })
}

/// Why bytes are no file of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// They do not begin like one.
    #[error("it does not begin like one")]
    Other,
    /// They end too early, or go on.
    #[error("it should have {expected} bytes, and has {got}")]
    Length {
        /// As the file says.
        expected: u64,
        /// The bytes that there are.
        got: u64,
    },
    /// A number of hashes that no filter has here.
    #[error("it claims {0} hashes for a key; a filter has 1 to {most}", most = tamis::bloom::MOST_HASHES)]
    Hashes(u64),
    /// A filter without bits, or with more than there can be.
    #[error("it claims {0} bits")]
    Bits(u64),
    /// Bits that are set beyond the last.
    #[error("bits are set beyond its last one")]
    BitsBeyond,
    /// Set bits that are not as many as the file says.
    #[error("it claims {claimed} set bits, and has {got}")]
    Ones {
        /// As the file says.
        claimed: u64,
        /// Those that there are.
        got: u64,
    },
    /// A rate or a number of keys that a filter cannot be made for.
    #[error("it claims to be made for {keys} keys, or for a rate, that no filter is made for")]
    Plan {
        /// The keys.
        keys: u64,
    },
    /// A link of a filter that grew that is not as large as it should be after the first.
    #[error("its link {0} is not of the size that follows from the first")]
    Link(u32),
    /// Factors that Java's random numbers do not give.
    #[error("its factors are not those of any seed")]
    Factors,
    /// Counters whose sum is not the total.
    #[error("the counters of a row do not sum up to its total, {total}")]
    Sums {
        /// The total.
        total: u64,
    },
    /// A version or an option that is not known.
    #[error("it is of a version, or has an option, that is not known here: {0}")]
    Version(u64),
    /// Compressed bytes that cannot be decompressed.
    #[error("it is compressed, and damaged")]
    Gzip,
}

/// Why a layout cannot have a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unwritable {
    /// More bits than its numbers count.
    #[error("{layout} has at most {most} bits; this filter has {bits}", layout = .layout.title())]
    Bits {
        /// The layout.
        layout: Layout,
        /// The most that it has.
        most: u64,
        /// Those of the filter.
        bits: u64,
    },
    /// The layout records for how many keys and which rate a filter was made, and nobody knows.
    #[error("{layout} records the number of keys and the rate, which are not known of this filter", layout = .layout.title())]
    NoPlan {
        /// The layout.
        layout: Layout,
    },
}

/// Why a filter was not written.
#[derive(Debug)]
pub(crate) enum Failure {
    Io(io::Error),
    Unwritable(Unwritable),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Io(error)
    }
}
