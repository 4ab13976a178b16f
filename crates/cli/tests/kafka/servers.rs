//! The processes of real brokers, which are killed and started again.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use crate::support::{Dice, until};

/// How many there are.
pub const BROKERS: u64 = 3;

/// What `./cluster env kafka` says.
pub fn setting(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is missing: eval \"$(./cluster env kafka)\""))
}

fn process(broker: u64) -> Option<String> {
    let path = format!("{}/broker{broker}.pid", setting("TAMIS_KAFKA_HOME"));
    let pid = fs::read_to_string(path).ok()?.trim().to_owned();
    // One that nobody has waited for is still listed.
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    (!status.contains("State:\tZ")).then_some(pid)
}

/// Ends a broker as a failure of its machine would.
pub fn kill(broker: u64) {
    let pid = process(broker).expect("the broker runs");
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    until("the end of the broker", || process(broker).is_none().then_some(()));
}

/// Starts those that do not run, and waits until all take part.
pub fn start() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let done =
        Command::new("./cluster").args(["up", "kafka"]).current_dir(root).stdout(Stdio::null()).status();
    assert!(done.unwrap().success(), "the brokers do not start");
}

/// Kills one broker after the other, and starts each again, while something is done; how often.
pub fn restless<T>(seed: u64, done: impl FnOnce(&AtomicU32) -> T) -> (u32, T) {
    let (kills, end) = (AtomicU32::new(0), AtomicBool::new(false));
    /// However the other thread ends, this one does, and all brokers run again.
    struct End<'a>(&'a AtomicBool);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(true, SeqCst);
        }
    }
    let done = thread::scope(|scope| {
        scope.spawn(|| {
            let mut dice = Dice(seed);
            while !end.load(SeqCst) {
                let broker = 1 + u64::from(kills.load(SeqCst)) % BROKERS;
                kill(broker);
                kills.fetch_add(1, SeqCst);
                thread::sleep(Duration::from_millis(500 + dice.below(4000)));
                start();
                // Replicas catch up meanwhile: with two of three away, nothing could be written.
                thread::sleep(Duration::from_millis(1500 + dice.below(1500)));
            }
        });
        let _end = End(&end);
        done(&kills)
    });
    (kills.load(SeqCst), done)
}
