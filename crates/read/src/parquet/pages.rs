//! Bytes of the file, and pages of a column, with checks that the decoder leaves out.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length, SerializedPageReader};

use crate::remote::Object;

/// A file that several threads read at once. Every read says where: a `File` that is cloned
/// shares its position with the clones, and the reads of threads would end up in each other's place.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    lies: Where,
    length: u64,
}

#[derive(Debug, Clone)]
enum Where {
    Here(Arc<File>),
    Elsewhere(Arc<Window>),
}

/// What of a file that lies elsewhere is asked for at once, at most; of its end, what most footers fit into.
const WINDOW: u64 = 8 << 20;
const TAIL: u64 = 64 << 10;

impl Shared {
    /// Opens a file; where an object is given, it lies elsewhere.
    pub(super) fn open(path: &Path, object: Option<&Arc<Object>>) -> io::Result<Shared> {
        if let Some(object) = object {
            let (length, object) = (object.len(), Arc::clone(object));
            let begin = length.saturating_sub(TAIL);
            let window = Window { object, bounds: (begin, length), held: Mutex::default() };
            return Ok(Shared { lies: Where::Elsewhere(Arc::new(window)), length });
        }
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Shared { lies: Where::Here(Arc::new(file)), length })
    }

    /// The same for those who read this column from its beginning to its end: of a file that lies elsewhere, no
    /// more comes than the column.
    pub(super) fn of(&self, chunk: &ColumnChunkMetaData) -> Shared {
        let Where::Elsewhere(window) = &self.lies else { return self.clone() };
        let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset()).max(0) as u64;
        let end = start.saturating_add(chunk.compressed_size().max(0) as u64).min(self.length);
        let window = Window {
            object: Arc::clone(&window.object),
            bounds: (start.min(end), end),
            held: Mutex::default(),
        };
        Shared { lies: Where::Elsewhere(Arc::new(window)), length: self.length }
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match &self.lies {
            #[cfg(unix)]
            Where::Here(file) => std::os::unix::fs::FileExt::read_at(&**file, buffer, offset),
            #[cfg(windows)]
            Where::Here(file) => std::os::windows::fs::FileExt::seek_read(&**file, buffer, offset),
            Where::Elsewhere(window) => {
                let length = self.length.saturating_sub(offset).min(buffer.len() as u64) as usize;
                buffer[..length].copy_from_slice(&window.part(offset, length)?);
                Ok(length)
            }
        }
    }
}

/// A few MiB of a file that lies elsewhere: pages are read one after the other, and the headers of pages by some
/// bytes.
#[derive(Debug)]
struct Window {
    object: Arc<Object>,
    /// What will be read begins and ends here.
    bounds: (u64, u64),
    /// Where it begins, and what is there.
    held: Mutex<(u64, Bytes)>,
}

impl Window {
    /// These bytes, which the file must have.
    fn part(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let end = offset + length as u64;
        let holds = |(start, bytes): &(u64, Bytes)| *start <= offset && end <= start + bytes.len() as u64;
        if !holds(&held) {
            let (begin, bound) = self.bounds;
            // What is read first is the beginning of a column, or some place in the end of the file.
            let from = if held.1.is_empty() { begin.min(offset) } else { offset };
            let to = end.max(bound.min(from + WINDOW));
            if end - from > WINDOW.max(length as u64) {
                return self.object.part(offset, length);
            }
            *held = (from, self.object.part(from, (to - from) as usize)?);
        }
        let at = (offset - held.0) as usize;
        match held.1.get(at..at + length) {
            Some(_) => Ok(held.1.slice(at..at + length)),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Reads on from a place in the file.
#[derive(Debug)]
pub(super) struct ReadFrom {
    file: Shared,
    offset: u64,
}

impl Read for ReadFrom {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

impl Length for Shared {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Shared {
    type T = BufReader<ReadFrom>;

    /// Used for the end of the file and the headers of pages, which are small.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::with_capacity(512, ReadFrom { file: self.clone(), offset: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            return Err(broken(format!("it ends before byte {start} + {length}")));
        }
        if let Where::Elsewhere(window) = &self.lies {
            return Ok(window.part(start, length)?);
        }
        let mut buffer = Vec::with_capacity(length);
        ReadFrom { file: self.clone(), offset: start }.take(length as u64).read_to_end(&mut buffer)?;
        if buffer.len() < length {
            return Err(broken("it became shorter while it was read".into()));
        }
        Ok(buffer.into())
    }
}

/// The same file for the pages of a column, whose headers are checked before the decoder reads them.
struct OfPages(Shared);

impl Length for OfPages {
    fn len(&self) -> u64 {
        self.0.length
    }
}

impl ChunkReader for OfPages {
    type T = BufReader<ReadFrom>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let mut reader = self.0.get_read(start)?;
        check_header(reader.fill_buf()?)?;
        Ok(reader)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.0.get_bytes(start, length)
    }
}

/// Room that a page may take whatever it is compressed to.
const USUAL_PAGE: u64 = 64 << 20;

/// And how many times its compressed size, beyond that.
const MOST_EXPANSION: u64 = 1024;

/// Refuses a page that says it is so large that nobody would write it: the decoder makes room for what it says.
fn check_header(header: &[u8]) -> Result<()> {
    /// The next field, a number of 32 bits: what all writers begin a header with.
    const NEXT_NUMBER: u8 = 0x15;

    let mut at = 0;
    let mut number = || {
        (*header.get(at)? == NEXT_NUMBER).then(|| at += 1)?;
        varint(header, &mut at).map(|zigzag| zigzag >> 1)
    };
    // What begins otherwise is left to the decoder, which says what is wrong with it.
    let [Some(_), Some(size), Some(compressed)] = [number(), number(), number()] else { return Ok(()) };
    match size > USUAL_PAGE.max(compressed.saturating_mul(MOST_EXPANSION)) {
        true => Err(broken(format!("a page of {compressed} bytes says that it comes to {size}"))),
        false => Ok(()),
    }
}

fn broken(message: String) -> ParquetError {
    ParquetError::General(message)
}

/// The pages of one column in one row group. Numbers in pages that the decoder trusts (it would
/// panic, or allocate as much as they say) are checked first, and pages without values, at which
/// it would stop, are left out.
pub(super) struct Pages {
    pages: SerializedPageReader<OfPages>,
    /// The least number of bytes that a value takes in a dictionary.
    least: u64,
    rows: u64,
    /// The widths of repetition and definition levels; 0 where there are none.
    level_bits: [u32; 2],
    /// Values that a column with lists may still have: a row has any number of them.
    room: Arc<AtomicU64>,
    has_dictionary: bool,
}

impl Pages {
    pub(super) fn new(
        file: &Shared,
        column: &ColumnChunkMetaData,
        rows: usize,
        room: Arc<AtomicU64>,
    ) -> Result<Pages> {
        let least = match column.column_type() {
            Type::BOOLEAN => 1,
            Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
            Type::FIXED_LEN_BYTE_ARRAY => column.column_descr().type_length().max(1) as u64,
        };
        let pages = SerializedPageReader::new(Arc::new(OfPages(file.clone())), column, rows, None)?;
        let descriptor = column.column_descr();
        let level_bits = [descriptor.max_rep_level(), descriptor.max_def_level()]
            .map(|most| i16::BITS - most.leading_zeros());
        Ok(Pages { pages, least, rows: rows as u64, level_bits, room, has_dictionary: false })
    }

    fn check(&mut self, page: &Page) -> Result<()> {
        match page {
            Page::DictionaryPage { buf, num_values, .. } => {
                if u64::from(*num_values) * self.least > buf.len() as u64 {
                    return Err(broken(format!(
                        "a dictionary of {} bytes claims {num_values} values",
                        buf.len()
                    )));
                }
                self.has_dictionary = true;
                Ok(())
            }
            Page::DataPage { buf, num_values, encoding, def_level_encoding, rep_level_encoding, .. } => {
                let encodings = [rep_level_encoding, def_level_encoding];
                let levels =
                    self.level_bits.iter().zip(encodings).try_fold(0, |at: usize, (bits, encoding)| {
                        at.checked_add(match (bits, encoding) {
                            (0, _) => 0,
                            (_, Encoding::RLE) => {
                                let length = buf.get(at..)?.first_chunk()?;
                                4 + u32::from_le_bytes(*length) as usize
                            }
                            (bits, _) => (u64::from(*num_values) * u64::from(*bits)).div_ceil(8) as usize,
                        })
                    });
                self.check_data(levels.and_then(|levels| buf.get(levels..)), *num_values, *encoding)
            }
            Page::DataPageV2 {
                buf, num_values, encoding, def_levels_byte_len, rep_levels_byte_len, ..
            } => {
                let levels = def_levels_byte_len.checked_add(*rep_levels_byte_len);
                self.check_data(levels.and_then(|levels| buf.get(levels as usize..)), *num_values, *encoding)
            }
        }
    }

    fn check_data(&self, data: Option<&[u8]>, values: u32, encoding: Encoding) -> Result<()> {
        let data = data.ok_or_else(|| broken("the levels of a page are longer than the page".into()))?;
        if self.level_bits[0] > 0 {
            let values = u64::from(values);
            let left = |room: u64| room.checked_sub(values);
            if self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_err() {
                return Err(broken("a few rows claim tens of millions of values".into()));
            }
        } else if u64::from(values) > self.rows {
            return Err(broken(format!(
                "a page claims {values} values in a row group of {} rows",
                self.rows
            )));
        }
        match encoding {
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY if !self.has_dictionary => {
                Err(broken("a page refers to a dictionary that is not there".into()))
            }
            Encoding::DELTA_LENGTH_BYTE_ARRAY => delta_end(data, values).map(|_| ()),
            Encoding::DELTA_BYTE_ARRAY => {
                let suffixes = delta_end(data, values)?;
                delta_end(&data[suffixes..], values).map(|_| ())
            }
            _ => Ok(()),
        }
    }
}

/// Where a run of integers in the encoding DELTA_BINARY_PACKED ends; an error where it claims
/// more than `limit` of them. These are lengths of byte arrays, for all of which the decoder
/// makes room at once.
fn delta_end(data: &[u8], limit: u32) -> Result<usize> {
    let walk = || -> Option<usize> {
        let mut at = 0;
        let block = varint(data, &mut at)?;
        let minis = usize::try_from(varint(data, &mut at)?).ok()?;
        let count = varint(data, &mut at).filter(|&count| count <= u64::from(limit))?;
        let _first = varint(data, &mut at)?;
        let mut left = count.saturating_sub(1);
        while left > 0 {
            let per_mini = block.checked_div(minis as u64).filter(|&count| count > 0)?;
            let _least_delta = varint(data, &mut at)?;
            let widths = data.get(at..at.checked_add(minis)?)?;
            at += minis;
            for &width in widths {
                if left == 0 {
                    break;
                }
                let bytes = per_mini.checked_mul(u64::from(width))? / 8;
                at = at.checked_add(usize::try_from(bytes).ok()?).filter(|&at| at <= data.len())?;
                left = left.saturating_sub(per_mini);
            }
        }
        Some(at)
    };
    walk().ok_or_else(|| broken("the lengths of the values in a page are damaged".into()))
}

/// An integer of seven bits per byte, the lowest first.
pub(super) fn varint(data: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *data.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        loop {
            let Some(page) = self.pages.get_next_page()? else { return Ok(None) };
            if page.is_dictionary_page() || page.num_values() > 0 {
                self.check(&page)?;
                return Ok(Some(page));
            }
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by fuzzing: room was made for 1.7 GB on the word of a file of some hundred bytes.
    #[test]
    fn no_room_is_made_for_a_page_on_its_word_alone() {
        let header = |size: u64, compressed: u64| {
            let mut bytes = vec![0x15, 0];
            for mut number in [2 * size, 2 * compressed] {
                bytes.push(0x15);
                while number >= 0x80 {
                    bytes.push(number as u8 | 0x80);
                    number >>= 7;
                }
                bytes.push(number as u8);
            }
            bytes
        };
        assert!(check_header(&header(1 << 20, 40)).is_ok());
        assert!(check_header(&header(64 << 20, 1)).is_ok());
        assert!(check_header(&header(1 << 30, 1 << 20)).is_ok());
        let refused = check_header(&header(1_690_932_006, 96)).unwrap_err().to_string();
        assert!(refused.contains("96 bytes says that it comes to 1690932006"), "{refused}");
        assert!(check_header(&[]).is_ok() && check_header(&[0x15, 0, 0x15, 0xff]).is_ok());
    }
}
