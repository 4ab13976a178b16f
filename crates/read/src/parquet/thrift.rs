//! The compact protocol of Thrift, in which footers and the headers of pages are written: a walk through it, which
//! allocates nothing and recurses no deeper than it may.

// Kinds of values in the compact protocol of Thrift.
pub(super) const I32: u8 = 5;
pub(super) const I64: u8 = 6;
pub(super) const LIST: u8 = 9;
pub(super) const STRUCT: u8 = 12;

/// Values may be nested this deep.
pub(super) const MAX_DEPTH: usize = 100;

/// A place in bytes of the compact protocol of Thrift.
#[derive(Clone)]
pub(super) struct Thrift<'a> {
    bytes: &'a [u8],
}

impl<'a> Thrift<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Thrift<'a> {
        Thrift { bytes }
    }

    /// What was not gone through yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes that `walk` goes through.
    pub(super) fn passed(&mut self, walk: impl FnOnce(&mut Self) -> Option<()>) -> Option<&'a [u8]> {
        let before = self.bytes;
        walk(self)?;
        Some(&before[..before.len() - self.bytes.len()])
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn pass(&mut self, count: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    pub(super) fn varint(&mut self) -> Option<u64> {
        let mut at = 0;
        let value = super::pages::varint(self.bytes, &mut at)?;
        self.bytes = &self.bytes[at..];
        Some(value)
    }

    pub(super) fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The number and kind of the elements of a list, which come next.
    pub(super) fn list(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        Some((count, head & 15))
    }

    /// Goes through a structure; `field` must pass over the value of each field.
    pub(super) fn fields(&mut self, mut field: impl FnMut(&mut Self, i64, u8) -> Option<()>) -> Option<()> {
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
    pub(super) fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
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

/// Writes the head of a field after that of the number `last`.
pub(super) fn put_field(number: i64, kind: u8, last: i64, out: &mut Vec<u8>) {
    match number - last {
        step @ 1..=15 => out.push(((step as u8) << 4) | kind),
        _ => {
            out.push(kind);
            put_zigzag(number, out);
        }
    }
}

/// Writes a number with a sign.
pub(super) fn put_zigzag(number: i64, out: &mut Vec<u8>) {
    put_varint(((number << 1) ^ (number >> 63)) as u64, out);
}

/// Writes a number, seven bits per byte, the lowest first.
pub(super) fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
