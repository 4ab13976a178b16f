//! Files of filters in pipes: what any scheduler that pipes bytes can do with them.

use crate::build::RATINGS;
use crate::support::{Folder, cut, shuffled};

/// Ratings in `ratings.tsv`, cut into `0.tsv`, `1.tsv` and `2.tsv`; the parameters, and the file of all.
fn parts(options: &str) -> Folder {
    let folder = Folder::with_ratings(3000);
    for (i, part) in cut(&shuffled(&folder.text("ratings.tsv")), 3).iter().enumerate() {
        folder.write(&format!("{i}.tsv"), part);
    }
    folder.ok(&format!("plan ratings.tsv {RATINGS} {options} -o params.json"));
    folder.ok("build ratings.tsv --params params.json -o whole.tamis");
    folder
}

#[test]
fn parts_that_go_through_a_pipe_merge_to_the_bytes_of_the_whole() {
    for kind in ["--kind blocked", "--kind bloom", "--kind counting", "--kind count-min --epsilon 0.01"] {
        let folder = parts(kind);
        let build = "for i in 0 1 2; do $TAMIS build - --params params.json -o - -q";
        for (name, form, between) in [
            ("bytes", "", "cat"),
            ("lines", "--base64", "sort"),
            ("keys", "--base64", "awk '{ print \"key\" NR % 2 \"\\t\" $0 \"\\t\" }' | sort -r"),
        ] {
            let line =
                format!("{build} {form} < $i.tsv; done | {between} | $TAMIS merge - -q -o {name}.tamis");
            folder.shell(&line).succeeded(&line);
            assert!(folder.read(&format!("{name}.tamis")) == folder.read("whole.tamis"), "{kind}: {name}");
        }
        // In a tree, with files among what comes.
        folder.ok("build 0.tsv --params params.json -o 0.tamis");
        let tree = "{ $TAMIS build 1.tsv --params params.json -o - -q; $TAMIS build 2.tsv --params params.json -o - -q; } \
                    | $TAMIS merge - -o - -q | $TAMIS merge 0.tamis - -o tree.tamis -q";
        folder.shell(tree).succeeded(tree);
        assert!(folder.read("tree.tamis") == folder.read("whole.tamis"), "{kind}");
        folder.is_clean();
    }
}

/// Merged as they come, or all at once: groups that only some have, lists of frequent keys, what is recorded.
#[test]
fn files_in_a_row_merge_as_files_with_names_do() {
    let folder = Folder::with_ratings(2000);
    let table = folder.text("ratings.tsv");
    let (header, rows) = table.split_once('\n').unwrap();
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.sort_by_key(|row| row.split('\t').nth(1).map(str::to_owned)); // each part has groups of its own
    for (i, part) in rows.chunks(700).enumerate() {
        folder.write(&format!("{i}.tsv"), format!("{header}\n{}\n", part.join("\n")));
    }
    for options in ["--kind blocked --fpr 0.02 --keys 500", "--kind count-min --epsilon 0.002 --heavy 0.02"] {
        for i in 0..3 {
            let note = ["--note one", "--note one --source x", "--source x"][i];
            folder.ok(&format!("build {i}.tsv {RATINGS} {options} {note} -o {i}.tamis"));
        }
        folder.ok("merge 2.tamis 0.tamis 1.tamis -o named.tamis");
        let row = "cat 2.tamis 0.tamis 1.tamis | $TAMIS merge - -o row.tamis";
        let said = folder.shell(row);
        assert!(said.err.contains("note, source"), "{}", said.err);
        assert!(folder.read("row.tamis") == folder.read("named.tamis"), "{options}");
    }
    let other = "{ cat 0.tamis; $TAMIS build 1.tsv --key tconst -o - -q; } | $TAMIS merge - -o x.tamis";
    folder.shell(other).refused(
        other,
        1,
        &["tamis file 1 and standard input, tamis file 2 have different parameters"],
    );
    let twice = folder.shell("cat 0.tamis 0.tamis | $TAMIS merge - -o x.tamis");
    assert!(twice.err.contains("tamis file 2 hold the same: the rows are counted twice"), "{}", twice.err);
}

#[test]
fn a_file_on_standard_input_is_asked_as_one_with_a_name() {
    let folder = parts("");
    let whole = folder.read("whole.tamis");
    for verb in ["inspect FILE", "verify FILE", "query FILE tt0000001 nobody", "locate FILE tt0000001"] {
        let named = folder.run(&verb.replace("FILE", "whole.tamis"));
        let piped = folder.run_with(&verb.replace("FILE", "-"), &whole[..]);
        assert_eq!((named.code, named.out.replace("whole.tamis", "-")), (piped.code, piped.out), "{verb}");
    }
    let count = |file: &str, stdin: &[u8]| {
        let line = format!("filter {file} ratings.tsv --count --json");
        let found: serde_json::Value = folder.run_with(&line, stdin).succeeded(&line).parse().unwrap();
        (found["admitted"].clone(), found["rejected"].clone())
    };
    assert_eq!(count("-", &whole), count("whole.tamis", b""));
    let base64 = folder.shell("$TAMIS build 0.tsv --like whole.tamis -o - --base64 -q").out;
    assert!(base64.ends_with('\n') && base64.lines().count() == 1);
    folder.run_with("inspect -", base64).succeeded("inspect -");
    let like = folder.run_with("build 0.tsv --like - -o like.tamis", &whole[..]);
    like.succeeded("like");
    let compared = folder.run_with("compare whole.tamis -", &whole[..]);
    compared.succeeded("compare");
}

#[test]
fn what_a_pipe_cannot_do_is_refused_in_words() {
    let folder = parts("");
    let whole = folder.read("whole.tamis");
    let two = [&whole[..], &whole].concat();
    for (line, stdin, code, says) in [
        ("merge - -o x.tamis", &b""[..], 1, "standard input: is empty"),
        ("merge - - -o x.tamis", &whole, 2, "only once"),
        ("merge - -o x.tamis", b"keys\n", 1, "neither a tamis file nor lines of base64"),
        ("merge - -o x.tamis", &whole[..5000], 1, "after 5000 of"),
        ("merge - -o x.tamis", &two[..two.len() - 1], 1, "ends within tamis file 2"),
        ("inspect -", &two, 1, "holds more than one tamis file"),
        ("filter - -", &whole, 2, "can be read only once"),
        ("query -", &whole, 2, "can be read only once"),
        ("compare - -", &whole, 2, "can be read only once"),
        ("add - 0.tsv", &whole, 2, "cannot be changed in its place"),
        (
            "build 0.tsv --key tconst -o x.tamis --base64",
            b"",
            2,
            "only standard output takes a line of base64",
        ),
        ("build 0.tsv --key tconst -o - --exact", b"", 2, "exact keys"),
        ("build 0.tsv --key tconst -o - --json", b"", 2, "--json goes with -o FILE"),
    ] {
        folder.run_with(line, stdin).refused(line, code, &[says]);
    }
    assert!(!folder.names().contains(&"x.tamis".to_owned()));
    folder.ok("build 0.tsv --key tconst --exact -o exact.tamis");
    let left = folder.shell("$TAMIS merge exact.tamis -o - > y.tamis");
    assert!(left.err.contains("exact keys beside the files were not merged"), "{}", left.err);
    let lost =
        "$TAMIS build ratings.tsv --params params.json -o - 2>said | true; grep -q 'standard output' said";
    let _ = folder.shell(lost); // whether the reader was gone in time depends on the machine
    let full = folder.shell("$TAMIS build ratings.tsv --params params.json -o - > /dev/full");
    full.refused("/dev/full", 1, &["standard output"]);
    // A terminal, where the system has a program that makes one.
    let terminal = folder.shell("script -qec \"$TAMIS build 0.tsv --key tconst -o -\" /dev/null < /dev/null");
    if terminal.code != 127 && !terminal.out.is_empty() {
        assert!(terminal.out.contains("not text for a terminal"), "{}", terminal.out);
    }
}

/// Hadoop Streaming, by hand: a mapper for each split of lines, a sort, a reducer; and a second job that counts.
#[test]
fn plain_pipes_do_what_hadoop_streaming_does() {
    let folder = Folder::new();
    folder.ok("generate words --rows 5000 -o people.txt");
    folder.ok("generate sample people.txt --gap 20 --seed 1 -o known.txt");
    folder.ok("plan known.txt --fpr 0.01 -o params.json");
    folder.ok("build known.txt --params params.json -o one.tamis");
    let jobs = "set -e
        split -l 100 known.txt known- && : > known-empty
        for split in known-*; do
            $TAMIS build - --params params.json -o - --base64 -q < $split
        done | sort | $TAMIS merge - -o - -q > job.tamis
        split -l 900 people.txt people- && : > people-empty
        for split in people-*; do
            $TAMIS filter job.tamis - --count --json < $split |
                sed -n 's/^ *\"\\(admitted\\|rejected\\)\": \\([0-9]*\\).*/\\1\\t\\2/p'
        done | sort | awk -F '\\t' '{ sum[$1] += $2 } END { for (name in sum) print name \"\\t\" sum[name] }' | sort";
    let out = folder.shell(jobs).succeeded(jobs);
    assert!(folder.read("job.tamis") == folder.read("one.tamis"));
    let whole = folder.json("filter one.tamis people.txt --count");
    assert_eq!(out, format!("admitted\t{}\nrejected\t{}\n", whole["admitted"], whole["rejected"]));
    assert_eq!(whole["records"], 5000);
}
