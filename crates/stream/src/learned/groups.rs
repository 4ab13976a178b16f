//! Groups that are found as they come: what is kept of them is laid out again when more come.

use tamis::params::{Name, Params};
use tamis::scalable::Scalable;
use tamis::sizing::Kind;
use tamis::sketch::Beside;
use tamis_make::arena::Placing;
use tamis_make::plan;
use tamis_read::error::Result;

use super::{Kept, Learned, NOWHERE, Sizing, knows_groups, sections};
use crate::source::Records;

impl Learned {
    /// Makes room for the groups of these records, whose names the source has found: no others,
    /// since it reads ahead.
    pub(crate) fn meet(&mut self, records: &Records, found: &[Name]) -> Result<()> {
        if records.keys.groups().is_empty() {
            return Ok(());
        }
        self.numbered.resize(self.numbered.len().max(found.len()), NOWHERE);
        let mut new = Vec::new();
        for &number in records.keys.groups() {
            let place = &mut self.numbered[number as usize];
            if *place == NOWHERE {
                *place = 0; // to be told below
                new.push(number as usize);
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        let names = new.iter().map(|&number| &found[number]).filter(|name| self.find(name).is_none());
        let names: Vec<Name> = names.cloned().collect();
        self.add_groups(names)?;
        // Where groups are kept may have changed for all.
        for (number, name) in found.iter().enumerate() {
            if self.numbered[number] != NOWHERE {
                self.numbered[number] = self.find(name).unwrap_or(NOWHERE);
            }
        }
        Ok(())
    }

    /// Makes room for groups that it has not.
    fn add_groups(&mut self, names: Vec<Name>) -> Result<()> {
        match (&mut self.kept, &self.sizing) {
            (Kept::Growing(filters), Sizing::Growing(keys, fpr)) => {
                for name in names {
                    self.places.insert(name.clone(), filters.len());
                    filters.push((name, Scalable::new(*keys, *fpr)?));
                    self.rows.push(0);
                    self.beside.push(Beside::empty(Kind::Scalable));
                }
            }
            (Kept::Fixed { params, .. }, sizing) if !names.is_empty() => {
                let all: Vec<Name> =
                    params.groups.iter().map(|group| group.group.clone()).chain(names).collect();
                let all = match sizing {
                    Sizing::Keys(keys, size) => {
                        let counts = all.into_iter().map(|name| (name, *keys)).collect();
                        plan::parameters(self.common.clone(), counts, *size, 0)?
                    }
                    Sizing::Counters(counters) => counters.parameters(self.common.clone(), all)?,
                    _ => return Ok(()),
                };
                self.lay_out(all)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds what the other holds, which has the same parameters. Both have a fixed size: what grows
    /// cannot be united.
    pub(crate) fn join(&mut self, other: &Learned) -> Result<()> {
        let Kept::Fixed { params: theirs, words: others } = &other.kept else { return Ok(()) };
        let names = other.kept.names().filter(|name| self.find(name).is_none());
        let names = names.cloned().collect();
        self.add_groups(names)?;
        self.forget_numbers();
        let Kept::Fixed { params, words } = &mut self.kept else { return Ok(()) };
        let (placing, places) = (Placing::new(params), sections(params));
        for (group, section) in sections(theirs).into_iter().enumerate() {
            let Some(at) = params.find(&theirs.groups[group].group.0) else { continue };
            placing.join(&mut words[places[at].clone()], &others[section]);
            self.rows[at] = self.rows[at].saturating_add(other.rows[group]);
            self.beside[at] = self.beside[at].plus(other.beside[group]);
        }
        Ok(())
    }

    pub(super) fn find(&self, name: &Name) -> Option<usize> {
        match &self.kept {
            Kept::Fixed { params, .. } => params.find(&name.0),
            Kept::Growing(_) => self.places.get(name).copied(),
        }
    }

    /// Puts what there is into an area with more groups.
    fn lay_out(&mut self, all: Params) -> Result<()> {
        let Kept::Fixed { params, words } = &self.kept else { return Ok(()) };
        let mut more = Placing::new(&all).empty()?;
        let mut rows = vec![0; all.groups.len()];
        let mut beside = vec![Beside::empty(all.common.kind); all.groups.len()];
        let places = sections(&all);
        for (group, section) in sections(params).into_iter().enumerate() {
            let Some(at) = all.find(&params.groups[group].group.0) else { continue };
            more[places[at].clone()].copy_from_slice(&words[section]);
            (rows[at], beside[at]) = (self.rows[group], self.beside[group]);
        }
        self.kept = Kept::Fixed { params: Box::new(all), words: more };
        (self.rows, self.beside) = (rows, beside);
        Ok(())
    }

    /// Forgets how the source has numbered groups that it found: another one counts again.
    pub(crate) fn forget_numbers(&mut self) {
        if !knows_groups(&self.common, &self.sizing) {
            self.numbered.clear();
        }
    }
}
