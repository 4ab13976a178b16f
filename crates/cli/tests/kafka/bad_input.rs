//! What is refused, with a message that says what to do and in bounded time.

use std::fs;
use std::net::TcpListener;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::broker::Broker;
use crate::support::{Folder, until};
use crate::topics::{committed, end, start};

#[test]
fn a_topic_that_is_not_there_is_named_with_those_that_are() {
    let broker = Broker::with(&[("logins", 2), ("asks", 1)]);
    let folder = Folder::new();
    let train = |url: String| format!("stream --train {url} --keys 10 --state state");
    folder.refused(
        &train(broker.url("login")),
        1,
        &[
            &format!("{:?}", broker.name("login")),
            &format!("there are {}, {}", broker.name("asks"), broker.name("logins")),
        ],
    );
    folder.refused(&train(broker.url("logins?partitions=0,7")), 1, &["no partition 7", "0 to 1"]);
    folder.refused(&train(broker.url("logins?from=1")), 1, &["from=1", "?partitions"]);
    let output =
        |url: String| format!("{} --query {} -o {url}", train(broker.url("logins")), broker.url("asks"));
    folder.refused(&output(broker.url("asks")), 2, &[&broker.name("asks"), "read as an input"]);
    folder.refused(&output(broker.url("seen?partitions=1")), 1, &["leave out ?partitions"]);
    folder.refused(&train("kafka://a.example".into()), 1, &["kafka://broker:9092/topic"]);
    folder.refused(&format!("{} --format csv --key name", train(broker.url("asks"))), 1, &["no header"]);
    folder.ok("generate ratings --rows 10 -o a.tsv");
    folder.refused(
        "stream --train a.tsv --key 1 --keys 10 --kafka client.id=x",
        1,
        &["client.id", "no kafka://"],
    );
    let url = broker.url("logins");
    folder.refused(&format!("stream --train {url} a.tsv --keys 10"), 2, &["of its own"]);
}

#[test]
fn a_message_that_is_no_row_is_named_by_its_offset_or_left_out() {
    let broker = Broker::with(&[("t", 1)]);
    let folder = Folder::new();
    broker.send("t", 0, 1, r#"{"id": 1}"#);
    broker.send("t", 0, 2, "no object");
    broker.send("t", 0, 3, r#"{"id": 3}"#);
    broker.flush();
    let line = format!("stream --train {} --key id --keys 10", broker.url("t"));
    folder.refused(&line, 1, &["partition 0, offset 1", "--bad-rows skip"]);
    let report = folder.json(&format!("{line} --bad-rows skip --state s"));
    assert_eq!((report["rows"].as_u64(), report["skipped"].as_u64()), (Some(2), Some(1)));
    folder.refused(&format!("stream --train {} --keys 10", broker.url("t?field=key")), 1, &["has no key"]);
}

#[test]
fn a_broker_that_never_answers_is_an_error_in_bounded_time() {
    let folder = Folder::new();
    folder.write("a.txt", "1\n");
    // One takes connections and is silent; at the other nobody listens.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().unwrap().port();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let _open = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    for port in [silent, gone] {
        for line in [
            format!("stream --train kafka://127.0.0.1:{port}/t --keys 10 --state s"),
            format!("stream --train a.txt --query a.txt --keys 10 -o kafka://127.0.0.1:{port}/t --state s"),
            format!("stream --train a.txt --query a.txt --keys 10 -o kafka://127.0.0.1:{port}/t"),
        ] {
            let says = ["no broker has answered for 1 s", "--kafka-timeout"];
            folder.refused(&format!("{line} --kafka-timeout 1s"), 1, &says);
        }
    }
    let refused =
        folder.run(&format!("stream --train kafka://127.0.0.1:{gone}/t --keys 10 --kafka-timeout 1s"));
    assert!(refused.err.contains("refused"), "why is said: {}", refused.err);
}

#[test]
fn settings_are_passed_on_and_secrets_are_nowhere_to_be_seen() {
    let broker = Broker::with(&[("t", 1)]);
    let folder = Folder::new();
    broker.send("t", 0, 1, "a");
    broker.flush();
    let line = format!("stream --train {} --keys 10 --state state", broker.url("t"));
    folder.refused(&format!("{line} --kafka no.such.thing=1"), 1, &["no.such.thing", "librdkafka"]);
    folder.refused(&format!("{line} --kafka security.protocol=loud"), 1, &["security.protocol"]);
    folder.refused(
        &format!("{line} --kafka enable.auto.commit=true"),
        1,
        &["enable.auto.commit", "cannot be set"],
    );
    folder.refused(&format!("{line} --kafka nothing"), 2, &["name=value"]);
    folder.refused(&format!("{line} --kafka-config none"), 1, &["none"]);
    // A broker that speaks no TLS.
    let tls = format!(
        "stream --train {} --keys 10 --kafka security.protocol=ssl --kafka-timeout 2s",
        broker.plain_url("t")
    );
    folder.refused(&tls, 1, &["no broker has answered", "SSL"]);
    folder.write("kafka.properties", "# ours\nsasl.username=me\nsasl.password=hunter2\nclient.id=watcher\n");
    folder.ok(&format!("{line} --kafka-config kafka.properties --kafka client.id=other"));
    for file in fs::read_dir(folder.path("state")).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(7).any(|bytes| bytes == b"hunter2"));
    }
    folder.write(
        "kafka.properties",
        "sasl.password=hunter2\nsasl.mechanisms=PLAIN\nsasl.kerberos.min.time.before.relogin=hunter2\n",
    );
    let done = folder.run(&format!("{line} --kafka-config kafka.properties"));
    assert!(done.code == 1 && !done.err.contains("sasl.password=hunter2"), "{}", done.err);
    let done = folder.run(&format!("{line} --kafka sasl.password=hunter2"));
    assert!(done.err.contains("--kafka-config") && !done.err.contains("hunter2"), "{}", done.err);
    folder.refused("stream --train kafka://me:hunter2@a/t --keys 10", 1, &["--kafka-config"]);
}

#[test]
fn messages_that_are_gone_are_said_and_can_be_gone_without() {
    let broker = Broker::with(&[("t", 2)]);
    let folder = Folder::new();
    broker.send("t", 0, 1, "first");
    broker.send("t", 1, 1, "other");
    broker.flush();
    let line = format!("stream --train {} --keys 100 --fpr 1e-6 --state state", broker.url("t"));
    folder.ok(&line);
    broker.lose("t", 0);
    let done = folder.run(&line);
    done.refused(
        &line,
        1,
        &["partition 0 was read to offset 1 and begins at", "messages are gone", "--lost go-on"],
    );
    let done = folder.run(&format!("{line} --lost go-on"));
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.err.contains("were gone before they could be read"), "{}", done.err);
    // From then on, all is as usual.
    broker.send("t", 1, 3, "last");
    broker.flush();
    assert_eq!(folder.json(&line)["rows"].as_u64(), Some(1));
    let found = folder.run_with("query state/filter.tamis", "first\nother\nlast\n").out;
    assert_eq!(found, "first\tyes\nother\tyes\nlast\tyes\n");
}

/// A run that sleeps while the broker forgets what it has not read.
#[test]
fn messages_that_go_while_a_topic_is_followed_are_said_too() {
    let broker = Broker::with(&[("t", 1)]);
    for lost in ["stop", "go-on"] {
        let folder = Folder::new();
        let line = format!("stream --train {} --follow --every 20ms --commit-every 0", broker.url("t"));
        let mut child = start(&folder, &format!("{line} --keys 1000 --fpr 1e-6 --state state --lost {lost}"));
        broker.send("t", 0, 1, "first");
        broker.flush();
        until("a commit", || (committed(&folder, "state") > 0).then_some(()));
        let signal = |name: &str| {
            let done = Command::new("kill").args([name, &child.id().to_string()]).status();
            assert!(done.unwrap().success());
        };
        signal("-STOP");
        thread::sleep(Duration::from_millis(500)); // what it waits for has an answer, and no message is on its way
        broker.lose("t", 0);
        signal("-CONT");
        if lost == "stop" {
            let (code, said) = child.said();
            assert!(code == Some(1) && said.contains("messages are gone"), "{said}");
            continue;
        }
        broker.send("t", 0, 3, "last");
        broker.flush();
        until("the last message", || {
            let found = folder.run_with("query state/filter.tamis", "last\n").out;
            (found == "last\tyes\n").then_some(())
        });
        let (code, said) = end(&mut child);
        assert!(code == Some(0) && said.contains("were gone before they could be read"), "{said}");
    }
}

#[test]
fn a_topic_that_has_fewer_partitions_than_were_read_is_an_error_that_says_so() {
    let (before, after) = (Broker::mocked(&[("t", 2)]), Broker::mocked(&[("t", 1)]));
    after.stand_in_for(&before);
    let folder = Folder::new();
    for (broker, partition) in [(&before, 0), (&before, 1), (&after, 0)] {
        broker.send("t", partition, 1, "a");
        broker.flush();
    }
    let line = |broker: &Broker| format!("stream --train {} --keys 10 --state state", broker.url("t"));
    folder.ok(&line(&before));
    folder.refused(&line(&after), 1, &["partition 1 was there when the topic was read", "--lost go-on"]);
    folder.ok(&format!("{} --lost go-on", line(&after)));
    folder.ok(&line(&after));
}

#[test]
fn the_topic_of_another_cluster_is_not_taken_for_the_one_that_was_read() {
    let one = Broker::with(&[("t", 1)]);
    let other = one.another(&[("t", 1)]);
    let folder = Folder::new();
    for broker in [&one, &other] {
        broker.send("t", 0, 1, "a");
        broker.flush();
    }
    folder.ok(&format!("stream --train {} --keys 10 --state state", one.url("t")));
    // By another name the brokers are the same.
    let named = one.url("t").replace("127.0.0.1", "localhost");
    folder.ok(&format!("stream --train {named} --keys 10 --state state"));
    folder.refused(
        &format!("stream --train {} --keys 10 --state state", other.url("t")),
        1,
        &["another cluster"],
    );
    folder.refused(&format!("stream --train {} --keys 10 --state state", one.url("u")), 1, &["another job"]);
}
