//! The columns of a table that is written as Parquet.

use std::collections::HashSet;
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Stored};
use parquet::file::metadata::{FileMetaData, KeyValue};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor, Type, TypePtr};

use super::codec::Codec;
use crate::refusal::{Help, Refusal};

/// The columns of a table that is written as Parquet, and what else its file says of them.
#[derive(Debug, Clone)]
pub struct Schema {
    root: TypePtr,
    metadata: Vec<KeyValue>,
    /// How its pages are compressed.
    pub codec: Codec,
}

/// Why records cannot be written as Parquet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoTable {
    /// Objects, of which each may have other names and types.
    #[error("NDJSON cannot be written as Parquet: its objects do not share columns and types")]
    Objects,
    /// Whole files.
    #[error("whole files cannot be written as rows of Parquet")]
    Documents,
    /// Names that are no text.
    #[error("its header is not UTF-8, and the names of columns in Parquet are")]
    Header,
    /// Two columns of one name.
    #[error("two columns are called {0:?}, and in Parquet each has a name of its own")]
    Twice(String),
    /// Nothing to write.
    #[error("it has no columns")]
    Nothing,
    /// A type of a later version of the format.
    #[error("column {0:?} has a type that this version does not know, and it cannot be kept")]
    UnknownType(String),
    /// What the schema cannot be made of.
    #[error("its columns cannot be written as Parquet ({0})")]
    Schema(String),
}

impl Refusal for NoTable {
    fn help(&self) -> Vec<Help> {
        match self {
            NoTable::Documents => Vec::new(),
            NoTable::Objects => vec![Help::Do("name an output that ends in .ndjson")],
            NoTable::Header => vec![Help::Do("convert it to UTF-8 first (iconv -t UTF-8)")],
            NoTable::Twice(_) => vec![Help::Do("rename one of them")],
            NoTable::Nothing | NoTable::UnknownType(_) | NoTable::Schema(_) => {
                vec![Help::Do("name an output that ends in .csv or .ndjson")]
            }
        }
    }
}

impl Schema {
    /// The columns of a file, with their types.
    pub(super) fn of_file(file: &FileMetaData) -> Result<Schema, NoTable> {
        let root = file.schema_descr().root_schema_ptr();
        root.get_fields().iter().try_for_each(|field| is_known(field))?;
        let metadata = file.key_value_metadata().cloned().unwrap_or_default();
        Schema { root, metadata, codec: Codec::default() }.checked()
    }

    /// Columns of text, any of which may be missing in a row.
    pub(crate) fn of_texts(names: &[String]) -> Result<Schema, NoTable> {
        let column = |name: &String| text(name, Repetition::OPTIONAL);
        Schema::of_fields("schema", names.iter().map(column).collect::<Result<_, _>>()?)
    }

    fn of_fields(name: &str, fields: Vec<TypePtr>) -> Result<Schema, NoTable> {
        let root = Type::group_type_builder(name).with_fields(fields).build();
        let root = Arc::new(root.map_err(unmade)?);
        Schema { root, metadata: Vec::new(), codec: Codec::default() }.checked()
    }

    fn checked(self) -> Result<Schema, NoTable> {
        let mut names = HashSet::new();
        if let Some(field) = self.root.get_fields().iter().find(|field| !names.insert(field.name())) {
            return Err(NoTable::Twice(field.name().to_owned()));
        }
        if SchemaDescriptor::new(Arc::clone(&self.root)).num_columns() == 0 {
            return Err(NoTable::Nothing);
        }
        Ok(self)
    }

    /// The same with one more column, a list of texts. What the file says of its columns does not hold for
    /// these any more, and is dropped.
    pub fn with_list(&self, name: &str) -> Result<Schema, NoTable> {
        let element = text("element", Repetition::REQUIRED)?;
        let list = Type::group_type_builder("list").with_repetition(Repetition::REPEATED);
        let list = list.with_fields(vec![element]).build().map_err(unmade)?;
        let column = Type::group_type_builder(name)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(LogicalType::List))
            .with_converted_type(ConvertedType::LIST)
            .with_fields(vec![Arc::new(list)]);
        let mut fields = self.root.get_fields().to_vec();
        fields.push(Arc::new(column.build().map_err(unmade)?));
        Ok(Schema { codec: self.codec, ..Schema::of_fields(self.root.name(), fields)? })
    }

    /// Whether the columns of another table are these, with these types; what the two say otherwise of
    /// themselves is dropped.
    pub(crate) fn takes(&mut self, other: &Schema) -> bool {
        self.metadata.retain(|said| other.metadata.contains(said));
        self.root.get_fields() == other.root.get_fields()
    }

    pub(super) fn root(&self) -> TypePtr {
        Arc::clone(&self.root)
    }

    pub(super) fn metadata(&self) -> Option<Vec<KeyValue>> {
        (!self.metadata.is_empty()).then(|| self.metadata.clone())
    }

    /// The columns that have values, nested ones among them.
    pub(super) fn leaves(&self) -> Vec<Arc<ColumnDescriptor>> {
        SchemaDescriptor::new(self.root()).columns().to_vec()
    }
}

fn text(name: &str, repetition: Repetition) -> Result<TypePtr, NoTable> {
    let column = Type::primitive_type_builder(name, Stored::BYTE_ARRAY)
        .with_repetition(repetition)
        .with_logical_type(Some(LogicalType::String))
        .with_converted_type(ConvertedType::UTF8);
    column.build().map(Arc::new).map_err(unmade)
}

fn unmade(error: parquet::errors::ParquetError) -> NoTable {
    NoTable::Schema(error.to_string())
}

/// Refuses types that were read and cannot be written.
fn is_known(field: &Type) -> Result<(), NoTable> {
    let logical = field.get_basic_info().logical_type_ref();
    if matches!(logical, Some(LogicalType::_Unknown { .. })) {
        return Err(NoTable::UnknownType(field.name().to_owned()));
    }
    let fields = if field.is_group() { field.get_fields() } else { &[] };
    fields.iter().try_for_each(|field| is_known(field))
}
