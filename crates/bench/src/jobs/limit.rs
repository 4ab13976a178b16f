//! The limit of a build: a line read and written for every key, in memory as large as the filter.

use std::time::Instant;

use tamis::memory::Words;
use tamis::sizing::Kind;

use crate::contestants::{RATE, touch_lines};

/// Bytes of a blocked filter of this many keys.
pub fn filter_bytes(keys: u64) -> u64 {
    Kind::Blocked.shape_for_rate(keys, RATE).expect("a usual size").slots() / 8
}

/// Seconds by the clock for this many keys on this many threads, each with a part of the lines to
/// itself. The memory is there already.
pub struct Limit(Words);

impl Limit {
    pub fn new(keys: u64) -> Limit {
        let mut words = Words::zeroed((filter_bytes(keys) / 8) as usize).expect("memory for the limit");
        words.fill(1);
        Limit(words)
    }

    pub fn time(&mut self, keys: u64, threads: usize) -> f64 {
        let part = (self.0.len() / 8).div_ceil(threads) * 8;
        let start = Instant::now();
        std::thread::scope(|scope| {
            for words in self.0.chunks_mut(part) {
                scope.spawn(|| touch_lines(words, 0..keys / threads as u64));
            }
        });
        start.elapsed().as_secs_f64()
    }
}
