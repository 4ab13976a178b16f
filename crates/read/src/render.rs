//! Records written as text: those of Parquet have none of their own.

use memchr::memchr3;

/// How the values of a row become a record.
#[derive(Debug, Clone)]
pub(super) enum Style {
    /// Delimited text.
    Delimited { columns: usize, delimiter: u8 },
    /// A JSON object: for each value the text before it, and whether it is a number or a truth
    /// value, which stands without quotes.
    Ndjson(Vec<(Vec<u8>, bool)>),
}

impl Style {
    /// Delimited text, and its header line.
    pub(super) fn delimited(names: &[String], delimiter: u8) -> (Style, Vec<u8>) {
        let style = Style::Delimited { columns: names.len(), delimiter };
        let mut header = Vec::new();
        let names: Vec<Option<&[u8]>> = names.iter().map(|name| Some(name.as_bytes())).collect();
        style.record(&names, &mut header);
        (style, header)
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
        }
    }

    /// Appends the record of these values.
    pub(super) fn record(&self, values: &[Option<&[u8]>], out: &mut Vec<u8>) {
        match self {
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
        }
        out.push(b'\n');
    }
}

/// Appends a field of delimited text, quoted where it must be.
pub fn field(value: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    // Quotes in TSV are ordinary characters: only what cannot stand there otherwise is quoted.
    let sign = if delimiter == b'\t' { b'\t' } else { b'"' };
    let quoted = value.contains(&delimiter) || memchr3(sign, b'\n', b'\r', value).is_some();
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
        style.record(values, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let names = ["a".to_owned(), "b,c".to_owned()];
        let (style, header) = Style::delimited(&names, b',');
        assert_eq!(header, b"a,\"b,c\"\n");
        assert_eq!(record(&style, &[Some(b"say \"x\""), None]), "\"say \"\"x\"\"\",\n");
        assert_eq!(record(&style, &[Some(b"1\n2"), Some(b"\t")]), "\"1\n2\",\t\n");
        let (one, _) = Style::delimited(&names[..1], b',');
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
