//! Results as CSV, for spreadsheets and programs: RFC 4180, with a header, and lines that end with a line feed.
//!
//! A cell has its value as it is: numbers without separators and with all their digits, names byte for byte. What
//! is not known is an empty cell.

use std::io::{self, BufWriter, Write};

use tamis::params::Name;

/// One line for each result, with named columns. Lines are made when they are written: there may be millions.
pub struct Csv<'r> {
    columns: Vec<&'static str>,
    rows: Box<dyn Iterator<Item = Vec<Cell>> + 'r>,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cell(Vec<u8>);

/// A row of values of several types.
///
/// ```
/// use tamis_report::{Csv, cells};
///
/// let rows = vec![cells!["a, \"b\"", 7u64, 0.25, None::<u64>]];
/// let mut text = Vec::new();
/// Csv::new(["group", "keys", "rate", "removed"], rows).write(&mut text)?;
/// assert_eq!(text, b"group,keys,rate,removed\n\"a, \"\"b\"\"\",7,0.25,\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[macro_export]
macro_rules! cells {
    ($($value:expr),* $(,)?) => { vec![$($crate::Cell::from($value)),*] };
}

impl<'r> Csv<'r> {
    /// These rows below these names.
    pub fn new<R: IntoIterator<Item = Vec<Cell>>>(
        columns: impl IntoIterator<Item = &'static str>,
        rows: R,
    ) -> Csv<'r>
    where
        R::IntoIter: 'r,
    {
        Csv { columns: columns.into_iter().collect(), rows: Box::new(rows.into_iter()) }
    }

    /// Writes all of it.
    pub fn write(self, out: &mut dyn Write) -> io::Result<()> {
        let mut out = BufWriter::new(out);
        let width = self.columns.len();
        write_row(&mut out, &self.columns.into_iter().map(Cell::from).collect::<Vec<_>>())?;
        for row in self.rows {
            debug_assert_eq!(row.len(), width, "a row has a value for each column");
            write_row(&mut out, &row)?;
        }
        out.flush()
    }
}

fn write_row(out: &mut impl Write, cells: &[Cell]) -> io::Result<()> {
    for (at, Cell(bytes)) in cells.iter().enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        // An empty line would be no row.
        let alone = cells.len() == 1 && bytes.is_empty();
        if !alone && !bytes.iter().any(|byte| b",\"\r\n".contains(byte)) {
            out.write_all(bytes)?;
            continue;
        }
        out.write_all(b"\"")?;
        for (part, text) in bytes.split(|byte| *byte == b'"').enumerate() {
            if part > 0 {
                out.write_all(b"\"\"")?;
            }
            out.write_all(text)?;
        }
        out.write_all(b"\"")?;
    }
    out.write_all(b"\n")
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell(text.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell(text.into())
    }
}

impl From<&Name> for Cell {
    fn from(name: &Name) -> Cell {
        Cell(name.0.clone())
    }
}

impl From<f64> for Cell {
    /// As few digits as give the same number again; nothing where there is no number.
    fn from(value: f64) -> Cell {
        if value.is_finite() { format!("{value:?}").into() } else { Cell::default() }
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Cell {
        if value { "yes" } else { "no" }.into()
    }
}

macro_rules! of_integers {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Cell {
            fn from(value: $integer) -> Cell {
                value.to_string().into()
            }
        }
    )*};
}
of_integers!(u32, u64, usize);

impl<T> From<Option<T>> for Cell
where
    Cell: From<T>,
{
    fn from(value: Option<T>) -> Cell {
        value.map_or_else(Cell::default, Cell::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads it back as RFC 4180 says, byte by byte.
    fn parsed(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), Vec::new(), false);
        let mut at = 0;
        while at < text.len() {
            match (text[at], quoted) {
                (b'"', true) if text.get(at + 1) == Some(&b'"') => {
                    cell.push(b'"');
                    at += 1;
                }
                (b'"', _) => quoted = !quoted,
                (b',', false) => row.push(std::mem::take(&mut cell)),
                (b'\n', false) => {
                    row.push(std::mem::take(&mut cell));
                    rows.push(std::mem::take(&mut row));
                }
                (byte, _) => cell.push(byte),
            }
            at += 1;
        }
        assert!(!quoted && row.is_empty() && cell.is_empty(), "the last line is whole");
        rows
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_byte_for_byte(
            rows in proptest::collection::vec(proptest::collection::vec(any::<Vec<u8>>(), 2), 0..5)
        ) {
            let names: Vec<Vec<Cell>> =
                rows.iter().map(|row| row.iter().map(|cell| Cell::from(&Name(cell.clone()))).collect()).collect();
            let mut text = Vec::new();
            Csv::new(["a", "b,c"], names).write(&mut text).unwrap();
            let mut wanted = vec![vec![b"a".to_vec(), b"b,c".to_vec()]];
            wanted.extend(rows);
            prop_assert_eq!(parsed(&text), wanted);
        }

        #[test]
        fn numbers_come_back_to_the_bit(value in any::<f64>().prop_filter("a number", |value| value.is_finite())) {
            let Cell(text) = value.into();
            let back: f64 = String::from_utf8(text).unwrap().parse().unwrap();
            prop_assert_eq!(back.to_bits(), value.to_bits());
        }
    }

    #[test]
    fn what_is_not_a_number_is_an_empty_cell_and_a_lone_one_is_a_row() {
        let mut text = Vec::new();
        Csv::new(["a"], vec![cells![f64::NAN], cells![true]]).write(&mut text).unwrap();
        assert_eq!(text, b"a\n\"\"\nyes\n");
    }
}
