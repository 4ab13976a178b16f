//! Keys that strangers choose, against the estimate of distinct keys: on one machine and spread.

use std::path::PathBuf;

use tamis::hash::Scheme;
use tamis::key::{Column, Recipe};
use tamis::params::Common;
use tamis::sizing::Kind;
use tamis_jobs::check::forged::xxh3_key;
use tamis_jobs::request::at_rate;
use tamis_make::build::Job;
use tamis_make::count::{Afterwards, KeyRules, MEMORY, Means, distinct_keys};
use tamis_make::rows::{BadRows, OnBad};
use tamis_make::spread::{Counter, Outcome, Rows};
use tamis_read::{Control, Format, Options};

/// Keys are estimated beyond this many.
const LIMIT: usize = 5_000;

fn job(kind: Kind, key: &str) -> Job {
    let recipe = Recipe { key: vec![key.parse().unwrap()], ..Recipe::lines() };
    let common = Common { kind, hash: Scheme::DEFAULT, recipe };
    Job {
        inputs: Vec::new(),
        options: Options::default(),
        sketches: at_rate(&common, 0.01).unwrap(),
        recipe: common.recipe,
        bad_rows: BadRows::Fail,
        threads: 2,
        memory: MEMORY,
        about: Default::default(),
    }
}

fn rows(lines: &[u8]) -> Rows {
    let options = Options { format: Some(Format::Lines), ..Options::default() };
    Rows::Text { lines: lines.to_vec(), options, name: PathBuf::from("rows") }
}

/// How many keys are planned for, on one machine and spread over three; or what both say.
fn planned(job: &Job, lines: &[u8]) -> Result<u64, String> {
    let control = Control::default();
    let means = Means { limit: LIMIT, memory: MEMORY, threads: 2, afterwards: Afterwards::No };
    let rules = KeyRules {
        recipe: &job.recipe,
        hash: Scheme::DEFAULT,
        on_bad: OnBad::Fail,
        aside: None,
        count_keywords: job.sketches.kind() == Kind::Layered,
    };
    let sources = rows(lines).sources(&job.recipe.columns()).unwrap();
    let here = distinct_keys(&sources, rules, means, &control).map(drop).map_err(|error| error.to_string());

    let mut last = Counter::up_to(job.clone(), LIMIT).unwrap();
    let ends: Vec<usize> = (0..lines.len()).filter(|&at| lines[at] == b'\n').map(|at| at + 1).collect();
    for some in ends.chunks(ends.len().div_ceil(3)) {
        let first = ends.iter().rev().find(|&&end| end < some[0]).copied().unwrap_or(0);
        let mut counter = Counter::up_to(job.clone(), LIMIT).unwrap();
        counter.add(rows(&lines[first..some[some.len() - 1]]), &control).unwrap();
        for (_, part) in counter.parts(4, 1 << 20).unwrap() {
            last.absorb(&part).unwrap();
        }
    }
    let there = match last.conclude(None, 2, &control) {
        Ok(Outcome::Params { params, estimated, .. }) => {
            assert!(estimated);
            Ok(params.groups[0].keys())
        }
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    };
    assert_eq!(here.err(), there.as_ref().err().cloned());
    there
}

/// A line for each register of the estimator, with at least this many zeros behind the bits that choose it.
fn chosen(registers: u64, zeros: u32) -> Vec<u8> {
    let line = |register: u64| {
        let key = |low: u64| xxh3_key(register << 50 | low, 0, 0x6161_6161_6161_6161);
        let whole = |key: &[u8; 32]| !key.iter().any(|byte| matches!(byte, 0 | b',' | b'\n' | b'\r'));
        let key = (0..1u64 << (50 - zeros)).map(key).find(whole).unwrap();
        [&key[..], b"\n"].concat()
    };
    (0..registers).flat_map(line).collect()
}

/// Hundreds of gigabytes were planned for.
#[test]
fn an_estimate_far_above_the_rows_is_refused_here_and_spread() {
    let honest: Vec<u8> = (0..40_000).flat_map(|i| format!("key{i}\n").into_bytes()).collect();
    let job_of_keys = job(Kind::Blocked, &Column::Line.to_string());
    let keys = planned(&job_of_keys, &honest).unwrap();
    assert!((39_000..43_000).contains(&keys), "honest keys, each once: {keys}");
    // All registers with many zeros, or with few: whatever goes beyond six standard errors.
    for (registers, zeros) in [(1 << 14, 40), (1 << 14, 8), (1 << 12, 20)] {
        let said = planned(&job_of_keys, &[honest.clone(), chosen(registers, zeros)].concat()).unwrap_err();
        assert!(said.contains("some keys were chosen to mislead the estimate"), "{said}");
    }
    let of_keywords = job(Kind::Layered, "(line):split=,");
    planned(&of_keywords, &honest).unwrap();
    let said = planned(&of_keywords, &[honest, chosen(1 << 14, 40)].concat()).unwrap_err();
    assert!(said.contains("some keys were chosen to mislead the estimate"), "{said}");
}
