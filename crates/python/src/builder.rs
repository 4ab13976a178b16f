//! Sketches in the making, which take tables one after the other.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis_make::memory;
use tamis_read::Table;

use crate::errors::{UsedUp, raised, wrong_job};
use crate::file::File;
use crate::options::Options;
use crate::patience;
use crate::rows::rows;

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
