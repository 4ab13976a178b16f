use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use tamis::about::Classes;
use tamis::key::{BadValue, Column};
use tamis::params::Name;
use tamis_jobs::classes::{self, Hits};
use tamis_jobs::locate::{Sought, Wanted};
use tamis_jobs::query::Asker;
use tamis_make::files::{self, Mapped};
use tamis_make::text::printable;
use tamis_make::{number, parallel, pipe};
use tamis_read::{Flow, Format, Options, RowResult, Sink, Sources};

use crate::notes;
use crate::progress;
use crate::show::{self, Output, unless_closed, usage};

/// Say which files, or other groups, may hold any of some keys
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis build logs/ --key 1 --delimiter ' ' --group '(file)' --fpr 1e-5 -o hosts.tamis
  tamis locate hosts.tamis 203.0.113.7                     which files may hold it
  grep -F 203.0.113.7 $(tamis locate hosts.tamis 203.0.113.7)
  tamis locate hosts.tamis --keys suspects.txt             the files to read for all of these
  tamis locate hosts.tamis --keys suspects.txt --by-key    for each key its files
  tamis locate hosts.tamis 203.0.113.7 --print0 | xargs -0 zgrep -F 203.0.113.7
  tamis add hosts.tamis logs/today.log --delimiter ' '     a new file in the index
  tamis remove-group hosts.tamis logs/2025-11-17.log       a file that is gone

Prints the groups, one per line; in an index by file (--group '(file)') they are the paths as they were named \
when the index was built. No file that holds one of the keys is missing (unless a step top=N of the index keeps the \
most frequent keywords alone, which is noted); some may be named by chance, and how \
many to expect is noted on standard error. With --by-key: a line per key and group, separated by a tab.

A key that the recipe cannot use is named on standard error, and the others are asked. Exit code as grep's: 0 \
if any group may hold a key, 1 if none, 2 on error.")]
pub struct Locate {
    /// The file of filters
    pub(super) file: PathBuf,
    /// The keys; parts of a compound key are separated by tabs
    keys: Vec<OsString>,
    /// A file of keys, one per line, plain or compressed; `-` for standard input
    #[arg(long = "keys", value_name = "FILE", conflicts_with = "keys")]
    from: Option<PathBuf>,
    /// Say for each key which groups may hold it
    #[arg(long)]
    by_key: bool,
    /// End each name with a null byte, and write it as it is: for xargs -0
    #[arg(long, conflicts_with = "by_key")]
    print0: bool,
}

/// What was found, as a whole.
struct Outcome {
    /// Whether any group may hold a key.
    any: bool,
    /// Whether a key could not be asked.
    bad: bool,
}

/// Says that a key could not be asked, as `query` does; the others are.
fn refused(key: &[u8], why: &BadValue) -> bool {
    show::error(format!("key {:?}: {why}", String::from_utf8_lossy(&key[..key.len().min(100)])));
    true
}

impl Locate {
    /// Locates them. Every error is exit code 2, as grep has it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        match self.locate(output) {
            Ok(Outcome { bad: true, .. }) => Ok(ExitCode::from(2)), // and said
            found => show::as_grep(found.map(|outcome| outcome.any)),
        }
    }

    fn locate(&self, output: &Output) -> Result<Outcome> {
        show::refuse_print0_as_json(self.print0, output)?;
        let file = files::open(&self.file)?;
        let params = file.params();
        if params.common.recipe.group.is_none() {
            return usage("this file has no groups, so there is nothing to locate; ask it with tamis query");
        }
        if params.common.kind.counts() {
            return usage("these sketches count and are asked with tamis query");
        }
        if params.common.recipe.has_key_each() {
            notes::most_frequent_only(output, &params.common.recipe);
        }
        if self.by_key {
            let (outcome, hits) = self.by_key(output, Asker::new(&file)?)?;
            self.say_classes(output, &file, hits);
            return Ok(outcome);
        }
        let mut sought = Sought::new(&file)?;
        let mut bad = false;
        for key in self.keys(output)? {
            if let Err(why) = sought.push(&key) {
                bad = refused(&key, &why);
            }
        }
        let located = progress::run(output, "asking", |control| {
            sought.locate(Wanted::Any, parallel::default_threads(), control)
        })?;
        // Which of several keys were found, groups do not tell.
        let found = if located.groups.is_empty() { 0 } else { sought.keys() };
        self.say_classes(output, &file, Hits { asked: sought.keys(), found });
        let names = located.groups.iter().map(|&group| &params.groups[group].group);
        if sought.keys() > 0 || !bad {
            output.note(format!(
                "{} of {} may hold {}; {} of them would be expected by chance",
                number::count(located.groups.len() as u64),
                number::counted(params.groups.len() as u64, "group"),
                match sought.keys() {
                    1 => "the key".to_owned(),
                    keys => format!("one of {} keys", number::count(keys)),
                },
                number::significant(located.by_chance, 2)
            ));
        }
        if output.json {
            let names: Vec<&Name> = names.collect();
            let answer = json!({
                "groups": names, "all_groups": params.groups.len(), "keys": sought.keys(),
                "expected_by_chance": located.by_chance,
            });
            unless_closed(writeln!(io::stdout().lock(), "{answer}"))?;
        } else {
            print_names(names, self.print0)?;
        }
        Ok(Outcome { any: !located.groups.is_empty(), bad })
    }

    /// Says that keys may be missed because they are written as text, where the file has other values.
    fn say_classes(&self, output: &Output, file: &Mapped, hits: Hits) {
        let fields = &file.params().common.recipe.key;
        let doubts = classes::of_scan(file.about().key_classes(), fields, Classes::TEXT, hits);
        doubts.iter().for_each(|doubt| notes::other_class(output, &self.file, doubt));
    }

    /// Says for each key which groups may hold it; and how many may be in any.
    fn by_key(&self, output: &Output, mut asker: Asker<'_>) -> Result<(Outcome, Hits)> {
        let mut out = BufWriter::new(io::stdout().lock());
        let (mut hits, mut bad, mut answers) = (Hits::default(), false, Vec::new());
        'keys: for key in self.keys(output)? {
            let groups = match asker.ask(&key) {
                Ok(groups) => groups,
                Err(why) => {
                    bad = refused(&key, &why);
                    continue;
                }
            };
            hits.hear(!groups.is_empty());
            if output.json {
                answers.push(json!({ "key": Name(key), "groups": groups }));
                continue;
            }
            for group in groups {
                let written = writeln!(out, "{}\t{}", printable(&key), printable(&group.0));
                if !unless_closed(written)? {
                    break 'keys;
                }
            }
        }
        if output.json {
            unless_closed(writeln!(out, "{}", json!(answers)))?;
        }
        unless_closed(out.flush())?;
        Ok((Outcome { any: hits.found > 0, bad }, hits))
    }

    /// Whether the keys come on standard input.
    pub(super) fn reads_stdin(&self) -> bool {
        self.from.as_ref().is_some_and(|path| path.as_os_str() == pipe::NAME)
    }

    /// The keys. Those of a file are its lines, read as all other input is.
    fn keys(&self, output: &Output) -> Result<Vec<Vec<u8>>> {
        let Some(path) = &self.from else {
            if self.keys.is_empty() {
                return usage("no keys: give them as arguments, or a file of them with --keys FILE");
            }
            return Ok(self.keys.iter().map(|key| key.as_encoded_bytes().to_vec()).collect());
        };
        let options = Options { format: Some(Format::Lines), ..Options::default() };
        let flow = self.reads_stdin().then(Flow::stdin);
        let sources = Sources::of(vec![(path.clone(), flow)], &options, &[Column::Line])?;
        let lists = progress::run(output, "reading keys", |control| {
            sources.scan_dyn(vec![List(Vec::new())], control) // one thread: in order
        })?;
        Ok(lists.into_iter().flat_map(|list| list.0).collect())
    }
}

/// Prints names for people, one per line; or as they are, each with a null byte after it.
pub(super) fn print_names<'n>(names: impl Iterator<Item = &'n Name>, print0: bool) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for name in names {
        let written = match print0 {
            true => out.write_all(&name.0).and_then(|()| out.write_all(b"\0")),
            false => writeln!(out, "{}", printable(&name.0)),
        };
        if !unless_closed(written)? {
            break;
        }
    }
    unless_closed(out.flush())?;
    Ok(())
}

/// Collects keys.
struct List(Vec<Vec<u8>>);

impl Sink for List {
    fn row(&mut self, _: Range<usize>, values: &[Option<&[u8]>]) -> RowResult {
        self.0.extend(values.iter().copied().flatten().filter(|key| !key.is_empty()).map(<[u8]>::to_vec));
        Ok(())
    }
}
