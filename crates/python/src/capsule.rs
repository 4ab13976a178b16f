//! The Arrow C data interface, as Python objects hand it over: capsules with a pointer to a C struct.
//!
//! The only unsafe code of the package. What it relies on is the protocol itself: a capsule of such a
//! name holds a valid struct of that type, and the consumer of the struct marks it as released.
#![allow(unsafe_code)]

use std::ffi::CStr;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, ArrayReader, ArrayRef, make_array};
use arrow_schema::{ArrowError, Field};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::errors::Failure;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// Arrays of one type.
pub struct Imported {
    pub field: Field,
    pub arrays: Vec<ArrayRef>,
}

/// The arrays of an object that has the protocol; none of any other. No values are copied.
pub fn import(object: &Bound<'_, PyAny>) -> PyResult<Option<Imported>> {
    let py = object.py();
    // An array is one part. Chunked arrays and tables have streams only.
    if let Some(method) = object.getattr_opt("__arrow_c_array__")? {
        let pair = method.call0()?.cast_into::<PyTuple>().map_err(|_| not_the_protocol())?;
        if pair.len() != 2 {
            return Err(not_the_protocol());
        }
        let (schema, array) = (capsule(&pair.get_item(0)?)?, capsule(&pair.get_item(1)?)?);
        let schema = schema.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
        let array = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
        // SAFETY: the names were checked, so by the protocol these point to valid structs, which live
        // as long as the capsules, that is longer than this function. The array is moved out and an
        // empty one is left, which is one that was released.
        let (field, data) = unsafe {
            let array = FFI_ArrowArray::from_raw(array.as_ptr());
            (Field::try_from(schema.as_ref()), from_ffi(array, schema.as_ref()))
        };
        let array = make_array(data.map_err(failed)?);
        return Ok(Some(Imported { field: field.map_err(failed)?, arrays: vec![array] }));
    }
    if let Some(method) = object.getattr_opt("__arrow_c_stream__")? {
        let stream = capsule(&method.call0()?)?;
        let stream = stream.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: as above; the stream is moved out, and one that was released is left.
        let reader = unsafe { ArrayStreamReader::from_raw(stream.as_ptr()) }.map_err(failed)?;
        let field = reader.field().as_ref().clone();
        // A stream may be made by Python code on another thread, which needs the interpreter.
        let arrays = py.detach(move || reader.collect::<Result<Vec<_>, _>>()).map_err(failed)?;
        return Ok(Some(Imported { field, arrays }));
    }
    Ok(None)
}

/// An array for export: the capsules of its schema and of itself.
pub fn export<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyTuple>> {
    let (array, schema) = to_ffi(&array.to_data()).map_err(failed)?;
    let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
    PyTuple::new(py, [schema, PyCapsule::new_with_value(py, array, ARRAY)?])
}

fn capsule<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
    object.cast::<PyCapsule>().cloned().map_err(|_| not_the_protocol())
}

fn not_the_protocol() -> PyErr {
    PyTypeError::new_err("the object does not follow the Arrow PyCapsule interface")
}

fn failed(error: ArrowError) -> PyErr {
    Failure::new_err(error.to_string())
}
