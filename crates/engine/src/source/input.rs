//! One input that was opened and understood.

use std::path::{Path, PathBuf};

use tamis::key::Column;

use super::chunks::{Beginning, Feed, Sizes};
use super::delimited::{self, Dialect, Picks, newlines};
use super::detect::{self, BYTE_ORDER_MARK, Kind};
use super::origin::{self, Head, Origin};
use super::pace::Flow;
use super::parquet::ParquetFile;
use super::reader::Compression;
use super::render::Style;
use super::{Explained, Form, Format, Options, columns, lines, ndjson};
use crate::{Error, Result};

/// An input, and what of its rows is asked.
pub(super) struct Input {
    /// The file, or `-`.
    pub(super) path: PathBuf,
    pub(super) origin: Origin,
    pub(super) compression: Option<Compression>,
    pub(super) beginning: Beginning,
    pub(super) kind: Kind,
    header: bool,
    /// The columns there are, where that can be told.
    names: Vec<String>,
    pub(super) rows: Rows,
    /// What stands before the first row: a byte order mark, a header.
    prelude: Vec<u8>,
    /// How rows become records, where they have no text of their own.
    pub(super) style: Option<Style>,
    /// Nothing of it is to be sifted: that was done before.
    pub(super) left_out: bool,
}

/// How the asked values are taken from the rows.
pub(super) enum Rows {
    /// The whole line, so many times.
    Lines(usize),
    Delimited(Dialect, Picks),
    /// By these paths.
    Ndjson(Vec<String>),
    Parquet(ParquetFile, Vec<usize>),
}

/// What was seen of an input by looking at its head.
struct Seen {
    kind: Kind,
    beginning: Beginning,
    header: bool,
    names: Vec<String>,
    rows: Option<Rows>,
    prelude: Vec<u8>,
}

impl Input {
    /// Opens an input (standard input where its bytes are given) and recognises it.
    pub(super) fn open(
        path: PathBuf,
        stdin: Option<Flow>,
        options: &Options,
        asked: &[Column],
    ) -> Result<Input> {
        let (origin, compression, seen) =
            origin::open(&path, stdin, |head| look(&path, head, options, asked))?;
        let Seen { kind, beginning, header, mut names, rows, prelude } = seen;
        let rows = match rows {
            Some(rows) => rows,
            None => {
                if compression.is_some() || !origin.is_file() {
                    let message = "Parquet is read from plain files only: unpack it to one first".into();
                    return Err(Error::Input { path, message });
                }
                let file = ParquetFile::open(&path)?;
                names = file.columns();
                let found = asked.iter().map(|column| match column {
                    Column::Line => Err(columns::no_key(&names)),
                    _ => file.find(column).ok_or_else(|| columns::missing(column, &names)),
                });
                let found: Vec<usize> = found
                    .collect::<Result<_, _>>()
                    .map_err(|message| Error::Input { path: path.clone(), message })?;
                found.iter().try_for_each(|&column| file.check(column))?;
                Rows::Parquet(file, found)
            }
        };
        Ok(Input {
            path,
            origin,
            compression,
            beginning,
            kind,
            header,
            names,
            rows,
            prelude,
            style: None,
            left_out: false,
        })
    }

    pub(super) fn explain(&self) -> Explained {
        Explained {
            path: self.path.clone(),
            format: self.kind.format(),
            compression: self.compression.map(Compression::name),
            delimiter: match self.kind {
                Kind::Delimited { delimiter, .. } => Some(delimiter),
                _ => None,
            },
            header: self.header,
            columns: self.names.clone(),
        }
    }

    /// Where the rows of this text may be cut.
    pub(super) fn dialect(&self) -> Dialect {
        match self.rows {
            Rows::Delimited(dialect, _) => dialect,
            _ => Dialect { delimiter: b'\n', quotes: false },
        }
    }

    /// Its text, to be read from the beginning.
    pub(super) fn feed(&self, sizes: Sizes) -> Result<Feed> {
        Feed::open(&self.path, &self.origin, self.compression, self.beginning, self.dialect(), sizes)
    }

    /// How its records are written. Those of Parquet become text, in the wanted format or this
    /// usual one; all others stay as they are.
    pub(super) fn form(&mut self, wanted: Option<Format>, usual: Format) -> Result<Form> {
        let refused = |path: &Path, message: String| Error::Input { path: path.to_owned(), message };
        let format = self.kind.format();
        let Rows::Parquet(file, columns) = &mut self.rows else {
            if wanted.is_some_and(|wanted| wanted != format) {
                let message = "its records leave as they came; leave out --output-format".into();
                return Err(refused(&self.path, message));
            }
            let dialect = self.dialect();
            return Ok(Form {
                format,
                delimiter: dialect.delimiter,
                quotes: dialect.quotes,
                header: self.header,
                columns: if self.header { self.names.clone() } else { Vec::new() },
                prelude: self.prelude.clone(),
            });
        };
        let format = wanted.unwrap_or(usual);
        let delimiter = if format == Format::Tsv { b'\t' } else { b',' };
        for column in 0..self.names.len() {
            file.check(column)?;
        }
        let (style, prelude) = match format {
            Format::Csv | Format::Tsv => Style::delimited(&self.names, delimiter),
            Format::Ndjson => {
                let names = self.names.iter().enumerate();
                let names: Vec<_> = names.map(|(i, name)| (name.clone(), file.is_bare(i))).collect();
                (Style::ndjson(&names), Vec::new())
            }
            Format::Lines | Format::Parquet => {
                let message = "its records can leave as CSV, TSV or NDJSON: --output-format".into();
                return Err(refused(&self.path, message));
            }
        };
        columns.extend(0..self.names.len());
        self.style = Some(style);
        let header = format != Format::Ndjson;
        Ok(Form { format, delimiter, quotes: true, header, columns: self.names.clone(), prelude })
    }

    /// Its length in bytes, where that is known.
    pub(super) fn len(&self) -> Result<Option<u64>> {
        match &self.rows {
            Rows::Parquet(file, _) => Ok(Some((0..file.row_groups()).map(|group| file.bytes(group)).sum())),
            _ => self.origin.len(&self.path),
        }
    }
}

fn look(path: &Path, head: &mut Head, options: &Options, asked: &[Column]) -> Result<Seen> {
    let refused = |message: String| Error::Input { path: path.to_owned(), message };
    let kind = detect::kind(path, &head.bytes, options, asked).map_err(refused)?;
    let mark = if head.bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let beginning = Beginning { bytes: mark, lines: 0 };
    let prelude = head.bytes[..mark].to_vec();
    let seen = |names, rows| Seen { kind, beginning, header: false, names, rows, prelude };
    match kind {
        Kind::Parquet => Ok(seen(Vec::new(), None)),
        Kind::Lines => {
            only_whole_lines(asked).map_err(refused)?;
            Ok(seen(Vec::new(), Some(Rows::Lines(asked.len()))))
        }
        Kind::Ndjson => {
            while !head.whole && lines::first(&head.bytes[mark..]).len() == head.bytes.len() - mark {
                head.grow()?;
            }
            let names = ndjson::names(lines::first(&head.bytes[mark..]));
            let paths = asked.iter().map(|column| match column {
                Column::Name(name) => Ok(name.clone()),
                Column::Line => Err(columns::no_key(&names)),
                Column::Number(_) => Err(format!(
                    "in NDJSON columns have no numbers; ask for {column} by its name; {}",
                    columns::list(&names)
                )),
            });
            let paths = paths.collect::<Result<_, _>>().map_err(refused)?;
            Ok(seen(names, Some(Rows::Ndjson(paths))))
        }
        Kind::Delimited { delimiter, declared } => {
            let by_name = asked.iter().any(|column| matches!(column, Column::Name(_)));
            let header = (declared || by_name) && !options.no_header;
            let dialect = Dialect { delimiter, quotes: !options.no_quotes };
            let (fields, end) = first_row(path, head, mark, dialect)?;
            if header && fields.is_empty() {
                return Err(refused("it is empty: no header line".into()));
            }
            let count = fields.len();
            let names: Vec<String> = if header {
                fields.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect()
            } else {
                (1..=count).map(|number| number.to_string()).collect()
            };
            if by_name && !header {
                return Err(refused(format!(
                    "without a header columns have no names; ask for them by number, 1 to {count}"
                )));
            }
            let found = if count == 0 { unchecked(asked) } else { columns::find(asked, &names) };
            let picks = Picks::new(found.map_err(refused)?);
            let beginning = match header {
                true => Beginning { bytes: end, lines: newlines(&head.bytes[..end]) },
                false => beginning,
            };
            let prelude = head.bytes[..beginning.bytes].to_vec();
            Ok(Seen { kind, beginning, header, names, rows: Some(Rows::Delimited(dialect, picks)), prelude })
        }
    }
}

/// Lines have one value each, which is asked as the line or as column 1.
fn only_whole_lines(asked: &[Column]) -> Result<(), String> {
    match asked.iter().find(|column| !matches!(column, Column::Line | Column::Number(1))) {
        None => Ok(()),
        Some(column) => Err(format!(
            "it has one key per line and no column {column}; if it has columns, say how: --format csv or tsv"
        )),
    }
}

/// Columns of a text without rows, of which nothing can be known.
fn unchecked(asked: &[Column]) -> Result<Vec<usize>, String> {
    asked
        .iter()
        .map(|column| match column {
            Column::Number(number) => Ok(number.saturating_sub(1)),
            _ => Err(columns::no_key(&[])),
        })
        .collect()
}

/// The fields of the first row after the byte order mark, and where the next row begins.
fn first_row(path: &Path, head: &mut Head, mark: usize, dialect: Dialect) -> Result<(Vec<Vec<u8>>, usize)> {
    loop {
        let data = &head.bytes[mark..];
        match delimited::first_row(data, dialect, head.whole) {
            Ok(Some((fields, end))) => return Ok((fields, mark + end)),
            Ok(None) => head.grow()?,
            Err(fault) => {
                let line = 1 + newlines(&data[..fault.at]);
                return Err(Error::Row { path: path.to_owned(), line, message: fault.message });
            }
        }
    }
}
