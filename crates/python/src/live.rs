//! What a `tamis.Filter` is in Rust: a set in memory that grows while it is asked.
//!
//! Threads of Python ask at once, and one changes it at a time. Who waits for the others does not hold the interpreter,
//! and no code of Python runs while somebody holds the set.

use std::sync::{PoisonError, RwLock};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis::about::{Class, Classes};
use tamis::key::Maker;
use tamis::params::{Common, Params};
use tamis_jobs::ask::Filters;
use tamis_jobs::classes::Hits;
use tamis_jobs::lookup::Lookup;
use tamis_make::batch::Needs;
use tamis_make::live::Live as Set;
use tamis_make::parallel;
use tamis_make::rows::OnBad;
use tamis_read::{Control, Result};
use tamis_report::health::overfull_text;

use crate::answers::Answers;
use crate::ask::{Keyed, One, Question, no_key, or_else, truths, truths_of_hashes, truths_of_rows};
use crate::errors::{raised, wrong_job};
use crate::file::File;
use crate::heard::{Asks, By, Heard};
use crate::one::Plain;
use crate::options::{Options, bad_rows};
use crate::patience;

/// The set, and what is known of it.
struct State {
    set: Set,
    /// How single keys are asked at once, where they can be.
    plain: Option<Plain>,
    /// Keys that it holds when its fullness is looked at next.
    look_at: u64,
}

impl State {
    fn new(set: Set) -> State {
        let plain = Plain::of(&set.params().common, set.classes());
        let look_at = set.params().groups[0].keys().max(set.held());
        State { set, plain, look_at }
    }

    /// Notes the classes of keys that were added.
    fn see(&mut self, classes: Classes) {
        let before = self.set.classes();
        self.set.see(classes);
        if self.set.classes() != before {
            self.plain = Plain::of(&self.set.params().common, self.set.classes());
        }
    }

    /// Whether it is time to look whether it holds too much: that reads all of it, so the keys grow by a quarter
    /// between one look and the next.
    fn is_due(&mut self) -> bool {
        let due = self.set.held() > self.look_at;
        if due {
            self.look_at = self.set.held() + self.set.held() / 4;
        }
        due
    }
}

/// A set that grows.
#[pyclass(frozen, subclass, module = "tamis._tamis")]
pub struct Live {
    common: Common,
    state: RwLock<State>,
    heard: Heard,
}

impl Live {
    fn of(set: Set) -> Live {
        Live {
            common: set.params().common.clone(),
            state: RwLock::new(State::new(set)),
            heard: Heard::default(),
        }
    }

    /// Looks at the set.
    fn look<R: Send>(&self, py: Python<'_>, look: impl FnOnce(&State) -> R + Send) -> R {
        if let Ok(state) = self.state.try_read() {
            return look(&state);
        }
        py.detach(|| look(&self.state.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Changes the set.
    fn change<R: Send>(&self, py: Python<'_>, change: impl FnOnce(&mut State) -> R + Send) -> R {
        if let Ok(mut state) = self.state.try_write() {
            return change(&mut state);
        }
        py.detach(|| change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner)))
    }

    fn keyed(&self, py: Python<'_>) -> Keyed<'_> {
        Keyed {
            common: &self.common,
            classes: self.look(py, |state| state.set.classes()),
            heard: &self.heard,
        }
    }

    /// Hears of answers, but of those of an empty set: of what class its keys will be, nobody knows.
    fn hear(&self, py: Python<'_>, asks: &Asks, hits: Hits, by: By) -> PyResult<()> {
        match self.look(py, |state| state.set.held()) {
            0 => Ok(()),
            _ => self.keyed(py).hear_by(py, asks, hits, by),
        }
    }

    fn has(&self, key: &Bound<'_, PyAny>, bad: OnBad, by: By) -> PyResult<bool> {
        let (py, keyed) = (key.py(), self.keyed(key.py()));
        let one = One::of(&keyed, key)?;
        let (forms, parts) = (keyed.forms(&one.asks), one.parts());
        let found = self.look(py, |state| Ok(lookup(&state.set)?.in_forms(forms).contains_one(&parts)));
        let found = or_else(found.map_err(raised)?, bad, false)?;
        self.hear(py, &one.asks, Hits { asked: 1, found: u64::from(found) }, by)?;
        Ok(found)
    }

    /// The hash of one key.
    fn hash(&self, key: &Bound<'_, PyAny>) -> PyResult<(u64, Classes)> {
        let one = One::of(&self.keyed(key.py()), key)?;
        let mut maker = Maker::new(&self.common.recipe);
        let bytes = maker.key(&one.parts()).map_err(no_key)?;
        Ok((self.common.hash.identity(bytes), one.classes()))
    }

    /// The hashes of the keys of many rows, and how they are changed by them.
    fn with_rows<R: Send>(
        &self,
        py: Python<'_>,
        question: &Question,
        change: impl FnOnce(&mut State, Vec<Option<u64>>) -> Result<R> + Send,
    ) -> PyResult<R> {
        let Question { asked, bad, threads, .. } = question;
        let common = &self.common;
        patience::run(py, asked.rows(), |control: &Control| {
            let lookup = Lookup::of(common, Filters::of_sketches(Needs::Hash, Vec::new()));
            let hashes = lookup.hashes(asked, *bad, *threads, control)?;
            change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner), hashes)
        })
    }
}

/// What asks a set.
fn lookup(set: &Set) -> Result<Lookup<'_>> {
    let params: &Params = set.params();
    Ok(Lookup::of(&params.common, Filters::of_sketches(Needs::of(params), vec![set.view()?])))
}

#[pymethods]
impl Live {
    /// An empty set as options have it, or the set of a file.
    #[new]
    fn new(source: &Bound<'_, PyAny>) -> PyResult<Live> {
        if let Ok(file) = source.cast::<File>() {
            return Set::of(&file.get().file).map(Live::of).map_err(wrong_job);
        }
        let options = source.cast::<PyDict>().map_err(|_| PyTypeError::new_err("options, or a file"))?;
        let request = Options(options.clone()).request()?;
        let params = request.living().map_err(wrong_job)?;
        Ok(Live::of(Set::new(params, request.about()).map_err(wrong_job)?))
    }

    #[getter]
    fn _kind(&self) -> String {
        self.common.kind.to_string()
    }

    #[getter]
    fn _parts(&self) -> usize {
        self.common.recipe.key.len()
    }

    /// The names of the columns of a table that are asked; none where some have no name.
    fn _names(&self, py: Python<'_>, named: Option<&Bound<'_, PyDict>>) -> PyResult<Option<Vec<String>>> {
        self.keyed(py).names(named, false)
    }

    /// Whether this one key may be in the set.
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        // Keys that are plain run no code of Python.
        if let Ok(state) = self.state.try_read()
            && let Some(plain) = state.plain
            && let Some(hash) = plain.asks(key)?
        {
            return Ok(state.set.sketch().contains_hash(hash));
        }
        self.has(key, OnBad::Fail, By::Operator)
    }

    fn _contains_one(&self, key: &Bound<'_, PyAny>, bad: Option<String>) -> PyResult<bool> {
        self.has(key, bad_rows(bad)?, By::Method)
    }

    fn _contains(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        bad: Option<String>,
        on: Option<usize>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Answers> {
        if let Some(hashes) = self.look(py, |state| state.plain).and_then(|plain| plain.asks_list(keys)) {
            return truths_of_hashes(py, hashes, bad, on, |hashes, threads, control| {
                let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
                lookup(&state.set)?.contains_hashes(hashes, threads, control)
            });
        }
        let Question { asked, asks, filled, forms, bad, threads } =
            self.keyed(py).question(keys, (named, false), bad, on)?;
        let bits = patience::run(py, asked.rows(), |control| {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            lookup(&state.set)?.in_forms(forms).contains(&asked, bad, threads, control)
        })?;
        let (answers, found) = truths(&asked, bits);
        self.hear(py, &asks, Hits { asked: filled, found }, By::Method)?;
        Ok(answers)
    }

    /// Adds a key: whether it was not found before; and whether it is time to look how full the set is.
    fn _add(&self, key: &Bound<'_, PyAny>) -> PyResult<(bool, bool)> {
        let insert = |state: &mut State, hash, classes| {
            let fresh = state.set.insert(hash)?;
            state.see(classes);
            Ok((fresh, state.is_due()))
        };
        if let Ok(mut state) = self.state.try_write()
            && let Some(plain) = state.plain
            && let Some((hash, class)) = plain.adds(key)?
        {
            return insert(&mut state, hash, Classes::of(class)).map_err(raised);
        }
        let (hash, classes) = self.hash(key)?;
        self.change(key.py(), |state| insert(state, hash, classes)).map_err(raised)
    }

    /// Adds many: how many rows had no key; and whether it is time to look how full the set is.
    fn _update(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        bad: Option<String>,
        on: Option<usize>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(u64, bool)> {
        let question = self.keyed(py).question(data, (named, false), bad, on)?;
        let classes = question.classes();
        self.with_rows(py, &question, |state, hashes| {
            let rows = hashes.len() as u64;
            let hashes: Vec<u64> = hashes.into_iter().flatten().collect();
            state.set.insert_all(&hashes)?;
            if !hashes.is_empty() {
                state.see(classes);
            }
            Ok((rows - hashes.len() as u64, state.is_due()))
        })
    }

    /// Adds many, and tells of each whether it was not found before; rows without a key were not.
    fn _first(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        bad: Option<String>,
        on: Option<usize>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(Answers, bool)> {
        let question = self.keyed(py).question(data, (named, false), bad, on)?;
        let classes = question.classes();
        let (first, due) = self.with_rows(py, &question, |state, hashes| {
            let keys: Vec<u64> = hashes.iter().copied().flatten().collect();
            let mut fresh = vec![false; keys.len()];
            state.set.insert_fresh(&keys, &mut fresh)?;
            if !keys.is_empty() {
                state.see(classes);
            }
            let mut fresh = fresh.into_iter();
            let first: Vec<bool> =
                hashes.iter().map(|hash| hash.is_some() && fresh.next().unwrap_or(false)).collect();
            Ok((first, state.is_due()))
        })?;
        Ok((truths_of_rows(&question.asked, &first), due))
    }

    /// Removes a key; false where it is surely not there.
    fn _remove(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (hash, _) = self.hash(key)?;
        let missing = self.change(key.py(), |state| state.set.remove(&[hash])).map_err(wrong_job)?;
        Ok(missing == 0)
    }

    /// Removes many; how many were surely not there.
    fn _remove_many(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        bad: Option<String>,
        on: Option<usize>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u64> {
        let question = self.keyed(py).question(data, (named, false), bad, on)?;
        self.with_rows(py, &question, |state, hashes| {
            state.set.remove(&hashes.into_iter().flatten().collect::<Vec<u64>>())
        })
    }

    /// Takes in the keys of another set; whether it is time to look how full this is.
    fn _join(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let other = match other.cast::<File>() {
            Ok(file) => {
                let file = file.get();
                py.detach(|| Set::of(&file.file)).map_err(wrong_job)?
            }
            Err(_) => {
                let other = other.cast::<Live>().map_err(PyErr::from)?.get();
                other.look(py, |state| state.set.clone())
            }
        };
        let joined = self.change(py, |state| {
            state.set.join(&other)?;
            let plain = Plain::of(&state.set.params().common, state.set.classes());
            state.plain = plain;
            Ok(state.is_due())
        });
        joined.map_err(wrong_job)
    }

    /// Distinct keys, the rate of false positives, the rate that it should keep, and the keys that it is planned for.
    fn _state(&self, py: Python<'_>) -> PyResult<(f64, f64, f64, u64)> {
        let state = self.look(py, |state| {
            let group = &state.set.params().groups[0];
            let health = state.set.health()?;
            Ok((health.keys, health.rate, group.fpr(), group.keys()))
        });
        state.map_err(raised)
    }

    /// What is to be said of a set that holds more keys than it can.
    fn _overfull(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let said = self.look(py, |state| {
            let group = &state.set.params().groups[0];
            let health = state.set.health()?;
            Ok(health.overfull.then(|| overfull_text(&health, &group.group, group.fpr(), health.rate)))
        });
        said.map_err(raised)
    }

    /// Whether nothing is in it.
    fn _is_empty(&self, py: Python<'_>) -> bool {
        self.look(py, |state| state.set.held() == 0)
    }

    /// The same set as a file has it.
    fn _frozen(&self, py: Python<'_>) -> PyResult<File> {
        let frozen = self.look(py, |state| state.set.to_file(parallel::default_threads()));
        frozen.map(File::kept).map_err(raised)
    }

    /// The classes of the keys so far, by name.
    #[getter]
    fn _classes(&self, py: Python<'_>) -> Vec<&'static str> {
        let classes = self.look(py, |state| state.set.classes());
        classes.iter().map(Class::name).collect()
    }
}
