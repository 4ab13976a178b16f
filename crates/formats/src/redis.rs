//! RedisBloom's `BF.SCANDUMP`: its chunks in one file, one after the other; numbers with the lowest byte first.
//!
//! ```text
//! chunk 1      u64 keys | u32 filters | u32 options | u32 growth
//!              and for each filter: u64 bytes | u64 bits | u64 keys | f64 rate | f64 bits per key | u32 hashes
//!                                   | u64 capacity | u8 logarithm of the bits, or 0
//! the others   the bytes of the filters
//! ```
//!
//! A filter that grew has several of them: each is for `growth` times as many keys as the one before, at half of its
//! rate, and a key is added to the last if none has it.

use std::borrow::Cow;
use std::io::Write;

use tamis::hash::Foreign;
use tamis::scalable::{MOST_LAYERS, Sizes};
use tamis::sizing::REDIS_LN_2_SQUARED;

use crate::fields::{Fields, bits, hashes, words_le};
use crate::{Failure, Fault, Filter, Held, Layout, Links, Unwritable};

/// Bits are a multiple of 64, not a power of two.
const NO_ROUND: u32 = 1;
/// Hashes have 64 bits.
const FORCE_64: u32 = 4;
/// The filter does not grow.
const NO_SCALING: u32 = 8;

/// One of the filters, as the first chunk has it.
struct Link {
    bytes: u64,
    bits: u64,
    keys: u64,
    rate: f64,
    hashes: u32,
    capacity: u64,
}

impl Link {
    fn of(fields: &mut Fields<'_>) -> Result<Link, Fault> {
        let (bytes, claimed_bits, keys) = (fields.u64_le()?, fields.u64_le()?, fields.u64_le()?);
        let (rate, per_key) = (fields.f64_le()?, fields.f64_le()?);
        let (claimed_hashes, capacity, log) = (fields.u32_le()?, fields.u64_le()?, fields.byte()?);
        if bytes.checked_mul(8) != Some(claimed_bits) || !(rate > 0.0 && rate < 1.0) || per_key.is_nan() {
            return Err(Fault::Other);
        }
        if log != 0 {
            return Err(Fault::Version(u64::from(log)));
        }
        let (hashes, bits) = (hashes(claimed_hashes)?, bits(claimed_bits)?);
        if !bits.is_multiple_of(64) {
            return Err(Fault::Bits(bits));
        }
        Ok(Link { bytes, bits, keys, rate, hashes, capacity })
    }

    /// Whether it is the one that follows from the first.
    fn follows(&self, sizes: Sizes, first: &Link, number: u32) -> bool {
        sizes.layer(first.capacity, first.rate, number).is_ok_and(|layer| {
            let (bits, hashes) = (layer.shape.slots(), layer.shape.hashes());
            (bits, hashes, layer.keys) == (self.bits, self.hashes, self.capacity)
        })
    }
}

pub(crate) fn read(file: &[u8]) -> Result<Held, Fault> {
    let mut fields = Fields::of(file);
    let (keys, count) = (fields.u64_le()?, fields.u32_le()?);
    let (options, growth) = (fields.u32_le()?, fields.u32_le()?);
    if !(1..=MOST_LAYERS).contains(&count) || options > 15 || growth > 1 << 15 {
        return Err(Fault::Other);
    }
    let links = (0..count).map(|_| Link::of(&mut fields)).collect::<Result<Vec<Link>, Fault>>()?;
    let sum =
        |number: fn(&Link) -> u64| links.iter().try_fold(0u64, |sum, link| sum.checked_add(number(link)));
    if options & FORCE_64 == 0 || sum(|link| link.keys) != Some(keys) {
        return Err(Fault::Version(u64::from(options)));
    }
    let words = words_le(fields.exactly(sum(|link| link.bytes).ok_or(Fault::Other)?)?);
    let (first, last) = (&links[0], &links[links.len() - 1]);
    let planned = (first.capacity, first.rate);
    if count == 1 {
        let (bits, hashes) = (first.bits, first.hashes);
        let words = Cow::Owned(words);
        let scheme = Foreign::Redis;
        return Ok(Held::Filter(Filter {
            scheme,
            bits,
            hashes,
            words,
            planned: Some(planned),
            added: Some(keys),
        }));
    }
    let sizes = Sizes::Redis { growth };
    if let Some((number, _)) = (0..).zip(&links).find(|(number, link)| !link.follows(sizes, first, *number)) {
        return Err(Fault::Link(number + 1));
    }
    if last.keys > last.capacity {
        return Err(Fault::Plan { keys: last.keys });
    }
    Ok(Held::Links(Links { growth, count, planned, added: (keys, last.keys), words }))
}

pub(crate) fn write(filter: &Filter<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    let Some((capacity, rate)) = filter.planned else {
        return Err(Failure::Unwritable(Unwritable::NoPlan { layout: Layout::Redis }));
    };
    let keys = filter.added.unwrap_or(capacity);
    let per_key = -(rate.ln() / REDIS_LN_2_SQUARED); // by the logarithm of the platform, as there
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
