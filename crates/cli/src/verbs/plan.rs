use std::cmp::Reverse;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use tamis::params::{GroupParams, Params};
use tamis::sizing::Kind;
use tamis_jobs::request::{self, NoMore, PlanJob};
use tamis_make::build::{self, Job, Planned};
use tamis_make::design::{self, Design, Offer, Wishes};
use tamis_make::files;
use tamis_make::number;
use tamis_make::text::group_name;
use tamis_report::{Column, Table, plot, stacked_svg};

use super::counters;
use crate::arguments::{self, Counting, Keys, Kinds, Reading};
use crate::show::{FEW, Output, Sheet, few, wrong};
use crate::{notes, progress};

/// Compute sizes and rates from numbers or from a table; -o saves the parameters
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis plan --keys 1e9 --fpr 0.01                     what each kind needs
  tamis plan --keys 1e9 --bits 8e9 --chart plan.svg    the rate for every number of hashes
  tamis plan --size 1GB --fpr 0.001                    how many keys fit
  tamis plan ratings.tsv --key tconst --group averageRating:round --fpr 0.01 -o params.json
  tamis plan --keys 1e6 --fpr 0.01 -o params.json      parameters without data
  tamis plan --kind count-min --epsilon 0.0001 --delta 0.01

Two of --keys, --fpr, --bits (or --size) and --bits-per-key determine the rest. All kinds are \
shown, or the one that --kind or --hash names; parameters are saved for that one, or for blocked \
filters. \
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
        let request = self.request();
        match request.resolve().map_err(wrong)? {
            request::Plan::Table(job) => self.of_table(&job, output),
            request::Plan::Numbers { wishes, save } => self.of_numbers(wishes, save, output),
            request::Plan::Parameters(params) => {
                self.save(output, &params)?;
                self.show(output, &params)
            }
        }
    }

    /// What is asked for.
    fn request(&self) -> PlanJob {
        PlanJob {
            inputs: self.inputs.clone(),
            reading: self.reading.request(),
            key: self.keys.request(),
            kinds: self.kinds.request(),
            sizes: request::Sizes {
                fpr: self.fpr,
                bits_per_key: self.bits_per_key,
                size: self.size,
                keys: self.count,
            },
            bits: self.bits,
            counting: self.counting.request(),
            chart: self.chart.clone(),
            output: self.output.clone(),
            no_more: NoMore,
        }
    }

    fn of_numbers(self, wishes: Wishes, save: Option<Params>, output: &Output) -> Result<ExitCode> {
        let design = design::design(wishes).map_err(wrong)?;
        let charts = tamis_report::design::charts(&design);
        if let Some(path) = &self.chart {
            let svg = stacked_svg(&charts);
            files::write_whole(path, |out| out.write_all(svg.as_bytes()))?;
            output.note(format!("{}: the charts", path.display()));
        }
        if let Some(params) = save {
            self.save(output, &params)?;
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
        output.result(text, design_json(&design))?;
        Ok(ExitCode::SUCCESS)
    }

    fn of_table(self, job: &Job, output: &Output) -> Result<ExitCode> {
        if let Some(path) = &self.output {
            files::check(path)?;
            files::check_is_no_input(path, &job.inputs)?;
        }
        let counts = job.sketches.kind().counts();
        let doing = if counts { "looking for groups" } else { "counting" };
        let Planned { params, counted, inputs } =
            progress::run(output, doing, |control| build::plan(job, control))?;
        if let Some(counted) = &counted {
            notes::inputs(output, &self.reading.request(), &inputs);
            notes::estimated(output, counted.estimating());
            notes::skipped(output, counted.skipped);
            notes::lone_keywords(output, counted.lone_keywords());
        }
        self.save(output, &params)?;
        self.show(output, &params)
    }

    /// Saves the parameters where that is asked for.
    fn save(&self, output: &Output, params: &Params) -> Result<()> {
        let Some(path) = &self.output else { return Ok(()) };
        files::write_whole(path, |out| out.write_all(params.to_json().as_bytes()))?;
        let (kind, hash) = (params.common.kind, params.common.hash);
        let what = if kind.counts() { "sketches" } else { "filters" };
        output.note(format!("{}: the parameters of {kind} {what}, hash {hash}", path.display()));
        Ok(())
    }

    fn show(&self, output: &Output, params: &Params) -> Result<ExitCode> {
        if !params.common.kind.counts() {
            return show(output, params);
        }
        let counting = self.counting.request();
        let by_error = counting.by_error().then(|| counting.error(None));
        counters::show_plan(output, params, by_error)
    }
}

fn design_json(design: &Design) -> Value {
    let kind = |offer: &Offer| {
        json!({
            "kind": offer.kind, "keys": offer.keys, "bits": offer.shape.bits(), "hashes": offer.shape.hashes(),
            "width": offer.shape.width(), "bytes": offer.shape.words() * 8,
            "bits_per_key": offer.shape.bits() as f64 / offer.keys as f64, "fpr": offer.rate,
        })
    };
    let by_hashes = |(hashes, rate): &(u32, f64)| json!({ "hashes": hashes, "fpr": rate });
    json!({
        "kinds": design.options.iter().map(kind).collect::<Vec<_>>(),
        "by_hashes": design.by_hashes.iter().map(by_hashes).collect::<Vec<_>>(),
    })
}

fn show(output: &Output, params: &Params) -> Result<ExitCode> {
    let mut groups: Vec<&GroupParams> = params.groups.iter().collect();
    groups.sort_by(|a, b| a.group.compare_naturally(&b.group));
    let cut = few(&mut groups, |group| Reverse(group.keys()));
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
    let layer = group.shape.expected_rate(group.keys());
    (layer, tamis::layered::whole_rate(layer, group.shape.layers()))
}

fn kinds_table(design: &Design) -> Table {
    let mut columns = vec![Column::left("kind")];
    columns.extend(
        ["keys", "bits", "bits/key", "hashes", "width", "memory", "expected rate"].map(Column::right),
    );
    let row = |offer: &Offer| {
        vec![
            offer.kind.to_string(),
            number::count(offer.keys),
            number::count(offer.shape.bits()),
            format!("{:.3}", offer.shape.bits() as f64 / offer.keys as f64),
            offer.shape.hashes().to_string(),
            offer.shape.width().to_string(),
            number::bytes(offer.shape.words() * 8),
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
            number::count(group.keys()),
            number::count(group.shape.bits()),
            format!("{:.3}", group.shape.bits() as f64 / group.keys() as f64),
            group.shape.hashes().to_string(),
            number::bytes(group.shape.words() * 8),
            number::rate(group.shape.expected_rate(group.keys())),
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
            number::count(group.keys()),
            format!("{} + XOR", group.shape.layers()),
            number::count(group.shape.slots()),
            group.shape.hashes().to_string(),
            number::bytes(group.shape.words() * 8),
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
