//! The state between runs: a container with the keys that came before, and a journal that tells
//! how far the inputs were read and how long each output was then.
//!
//! Both change together, in one rename. Whatever moment a run is ended at, the state on disk is
//! the old one or the new one; output beyond the length that belongs to it is cut off by the next
//! run, which reads on from the offsets that belong to it. Output below that length is never touched:
//! its keys are remembered, so its records would never come again.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tamis::about::{About, Classes};
use tamis::format::{self, Beside, Extras};
use tamis::params::{Common, Params};
use tamis_read::error::{Error, Result};
use tamis_read::{Explained, Format};

use super::seen::Seen;
use super::{Notice, OutputRefusal, StateRefusal};
use crate::classes::{Converted, Doubt};
use tamis_make::failpoint::reach;
use tamis_make::files::{self, Draft, Mapped};
use tamis_make::place::{self, Place};
use tamis_make::resume::{Digest, Lock, Mark, named};

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
    inputs: Vec<Input>,
    /// Where first occurrences went, where that is a file.
    output: Option<Written>,
    /// Where repetitions went, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rejected: Option<Written>,
    /// Where bad rows were set aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bad_rows: Option<Written>,
    /// Where those of earlier runs went.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier_outputs: Vec<Written>,
}

/// How far an input was read: up to the beginning of its last line, where that had no end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Input {
    #[serde(flatten)]
    mark: Mark,
    /// The line after that, which was taken, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_line: Option<LastLine>,
}

/// A last line without a line end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LastLine {
    length: u64,
    digest: Digest,
}

impl LastLine {
    /// These bytes; none where there are none.
    pub(super) fn of(bytes: &[u8]) -> Option<LastLine> {
        (!bytes.is_empty()).then(|| LastLine { length: bytes.len() as u64, digest: Digest::of(bytes, 0) })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Verb {
    #[serde(rename = "dedup")]
    Dedup,
}

/// An output, how long it was, and what it looked like up to there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Written {
    path: String,
    length: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    head: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tail: Option<Digest>,
}

impl Written {
    /// An output of this name as it is in this file, up to this length.
    pub(super) fn of(path: &Path, file: &File, length: u64) -> Result<Written> {
        let mark = Mark::through(file, path, length).map_err(Error::io(path))?;
        Ok(Written { path: mark.path, length, head: Some(mark.head), tail: Some(mark.tail) })
    }

    /// Whether this file is meant, by whichever of its names.
    fn is_of(&self, path: &Path) -> bool {
        let place = Place::of(path);
        self.path == named(path) || (place.is_some() && place == Place::of(Path::new(&self.path)))
    }

    /// Refuses an output that lacks something of what was written.
    fn is_there(&self, path: &Path) -> Result<()> {
        let refused = |why: OutputRefusal| Err(Error::input(path, why));
        let found = place::look(path).map_err(Error::io(path))?.map(|file| file.len());
        if found.unwrap_or(0) < self.length {
            return refused(OutputRefusal::Shortened { length: self.length, found });
        }
        let Mark { head, tail, .. } = Mark::of(path, self.length).map_err(Error::io(path))?;
        // States of earlier programs have no digests of outputs.
        if self.head.is_some() && (Some(head), Some(tail)) != (self.head, self.tail) {
            return refused(OutputRefusal::Other);
        }
        Ok(())
    }
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
        let mark = |FirstMark { path, offset, head, tail }| Input {
            mark: Mark { path, offset, head: Digest(head), tail: Digest(tail), trace: None },
            last_line: None,
        };
        Journal {
            version: VERSION,
            verb,
            keys,
            inputs: inputs.into_iter().map(mark).collect(),
            output: output.map(|(path, length)| Written { path, length, head: None, tail: None }),
            rejected: None,
            bad_rows: None,
            earlier_outputs: Vec::new(),
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

    /// All outputs that there were, the last one first.
    pub(super) fn outputs(&self) -> Vec<Written> {
        let outputs = self.output.iter().chain(&self.rejected).chain(&self.bad_rows);
        outputs.chain(&self.earlier_outputs).cloned().collect()
    }

    /// Whether the output of the last run was this one.
    pub(super) fn wrote_to(&self, output: Option<&Path>) -> bool {
        match (&self.output, output) {
            (Some(written), Some(output)) => written.is_of(output),
            (written, output) => written.is_none() && output.is_none(),
        }
    }

    /// Lets inputs that were read before begin where they were left; those that are other files by now
    /// begin at their beginning. Says whether all inputs of the last run are there and go on.
    pub(super) fn go_on(&self, reached: &mut [Reached], notices: &mut Vec<Notice>) -> Result<bool> {
        let mut all = true;
        let named_now: HashSet<Place> = reached.iter().filter_map(|input| Place::of(&input.path)).collect();
        let is_named = |path: &Path| Place::of(path).is_some_and(|place| named_now.contains(&place));
        let at: HashMap<_, _> =
            reached.iter().enumerate().rev().map(|(at, place)| (named(&place.path), at)).collect();
        for input in &self.inputs {
            let Some(&at) = at.get(&input.mark.path) else {
                all = false;
                continue;
            };
            let place = &mut reached[at];
            let goes_on = place.go_on(input).map_err(Error::io(&place.path))?;
            if !goes_on && place.length.is_some() && input.mark.offset > 0 {
                let now = input.mark.renamed().filter(|now| !is_named(now));
                notices.push(Notice::OtherInput { path: place.path.clone(), now });
            }
            all &= goes_on;
        }
        Ok(all)
    }
}

/// How far an input was read, as the journal will say.
#[derive(Debug, Clone)]
pub(super) struct Reached {
    path: PathBuf,
    /// Whether its text is that of the file, so that reading can begin anywhere.
    pub(super) plain: bool,
    /// Its length when the run began; none for a stream.
    length: Option<u64>,
    /// How much of it is done: of plain text, its bytes; else nothing or all of them.
    pub(super) offset: u64,
    /// What was taken after that: a line without an end.
    pub(super) last_line: Option<LastLine>,
}

impl Reached {
    pub(super) fn of(input: &Explained) -> Result<Reached> {
        // A file of that name would be given as `./-`.
        let is_stdin = input.path == Path::new("-");
        let there = if is_stdin { None } else { place::look(&input.path).map_err(Error::io(&input.path))? };
        let length = there.filter(fs::Metadata::is_file).map(|file| file.len());
        let plain = length.is_some() && input.compression.is_none() && input.format != Format::Parquet;
        Ok(Reached { path: input.path.clone(), plain, length, offset: 0, last_line: None })
    }

    /// Notes that all of it was read.
    pub(super) fn end(&mut self) {
        if !self.plain {
            self.offset = self.length.unwrap_or(0);
        }
    }

    /// Whether nothing of it is left to read.
    pub(super) fn is_done(&self) -> bool {
        let done = self.offset.saturating_add(self.last_line.as_ref().map_or(0, |line| line.length));
        (!self.plain || self.last_line.is_some())
            && self.length.is_some_and(|length| length > 0 && done == length)
    }

    /// Begins where it was left, if it still begins with what was read of it.
    fn go_on(&mut self, input: &Input) -> io::Result<bool> {
        let mark = &input.mark;
        let there = self.length.is_some_and(|length| match self.plain {
            true => length >= mark.offset,
            false => mark.offset == 0 || length == mark.offset,
        });
        if !there || !mark.holds(&self.path)? {
            return Ok(false);
        }
        self.offset = mark.offset;
        if let Some(line) = &input.last_line {
            match line.now(&self.path, mark.offset)? {
                Taken::AsItWas => self.last_line = Some(line.clone()),
                Taken::Ended(end) => self.offset += line.length + end,
                Taken::Other => {}
            }
        }
        Ok(true)
    }

    fn input(&self) -> io::Result<Input> {
        Ok(Input { mark: Mark::of(&self.path, self.offset)?, last_line: self.last_line.clone() })
    }
}

/// What has become of a last line that was taken before it had an end.
enum Taken {
    /// It still has none.
    AsItWas,
    /// It has one, of this many bytes: it is done.
    Ended(u64),
    /// It goes on, or is another one: as it is now, it was never taken.
    Other,
}

impl LastLine {
    fn now(&self, path: &Path, offset: u64) -> io::Result<Taken> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(self.length.saturating_add(2)).read_to_end(&mut bytes)?;
        let Some((line, end)) = bytes.split_at_checked(self.length as usize) else { return Ok(Taken::Other) };
        // A line that ends in CR is another one if LF follows.
        Ok(match end {
            _ if Digest::of(line, 0) != self.digest => Taken::Other,
            [] => Taken::AsItWas,
            [b'\n', ..] if !line.ends_with(b"\r") => Taken::Ended(1),
            b"\r\n" => Taken::Ended(2),
            _ => Taken::Other,
        })
    }
}

/// A state file in use.
pub(super) struct State {
    path: PathBuf,
    common: Common,
    /// What is recorded about it.
    about: About,
    /// Rows added in all runs.
    pub(super) rows: u64,
    /// Outputs of earlier runs; none where it is no state yet.
    outputs: Option<Vec<Written>>,
    /// Whether a run that fails takes it away again: it is new, and says nothing yet.
    empty: bool,
    lock: Lock,
}
/// How an output begins.
pub(super) enum Begun {
    /// There is nothing yet.
    New,
    /// After this length.
    Continued(u64),
    /// In place of what is there, when all is written.
    Replaced,
}

impl State {
    /// For this file, which need not exist yet; nobody else may use it meanwhile.
    pub(super) fn new(path: &Path, common: Common, about: About, rows: u64, lock: Lock) -> State {
        State { path: path.into(), common, about, rows, outputs: None, empty: false, lock }
    }

    /// Records that keys are made from values of these classes, too; what is to be said where they are others than
    /// those of the keys that it remembers.
    pub(super) fn see(&mut self, classes: Classes) -> Vec<Doubt> {
        let known = match self.rows {
            0 if self.about.classes.is_empty() => Classes::NONE,
            _ => self.about.key_classes(),
        };
        self.about.record_classes(known.and(classes));
        if known.is_empty() {
            return Vec::new();
        }
        let fields = &self.common.recipe.key;
        let of_class = |class| fields.iter().find_map(|field| Doubt::of(known, field, class, Converted::No));
        classes.without(known).iter().filter_map(of_class).collect()
    }

    /// The same with what its journal says, if it has one.
    pub(super) fn with(mut self, journal: Option<&Journal>) -> State {
        self.outputs = journal.map(Journal::outputs);
        self
    }

    /// Whether the run before was ended from outside.
    pub(super) fn was_left(&self) -> bool {
        self.lock.was_left()
    }

    /// The file of its lock.
    pub(super) fn lock(&self) -> &Path {
        self.lock.path()
    }

    /// How this output begins. What is there and cannot be continued is refused, if its keys may be
    /// remembered: it would be lost.
    pub(super) fn begin(&self, output: &Path) -> Result<Begun> {
        let refused = |why: OutputRefusal| Err(Error::input(output, why));
        let written = self.outputs.iter().flatten().find(|written| written.is_of(output));
        let there = place::look(output).map_err(Error::io(output))?;
        let is_there = there.is_some_and(|file| file.len() > 0);
        match written {
            Some(written) => written.is_there(output).map(|()| Begun::Continued(written.length)),
            None if !is_there => Ok(Begun::New),
            None if self.outputs.is_some() => refused(OutputRefusal::Unknown),
            None => Ok(Begun::Replaced),
        }
    }

    /// Whether runs of it have written this file.
    pub(super) fn has_written(&self, output: &Path) -> bool {
        self.outputs.iter().flatten().any(|written| written.is_of(output))
    }

    /// Whether it has a journal: whether it knows which outputs it was used with.
    pub(super) fn knows_outputs(&self) -> bool {
        self.outputs.is_some()
    }

    /// Writes that outputs begin here, before anything is written to them.
    pub(super) fn announce(&mut self, seen: &Seen, reached: &[Reached], outputs: Outputs) -> Result<()> {
        let empty = self.empty || place::look(&self.path).map_err(Error::io(&self.path))?.is_none();
        self.commit(seen, reached, outputs)?;
        self.empty = empty;
        Ok(())
    }

    /// Writes keys and journal, together or not at all; with the outputs as they are on disk.
    pub(super) fn commit(&mut self, seen: &Seen, reached: &[Reached], outputs: Outputs) -> Result<()> {
        let commit = self.draft(seen, reached, outputs)?;
        self.finish(commit, Vec::new())
    }

    /// A commit that is not yet in its place.
    pub(super) fn draft(&self, seen: &Seen, reached: &[Reached], outputs: Outputs) -> Result<Commit> {
        let inputs = reached.iter().map(|place| place.input().map_err(Error::io(&place.path)));
        let Outputs { output, rejected, bad_rows } = outputs;
        let now = output.iter().chain(&rejected).chain(&bad_rows);
        let now: Vec<PathBuf> = now.map(|(path, _)| path.clone()).collect();
        let mut journal = Journal {
            version: VERSION,
            verb: Verb::Dedup,
            keys: seen.keys(),
            inputs: inputs.collect::<Result<_>>()?,
            output: output.map(|(_, written)| written),
            rejected: rejected.map(|(_, written)| written),
            bad_rows: bad_rows.map(|(_, written)| written),
            earlier_outputs: self.outputs.clone().unwrap_or_default(),
        };
        journal.earlier_outputs.retain(|written| !now.iter().any(|path| written.is_of(path)));
        let text = serde_json::to_vec(&journal).expect("a journal is plain data");
        let (kind, group) = seen.params()?;
        let params = Params::new(Common { kind, ..self.common.clone() }, vec![group])?;
        let (words, newest) = seen.words();
        let tally =
            format::seal(&params.groups[0].shape, words, self.rows, Beside::from_number(kind, newest));
        let extras = Extras { heavy: None, about: Some(&self.about), journal: &text };
        let draft = files::draft(&self.path, |mut out| {
            format::write(&mut out, &params, &[tally], words, extras)?;
            reach("dedup/half-written");
            Ok(())
        })?;
        Ok(Commit { draft, outputs: journal.outputs() })
    }

    /// Puts outputs and a commit that belongs to them in their places: the outputs first, all or none.
    pub(super) fn finish(&mut self, commit: Commit, outputs: Vec<Draft>) -> Result<()> {
        files::finish_all(outputs.into_iter().chain([commit.draft]))?;
        reach("dedup/renamed");
        self.outputs = Some(commit.outputs);
        self.empty = false;
        Ok(())
    }
}

/// The outputs of a run that are files, each by its name and as a commit has it.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    pub(super) output: Option<Named>,
    pub(super) rejected: Option<Named>,
    pub(super) bad_rows: Option<Named>,
}

/// An output by the name that was given for it.
pub(super) type Named = (PathBuf, Written);

/// A state that is written, and not yet in its place.
pub(super) struct Commit {
    draft: Draft,
    /// The outputs that it knows.
    outputs: Vec<Written>,
}

impl Drop for State {
    fn drop(&mut self) {
        if self.empty {
            let _ = fs::remove_file(&self.path);
        }
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
        second.inputs[0].mark.trace = None;
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
