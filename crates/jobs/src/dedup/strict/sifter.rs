//! What threads do with records, side by side.
//!
//! Where most records repeat others, most of the work is to find their keys among those that are known. Whatever is known
//! while a chunk is read comes from chunks before it, since keys are added chunk by chunk, in order: so a thread can look for
//! the keys of its chunk before its turn comes, and only those that it does not find are left for that turn.

use std::mem;
use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use tamis::hash::{Scheme, Single};
use tamis::key::{Recipe, is_present};
use tamis_make::batch::{Keeps, KeyBatch, Span};
use tamis_make::rows::{Groups, Key, KeyRows, OnBad, Take, hash_line};
use tamis_read::{BadRecord, BadRow, Fault, Lines, RowResult, Sift, Sink};

use super::known::{AHEAD, Known};
use crate::dedup::gather;

/// The records of a chunk, with its text. Every record has a key.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) data: Vec<u8>,
    /// Where each record stands in it.
    pub(super) spans: Vec<Span>,
    /// The records whose keys were not found, in order, and these keys.
    pub(super) unknown: Vec<u32>,
    pub(super) keys: KeyBatch,
    /// Records that were set aside.
    pub(super) aside: Vec<u8>,
}

impl Batch {
    /// How many records there are.
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Copies these records, which are in order.
    pub(super) fn gather(&self, records: impl Iterator<Item = usize>, text: &mut Vec<u8>) {
        gather(&self.data, records.map(|record| self.spans[record].range()), text);
    }
}

/// What one thread does.
pub(super) struct Sifter<'a> {
    rows: KeyRows<'a, KeyBatch>,
    looking: Looking<'a>,
    spans: Vec<Span>,
    unknown: Vec<u32>,
    keys: KeyBatch,
    aside: Vec<u8>,
}

impl<'a> Sifter<'a> {
    /// Keeps no keys, but the places of records.
    pub(super) fn new(recipe: &'a Recipe, hash: Scheme, on_bad: OnBad) -> Self {
        let keeps = Keeps { bytes: true, ..Keeps::default() };
        Sifter {
            // Keys that wait until they are looked for, some at a time.
            rows: KeyRows::new(recipe, hash, on_bad, Groups::One(0), KeyBatch::new(keeps)),
            looking: Looking::default(),
            spans: Vec::new(),
            unknown: Vec::new(),
            keys: KeyBatch::new(keeps),
            aside: Vec::new(),
        }
    }

    /// The same, but keeps keys that are not among these.
    pub(super) fn among(self, known: &'a RwLock<Known>) -> Self {
        Sifter { looking: Looking { among: Some(known), ..self.looking }, ..self }
    }

    /// Records without a key.
    pub(super) fn skipped(&self) -> u64 {
        self.rows.skipped
    }

    /// Looks for the keys that wait, which are those of the latest records.
    fn look_for_waiting(&mut self) {
        let waiting = &self.rows.take;
        if waiting.is_empty() {
            return;
        }
        let first = self.spans.len() - waiting.len();
        let known = self.looking.known();
        let unknown = Unknown { first, rows: &mut self.unknown, keys: &mut self.keys };
        self.looking.look(known.as_deref(), waiting.hashes(), |row| waiting.key(row), unknown);
        self.rows.take.clear();
    }

    /// Takes lines that are keys as they stand, up to the first that is not, which is given back. They are not copied
    /// to be looked for.
    fn present<'t>(&mut self, hash: Single, lines: &mut Lines<'t, '_>) -> Option<(&'t [u8], Range<usize>)> {
        self.look_for_waiting();
        let known = self.looking.known();
        let (mut hashes, mut keys) = ([0; AHEAD], [&[][..]; AHEAD]);
        loop {
            let (mut count, mut other) = (0, None);
            while count < AHEAD {
                match lines.next() {
                    Some((line, place)) if is_present(line) => {
                        (hashes[count], keys[count]) = (hash_line(hash, line), line);
                        self.spans.push(Span::of(place));
                        count += 1;
                    }
                    next => {
                        other = Some(next);
                        break;
                    }
                }
            }
            let unknown =
                Unknown { first: self.spans.len() - count, rows: &mut self.unknown, keys: &mut self.keys };
            self.looking.look(known.as_deref(), &hashes[..count], |row| keys[row], unknown);
            if let Some(other) = other {
                return other;
            }
        }
    }
}

impl Sink for Sifter<'_> {
    fn row(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        let skipped = self.rows.skipped;
        self.rows.row(place.clone(), values)?;
        if self.rows.skipped == skipped {
            self.spans.push(Span::of(place));
            if self.rows.take.len() == AHEAD {
                self.look_for_waiting();
            }
        }
        Ok(())
    }

    fn lines(&mut self, mut lines: Lines<'_, '_>) -> Result<(), Fault> {
        let row = |sifter: &mut Self, line, place: Range<usize>| {
            let at = place.start;
            sifter.row(place, &[Some(line)]).map_err(|why| Fault { at, why })
        };
        let Some(hash) = self.rows.plain() else {
            return lines.try_for_each(|(line, place)| row(self, line, place));
        };
        while let Some((line, place)) = self.present(hash, &mut lines) {
            row(self, line, place)?;
        }
        Ok(())
    }

    fn bad_row(&mut self, place: Range<usize>, why: BadRow) -> RowResult {
        self.rows.bad_row(place, why)
    }

    fn sets_aside(&self) -> bool {
        self.rows.sets_aside()
    }

    fn set_aside(&mut self, record: BadRecord<'_>) {
        self.aside.extend_from_slice(record.text);
    }
}

impl Sift for Sifter<'_> {
    type Batch = Batch;

    fn batch(&mut self, data: &[u8], batch: &mut Batch) {
        self.look_for_waiting();
        batch.data.clear();
        batch.data.extend_from_slice(data);
        self.keys.move_into(&mut batch.keys);
        batch.unknown.clear();
        mem::swap(&mut self.unknown, &mut batch.unknown);
        batch.spans.clear();
        mem::swap(&mut self.spans, &mut batch.spans);
        batch.aside.clear();
        mem::swap(&mut self.aside, &mut batch.aside);
    }
}

/// Where records go whose keys are not known: the first of those that are looked for has this number.
struct Unknown<'s> {
    first: usize,
    rows: &'s mut Vec<u32>,
    keys: &'s mut KeyBatch,
}

impl Unknown<'_> {
    fn push(&mut self, row: usize, hash: u64, bytes: &[u8]) {
        self.rows.push((self.first + row) as u32);
        self.keys.take(Key { group: 0, hash, bytes, weight: 1 });
    }
}

/// How keys are looked for: not for a while, where few of them are found.
#[derive(Default)]
struct Looking<'a> {
    /// Those that are known; none where nobody wants to know.
    among: Option<&'a RwLock<Known>>,
    /// How many keys are still not looked for.
    pause: usize,
    looked: usize,
    found: usize,
}

/// After this many keys it is seen how many of them were found.
const TRIAL: usize = 1 << 12;

/// Where fewer than one in this many were, keys are not looked for.
const FEW: usize = 8;

/// Until this many have come.
const PAUSE: usize = 1 << 16;

impl<'a> Looking<'a> {
    /// The keys among which others are looked for now. While somebody has them, none are added.
    fn known(&self) -> Option<RwLockReadGuard<'a, Known>> {
        let among = self.among.filter(|_| self.pause == 0)?;
        Some(among.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks for keys, and keeps those that are not found.
    fn look<'k>(
        &mut self,
        known: Option<&Known>,
        hashes: &[u64],
        key: impl Fn(usize) -> &'k [u8],
        mut unknown: Unknown<'_>,
    ) {
        if self.among.is_none() {
            return;
        }
        let Some(known) = known else {
            self.pause = self.pause.saturating_sub(hashes.len());
            return hashes.iter().enumerate().for_each(|(row, &hash)| unknown.push(row, hash, key(row)));
        };
        let before = unknown.rows.len();
        known.have_all(hashes, &key, |row, found| {
            if !found {
                unknown.push(row, hashes[row], key(row));
            }
        });
        self.looked += hashes.len();
        self.found += hashes.len() - (unknown.rows.len() - before);
        if self.looked >= TRIAL {
            self.pause = if self.found < self.looked / FEW { PAUSE } else { 0 };
            (self.looked, self.found) = (0, 0);
        }
    }
}
