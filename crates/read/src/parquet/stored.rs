//! The values of one column of a row group as they are stored, with their levels, some rows at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::column::page::PageReader;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
    Int96Type,
};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::schema::types::ColumnDescPtr;

use super::bad::Undecodable;
use super::pages::{Pages, Shared};

/// Values that lists and maps may have in the pages of one reading: levels are packed so well that a few
/// bytes claim any number.
const MOST_VALUES: u64 = 1 << 26;

/// A column that is being read, with the rows that were read last.
pub(super) struct Stored {
    pub(super) values: Values,
    /// How much of each value there is; nothing where the column has neither nulls nor lists.
    pub(super) definitions: Vec<i16>,
    /// Where rows begin, in columns with lists.
    pub(super) repetitions: Vec<i16>,
    /// The levels of a value that is there.
    full: i16,
    deepest: i16,
    /// Values that may still come in this reading.
    room: Arc<AtomicU64>,
}

/// A reader for each way of storing, and what it read: the values that are there, without nulls.
pub(super) enum Values {
    Bool(Typed<BoolType>),
    Int32(Typed<Int32Type>),
    Int64(Typed<Int64Type>),
    Int96(Typed<Int96Type>),
    Float(Typed<FloatType>),
    Double(Typed<DoubleType>),
    Bytes(Typed<ByteArrayType>),
    Fixed(Typed<FixedLenByteArrayType>),
}

pub(super) struct Typed<T: DataType> {
    reader: ColumnReaderImpl<T>,
    pub(super) values: Vec<T::T>,
}

impl<T: DataType> Typed<T> {
    fn new(reader: ColumnReaderImpl<T>) -> Self {
        Typed { reader, values: Vec::new() }
    }

    fn read(
        &mut self,
        rows: usize,
        definitions: &mut Vec<i16>,
        repetitions: &mut Vec<i16>,
    ) -> parquet::errors::Result<(usize, usize)> {
        self.values.clear();
        let (rows, ..) =
            self.reader.read_records(rows, Some(definitions), Some(repetitions), &mut self.values)?;
        Ok((rows, self.values.len()))
    }
}

impl Stored {
    pub(super) fn open(
        file: &Shared,
        chunk: &ColumnChunkMetaData,
        rows: usize,
    ) -> Result<Stored, Undecodable> {
        let room = Arc::new(AtomicU64::new(0));
        let pages = Pages::new(file, chunk, rows, Arc::clone(&room))?;
        Ok(Stored::of(chunk.column_descr_ptr(), Box::new(pages), room))
    }

    /// A column in these pages, which are checked.
    pub(super) fn of(column: ColumnDescPtr, pages: Box<dyn PageReader>, room: Arc<AtomicU64>) -> Stored {
        let (full, deepest) = (column.max_def_level(), column.max_rep_level());
        let values = match get_column_reader(column, pages) {
            ColumnReader::BoolColumnReader(reader) => Values::Bool(Typed::new(reader)),
            ColumnReader::Int32ColumnReader(reader) => Values::Int32(Typed::new(reader)),
            ColumnReader::Int64ColumnReader(reader) => Values::Int64(Typed::new(reader)),
            ColumnReader::Int96ColumnReader(reader) => Values::Int96(Typed::new(reader)),
            ColumnReader::FloatColumnReader(reader) => Values::Float(Typed::new(reader)),
            ColumnReader::DoubleColumnReader(reader) => Values::Double(Typed::new(reader)),
            ColumnReader::ByteArrayColumnReader(reader) => Values::Bytes(Typed::new(reader)),
            ColumnReader::FixedLenByteArrayColumnReader(reader) => Values::Fixed(Typed::new(reader)),
        };
        Stored { values, definitions: Vec::new(), repetitions: Vec::new(), full, deepest, room }
    }

    /// The definition level of a value that is there.
    pub(super) fn full(&self) -> i16 {
        self.full
    }

    /// Reads the next rows, exactly this many.
    pub(super) fn read(&mut self, rows: usize) -> Result<(), Undecodable> {
        let Stored { values, definitions, repetitions, .. } = self;
        definitions.clear();
        repetitions.clear();
        self.room.store(MOST_VALUES, Ordering::Relaxed);
        // The decoder indexes and slices by numbers in the page; `Pages` checks those that it can
        // see, but in encoded data some are left at which it panics. The column is dropped then.
        let read = catch_unwind(AssertUnwindSafe(|| match values {
            Values::Bool(typed) => typed.read(rows, definitions, repetitions),
            Values::Int32(typed) => typed.read(rows, definitions, repetitions),
            Values::Int64(typed) => typed.read(rows, definitions, repetitions),
            Values::Int96(typed) => typed.read(rows, definitions, repetitions),
            Values::Float(typed) => typed.read(rows, definitions, repetitions),
            Values::Double(typed) => typed.read(rows, definitions, repetitions),
            Values::Bytes(typed) => typed.read(rows, definitions, repetitions),
            Values::Fixed(typed) => typed.read(rows, definitions, repetitions),
        }));
        match read {
            Ok(Ok((read, values))) if read == rows => self.check(rows, values),
            Ok(Ok(_)) => Err(Undecodable::TooFew),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(Undecodable::Page),
        }
    }

    /// Whether levels and values belong together: whoever goes through them need not look again.
    fn check(&self, rows: usize, values: usize) -> Result<(), Undecodable> {
        let within = |levels: &[i16], most: i16| levels.iter().all(|level| (0..=most).contains(level));
        let fits = match (self.full, self.deepest) {
            (0, _) => values == rows,
            (full, deepest) => {
                let begun = self.repetitions.iter().filter(|level| **level == 0).count();
                let lists = deepest == 0
                    || (self.repetitions.len() == self.definitions.len()
                        && self.repetitions.first().is_none_or(|first| *first == 0)
                        && begun == rows
                        && within(&self.repetitions, deepest));
                lists
                    && (deepest > 0 || self.definitions.len() == rows)
                    && within(&self.definitions, full)
                    && self.definitions.iter().filter(|level| **level == full).count() == values
            }
        };
        if fits { Ok(()) } else { Err(Undecodable::Levels) }
    }
}
