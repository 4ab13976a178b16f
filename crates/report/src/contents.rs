//! What a sketch holds, as text for people and other programs: the positions of its bits that are 1, all its bits
//! as 0 and 1, or its counters. A line for each group; for each row of a Count-Min sketch.

use std::io::{self, Write};

use tamis::params::GroupParams;
use tamis::sizing::{Kind, Shape};
use tamis_make::text::listed_name;

/// The form of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The group, a tab, and the positions of the bits that are 1, ascending, separated by spaces.
    Positions,
    /// The group, a tab, and every bit as 0 or 1.
    Bits,
    /// The group, a tab, and every counter, separated by spaces; in a Count-Min sketch the number of the row and
    /// another tab before them.
    Counters,
}

impl Form {
    /// The forms that a kind can take, the usual one first. Fingerprints say nothing by
    /// themselves.
    pub fn of(kind: Kind) -> &'static [Form] {
        match kind {
            Kind::Blocked | Kind::Bloom | Kind::Layered | Kind::Scalable => &[Form::Positions, Form::Bits],
            Kind::Counting | Kind::CountMin | Kind::CountMinConservative => &[Form::Counters],
            Kind::Fuse | Kind::Ribbon => &[],
        }
    }
}

/// Writes the lines of a group: these are the words of its sketch.
pub fn write(out: &mut dyn Write, group: &GroupParams, words: &[u64], form: Form) -> io::Result<()> {
    let name = listed_name(&group.group.0);
    match (form, group.shape) {
        (_, Shape::CountMin { row, depth, counter_bits }) => {
            for number in 0..u64::from(depth) {
                write!(out, "{name}\t{number}\t")?;
                let counters = number * row..(number + 1) * row;
                separated(out, counters.map(|at| counter(words, at, counter_bits)))?;
            }
            Ok(())
        }
        (_, shape @ Shape::Counting { .. }) => {
            write!(out, "{name}\t")?;
            separated(out, (0..shape.slots()).map(|at| planes(words, at)))
        }
        (Form::Bits, shape) => {
            write!(out, "{name}\t")?;
            write_bits(out, words, shape.bits())?;
            writeln!(out)
        }
        (Form::Positions | Form::Counters, shape) => {
            write!(out, "{name}\t")?;
            let ones =
                words.iter().zip(0u64..).flat_map(|(word, at)| Ones(*word).map(move |bit| 64 * at + bit));
            separated(out, ones.take_while(|position| *position < shape.bits()))
        }
    }
}

fn separated(out: &mut dyn Write, mut numbers: impl Iterator<Item = u64>) -> io::Result<()> {
    if let Some(first) = numbers.next() {
        write!(out, "{first}")?;
    }
    numbers.try_for_each(|number| write!(out, " {number}"))?;
    writeln!(out)
}

fn write_bits(out: &mut dyn Write, words: &[u64], bits: u64) -> io::Result<()> {
    let mut left = bits;
    for word in words {
        let digits: [u8; 64] = std::array::from_fn(|bit| b'0' + (word >> bit & 1) as u8);
        let some = left.min(64);
        out.write_all(&digits[..some as usize])?;
        left -= some;
    }
    Ok(())
}

/// A counter of a Count-Min sketch, of 64 or 32 bits.
fn counter(words: &[u64], at: u64, bits: u32) -> u64 {
    match bits {
        32 => words[(at / 2) as usize] >> (32 * (at % 2)) & u64::from(u32::MAX),
        _ => words[at as usize],
    }
}

/// A counter of a `counting`, whose bits lie in four planes of its block.
fn planes(words: &[u64], at: u64) -> u64 {
    let (block, bit) = (at / 512, at % 512);
    let plane = |j: u64| words[(8 * (4 * block + j) + bit / 64) as usize] >> (bit % 64) & 1;
    (0..4).map(|j| plane(j) << j).sum()
}

/// The places of the bits of a word that are 1.
struct Ones(u64);

impl Iterator for Ones {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let first = self.0.trailing_zeros();
        (first < 64).then(|| {
            self.0 &= self.0 - 1;
            u64::from(first)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis::params::Name;

    fn text(shape: Shape, words: &[u64], form: Form) -> String {
        let group = GroupParams::filter(Name(b"a\tb\\".to_vec()), 1, 0.01, shape);
        let mut out = Vec::new();
        write(&mut out, &group, words, form).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn bits_and_positions_end_with_the_last_bit_whatever_is_behind_it() {
        let shape = Shape::Bloom { bits: 67, hashes: 1 };
        let words = [1 | 1 << 63, 0b1101];
        assert_eq!(text(shape, &words, Form::Positions), "a\\tb\\\\\t0 63 64 66\n");
        let bits = format!("a\\tb\\\\\t1{}1101\n", "0".repeat(62));
        assert_eq!(text(shape, &words, Form::Bits), bits);
        assert_eq!(text(shape, &[0, 0], Form::Positions), "a\\tb\\\\\t\n");
    }

    #[test]
    fn counters_come_row_by_row_in_both_widths() {
        let shape = |counter_bits| Shape::CountMin { row: 3, depth: 2, counter_bits };
        let lines = "a\\tb\\\\\t0\t1 2 3\na\\tb\\\\\t1\t4 5 6\n";
        assert_eq!(text(shape(64), &[1, 2, 3, 4, 5, 6], Form::Counters), lines);
        let halves = [1 | 2 << 32, 3 | 4 << 32, 5 | 6 << 32];
        assert_eq!(text(shape(32), &halves, Form::Counters), lines);
    }
}
