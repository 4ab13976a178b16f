//! Whether all of some hashes differ: one look at a small table for each.
//!
//! The table holds bits of the hashes alone. That all differ is certain; that some do not is a guess, which is hardly ever
//! wrong, and who hears it has to look at the hashes themselves. Of hashes that are not spread evenly, which strangers may
//! choose, no table is searched for long.

use std::ops::ControlFlow;

/// Slots for each hash: most hashes find the first one that they look at free.
const SLOTS: usize = 4;

/// Steps in a table for each hash: with hashes that are spread evenly there is less than one.
const STEPS: usize = 8;

/// Whether no two hashes are the same, of this many. Of each there is a number whose first bits tell its slot, and other
/// bits of it. The table is memory to work in.
pub fn each_is_alone(
    count: usize,
    mut hashes: impl Iterator<Item = (u64, u32)>,
    table: &mut Vec<u32>,
) -> bool {
    let bits = (SLOTS * count).next_power_of_two().ilog2().clamp(1, 31);
    let last = (1 << bits) - 1;
    table.clear();
    table.resize(last + 1, 0);
    let mut steps = STEPS * count;
    // A loop in the iterator: where that goes through lists, it need not ask at each hash whether a list ends.
    let different = hashes.try_for_each(|(spread, mark)| {
        let mark = mark.max(1); // 0 is no hash
        let mut at = (spread >> (64 - bits)) as usize;
        while table[at] != 0 {
            if table[at] == mark || steps == 0 {
                return ControlFlow::Break(());
            }
            steps -= 1;
            at = (at + 1) & last;
        }
        table[at] = mark;
        ControlFlow::Continue(())
    });
    different.is_continue()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn alone(hashes: &[u64]) -> bool {
        each_is_alone(hashes.len(), hashes.iter().map(|&hash| (hash, hash as u32)), &mut Vec::new())
    }

    proptest! {
        #[test]
        fn hashes_are_said_to_differ_only_if_they_do(
            hashes in prop::collection::vec((any::<u64>(), 0..64u32), 0..600),
            again in prop::option::of(any::<prop::sample::Index>()),
        ) {
            // Some share their first bits, or all of them.
            let mut hashes: Vec<u64> = hashes.iter().map(|(hash, shift)| hash >> shift).collect();
            if let Some(again) = again && !hashes.is_empty() {
                hashes.push(hashes[again.index(hashes.len())]);
            }
            if alone(&hashes) {
                prop_assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), hashes.len());
            }
        }
    }

    #[test]
    fn hashes_that_are_spread_evenly_are_seen_to_differ() {
        let hashes: Vec<u64> = (0..5000u64).map(|n| tamis::hash::xxh3(&n.to_le_bytes(), 0)).collect();
        assert!(alone(&hashes));
        assert!(!alone(&[&hashes[..], &hashes[77..78]].concat()));
    }
}
