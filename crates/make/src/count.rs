//! The first phase: how many distinct keys each group has.

use tamis::hash::Scheme;
use tamis::key::{Recipe, keywords_of};
use tamis::params::Name;
use tamis_read::error::Result;
use tamis_read::{Control, Sources};

use crate::aside::Aside;
use crate::build::OfHashes;
use crate::distinct::Hll;
use crate::numbering::Numbering;
use crate::pairs::{Book, Grouped, Log, Pairs, Seen};
use crate::plan;
use crate::rows::{Groups, Ignore, Key, KeyRows, OnBad, Take};

/// Memory to use where the user did not say.
pub const MEMORY: u64 = 200_000_000;

/// What the first phase found.
#[derive(Debug)]
pub struct Counted {
    /// The groups, sorted by name, and the keys of each to plan for.
    pub(crate) groups: Vec<(Name, u64)>,
    /// The rows of each.
    pub(crate) rows: Vec<u64>,
    /// Whether keys were estimated.
    pub(crate) estimated: bool,
    /// All keys, where none was given up; those that are estimated may be there more than once.
    pub(crate) pairs: Option<Pairs>,
    /// Of records their keywords, too.
    pub(crate) keywords: Option<Keywords>,
    /// Rows left out.
    pub skipped: u64,
}

impl Counted {
    /// The groups and the keys to plan for, which are given away: there may be millions. A layer for keywords
    /// holds at most all different ones, and the XOR layer all different records: whichever are more.
    pub(crate) fn planned(&mut self) -> Vec<(Name, u64)> {
        let mut groups = std::mem::take(&mut self.groups);
        if let Some(keywords) = &self.keywords {
            groups.iter_mut().zip(&keywords.keys).for_each(|((_, keys), words)| *keys = (*keys).max(*words));
        }
        groups
    }

    /// The same, unless there are more keys than the rows can have. An estimate that is a little above the rows
    /// stays: parameters depend on the set of keys alone, not on how often each of them is repeated.
    ///
    /// Keywords are not counted by group: those of all groups together are compared with all that were read.
    pub(crate) fn believed(self) -> Result<Counted> {
        let refused = |group: &Name, keys: u64, of: u64| -> Result<Counted> {
            Err(plan::Refusal::ChosenKeys { group: group.clone(), keys, of }.into())
        };
        if self.estimated {
            for ((group, keys), rows) in self.groups.iter().zip(&self.rows) {
                if !Hll::is_plausible(*keys, *rows) {
                    return refused(group, *keys, *rows);
                }
            }
        }
        if let Some(Keywords { keys, estimated: true, total }) = &self.keywords {
            let all = keys.iter().fold(0, |sum: u64, keys| sum.saturating_add(*keys));
            if !Hll::is_plausible(all, *total) {
                return refused(&Name::default(), all, *total);
            }
        }
        Ok(self)
    }

    /// The same, where sketches of this kind can be made of its keys.
    pub(crate) fn that_makes(self, kind: Option<OfHashes>) -> Option<Counted> {
        let can = match kind {
            Some(OfHashes::Bits(_)) => true, // keys may come again: a bit that is set stays so
            Some(OfHashes::Counting) => !self.estimated,
            None => false,
        };
        Some(self).filter(|counted| can && counted.pairs.is_some())
    }

    /// Whether some number was estimated.
    pub fn estimating(&self) -> bool {
        self.estimated || self.keywords.as_ref().is_some_and(|keywords| keywords.estimated)
    }

    /// The keywords and the records, repetitions included.
    pub fn keywords_and_records(&self) -> Option<(u64, u64)> {
        // Parts of a spread job may tell any numbers.
        let records = self.rows.iter().fold(0, |sum: u64, rows| sum.saturating_add(*rows));
        self.keywords.as_ref().map(|keywords| (keywords.total, records))
    }

    /// Whether these are records, and none has more than one keyword.
    pub fn lone_keywords(&self) -> bool {
        self.keywords_and_records().is_some_and(|(keywords, records)| keywords == records && records > 0)
    }
}

/// The keywords of records.
#[derive(Debug)]
pub(crate) struct Keywords {
    /// Different ones to plan for, in the order of the groups.
    pub keys: Vec<u64>,
    /// Whether these are estimates.
    pub estimated: bool,
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
}

/// How much is counted, and in which means.
#[derive(Debug, Clone, Copy)]
pub struct Means {
    /// Up to this many keys in all are counted exactly.
    pub limit: usize,
    /// Memory.
    pub memory: u64,
    /// Threads.
    pub threads: usize,
    /// Whether those that are estimated are wanted afterwards.
    pub afterwards: Afterwards,
}

/// Whether keys that are estimated are wanted after they were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Afterwards {
    /// They can be given up.
    No,
    /// Where the disk has room: to make them of the rows once more is dear.
    IfThereIsRoom,
    /// Surely: the rows do not come again.
    Yes,
}

/// Sees the keys of one thread.
struct See<'b> {
    keys: Log<'b>,
    keywords: Option<(Log<'b>, u64)>,
    hash: Scheme,
}

impl Take for See<'_> {
    #[inline]
    fn take(&mut self, key: Key<'_>) {
        self.keys.see(key.group, key.hash);
        if let Some((keywords, total)) = &mut self.keywords {
            for word in keywords_of(key.bytes) {
                keywords.see(key.group, self.hash.identity(word));
                *total += 1;
            }
        }
    }

    #[inline]
    fn take_hashes(&mut self, group: u32, hashes: &[u64]) {
        self.keys.see_all(group, hashes); // without bytes, there are no keywords
    }

    fn reads_bytes(&self) -> bool {
        self.keywords.is_some()
    }
}

/// Counts the distinct keys of each group.
pub fn distinct_keys(
    sources: &Sources,
    rules: KeyRules<'_>,
    means: Means,
    control: &Control,
) -> Result<Counted> {
    let Means { limit, memory, threads, afterwards } = means;
    let grouped = Grouped::of(rules.recipe);
    let book = |memory| Book::new(grouped, limit, memory, threads, control);
    let (book, of_keywords) = match rules.count_keywords {
        true => (book(memory / 2), Some(book(memory / 2))),
        false => (book(memory).and_afterwards(afterwards), None),
    };
    let numbering = Numbering::default();
    let sink = |_| {
        let keywords = of_keywords.as_ref().map(|book| (book.log(), 0));
        rules.rows(Groups::Numbered(&numbering), See { keys: book.log(), keywords, hash: rules.hash })
    };
    let mut sinks = book.given(sources.scan((0..threads).map(sink).collect(), control));
    if let Some(book) = &of_keywords {
        sinks = book.given(sinks);
    }
    let (mut rows, mut skipped, mut total) = (Vec::new(), 0, 0);
    let (mut logs, mut keyword_logs) = (Vec::new(), Vec::new());
    for sink in sinks? {
        skipped += sink.skipped;
        add(&mut rows, sink.rows);
        logs.push(sink.take.keys);
        if let Some((log, words)) = sink.take.keywords {
            total += words;
            keyword_logs.push(log);
        }
    }
    let Seen { keys, estimated, pairs } = book.close(logs, rows.len(), Some(&rows))?;
    let keywords = match &of_keywords {
        Some(book) => Some(book.close(keyword_logs, rows.len(), None)?),
        None => None,
    };
    let order = in_order(grouped, numbering, &rows);
    let mut places = vec![0; rows.len()];
    order.iter().enumerate().for_each(|(place, (_, number))| places[*number as usize] = place as u32);
    let keywords = keywords.map(|seen| Keywords {
        keys: order.iter().map(|(_, number)| seen.keys[*number as usize]).collect(),
        estimated: seen.estimated,
        total,
    });
    let rows = order.iter().map(|(_, number)| rows[*number as usize]).collect();
    let groups = order.into_iter().map(|(name, number)| (name, keys[number as usize])).collect();
    let pairs = pairs.map(|pairs| pairs.renumbered(places));
    Counted { groups, rows, estimated, pairs, keywords, skipped }.believed()
}

/// Finds the names of the groups.
pub fn group_names(
    sources: &Sources,
    rules: KeyRules<'_>,
    threads: usize,
    control: &Control,
) -> Result<Vec<Name>> {
    let numbering = Numbering::default();
    let sinks = (0..threads).map(|_| rules.rows(Groups::Numbered(&numbering), Ignore)).collect();
    let mut rows = Vec::new();
    for sink in sources.scan_dyn(sinks, control)? {
        add(&mut rows, sink.rows);
    }
    let grouped = Grouped::of(rules.recipe);
    Ok(in_order(grouped, numbering, &rows).into_iter().map(|(name, _)| name).collect())
}

/// The names of groups that have rows, sorted, with their numbers. A group may be named by a row whose key
/// then turns out to be none.
fn in_order(grouped: Grouped, numbering: Numbering, rows: &[u64]) -> Vec<(Name, u32)> {
    let has_rows = |number: u32| rows.get(number as usize).is_some_and(|rows| *rows > 0);
    match grouped {
        Grouped::Yes => numbering.sorted(has_rows),
        Grouped::No => Some((Name::default(), 0)).filter(|_| has_rows(0)).into_iter().collect(),
    }
}

/// Adds the rows of one thread, by group.
fn add(all: &mut Vec<u64>, rows: Vec<u64>) {
    if all.len() < rows.len() {
        let less = std::mem::replace(all, rows);
        return add(all, less);
    }
    all.iter_mut().zip(rows).for_each(|(all, rows)| *all += rows);
}
