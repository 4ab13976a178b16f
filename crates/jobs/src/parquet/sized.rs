//! A filter of the size that the distinct values of a column ask for, whose number is not known before they are read.
//!
//! All values go into the filter that would do if each were another one. A filter of half the size is it with pairs of
//! blocks put together, and how many values went in is told by its bits, to within a known error. Where that leaves
//! open which size is the right one, and where values are few, they are counted instead: so the size is that of the
//! true number, and depends on the values alone.

use tamis_formats::parquet::{SplitBlock, hash};
use tamis_read::Control;
use tamis_read::error::Result;
use tamis_read::parquet::{Chunk, Members};

use super::Distinct;

/// How many distinct values there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// They were counted.
    Exact(u64),
    /// The bits of the filter tell.
    Estimated(u64),
}

impl Count {
    /// The number.
    pub fn number(self) -> u64 {
        match self {
            Count::Exact(number) | Count::Estimated(number) => number,
        }
    }
}

/// Up to this many values, they are counted.
const FEW: u64 = 1 << 14;

/// Room is made for no more values than this for each byte that a column has in the file, whatever it claims.
const PER_BYTE: u64 = 4;

/// How many hashes are put into a filter together.
const TOGETHER: usize = 512;

/// How many standard deviations the true number may be away from the estimated one.
const DEVIATIONS: f64 = 8.0;

/// The filter of a column of a row group, and how many distinct values went into it.
pub(super) fn filter(
    chunk: &Chunk<'_>,
    members: &Members<'_>,
    rate: f64,
    control: &Control,
) -> Result<(SplitBlock, Count)> {
    let claimed = members.at_most();
    if claimed > FEW {
        let room = claimed.min(chunk.size().saturating_mul(PER_BYTE));
        if let Some(done) = folded(members, room, rate, control)? {
            return Ok(done);
        }
    }
    let mut distinct = Distinct::default();
    members.each(control, |value| distinct.push(hash(value)))?;
    let hashes = distinct.finish();
    let mut filter = SplitBlock::new(SplitBlock::bytes_for(hashes.len() as u64, rate));
    filter.insert_hashes(&hashes);
    Ok((filter, Count::Exact(hashes.len() as u64)))
}

/// A filter for this many values, made as small as it may be; none where its bits do not tell how small.
fn folded(
    members: &Members<'_>,
    room: u64,
    rate: f64,
    control: &Control,
) -> Result<Option<(SplitBlock, Count)>> {
    let mut filter = SplitBlock::new(SplitBlock::bytes_for(room, rate));
    let (mut hashes, mut held, mut values) = ([0; TOGETHER], 0, 0);
    members.each(control, |value| {
        hashes[held] = hash(value);
        held += 1;
        if held == TOGETHER {
            filter.insert_hashes(&hashes);
            values += TOGETHER as u64;
            held = 0;
        }
    })?;
    filter.insert_hashes(&hashes[..held]);
    values += held as u64;
    let Some((estimate, deviation)) = filter.estimated_values() else { return Ok(None) };
    let at_most = |number: f64| (number.max(0.0) as u64).min(values);
    let margin = DEVIATIONS * deviation;
    let [least, most] = [estimate - margin, estimate + margin + 1.0].map(at_most);
    let size = SplitBlock::bytes_for(least, rate);
    if size != SplitBlock::bytes_for(most, rate) || size > filter.len() {
        return Ok(None);
    }
    filter.fold(size);
    Ok(Some((filter, Count::Estimated(at_most(estimate.round())))))
}
