//! A topic as a source of records.
//!
//! librdkafka fetches ahead with threads of its own; messages become records when they are taken. A
//! place is pairs of a partition and the offset after its last record, for the partitions of which
//! there was one: those that are added to a topic later do not change what places mean.

mod hear;
mod part;
mod take;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tamis_read::error::{Error, Result};
use tamis_read::{Messages, Options};

use self::part::{Part, assign, beginning, damaged, offsets};
use super::client::{self, Hearing, about};
use super::ends::{self, Ends};
use super::merge::Arrivals;
use super::refusal::BadTopic;
use super::{Address, Settings};
use crate::job::Lost;
use crate::queue::Piece;
use crate::refusal::Failed;
use crate::sift::{Making, Sifter};
use crate::source::{Cut, Place, Reached, Records, Source};
use crate::watch::{Herald, Lag};

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
    /// Whether messages may have come before there were queues, and were not taken from where they are then.
    unheard: bool,
    /// Since when something is waited for, and since when no broker is there.
    waiting: Option<Instant>,
    down: Option<Instant>,
    probed: Instant,
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
        unheard: true,
        waiting: None,
        down: None,
        probed: Instant::now(),
    })
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
            Some(if part.is_over() { part.waiting.len() as u64 } else { part.lag(part.high, None) })
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
