//! The model against the code it is a model of: bytes and memory, never times.

use tamis::hash::Scheme;
use tamis::key::Recipe;
use tamis::params::{Common, Name};
use tamis::sizing::{Choice, Kind};
use tamis_make::build::{Given, Job as BuildJob, Sketches};
use tamis_make::plan::{self, Size};
use tamis_make::rows::BadRows;
use tamis_make::spread::{self, Merger, Partial, RANGE_BYTES};
use tamis_read::{Control, Format, Options};

use super::simulate::{Cluster, of, run, runs};
use super::*;

fn job(keys: u64, kind: Kind) -> Job {
    let choice = Choice { kind, hash: Scheme::DEFAULT, hashes: None };
    Job {
        keys,
        kind,
        shape: choice.shape_for_rate(keys, 0.01).unwrap(),
        rows: keys,
        row_bytes: 32,
        machines: 100,
        cores: 16,
        memory: 64_000_000_000,
        network: 1_250_000_000,
        disk: 500_000_000,
        lost: 1,
        seed: 1,
    }
}

fn params(keys: u64, kind: Kind) -> tamis::Params {
    let common = Common { kind, hash: Scheme::DEFAULT, recipe: Recipe::lines() };
    plan::parameters(common, vec![(Name::default(), keys)], Size::Fpr(0.01), 0).unwrap()
}

/// What a task really passes on, in how many bytes.
fn parts(rows: std::ops::Range<u64>, keys: u64, kind: Kind) -> Vec<(i64, Vec<u8>)> {
    let params = params(keys, kind);
    let job = BuildJob {
        inputs: Vec::new(),
        options: Options::default(),
        sketches: Sketches::Given(Given::new(params.clone(), false, None).unwrap()),
        recipe: params.common.recipe.clone(),
        bad_rows: BadRows::Fail,
        threads: 1,
        memory: tamis_make::count::MEMORY,
        about: Default::default(),
    };
    let mut partial = Partial::new(job, RANGE_BYTES).unwrap();
    let lines = rows.flat_map(|row| format!("key{row}\n").into_bytes()).collect();
    let options = Options { format: Some(Format::Lines), ..Options::default() };
    let rows = spread::Rows::Text { lines, options, name: "rows".into() };
    partial.add(rows, &Control::default()).unwrap();
    partial.drain()
}

fn within(real: f64, model: f64, share: f64, what: &str) {
    assert!((real - model).abs() <= share * real, "{what}: {real} measured, {model} by the model");
}

#[test]
fn the_bytes_of_the_model_are_those_of_the_code_at_two_sizes_and_more() {
    // Lists in many ranges, lists in few, and words.
    for (rows, keys, kind) in [
        (50_000, 200_000_000, Kind::Blocked),
        (200_000, 20_000_000, Kind::Blocked),
        (40_000, 20_000_000, Kind::Bloom),
        (300_000, 300_000, Kind::Blocked),
    ] {
        let job = Job { rows, ..job(keys, kind) };
        let real: usize = parts(0..rows, keys, kind).iter().map(|(_, bytes)| bytes.len()).sum();
        within(real as f64, model::task_out(&job, rows as f64).0, 0.1, "bytes that a task sends");
        assert_eq!(job.filter(), 8 * params(keys, kind).groups[0].shape.words());
    }
}

/// Runs of docs/scale.md on two cores: keys, tasks, bytes that went into the shuffle, MiB of a task's Python.
#[test]
fn tasks_bytes_and_memory_on_spark_are_those_of_runs() {
    for (keys, tasks, bytes, memory) in [
        (1_000_000, 2, 2_525_200.0, 156.0),
        (10_000_000, 2, 25_248_656.0, 256.0),
        (30_000_000, 4, 151_490_784.0, 407.0),
        (100_000_000, 12, 1_481_365_536.0, 468.0),
    ] {
        let way = model::spark(&Job { row_bytes: 16, machines: 1, cores: 2, ..job(keys, Kind::Blocked) });
        let build = way.phases.iter().find(|phase| phase.name.starts_with("build")).unwrap();
        assert_eq!(build.tasks, tasks);
        within(bytes, build.moved as f64, 0.1, "bytes that tasks send");
        within(memory, way.task() as f64 / (1 << 20) as f64, 0.1, "memory of a task");
    }
}

/// Two tasks that change little of a large filter: what they come to is no larger than both.
#[test]
fn a_merge_of_few_changes_stays_a_list() {
    let keys = 50_000_000;
    let (a, b) = (parts(0..5000, keys, Kind::Blocked), parts(5000..10_000, keys, Kind::Blocked));
    let mut merger = Merger::new(&params(keys, Kind::Blocked), RANGE_BYTES).unwrap();
    let sum = |parts: &[(i64, Vec<u8>)]| parts.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
    let both = sum(&a) + sum(&b);
    a.iter().chain(&b).for_each(|(_, bytes)| merger.absorb(bytes).unwrap());
    let merged = sum(&merger.drain());
    assert!(merged < both && merged > both * 9 / 10, "{merged} of {both}");
}

#[test]
fn a_job_that_fits_one_machine_runs_everywhere_and_a_large_one_on_spark_alone() {
    let small = estimate(job(1_000_000, Kind::Blocked)).unwrap();
    assert!(small.ways.iter().all(|way| way.runs() && way.seconds.is_some()));
    let large = estimate(job(1_000_000_000_000, Kind::Blocked)).unwrap();
    let runs: Vec<bool> = large.ways.iter().map(Way::runs).collect();
    assert_eq!(runs[..2], [false, false]);
    let (text, json) = (large.table().text(), large.json());
    assert!(text.contains("does not run"), "{text}");
    assert_eq!(json["ways"].as_array().unwrap().len(), 3);
    assert_eq!(json["filter_bytes"], large.job.filter());
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let tiny = Job { memory: 1_000_000, ..job(1_000_000_000, Kind::Blocked) };
    let Err(refusal @ Refusal::Memory { least, .. }) = estimate(tiny) else { panic!("it fits") };
    assert!(refusal.to_string().contains("would be enough"), "{refusal}");
    assert!(estimate(Job { memory: least, ..tiny }).is_ok());
    assert!(matches!(estimate(Job { lost: 100, ..tiny }), Err(Refusal::Lost { .. })));
    for kind in [Kind::Fuse, Kind::Ribbon] {
        assert!(matches!(estimate(Job { kind, ..tiny }), Err(Refusal::Kind { .. })));
    }
}

#[test]
fn a_simulation_is_the_same_for_the_same_seed_and_accidents_take_time() {
    let job = job(10_000_000_000, Kind::Blocked);
    let phases = model::spark(&job).phases;
    let cluster = of(&job);
    assert_eq!(run(&cluster, &phases, 7), run(&cluster, &phases, 7));
    let calm = Cluster { lost: 0, spread: 0.0, stragglers: 0.0, ..cluster };
    let (none, some) = (run(&calm, &phases, 7), runs(&Cluster { lost: 10, ..cluster }, &phases, 7));
    assert!(some.median > none && some.slow >= some.median, "{none} {some:?}");
    // Without accidents: tasks by slots, or the network.
    let one = [Phase { tasks: 10, seconds: 2.0, memory: 1, moved: 0, to: To::All, serial: false, name: "x" }];
    assert_eq!(run(&Cluster { machines: 1, cores: 4, ..calm }, &one, 1), 6.0);
    let sent = [Phase { moved: 1_250_000_000 * 50, to: To::One, ..one[0].clone() }];
    assert_eq!(run(&calm, &sent, 1), 50.0);
}
