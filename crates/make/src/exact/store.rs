//! A file of keys that is open for reading, or being written.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tamis_read::Control;
use tamis_read::error::{Error, Result};
use tamis_read::remote;

use super::layout::{Block, ENTRY, Entry, HEADER, Header, OpenBlock, index};
use super::runs::{Record, read_exact_at};
use super::{Broken, Refusal, path_beside};
use crate::files::{Draft, Mapped};

/// The exact keys of a file of filters.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    entries: Vec<Entry>,
    groups: u32,
    pairs: u64,
}

impl Store {
    /// Opens the keys beside these filters; refuses those of others.
    pub fn open(filters: &Path, container: &Mapped) -> Result<Store> {
        let path = path_beside(filters);
        let refused = |why: Broken| Error::input(&path, why);
        let mut file = remote::open(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::input(&path, Refusal::Absent),
            _ => Error::io(&path)(error),
        })?;
        let len = file.metadata().map_err(Error::io(&path))?.len();
        let mut head = Vec::with_capacity(HEADER);
        (&mut file).take(HEADER as u64).read_to_end(&mut head).map_err(Error::io(&path))?;
        let (header, at) = Header::decode(&head, len).map_err(refused)?;
        if header.digest != container.digest() {
            return Err(Error::input(path, Refusal::OfOthers { filters: filters.into() }));
        }
        // No longer than the file itself.
        let mut bytes = vec![0; (len - at) as usize];
        read_exact_at(&file, &mut bytes, at).map_err(Error::io(&path))?;
        let entries = index(&bytes, at, &header).map_err(refused)?;
        let groups = container.params().groups.len() as u32;
        Ok(Store { path, file, entries, groups, pairs: header.pairs })
    }

    /// The (key, group) pairs it holds.
    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    pub(super) fn blocks(&self) -> usize {
        self.entries.len()
    }

    /// The block in which a key of this hash would be, at or after another one.
    pub(super) fn block_of(&self, hash: u64, from: usize) -> Option<usize> {
        let rest = self.entries.get(from..).unwrap_or(&[]);
        // Most are near: questions come sorted.
        let near = rest.iter().take(8).take_while(|entry| entry.first <= hash).count();
        let count = if near < 8 { near } else { rest.partition_point(|entry| entry.first <= hash) };
        (from + count).checked_sub(1)
    }

    /// Reads a block and checks it.
    pub(super) fn read(&self, at: usize, block: &mut Block) -> Result<()> {
        let entry = &self.entries[at];
        let read = |to: &mut [u8]| read_exact_at(&self.file, to, entry.offset).map_err(Error::io(&self.path));
        let checked = block.fill(entry, self.groups, read)?;
        checked.map_err(|why| Error::input(&self.path, why))
    }

    /// Reads all of it, and checks every block.
    pub fn verify(&self, control: &Control) -> Result<()> {
        let mut block = Block::default();
        for at in 0..self.blocks() {
            control.check()?;
            self.read(at, &mut block)?;
        }
        Ok(())
    }
}

/// The records of a store, in order, each with another number for its group where that is asked.
pub(super) struct StoreRecords<'s> {
    store: &'s Store,
    /// The number of each group among others; none of those whose keys are passed over.
    groups: Option<Vec<Option<u32>>>,
    block: Block,
    next_block: usize,
    pair: usize,
    key: Vec<u8>,
}

impl<'s> StoreRecords<'s> {
    pub(super) fn new(store: &'s Store, groups: Option<Vec<Option<u32>>>) -> Self {
        StoreRecords { store, groups, block: Block::default(), next_block: 0, pair: 0, key: Vec::new() }
    }

    pub(super) fn advance(&mut self) -> Result<bool> {
        while self.next()? {
            if self.group().is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The number of the group of this pair.
    fn group(&self) -> Option<u32> {
        let group = self.block.group(self.pair);
        self.groups.as_ref().map_or(Some(group), |groups| groups[group as usize])
    }

    fn next(&mut self) -> Result<bool> {
        self.pair += 1;
        if self.next_block == 0 || self.pair >= self.block.len() {
            if self.next_block == self.store.blocks() {
                return Ok(false);
            }
            self.store.read(self.next_block, &mut self.block)?;
            self.next_block += 1;
            self.pair = 0;
        }
        let own = self.block.own_key(self.pair);
        let repeats =
            own.is_empty() && self.pair > 0 && self.block.hash(self.pair - 1) == self.block.hash(self.pair);
        if !repeats {
            self.key.clear();
            self.key.extend_from_slice(own);
        }
        Ok(true)
    }

    pub(super) fn record(&self) -> Record<'_> {
        let group = self.group().expect("others are passed over");
        Record { hash: self.block.hash(self.pair), group, number: 0, key: &self.key }
    }
}

/// A file of keys in the making.
pub(super) struct Writer {
    path: PathBuf,
    out: BufWriter<Draft>,
    block: OpenBlock,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    end: u64,
    pairs: u64,
}

impl Writer {
    /// Begins the file of keys beside these filters.
    pub(super) fn new(filters: &Path) -> Result<Writer> {
        let path = path_beside(filters);
        let mut out = BufWriter::with_capacity(1 << 18, Draft::beside(&path, filters)?);
        out.write_all(&[0; HEADER]).map_err(Error::io(&path))?;
        Ok(Writer {
            path,
            out,
            block: OpenBlock::default(),
            bytes: Vec::new(),
            entries: Vec::new(),
            end: HEADER as u64,
            pairs: 0,
        })
    }

    /// Adds a pair; they come sorted, each once.
    pub(super) fn push(&mut self, record: Record<'_>) -> Result<()> {
        if self.block.ends_before(record.hash) {
            self.end_block()?;
        }
        self.pairs += 1;
        let pushed = self.block.push(record.hash, record.key, record.group);
        pushed.map_err(|why| Error::input(&self.path, why))
    }

    fn end_block(&mut self) -> Result<()> {
        let entry = self.block.finish(self.end, &mut self.bytes);
        self.out.write_all(&self.bytes).map_err(Error::io(&self.path))?;
        self.end += entry.len();
        self.entries.push(entry);
        Ok(())
    }

    /// Ends the file, which belongs to filters of this digest; it is not yet in its place.
    pub(super) fn finish(mut self, digest: u128) -> Result<(Draft, u64)> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        let index: Vec<u8> = self.entries.iter().flat_map(Entry::encode).collect();
        let header = Header {
            file_len: self.end + (self.entries.len() * ENTRY) as u64,
            digest,
            pairs: self.pairs,
            blocks: self.entries.len() as u64,
            index_sum: tamis::hash::xxh3(&index, 0),
        };
        let Writer { path, mut out, pairs, .. } = self;
        let attempt = || -> std::io::Result<Draft> {
            out.write_all(&index)?;
            let mut draft = out.into_inner().map_err(|error| error.into_error())?;
            draft.file().seek(SeekFrom::Start(0))?;
            draft.write_all(&header.encode())?;
            Ok(draft)
        };
        Ok((attempt().map_err(Error::io(path))?, pairs))
    }
}
