//! The parts of a build of one key per line, each measured alone, on one thread: read, cut, hash, set, write.
//!
//! Lines are read in chunks that fit in a cache, as builds do, and each chunk goes through one part after the other; the
//! clock is looked at in between. Bits are set in two ways, of which the faster counts: as hashes come, or put in order
//! of the places in the filter first, some millions at a time.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Instant;

use tamis::blocked::{Blocked, LINE_BITS, line_of};
use tamis::hash::xxh3;
use tamis::memory::Words;
use tamis_read::Places;

use crate::contestants::RATE;

const CHUNK: usize = 256 << 10;

/// Hashes that are partitioned at a time, and into how many parts: those of one stay in a cache.
const ROOM: usize = 4 << 20;
const PARTS: usize = 128;

/// Seconds by the clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parts {
    pub read: f64,
    pub cut: f64,
    pub hash: f64,
    /// As hashes come.
    pub set: f64,
    /// Put in order first, which is counted.
    pub partitioned: f64,
    pub write: f64,
}

impl Parts {
    /// All of them, with the faster way to set.
    pub fn sum(&self) -> f64 {
        self.read + self.cut + self.hash + self.set.min(self.partitioned) + self.write
    }

    /// The name of each, and its seconds.
    pub fn named(&self) -> [(&'static str, f64); 6] {
        [
            ("read", self.read),
            ("cut", self.cut),
            ("hash", self.hash),
            ("set", self.set),
            ("set, partitioned first", self.partitioned),
            ("write", self.write),
        ]
    }

    /// Of each part the least of both.
    pub fn least(self, other: Parts) -> Parts {
        Parts {
            read: self.read.min(other.read),
            cut: self.cut.min(other.cut),
            hash: self.hash.min(other.hash),
            set: self.set.min(other.set),
            partitioned: self.partitioned.min(other.partitioned),
            write: self.write.min(other.write),
        }
    }

    pub const NONE: Parts = Parts {
        read: f64::INFINITY,
        cut: f64::INFINITY,
        hash: f64::INFINITY,
        set: f64::INFINITY,
        partitioned: f64::INFINITY,
        write: f64::INFINITY,
    };
}

/// Measures the time between calls.
struct Clock(Instant);

impl Clock {
    /// Adds the time since the last call.
    fn note(&mut self, part: &mut f64) {
        let now = Instant::now();
        *part += (now - self.0).as_secs_f64();
        self.0 = now;
    }
}

/// The parts of a build of this file of this many keys, each with its line end; the filter goes to `output`.
pub fn time(input: &Path, keys: u64, output: &Path) -> io::Result<Parts> {
    let mut parts = Parts::default();
    let mut clock = Clock(Instant::now());
    let mut filter = Blocked::for_rate(keys, RATE).map_err(io::Error::other)?;
    let mut other = Partitioned::new(keys)?;
    clock.note(&mut 0.0);
    each_chunk(input, &mut parts, &mut clock, |hashes, parts, clock| {
        filter.insert_hashes(hashes);
        clock.note(&mut parts.set);
        other.take(hashes);
        clock.note(&mut parts.partitioned);
    })?;
    other.flush();
    clock.note(&mut parts.partitioned);
    assert!(filter.words() == other.filter.words(), "both ways set the same bits");
    let mut clock = Clock(Instant::now());
    // As a build does: the file of the last round is there until the new one takes its place.
    let draft = output.with_added_extension("new");
    let mut file = File::create(&draft)?;
    file.write_all(bytemuck::cast_slice(filter.words()))?;
    file.sync_all()?;
    fs::rename(&draft, output)?;
    clock.note(&mut parts.write);
    Ok(parts)
}

fn each_chunk(
    input: &Path,
    parts: &mut Parts,
    clock: &mut Clock,
    mut take: impl FnMut(&[u64], &mut Parts, &mut Clock),
) -> io::Result<()> {
    let mut file = File::open(input)?;
    let mut buffer = vec![0; CHUNK];
    let (mut newlines, mut hashes) = (Places::default(), Vec::new());
    let mut filled = 0;
    loop {
        let read = file.read(&mut buffer[filled..])?;
        clock.note(&mut parts.read);
        if read == 0 {
            return Ok(());
        }
        let data = &buffer[..filled + read];
        let ends = newlines.find(data, b'\n');
        clock.note(&mut parts.cut);
        let mut line = 0;
        hashes.clear();
        for end in ends.iter().map(|&end| end as usize) {
            hashes.push(xxh3(&data[line..end], 0));
            line = end + 1;
        }
        clock.note(&mut parts.hash);
        filled = data.len() - line;
        buffer.copy_within(line..line + filled, 0);
        take(&hashes, parts, clock);
    }
}

/// A filter whose bits are set part by part.
struct Partitioned {
    filter: Blocked<Words>,
    waiting: Vec<Vec<u64>>,
    count: usize,
}

impl Partitioned {
    fn new(keys: u64) -> io::Result<Partitioned> {
        let filter = Blocked::for_rate(keys, RATE).map_err(io::Error::other)?;
        let waiting = (0..PARTS).map(|_| Vec::with_capacity(ROOM / PARTS * 5 / 4)).collect();
        Ok(Partitioned { filter, waiting, count: 0 })
    }

    fn take(&mut self, hashes: &[u64]) {
        let lines = self.filter.words().len() as u64 * 64 / LINE_BITS;
        let shift = (lines.div_ceil(PARTS as u64)).next_power_of_two().ilog2();
        for &hash in hashes {
            self.waiting[line_of(hash, lines) >> shift].push(hash);
        }
        self.count += hashes.len();
        if self.count >= ROOM {
            self.flush();
        }
    }

    fn flush(&mut self) {
        for part in &mut self.waiting {
            self.filter.insert_hashes(part);
            part.clear();
        }
        self.count = 0;
    }
}
