//! The second phase, spread: what the rows of one machine change in the data area, by range.

use std::collections::BTreeMap;
use std::mem::{replace, take};

use tamis::hash::xxh3;
use tamis::params::Params;
use tamis::sizing::Kind;
use tamis_read::Control;
use tamis_read::error::Result;

use super::wire::{Content, Reader, Writer, damaged};
use super::{Refusal, Rows};
use crate::arena::{Placing, Touch, make};
use crate::build::{self, Job, Sketches};
use crate::rows::{Groups, Key, Take};

/// Touches gathered before they are made in words.
const BATCH: usize = 512;

/// The number under which tallies go, which belong to no range.
pub const TALLY: i64 = -1;

/// Rows by group, their weights, and rows left out.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Tallies {
    pub rows: Vec<u64>,
    pub weights: Vec<u64>,
    pub skipped: u64,
}

impl Tallies {
    pub fn new(groups: usize) -> Tallies {
        Tallies { rows: vec![0; groups], weights: vec![0; groups], skipped: 0 }
    }

    pub fn add(&mut self, group: usize, rows: u64, weight: u64) -> Result<()> {
        let (Some(all), Some(weights)) = (self.rows.get_mut(group), self.weights.get_mut(group)) else {
            return Err(damaged());
        };
        *all = all.saturating_add(rows);
        *weights = weights.saturating_add(weight);
        Ok(())
    }

    pub fn absorb(&mut self, part: &mut Reader<'_>) -> Result<()> {
        self.skipped = self.skipped.saturating_add(part.u64()?);
        while !part.is_done() {
            let (group, rows, weight) = (part.u32()?, part.u64()?, part.u64()?);
            // Weight comes with rows. A group without rows is written by nobody, and would be lost by `drain`.
            if rows == 0 {
                return Err(damaged());
            }
            self.add(group as usize, rows, weight)?;
        }
        Ok(())
    }

    /// All of it, in parts of about this many bytes at most; nothing is left.
    fn drain(&mut self, layout: &Layout, most: usize) -> Vec<(i64, Vec<u8>)> {
        let numbers: Vec<usize> = (0..self.rows.len()).filter(|&group| self.rows[group] > 0).collect();
        let mut parts = Vec::new();
        for some in numbers.chunks((most / 20).max(1)) {
            let mut out = Writer::new(Content::Tally, layout.digest);
            out.u64(take(&mut self.skipped));
            for &group in some {
                out.u32(group as u32);
                out.u64(take(&mut self.rows[group]));
                out.u64(take(&mut self.weights[group]));
            }
            parts.push((TALLY, out.finish()));
        }
        if self.skipped > 0 {
            let mut out = Writer::new(Content::Tally, layout.digest);
            out.u64(take(&mut self.skipped));
            parts.push((TALLY, out.finish()));
        }
        parts
    }
}

/// How the data area of some parameters is cut into ranges.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub placing: Placing,
    pub digest: u64,
    /// Words of a range; the last may have fewer.
    pub range_words: usize,
    pub words: usize,
}

impl Layout {
    pub fn new(params: &Params, range_bytes: usize) -> Result<Layout> {
        if params.common.kind.is_static() || params.common.kind == Kind::Scalable {
            return Err(Refusal::Kind { kind: params.common.kind }.into());
        }
        if !(64..=1 << 30).contains(&range_bytes) {
            return Err(Refusal::RangeBytes { bytes: range_bytes }.into());
        }
        let placing = Placing::new(params);
        // Whole lines and blocks.
        let unit = placing.unit().max(8);
        let range_words = (range_bytes / 8 / unit * unit).max(unit);
        let words = placing.words();
        if words.div_ceil(range_words) > i32::MAX as usize {
            return Err(Refusal::TooManyRanges { bytes: range_bytes }.into());
        }
        let digest = xxh3(params.to_json().as_bytes(), range_words as u64);
        Ok(Layout { placing, digest, range_words, words })
    }

    /// The words of a range; none where there is no such range.
    pub fn len(&self, range: usize) -> Option<usize> {
        let start = range.checked_mul(self.range_words).filter(|&start| start < self.words)?;
        Some(self.range_words.min(self.words - start))
    }

    /// What a touch counts, in a range.
    fn range_units(&self) -> usize {
        self.range_words / self.placing.unit()
    }

    /// Makes touches in the words of a range.
    fn make(&self, range: usize, words: &mut [u64], touches: &[Touch]) {
        if !touches.is_empty() {
            make(&self.placing, words, range * self.range_units(), touches);
        }
    }

    /// Brings a part into the words of its range.
    pub fn join(&self, range: usize, part: &mut Reader<'_>, words: &mut [u64]) -> Result<()> {
        match part.content {
            Content::Words => {
                let others = part.words(words.len())?;
                part.done()?;
                self.placing.join(words, &others);
            }
            Content::Touches => {
                let mut touches: Vec<Touch> = Vec::new();
                self.read_touches(range, part, &mut touches)?;
                self.make(range, words, &touches);
            }
            _ => return Err(damaged()),
        }
        Ok(())
    }

    /// Reads the touches of a part of a range.
    fn read_touches(&self, range: usize, part: &mut Reader<'_>, touches: &mut Vec<Touch>) -> Result<()> {
        let units = (self.len(range).unwrap_or(0) / self.placing.unit()) as u64;
        let first = range * self.range_units();
        while !part.is_done() {
            let (unit, what) = (part.u32()?, part.u64()?);
            // What is no bit of a word was written by nobody.
            if u64::from(unit) >= units || (self.placing.touches_bits() && what >= 64) {
                return Err(damaged());
            }
            touches.push((first + unit as usize, what));
        }
        Ok(())
    }
}

/// The number of the range that a part belongs to, or none of a tally; the part goes on after it.
pub(super) fn range_of(part: &mut Reader<'_>) -> Result<Option<usize>> {
    match part.content {
        Content::Tally => Ok(None),
        Content::Touches | Content::Words => Ok(Some(part.u32()? as usize)),
        Content::Counts | Content::Keys => Err(damaged()),
    }
}

/// What is known of a range.
#[derive(Debug)]
struct Range {
    touches: Vec<Touch>,
    /// Touches that are gathered before something is done with them.
    most: usize,
    /// Empty while the touches take less memory than these would.
    words: Vec<u64>,
}

/// What rows change, by range. Ranges of which nothing changes take no memory.
#[derive(Debug)]
struct Scatter<'a> {
    layout: &'a Layout,
    ranges: Vec<Range>,
    held: usize,
}

impl Take for Scatter<'_> {
    #[inline]
    fn take(&mut self, key: Key<'_>) {
        let units = self.layout.range_units();
        let (layout, ranges, held) = (self.layout, &mut self.ranges, &mut self.held);
        layout.placing.touch(key, |touch| {
            let number = touch.0 / units;
            let range = &mut ranges[number];
            range.touches.push(touch);
            if range.touches.len() >= range.most {
                *held += range.settle(layout, number);
            }
        });
    }
}

impl Range {
    /// A range of this many words: half as many touches take as much memory.
    fn new(words: usize) -> Range {
        Range { touches: Vec::new(), most: BATCH.max(words / 2), words: Vec::new() }
    }

    /// Makes touches in words; returns how many bytes more these take.
    fn settle(&mut self, layout: &Layout, number: usize) -> usize {
        let mut more = 0;
        if self.words.is_empty() {
            self.words = vec![0; layout.len(number).unwrap_or(0)];
            more = self.words.len() * 8;
            self.most = BATCH;
        }
        layout.make(number, &mut self.words, &self.touches);
        // Those of a few hundred are gathered again and again; a list of all was larger.
        self.touches.clear();
        self.touches.shrink_to(BATCH);
        more
    }

    /// Takes a part of this range.
    fn absorb(&mut self, layout: &Layout, number: usize, part: &mut Reader<'_>) -> Result<()> {
        if part.content == Content::Touches {
            layout.read_touches(number, part, &mut self.touches)?;
            if self.touches.len() >= self.most {
                self.settle(layout, number);
            }
            return Ok(());
        }
        self.settle(layout, number);
        layout.join(number, part, &mut self.words)
    }

    /// All of it as a part: touches while these take fewer bytes than words. None where nothing changes.
    fn part(self, layout: &Layout, number: usize) -> Option<(i64, Vec<u8>)> {
        let Range { touches, mut words, .. } = self;
        if words.is_empty() {
            return (!touches.is_empty()).then(|| (number as i64, layout.touches(number, &touches)));
        }
        layout.make(number, &mut words, &touches);
        Some((number as i64, layout.dense(number, &words)))
    }
}

/// What the rows of one machine change.
#[derive(Debug)]
pub struct Partial {
    job: Job,
    params: Params,
    layout: Layout,
    ranges: Vec<Range>,
    tallies: Tallies,
    words: usize,
}

impl Partial {
    /// Changes nothing yet. The job has parameters; ranges have this many bytes.
    pub fn new(job: Job, range_bytes: usize) -> Result<Partial> {
        super::refuse(&job)?;
        let Sketches::Given(given) = &job.sketches else {
            return Err(Refusal::NoParams.into());
        };
        let params = given.params().clone();
        let layout = Layout::new(&params, range_bytes)?;
        let ranges = layout.words.div_ceil(layout.range_words);
        let tallies = Tallies::new(params.groups.len());
        let ranges = (0..ranges).map(|range| Range::new(layout.len(range).unwrap_or(0))).collect();
        Ok(Partial { job, params, layout, ranges, tallies, words: 0 })
    }

    /// Takes rows. After an error nothing more can be done with it.
    pub fn add(&mut self, rows: Rows, control: &Control) -> Result<()> {
        let sources = rows.sources(&self.job.recipe.columns())?;
        let scatter = Scatter { layout: &self.layout, ranges: take(&mut self.ranges), held: self.words };
        let sink = self.job.rules(None).rows(Groups::Known(&self.params), scatter);
        let sinks = sources.scan_dyn(vec![sink], control)?;
        let (mut scatters, taken) = build::taken(sinks, self.params.groups.len());
        let counts = self.params.common.kind.counts();
        for (group, (&rows, &total)) in taken.rows.iter().zip(&taken.totals).enumerate() {
            self.tallies.add(group, rows, if counts { total } else { 0 })?;
        }
        self.tallies.skipped += taken.skipped;
        let scatter = scatters.pop().expect("as many sinks come back");
        (self.ranges, self.words) = (scatter.ranges, scatter.held);
        Ok(())
    }

    /// About how many bytes it holds.
    pub fn held(&self) -> usize {
        self.words + self.ranges.iter().map(|range| 16 * range.touches.capacity()).sum::<usize>()
    }

    /// What is held, by range, and the tallies; nothing is held afterwards.
    pub fn drain(&mut self) -> Vec<(i64, Vec<u8>)> {
        let mut parts = Vec::new();
        for (number, range) in self.ranges.iter_mut().enumerate() {
            let range = replace(range, Range::new(self.layout.len(number).unwrap_or(0)));
            parts.extend(range.part(&self.layout, number));
        }
        self.words = 0;
        parts.extend(self.tallies.drain(&self.layout, self.layout.range_words * 8));
        parts
    }
}

impl Layout {
    fn touches(&self, range: usize, touches: &[Touch]) -> Vec<u8> {
        let mut out = Writer::new(Content::Touches, self.digest);
        out.u32(range as u32);
        let first = range * self.range_units();
        for &(unit, what) in touches {
            out.u32((unit - first) as u32);
            out.u64(what);
        }
        out.finish()
    }

    fn dense(&self, range: usize, words: &[u64]) -> Vec<u8> {
        let mut out = Writer::new(Content::Words, self.digest);
        out.u32(range as u32);
        out.words(words);
        out.finish()
    }
}

/// Brings parts of the same range together.
#[derive(Debug)]
pub struct Merger {
    layout: Layout,
    groups: usize,
    /// Few tasks change little of a large file: their touches stay a list, as long as that is shorter.
    ranges: BTreeMap<usize, Range>,
    tallies: Tallies,
}

impl Merger {
    /// For sketches with these parameters, cut into ranges of this many bytes.
    pub fn new(params: &Params, range_bytes: usize) -> Result<Merger> {
        let (layout, groups) = (Layout::new(params, range_bytes)?, params.groups.len());
        Ok(Merger { layout, groups, ranges: BTreeMap::new(), tallies: Tallies::new(groups) })
    }

    /// What the job is about, as its parts say it.
    pub fn digest(&self) -> u64 {
        self.layout.digest
    }

    /// Takes a part.
    pub fn absorb(&mut self, part: &[u8]) -> Result<()> {
        let mut part = Reader::open(part, self.layout.digest)?;
        match range_of(&mut part)? {
            None => self.tallies.absorb(&mut part),
            Some(range) => {
                let len = self.layout.len(range).ok_or_else(damaged)?;
                let known = self.ranges.entry(range).or_insert_with(|| Range::new(len));
                known.absorb(&self.layout, range, &mut part)
            }
        }
    }

    /// What was brought together, one part for each range; nothing is held afterwards.
    pub fn drain(&mut self) -> Vec<(i64, Vec<u8>)> {
        let ranges = take(&mut self.ranges).into_iter();
        let mut parts: Vec<(i64, Vec<u8>)> =
            ranges.filter_map(|(number, range)| range.part(&self.layout, number)).collect();
        parts.extend(self.tallies.drain(&self.layout, self.layout.range_words * 8));
        debug_assert_eq!(self.tallies, Tallies::new(self.groups));
        parts
    }
}
