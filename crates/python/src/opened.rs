//! Files of sketches, opened or read from bytes, and merged.

use std::fs;
use std::path::{Path, PathBuf};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tamis::about::About;
use tamis::format::MAGIC;
use tamis_make::files::{self, Mapped};
use tamis_make::foreign::{self, Said};
use tamis_make::{merge, pipe};

use crate::errors::{Failure, key_wanted, raised};
use crate::file::File;
use crate::options::threads;
use crate::patience;

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
