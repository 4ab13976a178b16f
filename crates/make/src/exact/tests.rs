//! Laws of the exact keys: every pair is found, nothing else is, and the bytes do not depend on
//! how the pairs came.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tamis::hash::{Scheme, xxh3};
use tamis::key::Recipe;
use tamis::params::{Common, GroupParams, Name, Params};
use tamis::sizing::Kind;
use tamis::sketch::Beside;
use tamis_read::{Control, Error, Result};

use super::join::{ANY_GROUP, Questions};
use super::merge::{Source, merge, readers};
use super::runs::{Record, Sorter};
use super::store::{Store, Writer};
use super::*;
use crate::files::{self, Mapped};

/// An empty file of filters with this many groups, to which keys can belong.
fn filters(folder: &Path, groups: u32) -> (PathBuf, Mapped) {
    let recipe = Recipe { group: Some("g".parse().unwrap()), ..Recipe::lines() };
    let common = Common { kind: Kind::Blocked, hash: Scheme::DEFAULT, recipe };
    let shape = Kind::Blocked.shape_for_rate(10, 0.01).unwrap();
    let group = |i| GroupParams::filter(Name(format!("{i:03}").into_bytes()), 10, 0.01, shape);
    let params = Params::new(common, (0..groups).map(group).collect()).unwrap();
    let path = folder.join("f.tamis");
    let (zeros, beside) = (vec![0; groups as usize], vec![Beside::Nothing; groups as usize]);
    let arena = vec![0; params.layout().1];
    files::write_container(&path, &params, &zeros, &beside, &arena, 1).unwrap();
    let container = files::open(&path).unwrap();
    (path, container)
}

/// The hash by which keys are sorted here: with many that are equal.
fn hash(key: &[u8], bits: u32) -> u64 {
    xxh3(key, 0).checked_shr(64 - bits).unwrap_or(0).rotate_right(bits)
}

/// Writes a store from these pairs, sorted in this much memory by this many sorters.
fn write(
    path: &Path,
    container: &Mapped,
    pairs: &[(Vec<u8>, u32)],
    bits: u32,
    memory: u64,
    sorters: usize,
) -> Result<u64> {
    let folder = path.parent().unwrap();
    let mut runs = Vec::new();
    for part in pairs.chunks(pairs.len().div_ceil(sorters).max(1)) {
        let mut sorter = Sorter::new(memory, true, folder);
        for (key, group) in part {
            sorter.push(Record { hash: hash(key, bits), group: *group, number: 0, key })?;
        }
        runs.extend(sorter.into_runs()?);
    }
    let sources = readers(runs, memory, true, folder, &Control::default())?;
    let mut writer = Writer::new(path)?;
    merge(sources, true, folder, &Control::default(), |record| writer.push(record))?;
    let (draft, count) = writer.finish(container.digest())?;
    draft.finish()?;
    Ok(count)
}

fn pairs() -> impl Strategy<Value = Vec<(Vec<u8>, u32)>> {
    let key = prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..4),
        1 => (0u32..3, 1usize..3000).prop_map(|(i, len)| vec![i as u8; len * 30]),
    ];
    prop::collection::vec((key, 0u32..3), 0..150)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_pair_is_found_and_no_other(
        pairs in pairs(), others in pairs(), bits in prop::sample::select(&[1u32, 4, 64][..]),
        memory in prop::sample::select(&[0u64, 2000, 1 << 20][..]), sorters in 1usize..4,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (path, container) = filters(folder.path(), 3);
        let set: BTreeSet<(Vec<u8>, u32)> = pairs.iter().cloned().collect();
        let count = write(&path, &container, &pairs, bits, memory, sorters).unwrap();
        prop_assert_eq!(count, set.len() as u64);
        let bytes = fs::read(path_beside(&path)).unwrap();
        fuzz(&bytes);

        // The bytes are a function of the set.
        let sorted: Vec<_> = set.iter().rev().cloned().collect();
        write(&path, &container, &sorted, bits, 1 << 20, 1).unwrap();
        prop_assert!(fs::read(path_beside(&path)).unwrap() == bytes);

        let store = Store::open(&path, &container).unwrap();
        store.verify(&Control::default()).unwrap();
        let asked: Vec<(Vec<u8>, u32)> = others.into_iter().chain(pairs).collect();
        let mut questions = Questions::new(memory, folder.path());
        for round in 0..2 {
            for (i, (key, group)) in asked.iter().enumerate() {
                let group = if (i + round) % 3 == 0 { ANY_GROUP } else { *group };
                questions.ask(hash(key, bits), key, group).unwrap();
            }
            let answers = questions.answer(&store, &Control::default()).unwrap();
            for (i, pair) in asked.iter().enumerate() {
                let expected = match (i + round) % 3 {
                    0 => set.iter().any(|(key, _)| *key == pair.0),
                    _ => set.contains(pair),
                };
                prop_assert_eq!(answers.get(i as u32), expected);
            }
        }
    }

    #[test]
    fn a_damaged_byte_or_a_missing_end_is_refused(
        pairs in pairs(), at in any::<prop::sample::Index>(), flip in 1u8.., cut: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (path, container) = filters(folder.path(), 3);
        write(&path, &container, &pairs, 64, 1 << 20, 1).unwrap();
        let mut bytes = fs::read(path_beside(&path)).unwrap();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] ^= flip };
        fuzz(&bytes); // also with the checksums put right: no panic
        fs::write(path_beside(&path), &bytes).unwrap();
        let found = Store::open(&path, &container).and_then(|store| store.verify(&Control::default()));
        prop_assert!(matches!(found, Err(Error::Input { .. })), "{:?}", found);
    }
}

/// Read by hand, as `docs/format.md` says.
#[test]
fn the_file_is_as_the_specification_draws_it() {
    let folder = tempfile::tempdir().unwrap();
    let (path, container) = filters(folder.path(), 3);
    let mut pairs: Vec<(Vec<u8>, u32)> =
        (0..9000u32).map(|i| (format!("key {}", i / 3 * 5).into_bytes(), i % 3)).collect();
    pairs.extend([(Vec::new(), 2), (Vec::new(), 0), (vec![7; 100_000], 1)]);
    write(&path, &container, &pairs, 64, 1 << 20, 2).unwrap();
    let file = fs::read(path_beside(&path)).unwrap();
    let u32_at = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let u64_at = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());

    assert_eq!(file[..8], [0x89, 0x54, 0x4b, 0x45, 0x59, 0x53, 0x0d, 0x0a]);
    assert_eq!((u32_at(8), u32_at(12), u64_at(16)), (1, 0, file.len() as u64));
    assert_eq!(file[24..40], container.digest().to_le_bytes());
    let (count, blocks) = (u64_at(40) as usize, u64_at(48) as usize);
    let index = file.len() - 32 * blocks;
    assert_eq!((u64_at(56), u64_at(120)), (xxh3(&file[index..], 0), xxh3(&file[..120], 0)));
    assert!(file[64..120].iter().all(|&byte| byte == 0));

    let mut found: Vec<(u64, Vec<u8>, u32)> = Vec::new();
    let mut offset = 128;
    for block in 0..blocks {
        let entry = index + 32 * block;
        let (n, keys) = (u32_at(entry + 16) as usize, u32_at(entry + 20) as usize);
        let len = 16 * n + keys;
        assert_eq!((u64_at(entry), u64_at(entry + 8)), (u64_at(offset), offset as u64));
        assert_eq!(u64_at(entry + 24), xxh3(&file[offset..offset + len], 0));
        assert!(len >= 65_536 || block + 1 == blocks);
        for i in 0..n {
            let (hash, group) = (u64_at(offset + 8 * i), u32_at(offset + 8 * n + 4 * i));
            let end = |i: usize| offset + 16 * n + u32_at(offset + 12 * n + 4 * i) as usize;
            let own = &file[if i == 0 { offset + 16 * n } else { end(i - 1) }..end(i)];
            let key = match found.last() {
                Some((before, key, _)) if own.is_empty() && *before == hash => key.clone(),
                _ => own.to_vec(),
            };
            found.push((hash, key, group));
        }
        offset += len;
    }
    assert_eq!((offset, found.len()), (index, count));
    let mut model: Vec<_> = pairs.into_iter().map(|(key, group)| (xxh3(&key, 0), key, group)).collect();
    model.sort();
    assert!(found == model && blocks > 2);
}

/// Many runs, of which few may be open at a time, are merged in passes.
#[test]
fn runs_beyond_memory_are_merged_on_disk_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut sorter = Sorter::new(2000, true, folder.path());
    for i in 0..5000u64 {
        let key = (i * 7919 % 5000).to_le_bytes();
        sorter.push(Record { hash: hash(&key, 64), group: 0, number: 0, key: &key }).unwrap();
    }
    let runs = sorter.into_runs().unwrap();
    assert!(runs.len() > 20);
    let sources = readers(runs, 3 * (64 << 10), true, folder.path(), &Control::default()).unwrap();
    assert!(sources.len() <= 3 && matches!(sources[0], Source::Run(_)));
    let (mut count, mut last) = (0, 0);
    merge(sources, true, folder.path(), &Control::default(), |record| {
        assert!(record.hash >= last);
        (count, last) = (count + 1, record.hash);
        Ok(())
    })
    .unwrap();
    assert_eq!(count, 5000);
}

#[test]
fn keys_of_other_filters_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, container) = filters(folder.path(), 3);
    assert!(Store::open(&path, &container).unwrap_err().to_string().contains("no such file"));
    write(&path, &container, &[(b"a".to_vec(), 0)], 64, 1 << 20, 1).unwrap();
    let (path, container) = filters(folder.path(), 4);
    let error = Store::open(&path, &container).unwrap_err().to_string();
    assert!(error.contains("another file of filters"), "{error}");
    let error = beside(&path, &container).unwrap_err().to_string();
    assert!(error.contains("another file of filters"), "{error}");
}
