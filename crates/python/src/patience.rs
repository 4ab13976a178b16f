//! Long calls: without the interpreter lock, and with an ear for Ctrl-C.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use tamis_read::{Control, Error, NoThread};

use crate::errors::raised;

/// How often is looked whether a signal came.
const LOOK: Duration = Duration::from_millis(50);

/// Below this many rows (or bytes) a call is over before anyone could stop it.
const SHORT: u64 = 100_000;

/// How many hashes are taken to be the work of one row: a guess, by which a signal is looked for in time.
pub const OF_HASHES: u64 = 8;

/// Does a job of this many rows.
pub fn run<T: Send>(
    py: Python<'_>,
    rows: u64,
    work: impl FnOnce(&Control) -> tamis_read::Result<T> + Send,
) -> PyResult<T> {
    let control = &Control::default();
    if rows < SHORT {
        return py.detach(|| work(control)).map_err(raised);
    }
    // Signals are heard on the thread that called; so another one works.
    py.detach(|| {
        thread::scope(|threads| {
            let (send, receive) = channel();
            let begun = thread::Builder::new().spawn_scoped(threads, move || {
                let _ = send.send(work(control));
            });
            begun.map_err(|error| raised(NoThread(error).into()))?;
            let mut signal = None;
            loop {
                match receive.recv_timeout(LOOK) {
                    Ok(done) => return signal.map_or_else(|| done.map_err(raised), Err),
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
                            control.stop();
                            signal.get_or_insert(error);
                        }
                    }
                    // The thread panicked, which the end of the scope will tell.
                    Err(RecvTimeoutError::Disconnected) => return Err(raised(Error::Interrupted)),
                }
            }
        })
    })
}
