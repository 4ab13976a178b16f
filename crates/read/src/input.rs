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
use crate::Error;
use crate::Result;
use crate::refusal::Said;

/// An input, and what of its rows is asked.
pub(super) struct Input {
    /// The file, or `-`.
    pub(super) path: PathBuf,
    pub(super) origin: Origin,
    pub(super) compression: Option<Compression>,
    pub(super) beginning: Beginning,
    pub(super) explained: Explained,
    pub(super) rows: Rows,
    /// What stands before the first row: a byte order mark, a header.
    pub(super) prelude: Vec<u8>,
    /// How rows become records, where they have no text of their own.
    pub(super) style: Option<Style>,
    /// Nothing of it is to be sifted: that was done before.
    pub(super) left_out: bool,
}

/// An input that was recognised, whether or not it has what is asked of it.
pub(super) struct Understood {
    pub(super) explained: Explained,
    pub(super) input: Result<Input>,
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
    /// None where that is not told by the head; an error where columns are asked that it has not.
    rows: Result<Option<Rows>, String>,
    prelude: Vec<u8>,
}

impl Input {
    /// Opens an input (standard input where its bytes are given), recognises it, and finds the
    /// columns that are asked.
    pub(super) fn open(
        path: PathBuf,
        stdin: Option<Flow>,
        options: &Options,
        asked: &[Column],
    ) -> Result<Input> {
        Input::understand(path, stdin, options, asked)?.input
    }

    /// The same, but that columns are not there is no reason to say nothing of the input.
    pub(super) fn understand(
        path: PathBuf,
        stdin: Option<Flow>,
        options: &Options,
        asked: &[Column],
    ) -> Result<Understood> {
        let (origin, compression, seen) =
            origin::open(&path, stdin, |head| look(&path, head, options, asked))?;
        let Seen { kind, beginning, header, names, rows, prelude } = seen;
        let delimiter = match kind {
            Kind::Delimited { delimiter, .. } => Some(delimiter),
            _ => None,
        };
        let mut explained = Explained {
            path: path.clone(),
            format: kind.format(),
            compression: compression.map(Compression::name),
            delimiter,
            delimiter_by_look: detect::says_comma(&path, options)
                && delimiter.is_some_and(|byte| byte != b','),
            header,
            columns: names,
        };
        let rows = match rows {
            Ok(Some(rows)) => Ok(rows),
            Ok(None) if compression.is_some() || !origin.is_file() => {
                let message = "Parquet is read from plain files only: unpack it to one first".into();
                return Err(Error::told_of(path, message));
            }
            Ok(None) => {
                let file = ParquetFile::open(&path)?;
                explained.columns = file.columns();
                parquet_rows(file, asked, &explained.columns)
            }
            Err(message) => Err(Error::told_of(path.clone(), message)),
        };
        let input = rows.map(|rows| {
            let explained = explained.clone();
            Input {
                path,
                origin,
                compression,
                beginning,
                explained,
                rows,
                prelude,
                style: None,
                left_out: false,
            }
        });
        Ok(Understood { explained, input })
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
        let refused = |path: &Path, message: String| Error::told_of(path.to_owned(), message);
        let format = self.explained.format;
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
                header: self.explained.header,
                columns: if self.explained.header { self.explained.columns.clone() } else { Vec::new() },
                prelude: self.prelude.clone(),
            });
        };
        let format = wanted.unwrap_or(usual);
        let delimiter = if format == Format::Tsv { b'\t' } else { b',' };
        for column in 0..self.explained.columns.len() {
            file.check(column)?;
        }
        let (style, prelude) = match format {
            Format::Csv | Format::Tsv => Style::delimited(&self.explained.columns, delimiter),
            Format::Ndjson => {
                let names = self.explained.columns.iter().enumerate();
                let names: Vec<_> = names.map(|(i, name)| (name.clone(), file.is_bare(i))).collect();
                (Style::ndjson(&names), Vec::new())
            }
            Format::Lines | Format::Parquet => {
                let message = "its records can leave as CSV, TSV or NDJSON: --output-format".into();
                return Err(refused(&self.path, message));
            }
        };
        columns.extend(0..self.explained.columns.len());
        self.style = Some(style);
        let header = format != Format::Ndjson;
        Ok(Form { format, delimiter, quotes: true, header, columns: self.explained.columns.clone(), prelude })
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
    let refused = |message: String| Error::told_of(path.to_owned(), message);
    let mut kind = detect::kind(path, &head.bytes, options, asked).map_err(refused)?;
    let mark = if head.bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    if let Kind::Delimited { delimiter, .. } = &mut kind
        && detect::says_comma(path, options)
    {
        let seen = detect::other_delimiter(&head.bytes[mark..], head.whole, !options.no_quotes);
        *delimiter = seen.unwrap_or(*delimiter);
    }
    let beginning = Beginning { bytes: mark, lines: 0 };
    let prelude = head.bytes[..mark].to_vec();
    let seen = |names, rows| Seen { kind, beginning, header: false, names, rows, prelude };
    match kind {
        Kind::Parquet => Ok(seen(Vec::new(), Ok(None))),
        Kind::Lines => {
            let rows = only_whole_lines(asked).map(|()| Some(Rows::Lines(asked.len())));
            Ok(seen(Vec::new(), rows))
        }
        Kind::Ndjson => {
            while !head.whole && lines::first(&head.bytes[mark..]).len() == head.bytes.len() - mark {
                head.grow()?;
            }
            let names = ndjson::names(lines::first(&head.bytes[mark..]));
            let paths = asked.iter().map(|column| match column {
                Column::Name(name) => Ok(name.clone()),
                Column::Line => Err(columns::no_key(&names)),
                Column::Number(number) if names.contains(&number.to_string()) => Ok(number.to_string()),
                Column::Number(_) => Err(format!(
                    "in NDJSON columns have no numbers; ask for {column} by its name; {}",
                    columns::list(&names)
                )),
            });
            let rows = paths.collect::<Result<_, _>>().map(|paths| Some(Rows::Ndjson(paths)));
            Ok(seen(names, rows))
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
            let found = match count {
                _ if by_name && !header => Err(format!(
                    "without a header columns have no names; ask for them by number, 1 to {count}"
                )),
                0 => unchecked(asked),
                _ => columns::find(asked, &names),
            };
            let rows = found.map(|found| Some(Rows::Delimited(dialect, Picks::new(found))));
            let beginning = match header {
                true => Beginning { bytes: end, lines: newlines(&head.bytes[..end]) },
                false => beginning,
            };
            let prelude = head.bytes[..beginning.bytes].to_vec();
            Ok(Seen { kind, beginning, header, names, rows, prelude })
        }
    }
}

fn parquet_rows(file: ParquetFile, asked: &[Column], names: &[String]) -> Result<Rows> {
    let found = columns::find(asked, names);
    let found = found.map_err(|message| Error::told_of(file.path().to_owned(), message))?;
    found.iter().try_for_each(|&column| file.check(column))?;
    Ok(Rows::Parquet(file, found))
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
                return Err(Error::Row { path: path.to_owned(), line, why: Box::new(Said(fault.message)) });
            }
        }
    }
}
