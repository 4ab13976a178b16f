//! Files that appear whole or not at all.
//!
//! A [`Draft`] is written without a name (where the system has no such files, under a temporary one) in the
//! folder of the file, synced, and renamed: a reader sees the old file or the new one, and a failure leaves
//! the old one untouched. [`finish_all`] does that for files that belong together: all are on disk before
//! one is renamed, and if one cannot be, those before are taken back. What stood
//! there gives its owner and its permissions to what replaces it. A link is followed; a folder or a device is
//! never replaced.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("names.txt");
//! use std::io::Write;
//!
//! tamis::whole::write(&path, |out| writeln!(out, "ann"))?;
//! assert_eq!(std::fs::read_to_string(&path)?, "ann\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use leftovers::{Readers, TemporaryFile};

pub mod leftovers;
mod permissions;
mod put;
#[cfg(test)]
mod tests;

/// A file that could not be written. What was there before is untouched.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct Error {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub reason: Reason,
}

/// Why a file could not be written.
#[derive(Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The name is that of a folder.
    IsFolder,
    /// The name is that of a device, a pipe or the like, in whose place a rename would put a file.
    NotRegular,
    /// The name is that of a link that leads nowhere.
    DanglingLink,
    /// The folder that the file should be in does not exist.
    NoFolder,
    /// The system refused.
    Io(io::Error),
    /// The system refused, and another file, which belongs to this one, is new already: it could not be
    /// taken back.
    Torn {
        /// What the system said of this file.
        error: io::Error,
        /// The other file.
        other: PathBuf,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::IsFolder => f.write_str("is a folder; name a file in it"),
            Reason::NotRegular => f.write_str("is not a regular file and is not replaced; name another"),
            Reason::DanglingLink => f.write_str("is a broken link; name a file"),
            Reason::NoFolder => f.write_str("its folder does not exist; make it first, or name another"),
            Reason::Io(error) => error.fmt(f),
            Reason::Torn { error, other } => {
                write!(f, "{error}; {} is new already and could not be taken back", other.display())
            }
        }
    }
}

/// Gives an error of the system the name of the file.
fn io(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |error| Error { path: path.to_owned(), reason: Reason::Io(error) }
}

/// Whether an error says that nothing is there. Others leave that open.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Writes a file whole or not at all.
pub fn write(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    draft(path, write)?.finish()
}

/// Writes a file that is not yet in its place.
pub fn draft(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Draft, Error> {
    let mut draft = Draft::new(path)?;
    let mut out = BufWriter::with_capacity(1 << 20, &mut draft);
    write(&mut out).and_then(|()| out.flush()).map_err(io(path))?;
    drop(out);
    Ok(draft)
}

/// Refuses a file that cannot be written: before the work that would be lost.
pub fn check(path: &Path) -> Result<(), Error> {
    Target::of(path, path)?.temporary().map(drop).map_err(io(path))
}

/// Puts files that belong together in their places, or none of them. All of them are on disk before the first
/// is renamed; they are renamed in this order.
pub fn finish_all(drafts: impl IntoIterator<Item = Draft>) -> Result<(), Error> {
    finish_all_with(drafts, &mut || {})
}

/// The same, and calls this after each file that was renamed: for tests, which end the program there.
#[doc(hidden)]
pub fn finish_all_with(
    drafts: impl IntoIterator<Item = Draft>,
    renamed: &mut dyn FnMut(),
) -> Result<(), Error> {
    let ready = drafts.into_iter().map(Draft::sync).collect::<Result<Vec<_>, _>>()?;
    put::put(ready, renamed)
}

/// Makes sure that the names in a folder last. File systems that cannot do this are passed over, and folders
/// that this user may write to and not list.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    if cfg!(not(unix)) {
        return Ok(()); // folders cannot be opened there
    }
    let folder = match File::open(folder) {
        Err(error) if error.kind() == PermissionDenied => return Ok(()),
        opened => opened?,
    };
    match folder.sync_all() {
        Err(error) if matches!(error.kind(), InvalidInput | Unsupported) => Ok(()),
        synced => synced,
    }
}

/// A file that is being written under a temporary name; dropped, it leaves nothing.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    target: Target,
    file: TemporaryFile,
    /// Bytes written since the disk was last told of them.
    untold: usize,
    behind: Option<Behind>,
}

impl Draft {
    /// Begins a file that will have this name.
    pub fn new(path: &Path) -> Result<Draft, Error> {
        Draft::beside(path, path)
    }

    /// The same for a file that belongs to another one: whoever may read that one may read this one.
    pub fn beside(path: &Path, of: &Path) -> Result<Draft, Error> {
        let target = Target::of(path, of)?;
        let file = target.temporary().map_err(io(path))?;
        Ok(Draft { path: path.to_owned(), target, file, untold: 0, behind: None })
    }

    /// The name that the file will have, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file itself.
    pub fn file(&mut self) -> &mut File {
        self.file.file()
    }

    /// Has what is written go to the disk, without waiting for it.
    fn tell(&mut self) -> io::Result<()> {
        let behind = match &mut self.behind {
            Some(behind) => behind,
            none => match Behind::start(self.file.file().try_clone()?) {
                Ok(behind) => none.insert(behind),
                Err(_) => return Ok(()), // without a thread, all of it is synced at the end
            },
        };
        // Where it is still busy, it is told already; where it has failed, the end will say so.
        let _ = behind.wake.try_send(());
        Ok(())
    }

    /// Puts the file in its place.
    pub fn finish(self) -> Result<(), Error> {
        finish_all([self])
    }

    /// Has all of it on disk, with its permissions, so that only its name is missing.
    fn sync(self) -> Result<put::Ready, Error> {
        let Draft { path, target, mut file, behind, .. } = self;
        let attempt = || -> io::Result<()> {
            behind.map_or(Ok(()), Behind::join)?;
            // They may have been changed since.
            let model = fs::metadata(&target.model).ok().filter(Metadata::is_file);
            if let Some(model) = model.as_ref().or(target.replaced.as_ref()) {
                permissions::adopt(file.file(), model)?;
            }
            file.file().sync_all()
        };
        attempt().map_err(io(&path))?;
        Ok(put::Ready { path, folder: target.folder, target: target.file, file })
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.file().write(bytes)?;
        self.untold += written;
        if self.untold >= TOLD {
            self.untold = 0;
            self.tell()?;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// After this many bytes a file begins to go to the disk while more are written: what is left for the
/// end, when everybody waits, is little.
const TOLD: usize = 2 << 20;

/// A thread that syncs a file while it is written.
#[derive(Debug)]
struct Behind {
    wake: SyncSender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl Behind {
    fn start(file: File) -> io::Result<Behind> {
        let (wake, woken) = sync_channel(1);
        let run = move || woken.into_iter().try_for_each(|()| file.sync_data());
        let thread = thread::Builder::new().spawn(run)?;
        Ok(Behind { wake, thread })
    }

    /// What went wrong: a failure is told to the first who syncs, and to nobody after.
    fn join(self) -> io::Result<()> {
        drop(self.wake);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that syncs has failed")))
    }
}

/// Where a file is to be written.
#[derive(Debug)]
struct Target {
    /// The folder, in which it is made.
    folder: PathBuf,
    /// The file itself: where a link leads, if that is what was named.
    file: PathBuf,
    /// The file whose owner and permissions it gets.
    model: PathBuf,
    /// What was known of that one at the beginning, where there was one.
    replaced: Option<Metadata>,
}

impl Target {
    fn of(path: &Path, model: &Path) -> Result<Target, Error> {
        let refused = |reason| Err(Error { path: path.to_owned(), reason });
        let file = match fs::metadata(path) {
            Ok(there) if there.is_dir() => return refused(Reason::IsFolder),
            // A rename would put a file in the place of a device such as /dev/null.
            Ok(there) if !there.is_file() => return refused(Reason::NotRegular),
            Ok(_) => fs::canonicalize(path).map_err(io(path))?,
            Err(_) if path.is_symlink() => return refused(Reason::DanglingLink),
            Err(error) if is_absence(&error) => path.to_owned(),
            Err(error) => return Err(io(path)(error)),
        };
        let folder = match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        if !folder.is_dir() {
            return refused(Reason::NoFolder);
        }
        let replaced = fs::metadata(model).ok().filter(Metadata::is_file);
        Ok(Target { folder, file, model: model.to_owned(), replaced })
    }

    fn temporary(&self) -> io::Result<TemporaryFile> {
        let readers = if self.replaced.is_some() { Readers::Owner } else { Readers::Usual };
        TemporaryFile::new(&self.folder, readers)
            .map_err(|error| io::Error::new(error.kind(), format!("cannot be written: {}", words(&error))))
    }
}

/// What is wrong, in short where the kind of an error says it; too many open files, for one, have no kind.
fn words(error: &io::Error) -> String {
    use io::ErrorKind::{NotFound, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match error.kind() {
        kind @ (NotFound | PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull) => {
            kind.to_string()
        }
        _ => error.to_string(),
    }
}
