//! Reading containers that follow each other.

use std::io::{self, BufRead, ErrorKind, Read};
use std::path::PathBuf;

use base64::engine::general_purpose::STANDARD;
use base64::read::DecoderReader;
use tamis::Container;
use tamis::format::{HEADER_BYTES, MAGIC, declared_length};
use tamis::memory::Words;
use tamis_read::error::{Error, Result};

use super::{Form, Refusal};
use crate::files::{self, Held, Mapped};

/// Memory that is taken before any byte has come; then as much again as there came.
const FIRST: usize = 1 << 20;

/// How every container begins in base64.
const BEGINNING: &[u8; 10] = b"iVRBTUlTDQ";

/// Containers that follow each other in a stream of bytes, as they are or as lines of base64.
///
/// In lines, the container is the first field that begins as one: fields before it, up to a tab, are the key
/// of whatever sorted them. Hadoop Streaming ends a line that has no value with a tab, which is no field.
#[derive(Debug)]
pub struct Containers<R> {
    input: R,
    name: String,
    /// None before the first byte.
    form: Option<Form>,
    /// Containers so far.
    number: u64,
    /// Lines that were begun.
    line: u64,
}

impl<R: BufRead> Containers<R> {
    /// Those of this input, which messages call so.
    pub fn new(input: R, name: impl Into<String>) -> Self {
        Containers { input, name: name.into(), form: None, number: 0, line: 0 }
    }

    /// The next one, and its name for messages; none at the end.
    pub fn next_container(&mut self) -> Result<Option<(Mapped, PathBuf)>> {
        let Some((held, name)) = self.next_bytes()? else { return Ok(None) };
        let container = Container::open(held).map_err(Error::file(&name))?;
        Ok(Some((container, name)))
    }

    /// The bytes of the next one, as long as its header says; what they hold is not looked at.
    pub(super) fn next_bytes(&mut self) -> Result<Option<(Held, PathBuf)>> {
        if self.is_at_end()? {
            return Ok(None);
        }
        self.number += 1;
        let name = PathBuf::from(format!("{}, tamis file {}", self.name, self.number));
        let held = match self.form {
            Some(Form::Base64) => self.line()?,
            _ => self.bytes()?,
        };
        Ok(Some((held, name)))
    }

    /// Whether nothing follows. In lines, blank ones are nothing.
    pub(super) fn is_at_end(&mut self) -> Result<bool> {
        loop {
            let Some(first) = self.peek()? else { return Ok(true) };
            let form = *self.form.get_or_insert(match first == MAGIC[0] {
                true => Form::Bytes,
                false => Form::Base64,
            });
            if form == Form::Bytes || !matches!(first, b'\n' | b'\r' | b'\t' | b' ') {
                return Ok(false);
            }
            self.line += u64::from(first == b'\n');
            self.input.consume(1);
        }
    }

    /// A container as it is.
    fn bytes(&mut self) -> Result<Held> {
        filled(&mut self.input).map_err(|why| self.because(why))
    }

    /// A container in a line.
    fn line(&mut self) -> Result<Held> {
        self.line += 1;
        if !self.find_field()? {
            return Err(self.refused(match self.number {
                1 if self.line == 1 => Refusal::Foreign,
                _ => Refusal::Line { line: self.line },
            }));
        }
        let field = BEGINNING.chain(Field(&mut self.input));
        let mut decoder = DecoderReader::new(field, &STANDARD);
        let held = filled(&mut decoder).and_then(|held| match decoder.read(&mut [0])? {
            0 => Ok(held),
            _ => Err(Unfilled::GoesOn),
        });
        let held = held.map_err(|why| self.because(why))?;
        self.end_line()?;
        Ok(held)
    }

    /// Goes to the first field of a line that begins as a container, and past its beginning. Whether there is
    /// one.
    fn find_field(&mut self) -> Result<bool> {
        let mut begins = 0;
        let mut fits = true;
        loop {
            match self.peek()? {
                None | Some(b'\n') => return Ok(false),
                Some(b'\t') => (begins, fits) = (0, true),
                Some(byte) => {
                    fits &= BEGINNING.get(begins) == Some(&byte);
                    begins += 1;
                    if fits && begins == BEGINNING.len() {
                        self.input.consume(1);
                        return Ok(true);
                    }
                }
            }
            self.input.consume(1);
        }
    }

    /// Past the end of a line on which nothing may follow.
    fn end_line(&mut self) -> Result<()> {
        loop {
            match self.peek()? {
                None => return Ok(()),
                Some(b'\t' | b'\r' | b' ') => self.input.consume(1),
                Some(b'\n') => {
                    self.input.consume(1);
                    return Ok(());
                }
                Some(_) => return Err(self.refused(Refusal::LineGoesOn { line: self.line })),
            }
        }
    }

    fn peek(&mut self) -> Result<Option<u8>> {
        loop {
            match self.input.fill_buf() {
                Ok(bytes) => return Ok(bytes.first().copied()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io(&self.name)(error)),
            }
        }
    }

    /// That the input is refused.
    pub(crate) fn refused(&self, why: Refusal) -> Error {
        Error::input(&self.name, why)
    }

    /// Why the container that is read is refused.
    fn because(&self, why: Unfilled) -> Error {
        let (number, line) = (self.number, self.line);
        let in_line = self.form == Some(Form::Base64);
        match why {
            Unfilled::Io(error) if in_line && error.kind() == ErrorKind::InvalidData => {
                self.refused(Refusal::Line { line })
            }
            Unfilled::Io(error) => Error::io(&self.name)(error),
            Unfilled::Header(tamis::Error::Magic) if number > 1 && !in_line => {
                self.refused(Refusal::Trailing { number: number - 1 })
            }
            Unfilled::Header(tamis::Error::Magic) => self.refused(Refusal::Foreign),
            Unfilled::Header(source) => Error::file(format!("{}, tamis file {number}", self.name))(source),
            Unfilled::Truncated { expected, got } => {
                self.refused(Refusal::Truncated { number, expected, got })
            }
            Unfilled::GoesOn => self.refused(Refusal::LineGoesOn { line }),
            Unfilled::NoMemory { bytes } => Error::input(&self.name, files::Refusal::NoMemory { bytes }),
        }
    }
}

/// A field of a line: all before the tab or the line end, neither of which is consumed.
struct Field<'r, R>(&'r mut R);

impl<R: BufRead> Read for Field<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.0.fill_buf()?;
        let bytes = &bytes[..bytes.len().min(out.len())];
        let ends = |byte: &u8| matches!(byte, b'\t' | b'\r' | b'\n' | b' ');
        let len = bytes.iter().position(ends).unwrap_or(bytes.len());
        out[..len].copy_from_slice(&bytes[..len]);
        self.0.consume(len);
        Ok(len)
    }
}

/// Why the bytes of a container could not be had.
enum Unfilled {
    Io(io::Error),
    /// They do not begin as a container.
    Header(tamis::Error),
    Truncated {
        expected: u64,
        got: u64,
    },
    /// More came.
    GoesOn,
    NoMemory {
        bytes: usize,
    },
}

impl From<io::Error> for Unfilled {
    fn from(error: io::Error) -> Self {
        Unfilled::Io(error)
    }
}

/// The bytes of one container. Its header says how many, and is not believed: memory grows with what came.
fn filled(input: &mut impl Read) -> std::result::Result<Held, Unfilled> {
    let mut head = [0; HEADER_BYTES];
    let got = read_full(input, &mut head)?;
    if got < HEADER_BYTES && MAGIC.starts_with(&head[..got.min(MAGIC.len())]) {
        return Err(Unfilled::Truncated { expected: HEADER_BYTES as u64, got: got as u64 });
    }
    let expected = declared_length(&head[..got]).map_err(Unfilled::Header)?;
    let len = usize::try_from(expected).map_err(|_| Unfilled::NoMemory { bytes: usize::MAX })?;
    let words = |bytes: usize| Words::zeroed(bytes.div_ceil(8)).map_err(|_| Unfilled::NoMemory { bytes });
    let mut room = len.min(FIRST);
    let mut held = words(room)?;
    let mut at = HEADER_BYTES.min(len);
    bytemuck::cast_slice_mut(&mut held)[..at].copy_from_slice(&head[..at]);
    loop {
        let came = read_full(input, &mut bytemuck::cast_slice_mut(&mut held)[at..room])?;
        at += came;
        if at == len {
            return Ok(Held::Memory(held, len));
        }
        if at < room {
            return Err(Unfilled::Truncated { expected, got: at as u64 });
        }
        room = len.min(2 * room);
        let mut larger = words(room)?;
        larger[..held.len()].copy_from_slice(&held);
        held = larger;
    }
}

/// Reads until the slice is full or nothing is left; how much came.
fn read_full(input: &mut impl Read, out: &mut [u8]) -> io::Result<usize> {
    let mut at = 0;
    while at < out.len() {
        match input.read(&mut out[at..]) {
            Ok(0) => break,
            Ok(came) => at += came,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(at)
}
