//! What `docs/guarantees.md` promises of building, merging and writing, short of reading tables.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tamis::hash::Scheme;
use tamis::key::Recipe;
use tamis::params::{Common, Name, Params};
use tamis::sizing::Kind;
use tamis::sketch::Beside;
use tamis_jobs::verify;
use tamis_make::arena::{Placing, Private, Ranges, Shared};
use tamis_make::build::{self, Addition};
use tamis_make::files::{open, write_container, write_whole};
use tamis_make::merge;
use tamis_make::plan::{Size, parameters};
use tamis_make::rows::{BadRows, Key, Take};
use tamis_read::{Control, Error};

/// Keys with their groups.
type Keys = Vec<(u32, u64)>;

const SCHEMES: [(Kind, Scheme); 5] = [
    (Kind::Blocked, Scheme::DEFAULT),
    (Kind::Bloom, Scheme::Xxh3 { seed: 7 }),
    (Kind::Bloom, Scheme::Murmur3),
    (Kind::Counting, Scheme::DEFAULT),
    (Kind::Bloom, Scheme::Polynomial { seed: 7 }),
];

fn params((kind, hash): (Kind, Scheme), keys_per_group: u64) -> Params {
    let recipe = Recipe { group: Some("a:round".parse().unwrap()), ..Recipe::lines() };
    let groups = ["1", "2", "3"].map(|name| (Name::from(name), keys_per_group)).to_vec();
    parameters(Common { kind, hash, recipe }, groups, Size::Fpr(0.01), 0).unwrap()
}

fn put(hash: Scheme, keys: &[(u32, u64)], take: &mut impl Take) {
    for (group, key) in keys {
        let bytes = key.to_string();
        take.take(Key {
            group: *group,
            hash: hash.identity(bytes.as_bytes()),
            bytes: bytes.as_bytes(),
            weight: 1,
        });
    }
}

/// One thread, one arena.
fn plain(params: &Params, keys: &[(u32, u64)]) -> Vec<u64> {
    let placing = Placing::new(params);
    let mut private = Private::new(&placing).unwrap();
    put(params.common.hash, keys, &mut private);
    private.finish().to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_split_over_threads_and_no_order_changes_a_bit(
        (keys, shuffled) in prop::collection::vec((0u32..3, 0u64..5000), 1..3000)
            .prop_flat_map(|keys: Keys| (Just(keys.clone()), Just(keys).prop_shuffle())),
        threads in 1usize..6,
        scheme in prop::sample::select(&SCHEMES[..]),
    ) {
        let params = params(scheme, 1000);
        let placing = Placing::new(&params);
        let expected = plain(&params, &keys);
        let share = shuffled.len().div_ceil(threads);

        // Small filters: an arena for each thread, brought together.
        let mut joined = placing.empty().unwrap();
        shuffled.chunks(share).for_each(|keys| placing.join(&mut joined, &plain(&params, keys)));
        prop_assert_eq!(&joined[..], &expected[..]);

        // Large ones: one arena in ranges.
        let mut words = placing.empty().unwrap();
        let ranges = Ranges::new(&placing, &mut words, threads);
        std::thread::scope(|scope| {
            for keys in shuffled.chunks(share) {
                let (placing, ranges) = (&placing, &ranges);
                scope.spawn(move || {
                    let mut shared = Shared::new(placing, ranges);
                    put(scheme.1, keys, &mut shared);
                    shared.finish();
                });
            }
        });
        drop(ranges);
        prop_assert_eq!(&words[..], &expected[..]);
    }
}

/// Builds a file as `build --params` does.
fn file(path: &Path, params: &Params, keys: &[(u32, u64)]) {
    let mut rows = BTreeMap::from([(0u32, 0u64), (1, 0), (2, 0)]);
    keys.iter().for_each(|(group, _)| *rows.get_mut(group).unwrap() += 1);
    let rows: Vec<u64> = rows.into_values().collect();
    write_container(path, params, &rows, &[Beside::Nothing; 3], &plain(params, keys), 2).unwrap();
}

fn some_keys(start: u64, count: u64) -> Keys {
    (start..start + count).map(|key| ((key % 3) as u32, key)).collect()
}

#[test]
fn a_merge_is_the_build_of_the_union() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for scheme in SCHEMES {
        let params = params(scheme, 400);
        let (a, b) = (some_keys(0, 700), some_keys(500, 700)); // 200 keys in both
        file(&at("a"), &params, &a);
        file(&at("b"), &params, &b);
        file(&at("union"), &params, &[a, b].concat());
        merge::merge(&[at("a"), at("b")], &at("merged"), 2, &Control::default()).unwrap();
        assert_eq!(fs::read(at("merged")).unwrap(), fs::read(at("union")).unwrap(), "{scheme:?}");
        assert!(verify::verify(&at("merged"), 2, &Control::default()).unwrap().damage.is_empty());
    }
}

#[test]
fn files_of_other_parameters_are_not_merged() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    file(&at("a"), &params(SCHEMES[0], 400), &some_keys(0, 10));
    for (i, other) in [
        params(SCHEMES[0], 401),
        params(SCHEMES[1], 400),
        params((Kind::Blocked, Scheme::Xxh3 { seed: 1 }), 400),
    ]
    .iter()
    .enumerate()
    {
        file(&at("b"), other, &some_keys(0, 10));
        let error = merge::merge(&[at("a"), at("b")], &at("merged"), 1, &Control::default()).unwrap_err();
        assert!(error.to_string().contains("different parameters"), "{i}: {error}");
        assert!(!at("merged").exists());
    }
}

#[test]
fn a_damaged_filter_is_neither_merged_nor_added_to() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let params = params(SCHEMES[0], 400);
    file(&at("sound"), &params, &some_keys(0, 100));
    let mut bytes = fs::read(at("sound")).unwrap();
    let last_set = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    bytes[last_set] = 0; // keys are lost with it
    fs::write(at("damaged"), &bytes).unwrap();
    assert!(open(&at("damaged")).is_ok(), "opening does not read the filters");

    let damaged = |error: Error| matches!(error, Error::File { source: tamis::Error::Checksum { .. }, .. });
    let inputs = [at("sound"), at("damaged")];
    assert!(damaged(merge::merge(&inputs, &at("merged"), 2, &Control::default()).unwrap_err()));
    assert!(!at("merged").exists());
    let addition = Addition {
        inputs: vec![at("none").display().to_string()],
        options: Default::default(),
        recipe: params.common.recipe,
        bad_rows: BadRows::Fail,
        distinct: false,
        new_groups: false,
        threads: 1,
    };
    assert!(damaged(build::add(&at("damaged"), &addition, &Control::default()).unwrap_err()));
    assert_eq!(fs::read(at("damaged")).unwrap(), bytes);
}

#[test]
fn a_write_that_fails_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filters");
    write_whole(&path, |out| out.write_all(b"old")).unwrap();
    let failed = write_whole(&path, |out| {
        out.write_all(&vec![1; 3 << 20])?;
        Err(std::io::Error::other("the disk is full"))
    });
    assert!(failed.is_err());
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    write_whole(&path, |out| out.write_all(b"new")).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_not_replaced() {
    use std::os::unix::fs::FileTypeExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    for path in [path.as_path(), folder.path()] {
        assert!(write_whole(path, |out| out.write_all(b"new")).is_err());
    }
    assert!(fs::metadata(&path).unwrap().file_type().is_socket());
}
