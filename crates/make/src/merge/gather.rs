//! Containers that come one after the other, merged as they come: the memory is that of the result and of one
//! of them, however many there are.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tamis::about::{About, Classes};
use tamis::countmin::Heavy;
use tamis::format::Beside;
use tamis::memory::Words;
use tamis::params::{Common, GroupParams, Name, Params};
use tamis_read::Control;
use tamis_read::error::{Error, Result};

use super::{Joined, Refusal, Share, classes_of, different, refuse_kind};
use crate::arena::Placing;
use crate::count_min;
use crate::files::Mapped;

/// What came so far.
#[derive(Default)]
pub(super) struct Gather {
    /// What all must share, and who said it.
    first: Option<(Common, Arc<PathBuf>)>,
    groups: BTreeMap<Name, Part>,
    about: Option<About>,
    classes: Option<Classes>,
    dropped: Vec<String>,
    heavy: Lists,
    known: HashMap<u64, Arc<PathBuf>, RandomState>,
    twice: Vec<(PathBuf, PathBuf)>,
}

/// The sketch of a group.
struct Part {
    params: GroupParams,
    /// Who brought it first.
    from: Arc<PathBuf>,
    words: Words,
    rows: u64,
    beside: Beside,
}

/// The heavy keys of all, each once.
#[derive(Default)]
enum Lists {
    /// Nothing came yet.
    #[default]
    Nothing,
    /// One of them keeps none.
    None,
    /// Their largest share, and their keys by group.
    Some(f64, BTreeMap<Name, BTreeSet<Vec<u8>>>),
}

impl Gather {
    /// Takes one more. What goes in is verified.
    pub(super) fn add(&mut self, file: &Mapped, path: &Path, control: &Control) -> Result<()> {
        let params = file.params();
        refuse_kind(params.common.kind, path)?;
        let path = Arc::new(path.to_owned());
        let (common, first) = self.first.get_or_insert_with(|| (params.common.clone(), path.clone())).clone();
        if common != params.common || self.differs_in_width(params) {
            let groups = self.groups.values().take(1).map(|part| part.params.clone()).collect();
            return different((&Params::new(common, groups)?, &first), (params, &path));
        }
        let placing = Placing::new(params);
        for (at, group) in params.groups.iter().enumerate() {
            control.check()?;
            file.verify(at).map_err(Error::file(&*path))?;
            let (tally, section) = (file.tallies()[at], file.section(at));
            match self.groups.get_mut(&group.group) {
                None => {
                    let part = Part {
                        params: group.clone(),
                        from: path.clone(),
                        words: Words::copy_of(section)?,
                        rows: tally.rows,
                        beside: Beside::empty(params.common.kind).plus(tally.beside),
                    };
                    self.groups.insert(group.group.clone(), part);
                }
                Some(part) if part.params != *group => {
                    let one = Params::new(params.common.clone(), vec![part.params.clone()])?;
                    return different((&one, &part.from), (params, &path));
                }
                Some(part) => {
                    placing.join(&mut part.words, section);
                    part.rows = part.rows.saturating_add(tally.rows);
                    part.beside = part.beside.plus(tally.beside);
                }
            }
        }
        self.note_heavy(file);
        self.note_about(file);
        self.note_repetition(file, path);
        control.advance(1);
        Ok(())
    }

    /// Counters of another width, in groups that nobody else has.
    fn differs_in_width(&self, params: &Params) -> bool {
        let ours = self.groups.values().next().map(|part| part.params.shape.width());
        let theirs = params.groups.first().map(|group| group.shape.width());
        params.common.kind.counts() && matches!((ours, theirs), (Some(ours), Some(theirs)) if ours != theirs)
    }

    fn note_heavy(&mut self, file: &Mapped) {
        let Some(heavy) = file.heavy() else {
            self.heavy = Lists::None;
            return;
        };
        if let Lists::Nothing = self.heavy {
            self.heavy = Lists::Some(heavy.share, BTreeMap::new());
        }
        if let Lists::Some(share, lists) = &mut self.heavy {
            *share = share.max(heavy.share);
            for (group, keys) in file.params().groups.iter().zip(&heavy.groups) {
                lists.entry(group.group.clone()).or_default().extend(keys.iter().cloned());
            }
        }
    }

    fn note_about(&mut self, file: &Mapped) {
        let classes = self.classes.unwrap_or(Classes::NONE).and(classes_of(file.about(), file.tallies()));
        self.classes = Some(classes);
        self.about = Some(match self.about.take() {
            None => file.about().clone(),
            Some(about) => {
                let (about, dropped) = About::merged([&about, file.about()]);
                let new = dropped.into_iter().filter(|name| !self.dropped.contains(name));
                let new: Vec<String> = new.collect();
                self.dropped.extend(new);
                about
            }
        });
    }

    /// Whether one that came before holds just the same; a hash tells it.
    fn note_repetition(&mut self, file: &Mapped, path: Arc<PathBuf>) {
        if file.tallies().iter().all(|tally| tally.rows == 0) {
            return; // filters that are still empty are all alike
        }
        let names = file.params().groups.iter().map(|group| &group.group);
        let sums: Vec<(&Name, u64)> = names.zip(file.tallies().iter().map(|tally| tally.sum)).collect();
        let print = self.known.hasher().hash_one(&sums);
        match self.known.get(&print) {
            Some(first) => self.twice.push((first.to_path_buf(), path.to_path_buf())),
            None => drop(self.known.insert(print, path)),
        }
    }

    /// All of it, in the places that it has in a file.
    pub(super) fn finish(self) -> Result<(Joined, Share)> {
        let (common, _) = self.first.ok_or(Refusal::Nothing)?;
        let count = self.groups.len();
        let (mut rows, mut beside) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (mut groups, mut sections) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for part in self.groups.into_values() {
            rows.push(part.rows);
            beside.push(part.beside);
            groups.push(part.params);
            sections.push(part.words);
        }
        let params = Params::new(common, groups)?;
        let data = laid_out(&params, sections)?;
        let heavy = match self.heavy {
            Lists::Some(share, mut lists) => {
                let keys = |group: &GroupParams| lists.remove(&group.group).unwrap_or_default();
                let groups = params.groups.iter().map(keys).map(|keys| keys.into_iter().collect()).collect();
                Some(count_min::weighed(&params, &data, &beside, Heavy { share, groups })?)
            }
            Lists::Nothing | Lists::None => None,
        };
        let mut about = self.about.unwrap_or_default();
        about.record_classes(self.classes.unwrap_or(Classes::NONE));
        let share = Share { about, dropped: self.dropped, twice: self.twice };
        Ok((Joined { params, rows, beside, data, heavy }, share))
    }
}

/// The sections in their places. One alone is there already; of several, each is released when it was copied.
fn laid_out(params: &Params, mut sections: Vec<Words>) -> Result<Words> {
    if sections.len() == 1 {
        return Ok(sections.remove(0));
    }
    let mut data = Placing::new(params).empty()?;
    let (starts, _) = params.layout();
    for (start, section) in starts.into_iter().zip(sections) {
        data[start..start + section.len()].copy_from_slice(&section);
    }
    Ok(data)
}
