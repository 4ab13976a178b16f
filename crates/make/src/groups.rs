//! Groups that come and go: a file gets sketches for new groups, or loses some that it has.

use std::collections::HashSet;
use std::path::Path;

use tamis::countmin::Heavy;
use tamis::format::{Extras, Tally};
use tamis::memory::Words;
use tamis::params::{GroupParams, Name, Params};
use tamis::sizing::Kind;
use tamis_read::error::{Error, Result};
use tamis_read::refusal::{self, Help};
use tamis_read::{Control, Sources};

use crate::arena::Placing;
use crate::changing::Changing;
use crate::count::{self, Afterwards, KeyRules, Means};
use crate::distinct::EXACT;
use crate::exact::{self, Gathered};
use crate::files::{self, Mapped};
use crate::plan::{self, Size};
use crate::text::listed_names;
use crate::{opt, parallel};

/// Why groups are not found, added or dropped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A group is not there.
    #[error("has no group {name:?}; it has {}", listed_names(there, *more))]
    NoGroup {
        /// Its name.
        name: Name,
        /// The names of some groups that are there: those that end like it, or else the first.
        there: Vec<Name>,
        /// How many others there are.
        more: usize,
    },
    /// There are no groups, of which one could be dropped.
    #[error("has no groups")]
    NoGroups,
    /// Nothing would be left.
    #[error("these are all of its groups, and a file holds at least one")]
    All,
    /// New groups have no size.
    #[error("its groups have different rates, so a new group has none")]
    NoCommonRate,
}

/// Names that a message lists.
const LISTED: usize = 20;

/// The place of a group of this name; or that it is not there, and which are.
pub fn find(params: &Params, name: &Name) -> Result<usize, Refusal> {
    params.find(&name.0).ok_or_else(|| no_group(params, name))
}

fn no_group(params: &Params, name: &Name) -> Refusal {
    let last = |name: &Name| name.0.rsplit(|&byte| byte == b'/').next().map(<[u8]>::to_vec);
    let names = || params.groups.iter().map(|group| &group.group);
    let mut there: Vec<Name> = names().filter(|other| last(other) == last(name)).cloned().collect();
    if there.is_empty() {
        there = names().cloned().collect();
    }
    there.sort_by(|a, b| a.compare_naturally(b));
    there.truncate(LISTED);
    Refusal::NoGroup { name: name.clone(), more: params.groups.len() - there.len(), there }
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        match self {
            Refusal::NoGroup { .. } => Vec::new(),
            Refusal::NoGroups => vec![Help::Do("delete the file"), Help::build_with(opt::GROUP)],
            Refusal::All => vec![Help::Do("delete the file")],
            Refusal::NoCommonRate => vec![
                Help::Do("build the new groups with their own parameters, and merge the files"),
                Help::build_with(opt::FPR),
            ],
        }
    }
}

/// Parameters with those of new groups.
pub(crate) struct New {
    pub params: Params,
    /// The names of the new groups.
    pub names: Vec<Name>,
    /// Whether their keys were estimated, not counted.
    pub estimated: bool,
}

/// The parameters of a file with those of groups that rows have and the file lacks: planned for the keys
/// of these rows, at the rate of the others.
pub(crate) fn with_new(
    params: &Params,
    sources: &Sources,
    rules: KeyRules<'_>,
    threads: usize,
    control: &Control,
) -> Result<New> {
    let rules = KeyRules { count_keywords: params.common.kind == Kind::Layered, ..rules };
    let means = Means { limit: EXACT, memory: count::MEMORY, threads, afterwards: Afterwards::No };
    let mut counted = count::distinct_keys(sources, rules, means, control)?;
    let is_new = |(name, _): &(Name, u64)| params.find(&name.0).is_none();
    let new: Vec<(Name, u64)> = counted.planned().into_iter().filter(is_new).collect();
    let names: Vec<Name> = new.iter().map(|(name, _)| name.clone()).collect();
    if new.is_empty() {
        return Ok(New { params: params.clone(), names, estimated: false });
    }
    let first = params.groups.first().ok_or(Refusal::NoCommonRate)?;
    let fresh: Vec<GroupParams> = match params.common.kind.counts() {
        true => names.iter().map(|name| GroupParams { group: name.clone(), ..first.clone() }).collect(),
        false => {
            if params.groups.iter().any(|group| group.fpr() != first.fpr()) {
                return Err(Refusal::NoCommonRate.into());
            }
            let layers = first.shape.layers();
            plan::parameters(params.common.clone(), new, Size::Fpr(first.fpr()), layers)?.groups
        }
    };
    let groups = params.groups.iter().cloned().chain(fresh).collect();
    let params = Params::new(params.common.clone(), groups)?;
    Ok(New { params, names, estimated: counted.estimating() })
}

/// What a file holds, laid out for other groups: those that both have keep what they hold.
pub(crate) struct Moved {
    pub words: Words,
    pub tallies: Vec<Tally>,
    pub heavy: Option<Heavy>,
}

/// Lays out what a file holds for these parameters.
pub(crate) fn moved(file: &Mapped, params: &Params) -> Result<Moved> {
    let placing = Placing::new(params);
    let mut words = placing.empty()?;
    let (starts, _) = params.layout();
    let mut tallies = Vec::with_capacity(params.groups.len());
    let mut heavy = file.heavy().map(|heavy| Heavy { share: heavy.share, groups: Vec::new() });
    for (group, start) in params.groups.iter().zip(starts) {
        let at = file.params().find(&group.group.0);
        tallies.push(at.map_or_else(Tally::default, |at| file.tallies()[at]));
        if let Some(at) = at {
            let section = file.section(at);
            words[start..start + section.len()].copy_from_slice(section);
        }
        if let (Some(heavy), Some(old)) = (&mut heavy, file.heavy()) {
            heavy.groups.push(at.map_or_else(Vec::new, |at| old.groups[at].clone()));
        }
    }
    Ok(Moved { words, tallies, heavy })
}

/// What is left of a file.
#[derive(Debug)]
pub struct Left {
    /// Its parameters.
    pub params: Params,
    /// What each sketch says of itself.
    pub tallies: Vec<Tally>,
    /// The (key, group) pairs that are kept beside it, where they are.
    pub exact: Option<u64>,
}

/// Drops groups from a file, which is replaced whole.
pub fn drop_groups(path: &Path, names: &[Name], threads: usize, control: &Control) -> Result<Left> {
    files::check(path)?;
    let changing = Changing::begin(path)?;
    let file = files::open_as_is(path)?;
    let old = file.params().clone();
    if old.common.recipe.group.is_none() {
        return Err(Error::input(path, Refusal::NoGroups));
    }
    for name in names {
        find(&old, name).map_err(|refusal| Error::input(path, refusal))?;
    }
    let dropped: HashSet<&Name> = names.iter().collect();
    let stays = |group: &&GroupParams| !dropped.contains(&group.group);
    let groups: Vec<GroupParams> = old.groups.iter().filter(stays).cloned().collect();
    if groups.is_empty() {
        return Err(Error::input(path, Refusal::All));
    }
    let params = Params::new(old.common.clone(), groups)?;
    // Damage would come out under a checksum that matches.
    parallel::each(threads, params.groups.len(), |group| {
        control.check()?;
        let at = old.find(&params.groups[group].group.0).expect("it stays");
        file.verify(at).map_err(Error::file(path))
    })?;
    let Moved { words, tallies, heavy } = moved(&file, &params)?;
    let (about, store) = (file.about().clone(), exact::beside(path, &file)?);
    drop(file);
    let (rows, beside): (Vec<_>, Vec<_>) = tallies.iter().map(|tally| (tally.rows, tally.beside)).unzip();
    let extras = Extras { heavy: heavy.as_ref(), about: Some(&about), journal: b"" };
    let (mut draft, tallies) =
        files::draft_container(path, &params, (&rows, &beside), &words, extras, threads)?;
    let mut kept = None;
    if let Some(store) = &store {
        let none = Gathered::none(exact::MEMORY);
        kept = Some(exact::write(path, draft.digest()?, &params, none, &[(store, &old)], control)?);
    }
    let (keys, exact) = kept.unzip();
    changing.still()?;
    files::finish_all(keys.into_iter().chain([draft]))?;
    Ok(Left { params, tallies, exact })
}
