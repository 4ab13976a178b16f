//! Files that appear whole or not at all.
//!
//! A [`Draft`] is written under a temporary name in the folder of the file, synced, and renamed: a
//! reader sees the old file or the new one, and a failure leaves the old one untouched. What stood
//! there gives its permissions to what replaces it. A link is followed; a folder or a device is never
//! replaced.
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
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use leftovers::TemporaryFile;

pub mod leftovers;
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
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::IsFolder => f.write_str("is a folder; name a file in it"),
            Reason::NotRegular => f.write_str("is not a regular file and is not replaced; name another"),
            Reason::DanglingLink => f.write_str("is a broken link; name a file"),
            Reason::NoFolder => f.write_str("its folder does not exist; make it first, or name another"),
            Reason::Io(error) => error.fmt(f),
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
    let mut draft = Draft::new(path)?;
    let mut out = BufWriter::with_capacity(1 << 20, &mut draft);
    write(&mut out).and_then(|()| out.flush()).map_err(io(path))?;
    drop(out);
    draft.finish()
}

/// Refuses a file that cannot be written: before the work that would be lost.
pub fn check(path: &Path) -> Result<(), Error> {
    Target::of(path)?.temporary().map(drop).map_err(io(path))
}

/// Makes sure that the names in a folder last. File systems that cannot do this are passed over.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, Unsupported};
    if cfg!(not(unix)) {
        return Ok(()); // folders cannot be opened there
    }
    match File::open(folder).and_then(|folder| folder.sync_all()) {
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
        let target = Target::of(path)?;
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
            none => none.insert(Behind::start(self.file.file().try_clone()?)?),
        };
        // Where it is still busy, it is told already; where it has failed, the end will say so.
        let _ = behind.wake.try_send(());
        Ok(())
    }

    /// Puts the file in its place.
    pub fn finish(self) -> Result<(), Error> {
        let Draft { path, target, mut file, behind, .. } = self;
        let attempt = || -> io::Result<()> {
            behind.map_or(Ok(()), Behind::join)?;
            if let Some(permissions) = &target.permissions {
                file.file().set_permissions(permissions.clone())?;
            }
            file.file().sync_all()?;
            file.persist(&target.file)?;
            // The file is in its place; that a folder cannot be opened or synced takes nothing back.
            let _ = sync_folder(&target.folder);
            Ok(())
        };
        attempt().map_err(io(&path))
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
    /// The folder, in which it is made under a temporary name.
    folder: PathBuf,
    /// The file itself: where a link leads, if that is what was named.
    file: PathBuf,
    /// The permissions of the file that is replaced, where there is one.
    permissions: Option<fs::Permissions>,
}

impl Target {
    fn of(path: &Path) -> Result<Target, Error> {
        let refused = |reason| Err(Error { path: path.to_owned(), reason });
        let (file, permissions) = match fs::metadata(path) {
            Ok(there) if there.is_dir() => return refused(Reason::IsFolder),
            // A rename would put a file in the place of a device such as /dev/null.
            Ok(there) if !there.is_file() => return refused(Reason::NotRegular),
            Ok(there) => (fs::canonicalize(path).map_err(io(path))?, Some(there.permissions())),
            Err(_) if path.is_symlink() => return refused(Reason::DanglingLink),
            Err(error) if is_absence(&error) => (path.to_owned(), None),
            Err(error) => return Err(io(path)(error)),
        };
        let folder = match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        if !folder.is_dir() {
            return refused(Reason::NoFolder);
        }
        Ok(Target { folder, file, permissions })
    }

    fn temporary(&self) -> io::Result<TemporaryFile> {
        // The name of the temporary file, which this error would show, helps nobody.
        TemporaryFile::new(&self.folder)
            .map_err(|error| io::Error::new(error.kind(), format!("cannot be written: {}", error.kind())))
    }
}
