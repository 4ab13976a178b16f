use proptest::prelude::*;

use super::header::{ENTRY_BYTES, HEADER_BYTES};
use super::*;
use crate::about::About;
use crate::blocked::Blocked;
use crate::bloom::Bloom;
use crate::counting::Counting;
use crate::countmin::{self, CountMin, Heavy, Update};
use crate::error::{Damage, Error};
use crate::fuse::Fuse;
use crate::hash::Scheme;
use crate::key::Recipe;
use crate::layered::Layered;
use crate::params::{Common, Goal, GroupParams, Name, Params};
use crate::ribbon::Ribbon;
use crate::scalable::Scalable;
use crate::sizing::{Kind, Shape};
use crate::testing::hashes;

/// Bytes at a cache line, as a memory map has them.
#[derive(Clone, Debug)]
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

/// A file of groups of these sizes, named 0, 1, 2 …, whose keys are consecutive hashes.
fn file(kind: Kind, sizes: &[usize]) -> Vec<u8> {
    let mut recipe = Recipe { group: Some("rating:round".parse().unwrap()), ..Recipe::lines() };
    if kind == Kind::Layered {
        recipe.key = vec![":split=,,lower".parse().unwrap()];
    }
    let common = Common { kind, hash: Scheme::DEFAULT, recipe };
    let group = |(i, &keys): (usize, &usize)| {
        let (keys, group) = (keys as u64, Name::from(i.to_string().as_str()));
        if kind.counts() {
            let shape = countmin::shape(0.01, 0.05, 32).unwrap();
            return GroupParams { group, goal: Goal::Error { epsilon: 0.01 }, shape };
        }
        GroupParams::filter(group, keys, 0.01, kind.shape_for_rate(keys, 0.01).unwrap())
    };
    let params = Params::new(common, sizes.iter().enumerate().map(group).collect()).unwrap();
    let (starts, words) = params.layout();
    let mut data = vec![0; words];
    let mut tallies = Vec::new();
    for (group, &start) in params.groups.iter().zip(&starts) {
        let section = &mut data[start..start + group.shape.words() as usize];
        let index: u64 = str::from_utf8(&group.group.0).unwrap().parse().unwrap();
        let mut keys = hashes(index * 1_000_000, sizes[index as usize]);
        let (rows, mut seed) = (keys.len() as u64, 0);
        match kind {
            Kind::Blocked => {
                Blocked::from_words(&mut *section, group.shape.hashes()).unwrap().insert_hashes(&keys)
            }
            Kind::Counting => {
                let mut filter = Counting::from_words(&mut *section, group.shape.hashes()).unwrap();
                filter.insert_hashes(&keys);
                filter.insert_hashes(&keys);
                seed = filter.remove_hashes(&keys);
                assert_eq!(seed, rows);
            }
            Kind::Bloom => Bloom::from_words(&mut *section, group.shape.slots(), group.shape.hashes())
                .unwrap()
                .insert_hashes(&keys),
            Kind::Fuse => {
                let built = Fuse::build(&mut keys, group.shape.width()).unwrap();
                section.copy_from_slice(built.words());
                seed = built.seed();
            }
            Kind::Ribbon => {
                let Shape::Ribbon { widths, .. } = group.shape else { panic!("{:?}", group.shape) };
                let built = Ribbon::build(&mut keys, widths).unwrap();
                section.copy_from_slice(built.words());
                seed = built.seed();
            }
            Kind::Layered => {
                let mut filter = Layered::from_words(&mut *section, group.shape).unwrap();
                keys.iter().for_each(|&hash| filter.insert_keywords(&[hash]));
            }
            Kind::Scalable => {
                let mut filter = Scalable::new(group.keys(), group.fpr()).unwrap();
                filter.insert_hashes(&keys, &mut vec![false; keys.len()]).unwrap();
                section.copy_from_slice(filter.words());
                seed = filter.newest();
            }
            Kind::CountMin | Kind::CountMinConservative => {
                let update = if kind == Kind::CountMin { Update::Plain } else { Update::Conservative };
                let mut sketch = CountMin::from_words(&mut *section, group.shape, update, 0).unwrap();
                sketch.add_hashes(&keys);
                seed = sketch.total();
            }
        }
        tallies.push(seal(&group.shape, section, rows, Beside::from_number(kind, seed)));
    }
    let mut bytes = Vec::new();
    write(&mut bytes, &params, &tallies, &data, Extras::default()).unwrap();
    bytes
}

fn open(bytes: &[u8]) -> Result<Container<Aligned>, Error> {
    Container::open(Aligned::from(bytes))
}

/// Puts the right checksums back, so that what lies behind them is reached.
fn reseal(bytes: &mut [u8]) {
    let field = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let lengths = [24, 32, 40, 48].map(|at| field(bytes, at));
    if let Some(extents) = Extents::of(
        lengths,
        [
            field(bytes, 96),
            u64::from(u32::from_le_bytes(bytes[12..16].try_into().unwrap())),
            field(bytes, 80),
        ],
    ) {
        let heavy = if field(bytes, 96) > 0 { Some((104, extents.heavy)) } else { None };
        let parts = [(56, extents.description), (64, extents.directory), (72, extents.names)];
        for (at, (start, end)) in parts.into_iter().chain(heavy) {
            if let Some(part) = bytes.get(start as usize..end as usize) {
                let sum = checksum(part).to_le_bytes();
                bytes[at..at + 8].copy_from_slice(&sum);
            }
        }
    }
    let sum = checksum(&bytes[..120]).to_le_bytes();
    bytes[120..128].copy_from_slice(&sum);
}

#[test]
fn a_journal_stands_at_the_end_and_is_checked() {
    let plain = file(Kind::Scalable, &[100]);
    let container = open(&plain).unwrap();
    assert_eq!(container.journal(), b"");
    let mut bytes = Vec::new();
    write(
        &mut bytes,
        container.params(),
        container.tallies(),
        container.data(),
        Extras { heavy: None, about: None, journal: b"{\"offset\":7}" },
    )
    .unwrap();
    assert_eq!(bytes.len(), plain.len() + 12);
    let again = open(&bytes).unwrap();
    assert_eq!(again.journal(), b"{\"offset\":7}");
    assert_eq!(again.data(), container.data());
    for at in [80, 88, bytes.len() - 1] {
        let mut broken = bytes.clone();
        broken[at] ^= 1;
        let sum = checksum(&broken[..120]).to_le_bytes();
        broken[120..128].copy_from_slice(&sum);
        assert!(open(&broken).is_err(), "{at}");
    }
    bytes.pop();
    assert!(matches!(open(&bytes), Err(Error::Length { .. })));
}

#[test]
fn what_was_written_is_read_back() {
    for kind in Kind::ALL {
        for sizes in [&[][..], &[1], &[5, 1000, 20, 1, 1, 1, 1, 1, 1, 1, 1, 300]] {
            let bytes = file(kind, sizes);
            let container = open(&bytes).unwrap();
            assert_eq!(container.params().groups.len(), sizes.len());
            for (i, &keys) in sizes.iter().enumerate() {
                let at = container.params().find(i.to_string().as_bytes()).unwrap();
                let sketch = container.sketch(at).unwrap();
                assert!(hashes(i as u64 * 1_000_000, keys).iter().all(|&hash| sketch.contains_hash(hash)));
                assert_eq!(container.tallies()[at].rows, keys as u64);
                container.verify(at).unwrap();
            }
            let (params, tallies) = (container.params(), container.tallies());
            let mut again = Vec::new();
            write(&mut again, params, tallies, container.data(), Extras::default()).unwrap();
            assert_eq!(again, bytes, "{kind} {sizes:?}");
        }
    }
}

#[test]
fn each_field_of_the_header_is_checked() {
    let good = file(Kind::Blocked, &[100, 10]);
    let broken = |at: usize, value: u8, sealed: bool| {
        let mut bytes = good.clone();
        bytes[at] = bytes[at].wrapping_add(value);
        if sealed {
            reseal(&mut bytes);
        }
        open(&bytes).unwrap_err()
    };
    assert!(matches!(broken(0, 1, true), Error::Magic));
    assert!(matches!(broken(8, 2, true), Error::Version { newest: 2, got: 3 }));
    assert!(matches!(broken(12, 1, true), Error::Corrupt(_)), "reserved in version 1");
    assert!(matches!(broken(16, 1, true), Error::Length { .. }), "file length");
    for at in [24, 32, 40, 48, 80, 96] {
        assert!(matches!(broken(at, 64, true), Error::Corrupt(_) | Error::Checksum { .. }), "length at {at}");
        assert!(matches!(broken(at + 7, 255, true), Error::Corrupt(_)), "huge length at {at}");
    }
    for at in [56, 64, 72, 88, 104] {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        let sum = checksum(&bytes[..120]).to_le_bytes();
        bytes[120..128].copy_from_slice(&sum);
        assert!(matches!(open(&bytes), Err(Error::Checksum { .. })), "checksum at {at}");
    }
    for at in 112..120 {
        assert!(matches!(broken(at, 1, true), Error::Corrupt(_)), "reserved at {at}");
    }
    for at in (12..16).chain(16..HEADER_BYTES) {
        assert!(matches!(broken(at, 1, false), Error::Checksum { .. }), "unsealed at {at}");
    }
}

#[test]
fn each_field_of_a_directory_entry_is_checked() {
    let good = file(Kind::Bloom, &[100, 10]);
    let directory = {
        let field = |at: usize| u64::from_le_bytes(good[at..at + 8].try_into().unwrap());
        Extents::of([field(24), field(32), field(40), field(48)], [0, 0, 0]).unwrap().directory.0 as usize
    };
    // name offset and length, hashes, slots, width, reserved, rate (to a negative one), place, length
    for (at, value) in [(0, 9), (8, 9), (12, 100), (16, 64), (24, 1), (28, 1), (55, 0x80), (72, 64), (80, 8)]
    {
        let mut bytes = good.clone();
        let at = directory + ENTRY_BYTES + at;
        bytes[at] = bytes[at].wrapping_add(value);
        reseal(&mut bytes);
        assert!(
            matches!(open(&bytes), Err(Error::Corrupt(_))),
            "byte {} of an entry",
            at - directory - ENTRY_BYTES
        );
    }
    // ones and checksum only show when the section is read
    for at in [64, 88] {
        let mut bytes = good.clone();
        bytes[directory + at] ^= 1;
        reseal(&mut bytes);
        assert!(
            matches!(open(&bytes).unwrap().verify(0), Err(Error::Checksum { .. })),
            "byte {at} of an entry"
        );
    }
    // two groups of the same name
    let mut bytes = good.clone();
    bytes.copy_within(directory..directory + 12, directory + ENTRY_BYTES);
    reseal(&mut bytes);
    assert!(matches!(open(&bytes), Err(Error::Corrupt(_))));
}

#[test]
fn names_that_share_bytes_or_leave_some_are_refused() {
    let good = file(Kind::Bloom, &[100, 10]);
    let field = |at: usize| u64::from_le_bytes(good[at..at + 8].try_into().unwrap()) as usize;
    let extents = Extents::of([field(24) as u64, 2, 2, field(48) as u64], [0, 0, 0]).unwrap();
    let (first, second) = (extents.directory.0 as usize, extents.directory.0 as usize + ENTRY_BYTES);
    // "0" and "01", both from the first byte; then "0" and nothing, with a byte left over.
    for (offset, len) in [(0u8, 2u8), (1, 0), (0, 0)] {
        let mut bytes = good.clone();
        assert_eq!((bytes[first + 8], bytes[second], bytes[second + 8]), (1, 1, 1));
        (bytes[second], bytes[second + 8]) = (offset, len);
        reseal(&mut bytes);
        assert!(matches!(open(&bytes), Err(Error::Corrupt(_))), "{offset} {len}");
    }
}

#[test]
fn layers_that_make_no_sense_are_refused() {
    let good = file(Kind::Layered, &[100]);
    let field = |at: usize| u64::from_le_bytes(good[at..at + 8].try_into().unwrap());
    let entry = Extents::of([field(24), 1, 1, field(48)], [0, 0, 0]).unwrap().directory.0 as usize;
    let put = |at: usize, value: u32| {
        let mut bytes = good.clone();
        bytes[entry + at..entry + at + 4].copy_from_slice(&value.to_le_bytes());
        reseal(&mut bytes);
        open(&bytes)
    };
    assert!(put(12, 7).is_ok());
    // hashes; slots that are no power of two, or too few; width
    for (at, value) in [(12, 0), (12, 65), (16, 1000), (16, 32), (16, 0), (24, 0), (24, 1), (24, 258)] {
        assert!(matches!(put(at, value), Err(Error::Corrupt(_))), "{value} at {at}");
    }
}

#[test]
fn each_number_of_a_ribbon_is_checked() {
    let good = file(Kind::Ribbon, &[100]);
    assert_eq!(good[8], 2, "the version");
    let field = |at: usize| u64::from_le_bytes(good[at..at + 8].try_into().unwrap());
    let entry = Extents::of([field(24), 1, 1, field(48)], [0, 0, 0]).unwrap().directory.0 as usize;
    let shape = open(&good).unwrap().params().groups[0].shape;
    let stored = |at: usize| u32::from_le_bytes(good[entry + at..entry + at + 4].try_into().unwrap());
    assert_eq!((stored(12), stored(24), stored(28)), (1, shape.width(), shape.shorter()));
    assert_eq!((u64::from(stored(16)), stored(40)), (shape.slots(), 100));
    // hashes; slots; width; shorter; keys, and more of them than any machine has memory for
    let broken =
        [(12, 2), (12, 0), (16, 64), (16, 0), (24, 0), (24, 8), (24, 33), (28, 65536), (28, u32::MAX)];
    for (at, value) in broken.into_iter().chain([(40, 0), (40, 5000), (44, 1), (44, 256), (44, u32::MAX)]) {
        let mut bytes = good.clone();
        bytes[entry + at..entry + at + 4].copy_from_slice(&value.to_le_bytes());
        reseal(&mut bytes);
        assert!(matches!(open(&bytes), Err(Error::Corrupt(_))), "{value} at {at}");
    }
    // A seed is any number: a wrong one gives wrong answers, and nothing worse.
    let mut bytes = good.clone();
    bytes[entry + 32..entry + 40].fill(0xff);
    reseal(&mut bytes);
    open(&bytes).unwrap().sketch(0).unwrap().contains_hash(1);
    // Version 1 has no such kind.
    let mut bytes = good.clone();
    bytes[8] = 1;
    reseal(&mut bytes);
    let refused = open(&bytes).unwrap_err();
    assert!(matches!(refused, Error::Corrupt(Damage::RecipeVersion { recipe: 2, file: 1 })), "{refused}");
}

#[test]
fn a_layered_filter_of_keys_that_are_no_records_is_refused() {
    let common = Common { kind: Kind::Layered, hash: Scheme::DEFAULT, recipe: Recipe::lines() };
    let shape = Kind::Layered.shape_for_rate(10, 0.05).unwrap();
    let group = GroupParams::filter(Name::default(), 10, 0.05, shape);
    assert!(matches!(Params::new(common, vec![group]), Err(Error::Corrupt(_))));
}

#[test]
fn a_description_with_anything_unknown_is_refused() {
    let good = file(Kind::Blocked, &[1]);
    let mut bytes = good.clone();
    // The same length, another name.
    let at = good.windows(7).position(|window| window == b"\"group\"").unwrap();
    bytes[at..at + 7].copy_from_slice(b"\"gruop\"");
    reseal(&mut bytes);
    assert!(matches!(open(&bytes), Err(Error::Corrupt(_))));
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let good = file(Kind::Blocked, &[30]);
    for len in 0..good.len() {
        assert!(matches!(open(&good[..len]), Err(Error::Magic | Error::Length { .. })), "{len} bytes");
    }
    let mut longer = good.clone();
    longer.push(0);
    assert!(matches!(open(&longer), Err(Error::Length { .. })));
}

#[test]
fn a_flipped_bit_anywhere_is_found() {
    for kind in Kind::ALL {
        let good = file(kind, &[40, 3]);
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << (at % 8);
            let found = match open(&bytes) {
                Err(_) => true,
                Ok(container) => (0..2).any(|group| container.verify(group).is_err()),
            };
            assert!(found, "{kind}: byte {at} of {}", good.len());
        }
    }
}

proptest! {
    #[test]
    fn hostile_bytes_never_panic(changes in prop::collection::vec((0usize..2000, any::<u8>()), 1..6), kind in 0..Kind::ALL.len()) {
        let mut bytes = file(Kind::ALL[kind], &[40, 3]);
        if Kind::ALL[kind].counts() {
            let container = open(&bytes).unwrap();
            let heavy = Heavy { share: 0.1, groups: vec![vec![b"a".to_vec(), b"bcd".to_vec()], vec![b"".to_vec()]] };
            let mut with = Vec::new();
            let extras = Extras { heavy: Some(&heavy), about: None, journal: b"{}" };
            write(&mut with, container.params(), container.tallies(), container.data(), extras).unwrap();
            bytes = with;
        }
        for (at, value) in changes {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        reseal(&mut bytes);
        if let Ok(container) = open(&bytes) {
            for group in 0..container.params().groups.len() {
                let _ = container.verify(group);
                let _ = container.verify_heavy(group);
                if let Ok(sketch) = container.sketch(group) {
                    sketch.contains_hash(0x0123_4567_89ab_cdef);
                    sketch.rate_now();
                }
            }
        }
    }
}

#[test]
fn the_sections_are_used_where_they_stand() {
    let bytes = file(Kind::Blocked, &[1000]);
    let container = open(&bytes).unwrap();
    let file = container.data().as_ptr();
    assert_eq!(container.section(0).as_ptr(), file);
}

#[test]
fn shapes_that_do_not_count_are_refused() {
    let good = file(Kind::CountMin, &[100]);
    let field = |at: usize| u64::from_le_bytes(good[at..at + 8].try_into().unwrap());
    let entry = Extents::of([field(24), 1, 1, field(48)], [0, 0, 0]).unwrap().directory.0 as usize;
    let (depth, shape) = (entry + 12, countmin::shape(0.01, 0.05, 32).unwrap());
    assert_eq!(shape, Shape::CountMin { row: 272, depth: 3, counter_bits: 32 });
    let fpr = |epsilon: f64| (entry + 48, epsilon.to_bits());
    for (at, value) in [
        (depth, 0),
        (depth, 5),                      // the counters are no multiple of it
        (depth, 65),                     // too deep
        (entry + 16, shape.slots() + 1), // no multiple of the depth
        (entry + 24, 16),                // no counters of 16 bits
        (entry + 40, 7),                 // planned for keys
        fpr(0.0099),                     // more than the rows keep
        fpr(1.5),
    ] {
        let mut bytes = good.clone();
        let width = if at == depth || at == entry + 24 { 4 } else { 8 };
        bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
        reseal(&mut bytes);
        assert!(matches!(open(&bytes), Err(Error::Corrupt(_))), "{value} at {}", at - entry);
    }
    // A total that is not that of the counters shows when they are read.
    for (kind, total) in [(Kind::CountMin, 99u64), (Kind::CountMinConservative, 0)] {
        let mut bytes = file(kind, &[100]);
        let field = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let entry = Extents::of([field(24), 1, 1, field(48)], [0, 0, 0]).unwrap().directory.0 as usize;
        open(&bytes).unwrap().verify(0).unwrap();
        bytes[entry + 32..entry + 40].copy_from_slice(&total.to_le_bytes());
        reseal(&mut bytes);
        assert!(matches!(open(&bytes).unwrap().verify(0), Err(Error::Corrupt(_))), "{kind}");
    }
}

#[test]
fn heavy_keys_stand_after_the_data_and_are_checked() {
    let plain = file(Kind::CountMin, &[100, 10]);
    let container = open(&plain).unwrap();
    assert_eq!(container.heavy(), None);
    let keys = |keys: &[&str]| keys.iter().map(|key| key.as_bytes().to_vec()).collect::<Vec<_>>();
    let heavy = Heavy { share: 0.25, groups: vec![keys(&["", "a", "ab"]), keys(&[])] };
    let with = |heavy: &Heavy, journal: &[u8]| {
        let mut bytes = Vec::new();
        let extras = Extras { heavy: Some(heavy), about: None, journal };
        write(&mut bytes, container.params(), container.tallies(), container.data(), extras).unwrap();
        bytes
    };
    for journal in [&b""[..], b"{}"] {
        let bytes = with(&heavy, journal);
        let again = open(&bytes).unwrap();
        assert_eq!((again.heavy(), again.journal()), (Some(&heavy), journal));
        for end in plain.len()..bytes.len() {
            assert!(open(&bytes[..end]).is_err(), "cut after {end}");
            let mut flipped = bytes.clone();
            flipped[end] ^= 1;
            assert!(open(&flipped).is_err(), "flipped at {end}");
        }
    }
    // None of these keys was ever added.
    assert!(open(&with(&heavy, b"")).unwrap().verify_heavy(0).is_err());
    assert!(open(&with(&heavy, b"")).unwrap().verify_heavy(1).is_ok());
    // What lies behind the checksum: order, lengths, the share.
    let bytes = with(&heavy, b"");
    let at = plain.len();
    for (at, value) in
        [(at + 7, 0xc0), (at + 8, 4), (at + 8, 2), (at + 15, 0xff), (at + 20, 0xff), (at + 24, b'z')]
    {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        reseal(&mut bytes);
        assert!(matches!(open(&bytes), Err(Error::Corrupt(_))), "{value} at {}", at - plain.len());
    }
    // Filters have none.
    let filter = file(Kind::Blocked, &[100]);
    let filter = open(&filter).unwrap();
    let mut bytes = Vec::new();
    let extras =
        Extras { heavy: Some(&Heavy { share: 0.5, groups: vec![vec![]] }), about: None, journal: b"" };
    write(&mut bytes, filter.params(), filter.tallies(), filter.data(), extras).unwrap();
    assert!(matches!(open(&bytes), Err(Error::Corrupt(_))));
}

/// One sketch as it is, without the padding that a data area has: what is written is the same file.
#[test]
fn the_words_of_a_single_sketch_are_padded_by_the_writer() {
    let common = Common { kind: Kind::Bloom, hash: Scheme::DEFAULT, recipe: Recipe::lines() };
    let mut filter = Bloom::for_rate(10, 0.01).unwrap();
    filter.insert_hashes(&hashes(0, 10));
    let shape = Shape::Bloom { bits: filter.bits(), hashes: filter.hashes() };
    let group = GroupParams::filter(Name::default(), 10, 0.01, shape);
    let params = Params::new(common, vec![group]).unwrap();
    let tally = seal(&shape, filter.words(), 10, Beside::Nothing);
    let mut padded = filter.words().to_vec();
    padded.resize(params.layout().1, 0);
    assert_ne!(padded.len(), filter.words().len());
    let written = |tallies: &[Tally], data: &[u64]| {
        let mut bytes = Vec::new();
        let result = write(&mut bytes, &params, tallies, data, Extras::default());
        assert!(result.is_ok() || bytes.is_empty());
        result.map(|()| bytes)
    };
    let bytes = written(&[tally], filter.words()).unwrap();
    assert_eq!(bytes, written(&[tally], &padded).unwrap());
    Container::open(Aligned::from(&bytes[..])).unwrap().verify(0).unwrap();

    // What does not belong together is an error, and nothing is written.
    let invalid =
        |result: std::io::Result<Vec<u8>>| result.unwrap_err().kind() == std::io::ErrorKind::InvalidInput;
    assert!(invalid(written(&[tally], &filter.words()[1..])));
    assert!(invalid(written(&[tally], &[&padded[..], &[0]].concat())));
    assert!(invalid(written(&[], &padded)) && invalid(written(&[tally; 2], &padded)));
    assert!(head(&params, &[], Extras::default()).is_err());
    let mut impossible = params.clone();
    impossible.groups[0].shape = Shape::Bloom { bits: u64::MAX, hashes: 7 };
    assert!(head(&impossible, &[tally], Extras::default()).is_err());
    // What its kind does not have.
    impossible.groups[0].shape = Shape::Scalable { bits: filter.bits(), layers: 7 };
    assert!(head(&impossible, &[tally], Extras::default()).is_err());
    impossible.groups[0] = GroupParams { goal: Goal::Error { epsilon: 0.01 }, ..params.groups[0].clone() };
    assert!(head(&impossible, &[tally], Extras::default()).is_err());
}

/// What is recorded about a file comes back, changes nothing else, and is no part of what `.keys` tie to.
#[test]
fn an_about_part_changes_nothing_but_itself() {
    let plain = file(Kind::Blocked, &[100, 10]);
    let container = open(&plain).unwrap();
    let (params, tallies, data) = (container.params(), container.tallies(), container.data());
    let with = |about: &About, journal: &[u8]| {
        let mut bytes = Vec::new();
        let extras = Extras { heavy: None, about: Some(about), journal };
        write(&mut bytes, params, tallies, data, extras).unwrap();
        bytes
    };
    assert_eq!(with(&About::default(), b""), plain, "nothing recorded: version 1, byte for byte");
    let about = About { note: Some("x".into()), ..About::default() };
    for journal in [&b""[..], b"place"] {
        let bytes = with(&about, journal);
        let noted = open(&bytes).unwrap();
        assert_eq!((noted.version(), noted.about(), noted.journal()), (2, &about, journal));
        assert_eq!((noted.params(), noted.tallies(), noted.data()), (params, tallies, data));
        let without = with(&About::default(), journal);
        assert_eq!(noted.digest(), open(&without).unwrap().digest());
        // Every byte of it is checked.
        let first = if journal.is_empty() { bytes.len() - 12 } else { bytes.len() - journal.len() - 64 };
        for at in first..first + 12 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(open(&damaged).is_err(), "byte {at}");
        }
    }
    assert_eq!(container.version(), 1);
    for json in ["{}", "[]", r#"{"classes":["integer","text"]}"#, r#"{"classes":["x"]}"#, r#"{"note":1}"#] {
        assert!(About::decode(json.as_bytes()).is_err(), "{json}");
    }
    let long = About { note: Some("x".repeat(1 << 20)), ..About::default() };
    let extras = Extras { heavy: None, about: Some(&long), journal: b"" };
    assert!(write(&mut Vec::new(), params, tallies, data, extras).is_err());
}

#[test]
fn a_recipe_of_version_2_makes_a_file_of_version_2() {
    let bytes = file(Kind::Blocked, &[100]);
    let container = open(&bytes).unwrap();
    let mut params = container.params().clone();
    params.common.recipe.key = vec!["host:domain".parse().unwrap()];
    let mut newer = Vec::new();
    write(&mut newer, &params, container.tallies(), container.data(), Extras::default()).unwrap();
    let read = open(&newer).unwrap();
    assert_eq!((read.version(), read.params()), (2, &params));
    newer[8] = 1;
    let sum = checksum(&newer[..120]).to_le_bytes();
    newer[120..128].copy_from_slice(&sum);
    assert!(matches!(open(&newer), Err(Error::Corrupt(Damage::RecipeVersion { recipe: 2, file: 1 }))));
}
