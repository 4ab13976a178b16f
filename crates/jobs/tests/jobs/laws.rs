//! The laws of building: the same bytes however the rows are split, ordered and threaded, and a
//! merge that equals the filter of the union.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tamis::hash::Scheme;
use tamis::params::Params;
use tamis::sizing::Kind;
use tamis_jobs::query::Asker;
use tamis_make::build::{self, Addition, Job};
use tamis_make::plan::Size;
use tamis_make::rows::BadRows;
use tamis_make::{files, merge};
use tamis_read::{Control, Options};

use crate::tables::{AnySizing, Rows, job, recipe, table};

fn built(job: &Job, folder: &Path) -> Vec<u8> {
    let path = folder.join("out.tamis");
    build::build(job, &path, &Control::default()).unwrap();
    fs::read(path).unwrap()
}

const SCHEMES: [(Kind, Scheme); 8] = [
    (Kind::Blocked, Scheme::DEFAULT),
    (Kind::Bloom, Scheme::DEFAULT),
    (Kind::Bloom, Scheme::Murmur3),
    (Kind::Fuse, Scheme::DEFAULT),
    (Kind::Blocked, Scheme::Xxh3 { seed: 99 }),
    (Kind::Counting, Scheme::DEFAULT),
    (Kind::Ribbon, Scheme::DEFAULT),
    (Kind::Bloom, Scheme::Polynomial { seed: 7 }), // records its count: whole files differ there
];

/// Those that can be merged, and added to.
const MERGEABLE: [(Kind, Scheme); 4] = [SCHEMES[0], SCHEMES[1], SCHEMES[2], SCHEMES[5]];

fn rows() -> impl Strategy<Value = Rows> {
    prop::collection::vec((0u8..5, 0u16..400), 1..600)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_bytes_do_not_depend_on_threads_order_or_splitting(rows in rows(), cuts in prop::collection::vec(0usize..600, 0..4), threads in 1usize..5, scheme in 0usize..7, seed in any::<u64>()) {
        let folder = tempfile::tempdir().unwrap();
        let scheme = SCHEMES[scheme];
        let sizing = AnySizing::Count(Size::Fpr(0.01));
        let whole = table(&folder.path().join("whole.csv"), &rows);
        let expected = built(&job(vec![whole], scheme, sizing.clone(), 1), folder.path());

        let mut shuffled = rows.clone();
        let mut state = seed | 1;
        for i in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            shuffled.swap(i, (state >> 33) as usize % (i + 1));
        }
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (rows.len() + 1)).chain([0, rows.len()]).collect();
        cuts.sort_unstable();
        let parts = cuts.windows(2).enumerate().map(|(i, cut)| table(&folder.path().join(format!("{i}.csv")), &shuffled[cut[0]..cut[1]])).collect();
        prop_assert!(built(&job(parts, scheme, sizing, threads), folder.path()) == expected);
    }

    #[test]
    fn a_merge_is_the_filter_of_the_union(left in rows(), right in rows(), scheme in prop::sample::select(&MERGEABLE[..]), threads in 1usize..4) {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (table(&folder.path().join("a.csv"), &left), table(&folder.path().join("b.csv"), &right));
        let both = vec![a.clone(), b.clone()];
        let size = Size::Fpr(0.02);
        let params = build::plan(&job(both.clone(), scheme, AnySizing::Count(size), threads), &Control::default()).unwrap().params;
        let params = Params::from_json(&params.to_json()).unwrap();
        let one = |inputs: Vec<String>, name: &str| -> PathBuf {
            let path = folder.path().join(name);
            let job = job(inputs, scheme, AnySizing::Params(params.clone()), threads);
            build::build(&job, &path, &Control::default()).unwrap();
            path
        };
        let (a_file, b_file) = (one(vec![a], "a.tamis"), one(vec![b.clone()], "b.tamis"));
        let union = fs::read(one(both, "union.tamis")).unwrap();
        let merged = folder.path().join("merged.tamis");
        for inputs in [[a_file.clone(), b_file.clone()], [b_file, a_file.clone()]] {
            merge::merge(&inputs, &merged, threads, &Control::default()).unwrap();
            prop_assert!(fs::read(&merged).unwrap() == union);
        }
        // Adding the rows of one to the other is the same thing.
        let addition = Addition { inputs: vec![b], options: Options::default(), recipe: recipe(), bad_rows: BadRows::Fail, distinct: false, new_groups: false, threads };
        build::add(&a_file, &addition, &Control::default()).unwrap();
        prop_assert!(fs::read(&a_file).unwrap() == union);
        if scheme.0 == Kind::Counting {
            return Ok(()); // two of every key are not one
        }
        // And merging a file with itself changes no bit, only the count of rows.
        merge::merge(&[merged.clone(), merged.clone()], &merged, threads, &Control::default()).unwrap();
        let again = files::open(&merged).unwrap();
        let before = files::open(&folder.path().join("union.tamis")).unwrap();
        prop_assert_eq!(again.data(), before.data());
    }

    #[test]
    fn no_key_is_lost_and_the_counts_are_those_of_a_set(rows in rows(), scheme in 0usize..7, threads in 1usize..4) {
        let folder = tempfile::tempdir().unwrap();
        let input = table(&folder.path().join("t.csv"), &rows);
        let path = folder.path().join("out.tamis");
        build::build(&job(vec![input], SCHEMES[scheme], AnySizing::Count(Size::Fpr(0.01)), threads), &path, &Control::default()).unwrap();
        let file = files::open(&path).unwrap();
        let mut asker = Asker::new(&file).unwrap();
        let mut truth: HashMap<u8, HashSet<u16>> = HashMap::new();
        for (group, key) in &rows {
            truth.entry(*group).or_default().insert(*key);
            let groups = asker.ask(format!("k{key}").as_bytes()).unwrap();
            prop_assert!(groups.iter().any(|name| name.0 == group.to_string().as_bytes()));
        }
        for (group, tally) in file.params().groups.iter().zip(file.tallies()) {
            let number: u8 = group.group.to_string().parse().unwrap();
            prop_assert_eq!(group.keys(), truth[&number].len() as u64);
            prop_assert_eq!(tally.rows, rows.iter().filter(|(g, _)| *g == number).count() as u64);
        }
    }
}

/// Filters this large are shared by threads, range by range.
#[test]
fn threads_that_share_one_large_filter_build_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Rows = (0..40_000u32).map(|i| ((i % 3) as u8, (i % 65_521) as u16)).collect();
    let input = table(&folder.path().join("t.csv"), &rows);
    for scheme in &MERGEABLE {
        let sizing = AnySizing::Keys(4_000_000, Size::Fpr(0.01));
        let one = built(&job(vec![input.clone()], *scheme, sizing.clone(), 1), folder.path());
        assert!(one.len() > 12 << 20);
        for threads in [2, 5] {
            assert!(built(&job(vec![input.clone()], *scheme, sizing.clone(), threads), folder.path()) == one);
        }
    }
}

/// The total stays within the size, and all groups have the same expected rate.
#[test]
fn a_total_size_is_kept_and_shared_fairly() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Rows = (0..30_000u32).map(|i| ((i as f64).sqrt() as u8 / 60, (i % 60_000) as u16)).collect();
    let input = table(&folder.path().join("t.csv"), &rows);
    for scheme in [SCHEMES[0], SCHEMES[1], SCHEMES[3], SCHEMES[5]] {
        let total = 60_000;
        let job = job(vec![input.clone()], scheme, AnySizing::Count(Size::Total(total)), 2);
        let path = folder.path().join("out.tamis");
        let report = build::build(&job, &path, &Control::default()).unwrap();
        let kind = scheme.0;
        let bytes: u64 = report.params.groups.iter().map(|group| group.shape.words() * 8).sum();
        assert!(bytes <= total && bytes > total * 4 / 5, "{kind}: {bytes}");
        let rates: Vec<f64> =
            report.params.groups.iter().map(|group| group.shape.expected_rate(group.keys())).collect();
        let (low, high) =
            (rates.iter().copied().fold(1.0, f64::min), rates.iter().copied().fold(0.0, f64::max));
        assert!(high / low < 1.1, "{kind}: {rates:?}");
    }
}

/// Each was compared with the first file only, which knows nothing of the groups that it lacks.
#[test]
fn files_that_differ_in_a_group_which_the_first_one_lacks_are_not_merged() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, group: u8, keys: u16| -> PathBuf {
        let rows: Rows = (0..keys).map(|key| (group, key)).collect();
        let input = table(&folder.path().join(format!("{name}.csv")), &rows);
        let path = folder.path().join(format!("{name}.tamis"));
        build::build(
            &job(vec![input], SCHEMES[0], AnySizing::Count(Size::Fpr(0.01)), 1),
            &path,
            &Control::default(),
        )
        .unwrap();
        path
    };
    let (a, b, c) = (file("a", 1, 50), file("b", 2, 100), file("c", 2, 5000));
    let merged = folder.path().join("merged.tamis");
    let merge = |inputs: &[PathBuf]| merge::merge(inputs, &merged, 2, &Control::default());
    assert!(merge(&[a.clone(), b.clone()]).is_ok());
    for inputs in [[a.clone(), b.clone(), c.clone()], [a, c, b]] {
        let error = merge(&inputs).unwrap_err().to_string();
        assert!(error.contains("group 2") && error.contains("5000 keys"), "{error}");
    }
}
