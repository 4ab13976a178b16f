use std::cmp::Reverse;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use tamis::format::Tally;
use tamis::params::{GroupParams, Name, Params};
use tamis::sizing::Kind;
use tamis_engine::health::{Health, health};
use tamis_engine::report::{Column, Table, group_name, number};
use tamis_engine::{Error, output as files};

use crate::show::{FEW, Output, Sheet, few, usage};

/// Show what a file holds: kind, recipe, and the state of every group
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
        let file = files::open(&self.file)?;
        let (mut params, mut tallies) = (file.params().clone(), file.tallies().to_vec());
        if let Some(name) = &self.group {
            let Some(at) = params.find(name.as_encoded_bytes()) else {
                let mut names: Vec<&Name> = params.groups.iter().map(|group| &group.group).collect();
                names.sort_by(|a, b| a.compare_naturally(b));
                let some: Vec<String> = names.iter().take(20).map(|name| group_name(name)).collect();
                let message = format!("has no group {name:?}; it has {}", some.join(", "));
                return Err(Error::Input { path: self.file, message }.into());
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
        summary(output, &self.file, &params, &tallies, Listed::All)
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

/// Shows the state of the groups, and warns of those that are overfull.
pub fn summary(
    output: &Output,
    path: &Path,
    params: &Params,
    tallies: &[Tally],
    listed: Listed,
) -> Result<ExitCode> {
    let kind = params.common.kind;
    let mut groups: Vec<(&GroupParams, &Tally, Health)> = params
        .groups
        .iter()
        .zip(tallies)
        .map(|(group, tally)| (group, tally, health(kind, group, tally)))
        .collect();
    groups.sort_by(|a, b| a.0.group.compare_naturally(&b.0.group));

    let bytes: u64 = groups.iter().map(|(group, ..)| group.shape.words(kind) * 8).sum();
    let mut lines = vec![format!(
        "{}: {kind}, hash {}, {}; {} in {}",
        path.display(),
        params.common.hash,
        params.common.recipe,
        number::bytes(bytes),
        number::counted(groups.len() as u64, "group")
    )];
    let json = json!({
        "path": path, "kind": kind, "hash": params.common.hash, "recipe": params.common.recipe,
        "bytes": bytes, "groups": groups.iter().map(as_json).collect::<Vec<_>>(),
    });
    let overfull: Vec<String> = groups
        .iter()
        .filter(|(.., health)| health.overfull)
        .take(20)
        .map(|(group, _, health)| health.overfull_text(&group.group, group.fpr, health.rate))
        .collect();
    if listed == Listed::Largest
        && let Some(all) = few(&mut groups, |(group, ..)| Reverse(group.keys))
    {
        let path = path.display();
        lines.push(format!(
            "These are the {FEW} largest of {} groups; tamis inspect {path} shows all, and so does --json.",
            number::count(all)
        ));
    }
    output.result(Sheet { table: table(kind, &groups), lines }, json)?;
    overfull.iter().for_each(|warning| output.warn(warning));
    Ok(ExitCode::SUCCESS)
}

fn table(kind: Kind, groups: &[(&GroupParams, &Tally, Health)]) -> Table {
    let mut columns = vec![Column::left("group")];
    let size = match kind {
        Kind::Fuse => "width",
        Kind::Scalable => "layers",
        _ => "k",
    };
    let names =
        ["rows", "planned keys", "estimated keys", "bits", size, "fill", "rate now", "target", "room for"];
    columns.extend(names.map(Column::right));
    let row = |(group, tally, health): &(&GroupParams, &Tally, Health)| {
        vec![
            group_name(&group.group),
            number::count(tally.rows),
            number::count(group.keys),
            health.keys_text(),
            number::count(group.shape.bits()),
            if kind == Kind::Fuse { group.shape.width } else { group.shape.hashes }.to_string(),
            number::percent(health.fill),
            number::rate(health.rate),
            number::rate(group.fpr),
            match health.capacity {
                Some(capacity) => number::count((capacity as f64 - health.keys).max(0.0) as u64),
                None if kind == Kind::Scalable => "any".into(),
                None => "static".into(),
            },
        ]
    };
    Table { columns, rows: groups.iter().map(row).collect(), ..Table::default() }
}

fn as_json((group, tally, health): &(&GroupParams, &Tally, Health)) -> Value {
    json!({
        "group": group.group, "rows": tally.rows, "planned_keys": group.keys,
        "estimated_keys": health.keys.is_finite().then_some(health.keys),
        "bits": group.shape.bits(), "hashes": group.shape.hashes, "width": group.shape.width,
        "ones": tally.ones, "fill": health.fill, "fpr_now": health.rate, "fpr_target": group.fpr,
        "capacity": health.capacity, "overfull": health.overfull,
    })
}
