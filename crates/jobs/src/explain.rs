//! How a job understands its inputs, and what it makes of their first rows, without doing it.

use std::ops::Range;
use std::sync::Mutex;

use tamis::hash::Scheme;
use tamis_read::error::{Error, Result};
use tamis_read::refusal::Refusal;
use tamis_read::{BadRow, Control, Explained, RowResult, Sink, Sources};

use tamis_make::build::Job;
use tamis_make::rows::{BadRows, Groups, Key, KeyRows, Names, Take, Unusable};

/// How a job understands its inputs.
#[derive(Debug)]
pub struct Explanation {
    /// What each input was taken for.
    pub inputs: Vec<Explained>,
    /// The first rows.
    pub rows: Vec<Row>,
    /// What would stop the job, if that was met among the rows that were read.
    pub fault: Option<Error>,
    /// The lines around the one that would stop it, with their numbers, as they stand in the file.
    pub around: Vec<(u64, Vec<u8>)>,
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
    /// The bytes of the key.
    pub key: Vec<u8>,
    /// What it counts for, where the recipe names a weight.
    pub weight: Option<u64>,
}

/// The last key that was made.
#[derive(Default)]
struct Last {
    group: u32,
    key: Vec<u8>,
    weight: u64,
}

impl Take for Last {
    fn take(&mut self, key: Key<'_>) {
        self.group = key.group;
        self.key.clear();
        self.key.extend_from_slice(key.bytes);
        self.weight = key.weight;
    }
}

/// Keeps the first rows and the keys that are made of them.
struct Explaining<'a> {
    /// Makes keys as every job does. It stops at each row without one.
    keys: KeyRows<'a, Last>,
    weighted: bool,
    bad_rows: BadRows,
    most: usize,
    /// Rows that are still to be read.
    left: u64,
    /// Outside the sink, which is lost when the scan is ended.
    rows: &'a Mutex<Vec<Row>>,
}

impl Explaining<'_> {
    /// What was made of the last row.
    fn made(&self) -> Made {
        let Last { group, key, weight } = &self.keys.take;
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
        let enough = self.left == 0 || (self.bad_rows == BadRows::Skip && rows.len() == self.most);
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
        match self.keys.row(place, values) {
            Ok(()) => self.keep(values, Ok(self.made())),
            Err(why) => match why.as_a::<Unusable>() {
                Some(row) if self.bad_rows == BadRows::Skip => self.keep(values, Err(row.why().to_string())),
                _ => Err(why),
            },
        }
    }

    fn bad_row(&mut self, _: Range<usize>, why: BadRow) -> RowResult {
        match self.bad_rows {
            BadRows::Fail => Err(why.into()),
            BadRows::Skip => self.keep(&[], Err(why.to_string())),
        }
    }
}

/// Explains how a job understands its inputs, up to this many rows, or to what would stop it.
pub fn explain(job: &Job, most: usize, control: &Control) -> Result<Explanation> {
    let recipe = &job.recipe;
    let (inputs, sources) = Sources::look(&job.inputs, &job.options, &recipe.columns())?;
    let rows = Mutex::new(Vec::new());
    let groups = Groups::Discover(Names::default());
    let sink = Explaining {
        keys: KeyRows::new(recipe, Scheme::DEFAULT, BadRows::Fail, groups, Last::default()),
        weighted: recipe.weight.is_some(),
        bad_rows: job.bad_rows,
        most,
        left: READ,
        rows: &rows,
    };
    let scanned = sources.and_then(|sources| sources.scan_dyn(vec![sink], control).map(drop));
    let rows = rows.into_inner().expect("no holder panics");
    let is_end = |error: &Error| matches!(error, Error::Row { why, .. } | Error::FileRow { why, .. } if why.as_a::<Enough>().is_some());
    let fault = scanned.err().filter(|error| !is_end(error));
    let around = match &fault {
        Some(Error::Row { path, line, .. }) => Sources::lines_around(path, *line, BESIDE).unwrap_or_default(),
        _ => Vec::new(),
    };
    Ok(Explanation { inputs, rows, fault, around })
}
