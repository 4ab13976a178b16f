//! The state folder: what a run that is ended at any moment leaves to the next.
//!
//! | file | what |
//! |---|---|
//! | `lock` | keeps a second process away |
//! | `job.json` | the [identity](super::identity) of the job; another one is refused |
//! | `filter-N.tamis` | the filters after batch N: an ordinary file; `filter.tamis` is the newest |
//! | `counts-N.tamis` | the counts after batch N, in the same way; `counts.tamis` is the newest |
//! | `filter-pane-T-N.tamis` | with windows: what belongs to the pane that begins at T, as of batch N |
//! | `commit.json` | which batch, how far the streams were read, how long the output was |
//! | `plan.log` | the batches since: where each begins and ends in all streams |
//! | `spool-…` | what came from streams that cannot be read again |
//! | `pipe-…` | which pipe that was |
//! | `kafka-id` | by which a broker knows whose answers it has |
//!
//! `job.json`, `commit.json` and each line of `plan.log` are `{"sum":"…","of":…}`: the checksum is that of
//! the bytes after `"of":`, up to the last brace. Fields that are not known are passed over.
//!
//! `commit.json` is replaced in one rename, after all it speaks of is on disk. A line of `plan.log`
//! is written before its batch runs, and has a checksum: one that was not written to its end does
//! not count. A later run goes back to the commit, cuts the output to its length, and runs the
//! logged batches again, each with the same records. It may be ended, too: a line stays in the log
//! until every batch of it is committed.
//!
//! With windows, the moment of a batch stands in its line of the log: that is when its rows arrived,
//! however often it is run. A pane that no more rows come to is written once, and is gone with the
//! first commit after it has expired.

use std::collections::{HashSet, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tamis::sizing::Kind;
use tamis_make::failpoint::reach;
use tamis_make::files;
use tamis_make::place::folder_of;
use tamis_make::resume::{Digest, Lock};
use tamis_read::error::{Error, Result};

use super::folder;
use super::identity::{Identity, VERSION, differences};
use super::refusal::{CannotResume, Failed};
use super::role::ByRole;
use super::source::Place;

/// More batches than these come to nobody; their number can always be counted on.
const MOST_BATCHES: u64 = 1 << 62;

/// A commit: a moment to which a later run can go back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Commit {
    pub(super) version: u32,
    /// Batches that are done.
    pub(super) batch: u64,
    /// How far the streams were read.
    #[serde(flatten)]
    pub(super) streams: ByRole<Option<Begin>>,
    /// How long the outputs were, where that is known.
    pub(super) output: Option<u64>,
    pub(super) counts_output: Option<u64>,
    /// The files that hold what was learned.
    pub(super) filter: Option<String>,
    pub(super) counts: Option<String>,
    /// The keys for which filters were rebuilt, where they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) keys: Option<u64>,
    /// With windows: how far time has come, and the files of panes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) window: Option<PaneFiles>,
    /// Where bad rows were set aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bad_rows: Option<SetAside>,
}

/// A file of bad rows, and how long it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SetAside {
    pub(super) path: String,
    pub(super) length: u64,
}

/// The panes of windows, by their numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PaneFiles {
    /// The newest time, in milliseconds since 1970.
    pub(super) newest: Option<i64>,
    pub(super) filter: Vec<(i64, String)>,
    pub(super) counts: Vec<(i64, String)>,
}

impl Commit {
    /// The file that holds what sketches of this kind have learned.
    pub(super) fn learned(&self, kind: Kind) -> Option<&String> {
        if kind.counts() { self.counts.as_ref() } else { self.filter.as_ref() }
    }

    /// The first field with a value that no run writes. The checksum says that the bytes are those that were
    /// written, not who wrote them: what is counted on, joined to a path or opened is looked at first.
    /// Places and bookmarks are looked at by the sources they belong to.
    fn unlikely(&self) -> Option<&'static str> {
        let panes = self.window.clone().unwrap_or_default();
        let all_panes =
            |kind: &str, files: &[(i64, String)]| files.iter().all(|(_, name)| is_pane(kind, name));
        let wrong = [
            ("batch", self.batch > MOST_BATCHES),
            ("filter", self.filter.as_ref().is_some_and(|name| !is_learned("filter", name))),
            ("counts", self.counts.as_ref().is_some_and(|name| !is_learned("counts", name))),
            ("keys", self.keys == Some(0)),
            ("window.filter", !all_panes("filter", &panes.filter)),
            ("window.counts", !all_panes("counts", &panes.counts)),
        ];
        wrong.into_iter().find_map(|(field, wrong)| wrong.then_some(field))
    }

    /// The files that it speaks of.
    fn files(&self) -> impl Iterator<Item = &String> {
        let panes = self.window.iter().flat_map(|panes| panes.filter.iter().chain(&panes.counts));
        [&self.filter, &self.counts].into_iter().flatten().chain(panes.map(|(_, file)| file))
    }
}

/// Where a stream goes on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Begin {
    pub(super) place: Place,
    pub(super) bookmark: Value,
}

/// A batch that was begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Planned {
    pub(super) batch: u64,
    /// From where to where, in each stream.
    #[serde(flatten)]
    pub(super) streams: ByRole<Option<(Place, Place)>>,
    /// With windows: the moment that it was, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) moment: Option<i64>,
    /// How many records it had, of streams that can lose some.
    #[serde(default, skip_serializing_if = "ByRole::is_empty")]
    pub(super) records: ByRole<Option<u64>>,
}

/// A text of JSON with a checksum of its bytes before it.
fn seal(text: &str) -> String {
    format!("{{\"sum\":\"{}\",\"of\":{text}}}\n", Digest::of(text.as_bytes(), 0))
}

/// The text, if the checksum is that of its bytes as they lie there: whatever else a later program has
/// written into it, it is whole.
fn unseal(bytes: &[u8]) -> Option<&[u8]> {
    let (sum, rest) = bytes.strip_prefix(b"{\"sum\":\"")?.split_at_checked(16)?;
    let text = rest.strip_prefix(b"\",\"of\":")?.strip_suffix(b"}\n")?;
    (sum == Digest::of(text, 0).to_string().as_bytes()).then_some(text)
}

fn to_json<T: Serialize>(of: &T) -> Result<String> {
    serde_json::to_string(of).map_err(|error| Failed::from(error).into())
}

/// A state folder in use.
pub(super) struct State {
    folder: PathBuf,
    log: File,
    /// The last batch that is logged or committed.
    logged: u64,
    lock: Arc<Lock>,
}

impl State {
    /// Uses this folder, which is made where it is not there. Gives the last commit, and the
    /// batches that were begun since.
    pub(super) fn open(folder: &Path, job: &Identity) -> Result<(State, Option<Commit>, VecDeque<Planned>)> {
        if fs::metadata(folder).is_ok_and(|there| !there.is_dir()) {
            return Err(Error::input(folder, CannotResume::NoFolder));
        }
        make(folder)?;
        folder::check(folder)?;
        let lock = Lock::at(&folder.join("lock"), folder)?;
        let path = folder.join("job.json");
        let asked = job.text()?;
        match fs::read(&path) {
            Ok(bytes) => {
                let stored = read_job(&path, &bytes)?;
                if is_begun(folder)? {
                    refuse_other(folder, stored, &asked)?;
                } else if unseal(&bytes) != Some(asked.as_bytes()) {
                    write_job(&path, &asked)?; // the other job came to nothing
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let strangers = strangers(folder)?;
                if let Some(name) = strangers.first() {
                    return Err(Error::input(folder, CannotResume::Occupied(name.clone())));
                }
                write_job(&path, &asked)?;
            }
            Err(error) => return Err(Error::Io { path, source: error }),
        }
        State::open_own(folder, lock)
    }

    /// The same, of a folder that is known to belong to the job.
    fn open_own(folder: &Path, lock: Lock) -> Result<(State, Option<Commit>, VecDeque<Planned>)> {
        let commit = read_commit(folder)?;
        let done = commit.as_ref().map_or(0, |commit| commit.batch);
        let path = folder.join("plan.log");
        let (planned, valid) = read_plan(&path, done, u64::MAX)?;
        let log = OpenOptions::new().create(true).truncate(false).append(true).open(&path);
        let log = log.map_err(Error::io(&path))?;
        // What was not written to its end, or follows a gap, would spoil what is appended.
        cut(&log, valid).map_err(Error::io(&path))?;
        let logged = planned.back().map_or(done, |last| last.batch);
        let state = State { folder: folder.into(), log, logged, lock: Arc::new(lock) };
        if let Some(commit) = &commit {
            state.name_newest(commit)?;
            files::sync_folder(folder)?;
        }
        state.tidy(commit.as_ref())?;
        Ok((state, commit, planned))
    }

    /// What keeps others away, for those who write to the folder when the run has ended: readers.
    pub(super) fn lock(&self) -> Arc<Lock> {
        Arc::clone(&self.lock)
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file in the folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Notes that a batch begins.
    pub(super) fn log(&mut self, planned: &Planned) -> Result<()> {
        let line = seal(&to_json(planned)?);
        self.log.write_all(line.as_bytes()).map_err(Error::io(self.path("plan.log")))?;
        self.logged = planned.batch;
        Ok(())
    }

    /// Makes sure that the logged batches last.
    pub(super) fn sync_log(&self) -> Result<()> {
        self.log.sync_data().map_err(Error::io(self.path("plan.log")))
    }

    /// Forgets the logged batches after this one, which will be planned again.
    pub(super) fn forget_after(&mut self, last: u64) -> Result<()> {
        if last < self.logged {
            let path = self.path("plan.log");
            let (_, valid) = read_plan(&path, last, last)?;
            cut(&self.log, valid).map_err(Error::io(&path))?;
            self.logged = last;
        }
        Ok(())
    }

    /// Replaces the commit, and what belonged to the one before. All that the new one speaks of
    /// must be on disk.
    pub(super) fn commit(&mut self, mut commit: Commit) -> Result<()> {
        commit.version = VERSION;
        let text = seal(&to_json(&commit)?);
        files::write_whole(&self.path("commit.json"), |out| {
            out.write_all(text.as_bytes())?;
            reach("stream/half-written");
            Ok(())
        })?;
        reach("stream/renamed");
        self.name_newest(&commit)?;
        reach("stream/linked");
        // What the commit before needs is there until this one is sure to last.
        files::sync_folder(&self.folder)?;
        reach("stream/lasting");
        // Batches of an earlier run that are still to be run again stand in the log alone.
        if commit.batch >= self.logged {
            self.log.set_len(0).map_err(Error::io(self.path("plan.log")))?;
            self.logged = commit.batch;
        }
        reach("stream/log-cut");
        self.tidy(Some(&commit))
    }

    /// Gives the newest files the names that people use.
    fn name_newest(&self, commit: &Commit) -> Result<()> {
        [&commit.filter, &commit.counts].into_iter().flatten().try_for_each(|name| {
            let known = name.split('-').next().unwrap_or_default();
            link(&self.folder, name, &format!("{known}.tamis")).map_err(Error::io(self.path(name)))
        })
    }

    /// Removes what belonged to earlier commits.
    fn tidy(&self, commit: Option<&Commit>) -> Result<()> {
        let kept: HashSet<&String> = commit.iter().flat_map(|commit| commit.files()).collect();
        for name in names(&self.folder)? {
            let old = is_of_a_commit(&name) && !kept.contains(&name);
            if old || is_temporary(&name) {
                let path = self.path(&name);
                fs::remove_file(&path).map_err(Error::io(&path))?;
            }
        }
        Ok(())
    }
}

/// Makes a folder that lasts, if there is none.
fn make(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = folder_of(folder);
    make(parent)?;
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(Error::io(folder)(error)),
        _ => {}
    }
    files::sync_folder(parent)
}

/// Cuts a log that is appended to.
fn cut(log: &File, length: u64) -> io::Result<()> {
    if log.metadata()?.len() > length {
        log.set_len(length)?;
        log.sync_data()?;
    }
    Ok(())
}

fn is_temporary(name: &str) -> bool {
    name.starts_with(".tamis-") && name.ends_with(".tmp")
}

/// What stands in a name between these two.
fn between<'a>(name: &'a str, kind: &str) -> Option<&'a str> {
    name.strip_prefix(kind)?.strip_prefix('-')?.strip_suffix(".tamis")
}

/// Whether this is a number as it is written here.
fn is_number<T: FromStr + ToString>(text: &str) -> bool {
    text.parse::<T>().is_ok_and(|number| number.to_string() == text)
}

/// Whether a file of this name has what was learned up to a batch. Any other may be somebody's own.
fn is_learned(kind: &str, name: &str) -> bool {
    between(name, kind).is_some_and(is_number::<u64>)
}

/// Whether a file of this name has a pane of it.
fn is_pane(kind: &str, name: &str) -> bool {
    let parts = between(name, kind).and_then(|name| name.strip_prefix("pane-")?.rsplit_once('-'));
    parts.is_some_and(|(start, batch)| is_number::<i64>(start) && is_number::<u64>(batch))
}

/// Whether a file of this name has something that a commit speaks of, or spoke of.
fn is_of_a_commit(name: &str) -> bool {
    ["filter", "counts"].iter().any(|kind| is_learned(kind, name) || is_pane(kind, name))
}

/// Whether a run opens or replaces a file of this name in a state folder, if it is there.
pub(super) fn is_used(name: &str) -> bool {
    let is_kept_beside = ["filter-", "counts-"].iter().any(|prefix| name.starts_with(prefix));
    is_of_state(name) && (!is_kept_beside || is_of_a_commit(name))
}

/// Whether a file of this name in a state folder is one of the state, or may become one.
pub(super) fn is_of_state(name: &str) -> bool {
    let of_a_run = ["filter-", "counts-", "spool-", "pipe-"].iter().any(|prefix| name.starts_with(prefix));
    let own = ["lock", "job.json", "plan.log", "commit.json", "kafka-id", "filter.tamis", "counts.tamis"];
    of_a_run || own.contains(&name) || is_temporary(name)
}

/// Gives a file another name as well, in place of whatever has it.
fn link(folder: &Path, file: &str, name: &str) -> io::Result<()> {
    let temporary = folder.join(format!(".tamis-{name}.tmp"));
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = folder.join(file);
    fs::hard_link(&file, &temporary).or_else(|_| fs::copy(&file, &temporary).map(drop))?;
    fs::rename(&temporary, folder.join(name))?;
    // Two names of one file are not renamed into each other: the temporary one stays.
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        names.push(entry.map_err(Error::io(folder))?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// What is in the folder that no state has.
fn strangers(folder: &Path) -> Result<Vec<String>> {
    let own = |name: &String| name == "lock" || is_temporary(name);
    Ok(names(folder)?.into_iter().filter(|name| !own(name)).collect())
}

fn write_job(path: &Path, job: &str) -> Result<()> {
    files::write_whole(path, |out| out.write_all(seal(job).as_bytes()))
}

/// Whether anything was done that a later run could go on with.
fn is_begun(folder: &Path) -> Result<bool> {
    let log = fs::metadata(folder.join("plan.log"));
    let begun = |name: &String| name == "commit.json" || name.starts_with("spool-");
    Ok(log.is_ok_and(|log| log.len() > 0) || names(folder)?.iter().any(begun))
}

/// The job of a folder; none if it is of the first version, which had its fields and nothing around them.
fn read_job(path: &Path, bytes: &[u8]) -> Result<Option<Value>> {
    let parsed = |text: &[u8]| serde_json::from_slice::<Value>(text).ok();
    let job = match unseal(bytes) {
        Some(text) => parsed(text).map(Some),
        None => parsed(bytes).filter(|job| job.get("--batch").is_some()).map(|_| None),
    };
    job.ok_or_else(|| Error::input(path, CannotResume::Damaged))
}

/// Refuses to go on with what another job, or another version of the program, has begun.
fn refuse_other(folder: &Path, stored: Option<Value>, asked: &str) -> Result<()> {
    let refused = |why: CannotResume| Err(Error::input(folder, why));
    let Some(stored) = stored else { return refused(CannotResume::FirstVersion) };
    let version = stored.get("version").unwrap_or(&Value::Null);
    if version.as_u64() != Some(u64::from(VERSION)) {
        return refused(CannotResume::Version(version.to_string()));
    }
    // Both from text, so that equal numbers are read alike.
    let asked = serde_json::from_str(asked).map_err(Failed::from)?;
    let differences = differences(&stored, &asked);
    if differences.is_empty() {
        return Ok(());
    }
    refused(CannotResume::OtherJob(differences))
}

fn read_commit(folder: &Path) -> Result<Option<Commit>> {
    let path = folder.join("commit.json");
    let refused = |why: CannotResume| Error::input(path.clone(), why);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::Io { path, source: error }),
    };
    let text = unseal(&bytes).ok_or_else(|| refused(CannotResume::Damaged))?;
    match serde_json::from_slice::<Commit>(text) {
        Ok(commit) if commit.version == VERSION => match commit.unlikely() {
            Some(field) => Err(refused(CannotResume::OutOfRange(field.into()))),
            None => Ok(Some(commit)),
        },
        Ok(commit) => Err(refused(CannotResume::Version(commit.version.to_string()))),
        Err(_) => Err(refused(CannotResume::Damaged)),
    }
}

/// The batches after `done`, up to `last`, that were logged without a gap, and how long the log is up
/// to the last of them.
fn read_plan(path: &Path, done: u64, last: u64) -> Result<(VecDeque<Planned>, u64)> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        read => read.map_err(Error::io(path))?,
    };
    let (mut planned, mut valid): (VecDeque<Planned>, u64) = Default::default();
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let Some(batch) = unseal(line).and_then(|text| serde_json::from_slice::<Planned>(text).ok()) else {
            break;
        };
        let next = planned.back().map_or(done, |before| before.batch) + 1;
        let is_done = batch.batch <= done && planned.is_empty();
        if batch.batch > last || !is_done && batch.batch != next {
            break;
        }
        valid += line.len() as u64;
        if !is_done {
            planned.push_back(batch);
        }
    }
    Ok((planned, valid))
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::super::identity::tests::job;
    use super::super::role::Role;

    fn training(from: Place, to: Place) -> ByRole<Option<(Place, Place)>> {
        ByRole::of(|role| (role == Role::Train).then(|| (from.clone(), to.clone())))
    }

    fn planned(batch: u64) -> Planned {
        let place = |offset| Place(vec![0, offset]);
        Planned {
            batch,
            streams: training(place(batch), place(batch + 1)),
            moment: None,
            records: ByRole::default(),
        }
    }

    #[test]
    fn a_later_run_finds_the_commit_and_the_batches_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("new/state");
        let (mut state, commit, plan) = State::open(&folder, &job(5)).unwrap();
        assert!(commit.is_none() && plan.is_empty());
        assert!(
            State::open(&folder, &job(5)).is_err_and(|error| error.to_string().contains("another process"))
        );
        (1..=2).for_each(|batch| state.log(&planned(batch)).unwrap());
        fs::write(folder.join("filter-2.tamis"), "two").unwrap();
        let two = Commit { batch: 2, filter: Some("filter-2.tamis".into()), ..Commit::default() };
        state.commit(two).unwrap();
        (3..=5).for_each(|batch| state.log(&planned(batch)).unwrap());
        drop(state);
        // A line that was not written to its end does not count, and neither does what follows it.
        let mut log = fs::read(folder.join("plan.log")).unwrap();
        log.truncate(log.len() - 3);
        fs::write(folder.join("plan.log"), &log).unwrap();
        let (mut state, commit, plan) = State::open(&folder, &job(5)).unwrap();
        assert_eq!(commit.unwrap().batch, 2);
        assert_eq!(plan, [planned(3), planned(4)]);
        state.log(&planned(5)).unwrap();
        drop(state);
        assert_eq!(State::open(&folder, &job(5)).unwrap().2.len(), 3);
        assert_eq!(fs::read_to_string(folder.join("filter.tamis")).unwrap(), "two");
    }

    /// A run is killed; the next one commits while it runs the logged batches again, and is killed.
    #[test]
    fn a_commit_between_batches_that_are_run_again_forgets_none_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let open = || State::open(folder.path(), &job(5)).unwrap();
        let commit = |batch| Commit { batch, ..Commit::default() };
        let (mut state, ..) = open();
        (1..=4).for_each(|batch| state.log(&planned(batch)).unwrap());
        drop(state);
        let (mut state, _, plan) = open();
        assert_eq!(plan.len(), 4);
        state.commit(commit(2)).unwrap();
        drop(state);
        let (mut state, done, plan) = open();
        assert_eq!((done.unwrap().batch, plan), (2, [planned(3), planned(4)].into()));
        state.commit(commit(3)).unwrap();
        state.commit(commit(4)).unwrap();
        assert_eq!(fs::metadata(folder.path().join("plan.log")).unwrap().len(), 0);
        state.log(&planned(5)).unwrap();
        drop(state);
        assert_eq!(open().2, [planned(5)]);
    }

    /// Batch 3 of an earlier run, whose records are gone, ended elsewhere than the new one does.
    #[test]
    fn a_batch_that_is_made_anew_replaces_the_one_that_was_logged() {
        let folder = tempfile::tempdir().unwrap();
        let open = || State::open(folder.path(), &job(5)).unwrap();
        let streams = training(Place(vec![0, 3]), Place(vec![0, 77]));
        let other = Planned { streams, ..planned(3) };
        let (mut state, ..) = open();
        (1..=4).for_each(|batch| state.log(&planned(batch)).unwrap());
        state.forget_after(2).unwrap();
        state.forget_after(7).unwrap();
        state.log(&other).unwrap();
        drop(state);
        assert_eq!(open().2, [planned(1), planned(2), other.clone()]);
        // The same, where a line is missing.
        let (mut state, ..) = open();
        state.forget_after(0).unwrap();
        [1, 2, 4, 5].iter().for_each(|&batch| state.log(&planned(batch)).unwrap());
        drop(state);
        let (mut state, _, plan) = open();
        assert_eq!(plan.len(), 2);
        state.log(&other).unwrap();
        drop(state);
        assert_eq!(open().2, [planned(1), planned(2), other]);
    }

    #[test]
    fn what_belonged_to_an_earlier_commit_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (mut state, ..) = State::open(folder.path(), &job(5)).unwrap();
        for batch in 1..=3 {
            let name = format!("filter-{batch}.tamis");
            fs::write(folder.path().join(&name), batch.to_string()).unwrap();
            state.commit(Commit { batch, filter: Some(name), ..Commit::default() }).unwrap();
        }
        let names = names(folder.path()).unwrap();
        assert_eq!(names, ["commit.json", "filter-3.tamis", "filter.tamis", "job.json", "lock", "plan.log"]);
        assert_eq!(fs::read_to_string(folder.path().join("filter.tamis")).unwrap(), "3");
    }

    #[test]
    fn files_that_people_keep_beside_the_state_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (mut state, ..) = State::open(folder.path(), &job(5)).unwrap();
        let own = ["filter-backup.tamis", "filter-01.tamis", "counts-pane-1.tamis", "filter-pane-x-1.tamis"];
        let old =
            ["filter-0.tamis", "counts-12.tamis", "filter-pane-60000-1.tamis", "counts-pane--5-1.tamis"];
        own.iter().chain(&old).for_each(|name| fs::write(folder.path().join(name), "x").unwrap());
        state.commit(Commit { batch: 1, ..Commit::default() }).unwrap();
        assert!(own.iter().all(|name| folder.path().join(name).exists()));
        assert!(!old.iter().any(|name| folder.path().join(name).exists()));
    }

    #[test]
    fn another_job_a_damaged_commit_and_a_folder_of_other_things_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let refused = |job| State::open(path, &job).err().map(|error| error.to_string()).unwrap_or_default();
        fs::write(path.join("holiday.jpg"), "x").unwrap();
        assert!(refused(job(5)).contains("holiday.jpg"));
        fs::remove_file(path.join("holiday.jpg")).unwrap();
        drop(State::open(path, &job(4)).unwrap());
        let (mut state, ..) = State::open(path, &job(5)).unwrap(); // the first has done nothing
        state.log(&planned(1)).unwrap();
        drop(state);
        let message = refused(job(6));
        assert!(message.contains("the size of a batch is 5 there and 6 here:"), "{message}");
        let (mut state, ..) = State::open(path, &job(5)).unwrap();
        state.commit(Commit { batch: 7, ..Commit::default() }).unwrap();
        drop(state);
        let text = fs::read_to_string(path.join("commit.json")).unwrap();
        fs::write(path.join("commit.json"), text.replace("\"batch\":7", "\"batch\":8")).unwrap();
        assert!(refused(job(5)).contains("damaged"));
    }

    /// As a later program might write them, which knows more.
    #[test]
    fn fields_that_are_not_known_are_passed_over_and_a_flipped_bit_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let (mut state, ..) = State::open(path, &job(5)).unwrap();
        state.commit(Commit { batch: 1, ..Commit::default() }).unwrap();
        state.log(&planned(2)).unwrap();
        drop(state);
        for name in ["job.json", "commit.json", "plan.log"] {
            let bytes = fs::read(path.join(name)).unwrap();
            let text = String::from_utf8(unseal(&bytes).unwrap().into()).unwrap();
            let more = text.replacen('{', "{ \"of a later program\":null,", 1);
            fs::write(path.join(name), seal(&more)).unwrap();
        }
        let (_, commit, plan) = State::open(path, &job(5)).unwrap();
        assert_eq!((commit.unwrap().batch, plan), (1, [planned(2)].into()));
        for name in ["job.json", "commit.json"] {
            let bytes = fs::read(path.join(name)).unwrap();
            let flipped = |bit: usize| {
                let mut broken = bytes.clone();
                broken[bit / 8] ^= 1 << (bit % 8);
                broken
            };
            assert!((0..8 * bytes.len()).all(|bit| unseal(&flipped(bit)).is_none()), "{name}");
            fs::write(path.join(name), flipped(8 * bytes.len() - 100)).unwrap();
            let error = State::open(path, &job(5)).err().map(|error| error.to_string());
            assert!(error.unwrap().contains("damaged"), "{name}");
            fs::write(path.join(name), bytes).unwrap();
        }
        assert!(State::open(path, &job(5)).is_ok());
    }

    #[test]
    fn a_state_of_another_version_is_refused_unless_it_came_to_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let refused = || State::open(path, &job(5)).err().map(|error| error.to_string()).unwrap_or_default();
        let later = job(5).text().unwrap().replacen("\"version\": 2", "\"version\": 3", 1);
        for (text, says) in [(seal(&later), "version 3"), ("{\"--batch\":5}".into(), "tamis 0.1.0")] {
            fs::write(path.join("job.json"), &text).unwrap();
            fs::write(path.join("plan.log"), "x").unwrap();
            assert!(refused().contains(says), "{}", refused());
            fs::write(path.join("plan.log"), "").unwrap();
            drop(State::open(path, &job(5)).unwrap());
        }
        fs::write(path.join("job.json"), "{\"salary\":5}").unwrap();
        assert!(refused().contains("job.json"));
    }
}
