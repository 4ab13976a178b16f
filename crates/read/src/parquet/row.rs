//! A row of a table as bytes: what a job holds of it between the input and a Parquet output.
//!
//! Column after column (of nested ones the leaves, in the order of the schema): the definition level, where there
//! may be nulls, and the value, if it is there. A column with lists has the number of its values before them, and
//! before each its repetition level as well. Levels are one byte, numbers as they are stored, lengths and counts
//! have seven bits in each byte. A row ends with LF, as records of text do: those who only pass records on need
//! not know one from the other.

use std::io::{self, ErrorKind};

use parquet::basic::Type;
use parquet::schema::types::ColumnDescriptor;

use super::stored::{Stored, Values};

/// What ends a row.
const END: u8 = b'\n';

/// How the values of a leaf are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leaf {
    /// The bytes of a value; none where each has a length of its own.
    pub(super) width: Option<usize>,
    /// The definition level of a value that is there.
    pub(super) full: i16,
    /// The deepest repetition level; 0 where there are no lists.
    pub(super) deepest: i16,
}

impl Leaf {
    pub(super) fn of(column: &ColumnDescriptor) -> Leaf {
        let width = match column.physical_type() {
            Type::BOOLEAN => Some(1),
            Type::INT32 | Type::FLOAT => Some(4),
            Type::INT64 | Type::DOUBLE => Some(8),
            Type::INT96 => Some(12),
            Type::FIXED_LEN_BYTE_ARRAY => Some(usize::try_from(column.type_length()).unwrap_or(0)),
            Type::BYTE_ARRAY => None,
        };
        Leaf { width, full: column.max_def_level(), deepest: column.max_rep_level() }
    }
}

/// Goes through the rows of a batch of a column.
pub(super) struct Cursor<'s> {
    stored: &'s Stored,
    leaf: Leaf,
    /// Levels and values before the next row.
    level: usize,
    value: usize,
}

impl<'s> Cursor<'s> {
    pub(super) fn new(stored: &'s Stored, leaf: Leaf) -> Self {
        Cursor { stored, leaf, level: 0, value: 0 }
    }

    /// Appends what the next row has of this column.
    pub(super) fn write(&mut self, out: &mut Vec<u8>) {
        let Stored { definitions, repetitions, .. } = self.stored;
        if self.leaf.deepest == 0 {
            let definition = definitions.get(self.level).copied();
            self.level += 1;
            return self.write_one(definition, out);
        }
        let rest = &repetitions[self.level..];
        let entries = 1 + rest.iter().skip(1).take_while(|level| **level > 0).count();
        number(entries, out);
        for _ in 0..entries {
            out.push(repetitions[self.level] as u8);
            let definition = Some(definitions[self.level]);
            self.level += 1;
            self.write_one(definition, out);
        }
    }

    fn write_one(&mut self, definition: Option<i16>, out: &mut Vec<u8>) {
        if self.leaf.full > 0 {
            let definition = definition.unwrap_or_default();
            out.push(definition as u8);
            if definition < self.leaf.full {
                return;
            }
        }
        let at = self.value;
        self.value += 1;
        match &self.stored.values {
            Values::Bool(typed) => out.push(typed.values[at].into()),
            Values::Int32(typed) => out.extend_from_slice(&typed.values[at].to_le_bytes()),
            Values::Int64(typed) => out.extend_from_slice(&typed.values[at].to_le_bytes()),
            Values::Int96(typed) => {
                typed.values[at].data().iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
            }
            Values::Float(typed) => out.extend_from_slice(&typed.values[at].to_le_bytes()),
            Values::Double(typed) => out.extend_from_slice(&typed.values[at].to_le_bytes()),
            Values::Bytes(typed) => text(typed.values[at].data(), out),
            Values::Fixed(typed) => out.extend_from_slice(typed.values[at].data()),
        }
    }
}

/// Ends a row.
pub(super) fn end(out: &mut Vec<u8>) {
    out.push(END);
}

/// Appends a row of columns of text, each of which may be missing.
pub(crate) fn of_texts(values: &[Option<&[u8]>], out: &mut Vec<u8>) {
    for value in values {
        out.push(value.is_some().into());
        if let Some(value) = value {
            text(value, out);
        }
    }
    end(out);
}

/// Appends a row with one more column, a list of texts that is never missing.
pub fn with_list<'t>(row: &[u8], texts: impl Iterator<Item = &'t [u8]>, out: &mut Vec<u8>) {
    out.extend_from_slice(row.strip_suffix(&[END]).unwrap_or(row));
    let (mut entries, mut count) = (Vec::new(), 0);
    for one in texts {
        entries.extend([u8::from(count > 0), 1]);
        text(one, &mut entries);
        count += 1;
    }
    if count == 0 {
        (entries, count) = (vec![0, 0], 1);
    }
    number(count, out);
    out.extend_from_slice(&entries);
    end(out);
}

fn text(value: &[u8], out: &mut Vec<u8>) {
    number(value.len(), out);
    out.extend_from_slice(value);
}

fn number(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads rows.
pub(super) struct Rows<'r>(pub(super) &'r [u8]);

impl<'r> Rows<'r> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn byte(&mut self) -> io::Result<u8> {
        let (first, rest) = self.0.split_first().ok_or(ErrorKind::InvalidData)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(super) fn bytes(&mut self, length: usize) -> io::Result<&'r [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(ErrorKind::InvalidData)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(super) fn number(&mut self) -> io::Result<usize> {
        let mut at = 0;
        let number = super::pages::varint(self.0, &mut at).and_then(|number| usize::try_from(number).ok());
        self.0 = &self.0[at..];
        number.ok_or_else(|| ErrorKind::InvalidData.into())
    }

    /// The next value of a column.
    pub(super) fn value(&mut self, leaf: Leaf) -> io::Result<&'r [u8]> {
        let length = match leaf.width {
            Some(width) => width,
            None => self.number()?,
        };
        self.bytes(length)
    }

    /// Passes over the end of a row.
    pub(super) fn end(&mut self) -> io::Result<()> {
        if self.byte()? == END { Ok(()) } else { Err(ErrorKind::InvalidData.into()) }
    }
}
