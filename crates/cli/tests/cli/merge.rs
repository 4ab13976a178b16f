//! The law of merging: with the same parameters, the parts make the whole.

use crate::build::RATINGS;
use crate::support::{Folder, cut, shuffled};

/// Ratings in `ratings.tsv`, cut into `0.tsv`, `1.tsv` and `2.tsv`.
fn parts() -> Folder {
    let folder = Folder::with_ratings(6000);
    let table = folder.text("ratings.tsv");
    for (i, part) in cut(&shuffled(&table), 3).iter().enumerate() {
        folder.write(&format!("{i}.tsv"), part);
    }
    folder
}

const MERGEABLE: [&str; 3] = ["--kind blocked", "--kind bloom", "--hash murmur3"];

#[test]
fn parts_built_with_the_same_parameters_merge_into_the_whole_in_any_order() {
    let folder = parts();
    for kind in MERGEABLE {
        folder.ok(&format!("plan ratings.tsv {RATINGS} {kind} --fpr 0.013 -o params.json"));
        for part in 0..3 {
            folder.ok(&format!("build {part}.tsv --params params.json -o {part}.tamis"));
        }
        folder.ok("build ratings.tsv --params params.json -o whole.tamis");
        let whole = folder.read("whole.tamis");
        for order in ["0.tamis 1.tamis 2.tamis", "2.tamis 0.tamis 1.tamis"] {
            folder.ok(&format!("merge {order} -o merged.tamis"));
            assert!(folder.read("merged.tamis") == whole, "{kind}: {order}");
        }
        folder.ok("merge 0.tamis 1.tamis -o two.tamis");
        folder.ok("merge 2.tamis two.tamis -o two.tamis"); // the output is an input
        assert!(folder.read("two.tamis") == whole, "{kind}: in two steps");

        folder.ok("build 1.tsv --like 0.tamis -o like.tamis");
        assert!(folder.read("like.tamis") == folder.read("1.tamis"), "{kind}: --like");

        folder.ok("add 0.tamis 1.tsv 2.tsv");
        assert!(folder.read("0.tamis") == whole, "{kind}: add");
        folder.ok("add 1.tamis 0.tsv --threads 3");
        folder.run_with("add 1.tamis -", folder.read("2.tsv")).succeeded("add");
        assert!(folder.read("1.tamis") == whole, "{kind}: add from standard input");

        // Planning from the counts of the same data gives the parameters of a build without them.
        folder.ok(&format!("build ratings.tsv {RATINGS} {kind} --fpr 0.013 -o own.tamis"));
        assert!(folder.read("own.tamis") == whole, "{kind}: own parameters");
    }
}

#[test]
fn parameters_without_data_serve_as_well() {
    let folder = parts();
    for size in ["--fpr 0.01", "--bits-per-key 9.5", "--size 10kB", "--bits 77777"] {
        folder.ok(&format!("plan --keys 6000 {size} --key tconst:upper --kind bloom -o params.json"));
        for name in ["0", "1", "2", "ratings"] {
            folder.ok(&format!("build {name}.tsv --params params.json -o {name}.tamis"));
        }
        folder.ok("merge 0.tamis 1.tamis 2.tamis -o merged.tamis");
        assert!(folder.read("merged.tamis") == folder.read("ratings.tamis"), "{size}");
        assert_eq!(folder.json("test merged.tamis ratings.tsv")["false_negatives"], 0);
    }
}

/// The rows of a file that was given twice were doubled without a word.
#[test]
fn a_merge_says_where_rows_count_twice() {
    let folder = parts();
    folder.ok("plan ratings.tsv --key tconst --group averageRating:round -o params.json");
    for part in 0..2 {
        folder.ok(&format!("build {part}.tsv --params params.json -o {part}.tamis"));
    }
    std::fs::copy(folder.path("0.tamis"), folder.path("copy.tamis")).unwrap();
    let said = |line: &str| folder.run(line).err;
    assert_eq!(said("merge 0.tamis 1.tamis -o all.tamis"), "");
    assert!(said("merge 0.tamis 1.tamis 0.tamis -o all.tamis").contains("0.tamis was given twice"));
    let copied = said("merge 0.tamis 1.tamis copy.tamis -o all.tamis");
    assert!(copied.contains("0.tamis and copy.tamis hold the same"), "{copied}");
    assert!(said("merge 0.tamis ./0.tamis -o all.tamis -q").contains("warning: 0.tamis and ./0.tamis"));
    folder.ok("plan --keys 10 --fpr 0.1 -o empty.json");
    folder.write("none.txt", "");
    folder.ok("build none.txt --params empty.json -o none.tamis");
    assert_eq!(said("merge none.tamis none.tamis -o all.tamis"), "", "no rows, none twice");
}

#[test]
fn groups_that_only_one_side_has_are_kept() {
    let folder = Folder::new();
    folder.write("a.csv", "k,g\n1,x\n2,y\n");
    folder.write("b.csv", "k,g\n3,y\n4,z\n");
    folder.write("ab.csv", "k,g\n1,x\n2,y\n3,y\n4,z\n");
    for name in ["a", "b", "ab"] {
        folder.ok(&format!("build {name}.csv --key k --group g --keys 100 -o {name}.tamis"));
    }
    folder.ok("merge a.tamis b.tamis -o merged.tamis");
    assert!(folder.read("merged.tamis") == folder.read("ab.tamis"));
}

#[test]
fn different_parameters_are_refused_naming_the_difference_and_the_way_out() {
    let folder = Folder::new();
    folder.write("t.csv", "k,g,h\n1,x,x\n2,y,x\n");
    folder.write("old", "old");
    let build = |name: &str, how: &str| folder.ok(&format!("build t.csv {how} -o {name}.tamis"));
    build("a", "--key k --group g --keys 100");
    for (how, difference) in [
        ("--key k --group g --keys 101", "group x: one has "),
        ("--key k --group g --keys 100 --fpr 0.02", "0.02"),
        ("--key k --group g --keys 100 --kind bloom", "one is blocked, the other bloom"),
        ("--key k --group g --keys 100 --seed 1", "one hashes with xxh3, the other with xxh3 (seed 1)"),
        ("--key k:trim --group g --keys 100", "key k:trim"),
        ("--key k --group h --keys 100", "group h"),
        ("--key k --keys 100", "recipe"),
        ("--key k --group g --hash murmur3", "bloom"),
    ] {
        build("b", how);
        for line in ["merge a.tamis b.tamis -o old", "compare a.tamis b.tamis"] {
            let says = ["a.tamis and b.tamis", difference, "--params params.json", "--like"];
            folder.refused(line, 1, &says);
        }
    }
    assert_eq!(folder.text("old"), "old");
    folder.is_clean();
}

#[test]
fn static_kinds_refuse_to_merge_and_to_add_and_name_the_kind_that_can() {
    for kind in ["fuse", "ribbon"] {
        let folder = parts();
        for part in [0, 1] {
            folder.ok(&format!("build {part}.tsv {RATINGS} --kind {kind} -o {part}.tamis"));
        }
        let before = folder.read("0.tamis");
        folder.refused("merge 0.tamis 0.tamis -o 0.tamis", 1, &[kind, "static", "--kind blocked"]);
        folder.refused("add 0.tamis 1.tsv", 1, &[kind, "static", "--kind blocked"]);
        folder.refused("compare 0.tamis 0.tamis", 1, &[kind, "--kind blocked"]);
        assert!(folder.read("0.tamis") == before);

        // The reason is that of the kind even where sizes differ, as they do for other data.
        folder.refused("merge 0.tamis 1.tamis -o x.tamis", 1, &["static", "--kind blocked"]);

        // Parameters fix its rate; the number of keys is its own.
        folder.ok(&format!("plan ratings.tsv {RATINGS} --kind {kind} --fpr 0.003 -o params.json"));
        folder.ok("build 0.tsv --params params.json -o 0.tamis");
        assert_eq!(folder.json("test 0.tamis 0.tsv")["false_negatives"], 0);
        folder.ok(&format!("build 0.tsv {RATINGS} --kind {kind} --fpr 0.003 -o same.tamis"));
        assert!(folder.read("0.tamis") == folder.read("same.tamis"), "{kind}");
    }
}

#[test]
fn a_group_that_was_not_planned_stops_the_build_naming_it() {
    let folder = Folder::new();
    folder.write("a.csv", "k,g\n1,x\n2,y\n");
    folder.write("b.csv", "k,g\n3,y\n4,z\n");
    for kind in ["blocked", "fuse", "ribbon"] {
        folder.ok(&format!("plan a.csv --key k --group g --kind {kind} -o params.json"));
        folder.refused("build b.csv --params params.json -o b.tamis", 1, &["z", "not in the parameters"]);
    }
    folder.ok("build a.csv --key k --group g --keys 9 -o a.tamis");
    let before = folder.read("a.tamis");
    folder.refused("add a.tamis b.csv", 1, &["b.csv, line 3", "\"z\"", "--bad-rows skip"]);
    assert!(folder.read("a.tamis") == before);
    let done = folder.run("add a.tamis b.csv --bad-rows skip");
    assert!(done.code == 0 && done.err.contains("left out 1 bad row"), "{}", done.err);
}

#[test]
fn given_parameters_fix_size_kind_and_recipe() {
    let folder = parts();
    folder.ok("plan --keys 1000 --fpr 0.01 --key tconst -o params.json");
    for more in ["--fpr 0.1", "--keys 10", "--size 1MB", "--bits-per-key 9", "--kind bloom", "--null x"] {
        let line = format!("build 0.tsv --params params.json {more} -o a.tamis");
        folder.refused(&line, 2, &["the given parameters fix"]);
    }
    folder.refused("build 0.tsv --params params.json --like x -o a.tamis", 2, &["cannot be used with"]);
    folder.refused("build 0.tsv --params params.json --seed 7 -o a.tamis", 2, &["the given parameters fix"]);
    folder.refused(
        "build 0.tsv --params params.json --hash murmur3 -o a.tamis",
        2,
        &["the given parameters fix"],
    );
}

/// A misspelt field was passed over.
#[test]
fn parameters_with_fields_that_are_not_known_are_refused() {
    let folder = Folder::new();
    folder.write("k.txt", "a\n");
    folder.ok("plan --keys 10 --fpr 0.1 -o p.json");
    let params = folder.text("p.json");
    for (known, more) in [("\"keys\"", "\"kys\": 1, \"keys\""), ("\"kind\"", "\"seed\": 3, \"kind\"")] {
        folder.write("more.json", params.replacen(known, more, 1));
        folder.refused("build k.txt --params more.json -o k.tamis", 1, &["more.json", "unknown field"]);
    }
}

#[test]
fn parameters_that_nobody_planned_are_refused() {
    let folder = Folder::new();
    folder.write("k.txt", "a\n");
    folder.ok("plan --keys 1000 --fpr 0.01 -o params.json");
    let params = folder.text("params.json");
    for (from, to) in [
        ("\"slots\": ", "\"slots\": 1"),
        ("\"hashes\": 8", "\"hashes\": 7"),
        ("\"fpr\": 0.01", "\"fpr\": 0.0"),
        ("\"fpr\": 0.01", "\"fpr\": 2"),
        ("\"blocked\"", "\"fuse\""),
        ("\"blocked\"", "\"cuckoo\""),
        ("\"line\"", "{\"number\": 0}"),
        ("\"seed\": 0", "\"seed\": -1"),
        ("{\n        \"column\": \"line\"\n      }", ""),
        ("\"column\": \"line\"", "\"column\": \"line\", \"steps\": [{\"before\": \"\"}]"),
        ("\"group\": \"\"", "\"group\": \"x\""),
        ("\"groups\": [", "\"groups\": [], \"x\": ["),
        ("{", ""),
    ] {
        assert!(params.contains(from), "{from}: {params}");
        folder.write("p.json", params.replacen(from, to, 1));
        folder.refused("build k.txt --params p.json -o k.tamis", 1, &["p.json"]);
    }
    folder.refused("build k.txt --params none.json -o k.tamis", 1, &["none.json", "no such file"]);
    folder.refused("build k.txt --like none.tamis -o k.tamis", 1, &["none.tamis", "no such file"]);
    folder.refused("build k.txt --like k.txt -o k.tamis", 1, &["k.txt", "not a tamis file"]);
    assert!(!folder.names().contains(&"k.tamis".into()));
}

#[test]
fn the_overlap_of_two_sets_is_estimated() {
    let folder = Folder::new();
    let keys = |range: std::ops::Range<u32>| range.map(|i| format!("key{i}\n")).collect::<String>();
    folder.write("a.txt", keys(0..6000));
    folder.write("b.txt", keys(4000..10_000));
    for name in ["a", "b"] {
        folder.ok(&format!("build {name}.txt --keys 10000 -o {name}.tamis"));
    }
    let overlap = folder.json("compare a.tamis b.tamis")["groups"][0].clone();
    for (field, truth) in [("first", 6000.0), ("second", 6000.0), ("either", 10_000.0), ("both", 2000.0)] {
        let estimate = overlap[field].as_f64().unwrap();
        assert!((estimate - truth).abs() < 150.0, "{field}: {estimate}");
    }
}

#[test]
fn full_filters_are_compared_without_nonsense() {
    let folder = Folder::new();
    folder.write("a.txt", (0..3000).map(|i| format!("{i}\n")).collect::<String>());
    folder.ok("build a.txt --keys 1 -o a.tamis");
    let table = folder.ok("compare a.tamis a.tamis");
    assert!(table.contains("full") && !table.contains("NaN"), "{table}");
    folder.json("compare a.tamis a.tamis");
}
