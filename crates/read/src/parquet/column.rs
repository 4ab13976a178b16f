//! One column of a row group as texts, a batch of rows at a time.

use parquet::file::metadata::ColumnChunkMetaData;

use super::bad::Undecodable;
use super::pages::Shared;
use super::stored::{Stored, Values};
use super::value_type::ValueType;
use crate::{BadRow, canonical as text};

/// A column that is being read, with the batch that was read last.
pub(super) struct Column {
    stored: Stored,
    kind: ValueType,
    texts: Texts,
}

/// The texts of a batch, one after the other.
#[derive(Default)]
struct Texts {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    /// Writes all values. An error comes with the number of the value.
    fn write<T>(
        &mut self,
        values: &[T],
        mut write: impl FnMut(&T, &mut Vec<u8>) -> Result<(), BadRow>,
    ) -> Result<(), (usize, BadRow)> {
        self.text.clear();
        self.ends.clear();
        for (i, value) in values.iter().enumerate() {
            write(value, &mut self.text).map_err(|why| (i, why))?;
            self.ends.push(self.text.len());
        }
        Ok(())
    }

    /// The same, where nothing can go wrong.
    fn write_all<T>(
        &mut self,
        values: &[T],
        write: impl Fn(&T, &mut Vec<u8>),
    ) -> Result<(), (usize, BadRow)> {
        self.write(values, |value, out| {
            write(value, out);
            Ok(())
        })
    }
}

impl Texts {
    fn write_32_bits(&mut self, values: &[i32], kind: ValueType) -> Result<(), (usize, BadRow)> {
        match kind {
            ValueType::Unsigned => self.write_all(values, |&value, out| text::integer(value as u32, out)),
            ValueType::Decimal(scale) => {
                self.write_all(values, |&value, out| text::decimal(value.into(), scale, out))
            }
            ValueType::Date => self.write_all(values, |&value, out| text::date(value.into(), out)),
            ValueType::Time(unit) => {
                self.write_all(values, |&value, out| text::time(value.into(), unit, out))
            }
            _ => self.write_all(values, |&value, out| text::integer(value, out)),
        }
    }

    fn write_64_bits(&mut self, values: &[i64], kind: ValueType) -> Result<(), (usize, BadRow)> {
        match kind {
            ValueType::Unsigned => self.write_all(values, |&value, out| text::integer(value as u64, out)),
            ValueType::Decimal(scale) => {
                self.write_all(values, |&value, out| text::decimal(value.into(), scale, out))
            }
            ValueType::Time(unit) => self.write_all(values, |&value, out| text::time(value, unit, out)),
            ValueType::Timestamp { unit, utc } => {
                self.write_all(values, |&value, out| text::timestamp(value, unit, utc, out))
            }
            _ => self.write_all(values, |&value, out| text::integer(value, out)),
        }
    }
}

/// What went wrong with a batch.
pub(super) enum Fault {
    /// The file is broken.
    File(Undecodable),
    /// A value has no text; its row in the batch.
    Row(usize, BadRow),
}

impl Column {
    pub(super) fn open(
        file: &Shared,
        chunk: &ColumnChunkMetaData,
        rows: usize,
        kind: ValueType,
    ) -> Result<Column, Undecodable> {
        Ok(Column::of(Stored::open(file, chunk, rows)?, kind))
    }

    /// Values that are stored, as texts of this type.
    pub(super) fn of(stored: Stored, kind: ValueType) -> Column {
        Column { stored, kind, texts: Texts::default() }
    }

    /// Reads the next rows, exactly this many.
    pub(super) fn read(&mut self, rows: usize) -> Result<(), Fault> {
        self.stored.read(rows).map_err(Fault::File)?;
        self.write().map_err(|(value, why)| Fault::Row(self.row_of(value), why))
    }

    /// The row of the batch in which a value stands.
    fn row_of(&self, value: usize) -> usize {
        let full = self.stored.full();
        if full == 0 {
            return value;
        }
        let rows = self.stored.definitions.iter().enumerate().filter(|&(_, &level)| level == full);
        rows.map(|(row, _)| row).nth(value).unwrap_or_default()
    }

    /// Writes the texts of the batch, where they are not the stored bytes themselves.
    fn write(&mut self) -> Result<(), (usize, BadRow)> {
        let texts = &mut self.texts;
        match &self.stored.values {
            Values::Bool(typed) => texts.write_all(&typed.values, |&value, out| {
                out.extend_from_slice(if value { b"true" } else { b"false" })
            }),
            Values::Float(typed) => texts.write_all(&typed.values, |&value, out| text::single(value, out)),
            Values::Double(typed) => texts.write_all(&typed.values, |&value, out| text::double(value, out)),
            Values::Int96(typed) => {
                texts.write_all(&typed.values, |value, out| text::int96(value.data(), out))
            }
            Values::Int32(typed) => texts.write_32_bits(&typed.values, self.kind),
            Values::Int64(typed) => texts.write_64_bits(&typed.values, self.kind),
            Values::Bytes(typed) => match self.kind {
                ValueType::Decimal(scale) => {
                    texts.write(&typed.values, |value, out| text::decimal_bytes(value.data(), scale, out))
                }
                _ => Ok(()),
            },
            Values::Fixed(typed) => {
                let values = &typed.values;
                match self.kind {
                    ValueType::Decimal(scale) => {
                        texts.write(values, |value, out| text::decimal_bytes(value.data(), scale, out))
                    }
                    ValueType::Uuid => texts.write_all(values, |value, out| text::uuid(value.data(), out)),
                    ValueType::Half => texts.write_all(values, |value, out| {
                        let bytes = value.data().try_into().unwrap_or_default();
                        text::single(text::widen(u16::from_le_bytes(bytes)), out)
                    }),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Puts the batch into a table: every `step`-th cell from `first` on.
    pub(super) fn fill<'a>(&'a self, cells: &mut [Option<&'a [u8]>], first: usize, step: usize) {
        let cells = cells.iter_mut().skip(first).step_by(step);
        match (&self.stored.values, self.kind) {
            (Values::Bytes(typed), ValueType::Bytes) => {
                self.spread(cells, typed.values.iter().map(|value| value.data()));
            }
            (Values::Fixed(typed), ValueType::Bytes) => {
                self.spread(cells, typed.values.iter().map(|value| value.data()));
            }
            _ => {
                let mut start = 0;
                self.spread(
                    cells,
                    self.texts.ends.iter().map(|&end| {
                        let text = &self.texts.text[start..end];
                        start = end;
                        text
                    }),
                );
            }
        }
    }

    /// Gives the values to the rows that have one; the other rows keep the `None` they have.
    fn spread<'c, 'a: 'c>(
        &self,
        cells: impl Iterator<Item = &'c mut Option<&'a [u8]>>,
        mut values: impl Iterator<Item = &'a [u8]>,
    ) {
        let full = self.stored.full();
        if full == 0 {
            for (cell, value) in cells.zip(values) {
                *cell = Some(value);
            }
        } else {
            for (cell, &level) in cells.zip(&self.stored.definitions) {
                *cell = if level == full { values.next() } else { None };
            }
        }
    }
}
