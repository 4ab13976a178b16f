//! What is asked of a stream, as plain values, and the job that follows from it.
//!
//! Every front end fills a [`StreamJob`], by hand or from JSON, and resolves it. What follows from options
//! that were not given (a kind that grows, how long a batch gathers) is decided here, once.

mod refusal;
mod sketches;
#[cfg(test)]
mod tests;
mod windows;

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tamis::key::{Column, Field, Recipe};
use tamis::params::Common;
use tamis::sizing::Kind;
use tamis_jobs::request::{Counting, Keys, Kinds, NoMore, Reading, Sizes, json, replace_columns, time};
use tamis_make::files;
use tamis_read::error::Result;
use tamis_read::{Format, Options};

pub use self::refusal::{Note, Refusal};
pub use self::windows::Windows;

use self::sketches::{Learning, Wanted};
use super::job::{Counts, Input, Job, Lost};
use super::kafka::{Asked, Settings};
use super::learned::Sizing;
use super::net::Idle;
use super::opt;
use super::role::{ByRole, Role};
use super::sink::Target;
use super::text::Named;
use super::window::Window;

/// Records of each stream in a batch, where nothing is said.
const BATCH: u64 = 100_000;

/// How long a batch of streams that may pause gathers records, at most, where nothing is said.
const EVERY: Duration = Duration::from_secs(1);

/// How often a state is written, where nothing is said.
const COMMIT_EVERY: Duration = Duration::from_secs(1);

/// What is asked of a stream.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamJob {
    /// What is read (`train`, `query`, `remove`): files, globs and folders, or one pipe, socket or topic.
    #[serde(flatten)]
    pub inputs: ByRole<Option<Vec<String>>>,
    /// Whether more is waited for at the end of the last file or topic.
    pub follow: bool,
    /// Where answers go: a file, `-`, a socket or a topic.
    pub output: Option<String>,
    /// Where the counts go that are kept beside filters.
    pub counts: Option<String>,
    /// Records of each stream in a batch.
    pub batch: Option<u64>,
    /// How long a batch gathers records.
    #[serde(with = "time::optional")]
    pub every: Option<Duration>,
    /// The rate above which filters are made larger.
    pub rebuild_above: Option<f64>,
    /// The folder that a later run goes on from.
    pub state: Option<PathBuf>,
    /// How often it is written; zero: after every batch.
    #[serde(with = "time::optional")]
    pub commit_every: Option<Duration>,
    /// For how long a peer that went away is waited for.
    #[serde(with = "time::optional")]
    pub reconnect: Option<Duration>,
    /// What to do when something is gone that was not read yet.
    pub lost: Option<Lost>,
    /// For how long a peer of a listener may be silent: a time, or `none`.
    pub idle: Option<Idle>,
    /// How brokers of Kafka are spoken with.
    #[serde(flatten)]
    pub kafka: Asked,
    /// A file of saved parameters.
    pub params: Option<PathBuf>,
    /// A file whose keys are known from the start.
    pub from: Option<PathBuf>,
    /// How keys are made.
    #[serde(flatten)]
    pub keys: Keys,
    /// Other columns of the key in the query stream.
    #[serde(with = "json::several")]
    pub query_key: Vec<Field>,
    /// The same in the stream of removals.
    #[serde(with = "json::several")]
    pub remove_key: Vec<Field>,
    /// The kind.
    #[serde(flatten)]
    pub kinds: Kinds,
    /// The size of filters.
    #[serde(flatten)]
    pub sizes: Sizes,
    /// The size of sketches that count.
    #[serde(flatten)]
    pub counting: Counting,
    /// The window.
    #[serde(flatten)]
    pub windows: Windows,
    /// How inputs are read.
    #[serde(flatten)]
    pub reading: Reading,
    /// What no field took.
    #[serde(flatten)]
    pub no_more: NoMore,
}

impl StreamJob {
    /// The job that follows from it. What should be known of it is told on the way.
    ///
    /// A refusal of the request itself is a [`Refusal`], or one of [`tamis_jobs::request`]; other errors
    /// are those of files that it names.
    pub fn resolve(&self, tell: &mut dyn FnMut(&Note)) -> Result<Job> {
        let named = self.named()?;
        let output = self.target(&named)?;
        let kafka = self.settings(tell)?;
        if self.every.is_some_and(|every| every.is_zero()) {
            return Err(Refusal::NoTime.into());
        }
        let kinds = self.kinds_of(&named, tell);
        let window = self.windows.resolve()?;
        let wanted = Wanted::of(self, kinds);
        let Learning { common, sizing, recipe } = wanted.planned(self, tell)?;
        let counts = self.counts(&named, &common)?;
        let inputs = self.inputs(&named, &recipe)?;
        Ok(Job {
            inputs,
            follow: self.follow,
            options: self.reading.options(),
            common,
            sizing,
            counts,
            from: self.from.clone(),
            batch: usize::try_from(self.batch.unwrap_or(BATCH)).unwrap_or(usize::MAX),
            every: self.every(&named, window.as_ref()),
            output,
            rebuild_above: self.rebuild_above,
            window,
            state: self.state.clone(),
            commit_every: self.commit_every.unwrap_or(COMMIT_EVERY),
            reconnect: self.reconnect,
            idle: self.idle.unwrap_or_default(),
            kafka,
            lost: self.lost.unwrap_or_default(),
            bad_rows: self.reading.bad_rows()?,
            threads: self.reading.threads()?,
        })
    }

    /// The streams that are named. Something must be learned or known.
    fn named(&self) -> Result<ByRole<Option<Named>>> {
        let named = ByRole::try_of(|role| {
            let words = self.inputs[role].as_ref().filter(|words| !words.is_empty());
            words.map(|words| Named::of(words)).transpose()
        })?;
        if named.values().filter(|named| **named == Some(Named::Stdin)).count() > 1 {
            return Err(Refusal::StdinTwice.into());
        }
        if named.values().all(Option::is_none) {
            return Err(Refusal::NoStream.into());
        }
        if named[Role::Train].is_none() && self.from.is_none() {
            return Err(Refusal::NothingLearned.into());
        }
        if !self.remove_key.is_empty() && named[Role::Remove].is_none() {
            return Err(Refusal::Needs(opt::REMOVE_KEY, opt::REMOVE).into());
        }
        if self.params.is_some() && self.from.is_some() {
            return Err(tamis_jobs::request::Refusal::InPlaceOf(opt::PARAMS, opt::FROM).into());
        }
        Ok(named)
    }

    /// Where answers go: not over the parameters.
    fn target(&self, named: &ByRole<Option<Named>>) -> Result<Target> {
        let target = match (&self.output, &named[Role::Query]) {
            (Some(_), None) => return Err(Refusal::NothingAsked(opt::OUTPUT).into()),
            (None, None) => Target::Nowhere,
            (None, Some(_)) => Target::Stdout,
            (Some(output), Some(_)) => Target::of(output)?,
        };
        for name in [&self.output, &self.counts].into_iter().flatten() {
            if let Target::File(path) = Target::of(name)? {
                files::check_is_no_input(&path, &self.params)?;
            }
        }
        Ok(target)
    }

    /// What is said about Kafka; what is given counts more than the file.
    fn settings(&self, tell: &mut dyn FnMut(&Note)) -> Result<Settings> {
        let mut properties = match &self.kafka.kafka_config {
            Some(path) => Settings::read(path)?,
            None => Vec::new(),
        };
        for property in &self.kafka.kafka {
            if Settings::is_secret(&property.name) {
                tell(&Note::Secret(property.name.clone()));
            }
            properties.push((property.name.clone(), property.value.clone()));
        }
        let usual = Settings::default();
        Ok(Settings {
            properties,
            timeout: self.kafka.kafka_timeout.unwrap_or(usual.timeout),
            lost: self.lost.unwrap_or_default(),
        })
    }

    /// The kind: one that grows where filters should be rebuilt, and cannot be.
    fn kinds_of(&self, named: &ByRole<Option<Named>>, tell: &mut dyn FnMut(&Note)) -> Kinds {
        let once = named[Role::Train].as_ref().is_some_and(|named| !matches!(named, Named::Files(_)));
        let fixed = self.kinds.chosen()
            || self.params.is_some()
            || self.from.is_some()
            || self.windows.window.is_some();
        if self.rebuild_above.is_none() || !once || fixed {
            return self.kinds;
        }
        tell(&Note::GrowsInstead);
        Kinds { kind: Some(Kind::Scalable), ..self.kinds }
    }

    /// How long a batch gathers records. Rows that arrive have the time of their batch, which therefore
    /// waits for nothing; and so does one of streams that may pause, if it has no number of records.
    fn every(&self, named: &ByRole<Option<Named>>, window: Option<&Window>) -> Option<Duration> {
        let by_arrival = window.filter(|window| window.time().is_none());
        let pauses = named.values().flatten().any(|named| self.follow || named.is_live());
        self.every
            .or(by_arrival.map(|window| window.slide().min(EVERY)))
            .or((pauses && self.batch.is_none()).then_some(EVERY))
    }

    /// Counts beside filters: they have the weights and the update, which filters do not.
    fn counts(&self, named: &ByRole<Option<Named>>, common: &Common) -> Result<Option<Counts>> {
        let Some(output) = &self.counts else { return Ok(None) };
        if named[Role::Query].is_none() {
            return Err(Refusal::NothingAsked(opt::COUNTS).into());
        }
        let kind = if self.kinds.conservative { Kind::CountMinConservative } else { Kind::CountMin };
        let recipe = Recipe { weight: self.keys.weight.clone(), ..common.recipe.clone() };
        let sizing = Sizing::Counters(self.counting.counters(None)?);
        let output = Target::of(output)?;
        if common.hash.by_bytes().is_some() {
            return Err(Refusal::HashOfCounts(common.hash).into());
        }
        Ok(Some(Counts { common: Common { kind, hash: common.hash, recipe }, sizing, output }))
    }

    /// The streams, each with its own columns, beside this recipe.
    fn inputs(&self, named: &ByRole<Option<Named>>, recipe: &Recipe) -> Result<ByRole<Option<Input>>> {
        let unweighted = Recipe { weight: None, ..recipe.clone() };
        let ungrouped = Recipe { group: None, ..unweighted.clone() };
        let remove = replace_columns(&unweighted, &self.remove_key, None)?;
        let query = replace_columns(&ungrouped, &self.query_key, None)?;
        let mut train = recipe.clone();
        if let (Some(weight), Some(_)) = (&self.keys.weight, &self.counts) {
            train.weight = Some(weight.clone());
        }
        let of_lines = |recipe: &Recipe| recipe.key.iter().all(|field| field.column == Column::Line);
        let (query_is_lines, declared) = (of_lines(&query) && !of_lines(&train), self.reading.options());
        Ok(ByRole::of(|role| {
            let (recipe, options) = match role {
                Role::Train => (&train, declared.clone()),
                // What is said of a table does not hold for lines that ask about it.
                Role::Query if query_is_lines => {
                    (&query, Options { format: Some(Format::Lines), ..Options::default() })
                }
                Role::Query => (&query, declared.clone()),
                Role::Remove => (&remove, declared.clone()),
            };
            named[role].clone().map(|named| Input { named, recipe: recipe.clone(), options })
        }))
    }
}
