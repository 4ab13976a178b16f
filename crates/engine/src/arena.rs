//! The data area of a file in the making, and the ways in which threads put keys into it.
//!
//! All sketches stand in one array of words, as they will stand in the file. A key becomes one
//! or more *touches*: a line and a hash (`blocked`), or positions of bits (`bloom`). Touches are
//! gathered and made in batches, so that memory is asked for ahead of its use.
//!
//! Small arenas: each thread has one of its own, and they are OR-ed at the end. Large ones exist
//! once, cut into ranges with a lock each; a thread gathers touches by range and makes a whole
//! batch while it holds the lock. Memory is then that of the filter and a fixed buffer per
//! thread, and each batch stays within a part of the filter that fits the cache.

use std::sync::Mutex;

use tamis::arch::cpu::{Vectored, prefetch, vectored};
use tamis::arch::map::Words;
use tamis::blocked::{LINE_BITS, line_of, set_line};
use tamis::bloom::positions;
use tamis::hash::{Scheme, murmur3};
use tamis::params::Params;
use tamis::sizing::Kind;

use crate::error::{Error, Result};
use crate::rows::{Key, Take};

/// Up to this size each thread has an arena of its own.
const PRIVATE_BYTES: usize = 8 << 20;

/// Touches gathered before they are made.
const BATCH: usize = 256;

/// Ranges of a shared arena: many more than threads, so that locks are mostly free, and few
/// enough that the gathered touches fit the cache.
const RANGES: usize = 128;

/// Where the sketch of a group stands in the arena, and its shape.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The first word.
    start: usize,
    /// Lines (`blocked`) or bits (`bloom`).
    size: u64,
    hashes: u32,
}

/// How keys become touches.
#[derive(Debug, Clone)]
pub struct Placing {
    kind: Kind,
    hash: Scheme,
    places: Vec<Place>,
    words: usize,
    /// The number of hashes that all groups share: always, but in files that were merged of
    /// groups with different rates.
    hashes: Option<u32>,
}

/// A change to one line: `at` is the line, `what` the hash; or to one bit: `at` is the word,
/// `what` the bit.
#[derive(Debug, Clone, Copy)]
struct Touch {
    at: usize,
    what: u64,
}

impl Placing {
    /// For filters with these parameters.
    pub fn new(params: &Params) -> Placing {
        let kind = params.common.kind;
        let (starts, words) = params.layout();
        let place = |(group, start): (&tamis::params::GroupParams, usize)| Place {
            start,
            size: if kind == Kind::Blocked { group.shape.slots / LINE_BITS } else { group.shape.slots },
            hashes: group.shape.hashes,
        };
        let places: Vec<Place> = params.groups.iter().zip(starts).map(place).collect();
        let hashes = places.first().map(|place| place.hashes);
        let hashes = hashes.filter(|&hashes| places.iter().all(|place| place.hashes == hashes));
        Placing { kind, hash: params.common.hash, places, words, hashes }
    }

    /// An arena with all bits zero.
    pub fn empty(&self) -> Result<Words> {
        Words::zeroed(self.words).map_err(|error| {
            let bytes = self.words as u64 * 8;
            Error::Refused(format!("no memory for filters of {bytes} bytes ({error}); a higher --fpr or a smaller --size needs less"))
        })
    }

    /// Words per unit of [`Touch::at`].
    fn unit(&self) -> usize {
        if self.kind == Kind::Blocked { 8 } else { 1 }
    }

    /// The number of hashes of the group to which a line belongs.
    #[cold]
    fn hashes_of_line(&self, line: usize) -> u32 {
        self.places[self.places.partition_point(|place| place.start <= line * 8) - 1].hashes
    }

    #[inline(always)]
    fn touch(&self, key: Key<'_>, mut touch: impl FnMut(Touch)) {
        let place = self.places[key.group as usize];
        let bit = |position: u64| Touch { at: place.start + (position / 64) as usize, what: position % 64 };
        match (self.kind, self.hash) {
            (Kind::Blocked, _) => {
                touch(Touch { at: place.start / 8 + line_of(key.hash, place.size), what: key.hash })
            }
            (_, Scheme::Xxh3 { .. }) => {
                positions(key.hash, place.size, place.hashes).for_each(|p| touch(bit(p)))
            }
            (_, Scheme::Murmur3) => {
                (0..place.hashes)
                    .for_each(|seed| touch(bit(u64::from(murmur3(key.bytes, seed)) % place.size)));
            }
        }
    }
}

/// Touches made together.
struct Make<'a> {
    placing: &'a Placing,
    words: &'a mut [u64],
    /// The first unit of these words in the arena.
    first: usize,
    touches: &'a [Touch],
}

impl Vectored for Make<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        if self.placing.kind == Kind::Blocked {
            let lines = self.words.as_chunks_mut().0;
            for touch in self.touches {
                let hashes = self.placing.hashes.unwrap_or_else(|| self.placing.hashes_of_line(touch.at));
                set_line(&mut lines[touch.at - self.first], touch.what, hashes);
            }
        } else {
            for touch in self.touches {
                self.words[touch.at - self.first] |= 1 << touch.what;
            }
        }
    }
}

/// A thread's way into an arena of its own.
#[derive(Debug)]
pub struct Private<'a> {
    placing: &'a Placing,
    words: Words,
    touches: Vec<Touch>,
}

impl<'a> Private<'a> {
    /// An empty arena.
    pub fn new(placing: &'a Placing) -> Result<Self> {
        Ok(Self::with(placing, placing.empty()?))
    }

    /// An arena that holds something already.
    pub fn with(placing: &'a Placing, words: Words) -> Self {
        Private { placing, words, touches: Vec::with_capacity(BATCH + 64) }
    }

    fn flush(&mut self) {
        vectored(Make { placing: self.placing, words: &mut self.words, first: 0, touches: &self.touches });
        self.touches.clear();
    }

    /// The arena with all keys in it.
    pub fn finish(mut self) -> Words {
        self.flush();
        self.words
    }
}

impl Take for Private<'_> {
    #[inline]
    fn take(&mut self, key: Key<'_>) {
        let (words, unit) = (&self.words, self.placing.unit());
        self.placing.touch(key, |touch| {
            prefetch(words, touch.at * unit);
            self.touches.push(touch);
        });
        if self.touches.len() >= BATCH {
            self.flush();
        }
    }
}

/// The ranges of an arena that threads share.
#[derive(Debug)]
pub struct Ranges<'w> {
    ranges: Vec<Mutex<&'w mut [u64]>>,
    /// Units in a range (the last may have fewer).
    length: usize,
}

impl<'w> Ranges<'w> {
    /// Cuts an arena into ranges.
    pub fn new(placing: &Placing, words: &'w mut [u64]) -> Self {
        let unit = placing.unit();
        let length = (words.len() / unit).div_ceil(RANGES).max(1);
        let ranges = words.chunks_mut(length * unit).map(Mutex::new).collect();
        Ranges { ranges, length }
    }
}

/// A thread's way into a shared arena.
#[derive(Debug)]
pub struct Shared<'a, 'w> {
    placing: &'a Placing,
    ranges: &'a Ranges<'w>,
    gathered: Vec<Vec<Touch>>,
}

impl<'a, 'w> Shared<'a, 'w> {
    /// A way into these ranges.
    pub fn new(placing: &'a Placing, ranges: &'a Ranges<'w>) -> Self {
        let gathered = ranges.ranges.iter().map(|_| Vec::with_capacity(BATCH)).collect();
        Shared { placing, ranges, gathered }
    }

    /// Makes the touches that are still gathered.
    pub fn finish(mut self) {
        for range in 0..self.gathered.len() {
            flush(self.placing, self.ranges, range, &mut self.gathered[range]);
        }
    }
}

fn flush(placing: &Placing, ranges: &Ranges<'_>, range: usize, touches: &mut Vec<Touch>) {
    let mut words = ranges.ranges[range].lock().expect("no holder panics");
    let first = range * ranges.length;
    for touch in touches.iter() {
        prefetch(&words, (touch.at - first) * placing.unit());
    }
    vectored(Make { placing, words: &mut words, first, touches });
    touches.clear();
}

impl Take for Shared<'_, '_> {
    #[inline]
    fn take(&mut self, key: Key<'_>) {
        let (placing, ranges) = (self.placing, self.ranges);
        let gathered = &mut self.gathered;
        placing.touch(key, |touch| {
            let range = touch.at / ranges.length;
            let touches = &mut gathered[range];
            touches.push(touch);
            if touches.len() == BATCH {
                flush(placing, ranges, range, touches);
            }
        });
    }
}

/// The sections of an arena, each for one thread at a time.
pub fn sections<'w>(params: &Params, arena: &'w mut [u64]) -> Vec<Mutex<&'w mut [u64]>> {
    let (starts, _) = params.layout();
    let mut sections = Vec::with_capacity(starts.len());
    let (mut rest, mut passed) = (arena, 0);
    for (group, start) in params.groups.iter().zip(starts) {
        let words = group.shape.words(params.common.kind) as usize;
        let (section, after) = rest[start - passed..].split_at_mut(words);
        sections.push(Mutex::new(section));
        (rest, passed) = (after, start + words);
    }
    sections
}

/// Whether threads should share one arena.
pub fn share(placing: &Placing, threads: usize) -> bool {
    threads > 1 && placing.words * 8 > PRIVATE_BYTES
}

/// Adds what the other words hold.
pub fn or_into(words: &mut [u64], others: &[u64]) {
    for (word, other) in words.iter_mut().zip(others) {
        *word |= other;
    }
}
