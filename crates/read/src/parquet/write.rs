//! A Parquet file that is written, row group after row group.
//!
//! Rows come as [bytes](super::row) and are taken apart into columns; when enough of them are held, they are
//! written as a row group. So memory is bounded by a row group, whatever the number of rows.

use std::io::{self, ErrorKind, Write};
use std::mem;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Type;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::ColumnDescriptor;

use super::row::{Leaf, Rows};
use super::schema::Schema;

/// Bytes of rows that make a row group: large enough for columns to compress well, small enough to be held.
const GROUP_BYTES: usize = 32 << 20;

/// Rows of a row group, at most.
const GROUP_ROWS: usize = 1 << 20;

/// Levels that are given to the writer of a column at a time.
const STEP: usize = 8192;

/// Writes the rows of a table, each [as bytes](super::row), whole ones in each call.
pub struct Writer<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Column>,
    rows: usize,
    /// Bytes of what the columns hold.
    held: usize,
    most: usize,
}

/// What is held of a column.
struct Column {
    leaf: Leaf,
    stored: Type,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    /// The values that are there, one after the other.
    values: Vec<u8>,
    /// Where each ends, if they have lengths of their own.
    ends: Vec<usize>,
}

impl<W: Write + Send> Writer<W> {
    /// Begins a file.
    pub fn new(to: W, schema: &Schema) -> io::Result<Writer<W>> {
        Writer::with_groups_of(GROUP_BYTES, to, schema)
    }

    /// The same with row groups of this many bytes.
    pub(super) fn with_groups_of(most: usize, to: W, schema: &Schema) -> io::Result<Writer<W>> {
        let properties = WriterProperties::builder()
            .set_created_by(concat!("tamis version ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(schema.codec.compression())
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_key_value_metadata(schema.metadata())
            .build();
        let column = |column: &Arc<ColumnDescriptor>| Column {
            leaf: Leaf::of(column),
            stored: column.physical_type(),
            definitions: Vec::new(),
            repetitions: Vec::new(),
            values: Vec::new(),
            ends: Vec::new(),
        };
        let columns = schema.leaves().iter().map(column).collect();
        let file = SerializedFileWriter::new(to, schema.root(), Arc::new(properties)).map_err(failed)?;
        Ok(Writer { file, columns, rows: 0, held: 0, most })
    }

    fn take(&mut self, rows: &mut Rows<'_>) -> io::Result<()> {
        let before = rows.0.len();
        for column in &mut self.columns {
            column.take(rows)?;
        }
        rows.end()?;
        self.rows += 1;
        // Levels and ends are larger than in the row, by a few bytes for each value.
        self.held += before - rows.0.len() + 8 * self.columns.len();
        if self.held >= self.most || self.rows == GROUP_ROWS { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group().map_err(failed)?;
        for column in &mut self.columns {
            let mut writer = group.next_column().map_err(failed)?.ok_or(ErrorKind::InvalidData)?;
            column.write(self.rows, &mut writer).map_err(failed)?;
            writer.close().map_err(failed)?;
        }
        group.close().map_err(failed)?;
        (self.rows, self.held) = (0, 0);
        Ok(())
    }

    /// Writes what is held, and the end of the file.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_group()?;
        self.file.into_inner().map_err(failed)
    }
}

impl<W: Write + Send> Write for Writer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rows = Rows(bytes);
        while !rows.is_empty() {
            self.take(&mut rows)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An error of the disk stays one.
fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}

impl Column {
    /// Takes what the next row has of this column.
    fn take(&mut self, rows: &mut Rows<'_>) -> io::Result<()> {
        if self.leaf.deepest == 0 {
            return self.take_one(rows);
        }
        for _ in 0..rows.number()? {
            self.repetitions.push(rows.byte()?.into());
            self.take_one(rows)?;
        }
        Ok(())
    }

    fn take_one(&mut self, rows: &mut Rows<'_>) -> io::Result<()> {
        if self.leaf.full > 0 {
            let definition = rows.byte()?.into();
            self.definitions.push(definition);
            if definition < self.leaf.full {
                return Ok(());
            }
        }
        self.values.extend_from_slice(rows.value(self.leaf)?);
        if self.leaf.width.is_none() {
            self.ends.push(self.values.len());
        }
        Ok(())
    }

    /// Writes what is held of these rows, and forgets it.
    fn write(&mut self, rows: usize, to: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let values = Bytes::from(mem::take(&mut self.values));
        let ends = mem::take(&mut self.ends);
        let place = |at: usize| match self.leaf.width {
            Some(width) => at * width..(at + 1) * width,
            None => at.checked_sub(1).map_or(0, |before| ends[before])..ends[at],
        };
        let value = |at: usize| &values[place(at)];
        let bytes = |at: usize| ByteArray::from(values.slice(place(at)));
        match self.stored {
            Type::BOOLEAN => self.give::<BoolType>(rows, to, |at| values[at] != 0),
            Type::INT32 => self.give::<Int32Type>(rows, to, |at| i32::from_le_bytes(fixed(value(at)))),
            Type::INT64 => self.give::<Int64Type>(rows, to, |at| i64::from_le_bytes(fixed(value(at)))),
            Type::FLOAT => self.give::<FloatType>(rows, to, |at| f32::from_le_bytes(fixed(value(at)))),
            Type::DOUBLE => self.give::<DoubleType>(rows, to, |at| f64::from_le_bytes(fixed(value(at)))),
            Type::INT96 => self.give::<Int96Type>(rows, to, |at| {
                let word = |from: usize| u32::from_le_bytes(fixed(&value(at)[from..from + 4]));
                let mut made = Int96::new();
                made.set_data(word(0), word(4), word(8));
                made
            }),
            Type::BYTE_ARRAY => self.give::<ByteArrayType>(rows, to, bytes),
            Type::FIXED_LEN_BYTE_ARRAY => {
                self.give::<FixedLenByteArrayType>(rows, to, |at| FixedLenByteArray::from(bytes(at)))
            }
        }?;
        self.definitions.clear();
        self.repetitions.clear();
        Ok(())
    }

    /// Gives levels and values to the writer, some rows at a time: the values of a step are made for it.
    fn give<T: DataType>(
        &self,
        rows: usize,
        to: &mut SerializedColumnWriter<'_>,
        value: impl Fn(usize) -> T::T,
    ) -> Result<(), ParquetError> {
        let to = to.typed::<T>();
        let levels = if self.leaf.full > 0 { self.definitions.len() } else { rows };
        let (mut from, mut given, mut made) = (0, 0, Vec::new());
        while from < levels {
            let mut end = levels.min(from + STEP);
            // A step ends where a row does.
            while self.repetitions.get(end).is_some_and(|level| *level > 0) {
                end += 1;
            }
            let definitions = (self.leaf.full > 0).then(|| &self.definitions[from..end]);
            let repetitions = (self.leaf.deepest > 0).then(|| &self.repetitions[from..end]);
            let there = definitions
                .map_or(end - from, |levels| levels.iter().filter(|level| **level == self.leaf.full).count());
            made.clear();
            made.extend((given..given + there).map(&value));
            to.write_batch(&made, definitions, repetitions)?;
            (from, given) = (end, given + there);
        }
        Ok(())
    }
}

/// The bytes of a number, of which there are as many as its type has.
fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().unwrap_or([0; N])
}
