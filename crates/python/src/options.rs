//! The arguments of calls as requests.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};
use tamis::about::{About, Class, Classes};
use tamis::key::Recipe;
use tamis_jobs::request::{self, BuildJob, Malformed, Reading, TestJob};
use tamis_make::build::Job;
use tamis_make::memory;
use tamis_make::rows::OnBad;

use crate::errors::refused;

/// What was given, by name; nothing is `None`.
pub struct Options<'py>(pub Bound<'py, PyDict>);

/// What tasks on executors are told beside the request.
const OF_TASKS: [&str; 5] = ["text", "names", "without_group", "marked", "classes"];

impl Options<'_> {
    /// The options as JSON, as far as they belong to a request.
    fn json(&self) -> PyResult<Map<String, Value>> {
        let mut options = Map::new();
        for (name, value) in self.0.iter() {
            let name: String = name.extract()?;
            if !OF_TASKS.contains(&name.as_str()) {
                options.insert(name.clone(), json(&name, &value)?);
            }
        }
        Ok(options)
    }

    /// Any request.
    pub fn read<T: DeserializeOwned>(&self) -> PyResult<T> {
        request::read(self.json()?).map_err(malformed)
    }

    /// The request of a build.
    pub fn request(&self) -> PyResult<BuildJob> {
        self.read()
    }

    /// The job of a build: its kind, hash, recipe and size.
    pub fn job(&self) -> PyResult<Job> {
        let mut job = self.request()?.resolve().map_err(refused)?.job;
        job.about.record_classes(self.classes()?);
        Ok(job)
    }

    /// What is recorded about a file.
    pub fn about(&self) -> PyResult<About> {
        let mut about = self.request()?.about();
        about.record_classes(self.classes()?);
        Ok(about)
    }

    /// The classes of keys that executors see, by their names.
    fn classes(&self) -> PyResult<Classes> {
        let names = self.0.get_item("classes")?.filter(|names| !names.is_none());
        Ok(names
            .map(|names| names.extract::<Vec<String>>())
            .transpose()?
            .map_or(Classes::NONE, |names| named(&names)))
    }

    fn of_file(&self) -> PyResult<TestJob> {
        self.read()
    }

    /// The recipe of a file, with the columns that were given.
    pub fn applied(&self, stored: &Recipe) -> PyResult<Recipe> {
        self.of_file()?.columns.applied(stored).map_err(refused)
    }

    /// What to do with rows without a key.
    pub fn bad_rows(&self) -> PyResult<OnBad> {
        self.of_file()?.reading.on_bad().map_err(refused)
    }

    /// How text is read.
    pub fn reading(&self) -> PyResult<tamis_read::Options> {
        Ok(self.read::<Reading>()?.options())
    }
}

/// The classes of these names.
pub fn named(names: &[String]) -> Classes {
    Class::ALL.into_iter().filter(|class| names.iter().any(|name| name == class.name())).collect()
}

/// A value as JSON: texts, numbers and lists of them, of numpy, too.
fn json(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_none() {
        return Ok(Value::Null);
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Value::String(value.extract()?));
    }
    if let Ok(switch) = value.extract::<bool>() {
        return Ok(Value::Bool(switch));
    }
    if let Ok(number) = value.extract::<u64>() {
        return Ok(number.into());
    }
    if let Ok(number) = value.extract::<i64>() {
        return Ok(number.into());
    }
    if let Ok(number) = value.extract::<f64>() {
        let number = Number::from_f64(number);
        return number.map(Value::Number).ok_or_else(|| {
            PyValueError::new_err(format!(
                "{name} is a finite number, not {}",
                value.str().map(|text| text.to_string()).unwrap_or_default()
            ))
        });
    }
    match value.extract::<Vec<Bound<'_, PyAny>>>() {
        Ok(values) => values.iter().map(|value| json(name, value)).collect(),
        Err(_) => Err(PyTypeError::new_err(format!("{name}: a {} is no option", value.get_type().name()?))),
    }
}

/// An argument that no request has.
fn malformed(error: Malformed) -> PyErr {
    match error.wrong_type {
        true => PyTypeError::new_err(error.to_string()),
        false => PyValueError::new_err(error.to_string()),
    }
}

/// A number of threads for this many rows; all cores where none is given. Of few rows the system is not asked
/// how many it has: that reads files.
pub fn threads_for(given: Option<usize>, rows: u64) -> PyResult<usize> {
    if given.is_none() && rows < memory::FEW {
        return Ok(1);
    }
    Ok(memory::threads_for(threads(given)?, rows))
}

/// A number of threads; all cores where none is given.
pub fn threads(given: Option<usize>) -> PyResult<usize> {
    request::threads(given).map_err(refused)
}

/// What to do with rows without a key.
pub fn bad_rows(given: Option<String>) -> PyResult<OnBad> {
    // Asked with every key: what is usual is not read as a request.
    let Some(given) = given else { return Ok(OnBad::Fail) };
    if let Some(known) = OnBad::NAMED.into_iter().find(|known| known.name() == given) {
        return Ok(known);
    }
    let options = Map::from_iter([("bad_rows".to_owned(), given.into())]);
    let reading: Reading = request::read(options).map_err(malformed)?;
    reading.on_bad().map_err(refused)
}
