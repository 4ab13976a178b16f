//! `filter`: each option, streams, closed pipes, bad input.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::support::{Folder, Guard, PATIENCE, TAMIS};

/// Two members, by e-mail address, in a filter without false positives among what is tested here.
fn people() -> Folder {
    let folder = Folder::new();
    folder.write("allow.csv", "name,email\nAnn,ann@x.org\nBob,Bob@x.org \n");
    folder.ok("build allow.csv --key email:trim,lower --fpr 1e-9 -o allow.tamis");
    folder
}

/// Groups 1, 2 and 10; the key `both` is in two of them.
fn groups() -> Folder {
    let folder = Folder::new();
    folder.write("members.tsv", "id\tg\na\t1\nb\t2\nc\t10\nboth\t2\nboth\t10\n");
    folder.ok("build members.tsv --key id --group g --fpr 1e-9 -o members.tamis");
    folder.write("t.csv", "id,g\na,1\nx,1\nboth,2\nb,1\nboth,7\n");
    folder
}

#[test]
fn records_pass_unchanged_and_the_header_stays() {
    let folder = people();
    let mail = "\u{feff}subject,sender\r\n\"hi,\n\"\"you\"\"\", ANN@x.org\r\nspam,eve@y.org\nlast,bob@X.org";
    folder.write("mail.csv", mail);
    let passed = "\u{feff}subject,sender\r\n\"hi,\n\"\"you\"\"\", ANN@x.org\r\nlast,bob@X.org";
    assert_eq!(folder.ok("filter allow.tamis mail.csv --key sender"), passed);
    let report = folder.json("filter allow.tamis mail.csv --key sender -o in.csv --rejected out.csv");
    assert_eq!(folder.text("in.csv"), passed);
    assert_eq!(folder.text("out.csv"), "\u{feff}subject,sender\r\nspam,eve@y.org\n");
    assert_eq!((report["records"].as_u64(), report["admitted"].as_u64()), (Some(3), Some(2)));
    assert_eq!(folder.ok("filter allow.tamis mail.csv --key sender --invert"), folder.text("out.csv"));
    folder.is_clean();
}

#[test]
fn every_format_comes_back_as_it_was() {
    let folder = people();
    folder.write("t.txt", "ann@x.org\r\n\neve@y.org\nbob@x.org");
    assert_eq!(folder.ok("filter allow.tamis t.txt --key (line)"), "ann@x.org\r\nbob@x.org");
    folder.write("t.ndjson", "{\"m\": {\"from\":\"Ann@x.org\"}, \"n\":1}\n {\"m\":{\"from\":\"x\"}}\n");
    assert_eq!(
        folder.ok("filter allow.tamis t.ndjson --key m.from"),
        "{\"m\": {\"from\":\"Ann@x.org\"}, \"n\":1}\n"
    );
    folder.write("t.tsv", "1\tann@x.org\t\"q\n2\teve\tz\n");
    assert_eq!(folder.ok("filter allow.tamis t.tsv --key 2 --no-header --no-quotes"), "1\tann@x.org\t\"q\n");
    let log = "ann@x.org GET /\neve GET /x\n";
    let done = folder.run_words(&["filter", "allow.tamis", "-", "--key", "1", "--delimiter", " "], log);
    assert_eq!(done.succeeded("log"), "ann@x.org GET /\n");
}

#[test]
fn several_inputs_have_one_header_and_stay_apart() {
    let folder = people();
    folder.write("a.csv", "id,email\n1,ann@x.org");
    folder.write("b.csv", "id,email\n2,eve\n3,bob@x.org\n");
    assert_eq!(folder.ok("filter allow.tamis a.csv b.csv"), "id,email\n1,ann@x.org\n3,bob@x.org\n");
    folder.write("c.csv", "email,id\nann@x.org,1\n");
    folder.refused(
        "filter allow.tamis a.csv c.csv",
        1,
        &["c.csv", "not those of a.csv", "each of them by itself"],
    );
    folder.write("d.ndjson", "{\"email\":\"ann@x.org\"}\n");
    folder.refused("filter allow.tamis a.csv d.ndjson", 1, &["d.ndjson", "not those of a.csv"]);
}

#[test]
fn outputs_are_compressed_by_their_names_and_inputs_by_their_bytes() {
    let folder = people();
    folder.write("mail.csv", "id,email\n1,ann@x.org\n2,eve\n");
    for name in ["a.csv.gz", "a.csv.zst", "a.csv.bz2", "a.csv.xz"] {
        folder.ok(&format!("filter allow.tamis mail.csv -o {name}"));
        assert!(!folder.read(name).starts_with(b"id"));
        assert_eq!(folder.ok(&format!("filter allow.tamis {name}")), "id,email\n1,ann@x.org\n");
    }
}

#[test]
fn groups_are_asked_all_or_one_or_the_records_own() {
    let folder = groups();
    let passed = |options: &str| {
        let text = folder.ok(&format!("filter members.tamis t.csv {options}"));
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(passed(""), ["a,1", "both,2", "b,1", "both,7"]);
    assert_eq!(passed("--group 2"), ["both,2", "b,1", "both,7"]);
    assert_eq!(passed("--group 2 --invert"), ["a,1", "x,1"]);
    assert_eq!(passed("--own-group"), ["a,1", "both,2"]);
    assert_eq!(passed("--own-group --invert"), ["x,1", "b,1", "both,7"]);
    folder.write("t2.csv", "id,rating\na,1\nb,1\n");
    assert_eq!(folder.ok("filter members.tamis t2.csv --own-group=rating"), "id,rating\na,1\n");
    folder.refused("filter members.tamis t.csv --group 3", 1, &["no group \"3\"", "1, 2, 10"]);
    folder.refused("filter members.tamis t2.csv --own-group", 1, &["no column \"g\"", "rating"]);
    let folder = people();
    for option in ["--group 1", "--own-group", "--tag"] {
        let word = option.split(' ').next().unwrap();
        folder.refused(&format!("filter allow.tamis allow.csv {option}"), 1, &["no groups", word]);
    }
}

#[test]
fn a_tag_names_the_groups() {
    let folder = groups();
    assert_eq!(
        folder.ok("filter members.tamis t.csv --tag"),
        "id,g,tamis_groups\na,1,1\nboth,2,\"2,10\"\nb,1,2\nboth,7,\"2,10\"\n"
    );
    assert_eq!(
        folder.ok("filter members.tamis t.csv --tag=in --own-group --rejected r.csv"),
        "id,g,in\na,1,1\nboth,2,\"2,10\"\n"
    );
    assert_eq!(folder.text("r.csv"), "id,g,in\nx,1,\nb,1,2\nboth,7,\"2,10\"\n");
    folder.write("t.txt", "both\nx\n");
    assert_eq!(folder.ok("filter members.tamis t.txt --key (line) --tag"), "both\t2,10\n");
    folder.write("t.ndjson", "{\"id\":\"both\"}\n");
    assert_eq!(
        folder.ok("filter members.tamis t.ndjson --tag"),
        "{\"id\":\"both\",\"tamis_groups\":[\"2\",\"10\"]}\n"
    );
}

#[test]
fn a_count_writes_no_records() {
    let folder = people();
    folder.write("mail.csv", "id,email\n1,ann@x.org\n2,eve\n3,dan\n4,\\N\n");
    let said = folder.ok("filter allow.tamis mail.csv --count --bad-rows skip");
    for text in [
        "hash functions",
        "size of the set",
        "records analysed",
        "admitted",
        "1 (25 %)",
        "rejected",
        "without a key",
        "false admissions",
        "time to analyse",
    ] {
        assert!(said.contains(text), "{text:?} is missing in: {said}");
    }
    let json = folder.json("filter allow.tamis mail.csv --count --bad-rows skip --threads 1");
    assert_eq!(
        (json["records"].as_u64(), json["admitted"].as_u64(), json["rejected"].as_u64()),
        (Some(4), Some(1), Some(3))
    );
    assert_eq!((json["without_key"].as_u64(), json["planned_keys"].as_u64()), (Some(1), Some(2)));
    assert!(json["hashes"].as_u64().unwrap() > 1 && json["phases"]["analyse"].as_f64().is_some());
}

#[test]
fn records_without_a_key_stop_the_job_or_are_rejected() {
    let folder = people();
    folder.write("mail.csv", "id,email\n1,ann@x.org\n2,\n3,bob@x.org\n");
    let done = folder.run("filter allow.tamis mail.csv");
    done.refused("", 1, &["mail.csv, line 3", "--bad-rows skip"]);
    assert_eq!(done.out, "id,email\n1,ann@x.org\n", "what stood before the bad row was written");
    folder.refused("filter allow.tamis mail.csv -o out.csv", 1, &["line 3"]);
    assert!(!folder.path("out.csv").exists());
    let done = folder.run("filter allow.tamis mail.csv --bad-rows skip --rejected r.csv");
    assert!(done.err.contains("1 record without a key"), "{}", done.err);
    assert_eq!(done.out, "id,email\n1,ann@x.org\n3,bob@x.org\n");
    assert_eq!(folder.text("r.csv"), "id,email\n2,\n");
    folder.is_clean();
}

#[test]
fn threads_change_nothing() {
    let folder = Folder::with_ratings(100_000);
    folder.ok("build ratings.tsv --key tconst --group averageRating:round -o r.tamis");
    folder.ok("generate ratings --rows 200000 --seed 7 -o other.tsv");
    let run = |threads: u32| {
        folder.ok(&format!(
            "filter r.tamis other.tsv --tag --rejected r{threads}.tsv -o o{threads}.tsv --threads {threads}"
        ));
        (folder.read(&format!("o{threads}.tsv")), folder.read(&format!("r{threads}.tsv")))
    };
    let one = run(1);
    assert!(one.0.len() > 100_000 && one.1.len() > 100_000, "{} {}", one.0.len(), one.1.len());
    for threads in [2, 5] {
        assert!(run(threads) == one, "{threads} threads");
    }
}

#[test]
fn parquet_leaves_as_csv_or_ndjson() {
    let folder = people();
    write_parquet(&folder.path("t.parquet"));
    assert_eq!(
        folder.ok("filter allow.tamis t.parquet"),
        "email,n,note\nann@x.org,1,\"a,b\"\nbob@x.org,-3,\n"
    );
    folder.ok("filter allow.tamis t.parquet -o out.ndjson");
    assert_eq!(
        folder.text("out.ndjson"),
        "{\"email\":\"ann@x.org\",\"n\":1,\"note\":\"a,b\"}\n{\"email\":\"bob@x.org\",\"n\":-3,\"note\":null}\n"
    );
    assert_eq!(
        folder.ok("filter allow.tamis t.parquet --output-format tsv --invert"),
        "email\tn\tnote\neve\t2\tx\n"
    );
    folder.refused("filter allow.tamis allow.csv --output-format ndjson", 1, &["written unchanged"]);
}

#[test]
fn tsv_that_is_written_reads_back_or_is_refused() {
    let folder = people();
    write_parquet_with(&folder.path("q.parquet"), ["\"q", "x"]);
    folder.ok("filter allow.tamis q.parquet -o q.tsv");
    assert_eq!(folder.text("q.tsv"), "email\tn\tnote\nann@x.org\t1\t\"q\nbob@x.org\t-3\t\n");
    folder.ok("filter allow.tamis q.tsv -o again.tsv");
    assert_eq!(folder.text("again.tsv"), folder.text("q.tsv"));
    for note in ["x\ny", "x\ty", "x\r"] {
        write_parquet_with(&folder.path("n.parquet"), [note, "x"]);
        folder.refused(
            "filter allow.tamis n.parquet --output-format tsv",
            1,
            &["n.parquet, row 1", "cannot be written as TSV", "--output-format csv"],
        );
        folder.ok("filter allow.tamis n.parquet --output-format csv");
    }
    let done = folder.run("build n.parquet --key email:round --explain");
    assert!(done.code == 1 && done.out.contains("\"eve\"") && done.out.contains("→"), "{}", done.out);
}

pub fn write_parquet(path: &std::path::Path) {
    write_parquet_with(path, ["a,b", "x"]);
}

fn write_parquet_with(path: &std::path::Path, notes: [&str; 2]) {
    use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    use parquet::file::writer::SerializedFileWriter;
    let schema = "message m { required binary email (UTF8); required int64 n; optional binary note (UTF8); }";
    let schema = std::sync::Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let file = fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let texts = |texts: &[&str]| texts.iter().map(|&text| ByteArray::from(text)).collect::<Vec<_>>();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<ByteArrayType>()
        .write_batch(&texts(&["ann@x.org", "eve", "bob@x.org"]), None, None)
        .unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[1, 2, -3], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&texts(&notes), Some(&[1, 1, 0]), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn what_cannot_be_done_is_said() {
    let folder = people();
    folder.write("mail.csv", "id,sender\n1,ann@x.org\n");
    folder.refused("filter allow.tamis mail.csv", 1, &["no column \"email\"", "id, sender", "--key"]);
    folder.refused("filter allow.tamis mail.csv --key sender:words", 2, &["stored steps"]);
    folder.refused("filter none.tamis mail.csv", 1, &["none.tamis"]);
    folder.refused("filter mail.csv mail.csv", 1, &["not a tamis file"]);
    folder.refused("filter allow.tamis none.csv", 1, &["no such file"]);
    folder.refused("filter allow.tamis allow.csv --json", 2, &["--json goes with"]);
    let before = folder.read("mail.csv");
    for line in [
        "mail.csv --key sender -o mail.csv",
        "mail.csv --key sender --rejected ./mail.csv",
        "mail.csv --key sender -o allow.tamis",
    ] {
        folder.refused(&format!("filter allow.tamis {line}"), 2, &["is an input"]);
    }
    folder.refused(
        "filter allow.tamis mail.csv --key sender -o a.csv --rejected ./a.csv",
        2,
        &["name two files"],
    );
    folder.refused("filter allow.tamis mail.csv --key sender -o none/a.csv", 1, &["folder does not exist"]);
    assert!(folder.read("mail.csv") == before);
    assert!(!folder.path("a.csv").exists());
    folder.is_clean();
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let folder = Folder::new();
    let keys: String = (0..200_000).map(|i| format!("{i}\n")).collect();
    folder.write("keys.txt", &keys);
    folder.ok("build keys.txt -o keys.tamis");
    for line in [
        "$TAMIS filter keys.tamis keys.txt --threads 1 | head -n 1",
        "$TAMIS filter keys.tamis keys.txt --threads 3 | head -n 1",
        "cat keys.txt | $TAMIS filter keys.tamis - | head -n 1",
    ] {
        let (start, end) = line.split_once("$TAMIS").unwrap();
        let (arguments, head) = end.split_once('|').unwrap();
        let done = folder.shell(&format!("{start} ($TAMIS {arguments}; echo code $? >&2) | {head}"));
        assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, "0\n", "code 0\n"), "{line}");
    }
    // What is not admitted is still written whole.
    folder.shell(
        "seq 100000 1000000 > more.txt; $TAMIS filter keys.tamis more.txt --rejected r.txt | head -n 1",
    );
    assert!(folder.text("r.txt").ends_with("1000000\n"));
}

/// Starts a filter whose input and output are pipes; what it prints comes line by line.
fn stream(folder: &Folder, line: &str) -> (Guard, mpsc::Receiver<String>) {
    let mut child = Guard::start(
        Command::new(TAMIS)
            .args(line.split_whitespace())
            .current_dir(folder.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped()),
    );
    let (sender, receiver) = mpsc::channel();
    let out = BufReader::new(child.stdout.take().unwrap());
    thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    (child, receiver)
}

#[test]
fn a_record_of_a_slow_stream_comes_out_before_the_next_goes_in() {
    let folder = people();
    for (line, header, row) in [
        ("filter allow.tamis - --key (line)", "", "ann@x.org\n"),
        ("filter allow.tamis - --key (line) --threads 1", "", "ann@x.org\n"),
        ("filter allow.tamis - --format csv", "email\n", "ann@x.org\n"),
        ("filter allow.tamis - --no-header --format csv --key 2", "", "\"x\ny\",ann@x.org\n"),
        ("filter allow.tamis -", "", "{\"email\":\"ann@x.org\"}\n"),
    ] {
        let (mut child, lines) = stream(&folder, line);
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(header.as_bytes()).unwrap();
        for expected in header.lines() {
            assert_eq!(lines.recv_timeout(PATIENCE).as_deref(), Ok(expected));
        }
        for _ in 0..3 {
            stdin.write_all(row.as_bytes()).unwrap();
            for expected in row.lines() {
                assert_eq!(lines.recv_timeout(PATIENCE).as_deref(), Ok(expected), "{line}");
            }
        }
        drop(stdin);
        assert!(child.end().success());
    }
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_a_stream_too() {
    let folder = people();
    folder.shell("mkfifo pipe.csv");
    let (mut child, lines) = stream(&folder, "filter allow.tamis pipe.csv");
    let mut pipe = fs::OpenOptions::new().write(true).open(folder.path("pipe.csv")).unwrap();
    pipe.write_all(b"email\nann@x.org\n").unwrap();
    assert_eq!(lines.recv_timeout(PATIENCE).as_deref(), Ok("email"));
    assert_eq!(lines.recv_timeout(PATIENCE).as_deref(), Ok("ann@x.org"));
    pipe.write_all(b"bob@").unwrap();
    thread::sleep(Duration::from_millis(100));
    pipe.write_all(b"x.org\neve\n").unwrap();
    assert_eq!(lines.recv_timeout(PATIENCE).as_deref(), Ok("bob@x.org"));
    drop(pipe);
    assert!(child.end().success());
}

/// Though its input has not ended and is silent, it ends as soon as it finds out.
#[test]
fn a_stream_whose_reader_goes_away_ends_though_more_might_come() {
    let folder = Folder::new();
    let keys: String = (0..500_000).map(|i| format!("{i}\n")).collect();
    folder.write("keys.txt", &keys);
    folder.ok("build keys.txt -o keys.tamis");
    for threads in [1, 3] {
        let mut child = Guard::start(
            Command::new(TAMIS)
                .args(["filter", "keys.tamis", "-", "--threads", &threads.to_string()])
                .current_dir(folder.path(""))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped()),
        );
        let mut stdin = child.stdin.take().unwrap();
        let keys = keys.clone();
        let (done, is_done) = mpsc::channel::<()>();
        let feeder = thread::spawn(move || {
            let _ = stdin.write_all(keys.as_bytes());
            let _ = is_done.recv(); // open until then
        });
        let mut first = [0; 2];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        assert_eq!(&first, b"0\n");
        assert!(child.end().success());
        drop(done);
        feeder.join().unwrap();
    }
}

#[test]
fn compressed_streams_and_streams_that_end_at_once_are_read() {
    let folder = people();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"email\nann@x.org\neve\n").unwrap();
    let done = folder.run_words(&["filter", "allow.tamis", "-"], packed.finish().unwrap());
    assert_eq!(done.succeeded("gz"), "email\nann@x.org\n");
    assert_eq!(folder.run_with("filter allow.tamis - --key (line)", "").succeeded("empty"), "");
}

/// Named after what was seen: 30 groups of the same 300 keys had a rate of 0.7241, where 0.0407 of all
/// others passed, and a set of 9,000 keys.
#[test]
fn groups_that_share_keys_have_the_rate_and_the_size_of_their_union() {
    let folder = Folder::new();
    let rows = (0..30).flat_map(|group| (0..300).map(move |key| format!("k{key},{group}\n")));
    folder.write("m.csv", "id,g\n".to_owned() + &rows.collect::<String>());
    folder.ok("build m.csv --key id --group g --fpr 0.05 -o m.tamis");
    let others: String = (0..20_000).map(|key| format!("other{key}\n")).collect();
    folder.write("others.csv", "id\n".to_owned() + &others);
    let report = folder.json("filter m.tamis others.csv --key id -o out.csv");
    let (rate, set) = (report["rate"].as_f64().unwrap(), report["set"].as_f64().unwrap());
    let measured = report["admitted"].as_f64().unwrap() / 20_000.0;
    // Five standard deviations of what was measured, and what the estimate may miss.
    let slack = 5.0 * (measured * (1.0 - measured) / 20_000.0).sqrt() + 0.03 * measured;
    assert!((rate - measured).abs() < slack, "{rate} said, {measured} measured");
    assert!((270.0..330.0).contains(&set), "{set}");
    assert_eq!(report["rate_at_most"], false);
}

/// Named after what was seen: records of groups that the file lacks were reckoned among those that might
/// pass wrongly.
#[test]
fn records_of_groups_that_the_file_lacks_are_not_expected_to_pass() {
    let folder = Folder::new();
    let rows: String = (0..2000).map(|key| format!("k{key},{}\n", key % 2)).collect();
    folder.write("m.csv", "id,g\n".to_owned() + &rows);
    folder.ok("build m.csv --key id --group g --fpr 0.3 -o m.tamis");
    let others: String = (0..4000).map(|key| format!("other{key},{}\n", key % 8)).collect();
    folder.write("others.csv", "id,g\n".to_owned() + &others);
    let report = folder.json("filter m.tamis others.csv --key id --own-group -o out.csv");
    let (admitted, expected) = (&report["admitted"], report["expected_false_admissions"].as_f64().unwrap());
    let admitted = admitted.as_f64().unwrap();
    assert!((admitted - expected).abs() < 5.0 * expected.sqrt(), "{admitted} found, {expected} expected");
}
