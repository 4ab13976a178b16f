//! Every value of a column of a row group at least once: what a filter needs, and no more.
//!
//! Values of the dictionary come once, and pages that refer to it are not read. Values that are stored as they are come
//! straight from their pages. Columns with other encodings, and lists, are decoded row by row.

use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageReader};

use super::bad::Undecodable;
use super::chunk::Chunk;
use super::headers::{self, Content, Header};
use super::pages::varint;
use crate::{Control, Result};

/// The values of a column of a row group, each at least once.
#[derive(Debug)]
pub struct Members<'a> {
    chunk: Chunk<'a>,
    way: Way,
}

#[derive(Debug)]
enum Way {
    /// Row by row.
    Decoded,
    /// By what the pages hold, which are all plain or refer to the dictionary.
    Pages(Vec<Header>),
}

impl<'a> Members<'a> {
    /// Looks at the headers of all pages.
    pub(super) fn of(chunk: Chunk<'a>) -> Result<Members<'a>> {
        let way = match is_flat(&chunk) {
            true => by_pages(&chunk)?.map_or(Way::Decoded, Way::Pages),
            false => Way::Decoded,
        };
        Ok(Members { chunk, way })
    }

    /// How many there are at most, as the file claims.
    pub fn at_most(&self) -> u64 {
        match &self.way {
            Way::Decoded => u64::try_from(self.chunk.metadata().num_values()).unwrap_or(0),
            Way::Pages(pages) => {
                let read = pages.iter().filter(|page| page.content != Content::References);
                read.fold(0, |sum, page| sum.saturating_add(page.values))
            }
        }
    }

    /// Whether all come from the dictionary.
    pub fn are_a_dictionary(&self) -> bool {
        let of_it = |page: &Header| matches!(page.content, Content::Dictionary | Content::References);
        matches!(&self.way, Way::Pages(pages) if !pages.is_empty() && pages.iter().all(of_it))
    }

    /// Gives all, in the encoding PLAIN and without their length.
    pub fn each(&self, control: &Control, mut take: impl FnMut(&[u8])) -> Result<()> {
        let Way::Pages(pages) = &self.way else { return self.chunk.values(control, take) };
        let damaged = |why| self.chunk.damaged(why);
        let mut reader = self.chunk.pages()?;
        for page in pages {
            control.check()?;
            if page.content == Content::References || page.values == 0 {
                reader.skip_next_page().map_err(|error| damaged(error.into()))?;
                continue;
            }
            let page = reader.get_next_page().map_err(|error| damaged(error.into()))?;
            let (values, data) = page
                .as_ref()
                .and_then(|page| self.stored(page))
                .ok_or_else(|| damaged(Undecodable::Levels))?;
            plain(data, values, self.chunk.width(), &mut take).ok_or_else(|| damaged(Undecodable::Page))?;
        }
        Ok(())
    }

    /// How many values are in a page, and what begins with them.
    fn stored<'p>(&self, page: &'p Page) -> Option<(usize, &'p [u8])> {
        let full = self.chunk.metadata().column_descr().max_def_level();
        match page {
            Page::DictionaryPage { buf, num_values, .. } => Some((*num_values as usize, buf)),
            Page::DataPage { buf, num_values, encoding: Encoding::PLAIN, .. } if full == 0 => {
                Some((*num_values as usize, buf))
            }
            Page::DataPage { buf, num_values, encoding: Encoding::PLAIN, .. } => {
                let (length, rest) = buf.split_first_chunk()?;
                let (levels, data) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
                Some((count(levels, *num_values as usize, full)?, data))
            }
            Page::DataPageV2 {
                buf,
                num_values,
                encoding: Encoding::PLAIN,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let rest = buf.get(*rep_levels_byte_len as usize..)?;
                let (levels, data) = rest.split_at_checked(*def_levels_byte_len as usize)?;
                let values =
                    if full == 0 { *num_values as usize } else { count(levels, *num_values as usize, full)? };
                Some((values, data))
            }
            Page::DataPage { .. } | Page::DataPageV2 { .. } => None,
        }
    }
}

/// Whether a row has one value at most, of at least a byte.
fn is_flat(chunk: &Chunk<'_>) -> bool {
    let column = chunk.metadata().column_descr();
    column.max_rep_level() == 0 && column.physical_type() != Type::BOOLEAN && chunk.width() != Some(0)
}

/// The headers of all pages; none where one is something else than plain or a reference, or the pages claim fewer
/// values than the row group has rows: whoever decodes them says what is wrong.
fn by_pages(chunk: &Chunk<'_>) -> Result<Option<Vec<Header>>> {
    let (file, place) = chunk.place()?;
    let (mut pages, mut values, mut has_dictionary) = (Vec::new(), 0u64, false);
    for page in headers::walk(&file, place) {
        let Some(page) = page else { return Ok(None) };
        match page.content {
            Content::Dictionary if pages.is_empty() => has_dictionary = true,
            Content::References if has_dictionary => values = values.saturating_add(page.values),
            Content::Plain => values = values.saturating_add(page.values),
            Content::Dictionary | Content::References | Content::Encoded => return Ok(None),
        }
        pages.push(page);
    }
    Ok((values >= chunk.rows()).then_some(pages))
}

/// How many of these levels say that a value is there. They are encoded in runs of one level, and of packed ones.
fn count(mut data: &[u8], levels: usize, full: i16) -> Option<usize> {
    let (bits, full) = ((i16::BITS - full.leading_zeros()) as usize, full as u32);
    let (mut left, mut found) = (levels, 0);
    while left > 0 {
        let mut at = 0;
        let head = usize::try_from(varint(data, &mut at)?).ok()?;
        data = &data[at..];
        let (length, is_packed) = (head >> 1, head & 1 == 1);
        if is_packed {
            let run = length.checked_mul(8)?.min(left);
            // What would fill up the last byte may be missing.
            let packed = data.get(..(run * bits).div_ceil(8))?;
            found += count_packed(packed, run, bits, full)?;
            data = data.get(length.saturating_mul(bits)..).unwrap_or_default();
            left -= run;
        } else {
            let (level, rest) = data.split_at_checked(bits.div_ceil(8))?;
            let level = level.iter().rev().fold(0, |all, byte| (all << 8) | u32::from(*byte));
            let run = length.min(left);
            found += if level == full { run } else { 0 };
            (level <= full).then_some(())?;
            data = rest;
            left -= run;
        }
    }
    Some(found)
}

/// How many of packed levels are `full`; none where one is above it.
fn count_packed(packed: &[u8], levels: usize, bits: usize, full: u32) -> Option<usize> {
    if bits == 1 {
        let (whole, last) = packed.split_at(levels / 8);
        let ones: u32 = whole.iter().map(|byte| byte.count_ones()).sum();
        let rest = last.first().map_or(0, |byte| (byte & ((1 << (levels % 8)) - 1)).count_ones());
        return Some((ones + rest) as usize);
    }
    let level = |at: usize| {
        let bit = |at: usize| u32::from(packed[at / 8] >> (at % 8) & 1);
        (0..bits).fold(0, |level, one| level | bit(at * bits + one) << one)
    };
    (0..levels)
        .map(level)
        .try_fold(0, |found, level| (level <= full).then_some(found + usize::from(level == full)))
}

/// Gives values in the encoding PLAIN; none where there are fewer.
fn plain(data: &[u8], values: usize, width: Option<usize>, take: &mut impl FnMut(&[u8])) -> Option<()> {
    let fixed = |width: usize| data.get(..values.checked_mul(width)?);
    match width {
        // Of these, whoever takes them knows the length when it is compiled.
        Some(4) => fixed(4)?.as_chunks::<4>().0.iter().for_each(|value| take(value)),
        Some(8) => fixed(8)?.as_chunks::<8>().0.iter().for_each(|value| take(value)),
        Some(width) => fixed(width)?.chunks_exact(width).for_each(take),
        None => {
            let mut rest = data;
            for _ in 0..values {
                let (length, from) = rest.split_first_chunk()?;
                let (value, after) = from.split_at_checked(u32::from_le_bytes(*length) as usize)?;
                take(value);
                rest = after;
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_in_runs_and_packed_ones_are_counted() {
        // 300 times 1; then 16 packed: five of them 1.
        let runs = [0xd8, 0x04, 1, 0x05, 0b0000_0111, 0b1000_0001];
        assert_eq!(count(&runs, 300, 1), Some(300));
        assert_eq!(count(&runs, 299, 1), Some(299));
        assert_eq!(count(&runs, 316, 1), Some(305));
        // Of packed levels, the last may be padding.
        assert_eq!(count(&runs, 315, 1), Some(304));
        assert_eq!(count(&runs, 302, 1), Some(302));
        // Two bits each: 0 1 2 3, and 2 2 2 2.
        let packed = [0x03, 0b1110_0100, 0b1010_1010];
        assert_eq!(count(&packed, 8, 3), Some(1));
        assert_eq!(count(&packed, 8, 2), None, "a level above the highest");
        assert_eq!(count(&packed[..2], 4, 3), Some(1), "padding may be missing");
        assert_eq!(count(&[0x02, 2], 1, 1), None, "a level above the highest");
    }

    #[test]
    fn levels_that_end_early_or_claim_too_much_are_refused() {
        assert_eq!(count(&[], 1, 1), None);
        assert_eq!(count(&[0x02, 1], 2, 1), None);
        assert_eq!(count(&[0x00, 1], 1, 1), None, "a run of none");
        assert_eq!(count(&[0x03], 1, 1), None);
        assert_eq!(count(&[0xff; 11], 1, 1), None);
        let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(count(&huge, 1, 1), None);
    }

    #[test]
    fn values_of_any_width_are_given_or_found_missing() {
        let given = |data: &[u8], values, width| {
            let mut all: Vec<Vec<u8>> = Vec::new();
            plain(data, values, width, &mut |value: &[u8]| all.push(value.to_vec())).map(|()| all)
        };
        assert_eq!(given(b"abcdefgh", 2, Some(4)), Some(vec![b"abcd".to_vec(), b"efgh".to_vec()]));
        assert_eq!(given(b"abcdefgh", 1, Some(8)).unwrap().len(), 1);
        assert_eq!(given(b"abcdef", 2, Some(3)), Some(vec![b"abc".to_vec(), b"def".to_vec()]));
        assert_eq!(given(b"abcdefg", 2, Some(4)), None);
        assert_eq!(given(b"abc", usize::MAX, Some(4)), None);
        let texts = [&2u32.to_le_bytes()[..], b"ab", &0u32.to_le_bytes(), &1u32.to_le_bytes(), b"c"].concat();
        assert_eq!(given(&texts, 3, None), Some(vec![b"ab".to_vec(), vec![], b"c".to_vec()]));
        assert_eq!(given(&texts, 4, None), None);
        assert_eq!(given(&u32::MAX.to_le_bytes(), 1, None), None);
    }
}
