//! What lies in a state folder before a run uses it. Files of a state are opened, cut and extended under names
//! that are known to everybody: under such a name a link would lead to a file of somebody else, and a pipe
//! would let the run wait for ever.

use std::collections::HashSet;
use std::fs::{self, FileType, Metadata};
use std::path::Path;

use tamis_make::place::Place;
use tamis_read::error::{Error, Result};

use super::refusal::CannotResume;
use super::state::is_used;

/// Refuses a folder in which something has the name of a file of a state, and is none. Nothing is opened.
pub(super) fn check(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        let entry = entry.map_err(Error::io(folder))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !is_used(&name) {
            continue;
        }
        let path = entry.path();
        let there = fs::symlink_metadata(&path).map_err(Error::io(&path))?;
        if !there.is_file() {
            return Err(Error::input(path, CannotResume::NotAFile(called(there.file_type()))));
        }
        if is_written_in_place(&name) && has_other_names(&there) {
            return Err(Error::input(path, CannotResume::Linked));
        }
    }
    Ok(())
}

/// The files of the state in this folder, whatever other names they have.
pub(super) fn places(folder: &Path) -> Result<HashSet<Place>> {
    let entries = fs::read_dir(folder).map_err(Error::io(folder))?;
    let of_state = entries.flatten().filter(|entry| is_used(&entry.file_name().to_string_lossy()));
    Ok(of_state.filter_map(|entry| Place::of(&entry.path())).collect())
}

/// Whether a file of this name is not replaced but extended, cut or locked.
fn is_written_in_place(name: &str) -> bool {
    ["plan.log", "lock"].contains(&name) || name.starts_with("spool-")
}

fn called(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_dir() => "a folder",
        _ => "not an ordinary file",
    }
}

fn has_other_names(file: &Metadata) -> bool {
    #[cfg(unix)]
    {
        std::os::unix::fs::MetadataExt::nlink(file) > 1
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        false
    }
}
