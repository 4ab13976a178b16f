//! From records to pieces of hashes and keys, on the threads that read.

use std::ops::Range;
use std::sync::Mutex;

use tamis::hash::Scheme;
use tamis::key::{Column, Maker, Recipe};
use tamis::params::Params;
use tamis_make::batch::{Keeps, KeyBatch, Needs};
use tamis_make::rows::{Groups, KeyRows, Keyless, Names, OnBad, Unusable};
use tamis_read::calendar::{self, Unit};
use tamis_read::{BadRecord, BadRow, RowResult, Sift, Sink};

use super::queue::{Bad, LineEnds, Piece};
use super::window::TimeColumn;

/// How the records of a stream become keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct Making<'a> {
    pub(super) recipe: &'a Recipe,
    pub(super) hash: Scheme,
    pub(super) on_bad: OnBad,
    pub(super) groups: Grouping<'a>,
    /// Whether the keys themselves are wanted, not their hashes alone.
    pub(super) keys: bool,
    /// What tells the time of a record, where it does.
    pub(super) time: Option<&'a TimeColumn>,
}

impl Making<'_> {
    /// The columns that a record must give: those of the recipe, then that of the time.
    pub(super) fn columns(&self) -> Vec<Column> {
        self.recipe.columns().into_iter().chain(self.time.map(TimeColumn::column)).collect()
    }
}

/// Reads the times of records.
struct Clock<'a> {
    maker: Maker<'a>,
    unit: Option<Unit>,
    /// Where the time stands among the values.
    at: usize,
}

impl Clock<'_> {
    fn time(&mut self, values: &[Option<&[u8]>]) -> Result<i64, Box<Keyless>> {
        let text = self.maker.key(&values[self.at..=self.at]).map_err(|bad| Box::new(Keyless::Time(bad)))?;
        calendar::moment(text, self.unit).ok_or_else(|| match self.unit {
            Some(_) => Box::new(Keyless::NumberOfNoMoment),
            None if text.starts_with(b"[") && !text.ends_with(b"]") => Box::new(Keyless::CutMoment),
            None => Box::new(Keyless::NoMoment),
        })
    }
}

/// How the groups of records are numbered.
#[derive(Debug, Clone, Copy)]
pub(super) enum Grouping<'a> {
    /// There are none.
    None,
    /// As the parameters have them; another is a bad row.
    Known(&'a Params),
    /// As they are found, beside the parameters of none.
    Found(&'a Params, &'a Mutex<Names>),
}

/// What one thread does with records.
pub(super) struct Sifter<'a> {
    rows: KeyRows<'a, KeyBatch>,
    times: Vec<i64>,
    clock: Option<Clock<'a>>,
    stops: Vec<u32>,
    bad: Vec<Bad>,
    aside: Vec<u8>,
    counts_lines: bool,
    skipped: u64,
}

impl<'a> Sifter<'a> {
    pub(super) fn new(making: Making<'a>) -> Self {
        let (groups, grouped) = match making.groups {
            Grouping::None => (Groups::One(0), false),
            Grouping::Known(params) => (Groups::Known(params), true),
            Grouping::Found(params, others) => (Groups::KnownFirst { params, first: 0, others }, true),
        };
        let keeps = Keeps {
            groups: grouped,
            weights: making.recipe.weight.is_some(),
            bytes: making.keys,
            needs: Needs::Hash, // what else filters need is made of the bytes, of distinct keys alone
        };
        let rows = KeyRows::new(making.recipe, making.hash, making.on_bad, groups, KeyBatch::new(keeps));
        let at = making.recipe.columns().len();
        let clock = making.time.map(|time| Clock { maker: Maker::new(&time.recipe), unit: time.unit, at });
        let (times, stops, bad, aside) = Default::default();
        Sifter { rows, times, clock, stops, bad, aside, counts_lines: false, skipped: 0 }
    }

    /// The same, which counts lines as well, or not.
    pub(super) fn counting_lines(self, counts_lines: bool) -> Self {
        Sifter { counts_lines, ..self }
    }

    /// Notes a row that is left out, by where it ends.
    fn note_bad(&mut self, end: usize) {
        let (before, aside) = (self.stops.len() as u32, self.aside.len() as u32);
        self.bad.push(Bad { before, stop: end as u32, aside });
    }
}

impl Sink for Sifter<'_> {
    #[inline(always)]
    fn row(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        let skipped = self.rows.skipped;
        let time = match self.clock.as_mut().map(|clock| clock.time(values)) {
            Some(Err(why)) => {
                self.rows.refuse(|| Unusable::new(*why, values).into())?;
                self.note_bad(place.end);
                return Ok(());
            }
            Some(Ok(time)) => Some(time),
            None => None,
        };
        self.rows.row(place.clone(), values)?;
        if self.rows.skipped == skipped {
            self.stops.push(place.end as u32); // a chunk is shorter than 4 GiB
            self.times.extend(time);
        } else {
            self.note_bad(place.end);
        }
        Ok(())
    }

    fn bad_row(&mut self, place: Range<usize>, why: BadRow) -> RowResult {
        self.rows.bad_row(place.clone(), why)?;
        self.note_bad(place.end);
        Ok(())
    }

    fn sets_aside(&self) -> bool {
        self.rows.sets_aside()
    }

    fn set_aside(&mut self, record: BadRecord<'_>) {
        self.aside.extend_from_slice(record.text);
        self.note_bad(record.place.end);
    }
}

impl Sift for Sifter<'_> {
    type Batch = Piece;

    fn batch(&mut self, data: &[u8], piece: &mut Piece) {
        piece.records.clear();
        self.rows.take.move_into(&mut piece.records.keys);
        std::mem::swap(&mut piece.records.times, &mut self.times);
        piece.stops.clear();
        std::mem::swap(&mut piece.stops, &mut self.stops);
        piece.bad.clear();
        std::mem::swap(&mut piece.bad, &mut self.bad);
        piece.aside.clear();
        std::mem::swap(&mut piece.aside, &mut self.aside);
        piece.lines = self.counts_lines.then(|| LineEnds::of(data, &piece.stops, &piece.bad));
        piece.base = data.len() as u64; // to be taken from where the data ends
        piece.skipped = self.rows.skipped - self.skipped;
        self.skipped = self.rows.skipped;
    }
}
