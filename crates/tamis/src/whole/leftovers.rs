//! Temporary files and folders, known by name, so that a program that is ended at once can still
//! remove them.
//!
//! A handler of Ctrl-C calls [`remove_all`]; a job that ends by itself, well or
//! not, has nothing left to remove.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, TempDir};

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

/// A file under a temporary name, which is removed unless it is put in its place.
#[derive(Debug)]
pub struct TemporaryFile {
    file: NamedTempFile, // dropped before it is forgotten
    _known: Known,
}

impl TemporaryFile {
    /// A new file in this folder.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666)); // the user's umask applies
        }
        builder.prefix(".tamis-").suffix(".tmp");
        let (file, known) =
            Known::make(|| builder.tempfile_in(folder), |file: &NamedTempFile| file.path().to_owned())?;
        Ok(TemporaryFile { file, _known: known })
    }

    /// The file.
    pub fn file(&mut self) -> &mut fs::File {
        self.file.as_file_mut()
    }

    /// Puts it in its place, over what may be there.
    pub fn persist(self, path: &Path) -> io::Result<()> {
        let TemporaryFile { file, _known } = self;
        let lock = known();
        let result = file.persist(path).map(drop).map_err(|error| error.error);
        drop(lock);
        result
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

    #[test]
    fn what_is_dropped_or_put_in_its_place_is_no_longer_known() {
        let folder = TemporaryFolder::new().unwrap();
        let is_known = |path: &Path| known().iter().any(|other| other == path);
        assert!(is_known(folder.path()));
        let file = TemporaryFile::new(folder.path()).unwrap();
        let path = file.file.path().to_owned();
        assert!(path.exists() && is_known(&path));
        drop(file);
        assert!(!path.exists() && !is_known(&path));

        let file = TemporaryFile::new(folder.path()).unwrap();
        let path = file.file.path().to_owned();
        let target = folder.path().join("target");
        file.persist(&target).unwrap();
        assert!(target.exists() && !path.exists() && !is_known(&path));
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists() && !is_known(&path));
    }
}
