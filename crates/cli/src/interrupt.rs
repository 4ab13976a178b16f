//! Ctrl-C, `kill` and a closed terminal: a job is asked to stop and clean up. One that cannot hear
//! it, because it waits for input or for the disk, is ended soon after; nothing half-written is left
//! either way.

use std::process::exit;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

use tamis_make::leftovers;
use tamis_read::{Control, Error};

use crate::show;

/// The signal of Ctrl-C, which is the same everywhere.
const INTERRUPT: u8 = 2;

/// The jobs of this process run one after the other; all of them obey this.
static CONTROL: LazyLock<Control> = LazyLock::new(Control::default);
static RUNNING: AtomicBool = AtomicBool::new(false);
static PATIENT: AtomicBool = AtomicBool::new(false);
static SIGNAL: AtomicU8 = AtomicU8::new(INTERRUPT);

/// What a shell reports of a program that the signal ended: 130 after Ctrl-C, 143 after `kill`.
pub fn exit_code() -> u8 {
    128 + SIGNAL.load(Relaxed)
}

/// Listens from now on.
#[cfg(unix)]
pub fn listen() {
    use std::sync::Arc;
    use std::thread;
    use std::time::Duration;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    use signal_hook::iterator::Signals;

    /// How long a job may take to hear that it should stop.
    const GRACE: Duration = Duration::from_millis(500);

    // What the program was started to ignore (Ctrl-C in the background jobs of scripts, the end of
    // a terminal under nohup) it goes on to ignore.
    let ignored = ignored();
    let heard = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let heard: Vec<_> = heard.collect();
    let Ok(mut signals) = Signals::new(&heard) else { return };
    let listener = thread::Builder::new().spawn(move || {
        let mut before = false;
        for signal in signals.forever() {
            SIGNAL.store(signal as u8, Relaxed);
            if before || !RUNNING.load(Relaxed) {
                end();
            }
            before = true;
            CONTROL.stop();
            if PATIENT.load(Relaxed) {
                continue; // until the second signal
            }
            let soon = thread::Builder::new().spawn(|| {
                thread::sleep(GRACE);
                end()
            });
            if soon.is_err() {
                end();
            }
        }
    });
    if listener.is_err() {
        // Nobody would hear them: they end the program, as if it did not listen.
        for signal in heard {
            let _ = flag::register_conditional_default(signal, Arc::new(AtomicBool::new(true)));
        }
    }
}

/// The signals that the process ignores, the first in the lowest bit; none where that is not told.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Elsewhere the system ends the program.
#[cfg(not(unix))]
pub fn listen() {}

/// Runs a job that listens.
pub fn run<T>(job: impl FnOnce(&Control) -> T) -> T {
    RUNNING.store(true, Relaxed);
    let result = job(&CONTROL);
    RUNNING.store(false, Relaxed);
    result
}

/// The same for one that ends well when it is asked to, and may need its time for it; asked a
/// second time, it is ended at once.
pub fn run_to_its_end<T>(job: impl FnOnce(&Control) -> T) -> T {
    PATIENT.store(true, Relaxed);
    run(job)
}

#[cfg(unix)]
fn end() -> ! {
    leftovers::remove_all();
    show::error(Error::Interrupted);
    exit(exit_code().into())
}
