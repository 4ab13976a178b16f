//! What one thread does with a chunk: keys of all records, then lookups in batches, then copies.

use std::mem;
use std::ops::Range;

use tamis::key::{Recipe, is_present};
use tamis::params::Common;
use tamis_read::error::Result;
use tamis_read::parquet::Chunk;
use tamis_read::{BadRecord, BadRow, RowResult, Sift, Sink};

use super::Refusal;
use super::copy::{Text, gather};
use super::several::Other;
use super::skip::{Known, Skipped, Skipping};
use super::tag::Tag;
use super::tape::Suspects;
use crate::ask::{Answers, Filters};
use tamis_make::batch::{Keeps, KeyBatch};
use tamis_make::exact::ANY_GROUP;
use tamis_make::rows::{Groups, KeyRows, OnBad};

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
    pub(super) filters: Filters<'a>,
    /// Those of other files that are asked besides.
    pub(super) others: Vec<Other<'a>>,
    pub(super) asked: Asked,
    /// The groups in the order in which they are shown.
    pub(super) order: Vec<usize>,
    pub(super) tag: Option<Tag<'a>>,
    pub(super) invert: bool,
    /// Whether records that pass, and those that do not, are wanted.
    pub(super) wanted: [bool; 2],
    /// Whether what passes is looked at again.
    pub(super) strict: bool,
    /// What is known of row groups that need not be read.
    pub(super) skipping: Option<Skipping>,
}

impl Sieving<'_> {
    /// Whether records that are not admitted are written somewhere.
    fn wants_others(&self) -> bool {
        self.wanted[usize::from(!self.invert)]
    }

    /// What is kept of the keys of records.
    pub(super) fn keeps(&self) -> Keeps {
        Keeps {
            groups: matches!(self.asked, Asked::Own),
            weights: false,
            bytes: self.strict,
            needs: self.filters.needs(),
        }
    }
}

/// The records of a chunk that pass, and those that do not.
#[derive(Debug, Default)]
pub struct Sieved {
    texts: [Text; 2],
    /// In place of the texts, where what passes is looked at again.
    pub(super) suspects: Suspects,
    /// Records that were set aside.
    pub(super) aside: Vec<u8>,
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
    /// Row groups that were not read, whose records count as well.
    pub(super) skipped: Skipped,
    /// Records of those that the keys themselves tell of, and not the filters.
    pub(super) refuted: u64,
    /// Records whose key may be in each of several files.
    pub(super) by_file: Vec<u64>,
}

/// The sieve of one thread.
pub(super) struct Sieve<'a> {
    sieving: &'a Sieving<'a>,
    rows: KeyRows<'a, KeyBatch>,
    /// How many values of a row are those of the first file.
    width: usize,
    /// The keys that others are asked for, and how many values each takes.
    others: Vec<(usize, KeyRows<'a, KeyBatch>)>,
    answers: Answers,
    /// Whether the key of each record may be in the set.
    found: Vec<bool>,
    /// Records and the groups they may be in, by record.
    marks: Vec<(u32, u32)>,
    pub(super) counts: Counts,
    aside: Vec<u8>,
}

impl<'a> Sieve<'a> {
    pub(super) fn new(
        sieving: &'a Sieving<'a>,
        recipe: &'a Recipe,
        common: &Common,
        groups: Groups<'a>,
        on_bad: OnBad,
    ) -> Self {
        let keys = KeyBatch::new(sieving.keeps());
        Sieve {
            sieving,
            rows: KeyRows::new(recipe, common.hash, on_bad, groups, keys),
            width: recipe.columns().len(),
            others: sieving.others.iter().map(|other| (other.columns().len(), other.rows(on_bad))).collect(),
            answers: Answers::default(),
            found: Vec::new(),
            marks: Vec::new(),
            counts: Counts::default(),
            aside: Vec::new(),
        }
    }

    /// Finds out which records are admitted.
    fn judge(&mut self) {
        if !self.others.is_empty() {
            return self.judge_by_files();
        }
        let Sieve { sieving, rows, answers, found, marks, counts, .. } = self;
        let (filters, keys) = (&sieving.filters, &rows.take);
        if sieving.tag.is_some() {
            answers.groups(filters, keys, sieving.order.iter().copied(), marks);
            found.clear();
            found.resize(keys.len(), false);
            for &(record, group) in &*marks {
                found[record as usize] |= match &sieving.asked {
                    Asked::Any(groups) => groups.binary_search(&(group as usize)).is_ok(),
                    Asked::Own => keys.groups()[record as usize] == group,
                };
            }
        } else {
            match &sieving.asked {
                Asked::Any(groups) => answers.any(filters, keys, groups.iter().copied(), found),
                Asked::Own => answers.own(filters, keys, found),
            }
        }
        // Groups that the file lacks do not count.
        if !keys.groups().is_empty() {
            counts.rejected.resize(filters.len(), 0);
        }
        for (&group, _) in keys.groups().iter().zip(&*found).filter(|(_, found)| !**found) {
            counts.rejected.get_mut(group as usize).into_iter().for_each(|count| *count += 1);
        }
    }

    /// Whether no value of a dictionary may be in the set; false where there is none, or a value is no key.
    fn none_in_dictionary(&mut self, column: &Chunk<'_>, known: Option<&Known>) -> Result<bool> {
        if let Some(known) = known {
            // A value that is no key has to be told.
            let mut any = false;
            return Ok(column.dictionary_texts(|text| any |= known.has(text) || !is_present(text))? && !any);
        }
        let (skipped, mut bad) = (self.rows.skipped, false);
        let told = column.dictionary_texts(|text| bad |= self.rows.row(0..0, &[Some(text)]).is_err());
        bad |= self.rows.skipped > skipped;
        self.rows.skipped = skipped;
        self.judge();
        self.rows.take.clear();
        Ok(told? && !bad && !self.found.contains(&true))
    }

    /// The same by several files, of which one that has the key is enough.
    fn judge_by_files(&mut self) {
        let Sieve { sieving, rows, others, answers, found, marks, counts, .. } = self;
        let others =
            sieving.others.iter().zip(&*others).map(|(other, (_, rows))| (other.filters(), &rows.take));
        let files = [(&sieving.filters, &rows.take)].into_iter().chain(others);
        counts.by_file.resize(1 + sieving.others.len(), 0);
        found.clear();
        found.resize(rows.take.len(), false);
        marks.clear();
        let mut hits = Vec::new();
        for ((file, (filters, keys)), count) in (0..).zip(files).zip(&mut counts.by_file) {
            answers.any(filters, keys, 0..filters.len(), &mut hits);
            for (record, _) in (0..).zip(&hits).filter(|(_, hit)| **hit) {
                found[record as usize] = true;
                *count += 1;
                marks.push((record, file));
            }
        }
        marks.sort_by_key(|(record, _)| *record); // stable: files stay in their order
    }

    /// The records that have a key for no file.
    fn keyless(&self) -> u64 {
        let none =
            |row: &&u32| self.others.iter().all(|(_, rows)| rows.take.keyless().binary_search(row).is_ok());
        self.rows.take.keyless().iter().filter(none).count() as u64
    }

    /// Lists the records that are not settled by the filters, and those that are and may be
    /// written, with what is to be asked about each.
    fn suspect(&self, data: &[u8], suspects: &mut Suspects) {
        suspects.clear();
        let sieving = self.sieving;
        let keys = &self.rows.take;
        let wanted_at_all = sieving.wanted.contains(&true);
        let wanted_settled = sieving.wants_others();
        let mut marks = &self.marks[..];
        for (i, place) in keys.spans().iter().enumerate() {
            let asked = match &sieving.asked {
                Asked::Own => keys.groups()[i],
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
                suspects.hashes.push(keys.hashes()[i]);
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
        let places = self.rows.take.spans();
        match &self.sieving.tag {
            None => gather(data, places, &self.found, admitted, text),
            Some(tag) => text.append(|out| {
                let mut marks = &self.marks[..];
                for (i, place) in places.iter().enumerate() {
                    let of = marks.partition_point(|(record, _)| *record as usize <= i);
                    let (own, rest) = marks.split_at(of);
                    marks = rest;
                    if self.found[i] == admitted {
                        tag.record(data, place.range(), own.iter().map(|(_, group)| *group), out);
                    }
                }
            }),
        }
    }
}

impl Sink for Sieve<'_> {
    #[inline(always)]
    fn row(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        let skipped = self.rows.skipped;
        let (own, mut rest) = values.split_at(self.width.min(values.len()));
        self.rows.row(place.clone(), own)?;
        if self.rows.skipped > skipped {
            self.rows.take.push_keyless();
        }
        for (width, rows) in &mut self.others {
            let (own, after) = rest.split_at(*width);
            let skipped = rows.skipped;
            rows.row(place.clone(), own)?;
            if rows.skipped > skipped {
                rows.take.push_keyless();
            }
            rest = after;
        }
        self.rows.take.push_span(place);
        Ok(())
    }

    fn bad_row(&mut self, place: Range<usize>, why: BadRow) -> RowResult {
        // Where records are made of values, this row has none; not admitted, it might have to be written.
        if place.is_empty() && self.sieving.wants_others() {
            self.rows.bad_row(place, why.clone())?;
            return Err(Refusal::NoColumns { why }.into());
        }
        self.rows.bad_row(place.clone(), why)?;
        self.rows.take.push_keyless();
        self.others.iter_mut().for_each(|(_, rows)| rows.take.push_keyless());
        self.rows.take.push_span(place);
        Ok(())
    }

    fn skips(&self) -> bool {
        self.sieving.skipping.is_some() && !self.sieving.wants_others()
    }

    fn skip(&mut self, column: &Chunk<'_>) -> Result<bool> {
        let Some(skipping) = &self.sieving.skipping else { return Ok(false) };
        self.counts.skipped.row_groups += 1;
        let Some(nulls) = skipping.nulls(column) else { return Ok(false) };
        let known = skipping.known();
        let by_keys = known.is_some_and(|known| known.misses(column));
        // What cannot be decoded here is told by whoever reads the rows.
        if !by_keys && !self.none_in_dictionary(column, known).unwrap_or(false) {
            return Ok(false);
        }
        let rows = column.rows();
        self.counts.records += rows;
        self.counts.keyless += nulls;
        self.counts.skipped.add(Skipped { row_groups: 0, skipped: 1, records: rows });
        if known.is_some() {
            self.counts.refuted += rows.saturating_sub(nulls);
        }
        Ok(true)
    }

    fn sets_aside(&self) -> bool {
        self.rows.sets_aside()
    }

    /// What is set aside is in no other output, but counts.
    fn set_aside(&mut self, record: BadRecord<'_>) {
        self.counts.records += 1;
        self.counts.keyless += 1;
        self.aside.extend_from_slice(record.text);
    }
}

impl Sift for Sieve<'_> {
    type Batch = Sieved;

    fn batch(&mut self, data: &[u8], sieved: &mut Sieved) {
        self.judge();
        let admitted = self.found.iter().filter(|found| **found).count() as u64;
        self.counts.records += self.rows.take.len() as u64;
        self.counts.admitted += admitted;
        self.counts.keyless += self.keyless();
        if self.sieving.strict {
            self.suspect(data, &mut sieved.suspects);
        } else {
            self.copy(data, sieved);
        }
        self.rows.take.clear();
        self.others.iter_mut().for_each(|(_, rows)| rows.take.clear());
        sieved.aside.clear();
        mem::swap(&mut sieved.aside, &mut self.aside);
    }
}

impl Sieve<'_> {
    /// Writes all records that are wanted.
    fn copy(&self, data: &[u8], sieved: &mut Sieved) {
        for ((text, wanted), passing) in sieved.texts.iter_mut().zip(self.sieving.wanted).zip([true, false]) {
            text.clear();
            if wanted {
                self.write(data, passing != self.sieving.invert, text);
            }
        }
    }
}
