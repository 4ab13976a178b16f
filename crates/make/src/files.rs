//! Files that appear whole or not at all, and containers on disk.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tamis::Container;
use tamis::file::{self, NoMap};
use tamis::format::{self, Beside, Extras, Tally};
use tamis::memory::{Map, Words};
use tamis::params::Params;
use tamis::whole::{self, Reason};
use tamis_read::error::{Error, Result};
use tamis_read::refusal::{self, Help};
use tamis_read::remote::{self, Upload};

use crate::changing::refuse_busy;
use crate::failpoint::reach;
use crate::place::{self, Place};
use crate::{exact, foreign, parallel, pipe};

/// Why a file is not written, or not opened.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It is read, too.
    #[error("is an input and would be overwritten")]
    IsInput,
    /// Two outputs have its name.
    #[error("is used for two outputs")]
    NamedTwice,
    /// The name that means standard output elsewhere.
    #[error("the result cannot go to standard output")]
    Stdout,
    /// A name of a file that is open already: what replaces it is another one.
    #[error("is a name for a file that is open, which cannot be replaced")]
    Open,
    /// Its place cannot be written.
    #[error("{0}")]
    Place(Reason),
    /// A container that is no file.
    #[error("is not a regular file")]
    NotAFile,
    /// A container without a byte.
    #[error("is empty, not a tamis file")]
    Empty,
    /// Memory for a container is missing.
    #[error("not enough memory for {}", crate::number::bytes(*bytes as u64))]
    NoMemory {
        /// Its size.
        bytes: usize,
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
            Refusal::Open => vec![Help::Do("name the file itself")],
            Refusal::Place(_)
            | Refusal::NotAFile
            | Refusal::Empty
            | Refusal::NoMemory { .. }
            | Refusal::NoContainer { .. } => Vec::new(),
        }
    }
}

/// Writes a file under a temporary name in the same folder, then puts it in its place: a reader
/// sees the old file or the new one, and a failure leaves the old one untouched.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    draft(path, write)?.finish()
}

/// The same, and the file is not yet in its place.
pub fn draft(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Draft> {
    written(path, Box::new(write))
}

/// What writes the bytes of a file.
type Author<'w> = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + 'w>;

/// Compiled once, whoever writes.
fn written(path: &Path, write: Author<'_>) -> Result<Draft> {
    let mut draft = Draft::new(path)?;
    let mut out = BufWriter::with_capacity(1 << 20, &mut draft);
    write(&mut out).and_then(|()| out.flush()).map_err(Error::io(path))?;
    drop(out);
    Ok(draft)
}

/// Makes sure that the names in a folder last. File systems that cannot are passed over.
pub fn sync_folder(folder: &Path) -> Result<()> {
    whole::sync_folder(folder).map_err(Error::io(folder))
}

/// A file that is being written under a temporary name; dropped, it leaves nothing.
#[derive(Debug)]
pub struct Draft(To);

#[derive(Debug)]
enum To {
    Here(Box<whole::Draft>),
    /// An unnamed temporary file, and the place elsewhere to which all of it is sent in the end.
    Elsewhere(File, PathBuf),
}

impl Draft {
    /// Begins a file that will have this name.
    pub fn new(path: &Path) -> Result<Draft> {
        Draft::beside(path, path)
    }

    /// The same for a file that belongs to another one: whoever may read that one may read this one.
    pub fn beside(path: &Path, of: &Path) -> Result<Draft> {
        refuse_standard_output(path)?;
        if remote::is_remote(path) {
            let file = tempfile::tempfile().map_err(Error::io(std::env::temp_dir()))?;
            return Ok(Draft(To::Elsewhere(file, path.to_owned())));
        }
        whole::Draft::beside(path, of).map(|draft| Draft(To::Here(Box::new(draft)))).map_err(refused)
    }

    /// The name that the file will have, as it was given.
    pub fn path(&self) -> &Path {
        match &self.0 {
            To::Here(draft) => draft.path(),
            To::Elsewhere(_, path) => path,
        }
    }

    /// The file itself.
    pub fn file(&mut self) -> &mut File {
        match &mut self.0 {
            To::Here(draft) => draft.file(),
            To::Elsewhere(file, _) => file,
        }
    }

    /// Puts the file in its place.
    pub fn finish(self) -> Result<()> {
        finish_all([self])
    }
}

/// Puts files that belong together in their places, in this order, or none of them: all are on disk before the
/// first is renamed, and an error between takes back those before. Only a program that is ended from outside
/// between two of them leaves a new one beside an old one.
///
/// Those that lie elsewhere go first: all their bytes are there before the first appears. One that has appeared
/// is not taken back.
pub fn finish_all(drafts: impl IntoIterator<Item = Draft>) -> Result<()> {
    let (mut here, mut elsewhere) = (Vec::new(), Vec::new());
    for draft in drafts {
        match draft.0 {
            To::Here(draft) => here.push(*draft),
            To::Elsewhere(file, path) => {
                elsewhere.push((Upload::send(&path, &file).map_err(Error::io(&path))?, path));
            }
        }
    }
    for (upload, path) in elsewhere {
        upload.complete().map_err(Error::io(path))?;
    }
    reach("files/written");
    whole::finish_all_with(here, &mut || reach("files/renamed")).map_err(refused)
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            To::Here(draft) => draft.write(bytes),
            To::Elsewhere(file, _) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(()) // neither has a buffer
    }
}

/// Refuses an output that cannot be written, or that another process writes: before the work that would be lost.
pub fn check(path: &Path) -> Result<()> {
    refuse_busy(path)?;
    check_place(path)
}

/// Refuses an output that cannot be written, and leaves it to others whether somebody else has it.
pub fn check_place(path: &Path) -> Result<()> {
    refuse_standard_output(path)?;
    if remote::is_remote(path) {
        return remote::check_output(path).map_err(Error::io(path));
    }
    whole::check(path).map_err(refused)
}

/// A `-` stands for standard output, where it stands for anything.
fn refuse_standard_output(path: &Path) -> Result<()> {
    if path == Path::new("-") {
        return Err(Error::input(path, Refusal::Stdout));
    }
    if place::descriptor(path).is_some() && path.is_file() {
        return Err(Error::input(path, Refusal::Open));
    }
    Ok(())
}

fn refused(whole::Error { path, reason }: whole::Error) -> Error {
    match reason {
        Reason::Io(error) => Error::io(path)(error),
        reason => Error::input(path, Refusal::Place(reason)),
    }
}

/// Refuses an output that is one of the inputs, or the exact keys beside one.
pub fn check_is_no_input<P: AsRef<Path>>(path: &Path, inputs: impl IntoIterator<Item = P>) -> Result<()> {
    let is_of = |input: &Path| {
        let input = if input == Path::new("-") { Path::new(place::STDIN) } else { input };
        place::is_one_file(path, input) || place::is_one_file(path, &exact::path_beside(input))
    };
    if inputs.into_iter().any(|input| is_of(input.as_ref())) {
        return Err(Error::input(path, Refusal::IsInput));
    }
    Ok(())
}

/// Refuses outputs of which one is an input, or two are the same file.
pub fn check_outputs<'p>(
    outputs: impl IntoIterator<Item = Option<&'p Path>>,
    inputs: impl IntoIterator<Item = impl AsRef<Path>> + Clone,
) -> Result<()> {
    let mut places = Vec::new();
    for path in outputs.into_iter().flatten() {
        check_is_no_input(path, inputs.clone())?;
        // Many may write to a device.
        let Some(place) = Place::of(path) else { continue };
        if places.contains(&place) {
            return Err(Error::input(path, Refusal::NamedTwice));
        }
        places.push(place);
    }
    Ok(())
}

/// Seals the sections of an arena and writes the container. `rows` and `beside` stand in the
/// order of the groups.
pub fn write_container(
    path: &Path,
    params: &Params,
    rows: &[u64],
    beside: &[Beside],
    arena: &[u64],
    threads: usize,
) -> Result<Vec<Tally>> {
    let (draft, tallies) = draft_container(path, params, (rows, beside), arena, Extras::default(), threads)?;
    draft.finish()?;
    Ok(tallies)
}

/// The same, with what stands after the sketches; and the file is not yet in its place.
pub fn draft_container(
    path: &Path,
    params: &Params,
    (rows, beside): (&[u64], &[Beside]),
    arena: &[u64],
    extras: Extras<'_>,
    threads: usize,
) -> Result<(Draft, Vec<Tally>)> {
    let tallies = seal(params, (rows, beside), arena, threads)?;
    Ok((draft_sealed(path, params, &tallies, arena, extras)?, tallies))
}

/// The same of sections that are sealed.
pub(crate) fn draft_sealed(
    path: &Path,
    params: &Params,
    tallies: &[Tally],
    arena: &[u64],
    extras: Extras<'_>,
) -> Result<Draft> {
    draft(path, |mut out| format::write(&mut out, params, tallies, arena, extras))
}

/// What the sections of an arena say of themselves.
pub(crate) fn seal(
    params: &Params,
    (rows, beside): (&[u64], &[Beside]),
    arena: &[u64],
    threads: usize,
) -> Result<Vec<Tally>> {
    /// Of millions of groups, a thread seals a few in a row.
    const IN_A_ROW: usize = 256;
    let (starts, _) = params.layout();
    let mut tallies = vec![Tally::default(); params.groups.len()];
    let parts: Vec<Mutex<&mut [Tally]>> = tallies.chunks_mut(IN_A_ROW).map(Mutex::new).collect();
    parallel::each(threads, parts.len(), |part| {
        let mut tallies = parts[part].lock().expect("no holder panics");
        for (group, tally) in (part * IN_A_ROW..).zip(tallies.iter_mut()) {
            let shape = &params.groups[group].shape;
            let section = &arena[starts[group]..starts[group] + shape.words() as usize];
            *tally = format::seal(shape, section, rows[group], beside[group]);
        }
        Ok(())
    })?;
    drop(parts);
    Ok(tallies)
}

impl Draft {
    /// The digest of a container that was written here.
    pub fn digest(&mut self) -> Result<u128> {
        let path = self.path().to_owned();
        let map = Map::of(self.file()).map_err(Error::io(&path))?;
        Ok(Container::open(map).map_err(Error::file(&path))?.digest())
    }
}

/// A container that was opened: mapped from disk, mostly.
pub type Mapped = Container<Held>;

/// The bytes of a container.
#[derive(Debug)]
pub enum Held {
    /// On disk, mapped.
    File(Map),
    /// In memory: this many bytes of these words.
    Memory(Words, usize),
    /// In memory that was a sketch before it was a container.
    Grown(Vec<u64>),
    /// In memory that belongs to the process.
    Shared(&'static [u8]),
}

impl Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Held::File(map) => map,
            Held::Memory(words, len) => &bytemuck::cast_slice(words)[..*len],
            Held::Grown(words) => bytemuck::cast_slice(words),
            Held::Shared(bytes) => bytes,
        }
    }
}

impl Held {
    /// Memory for this many bytes, which `write` fills.
    fn written(len: usize, write: impl FnOnce(&mut [u8]) -> io::Result<()>) -> Result<Held> {
        let mut words = Words::zeroed(len.div_ceil(8)).map_err(|_| Refusal::NoMemory { bytes: len })?;
        write(&mut bytemuck::cast_slice_mut(&mut words)[..len])
            .map_err(|error| Refusal::NoContainer { error })?;
        Ok(Held::Memory(words, len))
    }
}

/// Seals the sections of an arena and makes a container of them that stays in memory.
pub fn in_memory(
    params: &Params,
    (rows, beside): (&[u64], &[Beside]),
    arena: &[u64],
    extras: Extras<'_>,
    threads: usize,
) -> Result<Mapped> {
    let tallies = seal(params, (rows, beside), arena, threads)?;
    let mut length = Length(0);
    let written = format::write(&mut length, params, &tallies, arena, extras);
    written.map_err(|error| Refusal::NoContainer { error })?;
    let held = Held::written(length.0, |mut out| format::write(&mut out, params, &tallies, arena, extras))?;
    Ok(Container::open(held)?)
}

/// The same of one sketch that nobody needs besides: its words become those of the container, so that memory holds it
/// once, however large it is.
pub(crate) fn of_sketch(
    params: &Params,
    (rows, beside): (u64, Beside),
    mut words: Vec<u64>,
) -> Result<Mapped> {
    let tallies = seal(params, (&[rows], &[beside]), &words, 1)?;
    let head =
        format::head(params, &tallies, Extras::default()).map_err(|error| Refusal::NoContainer { error })?;
    // The data area begins and ends with a cache line.
    let (before, length) = (head.len() / 8, params.layout().1);
    let more = (before + length).saturating_sub(words.len());
    words.try_reserve_exact(more).map_err(|_| Refusal::NoMemory { bytes: 8 * (before + length) })?;
    words.resize(before + length, 0);
    words.copy_within(..length, before);
    bytemuck::cast_slice_mut(&mut words[..before]).copy_from_slice(&head);
    Ok(Container::open(Held::Grown(words))?)
}

/// A container of these bytes, which are copied.
pub fn from_bytes(bytes: &[u8]) -> Result<Mapped> {
    let held = Held::written(bytes.len(), |out| {
        out.copy_from_slice(bytes);
        Ok(())
    })?;
    let container = Container::open(held)?;
    container.params().common.makes_keys()?;
    Ok(container)
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

/// Opens a container of which keys are asked, or to which they are added.
pub fn open(path: &Path) -> Result<Mapped> {
    to_ask(path, open_as_is(path)?)
}

/// The same container, of which keys can be asked: the lists and secrets by which they were made are known.
pub(crate) fn to_ask(path: &Path, container: Mapped) -> Result<Mapped> {
    container.params().common.makes_keys().map_err(Error::file(path))?;
    Ok(container)
}

/// Opens a container of which no keys are asked: the lists by which they were made need not be known. A `-` is
/// the one that comes on standard input.
pub fn open_as_is(path: &Path) -> Result<Mapped> {
    if pipe::is_stdin(path) {
        return pipe::open_stdin();
    }
    of_map(path, mapped(path)?)
}

/// Maps a file; one that lies elsewhere is brought here first.
pub(crate) fn mapped(path: &Path) -> Result<Map> {
    let map = remote::open(path).map_err(NoMap::Io).and_then(|file| file::map_opened(&file));
    map.map_err(|why| match why {
        NoMap::Io(error) => Error::io(path)(error),
        NoMap::NotAFile => Error::input(path, Refusal::NotAFile),
        NoMap::Empty => Error::input(path, Refusal::Empty),
    })
}

/// The container in a file that was mapped. Where it is not ours, and it is known whose it is, that is said.
pub(crate) fn of_map(path: &Path, map: Map) -> Result<Mapped> {
    if !map.starts_with(&format::MAGIC)
        && let Some(refusal) = foreign::whose(&map)
    {
        return Err(Error::input(path, refusal));
    }
    Container::open(Held::File(map)).map_err(Error::file(path))
}

/// Opens a container, or a filter of another system, of which no keys are asked.
pub fn open_any(path: &Path) -> Result<Mapped> {
    foreign::open_said(path, &foreign::Said::default()).map(|(file, _)| file)
}

/// Opens a container of which only its own heavy keys are asked, to be weighed again: where it has some,
/// their hash must be known.
pub fn open_to_weigh(path: &Path) -> Result<Mapped> {
    weighed(path, open_as_is(path)?)
}

/// The same, or a filter of another system.
pub fn open_to_merge(path: &Path) -> Result<Mapped> {
    let (file, origin) = foreign::open_said(path, &foreign::Said::default())?;
    origin.map_or(Ok(()), |origin| origin.check_converts(path))?;
    weighed(path, file)
}

fn weighed(path: &Path, container: Mapped) -> Result<Mapped> {
    if container.heavy().is_some() {
        container.params().common.hash.hashes_keys().map_err(Error::file(path))?;
    }
    Ok(container)
}

/// Opens several such containers.
pub fn open_all(paths: &[PathBuf]) -> Result<Vec<Mapped>> {
    paths.iter().map(|path| open_to_merge(path)).collect()
}
