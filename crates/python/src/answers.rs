//! Answers to many keys, as Arrow arrays that Python takes over without a copy.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int8Array, UInt64Array};
use arrow_buffer::BooleanBufferBuilder;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::capsule;

/// The answers to the rows of a table, part by part.
#[pyclass(frozen, module = "tamis._tamis")]
pub struct Answers {
    /// Arrow arrays, one for each part of the table.
    pub parts: Vec<ArrayRef>,
    /// What they hold.
    pub values: Values,
}

/// What answers hold.
#[derive(Clone, Copy)]
pub enum Values {
    /// Whether a key may be there.
    Truths,
    /// Estimates.
    Numbers,
    /// Numbers of groups, or a sign that there is none.
    Codes,
}

#[pymethods]
impl Answers {
    fn __len__(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }

    /// Whether they are numbers.
    #[getter]
    fn counts(&self) -> bool {
        matches!(self.values, Values::Numbers)
    }

    /// Each part as answers of its own.
    fn parts(&self) -> Vec<Answers> {
        self.parts.iter().map(|part| Answers { parts: vec![part.clone()], values: self.values }).collect()
    }

    /// All answers as one Arrow array.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema; // a wish that the protocol lets one leave
        capsule::export(py, &self.whole())
    }

    /// All answers as bytes: one for each truth, eight for each number.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes: Vec<u8> = match self.values {
            Values::Truths => self.truths().into_iter().map(u8::from).collect(),
            Values::Numbers => self.numbers().flat_map(u64::to_le_bytes).collect(),
            Values::Codes => self.codes().map(|code| code as u8).collect(),
        };
        PyBytes::new(py, &bytes)
    }

    /// All answers as Python values.
    fn to_list(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(match self.values {
            Values::Truths => self.truths().into_pyobject(py)?.into_any().unbind(),
            Values::Numbers => self.numbers().collect::<Vec<u64>>().into_pyobject(py)?.into_any().unbind(),
            Values::Codes => self.codes().collect::<Vec<i8>>().into_pyobject(py)?.into_any().unbind(),
        })
    }
}

impl Answers {
    fn truths(&self) -> Vec<bool> {
        let mut all = Vec::with_capacity(self.__len__());
        let arrays = self.parts.iter().filter_map(|part| part.as_any().downcast_ref::<BooleanArray>());
        arrays.for_each(|array| all.extend(array.values().iter()));
        all
    }

    fn numbers(&self) -> impl Iterator<Item = u64> {
        let arrays = self.parts.iter().filter_map(|part| part.as_any().downcast_ref::<UInt64Array>());
        arrays.flat_map(|array| array.values().iter().copied())
    }

    fn codes(&self) -> impl Iterator<Item = i8> {
        let arrays = self.parts.iter().filter_map(|part| part.as_any().downcast_ref::<Int8Array>());
        arrays.flat_map(|array| array.values().iter().copied())
    }

    fn whole(&self) -> ArrayRef {
        if let [only] = &self.parts[..] {
            return only.clone();
        }
        match self.values {
            Values::Truths => {
                let mut bits = BooleanBufferBuilder::new(self.__len__());
                let arrays =
                    self.parts.iter().filter_map(|part| part.as_any().downcast_ref::<BooleanArray>());
                arrays.for_each(|array| bits.append_buffer(array.values()));
                Arc::new(BooleanArray::new(bits.finish(), None))
            }
            Values::Numbers => Arc::new(UInt64Array::from_iter_values(self.numbers())),
            Values::Codes => Arc::new(Int8Array::from_iter_values(self.codes())),
        }
    }
}
