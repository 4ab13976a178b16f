//! What it takes to build a static filter at one rate: time, and memory at its peak beside the filter. A `ribbon` is
//! built in two ways that give the same words: from hashes in memory, and from hashes that are read again and again,
//! of which only some are held.

use std::fs;

use serde_json::{Value, json};
use tamis::Error;
use tamis::fuse::{Fuse, width_for};
use tamis::memory::Words;
use tamis::ribbon::{Ribbon, Run, Solved, Supply, Widths, build_from, words_needed};
use tamis_make::number;
use tamis_report::{Column, Table};

use crate::contestants::{RATE, hash};
use crate::rounds::ns_per_key;

/// Hashes that are held at a time, about, where not all are.
const HELD: u64 = 8 << 20;

/// Megabytes beside the filter that building it may take then.
const MOST: f64 = 256.0;

/// Hashes that are given away at a time.
const PORTION: usize = 4096;

/// The hashes of this many keys, made again whenever they are asked for.
struct Made(u64);

impl Supply for Made {
    type Error = Error;

    fn read(&mut self, take: &mut (dyn FnMut(&[u64]) + Send)) -> Result<(), Error> {
        let mut hashes = [0; PORTION];
        for first in (0..self.0).step_by(PORTION) {
            let count = (self.0 - first).min(PORTION as u64);
            hashes.iter_mut().zip(first..first + count).for_each(|(to, number)| *to = hash(number));
            take(&hashes[..count as usize]);
        }
        Ok(())
    }

    fn work(&mut self, runs: Vec<Run>, work: &(dyn Fn(Run) -> Solved + Sync)) -> Result<Vec<Solved>, Error> {
        Ok(runs.into_iter().map(work).collect())
    }
}

/// What a build took: the words of the filter, ns per key, and megabytes at the peak beside those words.
struct Built {
    words: usize,
    digest: u64,
    ns: f64,
    memory: Option<f64>,
}

/// Megabytes of this process: now (`VmRSS`) or at most (`VmHWM`). None on systems that do not tell.
fn megabytes(field: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kib| kib / 1000.0 * 1.024)
}

fn measured<W: AsRef<[u64]>>(keys: u64, build: impl FnOnce() -> W) -> Built {
    // From here on, the peak is that of what follows.
    let before = fs::write("/proc/self/clear_refs", "5").ok().and_then(|()| megabytes("VmRSS"));
    let mut words = None;
    let ns = ns_per_key(keys, || words = Some(build()));
    let peak = megabytes("VmHWM");
    let words = words.expect("built");
    let words = words.as_ref();
    let digest = words
        .iter()
        .fold(0, |sum: u64, word| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
    let of_words = words.len() as f64 * 8e-6;
    let memory = before.zip(peak).map(|(before, peak)| (peak - before - of_words).max(0.0));
    Built { words: words.len(), digest, ns, memory }
}

/// Builds filters of these sizes.
pub fn run(sizes: &[u64], verdicts: &mut Vec<String>) -> Vec<Value> {
    let mut rows = Vec::new();
    let mut figures = Vec::new();
    for &keys in sizes {
        let hashes = || (0..keys).map(hash).collect::<Vec<u64>>();
        let width = width_for(RATE).expect("a usual rate");
        let widths = Widths::for_rate(RATE).expect("a usual rate");
        eprintln!("{keys} keys: fuse");
        let fuse = measured(keys, || Fuse::build(&mut hashes(), width).expect("distinct keys").into_words());
        eprintln!("{keys} keys: ribbon");
        let whole =
            measured(keys, || Ribbon::build(&mut hashes(), widths).expect("distinct keys").into_words());
        eprintln!("{keys} keys: ribbon, some hashes at a time");
        let some = measured(keys, || {
            let mut words = Words::new(words_needed(keys, widths).expect("a usual size")).expect("memory");
            build_from(&mut Made(keys), keys, widths, &mut words, HELD).expect("distinct keys");
            words
        });
        assert!(whole.digest == some.digest, "the two ways to build a ribbon differ");
        verdicts.extend(some.memory.map(|memory| {
            format!(
                "ribbon at {}, some hashes at a time: {memory:.0} MB beside the filter (target: at most {MOST}): {}",
                number::short(keys as f64),
                if memory <= MOST { "met" } else { "missed" }
            )
        }));
        for (name, built) in
            [("fuse, all hashes", fuse), ("ribbon, all hashes", whole), ("ribbon, some at a time", some)]
        {
            let bits = built.words as f64 * 64.0 / keys as f64;
            rows.push(vec![
                name.to_owned(),
                number::count(keys),
                format!("{bits:.3}"),
                format!("{:.1}", built.ns),
                built.memory.map_or("unknown".into(), |memory| format!("{memory:.0}")),
            ]);
            figures.push(json!({
                "name": name, "keys": keys, "bits_per_key": bits, "ns": built.ns, "megabytes": built.memory,
            }));
        }
    }
    let mut columns = vec![Column::left("built")];
    columns.extend(["keys", "bits/key", "ns per key", "MB beside the filter"].map(Column::right));
    let table = Table {
        caption: format!("builds at p = {RATE}, one thread"),
        columns,
        rows,
        notes: vec![format!(
            "Hashes in memory are among the megabytes. Some at a time are {}.",
            number::count(HELD)
        )],
    };
    println!("{}", table.text());
    figures
}
