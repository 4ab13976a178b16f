//! The groups of a record, added to it as one more column.

use std::borrow::Cow;
use std::ops::Range;
use std::str;

use memchr::memrchr;
use tamis::params::Name;
use tamis_read::parquet::row::with_list;
use tamis_read::render::{field, json_string};
use tamis_read::{Form, Format, Quotes};

use tamis_make::text::{listed_name, printable};

/// Adds the names of groups to records.
#[derive(Debug)]
pub(super) struct Tag<'a> {
    form: &'a Form,
    name: &'a str,
    groups: Vec<&'a Name>,
}

impl<'a> Tag<'a> {
    /// A column of this name.
    pub(super) fn new(form: &'a Form, name: &'a str, groups: Vec<&'a Name>) -> Self {
        Tag { form, name, groups }
    }

    /// What stands before the first record, with the name of the column where there is a header.
    pub(super) fn prelude(&self) -> Vec<u8> {
        let prelude = &self.form.prelude;
        if !self.form.header {
            return prelude.clone();
        }
        let end = body(prelude, 0..prelude.len());
        let mut out = prelude[..end].to_vec();
        out.push(self.form.delimiter);
        self.field(printable(self.name.as_bytes()).as_bytes(), &mut out);
        out.extend_from_slice(&prelude[end..]);
        out
    }

    /// Appends a record with its groups.
    pub(super) fn record(
        &self,
        data: &[u8],
        place: Range<usize>,
        groups: impl Iterator<Item = u32>,
        out: &mut Vec<u8>,
    ) {
        let names = groups.map(|group| &self.groups[group as usize].0[..]);
        if self.form.format == Format::Parquet {
            return self.row(&data[place], names, out);
        }
        let end = body(data, place.clone());
        let end = match self.form.format {
            // A line that was read holds an object, and so has a last brace.
            Format::Ndjson => memrchr(b'}', &data[place.start..end]).map_or(end, |at| place.start + at),
            _ => end,
        };
        out.extend_from_slice(&data[place.start..end]);
        match self.form.format {
            Format::Ndjson => {
                let empty = data[place.start..end].trim_ascii_end().ends_with(b"{");
                if !empty {
                    out.push(b',');
                }
                json_string(self.name.as_bytes(), out);
                out.extend_from_slice(b":[");
                for (i, name) in names.enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    json_string(name, out);
                }
                out.push(b']');
            }
            Format::Lines => {
                out.push(b'\t');
                out.extend_from_slice(joined(names).as_bytes());
            }
            _ => {
                out.push(self.form.delimiter);
                self.field(joined(names).as_bytes(), out);
            }
        }
        out.extend_from_slice(&data[end..place.end]);
    }

    /// Appends a row of Parquet with its groups, a list of texts: what is not UTF-8 is escaped.
    fn row<'n>(&self, row: &[u8], names: impl Iterator<Item = &'n [u8]>, out: &mut Vec<u8>) {
        let names: Vec<Cow<'n, [u8]>> = names
            .map(|name| match str::from_utf8(name) {
                Ok(_) => Cow::Borrowed(name),
                Err(_) => Cow::Owned(printable(name).into_bytes()),
            })
            .collect();
        with_list(row, names.iter().map(|name| &**name), out);
    }

    fn field(&self, value: &[u8], out: &mut Vec<u8>) {
        match self.form.quotes {
            Quotes::Csv => field(value, self.form.delimiter, out),
            Quotes::None => out.extend_from_slice(value),
            // One that is empty, or has blanks, must be seen as one.
            Quotes::Log => {
                let mut escaped = Vec::new();
                for &byte in value {
                    if matches!(byte, b'"' | b'\\') {
                        escaped.push(b'\\');
                    }
                    escaped.push(byte);
                }
                out.push(b'"');
                out.extend_from_slice(&escaped);
                out.push(b'"');
            }
        }
    }
}

/// Names as one text, as `query` prints them: what separates them is escaped within one.
fn joined<'n>(names: impl Iterator<Item = &'n [u8]>) -> String {
    names.map(listed_name).collect::<Vec<_>>().join(",")
}

/// Where the line end of a record begins.
fn body(data: &[u8], place: Range<usize>) -> usize {
    let record = &data[place.clone()];
    let line = record.strip_suffix(b"\n").map_or(record, |line| line.strip_suffix(b"\r").unwrap_or(line));
    place.start + line.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tagged(format: Format, quotes: Quotes, record: &str, groups: &[u32]) -> String {
        let delimiter = if format == Format::Tsv { b'\t' } else { b',' };
        let form = Form {
            format,
            delimiter,
            quotes,
            header: true,
            columns: Vec::new(),
            prelude: b"a\r\n".into(),
            schema: None,
        };
        let names = [
            Name::from("x"),
            Name::from("y \"z\""),
            Name::from("t\tu"),
            Name::from("v\\"),
            Name::from("a,b"),
        ];
        let tag = Tag::new(&form, "groups", names.iter().collect());
        let mut out = Vec::new();
        tag.record(record.as_bytes(), 0..record.len(), groups.iter().copied(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn groups_come_last_before_the_line_end() {
        assert_eq!(tagged(Format::Csv, Quotes::Csv, "k,1\r\n", &[0]), "k,1,x\r\n");
        assert_eq!(tagged(Format::Csv, Quotes::Csv, "k,1", &[]), "k,1,");
        assert_eq!(
            tagged(Format::Csv, Quotes::Csv, "\"a\nb\",1\n", &[0, 1]),
            "\"a\nb\",1,\"x,y \"\"z\"\"\"\n"
        );
        assert_eq!(tagged(Format::Tsv, Quotes::Csv, "k\n", &[2]), "k\tt\\tu\n");
        assert_eq!(tagged(Format::Csv, Quotes::Csv, "k\n", &[3, 4, 0]), "k,\"v\\\\,a\\,b,x\"\n");
        assert_eq!(tagged(Format::Tsv, Quotes::None, "k\n", &[2, 0]), "k\tt\\tu,x\n");
        assert_eq!(tagged(Format::Lines, Quotes::Csv, "k\n", &[2, 0]), "k\tt\\tu,x\n");
    }

    #[test]
    fn in_logs_they_are_quoted() {
        assert_eq!(tagged(Format::Csv, Quotes::Log, "k 1\n", &[]), "k 1,\"\"\n");
        assert_eq!(tagged(Format::Csv, Quotes::Log, "k\n", &[1]), "k,\"y \\\"z\\\"\"\n");
        assert_eq!(tagged(Format::Csv, Quotes::Log, "k\n", &[3]), "k,\"v\\\\\\\\\"\n");
    }

    #[test]
    fn in_json_they_are_a_list() {
        assert_eq!(
            tagged(Format::Ndjson, Quotes::Csv, "{\"a\":{}}\n", &[0, 1]),
            "{\"a\":{},\"groups\":[\"x\",\"y \\\"z\\\"\"]}\n"
        );
        assert_eq!(tagged(Format::Ndjson, Quotes::Csv, " { } \r\n", &[]), " { \"groups\":[]} \r\n");
    }

    #[test]
    fn the_header_names_them() {
        let form = Form {
            format: Format::Csv,
            delimiter: b';',
            quotes: Quotes::Csv,
            header: true,
            columns: Vec::new(),
            prelude: b"\xef\xbb\xbfa;b\r\n".into(),
            schema: None,
        };
        assert_eq!(Tag::new(&form, "my;groups", Vec::new()).prelude(), b"\xef\xbb\xbfa;b;\"my;groups\"\r\n");
        let form = Form { header: false, ..form };
        assert_eq!(Tag::new(&form, "g", Vec::new()).prelude(), form.prelude);
    }
}
