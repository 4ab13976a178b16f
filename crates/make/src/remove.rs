//! Keys taken out of filters again.
//!
//! All keys are read first, and then removed in the order of their hashes: which of them are found
//! missing, and the bytes of the result, depend on the rows alone. The file is replaced whole, or not
//! at all.

use std::path::Path;
use std::time::{Duration, Instant};

use tamis::counting::Counting;
use tamis::format::{Beside, Extras, Tally};
use tamis::key::Recipe;
use tamis::params::Params;
use tamis::sizing::Kind;
use tamis_read::error::{Error, Result};
use tamis_read::refusal::{self, Help};
use tamis_read::{Control, Explained, Sources};

use crate::arena::{self, Placing};
use crate::aside::{self, Aside};
use crate::changing::Changing;
use crate::count::KeyRules;
use crate::hashes::{self, Wanted};
use crate::rows::BadRows;
use crate::{files, number, opt, parallel};

/// What to do with keys that are surely not in the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// Change nothing at all, and say how many there are.
    #[default]
    Fail,
    /// Leave them out, and count them.
    Skip,
}

impl Missing {
    /// All of them.
    pub const ALL: [Missing; 2] = [Missing::Fail, Missing::Skip];

    /// Its name in requests.
    pub fn name(self) -> &'static str {
        match self {
            Missing::Fail => "fail",
            Missing::Skip => "skip",
        }
    }
}

/// Rows whose keys are to be removed.
#[derive(Debug, Clone)]
pub struct Removal {
    /// Files, globs, folders, `-`.
    pub inputs: Vec<String>,
    /// How to read them.
    pub options: tamis_read::Options,
    /// The recipe, with the columns of these inputs.
    pub recipe: Recipe,
    /// Rows without a key.
    pub bad_rows: BadRows,
    /// Keys that are not there.
    pub missing: Missing,
    /// Of equal keys of a group one only.
    pub distinct: bool,
    /// Threads.
    pub threads: usize,
}

/// What was removed.
#[derive(Debug)]
pub struct Report {
    /// The parameters.
    pub params: Params,
    /// What each filter says of itself.
    pub tallies: Vec<Tally>,
    /// Keys removed, by group.
    pub removed: Vec<u64>,
    /// Keys that are not in the filter of their group, by group.
    pub missing: Vec<u64>,
    /// Rows of groups that the file does not have: they are missing, too.
    pub strangers: u64,
    /// Rows left out.
    pub skipped: u64,
    /// How the inputs were understood.
    pub inputs: Vec<Explained>,
    /// How long it took.
    pub time: Duration,
}

impl Report {
    /// Keys that were removed from all groups.
    pub fn removed(&self) -> u64 {
        self.removed.iter().sum()
    }

    /// Keys that could not be, because they are not there.
    pub fn missing(&self) -> u64 {
        self.missing.iter().sum::<u64>() + self.strangers
    }
}

/// Why nothing is removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A kind that cannot forget.
    #[error("nothing can be removed from a {kind} {}: {}", sketch(*kind), why(*kind))]
    Kind {
        /// The kind.
        kind: Kind,
    },
    /// Keys that are not there.
    #[error(
        "{} of {} to be removed are not in it, so nothing was changed: they were removed before, or added less \
         often",
        number::count(*missing),
        number::counted(*all, "key")
    )]
    Missing {
        /// Keys that are not there.
        missing: u64,
        /// All keys that were to be removed.
        all: u64,
    },
}

impl refusal::Refusal for Refusal {
    fn help(&self) -> Vec<Help> {
        match self {
            Refusal::Kind { .. } => vec![
                Help::build_with(opt::KIND.with("counting")),
                Help::DoWith(
                    "keep the removed keys in filters of their own, for query, filter and test",
                    vec![opt::REMOVED.with("FILE")],
                ),
            ],
            Refusal::Missing { .. } => vec![
                Help::DoWith("remove the others", vec![opt::MISSING.with("skip")]),
                Help::DoWith("list the missing ones by filter", vec![opt::INVERT.into()]),
            ],
        }
    }
}

fn sketch(kind: Kind) -> &'static str {
    if kind.counts() { "sketch" } else { "filter" }
}

fn why(kind: Kind) -> &'static str {
    match kind {
        Kind::Fuse => "a fuse filter is static",
        Kind::Ribbon => "a ribbon filter is static",
        kind if kind.counts() => "estimates of counts would fall below the truth",
        _ => "keys share bits, and a bit does not tell how many keys need it",
    }
}

/// Refuses kinds that cannot forget a key.
pub fn refuse(path: &Path, kind: Kind) -> Result<()> {
    if kind == Kind::Counting {
        return Ok(());
    }
    Err(Error::input(path, Refusal::Kind { kind }))
}

/// Removes the keys of rows from a file of filters, which is replaced whole.
pub fn remove(path: &Path, removal: &Removal, control: &Control) -> Result<Report> {
    let start = Instant::now();
    files::check(path)?;
    let changing = Changing::begin(path)?;
    let container = files::open(path)?;
    let params = container.params().clone();
    refuse(path, params.common.kind)?;
    // Damage would come out under a checksum that matches.
    parallel::each(removal.threads, params.groups.len(), |group| {
        container.verify(group).map_err(Error::file(path))
    })?;
    let sources = Sources::open(&removal.inputs, &removal.options, &removal.recipe.columns())?;
    let inputs = sources.explain();
    files::check_is_no_input(path, inputs.iter().map(|input| &input.path))?;
    let aside = Aside::open(&removal.bad_rows, [Some(path)], inputs.iter().map(|input| &input.path))?;
    let rules = KeyRules {
        recipe: &removal.recipe,
        hash: params.common.hash,
        on_bad: (&removal.bad_rows).into(),
        aside: aside.as_ref(),
        count_keywords: false,
    };
    let wanted = Wanted { distinct: removal.distinct, known_groups: false };
    let hashes = hashes::by_group(&sources, rules, &params, wanted, removal.threads, control)?;

    let mut words = Placing::new(&params).empty()?;
    words.copy_from_slice(container.data());
    let before = container.tallies().to_vec();
    let about = container.about().clone();
    drop(container);
    let sections = arena::sections(&params, &mut words);
    let removed = parallel::each(removal.threads, sections.len(), |group| {
        control.check()?;
        let mut section = sections[group].lock().expect("no holder panics");
        let mut filter = Counting::from_words(&mut **section, params.groups[group].shape.hashes())?;
        Ok(filter.remove_hashes(&hashes.groups[group]))
    })?;
    drop(sections);
    let missing: Vec<u64> =
        hashes.groups.iter().zip(&removed).map(|(all, removed)| all.len() as u64 - removed).collect();
    let mut report = Report {
        tallies: Vec::new(),
        removed,
        missing,
        strangers: hashes.strangers,
        skipped: hashes.skipped,
        inputs,
        time: Duration::ZERO,
        params,
    };
    if removal.missing == Missing::Fail && report.missing() > 0 {
        let (missing, all) = (report.missing(), report.missing() + report.removed());
        return Err(Error::input(path, Refusal::Missing { missing, all }));
    }
    // Full counters let more be removed than was added; what is noted is never more than that.
    let rows: Vec<u64> = before.iter().map(|tally| tally.rows).collect();
    let gone =
        before.iter().zip(&report.removed).map(|(tally, removed)| tally.removed().saturating_add(*removed));
    let beside: Vec<Beside> =
        gone.zip(&rows).map(|(gone, rows)| Beside::RemovedRows(gone.min(*rows))).collect();
    let extras = Extras { about: Some(&about), ..Extras::default() };
    let (draft, tallies) =
        files::draft_container(path, &report.params, (&rows, &beside), &words, extras, removal.threads)?;
    let aside = aside::end(aside)?;
    changing.still()?;
    files::finish_all(aside.into_iter().chain([draft]))?;
    report.tallies = tallies;
    report.time = start.elapsed();
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_keys_are_counted_as_all_numbers_are() {
        let said = Refusal::Missing { missing: 99_437, all: 100_000 }.to_string();
        assert!(said.starts_with("99,437 of 100,000 keys to be removed"), "{said}");
    }
}
