//! What the values of a Parquet column are, by its type and annotations.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::schema::types::ColumnDescriptor;
use tamis::about::Class;

use super::bad::NoText;
use crate::canonical::{MICROS, MILLIS, NANOS, Unit};

/// Decimals may have this many digits after the point; their number comes from the file.
const MAX_SCALE: usize = 1000;

/// How the values of a column are written, given how they are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueType {
    Bytes,
    Bool,
    Signed,
    Unsigned,
    Float,
    Half,
    Decimal(usize),
    Date,
    Time(Unit),
    Timestamp { unit: Unit, utc: bool },
    Uuid,
}

impl From<TimeUnit> for Unit {
    fn from(unit: TimeUnit) -> Unit {
        match unit {
            TimeUnit::MILLIS => MILLIS,
            TimeUnit::MICROS => MICROS,
            TimeUnit::NANOS => NANOS,
        }
    }
}

impl ValueType {
    /// The kind of a column, or why its values have no text.
    pub(super) fn of(column: &ColumnDescriptor) -> Result<ValueType, NoText> {
        if column.max_rep_level() > 0 {
            return Err(NoText::Repeated);
        }
        let kind = match column.logical_type_ref() {
            Some(logical) => ValueType::of_logical(logical),
            None => ValueType::of_converted(column)?,
        };
        if let Some(ValueType::Decimal(scale)) = kind
            && scale > MAX_SCALE
        {
            return Err(NoText::Scale(MAX_SCALE));
        }
        // An annotation counts only on a type that it may stand on.
        let kind = kind.filter(|kind| {
            matches!(
                (column.physical_type(), kind),
                (Type::INT32 | Type::INT64, ValueType::Unsigned | ValueType::Decimal(_) | ValueType::Time(_))
                    | (Type::INT32, ValueType::Date)
                    | (Type::INT64, ValueType::Timestamp { .. })
                    | (Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY, ValueType::Decimal(_))
            ) || (column.physical_type() == Type::FIXED_LEN_BYTE_ARRAY
                && matches!((kind, column.type_length()), (ValueType::Uuid, 16) | (ValueType::Half, 2)))
        });
        Ok(kind.unwrap_or(match column.physical_type() {
            Type::BOOLEAN => ValueType::Bool,
            Type::INT32 | Type::INT64 => ValueType::Signed,
            Type::INT96 => ValueType::Timestamp { unit: NANOS, utc: false },
            Type::FLOAT | Type::DOUBLE => ValueType::Float,
            Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY => ValueType::Bytes,
        }))
    }

    /// The class of the values of a column that are of this type. Bytes are text where they are said to be.
    pub(super) fn class(self, column: &ColumnDescriptor) -> Class {
        match self {
            ValueType::Bool => Class::Boolean,
            ValueType::Signed | ValueType::Unsigned => Class::Integer,
            ValueType::Float if column.physical_type() == Type::DOUBLE => Class::Float,
            ValueType::Float | ValueType::Half => Class::Single,
            ValueType::Decimal(_) => Class::Decimal,
            ValueType::Date => Class::Date,
            ValueType::Time(_) | ValueType::Timestamp { .. } => Class::Time,
            ValueType::Uuid => Class::Text,
            ValueType::Bytes => match (column.logical_type_ref(), column.converted_type()) {
                (Some(LogicalType::String | LogicalType::Enum | LogicalType::Json), _) => Class::Text,
                (None, ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON) => Class::Text,
                _ => Class::Bytes,
            },
        }
    }

    fn of_logical(logical: &LogicalType) -> Option<ValueType> {
        Some(match logical {
            LogicalType::Decimal(decimal) => ValueType::decimal(decimal.scale),
            LogicalType::Date => ValueType::Date,
            LogicalType::Time(time) => ValueType::Time(time.unit.into()),
            LogicalType::Timestamp(timestamp) => {
                ValueType::Timestamp { unit: timestamp.unit.into(), utc: timestamp.is_adjusted_to_u_t_c }
            }
            LogicalType::Integer(integer) if !integer.is_signed => ValueType::Unsigned,
            LogicalType::Uuid => ValueType::Uuid,
            LogicalType::Float16 => ValueType::Half,
            _ => return None,
        })
    }

    /// The older annotations, of which the format says what they mean in terms of the newer.
    fn of_converted(column: &ColumnDescriptor) -> Result<Option<ValueType>, NoText> {
        Ok(Some(match column.converted_type() {
            ConvertedType::DECIMAL => ValueType::decimal(column.type_scale()),
            ConvertedType::DATE => ValueType::Date,
            ConvertedType::TIME_MILLIS => ValueType::Time(MILLIS),
            ConvertedType::TIME_MICROS => ValueType::Time(MICROS),
            ConvertedType::TIMESTAMP_MILLIS => ValueType::Timestamp { unit: MILLIS, utc: true },
            ConvertedType::TIMESTAMP_MICROS => ValueType::Timestamp { unit: MICROS, utc: true },
            ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64 => ValueType::Unsigned,
            ConvertedType::INTERVAL => return Err(NoText::Interval),
            _ => return Ok(None),
        }))
    }

    fn decimal(scale: i32) -> ValueType {
        ValueType::Decimal(usize::try_from(scale).unwrap_or(usize::MAX))
    }
}
