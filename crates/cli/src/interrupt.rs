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
static MANNER: AtomicU8 = AtomicU8::new(Manner::Unknown as u8);
static SIGNAL: AtomicU8 = AtomicU8::new(INTERRUPT);

/// How what was asked for ends when it is asked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// The arguments are not read yet.
    Unknown,
    /// Soon, as a failure.
    Soon,
    /// Well, and in its own time; asked a second time, at once.
    Well,
}

impl Manner {
    fn is(self) -> bool {
        MANNER.load(Relaxed) == self as u8
    }

    /// From now on.
    pub fn set(self) {
        MANNER.store(self as u8, Relaxed);
    }
}

/// What a shell reports of a program that the signal ended: 130 after Ctrl-C, 143 after `kill`.
pub fn exit_code() -> u8 {
    128 + SIGNAL.load(Relaxed)
}

/// Listens from now on. To be called before anything else is done: what comes earlier just ends the program.
#[cfg(unix)]
pub fn listen() {
    use std::sync::Arc;
    use std::thread;
    use std::time::{Duration, Instant};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::flag;
    use signal_hook::iterator::Signals;

    /// How long a job may take to hear that it should stop.
    const GRACE: Duration = Duration::from_millis(500);

    /// Signals within this time are one: `timeout` sends its signal to the program, and again to the group
    /// that the program is in.
    const ONE: Duration = Duration::from_secs(1);

    // Nobody reads this flag: a file that would be larger than is allowed (ulimit -f) ends the program no longer,
    // and the write fails like others.
    let _ = flag::register(SIGXFSZ, Arc::default());

    // What the program was started to ignore (Ctrl-C in the background jobs of scripts, the end of
    // a terminal under nohup) it goes on to ignore.
    let ignored = ignored();
    let heard = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let heard: Vec<_> = heard.collect();
    let Ok(mut signals) = Signals::new(&heard) else { return };
    let listener = thread::Builder::new().spawn(move || {
        let mut first: Option<Instant> = None;
        for signal in signals.forever() {
            SIGNAL.store(signal as u8, Relaxed);
            let again = first.is_some_and(|first| first.elapsed() > ONE);
            first = first.or(Some(Instant::now()));
            CONTROL.stop();
            if again || Manner::Soon.is() && !RUNNING.load(Relaxed) {
                end();
            }
            // What ends well is left to it: it may not run yet, or may be done and have to say so.
            let soon = thread::Builder::new().spawn(|| {
                thread::sleep(GRACE);
                if !Manner::Well.is() {
                    end()
                }
            });
            if soon.is_err() && !Manner::Well.is() {
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
pub fn run(job: &mut dyn FnMut(&Control)) {
    RUNNING.store(true, Relaxed);
    job(&CONTROL);
    RUNNING.store(false, Relaxed);
}

/// The same for one that ends well when it is asked to, and may need its time for it.
pub fn run_to_its_end(job: &mut dyn FnMut(&Control)) {
    Manner::Well.set();
    run(job);
}

#[cfg(unix)]
fn end() -> ! {
    leftovers::remove_all();
    show::error(Error::Interrupted);
    exit(exit_code().into())
}
