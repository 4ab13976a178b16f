//! What can go wrong in a job, each with what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use crate::refusal::{Fields, Refusal, Voice, say};

/// The result of reading, and of all that is built on it.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure of a job.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The user asked it to stop.
    #[error("interrupted; no partial output was left")]
    Interrupted,
    /// The operating system refused something.
    #[error("{}: {}", path.display(), plain(source))]
    Io {
        /// The file concerned.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// A row that cannot be read or of which no key can be made.
    #[error("{}, line {line}: {}", path.display(), say(&**why, &Fields))]
    Row {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        why: Box<dyn Refusal>,
    },
    /// The same in a file that has rows and no lines.
    #[error("{}, row {row}: {}", path.display(), say(&**why, &Fields))]
    FileRow {
        /// The file.
        path: PathBuf,
        /// The row, from 1.
        row: u64,
        /// What is wrong with it.
        why: Box<dyn Refusal>,
    },
    /// The same in a table that has no file.
    #[error("row {row} (counted from 0): {}", say(&**why, &Fields))]
    TableRow {
        /// The row, from 0.
        row: u64,
        /// What is wrong with it.
        why: Box<dyn Refusal>,
    },
    /// An input that cannot be used as asked: what, and what to do.
    #[error("{}: {}", path.display(), say(&**why, &Fields))]
    Input {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: Box<dyn Refusal>,
    },
    /// A request that cannot be served: why, and what to do.
    #[error("{}", say(&**.0, &Fields))]
    Refused(Box<dyn Refusal>),
    /// A file that the library could not use.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: tamis::Error,
    },
    /// A failure in the library.
    #[error(transparent)]
    Library(#[from] tamis::Error),
}

/// What the operating system said. What people meet most often has the same words everywhere.
fn plain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound if error.raw_os_error().is_some() => "no such file or folder".into(),
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_some() => "permission denied".into(),
        io::ErrorKind::AlreadyExists if error.raw_os_error().is_some() => "already exists".into(),
        io::ErrorKind::NotADirectory if error.raw_os_error().is_some() => "not a folder".into(),
        _ => error.to_string(),
    }
}

impl Error {
    /// A request that cannot be served.
    pub fn refused(why: impl Into<Box<dyn Refusal>>) -> Self {
        Error::Refused(why.into())
    }

    /// An input that cannot be used as asked.
    pub fn input(path: impl Into<PathBuf>, why: impl Into<Box<dyn Refusal>>) -> Self {
        Error::Input { path: path.into(), why: why.into() }
    }

    /// What happened, where, and what would help, with options spelled as this front end does.
    pub fn said(&self, voice: &dyn Voice) -> String {
        match self {
            Error::Row { path, line, why } => {
                format!("{}, line {line}: {}", path.display(), say(&**why, voice))
            }
            Error::FileRow { path, row, why } => {
                format!("{}, row {row}: {}", path.display(), say(&**why, voice))
            }
            Error::TableRow { row, why } => format!("row {row} (counted from 0): {}", say(&**why, voice)),
            Error::Input { path, why } => format!("{}: {}", path.display(), say(&**why, voice)),
            Error::Refused(why) => say(&**why, voice),
            other => other.to_string(),
        }
    }

    /// An error of the operating system, with the file it is about.
    pub fn io(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Error::Io { path, source }
    }

    /// An error of the library, with the file it is about.
    pub fn file(path: impl AsRef<Path>) -> impl FnOnce(tamis::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Error::File { path, source }
    }
}

impl<R: Refusal> From<R> for Error {
    fn from(why: R) -> Self {
        Error::refused(why)
    }
}
