//! Spark's `BloomFilter`, as `writeTo` writes it: numbers with the highest byte first.
//!
//! ```text
//! version 1   i32 1 | i32 hashes | i32 words | words × i64
//! version 2   i32 2 | i32 hashes | i32 seed | i32 words | words × i64
//! ```
//!
//! A filter has 64 bits for each word: bits that were asked for are rounded up, and positions are modulo all of them.

use std::io::Write;

use tamis::hash::Foreign;

use crate::fields::{Fields, hashes, of_words, within};
use crate::{Failure, Fault, Filter};

pub(crate) fn read(file: &[u8]) -> Result<Filter<'static>, Fault> {
    let mut fields = Fields::of(file);
    let version = fields.i32_be()?;
    if !matches!(version, 1 | 2) {
        return Err(Fault::Other);
    }
    let hashes = hashes(fields.i32_be()?).map_err(|_| Fault::Other)?;
    let scheme = match version {
        1 => Foreign::SparkV1,
        _ => Foreign::SparkV2 { seed: fields.i32_be()? },
    };
    let words = u64::try_from(fields.i32_be()?).map_err(|_| Fault::Other)?;
    let bytes = fields.exactly(8 * words)?;
    of_words(scheme, hashes, bytes)
}

pub(crate) fn write(filter: &Filter<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    within(filter, 64 * i32::MAX as u64)?;
    let mut number = |number: i32| out.write_all(&number.to_be_bytes());
    match filter.scheme {
        Foreign::SparkV2 { seed } => [2, filter.hashes as i32, seed].into_iter().try_for_each(&mut number)?,
        _ => [1, filter.hashes as i32].into_iter().try_for_each(&mut number)?,
    }
    number(filter.words.len() as i32)?;
    filter.words.iter().try_for_each(|word| out.write_all(&word.to_be_bytes()))?;
    Ok(())
}
