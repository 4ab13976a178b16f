//! One key at a time: `key in sketch`, without a frame of Python and without memory of its own.
//!
//! The usual question is a `str`, `bytes` or whole number that asks a file of the same class whose keys are
//! the values themselves. It is answered from what is known of the file since it was opened; every other one
//! goes the way of [`File::contains_one`], which gives the same answer to these, too.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString};
use tamis::about::{Class, Classes};
use tamis::hash::Single;
use tamis::key::is_present;
use tamis::sizing::Kind;
use tamis_make::files::Mapped;
use tamis_read::canonical;

use crate::errors::raised;
use crate::file::File;
use crate::rows::is_numpy_integer;

/// What answers single keys of a file whose keys are the values of one column, as they are.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    hash: Single,
    /// Whether texts and bytes are asked by themselves, and nothing is to be said of it.
    texts: bool,
    /// The same of whole numbers.
    integers: bool,
}

impl Plain {
    /// Of a file; none where a key is more than its value and its hash.
    pub fn of(file: &Mapped) -> Option<Plain> {
        let common = &file.params().common;
        let hash = common.hash.single()?;
        if common.kind.counts() || common.kind == Kind::Layered || !common.recipe.is_plain() {
            return None;
        }
        let classes = file.about().key_classes();
        let (texts, integers) = (takes(classes, Class::Text), takes(classes, Class::Integer));
        Some(Plain { hash, texts, integers })
    }

    /// Whether a key may be in the set; none where that takes a longer way.
    #[inline]
    fn has(self, file: &Mapped, key: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
        if key.is_exact_instance_of::<PyString>() {
            return match key.cast::<PyString>() {
                Ok(text) if self.texts => self.ask(file, text.to_str()?.as_bytes()),
                _ => Ok(None),
            };
        }
        if key.is_exact_instance_of::<PyInt>() || (self.integers && is_numpy_integer(key)) {
            // One that is larger goes the longer way, which has a text for all.
            return match self.integers.then(|| key.extract::<i64>()) {
                Some(Ok(number)) => canonical::with_integer(number, |text| self.ask(file, text)),
                _ => Ok(None),
            };
        }
        match key.cast_exact::<PyBytes>() {
            Ok(bytes) if self.texts => self.ask(file, bytes.as_bytes()),
            _ => Ok(None),
        }
    }

    fn ask(self, file: &Mapped, key: &[u8]) -> PyResult<Option<bool>> {
        if !is_present(key) {
            return Ok(None);
        }
        let hash = self.hash.hash(key);
        for group in 0..file.params().groups.len() {
            let sketch = file.sketch(group).map_err(|error| raised(error.into()))?;
            if sketch.contains_hash(hash) {
                return Ok(Some(true));
            }
        }
        Ok(Some(false))
    }
}

/// Whether values of a class are asked of a file with keys of these by their own texts, and there is nothing
/// to say of it.
pub fn takes(file: Classes, class: Class) -> bool {
    match class {
        Class::Text | Class::Bytes => file.has(Class::Text) || file.has(Class::Bytes),
        Class::Integer | Class::Date | Class::Boolean => file == Classes::of(class),
        Class::Decimal | Class::Float | Class::Single | Class::Time => false,
    }
}

/// What a `tamis.Sketch` is in Rust: a file, until it is closed.
#[pyclass(subclass, module = "tamis._tamis")]
pub struct Holder {
    file: Option<Py<File>>,
}

#[pymethods]
impl Holder {
    #[new]
    fn new(file: Py<File>) -> Self {
        Holder { file: Some(file) }
    }

    #[getter]
    fn _held(&self, py: Python<'_>) -> Option<Py<File>> {
        self.file.as_ref().map(|file| file.clone_ref(py))
    }

    #[getter]
    fn _file(&self, py: Python<'_>) -> PyResult<Py<File>> {
        self._held(py).ok_or_else(|| PyValueError::new_err("the sketch is closed"))
    }

    fn _let_go(&mut self) {
        self.file = None;
    }

    /// Whether this one key may be in the set.
    fn __contains__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        // Held by itself: what a key runs, or a warning, may close the sketch.
        let held = slf.borrow()._file(slf.py())?;
        let file = held.get();
        if let Some(plain) = file.plain
            && let Some(found) = plain.has(&file.file, key)?
        {
            return Ok(found);
        }
        file.has_one(key)
    }
}
