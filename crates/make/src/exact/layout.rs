//! The bytes of a `.keys` file: header, blocks, index.

use tamis::hash::xxh3;
use tamis_read::error::Result;

use super::{Broken, Contradiction, Part};

/// The first bytes of the file.
pub(super) const MAGIC: [u8; 8] = *b"\x89TKEYS\r\n";

/// The version written here, and the only one there is.
pub(super) const VERSION: u32 = 1;

/// Bytes of the header.
pub(super) const HEADER: usize = 128;

/// Bytes of an entry of the index.
pub(super) const ENTRY: usize = 32;

/// Bytes of a pair in a block, without those of its key: hash, group, end of the key.
pub(super) const PAIR: usize = 16;

/// What the file says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) file_len: u64,
    /// Of the filters that the keys belong to.
    pub digest: u128,
    pub(super) pairs: u64,
    pub(super) blocks: u64,
    pub(super) index_sum: u64,
}

impl Header {
    pub(super) fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.file_len.to_le_bytes());
        bytes[24..40].copy_from_slice(&self.digest.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.pairs.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.blocks.to_le_bytes());
        bytes[56..64].copy_from_slice(&self.index_sum.to_le_bytes());
        let sum = xxh3(&bytes[..120], 0);
        bytes[120..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads a header, and where the index begins. `len` is the length of the file.
    pub(super) fn decode(bytes: &[u8], len: u64) -> Result<(Header, u64), Broken> {
        if !bytes.starts_with(&MAGIC) {
            return Err(Broken::Magic);
        }
        let Some(bytes) = bytes.first_chunk::<HEADER>() else {
            return Err(Broken::Length { expected: HEADER as u64, got: len });
        };
        let version = u32_at(bytes, 8);
        if version != VERSION {
            return Err(Broken::Version { found: version });
        }
        if u64_at(bytes, 120) != xxh3(&bytes[..120], 0) {
            return Err(Broken::Damaged(Part::Header));
        }
        if u32_at(bytes, 12) != 0 || bytes[64..120].iter().any(|&byte| byte != 0) {
            return Err(Broken::Corrupt(Contradiction::Reserved));
        }
        let digest = bytes[24..40].try_into().map_or(0, u128::from_le_bytes);
        let header = Header {
            file_len: u64_at(bytes, 16),
            digest,
            pairs: u64_at(bytes, 40),
            blocks: u64_at(bytes, 48),
            index_sum: u64_at(bytes, 56),
        };
        if header.file_len != len {
            return Err(Broken::Length { expected: header.file_len, got: len });
        }
        let index = header.blocks.checked_mul(ENTRY as u64).and_then(|index| len.checked_sub(index));
        match index.filter(|&index| index >= HEADER as u64) {
            Some(index) => Ok((header, index)),
            None => Err(Broken::Corrupt(Contradiction::NoIndex)),
        }
    }
}

/// A block in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// The hash of its first pair.
    pub(super) first: u64,
    pub(super) offset: u64,
    pub(super) pairs: u32,
    /// The bytes of its keys.
    pub(super) keys: u32,
    pub(super) sum: u64,
}

impl Entry {
    pub(super) fn encode(&self) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        bytes[..8].copy_from_slice(&self.first.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.offset.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.pairs.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.keys.to_le_bytes());
        bytes[24..].copy_from_slice(&self.sum.to_le_bytes());
        bytes
    }

    /// The length of the block.
    pub(super) fn len(&self) -> u64 {
        PAIR as u64 * u64::from(self.pairs) + u64::from(self.keys)
    }
}

/// Reads the index, which begins at `at`: blocks follow each other without a gap, and so do their
/// hashes.
pub(super) fn index(bytes: &[u8], at: u64, header: &Header) -> Result<Vec<Entry>, Broken> {
    if xxh3(bytes, 0) != header.index_sum {
        return Err(Broken::Damaged(Part::Index));
    }
    let mut end = HEADER as u64;
    let mut pairs = 0u64;
    let mut entries: Vec<Entry> = Vec::with_capacity(bytes.len() / ENTRY);
    for bytes in bytes.as_chunks::<ENTRY>().0 {
        let entry = Entry {
            first: u64_at(bytes, 0),
            offset: u64_at(bytes, 8),
            pairs: u32_at(bytes, 16),
            keys: u32_at(bytes, 20),
            sum: u64_at(bytes, 24),
        };
        let follows = entries.last().is_none_or(|last| last.first < entry.first);
        if entry.offset != end || entry.pairs == 0 || !follows {
            return Err(Broken::Corrupt(Contradiction::Order));
        }
        end += entry.len();
        pairs += u64::from(entry.pairs);
        entries.push(entry);
    }
    if end != at || pairs != header.pairs {
        return Err(Broken::Corrupt(Contradiction::Gap));
    }
    Ok(entries)
}

/// The pairs of a block, which was checked.
#[derive(Debug, Default)]
pub(super) struct Block {
    bytes: Vec<u8>,
    pairs: usize,
}

impl Block {
    /// Takes the bytes of a block. Whatever they are, nothing that is asked of it later panics.
    pub(super) fn fill(
        &mut self,
        entry: &Entry,
        groups: u32,
        read: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Result<(), Broken>> {
        self.pairs = 0;
        self.bytes.resize(entry.len() as usize, 0);
        read(&mut self.bytes)?;
        Ok(self.check(entry, groups))
    }

    fn check(&mut self, entry: &Entry, groups: u32) -> Result<(), Broken> {
        if xxh3(&self.bytes, 0) != entry.sum {
            return Err(Broken::Damaged(Part::Block));
        }
        self.pairs = entry.pairs as usize;
        let ordered =
            (1..self.pairs).all(|i| self.hash(i - 1) <= self.hash(i) && self.end(i - 1) <= self.end(i));
        let sound = ordered
            && self.hash(0) == entry.first
            && self.end(self.pairs - 1) == entry.keys as usize
            && (0..self.pairs).all(|i| self.group(i) < groups);
        if !sound {
            self.pairs = 0;
            return Err(Broken::Corrupt(Contradiction::Block));
        }
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.pairs
    }

    #[inline]
    pub(super) fn hash(&self, pair: usize) -> u64 {
        u64_at(&self.bytes, 8 * pair)
    }

    #[inline]
    pub(super) fn group(&self, pair: usize) -> u32 {
        u32_at(&self.bytes, 8 * self.pairs + 4 * pair)
    }

    #[inline]
    fn end(&self, pair: usize) -> usize {
        u32_at(&self.bytes, 12 * self.pairs + 4 * pair) as usize
    }

    /// The bytes of a pair's key that stand there. None, where the key is that of the pair before
    /// (of the same hash); or the empty key.
    pub(super) fn own_key(&self, pair: usize) -> &[u8] {
        let start = if pair == 0 { 0 } else { self.end(pair - 1) };
        let keys = &self.bytes[PAIR * self.pairs..];
        &keys[start..self.end(pair)]
    }

    /// The first pair from here on whose hash is not below this one.
    pub(super) fn find(&self, from: usize, hash: u64) -> usize {
        // Most are near: steps that double, then halves.
        let mut step = 1;
        let mut low = from;
        while low + step < self.pairs && self.hash(low + step) < hash {
            low += step;
            step *= 2;
        }
        let mut high = (low + step).min(self.pairs);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.hash(middle) < hash {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// A block in the making.
#[derive(Debug, Default)]
pub(super) struct OpenBlock {
    hashes: Vec<u64>,
    groups: Vec<u32>,
    ends: Vec<u32>,
    keys: Vec<u8>,
    last: Vec<u8>,
}

/// From here on a block is long enough, and ends where the hash changes.
const LONG: usize = 64 << 10;

impl OpenBlock {
    /// Whether the block should end before a pair of this hash.
    pub(super) fn ends_before(&self, hash: u64) -> bool {
        PAIR * self.hashes.len() + self.keys.len() >= LONG && self.hashes.last() != Some(&hash)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Adds a pair; they come sorted by hash, key and group, each once.
    pub(super) fn push(&mut self, hash: u64, key: &[u8], group: u32) -> Result<(), Broken> {
        let repeats = self.hashes.last() == Some(&hash) && self.last == key;
        if !repeats {
            self.keys.extend_from_slice(key);
            self.last.clear();
            self.last.extend_from_slice(key);
        }
        self.ends.push(u32::try_from(self.keys.len()).map_err(|_| Broken::TooLong)?);
        u32::try_from(self.hashes.len() + 1).map_err(|_| Broken::TooLong)?;
        self.hashes.push(hash);
        self.groups.push(group);
        Ok(())
    }

    /// The bytes of the block, and its entry in the index; begins a new one.
    pub(super) fn finish(&mut self, offset: u64, bytes: &mut Vec<u8>) -> Entry {
        bytes.clear();
        bytes.extend(self.hashes.iter().flat_map(|hash| hash.to_le_bytes()));
        bytes.extend(self.groups.iter().flat_map(|group| group.to_le_bytes()));
        bytes.extend(self.ends.iter().flat_map(|end| end.to_le_bytes()));
        bytes.extend_from_slice(&self.keys);
        let entry = Entry {
            first: self.hashes.first().copied().unwrap_or(0),
            offset,
            pairs: self.hashes.len() as u32,
            keys: self.keys.len() as u32,
            sum: xxh3(bytes, 0),
        };
        self.hashes.clear();
        self.groups.clear();
        self.ends.clear();
        self.keys.clear();
        self.last.clear();
        entry
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].try_into().map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].try_into().map_or(0, u64::from_le_bytes)
}

/// For fuzzing: whatever the bytes are, as they are and with their checksums put right, nothing
/// here may panic, and what is sound can be read from end to end.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) {
    read_all(bytes);
    let mut sealed = bytes.to_vec();
    seal(&mut sealed);
    read_all(&sealed);
}

fn read_all(file: &[u8]) {
    let Ok((header, at)) = Header::decode(file, file.len() as u64) else { return };
    let Ok(entries) = index(&file[at as usize..], at, &header) else { return };
    assert_eq!(header.encode(), file[..HEADER]);
    let mut block = Block::default();
    for entry in entries {
        let offset = entry.offset as usize;
        let read = |to: &mut [u8]| -> Result<()> {
            to.copy_from_slice(&file[offset..offset + to.len()]);
            Ok(())
        };
        let checked = block.fill(&entry, 3, read).expect("a slice is read");
        assert_eq!(checked.is_ok(), block.len() > 0);
        for pair in 0..block.len() {
            block.own_key(pair);
            let found = block.find(0, block.hash(pair));
            assert!(found <= pair && block.hash(found) == block.hash(pair) && block.group(pair) < 3);
        }
    }
}

/// Puts lengths and checksums right where the parts can be found.
fn seal(file: &mut [u8]) {
    if file.len() < HEADER {
        return;
    }
    let len = file.len() as u64;
    file[16..24].copy_from_slice(&len.to_le_bytes());
    let index = (u64_at(file, 48).saturating_mul(ENTRY as u64)).min(len - HEADER as u64) as usize;
    let at = file.len() - index;
    for entry in (at..file.len()).step_by(ENTRY) {
        let Some(bytes) = file.get(entry..entry + ENTRY) else { break };
        let (offset, pairs, keys) = (u64_at(bytes, 8) as usize, u32_at(bytes, 16), u32_at(bytes, 20));
        let end = offset.saturating_add(PAIR * pairs as usize + keys as usize);
        if let Some(sum) = file.get(offset..end).map(|block| xxh3(block, 0)) {
            file[entry + 24..entry + 32].copy_from_slice(&sum.to_le_bytes());
        }
    }
    let sum = xxh3(&file[at..], 0);
    file[56..64].copy_from_slice(&sum.to_le_bytes());
    let sum = xxh3(&file[..120], 0);
    file[120..128].copy_from_slice(&sum.to_le_bytes());
}
