//! Which file a name leads to. Names are many (`d/../p`, links, hard links), and the file is one: whether two
//! outputs, an output and an input, or two states are the same is asked of the files.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use tamis_read::remote;

/// The numbers by which the system knows a file: of its device, and on it.
pub type Number = (u64, u64);

/// Where a name leads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// To a file or a folder.
    There(Number),
    /// To a name in a folder, where nothing is yet.
    Free(Number, OsString),
    /// To a name of which no more is known: its folder is not there, or the system has no numbers.
    Unknown(PathBuf),
}

/// Links that are followed to a name where nothing is.
const MOST_LINKS: usize = 40;

impl Place {
    /// Where this name leads, over links and `..`; none where that is no file but a device or a pipe, which many
    /// may share.
    pub fn of(path: &Path) -> Option<Place> {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            match fs::metadata(&path) {
                Ok(file) if file.is_file() || file.is_dir() => {
                    let canonical = || fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
                    return Some(number(&file).map_or_else(|| Place::Unknown(canonical()), Place::There));
                }
                Ok(_) => return None,
                Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(&path) {
                    Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
                    Err(_) => break,
                },
                Err(_) => break,
            }
        }
        let numbered = fs::metadata(folder_of(&path)).ok().as_ref().and_then(number);
        Some(match (numbered, path.file_name()) {
            (Some(folder), Some(name)) => Place::Free(folder, name.to_owned()),
            _ => Place::Unknown(std::path::absolute(&path).unwrap_or(path)),
        })
    }
}

/// Whether two names lead to one file that is there.
pub fn is_one_file(one: &Path, other: &Path) -> bool {
    let there = |path| Place::of(path).filter(|place| !matches!(place, Place::Free(..)));
    there(one).is_some_and(|one| there(other) == Some(one))
}

/// What is under a name, over links; none where nothing is. That it cannot be looked at is an error, and does not
/// mean that nothing is there.
pub fn look(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(path) {
        Ok(there) => Ok(Some(there)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Whether anything is under a name, which may be that of a file that lies elsewhere. That it cannot be looked at is
/// an error, and does not mean that nothing is there.
pub fn is_there(path: &Path) -> io::Result<bool> {
    if remote::is_remote(path) { remote::is_there(path) } else { look(path).map(|there| there.is_some()) }
}

/// The system's name of standard input.
pub(crate) const STDIN: &str = "/dev/stdin";
/// That of standard output.
pub const STDOUT: &str = "/dev/stdout";
const STDERR: &str = "/dev/stderr";

/// The number of an open file of this process, where a name is that of one. What is put in its place would be
/// another file than the one that is open.
pub fn descriptor(path: &Path) -> Option<u32> {
    match path.to_str()? {
        STDIN => Some(0),
        STDOUT => Some(1),
        STDERR => Some(2),
        other => {
            let number = other.strip_prefix("/dev/fd/").or_else(|| other.strip_prefix("/proc/self/fd/"))?;
            number.parse().ok()
        }
    }
}

/// The folder of a file.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The folder for what is put down while a file is made: its own, or, where it lies elsewhere, that of temporary
/// files.
pub fn working_folder(path: &Path) -> PathBuf {
    if remote::is_remote(path) { std::env::temp_dir() } else { folder_of(path).to_owned() }
}

/// The name of a file without links and `..`, whether it is there or not.
pub fn real(path: &Path) -> PathBuf {
    let free = || Some(fs::canonicalize(folder_of(path)).ok()?.join(path.file_name()?));
    fs::canonicalize(path).ok().or_else(free).unwrap_or_else(|| path.to_owned())
}

/// The numbers of a file; none on systems that have none.
pub fn number(file: &Metadata) -> Option<Number> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some((file.dev(), file.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        None
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn all_names_of_a_file_lead_to_one_place_whether_it_is_there_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("d")).unwrap();
        symlink("d", at("link-to-d")).unwrap();
        symlink("../free", at("d/link")).unwrap();
        symlink("link", at("d/link-to-link")).unwrap();
        let free = ["free", "d/../free", "link-to-d/../free", "d/link", "d/link-to-link", "./free"];
        for there in [false, true] {
            if there {
                fs::write(at("free"), "").unwrap();
                fs::hard_link(at("free"), at("hard")).unwrap();
                assert_eq!(Place::of(&at("hard")), Place::of(&at("free")));
            }
            for name in free {
                assert_eq!(Place::of(&at(name)), Place::of(&at("free")), "{name}");
                assert_eq!(is_one_file(&at(name), &at("free")), there, "{name}");
            }
            assert_ne!(Place::of(&at("free")), Place::of(&at("other")));
        }
    }

    #[test]
    fn what_cannot_be_looked_at_is_not_absent() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "").unwrap();
        assert!(look(&at("file")).unwrap().is_some());
        assert!(look(&at("none")).unwrap().is_none() && look(&at("file/none")).unwrap().is_none());
        symlink("circle", at("circle")).unwrap();
        assert!(look(&at("circle")).is_err() && look(&at(&"x".repeat(300))).is_err());
    }

    #[test]
    fn devices_are_no_places_and_links_in_a_circle_end() {
        assert_eq!(Place::of(Path::new("/dev/null")), None);
        let folder = tempfile::tempdir().unwrap();
        symlink("b", folder.path().join("a")).unwrap();
        symlink("a", folder.path().join("b")).unwrap();
        assert!(Place::of(&folder.path().join("a")).is_some());
        assert!(!is_one_file(&folder.path().join("a"), &folder.path().join("a")));
        assert!(matches!(Place::of(&folder.path().join("no/such")), Some(Place::Unknown(_))));
    }
}
