//! Sketches as Python holds them: in memory, or mapped from a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, BooleanArray, Int8Array, UInt64Array};
use arrow_buffer::{BooleanBuffer, Buffer, ScalarBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};
use tamis::about::{About, Class, Classes};
use tamis::format::MAGIC;
use tamis::key::{BadValue, Column, Field, keywords_of};
use tamis::params::{GroupParams, Name};
use tamis::sizing::Kind;
use tamis_jobs::ask::Extent;
use tamis_jobs::classes::{self, Converted, Doubt, Forms, Hits};
use tamis_jobs::inspect;
use tamis_jobs::lookup::{self, Lookup};
use tamis_make::count_min::{Promise, top_of_open};
use tamis_make::files::{self, Mapped};
use tamis_make::foreign::{self, Said};
use tamis_make::health::{Health, health, of_sketch};
use tamis_make::rows::{Keyless, OnBad};
use tamis_make::text::listed_names;
use tamis_make::{groups, memory, merge, pipe};
use tamis_read::table::Asked;
use tamis_read::{Control, Error, Table};
use tamis_report::health::{crowded_text, overfull_text};

use crate::answers::{Answers, Values};
use crate::errors::{Failure, UsedUp, key_wanted, raised, refused, wrong_job};
use crate::heard::{Asks, By, Heard, words};
use crate::one::{Plain, takes};
use crate::options::{Options, bad_rows, threads, threads_for};
use crate::patience;
use crate::rows::{Part, by_number, one_key, rows, with_text};

/// A container of sketches.
#[pyclass(frozen, module = "tamis._tamis")]
pub struct File {
    pub file: Mapped,
    /// Where it was opened.
    pub path: Option<PathBuf>,
    /// Rows left out when it was built.
    pub skipped: u64,
    /// What was asked by keys of other classes.
    pub heard: Heard,
    /// How single keys are asked at once, where they can be.
    pub plain: Option<Plain>,
}

impl File {
    /// Sketches in memory.
    pub fn kept(file: Mapped) -> File {
        let plain = Plain::of(&file);
        File { file, path: None, skipped: 0, heard: Heard::default(), plain }
    }

    /// The classes of its keys.
    fn classes(&self) -> Classes {
        self.file.about().key_classes()
    }

    fn fields(&self) -> &[Field] {
        &self.file.params().common.recipe.key
    }

    /// The forms in which values of these classes are asked.
    fn forms(&self, asks: &Asks) -> Option<Vec<Forms>> {
        classes::of_columns(self.classes(), self.fields(), asks)
    }

    /// Hears of the answers to a question.
    fn hear(&self, py: Python<'_>, asks: &Asks, asked: u64, found: u64) -> PyResult<()> {
        let hits = Hits { asked, found };
        self.heard.hear(py, self.classes(), self.fields(), asks, (hits, By::Method))
    }

    fn width(&self) -> usize {
        self.file.params().common.recipe.key.len()
    }

    /// The number of a group.
    pub fn group(&self, name: Option<&Bound<'_, PyAny>>) -> PyResult<Option<usize>> {
        let Some(name) = name else { return Ok(None) };
        let params = self.file.params();
        let name = with_text(name, |text, _| Name(text.unwrap_or_default().to_vec()))?;
        let found = groups::find(params, &name).map_err(|refusal| match refusal {
            groups::Refusal::NoGroup { there, more, .. } if params.common.recipe.group.is_some() => {
                format!("there is no group {name:?}; there are {}", listed_names(&there, more))
            }
            _ => format!("there is no group {name:?}: these have no groups; leave out group"),
        });
        found.map(Some).map_err(PyValueError::new_err)
    }

    /// Refuses a question that this kind cannot answer.
    fn refuse(&self, counts: bool) -> PyResult<()> {
        let kind = self.file.params().common.kind;
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
    fn extent(&self, partial: bool) -> PyResult<Extent> {
        let extent = Extent::partial_if(partial);
        extent.check(self.file.params().common.kind).map_err(refused)?;
        Ok(extent)
    }

    fn asked(&self, keys: &Bound<'_, PyAny>) -> PyResult<(Asked, Asks, u64)> {
        let table = Arc::new(rows(keys, self.width())?);
        // A table has the columns of the recipe; everything else holds keys and nothing more.
        let columns = match table.are_keys {
            true => by_number(self.width()),
            false => self.file.params().common.recipe.columns()[..self.width()].to_vec(),
        };
        if !table.are_keys && columns == [Column::Line] {
            return Err(PyValueError::new_err(
                "this was built from keys, not from a table: ask with a column, such as table[\"id\"]",
            ));
        }
        let asked = Asked::new(table.clone(), &columns).map_err(raised)?;
        let asks = asked.columns().iter().map(|&column| table.classes(column)).collect();
        let filled = table.filled(asked.columns());
        Ok((asked, asks, filled))
    }
}

/// One key.
struct One {
    key: Vec<Part>,
    asks: Asks,
}

impl One {
    fn of(file: &File, key: &Bound<'_, PyAny>) -> PyResult<One> {
        let key = one_key(key, file.width())?;
        let asks = key.iter().map(|(_, class)| class.iter().copied().collect()).collect();
        Ok(One { key, asks })
    }

    fn parts(&self) -> Vec<Option<&[u8]>> {
        self.key.iter().map(|(text, _)| text.as_deref()).collect()
    }

    fn forms(&self, file: &File) -> Option<Vec<Forms>> {
        file.forms(&self.asks)
    }
}

/// Many keys, and how they are asked.
struct Question {
    asked: Asked,
    /// The classes of its columns.
    asks: Asks,
    /// Rows that have a value in them.
    filled: u64,
    forms: Option<Vec<Forms>>,
    group: Option<usize>,
    bad: OnBad,
    threads: usize,
}

impl File {
    /// What is asked of sketches that count, or of filters.
    fn question(
        &self,
        counts: bool,
        keys: &Bound<'_, PyAny>,
        group: Option<&Bound<'_, PyAny>>,
        bad: Option<String>,
        on: Option<usize>,
    ) -> PyResult<Question> {
        self.refuse(counts)?;
        let group = if counts { Some(self.one_group(group)?) } else { self.group(group)? };
        let (asked, asks, filled) = self.asked(keys)?;
        let forms = self.forms(&asks);
        let (bad, threads) = (bad_rows(bad)?, threads_for(on, asked.rows())?);
        Ok(Question { asked, asks, filled, forms, group, bad, threads })
    }
}

impl File {
    /// Whether one key may be in any group, for the operator `in`.
    pub fn has_one(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.refuse(false)?;
        self.has(key, None, OnBad::Fail, Extent::Record, By::Operator)
    }

    /// Whether one key may be in a group, or in any.
    fn has(
        &self,
        key: &Bound<'_, PyAny>,
        group: Option<usize>,
        bad: OnBad,
        extent: Extent,
        by: By,
    ) -> PyResult<bool> {
        if self.width() == 1 && extent == Extent::Record {
            let quick = with_text(key, |text, class| {
                let plain = class.is_none_or(|class| takes(self.classes(), class));
                plain.then(|| lookup::contains_one(&self.file, group, &[text]))
            })?;
            if let Some(found) = quick {
                return or_else(found.map_err(raised)?, bad, false);
            }
        }
        let one = One::of(self, key)?;
        let found = match one.forms(self) {
            None if extent == Extent::Record => {
                lookup::contains_one(&self.file, group, &one.parts()).map_err(raised)?
            }
            forms => {
                let lookup = Lookup::new(&self.file, group, extent).map_err(raised)?.in_forms(forms);
                lookup.contains_one(&one.parts())
            }
        };
        let found = or_else(found, bad, false)?;
        let hits = Hits { asked: 1, found: u64::from(found) };
        self.heard.hear(key.py(), self.classes(), self.fields(), &one.asks, (hits, by))?;
        Ok(found)
    }
}

/// The name of a group: a str, or bytes where it is no text.
fn name_of<'py>(py: Python<'py>, name: &Name) -> Bound<'py, PyAny> {
    text_of(py, &name.0)
}

fn text_of<'py>(py: Python<'py>, bytes: &[u8]) -> Bound<'py, PyAny> {
    match str::from_utf8(bytes) {
        Ok(text) => PyString::new(py, text).into_any(),
        Err(_) => PyBytes::new(py, bytes).into_any(),
    }
}

/// The message for a single invalid key.
fn no_key(bad: BadValue) -> PyErr {
    let why = Keyless::Key(bad);
    Failure::new_err(format!("{why}; bad_rows=\"skip\" answers that it is not there"))
}

/// The answer to a single key; for an invalid key a fallback, if that is allowed.
fn or_else<T>(answer: Result<T, BadValue>, bad_rows: OnBad, nothing: T) -> PyResult<T> {
    match answer {
        Ok(answer) => Ok(answer),
        Err(_) if bad_rows == OnBad::Skip => Ok(nothing),
        Err(bad) => Err(no_key(bad)),
    }
}

#[pymethods]
impl File {
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.path.clone()
    }

    #[getter]
    fn skipped(&self) -> u64 {
        self.skipped
    }

    #[getter]
    fn kind(&self) -> String {
        self.file.params().common.kind.to_string()
    }

    #[getter]
    fn recipe(&self) -> String {
        self.file.params().common.recipe.to_string()
    }

    /// The parts of a key.
    #[getter]
    fn parts(&self) -> usize {
        self.width()
    }

    #[getter]
    fn grouped(&self) -> bool {
        self.file.params().common.recipe.group.is_some()
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.file.bytes().len()
    }

    #[getter]
    fn params(&self) -> String {
        self.file.params().to_json()
    }

    /// What is recorded about it, as JSON.
    #[getter]
    fn about(&self) -> String {
        serde_json::to_string(self.file.about()).expect("what was read from JSON")
    }

    #[getter]
    fn format_version(&self) -> u32 {
        self.file.version()
    }

    fn inspect(&self, py: Python<'_>) -> PyResult<String> {
        let found = py.detach(|| inspect::file(&self.file, self.path.as_deref()));
        Ok(found.map_err(raised)?.to_string())
    }

    fn group_names<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyAny>> {
        let mut names: Vec<&Name> = self.file.params().groups.iter().map(|group| &group.group).collect();
        names.sort_by(|a, b| a.compare_naturally(b));
        names.into_iter().map(|name| name_of(py, name)).collect()
    }

    fn contains_one(
        &self,
        key: &Bound<'_, PyAny>,
        group: Option<&Bound<'_, PyAny>>,
        bad: Option<String>,
        partial: bool,
    ) -> PyResult<bool> {
        self.refuse(false)?;
        let (group, bad, extent) = (self.group(group)?, bad_rows(bad)?, self.extent(partial)?);
        self.has(key, group, bad, extent, By::Method)
    }

    fn contains(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        group: Option<&Bound<'_, PyAny>>,
        bad: Option<String>,
        on: Option<usize>,
        partial: bool,
    ) -> PyResult<Answers> {
        let extent = self.extent(partial)?;
        let Question { asked, asks, filled, forms, group, bad, threads } =
            self.question(false, keys, group, bad, on)?;
        let bits = patience::run(py, asked.rows(), |control| {
            Lookup::new(&self.file, group, extent)?.in_forms(forms).contains(&asked, bad, threads, control)
        })?;
        let found = bits.iter().flatten().map(|word| u64::from(word.count_ones())).sum();
        self.hear(py, &asks, filled, found)?;
        let part = |(part, bits): (usize, Vec<u64>)| -> ArrayRef {
            let bits = BooleanBuffer::new(Buffer::from_vec(bits), 0, asked.rows_of(part));
            Arc::new(BooleanArray::new(bits, None))
        };
        let parts = bits.into_iter().enumerate().map(part).collect();
        Ok(Answers { parts, values: Values::Truths })
    }

    /// Whether the key of each row may be in the set: 1 or 0, and 2 of a row without a key. On one thread.
    fn codes(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        group: Option<&Bound<'_, PyAny>>,
        bad: Option<String>,
        partial: bool,
    ) -> PyResult<Answers> {
        let extent = self.extent(partial)?;
        // On an executor nobody hears a warning: who starts the job is told.
        let Question { asked, forms, group, bad, .. } = self.question(false, keys, group, bad, Some(1))?;
        let found = py.detach(|| {
            Lookup::new(&self.file, group, extent)?.in_forms(forms).codes(&asked, bad, 1, &Control::default())
        });
        let part = |codes: Vec<i8>| -> ArrayRef { Arc::new(Int8Array::new(ScalarBuffer::from(codes), None)) };
        let parts = found.map_err(raised)?.into_iter().map(part).collect();
        Ok(Answers { parts, values: Values::Codes })
    }

    /// A digest of the file, in hexadecimal.
    #[getter]
    fn digest(&self) -> String {
        format!("{:032x}", self.file.digest())
    }

    fn groups_one<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        bad: Option<String>,
        partial: bool,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.refuse(false)?;
        let (one, extent) = (One::of(self, key)?, self.extent(partial)?);
        let lookup = Lookup::new(&self.file, None, extent).map_err(raised)?.in_forms(one.forms(self));
        let found = or_else(lookup.groups_one(&one.parts()), bad_rows(bad)?, Vec::new())?;
        self.hear(key.py(), &one.asks, 1, u64::from(!found.is_empty()))?;
        let groups = &self.file.params().groups;
        let mut names: Vec<&Name> = found.iter().map(|&at| &groups[at].group).collect();
        names.sort_by(|a, b| a.compare_naturally(b));
        Ok(names.into_iter().map(|name| name_of(key.py(), name)).collect())
    }

    fn groups<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        bad: Option<String>,
        on: Option<usize>,
        partial: bool,
    ) -> PyResult<Vec<Vec<Bound<'py, PyAny>>>> {
        let extent = self.extent(partial)?;
        let Question { asked, asks, filled, forms, group, bad, threads } =
            self.question(false, keys, None, bad, on)?;
        let found = patience::run(py, asked.rows(), |control| {
            Lookup::new(&self.file, group, extent)?.in_forms(forms).groups(&asked, bad, threads, control)
        })?;
        let hits = found.iter().flatten().filter(|groups| !groups.is_empty()).count();
        self.hear(py, &asks, filled, hits as u64)?;
        let groups = &self.file.params().groups;
        let order = self.file.params().natural_order();
        let mut place = vec![0; groups.len()];
        order.iter().enumerate().for_each(|(at, &group)| place[group] = at);
        let names: Vec<_> = order.iter().map(|&group| name_of(py, &groups[group].group)).collect();
        let named = |found: Vec<u32>| {
            let mut places: Vec<usize> = found.into_iter().map(|group| place[group as usize]).collect();
            places.sort_unstable();
            places.into_iter().map(|place| names[place].clone()).collect()
        };
        Ok(found.into_iter().flatten().map(named).collect())
    }

    fn estimate_one(
        &self,
        key: &Bound<'_, PyAny>,
        group: Option<&Bound<'_, PyAny>>,
        bad: Option<String>,
    ) -> PyResult<u64> {
        self.refuse(true)?;
        let one = One::of(self, key)?;
        let group = Some(self.one_group(group)?);
        let lookup =
            Lookup::new(&self.file, group, Extent::Record).map_err(raised)?.in_forms(one.forms(self));
        let found = or_else(lookup.estimates_one(&one.parts()), bad_rows(bad)?, Vec::new())?;
        let estimate = found.first().map_or(0, |(_, estimate)| *estimate);
        self.hear(key.py(), &one.asks, 1, u64::from(estimate > 0))?;
        Ok(estimate)
    }

    fn estimate(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        group: Option<&Bound<'_, PyAny>>,
        bad: Option<String>,
        on: Option<usize>,
    ) -> PyResult<Answers> {
        let Question { asked, asks, filled, forms, group, bad, threads } =
            self.question(true, keys, group, bad, on)?;
        let found = patience::run(py, asked.rows(), |control| {
            Lookup::new(&self.file, group, Extent::Record)?
                .in_forms(forms)
                .estimates(&asked, bad, threads, control)
        })?;
        let hits = found.iter().flatten().filter(|estimate| **estimate > 0).count();
        self.hear(py, &asks, filled, hits as u64)?;
        let part =
            |numbers: Vec<u64>| -> ArrayRef { Arc::new(UInt64Array::new(ScalarBuffer::from(numbers), None)) };
        Ok(Answers { parts: found.into_iter().map(part).collect(), values: Values::Numbers })
    }

    /// The kept keys of a share, the heaviest first: group, key and estimate, which a key has not whose
    /// counters ran full.
    #[expect(clippy::type_complexity)]
    fn top<'py>(
        &self,
        py: Python<'py>,
        share: Option<f64>,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>, Option<u64>)>> {
        self.refuse(true)?;
        let name = self.path.clone().unwrap_or_else(|| "this sketch".into());
        let listing = py.detach(|| top_of_open(&self.file, &name, share)).map_err(raised)?;
        let mut all = Vec::new();
        for group in listing.groups {
            for hit in group.keys {
                let key = match listing.common.recipe.keys_have_parts() {
                    false => text_of(py, &hit.key),
                    true => {
                        let parts: Vec<_> = keywords_of(&hit.key).map(|part| text_of(py, part)).collect();
                        PyTuple::new(py, parts)?.into_any()
                    }
                };
                all.push((name_of(py, &group.group), key, (!hit.full).then_some(hit.estimate)));
            }
        }
        Ok(all)
    }

    /// What is to be said of filters that hold more keys than they can, or whose rate is at least this.
    #[pyo3(signature = (least=None))]
    fn overfull(&self, least: Option<f64>) -> PyResult<Option<String>> {
        let params = self.file.params();
        let mut full: Vec<(&GroupParams, Health)> = Vec::new();
        for (at, (group, tally)) in params.groups.iter().zip(self.file.tallies()).enumerate() {
            let health = match params.common.kind {
                kind @ Kind::Layered => of_sketch(
                    kind,
                    group,
                    tally,
                    &self.file.sketch(at).map_err(|error| raised(error.into()))?,
                ),
                kind => health(kind, group, tally),
            };
            if health.overfull || least.is_some_and(|least| health.rate >= least) {
                full.push((group, health));
            }
        }
        let worst = full.iter().max_by(|a, b| a.1.rate.total_cmp(&b.1.rate));
        Ok(worst.map(|(group, health)| {
            let all = if full.len() > 1 { format!(" ({} are too full)", full.len()) } else { String::new() };
            match health.overfull {
                true => overfull_text(health, &group.group, group.fpr(), health.rate) + &all,
                false => crowded_text(&group.group, health.rate) + &all,
            }
        }))
    }

    /// The share from which on keys are kept.
    #[getter]
    fn heavy_share(&self) -> Option<f64> {
        self.file.heavy().map(|heavy| heavy.share)
    }

    /// The largest bound of all groups.
    fn bound(&self) -> PyResult<u64> {
        self.refuse(true)?;
        let groups = self.file.params().groups.iter().zip(self.file.tallies());
        let bounds = groups.map(|(group, tally)| Promise::of(group, tally.total_weight()).bound());
        Ok(bounds.max().unwrap_or(0))
    }

    /// The sum of all weights, over all groups.
    fn total(&self) -> PyResult<u64> {
        self.refuse(true)?;
        let totals = self.file.tallies().iter().map(|tally| tally.total_weight());
        Ok(totals.fold(0, u64::saturating_add))
    }

    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        let groups = self.file.params().groups.len();
        let found = py.detach(|| (0..groups).try_for_each(|group| self.file.verify(group)));
        found.map_err(|error| match &self.path {
            Some(path) => raised(Error::File { path: path.clone(), source: error }),
            None => raised(error.into()),
        })
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let written = py.detach(|| files::write_whole(&path, |out| out.write_all(self.file.bytes())));
        written.map_err(raised)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.file.bytes())
    }

    /// The bytes of one filter as another system has them.
    fn for_others<'py>(
        &self,
        py: Python<'py>,
        to: &str,
        group: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let target = foreign::Target::named(to).map_err(|there| {
            PyValueError::new_err(format!("{to:?} is no format of another system: {there}"))
        })?;
        let group = self.group(group)?;
        let filter = foreign::filter_of(&self.file, group, target).map_err(refused)?;
        let bytes = py.detach(|| foreign::to_bytes(&filter));
        Ok(PyBytes::new(py, &bytes.map_err(|error| PyValueError::new_err(error.to_string()))?))
    }

    /// Whether both hold the same, whatever is recorded about them.
    fn same(&self, py: Python<'_>, other: &File) -> bool {
        let (ours, theirs) = (&self.file, &other.file);
        py.detach(|| ours.digest() == theirs.digest() && ours.data() == theirs.data())
    }

    /// What is to be said where columns of these classes ask.
    fn doubts(&self, asks: Vec<String>) -> Vec<String> {
        let class = |name: &String| Class::ALL.into_iter().find(|class| class.name() == name);
        let doubts = self.fields().iter().zip(&asks).filter_map(|(field, name)| {
            Doubt::of(self.classes(), field, class(name)?, Converted::Yes).map(|doubt| words(&doubt))
        });
        doubts.collect()
    }
}

impl File {
    /// The group that an estimate is asked of: there must be one.
    fn one_group(&self, name: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
        match self.group(name)? {
            Some(group) => Ok(group),
            None if self.file.params().common.recipe.group.is_none() => Ok(0),
            None => Err(PyValueError::new_err("each group has counts of its own: name one with group=")),
        }
    }
}

/// Sketches in the making.
#[pyclass(frozen, module = "tamis._tamis")]
pub struct Builder {
    builder: Mutex<Option<memory::Builder>>,
    width: usize,
}

#[pymethods]
impl Builder {
    #[new]
    fn new(options: Bound<'_, PyDict>) -> PyResult<Self> {
        let job = Options(options).job()?;
        let width = job.recipe.key.len();
        let builder = Mutex::new(Some(memory::Builder::new(job).map_err(wrong_job)?));
        Ok(Builder { builder, width })
    }

    fn add(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let table = rows(data, self.width)?;
        let count = (0..table.parts()).map(|part| table.rows(part) as u64).sum();
        patience::run(py, count, |control| {
            let mut builder = self.builder.lock().unwrap_or_else(PoisonError::into_inner);
            builder.as_mut().ok_or(UsedUp)?.add(Arc::new(table), control)
        })
    }

    fn finish(&self, py: Python<'_>) -> PyResult<File> {
        let done = py.detach(|| {
            let builder = self.builder.lock().unwrap_or_else(PoisonError::into_inner).take();
            builder.ok_or(UsedUp)?.finish()
        });
        let report = done.map_err(raised)?;
        Ok(File { skipped: report.skipped, ..File::kept(report.file) })
    }
}

/// Opens a file, of which its builder may tell how many rows were left out.
#[pyfunction]
#[pyo3(signature = (path, skipped=0, layout=None, funnel=None))]
pub fn open(
    py: Python<'_>,
    path: PathBuf,
    skipped: u64,
    layout: Option<&str>,
    funnel: Option<&str>,
) -> PyResult<File> {
    let said = Said::by_names(layout, funnel).map_err(PyValueError::new_err)?;
    // Here a `-` is a name like any other, and no pipe.
    let name = if pipe::is_stdin(&path) { Path::new(".").join(&path) } else { path.clone() };
    let (file, _) = py.detach(|| foreign::open_to_ask(&name, &said)).map_err(raised)?;
    Ok(File { path: Some(path), skipped, ..File::kept(file) })
}

/// Opens a file of which nobody else knows, and takes its name away: it lasts as long as it is open.
#[pyfunction]
#[pyo3(signature = (path, skipped=0))]
pub fn take_over(py: Python<'_>, path: PathBuf, skipped: u64) -> PyResult<File> {
    let opened = open(py, path.clone(), skipped, None, None)?;
    fs::remove_file(path)?; // it stays mapped
    Ok(File { path: None, ..opened })
}

/// Sketches of the bytes that `to_bytes` gave, or that another system wrote.
#[pyfunction]
#[pyo3(signature = (bytes, layout=None, funnel=None))]
pub fn from_bytes(
    py: Python<'_>,
    bytes: &[u8],
    layout: Option<&str>,
    funnel: Option<&str>,
) -> PyResult<File> {
    let said = Said::by_names(layout, funnel).map_err(PyValueError::new_err)?;
    if said != Said::default() || !bytes.starts_with(&MAGIC) {
        let theirs = py.detach(|| foreign::of_bytes(bytes, &said));
        if let Some(file) = theirs.map_err(|error| Failure::new_err(format!("these bytes: {error}")))? {
            return Ok(File::kept(file));
        }
    }
    let verified = |file: Mapped| {
        (0..file.params().groups.len()).try_for_each(|group| file.verify(group))?;
        Ok(file)
    };
    // Bytes come from anywhere: what is damaged would answer wrongly.
    py.detach(|| files::from_bytes(bytes).and_then(verified))
        .map(File::kept)
        .map_err(|error| Failure::new_err(format!("these bytes: {error}{}", key_wanted(&error))))
}

/// What is recorded about some sketches and not about all of them: what their merge does not have.
#[pyfunction]
pub fn not_shared(files: Vec<Py<File>>) -> Vec<String> {
    About::merged(files.iter().map(|file| file.get().file.about())).1
}

/// Merges sketches. What is recorded about them is kept where they share it, or that of the first is.
#[pyfunction]
pub fn merge_files(
    py: Python<'_>,
    files: Vec<Py<File>>,
    on: Option<usize>,
    about_first: bool,
) -> PyResult<File> {
    let on = threads(on)?;
    let files: Vec<&File> = files.iter().map(Py::get).collect();
    let called = |(i, file): (usize, &&File)| {
        file.path.clone().unwrap_or_else(|| format!("sketch {} of {}", i + 1, files.len()).into())
    };
    let names: Vec<PathBuf> = files.iter().enumerate().map(called).collect();
    let inner: Vec<&Mapped> = files.iter().map(|file| &file.file).collect();
    let rows = inner.iter().map(|file| file.bytes().len() as u64).sum();
    let about = inner.first().filter(|_| about_first).map(|file| file.about());
    patience::run(py, rows, |control| merge::merge_in_memory(&inner, &names, about, on, control))
        .map(File::kept)
}
