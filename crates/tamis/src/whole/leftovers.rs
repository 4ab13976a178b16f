//! Temporary files and folders, known by name, so that a program that is ended at once can still
//! remove them.
//!
//! A handler of Ctrl-C calls [`remove_all`]; a job that ends by itself, well or
//! not, has nothing left to remove. Where the system has files without a name, a temporary file gets one
//! only at the moment in which it is put in its place: `kill -9` leaves nothing either.

use std::fs::{self, File};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{TempDir, TempPath};

static KNOWN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn known() -> MutexGuard<'static, Vec<PathBuf>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all temporary files and folders that there are. From then on none can be made or put
/// in its place: who tries waits for the end of the program, which must follow.
pub fn remove_all() {
    let known = known();
    for path in &*known {
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
    std::mem::forget(known);
}

/// While this lives, [`remove_all`] waits. Nothing temporary may be made or dropped meanwhile.
pub(super) struct Undisturbed(#[expect(dead_code, reason = "it is held")] MutexGuard<'static, Vec<PathBuf>>);

pub(super) fn undisturbed() -> Undisturbed {
    Undisturbed(known())
}

/// A path that is known while this lives.
#[derive(Debug)]
struct Known(PathBuf);

impl Known {
    /// Makes something; from the moment it exists, it is known.
    fn make<T>(make: impl FnOnce() -> io::Result<T>, path: impl Fn(&T) -> PathBuf) -> io::Result<(T, Known)> {
        let mut known = known();
        let made = make()?;
        let path = path(&made);
        known.push(path.clone());
        Ok((made, Known(path)))
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        known().retain(|path| *path != self.0);
    }
}

/// A temporary name, which is removed when this is dropped.
#[derive(Debug)]
pub(super) struct TemporaryName {
    path: TempPath, // dropped before it is forgotten
    _known: Known,
}

impl TemporaryName {
    /// A new name in this folder for what `make` puts there.
    pub(super) fn new<T>(
        folder: &Path,
        make: impl FnMut(&Path) -> io::Result<T>,
    ) -> io::Result<(T, TemporaryName)> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".tamis-").suffix(".tmp");
        let (made, _known) = Known::make(|| builder.make_in(folder, make), |made| made.path().to_owned())?;
        let (made, path) = made.into_parts();
        Ok((made, TemporaryName { path, _known }))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Notes that there is nothing of this name any more: it was renamed.
    pub(super) fn give_up(&mut self) {
        self.path.disable_cleanup(true);
    }
}

/// Who may read a temporary file while it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readers {
    /// Its owner alone.
    Owner,
    /// Those who may read any new file of this user (the umask).
    Usual,
}

/// A file without a name, or with a temporary one; dropped, it is gone.
#[derive(Debug)]
pub(super) struct TemporaryFile {
    file: File,
    name: Option<TemporaryName>,
}

impl TemporaryFile {
    /// A new file in this folder.
    pub(super) fn new(folder: &Path, readers: Readers) -> io::Result<Self> {
        // Where that fails for another reason, the second attempt says it.
        if let Ok(file) = unnamed::create(folder, readers) {
            return Ok(TemporaryFile { file, name: None });
        }
        TemporaryFile::named(folder, readers)
    }

    fn named(folder: &Path, readers: Readers) -> io::Result<Self> {
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        mode(&mut options, readers);
        let (file, name) = TemporaryName::new(folder, |path| options.open(path))?;
        Ok(TemporaryFile { file, name: Some(name) })
    }

    /// The file.
    pub(super) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Its name in this folder, which it gets now if it had none. It is on disk already, and has its permissions.
    pub(super) fn into_name(self, folder: &Path) -> io::Result<TemporaryName> {
        if let Some(name) = self.name {
            return Ok(name);
        }
        match TemporaryName::new(folder, |path| unnamed::link(&self.file, path)) {
            Ok(((), name)) => Ok(name),
            // A sandbox without /proc, for one: what was worked for is not lost.
            Err(_) => TemporaryFile::copied(self.file, folder),
        }
    }

    /// The name of a copy.
    fn copied(mut file: File, folder: &Path) -> io::Result<TemporaryName> {
        let mut copy = TemporaryFile::named(folder, Readers::Owner)?;
        file.rewind()?;
        io::copy(&mut file, &mut copy.file)?;
        super::permissions::adopt(&copy.file, &file.metadata()?)?;
        copy.file.sync_all()?;
        copy.into_name(folder)
    }
}

#[cfg(unix)]
fn mode(options: &mut fs::OpenOptions, readers: Readers) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(match readers {
        Readers::Owner => 0o600,
        Readers::Usual => 0o666, // the user's umask applies
    });
}

#[cfg(not(unix))]
fn mode(_: &mut fs::OpenOptions, _: Readers) {}

/// Files that have no name until they are whole.
#[cfg(target_os = "linux")]
mod unnamed {
    use super::{File, Path, Readers, io, mode};
    use rustix::fs::{AtFlags, CWD, OFlags, linkat};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;

    pub(super) fn create(folder: &Path, readers: Readers) -> io::Result<File> {
        let mut options = File::options();
        options.read(true).write(true).custom_flags(OFlags::TMPFILE.bits() as i32);
        mode(&mut options, readers);
        options.open(folder)
    }

    /// Gives it a name.
    pub(super) fn link(file: &File, path: &Path) -> io::Result<()> {
        let now = format!("/proc/self/fd/{}", file.as_raw_fd());
        Ok(linkat(CWD, now, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }
}

#[cfg(not(target_os = "linux"))]
mod unnamed {
    use super::{File, Path, Readers, io};

    pub(super) fn create(_: &Path, _: Readers) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn link(_: &File, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A folder for what a job needs while it runs.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: TempDir,
    _known: Known,
}

impl TemporaryFolder {
    /// A new folder where the system has such.
    pub fn new() -> io::Result<Self> {
        let (folder, known) = Known::make(tempfile::tempdir, |folder: &TempDir| folder.path().to_owned())?;
        Ok(TemporaryFolder { folder, _known: known })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_is_dropped_or_put_in_its_place_is_no_longer_known() {
        let folder = TemporaryFolder::new().unwrap();
        let is_known = |path: &Path| known().iter().any(|other| other == path);
        assert!(is_known(folder.path()));
        let make = || TemporaryFile::named(folder.path(), Readers::Owner).unwrap().name.unwrap();
        let name = make();
        let path = name.path().to_owned();
        assert!(path.exists() && is_known(&path));
        drop(name);
        assert!(!path.exists() && !is_known(&path));

        let mut name = make();
        let (path, target) = (name.path().to_owned(), folder.path().join("target"));
        fs::rename(&path, &target).unwrap();
        name.give_up();
        fs::write(&path, "of somebody else").unwrap();
        drop(name);
        assert!(target.exists() && path.exists() && !is_known(&path));
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists() && !is_known(&path));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_temporary_file_has_no_name_before_its_end_and_is_copied_where_it_can_get_none() {
        let folder = tempfile::tempdir().unwrap();
        let names = || fs::read_dir(folder.path()).unwrap().count();
        let begin = || {
            let mut file = TemporaryFile::new(folder.path(), Readers::Usual).unwrap();
            file.file().write_all(b"text").unwrap();
            assert_eq!(names(), 0);
            file
        };
        let (one, other) = (begin(), begin());
        let linked = one.into_name(folder.path()).unwrap();
        let copied = TemporaryFile::copied(other.file, folder.path()).unwrap();
        for name in [&linked, &copied] {
            assert_eq!(fs::read(name.path()).unwrap(), b"text");
        }
        let mode = |name: &TemporaryName| fs::metadata(name.path()).unwrap().permissions();
        assert_eq!(mode(&linked), mode(&copied));
        drop((linked, copied));
        assert_eq!(names(), 0);
    }
}
