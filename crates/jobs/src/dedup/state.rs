//! The state between runs: a container with the keys that came before, and a journal that tells
//! how far the inputs were read and how long the output was then.
//!
//! Both change together, in one rename. Whatever moment a run is ended at, the state on disk is
//! the old one or the new one; output beyond the length that belongs to it is cut off by the next
//! run, which reads on from the offsets that belong to it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tamis::format::{self, Extras};
use tamis::params::{Common, Params};
use tamis_read::error::{Error, Result};
use tamis_read::{Explained, Format};

use super::StateRefusal;
use super::seen::Seen;
use crate::output::{self, Mapped};
use crate::resume::{Appended, Lock, Mark, named};

/// What a run leaves to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Journal {
    verb: Verb,
    /// Keys remembered.
    pub(super) keys: u64,
    /// How far each input was read.
    inputs: Vec<Mark>,
    /// How long the output was then, where it is a file.
    output: Option<(String, u64)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Verb {
    #[default]
    Dedup,
}

impl Journal {
    /// That of a file; none where it has none: a filter that `build` made.
    pub(super) fn of(file: &Mapped, path: &Path) -> Result<Option<Journal>> {
        if file.journal().is_empty() {
            return Ok(None);
        }
        serde_json::from_slice(file.journal())
            .map(Some)
            .map_err(|error| Error::input(path, StateRefusal::Journal { error }))
    }
}

/// An input as the journal sees it.
#[derive(Debug, Clone)]
pub(super) struct Place {
    path: PathBuf,
    /// Whether its text is that of the file, so that reading can begin anywhere.
    pub(super) plain: bool,
    /// Its length when the run began; none for a stream.
    length: Option<u64>,
    /// How much of it is done: of plain text, its bytes; else nothing or all of them.
    pub(super) offset: u64,
}

impl Place {
    pub(super) fn of(input: &Explained) -> Place {
        let length = fs::metadata(&input.path).ok().filter(fs::Metadata::is_file).map(|file| file.len());
        let plain = length.is_some() && input.compression.is_none() && input.format != Format::Parquet;
        Place { path: input.path.clone(), plain, length, offset: 0 }
    }

    /// Notes that all of it was read.
    pub(super) fn end(&mut self) {
        if !self.plain {
            self.offset = self.length.unwrap_or(0);
        }
    }

    /// Whether nothing of it is left to read.
    pub(super) fn is_done(&self) -> bool {
        !self.plain && self.length.is_some_and(|length| length > 0 && self.offset == length)
    }
}

/// Goes on where the journal's run ended, if this is the same job: the same inputs (there may be
/// more of them), which still begin with what was read of them, and the same output. Gives the
/// length of the output then.
pub(super) fn go_on(journal: &Journal, places: &mut [Place], output: Option<&Path>) -> Option<u64> {
    let length = match (&journal.output, output) {
        (Some((path, length)), Some(output)) if *path == named(output) => *length,
        (None, None) => 0,
        _ => return None,
    };
    if journal.inputs.len() > places.len() {
        return None;
    }
    for (mark, place) in journal.inputs.iter().zip(&*places) {
        let there = place.length.is_some_and(|length| match place.plain {
            true => length >= mark.offset,
            false => mark.offset == 0 || length == mark.offset,
        });
        if !there || mark.path != named(&place.path) || !mark.holds(&place.path) {
            return None;
        }
    }
    let written = output.map_or(0, |output| fs::metadata(output).map_or(0, |file| file.len()));
    if written < length {
        return None; // what was written is gone: from the beginning, then
    }
    for (mark, place) in journal.inputs.iter().zip(places) {
        place.offset = mark.offset;
    }
    Some(length)
}

/// A state file in use.
pub(super) struct State {
    path: PathBuf,
    common: Common,
    /// Rows added in all runs.
    pub(super) rows: u64,
    _lock: Lock,
}

impl State {
    /// For this file, which need not exist yet; nobody else may use it meanwhile.
    pub(super) fn new(path: &Path, common: Common, rows: u64, lock: Lock) -> State {
        State { path: path.into(), common, rows, _lock: lock }
    }

    /// Writes keys and journal, together or not at all.
    pub(super) fn commit(&self, seen: &Seen, places: &[Place], output: Option<&Appended>) -> Result<()> {
        let marks =
            places.iter().map(|place| Mark::of(&place.path, place.offset).map_err(Error::io(&place.path)));
        let journal = Journal {
            verb: Verb::Dedup,
            keys: seen.keys(),
            inputs: marks.collect::<Result<_>>()?,
            output: output.map(|output| (named(&output.path), output.length)),
        };
        let journal = serde_json::to_vec(&journal).expect("a journal is plain data");
        let (kind, group) = seen.params()?;
        let params = Params::new(Common { kind, ..self.common.clone() }, vec![group])?;
        let (words, newest) = seen.words();
        let tally = format::seal(kind, &params.groups[0].shape, words, self.rows, newest);
        let extras = Extras { heavy: None, journal: &journal };
        output::write_whole(&self.path, |mut out| format::write(&mut out, &params, &[tally], words, extras))
    }
}
