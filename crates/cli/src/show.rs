//! What people and programs get to see.

use std::cmp::Reverse;
use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use tamis_jobs::ask::NoLayers;
use tamis_jobs::{dedup, filter, parquet, request};
use tamis_make::names::WrongName;
use tamis_make::text::visible_lines;
use tamis_make::{files, merge, pipe, written};
use tamis_read::Error;
use tamis_read::parquet::NoTable;
use tamis_read::refusal::{Refusal, Voice, say};
use tamis_report::Table;
use tamis_stream::Impossible;

use crate::interrupt;
use crate::words::Flags;

/// Where the help of a verb lists the options that all verbs have: after those of its own.
pub const GENERAL: &str = "General";

/// How results are shown.
#[derive(Debug, Args)]
pub struct Output {
    /// Print the result as JSON
    #[arg(long, global = true, help_heading = GENERAL)]
    pub json: bool,
    /// Print no notes, no progress, and no table about what was written
    #[arg(long, short, global = true, help_heading = GENERAL)]
    pub quiet: bool,
}

impl Output {
    /// Prints a result: a table for people or JSON for programs.
    pub fn result(&self, table: impl fmt::Display, json: Value) -> Result<()> {
        if self.json { print(&format!("{json:#}\n")) } else { print(&table.to_string()) }
    }

    /// Prints what is to be known of an output that was written. Who asks for quiet asks for the output alone.
    pub fn summary(&self, table: impl fmt::Display, json: Value) -> Result<()> {
        if self.quiet && !self.json { Ok(()) } else { self.result(table, json) }
    }

    /// Prints an object for programs, with a list among its fields that is made while it is printed: it may
    /// have millions of entries.
    pub fn json_with<'l>(&self, fields: Value, name: &'static str, list: List<'_, 'l>) -> Result<()> {
        let Value::Object(mut fields) = fields else { return self.result("", fields) };
        fields.insert(name.to_owned(), Value::Null);
        let mut out = BufWriter::new(io::stdout().lock());
        let printed = serde_json::to_writer_pretty(&mut out, &WithList { fields, name, list });
        unless_closed(
            printed.map_err(io::Error::from).and_then(|()| writeln!(out)).and_then(|()| out.flush()),
        )?;
        Ok(())
    }

    /// Says something on the side.
    pub fn note(&self, text: impl fmt::Display) {
        if !self.quiet {
            complain(text);
        }
    }

    /// Says something that should not be missed; `--quiet` does not silence it.
    pub fn warn(&self, text: impl fmt::Display) {
        complain(format_args!("warning: {text}"));
    }

    /// Whether progress should be shown.
    pub fn shows_progress(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }
}

/// Makes the entries of a list.
pub type List<'f, 'l> = &'f dyn Fn() -> Box<dyn Iterator<Item = Value> + 'l>;

/// An object, and a list in the place of the field of this name.
struct WithList<'f, 'l> {
    fields: Map<String, Value>,
    name: &'static str,
    list: List<'f, 'l>,
}

impl Serialize for WithList<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let entries = |name: &str| (name == self.name).then_some(Entries(self.list));
        let fields = self.fields.iter().map(|(name, value)| match entries(name) {
            Some(list) => (name, Field::List(list)),
            None => (name, Field::One(value)),
        });
        serializer.collect_map(fields)
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Field<'v, 'f, 'l> {
    One(&'v Value),
    List(Entries<'f, 'l>),
}

struct Entries<'f, 'l>(List<'f, 'l>);

impl Serialize for Entries<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// Text for standard output.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    unless_closed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))?;
    Ok(())
}

/// Whether there is still a reader: one that has gone away (`| head`) is no error.
pub fn unless_closed(result: io::Result<()>) -> io::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error),
    }
}

/// A line for standard error. That nobody reads it is no reason to fail, as `eprintln!` would. What comes from
/// files may be anything, and must not command the terminal.
pub fn complain(line: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{}", visible_lines(&line.to_string()));
}

/// A line that says what is wrong.
pub fn error(text: impl fmt::Display) {
    complain(format_args!("error: {text}"));
}

/// Tables of more groups than this are cut.
const MANY: usize = 40;

/// This many groups are left of them.
pub const FEW: usize = 20;

/// Of very many groups the few that come first in an order of their own, in the order they had; and
/// how many there are in all.
pub fn few<T, K: Ord>(groups: &mut Vec<T>, first: impl Fn(&T) -> K) -> Option<u64> {
    let all = groups.len();
    if all <= MANY {
        return None;
    }
    let mut ranked: Vec<usize> = (0..all).collect();
    ranked.sort_by_key(|&at| first(&groups[at])); // stable
    let mut kept = vec![false; all];
    ranked[..FEW].iter().for_each(|&at| kept[at] = true);
    let mut kept = kept.into_iter();
    groups.retain(|_| kept.next() == Some(true));
    Some(all as u64)
}

/// The largest of groups that come one by one, in the order in which they came.
#[derive(Debug, Default)]
pub struct Largest {
    came: usize,
    /// Places and sizes.
    few: Vec<(usize, u64)>,
}

impl Largest {
    /// The next group has this size.
    pub fn add(&mut self, size: u64) {
        self.few.push((self.came, size));
        self.came += 1;
        if self.few.len() > FEW {
            // Of those of one size, those that came first stay.
            let smallest = self.few.iter().min_by_key(|(place, size)| (*size, Reverse(*place)));
            let smallest = smallest.map_or(self.came, |(place, _)| *place);
            self.few.retain(|(place, _)| *place != smallest);
        }
    }

    /// Their places, where there are too many groups to list them all.
    pub fn places(self) -> Option<Vec<usize>> {
        (self.came > MANY).then(|| self.few.into_iter().map(|(place, _)| place).collect())
    }
}

/// A table and what stands below it. What comes from files must not command the terminal.
pub struct Sheet {
    /// The table.
    pub table: Table,
    /// Lines below it.
    pub lines: Vec<String>,
}

impl fmt::Display for Sheet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.table.text())?;
        if !self.lines.is_empty() {
            writeln!(f)?;
        }
        self.lines.iter().try_for_each(|line| writeln!(f, "{}", visible_lines(line)))
    }
}

/// Wrong usage that clap cannot see: exit code 2.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// An error of usage.
pub fn usage<T>(text: impl Into<String>) -> Result<T> {
    Err(Usage(text.into()).into())
}

/// Names between null bytes are no JSON.
pub fn refuse_print0_as_json(print0: bool, output: &Output) -> Result<()> {
    match print0 && output.json {
        true => {
            usage("--print0 writes names between null bytes, and --json an object: leave one of them out")
        }
        false => Ok(()),
    }
}

/// A request that cannot be served is wrong usage.
pub fn wrong(refusal: impl Refusal) -> anyhow::Error {
    wrong_by(&Flags, refusal)
}

/// The same, of a verb that does not have all options.
pub fn wrong_by(voice: &dyn Voice, refusal: impl Refusal) -> anyhow::Error {
    Usage(say(&refusal, voice)).into()
}

/// The same where other things can fail, too.
pub fn refused(error: Error) -> anyhow::Error {
    match error {
        Error::Refused(why) if is_usage(&*why) => Usage(say(&*why, &Flags)).into(),
        other => other.into(),
    }
}

/// The exit codes of grep: 0 where something was found, 1 where nothing was, 2 on every error.
pub fn as_grep(found: Result<bool>) -> Result<ExitCode> {
    match found {
        Ok(true) => Ok(ExitCode::SUCCESS),
        Ok(false) => Ok(ExitCode::FAILURE),
        Err(error) => {
            failure(&error);
            Ok(ExitCode::from(2))
        }
    }
}

/// Whether the request itself is refused, before any job.
fn is_usage(why: &dyn Refusal) -> bool {
    why.as_a::<request::Refusal>().is_some() || why.as_a::<tamis_stream::request::Refusal>().is_some()
}

/// Whether a job is refused that cannot be what was asked for, though it took the files that it names to tell
/// that: outputs that cannot be, and options that contradict each other. Nothing was written.
fn is_wrong_job(error: &Error) -> bool {
    use dedup::Refusal::{Packed, StrictSize, StrictState, Table};
    use files::Refusal::{IsInput, NamedTwice};
    let (Error::Input { why, .. } | Error::Refused(why)) = error else { return false };
    why.as_a::<WrongName>().is_some()
        || why.as_a::<written::Refusal>().is_some()
        || why.as_a::<NoTable>().is_some()
        || matches!(why.as_a(), Some(IsInput | NamedTwice | files::Refusal::Stdout))
        || matches!(why.as_a(), Some(pipe::Refusal::Terminal | pipe::Refusal::Exact | pipe::Refusal::Changed))
        || matches!(why.as_a(), Some(merge::Refusal::StdinTwice))
        || matches!(why.as_a(), Some(filter::Refusal::RemovedStrict))
        || matches!(why.as_a(), Some(parquet::Refusal::Twice { .. }))
        || why.as_a::<NoLayers>().is_some()
        || matches!(why.as_a(), Some(StrictState | StrictSize | Packed | Table))
        // That a stream comes compressed is told by its bytes alone.
        || why.as_a::<Impossible>().is_some_and(|why| *why != Impossible::Compressed)
}

/// Says what went wrong, and the exit code for it.
pub fn failure(error: &anyhow::Error) -> ExitCode {
    self::error(message(error));
    match error.downcast_ref::<Error>() {
        Some(Error::Interrupted) => ExitCode::from(interrupt::exit_code()),
        Some(error) if is_wrong_job(error) => ExitCode::from(2),
        _ if error.is::<Usage>() => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    }
}

/// What went wrong, with what led to it. Errors of a job say that themselves.
fn message(error: &anyhow::Error) -> String {
    match error.downcast_ref::<Error>() {
        Some(Error::File { source: tamis::Error::SuffixList { .. }, .. }) => {
            format!("{error} (--suffix-list FILE)")
        }
        Some(Error::File { source: tamis::Error::HashKey { .. }, .. }) => {
            format!("{error} (--hash-key FILE)")
        }
        Some(error) => error.said(&Flags),
        None => format!("{error:#}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_cause_is_said_once() {
        let gone = || io::Error::other("gone");
        let of_engine = Error::Io { path: "a".into(), source: gone() };
        assert_eq!(message(&of_engine.into()), "a: gone");
        let with_context = Err::<(), _>(gone()).context("b").unwrap_err();
        assert_eq!(message(&with_context), "b: gone");
    }
}
