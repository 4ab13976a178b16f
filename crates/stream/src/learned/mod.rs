//! What the training stream has taught so far: filters or counters in memory, one sketch per group,
//! of a fixed size or growing. `take` has what records do to them, `groups` how groups are found as
//! they occur, `fill` how full they are.

mod fill;
mod groups;
mod take;

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use tamis::about::{About, Classes};
use tamis::format::Extras;
use tamis::hash::Scheme;
use tamis::memory::Words;
use tamis::params::{Common, Goal, GroupParams, Name, Params};
use tamis::scalable::{self, Scalable};
use tamis::sizing::Kind;
use tamis::sketch::{Beside, Sketch};
use tamis_jobs::ask::Filters;
use tamis_make::arena::Placing;
use tamis_make::batch::Needs;
use tamis_make::files::{self, Mapped};
use tamis_make::merge::classes_of;
use tamis_make::plan::{self, Counters, Size};
use tamis_read::error::{Error, Result};

pub use self::fill::Fill;

/// How large filters are made.
#[derive(Debug, Clone, PartialEq)]
pub enum Sizing {
    /// As these parameters have it; groups that they lack are bad rows.
    Params(Params),
    /// For this many keys in each group; groups are found as they occur.
    Keys(u64, Size),
    /// Sketches that count, with this many counters each; groups are found as they occur.
    Counters(Counters),
    /// They grow, beginning with this many keys; groups are found as they occur.
    Growing(u64, f64),
}

impl Sizing {
    /// The same for this many keys in each group, where it is for a number of keys.
    pub(super) fn for_keys(&self, keys: u64) -> Sizing {
        match self {
            Sizing::Keys(_, size) => Sizing::Keys(keys, *size),
            other => other.clone(),
        }
    }
}

/// A sketch with the name of its group.
type NamedSketch<'a> = (&'a Name, Sketch<&'a [u64]>);

/// In place of a group that has not come yet.
const NOWHERE: usize = usize::MAX;

/// Sketches that learn.
#[derive(Debug)]
pub(super) struct Learned {
    common: Common,
    sizing: Sizing,
    kept: Kept,
    /// Rows added to each group, in the order of what is kept.
    rows: Vec<u64>,
    /// What those of a fixed size keep beside their words. (What grows knows its own.)
    beside: Vec<Beside>,
    /// Where the groups are kept that the source has numbered.
    numbered: Vec<usize>,
    /// Where those are that grow.
    places: HashMap<Name, usize>,
    fresh: Vec<bool>,
    /// The classes of values that its keys were made from.
    classes: Classes,
}

#[derive(Debug)]
enum Kept {
    /// In one area, as in a file; sorted by name.
    Fixed { params: Box<Params>, words: Words },
    /// Each by itself, in the order in which they came.
    Growing(Vec<(Name, Scalable<Words>)>),
}

impl Learned {
    /// Nothing yet.
    pub(super) fn new(common: &Common, sizing: &Sizing) -> Result<Learned> {
        let grouped = common.recipe.group.is_some();
        let kept = match sizing {
            Sizing::Params(params) => Kept::fixed(params.clone())?,
            Sizing::Keys(keys, size) if !grouped => {
                let counts = vec![(Name::default(), *keys)];
                Kept::fixed(plan::parameters(common.clone(), counts, *size, 0)?)?
            }
            Sizing::Counters(counters) if !grouped => {
                Kept::fixed(counters.parameters(common.clone(), vec![Name::default()])?)?
            }
            Sizing::Keys(..) | Sizing::Counters(_) => Kept::fixed(Params::new(common.clone(), Vec::new())?)?,
            Sizing::Growing(keys, fpr) if !grouped => {
                Kept::Growing(vec![(Name::default(), Scalable::new(*keys, *fpr)?)])
            }
            Sizing::Growing(keys, fpr) => {
                Scalable::new(*keys, *fpr)?; // to refuse what is impossible before it is needed
                Kept::Growing(Vec::new())
            }
        };
        Ok(Learned::with(common, sizing, kept, Vec::new(), Vec::new()))
    }

    /// What a file holds.
    pub(super) fn load(common: &Common, sizing: &Sizing, file: &Mapped, path: &Path) -> Result<Learned> {
        let params = file.params();
        for group in 0..params.groups.len() {
            file.verify(group).map_err(Error::file(path))?;
        }
        let kept = if params.common.kind == Kind::Scalable {
            let mut filters = Vec::new();
            for (group, sketch) in params.groups.iter().zip(file.sketches()?) {
                if let Sketch::Scalable(filter) = sketch {
                    filters.push((group.group.clone(), filter.to_owned()?));
                }
            }
            Kept::Growing(filters)
        } else {
            let mut words = Placing::new(params).empty()?;
            words.copy_from_slice(file.data());
            Kept::Fixed { params: Box::new(params.clone()), words }
        };
        let rows = file.tallies().iter().map(|tally| tally.rows).collect();
        let beside = file.tallies().iter().map(|tally| tally.beside).collect();
        let classes = classes_of(file.about(), file.tallies());
        Ok(Learned { classes, ..Learned::with(common, sizing, kept, rows, beside) })
    }

    /// Hears that keys are made from values of these classes, too.
    pub(super) fn see(&mut self, classes: Classes) {
        self.classes = self.classes.and(classes);
    }

    /// The classes of values that its keys are made from.
    pub(super) fn classes(&self) -> Classes {
        self.classes
    }

    fn with(
        common: &Common,
        sizing: &Sizing,
        kept: Kept,
        mut rows: Vec<u64>,
        mut beside: Vec<Beside>,
    ) -> Learned {
        rows.resize(kept.names().count(), 0);
        beside.resize(rows.len(), Beside::empty(common.kind));
        let known = knows_groups(common, sizing);
        let numbered = if known { (0..rows.len()).collect() } else { Vec::new() };
        let places = kept.names().cloned().zip(0..).collect();
        let (common, sizing) = (common.clone(), sizing.clone());
        Learned {
            common,
            sizing,
            kept,
            rows,
            beside,
            numbered,
            places,
            fresh: Vec::new(),
            classes: Classes::NONE,
        }
    }

    /// The same with nothing in it.
    pub(super) fn empty(&self) -> Result<Learned> {
        Ok(Learned { classes: self.classes, ..Learned::new(&self.common, &self.sizing)? })
    }

    /// Rows that were added, over all groups.
    pub(super) fn all_rows(&self) -> u64 {
        self.rows.iter().sum()
    }

    /// The keys for which each group is planned, where they are planned for all alike.
    pub(super) fn planned_keys(&self) -> Option<u64> {
        match self.sizing {
            Sizing::Keys(keys, _) => Some(keys),
            _ => None,
        }
    }

    /// Whether its groups are planned for this many keys; as long as there are none, they are as many as were
    /// asked for.
    pub(super) fn is_planned_for(&self, keys: u64, asked: &Sizing) -> bool {
        let planned = |group: &GroupParams| match group.goal {
            Goal::Rate { keys: planned, .. } => planned == keys,
            Goal::Error { .. } => true,
        };
        match (&self.kept, asked) {
            (Kept::Fixed { params, .. }, Sizing::Keys(asked, _)) if params.groups.is_empty() => {
                keys == *asked
            }
            (Kept::Fixed { params, .. }, _) => params.groups.iter().all(planned),
            (Kept::Growing(_), _) => true,
        }
    }

    /// Nothing yet, in filters for this many keys.
    pub(super) fn for_keys(&self, keys: u64) -> Result<Learned> {
        Ok(Learned { classes: self.classes, ..Learned::new(&self.common, &self.sizing.for_keys(keys))? })
    }

    /// Layers of filters that grow.
    pub(super) fn layers(&self) -> u64 {
        match &self.kept {
            Kept::Growing(filters) => filters.iter().map(|(_, filter)| filter.layers().count() as u64).sum(),
            Kept::Fixed { .. } => 0,
        }
    }

    /// How many bytes it takes; of groups that are found as they come, each one.
    pub(super) fn bytes(&self) -> Result<u64> {
        Ok(match (&self.kept, &self.sizing) {
            (Kept::Fixed { params, .. }, sizing) if params.groups.is_empty() => {
                let one = vec![Name::default()];
                let params = match sizing {
                    Sizing::Keys(keys, size) => {
                        plan::parameters(self.common.clone(), vec![(Name::default(), *keys)], *size, 0)?
                    }
                    Sizing::Counters(counters) => counters.parameters(self.common.clone(), one)?,
                    _ => return Ok(0),
                };
                params.layout().1 as u64 * 8
            }
            (Kept::Fixed { words, .. }, _) => words.len() as u64 * 8,
            (Kept::Growing(filters), _) => {
                filters.iter().map(|(_, filter)| filter.words().len() as u64 * 8).sum()
            }
        })
    }

    /// Whether these sketches count.
    pub(super) fn counts(&self) -> bool {
        self.common.kind.counts()
    }

    /// What its files are called.
    pub(super) fn name(&self) -> &'static str {
        if self.counts() { "counts" } else { "filter" }
    }

    /// The filters, with the names of their groups, in the order for people.
    fn sketches(&self) -> Result<Vec<NamedSketch<'_>>> {
        let mut sketches = Vec::new();
        match &self.kept {
            Kept::Fixed { params, words } => {
                for ((group, section), beside) in params.groups.iter().zip(sections(params)).zip(&self.beside)
                {
                    let sketch = Sketch::from_words(
                        (params.common.kind, params.common.hash),
                        group,
                        *beside,
                        &words[section],
                    )?;
                    sketches.push((&group.group, sketch));
                }
            }
            Kept::Growing(filters) => {
                for (name, filter) in filters {
                    let group = params_of(name, filter)?;
                    let newest = Beside::NewestKeys(filter.newest());
                    let sketch = Sketch::from_words(
                        (Kind::Scalable, Scheme::DEFAULT),
                        &group,
                        newest,
                        filter.words(),
                    )?;
                    sketches.push((name, sketch));
                }
            }
        }
        sketches.sort_by(|(a, _), (b, _)| a.compare_naturally(b));
        Ok(sketches)
    }

    /// The filters, to be asked, and the names of their groups, in the order for people.
    pub(super) fn filters(&self) -> Result<(Vec<&Name>, Filters<'_>)> {
        let (names, sketches): (Vec<&Name>, Vec<_>) = self.sketches()?.into_iter().unzip();
        let hashes = |sketch: &Sketch<&[u64]>| match sketch {
            Sketch::Bloom(filter) => filter.hashes(),
            _ => 0,
        };
        let most = sketches.iter().map(hashes).max().unwrap_or(0);
        let needs = Needs::new(self.common.kind, self.common.hash, most);
        Ok((names, Filters::of_sketches(needs, sketches)))
    }

    /// Writes all of it to a file like any other.
    pub(super) fn write(&self, path: &Path, threads: usize) -> Result<()> {
        let mut about = About::default();
        about.record_classes(self.classes);
        let extras = Extras { about: Some(&about), ..Extras::default() };
        let write = |params: &Params, rows: &[u64], beside: &[Beside], words: &[u64]| {
            let (draft, _) = files::draft_container(path, params, (rows, beside), words, extras, threads)?;
            draft.finish()
        };
        match &self.kept {
            Kept::Fixed { params, words } => write(params, &self.rows, &self.beside, words),
            Kept::Growing(filters) => {
                let groups = filters.iter().map(|(name, filter)| params_of(name, filter));
                let common = Common { kind: Kind::Scalable, ..self.common.clone() };
                let params = Params::new(common, groups.collect::<Result<_>>()?)?;
                let place = |(name, _): &(Name, _)| params.find(&name.0).unwrap_or(0);
                let mut rows = vec![0; filters.len()];
                let mut beside = vec![Beside::empty(Kind::Scalable); filters.len()];
                for (entry, count) in filters.iter().zip(&self.rows) {
                    rows[place(entry)] = *count;
                    beside[place(entry)] = Beside::NewestKeys(entry.1.newest());
                }
                // Layers have whole lines: one filter lies in memory as it does in the file.
                if let [(_, filter)] = &filters[..] {
                    return write(&params, &rows, &beside, filter.words());
                }
                let mut arena = Placing::new(&params).empty()?;
                let places = sections(&params);
                for entry in filters {
                    arena[places[place(entry)].clone()].copy_from_slice(entry.1.words());
                }
                write(&params, &rows, &beside, &arena)
            }
        }
    }
}

#[cfg(test)]
impl Learned {
    /// All that makes up its file.
    pub(super) fn contents(&self) -> (Vec<Name>, Vec<u64>, Vec<u64>, Vec<Beside>) {
        let Kept::Fixed { words, .. } = &self.kept else { panic!("it grows") };
        (self.kept.names().cloned().collect(), words.to_vec(), self.rows.clone(), self.beside.clone())
    }
}

impl Kept {
    fn fixed(params: Params) -> Result<Kept> {
        let words = Placing::new(&params).empty()?;
        Ok(Kept::Fixed { params: Box::new(params), words })
    }

    fn names(&self) -> Box<dyn Iterator<Item = &Name> + '_> {
        match self {
            Kept::Fixed { params, .. } => Box::new(params.groups.iter().map(|group| &group.group)),
            Kept::Growing(filters) => Box::new(filters.iter().map(|(name, _)| name)),
        }
    }
}

/// The parameters of a filter as it has grown so far.
fn params_of(name: &Name, filter: &Scalable<Words>) -> Result<GroupParams> {
    let (keys, fpr) = (filter.first_keys(), filter.fpr());
    let shape = scalable::shape(keys, fpr, filter.layers().count() as u32)?;
    Ok(GroupParams::filter(name.clone(), keys, fpr, shape))
}

/// Whether groups are known in advance and have the numbers of the parameters; others are found as
/// they occur.
fn knows_groups(common: &Common, sizing: &Sizing) -> bool {
    matches!(sizing, Sizing::Params(_)) || common.recipe.group.is_none()
}

/// The words of each group.
fn sections(params: &Params) -> Vec<Range<usize>> {
    let (starts, _) = params.layout();
    let words = |group: &GroupParams| group.shape.words() as usize;
    params.groups.iter().zip(starts).map(|(group, start)| start..start + words(group)).collect()
}
