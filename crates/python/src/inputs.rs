//! Jobs on files that are named, as the command line does them: the same requests, the same code, the same bytes.

use std::path::Path;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis_jobs::request::{self, BuildJob, DedupJob, FilterJob, OtherColumns, Reading, TestJob};
use tamis_jobs::{check, dedup, filter};
use tamis_make::build::{self, Sketches};
use tamis_make::count_min::rank;
use tamis_make::files::{self, Mapped};
use tamis_make::{memory, number};
use tamis_read::{Explained, Format};

use crate::errors::{Arguments, raised, refused, wrong_job};
use crate::file::File;
use crate::heard::words;
use crate::options::Options;
use crate::patience;
use crate::rows::rows;

/// A job reads files, and so it always listens for Ctrl-C.
const LONG: u64 = u64::MAX;

/// What was built, and what is to be said of it.
type Built = (File, Vec<String>);

/// Builds sketches of files: in memory, or to the file that the request names, with the keys beside it if it says so.
#[pyfunction]
pub fn build_inputs(py: Python<'_>, options: Bound<'_, PyDict>) -> PyResult<Built> {
    let request = Options(options).request()?;
    let request::Build { job, exact } = request.resolve().map_err(refused)?;
    let mut said: Vec<String> = other_columns(&job).into_iter().collect();
    let Some(output) = &request.output else {
        refuse_exact(exact)?;
        let (report, inputs) = patience::run(py, LONG, |control| memory::build_inputs(&job, control))?;
        said.extend(of_inputs(&request.reading, &inputs));
        return Ok((File { skipped: report.skipped, ..File::kept(report.file) }, said));
    };
    let report = patience::run(py, LONG, |control| match exact {
        true => build::build_exact(&job, output, control),
        false => build::build(&job, output, control),
    })?;
    said.extend(of_inputs(&request.reading, &report.inputs));
    Ok((opened(output, report.skipped)?, said))
}

/// Builds sketches of a table to the file that the request names, and keeps the keys beside it.
#[pyfunction]
pub fn build_exact(py: Python<'_>, data: &Bound<'_, PyAny>, options: Bound<'_, PyDict>) -> PyResult<File> {
    let request = Options(options).request()?;
    let request::Build { job, exact } = request.resolve().map_err(refused)?;
    let Some(output) = &request.output else {
        refuse_exact(exact)?;
        return Err(PyValueError::new_err("output: name the file"));
    };
    let table = Arc::new(rows(data, job.recipe.key.len())?);
    let report =
        patience::run(py, LONG, |control| build::build_exact_of_table(&job, table, output, control))?;
    opened(output, report.skipped)
}

fn refuse_exact(exact: bool) -> PyResult<()> {
    match exact {
        true => Err(PyValueError::new_err(
            "exact keeps the keys themselves in a file beside the filters: name that of the filters by output=",
        )),
        false => Ok(()),
    }
}

fn opened(path: &Path, skipped: u64) -> PyResult<File> {
    let file = files::open(path).map_err(raised)?;
    Ok(File { path: Some(path.to_path_buf()), skipped, ..File::kept(file) })
}

/// The parameters for files, as JSON, and what is to be said of these.
#[pyfunction]
pub fn plan_inputs(py: Python<'_>, options: Bound<'_, PyDict>) -> PyResult<(String, Vec<String>)> {
    let request: BuildJob = Options(options).request()?;
    request.refuse_keys().map_err(refused)?;
    let job = request.resolve().map_err(refused)?.job;
    let planned = patience::run(py, LONG, |control| build::plan(&job, control))?;
    Ok((planned.params.to_json(), of_inputs(&request.reading, &planned.inputs)))
}

/// Sieves the records of files: the report as JSON, and what is to be said.
#[pyfunction]
pub fn filter_inputs(py: Python<'_>, options: Bound<'_, PyDict>) -> PyResult<(String, Vec<String>)> {
    let request: FilterJob = Options(options).read()?;
    let file = files::open(&request.filters).map_err(raised)?;
    let (reading, mut said) = beside(&request.reading, &file)?;
    let given = request.reading.clone();
    let request = FilterJob { reading, ..request };
    let job = request.resolve(&file.params().common.recipe).map_err(refused)?;
    let report = patience::run(py, LONG, |control| filter::filter(&job, control))?;
    said.extend(of_inputs(&given, &report.inputs));
    said.extend(report.doubts.iter().map(words));
    if report.keyless > 0 {
        said.push(format!(
            "{} without a key: treated as keys that are not in the set",
            number::counted(report.keyless, "record")
        ));
    }
    if report.groupless > 0 {
        said.push(format!(
            "{} of groups that are not in the file: treated as keys that are not in the set",
            number::counted(report.groupless, "record")
        ));
    }
    Ok((tamis_report::filter::json(&report).to_string(), said))
}

/// Frees the records of files of repetitions: the report as JSON, and what is to be said.
#[pyfunction]
pub fn dedup_inputs(py: Python<'_>, options: Bound<'_, PyDict>) -> PyResult<(String, Vec<String>)> {
    let request: DedupJob = Options(options).read()?;
    let stored = request.stored().map_err(raised)?;
    let (reading, mut said) = match &stored {
        Some(file) => beside(&request.reading, file)?,
        None => (request.reading.clone(), Vec::new()),
    };
    let given = request.reading.clone();
    let request = DedupJob { reading, ..request };
    let recipe = stored.as_ref().map(|file| &file.params().common.recipe);
    let job = request.resolve(recipe).map_err(wrong_job)?;
    drop(stored);
    let report = patience::run(py, LONG, |control| dedup::dedup(&job, control))?;
    said.extend(of_inputs(&given, &report.inputs));
    said.extend(report.doubts.iter().map(words));
    if report.unremembered > 0 {
        said.push(format!(
            "the filter is full with {}: {} passed without being remembered and would pass again; give a larger size",
            number::counted(report.keys, "key"),
            number::counted(report.unremembered, "record"),
        ));
    }
    if report.keyless > 0 {
        said.push(format!("left out {} without a key", number::counted(report.keyless, "record")));
    }
    Ok((tamis_report::dedup::json(&report).to_string(), said))
}

/// Tests a file with others: the report as JSON, and what is to be said.
#[pyfunction]
pub fn test_inputs(py: Python<'_>, options: Bound<'_, PyDict>) -> PyResult<(String, Vec<String>)> {
    let request: TestJob = Options(options).read()?;
    let file = files::open(&request.filters).map_err(raised)?;
    let (reading, mut said) = beside(&request.reading, &file)?;
    let given = request.reading.clone();
    let request = TestJob { reading, ..request };
    let common = file.params().common.clone();
    drop(file);
    let told = match request.resolve(&common).map_err(refused)? {
        request::Test::Counts(job) => {
            let report = patience::run(py, LONG, |control| rank::check(&job, control))?;
            said.extend(of_inputs(&given, &report.inputs));
            tamis_report::rank::json(&report)
        }
        request::Test::Filters(job) => {
            let report = patience::run(py, LONG, |control| check::check(&job, control))?;
            said.extend(of_inputs(&given, &report.inputs));
            said.extend(report.doubts.iter().map(words));
            tamis_report::check::json(&report)
        }
    };
    Ok((told.to_string(), said))
}

/// Tests sketches that count with a table: the report as JSON.
#[pyfunction]
pub fn test_counts(
    py: Python<'_>,
    file: &File,
    data: &Bound<'_, PyAny>,
    options: Bound<'_, PyDict>,
) -> PyResult<String> {
    let mut request: TestJob = Options(options).read()?;
    request.inputs = vec!["a table".into()]; // which is given below
    let request::Test::Counts(job) = request.resolve(&file.file.params().common).map_err(refused)? else {
        return Err(PyValueError::new_err("these are filters, and do not count"));
    };
    let table = Arc::new(rows(data, job.recipe.key.len())?);
    let report = patience::run(py, LONG, |control| rank::check_table(&job, &file.file, table, control))?;
    Ok(tamis_report::rank::json(&report).to_string())
}

/// How text is read where a file is asked that records how its own was: what is given counts more, and a contradiction
/// is said.
fn beside(given: &Reading, file: &Mapped) -> PyResult<(Reading, Vec<String>)> {
    let request::Beside { reading, contradicted, .. } =
        given.beside(&file.about().dialect).map_err(refused)?;
    let said = contradicted.iter().map(|(recorded, instead)| {
        let (recorded, instead) = (Arguments.given(recorded), Arguments.given(instead));
        format!("the file was made with {recorded}, and this is read with {instead}")
    });
    Ok((reading, said.collect()))
}

/// That keys come from other columns than the file will name.
fn other_columns(job: &build::Job) -> Option<String> {
    let Sketches::Given(given) = &job.sketches else { return None };
    Some(OtherColumns::of(&job.recipe, &given.params().common.recipe)?.to_string())
}

/// How inputs were understood, where that may not be what was meant, and which options had no effect on any of them.
fn of_inputs(given: &Reading, inputs: &[Explained]) -> Vec<String> {
    let mut said = Vec::new();
    let delimited = |input: &Explained| input.delimiter.is_some();
    let text = |input: &Explained| input.format != Format::Parquet;
    for (is_given, option, has_it, of) in [
        (given.delimiter.is_some(), "delimiter", delimited as fn(&Explained) -> bool, "delimited text"),
        (given.quotes.is_some(), "quotes", delimited, "delimited text"),
        (given.no_header, "no_header", delimited, "delimited text"),
        (given.with_header, "with_header", delimited, "delimited text"),
        (given.comment.is_some(), "comment", text, "text"),
    ] {
        if is_given && !inputs.is_empty() && !inputs.iter().any(has_it) {
            said.push(format!("{option} had no effect: no input is {of}"));
        }
    }
    for input in inputs {
        let path = input.path.display();
        if let (true, Some(delimiter)) = (input.delimiter_by_look, input.delimiter) {
            said.push(format!(
                "{path}: the delimiter seems to be {delimiter}, judging by the header (tamis.files(…, delimiter=…) sets another)"
            ));
        }
        if input.quotes_by_look {
            said.push(format!(
                "{path}: its fields stand in quotes, and with this delimiter these are ordinary characters; \
                 tamis.files(…, quotes=\"csv\") reads them as quotes"
            ));
        }
        if input.header && input.columns.iter().any(|name| name.parse::<f64>().is_ok()) {
            said.push(format!(
                "{path}: its first line ({}) was read as column names; tamis.files(…, no_header=True) reads it as data",
                input.columns.join(", ")
            ));
        }
    }
    said
}
