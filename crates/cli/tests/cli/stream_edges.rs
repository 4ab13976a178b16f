//! `stream` where things are not as usual: files that are taken for others, runs that are busy when
//! they shall end.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use super::stream::{keys, lines};
use crate::support::{Folder, Guard, TAMIS, until};

fn start(folder: &Folder, line: &str) -> Guard {
    let mut command = Command::new(TAMIS);
    command.args(line.split_whitespace()).current_dir(folder.path("")).stdin(Stdio::null());
    Guard::start(command.stdout(Stdio::null()).stderr(Stdio::null()))
}

/// Asks it to end; the exit code.
fn terminate(mut running: Guard) -> Option<i32> {
    Command::new("kill").arg(running.id().to_string()).status().unwrap();
    running.end().code()
}

/// The batches of the last commit.
fn committed(folder: &Folder, state: &str) -> Option<u64> {
    let text = fs::read_to_string(folder.path(state).join("commit.json")).ok()?;
    let value: serde_json::Value = text.lines().next()?.parse().ok()?;
    let of = value.get("of").unwrap_or(&value);
    of["batch"].as_u64()
}

#[test]
fn a_file_that_is_followed_later_is_read_on_from_where_it_ended() {
    let folder = Folder::new();
    let parts = [lines(&keys(500, 900, 1)), lines(&keys(500, 900, 2))];
    folder.write("log.txt", &parts[0]);
    folder.ok("stream --train log.txt --keys 900 --batch 100 --state run");
    let mut log = fs::OpenOptions::new().append(true).open(folder.path("log.txt")).unwrap();
    log.write_all(parts[1].as_bytes()).unwrap();
    let running = start(
        &folder,
        "stream --train log.txt --keys 900 --batch 100 --state run --follow --commit-every 0s",
    );
    until("all batches are committed", || committed(&folder, "run").filter(|batches| *batches == 10));
    assert_eq!(terminate(running), Some(0));
    folder.ok("build log.txt --format lines --keys 900 -o all.tamis");
    assert!(folder.read("run/filter.tamis") == folder.read("all.tamis"));
}

#[test]
fn a_run_that_is_busy_hears_that_it_shall_end() {
    let folder = Folder::new();
    folder.write("log.txt", lines(&keys(200_000, 50_000, 1)));
    let line = "stream --train log.txt --keys 50000 --batch 10 --state run --commit-every 0s";
    let running = start(&folder, line);
    until("there is a commit", || committed(&folder, "run"));
    assert_eq!(terminate(running), Some(0));
    assert!(committed(&folder, "run").unwrap() < 20_000, "it ended long before its input");
    folder.ok(&line.replace("0s", "1s"));
    folder.ok("build log.txt --format lines --keys 50000 -o all.tamis");
    assert!(folder.read("run/filter.tamis") == folder.read("all.tamis"));
}

#[test]
fn a_run_whose_answers_nobody_takes_ends_when_it_is_asked_to() {
    let folder = Folder::new();
    folder.write("log.txt", lines(&keys(100, 100, 1)));
    let line = "stream --train log.txt --query log.txt --keys 100 --state run -o tcp-listen://127.0.0.1:0";
    let running = start(&folder, line);
    until("the batch is planned", || {
        fs::metadata(folder.path("run/plan.log")).ok().filter(|log| log.len() > 0)
    });
    assert_eq!(terminate(running), Some(0));
}

#[test]
fn an_output_that_is_an_input_by_another_name_is_refused() {
    let folder = Folder::new();
    folder.write("a.txt", lines(&keys(100, 100, 1)));
    folder.ok("build a.txt -o a.tamis");
    folder.ok("plan a.txt -o params.json");
    fs::hard_link(folder.path("a.txt"), folder.path("link.txt")).unwrap();
    for (line, name) in [
        ("stream --train a.txt --query a.txt -o link.txt", "link.txt"),
        ("stream --from a.tamis --query a.txt -o a.tamis", "a.tamis"),
        ("stream --train a.txt --query a.txt --params params.json -o params.json", "params.json"),
        ("stream --train a.txt --query a.txt -o seen.txt --counts link.txt", "link.txt"),
        ("filter a.tamis a.txt -o link.txt", "link.txt"),
    ] {
        let before = folder.read(name);
        folder.refused(line, 2, &[name, "is an input and would be overwritten"]);
        assert!(folder.read(name) == before, "{line}");
    }
    folder.refused(
        "stream --train a.txt --query a.txt -o x.txt --counts ./x.txt",
        2,
        &["x.txt", "used for two outputs"],
    );
    let stdout = folder.run("stream --train a.txt --query a.txt --counts -");
    assert_eq!(stdout.code, 2, "{}", stdout.out);
    let file = folder.shell("$TAMIS stream --train - --keys 100 --state run < a.txt");
    file.refused("- from a file", 2, &["standard input is a file", "name the file"]);
}

#[test]
fn lines_ask_about_a_table_whatever_its_delimiter() {
    let folder = Folder::new();
    folder.write("hits.csv", "ip,bytes\n10.0.0.1,5\n10.0.0.2,7\n");
    folder.write("ask.txt", "10.0.0.2\n10.0.0.3\n");
    for how in ["--delimiter ,", "--format csv", ""] {
        let line =
            format!("stream --train hits.csv --key ip {how} --query ask.txt --query-key (line) -o seen.txt");
        folder.ok(&line);
        assert_eq!(folder.text("seen.txt"), "10.0.0.2\n", "{line}");
    }
}

#[test]
fn a_filter_that_is_too_small_is_told() {
    let folder = Folder::new();
    folder.write("a.txt", lines(&keys(5_000, 5_000, 1)));
    let done = folder.run("stream --train a.txt --query a.txt --keys 10 -o seen.txt");
    assert_eq!(done.code, 0);
    assert!(done.err.contains("1 of 1 filter hold more keys than planned"), "{}", done.err);
    let done = folder.run("stream --train a.txt --query a.txt -o seen.txt");
    assert!(!done.err.contains("planned"), "{}", done.err);
}

#[test]
#[cfg(not(feature = "kafka"))]
fn a_build_without_kafka_says_how_to_have_one_with_it() {
    let folder = Folder::new();
    folder.write("a.txt", "1\n");
    for line in [
        "stream --train kafka://127.0.0.1:9092/t --keys 10 --state state",
        "stream --train a.txt --query a.txt --keys 10 -o kafka://127.0.0.1:9092/t --state state",
    ] {
        folder.refused(line, 1, &["127.0.0.1:9092/t", "without Kafka", "the feature kafka"]);
        assert!(!folder.path("state").exists());
    }
}

/// An output was emptied when a run began, whatever became of the run.
#[test]
fn a_stream_of_files_replaces_an_output_whole_or_not_at_all() {
    let folder = Folder::new();
    folder.write("train.csv", "k\na\nb\n");
    folder.write("bad.csv", "k\na\n\"\"\n");
    folder.write("ask.txt", "a\nx\n");
    folder.write("out.txt", "what was there\n");
    let options = "--key k --query ask.txt --query-key (line) --keys 9 --fpr 1e-9 -o out.txt -q";
    folder.refused(&format!("stream --train bad.csv {options}"), 1, &["bad.csv"]);
    assert_eq!(folder.text("out.txt"), "what was there\n");
    folder.ok(&format!("stream --train train.csv {options}"));
    assert_eq!(folder.text("out.txt"), "a\n");
    folder.is_clean();
}

#[test]
fn a_refused_file_of_bad_rows_leaves_the_answers_as_they_were() {
    let folder = Folder::new();
    folder.write("a.txt", "a\nb\n");
    folder.write("out.txt", "old\n");
    folder.write("bad.ndjson", "{}\n");
    let line = "stream --train a.txt --query a.txt --state st -o out.txt --bad-rows-to bad.ndjson";
    folder.refused(line, 1, &["bad.ndjson"]);
    assert_eq!(folder.text("out.txt"), "old\n");
}

#[test]
fn outputs_that_are_shorter_than_they_were_are_refused_before_any_is_cut() {
    let folder = Folder::new();
    folder.write("a.csv", "id,n\na,1\n,2\nb,3\n");
    let line = "stream --train a.csv --key id --query a.csv --query-key n --keys 9 --state st -o out.txt \
                --counts counts.txt --epsilon 0.1 --bad-rows-to bad.ndjson";
    folder.ok(line);
    for short in ["counts.txt", "bad.ndjson"] {
        let (before, answers) = (folder.read(short), folder.read("out.txt"));
        folder.write(short, "");
        let mut out = fs::OpenOptions::new().append(true).open(folder.path("out.txt")).unwrap();
        out.write_all(b"more\n").unwrap();
        folder.refused(line, 1, &[short, "were written"]);
        assert_eq!(folder.read("out.txt").len(), answers.len() + 5, "{short}");
        folder.write(short, before);
        folder.write("out.txt", answers);
        folder.ok(line);
    }
}

#[test]
fn an_output_is_not_cut_when_another_cannot_be_opened() {
    let folder = Folder::new();
    folder.write("out.txt", "old\n");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    folder.write("a.txt", "a\n");
    let line = format!(
        "stream --train - --query a.txt --keys 9 -o out.txt --epsilon 0.1 --counts tcp-listen://{}",
        taken.local_addr().unwrap()
    );
    folder.run_with(&line, "a\n").refused("a port that is taken", 1, &["tcp-listen"]);
    assert_eq!(folder.text("out.txt"), "old\n");
}

/// The folder of the second goes before the run has come to its end.
#[test]
#[cfg(debug_assertions)]
fn outputs_of_a_stream_without_a_state_appear_together_or_not_at_all() {
    let folder = Folder::new();
    folder.write("a.csv", "id,n\na,1\n,2\nb,3\n");
    folder.write("out.txt", "old\n");
    fs::create_dir(folder.path("c")).unwrap();
    let line = "stream --train a.csv --key id --query a.csv --query-key n --keys 9 -o out.txt \
                --counts c/counts.txt --epsilon 0.1 --bad-rows-to bad.ndjson";
    let mut command = Command::new(TAMIS);
    command.args(line.split_whitespace()).current_dir(folder.path("")).stdin(Stdio::null());
    command.env("TAMIS_TEST_HOLD_AT", "stream/answered:held").stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = Guard::start(&mut command);
    until("all is answered", || folder.path("held").exists().then_some(()));
    fs::rename(folder.path("c"), folder.path("gone")).unwrap();
    fs::remove_file(folder.path("held")).unwrap();
    assert_eq!(running.end().code(), Some(1));
    assert_eq!(folder.text("out.txt"), "old\n");
    assert!(!folder.path("bad.ndjson").exists());
    fs::create_dir(folder.path("c")).unwrap();
    folder.ok(line);
    assert!(folder.text("out.txt") != "old\n" && folder.text("bad.ndjson").lines().count() == 1);
}

#[test]
fn a_file_of_bad_rows_among_the_inputs_is_refused_at_once() {
    let folder = Folder::new();
    fs::create_dir(folder.path("d")).unwrap();
    folder.write("d/a.txt", "a\n");
    for file in ["d/bad.ndjson", "d/../d/bad.txt"] {
        let line = format!("stream --train d --state st --bad-rows-to {file}");
        folder.refused(&line, 2, &["the file of bad rows would be read as an input"]);
    }
    assert!(!folder.path("d/bad.ndjson").exists());
}
