//! The laws of counting: the same bytes however the rows are split, ordered and threaded; never below
//! the truth; and no heavy key missing.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tamis::countmin::Heavy;
use tamis::hash::Scheme;
use tamis::key::Recipe;
use tamis::params::{Common, Name, Params};
use tamis::sizing::Kind;
use tamis_jobs::query::Asker;
use tamis_make::build::{self, Addition, Job};
use tamis_make::count_min::{self, Wanted, rank};
use tamis_make::plan::Counters;
use tamis_make::rows::BadRows;
use tamis_make::{files, merge};
use tamis_read::{Control, Options};

use crate::tables::{self, AnySizing};

/// Group, key and weight.
type Rows = Vec<(u8, u16, u64)>;

fn recipe() -> Recipe {
    Recipe {
        key: vec!["key".parse().unwrap()],
        group: Some("group".parse().unwrap()),
        weight: Some("weight".parse().unwrap()),
        ..Recipe::lines()
    }
}

fn table(path: &Path, rows: &[(u8, u16, u64)]) -> String {
    let lines: String =
        rows.iter().map(|(group, key, weight)| format!("{group},k{key},{weight}\n")).collect();
    fs::write(path, format!("group,key,weight\n{lines}")).unwrap();
    path.display().to_string()
}

fn counters(row: u64, depth: u32, bits: u32) -> Counters {
    Counters::by_hand(row, depth, bits).unwrap()
}

fn job(inputs: Vec<String>, kind: Kind, sizing: AnySizing, threads: usize) -> Job {
    heavy_job(inputs, kind, sizing, None, threads)
}

fn heavy_job(inputs: Vec<String>, kind: Kind, sizing: AnySizing, heavy: Option<f64>, threads: usize) -> Job {
    let common = Common { kind, hash: Scheme::DEFAULT, recipe: recipe() };
    let sketches = sizing.of(&common, None, heavy, false);
    tables::job_of(inputs, &common, sketches, threads)
}

fn built(job: &Job, to: &Path) -> Vec<u8> {
    build::build(job, to, &Control::default()).unwrap();
    fs::read(to).unwrap()
}

fn rows() -> impl Strategy<Value = Rows> {
    let weight = prop_oneof![6 => 0u64..20, 1 => Just(u64::from(u32::MAX)), 1 => 0u64..1 << 40];
    prop::collection::vec((0u8..4, 0u16..200, weight), 1..400)
}

/// Keys that come about as often as 1, 1/2, 1/3, …, in three groups.
fn skewed() -> impl Strategy<Value = Rows> {
    let row = (0u8..3, 0.0..1.0f64, 1u64..4);
    let key = |(group, at, weight): (u8, f64, u64)| (group, (500f64.powf(at) - 1.0) as u16, weight);
    prop::collection::vec(row.prop_map(key), 1..600)
}

/// The exact weight of every key in every group, and of every group.
fn truth(rows: &[(u8, u16, u64)]) -> (HashMap<(u8, u16), u64>, HashMap<u8, u64>) {
    let (mut keys, mut groups) = (HashMap::new(), HashMap::new());
    for &(group, key, weight) in rows {
        *keys.entry((group, key)).or_default() += weight;
        *groups.entry(group).or_default() += weight;
    }
    (keys, groups)
}

/// Small sketches, each thread with its own, and large ones, which threads share.
const SHAPES: [(u64, u32, u32); 4] = [(50, 3, 64), (50, 3, 32), (110_001, 4, 64), (230_001, 3, 32)];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn the_bytes_do_not_depend_on_threads_order_or_splits(rows in rows(), at in 0.0..1.0f64, which in 0usize..4) {
        let folder = tempfile::tempdir().unwrap();
        let (row, depth, bits) = SHAPES[which];
        let path = |name: &str| folder.path().join(name);
        let whole = table(&path("whole.csv"), &rows);
        let sizing = AnySizing::Counters(counters(row, depth, bits));
        let one = built(&job(vec![whole.clone()], Kind::CountMin, sizing.clone(), 1), &path("one.tamis"));
        let mut turned = rows.clone();
        turned.reverse();
        let turned = table(&path("turned.csv"), &turned);
        prop_assert!(one == built(&job(vec![turned], Kind::CountMin, sizing, 3), &path("turned.tamis")));

        let params = files::open(&path("one.tamis")).unwrap().params().clone();
        let given = || AnySizing::Params(params.clone());
        let cut = (at * rows.len() as f64) as usize;
        let parts = [table(&path("a.csv"), &rows[..cut]), table(&path("b.csv"), &rows[cut..])];
        prop_assert!(one == built(&job(parts.to_vec(), Kind::CountMin, given(), 2), &path("both.tamis")));
        built(&job(vec![parts[0].clone()], Kind::CountMin, given(), 2), &path("a.tamis"));
        built(&job(vec![parts[1].clone()], Kind::CountMin, given(), 1), &path("b.tamis"));
        let inputs: Vec<PathBuf> = vec![path("b.tamis"), path("a.tamis")];
        merge::merge(&inputs, &path("merged.tamis"), 2, &Control::default()).unwrap();
        prop_assert!(one == fs::read(path("merged.tamis")).unwrap());
        add(&path("a.tamis"), &parts[1], 3);
        prop_assert!(one == fs::read(path("a.tamis")).unwrap());
    }

    #[test]
    fn conservative_sketches_have_the_same_bytes_for_the_same_order(rows in rows(), at in 0.0..1.0f64) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let whole = table(&path("whole.csv"), &rows);
        let kind = Kind::CountMinConservative;
        let sizing = AnySizing::Counters(counters(40, 3, 64));
        let one = built(&job(vec![whole.clone()], kind, sizing.clone(), 1), &path("one.tamis"));
        prop_assert!(one == built(&job(vec![whole.clone()], kind, sizing, 4), &path("four.tamis")));
        let params = files::open(&path("one.tamis")).unwrap().params().clone();
        let cut = (at * rows.len() as f64) as usize;
        let parts = [table(&path("a.csv"), &rows[..cut]), table(&path("b.csv"), &rows[cut..])];
        built(&job(vec![parts[0].clone()], kind, AnySizing::Params(params.clone()), 2), &path("a.tamis"));
        add(&path("a.tamis"), &parts[1], 2);
        prop_assert!(one == fs::read(path("a.tamis")).unwrap());

        // Never below the truth, and never above the plain ones.
        let plain = Params { common: Common { kind: Kind::CountMin, ..params.common.clone() }, ..params };
        built(&job(vec![whole], Kind::CountMin, AnySizing::Params(plain), 2), &path("plain.tamis"));
        let (one, plain) = (files::open(&path("one.tamis")).unwrap(), files::open(&path("plain.tamis")).unwrap());
        let (mut conservative, mut plain) = (Asker::new(&one).unwrap(), Asker::new(&plain).unwrap());
        for ((group, key), weight) in truth(&rows).0 {
            let (key, group) = (format!("k{key}"), Name::from(group.to_string().as_str()));
            let estimate = |asker: &mut Asker<'_>| {
                let counts = asker.ask_counts(key.as_bytes()).unwrap();
                counts.iter().find(|count| *count.group == group).unwrap().estimate
            };
            let (low, high) = (estimate(&mut conservative), estimate(&mut plain));
            prop_assert!(weight <= low && low <= high);
        }
        prop_assert!(merge::merge(&[path("one.tamis"), path("one.tamis")], &path("m.tamis"), 1, &Control::default()).is_err());
    }

    #[test]
    fn no_heavy_key_is_missing_over_threads_merges_and_additions(
        rows in skewed(), share in 0.03..0.3f64, at in 0.0..1.0f64, conservative: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let whole = table(&path("whole.csv"), &rows);
        let kind = if conservative { Kind::CountMinConservative } else { Kind::CountMin };
        // ε = 0.027: some keys below the share are above it by their estimates.
        let heavy = |inputs, sizing, threads| heavy_job(inputs, kind, sizing, Some(share), threads);
        let sizing = AnySizing::Counters(counters(100, 2, 64));
        let one = built(&heavy(vec![whole.clone()], sizing.clone(), 1), &path("one.tamis"));
        prop_assert!(one == built(&heavy(vec![whole.clone()], sizing.clone(), 3), &path("three.tamis")));
        complete(&path("one.tamis"), &rows, share);
        let listing = count_min::top_of_data(
            &heavy(vec![whole.clone()], sizing.clone(), 2),
            Wanted::Share(share),
            &Control::default(),
        )
        .unwrap();
        let of_file = count_min::top_of_file(&path("one.tamis"), None).unwrap();
        for (a, b) in listing.groups.iter().zip(&of_file.groups) {
            prop_assert_eq!(&a.keys, &b.keys);
            prop_assert!(a.keys.is_sorted_by_key(|hit| std::cmp::Reverse(hit.estimate)));
        }
        // A number of keys, whatever the threads: the first of the list of any share.
        let top = |wanted, threads| {
            let job = heavy(vec![whole.clone()], sizing.clone(), threads);
            count_min::top_of_data(&job, wanted, &Control::default()).unwrap().groups
        };
        for most in [1, 3, usize::MAX] {
            for (all, some) in top(Wanted::Share(1e-9), 1).iter().zip(top(Wanted::Most(most), 3)) {
                prop_assert_eq!(&all.keys[..most.min(all.keys.len())], &some.keys[..]);
            }
        }

        let params = files::open(&path("one.tamis")).unwrap().params().clone();
        let cut = (at * rows.len() as f64) as usize;
        let parts = [table(&path("a.csv"), &rows[..cut]), table(&path("b.csv"), &rows[cut..])];
        for (part, name) in parts.iter().zip(["a.tamis", "b.tamis"]) {
            built(&heavy(vec![part.clone()], AnySizing::Params(params.clone()), 2), &path(name));
        }
        if !conservative {
            merge::merge(&[path("a.tamis"), path("b.tamis")], &path("m.tamis"), 2, &Control::default()).unwrap();
            complete(&path("m.tamis"), &rows, share);
        }
        add(&path("a.tamis"), &parts[1], 2);
        complete(&path("a.tamis"), &rows, share);
    }
}

fn add(to: &Path, input: &str, threads: usize) {
    let addition = Addition {
        inputs: vec![input.into()],
        options: Options::default(),
        recipe: recipe(),
        bad_rows: BadRows::Fail,
        distinct: false,
        new_groups: false,
        threads,
    };
    build::add(to, &addition, &Control::default()).unwrap();
}

/// Asserts that the list of a file has every key of this share, and none whose estimate has not.
fn complete(path: &Path, rows: &[(u8, u16, u64)], share: f64) {
    let file = files::open(path).unwrap();
    let Heavy { share: kept, groups } = file.heavy().expect("keys are kept");
    assert_eq!(*kept, share);
    let (keys, totals) = truth(rows);
    for ((group, key), weight) in keys {
        let at = file.params().find(group.to_string().as_bytes()).unwrap();
        if weight as f64 >= share * totals[&group] as f64 {
            let key = format!("k{key}").into_bytes();
            assert!(groups[at].contains(&key), "{key:?} with {weight} of {}", totals[&group]);
        }
    }
    let totals: Vec<u64> = file.tallies().iter().map(|tally| tally.total_weight()).collect();
    let mut asker = Asker::new(&file).unwrap();
    for (at, keys) in groups.iter().enumerate() {
        let group = &file.params().groups[at].group;
        for key in keys {
            let counts = asker.ask_counts(key).unwrap();
            let estimate = counts.iter().find(|count| count.group == group).unwrap().estimate;
            assert!(estimate as f64 >= share * totals[at] as f64 * (1.0 - 1e-9));
        }
    }
}

#[test]
fn exact_counts_agree_with_sketches_of_the_same_rows_and_not_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let rows: Rows = (0..30_000u32)
        .map(|i| ((i % 2) as u8, (1 + 40_000 / (i + 1)) as u16 + (i % 977) as u16, 1))
        .collect();
    let input = table(&path("rows.csv"), &rows);
    let sizing = AnySizing::Counters(Counters::for_error(0.005, 0.02, 64).unwrap());
    built(&job(vec![input.clone()], Kind::CountMin, sizing, 2), &path("c.tamis"));
    let job = |input: String| rank::Job {
        said: tamis_make::foreign::Said::default(),
        sketches: path("c.tamis"),
        inputs: vec![input],
        options: Options::default(),
        recipe: recipe(),
        bad_rows: BadRows::Fail,
        threads: 3,
    };
    let report = rank::check(&job(input), &Control::default()).unwrap();
    assert!(report.passed(), "{:?}", report.groups);
    let (keys, totals) = truth(&rows);
    assert_eq!(report.groups.iter().map(|group| group.keys).sum::<u64>(), keys.len() as u64);
    assert!(report.groups.iter().all(|group| group.weight == group.promise.total && group.below == 0));
    assert_eq!(report.groups[0].weight, totals[&0]);
    assert_eq!(
        report.ranks.iter().map(|rank| rank.ranks.1 - rank.ranks.0 + 1).sum::<u64>(),
        keys.len() as u64
    );
    assert!(report.ranks.is_sorted_by(|a, b| a.truth >= b.truth), "the heaviest come first");

    let more: Rows = rows.iter().copied().chain((0..50).map(|key| (7, 5000 + key, 9))).collect();
    let report = rank::check(&job(table(&path("more.csv"), &more)), &Control::default()).unwrap();
    assert!(!report.passed());
    assert_eq!(report.groups.iter().map(|group| group.below).sum::<u64>(), 50);
}
