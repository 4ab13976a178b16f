//! Running whole commands, with their start, and watching them.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4;

/// What a run of a command took, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    /// By the clock.
    pub wall: f64,
    /// Of the processors, summed over threads.
    pub cpu: f64,
}

impl std::ops::Add for Took {
    type Output = Took;

    fn add(self, other: Took) -> Took {
        Took { wall: self.wall + other.wall, cpu: self.cpu + other.cpu }
    }
}

/// Runs a command to its end. Fails with what it said where it fails.
pub fn time(command: &mut Command) -> Result<Took, String> {
    let start = Instant::now();
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    let mut said = String::new();
    if let Some(mut pipe) = child.stderr.take() {
        let _ = std::io::Read::read_to_string(&mut pipe, &mut said);
    }
    let ended = child.wait4().map_err(|error| error.to_string())?;
    let wall = start.elapsed().as_secs_f64();
    if !ended.status.success() {
        return Err(format!("{command:?} failed: {said}"));
    }
    Ok(Took { wall, cpu: (ended.rusage.utime + ended.rusage.stime).as_secs_f64() })
}

/// The most memory, in bytes, that a command had of its own at any time: pages of files that
/// it maps are the system's, and can be taken back. Looked at every half millisecond.
pub fn peak_memory(command: &mut Command) -> Result<u64, String> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        if let Some(ended) = child.try_wait().map_err(|error| error.to_string())? {
            return if ended.success() { Ok(peak) } else { Err(format!("{command:?} failed")) };
        }
        if let Ok(text) = std::fs::read_to_string(&status) {
            peak = peak.max(kibibytes(&text, "RssAnon:") << 10);
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}

fn kibibytes(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The least of some times.
pub fn best(times: impl Iterator<Item = f64>) -> f64 {
    times.fold(f64::INFINITY, f64::min)
}
