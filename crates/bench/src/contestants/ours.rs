//! The kinds of tamis, through the doors that take slices of hashes.

use std::ops::Range;

use tamis::blocked::Blocked;
use tamis::bloom::{self, Bloom};
use tamis::counting::Counting;
use tamis::fuse::Fuse;
use tamis::memory::Words;
use tamis::ribbon::{Ribbon, Widths};

use super::{Contestant, RATE, Takes, hash};

pub fn all() -> Vec<Box<dyn Contestant>> {
    vec![
        Box::new(TamisBlocked::default()),
        Box::new(TamisCounting::default()),
        Box::new(TamisBloom::default()),
        TamisFuse::of_width("tamis fuse, 7 bits", 7), // what the rate asks for
        TamisFuse::of_width("tamis fuse, 8 bits", 8),
        TamisFuse::of_width("tamis fuse, 12 bits", 12),
        TamisFuse::of_width("tamis fuse, 16 bits", 16),
        Box::new(TamisRibbon::default()),
    ]
}

/// Keys are hashed this many at a time; the hashes stay in the fastest cache.
const FEW: usize = 2048;

/// A filter that touches many lines per key sorts its accesses, and asks for more at a time, where it is larger than
/// the cache.
const MANY: usize = 4_000_000;
const CACHE: u64 = 32 << 20;

/// Hashes the keys of these numbers, and gives them away some at a time.
fn in_batches(numbers: Range<u64>, hashes: &mut Vec<u64>, most: usize, mut give: impl FnMut(&[u64])) {
    let mut start = numbers.start;
    while start < numbers.end {
        let end = numbers.end.min(start + most as u64);
        hashes.clear();
        hashes.extend((start..end).map(hash));
        give(hashes);
        start = end;
    }
}

/// What the batches go through; kept, as a caller would.
#[derive(Default)]
struct Scratch {
    hashes: Vec<u64>,
    found: Vec<bool>,
}

impl Scratch {
    fn count(
        &mut self,
        numbers: Range<u64>,
        most: usize,
        mut contains: impl FnMut(&[u64], &mut [bool]),
    ) -> u64 {
        let mut count = 0;
        let found = &mut self.found;
        in_batches(numbers, &mut self.hashes, most, |hashes| {
            found.resize(hashes.len(), false);
            contains(hashes, found);
            count += found.iter().map(|&found| u64::from(found)).sum::<u64>();
        });
        count
    }
}

#[derive(Default)]
struct TamisBlocked {
    filter: Option<Blocked<Words>>,
}

impl Contestant for TamisBlocked {
    fn name(&self) -> &'static str {
        "tamis blocked"
    }

    fn start(&mut self, keys: u64) {
        let filter = self.filter.take();
        let filter = filter.unwrap_or_else(|| Blocked::for_rate(keys, RATE).expect("memory for the filter"));
        let hashes = filter.hashes();
        let mut words = filter.into_words();
        words.fill(0);
        self.filter = Some(Blocked::from_words(words, hashes).expect("the same shape"));
    }

    fn insert(&mut self, numbers: Range<u64>) {
        let filter = self.filter.as_mut().expect("started");
        filter.insert_all(numbers.map(hash));
    }

    fn count(&mut self, numbers: Range<u64>) -> u64 {
        self.filter.as_ref().expect("started").count_all(numbers.map(hash))
    }

    fn bits(&self) -> u64 {
        self.filter.as_ref().map_or(0, |filter| filter.words().len() as u64 * 64)
    }
}

#[derive(Default)]
struct TamisCounting {
    filter: Option<Counting<Words>>,
    scratch: Scratch,
}

impl Contestant for TamisCounting {
    fn name(&self) -> &'static str {
        "tamis counting"
    }

    fn start(&mut self, keys: u64) {
        let filter = self.filter.take();
        let filter = filter.unwrap_or_else(|| Counting::for_rate(keys, RATE).expect("memory for the filter"));
        let hashes = filter.hashes();
        let mut words = filter.into_words();
        words.fill(0);
        self.filter = Some(Counting::from_words(words, hashes).expect("the same shape"));
    }

    fn insert(&mut self, numbers: Range<u64>) {
        let filter = self.filter.as_mut().expect("started");
        in_batches(numbers, &mut self.scratch.hashes, FEW, |hashes| filter.insert_hashes(hashes));
    }

    fn count(&mut self, numbers: Range<u64>) -> u64 {
        let filter = self.filter.as_ref().expect("started");
        self.scratch.count(numbers, FEW, |hashes, found| filter.contains_hashes(hashes, found))
    }

    fn bits(&self) -> u64 {
        64 * self.filter.as_ref().map_or(0, |filter| filter.words().len() as u64)
    }
}

#[derive(Default)]
struct TamisBloom {
    filter: Option<Bloom<Words>>,
    scratch: Scratch,
    sorting: bloom::Scratch,
}

impl TamisBloom {
    /// Keys at a time.
    fn batch(&self) -> usize {
        if self.bits() / 8 < CACHE { FEW } else { MANY }
    }
}

impl Contestant for TamisBloom {
    fn name(&self) -> &'static str {
        "tamis bloom"
    }

    fn start(&mut self, keys: u64) {
        let filter = self.filter.take();
        let filter = filter.unwrap_or_else(|| Bloom::for_rate(keys, RATE).expect("memory for the filter"));
        let (bits, hashes) = (filter.bits(), filter.hashes());
        let mut words = filter.into_words();
        words.fill(0);
        self.filter = Some(Bloom::from_words(words, bits, hashes).expect("the same shape"));
    }

    fn insert(&mut self, numbers: Range<u64>) {
        let batch = self.batch();
        let filter = self.filter.as_mut().expect("started");
        let sorting = &mut self.sorting;
        in_batches(numbers, &mut self.scratch.hashes, batch, |hashes| {
            filter.insert_hashes_with(sorting, hashes);
        });
    }

    fn count(&mut self, numbers: Range<u64>) -> u64 {
        let batch = self.batch();
        let filter = self.filter.as_ref().expect("started");
        let sorting = &mut self.sorting;
        self.scratch.count(numbers, batch, |hashes, found| {
            filter.contains_hashes_with(sorting, hashes, found);
        })
    }

    fn bits(&self) -> u64 {
        self.filter.as_ref().map_or(0, |filter| filter.words().len() as u64 * 64)
    }
}

struct TamisFuse {
    name: &'static str,
    width: u32,
    filter: Option<Fuse<Vec<u64>>>,
}

impl TamisFuse {
    fn of_width(name: &'static str, width: u32) -> Box<dyn Contestant> {
        Box::new(TamisFuse { name, width, filter: None })
    }
}

impl Contestant for TamisFuse {
    fn name(&self) -> &'static str {
        self.name
    }

    fn takes(&self) -> Takes {
        Takes::All
    }

    fn start(&mut self, _keys: u64) {
        self.filter = None;
    }

    fn insert(&mut self, numbers: Range<u64>) {
        let mut hashes = numbers.map(hash).collect();
        self.filter = Some(Fuse::build(&mut hashes, self.width).expect("distinct keys"));
    }

    fn count(&mut self, numbers: Range<u64>) -> u64 {
        self.filter.as_ref().expect("built").count_all(numbers.map(hash))
    }

    fn bits(&self) -> u64 {
        self.filter.as_ref().map_or(0, |filter| filter.words().len() as u64 * 64)
    }
}

#[derive(Default)]
struct TamisRibbon {
    filter: Option<Ribbon<Vec<u64>>>,
    scratch: Scratch,
}

impl Contestant for TamisRibbon {
    fn name(&self) -> &'static str {
        "tamis ribbon"
    }

    fn takes(&self) -> Takes {
        Takes::All
    }

    fn start(&mut self, _keys: u64) {
        self.filter = None;
    }

    fn insert(&mut self, numbers: Range<u64>) {
        let mut hashes = numbers.map(hash).collect();
        let widths = Widths::for_rate(RATE).expect("a usual rate");
        self.filter = Some(Ribbon::build(&mut hashes, widths).expect("distinct keys"));
    }

    fn count(&mut self, numbers: Range<u64>) -> u64 {
        let filter = self.filter.as_ref().expect("built");
        self.scratch.count(numbers, FEW, |hashes, found| filter.contains_hashes(hashes, found))
    }

    fn bits(&self) -> u64 {
        self.filter.as_ref().map_or(0, |filter| filter.words().len() as u64 * 64)
    }
}
