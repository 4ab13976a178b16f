//! Numbered parts of a job as bytes: a mark with the version of the encoding, a digest of what the
//! job is about, the content, and a checksum of all before it.
//!
//! Parts go between processes of one job, which should all have the same version of this program; where
//! they have not, or something is damaged, this is said, and nothing is trusted.

use tamis::hash::xxh3;
use tamis_read::error::{Error, Result};

use super::Refusal;

/// What a part holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// What a counter saw.
    Counts,
    /// Touches of a range of the data area.
    Touches,
    /// The words of a range.
    Words,
    /// Rows, weights and rows left out.
    Tally,
    /// Keys of a test.
    Keys,
}

impl Content {
    fn mark(self) -> [u8; 8] {
        // The last byte is the version of all of them.
        match self {
            Content::Counts => *b"tamisCo\x01",
            Content::Touches => *b"tamisTo\x01",
            Content::Words => *b"tamisWo\x01",
            Content::Tally => *b"tamisTa\x01",
            Content::Keys => *b"tamisKe\x01",
        }
    }
}

const HEAD: usize = 16;
const SUM: usize = 8;

/// A part in the making.
#[derive(Debug)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// Begins a part of a job with this digest.
    pub fn new(content: Content, digest: u64) -> Writer {
        let mut bytes = content.mark().to_vec();
        bytes.extend_from_slice(&digest.to_le_bytes());
        Writer(bytes)
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it holds nothing yet.
    pub fn is_empty(&self) -> bool {
        self.0.len() == HEAD
    }

    /// Adds a byte.
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    /// Adds a number.
    pub fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Adds a number.
    pub fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Adds numbers.
    pub fn words(&mut self, words: &[u64]) {
        self.0.extend_from_slice(bytemuck::cast_slice(words));
    }

    /// The part.
    pub fn finish(mut self) -> Vec<u8> {
        let sum = xxh3(&self.0, 0);
        self.0.extend_from_slice(&sum.to_le_bytes());
        self.0
    }
}

/// A part that is read.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    /// What it holds.
    pub content: Content,
    rest: &'a [u8],
}

/// What is said of a part that cannot be used.
pub fn damaged() -> Error {
    Refusal::Damaged.into()
}

impl<'a> Reader<'a> {
    /// Opens a part of a job with this digest.
    pub fn open(bytes: &'a [u8], digest: u64) -> Result<Reader<'a>> {
        let all = [Content::Counts, Content::Touches, Content::Words, Content::Tally, Content::Keys];
        let (body, sum) = bytes.split_last_chunk::<SUM>().ok_or_else(damaged)?;
        let (head, rest) = body.split_first_chunk::<HEAD>().ok_or_else(damaged)?;
        let content = all.into_iter().find(|content| head[..8] == content.mark()).ok_or_else(damaged)?;
        if xxh3(body, 0) != u64::from_le_bytes(*sum) {
            return Err(damaged());
        }
        if head[8..] != digest.to_le_bytes() {
            return Err(Refusal::Mixed.into());
        }
        Ok(Reader { content, rest })
    }

    /// This many bytes.
    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or_else(damaged)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// All that is left.
    pub fn remaining(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// A byte.
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.bytes(1)?[0])
    }

    /// A number.
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.bytes(4)?.try_into().map_err(|_| damaged())?))
    }

    /// A number.
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.bytes(8)?.try_into().map_err(|_| damaged())?))
    }

    /// This many numbers, which are copied: bytes may begin anywhere in memory.
    pub fn words(&mut self, count: usize) -> Result<Vec<u64>> {
        let bytes = self.bytes(count.checked_mul(8).ok_or_else(damaged)?)?;
        Ok(bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect())
    }

    /// Whether all was read.
    pub fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// Refuses what has something more.
    pub fn done(&self) -> Result<()> {
        if self.is_done() { Ok(()) } else { Err(damaged()) }
    }
}
