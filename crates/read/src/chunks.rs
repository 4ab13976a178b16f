//! Text in chunks of whole rows.
//!
//! Chunks are read, not mapped: on a warm page cache, copying into a buffer that stays in the
//! processor's cache costs half of the page faults of a map, and a file that shrinks meanwhile is
//! a short read instead of a bus error.

use std::fs::File;
use std::io::{self, Read};
use std::mem;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use memchr::{memchr, memchr_iter};

use super::binary;
use super::delimited::{Cut, cut, newlines};
use super::detect::BadFormat;
use super::dialect::Dialect;
use super::lines::Fault;
use super::options::Quotes;
use super::origin::{Counted, Origin, damaged};
use super::pace::Pace;
use super::reader::{Bytes, Compression, fill, fill_until};
use super::row_ends::RowEnds;
use crate::refusal::Refusal;
use crate::remote::{self, Object};
use crate::{BadRow, Error, Result};

/// How much is read at a time, and how long a row may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) chunk: usize,
    pub(super) row: usize,
}

/// How long a row may be, in bytes: the one bound for all who read rows or keys. A key that can be learned
/// can be asked for.
pub const LONGEST_ROW: usize = 1 << 30;

impl Default for Sizes {
    fn default() -> Self {
        Sizes { chunk: 256 << 10, row: LONGEST_ROW }
    }
}

/// Memory that a thread uses for one chunk after another.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    /// All of it was written to once, so that it can be read into.
    bytes: Vec<u8>,
    begin: usize,
    end: usize,
}

/// Pages of a file are read to where a page begins, after the row that was left over. Some
/// processors copy six times slower to a place a few bytes further in its page than the source.
const PAGE: usize = 4096;

impl Buffer {
    pub(super) fn data(&self) -> &[u8] {
        &self.bytes[self.begin..self.end]
    }

    /// Makes this the data, with room for this much more.
    fn set(&mut self, data: &[u8], more: usize) {
        let room = data.len().next_multiple_of(PAGE) + PAGE + more;
        if self.bytes.len() < room {
            // Zero pages of the system: what a small file does not use is never touched.
            self.bytes = vec![0; room];
        }
        let past = (self.bytes.as_ptr() as usize + data.len()) % PAGE;
        self.begin = (PAGE - past) % PAGE;
        self.end = self.begin + data.len();
        self.bytes[self.begin..self.end].copy_from_slice(data);
    }

    /// Reads this many bytes more, or what there is of a stream that has a pace; false where the
    /// stream ends before.
    fn read(&mut self, bytes: &mut impl Read, more: usize, pace: Option<&Pace>) -> io::Result<bool> {
        let full = self.end + more;
        if self.bytes.len() < full {
            self.bytes.resize(full, 0);
        }
        let dry = |_: &[u8]| pace.is_some_and(|pace| !pace.ready(Duration::ZERO));
        let (len, ended) = fill_until(bytes, &mut self.bytes[self.end..full], dry)?;
        self.end += len;
        Ok(!ended)
    }
}

/// Rows in a buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk {
    /// Where it begins in the input, decompressed.
    pub(super) start: u64,
    /// The number of its first line, where lines are counted.
    pub(super) line: Option<u64>,
    /// Whether there may be a quote in it.
    pub(super) quoted: bool,
    /// Bytes of the file that were read for it.
    pub(super) read: u64,
    /// Where it is the beginning of one row that is longer than this many MiB: the rest is passed over.
    pub(super) too_long: Option<usize>,
}

/// Why a text cannot be read on.
#[derive(Debug)]
pub(super) enum Trouble {
    /// A row is wrong: where it starts, the number of that line where lines are counted, and why.
    Row { at: u64, line: Option<u64>, why: Box<dyn Refusal> },
    /// The input is.
    Input(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Trouble::Input(error)
    }
}

impl Chunk {
    /// What a fault in the data of this chunk means for the input.
    pub(super) fn trouble(&self, data: &[u8], fault: Fault) -> Trouble {
        Trouble::Row {
            at: self.start + fault.at as u64,
            line: self.line.map(|line| line + newlines(&data[..fault.at])),
            why: fault.why,
        }
    }
}

/// When the numbers of lines are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineNumbers {
    /// Of plain files, when an error needs one.
    WhenNeeded,
    /// At each chunk.
    Always,
}

/// Where the rows of a text begin.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Beginning {
    /// The bytes before: byte order mark, header.
    pub(super) bytes: usize,
    /// The line ends in them.
    pub(super) lines: u64,
    /// The last of these bytes, whose line ends are not among those: rows that are passed over.
    pub(super) uncounted: usize,
}

/// A text that is being read.
pub(super) struct Feed {
    bytes: Bytes,
    compression: Option<Compression>,
    dialect: Dialect,
    sizes: Sizes,
    /// Bytes of the file read so far, and those already accounted for.
    count: Arc<AtomicU64>,
    counted: u64,
    start: u64,
    line: Option<u64>,
    /// Bytes that are still to be passed over before the first row.
    skip: usize,
    /// The last of them in which lines are still to be counted.
    uncounted: usize,
    /// The beginning of the next chunk: a row whose end was not read yet.
    carry: Vec<u8>,
    /// Whether whole rows may be in it, which must not wait for more.
    full_carry: bool,
    /// A row that is too long and has not ended.
    passing: Option<RowEnds>,
    ended: bool,
    /// If rows must not wait until a chunk is full: whether more can be read now.
    pace: Option<Pace>,
    /// How lines end in what is looked through.
    ends: LineEnds,
}

impl Feed {
    /// Opens a text whose rows end at newlines, save quoted ones if the dialect has quotes.
    pub(super) fn open(
        path: &Path,
        origin: &Origin,
        compression: Option<Compression>,
        beginning: Beginning,
        dialect: Dialect,
        (sizes, lines): (Sizes, LineNumbers),
    ) -> Result<Feed> {
        let count = Arc::new(AtomicU64::new(0));
        let plain = origin.is_file() && compression.is_none();
        // Rows of a plain file may begin far behind its beginning.
        let (bytes, skip) = if plain {
            let from = beginning.bytes / PAGE * PAGE;
            (open_at(path, origin, from as u64, &count)?, beginning.bytes - from)
        } else {
            (open(path, origin, compression, &count)?, beginning.bytes)
        };
        let line = match (plain, lines) {
            (false, _) => Some(beginning.lines + 1),
            (true, LineNumbers::Always) => Some(line_at(path, origin, beginning.bytes as u64)?),
            (true, LineNumbers::WhenNeeded) => None,
        };
        Ok(Feed {
            bytes,
            compression,
            dialect,
            sizes,
            count,
            counted: 0,
            start: beginning.bytes as u64,
            line,
            skip,
            uncounted: if plain { 0 } else { beginning.uncounted },
            carry: Vec::new(),
            full_carry: false,
            passing: None,
            ended: false,
            pace: None,
            ends: LineEnds::default(),
        })
    }

    /// Lets chunks end where the stream has nothing more for now.
    pub(super) fn paced(self, pace: Option<&Pace>) -> Feed {
        Feed { pace: pace.cloned(), ..self }
    }

    /// Whether there is something to read, or soon will be.
    pub(super) fn ready(&self, patience: Duration) -> bool {
        self.ended || self.full_carry || self.pace.as_ref().is_none_or(|pace| pace.ready(patience))
    }

    /// Reads the next chunk into the buffer; `None` at the end.
    pub(super) fn next(&mut self, path: &Path, buffer: &mut Buffer) -> Result<Option<Chunk>, Trouble> {
        if self.ended {
            return Ok(None);
        }
        let mut more = self.sizes.chunk;
        buffer.set(&self.carry, more);
        let mut looked = 0;
        let (end, quoted) = loop {
            let goes_on = mem::take(&mut self.full_carry)
                || buffer
                    .read(&mut self.bytes, more, self.pace.as_ref())
                    .map_err(|source| damaged(path, self.compression, source))?;
            let skipped = self.skip.min(buffer.data().len());
            let counted = self.skip.saturating_sub(self.uncounted).min(skipped);
            if let Some(line) = &mut self.line {
                *line += newlines(&buffer.data()[counted..skipped]);
            }
            self.skip -= skipped;
            buffer.begin += skipped;
            if skipped > 0 && goes_on && buffer.data().is_empty() {
                // What is passed over may be far longer than a chunk, and need not be kept.
                buffer.set(&[], more);
                continue;
            }
            if self.pass_over(buffer) && goes_on {
                continue;
            }
            let data = buffer.data();
            let longest = self.sizes.row;
            if data.len() > longest {
                // The same of it is looked at, however much came at once.
                let mut ends = RowEnds::new(self.dialect);
                if ends.next(&data[..=longest]).is_none() {
                    return self.too_long(ends, buffer);
                }
            }
            if !goes_on {
                self.ended = true;
                break (data.len(), memchr(b'"', data).is_some());
            }
            // A row that comes drop by drop is not looked through again at each of them.
            let fresh = &data[looked..];
            looked = data.len();
            if self.pace.is_some() && memchr(b'\n', fresh).is_none() {
                continue;
            }
            match cut(data, self.dialect) {
                Cut { end: Some(end), quoted, .. } => break (end, quoted),
                // Twice as much, so that all this looking costs no more than a few times the row; and no
                // more than shows that it is too long.
                _ => more = data.len().max(self.sizes.chunk).min((longest - data.len()).saturating_add(1)),
            }
        };
        self.refuse_binary(path, &buffer.data()[..end])?;
        self.carry.clear();
        self.carry.extend_from_slice(&buffer.data()[end..]);
        buffer.end = buffer.begin + end;
        let read = self.count.load(Relaxed);
        let chunk =
            Chunk { start: self.start, line: self.line, quoted, read: read - self.counted, too_long: None };
        self.counted = read;
        self.count(buffer.data());
        Ok(if end == 0 && chunk.read == 0 { None } else { Some(chunk) })
    }

    /// Refuses what is not text, by the same first bytes of it however they come: the look at the input
    /// saw no more of a slow stream than its first line.
    fn refuse_binary(&mut self, path: &Path, data: &[u8]) -> Result<()> {
        let left = (binary::LOOKED_THROUGH as u64).saturating_sub(self.start);
        let looked = &data[..data.len().min(left as usize)];
        if let Some(at) = binary::nul(looked, Some(self.dialect.delimiter)) {
            return Err(Error::input(path, BadFormat::Binary { at: self.start + at as u64 + 1 }));
        }
        self.ends.count(looked, self.dialect.quotes);
        let all = self.ended || data.len() as u64 >= left;
        match all && self.ends.are_mostly_returns() {
            true => Err(Error::input(path, BadFormat::OnlyReturns)),
            false => Ok(()),
        }
    }

    /// Counts what is done with.
    fn count(&mut self, data: &[u8]) {
        self.start += data.len() as u64;
        if let Some(line) = &mut self.line {
            *line += newlines(data);
        }
    }

    /// Drops what belongs to a row that is too long, in data that begins within it; true where that is all.
    fn pass_over(&mut self, buffer: &mut Buffer) -> bool {
        let Some(mut ends) = self.passing.take() else { return false };
        let end = ends.next(buffer.data());
        let passed = end.unwrap_or(buffer.data().len());
        self.count(&buffer.data()[..passed]);
        buffer.begin += passed;
        if end.is_none() {
            self.passing = Some(ends);
            buffer.set(&[], self.sizes.chunk);
        }
        end.is_none()
    }

    /// The chunk that is the beginning of the first row of the data, which is too long and did not end. Of a
    /// quote that does not close, nobody can tell where the next row begins.
    fn too_long(&mut self, mut ends: RowEnds, buffer: &mut Buffer) -> Result<Option<Chunk>, Trouble> {
        let (mib, length) = (self.sizes.row >> 20, self.sizes.row + 1);
        let read = self.count.load(Relaxed);
        let (start, line, too_long) = (self.start, self.line, Some(mib));
        let chunk = Chunk { start, line, quoted: true, read: read - self.counted, too_long };
        let data = buffer.data();
        if ends.is_quoted() {
            let at = cut(&data[..length], self.dialect).open.unwrap_or(0);
            return Err(chunk.trouble(data, Fault { at, why: BadRow::LongQuote { mib }.into() }));
        }
        self.counted = read;
        let rest = data[length..].to_vec();
        let end = ends.next(&rest);
        let (passed, carry) = rest.split_at(end.unwrap_or(rest.len()));
        buffer.end = buffer.begin + length;
        self.count(buffer.data());
        self.count(passed);
        self.passing = if end.is_none() { Some(ends) } else { None };
        self.carry = carry.to_vec();
        self.full_carry = !carry.is_empty();
        Ok(Some(chunk))
    }
}

/// How many lines end at LF, and how often CR stands alone where a line could end.
#[derive(Debug, Default)]
pub(super) struct LineEnds {
    feeds: u64,
    returns: u64,
}

impl LineEnds {
    /// Counts them in whole lines. A CR within quotes ends no line: where quotes quote, lines that have some
    /// are passed over.
    pub(super) fn count(&mut self, text: &[u8], quotes: Quotes) {
        if memchr(b'\r', text).is_none() {
            self.feeds += newlines(text);
            return;
        }
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            self.feeds += u64::from(line.ends_with(b"\n"));
            if quotes == Quotes::None || memchr(b'"', line).is_none() {
                let line = line.strip_suffix(b"\n").unwrap_or(line);
                // The last one may be half of a line end.
                let inner = line.strip_suffix(b"\r").unwrap_or(line);
                self.returns += memchr_iter(b'\r', inner).count() as u64;
            }
        }
    }

    /// Whether more lines would end at CR than do at LF.
    pub(super) fn are_mostly_returns(&self) -> bool {
        self.returns > self.feeds
    }
}

/// Reads a whole input into the buffer, as one row of it. One that is too long is read no further.
pub(super) fn whole(
    path: &Path,
    (origin, compression): (&Origin, Option<Compression>),
    beginning: Beginning,
    sizes: Sizes,
    buffer: &mut Buffer,
) -> Result<Chunk> {
    let count = Arc::new(AtomicU64::new(0));
    let mut bytes = open(path, origin, compression, &count)?;
    let longest = sizes.row.saturating_add(beginning.bytes);
    let mut more = sizes.chunk;
    buffer.set(&[], more);
    while buffer.data().len() <= longest
        && buffer.read(&mut bytes, more, None).map_err(|source| damaged(path, compression, source))?
    {
        more = buffer.data().len().clamp(sizes.chunk, longest.max(sizes.chunk));
    }
    buffer.begin += beginning.bytes.min(buffer.data().len());
    let too_long = (buffer.data().len() > sizes.row).then_some(sizes.row >> 20);
    buffer.end = buffer.end.min(buffer.begin + sizes.row + 1);
    let start = beginning.bytes as u64;
    Ok(Chunk { start, line: Some(1), quoted: false, read: count.load(Relaxed), too_long })
}

fn open(
    path: &Path,
    origin: &Origin,
    compression: Option<Compression>,
    count: &Arc<AtomicU64>,
) -> Result<Bytes> {
    let bytes: Bytes = Box::new(Counted { bytes: origin.open(path)?, count: Arc::clone(count) });
    match compression {
        Some(compression) => compression.decoder(bytes).map_err(Error::io(path)),
        None => Ok(bytes),
    }
}

/// The bytes of a plain file from this place on. Those before count as read.
fn open_at(path: &Path, origin: &Origin, at: u64, count: &Arc<AtomicU64>) -> Result<Bytes> {
    let bytes = origin.open_at(path, at)?;
    count.store(at, Relaxed);
    Ok(Box::new(Counted { bytes, count: Arc::clone(count) }))
}

/// Bytes of a line that are shown.
const SHOWN: usize = 200;

/// The lines of a text file from this one to that one (from 1), with their numbers, as they stand there;
/// of long ones the beginning. Nothing of what is no regular file.
pub(super) fn lines_between(path: &Path, from: u64, to: u64) -> Result<Vec<(u64, Vec<u8>)>> {
    let mut bytes: Bytes = match remote::is_remote(path) {
        true => Object::look(path).map_err(Error::io(path))?.read(0),
        false => {
            let file = File::open(path).map_err(Error::io(path))?;
            if !file.metadata().map_err(Error::io(path))?.is_file() {
                return Ok(Vec::new());
            }
            Box::new(file)
        }
    };
    let mut magic = [0; 16];
    let len = fill(&mut bytes, &mut magic).map_err(Error::io(path))?;
    let all: Bytes = Box::new(io::Cursor::new(magic[..len].to_vec()).chain(bytes));
    let mut bytes = match Compression::of(&magic[..len]) {
        Some(compression) => compression.decoder(all).map_err(Error::io(path))?,
        None => all,
    };
    let (mut lines, mut number, mut fresh) = (Vec::new(), 1, true);
    let mut buffer = vec![0; 1 << 18];
    while number <= to {
        let len = fill(&mut bytes, &mut buffer).map_err(Error::io(path))?;
        if len == 0 {
            break;
        }
        for part in buffer[..len].split_inclusive(|&byte| byte == b'\n') {
            if (from..=to).contains(&number) {
                if fresh {
                    lines.push((number, Vec::new()));
                }
                if let Some((_, line)) = lines.last_mut() {
                    let room = SHOWN.saturating_sub(line.len());
                    let text = part.strip_suffix(b"\n").unwrap_or(part);
                    line.extend_from_slice(&text[..text.len().min(room)]);
                }
            }
            fresh = part.ends_with(b"\n");
            number += u64::from(fresh);
        }
    }
    Ok(lines)
}

/// The number of the line at this place of a plain file.
pub(super) fn line_at(path: &Path, origin: &Origin, at: u64) -> Result<u64> {
    let mut bytes = origin.open(path)?.take(at);
    let mut buffer = vec![0; 1 << 18];
    let mut line = 1;
    loop {
        match fill(&mut bytes, &mut buffer).map_err(Error::io(path))? {
            0 => return Ok(line),
            len => line += newlines(&buffer[..len]),
        }
    }
}
