//! Records made of values, where they do not stay as they are: those of Parquet have no text of their own, and
//! those that go to Parquet need columns.

use std::str;

use memchr::memchr3;

use crate::BadRow;
use crate::parquet::row;

/// How the values of a row become a record.
#[derive(Debug, Clone)]
pub(super) enum Style {
    /// Delimited text.
    Delimited { columns: usize, delimiter: u8 },
    /// A JSON object: for each value the text before it, and whether it is a number or a truth
    /// value, which stands without quotes.
    Ndjson(Vec<(Vec<u8>, bool)>),
    /// A row of a table whose columns are texts.
    Texts { columns: usize },
    /// A row of a table, which is there already.
    Row,
}

impl Style {
    /// Delimited text, and its header line; none where the names cannot stand in it.
    pub(super) fn delimited(names: &[String], delimiter: u8) -> Option<(Style, Vec<u8>)> {
        let style = Style::Delimited { columns: names.len(), delimiter };
        let mut header = Vec::new();
        let names: Vec<Option<&[u8]>> = names.iter().map(|name| Some(name.as_bytes())).collect();
        style.record(&names, &mut header).ok().map(|()| (style, header))
    }

    /// JSON objects with these names; whether the value of each stands without quotes.
    pub(super) fn ndjson(names: &[(String, bool)]) -> Style {
        let before = |(i, (name, bare)): (usize, &(String, bool))| {
            let mut text = if i == 0 { b"{".to_vec() } else { b",".to_vec() };
            json_string(name.as_bytes(), &mut text);
            text.push(b':');
            (text, *bare)
        };
        Style::Ndjson(names.iter().enumerate().map(before).collect())
    }

    /// How many values a record has.
    pub(super) fn columns(&self) -> usize {
        match self {
            Style::Delimited { columns, .. } => *columns,
            Style::Ndjson(names) => names.len(),
            Style::Texts { columns } => *columns,
            Style::Row => 1,
        }
    }

    /// Appends the record of these values. Nothing is appended where the format cannot hold them: TSV has no
    /// quotes, as it is read, and texts of Parquet are UTF-8.
    pub(super) fn record(&self, values: &[Option<&[u8]>], out: &mut Vec<u8>) -> Result<(), BadRow> {
        match self {
            Style::Delimited { delimiter: b'\t', .. } => {
                let is_cut = |value: &Option<&[u8]>| {
                    value.is_some_and(|value| memchr3(b'\t', b'\n', b'\r', value).is_some())
                };
                if values.iter().any(is_cut) {
                    return Err(BadRow::NotTsv);
                }
                for (i, value) in values.iter().enumerate() {
                    if i > 0 {
                        out.push(b'\t');
                    }
                    out.extend_from_slice(value.unwrap_or_default());
                }
                // An empty line would be no record; this is read as a null.
                if let [None | Some([])] = values {
                    out.extend_from_slice(b"\\N");
                }
            }
            Style::Delimited { delimiter, .. } => {
                for (i, value) in values.iter().enumerate() {
                    if i > 0 {
                        out.push(*delimiter);
                    }
                    field(value.unwrap_or_default(), *delimiter, out);
                }
                // An empty line would be no record.
                if let [None | Some([])] = values {
                    out.extend_from_slice(b"\"\"");
                }
            }
            Style::Ndjson(names) => {
                for ((before, bare), value) in names.iter().zip(values) {
                    out.extend_from_slice(before);
                    match value {
                        None => out.extend_from_slice(b"null"),
                        // What is not a number (NaN, inf) has no other form in JSON.
                        Some(value) if *bare && !matches!(value, [b'N' | b'i', ..] | [b'-', b'i', ..]) => {
                            out.extend_from_slice(value);
                        }
                        Some(value) => json_string(value, out),
                    }
                }
                out.extend_from_slice(if names.is_empty() { b"{}" } else { b"}" });
            }
            Style::Texts { .. } => {
                if !values.iter().flatten().all(|value| str::from_utf8(value).is_ok()) {
                    return Err(BadRow::NotUtf8);
                }
                row::of_texts(values, out);
                return Ok(());
            }
            Style::Row => {
                out.extend_from_slice(values.last().copied().flatten().unwrap_or_default());
                return Ok(());
            }
        }
        out.push(b'\n');
        Ok(())
    }
}

/// Appends a field of delimited text with quotes, quoted where it must be.
pub fn field(value: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    let quoted = value.contains(&delimiter) || memchr3(b'"', b'\n', b'\r', value).is_some();
    if !quoted {
        return out.extend_from_slice(value);
    }
    out.push(b'"');
    for &byte in value {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// Appends a JSON string. Bytes that are not UTF-8 stay as they are, as they do in reading.
pub fn json_string(value: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in value {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(style: &Style, values: &[Option<&[u8]>]) -> String {
        let mut out = Vec::new();
        style.record(values, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn tsv_has_no_quotes_and_what_would_need_them_is_not_written() {
        let (style, header) = Style::delimited(&["a".to_owned(), "b\"c".to_owned()], b'\t').unwrap();
        assert_eq!(header, b"a\tb\"c\n");
        assert_eq!(record(&style, &[Some(b"\"q"), None]), "\"q\t\n");
        for value in [&b"x\ny"[..], b"x\ty", b"x\r"] {
            let mut out = b"before\n".to_vec();
            assert_eq!(style.record(&[Some(b"1"), Some(value)], &mut out), Err(BadRow::NotTsv));
            assert_eq!(out, b"before\n");
        }
        assert_eq!(record(&Style::delimited(&["a".to_owned()], b'\t').unwrap().0, &[None]), "\\N\n");
        assert!(Style::delimited(&["a\tb".to_owned()], b'\t').is_none());
    }

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let names = ["a".to_owned(), "b,c".to_owned()];
        let (style, header) = Style::delimited(&names, b',').unwrap();
        assert_eq!(header, b"a,\"b,c\"\n");
        assert_eq!(record(&style, &[Some(b"say \"x\""), None]), "\"say \"\"x\"\"\",\n");
        assert_eq!(record(&style, &[Some(b"1\n2"), Some(b"\t")]), "\"1\n2\",\t\n");
        let (one, _) = Style::delimited(&names[..1], b',').unwrap();
        assert_eq!(record(&one, &[None]), "\"\"\n");
    }

    #[test]
    fn numbers_stand_without_quotes_in_json_and_what_is_none_with_them() {
        let style = Style::ndjson(&[("a\"b".into(), true), ("c".into(), false)]);
        assert_eq!(
            record(&style, &[Some(b"-1.5"), Some(b"x\ty\x01")]),
            "{\"a\\\"b\":-1.5,\"c\":\"x\\ty\\u0001\"}\n"
        );
        assert_eq!(record(&style, &[Some(b"NaN"), None]), "{\"a\\\"b\":\"NaN\",\"c\":null}\n");
        assert_eq!(record(&style, &[Some(b"-inf"), Some(b"")]), "{\"a\\\"b\":\"-inf\",\"c\":\"\"}\n");
    }
}
