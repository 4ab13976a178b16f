//! Inputs that are missing, odd or wrong: a clear message, the right exit code, nothing written.

use crate::support::Folder;

#[test]
fn a_missing_file_is_named() {
    let folder = Folder::with_ratings(10);
    folder.ok("build ratings.tsv --key tconst --keys 10 -o a.tamis");
    folder.refused("build none.csv --key a -o x.tamis", 1, &["none.csv", "no such file"]);
    folder.refused("build none*.csv --key a -o x.tamis", 1, &["none*.csv", "no file matches"]);
    folder.refused("plan none.csv --key a", 1, &["none.csv"]);
    folder.refused("add a.tamis none.csv", 1, &["none.csv"]);
    folder.refused("add none.tamis ratings.tsv", 1, &["none.tamis", "no such file"]);
    folder.refused("test a.tamis none.csv", 1, &["none.csv"]);
    folder.refused("test a.tamis --negatives none.csv", 1, &["none.csv"]);
    folder.refused("test none.tamis ratings.tsv", 1, &["none.tamis"]);
    folder.refused("inspect none.tamis", 1, &["none.tamis"]);
    folder.refused("verify none.tamis", 1, &["none.tamis"]);
    folder.refused("compare a.tamis none.tamis", 1, &["none.tamis"]);
    folder.refused("merge a.tamis none.tamis -o x.tamis", 1, &["none.tamis"]);
    folder.refused("reproduce ratings none.tsv", 1, &["none.tsv"]);
    assert_eq!(folder.names(), ["a.tamis", "ratings.tsv"]);
}

/// Some said "No such file or directory (os error 2)".
#[test]
fn a_missing_file_is_told_in_the_same_words_by_all_verbs() {
    let folder = Folder::with_ratings(10);
    folder.ok("build ratings.tsv --key tconst --keys 10 -o a.tamis");
    for (line, code) in [
        ("build none --key a -o x.tamis", 1),
        ("build ratings.tsv --params none -o x.tamis", 1),
        ("build ratings.tsv --like none -o x.tamis", 1),
        ("plan none --key a", 1),
        ("add a.tamis none", 1),
        ("add none ratings.tsv", 1),
        ("test a.tamis none", 1),
        ("test a.tamis --negatives none", 1),
        ("test none ratings.tsv", 1),
        ("query none x", 2),
        ("inspect none", 1),
        ("verify none", 1),
        ("compare a.tamis none", 1),
        ("merge a.tamis none -o x.tamis", 1),
        ("reproduce ratings none", 1),
    ] {
        let done = folder.run(line);
        assert_eq!((done.code, done.err.as_str()), (code, "error: none: no such file or folder\n"), "{line}");
    }
}

/// It complained about UTF-8.
#[test]
fn filters_given_as_parameters_and_parameters_given_as_filters_are_told_apart() {
    let folder = Folder::with_ratings(10);
    folder.ok("build ratings.tsv --key tconst --keys 10 -o a.tamis");
    folder.ok("plan ratings.tsv --key tconst -o p.json");
    folder.refused(
        "build ratings.tsv --params a.tamis -o x.tamis",
        1,
        &["a.tamis", "file of filters", "--like"],
    );
    folder.refused("build ratings.tsv --like p.json -o x.tamis", 1, &["p.json", "--params"]);
    folder.write("bytes", b"\xff\xfe");
    folder.refused("build ratings.tsv --params bytes -o x.tamis", 1, &["bytes", "tamis plan"]);
}

/// The second run read the output of the first.
#[test]
fn a_folder_may_hold_the_filters_that_were_made_of_it() {
    let folder = Folder::new();
    folder.write("in/a.csv", "k\n1\n");
    folder.write("in/deeper/b.csv", "k\n2\n");
    folder.ok("build in --key k -o in/out.tamis");
    folder.write("in/deeper/out.tamis.keys", "3\n");
    let before = folder.read("in/out.tamis");
    folder.ok("build in --key k -o in/out.tamis");
    assert!(folder.read("in/out.tamis") == before);
    folder.refused("build in/* --key k -o x.tamis", 1, &["file of filters"]);
    folder.write("only/x.tamis", &before);
    folder.refused("build only --key k -o x.tamis", 1, &["contains no files", "filters"]);
}

/// The cause of an error stood there twice.
#[test]
fn the_cause_of_an_error_is_said_once() {
    let folder = Folder::new();
    for line in ["inspect none.tamis", "query none.tamis x", "build x.csv --params none.json -o x.tamis"] {
        assert_eq!(folder.run(line).err.matches("no such file").count(), 1, "{line}");
    }
}

#[test]
fn a_missing_column_is_named_with_those_there_are() {
    let folder = Folder::with_ratings(10);
    let columns = "tconst, averageRating, numVotes";
    let build = |how: &str| format!("build ratings.tsv {how} -o x.tamis");
    folder.refused(&build("--key name"), 1, &["ratings.tsv", "\"name\"", columns]);
    folder.refused(&build("--key tconst --group name"), 1, &["\"name\"", columns]);
    folder.refused(&build("--key 4"), 1, &["no column 4", columns]);
    folder.refused(&build("--key 99999999999999999999"), 1, &["99999999999999999999", columns]);
    folder.refused(&build("--key 0"), 2, &["numbered from 1"]);
    folder.refused(&build(""), 1, &["give --key", columns]);
    folder.refused(&build("--key tconst --no-header"), 1, &["no names", "1 to 3"]);
    folder.refused(&build("--key tconst:shout"), 2, &["\"shout\"", "trim, lower"]);
    folder.refused(&build("--key tconst:prefix=0"), 2, &["prefix=3"]);
    folder.write("t.ndjson", "{\"user\":{\"id\":1},\"day\":2}\n");
    folder.refused("build t.ndjson --key 1 -o x.tamis", 1, &["by its name", "day"]);
    folder.refused("build t.ndjson -o x.tamis", 1, &["give --key"]);
    assert_eq!(folder.names(), ["ratings.tsv", "t.ndjson"]);
}

#[test]
fn a_row_with_too_few_columns_is_named_by_its_line() {
    let folder = Folder::new();
    folder.write("t.csv", "a,b\n1,2\n3\n5,6\n");
    folder.refused("build t.csv --key b -o x.tamis", 1, &["t.csv, line 3"]);
    folder.write("q.csv", "a,b\n1,2\n3,\"open\n5,6\n");
    folder.refused("build q.csv --key b -o x.tamis", 1, &["q.csv, line 3", "quote"]);
    folder.ok("build q.csv --key b --no-quotes -o x.tamis");
}

/// Only rows with an empty value were.
#[test]
fn rows_that_cannot_be_read_are_left_out_where_that_is_asked() {
    let folder = Folder::new();
    let rows: String =
        (0..50_000).map(|i| if i % 100 == 7 { "x\n".into() } else { format!("a,{i}\n") }).collect();
    folder.write("plain.csv", format!("g,k\n{rows}"));
    folder.write("quoted.csv", format!("g,k\n\"a\",\"-1\"\n{rows}"));
    let odd = |i: u32| match i % 400 {
        7 => "null\n".to_owned(),
        107 => "{\"k\": 1\n".to_owned(),
        207 => "{\"k\": [1]}\n".to_owned(),
        307 => "words\n".to_owned(),
        _ => format!("{{\"k\":{i}}}\n"),
    };
    folder.write("odd.ndjson", (0..50_000).map(odd).collect::<String>());
    for (input, says) in [
        ("plain.csv --key k", ["plain.csv, line 9", "1 field, too few"]),
        ("quoted.csv --key k", ["quoted.csv, line 10", "1 field, too few"]),
        ("odd.ndjson --key k", ["odd.ndjson, line 8", "not a JSON object"]),
    ] {
        for threads in [1, 3] {
            let line = format!("build {input} --threads {threads} -o x.tamis");
            folder.refused(&line, 1, &says);
            folder.refused(&line, 1, &["--bad-rows skip"]);
            let done = folder.run(&format!("{line} --bad-rows skip --json"));
            assert!(done.code == 0 && done.err.contains("left out 500 bad rows"), "{}", done.err);
            let built: serde_json::Value = done.out.parse().unwrap();
            let rows = if input.starts_with("quoted") { 49_501 } else { 49_500 };
            assert_eq!(built["groups"][0]["rows"], rows, "{input}");
        }
    }
    // A sieve rejects them, as they are.
    for (name, rows) in [("a.csv", "g,k\na,1\nx\na,2\r\ny"), ("b.csv", "g,k\na,1\nx\n\"a\",2\r\ny")] {
        folder.write(name, rows);
        folder.write("one.txt", "1\n");
        folder.ok("build one.txt --fpr 1e-6 -o one.tamis");
        let line = format!("filter one.tamis {name} --key k -o in.csv --rejected out.csv");
        folder.refused(&line, 1, &["line 3", "1 field, too few", "--bad-rows skip"]);
        let done = folder.run(&format!("{line} --bad-rows skip"));
        assert!(done.code == 0 && done.err.contains("2 records without a key"), "{}", done.err);
        assert_eq!(folder.text("in.csv"), "g,k\na,1\n");
        assert_eq!(folder.text("out.csv"), rows.replace("a,1\n", ""), "{name}");
        let done = folder.run(&format!("dedup {name} --key k --bad-rows skip"));
        assert_eq!(
            (done.code, done.out),
            (0, rows.replace("x\n", "").trim_end_matches('y').into()),
            "{}",
            done.err
        );
    }
    folder.write("open.csv", "g,k\na,1\nx\na,\"2\n");
    folder.refused(
        "build open.csv --key k --bad-rows skip -o y.tamis",
        1,
        &["open.csv, line 4", "never closes"],
    );
}

#[test]
fn a_parquet_file_with_another_name_is_recognised_and_a_damaged_one_is_refused() {
    let folder = Folder::new();
    folder.write("p.csv", "PAR1 and nothing more PAR1");
    folder.refused("build p.csv --key a -o x.tamis", 1, &["p.csv", "Parquet"]);
    folder.refused("build p.csv --key a --format csv -o x.tamis", 1, &["this is a Parquet file"]);
    folder.write("t.parquet", "a,b\n1,2\n");
    folder.refused("build t.parquet --key a -o x.tamis", 1, &["t.parquet", "PAR1", "--format"]);
}

#[test]
fn what_holds_no_rows_is_recognised() {
    let folder = Folder::new();
    folder.write("keys.txt", "a\n");
    folder.ok("build keys.txt --keys 10 -o a.tamis");
    // People add files of filters where they mean to merge them.
    folder.refused("add a.tamis a.tamis", 1, &["a.tamis", "file of filters", "merge filters"]);
    folder.refused("build a.tamis -o b.tamis", 1, &["file of filters"]);
    folder.write("t.zip", "PK\x03\x04zip");
    folder.refused("build t.zip -o b.tamis", 1, &["zip", "unpack"]);
    folder.write("t.gz", [0x1f, 0x8b, 8, 0, 1, 2, 3]);
    folder.refused("build t.gz -o b.tamis", 1, &["gz data is damaged or cut off"]);
    folder.write("t.json", "[{\"a\":1}]");
    folder.refused("build t.json --key a -o b.tamis", 1, &["JSON array", "jq"]);
    folder.write("u.txt", b"\xff\xfea\0\n\0");
    folder.refused("build u.txt -o b.tamis", 1, &["UTF-16", "iconv"]);
    std::fs::create_dir(folder.path("hollow")).unwrap();
    folder.refused("build hollow -o b.tamis", 1, &["contains no files"]);
}

#[test]
fn an_empty_file_has_no_keys() {
    let folder = Folder::new();
    folder.write("e.txt", "");
    folder.write("e.csv", "");
    folder.write("h.csv", "a,b\n");
    folder.write("e.ndjson", "");
    folder.refused("build e.txt -o x.tamis", 1, &["no keys"]);
    folder.refused("build e.csv --key a -o x.tamis", 1, &["e.csv", "empty"]);
    folder.refused("build h.csv --key a -o x.tamis", 1, &["no keys"]);
    folder.refused("build e.ndjson --key a -o x.tamis", 1, &["no keys"]);
    folder.refused("build - -o x.tamis", 1, &["no keys"]);
    for kind in ["--kind fuse", "--kind ribbon", "--hash murmur3", "--size 1MB", "--bits-per-key 9"] {
        assert_eq!(folder.run(&format!("build e.txt {kind} -o x.tamis")).code, 1, "{kind}");
    }
    assert!(!folder.names().contains(&"x.tamis".into()));
}

#[test]
fn line_ends_a_byte_order_mark_and_a_missing_last_newline_do_not_change_a_byte() {
    let folder = Folder::new();
    folder.write("a.csv", "k,g\n1,x\n2,y\n3,x\n");
    folder.ok("build a.csv --key k --group g -o a.tamis");
    for text in [
        "k,g\n1,x\n2,y\n3,x",
        "k,g\r\n1,x\r\n2,y\r\n3,x\r\n",
        "k,g\r\n1,x\r\n2,y\r\n3,x",
        "\u{feff}k,g\n1,x\n2,y\n3,x\n",
        "\u{feff}\"k\",\"g\"\r\n\"1\",x\r\n2,\"y\"\r\n3,x",
    ] {
        folder.write("b.csv", text);
        folder.ok("build b.csv --key k --group g -o b.tamis");
        assert!(folder.read("b.tamis") == folder.read("a.tamis"), "{text:?}");
    }
    folder.write("a.txt", "one\ntwo\n");
    folder.ok("build a.txt -o a.tamis");
    for text in ["one\ntwo", "one\r\ntwo\r\n", "\u{feff}one\ntwo\n"] {
        folder.write("b.txt", text);
        folder.ok("build b.txt -o b.tamis");
        assert!(folder.read("b.tamis") == folder.read("a.tamis"), "{text:?}");
    }
}

#[test]
fn a_value_that_is_no_key_stops_the_job_with_file_line_and_value() {
    let folder = Folder::new();
    folder.write("e.csv", "k,g\n1,x\n,y\n");
    folder.write("n.tsv", "k\tg\n1\tx\n2\ty\n\\N\tz\n");
    folder.write("g.csv", "k,g\n1,x\n2,\n");
    folder.write("j.ndjson", "{\"k\":1,\"g\":\"x\"}\n{\"k\":null,\"g\":\"y\"}\n");
    folder.write("m.ndjson", "{\"k\":1,\"g\":\"x\"}\n{\"g\":\"y\"}\n");
    folder.write("r.csv", "k,g\n1,1.5\n2,many\n");
    for (input, says) in [
        ("e.csv --key k --group g", ["e.csv, line 3", "in the key", "\"\""]),
        ("n.tsv --key k --group g", ["n.tsv, line 4", "in the key", "\\\\N"]),
        ("g.csv --key k --group g", ["g.csv, line 3", "in the group", "\"2\", \"\""]),
        ("j.ndjson --key k --group g", ["j.ndjson, line 2", "in the key", "null"]),
        ("m.ndjson --key k --group g", ["m.ndjson, line 2", "in the key", "null"]),
        ("r.csv --key k --group g:round", ["r.csv, line 3", "not a decimal number", "\"many\""]),
    ] {
        for threads in [1, 2] {
            let line = format!("build {input} --threads {threads} -o x.tamis");
            folder.refused(&line, 1, &says);
            folder.refused(&line, 1, &["--bad-rows skip"]);
        }
        folder.refused(&format!("plan {input}"), 1, &says);

        let done = folder.run(&format!("build {input} --bad-rows skip -o skipped.tamis"));
        assert!(done.code == 0 && done.err.contains("left out 1 bad row"), "{}", done.err);
        let file = input.split(' ').next().unwrap();
        let test = folder.json(&format!("test skipped.tamis {file} --bad-rows skip"));
        assert_eq!((&test["skipped_rows"], &test["false_negatives"]), (&1.into(), &0.into()), "{input}");
        folder.refused(&format!("test skipped.tamis {file}"), 1, &says);
    }
    assert!(!folder.names().contains(&"x.tamis".into()));
}

/// The text for missing values went through the steps.
#[test]
fn a_text_can_stand_for_missing_values() {
    let folder = Folder::new();
    folder.write("t.csv", "k,g\n1,1.5\n,2\n3,\n");
    let built = folder.json("build t.csv --key k --group g:round --null none --fpr 1e-6 -o t.tamis");
    assert_eq!(built["recipe"]["null"], "none");
    assert_eq!(built["groups"].as_array().unwrap().len(), 2);
    assert_eq!(folder.run("query t.tamis none").out, "none\t2\n");
    assert_eq!(folder.run("query t.tamis 3").out, "3\tnone\n");
    assert_eq!(folder.json("test t.tamis t.csv")["false_negatives"], 0);
}

#[test]
fn the_first_bad_row_is_named_however_many_threads_there_are() {
    let folder = Folder::new();
    let mut table = "k\n".to_owned() + &"value\n".repeat(400_000);
    table.replace_range(1_000_004..1_000_009, "     ");
    table.replace_range(2_000_000..2_000_005, "     ");
    folder.write("t.csv", table);
    for threads in [1, 2, 8] {
        let line = format!("build t.csv --key k:trim --threads {threads} -o x.tamis");
        folder.refused(&line, 1, &["t.csv, line 166669:"]);
    }
}

#[test]
fn a_cluster_that_cannot_be_and_a_python_that_is_not_there_are_named_before_spark_is_asked() {
    let folder = Folder::new();
    folder.write("t.txt", "1\n");
    for master in ["locl[2]", "spark://", "host:7077"] {
        folder.refused(&format!("build t.txt --on {master} -o x.tamis"), 2, &[master, "spark://HOST:PORT"]);
    }
    let line = "build t.txt --on local[2] --python /none/python -o x.tamis";
    folder.refused(line, 2, &["--python /none/python: there is no such program"]);
}
