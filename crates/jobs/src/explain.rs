//! How a job understands its inputs, and what it makes of their first rows, without doing it.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

use tamis::hash::Scheme;
use tamis_read::error::{Error, Result};
use tamis_read::refusal::Refusal;
use tamis_read::{BadRow, Control, Explained, RowResult, Sink, Sources};

use tamis_make::build::Job;
use tamis_make::rows::{Groups, Key, KeyRows, Names, OnBad, Take, Unusable, show};

/// How a job understands its inputs.
#[derive(Debug)]
pub struct Explanation {
    /// What each input was taken for.
    pub inputs: Vec<Explained>,
    /// The first rows.
    pub rows: Vec<Row>,
    /// What would stop the job, if that was met among the rows that were read.
    pub fault: Option<Error>,
    /// The rows around the one that would stop it.
    pub around: Around,
}

/// The rows around a bad one, with their numbers (none where that is not known).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Around {
    /// Lines as they stand in the file.
    Lines(Vec<(u64, Vec<u8>)>),
    /// Rows of a file that has no lines: the values of the columns that are asked for.
    Rows(Vec<(u64, String)>),
    /// The same of a stream that cannot be read again: the rows before the bad one and, if it has values,
    /// that one.
    Before(Vec<String>),
}

impl Around {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        match self {
            Around::Lines(rows) => rows.is_empty(),
            Around::Rows(rows) => rows.is_empty(),
            Around::Before(rows) => rows.is_empty(),
        }
    }
}

/// Rows that are read to find what would stop the job.
const READ: u64 = 1_000_000;

/// Lines that are shown before a bad one, and after it.
const BESIDE: u64 = 2;

/// A row and what becomes of it.
#[derive(Debug, Clone)]
pub struct Row {
    /// The values of the columns that are asked for: those of the key, then those of the group and
    /// of the weight.
    pub values: Vec<Option<Vec<u8>>>,
    /// The group and the key, or why there is none.
    pub made: Result<Made, String>,
}

/// A key and its group, which has the empty name where there are no groups.
#[derive(Debug, Clone)]
pub struct Made {
    /// The group.
    pub group: Vec<u8>,
    /// The bytes of the key; those of the record, where each of its keywords is a key.
    pub key: Vec<u8>,
    /// What it counts for, where the recipe names a weight.
    pub weight: Option<u64>,
}

/// The last key that was made.
#[derive(Default)]
struct Last {
    /// Whether each keyword is a key, so that a row has several.
    each: bool,
    group: u32,
    key: Vec<u8>,
    weight: u64,
}

impl Take for Last {
    fn take(&mut self, key: Key<'_>) {
        self.group = key.group;
        match self.each {
            true => self.key.extend_from_slice(&(key.bytes.len() as u32).to_le_bytes()),
            false => self.key.clear(),
        }
        self.key.extend_from_slice(key.bytes);
        self.weight = key.weight;
    }
}

/// Keeps the first rows and the keys that are made of them.
struct Explaining<'a> {
    /// Makes keys as every job does. It stops at each row without one.
    keys: KeyRows<'a, Last>,
    weighted: bool,
    on_bad: OnBad,
    most: usize,
    /// Rows that are still to be read.
    left: u64,
    /// Outside the sink, which is lost when the scan is ended.
    rows: &'a Mutex<Vec<Row>>,
    /// The last rows that came, for people.
    last: &'a Mutex<VecDeque<String>>,
}

impl Explaining<'_> {
    /// What was made of the last row.
    fn made(&self) -> Made {
        let Last { group, key, weight, .. } = &self.keys.take;
        Made {
            group: self.keys.group_name(*group).to_vec(),
            key: key.clone(),
            weight: self.weighted.then_some(*weight),
        }
    }

    fn keep(&mut self, values: &[Option<&[u8]>], made: Result<Made, String>) -> RowResult {
        let mut rows = self.rows.lock().expect("no holder panics");
        if rows.len() < self.most {
            let values = values.iter().map(|value| value.map(<[u8]>::to_vec)).collect();
            rows.push(Row { values, made });
        }
        self.left -= 1;
        // Where no row is bad, the first ones are all that is to be shown.
        let enough = self.left == 0 || (self.on_bad != OnBad::Fail && rows.len() == self.most);
        if enough { Err(Enough.into()) } else { Ok(()) }
    }
}

/// Ends the scan: there are as many rows as are wanted.
#[derive(Debug, thiserror::Error)]
#[error("enough rows")]
struct Enough;

impl Refusal for Enough {}

impl Sink for Explaining<'_> {
    fn row(&mut self, place: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        let mut last = self.last.lock().expect("no holder panics");
        if last.len() > BESIDE as usize {
            last.pop_front();
        }
        last.push_back(shown(values));
        drop(last);
        self.keys.take.key.clear();
        match self.keys.row(place, values) {
            Ok(()) => self.keep(values, Ok(self.made())),
            Err(why) => match why.as_a::<Unusable>() {
                Some(row) if self.on_bad != OnBad::Fail => self.keep(values, Err(row.why().to_string())),
                _ => Err(why),
            },
        }
    }

    fn bad_row(&mut self, _: Range<usize>, why: BadRow) -> RowResult {
        match self.on_bad {
            OnBad::Fail => Err(why.into()),
            OnBad::Skip | OnBad::SetAside => self.keep(&[], Err(why.to_string())),
        }
    }
}

/// The values of a row, for people.
fn shown(values: &[Option<&[u8]>]) -> String {
    values.iter().map(|value| show(*value)).collect::<Vec<_>>().join(", ")
}

/// Keeps the rows with these numbers, and ends the scan after them.
struct Beside<'a> {
    wanted: Range<u64>,
    number: u64,
    rows: &'a Mutex<Vec<(u64, String)>>,
}

impl Beside<'_> {
    fn keep(&mut self, text: String) -> RowResult {
        self.number += 1;
        if self.wanted.contains(&self.number) {
            self.rows.lock().expect("no holder panics").push((self.number, text));
        }
        if self.number + 1 < self.wanted.end { Ok(()) } else { Err(Enough.into()) }
    }
}

impl Sink for Beside<'_> {
    fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        self.keep(shown(values))
    }

    fn bad_row(&mut self, _: Range<usize>, why: BadRow) -> RowResult {
        self.keep(why.to_string())
    }
}

/// The rows around this one of a file that has no lines.
fn rows_around(job: &Job, path: &Path, row: u64, control: &Control) -> Vec<(u64, String)> {
    let rows = Mutex::new(Vec::new());
    let sink = Beside { wanted: row.saturating_sub(BESIDE)..row + BESIDE + 1, number: 0, rows: &rows };
    let columns = job.recipe.columns();
    // That it ends with an error is how the scan is ended.
    let _ = Sources::of(vec![(path.to_owned(), None)], &job.options, &columns)
        .and_then(|sources| sources.scan_dyn(vec![sink], control));
    rows.into_inner().expect("no holder panics")
}

/// Explains how a job understands its inputs, up to this many rows, or to what would stop it.
pub fn explain(job: &Job, most: usize, control: &Control) -> Result<Explanation> {
    let recipe = &job.recipe;
    let (inputs, sources) = Sources::look(&job.inputs, &job.options, &recipe.columns())?;
    let (rows, last) = (Mutex::new(Vec::new()), Mutex::new(VecDeque::new()));
    let groups = Groups::Discover(Names::default());
    let last_key = Last { each: recipe.has_key_each(), ..Last::default() };
    let sink = Explaining {
        keys: KeyRows::new(recipe, Scheme::DEFAULT, OnBad::Fail, groups, last_key),
        weighted: recipe.weight.is_some(),
        on_bad: (&job.bad_rows).into(),
        most,
        left: READ,
        rows: &rows,
        last: &last,
    };
    let scanned = sources.and_then(|sources| sources.scan_dyn(vec![sink], control).map(drop));
    let rows = rows.into_inner().expect("no holder panics");
    let is_end = |error: &Error| matches!(error, Error::Row { why, .. } | Error::FileRow { why, .. } if why.as_a::<Enough>().is_some());
    let fault = scanned.err().filter(|error| !is_end(error));
    let around = match &fault {
        Some(Error::Row { path, line, .. }) => match Sources::lines_around(path, *line, BESIDE) {
            Ok(lines) if !lines.is_empty() => Around::Lines(lines),
            _ => Around::Before(last.into_inner().expect("no holder panics").into()),
        },
        Some(Error::FileRow { path, row, .. }) => Around::Rows(rows_around(job, path, *row, control)),
        _ => Around::Lines(Vec::new()),
    };
    Ok(Explanation { inputs, rows, fault, around })
}
