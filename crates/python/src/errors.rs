//! Failures as Python exceptions.

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use tamis_jobs::marked::Marks;
use tamis_read::Error;
use tamis_read::refusal::{Opt, Refusal, Voice};

mod exception {
    pyo3::create_exception!(
        tamis,
        Error,
        pyo3::exceptions::PyException,
        "A job that failed, or a file that cannot be used: why, and what to do."
    );
}

/// What is raised where a job fails: `tamis.Error`.
pub use exception::Error as Failure;

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
            with_marks(Failure::new_err(in_python(&error.said(&Arguments))), marked)
        }
    }
}

/// A request that cannot be served: a wrong argument.
pub fn refused(refusal: impl Refusal) -> PyErr {
    wrong_job(Error::refused(refusal))
}

/// A failure of a job that its arguments are to blame for.
pub fn wrong_job(error: Error) -> PyErr {
    let marked = error.said(&Marks);
    with_marks(PyValueError::new_err(in_python(&error.said(&Arguments))), marked)
}

/// An exception that has its message with marks, too, for whoever calls options otherwise.
fn with_marks(error: PyErr, marked: String) -> PyErr {
    // An exception without it says the same, in the words of this package.
    let _ = Python::attach(|py| error.value(py).setattr("marked", marked));
    error
}

/// Spells options as arguments of a call: `kind="count-min"`.
struct Arguments;

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
}

/// What the operating system said, without its number, which Python shows too.
fn said(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// A wrong argument.
pub fn wrong(error: impl ToString) -> PyErr {
    PyValueError::new_err(in_python(&error.to_string()))
}

/// What the engine advises for the command line, and what to do here.
const PHRASES: [(&str, &str); 4] = [
    (
        "(tamis plan DATA … -o params.json, then tamis build --params params.json; or build --like one of them)",
        "(params = tamis.plan(...), then tamis.build(..., params=params))",
    ),
    (
        "pass --key with one of them (--format lines takes whole lines)",
        "pass key= with one of them (and to contains, the column itself)",
    ),
    ("(--keys N makes an empty filter)", "(keys=N makes an empty filter)"),
    ("give --keywords COLUMN:split=','", "give keywords=\"COLUMN:split=,\""),
];

/// Options that are followed by a word.
const WITH_WORDS: [&str; 3] = ["kind", "hash", "bad-rows"];

/// The engine names options as the command line does; here they are arguments: `--bits-per-key` is
/// `bits_per_key`, and `--bad-rows skip` is `bad_rows="skip"`.
pub fn in_python(message: &str) -> String {
    let mut message = message.to_owned();
    for (there, here) in PHRASES {
        message = message.replace(there, here);
    }
    let mut text = String::with_capacity(message.len());
    let mut rest = &message[..];
    while let Some(at) = rest.find("--") {
        text += &rest[..at];
        rest = &rest[at + 2..];
        // What users call theirs may have such signs within.
        if text.ends_with(|before: char| !before.is_whitespace() && !"(\"'`".contains(before)) {
            text += "--";
            continue;
        }
        let word =
            |text: &str| text.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(text.len());
        let (name, after) = rest.split_at(word(rest));
        rest = after;
        text += &name.replace('-', "_");
        if WITH_WORDS.contains(&name)
            && let Some(after) = after.strip_prefix(' ')
        {
            let (value, after) = after.split_at(word(after));
            text += &format!("=\"{value}\"");
            rest = after;
        }
    }
    text + rest
}
