//! Spark's `CountMinSketch`, as `writeTo` writes it: numbers with the highest byte first.
//!
//! ```text
//! i32 1 | i64 total | i32 rows | i32 width | rows × i64 factors | rows × width × i64 counters, row by row
//! ```
//!
//! The factors place keys that are numbers; text is placed without them, and the file does not say which of the two its
//! keys are. Neither does it say for which error it was made: that follows from rows and width.

use tamis::countmin::MOST_DEPTH;
use tamis::hash::SparkCounts;
use tamis::sizing::MOST_BITS;

use crate::fields::{Fields, words_be};
use crate::{Counts, Fault};

pub(crate) fn read(file: &[u8]) -> Result<Counts, Fault> {
    let mut fields = Fields::of(file);
    if fields.i32_be()? != 1 {
        return Err(Fault::Other);
    }
    let total = u64::from_be_bytes(fields.bytes()?);
    let (rows, width) = (fields.i32_be()?, fields.i32_be()?);
    let (Ok(depth @ 1..=MOST_DEPTH), Ok(width @ 1..)) = (u32::try_from(rows), u64::try_from(width)) else {
        return Err(Fault::Other);
    };
    let counters = u64::from(depth) * width;
    // A few small numbers are no beginning, and a filter has the same first: the length tells.
    let words = fields.exactly(8 * (u64::from(depth) + counters)).map_err(|_| Fault::Other)?;
    if counters > MOST_BITS / 64 {
        return Err(Fault::Bits(64 * counters));
    }
    let mut words = words_be(words);
    let counters = words.split_off(depth as usize);
    let seed = SparkCounts::seed_of(&words).ok_or(Fault::Factors)?;
    let sums =
        |row: &[u64]| row.iter().try_fold(0u64, |sum, &counter| sum.checked_add(counter)) == Some(total);
    if total > i64::MAX as u64 || !counters.chunks(width as usize).all(sums) {
        return Err(Fault::Sums { total });
    }
    Ok(Counts { total, depth, width, seed, counters })
}
