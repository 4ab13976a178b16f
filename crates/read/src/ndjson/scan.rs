//! The grammar of JSON (RFC 8259) over one line: one pass, no tree, no copies.

use crate::BadRow;

/// Objects and arrays may be nested this deep.
const MAX_DEPTH: usize = 128;

/// Where a string stands in the line, without its quotes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Str {
    pub start: usize,
    pub end: usize,
    pub escaped: bool,
}

/// A value that has been passed over.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value {
    Null,
    String(Str),
    /// A number, `true` or `false`: the text from here to there.
    Word(usize, usize),
    /// The text from here to there, with its brackets.
    Array(usize, usize),
}

/// What is wrong at the place that a [`Scan`] has reached. It fits into two registers, which makes
/// a difference where every token returns a result.
pub(super) type Fault = &'static str;

/// A place in a line that is being read.
#[derive(Debug)]
pub(super) struct Scan<'a> {
    pub line: &'a [u8],
    at: usize,
    depth: usize,
}

impl<'a> Scan<'a> {
    pub fn new(line: &'a [u8]) -> Self {
        Scan { line, at: 0, depth: 0 }
    }

    /// The byte at this place; 0 at the end of the line, which no rule of the grammar accepts.
    #[inline]
    fn byte(&self) -> u8 {
        self.line.get(self.at).copied().unwrap_or(0)
    }

    /// The next byte that is not white space, without passing it.
    #[inline]
    pub fn peek(&mut self) -> u8 {
        while matches!(self.byte(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
        self.byte()
    }

    /// Says what is wrong at this place.
    pub fn explain(&self, fault: Fault) -> BadRow {
        BadRow::NotJson { column: self.at + 1, ended: self.at >= self.line.len(), fault }
    }

    fn enter(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("nested deeper than 128 levels");
        }
        self.at += 1;
        Ok(())
    }

    /// Goes through an object: gives each key to `member`, which must pass over its value.
    #[inline]
    pub fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, Str) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        debug_assert_eq!(self.byte(), b'{');
        self.enter()?;
        if self.peek() == b'}' {
            self.at += 1;
        } else {
            loop {
                if self.peek() != b'"' {
                    return Err("expected a key in double quotes");
                }
                let key = self.string()?;
                if self.peek() != b':' {
                    return Err("expected a colon");
                }
                self.at += 1;
                member(self, key)?;
                match self.peek() {
                    b',' => self.at += 1,
                    b'}' => {
                        self.at += 1;
                        break;
                    }
                    _ => return Err("expected a comma or a closing brace"),
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn array(&mut self) -> Result<(), Fault> {
        self.enter()?;
        if self.peek() == b']' {
            self.at += 1;
        } else {
            loop {
                self.skip()?;
                match self.peek() {
                    b',' => self.at += 1,
                    b']' => {
                        self.at += 1;
                        break;
                    }
                    _ => return Err("expected a comma or a closing bracket"),
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Passes over a value of any kind.
    pub fn skip(&mut self) -> Result<(), Fault> {
        if self.peek() == b'{' { self.object(|scan, _| scan.skip()) } else { self.value().map(|_| ()) }
    }

    /// Passes over a value that is not an object.
    #[inline]
    pub fn value(&mut self) -> Result<Value, Fault> {
        match self.peek() {
            b'"' => self.string().map(Value::String),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null").map(|_| Value::Null),
            b'[' => {
                let start = self.at;
                self.array().map(|()| Value::Array(start, self.at))
            }
            _ => Err("expected a value"),
        }
    }

    /// Only white space may follow.
    pub fn end(&mut self) -> Result<(), Fault> {
        self.peek();
        if self.at == self.line.len() { Ok(()) } else { Err("expected nothing more after the object") }
    }

    fn word(&mut self, word: &[u8]) -> Result<Value, Fault> {
        if !self.line[self.at..].starts_with(word) {
            return Err("expected a value");
        }
        let start = self.at;
        self.at += word.len();
        Ok(Value::Word(start, self.at))
    }

    #[inline]
    fn digits(&mut self) -> Result<(), Fault> {
        if !self.byte().is_ascii_digit() {
            return Err("expected a digit");
        }
        while self.byte().is_ascii_digit() {
            self.at += 1;
        }
        Ok(())
    }

    #[inline]
    fn number(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        if self.byte() == b'-' {
            self.at += 1;
        }
        if self.byte() == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.byte(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(Value::Word(start, self.at))
    }

    /// Passes over a string, whose opening quote is next. Its escapes are checked here, so that
    /// [`unescape`] cannot fail and a line is valid or not whatever is asked of it.
    #[inline]
    pub fn string(&mut self) -> Result<Str, Fault> {
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            self.at += plain(&self.line[self.at..]);
            match self.line.get(self.at) {
                Some(b'"') => {
                    let end = self.at;
                    self.at += 1;
                    return Ok(Str { start, end, escaped });
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => {
                    return Err("a control character in a string must be written as an escape");
                }
                None => return Err("expected a closing quote"),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Fault> {
        match self.line.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => match hex(&self.line[self.at + 2..]) {
                None => return Err("expected four hexadecimal digits after \\u"),
                Some(0xD800..=0xDBFF) => {
                    let low = self.line[self.at + 6..].strip_prefix(b"\\u").and_then(hex);
                    if !matches!(low, Some(0xDC00..=0xDFFF)) {
                        return Err("half a surrogate pair is not a character");
                    }
                    self.at += 12;
                }
                Some(0xDC00..=0xDFFF) => return Err("half a surrogate pair is not a character"),
                Some(_) => self.at += 6,
            },
            _ => return Err("JSON knows no such escape"),
        }
        Ok(())
    }
}

/// The value of four hexadecimal digits.
fn hex(digits: &[u8]) -> Option<u32> {
    digits.get(..4)?.iter().try_fold(0, |sum, &digit| Some(sum * 16 + (digit as char).to_digit(16)?))
}

/// How many bytes stand before the first quote, backslash or control character.
///
/// Eight bytes are looked at together: subtracting from each byte borrows into its top bit where
/// the byte was too small. A borrow may spill into the bytes above, so only the lowest mark counts.
/// Strings are mostly short, for which this beats a search that needs two passes.
#[inline]
fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    let (words, rest) = bytes.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let quote = word ^ (ONES * b'"' as u64);
        let slash = word ^ (ONES * b'\\' as u64);
        let marks = (quote.wrapping_sub(ONES) & !quote)
            | (slash.wrapping_sub(ONES) & !slash)
            | (word.wrapping_sub(ONES * 0x20) & !word);
        if marks & TOPS != 0 {
            return i * 8 + (marks & TOPS).trailing_zeros() as usize / 8;
        }
    }
    let tail = rest.iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20);
    words.len() * 8 + tail.unwrap_or(rest.len())
}

/// Appends the bytes that a string with escapes stands for. The string has been checked.
#[cold]
pub(super) fn unescape(mut text: &[u8], out: &mut Vec<u8>) {
    while let Some(at) = memchr::memchr(b'\\', text) {
        out.extend_from_slice(&text[..at]);
        let (byte, length) = match text[at + 1] {
            b'b' => (0x08, 2),
            b'f' => (0x0C, 2),
            b'n' => (b'\n', 2),
            b'r' => (b'\r', 2),
            b't' => (b'\t', 2),
            b'u' => {
                let mut code = hex(&text[at + 2..]).unwrap_or_default();
                let mut length = 6;
                if (0xD800..0xDC00).contains(&code) {
                    let low = hex(&text[at + 8..]).unwrap_or_default();
                    code = 0x10000 + ((code - 0xD800) << 10) + (low & 0x3FF);
                    length = 12;
                }
                let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                text = &text[at + length..];
                continue;
            }
            other => (other, 2),
        };
        out.push(byte);
        text = &text[at + length..];
    }
    out.extend_from_slice(text);
}
