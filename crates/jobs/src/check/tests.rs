//! The test of filters, against what is known of them.

use std::fs;

use tamis::hash::Scheme;
use tamis::key::Recipe;
use tamis::params::Common;
use tamis::sizing::Kind;
use tamis_read::Control;

use super::run::{HELD, check_holding};
use super::{GroupResult, Job, check};
use crate::request::at_rate;
use tamis_make::build;
use tamis_make::rows::BadRows;

/// 3,000 rows in 4 groups; every tenth key stands in two of them, and some rows repeat.
fn table() -> String {
    let row = |i: u32| {
        let second = if i.is_multiple_of(10) { format!("k{i}\t{}\n", (i + 1) % 4) } else { String::new() };
        format!("k{i}\t{}\n{second}{second}", i % 4)
    };
    "key\tgroup\n".to_owned() + &(0..3000).map(row).collect::<String>()
}

#[test]
fn what_waits_on_disk_is_counted_like_what_is_held_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("t.tsv");
    fs::write(&data, table()).unwrap();
    let recipe = Recipe {
        key: vec!["key".parse().unwrap()],
        group: Some("group".parse().unwrap()),
        ..Recipe::lines()
    };
    let of_keywords = Recipe {
        key: ["key:whole", "key:whole,suffix=1", "key:whole,suffix=2"]
            .map(|field| field.parse().unwrap())
            .into(),
        ..recipe.clone()
    };
    for (kind, hash) in [
        (Kind::Blocked, Scheme::DEFAULT),
        (Kind::Bloom, Scheme::Murmur3),
        (Kind::Bloom, Scheme::Polynomial { seed: 3 }),
        (Kind::Fuse, Scheme::DEFAULT),
        (Kind::Ribbon, Scheme::DEFAULT),
        (Kind::Counting, Scheme::DEFAULT),
        (Kind::Layered, Scheme::DEFAULT),
    ] {
        let recipe = if kind == Kind::Layered { of_keywords.clone() } else { recipe.clone() };
        let filters = folder.path().join("t.tamis");
        let build = build::Job {
            inputs: vec![data.display().to_string()],
            options: tamis_read::Options::default(),
            sketches: at_rate(&Common { kind, hash, recipe: recipe.clone() }, 0.05).unwrap(),
            recipe: recipe.clone(),
            bad_rows: BadRows::Fail,
            threads: 2,
            memory: tamis_make::count::MEMORY,
            about: Default::default(),
        };
        build::build(&build, &filters, &Control::default()).unwrap();
        let run = |held: usize, threads: usize| {
            let job = Job {
                said: tamis_make::foreign::Said::default(),
                removed: None,
                filters: filters.clone(),
                inputs: build.inputs.clone(),
                options: tamis_read::Options::default(),
                recipe: recipe.clone(),
                negatives: Vec::new(),
                random: 5000,
                seed: 3,
                adversary: 0,
                bad_rows: BadRows::Fail,
                threads,
            };
            let report = check_holding(&job, held, &Control::default()).unwrap();
            assert_eq!(report.false_negatives(), 0);
            assert_eq!(report.keys, 3000 + 5000);
            assert_eq!(
                report.groups.iter().map(|group| group.keys).sum::<u64>(),
                3300,
                "keys of two groups count in both"
            );
            let filter =
                |group: &GroupResult| group.filter.as_ref().map(|f| (f.false_positives, f.negatives));
            report.groups.iter().map(filter).collect::<Vec<_>>()
        };
        let in_memory = run(HELD, 1);
        assert_eq!(run(HELD, 3), in_memory);
        assert_eq!(run(100, 1), in_memory);
        assert_eq!(run(7, 3), in_memory);
    }
}

/// Thirty filters of the same keys say the same: one draw, not thirty.
#[test]
fn sound_filters_of_groups_that_share_all_keys_pass() {
    let folder = tempfile::tempdir().unwrap();
    let (data, filters) = (folder.path().join("t.csv"), folder.path().join("t.tamis"));
    let rows = (0..30).flat_map(|group| (0..300).map(move |key| format!("{key},{group}\n")));
    fs::write(&data, "key,group\n".to_owned() + &rows.collect::<String>()).unwrap();
    let recipe = Recipe {
        key: vec!["key".parse().unwrap()],
        group: Some("group".parse().unwrap()),
        ..Recipe::lines()
    };
    let build = build::Job {
        inputs: vec![data.display().to_string()],
        options: tamis_read::Options::default(),
        sketches: at_rate(
            &Common { kind: Kind::Blocked, hash: Scheme::DEFAULT, recipe: recipe.clone() },
            0.05,
        )
        .unwrap(),
        recipe: recipe.clone(),
        bad_rows: BadRows::Fail,
        threads: 1,
        memory: tamis_make::count::MEMORY,
        about: Default::default(),
    };
    build::build(&build, &filters, &Control::default()).unwrap();
    for seed in 1..=20 {
        let job = Job {
            said: tamis_make::foreign::Said::default(),
            removed: None,
            filters: filters.clone(),
            inputs: Vec::new(),
            options: tamis_read::Options::default(),
            recipe: recipe.clone(),
            negatives: Vec::new(),
            random: 20_000,
            seed,
            adversary: 0,
            bad_rows: BadRows::Fail,
            threads: 1,
        };
        assert!(check(&job, &Control::default()).unwrap().passed(), "seed {seed}");
    }
}
