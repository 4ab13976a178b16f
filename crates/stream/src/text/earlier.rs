//! Where an earlier run ended and what it knew of its inputs, as its commit has it; and whether they are
//! still what they were.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tamis_make::resume::named;
use tamis_read::error::{Error, Result};
use tamis_read::{Position, Sources};

use crate::bookmark::{Bookmark, Numbers, check_marks};
use crate::refusal::CannotResume;
use crate::source::Place;

/// Where an earlier run ended, and what it knew; nothing yet where there was none.
#[derive(Default)]
pub(super) struct Earlier {
    pub(super) at: Position,
    /// What its [`Place`] has beside that.
    pub(super) beside: Option<u64>,
    pub(super) bookmark: Bookmark,
}

impl Earlier {
    pub(super) fn of(begin: Option<(&Place, &Value)>) -> Result<Earlier> {
        let Some((Place(place), bookmark)) = begin else { return Ok(Earlier::default()) };
        let damaged = || Error::from(CannotResume::Plan);
        let (at, beside) = position(place)?;
        let bookmark: Bookmark = serde_json::from_value(bookmark.clone()).map_err(|_| damaged())?;
        if bookmark.live.as_ref().is_some_and(|live| !live.is_known()) || at.offset > i64::MAX as u64 {
            return Err(damaged());
        }
        Ok(Earlier { at, beside, bookmark })
    }

    /// The beginning of a text that may not come again, where it was read.
    pub(super) fn prelude(&self) -> Vec<u8> {
        let live = self.bookmark.live.as_ref().filter(|_| self.at.offset > 0);
        live.map(|live| live.prelude.0.clone()).unwrap_or_default()
    }

    /// The files that are meant; one that was followed may have its name again only later.
    pub(super) fn find(&self, inputs: &[String], follow: bool) -> Result<Vec<PathBuf>> {
        if let Some((last, before)) = inputs.split_last().filter(|_| follow)
            && let Err(error) = fs::metadata(last)
            && error.kind() == io::ErrorKind::NotFound
            && self.bookmark.files.iter().any(|mark| mark.path == named(Path::new(last)))
        {
            let mut paths = if before.is_empty() { Vec::new() } else { Sources::find(before)? };
            paths.push(last.into());
            return Ok(paths);
        }
        Sources::find(inputs)
    }

    /// Refuses files that are no longer what they were, where none is followed.
    pub(super) fn check_unfollowed(&self, paths: &[PathBuf]) -> Result<()> {
        let Bookmark { files, followed, cut, .. } = &self.bookmark;
        if let Some(Numbers { name, first }) = followed
            && (first > name || files.len() as u64 > name + 1 || cut.is_some())
        {
            let path = files.last().map(|mark| mark.path.clone());
            let path = path.unwrap_or_else(|| paths.last().map(|path| named(path)).unwrap_or_default());
            return Err(Error::input(path, CannotResume::Rotated));
        }
        check_marks(files, paths)?;
        match files.get(self.at.input) {
            None if self.at != Position::default() && self.at.input >= paths.len() => {
                Err(CannotResume::OutOfRange("place".into()).into())
            }
            _ => Ok(()),
        }
    }
}

/// What the numbers of a place are. What is counted on from one must have room for that, whatever a file says.
pub(super) fn position(place: &[u64]) -> Result<(Position, Option<u64>)> {
    let (input, offset, beside) = match *place {
        [input, offset] => (input, offset, None),
        [input, offset, beside] => (input, offset, Some(beside.min(u64::MAX / 2))),
        _ => return Err(CannotResume::Plan.into()),
    };
    let input = usize::try_from(input).map_err(|_| CannotResume::Plan)?;
    Ok((Position { input, offset }, beside))
}
