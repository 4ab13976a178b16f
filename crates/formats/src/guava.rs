//! Guava's `BloomFilter`, as `writeTo` writes it: numbers with the highest byte first.
//!
//! ```text
//! i8 strategy (0 MURMUR128_MITZ_32, 1 MURMUR128_MITZ_64) | u8 hashes | i32 words | words × i64
//! ```
//!
//! The funnel, which turns an object into bytes, is not in the file: who reads it must know it.

use std::io::Write;

use tamis::hash::Foreign;

use crate::fields::{Fields, hashes, of_words, within};
use crate::{Failure, Fault, Filter};

pub(crate) fn read(file: &[u8]) -> Result<Filter<'static>, Fault> {
    let mut fields = Fields::of(file);
    let scheme = match fields.byte()? {
        0 => Foreign::Guava32,
        1 => Foreign::Guava64,
        _ => return Err(Fault::Other),
    };
    let claimed = match fields.byte()? {
        0 => return Err(Fault::Other),
        claimed => claimed,
    };
    let words = u64::try_from(fields.i32_be()?).map_err(|_| Fault::Other)?;
    let bytes = fields.exactly(8 * words)?;
    of_words(scheme, hashes(claimed)?, bytes)
}

pub(crate) fn write(filter: &Filter<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    within(filter, 64 * i32::MAX as u64)?;
    out.write_all(&[u8::from(filter.scheme == Foreign::Guava64), filter.hashes as u8])?;
    out.write_all(&(filter.words.len() as i32).to_be_bytes())?;
    filter.words.iter().try_for_each(|word| out.write_all(&word.to_be_bytes()))?;
    Ok(())
}
