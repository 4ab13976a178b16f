//! Bloom filters inside Parquet files: what is there, whether it holds, and the same file with more of them.

pub mod check;
pub mod index;
pub mod inspect;
pub mod sized;

use tamis_formats::Fault;
use tamis_formats::parquet::{Header, LONGEST_HEADER, SplitBlock};
use tamis_make::distinct::once;
use tamis_read::error::{Error, Result};
use tamis_read::parquet::Chunk;
use tamis_read::refusal;

/// Why a filter in a Parquet file cannot be used, or made.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// What stands in its place is no filter.
    #[error("row group {group}: the Bloom filter of column {column:?} is damaged: {fault}")]
    Damaged {
        /// The row group, from 0.
        group: usize,
        /// The path of the column.
        column: String,
        /// What is wrong.
        fault: Fault,
    },
    /// A column of truth values.
    #[error("column {column:?} holds truth values: Parquet has no Bloom filters for them, and needs none")]
    Boolean {
        /// The path of the column.
        column: String,
    },
    /// A column that is named twice.
    #[error("a column is named twice: {column:?}")]
    Twice {
        /// The path of the column.
        column: String,
    },
}

impl refusal::Refusal for Refusal {}

/// The filter of a column of a row group; none where it has none.
pub(crate) fn filter_of(chunk: &Chunk<'_>) -> Result<Option<SplitBlock>> {
    let Some((offset, said)) = chunk.filter_place()? else { return Ok(None) };
    let damaged = |fault| {
        let (group, column) = (chunk.group(), chunk.name());
        Error::input(chunk.path(), Refusal::Damaged { group, column, fault })
    };
    let room = chunk.file_size().saturating_sub(offset).min(said.unwrap_or(u64::MAX));
    let head = chunk.bytes_at(offset, room.min(LONGEST_HEADER as u64) as usize)?;
    let header = Header::read(&head).map_err(damaged)?;
    let expected = (header.len + header.blocks) as u64;
    if expected > room {
        return Err(damaged(Fault::Length { expected, got: room }));
    }
    let bytes = chunk.bytes_at(offset, header.len + header.blocks)?;
    SplitBlock::read(&bytes).map(Some).map_err(damaged)
}

/// Hashes of values that are kept once each.
#[derive(Debug, Default)]
struct Distinct {
    hashes: Vec<u64>,
    /// How many there may be before repetitions are dropped.
    most: usize,
}

/// This many hashes are kept before repetitions are looked for.
const MANY: usize = 1 << 21;

impl Distinct {
    #[inline]
    fn push(&mut self, hash: u64) {
        if self.hashes.len() >= self.most.max(MANY) {
            once(&mut self.hashes);
            self.most = 2 * self.hashes.len();
        }
        self.hashes.push(hash);
    }

    /// All of them, in no order.
    fn finish(mut self) -> Vec<u64> {
        once(&mut self.hashes);
        self.hashes
    }
}
