//! Hadoop's `BloomFilter` and `CountingBloomFilter`, as Writables: numbers with the highest byte first.
//!
//! ```text
//! i32 -1 | i32 hashes | i8 hash (0 Jenkins, 1 Murmur) | i32 bits | ⌈bits/8⌉ bytes, the lowest bit first
//! i32 -1 | i32 hashes | i8 hash | i32 counters | ⌈counters/16⌉ × i64, the lowest four bits first
//! ```
//!
//! Hadoop once wrote no version: such a file begins with the number of hashes, which is above 0, and its hash is
//! Jenkins'. It begins like many things, and is read only where somebody says what it is.
//!
//! A counting filter is asked like one whose bits are the counters that are not 0. What it can do besides (take keys
//! out) cannot be done here, and so it is not converted.

use std::borrow::Cow;
use std::io::Write;

use tamis::hash::Foreign;

use crate::fields::{Fields, bits, hashes, no_bits_beyond, within, words_be, words_le};
use crate::{Failure, Fault, Filter};

/// The version with which newer files begin.
pub(crate) const MARK: [u8; 4] = (-1i32).to_be_bytes();

/// What stands before the bits.
struct Head<'f> {
    scheme: Foreign,
    /// The hashes that it claims: how many are too many is said of a file whose length is right.
    claimed: i32,
    bits: u64,
    fields: Fields<'f>,
}

impl<'f> Head<'f> {
    fn of(file: &'f [u8]) -> Result<Head<'f>, Fault> {
        let mut fields = Fields::of(file);
        let (claimed, scheme) = match fields.i32_be()? {
            -1 => {
                let claimed = fields.i32_be()?;
                match fields.byte()? {
                    0 => (claimed, Foreign::HadoopJenkins),
                    1 => (claimed, Foreign::HadoopMurmur),
                    _ => return Err(Fault::Other),
                }
            }
            claimed => (claimed, Foreign::HadoopJenkins),
        };
        let bits = u64::try_from(fields.i32_be()?).map_err(|_| Fault::Other)?;
        match claimed {
            1.. => Ok(Head { scheme, claimed, bits: self::bits(bits)?, fields }),
            _ => Err(Fault::Other),
        }
    }

    fn filter(self, words: Vec<u64>) -> Result<Filter<'static>, Fault> {
        no_bits_beyond(&words, self.bits)?;
        let Head { scheme, claimed, bits, .. } = self;
        let hashes = hashes(claimed)?;
        Ok(Filter { scheme, bits, hashes, words: Cow::Owned(words), planned: None, added: None })
    }
}

pub(crate) fn read(file: &[u8]) -> Result<Filter<'static>, Fault> {
    let head = Head::of(file)?;
    let bytes = head.fields.exactly(head.bits.div_ceil(8))?;
    let words = words_le(bytes);
    head.filter(words)
}

pub(crate) fn read_counting(file: &[u8]) -> Result<Filter<'static>, Fault> {
    let head = Head::of(file)?;
    let bytes = head.fields.exactly(8 * head.bits.div_ceil(16))?;
    let mut words = vec![0u64; head.bits.div_ceil(64) as usize];
    for (i, counters) in words_be(bytes).into_iter().enumerate() {
        for at in (0..16).filter(|at| counters >> (4 * at) & 15 != 0) {
            let bit = 16 * i + at;
            *words.get_mut(bit / 64).ok_or(Fault::BitsBeyond)? |= 1 << (bit % 64);
        }
    }
    head.filter(words)
}

pub(crate) fn write(filter: &Filter<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    within(filter, i32::MAX as u64)?;
    out.write_all(&MARK)?;
    out.write_all(&(filter.hashes as i32).to_be_bytes())?;
    out.write_all(&[u8::from(filter.scheme == Foreign::HadoopMurmur)])?;
    out.write_all(&(filter.bits as i32).to_be_bytes())?;
    let mut left = filter.bits.div_ceil(8) as usize;
    for word in filter.words.iter() {
        out.write_all(&word.to_le_bytes()[..left.min(8)])?;
        left = left.saturating_sub(8);
    }
    Ok(())
}
