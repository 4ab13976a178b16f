//! How this command line was started: as the program, or by the Python that has the package. What starts it
//! again, or starts Python, must know.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result};

use crate::show::usage;

/// What runs the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// A program of its own.
    Program,
    /// The Python at this path, which has the package.
    Python(OsString),
}

static HOST: OnceLock<Host> = OnceLock::new();

/// From now on. There is one for as long as the process lives.
pub fn set(host: Host) {
    let _ = HOST.set(host);
}

/// The Python that runs this, where one does: it has the package.
pub fn python() -> Option<OsString> {
    match HOST.get() {
        Some(Host::Python(python)) => Some(python.clone()),
        _ => None,
    }
}

/// What starts this again, but for its arguments.
pub fn command() -> Result<Command> {
    match python() {
        Some(python) => {
            let mut command = Command::new(python);
            command.args(["-m", "tamis"]);
            Ok(command)
        }
        None => Ok(Command::new(path()?)),
    }
}

/// The one file that is this program, to be run on other machines.
pub fn file() -> Result<PathBuf> {
    match python() {
        Some(_) => usage(
            "this command belongs to the Python package, and machines without it cannot run it: use the program \
             itself (cargo install tamis-cli, or an archive of the release)",
        ),
        None => path(),
    }
}

fn path() -> Result<PathBuf> {
    env::current_exe().context("the path of this program")
}
