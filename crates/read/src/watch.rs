//! Whether fields of delimited text begin with a quote, where whoever reads it did not say what that means.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use memchr::{memchr, memmem};

use crate::dialect::Dialect;
use crate::options::{Delimiter, Quotes};

/// What was seen of quotes by whoever holds a clone of it.
#[derive(Debug, Clone, Default)]
pub struct Watch(Arc<AtomicU8>);

impl Watch {
    /// Whether a field began with a quote, in text where quotes mean this.
    pub fn saw(&self, quotes: Quotes) -> bool {
        self.0.load(Ordering::Relaxed) & bit(quotes) != 0
    }

    /// Tells that a field began with a quote, in text where quotes mean this: another machine saw it.
    pub fn see(&self, quotes: Quotes) {
        self.0.fetch_or(bit(quotes), Ordering::Relaxed);
    }

    /// Looks through rows of delimited text, unless that was seen before. This finds a quote after a
    /// delimiter or a line end, also where it lies within quotes: what it costs must not be noticed.
    pub(crate) fn look(&self, rows: &[u8], dialect: Dialect) {
        if !self.saw(dialect.quotes) && begins_with_quote(rows, dialect.delimiter) {
            self.see(dialect.quotes);
        }
    }
}

fn bit(quotes: Quotes) -> u8 {
    match quotes {
        Quotes::None => 1,
        Quotes::Csv => 2,
        Quotes::Log => 4,
    }
}

fn begins_with_quote(rows: &[u8], delimiter: Delimiter) -> bool {
    // Mostly there is none, which is found soonest so.
    if memchr(b'"', rows).is_none() {
        return false;
    }
    let after = |byte: u8| memmem::find(rows, &[byte, b'"']).is_some();
    let delimited = match delimiter {
        Delimiter::Byte(byte) => after(byte),
        Delimiter::Whitespace => after(b' ') || after(b'\t'),
    };
    rows.first() == Some(&b'"') || delimited || after(b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_seen_where_a_field_begins() {
        let seen = |text: &str, delimiter: Delimiter| begins_with_quote(text.as_bytes(), delimiter);
        let tab = Delimiter::Byte(b'\t');
        assert!(seen("\"a\tb\n", tab) && seen("a\t\"b\n", tab) && seen("a\tb\n\"c", tab));
        assert!(!seen("a \"b\"\t5\"\n{\"a\":1}\n", tab) && !seen("", tab));
        assert!(seen("a \"b\"", Delimiter::Whitespace) && !seen("a\"b", Delimiter::Whitespace));
        let watch = Watch::default();
        let dialect = Dialect { delimiter: tab, quotes: Quotes::None, comment: None };
        watch.clone().look(b"\"", dialect);
        assert!(watch.saw(Quotes::None) && !watch.saw(Quotes::Csv));
    }
}
