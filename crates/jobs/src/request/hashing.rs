//! The hash that was asked for.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tamis::hash::{Foreign, HashKey, Scheme, Single};
use tamis_read::refusal::Opt;

use super::Refusal;
use super::json::word;
use super::sizes::chosen;
use tamis_make::opt;

/// A hash by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashName {
    /// The default.
    Xxh3,
    /// That of a secret key.
    SipHash,
    /// That of Patimo's filter.
    Murmur3,
    /// That of Collodi and Ghera's filter.
    Polynomial,
    /// That of another system, with its usual seed.
    Foreign(Foreign),
}

impl HashName {
    /// All of them.
    pub const ALL: [HashName; 13] = {
        let mut all = [HashName::Xxh3; 13];
        (all[1], all[2], all[3]) = (HashName::SipHash, HashName::Murmur3, HashName::Polynomial);
        let mut at = 0;
        while at < Foreign::ALL.len() {
            all[4 + at] = HashName::Foreign(Foreign::ALL[at]);
            at += 1;
        }
        all
    };

    /// Its name in requests.
    pub fn name(self) -> &'static str {
        match self {
            HashName::Xxh3 => "xxh3",
            HashName::SipHash => "siphash",
            HashName::Murmur3 => "murmur3",
            HashName::Polynomial => "polynomial",
            HashName::Foreign(foreign) => foreign.name(),
        }
    }

    /// Whether it places keys by their bytes: then it goes with `bloom` alone, and implies it.
    pub fn is_of_bloom(self) -> bool {
        matches!(self, HashName::Murmur3 | HashName::Polynomial | HashName::Foreign(_))
    }
}

impl Serialize for HashName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for HashName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = HashName::ALL.map(|hash| (hash.name(), hash));
        word(&String::deserialize(deserializer)?, &words)
    }
}

/// The hash, as far as it was chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hashing {
    /// Its name.
    pub hash: Option<HashName>,
    /// The seed of xxh3, and of polynomial.
    pub seed: Option<u64>,
    /// The secret key of siphash. A request that is written has its check value alone: it is read by a
    /// process to which the key was given in another way.
    pub hash_key: Option<HashKey>,
}

impl Hashing {
    /// The options that were given.
    pub fn given(&self) -> Vec<Opt> {
        chosen(&[(self.hash.is_some(), opt::HASH), (self.seed.is_some(), opt::SEED)])
    }

    /// The hash: xxh3 with seed 0 where nothing was chosen.
    pub fn scheme(&self) -> Result<Scheme, Refusal> {
        match self.hash {
            Some(HashName::Murmur3) if self.seed.is_some() => Err(Refusal::MurmurSeed),
            Some(HashName::Murmur3) if self.hash_key.is_none() => Ok(Scheme::Murmur3),
            Some(HashName::Polynomial) if self.hash_key.is_none() => {
                Ok(Scheme::Polynomial { seed: self.seed.unwrap_or(0) })
            }
            Some(HashName::Foreign(foreign)) if self.hash_key.is_none() => match self.seed {
                None => Ok(Scheme::Foreign(foreign)),
                Some(seed) => {
                    let seeded = foreign.with_seed(seed).ok_or(Refusal::ForeignSeed(foreign))?;
                    Ok(Scheme::Foreign(seeded))
                }
            },
            _ => Ok(self.single()?.unwrap_or(Single::DEFAULT).into()),
        }
    }

    /// One hash per key. None where neither a seed nor a secret key was chosen.
    pub fn single(&self) -> Result<Option<Single>, Refusal> {
        match (self.hash.unwrap_or(HashName::Xxh3), self.hash_key) {
            (HashName::Xxh3, None) => Ok(self.seed.map(|seed| Single::Xxh3 { seed })),
            (HashName::SipHash, _) if self.seed.is_some() => Err(Refusal::SipHashSeed),
            (HashName::SipHash, None) => Err(Refusal::NoHashKey),
            // Looked up, so that it is known that something asked for it.
            (HashName::SipHash, Some(key)) => match HashKey::of_check(key.check()) {
                key if key.is_known() => Ok(Some(Single::SipHash(key))),
                key => Err(Refusal::UnknownHashKey(key)),
            },
            (HashName::Xxh3 | HashName::Murmur3 | HashName::Polynomial | HashName::Foreign(_), Some(_)) => {
                Err(Refusal::HashKeyAlone)
            }
            (hash @ (HashName::Murmur3 | HashName::Polynomial | HashName::Foreign(_)), None) => {
                Err(Refusal::HashOfDedup(hash))
            }
        }
    }
}
