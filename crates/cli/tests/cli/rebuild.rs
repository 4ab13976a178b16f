//! `--rebuild-above`: filters that turn out too small are rebuilt, larger, and this is said.
#![cfg(target_os = "linux")]
use serde_json::Value;

use crate::stream::{keys, lines};
use crate::stream_crash::kill_often;
use crate::support::{Dice, Folder, container};

/// The keys for which the group with most of them is planned.
fn planned(folder: &Folder, file: &str) -> u64 {
    container(&folder.path(file)).params().groups.iter().map(|group| group.keys()).max().unwrap()
}

#[test]
fn filters_that_turn_out_too_small_are_those_of_a_larger_build() {
    let folder = Folder::with_ratings(5_000);
    folder.write("train.txt", lines(&keys(20_000, 30_000, 3)));
    for (number, (input, keys)) in [
        ("train.txt", 500),
        ("train.txt --kind bloom --fpr 0.001", 3_000),
        ("train.txt --hash murmur3", 1_000),
        ("train.txt --bits-per-key 12", 2_000),
        ("ratings.tsv --key tconst --group averageRating:round", 50),
    ]
    .into_iter()
    .enumerate()
    {
        for batch in [700, 1_000_000] {
            let state = format!("run-{number}-{batch}");
            let line = format!(
                "stream --train {input} --keys {keys} --rebuild-above 0.03 --batch {batch} --state {state} --json"
            );
            let done = folder.run(&line);
            assert_eq!(done.code, 0, "{line}: {}", done.err);
            let found: Value = done.out.parse().unwrap();
            assert!(found["enlarged"].as_u64().unwrap() > 0, "{line}: {found}");
            assert!(found["rate"].as_f64().unwrap() <= 0.03, "{line}: {found}");
            assert!(done.err.contains("rebuilt from the source"), "{}", done.err);
            let more = planned(&folder, &format!("{state}/filter.tamis"));
            assert!(more > keys && more.is_multiple_of(keys));
            folder.ok(&format!("build {input} --keys {more} -o built.tamis"));
            let same = folder.read("built.tamis") == folder.read(&format!("{state}/filter.tamis"));
            assert!(same, "{line}");
            // The next run goes on with the larger ones.
            let found = folder.json(&line.replace(" --json", ""));
            assert_eq!((found["rows"].as_u64(), found["enlarged"].as_u64()), (Some(0), Some(0)));
        }
    }
    // Enough from the start: nothing is done.
    let found = folder.json("stream --train train.txt --keys 30000 --rebuild-above 0.02");
    assert_eq!(found["enlarged"].as_u64(), Some(0));
}

#[test]
fn killed_at_any_moment_filters_are_made_anew_at_the_same_batch() {
    let mut dice = Dice(29);
    for options in ["--keys 300", "--keys 100 --key 1:prefix=6 --group 1:suffix=1 --delimiter , --no-header"]
    {
        let folder = Folder::new();
        folder.write("train.txt", lines(&keys(30_000, 20_000, 5)));
        folder.write("ask.txt", lines(&keys(20_000, 20_000, 6)));
        let line = format!(
            "stream --train train.txt --query ask.txt --batch 500 --threads 2 {options} --rebuild-above 0.02 -q"
        );
        let found = kill_often(&folder, &line, 6, &mut dice);
        assert!(found["enlarged"].as_u64().unwrap() >= 1, "{found}");
    }
}

#[test]
fn what_comes_once_grows_instead_and_this_is_said() {
    let folder = Folder::new();
    let text = lines(&keys(20_000, 30_000, 3));
    folder.write("train.txt", &text);
    let line = "stream --train - --keys 500 --rebuild-above 0.02 --every 1h";
    let done = folder.run_with(&format!("{line} --state state --json"), text.as_bytes());
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.err.contains("cannot be read again") && done.err.contains("have grown"), "{}", done.err);
    let found: Value = done.out.parse().unwrap();
    assert!(found["enlarged"].as_u64().unwrap() > 0 && found["rate"].as_f64().unwrap() <= 0.01, "{found}");
    folder.ok("test state/filter.tamis train.txt");
    let refused = folder.run_with(&format!("{line} --kind blocked"), text.as_bytes());
    refused.refused(line, 2, &["cannot be read again", "scalable"]);
}

#[test]
fn what_cannot_be_made_anew_is_refused_with_the_reason() {
    let folder = Folder::new();
    folder.write("a.txt", "1\n2\n");
    folder.write("b.txt", "1\n");
    folder.ok("plan a.txt -o params.json");
    for (options, says) in [
        ("--keys 9 --rebuild-above 0.001", "rebuilt forever"),
        ("--keys 9 --size 1kB --rebuild-above 0.5", "--size"),
        ("--params params.json --rebuild-above 0.5", "parameters fix the size"),
        ("--kind count-min --rebuild-above 0.5", "counts have no rate"),
        ("--keys 9 --window 1h --rebuild-above 0.5", "for more keys"),
        ("--kind counting --keys 9 --remove b.txt --rebuild-above 0.5", "what was removed"),
    ] {
        folder.refused(&format!("stream --train a.txt {options}"), 2, &[says]);
    }
    for rate in ["0", "1", "-1", "often"] {
        assert_eq!(folder.run(&format!("stream --train a.txt --keys 9 --rebuild-above {rate}")).code, 2);
    }
    folder.ok("build a.txt -o plain.tamis");
    folder.refused("add plain.tamis a.txt --rebuild-above 0.5", 1, &["plain.tamis", "--exact"]);
    folder.ok("build a.txt --kind count-min -o counts.tamis");
    folder.refused("add counts.tamis a.txt --rebuild-above 0.5", 1, &["blocked, bloom"]);
    folder.ok("build a.txt --exact -o exact.tamis");
    folder.refused("add exact.tamis a.txt --rebuild-above 0.001", 1, &["below it"]);
    folder.is_clean();
}

#[test]
fn add_makes_filters_anew_of_the_keys_beside_them() {
    let folder = Folder::with_ratings(9_000);
    let table = folder.text("ratings.tsv");
    let parts = crate::support::cut(&table, 9);
    folder.write("first.tsv", &parts[0]);
    let header = table.lines().next().unwrap();
    let rest: String = parts[1..].iter().map(|part| part.split_once('\n').unwrap().1).collect();
    folder.write("rest.tsv", format!("{header}\n{rest}"));
    for recipe in ["--key tconst", "--key tconst --group averageRating:round", "--key tconst --hash murmur3"]
    {
        folder.ok(&format!("build first.tsv {recipe} --exact -o f.tamis"));
        let before = planned(&folder, "f.tamis");
        let done = folder.run("add f.tamis rest.tsv --rebuild-above 0.02 --json");
        assert_eq!(done.code, 0, "{}", done.err);
        assert!(done.err.contains("rebuilt larger from the keys beside the file"), "{}", done.err);
        assert!(planned(&folder, "f.tamis") > before);
        folder.ok("verify f.tamis");
        folder.ok("test f.tamis ratings.tsv");
        // The keys belong to the new filters: no false positives.
        assert_eq!(folder.ok("filter f.tamis ratings.tsv --strict").lines().count(), 9_001);
        // The same bytes as a build with these parameters.
        let inspected: Value = folder.json("inspect f.tamis");
        assert!(inspected.is_object());
        folder.ok("build ratings.tsv --like f.tamis -o built.tamis");
        assert!(folder.read("built.tamis") == folder.read("f.tamis"), "{recipe}");
        // Room enough: nothing more is done.
        let again = folder.run("add f.tamis first.tsv --rebuild-above 0.02");
        assert!(again.code == 0 && !again.err.contains("rebuilt"), "{}", again.err);
    }
}
