//! A model of a disk on which power is lost.
//!
//! The calls of a run are repeated on a disk of our own. What was synced is there afterwards. What was written to a file and not
//! synced may be there, or not, or a part of it, or zeros in its place; an entry of a folder that was made, renamed or
//! removed since the folder was synced may be as it is or as it was. A sync of a file says nothing of its name: most file
//! systems do more, none has to. A rename is one step.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::path::Path;

use crate::calls::{Call, Kind, What};
use crate::folder::{self, Folder, STDOUT};
use crate::judge::{Known, Left, Litter, Outcome};
use crate::trace::{Aim, End, Stage};

/// States that are tried for each call that changes something, if they are different ones: of jobs that go on where an
/// earlier run ended, and of others.
const TRIES: [usize; 2] = [80, 12];

/// What came of it.
#[derive(Debug, Default)]
pub struct Lost {
    /// Different states of the disk.
    pub states: usize,
    /// Those in which the next run refused to go on, and said why.
    pub refused: usize,
    pub wrong: Vec<String>,
}

/// Loses power at every moment of a job.
pub fn lose(stage: &Stage<'_>, known: &Known) -> Result<Lost, String> {
    known.job.begin(stage, &known.old)?;
    let before = folder::take(stage.folder).map_err(|error| error.to_string())?;
    let ran = stage.trace(&known.job.line(), Aim::Record).map_err(|error| error.to_string())?;
    if ran.end != End::Exit(0) {
        return Err(format!("in peace {:?}: {}", ran.end, ran.said));
    }
    let tries = TRIES[usize::from(known.job.kept().is_none())];
    let mut disk = Disk::of(&before);
    let (mut lost, mut seen, mut dice) = (Lost::default(), HashSet::new(), Dice(1));
    let calls = ran.calls.iter().filter(|(_, result)| *result >= 0);
    for (number, moment) in calls.map(Some).chain([None]).enumerate() {
        if let Some((call, result)) = moment {
            disk.change(call, *result)?;
        }
        if moment.is_some_and(|(call, _)| !call.changes()) {
            continue;
        }
        for attempt in 0..tries {
            let state = disk.lose_power(attempt, &mut dice);
            // At the end more is asked of the same state.
            if !seen.insert((moment.is_none(), digest(&state))) {
                continue;
            }
            lost.states += 1;
            folder::put(stage.folder, &state).map_err(|error| error.to_string())?;
            let lasts = if moment.is_none() { known.same_in_the_end(&state, &known.new) } else { Ok(()) };
            match lasts.and_then(|()| known.judge(stage, Left::Dead, Litter::Temporary)) {
                Ok(Outcome::Right) => {}
                Ok(Outcome::Refused) => lost.refused += 1,
                Err(why) => {
                    let after = moment.map_or("the end".into(), |(call, _)| {
                        format!("{} {}", call.name, call.path.display())
                    });
                    lost.wrong.push(format!(
                        "power is lost after call {number}, {after}: {why}; there was {}",
                        shown(&state)
                    ));
                }
            }
        }
    }
    Ok(lost)
}

fn shown(state: &Folder) -> String {
    let files = state.iter().map(|(name, bytes)| format!("{name} {}", bytes.as_ref().map_or(0, Vec::len)));
    files.collect::<Vec<_>>().join(", ")
}

fn digest(state: &Folder) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}

/// A file or a folder, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    File(usize),
    Folder,
}

#[derive(Debug, Clone)]
enum Change {
    Bytes(usize, Vec<u8>),
    Length(usize),
}

/// What is on the disk, and what is on its way.
#[derive(Debug, Clone, Default)]
struct Data {
    synced: Vec<u8>,
    pending: Vec<Change>,
}

/// Names that change together: what each leads to afterwards.
type Step = Vec<(String, Option<Node>)>;

#[derive(Debug, Clone, Default)]
struct Entries {
    synced: BTreeMap<String, Node>,
    pending: Vec<Step>,
}

#[derive(Debug, Default)]
struct Disk {
    files: Vec<Data>,
    /// Folders by their paths; that of all is empty.
    folders: BTreeMap<String, Entries>,
    /// What is where, as the program sees it.
    now: BTreeMap<String, Node>,
    /// Files by the numbers that the system gave them.
    numbers: HashMap<u64, usize>,
}

impl Disk {
    /// With this on it, synced.
    fn of(folder: &Folder) -> Disk {
        let mut disk = Disk { folders: [(String::new(), Entries::default())].into(), ..Disk::default() };
        for (path, bytes) in folder.iter().filter(|(name, _)| *name != STDOUT) {
            let node = match bytes {
                Some(bytes) => disk.file(bytes.clone()),
                None => Node::Folder,
            };
            disk.name(vec![(path, Some(node))]);
        }
        disk.folders.values_mut().for_each(Entries::sync);
        disk
    }

    fn file(&mut self, synced: Vec<u8>) -> Node {
        self.files.push(Data { synced, pending: Vec::new() });
        Node::File(self.files.len() - 1)
    }

    /// Gives and takes names, in one folder.
    fn name(&mut self, step: Vec<(&str, Option<Node>)>) {
        let folder = split(step[0].0).0.to_owned();
        for (path, node) in &step {
            match node {
                Some(node) => self.now.insert((*path).into(), *node),
                None => self.now.remove(*path),
            };
            if *node == Some(Node::Folder) {
                self.folders.entry((*path).into()).or_default();
            }
        }
        let step = step.into_iter().map(|(path, node)| (split(path).1.to_owned(), node)).collect();
        self.folders.entry(folder).or_default().pending.push(step);
    }

    /// Does what a call did.
    fn change(&mut self, call: &Call, result: i64) -> Result<(), String> {
        let path = plain(&call.path);
        if path == STDOUT {
            return Ok(());
        }
        let known = |number: &u64| {
            self.numbers.get(number).copied().ok_or(format!("{path}: no such file on the disk"))
        };
        match (&call.kind, &call.what) {
            (Kind::Open, What::Flags(flags, Some(number))) => {
                let unnamed = flags & libc::O_TMPFILE == libc::O_TMPFILE;
                if self.folders.contains_key(&path) && !unnamed {
                    return Ok(());
                }
                let there = self.now.get(&path).copied().filter(|_| !unnamed);
                let node = there.unwrap_or_else(|| self.file(Vec::new()));
                if let Node::File(file) = node {
                    self.numbers.insert(*number, file);
                    if flags & libc::O_TRUNC != 0 {
                        self.files[file].pending.push(Change::Length(0));
                    }
                }
                if there.is_none() && !unnamed {
                    self.name(vec![(&path, Some(node))]);
                }
            }
            (Kind::Write, What::Bytes(number, place, bytes)) => {
                let (file, bytes) = (known(number)?, bytes[..result as usize].to_vec());
                self.files[file].pending.push(Change::Bytes(*place as usize, bytes));
            }
            (Kind::Truncate, What::Length(number, length)) => {
                let file = known(number)?;
                self.files[file].pending.push(Change::Length(*length as usize));
            }
            (Kind::Sync, What::File(number)) => match self.folders.get_mut(&path) {
                Some(folder) => folder.sync(),
                None => {
                    let file = known(number)?;
                    self.files[file].sync();
                }
            },
            (Kind::Rename, _) => {
                let to = call.other.as_deref().map(plain).unwrap_or_default();
                if split(&path).0 != split(&to).0 {
                    return Err(format!("{path} is renamed into another folder, which is not followed here"));
                }
                let (from, there) = (self.now.get(&path).copied(), self.now.get(&to).copied());
                // Two names of one file stay.
                if from != there {
                    self.name(vec![(&path, None), (&to, from)]);
                }
            }
            (Kind::Link, _) => {
                // A file without a name is known by its number.
                let node = match &call.what {
                    What::File(number) => Some(Node::File(known(number)?)),
                    _ => self.now.get(&path).copied(),
                };
                let to = call.other.as_deref().map(plain).unwrap_or_default();
                self.name(vec![(&to, node)]);
            }
            (Kind::Unlink, _) => self.name(vec![(&path, None)]),
            (Kind::Mkdir, _) => self.name(vec![(&path, Some(Node::Folder))]),
            _ => {}
        }
        Ok(())
    }

    /// What may be found afterwards. At first: nothing that was not synced, then all of it, then names without data and data
    /// without names; then by chance.
    fn lose_power(&self, attempt: usize, dice: &mut Dice) -> Folder {
        let mut found = Folder::new();
        self.find("", attempt, dice, &mut found);
        found
    }

    fn find(&self, path: &str, attempt: usize, dice: &mut Dice, found: &mut Folder) {
        for (name, node) in self.folders[path].after(attempt, dice) {
            let path = if path.is_empty() { name } else { format!("{path}/{name}") };
            match node {
                Node::File(file) => drop(found.insert(path, Some(self.files[file].after(attempt, dice)))),
                Node::Folder => {
                    found.insert(path.clone(), None);
                    self.find(&path, attempt, dice, found);
                }
            }
        }
    }
}

impl Entries {
    fn sync(&mut self) {
        self.pending.drain(..).for_each(|step| follow(&mut self.synced, &step));
    }

    /// What may be found: none of the steps, all, those up to one of them, or any of them.
    fn after(&self, attempt: usize, dice: &mut Dice) -> BTreeMap<String, Node> {
        let mut found = self.synced.clone();
        let way = match attempt {
            0 | 3 => 0,
            1 | 2 => 1,
            _ => dice.below(4),
        };
        let last = if way == 2 { dice.below(self.pending.len() + 1) } else { self.pending.len() };
        for step in &self.pending[..last] {
            if way != 0 && (way != 3 || dice.below(2) == 0) {
                follow(&mut found, step);
            }
        }
        found
    }
}

fn follow(names: &mut BTreeMap<String, Node>, step: &Step) {
    for (name, node) in step {
        match node {
            Some(node) => names.insert(name.clone(), *node),
            None => names.remove(name),
        };
    }
}

impl Data {
    fn sync(&mut self) {
        self.pending.drain(..).for_each(|change| write(&mut self.synced, &change, usize::MAX));
    }

    /// What may be found: none of the changes, all, those up to one of them, the last of these torn, zeros in place
    /// of what was written, or any of them.
    fn after(&self, attempt: usize, dice: &mut Dice) -> Vec<u8> {
        let mut found = self.synced.clone();
        let way = match attempt {
            0 | 2 => 0,
            1 | 3 => 1,
            _ => dice.below(6),
        };
        let last = if way == 2 || way == 3 { dice.below(self.pending.len() + 1) } else { self.pending.len() };
        for (place, change) in self.pending[..last].iter().enumerate() {
            match (way, change) {
                (0, _) => {}
                (3, Change::Bytes(_, bytes)) if place + 1 == last => {
                    write(&mut found, change, dice.below(bytes.len() + 1))
                }
                (4, Change::Bytes(at, bytes)) => {
                    write(&mut found, &Change::Bytes(*at, vec![0; bytes.len()]), usize::MAX)
                }
                (5, _) if dice.below(2) == 0 => {}
                _ => write(&mut found, change, usize::MAX),
            }
        }
        found
    }
}

/// Applies a change, or this many bytes of it. Holes are zeros.
fn write(data: &mut Vec<u8>, change: &Change, most: usize) {
    match change {
        Change::Length(length) => data.resize(*length, 0),
        Change::Bytes(at, bytes) => {
            let bytes = &bytes[..most.min(bytes.len())];
            data.resize(data.len().max(at + bytes.len()), 0);
            data[*at..at + bytes.len()].copy_from_slice(bytes);
        }
    }
}

fn plain(path: &Path) -> String {
    if path == Path::new(".") { String::new() } else { path.to_string_lossy().into_owned() }
}

/// The folder of a path, and its name there.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The same numbers in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        // Vigna's SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn call(kind: Kind, path: &str, other: Option<&str>, what: What) -> Call {
        Call { name: "", kind, path: path.into(), other: other.map(PathBuf::from), what }
    }

    fn made(disk: &mut Disk, path: &str, number: u64, bytes: &[u8]) {
        disk.change(&call(Kind::Open, path, None, What::Flags(libc::O_CREAT, Some(number))), 3).unwrap();
        let write = call(Kind::Write, path, None, What::Bytes(number, 0, bytes.into()));
        disk.change(&write, bytes.len() as i64).unwrap();
    }

    fn all(disk: &Disk) -> HashSet<Folder> {
        let mut dice = Dice(7);
        (0..500).map(|attempt| disk.lose_power(attempt, &mut dice)).collect()
    }

    fn folder(files: &[(&str, &str)]) -> Folder {
        files.iter().map(|(name, text)| ((*name).into(), Some(text.as_bytes().into()))).collect()
    }

    #[test]
    fn what_was_not_synced_may_be_there_or_not_or_torn_or_zeros() {
        let mut disk = Disk::of(&folder(&[]));
        made(&mut disk, "a", 1, b"xyz");
        let texts = ["", "x", "xy", "xyz", "\0\0\0"];
        let found = texts.map(|text| folder(&[("a", text)])).into_iter().chain([folder(&[])]).collect();
        assert_eq!(all(&disk), found);
        disk.change(&call(Kind::Sync, "a", None, What::File(1)), 0).unwrap();
        assert_eq!(all(&disk), HashSet::from([folder(&[]), folder(&[("a", "xyz")])]));
        disk.change(&call(Kind::Sync, ".", None, What::File(0)), 0).unwrap();
        assert_eq!(all(&disk), HashSet::from([folder(&[("a", "xyz")])]));
    }

    #[test]
    fn a_rename_is_one_step_and_one_of_a_file_that_was_not_synced_may_lose_both() {
        let mut disk = Disk::of(&folder(&[("a", "old")]));
        made(&mut disk, "t", 1, b"n");
        disk.change(&call(Kind::Rename, "t", Some("a"), What::Nothing), 0).unwrap();
        let found = all(&disk);
        assert!(found.iter().all(|folder| folder.contains_key("a")));
        assert!(found.contains(&folder(&[("a", "")])) && found.contains(&folder(&[("a", "old")])));
    }

    #[test]
    fn a_file_of_two_names_is_one_file() {
        let mut disk = Disk::of(&folder(&[("a", "x")]));
        disk.change(&call(Kind::Link, "a", Some("b"), What::Nothing), 0).unwrap();
        disk.change(&call(Kind::Rename, "a", Some("b"), What::Nothing), 0).unwrap();
        assert_eq!(all(&disk), HashSet::from([folder(&[("a", "x")]), folder(&[("a", "x"), ("b", "x")])]));
    }
}
