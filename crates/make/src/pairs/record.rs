//! What is kept of a key: its hash, and the number of its group where there are groups.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::ops::DerefMut;

use tamis::memory::roomy;

use super::reused::Reused;
use crate::order::Hashed;

/// A hash, alone or with a group. The order is that of the hashes.
pub(super) trait Record: Hashed + Send + Sync + 'static {
    /// Its bytes on disk.
    const BYTES: usize;
    /// Where many stand.
    type Room: DerefMut<Target = [Self]> + Debug + Send + Sync;

    fn new(group: u32, hash: u64) -> Self;
    /// 0 where there are no groups.
    fn group(self) -> u32;
    /// A number that is spread evenly over all, where that of the hash is, after its first `done` bits.
    fn spread(self, done: u32) -> u64;
    fn encode(self, out: &mut Vec<u8>);
    fn decode(bytes: &[u8]) -> Self;
    /// Room for as many as these, in which anything may stand.
    fn room(records: &[Self]) -> Self::Room;
}

impl Hashed for u64 {
    #[inline]
    fn hash(self) -> u64 {
        self
    }
}

impl Record for u64 {
    const BYTES: usize = 8;
    type Room = Reused;

    fn new(_: u32, hash: u64) -> u64 {
        hash
    }

    fn group(self) -> u32 {
        0
    }

    #[inline]
    fn spread(self, done: u32) -> u64 {
        self << done
    }

    fn encode(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> u64 {
        bytes[..8].try_into().map_or(0, u64::from_le_bytes)
    }

    /// A mapping of its own lies on huge pages as a whole; of a list it is about the half.
    ///
    /// # Panics
    /// Where there is no memory, as with any collection.
    fn room(records: &[u64]) -> Reused {
        Reused::new(records.len()).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// A key of a group, in 12 bytes: there are many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(Rust, packed(4))]
pub(crate) struct Pair {
    hash: u64,
    group: u32,
}

impl Ord for Pair {
    fn cmp(&self, other: &Pair) -> Ordering {
        match self.hash().cmp(&other.hash()) {
            Ordering::Equal => self.group().cmp(&other.group()),
            unequal => unequal,
        }
    }
}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Pair) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    /// What sorting asks for: mostly hashes differ.
    #[inline]
    fn lt(&self, other: &Pair) -> bool {
        let (hash, others) = (self.hash, other.hash);
        hash < others || (hash == others && self.group() < other.group())
    }
}

impl Hashed for Pair {
    #[inline]
    fn hash(self) -> u64 {
        self.hash
    }
}

impl Record for Pair {
    const BYTES: usize = 12;
    type Room = Vec<Pair>;

    fn new(group: u32, hash: u64) -> Pair {
        Pair { hash, group }
    }

    fn group(self) -> u32 {
        self.group
    }

    /// Keys that are in many groups are not all in one place.
    #[inline]
    fn spread(self, done: u32) -> u64 {
        (self.hash << done) ^ u64::from(self.group).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn encode(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.hash().to_le_bytes());
        out.extend_from_slice(&self.group().to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Pair {
        let group = bytes[8..12].try_into().map_or(0, u32::from_le_bytes);
        Pair { hash: u64::decode(bytes), group }
    }

    fn room(records: &[Pair]) -> Vec<Pair> {
        let mut room = roomy(records.len());
        room.extend_from_slice(records);
        room
    }
}
