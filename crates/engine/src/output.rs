//! Files that appear whole or not at all, and containers on disk.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tamis::Container;
use tamis::arch::map::Map;
use tamis::format::{self, Tally};
use tamis::params::Params;

use crate::error::{Error, Result};
use crate::parallel;

/// Writes a file under a temporary name in the same folder, then puts it in its place: a reader
/// sees the old file or the new one, and a failure leaves the old one untouched.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let attempt = || -> io::Result<()> {
        if path.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder; name a file in it"));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666)); // the user's umask applies
        }
        let mut file = builder.prefix(".tamis-").suffix(".tmp").tempfile_in(folder)?;
        let mut out = BufWriter::with_capacity(1 << 20, file.as_file_mut());
        write(&mut out)?;
        out.flush()?;
        drop(out);
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        File::open(folder)?.sync_all()
    };
    attempt().map_err(Error::io(path))
}

/// Seals the sections of an arena and writes the container. `rows` and `seeds` stand in the
/// order of the groups.
pub fn write_container(
    path: &Path,
    params: &Params,
    rows: &[u64],
    seeds: &[u64],
    arena: &[u64],
    threads: usize,
) -> Result<Vec<Tally>> {
    let (starts, _) = params.layout();
    let tallies = parallel::each(threads, params.groups.len(), |group| {
        let words = params.groups[group].shape.words(params.common.kind) as usize;
        let section = &arena[starts[group]..starts[group] + words];
        Ok(format::seal(section, rows[group], seeds[group]))
    })?;
    write_whole(path, |mut out| format::write(&mut out, params, &tallies, arena))?;
    Ok(tallies)
}

/// A container on disk, mapped.
pub type Mapped = Container<Map>;

/// Opens a container.
pub fn open(path: &Path) -> Result<Mapped> {
    let file = File::open(path).map_err(Error::io(path))?;
    let metadata = file.metadata().map_err(Error::io(path))?;
    if !metadata.is_file() {
        return Err(Error::Input { path: path.into(), message: "is not a regular file".into() });
    }
    if metadata.len() == 0 {
        return Err(Error::Input { path: path.into(), message: "is empty, not a tamis file".into() });
    }
    let map = Map::of(&file).map_err(Error::io(path))?;
    Container::open(map).map_err(Error::file(path))
}

/// Opens several containers.
pub fn open_all(paths: &[PathBuf]) -> Result<Vec<Mapped>> {
    paths.iter().map(|path| open(path)).collect()
}
