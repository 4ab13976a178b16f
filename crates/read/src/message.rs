//! Messages of a broker as rows: each is one row, and none is a header.

use std::ops::Range;

use memchr::memchr;
use tamis::key::Column;

use super::delimited;
use super::detect::BadFormat;
use super::dialect::{Dialect, Picks};
use super::lines::without_return;
use super::log::{Fields, Made, Marks};
use super::ndjson::Extractor;
use super::{Format, Options, columns, detect};
use crate::columns::NoColumn;
use crate::refusal::{Help, Refusal};
use crate::sink::{RowResult, Sink};
use crate::{BadRow, opt};

/// Why messages cannot be read as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadMessages {
    /// Parquet is asked for, of which each file has many rows.
    #[error("a message is one row, and Parquet is a format of whole tables")]
    Parquet,
    /// What is declared contradicts their format.
    #[error(transparent)]
    Declared(#[from] BadFormat),
    /// A column that they do not have.
    #[error(transparent)]
    NoColumn(#[from] NoColumn),
}

impl Refusal for BadMessages {
    fn help(&self) -> Vec<Help> {
        match self {
            BadMessages::Parquet => {
                let formats = ["lines", "ndjson", "csv", "tsv", "log"];
                vec![Help::GiveOne(formats.map(|format| opt::FORMAT.with(format)).to_vec())]
            }
            BadMessages::Declared(why) => why.help(),
            BadMessages::NoColumn(why) => why.help(),
        }
    }
}

/// Takes the asked values from messages.
#[derive(Debug)]
pub struct Messages(Way);

/// How they are taken.
#[derive(Debug)]
enum Way {
    /// The whole message, this many times.
    Lines(usize),
    Delimited(Dialect, Picks),
    Ndjson(Extractor),
    Log(Fields, Made),
}

impl Messages {
    /// Of the format that was named; else delimited text where a delimiter was, whole messages where
    /// no column is asked for, and JSON objects where one is.
    pub fn new(options: &Options, asked: &[Column]) -> Result<Messages, BadMessages> {
        if asked.contains(&Column::File) {
            return Err(NoColumn::NoFile.into());
        }
        let whole = asked.iter().all(|column| *column == Column::Line);
        let format = match (options.format, options.delimiter) {
            (Some(format), _) => format,
            (None, Some(_)) => Format::Csv,
            (None, None) if whole => Format::Lines,
            (None, None) => Format::Ndjson,
        };
        match format {
            Format::Parquet => Err(BadMessages::Parquet),
            Format::Lines
                if asked.iter().all(|column| matches!(column, Column::Line | Column::Number(1))) =>
            {
                Ok(Messages(Way::Lines(asked.len())))
            }
            Format::Lines => Err(NoColumn::WholeMessages.into()),
            Format::Ndjson => {
                let path = |column: &Column| match column {
                    Column::Name(_) | Column::List(_) => Ok(column.clone()),
                    Column::Number(number) => Err(NoColumn::NumberInObjects(*number)),
                    Column::Line | Column::File => Err(columns::not_chosen(&[])),
                    Column::Text(_) => Err(NoColumn::NoDocument),
                };
                let paths: Vec<Column> = asked.iter().map(path).collect::<Result<_, _>>()?;
                Ok(Messages(Way::Ndjson(Extractor::new(&paths))))
            }
            Format::Log => {
                detect::refuse_of_log(options)?;
                Ok(Messages(Way::Log(Fields::new(asked)?, Made::default())))
            }
            Format::Csv | Format::Tsv => {
                let usual = if format == Format::Csv { b',' } else { b'\t' };
                let dialect = options.dialect(options.delimiter.unwrap_or(usual.into()));
                let field = |column: &Column| match column {
                    Column::Number(number) if *number > 0 => Ok(number - 1),
                    Column::Line => Err(columns::not_chosen(&[])),
                    column => Err(NoColumn::NameInMessages(column.clone())),
                };
                let fields = asked.iter().map(field).collect::<Result<_, _>>()?;
                Ok(Messages(Way::Delimited(dialect, Picks::new(fields))))
            }
        }
    }

    /// Gives the values of a message to the sink, with this place. An empty message is no row, as
    /// an empty line is not a message.
    pub fn row<S: Sink>(&mut self, message: &[u8], place: Range<usize>, sink: &mut S) -> RowResult {
        let text = match message.strip_suffix(b"\n") {
            Some(line) => without_return(line),
            None => message,
        };
        match &mut self.0 {
            _ if text.is_empty() => Ok(()),
            Way::Lines(1) => sink.row(place, &[Some(text)]),
            Way::Lines(columns) => sink.row(place, &vec![Some(text); *columns]),
            Way::Ndjson(extractor) => match text.trim_ascii() {
                [] => Ok(()),
                object => match extractor.extract(object, |values| sink.row(place.clone(), values)) {
                    Ok(taken) => taken,
                    Err(why) => sink.bad_row(place, *why),
                },
            },
            Way::Log(..) if memchr(b'\n', text).is_some() => sink.bad_row(place, BadRow::SecondRow),
            Way::Log(fields, made) => fields.row(text, Marks::default(), place, made, sink),
            Way::Delimited(dialect, picks) => {
                let quoted = memchr(b'"', text).is_some();
                let mut only = Only { sink, place, rows: 0 };
                delimited::rows(text, *dialect, quoted, picks, &mut only, &mut 0).map_err(|fault| fault.why)
            }
        }
    }
}

/// Takes the one row of a message.
struct Only<'a, S> {
    sink: &'a mut S,
    place: Range<usize>,
    rows: usize,
}

impl<S: Sink> Sink for Only<'_, S> {
    fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        self.rows += 1;
        match self.rows {
            1 => self.sink.row(self.place.clone(), values),
            _ => self.sink.bad_row(self.place.clone(), BadRow::SecondRow),
        }
    }

    fn bad_row(&mut self, _: Range<usize>, why: BadRow) -> RowResult {
        self.sink.bad_row(self.place.clone(), why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists the values of records, and the places of bad ones.
    #[derive(Default)]
    struct Listed {
        rows: Vec<Vec<String>>,
        bad: Vec<(usize, BadRow)>,
    }

    impl Sink for Listed {
        fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
            let text = |value: &Option<&[u8]>| String::from_utf8(value.unwrap_or(b"null").to_vec()).unwrap();
            self.rows.push(values.iter().map(text).collect());
            Ok(())
        }

        fn bad_row(&mut self, place: Range<usize>, why: BadRow) -> RowResult {
            self.bad.push((place.end, why));
            Ok(())
        }
    }

    fn read(options: &Options, asked: &[Column], messages: &[&str]) -> Listed {
        let (mut reading, mut listed) = (Messages::new(options, asked).unwrap(), Listed::default());
        for (at, message) in messages.iter().enumerate() {
            reading.row(message.as_bytes(), at..at + 1, &mut listed).unwrap();
        }
        listed
    }

    #[test]
    fn a_message_without_columns_is_a_key_whatever_is_in_it() {
        let listed = read(&Options::default(), &[Column::Line], &["a b", "", "c\nd\r\n", "\n", "{}"]);
        assert_eq!(listed.rows, [["a b"], ["c\nd"], ["{}"]]);
    }

    #[test]
    fn messages_with_columns_are_objects_or_rows_without_a_header() {
        let name = |name: &str| Column::Name(name.into());
        let asked = [name("user.id"), name("n")];
        let listed = read(&Options::default(), &asked, &["{\"user\":\n{\"id\":\"a\"},\"n\":1}\n", "[1]"]);
        assert_eq!(listed.rows, [["a", "1"]]);
        assert_eq!(listed.bad[0].0, 2);
        let csv = Options { format: Some(Format::Csv), ..Options::default() };
        let asked = [Column::Number(2), Column::Number(1)];
        let listed = read(&csv, &asked, &["a,b,c", "\"x\ny\",\"z\"\"\"\r\n", "alone", "1,2\n3,4"]);
        assert_eq!(listed.rows, [["b", "a"], ["z\"", "x\ny"], ["2", "1"]]);
        assert_eq!(listed.bad.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [3, 4]);
        let semicolon = Options { delimiter: Some(b';'.into()), ..Options::default() };
        assert_eq!(read(&semicolon, &asked, &["a;b"]).rows, [["b", "a"]]);
    }

    #[test]
    fn a_message_may_be_a_line_of_a_log() {
        let log = Options { format: Some(Format::Log), ..Options::default() };
        let asked = [Column::Name("host".into()), Column::Name("agent".into())];
        let line = "h - - [10/Oct/2025:13:55:36 -0700] \"GET / HTTP/1.1\" 200 1 \"-\" \"\\\"\"";
        let listed = read(&log, &asked, &[line, "x", &format!("{line}\n{line}"), &format!("{line}\r\n")]);
        assert_eq!(listed.rows, [["h", "\""], ["h", "\""]]);
        assert_eq!(listed.bad.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [2, 3]);
        let declared = Options { no_header: true, ..log };
        assert!(matches!(Messages::new(&declared, &asked), Err(BadMessages::Declared(_))));
    }

    #[test]
    fn columns_that_messages_cannot_have_are_refused() {
        let refused = |format, column| {
            Messages::new(&Options { format: Some(format), ..Options::default() }, &[column]).unwrap_err()
        };
        let csv = refused(Format::Csv, Column::Name("a".into()));
        assert_eq!(csv, NoColumn::NameInMessages(Column::Name("a".into())).into());
        assert_eq!(refused(Format::Tsv, Column::Line), columns::not_chosen(&[]).into());
        assert_eq!(refused(Format::Ndjson, Column::Number(1)), NoColumn::NumberInObjects(1).into());
        assert_eq!(refused(Format::Lines, Column::Name("a".into())), NoColumn::WholeMessages.into());
        assert_eq!(refused(Format::Parquet, Column::Line), BadMessages::Parquet);
    }
}
