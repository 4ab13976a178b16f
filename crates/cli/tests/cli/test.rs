//! `test`: what it counts, and when it fails.

use std::fs::File;

use tamis::format::{self, Extras, Tally};

use crate::build::{KINDS, RATINGS};
use crate::support::{Folder, container};

fn lines(keys: std::ops::Range<u32>) -> String {
    keys.map(|i| format!("key{i}\n")).collect()
}

#[test]
fn a_false_negative_fails_the_test() {
    let folder = Folder::new();
    folder.write("a.txt", lines(0..1000));
    folder.write("b.txt", lines(500..1500));
    for kind in KINDS {
        folder.ok(&format!("build a.txt {kind} -o a.tamis"));
        folder.ok("test a.tamis a.txt");
        let done = folder.run("test a.tamis b.txt");
        assert_eq!(done.code, 1, "{kind}");
        assert!(done.out.contains("FALSE NEGATIVES"), "{kind}: {}", done.out);
        let done = folder.run("test a.tamis b.txt --json");
        assert_eq!(done.code, 1, "{kind}");
        let test: serde_json::Value = done.out.parse().unwrap();
        let missed = test["groups"][0]["false_negatives"].as_u64().unwrap();
        assert!((470..=500).contains(&missed), "{kind}: {missed}"); // five of 500 by chance
        assert_eq!((&test["false_negatives"], &test["passed"]), (&missed.into(), &false.into()), "{kind}");
    }
}

/// Where each key comes once, keys are counted without being put in order; where they come again, they are.
#[test]
fn keys_that_come_once_are_counted_like_those_that_come_again() {
    let folder = Folder::new();
    let rows = |groups: u32| -> String {
        "k,g\n".to_owned() + &(0..100_000).map(|i| format!("{i},{}\n", i % groups)).collect::<String>()
    };
    folder.write("two.csv", rows(2));
    folder.write("three.csv", rows(3)); // other members, and a group without a filter
    for kind in KINDS {
        folder.ok(&format!("build two.csv --key k --group g {kind} --fpr 0.05 -o a.tamis"));
        for file in ["two.csv", "three.csv"] {
            let [once, again] = ["", file].map(|more| {
                let mut test: serde_json::Value =
                    folder.run(&format!("test a.tamis {file} {more} --json")).out.parse().unwrap();
                for read in ["rows", "seconds"] {
                    test.as_object_mut().unwrap().remove(read);
                }
                test
            });
            assert_eq!(once["keys"], 100_000, "{once}");
            assert_eq!(once, again, "{kind} {file}");
        }
    }
}

#[test]
fn keys_of_a_group_without_a_filter_are_false_negatives() {
    let folder = Folder::new();
    folder.write("a.csv", "k,g\n1,x\n2,x\n");
    folder.write("b.csv", "k,g\n1,x\n2,x\n3,y\n4,y\n3,y\n");
    folder.ok("build a.csv --key k --group g -o a.tamis");
    let done = folder.run("test a.tamis b.csv --json");
    assert_eq!(done.code, 1);
    let test: serde_json::Value = done.out.parse().unwrap();
    assert_eq!(test["groups"][1]["group"], "y");
    assert_eq!((&test["groups"][1]["keys"], &test["groups"][1]["false_negatives"]), (&2.into(), &2.into()));
    assert!(folder.run("test a.tamis b.csv").out.contains("no filter"));
}

#[test]
fn a_filter_that_knows_keys_of_another_group_fails_the_test() {
    let folder = Folder::with_ratings(5000);
    let mislabelled = folder.text("ratings.tsv").replace("\t6.", "\t8.");
    folder.write("wrong.tsv", mislabelled);
    for kind in ["--kind blocked", "--kind bloom", "--hash murmur3"] {
        folder.ok(&format!("plan ratings.tsv {RATINGS} {kind} -o params.json"));
        folder.ok("build ratings.tsv --params params.json -o right.tamis");
        folder.ok("test right.tamis ratings.tsv");
        folder.ok("build wrong.tsv --params params.json -o wrong.tamis");
        folder.ok("merge right.tamis wrong.tamis -o both.tamis");
        folder.ok("verify both.tamis"); // nothing is damaged
        let done = folder.run("test both.tamis ratings.tsv --json");
        assert_eq!(done.code, 1, "{kind}");
        let test: serde_json::Value = done.out.parse().unwrap();
        assert_eq!(test["false_negatives"], 0, "{kind}");
        assert_eq!(test["passed"], false, "{kind}");
        assert!(test["probability"].as_f64().unwrap() < 1e-6, "{kind}");
        assert!(folder.run("test both.tamis ratings.tsv").out.contains("one in a million"), "{kind}");
    }
}

/// A file whose filters were cleared, with checksums that match.
#[test]
fn a_forged_filter_fails_the_test() {
    let folder = Folder::with_ratings(3000);
    for kind in KINDS {
        folder.ok(&format!("build ratings.tsv {RATINGS} {kind} -o a.tamis"));
        let file = container(&folder.path("a.tamis"));
        let params = file.params().clone();
        let (starts, _) = params.layout();
        let mut data = file.data().to_vec();
        let mut tallies = file.tallies().to_vec();
        let last = params.groups.len() - 2;
        let words = params.groups[last].shape.words() as usize;
        let section = &mut data[starts[last]..starts[last] + words];
        section[..words / 2].fill(0);
        let Tally { rows, beside, .. } = tallies[last];
        tallies[last] = format::seal(&params.groups[last].shape, section, rows, beside);
        let mut forged = File::create(folder.path("forged.tamis")).unwrap();
        format::write(&mut forged, &params, &tallies, &data, Extras::default()).unwrap();
        folder.ok("verify forged.tamis");
        let done = folder.run("test forged.tamis ratings.tsv");
        assert_eq!(done.code, 1, "{kind}");
        assert!(done.out.contains("FALSE NEGATIVES"), "{kind}");
    }
}

#[test]
fn a_filter_fuller_than_planned_is_a_warning() {
    let folder = Folder::new();
    folder.write("few.txt", lines(0..100));
    folder.write("many.txt", lines(0..10_000));
    for kind in ["--kind blocked", "--kind bloom", "--hash murmur3"] {
        folder.ok(&format!("build few.txt {kind} --keys 100 -o a.tamis"));
        for line in ["add a.tamis many.txt -q", "inspect a.tamis -q", "merge a.tamis a.tamis -o b.tamis -q"] {
            let done = folder.run(line);
            assert_eq!(done.code, 0, "{kind}: {line}");
            assert!(done.err.contains("warning: the filter holds "), "{kind}: {line}: {}", done.err);
        }
        let done = folder.run("test a.tamis many.txt --random 1e4");
        assert_eq!(done.code, 0, "{kind}: {}", done.out);
        assert!(done.err.contains("warning: "), "{kind}: {}", done.err);
        assert_eq!(folder.json("test a.tamis many.txt")["groups"][0]["overfull"], true, "{kind}");
    }
    folder.ok("build many.txt -o a.tamis");
    assert_eq!(folder.run("inspect a.tamis -q").err, "");
    assert_eq!(folder.run("test a.tamis many.txt -q").err, "");
}

#[test]
fn given_negatives_are_counted_without_those_that_are_members() {
    let folder = Folder::new();
    folder.write("a.txt", lines(0..2000));
    folder.write("strangers.txt", lines(1900..12_000));
    folder.write("strangers.csv", format!("other,key\n{}", lines(1900..12_000).replace("key", "1,key")));
    for kind in KINDS {
        folder.ok(&format!("build a.txt {kind} --fpr 0.05 -o a.tamis"));
        let test = folder.json("test a.tamis a.txt --negatives strangers.txt");
        assert_eq!(test["removed_negatives"], 100, "{kind}");
        assert_eq!(
            (&test["groups"][0]["keys"], &test["groups"][0]["negatives"]),
            (&2000.into(), &10_000.into())
        );
        let hits = test["groups"][0]["false_positives"].as_u64().unwrap();
        assert!((200..700).contains(&hits), "{kind}: {hits}"); // 500 at most are expected; fuse has 312
        assert!(folder.ok("test a.tamis a.txt --negatives strangers.txt").contains("100"), "{kind}");

        // Without the data nobody knows the members: all are taken for outside.
        let test = folder.json("test a.tamis --negatives strangers.txt --random 1e4");
        assert_eq!(test["groups"][0]["negatives"], 20_100, "{kind}");
    }
    // A table with the column of the key, or one key per line.
    folder.write("t.csv", format!("key\n{}", lines(0..2000)));
    folder.ok("build t.csv --key key --fpr 0.05 -o t.tamis");
    for negatives in ["strangers.csv", "strangers.txt"] {
        let test = folder.json(&format!("test t.tamis t.csv --negatives {negatives}"));
        assert_eq!(test["groups"][0]["negatives"], 10_000, "{negatives}");
    }
}

#[test]
fn random_keys_are_negatives_of_every_group() {
    let folder = Folder::with_ratings(2000);
    folder.ok(&format!("build ratings.tsv {RATINGS} --fpr 0.02 -o a.tamis"));
    let test = folder.json("test a.tamis ratings.tsv --random 50000 --seed 3");
    for group in test["groups"].as_array().unwrap() {
        let (keys, negatives) = (group["keys"].as_u64().unwrap(), group["negatives"].as_u64().unwrap());
        assert_eq!(keys + negatives, 52_000);
        let (low, rate, high) = ("fpr_low", "fpr", "fpr_high");
        let field = |name: &str| group[name].as_f64().unwrap();
        assert!(field(low) <= field(rate) && field(rate) <= field(high));
        assert!(field(rate) <= 0.02 * 1.25, "{group}");
    }
    assert_eq!(folder.json("test a.tamis --random 1000")["groups"][0]["negatives"], 1000);
    let again = folder.json("test a.tamis ratings.tsv --random 50000 --seed 3 --threads 5");
    assert_eq!(again["groups"], test["groups"], "the same keys on any number of threads");
    folder.refused("test a.tamis", 2, &["nothing to test with"]);
    folder.refused("test a.tamis --random 0", 2, &["at least 1"]);
}

#[test]
fn the_threads_of_a_test_do_not_change_what_it_finds() {
    let folder = Folder::with_ratings(20_000);
    for kind in KINDS {
        folder.ok(&format!("build ratings.tsv {RATINGS} {kind} -o a.tamis"));
        let one = folder.json("test a.tamis ratings.tsv --threads 1");
        for threads in [2, 5] {
            let more = folder.json(&format!("test a.tamis ratings.tsv --threads {threads}"));
            assert_eq!(more["groups"], one["groups"], "{kind}");
        }
    }
}

#[test]
fn the_report_is_one_page_that_needs_nothing_else() {
    let folder = Folder::with_ratings(1000);
    folder.ok(&format!("build ratings.tsv {RATINGS} -o a.tamis"));
    folder.ok("test a.tamis ratings.tsv --report report.html");
    let page = folder.text("report.html");
    assert!(page.contains("<svg") && page.contains("</html>"));
    for foreign in ["<script src", "<link rel=\"stylesheet\"", "src=\"http", "@import"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

#[test]
fn the_report_says_what_was_tested_by_what_and_when() {
    let folder = Folder::with_ratings(1000);
    for (kind, says) in
        [("--seed 7", "Kind blocked, hash xxh3 (seed 7)"), ("--hash murmur3", "Kind bloom, hash murmur3")]
    {
        folder.ok(&format!("build ratings.tsv {RATINGS} {kind} -o a.tamis"));
        folder.ok("test a.tamis ratings.tsv --report report.html");
        let page = folder.text("report.html");
        let (recipe, data) = ("key tconst, group averageRating:round", "<td>ratings.tsv</td>");
        for text in [says, recipe, "What was tested", data, "Made by tamis 0.", " on 20"] {
            assert!(page.contains(text), "{text}");
        }
    }
}

/// A failed one called "0 false positives" an error.
#[test]
fn a_failed_report_says_what_failed() {
    let folder = Folder::new();
    folder.write("few.txt", lines(0..100));
    folder.write("many.txt", lines(0..200));
    folder.ok("build few.txt --fpr 1e-6 -o a.tamis");
    assert_eq!(folder.run("test a.tamis many.txt --random 100 --report report.html").code, 1);
    let page = folder.text("report.html");
    assert!(page.contains("<strong>Note:</strong> 0 false positives"), "{page}");
    assert!(page.contains("<strong>Failed:</strong> 100 FALSE NEGATIVES"));
    assert_eq!(page.matches("<strong>Failed:").count(), 1);
}
