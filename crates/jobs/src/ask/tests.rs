//! Every door against the plain question, key by key and group by group, for every kind and hash.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tamis::countmin::Update;
use tamis::hash::Scheme;
use tamis::key::{Maker, Recipe};
use tamis::params::Common;
use tamis::sizing::Kind;
use tamis_read::Control;

use super::*;
use crate::removed_keys::RemovedKeys;
use crate::request::at_rate;
use tamis_make::batch::{Keeps, KeyBatch, Needs};
use tamis_make::build::{self, Sketches};
use tamis_make::files::{self, Mapped};
use tamis_make::plan::Counters;
use tamis_make::rows::{BadRows, Key, Take};

const KINDS: [(Kind, Scheme); 9] = [
    (Kind::Blocked, Scheme::DEFAULT),
    (Kind::Bloom, Scheme::DEFAULT),
    (Kind::Bloom, Scheme::Murmur3),
    (Kind::Bloom, Scheme::Polynomial { seed: 3 }),
    (Kind::Fuse, Scheme::DEFAULT),
    (Kind::Ribbon, Scheme::DEFAULT),
    (Kind::Counting, Scheme::DEFAULT),
    (Kind::Layered, Scheme::DEFAULT),
    (Kind::CountMin, Scheme::DEFAULT),
];

/// How many groups the file has; row i of those that it was built from is in group i % GROUPS.
const GROUPS: usize = 5;

/// Builds sketches of the keys with these numbers, tight enough to err now and then.
fn build(folder: &Path, name: &str, kind: Kind, hash: Scheme, keys: impl Iterator<Item = usize>) -> Mapped {
    let table = folder.join(format!("{name}.csv"));
    let rows = keys.map(|i| format!("k{i},g{}\n", i % GROUPS));
    fs::write(&table, "key,group\n".to_owned() + &rows.collect::<String>()).unwrap();
    let key = if kind == Kind::Layered { &["key:whole", "key:whole,suffix=1"][..] } else { &["key"] };
    let recipe = Recipe {
        key: key.iter().map(|field| field.parse().unwrap()).collect(),
        group: Some("group".parse().unwrap()),
        ..Recipe::lines()
    };
    let job = build::Job {
        inputs: vec![table.display().to_string()],
        options: tamis_read::Options::default(),
        sketches: match kind.counts() {
            true => Sketches::Counts {
                hash: tamis::hash::Single::DEFAULT,
                update: Update::Plain,
                counters: Counters::for_error(0.05, 0.1, 64).unwrap(),
                heavy: None,
            },
            false => at_rate(&Common { kind, hash, recipe: recipe.clone() }, 0.2).unwrap(),
        },
        recipe,
        bad_rows: BadRows::Fail,
        threads: 1,
        memory: tamis_make::count::MEMORY,
        about: Default::default(),
    };
    let path = folder.join(format!("{name}.tamis"));
    build::build(&job, &path, &Control::default()).unwrap();
    files::open(&path).unwrap()
}

/// A row: the number of its key, if it has one, and that of its group.
type Row = (Option<u16>, u32);

/// The batch of these rows, and their keys.
fn batch(file: &Mapped, needs: Needs, rows: &[Row]) -> (KeyBatch, Vec<Vec<u8>>) {
    let common = &file.params().common;
    let mut maker = Maker::new(&common.recipe);
    let mut batch = KeyBatch::new(Keeps { groups: true, needs, ..Keeps::default() });
    let mut keys = Vec::new();
    for &(number, group) in rows {
        let Some(number) = number else {
            batch.push_keyless();
            keys.push(Vec::new());
            continue;
        };
        let text = format!("k{number}");
        let bytes = maker.key(&vec![Some(text.as_bytes()); common.recipe.key.len()]).unwrap();
        batch.take(Key { group, hash: common.hash.identity(bytes), bytes, weight: 1 });
        keys.push(bytes.to_vec());
    }
    (batch, keys)
}

/// Whether each row's key passes the filter of each group: asked one by one, by the library.
fn model(file: &Mapped, gone: Option<&Mapped>, rows: &[Row], keys: &[Vec<u8>]) -> Vec<Vec<bool>> {
    let scheme = file.params().common.hash;
    let of = |file: &Mapped, group, key: &[u8]| {
        file.sketch(group).unwrap().contains_key(scheme, scheme.identity(key), key)
    };
    let passes = |row: usize, group| {
        rows[row].0.is_some()
            && of(file, group, &keys[row])
            && !gone.is_some_and(|gone| of(gone, group, &keys[row]))
    };
    (0..rows.len()).map(|row| (0..GROUPS).map(|group| passes(row, group)).collect()).collect()
}

/// Asks all doors about these rows, and compares them with the model.
fn check(filters: &Filters<'_>, keys: &KeyBatch, model: &[Vec<bool>], asked: &[usize]) {
    let (mut answers, mut found) = (Answers::default(), vec![true; 3]);
    for group in 0..GROUPS {
        answers.one(filters, keys, group, &mut found);
        assert!(found.iter().zip(model).all(|(found, row)| *found == row[group]), "one {group}");
    }
    answers.any(filters, keys, asked.iter().copied(), &mut found);
    let any: Vec<bool> = model.iter().map(|row| asked.iter().any(|&group| row[group])).collect();
    assert_eq!(found, any, "any");

    answers.own(filters, keys, &mut found);
    let in_own = |(row, &group): (&Vec<bool>, &u32)| row.get(group as usize).copied().unwrap_or(false);
    let own: Vec<bool> = model.iter().zip(keys.groups()).map(in_own).collect();
    assert_eq!(found, own, "own");

    let mut pairs = vec![(9, 9)];
    answers.groups(filters, keys, asked.iter().copied(), &mut pairs);
    let of_row = |(row, hits): (usize, &Vec<bool>)| {
        let groups = asked.iter().filter(|&&group| hits[group]);
        groups.map(|&group| (row as u32, group as u32)).collect::<Vec<_>>()
    };
    assert_eq!(pairs, model.iter().enumerate().flat_map(of_row).collect::<Vec<_>>(), "groups");

    if keys.keyless().is_empty() {
        let mut counts = [0; GROUPS];
        answers.count(filters, keys, |group, hits| counts[group] += hits);
        let count = |group: usize| model.iter().filter(|row| row[group]).count() as u64;
        assert_eq!(counts, std::array::from_fn(count), "count");
    }
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    // Members, others, and a few rows without a key; groups of the file, and some that it lacks.
    let key = prop_oneof![9 => (0u16..900).prop_map(Some), 1 => Just(None)];
    let all = prop::collection::vec((key, 0..GROUPS as u32 + 2), 0..90);
    let with_keys = prop::collection::vec(((0u16..900).prop_map(Some), 0..GROUPS as u32), 0..TILE);
    prop_oneof![all, with_keys]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn all_doors_say_what_the_filters_say_key_by_key(
        rows in rows(),
        asked in prop::sample::subsequence((0..GROUPS).collect::<Vec<_>>(), 0..=GROUPS).prop_shuffle(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        for (kind, hash) in KINDS {
            let file = build(folder.path(), "members", kind, hash, 0..300);
            let filters = Filters::of_file(&file).unwrap();
            let (keys, bytes) = batch(&file, filters.needs(), &rows);
            check(&filters, &keys, &model(&file, None, &rows, &bytes), &asked);

            if kind == Kind::Layered || kind.counts() {
                continue; // no pairs of these
            }
            build(folder.path(), "gone", kind, hash, (0..300).step_by(3));
            let path = folder.path().join("gone.tamis");
            let removed = RemovedKeys::open(&path, file.params()).unwrap();
            let gone = files::open(&path).unwrap();
            let pairs = Filters::of_file(&file).unwrap().without(&removed).unwrap();
            let (keys, bytes) = batch(&file, pairs.needs(), &rows);
            check(&pairs, &keys, &model(&file, Some(&gone), &rows, &bytes), &asked);
        }
    }
}

#[test]
fn estimates_are_those_of_the_sketch_and_zero_without_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let file = build(folder.path(), "counts", Kind::CountMin, Scheme::DEFAULT, (0..300).chain(0..30));
    let filters = Filters::of_file(&file).unwrap();
    let (keys, _) = batch(&file, filters.needs(), &[(Some(5), 0), (None, 0), (Some(299), 0)]);
    let (mut answers, mut estimates) = (Answers::default(), [7; 3]);
    answers.estimates(&filters, &keys, 0, &mut estimates);
    let hash = |row: usize| filters.counter(0).unwrap().estimate_hash(keys.hashes()[row]);
    assert_eq!(estimates, [hash(0), 0, hash(2)]);
    assert!(estimates[0] >= 2, "key 5 came twice in group 0");
}

#[test]
fn a_filter_is_asked_of_its_own_rows_alone_whether_groups_are_many_or_few() {
    let folder = tempfile::tempdir().unwrap();
    let file = build(folder.path(), "members", Kind::Fuse, Scheme::DEFAULT, 0..300);
    let filters = Filters::of_file(&file).unwrap();
    let mut answers = Answers::default();
    for rows in [&[(Some(1), 1)][..], &[(Some(1), 1), (Some(2), 2), (Some(3), 3), (Some(4), 9)]] {
        let (keys, _) = batch(&file, filters.needs(), rows);
        let mut found = Vec::new();
        answers.own(&filters, &keys, &mut found);
        assert_eq!(found, rows.iter().map(|(_, group)| *group < 5).collect::<Vec<_>>());
    }
}
