//! A run of the program, of which each call below a folder is seen, and one may fail.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use libc::{c_int, pid_t};

use crate::arch::{self, Registers, Stop, Until};
use crate::calls::{self, Call, Key, Keys, Kind};
use crate::folder::Folder;

/// What befalls a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// It fails with this error, and does nothing.
    Error(Errno),
    /// It does less than was asked: one byte, or half.
    Short(Less),
    /// The disk is full from here on: half of it, and then nothing more is written or made.
    Full,
    /// The process ends before it.
    KillBefore,
    /// The process ends after it.
    KillAfter,
    /// The process ends after half of it.
    KillHalf,
}

/// An error of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Errno {
    Io,
    NoSpace,
    Interrupted,
}

/// How much of a write or a read is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Less {
    OneByte,
    Half,
}

impl Errno {
    fn number(self) -> c_int {
        match self {
            Errno::Io => libc::EIO,
            Errno::NoSpace => libc::ENOSPC,
            Errno::Interrupted => libc::EINTR,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Error(Errno::Io) => "EIO",
            Fault::Error(Errno::NoSpace) => "ENOSPC",
            Fault::Error(Errno::Interrupted) => "EINTR",
            Fault::Short(_) => "short",
            Fault::Full => "full disk",
            Fault::KillBefore => "killed before",
            Fault::KillAfter => "killed after",
            Fault::KillHalf => "killed half-way",
        })
    }
}

impl Fault {
    /// All that may befall this call.
    pub fn of(call: &Call) -> Vec<Fault> {
        let [io, no_space, interrupted] = [Errno::Io, Errno::NoSpace, Errno::Interrupted].map(Fault::Error);
        if call.kind == Kind::Look {
            return vec![io];
        }
        let mut faults = vec![io, interrupted];
        if call.changes() {
            faults.extend([no_space, Fault::KillBefore, Fault::KillAfter]);
        }
        if call.length() > 1 {
            faults.push(Fault::Short(Less::OneByte));
        }
        if call.kind == Kind::Write && call.length() > 2 {
            faults.extend([Fault::Short(Less::Half), Fault::KillHalf]);
        }
        if call.changes() && matches!(call.kind, Kind::Write | Kind::Open | Kind::Mkdir) {
            faults.push(Fault::Full);
        }
        faults
    }

    /// Whether the process does not survive it.
    pub fn kills(self) -> bool {
        matches!(self, Fault::KillBefore | Fault::KillAfter | Fault::KillHalf)
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Exit(c_int),
    Signal(c_int),
}

/// A run that is over.
#[derive(Debug)]
pub struct Ran {
    pub end: End,
    /// The call that the fault befell, if it came.
    pub hit: Option<Call>,
    /// All calls that were made, with their results, where they were asked for.
    pub calls: Vec<(Call, i64)>,
    /// What was said on standard error.
    pub said: String,
}

/// Where and how the program runs.
pub struct Stage<'p> {
    pub program: &'p Path,
    /// The working folder, by its real name; calls below it are seen.
    pub folder: &'p Path,
    /// A file elsewhere, for standard error.
    pub notes: &'p Path,
    /// What is there when a job with a state begins, made at this place: states know the names of their inputs.
    pub begun: RefCell<HashMap<&'static str, Folder>>,
}

/// What a run is traced for.
#[derive(Debug, Clone, Copy)]
pub enum Aim<'a> {
    /// To see all calls.
    Record,
    /// To let this befall the call of this key.
    Fault(&'a Key, Fault),
}

impl Stage<'_> {
    fn command(&self, line: &str) -> io::Result<Command> {
        let mut command = Command::new(self.program);
        command
            .args(line.split_whitespace())
            .current_dir(self.folder)
            .env("TMPDIR", self.folder.join("tmp"))
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(File::create(self.folder.join(crate::folder::STDOUT))?)
            .stderr(File::create(self.notes)?);
        Ok(command)
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&calls::slurp(self.notes)).into_owned()
    }

    /// Runs the program in peace.
    pub fn run(&self, line: &str) -> io::Result<Ran> {
        use std::os::unix::process::ExitStatusExt;
        let status = self.command(line)?.status()?;
        let end = match status.code() {
            Some(code) => End::Exit(code),
            None => End::Signal(status.signal().unwrap_or(0)),
        };
        Ok(Ran { end, hit: None, calls: Vec::new(), said: self.said() })
    }

    /// Runs it under a trace.
    pub fn trace(&self, line: &str, aim: Aim<'_>) -> io::Result<Ran> {
        let mut command = self.command(line)?;
        let child = arch::start(&mut command, &calls::numbers())?;
        let process = child.id() as pid_t;
        let mut trace = Trace {
            process,
            folder: self.folder.to_owned(),
            aim,
            keys: Keys::default(),
            full: false,
            hit: None,
            pending: HashMap::new(),
            calls: Vec::new(),
        };
        arch::go_on(process, Until::NextCall, 0)?;
        let end = loop {
            let (thread, stop) = arch::wait()?;
            match stop {
                Stop::Exited(code) if thread == process => break End::Exit(code),
                Stop::Killed(signal) if thread == process => break End::Signal(signal),
                Stop::Exited(_) | Stop::Killed(_) => {}
                // A thread that is ended meanwhile does not answer; its end is told next.
                stop => drop(trace.stopped(thread, stop)),
            }
        };
        let Trace { hit, calls, .. } = trace;
        Ok(Ran { end, hit, calls, said: self.said() })
    }
}

/// A run under way.
struct Trace<'f> {
    process: pid_t,
    folder: PathBuf,
    aim: Aim<'f>,
    keys: Keys,
    /// Whether the disk is full by now.
    full: bool,
    hit: Option<Call>,
    /// Calls whose end is waited for, by thread.
    pending: HashMap<pid_t, Call>,
    calls: Vec<(Call, i64)>,
}

impl Trace<'_> {
    fn stopped(&mut self, thread: pid_t, stop: Stop) -> io::Result<()> {
        match stop {
            Stop::Call => {
                let until = self.begun(thread)?;
                arch::go_on(thread, until, 0)
            }
            Stop::EndOfCall => {
                if let Some(call) = self.pending.remove(&thread) {
                    match self.aim {
                        Aim::Record => {
                            let result = Registers::of(thread)?.result();
                            self.calls.push((call.ended(thread, result), result));
                        }
                        Aim::Fault(..) => arch::kill(self.process),
                    }
                }
                arch::go_on(thread, Until::NextCall, 0)
            }
            Stop::Signal(signal) => arch::go_on(thread, Until::NextCall, signal),
            _ => arch::go_on(thread, Until::NextCall, 0),
        }
    }

    /// A call begins: it is noted, or changed.
    fn begun(&mut self, thread: pid_t) -> io::Result<Until> {
        let mut registers = Registers::of(thread)?;
        let Some(call) = Call::of(thread, &registers, &self.folder)? else { return Ok(Until::NextCall) };
        let key = self.keys.next(&call);
        let (at, fault) = match self.aim {
            Aim::Record => {
                self.pending.insert(thread, call);
                return Ok(Until::EndOfCall);
            }
            Aim::Fault(at, fault) => (at, fault),
        };
        if self.full && call.changes() && matches!(call.kind, Kind::Write | Kind::Open | Kind::Mkdir) {
            registers.fail(libc::ENOSPC);
            registers.set(thread)?;
        }
        if self.hit.is_some() || key != *at || !Fault::of(&call).contains(&fault) {
            return Ok(Until::NextCall);
        }
        let half = call.length() / 2;
        let mut until = Until::NextCall;
        match fault {
            Fault::Error(errno) => registers.fail(errno.number()),
            Fault::Short(Less::OneByte) => registers.set_length(1),
            Fault::Short(Less::Half) => registers.set_length(half),
            Fault::Full => {
                self.full = true;
                match half {
                    0 => registers.fail(libc::ENOSPC),
                    half => registers.set_length(half),
                }
            }
            Fault::KillBefore => arch::kill(self.process),
            Fault::KillAfter | Fault::KillHalf => {
                if fault == Fault::KillHalf {
                    registers.set_length(half);
                }
                self.pending.insert(thread, call.clone());
                until = Until::EndOfCall;
            }
        }
        self.hit = Some(call);
        if fault != Fault::KillBefore {
            registers.set(thread)?;
        }
        Ok(until)
    }
}

/// Whether calls can be seen on this machine: some forbid it.
pub fn is_possible() -> bool {
    fs::metadata("/proc/self/mem").is_ok()
        && arch::start(Command::new("true").stdout(Stdio::null()), &calls::numbers()).is_ok_and(|child| {
            arch::kill(child.id() as pid_t);
            arch::wait().is_ok()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell does what no file should be written with: nothing is made whole, and nothing is synced.
    #[test]
    fn every_call_of_a_program_is_seen_and_one_of_them_fails() {
        if !is_possible() {
            return;
        }
        let base = std::env::temp_dir().join(format!("tamis-faults-test-{}", std::process::id()));
        fs::create_dir_all(base.join("folder")).unwrap();
        let base = fs::canonicalize(base).unwrap();
        fs::write(base.join("folder/script"), "echo one > a || exit 3; echo two >> a\n").unwrap();
        let (folder, notes) = (base.join("folder"), base.join("notes"));
        let stage = Stage {
            program: Path::new("/bin/sh"),
            folder: &folder,
            notes: &notes,
            begun: RefCell::default(),
        };
        let ran = stage.trace("script", Aim::Record).unwrap();
        let calls: Vec<_> =
            ran.calls.iter().filter(|(call, _)| call.path == Path::new("a") && call.changes()).collect();
        let kinds: Vec<Kind> = calls.iter().map(|(call, _)| call.kind).collect();
        assert_eq!(
            (ran.end, &*kinds),
            (End::Exit(0), &[Kind::Open, Kind::Write, Kind::Open, Kind::Write][..])
        );
        assert_eq!(fs::read(folder.join("a")).unwrap(), b"one\ntwo\n");

        let mut keys = Keys::default();
        let keys: Vec<Key> = calls.iter().map(|(call, _)| keys.next(call)).collect();
        let fault = |key: usize, fault| {
            let ran = stage.trace("script", Aim::Fault(&keys[key], fault)).unwrap();
            assert!(ran.hit.is_some());
            (ran.end, fs::read(folder.join("a")).unwrap())
        };
        assert_eq!(fault(1, Fault::Error(Errno::NoSpace)).0, End::Exit(3));
        assert_eq!(fault(1, Fault::KillBefore), (End::Signal(libc::SIGKILL), b"".into()));
        assert_eq!(fault(1, Fault::KillHalf), (End::Signal(libc::SIGKILL), b"on".into()));
        assert_eq!(fault(2, Fault::KillAfter), (End::Signal(libc::SIGKILL), b"one\n".into()));
        assert_eq!(fault(3, Fault::KillAfter), (End::Signal(libc::SIGKILL), b"one\ntwo\n".into()));
        fs::remove_dir_all(base).unwrap();
    }
}
