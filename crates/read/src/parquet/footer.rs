//! A look at the footer before the real reader gets it.
//!
//! The reader builds the schema by recursion and makes room for as many children as a group
//! claims to have. In a damaged or hostile file that ends the process (out of memory, out of
//! stack), which nothing can catch; so the tree of the schema is walked here first. All else in
//! the footer is left to the reader, which checks it.

use parquet::file::reader::{ChunkReader, Length};

use super::bad::Broken;
use super::pages::Shared;

/// Groups of a schema may be nested this deep.
const MAX_DEPTH: usize = 100;

/// Checks the schema in the footer of a file; an error says what is wrong with it.
///
/// Where the footer cannot be found or is encrypted, the reader will say so better.
pub(super) fn check(file: &Shared) -> Result<(), Broken> {
    let Some(start) = file.len().checked_sub(8) else { return Ok(()) };
    let tail = file.get_bytes(start, 8)?;
    let [l1, l2, l3, l4, b'P', b'A', b'R', b'1'] = tail[..] else { return Ok(()) };
    let length = u32::from_le_bytes([l1, l2, l3, l4]);
    let Some(start) = start.checked_sub(length.into()) else { return Ok(()) };
    let footer = file.get_bytes(start, length as usize)?;
    check_metadata(&footer)
}

fn check_metadata(footer: &[u8]) -> Result<(), Broken> {
    const SCHEMA: i64 = 2;
    let mut thrift = Thrift { bytes: footer };
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

// Kinds of values in the compact protocol of Thrift.
const I32: u8 = 5;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A place in bytes of the compact protocol of Thrift.
#[derive(Clone)]
struct Thrift<'a> {
    bytes: &'a [u8],
}

impl Thrift<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn pass(&mut self, count: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut at = 0;
        let value = super::pages::varint(self.bytes, &mut at)?;
        self.bytes = &self.bytes[at..];
        Some(value)
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The number and kind of the elements of a list, which come next.
    fn list(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        Some((count, head & 15))
    }

    /// Goes through a structure; `field` must pass over the value of each field.
    fn fields(&mut self, mut field: impl FnMut(&mut Self, i64, u8) -> Option<()>) -> Option<()> {
        let mut number = 0i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            number = match head >> 4 {
                0 => self.zigzag()?,
                step => number.checked_add(step.into())?,
            };
            field(self, number, head & 15)?;
        }
    }

    /// Passes over a value. In a structure, booleans have no bytes of their own.
    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            _ if depth > MAX_DEPTH => None,
            1 | 2 => Some(()),
            3 => self.pass(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.pass(8),
            8 => {
                let length = self.varint()?;
                self.pass(length)
            }
            LIST | 10 => {
                let (count, kind) = self.list()?;
                (0..count).try_for_each(|_| self.skip_element(kind, depth + 1))
            }
            11 => {
                let count = self.varint()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                (0..count).try_for_each(|_| {
                    self.skip_element(kinds >> 4, depth + 1)?;
                    self.skip_element(kinds & 15, depth + 1)
                })
            }
            STRUCT => self.fields(|thrift, _, kind| thrift.skip(kind, depth + 1)),
            13 => self.pass(16),
            _ => None,
        }
    }

    /// Passes over an element of a collection, where booleans take a byte.
    fn skip_element(&mut self, kind: u8, depth: usize) -> Option<()> {
        if matches!(kind, 1 | 2) { self.pass(1) } else { self.skip(kind, depth) }
    }
}
