//! Questions as Python asks them: how keys are made of what is given, in which forms they are asked, and what is said
//! of it. Sketches of files and filters that live in memory are asked alike.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int8Array};
use arrow_buffer::{BooleanBuffer, Buffer, ScalarBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis::about::Classes;
use tamis::key::{BadValue, Column, Field, Recipe};
use tamis::params::Common;
use tamis_jobs::ask::Extent;
use tamis_jobs::classes::{self, Forms, Hits};
use tamis_make::rows::{Keyless, OnBad};
use tamis_read::table::Asked;
use tamis_read::{Control, Table};

use crate::answers::{Answers, Values};
use crate::errors::{Failure, raised, refused};
use crate::heard::{Asks, By, Heard};
use crate::options::{Options, bad_rows, threads_for};
use crate::patience;
use crate::rows::{Part, by_number, one_key, rows};

/// How the keys of sketches are made, of which classes they are, and what was said of those that asked.
#[derive(Clone, Copy)]
pub struct Keyed<'a> {
    pub common: &'a Common,
    pub classes: Classes,
    pub heard: &'a Heard,
}

/// Many keys, and how they are asked.
pub struct Question {
    pub asked: Asked,
    /// The classes of its columns.
    pub asks: Asks,
    /// Rows that have a value in them.
    pub filled: u64,
    pub forms: Option<Vec<Forms>>,
    pub bad: OnBad,
    pub threads: usize,
}

impl Question {
    /// All classes of its columns.
    pub fn classes(&self) -> Classes {
        all_of(&self.asks)
    }
}

fn all_of(asks: &Asks) -> Classes {
    asks.iter().fold(Classes::NONE, |all, of| all.and(*of))
}

impl Keyed<'_> {
    fn fields(&self) -> &[Field] {
        &self.common.recipe.key
    }

    /// The parts of a key.
    pub fn width(&self) -> usize {
        self.common.recipe.key.len()
    }

    /// The forms in which values of these classes are asked.
    pub fn forms(&self, asks: &Asks) -> Option<Vec<Forms>> {
        classes::of_columns(self.classes, self.fields(), asks)
    }

    /// Hears of the answers to a question.
    pub fn hear(&self, py: Python<'_>, asks: &Asks, asked: u64, found: u64) -> PyResult<()> {
        self.hear_by(py, asks, Hits { asked, found }, By::Method)
    }

    /// The same, of who asked.
    pub fn hear_by(&self, py: Python<'_>, asks: &Asks, hits: Hits, by: By) -> PyResult<()> {
        self.heard.hear(py, self.classes, self.fields(), asks, (hits, by))
    }

    /// Refuses a question that this kind cannot answer.
    pub fn refuse(&self, counts: bool) -> PyResult<()> {
        let kind = self.common.kind;
        if kind.counts() == counts {
            return Ok(());
        }
        Err(PyValueError::new_err(match counts {
            true => format!(
                "a {kind} filter does not count: ask contains, or build kind=\"count-min\" for estimates"
            ),
            false => format!(
                "a {kind} sketch counts how often keys occur: use estimate, or build kind=\"blocked\" for a filter"
            ),
        }))
    }

    /// How much of records is asked. Kinds without layers are asked for keys alone.
    pub fn extent(&self, partial: bool) -> PyResult<Extent> {
        let extent = Extent::partial_if(partial);
        extent.check(self.common.kind).map_err(refused)?;
        Ok(extent)
    }

    /// The columns of rows that are asked. `named` has other names of them, and with `own` that of the group follows.
    fn columns(&self, named: Option<&Bound<'_, PyDict>>, own: bool) -> PyResult<Vec<Column>> {
        let stored = &self.common.recipe;
        let recipe = match named {
            Some(named) => Options(named.clone()).applied(stored)?,
            None => stored.clone(),
        };
        let group = if own { recipe.group.clone() } else { None };
        Ok(Recipe { group, weight: None, ..recipe }.columns())
    }

    /// The names of the columns of a table that are asked; none where some have no name.
    pub fn names(&self, named: Option<&Bound<'_, PyDict>>, own: bool) -> PyResult<Option<Vec<String>>> {
        let name = |column: Column| match column {
            Column::Name(name) | Column::List(name) => Some(name),
            _ => None,
        };
        Ok(self.columns(named, own)?.into_iter().map(name).collect())
    }

    /// What is asked: by keys alone, or by the columns of a table.
    pub fn question(
        &self,
        keys: &Bound<'_, PyAny>,
        (named, own): (Option<&Bound<'_, PyDict>>, bool),
        bad: Option<String>,
        on: Option<usize>,
    ) -> PyResult<Question> {
        let table = Arc::new(rows(keys, self.width())?);
        // A table has the columns of the recipe; everything else holds keys and nothing more.
        let columns = match table.are_keys {
            true if own => {
                return Err(PyValueError::new_err("own_group needs a table, with the column of the group"));
            }
            true => by_number(self.width()),
            false => self.columns(named, own)?,
        };
        if !table.are_keys && columns == [Column::Line] {
            return Err(PyValueError::new_err(
                "this was built from keys, not from a table: ask with a column, such as table[\"id\"], or name it by key=",
            ));
        }
        let asked = Asked::new(table.clone(), &columns).map_err(raised)?;
        let of_key = &asked.columns()[..self.width()];
        let asks: Asks = of_key.iter().map(|&column| table.classes(column)).collect();
        let filled = table.filled(of_key);
        let forms = self.forms(&asks);
        let (bad, threads) = (bad_rows(bad)?, threads_for(on, asked.rows())?);
        Ok(Question { asked, asks, filled, forms, bad, threads })
    }
}

/// One key.
pub struct One {
    key: Vec<Part>,
    pub asks: Asks,
}

impl One {
    pub fn of(keyed: &Keyed<'_>, key: &Bound<'_, PyAny>) -> PyResult<One> {
        let key = one_key(key, keyed.width())?;
        let asks = key.iter().map(|(_, class)| class.iter().copied().collect()).collect();
        Ok(One { key, asks })
    }

    pub fn parts(&self) -> Vec<Option<&[u8]>> {
        self.key.iter().map(|(text, _)| text.as_deref()).collect()
    }

    /// All classes of its parts.
    pub fn classes(&self) -> Classes {
        all_of(&self.asks)
    }
}

/// The message for a single invalid key.
pub fn no_key(bad: BadValue) -> PyErr {
    let why = Keyless::Key(bad);
    Failure::new_err(format!("{why}; bad_rows=\"skip\" answers that it is not there"))
}

/// The answer to a single key; for an invalid key a fallback, if that is allowed.
pub fn or_else<T>(answer: Result<T, BadValue>, bad_rows: OnBad, nothing: T) -> PyResult<T> {
    match answer {
        Ok(answer) => Ok(answer),
        Err(_) if bad_rows == OnBad::Skip => Ok(nothing),
        Err(bad) => Err(no_key(bad)),
    }
}

/// Bits for the rows of each part, as answers; and how many of them are set.
pub fn truths(asked: &Asked, bits: Vec<Vec<u64>>) -> (Answers, u64) {
    let found = bits.iter().flatten().map(|word| u64::from(word.count_ones())).sum();
    let part = |(part, bits): (usize, Vec<u64>)| -> ArrayRef {
        let bits = BooleanBuffer::new(Buffer::from_vec(bits), 0, asked.rows_of(part));
        Arc::new(BooleanArray::new(bits, None))
    };
    let parts = bits.into_iter().enumerate().map(part).collect();
    (Answers { parts, values: Values::Truths }, found)
}

/// The answers to keys that come as their hashes.
pub fn truths_of_hashes(
    py: Python<'_>,
    hashes: Vec<u64>,
    bad: Option<String>,
    on: Option<usize>,
    contains: impl FnOnce(&[u64], usize, &Control) -> tamis_read::Result<Vec<bool>> + Send,
) -> PyResult<Answers> {
    bad_rows(bad)?; // what is not to be had is refused, though all rows have keys
    let rows = hashes.len() as u64;
    let threads = threads_for(on, rows)?;
    let found = patience::run(py, rows / patience::OF_HASHES, |control| contains(&hashes, threads, control))?;
    Ok(Answers { parts: vec![Arc::new(BooleanArray::from(found))], values: Values::Truths })
}

/// A truth for each row, as answers in the parts of the table.
pub fn truths_of_rows(asked: &Asked, rows: &[bool]) -> Answers {
    let mut left = rows;
    let part = |part: usize| -> ArrayRef {
        let (now, later) = left.split_at(asked.rows_of(part));
        left = later;
        Arc::new(BooleanArray::from(now.to_vec()))
    };
    Answers { parts: (0..asked.parts()).map(part).collect(), values: Values::Truths }
}

/// Codes for the rows of each part, as answers.
pub fn codes(found: Vec<Vec<i8>>) -> Answers {
    let part = |codes: Vec<i8>| -> ArrayRef { Arc::new(Int8Array::new(ScalarBuffer::from(codes), None)) };
    Answers { parts: found.into_iter().map(part).collect(), values: Values::Codes }
}
