//! Why a Parquet file cannot be read.

use parquet::errors::ParquetError;

use crate::refusal::{Help, Refusal};

/// Why a Parquet file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadParquet {
    /// What it says about itself is wrong.
    #[error("not a Parquet file, or a damaged one: {0}")]
    File(#[source] Broken),
    /// Its footer or its columns are encrypted.
    #[error("is encrypted, or its footer is signed; what is in it is not read")]
    Encrypted,
    /// The values of a column have no text.
    #[error("column {name:?} {why}")]
    Column {
        /// The path of the column.
        name: String,
        /// Why they have none.
        why: NoText,
    },
    /// The values of a column cannot be decoded.
    #[error("column {name:?} cannot be read, the file may be damaged: {why}")]
    Values {
        /// The path of the column.
        name: String,
        /// What is wrong with them.
        why: Undecodable,
    },
}

impl Refusal for BadParquet {
    fn help(&self) -> Vec<Help> {
        match self {
            BadParquet::File(Broken::Elsewhere) => vec![Help::Do("name those files instead")],
            BadParquet::Encrypted => vec![Help::Do("write it without encryption first")],
            BadParquet::Column { .. } => vec![Help::Do("choose another column")],
            BadParquet::File(_) | BadParquet::Values { .. } => Vec::new(),
        }
    }
}

/// What is wrong with what a file says about itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Broken {
    /// The reader says so.
    #[error(transparent)]
    Reader(#[from] ParquetError),
    /// It has another length than before.
    #[error("it changed while it was read")]
    Changed,
    /// Numbers in the footer do not fit together.
    #[error("its footer contradicts itself")]
    Contradiction,
    /// The footer cannot be walked through.
    #[error("its footer is damaged")]
    Footer,
    /// The schema cannot be walked through.
    #[error("the schema in its footer is damaged")]
    Schema,
    /// A group of the schema has more children than there are elements.
    #[error("a group in its schema claims more columns than there are")]
    Children,
    /// The schema is a tree that is too deep.
    #[error("its schema is nested deeper than {0} levels")]
    Depth(usize),
    /// The rows of all row groups are more than can be counted.
    #[error("it claims an impossible number of rows")]
    Rows,
    /// A row group has fewer columns than the schema.
    #[error("a row group lacks columns")]
    Columns,
    /// A column begins before the file.
    #[error("a column has no place in it")]
    Place,
    /// A Bloom filter begins before the file, or has fewer bytes than none.
    #[error("a Bloom filter has no place in it")]
    FilterPlace,
    /// Columns are stored in other files.
    #[error("its columns are in other files")]
    Elsewhere,
}

/// Why the values of a column have no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoText {
    /// A row may have several values of it.
    #[error("is repeated (a list or a map): a row has no single value of it")]
    Repeated,
    /// A decimal of absurd scale.
    #[error("is a decimal with a scale that is negative or above {0}")]
    Scale(usize),
    /// An interval.
    #[error("is an interval, which cannot be a key: its length is not fixed")]
    Interval,
}

/// Why the values of a column cannot be decoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Undecodable {
    /// The reader says so.
    #[error(transparent)]
    Reader(#[from] ParquetError),
    /// The pages end before the rows do.
    #[error("it has fewer values than the row group has rows")]
    TooFew,
    /// The levels and the values of a page do not belong together.
    #[error("a page claims values that it does not have")]
    Levels,
    /// The decoder gave up.
    #[error("a page holds what cannot be decoded")]
    Page,
}
