//! The data area of a file in the making, and the ways in which threads put keys into it.
//!
//! All sketches stand in one array of words, as they will stand in the file. A key becomes one
//! or more *touches*: a line or block and a hash (`blocked`, `counting`), positions of bits
//! (`bloom`, `layered`), or counters and what is added to them (`count-min`). Touches are gathered
//! and made in batches, so that memory is asked for ahead of its use.
//!
//! Small arenas: each thread has one of its own, and they are OR-ed or added up at the end. Large ones exist
//! once, cut into ranges with a lock each; a thread gathers touches by range and makes a whole
//! batch while it holds the lock. Memory is then that of the filter and a fixed buffer per
//! thread.

use std::sync::Mutex;

use tamis::blocked::{Blocked, LINE_BITS, line_of, set_lines};
use tamis::bloom::positions;
use tamis::counting::{self, BLOCK_WORDS, add_to_blocks};
use tamis::countmin::{add_counters, places};
use tamis::hash::Scheme;
use tamis::key::keywords_of;
use tamis::layered;
use tamis::memory::{Words, prefetch};
use tamis::params::Params;
use tamis::sizing::Kind;
use tamis::sketch::or_words;
use tamis_read::error::Result;
use tamis_read::refusal::{Help, Refusal};

use crate::opt;
use crate::rows::{Key, Take};

/// Up to this size each thread has an arena of its own.
const PRIVATE_BYTES: usize = 8 << 20;

/// Touches gathered before they are made.
const BATCH: usize = 512;

/// Keys of one group that are put in without gathering touches.
const MANY: usize = 256;

/// How many touches ahead memory is asked for.
const AHEAD: usize = 32;

/// Words of a line.
const LINE_WORDS: usize = (LINE_BITS / 64) as usize;

/// Ranges of a shared arena for this many threads: more than threads, so that locks are mostly
/// free, and few, so that the gathered touches stay in the cache.
fn ranges_for(threads: usize) -> usize {
    (4 * threads).clamp(8, 128)
}

/// Where the sketch of a group stands in the arena, and its shape.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The first word.
    start: usize,
    /// Lines (`blocked`), blocks (`counting`), bits (`bloom`) or counters in a row (`count-min`).
    size: u64,
    hashes: u32,
    /// Those of a `layered`.
    layers: u32,
}

/// There is no memory for an arena.
#[derive(Debug, thiserror::Error)]
#[error("not enough memory for {}", crate::number::bytes(*bytes))]
pub struct NoMemory {
    /// Its size.
    bytes: u64,
    /// Whether it holds counters.
    counts: bool,
}

impl Refusal for NoMemory {
    fn help(&self) -> Vec<Help> {
        match self.counts {
            true => {
                vec![Help::GiveMore(vec![opt::EPSILON, opt::DELTA]), Help::give(opt::COUNTER_BITS.with("32"))]
            }
            false => vec![Help::give_more(opt::FPR), Help::give_less(opt::SIZE)],
        }
    }
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
    /// Bits of a counter, the same in all groups.
    width: u32,
}

/// A change to one line or block: its number and the key's hash; or to one bit: the number of its word,
/// and its number there; or to one counter: the number of its word, and what is added (where two
/// counters share a word, above a bit that tells which).
pub(crate) type Touch = (usize, u64);

impl Placing {
    /// For filters with these parameters.
    pub fn new(params: &Params) -> Placing {
        let kind = params.common.kind;
        let (starts, words) = params.layout();
        let place = |(group, start): (&tamis::params::GroupParams, usize)| Place {
            start,
            size: match kind {
                Kind::Blocked | Kind::Counting => group.shape.slots() / LINE_BITS,
                kind if kind.counts() => group.shape.row(),
                _ => group.shape.slots(),
            },
            hashes: group.shape.hashes(),
            layers: group.shape.layers(),
        };
        let places: Vec<Place> = params.groups.iter().zip(starts).map(place).collect();
        let hashes = places.first().map(|place| place.hashes);
        let hashes = hashes.filter(|&hashes| places.iter().all(|place| place.hashes == hashes));
        let width = params.groups.first().map_or(64, |group| group.shape.width());
        Placing { kind, hash: params.common.hash, places, words, hashes, width }
    }

    /// An arena with all bits zero.
    pub fn empty(&self) -> Result<Words> {
        let none = |_| {
            let (bytes, counts) = (self.words as u64 * 8, self.kind.counts());
            NoMemory { bytes, counts }.into()
        };
        Words::zeroed(self.words).map_err(none)
    }

    /// All words of the arena.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// Words per line, block or word: what a [`Touch`] counts.
    pub(crate) fn unit(&self) -> usize {
        match self.kind {
            Kind::Blocked => LINE_WORDS,
            Kind::Counting => BLOCK_WORDS,
            _ => 1,
        }
    }

    /// Whether the bytes of keys are needed, and not their hashes alone.
    fn reads_bytes(&self) -> bool {
        self.kind == Kind::Layered || self.hash.by_bytes().is_some()
    }

    /// Whether a [`Touch`] is of one bit.
    pub(crate) fn touches_bits(&self) -> bool {
        matches!(self.kind, Kind::Bloom | Kind::Layered)
    }

    /// The number of hashes of the group to which a line or block belongs.
    #[cold]
    fn hashes_of_line(&self, line: usize) -> u32 {
        let word = line * self.unit();
        self.places[self.places.partition_point(|place| place.start <= word) - 1].hashes
    }

    #[inline(always)]
    pub(crate) fn touch(&self, key: Key<'_>, mut touch: impl FnMut(Touch)) {
        let place = self.places[key.group as usize];
        let bit = |position: u64| (place.start + (position / 64) as usize, position % 64);
        match (self.kind, self.hash.by_bytes()) {
            (Kind::Blocked, _) => touch((place.start / LINE_WORDS + line_of(key.hash, place.size), key.hash)),
            (Kind::Counting, _) => {
                // Sections are whole blocks, so that each begins at one.
                touch((place.start / BLOCK_WORDS + line_of(key.hash, place.size), key.hash));
            }
            (Kind::Layered, _) => {
                let keywords = keywords_of(key.bytes).map(|word| self.hash.identity(word));
                layered::addresses(keywords, (place.size, place.layers, place.hashes), |layer, address| {
                    touch(bit(u64::from(layer) * place.size + address));
                });
            }
            (Kind::CountMin | Kind::CountMinConservative, _) => {
                for at in places(key.hash, place.size, place.hashes) {
                    touch(match self.width {
                        32 => {
                            let weight = key.weight.min(u64::from(u32::MAX));
                            (place.start + (at / 2) as usize, (weight << 1) | (at % 2))
                        }
                        _ => (place.start + at as usize, key.weight),
                    });
                }
            }
            (_, None) => positions(key.hash, place.size, place.hashes).for_each(|p| touch(bit(p))),
            (_, Some(by)) => {
                by.each_position(key.bytes, place.size, place.hashes, |p| touch(bit(p)));
            }
        }
    }

    /// Adds keys of one group of a `blocked`, of which there are many: no touches are gathered.
    fn insert(&self, group: u32, hashes: &[u64], words: &mut [u64]) {
        let Place { start, size, hashes: count, .. } = self.places[group as usize];
        let words = &mut words[start..][..size as usize * LINE_WORDS];
        Blocked::from_words(words, count).expect("as laid out").insert_hashes(hashes);
    }

    /// The same for keys of one group by their hashes alone: what depends on the group is looked up once.
    #[inline(always)]
    fn touch_hashes(&self, group: u32, hashes: &[u64], mut touch: impl FnMut(Touch)) {
        let place = self.places[group as usize];
        if self.kind == Kind::Blocked {
            let first = place.start / LINE_WORDS;
            return hashes.iter().for_each(|&hash| touch((first + line_of(hash, place.size), hash)));
        }
        for &hash in hashes {
            self.touch(Key { group, hash, bytes: &[], weight: 1 }, &mut touch);
        }
    }
}

/// Makes touches, asking for memory ahead of its use. The words begin with the line, block or word of
/// number `first`.
pub(crate) fn make(placing: &Placing, words: &mut [u64], first: usize, touches: &[Touch]) {
    let of_keys = if placing.kind == Kind::Counting { add_to_blocks } else { set_lines };
    match (placing.kind, placing.hashes) {
        (Kind::Blocked | Kind::Counting, Some(hashes)) => of_keys(words, first, touches, hashes),
        (Kind::Blocked | Kind::Counting, None) => {
            for touch in touches {
                of_keys(words, first, std::slice::from_ref(touch), placing.hashes_of_line(touch.0));
            }
        }
        (Kind::CountMin | Kind::CountMinConservative, _) if placing.width == 32 => {
            ahead(words, first, touches, |word, touch| {
                let (weight, shift) = (touch >> 1, 32 * (touch & 1));
                let counter = (*word >> shift) as u32;
                let sum = u64::from(counter.saturating_add(weight as u32));
                *word = *word & !(u64::from(u32::MAX) << shift) | sum << shift;
            });
        }
        (Kind::CountMin | Kind::CountMinConservative, _) => {
            ahead(words, first, touches, |word, weight| *word = word.saturating_add(weight));
        }
        _ => ahead(words, first, touches, |word, bit| *word |= 1 << bit),
    }
}

/// Changes words, each asked for ahead of its use.
#[inline(always)]
fn ahead(words: &mut [u64], first: usize, touches: &[Touch], change: impl Fn(&mut u64, u64)) {
    touches.iter().take(AHEAD).for_each(|(word, _)| prefetch(words, word - first));
    for (i, &(word, what)) in touches.iter().enumerate() {
        let (next, _) = touches[(i + AHEAD).min(touches.len() - 1)];
        prefetch(words, next - first);
        change(&mut words[word - first], what);
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
        make(self.placing, &mut self.words, 0, &self.touches);
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
        self.placing.touch(key, |touch| self.touches.push(touch));
        if self.touches.len() >= BATCH {
            self.flush();
        }
    }

    fn take_hashes(&mut self, group: u32, hashes: &[u64]) {
        if self.placing.kind == Kind::Blocked && hashes.len() >= MANY {
            return self.placing.insert(group, hashes, &mut self.words);
        }
        for hashes in hashes.chunks(BATCH) {
            self.placing.touch_hashes(group, hashes, |touch| self.touches.push(touch));
            if self.touches.len() >= BATCH {
                self.flush();
            }
        }
    }

    fn reads_bytes(&self) -> bool {
        self.placing.reads_bytes()
    }
}

/// The ranges of an arena that threads share.
#[derive(Debug)]
pub struct Ranges<'w> {
    ranges: Vec<Mutex<&'w mut [u64]>>,
    /// log2 of the units in a range (the last may have fewer).
    shift: u32,
}

impl<'w> Ranges<'w> {
    /// Cuts an arena into ranges for this many threads.
    pub fn new(placing: &Placing, words: &'w mut [u64], threads: usize) -> Self {
        let unit = placing.unit();
        let length = (words.len() / unit).div_ceil(ranges_for(threads)).next_power_of_two();
        let ranges = words.chunks_mut(length * unit).map(Mutex::new).collect();
        Ranges { ranges, shift: length.ilog2() }
    }

    /// Makes the touches of a range, or puts it off for a while where another thread is there.
    fn flush(&self, placing: &Placing, range: usize, touches: &mut Vec<Touch>) {
        let range_words = &self.ranges[range];
        match range_words.try_lock() {
            Ok(mut words) => self.make(placing, range, touches, &mut words),
            Err(_) if touches.len() < 2 * BATCH => {}
            Err(_) => self.make(placing, range, touches, &mut range_words.lock().expect("no holder panics")),
        }
    }

    fn make(&self, placing: &Placing, range: usize, touches: &mut Vec<Touch>, words: &mut [u64]) {
        make(placing, words, range << self.shift, touches);
        touches.clear();
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
        let gathered = ranges.ranges.iter().map(|_| Vec::with_capacity(2 * BATCH)).collect();
        Shared { placing, ranges, gathered }
    }

    /// Makes the touches that are still gathered.
    pub fn finish(mut self) {
        for (range, touches) in self.gathered.iter_mut().enumerate() {
            self.ranges.make(
                self.placing,
                range,
                touches,
                &mut self.ranges.ranges[range].lock().expect("no holder panics"),
            );
        }
    }

    #[inline(always)]
    fn gather(&mut self, touch: Touch) {
        let range = touch.0 >> self.ranges.shift;
        let touches = &mut self.gathered[range];
        touches.push(touch);
        if touches.len() >= BATCH {
            self.ranges.flush(self.placing, range, touches);
        }
    }
}

impl Take for Shared<'_, '_> {
    #[inline]
    fn take(&mut self, key: Key<'_>) {
        self.placing.touch(key, |touch| self.gather(touch));
    }

    fn take_hashes(&mut self, group: u32, hashes: &[u64]) {
        self.placing.touch_hashes(group, hashes, |touch| self.gather(touch));
    }

    fn reads_bytes(&self) -> bool {
        self.placing.reads_bytes()
    }
}

/// The sections of an arena, each for one thread at a time.
pub fn sections<'w>(params: &Params, arena: &'w mut [u64]) -> Vec<Mutex<&'w mut [u64]>> {
    let (starts, _) = params.layout();
    let mut sections = Vec::with_capacity(starts.len());
    let (mut rest, mut passed) = (arena, 0);
    for (group, start) in params.groups.iter().zip(starts) {
        let words = group.shape.words() as usize;
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

impl Placing {
    /// Adds what the other words hold, of the whole arena or of one section.
    pub fn join(&self, words: &mut [u64], others: &[u64]) {
        match self.kind {
            Kind::Counting => counting::add_counters(words, others),
            kind if kind.counts() => add_counters(words, others, self.width),
            _ => or_words(words, others),
        }
    }
}
