//! What is asked of a dedup.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tamis::about::About;
use tamis::hash::Single;
use tamis::key::{Field, Recipe};
use tamis_read::Format;
use tamis_read::error::{Error, Result};
use tamis_read::parquet::Codec;
use tamis_read::remote;

use super::{Hashing, NoMore, Reading, Refusal, at_least, destination, json, reading, replace_columns, time};
use crate::dedup::{self, Job, Kept, Remember, Room, StateRefusal};
use tamis_make::destination::Destination;
use tamis_make::exact;
use tamis_make::files::{self, Mapped};
use tamis_make::place;

/// How often a state is written, where nothing is said.
const COMMIT_EVERY: Duration = Duration::from_secs(10);

/// What is asked of a dedup.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DedupJob {
    /// Files, globs, folders, `-`.
    pub inputs: Vec<String>,
    /// How they are read.
    #[serde(flatten)]
    pub reading: Reading,
    /// The columns of the key; without any, the line is the key.
    #[serde(with = "json::several")]
    pub key: Vec<Field>,
    /// What stands for a missing value.
    pub null: Option<String>,
    /// The highest probability that a first occurrence is dropped.
    pub fpr: Option<f64>,
    /// The hash, where it is not to be one of its own.
    #[serde(flatten)]
    pub hashing: Hashing,
    /// Bytes of a filter that does not grow.
    #[serde(with = "json::in_bytes")]
    pub size: Option<u64>,
    /// Whether each repetition is checked against the keys themselves.
    pub strict: bool,
    /// The memory for it.
    #[serde(with = "json::in_bytes")]
    pub memory: Option<u64>,
    /// What is remembered between runs.
    pub state: Option<PathBuf>,
    /// How often it is written during a run.
    #[serde(with = "time::optional")]
    pub commit_every: Option<Duration>,
    /// Whether records are only counted.
    pub count: bool,
    /// The file for first occurrences; `-` and nothing are standard output.
    pub output: Option<PathBuf>,
    /// Where repetitions go.
    pub rejected: Option<PathBuf>,
    /// How records are written, where the name of the output does not say it.
    #[serde(with = "reading::format")]
    pub output_format: Option<Format>,
    /// How pages of Parquet are compressed.
    #[serde(with = "reading::codec")]
    pub compression: Option<Codec>,
    /// What no field took.
    #[serde(flatten)]
    pub no_more: NoMore,
}

impl DedupJob {
    /// Where first occurrences go.
    pub fn destination(&self) -> Destination {
        destination(self.output.as_deref(), self.count)
    }

    /// The state, if there is one already.
    pub fn stored(&self) -> Result<Option<Mapped>> {
        match self.state.as_deref() {
            Some(state) if place::look(state).map_err(Error::io(state))?.is_some() => {
                files::open(state).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The job that follows from it, beside a state with this recipe.
    pub fn resolve(&self, stored: Option<&Recipe>) -> Result<Job> {
        self.refuse_state_of_others()?;
        Ok(Job {
            recipe: self.recipe(stored)?,
            inputs: self.inputs.clone(),
            options: self.reading.options(),
            about: About { dialect: self.reading.declared(), ..About::default() },
            hash: self.hash(stored.is_some())?,
            fpr: self.fpr,
            remember: self.remember()?,
            output: self.destination(),
            rejected: self.rejected.clone(),
            format: self.output_format,
            codec: self.compression,
            bad_rows: self.reading.bad_rows()?,
            threads: self.reading.threads()?,
        })
    }

    /// A state is about files of this machine.
    fn refuse_state_of_others(&self) -> Result<()> {
        let Some(state) = &self.state else { return Ok(()) };
        let inputs = self.inputs.iter().map(Path::new);
        let outputs = [Some(state), self.output.as_ref(), self.rejected.as_ref()];
        let named = inputs.chain(outputs.into_iter().flatten().map(PathBuf::as_path));
        match named.into_iter().find(|path| remote::is_remote(path)) {
            Some(path) => Err(Error::input(path, StateRefusal::Elsewhere)),
            None => Ok(()),
        }
    }

    /// The hash, as far as it was chosen. A key alone is one for the state.
    fn hash(&self, has_state: bool) -> Result<Option<Single>, Refusal> {
        let alone = self.hashing.hash.is_none() && self.hashing.seed.is_none();
        if has_state && alone { Ok(None) } else { self.hashing.single() }
    }

    /// The stored recipe with these columns, or one of these columns alone.
    fn recipe(&self, stored: Option<&Recipe>) -> Result<Recipe, Refusal> {
        let Some(stored) = stored else {
            let lines = Recipe::lines();
            let key = if self.key.is_empty() { lines.key.clone() } else { self.key.clone() };
            return Ok(Recipe { key, null: self.null.clone(), ..lines });
        };
        if self.null.is_some() && self.null != stored.null {
            return Err(Refusal::StoredNull);
        }
        replace_columns(stored, &self.key, None)
    }

    fn remember(&self) -> Result<Remember> {
        match (self.strict, &self.state, self.size) {
            (true, Some(_), _) => Err(dedup::Refusal::StrictState.into()),
            (true, None, Some(_)) => Err(dedup::Refusal::StrictSize.into()),
            (true, None, None) => {
                let memory = at_least(dedup::LEAST_MEMORY, self.memory, exact::MEMORY)?;
                Ok(Remember::Keys { memory })
            }
            (false, state, size) => {
                let commit_every = self.commit_every.unwrap_or(COMMIT_EVERY);
                let state = state.as_ref().map(|path| Kept { path: path.clone(), commit_every });
                Ok(Remember::Filter { room: size.map_or(Room::Any, Room::Bytes), state })
            }
        }
    }
}
