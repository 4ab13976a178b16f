//! Topics for tests. Where `TAMIS_KAFKA` names real brokers (`./cluster up kafka`), they are there, and else in the
//! [`Mock`]: what is promised is tested on both.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::env;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{ClientConfig, Message, Offset, TopicPartitionList};

use crate::mock::Mock;
use crate::servers;
use crate::support::{PATIENCE, until};

/// Brokers, and topics of a test's own.
pub struct Broker {
    /// None where they are real.
    mock: Option<Mock>,
    /// Where the test itself reads and writes.
    servers: String,
    producer: BaseProducer,
    /// What stands before the names of topics, which others have, too.
    prefix: String,
    topics: RefCell<Vec<String>>,
}

/// A message as a reader of committed messages gets it.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    pub offset: i64,
    pub key: Option<String>,
    pub value: Option<String>,
}

/// The addresses of real brokers, if tests are to run on them.
pub fn real_servers() -> Option<String> {
    env::var("TAMIS_KAFKA").ok()
}

impl Broker {
    /// With topics of this many partitions.
    pub fn with(topics: &[(&str, i32)]) -> Broker {
        match real_servers() {
            Some(_) => Broker::real(topics),
            None => Broker::mocked(topics),
        }
    }

    /// The same in the mock, for tests that must know or hold what it does.
    pub fn mocked(topics: &[(&str, i32)]) -> Broker {
        Broker::mocked_with(1, topics)
    }

    /// The same with several brokers; only one of them has a door.
    pub fn mocked_with(brokers: i32, topics: &[(&str, i32)]) -> Broker {
        Broker::at(Err(Mock::new(brokers)), String::new(), topics)
    }

    /// Another cluster, where topics have the same names.
    pub fn another(&self, topics: &[(&str, i32)]) -> Broker {
        Broker::at(Err(Mock::new(1)), self.prefix.clone(), topics)
    }

    /// The same on real brokers, for tests that need them.
    pub fn real(topics: &[(&str, i32)]) -> Broker {
        let servers =
            real_servers().expect("TAMIS_KAFKA names real brokers: eval \"$(./cluster env kafka)\"");
        if env::var_os("TAMIS_KAFKA_HOME").is_some() {
            servers::start(); // those that a test which failed has left dead
        }
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let prefix = format!("test-{}-{}-", std::process::id(), NUMBER.fetch_add(1, SeqCst));
        Broker::at(Ok(servers), prefix, topics)
    }

    /// At these servers, or in a mock.
    fn at(real: Result<String, Mock>, prefix: String, topics: &[(&str, i32)]) -> Broker {
        let (mock, servers) = match real {
            Ok(servers) => (None, servers),
            Err(mock) => {
                let servers = mock.cluster.bootstrap_servers();
                (Some(mock), servers)
            }
        };
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &servers).set("linger.ms", "1");
        if mock.is_none() {
            config.set("enable.idempotence", "true"); // brokers may be killed meanwhile
        }
        let producer = config.create().unwrap();
        let broker = Broker { mock, servers, producer, prefix, topics: RefCell::default() };
        topics.iter().for_each(|(topic, partitions)| broker.create(topic, *partitions));
        broker
    }

    /// The mock, in a test that is about it.
    pub fn mock(&self) -> &Mock {
        self.mock.as_ref().expect("this is a test of the mock")
    }

    pub fn is_real(&self) -> bool {
        self.mock.is_none()
    }

    /// The name of a topic.
    pub fn name(&self, topic: &str) -> String {
        format!("{}{topic}", self.prefix)
    }

    /// The topic as tamis is to read it: of the mock by its door.
    pub fn url(&self, topic: &str) -> String {
        let servers = self.mock.as_ref().map_or_else(|| self.servers.clone(), Mock::door);
        format!("kafka://{servers}/{}", self.name(topic))
    }

    /// The topic by the mock's own address: without real transactions, but it can be taken down.
    pub fn plain_url(&self, topic: &str) -> String {
        format!("kafka://{}/{}", self.servers, self.name(topic))
    }

    fn client<T: rdkafka::config::FromClientConfig>(&self) -> T {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.servers).set("group.id", "test");
        config.set("isolation.level", "read_committed").set("enable.partition.eof", "true");
        config.set("allow.auto.create.topics", "false").create().unwrap()
    }

    fn admin(&self) -> AdminClient<DefaultClientContext> {
        self.client()
    }

    pub fn create(&self, topic: &str, partitions: i32) {
        self.create_with(topic, partitions, &[]);
    }

    /// The same, with settings of the topic. Times of messages are those of tests: nothing is too old.
    pub fn create_with(&self, topic: &str, partitions: i32, settings: &[(&str, &str)]) {
        let name = self.name(topic);
        if let Some(mock) = &self.mock {
            return mock.cluster.create_topic(&name, partitions, 1).unwrap();
        }
        let mut new = NewTopic::new(&name, partitions, TopicReplication::Fixed(3)).set("retention.ms", "-1");
        for (setting, value) in settings {
            new = new.set(setting, value);
        }
        let options = AdminOptions::new().operation_timeout(Some(PATIENCE));
        // A topic of this name may still be on its way out.
        until("the topic is made", || {
            let made = block_on(self.admin().create_topics([&new], &options)).unwrap();
            made.into_iter().all(|made| made.is_ok()).then_some(())
        });
        until("the topic has leaders", || {
            let metadata = self.producer.client().fetch_metadata(Some(&name), PATIENCE).ok()?;
            let parts = metadata.topics()[0].partitions();
            let led = parts.len() == partitions as usize && parts.iter().all(|part| part.leader() >= 0);
            led.then_some(())
        });
        self.topics.borrow_mut().push(name);
    }

    /// Adds partitions to a topic of real brokers.
    pub fn widen(&self, topic: &str, partitions: usize) {
        let (name, options) = (self.name(topic), AdminOptions::new().operation_timeout(Some(PATIENCE)));
        let new = NewPartitions::new(&name, partitions);
        let done = block_on(self.admin().create_partitions([&new], &options)).unwrap();
        assert!(done.iter().all(Result::is_ok), "{done:?}");
        // Whoever writes knows of them only when it has asked.
        until("the partitions are there", || {
            let metadata = self.producer.client().fetch_metadata(Some(&name), PATIENCE).ok()?;
            (metadata.topics()[0].partitions().len() == partitions).then_some(())
        });
    }

    /// Deletes a topic of real brokers.
    pub fn delete(&self, topic: &str) {
        let (name, options) = (self.name(topic), AdminOptions::new().operation_timeout(Some(PATIENCE)));
        block_on(self.admin().delete_topics(&[&name], &options)).unwrap();
    }

    /// Writes messages to a partition that has at least one, and has those that were there be gone.
    pub fn lose(&self, topic: &str, partition: i32) {
        if self.is_real() {
            self.send(topic, partition, 2, "gone");
            self.send(topic, partition, 2, "stays");
            self.flush();
            let high = self.high(topic, partition);
            let mut before = TopicPartitionList::new();
            before.add_partition_offset(&self.name(topic), partition, Offset::Offset(high - 1)).unwrap();
            let options = AdminOptions::new().operation_timeout(Some(PATIENCE));
            block_on(self.admin().delete_records(&before, &options)).unwrap();
        } else {
            // The mock keeps 5 MB of a partition.
            let long = "x".repeat(200_000);
            for number in 0..60 {
                self.send(topic, partition, 2, &format!("{number}-{long}"));
                self.flush();
            }
        }
    }

    /// Waits until no transaction in a topic is open any more. That one is committed is known before its messages can
    /// be read: brokers that have just started take their time to mark them.
    pub fn settled(&self, topic: &str) {
        if !self.is_real() {
            return;
        }
        let name = self.name(topic);
        let ends = |isolation: &str| {
            let mut config = ClientConfig::new();
            config.set("bootstrap.servers", &self.servers).set("isolation.level", isolation);
            let consumer: BaseConsumer = config.create().unwrap();
            let metadata = consumer.fetch_metadata(Some(&name), PATIENCE).ok()?;
            let parts = metadata.topics()[0].partitions().iter().map(|part| part.id());
            let end = |id| consumer.fetch_watermarks(&name, id, Duration::from_secs(5)).ok();
            parts.map(end).collect::<Option<Vec<_>>>().filter(|ends| !ends.is_empty())
        };
        until("the end of all transactions", || {
            let committed = ends("read_committed")?;
            (ends("read_uncommitted")? == committed).then_some(())
        });
    }

    /// Where a partition ends.
    pub fn high(&self, topic: &str, partition: i32) -> i64 {
        let name = self.name(topic);
        until("the end of a partition", || {
            self.producer.client().fetch_watermarks(&name, partition, Duration::from_secs(5)).ok()
        })
        .1
    }

    /// Writes a message.
    pub fn send(&self, topic: &str, partition: i32, time: i64, value: &str) {
        self.send_with(topic, partition, time, None, Some(value));
    }

    /// The same, with a key or without a value.
    pub fn send_with(&self, topic: &str, partition: i32, time: i64, key: Option<&str>, value: Option<&str>) {
        let (topic, since) = (self.name(topic), Instant::now());
        loop {
            assert!(since.elapsed() < PATIENCE, "{topic} takes no message for partition {partition}");
            let mut record: BaseRecord<'_, str, str> =
                BaseRecord::to(&topic).partition(partition).timestamp(time);
            (record.key, record.payload) = (key, value);
            if self.producer.send(record).is_ok() {
                break;
            }
            self.producer.poll(Duration::from_millis(10));
        }
    }

    /// Makes sure that all of them are there.
    pub fn flush(&self) {
        self.producer.flush(PATIENCE).unwrap();
    }

    /// What a reader of committed messages gets of a topic, partition by partition.
    pub fn read(&self, topic: &str) -> Vec<Vec<Read>> {
        let (name, consumer) = (self.name(topic), self.client::<BaseConsumer>());
        let count = until("the partitions of the topic", || {
            let metadata = consumer.fetch_metadata(Some(&name), PATIENCE).ok()?;
            Some(metadata.topics()[0].partitions().len()).filter(|count| *count > 0)
        });
        let mut assignment = TopicPartitionList::new();
        for partition in 0..count as i32 {
            assignment.add_partition_offset(&name, partition, Offset::Beginning).unwrap();
        }
        consumer.assign(&assignment).unwrap();
        let (mut all, mut left) = (vec![Vec::new(); count], count);
        let since = Instant::now();
        while left > 0 {
            assert!(since.elapsed() < PATIENCE, "{name} has no end");
            let text = |bytes: Option<&[u8]>| bytes.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
            match consumer.poll(Duration::from_millis(100)) {
                Some(Ok(message)) => all[message.partition() as usize].push(Read {
                    offset: message.offset(),
                    key: text(message.key()),
                    value: text(message.payload()),
                }),
                Some(Err(KafkaError::PartitionEOF(_))) => left -= 1,
                _ => {}
            }
        }
        all
    }

    /// The values of these messages.
    pub fn messages(&self, topic: &str) -> Vec<Vec<String>> {
        let values = |part: Vec<Read>| part.into_iter().map(|read| read.value.unwrap_or_default()).collect();
        self.read(topic).into_iter().map(values).collect()
    }

    /// The same, all together and sorted.
    pub fn sorted(&self, topic: &str) -> Vec<String> {
        let mut all = self.messages(topic).concat();
        all.sort();
        all
    }

    /// The offsets that a group has committed for a topic, by partition.
    pub fn committed(&self, group: &str, topic: &str) -> BTreeMap<i32, i64> {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.servers).set("group.id", group);
        // A run that was killed leaves a transaction open until the next one begins: that is not waited for.
        config.set("isolation.level", "read_uncommitted");
        let mut wanted = TopicPartitionList::new();
        wanted.add_partition(&self.name(topic), 0);
        // Another client each time: one may look for a coordinator that was killed at its old place for long.
        let found = until("the offsets of the group", || {
            let consumer: BaseConsumer = config.create().unwrap();
            consumer.committed_offsets(wanted.clone(), Duration::from_secs(5)).ok()
        });
        let found = found.elements();
        found.iter().filter_map(|part| Some((part.partition(), part.offset().to_raw()?))).collect()
    }

    /// Has a mock called by the id of another cluster: as if it were that one, at a later time.
    pub fn stand_in_for(&self, other: &Broker) {
        let id = |broker: &Broker| broker.producer.client().fetch_cluster_id(PATIENCE).unwrap();
        self.mock().stand_in(id(self), id(other));
    }
}

impl Drop for Broker {
    /// Real brokers outlive the test.
    fn drop(&mut self) {
        let topics = self.topics.take();
        if !topics.is_empty() {
            let names: Vec<&str> = topics.iter().map(String::as_str).collect();
            let options = AdminOptions::new().operation_timeout(Some(PATIENCE));
            let _ = block_on(self.admin().delete_topics(&names, &options));
        }
    }
}

/// Waits for what librdkafka's own threads bring.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Wakes(Thread);
    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Wakes(thread::current())).into();
    let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(done) => return done,
            Poll::Pending => thread::park(),
        }
    }
}
