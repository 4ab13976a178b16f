//! The first phase: how many distinct keys each group has.

use std::collections::HashMap;

use tamis::hash::Scheme;
use tamis::key::{Recipe, keywords_of};
use tamis::params::Name;
use tamis_read::error::Result;
use tamis_read::{Control, Sources};

use crate::aside::Aside;
use crate::distinct::{Counts, Distinct};
use crate::rows::{Groups, Ignore, Key, KeyRows, Names, OnBad, Take};

/// What the first phase found.
#[derive(Debug)]
pub struct Counted {
    /// The groups, sorted by name, with the rows of each.
    pub groups: Vec<(Name, u64)>,
    /// Their distinct keys, in the same order.
    pub counts: Counts,
    /// Of records their keywords, too.
    pub keywords: Option<Keywords>,
    /// Rows left out.
    pub skipped: u64,
}

impl Counted {
    /// The groups and the keys to plan for. A layer for keywords holds at most all different ones,
    /// and the XOR layer all different records: whichever are more.
    pub fn planned(&self) -> Vec<(Name, u64)> {
        let keywords = self.keywords.as_ref().map(|keywords| keywords.counts.groups());
        let keys = self.counts.groups().iter().enumerate().map(|(group, records)| {
            let keywords = keywords.and_then(|groups| groups.get(group)).map_or(0, Distinct::planned);
            records.planned().max(keywords)
        });
        self.groups.iter().zip(keys).map(|((name, _), keys)| (name.clone(), keys)).collect()
    }

    /// Whether some number was estimated.
    pub fn estimating(&self) -> bool {
        self.counts.estimating()
            || self.keywords.as_ref().is_some_and(|keywords| keywords.counts.estimating())
    }

    /// The keywords and the records, repetitions included.
    pub fn keywords_and_records(&self) -> Option<(u64, u64)> {
        // Parts of a spread job may tell any numbers.
        let records = self.groups.iter().fold(0, |sum: u64, (_, rows)| sum.saturating_add(*rows));
        self.keywords.as_ref().map(|keywords| (keywords.total, records))
    }

    /// Whether these are records, and none has more than one keyword.
    pub fn lone_keywords(&self) -> bool {
        self.keywords_and_records().is_some_and(|(keywords, records)| keywords == records && records > 0)
    }
}

/// The keywords of records.
#[derive(Debug)]
pub struct Keywords {
    /// Different ones, in the order of the groups.
    pub counts: Counts,
    /// All of them, over all rows.
    pub total: u64,
}

/// How keys are made and hashed, and what happens to rows that have none.
#[derive(Debug, Clone, Copy)]
pub struct KeyRules<'a> {
    /// The recipe.
    pub recipe: &'a Recipe,
    /// The hash.
    pub hash: Scheme,
    /// Rows without a key.
    pub on_bad: OnBad,
    /// Where those go that are set aside.
    pub aside: Option<&'a Aside>,
    /// Whether keys are records whose keywords are counted as well.
    pub count_keywords: bool,
}

impl<'a> KeyRules<'a> {
    /// A sink for one thread.
    pub fn rows<T: Take>(self, groups: Groups<'a>, take: T) -> KeyRows<'a, T> {
        KeyRows::new(self.recipe, self.hash, self.on_bad, groups, take).with_aside(self.aside)
    }

    /// The same for a second pass over rows that were read: what was set aside is left out.
    pub(crate) fn again(self) -> KeyRules<'a> {
        KeyRules { on_bad: self.on_bad.again(), aside: None, ..self }
    }

    /// The same, for groups that are numbered as they appear.
    fn discovering<T: Take>(self, take: T) -> KeyRows<'a, T> {
        self.rows(Groups::Discover(Names::default()), take)
    }
}

/// Sees the keys of one thread.
pub(crate) struct See {
    pub counts: Counts,
    hash: Scheme,
    pub keywords: Option<Keywords>,
}

impl See {
    /// Counts exactly up to `limit` keys in all.
    pub fn new(rules: &KeyRules<'_>, limit: usize) -> See {
        See {
            counts: Counts::new(limit),
            hash: rules.hash,
            keywords: rules.count_keywords.then(|| Keywords { counts: Counts::new(limit), total: 0 }),
        }
    }
}

impl Take for See {
    #[inline]
    fn take(&mut self, key: Key<'_>) {
        self.counts.see(key.group, key.hash);
        if let Some(keywords) = &mut self.keywords {
            for word in keywords_of(key.bytes) {
                keywords.counts.see(key.group, self.hash.identity(word));
                keywords.total += 1;
            }
        }
    }

    fn reads_bytes(&self) -> bool {
        self.keywords.is_some()
    }
}

/// Counts the distinct keys of each group: exactly up to `limit` in all.
pub fn distinct_keys(
    sources: &Sources,
    rules: KeyRules<'_>,
    limit: usize,
    threads: usize,
    control: &Control,
) -> Result<Counted> {
    let sinks = (0..threads).map(|_| rules.discovering(See::new(&rules, limit))).collect();
    let sinks = sources.scan(sinks, control)?;
    let skipped = sinks.iter().map(|sink| sink.skipped).sum();
    let (groups, parts) = join_names(sinks);
    let (mut total, mut of_keys, mut of_keywords) = (0, Vec::new(), Vec::new());
    for (see, places) in parts {
        if let Some(keywords) = see.keywords {
            total += keywords.total;
            of_keywords.push((keywords.counts, places.clone()));
        }
        of_keys.push((see.counts, places));
    }
    let counts = Counts::join(threads, of_keys, groups.len())?;
    let keywords = match rules.count_keywords {
        true => Some(Keywords { counts: Counts::join(threads, of_keywords, groups.len())?, total }),
        false => None,
    };
    Ok(Counted { groups, counts, keywords, skipped })
}

/// Finds the names of the groups.
pub fn group_names(
    sources: &Sources,
    rules: KeyRules<'_>,
    threads: usize,
    control: &Control,
) -> Result<Vec<Name>> {
    let sinks = (0..threads).map(|_| rules.discovering(Ignore)).collect();
    let (groups, _) = join_names(sources.scan_dyn(sinks, control)?);
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
