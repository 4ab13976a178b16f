//! Arrow arrays as tables of texts: the same texts that a Parquet file with these values has.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, GenericByteArray, GenericByteViewArray};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{DataType, Field, TimeUnit};
use tamis::about::{Class, Classes};
use tamis_read::canonical::{self as text, MICROS, MILLIS, NANOS, SECONDS, Unit};
use tamis_read::refusal::Refusal;
use tamis_read::{BadRow, Cells, Fault, Table};

/// The rows of some Arrow arrays.
pub struct Arrays {
    /// The names of the columns; none where values stand alone.
    pub names: Option<Vec<String>>,
    /// Whether the columns are the parts of a key, in their order, and nothing else.
    pub are_keys: bool,
    pub kinds: Vec<ColumnType>,
    /// The classes of the values of columns whose type does not tell them: texts of Python values.
    pub seen: Vec<Option<Classes>>,
    /// The column of the names of files, where the rows come from files.
    pub file: Option<usize>,
    /// The columns of each part.
    pub parts: Vec<Vec<ArrayRef>>,
}

/// What the values of a column are.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnType {
    Arrow(DataType),
    /// 16 bytes, whose text is another.
    Uuid,
    /// Nothing that keys can be made of, and why.
    Unusable(String),
}

impl ColumnType {
    /// The class of its values; none where there are no values, or none that keys are made of.
    pub fn class(&self) -> Option<Class> {
        match self {
            ColumnType::Arrow(data_type) => class(data_type),
            ColumnType::Uuid => Some(Class::Text),
            ColumnType::Unusable(_) => None,
        }
    }

    pub fn of(field: &Field) -> ColumnType {
        let data_type = field.data_type();
        match (field.extension_type_name(), data_type) {
            (Some("arrow.uuid"), DataType::FixedSizeBinary(16)) => ColumnType::Uuid,
            // The numbers behind it are not what people see of it.
            (Some(name), _) if data_type.is_primitive() => ColumnType::Unusable(format!(
                "has the type {name}, which tamis cannot convert to text: {CAST}"
            )),
            _ => ColumnType::Arrow(data_type.clone()),
        }
    }

    /// Texts as they are.
    pub fn texts() -> ColumnType {
        ColumnType::Arrow(DataType::LargeBinary)
    }
}

const CAST: &str = "cast it to a string, a number or a timestamp";

const MILLIS_PER_DAY: i64 = 86_400_000;

impl Arrays {
    /// The rows that have a value in each of these columns, or more of them: a row may lack several.
    pub fn filled(&self, columns: &[usize]) -> u64 {
        let of_part = |part: &Vec<ArrayRef>| {
            let rows = part.first().map_or(0, |column| column.len());
            let nulls = columns
                .iter()
                .filter_map(|&column| part.get(column))
                .map(|column| column.logical_null_count());
            rows - nulls.max().unwrap_or(0)
        };
        self.parts.iter().map(|part| of_part(part) as u64).sum()
    }

    /// The text of the first row, which there must be, or none of a null.
    pub fn first_text<R>(&self, take: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, String> {
        self.check(0).map_err(|why| why.to_string())?;
        let (mut text, mut cell) = (Vec::new(), [None]);
        self.fill(0, 0, 0..1, &mut text, &mut Cells::of_one_column(&mut cell))
            .map_err(|fault| fault.why.to_string())?;
        Ok(take(cell[0]))
    }
}

/// The class of the values of a type; that which a Parquet column of them has.
fn class(data_type: &DataType) -> Option<Class> {
    Some(match data_type {
        DataType::Boolean => Class::Boolean,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Class::Text,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            Class::Bytes
        }
        DataType::Date32 | DataType::Date64 => Class::Date,
        DataType::Time32(_) | DataType::Time64(_) | DataType::Timestamp(..) => Class::Time,
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => Class::Decimal,
        DataType::Dictionary(_, values) => return class(values),
        other if other.is_integer() => Class::Integer,
        DataType::Float16 | DataType::Float32 => Class::Single,
        DataType::Float64 => Class::Float,
        _ => return None,
    })
}

/// Why values of a type have no text.
fn check(data_type: &DataType) -> Result<(), String> {
    match data_type {
        DataType::Null
        | DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Float16
        | DataType::Float32
        | DataType::Float64
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_)
        | DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..) => Ok(()),
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => match scale {
            0.. => Ok(()),
            _ => Err("is a decimal with a negative scale: cast it to a scale of 0".into()),
        },
        DataType::Dictionary(_, values) if !matches!(**values, DataType::Dictionary(..)) => check(values),
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::Map(..)
        | DataType::Struct(_)
        | DataType::Union(..) => {
            Err(format!("has the type {data_type}: a row has no single value of it; choose another column"))
        }
        _ => Err(format!("has the type {data_type}, which cannot be a key: {CAST}")),
    }
}

impl Table for Arrays {
    fn columns(&self) -> Option<Vec<String>> {
        self.names.clone()
    }

    fn file(&self) -> Option<usize> {
        self.file
    }

    fn check(&self, column: usize) -> Result<(), Box<dyn Refusal>> {
        let of = match &self.names {
            Some(names) => format!("column {:?}", names[column]),
            None => "the array".into(),
        };
        let found = match &self.kinds[column] {
            ColumnType::Arrow(data_type) => check(data_type),
            ColumnType::Uuid => Ok(()),
            ColumnType::Unusable(why) => Err(why.clone()),
        };
        found.map_err(|why| NoText(format!("{of} {why}")).into())
    }

    fn classes(&self, column: usize) -> Classes {
        match self.seen.get(column).copied().flatten() {
            Some(seen) => seen,
            None => self.kinds[column].class().into_iter().collect(),
        }
    }

    fn parts(&self) -> usize {
        self.parts.len()
    }

    fn rows(&self, part: usize) -> usize {
        self.parts[part].first().map_or(0, |column| column.len())
    }

    fn fill<'a>(
        &'a self,
        part: usize,
        column: usize,
        rows: Range<usize>,
        text: &'a mut Vec<u8>,
        cells: &mut Cells<'_, 'a>,
    ) -> Filled {
        let array = &*self.parts[part][column];
        if self.kinds[column] == ColumnType::Uuid {
            let there = rows.enumerate().filter(|&(_, row)| array.is_valid(row));
            let values = array.as_fixed_size_binary();
            let write = |row, out: &mut Vec<u8>| {
                text::uuid(values.value(row), out);
                Ok(())
            };
            return written(there, write, text, cells);
        }
        fill(array, rows, text, cells)
    }
}

type Filled = Result<(), Fault>;

/// That values have no text: which, and what to do.
#[derive(Debug)]
struct NoText(String);

impl std::fmt::Display for NoText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoText {}
impl Refusal for NoText {}

fn fill<'a>(
    array: &'a dyn Array,
    rows: Range<usize>,
    text: &'a mut Vec<u8>,
    cells: &mut Cells<'_, 'a>,
) -> Filled {
    // The usual columns, without nulls, need no look at each row.
    match array.data_type() {
        DataType::Utf8 => bytes(array.as_string::<i32>(), rows, cells),
        DataType::LargeUtf8 => bytes(array.as_string::<i64>(), rows, cells),
        DataType::Binary => bytes(array.as_binary::<i32>(), rows, cells),
        DataType::LargeBinary => bytes(array.as_binary::<i64>(), rows, cells),
        DataType::Utf8View => views(array.as_string_view(), rows, cells),
        DataType::BinaryView => views(array.as_binary_view(), rows, cells),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let keys = dictionary.keys().slice(rows.start, rows.len());
            let places = places(&keys);
            pick(&**dictionary.values(), places.into_iter().enumerate(), text, cells)?;
        }
        _ => pick(array, rows.enumerate().map(|(cell, row)| (cell, Some(row))), text, cells)?,
    }
    Ok(())
}

fn bytes<'a, T: ByteArrayType>(
    array: &'a GenericByteArray<T>,
    rows: Range<usize>,
    cells: &mut Cells<'_, 'a>,
) {
    let offsets = &array.value_offsets()[rows.start..=rows.end];
    let data = array.value_data();
    let value = |pair: &[T::Offset]| &data[pair[0].as_usize()..pair[1].as_usize()];
    match array.nulls() {
        None => cells.set_all(offsets.windows(2).map(|pair| Some(value(pair)))),
        Some(nulls) => {
            let rows = rows.zip(offsets.windows(2));
            cells.set_all(rows.map(|(row, pair)| nulls.is_valid(row).then(|| value(pair))));
        }
    }
}

fn views<'a, T: ByteViewType>(
    array: &'a GenericByteViewArray<T>,
    rows: Range<usize>,
    cells: &mut Cells<'_, 'a>,
) {
    let value = |row| {
        let value: &T::Native = array.value(row);
        value.as_ref()
    };
    cells.set_all(rows.map(|row| array.is_valid(row).then(|| value(row))));
}

/// Where the keys of a dictionary lead; nowhere from a null.
fn places(keys: &dyn Array) -> Vec<Option<usize>> {
    fn of<T: ArrowPrimitiveType>(keys: &dyn Array) -> Vec<Option<usize>> {
        keys.as_primitive::<T>().iter().map(|key| key.map(ArrowNativeType::as_usize)).collect()
    }
    match keys.data_type() {
        DataType::Int8 => of::<Int8Type>(keys),
        DataType::Int16 => of::<Int16Type>(keys),
        DataType::Int32 => of::<Int32Type>(keys),
        DataType::Int64 => of::<Int64Type>(keys),
        DataType::UInt8 => of::<UInt8Type>(keys),
        DataType::UInt16 => of::<UInt16Type>(keys),
        DataType::UInt32 => of::<UInt32Type>(keys),
        _ => of::<UInt64Type>(keys),
    }
}

/// Sets cells to the texts of the rows that are told for them.
fn pick<'a>(
    array: &'a dyn Array,
    rows: impl Iterator<Item = (usize, Option<usize>)>,
    out: &'a mut Vec<u8>,
    cells: &mut Cells<'_, 'a>,
) -> Filled {
    let there = rows.filter_map(|(cell, row)| Some((cell, row.filter(|&row| array.is_valid(row))?)));
    match array.data_type() {
        DataType::Null => Ok(()),
        DataType::Utf8 => set(there, |row| array.as_string::<i32>().value(row).as_bytes(), cells),
        DataType::LargeUtf8 => set(there, |row| array.as_string::<i64>().value(row).as_bytes(), cells),
        DataType::Utf8View => set(there, |row| array.as_string_view().value(row).as_bytes(), cells),
        DataType::Binary => set(there, |row| array.as_binary::<i32>().value(row), cells),
        DataType::LargeBinary => set(there, |row| array.as_binary::<i64>().value(row), cells),
        DataType::BinaryView => set(there, |row| array.as_binary_view().value(row), cells),
        DataType::FixedSizeBinary(_) => set(there, |row| array.as_fixed_size_binary().value(row), cells),
        DataType::Boolean => {
            let value = |row| if array.as_boolean().value(row) { &b"true"[..] } else { b"false" };
            set(there, value, cells)
        }
        _ => pick_number(array, there, out, cells),
    }
}

/// Sets cells to numbers; other types are tried as moments.
fn pick_number<'a>(
    array: &'a dyn Array,
    there: impl Iterator<Item = (usize, usize)>,
    out: &'a mut Vec<u8>,
    cells: &mut Cells<'_, 'a>,
) -> Filled {
    match array.data_type() {
        DataType::Int8 => numbers::<Int8Type>(array, there, text::integer, out, cells),
        DataType::Int16 => numbers::<Int16Type>(array, there, text::integer, out, cells),
        DataType::Int32 => numbers::<Int32Type>(array, there, text::integer, out, cells),
        DataType::Int64 => numbers::<Int64Type>(array, there, text::integer, out, cells),
        DataType::UInt8 => numbers::<UInt8Type>(array, there, text::integer, out, cells),
        DataType::UInt16 => numbers::<UInt16Type>(array, there, text::integer, out, cells),
        DataType::UInt32 => numbers::<UInt32Type>(array, there, text::integer, out, cells),
        DataType::UInt64 => numbers::<UInt64Type>(array, there, text::integer, out, cells),
        DataType::Float16 => numbers::<Float16Type>(
            array,
            there,
            |value, out| text::single(text::widen(value.to_bits()), out),
            out,
            cells,
        ),
        DataType::Float32 => numbers::<Float32Type>(array, there, text::single, out, cells),
        DataType::Float64 => numbers::<Float64Type>(array, there, text::double, out, cells),
        _ => pick_moment(array, there, out, cells),
    }
}

/// Sets cells to dates, times and timestamps; other types are tried as decimals.
fn pick_moment<'a>(
    array: &'a dyn Array,
    there: impl Iterator<Item = (usize, usize)>,
    out: &'a mut Vec<u8>,
    cells: &mut Cells<'_, 'a>,
) -> Filled {
    match array.data_type() {
        DataType::Date32 => {
            numbers::<Date32Type>(array, there, |days, out| text::date(days.into(), out), out, cells)
        }
        DataType::Date64 => numbers::<Date64Type>(
            array,
            there,
            |millis, out| text::date(millis.div_euclid(MILLIS_PER_DAY), out),
            out,
            cells,
        ),
        DataType::Time32(TimeUnit::Second) => numbers::<Time32SecondType>(
            array,
            there,
            |time, out| text::time(time.into(), SECONDS, out),
            out,
            cells,
        ),
        DataType::Time32(_) => numbers::<Time32MillisecondType>(
            array,
            there,
            |time, out| text::time(time.into(), MILLIS, out),
            out,
            cells,
        ),
        DataType::Time64(TimeUnit::Microsecond) => numbers::<Time64MicrosecondType>(
            array,
            there,
            |time, out| text::time(time, MICROS, out),
            out,
            cells,
        ),
        DataType::Time64(_) => numbers::<Time64NanosecondType>(
            array,
            there,
            |time, out| text::time(time, NANOS, out),
            out,
            cells,
        ),
        DataType::Timestamp(unit, zone) => {
            // With a zone the value is a point in UTC, without one a local time.
            let utc = zone.is_some();
            let write =
                |unit: Unit| move |time: i64, out: &mut Vec<u8>| text::timestamp(time, unit, utc, out);
            match unit {
                TimeUnit::Second => numbers::<TimestampSecondType>(array, there, write(SECONDS), out, cells),
                TimeUnit::Millisecond => {
                    numbers::<TimestampMillisecondType>(array, there, write(MILLIS), out, cells)
                }
                TimeUnit::Microsecond => {
                    numbers::<TimestampMicrosecondType>(array, there, write(MICROS), out, cells)
                }
                TimeUnit::Nanosecond => {
                    numbers::<TimestampNanosecondType>(array, there, write(NANOS), out, cells)
                }
            }
        }
        _ => pick_decimal(array, there, out, cells),
    }
}

/// Sets cells to decimals; no other type is left that has a text.
fn pick_decimal<'a>(
    array: &'a dyn Array,
    there: impl Iterator<Item = (usize, usize)>,
    out: &'a mut Vec<u8>,
    cells: &mut Cells<'_, 'a>,
) -> Filled {
    match array.data_type() {
        DataType::Decimal32(_, scale) => numbers::<Decimal32Type>(
            array,
            there,
            |value, out| text::decimal(value.into(), *scale as usize, out),
            out,
            cells,
        ),
        DataType::Decimal64(_, scale) => numbers::<Decimal64Type>(
            array,
            there,
            |value, out| text::decimal(value.into(), *scale as usize, out),
            out,
            cells,
        ),
        DataType::Decimal128(_, scale) => numbers::<Decimal128Type>(
            array,
            there,
            |value, out| text::decimal(value, *scale as usize, out),
            out,
            cells,
        ),
        DataType::Decimal256(_, scale) => {
            let values = array.as_primitive::<Decimal256Type>();
            let write = |row, out: &mut Vec<u8>| {
                text::decimal_bytes(&values.value(row).to_be_bytes(), *scale as usize, out)
            };
            written(there, write, out, cells)
        }
        other => {
            let why = NoText(format!("values of the type {other} have no text"));
            Err(Fault { at: 0, why: why.into() })
        }
    }
}

/// Sets cells to bytes that stand in the array.
fn set<'a>(
    there: impl Iterator<Item = (usize, usize)>,
    value: impl Fn(usize) -> &'a [u8],
    cells: &mut Cells<'_, 'a>,
) -> Filled {
    there.for_each(|(cell, row)| cells.set(cell, value(row)));
    Ok(())
}

/// Sets cells to the texts of numbers.
fn numbers<'a, T: ArrowPrimitiveType>(
    array: &dyn Array,
    there: impl Iterator<Item = (usize, usize)>,
    write: impl Fn(T::Native, &mut Vec<u8>),
    out: &'a mut Vec<u8>,
    cells: &mut Cells<'_, 'a>,
) -> Filled {
    let values = array.as_primitive::<T>();
    let write = |row, out: &mut Vec<u8>| {
        write(values.value(row), out);
        Ok(())
    };
    written(there, write, out, cells)
}

/// Sets cells to texts that are written first.
fn written<'a>(
    there: impl Iterator<Item = (usize, usize)>,
    mut write: impl FnMut(usize, &mut Vec<u8>) -> Result<(), BadRow>,
    out: &'a mut Vec<u8>,
    cells: &mut Cells<'_, 'a>,
) -> Filled {
    let mut ends = Vec::new();
    for (cell, row) in there {
        write(row, out).map_err(|why| Fault { at: cell, why: why.into() })?;
        ends.push((cell, out.len()));
    }
    let (text, mut start) = (&out[..], 0);
    for (cell, end) in ends {
        cells.set(cell, &text[start..end]);
        start = end;
    }
    Ok(())
}
