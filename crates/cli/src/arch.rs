//! What the program says when there is no memory for something small: the standard library ends it then with
//! SIGABRT, after a line about the bytes. The only room with unsafe code here.
//!
//! What is large is asked for in a way that can fail, and refused by name; this is for all the rest.
#![allow(unsafe_code)]

const MESSAGE: &[u8] =
    b"error: aborted, as happens when no memory is left: allow more (ulimit -v), or use fewer threads (--threads 1)\n";

/// Has the program end as a job that failed, with a message, in place of an abort.
#[cfg(unix)]
pub fn say_when_out_of_memory() {
    use std::os::fd::BorrowedFd;

    use signal_hook::consts::SIGABRT;
    use signal_hook::low_level::{exit, register};

    // A test that ends the program at a certain step does so by an abort, which is to stay one.
    if cfg!(debug_assertions) && std::env::var_os("TAMIS_TEST_END_AT").is_some() {
        return;
    }
    let say = || {
        // SAFETY: standard error is open for as long as the process lives, or the write fails.
        let stderr = unsafe { BorrowedFd::borrow_raw(2) };
        let _ = rustix::io::write(stderr, MESSAGE);
        exit(1);
    };
    // SAFETY: a write and an exit are all that is done, both of which may be done in a handler of signals.
    let _ = unsafe { register(SIGABRT, say) };
}

/// Elsewhere an abort stays one.
#[cfg(not(unix))]
pub fn say_when_out_of_memory() {}
