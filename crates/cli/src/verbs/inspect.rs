use std::cmp::Reverse;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use tamis::counting::MOST;
use tamis::params::Name;
use tamis_jobs::inspect::{self as as_data, Group, State, Summary};
use tamis_make::text::printable;
use tamis_make::{files, groups, number};
use tamis_read::Error;

use super::counters;
use crate::notes;
use crate::show::{FEW, Output, Sheet, few, usage};

/// Show the contents of a file: kind, recipe, and the state of every group
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis inspect ratings.tamis
  tamis inspect ratings.tamis --json
  tamis inspect ratings.tamis --group 8 --raw-bits rating8.bits")]
pub struct Inspect {
    /// The file
    file: PathBuf,
    /// Show this group only
    #[arg(long)]
    group: Option<OsString>,
    /// Write the bit array of the group to a file: little-endian, ⌈bits/8⌉ bytes
    #[arg(long, value_name = "FILE")]
    raw_bits: Option<PathBuf>,
}

impl Inspect {
    /// The files that it names.
    pub(super) fn named(&self) -> super::Named<'_> {
        super::Named::outputs(&self.raw_bits).and_inputs([&self.file])
    }

    /// Shows it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let file = files::open_as_is(&self.file)?;
        let only = match &self.group {
            None => None,
            Some(name) => {
                let name = Name(name.as_encoded_bytes().to_vec());
                let at = groups::find(file.params(), &name);
                Some(at.map_err(|refusal| Error::input(&self.file, refusal))?)
            }
        };
        if let Some(path) = &self.raw_bits {
            let at = match (only, &file.params().groups[..]) {
                (Some(at), _) => at,
                (None, [_]) => 0,
                _ => return usage("--raw-bits writes one filter: name its group with --group"),
            };
            file.verify(at).map_err(Error::file(&self.file))?;
            let bytes = file.params().groups[at].shape.bits().div_ceil(8) as usize;
            let section = file.section(at);
            files::write_whole(path, |out| {
                let mut left = bytes;
                for word in section {
                    let some = left.min(8);
                    out.write_all(&word.to_le_bytes()[..some])?;
                    left -= some;
                }
                Ok(())
            })?;
            output.note(format!("{}: {} of bits", path.display(), number::bytes(bytes as u64)));
        }
        notes::keys_beside(output, &self.file, &file);
        show(output, &self.file, Summary::of(&file, only)?, Listed::All, More::about(&file))
    }
}

/// Which groups a table lists; JSON has all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listed {
    /// All.
    All,
    /// The largest, where they are very many.
    Largest,
}

/// What else is told of a file.
#[derive(Debug, Default)]
struct More {
    /// To people.
    lines: Vec<String>,
    /// To programs: the fields of an object.
    json: Value,
}

impl More {
    /// What is recorded about it.
    fn about(file: &files::Mapped) -> More {
        let about = file.about();
        let mut lines: Vec<String> = Vec::new();
        for (name, text) in [("note", &about.note), ("source", &about.source)] {
            lines.extend(text.as_ref().map(|text| format!("{name}: {}", printable(text.as_bytes()))));
        }
        let declared = &about.dialect;
        let header = declared.header.map(|header| if header { "yes" } else { "no" }.to_owned());
        let shown: Vec<String> = [
            ("delimiter", &declared.delimiter),
            ("quotes", &declared.quotes),
            ("header", &header),
            ("comment", &declared.comment),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name} {:?}", value.as_ref()?)))
        .collect();
        if !shown.is_empty() {
            lines.push(format!("declared dialect: {}", shown.join(", ")));
        }
        More { lines, json: as_data::about(file) }
    }
}

/// Shows the state of a file that was written.
pub fn written(output: &Output, path: &Path) -> Result<ExitCode> {
    written_with(output, path, Value::Null)
}

/// The same, with more to tell programs: the fields of an object.
pub fn written_with(output: &Output, path: &Path, json: Value) -> Result<ExitCode> {
    let file = files::open_as_is(path)?;
    let summary = Summary::of(&file, None)?;
    show(output, path, summary, Listed::Largest, More { json, ..More::default() })
}

/// Shows the state of the groups, and warns of those that are overfull.
fn show(
    output: &Output,
    path: &Path,
    mut summary: Summary<'_>,
    listed: Listed,
    more: More,
) -> Result<ExitCode> {
    let mut json = summary.json();
    json["path"] = json!(path);
    as_data::extend(&mut json, more.json);
    let mut lines = vec![tamis_report::inspect::headline(path, &summary)];
    lines.extend(heavy(&summary));
    lines.extend(more.lines);
    let mut warnings: Vec<String> = tamis_report::inspect::overfull(&summary.groups).take(20).collect();
    warnings.extend(ran_full(&summary));
    if listed == Listed::Largest
        && let Some(all) = few(&mut summary.groups, |group| Reverse(group.size()))
    {
        let path = path.display();
        lines.push(format!(
            "These are the {FEW} largest of {} groups; tamis inspect {path} shows all, and so does --json.",
            number::count(all)
        ));
    }
    let table = tamis_report::inspect::table(summary.common.kind, &summary.groups);
    output.result(Sheet { table, lines }, json)?;
    warnings.iter().for_each(|warning| output.warn(warning));
    Ok(ExitCode::SUCCESS)
}

/// What is kept beside sketches that count.
fn heavy(summary: &Summary<'_>) -> Option<String> {
    let share = summary.heavy_share?;
    let kept = |group: &Group<'_>| match &group.state {
        State::Counts(counts) => counts.heavy.unwrap_or(0),
        State::Filter(_) => 0,
    };
    Some(format!(
        "Keys with a share of {} or more are kept, {} in all: tamis top lists them.",
        number::percent(share),
        number::count(summary.groups.iter().map(kept).sum())
    ))
}

/// That counters ran full, and what follows.
fn ran_full(summary: &Summary<'_>) -> Option<String> {
    let full = |group: &Group<'_>| match &group.state {
        State::Counts(counts) => counts.census.saturated,
        State::Filter(health) => health.full.unwrap_or(0),
    };
    let full: u64 = summary.groups.iter().map(full).sum();
    let first = summary.groups.first().filter(|_| full > 0)?;
    if summary.common.kind.counts() {
        return Some(counters::ran_full(full, first.params.shape.width()));
    }
    let (stay, it) = if full == 1 { ("stays", "it") } else { ("stay", "them") };
    Some(format!(
        "{} ran full (at {MOST}) and {stay} so whatever is removed: keys that were added that often, or share {it}, cannot be removed completely",
        number::counted(full, "counter")
    ))
}
