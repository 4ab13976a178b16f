//! A name that is followed: the files that have it, or had it, are opened, read one after the other, and
//! noted for a later run.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tamis_make::resume::Mark;
use tamis_read::error::{Error, Result};
use tamis_read::{Flow, Position};

use super::earlier::Earlier;
use super::reader::{Pass, Reading};
use super::{Setup, Shared, Text};
use crate::bookmark::{Bookmark, Cut, Numbers, refuse_half_line};
use crate::chain::Naming;
use crate::follow::{Before, Begin, Followed, Opened, Told, Turn};
use crate::job::Lost;
use crate::live::Live;
use crate::lock;
use crate::queue::Piece;

/// A generation that is to be read.
pub(super) struct Waiting {
    input: usize,
    from: u64,
    followed: Followed,
    told: Arc<Mutex<Told>>,
}

impl<'a> Setup<'a> {
    /// The name that is followed, with this number.
    pub(super) fn naming(&self, name: &'a Path, number: usize) -> Naming<'a> {
        Naming { name, number, lost: self.lost, watch: self.watch }
    }
}

impl Shared {
    /// Begins a generation; both sides know of it from here on.
    fn begin(&self, name: &Path, begin: Begin, before: Option<Before>) -> Result<Waiting> {
        let (input, from) = (begin.input, begin.from);
        let (followed, generation, told) = Followed::begin(name, begin, before).map_err(Error::io(name))?;
        lock(&self.generations).push(generation);
        Ok(Waiting { input, from, followed, told })
    }
}

impl Text {
    /// The files that have, or had, the name that is followed.
    pub(super) fn open_followed(
        &mut self,
        name: &Path,
        number: usize,
        setup: &Setup<'_>,
        earlier: &Earlier,
    ) -> Result<VecDeque<Waiting>> {
        let Earlier { at, bookmark, .. } = earlier;
        // What was read when it did not yet grow is passed over, and understood again.
        let late = at.offset > 0 && bookmark.live.is_some();
        let chain = setup.naming(name, number).chain(*at, bookmark, late)?;
        if let Some(first) = chain.files.first().filter(|first| first.input == at.input && at.offset > 0) {
            refuse_half_line(&first.opened.path, at.offset)?;
        }
        (self.followed, self.at, self.moved) = (Some(number), chain.at, chain.moved);
        chain.files.into_iter().map(|begin| self.shared.begin(name, begin, None)).collect()
    }

    /// Adds what is known of files that have, or had, the name that is followed: from this place on, as far as
    /// they were read.
    pub(super) fn mark_generations(&self, from: Position, bookmark: &mut Bookmark) -> Result<()> {
        let Some(name) = self.followed.filter(|name| self.at.input >= *name) else { return Ok(()) };
        let generations = lock(&self.shared.generations);
        let read =
            generations.iter().filter(|generation| (from.input..=self.at.input).contains(&generation.input));
        for generation in read {
            let first = bookmark.followed.map_or(generation.input as u64, |numbers| numbers.first);
            bookmark.followed = Some(Numbers { name: name as u64, first });
            let offset = match generation.end {
                Some(end) if generation.input < self.at.input => end,
                _ if generation.input == from.input => from.offset,
                _ => self.at.offset,
            };
            let looks = || {
                let length = generation.look.metadata()?.len();
                // A last line without an end got one.
                let mark = Mark::through(&generation.look, &generation.name, offset.min(length));
                // What was read of it is looked for last: or it may have been cut meanwhile.
                Ok(if generation.is_cut()? {
                    Err(Cut { read: generation.read(), length })
                } else {
                    Ok(mark?)
                })
            };
            match looks().map_err(Error::io(&generation.path))? {
                Ok(mark) => bookmark.files.push(mark),
                Err(cut) => {
                    bookmark.cut = Some(cut);
                    break;
                }
            }
        }
        Ok(())
    }
}

impl Reading<'_> {
    /// Reads files, and then one generation after the other.
    pub(super) fn follow(
        self,
        before: Vec<PathBuf>,
        name: &Path,
        mut waiting: VecDeque<Waiting>,
        at: Position,
        mut lines: Option<u64>,
    ) -> Result<()> {
        let shared = self.shared;
        let mut inputs: Vec<(PathBuf, Option<Flow>)> = before.into_iter().map(|path| (path, None)).collect();
        let mut known = lock(&shared.live).get(&at.input).cloned();
        while let Some(Waiting { input, from, followed, told }) = waiting.pop_front() {
            let live = inputs.len();
            let late = from > 0 && known.is_some();
            let prelude = known.as_ref().filter(|_| late).map(|known| known.prelude.0.clone());
            let text = Live::new(prelude.unwrap_or_default(), None, Box::new(followed), None);
            inputs.push((name.into(), Some(text.flow(Arc::clone(&shared.control)))));
            let begin = match input - live {
                first if first == at.input => at,
                first => Position { input: first, offset: 0 },
            };
            let inputs = std::mem::take(&mut inputs);
            let pass = Pass { inputs, begin, live, known: known.take(), late, lines };
            lines = Some(0);
            known = self.pass(pass, Some(&told))?;
            let turn = lock(&told).turn.take();
            let Some(turn) = turn else { return Ok(()) }; // nobody takes any more
            waiting.extend(self.turn(name, input, turn, waiting.is_empty())?);
        }
        Ok(())
    }

    /// What is to be read after a generation that ended like this, unless more of them wait.
    fn turn(self, name: &Path, input: usize, turn: Turn, alone: bool) -> Result<Option<Waiting>> {
        let naming = self.setup.naming(name, 0);
        let (before, again) = self.leave(input, matches!(turn, Turn::Cut(..))).map_err(Error::io(name))?;
        let (opened, loss, before) = match turn {
            Turn::Left if !alone => return Ok(None),
            Turn::Left => (Opened::open(name).map_err(Error::io(name))?, None, before),
            Turn::Next(opened) => (opened, None, before),
            Turn::Gap(loss, opened) => (opened, Some(loss), before),
            Turn::Cut(loss, file) => match again {
                Some(look) => (Opened { path: name.into(), file, look }, Some(loss), None),
                None => return Ok(None),
            },
        };
        if let Some(loss) = loss.as_ref().filter(|_| naming.lost == Lost::Stop) {
            self.edge(input);
            return naming.lose(loss.clone()).map(|()| None);
        }
        let begin = Begin { input: input + 1, opened, from: 0, end: None };
        let waiting = self.shared.begin(name, begin, before)?;
        if let Some(loss) = loss {
            self.edge(input + 1);
            naming.lose(loss)?;
        }
        Ok(Some(waiting))
    }

    /// Leaves a generation: what is to be known of it afterwards, and another handle of its file where it is cut.
    fn leave(self, input: usize, cut: bool) -> io::Result<(Option<Before>, Option<File>)> {
        let mut generations = lock(&self.shared.generations);
        match generations.iter_mut().find(|generation| generation.input == input) {
            Some(generation) if cut => Ok((None, Some(generation.look.try_clone()?))),
            Some(generation) => Ok((Some(generation.left()?), None)),
            None => Ok((None, None)),
        }
    }

    /// Has all that was read so far committed; what comes next begins in this input.
    fn edge(self, input: usize) {
        self.shared.queue.push(Piece { input, edge: true, ..self.shared.queue.spare() });
    }
}
