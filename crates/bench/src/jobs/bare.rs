//! The least that a build can do, as plain loops on one thread: read, cut, hash, set bits. No recipe, no checks, no
//! repetitions looked for, no file at the end. What a build takes beyond this is its own doing; what this takes beyond
//! the limit is not.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Instant;

use tamis::blocked::Blocked;
use tamis::hash::xxh3;
use tamis_read::Places;

use crate::contestants::RATE;

const CHUNK: usize = 256 << 10;

/// Newlines are looked for in this many bytes at a time: the best of the sizes tried, from 4 KiB to the whole chunk.
const WINDOW: usize = 4 << 10;

/// Keys are set this many at a time, about those of a window.
const BATCH: usize = 256;

/// Gives every line of a file, each of which has its end.
fn each_line(input: &Path, mut line: impl FnMut(&[u8])) -> io::Result<()> {
    let mut file = File::open(input)?;
    let mut buffer = vec![0; CHUNK];
    let mut newlines = Places::default();
    let mut filled = 0;
    loop {
        let read = file.read(&mut buffer[filled..])?;
        if read == 0 {
            return Ok(());
        }
        let data = &buffer[..filled + read];
        let mut begin = 0;
        for (i, window) in data.chunks(WINDOW).enumerate() {
            for &at in newlines.find(window, b'\n') {
                let end = i * WINDOW + at as usize;
                line(&data[begin..end]);
                begin = end + 1;
            }
        }
        filled = data.len() - begin;
        buffer.copy_within(begin..begin + filled, 0);
    }
}

/// Seconds by the clock for a filter of this file of this many keys, one on each line.
pub fn lines(input: &Path, keys: u64) -> io::Result<f64> {
    let start = Instant::now();
    let mut filter = Blocked::for_rate(keys, RATE).map_err(io::Error::other)?;
    let (mut hashes, mut set) = (Vec::with_capacity(BATCH), 0);
    let mut insert = |hashes: &mut Vec<u64>| {
        filter.insert_hashes(hashes);
        set += hashes.len() as u64;
        hashes.clear();
    };
    each_line(input, |line| {
        hashes.push(xxh3(line, 0));
        if hashes.len() == BATCH {
            insert(&mut hashes);
        }
    })?;
    insert(&mut hashes);
    assert_eq!(set, keys, "lines were lost");
    Ok(start.elapsed().as_secs_f64())
}

/// Seconds by the clock for ten filters of the titles of this table, by their ratings.
pub fn ratings(input: &Path, rows: u64) -> io::Result<f64> {
    let start = Instant::now();
    let mut groups: [Vec<u64>; 11] = Default::default();
    let mut header = true;
    each_line(input, |line| {
        let tab = line.iter().position(|&byte| byte == b'\t').unwrap_or(line.len());
        let (title, rest) = line.split_at(tab);
        if !std::mem::take(&mut header) {
            groups[rounded(&rest[1..])].push(xxh3(title, 0));
        }
    })?;
    let mut filters = Vec::new();
    for hashes in groups.iter().filter(|hashes| !hashes.is_empty()) {
        let mut filter = Blocked::for_rate(hashes.len() as u64, RATE).map_err(io::Error::other)?;
        filter.insert_hashes(hashes);
        filters.push(filter);
    }
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(groups.iter().map(|group| group.len() as u64).sum::<u64>(), rows, "rows were lost");
    assert_eq!(filters.len(), 10, "ratings were lost");
    Ok(seconds)
}

/// The rating at the beginning of a text, one digit after its point, rounded half to even.
fn rounded(text: &[u8]) -> usize {
    let digits = text.iter().take_while(|&&byte| byte != b'\t').filter(|byte| byte.is_ascii_digit());
    let tenths = digits.fold(0, |number, digit| 10 * number + usize::from(digit - b'0'));
    match (tenths / 10, tenths % 10) {
        (whole, 5) => whole + whole % 2,
        (whole, tenth) => whole + usize::from(tenth > 5),
    }
}
