//! Keys on their way to the test: cut by hash into parts, in memory while they are few, on disk
//! beyond.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex};

use tamis::memory::roomy;
use tamis_make::batch::{KeyBatch, Needs, keyword_hashes, lanes_of};
use tamis_make::order::{self, Hashed};
use tamis_make::rows::{Key, Take};

/// Keys are cut into this many parts by the highest bits of their hash.
pub(super) const PARTS: usize = 256;

/// Keys that are cut into parts together: they stay in a near cache meanwhile.
const LOG: usize = (1 << 15) - (1 << 5);

/// Logs for which there is room at once, but for the first: it is two huge pages, with some bytes for the allocator.
const LOGS: usize = 8;

/// What filters need of a key, as it is kept beside its hash: 32-bit numbers, in memory and on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Beside(pub Needs);

impl Beside {
    fn push(self, key: &[u8], to: &mut Vec<u32>) {
        match self.0 {
            Needs::Hash => {}
            Needs::Lanes(count) => to.extend(lanes_of(key, count)),
            // Their number, then four in each.
            Needs::Bytes(_) => {
                to.push(key.len() as u32);
                to.extend(
                    key.chunks(4).map(|bytes| {
                        bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
                    }),
                );
            }
            Needs::Keywords(scheme) => push_wide(keyword_hashes(key, scheme), to),
            Needs::Wide(foreign, count) => push_wide(foreign.lanes(key).take(count as usize), to),
        }
    }

    /// How many numbers a key has, of which the first may tell.
    fn count(self, first: Option<&u32>) -> usize {
        match self.0 {
            Needs::Hash => 0,
            Needs::Lanes(count) => count as usize,
            Needs::Bytes(_) => 1 + first.map_or(0, |&bytes| bytes.div_ceil(4) as usize),
            Needs::Keywords(_) | Needs::Wide(..) => 1 + 2 * first.map_or(0, |&numbers| numbers as usize),
        }
    }

    /// Those of the key whose first stands here.
    fn of(self, all: &[u32], first: u32) -> &[u32] {
        let from = &all[first as usize..];
        &from[..self.count(from.first())]
    }
}

/// Keeps numbers of 64 bits: how many, then each in two halves.
fn push_wide(numbers: impl Iterator<Item = u64>, to: &mut Vec<u32>) {
    let at = to.len();
    to.push(0);
    for number in numbers {
        to.extend([number as u32, (number >> 32) as u32]);
        to[at] += 1;
    }
}

/// The bytes of a key that are kept beside it: their number, then four in each.
fn bytes_of(numbers: &[u32]) -> impl Iterator<Item = u8> {
    let bytes = numbers.iter().skip(1).flat_map(|number| number.to_le_bytes());
    bytes.take(numbers.first().map_or(0, |&bytes| bytes as usize))
}

/// A key with one of its groups. `slot` is where that which is kept beside it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Record {
    pub hash: u64,
    pub group: u32,
    pub slot: u32,
}

impl Hashed for Record {
    #[inline]
    fn hash(self) -> u64 {
        self.hash
    }
}

/// The records of one part.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub records: Vec<Record>,
    /// What is kept beside each key.
    pub lanes: Vec<u32>,
    /// What of it is on disk.
    runs: Vec<Run>,
}

/// Records on disk, one after the other. All runs of a thread share one file.
#[derive(Debug)]
struct Run {
    file: Arc<Mutex<File>>,
    offset: u64,
    records: u64,
    bytes: u64,
}

/// Gathers the keys of one thread.
#[derive(Debug)]
pub(super) struct Gather {
    parts: Vec<Part>,
    /// Keys of which nothing is kept beside their hash, before they are cut into parts; and those that were.
    log: Vec<Record>,
    heaps: Vec<Heaps>,
    beside: Beside,
    /// 32-bit numbers held in memory.
    held: usize,
    most: usize,
    disk: Option<Arc<Mutex<File>>>,
    /// The first failure to write to disk: it cannot be returned from inside a row.
    failed: Option<io::Error>,
}

impl Gather {
    /// Holds at most this many keys in memory; fewer, where more is kept beside them.
    pub fn new(beside: Beside, most: usize) -> Self {
        let parts = (0..PARTS).map(|_| Part::default()).collect();
        let (log, heaps) = (Vec::new(), Vec::new());
        Gather { parts, log, heaps, beside, held: 0, most: 4 * most, disk: None, failed: None }
    }

    /// Cuts the keys of the log into parts.
    #[cold]
    fn cut(&mut self) {
        if self.log.is_empty() {
            return;
        }
        let heaps = match self.heaps.pop_if(|heaps| heaps.has_room(self.log.len())) {
            Some(heaps) => heaps,
            None if self.heaps.is_empty() => Heaps::new(self.log.len()),
            None => Heaps::new(LOGS * LOG),
        };
        self.heaps.push(heaps.with(&self.log));
        self.log.clear();
    }

    /// Gives all keys that were cut into parts to these.
    fn settle(&mut self) {
        self.cut();
        for (number, part) in self.parts.iter_mut().enumerate() {
            part.extend(number, &self.heaps);
        }
        self.heaps.clear();
    }

    #[cold]
    fn spill(&mut self) {
        self.cut();
        let spilled = self.try_spill();
        if let Err(error) = spilled {
            self.failed.get_or_insert(error);
            self.parts.iter_mut().for_each(Part::clear);
        }
        self.heaps.clear();
        self.held = 0;
    }

    fn try_spill(&mut self) -> io::Result<()> {
        let disk = match &self.disk {
            Some(disk) => Arc::clone(disk),
            None => Arc::clone(self.disk.insert(Arc::new(Mutex::new(tempfile::tempfile()?)))),
        };
        let mut file = disk.lock().expect("no holder panics");
        let mut offset = file.seek(SeekFrom::End(0))?;
        let mut out = BufWriter::with_capacity(1 << 20, &mut *file);
        // What is in heaps needs room for one part at a time.
        let mut room = Vec::new();
        for (number, part) in self.parts.iter_mut().enumerate() {
            let in_heaps = part.records.is_empty();
            if in_heaps {
                part.records = std::mem::take(&mut room);
                part.extend(number, &self.heaps);
            }
            part.dedup();
            let records = part.records.len() as u64;
            let bytes = part.write(&mut out, self.beside)?;
            part.clear();
            if in_heaps {
                room = std::mem::take(&mut part.records);
            }
            if records > 0 {
                part.runs.push(Run { file: Arc::clone(&disk), offset, records, bytes });
            }
            offset += bytes;
        }
        out.flush()
    }

    /// About how many bytes it holds in memory.
    pub fn held(&self) -> usize {
        4 * self.held
    }

    /// What is held in memory of each part, its keys each once; nothing is held afterwards.
    pub fn drain(&mut self) -> Vec<(usize, Part)> {
        self.settle();
        self.held = 0;
        let parts = self.parts.iter_mut().map(std::mem::take).enumerate();
        let mut parts: Vec<(usize, Part)> = parts.filter(|(_, part)| !part.records.is_empty()).collect();
        parts.iter_mut().for_each(|(_, part)| part.dedup());
        parts
    }

    /// The parts, and the heaps with more of them.
    pub fn finish(mut self) -> io::Result<(Vec<Part>, Vec<Heaps>)> {
        self.cut();
        self.failed.map_or(Ok((self.parts, self.heaps)), Err)
    }
}

impl Take for Gather {
    #[inline]
    fn take(&mut self, key: Key<'_>) {
        if self.beside.0 == Needs::Hash {
            self.log.push(Record { hash: key.hash, group: key.group, slot: 0 });
            self.held += 4;
            if self.held >= self.most {
                self.spill();
            } else if self.log.len() >= LOG {
                self.cut();
            }
            return;
        }
        let part = &mut self.parts[(key.hash >> 56) as usize];
        let slot = part.lanes.len();
        part.records.push(Record { hash: key.hash, group: key.group, slot: slot as u32 });
        self.beside.push(key.bytes, &mut part.lanes);
        self.held += 4 + part.lanes.len() - slot;
        if self.held >= self.most {
            self.spill();
        }
    }

    fn reads_bytes(&self) -> bool {
        self.beside.0 != Needs::Hash
    }
}

/// Keys of all parts, some at a time, and of these those of each part in a heap.
#[derive(Debug)]
pub(super) struct Heaps {
    records: Vec<Record>,
    /// Where the heaps of the parts end, of some keys and of the next.
    ends: Vec<[u32; PARTS]>,
}

impl Heaps {
    /// Room for this many keys.
    fn new(room: usize) -> Heaps {
        Heaps { records: roomy(room), ends: Vec::new() }
    }

    fn has_room(&self, keys: usize) -> bool {
        self.records.capacity() - self.records.len() >= keys
    }

    /// Puts some more keys into heaps.
    fn with(mut self, records: &[Record]) -> Heaps {
        let part = |record: &Record| (record.hash >> 56) as usize;
        let mut ends = [0; PARTS];
        records.iter().for_each(|record| ends[part(record)] += 1);
        let mut before = self.records.len() as u32;
        for end in &mut ends {
            // Until its records are there, the end of a heap is its beginning.
            before += std::mem::replace(end, before);
        }
        self.records.resize(before as usize, Record { hash: 0, group: 0, slot: 0 });
        for record in records {
            let end = &mut ends[part(record)];
            self.records[*end as usize] = *record;
            *end += 1;
        }
        self.ends.push(ends);
        self
    }

    /// The heaps of a part.
    fn of_part(&self, number: usize) -> impl Iterator<Item = &[Record]> + Clone {
        let mut before = 0;
        self.ends.iter().map(move |ends| {
            let begin = number.checked_sub(1).map_or(before, |last| ends[last]);
            before = ends[PARTS - 1];
            &self.records[begin as usize..ends[number] as usize]
        })
    }
}

impl Part {
    /// Adds what heaps have of this part.
    pub fn extend(&mut self, number: usize, heaps: &[Heaps]) {
        let heaps = heaps.iter().flat_map(|heaps| heaps.of_part(number));
        self.records.reserve(heaps.clone().map(<[Record]>::len).sum());
        heaps.for_each(|heap| self.records.extend_from_slice(heap));
    }

    /// Puts keys of this part into a batch.
    pub fn load(&self, records: &[Record], beside: Beside, keys: &mut KeyBatch) {
        keys.clear();
        if beside.0 == Needs::Hash {
            return keys.push_grouped(records.iter().map(|record| (record.hash, record.group)));
        }
        for record in records {
            let numbers = beside.of(&self.lanes, record.slot);
            // Read only where these are bytes, or numbers of 64 bits.
            let wide = self.wide(record, beside);
            keys.push_made(record.hash, record.group, numbers, bytes_of(numbers), wide);
        }
    }

    /// The hashes of a record's keywords, or the lanes of a key, where these are kept beside it: how many, then halves.
    pub fn wide(&self, record: &Record, beside: Beside) -> impl Iterator<Item = u64> {
        let halves = beside.of(&self.lanes, record.slot).get(1..).unwrap_or_default().as_chunks::<2>().0;
        halves.iter().map(|[low, high]| u64::from(*low) | u64::from(*high) << 32)
    }

    /// A key that comes again and again is kept once.
    pub fn dedup(&mut self) {
        order::in_order(&mut self.records, &mut Vec::new());
        self.records.dedup_by_key(|record| (record.hash, record.group));
    }

    /// Forgets what is in memory, but keeps the room.
    pub fn clear(&mut self) {
        self.records.clear();
        self.lanes.clear();
    }

    /// Writes the records, each with its hash, its group and what is kept beside it; returns the
    /// bytes.
    pub fn write(&self, out: &mut impl Write, beside: Beside) -> io::Result<u64> {
        let mut bytes = 0;
        for record in &self.records {
            out.write_all(&record.hash.to_le_bytes())?;
            out.write_all(&record.group.to_le_bytes())?;
            let lanes = beside.of(&self.lanes, record.slot);
            for lane in lanes {
                out.write_all(&lane.to_le_bytes())?;
            }
            bytes += 12 + 4 * lanes.len() as u64;
        }
        Ok(bytes)
    }

    /// Brings all of another thread's part, from memory and from disk, into this one.
    pub fn absorb(&mut self, mut other: Part, beside: Beside) -> io::Result<()> {
        for run in &other.runs {
            let mut bytes = vec![0; run.bytes as usize];
            let mut file = run.file.lock().expect("no holder panics");
            file.seek(SeekFrom::Start(run.offset))?;
            file.read_exact(&mut bytes)?;
            drop(file);
            self.read(&bytes, run.records, beside, Some)?;
        }
        if self.records.is_empty() && !other.records.is_empty() {
            (self.records, self.lanes) = (other.records, other.lanes);
            return Ok(());
        }
        let first = self.lanes.len() as u32;
        self.records
            .extend(other.records.iter().map(|record| Record { slot: first + record.slot, ..*record }));
        self.lanes.append(&mut other.lanes);
        Ok(())
    }
}

impl Part {
    /// Adds this many records that were [written](Self::write), with the numbers of groups that these
    /// become; none is an error.
    pub fn read(
        &mut self,
        bytes: &[u8],
        records: u64,
        beside: Beside,
        group_of: impl Fn(u32) -> Option<u32>,
    ) -> io::Result<()> {
        let mut numbers = bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
        let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let mut next = || numbers.next().ok_or_else(short);
        for _ in 0..records {
            let hash = u64::from(next()?) | u64::from(next()?) << 32;
            let group = group_of(next()?).ok_or_else(short)?;
            let slot = self.lanes.len();
            self.records.push(Record { hash, group, slot: slot as u32 });
            if matches!(beside.0, Needs::Keywords(_) | Needs::Wide(..) | Needs::Bytes(_)) {
                self.lanes.push(next()?);
            }
            let count = beside.count(self.lanes.get(slot));
            while self.lanes.len() < slot + count {
                self.lanes.push(next()?);
            }
        }
        Ok(())
    }
}
