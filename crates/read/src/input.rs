//! One input that was opened and understood.

use std::path::{Path, PathBuf};
use std::{mem, str};

use tamis::about::Classes;
use tamis::key::{Column, TextRule};

use super::binary::{self, LOOKED_THROUGH};
use super::chunks::{Beginning, Feed, LineEnds, LineNumbers, Sizes};
use super::delimited::{self, newlines};
use super::detect::{self, BYTE_ORDER_MARK, BadFormat, RowFormat};
use super::dialect::{Dialect, Picks};
use super::document;
use super::log::{self, Fields};
use super::named::Named;
use super::options::{Delimiter, Quotes};
use super::origin::{self, Head, Origin};
use super::pace::Flow;
use super::parquet::{NoTable, ParquetFile, Picked, Schema};
use super::reader::Compression;
use super::render::Style;
use super::{Form, Format, Options, Watch, columns, header, lines, ndjson};
use crate::bad_input::BadInput;
use crate::columns::{ColumnNames, NoColumn};
use crate::refusal::Refusal;
use crate::{BadRow, Error, Result};

/// How one input was understood.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The file, or `-`.
    pub path: PathBuf,
    /// Its format.
    pub format: Format,
    /// Its compression: gz, zst, bz2 or xz.
    pub compression: Option<&'static str>,
    /// The delimiter of delimited text.
    pub delimiter: Option<Delimiter>,
    /// Whether the header told the delimiter, in a file that is called CSV: it has no commas in it, or
    /// another delimiter as well.
    pub delimiter_by_look: bool,
    /// What quotes mean in delimited text.
    pub quotes: Option<Quotes>,
    /// Whether each field of the first row stands in quotes, and nobody said that they mean nothing here.
    pub quotes_by_look: bool,
    /// Whether its name or a flag says that it is a table.
    pub table: bool,
    /// Comments before the first row.
    pub comments: u64,
    /// Whether nobody said that each line is one key: [`Options::undeclared`].
    pub undeclared: bool,
    /// Whether the first line names the columns.
    pub header: bool,
    /// The columns there are, where that can be told.
    pub columns: Vec<String>,
    /// How its text is taken out, where a whole file is one record.
    pub document: Option<TextRule>,
}

/// An input, and what of its rows is asked.
pub(super) struct Input {
    /// The file, or `-`.
    pub(super) path: PathBuf,
    pub(super) origin: Origin,
    pub(super) compression: Option<Compression>,
    pub(super) beginning: Beginning,
    pub(super) explained: Explained,
    pub(super) rows: Rows,
    /// The name of the input, where it is asked for as a column.
    pub(super) named: Option<Named>,
    /// What stands before the first row: a byte order mark, a header.
    pub(super) prelude: Vec<u8>,
    /// Lines that begin with this byte are no rows.
    pub(super) comment: Option<u8>,
    /// What is told of quotes, where nobody said what they mean.
    pub(super) watch: Option<Watch>,
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
    /// The whole line, this many times.
    Lines(usize),
    /// The same of text of which nothing was declared: only lines that are one value however they are
    /// cut.
    Undoubted(usize),
    Delimited(Dialect, Picks),
    /// By these paths, which are columns with a name.
    Ndjson(Vec<Column>),
    Log(Fields),
    Parquet(ParquetFile, Picked),
    /// The text of the whole input by this rule, this many times.
    Document(TextRule, usize),
}

/// What was seen of an input by looking at its head.
struct Seen {
    kind: RowFormat,
    beginning: Beginning,
    header: bool,
    /// Whether the delimiter is not the one that the name of the format says.
    by_look: bool,
    quotes: Option<Quotes>,
    quotes_by_look: bool,
    comments: u64,
    names: Vec<String>,
    /// None where that is not told by the head; an error where columns are asked that it has not.
    rows: Result<Option<Rows>, NoColumn>,
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
        let named = Named::part(&path, options.file.as_deref(), asked);
        let (named, asked) = named.map_err(|why| Error::input(&path, why))?;
        let (origin, compression, seen) =
            origin::open(&path, stdin, |head| look(&path, head, options, &asked))?;
        let Seen { kind, beginning, header, by_look, quotes, quotes_by_look, comments, names, rows, prelude } =
            seen;
        let (delimiter, table) = match kind {
            RowFormat::Delimited { delimiter, declared } => (Some(delimiter), declared),
            _ => (None, false),
        };
        let mut explained = Explained {
            path: path.clone(),
            format: kind.format(),
            compression: compression.map(Compression::name),
            delimiter,
            delimiter_by_look: by_look,
            quotes,
            quotes_by_look,
            table,
            comments,
            undeclared: kind == RowFormat::Undeclared,
            header,
            columns: names,
            document: match rows {
                Ok(Some(Rows::Document(rule, _))) => Some(rule),
                _ => None,
            },
        };
        let rows = match rows {
            Ok(Some(rows)) => Ok(rows),
            Ok(None) if compression.is_some() || !origin.is_file() => {
                return Err(Error::input(path, BadInput::PackedParquet));
            }
            Ok(None) => {
                let file = ParquetFile::open(&path, origin.object())?;
                explained.columns = file.columns();
                parquet_rows(file, &asked, &explained.columns)
            }
            Err(why) => Err(Error::input(path.clone(), why)),
        };
        let rows = match &named {
            Some(_) if explained.columns.iter().any(|column| column == "(file)") => {
                Err(Error::input(path.clone(), NoColumn::FileIsAColumn))
            }
            _ => rows,
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
                named,
                prelude,
                comment: options.comment,
                watch: options.watch.clone(),
                style: None,
                left_out: false,
            }
        });
        Ok(Understood { explained, input })
    }

    /// The classes of the values of the first columns that are asked of its rows, this many.
    pub(super) fn classes(&self, first: usize) -> Classes {
        match &self.rows {
            Rows::Parquet(file, picked) => {
                picked.texts().iter().take(first).filter_map(|&column| file.class(column)).collect()
            }
            _ => Classes::TEXT,
        }
    }

    /// Where the rows of this text may be cut.
    pub(super) fn dialect(&self) -> Dialect {
        match self.rows {
            Rows::Delimited(dialect, _) => dialect,
            _ => Dialect::of_lines(self.comment),
        }
    }

    /// Its text, to be read from the beginning.
    pub(super) fn feed(&self, sizes: Sizes, lines: LineNumbers) -> Result<Feed> {
        let dialect = self.dialect();
        Feed::open(&self.path, &self.origin, self.compression, self.beginning, dialect, (sizes, lines))
    }

    /// The names under which values of these columns are shown, each once: all of the record where that is
    /// read, the asked ones otherwise.
    pub(super) fn shown(&self, picked: &Picked) -> Vec<Option<&str>> {
        let name = |column: &usize| self.explained.columns.get(*column).map(String::as_str);
        let columns = match picked {
            Picked::Texts(columns) => columns,
            // A whole row is no text: what was asked for stands for it.
            Picked::AndRow(columns) => return columns.iter().map(name).chain([None]).collect(),
        };
        let asked = self.style.as_ref().map_or(0, |style| columns.len() - style.columns());
        let is_shown =
            |&(place, column): &(usize, &usize)| place >= asked && !columns[asked..place].contains(column);
        columns.iter().enumerate().map(|at| if is_shown(&at) { name(at.1) } else { None }).collect()
    }

    /// How its records are written. Those of text stay as they are, or become rows of Parquet; those of
    /// Parquet become rows of Parquet or text: CSV, where nothing else is wanted.
    pub(super) fn form(&mut self, wanted: Option<Format>) -> Result<Form> {
        let format = self.explained.format;
        match (format, wanted) {
            (Format::Parquet, Some(Format::Parquet)) => self.form_of_rows(),
            (Format::Parquet, wanted) => self.form_of_texts(wanted.unwrap_or(Format::Csv)),
            (_, Some(Format::Parquet)) => self.form_of_columns(),
            (_, Some(wanted)) if wanted != format => Err(Error::input(&self.path, BadInput::KeepsFormat)),
            _ => Ok(self.form_as_it_is()),
        }
    }

    /// Of text that stays as it is.
    fn form_as_it_is(&self) -> Form {
        let format = self.explained.format;
        let (delimiter, quotes) = match format {
            Format::Log => (b' ', Quotes::Log),
            _ => (self.dialect().delimiter.written(), self.dialect().quotes),
        };
        Form {
            format,
            delimiter,
            quotes,
            header: self.explained.header,
            columns: if self.explained.header { self.explained.columns.clone() } else { Vec::new() },
            prelude: self.prelude.clone(),
            schema: None,
        }
    }

    /// Of Parquet that becomes text.
    fn form_of_texts(&mut self, format: Format) -> Result<Form> {
        let names = &self.explained.columns;
        let Rows::Parquet(file, Picked::Texts(columns)) = &mut self.rows else {
            return Ok(self.form_as_it_is());
        };
        let delimiter = if format == Format::Tsv { b'\t' } else { b',' };
        for column in 0..names.len() {
            file.check(column).map_err(|error| match error {
                Error::Input { path, why } => Error::input(path, BadInput::NotAsText(why)),
                error => error,
            })?;
        }
        let (style, prelude) = match format {
            Format::Csv | Format::Tsv => {
                Style::delimited(names, delimiter).ok_or_else(|| Error::input(&self.path, BadRow::NotTsv))?
            }
            Format::Ndjson => {
                let names = names.iter().enumerate();
                let names: Vec<_> = names.map(|(i, name)| (name.clone(), file.is_bare(i))).collect();
                (Style::ndjson(&names), Vec::new())
            }
            Format::Lines | Format::Log | Format::Parquet => {
                return Err(Error::input(&self.path, BadInput::NoSuchOutput));
            }
        };
        columns.extend(0..names.len());
        self.style = Some(style);
        let header = format != Format::Ndjson;
        let quotes = Quotes::usual(delimiter.into());
        let columns = names.clone();
        Ok(Form { format, delimiter, quotes, header, columns, prelude, schema: None })
    }

    /// Of Parquet that stays what it is.
    fn form_of_rows(&mut self) -> Result<Form> {
        let Rows::Parquet(file, picked) = &mut self.rows else { return Ok(self.form_as_it_is()) };
        let schema = file.schema()?;
        if let Picked::Texts(columns) = picked {
            *picked = Picked::AndRow(mem::take(columns));
        }
        self.style = Some(Style::Row);
        Ok(Form::of_table(schema))
    }

    /// Of text that becomes columns of text in Parquet.
    fn form_of_columns(&mut self) -> Result<Form> {
        let refused = |why: NoTable| Error::input(&self.path, why);
        let names = match &mut self.rows {
            Rows::Ndjson(_) => return Err(refused(NoTable::Objects)),
            Rows::Lines(columns) | Rows::Undoubted(columns) => {
                *columns += 1;
                vec!["line".to_owned()]
            }
            Rows::Log(fields) => {
                fields.add_all();
                self.explained.columns.clone()
            }
            Rows::Delimited(dialect, picks) => {
                if str::from_utf8(&self.prelude).is_err() {
                    return Err(refused(NoTable::Header));
                }
                picks.add_all(self.explained.columns.len(), dialect.quotes);
                self.explained.columns.clone()
            }
            Rows::Document(..) => return Err(refused(NoTable::Documents)),
            Rows::Parquet(..) => return self.form_of_rows(),
        };
        let schema = Schema::of_texts(&names).map_err(refused)?;
        self.style = Some(Style::Texts { columns: names.len() });
        Ok(Form::of_table(schema))
    }

    /// Its length in bytes, where that is known.
    pub(super) fn len(&self) -> Result<Option<u64>> {
        match &self.rows {
            Rows::Parquet(file, _) => Ok(Some((0..file.row_groups()).map(|group| file.bytes(group)).sum())),
            _ => self.origin.len(&self.path),
        }
    }
}

/// Understands an input by its head, which grows where its first row is longer.
fn look(path: &Path, head: &mut Head, options: &Options, asked: &[Column]) -> Result<Seen> {
    let refused = |why: BadFormat| Error::input(path, why);
    if let Some(rule) = asked.iter().find_map(document::asked) {
        return look_at_document(path, head, options, (rule, asked));
    }
    read_first_line(head, options.comment)?;
    let mut kind = detect::kind(path, &head.bytes, options, asked).map_err(refused)?;
    let mark = if head.bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    if kind != RowFormat::Parquet {
        binary::refuse_binary(&head.bytes, head.whole, options.delimiter).map_err(refused)?;
    }
    let by_name = asked.iter().any(|column| column.name().is_some());
    if matches!(kind, RowFormat::ByHeader { .. } | RowFormat::Delimited { .. }) {
        header::refuse_told(&head.bytes[mark..], options).map_err(refused)?;
    }
    let mut by_look = false;
    if let RowFormat::ByHeader { declared } = kind {
        let delimiter;
        (delimiter, by_look) = look_for_delimiter(path, head, mark, options, declared, asked)?;
        kind = RowFormat::Delimited { delimiter, declared };
    }
    let seen = Seen {
        kind,
        beginning: Beginning { bytes: mark, ..Beginning::default() },
        header: false,
        by_look,
        quotes: None,
        quotes_by_look: false,
        comments: 0,
        names: Vec::new(),
        rows: Ok(None),
        prelude: head.bytes[..mark].to_vec(),
    };
    match kind {
        RowFormat::Parquet | RowFormat::ByHeader { .. } => Ok(seen),
        RowFormat::Lines => {
            let rows = only_whole_lines(asked).map(|()| Some(Rows::Lines(asked.len())));
            Ok(Seen { rows, ..seen })
        }
        RowFormat::Undeclared => {
            if header::refuse_undeclared(&head.bytes[mark..], options, asked).is_err() {
                // What is offered is about the first line that may be a row.
                read_first_line(head, options.comment.or(Some(b'#')))?;
                header::refuse_undeclared(&head.bytes[mark..], options, asked).map_err(refused)?;
            }
            Ok(Seen { rows: Ok(Some(Rows::Undoubted(asked.len()))), ..seen })
        }
        RowFormat::Ndjson => {
            let first = lines::first_but(&head.bytes[mark..], options.comment);
            let names = ndjson::names(first);
            let rows = paths(asked, &names).map(|paths| Some(Rows::Ndjson(paths)));
            Ok(Seen { names, rows, ..seen })
        }
        RowFormat::Log => {
            let rows = Fields::new(asked).map(|fields| Some(Rows::Log(fields)));
            Ok(Seen { names: log::names(), rows, ..seen })
        }
        RowFormat::Delimited { delimiter, declared } => {
            let header = options.header(declared || by_name);
            let dialect = options.dialect(delimiter);
            if options.recorded {
                header::refuse_contradicted(&head.bytes[mark..], options, delimiter, asked)
                    .map_err(refused)?;
            }
            let seen = Seen { header, quotes: Some(dialect.quotes), ..seen };
            let mut seen = look_at_table(path, head, seen, dialect, asked)?;
            seen.quotes_by_look &= options.quotes.is_none();
            Ok(seen)
        }
    }
}

/// Makes sure that a whole file can be one record.
fn look_at_document(
    path: &Path,
    head: &Head,
    options: &Options,
    (rule, asked): (TextRule, &[Column]),
) -> Result<Seen> {
    let refused = |why: BadFormat| Error::input(path, why);
    detect::check_document(&head.bytes, options).map_err(refused)?;
    let mark = if head.bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let other = asked.iter().find(|column| document::asked(column).is_none());
    let rows = match other {
        Some(column) => Err(NoColumn::Document(column.clone())),
        None => Ok(Some(Rows::Document(document::rule_of(rule, path), asked.len()))),
    };
    Ok(Seen {
        kind: RowFormat::Lines,
        beginning: Beginning { bytes: mark, ..Beginning::default() },
        header: false,
        by_look: false,
        quotes: None,
        quotes_by_look: false,
        comments: 0,
        names: Vec::new(),
        rows,
        prelude: head.bytes[..mark].to_vec(),
    })
}

/// The delimiter that the header tells, and whether that may not be what was meant.
fn look_for_delimiter(
    path: &Path,
    head: &mut Head,
    mark: usize,
    options: &Options,
    declared: bool,
    asked: &[Column],
) -> Result<(Delimiter, bool)> {
    let refused = |why: BadFormat| Error::input(path, why);
    let by_name = asked.iter().any(|column| column.name().is_some());
    // Whatever the quotes, the delimiter is told by the first line: it must be there as a whole.
    match first_row(path, head, mark, options.dialect(b','.into())) {
        Ok(_) | Err(Error::Row { .. }) => {} // as CSV it may be wrong
        Err(other) => return Err(other),
    }
    while header::goes_on(&head.bytes[mark..], options)
        && !head.whole
        && head.bytes.len() < mark + LOOKED_THROUGH
    {
        head.grow()?;
    }
    let text = &head.bytes[mark..];
    let delimiter = if options.no_header {
        if declared && !by_name {
            header::refuse_other_than_comma(text, options, asked).map_err(refused)?;
        }
        Delimiter::Byte(b',')
    } else {
        header::by_header(text, options, declared, asked).map_err(refused)?
    };
    let comma = delimiter == Delimiter::Byte(b',');
    let by_look = declared && (!comma || (!by_name && header::cuts_otherwise(text, options)));
    Ok((delimiter, by_look))
}

/// Makes sure that the first line which is no comment is there as a whole: what an input is must not
/// depend on how much of it came at once.
fn read_first_line(head: &mut Head, comment: Option<u8>) -> Result<()> {
    loop {
        let first = lines::first_but(&head.bytes, comment);
        let end = match first {
            [] => head.bytes.len(),
            line => line.as_ptr() as usize - head.bytes.as_ptr() as usize + line.len(),
        };
        let ended = !first.is_empty() && head.bytes[end..].contains(&b'\n');
        // The beginning of a longer one is enough to tell what it is; who needs all of it reads on.
        if head.whole || ended || first.len() >= LOOKED_THROUGH || head.bytes.starts_with(b"PAR1") {
            return Ok(());
        }
        head.grow()?;
    }
}

/// The names or numbers of the columns of delimited text, and where its rows begin.
fn look_at_table(
    path: &Path,
    head: &mut Head,
    seen: Seen,
    dialect: Dialect,
    asked: &[Column],
) -> Result<Seen> {
    let (fields, end, comments) = match first_row(path, head, seen.beginning.bytes, dialect) {
        // A row like any other, which may be left out.
        Err(Error::Row { why, .. }) if !seen.header && is_one_line(&*why) => (Vec::new(), 0, 0),
        // A header cannot be left out.
        Err(Error::Row { path, line, why }) if why.as_a() == Some(&BadRow::AfterQuote) => {
            return Err(Error::Row { path, line, why: BadRow::AfterQuoteInHeader.into() });
        }
        found => found?,
    };
    if seen.header && fields.is_empty() {
        return Err(Error::input(path, BadInput::NoHeader));
    }
    if seen.header {
        let mut ends = LineEnds::default();
        ends.count(&head.bytes[seen.beginning.bytes..end], dialect.quotes);
        if ends.are_mostly_returns() {
            return Err(Error::input(path, BadFormat::OnlyReturns));
        }
    }
    let count = fields.len();
    let names: Vec<String> = match seen.header {
        true => fields.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect(),
        false => (1..=count).map(|number| number.to_string()).collect(),
    };
    let found = match count {
        _ if !seen.header && asked.iter().any(|column| column.name().is_some()) => {
            Err(NoColumn::NoNames(count))
        }
        0 => unchecked(asked),
        _ => columns::find(asked, &names),
    };
    let picks = |found| match seen.header {
        true => Picks::new(found).below_header(count, dialect.quotes),
        false => Picks::new(found),
    };
    let rows = found.map(|found| Some(Rows::Delimited(dialect, picks(found))));
    let beginning = match seen.header {
        true => Beginning { bytes: end, lines: newlines(&head.bytes[..end]), uncounted: 0 },
        false => seen.beginning,
    };
    let comments = if seen.header { comments } else { 0 };
    // Comments are skipped, those above the header as well.
    let mut prelude = head.bytes[..beginning.bytes].to_vec();
    if seen.header && comments > 0 {
        let (row, _) = delimited::first_row_start(&head.bytes[seen.beginning.bytes..], dialect);
        prelude.drain(seen.beginning.bytes..seen.beginning.bytes + row);
    }
    let in_quotes = |field: &Vec<u8>| matches!(field[..], [b'"', .., b'"']);
    let quotes_by_look = dialect.quotes == Quotes::None && count > 0 && fields.iter().all(in_quotes);
    Ok(Seen { beginning, comments, names, rows, prelude, quotes_by_look, ..seen })
}

/// Whether a first row is wrong in a way that does not hide where the next begins.
fn is_one_line(why: &dyn Refusal) -> bool {
    matches!(why.as_a(), Some(BadRow::AfterQuote | BadRow::OpenInLine))
}

/// The paths of the asked columns in JSON objects, of which the first has these names.
fn paths(asked: &[Column], names: &[String]) -> Result<Vec<Column>, NoColumn> {
    let path = |column: &Column| match column {
        Column::Name(_) | Column::List(_) => Ok(column.clone()),
        Column::Line | Column::File => Err(columns::not_chosen(names)),
        Column::Text(_) => Err(NoColumn::NoDocument),
        Column::Number(number) if names.contains(&number.to_string()) => Ok(Column::Name(number.to_string())),
        Column::Number(_) => {
            Err(NoColumn::NoNumbers { column: column.clone(), there: ColumnNames(names.to_vec()) })
        }
    };
    asked.iter().map(path).collect()
}

fn parquet_rows(file: ParquetFile, asked: &[Column], names: &[String]) -> Result<Rows> {
    let found = columns::find(asked, names).map_err(|why| Error::input(file.path(), why.without_lines()))?;
    found.iter().try_for_each(|&column| file.check(column))?;
    Ok(Rows::Parquet(file, Picked::Texts(found)))
}

/// Lines have one value each, which is asked as the line or as column 1.
fn only_whole_lines(asked: &[Column]) -> Result<(), NoColumn> {
    match asked.iter().find(|column| !matches!(column, Column::Line | Column::Number(1))) {
        None => Ok(()),
        Some(column) => Err(NoColumn::Lines(column.clone())),
    }
}

/// Columns of a text without rows, of which nothing can be known.
fn unchecked(asked: &[Column]) -> Result<Vec<usize>, NoColumn> {
    asked
        .iter()
        .map(|column| match column {
            Column::Number(number) => Ok(number.saturating_sub(1)),
            _ => Err(columns::not_chosen(&[])),
        })
        .collect()
}

/// The fields of the first row after the byte order mark, where the next row begins, and the comments
/// before it.
fn first_row(
    path: &Path,
    head: &mut Head,
    mark: usize,
    dialect: Dialect,
) -> Result<(Vec<Vec<u8>>, usize, u64)> {
    loop {
        let data = &head.bytes[mark..];
        let mut comments = 0;
        match delimited::first_row(data, dialect, head.whole, &mut comments) {
            Ok(Some((fields, end))) => return Ok((fields, mark + end, comments)),
            Ok(None) => head.grow()?,
            Err(fault) => {
                let line = 1 + newlines(&data[..fault.at]);
                return Err(Error::Row { path: path.to_owned(), line, why: fault.why });
            }
        }
    }
}
