//! The Bloom filter of DataSketches (`.sk`): numbers with the lowest byte first.
//!
//! ```text
//! u8 3 (empty) or 4 | u8 1 | u8 21 | u8 flags (bit 2: empty) | u16 hashes | u16 0 | u64 seed | i32 words | u32 0
//! and if it is not empty: u64 set bits (all ones: not counted) | words × u64
//! ```
//!
//! An empty text is not added to it, as nothing is.

use std::borrow::Cow;
use std::io::Write;

use tamis::hash::Foreign;

use crate::fields::{Fields, bits, hashes, within, words_le};
use crate::{Failure, Fault, Filter};

const FAMILY: u8 = 21;
const EMPTY: u8 = 4;
const NOT_COUNTED: u64 = u64::MAX;

pub(crate) fn read(file: &[u8]) -> Result<Filter<'static>, Fault> {
    let mut fields = Fields::of(file);
    let [longs, version, family, flags] = fields.bytes()?;
    if family != FAMILY || !matches!(longs, 3 | 4) {
        return Err(Fault::Other);
    }
    if version != 1 {
        return Err(Fault::Version(u64::from(version)));
    }
    let (claimed, _, seed) = (fields.u16_le()?, fields.u16_le()?, fields.u64_le()?);
    let hashes = hashes(claimed)?;
    let (words, _) = (fields.u32_le()?, fields.u32_le()?);
    let bits = bits(64 * u64::from(words))?;
    let words = match flags & EMPTY != 0 {
        // An empty filter has no bytes for its bits: here alone a small file could ask for much memory.
        true if words > MOST_EMPTY => return Err(Fault::Bits(bits)),
        true => {
            fields.exactly(0)?;
            vec![0; words as usize]
        }
        false => {
            let claimed = fields.u64_le()?;
            let words = words_le(fields.exactly(8 * u64::from(words))?);
            let got = words.iter().map(|word| u64::from(word.count_ones())).sum();
            if claimed != NOT_COUNTED && claimed != got {
                return Err(Fault::Ones { claimed, got });
            }
            words
        }
    };
    let scheme = Foreign::DataSketches { seed };
    Ok(Filter { scheme, bits, hashes, words: Cow::Owned(words), planned: None, added: None })
}

/// The words of an empty filter: 128 MiB.
const MOST_EMPTY: u32 = 1 << 24;

pub(crate) fn write(filter: &Filter<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    within(filter, 64 * i32::MAX as u64)?;
    let seed = if let Foreign::DataSketches { seed } = filter.scheme { seed } else { 0 };
    let ones: u64 = filter.words.iter().map(|word| u64::from(word.count_ones())).sum();
    let (longs, flags) = if ones == 0 { (3, EMPTY) } else { (4, 0) };
    out.write_all(&[longs, 1, FAMILY, flags])?;
    out.write_all(&filter.hashes.to_le_bytes())?; // two bytes, and two zeros
    out.write_all(&seed.to_le_bytes())?;
    out.write_all(&(filter.words.len() as u64).to_le_bytes())?; // four bytes, and four zeros
    if ones > 0 {
        out.write_all(&ones.to_le_bytes())?;
        filter.words.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))?;
    }
    Ok(())
}
