//! The Bloom filter of DCSO's `bloom`, which hashlookup uses: numbers with the lowest byte first; the whole file may be
//! compressed with gzip.
//!
//! ```text
//! u64 flags (1) | u64 keys | f64 rate | u64 hashes | u64 bits | u64 added | ⌈bits/64⌉ × u64 | data of its user
//! ```

use std::borrow::Cow;
use std::io::{Read, Write};

use flate2::read::MultiGzDecoder;
use tamis::hash::Foreign;

use crate::fields::{Fields, bits, hashes, no_bits_beyond, words_le};
use crate::{Failure, Fault, Filter, Layout, Unwritable};

/// The filter, and the bytes of its user after it.
pub(crate) fn read(file: &[u8]) -> Result<(Filter<'static>, u64), Fault> {
    if !file.starts_with(&[0x1f, 0x8b]) {
        return read_plain(file);
    }
    // What is decompressed is the beginning first, so that other compressed files are not decompressed whole.
    let mut decoder = MultiGzDecoder::new(file);
    let mut all = Vec::new();
    decoder.by_ref().take(HEAD as u64).read_to_end(&mut all).map_err(|_| Fault::Other)?;
    let head = Head::of(&all)?;
    let words = 8 * head.bits.div_ceil(64);
    decoder.by_ref().take(words).read_to_end(&mut all).map_err(|_| Fault::Gzip)?;
    let beyond = std::io::copy(&mut decoder, &mut std::io::sink()).map_err(|_| Fault::Gzip)?;
    read_plain(&all).map(|(filter, _)| (filter, beyond))
}

const HEAD: usize = 48;

struct Head {
    keys: u64,
    rate: f64,
    hashes: u32,
    bits: u64,
    added: u64,
}

impl Head {
    fn of(file: &[u8]) -> Result<Head, Fault> {
        let mut fields = Fields::of(file);
        if fields.u64_le()? != 1 {
            return Err(Fault::Other);
        }
        let (keys, rate) = (fields.u64_le()?, fields.f64_le()?);
        let (claimed_hashes, claimed_bits, added) = (fields.u64_le()?, fields.u64_le()?, fields.u64_le()?);
        let (hashes, bits) = (hashes(claimed_hashes)?, bits(claimed_bits)?);
        if !(rate > 0.0 && rate < 1.0) {
            return Err(Fault::Plan { keys });
        }
        Ok(Head { keys, rate, hashes, bits, added })
    }
}

fn read_plain(file: &[u8]) -> Result<(Filter<'static>, u64), Fault> {
    let Head { keys, rate, hashes, bits, added } = Head::of(file)?;
    let (rest, length) = (&file[HEAD..], 8 * bits.div_ceil(64));
    let words = rest
        .get(..usize::try_from(length).unwrap_or(usize::MAX))
        .ok_or(Fault::Length { expected: HEAD as u64 + length, got: file.len() as u64 })?;
    let words = words_le(words);
    no_bits_beyond(&words, bits)?;
    let filter = Filter {
        scheme: Foreign::Dcso,
        bits,
        hashes,
        words: Cow::Owned(words),
        planned: Some((keys, rate)),
        added: Some(added),
    };
    Ok((filter, rest.len() as u64 - length))
}

pub(crate) fn write(filter: &Filter<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    let Some((keys, rate)) = filter.planned else {
        return Err(Failure::Unwritable(Unwritable::NoPlan { layout: Layout::Dcso }));
    };
    let numbers =
        [1, keys, rate.to_bits(), u64::from(filter.hashes), filter.bits, filter.added.unwrap_or(keys)];
    numbers.iter().chain(filter.words.iter()).try_for_each(|word| out.write_all(&word.to_le_bytes()))?;
    Ok(())
}
