//! `plan`: sizes and rates, for numbers and for tables.

use crate::build::RATINGS;
use crate::support::Folder;

/// Row E2: 10⁹ keys in 8·10⁹ bits.
#[test]
fn a_billion_keys_in_eight_billion_bits_have_the_known_rates_with_six_hashes_the_best() {
    let folder = Folder::new();
    let plan = folder.ok("plan --keys 1e9 --bits 8e9");
    let row = |hashes: &str| {
        let cells = |line: &&str| line.split_whitespace().next() == Some(hashes);
        plan.lines().find(cells).unwrap_or_else(|| panic!("{hashes}: {plan}")).to_owned()
    };
    assert!(row("1").contains("0.1175"), "{plan}");
    assert!(row("2").contains("0.0489"), "{plan}");
    assert!(row("6").contains("0.0216") || row("6").contains("0.02158"), "{plan}");
    assert!(row("6").contains("best"), "{plan}");
    assert_eq!(plan.matches("best").count(), 1, "{plan}");

    let json = folder.json("plan --keys 1e9 --bits 8e9");
    for (hashes, rate) in [(1, 0.1175), (2, 0.0489), (6, 0.0216)] {
        let found = &json["by_hashes"][hashes - 1];
        assert_eq!(found["hashes"], hashes);
        assert!((found["fpr"].as_f64().unwrap() - rate).abs() < 5e-5, "{found}");
    }
}

#[test]
fn two_numbers_fix_the_rest_however_they_are_written() {
    let folder = Folder::new();
    let bits = |line: &str| folder.json(line)["kinds"][0]["bits"].as_u64().unwrap();
    let million = bits("plan --keys 1e6 --fpr 0.01");
    for line in
        ["plan --keys 1M --fpr 1%", "plan --keys 1,000,000 --fpr 1e-2", "plan --keys 1_000_000 --fpr .01"]
    {
        assert_eq!(bits(line), million, "{line}");
    }
    for line in [
        "plan --keys 1e6 --bits-per-key 10",
        "plan --bits 1e7 --bits-per-key 10",
        "plan --size 1.25MB --bits-per-key 10",
        "plan --bits 1e7 --fpr 0.01",
    ] {
        let kinds = folder.json(line)["kinds"].clone();
        let found: Vec<&str> =
            kinds.as_array().unwrap().iter().map(|kind| kind["kind"].as_str().unwrap()).collect();
        assert!(found.contains(&"blocked") && found.contains(&"bloom"), "{line}: {found:?}");
    }
    let fits = folder.json("plan --size 1GB --fpr 0.001");
    assert!((fits["kinds"][1]["keys"].as_f64().unwrap() / 8e9 * 14.378 - 1.0).abs() < 1e-3, "{fits:#}");
}

/// All kinds were shown whatever was asked.
#[test]
fn the_kind_that_is_asked_for_is_the_only_one_shown() {
    let folder = Folder::new();
    let kinds = |line: &str| -> Vec<String> {
        let plan = folder.json(line);
        plan["kinds"].as_array().unwrap().iter().map(|kind| kind["kind"].as_str().unwrap().into()).collect()
    };
    assert_eq!(kinds("plan --keys 1e6 --fpr 0.01"), ["blocked", "bloom", "fuse", "ribbon"]);
    for kind in ["blocked", "bloom", "fuse", "ribbon"] {
        for size in ["--fpr 0.01", "--size 1.25MB", "--bits-per-key 10"] {
            let line = format!("plan --keys 1e6 {size} --kind {kind}");
            assert_eq!(kinds(&line), [kind], "{line}");
        }
        let svg = format!("plan --keys 1e6 --fpr 0.01 --kind {kind} --chart {kind}.svg");
        let plan = folder.ok(&svg);
        for other in ["blocked", "bloom", "fuse", "ribbon"].iter().filter(|other| **other != kind) {
            assert!(!plan.contains(other) && !folder.text(&format!("{kind}.svg")).contains(other), "{plan}");
        }
    }
    // The published m and k, as a build has them.
    let plan = folder.json("plan --keys 20000 --fpr 0.01 --hash murmur3 -o p.json");
    let saved: serde_json::Value = folder.text("p.json").parse().unwrap();
    assert_eq!(plan["kinds"].as_array().unwrap().len(), 1);
    assert_eq!(plan["kinds"][0]["bits"], saved["groups"][0]["slots"]);
    assert_eq!(folder.json("plan --keys 1e6 --bits 1e7 --hash murmur3")["kinds"][0]["hashes"], 7);
    folder.refused("plan --keys 1e9 --fpr 0.01 --hash murmur3", 2, &["32 bits"]);
}

#[test]
fn it_is_said_which_kind_was_saved() {
    let folder = Folder::with_ratings(100);
    for (kind, says) in
        [("", "blocked filters, hash xxh3"), ("--kind bloom", "bloom filters"), ("--hash murmur3", "murmur3")]
    {
        for of in ["--keys 100", "ratings.tsv --key 1"] {
            let done = folder.run(&format!("plan {of} --fpr 0.1 {kind} -o p.json"));
            assert!(
                done.err.contains("p.json: the parameters of ") && done.err.contains(says),
                "{}",
                done.err
            );
        }
    }
}

#[test]
fn charts_are_drawn_in_the_terminal_and_as_svg() {
    let folder = Folder::new();
    let plan = folder.ok("plan --keys 1e9 --bits 8e9 --chart plan.svg");
    assert!(plan.contains("Rate against"), "{plan}");
    let svg = folder.text("plan.svg");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{}", &svg[..200]);
    assert!(svg.contains("bits per key"));
}

#[test]
fn saved_parameters_go_into_a_build_and_come_back() {
    let folder = Folder::with_ratings(3000);
    for kind in crate::build::KINDS {
        let planned = folder.json(&format!("plan ratings.tsv {RATINGS} {kind} --fpr 0.02 -o params.json"));
        folder.ok("build ratings.tsv --params params.json -o a.tamis");
        let built = folder.json("inspect a.tamis");
        for field in ["kind", "hash", "recipe"] {
            assert_eq!(built[field], planned[field], "{kind}");
        }
        let mut rows = 0;
        for group in planned["groups"].as_array().unwrap() {
            let built = built["groups"].as_array().unwrap();
            let twin = built.iter().find(|other| other["group"] == group["group"]).expect("the same groups");
            assert_eq!(twin["planned_keys"], group["keys"], "{kind}");
            assert_eq!(twin["hashes"], group["hashes"], "{kind}");
            assert_eq!(twin["fpr_target"], 0.02, "{kind}");
            rows += twin["rows"].as_u64().unwrap();
        }
        assert_eq!(rows, 3000);
    }
}

#[test]
fn the_keys_of_a_table_are_counted() {
    let folder = Folder::new();
    folder.write("t.csv", "k,g\n1,a\n2,a\n1,a\n3,b\n,b\n");
    let done = folder.run("plan t.csv --key k --group g --bad-rows skip --json");
    assert!(done.err.contains("left out 1 bad row"), "{}", done.err);
    let plan: serde_json::Value = done.out.parse().unwrap();
    let keys = |group: usize| plan["groups"][group]["keys"].as_u64().unwrap();
    assert_eq!((keys(0), keys(1)), (2, 1));
    folder.refused("plan t.csv --key k --keys 10", 2, &["counted"]);
    folder.refused("plan t.csv --key k --fpr 0.1 --size 1MB", 2, &["sizes exclude each other"]);
    folder.refused("plan t.csv --key k --chart x.svg", 2, &["--chart"]);
    folder.refused("plan t.csv --key k", 1, &["t.csv, line 6"]);
    folder.write("none.csv", "k,g\n");
    folder.refused("plan none.csv --key k --group g", 1, &["no keys"]);
    folder.refused("plan none.csv --key k --size 1MB", 1, &["no keys"]);
    assert_eq!(folder.names(), ["none.csv", "t.csv"]);
}

#[test]
fn a_plan_does_not_overwrite_the_table_it_reads() {
    let folder = Folder::with_ratings(10);
    let before = folder.read("ratings.tsv");
    folder.refused("plan ratings.tsv --key tconst -o ratings.tsv", 2, &["is an input"]);
    assert_eq!(folder.read("ratings.tsv"), before);
}

/// They were missed without a word: rates below n/2^64, and those of many hashes by up to 8 %.
#[test]
fn a_target_that_filters_miss_is_named() {
    let folder = Folder::new();
    folder.write("a.txt", "1\n2\n3\n");
    for (line, missed) in [
        ("build a.txt --fpr 1e-30 -o a.tamis", true),
        ("plan a.txt --kind bloom --fpr 1e-30", true),
        ("plan --keys 1000 --fpr 1e-20", true),
        ("build a.txt -o a.tamis", false),
        ("plan --keys 1000 --fpr 1e-9", false),
    ] {
        let said = folder.run(line).err;
        assert_eq!(said.contains("above the target of"), missed, "{line}: {said}");
    }
}

#[test]
fn a_job_for_machines_that_are_not_here_is_worked_out_on_paper() {
    let folder = Folder::new();
    let said = folder.ok("plan --keys 1e12 --fpr 0.01 --machines 100 --memory 64GB");
    for text in [
        "1.26 TB of filter",
        "one machine does not run: memory of the machine",
        "Spark runs",
        "one at a time",
    ] {
        assert!(said.contains(text), "{text}: {said}");
    }
    let ways = |line: &str| folder.json(line)["scale"]["ways"].clone();
    let small = ways("plan --keys 1e6 --fpr 0.01 --machines 2 --memory 8GB");
    assert!(small.as_array().unwrap().iter().all(|way| way["runs"] == true));
    let large = ways("plan --keys 1e12 --fpr 0.01 --machines 100 --memory 64GB --lost 5");
    assert_eq!(
        (&large[0]["runs"], &large[1]["runs"], &large[2]["runs"]),
        (&false.into(), &false.into(), &true.into())
    );
    // The same every time, and later where machines are lost.
    let line = "plan --keys 1e11 --fpr 0.01 --machines 50 --memory 64GB --lost";
    let time = |lost: u32| ways(&format!("{line} {lost}"))[2]["simulated"]["median"].as_f64().unwrap();
    assert_eq!(time(0).to_bits(), time(0).to_bits());
    assert!(time(25) > time(0));
    for (line, says) in [
        ("--keys 1e9 --fpr 0.01 --machines 0 --memory 1GB", "must be at least 1"),
        ("--keys 1e9 --fpr 0.01 --machines 10", "give --memory 64GB"),
        ("--keys 1e9 --fpr 0.01 --memory 1GB", "goes with --machines"),
        ("--keys 1e12 --fpr 0.01 --machines 10 --memory 1MB", "would be enough"),
        ("--keys 1e9 --fpr 0.01 --machines 10 --memory 1GB --lost 10", "one must stay"),
        ("--keys 1e9 --fpr 0.01 --machines 10 --memory 1GB --rows 10", "fewer rows than different keys"),
        ("--keys 1e9 --fpr 0.01 --kind fuse --machines 10 --memory 1GB", "--kind blocked"),
        ("keys.txt --machines 10 --memory 1GB", "in place of a table"),
    ] {
        folder.refused(&format!("plan {line}"), 2, &[says]);
    }
}
