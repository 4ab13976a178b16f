use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use tamis::params::{GroupParams, Name, Params};
use tamis::sizing::Kind;
use tamis_jobs::build::{self, Job, Planned, Sizing};
use tamis_jobs::design::{self, Design, Wishes};
use tamis_jobs::output as files;
use tamis_jobs::plan::Size;
use tamis_jobs::text::group_name;
use tamis_jobs::{counts, number, plan};
use tamis_report::{Column, Table, plot, stacked_svg};

use super::build::refuse_mixed;
use super::counters;
use crate::arguments::{self, Counting, Keys, Kinds, Reading};
use crate::show::{FEW, Output, Sheet, few, usage};
use crate::{notes, progress};

/// Work out sizes and rates: for numbers, or for a table, whose parameters are then saved
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis plan --keys 1e9 --fpr 0.01                     what each kind needs
  tamis plan --keys 1e9 --bits 8e9 --chart plan.svg    the rate for every number of hashes
  tamis plan --size 1GB --fpr 0.001                    how many keys fit
  tamis plan ratings.tsv --key tconst --group averageRating:round --fpr 0.01 -o params.json
  tamis plan --keys 1e6 --fpr 0.01 -o params.json      parameters without data
  tamis plan --kind count-min --epsilon 0.0001 --delta 0.01

Two of --keys, --fpr, --bits (or --size) and --bits-per-key fix the rest. All kinds are shown, or
the one that --kind or --hash names; parameters are saved for that one, or for blocked filters.
Filters that are built with the same saved parameters can be merged.")]
pub struct Plan {
    /// A table whose keys are counted: files, globs, folders, or `-`
    inputs: Vec<String>,
    /// Keys
    #[arg(long = "keys", value_parser = arguments::count, value_name = "N", help_heading = "Size")]
    count: Option<u64>,
    /// The rate of false positives
    #[arg(long, value_parser = arguments::rate, help_heading = "Size")]
    fpr: Option<f64>,
    /// Bits in all
    #[arg(long, value_parser = arguments::count, value_name = "N", help_heading = "Size", conflicts_with = "size")]
    bits: Option<u64>,
    /// Bits per key
    #[arg(long, value_parser = arguments::positive, value_name = "B", help_heading = "Size")]
    bits_per_key: Option<f64>,
    /// Bytes in all: 64MB, 1GiB
    #[arg(long, value_parser = arguments::bytes, help_heading = "Size")]
    size: Option<u64>,
    /// Save the parameters
    #[arg(long, short, value_name = "FILE.json")]
    output: Option<PathBuf>,
    /// Draw the rate against hashes and against bits per key
    #[arg(long, value_name = "FILE.svg")]
    chart: Option<PathBuf>,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    kinds: Kinds,
    #[command(flatten)]
    counting: Counting,
    #[command(flatten)]
    reading: Reading,
}

impl Plan {
    /// Works it out.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let size_of_filter = self.count.is_some()
            || self.fpr.is_some()
            || self.bits.is_some()
            || self.bits_per_key.is_some()
            || self.size.is_some();
        let kind = self.kinds.kind.unwrap_or(Kind::Blocked);
        refuse_mixed(kind, size_of_filter, self.counting.given())?;
        match (kind.counts(), self.inputs.is_empty()) {
            (true, _) => self.of_counters(output),
            (false, true) => self.of_numbers(output),
            (false, false) => self.of_data(output),
        }
    }

    /// Counters do not depend on the data: only the names of groups do.
    fn of_counters(self, output: &Output) -> Result<ExitCode> {
        let counters = self.counting.counters(None)?;
        let common = self.kinds.common(self.keys.recipe())?;
        if self.chart.is_some() {
            return usage("--chart draws rates of false positives, which counters do not have");
        }
        let params = if self.inputs.is_empty() {
            if self.keys.group.is_some() {
                return usage("the groups are found in a table: give one, or leave out --group");
            }
            counters.parameters(common, vec![Name::default()])?
        } else {
            if let Some(path) = &self.output {
                files::check(path)?;
                files::check_is_no_input(path, &self.inputs)?;
            }
            let job = Job {
                inputs: self.inputs,
                options: self.reading.options(),
                common,
                sizing: Sizing::Counters(counters),
                layers: None,
                heavy: None,
                distinct: false,
                bad_rows: self.reading.bad_rows(),
                threads: self.reading.threads(),
            };
            progress::run(output, "looking for groups", |control| counts::plan(&job, counters, control))?
        };
        if let Some(path) = &self.output {
            save(output, path, &params)?;
        }
        let by_error = (self.counting.width.is_none() && self.counting.depth.is_none())
            .then(|| self.counting.error(None));
        counters::show_plan(output, &params, by_error)
    }

    /// Layered filters are planned on their own: they hold records, not keys.
    fn of_layers(self, output: &Output) -> Result<ExitCode> {
        let bits = self.bits.or(self.size.map(|bytes| bytes.saturating_mul(8)));
        let size = match (self.fpr, self.bits_per_key, bits) {
            (Some(fpr), None, None) => Size::Fpr(fpr),
            (None, Some(each), None) => Size::BitsPerKey(each),
            (None, None, Some(bits)) => Size::Total(bits / 8),
            _ => return usage("give one of --fpr, --bits-per-key (of a layer), --bits and --size"),
        };
        let (Some(items), Some(layers)) = (self.count, self.kinds.layers) else {
            return usage(
                "a layered filter is planned for --keys N different keywords or records, whichever are more, in --layers N; or for a table, from which both follow",
            );
        };
        if self.keys.group.is_some() {
            return usage("the groups are found in a table: give one, or leave out --group");
        }
        let mut recipe = self.keys.recipe();
        if !recipe.of_keywords() && self.output.is_none() {
            recipe.key = vec![":whole".parse()?]; // rates do not depend on how keywords are made
        }
        let common = self.kinds.common(recipe)?;
        let layers = plan::layers(&common, size, Some(layers), None)?;
        let params = plan::parameters(common, vec![(Name::default(), items)], size, layers)?;
        if let Some(path) = &self.output {
            save(output, path, &params)?;
        }
        show(output, &params)
    }

    fn of_numbers(self, output: &Output) -> Result<ExitCode> {
        if self.kinds.kind == Some(Kind::Layered) {
            return self.of_layers(output);
        }
        let bits = self.bits.or(self.size.map(|bytes| bytes.saturating_mul(8)));
        let common = self.kinds.common(self.keys.recipe())?;
        let wishes = Wishes {
            keys: self.count,
            fpr: self.fpr,
            bits,
            bits_per_key: self.bits_per_key,
            only: self.kinds.chosen().then_some((common.kind, common.hash)),
        };
        let design = design::design(wishes).or_else(|error| usage(error.to_string()))?;
        let charts = tamis_report::design::charts(&design);
        if let Some(path) = &self.chart {
            let svg = stacked_svg(&charts);
            files::write_whole(path, |out| out.write_all(svg.as_bytes()))?;
            output.note(format!("{}: the charts", path.display()));
        }
        if let Some(path) = &self.output {
            let Some(keys) = self.count else {
                return usage("parameters are saved for a number of keys: give --keys, or a table");
            };
            if self.keys.group.is_some() {
                return usage("the groups are found in a table: give one, or leave out --group");
            }
            let size = match (wishes.fpr, wishes.bits_per_key, bits) {
                (Some(fpr), ..) => Size::Fpr(fpr),
                (_, Some(each), _) => Size::BitsPerKey(each),
                (.., bits) => Size::Total(bits.unwrap_or(0) / 8),
            };
            let layers = plan::layers(&common, size, self.kinds.layers, None)?;
            save(output, path, &plan::parameters(common, vec![(Name::default(), keys)], size, layers)?)?;
        }
        let mut text = Sheet { table: kinds_table(&design), lines: Vec::new() }.to_string();
        for (kind, reason) in &design.refused {
            text += &format!("{kind}: {reason}\n");
        }
        if wishes.fpr.is_none() && !design.by_hashes.is_empty() {
            text += &format!("\n{}", hashes_table(&design).text());
        }
        for chart in &charts {
            text += &format!("\n{}", plot(chart, 72, 14));
        }
        let json = json!({
            "kinds": design.options.iter().map(|offer| json!({
                "kind": offer.kind, "keys": offer.keys, "bits": offer.shape.bits(), "hashes": offer.shape.hashes,
                "width": offer.shape.width, "bytes": offer.shape.words(offer.kind) * 8,
                "bits_per_key": offer.shape.bits() as f64 / offer.keys as f64, "fpr": offer.rate,
            })).collect::<Vec<_>>(),
            "by_hashes": design.by_hashes.iter().map(|(hashes, rate)| json!({ "hashes": hashes, "fpr": rate })).collect::<Vec<_>>(),
        });
        output.result(text, json)?;
        Ok(ExitCode::SUCCESS)
    }

    fn of_data(self, output: &Output) -> Result<ExitCode> {
        if self.count.is_some() {
            return usage("the keys of a table are counted: leave out --keys, or the table");
        }
        let size = match (self.fpr, self.bits_per_key, self.bits, self.size) {
            (fpr, None, None, None) => Size::Fpr(fpr.unwrap_or(0.01)),
            (None, Some(each), None, None) => Size::BitsPerKey(each),
            (None, None, Some(bits), None) => Size::Total(bits / 8),
            (None, None, None, Some(bytes)) => Size::Total(bytes),
            _ => {
                return usage(
                    "the keys are counted, so one of --fpr, --bits, --size and --bits-per-key fixes the rest",
                );
            }
        };
        if self.chart.is_some() {
            return usage("--chart draws a plan of numbers: leave out the table");
        }
        if let Some(path) = &self.output {
            files::check(path)?;
            files::check_is_no_input(path, &self.inputs)?;
        }
        let job = Job {
            inputs: self.inputs,
            options: self.reading.options(),
            common: self.kinds.common(self.keys.recipe())?,
            sizing: Sizing::Count(size),
            layers: self.kinds.layers,
            heavy: None,
            distinct: false,
            bad_rows: self.reading.bad_rows(),
            threads: self.reading.threads(),
        };
        let Planned { params, counted, inputs } =
            progress::run(output, "counting", |control| build::plan(&job, size, control))?;
        notes::inputs(output, &inputs);
        notes::estimated(output, counted.estimating());
        notes::skipped(output, counted.skipped);
        notes::lone_keywords(output, counted.lone_keywords());
        if let Some(path) = &self.output {
            save(output, path, &params)?;
        }
        show(output, &params)
    }
}

fn show(output: &Output, params: &Params) -> Result<ExitCode> {
    let mut groups: Vec<&GroupParams> = params.groups.iter().collect();
    groups.sort_by(|a, b| a.group.compare_naturally(&b.group));
    let cut = few(&mut groups, |group| Reverse(group.keys));
    let cut = cut
        .map(|all| format!("These are the {FEW} largest of {} groups; --json has all.", number::count(all)));
    let table = groups_table(params.common.kind, &groups);
    let mut json = serde_json::to_value(params)?;
    if params.common.kind == Kind::Layered
        && let Some(groups) = json["groups"].as_array_mut()
    {
        for (json, group) in groups.iter_mut().zip(&params.groups) {
            let (layer, whole) = layered_rates(group);
            json["layers"] = group.shape.layers().into();
            json["fpr_layer"] = layer.into();
            json["fpr_random_records"] = whole.into();
        }
    }
    output.result(Sheet { table, lines: cut.into_iter().collect() }, json)?;
    Ok(ExitCode::SUCCESS)
}

/// The expected rate of a layer, which is that for recombined records too, and that of the whole
/// for random ones.
fn layered_rates(group: &GroupParams) -> (f64, f64) {
    let layer = Kind::Layered.expected_rate(&group.shape, group.keys);
    (layer, tamis::layered::whole_rate(layer, group.shape.layers()))
}

fn save(output: &Output, path: &Path, params: &Params) -> Result<()> {
    files::write_whole(path, |out| out.write_all(params.to_json().as_bytes()))?;
    let (kind, hash) = (params.common.kind, params.common.hash);
    let what = if kind.counts() { "sketches" } else { "filters" };
    output.note(format!("{}: the parameters of {kind} {what}, hash {hash}", path.display()));
    Ok(())
}

fn kinds_table(design: &Design) -> Table {
    let mut columns = vec![Column::left("kind")];
    columns.extend(
        ["keys", "bits", "bits/key", "hashes", "width", "memory", "expected rate"].map(Column::right),
    );
    let row = |offer: &design::Offer| {
        vec![
            offer.kind.to_string(),
            number::count(offer.keys),
            number::count(offer.shape.bits()),
            format!("{:.3}", offer.shape.bits() as f64 / offer.keys as f64),
            offer.shape.hashes.to_string(),
            offer.shape.width.to_string(),
            number::bytes(offer.shape.words(offer.kind) * 8),
            number::rate(offer.rate),
        ]
    };
    Table { columns, rows: design.options.iter().map(row).collect(), ..Table::default() }
}

fn hashes_table(design: &Design) -> Table {
    let best = design.by_hashes.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map(|(hashes, _)| *hashes);
    let columns = vec![Column::right("hashes"), Column::right("rate (bloom)"), Column::left("")];
    let row = |(hashes, rate): &(u32, f64)| {
        let mark = if Some(*hashes) == best { "best" } else { "" };
        vec![hashes.to_string(), number::rate(*rate), mark.into()]
    };
    Table { columns, rows: design.by_hashes.iter().map(row).collect(), ..Table::default() }
}

fn groups_table(kind: Kind, groups: &[&GroupParams]) -> Table {
    let mut columns = vec![Column::left("group")];
    if kind == Kind::Layered {
        return layers_table(groups, columns);
    }
    columns.extend(["keys", "bits", "bits/key", "hashes", "memory", "expected rate"].map(Column::right));
    let row = |group: &&GroupParams| {
        vec![
            group_name(&group.group),
            number::count(group.keys),
            number::count(group.shape.bits()),
            format!("{:.3}", group.shape.bits() as f64 / group.keys as f64),
            group.shape.hashes.to_string(),
            number::bytes(group.shape.words(kind) * 8),
            number::rate(kind.expected_rate(&group.shape, group.keys)),
        ]
    };
    Table { columns, rows: groups.iter().map(row).collect(), ..Table::default() }
}

fn layers_table(groups: &[&GroupParams], mut columns: Vec<Column>) -> Table {
    let names = [
        "most in a layer",
        "layers",
        "bits of a layer",
        "hashes",
        "memory",
        "rate of a layer",
        "random records",
        "recombined",
    ];
    columns.extend(names.map(Column::right));
    let row = |group: &&GroupParams| {
        let (layer, whole) = layered_rates(group);
        vec![
            group_name(&group.group),
            number::count(group.keys),
            format!("{} + XOR", group.shape.layers()),
            number::count(group.shape.slots),
            group.shape.hashes.to_string(),
            number::bytes(group.shape.words(Kind::Layered) * 8),
            number::rate(layer),
            number::rate(whole),
            number::rate(layer),
        ]
    };
    let notes = vec![
        "Rates at most, for records of one keyword in each layer: random ones must pass all layers, those recombined \
         from members' keywords the XOR layer alone."
            .into(),
    ];
    Table { columns, rows: groups.iter().map(row).collect(), notes, ..Table::default() }
}
