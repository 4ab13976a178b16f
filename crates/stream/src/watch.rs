//! What is seen of a stream while it runs: numbers for a status line, for metrics, for a log.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::learned::Fill;
use super::lock;
use super::refusal::News;
use super::role::ByRole;
use super::window::Judged;

/// How far a run is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Status {
    /// The number of the last batch, over all runs.
    pub batch: u64,
    /// Batches of this run.
    pub batches: u64,
    /// Of them, those that an earlier run had begun, and that were run again.
    pub replayed: u64,
    /// Rows trained.
    pub rows: u64,
    /// Queries.
    pub queries: u64,
    /// Distinct ones, each within its batch.
    pub distinct: u64,
    /// Lines of answers.
    pub answers: u64,
    /// Rows and queries of which no key could be made.
    pub skipped: u64,
    /// Keys removed.
    pub removed: u64,
    /// Keys to be removed that were not there.
    pub missing: u64,
    /// How often filters were made larger, because they turned out too small.
    pub enlarged: u64,
    /// Commits.
    pub commits: u64,
    /// When the last one was made.
    pub committed: Option<Instant>,
    /// How full the filters are, as of not long ago.
    pub fill: Option<Fill>,
    /// Whether that is after the last batch, or after an earlier one.
    pub fill_is_current: bool,
    /// What of the streams waits to be read, where that is known.
    pub lag: ByRole<Option<Lag>>,
    /// How far a window has come.
    pub window: Option<Windowed>,
}

/// What waits to be read of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lag {
    /// Of files: bytes.
    Bytes(u64),
    /// Of topics: messages.
    Messages(u64),
}

impl Lag {
    /// The bytes.
    pub fn bytes(self) -> Option<u64> {
        match self {
            Lag::Bytes(bytes) => Some(bytes),
            Lag::Messages(_) => None,
        }
    }

    /// The messages.
    pub fn messages(self) -> Option<u64> {
        match self {
            Lag::Messages(messages) => Some(messages),
            Lag::Bytes(_) => None,
        }
    }
}

/// How far a window has come.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Windowed {
    /// Its length.
    pub length: Duration,
    /// That of a pane.
    pub slide: Duration,
    /// Panes that can be live.
    pub most: u64,
    /// Live panes that have rows.
    pub panes: u64,
    /// When the oldest live pane begins, in milliseconds since 1970, if any time is known.
    pub begin: Option<i64>,
    /// The newest time.
    pub newest: Option<i64>,
    /// Rows that came at the wrong time, in this run; none by arrival, which is never wrong.
    pub judged: Option<Judged>,
    /// Whether those that are late are taken.
    pub takes_late: bool,
}

/// One batch that was run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Batch {
    /// Its number, over all runs.
    pub batch: u64,
    /// Rows trained.
    pub rows: u64,
    /// Queries.
    pub queries: u64,
    /// Distinct ones.
    pub distinct: u64,
    /// Lines of answers.
    pub answers: u64,
    /// Keys removed.
    pub removed: u64,
    /// Keys to be removed that were not there.
    pub missing: u64,
    /// How long it took, without the waiting for its records.
    pub time: Duration,
    /// Whether an earlier run had begun it.
    pub replayed: bool,
}

type Hear = Box<dyn Fn(&Batch, &Status) + Send + Sync>;
type HearNews = Arc<dyn Fn(&News) + Send + Sync>;

/// Says what people should know, from wherever it is noticed.
#[derive(Clone, Default)]
pub(super) struct Herald(Option<HearNews>);

impl Herald {
    pub(super) fn say(&self, what: &News) {
        if let Some(news) = &self.0 {
            news(what);
        }
    }
}

/// Shared between a run and its observers.
#[derive(Default)]
pub struct Watch {
    status: Mutex<Status>,
    hear: Option<Hear>,
    news: Herald,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.status().fmt(f)
    }
}

impl Watch {
    /// One that hears of every batch.
    pub fn hearing(hear: impl Fn(&Batch, &Status) + Send + Sync + 'static) -> Watch {
        Watch { hear: Some(Box::new(hear)), ..Watch::default() }
    }

    /// The same, which also hears at once of what people should know.
    #[must_use]
    pub fn with_news(self, news: impl Fn(&News) + Send + Sync + 'static) -> Watch {
        Watch { news: Herald(Some(Arc::new(news))), ..self }
    }

    pub(super) fn say(&self, what: &News) {
        self.news.say(what);
    }

    /// Who says so on other threads.
    pub(super) fn herald(&self) -> Herald {
        self.news.clone()
    }

    /// How far the run is.
    pub fn status(&self) -> Status {
        lock(&self.status).clone()
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut Status)) {
        change(&mut lock(&self.status));
    }

    pub(super) fn tell(&self, batch: &Batch) {
        if let Some(hear) = &self.hear {
            hear(batch, &self.status());
        }
    }
}
