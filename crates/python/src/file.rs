//! Sketches as Python holds them: in memory, or mapped from a file.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, UInt64Array};
use arrow_buffer::ScalarBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tamis::about::Class;
use tamis::params::Name;
use tamis_jobs::ask::Extent;
use tamis_jobs::classes::{Converted, Doubt, Hits};
use tamis_jobs::inspect;
use tamis_jobs::lookup::{self, Lookup};
use tamis_jobs::row_by_row::{self, Of};
use tamis_make::count_min::Promise;
use tamis_make::exact::{self, Store};
use tamis_make::files::{self, Mapped};
use tamis_make::foreign;
use tamis_make::groups;
use tamis_make::rows::OnBad;
use tamis_make::text::listed_names;
use tamis_read::{Control, Error};

use crate::answers::{Answers, Values};
use crate::ask::{Keyed, One, Question, codes, or_else, truths, truths_of_hashes, truths_of_rows};
use crate::errors::{raised, refused};
use crate::heard::{By, Heard, words};
use crate::one::{Plain, takes};
use crate::options::bad_rows;
use crate::patience;
use crate::rows::with_text;
use crate::state::{self, name_of};

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
        let plain = Plain::of(&file.params().common, file.about().key_classes());
        File { file, path: None, skipped: 0, heard: Heard::default(), plain }
    }

    /// How its keys are made, and what was said of those that asked.
    pub fn keyed(&self) -> Keyed<'_> {
        let classes = self.file.about().key_classes();
        Keyed { common: &self.file.params().common, classes, heard: &self.heard }
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

    /// The keys themselves, which must lie beside the file.
    fn keys_beside(&self) -> PyResult<Store> {
        let Some(path) = &self.path else {
            return Err(PyValueError::new_err(
                "strict compares with the keys themselves, which lie beside a file: build with exact=True and output=, \
                 or open that file",
            ));
        };
        Store::open(path, &self.file).map_err(raised)
    }

    /// The group that an estimate is asked of: there must be one.
    fn one_group(&self, name: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
        match self.group(name)? {
            Some(group) => Ok(group),
            None if self.file.params().common.recipe.group.is_none() => Ok(0),
            None => Err(PyValueError::new_err("each group has counts of its own: name one with group=")),
        }
    }

    /// Whether one key may be in any group, for the operator `in`.
    pub fn has_one(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.keyed().refuse(false)?;
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
        let keyed = self.keyed();
        if keyed.width() == 1 && extent == Extent::Record {
            let quick = with_text(key, |text, class| {
                let plain = class.is_none_or(|class| takes(keyed.classes, class));
                plain.then(|| lookup::contains_one(&self.file, group, &[text]))
            })?;
            if let Some(found) = quick {
                return or_else(found.map_err(raised)?, bad, false);
            }
        }
        let one = One::of(&keyed, key)?;
        let found = match keyed.forms(&one.asks) {
            None if extent == Extent::Record => {
                lookup::contains_one(&self.file, group, &one.parts()).map_err(raised)?
            }
            forms => {
                let lookup = Lookup::new(&self.file, group, extent).map_err(raised)?.in_forms(forms);
                lookup.contains_one(&one.parts())
            }
        };
        let found = or_else(found, bad, false)?;
        keyed.hear_by(key.py(), &one.asks, Hits { asked: 1, found: u64::from(found) }, by)?;
        Ok(found)
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
        self.keyed().width()
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
        self.keyed().refuse(false)?;
        let (group, bad, extent) = (self.group(group)?, bad_rows(bad)?, self.keyed().extent(partial)?);
        self.has(key, group, bad, extent, By::Method)
    }

    #[pyo3(signature = (keys, group, bad, on, partial, named=None))]
    #[expect(clippy::too_many_arguments, reason = "they are those of the method in Python")]
    fn contains(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        group: Option<&Bound<'_, PyAny>>,
        bad: Option<String>,
        on: Option<usize>,
        partial: bool,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Answers> {
        let keyed = self.keyed();
        keyed.refuse(false)?;
        let (group, extent) = (self.group(group)?, keyed.extent(partial)?);
        if let Some(hashes) = self.plain.and_then(|plain| plain.asks_list(keys)) {
            return truths_of_hashes(py, hashes, bad, on, |hashes, threads, control| {
                Lookup::new(&self.file, group, extent)?.contains_hashes(hashes, threads, control)
            });
        }
        let Question { asked, asks, filled, forms, bad, threads } =
            keyed.question(keys, (named, false), bad, on)?;
        let bits = patience::run(py, asked.rows(), |control| {
            Lookup::new(&self.file, group, extent)?.in_forms(forms).contains(&asked, bad, threads, control)
        })?;
        let (answers, found) = truths(&asked, bits);
        keyed.hear(py, &asks, filled, found)?;
        Ok(answers)
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
        let keyed = self.keyed();
        keyed.refuse(false)?;
        let (group, extent) = (self.group(group)?, keyed.extent(partial)?);
        // On an executor nobody hears a warning: who starts the job is told.
        let Question { asked, forms, bad, .. } = keyed.question(keys, (None, false), bad, Some(1))?;
        let found = py.detach(|| {
            Lookup::new(&self.file, group, extent)?.in_forms(forms).codes(&asked, bad, 1, &Control::default())
        });
        Ok(codes(found.map_err(raised)?))
    }

    /// Whether the key of each row is there, row by row: in its own group, or by the keys themselves, which lie beside
    /// the file. `how` says which of both.
    #[expect(clippy::too_many_arguments, reason = "they are those of the method in Python")]
    fn by_row(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        group: Option<&Bound<'_, PyAny>>,
        bad: Option<String>,
        how: (bool, bool),
        named: Option<&Bound<'_, PyDict>>,
        memory: Option<u64>,
    ) -> PyResult<Answers> {
        let ((own, strict), keyed) = (how, self.keyed());
        keyed.refuse(false)?;
        let of = match self.group(group)? {
            _ if own && !self.grouped() => {
                return Err(PyValueError::new_err("these have no groups: leave out own_group"));
            }
            _ if own => Of::Own,
            Some(group) => Of::One(group),
            None => Of::Any,
        };
        let store = strict.then(|| self.keys_beside()).transpose()?;
        let Question { asked, asks, filled, forms, bad, .. } =
            keyed.question(keys, (named, own), bad, Some(1))?;
        let memory = memory.unwrap_or(exact::MEMORY);
        let exactly = store.as_ref().map(|store| (store, memory));
        let question = row_by_row::Question { file: &self.file, of, forms, on_bad: bad, exactly };
        let found = patience::run(py, asked.rows(), |control| question.codes(&asked, control))?;
        let found: Vec<bool> = found.into_iter().flatten().map(|code| code == 1).collect();
        keyed.hear(py, &asks, filled, found.iter().filter(|found| **found).count() as u64)?;
        Ok(truths_of_rows(&asked, &found))
    }

    /// The names of the columns of a table that are asked; none where some have no name.
    fn names(&self, named: Option<&Bound<'_, PyDict>>, own: bool) -> PyResult<Option<Vec<String>>> {
        self.keyed().names(named, own)
    }

    /// Whether the keys themselves lie beside the file.
    #[getter]
    fn exact(&self) -> PyResult<bool> {
        let Some(path) = &self.path else { return Ok(false) };
        Ok(exact::beside(path, &self.file).map_err(raised)?.is_some())
    }

    /// A page about it.
    fn report(&self, py: Python<'_>, title: &str) -> PyResult<String> {
        let subtitle = self.path.as_ref().map_or_else(String::new, |path| path.display().to_string());
        py.detach(|| state::page(&self.file, title, &subtitle)).map_err(raised)
    }

    /// The chart of its state, as SVG; none of sketches that count.
    fn chart(&self, py: Python<'_>) -> PyResult<Option<String>> {
        py.detach(|| state::chart(&self.file)).map_err(raised)
    }

    /// The distinct keys of all filters, and the highest rate of false positives among them: estimated from their bits.
    fn keys_and_rate(&self, py: Python<'_>) -> PyResult<(f64, f64)> {
        self.keyed().refuse(false)?;
        py.detach(|| state::keys_and_rate(&self.file)).map_err(raised)
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
        let keyed = self.keyed();
        keyed.refuse(false)?;
        let (one, extent) = (One::of(&keyed, key)?, keyed.extent(partial)?);
        let lookup = Lookup::new(&self.file, None, extent).map_err(raised)?.in_forms(keyed.forms(&one.asks));
        let found = or_else(lookup.groups_one(&one.parts()), bad_rows(bad)?, Vec::new())?;
        keyed.hear(key.py(), &one.asks, 1, u64::from(!found.is_empty()))?;
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
        let keyed = self.keyed();
        keyed.refuse(false)?;
        let extent = keyed.extent(partial)?;
        let Question { asked, asks, filled, forms, bad, threads } =
            keyed.question(keys, (None, false), bad, on)?;
        let found = patience::run(py, asked.rows(), |control| {
            Lookup::new(&self.file, None, extent)?.in_forms(forms).groups(&asked, bad, threads, control)
        })?;
        let hits = found.iter().flatten().filter(|groups| !groups.is_empty()).count();
        keyed.hear(py, &asks, filled, hits as u64)?;
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
        let keyed = self.keyed();
        keyed.refuse(true)?;
        let one = One::of(&keyed, key)?;
        let group = Some(self.one_group(group)?);
        let lookup = Lookup::new(&self.file, group, Extent::Record).map_err(raised)?;
        let lookup = lookup.in_forms(keyed.forms(&one.asks));
        let found = or_else(lookup.estimates_one(&one.parts()), bad_rows(bad)?, Vec::new())?;
        let estimate = found.first().map_or(0, |(_, estimate)| *estimate);
        keyed.hear(key.py(), &one.asks, 1, u64::from(estimate > 0))?;
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
        let keyed = self.keyed();
        keyed.refuse(true)?;
        let group = Some(self.one_group(group)?);
        let Question { asked, asks, filled, forms, bad, threads } =
            keyed.question(keys, (None, false), bad, on)?;
        let found = patience::run(py, asked.rows(), |control| {
            Lookup::new(&self.file, group, Extent::Record)?
                .in_forms(forms)
                .estimates(&asked, bad, threads, control)
        })?;
        let hits = found.iter().flatten().filter(|estimate| **estimate > 0).count();
        keyed.hear(py, &asks, filled, hits as u64)?;
        let part =
            |numbers: Vec<u64>| -> ArrayRef { Arc::new(UInt64Array::new(ScalarBuffer::from(numbers), None)) };
        Ok(Answers { parts: found.into_iter().map(part).collect(), values: Values::Numbers })
    }

    /// The kept keys of a share, the heaviest first: group, key and estimate, which a key has not whose
    /// counters ran full.
    fn top<'py>(&self, py: Python<'py>, share: Option<f64>) -> PyResult<Vec<state::Top<'py>>> {
        self.keyed().refuse(true)?;
        state::top(py, &self.file, self.path.as_deref(), share)
    }

    /// What is to be said of filters that hold more keys than they can, or whose rate is at least this.
    #[pyo3(signature = (least=None))]
    fn overfull(&self, least: Option<f64>) -> PyResult<Option<String>> {
        state::overfull(&self.file, least).map_err(raised)
    }

    /// The share from which on keys are kept.
    #[getter]
    fn heavy_share(&self) -> Option<f64> {
        self.file.heavy().map(|heavy| heavy.share)
    }

    /// The largest bound of all groups.
    fn bound(&self) -> PyResult<u64> {
        self.keyed().refuse(true)?;
        let groups = self.file.params().groups.iter().zip(self.file.tallies());
        let bounds = groups.map(|(group, tally)| Promise::of(group, tally.total_weight()).bound());
        Ok(bounds.max().unwrap_or(0))
    }

    /// The sum of all weights, over all groups.
    fn total(&self) -> PyResult<u64> {
        self.keyed().refuse(true)?;
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
        let (fields, classes) = (&self.file.params().common.recipe.key, self.keyed().classes);
        let doubts = fields.iter().zip(&asks).filter_map(|(field, name)| {
            Doubt::of(classes, field, class(name)?, Converted::Yes).map(|doubt| words(&doubt))
        });
        doubts.collect()
    }
}
