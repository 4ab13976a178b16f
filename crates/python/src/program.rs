//! The command line: what `tamis` and `python -m tamis` run.

use std::ffi::OsString;

use pyo3::prelude::*;
use tamis_cli::Host;

/// Runs the command with these arguments, the first of which is the name of the program, and gives its exit code.
/// For a process that does nothing else: it takes over the signals.
#[pyfunction]
pub fn run_program(py: Python<'_>, python: OsString, arguments: Vec<OsString>) -> u8 {
    py.detach(|| {
        tamis_cli::say_when_out_of_memory();
        tamis_cli::run(Host::Python(python), arguments)
    })
}
