//! The hashes of other systems' Bloom filters, as values beside our own schemes.
//!
//! They differ in how the bytes of a key are hashed and how hashes follow each other, and agree in the rest: each
//! gives a key an endless sequence of *lanes*, numbers that do not depend on the size of the filter, and position i is
//! lane i modulo the number of bits. So a key is hashed once for all filters, and one loop asks them all.
//!
//! | scheme | lanes |
//! |---|---|
//! | `spark-v1`, `spark-v2` | two hashes, added up: h₁ + i h₂ in 32 bits, or (2³¹ − 1) h₁ + i h₂ in 64; negative ones are complemented |
//! | `guava-64`, `guava-32` | the halves of one MurmurHash3 of 128 bits, added up in 64 bits without the sign; or those of its first half, as `spark-v1` |
//! | `hadoop-murmur`, `hadoop-jenkins` | each hash is the seed of the next; without the sign |
//! | `dcso` | FNV-1, then powers of a generator modulo a prime |
//! | `datasketches` | two XXH64, added up, without the lowest bit |
//! | `redis` | two MurmurHash64A, added up |
//!
//! The formulas stand in `docs/format.md`. Each was taken from files that the other system wrote.

use super::{murmur3_end, murmur3_scrambled};
use crate::chunks::chunks;

#[cfg(test)]
mod tests;

/// The hash of another system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    /// Spark's `BloomFilter`, version 1: up to Spark 4.0.
    SparkV1,
    /// Spark's `BloomFilter`, version 2.
    SparkV2 {
        /// The seed of the first hash.
        seed: i32,
    },
    /// Guava's `MURMUR128_MITZ_64`.
    Guava64,
    /// Guava's `MURMUR128_MITZ_32`.
    Guava32,
    /// Hadoop's `BloomFilter` with its `MurmurHash`.
    HadoopMurmur,
    /// Hadoop's `BloomFilter` with its `JenkinsHash`.
    HadoopJenkins,
    /// DCSO's `bloom`, which hashlookup uses.
    Dcso,
    /// The Bloom filter of DataSketches.
    DataSketches {
        /// The seed of the first hash.
        seed: u64,
    },
    /// RedisBloom, with hashes of 64 bits.
    Redis,
    /// The same, of a filter that grew: it has several links, each for more keys than the one before.
    RedisLinks {
        /// How many times as many keys the next link is for.
        growth: u32,
    },
}

impl Foreign {
    /// All with which a single filter is made, with the seeds that they usually have.
    pub const ALL: [Foreign; 9] = [
        Foreign::SparkV1,
        Foreign::SparkV2 { seed: 0 },
        Foreign::Guava64,
        Foreign::Guava32,
        Foreign::HadoopMurmur,
        Foreign::HadoopJenkins,
        Foreign::Dcso,
        Foreign::DATASKETCHES,
        Foreign::Redis,
    ];

    /// That of DataSketches with the seed that its sketches usually have.
    pub const DATASKETCHES: Foreign = Foreign::DataSketches { seed: 9001 };

    /// The same with this seed; none where it has none, or not such a one.
    pub fn with_seed(self, seed: u64) -> Option<Foreign> {
        match self {
            Foreign::SparkV2 { .. } => Some(Foreign::SparkV2 { seed: i32::try_from(seed as i64).ok()? }),
            Foreign::DataSketches { .. } => Some(Foreign::DataSketches { seed }),
            _ => None,
        }
    }

    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Foreign::SparkV1 => "spark-v1",
            Foreign::SparkV2 { .. } => "spark-v2",
            Foreign::Guava64 => "guava-64",
            Foreign::Guava32 => "guava-32",
            Foreign::HadoopMurmur => "hadoop-murmur",
            Foreign::HadoopJenkins => "hadoop-jenkins",
            Foreign::Dcso => "dcso",
            Foreign::DataSketches { .. } => "datasketches",
            Foreign::Redis => "redis",
            Foreign::RedisLinks { .. } => "redis-links",
        }
    }

    /// How many different numbers a lane can be, where they are so few that a large filter is not filled evenly.
    pub fn range(self) -> Option<u64> {
        match self {
            Foreign::SparkV1 | Foreign::Guava32 | Foreign::HadoopMurmur | Foreign::HadoopJenkins => {
                Some(1 << 31)
            }
            Foreign::SparkV2 { .. }
            | Foreign::Guava64
            | Foreign::Dcso
            | Foreign::DataSketches { .. }
            | Foreign::Redis
            | Foreign::RedisLinks { .. } => None,
        }
    }

    /// The lanes of a key.
    #[inline]
    pub fn lanes(self, key: &[u8]) -> Lanes<'_> {
        match self {
            Foreign::SparkV1 => {
                let first = spark_murmur3(key, 0);
                let second = spark_murmur3(key, first);
                Lanes::sums(u64::from(first), u64::from(second), Cut::Half32)
            }
            Foreign::SparkV2 { seed } => {
                let first = spark_murmur3(key, seed as u32);
                let second = spark_murmur3(key, first);
                let wide = |hash: u32| hash as i32 as i64 as u64;
                Lanes::sums(wide(first).wrapping_mul(0x7fff_ffff), wide(second), Cut::Half64)
            }
            Foreign::Guava64 => {
                let (first, second) = murmur3_wide(key);
                Lanes::sums(first.wrapping_sub(second), second, Cut::Unsigned)
            }
            Foreign::Guava32 => {
                let (hash, _) = murmur3_wide(key);
                Lanes::sums(hash, hash >> 32, Cut::Half32)
            }
            Foreign::HadoopMurmur => Lanes(Sequence::Chain { key, hash: hadoop_murmur, at: 0 }),
            Foreign::HadoopJenkins => Lanes(Sequence::Chain { key, hash: hadoop_jenkins, at: 0 }),
            Foreign::Dcso => Lanes(Sequence::Powers { at: fnv1(key) % DCSO_PRIME }),
            Foreign::DataSketches { seed } => {
                let first = xxh64(key, seed);
                Lanes::sums(first, xxh64(key, first), Cut::Lowest)
            }
            Foreign::Redis | Foreign::RedisLinks { .. } => {
                let first = murmur64a(key, MURMUR64_FACTOR);
                let second = murmur64a(key, first);
                Lanes::sums(first.wrapping_sub(second), second, Cut::Nothing)
            }
        }
    }
}

/// The lanes of a key, one after the other, without an end.
#[derive(Debug, Clone)]
pub struct Lanes<'k>(Sequence<'k>);

#[derive(Debug, Clone)]
enum Sequence<'k> {
    /// The same is added again and again.
    Sums { at: u64, by: u64, cut: Cut },
    /// The key is hashed again and again, with the last hash as the seed.
    Chain { key: &'k [u8], hash: fn(&[u8], u32) -> u32, at: u32 },
    /// DCSO's generator.
    Powers { at: u64 },
}

/// What a sum loses before it is a lane.
#[derive(Debug, Clone, Copy)]
enum Cut {
    Nothing,
    /// Its lowest bit.
    Lowest,
    /// Its sign.
    Unsigned,
    /// The upper half; then, as a number with a sign, it is complemented if it is negative.
    Half32,
    /// As a number with a sign, it is complemented if it is negative.
    Half64,
}

impl<'k> Lanes<'k> {
    fn sums(at: u64, by: u64, cut: Cut) -> Lanes<'k> {
        Lanes(Sequence::Sums { at, by, cut })
    }

    /// The first of them. Of which kind they are is decided once, and not for each.
    #[inline]
    pub fn fill(self, lanes: &mut [u64]) {
        #[inline(always)]
        fn sums(mut at: u64, by: u64, lanes: &mut [u64], cut: impl Fn(u64) -> u64) {
            for lane in lanes {
                at = at.wrapping_add(by);
                *lane = cut(at);
            }
        }
        match self.0 {
            Sequence::Sums { at, by, cut } => match cut {
                Cut::Nothing => sums(at, by, lanes, |at| at),
                Cut::Lowest => sums(at, by, lanes, |at| at >> 1),
                Cut::Unsigned => sums(at, by, lanes, unsigned),
                Cut::Half32 => sums(at, by, lanes, half32),
                Cut::Half64 => sums(at, by, lanes, half64),
            },
            Sequence::Chain { .. } | Sequence::Powers { .. } => {
                lanes.iter_mut().zip(self).for_each(|(to, lane)| *to = lane)
            }
        }
    }
}

#[inline(always)]
fn unsigned(sum: u64) -> u64 {
    sum & (u64::MAX >> 1)
}

#[inline(always)]
fn half32(sum: u64) -> u64 {
    u64::from((sum as i32 ^ (sum as i32 >> 31)) as u32)
}

#[inline(always)]
fn half64(sum: u64) -> u64 {
    (sum as i64 ^ (sum as i64 >> 63)) as u64
}

impl Iterator for Lanes<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        Some(match &mut self.0 {
            Sequence::Sums { at, by, cut } => {
                *at = at.wrapping_add(*by);
                match cut {
                    Cut::Nothing => *at,
                    Cut::Lowest => *at >> 1,
                    Cut::Unsigned => unsigned(*at),
                    Cut::Half32 => half32(*at),
                    Cut::Half64 => half64(*at),
                }
            }
            Sequence::Chain { key, hash, at } => {
                *at = hash(key, *at);
                u64::from((*at as i32).unsigned_abs())
            }
            Sequence::Powers { at } => {
                // The prime is so large that one subtraction is the division.
                let product = at.wrapping_mul(DCSO_FACTOR);
                *at = if product >= DCSO_PRIME { product - DCSO_PRIME } else { product };
                *at
            }
        })
    }
}

const DCSO_PRIME: u64 = 18_446_744_073_709_551_557;
const DCSO_FACTOR: u64 = 18_446_744_073_709_550_147;

/// FNV-1 of 64 bits: it multiplies, then takes in the byte (FNV-1a does it the other way round).
fn fnv1(key: &[u8]) -> u64 {
    key.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        hash.wrapping_mul(0x0000_0100_0000_01b3) ^ u64::from(byte)
    })
}

/// XXH64, with a seed.
#[inline]
pub fn xxh64(key: &[u8], seed: u64) -> u64 {
    match key.len() {
        ..32 => xxh64_short(key, seed),
        _ => xxhash_rust::xxh64::xxh64(key, seed),
    }
}

/// XXH64 of fewer than 32 bytes. Where the length is known, as that of numbers is, no loop is left of it, and no call.
#[inline(always)]
fn xxh64_short(key: &[u8], seed: u64) -> u64 {
    const PRIMES: [u64; 5] = [
        0x9e37_79b1_85eb_ca87,
        0xc2b2_ae3d_27d4_eb4f,
        0x1656_67b1_9e37_79f9,
        0x85eb_ca77_c2b2_ae63,
        0x27d4_eb2f_1656_67c5,
    ];
    let [first, second, third, fourth, fifth] = PRIMES;
    let (long, rest) = chunks::<_, 8>(key);
    let (short, tail) = chunks::<_, 4>(rest);
    let mut h = seed.wrapping_add(fifth).wrapping_add(key.len() as u64);
    for word in long {
        h ^= u64::from_le_bytes(*word).wrapping_mul(second).rotate_left(31).wrapping_mul(first);
        h = h.rotate_left(27).wrapping_mul(first).wrapping_add(fourth);
    }
    for word in short {
        h ^= u64::from(u32::from_le_bytes(*word)).wrapping_mul(first);
        h = h.rotate_left(23).wrapping_mul(second).wrapping_add(third);
    }
    for &byte in tail {
        h = (h ^ u64::from(byte).wrapping_mul(fifth)).rotate_left(11).wrapping_mul(first);
    }
    h = (h ^ h >> 33).wrapping_mul(second);
    h = (h ^ h >> 29).wrapping_mul(third);
    h ^ h >> 32
}

/// Spark's MurmurHash3 of 32 bits. Whole blocks are hashed as everywhere; but each byte after them, with its sign, is
/// a block of its own.
#[inline]
pub(super) fn spark_murmur3(key: &[u8], seed: u32) -> u32 {
    let (blocks, tail) = chunks::<_, 4>(key);
    let mut h = seed;
    for block in blocks {
        h = murmur3_block(h, u32::from_le_bytes(*block));
    }
    for &byte in tail {
        h = murmur3_block(h, byte as i8 as i32 as u32);
    }
    murmur3_end(h, key.len())
}

#[inline(always)]
fn murmur3_block(h: u32, block: u32) -> u32 {
    (h ^ murmur3_scrambled(block)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

/// The two halves of MurmurHash3 x64 of 128 bits, with the seed 0.
#[inline]
fn murmur3_wide(key: &[u8]) -> (u64, u64) {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let first = |k: u64| k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let second = |k: u64| k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let word = |bytes: &[u8]| {
        let mut all = [0; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(all)
    };
    let (blocks, tail) = chunks::<_, 16>(key);
    let (mut a, mut b) = (0u64, 0u64);
    for block in blocks {
        let (low, high) = block.split_at(8);
        a = (a ^ first(word(low))).rotate_left(27).wrapping_add(b).wrapping_mul(5).wrapping_add(0x52dc_e729);
        b = (b ^ second(word(high)))
            .rotate_left(31)
            .wrapping_add(a)
            .wrapping_mul(5)
            .wrapping_add(0x3849_5ab5);
    }
    let (low, high) = tail.split_at(tail.len().min(8));
    a ^= first(word(low));
    b ^= second(word(high));
    a ^= key.len() as u64;
    b ^= key.len() as u64;
    a = a.wrapping_add(b);
    b = b.wrapping_add(a);
    let end = |mut k: u64| {
        k = (k ^ k >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        k = (k ^ k >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        k ^ k >> 33
    };
    (a, b) = (end(a), end(b));
    a = a.wrapping_add(b);
    (a, b.wrapping_add(a))
}

/// Hadoop's MurmurHash2 of 32 bits, whose bytes after the last whole block have a sign, and count from the end.
fn hadoop_murmur(key: &[u8], seed: u32) -> u32 {
    const FACTOR: u32 = 0x5bd1_e995;
    let (blocks, tail) = chunks::<_, 4>(key);
    let mut h = seed ^ key.len() as u32;
    for block in blocks {
        let k = u32::from_le_bytes(*block).wrapping_mul(FACTOR);
        h = h.wrapping_mul(FACTOR) ^ (k ^ k >> 24).wrapping_mul(FACTOR);
    }
    if !tail.is_empty() {
        for (i, &byte) in tail.iter().rev().enumerate() {
            h ^= (byte as i8 as i32 as u32) << (8 * i);
        }
        h = h.wrapping_mul(FACTOR);
    }
    h = (h ^ h >> 13).wrapping_mul(FACTOR);
    h ^ h >> 15
}

/// Hadoop's JenkinsHash: Bob Jenkins' lookup3, hashlittle.
fn hadoop_jenkins(key: &[u8], seed: u32) -> u32 {
    let begin = 0xdead_beef_u32.wrapping_add(key.len() as u32).wrapping_add(seed);
    let mut state = [begin; 3];
    let mut rest = key;
    while rest.len() > 12 {
        let (block, after) = rest.split_at(12);
        add_words(&mut state, block);
        jenkins_mix(&mut state);
        rest = after;
    }
    if rest.is_empty() {
        return state[2]; // without the last mixing
    }
    add_words(&mut state, rest);
    jenkins_end(state)
}

/// Adds up to twelve bytes, as three words of which the last bytes are zero.
fn add_words(state: &mut [u32; 3], bytes: &[u8]) {
    for (i, &byte) in bytes.iter().enumerate() {
        state[i / 4] = state[i / 4].wrapping_add(u32::from(byte) << (8 * (i % 4)));
    }
}

fn jenkins_mix([a, b, c]: &mut [u32; 3]) {
    let step = |x: &mut u32, y: &mut u32, z: &mut u32, turn: u32| {
        *x = x.wrapping_sub(*z) ^ z.rotate_left(turn);
        *z = z.wrapping_add(*y);
    };
    step(a, b, c, 4);
    step(b, c, a, 6);
    step(c, a, b, 8);
    step(a, b, c, 16);
    step(b, c, a, 19);
    step(c, a, b, 4);
}

fn jenkins_end([mut a, mut b, mut c]: [u32; 3]) -> u32 {
    let step = |x: &mut u32, y: u32, turn: u32| *x = (*x ^ y).wrapping_sub(y.rotate_left(turn));
    step(&mut c, b, 14);
    step(&mut a, c, 11);
    step(&mut b, a, 25);
    step(&mut c, b, 16);
    step(&mut a, c, 4);
    step(&mut b, a, 14);
    step(&mut c, b, 24);
    c
}

const MURMUR64_FACTOR: u64 = 0xc6a4_a793_5bd1_e995;

/// MurmurHash64A, with a seed.
fn murmur64a(key: &[u8], seed: u64) -> u64 {
    let (blocks, tail) = chunks::<_, 8>(key);
    let mut h = seed ^ (key.len() as u64).wrapping_mul(MURMUR64_FACTOR);
    for block in blocks {
        let k = u64::from_le_bytes(*block).wrapping_mul(MURMUR64_FACTOR);
        h = (h ^ (k ^ k >> 47).wrapping_mul(MURMUR64_FACTOR)).wrapping_mul(MURMUR64_FACTOR);
    }
    if !tail.is_empty() {
        for (i, &byte) in tail.iter().enumerate() {
            h ^= u64::from(byte) << (8 * i);
        }
        h = h.wrapping_mul(MURMUR64_FACTOR);
    }
    h = (h ^ h >> 47).wrapping_mul(MURMUR64_FACTOR);
    h ^ h >> 47
}
