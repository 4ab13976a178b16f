//! Every verb: its help, its way for people and its way for programs.

use serde_json::Value;

use crate::support::Folder;

const VERBS: [&str; 14] = [
    "demo",
    "generate",
    "plan",
    "build",
    "add",
    "merge",
    "test",
    "query",
    "inspect",
    "compare",
    "verify",
    "parquet",
    "reproduce",
    "completions",
];

const RATINGS: &str = "--key tconst --group averageRating:round";

#[test]
fn the_help_of_every_verb_shows_examples() {
    let folder = Folder::new();
    let all = folder.ok("--help");
    for verb in VERBS {
        assert!(all.contains(&format!("\n  {verb} ")), "{verb} is missing in: {all}");
        let help = folder.ok(&format!("{verb} --help"));
        assert!(help.contains("Examples:\n  "), "{verb}: {help}");
        assert!(help.contains(&format!("tamis {verb}")), "{verb}: {help}");
    }
    for verb in [
        "generate ratings",
        "reproduce ratings",
        "reproduce speedup",
        "parquet inspect",
        "parquet index",
        "parquet check",
    ] {
        assert!(folder.ok(&format!("{verb} --help")).contains("Examples:"), "{verb}");
    }
}

#[test]
fn completions_are_there_for_the_common_shells() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = folder.ok(&format!("completions {shell}"));
        assert!(script.contains("tamis") && script.contains("inspect"), "{shell}");
    }
    folder.refused("completions tcsh", 2, &["tcsh"]);
}

#[test]
fn no_verb_or_an_unknown_one_is_wrong_usage() {
    let folder = Folder::new();
    assert_eq!(folder.run("").code, 2);
    folder.refused("sieve", 2, &["sieve"]);
    folder.refused("build", 2, &["required"]);
    folder.refused("build x.csv --fpr 0.1 --bits-per-key 10 -o x.tamis", 2, &["cannot be used with"]);
}

/// The way of the issue, from data to a merged, tested and inspected file.
#[test]
fn the_examples_of_the_help_work_one_after_the_other() {
    let folder = Folder::new();
    folder.ok("generate ratings --rows 3000 -o ratings.tsv");
    folder.ok("generate ratings --rows 500 --seed 7 -o wednesday.tsv");
    assert!(folder.ok("generate ratings --rows 10 -o -").starts_with("tconst\taverageRating\tnumVotes\ntt"));
    folder.ok(&format!("plan ratings.tsv {RATINGS} --fpr 0.01 -o params.json"));
    folder.ok(&format!("build ratings.tsv {RATINGS} --fpr 0.01 -o ratings.tamis"));
    folder.ok("build ratings.tsv --params params.json -o monday.tamis");
    folder.ok("build wednesday.tsv --like monday.tamis -o tuesday.tamis");
    folder.ok("merge monday.tamis tuesday.tamis -o week.tamis");
    folder.ok("add week.tamis wednesday.tsv");
    let table = folder.ok("test ratings.tamis ratings.tsv --report report.html");
    assert!(table.contains("No false negatives."), "{table}");
    assert!(folder.text("report.html").starts_with("<!doctype html>"));
    let first = folder.text("ratings.tsv").lines().nth(1).unwrap().split('\t').next().unwrap().to_owned();
    let answer = folder.ok(&format!("query ratings.tamis {first} tt0000001"));
    assert!(answer.starts_with(&format!("{first}\t")), "{answer}");
    assert!(folder.ok("inspect ratings.tamis").contains("averageRating:round"));
    folder.ok("inspect ratings.tamis --group 8 --raw-bits rating8.bits");
    folder.ok("compare monday.tamis tuesday.tamis");
    assert!(folder.ok("verify ratings.tamis").contains("sound"));
    assert!(folder.ok("build ratings.tsv --key tconst --explain").contains("numVotes"));
    folder.is_clean();
}

#[test]
fn the_demo_does_the_main_job_and_leaves_data_filters_and_report() {
    let folder = Folder::new();
    let done = folder.run("demo --folder out --rows 1e4");
    assert_eq!(done.code, 0, "{}", done.err);
    for column in ["group", "keys", "bits", "k", "bits/key", "expected rate", "false positives", "negatives"]
        .iter()
        .chain(&["measured rate", "95 % interval", "false negatives"])
    {
        assert!(done.out.contains(column), "{column}: {}", done.out);
    }
    for phase in ["generate", "build", "test"] {
        assert!(done.err.contains(phase), "{phase}: {}", done.err);
    }
    for name in ["ratings.tsv", "ratings.tamis", "report.html"] {
        assert!(!folder.read(&format!("out/{name}")).is_empty(), "{name}");
    }
    assert_eq!(folder.json("demo --folder out --rows 1000")["false_negatives"], 0);
}

#[test]
fn the_documents_experiment_is_measured_on_any_table_of_ratings() {
    let folder = Folder::with_ratings(2000);
    let found = folder.json("reproduce ratings ratings.tsv --repeats 1");
    assert_eq!(found["rows"], 2000);
    let runs = found["runs"].as_array().unwrap();
    for fpr in [0.001, 0.01, 0.05, 0.1] {
        assert!(runs.iter().any(|run| run["fpr"] == fpr), "{fpr}");
    }
    assert!(runs.iter().all(|run| run["test"]["false_negatives"] == 0));
    assert!(folder.text("reproduce-ratings.html").starts_with("<!doctype html>"));
    let table = folder.ok("reproduce ratings ratings.tsv --repeats 1 --report page.html -q");
    assert!(table.contains("0.001"), "{table}");
}

#[test]
fn the_speed_up_of_threads_is_measured_with_the_same_answers() {
    let folder = Folder::new();
    let small = "reproduce speedup --sizes 2000,10K --threads 3,5 --repeats 2 --records 20K";
    let found = folder.json(small);
    let sets = found["sets"].as_array().unwrap();
    assert_eq!(sets.iter().map(|set| &set["records"]).collect::<Vec<_>>(), [2000, 10_000, 20_000]);
    assert_eq!(sets[1]["runs"].as_array().unwrap().len(), 2 * 4, "1, 2, 3 and 5 threads, two schemes");
    for set in sets {
        for run in set["runs"].as_array().unwrap() {
            has(run, &["scheme", "threads", "hashes", "speedup", "initialise_seconds", "analyse_seconds"]);
            assert_eq!((&run["same_answers"], &run["false_negatives"]), (&true.into(), &0.into()));
            let sum = run["admitted"].as_u64().unwrap() + run["rejected"].as_u64().unwrap();
            assert_eq!((set["records"].as_u64(), &run["analysed"]), (Some(sum), &set["records"]));
        }
    }
    assert_eq!(sets[1]["runs"][0]["bits"], 100, "the published filter for its 10K");
    assert_eq!(found["document"]["by_size"][3]["sample"], 39_176);
    assert!(folder.text("reproduce-speedup.html").contains("Speed-up by threads"));

    let none = "--sizes 10K --threads 2 --repeats 1 --records 0 --report page.html -q";
    let table = folder.ok(&format!("reproduce speedup {none}"));
    for says in
        ["Collodi and Ghera print", "2.67", "1.27", "hash functions", "39,176", "no word of S was rejected"]
    {
        assert!(table.contains(says), "{says}: {table}");
    }
    assert!(!table.contains("100,000,000"), "{table}");
    folder.refused("reproduce speedup --sizes 0", 2, &["at least 1"]);
    folder.refused("reproduce speedup --records 1e17 --sizes 10", 1, &["no memory", "fewer records"]);
}

fn has(value: &Value, fields: &[&str]) {
    for field in fields {
        assert!(value.get(field).is_some(), "{field} is missing in {value:#}");
    }
}

#[test]
fn programs_get_json_with_the_promised_fields() {
    let folder = Folder::with_ratings(1000);
    let path = folder.json("generate ratings --rows 100 -o small.tsv");
    has(&path, &["path", "rows", "seed", "counts"]);

    let plan = folder.json("plan --keys 1e9 --fpr 0.01");
    has(&plan["kinds"][0], &["kind", "keys", "bits", "hashes", "width", "bytes", "bits_per_key", "fpr"]);
    has(&folder.json("plan --keys 1e9 --bits 8e9")["by_hashes"][0], &["hashes", "fpr"]);
    let plan = folder.json(&format!("plan ratings.tsv {RATINGS} -o params.json"));
    has(&plan, &["kind", "hash", "recipe", "groups"]);
    assert_eq!(plan, serde_json::from_str::<Value>(&folder.text("params.json")).unwrap());

    let group = ["group", "rows", "planned_keys", "estimated_keys", "bits", "hashes", "ones", "fill"];
    let health = ["fpr_now", "fpr_target", "capacity", "overfull"];
    for line in [
        "build ratings.tsv --params params.json -o a.tamis",
        "build small.tsv --params params.json -o b.tamis",
        "merge a.tamis b.tamis -o c.tamis",
        "add c.tamis small.tsv",
        "inspect c.tamis",
    ] {
        let shown = folder.json(line);
        has(&shown, &["path", "kind", "hash", "recipe", "bytes", "groups"]);
        has(&shown["groups"][0], &group);
        has(&shown["groups"][0], &health);
    }
    let one = folder.json("inspect c.tamis --group 8");
    assert_eq!((one["groups"].as_array().unwrap().len(), &one["groups"][0]["group"]), (1, &"8".into()));

    has(
        &folder.json("compare a.tamis b.tamis")["groups"][0],
        &["group", "first", "second", "either", "both"],
    );
    has(&folder.json("verify a.tamis"), &["path", "sound", "groups", "bytes"]);
    let explained = folder.json("build ratings.tsv --key tconst --explain");
    has(&explained["inputs"][0], &["path", "format", "compression", "delimiter", "header", "columns"]);
    assert_eq!(explained["first_rows"].as_array().unwrap().len(), 5);

    let test = folder.json("test a.tamis ratings.tsv");
    has(&test, &["groups", "keys", "rows", "false_positives", "negatives", "false_negatives", "passed"]);
    let groups = test["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 10);
    for group in groups {
        has(group, &["group", "keys", "bits", "hashes", "ones", "false_positives", "negatives"]);
        has(group, &["false_negatives", "fpr", "fpr_low", "fpr_high"]);
    }
}

#[test]
fn quiet_silences_notes_and_keeps_the_result() {
    let folder = Folder::with_ratings(500);
    folder.ok(&format!("plan ratings.tsv {RATINGS} -o params.json -q"));
    for line in [
        "generate ratings --rows 10 -o small.tsv",
        "build ratings.tsv --params params.json -o a.tamis",
        "plan --keys 100 --fpr 0.1 -o other.json --chart plan.svg",
        "test a.tamis ratings.tsv --report page.html",
        "inspect a.tamis --group 8 --raw-bits bits",
        "demo --folder out --rows 100",
    ] {
        assert!(!folder.run(line).err.is_empty(), "{line}: no notes");
        let quiet = folder.run(&format!("{line} -q"));
        assert_eq!((quiet.code, quiet.err.as_str()), (0, ""), "{line}");
        let asked_for_a_file = line.starts_with("generate") || line.starts_with("build");
        assert_eq!(quiet.out.is_empty(), asked_for_a_file, "{line}");
    }
}

/// The tables of `build` and `filter -o` were printed all the same.
#[test]
fn quiet_leaves_out_what_nobody_asked_for() {
    let folder = Folder::new();
    folder.write("a.txt", "1\n2\n2\n");
    folder.write("b.txt", "3\n4\n4\n");
    for line in [
        "build a.txt -o a.tamis",
        "build b.txt -o b.tamis",
        "build a.txt --kind counting -o c.tamis",
        "add a.tamis a.txt",
        "merge a.tamis b.tamis -o m.tamis",
        "remove c.tamis a.txt --missing skip",
        "filter a.tamis a.txt -o out.txt",
        "dedup a.txt -o out.txt",
        "stream --train a.txt --query a.txt --keys 10 -o out.tsv",
    ] {
        let quiet = folder.run(&format!("{line} -q"));
        assert_eq!((quiet.code, quiet.out.as_str(), quiet.err.as_str()), (0, "", ""), "{line}");
        assert!(!folder.json(&format!("{line} -q")).is_null(), "{line}");
    }
    for line in ["filter a.tamis a.txt --count", "dedup a.txt --count", "inspect a.tamis", "plan a.txt"] {
        assert!(!folder.ok(&format!("{line} -q")).is_empty(), "{line}");
    }
}

#[test]
fn one_of_a_thing_is_not_many() {
    let folder = Folder::new();
    assert!(folder.run("generate ratings --rows 1 -o r.tsv").err.contains("r.tsv: 1 row\n"));
    folder.write("t.csv", "k,g\n1,a\n,a\n");
    let said = |line: &str| {
        let done = folder.run(line);
        done.out + &done.err
    };
    assert!(said("build t.csv --key k --bad-rows skip -o t.tamis").contains("left out 1 bad row\n"));
    assert!(said("inspect t.tamis").contains("in 1 group\n"));
    assert!(said("verify t.tamis").contains("(1 group, "));
    folder.write("other.csv", "k,g\n1,a\n2,a\n");
    let tested = said("test t.tamis t.csv --bad-rows skip --negatives t.csv --random 1");
    assert!(tested.contains("0 false positives in 1 test ("), "{tested}");
    assert!(tested.contains("Not counted: 1 key both given as negative and in the set"), "{tested}");
    assert!(tested.contains("Left out: 2 bad rows."), "{tested}");
    assert!(said("test t.tamis other.csv").contains("1 FALSE NEGATIVE:"));
}

#[test]
fn a_result_that_nobody_reads_to_its_end_is_no_error() {
    let folder = Folder::with_ratings(20_000);
    folder.ok("build ratings.tsv --key tconst --group numVotes -o a.tamis");
    let done = folder.shell("$TAMIS inspect a.tamis | head -1");
    assert_eq!((done.code, done.err.as_str(), done.out.lines().count()), (0, "", 1));
    let done = folder.shell("$TAMIS generate ratings -o - | head -1");
    assert_eq!((done.code, done.err.as_str(), done.out.lines().count()), (0, "", 1));
}

/// `eprintln!` would panic.
#[test]
fn notes_that_nobody_reads_do_not_end_the_program() {
    let folder = Folder::with_ratings(500);
    let line = "{ $TAMIS build ratings.tsv --key tconst -o a.tamis 2>&1 >table; echo $? >code; } | true";
    folder.shell(line).succeeded(line);
    assert_eq!(folder.text("code"), "0\n");
    folder.ok("verify a.tamis");
}

#[test]
fn a_full_standard_output_is_an_error() {
    let folder = Folder::with_ratings(500);
    let done = folder.shell("$TAMIS generate ratings --rows 1e5 -o - > /dev/full");
    done.refused("generate", 1, &["No space left on device"]);
    folder.ok("build ratings.tsv --key tconst -o a.tamis");
    folder.shell("$TAMIS inspect a.tamis > /dev/full").refused("inspect", 1, &["No space left"]);
    folder.shell("$TAMIS query a.tamis x > /dev/full").refused("query", 2, &["No space left"]);
}

/// It came after all groups; and the column of a key commanded the terminal.
#[test]
fn inspect_tells_first_what_a_file_is_and_shows_no_escapes() {
    let folder = Folder::new();
    folder.write("t.csv", "k\x1b[31m,g\n1,a\n2,b\n");
    let build = ["build", "t.csv", "--key", "k\x1b[31m", "--group", "g", "--exact", "-o", "t.tamis"];
    folder.run_words(&[&build[..], &["--note", "n\x1b]0;x\x07", "--source", "s"]].concat(), "");
    let shown = folder.ok("inspect t.tamis");
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("t.tamis: blocked"), "{shown}");
    assert_eq!(lines[1], "made from 2 rows; format version 2");
    assert_eq!(lines[2..5], ["note: n\\x1b]0;x\\x07", "source: s", "exact keys: t.tamis.keys"]);
    assert!(lines.len() > 7 && lines[6].starts_with("group "), "{shown}");
    let json = folder.json("inspect t.tamis");
    assert_eq!((&json["format_version"], &json["exact_keys"]), (&2.into(), &true.into()));
    folder.write("u.csv", "other\n1\n");
    let said = folder.run("filter t.tamis u.csv");
    assert!(!(shown + &said.err).contains('\x1b'), "{}", said.err);
}
