//! Finds equal records, and puts records in the order of their hashes.
//!
//! Hashes are spread evenly over all numbers: their bits tell about where each belongs. Of hashes that are not,
//! which strangers may choose, no table is searched for long, and a sort that compares does the rest.

use super::record::Record;

/// Fewer records are sorted by comparing them.
const FEW: usize = 32;

/// Bits that are looked at in one round: more heaps than this are too far apart for the caches.
const MOST_BITS: u32 = 12;

/// After this many bits, what is left is sorted by comparing.
const LAST_BIT: u32 = 44;

/// Steps in a table for each record: with hashes that are spread evenly there is less than one.
const STEPS: usize = 8;

/// The records of some lists, each once, in no order. The first `done` bits of their hashes are the same in all.
pub(super) fn once<'a, R: Record>(
    lists: impl Iterator<Item = &'a [R]> + Clone,
    kept: &mut Vec<R>,
    table: &mut Vec<u32>,
    done: u32,
) {
    let records: usize = lists.clone().map(<[R]>::len).sum();
    let bits = (4 * records).next_power_of_two().ilog2().clamp(1, 31);
    let last = (1 << bits) - 1;
    table.clear();
    table.resize(last + 1, 0); // the place of a record among those that are kept, from 1 on
    kept.clear();
    kept.reserve(records);
    let mut steps = STEPS * records;
    for record in lists.clone().flatten() {
        let mut at = (record.spread(done) >> (64 - bits)) as usize;
        loop {
            match table[at] {
                0 => {
                    kept.push(*record);
                    table[at] = kept.len() as u32;
                    break;
                }
                other if kept[other as usize - 1] == *record => break,
                _ => at = (at + 1) & last,
            }
            if steps == 0 {
                kept.clear();
                lists.for_each(|list| kept.extend_from_slice(list));
                kept.sort_unstable();
                return kept.dedup();
            }
            steps -= 1;
        }
    }
}

/// Puts records in order. The first `done` bits of their hashes are the same in all.
pub(super) fn in_order<R: Record>(records: &mut Vec<R>, room: &mut Vec<R>, done: u32) {
    room.clone_from(records);
    spread(room, records, done);
}

/// Puts all records of `from` in order into `to`, which is as long. What `from` has afterwards means nothing.
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
