//! A file that is put together of ranges, in any order.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tamis::about::{About, Classes};
use tamis::format::{self, Beside, Extras, Tally};
use tamis::memory::Map;
use tamis::params::Params;
use tamis_read::error::{Error, Result};

use super::Refusal;
use super::partial::{Layout, Tallies, range_of};
use super::wire::{Content, Reader, damaged};
use crate::files::{self, Draft, Mapped};
use crate::merge::classes_of;
use crate::{names, parallel};

/// A container in the making: its data area lies on disk, and one range at a time in memory.
#[derive(Debug)]
pub struct Assembly {
    params: Params,
    path: PathBuf,
    draft: Draft,
    layout: Layout,
    /// Where the data area begins.
    start: u64,
    seen: Vec<bool>,
    tallies: Tallies,
    about: About,
    /// The classes of keys, those of the file that it begins with among them.
    classes: Classes,
}

impl Assembly {
    /// A file with these parameters, in which nothing is set.
    pub fn new(params: Params, range_bytes: usize, path: &Path) -> Result<Assembly> {
        files::check(path)?;
        names::Content::Sketches.check(path)?;
        let layout = Layout::new(&params, range_bytes)?;
        let mut draft = Draft::new(path)?;
        let none = vec![Tally::default(); params.groups.len()];
        let start = format::head(&params, &none, Extras::default()).map_err(Error::io(path))?.len() as u64;
        // What is not written reads as zeros.
        draft.file().set_len(start + 8 * layout.words as u64).map_err(Error::io(path))?;
        let seen = vec![false; layout.words.div_ceil(layout.range_words)];
        let tallies = Tallies::new(params.groups.len());
        Ok(Assembly {
            params,
            path: path.to_owned(),
            draft,
            layout,
            start,
            seen,
            tallies,
            about: About::default(),
            classes: Classes::NONE,
        })
    }

    /// Records this about the file.
    pub fn record(&mut self, about: About) {
        self.see(about.classes.iter().copied().collect());
        self.about = about;
    }

    /// Records that keys are of these classes, too.
    pub fn see(&mut self, classes: Classes) {
        self.classes = self.classes.and(classes);
    }

    /// Begins with what a file with the same parameters has, before any part.
    pub fn begin(&mut self, file: &Mapped) -> Result<()> {
        if let Some(difference) = self.params.difference(file.params()) {
            return Err(Refusal::Different { difference }.into());
        }
        parallel::each(1, self.params.groups.len(), |group| file.verify(group).map_err(Error::from))?;
        write_at(self.draft.file(), self.start, bytemuck::cast_slice(file.data()))
            .map_err(Error::io(&self.path))?;
        self.seen.fill(true);
        self.about = file.about().clone();
        self.see(classes_of(file.about(), file.tallies()));
        for (group, tally) in file.tallies().iter().enumerate() {
            self.tallies.add(group, tally.rows, tally.total_weight())?;
        }
        Ok(())
    }

    /// Brings in a part: of a range, or a tally.
    pub fn put(&mut self, part: &[u8]) -> Result<()> {
        let mut part = Reader::open(part, self.layout.digest)?;
        let Some(range) = range_of(&mut part)? else { return self.tallies.absorb(&mut part) };
        let len = self.layout.len(range).ok_or_else(damaged)?;
        let place = self.start + 8 * (range * self.layout.range_words) as u64;
        let file = self.draft.file();
        if part.content == Content::Words && !self.seen[range] {
            let bytes = part.bytes(8 * len)?;
            part.done()?;
            write_at(file, place, bytes).map_err(Error::io(&self.path))?;
        } else {
            let mut words = vec![0; len];
            if self.seen[range] {
                read_at(file, place, bytemuck::cast_slice_mut(&mut words)).map_err(Error::io(&self.path))?;
            }
            self.layout.join(range, &mut part, &mut words)?;
            write_at(file, place, bytemuck::cast_slice(&words)).map_err(Error::io(&self.path))?;
        }
        self.seen[range] = true;
        Ok(())
    }

    /// Seals the file and puts it in its place; returns the rows left out.
    pub fn finish(mut self, threads: usize) -> Result<u64> {
        let (start, words) = (self.start as usize, self.layout.words);
        let (starts, _) = self.params.layout();
        let tallies = {
            let map = Map::of(self.draft.file()).map_err(Error::io(&self.path))?;
            let data: &[u64] = bytemuck::cast_slice(&map[start..start + 8 * words]);
            parallel::each(threads, self.params.groups.len(), |group| {
                let shape = &self.params.groups[group].shape;
                let section = &data[starts[group]..starts[group] + shape.words() as usize];
                let beside = Beside::of_weight(self.params.common.kind, self.tallies.weights[group]);
                Ok(format::seal(shape, section, self.tallies.rows[group], beside))
            })?
        };
        self.about.record_classes(self.classes);
        let extras = Extras { about: Some(&self.about), ..Extras::default() };
        let head = format::head(&self.params, &tallies, extras).map_err(Error::io(&self.path))?;
        let tail = format::tail(extras).map_err(Error::io(&self.path))?;
        write_at(self.draft.file(), 0, &head).map_err(Error::io(&self.path))?;
        write_at(self.draft.file(), (start + 8 * words) as u64, &tail).map_err(Error::io(&self.path))?;
        self.draft.finish()?;
        Ok(self.tallies.skipped)
    }
}

fn write_at(file: &mut File, place: u64, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(place))?;
    file.write_all(bytes)
}

fn read_at(file: &mut File, place: u64, bytes: &mut [u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(place))?;
    file.read_exact(bytes)
}
