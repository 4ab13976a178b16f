//! Topics of real brokers that change: partitions are added, messages and whole topics go away.

use std::thread;
use std::time::{Duration, Instant};

use crate::broker::Broker;
use crate::support::{Folder, until};
use crate::topics::{end, keys, start, start_with, write};

#[test]
#[ignore = "needs real brokers: ./check --clusters kafka"]
fn partitions_that_are_added_are_read_while_the_topic_is_followed() {
    let broker = Broker::real(&[("train", 1), ("named", 1)]);
    let folder = Folder::new();
    let follow = |url: String, state: &str| {
        let line =
            format!("stream --train {url} --follow --every 20ms --commit-every 0 --keys 1000 --fpr 1e-9");
        start(&folder, &format!("{line} --state {state}"))
    };
    let knows = |state: &str, key: &str| {
        let found = folder.run_with(&format!("query {state}/filter.tamis"), format!("{key}\n"));
        found.out == format!("{key}\tyes\n")
    };
    let mut child = follow(broker.url("train"), "run");
    let mut other = follow(broker.url("named?partitions=0"), "named");
    for topic in ["train", "named"] {
        broker.send(topic, 0, 1, "first");
    }
    broker.flush();
    until("the first key", || (knows("run", "first") && knows("named", "first")).then_some(()));
    for topic in ["train", "named"] {
        broker.widen(topic, 3);
        broker.send(topic, 2, 2, "second");
    }
    broker.flush();
    until("the key of a new partition", || knows("run", "second").then_some(()));
    broker.send("train", 1, 3, "third");
    broker.send("train", 0, 3, "fourth");
    broker.flush();
    until("the keys of all partitions", || (knows("run", "third") && knows("run", "fourth")).then_some(()));
    // Killed and started again, it learns nothing twice, and goes on where it was.
    child.kill().unwrap();
    let (_, said) = child.said();
    assert!(said.contains("has 3 partitions now, and had 1"), "{said}");
    broker.send("train", 2, 4, "fifth");
    broker.flush();
    let report = folder.json(&format!(
        "stream --train {} --every 20ms --commit-every 0 --keys 1000 --fpr 1e-9 --state run",
        broker.url("train")
    ));
    assert_eq!(report["rows"].as_u64(), Some(1));
    assert!(knows("run", "fifth"));
    // Who names partitions reads those.
    let (code, said) = end(&mut other);
    assert!(code == Some(0) && !said.contains("partitions now"), "{said}");
    assert!(!knows("named", "second"));
}

/// A topic that forgets all but the last message of a key, as soon as it can.
const COMPACTED: [(&str, &str); 5] = [
    ("cleanup.policy", "compact"),
    ("segment.ms", "200"),
    ("min.cleanable.dirty.ratio", "0.001"),
    ("delete.retention.ms", "0"),
    ("min.compaction.lag.ms", "0"),
];

/// Writes until a message of partition 0 is gone: a segment is closed when a message of a later time comes, and
/// cleaned some time after that.
fn compact(broker: &Broker, topic: &str, offset: i64) {
    let (since, mut time) = (Instant::now(), 1000);
    while broker.read(topic)[0].iter().any(|read| read.offset == offset) {
        assert!(since.elapsed() < Duration::from_secs(60), "{topic} is not compacted");
        broker.send_with(topic, 0, time, Some("filler"), Some("filler"));
        time += 1000;
        broker.flush();
        thread::sleep(Duration::from_millis(250));
    }
}

#[test]
#[ignore = "needs real brokers: ./check --clusters kafka"]
fn of_a_compacted_topic_what_is_there_is_learned_and_tombstones_are_no_values() {
    let broker = Broker::real(&[]);
    broker.create_with("users", 1, &COMPACTED);
    let folder = Folder::new();
    for (key, value) in [("ann", Some("v1")), ("bob", Some("v2")), ("cid", Some("v3")), ("ann", Some("v4"))] {
        broker.send_with("users", 0, 1, Some(key), value);
    }
    broker.send_with("users", 0, 1, Some("bob"), None);
    broker.flush();
    compact(&broker, "users", 0);
    let left = broker.read("users").remove(0);
    let values: Vec<&str> = left.iter().filter_map(|read| read.value.as_deref()).collect();
    assert!(values.contains(&"v3") && values.contains(&"v4") && !values.contains(&"v1"), "{left:?}");
    folder.write("values.txt", values.join("\n"));
    let keys: Vec<&str> = left.iter().filter_map(|read| read.key.as_deref()).collect();
    folder.write("keys.txt", keys.join("\n"));
    for (file, field) in [("values", "users"), ("keys", "users?field=key")] {
        let line = format!("stream --train {} --keys 1000 --fpr 1e-9 --state {file}", broker.url(field));
        let report = folder.json(&line);
        folder.ok(&format!("build {file}.txt --keys 1000 --fpr 1e-9 -o {file}.tamis"));
        assert!(
            folder.read(&format!("{file}.tamis")) == folder.read(&format!("{file}/filter.tamis")),
            "{report}"
        );
    }
}

/// What was learned in a batch cannot be learned again when it is gone. Without a word it would be missing.
#[test]
#[ignore = "needs real brokers: ./check --clusters kafka"]
fn a_batch_that_compaction_has_made_smaller_is_not_run_again_without_a_word() {
    let broker = Broker::real(&[]);
    broker.create_with("users", 1, &COMPACTED);
    let folder = Folder::new();
    for number in 0..6 {
        broker.send_with("users", 0, 1, Some(&format!("k{number}")), Some(&format!("v{number}")));
    }
    broker.flush();
    // Killed in the commit of its first batch, which is logged. It ends with a message that stays.
    let line = format!("stream --train {} --batch 6 --keys 100 --fpr 1e-9", broker.url("users"));
    let mut child =
        start_with(&folder, &format!("{line} --state run"), &[("TAMIS_TEST_END_AT", "stream/commit:1")]);
    assert_eq!(child.said().0, None, "it was killed");
    broker.send_with("users", 0, 2, Some("k1"), Some("w1"));
    broker.send_with("users", 0, 2, Some("k2"), None);
    broker.flush();
    compact(&broker, "users", 1);
    let line = format!("{line} --state run");
    folder.refused(
        &line,
        1,
        &["2 messages of a batch that was begun are gone (compaction?)", "--lost go-on"],
    );
    let done = folder.run(&format!("{line} --lost go-on"));
    assert!(done.code == 0 && done.err.contains("2 messages were gone"), "{}", done.err);
    let found = folder.run_with("query run/filter.tamis", "v0\nv1\nv5\nw1\n").out;
    assert_eq!(found, "v0\tyes\nv1\t\nv5\tyes\nw1\tyes\n");
}

#[test]
#[ignore = "needs real brokers: ./check --clusters kafka"]
fn a_topic_that_was_created_again_is_not_taken_for_the_one_that_was_read() {
    let broker = Broker::real(&[("t", 2)]);
    let folder = Folder::new();
    let line = format!("stream --train {} --keys 100 --fpr 1e-9 --state run", broker.url("t"));
    write(&broker, "t", 2, &keys(20, 20, 61), 62);
    folder.ok(&line);
    broker.delete("t");
    broker.create("t", 2);
    folder.refused(&line, 1, &["the topic was cut or created again", "--lost go-on"]);
    broker.delete("t");
    broker.create("t", 1);
    folder.refused(&line, 1, &["partition 1 was there when the topic was read", "--lost go-on"]);
    broker.send("t", 0, 1, "new");
    broker.flush();
    folder.ok(&format!("{line} --lost go-on"));
    assert_eq!(folder.run_with("query run/filter.tamis", "new\n").out, "new\tyes\n");
}
