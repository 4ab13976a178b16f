//! The one room of unsafe code: a child whose calls of the system stop it, so that they can be seen and changed.
//!
//! The child asks to be traced and gives itself a filter of calls (seccomp) before it becomes the program; each
//! call on the list then stops it, by whichever way the program makes it, and no other call costs anything.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use libc::{c_int, c_long, pid_t};

/// Seconds after which a program that hangs is ended by the system.
const PATIENCE: u32 = 120;

/// The registers of a thread that has stopped at a call.
pub struct Registers(libc::user_regs_struct);

impl Registers {
    /// Of this thread.
    pub fn of(thread: pid_t) -> io::Result<Registers> {
        // SAFETY: plain numbers, of which zeros are a value.
        let mut found: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel writes one such struct to the place given.
        done(unsafe { libc::ptrace(libc::PTRACE_GETREGS, thread, 0usize, &raw mut found) })?;
        Ok(Registers(found))
    }

    /// Gives them to the thread.
    pub fn set(&self, thread: pid_t) -> io::Result<()> {
        // SAFETY: the kernel reads one such struct from the place given.
        done(unsafe { libc::ptrace(libc::PTRACE_SETREGS, thread, 0usize, &raw const self.0) })
    }

    /// The number of the call.
    pub fn number(&self) -> c_long {
        self.0.orig_rax as c_long
    }

    /// Its arguments.
    pub fn arguments(&self) -> [u64; 6] {
        [self.0.rdi, self.0.rsi, self.0.rdx, self.0.r10, self.0.r8, self.0.r9]
    }

    /// What it gave back.
    pub fn result(&self) -> i64 {
        self.0.rax as i64
    }

    /// Has the call not be made, and fail with this error.
    pub fn fail(&mut self, errno: c_int) {
        self.0.orig_rax = u64::MAX;
        self.0.rax = i64::from(-errno) as u64;
    }

    /// Sets the third argument: the length of what is read or written.
    pub fn set_length(&mut self, length: u64) {
        self.0.rdx = length;
    }
}

/// How a thread goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Until it is stopped again at the beginning of a call.
    NextCall,
    /// Until the end of this call.
    EndOfCall,
}

/// What has come to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It begins a call of the list.
    Call,
    /// It has ended a call.
    EndOfCall,
    /// A signal is on its way to it.
    Signal(c_int),
    /// It has become another program, has a new thread, or is one.
    Other,
    /// It has ended with this exit code.
    Exited(c_int),
    /// It was ended by this signal.
    Killed(c_int),
}

/// Starts a program that stops at these calls. It is stopped at its beginning.
pub fn start(command: &mut Command, calls: &[c_long]) -> io::Result<Child> {
    let filter = filter(calls);
    let prepare = move || {
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
        // SAFETY: none of these allocates or takes a lock; the filter outlives the calls.
        unsafe {
            libc::alarm(PATIENCE);
            done(libc::ptrace(libc::PTRACE_TRACEME, 0, 0usize, 0usize))?;
            done(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())?;
            done(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program).into())
        }
    };
    // SAFETY: what runs between fork and exec makes calls of the system alone.
    let child = unsafe { command.pre_exec(prepare) }.spawn()?;
    let thread = child.id() as pid_t;
    wait_for(thread)?;
    let options = libc::PTRACE_O_TRACESECCOMP
        | libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_EXITKILL;
    // SAFETY: takes numbers alone.
    done(unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, thread, 0usize, options as usize) })?;
    Ok(child)
}

/// A filter that lets the tracer see these calls, and all others pass.
fn filter(calls: &[c_long]) -> Vec<libc::sock_filter> {
    let say = |code: u32, jt: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf: 0, k };
    let mut filter = vec![say(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)];
    for (place, call) in calls.iter().enumerate() {
        let to_the_end = (calls.len() - place) as u8;
        filter.push(say(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, to_the_end, *call as u32));
    }
    filter.push(say(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW));
    filter.push(say(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_TRACE));
    filter
}

/// Lets a thread go on, with a signal that was on its way to it.
pub fn go_on(thread: pid_t, until: Until, signal: c_int) -> io::Result<()> {
    let request = match until {
        Until::NextCall => libc::PTRACE_CONT,
        Until::EndOfCall => libc::PTRACE_SYSCALL,
    };
    // SAFETY: takes numbers alone.
    done(unsafe { libc::ptrace(request, thread, 0usize, signal as usize) })
}

/// Ends a process at once.
pub fn kill(process: pid_t) {
    // SAFETY: takes numbers alone.
    unsafe { libc::kill(process, libc::SIGKILL) };
}

/// Waits for any thread of what this thread of ours has started.
pub fn wait() -> io::Result<(pid_t, Stop)> {
    wait_for(-1)
}

fn wait_for(thread: pid_t) -> io::Result<(pid_t, Stop)> {
    let mut status = 0;
    // Children of other threads of ours are left to these.
    let options = libc::__WALL | libc::__WNOTHREAD;
    let found = loop {
        // SAFETY: the kernel writes one number to the place given.
        match unsafe { libc::waitpid(thread, &raw mut status, options) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return Err(io::Error::last_os_error()),
            found => break found,
        }
    };
    let stop = if libc::WIFEXITED(status) {
        Stop::Exited(libc::WEXITSTATUS(status))
    } else if libc::WIFSIGNALED(status) {
        Stop::Killed(libc::WTERMSIG(status))
    } else {
        match (libc::WSTOPSIG(status), status >> 16) {
            (libc::SIGTRAP, libc::PTRACE_EVENT_SECCOMP) => Stop::Call,
            (signal, 0) if signal == libc::SIGTRAP | 0x80 => Stop::EndOfCall,
            // A new thread begins with a stop; a program, with a trap.
            (libc::SIGTRAP | libc::SIGSTOP, _) => Stop::Other,
            (signal, _) => Stop::Signal(signal),
        }
    };
    Ok((found, stop))
}

fn done(result: c_long) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
