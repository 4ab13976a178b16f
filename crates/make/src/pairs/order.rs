//! Puts records in the order of their hashes.
//!
//! Hashes are spread evenly over all numbers: their first bits tell about where each belongs. Of hashes that are
//! not, each round looks at other bits, and after the last a sort that compares does the rest.

use std::sync::{Mutex, PoisonError};

use tamis_read::Control;
use tamis_read::error::Result;

use super::record::Record;
use crate::parallel;

/// Fewer records are sorted by comparing them.
const FEW: usize = 32;

/// Bits that are looked at in one round: more heaps than this are too far apart for the caches.
const MOST_BITS: u32 = 12;

/// After this many bits, what is left is sorted by comparing.
const LAST_BIT: u32 = 44;

/// Records of a part, about: they fit in a cache while they are put in order.
const PART: usize = 1 << 14;

/// The records of some lists in order, each once: in parts that follow each other.
pub(super) fn in_parts<R: Record>(
    lists: Vec<Vec<R>>,
    threads: usize,
    control: &Control,
) -> Result<Vec<Vec<R>>> {
    let records: usize = lists.iter().map(Vec::len).sum();
    let bits = (records / PART + 1).next_power_of_two().ilog2().min(MOST_BITS);
    let lists: Vec<_> = lists.into_iter().map(Mutex::new).collect();
    let heaps = parallel::each(threads, lists.len(), |list| {
        control.check()?;
        let mut list = std::mem::take(&mut *lists[list].lock().unwrap_or_else(PoisonError::into_inner));
        let ends = heap_in_place(&mut list, bits);
        Ok((list, ends))
    })?;
    parallel::each(threads, 1 << bits, |part| {
        control.check()?;
        let of_part = heaps.iter().map(|(list, ends)| {
            let start = if part == 0 { 0 } else { ends[part - 1] };
            &list[start..ends[part]]
        });
        let mut records = of_part.collect::<Vec<_>>().concat();
        let mut ordered = records.clone();
        spread(&mut records, &mut ordered, bits);
        ordered.dedup();
        Ok(ordered)
    })
}

/// Puts records in order and leaves each once; up to `sorted`, they are so already.
pub(super) fn put_in_order<R: Record>(list: &mut Vec<R>, sorted: usize) {
    let mut fresh = list[sorted..].to_vec();
    spread(&mut list[sorted..], &mut fresh, 0);
    fresh.dedup();
    if sorted == 0 {
        list.clear();
        return list.extend_from_slice(&fresh);
    }
    // From the end, so that nothing is overwritten before it is in its place.
    let (mut old, mut new, mut place) = (sorted, fresh.len(), list.len());
    while old > 0 && new > 0 {
        let (held, next) = (list[old - 1], fresh[new - 1]);
        let (later, earlier) = (next < held, held < next);
        place -= 1;
        list[place] = if earlier { next } else { held };
        old -= usize::from(!earlier);
        new -= usize::from(!later);
    }
    place -= new;
    list[place..place + new].copy_from_slice(&fresh[..new]);
    list.drain(old..place);
}

/// Puts all records of `from` in order into `to`, which is as long. The first `done` bits of their hashes are
/// the same in all. What `from` has afterwards means nothing.
fn spread<R: Record>(from: &mut [R], to: &mut [R], done: u32) {
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
fn heap<R: Record>(from: &[R], to: &mut [R], done: u32, bits: u32) -> Vec<usize> {
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

/// Moves records into heaps by the first bits of their hashes, and tells the end of each.
fn heap_in_place<R: Record>(list: &mut [R], bits: u32) -> Vec<usize> {
    let heap = |record: R| record.hash().checked_shr(64 - bits).unwrap_or(0) as usize;
    let mut ends = vec![0; 1 << bits];
    list.iter().for_each(|record| ends[heap(*record)] += 1);
    let mut next = Vec::with_capacity(ends.len());
    let mut before = 0;
    for end in &mut ends {
        next.push(before);
        before += *end;
        *end = before;
    }
    for here in 0..ends.len() {
        while next[here] < ends[here] {
            let mut record = list[next[here]];
            loop {
                let to = heap(record);
                let place = next[to];
                next[to] += 1;
                record = std::mem::replace(&mut list[place], record);
                if to == here {
                    break;
                }
            }
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::record::Pair;
    use super::*;

    proptest! {
        #[test]
        fn records_are_put_in_order_each_once_however_their_hashes_lie(
            hashes in prop::collection::vec((any::<u64>(), 0..64u32, 0..3u32), 0..3000),
            cut in 0..3000usize,
        ) {
            // Some hashes share their first bits, or all of them.
            let mut list: Vec<Pair> =
                hashes.iter().map(|&(hash, shift, group)| Pair::new(group, hash >> shift)).collect();
            let mut expected = list.clone();
            expected.sort();
            expected.dedup();
            let cut = cut.min(list.len());
            list[..cut].sort();
            let mut first = list[..cut].to_vec();
            first.dedup();
            let sorted = first.len();
            first.extend_from_slice(&list[cut..]);
            put_in_order(&mut first, sorted);
            prop_assert_eq!(first, expected);
        }
    }
}
