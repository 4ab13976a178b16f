//! How fast the library answers many keys: the lines of a text, asked of a file of filters.
//!
//! `cargo run --release -p tamis --example lookup -- FILE.tamis KEYS.txt`
//!
//! Prints nanoseconds per key, the best of five rounds on one thread: lines hashed and asked in batches.
//! The Python package is measured beside it.

use std::error::Error;
use std::fs::File;
use std::time::Instant;

use tamis::Container;
use tamis::memory::Map;

const BATCH: usize = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [filters, keys] = &arguments[..] else { return Err("usage: lookup FILE.tamis KEYS.txt".into()) };
    let container = Container::open(Map::of(&File::open(filters)?)?)?;
    container.params().common.makes_keys()?;
    let (sketch, scheme) = (container.sketch(0)?, container.params().common.hash);
    let text = std::fs::read(keys)?;
    let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();

    let mut best = f64::INFINITY;
    let mut found = 0;
    for _ in 0..5 {
        let mut hashes = Vec::with_capacity(BATCH);
        let mut answers = vec![false; lines.len()];
        let start = Instant::now();
        for (lines, answers) in lines.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            hashes.clear();
            hashes.extend(lines.iter().map(|line| scheme.identity(line)));
            sketch.contains_hashes(&hashes, answers);
        }
        best = best.min(start.elapsed().as_nanos() as f64 / lines.len() as f64);
        found = answers.iter().filter(|found| **found).count();
    }
    println!("{best:.2} ns/key, {found} of {} may be in", lines.len());
    Ok(())
}
