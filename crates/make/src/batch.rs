//! The keys of a batch of rows, column by column.
//!
//! Asking filters, learning, and dropping repetitions all work on many keys at a time. They take them
//! from a [`KeyBatch`]: the hash of each key, and beside it only those columns that the job
//! [keeps](Keeps).

use std::ops::Range;

use tamis::hash::{ByBytes, Foreign, Scheme, murmur3};
use tamis::key::keywords_of;
use tamis::params::{GroupParams, Params};
use tamis::scalable::Sizes;
use tamis::sizing::{Kind, Shape};

use crate::rows::{Key, Take};

/// What a filter needs of a key to find its places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Needs {
    /// Its hash.
    #[default]
    Hash,
    /// This many murmur3 hashes of its bytes.
    Lanes(u32),
    /// Its bytes, of which this hash makes each position.
    Bytes(ByBytes),
    /// The hash of each of its keywords, by this scheme.
    Keywords(Scheme),
    /// This many lanes, by the hash of another system.
    Wide(Foreign, u32),
}

impl Needs {
    /// What filters of this kind and hash need, of which none has more hashes per key than this.
    pub fn new(kind: Kind, scheme: Scheme, most_hashes: u32) -> Needs {
        match (kind, scheme) {
            (Kind::Layered, scheme) => Needs::Keywords(scheme),
            // Murmur3 does not depend on the number of bits: it is made once for all filters.
            (_, Scheme::Murmur3) => Needs::Lanes(most_hashes),
            (_, Scheme::Polynomial { seed }) => Needs::Bytes(ByBytes::Polynomial { seed }),
            (_, Scheme::Foreign(foreign)) => Needs::Wide(foreign, most_hashes),
            (_, Scheme::Xxh3 { .. } | Scheme::SipHash { .. } | Scheme::SparkCounts(_)) => Needs::Hash,
        }
    }

    /// What filters with these parameters need.
    pub fn of(params: &Params) -> Needs {
        let hash = params.common.hash;
        let most = params.groups.iter().map(|group| most_hashes(group, hash)).max().unwrap_or(0);
        Needs::new(params.common.kind, hash, most)
    }

    /// What both need. They hash keys alike.
    pub fn and(self, other: Needs) -> Needs {
        match (self, other) {
            (Needs::Lanes(a), Needs::Lanes(b)) => Needs::Lanes(a.max(b)),
            (Needs::Wide(foreign, a), Needs::Wide(_, b)) => Needs::Wide(foreign, a.max(b)),
            (Needs::Hash, other) => other,
            (needs, _) => needs,
        }
    }
}

/// The most hashes that a key has in the filter of a group.
fn most_hashes(group: &GroupParams, hash: Scheme) -> u32 {
    match group.shape {
        Shape::Scalable { layers, .. } => {
            let layer = |number| Sizes::of(hash).layer(group.keys(), group.fpr(), number);
            (0..layers)
                .filter_map(|number| layer(number).ok())
                .map(|layer| layer.shape.hashes())
                .max()
                .unwrap_or(0)
        }
        shape => shape.hashes(),
    }
}

/// The first murmur3 hashes of a key.
pub fn lanes_of(key: &[u8], count: u32) -> impl Iterator<Item = u32> {
    (0..count).map(|seed| murmur3(key, seed))
}

/// The hashes of a record's keywords.
pub fn keyword_hashes(key: &[u8], scheme: Scheme) -> impl Iterator<Item = u64> {
    keywords_of(key).map(move |word| scheme.identity(word))
}

/// The columns that a batch keeps beside the hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keeps {
    /// The number of each key's group.
    pub groups: bool,
    /// What each key counts for.
    pub weights: bool,
    /// The bytes of each key.
    pub bytes: bool,
    /// What filters need of each key.
    pub needs: Needs,
}

/// In place of the group of a row that has no key.
pub const NO_GROUP: u32 = u32::MAX;

/// The keys of a batch of rows, in the order of the rows.
#[derive(Debug, Default)]
pub struct KeyBatch {
    keeps: Keeps,
    hashes: Vec<u64>,
    groups: Vec<u32>,
    weights: Vec<u64>,
    bytes: Lists<u8>,
    /// The murmur3 hashes of each key, and how many of them each has.
    lanes: Vec<u32>,
    lane_count: usize,
    /// The hashes of each record's keywords, or the lanes of each key.
    numbers: Lists<u64>,
    /// The rows without a key, in order.
    keyless: Vec<u32>,
    spans: Vec<Span>,
}

impl KeyBatch {
    /// An empty batch that keeps these columns.
    pub fn new(keeps: Keeps) -> KeyBatch {
        KeyBatch { keeps, ..KeyBatch::default() }
    }

    /// How many rows it has, with those that have no key.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Drops all rows, and keeps the memory.
    pub fn clear(&mut self) {
        self.hashes.clear();
        self.groups.clear();
        self.weights.clear();
        self.bytes.clear();
        self.lanes.clear();
        self.numbers.clear();
        self.keyless.clear();
        self.spans.clear();
    }

    /// Drops all rows, and keeps these columns of the next ones, in the same memory.
    pub fn restart(&mut self, keeps: Keeps) {
        self.clear();
        self.keeps = keeps;
    }

    /// The [identity](Scheme::identity) of each key.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// The number of each key's group; empty where groups are not kept.
    pub fn groups(&self) -> &[u32] {
        &self.groups
    }

    /// What each key counts for; empty where weights are not kept: 1 then.
    pub fn weights(&self) -> &[u64] {
        &self.weights
    }

    /// The hash that makes each position of the bytes of keys, where that is what filters need.
    pub fn by_bytes(&self) -> Option<ByBytes> {
        if let Needs::Bytes(hash) = self.keeps.needs { Some(hash) } else { None }
    }

    fn keeps_bytes(&self) -> bool {
        self.keeps.bytes || self.by_bytes().is_some()
    }

    /// The bytes of the key of a row; empty where they are not kept.
    pub fn key(&self, row: usize) -> &[u8] {
        self.bytes.of(row)
    }

    /// The bytes of all keys together.
    pub fn all_bytes(&self) -> usize {
        self.bytes.items.len()
    }

    /// The murmur3 hashes of a key.
    pub fn lanes(&self, row: usize) -> &[u32] {
        &self.lanes[row * self.lane_count..][..self.lane_count]
    }

    /// Whether keys have murmur3 hashes.
    pub fn has_lanes(&self) -> bool {
        !self.lanes.is_empty()
    }

    /// The hashes of a record's keywords.
    pub fn keywords(&self, row: usize) -> &[u64] {
        self.numbers.of(row)
    }

    /// The lanes of a key, by the hash of another system.
    pub fn wide_lanes(&self, row: usize) -> &[u64] {
        self.numbers.of(row)
    }

    /// Whether keys have lanes by the hash of another system.
    pub fn has_wide_lanes(&self) -> bool {
        matches!(self.keeps.needs, Needs::Wide(..))
    }

    /// The rows without a key, in order.
    pub fn keyless(&self) -> &[u32] {
        &self.keyless
    }

    /// Where rows stand in their chunk, of those of which that was [noted](Self::push_span).
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Notes where the latest row stands in its chunk.
    #[inline(always)]
    pub fn push_span(&mut self, span: Range<usize>) {
        self.spans.push(Span::of(span));
    }

    /// Adds a row without a key.
    pub fn push_keyless(&mut self) {
        self.keyless.push(self.hashes.len() as u32);
        self.hashes.push(0);
        if self.keeps.groups {
            self.groups.push(NO_GROUP);
        }
        if self.keeps.weights {
            self.weights.push(0);
        }
        if self.keeps_bytes() {
            self.bytes.push([]);
        }
        match self.keeps.needs {
            Needs::Hash | Needs::Bytes(_) => {}
            Needs::Lanes(count) => self.push_lanes(count, (0..count).map(|_| 0)),
            Needs::Keywords(_) => self.numbers.push([]),
            Needs::Wide(_, count) => self.numbers.push((0..count).map(|_| 0)),
        }
    }

    /// Adds a key of which the filters' needs are made already.
    pub fn push_made(
        &mut self,
        hash: u64,
        group: u32,
        lanes: &[u32],
        bytes: impl IntoIterator<Item = u8>,
        numbers: impl IntoIterator<Item = u64>,
    ) {
        self.hashes.push(hash);
        if self.keeps.groups {
            self.groups.push(group);
        }
        match self.keeps.needs {
            Needs::Hash => {}
            Needs::Lanes(count) => self.push_lanes(count, lanes.iter().copied()),
            Needs::Bytes(_) => self.bytes.push(bytes),
            Needs::Keywords(_) | Needs::Wide(..) => self.numbers.push(numbers),
        }
    }

    /// Adds the murmur3 hashes of the latest key, all of which have the same number.
    #[inline(always)]
    fn push_lanes(&mut self, count: u32, lanes: impl Iterator<Item = u32>) {
        self.lane_count = count as usize;
        self.lanes.extend(lanes);
    }

    /// Adds keys of which nothing but the hash and the group is kept.
    pub fn push_grouped(&mut self, keys: impl Iterator<Item = (u64, u32)> + Clone) {
        self.hashes.extend(keys.clone().map(|(hash, _)| hash));
        self.groups.extend(keys.map(|(_, group)| group));
    }

    /// Adds keys of which nothing but the hash is kept.
    pub fn push_hashes(&mut self, hashes: impl IntoIterator<Item = u64>) {
        self.hashes.extend(hashes);
    }

    /// Sets the hash of a row that had none so far.
    pub fn set_hash(&mut self, row: usize, hash: u64) {
        self.hashes[row] = hash;
    }

    /// Notes that a row, which is there, has no key. Rows are noted in order.
    pub fn mark_keyless(&mut self, row: usize) {
        self.keyless.push(row as u32);
    }

    /// Moves all rows into another batch, in place of its own, whose memory comes back. What each
    /// batch keeps of the next rows stays as it is.
    pub fn move_into(&mut self, other: &mut KeyBatch) {
        other.clear();
        std::mem::swap(self, other);
        std::mem::swap(&mut self.keeps, &mut other.keeps);
    }

    /// Appends some rows of another batch, with the columns that it has.
    pub fn extend(&mut self, other: &KeyBatch, rows: Range<usize>) {
        let (before, after) = (self.hashes.len() as u32, rows.start as u32);
        let keyless = other.keyless.iter().filter(|row| rows.contains(&(**row as usize)));
        self.keyless.extend(keyless.map(|row| row - after + before));
        self.hashes.extend_from_slice(&other.hashes[rows.clone()]);
        if !other.groups.is_empty() {
            self.groups.extend_from_slice(&other.groups[rows.clone()]);
        }
        if !other.weights.is_empty() {
            self.weights.extend_from_slice(&other.weights[rows.clone()]);
        }
        if !other.spans.is_empty() {
            self.spans.extend_from_slice(&other.spans[rows.clone()]);
        }
        self.bytes.extend(&other.bytes, rows.clone());
        if other.has_lanes() && !rows.is_empty() {
            self.lane_count = other.lane_count;
            let lanes = rows.start * other.lane_count..rows.end * other.lane_count;
            self.lanes.extend_from_slice(&other.lanes[lanes]);
        }
        self.numbers.extend(&other.numbers, rows);
    }
}

impl Take for KeyBatch {
    #[inline(always)]
    fn take(&mut self, key: Key<'_>) {
        self.hashes.push(key.hash);
        if self.keeps.groups {
            self.groups.push(key.group);
        }
        if self.keeps.weights {
            self.weights.push(key.weight);
        }
        if self.keeps_bytes() {
            self.bytes.push_slice(key.bytes);
        }
        match self.keeps.needs {
            Needs::Hash | Needs::Bytes(_) => {}
            Needs::Lanes(count) => self.push_lanes(count, lanes_of(key.bytes, count)),
            Needs::Keywords(scheme) => self.numbers.push(keyword_hashes(key.bytes, scheme)),
            Needs::Wide(foreign, count) => {
                self.numbers.push_with(count as usize, |lanes| foreign.lanes(key.bytes).fill(lanes));
            }
        }
    }

    /// Its keys are those of rows, one of each.
    fn takes_several(&self) -> bool {
        false
    }

    fn reads_bytes(&self) -> bool {
        self.keeps.bytes || self.keeps.needs != Needs::Hash
    }
}

/// Where a row stands in its chunk, which is shorter than 4 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Where it begins.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
}

impl Span {
    /// Of a range.
    #[inline(always)]
    pub fn of(range: Range<usize>) -> Span {
        Span { start: range.start as u32, end: range.end as u32 }
    }

    /// As a range.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A list for each row, one after the other, and where each ends; empty where no row has one.
#[derive(Debug)]
struct Lists<T> {
    items: Vec<T>,
    ends: Vec<usize>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Lists { items: Vec::new(), ends: Vec::new() }
    }
}

impl<T: Copy> Lists<T> {
    fn clear(&mut self) {
        self.items.clear();
        self.ends.clear();
    }

    #[inline]
    fn push(&mut self, list: impl IntoIterator<Item = T>) {
        self.items.extend(list);
        self.ends.push(self.items.len());
    }

    /// A list of this many items, which are filled in.
    #[inline(always)]
    fn push_with(&mut self, count: usize, fill: impl FnOnce(&mut [T]))
    where
        T: Default,
    {
        let start = self.items.len();
        self.items.resize(start + count, T::default());
        fill(&mut self.items[start..]);
        self.ends.push(self.items.len());
    }

    #[inline(always)]
    fn push_slice(&mut self, list: &[T]) {
        self.items.extend_from_slice(list);
        self.ends.push(self.items.len());
    }

    fn start(&self, row: usize) -> usize {
        if row == 0 { 0 } else { self.ends[row - 1] }
    }

    #[inline]
    fn of(&self, row: usize) -> &[T] {
        if self.ends.is_empty() { &[] } else { &self.items[self.start(row)..self.ends[row]] }
    }

    fn extend(&mut self, other: &Lists<T>, rows: Range<usize>) {
        if other.ends.is_empty() || rows.is_empty() {
            return;
        }
        let (from, shift) = (other.start(rows.start), self.items.len());
        self.items.extend_from_slice(&other.items[from..other.ends[rows.end - 1]]);
        self.ends.extend(other.ends[rows].iter().map(|end| end - from + shift));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(keeps: Keeps) -> KeyBatch {
        let mut batch = KeyBatch::new(keeps);
        for (i, bytes) in [&b"a"[..], b"bb", b"ccc"].into_iter().enumerate() {
            let (hash, group) = (i as u64 + 1, i as u32 + 7);
            batch.take(Key { group, hash, bytes, weight: 10 * hash });
            batch.push_span(10 * i..10 * i + 5);
        }
        batch
    }

    const ALL: Keeps = Keeps { groups: true, weights: true, bytes: true, needs: Needs::Lanes(2) };

    #[test]
    fn rows_are_appended_with_all_their_columns() {
        let mut all = batch(ALL);
        all.push_keyless();
        all.push_span(30..31);
        let mut some = KeyBatch::default();
        some.extend(&all, 1..3);
        some.extend(&all, 0..0);
        some.extend(&all, 3..4);
        some.extend(&all, 0..2);
        assert_eq!(some.hashes(), [2, 3, 0, 1, 2]);
        assert_eq!(some.groups(), [8, 9, NO_GROUP, 7, 8]);
        assert_eq!(some.weights(), [20, 30, 0, 10, 20]);
        assert_eq!(some.keyless(), [2]);
        let keys: Vec<&[u8]> = (0..5).map(|row| some.key(row)).collect();
        assert_eq!(keys, [&b"bb"[..], b"ccc", b"", b"a", b"bb"]);
        assert_eq!(some.lanes(1), [murmur3(b"ccc", 0), murmur3(b"ccc", 1)]);
        assert_eq!(some.lanes(3), [murmur3(b"a", 0), murmur3(b"a", 1)]);
        assert_eq!(some.spans()[4].range(), 10..15);
    }

    #[test]
    fn moving_rows_leaves_each_batch_its_columns() {
        let (mut from, mut into) = (batch(ALL), KeyBatch::default());
        into.push_hashes([9]);
        from.move_into(&mut into);
        assert_eq!((into.hashes(), into.key(1)), (&[1, 2, 3][..], &b"bb"[..]));
        assert!(from.is_empty() && from.spans().is_empty());
        from.take(Key { group: 4, hash: 5, bytes: b"d", weight: 1 });
        assert_eq!((from.groups(), from.key(0)), (&[4][..], &b"d"[..]), "it still keeps all");
    }

    #[test]
    fn what_is_not_kept_takes_no_memory() {
        let batch = batch(Keeps::default());
        assert_eq!(batch.hashes(), [1, 2, 3]);
        assert!(batch.groups().is_empty() && batch.weights().is_empty());
        assert_eq!((batch.key(2), batch.lanes(2), batch.all_bytes()), (&[][..], &[][..], 0));
        assert!(!batch.reads_bytes());
    }
}
