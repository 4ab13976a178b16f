//! What a disturbed run must leave, and what a run after it must make of that.
//!
//! - Whoever says that all went well has written what a run in peace writes.
//! - Else each output is whole, the old one or the new one; one that is continued has what it had, and after that
//!   a beginning of what a run in peace appends. All others are as they were, and an error leaves no litter.
//! - A second run, in peace, ends in what it would have ended in.

use crate::calls::{Call, Kind};
use crate::folder::{self, Folder, STDOUT};
use crate::jobs::{Job, Keeps, growth};
use crate::trace::{Aim, End, Ran, Stage};

/// A job, and what it does in peace.
pub struct Known {
    pub job: Job,
    /// What is there when it begins, and when it has ended.
    pub old: Folder,
    pub new: Folder,
    /// What may be there when it ends early, and what the same command makes of that: what was there before, the
    /// result of a part, and the new.
    points: Vec<(Folder, End, Folder)>,
    /// With a state: what a run makes of inputs that have grown.
    later: Option<Folder>,
    /// What standard output has, where that does not differ from run to run.
    stdout: bool,
    /// All calls, with their results.
    pub calls: Vec<(Call, i64)>,
}

/// How a run was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// With exit code 0.
    Well,
    /// With a message.
    WithError,
    /// It was killed, or the machine was.
    Dead,
}

/// What it may leave beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Litter {
    Nothing,
    /// Temporary files and locks: it was killed, or a removal failed.
    Temporary,
}

/// What came of it in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Right,
    /// The run after it refused to go on.
    Refused,
}

impl Known {
    /// Runs the job in peace, several times.
    pub fn of(job: &Job, stage: &Stage<'_>) -> Result<Known, String> {
        let old = job.prepare(stage)?;
        let said = |error: std::io::Error| format!("{}: {error}", job.name);
        let run = |line: &str| -> Result<(Ran, Folder), String> {
            let ran = stage.run(line).map_err(said)?;
            Ok((ran, folder::take(stage.folder).map_err(said)?))
        };
        let well = |(ran, after): (Ran, Folder)| match ran.end {
            End::Exit(0) => Ok(after),
            end => Err(format!("{}: in peace {end:?}: {}", job.name, ran.said)),
        };
        let line = job.line();
        job.begin(stage, &old)?;
        let first = well(run(&line)?)?;
        let (ran, again) = run(&line)?;
        let again = (ran.end, again);
        job.begin(stage, &old)?;
        let new = well(run(&line)?)?;
        let later = match job.kept() {
            Some(kept) => {
                folder::append(stage.folder, &growth(&kept, 1)).map_err(said)?;
                Some(well(run(&line)?)?)
            }
            None => None,
        };
        job.begin(stage, &old)?;
        let traced = stage.trace(&line, Aim::Record).map_err(said)?;
        let calls = traced.calls.clone();
        let seen = well((traced, folder::take(stage.folder).map_err(said)?))?;
        let stdout = first[STDOUT] == new[STDOUT];
        let mut points = vec![(old.clone(), End::Exit(0), new.clone()), (new.clone(), again.0, again.1)];
        if let Some(part) = job.part() {
            job.begin(stage, &old)?;
            let half = well(run(&part)?)?;
            let (ran, after) = run(&line)?;
            points.insert(1, (half, ran.end, after));
        }
        let known = Known { job: job.clone(), old, new, points, later, stdout, calls };
        known.same(&first, &known.new).map_err(|why| format!("{}: in peace: {why}", job.name))?;
        known.same(&seen, &known.new).map_err(|why| format!("{}: traced: {why}", job.name))?;
        if let Some((call, _)) = known.calls.iter().find(|(call, _)| call.kind == Kind::Unknown) {
            return Err(format!(
                "{}: {} on {} is not followed here",
                job.name,
                call.name,
                call.path.display()
            ));
        }
        Ok(known)
    }

    /// Whether this is a part of the state.
    fn is_state(&self, name: &str) -> bool {
        let Some(kept) = self.job.kept() else { return false };
        match kept.state.strip_suffix('/') {
            Some(folder) => name == folder || name.starts_with(kept.state),
            None => name == kept.state,
        }
    }

    fn is_continued(&self, name: &str) -> bool {
        self.job.kept().is_some_and(|kept| kept.continued.contains(&name))
    }

    /// Whether all outputs that last are the same.
    pub fn same_in_the_end(&self, found: &Folder, wanted: &Folder) -> Result<(), String> {
        let lasting = wanted.iter().filter(|(name, _)| *name != STDOUT);
        self.same(found, &lasting.map(|(name, bytes)| (name.clone(), bytes.clone())).collect())
    }

    /// Whether all outputs are the same.
    fn same(&self, found: &Folder, wanted: &Folder) -> Result<(), String> {
        for (name, bytes) in wanted {
            // Of a state, these are what was learned: ordinary files.
            let learned = ["state/filter.tamis", "state/counts.tamis"].contains(&name.as_str());
            let passed_over = (self.is_state(name) && !learned) || (name == STDOUT && !self.stdout);
            if !passed_over && !is_same(name, found.get(name), Some(bytes)) {
                return Err(format!("{name} is {}", different(found.get(name), bytes)));
            }
        }
        Ok(())
    }

    /// What a disturbed run has left.
    fn left(&self, after: &Folder, left: Left, litter: Litter) -> Result<(), String> {
        if left == Left::Well {
            self.same(after, &self.new)?;
        }
        for name in self.old.keys().chain(after.keys()) {
            if self.is_state(name) || name == STDOUT {
                continue;
            }
            let (old, new, now) = (self.old.get(name), self.new.get(name), after.get(name));
            if old.is_none() && new.is_none() {
                if litter == Litter::Nothing || !is_litter(name) {
                    return Err(format!("{name} is left behind"));
                }
            } else if self.is_continued(name) {
                let begins = |now: &[u8], with: Option<&Option<Vec<u8>>>| {
                    now.starts_with(with.and_then(|bytes| bytes.as_deref()).unwrap_or_default())
                };
                let whole = new.and_then(|new| new.as_deref()).unwrap_or_default();
                let found = now.and_then(|now| now.as_deref()).unwrap_or_default();
                if !begins(found, old) {
                    return Err(format!("{name} has lost what was committed"));
                }
                // Where power is lost, what was not synced may be zeros.
                if left != Left::Dead && !whole.starts_with(found) {
                    return Err(format!("{name} has other records than it should have"));
                }
            } else if !self.points.iter().any(|(point, ..)| is_same(name, now, point.get(name))) {
                return Err(format!("{name} is neither the old one nor the new one"));
            }
        }
        if left == Left::WithError && self.point(after).is_none() {
            return Err("some outputs are new and others are old after an error".into());
        }
        Ok(())
    }

    /// The point that all outputs that appear whole have come to; none where they are of different ones.
    fn point(&self, after: &Folder) -> Option<usize> {
        let whole = |name: &&String| !self.is_state(name) && !self.is_continued(name) && *name != STDOUT;
        let names: Vec<_> = self.old.keys().chain(self.new.keys()).filter(whole).collect();
        let is_at =
            |point: &Folder| names.iter().all(|name| is_same(name, after.get(*name), point.get(*name)));
        self.points.iter().position(|(point, ..)| is_at(point))
    }

    /// Judges what was left, and what a run in peace makes of it: the folder of the stage has it.
    pub fn judge(&self, stage: &Stage<'_>, left: Left, litter: Litter) -> Result<Outcome, String> {
        let said = |error: std::io::Error| error.to_string();
        let after = folder::take(stage.folder).map_err(said)?;
        self.left(&after, left, litter)?;
        let ran = stage.run(&self.job.line()).map_err(said)?;
        let rerun = folder::take(stage.folder).map_err(said)?;
        self.reran(&ran, &rerun, self.point(&after))
            .or_else(|why| match (left, ran.end) {
                // It may say that it cannot go on; then it changes nothing.
                (Left::Dead, End::Exit(1)) if self.job.kept().is_some() => self
                    .left(&rerun, left, litter)
                    .map(|()| Outcome::Refused)
                    .map_err(|why| format!("a refusal: {why}")),
                _ => Err(format!("the run after it: {why} ({:?}: {})", ran.end, ran.said.trim_end())),
            })
            .and_then(|outcome| match (outcome, self.job.kept(), &self.later) {
                (Outcome::Right, Some(kept), Some(later)) => {
                    folder::append(stage.folder, &growth(&kept, 1)).map_err(said)?;
                    let ran = stage.run(&self.job.line()).map_err(said)?;
                    let found = folder::take(stage.folder).map_err(said)?;
                    match self.same_in_the_end(&found, later) {
                        Ok(()) if ran.end == End::Exit(0) => Ok(outcome),
                        same => {
                            let why = same.err().unwrap_or_default();
                            Err(format!("later: {why} ({:?}: {})", ran.end, ran.said.trim_end()))
                        }
                    }
                }
                _ => Ok(outcome),
            })
    }

    /// Judges a run after one that came to this point.
    fn reran(&self, ran: &Ran, found: &Folder, point: Option<usize>) -> Result<Outcome, String> {
        let as_from = |(_, end, after): &(Folder, End, Folder)| match ran.end == *end {
            true => self.same_in_the_end(found, after),
            false => Err(format!("{:?}, not {end:?}", ran.end)),
        };
        let [first, ..] = &*self.points else { return Err("there is no point".into()) };
        match (self.job.keeps, point) {
            (Keeps::Changes, Some(point)) => as_from(&self.points[point]),
            // Of two files that belong together, one is new: that is seen, or does not matter.
            (Keeps::Changes, None) if ran.end == End::Exit(1) => Ok(()),
            (Keeps::Changes, None) => {
                self.points.iter().map(as_from).find(Result::is_ok).unwrap_or(Err("it goes on".into()))
            }
            _ => as_from(first),
        }
        .map(|()| Outcome::Right)
    }
}

/// What a run that was killed may leave: temporary files, and locks that nobody holds.
fn is_litter(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    (file.starts_with(".tamis-") && file.ends_with(".tmp"))
        || file.ends_with(".lock")
        || name.starts_with("tmp/")
}

/// Whether files are the same. A page has times in it: it is whole, and no more is asked.
fn is_same(name: &str, one: Option<&Option<Vec<u8>>>, other: Option<&Option<Vec<u8>>>) -> bool {
    let is_page = |file: Option<&Option<Vec<u8>>>| matches!(file, Some(Some(page)) if page.starts_with(b"<!") && page.trim_ascii_end().ends_with(b"</html>"));
    one == other || (name.ends_with(".html") && is_page(one) && is_page(other))
}

fn different(found: Option<&Option<Vec<u8>>>, wanted: &Option<Vec<u8>>) -> String {
    match (found, wanted) {
        (None, _) => "missing".into(),
        (Some(Some(found)), Some(wanted)) => {
            let place = found.iter().zip(wanted).take_while(|(found, wanted)| found == wanted).count();
            format!("{} bytes, not {}, and differs at {place}", found.len(), wanted.len())
        }
        _ => "a folder or no folder".into(),
    }
}
