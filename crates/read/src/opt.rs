//! The options of reading that refusals name, each once.

use crate::refusal::Opt;

/// What is done with rows that cannot be used.
pub const BAD_ROWS: Opt = Opt("bad_rows");
/// What separates the values of delimited text.
pub const DELIMITER: Opt = Opt("delimiter");
/// The format of the inputs.
pub const FORMAT: Opt = Opt("format");
/// The columns of keys.
pub const KEY: Opt = Opt("key");
/// Whether quotes are ordinary characters.
pub const NO_QUOTES: Opt = Opt("no_quotes");
/// The format of the records that a job writes.
pub const OUTPUT_FORMAT: Opt = Opt("output_format");
