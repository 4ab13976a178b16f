//! Files that are whole and on disk get their names: all of them, or none.
//!
//! What a file replaces keeps a second, temporary name until all is done, so that it can come back. A
//! program that is ended from outside in between leaves some files new and some old; files that belong
//! together must tell that of each other.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::leftovers::{TemporaryFile, TemporaryName, undisturbed};
use super::{Error, Reason, sync_folder};

/// A file that only lacks its name.
#[derive(Debug)]
pub(super) struct Ready {
    /// Its name as it was given.
    pub(super) path: PathBuf,
    /// The folder that it is in.
    pub(super) folder: PathBuf,
    /// The name that it gets.
    pub(super) target: PathBuf,
    pub(super) file: TemporaryFile,
}

/// A file that is about to be renamed, or was.
struct Move {
    path: PathBuf,
    folder: PathBuf,
    target: PathBuf,
    name: TemporaryName,
    /// What is there now.
    before: Before,
}

/// What a file replaces.
enum Before {
    Nothing,
    /// A file, and the second name that it has meanwhile.
    Kept(TemporaryName),
    /// A file that cannot have a second name, on this file system or for this user: it does not come back.
    Lost,
}

impl Before {
    fn of(target: &Path, folder: &Path) -> Before {
        match TemporaryName::new(folder, |path| fs::hard_link(target, path)) {
            Ok(((), name)) => Before::Kept(name),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Before::Nothing,
            Err(_) => Before::Lost,
        }
    }
}

impl Move {
    fn new(Ready { path, folder, target, file }: Ready) -> Result<Move, Error> {
        let before = Before::of(&target, &folder);
        match file.into_name(&folder) {
            Ok(name) => Ok(Move { path, folder, target, name, before }),
            Err(error) => Err(Error { path, reason: Reason::Io(error) }),
        }
    }

    /// Takes the new file away, and lets the old one come back.
    fn take_back(&mut self) -> io::Result<()> {
        match &mut self.before {
            Before::Nothing => fs::remove_file(&self.target),
            Before::Kept(old) => {
                fs::rename(old.path(), &self.target)?;
                old.give_up();
                Ok(())
            }
            Before::Lost => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// Gives files their names.
pub(super) fn put(files: Vec<Ready>, renamed: &mut dyn FnMut()) -> Result<(), Error> {
    let mut moves = files.into_iter().map(Move::new).collect::<Result<Vec<_>, _>>()?;
    // A program that is asked to end does so before or after all of this.
    let here = undisturbed();
    let failed = rename_all(&mut moves, renamed);
    drop(here);
    failed.map_or(Ok(()), Err)
}

fn rename_all(moves: &mut [Move], renamed: &mut dyn FnMut()) -> Option<Error> {
    for at in 0..moves.len() {
        let next = &mut moves[at];
        if let Err(error) = fs::rename(next.name.path(), &next.target) {
            let path = next.path.clone();
            return Some(take_back(&mut moves[..at], path, error));
        }
        next.name.give_up();
        renamed();
    }
    for at in 0..moves.len() {
        if moves[..at].iter().any(|other| other.folder == moves[at].folder) {
            continue;
        }
        if let Err(error) = sync_folder(&moves[at].folder) {
            let error = io::Error::new(error.kind(), format!("its folder cannot be synced ({error})"));
            return Some(take_back(moves, moves[at].path.clone(), error));
        }
    }
    None
}

/// Takes back what was renamed, the last first, and says what went wrong.
fn take_back(moves: &mut [Move], path: PathBuf, error: io::Error) -> Error {
    let mut stays = None;
    for moved in moves.iter_mut().rev() {
        if moved.take_back().is_err() {
            stays = Some(moved.path.clone());
        }
        // As well as it can be: the error is said either way.
        let _ = sync_folder(&moved.folder);
    }
    let reason = match stays {
        Some(other) => Reason::Torn { error, other },
        None => Reason::Io(error),
    };
    Error { path, reason }
}
