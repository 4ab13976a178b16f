//! The fields of a file, one after the other, and what is checked of every filter.

use std::borrow::Cow;

use tamis::bloom::MOST_HASHES;
use tamis::hash::Foreign;
use tamis::sizing::MOST_BITS;

use crate::{Failure, Fault, Filter, Layout, Unwritable};

/// Bytes that are read from the front.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'f> {
    rest: &'f [u8],
    /// Bytes of the file.
    whole: u64,
}

impl<'f> Fields<'f> {
    pub fn of(file: &'f [u8]) -> Fields<'f> {
        Fields { rest: file, whole: file.len() as u64 }
    }

    /// The next bytes; a file that has fewer is none of the layout.
    pub fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (first, rest) = self.rest.split_first_chunk().ok_or(Fault::Other)?;
        self.rest = rest;
        Ok(*first)
    }

    pub fn byte(&mut self) -> Result<u8, Fault> {
        self.bytes::<1>().map(|[byte]| byte)
    }

    pub fn i32_be(&mut self) -> Result<i32, Fault> {
        self.bytes().map(i32::from_be_bytes)
    }

    pub fn u16_le(&mut self) -> Result<u16, Fault> {
        self.bytes().map(u16::from_le_bytes)
    }

    pub fn u32_le(&mut self) -> Result<u32, Fault> {
        self.bytes().map(u32::from_le_bytes)
    }

    pub fn u64_le(&mut self) -> Result<u64, Fault> {
        self.bytes().map(u64::from_le_bytes)
    }

    pub fn f64_le(&mut self) -> Result<f64, Fault> {
        self.bytes().map(f64::from_le_bytes)
    }

    /// All that is left, if it has this length.
    pub fn exactly(&self, bytes: u64) -> Result<&'f [u8], Fault> {
        match self.rest.len() as u64 == bytes {
            true => Ok(self.rest),
            false => Err(self.length(bytes)),
        }
    }

    /// What is wrong with a file in which another number of bytes than this is left.
    pub fn length(&self, left: u64) -> Fault {
        let before = self.whole - self.rest.len() as u64;
        Fault::Length { expected: before.saturating_add(left), got: self.whole }
    }
}

/// The number of hashes of a filter.
pub(crate) fn hashes(claimed: impl TryInto<u64>) -> Result<u32, Fault> {
    match claimed.try_into().unwrap_or(u64::MAX) {
        hashes if (1..=u64::from(MOST_HASHES)).contains(&hashes) => Ok(hashes as u32),
        hashes => Err(Fault::Hashes(hashes)),
    }
}

/// The number of bits of a filter.
pub(crate) fn bits(claimed: u64) -> Result<u64, Fault> {
    if (1..=MOST_BITS).contains(&claimed) { Ok(claimed) } else { Err(Fault::Bits(claimed)) }
}

/// Words of eight bytes each, the highest first.
pub(crate) fn words_be(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|word| u64::from_be_bytes(*word)).collect()
}

/// Words of eight bytes each, the lowest first; the last may have fewer.
pub(crate) fn words_le(bytes: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8]| {
        let mut all = [0; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(all)
    };
    bytes.chunks(8).map(word).collect()
}

/// A filter whose bits are all of these words, the highest byte of each first, and of which nothing else is recorded.
pub(crate) fn of_words(scheme: Foreign, hashes: u32, words: &[u8]) -> Result<Filter<'static>, Fault> {
    let (bits, words) = (bits(8 * words.len() as u64)?, Cow::Owned(words_be(words)));
    Ok(Filter { scheme, bits, hashes, words, planned: None, added: None })
}

/// That no bit is set beyond the last.
pub(crate) fn no_bits_beyond(words: &[u64], bits: u64) -> Result<(), Fault> {
    match words.last() {
        Some(last) if !bits.is_multiple_of(64) && last >> (bits % 64) != 0 => Err(Fault::BitsBeyond),
        _ => Ok(()),
    }
}

/// That a layout whose numbers count to this can have the filter.
pub(crate) fn within(filter: &Filter<'_>, most: u64) -> Result<(), Failure> {
    let (layout, bits) = (Layout::of(filter.scheme), filter.bits);
    if bits > most {
        return Err(Failure::Unwritable(Unwritable::Bits { layout, most, bits }));
    }
    Ok(())
}
