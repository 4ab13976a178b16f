//! A topic as a source of records.
//!
//! librdkafka fetches ahead with threads of its own; messages become records when they are taken. A
//! place is pairs of a partition and the offset after its last record, for the partitions of which
//! there was one: those that are added to a topic later do not change what places mean.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::Message;
use rdkafka::consumer::base_consumer::PartitionQueue;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tamis_read::error::{Error, Result};
use tamis_read::{BadRow, Messages, Options, Sift, Sink};

use super::client::{self, Hearing, about, plain, silent};
use super::ends::{self, Ends};
use super::merge::{Arrivals, Waiting, turn};
use super::refusal::BadTopic;
use super::{Address, Field, Settings};
use crate::job::Lost;
use crate::queue::Piece;
use crate::refusal::{Failed, News};
use crate::sift::{Making, Sifter};
use crate::source::{Cut, Place, Reached, Records, Source};
use crate::watch::{Herald, Lag};

/// Messages that become records at a time, and their bytes.
const FEW: usize = 1024;
const FEW_BYTES: usize = 1 << 20;

/// How long a wait for a message lasts before it is looked what else there is to hear.
const LOOK: Duration = Duration::from_millis(20);

/// How often a broker that is away is asked whether it is back, and for how long.
const PROBE: Duration = Duration::from_secs(1);
const PROBE_TIME: Duration = Duration::from_millis(300);

/// How often a topic that is followed is asked whether it has partitions that were added.
const NEW_PARTITIONS_MS: &str = "5000";

/// Memory for messages that were fetched ahead, of all partitions.
const AHEAD_KIB: usize = 32 << 10;

/// What a commit remembers beside the place.
#[derive(Debug, Default, Serialize, Deserialize)]
struct TopicBookmark {
    /// Offsets mean something in one cluster only.
    cluster: Option<String>,
}

/// How a topic is to be read.
pub(crate) struct TopicSetup<'a> {
    pub(crate) address: &'a Address,
    pub(crate) settings: &'a Settings,
    pub(crate) follow: bool,
    pub(crate) options: &'a Options,
    pub(crate) making: Making<'a>,
    pub(crate) herald: Herald,
}

/// A topic that is read.
pub(crate) struct Topic<'a> {
    address: &'a Address,
    settings: &'a Settings,
    follow: bool,
    consumer: Arc<BaseConsumer<Hearing>>,
    cluster: Option<String>,
    /// In the order of their ids.
    parts: Vec<Part>,
    /// Where they end by now, if the topic is followed and that is known.
    ends: Ends,
    herald: Herald,
    messages: Messages,
    sifter: Sifter<'a>,
    /// How the records of the batch came.
    arrivals: Arrivals,
    /// Room for records that are put in order, or made.
    room: Records,
    piece: Piece,
    skipped: u64,
    /// Messages that were gone before they were read.
    lost: u64,
    /// Whether no commit has the place yet.
    news: bool,
    /// Since when something is waited for, and since when no broker is there.
    waiting: Option<Instant>,
    down: Option<Instant>,
    probed: Instant,
}

/// One partition.
struct Part {
    id: i32,
    /// None where nothing is to be read.
    queue: Option<PartitionQueue<Hearing>>,
    /// Messages that came before there was the queue: offset, time, record.
    early: VecDeque<(u64, i64, Option<Vec<u8>>)>,
    waiting: Waiting,
    /// The offset after the last record that was taken.
    place: Option<u64>,
    /// The offset after the last message that was read.
    read: u64,
    /// Where the partition ended when the run began.
    high: u64,
    ended: bool,
    /// Whether the end was reached after the last message that was read.
    at_end: bool,
    /// A message that cannot be used, after those that wait.
    failure: Option<Error>,
}

impl Part {
    /// A partition with nothing read of it in this run: from where it is read, and where it ends.
    fn new(id: i32, place: Option<u64>, from: u64, high: u64) -> Part {
        let (queue, early, waiting) = Default::default();
        let (ended, at_end) = (false, false);
        Part { id, queue, early, waiting, place, read: from, high, ended, at_end, failure: None }
    }

    /// Messages that wait to be taken, of a partition that ends there. Offsets that have no message count, too, as
    /// long as they are before us.
    fn lag(&self, end: u64, reached: Option<u64>) -> u64 {
        let at = reached.filter(|_| self.at_end).map_or(self.read, |reached| reached.max(self.read));
        end.saturating_sub(at) + self.waiting.len() as u64
    }
}

/// The offsets of a place.
fn offsets(place: &Place) -> Option<BTreeMap<i32, u64>> {
    let (pairs, []) = place.0.as_chunks::<2>() else { return None };
    pairs.iter().map(|[part, offset]| Some((i32::try_from(*part).ok()?, *offset))).collect()
}

fn damaged() -> Error {
    BadTopic::State.into()
}

/// Where a partition begins, and what is lost by that.
fn beginning(
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
fn assign(consumer: &Arc<BaseConsumer<Hearing>>, address: &Address, parts: &mut [Part]) -> Result<()> {
    let refused = |error: KafkaError| about(address, BadTopic::Broker(plain(&error)));
    let mut assignment = TopicPartitionList::new();
    for part in parts.iter_mut().filter(|part| !part.ended) {
        part.queue = None; // the next one would lose its ear with it
        let offset = Offset::Offset(i64::try_from(part.read).map_err(|_| damaged())?);
        assignment.add_partition_offset(&address.topic, part.id, offset).map_err(refused)?;
    }
    consumer.assign(&assignment).map_err(refused)?;
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

/// A reader of this topic, which fetches ahead within bounds; one that follows hears where partitions end, and of new
/// ones.
fn reader(address: &Address, settings: &Settings, follow: bool) -> Result<BaseConsumer<Hearing>> {
    let mut config = client::config(address, settings);
    let per_part = AHEAD_KIB / address.partitions.len().max(4);
    for (name, usual) in
        [("queued.max.messages.kbytes", per_part.to_string()), ("fetch.wait.max.ms", "100".into())]
    {
        if config.get(name).is_none() {
            config.set(name, usual);
        }
    }
    if follow {
        config.set("statistics.interval.ms", ends::EVERY_MS);
        if config.get("topic.metadata.refresh.interval.ms").is_none() {
            config.set("topic.metadata.refresh.interval.ms", NEW_PARTITIONS_MS);
        }
    }
    client::consumer(&mut config)
}

/// Opens a topic, at its beginning or where the commit ended.
pub(crate) fn open<'a>(setup: TopicSetup<'a>, begin: Option<(&Place, &Value)>) -> Result<Topic<'a>> {
    let TopicSetup { address, settings, follow, options, making, herald } = setup;
    let (begin, bookmark) = match begin {
        Some((place, bookmark)) => {
            let bookmark: TopicBookmark = serde_json::from_value(bookmark.clone()).map_err(|_| damaged())?;
            (offsets(place).ok_or_else(damaged)?, bookmark)
        }
        None => Default::default(),
    };
    let messages =
        Messages::new(options, &making.columns()).map_err(|why| Error::input(address.to_string(), why))?;
    let consumer = Arc::new(reader(address, settings, follow)?);
    let there = client::partitions(&consumer, address, settings)?;
    let cluster = consumer.client().fetch_cluster_id(settings.timeout.min(Duration::from_secs(5)));
    if let (Some(then), Some(now)) = (&bookmark.cluster, &cluster)
        && then != now
    {
        let (now, then) = (now.clone(), then.clone());
        return Err(about(address, BadTopic::OtherCluster { now, then }));
    }
    let mut news = false;
    let mut lost = 0;
    let named = |id: &i32| address.partitions.is_empty() || address.partitions.contains(id);
    let wanted = address.partitions.iter().chain(begin.keys());
    for id in wanted.filter(|id| !there.contains(id)) {
        if !begin.contains_key(id) || settings.lost == Lost::Stop {
            let why = match begin.contains_key(id) {
                true => BadTopic::PartitionGone(*id),
                false => BadTopic::NoPartition { id: *id, partitions: there.len() },
            };
            return Err(about(address, why));
        }
        news = true;
    }
    let mut parts = Vec::new();
    for id in there.into_iter().filter(named) {
        let marks = client::ask(&consumer, address, settings, |time| {
            consumer.fetch_watermarks(&address.topic, id, time)
        })?;
        let marks = (marks.0.max(0) as u64, marks.1.max(0) as u64);
        let at = begin.get(&id).copied();
        let (from, gone) = beginning(address, id, at, marks, settings.lost)?;
        news |= at.is_some_and(|at| at != from);
        lost += gone;
        let ended = !follow && from >= marks.1;
        parts.push(Part { ended, ..Part::new(id, at.map(|_| from), from, marks.1) });
    }
    assign(&consumer, address, &mut parts)?;
    Ok(Topic {
        address,
        settings,
        follow,
        consumer,
        cluster,
        parts,
        ends: Ends::default(),
        herald,
        messages,
        sifter: Sifter::new(making),
        arrivals: Arrivals::default(),
        room: Records::default(),
        piece: Piece::default(),
        skipped: 0,
        lost,
        news,
        waiting: None,
        down: None,
        probed: Instant::now(),
    })
}

impl Topic<'_> {
    /// Hears what is said of no partition, and takes messages that came before there were queues.
    fn listen(&mut self) -> Result<()> {
        let mut silences = 0;
        for _ in 0..10_000 {
            match self.consumer.poll(Duration::ZERO) {
                Some(Ok(message)) => {
                    let Some(part) = self.parts.iter_mut().find(|part| part.id == message.partition()) else {
                        continue;
                    };
                    let record = record(self.address, &message).map(<[u8]>::to_vec);
                    part.early.push_back((message.offset() as u64, time(&message), record));
                }
                Some(Err(error)) => self.hear(None, error)?,
                None if silences == 1 => break,
                None => silences += 1,
            }
        }
        Ok(())
    }

    /// Deals with what a broker said, of one partition or of none.
    fn hear(&mut self, part: Option<usize>, error: KafkaError) -> Result<()> {
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
            (Some(AutoOffsetReset | OffsetOutOfRange), Some(part)) => self.go_on_after_loss(part),
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
    fn look_around(&mut self) -> Result<()> {
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
        assign(&self.consumer, self.address, &mut self.parts)
    }

    /// What is next in a partition has gone while it was waited for.
    fn go_on_after_loss(&mut self, part: usize) -> Result<()> {
        let part = &mut self.parts[part];
        let (low, high) = client::ask(&self.consumer, self.address, self.settings, |time| {
            self.consumer.fetch_watermarks(&self.address.topic, part.id, time)
        })?;
        let marks = (low.max(0) as u64, high.max(0) as u64);
        let (from, gone) = beginning(self.address, part.id, Some(part.read), marks, self.settings.lost)?;
        self.lost += gone;
        part.read = from;
        assign(&self.consumer, self.address, &mut self.parts)
    }

    /// Makes records of the next messages of a partition, if there are any now.
    fn fill(&mut self, number: usize) -> Result<()> {
        let mut complaint = None;
        let mut marks = Vec::new();
        let part = &mut self.parts[number];
        let mut bytes = 0;
        while marks.len() < FEW && bytes < FEW_BYTES {
            let polled;
            let (offset, time, record) = match part.early.pop_front() {
                Some((offset, time, record)) => (offset, time, record.map(std::borrow::Cow::Owned)),
                None => match part.queue.as_ref().and_then(|queue| queue.poll(Duration::ZERO)) {
                    None => break,
                    Some(Err(error)) => {
                        complaint = Some(error);
                        break;
                    }
                    Some(Ok(message)) => {
                        polled = message;
                        let record = record(self.address, &polled).map(std::borrow::Cow::Borrowed);
                        (polled.offset() as u64, time(&polled), record)
                    }
                },
            };
            if offset < part.read {
                continue;
            }
            if !self.follow && offset >= part.high {
                part.ended = true;
                break;
            }
            part.read = offset + 1;
            let place = marks.len()..marks.len() + 1;
            marks.push((offset + 1, time));
            bytes += record.as_ref().map_or(0, |record| record.len());
            let taken = match (&record, self.address.field) {
                (Some(record), _) => self.messages.row(record, place, &mut self.sifter),
                (None, Field::Key) => self.sifter.bad_row(place, BadRow::NoMessageKey),
                (None, Field::Value) => Ok(()), // a tombstone
            };
            if let Err(why) = taken {
                let why = BadTopic::Message { id: part.id, offset, why };
                part.failure = Some(about(self.address, why));
                break;
            }
            if !self.follow && part.read >= part.high {
                part.ended = true;
                break;
            }
        }
        if !marks.is_empty() {
            self.waiting = None;
            self.down = None;
            part.at_end = false;
            self.sifter.batch(&[], &mut self.piece);
            self.skipped += self.piece.skipped;
            let of = self.piece.stops.iter().map(|stop| marks[*stop as usize - 1]);
            part.waiting.refill(&mut self.piece.records, of);
        }
        match complaint {
            Some(error) => self.hear(Some(number), error),
            None => Ok(()),
        }
    }

    /// Takes what belongs to a batch that an earlier run had begun; whether that is all of it.
    fn take_again(&mut self, target: &BTreeMap<i32, u64>, records: &mut Records) -> Result<bool> {
        let mut whole = true;
        for number in 0..self.parts.len() {
            let Some(&to) = target.get(&self.parts[number].id) else { continue };
            while self.parts[number].place != Some(to) {
                let read = self.parts[number].read;
                if self.parts[number].waiting.is_empty() {
                    if let Some(failure) = self.parts[number].failure.take() {
                        return Err(failure);
                    }
                    self.fill(number)?;
                }
                let part = &mut self.parts[number];
                let fits = |(after, _)| after <= to;
                if let Some((count, at)) = part.waiting.take_while(usize::MAX, fits, records) {
                    part.place = Some(at);
                    self.arrivals.push(number, count);
                } else if !part.waiting.is_empty() || part.read >= to || part.ended {
                    if self.settings.lost == Lost::GoOn {
                        part.place = Some(to); // how many are missing is counted when the batch is whole
                        break;
                    }
                    return Err(about(self.address, BadTopic::Compacted { id: part.id, offset: to - 1 }));
                } else if part.read == read {
                    whole = false;
                    break;
                }
            }
        }
        Ok(whole)
    }

    /// Takes records by turns, up to this many in all; how far that came.
    fn take_next(&mut self, most: usize, records: &mut Records) -> Result<Reached> {
        while records.len() < most {
            let mut missing = false;
            for number in 0..self.parts.len() {
                while self.parts[number].waiting.is_empty() {
                    if let Some(failure) = self.parts[number].failure.take() {
                        return Err(failure);
                    }
                    let part = &self.parts[number];
                    if part.ended {
                        break;
                    }
                    let read = part.read;
                    self.fill(number)?;
                    // Messages that are no records are not worth a wait.
                    let part = &self.parts[number];
                    if part.read == read && part.waiting.is_empty() && part.failure.is_none() {
                        missing |= !part.ended;
                        break;
                    }
                }
            }
            if missing && !self.follow {
                return Ok(Reached::Pause);
            }
            let heads = self.parts.iter().enumerate();
            let heads =
                heads.filter_map(|(number, part)| part.waiting.head().map(|(_, time)| (number, time)));
            let Some((number, until)) = turn(heads) else {
                return Ok(if missing || self.follow { Reached::Pause } else { Reached::End });
            };
            let part = &mut self.parts[number];
            let fits = |(_, time)| (time, number) <= until;
            if let Some((count, at)) = part.waiting.take_while(most - records.len(), fits, records) {
                part.place = Some(at);
                self.arrivals.push(number, count);
            }
        }
        Ok(Reached::Cut)
    }

    /// Waits for messages; false when it is time to look at other things. Those that must come are
    /// not waited for for ever.
    fn wait(&mut self, deadline: Instant, must: bool) -> Result<bool> {
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

/// The part of a message that is the record.
fn record<'m>(address: &Address, message: &'m impl Message) -> Option<&'m [u8]> {
    match address.field {
        Field::Value => message.payload(),
        Field::Key => message.key(),
    }
}

/// Milliseconds of the broker or the producer; messages without a time come first.
fn time(message: &impl Message) -> i64 {
    message.timestamp().to_millis().unwrap_or(i64::MIN)
}

impl Source for Topic<'_> {
    fn take(&mut self, cut: Cut<'_>, patience: Duration, records: &mut Records) -> Result<Reached> {
        let deadline = Instant::now() + patience;
        let target = match cut {
            Cut::At(place) => Some(offsets(place).ok_or_else(damaged)?),
            Cut::Records(_) => None,
        };
        loop {
            self.listen()?;
            if self.follow {
                self.look_around()?;
            }
            let reached = match (&target, cut) {
                (Some(target), _) if self.take_again(target, records)? => Reached::Cut,
                (None, Cut::Records(most)) => self.take_next(most, records)?,
                _ => Reached::Pause,
            };
            if reached != Reached::Pause {
                self.waiting = None;
                return Ok(reached);
            }
            if !self.wait(deadline, target.is_some() || !self.follow)? {
                return Ok(Reached::Pause);
            }
        }
    }

    fn settle(&mut self, records: &mut Records) {
        self.arrivals.settle(records, &mut self.room);
    }

    fn place(&self) -> Place {
        let read = self.parts.iter().filter_map(|part| Some([part.id as u64, part.place?]));
        Place(read.flatten().collect())
    }

    fn bookmark(&mut self, _: &Place) -> Result<Value> {
        self.news = false;
        let bookmark = TopicBookmark { cluster: self.cluster.clone() };
        serde_json::to_value(bookmark).map_err(|error| Failed::from(error).into())
    }

    fn has_news(&self) -> bool {
        self.news
    }

    fn reaches(&mut self, place: &Place) -> Result<bool> {
        for (id, offset) in offsets(place).ok_or_else(damaged)? {
            let high = self.parts.iter().find(|part| part.id == id).map_or(0, |part| part.high);
            if offset > high {
                beginning(self.address, id, Some(offset), (0, high), self.settings.lost)?;
                self.news = true;
            }
        }
        Ok(!self.news)
    }

    fn has_moved(&self) -> bool {
        self.news
    }

    fn lost(&self) -> u64 {
        self.lost
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    fn forget(&mut self, _: &Place) -> Result<()> {
        Ok(())
    }

    /// A run that does not follow has to read to where the topic ended when it began.
    fn lag(&self) -> Option<Lag> {
        let of_part = |part: &Part| {
            if self.follow {
                let end = self.ends.get(&part.id)?;
                return Some(part.lag(end.end?, end.reached));
            }
            Some(if part.ended { part.waiting.len() as u64 } else { part.lag(part.high, None) })
        };
        self.parts.iter().map(of_part).sum::<Option<u64>>().map(Lag::Messages)
    }

    fn may_shrink(&self) -> bool {
        true
    }

    fn shrunk(&mut self, gone: u64) -> Result<()> {
        if self.settings.lost == Lost::Stop {
            return Err(about(self.address, BadTopic::BatchShrunk { gone }));
        }
        self.lost += gone;
        Ok(())
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }
}
