//! What is asked of a plan: for a table, or for numbers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tamis::key::Recipe;
use tamis::params::{Common, GroupParams, Name, Params};
use tamis::sizing::Kind;

use super::sizes::chosen;
use super::sketch::{Kinds, refuse_mixed, sketches};
use super::{ByHand, Counting, Keys, NoMore, Reading, Refusal, Sizes, json, memory};
use tamis_make::build::Job;
use tamis_make::count;
use tamis_make::design::{Room, Wishes, design};
use tamis_make::{opt, spread};

/// The sections of a file begin at multiples of this.
const LINE_BYTES: u64 = 64;

/// What is asked of a plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanJob {
    /// A table whose keys are counted; without one, numbers are planned.
    pub inputs: Vec<String>,
    /// How it is read.
    #[serde(flatten)]
    pub reading: Reading,
    /// How keys are made.
    #[serde(flatten)]
    pub key: Keys,
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
    /// Memory for counting.
    #[serde(with = "json::in_bytes")]
    pub memory: Option<u64>,
    /// Where a chart is drawn.
    pub chart: Option<PathBuf>,
    /// Where the parameters are saved.
    pub output: Option<PathBuf>,
    /// What no field took.
    #[serde(flatten)]
    pub no_more: NoMore,
}

/// A plan that was asked for, and can be made.
#[derive(Debug, Clone)]
pub enum Plan {
    /// For a table.
    Table(Box<Job>),
    /// Parameters that follow from numbers alone: of counters, and of layered filters.
    Parameters(Params),
    /// What kinds make of numbers, and the parameters to save.
    Numbers {
        /// The numbers.
        wishes: Wishes,
        /// The parameters of one of the kinds, where they are saved.
        save: Option<Params>,
    },
}

impl PlanJob {
    /// The plan that follows from it.
    pub fn resolve(&self) -> Result<Plan, Refusal> {
        let kind = self.kinds.kind.unwrap_or(Kind::Blocked);
        refuse_mixed(kind, [self.sizes.given(), self.by_hand.given()].concat(), self.counting.given())?;
        let (counts, table) = (kind.counts(), !self.inputs.is_empty());
        if self.chart.is_some() && counts {
            return Err(Refusal::ChartOfCounters);
        }
        if self.chart.is_some() && (table || kind == Kind::Layered) {
            return Err(Refusal::Chart);
        }
        if table {
            return self.of_table().map(|job| Plan::Table(Box::new(job)));
        }
        match kind {
            Kind::Layered => self.of_layers().map(Plan::Parameters),
            _ if counts => self.of_counters().map(Plan::Parameters),
            _ => self.of_numbers(),
        }
    }

    /// Refuses what a plan on many machines cannot do.
    pub fn refuse_spread(&self) -> Result<(), Refusal> {
        let here = chosen(&[(self.key.record.is_some(), opt::RECORD), (self.memory.is_some(), opt::MEMORY)]);
        if !here.is_empty() {
            return Err(spread::Refusal::OneMachine(here).into());
        }
        self.reading.refuse_spread()
    }

    fn of_table(&self) -> Result<Job, Refusal> {
        if self.sizes.keys.is_some() {
            return Err(Refusal::KeysOfTable);
        }
        let common = self.kinds.common(self.key.recipe()?)?;
        let sizes = (&self.sizes, &self.by_hand, &self.counting);
        let sketches = sketches(&common, self.kinds.layers, sizes, None, false)?;
        Ok(Job {
            inputs: self.inputs.clone(),
            options: self.reading.options(),
            recipe: common.recipe,
            sketches,
            bad_rows: self.reading.bad_rows()?,
            threads: self.reading.threads()?,
            memory: memory(self.memory, count::MEMORY)?,
            about: Default::default(),
        })
    }

    /// Counters do not depend on the data: only the names of groups do.
    fn of_counters(&self) -> Result<Params, Refusal> {
        let counters = self.counting.counters(None)?;
        let common = self.kinds.common(self.ungrouped()?)?;
        Ok(counters.parameters(common, vec![Name::default()])?)
    }

    /// Layered filters are planned on their own: they hold records, not keys.
    fn of_layers(&self) -> Result<Params, Refusal> {
        let Sizes { fpr, bits_per_key, size, keys } = self.sizes;
        let ByHand { bits, bits_per_group, .. } = self.by_hand;
        let no_rate = fpr.is_none() && bits_per_key.is_none();
        if no_rate && size.is_none() && bits.is_none() && bits_per_group.is_none() {
            return Err(Refusal::SeveralSizes(vec![opt::FPR, opt::BITS_PER_KEY, opt::BITS, opt::SIZE]));
        }
        if keys.is_none() || self.kinds.layers.is_none() {
            return Err(Refusal::LayeredPlan);
        }
        let mut recipe = self.ungrouped()?;
        if !recipe.of_keywords() && self.output.is_none() {
            recipe.key = vec![":whole".parse()?]; // rates do not depend on how keywords are made
        }
        let common = self.kinds.common(recipe)?;
        let sizes = (&self.sizes, &self.by_hand, &self.counting);
        let sketches = sketches(&common, self.kinds.layers, sizes, None, false)?;
        let job = Job {
            inputs: Vec::new(),
            options: self.reading.options(),
            recipe: common.recipe,
            sketches,
            bad_rows: self.reading.bad_rows()?,
            threads: 1,
            memory: memory(self.memory, count::MEMORY)?,
            about: Default::default(),
        };
        job.parameters_without_rows()?.ok_or(Refusal::LayeredPlan)
    }

    fn of_numbers(&self) -> Result<Plan, Refusal> {
        let common = self.kinds.common(self.key.recipe()?)?;
        let Sizes { fpr, bits_per_key, .. } = self.sizes;
        let keys = self.sizes.keys()?;
        let only = self.kinds.chosen().then_some((common.kind, common.hash));
        let (bits, hashes) = (self.room(only.is_some())?, self.by_hand.hashes);
        let wishes = Wishes { keys, fpr, bits, bits_per_key, hashes, only };
        let save = if self.output.is_some() { Some(self.saved(common, wishes)?) } else { None };
        Ok(Plan::Numbers { wishes, save })
    }

    /// The bits of a filter: a kind that was chosen has them all, or says that it cannot.
    fn room(&self, chosen: bool) -> Result<Option<Room>, Refusal> {
        let ByHand { bits, bits_per_group, .. } = self.by_hand;
        match (bits.or(bits_per_group), self.sizes.size) {
            (Some(_), Some(_)) => {
                let by_hand = if bits.is_some() { opt::BITS } else { opt::BITS_PER_GROUP };
                Err(Refusal::SeveralSizes(vec![opt::SIZE, by_hand]))
            }
            _ if bits.is_some() && bits_per_group.is_some() => {
                Err(Refusal::SeveralSizes(vec![opt::BITS, opt::BITS_PER_GROUP]))
            }
            (Some(bits), None) if chosen => Ok(Some(Room::Exactly(bits))),
            (Some(bits), None) => Ok(Some(Room::AtMost(bits))),
            // A filter takes whole lines of a file; where it is asked how many keys fit, nothing is made.
            (None, Some(bytes)) if self.sizes.keys.is_some() => {
                Ok(Some(Room::AtMost((bytes / LINE_BYTES * LINE_BYTES).saturating_mul(8))))
            }
            (None, bytes) => Ok(bytes.map(|bytes| Room::AtMost(bytes.saturating_mul(8)))),
        }
    }

    /// The parameters of a number of keys: those that are shown, of one of the kinds.
    fn saved(&self, common: Common, wishes: Wishes) -> Result<Params, Refusal> {
        wishes.check()?;
        let keys = wishes.keys.ok_or(Refusal::KeysUnknown)?;
        self.ungrouped()?;
        let one = design(Wishes { only: Some((common.kind, common.hash)), ..wishes })?;
        let shape = one.options[0].shape; // a design without any is refused
        let fpr = wishes.fpr.unwrap_or_else(|| shape.sizing_rate(keys).clamp(f64::MIN_POSITIVE, 1.0));
        Ok(Params::new(common, vec![GroupParams::filter(Name::default(), keys, fpr, shape)])?)
    }

    /// The recipe, where there is no table to find groups in.
    fn ungrouped(&self) -> Result<Recipe, Refusal> {
        match self.key.group {
            Some(_) => Err(Refusal::GroupsWithoutTable),
            None => self.key.recipe(),
        }
    }
}
