//! What is asked of a filter that is filled later, key by key.

use tamis::params::{GroupParams, Name, Params};
use tamis::scalable;
use tamis::sizing::Kind;
use tamis_make::opt;
use tamis_make::plan::Size;
use tamis_read::error::Result;
use tamis_read::refusal::{self, Help};

use super::{BuildJob, Refusal};

/// Another size than a rate, of a filter that grows.
#[derive(Debug, thiserror::Error)]
#[error("a scalable filter grows, and keeps a rate: it has no other size")]
struct GrowsByRate;

impl refusal::Refusal for GrowsByRate {
    fn help(&self) -> Vec<Help> {
        vec![Help::give(opt::FPR)]
    }
}

/// Keys for which a filter that grows begins, where nothing is said.
const FIRST_KEYS: u64 = 1 << 16;

impl BuildJob {
    /// The parameters of an empty set: those that were given, or those for a number of keys; a kind that grows needs
    /// neither.
    pub fn living(&self) -> Result<Params> {
        match (&self.params, self.kinds.kind) {
            (Some(params), _) => {
                self.resolve()?;
                Ok(params.clone())
            }
            (None, Some(Kind::Scalable)) => self.growing(),
            _ => Ok(self.without_table()?),
        }
    }

    fn growing(&self) -> Result<Params> {
        if self.keys.group.is_some() {
            return Err(Refusal::GroupsWithoutTable.into());
        }
        let common = self.kinds.common(self.keys.recipe()?)?;
        let Size::Fpr(fpr) = self.sizes.size()? else {
            return Err(GrowsByRate.into());
        };
        if !self.by_hand.given().is_empty() || !self.counting.given().is_empty() {
            return Err(GrowsByRate.into());
        }
        let keys = self.sizes.keys()?.unwrap_or(FIRST_KEYS);
        let shape = scalable::shape(keys, fpr, 1)?;
        let group = GroupParams::filter(Name::default(), keys, fpr, shape);
        Ok(Params::new(common, vec![group])?)
    }
}
