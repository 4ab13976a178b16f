//! The least that a build can do, as a plain loop on one thread: read, cut at line ends, hash, set bits.
//! No recipe, no checks, no file at the end. What a build takes beyond this is its own doing; what this
//! takes beyond the limit is not.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Instant;

use tamis::blocked::Blocked;
use tamis::hash::xxh3;
use tamis_read::Places;

use crate::contestants::RATE;

const CHUNK: usize = 256 << 10;

/// Keys are set after this many bytes: the best of the sizes tried, from 4 KiB to the whole chunk.
const WINDOW: usize = 4 << 10;

/// Seconds by the clock for this file of this many keys, each with its line end.
pub fn time(input: &Path, keys: u64) -> io::Result<f64> {
    let start = Instant::now();
    let mut file = File::open(input)?;
    let mut filter = Blocked::for_rate(keys, RATE).map_err(io::Error::other)?;
    let mut buffer = vec![0; CHUNK];
    let (mut newlines, mut hashes) = (Places::default(), Vec::new());
    let (mut filled, mut set) = (0, 0);
    loop {
        let read = file.read(&mut buffer[filled..])?;
        if read == 0 {
            break;
        }
        let data = &buffer[..filled + read];
        let mut line = 0;
        for (i, window) in data.chunks(WINDOW).enumerate() {
            hashes.clear();
            for &at in newlines.find(window, b'\n') {
                let end = i * WINDOW + at as usize;
                hashes.push(xxh3(&data[line..end], 0));
                line = end + 1;
            }
            filter.insert_hashes(&hashes);
            set += hashes.len() as u64;
        }
        filled = data.len() - line;
        buffer.copy_within(line..line + filled, 0);
    }
    assert_eq!(set, keys, "lines were lost");
    Ok(start.elapsed().as_secs_f64())
}
