//! What clients send is written with escapes; here they are taken back.

use memchr::memchr;

/// Memory for the values of a row in which something is escaped.
#[derive(Debug, Default)]
pub(crate) struct Made {
    text: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
}

impl Made {
    /// Takes the escapes from values.
    #[cold]
    pub(super) fn unescaped<'l>(&'l mut self, values: &mut [Option<&'l [u8]>]) {
        // First all that is made, then what points to it: it may move as it grows.
        self.text.clear();
        self.ends.clear();
        for value in values.iter() {
            if let Some(value) = value {
                unescape(value, &mut self.text);
            }
            self.ends.push(self.text.len());
        }
        let mut start = 0;
        for (value, &end) in values.iter_mut().zip(&self.ends) {
            if value.is_some() {
                *value = Some(&self.text[start..end]);
            }
            start = end;
        }
    }
}

/// Appends a value without its escapes.
fn unescape(value: &[u8], to: &mut Vec<u8>) {
    let mut rest = value;
    while let Some(at) = memchr(b'\\', rest) {
        to.extend_from_slice(&rest[..at]);
        let (byte, len) = escaped(&rest[at..]);
        to.push(byte);
        rest = &rest[at + len..];
    }
    to.extend_from_slice(rest);
}

/// The byte that an escape stands for, and how long it is: `\"`, `\\`, `\n`, `\x1f`. Of another one, the
/// backslash stands for itself.
fn escaped(text: &[u8]) -> (u8, usize) {
    let hex = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    match text.get(1) {
        Some(b'"') => (b'"', 2),
        Some(b'\\') => (b'\\', 2),
        Some(b'n') => (b'\n', 2),
        Some(b'r') => (b'\r', 2),
        Some(b't') => (b'\t', 2),
        Some(b'b') => (8, 2),
        Some(b'v') => (11, 2),
        Some(b'f') => (12, 2),
        Some(b'x') => text
            .get(2..4)
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(hex)
            .map_or((b'\\', 1), |byte| (byte, 4)),
        _ => (b'\\', 1),
    }
}
