//! What brokers leave behind when they fail in the middle of a transaction, one error at a time, in the mock. In
//! `cluster.rs` real ones are killed.

use std::thread;
use std::time::Duration;

use rdkafka::mocking::MockCoordinator;

use crate::broker::Broker;
use crate::mock::Spoiled;
use crate::support::{Folder, Guard, until};
use crate::topics::{ask_until_seen, committed, end, start};

/// A run that has learned all keys that it is asked.
fn follow(broker: &Broker, folder: &Folder, url: impl Fn(&str) -> String, more: &str) -> Guard {
    let train: Vec<String> = (0..100).map(|number| format!("key-{number}")).collect();
    folder.write("train.txt", train.join("\n") + "\nwarm\n");
    let child = start(
        folder,
        &format!(
            "stream --train train.txt --query {} -o {} --follow --every 10ms --commit-every 0 --keys 1000 \
             --fpr 1e-9 --state run {more}",
            url("ask"),
            url("seen")
        ),
    );
    ask_until_seen(broker, "warm");
    child
}

/// Asks a key that was not asked before, and waits for its answer.
fn ask(broker: &Broker, number: u32) -> String {
    let key = format!("key-{number}");
    broker.send("ask", 0, 1, &key);
    broker.flush();
    until("an answer", || {
        thread::sleep(Duration::from_millis(20));
        broker.sorted("seen").contains(&key).then_some(())
    });
    key
}

/// Each key that was asked once was answered once.
fn check(broker: &Broker, child: &mut Guard, mut asked: Vec<String>) {
    let (code, said) = end(child);
    assert_eq!(code, Some(0), "{said}");
    let mut seen = broker.sorted("seen");
    seen.retain(|key| key != "warm");
    asked.sort();
    assert_eq!(seen, asked);
}

/// A broker that is killed while it numbers a producer takes it for an old one later, and so does one that has ended
/// a transaction because it was open for too long. Nobody has taken over.
#[test]
fn a_run_that_brokers_shut_out_by_mistake_goes_on() {
    let broker = Broker::mocked(&[("ask", 1), ("seen", 1)]);
    let folder = Folder::new();
    let mut child = follow(&broker, &folder, |topic| broker.url(topic), "");
    let mut asked = Vec::new();
    for number in 0..4 {
        broker.mock().shut_out();
        asked.push(ask(&broker, number));
    }
    check(&broker, &mut child, asked);
}

/// The answer to a commit says nothing of whether it lasted.
#[test]
fn a_commit_that_ends_in_an_error_is_looked_up_and_its_answers_come_once() {
    let broker = Broker::mocked(&[("ask", 1), ("seen", 1)]);
    let folder = Folder::new();
    let mut child = follow(&broker, &folder, |topic| broker.url(topic), "");
    let mut asked = Vec::new();
    let spoiled = [Spoiled::CarriedOut, Spoiled::Lost];
    for (number, spoiled) in spoiled.into_iter().cycle().take(6).enumerate() {
        broker.mock().spoil_commit(spoiled);
        asked.push(ask(&broker, number as u32));
        assert!(broker.mock().was_spoiled(), "a commit was spoiled");
    }
    check(&broker, &mut child, asked);
}

/// librdkafka goes on waiting for the broker that was the coordinator, whatever its limit says.
#[test]
fn a_coordinator_that_does_not_come_back_is_not_waited_for() {
    let broker = Broker::mocked_with(3, &[("ask", 1), ("seen", 1)]);
    let cluster = &broker.mock().cluster;
    for topic in ["ask", "seen"] {
        cluster.partition_leader(topic, 0, Some(1)).unwrap();
    }
    let folder = Folder::new();
    let id = "ours-answers".to_owned();
    cluster.coordinator(MockCoordinator::Transaction(id.clone()), 1).unwrap();
    cluster.coordinator(MockCoordinator::Group(id.clone()), 2).unwrap();
    let mut child =
        follow(&broker, &folder, |topic| broker.plain_url(topic), "--kafka transactional.id=ours");
    until("a commit", || (committed(&folder, "run") > 0).then_some(()));
    let before = committed(&folder, "run");
    cluster.coordinator(MockCoordinator::Group(id), 3).unwrap();
    cluster.broker_down(2).unwrap();
    broker.send("ask", 0, 1, "key-0");
    broker.flush();
    until("a commit without the coordinator", || (committed(&folder, "run") > before).then_some(()));
    cluster.broker_up(2).unwrap(); // for those who read
    let (code, said) = end(&mut child);
    assert_eq!(code, Some(0), "{said}");
    assert!(broker.sorted("seen").contains(&"key-0".to_owned()));
}
