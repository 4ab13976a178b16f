//! What is asked of a plan: for a table, or for numbers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tamis::key::Recipe;
use tamis::params::{Common, Name, Params};
use tamis::sizing::Kind;

use super::sketch::{Kinds, refuse_mixed, sketches};
use super::{Counting, Keys, NoMore, Reading, Refusal, Sizes};
use tamis_make::build::Job;
use tamis_make::design::Wishes;
use tamis_make::opt;
use tamis_make::plan::{Size, parameters};

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
    /// Bits in all.
    pub bits: Option<u64>,
    /// The size of sketches that count.
    #[serde(flatten)]
    pub counting: Counting,
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
        let mut of_filters = self.sizes.given();
        of_filters.extend(self.bits.map(|_| opt::BITS));
        refuse_mixed(kind, of_filters, self.counting.given())?;
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

    fn of_table(&self) -> Result<Job, Refusal> {
        if self.sizes.keys.is_some() {
            return Err(Refusal::KeysOfTable);
        }
        let common = self.kinds.common(self.key.recipe()?)?;
        let sizes = match self.bits {
            Some(_) if !self.sizes.given().is_empty() => {
                return Err(Refusal::SeveralSizes([self.sizes.given(), vec![opt::BITS]].concat()));
            }
            Some(bits) => Sizes { size: Some(bits / 8), ..Sizes::default() },
            None => self.sizes,
        };
        let sketches = sketches(&common, self.kinds.layers, (&sizes, &self.counting), None, false)?;
        Ok(Job {
            inputs: self.inputs.clone(),
            options: self.reading.options(),
            recipe: common.recipe,
            sketches,
            bad_rows: self.reading.bad_rows()?,
            threads: self.reading.threads()?,
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
        let sizes = match self.bits {
            Some(bits) => Sizes { size: Some(self.sizes.size.unwrap_or(bits / 8)), ..self.sizes },
            None => self.sizes,
        };
        if sizes.fpr.is_none() && sizes.bits_per_key.is_none() && sizes.size.is_none() {
            return Err(Refusal::SeveralSizes(vec![opt::FPR, opt::BITS_PER_KEY, opt::BITS, opt::SIZE]));
        }
        if sizes.keys.is_none() || self.kinds.layers.is_none() {
            return Err(Refusal::LayeredPlan);
        }
        let mut recipe = self.ungrouped()?;
        if !recipe.of_keywords() && self.output.is_none() {
            recipe.key = vec![":whole".parse()?]; // rates do not depend on how keywords are made
        }
        let common = self.kinds.common(recipe)?;
        let sketches = sketches(&common, self.kinds.layers, (&sizes, &self.counting), None, false)?;
        let job = Job {
            inputs: Vec::new(),
            options: self.reading.options(),
            recipe: common.recipe,
            sketches,
            bad_rows: self.reading.bad_rows()?,
            threads: 1,
            about: Default::default(),
        };
        job.parameters_without_rows()?.ok_or(Refusal::LayeredPlan)
    }

    fn of_numbers(&self) -> Result<Plan, Refusal> {
        let bits = self.bits.or(self.sizes.size.map(|bytes| bytes.saturating_mul(8)));
        let common = self.kinds.common(self.key.recipe()?)?;
        let Sizes { fpr, bits_per_key, .. } = self.sizes;
        let keys = self.sizes.keys()?;
        let only = self.kinds.chosen().then_some((common.kind, common.hash));
        let wishes = Wishes { keys, fpr, bits, bits_per_key, only };
        let save = if self.output.is_some() { Some(self.saved(common, wishes)?) } else { None };
        Ok(Plan::Numbers { wishes, save })
    }

    /// The parameters of a number of keys.
    fn saved(&self, common: Common, wishes: Wishes) -> Result<Params, Refusal> {
        wishes.check()?;
        let keys = wishes.keys.ok_or(Refusal::KeysUnknown)?;
        self.ungrouped()?;
        let size = match (wishes.fpr, wishes.bits_per_key, wishes.bits) {
            (Some(fpr), ..) => Size::Fpr(fpr),
            (_, Some(each), _) => Size::BitsPerKey(each),
            (.., bits) => Size::Total(bits.unwrap_or(0) / 8),
        };
        Ok(parameters(common, vec![(Name::default(), keys)], size, 0)?)
    }

    /// The recipe, where there is no table to find groups in.
    fn ungrouped(&self) -> Result<Recipe, Refusal> {
        match self.key.group {
            Some(_) => Err(Refusal::GroupsWithoutTable),
            None => self.key.recipe(),
        }
    }
}
