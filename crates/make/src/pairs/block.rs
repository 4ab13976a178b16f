//! Records as they came, in heaps by the first bits of their hashes.
//!
//! What a thread sees is cut into blocks that fit in a cache while they are put into heaps. The heaps of one number in
//! all blocks are a *part*: few enough records for a cache, of one range of hashes. Part by part, repetitions are
//! found, and memory is walked through from one end to the other.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use tamis_read::Control;
use tamis_read::error::Result;

use super::Work;
use super::once::{are_different, once};
use super::record::Record;
use crate::order::in_order;
use crate::parallel;

/// Parts that tell whether records repeat.
const SAMPLE: usize = 4;

/// Some records in heaps.
#[derive(Debug)]
pub(super) struct Block<R: Record> {
    records: R::Room,
    /// Where the heap of each part is.
    heaps: Vec<Range<u32>>,
}

impl<R: Record> Block<R> {
    /// Puts records into heaps: two to the power of `bits` of them.
    pub(super) fn new(from: &[R], bits: u32) -> Block<R> {
        let heap = |record: &R| record.hash().checked_shr(64 - bits).unwrap_or(0) as usize;
        let mut heaps = vec![0..0; 1 << bits];
        from.iter().for_each(|record| heaps[heap(record)].end += 1);
        let mut before = 0;
        for heap in &mut heaps {
            // Until its records are there, a heap is empty.
            let records = heap.end;
            *heap = before..before;
            before += records;
        }
        let mut records = R::room(from);
        let places = &mut *records;
        for record in from {
            let end = &mut heaps[heap(record)].end;
            places[*end as usize] = *record;
            *end += 1;
        }
        Block { records, heaps }
    }

    fn part(&self, part: usize) -> &[R] {
        let Range { start, end } = self.heaps[part];
        &self.records[start as usize..end as usize]
    }

    /// Gives the records of each heap, each once.
    pub(super) fn once(&self, mut take: impl FnMut(&[R])) {
        let (mut kept, mut table, bits) = (Vec::new(), Vec::new(), self.heaps.len().ilog2());
        for part in 0..self.heaps.len() {
            once([self.part(part)].into_iter(), &mut kept, &mut table, bits);
            take(&kept);
        }
    }

    /// Gives up the room between heaps.
    fn close_gaps(&mut self) {
        let left = self.heaps.iter().map(Range::len).sum();
        if left == self.records.len() {
            return;
        }
        let mut records = R::room(&self.records[..left]);
        let mut place = 0;
        for heap in &mut self.heaps {
            let from = heap.start as usize..heap.end as usize;
            *heap = place..place + from.len() as u32;
            place = heap.end;
            records[heap.start as usize..heap.end as usize].copy_from_slice(&self.records[from]);
        }
        self.records = records;
    }
}

/// Records of all threads.
#[derive(Debug)]
pub(super) struct Parts<R: Record> {
    blocks: Vec<Block<R>>,
    /// In all blocks.
    records: usize,
    bits: u32,
}

/// Room in which the records of a part are worked on.
struct Desk<R> {
    records: Vec<R>,
    table: Vec<u32>,
}

impl<R: Record> Parts<R> {
    /// Two to the power of `bits` of them.
    pub(super) fn new(bits: u32) -> Parts<R> {
        Parts { blocks: Vec::new(), records: 0, bits }
    }

    /// Their number, as bits.
    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    /// Takes a block of as many parts.
    pub(super) fn push(&mut self, block: Block<R>) {
        if !block.records.is_empty() {
            self.records += block.records.len();
            self.blocks.push(block);
        }
    }

    pub(super) fn records(&self) -> usize {
        self.records
    }

    /// All of them, which leaves none.
    pub(super) fn take(&mut self) -> Parts<R> {
        std::mem::replace(self, Parts::new(self.bits))
    }

    fn len(&self) -> usize {
        1 << self.bits
    }

    /// Leaves each record once, of those that are wanted.
    pub(super) fn settle(
        &mut self,
        threads: usize,
        control: &Control,
        wanted: Option<&(dyn Fn(R) -> bool + Sync)>,
    ) -> Result<()> {
        let mut parts: Vec<Vec<&mut [R]>> = Vec::new();
        parts.resize_with(self.len(), || Vec::with_capacity(self.blocks.len()));
        for block in &mut self.blocks {
            let mut rest = &mut block.records[..];
            for (part, heap) in parts.iter_mut().zip(&block.heaps) {
                // There are no gaps.
                let (here, others) = std::mem::take(&mut rest).split_at_mut(heap.len());
                part.push(here);
                rest = others;
            }
        }
        let parts: Vec<_> = parts.into_iter().map(Mutex::new).collect();
        let desks: Mutex<Vec<Desk<R>>> = Mutex::default();
        let left = parallel::each(threads, parts.len(), |part| {
            control.check()?;
            let desk = desks.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut desk = desk.unwrap_or_else(|| Desk { records: Vec::new(), table: Vec::new() });
            let mut heaps = parts[part].lock().unwrap_or_else(PoisonError::into_inner);
            let lists = heaps.iter().map(|heap| &**heap);
            if wanted.is_none() && are_different(lists.clone(), &mut desk.table, self.bits) {
                let left = lists.map(<[R]>::len).sum();
                desks.lock().unwrap_or_else(PoisonError::into_inner).push(desk);
                return Ok(left);
            }
            once(lists, &mut desk.records, &mut desk.table, self.bits);
            if let Some(wanted) = wanted {
                desk.records.retain(|record| wanted(*record));
            }
            let left = desk.records.len();
            if left < heaps.iter().map(|heap| heap.len()).sum() {
                // The first heaps are filled: the blocks of the last become empty.
                let mut rest = &desk.records[..];
                for heap in heaps.iter_mut() {
                    let (here, others) = rest.split_at(heap.len().min(rest.len()));
                    heap[..here.len()].copy_from_slice(here);
                    rest = others;
                }
            }
            desks.lock().unwrap_or_else(PoisonError::into_inner).push(desk);
            Ok(left)
        })?;
        for (part, mut left) in left.into_iter().enumerate() {
            for block in &mut self.blocks {
                let heap = &mut block.heaps[part];
                let here = heap.len().min(left);
                heap.end = heap.start + here as u32;
                left -= here;
            }
        }
        self.blocks.iter_mut().for_each(Block::close_gaps);
        self.blocks.retain(|block| !block.records.is_empty());
        self.records = self.blocks.iter().map(|block| block.records.len()).sum();
        Ok(())
    }

    /// Whether most records of some parts have come before.
    pub(super) fn repeats(&self) -> bool {
        let (mut kept, mut table) = (Vec::new(), Vec::new());
        let (mut seen, mut different) = (0, 0);
        for part in 0..self.len().min(SAMPLE) {
            let heaps = self.blocks.iter().map(|block| block.part(part));
            seen += heaps.clone().map(<[R]>::len).sum::<usize>();
            once(heaps, &mut kept, &mut table, self.bits);
            different += kept.len();
        }
        different < seen / 2
    }

    /// Gives all records, on this many threads: those of a part one after the other.
    pub(super) fn each(&self, threads: usize, control: &Control, work: &Work<'_, R>) -> Result<()> {
        parallel::each(threads, self.len(), |part| {
            control.check()?;
            let heaps = self.blocks.iter().map(|block| block.part(part));
            heaps.filter(|heap| !heap.is_empty()).try_for_each(work)
        })?;
        Ok(())
    }

    /// Gives all records in order, on this thread.
    pub(super) fn in_order(&self, control: &Control, work: &mut dyn FnMut(&[R]) -> Result<()>) -> Result<()> {
        let (mut records, mut room) = (Vec::new(), Vec::new());
        for part in 0..self.len() {
            control.check()?;
            records.clear();
            self.blocks.iter().for_each(|block| records.extend_from_slice(block.part(part)));
            if !records.is_empty() {
                in_order(&mut records, &mut room);
                work(&records)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::record::Pair;
    use super::*;

    proptest! {
        #[test]
        fn each_record_is_there_once_however_hashes_lie_and_blocks_are_cut(
            hashes in prop::collection::vec((any::<u64>(), 0..64u32, 0..3u32), 0..3000),
            block in 1..1000usize,
            bits in 0..9u32,
            threads in 1..3usize,
        ) {
            // Some hashes share their first bits, or all of them.
            let pairs: Vec<Pair> =
                hashes.iter().map(|&(hash, shift, group)| Pair::new(group, hash >> shift)).collect();
            let (mut parts, control) = (Parts::new(bits), Control::default());
            for some in pairs.chunks(block) {
                parts.push(Block::new(some, bits));
                parts.push(Block::new(some, bits));
                parts.settle(threads, &control, None).unwrap();
            }
            let expected: Vec<Pair> = pairs.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
            prop_assert_eq!(parts.records(), expected.len());
            let mut found = Vec::new();
            parts.in_order(&control, &mut |records| { found.extend_from_slice(records); Ok(()) }).unwrap();
            prop_assert_eq!(found, expected.clone());
            let all = Mutex::new(BTreeSet::new());
            parts.each(threads, &control, &|records| { all.lock().unwrap().extend(records.iter().copied()); Ok(()) }).unwrap();
            prop_assert!(all.into_inner().unwrap().into_iter().eq(expected.iter().copied()));
            parts.settle(threads, &control, Some(&|pair| pair.group() == 1)).unwrap();
            prop_assert_eq!(parts.records(), expected.iter().filter(|pair| pair.group() == 1).count());
        }
    }
}
