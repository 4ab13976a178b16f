//! Which calls of the system are watched, and what they do to a folder.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use libc::{c_int, c_long, pid_t};

use crate::arch::Registers;

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Open,
    Read,
    Write,
    Sync,
    Rename,
    Link,
    Unlink,
    Truncate,
    Mkdir,
    Mode,
    Lock,
    /// Whether something is there, and what it is.
    Look,
    /// What nobody here knows how to let fail, or to follow: its use is an error of this harness.
    Unknown,
}

/// Where a call names its file.
#[derive(Debug, Clone, Copy)]
enum Named {
    /// By a descriptor.
    Descriptor(usize),
    /// By a path, relative to the working folder.
    Path(usize),
    /// By a path, relative to the folder of a descriptor.
    At(usize, usize),
}

use Kind::{Link, Lock, Mkdir, Mode, Open, Rename, Sync, Truncate, Unknown, Unlink, Write};
use Named::{At, Descriptor, Path as Plain};

/// Each call: its number and name, what it does, its file, and the second one.
#[rustfmt::skip]
const CALLS: &[(c_long, &str, Kind, Named, Option<Named>)] = &[
    (libc::SYS_open, "open", Open, Plain(0), None),
    (libc::SYS_openat, "openat", Open, At(0, 1), None),
    (libc::SYS_creat, "creat", Open, Plain(0), None),
    (libc::SYS_openat2, "openat2", Unknown, At(0, 1), None),
    (libc::SYS_read, "read", Kind::Read, Descriptor(0), None),
    (libc::SYS_pread64, "pread64", Kind::Read, Descriptor(0), None),
    (libc::SYS_write, "write", Write, Descriptor(0), None),
    (libc::SYS_pwrite64, "pwrite64", Write, Descriptor(0), None),
    (libc::SYS_writev, "writev", Write, Descriptor(0), None),
    (libc::SYS_pwritev, "pwritev", Unknown, Descriptor(0), None),
    (libc::SYS_pwritev2, "pwritev2", Unknown, Descriptor(0), None),
    (libc::SYS_copy_file_range, "copy_file_range", Unknown, Descriptor(2), None),
    (libc::SYS_sendfile, "sendfile", Unknown, Descriptor(0), None),
    (libc::SYS_splice, "splice", Unknown, Descriptor(2), None),
    (libc::SYS_fallocate, "fallocate", Unknown, Descriptor(0), None),
    (libc::SYS_mmap, "mmap", Unknown, Descriptor(4), None),
    (libc::SYS_fsync, "fsync", Sync, Descriptor(0), None),
    (libc::SYS_fdatasync, "fdatasync", Sync, Descriptor(0), None),
    (libc::SYS_sync_file_range, "sync_file_range", Unknown, Descriptor(0), None),
    (libc::SYS_syncfs, "syncfs", Unknown, Descriptor(0), None),
    (libc::SYS_rename, "rename", Rename, Plain(0), Some(Plain(1))),
    (libc::SYS_renameat, "renameat", Rename, At(0, 1), Some(At(2, 3))),
    (libc::SYS_renameat2, "renameat2", Rename, At(0, 1), Some(At(2, 3))),
    (libc::SYS_link, "link", Link, Plain(0), Some(Plain(1))),
    (libc::SYS_linkat, "linkat", Link, At(0, 1), Some(At(2, 3))),
    (libc::SYS_symlink, "symlink", Unknown, Plain(1), None),
    (libc::SYS_symlinkat, "symlinkat", Unknown, At(1, 2), None),
    (libc::SYS_unlink, "unlink", Unlink, Plain(0), None),
    (libc::SYS_unlinkat, "unlinkat", Unlink, At(0, 1), None),
    (libc::SYS_rmdir, "rmdir", Unlink, Plain(0), None),
    (libc::SYS_truncate, "truncate", Unknown, Plain(0), None),
    (libc::SYS_ftruncate, "ftruncate", Truncate, Descriptor(0), None),
    (libc::SYS_mkdir, "mkdir", Mkdir, Plain(0), None),
    (libc::SYS_mkdirat, "mkdirat", Mkdir, At(0, 1), None),
    (libc::SYS_chmod, "chmod", Mode, Plain(0), None),
    (libc::SYS_fchmod, "fchmod", Mode, Descriptor(0), None),
    (libc::SYS_fchmodat, "fchmodat", Mode, At(0, 1), None),
    (libc::SYS_statx, "statx", Kind::Look, At(0, 1), None),
    (libc::SYS_newfstatat, "newfstatat", Kind::Look, At(0, 1), None),
    (libc::SYS_readlink, "readlink", Kind::Look, Plain(0), None),
    (libc::SYS_getdents64, "getdents64", Kind::Look, Descriptor(0), None),
    (libc::SYS_flock, "flock", Lock, Descriptor(0), None),
];

/// The numbers of all watched calls.
pub fn numbers() -> Vec<c_long> {
    CALLS.iter().map(|(number, ..)| *number).collect()
}

/// A call on something below the folder, as it begins.
#[derive(Debug, Clone)]
pub struct Call {
    pub name: &'static str,
    pub kind: Kind,
    /// Its file, below the folder.
    pub path: PathBuf,
    /// The second one, of those that have two.
    pub other: Option<PathBuf>,
    pub what: What,
}

/// What a call needs for its effect to be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Of an open: its flags; and of one that has ended, the file.
    Flags(c_int, Option<u64>),
    /// Of a write: the file, where to, and what.
    Bytes(u64, u64, Vec<u8>),
    /// Of a truncation: the file, and to which length.
    Length(u64, u64),
    /// The file of a descriptor.
    File(u64),
    Nothing,
}

/// By which a call is known in another run: its name, its file and its turn among those. Threads take turns, so
/// that a number among all calls would be another one's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    name: &'static str,
    path: String,
    turn: usize,
}

/// Gives calls their keys, in the order in which they come.
#[derive(Debug, Default)]
pub struct Keys(HashMap<(&'static str, String), usize>);

impl Keys {
    pub fn next(&mut self, call: &Call) -> Key {
        let path = lasting(&call.path);
        let turn = self.0.entry((call.name, path.clone())).or_default();
        *turn += 1;
        Key { name: call.name, path, turn: *turn }
    }
}

/// A path with other names for what has a random one.
fn lasting(path: &Path) -> String {
    let part = |part: &str| match part {
        part if part.starts_with(".tamis-") && part.len() == ".tamis-xxxxxx.tmp".len() => "(draft)".into(),
        part if part.starts_with(".tmp") => "(temporary)".into(),
        part if part.starts_with('#') => "(unnamed)".into(),
        part => part.to_owned(),
    };
    path.iter().map(|name| part(&name.to_string_lossy())).collect::<Vec<_>>().join("/")
}

impl Call {
    /// Whether it may make a file, or empties one.
    pub fn changes(&self) -> bool {
        match self.what {
            What::Flags(flags, _) => flags & (libc::O_CREAT | libc::O_TRUNC) != 0,
            _ => !matches!(self.kind, Kind::Read | Lock | Kind::Look),
        }
    }

    /// How many bytes it reads or writes, if it can do less in one go.
    pub fn length(&self) -> u64 {
        match &self.what {
            What::Bytes(_, _, bytes) if self.name != "writev" => bytes.len() as u64,
            _ if self.kind == Kind::Read => u64::MAX,
            _ => 0,
        }
    }

    /// The same with what is known at its end.
    pub fn ended(mut self, process: pid_t, result: i64) -> Call {
        if let What::Flags(_, file) = &mut self.what {
            *file = fs::metadata(format!("/proc/{process}/fd/{result}")).ok().map(|file| file.ino());
        }
        self
    }

    /// The call that a thread begins; none where it is not about this folder.
    pub fn of(process: pid_t, registers: &Registers, folder: &Path) -> io::Result<Option<Call>> {
        let Some((_, name, kind, first, second)) =
            CALLS.iter().find(|(number, ..)| *number == registers.number())
        else {
            return Ok(None);
        };
        let arguments = registers.arguments();
        if *name == "mmap" && !is_written_by_map(&arguments) {
            return Ok(None);
        }
        let tracee = Tracee { process, folder };
        let named = |named: &Named| tracee.path(*named, &arguments);
        let Some(path) = named(first)? else { return Ok(None) };
        let other = second.as_ref().map(named).transpose()?.flatten();
        let what = tracee.what(name, *kind, &arguments)?;
        Ok(Some(Call { name, kind: *kind, path, other, what }))
    }
}

/// Whether a map writes to its file.
fn is_written_by_map(arguments: &[u64; 6]) -> bool {
    let shared =
        arguments[3] as c_int & libc::MAP_SHARED != 0 && arguments[3] as c_int & libc::MAP_PRIVATE == 0;
    shared && arguments[2] as c_int & libc::PROT_WRITE != 0
}

/// A process that has stopped, seen through `/proc`.
struct Tracee<'f> {
    process: pid_t,
    folder: &'f Path,
}

impl Tracee<'_> {
    fn proc(&self, rest: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{rest}", self.process))
    }

    /// Where a name leads; none where that is not below the folder. The folder itself is `.`.
    fn path(&self, named: Named, arguments: &[u64; 6]) -> io::Result<Option<PathBuf>> {
        let descriptor = |place: usize| match arguments[place] as c_int {
            libc::AT_FDCWD => fs::read_link(self.proc("cwd")),
            number => fs::read_link(self.proc(&format!("fd/{number}"))),
        };
        let path = match named {
            Descriptor(place) => match descriptor(place) {
                Ok(path) => path,
                Err(_) => return Ok(None), // not open, or no file: the call will say so
            },
            Plain(place) => fs::read_link(self.proc("cwd"))?.join(self.text(arguments[place])?),
            At(folder, place) => {
                let text = self.text(arguments[place])?;
                if text.is_absolute() { text } else { descriptor(folder)?.join(text) }
            }
        };
        // So a file without a name is given one.
        let open = path.strip_prefix("/proc/self").ok().filter(|path| path.starts_with("fd"));
        let path = match open {
            Some(open) => fs::read_link(self.proc(&open.to_string_lossy()))?,
            None => path,
        };
        let mut plain = PathBuf::new();
        for part in path.components() {
            match part {
                Component::ParentDir => drop(plain.pop()),
                Component::CurDir => {}
                part => plain.push(part),
            }
        }
        let below = plain.strip_prefix(self.folder).ok();
        Ok(below.map(|below| if below == Path::new("") { ".".into() } else { below.to_owned() }))
    }

    fn what(&self, name: &str, kind: Kind, arguments: &[u64; 6]) -> io::Result<What> {
        Ok(match kind {
            Open if name == "creat" => What::Flags(libc::O_CREAT | libc::O_TRUNC | libc::O_WRONLY, None),
            Open => What::Flags(arguments[if name == "open" { 1 } else { 2 }] as c_int, None),
            Write => {
                let bytes = match name {
                    "writev" => self.pieces(arguments[1], arguments[2])?,
                    _ => self.bytes(arguments[1], arguments[2])?,
                };
                let (file, place) = self.position(arguments[0])?;
                What::Bytes(file, if name == "pwrite64" { arguments[3] } else { place }, bytes)
            }
            Truncate => What::Length(self.position(arguments[0])?.0, arguments[1]),
            Sync => What::File(self.position(arguments[0])?.0),
            Link => {
                let source = self.text(arguments[usize::from(name == "linkat")])?;
                match source.strip_prefix("/proc/self/fd") {
                    Ok(open) => {
                        What::File(self.position(open.to_string_lossy().parse().unwrap_or(u64::MAX))?.0)
                    }
                    Err(_) => What::Nothing,
                }
            }
            _ => What::Nothing,
        })
    }

    /// The number of the file of a descriptor, and where it is written next.
    fn position(&self, descriptor: u64) -> io::Result<(u64, u64)> {
        let file = fs::metadata(self.proc(&format!("fd/{descriptor}")))?;
        let info = fs::read_to_string(self.proc(&format!("fdinfo/{descriptor}")))?;
        let field = |name: &str| {
            info.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0").trim().to_owned()
        };
        let flags = c_int::from_str_radix(&field("flags:"), 8).unwrap_or(0);
        let place = if flags & libc::O_APPEND != 0 { file.len() } else { field("pos:").parse().unwrap_or(0) };
        Ok((file.ino(), place))
    }

    fn bytes(&self, place: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length as usize];
        fs::File::open(self.proc("mem"))?.read_exact_at(&mut bytes, place)?;
        Ok(bytes)
    }

    fn pieces(&self, place: u64, count: u64) -> io::Result<Vec<u8>> {
        let list = self.bytes(place, 16 * count)?;
        let number = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
        let mut all = Vec::new();
        for piece in list.chunks_exact(16) {
            all.extend(self.bytes(number(&piece[..8]), number(&piece[8..]))?);
        }
        Ok(all)
    }

    /// A text that ends with a zero, in pieces: memory may end right after it.
    fn text(&self, place: u64) -> io::Result<PathBuf> {
        let memory = fs::File::open(self.proc("mem"))?;
        let (mut text, mut piece) = (Vec::new(), [0; 256]);
        loop {
            let read = memory.read_at(&mut piece, place + text.len() as u64)?;
            let end = piece[..read].iter().position(|byte| *byte == 0);
            text.extend_from_slice(&piece[..end.unwrap_or(read)]);
            if end.is_some() || read == 0 {
                return Ok(OsString::from_vec(text).into());
            }
        }
    }
}

/// The whole of a small file, whatever its size says.
pub fn slurp(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = fs::File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    bytes
}
