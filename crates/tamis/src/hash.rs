//! From the bytes of a key to a hash: named schemes, fixed for ever once a file uses them.

use core::fmt;

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use crate::bloom::MOST_REACHED;
use crate::chunks::chunks;
use crate::error::Error;
use crate::sizing::MOST_BITS;

mod counts;
mod foreign;
pub(crate) mod halves;
mod polynomial;
mod secret;

pub use counts::SparkCounts;
pub(crate) use counts::{place_of_bytes, place_of_long};
pub use foreign::{Foreign, Lanes, xxh64};
pub use polynomial::{polynomial, polynomial_factor};
pub use secret::{HashKey, KEY_BYTES};

/// How keys are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "SchemeInJson", into = "SchemeInJson"))]
pub enum Scheme {
    /// XXH3, 64 bits, with a seed: one hash per key, from which all positions are drawn.
    Xxh3 {
        /// The seed.
        seed: u64,
    },
    /// SipHash-2-4, 64 bits, under a secret key: one hash per key, from which all positions are drawn,
    /// and which nobody without the key can foresee.
    SipHash {
        /// The key, of which a file records the check value alone.
        check: HashKey,
    },
    /// MurmurHash3 x86 32-bit, one hash per hash function with the function's number as its
    /// seed; the position is the hash modulo the number of bits.
    Murmur3,
    /// Collodi and Ghera's family: a polynomial of the bytes of a key modulo the number of bits, in a factor of
    /// its own for each position. See [`polynomial()`].
    Polynomial {
        /// The seed of the factors.
        seed: u64,
    },
    /// That of another system's filters.
    Foreign(Foreign),
    /// That of Spark's sketches that count.
    SparkCounts(SparkCounts),
}

impl Scheme {
    /// The default: XXH3 with seed 0.
    pub const DEFAULT: Scheme = Scheme::Xxh3 { seed: 0 };

    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Xxh3 { .. } => "xxh3",
            Scheme::SipHash { .. } => "siphash",
            Scheme::Murmur3 => "murmur3",
            Scheme::Polynomial { .. } => "polynomial",
            Scheme::Foreign(foreign) => foreign.name(),
            Scheme::SparkCounts(counts) => counts.name(),
        }
    }

    /// The 64-bit hash that stands for a key wherever keys are counted, compared or (but where they are
    /// placed [by their bytes](ByBytes)) placed.
    #[inline]
    pub fn identity(self, key: &[u8]) -> u64 {
        self.single().unwrap_or(Single::DEFAULT).hash(key)
    }

    /// The one hash per key, where all positions are drawn from it.
    #[inline]
    pub fn single(self) -> Option<Single> {
        match self {
            Scheme::Xxh3 { seed } => Some(Single::Xxh3 { seed }),
            Scheme::SipHash { check } => Some(Single::SipHash(check)),
            Scheme::SparkCounts(counts) => Some(Single::SparkCounts(counts)),
            Scheme::Murmur3 | Scheme::Polynomial { .. } | Scheme::Foreign(_) => None,
        }
    }

    /// The hash of each position, where positions are not drawn from one hash.
    #[inline]
    pub fn by_bytes(self) -> Option<ByBytes> {
        match self {
            Scheme::Xxh3 { .. } | Scheme::SipHash { .. } | Scheme::SparkCounts(_) => None,
            Scheme::Murmur3 => Some(ByBytes::Murmur3),
            Scheme::Polynomial { seed } => Some(ByBytes::Polynomial { seed }),
            Scheme::Foreign(foreign) => Some(ByBytes::Foreign(foreign)),
        }
    }

    /// The most positions that it gives. (Other systems make filters that they cannot fill.)
    pub fn reach(self) -> u64 {
        match self {
            Scheme::Xxh3 { .. } | Scheme::SipHash { .. } | Scheme::Foreign(_) | Scheme::SparkCounts(_) => {
                MOST_BITS
            }
            Scheme::Murmur3 | Scheme::Polynomial { .. } => MOST_REACHED,
        }
    }

    /// That keys can be hashed: a secret key that it takes is known.
    ///
    /// # Errors
    /// Where it is not.
    pub fn hashes_keys(self) -> Result<(), Error> {
        match self {
            Scheme::SipHash { check } if !check.is_known() => {
                Err(Error::HashKey { check, other: HashKey::any() })
            }
            _ => Ok(()),
        }
    }
}

/// One hash of 64 bits per key, from which all positions are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Single {
    /// XXH3 with a seed.
    Xxh3 {
        /// The seed.
        seed: u64,
    },
    /// SipHash-2-4 under a secret key.
    SipHash(HashKey),
    /// That of Spark's sketches that count.
    SparkCounts(SparkCounts),
}

impl Single {
    /// The default: XXH3 with seed 0.
    pub const DEFAULT: Single = Single::Xxh3 { seed: 0 };

    /// The hash of a key.
    #[inline]
    pub fn hash(self, key: &[u8]) -> u64 {
        match self {
            Single::Xxh3 { seed } => xxh3(key, seed),
            Single::SipHash(secret) => secret.hash(key),
            Single::SparkCounts(counts) => counts.hash(key),
        }
    }
}

/// A hash of the bytes of a key for each position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByBytes {
    /// MurmurHash3, with the number of the position as the seed.
    Murmur3,
    /// Collodi and Ghera's family, with factors that are drawn from a seed.
    Polynomial {
        /// The seed.
        seed: u64,
    },
    /// The hash of another system.
    Foreign(Foreign),
}

impl ByBytes {
    /// How many different numbers become positions, where they are so few that a large filter is not filled evenly.
    pub fn range(self) -> Option<u64> {
        match self {
            ByBytes::Murmur3 => Some(1 << 32),
            ByBytes::Polynomial { .. } => None,
            ByBytes::Foreign(foreign) => foreign.range(),
        }
    }

    /// The positions of a key among this many bits: from 1 to 2³², and with the hash of another system any number.
    #[inline]
    pub fn positions(self, key: &[u8], bits: u64, hashes: u32) -> impl Iterator<Item = u64> {
        let mut lanes = if let ByBytes::Foreign(foreign) = self { Some(foreign.lanes(key)) } else { None };
        (0..hashes).map(move |number| match self {
            ByBytes::Murmur3 => u64::from(murmur3(key, number)) % bits,
            ByBytes::Polynomial { seed } => position_by_polynomial(key, (seed, number), bits),
            ByBytes::Foreign(_) => lanes.as_mut().and_then(Iterator::next).unwrap_or(0) % bits,
        })
    }

    /// The same, handed over one by one. Which hash it is, is decided once and not for each of them.
    #[inline]
    pub fn each_position(self, key: &[u8], bits: u64, hashes: u32, take: impl FnMut(u64)) {
        match self {
            ByBytes::Murmur3 => {
                (0..hashes).map(|number| u64::from(murmur3(key, number)) % bits).for_each(take)
            }
            ByBytes::Polynomial { seed } => {
                (0..hashes).map(|number| position_by_polynomial(key, (seed, number), bits)).for_each(take);
            }
            ByBytes::Foreign(foreign) => {
                foreign.lanes(key).take(hashes as usize).map(|lane| lane % bits).for_each(take);
            }
        }
    }
}

/// Not inlined: beside it, the loop of murmur3 would be slower.
#[inline(never)]
fn position_by_polynomial(key: &[u8], (seed, number): (u64, u32), bits: u64) -> u64 {
    polynomial(key, polynomial_factor(seed, number, bits), bits)
}

impl From<ByBytes> for Scheme {
    fn from(hash: ByBytes) -> Self {
        match hash {
            ByBytes::Murmur3 => Scheme::Murmur3,
            ByBytes::Polynomial { seed } => Scheme::Polynomial { seed },
            ByBytes::Foreign(foreign) => Scheme::Foreign(foreign),
        }
    }
}

impl From<Single> for Scheme {
    fn from(hash: Single) -> Self {
        match hash {
            Single::Xxh3 { seed } => Scheme::Xxh3 { seed },
            Single::SipHash(check) => Scheme::SipHash { check },
            Single::SparkCounts(counts) => Scheme::SparkCounts(counts),
        }
    }
}

/// A scheme as files have it: a variant without braces would not refuse unknown fields.
#[cfg(feature = "serde")]
#[derive(Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
enum SchemeInJson {
    Xxh3 {
        seed: u64,
    },
    Siphash {
        check: HashKey,
    },
    Murmur3 {},
    Polynomial {
        seed: u64,
    },
    SparkV1 {},
    SparkV2 {
        seed: i32,
    },
    #[serde(rename = "guava-64")]
    Guava64 {},
    #[serde(rename = "guava-32")]
    Guava32 {},
    HadoopMurmur {},
    HadoopJenkins {},
    Dcso {},
    #[serde(rename = "datasketches")]
    DataSketches {
        seed: u64,
    },
    Redis {},
    RedisLinks {
        growth: u32,
    },
    SparkCounts {},
    SparkCountsLong {
        seed: u64,
    },
}

#[cfg(feature = "serde")]
impl From<SchemeInJson> for Scheme {
    fn from(scheme: SchemeInJson) -> Self {
        Scheme::Foreign(match scheme {
            SchemeInJson::Xxh3 { seed } => return Scheme::Xxh3 { seed },
            SchemeInJson::Siphash { check } => return Scheme::SipHash { check },
            SchemeInJson::Murmur3 {} => return Scheme::Murmur3,
            SchemeInJson::Polynomial { seed } => return Scheme::Polynomial { seed },
            SchemeInJson::SparkV1 {} => Foreign::SparkV1,
            SchemeInJson::SparkV2 { seed } => Foreign::SparkV2 { seed },
            SchemeInJson::Guava64 {} => Foreign::Guava64,
            SchemeInJson::Guava32 {} => Foreign::Guava32,
            SchemeInJson::HadoopMurmur {} => Foreign::HadoopMurmur,
            SchemeInJson::HadoopJenkins {} => Foreign::HadoopJenkins,
            SchemeInJson::Dcso {} => Foreign::Dcso,
            SchemeInJson::DataSketches { seed } => Foreign::DataSketches { seed },
            SchemeInJson::Redis {} => Foreign::Redis,
            SchemeInJson::RedisLinks { growth } => Foreign::RedisLinks { growth },
            SchemeInJson::SparkCounts {} => return Scheme::SparkCounts(SparkCounts::Bytes),
            SchemeInJson::SparkCountsLong { seed } => {
                return Scheme::SparkCounts(SparkCounts::Longs { seed });
            }
        })
    }
}

#[cfg(feature = "serde")]
impl From<Scheme> for SchemeInJson {
    fn from(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Xxh3 { seed } => SchemeInJson::Xxh3 { seed },
            Scheme::SipHash { check } => SchemeInJson::Siphash { check },
            Scheme::Murmur3 => SchemeInJson::Murmur3 {},
            Scheme::Polynomial { seed } => SchemeInJson::Polynomial { seed },
            Scheme::Foreign(foreign) => match foreign {
                Foreign::SparkV1 => SchemeInJson::SparkV1 {},
                Foreign::SparkV2 { seed } => SchemeInJson::SparkV2 { seed },
                Foreign::Guava64 => SchemeInJson::Guava64 {},
                Foreign::Guava32 => SchemeInJson::Guava32 {},
                Foreign::HadoopMurmur => SchemeInJson::HadoopMurmur {},
                Foreign::HadoopJenkins => SchemeInJson::HadoopJenkins {},
                Foreign::Dcso => SchemeInJson::Dcso {},
                Foreign::DataSketches { seed } => SchemeInJson::DataSketches { seed },
                Foreign::Redis => SchemeInJson::Redis {},
                Foreign::RedisLinks { growth } => SchemeInJson::RedisLinks { growth },
            },
            Scheme::SparkCounts(SparkCounts::Bytes) => SchemeInJson::SparkCounts {},
            Scheme::SparkCounts(SparkCounts::Longs { seed }) => SchemeInJson::SparkCountsLong { seed },
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Scheme::Xxh3 { seed: 0 } | Scheme::Polynomial { seed: 0 } | Scheme::Murmur3 => Ok(()),
            Scheme::Xxh3 { seed } | Scheme::Polynomial { seed } => write!(f, " (seed {seed})"),
            Scheme::SipHash { check } => write!(f, " (key with {check})"),
            Scheme::Foreign(Foreign::SparkV2 { seed }) if *seed != 0 => write!(f, " (seed {seed})"),
            Scheme::Foreign(Foreign::DataSketches { seed }) => write!(f, " (seed {seed})"),
            Scheme::SparkCounts(SparkCounts::Longs { seed }) => write!(f, " (seed {seed})"),
            Scheme::Foreign(_) | Scheme::SparkCounts(SparkCounts::Bytes) => Ok(()),
        }
    }
}

/// XXH3 (64 bits) of a key.
#[inline]
pub fn xxh3(key: &[u8], seed: u64) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(key, seed)
}

/// XXH3 (128 bits) of some bytes, for digests.
pub(crate) fn xxh3_wide(bytes: &[u8]) -> u128 {
    xxhash_rust::xxh3::xxh3_128(bytes)
}

/// MurmurHash3 x86 32-bit of a key: what `mmh3.hash(key, seed, signed=False)` gives.
///
/// ```
/// assert_eq!(tamis::hash::murmur3(b"", 0), 0);
/// assert_eq!(tamis::hash::murmur3(b"hello", 0), 0x248b_fa47);
/// ```
#[inline]
pub fn murmur3(key: &[u8], seed: u32) -> u32 {
    let (blocks, tail) = chunks::<_, 4>(key);
    let mut h = seed;
    for block in blocks {
        h ^= murmur3_scrambled(u32::from_le_bytes(*block));
        h = h.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    let rest = tail.iter().rev().fold(0u32, |k, &byte| k << 8 | u32::from(byte));
    murmur3_end(h ^ murmur3_scrambled(rest), key.len())
}

/// A block, before it is taken in.
#[inline(always)]
fn murmur3_scrambled(block: u32) -> u32 {
    block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

/// The hash of a key of this length, all of whose blocks were taken in.
#[inline(always)]
fn murmur3_end(mut h: u32, length: usize) -> u32 {
    h ^= length as u32;
    h = (h ^ h >> 16).wrapping_mul(0x85eb_ca6b);
    h = (h ^ h >> 13).wrapping_mul(0xc2b2_ae35);
    h ^ h >> 16
}

/// A number of 64 bits that is written as 16 lower-case hexadecimal digits, as files name what they do not hold.
#[cfg(feature = "serde")]
pub(crate) fn of_digits(text: &str) -> Option<u64> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (text.len() == 16 && text.bytes().all(is_digit)).then(|| u64::from_str_radix(text, 16).ok())?
}

/// The exclusive or of the two halves of the 128-bit product: mixes 64 bits well and fast.
#[inline(always)]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_with_anything_unknown_is_refused() {
        let read = |json| serde_json::from_str::<Scheme>(json).ok();
        assert_eq!(
            read(r#"{"name":"xxh3","seed":18446744073709551615}"#),
            Some(Scheme::Xxh3 { seed: u64::MAX })
        );
        assert_eq!(read(r#"{"name":"murmur3"}"#), Some(Scheme::Murmur3));
        for json in [
            r#"{"name":"xxh3"}"#,
            r#"{"name":"xxh3","seed":0,"secret":1}"#,
            r#"{"name":"xxh3","seed":-1}"#,
            r#"{"name":"xxh64","seed":0}"#,
            r#"{"name":"polynomial"}"#,
            r#"{"name":"polynomial","seed":0,"factor":31}"#,
            r#"{"name":"siphash"}"#,
            r#"{"name":"siphash","check":"0123456789abcdef","key":"0"}"#,
        ] {
            assert_eq!(read(json), None, "{json}");
        }
    }

    #[test]
    fn murmur3_gives_the_published_values() {
        for (key, seed, expected) in [
            (&b""[..], 1, 0x514e_28b7),
            (b"\xff\xff\xff\xff", 0, 0x7629_3b50),
            (b"!Ce\x87", 0, 0xf55b_516b),
            (b"!Ce", 0, 0x7e4a_8634),
            (b"!C", 0, 0xa0f7_b07a),
            (b"!", 0, 0x7266_1cf4),
            (b"Hello, world!", 0x9747_b28c, 0x2488_4cba),
        ] {
            assert_eq!(murmur3(key, seed), expected, "{key:?}");
        }
    }
}
