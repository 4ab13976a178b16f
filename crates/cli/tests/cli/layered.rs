//! Records of several keywords, through the program.

use crate::golden::shared;
use crate::support::Folder;

const FILMS: &str = "id,kind,tags,list\n\
    1,a,\"space, alien, survival\",\"[{\"\"name\"\": \"\"x\"\"}, {\"\"name\"\": \"\"y\"\"}]\"\n\
    2,a,\"love, war\",\"[{\"\"name\"\": \"\"z\"\"}]\"\n\
    3,b,\"alien, love, robot, war\",\"[]\"\n";

fn films() -> Folder {
    let folder = Folder::new();
    folder.write("films.csv", FILMS);
    folder
}

#[test]
fn records_are_built_queried_tested_and_inspected() {
    let folder = films();
    folder.ok("build films.csv --kind layered --keywords tags:split=, --layers 2 --fpr 0.05 -o f.tamis");
    let ask = |words: &[&str]| {
        let mut line = vec!["query", "f.tamis"];
        line.extend(words);
        folder.run_words(&line, "")
    };
    let found = ask(&["space, alien, survival", "love,war"]);
    assert_eq!((found.code, found.out.as_str()), (0, "space, alien, survival\tyes\nlove,war\tyes\n"));
    assert_eq!(ask(&["nothing, of, this"]).code, 1);

    let test = folder.json("test f.tamis films.csv --random 20000");
    assert_eq!((&test["false_negatives"], &test["passed"]), (&0.into(), &true.into()));
    let state = folder.json("inspect f.tamis");
    assert_eq!((&state["groups"][0]["layers"], &state["groups"][0]["width"]), (&2.into(), &3.into()));
    assert!(state["groups"][0]["fpr_random_records"].as_f64().unwrap() < 0.05);
    assert!(folder.ok("inspect f.tamis").contains("2 + XOR"));
    folder.ok("verify f.tamis");
}

#[test]
fn a_query_is_a_whole_record_unless_it_is_partial() {
    let folder = films();
    folder.ok("build films.csv --kind layered --keywords tags:split=, --layers 2 --fpr 0.001 --group kind -o f.tamis -q");
    let ask = |words: &[&str]| folder.run_words(&[&["query", "f.tamis"], words].concat(), "");
    // The first keywords of a record, and keywords of two records: none of them is a record.
    for (query, layers) in [
        ("space", "layer 1 of 2"),
        ("love", "layer 1 of 2"),
        ("space, alien", "layers 1-2 of 2"),
        ("space, war", "layers 1-2 of 2"),
    ] {
        let whole = ask(&[query]);
        assert_eq!((whole.code, whole.out), (1, format!("{query}\t\n")));
        assert!(
            whole.err.contains("--partial") && whole.err.contains("1 record that is not in the set"),
            "{}",
            whole.err
        );
        let partial = ask(&["--partial", query]);
        assert_eq!((partial.code, partial.out), (0, format!("{query}\ta\t{layers}\n")));
        assert!(partial.err.contains("without the XOR layer"), "{}", partial.err);
    }
    // Round and round: the third keyword is in the first layer again, and may come first.
    assert_eq!(ask(&["--partial", "survival"]).out, "survival\ta\tlayer 1 of 2\n");
    assert_eq!(ask(&["--partial", "robot, love"]).out, "robot, love\tb\tlayers 1-2 of 2\n");
    let none = ask(&["--partial", "war, love", "-q"]);
    assert_eq!((none.code, none.out.as_str(), none.err.as_str()), (1, "war, love\t\tlayers 1-2 of 2\n", ""));
    let none = ask(&["nothing, of, this", "-q"]);
    assert_eq!((none.code, none.out.as_str(), none.err.as_str()), (1, "nothing, of, this\t\n", ""));

    let json =
        |words: &[&str]| -> serde_json::Value { ask(&[words, &["--json"]].concat()).out.parse().unwrap() };
    assert_eq!(
        json(&["space, alien"])[0],
        serde_json::json!({"key": "space, alien", "found": false, "groups": []})
    );
    assert_eq!(
        json(&["--partial", "space, alien"])[0],
        serde_json::json!({"key": "space, alien", "found": true, "groups": ["a"], "layers_asked": [1, 2]})
    );

    folder.write("new.csv", "tags\nspace\n\"love,war\"\n\"space, war\"\nwar\n");
    assert_eq!(folder.ok("filter f.tamis new.csv -q"), "tags\n\"love,war\"\n");
    assert_eq!(
        folder.ok("filter f.tamis new.csv --partial -q"),
        "tags\nspace\n\"love,war\"\n\"space, war\"\n"
    );
    assert_eq!(folder.ok("filter f.tamis new.csv --partial --invert -q"), "tags\nwar\n");
    assert!(folder.ok("filter f.tamis new.csv --partial --tag=in -q").contains("\"space, war\",a\n"));
    let counted = folder.json("filter f.tamis new.csv --partial --count");
    assert_eq!((&counted["partial"], &counted["admitted"]), (&true.into(), &3.into()));
    assert!(folder.ok("filter f.tamis new.csv --partial --count").contains("without the XOR layer"));

    folder.ok("build films.csv --keywords tags:split=, -o one-key.tamis -q");
    let says = ["one-key.tamis", "blocked", "--partial", "--kind layered"];
    folder.refused("query one-key.tamis --partial space", 2, &says);
    folder.refused("filter one-key.tamis films.csv --partial", 2, &says);
    folder.refused("filter f.tamis films.csv --partial --strict", 2, &["--partial", "--strict"]);
}

#[test]
fn keywords_of_lists_are_asked_as_rows_have_them() {
    let folder = Folder::new();
    let rows = "list\n\"[{\"\"name\"\": \"\" x\"\"}, {\"\"name\"\": \"\"y, z \"\"}]\"\n";
    folder.write("t.csv", rows);
    folder.ok("build t.csv --kind layered --keywords list:json=name --layers 2 --fpr 0.001 -o t.tamis -q");
    folder.ok("build t.csv --kind layered --keywords list:json=name,trim --layers 2 --fpr 0.001 -o trimmed.tamis -q");
    let ask = |file: &str, query: &str| folder.run_words(&["query", file, query, "-q"], "");
    for query in [r#"[{"name":" x"},{"name":"y, z "}]"#, r#"[" x", "y, z "]"#] {
        assert_eq!(ask("t.tamis", query).out, format!("{query}\tyes\n"));
    }
    assert_eq!(ask("t.tamis", r#"["x", "y, z"]"#).code, 1, "blanks belong to these keywords");
    assert_eq!(ask("trimmed.tamis", r#"["x", " y, z"]"#).code, 0);
    ask("t.tamis", "x, y").refused("commas", 2, &["key \"x, y\"", "column list", "blanks", "JSON list"]);
    assert_eq!(ask("trimmed.tamis", "x, y").code, 1, "between commas, and in no record");
    let one = folder.run_words(&["query", "t.tamis", "--partial", " x", "x", "-q"], "");
    assert_eq!(one.out, " x\tyes\tlayer 1 of 2\nx\t\tlayer 1 of 2\n");
}

#[test]
fn groups_parameters_merging_and_adding_go_with_records_too() {
    let folder = films();
    let recipe = "--kind layered --keywords tags:split=,,upper --group kind";
    folder.ok(&format!("plan films.csv {recipe} --fpr 0.05 -o p.json"));
    folder.ok("build films.csv --params p.json -o whole.tamis");
    let lines: Vec<&str> = FILMS.lines().collect();
    folder.write("one.csv", format!("{}\n{}\n", lines[0], lines[1]));
    folder.write("two.csv", format!("{}\n{}\n{}\n", lines[0], lines[2], lines[3]));
    folder.ok("build one.csv --params p.json -o one.tamis");
    folder.ok("build two.csv --params p.json --threads 1 -o two.tamis");
    folder.ok("merge one.tamis two.tamis -o merged.tamis");
    assert!(folder.read("merged.tamis") == folder.read("whole.tamis"));
    folder.ok("add one.tamis two.csv");
    assert!(folder.read("one.tamis") == folder.read("whole.tamis"));
    let asked = folder.run_words(&["query", "whole.tamis", "Space,ALIEN,survival"], "");
    assert_eq!(asked.out, "Space,ALIEN,survival\ta\n");
    let overlap = folder.json("compare whole.tamis merged.tamis");
    assert!((overlap["groups"][0]["both"].as_f64().unwrap() - 2.0).abs() < 0.5);
}

#[test]
fn keywords_come_from_json_lists_words_and_several_columns() {
    let folder = films();
    folder.ok("build films.csv --kind layered --keywords list:json=name --bad-rows skip -o list.tamis");
    let asked = folder.run_words(&["query", "list.tamis", "[\"x\",\"y\"]", "[{\"name\":\"z\"}]", "y"], "");
    assert!(asked.out.starts_with("[\"x\",\"y\"]\tyes\n[{\"name\":\"z\"}]\tyes\n"), "{}", asked.out);
    folder
        .ok("build films.csv --kind layered --keywords id --keywords tags:words,sort --layers 3 -o w.tamis");
    let asked = folder.run_words(&["query", "w.tamis", "2\twar and love", "2\twar, love", "2"], "");
    let lines: Vec<&str> = asked.out.lines().collect();
    assert_eq!(lines[1].rsplit('\t').next(), Some("yes"));
    assert!(!lines[0].ends_with("yes") && !lines[2].ends_with("yes"));
    assert_eq!(folder.run_words(&["query", "w.tamis", "2", "--partial"], "").out, "2\tyes\tlayer 1 of 3\n");
    // Saved keywords from a column of another name.
    folder.write("other.csv", FILMS.replace("tags", "labels"));
    folder.ok("test w.tamis other.csv --keywords id --keywords labels");
    let shown = folder.ok("build films.csv --explain --kind layered --keywords tags:split=,,sort");
    assert!(shown.contains("alien | space | survival"), "{shown}");
}

#[test]
fn bad_keywords_are_named() {
    let folder = films();
    folder.refused(
        "build films.csv --kind layered --keywords list:json=name -o x.tamis",
        1,
        &["films.csv", "line 4", "has no keywords", "--bad-rows skip"],
    );
    folder.write("bad.csv", "id,list\n1,\"[\"\"a\"\"]\"\n2,\"[\"\"a\"\n");
    folder.refused(
        "build bad.csv --kind layered --keywords list:json -o x.tamis",
        1,
        &["bad.csv", "line 3", "column list", "not a JSON list"],
    );
    folder.refused(
        "build films.csv --kind layered --keywords list:json=title -o x.tamis",
        1,
        &["line 2", "column list", "element 1 has no member \"title\""],
    );
    let never = folder.run("build films.csv --kind layered --keywords tags:split=; -o x.tamis");
    assert!(never.code == 0 && never.err.contains("no record has more than one keyword"), "{}", never.err);
    let many: Vec<String> = (0..10_000).map(|i| format!("w{i}")).collect();
    folder.write("many.txt", many.join(",") + "\n");
    folder.ok("build many.txt --format lines --kind layered --keywords :split=, -o many.tamis");
    let asked = folder.run_words(&["query", "many.tamis"], many.join(","));
    assert!(asked.code == 0 && asked.out.ends_with("\tyes\n"));
    folder.is_clean();
}

#[test]
fn layers_that_are_given_go_with_any_size() {
    let folder = films();
    folder.ok("build films.csv --kind layered --keywords tags:split=, --layers 2 --size 1kB -o x.tamis");
    folder.ok("build films.csv --kind layered --keywords tags:split=, --bits-per-key 9 -o x.tamis");
}

#[test]
fn a_plan_shows_the_rate_of_a_layer_and_of_the_whole() {
    let folder = Folder::new();
    let plan = folder.json("plan --kind layered --keys 1000 --layers 3 --fpr 0.05");
    let group = &plan["groups"][0];
    let layer = group["fpr_layer"].as_f64().unwrap();
    assert!(layer <= 0.05 && (group["fpr_random_records"].as_f64().unwrap() - layer.powi(4)).abs() < 1e-12);
    assert_eq!((&group["slots"], &group["layers"]), (&8192.into(), &3.into()));
    assert!(folder.ok("plan --kind layered --keys 1000 --layers 3 --fpr 0.05").contains("recombined"));
}

#[test]
fn the_layers_of_generated_data_are_measured() {
    let folder = Folder::new();
    let found = folder.json("reproduce layers");
    assert_eq!(found["data_sets"].as_array().unwrap().len(), 3);
    for set in found["data_sets"].as_array().unwrap() {
        for measured in set["measured"].as_array().unwrap() {
            // Random records follow the formulas: six standard deviations. Others repeat in small sets.
            if measured["probe"] == "random" {
                let expected = measured["expected_false_positives"].as_f64().unwrap();
                let off = (measured["false_positives"].as_f64().unwrap() - expected).abs();
                assert!(off <= 6.0 * expected.sqrt() + 6.0, "{}: {measured}", set["data_set"]);
            }
        }
    }
    let csv = folder.text("reproduce-layers.csv");
    assert_eq!(csv.lines().count(), 1 + 3 * 5 * 4);
    assert!(folder.text("reproduce-layers.html").contains("</svg>"));
    assert!(found["verdict"].as_array().unwrap().len() == 5);
}

#[test]
fn the_layers_of_the_real_tables_are_measured() {
    let table = shared("data/tmdb_5000_movies.csv");
    if !table.exists() {
        println!("left out: tmdb_5000_movies.csv is not at hand");
        return;
    }
    let folder = Folder::new();
    let table = table.canonicalize().unwrap().display().to_string();
    let found = folder.json(&format!("reproduce layers {table} --keywords keywords:json=name"));
    let set = &found["data_sets"][0];
    assert_eq!(
        (&set["unique_records"], &set["different_keywords"], &set["layers"]),
        (&4221.into(), &9813.into(), &2.into())
    );
}

#[test]
fn the_ways_to_search_are_measured_without_losing_a_record() {
    let folder = films();
    let found = folder.json("reproduce search films.csv --key tags --most 1000");
    let runs = found["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 10);
    for run in runs {
        assert_eq!(run["false_negatives"], 0, "{run}");
        let exact = ["linear search", "binary search", "hash table"].contains(&run["way"].as_str().unwrap());
        assert!(!exact || run["false_positives"] == 0, "{run}");
    }
    assert_eq!(folder.text("reproduce-search.csv").lines().count(), 11);
    assert!(folder.text("reproduce-search.html").contains("</svg>"));
    folder.refused("reproduce layers films.csv", 1, &["films.csv", "--keywords", "tags"]);
}

#[test]
fn records_are_filtered_by_their_keywords() {
    let folder = films();
    folder.ok("build films.csv --kind layered --keywords tags:split=, --group kind --layers 2 --fpr 0.001 -o f.tamis -q");
    folder.write("new.csv", "tags\n\"war, love\"\n\"love,war\"\nspace\n\"space, alien, survival\"\n");
    assert_eq!(folder.ok("filter f.tamis new.csv -q"), "tags\n\"love,war\"\n\"space, alien, survival\"\n");
    assert_eq!(folder.ok("filter f.tamis films.csv --own-group -q").lines().count(), 4);
    assert_eq!(folder.ok("filter f.tamis new.csv --group b -q"), "tags\n");
    let tagged = folder.ok("filter f.tamis new.csv --tag=in -q");
    assert!(tagged.contains("\"love,war\",a"), "{tagged}");
}

#[test]
fn a_key_that_would_be_found_if_it_were_written_otherwise_gives_a_hint() {
    let folder = Folder::new();
    folder.write("kw.csv", "id,t\n1,\"[\"\"solo, one\"\"]\"\n2,\"[\"\"a\"\"]\"\n");
    folder.ok("build kw.csv --kind layered --keywords t:json,trim --layers 2 --fpr 1e-6 -o kw.tamis -q");
    folder.write("split.csv", "id,t\n1,\"space,alien\"\n");
    folder.ok("build split.csv --kind layered --keywords t:split=, --layers 2 --fpr 1e-6 -o split.tamis -q");
    let ask = |file: &str, key: &str| folder.run_words(&["query", file, key], "");
    for (file, key, other) in [
        ("kw.tamis", "solo, one", r#"["solo, one"]"#),
        ("kw.tamis", "\"a\"", r#"["a"]"#),
        ("split.tamis", r#"["space","alien"]"#, "space,alien"),
    ] {
        let done = ask(file, key);
        assert_eq!(done.code, 1, "{key}");
        assert!(done.err.contains(&format!("it may be in it as {other}")), "{key}: {}", done.err);
        assert_eq!(ask(file, other).code, 0, "{other}");
    }
    for key in ["solo", "x, y", "\"x\""] {
        assert!(!ask("kw.tamis", key).err.contains("may be in it as"), "{key}");
    }
    assert!(ask("kw.tamis", "[\"x\"]").err.is_empty());
}

#[test]
fn a_list_in_ndjson_is_a_record_of_keywords() {
    let folder = Folder::new();
    folder.write(
        "t.ndjson",
        "{\"t\":[\"a b\",\" c\"],\"u\":[{\"name\":\"x\"}]}\n{\"u\":[],\"t\":[\"d, e\"]}\n",
    );
    folder.write("t.csv", "t\n\"[\"\"a b\"\",\"\" c\"\"]\"\n\"[\"\"d, e\"\"]\"\n");
    for file in ["t.ndjson", "t.csv"] {
        folder.ok(&format!("build {file} --kind layered --keywords t:json --layers 2 -o {file}.tamis"));
    }
    assert!(folder.read("t.ndjson.tamis") == folder.read("t.csv.tamis"), "the same keys");
    assert_eq!(folder.run_words(&["query", "t.ndjson.tamis", r#"["a b"," c"]"#], "").code, 0);
    let test = folder.json("test t.ndjson.tamis t.ndjson");
    assert_eq!((&test["false_negatives"], &test["passed"]), (&0.into(), &true.into()));
    folder.ok("build t.ndjson --keywords u:json=name --bad-rows skip -o u.tamis");
    assert_eq!(folder.run("query u.tamis x").code, 0);
    folder.refused("build t.ndjson --key t -o x.tamis", 1, &["\"t\" is an array", "t:json"]);
}

#[test]
fn partial_records_of_a_filter_without_layers_are_wrong_usage() {
    let folder = Folder::new();
    folder.write("k.txt", "a\nb\n");
    folder.ok("build k.txt --kind bloom -o k.tamis");
    folder.refused("query k.tamis --partial a", 2, &["layers"]);
    folder.refused("filter k.tamis k.txt --partial", 2, &["layers"]);
}
