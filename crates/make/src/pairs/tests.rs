use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use proptest::prelude::*;
use tamis::hash::xxh3;

use super::book::{MOST_RUNS, Shelves, lock, most_of};
use super::spool::Spooling;
use super::*;
use crate::count::Afterwards;

/// What is seen of these keys by threads that take them in turns.
fn seen(keys: &[(u32, u64)], grouped: Grouped, limit: usize, memory: u64, threads: usize) -> Seen {
    seen_and_kept(Afterwards::No, keys, grouped, limit, memory, threads)
}

/// The same, where the keys may be wanted afterwards.
fn seen_and_kept(
    afterwards: Afterwards,
    keys: &[(u32, u64)],
    grouped: Grouped,
    limit: usize,
    memory: u64,
    threads: usize,
) -> Seen {
    let control = Control::default();
    let book = Book::new(grouped, limit, memory, threads, &control).and_afterwards(afterwards);
    let see = |thread: usize| {
        let mut log = book.log();
        let own = keys.iter().skip(thread).step_by(threads);
        own.for_each(|&(group, hash)| log.see(group, hash));
        log
    };
    let logs = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || see(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut times = vec![0; keys.iter().map(|(group, _)| *group as usize + 1).max().unwrap_or(0)];
    keys.iter().for_each(|(group, _)| times[*group as usize] += 1);
    book.close(logs, times.len(), Some(&times)).unwrap()
}

/// The same as another counter has it, which holds all in memory.
fn expected(keys: &[(u32, u64)], limit: usize) -> (Vec<u64>, bool) {
    let mut counts = Counts::new(limit);
    keys.iter().for_each(|&(group, hash)| counts.see(group, hash));
    let groups = keys.iter().map(|(group, _)| *group as usize + 1).max().unwrap_or(0);
    let counts = Counts::join(1, vec![(counts, (0..groups).collect())], groups).unwrap();
    (counts.groups().iter().map(Distinct::planned).collect(), counts.estimating())
}

fn all(pairs: &Pairs) -> Vec<(u32, u64)> {
    let mut found = Vec::new();
    pairs
        .in_order(&Control::default(), &mut |batch| batch.each(|group, hash| found.push((group, hash))))
        .unwrap();
    found
}

/// All of them, on some threads.
fn each(pairs: &Pairs, threads: usize) -> BTreeSet<(u64, u32)> {
    let found = Mutex::new(BTreeSet::new());
    let take = |batch: Batch<'_>| {
        batch.each(|group, hash| _ = lock(&found).insert((hash, group)));
        Ok(())
    };
    pairs.each(threads, &Control::default(), &take).unwrap();
    found.into_inner().unwrap()
}

fn hash(key: u64) -> u64 {
    xxh3(&key.to_le_bytes(), 3)
}

#[test]
fn few_hashes_are_counted_without_a_log_as_with_one() {
    for rows in [0, 1, 100, 9_000, 60_000] {
        for different in [1, rows / 3 + 1, rows + 1] {
            let hashes: Vec<u64> = (0..rows).map(|row| hash(row % different)).collect();
            let (pairs, keys) = Pairs::of_few(&hashes, &Control::default()).unwrap();
            let expected: BTreeSet<(u32, u64)> = hashes.iter().map(|&hash| (0, hash)).collect();
            assert_eq!(keys as usize, expected.len(), "{rows}, {different}");
            assert_eq!(all(&pairs).into_iter().collect::<BTreeSet<_>>(), expected, "{rows}, {different}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// The memory is so little that logs go to disk after every 16,384 records.
    #[test]
    fn what_is_counted_does_not_depend_on_the_memory_or_the_threads(
        rows in 0u64..90_000, keys in 1u64..60_000, groups in 1u32..6, one_group: bool,
        limit in prop::sample::select(&[usize::MAX, 40_000, 10_000, 100][..]),
        threads in 1usize..4,
    ) {
        let groups = if one_group { 1 } else { groups };
        let row = |row: u64| {
            let key = hash(row) % keys;
            // Some groups are small, some large.
            ((key % u64::from(groups)).min(key % 97) as u32, hash(key))
        };
        let keys: Vec<(u32, u64)> = (0..rows).map(row).collect();
        let grouped = if one_group { Grouped::No } else { Grouped::Yes };
        let (planned, estimated) = expected(&keys, limit);
        let model: BTreeSet<(u64, u32)> = keys.iter().map(|&(group, hash)| (hash, group)).collect();
        let ways = [Afterwards::No, Afterwards::IfThereIsRoom, Afterwards::Yes];
        let ways = [0, 1_500_000, 200_000_000].map(|memory| ways.map(|afterwards| (memory, afterwards)));
        for (memory, afterwards) in ways.into_iter().flatten() {
            let seen = seen_and_kept(afterwards, &keys, grouped, limit, memory, threads);
            prop_assert_eq!(&seen.keys, &planned);
            prop_assert_eq!(seen.estimated, estimated);
            prop_assert!(seen.pairs.is_some() || (estimated && afterwards == Afterwards::No));
            if let Some(pairs) = &seen.pairs {
                prop_assert!(each(pairs, threads) == model, "all, though some may come again");
            }
            if let Some(mut pairs) = seen.pairs.filter(|_| !estimated) {
                let model = model.clone();
                let model: Vec<(u32, u64)> = model.into_iter().map(|(hash, group)| (group, hash)).collect();
                prop_assert!(all(&pairs) == model);
                pairs.spill(&Control::default()).unwrap();
                prop_assert_eq!(pairs.held(), 0);
                // One run, however many threads there were: each would be read again with every range.
                let runs = match &pairs.lists {
                    Lists::Hashes(kept) => kept.runs.len(),
                    Lists::Pairs(kept) => kept.runs.len(),
                };
                prop_assert_eq!(runs, 1);
                prop_assert!(all(&pairs) == model);
            }
        }
    }
}

/// Hashes that begin alike are cut further; and those that are alike but for their end, too.
#[test]
fn hashes_that_are_not_spread_evenly_are_all_there() {
    let keys: Vec<(u32, u64)> = (0..300_000).map(|i| (i as u32 % 2, 7 << 40 | i)).collect();
    let seen = seen(&keys, Grouped::Yes, usize::MAX, 0, 2);
    assert_eq!(seen.keys, [150_000, 150_000]);
    let found = all(&seen.pairs.unwrap());
    assert_eq!(found.iter().collect::<HashSet<_>>().len(), 300_000);
    assert!(found.iter().map(|(_, hash)| *hash).eq((0..300_000).map(|i| 7 << 40 | i)));
}

/// With no room for estimators, large groups see their hashes in order: the estimate is the same.
#[test]
fn an_estimate_does_not_depend_on_where_it_is_made() {
    let keys: Vec<(u32, u64)> = (0..400_000).map(|i| ((i % 40) as u32, hash(i))).collect();
    let (planned, estimated) = expected(&keys, 50_000);
    assert!(estimated);
    for (memory, threads) in [(0, 1), (0, 3), (1_000_000, 2), (100_000_000, 2)] {
        assert_eq!(seen(&keys, Grouped::Yes, 50_000, memory, threads).keys, planned, "{memory} {threads}");
    }
}

#[test]
fn runs_that_are_many_are_merged_and_open_files_stay_few() {
    let control = Control::default();
    let book = Book::new(Grouped::No, usize::MAX, 0, 1, &control);
    let Shelves::Hashes(shelf) = &book.shelves else { panic!("hashes alone") };
    let most = most_of::<u64>(0, 1) as u64;
    let mut log = book.log();
    (0..most * 100).for_each(|i| log.see(0, hash(i % (most * 50))));
    let runs = lock(shelf).runs.len();
    assert!((2..=MOST_RUNS).contains(&runs), "{runs}");
    assert_eq!(book.close(vec![log], 1, None).unwrap().keys, [most * 50]);
}

/// Two threads that each see half of the keys know together that there are too many, and nothing goes to disk.
#[test]
fn more_keys_than_are_counted_exactly_are_known_from_all_threads() {
    let (control, limit) = (Control::default(), 100_000);
    let memory = 2_000_000;
    assert!(limit < most_of::<u64>(memory / 8 * 7, 2) / 8 * 7);
    let book = Book::new(Grouped::No, limit, memory as u64, 2, &control);
    let mut logs = [book.log(), book.log()];
    (0..400_000).for_each(|i| logs[i % 2].see(0, hash(i as u64)));
    assert!(logs.iter().all(|log| log.estimating));
    let Shelves::Hashes(shelf) = &book.shelves else { panic!("hashes alone") };
    assert!(lock(shelf).runs.is_empty() && lock(shelf).parts.records() == 0);
}

/// Where the disk takes nothing, keys are counted all the same, and made of the rows once more; if there are rows.
#[test]
fn keys_that_cannot_be_put_aside_are_given_up() {
    let nowhere = Path::new("/nowhere/at/all");
    let spooling = Spooling::with_room(nowhere, 1 << 20);
    assert!(spooling.is_on());
    spooling.write([1u64, 2].into_iter()).unwrap();
    assert!(!spooling.is_on());
    assert!(spooling.finish().unwrap().is_none());
    let small = Spooling::with_room(&std::env::temp_dir(), 1 << 20);
    small.write(0..100_000u64).unwrap();
    assert!(small.is_on());
    small.write(0..100_000u64).unwrap();
    assert!(!small.is_on(), "there is no room for as many");
    small.write([3u64].into_iter()).unwrap();
    assert!(small.finish().unwrap().is_none(), "what is lost stays so");
    for room in [0, 1] {
        let unwanted = Spooling::with_room(nowhere, room);
        unwanted.write(std::iter::empty::<u64>()).unwrap();
        assert!(unwanted.finish().unwrap().is_some(), "nothing was given up");
    }
    let needed = Spooling::new(nowhere, Afterwards::Yes);
    assert!(needed.write([1u64].into_iter()).is_err());
    assert!(needed.finish().unwrap().is_none());
}

/// Keys of one hash after the other, and hashes that meet in one place of a table: neither takes long.
#[test]
fn hashes_that_meet_in_one_place_are_counted_too() {
    let keys: Vec<(u32, u64)> = (0..200_000).map(|i| (0, i)).collect();
    assert_eq!(seen(&keys, Grouped::No, usize::MAX, 200_000_000, 1).keys, [200_000]);
    let keys: Vec<(u32, u64)> = (0..200_000).map(|i| (i as u32, 7)).collect();
    assert_eq!(seen(&keys, Grouped::Yes, usize::MAX, 200_000_000, 2).keys, vec![1; 200_000]);
}

#[test]
fn of_many_hashes_each_is_left_once() {
    for many in [0u64, 1, 40, 100_000] {
        let mut hashes: Vec<u64> = (0..many).map(|i| hash(i % (many / 2 + 1))).collect();
        let expected: BTreeSet<u64> = hashes.iter().copied().collect();
        once(&mut hashes);
        assert_eq!(hashes.len(), expected.len());
        assert_eq!(hashes.into_iter().collect::<BTreeSet<_>>(), expected);
    }
}

/// What stood in the memory of one set is not in the next.
#[test]
fn the_memory_of_few_hashes_is_used_again() {
    let counted = |from: u64, many: u64| {
        let hashes: Vec<u64> = (from..from + many).map(hash).collect();
        let (pairs, keys) = Pairs::of_few(&hashes, &Control::default()).unwrap();
        let expected: BTreeSet<(u32, u64)> = hashes.iter().map(|&hash| (0, hash)).collect();
        assert!(keys == many && all(&pairs).into_iter().collect::<BTreeSet<_>>() == expected);
        pairs
    };
    for many in [100_000, 90_000, 100, 0, 120_000, 200_000, 1] {
        let (one, other) = (counted(7, many), counted(many, many));
        drop(other);
        counted(many / 2, many);
        drop(one);
    }
}
