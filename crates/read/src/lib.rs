//! Where rows come from: text (delimited, or one key per line), NDJSON, access logs and Parquet, plain or
//! compressed, from files, folders, globs and standard input; and tables in memory.
//!
//! [`Sources`] finds the inputs, recognises the format of each and finds the columns that are asked
//! for. It then gives the values of every row to a [`Sink`] per thread, in any order
//! ([`scan`](Sources::scan)), or lets a [`Sift`] per thread make batches that come back in the order of
//! the input ([`sift`](Sources::sift)).
//!
//! ```
//! use std::ops::Range;
//! use std::path::Path;
//!
//! use tamis::key::Column;
//! use tamis_read::{Control, Options, Sink, Sources, RowResult};
//!
//! /// Counts the rows whose city is Rome.
//! #[derive(Default)]
//! struct Romans(u64);
//!
//! impl Sink for Romans {
//!     fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
//!         self.0 += u64::from(values[0] == Some(b"Rome"));
//!         Ok(())
//!     }
//! }
//!
//! let text = b"id,city\n1,Rome\n2,Oslo\n3,Rome\n".to_vec();
//! let columns = [Column::Name("city".into())];
//! let people = Sources::of_text(Path::new("people.csv"), text, &Options::default(), &columns)?;
//! let sinks = people.scan(vec![Romans::default(), Romans::default()], &Control::default())?;
//! assert_eq!(sinks.iter().map(|sink| sink.0).sum::<u64>(), 2);
//! # Ok::<(), tamis_read::Error>(())
//! ```
//!
//! What is refused is a value: a type for each kind of reason, whose text names no option, and what
//! would help as data ([`refusal`]). Front ends put both into words.
//!
//! The path of a row inside: [`Sources`] → an input that was opened (`input`, `origin`, `detect`) → a
//! piece that a thread takes (`feeder`, `supply`, `chunks`) → fields (`lines`, `delimited`, `ndjson`,
//! `log`, `parquet`) → the sink.

mod arch;
mod aside;
mod bad_input;
mod bad_row;
mod binary;
pub mod calendar;
pub mod canonical;
mod chunks;
mod columns;
pub mod control;
mod cursor;
mod delimited;
mod detect;
mod dialect;
mod document;
mod doubt;
pub mod error;
mod extension;
mod feeder;
mod format;
#[doc(hidden)]
pub mod fuzz;
mod header;
mod input;
mod inputs;
#[cfg(test)]
mod law;
mod lines;
mod listed;
mod log;
mod message;
mod named;
mod ndjson;
pub mod opt;
mod options;
mod ordered;
mod origin;
pub mod pace;
pub mod parquet;
mod reader;
pub mod refusal;
pub mod remote;
pub mod render;
mod row_ends;
mod sink;
mod sources;
mod spaced;
mod supply;
pub mod table;
#[cfg(test)]
mod tests;
mod threads;
mod watch;

pub use arch::text::Places;
pub use aside::BadRecord;
pub use bad_row::{BadRow, skip_bad_rows};
pub use chunks::LONGEST_ROW;
pub use columns::{ColumnNames, NoColumn};
pub use control::Control;
pub use error::{Error, Result};
pub use extension::extension;
pub use format::{Form, Format};
pub use input::Explained;
pub use lines::{Fault, Lines, windows};
pub use message::{BadMessages, Messages};
pub use named::name as file_name;
#[doc(hidden)]
pub use ndjson::fuzz_ndjson;
pub use options::{Delimiter, Options, Quotes};
pub use pace::Flow;
pub use reader::Compression;
pub use row_ends::RowEnds;
pub use sink::{Next, Position, RowResult, Sift, Sink};
pub use sources::Sources;
pub use table::{Cells, Table};
pub use threads::NoThread;
pub use watch::Watch;
