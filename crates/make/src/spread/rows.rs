//! Rows that a machine was given.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tamis::key::Column;
use tamis_read::error::{Error, Result};
use tamis_read::{Options, Sources, Table};

/// Rows in memory.
pub enum Rows {
    /// A table.
    Table(Arc<dyn Table>),
    /// Lines of a text, with the header before them where it has one; read as these options say.
    Text {
        /// The lines.
        lines: Vec<u8>,
        /// How to read them: the format is given.
        options: Options,
        /// What is said of where they come from.
        name: PathBuf,
    },
}

impl Rows {
    /// The rows, with these columns asked of them.
    pub fn sources(self, columns: &[Column]) -> Result<Sources> {
        match self {
            Rows::Table(table) => Sources::of_table(table, columns),
            Rows::Text { lines, options, name } => Sources::of_text(&name, lines, &options, columns),
        }
    }

    /// The same for rows whose faults are told without a line: its number is that of a piece of the text.
    pub fn plainly(error: Error) -> Error {
        match error {
            Error::Row { path, why, .. } | Error::FileRow { path, why, .. } => Error::Input { path, why },
            error => error,
        }
    }

    /// Where lines come from that have no name of their own.
    pub fn somewhere() -> &'static Path {
        Path::new("a line of the input")
    }
}
