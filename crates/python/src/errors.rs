//! Failures as Python exceptions.

use std::error::Error as StdError;
use std::fmt;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use tamis_jobs::marked::Marks;
use tamis_read::Error;
use tamis_read::refusal::{Given, Help, Opt, Refusal, Voice};

mod exception {
    pyo3::create_exception!(
        tamis,
        Error,
        pyo3::exceptions::PyException,
        "A job that failed, or a file that cannot be used: why, and what to do."
    );
}

mod warning {
    pyo3::create_exception!(
        tamis,
        KeyClassWarning,
        pyo3::exceptions::PyUserWarning,
        "Keys of another class ask a file, and may be missed: an integer asks for texts, or a time in another zone."
    );
}

/// What is raised where a job fails: `tamis.Error`.
pub use exception::Error as Failure;
/// What is said where keys of another class ask: `tamis.KeyClassWarning`.
pub use warning::KeyClassWarning;

/// A failure of a job.
pub fn raised(error: Error) -> PyErr {
    match error {
        // With a number Python makes the right kind of it: FileNotFoundError, PermissionError and so on.
        Error::Io { path, source } => match source.raw_os_error() {
            Some(number) => PyOSError::new_err((number, said(&source), path.display().to_string())),
            None => PyOSError::new_err(format!("{}: {source}", path.display())),
        },
        error => {
            let marked = error.said(&Marks);
            with_marks(Failure::new_err(error.said(&Arguments) + key_wanted(&error)), marked)
        }
    }
}

/// How a secret hash key that is missing is given.
pub fn key_wanted(error: &Error) -> &'static str {
    match error {
        Error::File { source: tamis::Error::HashKey { .. }, .. }
        | Error::Library(tamis::Error::HashKey { .. }) => " (hash_key=..., or tamis.add_hash_key)",
        _ => "",
    }
}

/// A request that cannot be served: a wrong argument.
pub fn refused(refusal: impl Refusal) -> PyErr {
    wrong_job(Error::refused(refusal))
}

/// A failure of a job that its arguments are to blame for.
pub fn wrong_job(error: Error) -> PyErr {
    let marked = error.said(&Marks);
    with_marks(PyValueError::new_err(error.said(&Arguments)), marked)
}

/// An exception that has its message with marks, too, for whoever calls options otherwise.
fn with_marks(error: PyErr, marked: String) -> PyErr {
    // An exception without it says the same, in the words of this package.
    let _ = Python::attach(|py| error.value(py).setattr("marked", marked));
    error
}

/// The options that are arguments of some function or method of this package: no others are advised.
pub const ARGUMENTS: [&str; 53] = [
    "adversary",
    "bad_rows",
    "bad_rows_to",
    "bits",
    "bits_per_group",
    "bits_per_key",
    "comment",
    "compression",
    "conservative",
    "count",
    "counter_bits",
    "delimiter",
    "delta",
    "depth",
    "distinct",
    "epsilon",
    "exact",
    "format",
    "fpr",
    "group",
    "hash",
    "hash_key",
    "hashes",
    "heavy",
    "invert",
    "key",
    "keys",
    "keywords",
    "kind",
    "layers",
    "memory",
    "negatives",
    "no_header",
    "null",
    "output",
    "output_format",
    "own_group",
    "params",
    "partial",
    "quotes",
    "random",
    "rejected",
    "removed",
    "seed",
    "share",
    "size",
    "state",
    "strict",
    "tag",
    "threads",
    "weight",
    "width",
    "with_header",
];

/// Spells options as arguments of a call: `kind="count-min"`.
pub struct Arguments;

impl Arguments {
    /// An option as it was given.
    pub fn given(&self, given: &Given) -> String {
        match &given.value {
            Some(value) => self.with(given.option, value),
            None => format!("{}=True", given.option.0),
        }
    }
}

impl Voice for Arguments {
    fn option(&self, option: Opt) -> String {
        option.0.to_owned()
    }

    fn with(&self, option: Opt, value: &str) -> String {
        let number = value.parse::<f64>().is_ok() || value.chars().all(|c| c.is_ascii_uppercase());
        match number {
            true => format!("{}={value}", option.0),
            false => format!("{}={value:?}", option.0),
        }
    }

    fn plan_first(&self) -> String {
        "plan first (params = tamis.plan(...)), and build each part with params=params".to_owned()
    }

    fn has(&self, option: Opt) -> bool {
        ARGUMENTS.contains(&option.0)
    }
}

/// What the operating system said, without its number, which Python shows too.
fn said(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// A wrong argument.
pub fn wrong(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Something that was used up, by its end or by a failure, and is asked for more.
#[derive(Debug)]
pub struct UsedUp;

impl fmt::Display for UsedUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this has finished or has failed")
    }
}

impl StdError for UsedUp {}

impl Refusal for UsedUp {
    fn help(&self) -> Vec<Help> {
        vec![Help::Do("start another")]
    }
}
