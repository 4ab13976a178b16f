//! What is to be done: plain data, and what of it is impossible.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tamis::key::Recipe;
use tamis::params::{Common, Name};
use tamis::sizing::Kind;
use tamis_make::plan::{self, Size};
use tamis_make::rows::BadRows;
use tamis_read::error::{Error, Result};
use tamis_read::{Options, Sources};

use super::kafka;
use super::learned::Sizing;
use super::net::Idle;
use super::refusal::Impossible;
use super::role::{ByRole, Role};
use super::sink::Target;
use super::text::Named;
use super::window::Window;

/// Streams to be learned and answered.
#[derive(Debug, Clone)]
pub struct Job {
    /// What is read.
    pub inputs: ByRole<Option<Input>>,
    /// At the end of the last file, more of it is waited for.
    pub follow: bool,
    /// What was declared of their text.
    pub options: Options,
    /// Kind, hash and recipe, as files have them.
    pub common: Common,
    /// How large sketches are.
    pub sizing: Sizing,
    /// Counts that are kept beside filters.
    pub counts: Option<Counts>,
    /// A file whose keys are known from the start.
    pub from: Option<PathBuf>,
    /// Records of each stream in a batch, at most.
    pub batch: usize,
    /// How long a batch gathers records; without it, until it has them all.
    pub every: Option<Duration>,
    /// Where answers go.
    pub output: Target,
    /// Filters are made larger when their expected rate is over this: again from the source, or, if they
    /// grow, by themselves.
    pub rebuild_above: Option<f64>,
    /// Only what came lately is known.
    pub window: Option<Window>,
    /// The folder that a later run goes on from.
    pub state: Option<PathBuf>,
    /// How often it is written; zero: after every batch.
    pub commit_every: Duration,
    /// For how long a peer that went away is waited for.
    pub reconnect: Option<Duration>,
    /// For how long a peer of a listener may be silent.
    pub idle: Idle,
    /// How brokers of Kafka are spoken with.
    pub kafka: kafka::Settings,
    /// What to do when something is gone that was not read yet.
    pub lost: Lost,
    /// Records without a key.
    pub bad_rows: BadRows,
    /// Threads that parse, for each stream.
    pub threads: usize,
}

/// What to do when something is gone that was not read yet: messages of a topic, the rest of a file that was
/// followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lost {
    /// Say so and stop.
    #[default]
    Stop,
    /// Say so and go on with what there is.
    GoOn,
}

impl Lost {
    /// All of them.
    pub const ALL: [Lost; 2] = [Lost::Stop, Lost::GoOn];

    /// Its name in requests.
    pub fn name(self) -> &'static str {
        match self {
            Lost::Stop => "stop",
            Lost::GoOn => "go-on",
        }
    }
}

/// A stream that is read.
#[derive(Debug, Clone)]
pub struct Input {
    /// What was named.
    pub named: Named,
    /// The recipe with its columns.
    pub recipe: Recipe,
    /// How to read it.
    pub options: Options,
}

/// Counts beside filters.
#[derive(Debug, Clone)]
pub struct Counts {
    /// Kind, hash and recipe.
    pub common: Common,
    /// How large they are.
    pub sizing: Sizing,
    /// Where the estimates of all queries go.
    pub output: Target,
}

impl Job {
    /// Refuses what no input can make possible.
    pub(super) fn check(&self) -> Result<()> {
        match self.common.kind {
            kind @ (Kind::Fuse | Kind::Ribbon) => return Err(Impossible::Static(kind).into()),
            Kind::Layered => return Err(Impossible::Layered.into()),
            _ => {}
        }
        if self.inputs[Role::Remove].is_some() && self.common.kind != Kind::Counting {
            return Err(Impossible::Removal(self.common.kind).into());
        }
        if self.batch == 0 || self.batch > 1 << 30 {
            return Err(Impossible::Batch.into());
        }
        if let Some(counts) = &self.counts {
            if self.common.kind.counts() {
                return Err(Impossible::CountsTwice.into());
            }
            if counts.output == Target::Stdout && self.output == Target::Stdout {
                return Err(Impossible::OneOutput.into());
            }
            counts.output.check()?;
        }
        self.check_window()?;
        self.check_rebuild()?;
        self.output.check()?;
        self.check_topics()?;
        self.check_places()
    }

    /// Refuses to rebuild what has a size of its own, or cannot be read again.
    fn check_rebuild(&self) -> Result<()> {
        let Some(above) = self.rebuild_above else { return Ok(()) };
        if self.window.is_some() {
            return Err(Impossible::RebuiltWindow.into());
        }
        if self.inputs[Role::Remove].is_some() {
            return Err(Impossible::RebuiltRemoval.into());
        }
        if self.common.kind.counts() {
            return Err(Impossible::RebuiltCounts.into());
        }
        let (keys, size) = match &self.sizing {
            Sizing::Keys(_, Size::Total(_)) => return Err(Impossible::RebuiltSize.into()),
            Sizing::Params(_) => return Err(Impossible::RebuiltParams.into()),
            Sizing::Keys(keys, size) => (*keys, *size),
            Sizing::Growing(..) | Sizing::Counters(_) => return Ok(()),
        };
        if !matches!(&self.inputs[Role::Train], Some(Input { named: Named::Files(_), .. })) {
            return Err(Impossible::RebuiltLive.into());
        }
        let counts = vec![(Name::default(), keys)];
        let planned = plan::parameters(self.common.clone(), counts, size, 0)?;
        match planned.groups.iter().map(|group| group.fpr()).find(|target| *target > above) {
            Some(target) => Err(Impossible::RebuiltForever { target, above }.into()),
            None => Ok(()),
        }
    }

    /// Refuses windows of what cannot be united, or has no time.
    fn check_window(&self) -> Result<()> {
        let Some(window) = &self.window else { return Ok(()) };
        let kinds = [Some(self.common.kind), self.counts.as_ref().map(|counts| counts.common.kind)];
        for kind in kinds.into_iter().flatten() {
            match kind {
                Kind::Scalable => return Err(Impossible::WindowOfGrowing.into()),
                Kind::CountMinConservative => return Err(Impossible::WindowOfConservative.into()),
                _ => {}
            }
        }
        if self.from.is_some() {
            return Err(Impossible::WindowOfFile.into());
        }
        if self.inputs[Role::Train].is_none() {
            return Err(Impossible::WindowOfNothing.into());
        }
        if self.inputs[Role::Remove].is_some() {
            return Err(Impossible::WindowRemoval.into());
        }
        if window.time().is_none() && self.every.is_none() {
            return Err(Impossible::WindowWaits.into());
        }
        Ok(())
    }

    /// Refuses topics that cannot be used, and answers that would be read again.
    fn check_topics(&self) -> Result<()> {
        let read = self.streams().filter_map(|named| match named {
            Named::Kafka(topic) => Some(topic),
            _ => None,
        });
        let read: Vec<_> = read.collect();
        let outputs = [Some(&self.output), self.counts.as_ref().map(|counts| &counts.output)];
        let written = outputs.into_iter().flatten().filter_map(|target| match target {
            Target::Kafka(topic) => Some(topic),
            _ => None,
        });
        let written: Vec<_> = written.collect();
        for topic in &written {
            if read.iter().any(|read| (&read.brokers, &read.topic) == (&topic.brokers, &topic.topic)) {
                return Err(Error::input(topic.to_string(), Impossible::TopicReadAgain));
            }
        }
        kafka::check(&[read, written].concat(), &self.kafka)
    }

    /// Whether files are followed.
    pub(super) fn follows_files(&self) -> bool {
        self.follow && self.streams().any(|named| matches!(named, Named::Files(_)))
    }

    /// Whether a stream may never end, or comes but once: what is answered is then seen at once.
    pub(super) fn is_live(&self) -> bool {
        self.follow || self.streams().any(|named| !matches!(named, Named::Files(_)))
    }

    /// All streams that are read.
    fn streams(&self) -> impl Iterator<Item = &Named> {
        self.inputs.values().flatten().map(|input| &input.named)
    }

    /// Refuses a state and outputs that would be read as inputs, by this run or the next.
    fn check_places(&self) -> Result<()> {
        let counts = self.counts.as_ref().and_then(|counts| counts.output.regular());
        let places = [
            (self.state.as_deref(), "the state folder"),
            (self.output.regular(), "the output"),
            (counts, "the output"),
            (self.bad_rows.path(), "the file of bad rows"),
        ];
        for (path, what) in places {
            let Some(path) = path else { continue };
            for named in self.streams() {
                if let Named::Files(inputs) = named
                    && Sources::would_find(inputs, path)
                {
                    return Err(Error::input(path, Impossible::ReadAgain(what)));
                }
            }
        }
        Ok(())
    }
}
