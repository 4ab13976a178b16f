//! Rebuilds filters that hold more keys than planned: larger, from the exact keys beside them.

use std::path::Path;

use tamis::about::About;
use tamis::format::Extras;
use tamis::params::{GroupParams, Params};
use tamis::sizing::Kind;
use tamis_read::Control;
use tamis_read::error::{Error, Result};
use tamis_read::refusal::{self, Help};

use crate::arena::{Placing, Private};
use crate::changing::Changing;
use crate::exact::{self, Gathered, Store};
use crate::files::{self, Mapped};
use crate::health::{Health, health};
use crate::opt;
use crate::plan::{self, Size};
use crate::rows::Take;

/// What was rebuilt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rebuilt {
    /// Groups that are larger now.
    pub groups: u64,
    /// The highest expected rate before.
    pub before: f64,
    /// The same now.
    pub after: f64,
}

/// Why filters cannot be built again from their keys.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// Their size is not fixed, or they are static.
    #[error(
        "only filters of a fixed size (blocked, bloom) are built again when they are too full: these are {kind}"
    )]
    Kind {
        /// Their kind.
        kind: Kind,
    },
    /// They would be rebuilt by every job.
    #[error(
        "its target rate is {target}, and the limit of {above} is below it, so that every job would build it again"
    )]
    BelowTarget {
        /// The rate that they are made for.
        target: f64,
        /// The rate above which they would be rebuilt.
        above: f64,
    },
    /// The keys themselves are not there.
    #[error("its keys are not beside it, and without them it cannot be built again")]
    NoKeys,
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        let without = Help::leave_out(opt::REBUILD_ABOVE);
        match self {
            Refusal::Kind { .. } => vec![without],
            Refusal::BelowTarget { .. } => vec![Help::give_more(opt::REBUILD_ABOVE)],
            Refusal::NoKeys => vec![Help::build_with(opt::EXACT), without],
        }
    }
}

/// Refuses what cannot be rebuilt, before anything is done.
pub fn check(path: &Path, above: f64) -> Result<()> {
    let file = files::open(path)?;
    let params = file.params();
    if !matches!(params.common.kind, Kind::Blocked | Kind::Bloom) {
        return Err(Error::input(path, Refusal::Kind { kind: params.common.kind }));
    }
    if let Some(target) = params.groups.iter().map(GroupParams::fpr).find(|target| *target > above) {
        return Err(Error::input(path, Refusal::BelowTarget { target, above }));
    }
    if exact::beside(path, &file)?.is_none() {
        return Err(Error::input(path, Refusal::NoKeys));
    }
    Ok(())
}

/// Makes the filters of a file larger whose expected rate is over this one, so that they have room
/// for twice their keys; nothing if there are none. The file, and that of its keys, is replaced
/// whole.
pub fn from_keys(path: &Path, above: f64, threads: usize, control: &Control) -> Result<Option<Rebuilt>> {
    let changing = Changing::begin(path)?;
    let file = files::open(path)?;
    let old = file.params().clone();
    let states = healths(&file);
    let over = |state: &Health| state.rate > above;
    if !states.iter().any(over) {
        return Ok(None);
    }
    let store = Store::open(path, &file)?;
    let mut keys = vec![0u64; old.groups.len()];
    exact::each(&store, control, |key| keys[key.group as usize] += 1)?;
    let groups = old.groups.iter().zip(&states).zip(&keys).map(|((group, state), keys)| match over(state) {
        false => Ok(group.clone()),
        true => larger(&old, group, keys.saturating_mul(2).max(group.keys())),
    });
    // The names are the same, and so is their order.
    let params = Params::new(old.common.clone(), groups.collect::<Result<_>>()?)?;
    let placing = Placing::new(&params);
    let mut filters = Private::new(&placing)?;
    exact::each(&store, control, |key| filters.take(key))?;
    let arena = filters.finish();
    let (rows, beside): (Vec<_>, Vec<_>) =
        file.tallies().iter().map(|tally| (tally.rows, tally.beside)).unzip();
    // The new filters are planned for more keys than there are.
    let about = About { counted: None, ..file.about().clone() };
    drop(file);
    let extras = Extras { about: Some(&about), ..Extras::default() };
    let (mut draft, _) = files::draft_container(path, &params, (&rows, &beside), &arena, extras, threads)?;
    drop(arena);
    let none = Gathered::none(exact::MEMORY);
    let (kept, _) = exact::write(path, draft.digest()?, &params, none, &[(&store, &old)], control)?;
    drop(store);
    changing.still()?;
    files::finish_all([kept, draft])?;
    let highest = |states: &[Health]| states.iter().map(|state| state.rate).fold(0.0, f64::max);
    let after = highest(&healths(&files::open(path)?));
    let groups = states.iter().filter(|state| over(state)).count() as u64;
    Ok(Some(Rebuilt { groups, before: highest(&states), after }))
}

fn healths(file: &Mapped) -> Vec<Health> {
    let params = file.params();
    let groups = params.groups.iter().zip(file.tallies());
    groups.map(|(group, tally)| health(params.common.kind, group, tally)).collect()
}

/// A group with its rate, for more keys.
fn larger(params: &Params, group: &GroupParams, keys: u64) -> Result<GroupParams> {
    let counts = vec![(group.group.clone(), keys)];
    let mut planned = plan::parameters(params.common.clone(), counts, Size::Fpr(group.fpr()), 0)?;
    Ok(planned.groups.remove(0))
}
