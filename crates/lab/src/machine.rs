//! The machine on which something was measured.

use std::fs;

use tamis_make::{number, parallel};

/// The machine in a few words: what it says of itself, where it says something.
pub fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut parts = vec![number::counted(parallel::default_threads() as u64, "core")];
    parts.extend(processor(&read("/proc/cpuinfo")));
    parts.extend(memory(&read("/proc/meminfo")));
    parts.push(format!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
    parts.join(", ")
}

/// How busy it was: the processes that wanted a core, on average over a minute.
pub fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// The name of the processor in what Linux tells.
fn processor(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    let name = line.split_once(':')?.1.split_whitespace().collect::<Vec<_>>().join(" ");
    (!name.is_empty()).then_some(name)
}

/// The memory in what Linux tells.
fn memory(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(format!("{} of memory", number::bytes(kilobytes.checked_mul(1024)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linux_tells_is_understood_and_what_it_does_not_is_left_out() {
        let cpu = "processor\t: 0\nmodel name\t: AMD  EPYC 7B13\n";
        assert_eq!(processor(cpu).as_deref(), Some("AMD EPYC 7B13"));
        assert_eq!(processor("model name\t:\n"), None);
        assert_eq!(memory("MemTotal:       24612345 kB\n").as_deref(), Some("25.2 GB of memory"));
        assert_eq!(memory("MemFree: 1 kB\n"), None);
        assert!(machine().contains(std::env::consts::ARCH));
    }
}
