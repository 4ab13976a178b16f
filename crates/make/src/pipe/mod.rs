//! Containers that travel through pipes: standard input and output, or any stream of bytes.
//!
//! A container says how long it is, so that several may follow each other with nothing between them. Where
//! what carries them cuts lines (Hadoop Streaming, `sort`), each is one line of base64. The reader tells the
//! two apart by the first byte. Nothing can be taken back from a pipe: what ends too early is refused by
//! whoever reads it.

mod read;
mod write;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tamis_read::error::{Error, Result};
use tamis_read::refusal::{self, Help};

pub use self::read::Containers;
pub(crate) use self::write::{check, write};
use crate::files::Mapped;
use crate::opt;

/// The name of standard input, and of standard output.
pub const NAME: &str = "-";

/// How messages call standard input.
const INPUT: &str = "standard input";

/// How messages call standard output.
pub const OUTPUT: &str = "standard output";

/// How a container looks in a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As in a file.
    Bytes,
    /// One line of base64.
    Base64,
}

/// Where a container goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'p> {
    /// To a file, which appears whole.
    File(&'p Path),
    /// To standard output.
    Stdout(Form),
}

impl<'p> Target<'p> {
    /// To what has this name. A file is never a line of base64.
    pub fn of(path: &'p Path, form: Form) -> Result<Target<'p>, Refusal> {
        match (path == Path::new(NAME), form) {
            (true, form) => Ok(Target::Stdout(form)),
            (false, Form::Bytes) => Ok(Target::File(path)),
            (false, Form::Base64) => Err(Refusal::Base64File),
        }
    }

    /// The file, where it is one.
    pub fn file(self) -> Option<&'p Path> {
        match self {
            Target::File(path) => Some(path),
            Target::Stdout(_) => None,
        }
    }
}

impl<'p> From<&'p Path> for Target<'p> {
    fn from(path: &'p Path) -> Target<'p> {
        Target::File(path)
    }
}

impl<'p> From<&'p PathBuf> for Target<'p> {
    fn from(path: &'p PathBuf) -> Target<'p> {
        Target::File(path)
    }
}

/// Why nothing goes through a pipe, or what came out of one is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Bytes are no text for a terminal.
    #[error("a tamis file is not text for a terminal")]
    Terminal,
    /// Only a pipe needs text.
    #[error("only standard output takes a line of base64")]
    Base64File,
    /// Keys that are kept lie beside a file.
    #[error("exact keys are kept in a second file, and standard output has none beside it")]
    Exact,
    /// Nothing came.
    #[error("is empty: no tamis file came")]
    Empty,
    /// Something came that is no container.
    #[error("is neither a tamis file nor lines of base64 that hold one each")]
    Foreign,
    /// Something follows that is no container.
    #[error("after tamis file {number} comes something else")]
    Trailing {
        /// Containers before it.
        number: u64,
    },
    /// The bytes end within a container.
    #[error(
        "ends within tamis file {number}, after {got} of {expected} bytes: whatever wrote it did not end well"
    )]
    Truncated {
        /// Its number, from 1.
        number: u64,
        /// Its bytes.
        expected: u64,
        /// Those that came.
        got: u64,
    },
    /// A line without a container, or with a part of one.
    #[error("line {line} does not hold a whole tamis file in base64")]
    Line {
        /// Its number, from 1.
        line: u64,
    },
    /// A line with more than a container.
    #[error("line {line} goes on after its tamis file")]
    LineGoesOn {
        /// Its number, from 1.
        line: u64,
    },
    /// Several where one is meant.
    #[error("holds more than one tamis file")]
    Several,
    /// A file that is changed is a file.
    #[error("standard input cannot be changed in its place")]
    Changed,
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        match self {
            Refusal::Terminal => {
                vec![Help::Do("send it to a file or to a program"), Help::give(opt::BASE64)]
            }
            Refusal::Base64File => vec![Help::give(opt::OUTPUT.with(NAME)), Help::leave_out(opt::BASE64)],
            Refusal::Exact => vec![Help::give(opt::OUTPUT.with("FILE")), Help::leave_out(opt::EXACT)],
            Refusal::Several => vec![Help::Do("merge them first")],
            Refusal::Changed => vec![Help::Do("name a file")],
            _ => Vec::new(),
        }
    }
}

/// How messages call the place where a container went.
pub fn said(path: &Path) -> String {
    if path == Path::new(NAME) { OUTPUT.to_owned() } else { path.display().to_string() }
}

/// Whether this name is that of standard input.
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new(NAME)
}

/// All containers on standard input, one after the other.
pub fn stdin() -> Containers<io::StdinLock<'static>> {
    Containers::new(io::stdin().lock(), INPUT)
}

/// The one container on standard input. It is read once, and then belongs to this process: a job may open it
/// more than once, as it would a file.
pub(crate) fn open_stdin() -> Result<Mapped> {
    static READ: Mutex<Option<&'static [u8]>> = Mutex::new(None);
    let mut read = READ.lock().expect("no holder panics");
    if read.is_none() {
        let mut containers = stdin();
        let (held, _) = containers.next_bytes()?.ok_or_else(|| refused(Refusal::Empty))?;
        if !containers.is_at_end()? {
            return Err(refused(Refusal::Several));
        }
        *read = Some(Box::leak(Box::new(held)));
    }
    let bytes = read.expect("it was read");
    tamis::Container::open(crate::files::Held::Shared(bytes)).map_err(Error::file(INPUT))
}

/// Whether binary output would go to a person.
fn is_for_a_person(form: Form) -> bool {
    form == Form::Bytes && io::stdout().is_terminal()
}

fn refused(why: Refusal) -> Error {
    Error::input(INPUT, why)
}

#[cfg(test)]
mod tests;
