//! Tables in memory are built, planned and asked as files are.

use std::ops::Range;
use std::sync::Arc;

use proptest::prelude::*;
use tamis::about::Classes;
use tamis::hash::Scheme;
use tamis::key::Recipe;
use tamis::params::{Common, Params};
use tamis::sizing::Kind;
use tamis_jobs::ask::Extent;
use tamis_jobs::lookup::{Lookup, contains_one};
use tamis_jobs::request::{ByHand, Counting, Sizes, sketches};
use tamis_make::build::{self, Given, Hashed, Job, Sketches};
use tamis_make::files;
use tamis_make::memory::{Builder, build, build_hashed, plan};
use tamis_make::merge::merge_in_memory;
use tamis_make::rows::{BadRows, OnBad};
use tamis_read::refusal::Refusal;
use tamis_read::table::Asked;
use tamis_read::{Cells, Control, Fault, Table};

type Rows = Vec<(u8, u16)>;

/// Keys, groups and weights of 1 to 3, as text, in parts of this many rows.
struct Texts(Vec<[String; 3]>, usize);

impl Texts {
    fn of(rows: &[(u8, u16)], part: usize) -> Arc<Texts> {
        let row =
            |&(group, key): &(u8, u16)| [format!("k{key}"), format!("g{group}"), (1 + key % 3).to_string()];
        Arc::new(Texts(rows.iter().map(row).collect(), part))
    }
}

impl Table for Texts {
    fn columns(&self) -> Option<Vec<String>> {
        Some(["key", "group", "weight"].map(String::from).to_vec())
    }

    fn check(&self, _: usize) -> Result<(), Box<dyn Refusal>> {
        Ok(())
    }

    fn parts(&self) -> usize {
        self.0.len().div_ceil(self.1)
    }

    fn rows(&self, part: usize) -> usize {
        self.1.min(self.0.len() - part * self.1)
    }

    fn fill<'a>(
        &'a self,
        part: usize,
        column: usize,
        rows: Range<usize>,
        _: &'a mut Vec<u8>,
        cells: &mut Cells<'_, 'a>,
    ) -> Result<(), Fault> {
        let rows = &self.0[part * self.1..][rows];
        cells.set_all(rows.iter().map(|row| Some(row[column].as_bytes())));
        Ok(())
    }
}

fn job(kind: Kind, threads: usize) -> Job {
    let weight = kind.counts().then(|| "weight".parse().unwrap());
    let recipe = Recipe {
        key: vec!["key".parse().unwrap()],
        group: Some("group".parse().unwrap()),
        weight,
        ..Recipe::lines()
    };
    let common = Common { kind, hash: Scheme::DEFAULT, recipe };
    let counting = Counting { epsilon: Some(0.05), delta: Some(0.1), ..Counting::default() };
    let counting = if kind.counts() { counting } else { Counting::default() };
    Job {
        inputs: Vec::new(),
        options: tamis_read::Options::default(),
        sketches: sketches(&common, None, (&Sizes::default(), &ByHand::default(), &counting), None, false)
            .unwrap(),
        recipe: common.recipe,
        bad_rows: BadRows::Fail,
        threads,
        memory: tamis_make::count::MEMORY,
        about: Default::default(),
    }
}

/// The same for given parameters.
fn with(params: Params, kind: Kind, threads: usize) -> Job {
    let given = Given::new(params, false, None).unwrap();
    Job { sketches: Sketches::Given(given), ..job(kind, threads) }
}

/// Keys without a column.
#[derive(Clone)]
struct Lines(Vec<String>);

impl Table for Lines {
    fn columns(&self) -> Option<Vec<String>> {
        None
    }

    fn check(&self, _: usize) -> Result<(), Box<dyn Refusal>> {
        Ok(())
    }

    fn parts(&self) -> usize {
        1
    }

    fn rows(&self, _: usize) -> usize {
        self.0.len()
    }

    fn fill<'a>(
        &'a self,
        _: usize,
        _: usize,
        rows: Range<usize>,
        _: &'a mut Vec<u8>,
        cells: &mut Cells<'_, 'a>,
    ) -> Result<(), Fault> {
        cells.set_all(self.0[rows].iter().map(|line| Some(line.as_bytes())));
        Ok(())
    }
}

/// Sketches of them, planned for this many keys where it is said.
fn lines_job(kind: Kind, threads: usize, keys: Option<u64>) -> Job {
    let common = Common { kind, hash: Scheme::DEFAULT, recipe: Recipe::lines() };
    let sizes = Sizes { keys, ..Sizes::default() };
    let all = (&sizes, &ByHand::default(), &Counting::default());
    let sketches = sketches(&common, None, all, None, false).unwrap();
    Job { sketches, recipe: common.recipe, ..job(kind, threads) }
}

fn rows() -> impl Strategy<Value = Rows> {
    prop::collection::vec((0u8..4, 0u16..300), 1..400)
}

const KINDS: [Kind; 7] = [
    Kind::Blocked,
    Kind::Bloom,
    Kind::Fuse,
    Kind::Ribbon,
    Kind::CountMin,
    Kind::CountMinConservative,
    Kind::Counting,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_bytes_are_those_of_a_file_that_is_built_of_the_same_rows(rows in rows(), part in 1usize..500, threads in 1usize..4, kind in 0..KINDS.len()) {
        let folder = tempfile::tempdir().unwrap();
        let text: String = Texts::of(&rows, 1).0.iter().map(|row| row.join(",") + "\n").collect();
        let (csv, file) = (folder.path().join("rows.csv"), folder.path().join("rows.tamis"));
        std::fs::write(&csv, format!("key,group,weight\n{text}")).unwrap();
        let job = Job { inputs: vec![csv.display().to_string()], ..job(KINDS[kind], threads) };
        build::build(&job, &file, &Control::default()).unwrap();
        let kept = build(&job, Texts::of(&rows, part), &Control::default()).unwrap().file;
        prop_assert!(kept.bytes() == std::fs::read(&file).unwrap());
        prop_assert!(files::from_bytes(kept.bytes()).unwrap().bytes() == kept.bytes());
    }

    #[test]
    fn keys_that_come_as_their_hashes_give_the_bytes_of_a_table(rows in rows(), threads in 1usize..4, kind in 0usize..5, sizing in 0usize..3) {
        let kind = [Kind::Blocked, Kind::Bloom, Kind::Fuse, Kind::Ribbon, Kind::Counting][kind];
        let lines = Lines(rows.iter().map(|(group, key)| format!("{group}-{}", key % 50)).collect());
        let whole = lines_job(kind, threads, None);
        let job = match sizing {
            0 => whole,
            1 if !kind.is_static() => lines_job(kind, threads, Some(70)),
            _ => {
                let params = plan(&whole, Arc::new(lines.clone()), &Control::default()).unwrap();
                Job { sketches: Sketches::Given(Given::new(params, false, None).unwrap()), ..whole }
            }
        };
        let hash = job.takes_hashes().unwrap();
        let hashes = lines.0.iter().map(|line| hash.hash(line.as_bytes())).collect();
        let keys = Hashed { hashes, classes: Classes::TEXT };
        let built = build_hashed(&job, keys, &Control::default()).unwrap();
        let expected = build(&job, Arc::new(lines), &Control::default()).unwrap();
        prop_assert!(built.file.bytes() == expected.file.bytes());
        prop_assert_eq!((built.skipped, built.estimated), (expected.skipped, expected.estimated));
    }

    #[test]
    fn parts_that_share_parameters_merge_to_the_whole(rows in rows(), cut in 0usize..400, kind in 0usize..3) {
        let kind = [Kind::Blocked, Kind::CountMin, Kind::Counting][kind];
        let cut = cut % rows.len();
        let whole = Texts::of(&rows, 50);
        let params = plan(&job(kind, 1), whole.clone(), &Control::default()).unwrap();
        let job = with(params, kind, 2);
        let built = |rows: &[(u8, u16)]| build(&job, Texts::of(rows, 70), &Control::default()).unwrap().file;
        let parts = [built(&rows[..cut]), built(&rows[cut..])];
        let names = ["a".into(), "b".into()];
        let merged = merge_in_memory(&[&parts[1], &parts[0]], &names, None, 2, &Control::default()).unwrap();
        prop_assert!(merged.bytes() == built(&rows).bytes());
    }

    #[test]
    fn tables_that_come_one_by_one_give_the_bytes_of_all_at_once(rows in rows(), part in 1usize..200, threads in 1usize..3, kind in 0usize..5) {
        let kind = [Kind::Blocked, Kind::Bloom, Kind::CountMin, Kind::CountMinConservative, Kind::Counting][kind];
        let params = plan(&job(kind, 1), Texts::of(&rows, 50), &Control::default()).unwrap();
        let job = with(params, kind, threads);
        let whole = build(&job, Texts::of(&rows, 50), &Control::default()).unwrap().file;
        let mut builder = Builder::new(job).unwrap();
        for rows in rows.chunks(part) {
            builder.add(Texts::of(rows, 50), &Control::default()).unwrap();
        }
        prop_assert!(builder.finish().unwrap().file.bytes() == whole.bytes());
    }

    #[test]
    fn many_keys_are_answered_as_each_alone(known in rows(), asked in rows(), part in 1usize..500, kind in 0usize..5) {
        let kind = KINDS[kind];
        let file = build(&job(kind, 1), Texts::of(&known, 100), &Control::default()).unwrap().file;
        let table = Texts::of(&asked, part);
        let columns = [tamis::key::Column::Name("key".into())];
        let asked = Asked::new(table.clone(), &columns).unwrap();
        for group in [None, Some(0)] {
            let lookup = Lookup::new(&file, group, Extent::Record).unwrap();
            let found = lookup.contains(&asked, OnBad::Fail, 2, &Control::default()).unwrap();
            let groups = lookup.groups(&asked, OnBad::Fail, 2, &Control::default()).unwrap();
            for (i, row) in table.0.iter().enumerate() {
                let (in_part, row_in_part) = (i / part, i % part);
                let key = [Some(row[0].as_bytes())];
                let bit = found[in_part][row_in_part / 64] >> (row_in_part % 64) & 1;
                prop_assert_eq!(bit == 1, contains_one(&file, group, &key).unwrap().unwrap());
                let one: Vec<u32> = lookup.groups_one(&key).unwrap().into_iter().map(|group| group as u32).collect();
                prop_assert_eq!(&groups[in_part][row_in_part], &one);
            }
            if kind.counts() && group.is_some() {
                let estimates = lookup.estimates(&asked, OnBad::Fail, 2, &Control::default()).unwrap();
                for (i, row) in table.0.iter().enumerate() {
                    let one = lookup.estimates_one(&[Some(row[0].as_bytes())]).unwrap();
                    prop_assert_eq!(estimates[i / part][i % part], one[0].1);
                }
            }
        }
    }
}

#[test]
fn a_table_that_fails_spoils_what_it_was_added_to() {
    let known = Texts::of(&[(1, 1)], 1);
    let params = plan(&job(Kind::Blocked, 1), known.clone(), &Control::default()).unwrap();
    let job = with(params, Kind::Blocked, 1);
    let mut builder = Builder::new(job.clone()).unwrap();
    builder.add(known.clone(), &Control::default()).unwrap();
    let error = builder.add(Texts::of(&[(1, 1), (2, 1)], 9), &Control::default()).unwrap_err();
    assert!(error.to_string().starts_with("row 1 (counted from 0): group \"g2\" is not in"), "{error}");
    assert!(builder.add(known, &Control::default()).is_err());
    assert!(builder.finish().unwrap_err().to_string().contains("start again"));
}

#[test]
fn hashes_do_in_place_of_rows_only_where_nothing_else_of_a_row_is_asked_for() {
    assert!(lines_job(Kind::Blocked, 1, None).takes_hashes().is_some());
    for kind in [Kind::Blocked, Kind::Bloom, Kind::Counting] {
        assert!(job(kind, 1).takes_hashes().is_none(), "its keys have a column and groups");
    }
    let steps = Recipe { key: vec![":lower".parse().unwrap()], ..Recipe::lines() };
    assert!(Job { recipe: steps, ..lines_job(Kind::Blocked, 1, None) }.takes_hashes().is_none());
    let aside = BadRows::SetAside("bad.ndjson".into());
    assert!(Job { bad_rows: aside, ..lines_job(Kind::Blocked, 1, None) }.takes_hashes().is_none());
}
