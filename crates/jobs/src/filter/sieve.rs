//! What one thread does with a chunk: keys of all records, then lookups in batches, then copies.

use std::ops::Range;

use tamis::hash::{Scheme, murmur3};
use tamis::key::keywords_of;
use tamis::sketch::Sketch;
use tamis_read::{BadRow, RowResult, Sift, Sink};

use super::tag::Tag;
use super::tape::Suspects;
use crate::exact::ANY_GROUP;
use crate::rows::{Key, KeyRows, Take};

/// Which filters a key is asked of.
#[derive(Debug, Clone)]
pub(super) enum Asked {
    /// These: one that says yes is enough.
    Any(Vec<usize>),
    /// That of the record's own group.
    Own,
}

/// What all threads share.
pub(super) struct Sieving<'a> {
    /// The filters of all groups.
    pub(super) sketches: &'a [Sketch<&'a [u64]>],
    /// The filters of what was removed from each group; empty where nothing was.
    pub(super) removed: &'a [Option<Sketch<&'a [u64]>>],
    pub(super) asked: Asked,
    /// The groups in the order in which they are shown.
    pub(super) order: Vec<usize>,
    pub(super) tag: Option<Tag<'a>>,
    pub(super) invert: bool,
    /// Whether records that pass, and those that do not, are wanted.
    pub(super) wanted: [bool; 2],
    /// How many murmur3 hashes a key needs; 0 with another scheme.
    pub(super) lanes: u32,
    /// Whether what passes is looked at again.
    pub(super) strict: bool,
}

/// Keys of the records of a chunk.
#[derive(Debug, Default)]
pub(super) struct Keys {
    hashes: Vec<u64>,
    /// Their own groups, where these are asked.
    groups: Option<Vec<u32>>,
    lanes: Vec<u32>,
    lane_count: u32,
    /// Their bytes one after the other, and where each ends; where they are looked at again.
    bytes: Option<(Vec<u8>, Vec<u32>)>,
    /// The hashes of their keywords, where they are records in layers.
    keywords: Option<Keywords>,
}

/// Keywords of records.
#[derive(Debug)]
struct Keywords {
    scheme: Scheme,
    hashes: Vec<u64>,
    /// Where those of each record end.
    ends: Vec<usize>,
}

impl Keywords {
    fn of(&self, record: usize) -> &[u64] {
        let start = if record == 0 { 0 } else { self.ends[record - 1] };
        &self.hashes[start..self.ends[record]]
    }
}

impl Keys {
    pub(super) fn new(lane_count: u32, own: bool, strict: bool) -> Self {
        let bytes = strict.then(Default::default);
        Keys { lane_count, groups: own.then(Vec::new), bytes, ..Keys::default() }
    }

    /// The same for records in layers.
    pub(super) fn of_keywords(scheme: Scheme, own: bool) -> Self {
        let keywords = Some(Keywords { scheme, hashes: Vec::new(), ends: Vec::new() });
        Keys { keywords, ..Keys::new(0, own, false) }
    }

    fn clear(&mut self) {
        self.hashes.clear();
        self.lanes.clear();
        if let Some(keywords) = &mut self.keywords {
            keywords.hashes.clear();
            keywords.ends.clear();
        }
        self.groups.iter_mut().for_each(Vec::clear);
        if let Some((bytes, ends)) = &mut self.bytes {
            bytes.clear();
            ends.clear();
        }
    }

    /// In the place of a key that there is not.
    fn skip(&mut self, nowhere: u32) {
        self.hashes.push(0);
        self.lanes.resize(self.lanes.len() + self.lane_count as usize, 0);
        if let Some(keywords) = &mut self.keywords {
            keywords.ends.push(keywords.hashes.len());
        }
        self.groups.iter_mut().for_each(|groups| groups.push(nowhere));
        if let Some((bytes, ends)) = &mut self.bytes {
            ends.push(bytes.len() as u32);
        }
    }

    /// The bytes of a key.
    fn key(&self, record: usize) -> &[u8] {
        let Some((bytes, ends)) = &self.bytes else { return &[] };
        let start = if record == 0 { 0 } else { ends[record - 1] as usize };
        &bytes[start..ends[record] as usize]
    }
}

impl Take for Keys {
    #[inline(always)]
    fn take(&mut self, key: Key<'_>) {
        self.hashes.push(key.hash);
        if self.lane_count > 0 {
            self.lanes.extend((0..self.lane_count).map(|seed| murmur3(key.bytes, seed)));
        }
        if let Some(Keywords { scheme, hashes, ends }) = &mut self.keywords {
            hashes.extend(keywords_of(key.bytes).map(|word| scheme.identity(word)));
            ends.push(hashes.len());
        }
        if let Some(groups) = &mut self.groups {
            groups.push(key.group);
        }
        if let Some((bytes, ends)) = &mut self.bytes {
            bytes.extend_from_slice(key.bytes);
            ends.push(bytes.len() as u32);
        }
    }
}

/// A record's place in a chunk, which is shorter than 4 GiB.
#[derive(Debug, Clone, Copy)]
struct Place {
    start: u32,
    end: u32,
}

impl Place {
    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The records of a chunk that pass, and those that do not.
#[derive(Debug, Default)]
pub struct Sieved {
    texts: [Text; 2],
    /// In place of the texts, where what passes is looked at again.
    pub(super) suspects: Suspects,
}

impl Sieved {
    /// Those that pass.
    pub(super) fn passed(&self) -> &[u8] {
        self.texts[0].get()
    }

    /// Those that do not.
    pub(super) fn rejected(&self) -> &[u8] {
        self.texts[1].get()
    }
}

/// What was counted.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    /// Records.
    pub(super) records: u64,
    /// Records whose key may be in the set.
    pub(super) admitted: u64,
    /// Records without a key.
    pub(super) keyless: u64,
    /// Records whose key is not in the set of their own group, by group, where that is asked.
    pub(super) rejected: Vec<u64>,
}

/// The sieve of one thread.
pub(super) struct Sieve<'a> {
    sieving: &'a Sieving<'a>,
    rows: KeyRows<'a, Keys>,
    places: Vec<Place>,
    keyless: Vec<u32>,
    /// Whether the key of each record may be in the set.
    found: Vec<bool>,
    answers: Vec<bool>,
    /// Whether the key of each may have been removed.
    gone: Vec<bool>,
    hashes: Vec<u64>,
    /// Records and the groups they may be in, by record.
    marks: Vec<(u32, u32)>,
    pub(super) counts: Counts,
}

impl<'a> Sieve<'a> {
    pub(super) fn new(sieving: &'a Sieving<'a>, rows: KeyRows<'a, Keys>) -> Self {
        Sieve {
            sieving,
            rows,
            places: Vec::new(),
            keyless: Vec::new(),
            found: Vec::new(),
            answers: Vec::new(),
            gone: Vec::new(),
            hashes: Vec::new(),
            marks: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Asks the filter of a group for some of the records, or for all; and where something was removed
    /// from it, the filter of that.
    fn look_up(&mut self, group: usize, who: Option<&[u32]>) {
        let sieving = self.sieving;
        let mut answers = std::mem::take(&mut self.answers);
        self.ask(&sieving.sketches[group], who, &mut answers);
        if let Some(Some(removed)) = sieving.removed.get(group) {
            let mut gone = std::mem::take(&mut self.gone);
            self.ask(removed, who, &mut gone);
            answers.iter_mut().zip(&gone).for_each(|(answer, gone)| *answer &= !gone);
            self.gone = gone;
        }
        self.answers = answers;
    }

    /// Asks a filter for some of the records, or for all.
    fn ask(&mut self, sketch: &Sketch<&[u64]>, who: Option<&[u32]>, answers: &mut Vec<bool>) {
        let keys = &self.rows.take;
        let count = who.map_or(keys.hashes.len(), <[u32]>::len);
        answers.resize(count, false);
        match (sketch, who) {
            (Sketch::Bloom(filter), _) if self.sieving.lanes > 0 => {
                let width = self.sieving.lanes as usize;
                for (i, answer) in answers.iter_mut().enumerate() {
                    let at = who.map_or(i, |who| who[i] as usize) * width;
                    *answer = filter.contains_lanes(&keys.lanes[at..at + width]);
                }
            }
            (Sketch::Layered(filter), _) => {
                for (i, answer) in answers.iter_mut().enumerate() {
                    let record = who.map_or(i, |who| who[i] as usize);
                    let keywords = keys.keywords.as_ref().map_or(&[][..], |keywords| keywords.of(record));
                    *answer = filter.contains_keywords(keywords);
                }
            }
            (sketch, None) => sketch.contains_hashes(&keys.hashes, answers),
            (sketch, Some(who)) => {
                self.hashes.clear();
                self.hashes.extend(who.iter().map(|&record| keys.hashes[record as usize]));
                sketch.contains_hashes(&self.hashes, answers);
            }
        }
    }

    /// Finds out which records are admitted.
    fn judge(&mut self) {
        let records = self.places.len();
        self.found.clear();
        let sieving = self.sieving;
        if sieving.tag.is_some() {
            self.mark();
            self.found.resize(records, false);
            let own = self.rows.take.groups.as_deref();
            for &(record, group) in &self.marks {
                self.found[record as usize] |= match &sieving.asked {
                    Asked::Any(groups) => groups.binary_search(&(group as usize)).is_ok(),
                    Asked::Own => own.is_some_and(|own| own[record as usize] == group),
                };
            }
            for (&group, _) in own.iter().copied().flatten().zip(&self.found).filter(|(_, found)| !**found) {
                count_rejected(&mut self.counts.rejected, group, sieving.sketches.len());
            }
        } else {
            match &sieving.asked {
                Asked::Any(groups) => self.judge_any(groups),
                Asked::Own => self.judge_own(),
            }
        }
        for &record in &self.keyless {
            self.found[record as usize] = false;
        }
    }

    /// Lists the groups that each record may be in.
    fn mark(&mut self) {
        self.marks.clear();
        let sieving = self.sieving;
        for &group in &sieving.order {
            self.look_up(group, None);
            let hits = self.answers.iter().enumerate().filter(|(_, hit)| **hit);
            self.marks.extend(hits.map(|(record, _)| (record as u32, group as u32)));
        }
        // Stable: groups stay in their order.
        self.marks.sort_by_key(|(record, _)| *record);
        if !self.keyless.is_empty() {
            self.marks.retain(|(record, _)| self.keyless.binary_search(record).is_err());
        }
    }

    fn judge_any(&mut self, groups: &[usize]) {
        let [first, rest @ ..] = groups else {
            return self.found.resize(self.places.len(), false);
        };
        self.look_up(*first, None);
        std::mem::swap(&mut self.found, &mut self.answers);
        // Whoever was found need not be sought in other groups.
        let mut left: Vec<u32> = Vec::new();
        for (i, &group) in rest.iter().enumerate() {
            if i == 0 {
                left.extend((0..self.found.len() as u32).filter(|&record| !self.found[record as usize]));
            }
            self.look_up(group, Some(&left));
            let mut answers = self.answers.iter();
            left.retain(|&record| {
                let hit = answers.next().is_some_and(|hit| *hit);
                self.found[record as usize] = hit;
                !hit
            });
        }
    }

    fn judge_own(&mut self) {
        self.found.resize(self.places.len(), false);
        let groups = self.rows.take.groups.take().unwrap_or_default();
        let mut order: Vec<u32> = (0..groups.len() as u32).collect();
        order.sort_unstable_by_key(|&record| groups[record as usize]);
        let known = self.sieving.sketches.len();
        for who in order.chunk_by(|&a, &b| groups[a as usize] == groups[b as usize]) {
            let group = groups[who[0] as usize] as usize;
            if group >= known {
                continue; // the file has no such group
            }
            self.look_up(group, Some(who));
            for (&record, &hit) in who.iter().zip(&self.answers) {
                self.found[record as usize] = hit;
            }
            for _ in self.answers.iter().filter(|hit| !**hit) {
                count_rejected(&mut self.counts.rejected, group as u32, known);
            }
        }
        self.rows.take.groups = Some(groups);
    }

    /// Lists the records that are not settled by the filters, and those that are and may be
    /// written, with what is to be asked about each.
    fn suspect(&self, data: &[u8], suspects: &mut Suspects) {
        suspects.clear();
        let sieving = self.sieving;
        let keys = &self.rows.take;
        let wanted_at_all = sieving.wanted.contains(&true);
        let wanted_settled = sieving.wanted[usize::from(!sieving.invert)];
        let mut marks = &self.marks[..];
        for (i, place) in self.places.iter().enumerate() {
            let asked = match &sieving.asked {
                Asked::Own => keys.groups.as_ref().map_or(ANY_GROUP, |groups| groups[i]),
                Asked::Any(groups) => match groups[..] {
                    [group] => group as u32,
                    _ => ANY_GROUP,
                },
            };
            let before = suspects.groups.len();
            if sieving.tag.is_some() {
                let of = marks.partition_point(|(record, _)| *record as usize <= i);
                let (own, rest) = marks.split_at(of);
                marks = rest;
                suspects.groups.extend(own.iter().map(|(_, group)| *group));
            } else if self.found[i] {
                suspects.groups.push(asked);
            }
            let questions = (suspects.groups.len() - before) as u32;
            if questions > 0 {
                suspects.hashes.push(keys.hashes[i]);
                suspects.keys.extend_from_slice(keys.key(i));
                suspects.ends.push(suspects.keys.len() as u32);
            } else if !wanted_settled {
                continue;
            }
            let record = if wanted_at_all { &data[place.range()] } else { &[] };
            suspects.raw.extend_from_slice(record);
            suspects.items.push([record.len() as u32, questions, asked]);
        }
    }

    /// Writes the records that pass, or those that do not.
    fn write(&self, data: &[u8], admitted: bool, text: &mut Text) {
        match &self.sieving.tag {
            None => gather(data, &self.places, &self.found, admitted, text),
            Some(tag) => {
                let out = text.appending();
                let mut marks = &self.marks[..];
                for (i, place) in self.places.iter().enumerate() {
                    let of = marks.partition_point(|(record, _)| *record as usize <= i).min(marks.len());
                    let (own, rest) = marks.split_at(of);
                    marks = rest;
                    if self.found[i] == admitted {
                        tag.record(data, place.range(), own.iter().map(|(_, group)| *group), out);
                    }
                }
                text.len = text.bytes.len();
            }
        }
    }
}

/// Counts a record that its own group rejected; groups that the file lacks do not count.
fn count_rejected(counts: &mut Vec<u64>, group: u32, known: usize) {
    counts.resize(known, 0);
    if let Some(count) = counts.get_mut(group as usize) {
        *count += 1;
    }
}

impl Sieve<'_> {
    /// Notes that the next record has no key.
    fn pass_over(&mut self) {
        self.keyless.push(self.places.len() as u32);
        self.rows.take.skip(u32::MAX);
    }
}

impl Sink for Sieve<'_> {
    #[inline(always)]
    fn row(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        let skipped = self.rows.skipped;
        self.rows.row(place.clone(), values)?;
        if self.rows.skipped > skipped {
            self.pass_over();
        }
        self.places.push(Place { start: place.start as u32, end: place.end as u32 });
        Ok(())
    }

    fn bad_row(&mut self, place: Range<usize>, why: BadRow) -> RowResult {
        self.rows.bad_row(place.clone(), why)?;
        self.pass_over();
        self.places.push(Place { start: place.start as u32, end: place.end as u32 });
        Ok(())
    }
}

impl Sift for Sieve<'_> {
    type Batch = Sieved;

    fn batch(&mut self, data: &[u8], sieved: &mut Sieved) {
        self.judge();
        let admitted = self.found.iter().filter(|found| **found).count() as u64;
        self.counts.records += self.places.len() as u64;
        self.counts.admitted += admitted;
        self.counts.keyless += self.keyless.len() as u64;
        if self.sieving.strict {
            self.suspect(data, &mut sieved.suspects);
        } else {
            self.copy(data, sieved);
        }
        self.places.clear();
        self.keyless.clear();
        self.rows.take.clear();
    }
}

impl Sieve<'_> {
    /// Writes all records that are wanted.
    fn copy(&self, data: &[u8], sieved: &mut Sieved) {
        for ((text, wanted), passing) in sieved.texts.iter_mut().zip(self.sieving.wanted).zip([true, false]) {
            text.len = 0;
            if wanted {
                self.write(data, passing != self.sieving.invert, text);
            }
        }
    }
}

/// Text in a buffer that stays as long as it ever was: what is written over need not be zeroed.
#[derive(Debug, Default)]
struct Text {
    bytes: Vec<u8>,
    len: usize,
}

impl Text {
    fn get(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The buffer, to be appended to.
    fn appending(&mut self) -> &mut Vec<u8> {
        self.bytes.truncate(self.len);
        &mut self.bytes
    }

    /// Room for so many bytes after those that are there.
    fn room(&mut self, more: usize) -> &mut [u8] {
        let end = self.len + more;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        &mut self.bytes[self.len..end]
    }
}

/// A record of up to so many bytes is copied whether it is wanted or not.
const SHORT: usize = 32;

/// Copies the records for which `found` is this.
///
/// Whether a record is wanted cannot be foreseen, and a branch that goes either way costs more
/// than a short copy: so short records are all copied, each over the last one that was not
/// wanted.
fn gather(data: &[u8], places: &[Place], found: &[bool], this: bool, text: &mut Text) {
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return };
    let all = first.start as usize..last.end as usize;
    let out = text.room(all.len() + SHORT);
    let contiguous = places.windows(2).all(|pair| pair[0].end == pair[1].start);
    let len = if contiguous && found.iter().all(|found| *found == this) {
        out[..all.len()].copy_from_slice(&data[all.clone()]);
        all.len()
    } else {
        let mut at = 0;
        for (place, &found) in places.iter().zip(found) {
            let (start, len) = (place.start as usize, (place.end - place.start) as usize);
            if len <= SHORT && start + SHORT <= data.len() {
                out[at..at + SHORT].copy_from_slice(&data[start..start + SHORT]);
            } else if found == this {
                out[at..at + len].copy_from_slice(&data[start..start + len]);
            }
            at += if found == this { len } else { 0 };
        }
        at
    };
    text.len += len;
}
