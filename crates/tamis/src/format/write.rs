//! Writing a container.

use std::io::{self, Write};

use super::header::{Entry, Header};
use super::{ALIGN, Extents, checksum};
use crate::counting;
use crate::countmin::{Heavy, counters_used};
use crate::params::Params;
use crate::sizing::{Kind, Shape};

/// What a group's sketch says of itself in the directory, besides its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Rows added; sums up when files are merged.
    pub rows: u64,
    /// Bits that are set; in a `counting` and a `count-min` counters that are not zero.
    pub ones: u64,
    /// The seed with which a `fuse` could be built; the keys in the newest layer of a `scalable`;
    /// the rows removed from a `counting`; the total weight in a `count-min`.
    pub seed: u64,
    /// The checksum of the section.
    pub sum: u64,
}

impl Tally {
    /// Rows removed from a sketch of this kind.
    pub fn removed(&self, kind: Kind) -> u64 {
        if kind == Kind::Counting { self.seed } else { 0 }
    }

    /// Rows added and not removed.
    pub fn held(&self, kind: Kind) -> u64 {
        self.rows.saturating_sub(self.removed(kind))
    }
}

/// The tally of a finished section of a sketch of this kind and shape.
pub fn seal(kind: Kind, shape: &Shape, section: &[u64], rows: u64, seed: u64) -> Tally {
    Tally { rows, seed, ones: used(kind, shape, section), sum: checksum(bytemuck::cast_slice(section)) }
}

/// The bits that are set; in a `counting` and a `count-min` the counters that are not zero.
pub fn used(kind: Kind, shape: &Shape, section: &[u64]) -> u64 {
    match kind {
        Kind::Counting => counting::counters_used(section),
        kind if kind.counts() => counters_used(section, shape.width),
        _ => section.iter().map(|word| u64::from(word.count_ones())).sum(),
    }
}

/// What stands after the data area; empty in most files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extras<'a> {
    /// Keys of a large share, beside sketches that count.
    pub heavy: Option<&'a Heavy>,
    /// What a job that goes on must remember.
    pub journal: &'a [u8],
}

/// Writes a container. `data` is the data area as [`Params::layout`] lays it out; the tallies
/// stand in the order of the groups.
pub fn write(
    out: &mut impl Write,
    params: &Params,
    tallies: &[Tally],
    data: &[u64],
    Extras { heavy, journal }: Extras<'_>,
) -> io::Result<()> {
    let heavy = heavy.map(Heavy::encode).unwrap_or_default();
    let (starts, words) = params.layout();
    assert_eq!(tallies.len(), params.groups.len());
    assert_eq!(data.len(), words);
    let description = serde_json::to_vec(&params.common)?;
    let names: Vec<u8> = params.groups.iter().flat_map(|group| group.group.0.iter().copied()).collect();
    let groups = params.groups.len() as u64;
    let lengths = [description.len() as u64, groups, names.len() as u64, 8 * data.len() as u64];
    let extents =
        Extents::of(lengths, heavy.len() as u64, journal.len() as u64).ok_or(io::ErrorKind::FileTooLarge)?;

    let mut directory = Vec::with_capacity(params.groups.len() * super::ENTRY_BYTES);
    let mut name_offset = 0;
    for ((group, tally), start) in params.groups.iter().zip(tallies).zip(&starts) {
        let name_len = u32::try_from(group.group.0.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let entry = Entry {
            name_offset,
            name_len,
            hashes: group.shape.hashes,
            slots: group.shape.slots,
            width: group.shape.width,
            seed: tally.seed,
            keys: group.keys,
            fpr: group.fpr,
            rows: tally.rows,
            ones: tally.ones,
            offset: extents.data.0 + 8 * *start as u64,
            len: 8 * group.shape.words(params.common.kind),
            sum: tally.sum,
        };
        directory.extend_from_slice(&entry.encode());
        name_offset += u64::from(name_len);
    }
    let header = Header {
        file_len: extents.journal.1,
        description_len: description.len() as u64,
        groups,
        names_len: names.len() as u64,
        data_len: 8 * data.len() as u64,
        description_sum: checksum(&description),
        directory_sum: checksum(&directory),
        names_sum: checksum(&names),
        journal_len: journal.len() as u64,
        journal_sum: if journal.is_empty() { 0 } else { checksum(journal) },
        heavy_len: heavy.len() as u64,
        heavy_sum: if heavy.is_empty() { 0 } else { checksum(&heavy) },
    };
    for part in [&header.encode()[..], &description, &directory, &names] {
        out.write_all(part)?;
        let padding = part.len().next_multiple_of(ALIGN as usize) - part.len();
        out.write_all(&[0; ALIGN as usize][..padding])?;
    }
    out.write_all(bytemuck::cast_slice(data))?;
    out.write_all(&heavy)?;
    if !journal.is_empty() {
        let padding = heavy.len().next_multiple_of(ALIGN as usize) - heavy.len();
        out.write_all(&[0; ALIGN as usize][..padding])?;
    }
    out.write_all(journal)
}
