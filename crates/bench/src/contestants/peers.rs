//! Other people's filters, each as its documentation says to use it for speed. Those that
//! hash by themselves get foldhash, the fastest of the usual ones; xorf mixes keys in its own
//! way.

use std::ops::Range;

use fastbloom::BloomFilter;
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use xorf::Filter as _;

use super::{Contestant, RATE, Takes, hash, key};
use crate::arch::Boost;

pub fn all() -> Vec<Box<dyn Contestant>> {
    vec![
        Box::new(FastBloom::default()),
        Box::new(SplitBlock::default()),
        Box::new(BoostBloom::default()),
        Box::new(Quotient::default()),
        Box::new(Fuse8::default()),
        Box::new(Fuse16::default()),
        Box::new(Table::default()),
    ]
}

fn found(numbers: Range<u64>, contains: impl Fn(u64) -> bool) -> u64 {
    numbers.map(|number| u64::from(contains(key(number)))).sum()
}

#[derive(Default)]
struct FastBloom(Option<BloomFilter<FixedState>>);

impl Contestant for FastBloom {
    fn name(&self) -> &'static str {
        "fastbloom"
    }

    fn start(&mut self, keys: u64) {
        let builder = BloomFilter::with_false_pos(RATE).hasher(FixedState::default());
        self.0.get_or_insert_with(|| builder.expected_items(keys as usize)).clear();
    }

    fn insert(&mut self, numbers: Range<u64>) {
        let filter = self.0.as_mut().expect("started");
        for number in numbers {
            filter.insert(&key(number));
        }
    }

    fn count(&mut self, numbers: Range<u64>) -> u64 {
        let filter = self.0.as_ref().expect("started");
        found(numbers, |key| filter.contains(&key))
    }

    fn bits(&self) -> u64 {
        self.0.as_ref().map_or(0, |filter| filter.num_bits() as u64)
    }
}

/// It takes whole bits per key: 11 are the fewest with which its rate is below one per cent.
const SPLIT_BLOCK_BITS: usize = 11;

#[derive(Default)]
struct SplitBlock(Option<sbbf_rs_safe::Filter>);

impl Contestant for SplitBlock {
    fn name(&self) -> &'static str {
        "sbbf-rs-safe"
    }

    fn start(&mut self, keys: u64) {
        let fresh = || sbbf_rs_safe::Filter::new(SPLIT_BLOCK_BITS, keys as usize);
        self.0.get_or_insert_with(fresh).reset();
    }

    fn insert(&mut self, numbers: Range<u64>) {
        let filter = self.0.as_mut().expect("started");
        for number in numbers {
            filter.insert_hash(hash(number));
        }
    }

    fn count(&mut self, numbers: Range<u64>) -> u64 {
        let filter = self.0.as_ref().expect("started");
        numbers.map(|number| u64::from(filter.contains_hash(hash(number)))).sum()
    }

    fn bits(&self) -> u64 {
        self.0.as_ref().map_or(0, |filter| filter.as_bytes().len() as u64 * 8)
    }
}

/// Boost.Bloom hashes by itself. Without its bulk mode, which the crate does not have yet.
#[derive(Default)]
struct BoostBloom(Option<Boost>);

impl Contestant for BoostBloom {
    fn name(&self) -> &'static str {
        "Boost.Bloom"
    }

    fn start(&mut self, keys: u64) {
        self.0.get_or_insert_with(|| Boost::new(keys, RATE)).clear();
    }

    fn insert(&mut self, numbers: Range<u64>) {
        self.0.as_mut().expect("started").insert(numbers);
    }

    fn count(&mut self, numbers: Range<u64>) -> u64 {
        self.0.as_ref().expect("started").count(numbers)
    }

    fn bits(&self) -> u64 {
        self.0.as_ref().map_or(0, Boost::bits)
    }
}

#[derive(Default)]
struct Quotient(Option<qfilter::Filter<Box<[u8]>, FixedState>>);

impl Contestant for Quotient {
    fn name(&self) -> &'static str {
        "qfilter"
    }

    fn start(&mut self, keys: u64) {
        let fresh = || qfilter::Filter::new_with_hasher(keys, RATE, FixedState::default());
        self.0.get_or_insert_with(|| fresh().expect("a usual size")).clear();
    }

    fn insert(&mut self, numbers: Range<u64>) {
        let filter = self.0.as_mut().expect("started");
        for number in numbers {
            filter.insert(key(number)).expect("room for the keys");
        }
    }

    fn count(&mut self, numbers: Range<u64>) -> u64 {
        let filter = self.0.as_ref().expect("started");
        found(numbers, |key| filter.contains(key))
    }

    fn bits(&self) -> u64 {
        self.0.as_ref().map_or(0, |filter| filter.memory_usage() as u64 * 8)
    }
}

#[derive(Default)]
struct Fuse8(Option<xorf::BinaryFuse8>);

impl Contestant for Fuse8 {
    fn name(&self) -> &'static str {
        "xorf BinaryFuse8"
    }

    fn takes(&self) -> Takes {
        Takes::All
    }

    fn start(&mut self, _keys: u64) {
        self.0 = None;
    }

    fn insert(&mut self, numbers: Range<u64>) {
        let keys: Vec<u64> = numbers.map(key).collect();
        self.0 = Some(xorf::BinaryFuse8::try_from(&keys).expect("distinct keys"));
    }

    fn count(&mut self, numbers: Range<u64>) -> u64 {
        let filter = self.0.as_ref().expect("built");
        found(numbers, |key| filter.contains(&key))
    }

    fn bits(&self) -> u64 {
        self.0.as_ref().map_or(0, |filter| filter.len() as u64 * 8)
    }
}

#[derive(Default)]
struct Fuse16(Option<xorf::BinaryFuse16>);

impl Contestant for Fuse16 {
    fn name(&self) -> &'static str {
        "xorf BinaryFuse16"
    }

    fn takes(&self) -> Takes {
        Takes::All
    }

    fn start(&mut self, _keys: u64) {
        self.0 = None;
    }

    fn insert(&mut self, numbers: Range<u64>) {
        let keys: Vec<u64> = numbers.map(key).collect();
        self.0 = Some(xorf::BinaryFuse16::try_from(&keys).expect("distinct keys"));
    }

    fn count(&mut self, numbers: Range<u64>) -> u64 {
        let filter = self.0.as_ref().expect("built");
        found(numbers, |key| filter.contains(&key))
    }

    fn bits(&self) -> u64 {
        self.0.as_ref().map_or(0, |filter| filter.len() as u64 * 16)
    }
}

/// The exact set, for scale.
#[derive(Default)]
struct Table(Option<HashSet<u64, FixedState>>);

impl Contestant for Table {
    fn name(&self) -> &'static str {
        "hashbrown set"
    }

    fn start(&mut self, keys: u64) {
        let fresh = || HashSet::with_capacity_and_hasher(keys as usize, FixedState::default());
        self.0.get_or_insert_with(fresh).clear();
    }

    fn insert(&mut self, numbers: Range<u64>) {
        let set = self.0.as_mut().expect("started");
        for number in numbers {
            set.insert(key(number));
        }
    }

    fn count(&mut self, numbers: Range<u64>) -> u64 {
        let set = self.0.as_ref().expect("started");
        found(numbers, |key| set.contains(&key))
    }

    fn bits(&self) -> u64 {
        self.0.as_ref().map_or(0, |set| set.allocation_size() as u64 * 8)
    }
}
