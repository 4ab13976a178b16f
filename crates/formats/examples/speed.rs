//! Nanoseconds for a lookup in a filter of another system, as batches are asked: the least of many rounds, and how
//! many of the probes are found. `clusters/formats/speed.sh` runs it beside the originals.
//!
//! ```text
//! speed FILTER long|int|utf16|text|bytes PROBES
//! ```

use std::time::Instant;
use std::{env, fs};

use tamis::bloom::Bloom;
use tamis_formats::recognise;

/// Of many short rounds, some are not disturbed by what else the machine does.
const ROUNDS: usize = 200;

/// The keys that are hashed, and then asked, at a time.
const BATCH: usize = 1024;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [filter, of_type, probes] = &arguments[..] else { return Err("speed FILTER TYPE PROBES".into()) };
    let found = recognise(&fs::read(filter)?).map_err(|(_, fault)| fault)?.ok_or("not recognised")?;
    let filter = found.filter().ok_or("not a single filter")?;
    let bloom = Bloom::from_words(&filter.words[..], filter.bits, filter.hashes)?;
    let text = fs::read(probes)?;
    let key = |line: &[u8]| -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        Ok(match of_type.as_str() {
            "long" => std::str::from_utf8(line)?.parse::<i64>()?.to_le_bytes().to_vec(),
            "int" => std::str::from_utf8(line)?.parse::<i32>()?.to_le_bytes().to_vec(),
            "utf16" => std::str::from_utf8(line)?.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            _ => line.to_vec(),
        })
    };
    let keys = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(key);
    let keys = keys.collect::<Result<Vec<Vec<u8>>, _>>()?;
    // One after the other in memory, as the rows of a table stand.
    let ends = keys.iter().scan(0, |end, key| Some(std::mem::replace(end, *end + key.len())));
    let starts: Vec<usize> = ends.chain([keys.concat().len()]).collect();
    let bytes = keys.concat();
    let each = filter.hashes as usize;
    let (mut lanes, mut hits) = (vec![0; BATCH * each], [false; BATCH]);
    let (mut least, mut passed) = (f64::MAX, 0);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        passed = 0;
        for first in (0..keys.len()).step_by(BATCH) {
            let batch = &starts[first..keys.len().min(first + BATCH) + 1];
            for (ends, lanes) in batch.windows(2).zip(lanes.chunks_exact_mut(each)) {
                filter.scheme.lanes(&bytes[ends[0]..ends[1]]).fill(lanes);
            }
            let hits = &mut hits[..batch.len() - 1];
            bloom.contains_all_wide(|key| &lanes[key * each..(key + 1) * each], hits);
            passed += hits.iter().filter(|hit| **hit).count();
        }
        least = least.min(start.elapsed().as_nanos() as f64 / keys.len() as f64);
    }
    println!("{least:.1} {passed}");
    Ok(())
}
