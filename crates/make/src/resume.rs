//! What jobs need that go on where an earlier run ended: marks of how far files were read, outputs
//! that are continued, and a lock against a second process.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf, absolute};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tamis::hash::xxh3;
use tamis_read::error::{Error, Result};
use tamis_read::refusal::{Help, Refusal};

use crate::failpoint::reach;
use crate::files;
use crate::place::{number, real};

/// A digest of some bytes, in JSON a string of 16 hexadecimal digits: many readers of JSON keep no more
/// than 53 bits of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Digest(pub u64);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8], seed: u64) -> Digest {
        Digest(xxh3(bytes, seed))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        u64::from_str_radix(&text, 16).map(Digest).map_err(serde::de::Error::custom)
    }
}

/// How far an input was read, and what it looked like up to there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The file, by its absolute name.
    pub path: String,
    /// Bytes of it that were read.
    pub offset: u64,
    /// Digests of the first and the last bytes before the offset.
    pub head: Digest,
    /// Of the last.
    pub tail: Digest,
    /// Where something was read of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

/// What helps to find a file that has another name by now. It never decides: a file whose name and bytes
/// agree is the same one, also on another disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// The numbers by which the system knows the file, where it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inode: Option<u64>,
    /// When it was made, in nanoseconds since 1970, where the system tells: the numbers of a file that is gone
    /// are soon those of another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made: Option<u64>,
    /// How many of its first bytes the digest is of, and the digest.
    first_length: u64,
    first_digest: Digest,
}

/// Bytes at each end that tell whether a file is still the same.
const LOOK: u64 = 64 << 10;

/// Bytes at the beginning that a trace has, where the file has as many.
const FIRST: u64 = 4 << 10;

impl Mark {
    /// What a file looks like up to this place.
    pub fn of(path: &Path, offset: u64) -> io::Result<Mark> {
        match offset {
            0 => Ok(Mark { path: named(path), offset, head: Digest(0), tail: Digest(0), trace: None }),
            _ => Mark::through(&File::open(path)?, path, offset),
        }
    }

    /// The same of a file that is open, and found again even if nothing was read of it; it is read at other
    /// places afterwards.
    pub fn through(file: &File, path: &Path, offset: u64) -> io::Result<Mark> {
        let (head, tail) = look(file, offset)?;
        Ok(Mark { path: named(path), offset, head, tail, trace: Some(Trace::of(file, FIRST)?) })
    }

    /// Whether the file still begins with what was read of it. Its path is given, since the text of
    /// one need not lead back to the file. That it cannot be read says nothing of what it is.
    pub fn holds(&self, path: &Path) -> io::Result<bool> {
        let looks = || match self.offset {
            0 => Ok(Default::default()),
            offset => look(&File::open(path)?, offset),
        };
        if self.path != named(path) {
            return Ok(false);
        }
        match looks() {
            Ok(looks) => Ok(looks == (self.head, self.tail)),
            // It is gone, or shorter.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::UnexpectedEof) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether a file begins with what was read, whatever it is called.
    pub fn is_in(&self, file: &File) -> bool {
        look(file, self.offset).is_ok_and(|looks| looks == (self.head, self.tail))
    }

    /// Whether a file is the one by all that the system knows of it; none where nothing was noted.
    pub fn is_traced_to(&self, path: &Path) -> Option<bool> {
        self.trace.as_ref().map(|trace| trace.leads_to(path))
    }

    /// Whether these are the numbers of the file, and whether they are on the same device at least.
    pub fn is_numbered(&self, file: &fs::Metadata) -> Numbered {
        let noted = self.trace.as_ref().and_then(|trace| trace.device.zip(trace.inode));
        let made = self.trace.as_ref().and_then(|trace| trace.made);
        let again = made.zip(made_at(file)).is_some_and(|(then, now)| then != now);
        match (noted, number(file)) {
            (Some(noted), Some(now)) if noted == now && !again => Numbered::Same,
            (Some((device, _)), Some((now, _))) if device == now => Numbered::Other,
            _ => Numbered::Unknown,
        }
    }

    /// The name that the file has now, if it is another one in the same folder.
    pub fn renamed(&self) -> Option<PathBuf> {
        let trace = self.trace.as_ref()?;
        let folder = fs::read_dir(Path::new(&self.path).parent()?).ok()?;
        folder.filter_map(|entry| Some(entry.ok()?.path())).find(|path| trace.leads_to(path))
    }
}

/// What the numbers of a file say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbered {
    /// It is the file, unless the system gave its numbers away since.
    Same,
    /// It is another file on the same device.
    Other,
    /// Nothing: it is on another device, or has no numbers.
    Unknown,
}

/// Digests of the first and the last bytes before an offset.
fn look(mut file: &File, offset: u64) -> io::Result<(Digest, Digest)> {
    if offset == 0 {
        return Ok(Default::default());
    }
    let mut look = |from: u64| -> io::Result<Digest> {
        let mut bytes = vec![0; LOOK.min(offset) as usize];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut bytes)?;
        Ok(Digest::of(&bytes, offset))
    };
    Ok((look(0)?, look(offset - LOOK.min(offset))?))
}

/// When a file was made, in nanoseconds since 1970.
fn made_at(file: &fs::Metadata) -> Option<u64> {
    let since = file.created().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok()
}

impl Trace {
    /// That of a file, of this many of its first bytes at most.
    fn of(mut file: &File, most: u64) -> io::Result<Trace> {
        let mut first = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.take(most).read_to_end(&mut first)?;
        let about = file.metadata()?;
        let (device, inode) = number(&about).unzip();
        let made = made_at(&about);
        Ok(Trace {
            device,
            inode,
            made,
            first_length: first.len() as u64,
            first_digest: Digest::of(&first, 0),
        })
    }

    /// Whether a file is the one by all that is known.
    fn leads_to(&self, path: &Path) -> bool {
        let same = |file: &fs::Metadata| file.is_file() && number(file) == self.device.zip(self.inode);
        // More first bytes than are ever noted are those of nobody.
        self.first_length <= FIRST
            && fs::metadata(path).is_ok_and(|file| same(&file))
            && File::open(path)
                .and_then(|file| Trace::of(&file, self.first_length))
                .is_ok_and(|now| now == *self || Trace { made: None, ..now } == *self)
    }
}

/// A path as states remember it: a text of its own for every path. What is not UTF-8 is said by its bytes,
/// after a character that no path has.
pub fn named(path: &Path) -> String {
    let path = absolute(path).unwrap_or_else(|_| path.into());
    match path.to_str() {
        Some(text) => text.into(),
        None => {
            let bytes = path.as_os_str().as_encoded_bytes().iter();
            let hex: String = bytes.map(|byte| format!("{byte:02x}")).collect();
            format!("{}\0{hex}", path.display())
        }
    }
}

/// Another process has a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the state is in use by another process")]
pub struct Locked;

impl Refusal for Locked {
    fn help(&self) -> Vec<Help> {
        vec![Help::Do("wait for its end")]
    }
}

/// What has the name of a lock, and is none: locks are empty, and go away with their holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("has the name of the lock of a state, and is not empty")]
pub struct NotALock;

impl Refusal for NotALock {
    fn help(&self) -> Vec<Help> {
        vec![Help::Do("name another state")]
    }
}

/// Keeps other processes from the same state.
pub struct Lock {
    path: PathBuf,
    _file: File,
    /// The state itself, where it is a file that was there.
    _state: Option<File>,
    left: bool,
}

impl Lock {
    /// Holds this lock, which is that of a state, while it lives.
    pub fn at(path: &Path, state: &Path) -> Result<Lock> {
        let path = path.to_owned();
        let left = path.exists();
        loop {
            let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
            let file = file.map_err(Error::io(&path))?;
            let error = match file.try_lock() {
                Ok(()) => match (file.metadata(), fs::metadata(&path)) {
                    (Ok(held), Ok(there)) if number(&held) == number(&there) => {
                        if there.len() > 0 {
                            return Err(Error::input(path, NotALock));
                        }
                        return Ok(Lock { path, _file: file, _state: None, left });
                    }
                    // The previous holder has just removed it.
                    (Ok(_), Ok(_)) => continue,
                    (_, Err(error)) if error.kind() == ErrorKind::NotFound => continue,
                    (Err(error), _) | (_, Err(error)) => error,
                },
                Err(fs::TryLockError::WouldBlock) => return Err(Error::input(state, Locked)),
                Err(fs::TryLockError::Error(error)) => error,
            };
            // Nobody is known to have it: one that is new says nothing of a run that was ended.
            if !left {
                let _ = fs::remove_file(&path);
            }
            return Err(Error::io(path)(error));
        }
    }

    /// Holds the lock of a state that is one file, whatever it is called: beside the file that links lead to,
    /// and on the file itself, which may have a second name elsewhere.
    pub fn of_file(state: &Path) -> Result<Lock> {
        let mut lock = Lock::at(&Lock::beside(state), state)?;
        // Elsewhere a file that is locked can be neither read nor replaced.
        if cfg!(unix)
            && let Ok(file) = File::open(state)
        {
            if let Err(fs::TryLockError::WouldBlock) = file.try_lock() {
                return Err(Error::input(state, Locked));
            }
            lock._state = Some(file);
        }
        Ok(lock)
    }

    /// Where the lock of a state is that is one file.
    fn beside(state: &Path) -> PathBuf {
        let mut name = real(state).into_os_string();
        name.push(".lock");
        name.into()
    }

    /// Whether another process has this file as its state.
    pub fn is_held(state: &Path) -> bool {
        let locked = |lock: File| matches!(lock.try_lock_shared(), Err(fs::TryLockError::WouldBlock));
        File::open(Lock::beside(state)).is_ok_and(locked)
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it was left behind: a run before was ended from outside, and could complete nothing.
    pub fn was_left(&self) -> bool {
        self.left
    }
}

/// Another process writes an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("another process is writing it")]
pub struct Writing;

impl Refusal for Writing {
    fn help(&self) -> Vec<Help> {
        vec![Help::Do("wait for its end"), Help::Do("name another output")]
    }
}

/// Keeps other processes from an output, or refuses one that another process has; elsewhere a file that is locked
/// cannot be read.
fn keep_to_oneself(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Err(fs::TryLockError::WouldBlock) if cfg!(unix) => Err(Error::input(path, Writing)),
        _ => Ok(()),
    }
}

/// Whether the file is still the one of this name.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    are_same(file.metadata(), fs::metadata(path))
}

/// Whether two open files are one.
pub fn is_same(one: &File, other: &File) -> bool {
    are_same(one.metadata(), other.metadata())
}

fn are_same(one: io::Result<fs::Metadata>, other: io::Result<fs::Metadata>) -> bool {
    let number = |file: io::Result<fs::Metadata>| file.ok().and_then(|file| number(&file));
    number(one) == number(other)
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// An output that is continued where the state's run ended.
pub struct Appended {
    /// The file.
    pub path: PathBuf,
    file: File,
    /// What belongs to the records so far.
    pub length: u64,
    /// Whether it ends within a line.
    open: bool,
}

impl Appended {
    /// Opens it and cuts off what stands beyond this length. From then on its name lasts.
    pub fn open(path: &Path, length: u64) -> Result<Appended> {
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path);
        let mut file = file.map_err(Error::io(path))?;
        keep_to_oneself(&file, path)?;
        let open = || -> io::Result<Appended> {
            file.set_len(length)?;
            let mut last = [b'\n'];
            if length > 0 {
                file.seek(SeekFrom::Start(length - 1))?;
                file.read_exact(&mut last)?;
            }
            Ok(Appended { path: path.into(), file, length, open: last != [b'\n'] })
        };
        let file = open().map_err(Error::io(path))?;
        files::sync_folder(real(path).parent().unwrap_or(Path::new(".")))?;
        reach("appended/lasting");
        Ok(file)
    }

    /// Takes back what was written beyond this length.
    pub fn cut(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    /// Writes whole records.
    pub fn write(&mut self, records: &[u8]) -> Result<()> {
        let Some(last) = records.last() else { return Ok(()) };
        let newline: &[u8] = if self.open { b"\n" } else { b"" };
        for bytes in [newline, records] {
            self.file.write_all(bytes).map_err(Error::io(&self.path))?;
            self.length += bytes.len() as u64;
        }
        self.open = *last != b'\n';
        Ok(())
    }

    /// Makes sure that all of it is on disk.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(Error::io(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_same_by_name_and_bytes_wherever_it_lies_on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "1\n2\n3\n").unwrap();
        let mark = Mark::of(&path, 4).unwrap();
        // Another file of the same name: as when a disk was restored.
        fs::rename(&path, folder.path().join("old")).unwrap();
        fs::write(&path, "1\n2\n4\n").unwrap();
        assert!(mark.holds(&path).unwrap());
        assert_ne!(Mark::of(&path, 4).unwrap().trace, mark.trace);
        fs::write(&path, "1\n5\n3\n").unwrap();
        assert!(!mark.holds(&path).unwrap());
    }

    /// It was once taken for another file, and read again from its beginning.
    #[test]
    #[cfg(unix)]
    fn a_file_that_cannot_be_read_is_not_taken_for_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "1\n2\n").unwrap();
        let mark = Mark::of(&path, 4).unwrap();
        fs::write(&path, "1\n").unwrap();
        assert!(!mark.holds(&path).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(!mark.holds(&path).unwrap());
        fs::create_dir(&path).unwrap(); // can be opened, and not read
        assert!(mark.holds(&path).is_err());
    }

    /// Two such paths were once one text, and one was taken for the other.
    #[test]
    #[cfg(unix)]
    fn paths_that_are_not_utf_8_have_names_of_their_own() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;

        let paths: [&[u8]; 4] = [b"/log/\xff", b"/log/\xfe", "/log/\u{fffd}".as_bytes(), b"/log/a"];
        let names = paths.map(|path| named(Path::new(OsStr::from_bytes(path))));
        assert_eq!(names.iter().collect::<std::collections::HashSet<_>>().len(), 4);
        assert_eq!(names[2..], ["/log/\u{fffd}", "/log/a"]);
        assert_eq!(names[0], "/log/\u{fffd}\u{0}2f6c6f672fff");
    }

    #[test]
    #[cfg(unix)]
    fn a_file_that_was_renamed_and_has_grown_is_found_in_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("log"), "1\n2\n").unwrap();
        let mark = Mark::of(&at("log"), 4).unwrap();
        fs::rename(at("log"), at("log.1")).unwrap();
        fs::write(at("log"), "7\n").unwrap();
        fs::write(at("copy"), "1\n2\n").unwrap();
        OpenOptions::new().append(true).open(at("log.1")).unwrap().write_all(b"3\n").unwrap();
        assert_eq!(mark.renamed(), Some(at("log.1")));
        // The system gives the number of a file that is gone to another.
        fs::write(at("log.1"), "8\n9\n").unwrap();
        assert_eq!(mark.renamed(), None);
    }

    #[test]
    fn a_mark_is_written_with_digests_as_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, vec![b'x'; 9_000]).unwrap();
        let mark = Mark::of(&path, 8_000).unwrap();
        let text = serde_json::to_value(&mark).unwrap();
        assert_eq!(text["head"], format!("{:016x}", xxh3(&[b'x'; 8_000], 8_000)));
        assert_eq!(text["trace"]["first_length"], 4096);
        assert_eq!(text["trace"]["first_digest"], format!("{:016x}", xxh3(&[b'x'; 4096], 0)));
        assert_eq!(serde_json::from_value::<Mark>(text).unwrap(), mark);
        let nothing = serde_json::to_value(Mark::of(Path::new("/nowhere"), 0).unwrap()).unwrap();
        assert_eq!((&nothing["offset"], nothing.get("trace")), (&0.into(), None));
    }
}
