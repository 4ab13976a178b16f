//! One key at a time: `key in sketch`, without a frame of Python and without memory of its own.
//!
//! The usual question is a `str`, `bytes` or whole number that asks a file of the same class whose keys are
//! the values themselves. It is answered from what is known of the file since it was opened; every other one
//! goes the way of [`File::contains_one`], which gives the same answer to these, too.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyString};
use tamis::about::{Class, Classes};
use tamis::blocked::Blocked;
use tamis::hash::Single;
use tamis::key::is_present;
use tamis::params::Common;
use tamis::sizing::{Kind, Shape};
use tamis::sketch::Sketch;
use tamis_make::build::Hashed;
use tamis_make::files::Mapped;
use tamis_read::canonical::IntegerText;

use crate::errors::raised;
use crate::file::File;
use crate::rows::is_numpy_integer;

/// Integers of a list whose texts wait to be hashed together.
const WAITING: usize = 64;

/// A key, as Python has it.
enum Value<'k> {
    Bytes(&'k [u8], Class),
    Integer(i64),
}

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
    /// Of keys that are made so, and are of these classes; none where a key is more than its value and its hash.
    pub fn of(common: &Common, classes: Classes) -> Option<Plain> {
        let hash = common.hash.single()?;
        if common.kind.counts() || common.kind == Kind::Layered || !common.recipe.is_plain() {
            return None;
        }
        let (texts, integers) = (takes(classes, Class::Text), takes(classes, Class::Integer));
        Some(Plain { hash, texts, integers })
    }

    /// The hash of a key that asks; none where that takes a longer way.
    #[inline]
    pub fn asks(self, key: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        let found = self.hashed(key, self.texts, self.integers)?;
        Ok(found.map(|(hash, _)| hash))
    }

    /// The hash of a key that is added, and its class.
    #[inline]
    pub fn adds(self, key: &Bound<'_, PyAny>) -> PyResult<Option<(u64, Class)>> {
        self.hashed(key, true, true)
    }

    /// The hashes of the keys of a list, which is neither copied nor made a column; none where some of them take a
    /// longer way, which says what is wrong with them, too.
    pub fn of_list(keys: &Bound<'_, PyAny>, hash: Single) -> Option<Hashed> {
        Plain { hash, texts: true, integers: true }.list(keys)
    }

    /// The same of a list that asks.
    pub fn asks_list(self, keys: &Bound<'_, PyAny>) -> Option<Vec<u64>> {
        self.list(keys).map(|keys| keys.hashes)
    }

    fn list(self, keys: &Bound<'_, PyAny>) -> Option<Hashed> {
        let list = keys.cast_exact::<PyList>().ok()?;
        let (mut hashes, mut classes) = (Vec::with_capacity(list.len()), Classes::NONE);
        // A text that is read as soon as it was written, in other pieces, makes the processor wait.
        let (mut texts, mut places) = ([IntegerText::default(); WAITING], [0; WAITING]);
        let mut waiting = 0;
        for key in list {
            let class = match self.value(&key, self.texts, self.integers).ok()?? {
                Value::Bytes(bytes, class) => {
                    hashes.push(self.of_bytes(bytes)?);
                    class
                }
                Value::Integer(number) => {
                    texts[waiting].of(number);
                    places[waiting] = hashes.len();
                    hashes.push(0);
                    waiting += 1;
                    Class::Integer
                }
            };
            classes = classes.and(Classes::of(class));
            if waiting == WAITING {
                self.hash_all(&texts, &places, &mut hashes);
                waiting = 0;
            }
        }
        self.hash_all(&texts[..waiting], &places[..waiting], &mut hashes);
        Some(Hashed { hashes, classes })
    }

    fn hash_all(self, texts: &[IntegerText], places: &[usize], hashes: &mut [u64]) {
        for (text, place) in texts.iter().zip(places) {
            hashes[*place] = self.hash.hash(text.as_bytes());
        }
    }

    #[inline]
    fn hashed(self, key: &Bound<'_, PyAny>, texts: bool, integers: bool) -> PyResult<Option<(u64, Class)>> {
        Ok(match self.value(key, texts, integers)? {
            Some(Value::Bytes(bytes, class)) => self.of_bytes(bytes).map(|hash| (hash, class)),
            Some(Value::Integer(number)) => {
                Some((self.hash.hash(IntegerText::default().of(number)), Class::Integer))
            }
            None => None,
        })
    }

    #[inline]
    fn value<'k>(
        self,
        key: &'k Bound<'_, PyAny>,
        texts: bool,
        integers: bool,
    ) -> PyResult<Option<Value<'k>>> {
        if key.is_exact_instance_of::<PyString>() {
            return match key.cast_exact::<PyString>() {
                Ok(text) if texts => Ok(Some(Value::Bytes(text.to_str()?.as_bytes(), Class::Text))),
                _ => Ok(None),
            };
        }
        if key.is_exact_instance_of::<PyInt>() || (integers && is_numpy_integer(key)) {
            // One that is larger goes the longer way, which has a text for all.
            return match integers.then(|| key.extract::<i64>()) {
                Some(Ok(number)) => Ok(Some(Value::Integer(number))),
                _ => Ok(None),
            };
        }
        match key.cast_exact::<PyBytes>() {
            Ok(bytes) if texts => Ok(Some(Value::Bytes(bytes.as_bytes(), Class::Bytes))),
            _ => Ok(None),
        }
    }

    #[inline]
    fn of_bytes(self, key: &[u8]) -> Option<u64> {
        is_present(key).then(|| self.hash.hash(key))
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

/// Whether a key of this hash may be in any group.
fn has_hash(file: &Mapped, hash: u64) -> tamis::Result<bool> {
    for (group, params) in file.params().groups.iter().enumerate() {
        let found = match params.shape {
            // The usual kind by itself: what stands for a sketch of any kind is so large that it takes longer to move
            // than to ask.
            Shape::Blocked { hashes, .. } => {
                Blocked::from_words(file.section(group), hashes)?.contains_hash(hash)
            }
            _ => in_sketch(&file.sketch(group)?, hash),
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Not inlined: what every kind makes of the hash would be made ahead of the loop over groups, whatever the kind is.
#[inline(never)]
fn in_sketch(sketch: &Sketch<&[u64]>, hash: u64) -> bool {
    sketch.contains_hash(hash)
}

/// What a `tamis.Sketch` is in Rust: a file, until it is closed.
#[pyclass(frozen, subclass, module = "tamis._tamis")]
pub struct Holder {
    file: RwLock<Option<Py<File>>>,
    /// How single keys are asked at once, where they can be.
    plain: Option<Plain>,
}

impl Holder {
    /// The file, for as long as nobody closes it: no code of Python may run meanwhile.
    fn held(&self) -> RwLockReadGuard<'_, Option<Py<File>>> {
        self.file.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Holder {
    #[new]
    fn new(file: Py<File>) -> Self {
        let plain = file.get().plain;
        Holder { file: RwLock::new(Some(file)), plain }
    }

    #[getter]
    fn _held(&self, py: Python<'_>) -> Option<Py<File>> {
        self.held().as_ref().map(|file| file.clone_ref(py))
    }

    #[getter]
    fn _file(&self, py: Python<'_>) -> PyResult<Py<File>> {
        self._held(py).ok_or_else(closed)
    }

    fn _let_go(&self) {
        let file = self.file.write().unwrap_or_else(PoisonError::into_inner).take();
        drop(file); // which nobody can ask any more
    }

    /// Whether this one key may be in the set.
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Some(plain) = self.plain
            && let Some(hash) = plain.asks(key)?
        {
            // An error is made when the file is let go: making it may run code of Python.
            let found = self.held().as_ref().map(|held| has_hash(&held.get().file, hash));
            return found.ok_or_else(closed)?.map_err(|error| raised(error.into()));
        }
        // Held by itself: what a key runs, or a warning, may close the sketch.
        self._file(key.py())?.get().has_one(key)
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("the sketch is closed")
}
