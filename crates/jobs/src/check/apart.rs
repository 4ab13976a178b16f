//! A test whose keys are on many machines: each gathers the keys of its rows, cut by hash into parts;
//! the machine that has a whole part judges its keys; the numbers are summed up and
//! [concluded](super::conclude).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Mutex;

use tamis::hash::xxh3;
use tamis::key::Recipe;
use tamis::params::{Name, Params};
use tamis_read::Control;
use tamis_read::error::{Error, Result};
use tamis_read::refusal::{Help, Refusal};

use super::Findings;
use super::gather::{Beside, Gather, Part};
use super::judge::{Found, PartJudge, add_hits};
use super::run::{gather_random, key_rows};
use crate::ask::Filters;
use tamis_make::batch::Needs;
use tamis_make::files::Mapped;
use tamis_make::rows::{Names, OnBad};
use tamis_make::spread::Rows;
use tamis_make::spread::wire::{Content, Reader, Writer, damaged};

/// Gathers the keys of rows.
#[derive(Debug)]
pub struct Gatherer {
    params: Params,
    recipe: Recipe,
    on_bad: OnBad,
    beside: Beside,
    digest: u64,
    others: Mutex<Names>,
    /// None while it is in use, and after an error.
    gather: Option<Gather>,
    rows: u64,
    skipped: u64,
}

/// Rows come after some that could not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("rows before these could not be gathered")]
pub struct Broken;

impl Refusal for Broken {
    fn help(&self) -> Vec<Help> {
        vec![Help::Do("start again with all rows")]
    }
}

/// What parts of a test of these filters share.
fn digest(params: &Params) -> u64 {
    xxh3(params.to_json().as_bytes(), 2)
}

impl Gatherer {
    /// For filters with these parameters, and rows with the columns of this recipe.
    pub fn new(params: Params, recipe: Recipe, on_bad: OnBad) -> Gatherer {
        let (beside, digest) = (Beside(Needs::of(&params)), digest(&params));
        let gather = Some(Gather::new(beside, usize::MAX / 4));
        let others = Mutex::default();
        Gatherer { params, recipe, on_bad, beside, digest, others, gather, rows: 0, skipped: 0 }
    }

    fn broken() -> Error {
        Broken.into()
    }

    /// Gathers the keys of rows with their groups; or as keys that are known to be outside.
    pub fn add(&mut self, rows: Rows, negatives: bool, control: &Control) -> Result<()> {
        let outside = self.params.groups.len() as u32;
        let lone = Recipe { group: None, ..self.recipe.clone() };
        let recipe = if negatives { &lone } else { &self.recipe };
        let sources = rows.sources(&recipe.columns())?;
        let gather = self.gather.take().ok_or_else(Gatherer::broken)?;
        let all = negatives.then_some(outside);
        let sink = key_rows(&self.params, recipe, self.on_bad, all, &self.others, gather);
        let sink = sources.scan_dyn(vec![sink], control)?.pop().expect("as many sinks come back");
        self.rows += sink.rows.iter().sum::<u64>();
        self.skipped += sink.skipped;
        self.gather = Some(sink.take);
        Ok(())
    }

    /// Gathers the random keys of these numbers, which are taken to be outside.
    pub fn add_random(&mut self, numbers: Range<u64>, seed: u64, control: &Control) -> Result<()> {
        let gather = self.gather.as_mut().ok_or_else(Gatherer::broken)?;
        gather_random(&self.params, numbers, seed, gather, control)
    }

    /// About how many bytes it holds.
    pub fn held(&self) -> usize {
        self.gather.as_ref().map_or(0, Gather::held)
    }

    /// What was gathered, by part; nothing is held afterwards.
    pub fn drain(&mut self) -> Result<Vec<(u32, Vec<u8>)>> {
        let gather = self.gather.as_mut().ok_or_else(Gatherer::broken)?;
        let names = self.others.lock().expect("no holder panics");
        let first = self.params.groups.len() as u32 + 1;
        let (mut rows, mut skipped) = (std::mem::take(&mut self.rows), std::mem::take(&mut self.skipped));
        let mut parts = gather.drain();
        if parts.is_empty() && (rows > 0 || skipped > 0) {
            parts.push((0, Part::default())); // rows that were left out count, too
        }
        let write = |(number, mut part): (usize, Part)| {
            // Groups without a filter have numbers of this machine: they go by name.
            let mut others: Vec<u32> = part.records.iter().map(|record| record.group).collect();
            others.retain(|&group| group >= first);
            others.sort_unstable();
            others.dedup();
            for record in &mut part.records {
                if let Ok(at) = others.binary_search(&record.group) {
                    record.group = first + at as u32;
                }
            }
            let mut out = Writer::new(Content::Keys, self.digest);
            out.u64(std::mem::take(&mut rows));
            out.u64(std::mem::take(&mut skipped));
            out.u32(others.len() as u32);
            for group in others {
                let name = &names.list[(group - first) as usize].0;
                out.u32(name.len() as u32);
                out.bytes(name);
            }
            out.u64(part.records.len() as u64);
            let mut bytes = Vec::new();
            part.write(&mut bytes, self.beside).expect("a vector takes all");
            out.bytes(&bytes);
            (number as u32, out.finish())
        };
        Ok(parts.into_iter().map(write).collect())
    }
}

/// Judges the keys of parts, one part after the other.
#[derive(Debug)]
pub struct Judge {
    beside: Beside,
    digest: u64,
    outside: u32,
    part: Part,
    others: Vec<Name>,
    numbers: HashMap<Name, u32>,
    found: Found,
    rows: u64,
    skipped: u64,
}

impl Judge {
    /// For filters with these parameters.
    pub fn new(params: &Params) -> Judge {
        Judge {
            beside: Beside(Needs::of(params)),
            digest: digest(params),
            outside: params.groups.len() as u32,
            part: Part::default(),
            others: Vec::new(),
            numbers: HashMap::new(),
            found: Found::default(),
            rows: 0,
            skipped: 0,
        }
    }

    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    /// Takes keys of a part.
    pub fn absorb(&mut self, bytes: &[u8]) -> Result<()> {
        let mut part = Reader::open(bytes, self.digest)?;
        if part.content != Content::Keys {
            return Err(damaged());
        }
        self.rows = self.rows.saturating_add(part.u64()?);
        self.skipped = self.skipped.saturating_add(part.u64()?);
        let mut here = Vec::new();
        for _ in 0..part.u32()? {
            let len = part.u32()? as usize;
            let name = Name(part.bytes(len)?.to_vec());
            let next = self.others.len() as u32;
            let number = *self.numbers.entry(name.clone()).or_insert(next);
            if number == next {
                self.others.push(name);
            }
            here.push(number);
        }
        let records = part.u64()?;
        let first = self.outside + 1;
        let group_of = |group: u32| match group.checked_sub(first) {
            None => Some(group),
            Some(other) => here.get(other as usize).map(|number| first + number),
        };
        self.part.read(part.remaining(), records, self.beside, group_of).map_err(|_| damaged())
    }

    /// Judges the keys that were taken: all of one part, or of several.
    pub fn settle(&mut self, file: &Mapped) -> Result<()> {
        let mut part = std::mem::take(&mut self.part);
        if part.records.is_empty() {
            return Ok(());
        }
        self.found.add(&PartJudge::new(&Filters::of_file(file)?, None).judge(&mut part));
        Ok(())
    }

    /// What was found.
    pub fn findings(self) -> Findings {
        let Found { keys, removed, shared, filters, strangers } = self.found;
        let strangers = self.others.into_iter().zip(strangers).filter(|(_, keys)| *keys > 0).collect();
        let (rows, skipped, attacked) = (self.rows, self.skipped, Vec::new());
        Findings { keys, removed, shared, filters, strangers, rows, skipped, attacked }
    }
}

impl Findings {
    /// Adds what was found of other parts.
    pub fn add(&mut self, other: &Findings) {
        self.keys += other.keys;
        self.removed += other.removed;
        self.shared += other.shared;
        self.rows += other.rows;
        self.skipped += other.skipped;
        add_hits(&mut self.filters, &other.filters);
        self.strangers.extend_from_slice(&other.strangers);
        self.strangers.sort();
        self.strangers.dedup_by(|later, first| {
            let same = later.0 == first.0;
            first.1 += if same { later.1 } else { 0 };
            same
        });
    }
}
