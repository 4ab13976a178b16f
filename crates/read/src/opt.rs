//! The options of reading that refusals name, each once.

use crate::refusal::Opt;

/// What is done with rows that cannot be used.
pub const BAD_ROWS: Opt = Opt("bad_rows");
/// The file that they are set aside to.
pub const BAD_ROWS_TO: Opt = Opt("bad_rows_to");
/// What separates the values of delimited text.
pub const DELIMITER: Opt = Opt("delimiter");
/// The format of the inputs.
pub const FORMAT: Opt = Opt("format");
/// The columns of keys.
pub const KEY: Opt = Opt("key");
/// Whether the first line names the columns.
pub const NO_HEADER: Opt = Opt("no_header");
/// That the first line names the columns.
pub const WITH_HEADER: Opt = Opt("with_header");
/// What quotes mean.
pub const QUOTES: Opt = Opt("quotes");
/// The sign with which lines begin that are no rows.
pub const COMMENT: Opt = Opt("comment");
/// The format of the records that a job writes.
pub const OUTPUT_FORMAT: Opt = Opt("output_format");
