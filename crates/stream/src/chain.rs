//! Where a file that is followed is gone on with: the files that had its name, from the one on that the state
//! speaks of. What is no longer there is lost: the run ends, or says so and goes on with the next.

use std::path::Path;

use tamis_make::resume::named;
use tamis_read::Position;
use tamis_read::error::{Error, Result};

use super::bookmark::{Bookmark, Cut, Numbers};
use super::follow::{Begin, Opened};
use super::job::Lost;
use super::refusal::{CannotResume, Loss, News};
use super::rotation;
use super::watch::Watch;

/// More files than these never have one name; their numbers can always be counted on.
const MOST: u64 = 1 << 40;

/// The files in their order, and where they begin.
pub(super) struct Chain {
    pub(super) files: Vec<Begin>,
    pub(super) at: Position,
    /// Whether something is gone that the state has, or planned.
    pub(super) moved: bool,
}

/// The stream as it is followed now.
#[derive(Clone, Copy)]
pub(super) struct Naming<'a> {
    pub(super) name: &'a Path,
    /// Its number among the inputs.
    pub(super) number: usize,
    pub(super) lost: Lost,
    pub(super) watch: &'a Watch,
}

impl Naming<'_> {
    /// Says what is lost, or ends with it.
    pub(super) fn lose(&self, loss: Loss) -> Result<()> {
        if self.lost == Lost::Stop {
            return Err(Error::input(self.name, loss));
        }
        self.watch.say(&News::Lost { path: self.name.into(), loss });
        Ok(())
    }

    fn open(&self, path: &Path) -> Result<Opened> {
        Opened::open(path).map_err(Error::io(path))
    }

    /// Refuses numbers that no run writes, and a state that other inputs led to. Gives the number of the file
    /// that the first mark is of.
    fn check(&self, at: Position, bookmark: &Bookmark) -> Result<usize> {
        let wrong = |field: &str| Error::input(self.name, CannotResume::OutOfRange(field.into()));
        let Some(Numbers { name, first }) = bookmark.followed else {
            // Nothing of it was read, or it was read as the last of files.
            return if at.input <= self.number { Ok(self.number) } else { Err(wrong("place")) };
        };
        let rotated = first > name || bookmark.files.len() as u64 > name.saturating_add(1);
        if name != self.number as u64 {
            let why = if rotated { CannotResume::Rotated } else { CannotResume::Moved(self.number) };
            return Err(Error::input(self.name, why));
        }
        if !(name..MOST).contains(&first) {
            return Err(wrong("followed.first"));
        }
        // Where all of a file was read that is no longer needed, the marks begin after it.
        if at.input as u64 > first || at.input as u64 >= name && at.input as u64 + 1 < first {
            return Err(wrong("place"));
        }
        Ok(first as usize)
    }

    /// The files to be read from this place on; `late` says whether the text is begun within.
    pub(super) fn chain(&self, at: Position, bookmark: &Bookmark, late: bool) -> Result<Chain> {
        let first = self.check(at, bookmark)?;
        let marks = bookmark.files.get(self.number..).unwrap_or_default();
        if let Some(mark) = marks.iter().find(|mark| mark.path != named(self.name)) {
            return Err(Error::input(mark.path.clone(), CannotResume::Moved(self.number + 1)));
        }
        if marks.is_empty() && bookmark.cut.is_none() && at.input >= self.number && at.offset > 0 {
            return Err(Error::input(self.name, CannotResume::OutOfRange("place".into())));
        }
        let mut chain = Chain { files: Vec::new(), at, moved: false };
        let mut ended = marks.is_empty();
        for (number, mark) in marks.iter().enumerate() {
            let input = first + number;
            let last = number + 1 == marks.len() && bookmark.cut.is_none();
            let place = if input == at.input { at.offset } else { 0 };
            // A last line without an end got one.
            if place > mark.offset.saturating_add(1) {
                return Err(Error::input(self.name, CannotResume::OutOfRange("place".into())));
            }
            let place = place.min(mark.offset);
            let from = if late { place } else { 0 };
            let end = (!last).then_some(mark.offset);
            if !last && place == mark.offset {
                continue; // all of it was read
            }
            match rotation::find(mark, self.name) {
                Ok(path) => {
                    let opened = self.open(&path)?;
                    let length = opened.length().map_err(Error::io(&path))?;
                    if let Some(bytes) = end.and_then(|end| length.checked_sub(end)).filter(|more| *more > 0)
                    {
                        self.lose(Loss::Late { file: path, bytes })?;
                    }
                    chain.files.push(Begin { input, opened, from, end });
                }
                Err(loss) if last => {
                    self.lose(loss.clone())?;
                    ended = true;
                    match loss {
                        Loss::Cut { copy: Some((path, _)), .. } => {
                            let opened = self.open(&path)?;
                            let end = Some(opened.length().map_err(Error::io(&path))?);
                            chain.files.push(Begin { input, opened, from, end });
                        }
                        _ => chain.moved = true,
                    }
                }
                Err(_) => {
                    self.lose(Loss::Unread { bytes: mark.offset - place })?;
                    chain.moved = true;
                }
            }
        }
        if let Some(Cut { read, length }) = bookmark.cut {
            self.lose(Loss::Cut { read, length, copy: None })?;
            (chain.moved, ended) = (true, true);
        }
        if ended {
            // The next of the name, with a number that nobody had.
            let input = first + marks.len() + usize::from(bookmark.cut.is_some());
            chain.files.push(Begin { input, opened: self.open(self.name)?, from: 0, end: None });
        }
        if let Some(begin) = chain.files.first().filter(|_| chain.moved)
            && begin.input > at.input
            && at.input >= self.number
        {
            chain.at = Position { input: begin.input, offset: 0 };
        }
        Ok(chain)
    }
}
