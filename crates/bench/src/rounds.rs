//! Measuring in rounds: every contestant once in each, so that what disturbs the machine
//! disturbs all alike.

use rustix::time::{ClockId, clock_gettime};

use crate::contestants::{Contestant, Takes};

/// Keys that a contestant inserts or looks up in a round, at most.
const ROUND: u64 = 4_000_000;

/// Rounds, at least.
const ROUNDS: u64 = 15;

/// Keys outside the set with which the rate is measured.
const STRANGERS: u64 = 1_000_000;

/// What was measured of a contestant; times in ns per key.
#[derive(Debug, Clone)]
pub struct Measured {
    pub name: &'static str,
    pub bits_per_key: f64,
    pub rate: f64,
    pub insert: f64,
    pub hit: f64,
    pub miss: f64,
    /// Every time, round by round: inserts, hits, misses.
    pub rounds: [Vec<f64>; 3],
}

/// What was measured on: the processor, its cores, its vectors, and how busy the machine is.
pub fn machine() -> String {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let field = |name| {
        let line = cpu.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split(": ").nth(1)).unwrap_or("unknown")
    };
    let vectors =
        ["avx512vl", "avx2"].into_iter().find(|name| field("flags").split(' ').any(|flag| flag == *name));
    format!(
        "{}, family {} model {}, {} cores, {}; load {}",
        field("model name"),
        field("cpu family"),
        field("model\t"),
        std::thread::available_parallelism().map_or(1, usize::from),
        vectors.unwrap_or("no vectors that are used"),
        read("/proc/loadavg").split(' ').next().unwrap_or_default()
    )
}

/// Less time than the other.
pub const AHEAD: f64 = 1.0;

/// How a target was met: in this share of the time of another, of which it may take this much.
pub fn verdict(what: &str, ratio: f64, other: &str, most: f64) -> String {
    let ahead = most == AHEAD;
    let met = if ahead { ratio < AHEAD } else { ratio <= most };
    let target = if ahead { "ahead".into() } else { format!("at most {most:.2}") };
    let met = if met { "met" } else { "missed" };
    format!("{what} in {ratio:.2} of the time of {other} (target: {target}): {met}")
}

pub fn print_verdicts(verdicts: &[String]) {
    println!("Targets:");
    verdicts.iter().for_each(|verdict| println!("  {verdict}"));
}

/// The middle one of some times.
pub fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[middle],
        _ => 0.5 * (sorted[middle - 1] + sorted[middle]),
    }
}

/// The time of this thread's own work: what other programs take of the processor in between
/// is not counted, what they take of its caches and of memory is.
fn own_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

pub fn ns_per_key(keys: u64, work: impl FnOnce()) -> f64 {
    let start = own_time();
    work();
    (own_time() - start) / keys as f64
}

/// Measures all contestants with this many keys.
pub fn measure(contestants: &mut [Box<dyn Contestant>], keys: u64) -> Vec<Measured> {
    let mut rounds: Vec<[Vec<f64>; 3]> = vec![Default::default(); contestants.len()];

    // Static filters: as often as there is time for.
    for _ in 0..(20_000_000 / keys).clamp(1, 5) {
        for (contestant, rounds) in contestants.iter_mut().zip(&mut rounds) {
            if contestant.takes() == Takes::All {
                contestant.start(keys);
                rounds[0].push(ns_per_key(keys, || contestant.insert(0..keys)));
            }
        }
    }

    // The others: a filter is begun again when it is full.
    let slice = keys.min(ROUND);
    let slices = keys.div_ceil(slice);
    for round in 0..ROUNDS.next_multiple_of(slices) {
        let from = round % slices * slice;
        let numbers = from..keys.min(from + slice);
        for (contestant, rounds) in contestants.iter_mut().zip(&mut rounds) {
            if contestant.takes() == Takes::Some {
                if from == 0 {
                    contestant.start(keys);
                }
                let count = numbers.end - numbers.start;
                rounds[0].push(ns_per_key(count, || contestant.insert(numbers.clone())));
            }
        }
    }

    for round in 0..ROUNDS {
        let from = round * slice % (keys - slice + 1);
        for (contestant, rounds) in contestants.iter_mut().zip(&mut rounds) {
            let mut count = 0;
            rounds[1].push(ns_per_key(slice, || count = contestant.count(from..from + slice)));
            assert_eq!(count, slice, "{} lost keys", contestant.name());
            let strangers = keys + round * slice..keys + (round + 1) * slice;
            rounds[2].push(ns_per_key(slice, || count = contestant.count(strangers)));
        }
    }

    let end = u64::MAX / 2;
    let results = contestants.iter_mut().zip(rounds);
    results
        .map(|(contestant, rounds)| Measured {
            name: contestant.name(),
            bits_per_key: contestant.bits() as f64 / keys as f64,
            rate: contestant.count(end..end + STRANGERS) as f64 / STRANGERS as f64,
            insert: median(&rounds[0]),
            hit: median(&rounds[1]),
            miss: median(&rounds[2]),
            rounds,
        })
        .collect()
}
