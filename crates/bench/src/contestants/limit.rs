//! The limit: what one random cache line per key costs, and nothing else.

use std::hint::black_box;
use std::ops::Range;

use tamis::memory::{Words, prefetch};
use tamis::sizing::Kind;

use super::{Contestant, RATE, key};

/// How many keys ahead a line is asked for.
const AHEAD: usize = 128;

type Line = [u64; 8];

/// An array as large as a blocked filter, on huge pages. "Insert" reads and writes one line per
/// key, "contains" reads one.
#[derive(Default)]
pub struct Limit {
    words: Option<Words>,
}

/// A line of this many, drawn from the key: as cheap as can be and still even.
#[inline(always)]
fn line(number: u64, lines: u64) -> usize {
    let product = u128::from(key(number)) * 0xd1b5_4a32_d192_ed03;
    let mixed = product as u64 ^ (product >> 64) as u64;
    ((u128::from(mixed) * u128::from(lines)) >> 64) as usize
}

/// Changes the line of each of these numbers.
pub fn touch_lines(words: &mut [u64], numbers: Range<u64>) {
    let lines: &mut [Line] = words.as_chunks_mut().0;
    visit(lines, numbers, |lines, at| lines[at][0] += 1);
}

/// Goes through lines in the order of their numbers, each asked for [`AHEAD`] keys before.
#[inline(always)]
fn visit<L: AsRef<[Line]>>(mut lines: L, numbers: Range<u64>, mut visit: impl FnMut(&mut L, usize)) {
    let count = lines.as_ref().len() as u64;
    let mut ring = [0; AHEAD];
    let ask = |number: u64, lines: &L| {
        let at = line(number, count);
        prefetch(lines.as_ref(), at);
        at
    };
    for (number, slot) in numbers.clone().zip(&mut ring) {
        *slot = ask(number, &lines);
    }
    for number in numbers.clone() {
        let slot = (number - numbers.start) as usize % AHEAD;
        let at = ring[slot];
        ring[slot] = ask(number + AHEAD as u64, &lines); // those past the end do no harm
        visit(&mut lines, at);
    }
}

impl Contestant for Limit {
    fn name(&self) -> &'static str {
        "limit: one line"
    }

    fn start(&mut self, keys: u64) {
        let shape = Kind::Blocked.shape_for_rate(keys, RATE).expect("a usual size");
        let fresh = || Words::zeroed((shape.slots() / 64) as usize).expect("memory for the limit");
        self.words.get_or_insert_with(fresh).fill(0);
    }

    fn insert(&mut self, numbers: Range<u64>) {
        touch_lines(self.words.as_mut().expect("started"), numbers);
    }

    fn count(&mut self, numbers: Range<u64>) -> u64 {
        let lines: &[Line] = self.words.as_ref().expect("started").as_chunks().0;
        let mut sum = 0u64;
        let count = numbers.end - numbers.start;
        visit(lines, numbers, |lines, at| sum = sum.wrapping_add(lines[at][0]));
        black_box(sum);
        count
    }

    fn bits(&self) -> u64 {
        self.words.as_ref().map_or(0, |words| words.len() as u64 * 64)
    }
}
