//! The partitions of a topic: where each is, and from where it is read.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::thread;

use rdkafka::consumer::base_consumer::PartitionQueue;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use tamis_make::failpoint::reach;
use tamis_read::error::{Error, Result};

use crate::job::Lost;
use crate::kafka::Address;
use crate::kafka::client::{Hearing, about, plain};
use crate::kafka::merge::Waiting;
use crate::kafka::refusal::BadTopic;
use crate::source::Place;

/// One partition.
pub(super) struct Part {
    pub(super) id: i32,
    /// None where nothing is to be read.
    pub(super) queue: Option<PartitionQueue<Hearing>>,
    /// Messages that came before there was the queue: offset, time, record.
    pub(super) early: VecDeque<(u64, i64, Option<Vec<u8>>)>,
    pub(super) waiting: Waiting,
    /// The offset after the last record that was taken.
    pub(super) place: Option<u64>,
    /// The offset after the last message that was read.
    pub(super) read: u64,
    /// Where the partition ended when the run began.
    pub(super) high: u64,
    pub(super) ended: bool,
    /// Whether the end was reached after the last message that was read.
    pub(super) at_end: bool,
    /// A message that cannot be used, after those that wait.
    pub(super) failure: Option<Error>,
}

impl Part {
    /// A partition with nothing read of it in this run: from where it is read, and where it ends.
    pub(super) fn new(id: i32, place: Option<u64>, from: u64, high: u64) -> Part {
        let (queue, early, waiting) = Default::default();
        let (ended, at_end) = (false, false);
        Part { id, queue, early, waiting, place, read: from, high, ended, at_end, failure: None }
    }

    /// Whether nothing more comes of it. Its end may be heard of before messages are taken that came before there was
    /// the queue.
    pub(super) fn is_over(&self) -> bool {
        self.ended && self.early.is_empty()
    }

    /// Messages that wait to be taken, of a partition that ends there. Offsets that have no message count, too, as
    /// long as they are before us.
    pub(super) fn lag(&self, end: u64, reached: Option<u64>) -> u64 {
        let at = reached.filter(|_| self.at_end).map_or(self.read, |reached| reached.max(self.read));
        end.saturating_sub(at) + self.waiting.len() as u64
    }
}

/// The offsets of a place.
pub(super) fn offsets(place: &Place) -> Option<BTreeMap<i32, u64>> {
    let (pairs, []) = place.0.as_chunks::<2>() else { return None };
    pairs.iter().map(|[part, offset]| Some((i32::try_from(*part).ok()?, *offset))).collect()
}

pub(super) fn damaged() -> Error {
    BadTopic::State.into()
}

/// Where a partition begins, and what is lost by that.
pub(super) fn beginning(
    topic: &Address,
    id: i32,
    at: Option<u64>,
    (low, high): (u64, u64),
    lost: Lost,
) -> Result<(u64, u64)> {
    match at {
        None => Ok((low, 0)),
        Some(at) if (low..=high).contains(&at) => Ok((at, 0)),
        Some(at) if lost == Lost::GoOn => Ok((low, if at < low { low - at } else { high - low })),
        Some(at) if at < low => Err(about(topic, BadTopic::MessagesGone { id, read: at, low })),
        Some(at) => Err(about(topic, BadTopic::Shortened { id, read: at, high })),
    }
}

/// Has all partitions read from where they are on that have not ended.
pub(super) fn assign(
    consumer: &Arc<BaseConsumer<Hearing>>,
    address: &Address,
    parts: &mut [Part],
) -> Result<()> {
    let refused = |error: KafkaError| about(address, BadTopic::Broker(plain(&error)));
    let mut assignment = TopicPartitionList::new();
    for part in parts.iter_mut().filter(|part| !part.ended) {
        part.queue = None; // the next one would lose its ear with it
        let offset = Offset::Offset(i64::try_from(part.read).map_err(|_| damaged())?);
        assignment.add_partition_offset(&address.topic, part.id, offset).map_err(refused)?;
    }
    consumer.assign(&assignment).map_err(refused)?;
    reach("stream/assigned"); // what is fetched here is in no queue of a partition
    let this = thread::current();
    for part in parts.iter_mut().filter(|part| !part.ended) {
        let queue = consumer.split_partition_queue(&address.topic, part.id);
        let mut queue = queue.ok_or_else(|| about(address, BadTopic::Unreadable(part.id)))?;
        let run = this.clone();
        queue.set_nonempty_callback(move || run.unpark());
        part.queue = Some(queue);
    }
    Ok(())
}
