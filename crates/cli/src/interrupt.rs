//! Ctrl-C: a job is asked to stop and clean up. One that cannot hear it, because it waits for
//! input or for the disk, is ended soon after; nothing half-written is left either way.

use std::process::exit;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use tamis_engine::{Control, Error, leftovers};

use crate::show;

/// How long a job may take to hear that it should stop.
const GRACE: Duration = Duration::from_millis(500);

/// What a shell reports of a program that Ctrl-C ended.
pub const EXIT_CODE: u8 = 130;

/// The jobs of this process run one after the other; all of them obey this.
static CONTROL: LazyLock<Control> = LazyLock::new(Control::default);
static RUNNING: AtomicBool = AtomicBool::new(false);

/// Listens to Ctrl-C from now on.
pub fn listen() {
    let before = AtomicBool::new(false);
    // Where the program was started so that it ignores Ctrl-C, as the background jobs of scripts
    // are, it goes on to ignore it.
    let _ = ctrlc::try_set_handler(move || {
        if before.swap(true, Relaxed) || !RUNNING.load(Relaxed) {
            end();
        }
        CONTROL.stop();
        thread::spawn(|| {
            thread::sleep(GRACE);
            end()
        });
    });
}

/// Runs a job that listens.
pub fn run<T>(job: impl FnOnce(&Control) -> T) -> T {
    RUNNING.store(true, Relaxed);
    let result = job(&CONTROL);
    RUNNING.store(false, Relaxed);
    result
}

fn end() -> ! {
    leftovers::remove_all();
    show::error(Error::Interrupted);
    exit(EXIT_CODE.into())
}
