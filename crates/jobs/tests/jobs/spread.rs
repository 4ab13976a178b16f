//! A job that is spread over machines gives the bytes of one machine.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use tamis::hash::Scheme;
use tamis::key::Recipe;
use tamis::params::{Common, Params};
use tamis::sizing::Kind;
use tamis_read::{Control, Format, Options};

use tamis_jobs::check::apart::{Gatherer, Judge};
use tamis_jobs::check::{self, Findings};
use tamis_jobs::fuzz::parts;
use tamis_jobs::request::{ByHand, Counting, Sizes, sketches};
use tamis_make::build::{self, Given, Job, Sketches};
use tamis_make::distinct::EXACT;
use tamis_make::rows::{BadRows, OnBad};
use tamis_make::spread::wire::{Content, Reader, Writer};
use tamis_make::spread::*;

const HEADER: &str = "key\tgroup\tweight\n";

/// Some of the kinds have a hash, a size or columns of their own.
#[derive(Debug, Clone, Copy)]
enum Case {
    Kind(Kind),
    Murmur,
    Lone,
    Planned,
    Estimated,
}

const CASES: [Case; 11] = [
    Case::Kind(Kind::Counting),
    Case::Kind(Kind::Blocked),
    Case::Kind(Kind::Bloom),
    Case::Kind(Kind::Fuse),
    Case::Kind(Kind::Ribbon),
    Case::Kind(Kind::Layered),
    Case::Kind(Kind::CountMin),
    Case::Murmur,
    Case::Lone,
    Case::Planned,
    Case::Estimated,
];

fn job(case: Case) -> Job {
    let kind = match case {
        Case::Kind(kind) => kind,
        Case::Murmur => Kind::Bloom,
        Case::Lone | Case::Planned | Case::Estimated => Kind::Blocked,
    };
    let key = if kind == Kind::Layered { "key:split=_" } else { "key" };
    let recipe = Recipe {
        key: vec![key.parse().unwrap()],
        group: (!matches!(case, Case::Lone)).then(|| "group".parse().unwrap()),
        weight: kind.counts().then(|| "weight".parse().unwrap()),
        ..Recipe::lines()
    };
    let hash = if matches!(case, Case::Murmur) { Scheme::Murmur3 } else { Scheme::DEFAULT };
    let common = Common { kind, hash, recipe };
    let keys = matches!(case, Case::Planned).then_some(500);
    let counting =
        Counting { epsilon: Some(0.05), delta: Some(0.1), counter_bits: Some(32), ..Counting::default() };
    let counting = if kind.counts() { counting } else { Counting::default() };
    let sizes = Sizes { keys, ..Sizes::default() };
    Job {
        inputs: Vec::new(),
        options: Options::default(),
        sketches: sketches(&common, None, (&sizes, &ByHand::default(), &counting), None, false).unwrap(),
        recipe: common.recipe,
        bad_rows: BadRows::Skip,
        threads: 2,
        memory: tamis_make::count::MEMORY,
        about: Default::default(),
    }
}

/// The same job with these parameters.
fn with(params: Params, job: Job) -> Job {
    Job { sketches: Sketches::Given(Given::new(params, false, None).unwrap()), ..job }
}

fn text(rows: &[(u8, u16)]) -> String {
    let row = |&(group, key): &(u8, u16)| match key {
        0 => format!("\tg{group}\t1\n"), // no key
        _ => format!("k{}_w{}\tg{group}\t{}\n", key, key % 7, key % 3),
    };
    HEADER.to_owned() + &rows.iter().map(row).collect::<String>()
}

fn given(rows: &[(u8, u16)]) -> Rows {
    let options = Options { format: Some(Format::Tsv), ..Options::default() };
    Rows::Text { lines: text(rows).into_bytes(), options, name: PathBuf::from("rows") }
}

/// How the work is spread.
#[derive(Debug, Clone)]
struct Spread {
    cuts: Vec<usize>,
    parts: usize,
    most: usize,
    range_bytes: usize,
    /// Whether what is held is given away after each table.
    hasty: bool,
}

impl Spread {
    fn pieces<'r>(&self, rows: &'r [(u8, u16)]) -> Vec<&'r [(u8, u16)]> {
        let mut cuts: Vec<usize> = self.cuts.iter().map(|cut| cut % (rows.len() + 1)).collect();
        cuts.extend([0, rows.len()]);
        cuts.sort_unstable();
        cuts.windows(2).map(|pair| &rows[pair[0]..pair[1]]).collect()
    }
}

fn spread() -> impl Strategy<Value = Spread> {
    let cuts = prop::collection::vec(any::<usize>(), 0..5);
    let (parts, ranges) =
        (prop::sample::select(vec![1, 4, 256]), prop::sample::select(vec![64, 640, 1 << 20]));
    (cuts, parts, prop::sample::select(vec![64, 1 << 20]), ranges, any::<bool>())
        .prop_map(|(cuts, parts, most, range_bytes, hasty)| Spread { cuts, parts, most, range_bytes, hasty })
}

/// The file that comes of rows that are spread.
fn built(
    case: Case,
    rows: &[(u8, u16)],
    spread: &Spread,
    limit: usize,
) -> tamis_read::Result<(Vec<u8>, u64)> {
    let control = &Control::default();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("built.tamis");
    let job = job(case);
    let planned = match planned_without_rows(&job)? {
        Some(params) => {
            let params = Box::new(params);
            Outcome::Params { params, estimated: false, lone_keywords: false, skipped: 0 }
        }
        None => {
            let mut last = Counter::up_to(job.clone(), limit)?;
            let mut by_part: Vec<Counter> = Vec::new();
            by_part.resize_with(spread.parts, || Counter::up_to(job.clone(), limit).unwrap());
            for piece in spread.pieces(rows) {
                let mut counter = Counter::up_to(job.clone(), limit)?;
                for half in piece.chunks(1 + piece.len() / 2) {
                    counter.add(given(half), control)?;
                }
                for (part, bytes) in counter.parts(spread.parts, spread.most)? {
                    by_part[part as usize].absorb(&bytes)?;
                }
            }
            for mut counter in by_part {
                for (part, bytes) in counter.parts(1, spread.most)? {
                    assert_eq!(part, 0);
                    last.absorb(&bytes)?;
                }
            }
            last.conclude(Some(&path), 2, control)?
        }
    };
    let skipped = match planned {
        Outcome::Built { skipped } => skipped,
        Outcome::Params { params, .. } => {
            let params = *params;
            let mut assembly = Assembly::new(params.clone(), spread.range_bytes, &path)?;
            let mut merger = Merger::new(&params, spread.range_bytes)?;
            let with = with(params, job);
            for (i, piece) in spread.pieces(rows).into_iter().enumerate() {
                let mut partial = Partial::new(with.clone(), spread.range_bytes)?;
                let mut parts = Vec::new();
                for half in piece.chunks(1 + piece.len() / 2) {
                    partial.add(given(half), control)?;
                    if spread.hasty {
                        parts.extend(partial.drain());
                    }
                }
                parts.extend(partial.drain());
                // Some go straight to the file.
                for (_, bytes) in parts {
                    if i % 3 == 2 { assembly.put(&bytes)? } else { merger.absorb(&bytes)? }
                }
            }
            for (_, bytes) in merger.drain() {
                assembly.put(&bytes)?;
            }
            assembly.finish(2)?
        }
    };
    Ok((fs::read(&path).unwrap(), skipped))
}

fn table() -> impl Strategy<Value = Vec<(u8, u16)>> {
    prop::collection::vec((0u8..5, 0u16..3000), 1..900)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_file_does_not_depend_on_how_its_rows_are_spread(rows in table(), spread in spread(), case in prop::sample::select(CASES.to_vec())) {
        let folder = tempfile::tempdir().unwrap();
        let (data, path) = (folder.path().join("t.tsv"), folder.path().join("t.tamis"));
        fs::write(&data, text(&rows)).unwrap();
        let here = Job { inputs: vec![data.to_str().unwrap().into()], ..job(case) };
        // With a low limit, one machine that estimates is compared with many that do.
        let limit = if matches!(case, Case::Estimated) { 100 } else { EXACT };
        let whole = match (case, build::build(&here, &path, &Control::default())) {
            (Case::Estimated, _) => {
                let alone = Spread { cuts: vec![], parts: 1, most: 1 << 20, range_bytes: 1 << 20, hasty: false };
                built(case, &rows, &alone, limit)
            }
            (_, Ok(report)) => Ok((fs::read(&path).unwrap(), report.skipped)),
            (_, Err(error)) => Err(error),
        };
        match (whole, built(case, &rows, &spread, limit)) {
            (Ok(whole), Ok(spread)) => prop_assert!(whole == spread, "{case:?}"),
            (Err(whole), Err(spread)) => prop_assert_eq!(whole.to_string(), spread.to_string()),
            (whole, spread) => prop_assert!(false, "{:?} {:?}", whole.err(), spread.err()),
        }
    }

    #[test]
    fn a_test_does_not_depend_on_how_its_keys_are_spread(rows in table(), spread in spread(), more in table(), case in prop::sample::select(vec![Case::Kind(Kind::Blocked), Case::Kind(Kind::Counting), Case::Kind(Kind::Layered), Case::Murmur])) {
        prop_assume!(rows.iter().any(|(_, key)| *key > 0));
        let control = &Control::default();
        let folder = tempfile::tempdir().unwrap();
        let (data, path) = (folder.path().join("t.tsv"), folder.path().join("t.tamis"));
        fs::write(&data, text(&rows)).unwrap();
        let here = Job { inputs: vec![data.to_str().unwrap().into()], ..job(case) };
        build::build(&here, &path, control).unwrap();
        let others = folder.path().join("others.tsv");
        // Some rows are those of groups without a filter.
        let asked: Vec<(u8, u16)> = rows.iter().copied().chain(more.iter().map(|(group, key)| (group + 3, *key))).collect();
        fs::write(&others, text(&asked)).unwrap();
        let file = tamis_make::files::open(&path).unwrap();
        let recipe = file.params().common.recipe.clone();
        let whole = check::check(&check::Job {
            said: tamis_make::foreign::Said::default(),
            filters: path.clone(),
            inputs: vec![others.to_str().unwrap().into()],
            options: Options::default(),
            recipe: recipe.clone(),
            negatives: Vec::new(),
            removed: None,
            random: 100,
            adversary: 0,
            seed: 7,
            bad_rows: BadRows::Skip,
            threads: 2,
        }, control).unwrap();

        let mut judges: Vec<(Judge, Vec<Vec<u8>>)> = (0..3).map(|_| (Judge::new(file.params()), Vec::new())).collect();
        for (i, piece) in spread.pieces(&asked).into_iter().enumerate() {
            let mut gatherer = Gatherer::new(file.params().clone(), recipe.clone(), OnBad::Skip);
            gatherer.add(given(piece), false, control).unwrap();
            let mut parts = if spread.hasty { gatherer.drain().unwrap() } else { Vec::new() };
            if i == 0 {
                gatherer.add_random(0..100, 7, control).unwrap();
            }
            parts.extend(gatherer.drain().unwrap());
            parts.into_iter().for_each(|(part, bytes)| judges[part as usize % 3].1.push(bytes));
        }
        let mut sum = Findings::default();
        for (mut judge, parts) in judges {
            parts.iter().try_for_each(|bytes| judge.absorb(bytes)).unwrap();
            judge.settle(&file).unwrap();
            sum.add(&judge.findings());
        }
        let report = check::conclude(&file, sum, check::With { members: true, negatives: false }, 2).unwrap();
        // How inputs were understood, and how long it took, only the whole run knows.
        let numbers = |report: &check::Report| {
            format!("{:?}", check::Report { inputs: Vec::new(), phases: Vec::new(), ..report.clone() })
        };
        prop_assert_eq!(numbers(&report), numbers(&whole));
    }

    #[test]
    fn bytes_that_are_no_part_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), rows in table(), at in any::<prop::sample::Index>(), bit in 0u8..8, case in prop::sample::select(vec![Case::Kind(Kind::Blocked), Case::Kind(Kind::Bloom), Case::Kind(Kind::Layered)])) {
        let control = &Control::default();
        let params = params_of(case, &rows);
        let refuses_all = |bytes: &[u8]| {
            let mut counter = Counter::new(job(case)).unwrap();
            let mut merger = Merger::new(&params, 640).unwrap();
            counter.absorb(bytes).is_err() && merger.absorb(bytes).is_err() && Judge::new(&params).absorb(bytes).is_err()
        };
        prop_assert!(refuses_all(&bytes));
        let mut counter = Counter::new(job(case)).unwrap();
        counter.add(given(&rows), control).unwrap();
        let mut partial = Partial::new(with(params.clone(), job(case)), 640).unwrap();
        partial.add(given(&rows), control).unwrap();
        let parts = counter.parts(4, 1 << 20).unwrap().into_iter().map(|(_, bytes)| bytes);
        for mut part in parts.chain(partial.drain().into_iter().map(|(_, bytes)| bytes)) {
            let at = at.index(part.len());
            part[at] ^= 1 << bit;
            prop_assert!(refuses_all(&part));
            part[at] ^= 1 << bit;
            part.pop();
            prop_assert!(refuses_all(&part));
        }
    }

    /// Sealed as if a counter, a partial or a gatherer had written it: no panic, whatever it says.
    #[test]
    fn parts_that_say_anything_do_no_harm(bytes in prop::collection::vec(prop_oneof![Just(0u8), Just(1), 0u8..8, any::<u8>()], 0..200)) {
        probe(&bytes);
    }
}

fn params_of(case: Case, rows: &[(u8, u16)]) -> Params {
    let mut counter = Counter::new(job(case)).unwrap();
    counter.add(given(rows), &Control::default()).unwrap();
    counter.add(given(&[(1, 1), (2, 2)]), &Control::default()).unwrap();
    match counter.conclude(None, 1, &Control::default()).unwrap() {
        Outcome::Params { params, .. } => *params,
        Outcome::Built { .. } => unreachable!("no path was given"),
    }
}

fn probe(bytes: &[u8]) {
    parts(bytes);
}

/// Found by fuzzing: it was looked for at a place that no group had.
#[test]
fn keys_of_a_group_without_rows_are_no_reason_to_panic() {
    let mut bytes = vec![0; 61];
    (bytes[13], bytes[18], bytes[34], bytes[55]) = (37, 1, 2, 128);
    parts(&bytes);
}

#[test]
fn parts_of_another_job_are_refused() {
    let (one, other) = (
        params_of(Case::Kind(Kind::Blocked), &[(1, 1)]),
        params_of(Case::Kind(Kind::Blocked), &[(1, 9), (2, 3), (2, 5), (2, 7)]),
    );
    let with = with(one, job(Case::Kind(Kind::Blocked)));
    let mut partial = Partial::new(with, 640).unwrap();
    partial.add(given(&[(1, 1)]), &Control::default()).unwrap();
    let error = Merger::new(&other, 640).unwrap().absorb(&partial.drain()[0].1).unwrap_err();
    assert!(error.to_string().contains("other parameters"), "{error}");
}

/// Found by fuzzing: such a weight stayed behind when a merger was drained.
#[test]
fn a_tally_with_a_weight_but_no_rows_is_refused() {
    let params = params_of(Case::Kind(Kind::CountMin), &[(1, 1)]);
    let tally = |digest, rows: u64, weight: u64| {
        let mut out = Writer::new(Content::Tally, digest);
        out.u64(0); // rows left out
        out.u32(0); // the group
        out.u64(rows);
        out.u64(weight);
        out.finish()
    };
    let mut merger = Merger::new(&params, 640).unwrap();
    let error = merger.absorb(&tally(merger.digest(), 0, 7)).unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
    assert!(merger.drain().is_empty());
    merger.absorb(&tally(merger.digest(), 1, 7)).unwrap();
    assert_eq!(merger.drain(), [(-1, tally(merger.digest(), 1, 7))]);

    let mut bytes = vec![0; 28];
    bytes[20] = 7;
    parts(&bytes);
}

/// Found with more cases than usual of the test above: their sum went beyond the largest number.
#[test]
fn rows_of_groups_that_add_up_to_too_many_do_not_panic() {
    let mut counter = Counter::new(job(Case::Kind(Kind::Layered))).unwrap();
    let mut out = Writer::new(Content::Counts, counter.digest());
    out.bytes(&[0, 1]); // nothing is estimated, and there are keywords
    out.u64(0); // rows left out
    out.u64(7); // keywords in all
    out.u32(2); // groups
    for name in [b"a", b"b"] {
        out.u32(1);
        out.bytes(name);
        out.u64(u64::MAX / 2 + 1);
    }
    out.bytes(&[0; 10]); // no hashes of records, none of keywords
    counter.absorb(&out.finish()).unwrap();
    // Whether rows without keys can be planned for is another question.
    let _ = counter.conclude(None, 1, &Control::default());
}

#[test]
fn what_was_written_is_read_back() {
    let mut out = Writer::new(Content::Keys, 7);
    assert!(out.is_empty());
    out.u8(1);
    out.u32(2);
    out.u64(3);
    out.words(&[4, 5]);
    out.bytes(b"six");
    let bytes = out.finish();
    let mut part = Reader::open(&bytes, 7).unwrap();
    assert_eq!(part.content, Content::Keys);
    assert_eq!((part.u8().unwrap(), part.u32().unwrap(), part.u64().unwrap()), (1, 2, 3));
    assert_eq!(part.words(2).unwrap(), [4, 5]);
    assert!(part.clone().words(usize::MAX).is_err() && part.done().is_err());
    assert_eq!(part.remaining(), b"six");
    part.done().unwrap();
    assert!(Reader::open(&bytes, 8).is_err());
}
