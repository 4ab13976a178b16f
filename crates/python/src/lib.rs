//! tamis for Python: what the package `tamis` is made of. Its Python part (`python/tamis`) has the
//! names, the documentation and the shapes of results; here are the jobs.

mod answers;
mod ask;
mod builder;
mod capsule;
mod column;
mod errors;
mod file;
mod first;
mod heard;
mod inputs;
mod live;
mod one;
mod opened;
mod options;
mod patience;
mod program;
mod rows;
mod spread;
mod state;

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tamis::about::Class;
use tamis::hash::HashKey;
use tamis_make::memory;
use tamis_read::Table;
use tamis_read::table::Asked;

use crate::column::Arrays;
use crate::errors::{Failure, KeyClassWarning, raised, refused};
use crate::file::File;
use crate::one::Plain;
use crate::options::Options;
use crate::rows::rows;

fn count(table: &Arrays) -> u64 {
    (0..table.parts()).map(|part| table.rows(part) as u64).sum()
}

/// Builds sketches of rows, as these options have it.
#[pyfunction]
fn build(py: Python<'_>, data: &Bound<'_, PyAny>, options: Bound<'_, PyDict>) -> PyResult<File> {
    let mut job = Options(options).job()?;
    let report = match job.takes_hashes().and_then(|hash| Plain::of_list(data, hash)) {
        Some(keys) => {
            let rows = keys.hashes.len() as u64;
            job.threads = memory::threads_for_hashes(job.threads, rows);
            patience::run(py, rows / patience::OF_HASHES, |control| {
                memory::build_hashed(&job, keys, control)
            })?
        }
        None => {
            let table = rows(data, job.recipe.key.len())?;
            job.threads = memory::threads_for(job.threads, count(&table));
            patience::run(py, count(&table), |control| memory::build(&job, Arc::new(table), control))?
        }
    };
    Ok(File { skipped: report.skipped, ..File::kept(report.file) })
}

/// The parameters of sketches of rows, or of this many keys; as JSON.
#[pyfunction]
fn plan(py: Python<'_>, data: Option<&Bound<'_, PyAny>>, options: Bound<'_, PyDict>) -> PyResult<String> {
    let request = Options(options).request()?;
    let Some(data) = data else {
        return Ok(request.without_table().map_err(refused)?.to_json());
    };
    request.refuse_keys().map_err(refused)?;
    let mut job = request.resolve().map_err(refused)?.job;
    let table = rows(data, job.recipe.key.len())?;
    job.threads = memory::threads_for(job.threads, count(&table));
    let params = patience::run(py, count(&table), |control| memory::plan(&job, Arc::new(table), control))?;
    Ok(params.to_json())
}

/// The classes of the keys of rows, as options have these, by name.
#[pyfunction]
fn key_classes(data: &Bound<'_, PyAny>, options: Bound<'_, PyDict>) -> PyResult<Vec<&'static str>> {
    let recipe = Options(options).job()?.recipe;
    let table = Arc::new(rows(data, recipe.key.len())?);
    let columns = recipe.columns();
    let asked = Asked::new(table, &columns[..recipe.key.len()]).map_err(raised)?;
    Ok(asked.classes(columns.len()).iter().map(Class::name).collect())
}

/// Makes a secret hash key known, as the bytes of its file; its check value, which stands in files.
#[pyfunction]
fn add_hash_key(key: &[u8]) -> PyResult<String> {
    let key = HashKey::read(key).ok_or_else(|| {
        PyValueError::new_err(
            "a hash key is 16 random bytes, or 32 hexadecimal digits: secrets.token_bytes(16) makes one",
        )
    })?;
    key.add();
    Ok(format!("{:016x}", key.check()))
}

/// The secret hash keys that are known, for tasks in other processes.
#[pyfunction]
fn hash_keys(py: Python<'_>) -> Vec<Bound<'_, PyBytes>> {
    HashKey::all().into_iter().filter_map(HashKey::secret).map(|key| PyBytes::new(py, &key)).collect()
}

#[pymodule]
fn _tamis(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Error", module.py().get_type::<Failure>())?;
    module.add("KeyClassWarning", module.py().get_type::<KeyClassWarning>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<File>()?;
    module.add_class::<one::Holder>()?;
    module.add_class::<answers::Answers>()?;
    module.add_class::<live::Live>()?;
    module.add_class::<builder::Builder>()?;
    module.add_function(wrap_pyfunction!(build, module)?)?;
    module.add_function(wrap_pyfunction!(plan, module)?)?;
    module.add_function(wrap_pyfunction!(key_classes, module)?)?;
    module.add_function(wrap_pyfunction!(add_hash_key, module)?)?;
    module.add_function(wrap_pyfunction!(hash_keys, module)?)?;
    module.add_function(wrap_pyfunction!(opened::open, module)?)?;
    module.add_function(wrap_pyfunction!(opened::take_over, module)?)?;
    module.add_function(wrap_pyfunction!(opened::from_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(opened::merge_files, module)?)?;
    module.add_function(wrap_pyfunction!(opened::not_shared, module)?)?;
    module.add_function(wrap_pyfunction!(first::first_rows, module)?)?;
    module.add_function(wrap_pyfunction!(inputs::build_inputs, module)?)?;
    module.add_function(wrap_pyfunction!(inputs::build_exact, module)?)?;
    module.add_function(wrap_pyfunction!(inputs::plan_inputs, module)?)?;
    module.add_function(wrap_pyfunction!(inputs::filter_inputs, module)?)?;
    module.add_function(wrap_pyfunction!(inputs::dedup_inputs, module)?)?;
    module.add_function(wrap_pyfunction!(inputs::test_inputs, module)?)?;
    module.add_function(wrap_pyfunction!(inputs::test_counts, module)?)?;
    module.add_function(wrap_pyfunction!(program::run_program, module)?)?;
    spread::register(module)
}
