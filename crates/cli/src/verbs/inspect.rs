use std::cmp::Reverse;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use serde_json::{Value, json};
use tamis::counting::MOST;
use tamis::format::Tally;
use tamis::key::{Recipe, keywords_of};
use tamis::params::{GroupParams, Name, Params};
use tamis::sizing::Kind;
use tamis_jobs::inspect as as_data;
use tamis_make::files;
use tamis_make::health::{Health, health, of_sketch};
use tamis_make::number;
use tamis_make::text::group_name;
use tamis_make::text::printable;
use tamis_read::Error;
use tamis_report::health::{keys_text, overfull_text};
use tamis_report::{Column, Table};

use super::counters;
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
    /// Shows it.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let file = files::open_as_is(&self.file)?;
        let (mut params, mut tallies) = (file.params().clone(), file.tallies().to_vec());
        if let Some(name) = &self.group {
            let Some(at) = params.find(name.as_encoded_bytes()) else {
                let mut names: Vec<&Name> = params.groups.iter().map(|group| &group.group).collect();
                names.sort_by(|a, b| a.compare_naturally(b));
                let some: Vec<String> = names.iter().take(20).map(|name| group_name(name)).collect();
                let more = match names.len() - some.len() {
                    0 => String::new(),
                    more => format!(" and {} more", number::count(more as u64)),
                };
                bail!("{}: has no group {name:?}; it has {}{more}", self.file.display(), some.join(", "));
            };
            params.groups = vec![params.groups[at].clone()];
            tallies = vec![tallies[at]];
        }
        if let Some(path) = &self.raw_bits {
            let [group] = &params.groups[..] else {
                return usage("--raw-bits writes one filter: name its group with --group");
            };
            files::check_is_no_input(path, [&self.file])?;
            let at = file.params().find(&group.group.0).expect("it was found there");
            file.verify(at).map_err(Error::file(&self.file))?;
            let bytes = group.shape.bits().div_ceil(8) as usize;
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
        summary_with(output, &self.file, &params, &tallies, Listed::All, More::about(&file))
    }
}

/// Which groups a table lists; JSON has all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// All.
    All,
    /// The largest, where they are very many.
    Largest,
}

/// What else is told of a file.
#[derive(Debug, Default)]
pub struct More {
    /// To people.
    pub lines: Vec<String>,
    /// To programs: the fields of an object.
    pub json: Value,
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
            lines.push(format!("declared of the text: {}", shown.join(", ")));
        }
        let mut json = json!({ "format_version": file.version() });
        if !about.is_empty() {
            json["about"] = json!(about);
        }
        More { lines, json }
    }
}

/// Shows the state of the groups, and warns of those that are overfull.
pub fn summary(
    output: &Output,
    path: &Path,
    params: &Params,
    tallies: &[Tally],
    listed: Listed,
) -> Result<ExitCode> {
    summary_with(output, path, params, tallies, listed, More::default())
}

/// The same, with more to tell programs.
pub fn summary_with(
    output: &Output,
    path: &Path,
    params: &Params,
    tallies: &[Tally],
    listed: Listed,
    more: More,
) -> Result<ExitCode> {
    let kind = params.common.kind;
    if kind.counts() {
        return counters::summary(output, path, params, tallies, listed, more);
    }
    // The layers of a layered filter are read: they are not filled alike. So are counters: full ones count.
    let read = matches!(kind, Kind::Layered | Kind::Counting).then(|| files::open_as_is(path)).transpose()?;
    let health_of = |group: &GroupParams, tally: &Tally| -> Result<Health> {
        let found = read.as_ref().and_then(|file| Some((file, file.params().find(&group.group.0)?)));
        Ok(match found {
            Some((file, at)) => of_sketch(kind, group, tally, &file.sketch(at)?),
            None => health(kind, group, tally),
        })
    };
    let mut groups: Vec<(&GroupParams, &Tally, Health)> = Vec::new();
    for (group, tally) in params.groups.iter().zip(tallies) {
        groups.push((group, tally, health_of(group, tally)?));
    }
    groups.sort_by(|a, b| a.0.group.compare_naturally(&b.0.group));

    let bytes: u64 = groups.iter().map(|(group, ..)| group.shape.words() * 8).sum();
    let mut lines = vec![format!(
        "{}: {kind}, hash {}, {}; {} in {}",
        path.display(),
        params.common.hash,
        params.common.recipe,
        number::bytes(bytes),
        number::counted(groups.len() as u64, "group")
    )];
    let mut json = json!({
        "path": path, "kind": kind, "hash": params.common.hash, "recipe": params.common.recipe,
        "bytes": bytes, "groups": groups.iter().map(|(group, tally, health)| as_data::filter(group, tally, health)).collect::<Vec<_>>(),
    });
    lines.extend(more.lines);
    as_data::extend(&mut json, more.json);
    let full: u64 = groups.iter().filter_map(|(.., health)| health.full).sum();
    let overfull: Vec<String> = groups
        .iter()
        .filter(|(.., health)| health.overfull)
        .take(20)
        .map(|(group, _, health)| overfull_text(health, &group.group, group.fpr(), health.rate))
        .collect();
    if listed == Listed::Largest
        && let Some(all) = few(&mut groups, |(group, ..)| Reverse(group.keys()))
    {
        let path = path.display();
        lines.push(format!(
            "These are the {FEW} largest of {} groups; tamis inspect {path} shows all, and so does --json.",
            number::count(all)
        ));
    }
    output.result(Sheet { table: table(kind, &groups), lines }, json)?;
    overfull.iter().for_each(|warning| output.warn(warning));
    if full > 0 {
        let (stay, it) = if full == 1 { ("stays", "it") } else { ("stay", "them") };
        output.warn(format!(
            "{} ran full (at {MOST}) and {stay} so whatever is removed: keys that were added that often, or share {it}, cannot be removed completely",
            number::counted(full, "counter")
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// A key for people: the keywords of a record, or the parts of a compound key, separated by bars.
pub fn key_text(recipe: &Recipe, key: &[u8]) -> String {
    if !recipe.of_keywords() && recipe.key.len() == 1 {
        return printable(key);
    }
    keywords_of(key).map(printable).collect::<Vec<_>>().join(" | ")
}

fn layers_table(mut columns: Vec<Column>, groups: &[(&GroupParams, &Tally, Health)]) -> Table {
    let names = [
        "rows",
        "estimated records",
        "planned per layer",
        "layers",
        "bits of a layer",
        "k",
        "fullest layer",
        "its rate now",
        "target",
        "whole, random records",
    ];
    columns.extend(names.map(Column::right));
    let row = |(group, tally, health): &(&GroupParams, &Tally, Health)| {
        vec![
            group_name(&group.group),
            number::count(tally.rows),
            keys_text(health),
            number::count(group.keys()),
            format!("{} + XOR", group.shape.layers()),
            number::count(group.shape.slots()),
            group.shape.hashes().to_string(),
            number::percent(health.fill),
            number::rate(health.rate),
            number::rate(group.fpr()),
            number::rate(health.whole.unwrap_or(1.0)),
        ]
    };
    Table { columns, rows: groups.iter().map(row).collect(), ..Table::default() }
}

fn table(kind: Kind, groups: &[(&GroupParams, &Tally, Health)]) -> Table {
    let mut columns = vec![Column::left("group")];
    if kind == Kind::Layered {
        return layers_table(columns, groups);
    }
    let size = match kind {
        Kind::Fuse => "width",
        Kind::Scalable => "layers",
        _ => "k",
    };
    let names =
        ["rows", "planned keys", "estimated keys", "bits", size, "fill", "rate now", "target", "room for"];
    columns.extend(names.map(Column::right));
    if kind == Kind::Counting {
        columns.insert(2, Column::right("removed"));
        columns.push(Column::right("full counters"));
    }
    let row = |(group, tally, health): &(&GroupParams, &Tally, Health)| {
        let mut row = vec![
            group_name(&group.group),
            number::count(tally.rows),
            number::count(group.keys()),
            keys_text(health),
            number::count(group.shape.bits()),
            if kind == Kind::Fuse { group.shape.width() } else { group.shape.hashes() }.to_string(),
            number::percent(health.fill),
            number::rate(health.rate),
            number::rate(group.fpr()),
            match health.capacity {
                Some(capacity) => number::count((capacity as f64 - health.keys).max(0.0) as u64),
                None if kind == Kind::Scalable => "any".into(),
                None => "static".into(),
            },
        ];
        if kind == Kind::Counting {
            row.insert(2, number::count(tally.removed()));
            row.push(health.full.map_or("-".into(), number::count));
        }
        row
    };
    Table { columns, rows: groups.iter().map(row).collect(), ..Table::default() }
}
