//! A container of any bytes: as they are, and with their lengths and checksums put right, so that
//! what lies behind them is reached. Whatever opens can be used, verified and written again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tamis::Container;
use tamis::format::{ENTRY_BYTES, Extras, HEADER_BYTES, write};
use tamis::hash::xxh3;
use tamis::key::Maker;
use tamis_make::health::health;

fuzz_target!(|data: &[u8]| {
    // Bytes that begin anywhere in memory must not be trusted to be aligned.
    let _ = Container::open(data);
    probe(&Aligned::from(data));

    let mut sealed = data.to_vec();
    seal(&mut sealed);
    probe(&Aligned::from(&sealed[..]));
});

fn probe(file: &[u8]) {
    let Ok(container) = Container::open(file) else { return };
    let (params, tallies) = (container.params(), container.tallies());
    let sketches = container.sketches().expect("what opens has all its sketches");
    for (at, (group, sketch)) in params.groups.iter().zip(&sketches).enumerate() {
        let _ = container.verify(at);
        let _ = container.verify_heavy(at);
        for hash in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            sketch.contains_hash(hash);
        }
        sketch.rate_now();
        health(params.common.kind, group, &tallies[at]);
        assert_eq!(params.find(&group.group.0), Some(at));
    }
    make(&params.common.recipe);

    let mut again = Vec::new();
    let about = Some(container.about());
    let extras = Extras { heavy: container.heavy(), about, journal: container.journal() };
    write(&mut again, params, tallies, container.data(), extras).expect("a vector takes all");
    let again = Aligned::from(&again[..]);
    let twin = Container::open(&again[..]).expect("what is written is read back");
    assert_eq!((twin.params(), twin.tallies()), (params, tallies));
    assert_eq!(twin.data(), container.data());
    assert_eq!(twin.journal(), container.journal());
    assert_eq!(twin.heavy(), container.heavy());
    assert_eq!(twin.about(), container.about());
}

/// A recipe from a file is not one that was parsed from text: it may hold anything.
fn make(recipe: &tamis::key::Recipe) {
    let mut maker = Maker::new(recipe);
    for value in [None, Some(&b""[..]), Some(b"a"), Some(b" -6.5 "), Some(b"\xff@\xc3\xa9,b")] {
        let _ = maker.key(&vec![value; recipe.key.len()]);
        let _ = maker.group(value);
        let _ = maker.weight(value);
    }
}

/// Puts lengths and checksums right where the parts can be found.
fn seal(file: &mut [u8]) {
    if file.len() < HEADER_BYTES {
        return;
    }
    let field = |file: &[u8], at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    let put = |file: &mut [u8], at: usize, value: u64| file[at..at + 8].copy_from_slice(&value.to_le_bytes());
    let length = file.len() as u64;
    put(file, 16, length);
    let mut end = HEADER_BYTES;
    let mut directory = 0..0;
    for (at, sum, unit) in [(24, 56, 1), (32, 64, ENTRY_BYTES), (40, 72, 1)] {
        let start = end.next_multiple_of(64);
        let bytes = (field(file, at) as usize).saturating_mul(unit);
        end = start.saturating_add(bytes);
        if end > file.len() {
            break;
        }
        if unit == ENTRY_BYTES {
            directory = start..end;
            seal_sections(file, directory.clone());
        }
        put(file, sum, xxh3(&file[start..end], 0));
    }
    // What remains is data, and a journal of less than a line of it; or, where there are heavy keys, data
    // of the length that is said, and those; or, in version 2, data and what is recorded about the file.
    if let Some(rest) = end.checked_next_multiple_of(64).and_then(|start| file.len().checked_sub(start)) {
        let data = usize::try_from(field(file, 48)).unwrap_or(usize::MAX);
        let heavy = if field(file, 96) > 0 { rest.saturating_sub(data) } else { 0 };
        let said = u32::from_le_bytes(file[12..16].try_into().unwrap()) as usize;
        let about = if file[8] == 2 && said > 0 && heavy == 0 { rest.saturating_sub(data) } else { 0 };
        let journal = if heavy + about > 0 { 0 } else { rest % 64 };
        let sum =
            |file: &[u8], bytes: usize| if bytes == 0 { 0 } else { xxh3(&file[file.len() - bytes..], 0) };
        let sums = (sum(file, journal), sum(file, heavy), sum(file, about));
        put(file, 48, (rest - journal - heavy - about) as u64);
        put(file, 80, journal as u64);
        put(file, 88, sums.0);
        put(file, 96, heavy as u64);
        put(file, 104, sums.1);
        file[12..16].copy_from_slice(&(about as u32).to_le_bytes());
        put(file, 112, sums.2);
    }
    let sum = xxh3(&file[..120], 0);
    put(file, 120, sum);
}

/// Puts right what each entry of the directory says of its section: its ones and its checksum.
fn seal_sections(file: &mut [u8], directory: std::ops::Range<usize>) {
    for entry in directory.step_by(ENTRY_BYTES) {
        let field = |at: usize| u64::from_le_bytes(file[entry + at..][..8].try_into().unwrap());
        let (offset, len) = (field(72) as usize, field(80) as usize);
        let Some(section) = offset.checked_add(len).and_then(|end| file.get(offset..end)) else { continue };
        // Counters of 32 or 64 bits, or bits.
        let used = |bytes: usize| {
            section.chunks(bytes).filter(|one| one.iter().any(|byte| *byte != 0)).count() as u64
        };
        let ones: u64 = match file[entry + 24] {
            32 => used(4),
            64 => used(8),
            _ => section.iter().map(|byte| u64::from(byte.count_ones())).sum(),
        };
        let sum = xxh3(section, 0);
        file[entry + 64..][..8].copy_from_slice(&ones.to_le_bytes());
        file[entry + 88..][..8].copy_from_slice(&sum.to_le_bytes());
    }
}

/// Bytes at a multiple of eight, as a memory map has them.
struct Aligned(Vec<u64>, usize);

impl From<&[u8]> for Aligned {
    fn from(bytes: &[u8]) -> Self {
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Aligned(words, bytes.len())
    }
}

impl std::ops::Deref for Aligned {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.0)[..self.1]
    }
}
