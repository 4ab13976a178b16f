//! Python objects as rows: Arrow where an object has it, else values one by one.

use std::sync::Arc;

use arrow_array::builder::LargeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_schema::DataType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMemoryView, PyString, PyTuple, PyType,
};
use tamis::about::{Class, Classes};
use tamis::key::Column;
use tamis_read::canonical::{self, IntegerText};

use crate::capsule::{self, Imported};
use crate::column::{Arrays, ColumnType};

/// The rows of an object: a table, an array, a dictionary of columns, or an iterable of batches or of
/// keys (of `width` parts each).
pub fn rows(data: &Bound<'_, PyAny>, width: usize) -> PyResult<Arrays> {
    if let Some(imported) = capsule::import(data)? {
        return of_arrow(imported);
    }
    if let Ok(columns) = data.cast::<PyDict>() {
        return of_columns(columns);
    }
    if data.is_instance_of::<PyString>() || is_bytes(data) {
        return Err(PyTypeError::new_err("a string is one key, not a table: give a list of keys"));
    }
    if !data.hasattr("__iter__")? {
        let name = data.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "a table, an array or an iterable of keys is taken, not {name}"
        )));
    }
    of_keys(data, width)
}

/// Arrow tables or arrays that an iterable gives, one after the other: the first is given, too.
fn of_batches<'py>(
    first: Imported,
    others: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<Arrays> {
    let mut all = of_arrow(first)?;
    for batch in others {
        let batch = capsule::import(&batch?)?.map(of_arrow).transpose()?;
        match batch {
            Some(batch) if batch.names == all.names && batch.kinds == all.kinds => {
                all.parts.extend(batch.parts)
            }
            _ => {
                return Err(PyTypeError::new_err("all batches must have the same columns"));
            }
        }
    }
    Ok(all)
}

fn of_arrow(Imported { field, arrays }: Imported) -> PyResult<Arrays> {
    let DataType::Struct(fields) = field.data_type() else {
        let parts = arrays.into_iter().map(|array| vec![array]).collect();
        let kinds = vec![ColumnType::of(&field)];
        return Ok(Arrays { names: None, are_keys: true, kinds, seen: Vec::new(), file: None, parts });
    };
    let mut parts = Vec::with_capacity(arrays.len());
    for array in arrays {
        let rows = array.as_struct();
        if rows.null_count() > 0 {
            return Err(PyTypeError::new_err("a row of a table cannot be null: drop such rows, or flatten"));
        }
        parts.push(rows.columns().to_vec());
    }
    let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
    let kinds = fields.iter().map(|field| ColumnType::of(field)).collect();
    // So our own code hands over the parts of keys: nobody else's columns have no names.
    let are_keys = names.iter().all(String::is_empty);
    Ok(Arrays { names: Some(names), are_keys, kinds, seen: Vec::new(), file: None, parts })
}

/// A dictionary of columns: Arrow where one has it, else values one by one.
fn of_columns(columns: &Bound<'_, PyDict>) -> PyResult<Arrays> {
    let (mut names, mut kinds, mut chunks): (Vec<String>, Vec<ColumnType>, Vec<Vec<ArrayRef>>) =
        Default::default();
    let mut seen = Vec::new();
    for (name, values) in columns {
        names.push(name.extract()?);
        let (kind, classes, arrays): (ColumnType, Option<Classes>, Vec<ArrayRef>) =
            match capsule::import(&values)? {
                Some(Imported { field, arrays }) => (ColumnType::of(&field), None, arrays),
                None => {
                    let (kind, classes, column) = of_values(&values)?;
                    (kind, Some(classes), vec![column])
                }
            };
        seen.push(classes);
        kinds.push(kind);
        chunks.push(arrays);
    }
    let rows = |arrays: &Vec<ArrayRef>| arrays.iter().map(|array| array.len()).sum::<usize>();
    if chunks.windows(2).any(|pair| rows(&pair[0]) != rows(&pair[1])) {
        return Err(PyValueError::new_err("the columns of a table must have the same number of rows"));
    }
    Ok(Arrays { names: Some(names), are_keys: false, kinds, seen, file: None, parts: cut_alike(&chunks) })
}

/// A column of values. One that holds something else is no error until somebody asks for it.
fn of_values(values: &Bound<'_, PyAny>) -> PyResult<(ColumnType, Classes, ArrayRef)> {
    let py = values.py();
    let mut column = Values::default();
    let mut unusable = None;
    for (row, value) in each(values)?.enumerate() {
        let value = value?;
        if unusable.is_some() {
            column.append_null();
        } else if let Err(why) = column.append(&value) {
            if !why.is_instance_of::<PyTypeError>(py) && !why.is_instance_of::<PyValueError>(py) {
                return Err(why);
            }
            unusable =
                Some(ColumnType::Unusable(format!("has row {row} (counted from 0): {}", why.value(py))));
            column.append_null();
        }
    }
    let (kind, classes, column) = column.finish();
    Ok((unusable.unwrap_or(kind), classes, column))
}

/// A column of Python values.
enum Values {
    /// Whole numbers alone, of which no text is made before somebody asks for it.
    Numbers(Vec<i64>),
    Texts(Texts),
}

/// The texts of Python values, and their classes.
#[derive(Default)]
struct Texts {
    texts: LargeBinaryBuilder,
    classes: Classes,
}

impl Default for Values {
    fn default() -> Self {
        Values::Numbers(Vec::new())
    }
}

impl Values {
    fn append(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Values::Numbers(numbers) = self
            && is_integer(value)
            && let Ok(number) = value.extract::<i64>()
        {
            numbers.push(number);
            return Ok(());
        }
        self.as_texts().append(value)
    }

    fn append_null(&mut self) {
        self.as_texts().texts.append_null();
    }

    /// The same as texts, which others can stand beside.
    fn as_texts(&mut self) -> &mut Texts {
        if let Values::Numbers(numbers) = self {
            let mut column = Texts::default();
            for &number in &*numbers {
                column.texts.append_value(IntegerText::default().of(number));
            }
            column.classes = numbers.first().map(|_| Class::Integer).into_iter().collect();
            *self = Values::Texts(column);
        }
        match self {
            Values::Texts(texts) => texts,
            Values::Numbers(_) => unreachable!("they were made texts above"),
        }
    }

    fn finish(mut self) -> (ColumnType, Classes, ArrayRef) {
        match self {
            Values::Numbers(numbers) if !numbers.is_empty() => {
                let kind = ColumnType::Arrow(DataType::Int64);
                (kind, Classes::of(Class::Integer), Arc::new(Int64Array::from(numbers)))
            }
            _ => {
                let column = self.as_texts();
                (ColumnType::texts(), column.classes, Arc::new(column.texts.finish()))
            }
        }
    }
}

impl Texts {
    fn append(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        with_text(value, |text, class| {
            self.texts.append_option(text);
            self.classes = self.classes.and(class.into_iter().collect());
        })
    }
}

/// The values of an iterable. Those of a list are taken from it without a call for each.
fn each<'py>(
    values: &Bound<'py, PyAny>,
) -> PyResult<Box<dyn Iterator<Item = PyResult<Bound<'py, PyAny>>> + 'py>> {
    Ok(match values.cast_exact::<PyList>() {
        Ok(list) => Box::new(list.clone().into_iter().map(Ok)),
        Err(_) => Box::new(values.try_iter()?),
    })
}

/// Columns of as many rows, in parts that end wherever a chunk of one of them does.
fn cut_alike(columns: &[Vec<ArrayRef>]) -> Vec<Vec<ArrayRef>> {
    let mut at = vec![(0, 0); columns.len()]; // the chunk, and the row in it
    let mut parts = Vec::new();
    loop {
        for (at, chunks) in at.iter_mut().zip(columns) {
            while chunks.get(at.0).is_some_and(|chunk| chunk.len() == at.1) {
                *at = (at.0 + 1, 0);
            }
        }
        let left =
            at.iter().zip(columns).map(|(at, chunks)| chunks.get(at.0).map(|chunk| chunk.len() - at.1));
        let Some(Some(rows)) = left.min() else { return parts };
        let part = at.iter_mut().zip(columns).map(|(at, chunks)| {
            at.1 += rows;
            chunks[at.0].slice(at.1 - rows, rows)
        });
        parts.push(part.collect());
    }
}

/// Keys one by one. Those of several parts are tuples, and stand in columns that go by number.
fn of_keys(keys: &Bound<'_, PyAny>, width: usize) -> PyResult<Arrays> {
    let mut columns: Vec<Values> = (0..width).map(|_| Values::default()).collect();
    let mut keys = each(keys)?.enumerate();
    while let Some((row, key)) = keys.next() {
        let key = key?;
        if row == 0
            && let Some(first) = capsule::import(&key)?
        {
            return of_batches(first, keys.map(|(_, key)| key));
        }
        if let [column] = &mut columns[..] {
            column.append(&key).map_err(|why| at_row(why, row))?;
            continue;
        }
        let parts = parts_of(&key, width).map_err(|why| at_row(why, row))?;
        for (column, part) in columns.iter_mut().zip(parts) {
            column.append(&part).map_err(|why| at_row(why, row))?;
        }
    }
    let (mut kinds, mut seen, mut arrays) = (Vec::new(), Vec::new(), Vec::new());
    for (kind, classes, array) in columns.into_iter().map(Values::finish) {
        kinds.push(kind);
        seen.push(Some(classes));
        arrays.push(array);
    }
    let names = (width > 1).then(|| (1..=width).map(|number| number.to_string()).collect());
    Ok(Arrays { names, are_keys: true, kinds, seen, file: None, parts: vec![arrays] })
}

/// The columns that a key is asked by, in rows that hold nothing but keys.
pub fn by_number(width: usize) -> Vec<Column> {
    match width {
        1 => vec![Column::Line],
        _ => (1..=width).map(Column::Number).collect(),
    }
}

/// The parts of a compound key.
fn parts_of<'py>(key: &Bound<'py, PyAny>, width: usize) -> PyResult<Bound<'py, PyTuple>> {
    let parts = key.cast::<PyTuple>().ok().filter(|parts| parts.len() == width);
    parts.cloned().ok_or_else(|| {
        PyTypeError::new_err(format!("the key has {width} parts: give a tuple of as many values"))
    })
}

fn at_row(error: PyErr, row: usize) -> PyErr {
    Python::attach(|py| {
        let text = format!("row {row} (counted from 0): {}", error.value(py));
        if error.is_instance_of::<PyTypeError>(py) { PyTypeError::new_err(text) } else { error }
    })
}

/// The text of a value and its class, or none of `None`.
pub fn with_text<R>(
    value: &Bound<'_, PyAny>,
    take: impl FnOnce(Option<&[u8]>, Option<Class>) -> R,
) -> PyResult<R> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(take(Some(text.to_cow()?.as_bytes()), Some(Class::Text)));
    }
    // Before all that asks for attributes, which takes longer than all else.
    if is_integer(value)
        && let Ok(number) = value.extract::<i64>()
    {
        return Ok(take(Some(IntegerText::default().of(number)), Some(Class::Integer)));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(take(Some(bytes.as_bytes()), Some(Class::Bytes)));
    }
    if is_bytes(value) {
        let bytes = value.py().get_type::<PyBytes>().call1((value,))?;
        return Ok(take(Some(bytes.cast::<PyBytes>()?.as_bytes()), Some(Class::Bytes)));
    }
    if value.is_none() {
        return Ok(take(None, None));
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(take(Some(truth(value.is_true())), Some(Class::Boolean)));
    }
    let mut out = Vec::new();
    let class = if let Ok(number) = value.cast::<PyFloat>() {
        canonical::double(number.value(), &mut out);
        Class::Float
    } else if let Some(class) = of_numpy(value, &mut out)? {
        class
    } else if let Some(number) = whole(value)? {
        match number.extract::<i64>() {
            Ok(number) => canonical::integer(number, &mut out),
            Err(_) => out = number.str()?.extract::<String>()?.into_bytes(),
        }
        Class::Integer
    } else {
        // Dates, decimals and others: as a column of them has it.
        let column = value.py().import("tamis._data")?.call_method1("of_one", (value,))?;
        let column = capsule::import(&column)?.map(of_arrow).transpose()?;
        // What has fields is many values.
        let column = column.filter(|column| column.names.is_none());
        let class = column.as_ref().and_then(|column| column.kinds.first()?.class());
        let found = column.map(|column| column.first_text(|text| take(text, class)));
        return found.and_then(Result::ok).map_or_else(|| no_text(value), Ok);
    };
    Ok(take(Some(&out), Some(class)))
}

/// Whether a value is a whole number of Python or numpy, by its type alone. A bool is none, nor is what is
/// derived from them: those may have a `dtype` of their own.
fn is_integer(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyInt>() || is_numpy_integer(value)
}

/// Whether a value is a whole number of numpy. Where numpy is not loaded, nothing is.
pub fn is_numpy_integer(value: &Bound<'_, PyAny>) -> bool {
    static TYPES: PyOnceLock<Vec<Py<PyType>>> = PyOnceLock::new();
    let py = value.py();
    let of = value.get_type_ptr();
    let among = |types: &Vec<Py<PyType>>| types.iter().any(|kind| kind.as_ptr() == of.cast());
    if let Some(types) = TYPES.get(py) {
        return among(types);
    }
    // It is not loaded for this: who has a number of it has loaded it.
    let name = value.get_type().module();
    if !name.is_ok_and(|name| name.to_str().is_ok_and(|name| name == "numpy")) {
        return false;
    }
    let types = TYPES.get_or_try_init(py, || {
        let numpy = py.import("numpy")?;
        let found = NUMPY_INTEGERS.iter().filter_map(|name| numpy.getattr(*name).ok());
        PyResult::Ok(found.filter_map(|kind| kind.cast_into::<PyType>().ok()).map(Bound::unbind).collect())
    });
    types.is_ok_and(among)
}

/// The whole numbers of numpy, the usual ones first. Some are two names of one.
const NUMPY_INTEGERS: [&str; 12] = [
    "int64",
    "int32",
    "uint64",
    "uint32",
    "int16",
    "uint16",
    "int8",
    "uint8",
    "longlong",
    "ulonglong",
    "intc",
    "uintc",
];

/// Whether an object is bytes, which could be taken for many numbers.
fn is_bytes(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyByteArray>()
        || value.is_instance_of::<PyMemoryView>()
}

fn no_text<R>(value: &Bound<'_, PyAny>) -> PyResult<R> {
    let name = value.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "a key is a str, bytes, number, bool, date or time, not a value of type {name}: give its text"
    )))
}

/// Writes the text of a truth or of a short float of numpy: that which an array of them has.
fn of_numpy(value: &Bound<'_, PyAny>, out: &mut Vec<u8>) -> PyResult<Option<Class>> {
    let kind = value.getattr_opt("dtype")?.map(|kind| kind.getattr_opt("name")).transpose()?.flatten();
    let Some(kind) = kind.and_then(|kind| kind.extract::<String>().ok()) else { return Ok(None) };
    Ok(match kind.as_str() {
        "bool" => {
            out.extend_from_slice(truth(value.is_truthy()?));
            Some(Class::Boolean)
        }
        "float16" | "float32" => {
            canonical::single(value.extract::<f64>()? as f32, out);
            Some(Class::Single)
        }
        _ => None,
    })
}

fn truth(value: bool) -> &'static [u8] {
    if value { b"true" } else { b"false" }
}

/// The integer that an object is, such as numpy has them.
fn whole<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if value.is_instance_of::<PyInt>() {
        return Ok(Some(value.clone()));
    }
    value.getattr_opt("__index__")?.map(|index| index.call0()).transpose()
}

/// A part of a key: its text and its class.
pub type Part = (Option<Vec<u8>>, Option<Class>);

/// The parts of one key.
pub fn one_key(key: &Bound<'_, PyAny>, width: usize) -> PyResult<Vec<Part>> {
    let owned = |value: &Bound<'_, PyAny>| with_text(value, |text, class| (text.map(<[u8]>::to_vec), class));
    if width == 1 {
        return Ok(vec![owned(key)?]);
    }
    parts_of(key, width)?.iter().map(|part| owned(&part)).collect()
}
