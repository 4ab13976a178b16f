//! `stream`: batches of two streams, answered as a set would answer; the same bytes as `build`.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use crate::support::{Folder, container};

/// Keys that repeat, from a seed.
pub fn keys(count: u64, different: u64, seed: u64) -> Vec<String> {
    let mut state = seed;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    (0..count).map(|_| format!("10.{}.{}", next() % different / 256, next() % different % 256)).collect()
}

pub fn lines(keys: &[String]) -> String {
    keys.iter().fold(String::new(), |mut text, key| {
        writeln!(text, "{key}").unwrap();
        text
    })
}

/// What a set answers: each distinct query of a batch once, if it was trained in that batch or an
/// earlier one.
fn model(train: &[String], query: &[String], batch: usize) -> String {
    let batches = train.len().max(query.len()).div_ceil(batch);
    let of = |keys: &'_ [String], i: usize| -> Vec<String> {
        keys.iter().skip(i * batch).take(batch).cloned().collect()
    };
    let mut learned = HashSet::new();
    let mut answers = Vec::new();
    for i in 0..batches {
        learned.extend(of(train, i));
        let mut asked = HashSet::new();
        answers.extend(
            of(query, i).into_iter().filter(|key| asked.insert(key.clone()) && learned.contains(key)),
        );
    }
    lines(&answers)
}

#[test]
fn answers_are_those_of_a_set_whatever_the_batch_the_threads_and_the_kind() {
    let folder = Folder::new();
    let (train, query) = (keys(6_000, 9_000, 1), keys(7_500, 9_000, 2));
    folder.write("train.txt", lines(&train));
    folder.write("ask.txt", lines(&query));
    for (batch, threads) in [(1, 1), (7, 2), (1000, 3), (6_000, 1), (1_000_000, 2)] {
        let expected = model(&train, &query, batch);
        for kind in ["--keys 1e4 --fpr 1e-9", "--fpr 1e-9", "--kind bloom --keys 1e4 --fpr 1e-9"] {
            if batch == 1 && kind != "--fpr 1e-9" {
                continue;
            }
            let line = format!(
                "stream --train train.txt --query ask.txt --batch {batch} --threads {threads} {kind} -o seen.txt"
            );
            let found = folder.json(&line);
            assert!(folder.text("seen.txt") == expected, "{line}");
            assert_eq!((found["rows"].as_u64(), found["queries"].as_u64()), (Some(6_000), Some(7_500)));
            assert_eq!(found["answers"].as_u64(), Some(expected.lines().count() as u64));
            assert_eq!(found["batches"].as_u64(), Some(7_500u64.div_ceil(batch as u64)));
        }
    }
    // A loose filter finds more, and never less.
    folder.ok("stream --train train.txt --query ask.txt --batch 1000 --keys 6000 --fpr 0.1 -o seen.txt");
    let found: Vec<String> = folder.text("seen.txt").lines().map(str::to_owned).collect();
    let mut rest = found.iter();
    for key in model(&train, &query, 1000).lines() {
        assert!(rest.any(|found| found == key), "{key} is lost, or out of order");
    }
    let more = found.len() - model(&train, &query, 1000).lines().count();
    assert!(more > 20, "a rate of a tenth shows: {more}");
}

#[test]
fn the_bytes_are_those_of_build_whatever_the_batch_and_the_threads() {
    let folder = Folder::with_ratings(5_000);
    folder.write("train.txt", lines(&keys(9_000, 6_000, 3)));
    let cases = [
        ("train.txt --keys 7000 --fpr 0.01", ""),
        ("train.txt --kind bloom --keys 7000 --bits-per-key 9.7", ""),
        ("train.txt --keys 7000 --size 9kB --seed 5", ""),
        ("train.txt --hash murmur3 --keys 7000", ""),
        ("ratings.tsv --key tconst --group averageRating:round --keys 900", ""),
        ("ratings.tsv --key tconst --group averageRating --hash murmur3 --keys 200", ""),
        ("ratings.tsv --key tconst:lower --key numVotes --keys 6000", ""),
        ("ratings.tsv", "--key tconst --group averageRating:round"),
        ("train.txt", "--kind bloom"),
        ("train.txt --kind count-min --epsilon 0.001", ""),
        ("train.txt --kind count-min --conservative --width 500 --depth 3 --counter-bits 32", ""),
        (
            "ratings.tsv --key tconst:prefix=5 --group averageRating:round --weight numVotes --kind count-min --epsilon 0.01",
            "",
        ),
        (
            "ratings.tsv --key tconst:prefix=5 --group averageRating:round --weight numVotes --kind count-min-conservative --epsilon 0.01",
            "",
        ),
    ];
    for (number, (input, plan)) in cases.into_iter().enumerate() {
        let planned = match plan {
            "" => input.to_owned(),
            plan => {
                folder.ok(&format!("plan {input} {plan} -o params{number}.json"));
                format!("{input} --params params{number}.json")
            }
        };
        folder.ok(&format!("build {planned} -o built.tamis"));
        for (batch, threads) in [(1, 1), (13, 2), (1000, 3), (1_000_000, 1)] {
            let state = format!("run-{number}-{batch}");
            folder
                .ok(&format!("stream --train {planned} --batch {batch} --threads {threads} --state {state}"));
            let name = if input.contains("count-min") { "counts" } else { "filter" };
            let streamed = folder.read(&format!("{state}/{name}.tamis"));
            let built = folder.read("built.tamis");
            assert!(streamed == built, "{planned}, batches of {batch}");
        }
    }
}

#[test]
fn filters_that_grow_have_the_same_bytes_for_the_same_order() {
    let folder = Folder::with_ratings(5_000);
    for options in
        ["--key tconst --fpr 0.02 --keys 100 --kind scalable", "--key tconst --group averageRating"]
    {
        let mut first = None;
        for (batch, threads) in [(1, 3), (13, 1), (1000, 2), (1_000_000, 3)] {
            let state = format!("run-{}-{batch}", options.len());
            let line = format!(
                "stream --train ratings.tsv {options} --batch {batch} --threads {threads} --state {state}"
            );
            let found = folder.json(&line);
            assert!(found["rate"].as_f64().unwrap() < 0.02, "{found}");
            let bytes = folder.read(&format!("{state}/filter.tamis"));
            assert!(*first.get_or_insert_with(|| bytes.clone()) == bytes, "{line}");
            let file = container(&folder.path(&format!("{state}/filter.tamis")));
            assert_eq!(file.params().common.kind.name(), "scalable");
        }
    }
}

/// What a map answers: how often each distinct query of a batch came up to then.
fn counted(train: &[String], query: &[String], batch: usize) -> Vec<(String, u64)> {
    let mut counts: HashMap<&String, u64> = HashMap::new();
    let mut answers = Vec::new();
    for i in 0..train.len().max(query.len()).div_ceil(batch) {
        train.iter().skip(i * batch).take(batch).for_each(|key| *counts.entry(key).or_default() += 1);
        let mut asked = HashSet::new();
        let of_batch = query.iter().skip(i * batch).take(batch).filter(|key| asked.insert(*key));
        answers.extend(of_batch.map(|key| (key.clone(), counts.get(key).copied().unwrap_or(0))));
    }
    answers
}

/// Their numbers stood in the answers, and nothing said what they are.
#[test]
fn counters_that_ran_full_are_told_at_the_end() {
    let folder = Folder::new();
    folder.write("w.csv", "k,w\na,4294967000\na,1000\nb,5\n");
    folder.write("q.csv", "k\na\nb\n");
    let line = "stream --train w.csv --query q.csv --key k --weight w --counter-bits 32";
    for (how, answers) in
        [("--kind count-min -o a.txt", "a.txt"), ("--keys 9 -o f.txt --counts c.txt", "c.txt")]
    {
        let run = folder.run(&format!("{line} {how} -q"));
        assert_eq!(folder.text(answers), "a\t4294967295\nb\t5\n");
        for says in ["5 counters ran full", "has no estimate", "an answer of 4294967295 is not an estimate"] {
            assert!(run.err.contains(says), "{how}: {}", run.err);
        }
        assert_eq!(folder.json(&format!("{line} {how} -q"))["counters_full"], 5);
    }
    let wide = folder.run(&line.replace("--counter-bits 32", "--kind count-min -o a.txt"));
    assert!(
        !wide.err.contains("full") && folder.text("a.txt").starts_with("a\t4294968000\n"),
        "{}",
        wide.err
    );
    // What was learned says so as well.
    folder.ok(&format!("{line} --kind count-min -o a.txt --state run -q"));
    assert!(folder.run("inspect run/counts.tamis").err.contains("5 counters ran full"));
}

#[test]
fn counts_are_never_below_those_of_a_map_and_stand_beside_filters() {
    let folder = Folder::new();
    let (train, query) = (keys(8_000, 600, 1), keys(6_000, 900, 2));
    folder.write("train.txt", lines(&train));
    folder.write("ask.txt", lines(&query));
    let read = |name: &str| -> Vec<(String, u64)> {
        let text = folder.text(name);
        let pair = |line: &str| {
            let (key, count) = line.split_once('\t').unwrap();
            (key.to_owned(), count.parse().unwrap())
        };
        text.lines().map(pair).collect()
    };
    for (batch, conservative) in [(700, ""), (2_000, "--conservative"), (10_000, "")] {
        let truth = counted(&train, &query, batch);
        let line = format!("stream --train train.txt --query ask.txt --batch {batch} {conservative}");
        folder.ok(&format!("{line} --kind count-min --width 200 --depth 3 -o loose.txt --json"));
        let loose = read("loose.txt");
        assert!(loose.iter().map(|(key, _)| key).eq(truth.iter().map(|(key, _)| key)));
        assert!(loose.iter().zip(&truth).all(|((_, estimate), (_, truth))| estimate >= truth));
        assert!(loose.iter().zip(&truth).any(|((_, estimate), (_, truth))| estimate > truth));
        // With many counters the estimate is the truth.
        let state = format!("run-{batch}");
        let both = folder.json(&format!(
            "{line} --fpr 1e-9 -o seen.txt --counts hits.txt --epsilon 0.00001 --state {state} --commit-every 0"
        ));
        let seen = folder.text("seen.txt").lines().count() as u64;
        assert_eq!(
            (both["answers"].as_u64(), both["distinct"].as_u64()),
            (Some(seen), Some(truth.len() as u64))
        );
        assert_eq!(read("hits.txt"), truth);
        assert_eq!(folder.text("seen.txt"), model(&train, &query, batch));
        let kind = if conservative.is_empty() { "count-min" } else { "count-min-conservative" };
        folder.ok(&format!("build train.txt --kind {kind} --epsilon 0.00001 -o built.tamis"));
        assert!(folder.read(&format!("{state}/counts.tamis")) == folder.read("built.tamis"));
        folder.ok(&format!("query {state}/filter.tamis {}", train[0]));
    }
}

#[test]
fn weights_are_summed_and_groups_are_counted_apart() {
    let folder = Folder::new();
    folder.write("train.csv", "ip,host,bytes\na,x,10\nb,x,5\na,y,7\na,x,1\n");
    folder.write("ask.csv", "ip\na\nb\nc\n");
    let line =
        "stream --train train.csv --query ask.csv --key ip --group host --weight bytes --epsilon 0.001";
    folder.ok(&format!("{line} --kind count-min -o hits.txt --state run"));
    assert_eq!(folder.text("hits.txt"), "a\tx\t11\na\ty\t7\nb\tx\t5\nc\t\t0\n");
    folder.ok(&format!("{line} --keys 10 --fpr 1e-6 -o seen.txt --counts hits.txt --state both"));
    assert_eq!(folder.text("hits.txt"), "a\tx\t11\na\ty\t7\nb\tx\t5\nc\t\t0\n");
    assert_eq!(folder.text("seen.txt"), "a\tx,y\nb\tx\n");
    assert!(folder.read("run/counts.tamis") == folder.read("both/counts.tamis"));
    folder.refused(&format!("{line} --keys 10 -o seen.txt"), 2, &["--weight"]);
    folder.refused(&format!("{line} --kind count-min --counts x -o y"), 2, &["--counts"]);
    folder.refused(&format!("{line} --counts out --keys 10 -o out"), 2, &["used for two outputs"]);
    folder.write("train.csv", "ip,host,bytes\na,x,-10\n");
    folder.refused(&format!("{line} --kind count-min"), 1, &["train.csv, line 2", "-10", "negative"]);
}

#[test]
fn groups_are_answered_as_query_answers_them() {
    let folder = Folder::new();
    folder.write("train.csv", "id,team\na,10\nb,9\na,9\nc,\"x,y\"\nd\u{e9},x\na,10\n");
    folder.write("ask.txt", "a\nzz\nb\na\nc\nd\u{e9}\nq\n");
    for options in ["", "--keys 100", "--batch 2", "--keys 100 --batch 1"] {
        let line = format!(
            "stream --train train.csv --query ask.txt --key id --group team --query-key (line) --fpr 1e-9 --state run -o out {options}"
        );
        folder.ok(&line);
        let asked = folder.run_with("query run/filter.tamis", "a\nzz\nb\nc\nd\u{e9}\nq\n").out;
        let found: Vec<&str> = asked.lines().filter(|line| !line.ends_with('\t')).collect();
        assert_eq!(found, ["a\t9,10", "b\t9", "c\tx\\,y", "d\u{e9}\tx"]);
        if !options.contains("--batch") {
            assert_eq!(folder.text("out").lines().collect::<Vec<_>>(), found, "{options}");
        }
        std::fs::remove_dir_all(folder.path("run")).unwrap();
    }
}

#[test]
fn either_stream_may_be_left_out() {
    let folder = Folder::new();
    folder.write("a.txt", "1\n2\n3\n");
    folder.write("b.txt", "3\n4\n3\n");
    let trained = folder.json("stream --train a.txt --state run");
    assert_eq!((trained["rows"].as_u64(), trained["queries"].as_u64()), (Some(3), Some(0)));
    folder.ok("verify run/filter.tamis");
    let asked = folder.run("stream --from run/filter.tamis --query b.txt");
    assert_eq!((asked.code, asked.out.as_str()), (0, "3\n"));
    // What a file knew is the beginning of more.
    folder
        .ok("stream --from run/filter.tamis --train b.txt --query a.txt b.txt --batch 1 -o out --state more");
    assert_eq!(folder.text("out"), "1\n2\n3\n3\n4\n3\n");
    assert_eq!(container(&folder.path("more/filter.tamis")).tallies()[0].rows, 6);
    folder.refused("stream --query a.txt", 2, &["--train", "--from"]);
    folder.refused("stream -o x", 2, &["--query"]);
}

#[test]
fn inputs_of_all_sorts_follow_each_other_and_are_gone_on_with() {
    let folder = Folder::new();
    let pack = |text: &str| zstd::encode_all(text.as_bytes(), 1).unwrap();
    folder.write("in/1.csv", "id,x\na,1\nb,2\n");
    folder.write("in/2.csv.zst", pack("x,id\n1,c\n2,d\n3,e\n"));
    folder.write("in/3.ndjson", "{\"id\":\"f\"}\n{\"id\":\"g\"}\n");
    folder.write("ask.txt", "a\nb\nc\nd\ne\nf\ng\nh\n");
    let line = "stream --train in --query ask.txt --key id --query-key (line) --fpr 1e-9 --batch 2 -o out --state run --commit-every 0";
    folder.ok(line);
    assert_eq!(folder.text("out"), "a\nb\nc\nd\ne\nf\ng\n");
    let once = folder.read("run/filter.tamis");
    let again = folder.json(line);
    assert_eq!((again["rows"].as_u64(), again["resumed"].as_bool()), (Some(0), Some(true)));
    assert!(folder.read("run/filter.tamis") == once);
    // A file that is added is gone on with; one that comes before what was read is refused.
    folder.write("in/4.csv", "id\nh\n");
    folder.write("ask.txt", "a\nb\nc\nd\ne\nf\ng\nh\nh\n");
    assert_eq!(folder.json(line)["rows"].as_u64(), Some(1));
    assert_eq!(folder.text("out"), "a\nb\nc\nd\ne\nf\ng\nh\n");
    folder.write("in/0.csv", "id\nz\n");
    folder.refused(line, 1, &["1.csv", "new files must come after it"]);
}

#[test]
fn a_compressed_file_and_parquet_are_gone_on_with_from_the_middle() {
    let folder = Folder::new();
    let text = lines(&keys(5_000, 4_000, 9));
    folder.write("train.txt", &text);
    folder.write("train.txt.zst", zstd::encode_all(text.as_bytes(), 1).unwrap());
    folder.write("short.txt", text.lines().take(2_500).map(|line| format!("{line}\n")).collect::<String>());
    folder.ok("stream --train train.txt --keys 5000 --batch 500 --state calm");
    // A query stream that ends in an error stops the run halfway.
    folder.write("ask.csv", format!("k\n{}\"", "a\n".repeat(2_500)));
    let line = "stream --train train.txt.zst --query ask.csv --format csv --key k --keys 5000 --batch 500 --state run --commit-every 0 -o out";
    folder.write("train.txt.zst", zstd::encode_all(format!("k\n{text}").as_bytes(), 1).unwrap());
    let broken = folder.run(line);
    assert_eq!(broken.code, 1, "{}", broken.err);
    let rows = container(&folder.path("run/filter.tamis")).tallies()[0].rows;
    assert!((500..=2_500).contains(&rows), "{rows}");
    folder.write("ask.csv", format!("k\n{}", "a\n".repeat(2_500)));
    folder.ok(line);
    let (calm, run) =
        (container(&folder.path("calm/filter.tamis")), container(&folder.path("run/filter.tamis")));
    assert!(calm.data() == run.data() && calm.tallies() == run.tallies());
}

#[test]
fn what_a_stream_cannot_do_says_what_can() {
    let folder = Folder::new();
    folder.write("a.txt", "1\n2\n");
    folder.write("run/holiday.jpg", "");
    for (line, code, says) in [
        ("stream --train a.txt --kind fuse", 2, &["fuse", "blocked"][..]),
        ("stream --train a.txt --kind layered --keywords 1:split=,", 2, &["layered", "blocked"]),
        ("stream --train a.txt --kind bloom", 2, &["--keys", "--params", "scalable"]),
        ("stream --train a.txt --size 1MB", 2, &["--fpr", "--keys"]),
        ("stream --train a.txt -o out", 2, &["--query"]),
        ("stream", 2, &["--train", "--query"]),
        ("stream --query a.txt", 2, &["--from"]),
        ("stream --train - --query -", 2, &["standard input"]),
        ("stream --train - a.txt", 2, &["-", "of its own"]),
        ("stream --train missing.txt", 1, &["missing.txt"]),
        ("stream --train a.txt --key 2 --keys 5", 1, &["2"]),
        ("stream --train tcp://nowhere", 1, &["tcp-listen://"]),
        ("stream --train a.txt --query a.txt -o a.txt", 2, &["is an input"]),
        ("stream --train a.txt --query a.txt -o out.gz", 2, &["compressed"]),
        ("stream --train a.txt --query a.txt -o none/out", 1, &["folder"]),
        ("stream --train a.txt --state run", 1, &["holiday.jpg"]),
        ("stream --train a.txt --state a.txt", 1, &["folder"]),
        ("stream --train . --state new", 2, &["new", "as an input"]),
        ("stream --train ./* --state new/state", 2, &["new/state", "as an input"]),
        ("stream --train a.txt --query . -o new.txt", 2, &["new.txt", "as an input"]),
        ("stream --train a.txt --query *.txt --keys 5 -o new.txt", 2, &["new.txt", "as an input"]),
        ("stream --train a.txt --query . --keys 5 -o ./b --counts new.txt", 2, &["as an input"]),
        ("stream --train a.txt --every 0", 2, &["--every"]),
        ("stream --train a.txt --metrics nowhere", 1, &["metrics at nowhere"]),
    ] {
        folder.refused(line, code, says);
    }
    assert_eq!(folder.text("a.txt"), "1\n2\n");
    assert_eq!(folder.names(), ["a.txt", "run"]);
}

#[test]
fn a_row_without_a_key_stops_it_or_is_counted() {
    let folder = Folder::new();
    folder.write("a.csv", "id\n1\n\\N\n2\n");
    folder.refused("stream --train a.csv --key id", 1, &["a.csv, line 3", "--bad-rows skip"]);
    let done =
        folder.run("stream --train a.csv --query a.csv --key id --bad-rows skip --batch 1 -o out --json");
    assert!(done.err.contains("left out 2 bad rows"), "{}", done.err);
    let found: serde_json::Value = done.out.parse().unwrap();
    assert_eq!((found["rows"].as_u64(), found["skipped"].as_u64()), (Some(2), Some(2)));
    assert_eq!(folder.text("out"), "1\n2\n");
}

#[test]
fn every_batch_is_logged_for_programs() {
    let folder = Folder::new();
    folder.write("a.txt", lines(&keys(1000, 1000, 4)));
    // What is told of the fill is that after the batch, or nothing: it was that of the first for a second. On a busy
    // machine, where looking at it takes long, a run may tell none; ten of them do not.
    let is_told = (0..10).any(|_| {
        let log = every_batch(&folder);
        let told: Vec<f64> = log.iter().filter_map(|line| line["fill"].as_f64()).collect();
        assert!(told.is_sorted_by(|a, b| a < b), "{told:?}");
        !told.is_empty()
    });
    assert!(is_told, "no run tells the fill");
}

/// The log of a stream of four batches.
fn every_batch(folder: &Folder) -> Vec<serde_json::Value> {
    let done = folder.run("stream --train a.txt --query a.txt --batch 300 --log json -o out");
    let log: Vec<serde_json::Value> = done.err.lines().map(|line| line.parse().expect(line)).collect();
    assert_eq!(
        log.iter().map(|line| line["rows"].as_u64().unwrap()).collect::<Vec<_>>(),
        [300, 300, 300, 100]
    );
    assert_eq!(log[3]["batch"], 4);
    assert_eq!(log[3]["rows_in_all"], 1000);
    assert_eq!(log[3]["lag"]["train"], 0);
    log
}

#[test]
fn the_streams_of_document_001_are_measured_and_held_against_the_truth() {
    let folder = Folder::new();
    let found = folder.json("reproduce streams --rows 30000 --queries 20000 --batch 4000 --distinct 5000");
    assert_eq!(found["passed"], true);
    let data = found["data"].as_array().unwrap();
    assert_eq!(data.len(), 2);
    for data in data {
        assert_eq!(data["filter"]["missing"], 0);
        assert_eq!(data["counts"]["below"], 0);
        let [training, .., both] = &data["runs"].as_array().unwrap()[..] else { panic!("{data}") };
        assert_eq!((&training["rows"], &training["queries"]), (&30_000.into(), &0.into()));
        assert_eq!((&both["rows"], &both["queries"]), (&30_000.into(), &20_000.into()));
    }
    assert!(folder.text("reproduce-streams.html").contains("</svg>"));
    folder.refused("reproduce streams --distinct 5e9", 2, &["--distinct"]);
}
