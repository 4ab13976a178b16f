//! The law of the sieve, against an oracle that asks key by key: the same bytes whatever the
//! threads and chunks, for every kind and every way to ask.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tamis::hash::Scheme;
use tamis::params::Common;

use super::*;
use crate::query::Asker;
use crate::request::at_rate;
use tamis_make::build::{self, Bits, FilterSizing, Sketches};
use tamis_make::exact::LEAST_MEMORY;
use tamis_make::plan::Size;
use tamis_make::rows::OnBad;
use tamis_make::spread::Rows;

const GROUPS: [&str; 4] = ["1", "2", "10", "a,b"];

/// Filters of 200 keys in four groups, tight enough to err now and then.
fn build(folder: &Path, kind: Kind, hash: Scheme) -> PathBuf {
    let table = folder.join("members.csv");
    let rows = (0..200).map(|i| format!("k{i},\"{}\"\n", GROUPS[i % 4]));
    fs::write(&table, "key,group\n".to_owned() + &rows.collect::<String>()).unwrap();
    let recipe = Recipe {
        key: vec!["key:lower".parse().unwrap()],
        group: Some("group".parse().unwrap()),
        ..Recipe::lines()
    };
    let job = build::Job {
        inputs: vec![table.display().to_string()],
        options: tamis_read::Options::default(),
        sketches: at_rate(&Common { kind, hash, recipe: recipe.clone() }, 0.1).unwrap(),
        recipe,
        bad_rows: BadRows::Fail,
        threads: 1,
        memory: tamis_make::count::MEMORY,
        about: Default::default(),
    };
    let path = folder.join("members.tamis");
    match kind {
        Kind::Counting => build::build(&job, &path, &Control::default()),
        _ => build::build_exact(
            &build::Job { memory: LEAST_MEMORY, ..job.clone() },
            &path,
            &Control::default(),
        ),
    }
    .unwrap();
    // Every fifth key was removed.
    let gone = folder.join("gone.csv");
    let rows = (0..200).step_by(5).map(|i| format!("k{i},\"{}\"\n", GROUPS[i % 4]));
    fs::write(&gone, "key,group\n".to_owned() + &rows.collect::<String>()).unwrap();
    let job = build::Job { inputs: vec![gone.display().to_string()], ..job };
    build::build(&job, &folder.join("gone.tamis"), &Control::default()).unwrap();
    path
}

fn job(folder: &Path, input: &str) -> Job {
    Job {
        said: Said::default(),
        name: Name::default(),
        also: Vec::new(),
        removed: None,
        filters: folder.join("members.tamis"),
        inputs: vec![folder.join(input).display().to_string()],
        options: tamis_read::Options::default(),
        recipe: Recipe {
            key: vec!["id:lower".parse().unwrap()],
            group: Some("of".parse().unwrap()),
            ..Recipe::lines()
        },
        ask: Ask::Any,
        extent: Extent::Record,
        invert: false,
        tag: None,
        output: Destination::File(folder.join("out")),
        rejected: Some(folder.join("rejected")),
        format: None,
        codec: None,
        bad_rows: BadRows::Skip,
        threads: 1,
        strict: None,
    }
}

/// A row: its key, its group, something else, and its line end.
#[derive(Debug, Clone)]
struct Row {
    key: String,
    group: String,
    other: String,
    end: &'static str,
}

impl Row {
    fn text(&self) -> String {
        let field = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        format!("{},{},{}{}", field(&self.other), self.key, field(&self.group), self.end)
    }
}

fn row() -> impl Strategy<Value = Row> {
    // Some keys are members, some are not, some are invalid.
    let key = prop_oneof![8 => (0u32..600).prop_map(|i| format!("K{i}")), 1 => Just(String::new()), 1 => Just("\\N".into())];
    let group = prop::sample::select(&["1", "2", "10", "a,b", "none"][..]);
    let end = prop::sample::select(&["\n", "\r\n"][..]);
    (key, group, "[a-z,\n\"]{0,9}", end).prop_map(|(key, group, other, end)| Row {
        key,
        group: group.into(),
        other,
        end,
    })
}

/// What the job should write: what passes, and what does not.
fn oracle(job: &Job, rows: &[Row]) -> [String; 2] {
    let file = files::open(&job.filters).unwrap();
    let removed = job.removed.as_ref().map(|path| RemovedKeys::open(path, file.params()).unwrap());
    let mut asker = Asker::new(&file).unwrap();
    if let Some(removed) = &removed {
        asker = asker.without(removed).unwrap();
    }
    let header = match &job.tag {
        Some(name) => format!("other,id,of,{name}\n"),
        None => "other,id,of\n".to_owned(),
    };
    let mut texts = [header.clone(), header];
    for row in rows {
        let mut groups: Vec<String> = match asker.ask(row.key.as_bytes()) {
            Ok(groups) => groups.iter().map(|name| name.to_string()).collect(),
            Err(_) => Vec::new(),
        };
        if job.strict.is_some() {
            let member = row.key.strip_prefix('K').and_then(|i| i.parse::<usize>().ok()).filter(|i| *i < 200);
            groups = member.map(|i| GROUPS[i % 4].to_owned()).into_iter().collect();
        }
        let admitted = match &job.ask {
            Ask::Any => !groups.is_empty(),
            Ask::Group(name) => groups.contains(&name.to_string()),
            Ask::Own => groups.contains(&row.group),
        };
        let mut text = row.text();
        if job.tag.is_some() {
            let joined = groups.iter().map(|name| name.replace(',', "\\,")).collect::<Vec<_>>().join(",");
            let quoted = if joined.contains(',') { format!("\"{joined}\"") } else { joined };
            text = format!("{},{quoted}{}", text.strip_suffix(row.end).unwrap(), row.end);
        }
        texts[usize::from(admitted == job.invert)].push_str(&text);
    }
    texts
}

fn kinds() -> impl Strategy<Value = (Kind, Scheme)> {
    prop::sample::select(
        &[
            (Kind::Blocked, Scheme::DEFAULT),
            (Kind::Bloom, Scheme::DEFAULT),
            (Kind::Fuse, Scheme::DEFAULT),
            (Kind::Ribbon, Scheme::DEFAULT),
            (Kind::Bloom, Scheme::Murmur3),
            (Kind::Bloom, Scheme::Polynomial { seed: 3 }),
            (Kind::Counting, Scheme::DEFAULT),
        ][..],
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_passes_is_what_an_oracle_lets_pass_byte_for_byte(
        (kind, hash) in kinds(),
        rows in prop::collection::vec(row(), 0..60),
        ask in prop::sample::select(vec![Ask::Any, Ask::Own, Ask::Group(Name(b"10".to_vec()))]),
        invert: bool, tagged: bool, pair: bool, threads in 1usize..5, chunk in 1usize..300,
        strict in prop::sample::select(&[None, Some(0), Some(300), Some(LEAST_MEMORY)][..]),
    ) {
        let folder = tempfile::tempdir().unwrap();
        build(folder.path(), kind, hash);
        let text: String = rows.iter().map(Row::text).collect();
        fs::write(folder.path().join("t.csv"), format!("other,id,of\n{text}")).unwrap();
        let tag = tagged.then(|| "groups".to_owned());
        let strict = strict.filter(|_| kind != Kind::Counting && !pair);
        let removed = pair.then(|| folder.path().join("gone.tamis"));
        let job = Job { ask, invert, tag, threads, strict, removed, ..job(folder.path(), "t.csv") };
        let report = filter_in_chunks(&job, Some(chunk), &Control::default()).unwrap();
        let [passed, rejected] = oracle(&job, &rows);
        prop_assert_eq!(fs::read_to_string(folder.path().join("out")).unwrap(), passed);
        prop_assert_eq!(fs::read_to_string(folder.path().join("rejected")).unwrap(), rejected);
        let keyless = rows.iter().filter(|row| !row.key.starts_with('K')).count() as u64;
        prop_assert_eq!((report.records, report.keyless), (rows.len() as u64, keyless));
    }

    #[test]
    fn what_passes_does_not_depend_on_how_lines_are_spread(
        (kind, hash) in kinds(),
        rows in prop::collection::vec(row(), 0..60),
        group in prop::sample::select(vec![None, Some("10")]),
        invert: bool, piece in 1usize..60,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let filters = build(folder.path(), kind, hash);
        let file = files::open(&filters).unwrap();
        let ask = group.map_or(Ask::Any, |name| Ask::Group(Name(name.into())));
        let job = Job { ask, invert, ..job(folder.path(), "none") };
        let question = apart::Question {
            group: group.and_then(|name| file.params().find(name.as_bytes())),
            recipe: job.recipe.clone(),
            extent: Extent::Record,
            invert,
            on_bad: OnBad::Skip,
        };
        let header = "other,id,of\n";
        let (mut passed, mut records, mut keyless) = (header.as_bytes().to_vec(), 0, 0);
        for rows in rows.chunks(piece) {
            let text: String = rows.iter().map(Row::text).collect();
            let options = tamis_read::Options { format: Some(Format::Csv), ..tamis_read::Options::default() };
            let (lines, name) = ((header.to_owned() + &text).into_bytes(), "some lines".into());
            let lines = Rows::Text { lines, options, name };
            let (text, sieved) = apart::sieve(&file, &question, lines, &Control::default()).unwrap();
            passed.extend(text);
            records += sieved.records;
            keyless += sieved.keyless;
        }
        let [expected, _] = oracle(&job, &rows);
        prop_assert_eq!(String::from_utf8(passed).unwrap(), expected);
        let expected = rows.iter().filter(|row| !row.key.starts_with('K')).count() as u64;
        prop_assert_eq!((records, keyless), (rows.len() as u64, expected));
    }
}

/// Filters that let everything pass: only the keys themselves can tell.
#[test]
fn strict_is_a_join_whatever_the_filters_say() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let members: String = (0..3000).map(|i| format!("{}\n", i * i)).collect();
    fs::write(folder.join("members.txt"), members).unwrap();
    let build = build::Job {
        inputs: vec![folder.join("members.txt").display().to_string()],
        options: tamis_read::Options::default(),
        sketches: Sketches::Bits {
            kind: Bits::Blocked,
            hash: tamis::hash::Single::DEFAULT,
            sizing: FilterSizing::Planned(1, Size::Fpr(0.5).into()),
        },
        recipe: Recipe::lines(),
        bad_rows: BadRows::Fail,
        threads: 2,
        memory: tamis_make::count::MEMORY,
        about: Default::default(),
    };
    build::build_exact(&build, &folder.join("members.tamis"), &Control::default()).unwrap();
    let lines: Vec<String> = (0..20_000).map(|i| format!("{}\n", i * 7 % 20_000)).collect();
    fs::write(folder.join("t.txt"), lines.concat()).unwrap();
    let expected: String = lines
        .iter()
        .filter(|line| {
            let root = line.trim().parse::<f64>().unwrap().sqrt();
            root == root.floor() && root < 3000.0
        })
        .map(String::as_str)
        .collect();
    for (threads, memory) in [(1, 0), (3, 0), (2, 10_000), (2, LEAST_MEMORY)] {
        let strict = Some(memory);
        let job = Job { recipe: Recipe::lines(), threads, strict, ..job(folder, "t.txt") };
        let report = filter_in_chunks(&job, Some(1000), &Control::default()).unwrap();
        assert!(fs::read_to_string(folder.join("out")).unwrap() == expected, "{threads} {memory}");
        assert!(report.refuted.unwrap() > 10_000, "the filter is full, nearly");
        assert_eq!(report.admitted as usize, expected.lines().count());
    }
}

/// Short records are copied whether they are wanted or not; long ones are not.
#[test]
fn records_of_all_lengths_are_copied_whole() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), Kind::Blocked, Scheme::DEFAULT);
    let rows: Vec<Row> = (0..3000)
        .map(|i| Row {
            key: format!("k{}", i * 7 % 400),
            group: "1".into(),
            other: "x".repeat(i % 97),
            end: "\n",
        })
        .collect();
    let text: String = rows.iter().map(Row::text).collect();
    fs::write(folder.path().join("t.csv"), format!("other,id,of\n{text}")).unwrap();
    for threads in [1, 2, 3] {
        let job = Job { threads, ..job(folder.path(), "t.csv") };
        filter(&job, &Control::default()).unwrap();
        let [passed, rejected] = oracle(&job, &rows);
        assert!(fs::read_to_string(folder.path().join("out")).unwrap() == passed);
        assert!(fs::read_to_string(folder.path().join("rejected")).unwrap() == rejected);
    }
}

/// The mean over many sets: the rule that the report states.
#[test]
fn false_admissions_are_as_many_as_the_report_expects() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), Kind::Blocked, Scheme::DEFAULT);
    let table: String = (0..100_000).map(|i| format!("x,k{i},{}\n", i % 4)).collect();
    fs::write(folder.path().join("t.csv"), format!("other,id,of\n{table}")).unwrap();
    let job = Job { output: Destination::Nowhere, rejected: None, ..job(folder.path(), "t.csv") };
    let report = filter(&job, &Control::default()).unwrap();
    let (found, expected) = ((report.admitted - 200) as f64, report.false_admissions.unwrap());
    // Five standard deviations.
    assert!((found - expected).abs() < 5.0 * expected.sqrt(), "{found} found, {expected} expected");
}
