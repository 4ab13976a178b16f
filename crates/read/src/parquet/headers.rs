//! The headers of a column's pages, read without the pages: what each is, and how its values are encoded.

use parquet::file::reader::ChunkReader;

use super::pages::Shared;
use super::thrift::{I32, STRUCT, Thrift};

/// What the header of a page says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Header {
    /// Bytes of the page after it.
    compressed: u64,
    dictionary: Option<u64>,
    /// How values are encoded, in a page of data.
    encoding: Option<i64>,
    /// Its own bytes.
    len: u64,
}

/// The pages of a column that are all told by a dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ByDictionary {
    /// Values in the dictionary, as its header claims.
    pub(super) values: u64,
}

/// Bytes in which the header of a page lies, mostly, and the most that are looked through for it: it may hold the least
/// and the greatest value of the page.
const USUAL: u64 = 512;
const MOST: u64 = 1 << 20;

/// Whether a column, which lies in these bytes of the file, begins with a dictionary and all its other pages refer to
/// it. What cannot be walked through does not.
pub(super) fn by_dictionary(file: &Shared, (start, end): (u64, u64)) -> Option<ByDictionary> {
    // PLAIN_DICTIONARY and RLE_DICTIONARY.
    const REFERRING: [i64; 2] = [2, 8];
    let first = header(file, start, end)?;
    let values = first.dictionary?;
    let mut at = start.checked_add(first.len)?.checked_add(first.compressed)?;
    while at < end {
        let page = header(file, at, end)?;
        if page.encoding.is_none_or(|encoding| !REFERRING.contains(&encoding)) {
            return None;
        }
        at = at.checked_add(page.len)?.checked_add(page.compressed)?;
    }
    (at == end).then_some(ByDictionary { values })
}

/// The header of the page that begins at a place, before the end of its column.
fn header(file: &Shared, at: u64, end: u64) -> Option<Header> {
    let mut length = USUAL;
    loop {
        let bytes = file.get_bytes(at, usize::try_from(length.min(end.checked_sub(at)?)).ok()?).ok()?;
        match parse(&bytes) {
            Some(header) => return Some(header),
            None if length < MOST && (bytes.len() as u64) == length => length *= 8,
            None => return None,
        }
    }
}

fn parse(bytes: &[u8]) -> Option<Header> {
    const COMPRESSED: i64 = 3;
    const DATA: i64 = 5;
    const DICTIONARY: i64 = 7;
    const DATA_V2: i64 = 8;
    let mut found = Header::default();
    let mut thrift = Thrift::of(bytes);
    thrift.fields(|thrift, field, kind| match (field, kind) {
        (COMPRESSED, I32) => {
            found.compressed = u64::try_from(thrift.zigzag()?).ok()?;
            Some(())
        }
        (DATA, STRUCT) => number(thrift, 2, &mut found.encoding),
        (DATA_V2, STRUCT) => number(thrift, 4, &mut found.encoding),
        (DICTIONARY, STRUCT) => {
            let mut values = None;
            number(thrift, 1, &mut values)?;
            found.dictionary = Some(u64::try_from(values?).ok()?);
            Some(())
        }
        _ => thrift.skip(kind, 0),
    })?;
    found.len = (bytes.len() - thrift.rest().len()) as u64;
    Some(found)
}

/// Goes through a structure, and takes the number in this field of it.
fn number(thrift: &mut Thrift<'_>, wanted: i64, found: &mut Option<i64>) -> Option<()> {
    thrift.fields(|thrift, field, kind| {
        if (field, kind) == (wanted, I32) {
            *found = Some(thrift.zigzag()?);
            return Some(());
        }
        thrift.skip(kind, 0)
    })
}
