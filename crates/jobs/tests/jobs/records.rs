//! Records of several keywords, from tables to files, against a naive model written from the
//! definition in `tamis::layered`.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tamis::bloom::positions;
use tamis::hash::{Scheme, xxh3};
use tamis::key::Recipe;
use tamis::params::{Common, Params};
use tamis::sizing::Kind;
use tamis_jobs::check;
use tamis_jobs::query::Asker;
use tamis_make::build::{self, Addition, Job};
use tamis_make::plan::Size;
use tamis_make::rows::BadRows;
use tamis_make::{files, merge};
use tamis_read::{Control, Options};

use crate::tables::{self, AnySizing};

/// A group and the numbers of keywords, which may repeat.
type Rows = Vec<(u8, Vec<u8>)>;

fn recipe() -> Recipe {
    let key = vec!["tags:split=;,upper".parse().unwrap()];
    Recipe { key, group: Some("group".parse().unwrap()), weight: None, null: None, ..Recipe::lines() }
}

fn text(tags: &[u8]) -> String {
    tags.iter().map(|tag| format!(" w{tag} ")).collect::<Vec<_>>().join(";")
}

/// The keywords that the recipe makes: distinct, in their first order.
fn keywords(tags: &[u8]) -> Vec<String> {
    let mut made: Vec<String> = Vec::new();
    for tag in tags {
        let word = format!("W{tag}");
        if !made.contains(&word) {
            made.push(word);
        }
    }
    made
}

fn table(path: &Path, rows: &[(u8, Vec<u8>)]) -> String {
    let lines: String = rows.iter().map(|(group, tags)| format!("{group},{}\n", text(tags))).collect();
    fs::write(path, format!("group,tags\n{lines}")).unwrap();
    path.display().to_string()
}

fn job(inputs: Vec<String>, sizing: AnySizing, layers: Option<u32>, threads: usize) -> Job {
    let common = Common { kind: Kind::Layered, hash: Scheme::DEFAULT, recipe: recipe() };
    let sketches = sizing.of(&common, layers, None, false);
    tables::job_of(inputs, &common, sketches, threads)
}

fn built(job: &Job, folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    build::build(job, &path, &Control::default()).unwrap();
    path
}

/// The bits of a record, as the definition has them: layer and address.
fn bits(record: &[String], m: u64, k: u32, layers: usize) -> Vec<(usize, u64)> {
    let address = |word: &String, j: usize| positions(xxh3(word.as_bytes(), 0), m, k).nth(j).unwrap();
    let mut bits = Vec::new();
    for j in 0..k as usize {
        let each = record.iter().enumerate().map(|(i, word)| (i % layers, address(word, j)));
        bits.extend(each);
        bits.push((layers, record.iter().map(|word| address(word, j)).fold(0, |folded, a| folded ^ a)));
    }
    bits
}

fn rows() -> impl Strategy<Value = Rows> {
    prop::collection::vec((0u8..3, prop::collection::vec(0u8..50, 1..9)), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn the_file_holds_the_bits_of_the_definition(rows in rows(), asked in prop::option::of(1u32..9), threads in 1usize..4) {
        let folder = tempfile::tempdir().unwrap();
        let input = table(&folder.path().join("t.csv"), &rows);
        let path = built(&job(vec![input.clone()], AnySizing::Count(Size::Fpr(0.05)), asked, threads), folder.path(), "a.tamis");
        let file = files::open(&path).unwrap();
        let all: usize = rows.iter().map(|(_, tags)| keywords(tags).len()).sum();
        let k = 4; // the best at 0.05
        let from_data = (all as f64 / rows.len() as f64 / f64::from(k)).round_ties_even().max(1.0) as u32;
        let mut sets: Vec<HashSet<(usize, u64)>> = Vec::new();
        for (at, group) in file.params().groups.iter().enumerate() {
            let name: u8 = group.group.to_string().parse().unwrap();
            let members = || rows.iter().filter(|(of, _)| *of == name).map(|(_, tags)| keywords(tags));
            prop_assert_eq!(group.shape.layers(), asked.unwrap_or(from_data));
            prop_assert_eq!(group.shape.hashes(), k);
            prop_assert!(group.shape.slots().is_power_of_two());
            let records: HashSet<Vec<String>> = members().collect();
            let words: HashSet<String> = members().flatten().collect();
            prop_assert_eq!(group.keys() as usize, records.len().max(words.len()));
            let layers = group.shape.layers() as usize;
            let set: HashSet<(usize, u64)> = members().flat_map(|record| bits(&record, group.shape.slots(), k, layers)).collect();
            let section = file.section(at);
            for layer in 0..=layers {
                for address in 0..group.shape.slots() {
                    let bit = layer as u64 * group.shape.slots() + address;
                    let is_set = section[(bit / 64) as usize] >> (bit % 64) & 1 == 1;
                    prop_assert_eq!(is_set, set.contains(&(layer, address)));
                }
            }
            sets.push(set);
        }

        // Query and test say what the sets say, and no record is lost.
        let mut asker = Asker::new(&file).unwrap();
        let mut expected = vec![0u64; sets.len()];
        let mut distinct: HashSet<Vec<String>> = HashSet::new();
        for (_, tags) in &rows {
            let found = asker.ask(text(tags).as_bytes()).unwrap();
            let record = keywords(tags);
            let fresh = distinct.insert(record.clone());
            for (at, group) in file.params().groups.iter().enumerate() {
                let shape = group.shape;
                let has = bits(&record, shape.slots(), k, shape.layers() as usize).iter().all(|bit| sets[at].contains(bit));
                prop_assert_eq!(has, found.contains(&&group.group));
                let member = rows.iter().any(|(of, tags)| of.to_string() == group.group.to_string() && keywords(tags) == record);
                prop_assert!(has || !member);
                expected[at] += u64::from(fresh && has && !member);
            }
        }
        let test = check::Job {
            said: tamis_make::foreign::Said::default(),
            filters: path.clone(), removed: None, inputs: vec![input], options: Options::default(), recipe: recipe(),
            negatives: Vec::new(), random: 0, seed: 0, adversary: 0, bad_rows: BadRows::Fail, threads,
        };
        let report = check::check(&test, &Control::default()).unwrap();
        prop_assert_eq!(report.false_negatives(), 0);
        prop_assert_eq!(report.keys as usize, distinct.len());
        let false_positives: Vec<u64> = report.groups.iter().map(|group| group.filter.as_ref().unwrap().false_positives).collect();
        prop_assert_eq!(false_positives, expected);
    }

    #[test]
    fn the_bytes_do_not_depend_on_threads_order_or_splitting(rows in rows(), cut in 0usize..120, threads in 1usize..5) {
        let folder = tempfile::tempdir().unwrap();
        let sizing = AnySizing::Count(Size::Fpr(0.05));
        let whole = table(&folder.path().join("whole.csv"), &rows);
        let one = built(&job(vec![whole], sizing.clone(), None, 1), folder.path(), "one.tamis");
        let mut turned = rows.clone();
        turned.reverse();
        let cut = cut % (rows.len() + 1);
        let parts = [&turned[..cut], &turned[cut..]];
        let parts = parts.iter().enumerate().map(|(i, rows)| table(&folder.path().join(format!("{i}.csv")), rows)).collect();
        let other = built(&job(parts, sizing, None, threads), folder.path(), "other.tamis");
        prop_assert!(fs::read(one).unwrap() == fs::read(other).unwrap());
    }

    #[test]
    fn a_merge_is_the_filter_of_the_union(left in rows(), right in rows(), threads in 1usize..4) {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (table(&folder.path().join("a.csv"), &left), table(&folder.path().join("b.csv"), &right));
        let both = vec![a.clone(), b.clone()];
        let size = Size::Fpr(0.05);
        let params = build::plan(&job(both.clone(), AnySizing::Count(size), None, threads), &Control::default()).unwrap().params;
        let params = Params::from_json(&params.to_json()).unwrap();
        let one = |inputs: Vec<String>, name: &str| built(&job(inputs, AnySizing::Params(params.clone()), None, threads), folder.path(), name);
        let (a_file, b_file) = (one(vec![a], "a.tamis"), one(vec![b.clone()], "b.tamis"));
        let union = fs::read(one(both, "union.tamis")).unwrap();
        let merged = folder.path().join("merged.tamis");
        merge::merge(&[b_file, a_file.clone()], &merged, threads, &Control::default()).unwrap();
        prop_assert!(fs::read(&merged).unwrap() == union);
        let addition = Addition { inputs: vec![b], options: Options::default(), recipe: recipe(), bad_rows: BadRows::Fail, distinct: false, new_groups: false, threads };
        build::add(&a_file, &addition, &Control::default()).unwrap();
        prop_assert!(fs::read(&a_file).unwrap() == union);
    }
}

/// Filters this large are shared by threads, range by range.
#[test]
fn threads_that_share_one_large_filter_build_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Rows = (0..20_000u32).map(|i| ((i % 3) as u8, i.to_le_bytes()[..3].to_vec())).collect();
    let input = table(&folder.path().join("t.csv"), &rows);
    let sizing = AnySizing::Keys(4_000_000, Size::Fpr(0.05));
    let bytes = |threads: usize| {
        fs::read(built(&job(vec![input.clone()], sizing.clone(), Some(2), threads), folder.path(), "x.tamis"))
            .unwrap()
    };
    let one = bytes(1);
    assert!(one.len() > 12 << 20);
    assert!(bytes(4) == one);
}

/// Counted by its records, whatever its keywords: another kind holds a record as one key.
#[test]
fn other_kinds_hold_a_record_as_one_key() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Rows = vec![(0, vec![1, 2]), (0, vec![2, 1]), (0, vec![1, 2, 1]), (0, vec![1])];
    let input = table(&folder.path().join("t.csv"), &rows);
    let common = Common { kind: Kind::Bloom, hash: Scheme::DEFAULT, recipe: recipe() };
    let sketches = AnySizing::Count(Size::Fpr(0.001)).of(&common, None, None, false);
    let job = tables::job_of(vec![input], &common, sketches, 1);
    let path = built(&job, folder.path(), "x.tamis");
    let file = files::open(&path).unwrap();
    assert_eq!(file.params().groups[0].keys(), 3);
    let mut asker = Asker::new(&file).unwrap();
    let mut has = |tags: &str| !asker.ask(tags.as_bytes()).unwrap().is_empty();
    assert!(has("w1;w2") && has("w2 ; w1;w2") && has("W1") && !has("w2") && !has("w1;w2;w3"));
}
