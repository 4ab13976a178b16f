//! Many groups, and keys that stand in several of them.

use std::collections::{BTreeMap, HashSet};

use crate::support::Folder;

#[test]
fn ten_thousand_groups_are_built_tested_and_inspected() {
    let folder = Folder::new();
    let rows: String = (0..100_000).map(|i| format!("key{i},group {}\n", i * 7919 % 10_000)).collect();
    folder.write("t.csv", format!("k,g\n{rows}"));
    folder.ok("build t.csv --key k --group g -o t.tamis");
    let test = folder.json("test t.tamis t.csv");
    assert_eq!(test["groups"].as_array().unwrap().len(), 10_000);
    assert_eq!((&test["false_negatives"], &test["passed"]), (&0.into(), &true.into()));
    assert_eq!(
        folder.ok("inspect t.tamis").lines().filter(|line| line.starts_with("group ")).count(),
        10_001
    );
    folder.ok("verify t.tamis");
    assert_eq!(
        folder.run("query t.tamis key1").out.split('\t').nth(1).map(|groups| groups.contains("group 7919")),
        Some(true)
    );
}

/// A build printed all of 100,000.
#[test]
fn of_very_many_groups_the_largest_are_shown() {
    let folder = Folder::new();
    let rows = |groups: usize| -> String {
        // Group 7 is the largest, then 8, 9, …; the others have one key each.
        let large = (0..25).flat_map(|i| (0..50 - i).map(move |key| format!("x{key},group{}\n", i + 7)));
        large.chain((0..groups).map(|i| format!("{i},group{i}\n"))).collect()
    };
    folder.write("t.csv", format!("k,g\n{}", rows(1000)));
    folder.ok("plan t.csv --key k --group g -o p.json");
    let shown = |line: &str| {
        let out = folder.ok(line);
        let shown: Vec<String> = out
            .lines()
            .filter(|line| line.starts_with("group") && !line.starts_with("group "))
            .map(|line| line.split_whitespace().next().unwrap().to_owned())
            .collect();
        (shown, out)
    };
    let mut largest: Vec<String> = (7..27).map(|i| format!("group{i}")).collect();
    largest.sort();
    for line in [
        "build t.csv --params p.json -o t.tamis",
        "add t.tamis t.csv",
        "merge t.tamis -o u.tamis",
        "plan t.csv --key k --group g",
    ] {
        let (groups, out) = shown(line);
        assert_eq!(groups, largest, "{line}");
        assert!(out.contains("the 20 largest of 1,000 groups") && out.contains("--json"), "{line}: {out}");
    }
    let (groups, out) = shown("test t.tamis t.csv");
    assert!(groups.len() == 20 && out.contains("20 of 1,000 groups"), "{out}");
    assert_eq!(shown("inspect t.tamis").0.len(), 1000);
    assert_eq!(folder.json("test t.tamis t.csv")["groups"].as_array().unwrap().len(), 1000);
    // One that the filters do not know is the worst of all.
    folder.write("more.csv", format!("k,g\n{}y,group500\n", rows(1000)));
    assert!(folder.run("test t.tamis more.csv").out.contains("\ngroup500 "));

    folder.write("few.csv", format!("k,g\n{}", rows(40)));
    assert_eq!(shown("build few.csv --key k --group g -o few.tamis").0.len(), 40);
}

/// Of 10,000 estimates some are three standard errors off, and sound filters were warned of.
#[test]
fn filters_that_were_just_built_are_not_overfull() {
    let folder = Folder::new();
    let rows: String = (0..100_000).map(|i| format!("key{i},{}\nkey{i},{}\n", i % 5000, i % 5000)).collect();
    folder.write("t.csv", format!("k,g\n{rows}"));
    for kind in ["--kind blocked", "--kind bloom"] {
        assert_eq!(
            folder.run(&format!("build t.csv --key k --group g {kind} -o t.tamis -q")).err,
            "",
            "{kind}"
        );
    }
}

/// Names were looked for one by one: 100,000 groups took 40 seconds, and these would take longer than the
/// time after which a run is given up.
#[test]
fn the_time_does_not_grow_with_the_square_of_the_groups() {
    let folder = Folder::new();
    let rows: String = (0..300_000).map(|i| format!("{i},group{i}\n")).collect();
    folder.write("t.csv", format!("k,g\n{rows}"));
    let plan = folder.json("plan t.csv --key k --group g --threads 1");
    assert_eq!(plan["groups"].as_array().unwrap().len(), 300_000);
}

/// Keys 0 to 299 stand in all of ten groups, others in one.
#[test]
fn a_key_that_stands_in_several_groups_is_a_false_positive_in_none() {
    let folder = Folder::new();
    let mut members: BTreeMap<String, HashSet<String>> = BTreeMap::new();
    let mut table = "k,g\n".to_owned();
    for group in 0..10 {
        for key in (0..300).chain(1000 * (group + 1)..1000 * (group + 1) + 200) {
            table += &format!("{key},{group}\n");
            members.entry(group.to_string()).or_default().insert(key.to_string());
        }
    }
    folder.write("t.csv", table);
    for kind in crate::build::KINDS {
        folder.ok(&format!("build t.csv --key k --group g {kind} --fpr 0.02 -o t.tamis"));
        let test = folder.json("test t.tamis t.csv");
        assert_eq!((&test["keys"], &test["rows"]), (&2300.into(), &5000.into()), "{kind}");
        // What query says, counted by hand.
        let all: HashSet<&String> = members.values().flatten().collect();
        let keys: String = all.iter().map(|key| format!("{key}\n")).collect();
        let mut wrong: BTreeMap<String, u64> = BTreeMap::new();
        for line in folder.run_with("query t.tamis", keys).out.lines() {
            let (key, groups) = line.split_once('\t').unwrap();
            for group in groups.split(',').filter(|group| !members[*group].contains(key)) {
                *wrong.entry(group.into()).or_default() += 1;
            }
        }
        for group in test["groups"].as_array().unwrap() {
            let name = group["group"].as_str().unwrap();
            assert_eq!(group["keys"], 500, "{kind}");
            assert_eq!(group["negatives"], 1800, "{kind}");
            assert_eq!(group["false_positives"], wrong.get(name).copied().unwrap_or(0), "{kind}: {name}");
            assert_eq!(group["false_negatives"], 0, "{kind}");
        }
    }
}

#[test]
fn numbers_come_in_their_order_and_before_words() {
    let folder = Folder::new();
    folder.write("t.csv", "k,g\n1,b\n2,10\n3,9\n4,-1\n5,a\n6,2.5\n");
    let built = folder.json("build t.csv --key k --group g -o t.tamis");
    let names: Vec<&str> =
        built["groups"].as_array().unwrap().iter().map(|group| group["group"].as_str().unwrap()).collect();
    assert_eq!(names, ["-1", "2.5", "9", "10", "a", "b"]);
}

#[test]
fn a_group_is_named_by_any_bytes() {
    let folder = Folder::new();
    folder.write("t.csv", b"k,g\n1,\xff\n2,\"a,b\"\n3,\xc3\xa9\n");
    let built = folder.json("build t.csv --key k --group g --fpr 1e-6 -o t.tamis");
    let groups: Vec<&serde_json::Value> =
        built["groups"].as_array().unwrap().iter().map(|group| &group["group"]).collect();
    assert_eq!(groups.len(), 3);
    assert!(groups.contains(&&serde_json::json!({"hex": "ff"})), "{groups:?}");
    assert_eq!(folder.run_words(&["inspect", "t.tamis", "--group", "a,b"], "").code, 0);
    assert_eq!(folder.shell("$TAMIS inspect t.tamis --group \"$(printf '\\377')\"").code, 0);
    folder.refused("inspect t.tamis --group c", 1, &["no group \"c\"", "a,b", "é"]);
    assert_eq!(folder.json("test t.tamis t.csv")["false_negatives"], 0);
    folder.refused("inspect t.tamis --raw-bits bits", 2, &["--group"]);
}
