//! The equations of one run of slots: put in, taken back, and solved.
//!
//! A key asks that the exclusive or of some of 64 neighbouring slots equal its fingerprint. Its
//! equation is put into the first of its slots that no equation holds yet, after those that are
//! met on the way have been subtracted from it. Where nothing is left of it, it cannot be put.
//! What is left never reaches further than the 64 slots of the last key.

use super::params::{BUCKET, Layer, THRESHOLDS};
use super::place::place;
use crate::arch::cpu::{Vectored, vectored};
use alloc::vec;
use alloc::vec::Vec;

/// The equations, one for a slot.
pub(super) struct Band {
    /// The first slot.
    first: u64,
    /// Coefficients from the slot on; 0 where there is no equation.
    rows: Vec<u64>,
    /// What the sum is; 0 where there is no equation.
    sums: Vec<u32>,
}

impl Band {
    /// No equations yet, for these slots: whole blocks.
    pub(super) fn new(slots: core::ops::Range<u64>) -> Band {
        let count = (slots.end - slots.start) as usize;
        Band { first: slots.start, rows: vec![0; count], sums: vec![0; count] }
    }

    pub(super) fn clear(&mut self) {
        self.rows.fill(0);
        self.sums.fill(0);
    }

    /// The slot into which the equation of a key was put, if it could be, counted from the first; and
    /// that with which the key begins, counted from the layer's.
    #[inline]
    pub(super) fn put(&mut self, key: u64, starts: u64) -> (u64, Option<usize>) {
        let place = place(key, starts);
        let (mut row, mut sum) = (place.coefficients, place.fingerprint);
        let mut at = (place.start - self.first) as usize;
        loop {
            let held = self.rows[at];
            if held == 0 {
                self.rows[at] = row;
                self.sums[at] = sum;
                return (place.start, Some(at));
            }
            row ^= held;
            sum ^= self.sums[at];
            if row == 0 {
                return (place.start, None);
            }
            let skip = row.trailing_zeros();
            row >>= skip;
            at += skip as usize;
        }
    }

    /// Puts all keys that can be put, which are sorted; those that are bumped are passed on, and the
    /// levels of the buckets are written.
    ///
    /// Buckets are filled from left to right, and each from its end to its front, because its front
    /// is what the bucket before runs over into. At the first equation that cannot be put, the keys
    /// before the next threshold are bumped. What has been put of them is taken back: it was put
    /// last, so nothing rests upon it.
    ///
    /// Of a run that another follows, the last bucket takes no key: so no equation reaches into the
    /// next run, and each run is solved alone.
    pub(super) fn bump(
        &mut self,
        mut keys: &[u64],
        layer: &Layer,
        levels: &mut [u64],
        bumped: &mut impl FnMut(u64),
    ) {
        let (starts, end) = (layer.starts(), self.first + self.rows.len() as u64);
        let first_bucket = self.first / BUCKET;
        let bucket_of = |key: u64| super::place::start(key, starts) / BUCKET;
        let closed = (end < layer.slots).then(|| end / BUCKET - 1);
        if let Some(closed) = closed {
            set_level(levels, closed - first_bucket, THRESHOLDS.len() - 1);
        }
        // Within a bucket: the offsets of keys and the slots of their equations.
        let mut put: Vec<(u64, usize)> = Vec::new();
        while let Some(&front) = keys.first() {
            let bucket = bucket_of(front);
            let count = keys.iter().take_while(|&&key| bucket_of(key) == bucket).count();
            let (in_it, after) = keys.split_at(count);
            keys = after;
            if Some(bucket) == closed {
                in_it.iter().for_each(|&key| bumped(key));
                continue;
            }
            put.clear();
            let mut level = 0;
            for &key in in_it.iter().rev() {
                let (start, slot) = self.put(key, starts);
                let offset = start - bucket * BUCKET;
                match slot {
                    Some(slot) => put.push((offset, slot)),
                    None => {
                        level = THRESHOLDS.iter().take_while(|&&threshold| threshold <= offset).count();
                        break;
                    }
                }
            }
            while let Some(&(_, slot)) = put.last().filter(|(offset, _)| *offset < THRESHOLDS[level]) {
                self.rows[slot] = 0;
                self.sums[slot] = 0;
                put.pop();
            }
            in_it[..count - put.len()].iter().for_each(|&key| bumped(key));
            set_level(levels, bucket - first_bucket, level);
        }
    }

    /// Gives every slot its value, from the last to the first. Slots without an equation are zero.
    /// `table` has the blocks of these slots.
    pub(super) fn solve(&self, layer: &Layer, table: &mut [u64]) {
        vectored(Solve { band: self, layer, table });
    }
}

fn set_level(levels: &mut [u64], bucket: u64, level: usize) {
    levels[(bucket / 32) as usize] |= (level as u64) << (bucket % 32 * 2);
}

struct Solve<'a> {
    band: &'a Band,
    layer: &'a Layer,
    table: &'a mut [u64],
}

impl Vectored for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Solve { band, layer, table } = self;
        let (from, _) = layer.block(band.first / 64);
        // Of each column, the values of the 64 slots from the one at hand.
        let mut columns = [0u64; 32];
        for block in (0..band.rows.len() / 64).rev() {
            let (at, width) = layer.block(band.first / 64 + block as u64);
            let columns = &mut columns[..width as usize];
            let slots = block * 64..block * 64 + 64;
            for (row, sum) in band.rows[slots.clone()].iter().zip(&band.sums[slots]).rev() {
                for (bit, column) in columns.iter_mut().enumerate() {
                    let above = *column << 1;
                    *column = above | (u64::from((above & row).count_ones() ^ sum >> bit) & 1);
                }
            }
            table[at - from..at - from + width as usize].copy_from_slice(columns);
        }
    }
}
