//! What is read of topics, and what is written to them.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};

use crate::broker::Broker;
use crate::support::{Dice, Folder, Guard, TAMIS, until};

/// Keys of a seed; some come often.
pub fn keys(count: u64, distinct: u64, seed: u64) -> Vec<String> {
    let mut dice = Dice(seed);
    (0..count).map(|_| format!("key-{}", dice.below(distinct))).collect()
}

/// Writes keys to the partitions of a topic, with times that interleave them.
pub fn write(broker: &Broker, topic: &str, partitions: i32, keys: &[String], seed: u64) {
    let mut dice = Dice(seed);
    for (at, key) in keys.iter().enumerate() {
        let time = 1_700_000_000_000 + at as i64 / 3;
        broker.send(topic, dice.below(partitions as u64) as i32, time, key);
    }
    broker.flush();
}

pub fn start(folder: &Folder, line: &str) -> Guard {
    start_with(folder, line, &[])
}

/// The same, with variables.
pub fn start_with(folder: &Folder, line: &str, variables: &[(&str, &str)]) -> Guard {
    Guard::start(
        Command::new("env")
            .args(["--default-signal=INT,TERM,HUP", TAMIS])
            .args(line.split_whitespace())
            .envs(variables.iter().copied())
            .current_dir(folder.path(""))
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped()),
    )
}

/// Asks a run that has begun to end, and waits for that.
pub fn end(child: &mut Guard) -> (Option<i32>, String) {
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    child.said()
}

/// How many batches a state has committed.
pub fn committed(folder: &Folder, state: &str) -> u64 {
    let text = fs::read(folder.path(&format!("{state}/commit.json"))).unwrap_or_default();
    let commit: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    commit["of"]["batch"].as_u64().unwrap_or(0)
}

/// Asks the topic `ask` for a key until the topic `seen` has it.
pub fn ask_until_seen(broker: &Broker, key: &str) {
    until("an answer", || {
        broker.send("ask", 0, 1, key);
        broker.flush();
        thread::sleep(Duration::from_millis(100));
        broker.messages("seen").concat().iter().any(|seen| seen == key).then_some(())
    });
}

/// The same with a key that is learned first.
pub fn learn_until_seen(broker: &Broker, partition: i32, key: &str) {
    broker.send("train", partition, 1, key);
    ask_until_seen(broker, key);
}

#[test]
fn what_is_learned_of_a_topic_is_what_build_learns_of_its_keys_and_answers_come_once() {
    let broker = Broker::with(&[("train", 3), ("ask", 2), ("seen", 2)]);
    let folder = Folder::new();
    let (train, ask) = (keys(5_000, 3_000, 1), keys(4_000, 6_000, 2));
    write(&broker, "train", 3, &train, 3);
    write(&broker, "ask", 2, &ask, 4);
    let line = format!(
        "stream --train {} --query {} --keys 3000 --fpr 1e-6 --batch 700",
        broker.url("train"),
        broker.url("ask")
    );
    let report = folder.json(&format!("{line} -o {} --state run", broker.url("seen")));
    assert_eq!((report["rows"].as_u64(), report["queries"].as_u64()), (Some(5_000), Some(4_000)));
    folder.write("train.txt", train.join("\n"));
    folder.ok("build train.txt --keys 3000 --fpr 1e-6 -o built.tamis");
    assert!(folder.read("run/filter.tamis") == folder.read("built.tamis"));
    // The same answers as in a file; a second run, and one without a state, have the same batches.
    folder.ok(&format!("{line} -o seen.txt --state other"));
    folder.ok(&format!("{line} -o again.txt"));
    assert_eq!(folder.text("seen.txt"), folder.text("again.txt"));
    let mut in_file: Vec<String> = folder.text("seen.txt").lines().map(str::to_owned).collect();
    in_file.sort();
    assert_eq!(broker.sorted("seen"), in_file);
    assert_eq!(report["answers"].as_u64(), Some(in_file.len() as u64));
    let known: BTreeSet<&String> = train.iter().collect();
    assert!(in_file.iter().all(|key| known.contains(key)) && in_file.len() > 500);
    // A key has its partition, and nothing is new for the same command.
    let parts = broker.messages("seen");
    assert!(parts.iter().all(|part| !part.is_empty()));
    assert!(parts[0].iter().all(|key| !parts[1].contains(key)));
    let report = folder.json(&format!("{line} -o {} --state run", broker.url("seen")));
    assert_eq!(report["rows"].as_u64(), Some(0));
    assert_eq!(broker.sorted("seen"), in_file);
    // Without a state answers are written immediately.
    broker.create("plain", 1);
    folder.ok(&format!("{line} -o {}", broker.url("plain")));
    assert_eq!(broker.sorted("plain"), in_file);
}

/// Learns a topic of this many keys, whose messages come while the run stands between its assignment and the queues of
/// the partitions: none of them may be passed over.
fn learn_what_comes_before_the_queues(count: u64, settings: &str) {
    let broker = Broker::with(&[("train", 1)]);
    let folder = Folder::new();
    let train = keys(count, count, 9);
    write(&broker, "train", 1, &train, 10);
    let line =
        format!("stream --train {} --keys 100000 --state run --batch 1e5 {settings}", broker.url("train"));
    let held = format!("stream/assigned:{}", folder.path("held").display());
    let mut child = start_with(&folder, &line, &[("TAMIS_TEST_HOLD_AT", &held)]);
    until("the assignment", || folder.path("held").exists().then_some(()));
    thread::sleep(Duration::from_secs(1));
    fs::remove_file(folder.path("held")).unwrap();
    let (code, said) = child.said();
    assert_eq!(code, Some(0), "{said}");
    folder.write("train.txt", train.join("\n"));
    folder.ok("build train.txt --keys 100000 -o built.tamis");
    assert!(folder.read("run/filter.tamis") == folder.read("built.tamis"), "messages were passed over");
}

/// Little is fetched ahead, so that the rest comes while what was fetched first is taken.
#[test]
fn messages_that_come_before_the_queues_of_partitions_are_not_passed_over() {
    learn_what_comes_before_the_queues(100_000, "--kafka queued.min.messages=20000");
}

/// The end of the partition is heard of before its messages are taken.
#[test]
fn a_partition_that_comes_whole_before_its_queue_is_read_whole() {
    learn_what_comes_before_the_queues(500, "");
}

#[test]
fn messages_are_keys_objects_or_rows_and_their_own_keys_can_be_taken() {
    let broker = Broker::with(&[("t", 1), ("json", 2), ("csv", 1), ("ask", 1)]);
    let folder = Folder::new();
    broker.send_with("t", 0, 1, Some("k1"), Some("v1"));
    broker.send_with("t", 0, 2, Some("k2"), None); // a tombstone
    broker.send_with("t", 0, 3, Some("k3"), Some("two\nlines\n"));
    broker.send("json", 0, 1, r#"{"user": {"id": "ann"}, "day": "mon"}"#);
    broker.send("json", 1, 2, "{\"user\":\n {\"id\": 7}, \"day\": \"tue\"}\n");
    broker.send("csv", 0, 1, "1;\"a;b\";x");
    broker.send("csv", 0, 2, "2;c;y");
    ["ann", "7", "bob"].iter().for_each(|key| broker.send("ask", 0, 9, key));
    broker.flush();
    let learned = |train: &str, options: &str, asked: &str| {
        folder.ok(&format!("stream --train {train} {options} --keys 100 --fpr 1e-9 --state state"));
        let found = folder.run_with("query state/filter.tamis", asked).out;
        fs::remove_dir_all(folder.path("state")).unwrap();
        let known = found.lines().filter(|line| line.ends_with("yes")).count();
        (known, found.lines().count())
    };
    assert_eq!(learned(&broker.url("t"), "", "v1\nk1\ntwo\n"), (1, 3));
    assert_eq!(learned(&broker.url("t?field=key"), "", "k1\nk2\nk3\nv1\n"), (3, 4));
    assert_eq!(learned(&broker.url("json?partitions=1"), "--key user.id", "7\nann\n"), (1, 2));
    assert_eq!(learned(&broker.url("csv"), "--delimiter ; --key 2", "a;b\nc\n1\n"), (2, 3));
    folder.ok(&format!(
        "stream --train {} --key user.id --group day --query {} --query-key (line) --keys 100 --fpr 1e-9 -o out.txt",
        broker.url("json"),
        broker.url("ask")
    ));
    assert_eq!(folder.text("out.txt"), "ann\tmon\n7\ttue\n");
}

#[test]
fn a_topic_is_followed_while_one_of_its_partitions_is_silent() {
    let broker = Broker::with(&[("train", 2), ("ask", 1), ("seen", 1)]);
    let folder = Folder::new();
    let line = format!(
        "stream --train {} --query {} -o {} --follow --every 20ms --keys 1000 --fpr 1e-9 --state run",
        broker.url("train"),
        broker.url("ask"),
        broker.url("seen")
    );
    let mut child = start(&folder, &line);
    let mut expected = Vec::new();
    for round in 0..4 {
        let key = format!("k{round}");
        learn_until_seen(&broker, 0, &key); // the other partition is silent
        expected.push(key);
    }
    let (code, said) = end(&mut child);
    assert_eq!(code, Some(0), "{said}");
    let mut seen = broker.messages("seen")[0].clone();
    seen.dedup();
    assert_eq!(seen, expected);
}

#[test]
fn a_broker_that_goes_away_and_comes_back_is_waited_for() {
    let broker = Broker::mocked(&[("train", 2), ("ask", 1), ("seen", 1)]);
    let folder = Folder::new();
    let line = format!(
        "stream --train {} --query {} -o {} --follow --every 20ms --keys 1000 --fpr 1e-9 --state run",
        broker.plain_url("train"),
        broker.plain_url("ask"),
        broker.plain_url("seen")
    );
    let mut child = start(&folder, &line);
    let ask_until_seen = |key: &str| learn_until_seen(&broker, 1, key);
    ask_until_seen("before");
    broker.mock().cluster.broker_down(-1).unwrap();
    thread::sleep(Duration::from_millis(1500));
    assert!(child.try_wait().unwrap().is_none(), "{}", child.said().1);
    broker.mock().cluster.broker_up(-1).unwrap();
    ask_until_seen("after");
    // Coordinators that move, and requests that break off, are no reason to end either.
    for key in [RDKafkaApiKey::EndTxn, RDKafkaApiKey::TxnOffsetCommit, RDKafkaApiKey::Produce] {
        broker.mock().cluster.request_errors(
            key,
            &[
                RDKafkaRespErr::RD_KAFKA_RESP_ERR__TRANSPORT,
                RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
            ][..if matches!(key, RDKafkaApiKey::Produce) { 1 } else { 2 }],
        );
    }
    ask_until_seen("at last");
    let (code, said) = end(&mut child);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_broker_that_does_not_come_back_is_an_error_and_the_same_command_goes_on() {
    let broker = Broker::mocked(&[("train", 2), ("ask", 1)]);
    let folder = Folder::new();
    let line = format!(
        "stream --train {} --query {} -o out.txt --follow --every 20ms --keys 1000 --fpr 1e-9 --state run",
        broker.plain_url("train"),
        broker.plain_url("ask")
    );
    for (at, key) in ["first", "second"].into_iter().enumerate() {
        let mut child = start(&folder, &format!("{line} --kafka-timeout 1s"));
        broker.send("train", at as i32, 1, key);
        until("an answer", || {
            broker.send("ask", 0, 1, key);
            broker.flush();
            thread::sleep(Duration::from_millis(50));
            fs::read_to_string(folder.path("out.txt")).is_ok_and(|seen| seen.contains(key)).then_some(())
        });
        broker.mock().cluster.broker_down(-1).unwrap();
        let (code, said) = child.said();
        assert!(code == Some(1) && said.contains("no broker has answered for 1 s"), "{said}");
        broker.mock().cluster.broker_up(-1).unwrap();
    }
}
