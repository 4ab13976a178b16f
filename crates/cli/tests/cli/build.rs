//! `build`: the same bytes however the rows come, keys, sizes and recipes.

use std::collections::HashSet;

use serde_json::Value;

use crate::support::{Folder, container, cut, shuffled};

pub const RATINGS: &str = "--key tconst --group averageRating:round";

/// All filters that can be built.
pub const KINDS: [&str; 5] =
    ["--kind blocked", "--kind bloom", "--kind fuse", "--kind ribbon", "--hash murmur3"];

/// Enough rows for several chunks of input.
const ROWS: u64 = 40_000;

#[test]
fn threads_order_and_splitting_do_not_change_a_byte() {
    let folder = Folder::with_ratings(ROWS);
    let table = folder.text("ratings.tsv");
    assert!(table.len() > 2 << 18, "several chunks");
    folder.write("shuffled.tsv", shuffled(&table));
    for (i, part) in cut(&table, 3).iter().enumerate() {
        folder.write(&format!("parts/{i}.tsv"), part);
    }
    for kind in KINDS {
        let build = |inputs: &str| {
            folder.ok(&format!("build {inputs} {RATINGS} {kind} -o a.tamis -q"));
            folder.read("a.tamis")
        };
        let one = build("ratings.tsv --threads 1");
        for inputs in [
            "ratings.tsv --threads 2",
            "ratings.tsv --threads 3",
            "ratings.tsv --threads 8",
            "shuffled.tsv --threads 2",
            "parts/0.tsv parts/1.tsv parts/2.tsv --threads 1",
            "parts/2.tsv parts/0.tsv parts/1.tsv --threads 3",
            "parts",
            "parts/*.tsv",
        ] {
            assert!(build(inputs) == one, "{kind}: {inputs}");
        }
        folder.run_with(&format!("build - {RATINGS} {kind} -o b.tamis"), table.clone()).succeeded(kind);
        assert!(folder.read("b.tamis") == one, "{kind}: standard input");
    }
}

/// With given parameters, or a given number of keys, filters are filled straight from the rows.
#[test]
fn threads_do_not_change_a_byte_where_nothing_is_counted() {
    let folder = Folder::with_ratings(ROWS);
    for kind in ["--kind blocked", "--kind bloom", "--hash murmur3"] {
        let build = |more: &str| {
            folder.ok(&format!("build ratings.tsv {RATINGS} {kind} --keys 9000 {more} -o a.tamis -q"));
            folder.read("a.tamis")
        };
        let one = build("--threads 1");
        for threads in [2, 3, 8] {
            assert!(build(&format!("--threads {threads}")) == one, "{kind}, {threads} threads");
        }
    }
}

#[test]
fn distinct_keys_are_counted_and_rows_are_kept_apart() {
    let folder = Folder::new();
    folder.write("log.txt", "x\ny\nx\nx\nz\ny\n".repeat(1000));
    for kind in KINDS {
        let built = folder.json(&format!("build log.txt {kind} -o log.tamis"));
        assert_eq!(built["groups"][0]["planned_keys"], 3, "{kind}");
        assert_eq!(built["groups"][0]["rows"], 6000, "{kind}");
    }
}

#[test]
fn all_keys_are_found_again_and_the_rate_is_met() {
    let folder = Folder::with_ratings(20_000);
    for kind in KINDS {
        for fpr in ["0.05", "0.001"] {
            folder.ok(&format!("build ratings.tsv {RATINGS} {kind} --fpr {fpr} -o a.tamis"));
            let test = folder.json("test a.tamis ratings.tsv");
            assert_eq!(test["false_negatives"], 0, "{kind}");
            assert_eq!(test["passed"], true, "{kind}");
            let sum = |field: &str| -> f64 {
                test["groups"].as_array().unwrap().iter().map(|group| group[field].as_f64().unwrap()).sum()
            };
            // 180,000 tests: 5 standard deviations are 6 % of 9,000, and 38 % of 180.
            let most = fpr.parse::<f64>().unwrap() * if fpr == "0.05" { 1.06 } else { 1.38 };
            assert!(sum("false_positives") / sum("negatives") <= most, "{kind} {fpr}");
        }
    }
}

#[test]
fn columns_go_by_number_and_steps_change_keys() {
    let folder = Folder::new();
    folder.write("t.csv", "mail,n\n Ann@Example.org ,2.5\nBOB@example.org,3.5\n");
    folder.ok("build t.csv --key 1:trim,lower --group 2:round --fpr 1e-6 -o t.tamis");
    let done = folder.run_with("query t.tamis", "ann@example.org\n Bob@Example.Org\nann\n");
    assert_eq!(done.out, "ann@example.org\t2\n Bob@Example.Org\t4\nann\t\n");
    folder.ok("build t.csv --no-header --key 1:trim,after=@,prefix=7 --bad-rows skip --fpr 1e-6 -o u.tamis");
    assert_eq!(folder.run("query u.tamis example Example").code, 0);
}

#[test]
fn other_columns_can_stand_for_those_of_a_stored_recipe() {
    let folder = Folder::new();
    folder.write("a.csv", "email,n\nann@x.org,1\n");
    folder.write("b.csv", "name,sender\nBob,BOB@x.org\n");
    folder.ok("build a.csv --key email:lower --keys 100 --fpr 1e-6 -o a.tamis");
    folder.refused("add a.tamis b.csv", 1, &["no column \"email\"", "name, sender"]);
    folder.ok("add a.tamis b.csv --key sender");
    assert_eq!(folder.run("query a.tamis bob@x.org").code, 0);
    folder.refused("add a.tamis b.csv --key sender:upper", 2, &["stored steps"]);
    folder.refused("add a.tamis b.csv --key sender --group name", 2, &["no groups"]);
    folder.refused("add a.tamis b.csv --key sender --key name", 2, &["has 1 part", "2 columns were given"]);
    assert_eq!(folder.json("test a.tamis b.csv --key sender")["false_negatives"], 0);
    folder.ok("build b.csv --like a.tamis --key sender -o b.tamis");
}

#[test]
fn a_given_seed_is_stored_and_a_random_one_differs() {
    let folder = Folder::with_ratings(100);
    let seed = |line: &str| folder.json(line)["hash"]["seed"].as_u64().unwrap();
    assert_eq!(seed("build ratings.tsv --key 1 --seed 42 -o a.tamis"), 42);
    assert_eq!(folder.run("query a.tamis tconst").code, 1);
    let random = seed("build ratings.tsv --key 1 --seed random -o b.tamis");
    assert_ne!(random, seed("build ratings.tsv --key 1 --seed random -o c.tamis"));
    assert_eq!(folder.json("test b.tamis ratings.tsv")["false_negatives"], 0);
    folder.refused("build ratings.tsv --key 1 --seed 1 --hash murmur3 -o d.tamis", 2, &["murmur3"]);
    folder.refused("build ratings.tsv --key 1 --seed x -o d.tamis", 2, &["seed"]);
}

fn data_bytes(folder: &Folder, name: &str) -> u64 {
    8 * container(&folder.path(name)).data().len() as u64
}

#[test]
fn a_total_size_is_kept_and_every_group_gets_the_same_rate() {
    let folder = Folder::with_ratings(50_000);
    for (kind, size, bytes) in [
        ("blocked", "64KB", 64_000),
        ("bloom", "64KB", 64_000),
        ("fuse", "64KiB", 65_536),
        ("ribbon", "64KiB", 65_536),
        ("bloom", "99KB", 99_000),
    ] {
        let line = format!("build ratings.tsv {RATINGS} --kind {kind} --size {size} -o a.tamis");
        let done = folder.run(&line);
        assert!(done.err.contains("every group has an expected rate of at most"), "{kind}: {}", done.err);
        assert!(data_bytes(&folder, "a.tamis") <= bytes, "{kind}");
        assert!(data_bytes(&folder, "a.tamis") > bytes * if kind == "fuse" { 8 } else { 9 } / 10, "{kind}");
        let groups = folder.json("inspect a.tamis")["groups"].clone();
        let large = |group: &&Value| group["planned_keys"].as_u64().unwrap() > 1000;
        let rates: Vec<f64> = groups
            .as_array()
            .unwrap()
            .iter()
            .filter(large)
            .map(|group| group["fpr_target"].as_f64().unwrap())
            .collect();
        let (low, high) =
            (rates.iter().copied().fold(1.0, f64::min), rates.iter().copied().fold(0.0, f64::max));
        // Whole cache lines: a filter of 1,000 keys has a few dozen of them.
        assert!(rates.len() > 4 && high / low < 1.2, "{kind}: {rates:?}");
    }
    folder.refused(
        &format!("build ratings.tsv {RATINGS} --size 100 -o b.tamis"),
        1,
        &["10 groups need 1,344 bytes at least, not 100", "larger --size"],
    );
    folder.refused("build ratings.tsv --key 1 --size 63 -o b.tamis", 1, &["too few"]);
    folder.refused(&format!("build ratings.tsv {RATINGS} --size 1MB --keys 10 -o b.tamis"), 2, &["--keys"]);
    folder.refused("build ratings.tsv --key 1 --size 64XB -o b.tamis", 2, &["XB"]);
}

#[test]
fn bits_per_key_are_kept() {
    let folder = Folder::with_ratings(20_000);
    for kind in ["blocked", "bloom", "fuse", "ribbon"] {
        let line = format!("build ratings.tsv --key tconst --kind {kind} --bits-per-key 12 -o a.tamis");
        let bits = folder.json(&line)["groups"][0]["bits"].as_f64().unwrap() / 20_000.0;
        // A blocked filter has whole lines of 512 bits.
        assert!(bits <= 12.0 + 512.0 / 20_000.0 && bits > 9.0, "{kind}: {bits}");
        assert_eq!(folder.json("test a.tamis ratings.tsv --random 1e5")["passed"], true, "{kind}");
    }
    for bits in ["0", "-1", "nan", "x"] {
        folder.refused(
            &format!("build ratings.tsv --key 1 --bits-per-key={bits} -o b.tamis"),
            2,
            &["above zero"],
        );
    }
    folder.refused("build ratings.tsv --key 1 --bits-per-key 1e5 -o b.tamis", 2, &["10,000"]);
}

#[test]
fn a_given_number_of_keys_makes_room_for_so_many() {
    let folder = Folder::with_ratings(1000);
    let built = folder.json(&format!("build ratings.tsv {RATINGS} --keys 1e4 -o a.tamis"));
    for group in built["groups"].as_array().unwrap() {
        assert_eq!(group["planned_keys"], 10_000);
        assert!(group["capacity"].as_u64().unwrap() >= 10_000);
    }
    let keys: HashSet<u64> =
        built["groups"].as_array().unwrap().iter().map(|group| group["bits"].as_u64().unwrap()).collect();
    assert_eq!(keys.len(), 1, "all of the same size");
    folder.write("none.csv", "tconst,averageRating\n");
    folder.ok("build none.csv --key tconst --keys 10 -o empty.tamis");
    assert_eq!(folder.run("query empty.tamis x").code, 1);
    folder.refused(&format!("build none.csv {RATINGS} --keys 10 -o x.tamis"), 1, &["no rows"]);
    folder.refused("build ratings.tsv --key 1 --kind fuse --keys 10 -o x.tamis", 2, &["leave out --keys"]);
}

#[test]
fn explain_shows_how_the_input_is_understood_and_builds_nothing() {
    let folder = Folder::new();
    folder.write("t.csv", "id;city\n1;Rom\n;Bern\n3;Oslo\n4\n");
    let line = "build t.csv --delimiter ; --key id --group city:upper --explain --bad-rows skip";
    let shown = folder.json(line);
    assert_eq!(shown["inputs"][0]["columns"], serde_json::json!(["id", "city"]));
    assert_eq!(shown["inputs"][0]["delimiter"], ";");
    let rows = serde_json::json!([
        {"values": ["1", "Rom"], "key": "1", "group": "ROM"},
        {"values": ["", "Bern"], "bad": "in the key: an empty cell, \\N or null is not a key"},
        {"values": ["3", "Oslo"], "key": "3", "group": "OSLO"},
        {"values": [], "bad": "this row has 1 field, too few for column 2"},
    ]);
    assert_eq!((&shown["first_rows"], &shown["error"]), (&rows, &Value::Null));
    let table = folder.ok(line);
    assert!(table.contains("id, city") && table.contains("OSLO") && table.contains("none: "), "{table}");
    assert_eq!(folder.names(), ["t.csv"]);
}

/// It showed nothing where it is needed most.
#[test]
fn explain_shows_what_it_understood_before_a_fault() {
    let folder = Folder::new();
    folder.write("t.csv", "id,city\n1,Rom\n,Bern\n3,Oslo\n");
    let line = "build t.csv --key id --group city:upper --explain";
    let done = folder.run(line);
    done.refused(line, 1, &["t.csv, line 3", "not a key", "--bad-rows skip"]);
    assert!(done.out.contains("id, city") && done.out.contains("\"Rom\""), "{}", done.out);
    let done = folder.run(&format!("{line} --json"));
    let shown: Value = done.out.parse().unwrap();
    assert_eq!(shown["first_rows"].as_array().unwrap().len(), 1);
    assert!(shown["error"].as_str().unwrap().contains("line 3"), "{shown:#}");

    folder.write("short.csv", "id,city\n1,Rom\n2\n");
    let done = folder.run("build short.csv --key city --explain");
    done.refused("short.csv", 1, &["short.csv, line 3", "too few"]);
    assert!(done.out.contains("Rom"), "{}", done.out);

    folder.write("t.ndjson", "{\"id\":1,\"user\":{\"name\":\"ann\"}}\n");
    for (line, says, columns) in [
        ("build t.csv --explain", "give --key", "id, city"),
        ("build t.csv --key town --explain", "no column \"town\"", "id, city"),
        ("build t.csv --key 3 --explain", "no column 3", "id, city"),
        ("build t.ndjson --explain", "give --key", "id, user.name"),
    ] {
        let done = folder.run(line);
        done.refused(line, 1, &[says]);
        assert!(done.out.contains(columns) && done.out.contains("format"), "{line}: {}", done.out);
    }
    folder.refused("build none.csv --explain", 1, &["none.csv"]);
}

/// It was read as one column, with a hint where a column was missing.
#[test]
fn a_csv_that_has_other_delimiters_than_commas_is_recognised_and_that_is_said() {
    let folder = Folder::new();
    folder.write("comma.csv", "id,price\n1,\"2,5\"\n2,3\n");
    folder.ok("build comma.csv --key id --group price -o comma.tamis");
    for (delimiter, shown) in [(";", "';'"), ("\t", "'\\t'"), ("|", "'|'")] {
        folder.write("other.csv", format!("id{delimiter}price\n1{delimiter}2,5\n2{delimiter}3\n"));
        let done = folder.run("build other.csv --key id --group price -o other.tamis");
        assert!(
            done.code == 0 && done.err.contains(&format!("the delimiter seems to be {shown}")),
            "{}",
            done.err
        );
        assert!(folder.read("other.tamis") == folder.read("comma.tamis"), "{shown}");
        let explained = folder.ok("build other.csv --key id --explain");
        assert!(explained.contains(&format!("{shown}, detected")), "{explained}");
        let explained = folder.json("build other.csv --key id --explain");
        assert_eq!(explained["inputs"][0]["delimiter_by_look"], true);
        for line in ["plan other.csv --key id", "test comma.tamis other.csv", "add comma.tamis other.csv"] {
            assert!(folder.run(line).err.contains("the delimiter seems to be"), "{line}");
        }
        folder.ok("build comma.csv --key id --group price -o comma.tamis");
        let piped = folder
            .run_with("build - --format csv --key id --group price -o other.tamis", folder.read("other.csv"));
        assert_eq!(piped.code, 0, "{}", piped.err);
        assert!(folder.read("other.tamis") == folder.read("comma.tamis"), "{shown} on standard input");
        let line = "build other.csv --delimiter comma --key id -o x.tamis";
        folder.refused(line, 1, &["no column \"id\"", "is the delimiter"]);
    }
    let done = folder.run("build comma.csv --key id -o x.tamis");
    assert!(!done.err.contains("delimiter"), "{}", done.err);
}

#[test]
fn a_column_that_is_called_by_a_number_is_found_by_it() {
    let folder = Folder::new();
    folder.write("t.csv", "id,2024,007,2\n1,ann,bond,x\n");
    let found = |key: &str, value: &str| {
        folder.ok(&format!("build t.csv --key {key} --fpr 1e-6 -o t.tamis"));
        folder.run(&format!("query t.tamis {value}")).code == 0
    };
    assert!(found("2024", "ann") && found("007", "bond"));
    let both = ["place of column \"2024\"", "name of column 4", "'\"2\"'"];
    folder.refused("build t.csv --key 2 --fpr 1e-6 -o x.tamis", 1, &both);
    assert!(found("\"2\"", "x") && found("\"2024\"", "ann") && found("3", "bond"));
    folder.refused("build t.csv --key 2025 -o t.tamis", 1, &["no column 2025"]);
    folder.write("t.ndjson", "{\"2024\":\"ann\"}\n");
    folder.ok("build t.ndjson --key 2024 --fpr 1e-6 -o t.tamis");
    assert_eq!(folder.run("query t.tamis ann").code, 0);
    folder.ok("test t.tamis t.ndjson");
    folder.refused("build t.ndjson --key 1 -o t.tamis", 1, &["by its name"]);
}

#[test]
fn a_first_line_of_numbers_taken_for_names_is_said() {
    let folder = Folder::new();
    folder.write("numbers.csv", "1001,5\n1002,6\n1003,7\n");
    let done = folder.run("build numbers.csv --key 1 -o a.tamis");
    assert!(done.err.contains("--no-header"), "{}", done.err);
    let done = folder.run("build numbers.csv --key 1 --no-header -o a.tamis");
    assert!(!done.err.contains("--no-header"), "{}", done.err);
}

#[test]
fn other_columns_than_those_of_the_parameters_are_said() {
    let folder = Folder::new();
    folder.write("users.csv", "mail,name\na@b,ann\n");
    folder.ok("plan --keys 100 --fpr 0.01 --key email -o params.json");
    let done = folder.run("build users.csv --params params.json --key mail -o a.tamis");
    assert!(done.err.contains("other columns"), "{}", done.err);
}
