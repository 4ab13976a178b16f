//! Messages of a broker as rows: each is one row, and none is a header.

use std::ops::Range;

use memchr::memchr;
use tamis::key::Column;

use super::delimited::{self, Dialect, Picks};
use super::lines::without_return;
use super::ndjson::Extractor;
use super::{Format, Options, Sift, Sink, columns};

/// Takes the asked values from messages.
#[derive(Debug)]
pub struct Messages(Way);

/// How they are taken.
#[derive(Debug)]
enum Way {
    /// The whole message, so many times.
    Lines(usize),
    Delimited(Dialect, Picks),
    Ndjson(Extractor),
}

impl Messages {
    /// Of the format that was named; else delimited text where a delimiter was, whole messages where
    /// no column is asked for, and JSON objects where one is.
    pub fn new(options: &Options, asked: &[Column]) -> Result<Messages, String> {
        let whole = asked.iter().all(|column| *column == Column::Line);
        let format = match (options.format, options.delimiter) {
            (Some(format), _) => format,
            (None, Some(_)) => Format::Csv,
            (None, None) if whole => Format::Lines,
            (None, None) => Format::Ndjson,
        };
        match format {
            Format::Parquet => Err("a message is one row: --format lines, ndjson, csv or tsv".into()),
            Format::Lines
                if asked.iter().all(|column| matches!(column, Column::Line | Column::Number(1))) =>
            {
                Ok(Messages(Way::Lines(asked.len())))
            }
            Format::Lines => Err("a message of --format lines is one key and has no columns".into()),
            Format::Ndjson => {
                let path = |column: &Column| match column {
                    Column::Name(name) => Ok(name.clone()),
                    Column::Number(number) => Err(format!(
                        "JSON objects have no column {number}: name it, or say how messages look (--format csv or tsv)"
                    )),
                    Column::Line => Err(columns::no_key(&[])),
                };
                let paths: Vec<String> = asked.iter().map(path).collect::<Result<_, _>>()?;
                Ok(Messages(Way::Ndjson(Extractor::new(&paths))))
            }
            Format::Csv | Format::Tsv => {
                let usual = if format == Format::Csv { b',' } else { b'\t' };
                let delimiter = options.delimiter.unwrap_or(usual);
                let field = |column: &Column| match column {
                    Column::Number(number) if *number > 0 => Ok(number - 1),
                    Column::Line => Err(columns::no_key(&[])),
                    column => {
                        Err(format!("messages have no header: ask for column {column} by its number, from 1"))
                    }
                };
                let fields = asked.iter().map(field).collect::<Result<_, _>>()?;
                let dialect = Dialect { delimiter, quotes: !options.no_quotes };
                Ok(Messages(Way::Delimited(dialect, Picks::new(fields))))
            }
        }
    }

    /// Gives the values of a message to the sifter, with this place. An empty message is no row, as
    /// an empty line is none.
    pub fn row<S: Sift>(
        &mut self,
        message: &[u8],
        place: Range<usize>,
        sifter: &mut S,
    ) -> Result<(), String> {
        let text = match message.strip_suffix(b"\n") {
            Some(line) => without_return(line),
            None => message,
        };
        match &mut self.0 {
            _ if text.is_empty() => Ok(()),
            Way::Lines(1) => sifter.record(place, &[Some(text)]),
            Way::Lines(columns) => sifter.record(place, &vec![Some(text); *columns]),
            Way::Ndjson(extractor) => match text.trim_ascii() {
                [] => Ok(()),
                object => match extractor.extract(object, |values| sifter.record(place.clone(), values)) {
                    Ok(taken) => taken,
                    Err(fault) => sifter.bad_record(place, format_args!("{fault}")),
                },
            },
            Way::Delimited(dialect, picks) => {
                let quoted = memchr(b'"', text).is_some();
                let mut only = Only { sifter, place, rows: 0 };
                delimited::rows(text, *dialect, quoted, picks, &mut only).map_err(|fault| fault.message)
            }
        }
    }
}

/// Takes the one row of a message.
struct Only<'a, S> {
    sifter: &'a mut S,
    place: Range<usize>,
    rows: usize,
}

impl<S: Sift> Sink for Only<'_, S> {
    fn row(&mut self, values: &[Option<&[u8]>]) -> Result<(), String> {
        self.rows += 1;
        match self.rows {
            1 => self.sifter.record(self.place.clone(), values),
            _ => self
                .sifter
                .bad_record(self.place.clone(), format_args!("a message is one row, and this has more")),
        }
    }

    fn bad_row(&mut self, _: Range<usize>, why: std::fmt::Arguments<'_>) -> Result<(), String> {
        self.sifter.bad_record(self.place.clone(), why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists the values of records, and the places of bad ones.
    #[derive(Default)]
    struct Listed {
        rows: Vec<Vec<String>>,
        bad: Vec<(usize, String)>,
    }

    impl Sift for Listed {
        type Batch = ();

        fn record(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> Result<(), String> {
            let text = |value: &Option<&[u8]>| String::from_utf8(value.unwrap_or(b"null").to_vec()).unwrap();
            self.rows.push(values.iter().map(text).collect());
            Ok(())
        }

        fn bad_record(&mut self, place: Range<usize>, why: std::fmt::Arguments<'_>) -> Result<(), String> {
            self.bad.push((place.end, why.to_string()));
            Ok(())
        }

        fn batch(&mut self, _: &[u8], (): &mut ()) {}
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
        let semicolon = Options { delimiter: Some(b';'), ..Options::default() };
        assert_eq!(read(&semicolon, &asked, &["a;b"]).rows, [["b", "a"]]);
    }

    #[test]
    fn columns_that_messages_cannot_have_are_refused() {
        let refused = |format, column| {
            Messages::new(&Options { format: Some(format), ..Options::default() }, &[column]).unwrap_err()
        };
        assert!(refused(Format::Csv, Column::Name("a".into())).contains("no header"));
        assert!(refused(Format::Tsv, Column::Line).contains("--key"));
        assert!(refused(Format::Ndjson, Column::Number(1)).contains("--format csv"));
        assert!(refused(Format::Lines, Column::Name("a".into())).contains("no columns"));
        assert!(refused(Format::Parquet, Column::Line).contains("one row"));
    }
}
