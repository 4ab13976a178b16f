//! In which order records of several partitions are taken, and stand in a batch.

use std::ops::Range;

use crate::source::Records;

/// Records of one partition that wait to be taken.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    records: Records,
    /// For each the offset after it, and its time.
    marks: Vec<(u64, i64)>,
    next: usize,
}

impl Waiting {
    /// In place of those that were taken. The room of the old ones is given back.
    pub(super) fn refill(&mut self, records: &mut Records, marks: impl Iterator<Item = (u64, i64)>) {
        std::mem::swap(&mut self.records, records);
        self.marks.clear();
        self.marks.extend(marks);
        self.next = 0;
    }

    pub(super) fn len(&self) -> usize {
        self.marks.len() - self.next
    }

    pub(super) fn is_empty(&self) -> bool {
        self.next == self.marks.len()
    }

    /// The offset after the next one, and its time.
    pub(super) fn head(&self) -> Option<(u64, i64)> {
        self.marks.get(self.next).copied()
    }

    /// Moves the next ones that fit, this many at most; how many, and the offset after them.
    pub(super) fn take_while(
        &mut self,
        most: usize,
        fits: impl Fn((u64, i64)) -> bool,
        into: &mut Records,
    ) -> Option<(usize, u64)> {
        let left = self.marks[self.next..].iter().take(most);
        let count = left.take_while(|mark| fits(**mark)).count();
        into.extend(&self.records, self.next..self.next + count);
        self.next += count;
        (count > 0).then(|| (count, self.marks[self.next - 1].0))
    }
}

/// The partition whose turn it is: that of the earliest time, of equal times the first. And up to
/// which (time, partition) it is, before the next one's turn comes.
pub(super) fn turn(heads: impl Iterator<Item = (usize, i64)>) -> Option<(usize, (i64, usize))> {
    let (mut first, mut second) = ((i64::MAX, usize::MAX), (i64::MAX, usize::MAX));
    for (partition, time) in heads {
        let head = (time, partition);
        if head < first {
            (first, second) = (head, first);
        } else if head < second {
            second = head;
        }
    }
    (first.1 != usize::MAX).then_some((first.1, second))
}

/// How the records of a batch came: of which partition how many, one after the other.
#[derive(Debug, Default)]
pub(super) struct Arrivals(Vec<(usize, usize)>);

impl Arrivals {
    pub(super) fn push(&mut self, partition: usize, count: usize) {
        match self.0.last_mut() {
            Some((last, counted)) if *last == partition => *counted += count,
            _ => self.0.push((partition, count)),
        }
    }

    /// Puts the records of a batch in the order of partitions, and begins with the next batch. What
    /// the batch holds then decides alone how it is ordered.
    pub(super) fn settle(&mut self, records: &mut Records, room: &mut Records) {
        if !self.0.is_sorted_by_key(|(partition, _)| *partition) {
            let mut at = 0;
            let mut parts: Vec<(usize, Range<usize>)> = Vec::with_capacity(self.0.len());
            for &(partition, count) in &self.0 {
                parts.push((partition, at..at + count));
                at += count;
            }
            parts.sort_by_key(|(partition, _)| *partition); // stable: each as it came
            room.clear();
            parts.into_iter().for_each(|(_, range)| room.extend(records, range));
            std::mem::swap(records, room);
        }
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tamis_make::batch::{Keeps, KeyBatch};
    use tamis_make::rows::{Key, Take};

    fn records(hashes: &[u64]) -> Records {
        let mut keys = KeyBatch::new(Keeps { bytes: true, ..Keeps::default() });
        for &hash in hashes {
            keys.take(Key { group: 0, hash, bytes: &[hash as u8], weight: 1 });
        }
        Records { keys, ..Records::default() }
    }

    /// Takes all by turns, from partitions of which each record has a time.
    fn merged(times: &[Vec<i64>]) -> Vec<u64> {
        let mut parts: Vec<Waiting> = Vec::new();
        let mut numbers = 0..;
        for times in times {
            let mut of_part = records(&numbers.by_ref().take(times.len()).collect::<Vec<u64>>());
            let mut waiting = Waiting::default();
            waiting.refill(&mut of_part, times.iter().zip(1..).map(|(time, after)| (after, *time)));
            parts.push(waiting);
        }
        let mut all = Records::default();
        loop {
            let heads = parts.iter().enumerate();
            let heads = heads.filter_map(|(i, part)| part.head().map(|(_, time)| (i, time)));
            let Some((part, until)) = turn(heads) else { break };
            parts[part].take_while(3, |(_, time)| (time, part) <= until, &mut all).unwrap();
        }
        all.keys.hashes().to_vec()
    }

    proptest! {
        /// The rule, record by record: of all that are next in their partition, the earliest.
        #[test]
        fn the_earliest_of_those_that_are_next_is_taken(
            times in prop::collection::vec(prop::collection::vec(0i64..9, 0..20), 1..5),
        ) {
            let mut numbers = 0u64..;
            let mut left: Vec<Vec<(i64, u64)>> = times
                .iter()
                .map(|times| times.iter().map(|time| (*time, numbers.next().unwrap())).collect())
                .collect();
            left.iter_mut().for_each(|part| part.reverse());
            let mut model = Vec::new();
            while let Some(part) = (0..left.len())
                .filter(|&i| !left[i].is_empty())
                .min_by_key(|&i| (left[i].last().unwrap().0, i))
            {
                model.push(left[part].pop().unwrap().1);
            }
            prop_assert_eq!(merged(&times), model);
        }

        #[test]
        fn a_batch_is_ordered_by_partitions_however_it_came(
            came in prop::collection::vec((0usize..4, 0usize..5), 0..30),
        ) {
            let mut arrivals = Arrivals::default();
            let (mut batch, mut room, mut model) = (Records::default(), Records::default(), Vec::new());
            for (partition, count) in came {
                let hashes: Vec<u64> = (0..count).map(|i| (model.len() + i) as u64).collect();
                model.extend(hashes.iter().map(|hash| (partition, *hash)));
                batch.extend(&records(&hashes), 0..count);
                arrivals.push(partition, count);
            }
            model.sort_by_key(|(partition, _)| *partition);
            arrivals.settle(&mut batch, &mut room);
            prop_assert_eq!(batch.keys.hashes(), &model.iter().map(|(_, hash)| *hash).collect::<Vec<_>>());
            prop_assert!((0..batch.len()).all(|i| batch.keys.key(i) == [batch.keys.hashes()[i] as u8]));
        }
    }
}
