//! Apache Parquet: columns are read directly, a batch of rows at a time, and every value is
//! turned into its text, so that keys are the same as from a CSV file with the same content.
//!
//! Rows that go to another Parquet file are passed on [whole](row), as they are stored: types, nested columns
//! and nulls stay what they are.
//!
//! Left out on purpose: texts of values inside lists and maps (a row has no one value of them) and of intervals,
//! encrypted files.

mod anatomy;
mod bad;
mod chunk;
mod codec;
mod column;
mod footer;
mod headers;
mod members;
mod pages;
pub mod row;
mod schema;
mod splice;
mod stored;
#[cfg(test)]
mod tests;
mod thrift;
mod value_type;
mod write;
#[cfg(test)]
mod write_tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
    ParquetStatisticsPolicy,
};
use parquet::file::reader::Length;
use parquet::schema::types::ColumnDescPtr;
use tamis::about::Class;

pub use self::anatomy::Anatomy;
use self::bad::{BadParquet, Broken, Undecodable};
pub use self::chunk::{Chunk, Texts, Value};
pub use self::codec::Codec;
use self::column::{Column, Fault};
pub use self::members::Members;
use self::pages::Shared;
use self::row::{Cursor, Leaf};
pub use self::schema::{NoTable, Schema};
pub use self::splice::FilterPlace;
use self::stored::Stored;
use self::value_type::ValueType;
pub use self::write::Writer;
use super::Sink;
use super::delimited::emptied;
use crate::refusal::Refusal;
use crate::remote::{Failure, Object};
use crate::{Control, Error, Result};

/// Rows that are read together: enough to make the work per batch small, few enough for their
/// values to stay in the cache until the sink has taken them.
const BATCH: usize = 4096;

/// Whole rows are read together up to this many bytes, or one by one: their values are all held.
const BATCH_BYTES: u64 = 4 << 20;

/// What a scan gives of each row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Picked {
    /// The texts of these columns, in this order.
    Texts(Vec<usize>),
    /// The same, and then the [whole row](row).
    AndRow(Vec<usize>),
}

impl Picked {
    pub(super) fn texts(&self) -> &[usize] {
        match self {
            Picked::Texts(columns) | Picked::AndRow(columns) => columns,
        }
    }
}

/// A Parquet file. Several threads may scan different row groups of it at once. It is open only while rows
/// are read: a folder may hold more files than can be open at a time.
#[derive(Debug)]
pub(super) struct ParquetFile {
    path: PathBuf,
    /// Where it lies elsewhere.
    object: Option<Arc<Object>>,
    length: u64,
    metadata: ParquetMetaData,
    /// The number of rows before each row group.
    first_rows: Vec<u64>,
    /// The same file with all that its footer says; none where that cannot be read.
    whole: OnceLock<Option<Box<ParquetFile>>>,
}

impl ParquetFile {
    /// Opens a file, which lies elsewhere where an object is given, and reads what it says about itself; no rows
    /// yet.
    pub(super) fn open(path: &Path, object: Option<Arc<Object>>) -> Result<ParquetFile> {
        let options = ParquetMetaDataOptions::new()
            .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
            .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll)
            .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll);
        ParquetFile::open_with(path, object, options)
    }

    /// The same with the statistics of its columns.
    fn open_whole(path: &Path, object: Option<Arc<Object>>) -> Result<ParquetFile> {
        ParquetFile::open_with(path, object, ParquetMetaDataOptions::new())
    }

    fn open_with(
        path: &Path,
        object: Option<Arc<Object>>,
        options: ParquetMetaDataOptions,
    ) -> Result<ParquetFile> {
        let file = Shared::open(path, object.as_ref()).map_err(Error::io(path))?;
        let broken = |why: Broken| match why {
            Broken::Reader(error) => match not_there(error) {
                Ok(source) => Error::Io { path: path.to_owned(), source },
                Err(error) => Error::input(path, BadParquet::File(Broken::Reader(error))),
            },
            why => Error::input(path, BadParquet::File(why)),
        };
        footer::check(&file).map_err(broken)?;
        // The reader trusts some numbers of the footer and panics where they do not fit together.
        let metadata = catch_unwind(AssertUnwindSafe(|| {
            ParquetMetaDataReader::new().with_metadata_options(Some(options)).parse_and_finish(&file)
        }))
        .map_err(|_| broken(Broken::Contradiction))?
        .map_err(|error| broken(error.into()))?;
        let first_rows = first_rows(&metadata).map_err(broken)?;
        Ok(ParquetFile {
            path: path.to_owned(),
            object,
            length: file.len(),
            metadata,
            first_rows,
            whole: OnceLock::new(),
        })
    }

    fn descriptors(&self) -> &[ColumnDescPtr] {
        self.metadata.file_metadata().schema_descr().columns()
    }

    /// The paths of all columns, such as `user.id`.
    pub(super) fn columns(&self) -> Vec<String> {
        self.descriptors().iter().map(|column| column.path().string()).collect()
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// An error where the values of this column have no text, and why.
    pub(super) fn check(&self, column: usize) -> Result<()> {
        self.kind(column).map(|_| ())
    }

    /// Whether the values of this column are numbers or truth values.
    pub(super) fn is_bare(&self, column: usize) -> bool {
        let bare = |kind: ValueType| {
            matches!(
                kind,
                ValueType::Bool
                    | ValueType::Signed
                    | ValueType::Unsigned
                    | ValueType::Float
                    | ValueType::Half
                    | ValueType::Decimal(_)
            )
        };
        self.kind(column).is_ok_and(bare)
    }

    fn kind(&self, column: usize) -> Result<ValueType> {
        let descriptor = &self.descriptors()[column];
        ValueType::of(descriptor).map_err(|why| {
            let name = descriptor.path().string();
            Error::input(&self.path, BadParquet::Column { name, why })
        })
    }

    /// The class of the values of this column; none of those that have no text.
    pub(super) fn class(&self, column: usize) -> Option<Class> {
        Some(self.kind(column).ok()?.class(&self.descriptors()[column]))
    }

    /// How many parts the file has that can be scanned on their own.
    pub(super) fn row_groups(&self) -> usize {
        self.first_rows.len()
    }

    /// The compressed size of a row group.
    pub(super) fn bytes(&self, row_group: usize) -> u64 {
        let columns = self.metadata.row_group(row_group).columns();
        columns.iter().fold(0, |sum, column| sum.saturating_add(column.compressed_size() as u64))
    }

    /// The number of rows before a row group.
    pub(super) fn first_row(&self, row_group: usize) -> u64 {
        self.first_rows[row_group]
    }

    fn row_error(&self, row_group: usize, row: usize, why: Box<dyn Refusal>) -> Error {
        Error::FileRow { path: self.path.clone(), row: self.first_row(row_group) + row as u64 + 1, why }
    }

    fn damaged(&self, column: usize, why: Undecodable) -> Error {
        let why = match why {
            Undecodable::Reader(error) => match not_there(error) {
                Ok(source) => return Error::Io { path: self.path.clone(), source },
                Err(error) => Undecodable::Reader(error),
            },
            why => why,
        };
        let name = self.descriptors()[column].path().string();
        Error::input(&self.path, BadParquet::Values { name, why })
    }

    /// The file, if it is as long as it was.
    fn reopen(&self) -> Result<Shared> {
        let file = Shared::open(&self.path, self.object.as_ref()).map_err(Error::io(&self.path))?;
        if file.len() != self.length {
            return Err(Error::input(&self.path, BadParquet::File(Broken::Changed)));
        }
        Ok(file)
    }

    /// Opens columns of a row group; one that is asked for twice is read once.
    fn open_columns(&self, row_group: usize, columns: &[usize]) -> Result<Vec<(usize, Column)>> {
        let group = self.metadata.row_group(row_group);
        let rows = group.num_rows() as usize;
        let file = self.reopen()?;
        let mut distinct: Vec<(usize, Column)> = Vec::new();
        for &index in columns {
            if distinct.iter().all(|(known, _)| *known != index) {
                let chunk = group.column(index);
                let column = Column::open(&file.of(chunk), chunk, rows, self.kind(index)?)
                    .map_err(|why| self.damaged(index, why))?;
                distinct.push((index, column));
            }
        }
        Ok(distinct)
    }

    /// Its columns and their types, to be written again.
    pub(super) fn schema(&self) -> Result<Schema> {
        Schema::of_file(self.metadata.file_metadata()).map_err(|why| Error::input(&self.path, why))
    }

    /// Opens all columns of a row group as they are stored.
    fn open_stored(&self, row_group: usize) -> Result<Vec<(Stored, Leaf)>> {
        let group = self.metadata.row_group(row_group);
        let file = self.reopen()?;
        let open = |(index, chunk): (usize, &ColumnChunkMetaData)| {
            let stored = Stored::open(&file.of(chunk), chunk, group.num_rows() as usize);
            let stored = stored.map_err(|why| self.damaged(index, why))?;
            Ok((stored, Leaf::of(chunk.column_descr())))
        };
        group.columns().iter().enumerate().map(open).collect()
    }

    /// How many whole rows are read together.
    fn batch(&self, row_group: usize) -> usize {
        let group = self.metadata.row_group(row_group);
        let of = |column: &ColumnChunkMetaData| {
            let levels = column.num_values().saturating_mul(8);
            u64::try_from(column.uncompressed_size().max(levels)).unwrap_or(0)
        };
        let bytes = group.columns().iter().fold(0, |sum: u64, column| sum.saturating_add(of(column)));
        let rows = u64::try_from(group.num_rows()).unwrap_or(0);
        let batch = u128::from(BATCH_BYTES) * u128::from(rows) / u128::from(bytes.max(1));
        usize::try_from(batch).unwrap_or(BATCH).clamp(1, BATCH)
    }

    /// A column of a row group, with all that the file says of it.
    fn chunk(&self, row_group: usize, column: usize) -> Option<Chunk<'_>> {
        let open = || ParquetFile::open_whole(&self.path, self.object.clone()).ok().map(Box::new);
        let whole = self.whole.get_or_init(open).as_ref()?;
        (whole.length == self.length).then(|| Chunk::of(whole, row_group, column))
    }

    /// Gives every row of a row group to the sink, unless it knows by the first column that is asked that none is
    /// wanted.
    pub(super) fn scan<S: Sink>(
        &self,
        row_group: usize,
        picked: &Picked,
        sink: &mut S,
        control: &Control,
    ) -> Result<()> {
        let rows = self.metadata.row_group(row_group).num_rows() as usize;
        let bytes = self.bytes(row_group);
        let columns = picked.texts();
        if let (true, Some(&first)) = (sink.skips(), columns.first())
            && let Some(chunk) = self.chunk(row_group, first)
            && sink.skip(&chunk)?
        {
            control.advance(bytes);
            return Ok(());
        }
        let mut distinct = self.open_columns(row_group, columns)?;
        let (mut whole, most) = match picked {
            Picked::Texts(_) => (None, BATCH),
            Picked::AndRow(_) => (Some(self.open_stored(row_group)?), self.batch(row_group)),
        };
        let width = columns.len();
        let mut done = 0;
        let mut progress = 0;
        while done < rows {
            control.check()?;
            let batch = most.min(rows - done);
            for (index, column) in &mut distinct {
                column.read(batch).map_err(|fault| match fault {
                    Fault::File(why) => self.damaged(*index, why),
                    Fault::Row(row, why) => self.row_error(row_group, done + row, why.into()),
                })?;
            }

            let mut cells = vec![None; batch * width];
            for (place, index) in columns.iter().enumerate() {
                if let Some((_, column)) = distinct.iter().find(|(known, _)| known == index) {
                    column.fill(&mut cells, place, width);
                }
            }
            let texts = |row: usize| &cells[row * width..(row + 1) * width];
            let refused = |(row, why)| self.row_error(row_group, done + row, why);
            match &mut whole {
                None => (0..batch).try_for_each(|row| sink.row(0..0, texts(row)).map_err(|why| (row, why))),
                Some(stored) => {
                    for (index, (column, _)) in stored.iter_mut().enumerate() {
                        column.read(batch).map_err(|why| self.damaged(index, why))?;
                    }
                    give_whole(stored, batch, texts, sink)
                }
            }
            .map_err(refused)?;

            done += batch;
            let reached = (u128::from(bytes) * done as u128 / rows as u128) as u64;
            control.advance(reached - progress);
            progress = reached;
        }
        control.advance(bytes - progress);
        Ok(())
    }
}

/// Gives the rows of a batch to the sink: their texts, and each as a whole. An error comes with the number of
/// its row.
fn give_whole<'c, S: Sink>(
    stored: &[(Stored, Leaf)],
    batch: usize,
    texts: impl Fn(usize) -> &'c [Option<&'c [u8]>],
    sink: &mut S,
) -> Result<(), (usize, Box<dyn Refusal>)> {
    let mut cursors: Vec<Cursor<'_>> =
        stored.iter().map(|(column, leaf)| Cursor::new(column, *leaf)).collect();
    let mut whole = Vec::new();
    let mut spare: Vec<Option<&[u8]>> = Vec::new();
    for row in 0..batch {
        whole.clear();
        cursors.iter_mut().for_each(|cursor| cursor.write(&mut whole));
        row::end(&mut whole);
        let mut values = emptied(spare);
        values.extend_from_slice(texts(row));
        values.push(Some(&whole));
        sink.row(0..0, &values).map_err(|why| (row, why))?;
        spare = emptied(values);
    }
    Ok(())
}

/// That bytes of a file which lies elsewhere could not be had: no damage of the file.
fn not_there(error: ParquetError) -> Result<std::io::Error, ParquetError> {
    match error {
        ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
            Ok(error) if Failure::of(&error).is_some() => Ok(*error),
            Ok(error) => Err(ParquetError::External(error)),
            Err(inner) => Err(ParquetError::External(inner)),
        },
        other => Err(other),
    }
}

/// The number of rows before each row group; checks what is said about them on the way.
fn first_rows(metadata: &ParquetMetaData) -> Result<Vec<u64>, Broken> {
    let mut first_rows = Vec::with_capacity(metadata.num_row_groups());
    let mut rows = 0u64;
    for group in metadata.row_groups() {
        first_rows.push(rows);
        let next = u64::try_from(group.num_rows()).ok().and_then(|count| rows.checked_add(count));
        rows = next.ok_or(Broken::Rows)?;
        if group.num_columns() != metadata.file_metadata().schema_descr().num_columns() {
            return Err(Broken::Columns);
        }
        for column in group.columns() {
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            if start < 0 || column.compressed_size() < 0 {
                return Err(Broken::Place);
            }
            if column.file_path().is_some() {
                return Err(Broken::Elsewhere);
            }
        }
    }
    Ok(first_rows)
}
