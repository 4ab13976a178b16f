//! Files that appear whole or not at all, and containers on disk.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf, absolute};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use tamis::Container;
use tamis::arch::map::{Map, Words};
use tamis::countmin::Heavy;
use tamis::format::{self, Extras, Tally};
use tamis::params::Params;
use tamis_read::error::{Error, Result};
use tamis_read::refusal::{self, Help};

use crate::leftovers::TemporaryFile;
use crate::parallel;

/// Why a file is not written, or not opened.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It is read, too.
    #[error("is an input and would be overwritten")]
    IsInput,
    /// Two outputs have its name.
    #[error("is named twice, for two things")]
    NamedTwice,
    /// The name that means standard output elsewhere.
    #[error("the result cannot go to standard output")]
    Stdout,
    /// A folder has its name.
    #[error("is a folder")]
    Folder,
    /// A device or a pipe has its name.
    #[error("is not a regular file and is not replaced")]
    Device,
    /// It is a link that leads nowhere.
    #[error("is a link to nothing")]
    DeadLink,
    /// Its folder is not there.
    #[error("its folder does not exist")]
    NoFolder,
    /// A container that is no file.
    #[error("is not a regular file")]
    NotAFile,
    /// A container without a byte.
    #[error("is empty, not a tamis file")]
    Empty,
    /// Memory for a container is missing.
    #[error("no memory for {bytes} bytes ({error})")]
    NoMemory {
        /// Its size.
        bytes: usize,
        /// What the operating system said.
        error: io::Error,
    },
    /// Sketches that the format cannot hold.
    #[error("no container can be made ({error})")]
    NoContainer {
        /// What the format said.
        error: io::Error,
    },
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        match self {
            Refusal::IsInput => vec![Help::Do("name another output")],
            Refusal::NamedTwice => vec![Help::Do("name two files")],
            Refusal::Stdout => vec![Help::Do("name a file (./- is one called -)")],
            Refusal::Folder => vec![Help::Do("name a file in it")],
            Refusal::Device | Refusal::DeadLink => vec![Help::Do("name another file")],
            Refusal::NoFolder => vec![Help::Do("make it first"), Help::Do("name another")],
            Refusal::NotAFile | Refusal::Empty | Refusal::NoMemory { .. } | Refusal::NoContainer { .. } => {
                Vec::new()
            }
        }
    }
}

/// A thread that syncs a file panicked.
#[derive(Debug, thiserror::Error)]
#[error("the thread that syncs the file has failed")]
struct SyncFailed;

/// A file that cannot be made, for this reason.
#[derive(Debug, thiserror::Error)]
#[error("cannot be written: {0}")]
struct Unwritable(io::ErrorKind);

/// Writes a file under a temporary name in the same folder, then puts it in its place: a reader
/// sees the old file or the new one, and a failure leaves the old one untouched.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut draft = Draft::new(path)?;
    let mut out = BufWriter::with_capacity(1 << 20, &mut draft);
    write(&mut out).and_then(|()| out.flush()).map_err(Error::io(path))?;
    drop(out);
    draft.finish()
}

/// Makes sure that the names in a folder last. File systems that cannot are passed over.
pub fn sync_folder(folder: &Path) -> Result<()> {
    use io::ErrorKind::{InvalidInput, Unsupported};
    if cfg!(not(unix)) {
        return Ok(()); // folders cannot be opened there
    }
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error) if matches!(error.kind(), InvalidInput | Unsupported) => Ok(()),
        synced => synced.map_err(Error::io(folder)),
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
    pub fn new(path: &Path) -> Result<Draft> {
        let target = Target::of(path)?;
        let file = target.temporary().map_err(Error::io(path))?;
        Ok(Draft { path: path.to_owned(), target, file, untold: 0, behind: None })
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
    pub fn finish(self) -> Result<()> {
        let Draft { path, target, mut file, behind, .. } = self;
        let attempt = || -> io::Result<()> {
            behind.map_or(Ok(()), Behind::join)?;
            if let Some(permissions) = &target.permissions {
                file.file().set_permissions(permissions.clone())?;
            }
            file.file().sync_all()?;
            file.persist(&target.file)?;
            // The file is in its place; that a folder cannot be opened or synced takes nothing back.
            let _ = File::open(&target.folder).and_then(|folder| folder.sync_all());
            Ok(())
        };
        attempt().map_err(Error::io(path))
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

/// After so many bytes a file begins to go to the disk while more are written: what is left for the
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
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other(SyncFailed)))
    }
}

/// Refuses an output that cannot be written: before the work that would be lost.
pub fn check(path: &Path) -> Result<()> {
    Target::of(path)?.temporary().map(drop).map_err(Error::io(path))
}

/// Refuses an output that is one of the inputs.
pub fn check_is_no_input<P: AsRef<Path>>(path: &Path, inputs: impl IntoIterator<Item = P>) -> Result<()> {
    if inputs.into_iter().any(|input| same_file(path, input.as_ref())) {
        return Err(Error::input(path, Refusal::IsInput));
    }
    Ok(())
}

/// Whether two names, links or not, lead to one file; false where there is none.
pub(crate) fn same_file(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let number = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
        number(one).is_some_and(|one| number(other) == Some(one))
    }
    #[cfg(not(unix))]
    {
        let place = |path: &Path| fs::canonicalize(path).ok();
        place(one).is_some_and(|one| place(other) == Some(one))
    }
}

/// Refuses outputs of which one is an input, or two are the same file.
pub fn check_outputs<'p>(
    outputs: impl IntoIterator<Item = Option<&'p Path>>,
    inputs: impl IntoIterator<Item = impl AsRef<Path>> + Clone,
) -> Result<()> {
    let mut places = Vec::new();
    for path in outputs.into_iter().flatten() {
        check_is_no_input(path, inputs.clone())?;
        let place = absolute(path).unwrap_or_else(|_| path.to_owned());
        if places.contains(&place) {
            return Err(Error::input(path, Refusal::NamedTwice));
        }
        places.push(place);
    }
    Ok(())
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
    fn of(path: &Path) -> Result<Target> {
        let refused = |why: Refusal| Err(Error::input(path, why));
        if path == Path::new("-") {
            return refused(Refusal::Stdout);
        }
        let (file, permissions) = match fs::metadata(path) {
            Ok(there) if there.is_dir() => return refused(Refusal::Folder),
            // A rename would put a file in the place of a device such as /dev/null.
            Ok(there) if !there.is_file() => return refused(Refusal::Device),
            Ok(there) => (fs::canonicalize(path).map_err(Error::io(path))?, Some(there.permissions())),
            Err(_) if path.is_symlink() => return refused(Refusal::DeadLink),
            Err(_) => (path.to_owned(), None),
        };
        let folder = match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        if !folder.is_dir() {
            return refused(Refusal::NoFolder);
        }
        Ok(Target { folder, file, permissions })
    }

    fn temporary(&self) -> io::Result<TemporaryFile> {
        // The name of the temporary file, which this error would show, helps nobody.
        TemporaryFile::new(&self.folder)
            .map_err(|error| io::Error::new(error.kind(), Unwritable(error.kind())))
    }
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
    let (draft, tallies) = draft_container(path, params, (rows, seeds), arena, None, threads)?;
    draft.finish()?;
    Ok(tallies)
}

/// The same, with heavy keys where they are kept; and the file is not yet in its place.
pub fn draft_container(
    path: &Path,
    params: &Params,
    (rows, seeds): (&[u64], &[u64]),
    arena: &[u64],
    heavy: Option<&Heavy>,
    threads: usize,
) -> Result<(Draft, Vec<Tally>)> {
    let tallies = seal(params, (rows, seeds), arena, threads)?;
    let mut draft = Draft::new(path)?;
    let mut out = BufWriter::with_capacity(1 << 20, &mut draft);
    let extras = Extras { heavy, journal: b"" };
    let written = format::write(&mut out, params, &tallies, arena, extras).and_then(|()| out.flush());
    written.map_err(Error::io(path))?;
    drop(out);
    Ok((draft, tallies))
}

/// What the sections of an arena say of themselves.
fn seal(
    params: &Params,
    (rows, seeds): (&[u64], &[u64]),
    arena: &[u64],
    threads: usize,
) -> Result<Vec<Tally>> {
    let (starts, _) = params.layout();
    parallel::each(threads, params.groups.len(), |group| {
        let (kind, shape) = (params.common.kind, &params.groups[group].shape);
        let section = &arena[starts[group]..starts[group] + shape.words(kind) as usize];
        Ok(format::seal(kind, shape, section, rows[group], seeds[group]))
    })
}

impl Draft {
    /// The digest of a container that was written here.
    pub fn digest(&mut self) -> Result<u128> {
        let map = Map::of(self.file.file()).map_err(Error::io(&self.path))?;
        Ok(Container::open(map).map_err(Error::file(&self.path))?.digest())
    }
}

/// A container that was opened: mapped from disk, mostly.
pub type Mapped = Container<Held>;

/// The bytes of a container.
#[derive(Debug)]
pub enum Held {
    /// On disk, mapped.
    File(Map),
    /// In memory: so many bytes of these words.
    Memory(Words, usize),
}

impl Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Held::File(map) => map,
            Held::Memory(words, len) => &bytemuck::cast_slice(words)[..*len],
        }
    }
}

impl Held {
    /// Memory for so many bytes, which `write` fills.
    fn written(len: usize, write: impl FnOnce(&mut [u8]) -> io::Result<()>) -> Result<Held> {
        let none = |error| Error::from(Refusal::NoMemory { bytes: len, error });
        let mut words = Words::zeroed(len.div_ceil(8)).map_err(none)?;
        write(&mut bytemuck::cast_slice_mut(&mut words)[..len]).map_err(none)?;
        Ok(Held::Memory(words, len))
    }
}

/// Seals the sections of an arena and makes a container of them that stays in memory.
pub fn in_memory(
    params: &Params,
    (rows, seeds): (&[u64], &[u64]),
    arena: &[u64],
    heavy: Option<&Heavy>,
    threads: usize,
) -> Result<Mapped> {
    let tallies = seal(params, (rows, seeds), arena, threads)?;
    let extras = Extras { heavy, journal: b"" };
    let mut length = Length(0);
    let written = format::write(&mut length, params, &tallies, arena, extras);
    written.map_err(|error| Refusal::NoContainer { error })?;
    let held = Held::written(length.0, |mut out| format::write(&mut out, params, &tallies, arena, extras))?;
    Ok(Container::open(held)?)
}

/// A container of these bytes, which are copied.
pub fn from_bytes(bytes: &[u8]) -> Result<Mapped> {
    let held = Held::written(bytes.len(), |out| {
        out.copy_from_slice(bytes);
        Ok(())
    })?;
    Ok(Container::open(held)?)
}

/// Counts what is written.
struct Length(usize);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Opens a container.
pub fn open(path: &Path) -> Result<Mapped> {
    let file = File::open(path).map_err(Error::io(path))?;
    let metadata = file.metadata().map_err(Error::io(path))?;
    if !metadata.is_file() {
        return Err(Error::input(path, Refusal::NotAFile));
    }
    if metadata.len() == 0 {
        return Err(Error::input(path, Refusal::Empty));
    }
    let map = Map::of(&file).map_err(Error::io(path))?;
    Container::open(Held::File(map)).map_err(Error::file(path))
}

/// Opens several containers.
pub fn open_all(paths: &[PathBuf]) -> Result<Vec<Mapped>> {
    paths.iter().map(|path| open(path)).collect()
}
