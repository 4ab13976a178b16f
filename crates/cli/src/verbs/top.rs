use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tamis::format::MAGIC;
use tamis::key::Recipe;
use tamis::sizing::Kind;
use tamis_jobs::request::{BuildJob, Kinds};
use tamis_make::count_min::{self, Listing, TopGroup, Wanted};
use tamis_make::number;

use crate::arguments::{self, Counting, Keys, Reading};
use crate::show::{Output, Sheet, usage, wrong};
use crate::{notes, progress};

/// The share where none is asked for.
const SHARE: f64 = 0.001;

/// List the most frequent keys: all above a share, or the first few
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis top access.log --format log --key host --share 0.001
  tamis top access.log --format log --key host -n 10      the ten most frequent
  tamis top flows.csv --key src --weight bytes --share 1% --count 20
  tamis top flows.csv --key src --group day --share 0.01
  tamis build access.log --kind count-min --format log --key host --heavy 0.001 -o hits.tamis
  tamis top hits.tamis                                    the keys that --heavy kept

No key above the share is missing, or above the smallest estimate that -n lists. A listed key may be slightly below it: an estimate is never below the \
true weight and, except with probability delta, at most the bound above it. `at least` is the estimate \
minus the bound. `full` marks keys whose counters are full: their share may be anything up to the whole, so \
they are listed. The data is read twice; memory is that of the counters and the listed keys, however many \
keys there are. From a file of sketches, top lists the keys that build --heavy kept, for its share or a \
larger one.")]
pub struct Top {
    /// Files, globs, folders, or `-` for standard input; or one file of sketches
    #[arg(required = true)]
    pub(super) inputs: Vec<String>,
    /// Smallest share of the total weight [default: 0.001, that of the file, or none with --count]
    #[arg(long, value_parser = arguments::share)]
    share: Option<f64>,
    /// Show at most N keys of each group, the most frequent
    #[arg(long, short = 'n', value_parser = arguments::count, value_name = "N")]
    count: Option<u64>,
    #[command(flatten)]
    keys: Keys,
    #[command(flatten)]
    counting: Counting,
    /// Count with less error by the conservative update, on one thread
    #[arg(long, help_heading = "Counts (--kind count-min)")]
    conservative: bool,
    #[command(flatten)]
    reading: Reading,
}

impl Top {
    /// The files that it names.
    pub(super) fn named(&self) -> super::Named<'_> {
        super::Named::default().and_tables(&self.inputs).and_aside(&self.reading)
    }

    /// Lists them.
    pub fn run(self, output: &Output) -> Result<ExitCode> {
        let listing = match &self.inputs[..] {
            [only] if is_container(Path::new(only)) => self.of_file(Path::new(only))?,
            _ => self.of_data(output)?,
        };
        notes::inputs(output, &self.reading.request(), &listing.inputs);
        notes::skipped(output, listing.skipped);
        show(output, &listing, self.count)?;
        Ok(ExitCode::SUCCESS)
    }

    fn of_file(&self, path: &Path) -> Result<Listing> {
        if !self.counting.request().given().is_empty()
            || self.conservative
            || self.keys.recipe()? != Recipe::lines()
        {
            return usage(
                "its keys and its error are fixed by the file: leave out all but --share and --count",
            );
        }
        self.reading.refuse_aside()?;
        Ok(count_min::top_of_file(path, self.share)?)
    }

    fn of_data(&self, output: &Output) -> Result<Listing> {
        let wanted = match (self.share, self.count) {
            (Some(share), _) => Wanted::Share(share),
            (None, Some(count)) => Wanted::Most(usize::try_from(count).unwrap_or(usize::MAX)),
            (None, None) => Wanted::Share(SHARE),
        };
        let request = BuildJob {
            inputs: self.inputs.clone(),
            reading: self.reading.request(),
            keys: self.keys.request(),
            kinds: Kinds { kind: Some(Kind::CountMin), conservative: self.conservative, ..Kinds::default() },
            counting: self.counting.request(),
            // The error must be small beside the share.
            heavy: if let Wanted::Share(share) = wanted { Some(share) } else { None },
            ..BuildJob::default()
        };
        let job = request.resolve().map_err(wrong)?.job;
        progress::run(output, "counting", |control| count_min::top_of_data(&job, wanted, control))
    }
}

/// Whether this is a file of sketches, by its name or by how it begins.
fn is_container(path: &Path) -> bool {
    if path.extension().is_some_and(|extension| extension == "tamis") {
        return true;
    }
    let mut magic = [0; MAGIC.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == MAGIC
}

/// What is to be said where more keys are listed than can have the share.
fn too_many(listing: &Listing) -> Option<String> {
    let Wanted::Share(share) = listing.wanted else { return None };
    let possible = (1.0 / share + 1e-9) as u64;
    let estimated = |group: &TopGroup| group.keys.iter().filter(|hit| !hit.full).count() as u64;
    let listed = listing.groups.iter().map(estimated).max().filter(|listed| *listed > possible)?;
    Some(format!(
        "At most {} of {}can have that share, and {} are listed: other estimates are too high. Keys of one \
         hash count for each other; anyone can make them who knows its seed.",
        number::counted(possible, "key"),
        if listing.groups.len() > 1 { "a group " } else { "these " },
        number::count(listed)
    ))
}

fn show(output: &Output, listing: &Listing, most: Option<u64>) -> Result<()> {
    let most = most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let table = tamis_report::top::table(listing, most);
    let listed: u64 = listing.groups.iter().map(|group| group.keys.len() as u64).sum();
    let full = listing.groups.iter().flat_map(|group| &group.keys).filter(|hit| hit.full).count() as u64;
    let cut = table.rows.len() as u64 != listed;
    let mut lines = match listing.wanted {
        Wanted::Share(share) => vec![format!(
            "{} with an estimated share of {} or more{}; no key of that share is missing{}.",
            number::counted(listed, "key"),
            number::percent(share),
            if full > 0 { ", or with full counters" } else { "" },
            if cut { " (--count limits the list to the most frequent)" } else { "" }
        )],
        Wanted::Most(_) => vec![format!(
            "{} with the largest estimates{}; no key with more than the smallest of these is missing.",
            number::counted(listed, "key"),
            if listing.common.recipe.group.is_some() { " of their groups" } else { "" }
        )],
    };
    lines.extend(too_many(listing));
    if let Some(largest) = listing.largest {
        let would = number::rounded_down(largest);
        lines.push(format!(
            "The largest estimated share is {}: --share {would} lists it.",
            number::percent(largest)
        ));
    }
    if let [only] = &listing.groups[..] {
        let promise = &only.promise;
        let total = tamis_report::inspect::total(promise.total);
        lines.push(match promise.total_is_full() {
            true => format!("Total weight {total}; truth ≤ estimate, with an unknown difference."),
            false => format!(
                "Total weight {total}; truth ≤ estimate ≤ truth + {} with probability {}.",
                number::count(promise.bound()),
                number::rate(1.0 - promise.delta)
            ),
        });
    }
    if full > 0 {
        lines.push(format!(
            "The counters of {} are full: these have no estimate, and the truth may be anything up to the total weight.",
            number::counted(full, "key")
        ));
    }
    output.result(Sheet { table, lines }, tamis_report::top::json(listing, most))
}
