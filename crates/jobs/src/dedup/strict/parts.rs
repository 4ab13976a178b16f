//! Keys that do not fit into memory: on disk, cut by hash into parts that do, and looked at when all are there.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, Write};

use tamis::hash::xxh3;
use tamis_make::seed;
use tamis_read::Control;
use tamis_read::error::{Error, Result};

use super::{disk, temporary};

/// Parts that keys are cut into at a time, by this many bits of their hash.
const PART_BITS: u32 = 6;

/// Memory in which a part is looked at, however little there is for keys. To write parts takes as much; and in far less,
/// each key would be in a part of its own in the end, and each part in a file.
const LEAST: usize = 8 << (10 + PART_BITS);

/// What a key takes in memory besides its bytes.
const PER_KEY: usize = 64;

/// What is known of a record besides its key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub(super) index: u64,
    /// Whether the filter had not found its key.
    pub(super) fresh: bool,
}

/// Writes a number in as few bytes as it needs, seven bits in each.
fn write_number(mut number: u64, out: &mut impl Write) -> io::Result<()> {
    while number >= 0x80 {
        out.write_all(&[number as u8 | 0x80])?;
        number >>= 7;
    }
    out.write_all(&[number as u8])
}

/// The next number; `None` at the end.
fn read_number(from: &mut impl Read) -> io::Result<Option<u64>> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let mut byte = [0];
        match from.read_exact(&mut byte) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof && shift == 0 => return Ok(None),
            read => read?,
        }
        number |= u64::from(byte[0] & 0x7f) << shift;
        if byte[0] < 0x80 {
            break;
        }
    }
    Ok(Some(number))
}

enum Trouble {
    Disk(io::Error),
    Stopped(Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Trouble::Disk(error)
    }
}

/// Keys on disk, cut by some bits of their hash, in the order in which they came.
pub(super) struct Parts {
    /// The bits of the hash before those that tell the part.
    used: u32,
    /// Of the hash, which nobody knows: keys that meet in a part are parted by the next.
    seed: u64,
    parts: Vec<Part<BufWriter<File>>>,
}

/// One of them. A record takes little more than its key: the distance from the one before, with the answer of
/// the filter, and the length of the key.
struct Part<F> {
    file: F,
    last: u64,
}

impl Part<BufWriter<File>> {
    fn new() -> io::Result<Self> {
        Ok(Part { file: BufWriter::new(temporary()?), last: 0 })
    }

    fn push(&mut self, Record { index, fresh }: Record, key: &[u8]) -> io::Result<()> {
        write_number((index - self.last) << 1 | u64::from(fresh), &mut self.file)?;
        self.last = index;
        write_number(key.len() as u64, &mut self.file)?;
        self.file.write_all(key)
    }

    fn written(self) -> io::Result<Part<BufReader<File>>> {
        Ok(Part { file: BufReader::new(self.file.into_inner()?), last: 0 })
    }
}

impl Part<BufReader<File>> {
    /// Begins with the first record again.
    fn rewind(&mut self) -> io::Result<()> {
        self.last = 0;
        self.file.rewind()
    }

    /// The next record, with its key; `None` at the end.
    fn next(&mut self, key: &mut Vec<u8>) -> io::Result<Option<Record>> {
        let Some(number) = read_number(&mut self.file)? else { return Ok(None) };
        self.last += number >> 1;
        let length = read_number(&mut self.file)?.ok_or(ErrorKind::UnexpectedEof)?;
        key.clear();
        (&mut self.file).take(length).read_to_end(key)?;
        Ok(Some(Record { index: self.last, fresh: number & 1 == 1 }))
    }

    /// Finds the records that are to be rescued; false where the keys do not fit.
    fn rescue_in_memory(&mut self, memory: usize, rescued: &mut Vec<u64>) -> io::Result<bool> {
        self.rewind()?;
        let mut key = Vec::new();
        let mut seen: HashSet<Box<[u8]>> = HashSet::new();
        let (mut held, before) = (0usize, rescued.len());
        while let Some(record) = self.next(&mut key)? {
            if seen.contains(key.as_slice()) {
                continue;
            }
            held += key.len() + PER_KEY;
            if held > memory && seen.len() > 1 {
                rescued.truncate(before);
                return Ok(false);
            }
            seen.insert(key.as_slice().into());
            if !record.fresh {
                rescued.push(record.index);
            }
        }
        Ok(true)
    }
}

impl Parts {
    pub(super) fn new(used: u32) -> io::Result<Parts> {
        let parts = (0..1 << PART_BITS).map(|_| Part::new()).collect::<io::Result<_>>()?;
        Ok(Parts { used, seed: seed::random(), parts })
    }

    pub(super) fn push(&mut self, record: Record, key: &[u8]) -> io::Result<()> {
        let part = xxh3(key, self.seed) >> (64 - PART_BITS);
        self.parts[part as usize].push(record, key)
    }

    /// The records to be rescued, found in this memory, in order.
    pub(super) fn rescued(self, memory: u64, control: &Control) -> Result<Vec<u64>> {
        let memory = usize::try_from(memory).unwrap_or(usize::MAX).max(LEAST);
        let mut rescued = Vec::new();
        self.rescue(memory, &mut rescued, control).map_err(|trouble| match trouble {
            Trouble::Disk(error) => disk(error),
            Trouble::Stopped(error) => error,
        })?;
        rescued.sort_unstable();
        Ok(rescued)
    }

    /// Finds the records to be rescued, part by part.
    fn rescue(self, memory: usize, rescued: &mut Vec<u64>, control: &Control) -> Result<(), Trouble> {
        let deeper = self.used + PART_BITS;
        // So often no keys meet: what is left is a key that is larger than the memory.
        let memory = if deeper + PART_BITS <= 64 { memory } else { usize::MAX };
        for part in self.parts {
            control.check().map_err(Trouble::Stopped)?;
            let mut part = part.written()?;
            if !part.rescue_in_memory(memory, rescued)? {
                let (mut parts, mut key) = (Parts::new(deeper)?, Vec::new());
                part.rewind()?;
                while let Some(record) = part.next(&mut key)? {
                    parts.push(record, &key)?;
                }
                drop(part);
                parts.rescue(memory, rescued, control)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_the_filter_took_for_others_are_rescued_however_often_parts_are_cut() {
        for (keys, memory) in [(300u64, 0), (2_000, 1_000), (20_000, 10_000), (20_000, usize::MAX)] {
            let mut parts = Parts::new(0).unwrap();
            // Each key comes twice, and the filter errs for every seventh.
            for index in 0..2 * keys {
                let key = index % keys;
                let fresh = index < keys && key % 7 != 0;
                parts.push(Record { index, fresh }, &key.to_le_bytes()).unwrap();
            }
            let mut rescued = Vec::new();
            let done = parts.rescue(memory, &mut rescued, &Control::default());
            assert!(done.is_ok());
            rescued.sort_unstable();
            assert_eq!(rescued, (0..keys).step_by(7).collect::<Vec<_>>(), "in {memory} bytes");
        }
    }
}
