//! Where the bytes of an input come from, and whether they can come again.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::lines;
use super::pace::{Flow, Pace};
use super::reader::{Bytes, Compression, fill_until};
use crate::bad_input::BadInput;
use crate::remote::{self, Failure, Object};
use crate::{Error, LONGEST_ROW, Result};

/// A regular file can be read at any time, also one that lies elsewhere; everything else is a stream that comes
/// once.
pub(super) enum Origin {
    File(PathBuf),
    Remote(Arc<Object>),
    Stream(Stream),
}

/// Standard input, or a named pipe.
pub(super) struct Stream {
    keep: bool,
    pace: Option<Pace>,
    state: Arc<Mutex<State>>,
}

enum State {
    /// Not read yet; what was looked at to recognise it comes first again.
    Fresh(Bytes),
    Kept(Arc<File>),
    Spent,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Origin {
    /// Makes sure that it can be opened more than once.
    pub(super) fn keep(&mut self) {
        if let Origin::Stream(stream) = self {
            stream.keep = true;
        }
    }

    /// Whether it can be opened no more than once.
    pub(super) fn comes_once(&self) -> bool {
        matches!(self, Origin::Stream(stream) if !stream.keep)
    }

    /// Its length in bytes, where that is known.
    pub(super) fn len(&self, path: &Path) -> Result<Option<u64>> {
        let length = |metadata: io::Result<std::fs::Metadata>| {
            metadata.map(|found| Some(found.len())).map_err(Error::io(path))
        };
        match self {
            Origin::File(path) => length(std::fs::metadata(path)),
            Origin::Remote(object) => Ok(Some(object.len())),
            Origin::Stream(stream) => match &*lock(&stream.state) {
                State::Kept(file) => length(file.metadata()),
                _ => Ok(None),
            },
        }
    }

    /// Whether opening it once more gives the same bytes.
    pub(super) fn is_file(&self) -> bool {
        matches!(self, Origin::File(_) | Origin::Remote(_))
    }

    /// The file, where it lies elsewhere.
    pub(super) fn object(&self) -> Option<Arc<Object>> {
        match self {
            Origin::Remote(object) => Some(Arc::clone(object)),
            _ => None,
        }
    }

    /// Whether it has something to read just now, where that can be told.
    pub(super) fn pace(&self) -> Option<&Pace> {
        match self {
            Origin::File(_) | Origin::Remote(_) => None,
            Origin::Stream(stream) => stream.pace.as_ref(),
        }
    }

    /// Its bytes from the beginning.
    pub(super) fn open(&self, path: &Path) -> Result<Bytes> {
        match self {
            Origin::Stream(stream) => stream.open(path),
            file => file.open_at(path, 0),
        }
    }

    /// Its bytes from this place on, where it is a [file](Self::is_file).
    pub(super) fn open_at(&self, path: &Path, at: u64) -> Result<Bytes> {
        match self {
            Origin::File(path) => Ok(Box::new(Whole::open(path, at).map_err(Error::io(path))?)),
            Origin::Remote(object) => Ok(object.read(at)),
            Origin::Stream(_) => Err(Error::input(path, BadInput::Spent)),
        }
    }
}

impl Stream {
    fn open(&self, path: &Path) -> Result<Bytes> {
        let mut state = lock(&self.state);
        match mem::replace(&mut *state, State::Spent) {
            State::Fresh(bytes) if self.keep => {
                let spool = tempfile::tempfile().map_err(Error::io(std::env::temp_dir()))?;
                Ok(Box::new(Spooling { bytes, spool: Some(spool), state: Arc::clone(&self.state) }))
            }
            State::Fresh(bytes) => Ok(bytes),
            State::Kept(file) => {
                *state = State::Kept(Arc::clone(&file));
                Ok(Box::new(FromStart { file, at: 0 }))
            }
            State::Spent => Err(Error::input(path, BadInput::Spent)),
        }
    }
}

/// That a stream could not be written down: the fault of the disk, not of the stream.
#[derive(Debug, thiserror::Error)]
#[error("it cannot be kept in a temporary file in {} ({source}); TMPDIR names another folder", std::env::temp_dir().display())]
struct NotKept {
    source: io::Error,
}

impl NotKept {
    fn error(source: io::Error) -> io::Error {
        io::Error::new(source.kind(), NotKept { source })
    }

    fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<NotKept>())
    }
}

/// Writes down what is read; at the end of the stream that becomes the stream.
struct Spooling {
    bytes: Bytes,
    spool: Option<File>,
    state: Arc<Mutex<State>>,
}

impl Read for Spooling {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.bytes.read(buffer)?;
        if let Some(spool) = &mut self.spool {
            spool.write_all(&buffer[..len]).map_err(NotKept::error)?;
        }
        if len == 0
            && !buffer.is_empty()
            && let Some(spool) = self.spool.take()
        {
            *lock(&self.state) = State::Kept(Arc::new(spool));
        }
        Ok(len)
    }
}

/// Reads a shared file by position, so that several can do so at once.
struct FromStart {
    file: Arc<File>,
    at: u64,
}

impl Read for FromStart {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let len = std::os::unix::fs::FileExt::read_at(&*self.file, buffer, self.at)?;
        #[cfg(windows)]
        let len = std::os::windows::fs::FileExt::seek_read(&*self.file, buffer, self.at)?;
        self.at += len as u64;
        Ok(len)
    }
}

/// A regular file, of which all is read that was there when it was opened.
struct Whole {
    file: File,
    at: u64,
    length: u64,
}

impl Whole {
    /// From this place on.
    fn open(path: &Path, at: u64) -> io::Result<Whole> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        if at > 0 {
            file.seek(SeekFrom::Start(at))?;
        }
        Ok(Whole { file, at, length })
    }
}

impl Read for Whole {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.file.read(buffer)?;
        self.at += len as u64;
        // There are files that never had the length that the system tells, but they keep it.
        if len == 0
            && !buffer.is_empty()
            && self.at < self.length
            && self.file.metadata()?.len() != self.length
        {
            return Err(WasCut::error());
        }
        Ok(len)
    }
}

/// A file that became shorter while it was read: the last row is torn, and others are missing.
#[derive(Debug, thiserror::Error)]
#[error("it was cut while it was read; give a copy, or a file that nobody shortens meanwhile")]
struct WasCut;

impl WasCut {
    fn error() -> io::Error {
        io::Error::new(io::ErrorKind::UnexpectedEof, WasCut)
    }

    fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<WasCut>())
    }
}

/// Counts the bytes that pass.
pub(super) struct Counted {
    pub(super) bytes: Bytes,
    pub(super) count: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.bytes.read(buffer)?;
        self.count.fetch_add(len as u64, Relaxed);
        Ok(len)
    }
}

/// The beginning of an input, decompressed, as much as is needed to recognise it.
pub(super) struct Head {
    pub(super) bytes: Vec<u8>,
    /// Whether this is all there is.
    pub(super) whole: bool,
    pub(super) compression: Option<Compression>,
    path: PathBuf,
    rest: Bytes,
    pace: Option<Pace>,
}

/// What is looked at first; enough for any header that people write.
const FIRST_LOOK: usize = 64 << 10;

impl Head {
    fn of(path: &Path, flow: Flow) -> Result<Head> {
        let Flow { mut bytes, pace } = flow;
        // A slow stream may hold less for now: its first line tells enough.
        let dry = |pace: &Option<Pace>| pace.as_ref().is_some_and(|pace| !pace.ready(Duration::ZERO));
        let mut magic = [0; 16];
        let (len, _) =
            fill_until(&mut bytes, &mut magic, |got| has_line(got) && dry(&pace)).map_err(Error::io(path))?;
        let compression = Compression::of(&magic[..len]);
        let all: Bytes = Box::new(Cursor::new(magic[..len].to_vec()).chain(bytes));
        let rest = match compression {
            Some(compression) => compression.decoder(all).map_err(Error::io(path))?,
            None => all,
        };
        let mut head =
            Head { bytes: Vec::new(), whole: false, compression, path: path.to_owned(), rest, pace };
        while !head.whole && head.bytes.len() < FIRST_LOOK {
            head.look_further(FIRST_LOOK - head.bytes.len())?;
            if has_line(&head.bytes) && dry(&head.pace) {
                break;
            }
        }
        Ok(head)
    }

    /// This many bytes more; of a stream that comes slowly, what there is.
    fn look_further(&mut self, more: usize) -> Result<()> {
        let len = self.bytes.len();
        self.bytes.resize(len + more, 0);
        let pace = &self.pace;
        let dry = |_: &[u8]| pace.as_ref().is_some_and(|pace| !pace.ready(Duration::ZERO));
        let (got, ended) = fill_until(&mut self.rest, &mut self.bytes[len..], dry)
            .map_err(|source| damaged(&self.path, self.compression, source))?;
        self.bytes.truncate(len + got);
        self.whole = ended;
        Ok(())
    }

    /// Twice as much of the beginning; an error where it is absurdly long already.
    pub(super) fn grow(&mut self) -> Result<()> {
        if self.bytes.len() >= LONGEST_ROW {
            return Err(Error::input(&self.path, BadInput::LongFirstRow));
        }
        self.look_further(self.bytes.len().max(FIRST_LOOK))
    }
}

/// Whether a line that is not empty has its end in there.
fn has_line(data: &[u8]) -> bool {
    let first = lines::first(data);
    !first.is_empty() && {
        let end = first.as_ptr() as usize - data.as_ptr() as usize + first.len();
        data[end..].contains(&b'\n')
    }
}

/// Opens an input and lets `look` see its head; no byte is lost by looking.
pub(super) fn open<T>(
    path: &Path,
    stdin: Option<Flow>,
    look: impl FnOnce(&mut Head) -> Result<T>,
) -> Result<(Origin, Option<Compression>, T)> {
    let Flow { bytes, pace } = match stdin {
        Some(flow) => flow,
        None if remote::is_remote(path) => {
            let object = Object::look(path).map_err(Error::io(path))?;
            let mut head = Head::of(path, object.begin().into())?;
            let seen = look(&mut head)?;
            return Ok((Origin::Remote(Arc::new(object)), head.compression, seen));
        }
        None => {
            let file = File::open(path).map_err(Error::io(path))?;
            if file.metadata().map_err(Error::io(path))?.is_file() {
                let bytes: Bytes = Box::new(file);
                let mut head = Head::of(path, bytes.into())?;
                let seen = look(&mut head)?;
                return Ok((Origin::File(path.to_owned()), head.compression, seen));
            }
            Flow::of(file)
        }
    };
    let record = Arc::new(Mutex::new(Record { bytes, seen: Vec::new() }));
    let recording = Flow { bytes: Box::new(Recording(Arc::clone(&record))), pace: pace.clone() };
    let mut head = Head::of(path, recording)?;
    let seen = look(&mut head)?;
    let compression = head.compression;
    drop(head);
    let mut record = lock(&record);
    let again = mem::take(&mut record.seen);
    let rest = mem::replace(&mut record.bytes, Box::new(io::empty()));
    let bytes: Bytes = match &pace {
        Some(pace) => Box::new(pace.again(again).chain(rest)),
        None => Box::new(Cursor::new(again).chain(rest)),
    };
    let state = Arc::new(Mutex::new(State::Fresh(bytes)));
    Ok((Origin::Stream(Stream { keep: false, pace, state }), compression, seen))
}

/// What a failure to read means: that of a decompressor is about what the file holds.
pub(super) fn damaged(path: &Path, compression: Option<Compression>, source: io::Error) -> Error {
    match compression {
        Some(compression)
            if source.raw_os_error().is_none()
                && !NotKept::is(&source)
                && !WasCut::is(&source)
                && Failure::of(&source).is_none() =>
        {
            Error::input(path, BadInput::Damaged { compression, source })
        }
        _ => Error::Io { path: path.to_owned(), source },
    }
}

struct Record {
    bytes: Bytes,
    seen: Vec<u8>,
}

/// Remembers what is read.
struct Recording(Arc<Mutex<Record>>);

impl Read for Recording {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut record = lock(&self.0);
        let len = record.bytes.read(buffer)?;
        record.seen.extend_from_slice(&buffer[..len]);
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(text: &str) -> Origin {
        let bytes: Bytes = Box::new(Cursor::new(text.as_bytes().to_vec()));
        let look = |head: &mut Head| {
            assert_eq!(head.bytes, text.as_bytes());
            Ok(())
        };
        open(Path::new("-"), Some(bytes.into()), look).unwrap().0
    }

    fn read(origin: &Origin) -> Result<String> {
        let mut text = String::new();
        origin.open(Path::new("-"))?.read_to_string(&mut text).unwrap();
        Ok(text)
    }

    #[test]
    fn a_stream_that_was_looked_at_is_read_whole_and_once() {
        let origin = stream("a\nb\n");
        assert_eq!(read(&origin).unwrap(), "a\nb\n");
        assert!(read(&origin).unwrap_err().to_string().contains("give a file"));
    }

    #[test]
    fn a_stream_that_is_kept_is_read_again_and_again() {
        let mut origin = stream("a\nb\n");
        origin.keep();
        assert_eq!(origin.len(Path::new("-")).unwrap(), None);
        for _ in 0..3 {
            assert_eq!(read(&origin).unwrap(), "a\nb\n");
            assert_eq!(origin.len(Path::new("-")).unwrap(), Some(4));
        }
    }

    #[test]
    fn a_kept_stream_that_was_not_read_to_its_end_is_spent() {
        let mut origin = stream("a\nb\n");
        origin.keep();
        origin.open(Path::new("-")).unwrap().read_exact(&mut [0; 2]).unwrap();
        assert!(read(&origin).is_err());
    }

    #[test]
    fn the_head_grows_to_the_end() {
        let text = "x".repeat(200_000);
        let bytes: Bytes = Box::new(Cursor::new(text.clone().into_bytes()));
        let look = |head: &mut Head| {
            assert_eq!((head.bytes.len(), head.whole), (FIRST_LOOK, false));
            head.grow().unwrap();
            head.grow().unwrap();
            assert_eq!((head.bytes.len(), head.whole), (200_000, true));
            Ok(())
        };
        let (origin, ..) = open(Path::new("-"), Some(bytes.into()), look).unwrap();
        assert_eq!(read(&origin).unwrap(), text);
    }
}
