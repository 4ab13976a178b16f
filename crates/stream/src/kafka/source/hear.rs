//! What brokers say beside messages: where partitions end, that some were added, that messages or brokers are gone.

use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::Message;
use rdkafka::consumer::Consumer;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use tamis_read::error::Result;

use super::Topic;
use super::part::{Part, assign, beginning};
use super::take::{record, time};
use crate::kafka::client::{self, about, plain, silent};
use crate::kafka::ends;
use crate::kafka::refusal::BadTopic;
use crate::refusal::News;

/// How long a wait for a message lasts before it is looked what else there is to hear.
const LOOK: Duration = Duration::from_millis(20);

/// How often a broker that is away is asked whether it is back, and for how long.
const PROBE: Duration = Duration::from_secs(1);
const PROBE_TIME: Duration = Duration::from_millis(300);

impl Topic<'_> {
    /// Hears what is said of no partition, and takes messages that came before there were queues: all of them, since
    /// those in the queues come after them.
    pub(super) fn listen(&mut self) -> Result<()> {
        let mut silences = 0;
        while silences < 2 {
            match self.consumer.poll(Duration::ZERO) {
                Some(Ok(message)) => {
                    let Some(part) = self.parts.iter_mut().find(|part| part.id == message.partition()) else {
                        continue;
                    };
                    let record = record(self.address, &message).map(<[u8]>::to_vec);
                    part.early.push_back((message.offset() as u64, time(&message), record));
                }
                Some(Err(error)) => self.hear(None, error)?,
                None => silences += 1,
            }
        }
        Ok(())
    }

    /// Has all partitions read from where they are.
    fn assign_again(&mut self) -> Result<()> {
        self.unheard = true;
        assign(&self.consumer, self.address, &mut self.parts)
    }

    /// Deals with what a broker said, of one partition or of none.
    pub(super) fn hear(&mut self, part: Option<usize>, error: KafkaError) -> Result<()> {
        use RDKafkaErrorCode::*;
        if let KafkaError::PartitionEOF(id) = error {
            self.waiting = None;
            if let Some(part) = self.parts.iter_mut().find(|part| part.id == id) {
                part.at_end = true;
                part.ended |= !self.follow;
            }
            return Ok(());
        }
        let code = error.rdkafka_error_code();
        let says = || {
            let why = format!("{}{}", plain(&error), self.consumer.context().complaint());
            about(self.address, BadTopic::Broker(why))
        };
        match (code, part) {
            (Some(AutoOffsetReset | OffsetOutOfRange), Some(part)) => self.go_on_after_loss(part..part + 1),
            (Some(AutoOffsetReset | OffsetOutOfRange), None) => self.go_on_after_loss(0..self.parts.len()),
            (Some(AllBrokersDown), _) => {
                self.down.get_or_insert_with(Instant::now);
                Ok(())
            }
            (
                Some(
                    UnknownTopicOrPartition
                    | UnknownTopic
                    | UnknownPartition
                    | TopicAuthorizationFailed
                    | Fatal,
                ),
                _,
            ) => Err(says()),
            _ if matches!(error, KafkaError::MessageConsumptionFatal(_)) => Err(says()),
            _ => Ok(()),
        }
    }

    /// Looks where partitions end by now, and reads those that were added, from their beginning.
    pub(super) fn look_around(&mut self) -> Result<()> {
        let Some(statistics) = self.consumer.context().statistics() else { return Ok(()) };
        let isolation = self.settings.properties.iter().rev().find(|(name, _)| name == "isolation.level");
        let committed = isolation.is_none_or(|(_, level)| level == "read_committed");
        let Some(ends) = ends::of(&statistics, &self.address.topic, committed) else { return Ok(()) };
        self.ends = ends;
        if !self.address.partitions.is_empty() {
            return Ok(());
        }
        let (before, last) = (self.parts.len(), self.parts.last().map(|last| last.id));
        for &id in self.ends.keys().filter(|id| Some(**id) > last) {
            let (low, high) = client::ask(&self.consumer, self.address, self.settings, |time| {
                self.consumer.fetch_watermarks(&self.address.topic, id, time)
            })?;
            self.parts.push(Part::new(id, None, low.max(0) as u64, high.max(0) as u64));
        }
        if self.parts.len() == before {
            return Ok(());
        }
        let (topic, now) = (self.address.to_string(), self.parts.len());
        self.herald.say(&News::PartitionsAdded { topic, before, now });
        self.assign_again()
    }

    /// What is next in one of these partitions has gone while it was waited for.
    fn go_on_after_loss(&mut self, parts: Range<usize>) -> Result<()> {
        for part in &mut self.parts[parts] {
            let (low, high) = client::ask(&self.consumer, self.address, self.settings, |time| {
                self.consumer.fetch_watermarks(&self.address.topic, part.id, time)
            })?;
            let marks = (low.max(0) as u64, high.max(0) as u64);
            let (from, gone) = beginning(self.address, part.id, Some(part.read), marks, self.settings.lost)?;
            self.lost += gone;
            part.read = from;
        }
        self.assign_again()
    }

    /// Waits for messages; false when it is time to look at other things. Those that must come are
    /// not waited for for ever.
    pub(super) fn wait(&mut self, deadline: Instant, must: bool) -> Result<bool> {
        let since = *self.waiting.get_or_insert_with(Instant::now);
        let late = |since: Instant| since.elapsed() > self.settings.timeout;
        if must && late(since) {
            return Err(silent(self.address, self.settings, self.consumer.context()));
        }
        if let Some(down) = self.down.filter(|_| !must && self.probed.elapsed() > PROBE) {
            // Of a topic where nothing happens, nothing is heard when the broker is back.
            let part = self.parts.first().map_or(0, |part| part.id);
            match self.consumer.fetch_watermarks(&self.address.topic, part, PROBE_TIME) {
                Ok(_) => self.down = None,
                Err(_) if late(down) => {
                    return Err(silent(self.address, self.settings, self.consumer.context()));
                }
                Err(_) => {}
            }
            self.probed = Instant::now();
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        thread::park_timeout(left.min(LOOK));
        Ok(true)
    }
}
