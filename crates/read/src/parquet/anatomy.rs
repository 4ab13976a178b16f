//! A Parquet file that is looked at as such: its parts, where they lie, and the same file with other filters.

use std::collections::HashMap;
use std::io::Read;
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use tamis::key::Column;

use super::bad::{BadParquet, Broken};
use super::chunk::Chunk;
use super::pages::Shared;
use super::splice::{self, FilterPlace};
use super::{ParquetFile, footer};
use crate::bad_input::BadInput;
use crate::remote::{self, Object};
use crate::{Error, Result, columns, inputs};

/// A Parquet file, with all that its footer says.
#[derive(Debug)]
pub struct Anatomy {
    file: ParquetFile,
}

impl Anatomy {
    /// Opens a file and reads its footer; no rows. A file of which anything is encrypted is refused.
    pub fn open(path: &Path) -> Result<Anatomy> {
        let object = match remote::is_remote(path) {
            true => Some(Arc::new(Object::look(path).map_err(Error::io(path))?)),
            false => {
                let is_stdin = path.as_os_str() == inputs::STDIN;
                let is_file = !is_stdin && path.metadata().map_err(Error::io(path))?.is_file();
                is_file.then_some(()).ok_or_else(|| Error::input(path, BadInput::PackedParquet))?;
                None
            }
        };
        let shared = Shared::open(path, object.as_ref()).map_err(Error::io(path))?;
        if is_encrypted(&shared).map_err(|why| Error::input(path, BadParquet::File(why)))? {
            return Err(Error::input(path, BadParquet::Encrypted));
        }
        Ok(Anatomy { file: ParquetFile::open_whole(path, object)? })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Its bytes.
    pub fn size(&self) -> u64 {
        self.file.length
    }

    /// How many row groups it has.
    pub fn row_groups(&self) -> usize {
        self.file.row_groups()
    }

    /// The paths of all columns, such as `user.id`.
    pub fn columns(&self) -> Vec<String> {
        self.file.columns()
    }

    /// The number of the column of this path.
    pub fn find(&self, column: &str) -> Result<usize> {
        let found = columns::find(&[Column::Name(column.to_owned())], &self.columns());
        let found = found.map_err(|why| Error::input(self.path(), why.without_lines()))?;
        Ok(found[0])
    }

    /// A column of a row group.
    pub fn chunk(&self, group: usize, column: usize) -> Chunk<'_> {
        Chunk::of(&self.file, group, column)
    }

    /// The column by which the rows of a row group are sorted first, where the file says so.
    pub fn sorted_by(&self, group: usize) -> Option<usize> {
        let first = self.file.metadata.row_group(group).sorting_columns()?.first()?;
        usize::try_from(first.column_idx).ok()
    }

    /// All before the footer: how many bytes, and what reads them.
    pub fn body(&self) -> Result<(u64, impl Read)> {
        let file = self.file.reopen()?;
        let (start, _) = self.footer(&file)?;
        let body = file.get_read(0).map_err(|error| self.broken(error.into()))?;
        Ok((start, body.take(start)))
    }

    /// What follows the body, and filters that were put there: a footer in which these filters have these places, by
    /// row group and column, and everything else stands as it did.
    pub fn end(&self, places: &HashMap<(usize, usize), FilterPlace>) -> Result<Vec<u8>> {
        let (_, footer) = self.footer(&self.file.reopen()?)?;
        let mut end = splice::with_filters(&footer, places).map_err(|why| self.broken(why))?;
        if !self.reads_with(&end, places) {
            return Err(self.broken(Broken::Contradiction));
        }
        let length = u32::try_from(end.len()).map_err(|_| self.broken(Broken::Footer))?;
        end.extend_from_slice(&length.to_le_bytes());
        end.extend_from_slice(b"PAR1");
        Ok(end)
    }

    /// Whether the reader takes a footer for this file's own, with filters in these places. Where the kinds of its
    /// values are not those of the format, the reader takes them for something else than they say they are.
    fn reads_with(&self, footer: &[u8], places: &HashMap<(usize, usize), FilterPlace>) -> bool {
        let place = |(group, column, metadata): (usize, usize, ColumnChunkMetaData)| {
            let Some(place) = places.get(&(group, column)) else { return Ok(metadata) };
            metadata
                .into_builder()
                .set_bloom_filter_offset(i64::try_from(place.offset).ok())
                .set_bloom_filter_length(i32::try_from(place.length).ok())
                .build()
        };
        let mut wanted = self.file.metadata.clone().into_builder();
        let groups = wanted.take_row_groups().into_iter().enumerate().map(|(group, metadata)| {
            let mut metadata = metadata.into_builder();
            let columns = metadata.take_columns().into_iter().enumerate();
            let columns: Result<_, ParquetError> =
                columns.map(|(column, metadata)| place((group, column, metadata))).collect();
            metadata.set_column_metadata(columns?).build()
        });
        let Ok(groups) = groups.collect::<Result<Vec<RowGroupMetaData>, ParquetError>>() else {
            return false;
        };
        let wanted = wanted.set_row_groups(groups).build();
        let read = catch_unwind(|| ParquetMetaDataReader::decode_metadata(footer));
        matches!(read, Ok(Ok(read)) if read == wanted)
    }

    fn footer(&self, file: &Shared) -> Result<(u64, bytes::Bytes)> {
        footer::read(file).and_then(|found| found.ok_or(Broken::Footer)).map_err(|why| self.broken(why))
    }

    fn broken(&self, why: Broken) -> Error {
        Error::input(self.path(), BadParquet::File(why))
    }
}

/// Whether anything in a file is encrypted. What is no Parquet file is left to its reader.
fn is_encrypted(file: &Shared) -> Result<bool, Broken> {
    match footer::read(file)? {
        Some((_, footer)) => splice::is_encrypted(&footer),
        None => {
            let Some(start) = file.len().checked_sub(4) else { return Ok(false) };
            Ok(file.get_bytes(start, 4)?[..] == *b"PARE")
        }
    }
}
