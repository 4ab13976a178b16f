//! Rows per second of `stream` beside those of a plain reader, in one run: measured and printed, not asserted.

use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::{ClientConfig, Message, Offset, TopicPartitionList};

use crate::broker::{Broker, real_servers};
use crate::support::Folder;

const PARTITIONS: i32 = 3;
const ROUNDS: usize = 5;

/// Reads a topic to its end with librdkafka alone; messages, and their bytes.
fn read_plainly(topic: &str) -> (u64, u64) {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", real_servers().unwrap()).set("group.id", "plain");
    config.set("enable.auto.commit", "false").set("enable.partition.eof", "true");
    let consumer: BaseConsumer = config.create().unwrap();
    let mut assignment = TopicPartitionList::new();
    for partition in 0..PARTITIONS {
        assignment.add_partition_offset(topic, partition, Offset::Beginning).unwrap();
    }
    consumer.assign(&assignment).unwrap();
    let (mut messages, mut bytes, mut ended) = (0, 0, 0);
    while ended < PARTITIONS {
        match consumer.poll(Duration::from_millis(100)) {
            Some(Ok(message)) => {
                messages += 1;
                bytes += message.payload().map_or(0, <[u8]>::len) as u64;
            }
            Some(Err(KafkaError::PartitionEOF(_))) => ended += 1,
            Some(Err(error)) => panic!("{error}"),
            None => {}
        }
    }
    (messages, bytes)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[test]
#[ignore = "needs real brokers: ./check --clusters kafka"]
fn a_topic_is_read_beside_a_plain_reader() {
    let rows: u64 = if cfg!(debug_assertions) { 500_000 } else { 3_000_000 };
    let broker = Broker::real(&[("train", PARTITIONS)]);
    for number in 0..rows {
        let partition = (number % PARTITIONS as u64) as i32;
        broker.send("train", partition, number as i64, &format!("user-{:010}", number % (rows / 2)));
    }
    broker.flush();
    let folder = Folder::new();
    let line = format!("stream --train {} --keys {} --batch 1e5", broker.url("train"), rows / 2);
    let (mut plain, mut ours, mut with_state) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let begun = Instant::now();
        let (messages, bytes) = read_plainly(&broker.name("train"));
        plain.push(rows as f64 / begun.elapsed().as_secs_f64());
        assert_eq!((messages, bytes), (rows, 15 * rows));
        for (state, speeds) in [(String::new(), &mut ours), (format!("--state s{round}"), &mut with_state)] {
            let begun = Instant::now();
            let report = folder.json(&format!("{line} {state}"));
            speeds.push(rows as f64 / begun.elapsed().as_secs_f64());
            assert_eq!(report["rows"].as_u64(), Some(rows));
        }
    }
    let [plain, ours, with_state] = [plain, ours, with_state].map(median);
    println!(
        "{rows} rows in {PARTITIONS} partitions, {} build, medians of {ROUNDS} rounds in turn, rows per second: plain \
         reader {plain:.0}; tamis stream {ours:.0} ({:.2} of it); with --state {with_state:.0} ({:.2})",
        if cfg!(debug_assertions) { "debug" } else { "release" },
        ours / plain,
        with_state / plain
    );
}
