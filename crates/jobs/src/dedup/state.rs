//! The state between runs: a container with the keys that came before, and a journal that tells
//! how far the inputs were read and how long the output was then.
//!
//! Both change together, in one rename. Whatever moment a run is ended at, the state on disk is
//! the old one or the new one; output beyond the length that belongs to it is cut off by the next
//! run, which reads on from the offsets that belong to it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tamis::about::About;
use tamis::format::{self, Beside, Extras};
use tamis::params::{Common, Params};
use tamis_read::error::{Error, Result};
use tamis_read::{Explained, Format};

use super::StateRefusal;
use super::seen::Seen;
use tamis_make::failpoint::reach;
use tamis_make::files::{self, Mapped};
use tamis_make::resume::{Appended, Digest, Lock, Mark, named};

/// Of the journal; that of the container around it is another.
pub(super) const VERSION: u32 = 2;

/// What a run leaves to the next. Fields that are not known are passed over; whoever changes what one
/// means counts up the version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Journal {
    version: u32,
    verb: Verb,
    /// Keys remembered.
    pub(super) keys: u64,
    /// How far each input was read.
    inputs: Vec<Mark>,
    /// Where first occurrences went, where that is a file.
    output: Option<Written>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Verb {
    #[serde(rename = "dedup")]
    Dedup,
}

/// An output, and how long it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Written {
    path: String,
    length: u64,
}

/// A journal of the first version, which does not name its version.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct First {
    verb: Verb,
    keys: u64,
    inputs: Vec<FirstMark>,
    output: Option<(String, u64)>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FirstMark {
    path: String,
    offset: u64,
    head: u64,
    tail: u64,
}

impl From<First> for Journal {
    fn from(First { verb, keys, inputs, output }: First) -> Journal {
        let mark = |FirstMark { path, offset, head, tail }| Mark {
            path,
            offset,
            head: Digest(head),
            tail: Digest(tail),
            trace: None,
        };
        Journal {
            version: VERSION,
            verb,
            keys,
            inputs: inputs.into_iter().map(mark).collect(),
            output: output.map(|(path, length)| Written { path, length }),
        }
    }
}

impl Journal {
    /// That of a file; none where it has none: a filter that `build` made.
    pub(super) fn of(file: &Mapped, path: &Path) -> Result<Option<Journal>> {
        match file.journal() {
            [] => Ok(None),
            text => Journal::read(text).map(Some).map_err(|why| Error::input(path, why)),
        }
    }

    /// Reads it in any version that there was.
    fn read(text: &[u8]) -> Result<Journal, StateRefusal> {
        #[derive(Deserialize)]
        struct Versioned {
            #[serde(default)]
            version: Option<u64>,
        }
        let wrong = |error| StateRefusal::Journal { error };
        let Versioned { version } = serde_json::from_slice(text).map_err(wrong)?;
        match version {
            None => serde_json::from_slice::<First>(text).map(Journal::from).map_err(wrong),
            Some(version) if version == u64::from(VERSION) => serde_json::from_slice(text).map_err(wrong),
            Some(found) => Err(StateRefusal::Version { found }),
        }
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
        (Some(written), Some(output)) if written.path == named(output) => written.length,
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
    /// What is recorded about it.
    about: About,
    /// Rows added in all runs.
    pub(super) rows: u64,
    _lock: Lock,
}

impl State {
    /// For this file, which need not exist yet; nobody else may use it meanwhile.
    pub(super) fn new(path: &Path, common: Common, about: About, rows: u64, lock: Lock) -> State {
        State { path: path.into(), common, about, rows, _lock: lock }
    }

    /// Writes keys and journal, together or not at all.
    pub(super) fn commit(&self, seen: &Seen, places: &[Place], output: Option<&Appended>) -> Result<()> {
        let marks =
            places.iter().map(|place| Mark::of(&place.path, place.offset).map_err(Error::io(&place.path)));
        let journal = Journal {
            version: VERSION,
            verb: Verb::Dedup,
            keys: seen.keys(),
            inputs: marks.collect::<Result<_>>()?,
            output: output.map(|output| Written { path: named(&output.path), length: output.length }),
        };
        let journal = serde_json::to_vec(&journal).expect("a journal is plain data");
        let (kind, group) = seen.params()?;
        let params = Params::new(Common { kind, ..self.common.clone() }, vec![group])?;
        let (words, newest) = seen.words();
        let tally =
            format::seal(&params.groups[0].shape, words, self.rows, Beside::from_number(kind, newest));
        let extras = Extras { heavy: None, about: Some(&self.about), journal: &journal };
        files::write_whole(&self.path, |mut out| {
            format::write(&mut out, &params, &[tally], words, extras)?;
            reach("dedup/half-written");
            Ok(())
        })?;
        reach("dedup/renamed");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: &str = concat!(
        r#"{"version":2,"verb":"dedup","keys":4,"inputs":["#,
        r#"{"path":"/in/a.csv","offset":24,"head":"0f7bfceb657b5997","tail":"ffffffffffffffff","#,
        r#""trace":{"device":5,"inode":7,"first_length":24,"first_digest":"0000000000000001"}}],"#,
        r#""output":{"path":"/out/a.csv","length":20}}"#
    );

    /// What lies on disk: a change here is a new version, which reads the old ones.
    #[test]
    fn the_text_of_a_journal_stays_what_it_is() {
        let journal = Journal::read(SECOND.as_bytes()).unwrap();
        assert_eq!(serde_json::to_string(&journal).unwrap(), SECOND);
    }

    #[test]
    fn the_first_version_is_read_and_later_fields_are_passed_over() {
        let first = r#"{"verb":"dedup","keys":4,"inputs":[{"path":"/in/a.csv","offset":24,"head":1115763420654426519,"tail":18446744073709551615}],"output":["/out/a.csv",20]}"#;
        let mut second = Journal::read(SECOND.as_bytes()).unwrap();
        let later = SECOND.replace("{\"", "{\"new\":[1],\"");
        assert_eq!(Journal::read(later.as_bytes()).unwrap(), second);
        second.inputs[0].trace = None;
        assert_eq!(Journal::read(first.as_bytes()).unwrap(), second);
    }

    #[test]
    fn a_journal_of_a_later_version_or_of_another_verb_is_refused() {
        for (text, says) in [
            (SECOND.replace("\"version\":2", "\"version\":3"), "version 3"),
            (SECOND.replace("dedup", "nap"), "not one of dedup"),
            ("{}".into(), "not one of dedup"),
            ("[".into(), "not one of dedup"),
        ] {
            assert!(
                Journal::read(text.as_bytes()).is_err_and(|why| why.to_string().contains(says)),
                "{text}"
            );
        }
    }
}
