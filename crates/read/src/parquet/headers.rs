//! The headers of a column's pages, read without the pages: what each is, and how its values are encoded.

use std::iter;

use parquet::file::reader::ChunkReader;

use super::pages::Shared;
use super::thrift::{I32, STRUCT, Thrift};

/// What the header of a page says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) content: Content,
    /// Values that it claims; with levels, nulls are among them.
    pub(super) values: u64,
    /// Its own bytes, and those of the page after it.
    length: u64,
}

/// What is in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// The dictionary.
    Dictionary,
    /// Numbers of values in the dictionary.
    References,
    /// Values as they are.
    Plain,
    /// Values in another encoding.
    Encoded,
}

/// Bytes in which the header of a page lies, mostly, and the most that are looked through for it: it may hold the least
/// and the greatest value of the page.
const USUAL: u64 = 512;
const MOST: u64 = 1 << 20;

/// The headers of a column that lies in these bytes of the file, in order; none in place of one that cannot be read,
/// or of a page that goes beyond the end, and nothing after it.
pub(super) fn walk(file: &Shared, (start, end): (u64, u64)) -> impl Iterator<Item = Option<Header>> + '_ {
    let mut next = Some(start);
    iter::from_fn(move || {
        let at = next.filter(|at| *at != end)?;
        let found = header(file, at, end);
        next = found.and_then(|found| at.checked_add(found.length)).filter(|next| *next <= end);
        Some(found.filter(|_| next.is_some()))
    })
}

/// How many values the dictionary of a column claims to have, if it begins with one and all its other pages refer to it.
/// What cannot be walked through does not.
pub(super) fn by_dictionary(file: &Shared, place: (u64, u64)) -> Option<u64> {
    let mut headers = walk(file, place);
    let first = headers.next()??;
    let refers = |header: Option<Header>| header.is_some_and(|header| header.content == Content::References);
    (first.content == Content::Dictionary && headers.all(refers)).then_some(first.values)
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
    const KIND: i64 = 1;
    const COMPRESSED: i64 = 3;
    // The kinds of pages, and the fields in which what is known of them stands: a header may have several of these.
    const DATA: (i64, i64) = (0, 5);
    const DICTIONARY: (i64, i64) = (2, 7);
    const DATA_V2: (i64, i64) = (3, 8);
    let (mut kind, mut compressed) = (None, None);
    let [mut data, mut dictionary, mut data_v2] = [[None; 3]; 3];
    let mut thrift = Thrift::of(bytes);
    thrift.fields(|thrift, field, of| match (field, of) {
        (KIND, I32) => thrift.zigzag().map(|number| kind = Some(number)),
        (COMPRESSED, I32) => thrift.zigzag().map(|number| compressed = Some(number)),
        (field, STRUCT) if field == DATA.1 => numbers(thrift, [1, 2, 3], &mut data),
        (field, STRUCT) if field == DICTIONARY.1 => numbers(thrift, [1, 2, 3], &mut dictionary),
        (field, STRUCT) if field == DATA_V2.1 => numbers(thrift, [1, 4, 4], &mut data_v2),
        _ => thrift.skip(of, 0),
    })?;
    let (content, values) = match kind? {
        kind if kind == DATA.0 => (data_content(data[1]?, data[2]? == RLE), data[0]),
        kind if kind == DICTIONARY.0 => (Content::Dictionary, dictionary[0]),
        kind if kind == DATA_V2.0 => (data_content(data_v2[1]?, true), data_v2[0]),
        _ => return None,
    };
    let own = (bytes.len() - thrift.rest().len()) as u64;
    let length = own.checked_add(u64::try_from(compressed?).ok()?)?;
    Some(Header { content, values: u64::try_from(values?).ok()?, length })
}

/// The encoding of levels that all writers use.
const RLE: i64 = 3;

/// What is in a page of data with this encoding; levels that are not encoded as usual are not taken apart here.
fn data_content(encoding: i64, levels_as_usual: bool) -> Content {
    const PLAIN: i64 = 0;
    const PLAIN_DICTIONARY: i64 = 2;
    const RLE_DICTIONARY: i64 = 8;
    match encoding {
        PLAIN_DICTIONARY | RLE_DICTIONARY => Content::References,
        PLAIN if levels_as_usual => Content::Plain,
        _ => Content::Encoded,
    }
}

/// Goes through a structure, and takes the numbers in these fields of it.
fn numbers(thrift: &mut Thrift<'_>, wanted: [i64; 3], found: &mut [Option<i64>; 3]) -> Option<()> {
    thrift.fields(|thrift, field, kind| {
        if kind != I32 || !wanted.contains(&field) {
            return thrift.skip(kind, 0);
        }
        let number = thrift.zigzag()?;
        wanted
            .iter()
            .zip(&mut *found)
            .filter(|(wanted, _)| **wanted == field)
            .for_each(|(_, to)| *to = Some(number));
        Some(())
    })
}
