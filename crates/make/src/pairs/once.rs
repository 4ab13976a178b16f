//! Finds equal records.
//!
//! Hashes are spread evenly over all numbers: their bits tell about where each belongs. Of hashes that are not,
//! which strangers may choose, no table is searched for long, and a sort that compares does the rest.

use super::record::Record;
use crate::alone::each_is_alone;

/// Steps in a table for each record: with hashes that are spread evenly there is less than one.
const STEPS: usize = 8;

/// Whether each record of some lists is there once, as far as it shows soon: if so, nothing need be moved. The first
/// `done` bits of their hashes are the same in all.
pub(super) fn are_different<'a, R: Record>(
    lists: impl Iterator<Item = &'a [R]> + Clone,
    table: &mut Vec<u32>,
    done: u32,
) -> bool {
    let count = lists.clone().map(<[R]>::len).sum();
    each_is_alone(count, lists.flatten().map(|record| (record.spread(done), record.spread(0) as u32)), table)
}

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
