//! RedisBloom's `BF.SCANDUMP`: its chunks in one file, one after the other; numbers with the lowest byte first.
//!
//! ```text
//! chunk 1      u64 keys | u32 filters | u32 options | u32 growth
//!              and for each filter: u64 bytes | u64 bits | u64 keys | f64 rate | f64 bits per key | u32 hashes
//!                                   | u64 capacity | u8 logarithm of the bits, or 0
//! the others   the bytes of the filters
//! ```
//!
//! A filter that grew has several of them; it is not read.

use std::borrow::Cow;
use std::io::Write;

use tamis::hash::Foreign;

use crate::fields::{Fields, bits, hashes, words_le};
use crate::{Failure, Fault, Filter, Layout, Unwritable};

/// Bits are a multiple of 64, not a power of two.
const NO_ROUND: u32 = 1;
/// Hashes have 64 bits.
const FORCE_64: u32 = 4;
/// The filter does not grow.
const NO_SCALING: u32 = 8;

pub(crate) fn read(file: &[u8]) -> Result<Filter<'static>, Fault> {
    let mut fields = Fields::of(file);
    let (keys, links) = (fields.u64_le()?, fields.u32_le()?);
    let (options, growth) = (fields.u32_le()?, fields.u32_le()?);
    if links == 0 || links > 64 || options > 15 || growth > 1 << 15 {
        return Err(Fault::Other);
    }
    let (bytes, claimed_bits, link_keys) = (fields.u64_le()?, fields.u64_le()?, fields.u64_le()?);
    let (rate, per_key) = (fields.f64_le()?, fields.f64_le()?);
    let (claimed_hashes, capacity, log) = (fields.u32_le()?, fields.u64_le()?, fields.byte()?);
    if bytes.checked_mul(8) != Some(claimed_bits) || !(rate > 0.0 && rate < 1.0) || per_key.is_nan() {
        return Err(Fault::Other);
    }
    if links > 1 {
        return Err(Fault::Links(links));
    }
    if options & FORCE_64 == 0 || log != 0 || link_keys != keys {
        return Err(Fault::Version(u64::from(options)));
    }
    let (hashes, bits) = (hashes(claimed_hashes)?, bits(claimed_bits)?);
    if !bits.is_multiple_of(64) {
        return Err(Fault::Bits(bits));
    }
    Ok(Filter {
        scheme: Foreign::Redis,
        bits,
        hashes,
        words: Cow::Owned(words_le(fields.exactly(bytes)?)),
        planned: Some((capacity, rate)),
        added: Some(keys),
    })
}

pub(crate) fn write(filter: &Filter<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    let Some((capacity, rate)) = filter.planned else {
        return Err(Failure::Unwritable(Unwritable::NoPlan { layout: Layout::Redis }));
    };
    let keys = filter.added.unwrap_or(capacity);
    let per_key = -rate.ln() / std::f64::consts::LN_2.powi(2);
    out.write_all(&keys.to_le_bytes())?;
    for number in [1, FORCE_64 | NO_ROUND | NO_SCALING, 2] {
        out.write_all(&u32::to_le_bytes(number))?;
    }
    for number in [filter.bits / 8, filter.bits, keys, rate.to_bits(), per_key.to_bits()] {
        out.write_all(&number.to_le_bytes())?;
    }
    out.write_all(&filter.hashes.to_le_bytes())?;
    out.write_all(&capacity.to_le_bytes())?;
    out.write_all(&[0])?;
    filter.words.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))?;
    Ok(())
}
