//! The fixed-size parts: the header, and an entry of the directory.

use super::{Extents, checksum};
use crate::about::MOST_BYTES;
use crate::error::{Damage, Error, Part, Result};

/// The first bytes of a file. The high bit and the line end tell when a transfer as text has
/// changed it.
pub const MAGIC: [u8; 8] = *b"\x89TAMIS\r\n";

/// The newest version. A file is written as the lowest that has what it needs.
pub const VERSION: u32 = 2;

/// Bytes of the header.
pub const HEADER_BYTES: usize = 128;

/// Bytes of an entry of the directory.
pub const ENTRY_BYTES: usize = 96;

/// Lengths and checksums of the parts that follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub version: u32,
    /// In version 1 there is no about part.
    pub about_len: u32,
    /// Zero where there is none.
    pub about_sum: u64,
    pub file_len: u64,
    pub description_len: u64,
    pub groups: u64,
    pub names_len: u64,
    pub data_len: u64,
    pub description_sum: u64,
    pub directory_sum: u64,
    pub names_sum: u64,
    pub journal_len: u64,
    /// Zero if there is no journal, as in files from before journals existed.
    pub journal_sum: u64,
    pub heavy_len: u64,
    /// Zero where there are no heavy keys.
    pub heavy_sum: u64,
}

impl Header {
    /// Where the parts begin and end; `None` on overflow.
    pub fn extents(&self) -> Option<Extents> {
        Extents::of(
            [self.description_len, self.groups, self.names_len, self.data_len],
            [self.heavy_len, u64::from(self.about_len), self.journal_len],
        )
    }

    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.about_len.to_le_bytes());
        let fields = [
            self.file_len,
            self.description_len,
            self.groups,
            self.names_len,
            self.data_len,
            self.description_sum,
            self.directory_sum,
            self.names_sum,
            self.journal_len,
            self.journal_sum,
            self.heavy_len,
            self.heavy_sum,
            self.about_sum,
        ];
        for (i, field) in fields.iter().enumerate() {
            bytes[16 + 8 * i..][..8].copy_from_slice(&field.to_le_bytes());
        }
        let sum = checksum(&bytes[..120]);
        bytes[120..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    pub fn decode(file: &[u8]) -> Result<Header> {
        if !file.starts_with(&MAGIC) {
            return Err(Error::Magic);
        }
        let Some(bytes) = file.first_chunk::<HEADER_BYTES>() else {
            return Err(Error::Length { expected: HEADER_BYTES as u64, got: file.len() as u64 });
        };
        let version = u32_at(bytes, 8);
        if !(1..=VERSION).contains(&version) {
            return Err(Error::Version { newest: VERSION, got: version });
        }
        if u64_at(bytes, 120) != checksum(&bytes[..120]) {
            return Err(Error::Checksum { part: Part::Header });
        }
        let (about_len, about_sum) = (u32_at(bytes, 12), u64_at(bytes, 112));
        if about_len as usize > MOST_BYTES {
            return Err(Error::Corrupt(Damage::AboutLength));
        }
        if version == 1 && (about_len, about_sum) != (0, 0) {
            return Err(Error::Corrupt(Damage::Reserved));
        }
        let field = |i: usize| u64_at(bytes, 16 + 8 * i);
        Ok(Header {
            version,
            about_len,
            about_sum,
            file_len: field(0),
            description_len: field(1),
            groups: field(2),
            names_len: field(3),
            data_len: field(4),
            description_sum: field(5),
            directory_sum: field(6),
            names_sum: field(7),
            journal_len: field(8),
            journal_sum: field(9),
            heavy_len: field(10),
            heavy_sum: field(11),
        })
    }
}

/// The length of a file that begins with these bytes, as its header says it: a number from a stranger, whose
/// parts fit together, and of which no memory should be taken on its word.
///
/// # Errors
/// Where they are not the beginning of a tamis file as this library knows them.
pub fn declared_length(begin: &[u8]) -> Result<u64> {
    let header = Header::decode(begin)?;
    let fits = header.extents().is_some_and(|extents| extents.journal.1 == header.file_len);
    if fits { Ok(header.file_len) } else { Err(Error::Corrupt(Damage::Lengths)) }
}

/// One group in the directory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Entry {
    pub name_offset: u64,
    pub name_len: u32,
    pub hashes: u32,
    pub slots: u64,
    pub width: u32,
    /// Of a `ribbon`; reserved in other kinds.
    pub shorter: u32,
    pub seed: u64,
    pub keys: u64,
    pub fpr: f64,
    pub rows: u64,
    pub ones: u64,
    pub offset: u64,
    pub len: u64,
    pub sum: u64,
}

impl Entry {
    pub fn encode(&self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        let mut at = 0;
        let mut put = |field: &[u8]| {
            bytes[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        };
        put(&self.name_offset.to_le_bytes());
        put(&self.name_len.to_le_bytes());
        put(&self.hashes.to_le_bytes());
        put(&self.slots.to_le_bytes());
        put(&self.width.to_le_bytes());
        put(&self.shorter.to_le_bytes());
        put(&self.seed.to_le_bytes());
        put(&self.keys.to_le_bytes());
        put(&self.fpr.to_le_bytes());
        put(&self.rows.to_le_bytes());
        put(&self.ones.to_le_bytes());
        put(&self.offset.to_le_bytes());
        put(&self.len.to_le_bytes());
        put(&self.sum.to_le_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8; ENTRY_BYTES]) -> Entry {
        Entry {
            name_offset: u64_at(bytes, 0),
            name_len: u32_at(bytes, 8),
            hashes: u32_at(bytes, 12),
            slots: u64_at(bytes, 16),
            width: u32_at(bytes, 24),
            shorter: u32_at(bytes, 28),
            seed: u64_at(bytes, 32),
            keys: u64_at(bytes, 40),
            fpr: f64::from_bits(u64_at(bytes, 48)),
            rows: u64_at(bytes, 56),
            ones: u64_at(bytes, 64),
            offset: u64_at(bytes, 72),
            len: u64_at(bytes, 80),
            sum: u64_at(bytes, 88),
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
