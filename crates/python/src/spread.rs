//! Jobs that are spread over machines: what the executors of an engine and its driver are asked to do.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tamis::key::Column;
use tamis::params::Params;
use tamis_jobs::ask::Extent;
use tamis_jobs::check::apart::{Gatherer as Keys, Judge as Judging};
use tamis_jobs::check::{self, Findings, With};
use tamis_jobs::filter::apart::{self, Question};
use tamis_make::spread::{self, Outcome, Rows};
use tamis_make::{opt, parallel};
use tamis_read::refusal::{Help, Refusal};
use tamis_read::{Control, Delimiter, Error, Format, Options as Reading, Quotes, Sources, Watch};

use crate::errors::{ARGUMENTS, UsedUp, raised, refused, wrong, wrong_job};
use crate::file::File;
use crate::options::{Options, named};
use crate::patience;
use crate::rows::rows;

/// How a text is cut into rows, and what stands before them.
#[derive(Clone)]
struct Text {
    reading: Reading,
    header: Vec<u8>,
}

/// Rows as an executor has them: a table, or lines of text.
struct Given {
    width: usize,
    text: Option<Text>,
    /// Whether the last column of a table has the names of files.
    named: bool,
}

impl Given {
    fn new(options: &Options<'_>, width: usize) -> PyResult<Given> {
        let dict = &options.0;
        let text = match dict.get_item("text")?.filter(|text| !text.is_none()) {
            None => None,
            Some(text) => {
                let text = text.cast_into::<PyDict>().map_err(PyErr::from)?.copy()?;
                let header = text.get_item("header")?.filter(|header| !header.is_none());
                let header =
                    header.map(|header| header.extract::<Vec<u8>>()).transpose()?.unwrap_or_default();
                // What is known of the text beside how it is read.
                for other in ["header", "columns", "quoted"] {
                    let _ = text.del_item(other);
                }
                let reading = Options(text).reading()?;
                Some(Text { reading, header })
            }
        };
        Ok(Given { width, text, named: are_named(dict)? })
    }

    /// The rows; `file` is the name of the one that lines of text come from.
    fn rows(&self, data: &Bound<'_, PyAny>, file: Option<String>) -> PyResult<Rows> {
        let mut table = rows(data, self.width)?;
        let Some(text) = &self.text else {
            table.file = if self.named { table.kinds.len().checked_sub(1) } else { None };
            return Ok(Rows::Table(Arc::new(table)));
        };
        let mut lines = text.header.clone();
        for part in &table.parts {
            let Some(column) = part.first() else { continue };
            push_lines(&**column, &text.reading, &mut lines)?;
        }
        let name = Rows::somewhere().to_owned();
        let options = Reading { file: file.map(String::into_bytes), ..text.reading.clone() };
        Ok(Rows::Text { lines, options, name })
    }
}

/// Whether the files that rows come from have names.
fn are_named(options: &Bound<'_, PyDict>) -> PyResult<bool> {
    Ok(options.get_item("names")?.is_some_and(|names| !names.is_none()))
}

/// Appends the values of an array, a line each. A record of several lines is refused wherever it stands:
/// the next line may be in another batch, or on another machine.
fn push_lines(column: &dyn Array, reading: &Reading, lines: &mut Vec<u8>) -> PyResult<()> {
    let mut open = None;
    let mut push = |bytes: &[u8]| {
        if open.is_none() && reading.leaves_open(bytes) {
            open = Some(String::from_utf8_lossy(bytes).chars().take(60).collect::<String>());
        }
        lines.extend_from_slice(bytes);
        lines.push(b'\n');
    };
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().iter().flatten().for_each(|line| push(line.as_bytes())),
        DataType::LargeUtf8 => {
            column.as_string::<i64>().iter().flatten().for_each(|line| push(line.as_bytes()))
        }
        DataType::Utf8View => column.as_string_view().iter().flatten().for_each(|line| push(line.as_bytes())),
        DataType::Binary => column.as_binary::<i32>().iter().flatten().for_each(push),
        DataType::LargeBinary => column.as_binary::<i64>().iter().flatten().for_each(push),
        other => return Err(wrong(format!("lines of text are strings, not {other}"))),
    }
    match open {
        Some(line) => Err(raised(Error::input(Rows::somewhere(), Elsewhere::OpenQuote(line)))),
        None => Ok(()),
    }
}

/// Text that lines on executors cannot say, or do not.
#[derive(Debug, thiserror::Error)]
enum Elsewhere {
    /// A quoted value that goes on in the next line.
    #[error(
        "{0:?} opens a quoted value that does not end in its line, and on Spark a quoted value cannot hold a line end \
         (quotes may be ordinary characters in this file)"
    )]
    OpenQuote(String),
    /// Text of which nobody said that each line is one key. Executors would take that for said.
    #[error("nothing says what separates its columns")]
    Undeclared,
    /// Comments before a header, which executors look for in the first line of a file.
    #[error("comments stand before its header, and on Spark the header must be the first line")]
    CommentsFirst,
    /// The name of the input as a column, of rows that somebody made.
    #[error("(file) is not a column of a DataFrame: its rows come from no file that was named")]
    File,
    /// A whole file as a record.
    #[error("a whole file is one record here, and Spark reads files as rows")]
    Text,
}

impl Refusal for Elsewhere {
    fn help(&self) -> Vec<Help> {
        match self {
            Elsewhere::OpenQuote(_) => vec![Help::leave_out(opt::ON), Help::give(opt::QUOTES.with("none"))],
            Elsewhere::Undeclared => vec![
                Help::GiveTo(opt::FORMAT.with("lines"), "take whole lines"),
                Help::GiveTo(opt::DELIMITER.with("DELIMITER"), "take their first field"),
            ],
            Elsewhere::Text => vec![Help::leave_out(opt::ON)],
            Elsewhere::CommentsFirst => vec![Help::leave_out(opt::ON)],
            Elsewhere::File => vec![Help::Do("add a column of names, such as Spark's input_file_name()")],
        }
    }
}

/// A failure of rows; a line of a piece of a text has no number that helps.
fn at_rows(error: Error) -> PyErr {
    raised(Rows::plainly(error))
}

/// Something that changes, until it is used up or an error leaves it unusable.
struct Held<T>(Mutex<Option<T>>);

impl<T: Send> Held<T> {
    fn new(value: T) -> Held<T> {
        Held(Mutex::new(Some(value)))
    }

    fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T) -> tamis_read::Result<R> + Send,
    ) -> PyResult<R> {
        let done = py.detach(|| {
            let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let mut value = held.take().ok_or(UsedUp)?;
            let done = work(&mut value)?;
            *held = Some(value);
            Ok(done)
        });
        done.map_err(at_rows)
    }

    fn take(&self) -> PyResult<T> {
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        value.ok_or_else(|| raised(UsedUp.into()))
    }
}

type Parts<'py, N> = Vec<(N, Bound<'py, PyBytes>)>;

fn as_parts<N>(py: Python<'_>, parts: Vec<(N, Vec<u8>)>) -> Parts<'_, N> {
    parts.into_iter().map(|(number, bytes)| (number, PyBytes::new(py, &bytes))).collect()
}

/// Counts keys.
#[pyclass(frozen, module = "tamis._tamis")]
struct Counter {
    counter: Held<spread::Counter>,
    given: Given,
}

#[pymethods]
impl Counter {
    #[new]
    fn new(options: Bound<'_, PyDict>) -> PyResult<Counter> {
        let options = Options(options);
        let job = options.job()?;
        let given = Given::new(&options, job.recipe.key.len())?;
        Ok(Counter { counter: Held::new(spread::Counter::new(job).map_err(raised)?), given })
    }

    #[pyo3(signature = (data, file=None))]
    fn add(&self, py: Python<'_>, data: &Bound<'_, PyAny>, file: Option<String>) -> PyResult<()> {
        let rows = self.given.rows(data, file)?;
        self.counter.with(py, |counter| counter.add(rows, &Control::default()))
    }

    fn absorb(&self, py: Python<'_>, part: &[u8]) -> PyResult<()> {
        self.counter.with(py, |counter| counter.absorb(part))
    }

    fn parts<'py>(&self, py: Python<'py>, parts: usize, most: usize) -> PyResult<Parts<'py, u32>> {
        Ok(as_parts(py, self.counter.with(py, |counter| counter.parts(parts, most))?))
    }

    /// The parameters as JSON, and whether keys were estimated; or none, where the file is built.
    fn conclude<'py>(&self, py: Python<'py>, path: Option<PathBuf>) -> PyResult<Bound<'py, PyDict>> {
        let counter = self.counter.take()?;
        let threads = parallel::default_threads();
        // It may write the file, and an interrupted job must not.
        let conclude = |control: &Control| counter.conclude(path.as_deref(), threads, control);
        let outcome = patience::run(py, u64::MAX, conclude)?;
        let found = PyDict::new(py);
        match outcome {
            Outcome::Params { params, estimated, lone_keywords, skipped } => {
                found.set_item("skipped", skipped)?;
                found.set_item("params", params.to_json())?;
                found.set_item("estimated", estimated)?;
                found.set_item("lone_keywords", lone_keywords)?;
            }
            Outcome::Built { skipped } => found.set_item("skipped", skipped)?,
        }
        Ok(found)
    }
}

/// What rows change in sketches of given parameters.
#[pyclass(frozen, module = "tamis._tamis")]
struct Partial {
    partial: Held<spread::Partial>,
    given: Given,
}

#[pymethods]
impl Partial {
    #[new]
    fn new(options: Bound<'_, PyDict>, range_bytes: usize) -> PyResult<Partial> {
        let options = Options(options);
        let job = options.job()?;
        let given = Given::new(&options, job.recipe.key.len())?;
        Ok(Partial { partial: Held::new(spread::Partial::new(job, range_bytes).map_err(wrong_job)?), given })
    }

    /// Takes rows; returns about how many bytes are held.
    #[pyo3(signature = (data, file=None))]
    fn add(&self, py: Python<'_>, data: &Bound<'_, PyAny>, file: Option<String>) -> PyResult<usize> {
        let rows = self.given.rows(data, file)?;
        self.partial.with(py, |partial| {
            partial.add(rows, &Control::default())?;
            Ok(partial.held())
        })
    }

    fn drain<'py>(&self, py: Python<'py>) -> PyResult<Parts<'py, i64>> {
        Ok(as_parts(py, self.partial.with(py, |partial| Ok(partial.drain()))?))
    }
}

fn parameters(json: &str) -> PyResult<Params> {
    Params::from_json(json).map_err(wrong)
}

/// Brings parts of the same range together.
#[pyclass(frozen, module = "tamis._tamis")]
struct Merger(Held<spread::Merger>);

#[pymethods]
impl Merger {
    #[new]
    fn new(params: &str, range_bytes: usize) -> PyResult<Merger> {
        let merger = spread::Merger::new(&parameters(params)?, range_bytes).map_err(wrong_job)?;
        Ok(Merger(Held::new(merger)))
    }

    fn absorb(&self, py: Python<'_>, part: &[u8]) -> PyResult<()> {
        self.0.with(py, |merger| merger.absorb(part))
    }

    fn drain<'py>(&self, py: Python<'py>) -> PyResult<Parts<'py, i64>> {
        Ok(as_parts(py, self.0.with(py, |merger| Ok(merger.drain()))?))
    }
}

/// A file that is put together of ranges.
#[pyclass(frozen, module = "tamis._tamis")]
struct Assembly(Held<spread::Assembly>);

#[pymethods]
impl Assembly {
    #[new]
    fn new(params: &str, range_bytes: usize, path: PathBuf) -> PyResult<Assembly> {
        let assembly = spread::Assembly::new(parameters(params)?, range_bytes, &path).map_err(raised)?;
        Ok(Assembly(Held::new(assembly)))
    }

    /// Records what these options say about the file.
    fn record(&self, py: Python<'_>, options: Bound<'_, PyDict>) -> PyResult<()> {
        let about = Options(options).about()?;
        self.0.with(py, |assembly| {
            assembly.record(about);
            Ok(())
        })
    }

    /// Begins with what a file has.
    fn begin(&self, py: Python<'_>, file: &File) -> PyResult<()> {
        self.0.with(py, |assembly| assembly.begin(&file.file))
    }

    /// Records that keys are of these classes, too.
    fn see(&self, py: Python<'_>, classes: Vec<String>) -> PyResult<()> {
        self.0.with(py, |assembly| {
            assembly.see(named(&classes));
            Ok(())
        })
    }

    fn put(&self, py: Python<'_>, part: &[u8]) -> PyResult<()> {
        self.0.with(py, |assembly| assembly.put(part))
    }

    /// The rows left out.
    fn finish(&self, py: Python<'_>) -> PyResult<u64> {
        let assembly = self.0.take()?;
        py.detach(|| assembly.finish(parallel::default_threads())).map_err(raised)
    }
}

/// Gathers keys for a test.
#[pyclass(frozen, module = "tamis._tamis")]
struct Gatherer {
    keys: Held<Keys>,
    given: Given,
}

#[pymethods]
impl Gatherer {
    #[new]
    fn new(file: &File, options: Bound<'_, PyDict>) -> PyResult<Gatherer> {
        let options = Options(options);
        let params = file.file.params();
        let recipe = options.applied(&params.common.recipe)?;
        let given = Given::new(&options, recipe.key.len())?;
        Ok(Gatherer { keys: Held::new(Keys::new(params.clone(), recipe, options.bad_rows()?)), given })
    }

    /// Takes rows; returns about how many bytes are held.
    #[pyo3(signature = (data, negatives, file=None))]
    fn add(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        negatives: bool,
        file: Option<String>,
    ) -> PyResult<usize> {
        let rows = self.given.rows(data, file)?;
        self.keys.with(py, |keys| {
            keys.add(rows, negatives, &Control::default())?;
            Ok(keys.held())
        })
    }

    fn add_random(&self, py: Python<'_>, first: u64, end: u64, seed: u64) -> PyResult<()> {
        self.keys.with(py, |keys| keys.add_random(first..end, seed, &Control::default()))
    }

    fn drain<'py>(&self, py: Python<'py>) -> PyResult<Parts<'py, u32>> {
        Ok(as_parts(py, self.keys.with(py, Keys::drain)?))
    }
}

/// Judges the keys of parts.
#[pyclass(frozen, module = "tamis._tamis")]
struct Judge(Held<Judging>);

#[pymethods]
impl Judge {
    #[new]
    fn new(file: &File) -> Judge {
        Judge(Held::new(Judging::new(file.file.params())))
    }

    fn absorb(&self, py: Python<'_>, part: &[u8]) -> PyResult<()> {
        self.0.with(py, |judge| judge.absorb(part))
    }

    fn settle(&self, py: Python<'_>, file: &File) -> PyResult<()> {
        self.0.with(py, |judge| judge.settle(&file.file))
    }

    /// What was found, as JSON.
    fn findings(&self) -> PyResult<String> {
        serde_json::to_string(&self.0.take()?.findings()).map_err(wrong)
    }
}

/// The lines that pass, as they are, and the numbers of records, of those admitted, and of those without a
/// key.
#[pyfunction]
fn sieve_lines<'py>(
    py: Python<'py>,
    file: &File,
    options: Bound<'py, PyDict>,
    group: Option<&Bound<'py, PyAny>>,
    how: (bool, bool),
    lines: &Bound<'py, PyAny>,
    name: Option<String>,
) -> PyResult<(Bound<'py, PyBytes>, u64, u64, u64)> {
    let options = Options(options);
    let recipe = options.applied(&file.file.params().common.recipe)?;
    let rows = Given::new(&options, recipe.key.len())?.rows(lines, name)?;
    let (invert, partial) = how;
    let (group, extent) = (file.group(group)?, Extent::partial_if(partial));
    let question = Question { group, recipe, extent, invert, on_bad: options.bad_rows()? };
    let sieved = py.detach(|| apart::sieve(&file.file, &question, rows, &Control::default()));
    let (passed, found) = sieved.map_err(at_rows)?;
    Ok((PyBytes::new(py, &passed), found.records, found.admitted, found.keyless))
}

/// The lines that answer the queries in rows; and how many queries there were, and rows without a key.
#[pyfunction]
fn answer_rows<'py>(
    py: Python<'py>,
    file: &File,
    options: Bound<'py, PyDict>,
    rows: &Bound<'py, PyAny>,
    name: Option<String>,
) -> PyResult<(Bound<'py, PyBytes>, u64, u64)> {
    let options = Options(options);
    let recipe = options.applied(&file.file.params().common.recipe)?;
    let rows = Given::new(&options, recipe.key.len())?.rows(rows, name)?;
    let on_bad = options.bad_rows()?;
    let answer = || tamis_stream::apart::answers(&file.file, &recipe, on_bad, rows, &Control::default());
    let found = py.detach(answer).map_err(at_rows)?;
    Ok((PyBytes::new(py, &found.lines), found.queries, found.skipped))
}

/// Sums up findings.
#[pyfunction]
fn sum_findings(all: Vec<String>) -> PyResult<String> {
    let mut sum = Findings::default();
    for findings in all {
        sum.add(&serde_json::from_str(&findings).map_err(wrong)?);
    }
    serde_json::to_string(&sum).map_err(wrong)
}

/// What follows from findings for these filters: what `tamis test --json` prints.
#[pyfunction]
fn conclude_test(
    py: Python<'_>,
    file: &File,
    findings: &str,
    members: bool,
    negatives: bool,
) -> PyResult<String> {
    let findings = serde_json::from_str(findings).map_err(wrong)?;
    let with = With { members, negatives };
    let report = py.detach(|| check::conclude(&file.file, findings, with, parallel::default_threads()));
    Ok(tamis_report::check::json(&report.map_err(raised)?).to_string())
}

/// The parameters of a job that needs no rows for them, as JSON.
#[pyfunction]
fn planned_without_rows(options: Bound<'_, PyDict>) -> PyResult<Option<String>> {
    let planned = spread::planned_without_rows(&Options(options).job()?).map_err(wrong_job)?;
    Ok(planned.map(|params| params.to_json()))
}

/// The columns that a job asks of its rows: names, or numbers, `None` for the line, and `...` for the name of
/// the file, where files have names.
#[pyfunction]
fn asked_columns(
    py: Python<'_>,
    options: Bound<'_, PyDict>,
    file: Option<&File>,
) -> PyResult<Vec<Py<PyAny>>> {
    let named = are_named(&options)?;
    let column = |column: Column| match column {
        Column::Name(name) | Column::List(name) => Ok(name.into_pyobject(py)?.into_any().unbind()),
        Column::Number(number) => Ok(number.into_pyobject(py)?.into_any().unbind()),
        Column::Line => Ok(py.None()),
        Column::File if named => Ok(py.Ellipsis()),
        Column::File => Err(refused(Elsewhere::File)),
        Column::Text(_) => Err(refused(Elsewhere::Text)),
    };
    columns(options, file)?.into_iter().map(column).collect()
}

fn columns(options: Bound<'_, PyDict>, file: Option<&File>) -> PyResult<Vec<Column>> {
    let without_group = match options.get_item("without_group")? {
        Some(without) => without.extract()?,
        None => false,
    };
    let options = Options(options);
    let mut recipe = match file {
        Some(file) => options.applied(&file.file.params().common.recipe)?,
        None => options.job()?.recipe,
    };
    if file.is_some() {
        recipe.weight = None;
    }
    // The columns of the key alone.
    if without_group {
        (recipe.group, recipe.weight) = (None, None);
    }
    Ok(recipe.columns())
}

/// The bytes of the data area of a file with these parameters.
#[pyfunction]
fn data_bytes(params: &str) -> PyResult<usize> {
    Ok(8 * parameters(params)?.layout().1)
}

/// Refuses columns of a job that are not among these names.
#[pyfunction]
fn find_columns(options: Bound<'_, PyDict>, file: Option<&File>, names: Vec<String>) -> PyResult<()> {
    Sources::find_columns(&columns(options, file)?, &names).map_err(raised)
}

/// What the column `(file)` is of a file with this path.
#[pyfunction]
fn file_name(path: &str) -> String {
    String::from_utf8_lossy(&tamis_read::file_name(path.as_ref())).into_owned()
}

/// How a text is understood that begins like this.
#[pyfunction]
fn understand<'py>(
    py: Python<'py>,
    options: Bound<'py, PyDict>,
    file: Option<&File>,
    name: PathBuf,
    head: Vec<u8>,
    reading: Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    let columns = columns(options, file)?;
    let mut reading = Options(reading).reading()?;
    reading.file = Some(tamis_read::file_name(&name));
    let watch = Watch::default();
    reading.watch = Some(watch.clone());
    let understood = Sources::understand_text(&name, head, &reading, &columns);
    let (explained, prelude) = understood.map_err(raised)?;
    if explained.undeclared {
        return Err(raised(Error::input(name, Elsewhere::Undeclared)));
    }
    if explained.header && explained.comments > 0 {
        return Err(raised(Error::input(name, Elsewhere::CommentsFirst)));
    }
    let found = PyDict::new(py);
    found.set_item("format", explained.format.name())?;
    match explained.delimiter {
        Some(Delimiter::Whitespace) => found.set_item("delimiter", "whitespace")?,
        delimiter => found.set_item("delimiter", delimiter.and_then(Delimiter::byte))?,
    }
    // Logs never have a header, and nobody says so.
    found.set_item("no_header", !explained.header && explained.format != Format::Log)?;
    found.set_item("quotes", explained.quotes.map(Quotes::name))?;
    found.set_item("quoted", explained.quotes.is_some_and(|quotes| watch.saw(quotes)))?;
    found.set_item("comment", reading.comment)?;
    found.set_item("columns", explained.columns)?;
    found.set_item("header", explained.header.then(|| PyBytes::new(py, &prelude)))?;
    Ok(found)
}

/// Adds all of this to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Counter>()?;
    module.add_class::<Partial>()?;
    module.add_class::<Merger>()?;
    module.add_class::<Assembly>()?;
    module.add_class::<Gatherer>()?;
    module.add_class::<Judge>()?;
    module.add_function(wrap_pyfunction!(sieve_lines, module)?)?;
    module.add_function(wrap_pyfunction!(answer_rows, module)?)?;
    module.add_function(wrap_pyfunction!(sum_findings, module)?)?;
    module.add_function(wrap_pyfunction!(conclude_test, module)?)?;
    module.add_function(wrap_pyfunction!(planned_without_rows, module)?)?;
    module.add_function(wrap_pyfunction!(asked_columns, module)?)?;
    module.add_function(wrap_pyfunction!(find_columns, module)?)?;
    module.add_function(wrap_pyfunction!(understand, module)?)?;
    module.add_function(wrap_pyfunction!(file_name, module)?)?;
    module.add_function(wrap_pyfunction!(data_bytes, module)?)?;
    module.add("RANGE_BYTES", spread::RANGE_BYTES)?;
    module.add("ARGUMENTS", ARGUMENTS)?;
    module.add("OPTIONS", opt::ALL.iter().map(|option| option.0).collect::<Vec<_>>())?;
    Ok(())
}
