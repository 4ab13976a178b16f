//! Keys that a stranger makes for a filter: as many as are wanted, all with one hash.
//!
//! Filters see a hash, so keys of one hash pass together or not at all. These hashes of the files are not
//! cryptographic, and for each the way to such keys is published and costs nothing:
//!
//! * **XXH3, where the seed is known** (it stands in the file). A key of 17 to 128 bytes is summed up from
//!   products of 64-bit words, each of them XORed with a constant ± the seed. A word that equals its constant
//!   makes its factor 0, and the word that it is multiplied with does not matter: that gives 2⁶⁴ keys of
//!   32 bytes. A word that differs from its constant by 1 makes a product equal to its other factor: the rest
//!   is steps that can be undone, and so the sum, and the hash, can be any that is wanted. With 16 bytes there
//!   is one such key. (The comment at `XXH3_mix16B` in `xxhash.h` names the multiplication by zero, and says
//!   that XXH3 is not made to withstand chosen inputs. Issue 1127 of `Cyan4973/xxHash` has pairs of keys that
//!   collide under one seed in 2²⁷, so that a seed that nobody knows is no defence, either.)
//! * **MurmurHash3 (x86, 32 bits), whatever the seed.** Two blocks in which the scrambled first one differs in
//!   bit 18 and the scrambled second one in bit 31 leave the same state: bit 18 is rotated to bit 31, which a
//!   multiplication by 5 and an addition leave alone, and the second block takes it away. n such pairs of
//!   blocks give 2ⁿ keys with the same hash under every seed, so all functions of a filter agree on them
//!   (Aumasson, Bernstein, Boßlet: *Hash-flooding DoS reloaded*, 2012).
//!
//! * **The polynomial family, whatever the seed.** A byte 0 in front of a key adds 0 to every sum: a key and any
//!   number of such bytes before it have the same positions in every filter.
//!
//! For SipHash under a key that is not known there is none, and these keys are as good as any others: they pass
//! at the rate of honest ones.

use tamis::hash::{Scheme, xxh3};

/// The most different keys that can be made of one base: as many as two blocks for each bit of a number give.
pub const MOST: u64 = 1 << PAIRS;

/// Pairs of blocks of a key for MurmurHash3.
const PAIRS: usize = 20;

/// The words of XXH3's public constant ("secret") that are used here, by their offsets.
const SECRET_0: u64 = 0xbe4b_a423_396c_feb8;
const SECRET_16: u64 = 0xdb97_9083_e96d_d4de;
const SECRET_24: u64 = 0x1f67_b3b7_a4a4_4072;
const SECRET_32: u64 = 0x78e5_c0cc_4ee6_79cb;
const SECRET_40: u64 = 0x2172_ffcc_7dd0_5a82;
const SECRET_48: u64 = 0x8e24_43f7_7446_08b8;

/// How keys are made for a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forger {
    /// For XXH3 with this seed. A base is the hash that all keys have.
    Xxh3 {
        /// The seed.
        seed: u64,
    },
    /// For MurmurHash3. A base is the seed of the blocks that are the same in all keys.
    Murmur3,
    /// For the polynomial family. A base is the end of all keys.
    Polynomial,
}

/// The most zero bytes in front of a key.
const MOST_ZEROS: u64 = 1 << 12;

impl Forger {
    /// For this hash; the keys for XXH3 with seed 0 where no way is known.
    pub fn of(scheme: Scheme) -> Forger {
        match scheme {
            Scheme::Xxh3 { seed } => Forger::Xxh3 { seed },
            Scheme::Murmur3 => Forger::Murmur3,
            Scheme::Polynomial { .. } => Forger::Polynomial,
            Scheme::SipHash { .. } | Scheme::Foreign(_) | Scheme::SparkCounts(_) => Forger::Xxh3 { seed: 0 },
        }
    }

    /// The most different keys that are made of one base.
    pub fn most(self) -> u64 {
        match self {
            Forger::Xxh3 { .. } | Forger::Murmur3 => MOST,
            Forger::Polynomial => MOST_ZEROS,
        }
    }

    /// Appends the key of this number, of those that are made of one base; different up to [`most`](Self::most).
    pub fn push(self, base: u64, number: u64, to: &mut Vec<u8>) {
        match self {
            Forger::Xxh3 { seed } => to.extend_from_slice(&xxh3_key(base, seed, number)),
            Forger::Murmur3 => to.extend_from_slice(&murmur3_key(base, number)),
            Forger::Polynomial => {
                to.resize(to.len() + (number % MOST_ZEROS) as usize, 0);
                to.extend_from_slice(&base.to_be_bytes());
            }
        }
    }
}

/// A key of 32 bytes with this XXH3; another one for each number.
pub fn xxh3_key(hash: u64, seed: u64, number: u64) -> [u8; 32] {
    let sum = before_avalanche(hash);
    let product = sum.wrapping_sub(0x9e37_79b1_85eb_ca87u64.wrapping_mul(32));
    words([
        SECRET_0.wrapping_add(seed),            // the factor is 0,
        number,                                 // and this one does not matter
        SECRET_16.wrapping_add(seed) ^ 1,       // the factor is 1,
        SECRET_24.wrapping_sub(seed) ^ product, // and this is the product
    ])
}

/// The key of 16 bytes with this XXH3 whose first word is taken away by the constant.
pub fn xxh3_short_key(hash: u64, seed: u64) -> [u8; 16] {
    let sum = before_avalanche(hash);
    words([
        (SECRET_24 ^ SECRET_32).wrapping_add(seed),
        (SECRET_40 ^ SECRET_48).wrapping_sub(seed) ^ sum.wrapping_sub(16),
    ])
}

/// A key of 160 bytes: those of one base have the same MurmurHash3 under every seed. The lowest bits of the
/// number say which of two pairs of blocks stands at each place.
pub fn murmur3_key(base: u64, number: u64) -> [u8; 8 * PAIRS] {
    let mut pairs = [0; PAIRS];
    for (place, pair) in pairs.iter_mut().enumerate() {
        let same = xxh3(&(place as u64).to_le_bytes(), base);
        let (mut first, mut second) = (same as u32, (same >> 32) as u32);
        if number >> place & 1 == 1 {
            first = unscrambled(scrambled(first) ^ 1 << 18);
            second = unscrambled(scrambled(second) ^ 1 << 31);
        }
        *pair = u64::from(first) | u64::from(second) << 32;
    }
    words(pairs)
}

/// Words as bytes, the lowest first.
fn words<const N: usize, const BYTES: usize>(words: [u64; N]) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    bytes
}

/// What becomes this hash in the last steps of XXH3.
fn before_avalanche(hash: u64) -> u64 {
    let x = (hash ^ hash >> 32).wrapping_mul(inverse(0x1656_6791_9e37_79f9));
    x ^ x >> 37
}

/// What MurmurHash3 does to a block by itself.
fn scrambled(block: u32) -> u32 {
    block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

/// The block of which that is made.
fn unscrambled(block: u32) -> u32 {
    let block = block.wrapping_mul(inverse(0x1b87_3593) as u32).rotate_right(15);
    block.wrapping_mul(inverse(0xcc9e_2d51) as u32)
}

/// The inverse of an odd number modulo 2⁶⁴, and so modulo 2³²: each step doubles the digits that are right.
const fn inverse(odd: u64) -> u64 {
    let (mut inverse, mut step) = (odd, 0);
    while step < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;
    use tamis::hash::murmur3;

    use super::*;

    proptest! {
        #[test]
        fn keys_have_the_xxh3_that_is_wanted(hash: u64, seed: u64, numbers: [u64; 4]) {
            for number in numbers {
                prop_assert_eq!(xxh3(&xxh3_key(hash, seed, number), seed), hash);
            }
            prop_assert_eq!(xxh3(&xxh3_short_key(hash, seed), seed), hash);
        }

        #[test]
        fn keys_of_one_base_have_one_murmur3_under_every_seed(base: u64, seeds: [u32; 4], numbers: [u64; 4]) {
            for seed in seeds {
                let hash = murmur3(&murmur3_key(base, 0), seed);
                for number in numbers {
                    prop_assert_eq!(murmur3(&murmur3_key(base, number), seed), hash);
                }
            }
        }
    }

    #[test]
    fn keys_of_one_base_are_different() {
        for forger in [Forger::Xxh3 { seed: 7 }, Forger::Murmur3, Forger::Polynomial] {
            let key = |number| {
                let mut key = Vec::new();
                forger.push(5, number, &mut key);
                key
            };
            // Neighbours, and numbers that differ in one bit each.
            let all = (0..1000).chain((10..20).map(|bit| 1 << bit)).chain([MOST - 1]);
            let numbers: Vec<u64> = all.filter(|number| *number < forger.most()).collect();
            let keys: HashSet<Vec<u8>> = numbers.iter().map(|&number| key(number)).collect();
            assert_eq!(keys.len(), numbers.len());
        }
    }
}
