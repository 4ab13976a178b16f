//! What is asked of a build.

use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize};
use tamis::about::About;
use tamis::params::Params;
use tamis_read::refusal::Opt;

use super::sizes::chosen;
use super::sketch::{Kinds, sketches};
use super::{ByHand, Counting, Keys, NoMore, Reading, Refusal, Sizes, json, memory};
use tamis_make::build::{Given, Job, Sketches, refuse_exact};
use tamis_make::{count, opt, spread};

/// What is asked of a build.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BuildJob {
    /// Files, globs, folders, `-`.
    pub inputs: Vec<String>,
    /// How they are read.
    #[serde(flatten)]
    pub reading: Reading,
    /// How keys are made.
    #[serde(flatten)]
    pub keys: Keys,
    /// The kind.
    #[serde(flatten)]
    pub kinds: Kinds,
    /// The size of filters.
    #[serde(flatten)]
    pub sizes: Sizes,
    /// Their numbers, chosen by hand.
    #[serde(flatten)]
    pub by_hand: ByHand,
    /// The size of sketches that count.
    #[serde(flatten)]
    pub counting: Counting,
    /// The share from which on keys are kept beside sketches that count.
    pub heavy: Option<f64>,
    /// Whether equal keys of a group go into a `counting` once.
    pub distinct: bool,
    /// Whether the keys themselves are kept beside the filters.
    pub exact: bool,
    /// Memory for counting, and for collecting the keys.
    #[serde(with = "json::in_bytes")]
    pub memory: Option<u64>,
    /// Parameters that were saved, or those of another file.
    #[serde(deserialize_with = "parameters")]
    pub params: Option<Params>,
    /// What somebody wrote about the file.
    pub note: Option<String>,
    /// Where its rows came from, as somebody wrote it.
    pub source: Option<String>,
    /// The file to write.
    pub output: Option<PathBuf>,
    /// What no field took.
    #[serde(flatten)]
    pub no_more: NoMore,
}

/// Parameters, or their JSON as a text.
fn parameters<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Params>, D::Error> {
    let text = match Option::<serde_json::Value>::deserialize(deserializer)? {
        None | Some(serde_json::Value::Null) => return Ok(None),
        Some(serde_json::Value::String(text)) => text,
        Some(value) => value.to_string(),
    };
    Params::from_json(&text).map(Some).map_err(serde::de::Error::custom)
}

/// A build that was asked for, and can be made.
#[derive(Debug, Clone)]
pub struct Build {
    /// What is built.
    pub job: Job,
    /// Whether the keys themselves are kept beside the filters.
    pub exact: bool,
}

/// Refuses options that given parameters fix.
pub fn refuse_fixed(
    kinds: &Kinds,
    keys: &Keys,
    (sizes, by_hand, counting): (&Sizes, &ByHand, &Counting),
) -> Result<(), Refusal> {
    let null = chosen(&[
        (keys.null.is_some(), opt::NULL),
        (keys.record.is_some(), opt::RECORD),
        (keys.each_keyword, opt::EACH_KEYWORD),
    ]);
    let given = [kinds.given(), null, sizes.given(), by_hand.given(), counting.given()].concat();
    if given.is_empty() { Ok(()) } else { Err(Refusal::Fixed(given)) }
}

impl BuildJob {
    /// The job that follows from it.
    pub fn resolve(&self) -> Result<Build, Refusal> {
        let sizes = (&self.sizes, &self.by_hand, &self.counting);
        let (recipe, sketches) = match &self.params {
            Some(params) => {
                refuse_fixed(&self.kinds, &self.keys, sizes)?;
                let recipe = self.keys.applied(&params.common.recipe)?;
                (recipe, Sketches::Given(Given::new(params.clone(), self.distinct, self.heavy)?))
            }
            None => {
                let common = self.kinds.common(self.keys.recipe()?)?;
                let sketches = sketches(&common, self.kinds.layers, sizes, self.heavy, self.distinct)?;
                (common.recipe, sketches)
            }
        };
        refuse_exact(self.exact, sketches.kind())?;
        let about = self.about();
        if !about.fits() {
            return Err(Refusal::LongNote);
        }
        let job = Job {
            inputs: self.inputs.clone(),
            options: self.reading.options(),
            recipe,
            sketches,
            bad_rows: self.reading.bad_rows()?,
            threads: self.reading.threads()?,
            memory: memory(self.memory, count::MEMORY)?,
            about,
        };
        Ok(Build { job, exact: self.exact })
    }

    /// What is recorded about the file.
    pub fn about(&self) -> About {
        // What is empty says nothing, and needs no part of the file.
        let said = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let (note, source) = (said(&self.note), said(&self.source));
        About { note, source, dialect: self.reading.declared(), ..About::default() }
    }

    /// Refuses what works on one machine only, with other options that were given and do, too.
    pub fn refuse_spread(&self, others: &[(bool, Opt)]) -> Result<(), Refusal> {
        let own = [
            (self.exact, opt::EXACT),
            (self.keys.record.is_some(), opt::RECORD),
            (self.memory.is_some(), opt::MEMORY),
            (self.heavy.is_some(), opt::HEAVY),
            (self.distinct, opt::DISTINCT),
        ];
        let given = [chosen(&own), chosen(others)].concat();
        if !given.is_empty() {
            return Err(spread::Refusal::OneMachine(given).into());
        }
        self.reading.refuse_spread()
    }

    /// Refuses a number of keys for a table, whose keys are counted.
    pub fn refuse_keys(&self) -> Result<(), Refusal> {
        if self.sizes.keys.is_some() { Err(Refusal::KeysOfTable) } else { Ok(()) }
    }

    /// The parameters of sketches without a table.
    pub fn without_table(&self) -> Result<Params, Refusal> {
        if self.keys.group.is_some() {
            return Err(Refusal::GroupsWithoutTable);
        }
        self.resolve()?.job.parameters_without_rows()?.ok_or(Refusal::KeysUnknown)
    }
}
