//! Puts records in the order of their hashes.
//!
//! Hashes are spread evenly over all numbers: their bits tell about where each belongs. Of hashes that are not,
//! which strangers may choose, a sort that compares does the rest.

/// What is ordered by a hash first.
pub trait Hashed: Copy + Ord {
    /// The hash.
    fn hash(self) -> u64;
}

/// Fewer records are sorted by comparing them.
const FEW: usize = 32;

/// Bits that are looked at in one round: more heaps than this are too far apart for the caches.
const MOST_BITS: u32 = 12;

/// After this many bits, what is left is sorted by comparing.
const LAST_BIT: u32 = 44;

/// Puts records in order. `room` is memory to work in.
pub fn in_order<R: Hashed>(records: &mut Vec<R>, room: &mut Vec<R>) {
    let Some(first) = records.first().map(|record| record.hash()) else { return };
    // Bits that all hashes begin with tell nothing.
    let same = records.iter().fold(0, |other, record| other | (record.hash() ^ first)).leading_zeros();
    room.clone_from(records);
    spread(room, records, same);
}

/// Puts all records of `from` in order into `to`, which is as long. What `from` has afterwards means nothing.
fn spread<R: Hashed>(from: &mut [R], to: &mut [R], done: u32) {
    if from.len() <= FEW || done >= LAST_BIT {
        to.copy_from_slice(from);
        return to.sort_unstable();
    }
    let bits = (from.len() / 8).ilog2().min(MOST_BITS);
    let ends = heap(from, to, done, bits);
    let mut start = 0;
    for end in ends {
        let heap = &mut to[start..end];
        if heap.len() > FEW {
            let room = &mut from[start..end];
            spread(heap, room, done + bits);
            heap.copy_from_slice(room);
        } else {
            heap.sort_unstable();
        }
        start = end;
    }
}

/// Copies records into heaps by these bits of their hashes, and tells the end of each.
fn heap<R: Hashed>(from: &[R], to: &mut [R], done: u32, bits: u32) -> Vec<usize> {
    let heap = |record: &R| (record.hash() << done).checked_shr(64 - bits).unwrap_or(0) as usize;
    let mut ends = vec![0; 1 << bits];
    from.iter().for_each(|record| ends[heap(record)] += 1);
    let mut before = 0;
    for end in &mut ends {
        // Until its records are there, the end of a heap is its beginning.
        before += std::mem::replace(end, before);
    }
    for record in from {
        let end = &mut ends[heap(record)];
        to[*end] = *record;
        *end += 1;
    }
    ends
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn records_come_in_order_however_their_hashes_lie(
            hashes in prop::collection::vec((any::<u64>(), 0..64u32), 0..3000),
            same in 0..64u32,
        ) {
            // Some begin with the same bits, and some are equal.
            let mut records: Vec<u64> = hashes.iter().map(|&(hash, shift)| hash >> shift >> same).collect();
            let mut expected = records.clone();
            expected.sort_unstable();
            in_order(&mut records, &mut Vec::new());
            prop_assert_eq!(records, expected);
        }
    }
}
