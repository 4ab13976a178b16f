//! What the brokers remember of a state: how far its answers came, and which run writes them.
//!
//! Both stand in one offset of a group, for partition 0 of the topic: the number of the last batch is the offset, and
//! the note beside it names the state and the run. It is written in the transactions that hold the answers, and in one
//! at the beginning of a run, so it says what lasted and whose it is, whatever was killed.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerGroupMetadata};
use rdkafka::error::KafkaError;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use tamis_make::files;
use tamis_read::error::{Error, Result};

use super::client::{self, Hearing, about, ask_for, unanswered};
use super::refusal::BadTopic;
use super::{Address, Settings};

/// The longest time for which one client asks, before another one does. One whose coordinator was killed may go on
/// looking for it at the old place; another knows nothing of that.
const LONGEST_LOOK: Duration = Duration::from_secs(5);

/// The entry of a state, and how it is asked for.
pub(super) struct Ledger {
    address: Address,
    settings: Settings,
    config: ClientConfig,
    /// The group, as transactions name it.
    pub(super) group: Arc<ConsumerGroupMetadata>,
    /// The id of the state, and of this run.
    state: String,
    run: String,
}

/// What stands there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The last batch whose answers lasted.
    pub(super) batch: u64,
    note: String,
}

/// A consumer that asks, without a word about what it reads. Brokers that create topics automatically do so, as for a
/// producer.
pub(super) fn asking(mut config: ClientConfig) -> Result<BaseConsumer<Hearing>> {
    config.set("allow.auto.create.topics", "true");
    client::consumer(&mut config)
}

/// Whether an answer that a transaction may still change is waited for. Our own transaction may be the one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    ForTransactions,
    No,
}

impl Ledger {
    /// Of a state with this id; its group is named here.
    pub(super) fn open(address: &Address, settings: &Settings, state: String, group: &str) -> Result<Ledger> {
        let mut config = client::config(address, settings);
        config.set("group.id", group);
        let asking = asking(config.clone())?;
        client::partitions(&asking, address, settings)?;
        let group = asking.group_metadata().ok_or_else(|| about(address, BadTopic::NoCoordinator))?;
        let (address, settings, group) = (address.clone(), settings.clone(), Arc::new(group));
        Ok(Ledger { address, settings, config, group, state, run: format!("{:016x}", chance()) })
    }

    /// What stands there now.
    pub(super) fn look(&self, wait: Wait) -> Result<Option<Entry>> {
        let mut config = self.config.clone();
        // So OffsetFetch asks for stable offsets, or does not; whatever users have set for what is read.
        let wait = if wait == Wait::ForTransactions { "read_committed" } else { "read_uncommitted" };
        config.set("isolation.level", wait);
        let mut wanted = TopicPartitionList::new();
        wanted.add_partition(&self.address.topic, 0);
        let since = Instant::now();
        let found = loop {
            let asking = asking(config.clone())?;
            let left = self.settings.timeout.saturating_sub(since.elapsed());
            let question = |time| asking.committed_offsets(wanted.clone(), time);
            let time = left.min(LONGEST_LOOK);
            if let Some(found) = ask_for(&asking, &self.address, &self.settings, time, question)? {
                break found;
            }
            if left.is_zero() {
                return Err(unanswered(&self.address, &self.settings, asking.context()));
            }
        };
        Ok(found.elements_for_topic(&self.address.topic).into_iter().find_map(|part| match part.offset() {
            Offset::Offset(batch) => {
                Some(Entry { batch: u64::try_from(batch).ok()?, note: part.metadata().to_owned() })
            }
            _ => None,
        }))
    }

    /// How far the answers of the state came; 0 where nothing is known of it.
    pub(super) fn batch(&self, entry: Option<&Entry>) -> u64 {
        // Earlier programs have noted the state alone.
        let of_state = |entry: &&Entry| entry.note.split(' ').next() == Some(&*self.state);
        entry.filter(of_state).map_or(0, |entry| entry.batch)
    }

    fn note(&self) -> String {
        format!("{} {}", self.state, self.run)
    }

    /// Whether this run has made the entry.
    pub(super) fn is_ours(&self, entry: &Entry) -> bool {
        entry.note == self.note()
    }

    /// The entry of this run, as the offsets of a transaction.
    pub(super) fn entry(&self, batch: u64) -> Result<TopicPartitionList, KafkaError> {
        let mut offsets = TopicPartitionList::new();
        let mut part = offsets.add_partition(&self.address.topic, 0);
        part.set_offset(Offset::Offset(i64::try_from(batch).unwrap_or(i64::MAX)))?;
        part.set_metadata(self.note());
        Ok(offsets)
    }
}

/// Keyed by the system's randomness, each time again.
fn chance() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The id of a state folder; it goes where the folder goes.
pub(super) fn identity(folder: &Path) -> Result<String> {
    let path = folder.join("kafka-id");
    match fs::read_to_string(&path) {
        Ok(text) => {
            let id = text.trim();
            if id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Ok(id.into());
            }
            Err(Error::input(path, BadTopic::Id))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let id = format!("{:016x}{:016x}", chance(), chance());
            files::write_whole(&path, |out| writeln!(out, "{id}"))?;
            files::sync_folder(folder)?;
            Ok(id)
        }
        Err(error) => Err(Error::Io { path, source: error }),
    }
}
