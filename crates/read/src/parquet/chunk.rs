//! A column of a row group: what the file says of it, and its values, whatever row they are in.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parquet::basic::{ColumnOrder, Encoding, SortOrder, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescriptor;

use super::bad::{BadParquet, Broken, Undecodable};
use super::column::Column;
use super::members::Members;
use super::pages::{Pages, Shared};
use super::stored::{Stored, Values};
use super::value_type::ValueType;
use super::{BATCH, ParquetFile, headers};
use crate::{Control, Error, Result};

/// A column of a row group.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'a> {
    file: &'a ParquetFile,
    group: usize,
    column: usize,
}

/// A value that can be compared, where texts of keys lead back to it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// A whole number with a sign.
    Signed(i64),
    /// A whole number without one.
    Unsigned(u64),
    /// Text, or bytes.
    Bytes(Vec<u8>),
}

/// The values of a column whose texts lead back to them: to each text one value, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Texts {
    /// Whole numbers of 32 bits, or 64; with a sign, or without.
    Integers {
        /// Whether they have 64 bits.
        long: bool,
        /// Whether they have a sign.
        signed: bool,
    },
    /// The texts are the values.
    Bytes,
}

impl Texts {
    /// The value that has this text; none where no value has it.
    pub fn value(self, text: &[u8]) -> Option<Value> {
        let number = || std::str::from_utf8(text).ok();
        // A number has one text: no sign but a minus, and no zeros before it.
        let is_written = |digits: &str| digits.as_bytes() == text;
        match self {
            Texts::Bytes => Some(Value::Bytes(text.to_vec())),
            Texts::Integers { long, signed: true } => {
                let value: i64 = number()?.parse().ok()?;
                (is_written(&value.to_string()) && (long || i32::try_from(value).is_ok()))
                    .then_some(Value::Signed(value))
            }
            Texts::Integers { long, signed: false } => {
                let value: u64 = number()?.parse().ok()?;
                (is_written(&value.to_string()) && (long || u32::try_from(value).is_ok()))
                    .then_some(Value::Unsigned(value))
            }
        }
    }

    /// A value in the encoding PLAIN, without its length.
    pub fn plain(self, value: &Value) -> Vec<u8> {
        let long = matches!(self, Texts::Integers { long: true, .. });
        match value {
            Value::Bytes(bytes) => bytes.clone(),
            Value::Signed(value) if long => value.to_le_bytes().to_vec(),
            Value::Signed(value) => (*value as i32).to_le_bytes().to_vec(),
            Value::Unsigned(value) if long => value.to_le_bytes().to_vec(),
            Value::Unsigned(value) => (*value as u32).to_le_bytes().to_vec(),
        }
    }
}

impl<'a> Chunk<'a> {
    pub(super) fn of(file: &'a ParquetFile, group: usize, column: usize) -> Chunk<'a> {
        Chunk { file, group, column }
    }

    pub(super) fn metadata(&self) -> &'a ColumnChunkMetaData {
        self.file.metadata.row_group(self.group).column(self.column)
    }

    /// The file in which it is.
    pub fn path(&self) -> &'a Path {
        &self.file.path
    }

    /// Bytes of that file.
    pub fn file_size(&self) -> u64 {
        self.file.length
    }

    /// These bytes of that file; an error where it has fewer.
    pub fn bytes_at(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        let bytes = self.file.reopen()?.get_bytes(offset, length);
        bytes
            .map(|bytes| bytes.to_vec())
            .map_err(|error| Error::input(self.path(), BadParquet::File(error.into())))
    }

    /// Its path, such as `user.id`.
    pub fn name(&self) -> String {
        self.metadata().column_descr().path().string()
    }

    /// The number of its row group, from 0.
    pub fn group(&self) -> usize {
        self.group
    }

    /// Rows of its row group.
    pub fn rows(&self) -> u64 {
        u64::try_from(self.file.metadata.row_group(self.group).num_rows()).unwrap_or(0)
    }

    /// Its rows without a value, where that is known.
    pub fn nulls(&self) -> Option<u64> {
        match self.metadata().column_descr().max_def_level() {
            0 => Some(0),
            _ => self.metadata().statistics()?.null_count_opt(),
        }
    }

    /// Its compressed size.
    pub fn size(&self) -> u64 {
        u64::try_from(self.metadata().compressed_size()).unwrap_or(0)
    }

    /// How its values are stored, as the format calls it.
    pub fn type_name(&self) -> &'static str {
        match self.metadata().column_type() {
            Type::BOOLEAN => "BOOLEAN",
            Type::INT32 => "INT32",
            Type::INT64 => "INT64",
            Type::INT96 => "INT96",
            Type::FLOAT => "FLOAT",
            Type::DOUBLE => "DOUBLE",
            Type::BYTE_ARRAY => "BYTE_ARRAY",
            Type::FIXED_LEN_BYTE_ARRAY => "FIXED_LEN_BYTE_ARRAY",
        }
    }

    /// Bytes of each value in the encoding PLAIN; none where values differ in that.
    pub fn width(&self) -> Option<usize> {
        match self.metadata().column_type() {
            Type::BOOLEAN => Some(1),
            Type::INT32 | Type::FLOAT => Some(4),
            Type::INT64 | Type::DOUBLE => Some(8),
            Type::INT96 => Some(12),
            Type::BYTE_ARRAY => None,
            Type::FIXED_LEN_BYTE_ARRAY => usize::try_from(self.metadata().column_descr().type_length()).ok(),
        }
    }

    /// Whether its values are truth values, which the format has no filters for.
    pub fn is_boolean(&self) -> bool {
        self.metadata().column_type() == Type::BOOLEAN
    }

    /// Where its filter begins, and its bytes where they are said; none where it has none.
    pub fn filter_place(&self) -> Result<Option<(u64, Option<u64>)>> {
        let broken = |_| Error::input(&self.file.path, BadParquet::File(Broken::FilterPlace));
        let Some(offset) = self.metadata().bloom_filter_offset() else { return Ok(None) };
        let offset = u64::try_from(offset).map_err(broken)?;
        let length = self.metadata().bloom_filter_length().map(u64::try_from).transpose();
        Ok(Some((offset, length.map_err(broken)?)))
    }

    /// Distinct values, where the file says how many.
    pub fn distinct(&self) -> Option<u64> {
        self.metadata().statistics()?.distinct_count_opt()
    }

    /// Whether texts of keys lead back to its values.
    pub fn texts(&self) -> Option<Texts> {
        let column = self.metadata().column_descr();
        let kind = ValueType::of(column).ok()?;
        let long = column.physical_type() == Type::INT64;
        match (column.physical_type(), kind) {
            (Type::INT32 | Type::INT64, ValueType::Signed) => Some(Texts::Integers { long, signed: true }),
            (Type::INT32 | Type::INT64, ValueType::Unsigned) => Some(Texts::Integers { long, signed: false }),
            (Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY, ValueType::Bytes) => Some(Texts::Bytes),
            _ => None,
        }
    }

    /// A value that no other one of it is less than, and one that none is greater than: where the file has them, and
    /// says in which order.
    pub fn bounds(&self) -> Option<(Value, Value)> {
        let statistics = self.metadata().statistics()?;
        let order = self.file.metadata.file_metadata().column_order(self.column);
        let ColumnOrder::TYPE_DEFINED_ORDER(order) = order else { return None };
        if statistics.is_min_max_deprecated() {
            return None;
        }
        let Texts::Integers { signed, .. } = self.texts()? else {
            let (least, most) = (statistics.min_bytes_opt()?, statistics.max_bytes_opt()?);
            return (order == SortOrder::UNSIGNED)
                .then(|| (Value::Bytes(least.to_vec()), Value::Bytes(most.to_vec())));
        };
        let (least, most) = match statistics {
            Statistics::Int32(of) => (i64::from(*of.min_opt()?), i64::from(*of.max_opt()?)),
            Statistics::Int64(of) => (*of.min_opt()?, *of.max_opt()?),
            _ => return None,
        };
        let long = matches!(statistics, Statistics::Int64(_));
        let unsigned =
            |value: i64| Value::Unsigned(if long { value as u64 } else { u64::from(value as u32) });
        match (signed, order) {
            (true, SortOrder::SIGNED) => Some((Value::Signed(least), Value::Signed(most))),
            (false, SortOrder::UNSIGNED) => Some((unsigned(least), unsigned(most))),
            _ => None,
        }
    }

    /// Gives every value that is there, in the encoding PLAIN and without its length, in order.
    pub fn values(&self, control: &Control, mut take: impl FnMut(&[u8])) -> Result<()> {
        let damaged = |why| self.damaged(why);
        let file = self.file.reopen()?.of(self.metadata());
        let rows = self.rows() as usize;
        let mut stored = Stored::open(&file, self.metadata(), rows).map_err(damaged)?;
        let mut left = rows;
        while left > 0 {
            control.check()?;
            let batch = left.min(BATCH);
            stored.read(batch).map_err(damaged)?;
            plain(&stored.values, &mut take);
            left -= batch;
        }
        Ok(())
    }

    /// How many values its dictionary claims to have, where all its pages refer to it.
    pub fn dictionary_len(&self) -> Result<Option<u64>> {
        let metadata = self.metadata();
        let refers = |encoding| matches!(encoding, Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY);
        // What the file says of its pages can be had at once; that it is so, their headers tell.
        if let Some(mask) = metadata.page_encoding_stats_mask()
            && !mask.encodings().all(refers)
        {
            return Ok(None);
        }
        if metadata.dictionary_page_offset().is_none() {
            return Ok(None);
        }
        let (file, place) = self.place()?;
        Ok(headers::by_dictionary(&file, place))
    }

    /// The file for those who read it from its beginning to its end, and where these lie.
    pub(super) fn place(&self) -> Result<(Shared, (u64, u64))> {
        let metadata = self.metadata();
        let start = metadata.dictionary_page_offset().unwrap_or(metadata.data_page_offset());
        let start = u64::try_from(start).unwrap_or(0);
        Ok((self.file.reopen()?.of(metadata), (start, start.saturating_add(self.size()))))
    }

    /// Every value that is there at least once.
    pub fn members(&self) -> Result<Members<'a>> {
        Members::of(*self)
    }

    /// An error: its values cannot be decoded.
    pub(super) fn damaged(&self, why: Undecodable) -> Error {
        self.file.damaged(self.column, why)
    }

    /// Its pages. Those of a column with lists are refused.
    pub(super) fn pages(&self) -> Result<Pages> {
        let file = self.file.reopen()?.of(self.metadata());
        Pages::new(&file, self.metadata(), self.rows() as usize, Arc::default())
            .map_err(|why| self.damaged(why.into()))
    }

    /// Gives the texts of the values of its dictionary; false where a page does not refer to it, or a value has no
    /// text.
    pub fn dictionary_texts(&self, mut take: impl FnMut(&[u8])) -> Result<bool> {
        let kind = self.file.kind(self.column)?;
        let Some((stored, mut left)) = self.open_dictionary()? else { return Ok(false) };
        let mut column = Column::of(stored, kind);
        while left > 0 {
            let batch = left.min(BATCH);
            // Whoever reads the rows says which of them has no text.
            let Ok(()) = column.read(batch) else { return Ok(false) };
            let mut cells = vec![None; batch];
            column.fill(&mut cells, 0, 1);
            cells.into_iter().flatten().for_each(&mut take);
            left -= batch;
        }
        Ok(true)
    }

    /// Its dictionary as a column of its own, which has a value in every row; and its values.
    fn open_dictionary(&self) -> Result<Option<(Stored, usize)>> {
        if self.dictionary_len()?.is_none() {
            return Ok(None);
        }
        let page = self.pages()?.get_next_page().map_err(|why| self.damaged(why.into()))?;
        let Some(Page::DictionaryPage { buf, num_values, .. }) = page else { return Ok(None) };
        let page = Page::DataPage {
            buf,
            num_values,
            encoding: Encoding::PLAIN,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let column = self.metadata().column_descr();
        let column = ColumnDescriptor::new(column.self_type_ptr(), 0, 0, column.path().clone());
        let stored = Stored::of(Arc::new(column), Box::new(Once(Some(page))), Arc::new(AtomicU64::new(0)));
        Ok(Some((stored, num_values as usize)))
    }
}

/// One page.
struct Once(Option<Page>);

impl Iterator for Once {
    type Item = parquet::errors::Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageReader for Once {
    fn get_next_page(&mut self) -> parquet::errors::Result<Option<Page>> {
        Ok(self.0.take())
    }

    fn peek_next_page(&mut self) -> parquet::errors::Result<Option<PageMetadata>> {
        Ok(None)
    }

    fn skip_next_page(&mut self) -> parquet::errors::Result<()> {
        self.0 = None;
        Ok(())
    }
}

/// Gives values in the encoding PLAIN, without their length.
fn plain(values: &Values, take: &mut impl FnMut(&[u8])) {
    match values {
        Values::Bool(typed) => typed.values.iter().for_each(|value| take(&[u8::from(*value)])),
        Values::Int32(typed) => typed.values.iter().for_each(|value| take(&value.to_le_bytes())),
        Values::Int64(typed) => typed.values.iter().for_each(|value| take(&value.to_le_bytes())),
        Values::Float(typed) => typed.values.iter().for_each(|value| take(&value.to_le_bytes())),
        Values::Double(typed) => typed.values.iter().for_each(|value| take(&value.to_le_bytes())),
        Values::Int96(typed) => typed.values.iter().for_each(|value| {
            let mut bytes = [0; 12];
            let words = bytes.as_chunks_mut().0.iter_mut();
            words.zip(value.data()).for_each(|(to, word)| *to = word.to_le_bytes());
            take(&bytes);
        }),
        Values::Bytes(typed) => typed.values.iter().for_each(|value| take(value.data())),
        Values::Fixed(typed) => typed.values.iter().for_each(|value| take(value.data())),
    }
}
