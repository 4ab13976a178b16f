//! Writing a container.

use alloc::vec::Vec;
use std::io::{self, Write};

use super::header::{Entry, Header};
use super::{ALIGN, Extents, HEADER_BYTES, checksum};
use crate::about::About;
use crate::counting;
use crate::countmin::{Heavy, counters_used};
use crate::error::{Error, ShapeFault};
use crate::params::{GroupParams, Numbers, Params};
use crate::sizing::Shape;
use crate::sketch::Beside;

/// What a group's sketch says of itself in the directory, besides its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Rows added; sums up when files are merged.
    pub rows: u64,
    /// Bits that are set; in a `counting` and a `count-min` counters that are not zero.
    pub ones: u64,
    /// What its kind keeps beside its words.
    pub beside: Beside,
    /// The checksum of the section.
    pub sum: u64,
}

impl Tally {
    /// Rows removed from a `counting`; none of others.
    pub fn removed(&self) -> u64 {
        self.beside.removed()
    }

    /// Rows added and not removed.
    pub fn held(&self) -> u64 {
        self.rows.saturating_sub(self.removed())
    }

    /// The total weight in a `count-min`; none in others.
    pub fn total_weight(&self) -> u64 {
        self.beside.total_weight()
    }
}

/// The tally of a finished section of a sketch of this shape.
pub fn seal(shape: &Shape, section: &[u64], rows: u64, beside: Beside) -> Tally {
    Tally { rows, beside, ones: used(shape, section), sum: checksum(bytemuck::cast_slice(section)) }
}

/// The bits that are set; in a `counting` and a `count-min` the counters that are not zero.
pub fn used(shape: &Shape, section: &[u64]) -> u64 {
    match *shape {
        Shape::Counting { .. } => counting::counters_used(section),
        Shape::CountMin { counter_bits, .. } => counters_used(section, counter_bits),
        _ => section.iter().map(|word| u64::from(word.count_ones())).sum(),
    }
}

/// What stands after the data area; empty in most files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extras<'a> {
    /// Keys of a large share, beside sketches that count.
    pub heavy: Option<&'a Heavy>,
    /// What is recorded about the file.
    pub about: Option<&'a About>,
    /// The progress of a job that can be resumed.
    pub journal: &'a [u8],
}

/// Writes a container. `data` is the data area as [`Params::layout`] lays it out; the words of
/// padding after the last group may be left out, so that the words of a single sketch will do. The
/// tallies stand in the order of the groups.
///
/// # Errors
/// Those of `out`; and [`io::ErrorKind::InvalidInput`], with an [`Error::Shape`], where the parameters
/// are impossible, or the data or the tallies are not those of the parameters. Nothing is written then.
pub fn write(
    out: &mut impl Write,
    params: &Params,
    tallies: &[Tally],
    data: &[u64],
    extras: Extras<'_>,
) -> io::Result<()> {
    let after = After::new(extras)?;
    let head = head_before(params, tallies, &after)?;
    let missing = missing_padding(params, data)?;
    out.write_all(&head)?;
    out.write_all(bytemuck::cast_slice(data))?;
    out.write_all(&[0; ALIGN as usize][..8 * missing])?;
    out.write_all(&after.bytes())
}

/// What stands after the data area, as bytes.
struct After<'a> {
    heavy: Vec<u8>,
    about: Vec<u8>,
    journal: &'a [u8],
}

impl<'a> After<'a> {
    fn new(Extras { heavy, about, journal }: Extras<'a>) -> io::Result<After<'a>> {
        let about = about.map(About::encode).transpose();
        let about = about.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let heavy = heavy.map(Heavy::encode).unwrap_or_default();
        Ok(After { heavy, about: about.unwrap_or_default(), journal })
    }

    fn lengths(&self) -> [u64; 3] {
        [self.heavy.len() as u64, self.about.len() as u64, self.journal.len() as u64]
    }

    /// All of it, each part from a cache line on.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.heavy.clone();
        for part in [&self.about[..], self.journal] {
            if !part.is_empty() {
                bytes.resize(bytes.len().next_multiple_of(ALIGN as usize), 0);
                bytes.extend_from_slice(part);
            }
        }
        bytes
    }
}

/// The checksum of a part; zero where there is none.
fn sum_of(part: &[u8]) -> u64 {
    if part.is_empty() { 0 } else { checksum(part) }
}

/// The words of padding that the data area lacks at its end: fewer than a cache line has.
fn missing_padding(params: &Params, data: &[u64]) -> io::Result<usize> {
    let words = params.groups.iter().map(section_words).sum();
    let last =
        params.groups.last().map_or(0, |group| words - section_words(group) + group.shape.words() as usize);
    if !(last..=words).contains(&data.len()) {
        return Err(unfit(ShapeFault::Data { expected: words, got: data.len() }));
    }
    Ok(words - data.len())
}

/// The words of a section and of the padding after it, as [`Params::layout`] has them.
fn section_words(group: &GroupParams) -> usize {
    (group.shape.words() as usize).next_multiple_of(8)
}

/// What was given does not belong together.
fn unfit(what: ShapeFault) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, Error::Shape(what))
}

/// All that stands before the data area of a container. Its length does not depend on the tallies, nor on
/// what stands after the data: a data area may be put in its place before they are known.
///
/// # Errors
/// As of [`write()`].
pub fn head(params: &Params, tallies: &[Tally], extras: Extras<'_>) -> io::Result<Vec<u8>> {
    head_before(params, tallies, &After::new(extras)?)
}

/// All that stands after the data area.
///
/// # Errors
/// As of [`write()`].
pub fn tail(extras: Extras<'_>) -> io::Result<Vec<u8>> {
    Ok(After::new(extras)?.bytes())
}

fn head_before(params: &Params, tallies: &[Tally], after: &After<'_>) -> io::Result<Vec<u8>> {
    params.check().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    let words: usize = params.groups.iter().map(section_words).sum();
    if tallies.len() != params.groups.len() {
        return Err(unfit(ShapeFault::Tallies { tallies: tallies.len(), groups: params.groups.len() }));
    }
    let description = serde_json::to_vec(&params.common)?;
    let names_len = params.groups.iter().map(|group| group.group.0.len() as u64).sum();
    let groups = params.groups.len() as u64;
    let lengths = [description.len() as u64, groups, names_len, 8 * words as u64];
    let extents = Extents::of(lengths, after.lengths()).ok_or(io::ErrorKind::FileTooLarge)?;

    // There may be millions of groups: what is written of them is made in its place, once.
    let pad = |head: &mut Vec<u8>| head.resize(head.len().next_multiple_of(ALIGN as usize), 0);
    let mut head = Vec::with_capacity(extents.data.0 as usize);
    head.resize(HEADER_BYTES, 0);
    pad(&mut head);
    head.extend_from_slice(&description);
    pad(&mut head);
    let directory = head.len();
    let (mut name_offset, mut start) = (0, 0);
    for (group, tally) in params.groups.iter().zip(tallies) {
        let name_len = u32::try_from(group.group.0.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let Numbers { keys, fpr, slots, width, hashes, shorter } = group.numbers();
        let entry = Entry {
            name_offset,
            name_len,
            hashes,
            slots,
            width,
            shorter,
            seed: tally.beside.number(),
            keys,
            fpr,
            rows: tally.rows,
            ones: tally.ones,
            offset: extents.data.0 + 8 * start as u64,
            len: 8 * group.shape.words(),
            sum: tally.sum,
        };
        head.extend_from_slice(&entry.encode());
        name_offset += u64::from(name_len);
        start += section_words(group);
    }
    let directory_sum = checksum(&head[directory..]);
    pad(&mut head);
    let names = head.len();
    params.groups.iter().for_each(|group| head.extend_from_slice(&group.group.0));
    let names_sum = checksum(&head[names..]);
    pad(&mut head);
    let header = Header {
        version: if after.about.is_empty() { params.common.version() } else { 2 },
        about_len: after.about.len() as u32, // at most a mebibyte
        about_sum: sum_of(&after.about),
        file_len: extents.journal.1,
        description_len: description.len() as u64,
        groups,
        names_len,
        data_len: 8 * words as u64,
        description_sum: checksum(&description),
        directory_sum,
        names_sum,
        journal_len: after.journal.len() as u64,
        journal_sum: sum_of(after.journal),
        heavy_len: after.heavy.len() as u64,
        heavy_sum: sum_of(&after.heavy),
    };
    head[..HEADER_BYTES].copy_from_slice(&header.encode());
    Ok(head)
}
