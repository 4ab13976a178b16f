//! Where rows end in a text that comes in parts: whoever puts texts together, or passes over a row that is
//! too long to be kept, must not cut within a quoted field.

use memchr::{memchr, memchr2, memrchr};

use super::dialect::Dialect;
use super::options::{Delimiter, Quotes};

/// Finds the ends of rows. What was seen of a row is not looked at again, however small the parts are.
#[derive(Debug, Clone)]
pub struct RowEnds {
    /// The delimiter, where quotes quote line ends as well.
    quoting: Option<u8>,
    comment: Option<u8>,
    at: At,
}

/// What the next byte is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// It begins a row.
    Row,
    /// It begins another field.
    Field,
    /// A field without quotes, or what follows a closing quote.
    Plain,
    Quoted,
    /// It follows a quote within quotes, which closes the field unless this is another quote.
    Quote,
    /// A line that is no row.
    Comment,
}

impl RowEnds {
    /// Of text in which every line end is one.
    pub fn of_lines() -> RowEnds {
        RowEnds { quoting: None, comment: None, at: At::Row }
    }

    pub(super) fn new(dialect: Dialect) -> RowEnds {
        let quoting = match dialect {
            Dialect { delimiter: Delimiter::Byte(byte), quotes: Quotes::Csv, .. } => Some(byte),
            _ => None,
        };
        RowEnds { quoting, comment: dialect.comment, at: At::Row }
    }

    /// The place just after the next line end that ends a row (or a comment), in bytes that follow those
    /// given before. Where there is none, all of them are passed over.
    pub fn next(&mut self, bytes: &[u8]) -> Option<usize> {
        let Some(delimiter) = self.quoting else {
            let end = memchr(b'\n', bytes).map(|at| at + 1);
            self.at =
                if end.is_some() || bytes.is_empty() && self.at == At::Row { At::Row } else { At::Plain };
            return end;
        };
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.at {
                At::Row if self.comment == Some(byte) => self.at = At::Comment,
                At::Row | At::Field if byte == b'"' => (self.at, at) = (At::Quoted, at + 1),
                At::Row | At::Field => self.at = At::Plain,
                At::Quote if byte == b'"' => (self.at, at) = (At::Quoted, at + 1),
                At::Quote => self.at = At::Plain,
                At::Quoted => {
                    at += memchr(b'"', &bytes[at..])? + 1;
                    self.at = At::Quote;
                }
                At::Plain | At::Comment => {
                    let stop = if self.at == At::Comment { b'\n' } else { delimiter };
                    at += memchr2(b'\n', stop, &bytes[at..])? + 1;
                    if bytes[at - 1] == b'\n' {
                        self.at = At::Row;
                        return Some(at);
                    }
                    self.at = At::Field;
                }
            }
        }
        None
    }

    /// The last such place in these bytes, all of which are passed over.
    pub fn last(&mut self, bytes: &[u8]) -> Option<usize> {
        if self.quoting.is_none() {
            let end = memrchr(b'\n', bytes).map(|at| at + 1);
            if !bytes.is_empty() {
                self.at = if end == Some(bytes.len()) { At::Row } else { At::Plain };
            }
            return end;
        }
        let mut last = None;
        while let Some(end) = self.next(&bytes[last.unwrap_or(0)..]) {
            last = Some(last.unwrap_or(0) + end);
        }
        last
    }

    /// Whether this, which ends where a row does, is one: no empty line, and no comment.
    pub fn is_row(&self, text: &[u8]) -> bool {
        !matches!(text, b"" | b"\n" | b"\r\n")
            && (self.comment.is_none() || self.comment.as_ref() != text.first())
    }

    /// Whether a row would begin here.
    pub fn is_between_rows(&self) -> bool {
        self.at == At::Row
    }

    /// Whether a quote is open, in which nothing ends a row.
    pub fn is_quoted(&self) -> bool {
        self.at == At::Quoted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delimited::cut;
    use proptest::prelude::*;

    fn dialects() -> impl Strategy<Value = Dialect> {
        let quotes = prop_oneof![Just(Quotes::Csv), Just(Quotes::None)];
        let comment = prop_oneof![Just(None), Just(Some(b'#'))];
        (quotes, comment).prop_map(|(quotes, comment)| Dialect { delimiter: b','.into(), quotes, comment })
    }

    proptest! {
        /// However the text is cut into parts, rows end where the reader ends them.
        #[test]
        fn rows_of_a_text_in_parts_end_where_those_of_the_whole_do(
            text in "[a,#\"\n]{0,40}",
            parts in proptest::collection::vec(0usize..5, 0..20),
            dialect in dialects(),
        ) {
            let text = text.as_bytes();
            let whole = cut(text, dialect);
            let (mut ends, mut at, mut last) = (RowEnds::new(dialect), 0, None);
            for part in parts.into_iter().chain([text.len()]) {
                let part = &text[at..text.len().min(at + part)];
                last = ends.last(part).map(|end| at + end).or(last);
                at += part.len();
            }
            prop_assert_eq!(last, whole.end);
            prop_assert_eq!(ends.is_quoted(), whole.open.is_some());
            prop_assert_eq!(ends.is_between_rows(), last.unwrap_or(0) == text.len());
            // One row after the other gives the same.
            let (mut ends, mut at) = (RowEnds::new(dialect), 0);
            while let Some(end) = ends.next(&text[at..]) {
                at += end;
            }
            prop_assert_eq!(Some(at).filter(|at| *at > 0), whole.end);
        }
    }
}
