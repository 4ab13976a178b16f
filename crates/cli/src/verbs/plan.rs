use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::builder::Resettable;
use clap::{Arg, Args};
use serde_json::json;
use tamis::params::{GroupParams, Params};
use tamis::sizing::Kind;
use tamis_jobs::request::{self, NoMore, PlanJob};
use tamis_make::build::{self, Job, Planned};
use tamis_make::design::{self, Wishes};
use tamis_make::files::{self, Draft};
use tamis_make::names::Content;
use tamis_make::number;
use tamis_make::spread;
use tamis_read::Format;
use tamis_report::plan::{self, Counters};
use tamis_report::{Csv, plot, stacked_svg};

use super::scale::Scale;
use crate::arguments::{self, ByHand, Counting, Keys, Kinds, Reading, Records, Sizes};
use crate::show::{FEW, Largest, Output, Sheet, print, usage, wrong};
use crate::spark::{self, Where};
use crate::{notes, progress};

/// The sizes as a plan has them: two of them fix the rest, and so they go together.
fn together(arg: Arg) -> Arg {
    let help = match arg.get_id().as_str() {
        "fpr" => "The rate of false positives",
        "bits_per_key" => "Bits per key",
        "size" => "Bytes in all: 64MB, 1GiB",
        "keys" => "Keys",
        _ => return arg,
    };
    arg.help(help).conflicts_with(Resettable::Reset)
}

/// Compute sizes and rates from numbers or from a table; -o saves the parameters
#[derive(Debug, Args)]
#[command(mut_args(together))]
#[command(after_help = "\
Examples:
  tamis plan --keys 1e9 --fpr 0.01                     what each kind needs
  tamis plan --keys 1e9 --bits 8e9 --chart plan.svg    the rate for every number of hashes
  tamis plan --keys 1e9 --bits 8e9 --hashes 2          with two hashes
  tamis plan --size 1GB --fpr 0.001                    how many keys fit
  tamis plan ratings.tsv --key tconst --group averageRating:round --fpr 0.01 -o params.json
  tamis plan ratings.tsv --key tconst --group averageRating:round --fpr 0.01 --csv params.csv
  tamis plan --keys 1e6 --fpr 0.01 -o params.json      parameters without data
  tamis plan hdfs:///logs --key user --fpr 0.01 --on yarn -o hdfs:///params.json
  tamis plan --kind count-min --epsilon 0.0001 --delta 0.01
  tamis plan --keys 1e12 --fpr 0.01 --machines 100 --memory 64GB
  tamis plan --keys 1e10 --fpr 0.001 --rows 1e11 --row-bytes 200 --machines 20 --memory 32GB --lost 2

Two of --keys, --fpr, --bits (or --size) and --bits-per-key determine the rest; --hashes may be chosen \
beside them, but not with both --bits and --fpr. All kinds are \
shown, or the one that --kind or --hash names; parameters are saved for that one, or for blocked \
filters. \
Filters that are built with the same saved parameters can be merged.

With --machines, plan says how a build of that size would run on one machine, by Hadoop Streaming and on Spark: bytes \
of the filter, memory of each task, bytes between machines, the time to expect, and which limit is reached first. \
Nothing is run. The formulas are those of the code, and the rates were measured: docs/scale.md has both.")]
pub struct Plan {
    /// A table whose keys are counted: files, globs, folders, or `-`
    pub(super) inputs: Vec<String>,
    /// Save the parameters
    #[arg(long, short, value_name = "FILE.json")]
    output: Option<PathBuf>,
    /// Draw the rate against hashes and against bits per key
    #[arg(long, value_name = "FILE.svg")]
    chart: Option<PathBuf>,
    /// Write the sizes as CSV: a line for each group, or for each kind
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<PathBuf>,
    /// Memory for counting the keys of a table; the rest goes to disk [default: 200MB]. With --machines, the memory
    /// of each of them
    #[arg(long, value_parser = arguments::memory)]
    memory: Option<u64>,
    #[command(flatten)]
    scale: Scale,
    #[command(flatten)]
    sizes: Sizes,
    #[command(flatten)]
    by_hand: ByHand,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    records: Records,
    #[command(flatten)]
    kinds: Kinds,
    #[command(flatten)]
    counting: Counting,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    on: Where,
}

impl Plan {
    /// The files that it names.
    pub(super) fn named(&self) -> super::Named<'_> {
        super::Named::outputs(self.output.iter().chain(&self.chart).chain(&self.csv))
            .and_tables(&self.inputs)
            .and_aside(&self.reading)
    }

    /// Works it out.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        self.scale.refuse(&self.inputs, self.memory)?;
        let request = self.request();
        let plan = request.resolve().map_err(wrong)?;
        if let Some(path) = &self.csv {
            files::check(path)?;
            Content::Plain(Format::Csv).check(path)?;
        }
        if !matches!(plan, request::Plan::Table(_)) {
            self.reading.refuse_aside()?;
            if self.on.is_given() {
                return usage(
                    "--on is for tables: numbers are planned without one; name files, or leave out --on",
                );
            }
        }
        match plan {
            request::Plan::Table(job) if self.on.is_given() => self.on_spark(request, &job, output),
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
            key: self.records.with(&self.keys),
            kinds: self.kinds.request(),
            sizes: self.sizes.request(),
            by_hand: self.by_hand.request(),
            counting: self.counting.request(),
            memory: self.memory.filter(|_| !self.inputs.is_empty()),
            chart: self.chart.clone(),
            output: self.output.clone(),
            no_more: NoMore,
        }
    }

    fn of_numbers(self, wishes: Wishes, save: Option<Params>, output: &Output) -> Result<ExitCode> {
        let design = design::design(wishes).map_err(wrong)?;
        let charts = tamis_report::design::charts(&design);
        if let Some(path) = &self.chart {
            Content::Chart.check(path)?;
        }
        let svg = |path: &PathBuf| files::draft(path, |out| out.write_all(stacked_svg(&charts).as_bytes()));
        let drawn = self.chart.as_ref().map(svg).transpose()?;
        let saved = save.as_ref().and_then(|params| self.draft(params)).transpose()?;
        let listed = self.draft_csv(plan::design_csv(&design))?;
        files::finish_all(drawn.into_iter().chain(saved).chain(listed))?;
        self.say_listed(output, "what each kind needs");
        if let Some(path) = &self.chart {
            output.note(format!("{}: the charts", path.display()));
        }
        if let Some(params) = save {
            self.say_saved(output, &params);
        }
        for offer in &design.options {
            notes::missed_rate(output, offer.kind, wishes.fpr.map(|fpr| (offer.shape, offer.keys, fpr)));
        }
        let mut text = Sheet { table: plan::kinds_table(&design), lines: Vec::new() }.to_string();
        for (kind, reason) in &design.refused {
            text += &format!("{kind}: {reason}\n");
        }
        if wishes.fpr.is_none() && !design.by_hashes.is_empty() {
            text += &format!("\n{}", plan::hashes_table(&design).text());
        }
        for chart in &charts {
            text += &format!("\n{}", plot(chart, 72, 14));
        }
        let mut json = plan::design_json(&design);
        let wanted = wishes.only.map_or(Kind::Blocked, |(kind, _)| kind);
        if let Some(offer) = design.options.iter().find(|offer| offer.kind == wanted)
            && let Some(estimate) = self.scale.estimate(offer, self.memory)?
        {
            // What a filter needs is half of the answer here: the curves of rates are for another question.
            let sheet = Sheet { table: plan::kinds_table(&design), lines: Vec::new() };
            text = format!("{sheet}\n{}\n{}", estimate.table().text(), estimate.phases().text());
            json["scale"] = estimate.json();
        }
        output.result(text, json)?;
        Ok(ExitCode::SUCCESS)
    }

    fn of_table(self, job: &Job, output: &Output) -> Result<ExitCode> {
        if let Some(path) = &self.output {
            files::check(path)?;
            Content::Json.check(path)?;
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
        notes::missed_rates(output, &params);
        self.save(output, &params)?;
        self.show(output, &params)
    }

    /// Counts the keys of a table elsewhere.
    fn on_spark(self, request: PlanJob, job: &Job, output: &Output) -> Result<ExitCode> {
        request.refuse_spread().map_err(wrong)?;
        spread::refuse(job).map_err(wrong)?;
        spark::refuse_stdin(&request.inputs)?;
        let cluster = self.on.cluster(output);
        self.output.as_deref().map(|path| Content::Json.check(path)).transpose()?;
        let place = self.output.as_deref().map(|path| cluster.place(path)).transpose()?;
        let request = PlanJob { output: None, ..request };
        let told = cluster.run("counting", json!({ "job": "plan", "request": request }))?;
        let params = Params::from_json(told["params"].as_str().unwrap_or_default())?;
        notes::estimated(output, told["estimated"] == true);
        notes::skipped(output, told["skipped"].as_u64().unwrap_or(0));
        notes::lone_keywords(output, told["lone_keywords"] == true);
        notes::missed_rates(output, &params);
        output.note(spark::phases(&told));
        let drafted = place.as_ref().map(|place| draft_of(&place.at, &params)).transpose()?;
        files::finish_all(drafted.into_iter().chain(self.draft_csv(plan::params_csv(&params))?))?;
        if let Some(place) = &place {
            cluster.put(place)?;
            say_saved(output, place.name(), &params);
        }
        self.say_listed(output, "the parameters of every group");
        self.show(output, &params)
    }

    /// Saves the parameters where that is asked for, and lists them as CSV.
    fn save(&self, output: &Output, params: &Params) -> Result<()> {
        let saved = self.draft(params).transpose()?;
        files::finish_all(saved.into_iter().chain(self.draft_csv(plan::params_csv(params))?))?;
        self.say_saved(output, params);
        self.say_listed(output, "the parameters of every group");
        Ok(())
    }

    /// The sizes as CSV, not yet in their place, where they are asked for.
    fn draft_csv(&self, csv: Csv<'_>) -> Result<Option<Draft>> {
        let draft = |path: &PathBuf| files::draft(path, |out| csv.write(out));
        Ok(self.csv.as_ref().map(draft).transpose()?)
    }

    fn say_listed(&self, output: &Output, what: &str) {
        if let Some(path) = &self.csv {
            output.note(format!("{}: {what}", path.display()));
        }
    }

    /// The file of parameters, not yet in its place, where one is asked for.
    fn draft(&self, params: &Params) -> Option<tamis_make::Result<Draft>> {
        let path = self.output.as_ref()?;
        if let Err(refusal) = Content::Json.check(path) {
            return Some(Err(refusal));
        }
        Some(draft_of(path, params))
    }

    fn say_saved(&self, output: &Output, params: &Params) {
        let Some(path) = &self.output else { return };
        say_saved(output, path, params);
        // Without --kind all kinds are shown, and one of them is saved.
        let bits = params.groups.iter().map(|group| group.shape.bits()).sum::<u64>();
        if let (Some(asked), [_]) = (self.by_hand.bits.filter(|asked| *asked != bits), &params.groups[..]) {
            output.note(format!(
                "they have {} of the {} bits, since {} filters consist of whole lines; --kind bloom has exactly as many \
                 as are asked for",
                number::count(bits),
                number::count(asked),
                params.common.kind
            ));
        }
    }

    fn show(&self, output: &Output, params: &Params) -> Result<ExitCode> {
        if !params.common.kind.counts() {
            show_filters(output, params)?;
            return Ok(ExitCode::SUCCESS);
        }
        let counting = self.counting.request();
        let by_error = counting.by_error().then(|| counting.error(None));
        if let Some(counters) = Counters::of(params, by_error) {
            output.result(Sheet { table: counters.table(), lines: counters.lines() }, counters.json())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn draft_of(path: &Path, params: &Params) -> tamis_make::Result<Draft> {
    files::draft(path, |out| {
        let mut out = BufWriter::new(out);
        serde_json::to_writer_pretty(&mut out, params)?;
        writeln!(out)?;
        out.flush()
    })
}

fn say_saved(output: &Output, path: &Path, params: &Params) {
    let (kind, hash) = (params.common.kind, params.common.hash);
    let what = if kind.counts() { "sketches" } else { "filters" };
    output.note(format!("{}: the parameters of {kind} {what}, hash {hash}", path.display()));
}

fn show_filters(output: &Output, params: &Params) -> Result<()> {
    if output.json {
        let groups = || params.groups.iter().map(plan::group_json);
        return output.json_with(plan::params_fields(params), "groups", &|| Box::new(groups()));
    }
    let order = params.natural_order();
    let mut largest = Largest::default();
    order.iter().for_each(|&at| largest.add(params.groups[at].keys()));
    let (places, cut) = match largest.places() {
        None => ((0..order.len()).collect(), None),
        Some(places) => (places, Some(number::count(order.len() as u64))),
    };
    let cut = cut.map(|all| format!("These are the {FEW} largest of {all} groups; --json has all."));
    let groups: Vec<&GroupParams> = places.into_iter().map(|place| &params.groups[order[place]]).collect();
    let table = plan::groups_table(params.common.kind, &groups);
    print(&Sheet { table, lines: cut.into_iter().collect() }.to_string())
}
