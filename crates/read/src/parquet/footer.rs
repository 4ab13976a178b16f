//! A look at the footer before the real reader gets it.
//!
//! The reader builds the schema by recursion and makes room for as many children as a group
//! claims to have. In a damaged or hostile file that ends the process (out of memory, out of
//! stack), which nothing can catch; so the tree of the schema is walked here first. All else in
//! the footer is left to the reader, which checks it.

use bytes::Bytes;
use parquet::file::reader::{ChunkReader, Length};

use super::bad::Broken;
use super::pages::Shared;
use super::thrift::{I32, LIST, MAX_DEPTH, Thrift};

/// Checks the schema in the footer of a file; an error says what is wrong with it.
///
/// Where the footer cannot be found or is encrypted, the reader will say so better.
pub(super) fn check(file: &Shared) -> Result<(), Broken> {
    read(file)?.map_or(Ok(()), |(_, footer)| check_metadata(&footer))
}

/// Where the footer of a file begins, and the footer; none where it cannot be found or is encrypted.
pub(super) fn read(file: &Shared) -> Result<Option<(u64, Bytes)>, Broken> {
    let Some(start) = file.len().checked_sub(8) else { return Ok(None) };
    let tail = file.get_bytes(start, 8)?;
    let [l1, l2, l3, l4, b'P', b'A', b'R', b'1'] = tail[..] else { return Ok(None) };
    let length = u32::from_le_bytes([l1, l2, l3, l4]);
    let Some(start) = start.checked_sub(length.into()) else { return Ok(None) };
    Ok(Some((start, file.get_bytes(start, length as usize)?)))
}

fn check_metadata(footer: &[u8]) -> Result<(), Broken> {
    const SCHEMA: i64 = 2;
    let mut thrift = Thrift::of(footer);
    let mut schema = None;
    let walked = thrift.fields(|thrift, field, kind| match (field, kind) {
        (SCHEMA, LIST) => {
            schema = Some(thrift.clone());
            thrift.skip(kind, 0)
        }
        _ => thrift.skip(kind, 0),
    });
    match (walked, schema) {
        (Some(()), Some(schema)) => check_tree(schema),
        _ => Err(Broken::Footer),
    }
}

/// The elements of a schema are a tree in depth-first order, each with its number of children.
fn check_tree(mut thrift: Thrift) -> Result<(), Broken> {
    const CHILDREN: i64 = 5;
    let (elements, _) = thrift.list().ok_or(Broken::Schema)?;
    // How many children each open group still waits for.
    let mut waiting: Vec<u64> = Vec::new();
    for element in 0..elements {
        let mut children = 0;
        let walked = thrift.fields(|thrift, field, kind| {
            if (field, kind) == (CHILDREN, I32) {
                children = thrift.zigzag()?;
                Some(())
            } else {
                thrift.skip(kind, 0)
            }
        });
        let children = walked.and(u64::try_from(children).ok()).ok_or(Broken::Schema)?;
        if children >= elements - element {
            return Err(Broken::Children);
        }
        if let Some(last) = waiting.last_mut() {
            *last -= 1;
        }
        if children > 0 {
            waiting.push(children);
        }
        if waiting.len() > MAX_DEPTH {
            return Err(Broken::Depth(MAX_DEPTH));
        }
        while waiting.pop_if(|left| *left == 0).is_some() {}
    }
    Ok(())
}
