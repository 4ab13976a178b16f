//! The state between runs: a container with the keys that came before, and a journal that tells
//! how far the inputs were read and how long the output was then.
//!
//! Both change together, in one rename. Whatever moment a run is ended at, the state on disk is
//! the old one or the new one; output beyond the length that belongs to it is cut off by the next
//! run, which reads on from the offsets that belong to it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf, absolute};

use serde::{Deserialize, Serialize};
use tamis::format;
use tamis::hash::xxh3;
use tamis::params::{Common, Params};

use super::seen::Seen;
use crate::error::{Error, Result};
use crate::output::{self, Mapped};
use crate::source::{Explained, Format};

/// What a run leaves to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Journal {
    verb: Verb,
    /// Keys remembered.
    pub(super) keys: u64,
    /// How far each input was read.
    inputs: Vec<Mark>,
    /// How long the output was then, where it is a file.
    output: Option<(String, u64)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Verb {
    #[default]
    Dedup,
}

impl Journal {
    /// That of a file; none where it has none: a filter that `build` made.
    pub(super) fn of(file: &Mapped, path: &Path) -> Result<Option<Journal>> {
        if file.journal().is_empty() {
            return Ok(None);
        }
        serde_json::from_slice(file.journal()).map(Some).map_err(|error| Error::Input {
            path: path.into(),
            message: format!("its journal is not one of dedup ({error}); name another state"),
        })
    }
}

/// How far an input was read, and what it looked like up to there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    path: String,
    offset: u64,
    /// Hashes of the first and the last bytes before the offset.
    head: u64,
    tail: u64,
}

/// So many bytes tell whether a file is still the same.
const LOOK: u64 = 64 << 10;

impl Mark {
    fn of(path: &Path, offset: u64) -> io::Result<Mark> {
        let (mut head, mut tail) = (0, 0);
        if offset > 0 {
            let mut file = File::open(path)?;
            let mut look = |from: u64| -> io::Result<u64> {
                let mut bytes = vec![0; LOOK.min(offset) as usize];
                file.seek(SeekFrom::Start(from))?;
                file.read_exact(&mut bytes)?;
                Ok(xxh3(&bytes, offset))
            };
            head = look(0)?;
            tail = look(offset - LOOK.min(offset))?;
        }
        Ok(Mark { path: named(path), offset, head, tail })
    }

    /// Whether the file still begins with what was read of it.
    fn holds(&self) -> bool {
        Mark::of(Path::new(&self.path), self.offset).is_ok_and(|now| now == *self)
    }
}

fn named(path: &Path) -> String {
    absolute(path).unwrap_or_else(|_| path.into()).to_string_lossy().into_owned()
}

/// An input as the journal sees it.
#[derive(Debug, Clone)]
pub(super) struct Place {
    path: PathBuf,
    /// Whether its text is that of the file, so that reading can begin anywhere.
    pub(super) plain: bool,
    /// Its length when the run began; none for a stream.
    length: Option<u64>,
    /// How much of it is done: of plain text, its bytes; else nothing or all of them.
    pub(super) offset: u64,
}

impl Place {
    pub(super) fn of(input: &Explained) -> Place {
        let length = fs::metadata(&input.path).ok().filter(fs::Metadata::is_file).map(|file| file.len());
        let plain = length.is_some() && input.compression.is_none() && input.format != Format::Parquet;
        Place { path: input.path.clone(), plain, length, offset: 0 }
    }

    /// Notes that all of it was read.
    pub(super) fn end(&mut self) {
        if !self.plain {
            self.offset = self.length.unwrap_or(0);
        }
    }

    /// Whether nothing of it is left to read.
    pub(super) fn is_done(&self) -> bool {
        !self.plain && self.length.is_some_and(|length| length > 0 && self.offset == length)
    }
}

/// Goes on where the journal's run ended, if this is the same job: the same inputs (there may be
/// more of them), which still begin with what was read of them, and the same output. Gives the
/// length of the output then.
pub(super) fn go_on(journal: &Journal, places: &mut [Place], output: Option<&Path>) -> Option<u64> {
    let length = match (&journal.output, output) {
        (Some((path, length)), Some(output)) if *path == named(output) => *length,
        (None, None) => 0,
        _ => return None,
    };
    if journal.inputs.len() > places.len() {
        return None;
    }
    for (mark, place) in journal.inputs.iter().zip(&*places) {
        let there = place.length.is_some_and(|length| match place.plain {
            true => length >= mark.offset,
            false => mark.offset == 0 || length == mark.offset,
        });
        if !there || mark.path != named(&place.path) || !mark.holds() {
            return None;
        }
    }
    let written = output.map_or(0, |output| fs::metadata(output).map_or(0, |file| file.len()));
    if written < length {
        return None; // what was written is gone: from the beginning, then
    }
    for (mark, place) in journal.inputs.iter().zip(places) {
        place.offset = mark.offset;
    }
    Some(length)
}

/// A state file in use.
pub(super) struct State {
    path: PathBuf,
    common: Common,
    /// Rows added in all runs.
    pub(super) rows: u64,
    _lock: Lock,
}

impl State {
    /// For this file, which need not exist yet; nobody else may use it meanwhile.
    pub(super) fn new(path: &Path, common: Common, rows: u64, lock: Lock) -> State {
        State { path: path.into(), common, rows, _lock: lock }
    }

    /// Writes keys and journal, together or not at all.
    pub(super) fn commit(&self, seen: &Seen, places: &[Place], output: Option<&Appended>) -> Result<()> {
        let marks =
            places.iter().map(|place| Mark::of(&place.path, place.offset).map_err(Error::io(&place.path)));
        let journal = Journal {
            verb: Verb::Dedup,
            keys: seen.keys(),
            inputs: marks.collect::<Result<_>>()?,
            output: output.map(|output| (named(&output.path), output.length)),
        };
        let journal = serde_json::to_vec(&journal).map_err(|error| Error::Refused(error.to_string()))?;
        let (kind, group) = seen.params()?;
        let params = Params::new(Common { kind, ..self.common.clone() }, vec![group])?;
        let (words, newest) = seen.words();
        let tally = format::seal(words, self.rows, newest);
        output::write_whole(&self.path, |mut out| format::write(&mut out, &params, &[tally], words, &journal))
    }
}

/// Keeps other processes from the same state.
pub(super) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    pub(super) fn of(state: &Path) -> Result<Lock> {
        let path = PathBuf::from(format!("{}.lock", state.display()));
        loop {
            let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
            let file = file.map_err(Error::io(&path))?;
            match file.try_lock() {
                Ok(()) if is_at(&file, &path) => return Ok(Lock { path, _file: file }),
                Ok(()) => {} // whoever held it has removed it just now
                Err(_) => {
                    let message = "another process works with this state; wait for its end".into();
                    return Err(Error::Input { path: state.into(), message });
                }
            }
        }
    }
}

/// Whether the file is still the one of this name.
fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let number = |metadata: io::Result<fs::Metadata>| metadata.map(|file| (file.dev(), file.ino())).ok();
        number(file.metadata()) == number(fs::metadata(path))
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        true
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// An output that is continued where the state's run ended.
pub(super) struct Appended {
    path: PathBuf,
    file: File,
    /// What belongs to the records so far.
    pub(super) length: u64,
    /// Whether it ends within a line.
    open: bool,
}

impl Appended {
    /// Opens it and cuts off what stands beyond this length.
    pub(super) fn open(path: &Path, length: u64) -> Result<Appended> {
        let open = || -> io::Result<Appended> {
            let mut file =
                OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)?;
            file.set_len(length)?;
            let mut last = [b'\n'];
            if length > 0 {
                file.seek(SeekFrom::Start(length - 1))?;
                file.read_exact(&mut last)?;
            }
            Ok(Appended { path: path.into(), file, length, open: last != [b'\n'] })
        };
        open().map_err(Error::io(path))
    }

    /// Writes whole records.
    pub(super) fn write(&mut self, records: &[u8]) -> Result<()> {
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
    pub(super) fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(Error::io(&self.path))
    }
}
