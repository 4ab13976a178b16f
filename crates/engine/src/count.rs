//! The first phase: how many distinct keys each group has.

use std::collections::HashMap;

use tamis::hash::Scheme;
use tamis::key::Recipe;
use tamis::params::Name;

use crate::Control;
use crate::distinct::{Counts, Distinct};
use crate::error::Result;
use crate::rows::{BadRows, Groups, Ignore, Key, KeyRows, Names, Take};
use crate::source::Sources;

/// What the first phase found.
#[derive(Debug)]
pub struct Counted {
    /// The groups, sorted by name, with the rows of each.
    pub groups: Vec<(Name, u64)>,
    /// Their distinct keys, in the same order.
    pub counts: Counts,
    /// Rows left out.
    pub skipped: u64,
}

impl Counted {
    /// The groups and the keys to plan for.
    pub fn planned(&self) -> Vec<(Name, u64)> {
        let keys = self.counts.groups().iter().map(Distinct::planned);
        self.groups.iter().zip(keys).map(|((name, _), keys)| (name.clone(), keys)).collect()
    }
}

/// How keys are made and hashed, and what happens to rows that have none.
#[derive(Debug, Clone, Copy)]
pub struct Making<'a> {
    /// The recipe.
    pub recipe: &'a Recipe,
    /// The hash.
    pub hash: Scheme,
    /// Rows without a key.
    pub bad_rows: BadRows,
}

impl<'a> Making<'a> {
    /// A sink for one thread.
    pub fn rows<T: Take>(self, groups: Groups<'a>, take: T) -> KeyRows<'a, T> {
        KeyRows::new(self.recipe, self.hash, self.bad_rows, groups, take)
    }

    /// The same, for groups that are numbered as they appear.
    fn discovering<T: Take>(self, take: T) -> KeyRows<'a, T> {
        self.rows(Groups::Discover(Names::default()), take)
    }
}

struct See(Counts);

impl Take for See {
    #[inline]
    fn take(&mut self, key: Key<'_>) {
        self.0.see(key.group, key.hash);
    }
}

/// Counts the distinct keys of each group: exactly up to `limit` in all.
pub fn distinct_keys(
    sources: &Sources,
    making: Making<'_>,
    limit: usize,
    threads: usize,
    control: &Control,
) -> Result<Counted> {
    let sinks = (0..threads).map(|_| making.discovering(See(Counts::new(limit)))).collect();
    let sinks = sources.scan(sinks, control)?;
    let skipped = sinks.iter().map(|sink| sink.skipped).sum();
    let (groups, parts) = join_names(sinks);
    let parts = parts.into_iter().map(|(see, places)| (see.0, places)).collect();
    let counts = Counts::join(threads, parts, groups.len())?;
    Ok(Counted { groups, counts, skipped })
}

/// Finds the names of the groups.
pub fn group_names(
    sources: &Sources,
    making: Making<'_>,
    threads: usize,
    control: &Control,
) -> Result<Vec<Name>> {
    let sinks = (0..threads).map(|_| making.discovering(Ignore)).collect();
    let (groups, _) = join_names(sources.scan(sinks, control)?);
    Ok(groups.into_iter().map(|(name, _)| name).collect())
}

/// The names and rows of all groups, sorted, and for each thread the place of its groups there.
#[expect(clippy::type_complexity)]
fn join_names<T: Take>(sinks: Vec<KeyRows<'_, T>>) -> (Vec<(Name, u64)>, Vec<(T, Vec<usize>)>) {
    let mut all: HashMap<Name, u64> = HashMap::new();
    let mut parts = Vec::new();
    for sink in sinks {
        let (mut names, rows, take) = sink.into_names();
        // A group may be named by a row whose key then turns out to be none.
        names.truncate(rows.len());
        for (name, rows) in names.iter().zip(rows) {
            *all.entry(name.clone()).or_default() += rows;
        }
        parts.push((take, names));
    }
    let mut groups: Vec<(Name, u64)> = all.into_iter().filter(|(_, rows)| *rows > 0).collect();
    groups.sort();
    let place = |name: &Name| groups.binary_search_by(|(known, _)| known.cmp(name)).unwrap_or(0);
    let parts = parts.into_iter().map(|(take, names)| (take, names.iter().map(place).collect())).collect();
    (groups, parts)
}
